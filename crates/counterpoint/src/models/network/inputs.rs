//! What a network sees: contexts and action without units, outliers drawn in.

use super::super::Rows;
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

/// All inputs: contexts, marks of what is missing, the action and its square.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Inputs {
    pub(super) contexts: Vec<Input>,
    /// Contexts that were missing in some rows.
    pub(super) missing: Vec<u32>,
    pub(super) action: Input,
}

impl Inputs {
    pub(super) fn learn(rows: &Rows, ordered: &Ordered) -> Inputs {
        let column = |j: usize| ordered.row.iter().map(move |i| rows.x[*i as usize * rows.d + j]);
        Inputs {
            contexts: (0..rows.d).map(|j| Input::learn(column(j))).collect(),
            missing: (0..rows.d).filter(|&j| column(j).any(f64::is_nan)).map(|j| j as u32).collect(),
            action: Input::learn(ordered.row.iter().map(|i| rows.a[*i as usize])),
        }
    }

    /// Numbers that depend on the contexts alone.
    pub(super) fn of_contexts(&self) -> usize {
        self.contexts.len() + self.missing.len()
    }

    /// Numbers a network sees.
    pub(super) fn len(&self) -> usize {
        self.of_contexts() + 2
    }

    /// The share of the contexts.
    pub(super) fn contexts(&self, x: &[f64]) -> impl Iterator<Item = f32> {
        let marks = self.missing.iter().map(|j| if x[*j as usize].is_nan() { 1.0 } else { 0.0 });
        self.contexts.iter().zip(x).map(|(c, v)| c.see(*v)).chain(marks)
    }

    /// The share of the action: itself and its square less 1.
    pub(super) fn action(&self, a: f64) -> [f32; 2] {
        let z = self.action.see(a);
        [z, z * z - 1.0]
    }
}
