//! A bound that holds for any number of rows: no central limit, no bootstrap.

use super::terms::Terms;
use crate::estimate::Weight;
use crate::folds::Scored;
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
    test: &[Scored],
    valid: &[Scored],
    largest_log_w: f64,
    terms: &Terms,
) -> Result<Bound, &'static str> {
    let costs = valid.iter().flat_map(|b| b.y.iter().copied());
    let seen = costs.fold([f64::INFINITY, f64::NEG_INFINITY], |[l, h], y| [l.min(y), h.max(y)]);
    let [lo, hi] = terms.cost_range.unwrap_or(seen);
    let n = test.iter().map(|b| b.y.len()).sum::<usize>() as f64;
    let cap = n.cbrt().max(1.0);
    let zeta = Weight::soft(cap);
    let top = zeta.apply(largest_log_w).0.max(1.0);
    let rows = || test.iter().flat_map(|b| (0..b.y.len()).map(move |i| (b.log_w[i], b.y[i], b.omega[i])));
    if rows().any(|(_, y, _)| y < lo || y > hi) {
        return Err("no finite-sample bound: a test cost lies outside the range of costs it assumes");
    }
    if rows().any(|(_, _, omega)| omega != 1.0) || n < 2.0 {
        return Err("no finite-sample bound: it needs at least two rows, each of weight 1");
    }
    let ln = (2.0 / terms.tail()).ln();
    let upper = |range: f64, term: &dyn Fn(f64, f64) -> f64| {
        let each = || rows().map(|(log_w, y, _)| term(zeta.apply(log_w).0.min(top), y - hi));
        let mean = each().sum::<f64>() / n;
        let variance = each().map(|u| (u - mean) * (u - mean)).sum::<f64>() / (n - 1.0);
        mean + (2.0 * variance * ln / n).sqrt() + 7.0 * range * ln / (3.0 * (n - 1.0))
    };
    Ok(Bound {
        value: hi + upper(top * (hi - lo), &|t, z| t * z),
        // T - 1 lies in [-1, top - 1] and z in [lo - hi, 0]
        difference: upper(top * (hi - lo), &|t, z| (t - 1.0) * z),
        cap,
        top,
        cost_range: [lo, hi],
        assumed: terms.cost_range.is_none(),
    })
}
