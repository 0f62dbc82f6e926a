//! [optim/] How is a smooth function minimised?
//!
//! An objective is a value and a gradient from one pass over the data; passes are what learning costs, so they are
//! what is counted. Every solver here looks at a point once, asks for value and gradient together, and does not come
//! back to it (unless two steps differ by less than the last bits of the parameters). Solvers know nothing of
//! policies: they see `&[f64]`.
//!
//! The decision is that descent is written once. `descent` owns the loop, the stopping rules, the second chance
//! after a failed line search and the last good iterate; [`Lbfgs`], [`Cg`] and [`Newton`] each answer one question,
//! which direction next, in a file of their own. [`Proximal`] wraps any of them.
//!
//! Results are reproducible to the bit: sums run in index order, and nothing depends on time, threads or addresses.
//! Deliberately absent: bounds (a parameter with a bound is reparametrised, as sigma is by its logarithm), stochastic
//! gradients, and type parameters for vectors.

mod cg;
mod descent;
mod lbfgs;
mod line_search;
mod newton;
mod point;
mod proximal;

use std::fmt;
use std::ops::ControlFlow;

pub use cg::Cg;
pub use lbfgs::{Curvature, Lbfgs};
pub use newton::Newton;
pub use proximal::Proximal;

use crate::error::Result;

/// A smooth function to be minimised: value and gradient from one pass over the data.
///
/// ```
/// use std::ops::ControlFlow;
/// use counterpoint::optim::{Lbfgs, Objective, Optimiser};
///
/// /// (x - 3)^2
/// struct Parabola;
/// impl Objective for Parabola {
///     fn dim(&self) -> usize { 1 }
///     fn eval(&mut self, theta: &[f64], grad: &mut [f64]) -> counterpoint::Result<f64> {
///         grad[0] = 2.0 * (theta[0] - 3.0);
///         Ok((theta[0] - 3.0).powi(2))
///     }
/// }
///
/// let found = Lbfgs::default().minimise(&mut Parabola, &[0.0], &mut |_| ControlFlow::Continue(()))?;
/// assert!((found.theta[0] - 3.0).abs() < 1e-5 && found.stop.converged());
/// # Ok::<(), counterpoint::Error>(())
/// ```
pub trait Objective {
    /// The number of parameters.
    fn dim(&self) -> usize;

    /// The value at `theta`; fills `grad`, which has `dim` entries and unspecified contents on entry.
    ///
    /// `Err` is for what cannot be continued from, such as a file that has gone. A value or gradient that is not
    /// finite is returned as it is: the solver takes it to mean that the step was too long, and shortens it.
    fn eval(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64>;
}

/// What an observer is told after each accepted step, and after each proximal step.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Proximal steps completed; 0 for a solver that is not wrapped.
    pub outer: usize,
    /// Steps accepted so far, over all proximal steps.
    pub iteration: usize,
    /// Passes over the data so far.
    pub evaluations: usize,
    /// The objective at `theta`; never a proximal sum.
    pub value: f64,
    /// The max-norm of the objective's gradient at `theta`.
    pub gradient: f64,
    /// The iterate just accepted.
    pub theta: &'a [f64],
}

/// A way to a local minimum.
pub trait Optimiser {
    /// Minimises `f` from `start`. `watch` sees every accepted step and may end the run with `ControlFlow::Break`.
    ///
    /// The value returned is never above the value at the start. Errors: `start` is empty or of another length
    /// than `f.dim()`; value or gradient are not finite at the start; `f.eval` itself failed.
    fn minimise(
        &self,
        f: &mut dyn Objective,
        start: &[f64],
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Optimum> {
        self.go_on(f, start, watch, &mut Curvature::default())
    }

    /// The same for a run that goes on where another of the same objective, or of one much like it, has ended: what that one has learned of
    /// the curvature is used, and what this one learns is left in `known`. A solver that remembers nothing begins anew.
    fn go_on(
        &self,
        f: &mut dyn Objective,
        start: &[f64],
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
        known: &mut Curvature,
    ) -> Result<Optimum>;
}

/// Where a run ended: always the best of the accepted iterates, however it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    /// The parameters.
    pub theta: Vec<f64>,
    /// The objective there, as it was evaluated.
    pub value: f64,
    /// The max-norm of the gradient there.
    pub gradient: f64,
    /// Steps accepted.
    pub iterations: usize,
    /// Passes over the data, the one at the start included.
    pub evaluations: usize,
    /// Why the run ended.
    pub stop: Stop,
}

/// Every way a run can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stop {
    /// The max-norm of the gradient is within its tolerance.
    Gradient,
    /// The last step lowered the objective by less than its tolerance.
    Decrease,
    /// The limit on iterations was reached.
    Iterations,
    /// No step lowers the objective, not even along steepest descent.
    LineSearch,
    /// The observer asked to stop.
    Interrupted,
    /// Of several runs others were ahead of it, and it was not gone on with. No solver ends so by itself.
    Behind,
}

impl Stop {
    /// Whether the end is a stationary point up to the tolerances, rather than a limit or a failure.
    pub fn converged(&self) -> bool {
        matches!(self, Stop::Gradient | Stop::Decrease)
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stop::Gradient => "converged: the gradient is within its tolerance",
            Stop::Decrease => "converged: the objective has stopped decreasing",
            Stop::Iterations => "stopped: the limit on iterations was reached",
            Stop::LineSearch => "stopped: no step lowers the objective",
            Stop::Interrupted => "stopped: interrupted by the observer",
            Stop::Behind => "stopped: other starting points were ahead",
        })
    }
}

/// A solver chosen at run time.
///
/// ```
/// use counterpoint::optim::{Cg, Method, Proximal};
/// let chosen = Proximal { kappa: 0.01, ..Proximal::new(Method::Cg(Cg::default())) };
/// assert_eq!(chosen.outer, 10);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// Limited-memory BFGS.
    Lbfgs(Lbfgs),
    /// Nonlinear conjugate gradients.
    Cg(Cg),
    /// Truncated Newton.
    Newton(Newton),
}

impl Default for Method {
    fn default() -> Self {
        Method::Lbfgs(Lbfgs::default())
    }
}

impl Optimiser for Method {
    fn go_on(
        &self,
        f: &mut dyn Objective,
        start: &[f64],
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
        known: &mut Curvature,
    ) -> Result<Optimum> {
        match self {
            Method::Lbfgs(solver) => solver.go_on(f, start, watch, known),
            Method::Cg(solver) => solver.go_on(f, start, watch, known),
            Method::Newton(solver) => solver.go_on(f, start, watch, known),
        }
    }
}
