//! A log: read once from files or from a table of Python, asked many times.

use crate::errors::{Answer, Fault};
use crate::policy::Policy;
use crate::table::{Parts as TableParts, Table};
use crate::work;
use counterpoint::data::{
    BareLog, LogConfig, Parts, PropensityRole, ReadOptions, Roles, Scratch, SplitRule, Store, columns, read_bare_log,
    read_log,
};
use counterpoint::describe::check_propensities;
use counterpoint::policy::SavedPolicy;
use counterpoint::{Engine, Error, Result, propensity};
use pyo3::prelude::*;
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;

/// How rows are read, beside which column is which.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Manner {
    drop_invalid: bool,
    scratch: Option<PathBuf>,
    threads: usize,
}

/// A log that has been read.
#[pyclass(frozen, module = "counterpoint._counterpoint")]
pub(crate) struct Log {
    pub(crate) log: Arc<counterpoint::Log>,
    /// The log by name, for people and certificates.
    pub(crate) name: String,
    /// Rows of the table, those that were dropped included.
    pub(crate) given: usize,
    by_column: bool,
    notes: Vec<String>,
}

/// Where rows come from.
#[derive(FromPyObject)]
enum Rows<'py> {
    #[pyo3(transparent)]
    Files(Vec<PathBuf>),
    #[pyo3(transparent)]
    Table(TableParts<'py>),
}

#[pymethods]
impl Log {
    /// Reads a log. `columns` is what a log.toml may say, `manner` how rows are read, both JSON; a policy brings its own contexts.
    #[new]
    #[pyo3(signature = (rows, columns, manner, name, policy=None))]
    fn new(
        py: Python<'_>,
        rows: Rows<'_>,
        columns: &str,
        manner: &str,
        name: String,
        policy: Option<&Policy>,
    ) -> PyResult<Self> {
        let config = LogConfig::from_toml(&as_toml(columns)?).map_err(Fault::from)?;
        let manner: Manner = serde_json::from_str(manner).map_err(|e| Fault::from(Error::data(e.to_string())))?;
        let policy = policy.map(|p| &*p.saved);
        Ok(match rows {
            Rows::Files(paths) => work::run(py, None, |watch| {
                from_files(&paths, config, &manner, policy, &watch.engine(manner.threads)?)
            })?,
            Rows::Table(parts) => from_table(py, Table::new(parts)?, config, &manner, policy, name)?,
        })
    }

    /// Number of rows.
    #[getter]
    fn rows(&self) -> usize {
        self.log.rows()
    }

    /// Rows of the table, those that were dropped included.
    #[getter]
    fn given(&self) -> usize {
        self.given
    }

    /// The log by name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// What is worth knowing of how it was read, and warnings.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// Its columns, as JSON.
    #[getter]
    fn schema(&self) -> String {
        serde_json::to_string(self.log.schema()).unwrap_or_default()
    }
}

impl Log {
    /// How it is divided.
    pub(crate) fn rule(&self, seed: u64) -> SplitRule {
        if self.by_column { SplitRule::Column } else { SplitRule::Hash { seed, shares: [0.5, 0.25, 0.25] } }
    }

    /// The division in words.
    pub(crate) fn split_words(&self, seed: u64) -> String {
        match self.rule(seed) {
            SplitRule::Column => "by the split column".into(),
            SplitRule::Hash { .. } => format!("seeded hash of the row number (seed {seed}), 50/25/25"),
        }
    }

    /// Train, valid and test.
    pub(crate) fn parts(&self, seed: u64) -> Result<Parts> {
        self.log.split(self.rule(seed))
    }

    /// What a file that rests on this log should say to whoever opens it.
    pub(crate) fn sentences(&self) -> Vec<String> {
        self.log.schema().propensities.sentence().into_iter().collect()
    }

    fn of(log: counterpoint::Log, name: String, by_column: bool, engine: &Engine) -> Result<Self> {
        let mut notes = Vec::new();
        let dropped = log.dropped();
        if dropped.rows > 0 {
            notes.push(format!("dropped {} rows with unusable values: {dropped}", dropped.rows));
        }
        match log.schema().propensities.sentence() {
            Some(sentence) => notes.push(sentence),
            None => notes.extend(check_propensities(&log.on(engine))?.warning().map(|w| format!("warning: {w}"))),
        }
        let given = log.rows() + dropped.rows;
        Ok(Log { log: Arc::new(log), name, given, by_column, notes })
    }
}

fn from_files(
    given: &[PathBuf],
    said: LogConfig,
    manner: &Manner,
    policy: Option<&SavedPolicy>,
    engine: &Engine,
) -> Result<Log> {
    let beside = given.first().and_then(|l| LogConfig::beside(l)).map(LogConfig::load).transpose()?;
    let config = said.or(beside.unwrap_or_default());
    let name = Store::name_of(given);
    let (roles, options) = plan(config, manner, policy, || columns(given)).map_err(|e| e.at(name.clone()))?;
    let log = match roles.propensity {
        PropensityRole::Column(_) => read_log(given, &roles, &options)?,
        PropensityRole::Fit => propensity::fit(engine, read_bare_log(given, &roles, &options)?)?,
    };
    Log::of(log, name, roles.split.is_some(), engine)
}

fn from_table(
    py: Python<'_>,
    table: Table<'_>,
    config: LogConfig,
    manner: &Manner,
    policy: Option<&SavedPolicy>,
    name: String,
) -> PyResult<Log> {
    let names = table.names();
    let (roles, options) = plan(config, manner, policy, || Ok(names)).map_err(Fault::from)?;
    if roles.propensity == PropensityRole::Fit {
        let (bare, _) = table.read(py, |batches| BareLog::from_batches(batches, &roles, &options))?;
        return work::run(py, None, |watch| {
            let engine = watch.engine(manner.threads)?;
            Log::of(propensity::fit(&engine, bare)?, name, roles.split.is_some(), &engine)
        });
    }
    let (log, _) = table.read(py, |batches| counterpoint::Log::from_batches(batches, &roles, &options))?;
    work::run(py, None, |watch| Log::of(log, name, roles.split.is_some(), &watch.engine(manner.threads)?))
}

/// Which column is which, and how they are read. What is not said and cannot be known is an error that lists the columns.
fn plan(
    mut config: LogConfig,
    manner: &Manner,
    policy: Option<&SavedPolicy>,
    columns: impl FnOnce() -> Result<Vec<String>>,
) -> Result<(Roles, ReadOptions)> {
    let inputs = policy.map(SavedPolicy::encoding);
    if let (Some(policy), Some(inputs)) = (policy, &inputs) {
        config.context = Some(inputs.iter().map(|i| i.name().to_string()).collect());
        (config.categorical, config.exclude) = (None, None);
        config.action.get_or_insert_with(|| policy.columns().actions);
    }
    if config.target().is_some() {
        config.context.get_or_insert_default();
    }
    let missing = config.missing();
    if !missing.is_empty() {
        let known: Vec<String> = columns()?.iter().map(|c| format!("{c:?}")).collect();
        let what = format!("it is not said which column is the {}", missing.join(", the "));
        let what = what.replace("the reward", "the reward (or cost)");
        let arguments: Vec<String> = missing.iter().map(|m| format!("{m}=")).collect();
        return Err(Error::data(what).hint(format!(
            "name it with {}; context=\"*\" takes every column without another role; the columns are: {}",
            arguments.join(", "),
            known.join(", ")
        )));
    }
    if config.has_patterns() {
        config.expand(&columns()?)?;
    }
    let options = ReadOptions {
        drop_invalid: manner.drop_invalid,
        categorical: config.categorical.clone().unwrap_or_default(),
        inputs,
        missing: config.missing.unwrap_or_default(),
        scratch: manner.scratch.as_ref().map(Scratch::new),
        ..ReadOptions::default()
    };
    let roles = Roles { target: config.target(), ..config.roles() };
    Ok((roles, options))
}

/// JSON as TOML, which the library reads.
fn as_toml(json: &str) -> Answer<String> {
    let table: toml::Table = serde_json::from_str(json).map_err(|e| Error::data(e.to_string()))?;
    Ok(table.to_string())
}
