//! A twin of CoCoA, the paper's log of real-time bids, which cannot be shipped: the same summary, at any number of rows.
//!
//! Table 1 of the paper fixes four figures, and the twin has them exactly:
//!
//! ```text
//! E[reward] = 11.37,   V[reward] = 9455,   V[action] = 0.01,   P(reward != 0) = 0.07,   3 contexts
//! ```
//!
//! The rest is ours. A bid earns nothing, or, with probability P(x, a), a log-normal amount. Contexts: x0 ~ N(0, 1) moves the
//! amount; x1 ~ U(0, 1) moves the logged bid and the best bid; x2 ~ U(0, 1) moves nothing.
//!
//! ```text
//! action ~ LogNormal(mean 1 + 0.05 z1, std sqrt(0.0075)),      z1 = sqrt(12) (x1 - 1/2)
//! P(x, a) = P0 exp(-(a - best(x1))^2 / (2 0.25^2)),            best(x1) = 1.1 + 0.1 z1,   P0 such that E P = 0.07
//! ln amount ~ N(m + x0 / 2, S2 - 1/4),                         S2 = ln(E amount^2 / (E amount)^2)
//! ```
//!
//! Amounts have mean 162.4 and standard deviation 332: a few rows in a thousand decide, which is the point.

#[cfg(feature = "readers")]
use crate::data::{Column, Table};
use crate::math;
use crate::policy::Family;
use crate::rng::StandardNormal;
use crate::{Log, Policy, Result};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use std::sync::LazyLock;

/// Mean reward.
pub const COCOA_REWARD: f64 = 11.37;
/// Variance of the reward.
pub const COCOA_VARIANCE: f64 = 9455.0;
/// Variance of the action.
pub const COCOA_ACTION_VARIANCE: f64 = 0.01;
/// Share of rows with a reward.
pub const COCOA_REWARDED: f64 = 0.07;

/// Spread of the mean logged bid over contexts.
const MEAN_SPREAD: f64 = 0.05;
/// How far from the best bid the chance of a reward falls to exp(-1/2).
const WIDTH: f64 = 0.25;
/// How x0 moves the logarithm of the amount.
const AMOUNT_SLOPE: f64 = 0.5;
/// Rows that share a random stream.
const BLOCK: usize = 1024;

/// A log of the twin, column by column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cocoa {
    /// The three contexts.
    pub x: [Vec<f64>; 3],
    /// The bid.
    pub action: Vec<f64>,
    /// What it earned.
    pub reward: Vec<f64>,
    /// The density of the bid.
    pub propensity: Vec<f64>,
}

impl Cocoa {
    /// Draws a log. Same rows and seed, same bits; a shorter log is the beginning of a longer one.
    ///
    /// ```
    /// use counterpoint::simulate::Cocoa;
    /// let log = Cocoa::simulate(10_000, 1);
    /// let rewarded = log.reward.iter().filter(|r| **r != 0.0).count();
    /// assert!((600..800).contains(&rewarded));
    /// ```
    pub fn simulate(rows: usize, seed: u64) -> Cocoa {
        let blocks: Vec<Cocoa> = (0..rows.div_ceil(BLOCK))
            .into_par_iter()
            .map(|k| Cocoa::block(seed, k as u64, BLOCK.min(rows - k * BLOCK)))
            .collect();
        let mut log = Cocoa::default();
        for b in blocks {
            log.x.iter_mut().zip(b.x).for_each(|(to, from)| to.extend(from));
            log.action.extend(b.action);
            log.reward.extend(b.reward);
            log.propensity.extend(b.propensity);
        }
        log
    }

    fn block(seed: u64, index: u64, rows: usize) -> Cocoa {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(index);
        let mut log = Cocoa::default();
        let (m, s2) = amount();
        let s = (s2 - AMOUNT_SLOPE * AMOUNT_SLOPE).sqrt();
        for _ in 0..rows {
            let x0: f64 = rng.sample(StandardNormal);
            let (x1, x2): (f64, f64) = (rng.random(), rng.random());
            let mean = cocoa_logging_mean(x1);
            let a = Family::LogNormal.sample(mean, cocoa_logging_std(), &mut rng);
            let earned = rng.random::<f64>() < cocoa_chance(x1, a);
            let amount = math::exp(m + AMOUNT_SLOPE * x0 + s * rng.sample::<f64, _>(StandardNormal));
            log.x.iter_mut().zip([x0, x1, x2]).for_each(|(c, v)| c.push(v));
            log.action.push(a);
            log.reward.push(if earned { amount } else { 0.0 });
            log.propensity.push(math::exp(Family::LogNormal.log_density(a, mean, cocoa_logging_std()).value));
        }
        log
    }

    /// The log as the library sees it.
    pub fn log(&self) -> Result<Log> {
        let [x0, x1, x2] = self.x.clone();
        Log::builder()
            .context("x0", x0)
            .context("x1", x1)
            .context("x2", x2)
            .action("action", self.action.clone())
            .reward("reward", self.reward.clone())
            .propensity("propensity", self.propensity.clone())
            .build()
    }

    /// The log as a table.
    #[cfg(feature = "readers")]
    pub fn table(&self) -> Table {
        let columns = [
            ("x0", &self.x[0]),
            ("x1", &self.x[1]),
            ("x2", &self.x[2]),
            ("action", &self.action),
            ("reward", &self.reward),
            ("propensity", &self.propensity),
        ];
        Table { columns: columns.map(|(n, v)| (n.to_string(), Column::Numbers(v.clone()))).to_vec() }
    }
}

/// Mean of the logged bid: 1 + 0.05 z1.
pub fn cocoa_logging_mean(x1: f64) -> f64 {
    1.0 + MEAN_SPREAD * standard(x1)
}

/// Standard deviation of the logged bid given the contexts, so that its variance over all is 0.01.
pub fn cocoa_logging_std() -> f64 {
    (COCOA_ACTION_VARIANCE - MEAN_SPREAD * MEAN_SPREAD).sqrt()
}

/// The bid with the best chance of a reward: 1.1 + 0.1 z1.
pub fn cocoa_best(x1: f64) -> f64 {
    1.1 + 0.1 * standard(x1)
}

/// P(reward != 0 | x1, a).
pub fn cocoa_chance(x1: f64, a: f64) -> f64 {
    static TOP: LazyLock<f64> =
        LazyLock::new(|| COCOA_REWARDED / average(&cocoa_logging_mean, cocoa_logging_std(), &bell));
    *TOP * bell(x1, a)
}

/// E[amount | x0]: what a rewarded bid earns on average.
pub fn cocoa_amount(x0: f64) -> f64 {
    let (m, s2) = amount();
    math::exp(m + AMOUNT_SLOPE * x0 + 0.5 * (s2 - AMOUNT_SLOPE * AMOUNT_SLOPE))
}

/// The true mean reward of a log-normal policy with this mean (of x1) and standard deviation.
///
/// ```
/// use counterpoint::simulate::{cocoa_logging_mean, cocoa_logging_std, cocoa_value};
/// assert!((cocoa_value(&cocoa_logging_mean, cocoa_logging_std()) - 11.37).abs() < 1e-9);
/// ```
pub fn cocoa_value(mean: &dyn Fn(f64) -> f64, std: f64) -> f64 {
    COCOA_REWARD / COCOA_REWARDED * average(mean, std, &cocoa_chance)
}

/// The true value of any policy, by `draws` seeded actions for each of as many contexts.
pub fn cocoa_online_value(policy: &Policy, contexts: &Cocoa, seed: u64) -> f64 {
    let mut scorer = policy.scorer();
    let [x0, x1, x2] = &contexts.x;
    let total: f64 =
        (0..x1.len()).map(|i| cocoa_chance(x1[i], scorer.sample(&[x0[i], x1[i], x2[i]], seed, i as u64).0[0])).sum();
    COCOA_REWARD / COCOA_REWARDED * total / x1.len() as f64
}

fn standard(x1: f64) -> f64 {
    12f64.sqrt() * (x1 - 0.5)
}

fn bell(x1: f64, a: f64) -> f64 {
    let u = (a - cocoa_best(x1)) / WIDTH;
    math::exp(-0.5 * u * u)
}

/// Mean m (of the logarithm, at x0 = 0) and total variance S2 of ln amount.
fn amount() -> (f64, f64) {
    let mean = COCOA_REWARD / COCOA_REWARDED;
    let square = (COCOA_VARIANCE + COCOA_REWARD * COCOA_REWARD) / COCOA_REWARDED;
    let s2 = math::ln(square / (mean * mean));
    (math::ln(mean) - 0.5 * s2, s2)
}

/// E f(x1, a) with a ~ LogNormal(mean(x1), std): midpoints in x1, trapezoids in the standard-normal position of a.
fn average(mean: &dyn Fn(f64) -> f64, std: f64, f: &dyn Fn(f64, f64) -> f64) -> f64 {
    let (cells, reach, h) = (200, 8.0, 0.1);
    let steps = (2.0 * reach / h) as i32;
    let mut total = 0.0;
    for k in 0..cells {
        let x1 = (f64::from(k) + 0.5) / f64::from(cells);
        for j in 0..=steps {
            let z = f64::from(j) * h - reach;
            let a = Family::LogNormal.at(z, mean(x1), std).value;
            total += h * math::exp(-0.5 * z * z) / std::f64::consts::TAU.sqrt() * f(x1, a);
        }
    }
    total / f64::from(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five standard errors at 400,000 rows. Those of the variances follow from the fourth moments: that of the reward
    /// is dominated by amounts, E amount^4 = mean^4 e^(6 S2).
    #[test]
    fn the_twin_has_the_summary_of_the_original() {
        let n = 400_000;
        let log = Cocoa::simulate(n, 3);
        let root = (n as f64).sqrt();
        let moments = |v: &[f64]| {
            let mean = v.iter().sum::<f64>() / n as f64;
            (mean, v.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / n as f64)
        };
        let (reward, variance) = moments(&log.reward);
        let (action, spread) = moments(&log.action);
        let rewarded = log.reward.iter().filter(|r| **r != 0.0).count() as f64 / n as f64;
        let fourth = COCOA_REWARDED * (COCOA_REWARD / COCOA_REWARDED).powi(4) * (6.0 * amount().1).exp();
        assert!((reward - COCOA_REWARD).abs() < 5.0 * COCOA_VARIANCE.sqrt() / root);
        assert!((variance - COCOA_VARIANCE).abs() < 5.0 * fourth.sqrt() / root, "{variance}");
        assert!((action - 1.0).abs() < 5.0 * 0.1 / root);
        assert!((spread - 0.01).abs() < 5.0 * 0.01 * 1.6 / root, "{spread}");
        assert!((rewarded - 0.07).abs() < 5.0 * (0.07f64 * 0.93).sqrt() / root);
        assert!((0..n).all(|i| cocoa_chance(log.x[1][i], log.action[i]) < 1.0));
    }

    #[test]
    fn a_shorter_log_is_the_beginning_of_a_longer_one() {
        let (short, long) = (Cocoa::simulate(1500, 5), Cocoa::simulate(4000, 5));
        assert_eq!(short.reward, long.reward[..1500]);
        assert_eq!(short.propensity, long.propensity[..1500]);
    }
}
