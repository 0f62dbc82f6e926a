//! A log that lies elsewhere: whoever holds a piece of it answers bytes with bytes, and the optimiser stays here.
//!
//! A [`Shard`] is made where its rows are and answers questions. A [`Cluster`] has one function for each shard that carries a question
//! there and brings the answer back (an actor of Ray, say); it learns, evaluates and certifies as if the rows were here, with the
//! same bits.

use crate::errors::Fault;
use crate::evaluate::{Question, answers, unknown_rows};
use crate::grammar;
use crate::learn::{Found, Kept, Learned, Steps, Wish, finished};
use crate::log::Log;
use crate::policy::Policy;
use crate::target::logging as logging_policy;
use crate::work::{self, Watch};
use counterpoint::certify::{Certificate, Terms, certify};
use counterpoint::data::SplitRule;
use counterpoint::learn::{Learner, Progress};
use counterpoint::policy::TargetPolicy;
use counterpoint::select::{Fit, Memory, Step};
use counterpoint::source::{LocalShard, Shard as Asked, Shards, Source};
use counterpoint::{Engine, Error, Estimator, Result, evaluate};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// A piece of a log that answers questions about its rows.
#[pyclass(frozen, module = "counterpoint._counterpoint")]
pub(crate) struct Shard {
    shard: LocalShard,
    #[pyo3(get)]
    rows: usize,
    /// The log by name.
    #[pyo3(get)]
    name: String,
    /// Whether a column of the log divides it.
    #[pyo3(get)]
    by_column: bool,
    #[pyo3(get)]
    notes: Vec<String>,
}

#[pymethods]
impl Shard {
    /// Piece `index` of `count` of a log, cut between blocks.
    #[new]
    fn new(log: &Log, index: usize, count: usize, threads: usize) -> PyResult<Self> {
        let mut pieces = log.log.pieces(count);
        if index >= pieces.len() {
            let what = format!("the log has {} blocks of rows, too few for {count} workers", pieces.len());
            return Err(Fault::from(Error::data(what).hint(format!("use at most {} workers", pieces.len()))).into());
        }
        let piece = pieces.swap_remove(index);
        let rows = piece.rows();
        let shard = LocalShard::new(piece, Engine::new(threads).map_err(Fault::from)?);
        Ok(Shard { shard, rows, name: log.name.clone(), by_column: log.by_column(), notes: log.notes.clone() })
    }

    /// Answers a question of a [`Cluster`].
    fn answer<'py>(&self, py: Python<'py>, question: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let answer = py.detach(|| self.shard.answer(question)).map_err(Fault::from)?;
        Ok(PyBytes::new(py, &answer))
    }
}

/// A function of Python that carries bytes to a shard and back.
struct Carrier(Py<PyAny>);

impl Asked for Carrier {
    fn answer(&self, question: &[u8]) -> Result<Vec<u8>> {
        let carried =
            Python::attach(|py| -> PyResult<Vec<u8>> { self.0.call1(py, (PyBytes::new(py, question),))?.extract(py) });
        carried.map_err(|e| Python::attach(|py| said(py, &e)))
    }
}

/// What a worker said, in its own words where they are ours.
fn said(py: Python<'_>, e: &PyErr) -> Error {
    let ours = py.import("counterpoint.errors").and_then(|m| m.getattr("Error"));
    match ours.is_ok_and(|class| e.is_instance(py, &class)) {
        true => Error::data(e.value(py).to_string()),
        false => Error::data(format!("a worker could not answer: {e}")),
    }
}

/// A log in pieces that are held elsewhere.
#[pyclass(frozen, module = "counterpoint._counterpoint")]
pub(crate) struct Cluster {
    shards: Shards,
    name: String,
    by_column: bool,
}

impl Cluster {
    fn rule(&self, seed: u64) -> SplitRule {
        if self.by_column { SplitRule::Column } else { SplitRule::Hash { seed, shares: [0.5, 0.25, 0.25] } }
    }

    fn on(&self, watch: &Watch, threads: usize) -> Result<Shards> {
        Ok(self.shards.clone().on(watch.engine(threads)?))
    }

    fn certify(&self, policy: &dyn TargetPolicy, shards: &Shards, terms: &Terms) -> Result<RemoteCertificate> {
        let parts = shards.split(self.rule(terms.seed));
        let certificate = certify(policy, &parts.valid, &parts.test, terms)?;
        Ok(RemoteCertificate(certificate.naming(&self.name, counterpoint_cli::program())))
    }

    fn sentences(&self) -> Vec<String> {
        self.shards.schema().propensities.sentence().into_iter().collect()
    }
}

#[pymethods]
impl Cluster {
    /// The log whose pieces these functions ask, in the order of the log.
    #[new]
    fn new(py: Python<'_>, ask: Vec<Py<PyAny>>, name: String, by_column: bool) -> PyResult<Self> {
        let shards = work::run(py, None, |_| {
            Shards::new(ask.into_iter().map(|a| -> Box<dyn Asked> { Box::new(Carrier(a)) }).collect())
        })?;
        Ok(Cluster { shards, name, by_column })
    }

    /// What the log holds, as JSON and in words.
    fn describe(&self, py: Python<'_>) -> PyResult<(String, String)> {
        work::run(py, None, |watch| {
            let facts = counterpoint::describe(&self.on(watch, 0)?)?;
            Ok((serde_json::to_string(&facts).unwrap_or_default(), facts.to_string()))
        })
    }

    /// Learns one recipe and, where that is wished, certifies its policy; the certificate apart.
    #[pyo3(signature = (recipe, file, logging, wish))]
    fn learn(
        &self,
        py: Python<'_>,
        recipe: &str,
        file: Option<&str>,
        logging: Option<&Policy>,
        wish: Wish,
    ) -> PyResult<(Learned, Option<RemoteCertificate>)> {
        let recipe = grammar::recipe(recipe, file)?;
        let terms = grammar::terms(&wish.terms, recipe.seed)?;
        let logging = logging_policy(logging)?;
        let (found, certificate) = work::run(py, wish.progress, |watch| {
            let shards = self.on(watch, wish.threads)?;
            let parts = shards.split(self.rule(recipe.seed));
            let steps = Steps::of(&recipe);
            steps.announce(watch);
            let look = |p: &Progress| steps.look(p, watch);
            let learner = Learner::new(&recipe).logging(logging.as_ref()).gate(terms.gate);
            let learned = learner.watch(&look).learn_from(&parts)?;
            watch.keeps.store(false, Ordering::Relaxed);
            let interrupted = watch.ending.load(Ordering::Relaxed);
            let valid = match (&learned.search, interrupted) {
                (None, false) => Some(evaluate(&parts.valid, &learned.policy, &Estimator::SNIPS)?),
                _ => None,
            };
            let found = Found::learned(learned, valid, &recipe, &self.sentences()).interrupted(interrupted);
            let certificate = match wish.certify && !interrupted {
                true => Some(self.certify(&*found.policy.saved, &shards, &terms)?),
                false => None,
            };
            Ok((found, certificate))
        })?;
        Ok((found.hand_over(py)?, certificate))
    }

    /// Selects among many; the certificate apart. `journal` is as in the `select` of one process.
    #[pyo3(signature = (grid, folds, seed, wish, journal=None))]
    fn select(
        &self,
        py: Python<'_>,
        grid: &str,
        folds: Option<usize>,
        seed: u64,
        wish: Wish,
        journal: Option<(PathBuf, bool)>,
    ) -> PyResult<(Learned, Option<RemoteCertificate>)> {
        let mut grid = grammar::grid(grid)?;
        grid.folds = folds.unwrap_or(grid.folds);
        let terms = grammar::terms(&wish.terms, seed)?;
        let (found, certificate) = work::run(py, wish.progress, |watch| {
            let shards = self.on(watch, wish.threads)?;
            let (kept, known) = Kept::open(journal.as_ref())?;
            let record = |fit: &Fit, step: Step| {
                kept.add(fit)?;
                watch.done.store(step.done as u64, Ordering::Relaxed);
                watch.of.store(step.of as u64, Ordering::Relaxed);
                Ok(())
            };
            let memory = Memory { known, record: &record };
            let selected = counterpoint::select(&shards.split(self.rule(seed)), &grid, seed, terms.gate, &memory)?;
            let found = Found::selected(&selected, shards.schema(), &self.sentences());
            let certificate = match wish.certify {
                true => Some(self.certify(&*found.policy.saved, &shards, &terms)?),
                false => None,
            };
            Ok((found, certificate))
        })?;
        let learned = found.hand_over(py)?;
        finished(journal.as_ref());
        Ok((learned, certificate))
    }

    /// Every estimator's answer, as JSON.
    #[pyo3(name = "evaluate", signature = (policy, question, logging))]
    fn evaluate_policy(
        &self,
        py: Python<'_>,
        policy: &Policy,
        question: Question,
        logging: Option<&Policy>,
    ) -> PyResult<String> {
        let logging = logging_policy(logging)?;
        work::run(py, None, |watch| {
            let shards = self.on(watch, question.threads)?;
            let parts = shards.split(self.rule(question.seed));
            let rows: &dyn Source = match question.rows.as_str() {
                "all" => &shards,
                "train" => &parts.train,
                "valid" => &parts.valid,
                "test" => &parts.test,
                other => return Err(unknown_rows(other)),
            };
            let said = answers((rows, Some(&parts.train)), &*policy.saved, &question, (logging.as_ref(), None))?;
            Ok(said.to_string())
        })
    }

    /// Certifies a policy that has a file.
    #[pyo3(name = "certify")]
    fn certify_policy(
        &self,
        py: Python<'_>,
        policy: &Policy,
        terms: &str,
        seed: u64,
        threads: usize,
    ) -> PyResult<RemoteCertificate> {
        let terms = grammar::terms(terms, seed)?;
        work::run(py, None, |watch| self.certify(&*policy.saved, &self.on(watch, threads)?, &terms))
    }
}

/// A certificate whose rows are elsewhere, so that no report can be made of it here.
#[pyclass(frozen, module = "counterpoint._counterpoint")]
pub(crate) struct RemoteCertificate(Certificate);

#[pymethods]
impl RemoteCertificate {
    /// The file of the certificate, as the command line writes it.
    #[getter]
    fn json(&self) -> String {
        serde_json::to_string_pretty(&self.0).unwrap_or_default() + "\n"
    }

    /// The verdict, its reasons and figures in a few lines.
    #[getter]
    fn words(&self) -> String {
        self.0.to_string()
    }
}
