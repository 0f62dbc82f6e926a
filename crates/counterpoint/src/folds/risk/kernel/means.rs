//! From features to means: scores s = X C, then the soft minimum or the link.

use super::{Coefficients, Lane, Lanes, STRIP, Scratch, TILE, load, store};
use crate::folds::risk::math::{V, exp_near, exp_negative, ln_1p, splat};
use crate::policy::Link;
use fearless_simd::{Select, Simd, SimdBase, SimdFloat};

/// Vectors of rows taken together.
const PAIR: usize = 2;

/// exp(s), its sum and the means of one strip; with one action column p becomes g = exp(s_j) (a_j - mu).
///
/// Scores that cannot overflow (|x| of the strip times |C| says so in advance) are exponentiated as they come; others are
/// stored first, and the row's largest is subtracted.
#[inline(never)]
pub(super) fn soft_minimum<T: Lanes, S: Simd>(
    simd: S,
    theta: &Coefficients<T>,
    x: &[Lane<T>],
    reach: &[T],
    scratch: &mut Scratch<T>,
) {
    let bound: f64 = reach.iter().zip(&theta.top).map(|(x, c)| x.f64() * c.f64()).sum();
    if bound < 0.5 * T::HIGHEST.f64() {
        simd.vectorize(
            #[inline(always)]
            || strip::<true, T, S>(simd, theta, x, scratch),
        );
    } else {
        simd.vectorize(
            #[inline(always)]
            || strip::<false, T, S>(simd, theta, x, scratch),
        );
    }
}

/// What is known of a pair of vectors of rows so far.
struct State<T: Lanes, S: Simd> {
    top: [V<T, S>; PAIR],
    total: [V<T, S>; PAIR],
    mean: [V<T, S>; PAIR],
}

#[inline(always)]
fn strip<const NEAR: bool, T: Lanes, S: Simd>(
    simd: S,
    theta: &Coefficients<T>,
    x: &[Lane<T>],
    scratch: &mut Scratch<T>,
) {
    let (k, q) = (scratch.shape.columns, scratch.shape.actions);
    let Scratch { p, mu, inverse, .. } = scratch;
    let p = &mut p[..k];
    let (first, others) = theta.anchors.split_at(k);
    let zero = splat::<T, S>(simd, T::ZERO);
    let one = splat::<T, S>(simd, T::ONE);
    for i in 0..STRIP / V::<T, S>::LEN / PAIR {
        let mut state = State::<T, S> {
            top: [splat::<T, S>(simd, T::of(f64::NEG_INFINITY)); PAIR],
            total: [zero; PAIR],
            mean: [zero; PAIR],
        };
        tiles::<NEAR, true, T, S>(simd, theta, x, p, i, &mut state);
        if !NEAR {
            tiles::<NEAR, false, T, S>(simd, theta, x, p, i, &mut state);
        }
        let mut mean = state.mean;
        for u in 0..PAIR {
            let inv = one / state.total[u];
            mean[u] *= inv;
            store::<T, S>(inv, inverse, PAIR * i + u);
            store::<T, S>(mean[u], &mut mu[0], PAIR * i + u);
        }
        if q == 1 {
            for (p, a) in p.iter_mut().zip(first) {
                let a = splat::<T, S>(simd, *a);
                for u in 0..PAIR {
                    let e = load::<T, S>(simd, p, PAIR * i + u);
                    store::<T, S>(e * (a - mean[u]), p, PAIR * i + u);
                }
            }
        }
    }
    if q > 1 {
        for (mu, anchors) in mu[1..].iter_mut().zip(others.chunks_exact(k)) {
            for i in 0..STRIP / V::<T, S>::LEN {
                let mut mean = zero;
                for (p, a) in p.iter().zip(anchors) {
                    mean = load::<T, S>(simd, p, i).mul_add(splat::<T, S>(simd, *a), mean);
                }
                store::<T, S>(mean * load::<T, S>(simd, inverse, i), mu, i);
            }
        }
    }
}

/// One pass over the columns, in tiles.
#[inline(always)]
fn tiles<const NEAR: bool, const SCORE: bool, T: Lanes, S: Simd>(
    simd: S,
    theta: &Coefficients<T>,
    x: &[Lane<T>],
    p: &mut [Lane<T>],
    i: usize,
    state: &mut State<T, S>,
) {
    let (whole, rest) = p.as_chunks_mut::<TILE>();
    let (anchors, last) = theta.anchors[..TILE * whole.len() + rest.len()].as_chunks::<TILE>();
    let mut c = &theta.c[..];
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
fn tail<const NEAR: bool, const SCORE: bool, const J: usize, T: Lanes, S: Simd>(
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

/// J columns of a pair of vectors: scores, exponentials, or (where scores are near) both at once.
#[inline(always)]
fn tile<const NEAR: bool, const SCORE: bool, const J: usize, T: Lanes, S: Simd>(
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
        for (lane, c) in x.iter().zip(c) {
            let x = [load::<T, S>(simd, lane, PAIR * i), load::<T, S>(simd, lane, PAIR * i + 1)];
            for j in 0..J {
                let c = splat::<T, S>(simd, c[j]);
                for u in 0..PAIR {
                    s[u][j] = x[u].mul_add(c, s[u][j]);
                }
            }
        }
        if !NEAR {
            for u in 0..PAIR {
                for j in 0..J {
                    state.top[u] = state.top[u].max(s[u][j]);
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
                s[u][j] = (load::<T, S>(simd, &p[j], PAIR * i + u) - state.top[u]).max(low);
            }
        }
        let e = exp_near::<J, T, S>(simd, powers, s[u]);
        for j in 0..J {
            store::<T, S>(e[j], &mut p[j], PAIR * i + u);
            state.total[u] += e[j];
            state.mean[u] = e[j].mul_add(splat::<T, S>(simd, a[j]), state.mean[u]);
        }
    }
}

/// Means of the linear models, and the slopes of their link.
#[inline(never)]
pub(super) fn linked<T: Lanes, S: Simd>(
    simd: S,
    theta: &Coefficients<T>,
    link: Link,
    x: &[Lane<T>],
    scratch: &mut Scratch<T>,
) {
    let Scratch { mu, link: slopes, .. } = scratch;
    simd.vectorize(
        #[inline(always)]
        || {
            let (zero, one) = (splat::<T, S>(simd, T::ZERO), splat::<T, S>(simd, T::ONE));
            for (c, (mu, slopes)) in mu.iter_mut().zip(slopes).enumerate() {
                let column = &theta.c[c / TILE * x.len()..(c / TILE + 1) * x.len()];
                for i in 0..STRIP / V::<T, S>::LEN {
                    let mut s = zero;
                    for (lane, row) in x.iter().zip(column) {
                        s = load::<T, S>(simd, lane, i).mul_add(splat::<T, S>(simd, row[c % TILE]), s);
                    }
                    let (mean, slope) = match link {
                        Link::Identity => (s, one),
                        Link::Softplus => {
                            let e = exp_negative::<T, S>(simd, -s.abs());
                            let mean = s.max(zero) + ln_1p::<T, S>(simd, e);
                            (mean, s.simd_ge(zero).select(one, e) / (one + e))
                        }
                    };
                    store::<T, S>(mean, mu, i);
                    store::<T, S>(slope, slopes, i);
                }
            }
        },
    )
}
