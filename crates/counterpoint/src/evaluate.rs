//! What a given policy would have cost, by several estimators side by side.

use crate::data::Log;
use crate::engine::Engine;
use crate::error::Result;
use crate::estimate::{Estimator, Form, LossModel, Normalise, Weight};
use crate::folds::{Design, Precision, Question, Risk};
use crate::policy::Policy;
use serde::Serialize;

/// One estimate of a policy's value, on the scale of costs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Estimate {
    /// The estimated cost.
    pub cost: f64,
    /// Its standard error by the delta method.
    pub std_error: f64,
    /// (sum v)^2 / sum v^2 of the weights this estimator uses.
    pub effective: f64,
    /// Their mean; near 1 for raw weights if the policy stays where the log has been.
    pub mean_weight: f64,
    /// Rows (sum of row weights).
    pub rows: f64,
    /// Mean cost of the log itself on the same rows.
    pub logged_cost: f64,
    /// Standard error of the mean cost of the log.
    pub logged_std_error: f64,
}

/// The 97.5% point of the normal law.
const Z95: f64 = 1.959_963_984_540_054;

impl Estimate {
    /// The 95% interval by the delta method: the cost and 1.96 standard errors either side.
    ///
    /// A quick look, not a verdict: [`certify`](crate::certify()) has intervals that hold for skewed weights.
    pub fn interval(&self) -> (f64, f64) {
        (self.cost - Z95 * self.std_error, self.cost + Z95 * self.std_error)
    }
}

/// What estimators beyond the plain ones rest on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aids<'a> {
    /// A loss model from other rows, for the direct method, doubly robust estimates, SWITCH and CAB.
    pub model: Option<&'a LossModel>,
    /// The logging policy as a function, for SWITCH and CAB.
    pub logging: Option<&'a Policy>,
}

/// Every estimator there is, by name: those with a cap (and the threshold of SWITCH) at `cap`.
///
/// ```
/// use counterpoint::{Estimator, every_estimator};
/// let all = every_estimator(10.0);
/// assert_eq!(all.len(), 11);
/// assert_eq!(all[0], ("snips", Estimator::SNIPS));
/// ```
pub fn every_estimator(cap: f64) -> Vec<(&'static str, Estimator)> {
    vec![
        ("snips", Estimator::SNIPS),
        ("ips", Estimator::IPS),
        ("clipped", Estimator::clipped(cap)),
        ("soft-clipped", Estimator::soft_clipped(cap)),
        ("power-mean", Estimator::power_mean(0.1, -1.0)),
        ("direct", Estimator::DM),
        ("doubly-robust", Estimator::DR),
        ("self-normalised-dr", Estimator::new(Weight::Raw, Form::Residual, Normalise::ByWeights)),
        ("switch", Estimator::switch(cap)),
        ("cab", Estimator::cab(cap)),
        ("cab-dr", Estimator::cab_dr(cap)),
    ]
}

/// Estimates the cost of `policy` on `log`; `model` is needed by doubly robust and direct estimates.
///
/// ```
/// use counterpoint::{Engine, Estimator, Family, Log, Policy, evaluate};
/// let log = Log::builder().action("a", vec![0.5, 1.0, 2.0]).cost("y", vec![1.0, 2.0, 6.0])
///     .propensity("p", [0.5f64, 1.0, 2.0].map(|a| Family::Normal.log_density(a, 1.0, 2.0).value.exp()).to_vec()).build()?;
/// // the policy that logged the data: every weight is 1
/// let own = Policy::constant(Family::Normal, &[], &["a"], &[1.0], &[2.0])?;
/// let e = evaluate(&Engine::single(), &log, &own, &Estimator::SNIPS, None)?;
/// assert!((e.cost - 3.0).abs() < 1e-12 && (e.effective - 3.0).abs() < 1e-9);
/// # Ok::<(), counterpoint::Error>(())
/// ```
pub fn evaluate(
    engine: &Engine,
    log: &Log,
    policy: &Policy,
    estimator: &Estimator,
    model: Option<&LossModel>,
) -> Result<Estimate> {
    evaluate_with(engine, log, policy, estimator, Aids { model, logging: None })
}

/// [`evaluate`] with all that an estimator may need.
pub fn evaluate_with(
    engine: &Engine,
    log: &Log,
    policy: &Policy,
    estimator: &Estimator,
    aids: Aids,
) -> Result<Estimate> {
    policy.check()?;
    let (model, logging) = (aids.model.cloned(), aids.logging.cloned());
    let question = Question { model, logging, ..Question::new(*estimator) };
    // a self-normalised estimate moves with a shift of the costs: centring them keeps digits
    let costs = log.cost_summary();
    let shift = if estimator.normalise == Normalise::ByWeights { costs.mean() } else { 0.0 };
    let design = Design::new(log, policy, &question, shift, Precision::F64)?;
    let risk = Risk::new(&question, policy)?.values_only();
    let mut slots = Vec::new();
    risk.ask(engine, &design, &mut slots)?;
    let sums = slots[0].sums;
    let cost = sums.risk(estimator.normalise) + shift;
    if !cost.is_finite() {
        return Err(risk.blame(&slots[0]));
    }
    Ok(Estimate {
        cost,
        std_error: sums.std_error(estimator.normalise),
        effective: sums.effective(),
        mean_weight: sums.mean_weight(),
        rows: sums.n,
        logged_cost: costs.mean(),
        logged_std_error: costs.std() / sums.n.sqrt(),
    })
}
