//! `constant`, `linear`, `poly` and `stratified`: one model, mu_c(x) = link(<psi_X(x), B_c>), with four context maps.

use super::{At, Coefficients, Features, Model, Parts, Room, Size, Slots, StripModel, Support};
use crate::error::Result;
use crate::features::{ContextKind, ContextMap};
use crate::math;
use crate::vector::math::{exp_negative, ln_1p};
use crate::vector::product::{TILE, cell, cells, tiles};
use crate::vector::{Elementary, Lane, V, add_up, load, splat, store, vectors, width};
use fearless_simd::{Select, Simd, SimdBase, SimdFloat};
use serde::{Deserialize, Serialize};

/// mu_c(x) = link(<psi_X(x), B_c>)
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Linear {
    /// psi_X.
    pub map: ContextMap,
    /// Keeps means inside the support of the family.
    pub link: Link,
}

/// How a linear score becomes a mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Link {
    /// mu = s
    #[default]
    Identity,
    /// mu = ln(1 + exp s), positive; for families of positive actions
    Softplus,
}

impl Link {
    /// The mean and its slope in the score.
    pub fn apply(self, s: f64) -> (f64, f64) {
        match self {
            Link::Identity => (s, 1.0),
            Link::Softplus => {
                let e = math::exp(-s.abs());
                let value = s.max(0.0) + math::ln_1p(e);
                (value, if s >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) })
            }
        }
    }

    /// The score that gives this mean.
    pub fn invert(self, mean: f64) -> f64 {
        match self {
            Link::Identity => mean,
            Link::Softplus => mean + math::ln(-math::exp_m1(-mean)),
        }
    }

    /// Whether it keeps every mean in the support.
    pub(crate) fn inside(self, support: Support) -> bool {
        match support {
            Support::Real => true,
            Support::Positive => self == Link::Softplus,
        }
    }

    /// [`apply`](Self::apply) for a vector.
    #[inline(always)]
    pub(crate) fn vector<T: Elementary, S: Simd>(self, simd: S, s: V<T, S>) -> (V<T, S>, V<T, S>) {
        let (zero, one) = (splat::<T, S>(simd, T::ZERO), splat::<T, S>(simd, T::ONE));
        match self {
            Link::Identity => (s, one),
            Link::Softplus => {
                let e = exp_negative::<T, S>(simd, -s.abs());
                let mean = s.max(zero) + ln_1p::<T, S>(simd, e);
                (mean, s.simd_ge(zero).select(one, e) / (one + e))
            }
        }
    }
}

impl Linear {
    pub(super) fn examples(parts: &Parts) -> Result<Vec<(String, Linear)>> {
        [
            ("constant", ContextKind::Constant),
            ("linear", ContextKind::Linear),
            ("poly", ContextKind::Poly),
            ("strata", ContextKind::Strata),
        ]
        .into_iter()
        .map(|(name, kind)| Ok((name.into(), Linear { map: (parts.map)(kind)?, link: parts.support.link() })))
        .collect()
    }
}

impl Model for Linear {
    fn map(&self) -> &ContextMap {
        &self.map
    }

    fn parameters(&self, size: Size) -> usize {
        size.features.saturating_mul(size.actions)
    }

    fn free(&self, index: usize, intercept: Option<usize>, size: Size) -> bool {
        intercept == Some(index / size.actions)
    }

    fn inside(&self, support: Support) -> bool {
        self.link.inside(support)
    }

    fn start(&self, target: &[f64], intercept: Option<usize>, _: &mut dyn FnMut() -> f64, beta: &mut [f64]) {
        let q = target.len();
        for (f, row) in beta.chunks_exact_mut(q).enumerate() {
            // without an intercept (strata) every cell is one
            if intercept.is_none_or(|i| i == f) {
                row.iter_mut().zip(target).for_each(|(b, t)| *b = self.link.invert(*t));
            }
        }
    }

    fn form(&self, beta: &[f64], _fixed: &[f64], formed: &mut [f64]) {
        formed.copy_from_slice(beta);
    }

    fn pull(&self, entries: &[f64], _at: At, _size: Size, grad: &mut [f64]) {
        grad.copy_from_slice(entries);
    }

    /// Slopes of the link.
    fn cache(&self, size: Size) -> usize {
        size.actions
    }

    fn row(&self, formed: &[f64], psi: &[f64], mu: &mut [f64], cache: &mut [f64]) {
        let q = mu.len();
        mu.fill(0.0);
        for (x, b) in psi.iter().zip(formed.chunks_exact(q)) {
            mu.iter_mut().zip(b).for_each(|(s, b)| *s += x * b);
        }
        for c in 0..q {
            (mu[c], cache[c]) = self.link.apply(mu[c]);
        }
    }

    fn back(&self, psi: &[f64], cache: &[f64], slope: &[f64], entries: &mut [f64]) {
        let q = slope.len();
        for (x, entries) in psi.iter().zip(entries.chunks_exact_mut(q)) {
            for c in 0..q {
                entries[c] += slope[c] * cache[c] * x;
            }
        }
    }
}

/// Lanes: slopes of the link, one per action column.
impl StripModel for Linear {
    fn room(&self, size: Size, graded: usize) -> Room {
        Room { lanes: size.actions, cells: cells(graded * size.features, size.actions) }
    }

    fn cell(&self, size: Size, _graded: usize, slot: usize, entry: usize) -> usize {
        let q = size.actions;
        cell(q, slot * size.features + entry / q, entry % q)
    }

    fn order<T: Elementary>(&self, formed: &[f64], size: Size, out: &mut Coefficients<T>) {
        tiles(formed, size.actions, &mut out.tiles);
    }

    #[inline(always)]
    fn forward<T: Elementary, S: Simd>(
        &self,
        simd: S,
        theta: &Coefficients<T>,
        features: Features<T>,
        lanes: &mut [Lane<T>],
        mu: &mut [Lane<T>],
    ) {
        let x = features.x;
        for (c, (mu, slopes)) in mu.iter_mut().zip(lanes).enumerate() {
            let column = &theta.tiles[c / TILE * x.len()..(c / TILE + 1) * x.len()];
            for i in 0..vectors::<T, S>() {
                let mut s = splat::<T, S>(simd, T::ZERO);
                for (lane, row) in x.iter().zip(column) {
                    s = load::<T, S>(simd, lane, i).mul_add_precise(splat::<T, S>(simd, row[c % TILE]), s);
                }
                let (mean, slope) = self.link.vector::<T, S>(simd, s);
                store::<T, S>(mean, mu, i);
                store::<T, S>(slope, slopes, i);
            }
        }
    }

    /// Column c answers to mean c alone, so there is no product of panels: every accumulator is one inner product.
    #[inline(always)]
    fn backward<T: Elementary, S: Simd>(
        &self,
        simd: S,
        _theta: &Coefficients<T>,
        features: Features<T>,
        lanes: &mut [Lane<T>],
        slots: Slots<T>,
    ) {
        let (q, n) = (slots.mu.len(), width::<T>());
        for c in 0..q {
            for (slot, slope) in slots.slope[c..].iter().step_by(q).enumerate() {
                for (f, feature) in features.x.iter().enumerate() {
                    let at = cell(q, slot * features.x.len() + f, c) * n;
                    add_up::<T, S>(
                        simd,
                        &mut slots.acc[at..at + n],
                        #[inline(always)]
                        |i, sum| {
                            let s = load::<T, S>(simd, slope, i) * load::<T, S>(simd, &lanes[c], i);
                            s.mul_add_precise(load::<T, S>(simd, feature, i), sum)
                        },
                    );
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softplus_inverts() {
        for mean in [1e-20, 1e-6, 0.3, 2.0, 50.0] {
            let (back, _) = Link::Softplus.apply(Link::Softplus.invert(mean));
            assert!((back / mean - 1.0).abs() < 1e-13, "{mean} {back}");
        }
    }
}
