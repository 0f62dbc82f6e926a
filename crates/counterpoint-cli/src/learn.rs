//! `counterpoint learn`: one recipe, one policy, and what the valid part says about it.

use crate::Done;
use crate::certify::{self, GuardArgs, Learnt, TermArgs};
use crate::log_args::{LogArgs, Predictions, notes};
use crate::progress::Training;
use crate::recipe_args::RecipeArgs;
use crate::say;
use crate::{flag, output};
use clap::Args;
use counterpoint::certify::Gate;
use counterpoint::data::{Outcome, Schema};
use counterpoint::evaluate::Estimate;
use counterpoint::explain::{Evidence, explain_policy};
use counterpoint::learn::{Learned, Learner, Searched};
use counterpoint::{Engine, Estimator, Policy, Recipe, Result, evaluate};
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
    predictions: Predictions,
    #[command(flatten)]
    recipe: RecipeArgs,
    /// Policy file to write (JSON); for policy.json the certificate goes to policy.certificate.json.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    terms: TermArgs,
    #[command(flatten)]
    guards: GuardArgs,
    /// Write a report to this file (HTML).
    #[arg(long, value_name = "FILE", conflicts_with = "no_certify")]
    report: Option<PathBuf>,
    /// Let the report show some rows of the log as they are; without it, only means and counts of ten rows and more.
    #[arg(long, requires = "report")]
    with_rows: bool,
    /// Do not read the test part and give no certificate.
    #[arg(long)]
    no_certify: bool,
    /// The logging policy as a policy file; the estimators switch and cab need it.
    #[arg(long, value_name = "FILE")]
    logging_policy: Option<PathBuf>,
    /// Threads; 0 means one per core. The result does not depend on it.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = flag::threads, allow_negative_numbers = true)]
    threads: usize,
}

impl Learn {
    pub(crate) fn run(&self) -> Result<Done> {
        let recipe = self.recipe.read()?;
        let engine = Engine::new(self.threads)?;
        self.check_outputs()?;
        let whole = self.log.read_to_learn(&engine, &self.predictions)?;
        let log = whole.heading();
        let watched = self.guards.read(self.log.rule(recipe.seed), |column, direction| {
            self.log.read_other(&engine, (&self.predictions, &log), (column, direction))
        })?;
        let learnt = Learnt::of(&watched, &engine)?;
        let guards = learnt.guards();
        let logging = self.logging_policy.as_ref().map(Policy::load).transpose()?;
        let parts = whole.into_parts(self.log.rule(recipe.seed))?;
        let bar = Training::new(recipe.starts, recipe.proximal_steps());
        let rows = (parts.train.on(&engine), parts.valid.on(&engine));
        let terms = self.terms.terms(recipe.seed);
        let learner = Learner::new(&recipe).logging(logging.as_ref()).gate(terms.gate).guards(&guards);
        let learned = learner.watch(&|p| bar.watch(p)).learn_from(&rows);
        drop(bar);
        let learned = learned?;
        tell(&learned, &recipe, log.schema(), parts.train.rows());
        // a greedy policy was learned from the valid part too: its folds have spoken already
        let valid = match learned.search {
            Some(_) => None,
            None => Some(evaluate(&parts.valid.on(&engine), &learned.policy, &Estimator::SNIPS)?),
        };
        if let Some(valid) = &valid {
            tell_estimate("valid part", valid, &log.schema().outcome);
        }
        let mut files = vec![(self.output.clone(), learned.policy.to_json_noting(&notes(&log)))];
        let certificate = if self.no_certify {
            None
        } else {
            let c = certify::issue(&engine, &learned.policy, &parts, &terms, &self.log.name())?;
            certify::tell(&c, &log.schema().outcome);
            let guarded = certify::guarded(&engine, &learned.policy, &c, &watched, &terms)?;
            files.push((certify::beside(&self.output), certify::written(&c, guarded.as_ref())));
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
                    detail: certify::detail(self.with_rows),
                };
                files.push((path.clone(), policy_page(&explain_policy(&evidence)?)));
            }
            Some((c, guarded))
        };
        output::write(&files)?;
        say::wrote(&files);
        say::json(serde_json::json!({
            "output": self.output.display().to_string(),
            "objective": learned.objective,
            "std": learned.parametric().map(Policy::std),
            "search": learned.search,
            "starts": learned.starts,
            "best_start": learned.best,
            "silent_contexts": learned.silent_contexts,
            "valid": valid,
            "propensities": learned.propensities,
            "recipe": recipe,
            "certificate": certificate.as_ref().map(|(c, _)| c),
            "guarded": certificate.as_ref().and_then(|(_, g)| g.as_ref()),
        }));
        Ok(certificate.as_ref().map_or(Done::Yes, |(c, g)| certify::done(c, g.as_ref())))
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
    if let Some(search) = &learned.search {
        return tell_search(search, &schema.outcome);
    }
    say::heading("Learned");
    let passes: usize = learned.starts.iter().map(|s| s.evaluations).sum();
    let finite = || learned.starts.iter().map(|s| s.objective).filter(|o| o.is_finite());
    let (worst, better) = match schema.direction {
        Outcome::Reward => (finite().fold(f64::INFINITY, f64::min), "rewards, larger is better"),
        Outcome::Cost => (finite().fold(f64::NEG_INFINITY, f64::max), "costs, smaller is better"),
    };
    say::line(format_args!(
        "  {rows} rows, {} parameters, {} starts, {passes} passes over the data",
        learned.parametric().map_or(0, |p| p.theta.len()),
        recipe.starts
    ));
    if let Some([some, all]) = learned.first_look {
        say::line(format_args!(
            "  the first steps saw {some} of {all} rows, later ones twice as many each, the last one all of them"
        ));
    }
    say::line(format_args!("  training objective {:.5} (worst start {worst:.5}; {better})", learned.objective));
    let stds: Vec<String> =
        learned.parametric().map(Policy::std).unwrap_or_default().iter().map(|s| format!("{s:.4}")).collect();
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

/// What a search found: what it noticed, and the best candidates.
pub(crate) fn tell_search(search: &Searched, outcome: &str) {
    say::heading("Learned");
    for note in &search.notes {
        say::wrapped(note);
    }
    say::heading(format_args!("Candidates on held-out folds (doubly robust, {} tried)", search.board.len()));
    say::line(format_args!(
        "  {:>9} {:>9} {:>8} {:>7} {:>6} {:>5}  rule",
        outcome_word(outcome),
        "std error",
        "n_eff/n",
        "weight",
        "noise",
        "step"
    ));
    for line in search.board.iter().take(5) {
        say::line(format_args!(
            "  {:>9.4} {:>9.4} {:>8.3} {:>7.3} {:>6.2} {:>5.2}  {}",
            line.estimate,
            line.std_error,
            line.effective_share,
            line.mean_weight,
            line.share,
            line.step,
            say::short(&line.rule, 24)
        ));
    }
}

/// A column's name where there is little room.
fn outcome_word(outcome: &str) -> String {
    say::short(outcome, 9)
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
