//! The whole distribution of the outcome under a policy: quantiles, tails, and means under the worst that may be wrong.

use super::interval::Interval;
use crate::data::Outcome;
use crate::error::{Error, Result};
use crate::folds::{OutcomeDistribution, OutcomeLaw, Totals, ask_weights};
use crate::math;
use crate::policy::TargetPolicy;
use crate::source::Source;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Levels of the quantiles that are reported.
pub const LEVELS: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

/// Costs in ascending order with the weight of their rows and what these add to a variance.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Costs {
    rows: Vec<[f64; 3]>,
    /// Sums of weights and of squared weights.
    total: [f64; 2],
}

impl Costs {
    pub(super) fn new(law: &OutcomeDistribution) -> Self {
        let mut rows: Vec<[f64; 3]> = law.weights.heaviest().map(|(y, w)| [y, w, 0.0]).collect();
        rows.reverse();
        // costs of equal place: both digests join the same values where there are few; else squares go to the next cost
        let mut at = 0;
        let mut squares: Vec<(f64, f64)> = law.squares.heaviest().collect();
        squares.reverse();
        for (y, square) in squares {
            while at + 1 < rows.len() && rows[at][0] < y {
                at += 1;
            }
            if let Some(row) = rows.get_mut(at) {
                row[2] += square;
            }
        }
        let total = rows.iter().fold([0.0; 2], |t, r| [t[0] + r[1], t[1] + r[2]]);
        Costs { rows, total }
    }

    /// Smallest and largest cost.
    pub(super) fn ends(&self) -> Option<[f64; 2]> {
        Some([self.rows.first()?[0], self.rows.last()?[0]])
    }

    /// The mean: the self-normalised estimate.
    pub(super) fn mean(&self) -> f64 {
        self.rows.iter().map(|[y, w, _]| w * y).sum::<f64>() / self.total[0]
    }

    /// The smallest cost of which at least this share of the weight lies at or below.
    pub(super) fn quantile(&self, level: f64) -> f64 {
        let want = level.clamp(0.0, 1.0) * self.total[0];
        let mut sum = 0.0;
        for [y, w, _] in &self.rows {
            sum += w;
            if sum >= want * (1.0 - 1e-12) {
                return *y;
            }
        }
        self.rows.last().map_or(f64::NAN, |r| r[0])
    }

    /// A quantile with its interval (Woodruff 1952): the quantiles at the level plus and minus z standard errors of F at the quantile,
    /// se^2 = sum s^2 w^2 (1{y <= q} - F)^2 / (sum s w)^2.
    pub(super) fn quantile_interval(&self, level: f64, confidence: f64) -> Interval {
        let q = self.quantile(level);
        let (mut below, mut squares) = (0.0, 0.0);
        for [_, w, s] in self.rows.iter().take_while(|r| r[0] <= q) {
            (below, squares) = (below + w, squares + s);
        }
        let f = below / self.total[0];
        let variance = squares * (1.0 - 2.0 * f) + f * f * self.total[1];
        // where all rows lie on one side, the error of a level is at least that of the wanted one
        let wanted = level * (1.0 - level) * self.total[1];
        let se = variance.max(wanted).max(0.0).sqrt() / self.total[0];
        let levels = Interval::around(level, se, confidence);
        let (lower, upper) = (self.quantile(levels.lower), self.quantile(levels.upper));
        Interval {
            estimate: q,
            std_error: (upper - lower) / (levels.upper - levels.lower).max(f64::MIN_POSITIVE) * se,
            lower,
            upper,
        }
    }

    /// The mean of the worst costs, a share of them: C = eta + E (y - eta)_+ / share, eta the cost above which they lie. Its influence is
    /// w ((y - eta)_+ / share + eta - C) / mean w.
    pub(super) fn tail(&self, share: f64, confidence: f64) -> Interval {
        let eta = self.quantile(1.0 - share);
        let beyond = |y: f64| (y - eta).max(0.0) / share;
        let c = eta + self.rows.iter().map(|[y, w, _]| w * beyond(*y)).sum::<f64>() / self.total[0];
        let squares: f64 = self.rows.iter().map(|[y, _, s]| s * math::powi(beyond(*y) + eta - c, 2)).sum();
        Interval::around(c, squares.sqrt() / self.total[0], confidence)
    }

    /// The factor g by which every weight may be wrong either way before the mean cost can reach `cost`. The worst mean is the v at which
    /// sum w (g 1{y > v} + 1{y <= v} / g)(y - v) = 0, which falls in v: it reaches c at g^2 = sum w (c - y)_+ / sum w (y - c)_+.
    pub(super) fn factor_to(&self, cost: f64) -> f64 {
        let [above, below] =
            [1.0, -1.0].map(|sign| -> f64 { self.rows.iter().map(|[y, w, _]| w * (sign * (y - cost)).max(0.0)).sum() });
        (below / above).sqrt()
    }

    /// The Kullback-Leibler divergence of the nearest law of outcomes whose mean cost is `cost`, a number between the mean and the largest cost:
    /// max over u > 0 of u c - ln(sum w e^(u y) / sum w).
    pub(super) fn shift_to(&self, cost: f64) -> f64 {
        let Some([low, high]) = self.ends() else { return f64::NAN };
        let range = high - low;
        let distance = |log_t: f64| {
            let t = range * math::exp(log_t);
            let mean = self.rows.iter().map(|[y, w, _]| w * math::exp((y - high) / t)).sum::<f64>() / self.total[0];
            (cost - high) / t - math::ln(mean)
        };
        // concave in u = 1/t, so it has one hill in ln t as well
        let golden = 0.5 * (5f64.sqrt() - 1.0);
        let (mut a, mut b) = (-14.0f64, 14.0f64);
        let (mut c, mut d) = (b - golden * (b - a), a + golden * (b - a));
        let (mut at_c, mut at_d) = (distance(c), distance(d));
        for _ in 0..70 {
            if at_c > at_d {
                (b, d, at_d) = (d, c, at_c);
                c = b - golden * (b - a);
                at_c = distance(c);
            } else {
                (a, c, at_c) = (c, d, at_d);
                d = a + golden * (b - a);
                at_d = distance(d);
            }
        }
        distance(0.5 * (a + b)).max(0.0)
    }
}

/// One point of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantile {
    /// The level.
    pub level: f64,
    /// The outcome at that level under the policy.
    pub policy: Interval,
    /// And in the log.
    pub logged: Interval,
}

/// How outcomes are distributed under a policy and in the log, in the user's direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Spread {
    /// Quantiles at [`LEVELS`].
    pub quantiles: Vec<Quantile>,
    /// The share of the worst outcomes that `tail` is about.
    pub share: f64,
    /// The mean of the worst outcomes under the policy (conditional value at risk): the highest costs, the lowest rewards.
    pub tail: Interval,
    /// And in the log.
    pub logged_tail: Interval,
}

/// The distribution of the outcome under a policy, from rows that others logged.
///
/// F(t) = sum w 1{y <= t} / sum w: the self-normalised estimate of every probability at once. Intervals of quantiles are Woodruff's;
/// that of the tail is normal, by its influence function. They hold where a few dozen effective rows lie beyond the point asked about.
///
/// ```
/// use counterpoint::certify::spread;
/// use counterpoint::policy::Family;
/// use counterpoint::{Log, Policy};
/// let n = 4000;
/// let a: Vec<f64> = (0..n).map(|i| (i as f64 * 0.5698402910).fract()).collect();
/// let log = Log::builder().action("a", a.clone()).reward("r", a).propensity("p", vec![1.0; n]).build()?;
/// let policy = Policy::constant(Family::Normal, &[], &["a"], &[0.5], &[0.1])?;
/// let s = spread(&policy, &log, 0.1, 0.95)?;
/// assert!((s.quantiles[2].policy.estimate - 0.5).abs() < 0.02 && (s.quantiles[2].logged.estimate - 0.5).abs() < 0.02);
/// assert!((s.tail.estimate - (0.5 - 1.755 * 0.1)).abs() < 0.02); // mean of the lowest tenth of N(.5, .1)
/// # Ok::<(), counterpoint::Error>(())
/// ```
pub fn spread(policy: &dyn TargetPolicy, rows: &dyn Source, share: f64, confidence: f64) -> Result<Spread> {
    if !(share > 0.0 && share < 1.0) {
        return Err(Error::recipe("tail.share", format!("{share} must lie between 0 and 1")));
    }
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(Error::recipe("confidence", format!("{confidence} must lie between 0 and 1")));
    }
    let direction = rows.schema().direction;
    let weighed = rows.weigh(policy)?;
    let totals = ask_weights(&*weighed, Totals)?;
    if totals.top == f64::NEG_INFINITY {
        return Err(Error::numeric("weights", "the policy gives density 0 to every logged action"));
    }
    let [policy, logged] =
        [Some(totals.log_mean()), None].map(|log_scale| ask_weights(&*weighed, OutcomeLaw { log_scale }));
    let (policy, logged) = (Costs::new(&policy?), Costs::new(&logged?));
    let user = |i: Interval| i.to_user(direction);
    let at = |level: f64| {
        // the level of a reward is counted from the other end
        let inside = if direction == Outcome::Reward { 1.0 - level } else { level };
        let of = |costs: &Costs| user(costs.quantile_interval(inside, confidence));
        Quantile { level, policy: of(&policy), logged: of(&logged) }
    };
    Ok(Spread {
        quantiles: LEVELS.iter().map(|l| at(*l)).collect(),
        share,
        tail: user(policy.tail(share, confidence)),
        logged_tail: user(logged.tail(share, confidence)),
    })
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |i: &Interval| format!("{:.4} [{:.4}, {:.4}]", i.estimate, i.lower, i.upper);
        for q in &self.quantiles {
            writeln!(f, "{:.0}% lie below: policy {}, log {}", 100.0 * q.level, one(&q.policy), one(&q.logged))?;
        }
        write!(
            f,
            "mean of the worst {:.0}%: policy {}, log {}",
            100.0 * self.share,
            one(&self.tail),
            one(&self.logged_tail)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Digest;

    fn costs(rows: &[(f64, f64)]) -> Costs {
        let weights = Digest::of(rows.to_vec());
        let squares = Digest::of(rows.iter().map(|(y, w)| (*y, w * w)).collect());
        Costs::new(&OutcomeDistribution { weights, squares })
    }

    /// Costs 0, 1, 4 with weights 1, 2, 1.
    #[test]
    fn figures_of_three_rows_by_hand() {
        let c = costs(&[(1.0, 2.0), (4.0, 1.0), (0.0, 1.0)]);
        assert_eq!(c.mean(), 6.0 / 4.0);
        assert_eq!([0.0, 0.25, 0.26, 0.75, 0.76, 1.0].map(|l| c.quantile(l)), [0.0, 0.0, 1.0, 1.0, 4.0, 4.0]);
        // the worst half: weight 1 of cost 4 and weight 1 of cost 1; eta = 1: 1 + (3 / 4) / (1/2) = 2.5
        assert!((c.tail(0.5, 0.95).estimate - 2.5).abs() < 1e-12);
        // influences beyond eta: 0: -1.5 twice over (costs 0 and 1), 4: 3 / .5 - 1.5 = 4.5; squares 1 * 2.25 + 4 * 2.25 + 1 * 20.25
        assert!((c.tail(0.5, 0.95).std_error - 31.5f64.sqrt() / 4.0).abs() < 1e-12);
        // factor 2: v in (1, 4): 2 (4 - v) = (0 + v + 2 (v - 1)) / 2, so 16 - 4 v = 3 v - 2, v = 18 / 7
        assert!((c.factor_to(18.0 / 7.0) - 2.0).abs() < 1e-12);
        assert!((c.factor_to(1.5) - 1.0).abs() < 1e-12);
        assert!(c.factor_to(3.999) > 50.0 && c.factor_to(4.0).is_infinite());
    }

    /// Two outcomes, 0 and 1, each with probability 1/2: the worst law within rho has P(1) = q with q ln 2q + (1 - q) ln 2(1 - q) = rho.
    #[test]
    fn the_worst_shift_of_a_coin_by_hand() {
        let c = costs(&[(0.0, 1.0), (1.0, 1.0)]);
        for q in [0.55f64, 0.7, 0.9] {
            let rho = q * (2.0 * q).ln() + (1.0 - q) * (2.0 * (1.0 - q)).ln();
            assert!((c.shift_to(q) - rho).abs() < 1e-12, "{q} {}", c.shift_to(q));
        }
        assert!(c.shift_to(0.5) < 1e-12);
        // the nearest law whose mean is all but the largest cost: ln 2
        assert!((c.shift_to(0.999_999) - std::f64::consts::LN_2).abs() < 1e-4);
    }
}
