//! `counterpoint-lab growth`: how does the time of `learn` and `select` grow with rows and with contexts?

use crate::say;
use clap::Args;
use counterpoint::certify::Terms;
use counterpoint::data::SplitRule;
use counterpoint::{Engine, Log, Recipe, Result};
use counterpoint_lab::suite::{Method, cpu_seconds};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::time::Instant;

/// Time the default learner on logs that grow: seconds of processor and of the clock, and the slopes of their logarithms.
///
/// Contexts and noise are even; the best action follows the first contexts, so that what there is to learn stays the same. Times are of models,
/// candidates, choice and refit, without a certificate; of the rows three quarters are learned from.
#[derive(Args)]
#[command(after_help = "Example:\n  counterpoint-lab growth --rows 1000,10000,100000 --contexts 3,10,30,100")]
pub(crate) struct Growth {
    /// Rows, at the first number of contexts.
    #[arg(long, value_delimiter = ',', default_values_t = [1000, 3000, 10_000, 30_000, 100_000])]
    rows: Vec<usize>,
    /// Contexts, at `--rows-of-contexts` rows.
    #[arg(long, value_delimiter = ',', default_values_t = [10, 3, 30, 100])]
    contexts: Vec<usize>,
    /// Rows of the logs of different contexts.
    #[arg(long, default_value_t = 10_000)]
    rows_of_contexts: usize,
    /// `learn`, `select`.
    #[arg(long, value_delimiter = ',', default_value = "learn")]
    methods: Vec<String>,
    /// Threads; 0 means one per core.
    #[arg(long, default_value_t = 0)]
    threads: usize,
}

/// The time one method took on one log.
struct Timed {
    size: usize,
    seconds: f64,
    processor: f64,
}

impl Growth {
    pub(crate) fn run(&self) -> Result<()> {
        let engine = Engine::new(self.threads)?;
        let first = self.contexts.first().copied().unwrap_or(10);
        for name in &self.methods {
            let grid = counterpoint::select::Grid::named_or_file("auto")?;
            let method = Method::named(name, &Recipe::default(), &grid)?;
            let by_rows =
                self.rows.iter().map(|&n| time(&engine, &method, n, (n, first))).collect::<Result<Vec<_>>>()?;
            table(name, &format!("rows, {first} contexts"), &by_rows);
            let n = self.rows_of_contexts;
            let by_d = self.contexts.iter().map(|&d| time(&engine, &method, d, (n, d))).collect::<Result<Vec<_>>>()?;
            table(name, &format!("contexts, {n} rows"), &by_d);
        }
        Ok(())
    }
}

/// A log of n rows and d contexts.
fn log(n: usize, d: usize) -> Result<Log> {
    let of = |k: usize| -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(k as u64);
        (0..n).map(|_| 2.0 * rng.random::<f64>() - 1.0).collect()
    };
    let x: Vec<Vec<f64>> = (0..d).map(of).collect();
    let (a, noise) = (of(d + 1), of(d + 2));
    let best = |i: usize| 0.5 * x[0][i] + 0.3 * x[1 % d][i] * x[2 % d][i];
    let cost = (0..n).map(|i| (a[i] - best(i)).abs() + noise[i]).collect();
    let mut builder = Log::builder();
    for (k, column) in x.iter().enumerate() {
        builder = builder.context(&format!("x{k}"), column.clone());
    }
    builder.action("a", a).cost("cost", cost).propensity("p", vec![0.5; n]).build()
}

fn time(engine: &Engine, method: &Method, size: usize, (n, d): (usize, usize)) -> Result<Timed> {
    let parts = log(n, d)?.into_parts(SplitRule::default())?;
    let (clock, before) = (Instant::now(), cpu_seconds());
    method.policy(engine, &parts, &Terms::default())?;
    let processor = cpu_seconds().zip(before).map_or(f64::NAN, |(after, before)| after - before);
    let timed = Timed { size, seconds: clock.elapsed().as_secs_f64(), processor };
    say::line(format_args!("{} {n} rows, {d} contexts: {:.1} s, {processor:.1} s CPU", method.name(), timed.seconds));
    Ok(timed)
}

fn table(method: &str, what: &str, all: &[Timed]) {
    say::result(format_args!("\n| {method}: {what} | seconds of processor | seconds | slope from the one before |"));
    say::result("|---|---|---|---|");
    let mut sorted: Vec<&Timed> = all.iter().collect();
    sorted.sort_by_key(|t| t.size);
    let mut before: Option<&Timed> = None;
    for t in sorted {
        let slope = before.map(|b| (t.processor / b.processor).ln() / (t.size as f64 / b.size as f64).ln());
        let slope = slope.map_or(String::new(), |s| format!("{s:.2}"));
        say::result(format_args!("| {} | {:.1} | {:.1} | {slope} |", t.size, t.processor, t.seconds));
        before = Some(t);
    }
}
