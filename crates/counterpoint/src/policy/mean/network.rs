//! A network with one hidden layer: mu_c(x) = link(b_c + sum_j V_jc tanh(<psi_X(x), W_j>)).
//!
//! The hidden units make their own features, so the context map is usually the linear one. Parameters are W (d_X x H,
//! row-major), then V (H x q), then b (q). With h the units of a row, o its outputs and r the slope of a sum in mean c,
//!
//! ```text
//! d / d W_fj = r link'(o_c) V_jc x_f (1 - h_j^2),   d / d V_jc = r link'(o_c) h_j,   d / d b_c = r link'(o_c)
//! ```
//!
//! V_jc does not depend on the row. So the entries of a gradient leave it out, and are, for each action column c, the sums of
//! r link' x_f (1 - h_j^2), then of r link' h_j, then of r link': two products of panels with the rows as the inner
//! dimension. [`Model::pull`] multiplies by V.

use super::{At, Coefficients, Features, Link, Model, Parts, Room, Size, Slots, StripModel, Support};
use crate::error::{Error, Result};
use crate::features::{ContextKind, ContextMap};
use crate::math;
use crate::vector::math::{at_least, at_most, exp_near, powers};
use crate::vector::product::{PAIR, PANEL, TILE, add_products, cell, cells, scores, tiles};
use crate::vector::{Elementary, Lane, load, splat, store, vectors, width};
use fearless_simd::{Simd, SimdFloat};
use serde::{Deserialize, Serialize};

/// A network with one hidden layer of tanh units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// psi_X.
    pub map: ContextMap,
    /// Number of hidden units H.
    pub units: usize,
    /// Keeps means inside the support of the family.
    pub link: Link,
}

/// Beyond this, tanh is 1 to the last digit of either precision, and exp(2 s) is still far from overflow.
const SATURATED: f64 = 20.0;

impl Network {
    pub(super) fn examples(parts: &Parts) -> Result<Vec<(String, Network)>> {
        let network = Network { map: (parts.map)(ContextKind::Linear)?, units: 5, link: parts.support.link() };
        Ok(vec![("network".into(), network)])
    }

    /// Entries per action column.
    fn per_column(&self, size: Size) -> usize {
        (size.features + 1) * self.units + 1
    }

    /// Accumulators per action column: of the first product, and of both.
    fn cells(&self, size: Size, graded: usize) -> (usize, usize) {
        let first = cells(graded * size.features, self.units);
        (first, first + cells(graded, self.units + 1))
    }

    /// W, V and b of formed parameters or of a gradient.
    fn split<'a>(&self, beta: &'a [f64], q: usize) -> (&'a [f64], &'a [f64], &'a [f64]) {
        let (w, rest) = beta.split_at(beta.len() - (self.units + 1) * q);
        let (v, b) = rest.split_at(self.units * q);
        (w, v, b)
    }
}

impl Model for Network {
    fn map(&self) -> &ContextMap {
        &self.map
    }

    fn parameters(&self, size: Size) -> usize {
        let out = self.units.saturating_add(1).saturating_mul(size.actions);
        size.features.saturating_mul(self.units).saturating_add(out)
    }

    /// The intercepts of the units, and b.
    fn free(&self, index: usize, intercept: Option<usize>, size: Size) -> bool {
        intercept == Some(index / self.units) || index >= (size.features + size.actions) * self.units
    }

    fn inside(&self, support: Support) -> bool {
        self.link.inside(support)
    }

    fn check(&self, _q: usize) -> Result<()> {
        if self.units == 0 { Err(Error::policy("its network has no units")) } else { Ok(()) }
    }

    /// W at random, so that units differ; V zero; b at the target.
    fn start(&self, target: &[f64], _intercept: Option<usize>, normal: &mut dyn FnMut() -> f64, beta: &mut [f64]) {
        let q = target.len();
        let at = beta.len() - (self.units + 1) * q;
        let (w, rest) = beta.split_at_mut(at);
        let width = (w.len() / self.units.max(1)).max(1) as f64;
        w.iter_mut().for_each(|w| *w = normal() / width.sqrt());
        let b = &mut rest[self.units * q..];
        b.iter_mut().zip(target).for_each(|(b, t)| *b = self.link.invert(*t));
    }

    fn form(&self, beta: &[f64], _fixed: &[f64], formed: &mut [f64]) {
        formed.copy_from_slice(beta);
    }

    fn entries(&self, size: Size) -> usize {
        size.actions * self.per_column(size)
    }

    fn pull(&self, entries: &[f64], at: At, size: Size, grad: &mut [f64]) {
        let (h, q) = (self.units, size.actions);
        let (_, v, _) = self.split(at.formed, q);
        grad.fill(0.0);
        let (w, rest) = grad.split_at_mut(size.features * h);
        for (c, entries) in entries.chunks_exact(self.per_column(size)).enumerate() {
            let (in_w, in_out) = entries.split_at(size.features * h);
            for (i, (g, e)) in w.iter_mut().zip(in_w).enumerate() {
                *g += v[i % h * q + c] * e;
            }
            // the entry of b follows those of V, as if b were one more unit
            for (j, e) in in_out.iter().enumerate() {
                rest[j * q + c] = *e;
            }
        }
    }

    /// Units, and slopes of the link.
    fn cache(&self, size: Size) -> usize {
        self.units + size.actions
    }

    fn row(&self, formed: &[f64], psi: &[f64], mu: &mut [f64], cache: &mut [f64]) {
        let q = mu.len();
        let (w, v, b) = self.split(formed, q);
        let (h, link) = cache.split_at_mut(self.units);
        h.fill(0.0);
        for (x, w) in psi.iter().zip(w.chunks_exact(self.units)) {
            h.iter_mut().zip(w).for_each(|(h, w)| *h += x * w);
        }
        h.iter_mut().for_each(|h| *h = math::tanh(*h));
        for c in 0..q {
            let o = b[c] + h.iter().zip(v.iter().skip(c).step_by(q)).map(|(h, v)| h * v).sum::<f64>();
            (mu[c], link[c]) = self.link.apply(o);
        }
    }

    fn back(&self, psi: &[f64], cache: &[f64], slope: &[f64], entries: &mut [f64]) {
        let (h, link) = cache.split_at(self.units);
        let per = entries.len() / slope.len();
        for ((slope, link), entries) in slope.iter().zip(link).zip(entries.chunks_exact_mut(per)) {
            let s = slope * link;
            let (in_w, in_out) = entries.split_at_mut(psi.len() * self.units);
            for (x, e) in psi.iter().zip(in_w.chunks_exact_mut(self.units)) {
                e.iter_mut().zip(h).for_each(|(e, h)| *e += s * x * (1.0 - h * h));
            }
            for (e, h) in in_out.iter_mut().zip(h.iter().chain([&1.0])) {
                *e += s * h;
            }
        }
    }
}

/// The lanes, taken apart.
struct Lanes<'a, T> {
    /// Units h, and a lane of ones: H + 1 lanes.
    h: &'a mut [Lane<T>],
    /// 1 - h^2, H lanes.
    g: &'a mut [Lane<T>],
    /// Slopes of the link, q lanes.
    link: &'a mut [Lane<T>],
    /// Slopes times features, and slopes, each padded to whole panels.
    x: &'a mut [Lane<T>],
    s: &'a mut [Lane<T>],
}

impl<'a, T> Lanes<'a, T> {
    #[inline(always)]
    fn new(lanes: &'a mut [Lane<T>], units: usize, q: usize, x: usize) -> Self {
        let (h, rest) = lanes.split_at_mut(units + 1);
        let (g, rest) = rest.split_at_mut(units);
        let (link, rest) = rest.split_at_mut(q);
        let (x, s) = rest.split_at_mut(x);
        Lanes { h, g, link, x, s }
    }
}

/// Coefficients: W by tiles; then V by action column (V_jc at c H + j), then b.
impl StripModel for Network {
    fn room(&self, size: Size, graded: usize) -> Room {
        let padded = |n: usize| n.next_multiple_of(PANEL);
        let lanes = 2 * self.units + 1 + size.actions + padded(graded * size.features) + padded(graded);
        Room { lanes, cells: size.actions * self.cells(size, graded).1 }
    }

    fn cell(&self, size: Size, graded: usize, slot: usize, entry: usize) -> usize {
        let (h, (first, both)) = (self.units, self.cells(size, graded));
        let (c, entry) = (entry / self.per_column(size), entry % self.per_column(size));
        c * both
            + match entry.checked_sub(size.features * h) {
                None => cell(h, slot * size.features + entry / h, entry % h),
                Some(j) => first + cell(h + 1, slot, j),
            }
    }

    fn order<T: Elementary>(&self, formed: &[f64], size: Size, out: &mut Coefficients<T>) {
        let (h, q) = (self.units, size.actions);
        let (w, v, b) = self.split(formed, q);
        tiles(w, h, &mut out.tiles);
        out.rest.clear();
        out.rest.extend((0..h * q).map(|i| T::of(v[i % h * q + i / h])));
        out.rest.extend(b.iter().map(|b| T::of(*b)));
        if out.powers.is_empty() {
            out.powers = powers();
        }
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
        let q = mu.len();
        let Lanes { h, g, link, .. } = Lanes::new(lanes, self.units, q, 0);
        let (h, ones) = h.split_at_mut(self.units);
        ones[0].0.fill(T::ONE);
        for i in 0..vectors::<T, S>() / PAIR {
            units::<T, S>(simd, theta, features.x, (h, g), i);
        }
        let (v, b) = theta.rest.split_at(self.units * q);
        for (c, v) in v.chunks_exact(self.units).enumerate() {
            for i in 0..vectors::<T, S>() {
                let mut o = splat::<T, S>(simd, b[c]);
                for (h, v) in h.iter().zip(v) {
                    o = load::<T, S>(simd, h, i).mul_add_precise(splat::<T, S>(simd, *v), o);
                }
                let (mean, slope) = self.link.vector::<T, S>(simd, o);
                store::<T, S>(mean, &mut mu[c], i);
                store::<T, S>(slope, &mut link[c], i);
            }
        }
    }

    #[inline(always)]
    fn backward<T: Elementary, S: Simd>(
        &self,
        simd: S,
        _theta: &Coefficients<T>,
        features: Features<T>,
        lanes: &mut [Lane<T>],
        slots: Slots<T>,
    ) {
        let (q, d) = (slots.mu.len(), features.x.len());
        let graded = slots.slope.len() / q;
        let Lanes { h, g, link, x, s } = Lanes::new(lanes, self.units, q, (graded * d).next_multiple_of(PANEL));
        let (first, both) = self.cells(Size { features: d, actions: q }, graded);
        let n = width::<T>();
        for (c, acc) in slots.acc.chunks_exact_mut(both * n).enumerate() {
            for (r, s) in s[..graded].iter_mut().enumerate() {
                for i in 0..vectors::<T, S>() {
                    let slope = load::<T, S>(simd, &slots.slope[r * q + c], i) * load::<T, S>(simd, &link[c], i);
                    store::<T, S>(slope, s, i);
                    for (x, feature) in x[r * d..(r + 1) * d].iter_mut().zip(features.x) {
                        store::<T, S>(slope * load::<T, S>(simd, feature, i), x, i);
                    }
                }
            }
            let (in_w, in_out) = acc.split_at_mut(first * n);
            add_products::<T, S>(simd, x, g, in_w);
            add_products::<T, S>(simd, s, h, in_out);
        }
    }
}

/// Units and their slopes for pair number i of vectors of rows, tile by tile.
#[inline(always)]
fn units<T: Elementary, S: Simd>(
    simd: S,
    theta: &Coefficients<T>,
    x: &[Lane<T>],
    (h, g): (&mut [Lane<T>], &mut [Lane<T>]),
    i: usize,
) {
    let (whole, rest) = h.as_chunks_mut::<TILE>();
    let (whole_g, rest_g) = g.as_chunks_mut::<TILE>();
    let mut w = &theta.tiles[..];
    for (h, g) in whole.iter_mut().zip(whole_g) {
        tile::<TILE, T, S>(simd, x, (w, &theta.powers), (h, g), i);
        w = &w[x.len()..];
    }
    if let (Some(h), Some(g)) = (rest.first_chunk_mut::<3>(), rest_g.first_chunk_mut::<3>()) {
        tile::<3, T, S>(simd, x, (w, &theta.powers), (h, g), i);
    } else if let (Some(h), Some(g)) = (rest.first_chunk_mut::<2>(), rest_g.first_chunk_mut::<2>()) {
        tile::<2, T, S>(simd, x, (w, &theta.powers), (h, g), i);
    } else if let (Some(h), Some(g)) = (rest.first_chunk_mut::<1>(), rest_g.first_chunk_mut::<1>()) {
        tile::<1, T, S>(simd, x, (w, &theta.powers), (h, g), i);
    }
}

/// J units: with e = exp(2 s), tanh s = 1 - 2 / (e + 1) and its slope is 4 e / (e + 1)^2.
#[inline(always)]
fn tile<const J: usize, T: Elementary, S: Simd>(
    simd: S,
    x: &[Lane<T>],
    (w, powers): (&[[T; TILE]], &[[T; 2]]),
    (h, g): (&mut [Lane<T>; J], &mut [Lane<T>; J]),
    i: usize,
) {
    let one = splat::<T, S>(simd, T::ONE);
    let end = splat::<T, S>(simd, T::of(2.0 * SATURATED));
    let s = scores::<J, T, S>(simd, x, w, i);
    for u in 0..PAIR {
        let mut twice = s[u];
        for j in 0..J {
            twice[j] = at_most::<T, S>(at_least::<T, S>(s[u][j] + s[u][j], -end), end);
        }
        let e = exp_near::<J, T, S>(simd, powers, twice);
        for j in 0..J {
            let inverse = one / (e[j] + one);
            let two = inverse + inverse;
            store::<T, S>(one - two, &mut h[j], PAIR * i + u);
            store::<T, S>(e[j] * two * two, &mut g[j], PAIR * i + u);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Linear, Mean};

    #[test]
    fn without_outputs_it_is_the_constant_model() {
        let network = Network { map: ContextMap::Linear, units: 3, link: Link::Softplus };
        let constant = Linear { map: ContextMap::Constant, link: Link::Softplus };
        let mut draws = 0;
        let beta = Mean::Network(network.clone()).start(&[2.5], 2, &mut || {
            draws += 1;
            0.1 * f64::from(draws)
        });
        assert_eq!((beta.len(), draws), (13, 9));
        let (mut mu, mut cache) = ([0.0], [0.0; 4]);
        network.row(&beta, &[0.3, -2.0, 1.0], &mut mu, &mut cache);
        let mut same = [0.0];
        constant.row(&[constant.link.invert(2.5)], &[1.0], &mut same, &mut [0.0]);
        assert_eq!(mu, same);
        assert!((mu[0] - 2.5).abs() < 1e-14);
    }

    #[test]
    fn slopes_backward_are_those_of_the_outputs_forward() {
        let network = Network { map: ContextMap::Linear, units: 2, link: Link::Softplus };
        let (q, psi, slope) = (2, [0.5, -1.0], [0.7, -0.3]);
        let beta: Vec<f64> = (1..=10).map(|i| 0.1 * f64::from(i)).collect(); // W, V, b
        let forward = |beta: &[f64]| {
            let (mut mu, mut cache) = ([0.0; 2], [0.0; 4]);
            network.row(beta, &psi, &mut mu, &mut cache);
            (slope.iter().zip(mu).map(|(s, m)| s * m).sum::<f64>(), cache)
        };
        let mut entries = [0.0; 14];
        network.back(&psi, &forward(&beta).1, &slope, &mut entries);
        let entry = |c: usize, i: usize| entries[c * 7 + i];
        for at in 0..beta.len() {
            let want = match at {
                0..4 => (0..q).map(|c| entry(c, at) * beta[4 + at % 2 * q + c]).sum(),
                4..8 => entry((at - 4) % q, 4 + (at - 4) / q),
                _ => entry(at - 8, 6),
            };
            let beside = |step: f64| {
                let mut moved = beta.clone();
                moved[at] += step;
                forward(&moved).0
            };
            let got = (beside(1e-5) - beside(-1e-5)) / 2e-5;
            assert!((got - want).abs() < 1e-9, "{at}: {got} and {want}"); // h^2 of the third slope, and rounding / h
        }
    }
}
