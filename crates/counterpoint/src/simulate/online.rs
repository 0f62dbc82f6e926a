//! The bridge to the library: simulated logs as its types, and the true value of a policy.

use super::potentials::{Simulated, Split, reward};
use crate::data::Part;
#[cfg(feature = "readers")]
use crate::data::{Column, Table};
use crate::policy::{Family, TargetPolicy};
use crate::rng::{Purpose, stream};
use crate::{Log, Policy, Result};
use rayon::prelude::*;

/// Actions drawn for each context when a policy's value is measured, as in the paper.
pub const DRAWS: u64 = 100;

impl Simulated {
    /// The log as the library sees it, with its split.
    pub fn log(&self) -> Result<Log> {
        Log::builder()
            .context("x0", self.x[0].clone())
            .context("x1", self.x[1].clone())
            .action("action", self.action.clone())
            .reward("reward", self.reward.clone())
            .propensity("propensity", self.propensity.clone())
            .parts(
                self.split
                    .iter()
                    .map(|s| match s {
                        Split::Train => Part::Train,
                        Split::Valid => Part::Valid,
                        Split::Test => Part::Test,
                    })
                    .collect(),
            )
            .build()
    }

    /// The log as a table: the columns of the paper's files.
    #[cfg(feature = "readers")]
    pub fn table(&self) -> Table {
        let numbers = |name: &str, v: &[f64]| (name.to_string(), Column::Numbers(v.to_vec()));
        let groups: Vec<f64> = self.group.iter().map(|g| f64::from(*g)).collect();
        let split = self.split.iter().map(|s| s.to_string()).collect();
        Table {
            columns: vec![
                numbers("x0", &self.x[0]),
                numbers("x1", &self.x[1]),
                numbers("action", &self.action),
                numbers("reward", &self.reward),
                numbers("propensity", &self.propensity),
                ("split".into(), Column::Words(split)),
                numbers("potential", &self.potential),
                numbers("group", &groups),
            ],
        }
    }

    /// The true value of a policy on one part: the known reward averaged over [`DRAWS`] sampled actions a context.
    pub fn online_value(&self, policy: &dyn TargetPolicy, part: Split, seed: u64) -> f64 {
        let rows = self.rows(part);
        let columns = [&self.x[0][rows.clone()], &self.x[1][rows.clone()]];
        online_value(policy, columns, &self.potential[rows], seed)
    }
}

/// The known reward of a policy averaged over [`DRAWS`] sampled actions for each context. Seeded, and the same on any
/// number of threads.
pub fn online_value(policy: &dyn TargetPolicy, x: [&[f64]; 2], potential: &[f64], seed: u64) -> f64 {
    let totals: Vec<f64> = (0..potential.len())
        .collect::<Vec<_>>()
        .par_chunks(1024)
        .map(|rows| {
            let mut total = 0.0;
            for &i in rows {
                let sampler = policy.sampler(&[x[0][i], x[1][i]]); // what the draws share is computed once
                for draw in 0..DRAWS {
                    let a = sampler(&mut stream(seed, Purpose::Act, i as u64 * DRAWS + draw));
                    total += reward(a[0], potential[i]);
                }
            }
            total
        })
        .collect();
    totals.iter().sum::<f64>() / (potential.len() as f64 * DRAWS as f64)
}

/// The policy that logged the potentials: log-normal with mean 2 and std 1, whatever the context.
pub fn logging_policy() -> Result<Policy> {
    Policy::constant(Family::LogNormal, &["x0", "x1"], &["action"], &[super::LOGGING_MEAN], &[super::LOGGING_STD])
}
