//! How good is a recipe on the paper's three synthetic sets?
//!
//! `cargo run --release -p counterpoint-lab --example potentials -- [--data DIR] [--seeds N] [--set field=value]...`
//! learns with the recipe on the train part of each set and prints the true value of the policy on the test contexts
//! (100 sampled actions a context, known reward). With `--data` the sets are the files `noisymoons.parquet`,
//! `noisycircles.parquet` and `anisotropic.parquet` of that directory, else they are simulated.

#![allow(clippy::print_stdout)]

use counterpoint::data::{Column, Outcome, Roles, Table};
use counterpoint::{Engine, Estimator, Log, Recipe, Result, SplitRule, evaluate, learn};
use counterpoint_lab::{Potential, Split, online_value};
use std::ops::ControlFlow;
use std::time::Instant;

struct Set {
    log: Log,
    test: [Vec<f64>; 2],
    potential: Vec<f64>,
}

fn simulated(kind: Potential, seed: u64) -> Result<Set> {
    let s = kind.simulate(30_000, seed);
    let rows = s.rows(Split::Test);
    let test = [s.x[0][rows.clone()].to_vec(), s.x[1][rows.clone()].to_vec()];
    Ok(Set { log: s.log()?, test, potential: s.potential[rows].to_vec() })
}

fn read(dir: &str, kind: Potential) -> Result<Set> {
    let file = match kind {
        Potential::Moons => "noisymoons",
        Potential::Circles => "noisycircles",
        Potential::Anisotropic => "anisotropic",
    };
    let names = ["x0", "x1", "action", "reward", "propensity", "split", "potential"].map(String::from);
    let table = Table::read(format!("{dir}/{file}.parquet"), &names)?;
    let Some((_, Column::Words(split))) = table.columns.iter().find(|(n, _)| n == "split") else {
        return Err(counterpoint::Error::data("there is no split column of words"));
    };
    let keep: Vec<usize> = (0..table.rows()).filter(|&i| split[i] == "test").collect();
    let pick = |name: &str| -> Result<Vec<f64>> {
        let v = table.numbers(name)?;
        Ok(keep.iter().map(|&i| v[i]).collect())
    };
    let (test, potential) = ([pick("x0")?, pick("x1")?], pick("potential")?);
    let roles = Roles {
        contexts: vec!["x0".into(), "x1".into()],
        actions: vec!["action".into()],
        outcome: Some(("reward".into(), Outcome::Reward)),
        propensity: "propensity".into(),
        weight: None,
        split: Some("split".into()),
    };
    Ok(Set { log: table.into_log(&roles)?, test, potential })
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (mut dir, mut seeds, mut toml) = (None, 1u64, String::new());
    while let Some(a) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        match a.as_str() {
            "--data" => dir = Some(value),
            "--seeds" => seeds = value.parse().unwrap_or(1),
            _ => toml += &format!("{value}\n"),
        }
    }
    let engine = Engine::new(0)?;
    for kind in Potential::ALL {
        for seed in 0..seeds {
            let set = match &dir {
                Some(dir) => read(dir, kind)?,
                None => simulated(kind, seed + 1)?,
            };
            let recipe = Recipe { seed, ..Recipe::from_toml(&toml)? };
            let parts = set.log.split(SplitRule::Column)?;
            let clock = Instant::now();
            let learned = learn(&engine, &parts.train, &recipe, &|_| ControlFlow::Continue(()))?;
            let seconds = clock.elapsed().as_secs_f64();
            let passes: usize = learned.starts.iter().map(|s| s.evaluations).sum();
            let valid = evaluate(&engine, &parts.valid, &learned.policy, &Estimator::SNIPS, None)?;
            let value = online_value(&learned.policy, [&set.test[0], &set.test[1]], &set.potential, 1);
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
