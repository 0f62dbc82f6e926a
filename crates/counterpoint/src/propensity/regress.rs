//! The mean: one pass over the log, then every map, family and fold by small solves.
//!
//! The pass adds up, fold by fold, the Gram matrix of (psi, t_1, t_2, ..). What is left after taking away a fold is the
//! matrix of a fit without it, and the squared errors of that fit on the fold follow from the fold's own matrix:
//!
//! ```text
//! beta = argmin sum_{not k} (t - <beta, psi>)^2 + |beta|^2        (one pseudo-row of ridge; intercept free)
//! sum_k (t - <beta, psi>)^2 = G_tt - 2 <beta, G_ft> + <beta, G_ff beta>
//! ```

use super::{FOLDS, Frame, fold, pieces};
use crate::data::{Log, Summary};
use crate::engine::Engine;
use crate::error::Result;
use crate::linalg::{add_gram, cholesky_solve};
use crate::policy::{Family, HALF_LN_2PI};

/// What is regressed: an action or its logarithm, standardised.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) action: usize,
    pub(super) family: Family,
    shift: f64,
    pub(super) unit: f64,
}

impl Target {
    /// The action itself, and its logarithm where all are positive.
    pub(super) fn of(log: &Log, action: usize) -> Vec<Target> {
        let positive = log.blocks().iter().all(|b| b.a[action].iter().all(|a| *a > 0.0));
        let target = |family| {
            let mut s = Summary::default();
            for b in log.blocks() {
                b.a[action].iter().zip(&b.omega).for_each(|(a, w)| s.add(transform(family, *a), *w));
            }
            Target { action, family, shift: s.mean(), unit: s.std() }
        };
        let families: &[Family] = if positive { &[Family::Normal, Family::LogNormal] } else { &[Family::Normal] };
        families.iter().map(|f| target(*f)).collect()
    }

    /// t on its standardised scale.
    pub(super) fn value(&self, a: f64) -> f64 {
        (transform(self.family, a) - self.shift) / self.unit
    }

    /// ln |dt/da|
    pub(super) fn log_slope(&self, a: f64) -> f64 {
        match self.family {
            Family::Normal => -self.unit.ln(),
            Family::LogNormal => -self.unit.ln() - a.ln(),
        }
    }

    /// Its mean over the log; the mean of ln a is the shift.
    pub(super) fn mean_log_slope(&self) -> f64 {
        match self.family {
            Family::Normal => -self.unit.ln(),
            Family::LogNormal => -self.unit.ln() - self.shift,
        }
    }
}

fn transform(family: Family, a: f64) -> f64 {
    match family {
        Family::Normal => a,
        Family::LogNormal => a.ln(),
    }
}

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
    rows: usize,
    by_fold: Vec<Vec<f64>>,
    total: Vec<f64>,
}

impl Grams {
    pub(super) fn new(engine: &Engine, log: &Log, frame: &Frame) -> Self {
        let features = frame.width();
        let columns = features + frame.targets.len();
        let empty = || vec![vec![0.0; columns * columns]; FOLDS];
        let parts = engine.map(&pieces(log), |blocks| {
            let mut grams = empty();
            let (mut x, mut psi) = (vec![0.0; log.d()], vec![0.0; features]);
            let mut rows: Vec<Vec<f64>> = vec![Vec::new(); FOLDS];
            for b in *blocks {
                rows.iter_mut().for_each(Vec::clear);
                for i in 0..b.rows() {
                    frame.features(b, i, &mut x, &mut psi);
                    let root = b.omega[i].sqrt();
                    let to = &mut rows[fold(b.ids[i])];
                    to.extend(psi.iter().map(|f| root * f));
                    to.extend(frame.targets.iter().map(|t| root * t.value(b.a[t.action][i])));
                }
                for (rows, gram) in rows.iter().zip(&mut grams) {
                    add_gram(rows, rows.len() / columns, columns, gram);
                }
            }
            grams
        });
        let mut by_fold = empty();
        for part in parts {
            for (to, from) in by_fold.iter_mut().flatten().zip(part.iter().flatten()) {
                *to += from;
            }
        }
        let mut total = vec![0.0; columns * columns];
        by_fold.iter().for_each(|g| total.iter_mut().zip(g).for_each(|(t, g)| *t += g));
        Grams { columns, features, rows: log.rows(), by_fold, total }
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
        let trained = (self.rows * (FOLDS - 1) / FOLDS) as f64;
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
            score -= 0.5 * held * variance.ln() + 0.5 * outside / variance;
            squares += outside;
            all += held;
            out.ln_s.push(0.5 * variance.ln());
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
}
