//! What if the policy moved away from the log? The largest of three normals, seen through log-normals (Example D.1).
//!
//! ```text
//! logged    ln a_j ~ N(1, (1/2)^2),  j = 1, 2, 3 independent,   reward max_j a_j
//! asked     a_j ~ N(mu, (1/2)^2):    E max_j a_j = mu + (1/2) 3 / (2 sqrt(pi))
//! ```
//!
//! There are no contexts; the action has three columns and the propensity is their joint density. Near the mode of the
//! logged density, e^(3/4) = 2.117, importance sampling works; farther away every diagnostic must say that it does not.

#[cfg(feature = "readers")]
use crate::data::{Column, Table};
use crate::evaluate::Estimate;
use crate::math;
use crate::policy::Family;
use crate::rng::StandardNormal;
use crate::{Engine, Estimator, Log, Policy, Result, evaluate};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::{PI, TAU};

/// Mean of the logarithm of a logged action.
const LOG_MEAN: f64 = 1.0;
/// Standard deviation of the logarithm of a logged action.
const LOG_STD: f64 = 0.5;
/// The names of the action columns.
const ACTIONS: [&str; 3] = ["a0", "a1", "a2"];

/// Standard deviation of the policies asked about.
pub const WHATIF_STD: f64 = 0.5;

/// A log of the example.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WhatIf {
    /// The three parts of the action.
    pub action: [Vec<f64>; 3],
    /// Their largest.
    pub reward: Vec<f64>,
    /// Their joint density.
    pub propensity: Vec<f64>,
}

impl WhatIf {
    /// Draws a log; a shorter one is the beginning of a longer one.
    pub fn simulate(rows: usize, seed: u64) -> WhatIf {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut log = WhatIf::default();
        for _ in 0..rows {
            let z: [f64; 3] = [(); 3].map(|()| rng.sample(StandardNormal));
            let a = z.map(|z| math::exp(LOG_MEAN + LOG_STD * z));
            log.action.iter_mut().zip(a).for_each(|(column, a)| column.push(a));
            log.reward.push(a.into_iter().fold(f64::NEG_INFINITY, f64::max));
            let density = |z: f64, a: f64| math::exp(-0.5 * z * z) / (a * LOG_STD * TAU.sqrt());
            log.propensity.push(z.into_iter().zip(a).map(|(z, a)| density(z, a)).product());
        }
        log
    }

    /// The true mean reward of the policy with mean `mu`.
    ///
    /// ```
    /// use counterpoint::simulate::WhatIf;
    /// assert!((WhatIf::truth(2.0) - 2.423142).abs() < 1e-6);
    /// ```
    pub fn truth(mu: f64) -> f64 {
        mu + WHATIF_STD * 1.5 / PI.sqrt()
    }

    /// The mode of a logged action.
    pub fn mode() -> f64 {
        math::exp(LOG_MEAN - LOG_STD * LOG_STD)
    }

    /// What the log says about the policy with mean `mu`, as a reward.
    pub fn ask(log: &Log, mu: f64, estimator: &Estimator) -> Result<Estimate> {
        let policy = Policy::constant(Family::Normal, &[], &ACTIONS, &[mu; 3], &[WHATIF_STD; 3])?;
        evaluate(&log.on(&Engine::single()), &policy, estimator)
    }

    /// The log as the library sees it.
    pub fn log(&self) -> Result<Log> {
        let actions = ACTIONS.iter().zip(&self.action);
        actions
            .fold(Log::builder(), |log, (name, a)| log.action(name, a.clone()))
            .reward("reward", self.reward.clone())
            .propensity("propensity", self.propensity.clone())
            .build()
    }

    /// The log as a table.
    #[cfg(feature = "readers")]
    pub fn table(&self) -> Table {
        let actions = ACTIONS.iter().zip(&self.action).map(|(n, v)| (n.to_string(), Column::Numbers(v.clone())));
        let rest = [("reward", &self.reward), ("propensity", &self.propensity)];
        let rest = rest.map(|(n, v)| (n.to_string(), Column::Numbers(v.clone())));
        Table { columns: actions.chain(rest).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E max of three standard normals is 3 / (2 sqrt(pi)) = 0.8463; here by the density 3 phi Phi^2 of the largest.
    #[test]
    fn truth_is_the_mean_of_the_largest() {
        let h = 0.01;
        let mean: f64 = (-900..=900)
            .map(|k| f64::from(k) * h)
            .map(|z| h * z * 3.0 * (-0.5 * z * z).exp() / TAU.sqrt() * Family::Normal.cdf(z, 0.0, 1.0).value.powi(2))
            .sum();
        assert!((WhatIf::truth(2.0) - 2.0 - 0.5 * mean).abs() < 1e-10);
    }

    /// At the mode all is well; two units away few rows speak and the mean weight is far from 1.
    #[test]
    fn diagnostics_fall_as_the_policy_moves_away() {
        let log = WhatIf::simulate(20_000, 1).log().expect("a log");
        let near = WhatIf::ask(&log, WhatIf::mode(), &Estimator::SNIPS).expect("an estimate");
        assert!((-near.cost() - WhatIf::truth(WhatIf::mode())).abs() < 5.0 * near.std_error);
        assert!((near.mean_weight - 1.0).abs() < 0.1 && near.effective / near.rows > 0.1, "{near:?}");
        let far = WhatIf::ask(&log, 0.0, &Estimator::SNIPS).expect("an estimate");
        assert!(far.effective / far.rows < 0.002 && (far.mean_weight - 1.0).abs() > 0.5, "{far:?}");
    }

    /// ln a has mean 1 and std 1/2, and E max a of the log is near 4.3: checked by five standard errors of ln a.
    #[test]
    fn logged_actions_have_the_law_of_their_name() {
        let log = WhatIf::simulate(20_000, 2);
        for a in &log.action {
            let mean = a.iter().map(|a| a.ln()).sum::<f64>() / 20_000.0;
            assert!((mean - 1.0).abs() < 5.0 * 0.5 / 20_000f64.sqrt(), "{mean}");
        }
        let i = 7;
        let by_hand: f64 = (0..3)
            .map(|j| {
                let a = log.action[j][i];
                (-2.0 * (a.ln() - 1.0).powi(2)).exp() / (0.5 * a * TAU.sqrt())
            })
            .product();
        assert!((log.propensity[i] / by_hand - 1.0).abs() < 1e-10);
    }
}
