//! The starting points of a fit: each to its end, or all of them a proximal step and the best of them to their ends.
//!
//! A step with the pull costs a tenth of a fit, and what it reaches says much of what the rest would. A run that is taken up again is the
//! run that was not interrupted: the inner solver forgets between proximal steps anyway.

use super::{Plan, Progress, Watch};
use crate::error::{Kind, Result};
use crate::folds::{Crm, Prepared, Risk, RiskSpec, Threads};
use crate::optim::{Optimiser, Optimum, Proximal, Stop};
use crate::recipe::Recipe;
use crate::source::Source;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the starting points have in common.
pub(super) struct Starts<'a> {
    pub(super) train: &'a dyn Source,
    pub(super) recipe: &'a Recipe,
    pub(super) plan: &'a Plan,
    pub(super) spec: &'a RiskSpec,
    pub(super) rows: &'a dyn Prepared,
    pub(super) watch: &'a Watch<'a>,
}

/// A run, from its beginning or from where its first proximal step ended.
struct Run {
    start: usize,
    so_far: Option<Optimum>,
}

impl Starts<'_> {
    /// Where each of them ended, in order.
    pub(super) fn ends(&self) -> Vec<Result<Optimum>> {
        let all: Vec<Run> = (0..self.recipe.starts).map(|start| Run { start, so_far: None }).collect();
        let steps = self.recipe.proximal_steps();
        let finalists = self.recipe.finalists.filter(|k| *k < self.recipe.starts && steps > 0);
        let Some(finalists) = finalists else { return self.run(&all, steps, &|_| false) };
        let ended = AtomicBool::new(false);
        let noted = |p: &Progress| {
            let told = (self.watch)(p);
            ended.fetch_or(told.is_break(), Ordering::Relaxed);
            told
        };
        let mut ends = Starts { watch: &noted, ..*self }.run(&all, steps, &|p| p.outer == 1);
        let mut ahead: Vec<(f64, usize)> =
            ends.iter().enumerate().filter_map(|(i, e)| e.as_ref().ok().map(|o| (o.value, i))).collect();
        ahead.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        ahead.truncate(finalists);
        for end in ends.iter_mut().flatten() {
            end.stop = Stop::Behind;
        }
        let go_on = |&(_, i): &(f64, usize)| Run { start: i, so_far: ends[i].as_ref().ok().cloned() };
        let chosen: Vec<Run> = ahead.iter().map(go_on).collect();
        if ended.into_inner() {
            ends.iter_mut().flatten().for_each(|end| end.stop = Stop::Interrupted);
            return ends;
        }
        for ((_, i), end) in ahead.iter().zip(self.run(&chosen, steps - 1, &|_| false)) {
            ends[*i] = end;
        }
        ends
    }

    /// From where they ended on some of the rows: the best of them on all rows, without the pull; the others stay behind.
    pub(super) fn go_on(&self, mut ends: Vec<Result<Optimum>>) -> Vec<Result<Optimum>> {
        let value = |e: &Result<Optimum>| e.as_ref().map_or(f64::INFINITY, |o| o.value);
        let best = (0..ends.len()).min_by(|&a, &b| value(&ends[a]).total_cmp(&value(&ends[b])));
        let Some(best) = best.filter(|&i| ends[i].is_ok()) else { return ends };
        if ends.iter().flatten().any(|o| o.stop == Stop::Interrupted) {
            return ends;
        }
        ends.iter_mut().flatten().for_each(|o| o.stop = Stop::Behind);
        let run = Run { start: best, so_far: ends[best].as_ref().ok().cloned() };
        ends[best] = self.one(&run, 0, &|_| false, Threads::All);
        ends
    }

    /// Runs side by side where there are as many as threads, else one after the other on all threads; `until` ends a run.
    fn run(&self, runs: &[Run], steps: usize, until: &(dyn Fn(&Progress) -> bool + Sync)) -> Vec<Result<Optimum>> {
        let engine = self.train.engine();
        if runs.len() >= engine.threads() {
            engine.map(runs, |r| self.one(r, steps, until, Threads::One))
        } else {
            runs.iter().map(|r| self.one(r, steps, until, Threads::All)).collect()
        }
    }

    fn one(
        &self,
        run: &Run,
        steps: usize,
        until: &(dyn Fn(&Progress) -> bool + Sync),
        threads: Threads,
    ) -> Result<Optimum> {
        let Starts { recipe, plan, spec, .. } = self;
        let theta = match &run.so_far {
            Some(so_far) => so_far.theta.clone(),
            None => plan.start(recipe, run.start as u64)?,
        };
        let (outer, iterations, evaluations) =
            run.so_far.as_ref().map_or((0, 0, 0), |o| (1, o.iterations, o.evaluations));
        let mut crm = Crm::on(self.rows, threads, Risk::from_spec(spec)?, &plan.policy, recipe.ridge)?;
        let method = Proximal { outer: steps, ..recipe.method() };
        let mut held = None;
        let found = method.minimise(&mut crm, &theta, &mut |p| {
            let progress = Progress {
                start: run.start,
                outer: outer + p.outer,
                iteration: iterations + p.iteration,
                evaluations: evaluations + p.evaluations,
                objective: self.train.schema().direction.to_user(p.value + plan.offset()),
            };
            let told = (self.watch)(&progress);
            if until(&progress) {
                // the next proximal step begins here, also where an iterate on the way was lower
                held = Some((p.theta.to_vec(), p.value));
                return ControlFlow::Break(());
            }
            told
        });
        // the optimiser only knows that a number was not finite; the objective knows which
        let found = found.map_err(|e| if e.kind() == Kind::Numeric { crm.blame() } else { e })?;
        let (theta, value) = held.unwrap_or_else(|| (found.theta.clone(), found.value));
        let (iterations, evaluations) = (iterations + found.iterations, evaluations + found.evaluations);
        Ok(Optimum { theta, value, iterations, evaluations, ..found })
    }
}
