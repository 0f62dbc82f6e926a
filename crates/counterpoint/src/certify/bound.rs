//! A guarantee that holds for any number of rows: no central limit, no bootstrap.

use super::terms::Terms;
use crate::error::Result;
use crate::folds::{Guarantee, Totalled, Weighed, ask_weights};
use serde::{Deserialize, Serialize};

/// Bounds by the [mixture of logarithms](crate::estimate::Mixture) on the test part, each end at delta / 2.
///
/// They hold for any weights and any number of rows, at every moment, given only the range of the costs. Mass of the policy that no
/// logged action shows counts as the worst outcome. The range is [`Terms::cost_range`]; else that of the valid and test rows is
/// taken, and `assumed` says so.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Bound {
    /// The policy costs at most this.
    pub value: f64,
    /// The policy costs at most this much more than the log (negative: less).
    pub difference: f64,
    /// The policy costs at least this; minus infinity in certificates that were written before there was this side.
    #[serde(default = "unknown", skip_serializing_if = "is_unknown")]
    pub least_value: f64,
    /// The policy costs at least this much more than the log; minus infinity likewise.
    #[serde(default = "unknown", skip_serializing_if = "is_unknown")]
    pub least_difference: f64,
    /// The range of the costs.
    pub cost_range: [f64; 2],
    /// Whether that range was read off the rows instead of given.
    pub assumed: bool,
}

fn unknown() -> f64 {
    f64::NEG_INFINITY
}

fn is_unknown(v: &f64) -> bool {
    v.is_infinite()
}

/// The bound, or why there is none. Rows must be independent draws: row weights other than 1 make others.
pub(super) fn bound(
    rows: &dyn Weighed,
    test: &Totalled,
    valid: &Totalled,
    terms: &Terms,
) -> Result<std::result::Result<Bound, &'static str>> {
    let seen = [valid.cost.min.min(test.cost.min), valid.cost.max.max(test.cost.max)];
    let [lo, hi] = terms.cost_range.unwrap_or(seen);
    if test.cost.min < lo || test.cost.max > hi {
        return Ok(Err("no guarantee: a test outcome lies outside the stated range"));
    }
    if lo == hi {
        return Ok(Err("no guarantee: every outcome is the same, and no range of outcomes was stated"));
    }
    if !test.single || test.rows < 2 || test.cluster_count().is_some() {
        return Ok(Err("no guarantee: it needs at least two independent rows, each of weight 1"));
    }
    let sums = ask_weights(rows, Guarantee { cost_range: [lo, hi] })?;
    let [above, below, less, more] = sums.map(|m| m.lower(terms.tail()));
    let range = hi - lo;
    Ok(Ok(Bound {
        value: hi - above,
        difference: range - less,
        least_value: lo + below,
        least_difference: more - range,
        cost_range: [lo, hi],
        assumed: terms.cost_range.is_none(),
    }))
}
