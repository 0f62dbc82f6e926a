//! The gate: when an estimate by importance weights may be believed at all.

use crate::error::{Error, Result};
use crate::policy::GateFigures;
use serde::{Deserialize, Serialize};

/// When an estimate may be believed: enough effective rows, and weights that average to one as far as their own error can tell.
///
/// The mean weight may be off by [`max_mean_weight_error`](Gate::max_mean_weight_error), or by
/// [`mean_weight_errors`](Gate::mean_weight_errors) of its standard errors where that is more, but never by more than
/// [`most_mean_weight_error`](Gate::most_mean_weight_error):
///
/// ```text
/// |mean w - 1| <= max(.1, min(3 se, .3)),    se = mean w sqrt((n / n_eff - 1) / n)
/// ```
///
/// A fixed .1 refused 39 to 50% of fully supported policies at 67 effective rows, where the mean weight has an error of .12.
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
/// assert!(gate.passes(67.0, 5000.0, 0.8)); // .2 from 1, but with a standard error of .1
/// assert!(!gate.passes(67.0, 5000.0, 0.65)); // too far, whatever its error
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Gate {
    /// Effective sample size n_eff = (sum w)^2 / sum w^2 at least this.
    pub min_effective_rows: f64,
    /// nu: n_eff / n at least this.
    pub min_effective_share: f64,
    /// |mean weight - 1| at most this ..
    pub max_mean_weight_error: f64,
    /// .. or at most so many of its standard errors, where that is more ..
    pub mean_weight_errors: f64,
    /// .. but never more than this.
    pub most_mean_weight_error: f64,
}

impl Default for Gate {
    fn default() -> Self {
        Gate {
            min_effective_rows: 50.0,
            min_effective_share: 0.01,
            max_mean_weight_error: 0.1,
            mean_weight_errors: 3.0,
            most_mean_weight_error: 0.3,
        }
    }
}

impl Gate {
    /// The paper's gate: n_eff / n alone.
    pub const PAPER: Gate = Gate {
        min_effective_rows: 0.0,
        min_effective_share: 0.01,
        max_mean_weight_error: f64::INFINITY,
        mean_weight_errors: 0.0,
        most_mean_weight_error: f64::INFINITY,
    };

    /// The paper's gate with this gate's share.
    #[must_use]
    pub fn share_alone(self) -> Gate {
        Gate { min_effective_share: self.min_effective_share, ..Gate::PAPER }
    }

    /// Effective rows that are needed of `rows`.
    pub fn needs(&self, rows: f64) -> f64 {
        self.min_effective_rows.max(self.min_effective_share * rows)
    }

    /// How far a mean weight with this standard error may be from 1.
    pub fn tolerance(&self, error: f64) -> f64 {
        let own = (self.mean_weight_errors * error).min(self.most_mean_weight_error);
        self.max_mean_weight_error.max(own) // an error that is no number says nothing
    }

    /// Whether independent rows with these figures pass; the error of their mean weight follows from them.
    pub fn passes(&self, effective: f64, rows: f64, mean_weight: f64) -> bool {
        self.refusals(&GateFigures::of(effective, rows, mean_weight)).is_empty()
    }

    /// Why weights with these figures do not pass, in words; empty if they do.
    pub fn refusals(&self, s: &GateFigures) -> Vec<String> {
        let mut why = Vec::new();
        let need = self.needs(s.rows);
        if s.effective.is_nan() || s.effective < need {
            let of = s.rows;
            why.push(format!("only {:.1} of {of} {} are effective, {need} are needed", s.effective, s.whose()));
        }
        let most = self.tolerance(s.mean_weight_error);
        if s.mean_weight.is_nan() || (s.mean_weight - 1.0).abs() > most {
            why.push(format!(
                "the mean weight on the {} is {:.3} (standard error {:.3}), further than {:.3} from 1: the policy goes where \
                 the log has not been (no overlap), or the propensities are not densities",
                s.whose(),
                s.mean_weight,
                s.mean_weight_error,
                most
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
            ("mean_weight_errors", self.mean_weight_errors),
            ("most_mean_weight_error", self.most_mean_weight_error),
        ] {
            if !(v.is_finite() && v >= 0.0) {
                return Err(Error::recipe(&format!("certify.gate.{name}"), format!("{v} must be a number >= 0")));
            }
        }
        Ok(())
    }
}
