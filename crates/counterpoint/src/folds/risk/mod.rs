//! The fold behind training and evaluation: the risk of a policy, its variance, and their gradients, in one pass.
//!
//! Once per evaluation the mean model brings theta into the form that rows are multiplied with; the kernel goes over the rows,
//! forward to the means and back to the entries of the gradient; and the model carries those back to theta. [`truth`] is the
//! same in plain code, row by row; a test holds the two together.

mod kernel;
pub mod truth;

use super::design::{Columns, Design, Layout, MadeFor, Strips};
use super::rows::{Question, RiskSpec};
use crate::engine::{Engine, Fold, Forest, Instructions};
use crate::error::{Error, Result};
use crate::estimate::{Form, ModelTerm, Normalise, Sum, Sums};
use crate::features::Slopes;
use crate::math;
use crate::policy::{At, Family, Mean, Policy, Size};
use crate::vector::Elementary;
use serde::{Deserialize, Serialize};

/// A partial answer: sums and their gradients in the entries of the mean model and in the stds, for some rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Partial {
    /// How many rows it covers.
    pub rows: u64,
    /// Which rows: a sum of hashes of the row numbers.
    pub fingerprint: u64,
    /// The sums.
    pub sums: Sums,
    /// For each graded sum: its gradient in the entries of the mean model, then in the stds (q).
    pub grads: Vec<f64>,
}

/// The question at one theta, ready to be asked.
pub struct Risk {
    pub(crate) question: Question,
    pub(crate) family: Family,
    pub(crate) mean: Mean,
    pub(crate) layout: Layout,
    /// What the mean model needs and no parameter changes.
    fixed: Vec<f64>,
    /// The parameters of the mean in the form that rows are multiplied with.
    pub(crate) formed: Vec<f64>,
    pub(crate) std: Vec<f64>,
    std_slope: Vec<f64>,
    /// Which sums have gradients.
    pub(crate) graded: Vec<Sum>,
    /// Whether rows can be scored by the vector row stage. Its logarithm is for positive numbers only, so means that leave
    /// the support of the family are left to the plain one, where they are NaN.
    fast_rows: bool,
    /// Whether the vector row stage knows the part of the loss model, in double precision: coefficients of both signs nearly
    /// cancel in its sums.
    modelled: bool,
    /// The columns that are needed.
    made_for: MadeFor,
    pub(crate) typed: kernel::Typed,
    policy: Policy,
}

/// The instruction set that the kernel takes on this machine. It decides how long something takes and nothing else: sums are
/// taken in virtual vectors of one width, so that every machine gives the same bits.
///
/// ```
/// assert!(!counterpoint::folds::instruction_set().is_empty());
/// ```
pub fn instruction_set() -> String {
    Instructions::best().name()
}

impl Risk {
    /// Prepares the question for policies of this structure. It needs no rows.
    pub fn new(question: &Question, policy: &Policy) -> Result<Self> {
        question.check(policy)?;
        let (d, q) = (policy.d(), policy.q());
        let model = policy.mean.model();
        let inside = model.inside(policy.family.support());
        let mut risk = Risk {
            question: question.clone(),
            family: policy.family,
            mean: policy.mean.clone(),
            layout: Layout::of(policy),
            fixed: model.fixed(),
            formed: vec![0.0; policy.mean.parameters(d, q)],
            std: vec![0.0; q],
            std_slope: vec![0.0; q],
            graded: question.target().graded(question.estimator.needs_model(), policy.family.entropy_varies()),
            fast_rows: inside && question.estimator.form == Form::Plain,
            modelled: inside
                && q == 1
                && matches!(question.estimator.form, Form::Residual | Form::Model)
                && question.estimator.normalise == Normalise::ByRows
                && question.term == ModelTerm::Exact
                && policy.family.has_normal_kernel(),
            made_for: MadeFor::of(question, policy),
            typed: kernel::Typed::default(),
            policy: policy.clone(),
        };
        risk.set(&policy.theta);
        Ok(risk)
    }

    /// The question of a specification.
    pub fn from_spec(spec: &RiskSpec) -> Result<Self> {
        Self::new(&spec.question, &spec.policy)
    }

    /// Leaves gradients out: only values are wanted.
    #[must_use]
    pub fn values_only(mut self) -> Self {
        self.graded.clear();
        self
    }

    /// Moves to another theta.
    pub fn set(&mut self, theta: &[f64]) {
        let p = self.formed.len();
        self.mean.model().form(&theta[..p], &self.fixed, &mut self.formed);
        self.policy.std.apply(&theta[p..], &mut self.std, &mut self.std_slope);
        self.typed.set(&self.mean, &self.formed, self.size(), &self.std);
    }

    /// The sizes the mean model works with.
    pub(crate) fn size(&self) -> Size {
        Size { features: self.layout.features, actions: self.layout.actions }
    }

    /// Whether rows of this precision take the vector row stage.
    fn fast<T: Elementary>(&self) -> bool {
        self.fast_rows || (self.modelled && T::MANTISSA_BITS == <f64 as Elementary>::MANTISSA_BITS)
    }

    /// Number of entries of one gradient: of the mean model, and the stds.
    pub(crate) fn width(&self) -> usize {
        self.mean.model().entries(self.size()) + self.layout.actions
    }

    /// Asks the design, through an engine; the answer is in `slots[0]`. A design made for another question is refused.
    pub fn ask(&self, engine: &Engine, design: &Design, slots: &mut Vec<Partial>) -> Result<()> {
        design.check(self.made_for)?;
        match &design.columns {
            Columns::F64(blocks) => engine.fold(self, blocks, slots),
            Columns::F32(blocks) => engine.fold(self, blocks, slots),
        }
        Ok(())
    }

    /// Asks a design that holds a range of the blocks of a log: the nodes of the tree of answers that these complete.
    pub fn forest(&self, engine: &Engine, design: &Design) -> Result<Forest<Partial>> {
        design.check(self.made_for)?;
        match &design.columns {
            Columns::F64(blocks) => engine.forest(self, blocks),
            Columns::F32(blocks) => engine.forest(self, blocks),
        }
    }

    /// Whether gradients are asked for.
    pub fn is_graded(&self) -> bool {
        !self.graded.is_empty()
    }

    /// The value of the objective's data part and its gradient in theta (`grad` is overwritten).
    ///
    /// A non-finite value is returned as it is: an optimiser may step back from it. [`Self::blame`] names the term.
    pub fn value(&self, answer: &Partial, grad: &mut [f64], buffer: &mut Vec<f64>) -> f64 {
        let target = self.question.target();
        let w = target.weights(&answer.sums);
        buffer.clear();
        buffer.resize(self.width(), 0.0);
        for (&sum, g) in self.graded.iter().zip(answer.grads.chunks_exact(self.width())) {
            buffer.iter_mut().zip(g).for_each(|(b, v)| *b += w[sum] * v);
        }
        let p = self.formed.len();
        let (entries, stds) = buffer.split_at(self.width() - self.layout.actions);
        let at = At { formed: &self.formed, fixed: &self.fixed };
        self.mean.model().pull(entries, at, self.size(), &mut grad[..p]);
        for (i, g) in grad[p..].iter_mut().enumerate() {
            let entropy = self.question.entropy * self.fixed_entropy(i).std;
            *g = (stds[i] - entropy) * self.std_slope[i];
        }
        target.value(&answer.sums)
    }

    /// An error that names what is not finite in this answer.
    pub fn blame(&self, answer: &Partial) -> Error {
        let s = &answer.sums;
        let target = self.question.target();
        let (term, hint) = if !s.v.is_finite() {
            (
                "sum of importance weights",
                "a weight overflows: clip weights (estimator.weight = soft-clip), raise std.floor, or check propensities",
            )
        } else if s.v == 0.0 && self.question.estimator.normalise == Normalise::ByWeights {
            ("sum of importance weights", "every weight is zero: the policy has no overlap with the log")
        } else if !target.normalise.risk_is_finite(s) {
            ("risk", "look for extreme costs")
        } else if !s.std_error(target.normalise).is_finite() {
            ("variance penalty", "squared terms overflow: clip weights or set variance_penalty = 0")
        } else if !s.h.is_finite() {
            ("entropy", "a mean is not positive: use a link or anchors that are")
        } else {
            ("gradient", "lower the temperature or scale the contexts")
        };
        Error::numeric(term, "not finite").hint(hint)
    }

    /// The entropy of action column c where it is the same in every row; else nothing, and rows bring their own.
    pub(crate) fn fixed_entropy(&self, c: usize) -> Slopes {
        if self.family.entropy_varies() { Slopes::default() } else { self.family.entropy(1.0, self.std[c]) }
    }

    /// Whether sums need the plain loop's care: scaled weights, and rows of weight 0 left out before they meet infinity.
    fn overflows(&self, s: &Sums) -> bool {
        let by_weights = self.question.estimator.normalise == Normalise::ByWeights;
        !s.t.is_finite() || (by_weights && s.v > math::exp(truth::LOG_RANGE))
    }
}

impl Normalise {
    fn risk_is_finite(self, s: &Sums) -> bool {
        s.risk(self).is_finite()
    }
}

impl Partial {
    pub(crate) fn empty(risk: &Risk) -> Self {
        Partial { grads: vec![0.0; risk.graded.len() * risk.width()], ..Partial::default() }
    }

    /// Adds the answer for other rows. Gradients follow the scale of the weights.
    pub(crate) fn merge(&mut self, other: &Partial, risk: &Risk) {
        if self.rows == 0 {
            // not `clone_from`, which would allocate
            self.grads.clone_from(&other.grads);
            *self = Partial { grads: std::mem::take(&mut self.grads), ..*other };
            return;
        }
        self.rows += other.rows;
        self.fingerprint = self.fingerprint.wrapping_add(other.fingerprint);
        let (mine, theirs) = self.sums.align(other.sums.scale);
        for (slot, sum) in risk.graded.iter().enumerate() {
            let (a, b) = (math::powi(mine, sum.weight_power()), math::powi(theirs, sum.weight_power()));
            let range = slot * risk.width()..(slot + 1) * risk.width();
            for (x, y) in self.grads[range.clone()].iter_mut().zip(&other.grads[range]) {
                *x = *x * a + *y * b;
            }
        }
        self.sums.merge(&other.sums);
    }
}

impl<T: kernel::Lanes> Fold<Strips<T>> for Risk {
    type Partial = Partial;

    fn zero(&self) -> Partial {
        Partial::empty(self)
    }

    fn reset(&self, p: &mut Partial) {
        let grads = std::mem::take(&mut p.grads);
        *p = Partial { grads, ..Partial::default() };
        p.grads.clear();
        p.grads.resize(self.graded.len() * self.width(), 0.0);
    }

    fn add(&self, block: &Strips<T>, into: &mut Partial) {
        T::with_scratch(|scratch| {
            if !kernel::block(self, block, scratch) || self.overflows(&scratch.answer.sums) {
                // weights beyond the range of the kernel: the plain loop keeps them in logs
                scratch.answer = truth::block(self, block);
            }
            scratch.answer.rows = block.rows as u64;
            scratch.answer.fingerprint = block.fingerprint;
            into.merge(&scratch.answer, self);
        });
    }

    fn merge(&self, other: &Partial, into: &mut Partial) {
        into.merge(other, self);
    }
}
