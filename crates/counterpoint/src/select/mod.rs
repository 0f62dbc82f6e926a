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

mod divided;
mod rounds;

use crate::budget::Budget;
use crate::certify::Gate;
use crate::error::{Error, Result};
pub use crate::grid::Grid;
use crate::learn::{Effort, Guarding, Learner, Line, Progress};
use crate::policy::SavedPolicy;
use crate::recipe::{GreedyChoice, MeanChoice, Recipe};
use crate::source::Source;
pub use divided::{Cut, Divided};
use rounds::{Work, cuts};
use serde::{Deserialize, Serialize};

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
        let mut notes = std::mem::take(&mut climbed.pruned);
        let winner = &climbed.all[0].0;
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
