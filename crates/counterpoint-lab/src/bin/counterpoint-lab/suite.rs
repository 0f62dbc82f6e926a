//! `counterpoint-lab suite`: how well do the methods learn where the truth is known?

use crate::say;
use clap::Args;
use counterpoint::select::Grid;
use counterpoint::{Engine, Error, Recipe, Result};
use counterpoint_lab::suite::{
    Method, Record, Truth, World, board, duels, read_records, run, summary, worlds_table, write,
};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Run methods on worlds whose truth is known: regret, verdict and time of each, and a summary.
///
/// Regret is (oracle - value) / (oracle - log): 0 is perfect, 1 is the log. Where a method ends in an error the log stays (refused, regret 1). With
/// --out every run is one line of JSON in suite.jsonl of that directory; runs that stand there already are not repeated.
#[derive(Args)]
#[command(after_help = "Examples:\n  counterpoint-lab suite --methods learn,select,sdm --seeds 3 --out runs\n  \
    counterpoint-lab suite --write worlds --seeds 3     logs and truth as files, for other programs\n  \
    counterpoint-lab suite --table runs/suite.jsonl peers.jsonl")]
pub(crate) struct Suite {
    /// The worlds, by name; all by default.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    worlds: Vec<String>,
    /// The methods: learn, select, and the names of rivals.
    #[arg(long, value_delimiter = ',', default_value = "learn,select", value_name = "NAMES")]
    methods: Vec<String>,
    /// How many logs of each world: seeds 1, 2, ..
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1, value_name = "SEED")]
    first_seed: u64,
    /// Change one field of the recipe of `learn`; a line of TOML. May be repeated.
    #[arg(long, value_name = "FIELD=VALUE")]
    set: Vec<String>,
    /// The grid of `select`, by name or file.
    #[arg(long, default_value = "auto", value_name = "NAME|FILE")]
    grid: String,
    /// At most 5,000 rows a log, 2,000 fresh contexts.
    #[arg(long)]
    quick: bool,
    /// Fresh contexts on which values are computed.
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    fresh: usize,
    /// Directory for suite.jsonl.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Threads; 0 means one per core.
    #[arg(long, default_value_t = 0, value_name = "N")]
    threads: usize,
    /// Write logs and truth into this directory instead, for other programs.
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
    /// Print the worlds with their values, and run nothing.
    #[arg(long)]
    list: bool,
    /// Print tables of records in these files (JSON lines), and run nothing.
    #[arg(long, num_args = 1.., value_name = "FILE")]
    table: Vec<PathBuf>,
}

impl Suite {
    pub(crate) fn run(mut self) -> Result<()> {
        if !self.table.is_empty() {
            return print(&read_records(&self.table)?);
        }
        if self.quick {
            self.fresh = self.fresh.min(2000);
        }
        let worlds: Vec<World> = match self.worlds.is_empty() {
            true => World::all().collect(),
            false => self.worlds.iter().map(|n| World::named(n)).collect::<Result<_>>()?,
        };
        if self.list {
            say::result(worlds_table(&worlds, self.fresh).trim_end());
            return Ok(());
        }
        match &self.write {
            Some(dir) => self.files(dir, &worlds),
            None => self.runs(&worlds),
        }
    }

    fn seeds(&self) -> Vec<u64> {
        (self.first_seed..self.first_seed + self.seeds).collect()
    }

    fn rows(&self, world: &World) -> usize {
        if self.quick { world.rows.min(5000) } else { world.rows }
    }

    fn files(&self, dir: &Path, worlds: &[World]) -> Result<()> {
        make(dir)?;
        for world in worlds {
            write(dir, world, self.rows(world), &self.seeds(), self.fresh.min(4000))?;
            say::line(format_args!("wrote {}", world.name));
        }
        Ok(())
    }

    fn runs(&self, worlds: &[World]) -> Result<()> {
        let recipe = Recipe::from_toml(&self.set.join("\n"))?;
        let grid = Grid::named_or_file(&self.grid)?;
        let methods: Vec<Method> =
            self.methods.iter().map(|n| Method::named(n, &recipe, &grid)).collect::<Result<_>>()?;
        let engine = Engine::new(self.threads)?;
        let file = self.out.as_ref().map(|dir| make(dir).map(|()| dir.join("suite.jsonl"))).transpose()?;
        let known = match file.as_ref().filter(|f| f.exists()) {
            Some(file) => read_records(&[file])?,
            None => Vec::new(),
        };
        let mut records = Vec::new();
        for world in worlds {
            let rows = self.rows(world);
            let truth = Truth::of(world, self.fresh);
            for seed in self.seeds() {
                for method in &methods {
                    let same = |r: &&Record| {
                        (r.world.as_str(), r.seed, r.method.as_str(), r.rows) == (world.name, seed, method.name(), rows)
                    };
                    if let Some(record) = known.iter().find(same) {
                        records.push(record.clone());
                        continue;
                    }
                    let record = run(&engine, method, world, &truth, rows, seed)?;
                    tell(&record);
                    if let Some(file) = &file {
                        append(file, &record)?;
                    }
                    records.push(record);
                }
            }
        }
        print(&records)
    }
}

/// Makes a directory.
fn make(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).map_err(|e| Error::data(format!("{}: {e}", dir.display())))
}

/// Adds a line to the records.
fn append(file: &Path, record: &Record) -> Result<()> {
    let open = std::fs::OpenOptions::new().create(true).append(true).open(file);
    open.and_then(|mut f| f.write_all(record.line().as_bytes()))
        .map_err(|e| Error::data(format!("{}: {e}", file.display())))
}

/// A line of progress.
fn tell(r: &Record) {
    let share = r.effective_share.map_or(String::new(), |s| format!(", n_eff/n {s:.3}"));
    let mean = r.mean_regret.map_or(String::new(), |m| format!(" (of means {m:.3})"));
    say::line(format_args!(
        "{:>13} seed {} {:<14} regret {:.3}{mean}  {:<7}{share}  value {:.4} (log {:.4}, oracle {:.4})  {:.1} s, {:.1} s CPU  {}",
        r.world,
        r.seed,
        r.method,
        r.regret,
        r.verdict,
        r.value,
        r.logging,
        r.oracle,
        r.seconds,
        r.cpu_seconds.unwrap_or(f64::NAN),
        r.detail.lines().next().unwrap_or_default(),
    ));
}

fn print(records: &[Record]) -> Result<()> {
    if records.is_empty() {
        return Err(Error::data("there are no records"));
    }
    say::result(format_args!("Median regret over seeds, and the verdicts (D deploy, K keep, I invalid, R refused)\n"));
    say::result(board(records));
    say::result(summary(records));
    say::result(duels(records).trim_end());
    Ok(())
}
