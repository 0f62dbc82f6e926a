//! The std: log-linear in the contexts, by Fisher scoring.
//!
//! ```text
//! ln s = <gamma, (x, 1)>,   l = - sum (ln s + e^2 / (2 s^2)),   e = t - m(x)
//! score = sum (x, 1) (e^2 / s^2 - 1),   information = 2 sum (x, 1)(x, 1)^T
//! ```
//!
//! At most [`SAMPLE`] rows, chosen by a hash, take part: the error of gamma is then below a few thousandths. A step that lowers the
//! likelihood is halved.

use super::regress::{Grams, Regression};
use crate::data::Sample;
use crate::error::Result;
use crate::folds::{FOLDS, Frame, Spread, SpreadSums, Target};
use crate::linalg::cholesky_solve;
use crate::source::Source;

/// Rows that are enough for a std.
const SAMPLE: usize = 100_000;

/// Scoring steps at most.
const STEPS: usize = 30;

/// Fits gamma in every fold, and says how much log density a row gains by it out of fold over a constant std.
pub(super) fn fit(
    source: &dyn Source,
    frame: &Frame,
    grams: &Grams,
    (target, mean): (&Target, &Regression),
    width: usize,
) -> Result<(Vec<Vec<f64>>, f64)> {
    let sample = Sample::of(grams.rows(), SAMPLE);
    let sums = |gamma: &[Vec<f64>]| {
        let (frame, beta, gamma) = (frame.clone(), mean.beta.clone(), gamma.to_vec());
        source.get(Spread { frame, target: *target, beta, gamma, sample })
    };
    let constant = |s: &f64| [vec![0.0; width - 1], vec![*s]].concat();
    let mut gamma: Vec<Vec<f64>> = mean.ln_s.iter().map(constant).collect();
    let start = sums(&gamma)?;
    let information: Vec<Vec<f64>> = (0..FOLDS).map(|k| grams.normal_matrix(k, width).0).collect();
    let direction = |k: usize, s: &SpreadSums| -> Result<Vec<f64>> {
        let score: Vec<f64> = s.score[k].iter().map(|g| 0.5 * g / s.n[k]).collect();
        cholesky_solve(&information[k], &score)
    };
    let mut best = start.inside;
    let mut steps: Vec<Vec<f64>> = (0..FOLDS).map(|k| direction(k, &start)).collect::<Result<_>>()?;
    for _ in 0..STEPS {
        let trial: Vec<Vec<f64>> =
            gamma.iter().zip(&steps).map(|(g, s)| g.iter().zip(s).map(|(g, s)| g + s).collect()).collect();
        let now = sums(&trial)?;
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
    let end = sums(&gamma)?;
    let gain = (end.outside - start.outside) / start.all;
    Ok((gamma, if gain.is_finite() { gain } else { f64::NEG_INFINITY }))
}
