//! How good is a recipe on the paper's three synthetic sets?
//!
//! `cargo run --release -p counterpoint-lab --example potentials -- [--data DIR] [--seeds N] [--set field=value]... [--grid NAME]`
//! learns with the recipe on the train part of each set and prints the true value of the policy on the test contexts
//! (100 sampled actions a context, known reward). With `--grid` it lets `select` choose among the recipes of a grid instead, and
//! certifies what was chosen. With `--data` the sets are the files `noisymoons.parquet`,
//! `noisycircles.parquet` and `anisotropic.parquet` of that directory, else they are simulated.

#![allow(clippy::print_stdout)]

use counterpoint::certify::{Terms, certify};
use counterpoint::{Engine, Estimator, Gate, Grid, Memory, Recipe, Result, evaluate, learn, select};
use counterpoint_lab::Potential;
use counterpoint_lab::paper::{World, drawn_potential, read_potential};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (mut dir, mut seeds, mut toml, mut grid) = (None, 1u64, String::new(), None);
    while let Some(a) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        match a.as_str() {
            "--data" => dir = Some(value),
            "--grid" => grid = Some(Grid::named_or_file(&value)?),
            "--seeds" => seeds = value.parse().unwrap_or(1),
            _ => toml += &format!("{value}\n"),
        }
    }
    let engine = Engine::new(0)?;
    for kind in Potential::ALL {
        for seed in 0..seeds {
            let world = match &dir {
                Some(dir) => read_potential(Path::new(dir), kind, 1)?,
                None => drawn_potential(kind, 30_000, seed + 1)?,
            };
            if let Some(grid) = &grid {
                println!("{kind:>12} seed {seed}: {}", selected(&engine, &world, grid, seed)?);
                continue;
            }
            let recipe = Recipe { seed, ..Recipe::from_toml(&toml)? };
            let parts = &world.parts;
            let clock = Instant::now();
            let learned = learn(&engine, &parts.train, &recipe, &|_| ControlFlow::Continue(()))?;
            let seconds = clock.elapsed().as_secs_f64();
            let passes: usize = learned.starts.iter().map(|s| s.evaluations).sum();
            let valid = evaluate(&engine, &parts.valid, &learned.policy, &Estimator::SNIPS, None)?;
            let (value, _) = world.truth.value(&learned.policy, 1);
            println!(
                "{kind:>12} seed {seed}: test reward {value:.4} | objective {:.4}, std {:.3}, valid SNIPS {:.4} ± {:.4}, n_eff/n {:.3}, mean weight {:.3} | {passes} passes, {seconds:.1} s",
                -learned.objective,
                learned.policy.std()[0],
                -valid.cost,
                valid.std_error,
                valid.effective / valid.rows,
                valid.mean_weight,
            );
        }
    }
    Ok(())
}

/// What `select` picks, what it is worth, and what a certificate says of it.
fn selected(engine: &Engine, world: &World, grid: &Grid, seed: u64) -> Result<String> {
    let clock = Instant::now();
    let chosen = select(engine, &world.parts, grid, seed, Gate::default(), &Memory::none())?;
    let seconds = clock.elapsed().as_secs_f64();
    let terms = Terms { seed, ..Terms::default() };
    let c = certify(engine, &chosen.policy, &world.parts.valid, &world.parts.test, &terms)?;
    let gain = c.to_user(counterpoint::data::Outcome::Reward).difference;
    Ok(format!(
        "test reward {:.4} | {:?}, gain {:.4} in [{:.4}, {:.4}], {} recipes, {seconds:.1} s",
        world.truth.value(&chosen.policy, 1).0,
        c.verdict,
        gain.estimate,
        gain.lower,
        gain.upper,
        chosen.leaderboard.len(),
    ))
}
