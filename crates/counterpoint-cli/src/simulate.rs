//! `counterpoint simulate`: a log whose truth is known.

use crate::Done;
use crate::{output, say};
use clap::{Args, ValueEnum};
use counterpoint::data::{LogConfig, Table};
use counterpoint::simulate::{Chess, Cocoa, Outlier, Potential, WhatIf};
use counterpoint::{Error, Result};
use std::path::PathBuf;

/// Draw a log from one of the paper's environments.
///
/// moons, circles, anisotropic: columns x0, x1 (contexts), action, reward, propensity, split (train, valid, test in thirds), and
/// the truth that a real log never has: potential and group. outlier: the same without a split; its last row is the outlier.
/// chess: x0, action, reward, propensity. cocoa: x0, x1, x2, action, reward, propensity. what-if: no context, actions a0, a1,
/// a2, reward, propensity. A log.toml beside the log says which column is which, unless there is one already.
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

    /// Which column is which: a short log of the environment has the columns of a long one.
    fn columns(self) -> Result<LogConfig> {
        let (rows, seed) = (Potential::MIN_ROWS, 1);
        let log = match self {
            Environment::Moons => Potential::Moons.simulate(rows, seed).log(),
            Environment::Circles => Potential::Circles.simulate(rows, seed).log(),
            Environment::Anisotropic => Potential::Anisotropic.simulate(rows, seed).log(),
            Environment::Outlier => Outlier::simulate(rows, seed).log(),
            Environment::Chess => Chess::simulate(rows, seed).log(),
            Environment::Cocoa => Cocoa::simulate(rows, seed).log(),
            Environment::WhatIf => WhatIf::simulate(rows, seed).log(),
        }?;
        let split = self.draw(rows, seed).columns.into_iter().map(|(name, _)| name).find(|name| name == "split");
        Ok(LogConfig::of(log.schema(), split.as_deref()))
    }
}

/// A log of the environment of this name, and which column is which: what `simulate` writes, as columns.
///
/// ```
/// let (table, config) = counterpoint_cli::draw_log("moons", 600, 1)?;
/// assert_eq!((table.columns.len(), config.reward.as_deref()), (8, Some("reward")));
/// # Ok::<(), counterpoint::Error>(())
/// ```
pub fn draw_log(environment: &str, rows: usize, seed: u64) -> Result<(Table, LogConfig)> {
    let known = || Environment::value_variants().iter().filter_map(|e| e.to_possible_value());
    let named = Environment::from_str(environment, false).map_err(|_| {
        let names: Vec<String> = known().map(|v| v.get_name().to_string()).collect();
        Error::data(format!("there is no environment {environment:?}"))
            .hint(format!("it is one of {}", names.join(", ")))
    })?;
    check_rows(rows)?;
    Ok((named.draw(rows, seed), named.columns()?))
}

fn check_rows(rows: usize) -> Result<()> {
    match rows < Potential::MIN_ROWS {
        true => Err(Error::data(format!("{rows} rows are too few (at least {})", Potential::MIN_ROWS))),
        false => Ok(()),
    }
}

impl Simulate {
    pub(crate) fn run(&self) -> Result<Done> {
        if self.rows < Potential::MIN_ROWS {
            return Err(Error::data(format!("--rows {} is too few (at least {})", self.rows, Potential::MIN_ROWS)));
        }
        // about ten columns of numbers, twice while they are written
        let needed = (self.rows as u64).saturating_mul(10 * 8 * 2);
        if crate::memory::free().is_some_and(|free| needed > free) {
            return Err(Error::data(format!("--rows {} do not fit in memory", self.rows))
                .hint("draw several logs with different seeds; commands read many files as one log"));
        }
        output::check_table(&self.output, &[])?;
        let config = output::config_beside(&self.output, &self.environment.columns()?);
        let config: Vec<_> = config.into_iter().collect();
        output::check(&config.iter().map(|(path, _)| path.as_path()).collect::<Vec<_>>(), &[])?;
        let table = self.environment.draw(self.rows, self.seed);
        output::write_table(&table, &self.output)?;
        output::write(&config)?;
        let name = self.environment.to_possible_value().map(|v| v.get_name().to_string()).unwrap_or_default();
        let output = self.output.display().to_string();
        let beside = config.first().map(|(path, _)| path.display().to_string());
        say::json(serde_json::json!({
            "rows": self.rows, "seed": self.seed, "environment": name, "output": output, "log_config": beside,
        }));
        let columns = beside.map_or(String::new(), |path| format!(", and its columns to {path}"));
        say::line(format_args!("wrote {} rows of {name} to {output}{columns}", self.rows));
        Ok(Done::Yes)
    }
}
