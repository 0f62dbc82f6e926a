//! The regularised risk of softmax policies, its variance and their gradients, in one pass.
//!
//! All slopes go through the logits s: with p = softmax(s),
//!
//! ```text
//! d ln p_b / d s_j = [j = b] - p_j
//! d sum_k p_k eta_k / d s_j = p_j (eta_j - sum_k p_k eta_k)
//! d sum_k (p_k - q_k v_k) eta_k / d s_j = u_j - p_j sum_k u_k,   u_k = eta_k (p_k - q_k dv_k / d ln w_k)
//! ```

use super::rows::{Rows, Strip};
use crate::engine::Fold;
use crate::estimate::{Form, Normalise, PerTerm, Sum, Sums, Target, Term};
use crate::math;
use crate::optim::Objective;
use crate::policy::{logits, softmax};
use crate::{Engine, Error, Estimator, Result};

/// The objective: risk + variance penalty + ridge - entropy.
pub struct SoftmaxRisk<'a> {
    engine: &'a Engine,
    rows: &'a Rows,
    estimator: Estimator,
    target: Target,
    ridge: f64,
    /// Rows of theta from here on are free of ridge: the intercept.
    penalised: usize,
    slots: Vec<Partial>,
}

/// Sums over rows, and the gradients of those that need one.
pub(super) struct Partial {
    pub(super) sums: Sums,
    grads: Vec<f64>,
}

impl<'a> SoftmaxRisk<'a> {
    /// Prepares the objective. `penalised` rows of theta feel the ridge; of a map with an intercept, all but the last.
    pub fn new(
        engine: &'a Engine,
        rows: &'a Rows,
        estimator: Estimator,
        target: Target,
        (ridge, penalised): (f64, usize),
    ) -> Result<Self> {
        estimator.weight.check("estimator.weight")?;
        let (shares, model) = rows.has;
        if estimator.needs_model() && !model {
            return Err(Error::recipe("estimator.form", "this estimator needs a loss model"));
        }
        if estimator.form == Form::Blend && (!shares || estimator.normalise == Normalise::ByWeights) {
            return Err(Error::recipe("estimator.form", "SWITCH and CAB need shares of buckets, and by-rows"));
        }
        Ok(SoftmaxRisk { engine, rows, estimator, target, ridge, penalised, slots: Vec::new() })
    }

    /// The sums at `theta`, without gradients.
    pub fn sums(&self, theta: &[f64]) -> Sums {
        let fold = RiskFold { theta, k: self.rows.k, estimator: &self.estimator, graded: Vec::new(), entropy: true };
        self.engine.ask(&fold, &self.rows.strips).sums
    }
}

impl Objective for SoftmaxRisk<'_> {
    fn dim(&self) -> usize {
        self.rows.features * self.rows.k
    }

    fn eval(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
        let graded = self.target.graded(self.estimator.needs_model(), true);
        let entropy = self.target.entropy > 0.0;
        let fold = RiskFold { theta, k: self.rows.k, estimator: &self.estimator, graded, entropy };
        self.engine.fold(&fold, &self.rows.strips, &mut self.slots);
        let Partial { sums, grads } = &self.slots[0];
        let weights = self.target.weights(sums);
        grad.fill(0.0);
        for (&r, g) in fold.graded.iter().zip(grads.chunks_exact(theta.len())) {
            grad.iter_mut().zip(g).for_each(|(to, g)| *to += weights[r] * g);
        }
        let mut value = self.target.value(sums);
        for i in 0..self.penalised * self.rows.k {
            value += 0.5 * self.ridge * theta[i] * theta[i];
            grad[i] += self.ridge * theta[i];
        }
        Ok(value)
    }
}

struct RiskFold<'a> {
    theta: &'a [f64],
    k: usize,
    estimator: &'a Estimator,
    graded: Vec<Sum>,
    /// Whether entropies are asked for: they cost a logarithm a bucket.
    entropy: bool,
}

/// One row: t, v, g and the entropy, and their slopes in the logits.
struct Terms {
    value: PerTerm<f64>,
    slope: PerTerm<Vec<f64>>,
    p: Vec<f64>,
    u: Vec<f64>,
}

impl Terms {
    fn new(k: usize) -> Self {
        let zero = || vec![0.0; k];
        Terms { value: PerTerm::default(), slope: PerTerm::from_fn(|_| zero()), p: zero(), u: zero() }
    }

    fn fill(&mut self, est: &Estimator, theta: &[f64], strip: &Strip, i: usize) {
        let (k, b) = (self.p.len(), strip.bucket[i]);
        logits(theta, strip.psi(i), &mut self.p);
        let s_b = self.p[b];
        let log_p = s_b - softmax(&mut self.p);
        let p = &self.p;
        let (v, dv) = est.weight.apply(log_p - strip.log_q[i]);
        let residual = match est.form {
            Form::Plain | Form::Blend => strip.y[i],
            Form::Residual => strip.y[i] - strip.eta[i * k + b],
            Form::Model => 0.0,
        };
        self.value = PerTerm::default();
        (self.value[Term::T], self.value[Term::V]) = (v * residual, v);
        let slope = &mut self.slope;
        for j in 0..k {
            slope[Term::V][j] = -dv * p[j];
        }
        slope[Term::V][b] += dv;
        for j in 0..k {
            slope[Term::T][j] = residual * slope[Term::V][j];
        }
        if est.form != Form::Plain {
            let eta = &strip.eta[i * k..(i + 1) * k];
            for j in 0..k {
                let (mut left, mut u) = (p[j], p[j]);
                if est.form == Form::Blend && p[j] > 0.0 {
                    let q = strip.q[i * k + j];
                    let (v, dv) = est.weight.apply(math::ln(p[j] / q));
                    left -= q * v;
                    u -= q * dv;
                }
                self.value[Term::G] += eta[j] * left;
                self.u[j] = eta[j] * u;
            }
            let total: f64 = self.u.iter().sum();
            for j in 0..k {
                slope[Term::G][j] = self.u[j] - p[j] * total;
            }
            if est.normalise == Normalise::ByRows {
                // the model part is simply part of the term
                self.value[Term::T] += std::mem::take(&mut self.value[Term::G]);
                for j in 0..k {
                    let g = std::mem::take(&mut slope[Term::G][j]);
                    slope[Term::T][j] += g;
                }
            }
        }
    }

    /// The entropy at the probabilities of the last row filled.
    fn fill_entropy(&mut self) {
        let (p, h) = (&self.p, &mut self.slope[Term::H]);
        // x ln x is 0 at 0
        let entropy = -p.iter().filter(|p| **p > 0.0).map(|p| p * math::ln(*p)).sum::<f64>();
        self.value[Term::H] = entropy;
        for j in 0..p.len() {
            h[j] = if p[j] > 0.0 { -p[j] * (math::ln(p[j]) + entropy) } else { 0.0 };
        }
    }
}

impl Fold<Strip> for RiskFold<'_> {
    type Partial = Partial;

    fn zero(&self) -> Partial {
        Partial { sums: Sums::default(), grads: vec![0.0; self.graded.len() * self.theta.len()] }
    }

    fn add(&self, strip: &Strip, into: &mut Partial) {
        let mut row = Terms::new(self.k);
        let mut slope = vec![0.0; self.k];
        let mut sums = Sums::default();
        for i in 0..strip.rows() {
            row.fill(self.estimator, self.theta, strip, i);
            if self.entropy {
                row.fill_entropy();
            }
            let omega = strip.omega[i];
            sums.add(&row.value, strip.y[i], omega);
            for (&r, grad) in self.graded.iter().zip(into.grads.chunks_exact_mut(self.theta.len())) {
                slope.fill(0.0);
                let chain = row.value.chain(r);
                for term in Term::ALL.into_iter().filter(|t| chain[*t] != 0.0) {
                    let c = omega * chain[term];
                    slope.iter_mut().zip(&row.slope[term]).for_each(|(s, d)| *s += c * d);
                }
                for (f, to) in strip.psi(i).iter().zip(grad.chunks_exact_mut(self.k)) {
                    to.iter_mut().zip(&slope).for_each(|(to, s)| *to += f * s);
                }
            }
        }
        into.sums.merge(&sums);
    }

    fn merge(&self, other: &Partial, into: &mut Partial) {
        into.sums.merge(&other.sums);
        into.grads.iter_mut().zip(&other.grads).for_each(|(a, b)| *a += b);
    }
}
