//! The rounds of a selection: short fits of all candidates, longer ones of those that go on, each judged on rows it was not trained on.

use super::{Cut, Divided, Entry, Fit, Memory, Selector, Step};
use crate::budget::Budget;
use crate::certify::Gate;
use crate::data::{Hashes, Outcome, Recognised, SplitRule, Summaries, View};
use crate::engine::Engine;
use crate::error::Result;
use crate::estimate::Estimator;
use crate::evaluate::evaluate;
use crate::folds::{Totals, ask_weights};
use crate::learn::{Learner, Progress};
use crate::policy::TargetPolicy;
use crate::recipe::Recipe;
use crate::rng::hash;
use crate::source::{Source, Thin};
use std::cmp::{Ordering, Reverse};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering as Atomic};

/// Candidates from which a search within a budget begins with the shortest fits.
const MANY: usize = 16;

/// Rows to learn from, from which on fits are made one after the other, each on all threads: passes are then so long that threads share them
/// without loss, and what is made of the rows is held once rather than once a thread.
const LARGE: u64 = 4_000_000;

/// Shares of a budget before which fits of the rounds 0, 1 and 2 begin, and by which they are ended.
const BEGIN_BEFORE: [f64; 3] = [0.3, 0.6, 0.9];

/// What the rounds have made of the candidates: the last fits of each, best first.
pub(super) struct Climbed {
    pub(super) all: Vec<(Entry, Vec<Fit>)>,
    pub(super) left_out: Vec<String>,
    /// What rounds that learned from some of the rows have pruned.
    pub(super) pruned: Vec<String>,
}

/// A round: how long its fits are, and what share of its candidates goes on to the next.
pub(super) struct Rung {
    pub(super) round: usize,
    pub(super) starts: usize,
    pub(super) steps: usize,
    pub(super) keep: f64,
    /// Rows that its fits learn from, in whole blocks; none: all.
    pub(super) rows: Option<u64>,
}

impl Rung {
    /// The recipe of a candidate in this round.
    pub(super) fn shape(&self, recipe: &Recipe) -> Recipe {
        let steps = self.steps.min(recipe.proximal_steps());
        Recipe { starts: self.starts.min(recipe.starts), ..recipe.clone() }.with_proximal_steps(steps)
    }
}

impl Selector<'_> {
    /// The rounds, each with longer fits.
    pub(super) fn rungs(&self, candidates: usize) -> Vec<Rung> {
        let grid = self.grid;
        let (steps, rows) = (grid.first_proximal_steps, grid.first_rows);
        let shortest = Rung { round: 0, starts: 1, steps: steps.min(1), keep: 1.0 / 3.0, rows };
        let short = Rung { round: 1, starts: grid.first_starts, steps, keep: grid.keep, rows };
        let full = Rung { round: 2, starts: usize::MAX, steps: usize::MAX, keep: 1.0, rows: None };
        match (grid.keep < 1.0 && candidates > 2, self.budget.limits() && candidates > MANY) {
            (false, _) => vec![full],
            (true, false) => vec![short, full],
            (true, true) => vec![shortest, short, full],
        }
    }

    /// All rounds.
    pub(super) fn climb(&self, work: &Work) -> Result<Climbed> {
        let n = work.candidates.len();
        let mut going: Vec<usize> = (0..n).collect();
        if self.budget.limits() {
            // what is left out at the end is then a fair sample of the grid
            going.sort_by_key(|&c| hash(self.seed ^ 0x6f72_6465, c as u64));
        }
        let (mut all, mut left_out): (Vec<(Entry, Vec<Fit>)>, Vec<String>) = (Vec::new(), Vec::new());
        let mut pruned = Vec::new();
        for rung in self.rungs(n) {
            // some policy there must be, however short the time
            let needed = going.first().copied().filter(|_| all.is_empty());
            let thin = work.thin(&rung)?;
            let mut done: Vec<(Entry, Vec<Fit>)> = work
                .round(&going, &rung, needed, &thin)?
                .into_iter()
                .map(|(c, fits)| (entry(c, rung.round, &work.candidates[c], &fits, work.direction), fits))
                .collect();
            done.sort_by(|a, b| work.order(&a.0, &b.0));
            let ended = done.iter().flat_map(|(_, f)| f).filter(|f| f.unfinished).count();
            if done.len() < going.len() {
                left_out.push(format!(
                    "round {}: {} of {} candidates",
                    rung.round,
                    going.len() - done.len(),
                    going.len()
                ));
            }
            if ended > 0 {
                left_out.push(format!("round {}: {ended} fits were ended early and judged as they stood", rung.round));
            }
            let keep = ((done.len() as f64 * rung.keep).ceil() as usize).max(1);
            if let Some(thin) = thin.first() {
                pruned.push(format!(
                    "round {} learned from {} of {} rows; {} of {} candidates went on to more",
                    rung.round,
                    thin.rows,
                    thin.of,
                    keep.min(done.len()),
                    done.len()
                ));
            }
            going = done.iter().take(keep).map(|(e, _)| e.candidate).collect();
            all.retain(|(e, _)| done.iter().all(|(d, _)| d.candidate != e.candidate));
            all.extend(done);
        }
        all.sort_by(|a, b| work.order(&a.0, &b.0));
        let untried: Vec<usize> = (0..n).filter(|c| all.iter().all(|(e, _)| e.candidate != *c)).collect();
        let untried = untried.into_iter().map(|c| {
            let failure = Some("not tried: time was up".into());
            (Entry { failure, ..entry(c, 0, &work.candidates[c], &[], work.direction) }, Vec::new())
        });
        all.extend(untried);
        Ok(Climbed { all, left_out, pruned })
    }
}

/// Pairs of sources: to train on, to judge on.
pub(super) fn cuts<'a>(parts: &'a dyn Divided, folds: usize, seed: u64) -> Result<Vec<Cut<'a>>> {
    if folds < 2 {
        let all = View::default();
        return Ok(vec![(parts.train().view(&all)?, parts.valid().view(&all)?)]);
    }
    // the seed differs from that of the split: rows of one part are not spread evenly by the same hash
    parts.folds(SplitRule::fold_seed(seed), folds)
}

/// What every round has in common.
pub(super) struct Work<'a> {
    pub(super) cuts: Vec<Cut<'a>>,
    pub(super) direction: Outcome,
    pub(super) engine: &'a Engine,
    pub(super) gate: Gate,
    pub(super) memory: &'a Memory<'a>,
    pub(super) budget: Budget<'a>,
    pub(super) candidates: &'a [Recipe],
}

impl Work<'_> {
    /// Better first; what failed the gate last; ties in the order of the grid. What went further comes first, but within a budget not before
    /// what passed.
    fn order(&self, a: &Entry, b: &Entry) -> Ordering {
        let cost = |e: &Entry| e.estimate.map_or(f64::INFINITY, |v| self.direction.to_user(v));
        let refused = |e: &Entry| e.estimate.is_none();
        let limits = self.budget.limits();
        let head = |e: &Entry| (limits && refused(e), Reverse(e.round), refused(e));
        let by_rows = || if limits { b.effective_share.total_cmp(&a.effective_share) } else { Ordering::Equal };
        let by_value = || cost(a).total_cmp(&cost(b)).then_with(by_rows);
        head(a).cmp(&head(b)).then_with(by_value).then(a.candidate.cmp(&b.candidate))
    }

    pub(super) fn goes_on(&self, share: f64) -> ControlFlow<()> {
        if self.budget.before(share) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// Some blocks of the rows to train on, for a round that does not learn from all; nothing where there are no more rows than it takes.
    fn thin(&self, rung: &Rung) -> Result<Vec<Thin<'_>>> {
        let Some(wanted) = rung.rows else { return Ok(Vec::new()) };
        let mut thin = Vec::new();
        for (train, _) in &self.cuts {
            let Some(some) = train.thin(wanted)? else { return Ok(Vec::new()) };
            thin.push(some);
        }
        Ok(thin)
    }

    /// The fits of the candidates that there was time for, and of the one that is needed in any case; they learn from `thin` rows where there
    /// are any, and are judged on all.
    fn round(
        &self,
        which: &[usize],
        rung: &Rung,
        needed: Option<usize>,
        thin: &[Thin],
    ) -> Result<Vec<(usize, Vec<Fit>)>> {
        let cuts: Vec<(&dyn Source, &dyn Source)> = (0..self.cuts.len())
            .map(|f| {
                let (train, judge) = &self.cuts[f];
                (thin.get(f).map_or(&**train, |t| &*t.source), &**judge)
            })
            .collect();
        let jobs: Vec<(usize, usize)> = which.iter().flat_map(|&c| (0..cuts.len()).map(move |f| (c, f))).collect();
        let done = AtomicUsize::new(0);
        let by = BEGIN_BEFORE[rung.round];
        // the same recipe on other rows is other work: a journal of another log must not be believed
        let rows: Vec<u64> = cuts
            .iter()
            .map(|(train, judge)| Ok(print_of(*train)? ^ print_of(*judge)?.rotate_left(1)))
            .collect::<Result<_>>()?;
        let counts = cuts.iter().map(|(train, _)| Ok(train.get(Summaries)?.rows));
        let large = counts.collect::<Result<Vec<u64>>>()?.into_iter().any(|rows| rows >= LARGE);
        let fit_of = |&(c, f): &(usize, usize)| {
            let recipe = rung.shape(&self.candidates[c]);
            let key = format!(
                "candidate {c} round {} fold {f} of {} rows {:016x}: {}",
                rung.round,
                cuts.len(),
                rows[f],
                recipe.to_toml().replace('\n', " ")
            );
            let known = self.memory.known.iter().find(|k| k.key == key).cloned();
            let fresh = known.is_none();
            if fresh && needed != Some(c) && !self.budget.before(by) {
                return Ok(None);
            }
            let fit = known.unwrap_or_else(|| self.one(&key, cuts[f], &recipe, (by, large)));
            let done = done.fetch_add(1, Atomic::Relaxed) + 1;
            if fresh && !fit.unfinished {
                (self.memory.record)(&fit, Step { done, of: jobs.len(), round: rung.round })?;
            }
            Ok(Some(fit))
        };
        let fits: Result<Vec<Option<Fit>>> = match large {
            true => jobs.iter().map(fit_of).collect(),
            false => self.engine.map(&jobs, fit_of).into_iter().collect(),
        };
        let fits = fits?;
        let of = |(c, fits): (&usize, &[Option<Fit>])| Some((*c, fits.iter().cloned().collect::<Option<Vec<Fit>>>()?));
        Ok(which.iter().zip(fits.chunks(cuts.len())).filter_map(of).collect())
    }

    /// One fit, judged: begun before a share of the budget, and on all threads where no others run side by side.
    fn one(
        &self,
        key: &str,
        (train, judge): (&dyn Source, &dyn Source),
        recipe: &Recipe,
        (by, all_threads): (f64, bool),
    ) -> Fit {
        let alone = (!all_threads).then(|| (train.alone(), judge.alone()));
        let (train, judge) = alone.as_ref().map_or((train, judge), |(train, judge)| (&**train, &**judge));
        let mut fit = Fit {
            key: key.into(),
            cost: None,
            std_error: f64::MAX,
            effective: 0.0,
            rows: 0.0,
            mean_weight: 0.0,
            passed: false,
            evaluations: 0,
            policy: None,
            failure: None,
            unfinished: false,
        };
        let ended = AtomicBool::new(false);
        let watch = |_: &Progress| {
            let goes_on = self.goes_on(by);
            ended.fetch_or(goes_on.is_break(), Atomic::Relaxed);
            goes_on
        };
        let learned = Learner::new(recipe).watch(&watch).learn(train);
        let judged = learned
            .and_then(|l| Ok((evaluate(judge, &l.policy, &Estimator::SNIPS)?, draws_a_row(judge, &l.policy)?, l)));
        match judged {
            Ok((e, draws, learned)) => {
                fit.cost = Some(judge.schema().direction.to_user(e.estimate));
                fit.std_error = e.std_error;
                fit.effective = draws * e.effective;
                fit.rows = draws * e.rows;
                fit.mean_weight = e.mean_weight;
                fit.passed = self.gate.passes(fit.effective, fit.rows, e.mean_weight);
                fit.evaluations = learned.starts.iter().map(|s| s.evaluations).sum();
                fit.policy = Some(learned.policy);
            }
            Err(e) => fit.failure = Some(e.to_string()),
        }
        fit.unfinished = ended.into_inner();
        fit
    }
}

/// Independent draws a row, as a certificate counts them: clusters by rows; 1 without clusters.
fn draws_a_row(rows: &dyn Source, policy: &dyn TargetPolicy) -> Result<f64> {
    if rows.schema().cluster.is_none() {
        return Ok(1.0);
    }
    let totals = ask_weights(&*rows.weigh(policy)?, Totals)?;
    Ok(totals.cluster_count().map_or(1.0, |c| (c / totals.rows as f64).min(1.0)))
}

/// What tells the rows of one log from those of another.
fn print_of(rows: &dyn Source) -> Result<u64> {
    let hashed = rows.get(Hashes::of(0, Recognised::Row))?;
    Ok(hashed.sum ^ hashed.rows.rotate_left(32))
}

/// A candidate's line: the mean over the folds that passed the gate.
fn entry(candidate: usize, round: usize, recipe: &Recipe, fits: &[Fit], direction: Outcome) -> Entry {
    let passed: Vec<&Fit> = fits.iter().filter(|f| f.passed).collect();
    let shown: Vec<&Fit> = if passed.is_empty() { fits.iter().collect() } else { passed.clone() };
    let n = shown.len().max(1) as f64;
    let mean = |f: &dyn Fn(&Fit) -> f64| shown.iter().map(|x| f(x)).sum::<f64>() / n;
    Entry {
        candidate,
        round,
        estimate: (!passed.is_empty()).then(|| direction.to_user(mean(&|f| f.cost.unwrap_or(f64::NAN)))),
        std_error: (shown.iter().map(|f| f.std_error * f.std_error).sum::<f64>()).sqrt() / n,
        effective_share: mean(&|f| if f.rows > 0.0 { f.effective / f.rows } else { 0.0 }),
        mean_weight: mean(&|f| f.mean_weight),
        folds: (passed.len(), fits.len()),
        recipe: recipe.clone(),
        failure: fits.iter().find_map(|f| f.failure.clone()),
    }
}
