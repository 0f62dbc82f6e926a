//! From columns to blocks: checked rows are appended to blocks of [`BLOCK_ROWS`], and nothing else is kept, so that a
//! log of any size is read with one chunk beside it.
//!
//! Categories are kept as numbers of their words until the end, when all words are known and sorted; only then do they
//! become 0/1 columns. One pass over the files is enough.

use super::block_builder::BlockBuilder;
use super::check::{Checker, Chunk, Context, Gaps, Range, Values};
use super::input::{Input, check_word};
use super::log::{BLOCK_ROWS, Block, Log, Outcome, Schema};
use super::propensities::Propensities;
use super::scratch::Scratch;
use super::split::Part;
use super::target::TargetColumns;
use super::weighting::Weighting;
use crate::error::{Error, Hint, Remedy, Result};
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
    fn target_names(&self) -> &[String] {
        self.target.as_ref().map_or(&[], TargetColumns::names)
    }

    /// How many contexts, actions, target and cluster columns.
    fn widths(&self) -> [usize; 4] {
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
                            block.log_p.to_mut().extend(v.iter().map(|p| p.ln()))
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
        if self.seen == 0 {
            return Err(Error::data("the log has no rows").hint("a log needs rows in train, valid and test"));
        }
        let dropped = self.checker.dropped();
        let mut blocks = self.builder.finish()?;
        if blocks.is_empty() {
            let counts = format!("unusable values: {dropped}");
            return Err(Error::data(format!("all {} rows have an unusable value", self.seen)).hint(counts));
        }
        if let Some(name) = &self.layout.weight
            && blocks.iter().flat_map(|b| &b.omega).all(|w| *w == 0.0)
        {
            return Err(Error::data("all row weights are 0, so the log says nothing")
                .at(format!("column {name:?}"))
                .hint(Hint::from("leave ") + Remedy::RowWeight + " out to count every row once"));
        }
        let fill = |c: usize, gaps| if gaps == Gaps::Kept { fill(&blocks, c) } else { None };
        let expansion = Expansion::new(&self.checker.contexts, fill);
        let contexts = Input::expand(&expansion.inputs);
        let weight_mean = match self.layout.weighting {
            Weighting::Sampling if self.layout.weight.is_some() => mean_weight(&blocks),
            _ => 1.0,
        };
        if expansion.changes() || weight_mean != 1.0 {
            let [_, q, t, k] = self.layout.widths();
            let mut builder = BlockBuilder::new([contexts.len(), q, t, k], self.scratch.as_ref())?.within(self.memory);
            for mut block in std::mem::take(&mut blocks) {
                let n = block.rows();
                expansion.apply(&mut block.x, n);
                if weight_mean != 1.0 {
                    block.omega = block.omega.iter().map(|w| w / weight_mean).collect::<Vec<f64>>().into();
                }
                builder.add(block)?;
            }
            blocks = builder.finish()?;
        }
        let inputs = expansion.inputs;
        let Layout { actions, outcome, direction, propensity, weight, weighting, target, cluster, split, .. } =
            self.layout;
        once_each(contexts.iter().chain(&actions).chain([&outcome]).chain(&propensity).chain(&weight))?;
        let propensity = propensity.unwrap_or_else(|| "(estimated)".into());
        let propensities = Propensities::Logged;
        let schema = Schema {
            inputs,
            contexts,
            actions,
            outcome,
            direction,
            propensity,
            propensities,
            weight,
            weighting,
            weight_mean,
            cluster,
            target,
        };
        let parts = split.is_some().then_some(self.parts);
        Ok(Log { schema, blocks, parts, dropped, scratch: self.scratch })
    }
}

/// The key of a cluster: a hash of its name in 53 bits, which a column of numbers holds exactly.
fn cluster_key(name: &str) -> f64 {
    (name.bytes().fold(4, |h, b| hash(h, u64::from(b))) >> 11) as f64
}

fn once_each<'a>(names: impl Iterator<Item = &'a String>) -> Result<()> {
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        check_word(name).map_err(|e| e.at("the name of a column"))?;
        if !seen.insert(name) {
            return Err(Error::data("it is used twice; each column has one role").at(format!("column {name:?}")));
        }
    }
    Ok(())
}

/// The mean weight of all rows, in one running mean that no unit overflows.
fn mean_weight(blocks: &[Block]) -> f64 {
    let weights = blocks.iter().flat_map(|b| b.omega.iter());
    weights.zip(1u64..).fold(0.0, |mean, (w, n)| mean + (w - mean) / n as f64)
}

/// What stands in the gaps of a context: the mean of the other rows; nothing where there are no gaps.
fn fill(blocks: &[Block], c: usize) -> Option<f64> {
    let (mut gaps, mut n, mut mean) = (false, 0.0, 0.0);
    for v in blocks.iter().flat_map(|b| b.x[c].iter()) {
        gaps |= v.is_nan();
        if !v.is_nan() {
            n += 1.0;
            mean += (v - mean) / n; // never larger than the largest value
        }
    }
    gaps.then_some(if f64::is_finite(mean) { mean } else { 0.0 })
}

/// How contexts as they were read become columns of numbers.
pub(super) struct Expansion {
    pub(super) inputs: Vec<Input>,
    how: Vec<How>,
}

/// What is done to one context.
enum How {
    /// Nothing: it is numbers.
    Stay,
    /// Gaps are filled with a number, and marked in a second column.
    Fill(f64),
    /// Numbers of words become 0/1 columns: the column of each word.
    Spread(Vec<usize>),
}

impl Expansion {
    /// `fill` says of a context whose gaps were kept what stands in them.
    pub(super) fn new(contexts: &[Context], fill: impl Fn(usize, Gaps) -> Option<f64>) -> Self {
        let (mut inputs, mut how) = (Vec::new(), Vec::new());
        for (c, context) in contexts.iter().enumerate() {
            let name = context.name.clone();
            let Some(words) = context.levels.as_ref().map(|l| l.words()) else {
                let value = if let Gaps::Filled(value) = context.gaps { Some(value) } else { fill(c, context.gaps) };
                inputs.push(value.map_or(Input::Number { name: name.clone() }, |value| Input::Filled { name, value }));
                how.push(value.map_or(How::Stay, How::Fill));
                continue;
            };
            let mut order: Vec<usize> = (0..words.len()).collect();
            order.sort_by_key(|&code| &words[code]);
            let mut rank = vec![0; order.len()];
            order.iter().enumerate().for_each(|(r, &code)| rank[code] = r);
            inputs.push(Input::Category { name, levels: order.iter().map(|&c| words[c].clone()).collect() });
            how.push(How::Spread(rank));
        }
        Expansion { inputs, how }
    }

    /// Whether there is anything to be done.
    fn changes(&self) -> bool {
        self.how.iter().any(|h| !matches!(h, How::Stay))
    }

    /// Replaces the columns of n rows.
    pub(super) fn apply<C: From<Vec<f64>> + std::ops::Deref<Target = [f64]>>(&self, columns: &mut Vec<C>, n: usize) {
        if !self.changes() {
            return;
        }
        let mut x = Vec::new();
        for (column, how) in std::mem::take(columns).into_iter().zip(&self.how) {
            match how {
                How::Stay => x.push(column),
                How::Fill(value) => {
                    let filled: Vec<f64> = column.iter().map(|v| if v.is_nan() { *value } else { *v }).collect();
                    let gaps: Vec<f64> = column.iter().map(|v| f64::from(u8::from(v.is_nan()))).collect();
                    x.extend([C::from(filled), C::from(gaps)]);
                }
                How::Spread(rank) => {
                    let mut own = vec![vec![0.0; n]; rank.len()];
                    column.iter().enumerate().for_each(|(i, &code)| own[rank[code as usize]][i] = 1.0);
                    x.extend(own.into_iter().map(C::from));
                }
            }
        }
        *columns = x;
    }
}
