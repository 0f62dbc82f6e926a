//! The std: log-linear in the contexts, by Fisher scoring.
//!
//! ```text
//! ln s = <gamma, (x, 1)>,   l = - sum (ln s + e^2 / (2 s^2)),   e = t - m(x)
//! score = sum (x, 1) (e^2 / s^2 - 1),   information = 2 sum (x, 1)(x, 1)^T
//! ```
//!
//! The residuals of all folds' fits are computed once, on at most [`SAMPLE`] rows spread over the log: the error of gamma is
//! then below a few thousandths. A step that lowers the likelihood is halved.

use super::regress::{Grams, Regression, Target};
use super::{FOLDS, Frame, fold, tail_product};
use crate::data::{BLOCK_ROWS, Log};
use crate::engine::Engine;
use crate::error::Result;
use crate::linalg::cholesky_solve;

/// Rows that are enough for a std.
const SAMPLE: usize = 100_000;

/// Scoring steps at most.
const STEPS: usize = 30;

/// Rows added up at a time; part of the definition of the sums.
const RUN: usize = 4096;

/// A row: its fold, weight, features (x, 1), and its residual under the fit without each fold.
struct Row {
    fold: usize,
    omega: f64,
    features: Vec<f64>,
    residuals: [f64; FOLDS],
}

/// Sums over rows at given gammas.
#[derive(Clone)]
struct Sums {
    /// Log likelihood of each fit on the rows it sees.
    inside: [f64; FOLDS],
    /// Of all rows under the fit without their fold.
    outside: f64,
    score: Vec<Vec<f64>>,
    /// Weight of the rows each fit sees.
    n: [f64; FOLDS],
    all: f64,
}

/// Fits gamma in every fold, and says how much log density a row gains by it out of fold over a constant std.
pub(super) fn fit(
    engine: &Engine,
    log: &Log,
    frame: &Frame,
    grams: &Grams,
    (target, mean): (&Target, &Regression),
    width: usize,
) -> Result<(Vec<Vec<f64>>, f64)> {
    let rows = rows(engine, log, frame, (target, mean), width);
    let constant = |s: &f64| [vec![0.0; width - 1], vec![*s]].concat();
    let mut gamma: Vec<Vec<f64>> = mean.ln_s.iter().map(constant).collect();
    let start = sums(engine, &rows, &gamma, width);
    let information: Vec<Vec<f64>> = (0..FOLDS).map(|k| grams.normal_matrix(k, width).0).collect();
    let direction = |k: usize, s: &Sums| -> Result<Vec<f64>> {
        let score: Vec<f64> = s.score[k].iter().map(|g| 0.5 * g / s.n[k]).collect();
        cholesky_solve(&information[k], &score)
    };
    let mut best = start.inside;
    let mut steps: Vec<Vec<f64>> = (0..FOLDS).map(|k| direction(k, &start)).collect::<Result<_>>()?;
    for _ in 0..STEPS {
        let trial: Vec<Vec<f64>> =
            gamma.iter().zip(&steps).map(|(g, s)| g.iter().zip(s).map(|(g, s)| g + s).collect()).collect();
        let now = sums(engine, &rows, &trial, width);
        for k in 0..FOLDS {
            // not a number, where a std left the floating-point range, is no improvement either
            if now.inside[k] >= best[k] {
                best[k] = now.inside[k];
                gamma[k].clone_from(&trial[k]);
                steps[k] = direction(k, &now)?;
            } else {
                steps[k].iter_mut().for_each(|s| *s *= 0.5);
            }
        }
        if steps.iter().flatten().all(|s| s.abs() < 1e-6) {
            break;
        }
    }
    let end = sums(engine, &rows, &gamma, width);
    let gain = (end.outside - start.outside) / start.all;
    Ok((gamma, if gain.is_finite() { gain } else { f64::NEG_INFINITY }))
}

fn rows(engine: &Engine, log: &Log, frame: &Frame, (target, mean): (&Target, &Regression), width: usize) -> Vec<Row> {
    let step = log.rows().div_ceil(SAMPLE).max(1);
    let numbered: Vec<(usize, &crate::data::Block)> = log.blocks().iter().enumerate().collect();
    let parts = engine.map(&numbered, |(number, b)| {
        let (mut x, mut psi) = (vec![0.0; log.d()], vec![0.0; frame.width()]);
        let mut out = Vec::new();
        for i in (0..b.rows()).filter(|i| (number * BLOCK_ROWS + i).is_multiple_of(step)) {
            frame.features(b, i, &mut x, &mut psi);
            let t = target.value(b.a[target.action][i]);
            out.push(Row {
                fold: fold(b.ids[i]),
                omega: b.omega[i],
                features: psi[psi.len() - width..].to_vec(),
                residuals: std::array::from_fn(|k| t - tail_product(&mean.beta[k], &psi)),
            });
        }
        out
    });
    parts.into_iter().flatten().collect()
}

fn sums(engine: &Engine, rows: &[Row], gamma: &[Vec<f64>], width: usize) -> Sums {
    let zero =
        Sums { inside: [0.0; FOLDS], outside: 0.0, score: vec![vec![0.0; width]; FOLDS], n: [0.0; FOLDS], all: 0.0 };
    let runs: Vec<&[Row]> = rows.chunks(RUN).collect();
    let parts = engine.map(&runs, |run| {
        let mut s = zero.clone();
        for r in *run {
            s.all += r.omega;
            for k in 0..FOLDS {
                let ln_s: f64 = tail_product(&gamma[k], &r.features);
                let ratio = r.residuals[k] * r.residuals[k] * (-2.0 * ln_s).exp();
                let density = -r.omega * (ln_s + 0.5 * ratio);
                if k == r.fold {
                    s.outside += density;
                    continue;
                }
                s.inside[k] += density;
                s.n[k] += r.omega;
                let slope = r.omega * (ratio - 1.0);
                s.score[k].iter_mut().zip(&r.features).for_each(|(g, f)| *g += slope * f);
            }
        }
        s
    });
    let mut total = zero;
    for s in parts {
        total.outside += s.outside;
        total.all += s.all;
        for k in 0..FOLDS {
            total.inside[k] += s.inside[k];
            total.n[k] += s.n[k];
            total.score[k].iter_mut().zip(&s.score[k]).for_each(|(a, b)| *a += b);
        }
    }
    total
}
