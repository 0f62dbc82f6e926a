//! `counterpoint learn`: one recipe, one policy, and what the valid part says about it.

use crate::Done;
use crate::ask::{LogArgs, RecipeArgs, notes};
use crate::certify::{self, TermArgs};
use crate::progress::Training;
use crate::say;
use crate::{flag, output};
use clap::Args;
use counterpoint::data::{Outcome, Schema};
use counterpoint::explain::{Evidence, explain_policy};
use counterpoint::{Engine, Estimate, Estimator, Gate, Learned, Learner, Policy, Recipe, Result, evaluate};
use counterpoint_report::policy_page;
use std::path::PathBuf;

/// Train one recipe on the train part of a log, certify the policy on the test part, and write both.
///
/// Every look at the test part uses it up a little: to compare recipes use `select`, or --no-certify, which leaves the test
/// part alone.
#[derive(Args)]
#[command(
    after_help = "Example:\n  counterpoint learn log.parquet --context x0,x1 --action action --reward reward \\\n      --propensity propensity --split split -o policy.json"
)]
pub(crate) struct Learn {
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
    /// Policy file to write (JSON); for policy.json the certificate goes to policy.certificate.json.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    terms: TermArgs,
    /// Write a report to this file (HTML).
    #[arg(long, value_name = "FILE", conflicts_with = "no_certify")]
    report: Option<PathBuf>,
    /// Do not read the test part and give no certificate.
    #[arg(long)]
    no_certify: bool,
    /// The logging policy as a policy file; the estimators switch and cab need it.
    #[arg(long, value_name = "FILE")]
    logging_policy: Option<PathBuf>,
    /// Threads; 0 means one a core. The result does not depend on it.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = flag::threads, allow_negative_numbers = true)]
    threads: usize,
}

impl Learn {
    pub(crate) fn run(&self) -> Result<Done> {
        let recipe = self.recipe.read()?;
        let engine = Engine::new(self.threads)?;
        self.check_outputs()?;
        let whole = self.log.read(&engine)?;
        let log = whole.heading();
        let logging = self.logging_policy.as_ref().map(Policy::load).transpose()?;
        let parts = whole.into_parts(self.log.rule(recipe.seed))?;
        let bar = Training::new(recipe.starts, recipe.proximal_steps());
        let learned =
            Learner::new(&recipe).logging(logging.as_ref()).watch(&|p| bar.watch(p)).learn(&parts.train.on(&engine));
        drop(bar);
        let learned = learned?;
        let valid = evaluate(&parts.valid.on(&engine), &learned.policy, &Estimator::SNIPS)?;
        tell(&learned, &recipe, log.schema(), parts.train.rows());
        tell_estimate("valid part", &valid, &log.schema().outcome);
        let mut files = vec![(self.output.clone(), learned.policy.to_json_noting(&notes(&log)))];
        let certificate = if self.no_certify {
            None
        } else {
            let c = certify::issue(&engine, &learned.policy, &parts, &self.terms.terms(recipe.seed))?;
            certify::tell(&c, &log.schema().outcome);
            files.push((certify::beside(&self.output), certify::text(&c)));
            if let Some(path) = &self.report {
                let evidence = Evidence {
                    engine: &engine,
                    log: &log,
                    parts: &parts,
                    policy: &learned.policy,
                    certificate: &c,
                    recipe: Some(&recipe),
                    selected: None,
                    name: self.log.name(),
                    split: self.log.split_words(recipe.seed),
                    seed: recipe.seed,
                };
                files.push((path.clone(), policy_page(&explain_policy(&evidence)?)));
            }
            Some(c)
        };
        output::write(&files)?;
        say::wrote(&files);
        say::json(serde_json::json!({
            "output": self.output.display().to_string(),
            "objective": learned.objective,
            "std": learned.policy.std(),
            "starts": learned.starts,
            "best_start": learned.best,
            "silent_contexts": learned.silent_contexts,
            "valid": valid,
            "propensities": learned.propensities,
            "recipe": recipe,
            "certificate": certificate,
        }));
        Ok(certificate.as_ref().map_or(Done::Yes, Done::certified))
    }
}

impl Learn {
    fn check_outputs(&self) -> Result<()> {
        let certificate = certify::beside(&self.output);
        let mut outputs = vec![self.output.as_path()];
        outputs.extend((!self.no_certify).then_some(certificate.as_path()));
        outputs.extend(self.report.as_deref());
        let mut inputs = self.log.files()?;
        inputs.extend(self.recipe.recipe.iter().chain(&self.logging_policy).cloned());
        output::check(&outputs, &inputs)
    }
}

/// What training found.
pub(crate) fn tell(learned: &Learned, recipe: &Recipe, schema: &Schema, rows: usize) {
    say::heading("Learned");
    let passes: usize = learned.starts.iter().map(|s| s.evaluations).sum();
    let finite = || learned.starts.iter().map(|s| s.objective).filter(|o| o.is_finite());
    let (worst, better) = match schema.direction {
        Outcome::Reward => (finite().fold(f64::INFINITY, f64::min), "rewards, larger is better"),
        Outcome::Cost => (finite().fold(f64::NEG_INFINITY, f64::max), "costs, smaller is better"),
    };
    say::line(format_args!(
        "  {rows} rows, {} parameters, {} starts, {passes} passes over the data",
        learned.policy.theta.len(),
        recipe.starts
    ));
    say::line(format_args!("  training objective {:.5} (worst start {worst:.5}; {better})", learned.objective));
    let stds: Vec<String> = learned.policy.std().iter().map(|s| format!("{s:.4}")).collect();
    say::line(format_args!(
        "  std of the policy {}; best start: {}",
        stds.join(", "),
        learned.starts[learned.best].stop
    ));
    if !learned.silent_contexts.is_empty() {
        say::line(format_args!(
            "  note: these contexts do not vary and say nothing: {}",
            learned.silent_contexts.join(", ")
        ));
    }
}

/// What a part of the log says about the policy.
pub(crate) fn tell_estimate(part: &str, e: &Estimate, outcome: &str) {
    say::heading(format_args!("Estimated on the {part} (self-normalised)"));
    say::line(format_args!("  {outcome} of the log       {:>9.4} ± {:.4}", e.logged, e.logged_std_error));
    say::line(format_args!("  {outcome} of the policy    {:>9.4} ± {:.4}", e.estimate, e.std_error));
    say::line(format_args!(
        "  rests on {:.0} effective rows of {:.0} ({:.1}%); mean weight {:.3} (should be near 1)",
        e.effective,
        e.rows,
        100.0 * e.effective / e.rows,
        e.mean_weight
    ));
    if !Gate::default().passes(e.effective, e.rows, e.mean_weight) {
        say::line(
            "  warning: too few effective rows or weights that do not average to 1: do not believe this estimate",
        );
    }
}
