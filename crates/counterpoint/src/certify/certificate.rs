//! The certificate: a verdict, its reasons, and every figure behind it.

use super::bound::Bound;
use super::coverage::Coverage;
use super::diagnose::Diagnostics;
use super::evidence::GateEvidence;
use super::interval::Interval;
use super::overturn::Overturn;
use super::subject::Subject;
use super::terms::Terms;
use super::words;
use crate::data::{Outcome, Propensities, Schema};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// What the test part says of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The policy is better than the log: the whole interval of the difference lies on its side of 0.
    Deploy,
    /// It would be better, if the densities of the log are right, which no log can show where they were estimated or rounded: a lead to
    /// follow, not a proof.
    Promising,
    /// That has not been shown.
    Keep,
    /// The valid part says that the test part could not tell: no decision.
    Invalid,
}

/// How the difference between policy and log is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Estimator {
    /// Self-normalised importance weights, less what contexts explain of the outcome where they do.
    #[default]
    Snips,
    /// Doubly robust, with a model of the outcome in contexts and actions that was learned from valid rows.
    Dr,
}

/// The difference by the estimator that the verdict does not rest on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// Which.
    pub estimator: Estimator,
    /// Its difference.
    pub difference: Interval,
}

/// p-values of one policy among several, adjusted so that the chance of any false `deploy` stays below delta / 2.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Adjusted {
    /// By Holm's rule.
    pub holm: f64,
    /// By the step-down max-T bootstrap; absent without replicates.
    pub max_t: Option<f64>,
    /// How many policies were tested together.
    pub policies: usize,
}

/// A verdict on a policy with all it rests on. Values are in the direction of the log's outcome: rewards as rewards, so that a gain is
/// a positive difference; costs as costs, so that a gain is a negative one.
///
/// A refusal is a certificate too, and is as worth keeping.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Certificate {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, in words.
    pub reasons: Vec<String>,
    /// The direction of the values: rewards or costs.
    pub direction: Outcome,
    /// The policy's value per row by SNIPS on the test part.
    pub value: Interval,
    /// The log's own value on the same rows.
    pub logged: Interval,
    /// The first minus the second, paired row by row, by the estimator that was declared.
    pub difference: Interval,
    /// How the difference was estimated: declared from valid rows, before a test row was read.
    #[serde(default)]
    pub estimator: Estimator,
    /// The difference by the other estimator, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
    /// One-sided p-value of "the policy is no better than the log".
    pub p_value: f64,
    /// The standard error that the difference would have if weights and outcomes had nothing to do with each other; the p-value takes the larger.
    #[serde(default)]
    pub null_error: f64,
    /// The same, adjusted for other policies tested on the same rows.
    pub adjusted: Option<Adjusted>,
    /// Degrees of freedom of the standard errors of value and difference, by Satterthwaite's rule: the smaller of
    /// 2 / (1/m - 1/n) on the valid and on the test part, m their [informative](Diagnostics::informative) rows. Quantiles are stretched by
    /// the ratio of Student's to the normal one: by 2.2 at two degrees, 1.14 at ten, 1.02 at fifty.
    pub freedom: f64,
    /// Replicates that were drawn for the difference: more than asked for where the verdict would have hung on the seed.
    #[serde(default)]
    pub replicates: usize,
    /// Whether the difference is that of outcomes less what contexts explain of them, as the valid part has it.
    #[serde(default)]
    pub controlled: bool,
    /// Bounds that hold without asymptotics, where they can be had.
    pub bound: Option<Bound>,
    /// How many more test rows like these would decide it four times in five, if the policy is worth what it seems to be; or, where the
    /// gate asks for effective rows, how many more valid rows would have them. Nothing where rows are not what is missing.
    #[serde(default)]
    pub more_rows: Option<f64>,
    /// Share of the policy's mass that the log does not show; the intervals hold whatever may happen there.
    #[serde(default)]
    pub missing: f64,
    /// Where the log supports the policy, context by context; nothing where rows were weighed by the caller.
    #[serde(default)]
    pub coverage: Option<Coverage>,
    /// What would overturn it; nothing where rows were weighed by the caller, and in older certificates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overturn: Option<Overturn>,
    /// The weights on the valid part: they decide whether the verdict counts.
    pub valid: Diagnostics,
    /// The weights on the test part: for information. Deciding on these would make errors more likely.
    pub test: Diagnostics,
    /// The terms.
    pub terms: Terms,
    /// Where the gate took its figures from.
    #[serde(default)]
    pub evidence: GateEvidence,
    /// Where the propensities come from; rows that were weighed by the caller count as logged.
    #[serde(default)]
    pub propensities: Propensities,
    /// Which policy, which log, which program.
    #[serde(default)]
    pub subject: Subject,
    /// A hash of the test rows, whatever their order: two certificates with the same one were given on the same rows.
    pub fingerprint: String,
}

impl Certificate {
    /// Reads a certificate back, of this version or an earlier one: what an earlier one lacks has its default. One of a newer program is
    /// refused, since what it says beyond this one would be passed over in silence.
    pub fn from_json(text: &str) -> Result<Self> {
        let broken = |e: serde_json::Error| {
            Error::data(format!("it is not a certificate: {e}"))
                .hint("write it anew with certify, or take a copy from before")
        };
        // a newer certificate may lack what this program needs, so its version is looked at first
        let any: serde_json::Value = serde_json::from_str(text).map_err(broken)?;
        let subject = any.get("subject").and_then(|s| Subject::deserialize(s).ok());
        if let Some(version) = subject.as_ref().and_then(Subject::newer) {
            let own = env!("CARGO_PKG_VERSION");
            return Err(Error::data(format!("it was written by version {version}, and this is version {own}"))
                .hint("use the release of counterpoint that wrote it, or a newer one"));
        }
        serde_json::from_str(text).map_err(broken)
    }

    /// The certificate with its values, so far costs, in this direction. Upper bounds of costs become lower bounds of rewards.
    #[allow(clippy::wrong_self_convention)] // a certificate is turned, not borrowed
    pub(super) fn to_user(self, direction: Outcome) -> Self {
        let mut turned = self;
        if direction != turned.direction {
            for i in [&mut turned.value, &mut turned.logged, &mut turned.difference] {
                *i = i.to_user(Outcome::Reward);
            }
            if let Some(b) = &mut turned.bound {
                (b.value, b.difference) = (-b.value, -b.difference);
                (b.least_value, b.least_difference) = (-b.least_value, -b.least_difference);
                b.cost_range = [-b.cost_range[1], -b.cost_range[0]];
            }
            if let Some(b) = &mut turned.beside {
                b.difference = b.difference.to_user(Outcome::Reward);
            }
            turned.direction = direction;
        }
        turned
    }

    /// The same certificate, saying so if it rests on estimated propensities: a gain is then a lead, unless the terms trust them.
    #[must_use]
    pub fn resting_on(mut self, schema: &Schema) -> Self {
        let propensities = &schema.propensities;
        if let Some(sentence) = propensities.sentence() {
            if self.verdict == Verdict::Deploy && !self.terms.trust_estimated {
                self.verdict = Verdict::Promising;
            }
            self.reasons.push(sentence);
        }
        self.propensities = propensities.clone();
        self
    }

    /// The same certificate, saying so if the logged densities were rounded so coarsely that weights are off: a gain is then a lead too.
    #[must_use]
    pub(super) fn doubting(mut self, rounding: Option<crate::describe::Rounding>) -> Self {
        if let Some(rounding) = rounding {
            if self.verdict == Verdict::Deploy {
                self.verdict = Verdict::Promising;
            }
            self.reasons.push(rounding.warning());
        }
        self
    }

    /// The same certificate, with the caller's name for the log and for the program that asked.
    #[must_use]
    pub fn naming(mut self, log: impl Into<String>, program: impl Into<String>) -> Self {
        self.subject.log = Some(log.into());
        self.subject.program = program.into();
        self
    }

    /// What the figures decide, in one sentence: one of the reasons.
    pub fn decision(&self) -> String {
        words::decision(self)
    }

    /// Which of the reasons are checks of the weights that failed; empty where the figures may be believed.
    pub fn refusals(&self) -> Vec<String> {
        words::refusals(&self.evidence.figures(&self.valid), self.coverage.as_ref(), &self.terms)
    }

    /// Whether the verdict is to deploy.
    pub fn deploys(&self) -> bool {
        self.verdict == Verdict::Deploy
    }
}
