//! Trees as flat arrays.
//!
//! A node is a split, and then its children are `child` and `child + 1`, or a leaf, and then `child` is 0 and `feature`
//! is its number among all leaves. Children stand behind their parents, so a walk ends. What a leaf holds is its owner's
//! affair.

use super::bins::Bins;
use super::masks::{Masks, Shortcut};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// A list of trees over binned features.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Forest {
    pub(super) bins: Bins,
    /// The first node of each tree.
    pub(super) roots: Vec<u32>,
    /// 2 feature + 1 where missing values go left, 2 feature where they go right; or the number of a leaf.
    pub(super) feature: Vec<u32>,
    /// Bins up to this one go left.
    pub(super) cut: Vec<u8>,
    /// The left child.
    pub(super) child: Vec<u32>,
    /// Leaves so far.
    pub(super) leaves: u32,
    /// A faster way to all leaves of a row, once nothing grows.
    #[serde(skip)]
    pub(super) shortcut: Shortcut,
}

impl Forest {
    /// Adds a node that is a leaf, with no number yet.
    pub(super) fn push_leaf(&mut self) -> usize {
        self.feature.push(0);
        self.cut.push(0);
        self.child.push(0);
        self.child.len() - 1
    }

    /// Gives a leaf the next number.
    pub(super) fn number(&mut self, node: usize) -> usize {
        self.feature[node] = self.leaves;
        self.leaves += 1;
        self.feature[node] as usize
    }

    /// Nodes so far.
    pub(super) fn len(&self) -> usize {
        self.child.len()
    }

    /// Where bin b of the node's feature goes; the node must be a split.
    #[inline(always)]
    fn next(&self, node: usize, bin: u8) -> usize {
        let f = self.feature[node];
        let left = if usize::from(bin) > self.bins.edges[(f >> 1) as usize].len() {
            f & 1 == 1
        } else {
            bin <= self.cut[node]
        };
        self.child[node] as usize + usize::from(!left)
    }

    /// The leaf of the tree with this root that a row with these bins falls in.
    #[inline(always)]
    pub(super) fn leaf(&self, root: u32, bins: &[u8]) -> usize {
        let mut node = root as usize;
        while self.child[node] != 0 {
            node = self.next(node, bins[(self.feature[node] >> 1) as usize]);
        }
        self.feature[node] as usize
    }

    /// All trees at once, where they are small enough; the forest must be complete.
    pub(super) fn masks(&self) -> Option<&Masks> {
        self.shortcut.of(self)
    }

    /// The leaves for ascending values of feature `along`, of which the first `below[b]` are in bins up to b: calls
    /// `found(leaf, values)` for every leaf that any of them falls in. Bins of other features are those of a row.
    pub(super) fn leaves_along(
        &self,
        root: u32,
        bins: &[u8],
        along: usize,
        below: &[usize],
        mut found: impl FnMut(usize, std::ops::Range<usize>),
    ) {
        let mut open = [(0usize, 0usize, 0usize); 256];
        let mut depth = 1;
        open[0] = (root as usize, 0, below[below.len() - 1]);
        while depth > 0 {
            depth -= 1;
            let (mut node, from, mut to) = open[depth];
            while self.child[node] != 0 {
                let f = (self.feature[node] >> 1) as usize;
                if f != along {
                    node = self.next(node, bins[f]);
                    continue;
                }
                let left = self.child[node] as usize;
                let middle = below[usize::from(self.cut[node])];
                if middle >= to {
                    node = left;
                } else if middle <= from {
                    node = left + 1;
                } else {
                    open[depth] = (left + 1, middle, to);
                    depth += 1;
                    (node, to) = (left, middle);
                }
            }
            found(self.feature[node] as usize, from..to);
        }
    }

    /// How many of ascending values of feature j are in bins up to b, for every b.
    pub(super) fn below(&self, j: usize, values: &[f64]) -> Vec<usize> {
        let edges = &self.bins.edges[j];
        edges.iter().map(|e| values.partition_point(|v| v <= e)).chain([values.len()]).collect()
    }

    /// Keeps the first trees.
    pub(super) fn truncate(&mut self, trees: usize) {
        let Some(&end) = self.roots.get(trees) else { return };
        self.roots.truncate(trees);
        self.feature.truncate(end as usize);
        self.cut.truncate(end as usize);
        self.child.truncate(end as usize);
        self.leaves = self.child.iter().filter(|c| **c == 0).count() as u32;
    }

    /// Drops the edges at which no tree splits, and the cells nobody asks about.
    pub(super) fn prune(&mut self) {
        let mut used: Vec<Vec<bool>> = self.bins.edges.iter().map(|e| vec![false; e.len()]).collect();
        let splits: Vec<usize> = (0..self.len()).filter(|&i| self.child[i] != 0).collect();
        for &i in &splits {
            used[(self.feature[i] >> 1) as usize][usize::from(self.cut[i])] = true;
        }
        for &i in &splits {
            let before = used[(self.feature[i] >> 1) as usize][..usize::from(self.cut[i])].iter();
            self.cut[i] = before.filter(|u| **u).count() as u8;
        }
        for (edges, used) in self.bins.edges.iter_mut().zip(used) {
            let mut keep = used.into_iter();
            edges.retain(|_| keep.next().unwrap_or(false));
        }
    }

    /// Refuses arrays that are not trees over `features` features.
    pub(super) fn check(&self, features: usize) -> Result<()> {
        let damaged = |what: String| {
            Err(Error::policy(what).at("trees of a cost model").hint("the file is damaged: write it again"))
        };
        let n = self.len();
        if self.bins.edges.len() != features {
            return damaged(format!("{} features (the policy has {features})", self.bins.edges.len()));
        }
        if !self.bins.sound() {
            return damaged("edges of a feature that are not finite and rising".into());
        }
        if self.feature.len() != n || self.cut.len() != n || !self.roots.is_sorted_by(|a, b| a < b) {
            return damaged("arrays of different lengths, or roots that do not rise".into());
        }
        if self.roots.first().is_some_and(|r| *r != 0) || self.roots.is_empty() != (n == 0) {
            return damaged("nodes that belong to no tree".into());
        }
        let ends = self.roots.iter().skip(1).map(|r| *r as usize).chain([n]);
        for (t, (root, end)) in self.roots.iter().zip(ends).enumerate() {
            if end > n {
                return damaged(format!("tree {t} begins behind the last node"));
            }
            if let Some(i) = (*root as usize..end).find(|&i| !self.node_sound(i, end)) {
                return damaged(format!(
                    "node {i} points outside its tree or names a feature, edge or leaf that is not there"
                ));
            }
        }
        Ok(())
    }

    fn node_sound(&self, i: usize, end: usize) -> bool {
        let (child, f) = (self.child[i] as usize, self.feature[i]);
        if child == 0 {
            return f < self.leaves;
        }
        let edges = self.bins.edges.get((f >> 1) as usize);
        child > i && child + 1 < end && edges.is_some_and(|e| usize::from(self.cut[i]) < e.len())
    }
}
