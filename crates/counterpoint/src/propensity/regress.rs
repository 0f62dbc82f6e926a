//! The mean: one pass over the log, then every map, family and fold by small solves.
//!
//! The pass adds up, fold by fold, the Gram matrix of (psi, t_1, t_2, ..). What is left after taking away a fold is the
//! matrix of a fit without it, and the squared errors of that fit on the fold follow from the fold's own matrix:
//!
//! ```text
//! beta = argmin sum_{not k} (t - <beta, psi>)^2 + |beta|^2        (one pseudo-row of ridge; intercept free)
//! sum_k (t - <beta, psi>)^2 = G_tt - 2 <beta, G_ft> + <beta, G_ff beta>
//! ```

use crate::error::Result;
use crate::folds::{FOLDS, FoldGrams};
use crate::linalg::cholesky_solve;
use crate::math;
use crate::policy::HALF_LN_2PI;

/// A mean model in every fold, with a constant std.
#[derive(Clone, Debug, Default)]
pub(super) struct Regression {
    /// Coefficients, one vector a fold.
    pub(super) beta: Vec<Vec<f64>>,
    /// ln s, one a fold.
    pub(super) ln_s: Vec<f64>,
    /// Mean squared error out of fold, the variance of t being 1.
    pub(super) squares: f64,
    /// Mean log density of t out of fold.
    pub(super) score: f64,
}

/// Gram matrices by fold.
pub(super) struct Grams {
    /// Columns: features, then targets.
    columns: usize,
    features: usize,
    rows: u64,
    by_fold: Vec<Vec<f64>>,
    total: Vec<f64>,
}

impl Grams {
    pub(super) fn new(question: &FoldGrams, rows: u64, by_fold: Vec<Vec<f64>>) -> Self {
        let columns = question.columns();
        let mut total = vec![0.0; columns * columns];
        by_fold.iter().for_each(|g| total.iter_mut().zip(g).for_each(|(t, g)| *t += g));
        Grams { columns, features: question.frame.width(), rows, by_fold, total }
    }

    /// Rows of the log.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Entry (i, j) of the matrix without fold k.
    fn without(&self, k: usize, i: usize, j: usize) -> f64 {
        let at = i * self.columns + j;
        self.total[at] - self.by_fold[k][at]
    }

    /// Mean products of the last `width` features without fold k, with one pseudo-row of ridge; and the sum of weights.
    pub(super) fn normal_matrix(&self, k: usize, width: usize) -> (Vec<f64>, f64) {
        let from = self.features - width;
        let n = self.without(k, self.features - 1, self.features - 1);
        let mut a = vec![0.0; width * width];
        for i in 0..width {
            for j in 0..width {
                a[i * width + j] = self.without(k, from + i, from + j) / n;
            }
            if i + 1 < width {
                a[i * width + i] += 1.0 / n;
            }
        }
        (a, n)
    }

    /// Regresses target t on the last `width` features, without each fold in turn.
    pub(super) fn regress(&self, t: usize, width: usize) -> Result<Regression> {
        let from = self.features - width;
        let target = self.features + t;
        let trained = (self.rows * (FOLDS as u64 - 1) / FOLDS as u64) as f64;
        let mut out = Regression::default();
        let (mut score, mut squares, mut all) = (0.0, 0.0, 0.0);
        for k in 0..FOLDS {
            let (a, n) = self.normal_matrix(k, width);
            let b: Vec<f64> = (0..width).map(|i| self.without(k, from + i, target) / n).collect();
            let beta = cholesky_solve(&a, &b)?;
            let inside = errors(&beta, |i, j| {
                let at = |i: usize| if i < width { from + i } else { target };
                self.without(k, at(i), at(j))
            });
            let outside = errors(&beta, |i, j| {
                let at = |i: usize| if i < width { from + i } else { target };
                self.by_fold[k][at(i) * self.columns + at(j)]
            });
            // rounding leaves about 1e-15 of the variance 1; `random_enough` refuses long before
            let variance = (inside / n * trained / (trained - width as f64)).max(1e-14);
            let held = self.by_fold[k][(self.features - 1) * (self.columns + 1)];
            score -= 0.5 * held * math::ln(variance) + 0.5 * outside / variance;
            squares += outside;
            all += held;
            out.ln_s.push(0.5 * math::ln(variance));
            out.beta.push(beta);
        }
        out.score = score / all - HALF_LN_2PI;
        out.squares = squares / all;
        Ok(out)
    }
}

/// G_tt - 2 <beta, G_ft> + <beta, G_ff beta>, the target being index `beta.len()`.
fn errors(beta: &[f64], gram: impl Fn(usize, usize) -> f64) -> f64 {
    let m = beta.len();
    let mut sum = gram(m, m);
    for i in 0..m {
        sum -= 2.0 * beta[i] * gram(i, m);
        sum += beta[i] * (0..m).map(|j| beta[j] * gram(i, j)).sum::<f64>();
    }
    sum.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rows (1, 1) -> 1 and (1, 2) -> 4 with beta (1, 1) for (constant, x): errors 1 - 2 and 4 - 3.
    #[test]
    fn squared_errors_of_two_rows_by_hand() {
        let rows = [[1.0, 1.0, 1.0], [1.0, 2.0, 4.0]];
        let gram = |i: usize, j: usize| rows.iter().map(|r| r[i] * r[j]).sum();
        assert!((errors(&[1.0, 1.0], gram) - 2.0).abs() < 1e-12);
    }

    /// One row in each of five folds, targets 0, 0, 0, 0 and 5, and no feature but the constant. Without its fold, four rows are predicted
    /// 5/4 and the last one 0: squares of 4 (25/16) + 25, of which the mean is 25/4.
    #[test]
    fn errors_out_of_fold_are_means_over_all_rows() {
        let by_fold: Vec<Vec<f64>> = [0.0, 0.0, 0.0, 0.0, 5.0].map(|t| vec![1.0, t, t, t * t]).to_vec();
        let total = vec![5.0, 5.0, 5.0, 25.0];
        let grams = Grams { columns: 2, features: 1, rows: 5, by_fold, total };
        let fit = grams.regress(0, 1).unwrap();
        assert!((fit.squares - 6.25).abs() < 1e-12, "{}", fit.squares);
        assert_eq!((fit.beta[0].clone(), fit.beta[4].clone()), (vec![1.25], vec![0.0]));
    }
}
