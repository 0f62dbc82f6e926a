//! From gathered rows to a log: what can only be known when all rows are there.
//!
//! Categories become 0/1 columns, gaps are filled with the mean of their column, sampling weights lose their unit. Rows that were just
//! read and rows of a store come through here, so that both give the same bits.

use super::block_builder::BlockBuilder;
use super::check::{Context, Gaps};
use super::input::{Input, check_word};
use super::log::{Block, Dropped, Known, Log, Schema};
use super::propensities::Propensities;
use super::rows::Layout;
use super::scratch::Scratch;
use super::split::Part;
use super::weighting::Weighting;
use crate::error::{Error, Hint, Remedy, Result};

/// Rows as they were read: words as numbers, gaps as NaN, weights as they were given.
pub(super) struct Gathered {
    pub(super) layout: Layout,
    /// The contexts of the layout with all their words.
    pub(super) contexts: Vec<Context>,
    pub(super) blocks: Vec<Block>,
    pub(super) parts: Vec<Part>,
    pub(super) dropped: Dropped,
    /// Rows that were seen, those left out included.
    pub(super) seen: u64,
    pub(super) scratch: Option<Scratch>,
    pub(super) memory: Option<u64>,
}

impl Gathered {
    /// The log: categories become 0/1 columns, and what is left must be something.
    pub(super) fn into_log(mut self) -> Result<Log> {
        if self.seen == 0 {
            return Err(Error::data("the log has no rows").hint("a log needs rows in train, valid and test"));
        }
        let dropped = self.dropped;
        let mut blocks = std::mem::take(&mut self.blocks);
        if blocks.is_empty() {
            let counts = format!("unusable values: {dropped}");
            return Err(Error::data(format!("all {} rows have an unusable value", self.seen)).hint(counts));
        }
        if let Some(name) = &self.layout.weight
            && blocks.iter().flat_map(|b| &b.omega).all(|w| *w == 0.0)
        {
            let role = if self.layout.weighting == Weighting::Sampling { Remedy::RowWeight } else { Remedy::RowCount };
            return Err(Error::data("all row weights are 0, so the log says nothing")
                .at(format!("column {name:?}"))
                .hint(Hint::from("leave ") + role + " out to count every row once"));
        }
        let fill = |c: usize, gaps| if gaps == Gaps::Kept { fill(&blocks, c) } else { None };
        let expansion = Expansion::new(&self.contexts, fill);
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
            predictions: Vec::new(),
        };
        let parts = split.is_some().then_some(self.parts);
        let bytes = blocks.iter().map(Block::bytes).sum();
        let scratch = self.scratch.and_then(|s| s.of(bytes));
        Ok(Log { schema, blocks, parts, dropped, scratch, known: Known::default() })
    }
}

pub(super) fn once_each<'a>(names: impl Iterator<Item = &'a String>) -> Result<()> {
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
            mean += (v - mean) / n; // never larger than the largest value, and that can be squared
        }
    }
    gaps.then_some(mean)
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
