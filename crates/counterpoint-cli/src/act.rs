//! `counterpoint act`: actions for new contexts, with their densities: the next log.

use crate::Done;
use crate::{output, say};
use clap::Args;
use counterpoint::data::{Column, ReadOptions, Table, files_of, read_contexts};
use counterpoint::policy::{Columns, Ready, SavedPolicy};
use counterpoint::{Error, Result};
use std::path::PathBuf;

/// Draw an action for each row of a file of contexts, with the density it was drawn with.
///
/// The output has one row a context: the id column if one is named (else `row`, from 0), the action columns under the
/// policy's names, and `density`. Keep it: together with what comes of the actions it is the next log. The same policy,
/// contexts and seed give the same actions.
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
    /// Seed of the draws.
    #[arg(long, default_value_t = 0)]
    seed: u64,
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
        let options =
            ReadOptions { inputs: Some(policy.encoding()), drop_invalid: self.drop_invalid, ..ReadOptions::default() };
        let mut reader = read_contexts(&self.contexts, &options, self.id.as_deref())?;
        let mut ready = Ready::new(&policy);
        let mut x = vec![0.0; contexts.len()];
        let (mut rows, mut density) = (Vec::new(), Vec::new());
        let mut ids: Option<Column> = None;
        let mut actions = vec![Vec::new(); names.len()];
        let mut means = actions.clone();
        for batch in reader.by_ref() {
            let batch = batch?;
            for (i, row) in batch.rows.iter().enumerate() {
                batch.context(i, &mut x);
                let Some((a, log_density)) = ready.draw(&x, self.seed, *row) else { continue };
                rows.push(*row as f64);
                density.push(log_density.exp());
                actions.iter_mut().zip(a).for_each(|(to, v)| to.push(v));
                if self.means {
                    means.iter_mut().zip(ready.mean(&x).unwrap_or_default()).for_each(|(to, v)| to.push(v));
                }
            }
            ids = append(ids, batch.ids)?;
        }
        let drawn = rows.len();
        let first = match (self.id.clone(), ids) {
            (Some(name), Some(column)) => (name, column),
            _ => ("row".into(), Column::Numbers(rows)),
        };
        let mut columns = vec![first];
        columns.extend(names.iter().cloned().zip(actions.into_iter().map(Column::Numbers)));
        columns.push(("density".into(), Column::Numbers(density)));
        if self.means {
            let name = |a: &String| if names.len() == 1 { "mean".into() } else { format!("mean_{a}") };
            columns.extend(names.iter().map(name).zip(means.into_iter().map(Column::Numbers)));
        }
        output::undisturbed(|| Table { columns }.write(&self.output))?;
        let dropped = reader.dropped();
        if dropped.rows > 0 {
            say::note(format_args!("dropped {} rows with unusable contexts: {dropped}", dropped.rows));
        }
        say::line(format_args!("wrote {drawn} actions to {}", self.output.display()));
        say::json(
            serde_json::json!({"rows": drawn, "dropped": dropped.rows, "seed": self.seed, "output": self.output.display().to_string()}),
        );
        Ok(Done::Yes)
    }
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
