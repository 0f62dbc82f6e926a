//! `counterpoint demo`: the tour, on a log whose truth is known.

use crate::Done;
use crate::learn::tell;
use crate::progress::Training;
use crate::say;
use crate::{certify, flag, output};
use clap::Args;
use counterpoint::certify::Terms;
use counterpoint::data::{LogConfig, SplitRule};
use counterpoint::explain::{Detail, Evidence, explain_policy};
use counterpoint::learn::Learner;
use counterpoint::simulate::{Potential, Split};
use counterpoint::{Engine, Error, Recipe, Result};
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
    /// Threads; 0 means one per core.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = flag::threads, allow_negative_numbers = true)]
    threads: usize,
    /// Keep the log with its log.toml, the policy, its certificate and a report (HTML) in this directory.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

impl Demo {
    /// The files to keep, checked: log, policy, certificate, report.
    fn kept(&self) -> Result<Option<[PathBuf; 4]>> {
        let Some(dir) = &self.keep else { return Ok(None) };
        std::fs::create_dir_all(dir).map_err(|e| Error::io(dir, e))?;
        let files = ["log.parquet", "policy.json", "policy.certificate.json", "report.html"].map(|name| dir.join(name));
        output::check(&files.each_ref().map(PathBuf::as_path), &[])?;
        Ok(Some(files))
    }

    pub(crate) fn run(&self) -> Result<Done> {
        let clock = Instant::now();
        let engine = Engine::new(self.threads)?;
        let rows = self.rows;
        if rows < 300 {
            return Err(Error::data(format!("--rows {rows} is too few (at least 300)")));
        }
        let kept = self.kept()?;
        say::line(format_args!(
            "simulating {rows} rows of {}: contexts x0, x1; a log-normal action; a reward",
            self.environment
        ));
        let simulated = self.environment.simulate(rows, self.seed);
        let log = simulated.log()?;
        let parts = log.split(SplitRule::Column)?;
        let recipe = Recipe { seed: self.seed, ..Recipe::default() };
        let bar = Training::new(recipe.starts, recipe.proximal_steps());
        let rows_of = (parts.train.on(&engine), parts.valid.on(&engine));
        let learned = Learner::new(&recipe).watch(&|p| bar.watch(p)).learn_from(&rows_of);
        drop(bar);
        let learned = learned?;
        tell(&learned, &recipe, parts.train.schema(), parts.train.rows());
        let name = format!("a simulated log of {rows} rows ({})", self.environment);
        let terms = Terms { seed: self.seed, ..Terms::default() };
        let certificate = certify::issue(&engine, &learned.policy, &parts, &terms, &name)?;
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
        if let Some([log_file, policy_file, certificate_file, report_file]) = kept {
            let evidence = Evidence {
                engine: &engine,
                log: &log,
                parts: &parts,
                policy: &learned.policy,
                certificate: &certificate,
                recipe: Some(&recipe),
                selected: None,
                name,
                split: "in thirds".into(),
                seed: self.seed,
                detail: Detail::Aggregates,
            };
            let mut files = vec![
                (policy_file, learned.policy.to_json()),
                (certificate_file, certify::text(&certificate)),
                (report_file, policy_page(&explain_policy(&evidence)?)),
            ];
            files.extend(output::config_beside(&log_file, &LogConfig::of(log.schema(), Some("split"))));
            output::write_table(&simulated.table(), &log_file)?;
            output::write(&files)?;
            let dir = log_file.parent().unwrap_or(&log_file).display();
            say::line(format_args!("\nthe log, the policy and the report are in {dir}"));
        }
        say::line(format_args!("\ndone in {:.1} s", clock.elapsed().as_secs_f64()));
        say::json(serde_json::json!({
            "environment": self.environment.name(), "rows": rows, "seed": self.seed,
            "certificate": certificate, "search": learned.search,
            "truth": {"logging": logged, "learned": truth, "oracle": oracle},
        }));
        Ok(Done::certified(&certificate))
    }
}
