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
        let hash = |i: usize| match self.by {
            Recognised::Row => b.row_hash(i),
            Recognised::Content => b.content_hash(i),
            Recognised::Action => b.action_hash(i),
        };
        let mut block: Vec<u64> = (0..b.rows()).map(hash).collect();
        let sum = block.iter().fold(0u64, |s, h| s.wrapping_add(*h));
        block.sort_unstable();
        self.merge(&Hashed { rows: b.rows() as u64, sum, smallest: block }, into);
    }

    fn merge(&self, other: &Hashed, into: &mut Hashed) {
        into.rows += other.rows;
        into.sum = into.sum.wrapping_add(other.sum);
        into.smallest.extend_from_slice(&other.smallest);
        into.smallest.sort(); // two sorted runs: one merge
        into.smallest.truncate(self.keep);
    }
}
