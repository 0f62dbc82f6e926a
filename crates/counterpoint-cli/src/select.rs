//! `counterpoint select`: many recipes, and the one the log believes in.

use crate::Done;
use crate::certify::{self, GuardArgs, Learnt, TermArgs};
use crate::learn::tell_estimate;
use crate::log_args::{LogArgs, Predictions, notes};
use crate::progress::Bar;
use crate::say;
use crate::{flag, output};
use clap::Args;
use counterpoint::budget::Budget;
use counterpoint::data::{Journal, Resumed};
use counterpoint::explain::{Evidence, explain_policy};
use counterpoint::recipe::MeanChoice;
use counterpoint::select::{Entry, Fit, Grid, Memory, Selected, Selector, Step};
use counterpoint::{Engine, Error, Estimator, Log, Result, evaluate};
use counterpoint_report::policy_page;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Train many recipes on the train part, judge them on the valid part, keep the best, certify it on the test part.
///
/// Candidates whose estimate rests on too few effective rows, or whose weights do not average to one, are not eligible. A
/// first round of short fits sends the better ones to a second round of full fits. Finished fits are written to a journal
/// beside the output: after ctrl-C or a crash, --resume continues without repeating them and ends in the same policy.
#[derive(Args)]
#[command(
    after_help = "Example:\n  counterpoint select log.parquet --context x0,x1 --action action --reward reward \\\n      --propensity propensity --split split -o policy.json"
)]
pub(crate) struct Select {
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    predictions: Predictions,
    /// A built-in grid or a grid file (TOML). auto: greedy policies by every model of the cost, judged on held-out folds. clp: the
    /// paper's policy; wide: the same for dozens of contexts and few rows; paper-synthetic, paper-warfarin, paper-cocoa.
    #[arg(long, default_value = "auto", value_name = "NAME|FILE")]
    grid: String,
    #[command(flatten)]
    terms: TermArgs,
    #[command(flatten)]
    guards: GuardArgs,
    /// Cross-validation folds over train and valid; 0 or 1: judge on the valid part alone. The grid's own by default.
    #[arg(long, value_name = "N")]
    folds: Option<usize>,
    /// Seed of everything random: the split by hash, starting points, bootstrap.
    #[arg(long, default_value_t = 0, value_parser = flag::seed, allow_negative_numbers = true)]
    seed: u64,
    /// Threads; 0 means one per core. The result does not depend on it.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = flag::threads, allow_negative_numbers = true)]
    threads: usize,
    /// Policy file to write (JSON); for policy.json, policy.certificate.json and policy.leaderboard.json go beside it.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Write a report to this file (HTML).
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Let the report show some rows of the log as they are; without it, only means and counts of ten rows and more.
    #[arg(long, requires = "report")]
    with_rows: bool,
    /// Continue an interrupted run from its journal.
    #[arg(long)]
    resume: bool,
    /// Time for the search, such as 60s, 5m or 1h, from when the log is read; --time 60s says the same. The best that was found by then is
    /// certified, and what there was no time for is said: the result then depends on the clock. A budget that is long enough changes
    /// nothing.
    #[arg(long, value_name = "DURATION", value_parser = flag::duration)]
    budget: Option<Duration>,
}

impl Select {
    pub(crate) fn run(&self) -> Result<Done> {
        // a duration behind --time is no column
        match self.log.time.as_deref().map(flag::duration) {
            Some(Ok(_)) if self.budget.is_some() => {
                Err(Error::data("--time and --budget both say how long it may take").hint("take one of the two out"))
            }
            Some(Ok(budget)) => {
                let log = LogArgs { time: None, ..self.log.clone() };
                self.run_within(&log, Some(budget))
            }
            _ => self.run_within(&self.log, self.budget),
        }
    }

    fn run_within(&self, log_args: &LogArgs, budget: Option<Duration>) -> Result<Done> {
        let mut grid = Grid::named_or_file(&self.grid)?;
        grid.folds = self.folds.unwrap_or(grid.folds);
        let engine = Engine::new(self.threads)?;
        let [file, certified, journal] =
            ["leaderboard.json", "certificate.json", "journal"].map(|e| output::beside(&self.output, e));
        self.check_outputs(log_args, &[&self.output, &file, &certified])?;
        let whole = log_args.read_to_learn(&engine, &self.predictions)?;
        let log = whole.heading();
        let watched = self.guards.read(log_args.rule(self.seed), |column, direction| {
            log_args.read_other(&engine, (&self.predictions, &log), (column, direction))
        })?;
        let learnt = Learnt::of(&watched, &engine)?;
        let guards = learnt.guards();
        let parts = whole.into_parts(log_args.rule(self.seed))?;
        let selected = with_journal(&journal, self.resume, |memory| {
            let rows = (parts.train.on(&engine), parts.valid.on(&engine));
            let budget = budget.map_or_else(Budget::unlimited, Budget::lasting);
            let selector = Selector::new(&grid).seed(self.seed).gate(self.terms.gate());
            selector.memory(memory).budget(budget).guards(&guards).select(&rows)
        })?;
        let board = leaderboard(&selected, &log);
        let mut sentences = notes(&log);
        sentences.extend(selected.sentence());
        let policy = selected.policy.to_json_noting(&sentences);
        let mut files = vec![(self.output.clone(), policy), (file, format!("{board:#}\n"))];
        tell(&selected, &log.schema().outcome);
        if let Some(said) = selected.sentence() {
            say::line("");
            say::wrapped(&said);
        } else if budget.is_some() {
            say::line("\n  all of it was done within the budget");
        }
        // a greedy policy was learned from the valid part too: its folds have spoken already
        let valid = match selected.recipe.policy {
            MeanChoice::Greedy(_) => None,
            _ => Some(evaluate(&parts.valid.on(&engine), &selected.policy, &Estimator::SNIPS)?),
        };
        if let Some(valid) = &valid {
            tell_estimate("valid part", valid, &log.schema().outcome);
            say::line("  (chosen on these rows, so a little too good to be true)");
        }
        let terms = self.terms.terms(self.seed);
        let certificate = certify::issue(&engine, &selected.policy, &parts, &terms, &log_args.name())?;
        certify::tell(&certificate, &log.schema().outcome);
        let guarded = certify::guarded(&engine, &selected.policy, &certificate, &watched, &terms)?;
        files.push((certified, certify::written(&certificate, guarded.as_ref())));
        if let Some(path) = &self.report {
            let evidence = Evidence {
                engine: &engine,
                log: &log,
                parts: &parts,
                policy: &selected.policy,
                certificate: &certificate,
                recipe: Some(&selected.recipe),
                selected: Some(&selected),
                name: log_args.name(),
                split: log_args.split_words(self.seed),
                seed: self.seed,
                detail: certify::detail(self.with_rows),
            };
            files.push((path.clone(), policy_page(&explain_policy(&evidence)?)));
        }
        // the fits are worth more than the files made of them: the journal goes last
        output::write(&files).map_err(|e| also(e, &kept(&journal)))?;
        match selected.left_out.is_empty() || !journal.exists() {
            true => drop(std::fs::remove_file(&journal)),
            false => say::note(kept(&journal)),
        }
        say::wrote(&files);
        say::json(serde_json::json!({
            "output": self.output.display().to_string(),
            "leaderboard": board,
            "left_out": selected.left_out,
            "propensities": log.schema().propensities,
            "certificate": certificate,
            "guarded": guarded,
            "valid": valid,
        }));
        Ok(certify::done(&certificate, guarded.as_ref()))
    }
}

impl Select {
    fn check_outputs(&self, log: &LogArgs, files: &[&Path]) -> Result<()> {
        if self.resume {
            output::overwrite(true); // the run that is continued may have been stopped after it wrote them
        }
        let mut inputs = log.files()?;
        inputs.push(PathBuf::from(&self.grid));
        let outputs: Vec<&Path> = files.iter().copied().chain(self.report.as_deref()).collect();
        output::check(&outputs, &inputs)
    }
}

/// What an interrupted run leaves, and how to go on.
fn kept(journal: &Path) -> String {
    format!("the finished fits stand in {}; add --resume to the same command to go on", journal.display())
}

/// The error with one more remedy.
fn also(e: Error, more: &str) -> Error {
    let hint = e.remedy().map_or(more.into(), |first| first.clone() + "; " + more);
    e.hint(hint)
}

/// Runs a selection with a journal of its fits. The journal stays until the caller has written what came of them, and
/// after an error that more room or another try may cure.
fn with_journal(path: &Path, resume: bool, work: impl FnOnce(&Memory) -> Result<Selected>) -> Result<Selected> {
    let Resumed { journal, known, damaged } = match resume {
        true => Journal::resume::<Fit>(path, &crate::program())?,
        false => Resumed { journal: Journal::create(path, &crate::program())?, known: Vec::new(), damaged: 0 },
    };
    let kept = kept(path);
    if damaged > 0 {
        say::note(format_args!(
            "{damaged} damaged lines of {} are left out; their fits are made again",
            path.display()
        ));
    }
    if !known.is_empty() {
        say::note(format_args!("resuming: {} finished fits stand in {}", known.len(), path.display()));
        output::on_interrupt(&*kept);
    }
    let bar = Bar::new(1, "selecting", "fits");
    let record = |fit: &Fit, step: Step| {
        output::undisturbed(|| journal.add(fit))?;
        output::on_interrupt(&*kept);
        bar.at(step.done as u64, step.of as u64);
        bar.message(format_args!("round {}", step.round));
        Ok(())
    };
    let selected = work(&Memory { known, record: &record });
    drop(bar);
    let nothing = std::fs::metadata(path).is_ok_and(|m| m.len() == 0);
    selected.map_err(|e| match e.kind() {
        counterpoint::error::Kind::Io if !nothing => also(e, &kept),
        _ => {
            // the work would fail again; what another run has left is not ours to delete
            if nothing || !resume {
                let _ = std::fs::remove_file(path);
            }
            e
        }
    })
}

/// The leaderboard for programs.
pub(crate) fn leaderboard(selected: &Selected, log: &Log) -> serde_json::Value {
    let estimated = log.schema().propensities.estimated().is_some();
    let rows: Vec<_> = selected
        .leaderboard
        .iter()
        .enumerate()
        .map(|(rank, e)| {
            serde_json::json!({
                "rank": rank + 1, "candidate": e.candidate, "round": e.round, "estimate": e.estimate, "std_error": e.std_error,
                "effective_share": e.effective_share, "mean_weight": e.mean_weight, "folds_passed": e.folds.0,
                "folds": e.folds.1, "propensities": if estimated { "estimated" } else { "logged" }, "failure": e.failure, "recipe": e.recipe,
            })
        })
        .collect();
    serde_json::Value::Array(rows)
}

/// The head of the leaderboard for people.
pub(crate) fn tell(selected: &Selected, outcome: &str) {
    if !selected.notes.is_empty() {
        say::heading("Searched");
        selected.notes.iter().for_each(|note| say::wrapped(note));
    }
    let refused = selected.leaderboard.iter().filter(|e| e.estimate.is_none()).count();
    say::heading(format_args!("Leaderboard ({} candidates, {refused} behind the gate)", selected.leaderboard.len()));
    say::line(format_args!(
        "  {:>4} {:>10} {:>9} {:>8} {:>7}  recipe",
        "rank",
        say::name(outcome, 10),
        "std error",
        "n_eff/n",
        "mean w"
    ));
    for (rank, e) in selected.leaderboard.iter().take(8).enumerate() {
        let value = e.estimate.map_or("refused".into(), say::number);
        let line = format!(
            "  {:>4} {value:>10} {:>9} {:>8.3} {:>7.3}  ",
            rank + 1,
            say::number(e.std_error),
            e.effective_share,
            e.mean_weight,
        );
        say::wrapped_after(&line, &differences(e, &selected.leaderboard));
    }
}

/// The fields in which candidates differ.
fn differences(entry: &Entry, all: &[Entry]) -> String {
    let table = |e: &Entry| -> toml::Table { toml::from_str(&e.recipe.to_toml()).unwrap_or_default() };
    let (mine, tables) = (table(entry), all.iter().map(table).collect::<Vec<_>>());
    mine.iter()
        .filter(|(field, value)| tables.iter().any(|t| t.get(*field) != Some(*value)))
        .map(|(field, value)| format!("{field} {}", value.to_string().trim_matches('"')))
        .collect::<Vec<_>>()
        .join(", ")
}
