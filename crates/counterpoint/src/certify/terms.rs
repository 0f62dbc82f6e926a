//! What a policy has to show before it may be deployed.

use super::gate::Gate;
use crate::data::Outcome;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// How intervals are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The studentised Poisson bootstrap: quantiles of (T* - T) / se* take the place of the normal ones, stretched by what
    /// [`Certificate::freedom`](super::Certificate::freedom) says of se. The default, because weighted costs are skewed, and a symmetric
    /// interval is then too short on one side.
    #[default]
    BootstrapT,
    /// T +- t se, se from the influence function, t a quantile of Student's law with as many degrees of freedom as se
    /// has. No replicates: the fast path for large n_eff.
    Normal,
    /// Quantiles of T* themselves, as in the paper.
    Percentile,
}

/// Whose rule decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The paired difference between policy and log, behind all gates.
    #[default]
    Default,
    /// Algorithm 2 to the letter: n_eff / n > nu, then the upper end of a 100-fold percentile bootstrap of the
    /// policy's cost against the mean cost of the log. Kept for comparison; it errs more often and finds less.
    Paper,
}

/// How verdicts on several policies are kept honest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Adjust {
    /// Step-down max-T over the joint replicates: uses how alike the policies are. Needs a bootstrap.
    #[default]
    MaxT,
    /// Holm's step-down rule on single p-values: needs nothing.
    Holm,
}

/// The terms of a certificate.
///
/// ```
/// use counterpoint::certify::{Method, Terms};
/// let terms: Terms = serde_json::from_str(r#"{"interval": "normal"}"#).unwrap();
/// assert_eq!((terms.confidence, terms.gate.min_effective_rows, terms.interval), (0.95, 50.0, Method::Normal));
/// assert!(Terms { confidence: 1.5, ..terms }.check().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Terms {
    /// 1 - delta: how often an interval holds the truth. The test is one-sided at delta / 2, that is, a policy passes
    /// when the whole interval lies on its side.
    pub confidence: f64,
    /// What the weights on the valid part must show.
    pub gate: Gate,
    /// Replicates of the bootstrap.
    pub bootstrap: usize,
    /// How intervals are made.
    pub interval: Method,
    /// Whose rule decides.
    pub mode: Mode,
    /// How several policies are judged on one test part.
    pub adjust: Adjust,
    /// The smallest and the largest cost that can happen, if known: the finite-sample bound needs them.
    pub cost_range: Option<[f64; 2]>,
    /// The same on the scale of the user's outcome, whatever its direction; it takes the place of `cost_range`.
    pub outcome_range: Option<[f64; 2]>,
    /// The seed of the bootstrap.
    pub seed: u64,
    /// Whether a gain that rests on estimated propensities is a reason to deploy; by default it is only promising.
    pub trust_estimated: bool,
    /// Whether a model of the outcome that is learned from valid rows may take part, where it makes the difference more certain there.
    pub robust: bool,
}

impl Default for Terms {
    fn default() -> Self {
        Terms {
            confidence: 0.95,
            gate: Gate::default(),
            bootstrap: 1000,
            interval: Method::BootstrapT,
            mode: Mode::Default,
            adjust: Adjust::MaxT,
            cost_range: None,
            outcome_range: None,
            seed: 0,
            trust_estimated: false,
            robust: true,
        }
    }
}

impl Terms {
    /// The paper's own terms.
    pub fn paper() -> Self {
        Terms { mode: Mode::Paper, interval: Method::Percentile, bootstrap: 100, ..Terms::default() }
    }

    /// delta / 2: the probability left out on each side of an interval.
    pub fn tail(&self) -> f64 {
        0.5 * (1.0 - self.confidence)
    }

    /// How many replicates lie beyond each end of an interval, of B + 1 equally likely places.
    pub(super) fn rank(&self) -> usize {
        // a hair above, so that .025 * 1000 is not 24.999...
        (self.tail() * (self.bootstrap + 1) as f64 + 1e-9) as usize
    }

    pub(super) fn replicates(&self) -> usize {
        if self.interval == Method::Normal { 0 } else { self.bootstrap }
    }

    /// The same terms with the range of outcomes as one of costs.
    pub(super) fn in_costs(&self, direction: Outcome) -> Terms {
        let stated = self.outcome_range.map(|range| direction.costs_between(range));
        Terms { cost_range: stated.or(self.cost_range), ..self.clone() }
    }

    /// Refuses terms that cannot be met or mean nothing.
    pub fn check(&self) -> Result<()> {
        let field = |name: &str, what: String| Err(Error::recipe(&format!("certify.{name}"), what));
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return field("confidence", format!("{} must lie between 0 and 1", self.confidence));
        }
        self.gate.check()?;
        if self.interval != Method::Normal && self.rank() == 0 {
            let least = (1.0 / self.tail()).ceil();
            return field("bootstrap", format!("{} replicates are too few for this confidence", self.bootstrap))
                .map_err(|e: Error| e.hint(format!("use at least {least}, or interval = \"normal\"")));
        }
        if self.mode == Mode::Paper && self.interval != Method::Percentile {
            return field("interval", "the paper's rule is the percentile bootstrap".into())
                .map_err(|e: Error| e.hint("start from Terms::paper()"));
        }
        for (name, range) in [("cost_range", self.cost_range), ("outcome_range", self.outcome_range)] {
            if let Some([low, high]) = range
                && !(low.is_finite() && high.is_finite() && low < high)
            {
                return field(name, format!("[{low}, {high}] is not a range"));
            }
        }
        Ok(())
    }
}
