//! What is written in Python as keywords, in the library's own grammar.

use crate::errors::Answer;
use counterpoint::certify::{Gate, Method, Terms};
use counterpoint::select::Grid;
use counterpoint::{Error, Recipe, Result};
use pyo3::prelude::*;
use serde::Deserialize;
use std::path::Path;

/// The fields of a recipe: name, default and meaning.
#[pyfunction]
pub(crate) fn recipe_fields() -> Vec<(String, String, String)> {
    Recipe::describe().into_iter().map(|(name, default, meaning)| (name.to_string(), default, meaning)).collect()
}

/// The recipe that these fields mean, every field written out, as TOML.
#[pyfunction]
#[pyo3(signature = (fields, file=None))]
pub(crate) fn recipe_grammar(fields: &str, file: Option<&str>) -> PyResult<String> {
    Ok(recipe(fields, file)?.to_toml())
}

/// The recipe of a file with these fields (JSON) changed; without a file the fields say which policy is meant.
pub(crate) fn recipe(fields: &str, file: Option<&str>) -> Answer<Recipe> {
    let changes = table(fields)?;
    Ok(match file {
        Some(path) => Recipe::load(Path::new(path))?.changed(&changes)?,
        None => Recipe::from_toml(&changes.to_string())?,
    })
}

/// A grid by its name, of a file, or written as a dictionary (JSON).
pub(crate) fn grid(text: &str) -> Answer<Grid> {
    match text.starts_with('{') {
        true => Ok(Grid::from_toml(&table(text)?.to_string())?),
        false => Ok(Grid::named_or_file(text)?),
    }
}

/// JSON as TOML: what Python writes as a dictionary, the library reads as a file.
fn table(json: &str) -> Result<toml::Table> {
    serde_json::from_str(json).map_err(|e| Error::data(e.to_string()))
}

/// What a policy has to show, as the command line has it.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wanted {
    confidence: f64,
    min_effective_share: f64,
    min_effective_rows: f64,
    interval: String,
    outcome_range: Option<[f64; 2]>,
    trust_estimated: bool,
    paper: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        let (terms, gate) = (Terms::default(), Gate::default());
        Wanted {
            confidence: terms.confidence,
            min_effective_share: gate.min_effective_share,
            min_effective_rows: gate.min_effective_rows,
            interval: "bootstrap".into(),
            outcome_range: None,
            trust_estimated: false,
            paper: false,
        }
    }
}

/// The terms of a certificate from keywords (JSON).
pub(crate) fn terms(json: &str, seed: u64) -> Answer<Terms> {
    let w: Wanted =
        serde_json::from_str(json).map_err(|e| Error::data(format!("the terms of the certificate: {e}")))?;
    let base = match (w.paper, w.interval.as_str()) {
        (true, _) => Terms::paper(),
        (false, "bootstrap") => Terms::default(),
        (false, "normal") => Terms { interval: Method::Normal, ..Terms::default() },
        (false, other) => {
            return Err(Error::data(format!("there is no interval {other:?}")).hint("bootstrap or normal").into());
        }
    };
    let gate = Gate {
        min_effective_share: w.min_effective_share,
        min_effective_rows: w.min_effective_rows,
        ..Gate::default()
    };
    let terms = Terms {
        confidence: w.confidence,
        gate,
        outcome_range: w.outcome_range,
        trust_estimated: w.trust_estimated,
        seed,
        ..base
    };
    terms.check()?;
    Ok(terms)
}
