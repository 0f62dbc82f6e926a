//! All trees of a forest asked at once, by bit masks.
//!
//! A split that sends a row left rules out the leaves on its right, and the other way round. So every bin of a feature leaves, in every
//! tree, a set of leaves possible; what the bins of all features leave possible together is the one leaf that a walk would end in.
//! Sets of up to 16 leaves are the bits of a number, and the sets of all trees for one bin stand side by side: asking a row is one
//! bitwise "and" per feature along the trees, without a branch. Larger trees are walked.

use super::forest::Forest;
use std::sync::{Arc, OnceLock};

/// Leaves of a tree at most.
const MOST_LEAVES: u32 = u16::BITS;

/// Bins times trees at most: beyond it walks take less memory, and the sets would not stay near the core.
const MOST_SETS: usize = 8_000_000;

/// The sets of leaves that every bin leaves possible in every tree.
#[derive(Debug)]
pub(super) struct Masks {
    /// Where the bins of each feature begin.
    first: Vec<usize>,
    /// Sets, bin by bin, the trees side by side.
    sets: Vec<u16>,
    /// The number of each tree's first leaf.
    base: Vec<u32>,
}

/// Masks that are made when they are first asked for. They follow from the forest, so copies and files do without.
#[derive(Clone, Debug, Default)]
pub(super) struct Shortcut(OnceLock<Option<Arc<Masks>>>);

impl PartialEq for Shortcut {
    fn eq(&self, _: &Shortcut) -> bool {
        true
    }
}

impl Shortcut {
    /// The masks of a forest that grows no more, if its trees are small enough.
    pub(super) fn of(&self, forest: &Forest) -> Option<&Masks> {
        self.0.get_or_init(|| Masks::new(forest).map(Arc::new)).as_deref()
    }
}

impl Masks {
    fn new(forest: &Forest) -> Option<Masks> {
        let trees = forest.roots.len();
        let mut first = vec![0];
        for edges in &forest.bins.edges {
            first.push(first[first.len() - 1] + edges.len() + 2);
        }
        let cells = first[first.len() - 1];
        if cells.checked_mul(trees).is_none_or(|sets| sets > MOST_SETS) {
            return None;
        }
        let mut masks = Masks { first, sets: vec![u16::MAX; cells * trees], base: Vec::with_capacity(trees) };
        let ends = forest.roots.iter().skip(1).map(|r| *r as usize).chain([forest.len()]);
        for (t, (root, end)) in forest.roots.iter().zip(ends).enumerate() {
            masks.add(forest, t, *root as usize..end)?;
        }
        Some(masks)
    }

    /// The sets of one tree; none if it has too many leaves.
    fn add(&mut self, forest: &Forest, t: usize, nodes: std::ops::Range<usize>) -> Option<()> {
        let numbers = nodes.clone().filter(|&i| forest.child[i] == 0).map(|i| forest.feature[i]);
        let (base, last) = (numbers.clone().min()?, numbers.max()?);
        if last - base >= MOST_LEAVES {
            return None;
        }
        self.base.push(base);
        // children stand behind their parents
        let mut below = vec![0u16; nodes.len()];
        for i in nodes.clone().rev() {
            let own = i - nodes.start;
            let Some(left) = (forest.child[i] as usize).checked_sub(nodes.start).filter(|_| forest.child[i] != 0)
            else {
                below[own] = 1 << (forest.feature[i] - base);
                continue;
            };
            below[own] = below[left] | below[left + 1];
            let (goes_left, goes_right) = (!below[left + 1], !below[left]);
            let (feature, missing_left) = ((forest.feature[i] >> 1) as usize, forest.feature[i] & 1 == 1);
            let cells = self.first[feature]..self.first[feature + 1];
            let missing = cells.len() - 1;
            for (bin, cell) in cells.enumerate() {
                let left = if bin == missing { missing_left } else { bin <= usize::from(forest.cut[i]) };
                self.sets[cell * forest.roots.len() + t] &= if left { goes_left } else { goes_right };
            }
        }
        Some(())
    }

    /// What one bin of a feature leaves possible in each tree.
    fn row(&self, feature: usize, bin: u8) -> &[u16] {
        let trees = self.base.len();
        let from = (self.first[feature] + usize::from(bin)) * trees;
        &self.sets[from..from + trees]
    }

    /// What the bins of the first features leave possible in each tree.
    pub(super) fn possible(&self, bins: &[u8]) -> Vec<u16> {
        let mut left = vec![u16::MAX; self.base.len()];
        for (feature, bin) in bins.iter().enumerate() {
            left.iter_mut().zip(self.row(feature, *bin)).for_each(|(l, s)| *l &= s);
        }
        left
    }

    /// The leaf of each tree, given sets of one.
    pub(super) fn leaves<'a>(&'a self, possible: &'a [u16]) -> impl Iterator<Item = usize> + 'a {
        self.base.iter().zip(possible).map(|(base, set)| *base as usize + set.trailing_zeros() as usize)
    }

    /// The sum of the values of the leaves for each of these bins of one more feature, into `out`; trees are added in their order.
    pub(super) fn sums(&self, possible: &[u16], feature: usize, bins: &[u8], values: &[f32], out: &mut [f64]) {
        const SIDE: usize = 4;
        for (bins, out) in bins.chunks(SIDE).zip(out.chunks_mut(SIDE)) {
            let rows: [&[u16]; SIDE] = std::array::from_fn(|k| self.row(feature, bins[k.min(bins.len() - 1)]));
            let mut sums = [0.0f64; SIDE];
            for (t, (set, base)) in possible.iter().zip(&self.base).enumerate() {
                let own = &values[*base as usize..];
                for k in 0..SIDE {
                    sums[k] += f64::from(own[(set & rows[k][t]).trailing_zeros() as usize]);
                }
            }
            out.iter_mut().zip(sums).for_each(|(o, s)| *o = s);
        }
    }
}
