//! Small dense algebra behind one wall.
//!
//! Everything the house needs from a linear algebra library is a handful of functions on row-major slices. The library
//! behind them (faer) can be replaced by rewriting this file and nothing else.

use crate::error::{Error, Result};
use faer::linalg::solvers::Solve;
use faer::{Mat, MatRef, Side};

/// Eigenvalues (ascending) and eigenvectors (columns of a row-major n x n matrix) of a symmetric matrix.
pub(crate) fn symmetric_eigen(a: &[f64], n: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let eigen = view(a, n, n)
        .self_adjoint_eigen(Side::Lower)
        .map_err(|_| Error::numeric("eigendecomposition", "did not converge").hint("are there infinite entries?"))?;
    let values = (0..n).map(|i| eigen.S()[i]).collect();
    let u = eigen.U();
    let vectors = (0..n * n).map(|k| u[(k / n, k % n)]).collect();
    Ok((values, vectors))
}

/// Solves A x = b for a symmetric positive definite A, by Cholesky.
pub(crate) fn cholesky_solve(a: &[f64], b: &[f64]) -> Result<Vec<f64>> {
    let n = b.len();
    let factor = view(a, n, n).llt(Side::Lower).map_err(|_| {
        Error::numeric("Cholesky factor", "the matrix is not positive definite")
            .hint("a larger ridge makes it so; collinear or constant columns are the usual cause")
    })?;
    let x = factor.solve(MatRef::from_row_major_slice(b, n, 1));
    Ok((0..n).map(|i| x[(i, 0)]).collect())
}

/// C += A^T A for a rows x cols row-major A.
pub(crate) fn add_gram(a: &[f64], rows: usize, cols: usize, c: &mut [f64]) {
    use faer::linalg::matmul::matmul;
    let a = MatRef::from_row_major_slice(a, rows, cols);
    let c = faer::MatMut::from_row_major_slice_mut(c, cols, cols);
    matmul(c, faer::Accum::Add, a.transpose(), a, 1.0, faer::Par::Seq);
}

/// The symmetric inverse square root K^(-1/2), with eigenvalues below `cut` times the largest dropped.
///
/// ```text
/// K = U diag(l) U^T  ->  U diag(l^(-1/2)) U^T
/// ```
///
/// Dropping is what makes duplicated or nearly collinear anchors harmless.
pub(crate) fn inverse_square_root(k: &[f64], n: usize, cut: f64) -> Result<Vec<f64>> {
    let (values, u) = symmetric_eigen(k, n)?;
    let largest = values.iter().fold(0.0f64, |m, &v| m.max(v));
    let scale: Vec<f64> = values.iter().map(|&l| if l > cut * largest { 1.0 / l.sqrt() } else { 0.0 }).collect();
    let mut out = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..n {
            out[i * n + j] = (0..n).map(|e| u[i * n + e] * scale[e] * u[j * n + e]).sum();
        }
    }
    Ok(out)
}

fn view(a: &[f64], rows: usize, cols: usize) -> Mat<f64> {
    MatRef::from_row_major_slice(a, rows, cols).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
        (0..n * n).map(|i| (0..n).map(|l| a[i / n * n + l] * b[l * n + i % n]).sum()).collect()
    }

    #[test]
    fn inverse_square_root_undoes_its_square() {
        let k = [2.0, 0.5, 0.1, 0.5, 1.5, 0.2, 0.1, 0.2, 1.0];
        let r = inverse_square_root(&k, 3, 1e-10).unwrap();
        let identity = product(&product(&r, &k, 3), &r, 3);
        for i in 0..9 {
            assert!((identity[i] - if i % 4 == 0 { 1.0 } else { 0.0 }).abs() < 1e-13);
        }
    }

    #[test]
    fn a_singular_kernel_keeps_its_finite_part() {
        let r = inverse_square_root(&[1.0, 1.0, 1.0, 1.0], 2, 1e-10).unwrap();
        for v in r {
            assert!((v - 0.5 / 2f64.sqrt()).abs() < 1e-12);
        }
    }

    #[test]
    fn cholesky_solves_and_refuses() {
        let x = cholesky_solve(&[4.0, 1.0, 1.0, 3.0], &[1.0, 2.0]).unwrap();
        assert!((x[0] - 1.0 / 11.0).abs() < 1e-15 && (x[1] - 7.0 / 11.0).abs() < 1e-15);
        assert!(cholesky_solve(&[1.0, 2.0, 2.0, 1.0], &[1.0, 2.0]).is_err());
    }
}
