//! The softmax over buckets.

use super::buckets::Buckets;
use counterpoint::features::{ContextMap, Scaler};
use counterpoint::{Error, Result};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};

/// A policy that draws a bucket and acts with its median.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiscretePolicy {
    /// Scaling of the contexts.
    pub scaler: Scaler,
    /// psi_X.
    pub map: ContextMap,
    /// The buckets.
    pub buckets: Buckets,
    /// Row-major, d_X x K: column k gives the logit of bucket k.
    pub theta: Vec<f64>,
}

impl DiscretePolicy {
    /// Refuses parts that do not fit together.
    pub fn check(&self) -> Result<()> {
        let d = self.scaler.shift.len();
        self.map.check(d)?;
        let expected = self.map.dim(d) * self.buckets.len();
        if self.theta.len() != expected {
            return Err(Error::policy(format!("theta has {} entries, the model needs {expected}", self.theta.len())));
        }
        match self.theta.iter().position(|t| !t.is_finite()) {
            Some(i) => Err(Error::policy(format!("theta[{i}] is {}", self.theta[i]))),
            None => Ok(()),
        }
    }

    /// psi_X(x) for contexts on their own scale.
    pub(super) fn features(&self, x: &[f64]) -> Vec<f64> {
        let mut x = x.to_vec();
        self.scaler.apply(&mut x);
        let mut psi = vec![0.0; self.map.dim(x.len())];
        self.map.apply(&x, &mut psi);
        psi
    }

    /// p(x): the probability of each bucket.
    pub fn probabilities(&self, x: &[f64]) -> Vec<f64> {
        let mut p = vec![0.0; self.buckets.len()];
        logits(&self.theta, &self.features(x), &mut p);
        softmax(&mut p);
        p
    }

    /// ln of the density that is uniform within buckets; minus infinity beyond them.
    pub fn log_density(&self, x: &[f64], action: f64) -> f64 {
        if !self.buckets.covers(action) {
            return f64::NEG_INFINITY;
        }
        let k = self.buckets.index(action);
        self.probabilities(x)[k].ln() - self.buckets.width(k).ln()
    }

    /// An action for one row, and the probability of its bucket. The same seed and row number give the same action.
    pub fn sample(&self, x: &[f64], seed: u64, row: u64) -> (f64, f64) {
        let p = self.probabilities(x);
        let (k, _) = drawn(&p, seed, row);
        (self.buckets.centre(k), p[k])
    }

    /// Draws for one context that follow [`log_density`](Self::log_density): uniform within the bucket.
    pub fn sampler(&self, x: &[f64]) -> impl Fn(u64, u64) -> f64 + use<> {
        let (p, edges) = (self.probabilities(x), self.buckets.edges().to_vec());
        move |seed, row| {
            let (k, within) = drawn(&p, seed, row);
            edges[k] + within * (edges[k + 1] - edges[k])
        }
    }

    /// The mean action given x.
    pub fn mean(&self, x: &[f64]) -> f64 {
        self.probabilities(x).iter().zip(self.buckets.centres()).map(|(p, a)| p * a).sum()
    }
}

/// A bucket drawn with these probabilities, and a place within it in [0, 1).
fn drawn(p: &[f64], seed: u64, row: u64) -> (usize, f64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(row);
    let mut left: f64 = rng.random();
    let k = p.iter().position(|p| {
        left -= p;
        left < 0.0
    });
    (k.unwrap_or(p.len() - 1), rng.random()) // rounding may leave a last bit of mass
}

/// <psi, theta_k> for every k, into `out`.
pub(super) fn logits(theta: &[f64], psi: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for (f, row) in psi.iter().zip(theta.chunks_exact(out.len())) {
        out.iter_mut().zip(row).for_each(|(s, t)| *s += f * t);
    }
}

/// Turns logits into probabilities and returns the logarithm of the sum of their exponentials.
pub(super) fn softmax(s: &mut [f64]) -> f64 {
    let top = s.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut total = 0.0;
    for v in s.iter_mut() {
        *v = (*v - top).exp();
        total += *v;
    }
    s.iter_mut().for_each(|v| *v /= total);
    top + total.ln()
}
