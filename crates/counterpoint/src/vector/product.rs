//! The two small matrix products of a mean model: features times coefficients, and slopes back to coefficients.
//!
//! Forward, a strip of features X (64 x d) meets coefficients C (d x k) that are held by tiles of [`TILE`] columns
//! ([`tiles`]); [`scores`] gives two vectors of rows and up to four columns of X C at a time, in registers. Backward,
//! [`add_products`] adds X^T G, with the 64 rows as the inner dimension, to accumulators that stay virtual vectors for
//! a whole block and are added up across their places once, at its end.

use super::{Elementary, Lane, V, load, parts, splat, turns, width};
use fearless_simd::{Simd, SimdBase, SimdFloat};

/// Columns of C per tile: scores, exponentials and the product back all work on four columns at once.
pub(crate) const TILE: usize = 4;

/// Vectors of rows taken together, so that no multiplication waits for the one before it.
pub(crate) const PAIR: usize = 2;

/// Rows of X^T per panel: with [`TILE`] columns of G twelve accumulators, which with three loads of X and one of G are
/// what sixteen registers hold.
pub(crate) const PANEL: usize = 3;

/// C (row-major, k columns) by tiles of [`TILE`] columns, each tile feature by feature; the last is padded with zeros.
pub(crate) fn tiles<T: Elementary>(c: &[f64], k: usize, out: &mut Vec<[T; TILE]>) {
    let at = |f: &[f64], j: usize| f.get(j).map_or(T::ZERO, |v| T::of(*v));
    out.clear();
    for j in (0..k).step_by(TILE) {
        out.extend(c.chunks_exact(k).map(|f| [at(f, j), at(f, j + 1), at(f, j + 2), at(f, j + 3)]));
    }
}

/// Columns of one tile of X C for pair number i of vectors of rows.
#[inline(always)]
pub(crate) fn scores<const J: usize, T: Elementary, S: Simd>(
    simd: S,
    x: &[Lane<T>],
    c: &[[T; TILE]],
    i: usize,
) -> [[V<T, S>; J]; PAIR] {
    let mut s = [[splat::<T, S>(simd, T::ZERO); J]; PAIR];
    for (lane, c) in x.iter().zip(c) {
        let x = [load::<T, S>(simd, lane, PAIR * i), load::<T, S>(simd, lane, PAIR * i + 1)];
        for j in 0..J {
            let c = splat::<T, S>(simd, c[j]);
            for u in 0..PAIR {
                s[u][j] = x[u].mul_add_precise(c, s[u][j]);
            }
        }
    }
    s
}

/// How many accumulators [`add_products`] needs for this many lanes of X and of G.
pub(crate) fn cells(rows: usize, k: usize) -> usize {
    rows.next_multiple_of(PANEL) * k
}

/// Which accumulator belongs to lane f of X and lane j of G: panel by panel, tile by tile.
pub(crate) fn cell(k: usize, f: usize, j: usize) -> usize {
    let start = j / TILE * TILE;
    f / PANEL * PANEL * k + start * PANEL + f % PANEL * TILE.min(k - start) + j % TILE
}

/// acc[f][j] += sum over the strip of x_f g_j, the lanes of X being a multiple of [`PANEL`].
#[inline(always)]
pub(crate) fn add_products<T: Elementary, S: Simd>(simd: S, x: &[Lane<T>], g: &[Lane<T>], acc: &mut [T]) {
    let (panels, _) = x.as_chunks::<PANEL>();
    for (x, acc) in panels.iter().zip(acc.chunks_exact_mut(PANEL * g.len() * width::<T>())) {
        panel::<T, S>(simd, x, g, acc);
    }
}

/// Three f and all j.
#[inline(always)]
fn panel<T: Elementary, S: Simd>(simd: S, x: &[Lane<T>; PANEL], g: &[Lane<T>], acc: &mut [T]) {
    let n = width::<T>();
    let (whole, rest) = g.as_chunks::<TILE>();
    let (tiles, last) = acc.split_at_mut(whole.len() * TILE * PANEL * n);
    for (g, acc) in whole.iter().zip(tiles.chunks_exact_mut(TILE * PANEL * n)) {
        tile::<TILE, T, S>(simd, x, g, acc);
    }
    // the last tile may be narrower; each width is compiled apart, so that its accumulators are registers too
    if let Some(g) = rest.first_chunk::<3>() {
        tile::<3, T, S>(simd, x, g, last);
    } else if let Some(g) = rest.first_chunk::<2>() {
        tile::<2, T, S>(simd, x, g, last);
    } else if let Some(g) = rest.first_chunk::<1>() {
        tile::<1, T, S>(simd, x, g, last);
    }
}

/// Part by part of the virtual vectors, so that narrow registers hold all sums of a part.
#[inline(always)]
fn tile<const J: usize, T: Elementary, S: Simd>(simd: S, x: &[Lane<T>; PANEL], g: &[Lane<T>; J], acc: &mut [T]) {
    let (n, w) = (V::<T, S>::LEN, width::<T>());
    // one slice of known length: the bounds of every access below are checked here, once
    let acc = &mut acc[..PANEL * J * w];
    for part in 0..parts::<T, S>() {
        let mut sum = [[splat::<T, S>(simd, T::ZERO); J]; PANEL];
        for f in 0..PANEL {
            for j in 0..J {
                let at = (f * J + j) * w + part * n;
                sum[f][j] = V::<T, S>::from_slice(simd, &acc[at..at + n]);
            }
        }
        for turn in 0..turns::<T>() {
            let i = turn * parts::<T, S>() + part;
            let xs = [load::<T, S>(simd, &x[0], i), load::<T, S>(simd, &x[1], i), load::<T, S>(simd, &x[2], i)];
            for j in 0..J {
                let g = load::<T, S>(simd, &g[j], i);
                for f in 0..PANEL {
                    sum[f][j] = xs[f].mul_add_precise(g, sum[f][j]);
                }
            }
        }
        for f in 0..PANEL {
            for j in 0..J {
                let at = (f * J + j) * w + part * n;
                sum[f][j].store_slice(&mut acc[at..at + n]);
            }
        }
    }
}
