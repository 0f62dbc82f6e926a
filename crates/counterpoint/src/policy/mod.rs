//! What could be done: a mean model times a distribution family, with one parameter vector theta.
//!
//! [`Policy`] is the type users keep: concrete, without type parameters, one JSON file on disk. It holds everything a
//! new row of data needs to be scored: names and scaling of the contexts, the maps, theta.

mod family;
mod file;
mod mean;
mod origin;
mod std;
mod target;

pub use family::{Family, HALF_LN_2PI};
pub use mean::{Clp, Link, Mean};
pub use origin::Origin;
pub use std::Std;
pub use target::{Law, TargetPolicy};

use crate::data::{Input, Schema};
use crate::error::{Error, Result};
use crate::features::Scaler;
use crate::rng::{Purpose, stream};
use serde::{Deserialize, Serialize};

/// A stochastic policy pi(a|x) = D(mu(x), std).
///
/// ```
/// use counterpoint::{Family, Policy};
/// // the policy that logged the paper's data: log-normal with mean 2 and std 1, whatever the context
/// let policy = Policy::constant(Family::LogNormal, &["x0", "x1"], &["action"], &[2.0], &[1.0])?;
/// assert!((policy.mean(&[0.3, 0.7])[0] - 2.0).abs() < 1e-12);
/// let (action, log_density) = policy.sample(&[0.3, 0.7], 1, 0);
/// assert!((policy.log_density(&[0.3, 0.7], &action) - log_density).abs() < 1e-12);
/// # Ok::<(), counterpoint::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// The context columns of the user's file and how they become numbers; empty where they are numbers already. See
    /// [`Policy::encoding`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    /// Names of the contexts as numbers, in order.
    pub contexts: Vec<String>,
    /// Names of the action columns, in order.
    pub actions: Vec<String>,
    /// Scaling of the contexts, learned on the train part.
    pub scaler: Scaler,
    /// The family.
    pub family: Family,
    /// The mean model.
    pub mean: Mean,
    /// The standard deviation.
    pub std: Std,
    /// beta, row-major (d_X x k), then ln std where it is learned.
    pub theta: Vec<f64>,
    /// The rows it was learned from, if it was learned: [`certify`](crate::certify()) refuses to judge it on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

impl Policy {
    /// A policy that ignores the context.
    pub fn constant(family: Family, contexts: &[&str], actions: &[&str], mean: &[f64], std: &[f64]) -> Result<Self> {
        let link = if family == Family::LogNormal { Link::Softplus } else { Link::Identity };
        if mean.len() != actions.len() || std.len() != actions.len() {
            let (m, s) = (mean.len(), std.len());
            return Err(Error::policy(format!("{} action columns with {m} means and {s} stds", actions.len())));
        }
        if let (Family::LogNormal, Some(m)) = (family, mean.iter().find(|m| **m <= 0.0)) {
            return Err(Error::policy(format!("a mean of {m} is not positive, as the log-normal family needs"))
                .hint("use family = \"normal\""));
        }
        let mut policy = Policy {
            origin: None,
            inputs: Vec::new(),
            contexts: contexts.iter().map(|s| s.to_string()).collect(),
            actions: actions.iter().map(|s| s.to_string()).collect(),
            scaler: Scaler::identity(contexts.len()),
            family,
            mean: Mean::Linear { map: crate::features::ContextMap::Constant, link },
            std: Std::Learned { floor: vec![0.0; actions.len()] },
            theta: mean.iter().map(|&m| link.invert(m)).collect(),
        };
        policy.theta.extend(policy.std.invert(std)?);
        policy.check()?;
        Ok(policy)
    }

    /// The columns a row of new data must have, and how they become the policy's contexts.
    pub fn encoding(&self) -> Vec<Input> {
        if self.inputs.is_empty() { Input::numbers(&self.contexts) } else { self.inputs.clone() }
    }

    /// Refuses a log whose contexts are not this policy's, by name and in order, or whose actions are not as many.
    pub fn fits(&self, schema: &Schema) -> Result<()> {
        if self.contexts != schema.contexts {
            let (ours, theirs) = (self.contexts.join(", "), schema.contexts.join(", "));
            return Err(Error::policy(format!("its contexts are {ours}; those of the log are {theirs}"))
                .hint("read the log with the policy's own encoding"));
        }
        if self.q() != schema.actions.len() {
            let (ours, theirs) = (self.actions.join(", "), schema.actions.join(", "));
            return Err(Error::policy(format!("its actions are {ours}; those of the log are {theirs}")));
        }
        Ok(())
    }

    /// Number of contexts d.
    pub fn d(&self) -> usize {
        self.contexts.len()
    }

    /// Number of action columns q.
    pub fn q(&self) -> usize {
        self.actions.len()
    }

    /// Number of entries of theta that belong to the mean.
    pub fn mean_parameters(&self) -> usize {
        self.mean.parameters(self.d(), self.q())
    }

    /// Entries of theta that ridge does not penalise: the intercepts and the stds.
    pub fn unpenalised(&self, index: usize) -> bool {
        let k = self.mean.columns(self.q());
        index >= self.mean_parameters() || self.mean.map().intercept(self.d()) == Some(index / k)
    }

    /// mu(x) for one row of contexts on their own scale.
    pub fn mean(&self, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.q()];
        self.scorer().mean(x, &mut out);
        out
    }

    /// The standard deviations.
    pub fn std(&self) -> Vec<f64> {
        let (mut std, mut slope) = (vec![0.0; self.q()], vec![0.0; self.q()]);
        self.std.apply(&self.theta[self.mean_parameters()..], &mut std, &mut slope);
        std
    }

    /// ln pi(a|x).
    pub fn log_density(&self, x: &[f64], a: &[f64]) -> f64 {
        self.scorer().log_density(x, a)
    }

    /// An action for one row and its log density. The same seed and row number give the same action.
    pub fn sample(&self, x: &[f64], seed: u64, row: u64) -> (Vec<f64>, f64) {
        self.scorer().sample(x, seed, row)
    }

    /// A scorer for many rows: C and std are formed once.
    pub fn scorer(&self) -> Scorer<'_> {
        let k = self.mean.columns(self.q());
        let mut scores = vec![0.0; self.mean_parameters()];
        self.mean.scores(&self.theta[..self.mean_parameters()], &self.mean.psi(), &mut scores);
        Scorer {
            policy: self,
            scores,
            std: self.std(),
            x: vec![0.0; self.d()],
            psi: vec![0.0; self.mean.map().dim(self.d())],
            s: vec![0.0; k],
            slopes: vec![0.0; k * self.q()],
        }
    }

    /// Refuses a policy whose parts do not fit together or hold a number that is not finite.
    pub fn check(&self) -> Result<()> {
        let expected = self.mean_parameters() + self.std.parameters();
        if self.q() == 0 {
            return Err(Error::policy("it has no action column"));
        }
        Input::check(&self.inputs)?;
        if !self.inputs.is_empty() && Input::expand(&self.inputs) != self.contexts {
            return Err(Error::policy("its inputs and its contexts do not name the same columns"));
        }
        if self.scaler.shift.len() != self.d() || self.scaler.unit.len() != self.d() {
            return Err(Error::policy(format!(
                "the scaling has {} columns for {} contexts",
                self.scaler.shift.len(),
                self.d()
            )));
        }
        if self.theta.len() != expected {
            return Err(Error::policy(format!("theta has {} entries, the model needs {expected}", self.theta.len())));
        }
        self.mean.map().check(self.d())?;
        if let Mean::Clp(clp) = &self.mean {
            clp.actions.check(self.q())?;
        }
        let (Std::Learned { floor: stds } | Std::Fixed { value: stds }) = &self.std;
        if stds.len() != self.q() {
            return Err(Error::policy(format!("it has {} stds for {} action columns", stds.len(), self.q())));
        }
        if let Some(i) = self.theta.iter().position(|t| !t.is_finite()) {
            return Err(Error::policy(format!("theta[{i}] is {}", self.theta[i])));
        }
        let std = self.std();
        if let Some(c) = std.iter().position(|s| !(s.is_finite() && *s > 0.0)) {
            return Err(Error::policy(format!("the std of action {:?} is {} (must be > 0)", self.actions[c], std[c])));
        }
        if let (Mean::Clp(clp), Family::LogNormal) = (&self.mean, self.family)
            && let Some(a) = clp.actions.anchors.iter().find(|a| **a <= 0.0)
        {
            return Err(Error::policy(format!("anchor {a} is not positive, as the log-normal family needs"))
                .hint("use family = \"normal\""));
        }
        if let Some(j) = self.scaler.unit.iter().position(|u| !(u.is_finite() && *u != 0.0)) {
            return Err(Error::policy(format!(
                "the unit of context {:?} is {}",
                self.contexts[j], self.scaler.unit[j]
            )));
        }
        Ok(())
    }
}

/// A policy made ready for many rows.
pub struct Scorer<'a> {
    policy: &'a Policy,
    scores: Vec<f64>,
    std: Vec<f64>,
    x: Vec<f64>,
    psi: Vec<f64>,
    s: Vec<f64>,
    slopes: Vec<f64>,
}

impl Scorer<'_> {
    /// mu(x) for contexts on their own scale.
    pub fn mean(&mut self, x: &[f64], mu: &mut [f64]) {
        let p = self.policy;
        self.x.copy_from_slice(x);
        p.scaler.apply(&mut self.x);
        p.mean.map().apply(&self.x, &mut self.psi);
        let k = self.s.len();
        self.s.fill(0.0);
        for (f, c) in self.psi.iter().zip(self.scores.chunks_exact(k)) {
            for j in 0..k {
                self.s[j] += f * c[j];
            }
        }
        p.mean.from_scores(&self.s, mu, &mut self.slopes);
    }

    /// ln pi(a|x).
    pub fn log_density(&mut self, x: &[f64], a: &[f64]) -> f64 {
        let mut mu = vec![0.0; a.len()];
        self.mean(x, &mut mu);
        (0..a.len()).map(|c| self.policy.family.log_density(a[c], mu[c], self.std[c]).value).sum()
    }

    /// An action and its log density; seeded by (seed, row).
    pub fn sample(&mut self, x: &[f64], seed: u64, row: u64) -> (Vec<f64>, f64) {
        let mut mu = vec![0.0; self.policy.q()];
        self.mean(x, &mut mu);
        let mut rng = stream(seed, Purpose::Act, row);
        let family = self.policy.family;
        let a: Vec<f64> = (0..mu.len()).map(|c| family.sample(mu[c], self.std[c], &mut rng)).collect();
        let density = (0..mu.len()).map(|c| family.log_density(a[c], mu[c], self.std[c]).value).sum();
        (a, density)
    }

    /// The standard deviations.
    pub fn std(&self) -> &[f64] {
        &self.std
    }
}
