//! `counterpoint simulate`: a log whose truth is known.

use crate::Done;
use crate::{output, say};
use clap::{Args, ValueEnum};
use counterpoint::data::Table;
use counterpoint::simulate::{Chess, Cocoa, Outlier, Potential, WhatIf};
use counterpoint::{Error, Result};
use std::path::PathBuf;

/// Draw a log from one of the paper's environments.
///
/// moons, circles, anisotropic: columns x0, x1 (contexts), action, reward, propensity, split (train, valid, test in thirds), and
/// the truth that a real log never has: potential and group. outlier: the same without a split; its last row is the outlier.
/// chess: x0, action, reward, propensity. cocoa: x0, x1, x2, action, reward, propensity. what-if: no context, actions a0, a1,
/// a2, reward, propensity.
#[derive(Args)]
#[command(after_help = "Example:\n  counterpoint simulate moons --rows 30000 --seed 1 -o log.parquet")]
pub(crate) struct Simulate {
    /// Which environment.
    environment: Environment,
    /// Number of rows.
    #[arg(long, default_value_t = 30_000)]
    rows: usize,
    /// Seed of the draws: the same seed gives the same log.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// File to write: .parquet, .csv, .csv.gz or .arrow.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Environment {
    /// Two interleaved half circles.
    #[value(alias = "noisymoons")]
    Moons,
    /// Two concentric circles.
    #[value(alias = "noisycircles")]
    Circles,
    /// Three sheared blobs.
    Anisotropic,
    /// Two circles and an unlikely action that paid.
    Outlier,
    /// A chess board of rewards, logged near its lower edge.
    Chess,
    /// The twin of CoCoA: rewards rare and heavy-tailed.
    Cocoa,
    /// The largest of three log-normals.
    WhatIf,
}

impl Environment {
    fn draw(self, rows: usize, seed: u64) -> Table {
        match self {
            Environment::Moons => Potential::Moons.simulate(rows, seed).table(),
            Environment::Circles => Potential::Circles.simulate(rows, seed).table(),
            Environment::Anisotropic => Potential::Anisotropic.simulate(rows, seed).table(),
            Environment::Outlier => Outlier::simulate(rows, seed).table(),
            Environment::Chess => Chess::simulate(rows, seed).table(),
            Environment::Cocoa => Cocoa::simulate(rows, seed).table(),
            Environment::WhatIf => WhatIf::simulate(rows, seed).table(),
        }
    }
}

impl Simulate {
    pub(crate) fn run(&self) -> Result<Done> {
        if self.rows < Potential::MIN_ROWS {
            return Err(Error::data(format!("--rows {} is too few (at least {})", self.rows, Potential::MIN_ROWS)));
        }
        output::check_table(&self.output, &[])?;
        let table = self.environment.draw(self.rows, self.seed);
        output::undisturbed(|| table.write(&self.output))?;
        let name = self.environment.to_possible_value().map(|v| v.get_name().to_string()).unwrap_or_default();
        let output = self.output.display().to_string();
        say::json(serde_json::json!({"rows": self.rows, "seed": self.seed, "environment": name, "output": output}));
        say::line(format_args!("wrote {} rows of {name} to {}", self.rows, self.output.display()));
        Ok(Done::Yes)
    }
}
