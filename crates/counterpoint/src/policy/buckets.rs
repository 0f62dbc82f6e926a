//! Buckets: the action range, cut at quantiles of the logged actions.

use crate::error::{Error, Result};
use crate::features::anchors::quantile_sorted;
use serde::{Deserialize, Serialize};

/// Neighbouring intervals that cover the logged actions; each holds at least one of them.
///
/// Bucket k is [edge k, edge k+1), the last one closed. For weights the outer buckets are open, so that every action has
/// a bucket and the shares of the logging policy add up to one; as a density they end at the 1st and the 99th percentile of the
/// logged actions, because a density spread over a long tail would act where the log hardly ever did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buckets {
    /// K + 1 ascending edges.
    edges: Vec<f64>,
    /// The median of the logged actions of each bucket.
    centres: Vec<f64>,
}

impl Buckets {
    /// At most `k` buckets with equally many logged actions. Repeated actions can make quantiles coincide; then there are fewer.
    ///
    /// ```
    /// use counterpoint::policy::Buckets;
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

    /// Buckets between ascending edges, each acting with its centre.
    pub fn new(edges: Vec<f64>, centres: Vec<f64>) -> Result<Self> {
        let buckets = Buckets { edges, centres };
        buckets.check()?;
        Ok(buckets)
    }

    /// Refuses edges that are not ascending numbers, and centres that are not one for each bucket.
    pub fn check(&self) -> Result<()> {
        let (edges, centres) = (self.edges.len(), self.centres.len());
        if centres < 2 || edges != centres + 1 {
            return Err(Error::policy(format!("{centres} buckets with {edges} edges (at least 2, and one edge more)")));
        }
        if let Some(v) = self.edges.iter().chain(&self.centres).find(|v| !v.is_finite()) {
            return Err(Error::policy(format!("an edge or centre of its buckets is {v}")));
        }
        if self.edges.windows(2).any(|e| e[0] >= e[1]) || self.centres.windows(2).any(|c| c[0] > c[1]) {
            return Err(Error::policy("the edges of its buckets are not ascending"));
        }
        Ok(())
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
