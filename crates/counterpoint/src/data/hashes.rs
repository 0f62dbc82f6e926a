//! Which rows are these? The smallest of their hashes: a fair sample, by which rows are recognised without being shown.

use super::log::Block;
use crate::engine::Fold;
use serde::{Deserialize, Serialize};

/// What a row is recognised by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recognised {
    /// Its number in the log and its content ([`Block::row_hash`]).
    #[default]
    Row,
    /// Its content alone ([`Block::content_hash`]): rows in another order are the same rows, and copies are seen.
    Content,
    /// Its action and the density of it ([`Block::action_hash`]): tells rounded actions, which many rows share, from copies of rows.
    Action,
}

impl Recognised {
    /// Whether it is the way of policy files that do not say.
    pub(crate) fn is_row(&self) -> bool {
        *self == Recognised::Row
    }
}

/// The question: the `keep` smallest hashes of the rows.
///
/// Two sets of at most `keep` rows each share a row if and only if they share a hash. Larger sets are compared on the rows
/// with the smallest hashes, which are the same rows in both: a leak of a share s of the rows is missed with
/// probability (1 - s)^keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hashes {
    /// Hashes that are kept.
    pub keep: usize,
    /// Of what.
    pub by: Recognised,
    /// Larger hashes are not looked at: of many rows most, see [`Hashes::among`].
    pub most: u64,
}

impl Hashes {
    /// The `keep` smallest, whatever there are.
    pub const fn of(keep: usize, by: Recognised) -> Self {
        Hashes { keep, by, most: u64::MAX }
    }

    /// The same among so many rows: hashes are not looked at beyond where `keep` of them lie and six standard deviations more. Where rows are copies of each
    /// other fewer may be found; the answer is whole if it has all rows or `keep` hashes.
    #[must_use]
    pub fn among(self, rows: u64) -> Self {
        let (keep, rows) = (self.keep as f64, rows as f64);
        let share = (keep + 6.0 * keep.sqrt() + 36.0) / rows;
        Hashes { most: if share < 1.0 { (share * u64::MAX as f64) as u64 } else { u64::MAX }, ..self }
    }
}

/// The rows in hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hashed {
    /// Number of rows.
    pub rows: u64,
    /// Sum of the hashes of all rows: the same for the same rows, whatever their order.
    pub sum: u64,
    /// The smallest hashes, ascending; a row that is there twice is twice among them.
    pub smallest: Vec<u64>,
}

impl Fold<Block> for Hashes {
    type Partial = Hashed;

    fn zero(&self) -> Hashed {
        Hashed::default()
    }

    fn add(&self, b: &Block, into: &mut Hashed) {
        let hashes = b.hashes(self.by);
        let sum = hashes.iter().fold(0u64, |s, h| s.wrapping_add(*h));
        let mut smallest: Vec<u64> = hashes.into_iter().filter(|h| *h <= self.most).collect();
        if smallest.len() > self.keep {
            smallest.select_nth_unstable(self.keep);
            smallest.truncate(self.keep);
        }
        smallest.sort_unstable();
        self.merge(&Hashed { rows: b.rows() as u64, sum, smallest }, into);
    }

    fn merge(&self, other: &Hashed, into: &mut Hashed) {
        into.rows += other.rows;
        into.sum = into.sum.wrapping_add(other.sum);
        into.smallest.extend_from_slice(&other.smallest);
        into.smallest.sort(); // two sorted runs: one merge
        into.smallest.truncate(self.keep);
    }
}
