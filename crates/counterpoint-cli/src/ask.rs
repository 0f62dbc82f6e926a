//! Arguments that several commands share: where the log is and which column is which.
//!
//! What the flags leave open is taken from `log.toml`; what is then still open is an error that lists the columns.

use crate::say;
use clap::Args;
use counterpoint::data::{
    Estimated, LogConfig, PropensityRole, ReadOptions, Roles, Scratch, TargetColumns, columns, read_bare_log, read_log,
};
use counterpoint::policy::SavedPolicy;
use counterpoint::{Engine, Error, Log, Recipe, Result, SplitRule, propensity};
use std::path::PathBuf;

/// The log and its columns.
#[derive(Args, Clone)]
#[command(next_help_heading = "Log")]
pub(crate) struct LogArgs {
    /// The log: .parquet, .csv, .csv.gz or .arrow; a file, a directory (key=value folders become columns), a quoted
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
    /// Column with row weights: a row of weight 2 counts as two equal rows.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) weight: Option<String>,
    /// Column that says train, valid or test; without it rows are split 50/25/25 by a seeded hash of their number.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) split: Option<String>,
    /// Contexts to read as categories though they are written as numbers.
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) categorical: Option<Vec<String>>,
    /// Skip rows with an unusable value, and say how many; without it the first one is an error.
    #[arg(long)]
    pub(crate) drop_invalid: bool,
    /// Hold the rows in a nameless file in this directory instead of memory, for logs larger than memory. The result is the
    /// same; local disk, please.
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// File that names the columns once (TOML); without it, log.toml beside the log. Flags win over it.
    #[arg(long, value_name = "FILE")]
    pub(crate) log_config: Option<PathBuf>,
}

impl LogArgs {
    /// Reads and checks the log; only the named columns are decoded.
    pub(crate) fn read(&self, engine: &Engine) -> Result<Log> {
        self.read_by(engine, None, None)
    }

    /// Reads the log by the encoding of a policy: contexts and actions need not be named again.
    pub(crate) fn read_for(&self, engine: &Engine, policy: &SavedPolicy) -> Result<Log> {
        self.read_by(engine, Some(policy), None)
    }

    /// Reads the log with the columns of a policy to be evaluated. Contexts may be left out: weights do not need them.
    pub(crate) fn read_target(&self, engine: &Engine, target: &TargetColumns) -> Result<Log> {
        self.read_by(engine, None, Some(target))
    }

    /// The policy to be evaluated that log.toml names, if it does.
    pub(crate) fn target(&self) -> Option<TargetColumns> {
        self.config().ok().and_then(|(config, _)| config.target())
    }

    fn read_by(&self, engine: &Engine, policy: Option<&SavedPolicy>, target: Option<&TargetColumns>) -> Result<Log> {
        let (mut config, from) = self.config()?;
        let paths = self.paths(&config)?;
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
        let missing = config.missing();
        if !missing.is_empty() {
            let flag = |m: &&str| match *m {
                "propensity" => "--propensity COLUMN, or --propensity fit to estimate it".to_string(),
                m => format!("--{m}"),
            };
            let flags: Vec<String> = missing.iter().map(flag).collect();
            let mut what = format!("it is not said which column is the {}", missing.join(", the "));
            what = what.replace("the reward", "the reward (or cost)");
            let known: Vec<String> = columns(&paths)?.iter().map(|c| format!("{c:?}")).collect();
            return Err(Error::data(what).at(name(&paths)).hint(format!(
                "name it with {}; or once in log.toml; the columns are: {}",
                flags.join(", "),
                known.join(", ")
            )));
        }
        if config.has_patterns() {
            config.expand(&columns(&paths)?).map_err(|e| e.at(name(&paths)))?;
        }
        let options = ReadOptions {
            drop_invalid: self.drop_invalid,
            categorical: config.categorical.clone().unwrap_or_default(),
            inputs,
            scratch: self.scratch.as_ref().map(Scratch::new),
        };
        let roles = Roles { target: target.cloned(), ..config.roles() };
        let log = match roles.propensity {
            PropensityRole::Column(_) => read_log(&paths, &roles, &options)?,
            PropensityRole::Fit => propensity::fit(engine, read_bare_log(&paths, &roles, &options)?)?,
        };
        if let Some(from) = from {
            say::note(format_args!("columns as in {}", from.display()));
        }
        if log.dropped().rows > 0 {
            say::note(format_args!("dropped {} rows with unusable values: {}", log.dropped().rows, log.dropped()));
        }
        if let Some(facts) = log.schema().propensities.estimated() {
            tell_propensities(facts);
        }
        Ok(log)
    }

    /// Every file that is read for the log, so that no output is written over one of them.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>> {
        let (config, from) = self.config()?;
        let mut files = counterpoint::data::files_of(&self.paths(&config)?)?;
        files.extend(from);
        Ok(files)
    }

    /// The log by name, for people.
    pub(crate) fn name(&self) -> String {
        name(&self.log)
    }

    /// The division in words.
    pub(crate) fn split_words(&self, seed: u64) -> String {
        match self.rule(seed) {
            SplitRule::Column => "by the split column".into(),
            SplitRule::Hash { .. } => format!("seeded hash of the row number (seed {seed}), 50/25/25"),
        }
    }

    /// How the log is divided.
    pub(crate) fn rule(&self, seed: u64) -> SplitRule {
        let split = self.split.clone().or_else(|| self.config().ok().and_then(|(c, _)| c.split));
        if split.is_some() { SplitRule::Column } else { SplitRule::Hash { seed, shares: [0.5, 0.25, 0.25] } }
    }

    /// The flags over log.toml, and which file that was.
    fn config(&self) -> Result<(LogConfig, Option<PathBuf>)> {
        let flags = LogConfig {
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
            split: self.split.clone(),
            categorical: split_names(self.categorical.as_deref()),
        };
        let file = self.log_config.clone().or_else(|| self.log.first().and_then(|l| LogConfig::beside(l)));
        match file {
            Some(path) => Ok((flags.or(LogConfig::load(&path)?), Some(path))),
            None => Ok((flags, None)),
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

/// A recipe file and changes to it.
#[derive(Args)]
#[command(next_help_heading = "Recipe")]
pub(crate) struct RecipeArgs {
    /// Recipe file (TOML); without it the default recipe. `counterpoint recipe` prints every field.
    #[arg(long, value_name = "FILE")]
    pub(crate) recipe: Option<PathBuf>,
    /// Change one field of the recipe, for example --set cap=20 or --set family=lognormal. May be repeated.
    #[arg(long, value_name = "FIELD=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seed of everything random: the split by hash, starting points, bootstrap [default: that of the recipe, 0].
    #[arg(long, value_parser = crate::flag::seed, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
}

impl RecipeArgs {
    /// The recipe, checked.
    pub(crate) fn read(&self) -> Result<Recipe> {
        let recipe = match &self.recipe {
            Some(path) => Recipe::load(path)?,
            None => Recipe::default(),
        };
        let mut changes = toml::Table::new();
        for c in &self.set {
            let (field, value) = change(c)?;
            changes.insert(field, value);
        }
        if let Some(seed) = self.seed {
            changes.insert("seed".into(), toml::Value::Integer(seed as i64));
        }
        recipe.changed(&changes)
    }
}

/// FIELD=VALUE in two.
pub(crate) fn change(text: &str) -> Result<(String, toml::Value)> {
    match text.split_once('=') {
        Some((field, value)) => Ok((field.trim().into(), value_of(value.trim()))),
        None => Err(Error::recipe(text, "a change is written FIELD=VALUE").hint("for example --set cap=20")),
    }
}

/// A TOML value; a bare word is a string.
fn value_of(text: &str) -> toml::Value {
    let wrapped: Result<toml::Table, _> = toml::from_str(&format!("v = {text}"));
    wrapped.ok().and_then(|mut t| t.remove("v")).unwrap_or_else(|| toml::Value::String(text.into()))
}
