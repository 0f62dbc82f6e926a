//! What a policy would have earned or cost, by every estimator; with a loss model of ours, or of somebody else's.

use crate::errors::{Answer, Fault};
use crate::judge::same_rows;
use crate::log::Log;
use crate::policy::Policy;
use crate::target::{Brought, logging as logging_policy, target};
use crate::work;
use counterpoint::certify::{Terms, mean_action, mean_action_value, ratio, spread};
use counterpoint::data::Parts;
use counterpoint::estimate::Predictions;
use counterpoint::evaluate::{Aids, paper_bounds};
use counterpoint::explain::estimator_table_of;
use counterpoint::folds::DRAWS;
use counterpoint::learn::fit_model;
use counterpoint::policy::TargetPolicy;
use counterpoint::{Error, Recipe, Result, Source};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use serde_json::{Value, json};

/// How a policy is evaluated.
#[derive(FromPyObject)]
pub(crate) struct Question {
    /// all, train, valid or test.
    pub(crate) rows: String,
    pub(crate) seed: u64,
    cap: f64,
    model_ridge: f64,
    tail: f64,
    /// Whether the paper's bounds are computed.
    bounds: bool,
    pub(crate) threads: usize,
}

/// A model that was fitted elsewhere: the actions it was asked at, what it says of them in every row, and of the logged ones.
#[derive(FromPyObject)]
pub(crate) struct Elsewhere<'py>(Vec<f64>, PyReadonlyArray2<'py, f64>, Option<PyReadonlyArray1<'py, f64>>);

impl Elsewhere<'_> {
    fn predictions(&self, log: &Log) -> Answer<Predictions> {
        let (direction, values) = (log.log.schema().direction, self.1.as_array());
        if values.nrows() != log.given || values.ncols() != self.0.len() {
            let (rows, columns) = (values.nrows(), values.ncols());
            return Err(Fault::from(
                Error::data(format!(
                    "the predictions are {rows} by {columns}, the log has {} rows and there are {} actions",
                    log.given,
                    self.0.len()
                ))
                .hint("one row of predictions a row of the log, one column an action"),
            ));
        }
        let found = Predictions::new(direction, self.0.clone(), values.iter().copied().collect())?;
        Ok(match &self.2 {
            Some(logged) => found.with_logged(direction, logged.as_array().iter().copied().collect())?,
            None => found,
        })
    }
}

/// Every estimator's answer, as JSON. `per` is the log that has the column below the line of a ratio as its outcome.
#[pyfunction]
#[pyo3(signature = (policy, log, question, logging, model, per))]
pub(crate) fn evaluate(
    py: Python<'_>,
    policy: Brought<'_>,
    log: &Log,
    question: Question,
    logging: Option<&Policy>,
    model: Option<Elsewhere<'_>>,
    per: Option<&Log>,
) -> PyResult<String> {
    let (policy, logging) = (target(&policy, log)?, logging_policy(logging)?);
    let predictions = model.map(|m| m.predictions(log)).transpose()?;
    work::run(py, None, |watch| {
        let engine = watch.engine(question.threads)?;
        let parts = log.parts(question.seed);
        let rows = match question.of(&log.log, &parts)? {
            Some(rows) => rows,
            None => return parts.map(|_| String::new()),
        };
        // a log too short to divide can still be weighed
        let train = parts.as_ref().ok().map(|parts| parts.train.on(&engine));
        let train = train.as_ref().map(|t| -> &dyn Source { t });
        let mut said =
            answers((&rows.on(&engine), train), &*policy, &question, (logging.as_ref(), predictions.as_ref()))?;
        if let Some(per) = per {
            same_rows(log, &per.log, &format!("column {:?}", per.log.schema().outcome))?;
            let parts = per.log.split(log.rule(question.seed));
            let below = question.of(&per.log, &parts)?.ok_or_else(|| Error::data("the rows cannot be divided"))?;
            said["ratio"] = json!(ratio(&*policy, &rows.on(&engine), &below.on(&engine), &Terms::default())?);
        }
        Ok(said.to_string())
    })
}

impl Question {
    /// The rows that are asked about, of a log and its parts; nothing where it could not be divided.
    fn of<'a>(&self, log: &'a counterpoint::Log, parts: &'a Result<Parts>) -> Result<Option<&'a counterpoint::Log>> {
        Ok(match (self.rows.as_str(), parts) {
            ("all", _) => Some(log),
            ("train", Ok(parts)) => Some(&parts.train),
            ("valid", Ok(parts)) => Some(&parts.valid),
            ("test", Ok(parts)) => Some(&parts.test),
            ("train" | "valid" | "test", Err(_)) => None,
            (other, _) => return Err(unknown_rows(other)),
        })
    }
}

/// There are no such rows.
pub(crate) fn unknown_rows(name: &str) -> Error {
    Error::data(format!("there are no rows {name:?}")).hint("all, train, valid or test")
}

/// Every estimator's answer on these rows, as JSON; a loss model of ours is fitted on the rows of train.
pub(crate) fn answers(
    (rows, train): (&dyn Source, Option<&dyn Source>),
    policy: &dyn TargetPolicy,
    question: &Question,
    (logging, predictions): (Option<&counterpoint::Policy>, Option<&Predictions>),
) -> Result<Value> {
    let mut notes = Vec::new();
    let recipe = Recipe::clp().with_model_ridge(question.model_ridge);
    let ours = match (predictions, train) {
        (None, Some(train)) => Some(fit_model(train, policy, &recipe)),
        _ => None,
    };
    let ours = ours.and_then(|m| m.map_err(|e| notes.push(format!("no loss model: {e}"))).ok());
    let aids = Aids { model: ours.as_ref(), logging, predictions };
    let table = estimator_table_of(rows, policy, question.cap, aids)?;
    let by_model = match &ours {
        Some(model) => mean_action_value(rows, policy, model)?.map(|estimate| json!({"estimate": estimate})),
        None => None,
    };
    let mean = match mean_action(policy, rows, 0.95) {
        Ok(mean) => Some(mean),
        Err(e) => {
            notes.push(format!("no value of the mean action: {}", e.what()));
            None
        }
    };
    let distribution = match spread(policy, rows, question.tail, 0.95) {
        Ok(spread) => Some(spread),
        Err(e) => {
            notes.push(format!("no distribution of the outcome: {e}"));
            None
        }
    };
    if logging.is_none() {
        notes.push("switch and cab need logging_policy=".into());
    }
    if ours.is_some() && matches!(question.rows.as_str(), "all" | "train") {
        notes.push("the loss model has seen rows it is judged on here; rows=\"valid\" has not this fault".into());
    }
    if question.rows == "test" {
        notes.push("these are the test rows: choose nothing by them, or a certificate on them means less".into());
    }
    if table.estimators.iter().any(|e| e.draws > 0) {
        notes.push(format!("the loss model's expectation is a mean over {DRAWS} drawn actions per row"));
    }
    notes.extend(rows.schema().propensities.sentence());
    let mut said = json!({"table": table, "part": question.rows, "outcome": rows.schema().outcome, "mean_action": mean,
        "mean_action_by_model": by_model, "direction": rows.schema().direction, "distribution": distribution, "notes": notes});
    if question.bounds {
        let Some(parametric) = policy.parametric() else {
            let what = "the paper's bounds are for a counterfactual loss predictor (kind \"parametric\")";
            return Err(Error::policy(what).hint("learn one with Learner(policy=\"clp\", family=\"normal\")"));
        };
        let found = paper_bounds(rows, parametric, question.cap, 0.95)?;
        said["bounds"] = json!(found);
        said["bounds_in_words"] = json!(found.to_string());
    }
    Ok(said)
}
