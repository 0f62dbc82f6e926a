//! One row's terms and their slopes, in plain code: the readable truth that the fast loop is held to.

use super::design::{ModelRows, Precision};
use super::expect::{Law, expected, left_out};
use crate::data::Block;
use crate::error::{Error, Result};
use crate::estimate::{Estimator, Form, LossModel, ModelTerm, Normalise, PerTerm, Sum, Target, Term};
use crate::policy::{Family, Policy};
use serde::{Deserialize, Serialize};

/// What is asked of the log about a policy: an estimator, and what is added to the risk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The row of the table of estimators.
    pub estimator: Estimator,
    /// lambda: variance penalty.
    pub variance_penalty: f64,
    /// c_H: entropy bonus.
    pub entropy: f64,
    /// The loss model, for forms that need one. Its costs are on the log's own scale.
    pub model: Option<LossModel>,
    /// How its expectation is taken.
    pub term: ModelTerm,
    /// The logging policy as a function, for [`Form::Blend`].
    pub logging: Option<Policy>,
}

/// A risk as data: everything that the rows must be told before the first theta arrives.
///
/// It can be sent to wherever the rows are. There [`Design::from_spec`](super::Design::from_spec) prepares them and
/// [`Risk::from_spec`](super::Risk::from_spec) the question; then theta goes out and a [`Partial`](super::Partial) comes
/// back.
///
/// ```
/// use counterpoint::folds::{Design, Precision, Question, Risk, RiskSpec};
/// use counterpoint::policy::Family;
/// use counterpoint::{Engine, Estimator, Log, Policy};
/// let policy = Policy::constant(Family::Normal, &[], &["a"], &[1.0], &[2.0])?;
/// let spec = RiskSpec { policy, question: Question::new(Estimator::IPS), baseline: 0.0, precision: Precision::F64 };
/// let text = serde_json::to_string(&spec).expect("plain data");
/// // elsewhere
/// let spec: RiskSpec = serde_json::from_str(&text).expect("the same data");
/// let log = Log::builder().action("a", vec![0.5, 2.0]).cost("y", vec![1.0, 2.0]).propensity("p", vec![0.2, 0.1]).build()?;
/// let (design, mut risk) = (Design::from_spec(&log, &spec)?, Risk::from_spec(&spec)?);
/// risk.set(&[1.5, 0.0]); // a mean of 1.5, a std of 1
/// let mut slots = Vec::new();
/// risk.ask(&Engine::single(), &design, &mut slots)?;
/// assert_eq!(slots[0].rows, 2);
/// # Ok::<(), counterpoint::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RiskSpec {
    /// The structure of the policies; its theta is the first that is asked about.
    pub policy: Policy,
    /// What is asked.
    pub question: Question,
    /// What is subtracted from every cost.
    pub baseline: f64,
    /// In what precision rows are held.
    pub precision: Precision,
}

impl Question {
    /// The plain question: the risk by this estimator.
    pub fn new(estimator: Estimator) -> Self {
        Question { estimator, variance_penalty: 0.0, entropy: 0.0, model: None, term: ModelTerm::Exact, logging: None }
    }

    /// With a loss model.
    #[must_use]
    pub fn with_model(mut self, model: LossModel) -> Self {
        self.model = Some(model);
        self
    }

    pub(crate) fn target(&self) -> Target {
        Target { normalise: self.estimator.normalise, variance_penalty: self.variance_penalty, entropy: self.entropy }
    }

    /// Refuses a question that cannot be asked of this kind of policy.
    pub fn check(&self, policy: &Policy) -> Result<()> {
        self.check_for(policy.d(), policy.q())
    }

    /// The same of any policy with so many contexts and actions.
    pub(crate) fn check_for(&self, d: usize, q: usize) -> Result<()> {
        if self.estimator.needs_model() && self.model.is_none() {
            return Err(Error::recipe("estimator.form", "this estimator needs a loss model")
                .hint("fit one with fit_loss_model"));
        }
        self.check_but_model(d, q)
    }

    /// The same where a loss model comes from elsewhere.
    pub(crate) fn check_but_model(&self, d: usize, q: usize) -> Result<()> {
        self.estimator.weight.check("estimator.weight")?;
        if self.estimator.form == Form::Blend {
            if self.logging.is_none() {
                return Err(Error::recipe("estimator.form", "SWITCH and CAB need the logging density as a function")
                    .hint("give the logging policy, or use doubly-robust or soft-clipped estimates"));
            }
            if q > 1 {
                return Err(Error::recipe("estimator.form", "SWITCH and CAB are for one action column"));
            }
            if self.estimator.normalise == Normalise::ByWeights {
                // sum(t) / sum(v) would speak for all of the mass, and the model once more for what is left out
                return Err(Error::recipe("estimator.normalise", "SWITCH and CAB cannot be self-normalised")
                    .hint("use normalise = \"by-rows\""));
            }
        }
        if let Some(model) = &self.model {
            let (theirs, width) = (model.scaler.shift.len(), model.actions.width);
            if (theirs, width) != (d, q) {
                let what = "contexts and actions";
                return Err(Error::recipe(
                    "estimator.model",
                    format!("the loss model is for {theirs} and {width} {what}, the policy has {d} and {q}"),
                ));
            }
        }
        if self.logging.as_ref().is_some_and(|l| (l.d(), l.q()) != (d, q)) {
            return Err(Error::recipe("estimator.logging", "the logging policy has other contexts or actions"));
        }
        if self.term == ModelTerm::CdfDifferences && q > 1 {
            return Err(Error::recipe("estimator.term", "cdf-differences is for one action column"));
        }
        Ok(())
    }

    pub(crate) fn model_rows(&self, b: &Block, policy: &Policy, baseline: f64) -> Option<ModelRows> {
        let model = self.model.as_ref().filter(|_| self.estimator.needs_model())?;
        let (mut x, mut a) = (vec![0.0; policy.d()], vec![0.0; policy.q()]);
        let mut slope = vec![0.0; policy.q()];
        let mut rows = ModelRows { eta: Vec::new(), c: Vec::new(), logging: Vec::new() };
        for i in 0..b.rows() {
            b.context(i, &mut x);
            b.action(i, &mut a);
            let c = model.coefficients_at(&x);
            rows.eta.push(model.actions.function(&c, &a, &mut slope) + model.intercept - baseline);
            rows.c.extend(c);
            if let Some(logging) = &self.logging {
                rows.logging.extend(logging.mean(&x));
            }
        }
        Some(rows)
    }
}

/// What a row says, before theta enters. Actions as the family sees them (ln a for the log-normal), the constants of
/// the density already in `log_p`.
pub(crate) struct Row<'a> {
    pub(crate) a: &'a [f64],
    pub(crate) log_p: f64,
    pub(crate) y: f64,
    /// What was subtracted from y (and from eta).
    pub(crate) baseline: f64,
    /// eta(x, a), c(x), and the mean of the logging policy.
    pub(crate) model: Option<(f64, &'a [f64], &'a [f64])>,
}

/// Terms of one row: values and slopes (first q in the means, then q in the stds).
#[derive(Clone, Debug, Default)]
pub(crate) struct Terms {
    pub(crate) value: PerTerm<f64>,
    pub(crate) slope: PerTerm<Vec<f64>>,
    pub(crate) log_w: Vec<f64>,
    buffer: Vec<f64>,
}

/// ln w and its slopes (means, then stds), from an action as the family sees it.
pub(crate) fn log_weight(family: Family, row: &Row, mean: &[f64], std: &[f64], slope: &mut [f64]) -> f64 {
    let q = mean.len();
    let mut log_w = -row.log_p;
    for c in 0..q {
        let p = family.seen_log_density(row.a[c], mean[c], std[c]);
        log_w += p.value;
        slope[c] = p.mean;
        slope[q + c] = p.std;
    }
    log_w
}

impl Terms {
    pub(crate) fn new(q: usize) -> Self {
        Terms {
            value: PerTerm::default(),
            slope: PerTerm::from_fn(|_| vec![0.0; 2 * q]),
            log_w: vec![0.0; 2 * q],
            buffer: vec![0.0; 2 * q],
        }
    }

    /// Fills the terms of one row. `scale` is subtracted from ln w before it leaves logs (0 but for huge weights).
    pub(crate) fn fill(
        &mut self,
        question: &Question,
        family: Family,
        row: &Row,
        mean: &[f64],
        std: &[f64],
        scale: f64,
    ) {
        let q = mean.len();
        let est = &question.estimator;
        let log_w = log_weight(family, row, mean, std, &mut self.log_w);
        let (v, dv) = est.weight.apply(log_w - scale);
        self.value = PerTerm::default();
        self.value[Term::V] = v;
        for i in 0..2 * q {
            self.slope[Term::V][i] = dv * self.log_w[i];
            self.slope[Term::G][i] = 0.0;
        }
        let residual = match (est.form, &row.model) {
            (Form::Residual, Some((eta, ..))) => row.y - eta,
            _ => row.y,
        };
        // the direct method has no weighted part, not even of a weight that is infinite
        let weighted = est.form != Form::Model;
        self.value[Term::T] = if weighted { v * residual } else { 0.0 };
        for i in 0..2 * q {
            self.slope[Term::T][i] = if weighted { residual * self.slope[Term::V][i] } else { 0.0 };
        }
        if let (Some(model), Some((_, c, logging))) = (&question.model, row.model.as_ref()) {
            let law = Law { family, mean, std };
            let shift = model.intercept - row.baseline;
            let (d_mean, d_std) = self.buffer.split_at_mut(q);
            self.value[Term::G] = match (est.form, &question.logging) {
                (Form::Blend, Some(policy)) => {
                    let theirs = Law { family: policy.family, mean: logging, std: &policy.std() };
                    let s = left_out(&est.weight, &model.actions, c, shift, law, theirs);
                    (d_mean[0], d_std[0]) = (s.mean, s.std);
                    s.value
                }
                _ => expected(question.term, &model.actions, c, law, d_mean, d_std) + shift,
            };
            self.slope[Term::G].copy_from_slice(&self.buffer);
        }
        if est.normalise == Normalise::ByRows {
            // the model part is simply part of the term
            self.value[Term::T] += self.value[Term::G];
            self.value[Term::G] = 0.0;
            for i in 0..2 * q {
                self.slope[Term::T][i] += self.slope[Term::G][i];
                self.slope[Term::G][i] = 0.0;
            }
        }
        for c in 0..q {
            let h = family.entropy(mean[c], std[c]);
            self.value[Term::H] += h.value;
            self.slope[Term::H][c] = h.mean;
            self.slope[Term::H][q + c] = h.std;
        }
    }

    /// Slope number i of what the row adds to a sum.
    pub(crate) fn graded(&self, sum: Sum, i: usize) -> f64 {
        match sum.factors() {
            (a, None) => self.slope[a][i],
            (a, Some(b)) => self.value[a] * self.slope[b][i] + self.value[b] * self.slope[a][i],
        }
    }
}
