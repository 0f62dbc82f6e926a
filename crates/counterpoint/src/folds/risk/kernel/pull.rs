//! From slopes to the gradient in C: a product over the rows of the strip.

use super::{Coefficients, Lane, Lanes, STRIP, Scratch, TILE, load, store};
use crate::folds::risk::math::{V, splat};
use fearless_simd::{Simd, SimdBase, SimdFloat};

/// Features times slopes a tile: with [`TILE`] columns twelve accumulators, what sixteen registers hold.
pub(super) const PANEL: usize = 3;

/// Adds the gradient of one strip and one action column to the accumulators.
#[inline(never)]
pub(super) fn soft_minimum<T: Lanes, S: Simd>(
    simd: S,
    theta: &Coefficients<T>,
    features: &[Lane<T>],
    c: usize,
    scratch: &mut Scratch<T>,
) {
    let (k, q) = (scratch.shape.columns, scratch.shape.actions);
    let Scratch { p, g, mu, inverse, slope, x, acc, .. } = scratch;
    simd.vectorize(
        #[inline(always)]
        || {
            for (slope, x) in slope[c..].iter_mut().step_by(q).zip(x.chunks_exact_mut(features.len())) {
                for i in 0..STRIP / V::<T, S>::LEN {
                    store::<T, S>(load::<T, S>(simd, slope, i) * load::<T, S>(simd, inverse, i), slope, i);
                }
                for (x, feature) in x.iter_mut().zip(features) {
                    for i in 0..STRIP / V::<T, S>::LEN {
                        store::<T, S>(load::<T, S>(simd, slope, i) * load::<T, S>(simd, feature, i), x, i);
                    }
                }
            }
            let g = if q == 1 {
                &p[..k]
            } else {
                for ((p, g), a) in p.iter().zip(g.iter_mut()).zip(&theta.anchors[c * k..]) {
                    let a = splat::<T, S>(simd, *a);
                    for i in 0..STRIP / V::<T, S>::LEN {
                        store::<T, S>(load::<T, S>(simd, p, i) * (a - load::<T, S>(simd, &mu[c], i)), g, i);
                    }
                }
                &g[..]
            };
            let (panels, _) = x.as_chunks::<PANEL>();
            for (x, acc) in panels.iter().zip(acc.chunks_exact_mut(PANEL * k * V::<T, S>::LEN)) {
                panel::<T, S>(simd, x, g, acc);
            }
        },
    )
}

/// Which accumulator belongs to row f of the panels (feature and sum) and column j: panel by panel, tile by tile.
pub(super) fn cell(k: usize, f: usize, j: usize) -> usize {
    let start = j / TILE * TILE;
    f / PANEL * PANEL * k + start * PANEL + f % PANEL * TILE.min(k - start) + j % TILE
}

/// acc[f][j] += sum over the strip of x_f g_j, for three f and all j.
#[inline(always)]
fn panel<T: Lanes, S: Simd>(simd: S, x: &[Lane<T>; PANEL], g: &[Lane<T>], acc: &mut [T]) {
    let n = V::<T, S>::LEN;
    let (whole, rest) = g.as_chunks::<TILE>();
    let (tiles, last) = acc.split_at_mut(whole.len() * TILE * PANEL * n);
    for (g, acc) in whole.iter().zip(tiles.chunks_exact_mut(TILE * PANEL * n)) {
        tile::<TILE, T, S>(simd, x, g, acc);
    }
    if let Some(g) = rest.first_chunk::<3>() {
        tile::<3, T, S>(simd, x, g, last);
    } else if let Some(g) = rest.first_chunk::<2>() {
        tile::<2, T, S>(simd, x, g, last);
    } else if let Some(g) = rest.first_chunk::<1>() {
        tile::<1, T, S>(simd, x, g, last);
    }
}

#[inline(always)]
fn tile<const J: usize, T: Lanes, S: Simd>(simd: S, x: &[Lane<T>; PANEL], g: &[Lane<T>; J], acc: &mut [T]) {
    let n = V::<T, S>::LEN;
    let acc = &mut acc[..PANEL * J * n];
    let mut sum = [[splat::<T, S>(simd, T::ZERO); J]; PANEL];
    for f in 0..PANEL {
        for j in 0..J {
            sum[f][j] = V::<T, S>::from_slice(simd, &acc[(f * J + j) * n..(f * J + j + 1) * n]);
        }
    }
    for i in 0..STRIP / n {
        let xs = [load::<T, S>(simd, &x[0], i), load::<T, S>(simd, &x[1], i), load::<T, S>(simd, &x[2], i)];
        for j in 0..J {
            let g = load::<T, S>(simd, &g[j], i);
            for f in 0..PANEL {
                sum[f][j] = xs[f].mul_add(g, sum[f][j]);
            }
        }
    }
    for f in 0..PANEL {
        for j in 0..J {
            sum[f][j].store_slice(&mut acc[(f * J + j) * n..(f * J + j + 1) * n]);
        }
    }
}

/// The same for the linear models, whose column c answers to mean c alone.
#[inline(never)]
pub(super) fn linked<T: Lanes, S: Simd>(simd: S, features: &[Lane<T>], c: usize, scratch: &mut Scratch<T>) {
    let (k, q, n) = (scratch.shape.columns, scratch.shape.actions, V::<T, S>::LEN);
    let Scratch { link, slope, acc, .. } = scratch;
    simd.vectorize(
        #[inline(always)]
        || {
            for (slot, slope) in slope[c..].iter().step_by(q).enumerate() {
                for (f, feature) in features.iter().enumerate() {
                    let at = cell(k, slot * features.len() + f, c) * n;
                    let acc = &mut acc[at..at + n];
                    let mut sum = V::<T, S>::from_slice(simd, acc);
                    for i in 0..STRIP / n {
                        let s = load::<T, S>(simd, slope, i) * load::<T, S>(simd, &link[c], i);
                        sum = s.mul_add(load::<T, S>(simd, feature, i), sum);
                    }
                    sum.store_slice(acc);
                }
            }
        },
    )
}
