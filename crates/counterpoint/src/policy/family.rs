//! Families: the shape of the policy around its mean.
//!
//! Both are told their MEAN and their STANDARD DEVIATION on the action's own scale. For the log-normal that means
//!
//! ```text
//! s^2 = ln(1 + std^2/mean^2),   m = ln mean - s^2/2,   ln a ~ N(m, s^2)
//! ```
//!
//! Vector actions have independent components with one std each: their log densities add up.

use crate::features::Slopes;
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use statrs::function::erf::erfc;

/// ln(2 pi) / 2
pub const HALF_LN_2PI: f64 = 0.918_938_533_204_672_8;

/// The distribution of one component of an action around its mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// N(mean, std^2)
    #[default]
    Normal,
    /// The log-normal with that mean and std; actions and means are positive.
    LogNormal,
}

impl Family {
    /// ln pi(a), with slopes in mean and std. `mean` must be positive for the log-normal.
    ///
    /// ```
    /// use counterpoint::Family;
    /// let p = Family::Normal.log_density(1.0, 1.0, 2.0);
    /// assert!((p.value + (2.0 * (2.0 * std::f64::consts::PI).sqrt()).ln()).abs() < 1e-15);
    /// assert_eq!((p.mean, p.std), (0.0, -0.5));
    /// ```
    pub fn log_density(self, a: f64, mean: f64, std: f64) -> Slopes {
        match self {
            Family::Normal => {
                let z = (a - mean) / std;
                Slopes { value: -0.5 * z * z - std.ln() - HALF_LN_2PI, mean: z / std, std: (z * z - 1.0) / std }
            }
            Family::LogNormal => {
                let l = LogLaw::new(mean, std);
                let z = ln_ratio(a, mean) + 0.5 * l.s2;
                let value = -0.5 * z * z / l.s2 - 0.5 * l.s2.ln() - a.ln() - HALF_LN_2PI;
                let (dz, ds2) = (-z / l.s2, 0.5 * (z * z / l.s2 - 1.0) / l.s2);
                Slopes {
                    value,
                    mean: dz * (-1.0 / mean + 0.5 * l.s2_mean) + ds2 * l.s2_mean,
                    std: dz * 0.5 * l.s2_std + ds2 * l.s2_std,
                }
            }
        }
    }

    /// d ln pi(a) / d a.
    pub fn log_density_slope(self, a: f64, mean: f64, std: f64) -> f64 {
        match self {
            Family::Normal => -(a - mean) / (std * std),
            Family::LogNormal => {
                let l = LogLaw::new(mean, std);
                -((ln_ratio(a, mean) + 0.5 * l.s2) / l.s2 + 1.0) / a
            }
        }
    }

    /// The differential entropy, with slopes.
    ///
    /// ```text
    /// Normal: ln std + (1 + ln 2 pi)/2        LogNormal: m + ln s + (1 + ln 2 pi)/2
    /// ```
    pub fn entropy(self, mean: f64, std: f64) -> Slopes {
        const C: f64 = 0.5 + HALF_LN_2PI;
        match self {
            Family::Normal => Slopes { value: std.ln() + C, mean: 0.0, std: 1.0 / std },
            Family::LogNormal => {
                let l = LogLaw::new(mean, std);
                let d = 0.5 / l.s2 - 0.5;
                Slopes {
                    value: mean.ln() - 0.5 * l.s2 + 0.5 * l.s2.ln() + C,
                    mean: 1.0 / mean + d * l.s2_mean,
                    std: d * l.s2_std,
                }
            }
        }
    }

    /// P(action <= a), with slopes in mean and std.
    pub fn cdf(self, a: f64, mean: f64, std: f64) -> Slopes {
        let normal = |z: f64| 0.5 * erfc(-z * std::f64::consts::FRAC_1_SQRT_2);
        let bell = |z: f64| (-0.5 * z * z - HALF_LN_2PI).exp();
        match self {
            _ if a == f64::INFINITY => Slopes { value: 1.0, mean: 0.0, std: 0.0 },
            Family::Normal => {
                let z = (a - mean) / std;
                Slopes { value: normal(z), mean: -bell(z) / std, std: -bell(z) * z / std }
            }
            Family::LogNormal if a <= 0.0 => Slopes::default(),
            Family::LogNormal => {
                let l = LogLaw::new(mean, std);
                let s = l.s2.sqrt();
                let t = (ln_ratio(a, mean) + 0.5 * l.s2) / s;
                // t = ln(a/mean)/s + s/2, and ds/ds2 = 1/(2 s)
                let dt_s2 = 0.5 / s - 0.5 * t / l.s2;
                Slopes {
                    value: normal(t),
                    mean: bell(t) * (-1.0 / (mean * s) + dt_s2 * l.s2_mean),
                    std: bell(t) * dt_s2 * l.s2_std,
                }
            }
        }
    }

    /// The action at standard-normal position `z`, with slopes: mean + std z, or exp(m + s z).
    pub fn at(self, z: f64, mean: f64, std: f64) -> Slopes {
        match self {
            Family::Normal => Slopes { value: mean + std * z, mean: 1.0, std: z },
            Family::LogNormal => {
                let l = LogLaw::new(mean, std);
                let s = l.s2.sqrt();
                let a = (mean.ln() - 0.5 * l.s2 + s * z).exp();
                let d = 0.5 * z / s - 0.5;
                Slopes { value: a, mean: a * (1.0 / mean + d * l.s2_mean), std: a * d * l.s2_std }
            }
        }
    }

    /// Draws one action.
    pub fn sample<R: Rng + ?Sized>(self, mean: f64, std: f64, rng: &mut R) -> f64 {
        self.at(StandardNormal.sample(rng), mean, std).value
    }
}

/// s^2 of the log-normal and its slopes.
struct LogLaw {
    s2: f64,
    s2_mean: f64,
    s2_std: f64,
}

impl LogLaw {
    fn new(mean: f64, std: f64) -> Self {
        let ratio = std / mean;
        let r = ratio * ratio;
        let k = 2.0 * r / (1.0 + r);
        LogLaw { s2: r.ln_1p(), s2_mean: -k / mean, s2_std: k / std }
    }
}

/// ln(a / b), accurate when the two are close.
fn ln_ratio(a: f64, b: f64) -> f64 {
    let d = (a - b) / b;
    if d.abs() < 0.5 { d.ln_1p() } else { (a / b).ln() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences(f: impl Fn(f64, f64) -> Slopes, mean: f64, std: f64) {
        let h = 1e-6;
        let at = f(mean, std);
        let dm = (f(mean + h, std).value - f(mean - h, std).value) / (2.0 * h);
        let ds = (f(mean, std + h).value - f(mean, std - h).value) / (2.0 * h);
        assert!((at.mean - dm).abs() < 1e-8 * (1.0 + dm.abs()), "{} {dm}", at.mean);
        assert!((at.std - ds).abs() < 1e-8 * (1.0 + ds.abs()), "{} {ds}", at.std);
    }

    #[test]
    fn every_slope_is_the_slope_of_its_value() {
        for family in [Family::Normal, Family::LogNormal] {
            for (mean, std) in [(1.3, 0.4), (0.7, 1.9)] {
                for a in [0.2, 1.1, 3.0] {
                    differences(|m, s| family.log_density(a, m, s), mean, std);
                    differences(|m, s| family.cdf(a, m, s), mean, std);
                    let h = 1e-6;
                    let d = (family.log_density(a + h, mean, std).value - family.log_density(a - h, mean, std).value)
                        / (2.0 * h);
                    assert!((family.log_density_slope(a, mean, std) - d).abs() < 1e-7);
                }
                for z in [-1.5, 0.0, 0.8] {
                    differences(|m, s| family.at(z, m, s), mean, std);
                    // the action at position z has the probability of z below it
                    let below = 0.5 * erfc(-z / 2f64.sqrt());
                    assert!((family.cdf(family.at(z, mean, std).value, mean, std).value - below).abs() < 1e-12);
                }
                differences(|m, s| family.entropy(m, s), mean, std);
            }
        }
    }

    #[test]
    fn samples_have_the_mean_and_std_they_were_told() {
        use crate::rng::{Purpose, stream};
        let mut rng = stream(1, Purpose::Act, 0);
        for family in [Family::Normal, Family::LogNormal] {
            let n = 200_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..n {
                let a = family.sample(2.0, 0.7, &mut rng);
                sum += a;
                squares += a * a;
            }
            let mean = sum / n as f64;
            let std = (squares / n as f64 - mean * mean).sqrt();
            assert!((mean - 2.0).abs() < 4.0 * 0.7 / (n as f64).sqrt());
            assert!((std - 0.7).abs() < 0.01);
        }
    }
}
