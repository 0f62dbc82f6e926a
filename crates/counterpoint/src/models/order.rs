//! Rows without units and without an order of their own.
//!
//! Costs are centred and scaled and then rounded to a grid of 2^-16, far below their noise, so that a change of units, which changes their last
//! bits, mostly changes nothing of what is fitted: a network grows a difference of 1e-7 into one of 1e-4. Rows are sorted by a seeded hash of their standardised contexts and actions (rows
//! in which these are equal are numbered by their costs first, so that they do not all fall on one side of a cut). Costs are not hashed:
//! far from 0 they have fewer digits than the grid, and the order would be another one. The first rows are the held-out share.

use super::Rows;
use crate::error::Result;
use crate::rng::hash;

/// Steps per standard deviation of the grid that standardised numbers are rounded to.
pub(super) const GRID: f64 = 16_777_216.0;

/// The same for costs.
const COST_GRID: f64 = 65_536.0;

/// Where a column lies, and how wide it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit {
    pub(super) centre: f64,
    /// A standard deviation; 0 for a column that does not vary.
    pub(super) scale: f64,
}

impl Unit {
    /// Weighted mean and standard deviation of the values that are numbers.
    pub(super) fn of(values: impl Iterator<Item = (f64, f64)> + Clone) -> Unit {
        let known = values.filter(|(v, _)| v.is_finite());
        let weight: f64 = known.clone().map(|(_, w)| w).sum();
        if weight <= 0.0 {
            return Unit { centre: 0.0, scale: 0.0 };
        }
        let centre = known.clone().map(|(v, w)| w * v).sum::<f64>() / weight;
        let scale = (known.map(|(v, w)| w * (v - centre) * (v - centre)).sum::<f64>() / weight).sqrt();
        // what is left of a constant after rounding is not a spread
        let noise = 1e-13 * centre.abs();
        Unit { centre, scale: if scale > noise && scale.is_finite() { scale } else { 0.0 } }
    }

    /// The number without its unit, on the grid.
    pub(super) fn strip(&self, v: f64) -> f64 {
        self.strip_to(v, GRID)
    }

    fn strip_to(&self, v: f64, grid: f64) -> f64 {
        if self.scale == 0.0 { 0.0 } else { ((v - self.centre) / self.scale * grid).round() / grid }
    }
}

/// Rows of positive weight, sorted by what they hold.
pub(super) struct Ordered {
    /// Which row comes i-th.
    pub(super) row: Vec<u32>,
    /// Costs without unit.
    pub(super) y: Vec<f64>,
    /// Weights with mean 1.
    pub(super) omega: Vec<f64>,
    /// The unit of the costs.
    pub(super) cost: Unit,
}

impl Ordered {
    /// Checks and sorts.
    pub(super) fn new(rows: &Rows, seed: u64) -> Result<Ordered> {
        rows.check()?;
        let weighted =
            |v: &[f64]| Unit::of(v.iter().copied().zip(rows.omega.iter().copied()).collect::<Vec<_>>().into_iter());
        let (cost, action) = (weighted(rows.y), weighted(rows.a));
        let units: Vec<Unit> =
            (0..rows.d).map(|j| Unit::of((0..rows.len()).map(|i| (rows.x[i * rows.d + j], 1.0)))).collect();
        let content = |i: usize| {
            let contexts = rows.context(i).iter().zip(&units).map(|(v, u)| u.strip(*v));
            // adding 0 makes one of the two zeros; every NaN is the same
            std::iter::once(action.strip(rows.a[i]))
                .chain(contexts)
                .fold(seed, |h, v| hash(h, if v.is_nan() { u64::MAX } else { (v + 0.0).to_bits() }))
        };
        let mut keyed: Vec<(u64, u32)> =
            (0..rows.len()).filter(|&i| rows.omega[i] > 0.0).map(|i| (content(i), i as u32)).collect();
        let y = |i: u32| rows.y[i as usize];
        keyed.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| y(a.1).total_cmp(&y(b.1))));
        let (mut last, mut times) = (None, 0);
        for (key, _) in keyed.iter_mut() {
            times = if last == Some(*key) { times + 1 } else { 0 };
            last = Some(*key);
            *key = hash(*key, times);
        }
        keyed.sort_unstable();
        let row: Vec<u32> = keyed.into_iter().map(|(_, i)| i).collect();
        let mean = row.iter().map(|i| rows.omega[*i as usize]).sum::<f64>() / row.len() as f64;
        Ok(Ordered {
            y: row.iter().map(|i| cost.strip_to(rows.y[*i as usize], COST_GRID)).collect(),
            omega: row.iter().map(|i| rows.omega[*i as usize] / mean).collect(),
            row,
            cost,
        })
    }

    /// The squared error of what was fitted to these rows.
    pub(super) fn loss(&self, fitted: &[f64], rows: std::ops::Range<usize>) -> f64 {
        rows.map(|i| self.omega[i] * (fitted[i] - self.y[i]) * (fitted[i] - self.y[i])).sum()
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.row.len()
    }
}

/// How many of n rows a share of them is; none if it would be fewer than 10, or if fewer than 10 were left.
pub(super) fn share(n: usize, share: f64) -> usize {
    let held = (n as f64 * share).round() as usize;
    if held < 10 || held + 10 > n { 0 } else { held }
}
