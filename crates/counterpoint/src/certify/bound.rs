//! A bound that holds for any number of rows: no central limit, no bootstrap.

use super::terms::Terms;
use crate::error::Result;
use crate::estimate::Weight;
use crate::folds::{Bernstein, Totalled, Weighed, ask_weights};
use serde::{Deserialize, Serialize};

/// Upper bounds by the empirical Bernstein inequality (Maurer and Pontil 2009) on soft-clipped terms.
///
/// With costs in [lo, hi] and T(w) = min(zeta(w, cap), top), the terms
///
/// ```text
/// u_i = T(w_i) (y_i - hi),        x_i = (T(w_i) - 1) (y_i - hi)
/// ```
///
/// are bounded, and since T(w) <= w and y <= hi, E u >= L(pi) - hi and E x >= L(pi) - L(pi0): clipping can only make the
/// policy look worse. So with probability 1 - delta / 2 each,
///
/// ```text
/// E x <= mean(x) + sqrt(2 V ln(4/delta) / n) + 7 (range of x) ln(4/delta) / (3 (n - 1)).
/// ```
///
/// `cap` and `top` come from the valid part, so the test rows cannot choose them. The assumption is the range of the
/// costs: give it in [`Terms::cost_range`], else that of the valid rows is taken and `assumed` says so.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The policy costs at most this.
    pub value: f64,
    /// The policy costs at most this much more than the log (negative: less).
    pub difference: f64,
    /// M of the soft clipping: the cube root of the number of test rows.
    pub cap: f64,
    /// The largest transformed weight.
    pub top: f64,
    /// The range of the costs.
    pub cost_range: [f64; 2],
    /// Whether that range was read off the valid rows instead of given.
    pub assumed: bool,
}

/// The bound, or why there is none. Row weights other than 1 make rows that are not independent draws: no bound.
pub(super) fn bound(
    rows: &dyn Weighed,
    test: &Totalled,
    valid: &Totalled,
    terms: &Terms,
) -> Result<std::result::Result<Bound, &'static str>> {
    let [lo, hi] = terms.cost_range.unwrap_or([valid.cost.min, valid.cost.max]);
    if test.cost.min < lo || test.cost.max > hi {
        return Ok(Err("no finite-sample bound: a test outcome lies outside the range it assumes"));
    }
    if !test.single || test.rows < 2 {
        return Ok(Err("no finite-sample bound: it needs at least two rows, each of weight 1"));
    }
    let n = test.rows as f64;
    let cap = n.cbrt().max(1.0);
    let top = Weight::soft(cap).apply(valid.top).0.max(1.0);
    let terms_of = ask_weights(rows, Bernstein { cap, top, worst: hi })?;
    let ln = (2.0 / terms.tail()).ln();
    // T - 1 lies in [-1, top - 1] and z in [lo - hi, 0]: both kinds of term have this range
    let range = top * (hi - lo);
    let [value, difference] = terms_of.map(|s| {
        let variance = s.std() * s.std();
        s.mean() + (2.0 * variance * ln / n).sqrt() + 7.0 * range * ln / (3.0 * (n - 1.0))
    });
    let assumed = terms.cost_range.is_none();
    Ok(Ok(Bound { value: hi + value, difference, cap, top, cost_range: [lo, hi], assumed }))
}
