//! Arguments that several commands share: where the log is and which column is which.
//!
//! What the flags leave open is taken from `log.toml`; what is then still open is an error that lists the columns.

use crate::{say, times};
use clap::Args;
use counterpoint::data::{
    Estimated, Input, LikelyCluster, LogConfig, MISSING, Missing, Outcome, PropensityRole, ReadOptions, Roles, Scratch,
    SplitRule, Store, TargetColumns, columns, likely_clusters, predicted_columns, read_bare_log, read_log,
};
use counterpoint::describe::{check_propensities, drift};
use counterpoint::policy::SavedPolicy;
use counterpoint::{Engine, Error, Log, Result, propensity};
use std::path::PathBuf;

/// The log and its columns.
#[derive(Args, Clone)]
#[command(next_help_heading = "Log")]
pub(crate) struct LogArgs {
    /// The log: .parquet, .csv, .tsv, .csv.gz, .jsonl or .arrow, or a store (.cps) that `pack` has made; - is standard input (CSV or JSON lines); a file, a directory (key=value folders become columns), a quoted
    /// pattern such as 'logs/*.parquet', or several of them.
    pub(crate) log: Vec<PathBuf>,
    /// Context columns, separated by commas; a name with a comma in it is written in double quotes. '*' takes every column
    /// without another role, 'x_*' those that match. Columns of words are read as categories.
    #[arg(long, num_args = 0..=1, default_missing_value = "", value_name = "COLUMNS")]
    pub(crate) context: Option<Vec<String>>,
    /// Columns that a pattern in --context must not take, separated by commas.
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) exclude: Option<Vec<String>>,
    /// Action column, or several separated by commas.
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) action: Option<Vec<String>>,
    /// Outcome column, larger is better.
    #[arg(long, conflicts_with = "cost", value_name = "COLUMN")]
    pub(crate) reward: Option<String>,
    /// Outcome column, smaller is better.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) cost: Option<String>,
    /// Column with the density of the logged action; or `fit`: none was logged, estimate it from actions and contexts
    /// (`column:fit` is a column of that name).
    #[arg(long, value_name = "COLUMN|fit")]
    pub(crate) propensity: Option<String>,
    /// Column that rows which belong together share (a user, a branch): they are never divided, and a certificate counts clusters.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) cluster: Option<String>,
    /// Column with sampling weights, in any unit: rows of which one in ten was kept weigh 10 times as much as rows that were all kept.
    /// Errors are those of the rows there are.
    #[arg(long, value_name = "COLUMN", conflicts_with = "count")]
    pub(crate) weight: Option<String>,
    /// Column with frequencies: a row of count 2 is two equal rows.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) count: Option<String>,
    /// Column that says train, valid or test; without it rows are split 50/25/25 by a seeded hash of their number.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) split: Option<String>,
    /// Column that says when a row happened, a number or a word that sorts (2024-03-31): the earlier half is train, the next quarter valid,
    /// the last quarter test, and what moved between train and test is said.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) time: Option<String>,
    /// Contexts to read as categories though they are written as numbers.
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) categorical: Option<Vec<String>>,
    /// What becomes of rows with a missing context: refuse; or indicator: a missing number is replaced by the mean of its column
    /// and marked in a column of its own, a missing word is a category of its own.
    #[arg(long, value_name = "HOW", value_parser = missing)]
    pub(crate) missing: Option<Missing>,
    /// Skip rows with an unusable value, and say how many; without it the first one is an error.
    #[arg(long)]
    pub(crate) drop_invalid: bool,
    /// Hold the rows in a nameless file in this directory instead of memory, for logs larger than memory. The result is the
    /// same; local disk, please.
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Memory for the log and what is made of it, such as 2G. A log whose rows take more than a quarter of it is held in a nameless file, in the
    /// directory of --scratch or in the system's own for temporary files, and that is said; smaller ones stay in memory.
    #[arg(long, value_name = "SIZE", value_parser = crate::memory::size)]
    pub(crate) memory: Option<u64>,
    /// File that names the columns once (TOML); without it, log.toml beside the log. Flags win over it.
    #[arg(long, value_name = "FILE")]
    pub(crate) log_config: Option<PathBuf>,
}

impl LogArgs {
    /// Reads and checks the log; only the named columns are decoded.
    pub(crate) fn read(&self, engine: &Engine) -> Result<Log> {
        self.read_by(engine, Asking::Nothing)
    }

    /// Reads the log with columns of predictions, where some are named here or in log.toml.
    pub(crate) fn read_to_learn(&self, engine: &Engine, predictions: &Predictions) -> Result<Log> {
        self.read_by(engine, Asking::Predictions(predictions))
    }

    /// The same rows once more, with another column as their outcome.
    pub(crate) fn read_other(
        &self,
        engine: &Engine,
        (predictions, primary): (&Predictions, &Log),
        (column, direction): (&str, Outcome),
    ) -> Result<Log> {
        let of = |d| (direction == d).then(|| column.to_string());
        let (reward, cost) = (of(Outcome::Reward), of(Outcome::Cost));
        let log = LogArgs { reward, cost, ..self.clone() }.read_to_learn(engine, predictions)?;
        same_rows(&log, primary, column)?;
        Ok(log)
    }

    /// Reads the log by the encoding of a policy: contexts and actions need not be named again.
    pub(crate) fn read_for(&self, engine: &Engine, policy: &SavedPolicy) -> Result<Log> {
        self.read_by(engine, Asking::Policy(policy))
    }

    /// Reads the log with the columns of a policy to be evaluated. Contexts may be left out: weights do not need them.
    pub(crate) fn read_target(&self, engine: &Engine, target: &TargetColumns) -> Result<Log> {
        self.read_by(engine, Asking::Target(target))
    }

    /// The policy to be evaluated that log.toml names, if it does.
    pub(crate) fn target(&self) -> Option<TargetColumns> {
        self.config().ok().and_then(|(config, _)| config.target())
    }

    fn read_by(&self, engine: &Engine, asking: Asking) -> Result<Log> {
        let (mut config, from) = self.config()?;
        let paths = self.paths(&config)?;
        let (policy, target) = match asking {
            Asking::Policy(policy) => (Some(policy), None),
            Asking::Target(target) => (None, Some(target)),
            _ => (None, None),
        };
        let mut asked = Vec::new();
        match asking {
            Asking::Predictions(flag) => {
                config.predictions = split_names(flag.predictions.as_deref()).or(config.predictions.take());
                if let Some(written) = &config.predictions {
                    asked = predicted_columns(written, &columns(&paths)?).map_err(|e| e.at(name(&paths)))?;
                }
            }
            // a policy knows which columns it follows
            Asking::Policy(_) => config.predictions = None,
            _ => {}
        }
        let inputs = policy.map(SavedPolicy::encoding);
        if target.is_some() {
            config.context.get_or_insert_default();
        }
        if let (Some(policy), Some(inputs)) = (policy, &inputs) {
            let names: Vec<String> = inputs.iter().map(|i| i.name().to_string()).collect();
            let given = split_names(self.context.as_deref()).unwrap_or_else(|| names.clone());
            let sorted = |v: &[String]| {
                let mut v = v.to_vec();
                v.sort();
                v
            };
            if sorted(&given) != sorted(&names) {
                let what =
                    format!("--context gives {}, the policy was learned from {}", given.join(", "), names.join(", "));
                return Err(Error::data(what).hint("leave --context out: the policy knows its own"));
            }
            config.context = Some(names);
            (config.categorical, config.exclude) = (None, None);
            if self.action.is_none() {
                config.action = Some(policy.columns().actions);
            }
        }
        refuse_missing(&config, &paths)?;
        if config.has_patterns() {
            config.expand(&columns(&paths)?).map_err(|e| e.at(name(&paths)))?;
        }
        // predictions are the last contexts, also where a store holds them among the others
        let contexts = config.context.get_or_insert_default();
        contexts.retain(|c| asked.iter().all(|(column, _)| column != c));
        contexts.extend(asked.iter().map(|(column, _)| column.clone()));
        let options = ReadOptions {
            drop_invalid: self.drop_invalid,
            categorical: config.categorical.clone().unwrap_or_default(),
            inputs,
            missing: config.missing.unwrap_or_default(),
            scratch: self.scratch(),
            memory: crate::memory::for_rows(),
        };
        let roles = Roles { target: target.cloned(), ..config.roles() };
        let log = match roles.propensity {
            PropensityRole::Column(_) => read_log(&paths, &roles, &options).map_err(|e| follows(e, policy))?,
            PropensityRole::Fit => propensity::fit(engine, read_bare_log(&paths, &roles, &options)?)?,
        };
        let log = match asked.is_empty() {
            true => log,
            false => log.with_predictions(&asked.iter().map(|(_, action)| *action).collect::<Vec<f64>>())?,
        };
        let log = match &config.time {
            Some(time) => by_time(log, &paths, time, engine)?,
            None => log,
        };
        if config.cluster.is_none() && policy.is_none() {
            clusters_in_words(&paths, &config, "--cluster ")?.iter().for_each(say::note);
        }
        if let Some(from) = from {
            say::note(format_args!("columns as in {}", from.display()));
        }
        if policy.is_none() {
            contexts_in_words(&log.schema().inputs).iter().for_each(say::note);
        }
        if let (true, Some(memory)) = (log.in_scratch(), self.memory) {
            let gigabytes = memory as f64 / f64::from(1 << 30);
            say::note(format_args!(
                "the rows take more than a quarter of {gigabytes:.2} GiB, so they are held in a scratch file in {}",
                self.scratch_directory().display()
            ));
        }
        if log.dropped().rows > 0 {
            say::note(format_args!("dropped {} rows with unusable values: {}", log.dropped().rows, log.dropped()));
        }
        match log.schema().propensities.estimated() {
            Some(facts) => tell_propensities(facts),
            None => {
                let check = check_propensities(&log.on(engine))?;
                check.warning().iter().for_each(|w| say::note(format_args!("warning: {w}; `describe` says more")));
            }
        }
        Ok(log)
    }

    /// Where rows go that are not held in memory: all of them, or those of a log that is too large.
    fn scratch(&self) -> Option<Scratch> {
        match self.memory {
            Some(memory) => Some(Scratch::new(self.scratch_directory()).beyond(memory / 4)),
            None => self.scratch.as_ref().map(Scratch::new),
        }
    }

    fn scratch_directory(&self) -> PathBuf {
        self.scratch.clone().unwrap_or_else(std::env::temp_dir)
    }

    /// Every file that is read for the log, so that no output is written over one of them.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>> {
        let (config, from) = self.config()?;
        let mut files = counterpoint::data::files_of(&self.paths(&config)?)?;
        files.extend(from);
        Ok(files)
    }

    /// The log by name, for people; a store has the name of the log it was packed from.
    pub(crate) fn name(&self) -> String {
        Store::name_of(&self.log)
    }

    /// The division in words.
    pub(crate) fn split_words(&self, seed: u64) -> String {
        match self.rule(seed) {
            SplitRule::Column if self.time.is_some() => "by time, 50/25/25".into(),
            SplitRule::Column => "by the split column".into(),
            SplitRule::Hash { .. } => {
                let clustered = self.config().is_ok_and(|(c, _)| c.cluster.is_some());
                let hashed = if clustered { "cluster" } else { "row number" };
                format!("seeded hash of the {hashed} (seed {seed}), 50/25/25")
            }
        }
    }

    /// How the log is divided.
    pub(crate) fn rule(&self, seed: u64) -> SplitRule {
        let (split, time) = self.config().map(|(c, _)| (c.split, c.time)).unwrap_or_default();
        if split.is_some() || time.is_some() {
            SplitRule::Column
        } else {
            SplitRule::Hash { seed, shares: [0.5, 0.25, 0.25] }
        }
    }

    /// Which column is which, and where the log is: flags over `known`, or over log.toml where nothing is known.
    pub(crate) fn columns_and_paths(&self, known: Option<LogConfig>) -> Result<(LogConfig, Vec<PathBuf>)> {
        let mut config = match known {
            Some(known) => self.flags().or(known),
            None => self.config()?.0,
        };
        let paths = self.paths(&config)?;
        refuse_missing(&config, &paths)?;
        if let Some(written) = &config.predictions {
            let asked = predicted_columns(written, &columns(&paths)?).map_err(|e| e.at(name(&paths)))?;
            let contexts = config.context.get_or_insert_default();
            let new: Vec<String> =
                asked.into_iter().map(|(column, _)| column).filter(|c| !contexts.contains(c)).collect();
            contexts.extend(new);
        }
        Ok((config, paths))
    }

    /// The flags over log.toml, or over what a store says, and which file that was.
    fn config(&self) -> Result<(LogConfig, Option<PathBuf>)> {
        if self.split.is_some() && self.time.is_some() {
            return Err(Error::data("--split and --time are both given; a log is divided in one way")
                .hint("take one of the two out"));
        }
        let flags = self.flags();
        let file = self.log_config.clone().or_else(|| self.log.first().and_then(|l| LogConfig::beside(l)));
        match file {
            Some(path) => Ok((flags.or(LogConfig::load(&path)?), Some(path))),
            None => Ok((flags, None)),
        }
    }

    fn flags(&self) -> LogConfig {
        LogConfig {
            path: None,
            context: split_names(self.context.as_deref()),
            exclude: split_names(self.exclude.as_deref()),
            action: split_names(self.action.as_deref()),
            reward: self.reward.clone(),
            cost: self.cost.clone(),
            propensity: self.propensity.clone(),
            target_density: None,
            target_action: None,
            weight: self.weight.clone(),
            count: self.count.clone(),
            cluster: self.cluster.clone(),
            predictions: None,
            split: self.split.clone(),
            time: self.time.clone(),
            categorical: split_names(self.categorical.as_deref()),
            missing: self.missing,
        }
    }

    fn paths(&self, config: &LogConfig) -> Result<Vec<PathBuf>> {
        match (&self.log[..], &config.path) {
            ([], Some(paths)) => Ok(paths.iter().map(PathBuf::from).collect()),
            ([], None) => Err(Error::data("no log is given")
                .hint("name a file, a directory or a pattern, or give --log-config with a `path` in it")),
            (given, _) => Ok(given.to_vec()),
        }
    }
}

/// What is asked of a log beside its own columns.
enum Asking<'a> {
    Nothing,
    /// The contexts and actions of a policy.
    Policy(&'a SavedPolicy),
    /// The columns of a policy to be evaluated.
    Target(&'a TargetColumns),
    /// Predictions to learn from.
    Predictions(&'a Predictions),
}

/// Columns of predictions, to learn from.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Log")]
pub(crate) struct Predictions {
    /// Columns with what a model of yours predicts of the outcome at a list of actions: COLUMN@ACTION, separated by commas, or a pattern
    /// whose star is the action, such as 'q_*' for q_0.5 and q_1. They are one more model among those of a greedy policy. The model
    /// must not have seen the row or its cluster (cross-fit it); the policy needs the same columns to act.
    #[arg(long, value_name = "COLUMNS")]
    predictions: Option<Vec<String>>,
}

/// An error of reading, with what the policy needs where that is more than contexts.
pub(crate) fn follows(e: Error, policy: Option<&SavedPolicy>) -> Error {
    let needed = policy.map(SavedPolicy::predicted).unwrap_or_default();
    if needed.is_empty() || !needed.iter().any(|n| e.to_string().contains(&format!("{n:?}"))) {
        return e;
    }
    let more =
        format!("the policy follows predictions of a model: fill {} by asking it for these rows", needed.join(", "));
    let hint = e.remedy().map_or(more.clone().into(), |first| first.clone() + "; " + more);
    e.hint(hint)
}

/// Refuses another outcome whose unusable values are in other rows.
pub(crate) fn same_rows(log: &Log, primary: &Log, column: &str) -> Result<()> {
    if log.dropped() != primary.dropped() {
        return Err(Error::data("other rows have an unusable value in this column than in the outcome")
            .at(format!("column {column:?}"))
            .hint("clean the log first, so that all outcomes are those of the same rows"));
    }
    Ok(())
}

/// Refuses roles of which it is not said which column they are.
fn refuse_missing(config: &LogConfig, paths: &[PathBuf]) -> Result<()> {
    let missing = config.missing();
    if !missing.is_empty() {
        let flag = |m: &&str| match *m {
            "propensity" => "--propensity COLUMN, or --propensity fit to estimate it".to_string(),
            m => format!("--{m}"),
        };
        let flags: Vec<String> = missing.iter().map(flag).collect();
        let mut what = format!("it is not said which column is the {}", missing.join(", the "));
        what = what.replace("the reward", "the reward (or cost)");
        let known: Vec<String> = columns(paths)?.iter().map(|c| format!("{c:?}")).collect();
        return Err(Error::data(what).at(name(paths)).hint(format!(
            "name it with {}; or once in log.toml; the columns are: {}",
            flags.join(", "),
            known.join(", ")
        )));
    }
    Ok(())
}

/// Divides a log by time, and says what moved between the earlier and the later rows.
fn by_time(log: Log, paths: &[PathBuf], time: &str, engine: &Engine) -> Result<Log> {
    let log = log.with_parts(&times::parts_of_files(paths, time)?)?;
    let divided = log.split(SplitRule::Column)?;
    let moved = drift(&divided.train.on(engine), &divided.test.on(engine))?;
    say::note(format_args!("divided by {time}; from train to test: {moved}"));
    Ok(log)
}

/// A way with missing contexts by its name.
fn missing(name: &str) -> Result<Missing, String> {
    serde_json::from_value(name.into()).map_err(|_| "it is refuse or indicator".to_string())
}

/// Which contexts are not read as plain numbers, a sentence for each kind.
pub fn contexts_in_words(inputs: &[Input]) -> Vec<String> {
    let told = |input: &Input| match input {
        Input::Category { name, levels } => {
            let gaps = if levels.iter().any(|l| l == MISSING) { ", one for missing values" } else { "" };
            Some((format!("{name} ({} levels{gaps})", levels.len()), String::new()))
        }
        Input::Filled { name, value } => Some((String::new(), format!("{name} (as {value:.4})"))),
        Input::Number { .. } => None,
    };
    let (words, gaps): (Vec<String>, Vec<String>) = inputs.iter().filter_map(told).unzip();
    let list = |v: Vec<String>| v.into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join(", ");
    let (words, gaps) = (list(words), list(gaps));
    let told = [("read as categories", words), ("missing values are filled and marked", gaps)];
    told.into_iter().filter(|(_, of)| !of.is_empty()).map(|(what, of)| format!("{what}: {of}")).collect()
}

/// That a result does not know of the clusters that were named.
pub(crate) fn takes_rows(cluster: &str, what: &str) -> String {
    format!("{what} rows for independent draws, and rows of one {cluster} are not; certificates count clusters")
}

/// Columns that may say which rows belong together, though no cluster was named; `how` is how one is.
pub fn clusters_in_words(paths: &[PathBuf], config: &LogConfig, how: &str) -> Result<Vec<String>> {
    let roles = config.roles();
    let mut taken: Vec<String> = roles.actions.clone();
    taken.extend(
        [&config.reward, &config.cost, &config.propensity, &config.weight, &config.count, &config.split, &config.time]
            .into_iter()
            .flatten()
            .cloned(),
    );
    let sentence = |likely: LikelyCluster| cluster_in_words(&likely.column, likely.counted, how);
    Ok(likely_clusters(paths, &columns(paths)?, &taken).into_iter().map(sentence).collect())
}

/// A column that may say which rows belong together, with its rows and different values where they were counted.
pub fn cluster_in_words(column: &str, counted: Option<(usize, usize)>, how: &str) -> String {
    let many = counted.map_or(String::new(), |(rows, d)| format!(" ({d} different values in {rows} rows)"));
    format!("{column}{many} may say which rows belong together: if they do, give {how}{column}")
}

/// How the propensities were estimated, and what speaks against them.
fn tell_propensities(facts: &Estimated) {
    say::note("Propensities are ESTIMATED: none were logged");
    for m in &facts.actions {
        say::note(format_args!(
            "  {}: {}, {} mean, {} std; contexts explain {:.1}%; distance from a right law {:.3}",
            m.action,
            m.family,
            m.mean,
            m.std,
            100.0 * m.explained.max(0.0),
            m.kolmogorov
        ));
    }
    say::note(format_args!(
        "  cross-fitted in {} folds, without outcomes; they integrate to {:.3} ± {:.3} (should be 1)",
        facts.folds, facts.integral, facts.integral_std_error
    ));
    for w in &facts.warnings {
        say::note(format_args!("  warning: {w}"));
    }
}

/// What a file that rests on this log should say to whoever opens it.
pub(crate) fn notes(log: &Log) -> Vec<String> {
    log.schema().propensities.sentence().into_iter().collect()
}

/// The paths as words.
fn name(paths: &[PathBuf]) -> String {
    paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Names separated by commas; a comma inside double quotes belongs to the name.
fn split_names(values: Option<&[String]>) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for value in values? {
        let (mut name, mut quoted) = (String::new(), false);
        for c in value.chars() {
            match c {
                '"' => quoted = !quoted,
                ',' if !quoted => names.push(std::mem::take(&mut name)),
                _ => name.push(c),
            }
        }
        names.push(name);
    }
    names.retain(|n| !n.is_empty());
    Some(names)
}
