//! Learning and selecting, as the commands `learn` and `select` do.

use crate::errors::Fault;
use crate::grammar;
use crate::judge::{Certified, Guards, guards as parsed};
use crate::log::Log;
use crate::policy::Policy;
use crate::target::logging as logging_policy;
use crate::work::{self, Watch};
use counterpoint::budget::Budget;
use counterpoint::certify::{Guardrail, Terms};
use counterpoint::data::{Journal, Schema};
use counterpoint::evaluate::Estimate;
use counterpoint::learn::{Guarding, Learned as Outcome, Progress};
use counterpoint::recipe::MeanChoice;
use counterpoint::select::{Fit, Memory, Selected, Selector, Step};
use counterpoint::source::Local;
use counterpoint::{Engine, Error, Estimator, Recipe, Result, evaluate};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What was learned or selected.
#[pyclass(frozen, module = "counterpoint._counterpoint")]
pub(crate) struct Learned {
    policy: Py<Policy>,
    certificate: Option<Py<Certified>>,
    /// What the command line says with --json, as JSON.
    #[pyo3(get)]
    facts: String,
    /// Whether it was ended early by an interruption.
    #[pyo3(get)]
    interrupted: bool,
}

#[pymethods]
impl Learned {
    #[getter]
    fn policy(&self, py: Python<'_>) -> Py<Policy> {
        self.policy.clone_ref(py)
    }

    #[getter]
    fn certificate(&self, py: Python<'_>) -> Option<Py<Certified>> {
        self.certificate.as_ref().map(|c| c.clone_ref(py))
    }
}

/// What a call asks for, whatever is learned.
#[derive(FromPyObject)]
pub(crate) struct Wish {
    /// The terms of the certificate, as JSON.
    pub(crate) terms: String,
    pub(crate) certify: bool,
    pub(crate) threads: usize,
    pub(crate) progress: Option<Py<PyAny>>,
}

/// What comes out of the work, on its way to Python.
pub(crate) struct Found {
    pub(crate) policy: Policy,
    certificate: Option<Certified>,
    facts: Value,
    interrupted: bool,
}

impl Found {
    /// What a recipe has learned.
    pub(crate) fn learned(learned: Outcome, valid: Option<Estimate>, recipe: &Recipe, sentences: &[String]) -> Self {
        let facts = json!({
            "objective": learned.objective,
            "std": learned.parametric().map(counterpoint::Policy::std),
            "search": learned.search,
            "starts": learned.starts,
            "best_start": learned.best,
            "silent_contexts": learned.silent_contexts,
            "valid": valid,
            "propensities": learned.propensities,
            "recipe": recipe,
        });
        Found { policy: Policy::noting(learned.policy, sentences), certificate: None, facts, interrupted: false }
    }

    /// What was selected among many.
    pub(crate) fn selected(selected: &Selected, schema: &Schema, sentences: &[String]) -> Self {
        let facts = json!({
            "leaderboard": selected.leaderboard,
            "notes": selected.notes,
            "left_out": selected.left_out,
            "recipe": selected.recipe,
            "propensities": schema.propensities,
        });
        let sentences: Vec<String> = sentences.iter().cloned().chain(selected.sentence()).collect();
        let policy = Policy::noting(selected.policy.clone(), &sentences);
        Found { policy, certificate: None, facts, interrupted: false }
    }

    /// The same, ended early or not.
    pub(crate) fn interrupted(self, interrupted: bool) -> Self {
        Found { interrupted, ..self }
    }

    pub(crate) fn hand_over(self, py: Python<'_>) -> PyResult<Learned> {
        Ok(Learned {
            policy: Py::new(py, self.policy)?,
            certificate: self.certificate.map(|c| Py::new(py, c)).transpose()?,
            facts: self.facts.to_string(),
            interrupted: self.interrupted,
        })
    }
}

/// Learns one recipe; its fields as JSON, over those of a file if one is named.
#[pyfunction]
#[pyo3(signature = (log, recipe, file, logging, wish, guardrails=Vec::new()))]
pub(crate) fn learn(
    py: Python<'_>,
    log: &Log,
    recipe: &str,
    file: Option<&str>,
    logging: Option<&Policy>,
    wish: Wish,
    guardrails: Vec<(String, PyRef<'_, Log>)>,
) -> PyResult<Learned> {
    let guards = parsed(&guardrails)?;
    let recipe = grammar::recipe(recipe, file)?;
    let terms = grammar::terms(&wish.terms, recipe.seed)?;
    let logging = logging_policy(logging)?;
    let (certify, threads) = (wish.certify, wish.threads);
    let found = work::run(py, wish.progress, |watch| {
        learn_one(log, &recipe, &terms, (logging.as_ref(), &guards), (watch, certify, threads))
    })?;
    found.hand_over(py)
}

fn learn_one(
    log: &Log,
    recipe: &Recipe,
    terms: &Terms,
    (logging, guards): (Option<&counterpoint::Policy>, &Guards),
    (watch, certify, threads): (&Watch, bool, usize),
) -> Result<Found> {
    let engine = watch.engine(threads)?;
    let parts = log.parts(recipe.seed)?;
    let steps = Steps::of(recipe);
    steps.announce(watch);
    let look = |p: &Progress| steps.look(p, watch);
    let rows = (parts.train.on(&engine), parts.valid.on(&engine));
    let watched = Watched::of(guards, log, recipe.seed, &engine)?;
    let guarding = watched.guarding();
    let learner = counterpoint::learn::Learner::new(recipe).logging(logging).gate(terms.gate).guards(&guarding);
    let learned = learner.watch(&look).learn_from(&rows)?;
    watch.keeps.store(false, Ordering::Relaxed);
    let interrupted = watch.ending.load(Ordering::Relaxed);
    let valid = match (&learned.search, interrupted) {
        (None, false) => Some(evaluate(&parts.valid.on(&engine), &learned.policy, &Estimator::SNIPS)?),
        _ => None,
    };
    let found = Found::learned(learned, valid, recipe, &log.sentences()).interrupted(interrupted);
    let certificate = match certify && !interrupted {
        true => {
            let target = found.policy.saved.clone();
            let made = Certified::issue(log, target, Arc::new(parts), terms, (&engine, threads))?;
            Some(made.guarded_by(guards, log, &engine)?.learned_by(recipe.clone(), None))
        }
        false => None,
    };
    Ok(Found { certificate, ..found })
}

/// Guardrails with the rows that are learned from: train and valid together.
struct Watched<'a>(Vec<(&'a Guardrail, Local<'a>)>);

impl<'a> Watched<'a> {
    fn of(guards: &'a Guards, log: &Log, seed: u64, engine: &'a Engine) -> Result<Self> {
        let of = |(g, rows): &'a (Guardrail, Arc<counterpoint::Log>)| {
            let parts = rows.split(log.rule(seed))?;
            Ok((g, Local::owned(counterpoint::Log::join(&[&parts.train, &parts.valid])?, engine)))
        };
        guards.iter().map(of).collect::<Result<_>>().map(Watched)
    }

    fn guarding(&self) -> Vec<Guarding<'_>> {
        self.0.iter().map(|(guardrail, rows)| Guarding { guardrail, rows }).collect()
    }
}

/// Proximal steps of all starting points.
pub(crate) struct Steps {
    done: Vec<AtomicU64>,
    of: u64,
}

impl Steps {
    /// A greedy recipe has no steps to count.
    pub(crate) fn of(recipe: &Recipe) -> Self {
        let starts = if matches!(recipe.policy, MeanChoice::Greedy(_)) { 0 } else { recipe.starts };
        let of = starts as u64 * (recipe.proximal_steps() as u64 + 1);
        Steps { done: (0..starts).map(|_| AtomicU64::new(0)).collect(), of }
    }

    /// Says how many there will be; a fit with steps can end early with what it has.
    pub(crate) fn announce(&self, watch: &Watch) {
        watch.keeps.store(self.of > 0, Ordering::Relaxed);
        watch.of.store(self.of, Ordering::Relaxed);
    }

    pub(crate) fn look(&self, p: &Progress, watch: &Watch) -> ControlFlow<()> {
        self.done[p.start].store(p.outer as u64, Ordering::Relaxed);
        watch.done.store(self.done.iter().map(|d| d.load(Ordering::Relaxed)).sum(), Ordering::Relaxed);
        match watch.ending.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

fn wrong_budget(seconds: f64) -> Error {
    Error::recipe("budget", format!("{seconds} seconds are none")).hint("give seconds, such as budget=60")
}

/// Selects among many: a grid by name, of a file, or written as JSON. `journal` is the file that finished fits are written to, and whether
/// those that stand in it are gone on with; it is deleted when nothing is left to do.
#[pyfunction]
#[pyo3(signature = (log, grid, folds, seed, wish, journal, guardrails=Vec::new(), budget=None))]
#[allow(clippy::too_many_arguments)] // each a keyword of Python
pub(crate) fn select(
    py: Python<'_>,
    log: &Log,
    grid: &str,
    folds: Option<usize>,
    seed: u64,
    wish: Wish,
    journal: Option<(PathBuf, bool)>,
    guardrails: Vec<(String, PyRef<'_, Log>)>,
    budget: Option<f64>,
) -> PyResult<Learned> {
    let guards = parsed(&guardrails)?;
    let budget = budget.map(|s| Duration::try_from_secs_f64(s).map_err(|_| wrong_budget(s))).transpose();
    let budget = budget.map_err(Fault::from)?;
    let mut grid = grammar::grid(grid)?;
    grid.folds = folds.unwrap_or(grid.folds);
    let terms = grammar::terms(&wish.terms, seed)?;
    let (certify, threads) = (wish.certify, wish.threads);
    let found = work::run(py, wish.progress, |watch| {
        let engine = watch.engine(threads)?;
        let parts = log.parts(seed)?;
        let (kept, known) = Kept::open(journal.as_ref())?;
        let record = |fit: &Fit, step: Step| {
            kept.add(fit)?;
            watch.done.store(step.done as u64, Ordering::Relaxed);
            watch.of.store(step.of as u64, Ordering::Relaxed);
            Ok(())
        };
        let rows = (parts.train.on(&engine), parts.valid.on(&engine));
        let memory = Memory { known, record: &record };
        let watched = Watched::of(&guards, log, seed, &engine)?;
        let guarding = watched.guarding();
        let selector = Selector::new(&grid).seed(seed).gate(terms.gate).memory(&memory).guards(&guarding);
        let selected = selector.budget(budget.map_or_else(Budget::unlimited, Budget::lasting)).select(&rows)?;
        let found = Found::selected(&selected, log.log.schema(), &log.sentences());
        let certificate = match certify {
            true => {
                let target = found.policy.saved.clone();
                let made = Certified::issue(log, target, Arc::new(parts), &terms, (&engine, threads))?;
                Some(made.guarded_by(&guards, log, &engine)?.learned_by(selected.recipe.clone(), Some(selected)))
            }
            false => None,
        };
        Ok(Found { certificate, ..found })
    })?;
    let whole = found.facts["left_out"].as_array().is_none_or(Vec::is_empty);
    let learned = found.hand_over(py)?;
    // where there was no time for all, a later fit can go on with it
    if whole {
        finished(journal.as_ref());
    }
    Ok(learned)
}

/// Where finished fits are kept, if anywhere.
pub(crate) struct Kept(Option<Journal>);

impl Kept {
    /// Opens the journal that is named, with the fits that stand in it where it is gone on with.
    pub(crate) fn open(journal: Option<&(PathBuf, bool)>) -> Result<(Self, Vec<Fit>)> {
        // fits of another version could differ in their bits
        let writer = counterpoint_cli::program();
        Ok(match journal {
            None => (Kept(None), Vec::new()),
            Some((path, true)) => Journal::resume::<Fit>(path, &writer).map(|r| (Kept(Some(r.journal)), r.known))?,
            Some((path, false)) => (Kept(Some(Journal::create(path, &writer)?)), Vec::new()),
        })
    }

    pub(crate) fn add(&self, fit: &Fit) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |journal| journal.add(fit))
    }
}

/// All is done: what the journal was kept for is in the caller's hands.
pub(crate) fn finished(journal: Option<&(PathBuf, bool)>) {
    if let Some((path, _)) = journal {
        let _ = std::fs::remove_file(path);
    }
}
