//! Counts of values in bins: filled row by row, merged part by part, drawn later.

use crate::features::anchors::quantile_sorted;
use crate::math;
use serde::{Deserialize, Serialize};

/// Counts (or masses) of values between edges. Values outside are counted beside the bins, never dropped unsaid.
///
/// ```
/// use counterpoint::explain::Histogram;
/// let mut weights = Histogram::logarithmic(1e-3, 1e2, 40);
/// [0.5, 2.0, 1000.0].iter().for_each(|w| weights.add(*w, 1.0));
/// assert_eq!((weights.total(), weights.above), (3.0, 1.0));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// The ends of the bins: one more than there are bins, increasing.
    pub edges: Vec<f64>,
    /// Mass in each bin.
    pub counts: Vec<f64>,
    /// Mass under the first edge (and what is not a number).
    pub below: f64,
    /// Mass over the last edge, which belongs to the last bin.
    pub above: f64,
}

impl Histogram {
    /// Bins of equal width.
    pub fn linear(low: f64, high: f64, bins: usize) -> Self {
        Self::with_edges((0..=bins).map(|i| low + (high - low) * i as f64 / bins as f64).collect())
    }

    /// Bins of equal width in the logarithm; `low` must be positive.
    pub fn logarithmic(low: f64, high: f64, bins: usize) -> Self {
        let (a, b) = (math::ln(low), math::ln(high));
        let edge = |i: usize| match i {
            0 => low,
            i if i == bins => high,
            i => math::exp(a + (b - a) * i as f64 / bins as f64),
        };
        Self::with_edges((0..=bins).map(edge).collect())
    }

    /// Sixty empty bins over a sample but for a few extreme values: from its 0.1% to its 99.5% quantile.
    pub(super) fn of_most(mut sample: Vec<f64>) -> Self {
        sample.sort_by(f64::total_cmp);
        let end = |level| if sample.is_empty() { 0.0 } else { quantile_sorted(&sample, level) };
        Histogram::linear(end(0.001), end(0.995), 60)
    }

    fn with_edges(edges: Vec<f64>) -> Self {
        Histogram { counts: vec![0.0; edges.len().saturating_sub(1)], edges, below: 0.0, above: 0.0 }
    }

    /// Counts a value with a mass (1, or its row weight).
    pub fn add(&mut self, value: f64, mass: f64) {
        let after = self.edges.partition_point(|e| *e <= value);
        match after {
            _ if value.is_nan() => self.below += mass,
            0 => self.below += mass,
            i if i <= self.counts.len() => self.counts[i - 1] += mass,
            _ if Some(&value) == self.edges.last() && !self.counts.is_empty() => {
                let last = self.counts.len() - 1;
                self.counts[last] += mass;
            }
            _ => self.above += mass,
        }
    }

    /// Adds the counts of another histogram with the same edges.
    pub fn merge(&mut self, other: &Histogram) {
        debug_assert_eq!(self.edges, other.edges);
        self.below += other.below;
        self.above += other.above;
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
    }

    /// All mass, that outside the bins included.
    pub fn total(&self) -> f64 {
        self.below + self.counts.iter().sum::<f64>() + self.above
    }

    /// (low, high, count) of each bin that can be drawn.
    pub fn bins(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        let usable = |b: &(f64, f64, f64)| b.0.is_finite() && b.1.is_finite() && b.1 > b.0 && b.2.is_finite();
        self.edges.windows(2).zip(&self.counts).map(|(e, c)| (e[0], e[1], *c)).filter(usable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_histograms_is_counting_together() {
        let values: Vec<f64> = (0..500).map(|i| f64::from(i) * 0.01).chain([f64::NAN, 1e-9, 1e9]).collect();
        let empty = Histogram::logarithmic(1e-2, 2.0, 9);
        let (mut all, mut left, mut right) = (empty.clone(), empty.clone(), empty);
        for (i, v) in values.iter().enumerate() {
            all.add(*v, 1.0);
            if i % 3 == 0 { &mut left } else { &mut right }.add(*v, 1.0);
        }
        left.merge(&right);
        assert_eq!(left, all);
        assert_eq!(all.total(), values.len() as f64);
    }
}
