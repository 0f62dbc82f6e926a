//! The policy that wrote the synthetic logs: a log-normal that never looks at the context.
//!
//! Its parameters are the mean and the standard deviation of the action itself, as everywhere in the project, and
//! not those of its logarithm; the conversion has its one home here.

use crate::math;
use std::f64::consts::TAU;

use crate::rng::StandardNormal;
use rand::{Rng, RngExt};

/// The mean of the logged actions.
pub const LOGGING_MEAN: f64 = 2.0;

/// The standard deviation of the logged actions.
pub const LOGGING_STD: f64 = 1.0;

/// The density pi0(a) with which the synthetic logs chose action `a`: log-normal, zero for a <= 0.
///
/// ```text
/// log a ~ N(m, s^2),   s^2 = log(1 + std^2 / mean^2),   m = log mean - s^2 / 2
/// ```
///
/// ```
/// use counterpoint::simulate::logging_density;
/// assert!((logging_density(2.0) - 0.410652).abs() < 1e-6);
/// assert_eq!(logging_density(0.0), 0.0);
/// ```
pub fn logging_density(action: f64) -> f64 {
    if action <= 0.0 {
        return 0.0;
    }
    let (m, s) = log_parameters();
    let z = (math::ln(action) - m) / s;
    math::exp(-0.5 * z * z) / (action * s * TAU.sqrt())
}

/// One action of the logging policy.
pub(crate) fn draw(rng: &mut impl Rng) -> f64 {
    let (m, s) = log_parameters();
    math::exp(m + s * rng.sample::<f64, _>(StandardNormal))
}

/// Mean m and standard deviation s of the logarithm.
fn log_parameters() -> (f64, f64) {
    let s2 = math::ln_1p(LOGGING_STD * LOGGING_STD / (LOGGING_MEAN * LOGGING_MEAN));
    (math::ln(LOGGING_MEAN) - 0.5 * s2, s2.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The k-th moment of the density, by the trapezoid rule in log a (spectrally accurate there).
    fn moment(k: i32) -> f64 {
        let h = 0.01;
        (-1000..=1000).map(|i| (f64::from(i) * h).exp()).map(|a| h * a * a.powi(k) * logging_density(a)).sum()
    }

    #[test]
    fn density_integrates_to_one_with_the_mean_and_std_of_its_name() {
        assert!((moment(0) - 1.0).abs() < 1e-12);
        assert!((moment(1) - LOGGING_MEAN).abs() < 1e-12);
        assert!((moment(2) - moment(1).powi(2) - LOGGING_STD * LOGGING_STD).abs() < 1e-11);
    }

    #[test]
    fn no_action_at_or_below_zero() {
        for a in [0.0, -0.0, -1.0, f64::NEG_INFINITY] {
            assert_eq!(logging_density(a), 0.0);
        }
    }

    /// Log-normal with s^2 = ln 1.25 at its median a = 2 / sqrt(1.25): 1 / (a s sqrt(2 pi)).
    #[test]
    fn density_at_the_median_by_hand() {
        assert!((logging_density(2.0 / 1.25_f64.sqrt()) - 0.472_109_681_313).abs() < 1e-12);
    }
}
