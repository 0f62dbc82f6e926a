//! The policy that is evaluated or certified: a file, or columns of the log ("evaluate my policy").

use crate::log_args::{LogArgs, same_rows};
use clap::Args;
use counterpoint::data::{Outcome, TargetColumns};
use counterpoint::policy::{Family, SavedPolicy, TargetAction, TargetDensity, TargetPolicy};
use counterpoint::{Engine, Error, Log, Result};
use std::path::PathBuf;

/// A policy file, or columns of the log that say what the policy would do.
#[derive(Args, Clone)]
pub(crate) struct TargetArgs {
    /// The policy file, of `learn`, `select` or `rival`; left out where the policy stands in columns of the log.
    #[arg(value_name = "POLICY")]
    policy: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) log: LogArgs,
    /// Column with the density of the target policy at the logged action: evaluates a policy of yours without a policy
    /// file. 0 where it would never act so.
    #[arg(long, value_name = "COLUMN", conflicts_with = "target_action", help_heading = "Your own policy")]
    target_density: Option<String>,
    /// Column with the action of the target policy, or several separated by commas; needs --target-std.
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        requires = "target_std",
        help_heading = "Your own policy"
    )]
    target_action: Option<Vec<String>>,
    /// Standard deviation of the target policy around its action, one for each action column: an action alone has no density.
    #[arg(long, value_name = "STD", value_delimiter = ',', value_parser = crate::flag::positive, help_heading = "Your own policy")]
    target_std: Option<Vec<f64>>,
    /// Distribution of the target policy around its action: normal, lognormal.
    #[arg(long, value_name = "FAMILY", value_parser = family, default_value = "normal", help_heading = "Your own policy")]
    target_family: Family,
}

/// A family by the name that recipes use.
fn family(name: &str) -> Result<Family, String> {
    serde_json::from_value(name.into()).map_err(|e| e.to_string())
}

/// A policy to be asked about, and the log it is asked of.
pub(crate) struct Asked {
    /// The policy.
    pub(crate) policy: Box<dyn TargetPolicy>,
    /// What it is called.
    pub(crate) name: String,
    /// The log.
    pub(crate) log: Log,
}

impl TargetArgs {
    /// The log's arguments, where the first path is part of the log unless it is a policy file.
    pub(crate) fn log(&self) -> LogArgs {
        let mut log = self.log.clone();
        if let Some(first) = self.policy.as_ref().filter(|_| self.columns().is_some()) {
            log.log.insert(0, first.clone());
        }
        log
    }

    /// The same rows with another column as their outcome.
    pub(crate) fn with_outcome(&self, column: &str, direction: Outcome) -> Self {
        let mut other = self.clone();
        let of = |d| (direction == d).then(|| column.to_string());
        (other.log.reward, other.log.cost) = (of(Outcome::Reward), of(Outcome::Cost));
        other
    }

    /// The same rows once more, with another column as their outcome.
    pub(crate) fn read_other(
        &self,
        engine: &Engine,
        primary: &Log,
        (column, direction): (&str, Outcome),
    ) -> Result<Log> {
        let Asked { log, .. } = self.with_outcome(column, direction).read(engine)?;
        same_rows(&log, primary, column)?;
        Ok(log)
    }

    /// Whether a policy or rows are named at all.
    pub(crate) fn given(&self) -> bool {
        self.policy.is_some() || !self.log.log.is_empty() || self.columns().is_some()
    }

    /// The policy file, where one is given.
    pub(crate) fn file(&self) -> Option<&PathBuf> {
        self.policy.as_ref().filter(|_| self.columns().is_none())
    }

    /// The columns that are named by flags; or by log.toml, where the first path is no policy file.
    fn columns(&self) -> Option<TargetColumns> {
        let density = self.target_density.clone().map(TargetColumns::Density);
        let flags = density.or_else(|| self.target_action.clone().map(TargetColumns::Actions));
        flags.or_else(|| {
            let first = self.policy.as_ref().filter(|p| p.extension().is_none_or(|e| e != "json"))?;
            LogArgs { log: vec![first.clone()], ..self.log.clone() }.target()
        })
    }

    /// Refuses two policies at once.
    pub(crate) fn check(&self) -> Result<()> {
        let file = self.policy.as_ref().filter(|p| p.extension().is_some_and(|e| e == "json"));
        match file.filter(|_| self.target_density.is_some() || self.target_action.is_some()) {
            Some(path) => Err(Error::policy("a policy file is given, and a policy in columns of the log")
                .at(path.display().to_string())
                .hint("leave one of them out: the file, or --target-density and --target-action")),
            None => Ok(()),
        }
    }

    /// Reads the policy and the log it is asked of.
    pub(crate) fn read(&self, engine: &Engine) -> Result<Asked> {
        self.check()?;
        if let Some(path) = self.file() {
            let saved = SavedPolicy::load(path)?;
            let log = self.log.read_for(engine, &saved)?;
            let name = path.display().to_string();
            return Ok(Asked { policy: Box::new(saved), name, log });
        }
        let Some(columns) = self.columns() else {
            return Err(Error::policy("no policy is given").hint(
                "name a policy file, or say which column of the log has its density (--target-density) or its action (--target-action)",
            ));
        };
        let log = self.log().read_target(engine, &columns)?;
        let name = format!("the policy in column {}", columns.names().join(", "));
        let policy: Box<dyn TargetPolicy> = match columns {
            TargetColumns::Density(_) => Box::new(TargetDensity),
            TargetColumns::Actions(_) => {
                let around = TargetAction::new(self.target_family, self.target_std.as_deref().unwrap_or_default())?;
                around.check_rows(&log)?;
                Box::new(around)
            }
        };
        policy.check_against(log.schema())?;
        Ok(Asked { policy, name, log })
    }
}
