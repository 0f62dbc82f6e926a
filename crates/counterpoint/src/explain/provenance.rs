//! Where the figures come from, so that they can be had again.

use crate::data::Log;
use serde::{Deserialize, Serialize};

/// A name and a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// Its name.
    pub name: String,
    /// The text.
    pub value: String,
}

/// A part of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: f64,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Its name.
    pub name: String,
    /// What tells its rows from others; empty if unknown.
    pub fingerprint: String,
}

/// Where the figures come from. No time and no machine: the same input gives the same bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Of counterpoint.
    pub version: String,
    /// Of everything random.
    pub seed: Option<u64>,
    /// How rows were divided: "column \"split\"" or "seeded hash, 50/25/25".
    pub split: String,
    /// The parts of the log.
    pub parts: Vec<Part>,
    /// What was read.
    pub files: Vec<SourceFile>,
    /// Columns and their roles, rows dropped, where the propensities come from.
    pub facts: Vec<Fact>,
}

impl Provenance {
    /// What a log says of itself.
    pub(super) fn of(log: &Log, name: &str) -> Self {
        let schema = log.schema();
        let fact = |name: &str, value: String| Fact { name: name.into(), value };
        Provenance {
            version: env!("CARGO_PKG_VERSION").into(),
            files: vec![SourceFile { name: name.into(), fingerprint: String::new() }],
            facts: vec![
                fact("contexts", schema.contexts.join(", ")),
                fact("actions", schema.actions.join(", ")),
                fact("outcome", schema.outcome.clone()),
                fact("propensity", propensity(log)),
                fact("rows dropped", log.dropped().rows.to_string()),
            ],
            ..Provenance::default()
        }
    }
}

/// Where the propensities come from, in words.
pub(super) fn propensity(log: &Log) -> String {
    let schema = log.schema();
    let Some(e) = schema.propensities.estimated() else { return schema.propensity.clone() };
    let model = |m: &crate::data::ActionModel| format!("{}: {}, {} mean, {} std", m.action, m.family, m.mean, m.std);
    let models: Vec<String> = e.actions.iter().map(model).collect();
    format!("estimated, cross-fitted in {} folds ({})", e.folds, models.join("; "))
}
