//! What an estimate rests on: effective rows, mean weight, the tail of the weights.

use super::interval::Interval;
use super::terms::Terms;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::folds::{Bootstrap, Replicates, Scored};
use serde::{Deserialize, Serialize};

/// Where the quantiles of the weights are taken.
pub const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 1.0];

/// Diagnostics of the weights on one part of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnostics {
    /// Rows (sum of row weights).
    pub rows: f64,
    /// n_eff = (sum w)^2 / sum w^2.
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
        freedom(self.informative, self.rows)
    }
}

/// sum psi^2 has the relative variance 1/m - 1/n, a chi-square with f degrees of freedom 2/f. At most 2e9, which is as
/// good as infinitely many and has a place in JSON.
fn freedom(informative: f64, rows: f64) -> f64 {
    2.0 / (1.0 / informative - 1.0 / rows).max(1e-9)
}

/// The sums of a part in units that keep digits, with the diagnostics of its weights.
pub(super) struct Part {
    pub(super) sums: Replicates,
    pub(super) centre: f64,
    pub(super) diagnostics: Diagnostics,
    pub(super) largest_log_w: f64,
    /// Degrees of freedom of the standard error of the log's own mean cost.
    pub(super) logged_freedom: f64,
}

impl Part {
    /// Adds up scored rows, with `replicates` replicates.
    pub(super) fn new(engine: &Engine, rows: &[Scored], replicates: usize, terms: &Terms) -> Result<Self> {
        let each = || rows.iter().flat_map(|b| (0..b.y.len()).map(move |i| (b.log_w[i], b.y[i], b.omega[i])));
        let present = || each().filter(|r| r.2 > 0.0);
        let n: f64 = each().map(|r| r.2).sum();
        let top = present().map(|r| r.0).fold(f64::NEG_INFINITY, f64::max);
        if top == f64::NEG_INFINITY {
            return Err(Error::numeric("weights", "the policy gives density 0 to every logged action"));
        }
        let log_scale = top + (each().map(|r| r.2 * (r.0 - top).exp()).sum::<f64>() / n).ln();
        let centre = each().map(|r| r.2 * r.1).sum::<f64>() / n;
        let fold = Bootstrap { replicates, seed: terms.seed, log_scale, centre };
        let sums = engine.ask(&fold, rows);
        let own = &sums.own;
        let l = own.value().0;
        let (d, vbar) = (own.difference().0, own.weight().0 - 1.0);
        let value = |v: f64, z: f64| (1.0 + v) * (z - l);
        let difference = |v: f64, z: f64| (v - vbar) * (z - l) / (1.0 + vbar) - d;
        let informative =
            [participation(each(), log_scale, centre, value), participation(each(), log_scale, centre, difference)];
        let mean = own.logged().0;
        let logged = participation(each(), log_scale, centre, |_, z| z - mean);
        let mut weights: Vec<(f64, f64)> = present().map(|r| (r.0, r.2)).collect();
        weights.sort_by(|a, b| b.0.total_cmp(&a.0));
        let scale = log_scale.exp();
        let (mean, se) = own.weight();
        let diagnostics = Diagnostics {
            rows: n,
            effective: own.effective(),
            effective_share: own.effective() / n,
            informative: informative[0].min(informative[1]).min(n),
            mean_weight: Interval::normal((mean * scale, se * scale), terms),
            largest_share: (top - log_scale).exp() / n,
            top_percent_share: carried(&weights, 0.01 * n, log_scale) / n,
            weight_quantiles: QUANTILES.map(|q| quantile(&weights, (1.0 - q) * n).exp()),
            tail_index: hill(&weights, n),
            outside: rows.iter().map(|b| b.outside).sum::<f64>() / n,
        };
        Ok(Part { sums, centre, diagnostics, largest_log_w: top, logged_freedom: freedom(logged.min(n), n) })
    }
}

/// (sum psi^2)^2 / sum psi^4 over rows; infinite if psi vanishes.
fn participation(
    rows: impl Iterator<Item = (f64, f64, f64)>,
    log_scale: f64,
    centre: f64,
    psi: impl Fn(f64, f64) -> f64,
) -> f64 {
    let squares = rows.map(|(log_w, y, omega)| (omega, psi((log_w - log_scale).exp_m1(), y - centre).powi(2)));
    let (p2, p4) = squares.fold((0.0, 0.0), |(a, b), (omega, p)| (a + omega * p, b + omega * p * p));
    if p4 > 0.0 { p2 * p2 / p4 } else { f64::INFINITY }
}

/// Weight (in units of the mean) of the heaviest rows, `rows` of them; a row on the edge counts in part.
fn carried(heaviest: &[(f64, f64)], rows: f64, log_scale: f64) -> f64 {
    let mut left = rows;
    let mut sum = 0.0;
    for (log_w, omega) in heaviest {
        let part = omega.min(left);
        sum += part * (log_w - log_scale).exp();
        left -= part;
        if left <= 0.0 {
            break;
        }
    }
    sum
}

/// ln of the weight that `above` rows exceed.
fn quantile(heaviest: &[(f64, f64)], above: f64) -> f64 {
    let mut seen = 0.0;
    for (log_w, omega) in heaviest {
        seen += omega;
        if seen > above {
            return *log_w;
        }
    }
    heaviest.last().map_or(f64::NEG_INFINITY, |w| w.0)
}

/// 1 / mean of ln(w_(i) / w_(k+1)) over the k heaviest rows.
fn hill(heaviest: &[(f64, f64)], n: f64) -> Option<f64> {
    let k = n.sqrt() as usize;
    let base = heaviest.get(k)?.0;
    let mean = heaviest[..k].iter().map(|w| w.0 - base).sum::<f64>() / k as f64;
    (n >= 100.0 && mean > 0.0 && mean.is_finite()).then(|| 1.0 / mean)
}
