//! The proximal point method: a solver wrapped in a solver, for objectives that are not convex.
//!
//! ```text
//! theta_k = argmin F(theta) + kappa/2 |theta - theta_{k-1}|^2      k = 1..outer, then once with kappa = 0
//! ```
//!
//! The pull towards the last point keeps the inner solver from leaping across the landscape while its picture of the
//! curvature is poor; the last step removes the pull, so the end is a stationary point of F itself.
//!
//! The decision is that the outside sees F only. Values, gradients and tolerances reported are F's, each as it was
//! evaluated, never the sum's and never a difference of large numbers; and since the end of one step is the start of
//! the next, its value and gradient are remembered, so that wrapping costs no second look at a point.

use std::cell::RefCell;
use std::ops::ControlFlow;

use super::point::Point;
use super::{Curvature, Objective, Optimiser, Optimum, Progress, Stop};
use crate::error::{Error, Result};

/// Proximal steps around another solver.
///
/// The outer steps end early once one moves no parameter by more than `move_tolerance` max(1, |theta|_max) and F by
/// no more than `decrease_tolerance` max(|F|, 1). The last step starts from the best point seen. With `outer` or
/// `kappa` zero the result is the inner solver's, bit for bit.
#[derive(Clone, Debug, PartialEq)]
pub struct Proximal<O> {
    /// The solver of each step.
    pub inner: O,
    /// The strength of the pull, at least 0.
    pub kappa: f64,
    /// Steps with the pull at most.
    pub outer: usize,
    /// See above.
    pub move_tolerance: f64,
    /// See above.
    pub decrease_tolerance: f64,
    /// Whether a step goes on with what the one before learned of the curvature: the pull's own curvature is known and the same everywhere,
    /// so it is only the solver that would have to learn all of it again.
    pub carry: bool,
}

impl<O> Proximal<O> {
    /// Ten steps with kappa = 0.01 around `inner`.
    pub fn new(inner: O) -> Self {
        Proximal { inner, kappa: 0.01, outer: 10, move_tolerance: 1e-6, decrease_tolerance: 2.2e-9, carry: false }
    }
}

impl<O: Default> Default for Proximal<O> {
    fn default() -> Self {
        Proximal::new(O::default())
    }
}

impl<O: Optimiser> Optimiser for Proximal<O> {
    fn go_on(
        &self,
        f: &mut dyn Objective,
        start: &[f64],
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
        known: &mut Curvature,
    ) -> Result<Optimum> {
        if !(self.kappa >= 0.0 && self.kappa.is_finite()) {
            return Err(Error::recipe("kappa", format!("{} is not a strength (must be 0 or more)", self.kappa)));
        }
        let state = RefCell::new(State::new(f, start));
        let outer = if self.kappa > 0.0 { self.outer } else { 0 };
        let mut done = 0;
        while done < outer {
            state.borrow_mut().pull_to_here(self.kappa);
            let stop = self.step(&state, done, watch, known)?;
            // At the centre the pull has no slope: where no step lowers the sum, none lowers F.
            let stuck = stop == Stop::LineSearch && state.borrow().here.theta == state.borrow().centre.theta;
            if stuck || stop == Stop::Interrupted {
                return Ok(state.into_inner().end(stop));
            }
            done += 1;
            let told = watch(&state.borrow().progress(done));
            if told.is_break() {
                return Ok(state.into_inner().end(Stop::Interrupted));
            }
            if self.settled(&state.borrow()) {
                break;
            }
        }
        // without the pull, so that the end is a stationary point of F and not of the sum
        state.borrow_mut().release_at_best();
        let stop = self.step(&state, done, watch, known)?;
        Ok(state.into_inner().end(stop))
    }
}

impl<O: Optimiser> Proximal<O> {
    /// One run of the inner solver on the sum, watched as a run on F.
    fn step(
        &self,
        state: &RefCell<State>,
        outer: usize,
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
        known: &mut Curvature,
    ) -> Result<Stop> {
        if self.carry {
            known.under(state.borrow().kappa)
        } else {
            *known = Curvature::default()
        }
        let start = state.borrow().here.theta.clone();
        let before = state.borrow().iterations;
        let mut failure = None;
        // the inner solver and its observer both need the state, never at the same time: hence the RefCell
        let run = self.inner.go_on(
            &mut Sum(state),
            &start,
            &mut |p| {
                let mut state = state.borrow_mut();
                state.iterations = before + p.iteration;
                // an observer cannot return an error: it stops the solver, and the error is raised below
                if let Err(e) = state.arrive(p.theta) {
                    failure = Some(e);
                    return ControlFlow::Break(());
                }
                watch(&state.progress(outer))
            },
            known,
        )?;
        match failure {
            Some(e) => Err(e),
            None => state.borrow_mut().arrive(&run.theta).map(|()| run.stop),
        }
    }

    fn settled(&self, state: &State) -> bool {
        let (mut moved, mut size) = (0.0f64, 1.0f64);
        for (c, t) in state.centre.theta.iter().zip(&state.here.theta) {
            moved = moved.max((t - c).abs());
            size = size.max(t.abs());
        }
        let (before, after) = (state.centre.value, state.here.value);
        moved <= self.move_tolerance * size
            && (before - after).abs() <= self.decrease_tolerance * before.abs().max(after.abs()).max(1.0)
    }
}

/// F, what is known of it, and the pull.
struct State<'a> {
    f: &'a mut dyn Objective,
    evaluations: usize,
    iterations: usize,
    kappa: f64,
    /// Where the pull goes to.
    centre: Point,
    /// The last iterate accepted.
    here: Point,
    /// The lowest of F over the iterates accepted.
    best: Point,
    /// The last point evaluated.
    last: Point,
    /// The point with the lowest sum since an iterate was accepted: the other one a line search may settle on.
    lowest: Point,
    lowest_sum: f64,
}

impl<'a> State<'a> {
    fn new(f: &'a mut dyn Objective, start: &[f64]) -> Self {
        let mut here = Point::new(start.len());
        here.theta.copy_from_slice(start);
        let [centre, best, last, lowest] = std::array::from_fn(|_| Point::new(start.len()));
        let lowest_sum = f64::INFINITY;
        State { f, evaluations: 0, iterations: 0, kappa: 0.0, centre, here, best, last, lowest, lowest_sum }
    }

    /// The next step is pulled to where the last one ended.
    fn pull_to_here(&mut self, kappa: f64) {
        self.kappa = kappa;
        self.centre.set(&self.here);
        self.lowest_sum = f64::INFINITY;
    }

    /// The next step starts from the best point, without a pull.
    fn release_at_best(&mut self) {
        self.kappa = 0.0;
        if self.evaluations > 0 {
            self.here.set(&self.best);
        }
        self.lowest_sum = f64::INFINITY;
    }

    /// F at `theta`, left in `last`; or, without another pass, in `here` if that is where it is.
    fn look(&mut self, theta: &[f64]) -> Result<&Point> {
        if self.here.theta == theta {
            if self.evaluations == 0 {
                self.evaluations += 1;
                self.here.value = self.f.eval(theta, &mut self.here.grad)?;
                self.best.set(&self.here);
                self.centre.set(&self.here);
            }
            return Ok(&self.here);
        }
        self.last.theta.copy_from_slice(theta);
        self.evaluations += 1;
        self.last.value = self.f.eval(theta, &mut self.last.grad)?;
        Ok(&self.last)
    }

    /// `theta` has been accepted: what is known of F there becomes `here`.
    fn arrive(&mut self, theta: &[f64]) -> Result<()> {
        if self.here.theta != theta {
            if self.last.theta == theta {
                std::mem::swap(&mut self.here, &mut self.last);
            } else if self.lowest.theta == theta {
                std::mem::swap(&mut self.here, &mut self.lowest);
            } else {
                // A solver that returns to older points than its line search saw: one more pass, counted.
                self.look(theta)?;
                std::mem::swap(&mut self.here, &mut self.last);
            }
        }
        self.lowest_sum = f64::INFINITY;
        if self.here.value < self.best.value {
            self.best.set(&self.here);
        }
        Ok(())
    }

    fn progress(&self, outer: usize) -> Progress<'_> {
        let (iteration, evaluations) = (self.iterations, self.evaluations);
        let Point { value, theta, .. } = &self.here;
        Progress { outer, iteration, evaluations, value: *value, gradient: self.here.gradient(), theta }
    }

    fn end(self, stop: Stop) -> Optimum {
        let (gradient, Point { theta, value, .. }) = (self.best.gradient(), self.best);
        Optimum { theta, value, gradient, iterations: self.iterations, evaluations: self.evaluations, stop }
    }
}

/// F(theta) + kappa/2 |theta - centre|^2.
struct Sum<'a, 'b>(&'a RefCell<State<'b>>);

impl Objective for Sum<'_, '_> {
    fn dim(&self) -> usize {
        self.0.borrow().f.dim()
    }

    fn eval(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
        let mut state = self.0.borrow_mut();
        // F is evaluated once; the pull is added to copies, so F's own value and gradient stay as they were
        let point = state.look(theta)?;
        let mut sum = point.value;
        grad.copy_from_slice(&point.grad);
        if state.kappa > 0.0 {
            let mut square = 0.0;
            for (i, c) in state.centre.theta.iter().enumerate() {
                square += (theta[i] - c) * (theta[i] - c);
                grad[i] += state.kappa * (theta[i] - c);
            }
            sum += 0.5 * state.kappa * square;
        }
        // a line search that fails returns its lowest trial, which is not always its last: remember it, or it costs a pass
        if sum < state.lowest_sum && state.last.theta == theta && state.last.is_finite() {
            state.lowest_sum = sum;
            let State { lowest, last, .. } = &mut *state;
            lowest.set(last);
        }
        Ok(sum)
    }
}
