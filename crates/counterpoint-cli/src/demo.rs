//! `counterpoint demo`: the tour, on a log whose truth is known.

use crate::Done;
use crate::learn::{tell, tell_estimate};
use crate::progress::Training;
use crate::say;
use crate::{certify, flag, output};
use clap::Args;
use counterpoint::certify::Terms;
use counterpoint::explain::{Evidence, explain_policy};
use counterpoint::simulate::{Potential, Split};
use counterpoint::{Engine, Error, Estimator, Learner, Recipe, Result, SplitRule, evaluate};
use counterpoint_report::policy_page;
use std::path::PathBuf;
use std::time::Instant;

/// The tour: simulate a log, learn from it, certify the policy, compare with the truth.
///
/// The truth is known because the log is simulated: a policy's value is the known reward averaged over 100 actions drawn
/// from it for each test context. On a real log nobody can tell you that number; the estimate above it is all there is.
#[derive(Args)]
#[command(after_help = "Example:\n  counterpoint demo circles --keep tour    # then open tour/report.html")]
pub(crate) struct Demo {
    /// moons, circles or anisotropic.
    #[arg(default_value = "moons")]
    environment: Potential,
    /// Rows of the simulated log, at least 300.
    #[arg(long, default_value_t = 30_000)]
    rows: usize,
    /// Seed of the log and of the learner.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads; 0 means one a core.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = flag::threads, allow_negative_numbers = true)]
    threads: usize,
    /// Keep the log, the policy and a report (HTML) in this directory.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

impl Demo {
    pub(crate) fn run(&self) -> Result<Done> {
        let clock = Instant::now();
        let engine = Engine::new(self.threads)?;
        let rows = self.rows;
        if rows < 300 {
            return Err(Error::data(format!("--rows {rows} is too few (at least 300)")));
        }
        if let Some(dir) = &self.keep {
            std::fs::create_dir_all(dir).map_err(|e| Error::io(dir, e))?;
        }
        say::line(format_args!(
            "simulating {rows} rows of {}: contexts x0, x1; a log-normal action; a reward",
            self.environment
        ));
        let simulated = self.environment.simulate(rows, self.seed);
        let log = simulated.log()?;
        let parts = log.split(SplitRule::Column)?;
        let recipe = Recipe { seed: self.seed, ..Recipe::default() };
        let bar = Training::new(recipe.starts, recipe.proximal_steps());
        let learned = Learner::new(&recipe).watch(&|p| bar.watch(p)).learn(&parts.train.on(&engine));
        drop(bar);
        let learned = learned?;
        tell(&learned, &recipe, parts.train.schema(), parts.train.rows());
        let valid = evaluate(&parts.valid.on(&engine), &learned.policy, &Estimator::SNIPS)?;
        tell_estimate("valid part", &valid, "reward");
        let certificate =
            certify::issue(&engine, &learned.policy, &parts, &Terms { seed: self.seed, ..Terms::default() })?;
        certify::tell(&certificate, "reward");
        let truth = simulated.online_value(&learned.policy, Split::Test, self.seed);
        let test = simulated.rows(Split::Test);
        let logged = simulated.reward[test.clone()].iter().sum::<f64>() / test.len() as f64;
        let oracle = self.environment.oracle_value(&simulated.group[test]);
        say::heading("The truth (known only because the log is simulated)");
        say::line(format_args!("  reward of the logging policy   {logged:.4}"));
        say::line(format_args!("  reward of the learned policy   {truth:.4}"));
        say::line(format_args!(
            "  reward of an oracle            {oracle:.4}   (knows each row's group, which the learner never sees)"
        ));
        if let Some(dir) = &self.keep {
            let evidence = Evidence {
                engine: &engine,
                log: &log,
                parts: &parts,
                policy: &learned.policy,
                certificate: &certificate,
                recipe: Some(&recipe),
                selected: None,
                name: format!("a simulated log of {rows} rows ({})", self.environment),
                split: "in thirds".into(),
                seed: self.seed,
            };
            let files = [
                (dir.join("policy.json"), learned.policy.to_json()),
                (dir.join("policy.certificate.json"), certify::text(&certificate)),
                (dir.join("report.html"), policy_page(&explain_policy(&evidence)?)),
            ];
            output::undisturbed(|| simulated.table().write(dir.join("log.parquet")))?;
            output::write(&files)?;
            say::line(format_args!("\nthe log, the policy and the report are in {}", dir.display()));
        }
        say::line(format_args!("\ndone in {:.1} s", clock.elapsed().as_secs_f64()));
        say::json(serde_json::json!({
            "environment": self.environment.name(), "rows": rows, "seed": self.seed,
            "certificate": certificate, "estimate": valid.estimate, "std_error": valid.std_error, "effective_share": valid.effective / valid.rows,
            "truth": {"logging": logged, "learned": truth, "oracle": oracle},
        }));
        Ok(Done::certified(&certificate))
    }
}
