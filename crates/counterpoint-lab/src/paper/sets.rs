//! The three synthetic sets: read where the files are, drawn where they are not.

use super::Ask;
use crate::{Potential, Split, online_value};
use counterpoint::data::{Parts, Table};
use counterpoint::{Log, Part, Policy, Result, SplitRule};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Rows of a set in a quick run, of 30,000.
const QUICK: usize = 3_000;

/// A set: the parts of its log, and the truth of its test rows.
pub(super) struct Set {
    /// Which.
    pub kind: Potential,
    /// Where it is from, for names of remembered work.
    pub source: &'static str,
    /// Train, valid and test.
    pub parts: Parts,
    /// The test contexts.
    pub x: [Vec<f64>; 2],
    /// Their potentials.
    pub potential: Vec<f64>,
}

impl Set {
    /// The true value of a policy on the test contexts.
    pub(super) fn online(&self, policy: &Policy) -> f64 {
        online_value(policy, [&self.x[0], &self.x[1]], &self.potential, 1)
    }
}

/// All three; in a quick run a tenth of each.
pub(super) fn sets(ask: &Ask) -> Result<Vec<Set>> {
    Potential::ALL.iter().map(|kind| one(ask, *kind)).collect()
}

fn one(ask: &Ask, kind: Potential) -> Result<Set> {
    let Some(dir) = &ask.data else {
        let drawn = kind.simulate(ask.by_effort(QUICK, 30_000), 1);
        let test = drawn.rows(Split::Test);
        return Ok(Set {
            kind,
            source: "drawn",
            parts: drawn.log()?.into_parts(SplitRule::Column)?,
            x: [0, 1].map(|k| drawn.x[k][test.clone()].to_vec()),
            potential: drawn.potential[test].to_vec(),
        });
    };
    let file = match kind {
        Potential::Moons => "noisymoons",
        Potential::Circles => "noisycircles",
        Potential::Anisotropic => "anisotropic",
    };
    let names = ["x0", "x1", "action", "reward", "propensity", "split", "potential"].map(String::from);
    let table = Table::read(dir.join(format!("{file}.parquet")), &names)?;
    // rows by lot rather than by step: the file may alternate its groups
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let share = ask.by_effort(QUICK as f64 / table.rows() as f64, 1.0);
    let kept: Vec<usize> = (0..table.rows()).filter(|_| rng.random::<f64>() < share).collect();
    let numbers = |name: &str| -> Result<Vec<f64>> {
        let v = table.numbers(name)?;
        Ok(kept.iter().map(|&i| v[i]).collect())
    };
    let words = table.words("split")?;
    let split: Vec<Part> = kept.iter().map(|&i| words[i].parse()).collect::<Result<_>>()?;
    let test: Vec<usize> = (0..kept.len()).filter(|&i| split[i] == Part::Test).collect();
    let (x0, x1, potential) = (numbers("x0")?, numbers("x1")?, numbers("potential")?);
    let pick = |v: &[f64]| -> Vec<f64> { test.iter().map(|&i| v[i]).collect() };
    let (x, potential) = ([pick(&x0), pick(&x1)], pick(&potential));
    let log = Log::builder()
        .context("x0", x0)
        .context("x1", x1)
        .action("action", numbers("action")?)
        .reward("reward", numbers("reward")?)
        .propensity("propensity", numbers("propensity")?)
        .parts(split)
        .build()?;
    Ok(Set { kind, source: "read", parts: log.into_parts(SplitRule::Column)?, x, potential })
}
