//! What any action would have earned on the test part of a data set, and so what a policy is worth.

use crate::paper::statistics::{mean, std_error};
use counterpoint::policy::{SavedPolicy, TargetPolicy};
use counterpoint::simulate::DRAWS;
use counterpoint::{Log, Policy};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rayon::prelude::*;

/// What any action would earn, context by context.
#[derive(Clone, Debug)]
pub struct Truth {
    /// Contexts, row-major.
    pub(super) x: Vec<f64>,
    /// Contexts per row.
    pub(super) d: usize,
    /// What is hidden from learners, one number per row: the potential, the expert's dose, the mean amount of a rewarded bid.
    pub hidden: Vec<f64>,
    /// The mean reward of an action.
    pub(super) reward: Reward,
    /// Actions to draw per row.
    pub(super) draws: u64,
}

/// The mean reward of an action, given what is hidden in a row and the row's contexts.
pub(super) type Reward = fn(f64, f64, &[f64]) -> f64;

impl Truth {
    /// The truth of some rows of a log, given the hidden column of the whole of it.
    pub(super) fn of(rows: &Log, hidden: &[f64], reward: Reward) -> Self {
        let (x, _) = rows.thin(rows.rows());
        let hidden = rows.blocks().iter().flat_map(|b| &b.ids).map(|i| hidden[*i as usize]).collect();
        Truth { x, d: rows.d(), hidden, reward, draws: DRAWS }
    }

    /// The contexts of row i.
    pub fn context(&self, i: usize) -> &[f64] {
        &self.x[i * self.d..(i + 1) * self.d]
    }

    /// What an action earns in row i, on average.
    pub fn reward(&self, i: usize, action: f64) -> f64 {
        (self.reward)(action, self.hidden[i], self.context(i))
    }

    /// All actions a policy samples in a row become their mean reward there: one number per row.
    pub fn rewards(&self, policy: &Policy, seed: u64) -> Vec<f64> {
        self.each(|rows| {
            let mut scorer = policy.scorer();
            rows.iter().map(|&i| self.drawn(i, |row| scorer.sample(self.context(i), seed, row).0[0]).0).collect()
        })
    }

    /// The true value of a policy: the mean of its [rewards](Self::rewards), with the standard error over contexts.
    pub fn value(&self, policy: &Policy, seed: u64) -> (f64, f64) {
        figures(&self.rewards(policy, seed))
    }

    /// The true value with the Monte-Carlo error of its draws, the contexts being given, as the paper's error bars are.
    ///
    /// ```text
    /// value = mean_i mean_k r(a_ik, t_i),   error = sqrt(sum_i s_i^2 / draws) / n
    /// ```
    pub fn value_on_these(&self, policy: &Policy, seed: u64) -> (f64, f64) {
        let each: Vec<(f64, f64)> = self.each(|rows| {
            let mut scorer = policy.scorer();
            rows.iter().map(|&i| self.drawn(i, |row| scorer.sample(self.context(i), seed, row).0[0])).collect()
        });
        let n = each.len() as f64;
        let sum = |f: fn(&(f64, f64)) -> f64| each.iter().map(f).sum::<f64>();
        (sum(|e| e.0) / n, sum(|e| e.1).sqrt() / n)
    }

    /// The true value of a policy's mean action.
    pub fn mean_value(&self, policy: &Policy) -> (f64, f64) {
        figures(&self.each(|rows| {
            let mut scorer = policy.scorer();
            let mut mean = [0.0];
            let mut value = |i: usize| {
                scorer.mean(self.context(i), &mut mean);
                self.reward(i, mean[0])
            };
            rows.iter().map(|&i| value(i)).collect()
        }))
    }

    /// The true value of a rival's policy.
    pub fn rival_value(&self, policy: &SavedPolicy, seed: u64) -> (f64, f64) {
        figures(&self.each(|rows| {
            let value = |i: usize| {
                let sampler = policy.sampler(self.context(i));
                self.drawn(i, |row| {
                    let mut rng = ChaCha8Rng::seed_from_u64(seed);
                    rng.set_stream(row);
                    sampler(&mut rng)[0]
                })
                .0
            };
            rows.iter().map(|&i| value(i)).collect()
        }))
    }

    /// The mean reward of row i over draws, and the variance of that mean.
    fn drawn(&self, i: usize, mut draw: impl FnMut(u64) -> f64) -> (f64, f64) {
        let (first, n) = (i as u64 * self.draws, self.draws as f64);
        let (mut sum, mut squares) = (0.0, 0.0);
        for row in first..first + self.draws {
            let r = self.reward(i, draw(row));
            sum += r;
            squares += r * r;
        }
        (sum / n, (squares - sum * sum / n).max(0.0) / ((n - 1.0) * n))
    }

    /// Figures of all rows, in order, whatever the number of threads.
    pub(in crate::paper) fn each<T: Send>(&self, rows: impl Fn(&[usize]) -> Vec<T> + Sync + Send) -> Vec<T> {
        let all: Vec<usize> = (0..self.hidden.len()).collect();
        all.par_chunks(1024).flat_map_iter(rows).collect()
    }
}

/// Mean and standard error.
pub(in crate::paper) fn figures(v: &[f64]) -> (f64, f64) {
    (mean(v), std_error(v))
}
