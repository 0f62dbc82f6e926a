//! Small dense linear algebra on row-major slices: what the library needs and no more.
//!
//! [`add_gram`] (X^T X, the hot one), [`cholesky_solve`] and [`symmetric_eigen`]. Nothing here starts a thread: the bits of a
//! result depend on the input and on the instruction set, never on the number of threads.

mod cholesky;
mod eigen;
mod gram;
#[cfg(test)]
mod tests;

pub(crate) use cholesky::cholesky_solve;
pub(crate) use gram::add_gram;

use crate::error::Result;
use eigen::symmetric_eigen;

/// The symmetric inverse square root K^(-1/2), with eigenvalues below `cut` times the largest dropped.
///
/// ```text
/// K = U diag(l) U^T  ->  U diag(l^(-1/2)) U^T = sum_e b_e b_e^T,  b_e = l_e^(-1/4) u_e
/// ```
///
/// Dropping is what makes duplicated or nearly collinear anchors harmless.
pub(crate) fn inverse_square_root(k: &[f64], n: usize, cut: f64) -> Result<Vec<f64>> {
    let (values, mut vectors) = symmetric_eigen(k, n)?;
    let largest = values.last().copied().unwrap_or(0.0).max(0.0);
    let first = values.partition_point(|&l| l <= cut * largest);
    for (row, l) in vectors.chunks_exact_mut(n.max(1)).zip(&values).skip(first) {
        let scale = 1.0 / l.sqrt().sqrt();
        row.iter_mut().for_each(|u| *u *= scale);
    }
    let mut out = vec![0.0; n * n];
    add_gram(&vectors[first * n..], n - first, n, &mut out);
    Ok(out)
}
