//! Warfarin: patients whose right dose is known, and a log written by a dosing rule that only looks at the body mass index.
//!
//! The file (columns `x0` to `x80`, `action`, `reward`, `propensity`, `expert_dose`) is under the licence of PharmGKB and is not
//! part of the project; whoever has it gives its path. With t the expert's dose, T all of them and e ~ N(0, 1):
//!
//! ```text
//! cost(a, t) = max(|a - t| - 0.1 t, 0)
//! a = mean(T) + std(T) (sqrt(theta) z + sqrt(1 - theta) e),   z = standardised body mass index,   theta = 1/2
//! ```
//!
//! The file does not say which column is the index. The rule does: it makes the index the column most correlated with the logged
//! action (about sqrt(theta) = 0.71; it is `x9` at 0.72, the weight follows with 0.63), and, once found, every propensity of the
//! file is that normal density. [`Warfarin::load`] looks for the column that way and refuses a file whose propensities it cannot
//! reproduce. Means and standard deviations are those of all rows, divided by n.

use counterpoint::data::Table;
use counterpoint::policy::Family;
use counterpoint::{Error, Log, Policy, Result};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rayon::prelude::*;
use std::path::Path;

use crate::DRAWS;

/// Contexts in the file.
const CONTEXTS: usize = 81;
/// Share of the logged action's variance that the index explains.
const THETA: f64 = 0.5;
/// How well the file's propensities must be reproduced, relative.
const TOLERANCE: f64 = 1e-6;

/// The patients, and one log of doses for them.
#[derive(Clone, Debug, PartialEq)]
pub struct Warfarin {
    /// Contexts column by column, standardised over all rows; a column that never varies is 0.
    pub x: Vec<Vec<f64>>,
    /// The expert's dose.
    pub dose: Vec<f64>,
    /// The logged dose.
    pub action: Vec<f64>,
    /// Minus its cost.
    pub reward: Vec<f64>,
    /// The density of the logged dose.
    pub propensity: Vec<f64>,
    /// Which context is the body mass index.
    pub index: usize,
    moments: (f64, f64),
}

/// What a dose costs when the expert would give `expert`: nothing within 10% of it.
///
/// ```
/// use counterpoint_lab::warfarin_cost;
/// assert_eq!(warfarin_cost(32.0, 30.0), 0.0);
/// assert_eq!(warfarin_cost(40.0, 30.0), 7.0);
/// assert_eq!(warfarin_cost(20.0, 30.0), 7.0);
/// ```
pub fn warfarin_cost(dose: f64, expert: f64) -> f64 {
    ((dose - expert).abs() - 0.1 * expert).max(0.0)
}

impl Warfarin {
    /// Reads the file, finds the body mass index, and checks that the log is what it should be.
    pub fn load(path: impl AsRef<Path>) -> Result<Warfarin> {
        let path = path.as_ref();
        let place = |e: Error| e.at(path.display().to_string());
        let mut names: Vec<String> = (0..CONTEXTS).map(|k| format!("x{k}")).collect();
        names.extend(["action", "reward", "propensity", "expert_dose"].map(String::from));
        let table = Table::read(path, &names)?;
        let column = |name: &str| table.numbers(name).map_err(place);
        let x = names[..CONTEXTS].iter().map(|n| Ok(standardised(column(n)?))).collect::<Result<Vec<_>>>()?;
        let (action, dose) = (column("action")?, column("expert_dose")?);
        let centred = standardised(action.clone());
        let pull = |k: usize| x[k].iter().zip(&centred).map(|(x, a)| x * a).sum::<f64>().abs();
        let index = (0..CONTEXTS).max_by(|a, b| pull(*a).total_cmp(&pull(*b))).unwrap_or(0);
        let (reward, propensity) = (column("reward")?, column("propensity")?);
        let log = Warfarin { moments: moments(&dose), x, dose, action, reward, propensity, index };
        log.check().map_err(place)?;
        Ok(log)
    }

    fn check(&self) -> Result<()> {
        for i in 0..self.dose.len() {
            let density =
                Family::Normal.log_density(self.action[i], self.logging_mean(i), self.logging_std()).value.exp();
            if (density / self.propensity[i] - 1.0).abs() > TOLERANCE {
                let what = format!("the density of the logged dose should be {density}, it is {}", self.propensity[i]);
                return Err(Error::data(what).at(format!("row {}, column \"propensity\"", i + 1)).hint(format!(
                    "x{} was taken for the body mass index; is this the file of the experiment?",
                    self.index
                )));
            }
        }
        Ok(())
    }

    /// Mean of the logged dose of row `i`.
    pub fn logging_mean(&self, i: usize) -> f64 {
        let (mean, std) = self.moments;
        mean + std * THETA.sqrt() * self.x[self.index][i]
    }

    /// Standard deviation of the logged dose given the patient.
    pub fn logging_std(&self) -> f64 {
        self.moments.1 * (1.0 - THETA).sqrt()
    }

    /// The same patients with doses drawn again by the same rule.
    #[must_use]
    pub fn redraw(&self, seed: u64) -> Warfarin {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut log = self.clone();
        for i in 0..self.dose.len() {
            let e: f64 = rng.sample(StandardNormal);
            let (mean, std) = (self.logging_mean(i), self.logging_std());
            log.action[i] = mean + std * e;
            log.reward[i] = -warfarin_cost(log.action[i], self.dose[i]);
            log.propensity[i] = Family::Normal.log_density(log.action[i], mean, std).value.exp();
        }
        log
    }

    /// Some of the patients, by row; the rule that wrote the log is still that of all.
    #[must_use]
    pub fn of(&self, rows: &[usize]) -> Warfarin {
        let some = |v: &[f64]| rows.iter().map(|&i| v[i]).collect();
        Warfarin {
            x: self.x.iter().map(|column| some(column)).collect(),
            dose: some(&self.dose),
            action: some(&self.action),
            reward: some(&self.reward),
            propensity: some(&self.propensity),
            ..*self
        }
    }

    /// The log as the library sees it: contexts `x0` to `x80`, action, reward, propensity; no split.
    pub fn log(&self) -> Result<Log> {
        let contexts = self.x.iter().enumerate();
        contexts
            .fold(Log::builder(), |log, (k, x)| log.context(&format!("x{k}"), x.clone()))
            .action("action", self.action.clone())
            .reward("reward", self.reward.clone())
            .propensity("propensity", self.propensity.clone())
            .build()
    }

    /// The contexts of row `i`.
    pub fn context(&self, i: usize) -> Vec<f64> {
        self.x.iter().map(|column| column[i]).collect()
    }

    /// The true mean reward of a policy on some rows: the known cost averaged over [`DRAWS`] sampled doses a patient.
    pub fn online_value(&self, policy: &Policy, rows: &[usize], seed: u64) -> f64 {
        let totals: Vec<f64> = rows
            .par_chunks(256)
            .map(|rows| {
                let mut scorer = policy.scorer();
                let mut total = 0.0;
                for &i in rows {
                    let x = self.context(i);
                    for draw in 0..DRAWS {
                        let (a, _) = scorer.sample(&x, seed, i as u64 * DRAWS + draw);
                        total -= warfarin_cost(a[0], self.dose[i]);
                    }
                }
                total
            })
            .collect();
        totals.iter().sum::<f64>() / (rows.len() as f64 * DRAWS as f64)
    }

    /// The true mean reward of the rule that wrote the log, over all patients, exactly.
    pub fn logged_value(&self) -> f64 {
        let value = |i: usize| -expected_cost(self.logging_mean(i), self.logging_std(), self.dose[i]);
        (0..self.dose.len()).map(value).sum::<f64>() / self.dose.len() as f64
    }
}

/// E cost(a, t) for a ~ N(mean, std^2): a call at 1.1 t and a put at 0.9 t.
///
/// ```text
/// E max(a - k, 0) = std phi(d) + (mean - k) Phi(d),   d = (mean - k) / std
/// ```
fn expected_cost(mean: f64, std: f64, expert: f64) -> f64 {
    let call = |gap: f64| {
        let d = gap / std;
        std * (-0.5 * d * d).exp() / std::f64::consts::TAU.sqrt() + gap * Family::Normal.cdf(d, 0.0, 1.0).value
    };
    call(mean - 1.1 * expert) + call(0.9 * expert - mean)
}

/// Mean and standard deviation, divided by n.
fn moments(v: &[f64]) -> (f64, f64) {
    let n = v.len() as f64;
    let mean = v.iter().sum::<f64>() / n;
    (mean, (v.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt())
}

fn standardised(v: Vec<f64>) -> Vec<f64> {
    let (mean, std) = moments(&v);
    // a constant column has a std of rounding errors at most
    let unit = if std > 1e-12 * mean.abs() { std } else { f64::INFINITY };
    v.into_iter().map(|x| (x - mean) / unit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the midpoint rule over 12 standard deviations.
    #[test]
    fn expected_cost_is_the_integral() {
        let (mean, std, t) = (33.0, 12.0, 25.0);
        let h = 0.001;
        let sum: f64 = (-6000..6000)
            .map(|k| (f64::from(k) + 0.5) * h)
            .map(|z| h * (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt() * warfarin_cost(mean + std * z, t))
            .sum();
        assert!((expected_cost(mean, std, t) - sum).abs() < 1e-5, "{sum}");
    }

    #[test]
    fn standardising_leaves_constants_at_zero() {
        assert_eq!(standardised(vec![1.0, 3.0]), [-1.0, 1.0]);
        assert_eq!(standardised(vec![0.1; 3]), [0.0; 3]);
    }
}
