//! What a report can say, as plain data: the commands fill it, the page draws it.
//!
//! All figures are on the user's scale (a reward stays a reward), and all are computed by the library; nothing here is
//! estimated. Whatever is left empty is left out of the page.

use super::histogram::Histogram;
use serde::Serialize;

/// A figure and the ends of its interval. Ends that are not finite are not drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The figure.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Half the width.
    pub fn half(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// Which way is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Larger is better: a reward.
    Higher,
    /// Smaller is better: a cost.
    Lower,
}

/// What came of the actions.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The column's name.
    pub name: String,
    /// Which way is good.
    pub better: Better,
}

/// The answer of the offline protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// The policy is better than the log.
    Deploy,
    /// That has not been shown.
    Keep,
    /// The checks failed: no decision.
    Invalid,
}

/// How a reason bears on the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// A check that holds.
    Good,
    /// A check that fails.
    Bad,
    /// Worth knowing, decides nothing.
    Note,
}

/// A reason in words: a whole sentence with its figures.
#[derive(Clone, Debug, Serialize)]
pub struct Reason {
    /// How it bears on the decision.
    pub standing: Standing,
    /// The sentence.
    pub text: String,
}

/// The decision and why.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// The decision.
    pub decision: Decision,
    /// Why.
    pub reasons: Vec<Reason>,
}

/// A figure with a name.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// The figure.
    pub interval: Interval,
}

/// What the log earned, what the policy would have, and the difference (policy minus log).
#[derive(Clone, Debug, Serialize)]
pub struct Lift {
    /// The part of the log this was estimated on: "test".
    pub part: String,
    /// Rows it was estimated on.
    pub rows: f64,
    /// 0.95
    pub confidence: f64,
    /// "self-normalised, paired with the log; bootstrap-t, 2,000 resamples"
    pub method: String,
    /// What the log earned or cost per row.
    pub log: Interval,
    /// What the policy would have.
    pub policy: Interval,
    /// Policy minus log, paired row by row.
    pub difference: Interval,
    /// Further figures on the same scale, such as the value of the mean action.
    pub others: Vec<Named>,
    /// One-sided, of "not better than the log".
    pub p_value: Option<f64>,
}

/// A name and a text.
#[derive(Clone, Debug, Serialize)]
pub struct Fact {
    /// Its name.
    pub name: String,
    /// The text.
    pub value: String,
}

/// The importance weights of one part of the log.
#[derive(Clone, Debug, Serialize)]
pub struct Weights {
    /// "valid" or "test".
    pub part: String,
    /// Rows.
    pub rows: f64,
    /// n_eff = (sum w)^2 / sum w^2
    pub effective: f64,
    /// The least n_eff the gate accepts; none where nothing is gated.
    pub floor: Option<f64>,
    /// Mean weight; should hold 1.
    pub mean: Interval,
    /// How far the mean weight may lie from 1; none where nothing is gated.
    pub mean_tolerance: Option<f64>,
    /// max w / sum w
    pub largest_share: f64,
    /// Of the weights, with [`Histogram::logarithmic`] bins.
    pub histogram: Option<Histogram>,
    /// Other diagnostics: tail index, support overlap.
    pub facts: Vec<Fact>,
}

/// A point of a curve with a band around it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Band {
    /// Where.
    pub x: f64,
    /// The curve.
    pub value: f64,
    /// Lower end of the band.
    pub low: f64,
    /// Upper end of the band.
    pub high: f64,
}

/// One value of a categorical context.
#[derive(Clone, Debug, Serialize)]
pub struct Level {
    /// Its name.
    pub name: String,
    /// Sampled rows that have it.
    pub rows: f64,
    /// Mean action over its rows, and the range in which most of them lie.
    pub mean: Interval,
}

/// What kind of column a context is.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seen {
    /// A number.
    Numeric {
        /// Sampled rows: (context, mean action). A few hundred are enough.
        rows: Vec<[f64; 2]>,
        /// Partial dependence: the mean action with this context set to x in every sampled row, and the range of most rows.
        curve: Vec<Band>,
    },
    /// A category.
    Categorical {
        /// Its values.
        levels: Vec<Level>,
    },
}

/// The learned mean of one action against one context.
#[derive(Clone, Debug, Serialize)]
pub struct ContextView {
    /// The context.
    pub context: String,
    /// The action.
    pub action: String,
    /// What was seen.
    pub seen: Seen,
}

/// How one action is distributed in the log and under the policy.
#[derive(Clone, Debug, Serialize)]
pub struct ActionView {
    /// The action.
    pub action: String,
    /// In the log.
    pub logged: Histogram,
    /// Under the policy, in the same contexts.
    pub policy: Option<Histogram>,
}

/// The predicted outcome over the action for one context.
#[derive(Clone, Debug, Serialize)]
pub struct CostCurve {
    /// "x0 = 0.21, x1 = 1.30"
    pub context: String,
    /// (action, predicted outcome) in increasing action.
    pub points: Vec<[f64; 2]>,
    /// Mean and std of the policy's action in this context.
    pub mean: f64,
    /// Its std.
    pub std: f64,
}

/// The predicted outcome over one action for a few typical contexts.
#[derive(Clone, Debug, Serialize)]
pub struct CostCurves {
    /// The action.
    pub action: String,
    /// Who predicts: "ridge regression on the train part".
    pub predicted_by: String,
    /// One per context.
    pub curves: Vec<CostCurve>,
}

/// One estimator's answer.
#[derive(Clone, Debug, Serialize)]
pub struct Estimated {
    /// Which estimator.
    pub estimator: String,
    /// Its answer.
    pub interval: Interval,
    /// Its standard error.
    pub std_error: f64,
    /// n_eff / n of the weights it uses.
    pub effective_share: Option<f64>,
    /// Their mean.
    pub mean_weight: Option<f64>,
}

/// A recipe that was tried.
#[derive(Clone, Debug, Serialize)]
pub struct Tried {
    /// One text for each of [`Leaderboard::settings`].
    pub settings: Vec<String>,
    /// Estimated outcome.
    pub value: Option<f64>,
    /// Its standard error.
    pub std_error: Option<f64>,
    /// n_eff.
    pub effective: Option<f64>,
    /// Mean weight.
    pub mean_weight: Option<f64>,
    /// "passed", or why it did not.
    pub state: String,
    /// Whether it was chosen.
    pub chosen: bool,
}

/// All recipes that were tried, best first.
#[derive(Clone, Debug, Serialize)]
pub struct Leaderboard {
    /// The part of the log they were compared on: "valid".
    pub part: String,
    /// The fields of the recipe that differ.
    pub settings: Vec<String>,
    /// The recipes.
    pub rows: Vec<Tried>,
}

/// A part of the log.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: f64,
}

/// A file that was read.
#[derive(Clone, Debug, Serialize)]
pub struct SourceFile {
    /// Its name.
    pub name: String,
    /// What tells it from others.
    pub fingerprint: String,
}

/// Where the figures come from, so that they can be had again. No time and no machine: the same input gives the same bytes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Provenance {
    /// Of counterpoint.
    pub version: String,
    /// Of everything random.
    pub seed: Option<u64>,
    /// "column \"split\"" or "seeded hash, 50/25/25"
    pub split: String,
    /// The parts of the log.
    pub parts: Vec<Part>,
    /// What was read.
    pub files: Vec<SourceFile>,
    /// Columns and their roles, rows dropped, how propensities were had.
    pub facts: Vec<Fact>,
}
