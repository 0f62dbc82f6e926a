//! Laws of actions beside the normal one: other families, a point mass at a bound, a grid.

use super::{Gauss, normal, uniform};
use counterpoint::policy::{Family, Law, TargetPolicy};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};

/// A family with a mean and a spread.
pub(super) struct Member(pub(super) Family, pub(super) Gauss);

impl Member {
    fn at(&self, x: &[f64]) -> Law {
        Law::Family { family: self.0, mean: vec![(self.1.mean)(x)], std: vec![(self.1.std)(x)] }
    }
}

impl TargetPolicy for Member {
    fn log_density(&self, x: &[f64], a: &[f64]) -> f64 {
        self.0.log_density(a[0], (self.1.mean)(x), (self.1.std)(x)).value
    }

    fn sample(&self, x: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
        let z: f64 = StandardNormal.sample(rng);
        vec![self.0.at(z, (self.1.mean)(x), (self.1.std)(x)).value]
    }

    fn mean(&self, x: &[f64]) -> Option<Vec<f64>> {
        Some(vec![(self.1.mean)(x)])
    }

    fn mass_within(&self, x: &[f64], low: &[f64], high: &[f64]) -> Option<f64> {
        Some(self.at(x).mass_within(low, high))
    }

    fn law(&self, x: &[f64]) -> Option<Law> {
        Some(self.at(x))
    }
}

/// A normal law whose negative actions are 0: the density there is a probability.
pub(super) struct Censored(pub(super) Gauss);

impl Censored {
    /// The density of an action of N(mean, std) that stops at 0.
    pub(super) fn density(a: f64, mean: f64, std: f64) -> f64 {
        if a > 0.0 {
            Family::Normal.log_density(a, mean, std).value.exp()
        } else {
            Family::Normal.cdf(0.0, mean, std).value
        }
    }
}

impl TargetPolicy for Censored {
    fn log_density(&self, x: &[f64], a: &[f64]) -> f64 {
        Censored::density(a[0], (self.0.mean)(x), (self.0.std)(x)).ln()
    }

    fn sample(&self, x: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
        let z: f64 = StandardNormal.sample(rng);
        vec![((self.0.mean)(x) + (self.0.std)(x) * z).max(0.0)]
    }

    fn mean(&self, x: &[f64]) -> Option<Vec<f64>> {
        Some(vec![(self.0.mean)(x).max(0.0)])
    }

    fn mass_within(&self, x: &[f64], low: &[f64], high: &[f64]) -> Option<f64> {
        let below = |a: f64| if a < 0.0 { 0.0 } else { Family::Normal.cdf(a, (self.0.mean)(x), (self.0.std)(x)).value };
        Some(below(high[0]) - if low[0] <= 0.0 { 0.0 } else { below(low[0]) })
    }
}

/// Levels half a unit apart, each as likely as a normal density there says: densities are probabilities.
pub(super) struct Levels(pub(super) Gauss);

impl Levels {
    /// The levels.
    const AT: [f64; 9] = [-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0];

    /// Their probabilities.
    pub(super) fn probabilities(mean: f64, std: f64) -> [f64; 9] {
        let p = Levels::AT.map(|a| (-0.5 * ((a - mean) / std).powi(2)).exp());
        p.map(|q| q / p.iter().sum::<f64>())
    }

    /// A level and its probability.
    pub(super) fn draw(mean: f64, std: f64, u: f64) -> (f64, f64) {
        let p = Levels::probabilities(mean, std);
        let mut left = u;
        for (a, p) in Levels::AT.into_iter().zip(p) {
            left -= p;
            if left <= 0.0 {
                return (a, p);
            }
        }
        (2.0, p[8])
    }
}

impl TargetPolicy for Levels {
    fn log_density(&self, x: &[f64], a: &[f64]) -> f64 {
        let p = Levels::probabilities((self.0.mean)(x), (self.0.std)(x));
        Levels::AT.iter().zip(p).find(|(level, _)| **level == a[0]).map_or(f64::NEG_INFINITY, |(_, p)| p.ln())
    }

    fn sample(&self, x: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
        vec![Levels::draw((self.0.mean)(x), (self.0.std)(x), rng.random()).0]
    }

    fn mass_within(&self, x: &[f64], low: &[f64], high: &[f64]) -> Option<f64> {
        let p = Levels::probabilities((self.0.mean)(x), (self.0.std)(x));
        Some(Levels::AT.iter().zip(p).filter(|(a, _)| low[0] <= **a && **a <= high[0]).map(|(_, p)| p).sum())
    }
}

/// A Laplace number.
pub(super) fn laplace(r: &mut ChaCha8Rng) -> f64 {
    super::exponential(r) * if uniform(r) < 0.5 { -1.0 } else { 1.0 }
}

/// An action of N(mean, std) and its density.
pub(super) fn gauss(mean: f64, std: f64, r: &mut ChaCha8Rng) -> (f64, f64) {
    let z = normal(r);
    (mean + std * z, (-0.5 * z * z).exp() / (std * std::f64::consts::TAU.sqrt()))
}
