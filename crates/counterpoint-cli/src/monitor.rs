//! `counterpoint monitor`: follow a policy over batches of rows, with an answer that holds whenever one looks.

use crate::Done;
use crate::say;
use crate::target::{Asked, TargetArgs};
use crate::{flag, output};
use clap::Args;
use counterpoint::certify::{Look, Standing, Watch, WatchTerms};
use counterpoint::{Engine, Error, Result};
use std::path::PathBuf;

/// Follow a policy as rows come in: better, worse, or undecided so far; look as often as you like.
///
/// New rows are folded into a state file, each of them once. They may be rows of the log, weighed by the policy, or rows of the deployed
/// policy itself with its own densities as propensities; then say with --against what they are compared with. The intervals hold at
/// all moments together, so an alarm may be acted on at once. States of several places add up with --merge.
#[derive(Args)]
#[command(
    after_help = "Exit 0: better; 1: undecided; 3: worse; 2: error.\n\nExample:\n  counterpoint monitor policy.json monday.parquet --state s.json --outcome-range 0,1 \\\n      --action action --reward reward --propensity propensity\n  counterpoint monitor policy.json tuesday.parquet --state s.json --action action \\\n      --reward reward --propensity propensity\n  counterpoint monitor --state all.json --merge north.json,south.json"
)]
pub(crate) struct Monitor {
    #[command(flatten)]
    target: TargetArgs,
    /// The state: made by the first call, carried on by the later ones.
    #[arg(long, value_name = "FILE")]
    state: PathBuf,
    /// Smallest and largest outcome that can happen, LOW,HIGH; needed to start.
    #[arg(long, value_name = "LOW,HIGH", value_parser = flag::range, allow_hyphen_values = true)]
    outcome_range: Option<[f64; 2]>,
    /// How often the intervals hold the truth at all moments together; 0.95 unless the state says otherwise.
    #[arg(long, value_name = "SHARE", value_parser = flag::between_0_and_1)]
    confidence: Option<f64>,
    /// Compare with this value of the outcome instead of with the log's own on the same rows.
    #[arg(long, value_name = "VALUE", value_parser = flag::outcome, allow_negative_numbers = true)]
    against: Option<f64>,
    /// States of other places to add, separated by commas.
    #[arg(long, value_name = "FILES", value_delimiter = ',')]
    merge: Vec<PathBuf>,
    /// Threads; 0 means one per core.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = flag::threads, allow_negative_numbers = true)]
    threads: usize,
}

impl Monitor {
    pub(crate) fn run(&self) -> Result<Done> {
        self.target.check()?;
        let mut inputs = self.merge.clone();
        inputs.extend(self.target.file().cloned());
        let reads = self.target.given();
        if reads {
            inputs.extend(self.target.log().files()?);
        }
        output::claim(&self.state, &inputs)?;
        let mut watch = if self.state.exists() { Some(self.resumed()?) } else { None };
        for path in &self.merge {
            let other = Watch::load(path)?;
            match &mut watch {
                Some(watch) => {
                    watch.merge(&other).map_err(|e| e.at(path.display().to_string()))?;
                }
                None => watch = Some(other),
            }
        }
        if reads {
            watch = Some(self.fold(watch)?);
        }
        let Some(watch) = watch else {
            return Err(
                Error::data("there is nothing to follow").hint("give a policy and rows, or states with --merge")
            );
        };
        output::write(&[(self.state.clone(), watch.to_json())])?;
        tell(&watch);
        say::wrote(&[(self.state.clone(), String::new())]);
        let look = watch.look();
        say::json(serde_json::json!({"look": look, "terms": watch.terms(), "own_rows": watch.has_own_rows_only()}));
        Ok(match look.standing {
            Standing::Better => Done::Yes,
            Standing::Undecided => Done::NotCertified,
            Standing::Worse => Done::Alarm,
        })
    }

    /// The state as it was left; terms that are said again must be those it was started with.
    fn resumed(&self) -> Result<Watch> {
        let watch = Watch::load(&self.state)?;
        let terms = watch.terms();
        let differs = [
            ("--outcome-range", self.outcome_range.is_some_and(|r| r != terms.outcome_range)),
            ("--confidence", self.confidence.is_some_and(|c| c != terms.confidence)),
            ("--against", self.against.is_some() && self.against != terms.against),
        ];
        match differs.iter().find(|d| d.1) {
            Some((flag, _)) => Err(Error::data(format!("the state was started with another {flag}"))
                .at(self.state.display().to_string())
                .hint("what a monitor promises holds for the terms it began with: leave the flag out, or start a new state")),
            None => Ok(watch),
        }
    }

    fn fold(&self, watch: Option<Watch>) -> Result<Watch> {
        let engine = Engine::new(self.threads)?;
        let Asked { policy, log, .. } = self.target.read(&engine)?;
        let rows = log.on(&engine);
        let mut watch = match watch {
            Some(watch) => watch,
            None => {
                let Some(outcome_range) = self.outcome_range else {
                    return Err(Error::data("a new state needs the range of the outcome")
                        .hint("say --outcome-range LOW,HIGH: the smallest and the largest outcome that can happen"));
                };
                let confidence = self.confidence.unwrap_or(0.95);
                Watch::new(policy.as_ref(), &rows, WatchTerms { confidence, outcome_range, against: self.against })?
            }
        };
        watch.fold(policy.as_ref(), &rows)?;
        Ok(watch)
    }
}

/// What the rows so far say.
fn tell(watch: &Watch) {
    let look: Look = watch.look();
    let (word, news) = match look.standing {
        Standing::Better => ("BETTER", say::News::Good),
        Standing::Worse => ("WORSE: alarm", say::News::Bad),
        Standing::Undecided => ("UNDECIDED so far", say::News::Mixed),
    };
    let terms = watch.terms();
    say::news("Monitor:", word, news);
    let row = |name: &str, [low, high]: [f64; 2]| {
        say::line(format_args!("  {name:<34} [{}, {}]", say::fixed(low), say::fixed(high)));
    };
    row("value of the policy", look.value);
    match terms.against {
        Some(against) => row(&format!("less {}", say::number(against)), look.difference),
        None => row("less that of the log, same rows", look.difference),
    }
    say::line(format_args!(
        "  {} rows in {} looks; {:.0}% confidence at all moments together",
        look.rows,
        watch.looks().len(),
        100.0 * terms.confidence
    ));
    if watch.has_own_rows_only() && terms.against.is_none() {
        say::line("  note: every weight is 1: these rows are the policy's own and cannot be compared with");
        say::line("  themselves; start a state with --against VALUE, what the log earned before");
    }
}
