//! `counterpoint act`: actions for new contexts, with their densities: the next log.

use crate::Done;
use crate::log_args::follows;
use crate::{output, say};
use clap::Args;
use counterpoint::data::{Column, ReadOptions, Table, files_of, read_contexts};
use counterpoint::features::Scaler;
use counterpoint::policy::{Columns, DrawKeys, Ready, SavedPolicy};
use counterpoint::{Error, Result};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::PathBuf;

/// Draw an action for each row of a file of contexts, with the density it was drawn with.
///
/// The output has one row a context: the id column if one is named (else `row`, from 0), the action columns under the
/// policy's names, `density` and the `seed`. Keep it: together with what comes of the actions it is the next log.
/// Every call draws afresh unless a seed is given; the same policy, ids, contexts and seed give the same actions.
#[derive(Args)]
#[command(after_help = "Example:\n  counterpoint act policy.json contexts.csv --id user --seed 7 -o actions.parquet")]
pub(crate) struct Act {
    /// The policy file, of `learn`, `select` or `rival`.
    policy: PathBuf,
    /// Contexts: files, directories or quoted patterns; columns are found by name.
    #[arg(required = true)]
    contexts: Vec<PathBuf>,
    /// Column that names the rows, handed through to the output.
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
    /// Also write the mean of the policy for each row, as `mean` (or `mean_NAME` for several actions).
    #[arg(long)]
    means: bool,
    /// Seed of the draws; a fresh one if none is given. It is printed and stands in the output.
    #[arg(long)]
    seed: Option<u64>,
    /// Skip rows with an unusable context, and say how many.
    #[arg(long)]
    drop_invalid: bool,
    /// File to write: .parquet, .csv, .csv.gz or .arrow.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl Act {
    pub(crate) fn run(&self) -> Result<Done> {
        let mut inputs = files_of(&self.contexts)?;
        inputs.push(self.policy.clone());
        output::check_table(&self.output, &inputs)?;
        let policy = SavedPolicy::load(&self.policy)?;
        let Columns { contexts, actions: names, .. } = policy.columns();
        let mean = |a: &String| if names.len() == 1 { "mean".into() } else { format!("mean_{a}") };
        let means_of: Vec<String> = if self.means { names.iter().map(mean).collect() } else { Vec::new() };
        self.check_id(names.iter().chain(&means_of))?;
        let options =
            ReadOptions { inputs: Some(policy.encoding()), drop_invalid: self.drop_invalid, ..ReadOptions::default() };
        let reader = read_contexts(&self.contexts, &options, self.id.as_deref());
        let mut reader = reader.map_err(|e| follows(e, Some(&policy)))?;
        let seed = self.seed.unwrap_or_else(fresh_seed);
        let (mut ready, mut keys) = (Ready::new(&policy), DrawKeys::default());
        let mut x = vec![0.0; contexts.len()];
        let (mut rows, mut density) = (Vec::new(), Vec::new());
        let mut ids: Option<Column> = None;
        let mut actions = vec![Vec::new(); names.len()];
        let mut means = actions.clone();
        let mut far = Far::new(&policy);
        let (room, mut lost) = (crate::memory::for_rows(), 0);
        for batch in reader.by_ref() {
            let mut batch = batch.map_err(|e| follows(e, Some(&policy)))?;
            let mut kept = Vec::with_capacity(batch.rows.len());
            for (i, row) in batch.rows.iter().enumerate() {
                batch.context(i, &mut x);
                let key = keys.key(batch.id(i).as_deref(), &x);
                let Some((a, log_density)) = ready.draw(&x, seed, key) else { continue };
                let mean = if self.means { ready.mean(&x).unwrap_or_default() } else { Vec::new() };
                if !(policy.usable(&a, log_density) && mean.iter().all(|v| v.is_finite())) {
                    self.refuse(*row, &x, &contexts)?;
                    lost += 1;
                    continue;
                }
                far.look(*row, &x);
                kept.push(i);
                rows.push(*row as i64);
                density.push(log_density.exp());
                actions.iter_mut().zip(a).for_each(|(to, v)| to.push(v));
                means.iter_mut().zip(mean).for_each(|(to, v)| to.push(v));
            }
            batch.keep(&kept);
            ids = append(ids, batch.ids)?;
            check_memory(room, rows.len(), names.len())?;
        }
        let drawn = rows.len();
        let first = match (self.id.clone(), ids) {
            (Some(name), Some(column)) => (name, column),
            _ => ("row".into(), Column::Integers(rows)),
        };
        let mut columns = vec![first];
        columns.extend(names.iter().cloned().zip(actions.into_iter().map(Column::Numbers)));
        columns.push(("density".into(), Column::Numbers(density)));
        columns.extend(means_of.into_iter().zip(means.into_iter().map(Column::Numbers)));
        columns.push(("seed".into(), Column::Words(vec![seed.to_string(); drawn])));
        output::write_table(&Table { columns }, &self.output)?;
        let dropped = reader.dropped();
        if dropped.rows > 0 {
            say::note(format_args!("dropped {} rows with unusable contexts: {dropped}", dropped.rows));
        }
        if lost > 0 {
            say::note(format_args!("dropped {lost} rows for which the policy has no finite action"));
        }
        far.tell(&contexts);
        say::line(format_args!("wrote {drawn} actions to {}, drawn with seed {seed}", self.output.display()));
        say::json(serde_json::json!({
            "rows": drawn, "dropped": dropped.rows + lost, "far": far.rows, "seed": seed,
            "output": self.output.display().to_string(),
        }));
        Ok(Done::Yes)
    }

    /// Refuses a name of the rows that another column of the output has: one name twice is a file that nobody reads.
    fn check_id<'a>(&self, mut others: impl Iterator<Item = &'a String>) -> Result<()> {
        let Some(id) = &self.id else { return Ok(()) };
        match others.any(|o| o == id) || ["density", "seed"].contains(&id.as_str()) {
            true => Err(Error::data("the output has a column of that name beside the one that names its rows")
                .at(format!("--id {id}"))
                .hint("rename the column in the file of contexts, or name the rows by another one")),
            false => Ok(()),
        }
    }

    /// A row for which the policy has no action is an error, unless such rows are dropped.
    fn refuse(&self, row: u64, x: &[f64], names: &[String]) -> Result<()> {
        if self.drop_invalid {
            return Ok(());
        }
        let largest = (0..x.len()).max_by(|&i, &j| x[i].abs().total_cmp(&x[j].abs()));
        let where_from = largest.map_or(String::new(), |j| format!(" ({:?} is {})", names[j], x[j]));
        Err(Error::data(format!("the policy has no finite action for this context{where_from}"))
            .at(format!("row {}", row + 1))
            .hint("correct the context, or skip such rows with --drop-invalid"))
    }
}

/// Refuses more actions than memory holds.
fn check_memory(room: Option<u64>, rows: usize, actions: usize) -> Result<()> {
    // the columns, and once more while they are written
    let needed = (rows as u64).saturating_mul(16 * (2 * actions as u64 + 3));
    match room.is_some_and(|room| needed > room) {
        true => {
            Err(Error::data("its rows do not fit in memory").hint("draw actions for one part of the files at a time"))
        }
        false => Ok(()),
    }
}

/// Rows whose contexts lie far from those that the policy was learned from.
struct Far {
    scaler: Option<Scaler>,
    /// The contexts that are numbers: a rare category is not far from anything.
    numbers: Vec<usize>,
    rows: usize,
    /// The first such row, and its context.
    first: Option<(u64, usize, f64)>,
}

impl Far {
    fn new(policy: &SavedPolicy) -> Self {
        let (mut numbers, mut at) = (Vec::new(), 0);
        for input in policy.encoding() {
            numbers.extend((!input.is_category()).then_some(at));
            at += input.width();
        }
        Far { scaler: policy.scaler().filter(|s| !s.is_identity()).cloned(), numbers, rows: 0, first: None }
    }

    fn look(&mut self, row: u64, x: &[f64]) {
        let Some(scaler) = &self.scaler else { return };
        if let Some(j) = scaler.far(x, &self.numbers) {
            self.rows += 1;
            self.first.get_or_insert((row, j, x[j]));
        }
    }

    fn tell(&self, names: &[String]) {
        let Some((row, j, value)) = self.first else { return };
        say::note(format_args!(
            "warning: {} rows have a context far outside the rows the policy was learned from, the first is row {}: {:?} is {value}",
            self.rows,
            row + 1,
            names[j],
        ));
    }
}

/// A seed that no other call has had.
fn fresh_seed() -> u64 {
    // the keys of the standard library's hash tables come from the system's randomness; 48 bits are short enough to copy
    RandomState::new().build_hasher().finish() >> 16
}

/// One column of ids from the batches of all files.
fn append(so_far: Option<Column>, more: Option<Column>) -> Result<Option<Column>> {
    Ok(match (so_far, more) {
        (Some(Column::Numbers(mut a)), Some(Column::Numbers(b))) => {
            a.extend(b);
            Some(Column::Numbers(a))
        }
        (Some(Column::Integers(mut a)), Some(Column::Integers(b))) => {
            a.extend(b);
            Some(Column::Integers(a))
        }
        (Some(Column::Words(mut a)), Some(Column::Words(b))) => {
            a.extend(b);
            Some(Column::Words(a))
        }
        (None, more) => more,
        (so_far, None) => so_far,
        _ => {
            return Err(Error::data("the id column holds numbers in one file and words in another")
                .hint("write the ids in one way, or leave --id out"));
        }
    })
}
