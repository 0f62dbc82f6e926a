//! Boosting by squared error, with the number of trees found on held-out rows.
//!
//! What a leaf holds is a [`Step`]'s affair: a number, or a function of the action. Rows come in a random order, so the
//! folds that are held out, one after another, are stretches of it. Few rows can afford several folds, and need them: with
//! one fold of 200 rows the best number of trees is mostly luck.

use super::bins::{Binned, Bins};
use super::forest::Forest;
use super::grow::{Grower, Leaf, Shape, Worth};
use super::order::{Ordered, share};
use super::trees::TreeOptions;
use crate::engine::Engine;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Rows that are grown on, over all folds, to find the number of trees; above it there is one fold.
const AFFORDED: usize = 10_000;

/// Folds at most.
const MOST_FOLDS: usize = 3;

/// What the leaves of a tree hold.
pub(super) trait Step<const W: usize>: Worth<W> {
    /// Numbers per leaf.
    fn numbers(&self) -> usize;
    /// What row i brings to the sums of its node, from the slope of its error.
    fn sums(&self, i: usize, slope: f64, omega: f64) -> [f64; W];
    /// The numbers of a leaf with these rows.
    fn leaf(&self, rows: &[u32], leaf: &Leaf<W>, into: &mut Vec<f32>);
    /// What a leaf says of row i.
    fn says(&self, i: usize, leaf: &[f32]) -> f64;
}

/// Rows in bins, and how to grow trees on them.
pub(super) struct Rounds<'a> {
    pub(super) ordered: &'a Ordered,
    pub(super) bins: Bins,
    pub(super) binned: Binned,
    pub(super) options: &'a TreeOptions,
    pub(super) engine: &'a Engine,
}

impl Rounds<'_> {
    /// Trees on all rows, as many as held-out rows ask for, and the numbers of their leaves.
    pub(super) fn fit<const W: usize>(&self, step: &impl Step<W>) -> (Forest, Vec<f32>) {
        let held = share(self.ordered.len(), self.options.held);
        let rounds = if held == 0 { self.options.rounds } else { self.best(step, held) };
        let mut all = Growth::new(self, 0..0);
        if self.ordered.cost.scale > 0.0 {
            (0..rounds).for_each(|_| _ = all.advance(self, step));
        }
        all.forest.prune();
        (all.forest, all.values)
    }

    /// The number of trees with the least error on the folds, each of `held` rows; all folds grow side by side.
    fn best<const W: usize>(&self, step: &impl Step<W>, held: usize) -> usize {
        let n = self.ordered.len();
        let folds = (AFFORDED / n).clamp(1, MOST_FOLDS.min(n / held));
        let growths: Vec<_> = (0..folds).map(|f| Mutex::new(Growth::new(self, f * held..(f + 1) * held))).collect();
        let mut watch = Watch::new(self.ordered.loss(&vec![0.0; n], 0..folds * held));
        for round in 1..=self.options.rounds {
            let advance = |g: &Mutex<Growth<W>>| g.lock().unwrap_or_else(PoisonError::into_inner).advance(self, step);
            let loss = self.engine.map(&growths, advance).iter().sum();
            if watch.tired(round, loss, self.options.patience) {
                break;
            }
        }
        watch.best
    }
}

/// Trees that grow on all rows but some.
struct Growth<'a, const W: usize> {
    held: Range<usize>,
    own: Vec<u32>,
    rows: Vec<u32>,
    fitted: Vec<f64>,
    stats: Vec<[f64; W]>,
    grower: Grower<'a, W>,
    forest: Forest,
    values: Vec<f32>,
}

impl<'a, const W: usize> Growth<'a, W> {
    fn new(problem: &'a Rounds, held: Range<usize>) -> Self {
        let n = problem.ordered.len();
        let own: Vec<u32> = (0..n as u32).filter(|i| !held.contains(&(*i as usize))).collect();
        Growth {
            held,
            rows: own.clone(),
            own,
            fitted: vec![0.0; n],
            stats: vec![[0.0; W]; n],
            grower: Grower::new(&problem.binned, problem.engine),
            forest: Forest { bins: problem.bins.clone(), ..Forest::default() },
            values: Vec::new(),
        }
    }

    /// One more tree; returns the error on the rows held out.
    fn advance(&mut self, problem: &Rounds, step: &impl Step<W>) -> f64 {
        let Ordered { y, omega, .. } = problem.ordered;
        let size = step.numbers();
        for i in self.own.iter().map(|i| *i as usize) {
            self.stats[i] = step.sums(i, omega[i] * (self.fitted[i] - y[i]), omega[i]);
        }
        self.rows.copy_from_slice(&self.own);
        let least_gain = 1e-9 * self.own.len() as f64;
        let shape = Shape { leaves: problem.options.leaves, depth: 64, least_gain };
        for leaf in self.grower.grow(&mut self.rows, &self.stats, step, shape, &mut self.forest) {
            let rows = &self.rows[leaf.rows.clone()];
            step.leaf(rows, &leaf, &mut self.values);
            let numbers = &self.values[leaf.number * size..];
            rows.iter().for_each(|i| self.fitted[*i as usize] += step.says(*i as usize, numbers));
        }
        let root = self.forest.roots[self.forest.roots.len() - 1];
        for i in self.held.clone() {
            let leaf = self.forest.leaf(root, problem.binned.row(i)) * size;
            self.fitted[i] += step.says(i, &self.values[leaf..leaf + size]);
        }
        problem.ordered.loss(&self.fitted, self.held.clone())
    }
}

/// Early stopping: the best round so far, and how long ago it was.
pub(super) struct Watch {
    pub(super) best: usize,
    least: f64,
}

impl Watch {
    /// Before the first round.
    pub(super) fn new(loss: f64) -> Watch {
        Watch { best: 0, least: loss }
    }

    /// Sees a round; whether it is time to stop.
    pub(super) fn tired(&mut self, round: usize, loss: f64, patience: usize) -> bool {
        if loss < self.least {
            (self.best, self.least) = (round, loss);
        }
        round >= self.best + patience.max(1)
    }
}
