//! Which rows a policy was learned from, so that it is not judged on them.

use crate::data::{Hashed, Hashes, Log, Recognised};
use crate::engine::Engine;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Hashes that are kept. Of a test part that holds a fiftieth of the training rows, all 256 miss with probability .006; and on a grid, where
/// some are found by chance, a quarter of the log has sixty of them to count.
const KEPT: usize = 256;

/// The rows a policy was learned from: how many, and the smallest of their hashes.
///
/// A hash depends on every number in a row and not on its place, so that a sorted copy of the training log is recognised. (Files of earlier
/// versions have hashes that depend on the row's number too; they are held against such hashes.) The smallest hashes of a set of rows are a fair sample of it,
/// so rows that were learned from are recognised among others without being kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Number of rows.
    pub rows: usize,
    /// The smallest hashes, ascending, in hexadecimal digits.
    pub hashes: Vec<String>,
    /// Of what they are hashes.
    #[serde(default, skip_serializing_if = "Recognised::is_row")]
    pub by: Recognised,
    /// What held-out folds of these rows say of the policy's weights, where it was learned by cross-fitting: its gate then needs no
    /// rows that it has not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support: Option<GateFigures>,
}

/// What is known of a policy's weights before a test row is read: the figures that a gate asks for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateFigures {
    /// n_eff = (sum w)^2 / sum w^2 over rows that the policy (or each of its cross-fitted twins) was not learned from.
    pub effective: f64,
    /// Number of those rows.
    pub rows: f64,
    /// Their mean weight.
    pub mean_weight: f64,
    /// Its standard error.
    pub mean_weight_error: f64,
    /// How many held-out folds were put together; 0 for a part that was held out as a whole.
    #[serde(default)]
    pub folds: usize,
}

impl GateFigures {
    /// Figures of independent rows held out as a whole. The error of their mean weight follows: mean(w^2) = mean(w)^2 n / n_eff, so
    /// se = mean(w) sqrt((n / n_eff - 1) / n).
    pub fn of(effective: f64, rows: f64, mean_weight: f64) -> Self {
        let spread = (rows / effective - 1.0).max(0.0) / rows;
        GateFigures { effective, rows, mean_weight, mean_weight_error: mean_weight * spread.sqrt(), folds: 0 }
    }

    /// The rows in words.
    pub(crate) fn whose(&self) -> String {
        if self.folds == 0 { "valid rows".into() } else { format!("held-out rows of {} folds", self.folds) }
    }

    /// Refuses figures that no rows could have.
    fn check(&self) -> Result<()> {
        let figures = [self.effective, self.rows, self.mean_weight, self.mean_weight_error];
        let whole = figures.iter().all(|v| v.is_finite() && *v >= 0.0) && self.effective <= self.rows * (1.0 + 1e-9);
        if whole { Ok(()) } else { Err(Error::policy("what it says of its own support is damaged")) }
    }
}

impl Origin {
    /// What is asked of the rows.
    pub(crate) const QUESTION: Hashes = Hashes::of(KEPT, Recognised::Content);

    /// The origin of what is learned from these rows.
    pub fn of(log: &Log) -> Self {
        Origin::from(Engine::single().ask(&Self::QUESTION, log.blocks()))
    }

    /// Refuses an origin that [`of`](Self::of) could not have made: files can say anything.
    pub(super) fn check(&self) -> Result<()> {
        let hexadecimal = |h: &String| h.len() == 16 && h.bytes().all(|b| b.is_ascii_hexdigit());
        let whole = self.hashes.len() <= KEPT && self.hashes.len() <= self.rows && self.hashes.iter().all(hexadecimal);
        if !whole {
            return Err(Error::policy("what it says of the rows it was learned from is damaged"));
        }
        self.support.as_ref().map_or(Ok(()), GateFigures::check)
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
        Origin { rows: rows.rows as usize, hashes, by: Self::QUESTION.by, support: None }
    }
}
