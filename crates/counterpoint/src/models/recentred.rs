//! Boosted trees around the action that a network finds best.
//!
//! ```text
//! mu(x) = argmin over knots of base(x, .),    q(x, a) = trees((x, mu(x)), a - mu(x))
//! ```
//!
//! A limit, a step or a kink that moves with the contexts is a staircase to trees, which split on one column at a time. Seen from the best action it
//! stands at nearly the same place in every context: one split finds it, and all rows say together what it looks like. Where the network is wrong by
//! the same amount in some contexts, trees on the distance put it right.

use super::{CostNetwork, Rows, TreeOptions, Trees};
use crate::engine::Engine;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Steps of the range of actions that mu is rounded to: its last digits depend on units, the places of rows must not.
const STEPS: f64 = 1024.0;

/// How far from its place trees see mu, in steps.
const ASIDE: f64 = 0.125;

/// Rows whose best actions one task finds.
const RUN: usize = 512;

/// The model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recentred {
    base: CostNetwork,
    /// Where the best action is looked for, ascending.
    knots: Vec<f64>,
    /// On (x, mu) and a - mu.
    trees: Trees,
}

impl Recentred {
    /// Grows trees around the best actions of a network that was fitted to the same rows.
    pub fn fit(
        rows: &Rows,
        (base, knots): (&CostNetwork, &[f64]),
        options: &TreeOptions,
        seed: u64,
        engine: &Engine,
    ) -> Result<Recentred> {
        let starts: Vec<usize> = (0..rows.len()).step_by(RUN).collect();
        let run = |from: &usize| -> Vec<f64> {
            let to = (from + RUN).min(rows.len());
            (*from..to).map(|i| lowest(base, knots, rows.context(i))).collect()
        };
        let mu: Vec<f64> = engine.map(&starts, run).concat();
        let a: Vec<f64> = rows.a.iter().zip(&mu).map(|(a, m)| a - m).collect();
        let x: Vec<f64> =
            (0..rows.len()).flat_map(|i| rows.context(i).iter().copied().chain(std::iter::once(mu[i]))).collect();
        let around = Rows { d: rows.d + 1, x: &x, a: &a, ..*rows };
        let trees = Trees::fit(&around, options, seed, engine)?;
        Ok(Recentred { base: base.clone(), knots: knots.to_vec(), trees })
    }

    /// q(x, a).
    pub fn at(&self, x: &[f64], a: f64) -> f64 {
        let (x, mu) = self.seen(x);
        self.trees.at(&x, a - mu)
    }

    /// q(x, g) for each of these ascending actions.
    pub fn at_knots(&self, x: &[f64], knots: &[f64], out: &mut [f64]) {
        let (x, mu) = self.seen(x);
        let around: Vec<f64> = knots.iter().map(|g| g - mu).collect();
        self.trees.at_knots(&x, &around, out);
    }

    /// The contexts that the trees see, and mu.
    fn seen(&self, x: &[f64]) -> (Vec<f64>, f64) {
        let mu = lowest(&self.base, &self.knots, x);
        // edges lie half-way between places that rows had, often on a third: a little beyond it, rounding does not say on which side
        let beyond = mu + ASIDE * step(&self.knots);
        (x.iter().copied().chain(std::iter::once(beyond)).collect(), mu)
    }

    /// Number of trees.
    pub fn rounds(&self) -> usize {
        self.trees.rounds()
    }

    /// Refuses parts that do not fit `d` contexts, and knots that do not ascend.
    pub fn check(&self, d: usize) -> Result<()> {
        let rising = self.knots.windows(2).all(|k| k[0] < k[1]) && self.knots.iter().all(|k| k.is_finite());
        if self.knots.len() < 2 || !rising {
            return Err(Error::policy("the knots of its trees do not ascend"));
        }
        self.base.check(d)?;
        self.trees.check(d + 1)
    }
}

/// The distance of two places of mu.
fn step(knots: &[f64]) -> f64 {
    (knots[knots.len() - 1] - knots[0]) / STEPS
}

/// The action between knots where a network expects the least cost: the parabola through the best three, on a grid of its own.
fn lowest(base: &CostNetwork, knots: &[f64], x: &[f64]) -> f64 {
    let mut costs = vec![0.0; knots.len()];
    base.at_knots(x, knots, &mut costs);
    let last = knots.len() - 1;
    let k = (1..=last).fold(0, |best, k| if costs[k] < costs[best] { k } else { best });
    let mut mu = knots[k];
    if k > 0 && k < last {
        let (left, right) = (knots[k] - knots[k - 1], knots[k + 1] - knots[k]);
        let (down, up) = ((costs[k] - costs[k - 1]) / left, (costs[k + 1] - costs[k]) / right);
        // the slope falls from `up` at the middle of the right side to `down` at that of the left
        if up > down {
            mu += 0.5 * right - up * 0.5 * (left + right) / (up - down);
        }
        mu = mu.clamp(knots[k - 1], knots[k + 1]);
    }
    let step = step(knots);
    knots[0] + ((mu - knots[0]) / step).round() * step
}

#[cfg(test)]
mod tests {
    use super::super::NetworkOptions;
    use super::*;

    fn spread(i: usize, k: u64) -> f64 {
        (crate::rng::hash(k, i as u64) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A price earns itself up to a limit that moves with two contexts, nothing above: seen from the network's best action the limit is one split.
    #[test]
    fn a_limit_that_moves_with_contexts_is_found() {
        let n = 6000usize;
        let limit = |x: &[f64]| 0.3 + 0.25 * x[0] + 0.25 * x[1];
        let cost = |x: &[f64], a: f64| if a > limit(x) { 0.0 } else { -a };
        let x: Vec<f64> = (0..2 * n).map(|k| spread(k, 1)).collect();
        let a: Vec<f64> = (0..n).map(|i| spread(i, 2)).collect();
        let y: Vec<f64> = (0..n).map(|i| cost(&x[2 * i..2 * i + 2], a[i]) + 0.4 * (spread(i, 3) - 0.5)).collect();
        let rows = Rows { d: 2, x: &x, a: &a, y: &y, omega: &vec![1.0; n] };
        let engine = Engine::single();
        let knots: Vec<f64> = (0..=32).map(|k| f64::from(k) / 32.0).collect();
        let network = NetworkOptions { epochs: 20, members: 1, ..NetworkOptions::sharp() };
        let base = CostNetwork::fit(&rows, &network, 1, &engine).expect("fits");
        let model = Recentred::fit(&rows, (&base, &knots), &TreeOptions::default(), 1, &engine).expect("fits");
        let trees = Trees::fit(&rows, &TreeOptions::default(), 1, &engine).expect("fits");
        let error = |q: &dyn Fn(&[f64], f64) -> f64| -> f64 {
            let fresh = (0..2000).map(|i| {
                let (x, a) = ([spread(i, 7), spread(i, 8)], spread(i, 9));
                (q(&x, a) - cost(&x, a)).powi(2)
            });
            fresh.sum::<f64>() / 2000.0
        };
        let (own, plain) = (error(&|x, a| model.at(x, a)), error(&|x, a| trees.at(x, a)));
        assert!(own < 0.7 * plain, "{own} {plain}");
        let (mut out, at) = ([0.0; 3], [0.1, 0.4, 0.9]);
        model.at_knots(&x[..2], &at, &mut out);
        for (q, g) in out.iter().zip(at) {
            assert!((q - model.at(&x[..2], g)).abs() < 1e-12);
        }
        model.check(2).expect("sound");
        model.check(3).expect_err("another number of contexts");
        let damaged = Recentred { knots: vec![1.0, 0.0], ..model };
        damaged.check(2).expect_err("knots fall");
    }
}
