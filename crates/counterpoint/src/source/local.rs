//! Rows of this process: a log, in memory or in a scratch file, and threads.

use super::{Answer, Ask, Source};
use crate::data::{Log, Schema, View};
use crate::engine::Engine;
use crate::error::Result;
use crate::folds::{
    Control, Design, Here, Partial, Prepared, Risk, RiskSpec, Scored, Threads, Weighed, WeightAnswer, WeightAsk,
    score_again, score_with,
};
use crate::policy::TargetPolicy;
use std::borrow::Cow;

/// The calling thread.
static ALONE: Engine = Engine::single();

/// A log and the threads that ask it; made by [`Log::on`].
#[derive(Clone)]
pub struct Local<'a> {
    log: Cow<'a, Log>,
    engine: &'a Engine,
}

impl<'a> Local<'a> {
    /// A log of its own, with the threads that ask it.
    pub fn owned(log: Log, engine: &'a Engine) -> Self {
        Local { log: Cow::Owned(log), engine }
    }
}

impl Local<'_> {
    /// The rows.
    pub fn rows(&self) -> &Log {
        &self.log
    }
}

impl Log {
    /// This log as a source on the threads of an engine.
    pub fn on<'a>(&'a self, engine: &'a Engine) -> Local<'a> {
        Local { log: Cow::Borrowed(self), engine }
    }
}

impl Source for Local<'_> {
    fn schema(&self) -> &Schema {
        self.log.schema()
    }

    fn engine(&self) -> &Engine {
        self.engine
    }

    fn log(&self) -> Option<&Log> {
        Some(&self.log)
    }

    fn ask(&self, ask: &Ask) -> Result<Answer> {
        Ok(answer(&self.log, self.engine, ask))
    }

    fn prepare<'a>(&'a self, spec: &RiskSpec) -> Result<Box<dyn Prepared + 'a>> {
        Ok(Box::new(Ready { design: Design::from_spec(&self.log, spec)?, engine: self.engine }))
    }

    fn weigh_with<'a>(&'a self, policy: &dyn TargetPolicy, control: Option<&Control>) -> Result<Box<dyn Weighed + 'a>> {
        Ok(Box::new(Weights { rows: score_with(self.engine, &self.log, policy, control)?, engine: self.engine }))
    }

    fn weigh_again<'a>(
        &'a self,
        rows: &dyn Weighed,
        policy: &dyn TargetPolicy,
        control: &Control,
    ) -> Result<Box<dyn Weighed + 'a>> {
        again(&self.log, self.engine, rows, policy, control)
    }

    fn view<'a>(&'a self, view: &View) -> Result<Box<dyn Source + 'a>> {
        Ok(Box::new(Local { log: seen(&self.log, view)?, engine: self.engine }))
    }

    fn alone<'a>(&'a self) -> Box<dyn Source + 'a> {
        Box::new(Local { log: Cow::Borrowed(&self.log), engine: &ALONE })
    }
}

/// A log alone is asked on all cores.
impl Source for Log {
    fn schema(&self) -> &Schema {
        Log::schema(self)
    }

    fn engine(&self) -> &Engine {
        Engine::shared()
    }

    fn log(&self) -> Option<&Log> {
        Some(self)
    }

    fn ask(&self, ask: &Ask) -> Result<Answer> {
        Ok(answer(self, Engine::shared(), ask))
    }

    fn prepare<'a>(&'a self, spec: &RiskSpec) -> Result<Box<dyn Prepared + 'a>> {
        Ok(Box::new(Ready { design: Design::from_spec(self, spec)?, engine: Engine::shared() }))
    }

    fn weigh_with<'a>(&'a self, policy: &dyn TargetPolicy, control: Option<&Control>) -> Result<Box<dyn Weighed + 'a>> {
        let engine = Engine::shared();
        Ok(Box::new(Weights { rows: score_with(engine, self, policy, control)?, engine }))
    }

    fn weigh_again<'a>(
        &'a self,
        rows: &dyn Weighed,
        policy: &dyn TargetPolicy,
        control: &Control,
    ) -> Result<Box<dyn Weighed + 'a>> {
        again(self, Engine::shared(), rows, policy, control)
    }

    fn view<'a>(&'a self, view: &View) -> Result<Box<dyn Source + 'a>> {
        Ok(Box::new(Local { log: seen(self, view)?, engine: Engine::shared() }))
    }

    fn alone<'a>(&'a self) -> Box<dyn Source + 'a> {
        Box::new(self.on(&ALONE))
    }
}

/// The rows of a view; all rows are those that are there.
fn seen<'a>(log: &'a Log, view: &View) -> Result<Cow<'a, Log>> {
    if *view == View::default() { Ok(Cow::Borrowed(log)) } else { log.view(view).map(Cow::Owned) }
}

/// Answers of which a log remembers what it said are not asked of its rows again.
fn answer(log: &Log, engine: &Engine, ask: &Ask) -> Answer {
    match ask {
        Ask::Summaries(_) => Answer::Summaries(log.summaries_on(engine).clone()),
        _ => engine.ask(ask, log.blocks()),
    }
}

/// Rows of this log that were weighed before keep their weights.
fn again<'a>(
    log: &Log,
    engine: &'a Engine,
    rows: &dyn Weighed,
    policy: &dyn TargetPolicy,
    by: &Control,
) -> Result<Box<dyn Weighed + 'a>> {
    let rows = match rows.scored().filter(|rows| rows.len() == log.blocks().len()) {
        Some(rows) => score_again(engine, log, policy, rows, by)?,
        None => score_with(engine, log, policy, Some(by))?,
    };
    Ok(Box::new(Weights { rows, engine }))
}

struct Ready<'a> {
    design: Design,
    engine: &'a Engine,
}

impl Prepared for Ready<'_> {
    fn rows(&self) -> u64 {
        self.design.rows() as u64
    }

    fn evaluate(&self, risk: &Risk, theta: &[f64], threads: Threads, slots: &mut Vec<Partial>) -> Result<()> {
        (self.engine, &self.design).evaluate(risk, theta, threads, slots)
    }
}

struct Weights<'a> {
    rows: Vec<Scored>,
    engine: &'a Engine,
}

impl Weighed for Weights<'_> {
    fn answer(&self, ask: &WeightAsk) -> Result<WeightAnswer> {
        Here(self.engine, &self.rows).answer(ask)
    }

    fn scored(&self) -> Option<&[Scored]> {
        Some(&self.rows)
    }
}
