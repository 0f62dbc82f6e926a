//! `log.toml`: the columns of a log, said once and kept beside it.
//!
//! ```text
//! context = ["hour", "city"]       # or "*": all that have no other role; "x_*" takes all that match
//! exclude = ["user_id"]            # never a context, whatever the pattern says
//! action = "bid"                 # or a list
//! reward = "sales"               # or cost = ..
//! propensity = "density"          # or "fit": none was logged, estimate it
//! categorical = ["city"]         # only where words are written as numbers
//! missing = "indicator"          # keep rows with missing contexts and mark them; "refuse" is the default
//! weight = "kept"                # optional: sampling weights; or count = "times": so many equal rows
//! cluster = "user"               # optional: rows that belong together
//! time = "day"                   # optional: learn on the earlier rows, test on the later; or split = .., a column of parts
//! predictions = "q_*"            # optional: what a model of yours predicts, for `learn`; the star is the action
//! target_density = "mine"        # optional, of a policy to be evaluated; or target_action = "my_bid"
//! ```
//!
//! It fills in what a caller does not say; what the caller says wins. Unknown keys are refused, because a misspelt key
//! would otherwise be a column that is silently not there.

use super::files::read_text;
use super::input::Missing;
use super::log::{Outcome, Schema};
use super::predicted::predicted_columns;
use super::propensities::PropensityRole;
use super::read::{Roles, find::fixed_part, remote::is_remote};
use super::store::Store;
use super::target::TargetColumns;
use super::weighting::Weighting;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The name looked for beside a log.
pub const LOG_CONFIG: &str = "log.toml";

/// What a `log.toml` says; every key may be absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogConfig {
    /// Where the log is, relative to the file: a path, a pattern or a list of them.
    #[serde(default, deserialize_with = "one_or_many", serialize_with = "one_alone")]
    pub path: Option<Vec<String>>,
    /// Context columns.
    #[serde(default, deserialize_with = "one_or_many", serialize_with = "one_alone")]
    pub context: Option<Vec<String>>,
    /// Columns that a pattern among the contexts must not take.
    #[serde(default, deserialize_with = "one_or_many", serialize_with = "one_alone")]
    pub exclude: Option<Vec<String>>,
    /// Action columns.
    #[serde(default, deserialize_with = "one_or_many", serialize_with = "one_alone")]
    pub action: Option<Vec<String>>,
    /// The outcome, larger is better.
    pub reward: Option<String>,
    /// The outcome, smaller is better.
    pub cost: Option<String>,
    /// The logging density; `fit` asks for an estimate, `column:fit` is a column of that name.
    pub propensity: Option<String>,
    /// Sampling weights of the rows, in any unit.
    pub weight: Option<String>,
    /// How many equal rows each row stands for.
    pub count: Option<String>,
    /// What rows that belong together share: a user, a branch.
    pub cluster: Option<String>,
    /// Columns of predictions, COLUMN@ACTION or patterns; see [`predicted_columns`].
    #[serde(default, deserialize_with = "one_or_many", serialize_with = "one_alone")]
    pub predictions: Option<Vec<String>>,
    /// The density with which a policy to be evaluated would take the logged action.
    pub target_density: Option<String>,
    /// The action a policy to be evaluated would take, one column for each action column.
    #[serde(default, deserialize_with = "one_or_many", serialize_with = "one_alone")]
    pub target_action: Option<Vec<String>>,
    /// train / valid / test.
    pub split: Option<String>,
    /// When a row happened: the log is then divided by time.
    pub time: Option<String>,
    /// Contexts to read as categories.
    #[serde(default, deserialize_with = "one_or_many", serialize_with = "one_alone")]
    pub categorical: Option<Vec<String>>,
    /// What becomes of a context that is missing.
    pub missing: Option<Missing>,
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

fn one_alone<S: Serializer>(names: &Option<Vec<String>>, s: S) -> std::result::Result<S::Ok, S::Error> {
    match names.as_deref() {
        Some([one]) => one.serialize(s),
        names => names.serialize(s),
    }
}

/// The columns there are, as a hint.
fn listed(columns: &[String]) -> String {
    let names: Vec<String> = columns.iter().map(|c| format!("{c:?}")).collect();
    format!("the columns are: {}", names.join(", "))
}

impl LogConfig {
    /// The roles of a log's columns, to be written beside it; `split` is the column of parts, if there is one.
    ///
    /// ```
    /// use counterpoint::{Log, data::LogConfig};
    /// let log = Log::builder().context("x", vec![0.0]).action("bid", vec![1.0]).reward("sales", vec![2.0])
    ///     .propensity("density", vec![0.5]).build()?;
    /// let toml = LogConfig::of(log.schema(), None).to_toml();
    /// assert_eq!(toml, "context = \"x\"\naction = \"bid\"\nreward = \"sales\"\npropensity = \"density\"\n");
    /// # Ok::<(), counterpoint::Error>(())
    /// ```
    pub fn of(schema: &Schema, split: Option<&str>) -> Self {
        let outcome = |direction: Outcome| (schema.direction == direction).then(|| schema.outcome.clone());
        LogConfig {
            context: Some(schema.inputs.iter().map(|i| i.name().to_string()).collect()),
            action: Some(schema.actions.clone()),
            reward: outcome(Outcome::Reward),
            cost: outcome(Outcome::Cost),
            propensity: Some(schema.propensity.clone()),
            weight: schema.weight.clone().filter(|_| schema.weighting == Weighting::Sampling),
            count: schema.weight.clone().filter(|_| schema.weighting == Weighting::Counts),
            split: split.map(String::from),
            ..LogConfig::default()
        }
    }

    /// The text of a `log.toml`.
    pub fn to_toml(&self) -> String {
        // a table of strings and lists of them: it cannot fail to serialise
        toml::to_string(self).unwrap_or_default()
    }

    /// Reads the text of a `log.toml`.
    pub fn from_toml(text: &str) -> Result<Self> {
        let config: LogConfig = toml::from_str(text).map_err(|e| {
            Error::data(e.to_string().trim_end().to_string()).hint(
                "the keys are path, context, exclude, action, reward or cost, propensity, weight or count, cluster, split or time, categorical, missing, predictions, target_density and target_action",
            )
        })?;
        let one = "take one of the two out";
        if config.reward.is_some() && config.cost.is_some() {
            return Err(Error::data("it gives both reward and cost; a log has one outcome").hint(one));
        }
        if config.weight.is_some() && config.count.is_some() {
            return Err(Error::data("it gives both weight and count; a row has one weight").hint(one));
        }
        if config.split.is_some() && config.time.is_some() {
            return Err(Error::data("it gives both split and time; a log is divided in one way").hint(one));
        }
        if config.target_density.is_some() && config.target_action.is_some() {
            return Err(
                Error::data("it gives both target_density and target_action; one policy is evaluated").hint(one)
            );
        }
        Ok(config)
    }

    /// Reads a `log.toml`; the paths in it are taken from where it stands. Of a store it is what the store says.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if Store::is_named(path) {
            return Store::open(path)?.config();
        }
        let mut config = Self::from_toml(&read_text(path)?).map_err(|e| e.at(path.display().to_string()))?;
        let base = path.parent().unwrap_or(Path::new(""));
        for p in config.path.iter_mut().flatten().filter(|p| !is_remote(Path::new(p.as_str()))) {
            *p = base.join(&*p).to_string_lossy().into_owned();
        }
        Ok(config)
    }

    /// Where the `log.toml` of a log would be, if there is one: in the directory, or beside the file or pattern. A store is its own; none is
    /// looked for where a log is remote.
    pub fn beside(log: &Path) -> Option<PathBuf> {
        if is_remote(log) {
            return None;
        }
        if Store::is_named(log) {
            return Some(log.to_path_buf());
        }
        let base = if log.is_dir() { log.to_path_buf() } else { fixed_part(log.parent().unwrap_or(Path::new(""))) };
        Some(base.join(LOG_CONFIG)).filter(|p| p.is_file())
    }

    /// This, with what `other` says where this is silent. An outcome of this replaces either outcome of the other.
    #[must_use]
    pub fn or(mut self, other: LogConfig) -> Self {
        if self.reward.is_none() && self.cost.is_none() {
            (self.reward, self.cost) = (other.reward, other.cost);
        }
        if self.weight.is_none() && self.count.is_none() {
            (self.weight, self.count) = (other.weight, other.count);
        }
        if self.split.is_none() && self.time.is_none() {
            (self.split, self.time) = (other.split, other.time);
        }
        if self.target_density.is_none() && self.target_action.is_none() {
            (self.target_density, self.target_action) = (other.target_density, other.target_action);
        }
        LogConfig {
            path: self.path.or(other.path),
            context: self.context.or(other.context),
            exclude: self.exclude.or(other.exclude),
            action: self.action.or(other.action),
            propensity: self.propensity.or(other.propensity),
            cluster: self.cluster.or(other.cluster),
            predictions: self.predictions.or(other.predictions),
            target_density: self.target_density,
            target_action: self.target_action,
            categorical: self.categorical.or(other.categorical),
            missing: self.missing.or(other.missing),
            ..self
        }
    }

    /// Whether a context is a pattern such as `*` or `x_*`, or columns are excluded: then [`expand`](Self::expand) is needed.
    pub fn has_patterns(&self) -> bool {
        self.exclude.is_some() || self.context.iter().flatten().any(|c| c.contains(['*', '?']))
    }

    /// Replaces patterns among the contexts by the columns they match, in the order of the file. A column that has another
    /// role, or is excluded, is never taken by a pattern; a column named outright is.
    ///
    /// ```
    /// use counterpoint::data::LogConfig;
    /// let mut config = LogConfig { context: Some(vec!["*".into()]), exclude: Some(vec!["id".into()]),
    ///     action: Some(vec!["bid".into()]), reward: Some("sales".into()), ..LogConfig::default() };
    /// config.expand(&["id", "hour", "bid", "city", "sales"].map(String::from))?;
    /// assert_eq!(config.context.unwrap(), ["hour", "city"]);
    /// # Ok::<(), counterpoint::Error>(())
    /// ```
    pub fn expand(&mut self, columns: &[String]) -> Result<()> {
        let excluded = self.exclude.take().unwrap_or_default();
        if let Some(stray) = excluded.iter().find(|e| !columns.contains(e)) {
            return Err(Error::data(format!("there is no column {stray:?} to exclude")).hint(listed(columns)));
        }
        let roles = [
            &self.reward,
            &self.cost,
            &self.propensity,
            &self.weight,
            &self.count,
            &self.cluster,
            &self.split,
            &self.time,
        ];
        let predicted: Vec<String> = match &self.predictions {
            Some(written) => predicted_columns(written, columns)?.into_iter().map(|(name, _)| name).collect(),
            None => Vec::new(),
        };
        let named = self.action.iter().flatten().chain(&excluded).chain(&predicted);
        let taken: Vec<&String> = roles.into_iter().flatten().chain(named).collect();
        let (mut contexts, mut seen) = (Vec::<String>::new(), HashSet::new());
        for name in self.context.iter().flatten() {
            let found: Vec<&String> = match (columns.contains(name), glob::Pattern::new(name)) {
                (false, Ok(pattern)) if name.contains(['*', '?']) => {
                    columns.iter().filter(|c| pattern.matches(c) && !taken.contains(c)).collect()
                }
                _ => vec![name],
            };
            if found.is_empty() {
                return Err(Error::data(format!("no column matches the context {name:?}")).hint(listed(columns)));
            }
            contexts.extend(found.into_iter().filter(|column| seen.insert(column.as_str())).cloned());
        }
        self.context = Some(contexts);
        Ok(())
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

    /// The policy to be evaluated that stands in columns, if one is named.
    pub fn target(&self) -> Option<TargetColumns> {
        let density = self.target_density.clone().map(TargetColumns::Density);
        density.or_else(|| self.target_action.clone().map(TargetColumns::Actions))
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
            count: self.count.clone(),
            cluster: self.cluster.clone(),
            target: self.target(),
            split: self.split.clone(),
        }
    }
}
