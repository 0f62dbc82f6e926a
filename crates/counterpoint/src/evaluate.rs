//! What a given policy would have cost, by several estimators side by side.

mod bounds;

pub use bounds::{PaperBounds, PaperClass, paper_bounds};

use crate::data::{Outcome, Summaries, Weighting};
use crate::error::{Error, Result};
use crate::estimate::{Estimator, Form, LossModel, Normalise, Predictions, SampledSums, Sums, Weight};
use crate::folds::{self, Entering, Powers, Precision, Question, Risk, RiskSpec, TargetSums, Threads};
use crate::policy::{Policy, TargetPolicy};
use crate::source::Source;
use serde::Serialize;

/// One estimate of a policy's value per row, in the direction of the log's outcome: rewards as rewards, costs as costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// Whether values are rewards or costs.
    pub direction: Outcome,
    /// The estimated value.
    pub estimate: f64,
    /// Its standard error by the delta method.
    pub std_error: f64,
    /// Lower end of the 95% interval by the delta method, 1.96 standard errors below the estimate.
    ///
    /// A quick look, not a verdict: [`certify`](crate::certify()) has intervals that hold for skewed weights.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
    /// Effective sample size (sum v)^2 / sum v^2 of the weights this estimator uses.
    pub effective: f64,
    /// Their mean; near 1 for raw weights if the policy stays where the log has been.
    pub mean_weight: f64,
    /// Rows: the sum of counts, or the number of rows where they have sampling weights.
    pub rows: f64,
    /// Mean outcome of the log itself on the same rows.
    pub logged: f64,
    /// Its standard error.
    pub logged_std_error: f64,
    /// Actions drawn per row for the expectation of the loss model; 0 where it is exact or not asked for.
    pub draws: usize,
}

impl Estimate {
    /// From an estimate of the cost and what it rests on: (cost, its standard error), the weights' (effective sample size, mean,
    /// rows), and the log's own (cost, standard error).
    pub fn from_cost(direction: Outcome, cost: (f64, f64), weights: (f64, f64, f64), logged: (f64, f64)) -> Self {
        let (estimate, std_error) = (direction.to_user(cost.0), cost.1);
        Estimate {
            direction,
            estimate,
            std_error,
            lower: estimate - Z95 * std_error,
            upper: estimate + Z95 * std_error,
            effective: weights.0,
            mean_weight: weights.1,
            rows: weights.2,
            logged: direction.to_user(logged.0),
            logged_std_error: logged.1,
            draws: 0,
        }
    }

    /// The estimate as a cost, whatever the direction of the outcome: smaller is better.
    pub fn cost(&self) -> f64 {
        self.direction.to_user(self.estimate)
    }
}

/// The 97.5% point of the normal law.
const Z95: f64 = 1.959_963_984_540_054;

/// Every estimator there is, by name: those with a cap (and the threshold of SWITCH) at `cap`.
///
/// ```
/// use counterpoint::evaluate::every_estimator;
/// use counterpoint::Estimator;
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

/// Estimates the value of a policy from rows that others logged (off-policy evaluation).
///
/// ```
/// use counterpoint::policy::Family;
/// use counterpoint::{Estimator, Log, Policy, evaluate};
/// let log = Log::builder().action("a", vec![0.5, 1.0, 2.0]).cost("y", vec![1.0, 2.0, 6.0])
///     .propensity("p", [0.5f64, 1.0, 2.0].map(|a| Family::Normal.log_density(a, 1.0, 2.0).value.exp()).to_vec()).build()?;
/// // the policy that logged the data: every weight is 1
/// let own = Policy::constant(Family::Normal, &[], &["a"], &[1.0], &[2.0])?;
/// let e = evaluate(&log, &own, &Estimator::SNIPS)?;
/// assert!((e.estimate - 3.0).abs() < 1e-12 && (e.effective - 3.0).abs() < 1e-9);
/// # Ok::<(), counterpoint::Error>(())
/// ```
///
/// [`Evaluator`] brings the loss model and the logging policy that some estimators need.
pub fn evaluate(log: &dyn Source, policy: &dyn TargetPolicy, estimator: &Estimator) -> Result<Estimate> {
    Evaluator::new(*estimator).evaluate(log, policy)
}

/// What estimators beyond the plain ones rest on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aids<'a> {
    /// A loss model from other rows ([`fit_model`](crate::learn::fit_model)), for the direct method, doubly robust estimates, SWITCH and CAB.
    pub model: Option<&'a LossModel>,
    /// The logging policy as a function, for SWITCH and CAB.
    pub logging: Option<&'a Policy>,
    /// A loss model that was fitted elsewhere, by its predictions; it is asked instead of `model`. Rows must be in this process.
    pub predictions: Option<&'a Predictions>,
}

/// An estimator with all that it may need.
#[derive(Clone, Copy, Debug)]
pub struct Evaluator<'a> {
    estimator: Estimator,
    aids: Aids<'a>,
}

impl<'a> Evaluator<'a> {
    /// Evaluates by this estimator.
    pub fn new(estimator: Estimator) -> Self {
        Evaluator { estimator, aids: Aids::default() }
    }

    /// Everything at once.
    #[must_use]
    pub fn aids(mut self, aids: Aids<'a>) -> Self {
        self.aids = aids;
        self
    }

    /// A loss model from other rows ([`fit_model`](crate::learn::fit_model)), for the direct method, doubly robust estimates, SWITCH and CAB.
    #[must_use]
    pub fn model(mut self, model: Option<&'a LossModel>) -> Self {
        self.aids.model = model;
        self
    }

    /// The logging policy as a function, for SWITCH and CAB.
    #[must_use]
    pub fn logging(mut self, policy: Option<&'a Policy>) -> Self {
        self.aids.logging = policy;
        self
    }

    /// A loss model that was fitted elsewhere, by its predictions in the rows of the log; it is asked instead of ours.
    ///
    /// ```
    /// use counterpoint::data::Outcome;
    /// use counterpoint::estimate::Predictions;
    /// use counterpoint::evaluate::Evaluator;
    /// use counterpoint::policy::Family;
    /// use counterpoint::{Estimator, Log, Policy};
    /// let log = Log::builder().action("a", vec![0.5, 1.0, 2.0]).cost("y", vec![1.0, 2.0, 4.0]).propensity("p", vec![0.3; 3]).build()?;
    /// // a model that knows the truth: the cost is 2 a, so a policy around 1 costs 2, whatever the weights are
    /// let knots = vec![-9.0, 11.0];
    /// let truth = Predictions::new(Outcome::Cost, knots, [-18.0, 22.0].repeat(3))?;
    /// let policy = Policy::constant(Family::Normal, &[], &["a"], &[1.0], &[0.5])?;
    /// for estimator in [Estimator::DM, Estimator::DR] {
    ///     let e = Evaluator::new(estimator).predictions(Some(&truth)).evaluate(&log, &policy)?;
    ///     assert!((e.estimate - 2.0).abs() < 1e-9);
    /// }
    /// # Ok::<(), counterpoint::Error>(())
    /// ```
    #[must_use]
    pub fn predictions(mut self, predictions: Option<&'a Predictions>) -> Self {
        self.aids.predictions = predictions;
        self
    }

    /// Estimates the value of a policy from these rows.
    pub fn evaluate(&self, log: &dyn Source, policy: &dyn TargetPolicy) -> Result<Estimate> {
        let estimator = self.estimator;
        let question = Question {
            model: self.aids.model.cloned(),
            logging: self.aids.logging.cloned(),
            ..Question::new(estimator)
        };
        // a self-normalised estimate moves with a shift of the costs: centring them keeps digits
        let costs = log.get(Summaries)?.cost;
        let shift = if estimator.normalise == Normalise::ByWeights { costs.mean() } else { 0.0 };
        if log.schema().weighting == Weighting::Sampling {
            return self.of_sampled_rows(log, policy, question, shift);
        }
        let of = Entering { shift, ..Entering::default() };
        let (sums, draws) = match policy.parametric().filter(|_| self.brought().is_none()) {
            Some(policy) => (parametric_sums(log, policy, question, shift)?, 0),
            None => target_sums(log, policy, question, (of, self.brought()))?,
        };
        let weights = (sums.effective(), sums.mean_weight(), sums.n);
        let logged = (costs.mean(), costs.std() / sums.n.sqrt());
        let cost = (sums.risk(estimator.normalise) + shift, sums.std_error(estimator.normalise));
        Ok(Estimate { draws, ..Estimate::from_cost(log.schema().direction, cost, weights, logged) })
    }

    /// The predictions, where the estimator asks for a model.
    fn brought(&self) -> Option<&'a Predictions> {
        self.aids.predictions.filter(|_| self.estimator.needs_model())
    }

    /// The same for rows with sampling weights: a second pass adds up what their squares make of the sums.
    fn of_sampled_rows(
        &self,
        log: &dyn Source,
        policy: &dyn TargetPolicy,
        question: Question,
        shift: f64,
    ) -> Result<Estimate> {
        let normalise = self.estimator.normalise;
        let ask = |powers| target_sums(log, policy, question.clone(), (Entering { shift, powers }, self.brought()));
        let ((sums, draws), (squares, _)) = (ask(Powers::Weights)?, ask(Powers::Squares)?);
        let sampled = SampledSums { sums, squares };
        let rows = log.get(Summaries)?;
        let weights = (sampled.effective(), sums.mean_weight(), rows.rows as f64);
        let cost = (sums.risk(normalise) + shift, sampled.std_error(normalise));
        let logged = (rows.cost.mean(), sampled.logged_error());
        Ok(Estimate { draws, ..Estimate::from_cost(log.schema().direction, cost, weights, logged) })
    }
}

/// The sums of a parametric policy, by the kernel that learning uses.
fn parametric_sums(log: &dyn Source, policy: &Policy, question: Question, shift: f64) -> Result<Sums> {
    policy.check()?;
    let spec = RiskSpec { policy: policy.clone(), question, baseline: shift, precision: Precision::F64 };
    let rows = log.prepare(&spec)?;
    let risk = Risk::from_spec(&spec)?.values_only();
    let mut slots = Vec::new();
    rows.evaluate(&risk, &policy.theta, Threads::All, &mut slots)?;
    let sums = slots[0].sums;
    if sums.risk(spec.question.estimator.normalise).is_finite() { Ok(sums) } else { Err(risk.blame(&slots[0])) }
}

/// The sums of any other policy: on the spot where the rows are here, as a question where the policy has a file.
fn target_sums(
    log: &dyn Source,
    policy: &dyn TargetPolicy,
    question: Question,
    (of, predictions): (Entering, Option<&Predictions>),
) -> Result<(Sums, usize)> {
    let (d, q) = (log.schema().contexts.len(), log.schema().actions.len());
    policy.check_against(log.schema())?;
    match predictions {
        Some(p) => check_predictions(p, &question, log)?,
        None => question.check_for(d, q)?,
    }
    let normalise = question.estimator.normalise;
    let answer = match (log.log(), policy.saved()) {
        (Some(rows), _) => folds::target_sums(log.engine(), rows, policy, &question, (of, predictions)),
        (None, Some(policy)) => log.get(TargetSums { policy, question, of })?,
        (None, None) => {
            return Err(Error::policy("it has no file, so it cannot be asked where the rows are")
                .hint("evaluate it on a log of this process"));
        }
    };
    let sums = answer.checked(policy)?;
    match sums.risk(normalise).is_finite() {
        true => Ok((sums, answer.draws)),
        false => Err(Error::numeric("estimate", "not finite").hint(
            "every weight is zero or one overflows: the policy has no overlap with the log, or propensities are wrong",
        )),
    }
}

/// Refuses predictions that are not those of the rows of this log.
fn check_predictions(p: &Predictions, question: &Question, log: &dyn Source) -> Result<()> {
    let schema = log.schema();
    if schema.actions.len() != 1 {
        return Err(Error::data("predictions at a list of actions are for one action column"));
    }
    question.check_but_model(schema.contexts.len(), 1)?;
    let Some(rows) = log.log() else {
        return Err(Error::data("predictions are of rows of this process, and these rows are elsewhere"));
    };
    let last = rows.blocks().iter().flat_map(|b| b.ids.iter()).max().copied();
    match last.is_some_and(|id| id as usize >= p.rows()) {
        true => Err(Error::data(format!("there are predictions for {} rows, the log has more", p.rows()))
            .hint("one row of predictions for every row of the log as it was given")),
        false => Ok(()),
    }
}
