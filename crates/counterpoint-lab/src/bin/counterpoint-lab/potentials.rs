//! `counterpoint-lab potentials`: how good is a recipe on the paper's three synthetic sets?

use crate::say;
use clap::Args;
use counterpoint::certify::{Gate, Terms, certify};
use counterpoint::learn::Learner;
use counterpoint::select::{Grid, Memory};
use counterpoint::{Engine, Estimator, Recipe, Result, evaluate, select};
use counterpoint_lab::Potential;
use counterpoint_lab::paper::{Dataset, drawn_potential, read_potential};
use std::path::PathBuf;
use std::time::Instant;

/// Learn with a recipe on the train part of each synthetic set, and print the true value of the policy.
///
/// The value is that on the test contexts: 100 sampled actions per context, known reward. With --grid, `select` chooses among
/// the recipes of a grid instead, and what was chosen is certified.
#[derive(Args)]
#[command(after_help = "Example:\n  counterpoint-lab potentials --set cap=60 --set std_floor=0.1 --seeds 3")]
pub(crate) struct Potentials {
    /// Directory with noisymoons.parquet, noisycircles.parquet and anisotropic.parquet; without it the sets are simulated.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// How many seeds.
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Change one field of the default recipe; a line of TOML. May be repeated.
    #[arg(long, value_name = "FIELD=VALUE")]
    set: Vec<String>,
    /// A grid by name or file; `select` chooses among its recipes.
    #[arg(long, value_name = "GRID")]
    grid: Option<String>,
}

impl Potentials {
    pub(crate) fn run(self) -> Result<()> {
        let engine = Engine::new(0)?;
        let grid = self.grid.as_deref().map(Grid::named_or_file).transpose()?;
        let recipe = Recipe::from_toml(&self.set.join("\n"))?;
        for kind in Potential::ALL {
            for seed in 0..self.seeds {
                let set = match &self.data {
                    Some(dir) => read_potential(dir, kind, 1)?,
                    None => drawn_potential(kind, 30_000, seed + 1)?,
                };
                let said = match &grid {
                    Some(grid) => selected(&engine, &set, grid, seed)?,
                    None => learned(&engine, &set, &Recipe { seed, ..recipe.clone() })?,
                };
                say::result(format_args!("{kind:>12} seed {seed}: {said}"));
            }
        }
        Ok(())
    }
}

/// What a recipe learns, and what it is worth.
fn learned(engine: &Engine, set: &Dataset, recipe: &Recipe) -> Result<String> {
    let parts = &set.parts;
    let clock = Instant::now();
    let rows = (parts.train.on(engine), parts.valid.on(engine));
    let learned = Learner::new(recipe).learn_from(&rows)?;
    let seconds = clock.elapsed().as_secs_f64();
    let passes: usize = learned.starts.iter().map(|s| s.evaluations).sum();
    let valid = evaluate(&parts.valid.on(engine), &learned.policy, &Estimator::SNIPS)?;
    Ok(format!(
        "test reward {:.4} | objective {:.4}, valid SNIPS {:.4} ± {:.4}, n_eff/n {:.3}, mean weight {:.3} | {passes} passes, {seconds:.1} s",
        set.truth.rival_value(&learned.policy, 1).0,
        learned.objective,
        valid.estimate,
        valid.std_error,
        valid.effective / valid.rows,
        valid.mean_weight,
    ))
}

/// What `select` picks, what it is worth, and what a certificate says of it.
fn selected(engine: &Engine, set: &Dataset, grid: &Grid, seed: u64) -> Result<String> {
    let clock = Instant::now();
    let chosen = select(
        &(set.parts.train.on(engine), set.parts.valid.on(engine)),
        grid,
        seed,
        Gate::default(),
        &Memory::none(),
    )?;
    let seconds = clock.elapsed().as_secs_f64();
    let terms = Terms { seed, ..Terms::default() };
    let c = certify(&chosen.policy, &set.parts.valid.on(engine), &set.parts.test.on(engine), &terms)?;
    let gain = c.difference;
    Ok(format!(
        "test reward {:.4} | {:?}, gain {:.4} in [{:.4}, {:.4}], {} recipes, {seconds:.1} s",
        set.truth.rival_value(&chosen.policy, 1).0,
        c.verdict,
        gain.estimate,
        gain.lower,
        gain.upper,
        chosen.leaderboard.len(),
    ))
}
