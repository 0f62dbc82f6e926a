//! Anchors: the few actions a_1..a_m over which the loss predictor takes its soft minimum.

use super::kmeans::kmeans;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Where anchors come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Anchors {
    /// Quantiles of the logged actions, from the 1st to the 99th percentile. The default for one action column.
    Quantile,
    /// A uniform grid over the same range.
    Grid,
    /// k-means centres of the logged actions. The default (and the only choice) for several action columns.
    Kmeans,
}

/// Logged actions beyond these levels do not stretch the anchors.
const LEVELS: (f64, f64) = (0.01, 0.99);

impl Anchors {
    /// Places at most `m` anchors for row-major `actions` with `q` columns; row-major, distinct, ascending.
    ///
    /// Repeated actions can make quantiles coincide; duplicates are dropped, so fewer than `m` may come back. A single
    /// distinct action is an error: there is nothing to choose between.
    pub fn place(self, actions: &[f64], q: usize, m: usize, seed: u64) -> Result<Vec<f64>> {
        if m < 2 {
            return Err(Error::recipe("mean.anchors", format!("{m} anchor leaves nothing to choose (at least 2)")));
        }
        let mut out = match self {
            Anchors::Kmeans => kmeans(actions, q, m, seed),
            _ if q > 1 => {
                return Err(Error::recipe(
                    "mean.anchors",
                    format!("{self:?} anchors need one action column, there are {q}"),
                )
                .hint("use anchors = \"kmeans\" for vector actions"));
            }
            Anchors::Quantile => {
                let mut sorted = actions.to_vec();
                sorted.sort_by(f64::total_cmp);
                levels(m).map(|l| quantile_sorted(&sorted, l)).collect()
            }
            Anchors::Grid => {
                let mut sorted = actions.to_vec();
                sorted.sort_by(f64::total_cmp);
                let (lo, hi) = (quantile_sorted(&sorted, LEVELS.0), quantile_sorted(&sorted, LEVELS.1));
                (0..m).map(|j| lo + (hi - lo) * j as f64 / (m - 1).max(1) as f64).collect()
            }
        };
        if q == 1 {
            out.sort_by(f64::total_cmp);
            out.dedup();
        }
        if out.len() / q < 2 {
            return Err(Error::data("the log has a single distinct action, so nothing can be learned about others")
                .at("action columns")
                .hint("a log needs randomised actions; `constant` means and `describe` still work"));
        }
        Ok(out)
    }
}

fn levels(m: usize) -> impl Iterator<Item = f64> {
    (0..m).map(move |j| LEVELS.0 + (LEVELS.1 - LEVELS.0) * j as f64 / (m - 1).max(1) as f64)
}

/// The quantile of sorted values with linear interpolation ("type 7").
///
/// ```
/// use counterpoint::features::anchors::quantile_sorted;
/// assert_eq!(quantile_sorted(&[1.0, 2.0, 4.0], 0.75), 3.0);
/// ```
pub fn quantile_sorted(sorted: &[f64], level: f64) -> f64 {
    let h = level * (sorted.len() - 1) as f64;
    let i = (h.floor() as usize).min(sorted.len() - 1);
    let j = (i + 1).min(sorted.len() - 1);
    sorted[i] + (h - i as f64) * (sorted[j] - sorted[i])
}
