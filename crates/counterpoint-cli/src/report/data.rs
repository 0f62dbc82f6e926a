//! What a report can say, as plain data: the commands fill it, the page draws it.
//!
//! All figures are on the user's scale (a reward stays a reward), and all are computed by the library; nothing here is
//! estimated. Whatever is left empty is left out of the page.

use super::histogram::Histogram;
use serde::Serialize;

/// A figure and the ends of its interval. Ends that are not finite are not drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Interval {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Interval {
    /// Half the width.
    pub(crate) fn half(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// Which way is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Better {
    Higher,
    Lower,
}

/// What came of the actions.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Outcome {
    /// The column's name.
    pub(crate) name: String,
    pub(crate) better: Better,
}

/// The answer of the offline protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Decision {
    Deploy,
    Keep,
    Invalid,
}

/// How a reason bears on the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Standing {
    /// A check that holds.
    Good,
    /// A check that fails.
    Bad,
    /// Worth knowing, decides nothing.
    Note,
}

/// A reason in words: a whole sentence with its figures.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Reason {
    pub(crate) standing: Standing,
    pub(crate) text: String,
}

/// The decision and why.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Verdict {
    pub(crate) decision: Decision,
    pub(crate) reasons: Vec<Reason>,
}

/// A figure with a name.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) interval: Interval,
}

/// What the log earned, what the policy would have, and the difference (policy minus log).
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Lift {
    /// The part of the log this was estimated on: "test".
    pub(crate) part: String,
    pub(crate) rows: f64,
    /// 0.95
    pub(crate) confidence: f64,
    /// "self-normalised, paired with the log; bootstrap-t, 2,000 resamples"
    pub(crate) method: String,
    pub(crate) log: Interval,
    pub(crate) policy: Interval,
    pub(crate) difference: Interval,
    /// Further figures on the same scale, such as the value of the mean action.
    pub(crate) others: Vec<Named>,
    pub(crate) p_value: Option<f64>,
}

/// A name and a text.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Fact {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// The importance weights of one part of the log.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Weights {
    /// "valid" or "test".
    pub(crate) part: String,
    pub(crate) rows: f64,
    /// n_eff = (sum w)^2 / sum w^2
    pub(crate) effective: f64,
    /// The least n_eff the gate accepts; none where nothing is gated.
    pub(crate) floor: Option<f64>,
    /// Mean weight; should hold 1.
    pub(crate) mean: Interval,
    /// How far the mean weight may lie from 1; none where nothing is gated.
    pub(crate) mean_tolerance: Option<f64>,
    /// max w / sum w
    pub(crate) largest_share: f64,
    /// Of the weights, with [`Histogram::logarithmic`] bins.
    pub(crate) histogram: Option<Histogram>,
    /// Other diagnostics: tail index, support overlap.
    pub(crate) facts: Vec<Fact>,
}

/// A point of a curve with a band around it.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Band {
    pub(crate) x: f64,
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// One value of a categorical context.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Level {
    pub(crate) name: String,
    pub(crate) rows: f64,
    /// Mean action over its rows, and the range in which most of them lie.
    pub(crate) mean: Interval,
}

/// What kind of column a context is.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Seen {
    Numeric {
        /// Sampled rows: (context, mean action). A few hundred are enough.
        rows: Vec<[f64; 2]>,
        /// Partial dependence: the mean action with this context set to x in every sampled row, and the range of most rows.
        curve: Vec<Band>,
    },
    Categorical {
        levels: Vec<Level>,
    },
}

/// The learned mean of one action against one context.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ContextView {
    pub(crate) context: String,
    pub(crate) action: String,
    pub(crate) seen: Seen,
}

/// How one action is distributed in the log and under the policy.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ActionView {
    pub(crate) action: String,
    pub(crate) logged: Histogram,
    pub(crate) policy: Option<Histogram>,
}

/// The predicted outcome over the action for one context.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CostCurve {
    /// "x0 = 0.21, x1 = 1.30"
    pub(crate) context: String,
    /// (action, predicted outcome) in increasing action.
    pub(crate) points: Vec<[f64; 2]>,
    /// Mean and std of the policy's action in this context.
    pub(crate) mean: f64,
    pub(crate) std: f64,
}

/// The predicted outcome over one action for a few typical contexts.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CostCurves {
    pub(crate) action: String,
    /// Who predicts: "ridge regression on the train part".
    pub(crate) predicted_by: String,
    pub(crate) curves: Vec<CostCurve>,
}

/// One estimator's answer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Estimated {
    pub(crate) estimator: String,
    pub(crate) interval: Interval,
    pub(crate) std_error: f64,
    pub(crate) effective_share: Option<f64>,
    pub(crate) mean_weight: Option<f64>,
}

/// A recipe that was tried.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Tried {
    /// One text for each of [`Leaderboard::settings`].
    pub(crate) settings: Vec<String>,
    pub(crate) value: Option<f64>,
    pub(crate) std_error: Option<f64>,
    pub(crate) effective: Option<f64>,
    pub(crate) mean_weight: Option<f64>,
    /// "passed", or why it did not.
    pub(crate) state: String,
    pub(crate) chosen: bool,
}

/// All recipes that were tried, best first.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Leaderboard {
    /// The part of the log they were compared on: "valid".
    pub(crate) part: String,
    /// The fields of the recipe that differ.
    pub(crate) settings: Vec<String>,
    pub(crate) rows: Vec<Tried>,
}

/// A part of the log.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) rows: f64,
}

/// A file that was read.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SourceFile {
    pub(crate) name: String,
    pub(crate) fingerprint: String,
}

/// Where the figures come from, so that they can be had again. No time and no machine: the same input gives the same bytes.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Provenance {
    pub(crate) version: String,
    pub(crate) seed: Option<u64>,
    /// "column \"split\"" or "seeded hash, 50/25/25"
    pub(crate) split: String,
    pub(crate) parts: Vec<Part>,
    pub(crate) files: Vec<SourceFile>,
    /// Columns and their roles, rows dropped, how propensities were had.
    pub(crate) facts: Vec<Fact>,
}
