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

mod bound;
mod certificate;
mod diagnose;
mod gate;
mod interval;
mod many;
mod monitor;
mod terms;
mod words;

pub use bound::Bound;
pub use certificate::{Adjusted, Certificate, Verdict};
pub use diagnose::{Diagnostics, QUANTILES};
pub use gate::Gate;
pub use interval::Interval;
pub use many::{certify_many, certify_many_scored};
pub use monitor::Monitor;
pub use terms::{Adjust, Method, Mode, Terms};

use crate::data::{Hashed, Hashes, Outcome, Propensities};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::estimate::LossModel;
use crate::folds::{Here, MeanAction, Moments, Scored, Weighed};
use crate::policy::TargetPolicy;
use crate::source::Source;
use diagnose::Part;

/// A difference smaller than this share of the costs' standard error is rounding: the policy is the log's own.
const ROUNDING: f64 = 1e-9;

/// Hashes by which rows are recognised: parts of at most so many rows are compared row by row.
const RECOGNISED: usize = 65_536;

/// Certifies a policy: `valid` says whether the question can be answered, `test` answers it.
///
/// ```
/// use counterpoint::{Family, Log, Policy, SplitRule, certify::{Terms, Verdict, certify}};
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
pub fn certify(policy: &dyn TargetPolicy, valid: &dyn Source, test: &dyn Source, terms: &Terms) -> Result<Certificate> {
    terms.check()?;
    check_parts(valid, test, &[policy])?;
    let direction = test.schema().direction;
    let judged = examine(&*valid.weigh(policy)?, &*test.weigh(policy)?, terms, direction)?;
    Ok(judged.certificate.resting_on(&test.schema().propensities))
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
    Ok(examine(&Here(engine, valid), &Here(engine, test), terms, direction)?.certificate)
}

/// The value of a policy's mean action by a loss model, in the direction of the log's outcome; the weight of no row is asked.
///
/// Weights say what a stochastic policy would have cost; of its mean action alone, which no density covers, they say
/// nothing. A model does, as far as it is right: the figure carries no interval. Nothing for a policy that has no file: its mean
/// action is not known where the rows are.
pub fn mean_action_value(log: &dyn Source, policy: &dyn TargetPolicy, model: &LossModel) -> Result<Option<f64>> {
    let Some(saved) = policy.saved() else { return Ok(None) };
    policy.check_against(log.schema())?;
    let cost = log.get(MeanAction { policy: saved, model: model.clone() })?.mean();
    Ok(Some(log.schema().direction.to_user(cost)))
}

/// A certificate with what joint verdicts need: the observed statistic and its replicates.
struct Judged {
    certificate: Certificate,
    observed: f64,
    replicates: Vec<f64>,
}

/// Refuses parts of a single row, parts that share rows, a test part that holds a row twice, and a policy that was
/// learned from rows of either part.
fn check_parts(valid: &dyn Source, test: &dyn Source, policies: &[&dyn TargetPolicy]) -> Result<()> {
    let question = Hashes { keep: RECOGNISED };
    let (known, asked) = (valid.get(question)?, test.get(question)?);
    for (name, part) in [("valid", &known), ("test", &asked)] {
        if part.rows < 2 {
            return Err(Error::data(format!("the {name} part has one row, which says nothing about its own error"))
                .hint("a certificate needs at least two rows in valid and in test, and in truth hundreds"));
        }
    }
    let shared = shared(&known, &asked);
    if shared > 0 {
        return Err(Error::data(format!("{shared} rows of the test part are also in the valid part, or twice in it"))
            .hint("certify on rows that nothing was learned, chosen or gated on; Log::split gives such parts"));
    }
    for origin in policies.iter().filter_map(|p| p.origin()) {
        for (name, rows) in [("test", &asked), ("valid", &known)] {
            let (learned, of) = (origin.among(&rows.smallest), origin.hashes.len());
            if learned > 0 {
                return Err(Error::policy(format!(
                    "it was learned from rows of the {name} part: {learned} of {of} rows that it remembers are among them"
                ))
                .hint("divide the log as it was for learning (the same --seed or --split), or certify on new rows"));
            }
        }
    }
    Ok(())
}

/// Rows that are in both parts, and rows that are twice in the second, as far as their hashes are known.
fn shared(known: &Hashed, asked: &Hashed) -> usize {
    let twice = asked.smallest.windows(2).filter(|w| w[0] == w[1]).count();
    let mut distinct = asked.smallest.clone();
    distinct.dedup();
    twice + distinct.iter().filter(|h| known.smallest.binary_search(h).is_ok()).count()
}

fn examine(valid: &dyn Weighed, test: &dyn Weighed, terms: &Terms, direction: Outcome) -> Result<Judged> {
    let gate = Part::new(valid, 0, terms)?;
    let part = Part::new(test, terms.replicates(), terms)?;
    let refusals = refusals(&gate.diagnostics, terms);
    // the part that rests on fewer rows says how much a standard error is worth; the other may have missed the rare rows
    let freedom = gate.diagnostics.freedom().min(part.diagnostics.freedom());
    let figure = |figure| interval::interval(&part.sums, figure, freedom, terms);
    let value = figure(Moments::value).0.shifted(part.centre);
    let logged = interval::interval(&part.sums, Moments::logged, part.logged_freedom, terms).0.shifted(part.centre);
    let (mut difference, mut p_value) = figure(Moments::difference);
    let mut reasons = Vec::new();
    let own = difference.std_error <= ROUNDING * logged.std_error;
    if own {
        let estimate = difference.estimate;
        difference = Interval { lower: estimate.min(0.0), upper: estimate.max(0.0), ..difference };
        p_value = 1.0;
        reasons.push(match logged.std_error > 0.0 {
            true => "on these rows the policy is the log's own: every weight is the same".into(),
            false => "every outcome of the test part is the same: it cannot tell one policy from another".to_string(),
        });
    }
    let passes = match terms.mode {
        Mode::Default => difference.upper < 0.0,
        Mode::Paper => {
            // the mean cost is the centre of the costs, so it stands at 0 here
            p_value = figure(Moments::value).1;
            value.upper < logged.estimate
        }
    };
    let verdict = match (refusals.is_empty(), passes && !own) {
        (false, _) => Verdict::Invalid,
        (true, true) => Verdict::Deploy,
        (true, false) => Verdict::Keep,
    };
    let bound = bound::bound(test, &part.totals, &gate.totals, terms)?;
    let mut certificate = Certificate {
        verdict,
        reasons,
        direction: Outcome::Cost,
        value,
        logged,
        difference,
        p_value,
        adjusted: None,
        freedom,
        bound: bound.ok(),
        valid: gate.diagnostics,
        test: part.diagnostics,
        terms: terms.clone(),
        propensities: Propensities::Logged,
        fingerprint: format!("{:016x}", part.totals.fingerprint),
    }
    .to_user(direction);
    certificate.reasons.extend(refusals);
    certificate.reasons.push(words::decision(&certificate));
    certificate.reasons.extend(bound.err().map(String::from));
    let stretch = interval::stretch(freedom, terms);
    let observed = if own { f64::INFINITY } else { difference.estimate / (stretch * difference.std_error) };
    let replicates = interval::studentised(&part.sums, Moments::difference, terms.replicates());
    Ok(Judged { certificate, observed, replicates })
}

/// Why the valid part says that the test part cannot tell; empty if it can.
fn refusals(d: &Diagnostics, terms: &Terms) -> Vec<String> {
    let gate = match terms.mode {
        Mode::Default => terms.gate,
        Mode::Paper => terms.gate.share_alone(),
    };
    gate.refusals(d.effective, d.rows, d.mean_weight.estimate)
}
