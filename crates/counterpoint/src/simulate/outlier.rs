//! Two circles and one outlier: an unlikely action that happened to pay (Appendix B).
//!
//! Contexts on two circles, the outer one with high potentials and the inner one with low; logging and reward as in
//! [`Potential`], plus noise e ~ N(0, s^2) on every reward. One row more stands among the inner contexts, at (0.6, 0), as in
//! the paper's figure: its potential is high, its action so low that the logging density is nearly 0, and its reward high.
//!
//! ```text
//! r = reward(a, p) + e;   the last row: x = (0.6, 0), p = 3, a = 0.25, density 0.0006, r = 3
//! ```
//!
//! A policy that puts density 1 there gives that row a weight above 1,000, and without clipping nothing else counts. The paper
//! has s = 1 and prints neither rows nor the outlier's figures; those are ours.

#[cfg(feature = "readers")]
use crate::data::{Column, Table};
use crate::math;
use crate::rng::StandardNormal;
use crate::{Log, Result};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::TAU;

use super::{POTENTIAL_STD, Potential, logging, logging_density, online_value, reward};

/// Radii of the circles; group 0, with the high potentials, is the outer one.
const RADIUS: [f64; 2] = [1.0, 0.5];
/// Noise of the contexts, on both axes.
const NOISE: f64 = 0.05;
/// Standard deviation of the noise of rewards.
const REWARD_NOISE: f64 = 1.0;

/// Where the outlier stands.
pub const OUTLIER_CONTEXT: [f64; 2] = [0.6, 0.0];
/// The action of the outlier.
pub const OUTLIER_ACTION: f64 = 0.25;
/// The reward of the outlier.
pub const OUTLIER_REWARD: f64 = 3.0;

/// A log with one outlier, its last row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outlier {
    /// The two contexts.
    pub x: [Vec<f64>; 2],
    /// The action.
    pub action: Vec<f64>,
    /// What it earned, with noise.
    pub reward: Vec<f64>,
    /// Its density.
    pub propensity: Vec<f64>,
    /// The action that would have earned most. Hidden from learners.
    pub potential: Vec<f64>,
    /// The circle: 0 outer, 1 inner. Hidden from learners.
    pub group: Vec<u32>,
}

impl Outlier {
    /// Draws a log of `rows` rows, of which the last is the outlier.
    ///
    /// # Panics
    /// If `rows` is 0.
    pub fn simulate(rows: usize, seed: u64) -> Outlier {
        assert!(rows > 0, "a log with an outlier has at least one row");
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut log = Outlier::default();
        for _ in 1..rows {
            let group = rng.random_range(0..2u32);
            let (sin, cos) = math::sin_cos(TAU * rng.random::<f64>());
            let x = [cos, sin].map(|v| RADIUS[group as usize] * v + NOISE * rng.sample::<f64, _>(StandardNormal));
            let z: f64 = rng.sample(StandardNormal);
            let potential = (Potential::Circles.mean_potential(group) + POTENTIAL_STD * z).abs();
            let action = logging::draw(&mut rng);
            let e: f64 = rng.sample(StandardNormal);
            log.push(x, group, potential, action, reward(action, potential) + REWARD_NOISE * e);
        }
        log.push(OUTLIER_CONTEXT, 1, Potential::Circles.mean_potential(0), OUTLIER_ACTION, OUTLIER_REWARD);
        log
    }

    fn push(&mut self, x: [f64; 2], group: u32, potential: f64, action: f64, reward: f64) {
        self.x.iter_mut().zip(x).for_each(|(column, v)| column.push(v));
        self.group.push(group);
        self.potential.push(potential);
        self.action.push(action);
        self.reward.push(reward);
        self.propensity.push(logging_density(action));
    }

    /// The log as the library sees it.
    pub fn log(&self) -> Result<Log> {
        Log::builder()
            .context("x0", self.x[0].clone())
            .context("x1", self.x[1].clone())
            .action("action", self.action.clone())
            .reward("reward", self.reward.clone())
            .propensity("propensity", self.propensity.clone())
            .build()
    }

    /// The true value of a policy on the contexts of this log, outlier aside: the reward without its noise.
    pub fn online_value(&self, policy: &dyn crate::policy::TargetPolicy, seed: u64) -> f64 {
        let n = self.action.len() - 1;
        online_value(policy, [&self.x[0][..n], &self.x[1][..n]], &self.potential[..n], seed)
    }

    /// The log as a table, with the hidden columns.
    #[cfg(feature = "readers")]
    pub fn table(&self) -> Table {
        let group: Vec<f64> = self.group.iter().map(|g| f64::from(*g)).collect();
        let columns = [
            ("x0", &self.x[0]),
            ("x1", &self.x[1]),
            ("action", &self.action),
            ("reward", &self.reward),
            ("propensity", &self.propensity),
            ("potential", &self.potential),
            ("group", &group),
        ];
        Table { columns: columns.map(|(n, v)| (n.to_string(), Column::Numbers(v.clone()))).to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ln 0.25 is 4.166 standard deviations below the mean of ln a: (ln 2 - ln(1.25)/2 + ln 4) / sqrt(ln 1.25).
    #[test]
    fn the_outlier_is_unlikely() {
        let s = 1.25f64.ln().sqrt();
        let z = (2f64.ln() - 0.5 * s * s + 4f64.ln()) / s;
        let density = (-0.5 * z * z).exp() / (0.25 * s * TAU.sqrt());
        let log = Outlier::simulate(10, 1);
        assert!((log.propensity[9] / density - 1.0).abs() < 1e-12);
        assert!((5.7e-4..5.8e-4).contains(&density), "{density}");
        assert_eq!([log.x[0][9], log.x[1][9]], OUTLIER_CONTEXT);
    }

    /// Noise has mean 0 and std 1; five standard errors at 20,000 rows.
    #[test]
    fn moments_are_those_of_the_circles() {
        let n = 20_001;
        let log = Outlier::simulate(n, 2);
        let noise: Vec<f64> = (0..n - 1).map(|i| log.reward[i] - reward(log.action[i], log.potential[i])).collect();
        let mean = noise.iter().sum::<f64>() / 20_000.0;
        let square = noise.iter().map(|e| e * e).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 5.0 / 20_000f64.sqrt() && (square - 1.0).abs() < 5.0 * (2.0 / 20_000f64).sqrt());
        for g in 0..2u32 {
            let rows: Vec<usize> = (0..n - 1).filter(|&i| log.group[i] == g).collect();
            let radius = rows.iter().map(|&i| log.x[0][i].hypot(log.x[1][i])).sum::<f64>() / rows.len() as f64;
            assert!((radius - RADIUS[g as usize]).abs() < 0.01, "{radius}");
        }
    }
}
