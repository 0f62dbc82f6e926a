//! What rows near a policy's mean action say, at many distances at once: the sums behind the value of always playing it.
//!
//! The mean action alone has no density. A normal law around it has one, N(mu(x), h^2), and rows are weighed by that for every h of a
//! geometric list:
//!
//! ```text
//! w_k = exp(-|(a - mu) / h_k|^2 / 2) / (p u),   h_k = widest 2^(-k/2) u,   u the unit of the action
//! ```
//!
//! The last "h" is 0: rows that did just that, which exist where actions lie on a grid. One pass has the sums of all of them, with those
//! that join h_k and h_(k-2) = 2 h_k, because an estimate extrapolates from such a pair.

use crate::data::{Block, Weighting};
use crate::engine::Fold;
use crate::math;
use crate::policy::{SavedPolicy, TargetPolicy};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Sums a distance keeps.
const SUMS: usize = 8;

/// The question: sums of rows weighed by normal laws around a policy's mean action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NearMean {
    /// The policy.
    pub policy: SavedPolicy,
    /// How rows are weighed.
    pub distances: Distances,
}

/// How rows near a mean action are weighed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distances {
    /// The unit of each action column.
    pub units: Vec<f64>,
    /// The widest distance, in units.
    pub widest: f64,
    /// How many distances there are, each the last over sqrt(2); distance 0 comes on top.
    pub steps: usize,
    /// What is subtracted from the costs.
    pub centre: f64,
    /// What row weights mean.
    pub weighting: Weighting,
}

impl Distances {
    /// The distance of step k, in units; 0 for the last.
    pub fn at(&self, k: usize) -> f64 {
        if k >= self.steps { 0.0 } else { self.widest * math::exp2(-0.5 * k as f64) }
    }
}

/// Its answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NearSums {
    /// Sum of row weights, and number of rows.
    pub rows: [f64; 2],
    /// Rows for which the policy has no mean action, or none that is a number.
    pub unknown: u64,
    /// For each distance sums of s w, s w z, then of s^2 times w^2, w^2 z, w^2 z^2, w v, w v z, w v z^2: v is the weight at twice the
    /// distance, z the centred cost, s^2 is s where rows are counted.
    sums: Vec<[f64; SUMS]>,
    /// For each cluster the sums of s w and s w z at every distance; empty without clusters.
    clusters: BTreeMap<u64, Vec<[f64; 2]>>,
}

/// An estimate of a mean cost: the centred value, its variance, and the weights behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearValue {
    /// sum w z / sum w.
    pub value: f64,
    /// Its standard error.
    pub std_error: f64,
    /// (sum w)^2 / sum w^2.
    pub effective: f64,
}

impl NearSums {
    /// Number of clusters, where there are any.
    pub fn clusters(&self) -> Option<usize> {
        Some(self.clusters.len()).filter(|n| *n > 0)
    }

    /// The value at distance k.
    pub fn value(&self, k: usize) -> f64 {
        self.sums[k][1] / self.sums[k][0]
    }

    /// The mean of w at distance k with its standard error; of the density where it is divided by (2 pi)^(q/2) h^q.
    pub fn weight(&self, k: usize) -> (f64, f64) {
        let [n, rows] = self.rows;
        let [w, _, ww, ..] = self.sums[k];
        let mean = w / n;
        let variance = match self.clusters.is_empty() {
            true => ww,
            false => self.clusters.values().map(|c| c[k][0] * c[k][0]).sum(),
        };
        (mean, (variance / (n * n) - mean * mean / rows).max(0.0).sqrt())
    }

    /// alpha V(h_k) + (1 - alpha) V(h_j), j = k - 2 at twice the distance; k alone with alpha = 1.
    ///
    /// ```text
    /// psi_i = alpha w_i (z_i - V_k) / W_k + (1 - alpha) v_i (z_i - V_j) / W_j,   variance = sum s^2 psi^2
    /// ```
    pub fn combined(&self, k: usize, alpha: f64) -> NearValue {
        let j = if alpha == 1.0 { k } else { k - 2 };
        let (vk, vj) = (self.value(k), self.value(j));
        let (ck, cj) = (alpha / self.sums[k][0], (1.0 - alpha) / self.sums[j][0]);
        let variance = if self.clusters.is_empty() {
            let square = |k: usize, v: f64| self.sums[k][4] - 2.0 * v * self.sums[k][3] + v * v * self.sums[k][2];
            let [.., wv, wvz, wvzz] = self.sums[k];
            let cross = if j == k { 0.0 } else { wvzz - (vk + vj) * wvz + vk * vj * wv };
            ck * ck * square(k, vk) + cj * cj * square(j, vj) + 2.0 * ck * cj * cross
        } else {
            let psi = |c: &Vec<[f64; 2]>| ck * (c[k][1] - vk * c[k][0]) + cj * (c[j][1] - vj * c[j][0]);
            let n = self.clusters.len() as f64;
            n / (n - 1.0).max(1.0) * self.clusters.values().map(|c| math::powi(psi(c), 2)).sum::<f64>()
        };
        let [w, _, ww, ..] = self.sums[k];
        // rows of a cluster may be one row written down again and again: then clusters are all there is
        let draws = self.clusters().map_or(1.0, |c| (c as f64 / self.rows[1]).min(1.0));
        let effective = if ww > 0.0 { draws * w * w / ww } else { 0.0 };
        NearValue { value: alpha * vk + (1.0 - alpha) * vj, std_error: variance.max(0.0).sqrt(), effective }
    }

    fn merge(&mut self, other: &NearSums) {
        if self.sums.is_empty() {
            self.sums = vec![[0.0; SUMS]; other.sums.len()];
        }
        self.rows.iter_mut().zip(other.rows).for_each(|(a, b)| *a += b);
        self.unknown += other.unknown;
        let mine = self.sums.iter_mut().flatten();
        mine.zip(other.sums.iter().flatten()).for_each(|(a, b)| *a += b);
        for (key, sums) in &other.clusters {
            let own = self.clusters.entry(*key).or_insert_with(|| vec![[0.0; 2]; sums.len()]);
            own.iter_mut().flatten().zip(sums.iter().flatten()).for_each(|(a, b)| *a += b);
        }
    }
}

/// The same question about a policy of this process, which need not have a file.
pub(crate) struct NearFold<'a> {
    pub(crate) policy: &'a dyn TargetPolicy,
    pub(crate) distances: &'a Distances,
}

impl Fold<Block> for NearFold<'_> {
    type Partial = NearSums;

    fn zero(&self) -> NearSums {
        NearSums::default()
    }

    fn add(&self, b: &Block, into: &mut NearSums) {
        let d = self.distances;
        let steps = d.steps + 1;
        let mut block = NearSums { sums: vec![[0.0; SUMS]; steps], ..NearSums::default() };
        let means = self.policy.means(b);
        let volume: f64 = d.units.iter().map(|u| math::ln(*u)).sum();
        let mut w = vec![0.0; steps];
        for i in (0..b.rows()).filter(|&i| b.omega[i] > 0.0) {
            let (s, square) = (b.omega[i], d.weighting.squared(b.omega[i]));
            block.rows[0] += s;
            block.rows[1] += d.weighting.draw(s).1;
            let mean = means.as_ref().map(|m| &m[i * b.a.len()..(i + 1) * b.a.len()]);
            let Some(mean) = mean.filter(|m| m.iter().all(|v| v.is_finite())) else {
                block.unknown += 1;
                continue;
            };
            let far: f64 = (0..b.a.len()).map(|c| math::powi((b.a[c][i] - mean[c]) / d.units[c], 2)).sum();
            let inverse = math::exp(-b.log_p[i] - volume);
            for (k, w) in w.iter_mut().enumerate() {
                let h = d.at(k);
                *w = if far == 0.0 { inverse } else { inverse * math::exp(-0.5 * far / (h * h)) };
            }
            let z = b.y[i] - d.centre;
            for (k, sums) in block.sums.iter_mut().enumerate() {
                let v = if k >= 2 { w[k - 2] } else { 0.0 };
                let (own, both) = (square * w[k] * w[k], square * w[k] * v);
                let terms = [s * w[k], s * w[k] * z, own, own * z, own * z * z, both, both * z, both * z * z];
                sums.iter_mut().zip(terms).for_each(|(sum, t)| *sum += t);
            }
            if !b.cluster.is_empty() {
                let own = block.clusters.entry(b.key(i)).or_insert_with(|| vec![[0.0; 2]; steps]);
                own.iter_mut().zip(&w).for_each(|(sum, w)| *sum = [sum[0] + s * w, sum[1] + s * w * z]);
            }
        }
        into.merge(&block);
    }

    fn merge(&self, other: &NearSums, into: &mut NearSums) {
        into.merge(other);
    }
}

impl Fold<Block> for NearMean {
    type Partial = NearSums;

    fn zero(&self) -> NearSums {
        NearSums::default()
    }

    fn add(&self, b: &Block, into: &mut NearSums) {
        NearFold { policy: &self.policy, distances: &self.distances }.add(b, into);
    }

    fn merge(&self, other: &NearSums, into: &mut NearSums) {
        into.merge(other);
    }
}
