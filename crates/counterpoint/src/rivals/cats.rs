//! CATS, offline (Majzoubi et al. 2020): a tree of linear classifiers over discretised actions, with a uniform around.
//!
//! K actions split the range of the logged ones (from the 1st to the 99th percentile, so that a long tail does not make
//! all of them rare). A row's cost of leaf k is its smoothed, importance-weighted cost
//!
//! ```text
//! c_k = y 1{|a - a_k| <= h} / (vol_k p),   vol_k = length of [a_k - h, a_k + h] inside the range
//! ```
//!
//! The tree is learned from the leaves up: a node's classifier sends a row towards the subtree whose own choice for the row is
//! cheaper, with weight |c_left - c_right|. Here it is a ridged logistic regression. The policy is uniform on
//! [a - h, a + h], cut to the range of the logged actions.

use super::rows::{Centre, Rows, descend, dot};
use crate::features::ContextKind;
use crate::math;
use crate::policy::{Kernel, Noise, Rule, RulePolicy};
use crate::{Error, Log, Result};
use serde::{Deserialize, Serialize};

/// Steps of L-BFGS a node.
const STEPS: usize = 100;

/// Settings of CATS.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cats {
    /// log2 of the number of actions K.
    pub depth: u32,
    /// h, in units of the std of the logged actions.
    pub bandwidth: f64,
    /// Columns of the classifiers.
    pub map: ContextKind,
    /// Their ridge, > 0.
    pub ridge: f64,
    /// What is subtracted from costs. The paper has losses from 0 to 1.
    pub centre: Centre,
}

impl Default for Cats {
    fn default() -> Self {
        Cats { depth: 4, bandwidth: 0.5, map: ContextKind::Linear, ridge: 1e-4, centre: Centre::Min }
    }
}

impl Cats {
    /// Learns the tree.
    pub fn fit(&self, log: &Log, seed: u64) -> Result<RulePolicy> {
        if self.depth == 0 || self.depth > 10 {
            return Err(Error::recipe("depth", format!("{} is out of range (must be 1 to 10)", self.depth)));
        }
        let rows = Rows::new(log)?;
        let width = self.bandwidth * rows.action_moments().1;
        let noise = Noise { kernel: Kernel::Uniform, width, range: Some(rows.range()) };
        let leaves = 1usize << self.depth;
        let ends = rows.quantiles(&[0.01, 0.99]);
        let actions: Vec<f64> =
            (0..leaves).map(|k| ends[0] + (ends[1] - ends[0]) * (k as f64 + 0.5) / leaves as f64).collect();
        let costs = rows.costs(self.centre);
        let map = rows.map(self.map, seed)?;
        let psi = rows.features(&map);
        let k = map.dim(rows.d());
        let cost = |i: usize, leaf: usize| noise.density(actions[leaf], rows.a[i]).0 / rows.p[i] * costs[i];
        let mut nodes = vec![0.0; (leaves - 1) * k];
        // the leaf each subtree of the level below would choose, for every row
        let mut below: Vec<Vec<usize>> = (0..leaves).map(|leaf| vec![leaf; rows.n()]).collect();
        for level in (0..self.depth).rev() {
            let mut here = Vec::new();
            for (at, pair) in below.chunks_exact(2).enumerate() {
                let regret: Vec<f64> =
                    (0..rows.n()).map(|i| rows.omega[i] * (cost(i, pair[0][i]) - cost(i, pair[1][i]))).collect();
                let w = classify(&psi, k, &regret, self.ridge)?;
                let right = |i: usize| dot(&w, &psi[i * k..(i + 1) * k]) > 0.0;
                here.push((0..rows.n()).map(|i| pair[usize::from(right(i))][i]).collect());
                let node = (1usize << level) - 1 + at;
                nodes[node * k..(node + 1) * k].copy_from_slice(&w);
            }
            below = here;
        }
        Ok(rows.policy(Rule::Tree { map, nodes, actions }, Some(noise)))
    }
}

/// A linear classifier: positive where the right branch is cheaper. `regret` is the cost of left minus that of right.
///
/// ```text
/// min over w of  sum_i |r_i| ln(1 + exp(-sign(r_i) <w, psi_i>)) / sum_i |r_i| + ridge/2 |w|^2, intercept free
/// ```
fn classify(psi: &[f64], k: usize, regret: &[f64], ridge: f64) -> Result<Vec<f64>> {
    let total: f64 = regret.iter().map(|r| r.abs()).sum();
    if total == 0.0 {
        return Ok(vec![0.0; k]); // no row has seen either side
    }
    let seen: Vec<usize> = (0..regret.len()).filter(|i| regret[*i] != 0.0).collect();
    let loss = |w: &[f64], grad: &mut [f64]| -> f64 {
        let mut value = 0.0;
        for &i in &seen {
            let f = &psi[i * k..(i + 1) * k];
            let (weight, sign) = (regret[i].abs() / total, regret[i].signum());
            let m = sign * dot(w, f);
            value += weight * if m > 0.0 { math::ln_1p(math::exp(-m)) } else { math::ln_1p(math::exp(m)) - m };
            let g = -weight * sign / (1.0 + math::exp(m));
            (0..k).for_each(|j| grad[j] += g * f[j]);
        }
        for j in 0..k - 1 {
            value += 0.5 * ridge * w[j] * w[j];
            grad[j] += ridge * w[j];
        }
        grad[k - 1] += FREE * w[k - 1];
        value + 0.5 * FREE * w[k - 1] * w[k - 1]
    };
    Ok(descend(STEPS, &[vec![0.0; k]], loss)?.theta)
}

/// The intercept's ridge: a node all of whose rows go one way has no finite optimum without one.
const FREE: f64 = 1e-8;

#[cfg(test)]
mod tests {
    use super::super::tests::{spread, uniform_log};
    use super::*;

    #[test]
    fn finds_the_best_bucket() {
        // one best action for everybody; sixteen buckets of (0, 3) are 0.19 wide
        let log = uniform_log(4000, |_, a| (a - 2.2).abs());
        let policy = Cats { bandwidth: 0.3, ..Cats::default() }.fit(&log, 0).expect("learned");
        let error = spread(&policy, |_| 2.2);
        assert!(error < 0.2, "{error}");
    }

    #[test]
    fn buckets_follow_the_context() {
        let best = |x: f64| if x < 0.5 { 0.6 } else { 2.4 };
        let log = uniform_log(4000, |x, a| (a - best(x)).abs());
        for centre in [Centre::Min, Centre::Mean] {
            let policy = Cats { depth: 3, bandwidth: 0.4, centre, ..Cats::default() }.fit(&log, 0).expect("learned");
            let (low, high) = (policy.action(&[0.2]), policy.action(&[0.8]));
            assert!((low - 0.6).abs() < 0.4 && (high - 2.4).abs() < 0.4, "{low} {high}");
            // uniform on what is left of [a - h, a + h]
            let noise = policy.noise.expect("a density");
            let density = noise.log_density(policy.action(&[0.2]), low).exp();
            assert!((density * 2.0 * noise.width - 1.0).abs() < 0.5 && density * 2.0 * noise.width > 0.999);
        }
    }
}
