//! Off-policy estimates by importance weights alone: what settings are chosen by.

use crate::data::Log;
use crate::engine::Engine;
use crate::error::Result;
use crate::folds::{Bootstrap, Powers, score};
use crate::policy::TargetPolicy;
use serde::{Deserialize, Serialize};

/// Estimates of a policy's cost on a log, and what they rest on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// mean(w y); with a kernel policy this is Kallus & Zhou's estimator. Not a number where all weights are 0.
    pub ips: f64,
    /// sum(w y) / sum(w), their self-normalised one.
    pub snips: f64,
    /// The standard error of the latter.
    pub std_error: f64,
    /// (sum w)^2 / sum w^2
    pub effective: f64,
    /// Rows.
    pub rows: f64,
    /// Mean weight.
    pub mean_weight: f64,
}

/// What the log says of a policy.
pub fn figures(engine: &Engine, policy: &dyn TargetPolicy, log: &Log) -> Result<Figures> {
    let rows = score(engine, log, policy)?;
    let centre = log.cost_summary().mean();
    let m = engine
        .ask(&Bootstrap { replicates: 0, seed: 0, log_scale: 0.0, centre, of: Powers::Weights, together: 1 }, &rows)
        .own;
    let (mean_weight, _) = m.weight();
    let (value, std_error) = m.value();
    Ok(Figures {
        ips: mean_weight * (value + centre),
        snips: value + centre,
        std_error,
        effective: m.effective(),
        rows: m.n(),
        mean_weight,
    })
}
