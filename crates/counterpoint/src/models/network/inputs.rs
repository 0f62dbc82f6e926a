//! What a network sees: contexts and action without units, outliers drawn in.

use super::super::Rows;
use super::super::levels::{levels, nearest};
use super::super::order::{Ordered, Unit};
use serde::{Deserialize, Serialize};

/// Shares of the rows that are drawn in at either end of a column.
const TAIL: f64 = 0.005;

/// One column: cut at two quantiles, then standardised; missing values become 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) centre: f64,
    /// 0 for a column that says nothing.
    pub(super) scale: f64,
}

impl Input {
    fn learn(values: impl Iterator<Item = f64>) -> Input {
        let mut values: Vec<f64> = values.filter(|v| v.is_finite()).collect();
        values.sort_unstable_by(f64::total_cmp);
        let at =
            |q: f64| values.get((q * values.len().saturating_sub(1) as f64).round() as usize).copied().unwrap_or(0.0);
        let (mut low, mut high) = (at(TAIL), at(1.0 - TAIL));
        if low == high {
            (low, high) = (at(0.0), at(1.0)); // a rare event is not an outlier
        }
        let unit = Unit::of(values.iter().map(|v| (v.clamp(low, high), 1.0)));
        Input { low, high, centre: unit.centre, scale: unit.scale }
    }

    pub(super) fn see(&self, v: f64) -> f32 {
        if v.is_nan() {
            return 0.0;
        }
        Unit { centre: self.centre, scale: self.scale }.strip(v.clamp(self.low, self.high)) as f32
    }

    pub(super) fn sound(&self) -> bool {
        [self.low, self.high, self.centre, self.scale].iter().all(|v| v.is_finite())
            && self.low <= self.high
            && self.scale >= 0.0
    }
}

/// Marks of levels at most, over all contexts.
const MOST_MARKS: usize = 96;

/// A context of few values: each level has a mark, since the order of codes need not mean anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Code {
    context: u32,
    /// Ascending; a value that is no level counts as the nearest.
    levels: Vec<f64>,
    /// How often each occurs.
    shares: Vec<f64>,
}

impl Code {
    fn learn(rows: &Rows, j: usize) -> Option<Code> {
        let levels = Some(levels(rows, j)).filter(|l| !l.is_empty())?;
        let mut shares = vec![0.0; levels.len()];
        let known = (0..rows.len()).map(|i| rows.x[i * rows.d + j]).filter(|v| !v.is_nan());
        known.for_each(|v| shares[nearest(&levels, v)] += 1.0 / rows.len() as f64);
        Some(Code { context: j as u32, levels, shares })
    }

    /// A standardised mark of each level.
    fn see(&self, x: &[f64]) -> impl Iterator<Item = f32> {
        let v = x[self.context as usize];
        let at = if v.is_nan() { usize::MAX } else { nearest(&self.levels, v) };
        self.shares.iter().enumerate().map(move |(k, p)| {
            let mark = if k == at { 1.0 } else { 0.0 };
            ((mark - p) / (p * (1.0 - p)).sqrt()) as f32
        })
    }

    pub(super) fn sound(&self, d: usize) -> bool {
        let shares = self.shares.iter().all(|p| *p > 0.0 && *p < 1.0);
        let levels = self.levels.iter().all(|l| l.is_finite()) && self.levels.is_sorted_by(|a, b| a < b);
        (self.context as usize) < d && shares && levels && self.levels.len() == self.shares.len()
    }
}

/// All inputs: contexts, marks of what is missing, marks of levels, the action and its square.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Inputs {
    pub(super) contexts: Vec<Input>,
    /// Contexts that were missing in some rows.
    pub(super) missing: Vec<u32>,
    /// Contexts of few values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) codes: Vec<Code>,
    pub(super) action: Input,
}

impl Inputs {
    pub(super) fn learn(rows: &Rows, ordered: &Ordered) -> Inputs {
        let column = |j: usize| ordered.row.iter().map(move |i| rows.x[*i as usize * rows.d + j]);
        Inputs {
            contexts: (0..rows.d).map(|j| Input::learn(column(j))).collect(),
            missing: (0..rows.d).filter(|&j| column(j).any(f64::is_nan)).map(|j| j as u32).collect(),
            codes: Self::codes(rows),
            action: Input::learn(ordered.row.iter().map(|i| rows.a[*i as usize])),
        }
    }

    /// The codes among the contexts, those of the fewest levels first, as long as there is room for their marks.
    fn codes(rows: &Rows) -> Vec<Code> {
        let mut found: Vec<Code> = (0..rows.d).filter_map(|j| Code::learn(rows, j)).collect();
        found.sort_by_key(|c| c.levels.len());
        let mut marks = 0;
        found.retain(|c| {
            marks += c.levels.len();
            marks <= MOST_MARKS
        });
        found
    }

    /// Numbers that depend on the contexts alone.
    pub(super) fn of_contexts(&self) -> usize {
        self.contexts.len() + self.missing.len() + self.codes.iter().map(|c| c.levels.len()).sum::<usize>()
    }

    /// Numbers a network sees.
    pub(super) fn len(&self) -> usize {
        self.of_contexts() + 2
    }

    /// The share of the contexts.
    pub(super) fn contexts(&self, x: &[f64]) -> impl Iterator<Item = f32> {
        let marks = self.missing.iter().map(|j| if x[*j as usize].is_nan() { 1.0 } else { 0.0 });
        let levels = self.codes.iter().flat_map(|c| c.see(x));
        self.contexts.iter().zip(x).map(|(c, v)| c.see(*v)).chain(marks).chain(levels)
    }

    /// The share of the action: itself and its square less 1.
    pub(super) fn action(&self, a: f64) -> [f32; 2] {
        let z = self.action.see(a);
        [z, z * z - 1.0]
    }
}
