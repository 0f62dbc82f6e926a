//! Eigenvalues and eigenvectors of a symmetric matrix: Householder reflections to tridiagonal form, then implicit QL.
//!
//! ```text
//! A = Q T Q^T (n - 2 reflections),   T = S diag(l) S^T (plane rotations),   eigenvectors: the columns of Q S
//! ```
//!
//! The textbook method (Golub and Van Loan, sections 8.3.1 and 8.3.3; EISPACK's tred2 and tql2). The vectors are held as
//! rows, so that a rotation of two of them runs along memory. Products are never fused here: one build gives the same bits on
//! every processor.

use crate::error::{Error, Result};
use crate::math;
use crate::vector::{dispatch, level};
use fearless_simd::Simd;

/// Sweeps per eigenvalue before the search is given up; two are usual.
const SWEEPS: usize = 60;

/// Eigenvalues, ascending, and eigenvectors as rows of a row-major n x n matrix.
pub(super) fn symmetric_eigen(a: &[f64], n: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let fail = || Error::numeric("eigendecomposition", "did not converge").hint("are there infinite entries?");
    let largest = a.iter().fold(0.0f64, |m, v| if v.is_finite() { m.max(v.abs()) } else { f64::INFINITY });
    if !largest.is_finite() {
        return Err(fail());
    }
    // a power of two near the largest entry keeps squares in range and moves no bit
    let unit = if largest > 0.0 { math::exp2(math::log2(largest).floor().clamp(-1000.0, 1000.0)) } else { 1.0 };
    let mut t = Tridiagonal::of(a.iter().map(|v| v / unit).collect(), n);
    let converged = dispatch!(level(), simd => t.diagonalise(simd));
    if !converged {
        return Err(fail());
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| t.diagonal[i].total_cmp(&t.diagonal[j]));
    let values = order.iter().map(|&i| t.diagonal[i] * unit).collect();
    let vectors = order.iter().flat_map(|&i| t.vectors[i * n..(i + 1) * n].iter().copied()).collect();
    Ok((values, vectors))
}

/// A tridiagonal matrix and the rotation that made it so.
struct Tridiagonal {
    n: usize,
    diagonal: Vec<f64>,
    /// beside[i] couples i and i + 1; the last is 0.
    beside: Vec<f64>,
    /// Row i is the i-th basis vector.
    vectors: Vec<f64>,
}

impl Tridiagonal {
    fn of(mut a: Vec<f64>, n: usize) -> Self {
        let mut beside = vec![0.0; n];
        // reflection k is I - 2 v v^T with |v| = 1, kept in row k of `a` right of the diagonal
        for k in 0..n.saturating_sub(1) {
            let (above, below) = a.split_at_mut((k + 1) * n);
            let v = &mut above[k * n + k + 1..];
            beside[k] = reflector(v);
            reflect_both_sides(below, n, k + 1, v);
        }
        let diagonal = (0..n).map(|i| a[i * n + i]).collect();
        Tridiagonal { n, diagonal, beside, vectors: basis(&a, n) }
    }

    /// QL with implicit shifts, the vectors rotated along; false if a value does not settle.
    #[inline(always)]
    fn diagonalise<S: Simd>(&mut self, simd: S) -> bool {
        let mut scale = 0.0f64;
        for low in 0..self.n {
            scale = scale.max(self.diagonal[low].abs() + self.beside[low].abs());
            let mut sweeps = 0;
            loop {
                let high = self.coupled_up_to(low, scale);
                if high == low {
                    break;
                }
                if sweeps == SWEEPS {
                    return false;
                }
                sweeps += 1;
                self.sweep(simd, low, high);
            }
        }
        true
    }

    /// The last index that hangs together with `low`: beyond it the coupling is rounding error of entries seen so far.
    fn coupled_up_to(&self, low: usize, scale: f64) -> usize {
        let apart = |&i: &usize| self.beside[i].abs() <= f64::EPSILON * scale;
        (low..self.n - 1).find(apart).unwrap_or(self.n - 1)
    }

    /// One QL sweep over low..=high: a shift near the eigenvalue at `low`, then rotations from the bottom up.
    #[inline(always)]
    fn sweep<S: Simd>(&mut self, simd: S, low: usize, high: usize) {
        let (d, e, n) = (&mut self.diagonal, &mut self.beside, self.n);
        // Wilkinson's shift: the eigenvalue of the leading 2 x 2 block nearer to its first entry
        let half = (d[low + 1] - d[low]) / (2.0 * e[low]);
        let root = math::hypot(half, 1.0);
        let mut g = d[high] - d[low] + e[low] / (half + root.copysign(half));
        let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
        for i in (low..high).rev() {
            let (f, b) = (s * e[i], c * e[i]);
            let r = math::hypot(f, g);
            e[i + 1] = r;
            if r == 0.0 {
                // the matrix has come apart here: take back the last shift and start over on the smaller parts
                d[i + 1] -= p;
                e[high] = 0.0;
                return;
            }
            (s, c) = (f / r, g / r);
            let shifted = d[i + 1] - p;
            let t = (d[i] - shifted) * s + 2.0 * c * b;
            p = s * t;
            d[i + 1] = shifted + p;
            g = c * t - b;
            let (above, below) = self.vectors.split_at_mut((i + 1) * n);
            rotate(simd, &mut above[i * n..], &mut below[..n], s, c);
        }
        d[low] -= p;
        e[low] = g;
        e[high] = 0.0;
    }
}

/// Replaces x by the unit vector v whose reflection sends x to a multiple of the first axis; returns that multiple.
fn reflector(x: &mut [f64]) -> f64 {
    let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
    let tail = x[1..].iter().fold(0.0f64, |m, v| m.max(v.abs()));
    if tail == 0.0 {
        let kept = x[0];
        x.fill(0.0);
        return kept;
    }
    let image = -norm.copysign(x[0]);
    x[0] -= image;
    let length = x.iter().map(|v| v * v).sum::<f64>().sqrt();
    x.iter_mut().for_each(|v| *v /= length);
    image
}

/// B <- H B H for the trailing block B that starts at row and column `from`; `rows` holds its rows.
///
/// ```text
/// H = I - 2 v v^T,  p = B v,  w = 2 (p - <v, p> v)   ->   H B H = B - v w^T - w v^T
/// ```
fn reflect_both_sides(rows: &mut [f64], n: usize, from: usize, v: &[f64]) {
    let mut w = vec![0.0; v.len()];
    for (row, a) in rows.chunks_exact(n).zip(v) {
        w.iter_mut().zip(&row[from..]).for_each(|(w, b)| *w += a * b);
    }
    let along: f64 = w.iter().zip(v).map(|(w, v)| w * v).sum();
    w.iter_mut().zip(v).for_each(|(w, v)| *w = 2.0 * (*w - along * v));
    for ((row, a), b) in rows.chunks_exact_mut(n).zip(v).zip(&w) {
        row[from..].iter_mut().zip(v).zip(&w).for_each(|((x, v), w)| *x -= a * w + b * v);
    }
}

/// Q^T of the reflections kept in `a`, last reflection first: only the trailing block differs from the identity.
fn basis(a: &[f64], n: usize) -> Vec<f64> {
    let mut q = vec![0.0; n * n];
    (0..n).for_each(|i| q[i * n + i] = 1.0);
    for k in (0..n.saturating_sub(1)).rev() {
        let v = &a[k * n + k + 1..(k + 1) * n];
        let rows = &mut q[(k + 1) * n..];
        let mut w = vec![0.0; v.len()];
        for (row, a) in rows.chunks_exact(n).zip(v) {
            w.iter_mut().zip(&row[k + 1..]).for_each(|(w, q)| *w += a * q);
        }
        for (row, a) in rows.chunks_exact_mut(n).zip(v) {
            row[k + 1..].iter_mut().zip(&w).for_each(|(q, w)| *q -= 2.0 * a * w);
        }
    }
    (0..n * n).map(|i| q[i % n * n + i / n]).collect()
}

/// (x, y) <- (c x - s y, s x + c y)
#[inline(always)]
fn rotate<S: Simd>(simd: S, x: &mut [f64], y: &mut [f64], s: f64, c: f64) {
    simd.vectorize(
        #[inline(always)]
        || {
            for (x, y) in x.iter_mut().zip(y) {
                (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
            }
        },
    );
}
