//! What would overturn a certificate: densities that are wrong, hidden causes, another population, a few rows that carry it all.
//!
//! A certificate holds if what the log says of itself is true. How much of it may be false before the verdict falls is a number, and a
//! clinician asks for it first.

use super::certificate::{Certificate, Verdict};
use super::diagnose::exceeded;
use super::interval::Interval;
use super::spread::Costs;
use crate::error::Result;
use crate::folds::{Bootstrap, ClusterWeights, OutcomeLaw, Powers, Shape, Totals, Weighed, Without, ask_weights};
use crate::math;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A factor beyond which nobody asks.
const LARGEST: f64 = 100.0;

/// The share of the heaviest rows that is left out.
const HEAVIEST: f64 = 0.01;

/// The difference without some of the rows, in the user's direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Share of the rows that was left out.
    pub share: f64,
    /// The difference on the other rows, with an interval as wide, in standard errors, as that of the certificate: a look, not a test.
    pub difference: Interval,
    /// Whether that interval still lies on the side of a gain.
    pub holds: bool,
}

/// What a certificate to deploy would not survive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Overturn {
    /// G*: the gain stands as long as every weight is right within this factor, either way; at most 100.
    ///
    /// With true weights within a factor G of ours the worst mean cost is the v at which sum w (G 1{y > v} + 1{y <= v} / G)(y - v) = 0.
    /// A density that was logged wrongly, and a hidden cause that makes an action more or less likely, are both such a factor.
    /// Nothing where the verdict is not to deploy.
    pub factor: Option<f64>,
    /// rho*: the gain stands for every population whose outcomes under the policy differ from these by less than this Kullback-Leibler
    /// divergence. Nothing where no such shift overturns it, or the verdict is not to deploy.
    pub shift: Option<f64>,
    /// Without the heaviest 1% of the rows.
    pub heaviest: LeftOut,
    /// Without the cluster that has most weight, where there are clusters.
    pub cluster: Option<LeftOut>,
}

impl Overturn {
    /// The shift in words: any half of the rows may become this share of them, and the gain stands. The q in (1/2, 1) with
    /// q ln 2q + (1 - q) ln 2(1 - q) = rho; 1 from rho = ln 2 on.
    pub fn half_becomes(&self) -> Option<f64> {
        self.shift.map(half_becomes)
    }
}

/// What would overturn a certificate that was given on these test rows.
pub(super) fn overturn(rows: &dyn Weighed, c: &Certificate) -> Result<Overturn> {
    let totals = ask_weights(rows, Totals)?;
    let (log_scale, centre) = (totals.log_mean(), totals.cost.mean());
    let costs = Costs::new(&ask_weights(rows, OutcomeLaw { log_scale: Some(log_scale) })?);
    // costs inside: the upper end of the difference must stay below 0
    let room = -c.difference.to_user(c.direction).upper;
    let deploys = matches!(c.verdict, Verdict::Deploy | Verdict::Promising) && room > 0.0;
    let (mean, ends) = (costs.mean(), costs.ends());
    let factor = deploys.then(|| costs.factor_to(mean + room).clamp(1.0, LARGEST));
    let shift = (deploys && ends.is_some_and(|e| e[1] - mean > room)).then(|| costs.shift_to(mean + room).min(SHIFT));
    let above = heaviest(rows, log_scale, centre, totals.cost.n)?;
    // as wide, in standard errors, as the certificate's own interval
    let normal = Interval::around(0.0, c.difference.std_error, c.terms.confidence).upper;
    let half = 0.5 * (c.difference.upper - c.difference.lower);
    let stretch = if normal > 0.0 && half.is_finite() { (half / normal).max(1.0) } else { 1.0 };
    let without = |above, cluster| -> Result<LeftOut> {
        let left = ask_weights(rows, Without { log_scale, centre, above, cluster })?;
        let (estimate, error) = left.moments().difference();
        let difference = Interval::around(estimate, stretch * error, c.terms.confidence);
        let share = left.rows[0] as f64 / left.rows[1].max(1) as f64;
        Ok(LeftOut { share, holds: difference.upper < 0.0, difference: difference.to_user(c.direction) })
    };
    let cluster = match totals.cluster_count() {
        None => None,
        Some(_) => {
            let weights = ask_weights(rows, ClusterWeights { log_scale })?;
            let largest = weights.iter().fold((None, 0.0), |l, (k, w)| if *w > l.1 { (Some(*k), *w) } else { l });
            Some(without(None, largest.0)?)
        }
    };
    Ok(Overturn { factor, shift, heaviest: without(Some(above), None)?, cluster })
}

fn half_becomes(rho: f64) -> f64 {
    let divergence = |q: f64| q * math::ln(2.0 * q) + (1.0 - q) * math::ln(2.0 * (1.0 - q));
    if rho >= std::f64::consts::LN_2 {
        return 1.0;
    }
    let (mut low, mut high) = (0.5, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if divergence(middle) <= rho { low = middle } else { high = middle }
    }
    low
}

/// A Kullback-Leibler divergence beyond which nobody asks.
const SHIFT: f64 = 50.0;

/// ln of the weight above which the heaviest rows lie.
fn heaviest(rows: &dyn Weighed, log_scale: f64, centre: f64, n: f64) -> Result<f64> {
    let ask = Bootstrap { replicates: 0, seed: 0, log_scale, centre, of: Powers::Weights, together: 1 };
    let own = ask_weights(rows, ask)?.own;
    let (value, difference) = (own.value().0, own.difference().0);
    let shape = Shape { log_scale, centre, value, difference, vbar: own.weight().0 - 1.0, zbar: own.logged().0 };
    Ok(exceeded(&ask_weights(rows, shape)?.log_w, HEAVIEST * n))
}

/// In words that need no formula.
impl fmt::Display for Overturn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.factor {
            Some(g) if g >= LARGEST => writeln!(f, "densities wrong by a factor of {LARGEST} would not overturn this")?,
            Some(g) => writeln!(
                f,
                "the gain stands if every density of the log is right within a factor of {g:.2} (a hidden cause that makes \
                 actions up to {g:.2} times as likely is such a factor); beyond that it may be none"
            )?,
            None => {}
        }
        if let (Some(rho), Some(share)) = (self.shift, self.half_becomes()) {
            writeln!(
                f,
                "it stands for every population that differs from these rows by a divergence of at most {rho:.3}: any half \
                 of them may become {:.0}%",
                (100.0 * share).floor()
            )?;
        }
        let left = |what: &str, l: &LeftOut| {
            if l.difference.estimate.is_nan() {
                return format!("without {what} hardly a row counts");
            }
            let (d, still) = (&l.difference, if l.holds { "still a gain" } else { "no longer a clear gain" });
            format!("without {what}: {:.4} [{:.4}, {:.4}], {still}", d.estimate, d.lower, d.upper)
        };
        write!(f, "{}", left("the heaviest 1% of the rows", &self.heaviest))?;
        match &self.cluster {
            Some(c) => {
                write!(f, "\n{}", left(&format!("the heaviest cluster ({:.1}% of the rows)", 100.0 * c.share), c))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One row has nearly all the weight, and it is left out.
    #[test]
    fn no_figure_is_said_where_nothing_is_left() {
        let heaviest = LeftOut { share: 0.01, holds: false, difference: Interval::around(f64::NAN, 1.0, 0.95) };
        let said = Overturn { factor: None, shift: None, heaviest, cluster: None }.to_string();
        assert_eq!(said, "without the heaviest 1% of the rows hardly a row counts");
    }

    #[test]
    fn a_divergence_in_words_by_hand() {
        // .6 ln 1.2 + .4 ln .8 = .0201355
        assert!((half_becomes(0.020_135_5) - 0.6).abs() < 1e-5);
        assert_eq!(half_becomes(1.0), 1.0);
        assert!((half_becomes(0.0) - 0.5).abs() < 1e-7);
    }
}
