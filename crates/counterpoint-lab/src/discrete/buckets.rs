//! Buckets: the action range, cut at quantiles of the logged actions.

use counterpoint::features::anchors::quantile_sorted;
use counterpoint::{Error, Result};
use serde::{Deserialize, Serialize};

/// Neighbouring intervals that cover the logged actions; each holds at least one of them.
///
/// Bucket k is [edge k, edge k+1), the last one closed. For weights the outer buckets are open, so that every action has
/// a bucket and the shares of the logging policy add up to one; as a density they end at the 1st and the 99th percentile of the
/// logged actions, because a density spread over a long tail would act where the log hardly ever did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Buckets {
    /// K + 1 ascending edges.
    edges: Vec<f64>,
    /// The median of the logged actions of each bucket.
    centres: Vec<f64>,
}

/// Where the first of the published buckets ends.
const NOUGHT: f64 = 1e-8;

impl Buckets {
    /// At most `k` buckets with equally many logged actions. Repeated actions can make quantiles coincide; then there are fewer.
    ///
    /// ```
    /// use counterpoint_lab::discrete::Buckets;
    /// let b = Buckets::quantile(&[1.0, 2.0, 3.0, 4.0, 6.0, 9.0], 2)?;
    /// assert_eq!((b.len(), b.edges()[1]), (2, 3.5));
    /// assert!((b.edges()[0] - 1.05).abs() < 1e-12 && (b.edges()[2] - 8.85).abs() < 1e-12);
    /// assert_eq!((b.index(3.4), b.index(3.5), b.index(100.0)), (0, 1, 1));
    /// assert_eq!((b.centre(0), b.centre(1)), (2.0, 6.0));
    /// # Ok::<(), counterpoint::Error>(())
    /// ```
    pub fn quantile(actions: &[f64], k: usize) -> Result<Self> {
        if k < 2 {
            return Err(Error::recipe("buckets", format!("{k} bucket leaves nothing to choose (at least 2)")));
        }
        let mut sorted = actions.to_vec();
        sorted.sort_by(f64::total_cmp);
        if sorted.is_empty() {
            return Err(Error::data("there are no actions to cut into buckets"));
        }
        let [low, high] = [0.01, 0.99].map(|q| quantile_sorted(&sorted, q));
        let below = |edge: f64| sorted.partition_point(|a| *a < edge);
        let (mut edges, mut starts) = (vec![low], vec![0]);
        for j in 1..k {
            let edge = quantile_sorted(&sorted, j as f64 / k as f64);
            if edge > low && edge < high && below(edge) > starts[starts.len() - 1] {
                edges.push(edge);
                starts.push(below(edge));
            }
        }
        if edges.len() < 2 {
            return Err(Error::data("the logged actions fall into a single bucket"));
        }
        edges.push(high);
        starts.push(sorted.len());
        let centres = starts.windows(2).map(|s| quantile_sorted(&sorted[s[0]..s[1]], 0.5)).collect();
        Ok(Buckets { edges, centres })
    }

    /// The buckets of the authors' published code: `k` + 2 of them, each closed on the right and acting with its upper edge.
    ///
    /// ```text
    /// (.., 1e-8], (1e-8, q_0], (q_0, q_1], ..., (q_{k-1}, q_k]      q_j: the j/k quantile of the logged actions
    /// ```
    ///
    /// q_0 is the smallest and q_k the largest logged action. So the first bucket is never taken in the log and the second once, yet a
    /// policy over them can choose either. Our buckets are closed on the left: an edge here is the next number after q_j.
    pub fn published(actions: &[f64], k: usize) -> Result<Self> {
        let mut sorted = actions.to_vec();
        sorted.sort_by(f64::total_cmp);
        if k < 2 || sorted.first().is_none_or(|least| *least <= NOUGHT) {
            return Err(Error::data(format!("{k} buckets of positive actions cannot be made of these")));
        }
        let mut centres = vec![NOUGHT];
        centres.extend((0..=k).map(|j| quantile_sorted(&sorted, j as f64 / k as f64)));
        if centres.windows(2).any(|c| c[0] >= c[1]) {
            return Err(Error::data("quantiles of the logged actions coincide").hint("use fewer buckets"));
        }
        let edges = [0.0].into_iter().chain(centres.iter().map(|c| c.next_up())).collect();
        Ok(Buckets { edges, centres })
    }

    /// The same buckets, acting with their upper edges.
    #[must_use]
    pub fn at_upper_edges(&self) -> Self {
        Buckets { edges: self.edges.clone(), centres: self.edges[1..].to_vec() }
    }

    /// The same buckets, acting with the medians of these actions; a bucket without any acts as before.
    #[must_use]
    pub fn at_medians(&self, actions: &[f64]) -> Self {
        let mut inside = vec![Vec::new(); self.len()];
        actions.iter().for_each(|a| inside[self.index(*a)].push(*a));
        let median = |(own, old): (&mut Vec<f64>, &f64)| {
            own.sort_by(f64::total_cmp);
            if own.is_empty() { *old } else { quantile_sorted(own, 0.5) }
        };
        Buckets { edges: self.edges.clone(), centres: inside.iter_mut().zip(&self.centres).map(median).collect() }
    }

    /// Number of buckets K.
    pub fn len(&self) -> usize {
        self.centres.len()
    }

    /// Never: there are at least two.
    pub fn is_empty(&self) -> bool {
        self.centres.is_empty()
    }

    /// The edges, ascending.
    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    /// The bucket of an action; actions beyond the edges belong to the outer buckets.
    pub fn index(&self, action: f64) -> usize {
        self.edges[1..self.len()].partition_point(|edge| *edge <= action)
    }

    /// What is done when bucket k is drawn: the median of its logged actions.
    pub fn centre(&self, k: usize) -> f64 {
        self.centres[k]
    }

    /// All centres, ascending.
    pub fn centres(&self) -> &[f64] {
        &self.centres
    }

    /// The length of bucket k.
    pub fn width(&self, k: usize) -> f64 {
        self.edges[k + 1] - self.edges[k]
    }

    /// Whether the policy could act there.
    pub fn covers(&self, action: f64) -> bool {
        self.edges[0] <= action && action <= self.edges[self.len()]
    }
}
