//! How many rows does a gain need? Before anyone logs, and before anyone tests.
//!
//! A certificate deploys where the difference D between policy and log is larger than z of its standard errors, and D has a standard error
//! sigma / sqrt(n), sigma the spread of its influence function over the n test rows. So
//!
//! ```text
//! n = ((z_(1 - delta/2) + z_power) sigma / gain)^2,     detectable gain = (z_(1 - delta/2) + z_power) sigma / sqrt(n)
//! ```
//!
//! Of a policy sigma is measured. Of one that is not there yet it is that of weights which know nothing of the outcome,
//! sigma^2 = Var(y) (E w^2 - 1); and for a log N(m, t^2) and a policy N(m + d, s^2), t^2 > s^2 / 2,
//!
//! ```text
//! E w^2 = t^2 / (s sqrt(2 t^2 - s^2)) exp(d^2 / (2 t^2 - s^2)),     n_eff / n = 1 / E w^2
//! ```
//!
//! Too little noise in the log and the policy's actions are hardly ever seen; too much and they drown. The best is at
//! t^2 = (u + s^2) / 2, u = (s^2 + 2 d^2 + sqrt((s^2 + 2 d^2)^2 + 8 d^2 s^2)) / 2: about as much as the move itself, and never less than
//! the policy's own.

use crate::certify::Gate;
use crate::data::{Summaries, Weighting};
use crate::error::{Error, Result};
use crate::folds::{Bootstrap, Powers, Totals, ask_weights};
use crate::math;
use crate::math::erfc_inv;
use crate::policy::TargetPolicy;
use crate::source::Source;
use serde::{Deserialize, Serialize};
use std::f64::consts::SQRT_2;
use std::fmt;

/// Moves of a policy that are looked at, in stds of the logged actions.
const MOVES: [f64; 5] = [0.25, 0.5, 1.0, 1.5, 2.0];

/// The noise that a policy keeps, as a share of the log's, where none is said.
const KEPT: f64 = 0.5;

/// The share of the rows that a split gives to the test part.
const TEST_SHARE: f64 = 0.25;

/// What is planned for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlanTerms {
    /// The gain that is to be found, in the unit of the outcome; without it a tenth of the outcome's spread.
    pub gain: Option<f64>,
    /// How often it is to be found.
    pub power: f64,
    /// 1 - delta of the certificate.
    pub confidence: f64,
    /// Rows that there will be; without it those of the log.
    pub rows: Option<f64>,
    /// The std of the policies to come; without it half that of the logged actions.
    pub policy_std: Option<f64>,
}

impl Default for PlanTerms {
    fn default() -> Self {
        PlanTerms { gain: None, power: 0.8, confidence: 0.95, rows: None, policy_std: None }
    }
}

impl PlanTerms {
    /// Refuses terms that mean nothing.
    pub fn check(&self) -> Result<()> {
        let inside = |v: f64| v > 0.0 && v < 1.0;
        let positive = |v: Option<f64>| v.is_none_or(|v| v.is_finite() && v > 0.0);
        let fields = [
            ("power", inside(self.power), "must lie between 0 and 1"),
            ("confidence", inside(self.confidence), "must lie between 0 and 1"),
            ("gain", positive(self.gain), "must be > 0"),
            ("rows", positive(self.rows), "must be > 0"),
            ("policy_std", positive(self.policy_std), "must be > 0"),
        ];
        match fields.into_iter().find(|(_, fine, _)| !fine) {
            Some((name, _, what)) => Err(Error::recipe(&format!("plan.{name}"), what)),
            None => Ok(()),
        }
    }

    /// z_(1 - delta/2) + z_power
    fn reach(&self) -> f64 {
        normal_quantile(0.5 + 0.5 * self.confidence) + normal_quantile(self.power)
    }
}

/// The point below which the standard normal lies with this probability.
fn normal_quantile(p: f64) -> f64 {
    -SQRT_2 * erfc_inv(2.0 * p)
}

/// What a policy, or a kind of policy, needs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Needs {
    /// The spread of the difference per row.
    pub sigma: f64,
    /// n_eff / n.
    pub effective_share: f64,
    /// Test rows in which the gain is found with the power that was asked for.
    pub test_rows: f64,
    /// Rows of the whole log, divided 50/25/25; at least what the gate asks of the valid part.
    pub rows: f64,
    /// The gain that the rows there will be would find with that power.
    pub detectable: f64,
}

/// Needs of policies that move by so much, and the noise that a log for them should have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Move {
    /// How far the policy's mean action lies from the log's, in the unit of the action.
    pub by: f64,
    /// With the noise of this log; nothing where it is too little to say (below .71 of the policy's own).
    pub now: Option<Needs>,
    /// The std of the next log that needs fewest rows.
    pub best_std: f64,
    /// With that noise.
    pub best: Needs,
}

/// How many rows a gain needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Plan {
    /// What was asked, the gain and the rows filled in.
    pub terms: PlanTerms,
    /// The outcome column.
    pub outcome: String,
    /// Its mean in the log.
    pub mean: f64,
    /// Its spread.
    pub std: f64,
    /// The spread of the first action column.
    pub action_std: f64,
    /// The policy, if one was given: its own influence on these rows.
    pub policy: Option<Needs>,
    /// Policies that are not there yet.
    pub moves: Vec<Move>,
}

/// E w^2 of a policy N(m + d, s^2) on a log N(m, t^2); nothing where it is infinite.
///
/// ```
/// use counterpoint::plan::mean_square_weight;
/// assert_eq!(mean_square_weight(0.0, 1.0, 1.0), Some(1.0)); // the log's own policy
/// assert!((mean_square_weight(1.0, 1.0, 1.0).unwrap() - 1f64.exp()).abs() < 1e-12);
/// assert_eq!(mean_square_weight(0.0, 2.0, 1.0), None);
/// ```
pub fn mean_square_weight(d: f64, s: f64, t: f64) -> Option<f64> {
    let u = 2.0 * t * t - s * s;
    (u > 0.0).then(|| t * t / (s * u.sqrt()) * math::exp(d * d / u))
}

/// The std t of a log N(m, t^2) that gives a policy N(m + d, s^2) most effective rows.
///
/// ```
/// use counterpoint::plan::best_noise;
/// assert_eq!(best_noise(0.0, 0.3), 0.3);            // no move: as the policy itself
/// assert!((best_noise(2.0, 1e-9) - 2.0).abs() < 1e-6); // no noise of its own: as the move
/// ```
pub fn best_noise(d: f64, s: f64) -> f64 {
    let (a, b) = (s * s + 2.0 * d * d, 8.0 * d * d * s * s);
    let u = 0.5 * (a + (a * a + b).sqrt());
    (0.5 * (u + s * s)).sqrt()
}

/// Plans on the rows of a log, for a policy if there is one.
///
/// ```
/// use counterpoint::plan::{PlanTerms, plan};
/// use counterpoint::Log;
/// let n = 2000;
/// let u = |i: usize, k: f64| (i as f64 * k).fract();
/// let log = Log::builder().action("a", (0..n).map(|i| u(i, 0.5698402910)).collect())
///     .cost("y", (0..n).map(|i| u(i, 0.7548776662)).collect()).propensity("p", vec![1.0; n]).build()?;
/// let p = plan(&log, None, &PlanTerms { gain: Some(0.01), ..PlanTerms::default() })?;
/// let half = plan(&log, None, &PlanTerms { gain: Some(0.005), ..PlanTerms::default() })?;
/// let rows = |p: &counterpoint::plan::Plan| p.moves[2].best.test_rows;
/// assert!((rows(&half) - 4.0 * rows(&p)).abs() <= 4.0); // half the gain, four times the rows, which are whole
/// println!("{p}");
/// # Ok::<(), counterpoint::Error>(())
/// ```
pub fn plan(log: &dyn Source, policy: Option<&dyn TargetPolicy>, terms: &PlanTerms) -> Result<Plan> {
    terms.check()?;
    let facts = log.get(Summaries)?;
    let (std, Some(action)) = (facts.cost.std(), facts.actions.first()) else {
        return Err(Error::data("the log has no action"));
    };
    if std.is_nan() || std <= 0.0 {
        return Err(Error::data("every outcome is the same: no number of rows would tell policies apart")
            .hint("is the outcome column the right one?"));
    }
    if action.std().is_nan() || action.std() <= 0.0 {
        return Err(Error::data(format!(
            "all logged actions are {}: no number of such rows says what others would do",
            action.mean()
        ))
        .hint("is the action column the right one? a log needs actions that were drawn at random"));
    }
    let terms = PlanTerms {
        gain: terms.gain.or(Some(0.1 * std)),
        rows: terms.rows.or(Some(facts.rows as f64)),
        policy_std: terms.policy_std.or(Some(KEPT * action.std())),
        ..*terms
    };
    let schema = log.schema();
    Ok(Plan {
        terms,
        outcome: schema.outcome.clone(),
        mean: schema.direction.to_user(facts.cost.mean()),
        std,
        action_std: action.std(),
        policy: policy.map(|p| of_policy(log, p, &terms)).transpose()?,
        moves: MOVES.iter().map(|m| of_move(m * action.std(), std, action.std(), &terms)).collect(),
    })
}

fn needs(sigma: f64, effective_share: f64, terms: &PlanTerms) -> Needs {
    let (gain, rows) = (terms.gain.unwrap_or(f64::NAN), terms.rows.unwrap_or(f64::NAN));
    let test_rows = math::powi(terms.reach() * sigma / gain, 2).ceil().max(2.0);
    let gate = Gate::default();
    // the valid part is as large as the test part and must have enough effective rows
    let gated = gate.min_effective_rows / effective_share;
    let detectable = terms.reach() * sigma / (TEST_SHARE * rows).sqrt();
    Needs { sigma, effective_share, test_rows, rows: (test_rows.max(gated) / TEST_SHARE).ceil(), detectable }
}

/// By the influence of the policy's difference, or that of weights which know nothing of the outcome, the larger.
fn of_policy(log: &dyn Source, policy: &dyn TargetPolicy, terms: &PlanTerms) -> Result<Needs> {
    let rows = log.weigh(policy)?;
    let totals = ask_weights(&*rows, Totals)?;
    if totals.top == f64::NEG_INFINITY {
        return Err(Error::numeric("weights", "the policy gives density 0 to every logged action"));
    }
    let (log_scale, centre) = (totals.log_mean(), totals.cost.mean());
    let ask = |of| ask_weights(&*rows, Bootstrap { replicates: 0, seed: 0, log_scale, centre, of, together: 1 });
    let sums = ask(Powers::Weights)?;
    let own = match totals.weighting {
        Weighting::Counts => sums.own,
        Weighting::Sampling => sums.with_squares(ask(Powers::Squares)?).own,
    };
    let n = own.n();
    let sigma = own.difference().1.max(own.null_error()) * n.sqrt();
    Ok(needs(sigma, own.effective() / n, terms))
}

fn of_move(by: f64, std: f64, logged: f64, terms: &PlanTerms) -> Move {
    let s = terms.policy_std.unwrap_or(KEPT * logged);
    let with = |t: f64| {
        mean_square_weight(by, s, t).map(|square| needs(std * (square - 1.0).max(0.0).sqrt(), 1.0 / square, terms))
    };
    let best_std = best_noise(by, s);
    let none =
        Needs { sigma: f64::NAN, effective_share: 0.0, test_rows: f64::NAN, rows: f64::NAN, detectable: f64::NAN };
    Move { by, now: with(logged), best_std, best: with(best_std).unwrap_or(none) }
}

/// A table for people.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (gain, rows) = (self.terms.gain.unwrap_or_default(), self.terms.rows.unwrap_or_default());
        let (power, confidence) = (100.0 * self.terms.power, 100.0 * self.terms.confidence);
        writeln!(f, "{} has mean {:.4} and spread {:.4}", self.outcome, self.mean, self.std)?;
        writeln!(f, "to find a gain of {gain:.4} in {power:.0}% of cases at {confidence:.0}% confidence:")?;
        if let Some(p) = &self.policy {
            writeln!(
                f,
                "this policy needs {:.0} rows ({:.0} for the test); it keeps {:.0}% of the rows effective",
                p.rows,
                p.test_rows,
                100.0 * p.effective_share
            )?;
            writeln!(f, "{rows:.0} rows would find a gain of {:.4}", p.detectable)?;
        }
        let s = self.terms.policy_std.unwrap_or_default();
        writeln!(
            f,
            "policies with a std of {s:.4}, by how far they move the action (log: std {:.4}):",
            self.action_std
        )?;
        write!(
            f,
            "{:>9} {:>8} {:>11} {:>10} | {:>9} {:>8} {:>11}",
            "move", "n_eff/n", "rows needed", "detectable", "best std", "n_eff/n", "rows needed"
        )?;
        for m in &self.moves {
            let now = match &m.now {
                Some(n) => format!("{:>8.3} {:>11.0} {:>10.4}", n.effective_share, n.rows, n.detectable),
                None => format!("{:>8} {:>11} {:>10}", "-", "-", "-"),
            };
            write!(
                f,
                "\n{:>9.4} {now} | {:>9.4} {:>8.3} {:>11.0}",
                m.by, m.best_std, m.best.effective_share, m.best.rows
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_by_hand() {
        // z = 1.959964 + .841621 = 2.801585; sigma 2, gain .1: (56.0317)^2 = 3139.55
        let terms = PlanTerms { gain: Some(0.1), rows: Some(4.0 * 3140.0), ..PlanTerms::default() };
        let n = needs(2.0, 0.5, &terms);
        assert_eq!((n.test_rows, n.rows), (3140.0, 12560.0));
        assert!((n.detectable - 0.1).abs() < 1e-5);
        // few effective rows: the gate asks for more than the test
        assert_eq!(needs(0.001, 0.01, &terms).rows, 4.0 * 50.0 / 0.01);
    }

    /// The formula against an integral, and its best noise against neighbours.
    #[test]
    fn the_mean_square_weight_is_an_integral_and_its_best_noise_a_minimum() {
        let (d, s, t) = (0.7, 0.5, 0.9);
        let density =
            |a: f64, m: f64, s: f64| (-0.5 * ((a - m) / s).powi(2)).exp() / (s * (2.0 * std::f64::consts::PI).sqrt());
        let h = 1e-3;
        let integral: f64 = (-12_000..12_000)
            .map(|i| f64::from(i) * h)
            .map(|a| density(a, d, s).powi(2) / density(a, 0.0, t) * h)
            .sum();
        assert!((mean_square_weight(d, s, t).unwrap() - integral).abs() < 1e-9);
        let best = best_noise(d, s);
        let at = |t: f64| mean_square_weight(d, s, t).unwrap();
        assert!(at(best) < at(0.99 * best) && at(best) < at(1.01 * best));
    }
}
