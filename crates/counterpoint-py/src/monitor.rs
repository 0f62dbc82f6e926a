//! A policy followed over batches of rows. The state crosses as the text of its file, which is checked whenever it is read.

use crate::errors::{Answer, Fault};
use crate::log::Log;
use crate::target::{Brought, target};
use crate::work;
use counterpoint::Error;
use counterpoint::certify::{Watch, WatchTerms};
use counterpoint::data::write_together;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::json;
use std::path::PathBuf;

/// What is asked of a monitor; of one that goes on only what is said again.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    confidence: Option<f64>,
    outcome_range: Option<[f64; 2]>,
    against: Option<f64>,
}

impl Asked {
    /// The terms of a new state.
    fn terms(&self) -> Answer<WatchTerms> {
        let Some(outcome_range) = self.outcome_range else {
            return Err(Error::data("a new state needs the range of the outcome")
                .hint("say outcome_range=(low, high): the smallest and the largest outcome that can happen")
                .into());
        };
        Ok(WatchTerms { confidence: self.confidence.unwrap_or(0.95), outcome_range, against: self.against })
    }

    /// Terms that are said again must be those of the state.
    fn agree(&self, terms: &WatchTerms) -> Answer<()> {
        let differs = [
            ("outcome_range", self.outcome_range.is_some_and(|r| r != terms.outcome_range)),
            ("confidence", self.confidence.is_some_and(|c| c != terms.confidence)),
            ("against", self.against.is_some() && self.against != terms.against),
        ];
        match differs.iter().find(|d| d.1) {
            Some((name, _)) => Err(Error::data(format!("the state was started with another {name}"))
                .hint("what a monitor promises holds for the terms it began with: leave it out, or start a new state")
                .into()),
            None => Ok(()),
        }
    }
}

/// The state after the rows of a log: a new one, or the one that is given (the text of its file). The terms are JSON.
#[pyfunction]
#[pyo3(signature = (policy, log, terms, state, threads))]
pub(crate) fn monitor(
    py: Python<'_>,
    policy: Brought<'_>,
    log: &Log,
    terms: &str,
    state: Option<&str>,
    threads: usize,
) -> PyResult<String> {
    let asked: Asked = serde_json::from_str(terms).map_err(|e| Fault::from(Error::data(e.to_string())))?;
    let (policy, begun) = (target(&policy, log)?, state.map(Watch::from_json).transpose().map_err(Fault::from)?);
    let terms = match &begun {
        Some(watch) => asked.agree(watch.terms()).map(|()| *watch.terms())?,
        None => asked.terms()?,
    };
    work::run(py, None, |watch| {
        let engine = watch.engine(threads)?;
        let rows = log.log.on(&engine);
        let mut state = begun.map_or_else(|| Watch::new(&*policy, &rows, terms), Ok)?;
        state.fold(&*policy, &rows)?;
        Ok(state.to_json())
    })
}

/// The state that two places give together.
#[pyfunction]
pub(crate) fn monitor_merge(state: &str, other: &str) -> PyResult<String> {
    let merged = || {
        let mut watch = Watch::from_json(state)?;
        watch.merge(&Watch::from_json(other)?)?;
        Ok::<_, Error>(watch.to_json())
    };
    Ok(merged().map_err(Fault::from)?)
}

/// What a state says: JSON.
#[pyfunction]
pub(crate) fn monitor_look(state: &str) -> PyResult<String> {
    let watch = Watch::from_json(state).map_err(Fault::from)?;
    let (look, looks) = (watch.look(), watch.looks());
    Ok(json!({"look": look, "looks": looks, "terms": watch.terms(), "own_rows": watch.has_own_rows_only()}).to_string())
}

/// The text of the file of a state, which must be one.
#[pyfunction]
pub(crate) fn monitor_load(path: PathBuf) -> PyResult<String> {
    Ok(Watch::load(path).map_err(Fault::from)?.to_json())
}

/// Writes the file of a state, whole or not at all.
#[pyfunction]
pub(crate) fn monitor_save(state: &str, path: PathBuf) -> PyResult<()> {
    Ok(write_together(&[(path, state.to_string())]).map_err(Fault::from)?)
}
