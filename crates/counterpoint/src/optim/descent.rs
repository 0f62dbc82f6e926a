//! The loop every solver shares: direction, step, test, repeat.
//!
//! A solver differs from another only in its [`Direction`]; all that makes a run trustworthy is here, once. Accepted
//! values never rise, so the current iterate is the best one, and it is what is returned whatever happens next.
//!
//! ```text
//! |grad F|_max <= gradient_tolerance                                     Stop::Gradient
//! (F_k - F_{k+1}) / max(|F_k|, |F_{k+1}|, 1) <= decrease_tolerance       Stop::Decrease
//! ```
//!
//! The decision is what a failure means. A search that finds nothing, or next to nothing without meeting the Wolfe
//! conditions, may be the memory's fault: the memory is dropped and steepest descent gets one try. Only if that
//! fails too does the run end with [`Stop::LineSearch`]. And a first step after a start, whose length is a guess, is
//! not evidence that the decrease has dried up.

use std::ops::ControlFlow;

use super::line_search::{Found, LineSearch};
use super::point::{Counted, Point};
use super::{Objective, Optimum, Progress, Stop};
use crate::error::Result;

/// Which way next: all that distinguishes the solvers.
pub(super) trait Direction {
    /// Fills `d`, which still holds the direction before it, and returns the step to try first.
    fn choose(&mut self, f: &mut Counted, now: &Point, d: &mut [f64]) -> Result<f64>;

    /// Learns from an accepted step `new.theta = old.theta + step * d`.
    fn learn(&mut self, old: &Point, new: &Point, step: f64, d: &[f64]);

    /// Forgets, so that the next direction is steepest descent. False if the last one already was.
    fn forget(&mut self) -> bool;
}

/// The stopping rules and the line search of a run.
pub(super) struct Descent {
    pub(super) gradient_tolerance: f64,
    pub(super) decrease_tolerance: f64,
    pub(super) max_iterations: usize,
    pub(super) search: LineSearch,
}

impl Descent {
    /// Runs from `start` until one of the rules holds.
    pub(super) fn run(
        &self,
        way: &mut dyn Direction,
        f: &mut dyn Objective,
        start: &[f64],
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Optimum> {
        let mut f = Counted::new(f);
        let mut now = f.start(start)?;
        let (mut trial, mut spare) = (Point::new(start.len()), Point::new(start.len()));
        let mut d = vec![0.0; start.len()];
        let mut iterations = 0;
        let mut fresh = true;
        let stop = loop {
            if now.gradient() <= self.gradient_tolerance {
                break Stop::Gradient;
            }
            if iterations >= self.max_iterations {
                break Stop::Iterations;
            }
            let first = way.choose(&mut f, &now, &mut d)?;
            let (found, step) = self.search.run(&mut f, (&now, &d), first, (&mut trial, &mut spare))?;
            let mut gain = 0.0;
            if found != Found::Nothing {
                gain = (now.value - trial.value) / now.value.abs().max(trial.value.abs()).max(1.0);
                way.learn(&now, &trial, step, &d);
                std::mem::swap(&mut now, &mut trial);
                iterations += 1;
                if watch(&progress(&now, iterations, f.evaluations)).is_break() {
                    break Stop::Interrupted;
                }
            }
            let dry = gain <= self.decrease_tolerance;
            if dry && found == Found::Wolfe && !fresh && now.gradient() > self.gradient_tolerance {
                break Stop::Decrease;
            }
            fresh = dry && found != Found::Wolfe;
            if fresh && !way.forget() && now.gradient() > self.gradient_tolerance {
                break Stop::LineSearch;
            }
        };
        let gradient = now.gradient();
        Ok(Optimum { value: now.value, gradient, theta: now.theta, iterations, evaluations: f.evaluations, stop })
    }
}

fn progress(now: &Point, iteration: usize, evaluations: usize) -> Progress<'_> {
    Progress { outer: 0, iteration, evaluations, value: now.value, gradient: now.gradient(), theta: &now.theta }
}

/// d = -g, and the first step min(1, 1/|g|_1): a move no longer than 1 in the 1-norm, and no longer than g itself.
///
/// scipy takes 1/|g|_2, which leaps by 1 from however flat a start; a start near an optimum would leave its basin.
pub(super) fn steepest(now: &Point, d: &mut [f64]) -> f64 {
    let mut one_norm = 0.0;
    for i in 0..d.len() {
        d[i] = -now.grad[i];
        one_norm += d[i].abs();
    }
    (1.0 / one_norm).min(1.0)
}
