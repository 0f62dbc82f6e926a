//! Numbers become bins: a feature enters trees through its order only.
//!
//! Edges e_0 < e_1 < .. of a feature lie between neighbouring values; v is in bin b if e_{b-1} < v <= e_b. A missing value
//! has a bin of its own, behind those of the numbers. With 254 edges or fewer, a bin is a byte.

use serde::{Deserialize, Serialize};

/// The most edges a feature can have: 255 bins of numbers, and one for missing values.
pub(super) const MOST_EDGES: usize = 254;

/// Rows from which edges are learned, at most.
const SAMPLE: usize = 100_000;

/// The edges of every feature.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Bins {
    pub(super) edges: Vec<Vec<f64>>,
}

impl Bins {
    /// Edges at quantiles, for features whose values are read by `at(row, feature)`; rows come in random order.
    pub(super) fn learn(n: usize, features: usize, most: usize, at: impl Fn(usize, usize) -> f64) -> Bins {
        let learn = |j: usize| {
            let mut values: Vec<f64> = (0..n.min(SAMPLE)).map(|i| at(i, j)).collect();
            values.sort_unstable_by(f64::total_cmp);
            let known: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
            let mut found = edges(&known, most.clamp(1, MOST_EDGES - 1));
            if known.len() < values.len() && found.last().is_none_or(|e| *e < f64::MAX) {
                found.push(f64::MAX); // all numbers on one side, what is missing on the other
            }
            found
        };
        Bins { edges: (0..features).map(learn).collect() }
    }

    /// The bin of a value of feature j.
    pub(super) fn bin(&self, j: usize, v: f64) -> u8 {
        let edges = &self.edges[j];
        let bin = if v.is_nan() { edges.len() + 1 } else { edges.partition_point(|e| *e < v) };
        bin as u8
    }

    /// Whether these are edges: finite, rising, and not too many.
    pub(super) fn sound(&self) -> bool {
        self.edges
            .iter()
            .all(|e| e.len() <= MOST_EDGES && e.iter().all(|v| v.is_finite()) && e.is_sorted_by(|a, b| a < b))
    }
}

/// Edges between sorted values: all of them if they are few, else such that bins hold about the same number of values.
fn edges(values: &[f64], most: usize) -> Vec<f64> {
    let distinct: Vec<&[f64]> = values.chunk_by(|a, b| a == b).collect();
    let between = |k: usize| middle(distinct[k][0], distinct[k + 1][0]);
    let last = distinct.len().saturating_sub(1);
    if last <= most {
        return (0..last).map(between).collect();
    }
    let mut edges = Vec::with_capacity(most);
    let (mut seen, mut in_bin) = (0, 0);
    for k in 0..last {
        seen += distinct[k].len();
        in_bin += distinct[k].len();
        // what is left is shared out among the bins that are left: a frequent value takes one and no more
        let wanted = (values.len() - seen + in_bin) as f64 / (most + 1 - edges.len()) as f64;
        let next = distinct[k + 1].len() as f64;
        if edges.len() < most && (in_bin as f64 + 0.5 * next.min(wanted) >= wanted || next >= wanted) {
            edges.push(between(k));
            in_bin = 0;
        }
    }
    edges
}

/// A finite number m with a <= m < b, halfway if there is room.
fn middle(a: f64, b: f64) -> f64 {
    let m = a + (b - a) / 2.0;
    let m = if m >= a && m < b { m } else { a };
    m.clamp(f64::MIN, f64::MAX)
}

/// Rows as bins, row by row, and the places of their features in a histogram.
pub(super) struct Binned {
    pub(super) features: usize,
    codes: Vec<u8>,
    /// Where the cells of feature j begin; one more entry than features.
    pub(super) first: Vec<usize>,
}

impl Binned {
    /// The bins of n rows.
    pub(super) fn new(bins: &Bins, n: usize, at: impl Fn(usize, usize) -> f64) -> Binned {
        let features = bins.edges.len();
        let mut codes = Vec::with_capacity(n * features);
        for i in 0..n {
            codes.extend((0..features).map(|j| bins.bin(j, at(i, j))));
        }
        let mut first = vec![0];
        for edges in &bins.edges {
            first.push(first[first.len() - 1] + edges.len() + 2);
        }
        Binned { features, codes, first }
    }

    /// The bins of row i.
    #[inline(always)]
    pub(super) fn row(&self, i: usize) -> &[u8] {
        &self.codes[i * self.features..(i + 1) * self.features]
    }

    /// The bin that holds the missing values of feature j, and the number of its edges before it.
    pub(super) fn missing(&self, j: usize) -> usize {
        self.first[j + 1] - self.first[j] - 1
    }

    /// Cells of a histogram.
    pub(super) fn cells(&self) -> usize {
        self.first[self.features]
    }
}
