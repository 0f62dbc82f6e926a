//! The counterfactual loss predictor: a soft minimum over anchors (Section 2.2.2 of the paper).
//!
//! ```text
//! mu(x) = sum_j a_j softmax_j(-gamma eta(x, a_j)),   eta(x, a) = <B, psi_X(x) (x) psi_A(a)>
//! ```
//!
//! A row is scored by one small matrix product, s = psi_X(x)^T C with C = -gamma B Psi_A(Z)^T of d_X rows and m columns. C is
//! the form of the parameters, and the entries of a gradient are those in C. With p the softmax,
//!
//! ```text
//! d mu_c / d C_fj = x_f p_j (a_jc - mu_c)
//! ```
//!
//! so that the gradient of a sum with slope r in mu is a product of the panels (r x_f) and g_j = p_j (a_j - mu) with the rows
//! as the inner dimension.

use super::{At, Coefficients, Features, Model, Parts, Room, Size, Slots, StripModel, Support};
use crate::error::{Error, Result};
use crate::features::{ActionMap, ContextKind, ContextMap};
use crate::math;
use crate::vector::math::{at_least, exp_near, powers};
use crate::vector::product::{PAIR, PANEL, TILE, add_products, cell, cells, scores, tiles};
use crate::vector::{Elementary, Lane, V, load, splat, store, vectors};
use fearless_simd::{Simd, SimdFloat};
use serde::{Deserialize, Serialize};

/// The counterfactual loss predictor: context map, anchors, temperature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clp {
    /// psi_X.
    pub map: ContextMap,
    /// psi_A and the anchors.
    pub actions: ActionMap,
    /// gamma.
    pub temperature: f64,
}

impl Clp {
    pub(super) fn examples(parts: &Parts) -> Result<Vec<(String, Clp)>> {
        [
            ("clp-linear", ContextKind::Linear),
            ("clp-quadratic", ContextKind::Quadratic),
            ("clp-cubic", ContextKind::Cubic),
            ("clp-nystrom", ContextKind::Nystrom),
        ]
        .into_iter()
        .map(|(name, kind)| {
            Ok((name.into(), Clp { map: (parts.map)(kind)?, actions: parts.actions.clone(), temperature: 2.0 }))
        })
        .collect()
    }

    /// The means from scores s; `slopes` (q x m, row-major) receives d mu_c / d s_j.
    pub fn soft_minimum(&self, s: &[f64], mu: &mut [f64], slopes: &mut [f64]) {
        let m = s.len();
        let top = s.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // exponentials are kept in the last row of slopes, which is overwritten last
        let (rows, last) = slopes.split_at_mut((mu.len() - 1) * m);
        let mut total = 0.0;
        for (p, s) in last.iter_mut().zip(s) {
            *p = math::exp(s - top);
            total += *p;
        }
        for (c, mu) in mu.iter_mut().enumerate() {
            *mu = (0..m).map(|j| last[j] * self.actions.anchor(j)[c]).sum::<f64>() / total;
            let slope = |p: f64, j: usize| p / total * (self.actions.anchor(j)[c] - *mu);
            match rows.chunks_exact_mut(m).nth(c) {
                Some(row) => (0..m).for_each(|j| row[j] = slope(last[j], j)),
                None => (0..m).for_each(|j| last[j] = slope(last[j], j)),
            }
        }
    }

    /// Coefficients of the constant feature for which the soft minimum is the given mean action.
    ///
    /// Scores linear in the anchors, s_j = <u, a_j>, tilt the softmax; u solves a convex problem (Newton steps on the
    /// log-partition function). The row b with -gamma Psi b = s follows by the inverse of Psi = K^(1/2), which is K^(-1/2).
    fn tilt(&self, target: &[f64]) -> Vec<f64> {
        let (m, q) = (self.actions.len(), self.actions.width);
        let mut u = vec![0.0; q];
        let scores = |u: &[f64]| -> Vec<f64> {
            (0..m).map(|j| self.actions.anchor(j).iter().zip(u).map(|(a, u)| a * u).sum()).collect()
        };
        for _ in 0..50 {
            let s = scores(&u);
            let top = s.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let p: Vec<f64> = s.iter().map(|v| math::exp(v - top)).collect();
            let total: f64 = p.iter().sum();
            let mean = |c: usize| (0..m).map(|j| p[j] * self.actions.anchor(j)[c]).sum::<f64>() / total;
            // diagonal Newton with a short leash is enough for a starting point
            for c in 0..q {
                let mu = mean(c);
                let var = (0..m).map(|j| p[j] * math::powi(self.actions.anchor(j)[c] - mu, 2)).sum::<f64>() / total;
                let step = (target[c] - mu) / var.max(1e-12);
                u[c] += step.clamp(-1.0 / var.sqrt().max(1e-12), 1.0 / var.sqrt().max(1e-12)) / q as f64;
            }
        }
        let s = scores(&u);
        self.actions.whitened(&s).iter().map(|v| -v / self.temperature).collect()
    }
}

impl Model for Clp {
    fn map(&self) -> &ContextMap {
        &self.map
    }

    fn parameters(&self, size: Size) -> usize {
        size.features.saturating_mul(self.actions.len())
    }

    fn free(&self, index: usize, intercept: Option<usize>, _size: Size) -> bool {
        intercept == Some(index / self.actions.len())
    }

    /// Its means lie between its anchors.
    fn inside(&self, support: Support) -> bool {
        self.actions.anchors.iter().all(|a| support.holds(*a))
    }

    fn check(&self, q: usize) -> Result<()> {
        self.actions.check(q)?;
        if !(self.temperature.is_finite() && self.temperature > 0.0) {
            return Err(Error::policy(format!("its temperature is {} (must be > 0)", self.temperature)));
        }
        Ok(())
    }

    /// In the last feature, which is the constant one where there is one.
    fn start(&self, target: &[f64], _intercept: Option<usize>, _: &mut dyn FnMut() -> f64, beta: &mut [f64]) {
        let from = beta.len() - self.actions.len();
        beta[from..].copy_from_slice(&self.tilt(target));
    }

    fn loss_maps(&self) -> Option<(&ContextMap, &ActionMap)> {
        Some((&self.map, &self.actions))
    }

    /// Psi_A(Z), what B is multiplied with to give C.
    fn fixed(&self) -> Vec<f64> {
        self.actions.at_anchors()
    }

    fn form(&self, beta: &[f64], fixed: &[f64], formed: &mut [f64]) {
        // Psi_A(Z) = K^(1/2) is symmetric, so its transpose is itself
        scaled_product(beta, fixed, -self.temperature, formed);
    }

    fn pull(&self, entries: &[f64], at: At, _size: Size, grad: &mut [f64]) {
        scaled_product(entries, at.fixed, -self.temperature, grad);
    }

    /// Slopes of the means in the scores, and the scores.
    fn cache(&self, size: Size) -> usize {
        (size.actions + 1) * self.actions.len()
    }

    fn row(&self, formed: &[f64], psi: &[f64], mu: &mut [f64], cache: &mut [f64]) {
        let m = self.actions.len();
        let (slopes, s) = cache.split_at_mut(mu.len() * m);
        s.fill(0.0);
        for (x, c) in psi.iter().zip(formed.chunks_exact(m)) {
            s.iter_mut().zip(c).for_each(|(s, c)| *s += x * c);
        }
        self.soft_minimum(s, mu, slopes);
    }

    fn back(&self, psi: &[f64], cache: &[f64], slope: &[f64], entries: &mut [f64]) {
        let m = self.actions.len();
        for (slope, slopes) in slope.iter().zip(cache.chunks_exact(m)) {
            for (x, entries) in psi.iter().zip(entries.chunks_exact_mut(m)) {
                for j in 0..m {
                    entries[j] += slope * slopes[j] * x;
                }
            }
        }
    }
}

/// out = scale A Psi for a square Psi, row-major.
fn scaled_product(a: &[f64], psi: &[f64], scale: f64, out: &mut [f64]) {
    let m = psi.len().isqrt();
    for (row, out) in a.chunks_exact(m).zip(out.chunks_exact_mut(m)) {
        out.fill(0.0);
        for (l, v) in row.iter().enumerate() {
            for j in 0..m {
                out[j] += scale * v * psi[l * m + j];
            }
        }
    }
}

/// The lanes, taken apart.
struct Lanes<'a, T> {
    /// Scores, then exponentials (with one action column: then g), m lanes.
    p: &'a mut [Lane<T>],
    /// 1 / sum of exponentials.
    inverse: &'a mut Lane<T>,
    /// g, m lanes, where there are several action columns.
    g: &'a mut [Lane<T>],
    /// Features times slopes, R d_X lanes padded to whole panels.
    x: &'a mut [Lane<T>],
}

impl<'a, T> Lanes<'a, T> {
    #[inline(always)]
    fn new(lanes: &'a mut [Lane<T>], m: usize, q: usize) -> Self {
        let (p, rest) = lanes.split_at_mut(m);
        let (inverse, rest) = rest.split_at_mut(1);
        let (g, x) = rest.split_at_mut(if q > 1 { m } else { 0 });
        Lanes { p, inverse: &mut inverse[0], g, x }
    }
}

/// Coefficients: C by tiles; anchors by action column, a_jc at c m + j.
impl StripModel for Clp {
    fn room(&self, size: Size, graded: usize) -> Room {
        let m = self.actions.len();
        let g = if size.actions > 1 { m } else { 0 };
        let x = (graded * size.features).next_multiple_of(PANEL);
        Room { lanes: m + 1 + g + x, cells: cells(graded * size.features, m) }
    }

    fn cell(&self, size: Size, _graded: usize, slot: usize, entry: usize) -> usize {
        let m = self.actions.len();
        cell(m, slot * size.features + entry / m, entry % m)
    }

    fn order<T: Elementary>(&self, formed: &[f64], size: Size, out: &mut Coefficients<T>) {
        let m = self.actions.len();
        tiles(formed, m, &mut out.tiles);
        out.top.clear();
        out.top.extend(formed.chunks_exact(m).map(|f| T::of(f.iter().fold(0.0, |m: f64, v| m.max(v.abs())))));
        if out.rest.is_empty() {
            out.powers = powers();
            out.rest = (0..size.actions * m).map(|i| T::of(self.actions.anchor(i % m)[i / m])).collect();
        }
    }

    /// exp(s), its sum and the means of one strip; with one action column p becomes g = exp(s_j) (a_j - mu).
    ///
    /// Scores that cannot overflow (|x| of the strip times |C| says so in advance) are exponentiated as they come; others
    /// are stored first, and the row's largest is subtracted.
    #[inline(always)]
    fn forward<T: Elementary, S: Simd>(
        &self,
        simd: S,
        theta: &Coefficients<T>,
        features: Features<T>,
        lanes: &mut [Lane<T>],
        mu: &mut [Lane<T>],
    ) {
        let bound: f64 = features.reach.iter().zip(&theta.top).map(|(x, c)| x.f64() * c.f64()).sum();
        let lanes = Lanes::new(lanes, self.actions.len(), mu.len());
        if bound < 0.5 * T::HIGHEST.f64() {
            means::<true, T, S>(simd, theta, features.x, lanes, mu);
        } else {
            means::<false, T, S>(simd, theta, features.x, lanes, mu);
        }
    }

    #[inline(always)]
    fn backward<T: Elementary, S: Simd>(
        &self,
        simd: S,
        theta: &Coefficients<T>,
        features: Features<T>,
        lanes: &mut [Lane<T>],
        slots: Slots<T>,
    ) {
        let (m, q, mu) = (self.actions.len(), slots.mu.len(), slots.mu);
        let Lanes { p, inverse, g, x } = Lanes::new(lanes, m, q);
        for c in 0..q {
            weigh::<T, S>(simd, features.x, inverse, slots.slope[c..].iter_mut().step_by(q), x);
            let g = if q == 1 {
                &*p
            } else {
                for ((p, g), a) in p.iter().zip(g.iter_mut()).zip(&theta.rest[c * m..]) {
                    let a = splat::<T, S>(simd, *a);
                    for i in 0..vectors::<T, S>() {
                        store::<T, S>(load::<T, S>(simd, p, i) * (a - load::<T, S>(simd, &mu[c], i)), g, i);
                    }
                }
                &*g
            };
            add_products::<T, S>(simd, x, g, slots.acc);
        }
    }
}

/// The left panel: slopes of each sum, divided by the sum of exponentials, times features.
#[inline(always)]
fn weigh<'a, T: Elementary, S: Simd>(
    simd: S,
    features: &[Lane<T>],
    inverse: &Lane<T>,
    slopes: impl Iterator<Item = &'a mut Lane<T>>,
    x: &mut [Lane<T>],
) {
    for (slope, x) in slopes.zip(x.chunks_exact_mut(features.len())) {
        for i in 0..vectors::<T, S>() {
            store::<T, S>(load::<T, S>(simd, slope, i) * load::<T, S>(simd, inverse, i), slope, i);
        }
        for (x, feature) in x.iter_mut().zip(features) {
            for i in 0..vectors::<T, S>() {
                store::<T, S>(load::<T, S>(simd, slope, i) * load::<T, S>(simd, feature, i), x, i);
            }
        }
    }
}

/// What is known of a pair of vectors of rows so far.
struct State<T: Elementary, S: Simd> {
    top: [V<T, S>; PAIR],
    total: [V<T, S>; PAIR],
    mean: [V<T, S>; PAIR],
}

/// Means of a strip. `NEAR`: no score of it can overflow.
#[inline(always)]
fn means<const NEAR: bool, T: Elementary, S: Simd>(
    simd: S,
    theta: &Coefficients<T>,
    x: &[Lane<T>],
    lanes: Lanes<T>,
    mu: &mut [Lane<T>],
) {
    let Lanes { p, inverse, .. } = lanes;
    let (m, q) = (p.len(), mu.len());
    let (first, others) = theta.rest.split_at(m);
    let zero = splat::<T, S>(simd, T::ZERO);
    let one = splat::<T, S>(simd, T::ONE);
    for i in 0..vectors::<T, S>() / PAIR {
        let mut state = State::<T, S> {
            top: [splat::<T, S>(simd, T::of(f64::NEG_INFINITY)); PAIR],
            total: [zero; PAIR],
            mean: [zero; PAIR],
        };
        pass::<NEAR, true, T, S>(simd, theta, x, p, i, &mut state);
        if !NEAR {
            pass::<NEAR, false, T, S>(simd, theta, x, p, i, &mut state);
        }
        let mut mean = state.mean;
        for u in 0..PAIR {
            let inv = one / state.total[u];
            mean[u] *= inv;
            store::<T, S>(inv, inverse, PAIR * i + u);
            store::<T, S>(mean[u], &mut mu[0], PAIR * i + u);
        }
        if q == 1 {
            // the exponentials are still near: g in their place
            for (p, a) in p.iter_mut().zip(first) {
                let a = splat::<T, S>(simd, *a);
                for u in 0..PAIR {
                    let e = load::<T, S>(simd, p, PAIR * i + u);
                    store::<T, S>(e * (a - mean[u]), p, PAIR * i + u);
                }
            }
        }
    }
    for (mu, anchors) in mu[1..].iter_mut().zip(others.chunks_exact(m)) {
        for i in 0..vectors::<T, S>() {
            let mut mean = zero;
            for (p, a) in p.iter().zip(anchors) {
                mean = load::<T, S>(simd, p, i).mul_add_precise(splat::<T, S>(simd, *a), mean);
            }
            store::<T, S>(mean * load::<T, S>(simd, inverse, i), mu, i);
        }
    }
}

/// One pass over the columns, in tiles: scores, exponentials, or (where scores are near) both at once.
#[inline(always)]
fn pass<const NEAR: bool, const SCORE: bool, T: Elementary, S: Simd>(
    simd: S,
    theta: &Coefficients<T>,
    x: &[Lane<T>],
    p: &mut [Lane<T>],
    i: usize,
    state: &mut State<T, S>,
) {
    let (whole, rest) = p.as_chunks_mut::<TILE>();
    let (anchors, last) = theta.rest[..TILE * whole.len() + rest.len()].as_chunks::<TILE>();
    let mut c = &theta.tiles[..];
    for (p, a) in whole.iter_mut().zip(anchors) {
        tile::<NEAR, SCORE, TILE, T, S>(simd, x, (c, &theta.powers), a, p, i, state);
        c = &c[x.len()..];
    }
    match rest {
        [_] => tail::<NEAR, SCORE, 1, T, S>(simd, x, (c, &theta.powers), last, rest, i, state),
        [_, _] => tail::<NEAR, SCORE, 2, T, S>(simd, x, (c, &theta.powers), last, rest, i, state),
        [_, _, _] => tail::<NEAR, SCORE, 3, T, S>(simd, x, (c, &theta.powers), last, rest, i, state),
        _ => {}
    }
}

#[inline(always)]
fn tail<const NEAR: bool, const SCORE: bool, const J: usize, T: Elementary, S: Simd>(
    simd: S,
    x: &[Lane<T>],
    c: (&[[T; TILE]], &[[T; 2]]),
    a: &[T],
    p: &mut [Lane<T>],
    i: usize,
    state: &mut State<T, S>,
) {
    if let (Some(a), Some(p)) = (a.first_chunk::<J>(), p.first_chunk_mut::<J>()) {
        tile::<NEAR, SCORE, J, T, S>(simd, x, c, a, p, i, state);
    }
}

/// J columns of a pair of vectors.
#[inline(always)]
fn tile<const NEAR: bool, const SCORE: bool, const J: usize, T: Elementary, S: Simd>(
    simd: S,
    x: &[Lane<T>],
    (c, powers): (&[[T; TILE]], &[[T; 2]]),
    a: &[T; J],
    p: &mut [Lane<T>; J],
    i: usize,
    state: &mut State<T, S>,
) {
    let mut s = [[splat::<T, S>(simd, T::ZERO); J]; PAIR];
    if SCORE {
        s = scores::<J, T, S>(simd, x, c, i);
        if !NEAR {
            for u in 0..PAIR {
                for j in 0..J {
                    state.top[u] = at_least::<T, S>(s[u][j], state.top[u]);
                    store::<T, S>(s[u][j], &mut p[j], PAIR * i + u);
                }
            }
            return;
        }
    }
    for u in 0..PAIR {
        if !NEAR {
            let low = splat::<T, S>(simd, T::LOWEST);
            for j in 0..J {
                s[u][j] = at_least::<T, S>(load::<T, S>(simd, &p[j], PAIR * i + u) - state.top[u], low);
            }
        }
        let e = exp_near::<J, T, S>(simd, powers, s[u]);
        for j in 0..J {
            store::<T, S>(e[j], &mut p[j], PAIR * i + u);
            state.total[u] += e[j];
            state.mean[u] = e[j].mul_add_precise(splat::<T, S>(simd, a[j]), state.mean[u]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extreme_scores_stay_finite() {
        let actions = ActionMap::new(vec![0.1, 1.0, 5.0], 1, Some(1.0)).unwrap();
        let clp = Clp { map: ContextMap::Constant, actions, temperature: 1.0 };
        let (mut mu, mut slopes) = ([0.0], [0.0; 3]);
        clp.soft_minimum(&[0.0, -1000.0, -2000.0], &mut mu, &mut slopes);
        assert_eq!(mu[0], 0.1);
        clp.soft_minimum(&[1e5, 1e5, 1e5], &mut mu, &mut slopes);
        assert!((mu[0] - 6.1 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn the_start_has_the_mean_it_was_asked_for() {
        let actions = ActionMap::new(vec![0.1, 1.0, 5.0, 7.0], 1, None).unwrap();
        let mean = super::super::Mean::Clp(Clp { map: ContextMap::Linear, actions, temperature: 3.0 });
        let beta = mean.start(&[2.2], 1, &mut || 0.0);
        let (model, mut formed) = (mean.model(), vec![0.0; 8]);
        model.form(&beta, &model.fixed(), &mut formed);
        let (mut mu, mut cache) = ([0.0], vec![0.0; model.cache(mean.size(1, 1))]);
        model.row(&formed, &[0.7, 1.0], &mut mu, &mut cache);
        assert!((mu[0] - 2.2).abs() < 1e-9, "{}", mu[0]);
    }
}
