//! Rules that go down the objective itself: a linear rule, and trees that correct the greedy one.
//!
//! The objective is the doubly robust cost at a fixed std, a sum over rows of a function of each row's mean,
//!
//! ```text
//! L(mu) = mean_i [ E_{N(mu_i, s_i)} q(x_i, .) + w_i(mu_i) (y_i - q(x_i, a_i)) ]
//! ```
//!
//! with q and the start fitted on other folds. A fixed std keeps the weights from collapsing onto single rows, and every mean
//! stays in the window of its context, so no step leaves the support of the log. Slopes are central differences: exact enough
//! at a fiftieth of the std, and right for bounds and grids alike.

use super::judge::{Judge, between_knots};
use crate::engine::Engine;
use crate::error::Result;
use crate::math;
use crate::models::{BoostOptions, Boosted, Regressor, Ridge, Watched};
use crate::optim::{Lbfgs, Objective, Optimiser};
use crate::policy::Axis;
use std::ops::ControlFlow;

/// Weights are cut here: beyond it a single row would steer the rule.
const MOST_WEIGHT: f64 = 20.0;

/// Rows whose means are moved, with all that their costs depend on.
pub(super) struct Slope<'a> {
    pub(super) judge: &'a Judge<'a>,
    pub(super) share: f64,
    /// Smoothed costs at the knots by the reference model, row-major.
    pub(super) smooth: &'a [f64],
    /// Where each mean may lie.
    pub(super) range: &'a [[f64; 2]],
}

impl Slope<'_> {
    fn axis(&self) -> &Axis {
        self.judge.axis
    }

    fn std(&self, i: usize) -> f64 {
        self.share * self.judge.logging.levels[self.judge.level[i]]
    }

    /// The cost of row i at a mean.
    fn cost(&self, i: usize, mean: f64) -> f64 {
        let (t, k) = (self.judge.table, self.axis().knots.len());
        let expected = between_knots(&self.axis().knots, &self.smooth[i * k..(i + 1) * k], mean);
        let log_w = self.axis().log_density(mean, self.std(i), t.a[i]) - t.log_p[i];
        expected + math::exp(log_w).min(MOST_WEIGHT) * self.judge.residual[i]
    }

    /// The cost of row i, its slope, and a curvature > 0; flat outside the range.
    fn at(&self, i: usize, mean: f64) -> [f64; 3] {
        let [low, high] = self.range[i];
        let inside = mean.clamp(low, high);
        let value = self.cost(i, inside);
        let h = 0.02 * self.std(i);
        let (up, down) = (self.cost(i, inside + h), self.cost(i, inside - h));
        let slope = if inside == mean { (up - down) / (2.0 * h) } else { 0.0 };
        // the reference model bends by about one unit of cost per squared spread
        let spread = self.judge.logging.levels[self.judge.level[i]];
        [value, slope, 1.0 / (spread * spread)]
    }

    fn total(&self, rows: &[usize], mean: impl Fn(usize) -> f64) -> f64 {
        let t = self.judge.table;
        rows.iter().map(|&i| t.omega[i] * self.cost(i, mean(i).clamp(self.range[i][0], self.range[i][1]))).sum::<f64>()
            / rows.len().max(1) as f64
    }
}

/// A linear rule by descent from a start: coefficients on (standardised contexts, 1).
struct LinearDescent<'a> {
    slope: &'a Slope<'a>,
    rows: &'a [usize],
    psi: &'a [f64],
    p: usize,
    ridge: f64,
}

impl Objective for LinearDescent<'_> {
    fn dim(&self) -> usize {
        self.p
    }

    fn eval(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
        grad.fill(0.0);
        let t = self.slope.judge.table;
        let n = self.rows.len() as f64;
        let mut total = 0.0;
        for &i in self.rows {
            let psi = &self.psi[i * self.p..(i + 1) * self.p];
            let mean: f64 = psi.iter().zip(theta).map(|(f, b)| f * b).sum();
            let [value, slope, _] = self.slope.at(i, mean);
            total += t.omega[i] * value;
            grad.iter_mut().zip(psi).for_each(|(g, f)| *g += t.omega[i] * slope * f / n);
        }
        for j in 0..self.p - 1 {
            total += 0.5 * n * self.ridge * theta[j] * theta[j];
            grad[j] += self.ridge * theta[j];
        }
        Ok(total / n)
    }
}

/// A linear rule learned on some of the rows from the means `start`.
pub(super) fn linear(slope: &Slope, rows: &[usize], start: &[f64]) -> Result<Regressor> {
    let t = slope.judge.table;
    let basis = Ridge::linear(&t.regression(start, start), rows)?;
    let p = basis.columns();
    let mut psi = vec![0.0; t.n() * p];
    psi.chunks_exact_mut(p).enumerate().for_each(|(i, out)| basis.features(t.context(i), out));
    let spread = slope.judge.logging.levels[slope.judge.logging.levels.len() / 2];
    let ridge = 1e-3 / (spread * spread);
    let mut problem = LinearDescent { slope, rows, psi: &psi, p, ridge };
    let method = Lbfgs { max_iterations: 60, ..Lbfgs::default() };
    let found = method.minimise(&mut problem, basis.coefficients(), &mut |_| ControlFlow::Continue(()))?;
    Ok(Regressor::Ridge(basis.with_coefficients(found.theta)))
}

/// Trees that move the means `start`, grown on some of the rows; a fifth of them says when to stop.
pub(super) fn boosted(slope: &Slope, rows: &[usize], start: &[f64], seed: u64, engine: &Engine) -> Result<Boosted> {
    let t = slope.judge.table;
    let (held, grown): (Vec<usize>, Vec<usize>) =
        rows.iter().partition(|&&i| crate::rng::hash(seed ^ 0x6865_6c64, i as u64).is_multiple_of(5));
    let gather = |rows: &[usize]| -> (Vec<f64>, Vec<f64>) {
        (rows.iter().flat_map(|&i| t.context(i).iter().copied()).collect(), rows.iter().map(|&i| start[i]).collect())
    };
    let ((x, from), (held_x, held_from)) = (gather(&grown), gather(&held));
    let mut objective = |mean: &[f64], grad: &mut [f64], curvature: &mut [f64]| -> f64 {
        let mut total = 0.0;
        for (k, &i) in grown.iter().enumerate() {
            let [value, slope, bend] = slope.at(i, mean[k]);
            total += t.omega[i] * value;
            (grad[k], curvature[k]) = (t.omega[i] * slope, t.omega[i] * bend);
        }
        total / grown.len() as f64
    };
    let mut on_held = |mean: &[f64]| -> f64 {
        let at: std::collections::HashMap<usize, f64> = held.iter().copied().zip(mean.iter().copied()).collect();
        slope.total(&held, |i| at[&i])
    };
    let watched = Watched { x: &held_x, start: &held_from, objective: &mut on_held };
    Boosted::fit((&x, t.d), &from, &mut objective, Some(watched), &BoostOptions::default(), (seed, engine))
}
