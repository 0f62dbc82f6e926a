//! `counterpoint evaluate`: a given policy, every estimator side by side.

use crate::Done;
use crate::ask::LogArgs;
use crate::say;
use clap::{Args, ValueEnum};
use counterpoint::{Engine, Estimator, Log, Policy, Result, evaluate};
use std::path::PathBuf;

/// Which rows are read.
#[derive(Clone, Copy, ValueEnum)]
enum Rows {
    All,
    Train,
    Valid,
}

/// Estimate what a given policy would have cost or earned, by every estimator that needs no loss model.
#[derive(Args)]
#[command(
    after_help = "Example:\n  counterpoint evaluate policy.json log.parquet --context x0,x1 --action action \\\n      --reward reward --propensity propensity --split split --rows valid"
)]
pub(crate) struct Evaluate {
    /// The policy file.
    policy: PathBuf,
    #[command(flatten)]
    log: LogArgs,
    /// Which rows to use: all, train or valid (split as `learn` splits them).
    #[arg(long, value_enum, default_value = "valid")]
    rows: Rows,
    /// Seed of the split, the one given to `learn`.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Cap of the clipped estimates.
    #[arg(long, default_value_t = 15.0, value_parser = crate::flag::positive)]
    cap: f64,
    /// Threads; 0 means one a core.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = crate::flag::threads, allow_negative_numbers = true)]
    threads: usize,
    /// Print one JSON object to stdout.
    #[arg(long)]
    json: bool,
}

impl Evaluate {
    pub(crate) fn run(&self) -> Result<Done> {
        let policy = Policy::load(&self.policy)?;
        let engine = Engine::new(self.threads)?;
        let whole = self.log.read_for(&policy)?;
        let log: Log = match self.rows {
            Rows::All => whole,
            Rows::Train => whole.split(self.log.rule(self.seed))?.train,
            Rows::Valid => whole.split(self.log.rule(self.seed))?.valid,
        };
        let user = |c: f64| log.schema().direction.to_user(c);
        let table = [
            ("snips", Estimator::SNIPS),
            ("ips", Estimator::IPS),
            ("clipped", Estimator::clipped(self.cap)),
            ("soft-clipped", Estimator::soft_clipped(self.cap)),
            ("power-mean", Estimator::power_mean(0.1, -1.0)),
        ];
        let mut all = serde_json::Map::new();
        say::heading(format_args!("{} of {} on {} rows", log.schema().outcome, self.policy.display(), log.rows()));
        say::line(format_args!(
            "  {:<14} {:>10} {:>10} {:>8} {:>12}",
            "estimator", "value", "std error", "n_eff/n", "mean weight"
        ));
        for (name, estimator) in table {
            let e = evaluate(&engine, &log, &policy, &estimator, None)?;
            let share = e.effective / e.rows;
            say::line(format_args!(
                "  {name:<14} {:>10.4} {:>10.4} {share:>8.3} {:>12.3}",
                user(e.cost),
                e.std_error,
                e.mean_weight
            ));
            all.insert(
                name.into(),
                serde_json::json!({"value": user(e.cost), "std_error": e.std_error, "effective_share": share, "mean_weight": e.mean_weight}),
            );
            if name == "snips" {
                all.insert(
                    "logged".into(),
                    serde_json::json!({"value": user(e.logged_cost), "std_error": e.logged_std_error}),
                );
            }
        }
        let costs = log.cost_summary();
        say::line(format_args!(
            "  {:<14} {:>10.4} {:>10.4}",
            "the log itself",
            user(costs.mean()),
            costs.std() / costs.n.sqrt()
        ));
        if self.json {
            say::json(&serde_json::Value::Object(all));
        }
        Ok(Done::Yes)
    }
}
