//! A softmax over buckets of the action, uniform within a bucket.
//!
//! ```text
//! p_k(x) = softmax_k(<psi_X(x), theta_k>),   pi(a|x) = p_k(x) / width_k for a in bucket k
//! ```

use super::buckets::Buckets;
use super::columns::{Columns, all_finite};
use super::target::{Law, TargetPolicy};
use super::{Origin, SavedPolicy};
use crate::data::Schema;
use crate::error::{Error, Result};
use crate::features::{ContextMap, Scaler};
use crate::math;
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};
use serde::{Deserialize, Serialize};

/// Buckets and the logits that choose among them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BucketSoftmax {
    /// Scaling of the contexts.
    pub scaler: Scaler,
    /// psi_X.
    pub map: ContextMap,
    /// The buckets.
    pub buckets: Buckets,
    /// Row-major, d_X x K: column k gives the logit of bucket k.
    pub theta: Vec<f64>,
}

impl BucketSoftmax {
    /// Refuses parts that do not fit together, and numbers that are not finite.
    pub fn check(&self) -> Result<()> {
        let d = self.scaler.shift.len();
        self.scaler.check(d)?;
        self.map.check(d)?;
        self.buckets.check()?;
        if self.map.dim(d).checked_mul(self.buckets.len()) != Some(self.theta.len()) {
            return Err(Error::policy(format!("theta has {} entries, the buckets need others", self.theta.len())));
        }
        all_finite("theta", &self.theta)
    }

    /// psi_X(x) for contexts on their own scale.
    pub fn features(&self, x: &[f64]) -> Vec<f64> {
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
        math::ln(self.probabilities(x)[k]) - math::ln(self.buckets.width(k))
    }

    /// An action for one row, and the probability of its bucket. The same seed and row number give the same action.
    pub fn sample(&self, x: &[f64], seed: u64, row: u64) -> (f64, f64) {
        let p = self.probabilities(x);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(row);
        let (k, _) = drawn(&p, &mut rng);
        (self.buckets.centre(k), p[k])
    }

    /// The mean action given x.
    pub fn mean(&self, x: &[f64]) -> f64 {
        self.probabilities(x).iter().zip(self.buckets.centres()).map(|(p, a)| p * a).sum()
    }
}

/// A bucket drawn with these probabilities, and a place within it in [0, 1).
fn drawn(p: &[f64], rng: &mut (impl Rng + ?Sized)) -> (usize, f64) {
    let mut left: f64 = rng.random();
    let k = p.iter().position(|p| {
        left -= p;
        left < 0.0
    });
    (k.unwrap_or(p.len() - 1), rng.random()) // rounding may leave a last bit of mass
}

/// A [`BucketSoftmax`] with the columns it is for: what is saved, evaluated and put to work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct SoftmaxPolicy {
    /// The columns; one action.
    pub columns: Columns,
    /// Buckets and logits.
    pub softmax: BucketSoftmax,
}

/// The same parts before they are believed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    columns: Columns,
    softmax: BucketSoftmax,
}

impl TryFrom<Unchecked> for SoftmaxPolicy {
    type Error = Error;

    fn try_from(Unchecked { columns, softmax }: Unchecked) -> Result<Self> {
        let policy = SoftmaxPolicy { columns, softmax };
        policy.check()?;
        Ok(policy)
    }
}

impl SoftmaxPolicy {
    /// Refuses parts that do not fit each other, and numbers that are not finite.
    pub fn check(&self) -> Result<()> {
        self.columns.check()?;
        let (d, q) = (self.columns.contexts.len(), self.columns.actions.len());
        if q != 1 || self.softmax.scaler.shift.len() != d {
            return Err(Error::policy(format!("its buckets do not fit its {d} contexts and {q} action columns")));
        }
        self.softmax.check()
    }
}

impl TargetPolicy for SoftmaxPolicy {
    fn log_density(&self, x: &[f64], a: &[f64]) -> f64 {
        self.softmax.log_density(x, a[0])
    }

    fn sample(&self, x: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
        self.sampler(x)(rng)
    }

    fn sampler<'a>(&'a self, x: &[f64]) -> Box<dyn Fn(&mut dyn Rng) -> Vec<f64> + 'a> {
        let (p, edges) = (self.softmax.probabilities(x), self.softmax.buckets.edges());
        Box::new(move |rng| {
            let (k, within) = drawn(&p, rng);
            vec![edges[k] + within * (edges[k + 1] - edges[k])]
        })
    }

    /// The mean of the density: probabilities times the middles of the buckets.
    fn mean(&self, x: &[f64]) -> Option<Vec<f64>> {
        let middles = self.softmax.buckets.edges().windows(2).map(|e| 0.5 * (e[0] + e[1]));
        Some(vec![self.softmax.probabilities(x).iter().zip(middles).map(|(p, a)| p * a).sum()])
    }

    fn mass_within(&self, x: &[f64], low: &[f64], high: &[f64]) -> Option<f64> {
        self.law(x).map(|law| law.mass_within(low, high))
    }

    fn law(&self, x: &[f64]) -> Option<Law> {
        Some(Law::Steps { edges: self.softmax.buckets.edges().to_vec(), masses: self.softmax.probabilities(x) })
    }

    fn check_against(&self, schema: &Schema) -> Result<()> {
        self.check()?;
        self.columns.check_against(schema)
    }

    fn origin(&self) -> Option<&Origin> {
        self.columns.origin.as_ref()
    }

    fn saved(&self) -> Option<SavedPolicy> {
        Some(self.clone().into())
    }
}

/// <psi, theta_k> for every k, into `out`.
pub fn logits(theta: &[f64], psi: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for (f, row) in psi.iter().zip(theta.chunks_exact(out.len())) {
        out.iter_mut().zip(row).for_each(|(s, t)| *s += f * t);
    }
}

/// Turns logits into probabilities and returns the logarithm of the sum of their exponentials.
pub fn softmax(s: &mut [f64]) -> f64 {
    let top = s.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut total = 0.0;
    for v in s.iter_mut() {
        *v = math::exp(*v - top);
        total += *v;
    }
    s.iter_mut().for_each(|v| *v /= total);
    top + math::ln(total)
}
