//! What a certificate asks of weighted rows, in three passes: their totals, their sums in units that keep digits, their shape.
//!
//! The second pass needs the scale of the weights and the mean cost from the first, the third the estimates from the second.
//! None of them keeps a row, so the rows may be anywhere ([`WeightAsk`] and [`WeightAnswer`] are data).

use super::outcomes::{ClusterWeights, OutcomeLaw, Without};
use super::score::{Bootstrap, Scored};
use crate::data::{Digest, Summary, Weighting};
use crate::engine::{Engine, Fold, Member};
use crate::error::{Error, Result};
use crate::estimate::Mixture;
use crate::math;
use crate::rng::hash;
use serde::{Deserialize, Serialize};

crate::engine::questions! {
    /// A question asked of weighted rows.
    WeightAsk,
    /// Its answer.
    WeightAnswer,
    Scored {
        /// The first pass.
        Totals(Totals),
        /// The second pass.
        Sums(Bootstrap),
        /// The third pass.
        Shape(Shape),
        /// The terms of the guarantee.
        Guarantee(Guarantee),
        /// The distribution of the outcome.
        Outcomes(OutcomeLaw),
        /// The sums without some of the rows.
        Without(Without),
        /// The weight of each cluster.
        Clusters(ClusterWeights),
    }
}

/// Rows that a policy has weighed, wherever they are.
pub trait Weighed: Sync {
    /// Answers a question about them.
    fn answer(&self, ask: &WeightAsk) -> Result<WeightAnswer>;

    /// The rows themselves, where they are in this process.
    fn scored(&self) -> Option<&[Scored]> {
        None
    }
}

/// Weighted rows in memory, with the threads that ask them.
#[derive(Clone, Copy)]
pub struct Here<'a>(pub &'a Engine, pub &'a [Scored]);

impl Weighed for Here<'_> {
    fn answer(&self, ask: &WeightAsk) -> Result<WeightAnswer> {
        Ok(self.0.ask(ask, self.1))
    }
}

/// Asks one of the questions and takes its own answer.
pub fn ask_weights<Q: Member<WeightAsk, WeightAnswer>>(rows: &dyn Weighed, question: Q) -> Result<Q::Own> {
    let answer = rows.answer(&question.listed())?;
    Q::own(answer).ok_or_else(|| Error::data("the answer to another question came back"))
}

/// The first pass: how many rows, the largest and the mean weight, the costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals;

/// What the first pass finds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Totalled {
    /// Number of rows, whatever their row weights.
    pub rows: u64,
    /// Largest ln w of a row that counts; -inf if there is none.
    pub top: f64,
    /// Sum of w exp(-top).
    pub sum: f64,
    /// The costs; its `n` is the sum of the row weights.
    pub cost: Summary,
    /// Whether every row weight is 1.
    pub single: bool,
    /// What row weights mean.
    pub weighting: Weighting,
    /// The smallest hashes of the clusters' keys, each once; empty without clusters.
    pub clusters: Vec<u64>,
    /// Sum of the policy's mass outside the range of the logged actions.
    pub outside: f64,
    /// Sum of the hashes of the rows.
    pub fingerprint: u64,
    /// The first row whose weight is no number, and its ln w.
    pub broken: Option<(u64, f64)>,
}

/// Clusters that are counted one by one; of more, the smallest hashes tell how many there are, within 2%.
const CLUSTERS: usize = 4096;

impl Totalled {
    /// Number of clusters; nothing without.
    pub fn cluster_count(&self) -> Option<f64> {
        let (last, kept) = (*self.clusters.last()?, self.clusters.len());
        // the k smallest of C uniform numbers end near k / C
        Some(if kept < CLUSTERS { kept as f64 } else { (kept - 1) as f64 * (u64::MAX as f64 / last as f64) })
    }

    /// ln of the mean weight.
    pub fn log_mean(&self) -> f64 {
        self.top + math::ln(self.sum / self.cost.n)
    }
}

impl Fold<Scored> for Totals {
    type Partial = Totalled;

    fn zero(&self) -> Totalled {
        Totalled {
            rows: 0,
            top: f64::NEG_INFINITY,
            sum: 0.0,
            cost: Summary::default(),
            single: true,
            weighting: Weighting::Counts,
            clusters: Vec::new(),
            outside: 0.0,
            fingerprint: 0,
            broken: None,
        }
    }

    fn add(&self, b: &Scored, into: &mut Totalled) {
        let mut block = self.zero();
        let rows = || b.log_w.iter().zip(&b.omega).filter(|r| *r.1 > 0.0);
        block.top = rows().fold(f64::NEG_INFINITY, |top, r| top.max(*r.0));
        if block.top > f64::NEG_INFINITY {
            block.sum = rows().map(|(l, w)| w * math::exp(l - block.top)).sum();
        }
        b.y.iter().zip(&b.omega).for_each(|(y, w)| block.cost.add(*y, *w));
        block.rows = b.y.len() as u64;
        block.weighting = b.weighting;
        block.single = b.omega.iter().all(|w| *w == 1.0);
        block.clusters = b.clusters.iter().map(|k| hash(5, *k)).collect();
        block.clusters.sort_unstable();
        block.outside = b.outside;
        block.fingerprint = b.fingerprint;
        let broken = b.log_w.iter().position(|l| l.is_nan() || *l == f64::INFINITY);
        block.broken = broken.map(|i| (b.ids[i], b.log_w[i]));
        self.merge(&block, into);
    }

    fn merge(&self, other: &Totalled, into: &mut Totalled) {
        let top = into.top.max(other.top);
        if top > f64::NEG_INFINITY {
            into.sum = into.sum * math::exp(into.top - top) + other.sum * math::exp(other.top - top);
            into.top = top;
        }
        into.rows += other.rows;
        into.cost.merge(&other.cost);
        into.single &= other.single;
        if other.weighting == Weighting::Sampling {
            into.weighting = Weighting::Sampling;
        }
        if !other.clusters.is_empty() {
            into.clusters.extend_from_slice(&other.clusters);
            into.clusters.sort(); // two sorted runs: one merge
            into.clusters.dedup();
            into.clusters.truncate(CLUSTERS);
        }
        into.outside += other.outside;
        into.fingerprint = into.fingerprint.wrapping_add(other.fingerprint);
        into.broken = into.broken.or(other.broken);
    }
}

/// The third pass: how many rows each standard error rests on, and the distribution of the weights.
///
/// The influence functions of a row with v = w / scale - 1 and z = y - centre are
///
/// ```text
/// value       (1 + v) (z - L)
/// difference  (v - vbar) (z - L) / (1 + vbar) - D
/// log's mean  z - zbar
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// ln of the weights' unit.
    pub log_scale: f64,
    /// What is subtracted from the costs.
    pub centre: f64,
    /// L, on the centred scale.
    pub value: f64,
    /// D.
    pub difference: f64,
    /// Mean of v.
    pub vbar: f64,
    /// Mean of z.
    pub zbar: f64,
}

/// What the third pass finds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shaped {
    /// Sums of the squares and of the fourth powers of the influence of value, difference and the log's mean.
    pub powers: [[f64; 2]; 3],
    /// The distribution of ln w over the rows that count.
    pub log_w: Digest,
    /// The largest weight of a row, times its sampling weight, in units of the scale.
    pub largest: f64,
}

impl Shaped {
    /// (sum psi^2)^2 / sum psi^4 of influence function k; infinite if it vanishes.
    pub fn participation(&self, k: usize) -> f64 {
        let [p2, p4] = self.powers[k];
        if p4 > 0.0 { p2 * p2 / p4 } else { f64::INFINITY }
    }
}

impl Fold<Scored> for Shape {
    type Partial = Shaped;

    fn zero(&self) -> Shaped {
        Shaped::default()
    }

    fn add(&self, b: &Scored, into: &mut Shaped) {
        let mut block = Shaped::default();
        for i in 0..b.y.len() {
            let (v, z) = (math::exp_m1(b.log_w[i] - self.log_scale), b.y[i] - self.centre);
            let value = (1.0 + v) * (z - self.value);
            let difference = (v - self.vbar) * (z - self.value) / (1.0 + self.vbar) - self.difference;
            let (factor, times) = b.weighting.draw(b.omega[i]);
            if times > 0.0 {
                block.largest = block.largest.max(factor * math::exp(b.log_w[i] - self.log_scale));
            }
            for (powers, psi) in block.powers.iter_mut().zip([value, difference, z - self.zbar]) {
                let square = (factor * psi) * (factor * psi);
                powers[0] += times * square;
                powers[1] += times * square * square;
            }
        }
        block.log_w.gather(b.log_w.iter().copied().zip(b.omega.iter().copied()));
        self.merge(&block, into);
    }

    fn merge(&self, other: &Shaped, into: &mut Shaped) {
        let mine = into.powers.iter_mut().flatten();
        mine.zip(other.powers.iter().flatten()).for_each(|(a, b)| *a += b);
        into.log_w.append(&other.log_w);
        into.largest = into.largest.max(other.largest);
    }

    fn finish(&self, answer: &mut Shaped) {
        answer.log_w.tidy();
    }

    fn spent(&self, partial: &mut Shaped) {
        *partial = Shaped::default();
    }
}

/// The terms of the guarantee: the four [mixtures of logarithms](Mixture) of a policy's cost and of its difference to the log.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Guarantee {
    /// The smallest and the largest cost that can happen.
    pub cost_range: [f64; 2],
}

impl Fold<Scored> for Guarantee {
    type Partial = [Mixture; 4];

    fn zero(&self) -> [Mixture; 4] {
        std::array::from_fn(|_| Mixture::new(self.cost_range[1] - self.cost_range[0]))
    }

    fn add(&self, b: &Scored, into: &mut [Mixture; 4]) {
        let mut block = self.zero();
        for (log_w, y) in b.log_w.iter().zip(&b.y) {
            let terms = Mixture::terms(math::exp(*log_w), *y, self.cost_range);
            block.iter_mut().zip(terms).for_each(|(m, t)| m.add(t));
        }
        self.merge(&block, into);
    }

    fn merge(&self, other: &[Mixture; 4], into: &mut [Mixture; 4]) {
        into.iter_mut().zip(other).for_each(|(a, b)| a.merge(b));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// e^2000 is no number, and 1 + 1/e times e^2001 is still the sum of e^2000 and e^2001.
    #[test]
    fn totals_merge_where_weights_are_no_numbers() {
        let one = |top: f64| Totalled { rows: 1, top, sum: 1.0, ..Fold::<Scored>::zero(&Totals) };
        for (first, second) in [(2000.0, 2001.0), (2001.0, 2000.0), (-2001.0, -2000.0)] {
            let mut all = one(first);
            Fold::<Scored>::merge(&Totals, &one(second), &mut all);
            assert_eq!((all.rows, all.top), (2, f64::max(first, second)));
            assert!((all.sum - 1.367_879_441_171_442_3).abs() < 1e-14, "{}", all.sum);
        }
    }
}
