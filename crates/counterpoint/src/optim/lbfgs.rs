//! L-BFGS: the curvature of the last few steps, and nothing else, shapes the direction.
//!
//! The default solver. Its unit step is nearly always accepted, so an iteration costs little more than one pass over
//! the data, which is what learning pays for; the two loops of Nocedal (1980) cost 4 history dim flops, nothing beside
//! it. The decision is to be comparable with scipy's L-BFGS-B: the same memory, scaling and stopping rules, so that a
//! result can be checked against it.

use std::ops::ControlFlow;

use super::descent::{Descent, Direction, steepest};
use super::line_search::LineSearch;
use super::point::{Counted, Point, dot};
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
    fn minimise(
        &self,
        f: &mut dyn Objective,
        start: &[f64],
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Optimum> {
        let descent = Descent {
            gradient_tolerance: self.gradient_tolerance,
            decrease_tolerance: self.decrease_tolerance,
            max_iterations: self.max_iterations,
            search: LineSearch { c1: 1e-4, c2: 0.9 },
        };
        descent.run(&mut Memory::new(self.history, start.len()), f, start, watch)
    }
}

/// The pairs, in a ring: row `k % history` of `s` and `y` belongs to the k-th pair kept.
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
