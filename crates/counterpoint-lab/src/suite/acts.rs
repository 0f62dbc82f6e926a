//! How a log acts: the law of the action given the contexts.

use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt};
use rand_distr::StandardNormal;
use std::f64::consts::TAU;

/// The law of a logged action given its contexts.
#[derive(Clone, Debug, PartialEq)]
pub enum Acts {
    /// Evenly between two actions.
    Uniform {
        /// The smallest.
        low: f64,
        /// The largest.
        high: f64,
    },
    /// Normal.
    Normal {
        /// Its mean.
        mean: f64,
        /// Its standard deviation.
        std: f64,
    },
    /// The logarithm of the action is normal.
    LogNormal {
        /// The median of the action.
        median: f64,
        /// The standard deviation of its logarithm.
        sigma: f64,
    },
    /// Mostly normal and narrow; now and then anywhere between two actions.
    Explores {
        /// The mean of the narrow part.
        mean: f64,
        /// Its standard deviation.
        std: f64,
        /// How often the log explores.
        share: f64,
        /// The smallest and the largest action that it explores.
        range: [f64; 2],
    },
    /// A few actions, each with a probability, which is what the log holds as the propensity.
    Points {
        /// The actions, ascending.
        points: &'static [f64],
        /// Their probabilities.
        masses: Vec<f64>,
    },
}

impl Acts {
    /// Points with probabilities in proportion to e^score.
    pub fn softmax(points: &'static [f64], score: impl Fn(f64) -> f64) -> Acts {
        let weights: Vec<f64> = points.iter().map(|a| score(*a).exp()).collect();
        let total: f64 = weights.iter().sum();
        Acts::Points { points, masses: weights.into_iter().map(|w| w / total).collect() }
    }

    /// The density of an action; of points, their probability.
    pub fn density(&self, a: f64) -> f64 {
        let bell = |z: f64| (-0.5 * z * z).exp() / TAU.sqrt();
        match self {
            Acts::Uniform { low, high } if (*low..=*high).contains(&a) => 1.0 / (high - low),
            Acts::Uniform { .. } => 0.0,
            Acts::Normal { mean, std } => bell((a - mean) / std) / std,
            Acts::LogNormal { median, sigma } if a > 0.0 => bell((a / median).ln() / sigma) / (sigma * a),
            Acts::LogNormal { .. } => 0.0,
            Acts::Explores { mean, std, share, range: [low, high] } => {
                let even = if (*low..=*high).contains(&a) { share / (high - low) } else { 0.0 };
                even + (1.0 - share) * bell((a - mean) / std) / std
            }
            Acts::Points { points, masses } => points.iter().position(|p| *p == a).map_or(0.0, |k| masses[k]),
        }
    }

    /// An action.
    pub fn sample(&self, rng: &mut ChaCha8Rng) -> f64 {
        match self {
            Acts::Uniform { low, high } => low + (high - low) * rng.random::<f64>(),
            Acts::Normal { mean, std } => mean + std * normal(rng),
            Acts::LogNormal { median, sigma } => median * (sigma * normal(rng)).exp(),
            Acts::Explores { share, range: [low, high], .. } if coin(*share, rng) => {
                low + (high - low) * rng.random::<f64>()
            }
            Acts::Explores { mean, std, .. } => mean + std * normal(rng),
            Acts::Points { points, masses } => {
                let mut left: f64 = rng.random();
                let last = points.len() - 1;
                let chosen = masses.iter().position(|m| {
                    left -= m;
                    left < 0.0
                });
                points[chosen.unwrap_or(last)] // rounding may leave a crumb beyond the last
            }
        }
    }
}

/// A standard normal number.
pub(super) fn normal(rng: &mut impl Rng) -> f64 {
    rng.sample(StandardNormal)
}

/// Numbers evenly spread between -1 and 1.
pub(super) fn even(count: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    (0..count).map(|_| 2.0 * rng.random::<f64>() - 1.0).collect()
}

/// Standard normal numbers.
pub(super) fn normals(count: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    (0..count).map(|_| normal(rng)).collect()
}

/// A coin that falls on its head with this probability.
pub(super) fn coin(p: f64, rng: &mut ChaCha8Rng) -> bool {
    rng.random::<f64>() < p
}
