//! A log of a world: rows, a split, files.

use super::{GRID, Truth, World};
use counterpoint::data::{Column, Outcome, Roles, Table, write_text};
use counterpoint::{Log, Result};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use std::path::Path;

/// Streams of one seed: contexts and actions of the log, and the contexts on which truth is computed.
const LOG: u64 = 1;
/// See [`LOG`].
const FRESH: u64 = 2;

/// Rows of a log, by columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The contexts, one row after another.
    pub x: Vec<Vec<f64>>,
    /// The actions.
    pub action: Vec<f64>,
    /// Their densities, or probabilities where the log acts on points.
    pub propensity: Vec<f64>,
    /// What came of them.
    pub outcome: Vec<f64>,
}

/// A generator for one use of a world: worlds with the same seed draw different numbers.
fn generator(world: &World, seed: u64, stream: u64) -> ChaCha8Rng {
    let mut key = [0u8; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    for (i, b) in world.name.bytes().enumerate() {
        key[8 + i % 24] ^= b;
    }
    let mut rng = ChaCha8Rng::from_seed(key);
    rng.set_stream(stream);
    rng
}

impl World {
    /// Draws the rows of a log.
    pub fn rows(&self, rows: usize, seed: u64) -> Rows {
        let mut rng = generator(self, seed, LOG);
        let mut out = Rows::default();
        for _ in 0..rows {
            let x = (self.draw)(&mut rng);
            let acts = (self.acts)(&x);
            let a = acts.sample(&mut rng);
            out.propensity.push(acts.density(a));
            out.outcome.push((self.outcome)(&x, a, &mut rng));
            out.action.push(a);
            out.x.push(x);
        }
        out
    }

    /// Contexts that no log holds, the same for every seed of a log.
    pub fn fresh(&self, count: usize) -> (Vec<Vec<f64>>, ChaCha8Rng) {
        let mut rng = generator(self, 0, FRESH);
        let x = (0..count).map(|_| (self.draw)(&mut rng)).collect();
        (x, rng)
    }

    /// The word for the outcome, and the name of its column.
    pub fn outcome_name(&self) -> &'static str {
        match self.direction {
            Outcome::Reward => "reward",
            Outcome::Cost => "cost",
        }
    }

    /// A log as a table: contexts x0, x1, .., action, reward or cost, propensity, split (the first half of the rows is train, the third
    /// quarter valid, the last test).
    pub fn table(&self, rows: usize, seed: u64) -> Table {
        let drawn = self.rows(rows, seed);
        let part = |i: usize| match 4 * i / rows {
            0 | 1 => "train",
            2 => "valid",
            _ => "test",
        };
        let mut columns = contexts(&drawn.x, self.contexts);
        columns.push(("action".into(), Column::Numbers(drawn.action)));
        columns.push((self.outcome_name().into(), Column::Numbers(drawn.outcome)));
        columns.push(("propensity".into(), Column::Numbers(drawn.propensity)));
        columns.push(("split".into(), Column::Words((0..rows).map(|i| part(i).to_string()).collect())));
        Table { columns }
    }

    /// A log with its split.
    pub fn log(&self, rows: usize, seed: u64) -> Result<Log> {
        self.table(rows, seed).into_log(&Roles {
            contexts: (0..self.contexts).map(|j| format!("x{j}")).collect(),
            actions: vec!["action".into()],
            outcome: Some((self.outcome_name().into(), self.direction)),
            propensity: "propensity".into(),
            split: Some("split".into()),
            ..Roles::default()
        })
    }
}

/// Rows of contexts as columns x0, x1, ..
fn contexts(x: &[Vec<f64>], count: usize) -> Vec<(String, Column)> {
    (0..count).map(|j| (format!("x{j}"), Column::Numbers(x.iter().map(|row| row[j]).collect()))).collect()
}

/// Writes the logs of a world and its truth into a directory, for programs in other languages.
///
/// `WORLD-SEED.parquet` is a log. `WORLD.truth.parquet` has fresh contexts and, in columns m0, m1, .., the mean outcome of each at the
/// actions listed in `WORLD.json`, which also says the direction and the values of oracle, best constant and log.
pub fn write(dir: &Path, world: &World, rows: usize, seeds: &[u64], fresh: usize) -> Result<()> {
    for seed in seeds {
        world.table(rows, *seed).write(dir.join(format!("{}-{seed}.parquet", world.name)))?;
    }
    let truth = Truth::of(world, fresh);
    let mut columns = contexts(&truth.contexts, world.contexts);
    let steps = truth.actions.len();
    for k in 0..steps {
        let means = truth.means.iter().skip(k).step_by(steps).copied().collect();
        columns.push((format!("m{k}"), Column::Numbers(means)));
    }
    Table { columns }.write(dir.join(format!("{}.truth.parquet", world.name)))?;
    let facts = serde_json::json!({
        "world": world.name, "about": world.about, "contexts": world.contexts, "rows": rows, "seeds": seeds,
        "outcome": world.outcome_name(), "actions": truth.actions, "points": truth.points,
        "oracle": truth.oracle, "constant": truth.constant, "logging": truth.logging, "grid": GRID,
    });
    write_text(dir.join(format!("{}.json", world.name)), &format!("{facts:#}\n"))
}
