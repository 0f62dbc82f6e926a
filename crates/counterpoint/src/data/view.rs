//! Which rows of a log: a part, a fold, or both, said in a way that can be sent to where the rows are.

use super::log::{Block, Log};
use super::split::{Part, SplitRule};
use crate::error::{Error, Result};
use crate::rng::hash;
use serde::{Deserialize, Serialize};

/// Some of the rows of a log. Whoever holds rows can tell which of them are meant without knowing the others.
///
/// ```
/// use counterpoint::{Log, Part, SplitRule, data::View};
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
        View { parts: Some((rule, parts)), folds: Vec::new() }
    }

    /// Fold `index` of `count` by a hash of the row number: [the other folds, this fold].
    pub fn fold(seed: u64, index: usize, count: usize) -> [View; 2] {
        [false, true].map(|inside| {
            let fold = FoldOf { seed, index: index as u64, count: count as u64, inside };
            View { parts: None, folds: vec![fold] }
        })
    }

    /// What this view shows of what `self` shows: both conditions together.
    pub fn within(&self, view: &View) -> Result<View> {
        let parts = match (&self.parts, &view.parts) {
            (Some(_), Some(_)) => return Err(Error::data("a part of a log cannot be divided into parts again")),
            (mine, theirs) => mine.as_ref().or(theirs.as_ref()).cloned(),
        };
        Ok(View { parts, folds: [&self.folds[..], &view.folds].concat() })
    }
}

impl Log {
    /// The rows of a view, in their blocks; there may be none.
    pub fn view(&self, view: &View) -> Result<Log> {
        let part = view.parts.as_ref().map(|(rule, parts)| self.assignment(*rule).map(|a| (a, parts))).transpose()?;
        let holds = |b: &Block, i: usize, row: usize| {
            view.folds.iter().all(|f| f.holds(b.ids[i]))
                && part.as_ref().is_none_or(|(a, p)| p.contains(&a(b.ids[i], row)))
        };
        let mut pile = self.pile()?;
        let mut row = 0;
        for b in self.blocks() {
            for i in 0..b.rows() {
                if holds(b, i, row) {
                    pile.push(b, i)?;
                }
                row += 1;
            }
        }
        Ok(self.of_blocks(pile.finish()?))
    }
}
