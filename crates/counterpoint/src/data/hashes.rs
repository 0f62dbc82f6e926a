//! Which rows are these? The smallest of their hashes: a fair sample, by which rows are recognised without being shown.

use super::log::Block;
use crate::engine::Fold;
use serde::{Deserialize, Serialize};

/// The question: the `keep` smallest hashes of the rows ([`Block::row_hash`]).
///
/// Two sets of at most `keep` rows each share a row if and only if they share a hash. Larger sets are compared on the rows
/// with the smallest hashes, which are the same rows in both: a leak of a share s of the rows is missed with
/// probability (1 - s)^keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hashes {
    /// Hashes that are kept.
    pub keep: usize,
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
        let mut block: Vec<u64> = (0..b.rows()).map(|i| b.row_hash(i)).collect();
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
