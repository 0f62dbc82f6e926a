//! `log.toml`: the columns of a log, said once and kept beside it.
//!
//! ```text
//! context = ["hour", "city"]
//! action = "bid"                 # or a list
//! reward = "sales"               # or cost = ..
//! propensity = "density"          # or "fit": none was logged, estimate it
//! categorical = ["city"]         # only where words are written as numbers
//! weight = "count"               # optional, as are split and path
//! ```
//!
//! It fills in what a caller does not say; what the caller says wins. Unknown keys are refused, because a misspelt key
//! would otherwise be a column that is silently not there.

use super::files::read_text;
use super::log::Outcome;
use super::propensities::PropensityRole;
use super::read::{Roles, find::fixed_part};
use crate::error::{Error, Result};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The name looked for beside a log.
pub const LOG_CONFIG: &str = "log.toml";

/// What a `log.toml` says; every key may be absent.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogConfig {
    /// Where the log is, relative to the file: a path, a pattern or a list of them.
    #[serde(default, deserialize_with = "one_or_many")]
    pub path: Option<Vec<String>>,
    /// Context columns.
    #[serde(default, deserialize_with = "one_or_many")]
    pub context: Option<Vec<String>>,
    /// Action columns.
    #[serde(default, deserialize_with = "one_or_many")]
    pub action: Option<Vec<String>>,
    /// The outcome, larger is better.
    pub reward: Option<String>,
    /// The outcome, smaller is better.
    pub cost: Option<String>,
    /// The logging density; `fit` asks for an estimate, `column:fit` is a column of that name.
    pub propensity: Option<String>,
    /// Row weights.
    pub weight: Option<String>,
    /// train / valid / test.
    pub split: Option<String>,
    /// Contexts to read as categories.
    #[serde(default, deserialize_with = "one_or_many")]
    pub categorical: Option<Vec<String>>,
}

fn one_or_many<'de, D: serde::Deserializer<'de>>(d: D) -> std::result::Result<Option<Vec<String>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a column name or a list of them")]
    enum Names {
        One(String),
        Many(Vec<String>),
    }
    Ok(Some(match Names::deserialize(d)? {
        Names::One(name) => vec![name],
        Names::Many(names) => names,
    }))
}

impl LogConfig {
    /// Reads a `log.toml`; the paths in it are taken from where it stands.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let place = |e: Error| e.at(path.display().to_string());
        let mut config: LogConfig =
            toml::from_str(&read_text(path)?).map_err(|e| {
                place(Error::data(e.to_string().trim_end().to_string()).hint(
                    "the keys are path, context, action, reward or cost, propensity, weight, split and categorical",
                ))
            })?;
        if config.reward.is_some() && config.cost.is_some() {
            return Err(place(Error::data("it gives both reward and cost; a log has one outcome")));
        }
        let base = path.parent().unwrap_or(Path::new(""));
        for p in config.path.iter_mut().flatten() {
            *p = base.join(&*p).to_string_lossy().into_owned();
        }
        Ok(config)
    }

    /// Where the `log.toml` of a log would be, if there is one: in the directory, or beside the file or pattern.
    pub fn beside(log: &Path) -> Option<PathBuf> {
        let base = if log.is_dir() { log.to_path_buf() } else { fixed_part(log.parent().unwrap_or(Path::new(""))) };
        Some(base.join(LOG_CONFIG)).filter(|p| p.is_file())
    }

    /// This, with what `other` says where this is silent. An outcome of this replaces either outcome of the other.
    #[must_use]
    pub fn or(mut self, other: LogConfig) -> Self {
        if self.reward.is_none() && self.cost.is_none() {
            (self.reward, self.cost) = (other.reward, other.cost);
        }
        LogConfig {
            path: self.path.or(other.path),
            context: self.context.or(other.context),
            action: self.action.or(other.action),
            propensity: self.propensity.or(other.propensity),
            weight: self.weight.or(other.weight),
            split: self.split.or(other.split),
            categorical: self.categorical.or(other.categorical),
            ..self
        }
    }

    /// The roles that are not given and must be.
    pub fn missing(&self) -> Vec<&'static str> {
        let outcome = self.reward.is_none() && self.cost.is_none();
        let needs = [
            ("context", self.context.is_none()),
            ("action", self.action.as_ref().is_none_or(Vec::is_empty)),
            ("reward", outcome),
            ("propensity", self.propensity.is_none()),
        ];
        needs.into_iter().filter(|(_, missing)| *missing).map(|(name, _)| name).collect()
    }

    /// The roles as the reader takes them.
    pub fn roles(&self) -> Roles {
        let reward = self.reward.clone().map(|r| (r, Outcome::Reward));
        Roles {
            contexts: self.context.clone().unwrap_or_default(),
            actions: self.action.clone().unwrap_or_default(),
            outcome: reward.or_else(|| self.cost.clone().map(|c| (c, Outcome::Cost))),
            propensity: PropensityRole::written(self.propensity.as_deref().unwrap_or_default()),
            weight: self.weight.clone(),
            split: self.split.clone(),
        }
    }
}
