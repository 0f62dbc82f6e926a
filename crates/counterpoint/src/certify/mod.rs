//! May it be believed? The offline protocol, and the certificate a policy leaves the house with.
//!
//! [`certify`] asks whether a policy would have cost less than the log did, H0: L(pi) >= L(pi0), in two steps that read
//! different rows. The VALID part says whether the TEST part can tell: are there enough effective rows, and is the mean of the
//! weights close to one? Then the test part is read, once: the difference D = SNIPS(pi) - mean(y), paired row by row, with a
//! studentised bootstrap interval. The answer is `deploy`, `keep` or `invalid`, with its reasons.
//!
//! Why the gate must read other rows: weights that happen to miss the test rows make both n_eff and the estimate wrong
//! together, so gating on the test rows selects for error. Why paired: the costs of the log are common to both sides,
//! and most of their noise cancels. Why studentised: weighted costs are skewed. Why degrees of freedom: a standard error
//! that rests on three rows is itself a guess, and the bootstrap, which has only those rows, cannot know by how much.
//!
//! The parts must not share rows, and a policy that remembers its training rows must not meet them in either part: both
//! are refused. That nobody else has looked at the test part is the caller's word. For many policies on one
//! test part use [`certify_many`]; for looking again and again, a [`Monitor`].

mod abstain;
mod advice;
mod alike;
mod audit;
mod bound;
mod certificate;
mod coverage;
mod decide;
mod diagnose;
mod evidence;
mod examine;
mod gate;
mod guardrail;
mod interval;
mod law;
mod leaks;
mod many;
mod mean_action;
mod monitor;
mod overturn;
mod ratio;
mod robust;
mod segments;
mod spread;
mod subject;
mod terms;
mod watch;
mod words;

pub use abstain::{Abstained, abstain};
pub use bound::Bound;
pub use certificate::{Adjusted, Beside, Certificate, Estimator, Verdict};
pub(crate) use coverage::UNEXPLAINED;
pub use coverage::{Coverage, Region};
pub use diagnose::{Diagnostics, QUANTILES};
pub use evidence::GateEvidence;
pub use gate::Gate;
pub use guardrail::{Guarded, GuardedCertificate, Guardrail, Margin, guard};
pub use interval::Interval;
pub use many::{certify_many, certify_many_scored, certify_several};
pub use mean_action::{MeanActionValue, mean_action};
pub use monitor::Monitor;
pub use overturn::{LeftOut, Overturn};
pub use ratio::{Ratio, ratio};
pub use segments::{Finding, Segment, Segments, segments};
pub use spread::{LEVELS, Quantile, Spread, spread};
pub use subject::Subject;
pub use terms::{Adjust, Method, Mode, Terms};
pub use watch::{Look, Standing, Watch, WatchTerms};

use crate::data::{Outcome, Propensities, Summaries};
use crate::describe::Rounding;
use crate::engine::Engine;
use crate::error::Result;
use crate::estimate::LossModel;
use crate::folds::{Here, MeanAction, Scored};
use crate::policy::TargetPolicy;
use crate::source::Source;
use examine::{Replicating, Rows, WeighedParts, examine, judge};
use leaks::check_parts;

/// Certifies a policy: `valid` says whether the question can be answered, `test` answers it.
///
/// ```
/// use counterpoint::data::SplitRule;
/// use counterpoint::policy::Family;
/// use counterpoint::{Log, Policy, certify::{Terms, Verdict, certify}};
/// // uniform actions on (0, 3); actions near 1 cost least
/// let n = 4000;
/// let a: Vec<f64> = (0..n).map(|i| 3.0 * (i as f64 * 0.5698402910).fract()).collect();
/// let cost = a.iter().map(|a| (a - 1.0).abs()).collect();
/// let log = Log::builder().action("a", a).cost("y", cost).propensity("p", vec![1.0 / 3.0; n]).build()?;
/// let parts = log.split(SplitRule::default())?;
///
/// let better = Policy::constant(Family::Normal, &[], &["a"], &[1.0], &[0.25])?;
/// let c = certify(&better, &parts.valid, &parts.test, &Terms::default())?;
/// assert_eq!(c.verdict, Verdict::Deploy);
/// assert!(c.difference.upper < 0.0 && c.value.holds(0.25 * (2.0 / std::f64::consts::PI).sqrt()));
/// println!("{c}");
///
/// let far = Policy::constant(Family::Normal, &[], &["a"], &[3.3], &[0.1])?; // where the log has not been
/// let c = certify(&far, &parts.valid, &parts.test, &Terms::default())?;
/// assert_eq!(c.verdict, Verdict::Invalid);
/// # Ok::<(), counterpoint::Error>(())
/// ```
///
/// The figures speak the direction of the log's outcome: rewards as rewards, a gain being a positive difference.
///
/// A policy that was learned on the valid part too brings its own evidence ([`GateEvidence::of`]), and is then gated by that.
pub fn certify(policy: &dyn TargetPolicy, valid: &dyn Source, test: &dyn Source, terms: &Terms) -> Result<Certificate> {
    certify_with(policy, valid, test, terms, &GateEvidence::of(policy))
}

/// Like [`certify`], with the evidence for the gate given by the caller.
pub fn certify_with(
    policy: &dyn TargetPolicy,
    valid: &dyn Source,
    test: &dyn Source,
    terms: &Terms,
    evidence: &GateEvidence,
) -> Result<Certificate> {
    terms.check()?;
    check_parts(valid, test, &[(policy, *evidence)])?;
    let weighed = WeighedParts::new(policy, [valid, test], terms)?;
    let judged = judge(&weighed, test.schema().direction, terms, evidence, Replicating::Grows)?;
    let certificate = Certificate { subject: Subject::of(policy), ..judged.certificate };
    let certificate = certificate.resting_on(test.schema()).doubting(rounding(test, terms)?);
    Ok(Certificate { overturn: Some(overturn::overturn(weighed.test(), &certificate)?), ..certificate })
}

/// How coarsely logged densities were rounded, where that matters. The paper's rule does not ask.
fn rounding(test: &dyn Source, terms: &Terms) -> Result<Option<Rounding>> {
    if terms.mode == Mode::Paper || test.schema().propensities != Propensities::Logged {
        return Ok(None);
    }
    Rounding::of(test, test.get(Summaries)?.rows)
}

/// Certifies from rows that have been weighed already: the weights may come from any policy whatever. The rows hold costs; the
/// certificate speaks the given direction.
pub fn certify_scored(
    engine: &Engine,
    valid: &[Scored],
    test: &[Scored],
    terms: &Terms,
    direction: Outcome,
) -> Result<Certificate> {
    terms.check()?;
    let here = [Here(engine, valid), Here(engine, test)];
    let rows = Rows::plain(&here[0], &here[1]);
    Ok(examine(&rows, terms, direction, &GateEvidence::Valid, Replicating::Grows)?.certificate)
}

/// The value of a policy's mean action by a loss model, in the direction of the log's outcome; the weight of no row is asked.
///
/// A model speaks of the mean action as far as it is right, and its figure carries no interval; [`mean_action`] has one, from the rows
/// near the mean action. Nothing for a policy that has no file: its mean action is not known where the rows are.
pub fn mean_action_value(log: &dyn Source, policy: &dyn TargetPolicy, model: &LossModel) -> Result<Option<f64>> {
    let Some(saved) = policy.saved() else { return Ok(None) };
    policy.check_against(log.schema())?;
    let cost = log.get(MeanAction { policy: saved, model: model.clone() })?.mean();
    Ok(Some(log.schema().direction.to_user(cost)))
}
