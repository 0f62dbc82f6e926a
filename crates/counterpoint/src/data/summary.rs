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

    /// The summaries of columns of one length, with the weights of their rows: [`add`](Self::add) for one row after the other.
    ///
    /// A division waits for the last one of its own column only, so several columns side by side take the time of one.
    fn of(columns: &[&[f64]], weights: &[f64]) -> Vec<Summary> {
        const SIDE_BY_SIDE: usize = 8;
        let mut all = Vec::with_capacity(columns.len());
        for columns in columns.chunks(SIDE_BY_SIDE) {
            // columns that are not there are the last one again
            let of: [&[f64]; SIDE_BY_SIDE] = std::array::from_fn(|k| columns[k.min(columns.len() - 1)]);
            let (mut n, mut mean, mut squares) = (0.0, [0.0; SIDE_BY_SIDE], [0.0; SIDE_BY_SIDE]);
            let (mut min, mut max) = ([f64::INFINITY; SIDE_BY_SIDE], [f64::NEG_INFINITY; SIDE_BY_SIDE]);
            for (i, &weight) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
                n += weight;
                let v: [f64; SIDE_BY_SIDE] = std::array::from_fn(|k| of[k][i]);
                for k in 0..SIDE_BY_SIDE {
                    let d = v[k] - mean[k];
                    mean[k] += d * weight / n;
                    squares[k] += weight * d * (v[k] - mean[k]);
                    min[k] = min[k].min(v[k]);
                    max[k] = max[k].max(v[k]);
                }
            }
            let one = |k: usize| Summary { n, mean: mean[k], squares: squares[k], min: min[k], max: max[k] };
            all.extend((0..columns.len()).map(one));
        }
        all
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
        let columns: Vec<&[f64]> = b.x.iter().chain(&b.a).chain([&b.y]).map(|c| &**c).collect();
        let mut summaries = Summary::of(&columns, &b.omega).into_iter();
        let block = Columns {
            rows: b.rows() as u64,
            contexts: summaries.by_ref().take(b.x.len()).collect(),
            actions: summaries.by_ref().take(b.a.len()).collect(),
            cost: summaries.next().unwrap_or_default(),
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
