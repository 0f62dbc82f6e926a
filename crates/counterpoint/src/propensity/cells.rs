//! Does the model of the logging policy hold in every cell of the contexts?
//!
//! Correlations of residuals with contexts see straight lines only: an action that follows sin(3x) leaves none. A tree cut on one half of
//! the rows finds whatever form is left, and the other half says how much of the residuals it explains. A right model leaves nothing.

use crate::error::{Error, Hint, Remedy, Result};
use crate::folds::{Growth, Tree};
use crate::math;

/// Rows that are looked at, at most.
pub(super) const LOOKED_AT: usize = 8192;

/// Fewer rows cannot be cut into cells.
const LEAST: usize = 200;

/// Share of the residuals' variance that contexts may explain: more is said, much more refuses the log.
const SAID: f64 = 0.01;
const REFUSED: f64 = 0.1;

/// What speaks against the model; refuses it where contexts explain a tenth of what it left.
pub(super) fn check(x: &[f64], contexts: &[String], actions: &[String], residuals: &[Vec<f64>]) -> Result<Vec<String>> {
    let mut said = Vec::new();
    for (action, z) in actions.iter().zip(residuals).filter(|(_, z)| z.len() >= LEAST) {
        let spread: Vec<f64> = z.iter().map(|z| z.abs()).collect();
        for (what, left) in
            [("mean", explained(x, contexts.len(), z)), ("spread", explained(x, contexts.len(), &spread))]
        {
            if left > REFUSED {
                return Err(Error::data(format!(
                    "the model of its logging density is wrong: contexts explain {:.0}% of the {what} that it leaves, in a form \
                     that it does not have, so weights would mean nothing",
                    100.0 * left
                ))
                .at(format!("column {action:?}"))
                .hint(Hint::from("log the density when the action is drawn, and name that column: ") + Remedy::Propensity));
            }
            if left > SAID {
                said.push(format!(
                    "the {what} of {action:?} still depends on the contexts in a form that the model does not have ({:.1}% of what it \
                     leaves)",
                    100.0 * left
                ));
            }
        }
    }
    Ok(said)
}

/// Share of the variance that a tree from the even rows explains on the odd ones; below 0 where it explains nothing.
fn explained(x: &[f64], d: usize, target: &[f64]) -> f64 {
    let rows = |parity: usize| (0..target.len()).filter(move |i| i % 2 == parity);
    let half: Vec<f64> = rows(0).flat_map(|i| x[i * d..(i + 1) * d].to_vec()).collect();
    let known: Vec<f64> = rows(0).map(|i| target[i]).collect();
    let tree = Tree::grow(&half, d, &known, Growth { cells: 16, rows: (known.len() / 32).max(25) });
    let asked: Vec<f64> = rows(1).map(|i| target[i]).collect();
    let mean = asked.iter().sum::<f64>() / asked.len() as f64;
    let total: f64 = asked.iter().map(|t| (t - mean) * (t - mean)).sum();
    let left: f64 = rows(1).map(|i| math::powi(target[i] - tree.cell(|c| x[i * d + c]).1, 2)).sum();
    1.0 - left / total
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contexts by formula, residuals that are noise, and residuals that follow a sine.
    #[test]
    fn a_sine_is_refused_and_noise_is_not() {
        let n = 2000;
        let x: Vec<f64> = (0..n).map(|i| 4.0 * (f64::from(i) * 0.618_033_988_75).fract() - 2.0).collect();
        let noise: Vec<f64> = (0..n).map(|i| 3.4 * (f64::from(i) * 0.414_213_562_37).fract() - 1.7).collect();
        let (contexts, actions) = (["x".to_string()], ["a".to_string()]);
        assert_eq!(check(&x, &contexts, &actions, std::slice::from_ref(&noise)).unwrap(), Vec::<String>::new());
        let sine: Vec<f64> = x.iter().zip(&noise).map(|(x, e)| (3.0 * x).sin() + e).collect();
        assert!(check(&x, &contexts, &actions, &[sine]).unwrap_err().to_string().contains("mean"));
        let slight: Vec<f64> = x.iter().zip(&noise).map(|(x, e)| 0.45 * (3.0 * x).sin() + e).collect();
        assert_eq!(check(&x, &contexts, &actions, &[slight]).unwrap().len(), 1);
    }
}
