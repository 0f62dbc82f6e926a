//! A model of the cost in contexts and actions: a sum of small trees, whose mean under a policy is a sum of masses of boxes.

use super::tree::{Growth, Ranked, Tree};
use serde::{Deserialize, Serialize};

/// How much of each tree is taken.
const SHARE: f64 = 0.5;

/// Trees.
const ROUNDS: usize = 8;

/// The probability that a policy gives, in one context, to the box between two corners.
pub type Masses<'a> = dyn Fn(&[f64], &[f64]) -> f64 + 'a;

/// q(x, a) = base + sum of trees over the columns x, then a.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forest {
    contexts: usize,
    actions: usize,
    base: f64,
    trees: Vec<Tree>,
}

impl Forest {
    /// Grows trees one after the other, each on what those before it leave. `rows` holds contexts, then actions, of one row after the other.
    pub fn grow(rows: &[f64], [contexts, actions]: [usize; 2], costs: &[f64], growth: Growth) -> Self {
        let width = contexts + actions;
        let base = costs.iter().sum::<f64>() / costs.len().max(1) as f64;
        let mut left: Vec<f64> = costs.iter().map(|y| y - base).collect();
        let mut trees = Vec::with_capacity(ROUNDS);
        let ranked = Ranked::of(rows, width, costs.len());
        for _ in 0..ROUNDS {
            let tree = Tree::grow_on(&ranked, &left, growth);
            if tree.cells() < 2 {
                break;
            }
            left.iter_mut().enumerate().for_each(|(i, r)| *r -= SHARE * tree.cell(|c| rows[i * width + c]).1);
            trees.push(tree);
        }
        Forest { contexts, actions, base, trees }
    }

    /// The cost of a row whose columns are contexts, then actions.
    pub fn at(&self, row: impl Fn(usize) -> f64) -> f64 {
        self.base + SHARE * self.trees.iter().map(|t| t.cell(&row).1).sum::<f64>()
    }

    /// The mean cost under a policy in one context.
    pub fn expected(&self, x: &[f64], masses: &Masses) -> f64 {
        let (low, high) = (vec![f64::NEG_INFINITY; self.actions], vec![f64::INFINITY; self.actions]);
        self.base + SHARE * self.trees.iter().map(|t| t.expected(x, (&low, &high), masses)).sum::<f64>()
    }

    /// Columns of contexts and of actions.
    pub fn shape(&self) -> [usize; 2] {
        [self.contexts, self.actions]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Family, Law};

    /// The mean under a policy is what the mean over many of its actions is.
    #[test]
    fn the_mean_under_a_policy_is_that_of_its_actions() {
        let n = 900;
        let rows: Vec<f64> =
            (0..n).flat_map(|i| [(f64::from(i) * 0.618).fract(), 4.0 * (f64::from(i) * 0.414).fract() - 2.0]).collect();
        let costs: Vec<f64> = rows.chunks(2).map(|r| r[0] * r[1] + r[1] * r[1]).collect();
        let forest = Forest::grow(&rows, [1, 1], &costs, Growth { cells: 8, rows: 20 });
        let (mean, std) = (0.4, 0.6);
        let law = Law::Family { family: Family::Normal, mean: vec![mean], std: vec![std] };
        for x in [0.1, 0.5, 0.9] {
            let steps = 20_000;
            let by_hand: f64 = (0..steps)
                .map(|k| {
                    let u = (f64::from(k) + 0.5) / f64::from(steps);
                    let a = mean + std * std::f64::consts::SQRT_2 * -statrs::function::erf::erfc_inv(2.0 * u);
                    forest.at(|c| [x, a][c]) / f64::from(steps)
                })
                .sum();
            let exact = forest.expected(&[x], &|low, high| law.mass_within(low, high));
            assert!((exact - by_hand).abs() < 2e-3, "{exact} {by_hand}");
        }
        let mean_cost = costs.iter().sum::<f64>() / f64::from(n);
        let squares = |of: &dyn Fn(usize) -> f64| (0..costs.len()).map(|i| (costs[i] - of(i)).powi(2)).sum::<f64>();
        let (left, all) = (squares(&|i| forest.at(|c| rows[2 * i + c])), squares(&|_| mean_cost));
        assert!(left < 0.1 * all, "{left} of {all}");
    }
}
