//! Rows elsewhere: shards that answer bytes with bytes.
//!
//! A log is cut between blocks, one piece a shard, in the order of the log. A question goes to all shards; each answers with the
//! nodes of the tree that its blocks complete, and the caller appends these and completes the tree. No row travels (but
//! for the thin sample that maps are learned from). Parts and folds are made where the rows are, by the seeded hash of the row
//! number.

use super::wire::{Request, Response, decode, encode};
use super::{Answer, Ask, PolicyWeights, Source};
use crate::data::{BareLog, Log, Part, Schema, SplitRule, Summaries, View};
use crate::engine::{Engine, Fold, Forest};
use crate::error::{Error, Result};
use crate::folds::{Control, Design, Partial, Prepared, Risk, RiskSpec, Threads, Weighed, WeightAnswer, WeightAsk};
use crate::policy::{SavedPolicy, TargetPolicy};
use crate::propensity::Fitted;
use crate::rng::hash;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whoever holds a piece of a log and answers questions about it.
///
/// The bytes are those that [`LocalShard`] reads and writes; an implementation carries them to where one is.
pub trait Shard: Send + Sync {
    /// Answers a question.
    fn answer(&self, question: &[u8]) -> Result<Vec<u8>>;
}

/// A log in pieces, asked as one.
#[derive(Clone)]
pub struct Shards {
    shards: Arc<Vec<Box<dyn Shard>>>,
    schema: Schema,
    view: View,
    engine: Arc<Engine>,
}

impl Shards {
    /// The log whose pieces these shards hold, in the order of the log.
    pub fn new(shards: Vec<Box<dyn Shard>>) -> Result<Self> {
        let schema = schema(&shards)?;
        Ok(Shards { shards: Arc::new(shards), schema, view: View::default(), engine: Arc::new(Engine::single()) })
    }

    /// The same log with these threads for what the caller computes itself. An engine that is told to
    /// [stop](Engine::stopped_by) gives up before its next question.
    #[must_use]
    pub fn on(self, engine: Engine) -> Self {
        Shards { engine: Arc::new(engine), ..self }
    }

    /// Train, valid and test of the log, divided by the same rule as [`Log::split`].
    pub fn split(&self, rule: SplitRule) -> DividedShards {
        let of = |parts: &[Part]| Shards { view: View::parts(rule, parts.to_vec()), ..self.clone() };
        DividedShards {
            train: of(&[Part::Train]),
            valid: of(&[Part::Valid]),
            test: of(&[Part::Test]),
            both: of(&[Part::Train, Part::Valid]),
        }
    }

    /// Gives rows without propensities the densities of a model ([`propensity::estimate`](crate::propensity::estimate)): each
    /// shard computes and keeps its own.
    pub fn with_densities(self, fitted: &Fitted) -> Result<Shards> {
        self.send(&Request::Densities { fitted: Box::new(fitted.clone()) })?;
        let schema = schema(&self.shards)?;
        Ok(Shards { schema, ..self })
    }

    /// Sends one request to every shard, side by side, and returns the responses in order.
    fn send(&self, request: &Request) -> Result<Vec<Response>> {
        self.engine.heed();
        self.carry(request)
    }

    /// The same, whether or not the engine was told to stop.
    fn carry(&self, request: &Request) -> Result<Vec<Response>> {
        let bytes = encode(request)?;
        let ask = |shard: &dyn Shard| decode(&shard.answer(&bytes)?);
        let answers: Vec<Result<Response>> = std::thread::scope(|scope| {
            let others: Vec<_> = self.shards.iter().skip(1).map(|s| scope.spawn(|| ask(&**s))).collect();
            let first = self.shards.first().map(|s| ask(&**s));
            let lost = |_| Err(Error::data("a shard was lost"));
            first.into_iter().chain(others.into_iter().map(|t| t.join().unwrap_or_else(lost))).collect()
        });
        answers.into_iter().collect()
    }
}

/// The parts of a log in shards.
pub struct DividedShards {
    /// Learned on.
    pub train: Shards,
    /// Tuned on.
    pub valid: Shards,
    /// Certified on.
    pub test: Shards,
    /// Train and valid together.
    pub(crate) both: Shards,
}

/// The columns that all shards have.
fn schema(shards: &[Box<dyn Shard>]) -> Result<Schema> {
    let mut schema = None;
    for shard in shards {
        let Response::Schema(own) = decode(&shard.answer(&encode(&Request::Schema)?)?)? else {
            return Err(unexpected());
        };
        if schema.get_or_insert_with(|| own.clone()) != &own {
            return Err(Error::data("the shards have different columns")
                .hint("read all pieces of a log with the same roles and the same categories"));
        }
    }
    schema.map(|s| *s).ok_or_else(|| Error::data("there are no shards"))
}

fn unexpected() -> Error {
    Error::data("a shard answered another question than it was asked")
}

impl Source for Shards {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn ask(&self, ask: &Ask) -> Result<Answer> {
        let mut merge = |other: &Answer, into: &mut Answer| ask.merge(other, into);
        let mut all = Forest::default();
        for response in self.send(&Request::Ask { view: self.view.clone(), ask: ask.clone() })? {
            let Response::Answer(forest) = response else { return Err(unexpected()) };
            if forest.nodes().iter().any(|n| !ask.fits(&n.answer)) {
                return Err(unexpected());
            }
            all.append(forest, &mut merge)?;
        }
        let mut answer = all.finish(&mut merge).unwrap_or_else(|| ask.zero());
        ask.finish(&mut answer);
        Ok(answer)
    }

    fn prepare<'a>(&'a self, spec: &RiskSpec) -> Result<Box<dyn Prepared + 'a>> {
        static ASKED: AtomicU64 = AtomicU64::new(0);
        // other callers of the same shards have other questions, or at least other numbers
        let number = ASKED.fetch_add(1, Ordering::Relaxed);
        let key = encode(&(&self.view, spec))?
            .iter()
            .fold(hash(u64::from(std::process::id()), number), |h, b| hash(h, u64::from(*b)));
        let request = Request::Prepare { view: self.view.clone(), key, spec: Box::new(spec.clone()) };
        let mut ready = Remote { shards: self, key, request, rows: 0 };
        ready.rows = ready.prepare()?;
        Ok(Box::new(ready))
    }

    fn weigh_with<'a>(&'a self, policy: &dyn TargetPolicy, control: Option<&Control>) -> Result<Box<dyn Weighed + 'a>> {
        policy.check_against(&self.schema)?;
        let policy = policy.saved().ok_or_else(|| {
            Error::policy("it cannot be sent to where the rows are, since it has no file")
                .hint("evaluate it where the rows are, or write its densities into a column of the log")
        })?;
        let source: &dyn Source = self;
        let range = source.get(Summaries)?.actions.iter().map(|s| [s.min, s.max]).collect();
        Ok(Box::new(RemoteWeights { shards: self, policy, range, control: control.cloned() }))
    }

    fn view<'a>(&'a self, view: &View) -> Result<Box<dyn Source + 'a>> {
        Ok(Box::new(Shards { view: self.view.within(view)?, ..self.clone() }))
    }

    fn alone<'a>(&'a self) -> Box<dyn Source + 'a> {
        Box::new(self.clone())
    }
}

/// A risk that shards have made ready.
struct Remote<'a> {
    shards: &'a Shards,
    key: u64,
    /// What makes it ready.
    request: Request,
    rows: u64,
}

/// How often shards that were started anew may be told again within one evaluation.
const TIMES: usize = 8;

impl Remote<'_> {
    /// Tells every shard to prepare; the rows that are ready.
    fn prepare(&self) -> Result<u64> {
        let ready = |response| match response {
            Response::Prepared { rows } => Ok(rows),
            _ => Err(unexpected()),
        };
        self.shards.send(&self.request)?.into_iter().map(ready).sum()
    }

    /// The answers to a request about what was prepared. A shard that was started anew has its rows but not what was made of them:
    /// it is told again, and must have as many rows as before.
    fn ask(&self, request: &Request) -> Result<Vec<Response>> {
        for _ in 0..TIMES {
            let responses = self.shards.send(request)?;
            if !responses.iter().any(|r| matches!(r, Response::Forgotten)) {
                return Ok(responses);
            }
            let rows = self.prepare()?;
            if rows != self.rows {
                return Err(Error::data(format!(
                    "the shards had {} rows, and {rows} after one of them was started anew",
                    self.rows
                ))
                .hint("do not change the files of a log while it is learned from"));
            }
        }
        Err(Error::data("a shard is started anew again and again").hint("has it enough memory for its rows?"))
    }
}

impl Prepared for Remote<'_> {
    fn rows(&self) -> u64 {
        self.rows
    }

    fn evaluate(&self, risk: &Risk, theta: &[f64], _: Threads, slots: &mut Vec<Partial>) -> Result<()> {
        let request = Request::Risk { key: self.key, theta: theta.to_vec(), graded: risk.is_graded() };
        let mut merge = |other: &Partial, into: &mut Partial| into.merge(other, risk);
        let mut all = Forest::default();
        for response in self.ask(&request)? {
            let Response::Risk(forest) = response else { return Err(unexpected()) };
            all.append(forest, &mut merge)?;
        }
        slots.clear();
        slots.push(all.finish(&mut merge).unwrap_or_default());
        Ok(())
    }
}

impl Drop for Remote<'_> {
    fn drop(&mut self) {
        // a shard that cannot be reached has forgotten it anyway; an engine that was told to stop is unwinding already
        let _ = self.shards.carry(&Request::Release { key: self.key });
    }
}

/// Rows weighed where they are.
struct RemoteWeights<'a> {
    shards: &'a Shards,
    policy: SavedPolicy,
    range: Vec<[f64; 2]>,
    control: Option<Control>,
}

impl Weighed for RemoteWeights<'_> {
    fn answer(&self, ask: &WeightAsk) -> Result<WeightAnswer> {
        let question = PolicyWeights {
            policy: self.policy.clone(),
            range: self.range.clone(),
            control: self.control.clone(),
            weighting: self.shards.schema.weighting,
            ask: ask.clone(),
        };
        let source: &dyn Source = self.shards;
        source.get(question)
    }
}

/// A piece of a log in this process, answering as a shard elsewhere would.
pub struct LocalShard {
    log: Mutex<Held>,
    engine: Engine,
    views: Mutex<Vec<(View, Arc<Log>)>>,
    prepared: Mutex<HashMap<u64, Arc<(Design, RiskSpec)>>>,
}

/// The rows of a shard.
#[derive(Clone)]
struct Held {
    log: Arc<Log>,
    /// Whether its rows have densities.
    weighable: bool,
}

/// Views that a shard keeps: train, valid and test, and those of a cross-validation.
const VIEWS: usize = 24;

impl LocalShard {
    /// A shard that holds these rows; its log must be a run of blocks of the whole log ([`Log::pieces`]).
    pub fn new(log: Log, engine: Engine) -> Self {
        Self::holding(Held { log: Arc::new(log), weighable: true }, engine)
    }

    /// A shard of rows without propensities ([`BareLog::pieces`]): it can be asked what a propensity model asks, and be given
    /// densities.
    pub fn bare(log: BareLog, engine: Engine) -> Self {
        Self::holding(Held { log: Arc::new(log.log().clone()), weighable: false }, engine)
    }

    fn holding(log: Held, engine: Engine) -> Self {
        LocalShard { log: Mutex::new(log), engine, views: Mutex::default(), prepared: Mutex::default() }
    }

    fn log(&self) -> Arc<Log> {
        lock(&self.log).log.clone()
    }

    /// Refuses what needs densities where there are none.
    fn check(&self, request: &Request) -> Result<()> {
        let needs = match request {
            Request::Prepare { .. } | Request::Risk { .. } => true,
            Request::Ask { ask, .. } => matches!(ask, Ask::Weights(_) | Ask::Mass(_)),
            _ => false,
        };
        if needs && !lock(&self.log).weighable {
            return Err(Error::data("the rows have no propensities yet")
                .hint("estimate them first: propensity::estimate, then Shards::with_densities"));
        }
        Ok(())
    }

    /// Computes and keeps densities; what was made of the rows before is forgotten.
    fn give(&self, fitted: &Fitted) {
        let log = BareLog::from_rows((*self.log()).clone());
        let log_p = self.engine.map(log.log().blocks(), |b| fitted.densities.log_densities(b));
        let log = log.with_densities(log_p).estimated(fitted.facts.clone());
        *lock(&self.log) = Held { log: Arc::new(log), weighable: true };
        lock(&self.views).clear();
        lock(&self.prepared).clear();
    }

    /// The rows of a view, made once.
    fn rows(&self, view: &View) -> Result<Arc<Log>> {
        if *view == View::default() {
            return Ok(self.log());
        }
        if let Some((_, log)) = lock(&self.views).iter().find(|(v, _)| v == view) {
            return Ok(log.clone());
        }
        let log = Arc::new(self.log().view(view)?);
        let mut views = lock(&self.views);
        if views.len() == VIEWS {
            views.remove(0);
        }
        views.push((view.clone(), log.clone()));
        Ok(log)
    }

    fn respond(&self, request: Request) -> Result<Response> {
        self.check(&request)?;
        Ok(match request {
            Request::Schema => Response::Schema(Box::new(self.log().schema().clone())),
            Request::Ask { view, ask } => Response::Answer(self.engine.forest(&ask, self.rows(&view)?.blocks())?),
            Request::Prepare { view, key, spec } => {
                let design = Design::from_spec(&*self.rows(&view)?, &spec)?;
                let rows = design.rows() as u64;
                lock(&self.prepared).insert(key, Arc::new((design, *spec)));
                Response::Prepared { rows }
            }
            Request::Risk { key, theta, graded } => {
                let Some(ready) = lock(&self.prepared).get(&key).cloned() else { return Ok(Response::Forgotten) };
                let mut risk = Risk::from_spec(&ready.1)?;
                if !graded {
                    risk = risk.values_only();
                }
                risk.set(&theta);
                Response::Risk(risk.forest(&self.engine, &ready.0)?)
            }
            Request::Densities { fitted } => {
                self.give(&fitted);
                Response::Done
            }
            Request::Release { key } => {
                lock(&self.prepared).remove(&key);
                Response::Done
            }
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shard for LocalShard {
    fn answer(&self, question: &[u8]) -> Result<Vec<u8>> {
        encode(&self.respond(decode(question)?)?)
    }
}
