//! The gate: when an estimate by importance weights may be believed at all.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// When an estimate may be believed: enough effective rows, and weights that average to one.
///
/// This is the only gate there is: [`certify`](super::certify) holds it against the valid part, `select` against the rows a fit has not
/// seen, rivals and the paper's protocol likewise.
///
/// ```
/// use counterpoint::certify::Gate;
/// let gate = Gate::default();
/// assert!(gate.passes(200.0, 10_000.0, 1.02));
/// assert!(!gate.passes(40.0, 1000.0, 1.0)); // too few effective rows
/// assert!(!gate.passes(200.0, 50_000.0, 1.0)); // too small a share of them
/// assert!(!gate.passes(200.0, 1000.0, 0.8)); // the policy goes where the log has not been
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Gate {
    /// Effective sample size n_eff = (sum w)^2 / sum w^2 at least this.
    pub min_effective_rows: f64,
    /// nu: n_eff / n at least this.
    pub min_effective_share: f64,
    /// |mean weight - 1| at most this.
    pub max_mean_weight_error: f64,
}

impl Default for Gate {
    fn default() -> Self {
        Gate { min_effective_rows: 50.0, min_effective_share: 0.01, max_mean_weight_error: 0.1 }
    }
}

impl Gate {
    /// The paper's gate: n_eff / n alone.
    pub const PAPER: Gate =
        Gate { min_effective_rows: 0.0, min_effective_share: 0.01, max_mean_weight_error: f64::INFINITY };

    /// The paper's gate with this gate's share.
    #[must_use]
    pub fn share_alone(self) -> Gate {
        Gate { min_effective_share: self.min_effective_share, ..Gate::PAPER }
    }

    /// Effective rows that are needed of `rows`.
    pub fn needs(&self, rows: f64) -> f64 {
        self.min_effective_rows.max(self.min_effective_share * rows)
    }

    /// Whether weights with these figures pass.
    pub fn passes(&self, effective: f64, rows: f64, mean_weight: f64) -> bool {
        effective >= self.needs(rows) && (mean_weight - 1.0).abs() <= self.max_mean_weight_error
    }

    /// Why weights with these figures on the valid part do not pass, in words; empty if they do.
    pub fn refusals(&self, effective: f64, rows: f64, mean_weight: f64) -> Vec<String> {
        let mut why = Vec::new();
        let need = self.needs(rows);
        if effective.is_nan() || effective < need {
            why.push(format!("only {effective:.1} of {rows} valid rows are effective, {need} are needed"));
        }
        let most = self.max_mean_weight_error;
        if mean_weight.is_nan() || (mean_weight - 1.0).abs() > most {
            why.push(format!(
                "the mean weight on the valid rows is {mean_weight:.3}, further than {most} from 1: the policy goes where the \
                 log has not been (no overlap), or the propensities are not densities"
            ));
        }
        why
    }

    /// Refuses a gate that means nothing.
    pub(super) fn check(&self) -> Result<()> {
        for (name, v) in [
            ("min_effective_rows", self.min_effective_rows),
            ("min_effective_share", self.min_effective_share),
            ("max_mean_weight_error", self.max_mean_weight_error),
        ] {
            if !(v.is_finite() && v >= 0.0) {
                return Err(Error::recipe(&format!("certify.gate.{name}"), format!("{v} must be a number >= 0")));
            }
        }
        Ok(())
    }
}
