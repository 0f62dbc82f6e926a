//! `counterpoint-lab warfarin`: what `learn` or `select` makes of three quarters of the patients, on the fourth.

use crate::say;
use clap::Args;
use counterpoint::certify::Gate;
use counterpoint::learn::Learner;
use counterpoint::policy::TargetPolicy;
use counterpoint::select::{Grid, Memory};
use counterpoint::{Engine, Recipe, Result, select};
use counterpoint_lab::{Warfarin, warfarin_cost};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::path::PathBuf;

/// Quarters of the patients, each of which is the test part once.
const QUARTERS: usize = 4;
/// Sampled doses a patient.
const DRAWS: usize = 20;

/// Learn on three random quarters of the patients and print the true reward on the fourth, for each of the four.
///
/// Of the three quarters two are the train part and one is the valid part; the fourth is not read before the value is computed from the
/// known right doses. Rewards are those of sampled doses, the policy's noise included.
#[derive(Args)]
#[command(after_help = "Example:\n  counterpoint-lab warfarin warfarin.parquet --grid auto")]
pub(crate) struct Patients {
    /// The file of the experiment, which is not part of this repository.
    file: PathBuf,
    /// Seed of the quarters and of learning.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Change one field of the recipe of `learn`; a line of TOML. May be repeated.
    #[arg(long, value_name = "FIELD=VALUE")]
    set: Vec<String>,
    /// `select` from a grid by name or file instead of `learn`.
    #[arg(long, value_name = "GRID")]
    grid: Option<String>,
    /// Threads; 0 means one per core.
    #[arg(long, default_value_t = 0, value_name = "N")]
    threads: usize,
}

impl Patients {
    pub(crate) fn run(self) -> Result<()> {
        let engine = Engine::new(self.threads)?;
        let grid = self.grid.as_deref().map(Grid::named_or_file).transpose()?;
        let recipe = Recipe { seed: self.seed, ..Recipe::from_toml(&self.set.join("\n"))? };
        let all = Warfarin::load(&self.file)?;
        let mut order: Vec<usize> = (0..all.dose.len()).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        (1..order.len()).rev().for_each(|i| order.swap(i, rng.random_range(0..=i)));
        let quarter = |k: usize| -> Vec<usize> { order.iter().copied().skip(k % QUARTERS).step_by(QUARTERS).collect() };
        let mut values = Vec::new();
        for k in 0..QUARTERS {
            let train = all.of(&[quarter(k + 1), quarter(k + 2)].concat()).log()?;
            let valid = all.of(&quarter(k + 3)).log()?;
            let rows = (train.on(&engine), valid.on(&engine));
            let policy = match &grid {
                Some(grid) => select(&rows, grid, self.seed, Gate::default(), &Memory::none())?.policy,
                None => Learner::new(&recipe).learn_from(&rows)?.policy,
            };
            let test = all.of(&quarter(k));
            values.push(value(&test, &policy, self.seed));
            say::result(format_args!("quarter {k}: {:.3} ({} patients)", values[k], test.dose.len()));
        }
        say::result(format_args!("mean {:.3}, the log {:.3}", values.iter().sum::<f64>() / 4.0, all.logged_value()));
        Ok(())
    }
}

/// The true mean reward of a policy's doses.
fn value(patients: &Warfarin, policy: &dyn TargetPolicy, seed: u64) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut total = 0.0;
    for (i, right) in patients.dose.iter().enumerate() {
        let x = patients.context(i);
        let sampler = policy.sampler(&x);
        total -= (0..DRAWS).map(|_| warfarin_cost(sampler(&mut rng)[0], *right)).sum::<f64>();
    }
    total / (patients.dose.len() * DRAWS) as f64
}
