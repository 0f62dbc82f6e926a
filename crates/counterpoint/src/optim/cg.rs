//! Nonlinear conjugate gradients: one direction remembered, four vectors in all.
//!
//! For models so large that the pairs of L-BFGS are a burden. The decision is the formula of Hager and Zhang (2005)
//! with its lower bound: every direction descends by at least 7/8 |g|^2 however rough the line search was, which
//! Polak and Ribiere's does not promise, and where that one would be cut off at zero it still bends.

use std::ops::ControlFlow;

use super::descent::{Descent, Direction, steepest};
use super::line_search::LineSearch;
use super::point::{Counted, Point, dot, norm};
use super::{Curvature, Objective, Optimiser, Optimum, Progress};
use crate::error::Result;

/// Nonlinear conjugate gradients.
///
/// ```text
/// d_{k+1} = -g_{k+1} + beta d_k,  y = g_{k+1} - g_k
/// beta = max( (y - 2 d_k |y|^2 / d_k'y)' g_{k+1} / d_k'y,  -1 / (|d_k| min(0.01, |g_k|)) )
/// ```
///
/// Restarted along steepest descent every `restart` times dim steps. The line search is the exact kind (c2 = 0.1): a
/// step costs about two evaluations, and on ill-conditioned problems that more than pays.
#[derive(Clone, Debug, PartialEq)]
pub struct Cg {
    /// Steps between restarts, as a multiple of the number of parameters.
    pub restart: usize,
    /// Stop when the max-norm of the gradient is at most this.
    pub gradient_tolerance: f64,
    /// Stop when a step lowers the objective by at most this, relative to max(|F_k|, |F_{k+1}|, 1).
    pub decrease_tolerance: f64,
    /// Stop after this many steps; more than for L-BFGS, since a step achieves less.
    pub max_iterations: usize,
}

impl Default for Cg {
    fn default() -> Self {
        Cg { restart: 6, gradient_tolerance: 1e-5, decrease_tolerance: 2.2e-9, max_iterations: 1000 }
    }
}

impl Optimiser for Cg {
    fn go_on(
        &self,
        f: &mut dyn Objective,
        start: &[f64],
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
        _: &mut Curvature,
    ) -> Result<Optimum> {
        let descent = Descent {
            gradient_tolerance: self.gradient_tolerance,
            decrease_tolerance: self.decrease_tolerance,
            max_iterations: self.max_iterations,
            search: LineSearch { c1: 1e-4, c2: 0.1 },
        };
        let period = self.restart.saturating_mul(start.len());
        descent.run(&mut Conjugate { beta: 0.0, next: None, since: 0, period }, f, start, watch)
    }
}

/// What is carried from one step to the next; the direction itself stays where it is.
struct Conjugate {
    beta: f64,
    /// step * slope of the last search: the next one starts where it promises the same decrease.
    next: Option<f64>,
    since: usize,
    period: usize,
}

impl Direction for Conjugate {
    fn choose(&mut self, _: &mut Counted, now: &Point, d: &mut [f64]) -> Result<f64> {
        let Some(promised) = self.next else {
            return Ok(steepest(now, d));
        };
        for i in 0..d.len() {
            d[i] = -now.grad[i] + self.beta * d[i];
        }
        Ok(promised / dot(&now.grad, d))
    }

    fn learn(&mut self, old: &Point, new: &Point, step: f64, d: &[f64]) {
        let (mut dy, mut yy, mut yg, mut dg) = (0.0, 0.0, 0.0, 0.0);
        for i in 0..d.len() {
            let y = new.grad[i] - old.grad[i];
            dy += d[i] * y;
            yy += y * y;
            yg += y * new.grad[i];
            dg += d[i] * new.grad[i];
        }
        let bound = -1.0 / (norm(d) * norm(&old.grad).min(0.01));
        let beta = ((yg - 2.0 * dg * yy / dy) / dy).max(bound);
        self.since += 1;
        if dy > 0.0 && beta.is_finite() && self.since < self.period {
            self.beta = beta;
        } else {
            (self.beta, self.since) = (0.0, 0);
        }
        self.next = Some(step * dot(&old.grad, d));
    }

    fn forget(&mut self) -> bool {
        let bent = self.beta != 0.0;
        (self.beta, self.next, self.since) = (0.0, None, 0);
        bent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One step d = 1 that overshoots, from a slope of -1 to one of c: y = c + 1 and beta = (c y - 2 c y) / y = -c, but never below
    /// -1 / (|d| min(|g|, .01)) = -100.
    #[test]
    fn beta_is_bounded_from_below() {
        let beta = |c: f64| {
            let at = |g: f64| Point { theta: vec![0.0], grad: vec![g], value: 0.0 };
            let mut conjugate = Conjugate { beta: 0.0, next: None, since: 0, period: 9 };
            conjugate.learn(&at(-1.0), &at(c), 1.0, &[1.0]);
            conjugate.beta
        };
        assert_eq!(beta(50.0), -50.0);
        assert!((beta(400.0) + 100.0).abs() < 1e-9);
    }
}
