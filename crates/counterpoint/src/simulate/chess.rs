//! A chess board of rewards, and a log that hardly leaves its lowest rows (Appendix C).
//!
//! One context x ~ U(0, 1), one action. The board has four columns of contexts and four rows of actions, each a unit high:
//!
//! ```text
//!   a          1  0  1  0        reward(x, a) = 1    on light fields with a in [2, 4)
//!   ^          0  1  0  1                       1/2  on light fields with a in [0, 2)
//!   |         1/2 0 1/2 0                       0    on dark fields and off the board
//!   0 -> x     0 1/2 0 1/2
//! ```
//!
//! Logging is log-normal with mean 1 and standard deviation 0.7, whatever the context: one action in fourteen reaches the upper
//! half. The best policy plays the middle of a light field there and earns 1. The paper prints neither board nor parameters;
//! these are ours.

#[cfg(feature = "readers")]
use crate::data::{Column, Table};
use crate::math;
use crate::policy::Family;
use crate::{Log, Policy, Result};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Fields a side.
const FIELDS: usize = 4;
/// Contexts at which a policy's value is summed up; a multiple of the fields.
const CONTEXTS: usize = 400;

/// Mean of the logged actions.
pub const CHESS_MEAN: f64 = 1.0;
/// Standard deviation of the logged actions.
pub const CHESS_STD: f64 = 0.7;

/// A log of the board.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chess {
    /// The context.
    pub x: Vec<f64>,
    /// The action.
    pub action: Vec<f64>,
    /// What it earned.
    pub reward: Vec<f64>,
    /// Its density.
    pub propensity: Vec<f64>,
}

/// What action `a` earns in context `x`.
///
/// ```
/// use counterpoint::simulate::chess_reward;
/// assert_eq!(chess_reward(0.1, 3.5), 1.0);
/// assert_eq!(chess_reward(0.1, 2.5), 0.0);
/// assert_eq!(chess_reward(0.1, 1.5), 0.5);
/// assert_eq!(chess_reward(0.3, 0.5), 0.5);
/// assert_eq!(chess_reward(0.1, 4.0), 0.0);
/// ```
pub fn chess_reward(x: f64, a: f64) -> f64 {
    let column = (x * FIELDS as f64).floor();
    let row = a.floor();
    let inside = |v: f64| (0.0..FIELDS as f64).contains(&v);
    if inside(column) && inside(row) { field(column as usize, row as usize) } else { 0.0 }
}

fn field(column: usize, row: usize) -> f64 {
    match ((column + row) % 2, row) {
        (0, _) => 0.0,
        (_, 0 | 1) => 0.5,
        _ => 1.0,
    }
}

/// The true mean reward of a policy, exactly but for 400 contexts in place of all: masses of its density on the fields.
pub fn chess_value(policy: &Policy) -> f64 {
    let mut scorer = policy.scorer();
    let std = scorer.std()[0];
    let mut mean = [0.0];
    let mut total = 0.0;
    for k in 0..CONTEXTS {
        let x = (k as f64 + 0.5) / CONTEXTS as f64;
        scorer.mean(&[x], &mut mean);
        total += expected(policy.family, mean[0], std, k * FIELDS / CONTEXTS);
    }
    total / CONTEXTS as f64
}

/// The mean reward in a column of the board.
fn expected(family: Family, mean: f64, std: f64, column: usize) -> f64 {
    let below = |a: usize| family.cdf(a as f64, mean, std).value;
    (0..FIELDS).map(|row| field(column, row) * (below(row + 1) - below(row))).sum()
}

impl Chess {
    /// Draws a log; a shorter one is the beginning of a longer one.
    pub fn simulate(rows: usize, seed: u64) -> Chess {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut log = Chess::default();
        for _ in 0..rows {
            let x: f64 = rng.random();
            let a = Family::LogNormal.sample(CHESS_MEAN, CHESS_STD, &mut rng);
            log.x.push(x);
            log.action.push(a);
            log.reward.push(chess_reward(x, a));
            log.propensity.push(math::exp(Family::LogNormal.log_density(a, CHESS_MEAN, CHESS_STD).value));
        }
        log
    }

    /// The log as the library sees it.
    pub fn log(&self) -> Result<Log> {
        Log::builder()
            .context("x0", self.x.clone())
            .action("action", self.action.clone())
            .reward("reward", self.reward.clone())
            .propensity("propensity", self.propensity.clone())
            .build()
    }

    /// The log as a table.
    #[cfg(feature = "readers")]
    pub fn table(&self) -> Table {
        let columns =
            [("x0", &self.x), ("action", &self.action), ("reward", &self.reward), ("propensity", &self.propensity)];
        Table { columns: columns.map(|(n, v)| (n.to_string(), Column::Numbers(v.clone()))).to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constant(family: Family, mean: f64, std: f64) -> Policy {
        Policy::constant(family, &["x0"], &["action"], &[mean], &[std]).expect("a policy")
    }

    /// A sharp constant policy is on a light field in every other column.
    #[test]
    fn values_by_hand() {
        assert!((chess_value(&constant(Family::Normal, 3.5, 1e-3)) - 0.5).abs() < 1e-12);
        assert!((chess_value(&constant(Family::Normal, 0.5, 1e-3)) - 0.25).abs() < 1e-12);
        assert!(chess_value(&constant(Family::Normal, 9.0, 1e-3)).abs() < 1e-12);
    }

    /// Rewards lie in [0, 1]: their std is below 1/2, and five standard errors at 40,000 rows are 0.0125.
    #[test]
    fn the_log_earns_the_value_of_its_policy() {
        let log = Chess::simulate(40_000, 3);
        let earned = log.reward.iter().sum::<f64>() / 40_000.0;
        let value = chess_value(&constant(Family::LogNormal, CHESS_MEAN, CHESS_STD));
        assert!((earned - value).abs() < 0.0125, "{earned} {value}");
        let high = log.action.iter().filter(|a| **a >= 2.0).count() as f64 / 40_000.0;
        let above = 1.0 - Family::LogNormal.cdf(2.0, CHESS_MEAN, CHESS_STD).value;
        assert!((high - above).abs() < 0.007 && (above - 1.0 / 14.0).abs() < 0.01, "{high} {above}");
    }
}
