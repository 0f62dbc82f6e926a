//! A rule from contexts to one action, with or without noise around it.
//!
//! With noise the rule is a density like any other policy's and can be weighed. Without it a context leaves one action,
//! which has no density: such a policy can act, but importance weights say nothing of it.

use super::columns::{Columns, all_finite};
use super::noise::{Noise, check_range};
use super::target::{Law, TargetPolicy};
use super::{Origin, SavedPolicy};
use crate::data::Schema;
use crate::error::{Error, Result};
use crate::features::{ActionMap, ContextMap, Scaler};
use rand::Rng;
use serde::{Deserialize, Serialize};

/// A rule: one action for each (standardised) context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Rule {
    /// <w, psi(x)>, moved into the range.
    Linear {
        /// psi.
        map: ContextMap,
        /// One coefficient a column.
        w: Vec<f64>,
        /// Where actions may lie; absent: anywhere.
        range: Option<[f64; 2]>,
    },
    /// The action with the smallest predicted cost.
    Greedy {
        /// psi.
        map: ContextMap,
        /// The kernels on actions that the predicted cost is a sum of.
        kernels: ActionMap,
        /// Row-major, a row for each column of psi, a column for each kernel.
        coef: Vec<f64>,
        /// The actions to choose from.
        actions: Vec<f64>,
    },
    /// The action with the smallest sum_k <column k of theta, psi(x)> u^k, u = (a - shift)/unit.
    Polynomial {
        /// psi.
        map: ContextMap,
        /// Row-major, a row for each column of psi, a column for each power.
        theta: Vec<f64>,
        /// The origin of u.
        shift: f64,
        /// The unit of u.
        unit: f64,
        /// The actions to choose from.
        actions: Vec<f64>,
    },
    /// A binary tree over actions: node k goes right where <w_k, psi(x)> > 0; children of k are 2k + 1 and 2k + 2.
    Tree {
        /// psi.
        map: ContextMap,
        /// Coefficients of the nodes, row-major, from the root on.
        nodes: Vec<f64>,
        /// The leaves from left to right, a power of two.
        actions: Vec<f64>,
    },
}

/// A rule with or without noise around it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct RulePolicy {
    /// The columns it is for; one action.
    pub columns: Columns,
    /// Scaling of the contexts, learned on the train part.
    pub scaler: Scaler,
    /// The rule.
    pub rule: Rule,
    /// The density around the rule's action; absent: the policy is deterministic.
    pub noise: Option<Noise>,
}

/// The same parts before they are believed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    columns: Columns,
    scaler: Scaler,
    rule: Rule,
    noise: Option<Noise>,
}

impl TryFrom<Unchecked> for RulePolicy {
    type Error = Error;

    fn try_from(Unchecked { columns, scaler, rule, noise }: Unchecked) -> Result<Self> {
        let policy = RulePolicy { columns, scaler, rule, noise };
        policy.check()?;
        Ok(policy)
    }
}

impl RulePolicy {
    /// Refuses parts that do not fit each other, and numbers that are not finite.
    pub fn check(&self) -> Result<()> {
        self.columns.check()?;
        if self.columns.actions.len() != 1 {
            return Err(Error::policy(format!("a rule is for one action column, not {}", self.columns.actions.len())));
        }
        let d = self.columns.contexts.len();
        self.scaler.check(d)?;
        self.rule.check(d)?;
        self.noise.as_ref().map_or(Ok(()), Noise::check)
    }

    /// The rule's action for contexts on their own scale.
    pub fn action(&self, x: &[f64]) -> f64 {
        let mut x = x.to_vec();
        self.scaler.apply(&mut x);
        self.rule.action(&x)
    }

    /// The rule with Normal(action, std) around it.
    #[must_use]
    pub fn with_std(self, std: f64) -> Self {
        RulePolicy { noise: Some(Noise::normal(std)), ..self }
    }

    /// Whether there is noise around the rule, and with it a density.
    pub fn has_noise(&self) -> bool {
        self.noise.is_some()
    }

    /// The rule alone.
    #[must_use]
    pub fn without_noise(self) -> Self {
        RulePolicy { noise: None, ..self }
    }
}

impl TargetPolicy for RulePolicy {
    /// Not a number without noise: a single action has no density.
    fn log_density(&self, x: &[f64], a: &[f64]) -> f64 {
        self.noise.map_or(f64::NAN, |noise| noise.log_density(self.action(x), a[0]))
    }

    fn sample(&self, x: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
        self.sampler(x)(rng)
    }

    fn sampler<'a>(&'a self, x: &[f64]) -> Box<dyn Fn(&mut dyn Rng) -> Vec<f64> + 'a> {
        let action = self.action(x);
        Box::new(move |rng| vec![self.noise.map_or(action, |noise| noise.sample(action, rng))])
    }

    fn mean(&self, x: &[f64]) -> Option<Vec<f64>> {
        Some(vec![self.action(x)])
    }

    fn mass_within(&self, x: &[f64], low: &[f64], high: &[f64]) -> Option<f64> {
        let action = self.action(x);
        Some(match self.noise {
            Some(noise) => noise.mass_between(action, low[0], high[0]),
            None => f64::from((low[0]..=high[0]).contains(&action)),
        })
    }

    fn law(&self, x: &[f64]) -> Option<Law> {
        self.noise?.law(self.action(x))
    }

    fn check_against(&self, schema: &Schema) -> Result<()> {
        self.check()?;
        self.columns.check_against(schema)?;
        match self.noise {
            Some(_) => Ok(()),
            None => Err(Error::policy(
                "it is deterministic: a single action has no density, and no importance weight can be formed",
            )
            .hint("give it a std: RulePolicy::with_std, or a method that acts with noise")),
        }
    }

    fn origin(&self) -> Option<&Origin> {
        self.columns.origin.as_ref()
    }

    fn saved(&self) -> Option<SavedPolicy> {
        Some(self.clone().into())
    }
}

impl Rule {
    /// The action for standardised contexts.
    pub fn action(&self, x: &[f64]) -> f64 {
        let psi = |map: &ContextMap| {
            let mut psi = vec![0.0; map.dim(x.len())];
            map.apply(x, &mut psi);
            psi
        };
        match self {
            Rule::Linear { map, w, range } => {
                let a = dot(w, &psi(map));
                range.map_or(a, |[lo, hi]| a.clamp(lo, hi))
            }
            Rule::Greedy { map, kernels, coef, actions } => {
                let c = kernels.whitened(&columns(&psi(map), coef));
                least(actions, |a| kernels.function(&c, &[a], &mut [0.0]))
            }
            Rule::Polynomial { map, theta, shift, unit, actions } => {
                let t = columns(&psi(map), theta);
                least(actions, |a| polynomial(&t, (a - shift) / unit))
            }
            Rule::Tree { map, nodes, actions } => {
                let psi = psi(map);
                let mut at = 0;
                while at + 1 < actions.len() {
                    let right = dot(&nodes[at * psi.len()..(at + 1) * psi.len()], &psi) > 0.0;
                    at = 2 * at + 1 + usize::from(right);
                }
                actions[at + 1 - actions.len()]
            }
        }
    }
}

/// psi^T theta: one number a column of theta.
pub(crate) fn columns(psi: &[f64], theta: &[f64]) -> Vec<f64> {
    let k = theta.len() / psi.len();
    let mut out = vec![0.0; k];
    for (f, row) in psi.iter().zip(theta.chunks_exact(k)) {
        (0..k).for_each(|j| out[j] += f * row[j]);
    }
    out
}

/// sum_k t_k u^k
pub(crate) fn polynomial(t: &[f64], u: f64) -> f64 {
    t.iter().rev().fold(0.0, |s, t| s * u + t)
}

/// The first of the actions with the smallest cost.
fn least(actions: &[f64], cost: impl Fn(f64) -> f64) -> f64 {
    let costs = actions.iter().map(|a| (*a, cost(*a)));
    costs.fold((f64::NAN, f64::INFINITY), |best, next| if next.1 < best.1 { next } else { best }).0
}

impl Rule {
    /// Refuses parts that do not fit each other or `d` contexts, and numbers that are not finite.
    pub fn check(&self, d: usize) -> Result<()> {
        let map = self.map();
        map.check(d)?;
        let f = map.dim(d);
        let fits = match self {
            Rule::Linear { w, range, .. } => {
                all_finite("w", w)?;
                check_range(*range)?;
                w.len() == f
            }
            Rule::Greedy { kernels, coef, .. } => {
                kernels.check(1)?;
                all_finite("coef", coef)?;
                f.checked_mul(kernels.len()) == Some(coef.len())
            }
            Rule::Polynomial { theta, shift, unit, .. } => {
                all_finite("theta", theta)?;
                let scale = shift.is_finite() && unit.is_finite() && *unit > 0.0;
                scale && !theta.is_empty() && theta.len().is_multiple_of(f)
            }
            Rule::Tree { nodes, actions, .. } => {
                all_finite("nodes", nodes)?;
                actions.len().is_power_of_two() && (actions.len() - 1).checked_mul(f) == Some(nodes.len())
            }
        };
        let choices = self.choices();
        all_finite("actions", choices.unwrap_or_default())?;
        if fits && choices.is_none_or(|c| !c.is_empty()) {
            return Ok(());
        }
        Err(Error::policy(format!("the coefficients of its rule do not fit its {d} contexts and each other")))
    }

    fn map(&self) -> &ContextMap {
        match self {
            Rule::Linear { map, .. }
            | Rule::Greedy { map, .. }
            | Rule::Polynomial { map, .. }
            | Rule::Tree { map, .. } => map,
        }
    }

    /// The actions a rule chooses from; nothing where it may take any.
    fn choices(&self) -> Option<&[f64]> {
        match self {
            Rule::Linear { .. } => None,
            Rule::Greedy { actions, .. } | Rule::Polynomial { actions, .. } | Rule::Tree { actions, .. } => {
                Some(actions)
            }
        }
    }
}

/// <u, v>
fn dot(u: &[f64], v: &[f64]) -> f64 {
    u.iter().zip(v).map(|(a, b)| a * b).sum()
}
