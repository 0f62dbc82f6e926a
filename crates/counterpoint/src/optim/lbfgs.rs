//! L-BFGS: the curvature of the last few steps, and nothing else, shapes the direction.
//!
//! The default solver. Its unit step is nearly always accepted, so an iteration costs little more than one pass over
//! the data, which is what learning pays for; the two loops of Nocedal (1980) cost 4 history dim flops, nothing beside
//! it. The decision is to be comparable with scipy's L-BFGS-B: the same memory, scaling and stopping rules, so that a
//! result can be checked against it.

use std::ops::ControlFlow;

use super::descent::{Descent, Direction, steepest};
use super::line_search::LineSearch;
use super::point::{Counted, Point, dot, norm};
use super::{Objective, Optimiser, Optimum, Progress};
use crate::error::Result;

/// Limited-memory BFGS.
///
/// ```text
/// d = -H g
/// H <- (I - rho s y') H (I - rho y s') + rho s s',  rho = 1 / s'y,  first H = (s'y / y'y) I
/// ```
///
/// over the last `history` pairs, oldest first: s = theta_{k+1} - theta_k, y = g_{k+1} - g_k. A pair without positive
/// curvature is not kept. The first step has length min(1, 1/|g|_1); the others start at 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Lbfgs {
    /// Pairs remembered.
    pub history: usize,
    /// Stop when the max-norm of the gradient is at most this.
    pub gradient_tolerance: f64,
    /// Stop when a step lowers the objective by at most this, relative to max(|F_k|, |F_{k+1}|, 1).
    pub decrease_tolerance: f64,
    /// Stop after this many steps.
    pub max_iterations: usize,
}

impl Default for Lbfgs {
    fn default() -> Self {
        Lbfgs { history: 10, gradient_tolerance: 1e-5, decrease_tolerance: 2.2e-9, max_iterations: 200 }
    }
}

impl Optimiser for Lbfgs {
    fn go_on(
        &self,
        f: &mut dyn Objective,
        start: &[f64],
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
        known: &mut Curvature,
    ) -> Result<Optimum> {
        let descent = Descent {
            gradient_tolerance: self.gradient_tolerance,
            decrease_tolerance: self.decrease_tolerance,
            max_iterations: self.max_iterations,
            search: LineSearch { c1: 1e-4, c2: 0.9 },
        };
        let memory = known.memory.take().filter(|m| m.history == self.history && m.s.len() == m.history * start.len());
        let memory = known.memory.insert(memory.unwrap_or_else(|| Memory::new(self.history, start.len())));
        descent.run(memory, f, start, watch)
    }
}

/// What a run has learned of the curvature, for one that goes on from where it ended; nothing at first.
#[derive(Clone, Debug, Default)]
pub struct Curvature {
    memory: Option<Memory>,
    /// The strength of the pull under which it was learned.
    pull: f64,
}

impl Curvature {
    /// As it is under a pull of this strength: pull and objective add up, and so do their curvatures. Steps along which the sum then has
    /// no positive curvature are forgotten.
    pub(super) fn under(&mut self, pull: f64) {
        let more = pull - std::mem::replace(&mut self.pull, pull);
        if let Some(memory) = self.memory.as_mut().filter(|_| more != 0.0) {
            memory.stiffen(more);
        }
    }
}

/// The pairs, in a ring: row `k % history` of `s` and `y` belongs to the k-th pair kept.
#[derive(Clone, Debug)]
struct Memory {
    history: usize,
    s: Vec<f64>,
    y: Vec<f64>,
    rho: Vec<f64>,
    alpha: Vec<f64>,
    /// s'y / y'y of the newest pair.
    scale: f64,
    /// Pairs kept since the last `forget`.
    kept: usize,
}

impl Memory {
    fn new(history: usize, dim: usize) -> Self {
        let (rows, pair) = (vec![0.0; history * dim], vec![0.0; history]);
        Memory { history, s: rows.clone(), y: rows, rho: pair.clone(), alpha: pair, scale: 1.0, kept: 0 }
    }

    /// Adds `more` |s|^2 to the curvature along every step.
    fn stiffen(&mut self, more: f64) {
        let dim = self.s.len().checked_div(self.history).unwrap_or(0);
        let old = self.clone();
        self.kept = 0;
        for k in old.pairs() {
            let row = (k % self.history) * dim;
            let s = &old.s[row..row + dim];
            let y: Vec<f64> = s.iter().zip(&old.y[row..row + dim]).map(|(s, y)| y + more * s).collect();
            let (sy, yy) = (dot(s, &y), dot(&y, &y));
            if sy > f64::EPSILON * yy.sqrt() * norm(s) {
                let (k, row) = (self.kept % self.history, (self.kept % self.history) * dim);
                self.s[row..row + dim].copy_from_slice(s);
                self.y[row..row + dim].copy_from_slice(&y);
                (self.rho[k], self.scale) = (1.0 / sy, sy / yy);
                self.kept += 1;
            }
        }
    }

    /// The pairs remembered, oldest first.
    fn pairs(&self) -> std::ops::Range<usize> {
        self.kept.saturating_sub(self.history)..self.kept
    }
}

impl Direction for Memory {
    fn choose(&mut self, _: &mut Counted, now: &Point, d: &mut [f64]) -> Result<f64> {
        let first = steepest(now, d);
        if self.kept == 0 {
            return Ok(first);
        }
        let dim = d.len();
        for k in self.pairs().rev() {
            let (k, row) = (k % self.history, (k % self.history) * dim);
            self.alpha[k] = self.rho[k] * dot(&self.s[row..row + dim], d);
            for i in 0..dim {
                d[i] -= self.alpha[k] * self.y[row + i];
            }
        }
        for i in 0..dim {
            d[i] *= self.scale;
        }
        for k in self.pairs() {
            let (k, row) = (k % self.history, (k % self.history) * dim);
            let beta = self.rho[k] * dot(&self.y[row..row + dim], d);
            for i in 0..dim {
                d[i] += (self.alpha[k] - beta) * self.s[row + i];
            }
        }
        Ok(1.0)
    }

    fn learn(&mut self, old: &Point, new: &Point, _: f64, d: &[f64]) {
        if self.history == 0 {
            return;
        }
        let dim = d.len();
        let (k, row) = (self.kept % self.history, (self.kept % self.history) * dim);
        let (mut sy, mut yy, mut promised) = (0.0, 0.0, 0.0);
        for i in 0..dim {
            let (s, y) = (new.theta[i] - old.theta[i], new.grad[i] - old.grad[i]);
            (self.s[row + i], self.y[row + i]) = (s, y);
            sy += s * y;
            yy += y * y;
            promised -= s * old.grad[i];
        }
        if sy > f64::EPSILON * promised {
            self.rho[k] = 1.0 / sy;
            self.scale = sy / yy;
            self.kept += 1;
        }
    }

    fn forget(&mut self) -> bool {
        std::mem::take(&mut self.kept) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A point of F = sum of c_i x_i^2 / 2, with a pull of strength kappa to the origin.
    fn point(theta: &[f64], kappa: f64) -> Point {
        let mut point = Point::new(theta.len());
        point.theta.copy_from_slice(theta);
        let curvature = |i: usize| [4.0, 1.0, -0.5][i] + kappa;
        point.grad = theta.iter().enumerate().map(|(i, t)| curvature(i) * t).collect();
        point.value = theta.iter().enumerate().map(|(i, t)| 0.5 * curvature(i) * t * t).sum();
        point
    }

    /// What was learned under one pull is what would have been learned under another.
    #[test]
    fn curvature_follows_the_pull() {
        let path = [[1.0, -2.0, 0.2], [0.5, -1.5, 0.1], [0.3, -0.2, 0.15], [-0.1, 0.4, 0.05], [0.2, 0.1, 0.02]];
        let learned = |kappa: f64, kept: &[usize]| {
            let mut memory = Memory::new(3, 3);
            for k in kept {
                let [old, new] = [path[*k], path[k + 1]].map(|theta| point(&theta, kappa));
                memory.learn(&old, &new, 1.0, &[0.0; 3]);
            }
            memory
        };
        let direction = |memory: &mut Memory| {
            let mut d = vec![0.0; 3];
            let mut none = Nothing;
            memory.choose(&mut Counted::new(&mut none), &point(&[0.3, 0.2, 0.1], 0.0), &mut d).unwrap();
            d
        };
        // four steps through a memory of three
        let mut known = Curvature { memory: Some(learned(0.7, &[0, 1, 2, 3])), pull: 0.7 };
        known.under(0.2);
        let (a, b) = (direction(known.memory.as_mut().unwrap()), direction(&mut learned(0.2, &[0, 1, 2, 3])));
        a.iter().zip(&b).for_each(|(a, b)| assert!((a - b).abs() < 1e-12, "{a} {b}"));
        known.under(0.7);
        let (a, b) = (direction(known.memory.as_mut().unwrap()), direction(&mut learned(0.7, &[0, 1, 2, 3])));
        a.iter().zip(&b).for_each(|(a, b)| assert!((a - b).abs() < 1e-12, "{a} {b}"));
        // the pull was all that made it convex along this step
        let mut known = Curvature { memory: None, pull: 0.7 };
        let mut memory = Memory::new(3, 3);
        let [old, new] = [[0.0, 0.0, 1.0], [0.0, 0.0, 0.5]].map(|theta| point(&theta, 0.7));
        memory.learn(&old, &new, 1.0, &[0.0; 3]);
        known.memory = Some(memory);
        known.under(0.0);
        assert_eq!(known.memory.unwrap().kept, 0);
    }

    struct Nothing;
    impl Objective for Nothing {
        fn dim(&self) -> usize {
            3
        }
        fn eval(&mut self, _: &[f64], _: &mut [f64]) -> Result<f64> {
            unreachable!("a direction asks for no pass")
        }
    }
}
