//! `counterpoint pack`: a log as blocks on disk, for logs that are read many times or do not fit in memory.

use crate::Done;
use crate::log_args::LogArgs;
use crate::progress::Bar;
use crate::{output, say};
use clap::Args;
use counterpoint::data::{Into, Numbers, Packing, Store, pack};
use counterpoint::{Error, Result};
use std::path::PathBuf;

/// Pack a log into a store: its rows as blocks on disk, read once and in bounded memory.
///
/// Every command takes the store where it takes a log, with the same result to the last bit, without naming the columns again, and
/// without reading the files again: the blocks are mapped into memory. Each block has a checksum. A packing that was interrupted goes on
/// where it was when the same command is run again.
#[derive(Args)]
#[command(
    after_help = "Example:\n  counterpoint pack 'logs/*.parquet' --context x0,x1 --action action --reward reward --propensity propensity -o log.cps\n  counterpoint pack monday.parquet --append -o log.cps\n  counterpoint learn log.cps -o policy.json"
)]
pub(crate) struct Pack {
    #[command(flatten)]
    log: LogArgs,
    /// The store to write: its name ends in .cps.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Add rows to a store that is there: all of them or none. Its columns need not be named again.
    #[arg(long)]
    append: bool,
    /// Hold numbers in single precision: half the size, seven digits. Results are those of the rounded numbers; every command takes the store all the same.
    #[arg(long = "f32")]
    single: bool,
    /// Rows between the points from which an interrupted packing goes on.
    #[arg(long, value_name = "ROWS", default_value_t = 1 << 20, value_parser = clap::value_parser!(u64).range(1..))]
    checkpoint: u64,
    /// Column with the density of a policy to be evaluated at the logged action, to be kept.
    #[arg(long, value_name = "COLUMN", conflicts_with = "target_action", help_heading = "Your own policy")]
    target_density: Option<String>,
    /// Column with the action of a policy to be evaluated, or several separated by commas, to be kept.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', help_heading = "Your own policy")]
    target_action: Option<Vec<String>>,
}

impl Pack {
    pub(crate) fn run(&self) -> Result<Done> {
        if !Store::is_named(&self.output) {
            return Err(Error::data("the name of a store ends in .cps")
                .at(self.output.display().to_string())
                .hint(format!("name it {}", self.output.with_extension("cps").display())));
        }
        let (mut config, paths) = match self.append {
            true => self.log.columns_and_paths(Some(Store::open(&self.output)?.config()?))?,
            false => self.log.columns_and_paths(None)?,
        };
        if self.target_density.is_some() || self.target_action.is_some() {
            (config.target_density, config.target_action) = (self.target_density.clone(), self.target_action.clone());
        }
        let files = counterpoint::data::files_of(&paths)?;
        match self.append {
            true => output::claim(&self.output, &files)?,
            false => output::check(&[&self.output], &files)?,
        }
        let packing = Packing {
            into: if self.append { Into::Old } else { Into::New },
            drop_invalid: self.log.drop_invalid,
            checkpoint: self.checkpoint,
            numbers: if self.single { Numbers::F32 } else { Numbers::F64 },
            parts: config.time.as_ref().map(|time| crate::times::parts_of_files(&paths, time)).transpose()?,
        };
        output::on_interrupt(match self.append {
            true => "the store is as it was; run the command again",
            false => "what was packed is kept; run the same command again to go on",
        });
        let bar = Bar::new(0, "packing", "rows");
        let packed = pack(&paths, &config, &self.output, &packing, &|rows| bar.at(rows, rows));
        drop(bar);
        let packed = packed?;
        let name = self.output.display();
        if packed.before > 0 && !self.append {
            say::note(format_args!("went on after {} rows that were packed before", packed.before));
        }
        if packed.dropped.rows > 0 {
            say::note(format_args!("dropped {} rows with unusable values: {}", packed.dropped.rows, packed.dropped));
        }
        let numbers = Store::open(&self.output)?.numbers();
        let how = if numbers == Numbers::F32 { ", in single precision" } else { "" };
        say::line(format_args!("packed {} rows; {name} holds {}{how}", packed.rows - packed.before, packed.rows));
        say::json(serde_json::json!({
            "output": name.to_string(), "rows": packed.rows, "rows_before": packed.before,
            "dropped": packed.dropped, "numbers": numbers,
        }));
        Ok(Done::Yes)
    }
}
