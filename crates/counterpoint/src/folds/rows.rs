//! One row's terms and their slopes, in plain code: the readable truth that the fast loop is held to.

use super::design::{ModelRows, Precision};
use super::expect::{Law, expected, left_out};
use crate::data::Block;
use crate::error::{Error, Result};
use crate::estimate::{Estimator, Form, LossModel, ModelTerm, Normalise, Target};
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
/// use counterpoint::{Engine, Estimator, Family, Log, Policy};
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
        let q = policy.q();
        self.estimator.weight.check("estimator.weight")?;
        if self.estimator.needs_model() && self.model.is_none() {
            return Err(Error::recipe("estimator.form", "this estimator needs a loss model")
                .hint("fit one with fit_loss_model"));
        }
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
            let (d, width) = (model.scaler.shift.len(), model.actions.width);
            if (d, width) != (policy.d(), q) {
                let (p, what) = (policy.d(), "contexts and actions");
                return Err(Error::recipe(
                    "estimator.model",
                    format!("the loss model is for {d} and {width} {what}, the policy has {p} and {q}"),
                ));
            }
        }
        if self.logging.as_ref().is_some_and(|l| (l.d(), l.q()) != (policy.d(), q)) {
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

/// Terms of one row: values and slopes (first q in the means, then q in the stds) of t, v, g and h.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terms {
    pub(crate) value: [f64; 4],
    pub(crate) slope: [Vec<f64>; 4],
    pub(crate) log_w: Vec<f64>,
    buffer: Vec<f64>,
}

/// ln w and its slopes (means, then stds), from an action as the family sees it.
pub(crate) fn log_weight(family: Family, row: &Row, mean: &[f64], std: &[f64], slope: &mut [f64]) -> f64 {
    let q = mean.len();
    let mut log_w = -row.log_p;
    for c in 0..q {
        let (value, d_mean, d_std) = match family {
            Family::Normal => {
                let z = (row.a[c] - mean[c]) / std[c];
                (-0.5 * z * z - std[c].ln(), z / std[c], (z * z - 1.0) / std[c])
            }
            Family::LogNormal => {
                let ratio = std[c] / mean[c];
                let r = ratio * ratio;
                let s2 = r.ln_1p();
                let k = 2.0 * r / (1.0 + r);
                let (s2_mean, s2_std) = (-k / mean[c], k / std[c]);
                let z = row.a[c] - mean[c].ln() + 0.5 * s2;
                let (dz, ds2) = (-z / s2, 0.5 * (z * z / s2 - 1.0) / s2);
                (
                    -0.5 * z * z / s2 - 0.5 * s2.ln(),
                    dz * (-1.0 / mean[c] + 0.5 * s2_mean) + ds2 * s2_mean,
                    (0.5 * dz + ds2) * s2_std,
                )
            }
        };
        log_w += value;
        slope[c] = d_mean;
        slope[q + c] = d_std;
    }
    log_w
}

impl Terms {
    pub(crate) fn new(q: usize) -> Self {
        Terms {
            value: [0.0; 4],
            slope: std::array::from_fn(|_| vec![0.0; 2 * q]),
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
        self.value = [0.0, v, 0.0, 0.0];
        for i in 0..2 * q {
            self.slope[1][i] = dv * self.log_w[i];
            self.slope[2][i] = 0.0;
        }
        let residual = match (est.form, &row.model) {
            (Form::Residual, Some((eta, ..))) => row.y - eta,
            _ => row.y,
        };
        // the direct method has no weighted part, not even of a weight that is infinite
        let weighted = est.form != Form::Model;
        self.value[0] = if weighted { v * residual } else { 0.0 };
        for i in 0..2 * q {
            self.slope[0][i] = if weighted { residual * self.slope[1][i] } else { 0.0 };
        }
        if let (Some(model), Some((_, c, logging))) = (&question.model, row.model.as_ref()) {
            let law = Law { family, mean, std };
            let shift = model.intercept - row.baseline;
            let (d_mean, d_std) = self.buffer.split_at_mut(q);
            self.value[2] = match (est.form, &question.logging) {
                (Form::Blend, Some(policy)) => {
                    let theirs = Law { family: policy.family, mean: logging, std: &policy.std() };
                    let s = left_out(&est.weight, &model.actions, c, shift, law, theirs);
                    (d_mean[0], d_std[0]) = (s.mean, s.std);
                    s.value
                }
                _ => expected(question.term, &model.actions, c, law, d_mean, d_std) + shift,
            };
            self.slope[2].copy_from_slice(&self.buffer);
        }
        if est.normalise == Normalise::ByRows {
            // the model part is simply part of the term
            self.value[0] += self.value[2];
            self.value[2] = 0.0;
            for i in 0..2 * q {
                self.slope[0][i] += self.slope[2][i];
                self.slope[2][i] = 0.0;
            }
        }
        for c in 0..q {
            let h = family.entropy(mean[c], std[c]);
            self.value[3] += h.value;
            self.slope[3][c] = h.mean;
            self.slope[3][q + c] = h.std;
        }
    }

    /// Slope number i of graded sum r (in the order of [`Target::graded`]).
    pub(crate) fn graded(&self, r: usize, i: usize) -> f64 {
        let [t, v, g, _] = self.value;
        let d = |k: usize| self.slope[k][i];
        match r {
            0..=2 => d(r),
            3 => 2.0 * t * d(0),
            4 => t * d(1) + v * d(0),
            5 => 2.0 * v * d(1),
            6 => 2.0 * g * d(2),
            7 => t * d(2) + g * d(0),
            8 => v * d(2) + g * d(1),
            _ => d(3),
        }
    }
}
