//! The paper's sets as logs with their truth: read from its files, or drawn anew.

use super::Ask;
use crate::rivals::RivalPolicy;
use crate::{DRAWS, Potential, reward};
use counterpoint::data::{Column, Outcome, Parts, Roles, Table};
use counterpoint::{Policy, Result, SplitRule};
use rayon::prelude::*;
use std::path::Path;

/// Rows of a potential, as in the paper.
const ROWS: usize = 30_000;

/// A quick run looks at every so many rows.
const QUICK_STEP: usize = 5;

/// Contexts of Warfarin.
const WARFARIN_CONTEXTS: usize = 81;

/// A log in three parts, and what any action would have earned on the test part.
#[derive(Clone, Debug)]
pub struct World {
    /// Train, valid and test.
    pub parts: Parts,
    /// Contexts of the test part, row-major.
    x: Vec<f64>,
    /// What is hidden from learners, a number a test row: the potential, the expert's dose.
    hidden: Vec<f64>,
    /// The reward of an action where that number is hidden.
    reward: fn(f64, f64) -> f64,
}

/// One of the three potentials: from the directory of the [`Ask`], or simulated with seed 1. Quick runs take a fifth of the rows.
pub fn potential(ask: &Ask, kind: Potential) -> Result<World> {
    let step = ask.by_effort(QUICK_STEP, 1);
    match &ask.data {
        Some(dir) => read_potential(dir, kind, step),
        None => drawn_potential(kind, ROWS / step, 1),
    }
}

/// A potential from a directory of the paper's files: every `step`-th row.
pub fn read_potential(dir: &Path, kind: Potential, step: usize) -> Result<World> {
    let name = match kind {
        Potential::Moons => "noisymoons",
        Potential::Circles => "noisycircles",
        Potential::Anisotropic => "anisotropic",
    };
    let names = ["x0", "x1", "action", "reward", "propensity", "split", "potential"].map(String::from);
    of_table(thinned(Table::read(dir.join(format!("{name}.parquet")), &names)?, step))
}

/// A potential drawn anew.
pub fn drawn_potential(kind: Potential, rows: usize, seed: u64) -> Result<World> {
    of_table(kind.simulate(rows, seed).table())
}

fn of_table(table: Table) -> Result<World> {
    let hidden = table.numbers("potential")?;
    let log = table.into_log(&roles(2, Some("split".into())))?;
    World::new(log.into_parts(SplitRule::Column)?, &hidden, reward)
}

/// Warfarin, split by thirds; nothing without a directory.
pub fn warfarin(ask: &Ask) -> Result<Option<World>> {
    ask.data.as_deref().map(read_warfarin).transpose()
}

fn read_warfarin(dir: &Path) -> Result<World> {
    let mut names: Vec<String> = (0..WARFARIN_CONTEXTS).map(|j| format!("x{j}")).collect();
    names.extend(["action", "reward", "propensity", "expert_dose"].map(String::from));
    let table = Table::read(dir.join("warfarin.parquet"), &names)?;
    let dose = table.numbers("expert_dose")?;
    let log = table.into_log(&roles(WARFARIN_CONTEXTS, None))?;
    World::new(log.into_parts(SplitRule::Hash { seed: 0, shares: [1.0; 3] })?, &dose, warfarin_reward)
}

/// Minus the cost max(|a - t| - 0.1 t, 0) of a dose where the expert gives t.
pub fn warfarin_reward(action: f64, dose: f64) -> f64 {
    -((action - dose).abs() - 0.1 * dose).max(0.0)
}

fn roles(contexts: usize, split: Option<String>) -> Roles {
    Roles {
        contexts: (0..contexts).map(|j| format!("x{j}")).collect(),
        actions: vec!["action".into()],
        outcome: Some(("reward".into(), Outcome::Reward)),
        propensity: "propensity".into(),
        weight: None,
        split,
    }
}

/// Every `step`-th row.
fn thinned(mut table: Table, step: usize) -> Table {
    fn every<T>(v: &mut Vec<T>, step: usize) {
        let mut i = 0;
        v.retain(|_| {
            i += 1;
            (i - 1) % step == 0
        });
    }
    for (_, column) in &mut table.columns {
        match column {
            Column::Numbers(v) => every(v, step),
            Column::Integers(v) => every(v, step),
            Column::Words(v) => every(v, step),
        }
    }
    table
}

impl World {
    /// Joins the parts with the hidden column of the whole log, by row number.
    fn new(parts: Parts, hidden: &[f64], reward: fn(f64, f64) -> f64) -> Result<Self> {
        let (x, _) = parts.test.thin(parts.test.rows());
        let hidden = parts.test.blocks().iter().flat_map(|b| &b.ids).map(|i| hidden[*i as usize]).collect();
        Ok(World { parts, x, hidden, reward })
    }

    /// The true value of a policy: the known reward averaged over [`DRAWS`] sampled actions a test context, with its
    /// standard error over contexts.
    pub fn value(&self, policy: &Policy, seed: u64) -> (f64, f64) {
        self.average(|rows| {
            let mut scorer = policy.scorer();
            rows.iter().map(|&i| self.row(i, |row| scorer.sample(self.context(i), seed, row).0[0])).collect()
        })
    }

    /// The same of a policy's mean action.
    pub fn mean_value(&self, policy: &Policy) -> (f64, f64) {
        self.average(|rows| {
            let mut scorer = policy.scorer();
            let mut mean = [0.0];
            let mut value = |i: usize| {
                scorer.mean(self.context(i), &mut mean);
                (self.reward)(mean[0], self.hidden[i])
            };
            rows.iter().map(|&i| value(i)).collect()
        })
    }

    /// The same of a rival's policy.
    pub fn rival_value(&self, policy: &RivalPolicy, seed: u64) -> (f64, f64) {
        self.average(|rows| {
            let value = |i: usize| {
                let sampler = policy.sampler(self.context(i));
                self.row(i, |row| sampler(seed, row))
            };
            rows.iter().map(|&i| value(i)).collect()
        })
    }

    /// What the log earned on its test rows.
    pub fn logged(&self) -> (f64, f64) {
        mean(&self.parts.test.blocks().iter().flat_map(|b| b.y.iter().map(|y| -y)).collect::<Vec<_>>())
    }

    fn context(&self, i: usize) -> &[f64] {
        let d = self.parts.test.d();
        &self.x[i * d..(i + 1) * d]
    }

    /// The mean reward of test row i over draws.
    fn row(&self, i: usize, mut draw: impl FnMut(u64) -> f64) -> f64 {
        let first = i as u64 * DRAWS;
        (first..first + DRAWS).map(|row| (self.reward)(draw(row), self.hidden[i])).sum::<f64>() / DRAWS as f64
    }

    fn average(&self, rewards: impl Fn(&[usize]) -> Vec<f64> + Sync + Send) -> (f64, f64) {
        let rows: Vec<usize> = (0..self.hidden.len()).collect();
        mean(&rows.par_chunks(1024).flat_map_iter(rewards).collect::<Vec<_>>())
    }
}

/// Mean and standard error.
fn mean(v: &[f64]) -> (f64, f64) {
    let n = v.len() as f64;
    let mean = v.iter().sum::<f64>() / n;
    (mean, (v.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n * (n - 1.0))).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::Effort;
    use crate::{logging_policy, online_value};
    use counterpoint::Engine;

    #[test]
    fn the_value_of_a_policy_is_the_laboratorys() {
        let world = potential(&Ask::new(Effort::Quick, None, Engine::single()), Potential::Circles).expect("a world");
        assert_eq!(world.parts.test.rows(), 2000);
        let s = Potential::Circles.simulate(6000, 1);
        let policy = logging_policy().expect("a policy");
        let rows = 4000..6000;
        let own = online_value(&policy, [&s.x[0][rows.clone()], &s.x[1][rows.clone()]], &s.potential[rows], 3);
        let (value, error) = world.value(&policy, 3);
        assert!((value - own).abs() < 1e-12, "{value} {own}");
        assert!((value - world.logged().0).abs() < 5.0 * world.logged().1 && error > 0.0);
    }

    #[test]
    #[allow(clippy::print_stderr)]
    fn the_files_rewards_are_the_known_ones() {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
        if !data.join("warfarin.parquet").exists() {
            eprintln!("skipped: the paper's files are not here");
            return;
        }
        let ask = Ask::new(Effort::Full, Some(data), Engine::single());
        for world in [warfarin(&ask).expect("read").expect("there"), potential(&ask, Potential::Moons).expect("read")] {
            let blocks = world.parts.test.blocks().iter();
            let logged = blocks.flat_map(|b| b.a[0].iter().zip(&b.y));
            for ((a, y), hidden) in logged.zip(&world.hidden) {
                assert!(((world.reward)(*a, *hidden) + y).abs() < 1e-6, "{a} {hidden}: {y}");
            }
        }
    }

    #[test]
    fn a_dose_within_a_tenth_costs_nothing() {
        assert_eq!(warfarin_reward(33.0, 30.0), 0.0);
        assert_eq!(warfarin_reward(40.0, 30.0), -7.0);
        assert_eq!(warfarin_reward(20.0, 30.0), -7.0);
    }
}
