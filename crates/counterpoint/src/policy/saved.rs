//! Any policy that has a file: learned, a rule with noise, a softmax over buckets.

use super::{AbstainPolicy, Columns, Law, ModelPolicy, Origin, Policy, RulePolicy, SoftmaxPolicy, TargetPolicy};
use crate::data::{Block, Input, Schema};
use crate::error::{Error, Result};
use crate::features::Scaler;
use rand::Rng;
use serde::{Deserialize, Serialize};

/// A policy of any kind that has a file; evaluation, certificates and acting take it whatever its kind.
///
/// ```
/// use counterpoint::policy::{Family, SavedPolicy, TargetPolicy};
/// use counterpoint::Policy;
/// let policy = Policy::constant(Family::Normal, &["x"], &["a"], &[1.0], &[0.5])?;
/// let saved = SavedPolicy::from(policy.clone());
/// let again = SavedPolicy::from_json(&saved.to_json())?; // checked before it is believed
/// assert_eq!(again, saved);
/// assert_eq!(again.log_density(&[0.0], &[1.2]), policy.log_density(&[0.0], &[1.2]));
/// # Ok::<(), counterpoint::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "policy", rename_all = "kebab-case")]
#[non_exhaustive]
#[allow(clippy::large_enum_variant)] // one per process
pub enum SavedPolicy {
    /// A mean model times a family.
    Parametric(Policy),
    /// A rule with or without noise.
    Rule(RulePolicy),
    /// A softmax over buckets, uniform within a bucket.
    Softmax(SoftmaxPolicy),
    /// A mean found by models of the cost.
    Model(ModelPolicy),
    /// A policy where the log supports it, and what the log did elsewhere.
    Abstain(AbstainPolicy),
}

impl From<AbstainPolicy> for SavedPolicy {
    fn from(policy: AbstainPolicy) -> Self {
        SavedPolicy::Abstain(policy)
    }
}

impl From<ModelPolicy> for SavedPolicy {
    fn from(policy: ModelPolicy) -> Self {
        SavedPolicy::Model(policy)
    }
}

impl From<Policy> for SavedPolicy {
    fn from(policy: Policy) -> Self {
        SavedPolicy::Parametric(policy)
    }
}

impl From<RulePolicy> for SavedPolicy {
    fn from(policy: RulePolicy) -> Self {
        SavedPolicy::Rule(policy)
    }
}

impl From<SoftmaxPolicy> for SavedPolicy {
    fn from(policy: SoftmaxPolicy) -> Self {
        SavedPolicy::Softmax(policy)
    }
}

impl SavedPolicy {
    /// The kind, as the file names it.
    pub fn kind(&self) -> &'static str {
        match self {
            SavedPolicy::Parametric(_) => "parametric",
            SavedPolicy::Rule(_) => "rule",
            SavedPolicy::Softmax(_) => "softmax",
            SavedPolicy::Model(_) => "model",
            SavedPolicy::Abstain(_) => "abstain",
        }
    }

    /// The columns it is for, and the rows it was learned from.
    pub fn columns(&self) -> Columns {
        match self {
            SavedPolicy::Parametric(policy) => policy.columns(),
            SavedPolicy::Rule(policy) => policy.columns.clone(),
            SavedPolicy::Softmax(policy) => policy.columns.clone(),
            SavedPolicy::Model(policy) => policy.parts().columns.clone(),
            SavedPolicy::Abstain(policy) => policy.columns().clone(),
        }
    }

    /// The columns of predictions that a row must have for this policy to act; most policies need none.
    pub fn predicted(&self) -> &[String] {
        match self {
            SavedPolicy::Model(policy) => policy.predicted(),
            SavedPolicy::Abstain(policy) => policy.parts().new.predicted(),
            _ => &[],
        }
    }

    /// How contexts are scaled, where the policy scales them.
    pub fn scaler(&self) -> Option<&Scaler> {
        match self {
            SavedPolicy::Parametric(policy) => Some(&policy.scaler),
            SavedPolicy::Rule(policy) => Some(&policy.scaler),
            SavedPolicy::Softmax(policy) => Some(&policy.softmax.scaler),
            SavedPolicy::Model(_) => None,
            SavedPolicy::Abstain(policy) => policy.parts().new.scaler(),
        }
    }

    /// The columns a row of new data must have, and how they become contexts.
    pub fn encoding(&self) -> Vec<Input> {
        self.columns().encoding()
    }

    /// Refuses parts that do not fit each other, and numbers that are not finite.
    pub fn check(&self) -> Result<()> {
        match self {
            SavedPolicy::Parametric(policy) => policy.check(),
            SavedPolicy::Rule(policy) => policy.check(),
            SavedPolicy::Softmax(policy) => policy.check(),
            SavedPolicy::Model(policy) => policy.check(),
            SavedPolicy::Abstain(policy) => policy.check(),
        }
    }

    /// The mean model times a family that some questions need, such as a logging policy; other kinds are refused in words.
    pub fn into_parametric(self) -> Result<Policy> {
        match self {
            SavedPolicy::Parametric(policy) => Ok(policy),
            other => Err(Error::policy(format!(
                "it is of kind {:?}; a policy of kind \"parametric\" is needed here",
                other.kind()
            ))
            .hint("such policies are written by `learn` and `select`")),
        }
    }

    /// Whether a draw can be used and logged: an action of finite numbers, and a density that is one. A rule without noise acts without a
    /// density; of all others one that is no number comes of a mean that is none, such as a gamma policy's at 0.
    pub fn usable(&self, action: &[f64], log_density: f64) -> bool {
        let silent = matches!(self, SavedPolicy::Rule(rule) if !rule.has_noise());
        let density = crate::math::exp(log_density);
        action.iter().all(|v| v.is_finite()) && (silent || density > 0.0 && density.is_finite())
    }

    fn inner(&self) -> &dyn TargetPolicy {
        match self {
            SavedPolicy::Parametric(policy) => policy,
            SavedPolicy::Rule(policy) => policy,
            SavedPolicy::Softmax(policy) => policy,
            SavedPolicy::Model(policy) => policy,
            SavedPolicy::Abstain(policy) => policy,
        }
    }
}

impl TargetPolicy for SavedPolicy {
    fn log_density(&self, x: &[f64], a: &[f64]) -> f64 {
        self.inner().log_density(x, a)
    }

    fn sample(&self, x: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
        self.inner().sample(x, rng)
    }

    fn sampler<'a>(&'a self, x: &[f64]) -> Box<dyn Fn(&mut dyn Rng) -> Vec<f64> + 'a> {
        self.inner().sampler(x)
    }

    fn can_sample(&self) -> bool {
        self.inner().can_sample()
    }

    fn log_densities(&self, block: &Block, out: &mut Vec<f64>) {
        self.inner().log_densities(block, out);
    }

    fn mean(&self, x: &[f64]) -> Option<Vec<f64>> {
        self.inner().mean(x)
    }

    fn means(&self, block: &Block) -> Option<Vec<f64>> {
        self.inner().means(block)
    }

    fn mass_within(&self, x: &[f64], low: &[f64], high: &[f64]) -> Option<f64> {
        self.inner().mass_within(x, low, high)
    }

    fn masses<'a>(&'a self, x: &[f64]) -> Box<dyn Fn(&[f64], &[f64]) -> f64 + 'a> {
        self.inner().masses(x)
    }

    fn masses_within(&self, block: &Block, low: &[f64], high: &[f64]) -> Option<Vec<f64>> {
        self.inner().masses_within(block, low, high)
    }

    fn law(&self, x: &[f64]) -> Option<Law> {
        self.inner().law(x)
    }

    fn laws(&self, block: &Block) -> Option<Vec<Law>> {
        self.inner().laws(block)
    }

    fn parametric(&self) -> Option<&Policy> {
        self.inner().parametric()
    }

    fn check_against(&self, schema: &Schema) -> Result<()> {
        self.inner().check_against(schema)
    }

    fn origin(&self) -> Option<&Origin> {
        self.inner().origin()
    }

    fn saved(&self) -> Option<SavedPolicy> {
        Some(self.clone())
    }
}
