//! How often the log chose each bucket: its density, integrated.
//!
//! Where the logging policy is known as a function, the share of a bucket is a difference of its CDF. Where only the density of
//! the action taken is known, shares cannot be had from it: the density at one point says nothing of the rest of the
//! bucket. Then they are learned, as a softmax regression of the bucket on psi_X(x) by maximum likelihood. (A plain share a
//! bucket would be wrong for every log that looked at the context.)

use super::rows::{Reference, Rows, Strip};
use crate::engine::Fold;
use crate::features::{ContextMap, Scaler};
use crate::math;
use crate::optim::{Lbfgs, Objective, Optimiser};
use crate::policy::{BucketSoftmax, Buckets, Scorer, logits, softmax};
use crate::{Engine, Error, Log, Policy, Result};
use std::ops::ControlFlow;

/// The logging policy, as far as buckets ask for it.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // one per fit
pub enum Logging {
    /// Known as a function: the log-normal of the potentials; for Warfarin the normal whose mean is linear in the BMI.
    Known(Policy),
    /// Learned from the log.
    Shares(BucketSoftmax),
}

/// The ridge times the rows: a normal prior of std 0.3 on every coefficient. It keeps the optimum finite where a bucket is never
/// taken in a corner of the contexts, and many contexts from explaining few rows.
const PRIOR: f64 = 10.0;

impl Logging {
    /// Learns the shares of the buckets from a log.
    pub fn learn(engine: &Engine, log: &Log, buckets: &Buckets, scaler: &Scaler, map: &ContextMap) -> Result<Self> {
        let k = buckets.len();
        let features = map.dim(log.d());
        let mut policy = BucketSoftmax {
            scaler: scaler.clone(),
            map: map.clone(),
            buckets: buckets.clone(),
            theta: vec![0.0; features * k],
        };
        let rows = Rows::new(log, &policy, &Reference::Unit, None, 0.0)?;
        let mut likelihood = Likelihood { engine, rows: &rows, k, slots: Vec::new() };
        let found = Lbfgs::default().minimise(&mut likelihood, &policy.theta, &mut |_| ControlFlow::Continue(()))?;
        policy.theta = found.theta;
        policy.check()?;
        Ok(Logging::Shares(policy))
    }

    /// Something that gives shares for many rows.
    pub(super) fn shares<'a>(&'a self, buckets: &'a Buckets) -> Result<Shares<'a>> {
        let scorer = match self {
            Logging::Known(policy) if policy.q() != 1 => {
                return Err(Error::policy(format!("buckets are for one action column, not {}", policy.q())));
            }
            Logging::Known(policy) => Some(policy.scorer()),
            Logging::Shares(policy) if policy.buckets != *buckets => {
                return Err(Error::policy("the shares were learned for other buckets"));
            }
            Logging::Shares(_) => None,
        };
        Ok(Shares { logging: self, scorer, buckets })
    }
}

/// Shares of the buckets, row by row.
pub(super) struct Shares<'a> {
    logging: &'a Logging,
    scorer: Option<Scorer<'a>>,
    buckets: &'a Buckets,
}

impl Shares<'_> {
    /// q(x); a bucket the log could not have chosen is an error.
    pub(super) fn at(&mut self, x: &[f64]) -> Result<Vec<f64>> {
        let q = match (self.logging, &mut self.scorer) {
            (Logging::Known(policy), Some(scorer)) => {
                let mut mean = [0.0];
                scorer.mean(x, &mut mean);
                let std = scorer.std()[0];
                let inner = &self.buckets.edges()[1..self.buckets.len()];
                let mut below = 0.0;
                let mut q: Vec<f64> = Vec::with_capacity(self.buckets.len());
                for edge in inner.iter().copied().chain([f64::INFINITY]) {
                    let up_to = policy.family.cdf(edge, mean[0], std).value;
                    q.push(up_to - below);
                    below = up_to;
                }
                q
            }
            (Logging::Shares(policy), _) => policy.probabilities(x),
            (Logging::Known(_), None) => unreachable!("a known policy has its scorer"),
        };
        match q.iter().position(|q| q.is_nan() || *q <= 0.0) {
            None => Ok(q),
            Some(k) => Err(Error::data(format!("the logging policy gives bucket {k} a share of {}", q[k]))
                .at(format!("context {x:?}"))
                .hint("use fewer buckets")),
        }
    }
}

/// -mean ln p_b(x) + prior/(2n) |theta|^2.
struct Likelihood<'a> {
    engine: &'a Engine,
    rows: &'a Rows,
    k: usize,
    slots: Vec<Vec<f64>>,
}

impl Objective for Likelihood<'_> {
    fn dim(&self) -> usize {
        self.rows.features * self.k
    }

    fn eval(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
        self.engine.fold(&Surprise { theta, k: self.k }, &self.rows.strips, &mut self.slots);
        let (answer, n) = (&self.slots[0], self.slots[0][theta.len() + 1]);
        for i in 0..theta.len() {
            grad[i] = (answer[i] + PRIOR * theta[i]) / n;
        }
        Ok((answer[theta.len()] + 0.5 * PRIOR * theta.iter().map(|t| t * t).sum::<f64>()) / n)
    }
}

/// Sums of -ln p_b: its gradient, its value, the rows.
struct Surprise<'a> {
    theta: &'a [f64],
    k: usize,
}

impl Fold<Strip> for Surprise<'_> {
    type Partial = Vec<f64>;

    fn zero(&self) -> Vec<f64> {
        vec![0.0; self.theta.len() + 2]
    }

    fn add(&self, strip: &Strip, into: &mut Vec<f64>) {
        let mut p = vec![0.0; self.k];
        let dim = self.theta.len();
        for i in 0..strip.rows() {
            let (psi, b, omega) = (strip.psi(i), strip.bucket[i], strip.omega[i]);
            logits(self.theta, psi, &mut p);
            softmax(&mut p);
            into[dim] -= omega * math::ln(p[b]);
            into[dim + 1] += omega;
            p[b] -= 1.0;
            for (f, row) in psi.iter().zip(into.chunks_exact_mut(self.k)) {
                row.iter_mut().zip(&p).for_each(|(g, s)| *g += omega * f * s);
            }
        }
    }

    fn merge(&self, other: &Vec<f64>, into: &mut Vec<f64>) {
        into.iter_mut().zip(other).for_each(|(a, b)| *a += b);
    }
}
