//! Which rows a policy was learned from, so that it is not judged on them.

use crate::data::{Hashed, Hashes, Log};
use crate::engine::Engine;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Hashes that are kept. Of a test part that holds even a tenth of the training rows, all 64 miss with probability .001.
const KEPT: usize = 64;

/// The rows a policy was learned from: how many, and the smallest of their hashes.
///
/// A hash depends on a row's number and on every number in it. The smallest hashes of a set of rows are a fair sample of it,
/// so rows that were learned from are recognised among others without being kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Number of rows.
    pub rows: usize,
    /// The smallest hashes, ascending, in hexadecimal digits.
    pub hashes: Vec<String>,
}

impl Origin {
    /// What is asked of the rows.
    pub(crate) const QUESTION: Hashes = Hashes { keep: KEPT };

    /// The origin of what is learned from these rows.
    pub fn of(log: &Log) -> Self {
        Origin::from(Engine::single().ask(&Self::QUESTION, log.blocks()))
    }

    /// Refuses an origin that [`of`](Self::of) could not have made: files can say anything.
    pub(super) fn check(&self) -> Result<()> {
        let hexadecimal = |h: &String| h.len() == 16 && h.bytes().all(|b| b.is_ascii_hexdigit());
        let whole = self.hashes.len() <= KEPT && self.hashes.len() <= self.rows && self.hashes.iter().all(hexadecimal);
        if whole { Ok(()) } else { Err(Error::policy("what it says of the rows it was learned from is damaged")) }
    }

    /// How many of the kept rows are among those with these hashes, which must be sorted.
    pub fn among(&self, sorted: &[u64]) -> usize {
        let known = |h: &&String| u64::from_str_radix(h, 16).is_ok_and(|h| sorted.binary_search(&h).is_ok());
        self.hashes.iter().filter(known).count()
    }
}

impl From<Hashed> for Origin {
    fn from(rows: Hashed) -> Self {
        let hashes = rows.smallest.iter().take(KEPT).map(|h| format!("{h:016x}")).collect();
        Origin { rows: rows.rows as usize, hashes }
    }
}
