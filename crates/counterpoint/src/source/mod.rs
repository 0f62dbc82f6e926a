//! Where are the rows? The contract between statistics and rows.
//!
//! Learning, evaluation, certificates and descriptions ask questions of rows and never touch one. A question is data
//! ([`Ask`]), its answer too ([`Answer`]), and answers merge in a fixed tree over the blocks of the log, so it does not matter
//! who holds the rows: a [`Log`] in memory or in a scratch file, or [`Shards`], which answer bytes with bytes and may be on
//! other machines. The same rows give the same bits.
//!
//! The one hot question, the risk of a policy with its gradient, is prepared once ([`Source::prepare`]): then theta goes in and sums
//! come out. The optimiser stays with the caller.

mod local;
mod questions;
mod shards;
mod wire;

pub use local::Local;
pub use questions::{Answer, Ask, PolicyWeights};
pub use shards::{DividedShards, LocalShard, Shard, Shards};

use crate::data::{Hashed, Hashes, Log, Schema, Summaries, View};
use crate::engine::{Engine, Member};
use crate::error::{Error, Result};
use crate::folds::{Control, Prepared, RiskSpec, Weighed};
use crate::policy::TargetPolicy;

/// Rows that can be asked.
///
/// A [`Log`] is one, on all cores; [`Log::on`] chooses the threads.
///
/// ```
/// use counterpoint::source::Source;
/// use counterpoint::{Engine, Log, data::Summaries};
/// let log = Log::builder().action("a", vec![0.5, 2.0]).cost("y", vec![1.0, 2.0]).propensity("p", vec![0.2, 0.1]).build()?;
/// let engine = Engine::single();
/// let source: &dyn Source = &log.on(&engine);
/// assert_eq!(source.get(Summaries)?.cost.mean(), 1.5);
/// # Ok::<(), counterpoint::Error>(())
/// ```
pub trait Source: Sync {
    /// The columns and their roles.
    fn schema(&self) -> &Schema;

    /// The threads of the caller.
    fn engine(&self) -> &Engine;

    /// The log itself where its rows are in this process: for what only a function of the caller can say of a row, such as the
    /// density of a policy that has no file.
    fn log(&self) -> Option<&Log> {
        None
    }

    /// Answers a question.
    fn ask(&self, ask: &Ask) -> Result<Answer>;

    /// Makes the rows ready for the risk of policies of one structure.
    fn prepare<'a>(&'a self, spec: &RiskSpec) -> Result<Box<dyn Prepared + 'a>>;

    /// Weighs the rows by a policy.
    fn weigh<'a>(&'a self, policy: &dyn TargetPolicy) -> Result<Box<dyn Weighed + 'a>> {
        self.weigh_with(policy, None)
    }

    /// Weighs the rows by a policy; their costs are less what contexts explain of them.
    fn weigh_with<'a>(&'a self, policy: &dyn TargetPolicy, control: Option<&Control>) -> Result<Box<dyn Weighed + 'a>>;

    /// The same of rows that this source has weighed by this policy before, which may save looking at the policy again.
    fn weigh_again<'a>(
        &'a self,
        _rows: &dyn Weighed,
        policy: &dyn TargetPolicy,
        control: &Control,
    ) -> Result<Box<dyn Weighed + 'a>> {
        self.weigh_with(policy, Some(control))
    }

    /// Some of the rows, as a source of their own.
    fn view<'a>(&'a self, view: &View) -> Result<Box<dyn Source + 'a>>;

    /// The same rows, asked on the calling thread alone: for work of which several pieces run side by side.
    fn alone<'a>(&'a self) -> Box<dyn Source + 'a>;
}

/// The fewest rows that a first look at a log may take.
pub(crate) const LEAST_ROWS: usize = 100_000;

/// The seed by which blocks are chosen.
const BLOCKS: u64 = 0x626c_6f63_6b73;

/// Some of the rows, and how many there are of how many.
pub(crate) struct Thin<'a> {
    pub(crate) source: Box<dyn Source + 'a>,
    pub(crate) rows: u64,
    pub(crate) of: u64,
}

impl<'s> dyn Source + 's {
    /// About so many of the rows, in whole blocks; nothing where there are not twice as many.
    pub(crate) fn thin(&self, wanted: u64) -> Result<Option<Thin<'_>>> {
        let rows = |source: &dyn Source| Ok::<u64, Error>(source.get(Summaries)?.rows);
        let of = rows(self)?;
        if of < wanted.saturating_mul(2) {
            return Ok(None);
        }
        let source = self.one_of(of / wanted.max(1))?;
        Ok(Some(Thin { rows: rows(&*source)?, of, source }))
    }

    /// One of so many blocks. A block that is among one of eight is among one of four.
    pub(crate) fn one_of(&self, blocks: u64) -> Result<Box<dyn Source + '_>> {
        self.view(&View::blocks(BLOCKS, blocks))
    }

    /// The answer to this question, where that is possible without looking at most hashes.
    pub(crate) fn recognise(&self, all: Hashes) -> Result<Hashed> {
        let found = self.get(all.among(self.get(Summaries)?.rows))?;
        // hashes of rows that are alike are not evenly spread: then they are all looked at
        let whole = found.smallest.len() == all.keep || found.smallest.len() as u64 == found.rows;
        if whole { Ok(found) } else { self.get(all) }
    }

    /// Asks one of the questions and takes its own answer.
    pub fn get<Q: Member<Ask, Answer>>(&self, question: Q) -> Result<Q::Own> {
        let answer = self.ask(&question.listed())?;
        Q::own(answer).ok_or_else(|| Error::data("the answer to another question came back"))
    }
}
