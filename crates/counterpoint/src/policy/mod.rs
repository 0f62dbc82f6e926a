//! What could be done: densities of actions given contexts.
//!
//! [`Policy`] is what learning returns: a mean model times a distribution family, with one parameter vector theta. It holds
//! everything a new row of data needs to be scored: names and scaling of the contexts, the maps, theta. [`RulePolicy`] is
//! a rule with noise around it, [`SoftmaxPolicy`] a softmax over buckets. [`SavedPolicy`] is any of them, with one file
//! format; [`TargetPolicy`] is what evaluation, certificates and acting ask of a policy, and what your own implements.

mod abstain;
mod axis;
mod buckets;
mod column;
mod columns;
mod draws;
mod family;
mod file;
mod mean;
mod model_policy;
mod noise;
mod origin;
mod rule;
mod saved;
mod softmax;
mod std;
mod target;

pub use abstain::{AbstainParts, AbstainPolicy, central};
pub use axis::{Axis, AxisScale, PointMeasure};
pub use buckets::Buckets;
pub use column::{TargetAction, TargetDensity};
pub use columns::Columns;
pub use draws::DrawKeys;
pub(crate) use family::{Column, Member, Spread, Visit, bell, normal_cdf};
pub use family::{Family, HALF_LN_2PI, Support};
pub(crate) use mean::mean_choices;
pub(crate) use mean::{At, Coefficients, Features, Model, Room, Size, Slots, StripModel, VisitMean};
pub use mean::{Clp, Linear, Link, Mean, Network, Parts};
pub use model_policy::{LoggingLaw, MeanRule, Member as ModelMember, ModelParts, ModelPolicy};
pub(crate) use model_policy::{least, reach, smoothed, smoothing};
pub use noise::{Kernel, Noise};
pub use origin::{GateFigures, Origin};
pub use rule::{Rule, RulePolicy};
#[cfg(feature = "rivals")]
pub(crate) use rule::{columns, polynomial};
pub use saved::SavedPolicy;
pub use softmax::{BucketSoftmax, SoftmaxPolicy, logits, softmax};
pub use std::Std;
pub use target::{Law, Ready, TargetPolicy};

pub(crate) use columns::all_finite;

use crate::data::{Input, Schema};
use crate::error::{Error, Result};
use crate::features::Scaler;
use crate::rng::{Purpose, stream};
use serde::{Deserialize, Serialize};

/// A stochastic policy pi(a|x) = D(mu(x), std).
///
/// ```
/// use counterpoint::policy::Family;
/// use counterpoint::Policy;
/// // the policy that logged the paper's data: log-normal with mean 2 and std 1, whatever the context
/// let policy = Policy::constant(Family::LogNormal, &["x0", "x1"], &["action"], &[2.0], &[1.0])?;
/// assert!((policy.mean(&[0.3, 0.7])[0] - 2.0).abs() < 1e-12);
/// let (action, log_density) = policy.sample(&[0.3, 0.7], 1, 0);
/// assert!((policy.log_density(&[0.3, 0.7], &action) - log_density).abs() < 1e-12);
/// # Ok::<(), counterpoint::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
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

/// The parts of a policy before they are believed: reading one checks it, whatever it is part of.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    #[serde(default)]
    inputs: Vec<Input>,
    contexts: Vec<String>,
    actions: Vec<String>,
    scaler: Scaler,
    family: Family,
    mean: Mean,
    std: Std,
    theta: Vec<f64>,
    #[serde(default)]
    origin: Option<Origin>,
}

impl TryFrom<Unchecked> for Policy {
    type Error = Error;

    fn try_from(u: Unchecked) -> Result<Self> {
        let Unchecked { inputs, contexts, actions, scaler, family, mean, std, theta, origin } = u;
        let policy = Policy { inputs, contexts, actions, scaler, family, mean, std, theta, origin };
        policy.check()?;
        Ok(policy)
    }
}

impl Policy {
    /// A policy that ignores the context.
    pub fn constant(family: Family, contexts: &[&str], actions: &[&str], mean: &[f64], std: &[f64]) -> Result<Self> {
        let link = family.support().link();
        if mean.len() != actions.len() || std.len() != actions.len() {
            let (m, s) = (mean.len(), std.len());
            return Err(Error::policy(format!("{} action columns with {m} means and {s} stds", actions.len())));
        }
        if let Some(m) = mean.iter().find(|m| !family.support().holds(**m)) {
            return Err(Error::policy(format!("a mean of {m} {}", family.complaint())).hint("use family = \"normal\""));
        }
        let mut policy = Policy {
            origin: None,
            inputs: Vec::new(),
            contexts: contexts.iter().map(|s| s.to_string()).collect(),
            actions: actions.iter().map(|s| s.to_string()).collect(),
            scaler: Scaler::identity(contexts.len()),
            family,
            mean: Mean::Linear(Linear { map: crate::features::ContextMap::Constant, link }),
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
        let (d, q) = (self.d(), self.q());
        index >= self.mean_parameters()
            || self.mean.model().free(index, self.mean.map().intercept(d), self.mean.size(d, q))
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

    /// A scorer for many rows: the coefficients and the std are formed once.
    pub fn scorer(&self) -> Scorer<'_> {
        let model = self.mean.model();
        let mut formed = vec![0.0; self.mean_parameters()];
        model.form(&self.theta[..self.mean_parameters()], &model.fixed(), &mut formed);
        Scorer {
            policy: self,
            formed,
            std: self.std(),
            x: vec![0.0; self.d()],
            psi: vec![0.0; self.mean.map().dim(self.d())],
            cache: vec![0.0; model.cache(self.mean.size(self.d(), self.q()))],
        }
    }

    /// The columns it is for, and the rows it was learned from.
    pub fn columns(&self) -> Columns {
        Columns {
            inputs: self.inputs.clone(),
            contexts: self.contexts.clone(),
            actions: self.actions.clone(),
            origin: self.origin.clone(),
        }
    }

    /// Refuses a policy whose parts do not fit together or hold a number that is not finite.
    pub fn check(&self) -> Result<()> {
        self.columns().check()?;
        self.scaler.check(self.d())?;
        self.mean.map().check(self.d())?;
        self.mean.model().check(self.q())?;
        self.check_parameters()?;
        let anchors = self.mean.model().loss_maps().map_or(&[][..], |(_, actions)| &actions.anchors[..]);
        if let Some(a) = anchors.iter().find(|a| !self.family.support().holds(**a)) {
            return Err(
                Error::policy(format!("anchor {a} {}", self.family.complaint())).hint("use family = \"normal\"")
            );
        }
        Ok(())
    }

    /// theta and the stds: as many as the model needs, finite, and stds above 0.
    fn check_parameters(&self) -> Result<()> {
        let (Std::Learned { floor: stds } | Std::Fixed { value: stds }) = &self.std;
        if stds.len() != self.q() {
            return Err(Error::policy(format!("it has {} stds for {} action columns", stds.len(), self.q())));
        }
        if let Some(s) = stds.iter().find(|s| !(s.is_finite() && **s >= 0.0)) {
            return Err(Error::policy(format!("a std or its floor is {s}")));
        }
        let expected = self.mean_parameters().saturating_add(self.std.parameters());
        if expected != self.theta.len() {
            let needs = if expected == usize::MAX { "more than can be counted".into() } else { expected.to_string() };
            return Err(Error::policy(format!("theta has {} entries, the model needs {needs}", self.theta.len())));
        }
        all_finite("theta", &self.theta)?;
        let std = self.std();
        match std.iter().position(|s| !(s.is_finite() && *s > 0.0)) {
            Some(c) => {
                Err(Error::policy(format!("the std of action {:?} is {} (must be > 0)", self.actions[c], std[c])))
            }
            None => Ok(()),
        }
    }
}

/// A policy made ready for many rows.
pub struct Scorer<'a> {
    policy: &'a Policy,
    formed: Vec<f64>,
    std: Vec<f64>,
    x: Vec<f64>,
    psi: Vec<f64>,
    cache: Vec<f64>,
}

impl Scorer<'_> {
    /// mu(x) for contexts on their own scale.
    pub fn mean(&mut self, x: &[f64], mu: &mut [f64]) {
        let p = self.policy;
        self.x.copy_from_slice(x);
        p.scaler.apply(&mut self.x);
        p.mean.map().apply(&self.x, &mut self.psi);
        p.mean.model().row(&self.formed, &self.psi, mu, &mut self.cache);
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
