//! The sums of an estimator under any policy: importance weights from its densities, model terms from its law or from draws.
//!
//! Plain forms need nothing but weights. The direct method, doubly robust estimates, SWITCH and CAB need the expectation of
//! the loss model under the policy: exact where the policy knows its law (a closed form for a family, bell integrals for
//! steps such as buckets), else the mean over [`DRAWS`] seeded actions per row. Parametric policies do not come here: their
//! evaluation is the kernel that learning uses.

use super::expect::{self, along, expected, left_of, left_out};
use super::rows::Question;
use super::score::Powers;
use crate::data::{Block, Log};
use crate::engine::{Engine, Fold};
use crate::error::{Error, Result};
use crate::estimate::{Form, LossModel, ModelTerm, Normalise, PerTerm, Predictions, Sums, Term, Weight};
use crate::math;
use crate::policy::{Law, Policy, SavedPolicy, TargetPolicy};
use crate::rng::{Purpose, stream};
use serde::{Deserialize, Serialize};

/// Actions drawn per row where an expectation has no closed form.
pub const DRAWS: usize = 100;

/// Plain weights whose logarithm is further than this from 0 are scaled before they leave logs.
const LARGE: f64 = 600.0;

/// The sums of an estimator over rows in this process.
pub(crate) fn target_sums(
    engine: &Engine,
    log: &Log,
    policy: &dyn TargetPolicy,
    question: &Question,
    (of, predictions): (Entering, Option<&Predictions>),
) -> TargetAnswer {
    engine.ask(&TargetFold { policy, question, of, predictions }, log.blocks())
}

/// The question: the sums of an estimator under a policy that has a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetSums {
    /// The policy.
    pub policy: SavedPolicy,
    /// The estimator, and what it rests on.
    pub question: Question,
    /// How costs and rows enter.
    pub of: Entering,
}

/// How costs and rows enter the sums of an estimator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entering {
    /// What is subtracted from the costs.
    pub shift: f64,
    /// Whether rows count by their weights, or by the squares of sampling weights.
    pub powers: Powers,
}

/// Its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetAnswer {
    /// The sums.
    pub sums: Sums,
    /// Actions drawn per row for the expectation of the loss model; 0 where it is exact or not asked for.
    pub draws: usize,
    /// The first row whose weight is none, and the bits of its logarithm.
    broken: Option<(u64, u64)>,
}

impl TargetAnswer {
    /// The sums, if every row had a weight and the policy could say what was asked.
    pub(crate) fn checked(&self, policy: &dyn TargetPolicy) -> Result<Sums> {
        if self.draws > 0 && !policy.can_sample() {
            return Err(Error::policy("it is known by its densities at the logged actions and cannot be drawn from")
                .hint("use an estimator that needs no model of the outcome: snips, ips, clipped or soft-clipped"));
        }
        match self.broken {
            Some((id, bits)) => {
                let log_w = f64::from_bits(bits);
                Err(Error::numeric("ln w", format!("{log_w} is not a weight")).at(format!("row {}", id + 1)))
            }
            None => Ok(self.sums),
        }
    }
}

impl Fold<Block> for TargetSums {
    type Partial = TargetAnswer;

    fn zero(&self) -> TargetAnswer {
        TargetAnswer::default()
    }

    fn add(&self, block: &Block, into: &mut TargetAnswer) {
        TargetFold { policy: &self.policy, question: &self.question, of: self.of, predictions: None }.add(block, into);
    }

    fn merge(&self, other: &TargetAnswer, into: &mut TargetAnswer) {
        into.merge(other);
    }
}

impl TargetAnswer {
    fn merge(&mut self, other: &TargetAnswer) {
        self.sums.merge(&other.sums);
        self.draws = self.draws.max(other.draws);
        self.broken = [self.broken, other.broken].into_iter().flatten().min_by_key(|b| b.0);
    }
}

struct TargetFold<'a> {
    policy: &'a dyn TargetPolicy,
    question: &'a Question,
    of: Entering,
    /// A loss model that was fitted elsewhere; it is asked instead of the question's.
    predictions: Option<&'a Predictions>,
}

/// The loss model that is asked.
#[derive(Clone, Copy)]
enum Model<'a> {
    Ours(&'a LossModel),
    Brought(&'a Predictions),
}

impl TargetFold<'_> {
    /// The loss model, where the estimator asks for it.
    fn model(&self) -> Option<Model<'_>> {
        let ours = || self.question.model.as_ref().map(Model::Ours);
        let any = self.predictions.map(Model::Brought).or_else(ours);
        any.filter(|_| self.question.estimator.needs_model())
    }

    /// What the model says of the logged action, and what it expects of the policy in that row.
    fn asked(&self, model: Model, law: Option<&Law>, (x, a, id): (&[f64], &[f64], u64)) -> (f64, f64) {
        match model {
            Model::Ours(model) => (model.predict(x, a), self.expected(model, law, x, id)),
            Model::Brought(p) => (p.logged(id, a[0]), self.expected_of(p, law, x, id)),
        }
    }

    /// Actions to draw per row: none without a model, or where the expectation is exact.
    fn draws(&self, laws: Option<&[Law]>) -> usize {
        if self.model().is_none() {
            return 0;
        }
        let exact = match (self.question.estimator.form, laws) {
            (_, None) => false,
            // the integral of a clipped weight along the policy is for families
            (Form::Blend, Some(laws)) => matches!(laws.first(), Some(Law::Family { .. })),
            (_, Some(_)) => true,
        };
        if exact { 0 } else { DRAWS }
    }

    /// What the model expects in row i of a block, or of what transformed weights leave to it.
    fn expected(&self, model: &LossModel, law: Option<&Law>, x: &[f64], id: u64) -> f64 {
        let c = model.coefficients_at(x);
        let (weight, shift) = (&self.question.estimator.weight, model.intercept - self.of.shift);
        let logging = self.question.logging.as_ref().filter(|_| self.question.estimator.form == Form::Blend);
        match (law, logging) {
            (Some(Law::Family { family, mean, std }), Some(logging)) => {
                let (theirs, their_std) = (logging.mean(x), logging.std());
                let theirs = expect::Law { family: logging.family, mean: &theirs, std: &their_std };
                let law = expect::Law { family: *family, mean, std };
                left_out(weight, &model.actions, &c, shift, law, theirs).value
            }
            (Some(Law::Family { family, mean, std }), None) => {
                let law = expect::Law { family: *family, mean, std };
                let (mut d_mean, mut d_std) = (vec![0.0; mean.len()], vec![0.0; mean.len()]);
                expected(ModelTerm::Exact, &model.actions, &c, law, &mut d_mean, &mut d_std) + shift
            }
            (Some(law), None) => {
                let kernel = |l: usize| law.kernel_mean(model.actions.anchor(l)[0], model.actions.bandwidth);
                (0..c.len()).map(|l| c[l] * kernel(l).unwrap_or(f64::NAN)).sum::<f64>() + shift
            }
            (_, logging) => {
                let mut slope = vec![0.0; model.actions.width];
                self.drawn(x, id, logging, &mut |a| model.actions.function(&c, a, &mut slope) + shift)
            }
        }
    }

    /// The same of a model that was fitted elsewhere.
    fn expected_of(&self, p: &Predictions, law: Option<&Law>, x: &[f64], id: u64) -> f64 {
        let (curve, shift) = (p.curve(id), self.of.shift);
        let logging = self.question.logging.as_ref().filter(|_| self.question.estimator.form == Form::Blend);
        match (law, logging) {
            (Some(Law::Family { family, mean, std }), _) => {
                let (law, f) = (expect::Law { family: *family, mean, std }, |a| p.along(curve, a) - shift);
                let Some(logging) = logging else { return along(&f, law) };
                let (theirs, their_std) = (logging.mean(x), logging.std());
                let theirs = expect::Law { family: logging.family, mean: &theirs, std: &their_std };
                left_of(&self.question.estimator.weight, &f, law, theirs)
            }
            (Some(Law::Steps { edges, masses }), None) => {
                let steps = edges.windows(2).zip(masses);
                steps.map(|(e, mass)| mass * (p.mean_between(curve, e[0], e[1]) - shift)).sum()
            }
            _ => self.drawn(x, id, logging, &mut |a| p.along(curve, a[0]) - shift),
        }
    }

    /// The mean of f over seeded draws, of each the share that transformed weights leave to the model.
    fn drawn(&self, x: &[f64], id: u64, logging: Option<&Policy>, f: &mut dyn FnMut(&[f64]) -> f64) -> f64 {
        let left = |a: &[f64]| match logging {
            None => 1.0,
            Some(p0) => {
                let log_w = self.policy.log_density(x, a) - TargetPolicy::log_density(p0, x, a);
                kept(&self.question.estimator.weight, log_w)
            }
        };
        let draw = self.policy.sampler(x);
        let mut rng = stream(0, Purpose::Model, id);
        let mut total = 0.0;
        for _ in 0..DRAWS {
            let a = draw(&mut rng);
            total += left(&a) * f(&a);
        }
        total / DRAWS as f64
    }
}

/// 1 - v(w) / w: the share of an action's mass that a transformed weight leaves to the model.
fn kept(weight: &Weight, log_w: f64) -> f64 {
    if log_w == f64::INFINITY { 1.0 } else { 1.0 - weight.apply(log_w).0 * math::exp(-log_w) }
}

impl Fold<Block> for TargetFold<'_> {
    type Partial = TargetAnswer;

    fn zero(&self) -> TargetAnswer {
        TargetAnswer::default()
    }

    fn add(&self, b: &Block, into: &mut TargetAnswer) {
        let estimator = &self.question.estimator;
        let mut log_w = Vec::with_capacity(b.rows());
        self.policy.log_densities(b, &mut log_w);
        log_w.iter_mut().zip(&b.log_p).for_each(|(w, log_p)| *w -= log_p);
        let laws = self.model().and_then(|_| self.policy.laws(b));
        into.draws = into.draws.max(self.draws(laws.as_deref()));
        let counted = || (0..b.rows()).filter(|&i| b.omega[i] > 0.0);
        let top = counted().map(|i| log_w[i]).fold(f64::NEG_INFINITY, f64::max);
        let by_weights = estimator.normalise == Normalise::ByWeights;
        let scaled = by_weights && estimator.weight == Weight::Raw && top.is_finite() && top.abs() > LARGE;
        let scale = if scaled { top } else { 0.0 };
        let mut sums = Sums { scale, ..Sums::default() };
        let (mut x, mut a) = (vec![0.0; b.x.len()], vec![0.0; b.a.len()]);
        for i in counted() {
            if log_w[i].is_nan() || log_w[i] == f64::INFINITY {
                into.broken.get_or_insert((b.ids[i], log_w[i].to_bits()));
                continue;
            }
            let (y, v) = (b.y[i] - self.of.shift, estimator.weight.apply(log_w[i] - scale).0);
            let (mut t, mut g) = (v * y, 0.0);
            // a policy that cannot be drawn from is refused by whoever reads the answer
            if let Some(model) = self.model().filter(|_| laws.is_some() || self.policy.can_sample()) {
                b.context(i, &mut x);
                b.action(i, &mut a);
                let (eta, expected) = self.asked(model, laws.as_ref().map(|l| &l[i]), (&x, &a, b.ids[i]));
                t = match estimator.form {
                    Form::Residual => v * (b.y[i] - eta),
                    Form::Model => 0.0,
                    Form::Plain | Form::Blend => t,
                };
                g = expected;
            }
            if !by_weights {
                (t, g) = (t + g, 0.0); // the model part is simply part of the term
            }
            let mut terms = PerTerm::default();
            (terms[Term::T], terms[Term::V], terms[Term::G]) = (t, v, g);
            sums.add(&terms, y, self.of.powers.of(b.omega[i]));
        }
        into.sums.merge(&sums);
    }

    fn merge(&self, other: &TargetAnswer, into: &mut TargetAnswer) {
        into.merge(other);
    }
}
