//! The columns of a ridge regression: contexts standardised and mapped, powers or knots of the action.

use super::super::Rows;
use super::super::levels::{levels, nearest};
use super::shape::ContextShape;
use crate::error::{Error, Result};
use crate::features::anchors::quantile_sorted;
use crate::features::{ContextKind, ContextMap, MapOptions, Scaler};
use serde::{Deserialize, Serialize};

/// Standardised contexts are not taken further out than this.
const FAR: f64 = 5.0;

/// psi: contexts standardised, moved into the range that was seen, then mapped. Its last column is the constant 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::models) struct ContextBasis {
    scaler: Scaler,
    low: Vec<f64>,
    high: Vec<f64>,
    map: Map,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Map {
    /// A map of the policies.
    Plain(ContextMap),
    /// Each context by itself: x_j, and (x_j - k)_+ for each of its knots.
    Splines(Vec<Vec<f64>>),
    /// Each context by itself: of a code one 0/1 column for each of its levels but the first, else x_j; a value that is no level counts
    /// as the nearest.
    Levels(Vec<Vec<f64>>),
}

/// phi: powers of the standardised action, then (v - k)_+ for each knot, then the constant 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ActionBasis {
    centre: f64,
    unit: f64,
    low: f64,
    high: f64,
    degree: usize,
    knots: Vec<f64>,
}

impl ContextBasis {
    pub(in crate::models) fn learn(rows: &Rows, shape: ContextShape, seed: u64) -> Result<Self> {
        let (n, d) = (rows.len(), rows.d);
        let column = |j: usize| (0..n).map(move |i| rows.x[i * d + j]);
        let mut scaler = Scaler::identity(d);
        let (mut low, mut high) = (vec![0.0; d], vec![0.0; d]);
        for j in 0..d {
            let mean = column(j).sum::<f64>() / n as f64;
            let std = (column(j).map(|v| (v - mean) * (v - mean)).sum::<f64>() / n as f64).sqrt();
            let size = column(j).fold(0.0f64, |m, v| m.max(v.abs()));
            (scaler.shift[j], scaler.unit[j]) = (mean, if std > 1e-12 * size { std } else { 1.0 });
            let scaled = |v: f64| (v - mean) / scaler.unit[j];
            low[j] = scaled(column(j).fold(f64::INFINITY, f64::min)).max(-FAR);
            high[j] = scaled(column(j).fold(f64::NEG_INFINITY, f64::max)).min(FAR);
        }
        let mut basis = ContextBasis { scaler, low, high, map: Map::Plain(ContextMap::Constant) };
        let scaled = |basis: &ContextBasis| {
            let mut x = rows.x.to_vec();
            x.chunks_exact_mut(d.max(1)).for_each(|row| basis.scale(row));
            x
        };
        basis.map = match shape {
            ContextShape::Constant => Map::Plain(ContextMap::Constant),
            ContextShape::Linear => Map::Plain(ContextMap::Linear),
            ContextShape::Quadratic => Map::Plain(ContextMap::Quadratic),
            ContextShape::Cubic => Map::Plain(ContextMap::Cubic),
            ContextShape::Splines(k) => Map::Splines((0..d).map(|j| spline_knots(&scaled(&basis), d, j, k)).collect()),
            ContextShape::Levels(_) => {
                let scaled = |j: usize, v: &f64| (v - basis.scaler.shift[j]) / basis.scaler.unit[j];
                Map::Levels((0..d).map(|j| levels(rows, j).iter().map(|v| scaled(j, v)).collect()).collect())
            }
            ContextShape::Kernels(m) => {
                let options = MapOptions { buckets: 2, centres: m, bandwidth: None, seed };
                let x = scaled(&basis);
                let some = &x[..x.len().min(d * 20_000)];
                let map = ContextMap::learn(ContextKind::Nystrom, some, d, options)?;
                Map::Plain(map)
            }
        };
        Ok(basis)
    }

    fn d(&self) -> usize {
        self.low.len()
    }

    pub(in crate::models) fn dim(&self) -> usize {
        match &self.map {
            Map::Plain(map) => map.dim(self.d()),
            Map::Splines(knots) => knots.iter().map(|k| k.len() + 1).sum::<usize>() + 1,
            Map::Levels(levels) => levels.iter().map(|l| l.len().saturating_sub(1).max(1)).sum::<usize>() + 1,
        }
    }

    fn scale(&self, x: &mut [f64]) {
        self.scaler.apply(x);
        x.iter_mut().enumerate().for_each(|(j, v)| *v = v.clamp(self.low[j], self.high[j]));
    }

    /// The columns of one row of contexts on their own scale; `room` holds d numbers.
    pub(in crate::models) fn apply(&self, x: &[f64], room: &mut [f64], out: &mut [f64]) {
        room.copy_from_slice(x);
        self.scale(room);
        match &self.map {
            Map::Plain(map) => map.apply(room, out),
            Map::Splines(knots) => {
                let mut at = 0;
                for (v, knots) in room.iter().zip(knots) {
                    out[at] = *v;
                    knots.iter().enumerate().for_each(|(k, knot)| out[at + 1 + k] = (v - knot).max(0.0));
                    at += knots.len() + 1;
                }
                out[at] = 1.0;
            }
            Map::Levels(levels) => {
                out.fill(0.0);
                let mut at = 0;
                for (v, levels) in room.iter().zip(levels) {
                    match levels.len() {
                        0 => out[at] = *v,
                        _ => match nearest(levels, *v) {
                            0 => {}
                            k => out[at + k - 1] = 1.0,
                        },
                    }
                    at += levels.len().saturating_sub(1).max(1);
                }
                out[at] = 1.0;
            }
        }
    }

    pub(in crate::models) fn check(&self, d: usize) -> Result<()> {
        self.scaler.check(d)?;
        let ordered =
            |low: &[f64], high: &[f64]| low.iter().zip(high).all(|(l, h)| l <= h && l.is_finite() && h.is_finite());
        let fits = self.low.len() == d && self.high.len() == d && ordered(&self.low, &self.high);
        match &self.map {
            Map::Plain(map) => map.check(d)?,
            Map::Splines(knots) | Map::Levels(knots)
                if knots.len() != d || knots.iter().flatten().any(|k| !k.is_finite()) =>
            {
                return Err(Error::policy("the knots of its loss model do not fit its contexts"));
            }
            Map::Splines(_) | Map::Levels(_) => {}
        }
        if fits { Ok(()) } else { Err(Error::policy(format!("the ranges of its loss model do not fit {d} contexts"))) }
    }
}

/// Inner quantiles of a column, different from each other and from its ends.
fn spline_knots(x: &[f64], d: usize, j: usize, count: usize) -> Vec<f64> {
    let mut column: Vec<f64> = x.iter().skip(j).step_by(d).copied().collect();
    column.sort_by(f64::total_cmp);
    let level = |k: usize| (k + 1) as f64 / (count + 1) as f64;
    let mut knots: Vec<f64> = (0..count).map(|k| quantile_sorted(&column, level(k))).collect();
    knots.dedup();
    let (first, last) = (column.first().copied().unwrap_or(0.0), column.last().copied().unwrap_or(0.0));
    knots.retain(|k| *k > first && *k < last);
    knots
}

impl ActionBasis {
    pub(super) fn learn(rows: &Rows, degree: usize, knots: usize) -> Self {
        let mut sorted = rows.a.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (quantile_sorted(&sorted, 0.002), quantile_sorted(&sorted, 0.998));
        let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
        let std = (sorted.iter().map(|a| (a - mean) * (a - mean)).sum::<f64>() / sorted.len() as f64).sqrt();
        let unit = if std > 0.0 { std } else { 1.0 };
        let mut at: Vec<f64> =
            (0..knots).map(|k| quantile_sorted(&sorted, (k + 1) as f64 / (knots + 1) as f64)).collect();
        at.dedup();
        at.retain(|k| *k > low && *k < high);
        ActionBasis { centre: mean, unit, low, high, degree, knots: at.iter().map(|k| (k - mean) / unit).collect() }
    }

    pub(super) fn dim(&self) -> usize {
        self.degree + self.knots.len() + 1
    }

    pub(super) fn apply(&self, a: f64, out: &mut [f64]) {
        let v = (a.clamp(self.low, self.high) - self.centre) / self.unit;
        let mut power = 1.0;
        for o in &mut out[..self.degree] {
            power *= v;
            *o = power;
        }
        self.knots.iter().enumerate().for_each(|(k, knot)| out[self.degree + k] = (v - knot).max(0.0));
        out[self.dim() - 1] = 1.0;
    }

    pub(super) fn check(&self) -> Result<()> {
        let numbers = [self.centre, self.unit, self.low, self.high];
        let finite = numbers.iter().chain(&self.knots).all(|v| v.is_finite());
        if finite && self.unit > 0.0 && self.low <= self.high && self.degree <= 8 {
            return Ok(());
        }
        Err(Error::policy("the action columns of its loss model are damaged"))
    }
}
