//! What is asked of weighted rows beyond their mean: the distribution of the outcome under the policy, and the same sums without some rows.

use super::score::Scored;
use crate::data::Digest;
use crate::engine::Fold;
use crate::estimate::Moments;
use crate::math;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The question: how costs are distributed under the policy, or in the log itself.
///
/// ```text
/// F(t) = sum s w 1{y <= t} / sum s w
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutcomeLaw {
    /// ln of the weights' unit; nothing where the log itself is asked about, whose weights are 1.
    pub log_scale: Option<f64>,
}

/// Its answer: costs with the weight of their rows, and with what these add to a variance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OutcomeDistribution {
    /// By weight s w.
    pub weights: Digest,
    /// By s^2 w^2; by s w^2 where s counts rows.
    pub squares: Digest,
}

impl Fold<Scored> for OutcomeLaw {
    type Partial = OutcomeDistribution;

    fn zero(&self) -> OutcomeDistribution {
        OutcomeDistribution::default()
    }

    fn add(&self, b: &Scored, into: &mut OutcomeDistribution) {
        let weight = |i: usize| self.log_scale.map_or(1.0, |scale| math::exp(b.log_w[i] - scale));
        let first = (0..b.y.len()).map(|i| (b.y[i], b.omega[i] * weight(i)));
        let second = (0..b.y.len()).map(|i| (b.y[i], b.weighting.squared(b.omega[i]) * weight(i) * weight(i)));
        into.weights.gather(first);
        into.squares.gather(second);
    }

    fn merge(&self, other: &OutcomeDistribution, into: &mut OutcomeDistribution) {
        into.weights.append(&other.weights);
        into.squares.append(&other.squares);
    }

    fn finish(&self, answer: &mut OutcomeDistribution) {
        answer.weights.tidy();
        answer.squares.tidy();
    }

    fn spent(&self, partial: &mut OutcomeDistribution) {
        *partial = OutcomeDistribution::default();
    }
}

/// The question: the sums of a certificate without some of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Without {
    /// ln of the weights' unit.
    pub log_scale: f64,
    /// What is subtracted from the costs.
    pub centre: f64,
    /// Rows whose ln w is above this are left out.
    pub above: Option<f64>,
    /// Rows of this cluster are left out.
    pub cluster: Option<u64>,
}

/// Its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Remaining {
    sums: [f64; Moments::SUMS],
    squares: [f64; Moments::SUMS],
    /// Rows that were left out, and all rows.
    pub rows: [u64; 2],
}

impl Remaining {
    /// The sums of the rows that are left.
    pub fn moments(&self) -> Moments {
        Moments::of_deviations(self.sums).with_squares(self.squares)
    }
}

impl Fold<Scored> for Without {
    type Partial = Remaining;

    fn zero(&self) -> Remaining {
        Remaining::default()
    }

    fn add(&self, b: &Scored, into: &mut Remaining) {
        let mut block = self.zero();
        block.rows[1] = b.y.len() as u64;
        for i in 0..b.y.len() {
            let left_out = self.above.is_some_and(|above| b.log_w[i] > above)
                || self.cluster.is_some_and(|c| b.clusters.get(i) == Some(&c));
            if left_out {
                block.rows[0] += 1;
                continue;
            }
            let t = Moments::terms(math::exp_m1(b.log_w[i] - self.log_scale), b.y[i] - self.centre);
            for k in 0..Moments::SUMS {
                block.sums[k] += b.omega[i] * t[k];
                block.squares[k] += b.weighting.squared(b.omega[i]) * t[k];
            }
        }
        self.merge(&block, into);
    }

    fn merge(&self, other: &Remaining, into: &mut Remaining) {
        into.sums.iter_mut().zip(other.sums).for_each(|(a, b)| *a += b);
        into.squares.iter_mut().zip(other.squares).for_each(|(a, b)| *a += b);
        into.rows.iter_mut().zip(other.rows).for_each(|(a, b)| *a += b);
    }
}

/// The question: how much weight each cluster has, in units of the scale. Its answer holds a number for every cluster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterWeights {
    /// ln of the weights' unit.
    pub log_scale: f64,
}

impl Fold<Scored> for ClusterWeights {
    type Partial = BTreeMap<u64, f64>;

    fn zero(&self) -> BTreeMap<u64, f64> {
        BTreeMap::new()
    }

    fn add(&self, b: &Scored, into: &mut BTreeMap<u64, f64>) {
        let mut block = self.zero();
        for (i, key) in b.clusters.iter().enumerate() {
            *block.entry(*key).or_insert(0.0) += b.omega[i] * math::exp(b.log_w[i] - self.log_scale);
        }
        self.merge(&block, into);
    }

    fn merge(&self, other: &BTreeMap<u64, f64>, into: &mut BTreeMap<u64, f64>) {
        other.iter().for_each(|(key, weight)| *into.entry(*key).or_insert(0.0) += weight);
    }
}
