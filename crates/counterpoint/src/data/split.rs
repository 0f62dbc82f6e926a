//! Train, valid, test: by a seeded hash of the row number (of its cluster, where there are clusters), or by a column.

use super::block_builder::BlockBuilder;
use super::log::{Block, Log};
use crate::engine::Placed;
use crate::error::{Error, Hint, Remedy, Result};
use crate::rng::hash;
use serde::{Deserialize, Serialize};

/// A part of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Learned on.
    Train,
    /// Tuned on.
    Valid,
    /// Read by the certificate and by nobody else.
    Test,
}

impl std::str::FromStr for Part {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self> {
        let is = |words: &[&str]| words.iter().any(|w| s.trim().eq_ignore_ascii_case(w)); // no allocation: once a row
        match () {
            () if is(&["train"]) => Ok(Part::Train),
            () if is(&["valid", "validation", "val"]) => Ok(Part::Valid),
            () if is(&["test"]) => Ok(Part::Test),
            () => Err(Error::data(format!("{s:?} is not a part of a log (train, valid or test)"))),
        }
    }
}

/// How rows are divided.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SplitRule {
    /// By a hash of (seed, row number): the same row is in the same part on every machine, whatever the order.
    Hash {
        /// The seed.
        seed: u64,
        /// Shares of train, valid and test; they need not add up to one.
        shares: [f64; 3],
    },
    /// By the column given to [`LogBuilder::parts`](super::LogBuilder::parts).
    Column,
}

impl Default for SplitRule {
    fn default() -> Self {
        SplitRule::Hash { seed: 0, shares: [0.5, 0.25, 0.25] }
    }
}

/// The three parts, each a log of its own.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Learned on.
    pub train: Log,
    /// Tuned on.
    pub valid: Log,
    /// Certified on.
    pub test: Log,
}

impl SplitRule {
    /// A seed for folds inside a part: not that of the split, whose hash is not uniform on one of its parts.
    pub(crate) fn fold_seed(seed: u64) -> u64 {
        hash(seed, u64::MAX)
    }
}

impl Log {
    /// Rows of several logs of one schema.
    ///
    /// Parts of one log are put together as they were: rows of the same block side by side, in order of their numbers. Other
    /// logs are put one after the other, and the blocks of the later ones take the places after those of the earlier ones.
    pub fn join(logs: &[&Log]) -> Result<Log> {
        let Some(first) = logs.first() else {
            return Err(Error::data("there is no log to join"));
        };
        if logs.iter().any(|log| log.schema != first.schema) {
            return Err(Error::data("logs of different schemas cannot be joined"));
        }
        let mut builder = first.block_builder()?;
        match one_log(logs) {
            Some(rows) => rows.iter().try_for_each(|(b, i)| builder.push(b, *i))?,
            None => {
                let mut before = 0;
                for log in logs {
                    for b in &log.blocks {
                        (0..b.rows()).try_for_each(|i| builder.push_at(before + b.index, b, i))?;
                    }
                    before += log.blocks.last().map_or(0, |b| b.index + 1);
                }
            }
        }
        Ok(first.of_blocks(builder.finish()?))
    }

    /// Cuts the log between blocks into at most this many pieces of nearly the same size: what machines would hold.
    pub fn pieces(&self, count: usize) -> Vec<Log> {
        let count = count.clamp(1, self.blocks.len().max(1));
        let cut = |k: usize| k * self.blocks.len() / count;
        let rows = |blocks: &[Block]| blocks.iter().map(Block::rows).sum::<usize>();
        let piece = |k: usize| {
            let blocks = &self.blocks[cut(k)..cut(k + 1)];
            let before = rows(&self.blocks[..cut(k)]);
            let parts = self.parts.as_ref().map(|p| p[before..before + rows(blocks)].to_vec());
            Log { parts, ..self.of_blocks(blocks.to_vec()) }
        };
        (0..count).map(piece).collect()
    }

    /// Fold `index` of `count` by a hash of the row number: (the other folds, this fold).
    pub fn fold(&self, seed: u64, index: usize, count: usize) -> Result<(Log, Log)> {
        let (mut rest, mut fold) = (self.block_builder()?, self.block_builder()?);
        for b in &self.blocks {
            for i in 0..b.rows() {
                let mine = hash(seed, b.key(i)) % count.max(1) as u64 == index as u64;
                if mine { &mut fold } else { &mut rest }.push(b, i)?;
            }
            b.passed();
        }
        let (rest, fold) = (rest.finish()?, fold.finish()?);
        if rest.is_empty() || fold.is_empty() {
            return Err(Error::data(format!("fold {index} of {count} is empty")).hint("use fewer folds"));
        }
        Ok((self.of_blocks(rest), self.of_blocks(fold)))
    }

    /// Divides the log. An empty part is an error: no question could be asked of it.
    pub fn split(&self, rule: SplitRule) -> Result<Parts> {
        self.divide(rule, self.blocks.iter())
    }

    /// Like [`split`](Self::split), and gives the memory of each block back as soon as its rows are dealt: for logs too
    /// large to be there twice.
    pub fn into_parts(mut self, rule: SplitRule) -> Result<Parts> {
        let blocks = std::mem::take(&mut self.blocks);
        self.divide(rule, blocks.into_iter())
    }

    /// For rows of this log.
    pub(super) fn block_builder(&self) -> Result<BlockBuilder> {
        let target = self.schema.target.as_ref().map_or(0, |t| t.names().len());
        let clusters = usize::from(self.schema.cluster.is_some());
        BlockBuilder::new([self.d(), self.q(), target, clusters], self.scratch())
    }

    /// The part of a row by a rule: from its number and from its position in this log.
    pub(super) fn assignment(&self, rule: SplitRule) -> Result<impl Fn(u64, usize) -> Part + '_> {
        match (rule, &self.parts) {
            (SplitRule::Column, None) => {
                return Err(Error::data("the log has no split column")
                    .hint(Hint::from("name one with ") + Remedy::SplitColumn + ", or split by hash"));
            }
            (SplitRule::Hash { shares, .. }, _) if shares.iter().any(|s| !(s.is_finite() && *s > 0.0)) => {
                return Err(Error::recipe("split.shares", format!("{shares:?} must all be positive")));
            }
            _ => {}
        }
        Ok(move |id, row| match (rule, &self.parts) {
            (SplitRule::Hash { seed, shares }, _) => assign(hash(seed, id), shares),
            (SplitRule::Column, column) => column.as_ref().map_or(Part::Train, |c| c[row]),
        })
    }

    fn divide<B: std::borrow::Borrow<Block>>(&self, rule: SplitRule, blocks: impl Iterator<Item = B>) -> Result<Parts> {
        let part = self.assignment(rule)?;
        let mut parts = [self.block_builder()?, self.block_builder()?, self.block_builder()?];
        let mut index = 0;
        for b in blocks {
            let b = b.borrow();
            for i in 0..b.rows() {
                parts[part(b.key(i), index) as usize].push(b, i)?;
                index += 1;
            }
            b.passed();
        }
        let [train, valid, test] = parts.map(|builder| builder.finish().map(|blocks| self.of_blocks(blocks)));
        let (train, valid, test) = (train?, valid?, test?);
        for (name, part) in [("train", &train), ("valid", &valid), ("test", &test)] {
            if part.rows() == 0 {
                return Err(Error::data(format!("the {name} part of the split is empty"))
                    .hint("a log needs rows in train, valid and test: check the column it is divided by (split, time or cluster), or give more rows"));
            }
        }
        for (name, part) in [("train", &train), ("valid", &valid), ("test", &test)] {
            if part.blocks.iter().flat_map(|b| &b.omega).all(|w| *w == 0.0) {
                return Err(Error::data(format!("every row of the {name} part has weight 0"))
                    .hint("a log needs rows that count in train, valid and test; check the weights and the split"));
            }
        }
        Ok(Parts { train, valid, test })
    }
}

/// The rows of several parts of one log in the log's order; none if they are not that: row numbers must rise with the
/// places of the blocks, none twice, and no block may overflow.
fn one_log<'a>(logs: &[&'a Log]) -> Option<Vec<(&'a Block, usize)>> {
    let blocks = logs.iter().flat_map(|l| &l.blocks);
    let mut rows: Vec<(&Block, usize)> = blocks.flat_map(|b| (0..b.rows()).map(move |i| (b, i))).collect();
    rows.sort_by_key(|(b, i)| (b.index, b.ids[*i]));
    let rising = rows.is_sorted_by(|(a, i), (b, j)| a.ids[*i] < b.ids[*j]);
    let fits = rows.chunk_by(|a, b| a.0.index == b.0.index).all(|block| block.len() <= super::BLOCK_ROWS);
    (rising && fits).then_some(rows)
}

fn assign(h: u64, shares: [f64; 3]) -> Part {
    let u = (h >> 11) as f64 / (1u64 << 53) as f64 * shares.iter().sum::<f64>();
    if u < shares[0] {
        Part::Train
    } else if u < shares[0] + shares[1] {
        Part::Valid
    } else {
        Part::Test
    }
}
