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

use crate::certify::Gate;
use crate::data::{Hashes, Log, Outcome, Parts, Recognised, SplitRule, View};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::estimate::Estimator;
use crate::evaluate::evaluate;
pub use crate::grid::Grid;
use crate::learn::{Effort, Learner, Line, learn};
use crate::policy::SavedPolicy;
use crate::recipe::{GreedyChoice, MeanChoice, Recipe};
use crate::source::{DividedShards, Local, Source};
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
}

/// A line of the leaderboard.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Number of the candidate in the grid.
    pub candidate: usize,
    /// Round reached: 1 or 2.
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
}

/// What an observer is told after each finished fit.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Fits finished in this round.
    pub done: usize,
    /// Fits of this round.
    pub of: usize,
    /// The round: 1 or 2.
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
/// It is an error if no candidate passes the gate: then the log supports none of these policies.
pub fn select(parts: &dyn Divided, grid: &Grid, seed: u64, gate: Gate, memory: &Memory) -> Result<Selected> {
    let candidates = grid.candidates(seed)?;
    if let [Recipe { policy: MeanChoice::Greedy(_), .. }] = &candidates[..] {
        return searched(&*parts.both()?, &candidates[0], gate);
    }
    let engine = parts.train().engine();
    let direction = parts.train().schema().direction;
    let cuts = cuts(parts, grid.folds, seed)?;
    let all: Vec<usize> = (0..candidates.len()).collect();
    let short = |r: &Recipe| {
        let steps = grid.first_proximal_steps.min(r.proximal_steps());
        Recipe { starts: grid.first_starts.min(r.starts), ..r.clone() }.with_proximal_steps(steps)
    };
    let two_rounds = grid.keep < 1.0 && candidates.len() > 2;
    let mut board: Vec<Entry> = Vec::new();
    let mut finalists = all.clone();
    if two_rounds {
        let fits = round(engine, &candidates, &all, 1, &cuts, gate, memory, &short)?;
        board = all.iter().map(|&c| entry(c, 1, &candidates[c], &fits[c], direction)).collect();
        board.sort_by(|a, b| better(a, b, direction));
        let keep = ((candidates.len() as f64 * grid.keep).ceil() as usize).max(1);
        finalists = board.iter().take(keep).map(|e| e.candidate).collect();
        board.retain(|e| !finalists.contains(&e.candidate));
    }
    let fits = round(engine, &candidates, &finalists, 2, &cuts, gate, memory, &Recipe::clone)?;
    let mut last: Vec<Entry> =
        finalists.iter().zip(&fits).map(|(&c, f)| entry(c, 2, &candidates[c], f, direction)).collect();
    last.sort_by(|a, b| better(a, b, direction));
    last.extend(board);
    let winner = &last[0];
    if winner.estimate.is_none() || winner.round != 2 {
        // no candidate without a failure: what stopped the first of them is the news, not the gate
        if let (true, Some(failure)) = (last.iter().all(|e| e.failure.is_some()), &winner.failure) {
            let (what, hint) =
                failure.split_once("\nhint: ").unwrap_or((failure, "`describe` says what the log holds"));
            return Err(
                Error::data(format!("none of the {} candidates could be learned: {what}", candidates.len())).hint(hint)
            );
        }
        return Err(Error::unsupported(format!(
            "none of the {} candidates passes the gate on the valid part",
            candidates.len()
        ))
        .hint(
            "the log supports no policy of this grid: try larger stds (entropy, std_floor), smaller caps, or more rows",
        ));
    }
    let recipe = winner.recipe.clone();
    let at = finalists.iter().position(|&c| c == winner.candidate).unwrap_or_default();
    let policy = match fits[at].first().and_then(|f| f.policy.clone()).filter(|_| cuts.len() == 1) {
        Some(policy) => policy,
        // cross-validation chose a recipe; the valid part has still to say whether the log supports what it learns
        None => learn(parts.train(), &recipe)?.policy,
    };
    Ok(Selected { policy, recipe, leaderboard: last, notes: Vec::new() })
}

/// The search of a greedy recipe with all effort, as a selection: its candidates are recipes too.
fn searched(rows: &dyn Source, recipe: &Recipe, gate: Gate) -> Result<Selected> {
    let learned = Learner::new(recipe).gate(gate).effort(Effort::Full).learn(rows)?;
    let (board, notes) = learned.search.map_or_else(Default::default, |s| (s.board, s.notes));
    let of = |line: &Line| {
        let MeanChoice::Greedy(choice) = recipe.policy else { return recipe.clone() };
        let own = GreedyChoice { models: line.models, std_share: Some(line.share), step: Some(line.step), ..choice };
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
    Ok(Selected { policy: learned.policy, recipe, leaderboard, notes })
}

/// Better first; what failed the gate last; ties in the order of the grid.
fn better(a: &Entry, b: &Entry, direction: Outcome) -> std::cmp::Ordering {
    let cost = |e: &Entry| e.estimate.map(|v| direction.to_user(v));
    match (cost(a), cost(b)) {
        (Some(x), Some(y)) => x.total_cmp(&y).then(a.candidate.cmp(&b.candidate)),
        (Some(_), None) => std::cmp::Ordering::Less,
        (None, Some(_)) => std::cmp::Ordering::Greater,
        (None, None) => a.candidate.cmp(&b.candidate),
    }
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

#[allow(clippy::too_many_arguments)]
fn round(
    engine: &Engine,
    candidates: &[Recipe],
    which: &[usize],
    number: usize,
    cuts: &[Cut],
    gate: Gate,
    memory: &Memory,
    shape: &(dyn Fn(&Recipe) -> Recipe + Sync),
) -> Result<Vec<Vec<Fit>>> {
    let jobs: Vec<(usize, usize)> = which.iter().flat_map(|&c| (0..cuts.len()).map(move |f| (c, f))).collect();
    let done = std::sync::atomic::AtomicUsize::new(0);
    // the same recipe on other rows is other work: a journal of another log must not be believed
    let rows: Vec<u64> = cuts
        .iter()
        .map(|(train, judge)| Ok(print_of(&**train)? ^ print_of(&**judge)?.rotate_left(1)))
        .collect::<Result<_>>()?;
    let fits: Vec<Result<Fit>> = engine.map(&jobs, |&(c, f)| {
        let recipe = shape(&candidates[c]);
        let key = format!(
            "candidate {c} round {number} fold {f} of {} rows {:016x}: {}",
            cuts.len(),
            rows[f],
            recipe.to_toml().replace('\n', " ")
        );
        let known = memory.known.iter().find(|k| k.key == key).cloned();
        let fresh = known.is_none();
        let fit = known.unwrap_or_else(|| one(&key, &cuts[f], &recipe, gate));
        let done = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        if fresh {
            (memory.record)(&fit, Step { done, of: jobs.len(), round: number })?;
        }
        Ok(fit)
    });
    let fits: Vec<Fit> = fits.into_iter().collect::<Result<_>>()?;
    Ok(fits.chunks(cuts.len()).map(<[Fit]>::to_vec).collect())
}

/// What tells the rows of one log from those of another.
fn print_of(rows: &dyn Source) -> Result<u64> {
    let hashed = rows.get(Hashes { keep: 0, by: Recognised::Row })?;
    Ok(hashed.sum ^ hashed.rows.rotate_left(32))
}

fn one(key: &str, (train, judge): &Cut, recipe: &Recipe, gate: Gate) -> Fit {
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
    };
    let learned = learn(&*train, recipe);
    let judged = learned.and_then(|l| Ok((evaluate(&*judge, &l.policy, &Estimator::SNIPS)?, l)));
    match judged {
        Ok((e, learned)) => {
            fit.cost = Some(judge.schema().direction.to_user(e.estimate));
            fit.std_error = e.std_error;
            fit.effective = e.effective;
            fit.rows = e.rows;
            fit.mean_weight = e.mean_weight;
            fit.passed = gate.passes(e.effective, e.rows, e.mean_weight);
            fit.evaluations = learned.starts.iter().map(|s| s.evaluations).sum();
            fit.policy = Some(learned.policy);
        }
        Err(e) => fit.failure = Some(e.to_string()),
    }
    fit
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
