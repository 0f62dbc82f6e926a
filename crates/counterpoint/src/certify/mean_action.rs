//! The value of always playing a policy's mean action, which many deploy.
//!
//! The mean action has no density, so weights alone say nothing of it. Rows near it do. With V(h) the self-normalised value of
//! N(mu(x), h^2),
//!
//! ```text
//! V(h) = V(0) + b h^2 + O(h^4)       so       R(h) = (4 V(h) - V(2 h)) / 3 = V(0) + O(h^4)
//! ```
//!
//! A small h has few rows, a large one a bias. SLOPE (Su, Srinath and Krishnamurthy, 2020) chooses without knowing the bias: from
//! the smallest h upwards, as long as all intervals R(h) +- 2 z s(h) have a point in common, z one standard error here. An interval
//! at the chosen h would be too short by the bias that was just too small to be seen. So the answer is read at half of that h, and what the
//! value moved by on the way is added to its interval.

use super::gate::Gate;
use super::interval::Interval;
use crate::data::Summaries;
use crate::error::{Error, Result};
use crate::folds::{Distances, NearFold, NearMean, NearSums, NearValue};
use crate::policy::TargetPolicy;
use crate::source::Source;
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;
use std::fmt;

/// The widest h, in standard deviations of the logged actions; R begins at half of it.
const WIDEST: f64 = 1.0;

/// How many h there are: down to 1/256 of the widest.
const STEPS: usize = 17;

/// Effective rows that an h must have to be looked at.
const FEWEST: f64 = 30.0;

/// Half widths of the intervals that must have a point in common, in standard errors.
const APART: f64 = 2.0;

/// The weight of V(h) in R(h); that of V(2 h) is the rest.
const NEARER: f64 = 4.0 / 3.0;

/// What always playing a policy's mean action would have cost or earned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MeanActionValue {
    /// The value per row, in the direction of the log's outcome. Its interval is that of the rows, `bias` wider at either end.
    pub value: Interval,
    /// How much of the interval's half width is for the bias that the rows cannot tell from 0.
    pub bias: f64,
    /// h: the distance from the mean action at which rows have a say, for each action column; 0 where enough rows did just that.
    pub distance: Vec<f64>,
    /// Effective rows behind it.
    pub effective: f64,
    /// The mean weight of N(mu, h^2): near 1 where the log has rows around the mean action in every context.
    pub mean_weight: f64,
    /// Whether the mean weight is near enough to 1. Where it is not, the value is that of the contexts in which the log shows the mean action.
    pub supported: bool,
}

/// The value of always playing a policy's mean action, with an interval, from rows that others logged.
///
/// The interval holds where the outcome is smooth in the action, or has a kink there; a jump at the mean action can be missed on
/// a small log. Simulated coverage stands in `docs/maths.md`. Refused where no h has 30 effective rows, and where a policy does not know its mean action.
///
/// ```
/// use counterpoint::certify::mean_action;
/// use counterpoint::policy::Family;
/// use counterpoint::{Log, Policy};
/// let n = 4000;
/// let a: Vec<f64> = (0..n).map(|i| 4.0 * (i as f64 * 0.5698402910).fract()).collect();
/// let cost = a.iter().map(|a| (a - 1.0) * (a - 1.0)).collect();
/// let log = Log::builder().action("a", a).cost("y", cost).propensity("p", vec![0.25; n]).build()?;
/// let policy = Policy::constant(Family::Normal, &[], &["a"], &[1.5], &[0.5])?; // costs .25 + .25 with its noise
/// let m = mean_action(&policy, &log, 0.95)?;
/// assert!(m.value.holds(0.25) && m.value.upper < 0.3 && m.supported);
/// # Ok::<(), counterpoint::Error>(())
/// ```
pub fn mean_action(policy: &dyn TargetPolicy, rows: &dyn Source, confidence: f64) -> Result<MeanActionValue> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(Error::recipe("confidence", format!("{confidence} must lie between 0 and 1")));
    }
    let summaries = rows.get(Summaries)?;
    let units: Vec<f64> = summaries.actions.iter().map(|a| a.std()).collect();
    if !units.iter().all(|u| u.is_finite() && *u > 0.0) {
        return Err(Error::data("every logged action is the same: rows around another action are not there"));
    }
    let distances = Distances {
        units,
        widest: WIDEST,
        steps: STEPS,
        centre: summaries.cost.mean(),
        weighting: rows.schema().weighting,
    };
    let near = Near { sums: ask(policy, rows, &distances)?, distances };
    near.check()?;
    let found = near.choose()?;
    let interval = Interval::around(found.at.value + near.distances.centre, found.at.std_error, confidence);
    Ok(MeanActionValue {
        value: interval.widened(found.bias, found.bias).to_user(rows.schema().direction),
        bias: found.bias,
        distance: near.distances.units.iter().map(|u| found.h * u).collect(),
        effective: found.at.effective,
        mean_weight: found.weight.0,
        supported: (found.weight.0 - 1.0).abs() <= Gate::default().tolerance(found.weight.1),
    })
}

/// The sums: on the spot where the rows are here, as a question where the policy has a file.
fn ask(policy: &dyn TargetPolicy, rows: &dyn Source, distances: &Distances) -> Result<NearSums> {
    policy.check_against(rows.schema()).or_else(|e| {
        // a rule without noise has no density, but it is its own mean action
        if policy.saved().is_some_and(|p| p.columns().check_against(rows.schema()).is_ok()) { Ok(()) } else { Err(e) }
    })?;
    match (rows.log(), policy.saved()) {
        (Some(log), _) => Ok(rows.engine().ask(&NearFold { policy, distances }, log.blocks())),
        (None, Some(policy)) => rows.get(NearMean { policy, distances: distances.clone() }),
        (None, None) => Err(Error::policy("it has no file, so it cannot be asked where the rows are")
            .hint("ask about it on a log of this process")),
    }
}

struct Near {
    sums: NearSums,
    distances: Distances,
}

struct Found {
    at: NearValue,
    bias: f64,
    /// In units.
    h: f64,
    weight: (f64, f64),
}

impl Near {
    fn check(&self) -> Result<()> {
        match (self.sums.unknown, self.sums.rows[0] > 0.0) {
            (0, true) => Ok(()),
            (_, false) => Err(Error::data("there are no rows")),
            _ => Err(Error::policy("its mean action is not known")),
        }
    }

    /// The mean weight of the density at step k, with its standard error; at distance 0 that of the probability.
    fn weight(&self, k: usize) -> (f64, f64) {
        let (mean, se) = self.sums.weight(k);
        let h = self.distances.at(k);
        // the sums divide by p times the units; a density divides by (2 pi)^(1/2) h units for each column
        let volume: f64 = self.distances.units.iter().map(|u| if h > 0.0 { TAU.sqrt() * h } else { 1.0 / u }).product();
        (mean / volume, se / volume)
    }

    fn choose(&self) -> Result<Found> {
        let gate = Gate::default();
        // rows that did just that need no extrapolation, if their propensities are probabilities and they are there in every context
        let (exact, weight) = (self.sums.combined(STEPS, 1.0), self.weight(STEPS));
        if exact.effective >= FEWEST && (weight.0 - 1.0).abs() <= gate.tolerance(weight.1) {
            return Ok(Found { at: exact, bias: 0.0, h: 0.0, weight });
        }
        let tried: Vec<NearValue> = (2..STEPS)
            .map(|k| self.sums.combined(k, NEARER))
            .take_while(|v| v.effective >= FEWEST && v.value.is_finite() && v.std_error.is_finite())
            .collect();
        let Some(widest) = slope(&tried) else {
            return Err(Error::numeric(
                "mean action",
                format!("fewer than {FEWEST} effective rows lie near it: the log cannot tell its value"),
            ));
        };
        let half = (widest + 2).min(tried.len() - 1); // two steps of sqrt(2)
        let at = tried[half];
        let bias = (at.value - tried[widest].value).abs();
        Ok(Found { at, bias, h: self.distances.at(half + 2), weight: self.weight(half + 2) })
    }
}

/// The first (widest) of the list for which all intervals from it to the last have a point in common.
fn slope(tried: &[NearValue]) -> Option<usize> {
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut widest = None;
    for (k, v) in tried.iter().enumerate().rev() {
        low = low.max(v.value - APART * v.std_error);
        high = high.min(v.value + APART * v.std_error);
        if low > high {
            break;
        }
        widest = Some(k);
    }
    widest
}

/// "0.2501 [0.2390, 0.2612], from 210 effective rows within about 0.25 of it"
impl fmt::Display for MeanActionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let v = &self.value;
        write!(f, "{:.4} [{:.4}, {:.4}], from {:.0} effective rows ", v.estimate, v.lower, v.upper, self.effective)?;
        if self.distance.iter().all(|h| *h == 0.0) {
            f.write_str("that did just that")?;
        } else {
            let h: Vec<String> = self.distance.iter().map(|h| format!("{h:.3}")).collect();
            write!(f, "within about {} of it", h.join(" and "))?;
        }
        if !self.supported {
            write!(
                f,
                "; the mean weight there is {:.2}, so it is the value of those contexts only in which the log shows the mean action",
                self.mean_weight
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(value: f64, std_error: f64) -> NearValue {
        NearValue { value, std_error, effective: 100.0 }
    }

    /// Intervals of 2 standard errors: [.8, 1.2], [.7, 1.3], [1.25, 1.65] from the narrow end; the third misses the first.
    #[test]
    fn slope_stops_before_the_first_interval_that_misses_the_others() {
        let tried = [at(1.45, 0.1), at(1.0, 0.15), at(1.0, 0.1)];
        assert_eq!(slope(&tried), Some(1));
        assert_eq!(slope(&tried[..2]), Some(0)); // [.7, 1.3] and [1.25, 1.65] meet
        assert_eq!(slope(&[]), None);
    }
}
