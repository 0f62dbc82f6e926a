//! Ratios of two outcomes, such as revenue per spend.
//!
//! A ratio of means is not the mean of ratios, and a policy that earns more may earn less per unit of what it spends. Both means are
//! self-normalised, so their weights cancel:
//!
//! ```text
//! R(pi) = sum s w y / sum s w c       influence  w (y - R(pi) c) / sum s w c
//! R(log) = sum s y / sum s c          influence    (y - R(log) c) / sum s c
//! ```
//!
//! The difference has the difference of the influences, row by row (the delta method); errors of sampled and of clustered rows are sums of
//! squares over rows with s^2, and over clusters. Quantiles are Student's, with the degrees of freedom that the influences say.

use super::certificate::{Certificate, Verdict};
use super::interval::{Interval, stretch};
use super::segments::Finding;
use super::terms::Terms;
use crate::data::{Log, Outcome};
use crate::error::{Error, Result};
use crate::folds::{Scored, score};
use crate::math;
use crate::policy::TargetPolicy;
use crate::source::Source;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Standard errors that a mean below the line must be above 0: a ratio to something that may be 0 says nothing.
const AWAY_FROM_ZERO: f64 = 4.0;

/// Fewest rows that the error of the difference must rest on before a finding is made of it.
const FEW: f64 = 12.0;

/// A ratio of two outcomes under a policy and in the log, on the user's scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Ratio {
    /// The outcome above the line.
    pub outcome: String,
    /// The column below it.
    pub per: String,
    /// Whether a larger ratio is better.
    pub direction: Outcome,
    /// The policy's ratio.
    pub policy: Interval,
    /// The log's.
    pub logged: Interval,
    /// The first minus the second, paired row by row.
    pub difference: Interval,
    /// The standard error that the difference would have if weights and outcomes had nothing to do with each other.
    pub null_error: f64,
    /// How many rows (or clusters) the error of the difference rests on.
    pub informative: f64,
    /// The means below the line: the policy's and the log's.
    pub means_below: [f64; 2],
}

/// The ratio of two outcomes under a policy: `above` and `below` are the same rows, with either column as their outcome.
///
/// ```
/// use counterpoint::certify::{Terms, ratio};
/// use counterpoint::policy::Family;
/// use counterpoint::{Log, Policy};
/// let n = 4000;
/// let bid: Vec<f64> = (0..n).map(|i| 2.0 * (i as f64 * 0.5698402910).fract()).collect();
/// let rows = |name: &str, y: Vec<f64>| Log::builder().action("bid", bid.clone()).reward(name, y).propensity("p", vec![0.5; n]).build();
/// let spend = rows("spend", bid.iter().map(|b| 1.0 + b).collect())?;
/// let revenue = rows("revenue", bid.iter().map(|b| 3.0 + b).collect())?;
/// let low = Policy::constant(Family::Normal, &[], &["bid"], &[0.5], &[0.1])?;
/// let r = ratio(&low, &revenue, &spend, &Terms::default())?;
/// assert!((r.policy.estimate - 3.5 / 1.5).abs() < 0.02 && (r.logged.estimate - 4.0 / 2.0).abs() < 0.01);
/// assert!(r.difference.lower > 0.0); // it earns less, and more per unit of spend
/// # Ok::<(), counterpoint::Error>(())
/// ```
pub fn ratio(policy: &dyn TargetPolicy, above: &dyn Source, below: &dyn Source, terms: &Terms) -> Result<Ratio> {
    terms.check()?;
    let (Some(top), Some(base)) = (above.log(), below.log()) else {
        return Err(Error::data("a ratio needs both columns in this process")
            .hint("read the log here, or add a column with one outcome less the other times a price"));
    };
    let scored = score(above.engine(), top, policy)?;
    let pairs = Pairs::new(&scored, top, base)?;
    pairs.ratio(terms)
}

/// Rows with both outcomes on the user's scale.
struct Pairs<'a> {
    scored: &'a [Scored],
    top: &'a Log,
    base: &'a Log,
    /// ln of the weights' unit.
    unit: f64,
}

/// Sums of s, s w, s w y, s w c, s y, s c.
#[derive(Default)]
struct Means {
    s: f64,
    w: f64,
    wy: f64,
    wc: f64,
    y: f64,
    c: f64,
}

/// Sums of squares, fourth powers and the keys of influence functions: value, log, difference, and of c under policy and log.
#[derive(Default)]
struct Squares {
    sums: [f64; 5],
    fourth: f64,
    clusters: BTreeMap<u64, [f64; 5]>,
}

impl<'a> Pairs<'a> {
    fn new(scored: &'a [Scored], top: &'a Log, base: &'a Log) -> Result<Self> {
        let same = top.blocks().len() == base.blocks().len()
            && top
                .blocks()
                .iter()
                .zip(base.blocks())
                .all(|(a, b)| a.ids[..] == b.ids[..] && a.omega[..] == b.omega[..]);
        if !same {
            return Err(Error::data("the two outcomes are not those of the same rows")
                .hint("clean the log first, so that every row has both"));
        }
        let counted = scored.iter().flat_map(|b| b.log_w.iter().zip(&b.omega).filter(|r| *r.1 > 0.0).map(|r| *r.0));
        let unit = counted.fold(f64::NEG_INFINITY, f64::max);
        match unit.is_finite() {
            true => Ok(Pairs { scored, top, base, unit }),
            false => Err(Error::numeric("weights", "the policy gives density 0 to every logged action")),
        }
    }

    /// (s, w, y, c, s^2, key) of every row.
    fn each(&self, mut of: impl FnMut(f64, f64, [f64; 2], f64, u64)) {
        let (up, down) = (self.top.schema().direction, self.base.schema().direction);
        for (b, base) in self.scored.iter().zip(self.base.blocks()) {
            for i in (0..b.y.len()).filter(|&i| b.omega[i] > 0.0) {
                let outcomes = [up.to_user(b.y[i]), down.to_user(base.y[i])];
                let square = b.weighting.squared(b.omega[i]);
                of(b.omega[i], math::exp(b.log_w[i] - self.unit), outcomes, square, b.key(i));
            }
        }
    }

    fn means(&self) -> Means {
        let mut m = Means::default();
        self.each(|s, w, [y, c], _, _| {
            m.s += s;
            m.w += s * w;
            m.wy += s * w * y;
            m.wc += s * w * c;
            m.y += s * y;
            m.c += s * c;
        });
        m
    }

    fn squares(&self, m: &Means, [policy, logged]: [f64; 2]) -> Squares {
        let clustered = self.top.schema().cluster.is_some();
        let mut q = Squares::default();
        let (mean, base) = (m.wc / m.w, m.c / m.s);
        self.each(|s, w, [y, c], square, key| {
            let own = w * (y - policy * c) / m.wc;
            let log = (y - logged * c) / m.c;
            let psi = [own, log, own - log, w * (c - mean) / m.w, (c - base) / m.s];
            if clustered {
                let sums = q.clusters.entry(key).or_insert([0.0; 5]);
                sums.iter_mut().zip(psi).for_each(|(a, p)| *a += s * p);
            } else {
                q.sums.iter_mut().zip(psi).for_each(|(a, p)| *a += square * p * p);
                q.fourth += square * square / s * math::powi(psi[2], 4);
            }
        });
        if clustered {
            let n = q.clusters.len() as f64;
            for sums in q.clusters.values() {
                q.sums.iter_mut().zip(sums).for_each(|(a, p)| *a += n / (n - 1.0).max(1.0) * p * p);
                q.fourth += math::powi(sums[2], 4);
            }
        }
        q
    }

    fn ratio(&self, terms: &Terms) -> Result<Ratio> {
        let m = self.means();
        let estimates = [m.wy / m.wc, m.y / m.c];
        let q = self.squares(&m, estimates);
        let [se_policy, se_logged, se_difference, se_mean, se_base] = q.sums.map(f64::sqrt);
        let means_below = [m.wc / m.w, m.c / m.s];
        for (mean, se, whose) in [(means_below[0], se_mean, "the policy's"), (means_below[1], se_base, "the log's")] {
            if mean.is_nan() || mean <= AWAY_FROM_ZERO * se {
                return Err(Error::data(format!(
                    "{whose} mean of {:?} is {mean:.4} (standard error {se:.4}): a ratio to it says nothing",
                    self.base.schema().outcome
                ))
                .hint("what stands below the line must be above 0 on average"));
            }
        }
        let draws = if q.clusters.is_empty() { m.s } else { q.clusters.len() as f64 };
        let informative = if q.fourth > 0.0 { (q.sums[2] * q.sums[2] / q.fourth).min(draws) } else { draws };
        let freedom = 2.0 / (1.0 / informative - 1.0 / draws).max(1e-9);
        let times = stretch(freedom, terms);
        let around = |estimate: f64, se: f64, times: f64| Interval {
            std_error: se,
            ..Interval::normal((estimate, times * se), terms)
        };
        Ok(Ratio {
            outcome: self.top.schema().outcome.clone(),
            per: self.base.schema().outcome.clone(),
            direction: self.top.schema().direction,
            policy: around(estimates[0], se_policy, times),
            logged: around(estimates[1], se_logged, 1.0),
            difference: around(estimates[0] - estimates[1], se_difference, times),
            null_error: self.null_error(&m, estimates[1]),
            informative,
            means_below,
        })
    }

    /// sqrt(mean((w / wbar - 1)^2) var(y - R c) / n) over the policy's mean of c.
    fn null_error(&self, m: &Means, logged: f64) -> f64 {
        let (wbar, mut weights, mut residuals, mut squares) = (m.w / m.s, 0.0, 0.0, 0.0);
        self.each(|_, w, [y, c], square, _| {
            weights += square * math::powi(w / wbar - 1.0, 2);
            residuals += square * math::powi(y - logged * c, 2);
            squares += square;
        });
        (weights / squares * residuals).sqrt() / m.s / (m.wc / m.w)
    }
}

impl Ratio {
    /// Whether the policy's ratio is better or worse than the log's, as far as the certificate of the outcome above the line lets
    /// its weights be believed.
    pub fn finding(&self, certificate: &Certificate) -> Finding {
        if certificate.verdict == Verdict::Invalid {
            return Finding::Silent(certificate.refusals().first().cloned().unwrap_or_default());
        }
        if certificate.missing > 0.0 {
            let share = 100.0 * certificate.missing;
            return Finding::Silent(format!("the log does not show {share:.1}% of the policy's mass"));
        }
        let [low, high] = self.difference.to_user(self.direction).ends_with(self.null_error); // as a cost
        match (high < 0.0 && self.informative >= FEW, low > 0.0) {
            (true, _) => Finding::Better,
            (_, true) => Finding::Worse,
            _ => Finding::Unclear,
        }
    }
}

/// "revenue per spend: policy 2.3331 [2.3200, 2.3460], log 2.0001 [1.9900, 2.0100], difference 0.3330 [0.3200, 0.3460]"
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |i: &Interval| format!("{:.4} [{:.4}, {:.4}]", i.estimate, i.lower, i.upper);
        write!(f, "{} per {}: policy {}, ", self.outcome, self.per, one(&self.policy))?;
        write!(f, "log {}, difference {}", one(&self.logged), one(&self.difference))
    }
}
