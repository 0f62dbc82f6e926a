//! The starting points of a fit: each to its end, or all of them a proximal step and the best of them to their ends.
//!
//! A step with the pull costs a tenth of a fit, and what it reaches says much of what the rest would. A run that is taken up again is the
//! run that was not interrupted: the inner solver forgets between proximal steps anyway. So steps may also see different rows: of a large
//! log the first see few, and from some step on each sees twice as many as the one before, until the last sees all. A long descent on few rows
//! would follow what is chance in them.

use super::{Plan, Progress, Watch};
use crate::data::Summaries;
use crate::error::{Kind, Result};
use crate::folds::{Crm, Prepared, Risk, RiskSpec, Threads};
use crate::optim::{Curvature, Optimiser, Optimum, Proximal, Stop};
use crate::recipe::Recipe;
use crate::source::Source;
use std::ops::ControlFlow;

/// Where a run has come to, and what it has learned of the curvature on the way.
#[derive(Clone)]
struct Held {
    at: Optimum,
    known: Curvature,
}

/// Where every starting point came to, in order.
type Ends = Vec<Result<Held>>;

/// Where every starting point ended, in order.
type Optima = Vec<Result<Optimum>>;

/// Every starting point of a fit in order, and how many rows of how many they saw first, where these were not all.
pub(super) fn descend(
    train: &dyn Source,
    recipe: &Recipe,
    plan: &Plan,
    spec: &RiskSpec,
    watch: &Watch,
) -> Result<(Optima, Option<[u64; 2]>)> {
    let of = train.get(Summaries)?.rows;
    let (looks, last) = looks(of, recipe.first_rows.map_or(of, |rows| rows as u64), recipe.proximal_steps());
    let (mut ends, mut best, mut done, mut first) = (Vec::new(), None, 0, None);
    for (share, stretch) in looks {
        let train = &*train.one_of(share)?;
        let rows = train.prepare(spec)?;
        let starts = Starts { train, recipe, plan, spec, rows: &*rows, watch };
        match best {
            Some(best) => starts.go_on(&mut ends, best, done, stretch),
            None => {
                ends = starts.ends(stretch);
                (first, best) = (Some([rows.rows(), of]), ahead(&ends));
            }
        }
        done += stretch.steps;
    }
    let rows = train.prepare(spec)?;
    let starts = Starts { train, recipe, plan, spec, rows: &*rows, watch };
    match (first, best) {
        (None, _) => ends = starts.ends(last),
        (_, Some(best)) => starts.go_on(&mut ends, best, done, last),
        _ => {} // none of them came to a number
    }
    Ok((ends.into_iter().map(|end| end.map(|held| held.at)).collect(), first))
}

/// What the starting points have in common.
struct Starts<'a> {
    train: &'a dyn Source,
    recipe: &'a Recipe,
    plan: &'a Plan,
    spec: &'a RiskSpec,
    rows: &'a dyn Prepared,
    watch: &'a Watch<'a>,
}

/// How far runs go: so many proximal steps, and then to the end or no further.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stretch {
    steps: usize,
    end: End,
}

/// How a stretch ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// With a step without the pull.
    Released,
    /// Where the last proximal step ended: another one begins there.
    Held,
}

/// One look at a log: one of so many blocks, and what runs do on them.
type Look = (u64, Stretch);

/// The looks at a log of so many rows before the one at all of them, and what is left for that one. The first sees at least `least` rows.
fn looks(rows: u64, least: u64, steps: usize) -> (Vec<Look>, Stretch) {
    let all = |steps| Stretch { steps, end: End::Released };
    let doublings = (rows / least.max(1)).max(1).ilog2();
    match (doublings, steps) {
        (0, _) => (Vec::new(), all(steps)),
        (_, 0) => (vec![(1 << doublings, all(0))], all(0)),
        _ => {
            let looks = (doublings as usize).min(steps);
            let held = |steps| Stretch { steps, end: End::Held };
            let look = |k: usize| (1 << k, held(if k == looks { steps + 1 - looks } else { 1 }));
            ((1..=looks).rev().map(look).collect(), all(0))
        }
    }
}

/// A run, from its beginning or from where it was held.
struct Run {
    start: usize,
    /// Proximal steps that it has made.
    done: usize,
    so_far: Option<Held>,
}

impl Starts<'_> {
    /// Where each of them ended, in order.
    fn ends(&self, stretch: Stretch) -> Ends {
        let all: Vec<Run> = (0..self.recipe.starts).map(|start| Run { start, done: 0, so_far: None }).collect();
        let finalists = self.recipe.finalists.filter(|k| *k < self.recipe.starts && stretch.steps > 0);
        let Some(finalists) = finalists else { return self.run(&all, stretch) };
        let mut ends = self.run(&all, Stretch { steps: 1, end: End::Held });
        if stopped(&ends) {
            ends.iter_mut().flatten().for_each(|end| end.at.stop = Stop::Interrupted);
            return ends;
        }
        let mut ahead: Vec<(f64, usize)> =
            ends.iter().enumerate().filter_map(|(i, e)| e.as_ref().ok().map(|o| (o.at.value, i))).collect();
        ahead.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        ahead.truncate(finalists);
        let go_on = |&(_, i): &(f64, usize)| Run { start: i, done: 1, so_far: ends[i].as_ref().ok().cloned() };
        let chosen: Vec<Run> = ahead.iter().map(go_on).collect();
        for ((_, i), end) in ahead.iter().zip(self.run(&chosen, Stretch { steps: stretch.steps - 1, ..stretch })) {
            ends[*i] = end;
        }
        ends
    }

    /// One of them goes on from where it was held after so many proximal steps on fewer of the rows; the others stay behind.
    fn go_on(&self, ends: &mut [Result<Held>], best: usize, done: usize, stretch: Stretch) {
        if stopped(ends) {
            return;
        }
        ends.iter_mut().flatten().for_each(|o| o.at.stop = Stop::Behind);
        let run = Run { start: best, done, so_far: ends[best].as_ref().ok().cloned() };
        ends[best] = self.one(&run, stretch, Threads::All);
    }

    /// Runs side by side where there are as many as threads, else one after the other on all threads.
    fn run(&self, runs: &[Run], stretch: Stretch) -> Ends {
        let engine = self.train.engine();
        if runs.len() >= engine.threads() {
            engine.map(runs, |r| self.one(r, stretch, Threads::One))
        } else {
            runs.iter().map(|r| self.one(r, stretch, Threads::All)).collect()
        }
    }

    fn one(&self, run: &Run, stretch: Stretch, threads: Threads) -> Result<Held> {
        let Starts { recipe, plan, spec, .. } = self;
        let theta = match &run.so_far {
            Some(so_far) => so_far.at.theta.clone(),
            None => plan.start(recipe, run.start as u64)?,
        };
        let (iterations, evaluations) = run.so_far.as_ref().map_or((0, 0), |o| (o.at.iterations, o.at.evaluations));
        let mut known = run.so_far.as_ref().map(|o| o.known.clone()).unwrap_or_default();
        let mut crm = Crm::on(self.rows, threads, Risk::from_spec(spec)?, &plan.policy, recipe.ridge)?;
        let method = Proximal { outer: stretch.steps, ..recipe.method() };
        let mut held = None;
        let mut look = |p: &crate::optim::Progress| {
            let told = (self.watch)(&Progress {
                start: run.start,
                outer: run.done + p.outer,
                iteration: iterations + p.iteration,
                evaluations: evaluations + p.evaluations,
                objective: self.train.schema().direction.to_user(p.value + plan.offset()),
            });
            if told.is_continue() && stretch.end == End::Held && p.outer == stretch.steps {
                // the next proximal step begins here, also where an iterate on the way was lower
                held = Some((p.theta.to_vec(), p.value));
                return ControlFlow::Break(());
            }
            told
        };
        let found = method.go_on(&mut crm, &theta, &mut look, &mut known);
        // the optimiser only knows that a number was not finite; the objective knows which
        let found = found.map_err(|e| if e.kind() == Kind::Numeric { crm.blame() } else { e })?;
        let stop = if held.is_some() { Stop::Behind } else { found.stop };
        let (theta, value) = held.unwrap_or_else(|| (found.theta.clone(), found.value));
        let (iterations, evaluations) = (iterations + found.iterations, evaluations + found.evaluations);
        Ok(Held { at: Optimum { theta, value, iterations, evaluations, stop, ..found }, known })
    }
}

/// Which of them is ahead; nothing where none came to a number.
fn ahead(ends: &[Result<Held>]) -> Option<usize> {
    let value = |i: &usize| ends[*i].as_ref().map_or(f64::INFINITY, |o| o.at.value);
    (0..ends.len()).min_by(|a, b| value(a).total_cmp(&value(b))).filter(|&i| ends[i].is_ok())
}

/// Whether the observer asked to stop.
fn stopped(ends: &[Result<Held>]) -> bool {
    ends.iter().flatten().any(|o| o.at.stop == Stop::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_double_from_step_to_step_and_the_last_is_at_all_rows() {
        let steps = |rows, steps| {
            let (looks, last) = looks(rows, 100, steps);
            let looks: Vec<(u64, usize, bool)> =
                looks.iter().map(|(share, s)| (*share, s.steps, s.end == End::Held)).collect();
            assert_eq!(last.end, End::Released);
            (looks, last.steps)
        };
        assert_eq!(steps(199, 10), (vec![], 10));
        assert_eq!(steps(200, 10), (vec![(2, 10, true)], 0));
        assert_eq!(steps(1000, 10), (vec![(8, 8, true), (4, 1, true), (2, 1, true)], 0));
        // fewer steps than doublings: the first look is at more rows
        assert_eq!(steps(100_000, 2), (vec![(4, 1, true), (2, 1, true)], 0));
        assert_eq!(steps(1000, 0), (vec![(8, 0, false)], 0));
    }
}
