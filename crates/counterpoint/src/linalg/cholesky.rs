//! Symmetric positive definite systems, by a blocked Cholesky factor.
//!
//! ```text
//! A = U^T U;   per block of rows:  U11^T U11 = A11,   U11^T U12 = A12,   A22 -= U12^T U12
//! ```
//!
//! U replaces the upper half of A in place. The last step is nearly all of the work and is the product of [`super::gram`].

use super::gram::{Rows, Update};
use crate::error::{Error, Result};
use crate::vector::{dispatch, level};
use fearless_simd::Simd;

/// Rows of U found at a time.
const BLOCK: usize = 64;

/// Columns of U12 solved at a time: they and their block of rows stay in the second cache.
const STRIP: usize = 256;

/// Solves A x = b for a symmetric positive definite A; only its upper half is read.
pub(crate) fn cholesky_solve(a: &[f64], b: &[f64]) -> Result<Vec<f64>> {
    let n = b.len();
    let mut u = a.to_vec();
    if !factor(&mut u, n) {
        return Err(Error::numeric("Cholesky factor", "the matrix is not positive definite")
            .hint("a larger ridge makes it so; collinear or constant columns are the usual cause"));
    }
    Ok(solve(&u, b))
}

/// U over the upper half of A; false if a pivot is not positive.
fn factor(a: &mut [f64], n: usize) -> bool {
    let mut update = Update::new(-1.0);
    for from in (0..n).step_by(BLOCK) {
        let to = (from + BLOCK).min(n);
        let (above, below) = a.split_at_mut(to * n);
        let block = &mut above[from * n..];
        if !diagonal(block, n, from, to) {
            return false;
        }
        dispatch!(level(), simd => beside(simd, block, n, from, to));
        if to < n {
            let u12 = Rows { data: &block[to..], rows: to - from, cols: n - to, stride: n };
            update.upper(u12, &mut below[to..], n);
        }
    }
    true
}

/// U11 from A11, row by row. `block` holds rows `from..to` of the matrix.
fn diagonal(block: &mut [f64], n: usize, from: usize, to: usize) -> bool {
    for k in 0..to - from {
        let (done, rest) = block.split_at_mut((k + 1) * n);
        let row = &mut done[k * n + from + k..k * n + to];
        let pivot = row[0].sqrt();
        if !(pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        row[0] = pivot;
        row[1..].iter_mut().for_each(|v| *v /= pivot);
        for i in 1..row.len() {
            let below = &mut rest[(i - 1) * n + from + k + i..(i - 1) * n + to];
            below.iter_mut().zip(&row[i..]).for_each(|(b, r)| *b -= row[i] * r);
        }
    }
    true
}

/// U12 from A12: forward substitution with U11^T, a strip of columns at a time.
#[inline(always)]
fn beside<S: Simd>(simd: S, block: &mut [f64], n: usize, from: usize, to: usize) {
    simd.vectorize(
        #[inline(always)]
        || {
            for first in (to..n).step_by(STRIP) {
                let last = (first + STRIP).min(n);
                for k in 0..to - from {
                    forward(block, n, k, from, first..last);
                }
            }
        },
    );
}

/// Row k of U12 in these columns: (A12[k] - sum_j U11[j, k] U12[j]) / U11[k, k], four rows j at a time.
#[inline(always)]
fn forward(block: &mut [f64], n: usize, k: usize, from: usize, columns: std::ops::Range<usize>) {
    let (done, rest) = block.split_at_mut(k * n);
    let row = &mut rest[columns.clone()];
    let of = |j: usize| (done[j * n + from + k], &done[j * n + columns.start..j * n + columns.end]);
    let fours = k / 4 * 4;
    for j in (0..fours).step_by(4) {
        let [(a, p), (b, q), (c, r), (d, s)] = [of(j), of(j + 1), of(j + 2), of(j + 3)];
        for ((((v, p), q), r), s) in row.iter_mut().zip(p).zip(q).zip(r).zip(s) {
            *v -= (a * p + b * q) + (c * r + d * s);
        }
    }
    for j in fours..k {
        let (a, p) = of(j);
        row.iter_mut().zip(p).for_each(|(v, p)| *v -= a * p);
    }
    let pivot = rest[from + k];
    rest[columns].iter_mut().for_each(|v| *v /= pivot);
}

/// x with U^T U x = b: forward with the rows of U as updates, backward with the rows of U as products.
fn solve(u: &[f64], b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let mut x = b.to_vec();
    for k in 0..n {
        let row = &u[k * n + k..(k + 1) * n];
        let y = x[k] / row[0];
        x[k] = y;
        x[k + 1..].iter_mut().zip(&row[1..]).for_each(|(v, u)| *v -= y * u);
    }
    for k in (0..n).rev() {
        let row = &u[k * n + k..(k + 1) * n];
        let known: f64 = x[k + 1..].iter().zip(&row[1..]).map(|(v, u)| v * u).sum();
        x[k] = (x[k] - known) / row[0];
    }
    x
}
