//! Choosing a recipe by what the log says: the offline protocol's second step.
//!
//! Every candidate is trained on the train part and judged on the valid part by SNIPS, behind the gate: an estimate that
//! rests on too few effective rows, or whose weights do not average to one, is not an estimate. A first round of short
//! fits sends the better part of the candidates to a second round of full ones. With folds, train and valid are cut anew
//! and the folds that pass the gate are averaged (Section 6.2); the recipe that wins is then learned from the train part alone,
//! because weights on rows it was learned from could not say whether the log supports it.
//!
//! Every fit is a pure function of log, recipe and round, so finished fits can be written to a journal and skipped when
//! the work is taken up again: the result is the same, byte for byte.
//!
//! With a [`Budget`] the same work is done as far as time allows, in an order in which what is missing at the end is missed least:
//! candidates in seeded order, many of them first with the shortest fits, then the better ones with longer ones. A fit that time
//! ends is judged as it stands and not written to a journal; what was left out is said.

use crate::budget::Budget;
use crate::certify::Gate;
use crate::data::{Hashes, Log, Outcome, Parts, Recognised, SplitRule, View};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::estimate::Estimator;
use crate::evaluate::evaluate;
pub use crate::grid::Grid;
use crate::learn::{Effort, Guarding, Learner, Line, Progress};
use crate::policy::SavedPolicy;
use crate::recipe::{GreedyChoice, MeanChoice, Recipe};
use crate::rng::hash;
use crate::source::{DividedShards, Local, Source};
use serde::{Deserialize, Serialize};
use std::cmp::{Ordering, Reverse};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering as Atomic};

/// One finished fit: what stands in the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// Which candidate, round and fold; the same work has the same key.
    pub key: String,
    /// Estimated cost on the rows it was not trained on, if the fit succeeded.
    pub cost: Option<f64>,
    /// Its standard error.
    pub std_error: f64,
    /// Effective rows behind it.
    pub effective: f64,
    /// Rows behind it.
    pub rows: f64,
    /// Mean weight.
    pub mean_weight: f64,
    /// Whether it passed the gate.
    pub passed: bool,
    /// Passes over the data.
    pub evaluations: usize,
    /// The policy.
    pub policy: Option<SavedPolicy>,
    /// Why there is none.
    pub failure: Option<String>,
    /// Whether time ended it: such a fit does not stand in a journal.
    #[serde(skip)]
    pub unfinished: bool,
}

/// A line of the leaderboard.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Number of the candidate in the grid.
    pub candidate: usize,
    /// Round reached: 1 or 2; within a budget also 0, that of the shortest fits, or of what was not tried.
    pub round: usize,
    /// Estimated value per row in the direction of the log's outcome; absent if no fold passed the gate.
    pub estimate: Option<f64>,
    /// Its standard error.
    pub std_error: f64,
    /// Effective share.
    pub effective_share: f64,
    /// Mean weight.
    pub mean_weight: f64,
    /// Folds that passed the gate, of all.
    pub folds: (usize, usize),
    /// The recipe.
    pub recipe: Recipe,
    /// What went wrong, if anything.
    pub failure: Option<String>,
}

/// What was selected.
#[derive(Clone, Debug)]
pub struct Selected {
    /// The policy.
    pub policy: SavedPolicy,
    /// Its recipe.
    pub recipe: Recipe,
    /// All candidates, best first.
    pub leaderboard: Vec<Entry>,
    /// What a search of greedy policies noticed of the log and why it chose, in sentences.
    pub notes: Vec<String>,
    /// What there was no time for: the result then depends on the clock. Empty without a budget, and where it was long enough.
    pub left_out: Vec<String>,
}

impl Selected {
    /// That time was up and what was left out, in a sentence for whoever opens the policy file; nothing where all was done.
    pub fn sentence(&self) -> Option<String> {
        let what = self.left_out.join("; ");
        (!what.is_empty()).then(|| format!("time was up, so this result depends on the clock; left out: {what}"))
    }
}

/// What an observer is told after each finished fit.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Fits finished in this round.
    pub done: usize,
    /// Fits of this round.
    pub of: usize,
    /// The round: 1 or 2, or 0 within a budget.
    pub round: usize,
}

/// Finished work, and where to report more of it.
pub struct Memory<'a> {
    /// Fits that are known already.
    pub known: Vec<Fit>,
    /// Called after each new fit, from any thread.
    pub record: &'a (dyn Fn(&Fit, Step) -> Result<()> + Sync),
}

impl Memory<'_> {
    /// No memory.
    pub fn none() -> Self {
        Memory { known: Vec::new(), record: &|_, _| Ok(()) }
    }
}

/// The train and the valid part of a log, wherever its rows are.
pub trait Divided: Sync {
    /// Learned on.
    fn train(&self) -> &dyn Source;

    /// Tuned on.
    fn valid(&self) -> &dyn Source;

    /// Train and valid together: what a search learns from, since its gate is measured on held-out folds of both.
    fn both<'a>(&'a self) -> Result<Box<dyn Source + 'a>>;

    /// Train and valid together, in folds: for each fold the other folds, and the fold.
    fn folds<'a>(&'a self, seed: u64, count: usize) -> Result<Vec<Cut<'a>>>;
}

/// Rows to train on, and rows to judge on.
pub type Cut<'a> = (Box<dyn Source + 'a>, Box<dyn Source + 'a>);

impl Divided for (Local<'_>, Local<'_>) {
    fn train(&self) -> &dyn Source {
        &self.0
    }

    fn valid(&self) -> &dyn Source {
        &self.1
    }

    fn both<'a>(&'a self) -> Result<Box<dyn Source + 'a>> {
        Ok(Box::new(Local::owned(Log::join(&[self.0.rows(), self.1.rows()])?, self.0.engine())))
    }

    fn folds<'a>(&'a self, seed: u64, count: usize) -> Result<Vec<Cut<'a>>> {
        let both = Log::join(&[self.0.rows(), self.1.rows()])?;
        let boxed = |log: Log| -> Box<dyn Source + 'a> { Box::new(Local::owned(log, self.0.engine())) };
        (0..count).map(|f| both.fold(seed, f, count).map(|(rest, fold)| (boxed(rest), boxed(fold)))).collect()
    }
}

/// A log divided in this process, asked on all cores.
impl Divided for Parts {
    fn train(&self) -> &dyn Source {
        &self.train
    }

    fn valid(&self) -> &dyn Source {
        &self.valid
    }

    fn both<'a>(&'a self) -> Result<Box<dyn Source + 'a>> {
        Ok(Box::new(Log::join(&[&self.train, &self.valid])?))
    }

    fn folds<'a>(&'a self, seed: u64, count: usize) -> Result<Vec<Cut<'a>>> {
        let both = Log::join(&[&self.train, &self.valid])?;
        let boxed = |log: Log| -> Box<dyn Source + 'a> { Box::new(log) };
        (0..count).map(|f| both.fold(seed, f, count).map(|(rest, fold)| (boxed(rest), boxed(fold)))).collect()
    }
}

/// A log in shards with the rule that divides it.
impl Divided for DividedShards {
    fn train(&self) -> &dyn Source {
        &self.train
    }

    fn valid(&self) -> &dyn Source {
        &self.valid
    }

    fn both<'a>(&'a self) -> Result<Box<dyn Source + 'a>> {
        self.both.view(&View::default())
    }

    fn folds<'a>(&'a self, seed: u64, count: usize) -> Result<Vec<Cut<'a>>> {
        (0..count)
            .map(|f| {
                let [rest, fold] = View::fold(seed, f, count);
                Ok((self.both.view(&rest)?, self.both.view(&fold)?))
            })
            .collect()
    }
}

/// Trains the candidates of a grid and picks one by the offline protocol. The test part is not read.
///
/// It is an error if no candidate passes the gate: then the log supports none of these policies. [`Selector`] has more to choose.
pub fn select(parts: &dyn Divided, grid: &Grid, seed: u64, gate: Gate, memory: &Memory) -> Result<Selected> {
    Selector::new(grid).seed(seed).gate(gate).memory(memory).select(parts)
}

/// [`select`] with all its choices.
///
/// ```
/// use counterpoint::budget::Budget;
/// use counterpoint::data::SplitRule;
/// use counterpoint::select::{Grid, Selector};
/// use counterpoint::Log;
/// # let u = |i: usize, k: f64| (i as f64 * k).fract();
/// let n = 2000;
/// let a: Vec<f64> = (0..n).map(|i| 3.0 * u(i, 0.569_840_291)).collect();
/// let cost = a.iter().map(|a| (a - 1.0).abs()).collect();
/// let log = Log::builder().action("a", a).cost("y", cost).propensity("p", vec![1.0 / 3.0; n]).build()?;
/// let grid = Grid::named_or_file("auto")?;
/// // no time at all: there is still a policy, and what was left out is said
/// let selected = Selector::new(&grid).budget(Budget::lasting(std::time::Duration::ZERO)).select(&log.split(SplitRule::default())?)?;
/// assert!(!selected.left_out.is_empty());
/// # Ok::<(), counterpoint::Error>(())
/// ```
pub struct Selector<'a> {
    grid: &'a Grid,
    seed: u64,
    gate: Gate,
    memory: Option<&'a Memory<'a>>,
    budget: Budget<'a>,
    guards: &'a [Guarding<'a>],
}

/// Candidates from which a search within a budget begins with the shortest fits.
const MANY: usize = 16;

/// Shares of a budget before which fits of the rounds 0, 1 and 2 begin, and by which they are ended.
const BEGIN_BEFORE: [f64; 3] = [0.3, 0.6, 0.9];

impl<'a> Selector<'a> {
    /// Selects from this grid, with the seed 0, the usual gate, no memory and no limit of time.
    pub fn new(grid: &'a Grid) -> Self {
        Selector { grid, seed: 0, gate: Gate::default(), memory: None, budget: Budget::unlimited(), guards: &[] }
    }

    /// The seed of everything random.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The gate that candidates are held to.
    #[must_use]
    pub fn gate(mut self, gate: Gate) -> Self {
        self.gate = gate;
        self
    }

    /// Finished work, and where to report more of it.
    #[must_use]
    pub fn memory(mut self, memory: &'a Memory<'a>) -> Self {
        self.memory = Some(memory);
        self
    }

    /// How long it may take. There is a policy at the end all the same: of the first candidates, of short fits, or of fits that were ended
    /// early; [`Selected::left_out`] says what is missing.
    #[must_use]
    pub fn budget(mut self, budget: Budget<'a>) -> Self {
        self.budget = budget;
        self
    }

    /// Outcomes that must not become worse: for grids of one greedy recipe, such as `auto`. Their rows are those of train and valid together.
    #[must_use]
    pub fn guards(mut self, guards: &'a [Guarding<'a>]) -> Self {
        self.guards = guards;
        self
    }

    /// Trains the candidates and picks one. The test part is not read.
    pub fn select(&self, parts: &dyn Divided) -> Result<Selected> {
        let candidates = self.grid.candidates(self.seed)?;
        if let [Recipe { policy: MeanChoice::Greedy(_), .. }] = &candidates[..] {
            return self.searched(&*parts.both()?, &candidates[0]);
        }
        if !self.guards.is_empty() {
            return Err(Error::recipe("grid", "guardrails steer the search of one greedy recipe, not a grid of many")
                .hint("use the grid `auto`; what another grid selects can be certified with guardrails"));
        }
        let nothing = Memory::none();
        let work = Work {
            cuts: cuts(parts, self.grid.folds, self.seed)?,
            direction: parts.train().schema().direction,
            engine: parts.train().engine(),
            gate: self.gate,
            memory: self.memory.unwrap_or(&nothing),
            budget: self.budget,
            candidates: &candidates,
        };
        let mut climbed = self.climb(&work)?;
        let winner = &climbed.all[0].0;
        let reached = self.budget.limits() || winner.round == 2;
        if !reached || (winner.estimate.is_none() && climbed.left_out.is_empty()) {
            return Err(none_passes(&climbed.all, candidates.len()));
        }
        let mut notes = Vec::new();
        if winner.estimate.is_none() {
            notes.push(
                "no candidate that there was time for passes the gate: this is the one with the most effective rows"
                    .into(),
            );
        }
        let rung = self.rungs(candidates.len()).into_iter().find(|r| r.round == winner.round);
        let recipe = rung.map_or_else(|| winner.recipe.clone(), |r| r.shape(&winner.recipe));
        let own = climbed.all[0].1.first_mut().and_then(|f| f.policy.take());
        let policy = match own.filter(|_| work.cuts.len() == 1) {
            Some(policy) => policy,
            // cross-validation chose a recipe; the valid part has still to say whether the log supports what it learns
            None => {
                let ends = |_: &Progress| work.goes_on(1.0);
                Learner::new(&recipe).gate(self.gate).watch(&ends).learn(parts.train())?.policy
            }
        };
        let leaderboard = climbed.all.into_iter().map(|(entry, _)| entry).collect();
        Ok(Selected { policy, recipe, leaderboard, notes, left_out: climbed.left_out })
    }

    /// The rounds, each with longer fits.
    fn rungs(&self, candidates: usize) -> Vec<Rung> {
        let grid = self.grid;
        let shortest = Rung { round: 0, starts: 1, steps: grid.first_proximal_steps.min(1), keep: 1.0 / 3.0 };
        let short = Rung { round: 1, starts: grid.first_starts, steps: grid.first_proximal_steps, keep: grid.keep };
        let full = Rung { round: 2, starts: usize::MAX, steps: usize::MAX, keep: 1.0 };
        match (grid.keep < 1.0 && candidates > 2, self.budget.limits() && candidates > MANY) {
            (false, _) => vec![full],
            (true, false) => vec![short, full],
            (true, true) => vec![shortest, short, full],
        }
    }

    /// All rounds.
    fn climb(&self, work: &Work) -> Result<Climbed> {
        let n = work.candidates.len();
        let mut going: Vec<usize> = (0..n).collect();
        if self.budget.limits() {
            // what is left out at the end is then a fair sample of the grid
            going.sort_by_key(|&c| hash(self.seed ^ 0x6f72_6465, c as u64));
        }
        let (mut all, mut left_out): (Vec<(Entry, Vec<Fit>)>, Vec<String>) = (Vec::new(), Vec::new());
        for rung in self.rungs(n) {
            // some policy there must be, however short the time
            let needed = going.first().copied().filter(|_| all.is_empty());
            let mut done: Vec<(Entry, Vec<Fit>)> = work
                .round(&going, &rung, needed)?
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
        Ok(Climbed { all, left_out })
    }

    /// The search of a greedy recipe with all effort, as a selection: its candidates are recipes too.
    fn searched(&self, rows: &dyn Source, recipe: &Recipe) -> Result<Selected> {
        let learner = Learner::new(recipe).gate(self.gate).effort(Effort::Full).budget(self.budget).guards(self.guards);
        let learned = learner.learn(rows)?;
        let (board, notes, left_out) = learned.search.map_or_else(Default::default, |s| (s.board, s.notes, s.left_out));
        let of = |line: &Line| {
            let MeanChoice::Greedy(choice) = recipe.policy else { return recipe.clone() };
            let own =
                GreedyChoice { models: line.models, std_share: Some(line.share), step: Some(line.step), ..choice };
            Recipe { policy: MeanChoice::Greedy(own), ..recipe.clone() }
        };
        let leaderboard: Vec<Entry> = board
            .iter()
            .enumerate()
            .map(|(candidate, line)| Entry {
                candidate,
                round: 1,
                estimate: line.passes.then_some(line.estimate),
                std_error: line.std_error,
                effective_share: line.effective_share,
                mean_weight: line.mean_weight,
                folds: (usize::from(line.passes), 1),
                recipe: of(line),
                failure: None,
            })
            .collect();
        let recipe = board.first().map_or_else(|| recipe.clone(), of);
        Ok(Selected { policy: learned.policy, recipe, leaderboard, notes, left_out })
    }
}

/// What the rounds have made of the candidates: the last fits of each, best first.
struct Climbed {
    all: Vec<(Entry, Vec<Fit>)>,
    left_out: Vec<String>,
}

/// A round: how long its fits are, and what share of its candidates goes on to the next.
struct Rung {
    round: usize,
    starts: usize,
    steps: usize,
    keep: f64,
}

impl Rung {
    /// The recipe of a candidate in this round.
    fn shape(&self, recipe: &Recipe) -> Recipe {
        let steps = self.steps.min(recipe.proximal_steps());
        Recipe { starts: self.starts.min(recipe.starts), ..recipe.clone() }.with_proximal_steps(steps)
    }
}

/// That no candidate passes the gate; or what stopped all of them.
fn none_passes(all: &[(Entry, Vec<Fit>)], candidates: usize) -> Error {
    // no candidate without a failure: what stopped the first of them is the news, not the gate
    if let (true, Some(failure)) = (all.iter().all(|(e, _)| e.failure.is_some()), &all[0].0.failure) {
        let (what, hint) = failure.split_once("\nhint: ").unwrap_or((failure, "`describe` says what the log holds"));
        return Error::data(format!("none of the {candidates} candidates could be learned: {what}")).hint(hint);
    }
    Error::unsupported(format!("none of the {candidates} candidates passes the gate on the valid part")).hint(
        "the log supports no policy of this grid: try larger stds (entropy, std_floor), smaller caps, or more rows",
    )
}

/// Pairs of sources: to train on, to judge on.
fn cuts<'a>(parts: &'a dyn Divided, folds: usize, seed: u64) -> Result<Vec<Cut<'a>>> {
    if folds < 2 {
        let all = View::default();
        return Ok(vec![(parts.train().view(&all)?, parts.valid().view(&all)?)]);
    }
    // the seed differs from that of the split: rows of one part are not spread evenly by the same hash
    parts.folds(SplitRule::fold_seed(seed), folds)
}

/// What every round has in common.
struct Work<'a> {
    cuts: Vec<Cut<'a>>,
    direction: Outcome,
    engine: &'a Engine,
    gate: Gate,
    memory: &'a Memory<'a>,
    budget: Budget<'a>,
    candidates: &'a [Recipe],
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

    fn goes_on(&self, share: f64) -> ControlFlow<()> {
        if self.budget.before(share) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// The fits of the candidates that there was time for, and of the one that is needed in any case.
    fn round(&self, which: &[usize], rung: &Rung, needed: Option<usize>) -> Result<Vec<(usize, Vec<Fit>)>> {
        let cuts = &self.cuts;
        let jobs: Vec<(usize, usize)> = which.iter().flat_map(|&c| (0..cuts.len()).map(move |f| (c, f))).collect();
        let done = AtomicUsize::new(0);
        let by = BEGIN_BEFORE[rung.round];
        // the same recipe on other rows is other work: a journal of another log must not be believed
        let rows: Vec<u64> = cuts
            .iter()
            .map(|(train, judge)| Ok(print_of(&**train)? ^ print_of(&**judge)?.rotate_left(1)))
            .collect::<Result<_>>()?;
        let fits: Vec<Result<Option<Fit>>> = self.engine.map(&jobs, |&(c, f)| {
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
            let fit = known.unwrap_or_else(|| self.one(&key, &cuts[f], &recipe, by));
            let done = done.fetch_add(1, Atomic::Relaxed) + 1;
            if fresh && !fit.unfinished {
                (self.memory.record)(&fit, Step { done, of: jobs.len(), round: rung.round })?;
            }
            Ok(Some(fit))
        });
        let fits: Vec<Option<Fit>> = fits.into_iter().collect::<Result<_>>()?;
        let of = |(c, fits): (&usize, &[Option<Fit>])| Some((*c, fits.iter().cloned().collect::<Option<Vec<Fit>>>()?));
        Ok(which.iter().zip(fits.chunks(cuts.len())).filter_map(of).collect())
    }

    /// One fit, judged.
    fn one(&self, key: &str, (train, judge): &Cut, recipe: &Recipe, by: f64) -> Fit {
        // other fits run side by side
        let (train, judge) = (train.alone(), judge.alone());
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
        let learned = Learner::new(recipe).watch(&watch).learn(&*train);
        let judged = learned.and_then(|l| Ok((evaluate(&*judge, &l.policy, &Estimator::SNIPS)?, l)));
        match judged {
            Ok((e, learned)) => {
                fit.cost = Some(judge.schema().direction.to_user(e.estimate));
                fit.std_error = e.std_error;
                fit.effective = e.effective;
                fit.rows = e.rows;
                fit.mean_weight = e.mean_weight;
                fit.passed = self.gate.passes(e.effective, e.rows, e.mean_weight);
                fit.evaluations = learned.starts.iter().map(|s| s.evaluations).sum();
                fit.policy = Some(learned.policy);
            }
            Err(e) => fit.failure = Some(e.to_string()),
        }
        fit.unfinished = ended.into_inner();
        fit
    }
}

/// What tells the rows of one log from those of another.
fn print_of(rows: &dyn Source) -> Result<u64> {
    let hashed = rows.get(Hashes { keep: 0, by: Recognised::Row })?;
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
