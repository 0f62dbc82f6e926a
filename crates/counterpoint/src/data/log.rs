//! The log in memory: a schema and blocks of rows.

use super::build::LogBuilder;
use super::hashes::Recognised;
use super::input::Input;
use super::propensities::Propensities;
use super::sample::Sample;
use super::scratch::{Scratch, Span};
use super::summary::{Columns, Summaries, Summary};
use super::target::TargetColumns;
use super::weighting::Weighting;
use crate::engine::{Engine, Placed};
use crate::rng::hash;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// Rows per block at most. Part of the definition of every sum: changing it changes last bits.
pub const BLOCK_ROWS: usize = 1024;

/// Whether the user's outcome column is better when large or when small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Larger is better; enters as its negative.
    Reward,
    /// Smaller is better.
    Cost,
}

impl Outcome {
    /// Turns a cost inside into a value on the user's scale, and back.
    pub fn to_user(self, cost: f64) -> f64 {
        match self {
            Outcome::Reward => -cost,
            Outcome::Cost => cost,
        }
    }

    /// A range of outcomes on the user's scale as a range of costs.
    pub fn costs_between(self, [low, high]: [f64; 2]) -> [f64; 2] {
        match self {
            Outcome::Reward => [-high, -low],
            Outcome::Cost => [low, high],
        }
    }
}

/// The names of the columns and their roles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// The context columns of the user's file, and how they became numbers.
    #[serde(default)]
    pub inputs: Vec<Input>,
    /// Context columns as numbers: the inputs, with a column a category.
    pub contexts: Vec<String>,
    /// Action columns.
    pub actions: Vec<String>,
    /// The outcome column.
    pub outcome: String,
    /// Its direction.
    pub direction: Outcome,
    /// The logging density of the action: its column, or that there is none.
    pub propensity: String,
    /// Where the densities come from; what was estimated says so in every later result.
    #[serde(default)]
    pub propensities: Propensities,
    /// Row weights, if there are any.
    pub weight: Option<String>,
    /// What they mean.
    #[serde(default)]
    pub weighting: Weighting,
    /// The mean of sampling weights as they were given: inside, their mean is 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub weight_mean: f64,
    /// What rows that belong together share (a user, a branch), if they do: they are never divided, and count as one draw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// A policy to be evaluated that stands in columns of the log, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetColumns>,
    /// The actions at which a model of others predicts the outcome, ascending: the last contexts are its predictions there, in the
    /// direction of the outcome. Empty where nobody brings any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predictions: Vec<f64>,
}

fn one() -> f64 {
    1.0
}

fn is_one(v: &f64) -> bool {
    *v == 1.0
}

/// A run of rows, column by column.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its place among the blocks of the log as it was read; a part, a fold or a shard of a log keeps it.
    pub index: u64,
    /// Row numbers in the log as it was given, from 0.
    pub ids: Span<u64>,
    /// Contexts, one span a column.
    pub x: Vec<Span<f64>>,
    /// Actions, one span a column.
    pub a: Vec<Span<f64>>,
    /// ln of the logging density.
    pub log_p: Span<f64>,
    /// Costs.
    pub y: Span<f64>,
    /// Row weights, 1 where the user gave none; [`Weighting`] says what they mean.
    pub omega: Span<f64>,
    /// What the log says of a policy to be evaluated: ln of its density, or its actions; see [`TargetColumns`].
    pub target: Vec<Span<f64>>,
    /// The key of each row's cluster, one span where the log has clusters and none where it has not; see [`key`](Self::key).
    pub cluster: Vec<Span<f64>>,
}

impl Block {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.y.len()
    }

    /// What a row is divided and drawn by: its cluster, or its own number where there are none.
    pub fn key(&self, i: usize) -> u64 {
        self.cluster.first().map_or(self.ids[i], |c| c[i] as u64)
    }

    /// A sum over rows of a hash of the row number: tells whether two passes saw the same rows.
    pub fn fingerprint(&self) -> u64 {
        self.ids.iter().fold(0, |f: u64, &i| f.wrapping_add(hash(0, i)))
    }

    /// A hash of a row's number and of every number in it: the same row has the same hash, whatever its neighbours.
    pub fn row_hash(&self, i: usize) -> u64 {
        let numbers = self.x.iter().chain(&self.a).map(|c| c[i]).chain([self.log_p[i], self.y[i], self.omega[i]]);
        numbers.fold(hash(1, self.ids[i]), |h, v| hash(h, v.to_bits()))
    }

    /// A hash of every number in a row but its own: a copy of a row has the hash of the row, wherever it stands.
    pub fn content_hash(&self, i: usize) -> u64 {
        // the weight of a row may depend on its neighbours: its place in the hash is kept by a 1
        let numbers = self.x.iter().chain(&self.a).map(|c| c[i]).chain([self.log_p[i], self.y[i], 1.0]);
        numbers.fold(2, |h, v| hash(h, (v + 0.0).to_bits()))
    }

    /// A hash of a row's action and its density: of a continuous action hardly ever that of another row.
    pub fn action_hash(&self, i: usize) -> u64 {
        self.a.iter().map(|c| c[i]).chain([self.log_p[i]]).fold(3, |h, v| hash(h, (v + 0.0).to_bits()))
    }

    /// The hashes of all rows, as [`row_hash`](Self::row_hash) and its kin give them one by one: column after column, for then a hash need not
    /// wait for the last one.
    pub(crate) fn hashes(&self, by: Recognised) -> Vec<u64> {
        let mut hashes: Vec<u64> = match by {
            Recognised::Row => self.ids.iter().map(|i| hash(1, *i)).collect(),
            Recognised::Content => vec![2; self.rows()],
            Recognised::Action => vec![3; self.rows()],
        };
        // rows are told by their bits, contents by their values: -0 is 0
        let zero = if by == Recognised::Row { -0.0 } else { 0.0 };
        let contexts = if by == Recognised::Action { &[] } else { &self.x[..] };
        contexts.iter().chain(&self.a).chain([&self.log_p]).for_each(|c| mix(&mut hashes, c, zero));
        match by {
            Recognised::Row => [&self.y, &self.omega].into_iter().for_each(|c| mix(&mut hashes, c, zero)),
            Recognised::Content => {
                mix(&mut hashes, &self.y, zero);
                hashes.iter_mut().for_each(|h| *h = hash(*h, 1f64.to_bits()));
            }
            Recognised::Action => {}
        }
        hashes
    }

    /// Context row i, gathered into `out`.
    pub fn context(&self, i: usize, out: &mut [f64]) {
        for (o, column) in out.iter_mut().zip(&self.x) {
            *o = column[i];
        }
    }

    /// Action row i, gathered into `out`.
    pub fn action(&self, i: usize, out: &mut [f64]) {
        for (o, column) in out.iter_mut().zip(&self.a) {
            *o = column[i];
        }
    }

    /// An empty block with room for rows of d contexts, q actions and t target columns.
    pub(super) fn with_room([d, q, t, k]: [usize; 4], rows: usize) -> Self {
        Block {
            index: 0,
            ids: Vec::with_capacity(rows).into(),
            x: (0..d).map(|_| Vec::with_capacity(rows).into()).collect(),
            a: (0..q).map(|_| Vec::with_capacity(rows).into()).collect(),
            log_p: Vec::with_capacity(rows).into(),
            y: Vec::with_capacity(rows).into(),
            omega: Vec::with_capacity(rows).into(),
            target: (0..t).map(|_| Vec::with_capacity(rows).into()).collect(),
            cluster: (0..k).map(|_| Vec::with_capacity(rows).into()).collect(),
        }
    }

    /// Bytes that its columns take.
    pub(super) fn bytes(&self) -> u64 {
        let columns = self.x.len() + self.a.len() + self.target.len() + self.cluster.len() + 4;
        (self.rows() * columns * size_of::<f64>()) as u64
    }

    /// Whether any of its columns has memory of its own.
    pub(super) fn is_in_memory(&self) -> bool {
        let mut columns = self.x.iter().chain(&self.a).chain([&self.log_p, &self.y, &self.omega]);
        let mut rest = self.target.iter().chain(&self.cluster);
        self.ids.in_memory() || columns.any(Span::in_memory) || rest.any(Span::in_memory)
    }

    /// The block with its columns in memory.
    #[cfg(feature = "readers")]
    pub(super) fn in_memory(mut self) -> Self {
        self.ids.to_mut();
        let Block { x, a, log_p, y, omega, target, cluster, .. } = &mut self;
        let columns = x.iter_mut().chain(a).chain([log_p, y, omega]).chain(target).chain(cluster);
        for column in columns {
            column.to_mut();
        }
        self
    }

    pub(super) fn push(&mut self, from: &Block, i: usize) {
        self.ids.to_mut().push(from.ids[i]);
        let columns = self.x.iter_mut().zip(&from.x).chain(self.a.iter_mut().zip(&from.a));
        let rest = self.target.iter_mut().zip(&from.target).chain(self.cluster.iter_mut().zip(&from.cluster));
        for (to, from) in columns.chain(rest) {
            to.to_mut().push(from[i]);
        }
        self.log_p.to_mut().push(from.log_p[i]);
        self.y.to_mut().push(from.y[i]);
        self.omega.to_mut().push(from.omega[i]);
    }
}

impl Placed for Block {
    fn index(&self) -> u64 {
        self.index
    }

    fn passed(&self) {
        self.y.passed(self.bytes() as usize); // its columns lie beside each other
    }
}

/// Goes on with the hashes of rows by a column; v - 0 is v with its sign, v + 0 has no negative zero.
fn mix(hashes: &mut [u64], column: &[f64], zero: f64) {
    hashes.iter_mut().zip(column).for_each(|(h, v)| *h = hash(*h, (v + zero).to_bits()));
}

/// A log, checked: every number is finite, every density and every weight usable.
///
/// ```
/// use counterpoint::Log;
/// let log = Log::builder()
///     .context("hour", vec![9.0, 14.0, 20.0])
///     .action("bid", vec![1.0, 1.5, 0.7])
///     .propensity("density", vec![0.4, 0.3, 0.5])
///     .reward("sales", vec![0.0, 2.0, 0.0])
///     .build()?;
/// assert_eq!(log.rows(), 3);
/// assert_eq!(log.blocks()[0].y, [0.0, -2.0, 0.0]); // inside there are costs
/// # Ok::<(), counterpoint::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    pub(super) schema: Schema,
    pub(super) blocks: Vec<Block>,
    pub(super) parts: Option<Vec<super::Part>>,
    pub(super) dropped: Dropped,
    pub(super) scratch: Option<Scratch>,
    pub(super) known: Known,
}

/// What a log was asked before. Its rows never change, so neither does the answer; a clone knows it too.
#[derive(Clone, Debug, Default)]
pub(super) struct Known(OnceLock<Columns>);

/// Logs are equal or not by their rows, whatever they were asked.
impl PartialEq for Known {
    fn eq(&self, _: &Known) -> bool {
        true
    }
}

/// Rows left out because a value was unusable; only where the user asked for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// Number of rows.
    pub rows: usize,
    /// Unusable values by column. A row with two of them counts in both columns.
    pub columns: Vec<(String, usize)>,
}

impl std::fmt::Display for Dropped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let columns: Vec<String> = self.columns.iter().map(|(name, n)| format!("{n} in {name:?}")).collect();
        write!(f, "{}", columns.join(", "))
    }
}

impl Log {
    /// Starts a log from columns in memory.
    pub fn builder<'a>() -> LogBuilder<'a> {
        LogBuilder::default()
    }

    /// The columns and their roles.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The blocks, in order.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.blocks.iter().map(Block::rows).sum()
    }

    /// Rows left out while reading.
    pub fn dropped(&self) -> &Dropped {
        &self.dropped
    }

    /// Whether the log came with a column of parts; see [`SplitRule::Column`](super::SplitRule::Column).
    pub fn has_parts(&self) -> bool {
        self.parts.is_some()
    }

    /// Other rows under the same columns.
    pub(super) fn of_blocks(&self, blocks: Vec<Block>) -> Log {
        Log {
            schema: self.schema.clone(),
            blocks,
            parts: None,
            dropped: Dropped::default(),
            scratch: self.scratch.clone(),
            known: Known::default(),
        }
    }

    /// The log without its rows: the columns, and what was left out.
    pub fn heading(&self) -> Log {
        Log { dropped: self.dropped.clone(), ..self.of_blocks(Vec::new()) }
    }

    /// Whether what is made of this log is put into scratch files.
    pub fn in_scratch(&self) -> bool {
        self.scratch.is_some()
    }

    /// Where what is made of this log is put, if not in memory.
    pub(crate) fn scratch(&self) -> Option<&Scratch> {
        self.scratch.as_ref()
    }

    /// Number of contexts d.
    pub fn d(&self) -> usize {
        self.schema.contexts.len()
    }

    /// Number of action columns q.
    pub fn q(&self) -> usize {
        self.schema.actions.len()
    }

    /// Summaries of all columns, and the number of rows.
    pub fn summaries(&self) -> Columns {
        self.summaries_on(&Engine::single()).clone()
    }

    /// The same on threads: the rows are passed over the first time only.
    pub(crate) fn summaries_on(&self, engine: &Engine) -> &Columns {
        match self.known.0.get() {
            Some(known) => known,
            // asked first and kept then: a thread that waited here for another could be one that the other needs
            None => {
                let answer = engine.ask(&Summaries, &self.blocks);
                self.known.0.get_or_init(|| answer)
            }
        }
    }

    /// Summaries of the context columns.
    pub fn context_summaries(&self) -> Vec<Summary> {
        self.summaries().contexts
    }

    /// Summaries of the action columns.
    pub fn action_summaries(&self) -> Vec<Summary> {
        self.summaries().actions
    }

    /// Summary of the costs.
    pub fn cost_summary(&self) -> Summary {
        self.summaries().cost
    }

    /// At most about `rows` rows chosen by a hash of their numbers, contexts (row-major) and actions (row-major); see [`Sample`].
    pub fn thin(&self, rows: usize) -> (Vec<f64>, Vec<f64>) {
        let sample = Engine::single().ask(&Sample::of(self.rows() as u64, rows), &self.blocks);
        (sample.x, sample.a)
    }
}
