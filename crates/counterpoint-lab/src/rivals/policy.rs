//! What rivals learn: a rule from contexts to actions with or without noise around it, or a softmax over buckets.

use super::noise::Noise;
use super::rows::{Rows, dot};
use crate::discrete::DiscretePolicy;
use counterpoint::Engine;
use counterpoint::data::{Block, Log};
use counterpoint::estimate::LossModel;
use counterpoint::features::{ContextMap, Scaler};
use counterpoint::folds::{Bootstrap, Scored};
use counterpoint::{Error, Result};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// A rule: one action for each (standardised) context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "kebab-case")]
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
        /// The loss model; its scaling is the identity, the policy has scaled already.
        model: LossModel,
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
pub struct RulePolicy {
    /// Names of the contexts, in order.
    pub contexts: Vec<String>,
    /// Scaling of the contexts, learned on the train part.
    pub scaler: Scaler,
    /// The rule.
    pub rule: Rule,
    /// The density around the rule's action; absent: the policy is deterministic.
    pub noise: Option<Noise>,
}

impl RulePolicy {
    /// A policy for the contexts of `rows`.
    pub(crate) fn new(rows: &Rows, rule: Rule, noise: Option<Noise>) -> Self {
        RulePolicy { contexts: rows.contexts.clone(), scaler: rows.scaler.clone(), rule, noise }
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

    /// The rule alone.
    #[must_use]
    pub fn without_noise(self) -> Self {
        RulePolicy { noise: None, ..self }
    }
}

/// A rival's policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "kebab-case")]
pub enum RivalPolicy {
    /// A rule, with or without noise.
    Rule(RulePolicy),
    /// A softmax over buckets of the action, uniform within a bucket.
    Softmax {
        /// Names of the contexts, in order.
        contexts: Vec<String>,
        /// Buckets and their logits.
        buckets: DiscretePolicy,
    },
}

impl From<RulePolicy> for RivalPolicy {
    fn from(policy: RulePolicy) -> Self {
        RivalPolicy::Rule(policy)
    }
}

impl RivalPolicy {
    /// Names of the contexts, in order.
    pub fn contexts(&self) -> &[String] {
        match self {
            RivalPolicy::Rule(policy) => &policy.contexts,
            RivalPolicy::Softmax { contexts, .. } => contexts,
        }
    }

    /// Whether a context leaves only one action.
    pub fn is_deterministic(&self) -> bool {
        matches!(self, RivalPolicy::Rule(RulePolicy { noise: None, .. }))
    }

    /// The middle of the law given x: the rule's action, or the mean over buckets.
    pub fn centre(&self, x: &[f64]) -> f64 {
        match self {
            RivalPolicy::Rule(policy) => policy.action(x),
            RivalPolicy::Softmax { buckets, .. } => {
                let edges = buckets.buckets.edges();
                let middles = edges.windows(2).map(|e| 0.5 * (e[0] + e[1]));
                buckets.probabilities(x).iter().zip(middles).map(|(p, a)| p * a).sum()
            }
        }
    }

    /// ln pi(a|x); nothing for a deterministic policy.
    pub fn log_density(&self, x: &[f64], a: f64) -> Option<f64> {
        match self {
            RivalPolicy::Rule(policy) => policy.noise.map(|noise| noise.log_density(policy.action(x), a)),
            RivalPolicy::Softmax { buckets, .. } => Some(buckets.log_density(x, a)),
        }
    }

    /// An action; the same seed and row number give the same one.
    pub fn sample(&self, x: &[f64], seed: u64, row: u64) -> f64 {
        self.sampler(x)(seed, row)
    }

    /// Draws for one context: the rule, or the buckets, are asked once.
    pub fn sampler(&self, x: &[f64]) -> Box<dyn Fn(u64, u64) -> f64> {
        match self {
            RivalPolicy::Softmax { buckets, .. } => Box::new(buckets.sampler(x)),
            RivalPolicy::Rule(policy) => {
                let (action, noise) = (policy.action(x), policy.noise);
                Box::new(move |seed, row| {
                    let Some(noise) = noise else { return action };
                    let mut rng = ChaCha8Rng::seed_from_u64(seed);
                    rng.set_stream(row);
                    noise.sample(action, &mut rng)
                })
            }
        }
    }

    /// Weighs every row of a log; deterministic policies have no weights.
    pub fn score(&self, engine: &Engine, log: &Log) -> Result<Vec<Scored>> {
        if self.is_deterministic() {
            return Err(Error::policy("it is deterministic, so it has no weights").hint("give it a std"));
        }
        if log.schema().contexts != self.contexts() || log.q() != 1 {
            return Err(Error::policy("its contexts are not those of the log"));
        }
        let mut first = 0;
        let firsts: Vec<(u64, &Block)> = log
            .blocks()
            .iter()
            .map(|b| {
                first += b.rows() as u64;
                (first - b.rows() as u64, b)
            })
            .collect();
        Ok(engine.map(&firsts, |(first, b)| {
            let mut x = vec![0.0; self.contexts().len()];
            let log_w = (0..b.rows()).map(|i| {
                b.context(i, &mut x);
                self.log_density(&x, b.a[0][i]).unwrap_or(f64::NEG_INFINITY) - b.log_p[i]
            });
            let rows = Scored::from_columns(*first, log_w.collect(), b.y.to_vec());
            Scored { omega: b.omega.clone(), ..rows }
        }))
    }

    /// What the log says of the policy.
    pub fn estimate(&self, engine: &Engine, log: &Log) -> Result<Figures> {
        let rows = self.score(engine, log)?;
        let centre = log.cost_summary().mean();
        let fold = Bootstrap { replicates: 0, seed: 0, log_scale: 0.0, centre };
        let m = engine.ask(&fold, &rows).own;
        let (mean_weight, _) = m.weight();
        let (value, std_error) = m.value();
        Ok(Figures {
            ips: mean_weight * (value + centre),
            snips: value + centre,
            std_error,
            effective: m.effective(),
            rows: m.n(),
            mean_weight,
        })
    }
}

/// Estimates of a policy's cost on a log, and what they rest on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// mean(w y); with a kernel policy this is Kallus & Zhou's estimator. Not a number where all weights are 0.
    pub ips: f64,
    /// sum(w y) / sum(w), their self-normalised one.
    pub snips: f64,
    /// The standard error of the latter.
    pub std_error: f64,
    /// (sum w)^2 / sum w^2
    pub effective: f64,
    /// Rows.
    pub rows: f64,
    /// Mean weight.
    pub mean_weight: f64,
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
            Rule::Greedy { model, actions } => {
                let c = model.coefficients_at(x);
                least(actions, |a| model.actions.function(&c, &[a], &mut [0.0]))
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
