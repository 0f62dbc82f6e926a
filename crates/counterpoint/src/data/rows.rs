//! From columns to blocks: checked rows are appended to blocks of [`BLOCK_ROWS`], and nothing else is kept, so that a
//! log of any size is read with one chunk beside it.
//!
//! Categories are kept as numbers of their words until the end, when all words are known and sorted; only then do they
//! become 0/1 columns. One pass over the files is enough.

use super::check::{Checker, Chunk, Context, Range, Values};
use super::input::Input;
use super::log::{BLOCK_ROWS, Log, Outcome, Schema};
use super::pile::Pile;
use super::propensities::Propensities;
use super::scratch::Scratch;
use super::split::Part;
use super::target::TargetColumns;
use crate::error::{Error, Result};

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
    pub(super) target: Option<TargetColumns>,
    pub(super) split: Option<String>,
}

impl Layout {
    /// Names of the columns in the order of a chunk.
    #[cfg(feature = "readers")]
    pub(super) fn columns(&self) -> Vec<String> {
        let contexts = self.contexts.iter().map(|c| &c.name);
        let rest = self.actions.iter().chain([&self.outcome]).chain(&self.propensity).chain(&self.weight);
        contexts.chain(rest).chain(self.target_names()).chain(&self.split).cloned().collect()
    }
}

impl Layout {
    fn target_names(&self) -> &[String] {
        self.target.as_ref().map_or(&[], TargetColumns::names)
    }

    /// How many contexts, actions and target columns.
    fn widths(&self) -> [usize; 3] {
        [self.contexts.len(), self.actions.len(), self.target_names().len()]
    }
}

/// Collects chunks whose columns are the contexts, the actions, the outcome, the propensity, then weight, target and split
/// where the layout has them.
pub(super) struct Rows {
    layout: Layout,
    checker: Checker,
    pile: Pile,
    scratch: Option<Scratch>,
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
                        have them estimated (--propensity fit, propensity::fit)";
            return Err(missing("propensity").hint(what));
        }
        if layout.actions.is_empty() {
            return Err(missing("action"));
        }
        let contexts = layout.contexts.iter().map(|c| &c.name);
        let rest = [&layout.outcome].into_iter().chain(&layout.propensity).chain(&layout.weight);
        once_each(contexts.chain(&layout.actions).chain(rest).chain(layout.target_names()))?;
        let free = layout.actions.iter().chain([&layout.outcome]).map(|n| (n.clone(), Range::Any));
        let propensity = layout.propensity.iter().map(|n| (n.clone(), Range::Positive));
        let weight = layout.weight.iter().map(|n| (n.clone(), Range::NotNegative));
        let held = if matches!(layout.target, Some(TargetColumns::Density(_))) { Range::Density } else { Range::Any };
        let target = layout.target_names().iter().map(|n| (n.clone(), held));
        let split = layout.split.iter().map(|n| (n.clone(), Range::Any));
        let others = free.chain(propensity).chain(weight).chain(target).chain(split).collect();
        let checker = Checker::new(layout.contexts.clone(), others, drop_invalid);
        let pile = Pile::new(layout.widths(), scratch)?;
        Ok(Rows { layout, checker, pile, scratch: scratch.cloned(), parts: Vec::new(), seen: 0 })
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
            let room = BLOCK_ROWS - self.pile.open()?.rows();
            let run = self.checker.bad[at..].iter().take(room).take_while(|b| !**b).count();
            self.append(chunk, at, run)?;
            at += run;
        }
        self.seen += chunk.rows as u64;
        Ok(())
    }

    /// Appends `run` good rows from row `at` on to the last block, which has room for them.
    fn append(&mut self, chunk: &Chunk, at: usize, run: usize) -> Result<()> {
        let [d, q, _] = self.layout.widths();
        let first_target =
            d + q + 1 + [&self.layout.propensity, &self.layout.weight].iter().filter(|c| c.is_some()).count();
        let block = self.pile.open()?;
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
        let mut blocks = self.pile.finish()?;
        if blocks.is_empty() {
            let counts = format!("unusable values: {dropped}");
            return Err(Error::data(format!("all {} rows have an unusable value", self.seen)).hint(counts));
        }
        if let Some(name) = &self.layout.weight
            && blocks.iter().flat_map(|b| &b.omega).all(|w| *w == 0.0)
        {
            return Err(Error::data("all row weights are 0, so the log says nothing")
                .at(format!("column {name:?}"))
                .hint("leave --weight out to count every row once"));
        }
        let expansion = Expansion::new(&self.checker.contexts);
        let contexts = Input::expand(&expansion.inputs);
        if expansion.ranks.iter().any(Option::is_some) {
            let [_, q, t] = self.layout.widths();
            let mut pile = Pile::new([contexts.len(), q, t], self.scratch.as_ref())?;
            for mut block in std::mem::take(&mut blocks) {
                let n = block.rows();
                expansion.apply(&mut block.x, n);
                pile.add(block)?;
            }
            blocks = pile.finish()?;
        }
        let inputs = expansion.inputs;
        let Layout { actions, outcome, direction, propensity, weight, target, split, .. } = self.layout;
        once_each(contexts.iter().chain(&actions).chain([&outcome]).chain(&propensity).chain(&weight))?;
        let propensity = propensity.unwrap_or_else(|| "(estimated)".into());
        let propensities = Propensities::Logged;
        let schema = Schema { inputs, contexts, actions, outcome, direction, propensity, propensities, weight, target };
        let parts = split.is_some().then_some(self.parts);
        Ok(Log { schema, blocks, parts, dropped, scratch: self.scratch })
    }
}

fn once_each<'a>(names: impl Iterator<Item = &'a String>) -> Result<()> {
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(Error::data("it is used twice; each column has one role").at(format!("column {name:?}")));
        }
    }
    Ok(())
}

/// How numbers of words become 0/1 columns.
pub(super) struct Expansion {
    pub(super) inputs: Vec<Input>,
    /// For each context the column of each word; `None` where it is numbers already.
    ranks: Vec<Option<Vec<usize>>>,
}

impl Expansion {
    pub(super) fn new(contexts: &[Context]) -> Self {
        let (mut inputs, mut ranks) = (Vec::new(), Vec::new());
        for context in contexts {
            let name = context.name.clone();
            let Some(words) = context.levels.as_ref().map(|l| l.words()) else {
                inputs.push(Input::Number { name });
                ranks.push(None);
                continue;
            };
            let mut order: Vec<usize> = (0..words.len()).collect();
            order.sort_by_key(|&code| &words[code]);
            let mut rank = vec![0; order.len()];
            order.iter().enumerate().for_each(|(r, &code)| rank[code] = r);
            inputs.push(Input::Category { name, levels: order.iter().map(|&c| words[c].clone()).collect() });
            ranks.push(Some(rank));
        }
        Expansion { inputs, ranks }
    }

    /// Replaces the columns of n rows.
    pub(super) fn apply<C: From<Vec<f64>> + std::ops::Deref<Target = [f64]>>(&self, columns: &mut Vec<C>, n: usize) {
        if self.ranks.iter().all(Option::is_none) {
            return;
        }
        let mut x = Vec::new();
        for (column, rank) in std::mem::take(columns).into_iter().zip(&self.ranks) {
            let Some(rank) = rank else {
                x.push(column);
                continue;
            };
            let mut own = vec![vec![0.0; n]; rank.len()];
            column.iter().enumerate().for_each(|(i, &code)| own[rank[code as usize]][i] = 1.0);
            x.extend(own.into_iter().map(C::from));
        }
        *columns = x;
    }
}
