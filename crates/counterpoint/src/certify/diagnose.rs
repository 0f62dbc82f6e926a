//! What an estimate rests on: effective rows, mean weight, the tail of the weights.

use super::interval::{Figure, Interval};
use super::terms::Terms;
use crate::data::{Digest, Weighting};
use crate::error::{Error, Result};
use crate::folds::{Bootstrap, Powers, Replicates, Shape, Totalled, Totals, Weighed, ask_weights};
use crate::math;
use serde::{Deserialize, Serialize};

/// Where the quantiles of the weights are taken.
pub const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 1.0];

/// Diagnostics of the weights on one part of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnostics {
    /// Rows: the sum of counts, or the number of rows where they have sampling weights.
    pub rows: f64,
    /// Number of clusters, where rows are not independent draws.
    #[serde(default)]
    pub clusters: Option<f64>,
    /// Effective sample size n_eff = (sum w)^2 / sum w^2; in clusters, where there are any.
    pub effective: f64,
    /// n_eff / n.
    pub effective_share: f64,
    /// How many rows a standard error rests on: (sum psi^2)^2 / sum psi^4 of the influence functions of the value and of
    /// the difference, the smaller of the two.
    pub informative: f64,
    /// Mean weight with its normal interval; it should hold 1.
    pub mean_weight: Interval,
    /// Share of all weight that the heaviest row carries.
    pub largest_share: f64,
    /// Share of all weight that the heaviest 1% of the rows carry.
    pub top_percent_share: f64,
    /// Quantiles of the weights at [`QUANTILES`].
    pub weight_quantiles: [f64; 5],
    /// Hill's estimate of the tail index from the heaviest sqrt(n) rows: below 2, the weights have no variance to speak
    /// of. Absent for fewer than 100 rows or when those weights are all equal.
    pub tail_index: Option<f64>,
    /// Share of the policy's mass outside the range of the logged actions, where nothing is known.
    pub outside: f64,
}

impl Diagnostics {
    /// Degrees of freedom of a standard error that rests on the informative rows: 2 / (1/m - 1/n). For normal terms it is n.
    pub fn freedom(&self) -> f64 {
        freedom(self.informative, self.clusters.unwrap_or(self.rows))
    }
}

/// sum psi^2 has the relative variance 1/m - 1/n, a chi-square with f degrees of freedom 2/f. At most 2e9, which is as
/// good as infinitely many and has a place in JSON.
fn freedom(informative: f64, rows: f64) -> f64 {
    2.0 / (1.0 / informative - 1.0 / rows).max(1e-9)
}

/// The sums of a part in units that keep digits, with the diagnostics of its weights.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) totals: Totalled,
    pub(super) sums: Replicates,
    log_scale: f64,
    pub(super) centre: f64,
    pub(super) diagnostics: Diagnostics,
    /// Degrees of freedom of the standard error of the log's own mean cost.
    pub(super) logged_freedom: f64,
    /// Sums of the squares and of the fourth powers of the costs about their mean.
    pub(super) powers: [f64; 2],
}

impl Part {
    /// Adds up weighted rows in three passes, with `replicates` replicates.
    pub(super) fn new(rows: &dyn Weighed, replicates: usize, terms: &Terms) -> Result<Self> {
        Part::about(rows, replicates, terms, None)
    }

    /// The same with costs less this number in place of their mean.
    pub(super) fn about(rows: &dyn Weighed, replicates: usize, terms: &Terms, centre: Option<f64>) -> Result<Self> {
        let totals = ask_weights(rows, Totals)?;
        if let Some((id, log_w)) = totals.broken {
            return Err(Error::numeric("ln w", format!("{log_w} is not a weight")).at(format!("row {}", id + 1)));
        }
        if totals.top == f64::NEG_INFINITY {
            return Err(Error::numeric("weights", "the policy gives density 0 to every logged action"));
        }
        let (n, log_scale) = (totals.cost.n, totals.log_mean());
        let centre = centre.unwrap_or_else(|| totals.cost.mean());
        let together = Bootstrap::together(totals.rows);
        let ask = Bootstrap { replicates, seed: terms.seed, log_scale, centre, of: Powers::Weights, together };
        let sums = summed(rows, ask, totals.weighting)?;
        let own = &sums.own;
        let (mean, se) = own.weight();
        let shape = Shape {
            log_scale,
            centre,
            value: own.value().0,
            difference: own.difference().0,
            vbar: mean - 1.0,
            zbar: own.logged().0,
        };
        let shape = ask_weights(rows, shape)?;
        let scale = math::exp(log_scale);
        let clusters = totals.cluster_count();
        // a sampled row is one row, whatever it stands for
        let counted = if totals.weighting == Weighting::Sampling { totals.rows as f64 } else { n };
        // rows of a cluster may be one row written down again and again: then clusters are all there is
        let draws = clusters.map_or(1.0, |c| (c / totals.rows as f64).min(1.0));
        let diagnostics = Diagnostics {
            rows: counted,
            clusters,
            effective: draws * own.effective(),
            effective_share: own.effective() / counted,
            informative: draws * shape.participation(0).min(shape.participation(1)).min(counted),
            mean_weight: Interval::normal((mean * scale, se * scale / draws.sqrt()), terms),
            largest_share: shape.largest / n,
            top_percent_share: carried(&shape.log_w, 0.01 * n, log_scale) / n,
            weight_quantiles: QUANTILES.map(|q| math::exp(exceeded(&shape.log_w, (1.0 - q) * n))),
            tail_index: hill(&shape.log_w, n),
            outside: totals.outside / n,
        };
        let logged_freedom = freedom(draws * shape.participation(2).min(counted), draws * counted);
        let powers = [shape.powers[2][0] * draws, shape.powers[2][1] * draws];
        Ok(Part { totals, sums, log_scale, centre, diagnostics, logged_freedom, powers })
    }

    /// How much larger the variance of the difference is than that of independent rows: its variance over replicates, in which clusters
    /// are drawn as a whole, over that of its influence function. 1 without clusters.
    pub(super) fn design_effect(&self, figure: Figure, terms: &Terms) -> f64 {
        let (b, (_, se)) = (terms.replicates(), figure(&self.sums.own));
        if self.diagnostics.clusters.is_none() || b < 2 || se.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) {
            return 1.0;
        }
        let values: Vec<f64> = (0..b).map(|k| figure(&self.sums.replicate(k)).0).filter(|v| v.is_finite()).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / values.len() as f64;
        (variance / (se * se)).max(1.0)
    }

    /// Draws as many replicates as the terms now say.
    pub(super) fn resample(&mut self, rows: &dyn Weighed, terms: &Terms) -> Result<()> {
        let (log_scale, centre) = (self.log_scale, self.centre);
        let (replicates, seed) = (terms.replicates(), terms.seed);
        let together = Bootstrap::together(self.totals.rows);
        let ask = Bootstrap { replicates, seed, log_scale, centre, of: Powers::Weights, together };
        self.sums = summed(rows, ask, self.totals.weighting)?;
        Ok(())
    }
}

/// The sums, once more for squared sampling weights where rows have them: the same draws, so that replicates belong together.
fn summed(rows: &dyn Weighed, ask: Bootstrap, weighting: Weighting) -> Result<Replicates> {
    let sums = ask_weights(rows, ask)?;
    match weighting {
        Weighting::Counts => Ok(sums),
        Weighting::Sampling => Ok(sums.with_squares(ask_weights(rows, Bootstrap { of: Powers::Squares, ..ask })?)),
    }
}

/// Weight (in units of the mean) of the heaviest rows, `rows` of them; a row on the edge counts in part.
fn carried(log_w: &Digest, rows: f64, log_scale: f64) -> f64 {
    let mut left = rows;
    let mut sum = 0.0;
    for (log_w, omega) in log_w.heaviest() {
        let part = omega.min(left);
        sum += part * math::exp(log_w - log_scale);
        left -= part;
        if left <= 0.0 {
            break;
        }
    }
    sum
}

/// ln of the weight that `above` rows exceed.
pub(super) fn exceeded(log_w: &Digest, above: f64) -> f64 {
    let mut seen = 0.0;
    let mut last = f64::NEG_INFINITY;
    for (log_w, omega) in log_w.heaviest() {
        (seen, last) = (seen + omega, log_w);
        if seen > above {
            break;
        }
    }
    last
}

/// 1 / mean of ln(w_(i) / w_(k+1)) over the k = sqrt(n) heaviest rows.
fn hill(log_w: &Digest, n: f64) -> Option<f64> {
    let k = n.sqrt().floor();
    let base = exceeded(log_w, k);
    let (mut left, mut sum) = (k, 0.0);
    for (log_w, omega) in log_w.heaviest() {
        let part = omega.min(left);
        if part > 0.0 {
            sum += part * (log_w - base);
        }
        left -= part;
    }
    let mean = sum / k;
    (n >= 100.0 && mean > 0.0 && mean.is_finite()).then(|| 1.0 / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 100 rows the ten heaviest count: at ln w = 2 above ln w = 0 their mean is 2, and the index one half. Fewer rows say nothing of a tail.
    #[test]
    fn the_tail_index_is_that_of_the_root_of_the_rows() {
        let rows = |n: usize| Digest::of((0..n).map(|i| (if i < 10 { 2.0 } else { 0.0 }, 1.0)).collect());
        assert_eq!(hill(&rows(100), 100.0), Some(0.5));
        assert_eq!(hill(&rows(99), 99.0), None);
        assert_eq!(hill(&Digest::of(vec![(1.0, 1.0); 100]), 100.0), None); // equal weights have no tail
    }
}
