//! A log: read once from files or from a table of Python, asked many times.

use crate::errors::{Answer, Fault};
use crate::policy::Policy;
use crate::table::{Column, Parts as TableParts, Table};
use crate::work;
use counterpoint::data::{
    BareLog, Column as Values, LogConfig, Part, Parts, PropensityRole, ReadOptions, Roles, Scratch, SplitRule, Store,
    columns, predicted_columns, read_bare_log, read_log,
};
use counterpoint::describe::{check_propensities, drift};
use counterpoint::policy::SavedPolicy;
use counterpoint::{Engine, Error, Result, propensity};
use counterpoint_cli::{cluster_in_words, clusters_in_words, contexts_in_words};
use numpy::PyArray1;
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
    /// The file that names the columns, in place of log.toml beside the log.
    log_config: Option<PathBuf>,
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
    divided: Divided,
    pub(crate) notes: Vec<String>,
}

/// What divides a log into train, valid and test.
#[derive(Clone, Copy, PartialEq)]
enum Divided {
    Hash,
    Column,
    Time,
}

/// Where rows come from.
#[derive(FromPyObject)]
enum Rows<'py> {
    #[pyo3(transparent)]
    Files(Vec<PathBuf>),
    #[pyo3(transparent)]
    Table(TableParts<'py>),
}

/// When every row happened, and the name of the column.
#[derive(FromPyObject)]
enum Times {
    Numbers(String, Vec<f64>),
    Words(String, Vec<String>),
}

impl Times {
    fn name(&self) -> &str {
        match self {
            Times::Numbers(name, _) | Times::Words(name, _) => name,
        }
    }

    fn parts(self) -> Result<Vec<Part>> {
        let (name, column) = match self {
            Times::Numbers(name, v) => (name, Values::Numbers(v)),
            Times::Words(name, v) => (name, Values::Words(v)),
        };
        counterpoint_cli::parts_of_times(column, &name)
    }
}

#[pymethods]
impl Log {
    /// Reads a log. `columns` is what a log.toml may say, `manner` how rows are read, both JSON; a policy brings its own contexts.
    #[new]
    #[pyo3(signature = (rows, columns, manner, name, policy=None, times=None))]
    fn new(
        py: Python<'_>,
        rows: Rows<'_>,
        columns: &str,
        manner: &str,
        name: String,
        policy: Option<&Policy>,
        times: Option<Times>,
    ) -> PyResult<Self> {
        let said = LogConfig::from_toml(&as_toml(columns)?).map_err(Fault::from)?;
        let manner: Manner = serde_json::from_str(manner).map_err(|e| Fault::from(Error::data(e.to_string())))?;
        let named = manner.log_config.as_ref().map(LogConfig::load).transpose().map_err(Fault::from)?;
        let config = said.or(named.unwrap_or_default());
        let policy = policy.map(|p| &*p.saved);
        Ok(match rows {
            Rows::Files(paths) => work::run(py, None, |watch| {
                from_files(&paths, config, &manner, policy, &watch.engine(manner.threads)?)
            })?,
            Rows::Table(parts) => {
                let time = times.as_ref().map(|t| t.name().to_string()).unwrap_or_default();
                let parts_by_time = times.map(Times::parts).transpose().map_err(Fault::from)?;
                let log = from_table(py, Table::new(parts)?, config, &manner, policy, name)?;
                work::run(py, None, |watch| log.divided_by(parts_by_time, &time, &watch.engine(manner.threads)?))?
            }
        })
    }

    /// The part (0 train, 1 valid, 2 test) and the fold of every row of the table; -1 for rows that are not in the log. Rows of one
    /// cluster are in one fold.
    #[allow(clippy::type_complexity)] // two arrays
    fn dealt<'py>(
        &self,
        py: Python<'py>,
        seed: u64,
        folds: usize,
    ) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>)> {
        let dealt = work::run(py, None, |_| {
            let parts = self.parts(seed)?;
            let parts = self.numbered(&[&parts.train, &parts.valid, &parts.test]);
            // not the seed of the split, whose hash is not uniform within a part
            let fold = |i| self.log.fold(!seed, i, folds).map(|(_, fold)| fold);
            let folds = (0..folds).map(fold).collect::<Result<Vec<_>>>()?;
            Ok((parts, self.numbered(&folds.iter().collect::<Vec<_>>())))
        })?;
        Ok((PyArray1::from_vec(py, dealt.0), PyArray1::from_vec(py, dealt.1)))
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
    /// By number of the row, in which of these logs it is.
    fn numbered(&self, logs: &[&counterpoint::Log]) -> Vec<i64> {
        let mut numbers = vec![-1; self.given];
        for (k, log) in logs.iter().enumerate() {
            log.blocks().iter().flat_map(|b| b.ids.iter()).for_each(|id| numbers[*id as usize] = k as i64);
        }
        numbers
    }

    /// The same log, divided by the times of its rows if these are given; what moved between the earlier and the later ones is noted.
    fn divided_by(mut self, parts: Option<Vec<Part>>, time: &str, engine: &Engine) -> Result<Self> {
        let Some(parts) = parts else { return Ok(self) };
        let log = Arc::unwrap_or_clone(self.log).with_parts(&parts)?;
        let divided = log.split(SplitRule::Column)?;
        let moved = drift(&divided.train.on(engine), &divided.test.on(engine))?;
        self.notes.push(format!("divided by {time}; from train to test: {moved}"));
        Ok(Log { log: Arc::new(log), divided: Divided::Time, ..self })
    }

    /// Whether rows say themselves to which part they belong.
    pub(crate) fn by_column(&self) -> bool {
        self.divided != Divided::Hash
    }

    /// How it is divided.
    pub(crate) fn rule(&self, seed: u64) -> SplitRule {
        match self.divided {
            Divided::Hash => SplitRule::Hash { seed, shares: [0.5, 0.25, 0.25] },
            Divided::Column | Divided::Time => SplitRule::Column,
        }
    }

    /// The division in words.
    pub(crate) fn split_words(&self, seed: u64) -> String {
        match self.divided {
            Divided::Time => "by time, 50/25/25".into(),
            Divided::Column => "by the split column".into(),
            Divided::Hash => format!("seeded hash of the row number (seed {seed}), 50/25/25"),
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

    fn of(log: counterpoint::Log, name: String, roles: &Roles, engine: &Engine) -> Result<Self> {
        let mut notes = Vec::new();
        let dropped = log.dropped();
        if dropped.rows > 0 {
            notes.push(format!("dropped {} rows with unusable values: {dropped}", dropped.rows));
        }
        notes.extend(contexts_in_words(&log.schema().inputs));
        match log.schema().propensities.sentence() {
            Some(sentence) => notes.push(sentence),
            None => notes.extend(check_propensities(&log.on(engine))?.warning().map(|w| format!("warning: {w}"))),
        }
        let given = log.rows() + dropped.rows;
        let divided = if roles.split.is_some() { Divided::Column } else { Divided::Hash };
        Ok(Log { log: Arc::new(log), name, given, divided, notes })
    }
}

fn from_files(
    given: &[PathBuf],
    said: LogConfig,
    manner: &Manner,
    policy: Option<&SavedPolicy>,
    engine: &Engine,
) -> Result<Log> {
    let beside = match &manner.log_config {
        Some(_) => None, // it has been read, and is the one that is meant
        None => given.first().and_then(|l| LogConfig::beside(l)).map(LogConfig::load).transpose()?,
    };
    let config = said.or(beside.unwrap_or_default());
    let name = Store::name_of(given);
    let time = config.time.clone();
    let clusters = match (policy, &config.cluster) {
        (None, None) => clusters_in_words(given, &config, "cluster=")?,
        _ => Vec::new(),
    };
    let (roles, options, asked) = plan(config, manner, policy, || columns(given)).map_err(|e| e.at(name.clone()))?;
    let log = match roles.propensity {
        PropensityRole::Column(_) => read_log(given, &roles, &options)?,
        PropensityRole::Fit => propensity::fit(engine, read_bare_log(given, &roles, &options)?)?,
    };
    let log = predicting(log, &asked)?;
    let parts = time.as_ref().map(|time| counterpoint_cli::parts_of_files(given, time)).transpose()?;
    let mut log = Log::of(log, name, &roles, engine)?;
    log.notes.extend(clusters);
    log.divided_by(parts, &time.unwrap_or_default(), engine)
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
    let (roles, options, asked) = plan(config, manner, policy, || Ok(names.clone())).map_err(Fault::from)?;
    if roles.propensity == PropensityRole::Fit {
        let (bare, _) = table.read(py, |batches| BareLog::from_batches(batches, &roles, &options))?;
        return work::run(py, None, |watch| {
            let engine = watch.engine(manner.threads)?;
            Log::of(predicting(propensity::fit(&engine, bare)?, &asked)?, name, &roles, &engine)
        });
    }
    let (log, _) = table.read(py, |batches| counterpoint::Log::from_batches(batches, &roles, &options))?;
    work::run(py, None, |watch| Log::of(predicting(log, &asked)?, name, &roles, &watch.engine(manner.threads)?))
}

/// The log with its last contexts as predictions at these actions, if there are any.
fn predicting(log: counterpoint::Log, asked: &[f64]) -> Result<counterpoint::Log> {
    if asked.is_empty() { Ok(log) } else { log.with_predictions(asked) }
}

/// Which column is which, and how they are read. What is not said and cannot be known is an error that lists the columns.
fn plan(
    mut config: LogConfig,
    manner: &Manner,
    policy: Option<&SavedPolicy>,
    columns: impl Fn() -> Result<Vec<String>>,
) -> Result<(Roles, ReadOptions, Vec<f64>)> {
    let inputs = policy.map(SavedPolicy::encoding);
    if let (Some(policy), Some(inputs)) = (policy, &inputs) {
        config.context = Some(inputs.iter().map(|i| i.name().to_string()).collect());
        (config.categorical, config.exclude) = (None, None);
        config.action.get_or_insert_with(|| policy.columns().actions);
        config.predictions = None; // it knows which columns it follows
    }
    if config.target().is_some() {
        config.context.get_or_insert_default();
    }
    let missing = config.missing();
    if !missing.is_empty() {
        let known: Vec<String> = columns()?.iter().map(|c| format!("{c:?}")).collect();
        let what = format!("it is not said which column is the {}", missing.join(", the "));
        let what = what.replace("the reward", "the reward (or cost)");
        let argument = |m: &&str| match *m {
            "propensity" => "propensity= (\"fit\" estimates it)".to_string(),
            m => format!("{m}="),
        };
        let arguments: Vec<String> = missing.iter().map(argument).collect();
        return Err(Error::data(what).hint(format!(
            "name it with {}; context=\"*\" takes every column without another role; the columns are: {}",
            arguments.join(", "),
            known.join(", ")
        )));
    }
    if config.has_patterns() {
        config.expand(&columns()?)?;
    }
    let predicted = match &config.predictions {
        Some(written) => predicted_columns(written, &columns()?)?,
        None => Vec::new(),
    };
    let (predicted, asked): (Vec<String>, Vec<f64>) = predicted.into_iter().unzip();
    let contexts = config.context.get_or_insert_default();
    contexts.retain(|c| !predicted.contains(c));
    contexts.extend(predicted);
    let options = ReadOptions {
        drop_invalid: manner.drop_invalid,
        categorical: config.categorical.clone().unwrap_or_default(),
        inputs,
        missing: config.missing.unwrap_or_default(),
        scratch: manner.scratch.as_ref().map(Scratch::new),
        ..ReadOptions::default()
    };
    let roles = Roles { target: config.target(), ..config.roles() };
    Ok((roles, options, asked))
}

/// Whether a column has the name of an identifier.
#[pyfunction]
pub(crate) fn names_an_id(name: &str) -> bool {
    counterpoint::data::names_an_id(name)
}

/// What to say of a column that has the name of an identifier and may tell which rows belong together; nothing where no value repeats.
#[pyfunction]
pub(crate) fn likely_cluster(name: &str, column: Column<'_>) -> Option<String> {
    let (rows, different) = column.counted();
    (different > 1 && different < rows).then(|| cluster_in_words(name, Some((rows, different)), "cluster="))
}

/// What a file that names columns says, as JSON.
#[pyfunction]
pub(crate) fn log_config(path: PathBuf) -> PyResult<String> {
    let config = LogConfig::load(path).map_err(Fault::from)?;
    Ok(serde_json::to_string(&config).unwrap_or_default())
}

/// JSON as TOML, which the library reads.
fn as_toml(json: &str) -> Answer<String> {
    let table: toml::Table = serde_json::from_str(json).map_err(|e| Error::data(e.to_string()))?;
    Ok(table.to_string())
}
