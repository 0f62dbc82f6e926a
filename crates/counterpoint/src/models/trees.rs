//! Boosted regression trees on contexts and action.

use super::Rows;
use super::bins::{Binned, Bins};
use super::forest::Forest;
use super::grow::{Leaf, Worth};
use super::order::Ordered;
use super::rounds::{Rounds, Step};
use crate::engine::Engine;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// How trees are grown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TreeOptions {
    /// Trees at most.
    pub rounds: usize,
    /// The share of its step that a tree takes.
    pub rate: f64,
    /// Leaves of a tree at most.
    pub leaves: usize,
    /// Weight of the rows in a leaf at least, in rows of mean weight.
    pub min_rows: f64,
    /// Shrinkage: a leaf of this many rows takes half of its step.
    pub l2: f64,
    /// The share of the rows on which the number of trees is found, fold by fold where rows are few; 0 grows all trees.
    pub held: f64,
    /// Trees that may be added without an improvement on the held-out rows.
    pub patience: usize,
    /// Bins of a feature at most.
    pub bins: usize,
}

impl Default for TreeOptions {
    fn default() -> Self {
        TreeOptions { rounds: 500, rate: 0.08, leaves: 16, min_rows: 20.0, l2: 1.0, held: 0.2, patience: 25, bins: 255 }
    }
}

impl TreeOptions {
    /// The defaults for [`ActionTrees`](super::ActionTrees): a leaf holds a whole curve, so six of them are a rich tree.
    pub fn smooth() -> Self {
        TreeOptions { leaves: 6, ..TreeOptions::default() }
    }

    /// Refuses options outside their ranges.
    pub fn check(&self) -> Result<()> {
        super::within(&[
            ("rounds", self.rounds as f64, 1.0, 1e5),
            ("rate", self.rate, 1e-6, 1.0),
            ("leaves", self.leaves as f64, 2.0, 4096.0),
            ("min_rows", self.min_rows, 0.0, f64::MAX),
            ("l2", self.l2, 0.0, f64::MAX),
            ("held", self.held, 0.0, 0.9),
            ("bins", self.bins as f64, 2.0, 255.0),
        ])
    }
}

/// Newton steps: sums are (slope, curvature), and a leaf gains G^2 / (H + l2).
pub(super) struct Newton {
    pub(super) l2: f64,
    pub(super) min_rows: f64,
    pub(super) rate: f64,
}

impl Newton {
    /// The step of a leaf: -rate G / (H + l2).
    pub(super) fn step(&self, sums: &[f64; 2]) -> f32 {
        let h = sums[1] + self.l2;
        if h > 0.0 { (-self.rate * sums[0] / h) as f32 } else { 0.0 }
    }
}

impl Worth<2> for Newton {
    #[inline(always)]
    fn gain(&self, sums: &[f64; 2]) -> f64 {
        sums[0] * sums[0] / (sums[1] + self.l2)
    }

    #[inline(always)]
    fn large(&self, sums: &[f64; 2]) -> bool {
        sums[1] >= self.min_rows && sums[1] > 0.0
    }
}

impl Step<2> for Newton {
    fn numbers(&self) -> usize {
        1
    }

    #[inline(always)]
    fn sums(&self, _: usize, slope: f64, omega: f64) -> [f64; 2] {
        [slope, omega]
    }

    fn leaf(&self, _: &[u32], leaf: &Leaf<2>, into: &mut Vec<f32>) {
        into.push(self.step(&leaf.sums));
    }

    #[inline(always)]
    fn says(&self, _: usize, leaf: &[f32]) -> f64 {
        f64::from(leaf[0])
    }
}

/// Boosted regression trees: the cost as a sum of steps in contexts and action.
///
/// ```text
/// q(x, a) = offset + scale sum_t v_t(leaf of (x, a) in tree t)
/// ```
///
/// Each tree is a Newton step on the squared error, grown leaf by leaf; their number is found on held-out rows, and then
/// all rows are used. Contexts and the action count through their order only, missing contexts go to a side that was
/// learned, and a change of the cost's units changes `offset` and `scale` alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trees {
    offset: f64,
    scale: f64,
    forest: Forest,
    values: Vec<f32>,
}

impl Trees {
    /// Grows trees on these rows.
    pub fn fit(rows: &Rows, options: &TreeOptions, seed: u64, engine: &Engine) -> Result<Trees> {
        options.check()?;
        let ordered = Ordered::new(rows, seed)?;
        let d = rows.d;
        let at = |i: usize, j: usize| {
            let row = ordered.row[i] as usize;
            if j == d { rows.a[row] } else { rows.x[row * d + j] }
        };
        let n = ordered.len();
        let bins = Bins::learn(n, d + 1, options.bins - 1, at);
        let binned = Binned::new(&bins, n, at);
        let newton = Newton { l2: options.l2, min_rows: options.min_rows, rate: options.rate };
        let (forest, values) = Rounds { ordered: &ordered, bins, binned, options, engine }.fit(&newton);
        Ok(Trees { offset: ordered.cost.centre, scale: ordered.cost.scale, forest, values })
    }

    /// The cost of action a in context x.
    pub fn at(&self, x: &[f64], a: f64) -> f64 {
        let bins = self.row_bins(x, a);
        if let Some(masks) = self.forest.masks() {
            let sum: f64 = masks.leaves(&masks.possible(&bins)).map(|leaf| f64::from(self.values[leaf])).sum();
            return self.offset + self.scale * sum;
        }
        let sum: f64 = self.forest.roots.iter().map(|r| f64::from(self.values[self.forest.leaf(*r, &bins)])).sum();
        self.offset + self.scale * sum
    }

    /// The costs of ascending actions in context x: each tree is walked once, with all actions that go the same way.
    pub fn at_knots(&self, x: &[f64], knots: &[f64], out: &mut [f64]) {
        let along = x.len();
        if let Some(masks) = self.forest.masks() {
            let bins: Vec<u8> = x.iter().enumerate().map(|(j, v)| self.forest.bins.bin(j, *v)).collect();
            let actions: Vec<u8> = knots.iter().map(|a| self.forest.bins.bin(along, *a)).collect();
            masks.sums(&masks.possible(&bins), along, &actions, &self.values, out);
            out.iter_mut().for_each(|o| *o = self.offset + self.scale * *o);
            return;
        }
        let below = self.forest.below(along, knots);
        let bins = self.row_bins(x, f64::NAN);
        out.fill(0.0);
        for root in &self.forest.roots {
            self.forest.leaves_along(*root, &bins, along, &below, |leaf, range| {
                let v = f64::from(self.values[leaf]);
                out[range].iter_mut().for_each(|o| *o += v);
            });
        }
        out.iter_mut().for_each(|o| *o = self.offset + self.scale * *o);
    }

    fn row_bins(&self, x: &[f64], a: f64) -> Vec<u8> {
        let bins = &self.forest.bins;
        x.iter().chain([&a]).enumerate().map(|(j, v)| bins.bin(j, *v)).collect()
    }

    /// Number of trees.
    pub fn rounds(&self) -> usize {
        self.forest.roots.len()
    }

    /// Refuses a model that was damaged, or made for another number of contexts.
    pub fn check(&self, d: usize) -> Result<()> {
        self.forest.check(d + 1)?;
        check_values(&self.values, self.forest.leaves as usize, &[self.offset, self.scale])
    }
}

/// Every leaf has `values`, and every number is finite.
pub(super) fn check_values(values: &[f32], expected: usize, others: &[f64]) -> Result<()> {
    let damaged =
        |what: String| Err(Error::policy(what).at("trees of a cost model").hint("the file is damaged: write it again"));
    if values.len() != expected {
        return damaged(format!("{} numbers in leaves (must be {expected})", values.len()));
    }
    if values.iter().any(|v| !v.is_finite()) || others.iter().any(|v| !v.is_finite()) {
        return damaged("a number that is not finite".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_walks_end_in_the_same_leaves() {
        let n = 1500usize;
        let spread = |i: usize, k: u64| (crate::rng::hash(k, i as u64) >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
        let seen = |i: usize, k: u64| if i.is_multiple_of(7) { f64::NAN } else { spread(i, k) };
        let x: Vec<f64> = (0..n).flat_map(|i| [seen(i, 1), spread(i, 2)]).collect();
        let a: Vec<f64> = (0..n).map(|i| spread(i, 3)).collect();
        let y: Vec<f64> = (0..n).map(|i| (a[i] - x[2 * i].max(0.0)).abs() + 0.1 * spread(i, 4)).collect();
        let rows = Rows { d: 2, x: &x, a: &a, y: &y, omega: &vec![1.0; n] };
        let fit = |options| Trees::fit(&rows, &options, 1, &Engine::single()).expect("fits");
        let trees = fit(TreeOptions::default());
        let masks = trees.forest.masks().expect("trees of 16 leaves");
        for i in 0..300 {
            let bins = trees.row_bins(rows.context(i), a[i]);
            let walked: Vec<usize> = trees.forest.roots.iter().map(|r| trees.forest.leaf(*r, &bins)).collect();
            assert_eq!(masks.leaves(&masks.possible(&bins)).collect::<Vec<_>>(), walked);
        }
        let large = TreeOptions { leaves: 40, min_rows: 1.0, rounds: 3, held: 0.0, ..TreeOptions::default() };
        assert!(fit(large).forest.masks().is_none(), "40 leaves are walked");
    }
}
