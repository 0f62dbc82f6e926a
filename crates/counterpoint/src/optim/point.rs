//! What a solver stands on: a point with its value and gradient, and the count of passes it took to know it.
//!
//! The decision is that value and gradient are never apart: a [`Point`] is evaluated whole, swapped whole and
//! returned whole, so nothing can be reported for a `theta` it was not computed at. Sums run in index order.

use super::Objective;
use crate::error::{Error, Result};

/// Parameters with the objective's value and gradient there.
#[derive(Clone)]
pub(super) struct Point {
    pub(super) theta: Vec<f64>,
    pub(super) grad: Vec<f64>,
    pub(super) value: f64,
}

impl Point {
    /// Room for a point. Until it is filled it is nowhere: equal to no other, and not finite.
    pub(super) fn new(dim: usize) -> Self {
        Point { theta: vec![f64::NAN; dim], grad: vec![0.0; dim], value: f64::NAN }
    }

    /// Whether a solver may stand here.
    pub(super) fn is_finite(&self) -> bool {
        self.value.is_finite() && self.grad.iter().all(|g| g.is_finite())
    }

    /// The max-norm of the gradient.
    pub(super) fn gradient(&self) -> f64 {
        self.grad.iter().fold(0.0, |m, g| g.abs().max(m))
    }

    /// theta = from.theta + step * direction.
    pub(super) fn step_from(&mut self, from: &Point, step: f64, direction: &[f64]) {
        for i in 0..self.theta.len() {
            self.theta[i] = from.theta[i] + step * direction[i];
        }
    }

    /// Becomes a copy of `other`, without allocating.
    pub(super) fn set(&mut self, other: &Point) {
        self.theta.copy_from_slice(&other.theta);
        self.grad.copy_from_slice(&other.grad);
        self.value = other.value;
    }
}

/// An objective that counts its evaluations. The count is part of the result, so every pass goes through here.
pub(super) struct Counted<'a> {
    f: &'a mut dyn Objective,
    pub(super) evaluations: usize,
}

impl<'a> Counted<'a> {
    pub(super) fn new(f: &'a mut dyn Objective) -> Self {
        Counted { f, evaluations: 0 }
    }

    /// The start, checked: of the right length, not empty, with a finite value and gradient.
    pub(super) fn start(&mut self, theta: &[f64]) -> Result<Point> {
        check_length(theta, self.f.dim())?;
        let mut point = Point::new(theta.len());
        point.theta.copy_from_slice(theta);
        self.eval(&mut point)?;
        check_start(&point)?;
        Ok(point)
    }

    /// Fills in value and gradient at `point.theta`.
    pub(super) fn eval(&mut self, point: &mut Point) -> Result<()> {
        self.evaluations += 1;
        point.value = self.f.eval(&point.theta, &mut point.grad)?;
        Ok(())
    }
}

fn check_length(theta: &[f64], dim: usize) -> Result<()> {
    if theta.is_empty() {
        return Err(Error::policy("there is nothing to optimise: the start has no parameters"));
    }
    if theta.len() != dim {
        let what = format!("the start has {} parameters, the objective {dim}", theta.len());
        return Err(Error::policy(what).hint("start from a policy of the same shape as the one being learned"));
    }
    Ok(())
}

fn check_start(point: &Point) -> Result<()> {
    let what = if !point.value.is_finite() {
        format!("the value is {}", point.value)
    } else if let Some(i) = point.grad.iter().position(|g| !g.is_finite()) {
        format!("the derivative by parameter {i} is {}", point.grad[i])
    } else {
        return Ok(());
    };
    let hint =
        "start closer to the logging policy, with a sigma no smaller than the log's, and standardise the contexts";
    Err(Error::numeric("objective at the start", what).hint(hint))
}

/// Inner product.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sum = 0.0;
    for i in 0..a.len() {
        sum += a[i] * b[i];
    }
    sum
}

/// Euclidean norm.
pub(super) fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}
