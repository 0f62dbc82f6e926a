//! The part of a loss model in vectors, for families whose expectation of a Gaussian kernel is the normal law's: doubly
//! robust estimates and the direct method, with one action column and means by rows.
//!
//! ```text
//! g = sum_l c_l E k(a, z_l) + shift,   E k(a, z) = exp(-r (mu - z)^2 / 2) / sqrt(1 + alpha s^2),   r = alpha / (1 + alpha s^2)
//! ```
//!
//! So a row needs the sums over l of c_l e_l, c_l e_l (mu - z_l) and c_l e_l (mu - z_l)^2, and one exponential an anchor.

use super::super::super::design::ModelRows;
use crate::estimate::LossModel;
use crate::vector::math::exp_negative;
use crate::vector::{Elementary, Lane, STRIP, load, splat, store, vectors};
use fearless_simd::{Simd, SimdFloat};

/// What the model says of the rows of a strip.
pub(super) struct Part<T> {
    /// eta(x, a), then the coefficients c(x), a lane each.
    eta: Lane<T>,
    c: Vec<Lane<T>>,
    /// What a weight is multiplied with: the cost less what the model says of it.
    pub(super) residual: Lane<T>,
    /// The model's expectation under the policy, and its slopes in mean and std.
    pub(super) g: [Lane<T>; 3],
}

impl<T: Elementary> Default for Part<T> {
    fn default() -> Self {
        Part { eta: Lane::ZERO, c: Vec::new(), residual: Lane::ZERO, g: [Lane::ZERO; 3] }
    }
}

impl<T: Elementary> Part<T> {
    /// Brings the rows from `first` on into lanes; rows that are not there are 0.
    pub(super) fn fetch(&mut self, rows: &ModelRows, first: usize) {
        let (n, m) = (rows.eta.len(), rows.c.len() / rows.eta.len().max(1));
        let here = STRIP.min(n - first);
        self.c.resize(m, Lane::ZERO);
        if here < STRIP {
            self.eta = Lane::ZERO;
            self.c.fill(Lane::ZERO);
        }
        for (to, eta) in self.eta.0.iter_mut().zip(&rows.eta[first..first + here]) {
            *to = T::of(*eta);
        }
        for (i, c) in rows.c[first * m..(first + here) * m].chunks_exact(m).enumerate() {
            for (lane, c) in self.c.iter_mut().zip(c) {
                lane.0[i] = T::of(*c);
            }
        }
    }

    /// Fills the residuals, and the expectation for these means.
    #[inline(always)]
    pub(super) fn expect<S: Simd>(
        &mut self,
        simd: S,
        model: &LossModel,
        (baseline, std): (f64, f64),
        mu: &Lane<T>,
        y: &Lane<T>,
    ) {
        let s = |v: f64| splat::<T, S>(simd, T::of(v));
        let wide = 1.0 + model.actions.bandwidth * std * std;
        let rate = model.actions.bandwidth / wide;
        let (half, shift) = (s(-0.5 * rate), s(model.intercept - baseline));
        let (top, in_mean, in_std) = (s(1.0 / wide.sqrt()), s(-rate / wide.sqrt()), s(rate * std / wide.sqrt()));
        let Part { eta, c, residual, g: [value, mean, of_std] } = self;
        for i in 0..vectors::<T, S>() {
            let mu = load::<T, S>(simd, mu, i);
            let mut sums = [s(0.0); 3];
            for (c, z) in c.iter().zip(&model.actions.anchors) {
                let d = mu - s(*z);
                let e = load::<T, S>(simd, c, i) * exp_negative::<T, S>(simd, half * d * d);
                let ed = e * d;
                sums = [sums[0] + e, sums[1] + ed, ed.mul_add_precise(d, sums[2])];
            }
            store::<T, S>(sums[0].mul_add_precise(top, shift), value, i);
            store::<T, S>(sums[1] * in_mean, mean, i);
            store::<T, S>(in_std * (s(rate) * sums[2] - sums[0]), of_std, i);
            store::<T, S>(load::<T, S>(simd, y, i) - load::<T, S>(simd, eta, i), residual, i);
        }
    }
}
