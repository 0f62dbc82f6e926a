//! `counterpoint simulate`: a log whose truth is known.

use crate::Done;
use crate::{output, say};
use clap::Args;
use counterpoint::{Error, Result};
use counterpoint_lab::Potential;
use std::path::PathBuf;

/// Draw a log from one of the paper's environments.
///
/// Columns: x0, x1 (contexts), action, reward, propensity, split (train, valid, test in thirds), and the truth that a real
/// log never has: potential and group.
#[derive(Args)]
#[command(after_help = "Example:\n  counterpoint simulate moons --rows 30000 --seed 1 -o log.parquet")]
pub(crate) struct Simulate {
    /// moons, circles or anisotropic.
    environment: Potential,
    /// Number of rows.
    #[arg(long, default_value_t = 30_000)]
    rows: usize,
    /// Seed of the draws: the same seed gives the same log.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// File to write: .parquet, .csv, .csv.gz or .arrow.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Print one JSON object to stdout.
    #[arg(long)]
    json: bool,
}

impl Simulate {
    pub(crate) fn run(&self) -> Result<Done> {
        if self.rows < Potential::MIN_ROWS {
            return Err(Error::data(format!("--rows {} is too few (at least {})", self.rows, Potential::MIN_ROWS)));
        }
        output::check_table(&self.output, &[])?;
        let table = self.environment.simulate(self.rows, self.seed).table();
        output::undisturbed(|| table.write(&self.output))?;
        if self.json {
            let output = self.output.display().to_string();
            say::json(
                &serde_json::json!({"rows": self.rows, "seed": self.seed, "environment": self.environment.name(), "output": output}),
            );
        }
        say::line(format_args!("wrote {} rows of {} to {}", self.rows, self.environment, self.output.display()));
        Ok(Done::Yes)
    }
}
