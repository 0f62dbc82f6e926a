//! `counterpoint evaluate`: a given policy, every estimator side by side.

use crate::Done;
use crate::certify::tell_ratio;
use crate::log_args::takes_rows;
use crate::say;
use crate::target::{Asked, TargetArgs};
use clap::{Args, ValueEnum};
use counterpoint::certify::{Interval, Spread, Terms, mean_action, mean_action_value, ratio, spread};
use counterpoint::data::{Outcome, Parts};
use counterpoint::estimate::LossModel;
use counterpoint::evaluate::{Aids, paper_bounds};
use counterpoint::explain::{EstimatorRow, EstimatorTable, estimator_table};
use counterpoint::folds::DRAWS;
use counterpoint::learn::fit_model;
use counterpoint::policy::TargetPolicy;
use counterpoint::{Engine, Error, Log, Policy, Recipe, Result};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// From fewer effective rows no error can be told.
const FEW: f64 = 10.0;

/// Which rows are read.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Rows {
    All,
    Train,
    Valid,
    Test,
}

impl Rows {
    /// These rows of a log and its parts, if it could be divided.
    fn of<'a>(self, whole: &'a Log, parts: &'a Result<Parts>) -> Option<&'a Log> {
        match (self, parts) {
            (Rows::All, _) => Some(whole),
            (Rows::Train, Ok(parts)) => Some(&parts.train),
            (Rows::Valid, Ok(parts)) => Some(&parts.valid),
            (Rows::Test, Ok(parts)) => Some(&parts.test),
            (_, Err(_)) => None,
        }
    }
}

/// Estimate what a given policy would have cost or earned, by every estimator.
///
/// The direct method, doubly robust estimates, SWITCH and CAB need a loss model: a ridge regression on the train part, which
/// the rows of the estimate should not be part of. SWITCH and CAB also need the logging policy as a function. Intervals are
/// normal ones of 95%; for a verdict use `certify`.
#[derive(Args)]
#[command(
    after_help = "Example:\n  counterpoint evaluate policy.json log.parquet --context x0,x1 --action action \\\n      --reward reward --propensity propensity --split split --rows valid\n  counterpoint evaluate log.parquet --target-density mine --action action --reward reward \\\n      --propensity propensity        # a policy of your own, by its densities in the log"
)]
pub(crate) struct Evaluate {
    #[command(flatten)]
    target: TargetArgs,
    /// Which rows to use: all, train, valid or test (split as `learn` splits them). Every look at test uses it up a little.
    #[arg(long, value_enum, default_value = "valid")]
    rows: Rows,
    /// Seed of the split, the one given to `learn`.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Cap of the clipped estimates and threshold of switch.
    #[arg(long, default_value_t = 15.0, value_parser = crate::flag::positive)]
    cap: f64,
    /// Ridge of the loss model.
    #[arg(long, default_value_t = 1e-3, value_parser = crate::flag::positive)]
    model_ridge: f64,
    /// Share of the worst outcomes whose mean is shown (conditional value at risk).
    #[arg(long, default_value_t = 0.1, value_name = "SHARE", value_parser = crate::flag::between_0_and_1)]
    tail: f64,
    /// A column to divide the outcome by, such as spend: shows the ratio of their means under policy and log, with intervals.
    #[arg(long, value_name = "COLUMN")]
    per: Option<String>,
    /// Compute the paper's bounds (Propositions 4.1, 5.1 and E.1) with their assumptions, for a policy of `--set policy=clp` with a normal law. They are
    /// vacuous at common sizes.
    #[arg(long)]
    bounds: bool,
    /// The logging policy as a policy file; switch and cab need it.
    #[arg(long)]
    logging_policy: Option<PathBuf>,
    /// Threads; 0 means one per core.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = crate::flag::threads, allow_negative_numbers = true)]
    threads: usize,
}

impl Evaluate {
    pub(crate) fn run(&self) -> Result<Done> {
        let logging = self.logging_policy.as_ref().map(Policy::load).transpose()?;
        let engine = Engine::new(self.threads)?;
        let Asked { policy, name, log: whole, .. } = self.target.read(&engine)?;
        let policy = policy.as_ref();
        let parts = whole.split(self.target.log().rule(self.seed));
        let log = match self.rows.of(&whole, &parts) {
            Some(log) => log,
            None => return parts.map(|_| Done::Yes),
        };
        // what the flags ask for is refused before anything is said
        let per = self.per.as_ref().map(|per| {
            let other = self.target.read_other(&engine, &whole, (per, Outcome::Cost))?;
            let others = other.split(self.target.log().rule(self.seed));
            let below = self.rows.of(&other, &others).ok_or_else(|| Error::data("the rows cannot be divided"))?;
            ratio(policy, &log.on(&engine), &below.on(&engine), &Terms::default())
        });
        let per = per.transpose()?;
        let bounds = self.bounds.then(|| {
            let parametric = policy.parametric().ok_or_else(|| {
                Error::policy("the paper's bounds are for a counterfactual loss predictor (kind \"parametric\")")
                    .hint("learn one with `learn --set policy=clp --set family=normal`")
            })?;
            paper_bounds(&log.on(&engine), parametric, self.cap, 0.95)
        });
        let bounds = bounds.transpose()?;
        let recipe = Recipe::clp().with_model_ridge(self.model_ridge);
        // a log too short to divide can still be weighed
        let model = match &parts {
            Ok(parts) => fit_model(&parts.train.on(&engine), policy, &recipe),
            Err(e) => Err(Error::data(e.to_string())),
        };
        say::heading(format_args!("{} of {name} on {} rows", log.schema().outcome, log.rows()));
        let aids = Aids { model: model.as_ref().ok(), logging: logging.as_ref(), ..Aids::default() };
        let table = estimator_table(&engine, log, policy, self.cap, aids);
        tell(&table);
        let mut all = as_json(&table);
        let mut notes = self.notes(aids);
        let effective = table.estimators.iter().filter_map(|e| e.effective).next();
        notes.extend(effective.filter(|n| *n < FEW).map(|n| {
            format!(
                "only {n:.1} of {} rows are effective: standard errors and intervals from so few mean nothing",
                log.rows()
            )
        }));
        match spread(policy, &log.on(&engine), self.tail, 0.95) {
            Ok(spread) => {
                tell_spread(&spread);
                all.insert("distribution".into(), serde_json::to_value(&spread).unwrap_or_default());
            }
            Err(e) => notes.push(format!("no distribution of the outcome: {e}")),
        }
        notes.extend(model.as_ref().err().map(|e| format!("no loss model: {e}")));
        match mean_action(policy, &log.on(&engine), 0.95) {
            Ok(mean) => {
                say::line("");
                say::wrapped(&format!("always playing the mean action, which is another policy: {mean}"));
                all.insert("mean_action".into(), serde_json::to_value(&mean).unwrap_or_default());
            }
            Err(e) => notes.push(format!("no value of the mean action: {}", e.what())),
        }
        if let Some(mean) = model.as_ref().ok().and_then(|model| by_model(log, policy, model).transpose()) {
            all.insert("mean_action_by_model".into(), mean?);
        }
        if let Some(ratio) = per {
            tell_ratio(&ratio, None);
            all.insert("ratio".into(), serde_json::to_value(&ratio).unwrap_or_default());
        }
        if let Some(bounds) = bounds {
            say::heading("The paper's bounds (95%)");
            bounds.to_string().lines().for_each(say::wrapped);
            all.insert("bounds".into(), serde_json::to_value(&bounds).unwrap_or_default());
        }
        if all.values().any(|e| e.get("draws").is_some()) {
            notes.push(format!(
                "the loss model's expectation under this policy is a mean over {DRAWS} drawn actions per row"
            ));
        }
        notes.extend(log.schema().cluster.as_ref().map(|c| takes_rows(c, "these errors take")));
        notes.extend(log.schema().propensities.sentence());
        notes.iter().for_each(|n| say::line(format_args!("  note: {n}")));
        all.insert("notes".into(), notes.into());
        say::json(Value::Object(all));
        Ok(Done::Yes)
    }

    fn notes(&self, aids: Aids) -> Vec<String> {
        let mut out = Vec::new();
        if aids.logging.is_none() {
            out.push("switch and cab need --logging-policy FILE".into());
        }
        if aids.model.is_some() {
            out.push(
                "the direct method's error is that of the rows alone: if the loss model is wrong, so is it".into(),
            );
        }
        if aids.model.is_some() && matches!(self.rows, Rows::All | Rows::Train) {
            out.push("the loss model has seen rows it is judged on here; --rows valid has not this fault".into());
        }
        if self.rows == Rows::Test {
            out.push("these are the test rows: choose nothing by them, or a certificate on them means less".into());
        }
        out
    }
}

/// The table for people: every estimator, one line each, and the log itself.
fn tell(table: &EstimatorTable) {
    say::line(format_args!(
        "  {:<18} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8}",
        "estimator", "estimate", "std error", "lower 95", "upper 95", "n_eff/n", "mean w"
    ));
    let numbers =
        |i: &Interval| [i.estimate, i.std_error, i.lower, i.upper].map(|v| format!("{:>9}", say::number(v))).join(" ");
    let shown = |v: Option<f64>| v.map_or("-".into(), |v| format!("{v:.3}")); // "-": no row is weighed
    for e in &table.estimators {
        match (&e.answer, &e.failure) {
            (Some(i), _) => say::line(format_args!(
                "  {:<18} {} {:>8} {:>8}",
                e.name,
                numbers(i),
                shown(e.effective_share),
                shown(e.mean_weight)
            )),
            (None, why) => {
                let why = why.as_deref().unwrap_or_default();
                say::line(format_args!("  {:<18} not available: {why}", e.name));
            }
        }
    }
    say::line(format_args!("  {:<18} {}", "the log itself", numbers(&table.logged)));
}

/// How outcomes are distributed, beside the log's own.
fn tell_spread(spread: &Spread) {
    let one =
        |i: &Interval| format!("{:>9} [{}, {}]", say::number(i.estimate), say::number(i.lower), say::number(i.upper));
    say::line(format_args!("\n  {:<20} {:<32} {}", "distribution", "  policy, 95% interval", "  log"));
    for q in &spread.quantiles {
        let name = format!("{:.0}% lie below", 100.0 * q.level);
        say::line(format_args!("  {name:<20} {:<32} {}", one(&q.policy), one(&q.logged)));
    }
    let name = format!("mean of worst {:.0}%", 100.0 * spread.share);
    say::line(format_args!("  {name:<20} {:<32} {}", one(&spread.tail), one(&spread.logged_tail)));
}

/// The table for programs: an object per estimator.
fn as_json(table: &EstimatorTable) -> Map<String, Value> {
    let interval =
        |i: &Interval| json!({"estimate": i.estimate, "std_error": i.std_error, "lower": i.lower, "upper": i.upper});
    let one = |e: &EstimatorRow| {
        let Some(i) = &e.answer else { return json!({"failure": e.failure}) };
        let mut said = interval(i);
        said["rows"] = table.rows.into();
        if e.draws > 0 {
            said["draws"] = e.draws.into();
        }
        if let (Some(effective), Some(share), Some(mean)) = (e.effective, e.effective_share, e.mean_weight) {
            said["effective"] = effective.into();
            said["effective_share"] = share.into();
            said["mean_weight"] = mean.into();
        }
        said
    };
    let mut all: Map<String, Value> = table.estimators.iter().map(|e| (e.name.clone(), one(e))).collect();
    all.insert("logged".into(), interval(&table.logged));
    all
}

/// The value of always playing the policy's mean action, as far as the loss model is right.
fn by_model(log: &Log, policy: &dyn TargetPolicy, model: &LossModel) -> Result<Option<Value>> {
    let Some(value) = mean_action_value(log, policy, model)? else { return Ok(None) };
    say::line(format_args!("  the same by the loss model: {value:.4} (no interval)"));
    Ok(Some(json!({"estimate": value})))
}
