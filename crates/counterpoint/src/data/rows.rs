//! From columns to blocks: checked rows are appended to blocks of [`BLOCK_ROWS`], and nothing else is kept, so that a
//! log of any size is read with one chunk beside it.
//!
//! Categories are kept as numbers of their words until the end, when all words are known and sorted; only then do they
//! become 0/1 columns. One pass over the files is enough.

use super::block_builder::BlockBuilder;
use super::check::{Checker, Chunk, Context, Range, Values};
use super::gather::{Gathered, once_each};
use super::log::{BLOCK_ROWS, Log, Outcome};
#[cfg(feature = "readers")]
use super::log::{Block, Dropped};
use super::scratch::Scratch;
use super::split::Part;
use super::target::TargetColumns;
use super::weighting::Weighting;
use crate::error::{Error, Hint, Remedy, Result};
use crate::math;
use crate::rng::hash;

/// The columns of a log before its categories are known.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) contexts: Vec<Context>,
    pub(super) actions: Vec<String>,
    pub(super) outcome: String,
    pub(super) direction: Outcome,
    /// None: a log whose propensities are to be estimated.
    pub(super) propensity: Option<String>,
    pub(super) weight: Option<String>,
    pub(super) weighting: Weighting,
    pub(super) target: Option<TargetColumns>,
    pub(super) cluster: Option<String>,
    pub(super) split: Option<String>,
}

impl Layout {
    /// Names of the columns in the order of a chunk.
    #[cfg(feature = "readers")]
    pub(super) fn columns(&self) -> Vec<String> {
        let contexts = self.contexts.iter().map(|c| &c.name);
        let rest = self.actions.iter().chain([&self.outcome]).chain(&self.propensity).chain(&self.weight);
        contexts.chain(rest).chain(self.target_names()).chain(&self.cluster).chain(&self.split).cloned().collect()
    }
}

impl Layout {
    pub(super) fn target_names(&self) -> &[String] {
        self.target.as_ref().map_or(&[], TargetColumns::names)
    }

    /// How many contexts, actions, target and cluster columns.
    pub(super) fn widths(&self) -> [usize; 4] {
        let cluster = usize::from(self.cluster.is_some());
        [self.contexts.len(), self.actions.len(), self.target_names().len(), cluster]
    }
}

/// Collects chunks whose columns are the contexts, the actions, the outcome, the propensity, then weight, target, cluster and split
/// where the layout has them.
pub(super) struct Rows {
    layout: Layout,
    checker: Checker,
    builder: BlockBuilder,
    scratch: Option<Scratch>,
    memory: Option<u64>,
    parts: Vec<Part>,
    seen: u64,
}

impl Rows {
    pub(super) fn new(layout: Layout, drop_invalid: bool, scratch: Option<&Scratch>) -> Result<Self> {
        let missing = |what: &str| Error::data(format!("the log has no {what} column"));
        if layout.outcome.is_empty() {
            return Err(missing("reward or cost"));
        }
        if layout.propensity.as_ref().is_some_and(String::is_empty) {
            let what = "a propensity is the density with which the logging policy chose the action; a log without them can \
                        have them estimated (";
            return Err(missing("propensity").hint(Hint::from(what) + Remedy::FitPropensity + ")"));
        }
        if layout.actions.is_empty() {
            return Err(missing("action"));
        }
        let contexts = layout.contexts.iter().map(|c| &c.name);
        let rest = [&layout.outcome].into_iter().chain(&layout.propensity).chain(&layout.weight);
        once_each(contexts.chain(&layout.actions).chain(rest).chain(layout.target_names()))?; // a cluster may be a context too
        let free = layout.actions.iter().chain([&layout.outcome]).map(|n| (n.clone(), Range::Any));
        let propensity = layout.propensity.iter().map(|n| (n.clone(), Range::Positive));
        let of_weights = if layout.weighting == Weighting::Counts { Range::Count } else { Range::NotNegative };
        let weight = layout.weight.iter().map(|n| (n.clone(), of_weights));
        let held = if matches!(layout.target, Some(TargetColumns::Density(_))) { Range::Density } else { Range::Any };
        let target = layout.target_names().iter().map(|n| (n.clone(), held));
        let cluster = layout.cluster.iter().map(|n| (n.clone(), Range::Key));
        let split = layout.split.iter().map(|n| (n.clone(), Range::Any));
        let others = free.chain(propensity).chain(weight).chain(target).chain(cluster).chain(split).collect();
        let checker = Checker::new(layout.contexts.clone(), others, drop_invalid);
        let builder = BlockBuilder::new(layout.widths(), scratch)?;
        Ok(Rows { layout, checker, builder, scratch: scratch.cloned(), memory: None, parts: Vec::new(), seen: 0 })
    }

    /// Refuses rows beyond so many bytes of memory.
    #[cfg_attr(not(feature = "readers"), allow(dead_code))] // only readers meet logs that may be too large
    pub(super) fn within(mut self, memory: Option<u64>) -> Self {
        self.memory = memory;
        self.builder = self.builder.within(memory);
        self
    }

    /// Checks and appends the rows of a chunk.
    pub(super) fn add(&mut self, chunk: &Chunk) -> Result<()> {
        self.checker.check(chunk)?;
        let mut at = 0;
        while at < chunk.rows {
            if self.checker.bad[at] {
                at += 1;
                continue;
            }
            let room = BLOCK_ROWS - self.builder.open()?.rows();
            let run = self.checker.bad[at..].iter().take(room).take_while(|b| !**b).count();
            self.append(chunk, at, run)?;
            at += run;
        }
        self.seen += chunk.rows as u64;
        Ok(())
    }

    /// Appends `run` good rows from row `at` on to the last block, which has room for them.
    fn append(&mut self, chunk: &Chunk, at: usize, run: usize) -> Result<()> {
        let [d, q, t, clusters] = self.layout.widths();
        let first_target =
            d + q + 1 + [&self.layout.propensity, &self.layout.weight].iter().filter(|c| c.is_some()).count();
        let cluster = (clusters > 0).then_some(first_target + t);
        let block = self.builder.open()?;
        let rows = at..at + run;
        let first = self.seen + at as u64;
        block.ids.to_mut().extend(first..first + run as u64);
        for (c, values) in chunk.columns.iter().enumerate() {
            match values {
                Values::Numbers(v) => {
                    let v = &v[rows.clone()];
                    match c {
                        _ if c < d => block.x[c].to_mut().extend_from_slice(v),
                        _ if c < d + q => block.a[c - d].to_mut().extend_from_slice(v),
                        _ if c == d + q => {
                            let sign = self.layout.direction.to_user(1.0);
                            block.y.to_mut().extend(v.iter().map(|y| sign * y));
                        }
                        _ if c == d + q + 1 && self.layout.propensity.is_some() => {
                            block.log_p.to_mut().extend(v.iter().map(|p| math::ln(*p)))
                        }
                        _ if c < first_target => block.omega.to_mut().extend_from_slice(v),
                        _ => {
                            let Some(target) = &self.layout.target else { continue };
                            block.target[c - first_target].to_mut().extend(v.iter().map(|v| target.held(*v)));
                        }
                    }
                }
                Values::Words(w) if Some(c) == cluster => {
                    block.cluster[0].to_mut().extend(w[rows.clone()].iter().flatten().map(|w| cluster_key(w)));
                }
                Values::Words(_) if c < d => self.checker.encode(chunk, c, rows.clone(), block.x[c].to_mut())?,
                Values::Words(w) => self.parts.extend(w[rows.clone()].iter().flatten().flat_map(|w| w.parse::<Part>())),
                Values::Parts(p) => self.parts.extend_from_slice(&p[rows.clone()]),
            }
        }
        if self.layout.propensity.is_none() {
            block.log_p.to_mut().resize(block.y.len(), 0.0); // a BareLog shows them to nobody
        }
        if self.layout.weight.is_none() {
            block.omega.to_mut().resize(block.y.len(), 1.0);
        }
        Ok(())
    }

    /// The log: categories become 0/1 columns, and what is left must be something.
    pub(super) fn finish(self) -> Result<Log> {
        let Rows { layout, checker, builder, scratch, memory, parts, seen } = self;
        let dropped = checker.dropped();
        let blocks = builder.finish()?;
        Gathered { layout, contexts: checker.contexts, blocks, parts, dropped, seen, scratch, memory }.into_log()
    }

    /// The blocks that are full, each with the parts of its rows; they are the caller's from now on.
    #[cfg(feature = "readers")]
    pub(super) fn take_full(&mut self) -> Result<Vec<(Block, Vec<Part>)>> {
        let parts = &mut self.parts;
        let own = |b: Block| {
            let own = parts.drain(..b.rows().min(parts.len())).collect();
            (b, own)
        };
        Ok(self.builder.take_full()?.into_iter().map(own).collect())
    }

    /// What has been read so far, but for the blocks that were taken: contexts, rows seen, rows left out, the block that is not full
    /// and the parts of its rows.
    #[cfg(feature = "readers")]
    pub(super) fn progress(&self) -> (&[Context], u64, Dropped, Option<&Block>, &[Part]) {
        (&self.checker.contexts, self.seen, self.checker.dropped(), self.builder.last(), &self.parts)
    }

    /// Goes on where another process stopped: its layout gives the contexts.
    #[cfg(feature = "readers")]
    pub(super) fn resume(mut self, seen: u64, dropped: &Dropped, next: u64, last: Option<(Block, Vec<Part>)>) -> Self {
        self.checker.resume(dropped);
        self.seen = seen;
        let (block, parts) = last.unzip();
        self.builder.resume(next, block);
        self.parts = parts.unwrap_or_default();
        self
    }
}

/// The key of a cluster: a hash of its name in 53 bits, which a column of numbers holds exactly.
fn cluster_key(name: &str) -> f64 {
    (name.bytes().fold(4, |h, b| hash(h, u64::from(b))) >> 11) as f64
}
