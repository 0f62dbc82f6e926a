//! Count, mean, spread and range of a column, in a form that merges; and the question that asks for those of all columns.

use super::log::Block;
use crate::engine::Fold;
use serde::{Deserialize, Serialize};

/// A weighted summary of one column (Welford's update, Chan's merge).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Sum of weights.
    pub n: f64,
    mean: f64,
    squares: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

impl Default for Summary {
    fn default() -> Self {
        Summary { n: 0.0, mean: 0.0, squares: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY }
    }
}

impl Summary {
    /// Adds a value with a weight; a row of weight 0 is not there.
    pub fn add(&mut self, v: f64, weight: f64) {
        if weight > 0.0 {
            self.n += weight;
            let d = v - self.mean;
            self.mean += d * weight / self.n;
            self.squares += weight * d * (v - self.mean);
            self.min = self.min.min(v);
            self.max = self.max.max(v);
        }
    }

    /// Adds another summary.
    pub fn merge(&mut self, other: &Summary) {
        if other.n > 0.0 {
            let n = self.n + other.n;
            let d = other.mean - self.mean;
            self.mean += d * other.n / n;
            self.squares += other.squares + d * d * self.n * other.n / n;
            self.n = n;
            self.min = self.min.min(other.min);
            self.max = self.max.max(other.max);
        }
    }

    /// The summary of the column with all signs changed.
    #[must_use]
    pub fn negated(&self) -> Summary {
        Summary { n: self.n, mean: -self.mean, squares: self.squares, min: -self.max, max: -self.min }
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The sample standard deviation (n - 1); 0 for fewer than two rows.
    pub fn std(&self) -> f64 {
        if self.n > 1.0 { (self.squares / (self.n - 1.0)).max(0.0).sqrt() } else { 0.0 }
    }
}

/// The question: how many rows are there, and what are the summaries of their columns?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summaries;

/// Its answer. Without rows there are no columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Columns {
    /// Number of rows, whatever their weights.
    pub rows: u64,
    /// Summaries of the context columns.
    pub contexts: Vec<Summary>,
    /// Summaries of the action columns.
    pub actions: Vec<Summary>,
    /// Summary of the costs.
    pub cost: Summary,
}

impl Fold<Block> for Summaries {
    type Partial = Columns;

    fn zero(&self) -> Columns {
        Columns::default()
    }

    fn add(&self, b: &Block, into: &mut Columns) {
        let summary = |column: &[f64]| {
            let mut s = Summary::default();
            column.iter().zip(&b.omega).for_each(|(v, w)| s.add(*v, *w));
            s
        };
        let block = Columns {
            rows: b.rows() as u64,
            contexts: b.x.iter().map(|c| summary(c)).collect(),
            actions: b.a.iter().map(|c| summary(c)).collect(),
            cost: summary(&b.y),
        };
        self.merge(&block, into);
    }

    fn merge(&self, other: &Columns, into: &mut Columns) {
        if into.rows == 0 {
            return into.clone_from(other);
        }
        into.rows += other.rows;
        let mine = into.contexts.iter_mut().chain(&mut into.actions).chain([&mut into.cost]);
        let theirs = other.contexts.iter().chain(&other.actions).chain([&other.cost]);
        mine.zip(theirs).for_each(|(a, b)| a.merge(b));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_two_summaries_is_the_summary_of_both() {
        let values: Vec<f64> = (0..50).map(|i| 1e6 + (i as f64 * 0.7).sin()).collect();
        let mut whole = Summary::default();
        let (mut left, mut right) = (Summary::default(), Summary::default());
        for (i, v) in values.iter().enumerate() {
            whole.add(*v, 1.0);
            if i < 17 { left.add(*v, 1.0) } else { right.add(*v, 1.0) }
        }
        left.merge(&right);
        assert_eq!((left.n, left.min, left.max), (whole.n, whole.min, whole.max));
        assert!((left.mean() - whole.mean()).abs() < 1e-9 && (left.std() / whole.std() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_weight_of_two_is_two_rows() {
        let (mut once, mut twice) = (Summary::default(), Summary::default());
        for v in [1.0, 4.0, 2.5] {
            once.add(v, 2.0);
            twice.add(v, 1.0);
            twice.add(v, 1.0);
        }
        assert!((once.std() - twice.std()).abs() < 1e-12 && (once.mean() - twice.mean()).abs() < 1e-12);
    }
}
