//! Which rows of a log: a part, a fold, or both, said in a way that can be sent to where the rows are.

use super::log::{Block, Log};
use super::split::{Part, SplitRule};
use crate::engine::Placed;
use crate::error::{Error, Result};
use crate::rng::hash;
use serde::{Deserialize, Serialize};

/// Some of the rows of a log. Whoever holds rows can tell which of them are meant without knowing the others.
///
/// ```
/// use counterpoint::data::{Part, SplitRule};
/// use counterpoint::{Log, data::View};
/// let n = 3000;
/// let log = Log::builder().action("a", vec![1.0; n]).cost("y", vec![0.0; n]).propensity("p", vec![0.5; n]).build()?;
/// let rule = SplitRule::default();
/// let train = log.view(&View::part(rule, Part::Train))?;
/// assert_eq!(train.blocks(), log.split(rule)?.train.blocks());
/// let [rest, fold] = View::fold(7, 0, 5);
/// assert_eq!(train.view(&rest)?.rows() + train.view(&fold)?.rows(), train.rows());
/// # Ok::<(), counterpoint::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Rows of these parts; all rows if absent.
    parts: Option<(SplitRule, Vec<Part>)>,
    /// And rows that are in, or out of, each of these folds.
    folds: Vec<FoldOf>,
    /// And rows whose contexts lie between these.
    #[serde(default)]
    between: Vec<Between>,
    /// And rows of the blocks that each of these holds.
    #[serde(default)]
    blocks: Vec<BlocksOf>,
}

/// One of `count` shares of the blocks of a log, by a hash of their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct BlocksOf {
    seed: u64,
    count: u64,
}

impl BlocksOf {
    fn holds(&self, place: u64) -> bool {
        hash(self.seed, place).is_multiple_of(self.count.max(1))
    }
}

/// Rows whose context in a column is above `above` and at most `upto`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Between {
    column: usize,
    above: f64,
    upto: f64,
}

/// One fold of several by a hash of the row number, or the rows outside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FoldOf {
    seed: u64,
    index: u64,
    count: u64,
    inside: bool,
}

impl FoldOf {
    fn holds(&self, id: u64) -> bool {
        (hash(self.seed, id) % self.count.max(1) == self.index) == self.inside
    }
}

impl View {
    /// One part.
    pub fn part(rule: SplitRule, part: Part) -> View {
        View::parts(rule, vec![part])
    }

    /// Several parts together.
    pub fn parts(rule: SplitRule, parts: Vec<Part>) -> View {
        View { parts: Some((rule, parts)), ..View::default() }
    }

    /// Fold `index` of `count` by a hash of the row number: [the other folds, this fold].
    pub fn fold(seed: u64, index: usize, count: usize) -> [View; 2] {
        [false, true].map(|inside| {
            let fold = FoldOf { seed, index: index as u64, count: count as u64, inside };
            View { folds: vec![fold], ..View::default() }
        })
    }

    /// Rows whose context in this column (by its place among the contexts) is above `above` and at most `upto`.
    ///
    /// ```
    /// use counterpoint::{Log, data::View};
    /// let log = Log::builder().context("x", vec![1.0, 2.0, 3.0]).action("a", vec![1.0; 3]).cost("y", vec![0.0; 3])
    ///     .propensity("p", vec![0.5; 3]).build()?;
    /// assert_eq!(log.view(&View::between(0, 1.0, 2.0))?.rows(), 1);
    /// # Ok::<(), counterpoint::Error>(())
    /// ```
    pub fn between(column: usize, above: f64, upto: f64) -> View {
        View { between: vec![Between { column, above, upto }], ..View::default() }
    }

    /// About one of `count` blocks, by a hash of their places in the log: a sample that is read without touching the other blocks.
    ///
    /// ```
    /// use counterpoint::{Log, data::View};
    /// let n = 200_000;
    /// let log = Log::builder().action("a", vec![1.0; n]).cost("y", vec![0.0; n]).propensity("p", vec![0.5; n]).build()?;
    /// let some = log.view(&View::blocks(1, 4))?;
    /// assert!((30_000..70_000).contains(&some.rows()));
    /// assert!(some.blocks().iter().all(|b| log.blocks().contains(b)));
    /// # Ok::<(), counterpoint::Error>(())
    /// ```
    pub fn blocks(seed: u64, count: u64) -> View {
        View { blocks: vec![BlocksOf { seed, count }], ..View::default() }
    }

    /// Whether every block is shown as it is or not at all.
    fn takes_whole_blocks(&self) -> bool {
        self.parts.is_none() && self.folds.is_empty() && self.between.is_empty()
    }

    /// What this view shows of what `self` shows: both conditions together.
    pub fn within(&self, view: &View) -> Result<View> {
        let parts = match (&self.parts, &view.parts) {
            (Some(_), Some(_)) => return Err(Error::data("a part of a log cannot be divided into parts again")),
            (mine, theirs) => mine.as_ref().or(theirs.as_ref()).cloned(),
        };
        let between = [&self.between[..], &view.between].concat();
        let blocks = [&self.blocks[..], &view.blocks].concat();
        Ok(View { parts, folds: [&self.folds[..], &view.folds].concat(), between, blocks })
    }
}

impl Log {
    /// The rows of a view, in their blocks; there may be none. Whole blocks that lie in a file are shared, not written again.
    pub fn view(&self, view: &View) -> Result<Log> {
        let seen = |b: &Block| view.blocks.iter().all(|of| of.holds(b.index));
        if view.takes_whole_blocks() && (self.scratch().is_none() || !self.blocks().iter().any(Block::is_in_memory)) {
            return Ok(self.of_blocks(self.blocks().iter().filter(|b| seen(b)).cloned().collect()));
        }
        let part = view.parts.as_ref().map(|(rule, parts)| self.assignment(*rule).map(|a| (a, parts))).transpose()?;
        let holds = |b: &Block, i: usize, row: usize| {
            let in_cell = |c: &Between| b.x.get(c.column).is_some_and(|x| c.above < x[i] && x[i] <= c.upto);
            view.folds.iter().all(|f| f.holds(b.key(i)))
                && view.between.iter().all(in_cell)
                && part.as_ref().is_none_or(|(a, p)| p.contains(&a(b.key(i), row)))
        };
        let mut builder = self.block_builder()?;
        let mut row = 0;
        for b in self.blocks() {
            if !seen(b) {
                row += b.rows();
                continue;
            }
            for i in 0..b.rows() {
                if holds(b, i, row) {
                    builder.push(b, i)?;
                }
                row += 1;
            }
            b.passed();
        }
        Ok(self.of_blocks(builder.finish()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Scratch;

    /// Blocks of a scratch file are not written to another one; rows are.
    #[test]
    fn whole_blocks_of_a_file_are_shared() {
        let dir = tempfile::tempdir().unwrap();
        let n = 60_000;
        let y: Vec<f64> = (0..n).map(|i| i as f64).collect();
        let memory = Log::builder().action("a", vec![1.0; n]).cost("y", y).propensity("p", vec![0.5; n]);
        let memory = memory.build().unwrap();
        let mut log = Log { scratch: Some(Scratch::new(dir.path())), ..memory.clone() };
        log = log.view(&View::default()).unwrap(); // blocks that are in memory go to the file
        assert!(!log.blocks().iter().any(Block::is_in_memory));
        let places = |log: &Log| log.blocks().iter().map(|b| b.y.as_ptr()).collect::<Vec<_>>();
        let all = log.view(&View::default()).unwrap();
        assert_eq!(places(&all), places(&log));
        let some = log.view(&View::blocks(1, 3)).unwrap();
        assert!(!some.blocks().is_empty() && some.blocks().len() < log.blocks().len());
        assert!(places(&some).iter().all(|place| places(&log).contains(place)));
        assert_eq!(some.blocks(), memory.view(&View::blocks(1, 3)).unwrap().blocks());
        let [rest, _] = View::fold(7, 0, 2);
        assert!(places(&log.view(&rest).unwrap()).iter().all(|place| !places(&log).contains(place)));
    }
}
