//! Which policies a log can support: effective rows of normal policies around an action.
//!
//! ```text
//! w = N(a; centre, (share * logged std)^2) / p,   n_eff / n = (sum w)^2 / (n sum w^2)
//! ```
//!
//! Estimates rest on n_eff rows, and the [`Gate`] asks for a share of them and for a number. The figures are taken from at
//! most [`ROWS`] rows chosen by a hash; they are shares, and more rows would not move them by what matters here.

use super::ColumnFacts;
use crate::certify::Gate;
use crate::data::{Sampled, Weighting};
use crate::math;
use crate::policy::Family;
use serde::Serialize;

/// How well the log supports playing around one action.
#[derive(Clone, Debug, Serialize)]
pub struct Support {
    /// The action (first action column; the others at their medians).
    pub action: f64,
    /// Level of that action among the logged ones.
    pub level: f64,
    /// (std of the policy as a share of the logged std, n_eff / n) for normal policies around the action.
    pub effective_share: Vec<(f64, f64)>,
    /// The smallest std, as a share of the logged std, whose estimates would pass the default gate.
    pub smallest_std: Option<f64>,
}

/// n_eff / n of normal policies as their mean moves over the range of the logged actions.
#[derive(Clone, Debug, Serialize)]
pub struct Reach {
    /// The share under which no estimate is believed: that of the default gate.
    pub floor: f64,
    /// One line a std.
    pub lines: Vec<ReachLine>,
}

/// One std of [`Reach`].
#[derive(Clone, Debug, Serialize)]
pub struct ReachLine {
    /// The std as a share of the logged std.
    pub std: f64,
    /// (mean action, n_eff / n), from the smallest to the largest action.
    pub points: Vec<(f64, f64)>,
    /// The means between which n_eff / n stays above the floor, if there are any.
    pub supported: Option<(f64, f64)>,
}

/// Shares of the logged std that are tried around typical actions, and along the range.
const SHARES: [f64; 6] = [1.0, 0.5, 0.25, 0.1, 0.05, 0.025];
const LINES: [f64; 4] = [1.0, 0.5, 0.25, 0.1];

/// Rows that are enough for a share.
pub(super) const ROWS: usize = 50_000;

/// Means along the range of the actions.
const STEPS: usize = 48;

/// Rows chosen by a hash.
pub(super) struct Rows {
    rows: Sampled,
    columns: usize,
    total: f64,
    floor: f64,
    weighting: Weighting,
}

impl Rows {
    pub(super) fn new(rows: Sampled, total_weight: f64, weighting: Weighting) -> Self {
        let total = rows.omega.iter().sum();
        let columns = rows.a.len() / rows.ids.len().max(1);
        Rows { rows, columns, total, floor: Gate::default().needs(total_weight) / total_weight, weighting }
    }

    /// n_eff / n of the normal policy around `action` with a share of the logged stds.
    fn effective_share(&self, actions: &[ColumnFacts], action: f64, share: f64) -> f64 {
        let (mut w1, mut w2) = (0.0, 0.0);
        let rows = &self.rows;
        for (i, a) in rows.a.chunks_exact(self.columns.max(1)).enumerate() {
            let log_pi: f64 = actions
                .iter()
                .enumerate()
                .map(|(c, facts)| {
                    let centre = if c == 0 { action } else { facts.quantiles[3] };
                    Family::Normal.log_density(a[c], centre, (facts.std * share).max(1e-300)).value
                })
                .sum();
            let w = math::exp((log_pi - rows.log_p[i]).min(300.0));
            w1 += rows.omega[i] * w;
            w2 += self.weighting.squared(rows.omega[i]) * w * w;
        }
        if w2 > 0.0 { w1 * w1 / w2 / self.total } else { 0.0 }
    }

    /// Around typical actions.
    pub(super) fn support(&self, actions: &[ColumnFacts], quantile: &dyn Fn(f64) -> f64) -> Vec<Support> {
        let around = |&level: &f64| {
            let action = quantile(level);
            let tried = SHARES.map(|s| (s, self.effective_share(actions, action, s)));
            let passing = tried.iter().filter(|t| t.1 >= self.floor).map(|t| t.0);
            Support { action, level, smallest_std: passing.reduce(f64::min), effective_share: tried.to_vec() }
        };
        [0.05, 0.25, 0.5, 0.75, 0.95].iter().map(around).collect()
    }

    /// Along the range of the actions.
    pub(super) fn reach(&self, actions: &[ColumnFacts]) -> Reach {
        let Some(first) = actions.first() else { return Reach { floor: self.floor, lines: Vec::new() } };
        // a little beyond what was logged: there the share falls, and that is to be seen
        let (low, high) = (
            first.quantiles[0].max(first.quantiles[1] - first.std),
            first.quantiles[6].min(first.quantiles[5] + first.std),
        );
        let line = |&std: &f64| {
            let at = |i: usize| low + (high - low) * i as f64 / STEPS as f64;
            let points: Vec<(f64, f64)> =
                (0..=STEPS).map(|i| (at(i), self.effective_share(actions, at(i), std))).collect();
            let above = |p: &&(f64, f64)| p.1 >= self.floor;
            let supported = points.iter().find(above).zip(points.iter().rev().find(above)).map(|(a, b)| (a.0, b.0));
            ReachLine { std, points, supported }
        };
        Reach { floor: self.floor, lines: LINES.iter().map(line).collect() }
    }
}
