//! What held-out rows say of a candidate: its value, its error, and whether the log supports it.
//!
//! Every row is judged by the rule that was fitted without it. The value is self-normalised and doubly robust,
//!
//! ```text
//! V = mean g + sum w r / sum w,   g_i = E_pi q(x_i, .),   r_i = y_i - q(x_i, a_i),   q fitted without row i
//! ```
//!
//! with the influence function g - mean g + w (r - R) / mean w. All candidates are judged with the same q, so that
//! differences between them are differences of what they do. Where rows belong to clusters, these are the draws: errors are those of sums over
//! clusters, and what counts rows counts clusters.

use super::table::Table;
use crate::certify::UNEXPLAINED;
use crate::data::Weighting;
use crate::folds::{Growth, Tree};
use crate::math;
use crate::policy::{Axis, LoggingLaw};

/// A rule's mean for every row, and the share of the log's spread that is its std.
#[derive(Clone, Copy)]
pub(super) struct Acts<'a> {
    pub(super) mean: &'a [f64],
    pub(super) share: f64,
    /// The expected cost of each row by the reference model under the policy.
    pub(super) expected: &'a [f64],
}

/// What held-out rows say; costs in units of the log's own spread, so gains are negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figures {
    /// Doubly robust cost less the log's mean cost.
    pub(super) difference: f64,
    /// Its standard error.
    pub(super) error: f64,
    /// The same by the reference model alone.
    pub(super) by_model: f64,
    /// Standard error of the paired self-normalised difference, which certificates use.
    pub(super) plain_error: f64,
    /// Rows that this error and that of the value rest on, (sum psi^2)^2 / sum psi^4.
    pub(super) informative: f64,
    /// Hill's tail index of the weights, from the heaviest sqrt(n) of them.
    pub(super) tail: f64,
    /// Effective rows; clusters, where there are any.
    pub(super) effective: f64,
    pub(super) mean_weight: f64,
    pub(super) mean_weight_error: f64,
    /// Independent draws a row: 1 without clusters.
    pub(super) draws: f64,
}

/// The fixed side of a judgement.
pub(super) struct Judge<'a> {
    pub(super) table: &'a Table,
    pub(super) axis: &'a Axis,
    pub(super) logging: &'a LoggingLaw,
    /// The level of the spread of each row.
    pub(super) level: &'a [usize],
    /// The costs: those of the table, or those of a guardrail.
    pub(super) y: &'a [f64],
    /// Costs less what contexts explain of them, as certificates take them.
    pub(super) left: &'a [f64],
    /// r = y - q at the logged action, by the reference model.
    pub(super) residual: &'a [f64],
}

/// One row in so many shows what contexts explain, as the valid part does of a log.
const SHOWS: usize = 4;

/// Costs less what contexts explain of them, where they do so for rows that did not show it: what a certificate makes its differences of.
pub(super) fn unexplained(table: &Table) -> Vec<f64> {
    let shows: Vec<usize> = (0..table.n()).step_by(SHOWS).collect();
    let growth = Growth::of_contexts(shows.len());
    if table.d == 0 || shows.len() < 2 * growth.rows {
        return table.y.clone();
    }
    let x: Vec<f64> = shows.iter().flat_map(|&i| table.context(i).iter().copied()).collect();
    let y: Vec<f64> = shows.iter().map(|&i| table.y[i]).collect();
    let tree = Tree::grow(&x, table.d, &y, growth);
    let left: Vec<f64> = (0..table.n()).map(|i| table.y[i] - tree.cell(|c| table.context(i)[c]).1).collect();
    let squares = |v: &[f64]| {
        let others = (0..v.len()).filter(|i| i % SHOWS != 0);
        others.map(|i| table.omega[i] * math::powi(v[i], 2)).sum::<f64>()
    };
    if squares(&left) < UNEXPLAINED * squares(&table.y) { left } else { table.y.clone() }
}

impl Judge<'_> {
    /// Weights of all rows.
    pub(super) fn weights(&self, acts: &Acts) -> Vec<f64> {
        let t = self.table;
        let weight = |i: usize| {
            let std = acts.share * self.logging.levels[self.level[i]];
            math::exp(self.axis.log_density(acts.mean[i], std, t.a[i]) - t.log_p[i])
        };
        (0..t.n()).map(weight).collect()
    }

    /// The influence of every row on the doubly robust value of a rule with these weights.
    pub(super) fn influence(&self, acts: &Acts, w: &[f64]) -> Vec<f64> {
        let t = self.table;
        let mean = |f: &dyn Fn(usize) -> f64| (0..t.n()).map(|i| t.omega[i] * f(i)).sum::<f64>() / t.n() as f64;
        let (wbar, gbar) = (mean(&|i| w[i]), mean(&|i| acts.expected[i]));
        let scaled = |i: usize| if wbar > 0.0 { w[i] / wbar } else { 0.0 };
        let correction = mean(&|i| scaled(i) * self.residual[i]);
        (0..t.n()).map(|i| acts.expected[i] - gbar + scaled(i) * (self.residual[i] - correction)).collect()
    }

    /// The standard error of the difference of two values with these influences: what both rules do alike cancels.
    pub(super) fn paired_error(&self, a: &[f64], b: &[f64]) -> f64 {
        let t = self.table;
        t.squares(&|i| a[i] - b[i]).sqrt() / t.n() as f64
    }

    /// What the rows say of a rule with these weights.
    pub(super) fn figures(&self, acts: &Acts, w: &[f64]) -> Figures {
        let (t, y) = (self.table, self.y);
        let n = t.n() as f64;
        let mean = |f: &dyn Fn(usize) -> f64| (0..t.n()).map(|i| t.omega[i] * f(i)).sum::<f64>() / n;
        let wbar = mean(&|i| w[i]);
        // a sampled row adds the square of its weight to a variance
        let spread =
            |f: &dyn Fn(usize) -> f64| (0..t.n()).map(|i| t.weighting.squared(t.omega[i]) * f(i)).sum::<f64>() / n;
        let squares = spread(&|i| w[i] * w[i]);
        let of_weights = match t.weighting {
            Weighting::Counts if !t.clustered() => (squares - wbar * wbar).max(0.0),
            _ => t.squares(&|i| w[i] - wbar) / n,
        };
        let (gbar, ybar) = (mean(&|i| acts.expected[i]), mean(&|i| y[i]));
        let by_weights = |v: &dyn Fn(usize) -> f64| if wbar > 0.0 { mean(&|i| w[i] * v(i)) / wbar } else { 0.0 };
        let correction = by_weights(&|i| self.residual[i]);
        let left = self.left;
        let (plain, plain_left, left_bar) = (by_weights(&|i| y[i]), by_weights(&|i| left[i]), mean(&|i| left[i]));
        let spread_of_left = mean(&|i| math::powi(left[i] - left_bar, 2)).sqrt();
        let scaled = |i: usize| if wbar > 0.0 { w[i] / wbar } else { 0.0 };
        let difference = gbar + correction - ybar;
        let influence =
            |i: usize| acts.expected[i] - gbar + scaled(i) * (self.residual[i] - correction) - (y[i] - ybar);
        let paired = |i: usize| scaled(i) * (left[i] - plain_left) - (left[i] - left_bar);
        let error = |f: &dyn Fn(usize) -> f64| (t.squares(f) / n / n).sqrt();
        let draws = t.draws();
        let participation = |psi: &dyn Fn(usize) -> f64| {
            let (two, four) = (mean(&|i| math::powi(psi(i), 2)), mean(&|i| math::powi(psi(i), 4)));
            if four > 0.0 { draws * n * two * two / four } else { 0.0 }
        };
        Figures {
            difference,
            error: error(&influence),
            by_model: gbar - ybar,
            // weights that spread while outcomes happen to agree are no proof of a small error
            plain_error: error(&paired).max(spread_of_left * (of_weights / (wbar * wbar).max(1e-300) / n).sqrt()),
            informative: participation(&paired).min(participation(&|i| scaled(i) * (y[i] - plain))),
            tail: hill(w),
            effective: if squares > 0.0 { draws * n * wbar * wbar / squares } else { 0.0 },
            mean_weight: wbar,
            mean_weight_error: (of_weights / n).sqrt(),
            draws,
        }
    }
}

/// 1 / mean of ln(w_(i) / w_(k+1)) over the k = sqrt(n) heaviest rows; infinite where they are all the same.
fn hill(w: &[f64]) -> f64 {
    let k = (w.len() as f64).sqrt() as usize;
    let mut sorted = w.to_vec();
    let base = *sorted.select_nth_unstable_by(k, |a, b| b.total_cmp(a)).1;
    let mean = sorted[..k].iter().map(|w| math::ln(w / base)).sum::<f64>() / k as f64;
    if mean > 0.0 { 1.0 / mean } else { f64::INFINITY }
}

/// A function known at knots, at a position between them: the parabola through the three nearest, flat beyond the ends.
pub(super) fn between_knots(knots: &[f64], values: &[f64], u: f64) -> f64 {
    let last = knots.len() - 1;
    if u <= knots[0] {
        return values[0];
    }
    if u >= knots[last] {
        return values[last];
    }
    let right = knots.partition_point(|g| *g <= u).clamp(1, last);
    if last < 2 {
        let t = (u - knots[0]) / (knots[1] - knots[0]);
        return values[0] + t * (values[1] - values[0]);
    }
    let nearer_left = u - knots[right - 1] < knots[right] - u;
    let middle = (if nearer_left { right - 1 } else { right }).clamp(1, last - 1);
    let (g, f) = (&knots[middle - 1..=middle + 1], &values[middle - 1..=middle + 1]);
    let lagrange = |a: usize, b: usize, c: usize| (u - g[b]) * (u - g[c]) / ((g[a] - g[b]) * (g[a] - g[c]));
    f[0] * lagrange(0, 1, 2) + f[1] * lagrange(1, 0, 2) + f[2] * lagrange(2, 0, 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Log;

    /// A step of the context that is nine tenths of the outcome's variance is taken out; noise that contexts do not explain stays as it is.
    #[test]
    fn what_contexts_explain_is_no_noise() {
        let n = 2000u64;
        let even = |seed: u64| (0..n).map(move |i| (crate::rng::hash(seed, i) >> 11) as f64 / (1u64 << 53) as f64);
        let table = |step: f64| {
            let outcome = even(1).zip(even(2)).map(|(x, e)| step * f64::from(u8::from(x > 0.5)) + e).collect();
            let log = Log::builder().context("x", even(1).collect()).action("a", even(3).collect());
            let log = log.cost("y", outcome).propensity("p", vec![1.0; n as usize]).build().expect("a log");
            Table::of(&log, 1).expect("rows")
        };
        let squares = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>() / n as f64;
        let stepped = unexplained(&table(1.7));
        // .103, and what the nearest of 24 cuts to the step leaves of it
        assert!((0.1..0.15).contains(&squares(&stepped)), "{}", squares(&stepped));
        let noise = table(0.0);
        assert_eq!(unexplained(&noise), noise.y);
    }
}
