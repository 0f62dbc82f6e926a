//! Newton-CG: the Newton equation solved only as well as the gradient deserves, without a Hessian.
//!
//! For problems so ill-conditioned that the memory of L-BFGS does not span them, and with few parameters relative to
//! their difficulty: every product with the Hessian is one more pass over the data. The decision is to take the
//! product from a difference of gradients, so that an objective needs to supply nothing more, and to treat curvature
//! that is not positive as the end of the model's validity: the step so far is used, or steepest descent if none.

use std::ops::ControlFlow;

use super::descent::{Descent, Direction, steepest};
use super::line_search::LineSearch;
use super::point::{Counted, Point, dot, norm};
use super::{Curvature, Objective, Optimiser, Optimum, Progress};
use crate::error::Result;

/// Truncated Newton with conjugate gradients inside (Nocedal and Wright, algorithm 7.1).
///
/// ```text
/// |H d + g| <= min(1/2, sqrt |g|) |g|
/// H p ~ (grad F(theta + e p) - g) / e,  e = 2 sqrt(eps) (1 + |theta|) / |p|
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Newton {
    /// Products with the Hessian in one step at most; each is an evaluation.
    pub products: usize,
    /// Stop when the max-norm of the gradient is at most this.
    pub gradient_tolerance: f64,
    /// Stop when a step lowers the objective by at most this, relative to max(|F_k|, |F_{k+1}|, 1).
    pub decrease_tolerance: f64,
    /// Stop after this many steps.
    pub max_iterations: usize,
}

impl Default for Newton {
    fn default() -> Self {
        Newton { products: 50, gradient_tolerance: 1e-5, decrease_tolerance: 2.2e-9, max_iterations: 200 }
    }
}

impl Optimiser for Newton {
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
            search: LineSearch { c1: 1e-4, c2: 0.9 },
        };
        descent.run(&mut Truncated::new(self.products, start.len()), f, start, watch)
    }
}

/// The vectors of the inner conjugate gradients.
struct Truncated {
    products: usize,
    /// H d + g.
    residual: Vec<f64>,
    /// The inner direction.
    p: Vec<f64>,
    probe: Point,
    /// Whether the last direction was steepest descent.
    plain: bool,
    /// Whether the next one must be.
    forgotten: bool,
}

impl Truncated {
    fn new(products: usize, dim: usize) -> Self {
        let zero = vec![0.0; dim];
        let probe = Point::new(dim);
        Truncated { products, residual: zero.clone(), p: zero, probe, plain: true, forgotten: false }
    }

    /// Leaves grad F(theta + e p) in the probe and returns 1 / e, or `None` if it is not finite there.
    fn differ(&mut self, f: &mut Counted, now: &Point) -> Result<Option<f64>> {
        let e = 2.0 * f64::EPSILON.sqrt() * (1.0 + norm(&now.theta)) / norm(&self.p);
        self.probe.step_from(now, e, &self.p);
        f.eval(&mut self.probe)?;
        Ok(self.probe.is_finite().then_some(1.0 / e))
    }

    /// Fills `d` with the truncated Newton step. False, with `d` zero, if the very first product was of no use.
    fn solve(&mut self, f: &mut Counted, now: &Point, d: &mut [f64]) -> Result<bool> {
        let goal = norm(&now.grad) * norm(&now.grad).sqrt().min(0.5);
        for i in 0..d.len() {
            (d[i], self.residual[i], self.p[i]) = (0.0, now.grad[i], -now.grad[i]);
        }
        let mut rr = dot(&self.residual, &self.residual);
        for j in 0..self.products {
            let Some(per) = self.differ(f, now)? else { return Ok(j > 0) };
            let hp = |i: usize, probe: &Point| (probe.grad[i] - now.grad[i]) * per;
            let (mut curvature, mut pp) = (0.0, 0.0);
            for i in 0..d.len() {
                curvature += self.p[i] * hp(i, &self.probe);
                pp += self.p[i] * self.p[i];
            }
            if !(curvature > f64::EPSILON * pp && curvature.is_finite()) {
                return Ok(j > 0);
            }
            let a = rr / curvature;
            for i in 0..d.len() {
                d[i] += a * self.p[i];
                self.residual[i] += a * hp(i, &self.probe);
            }
            let after = dot(&self.residual, &self.residual);
            if after.sqrt() <= goal {
                return Ok(true);
            }
            for i in 0..d.len() {
                self.p[i] = -self.residual[i] + after / rr * self.p[i];
            }
            rr = after;
        }
        Ok(self.products > 0)
    }
}

impl Direction for Truncated {
    fn choose(&mut self, f: &mut Counted, now: &Point, d: &mut [f64]) -> Result<f64> {
        let solved = !std::mem::take(&mut self.forgotten) && self.solve(f, now, d)?;
        self.plain = !solved;
        Ok(if solved { 1.0 } else { steepest(now, d) })
    }

    fn learn(&mut self, _: &Point, _: &Point, _: f64, _: &[f64]) {}

    fn forget(&mut self) -> bool {
        self.forgotten = true;
        !self.plain
    }
}
