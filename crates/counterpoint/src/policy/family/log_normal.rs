//! The log-normal family: positive actions whose logarithm is normal.
//!
//! Told its mean and std on the action's own scale, so
//!
//! ```text
//! s^2 = ln(1 + std^2/mean^2),   m = ln mean - s^2/2,   ln a ~ N(m, s^2)
//! ```

use super::{Column, HALF_LN_2PI, Member, Seen, Support, bell, ln_ratio, normal_cdf};
use crate::features::Slopes;
use crate::math;
use crate::vector::math::{ln, ln_1p};
use crate::vector::{Elementary, load, splat, store, vectors};
use fearless_simd::{Simd, SimdFloat};

/// The constant of the entropy.
const C: f64 = 0.5 + HALF_LN_2PI;

/// The log-normal law with this mean and std.
#[derive(Clone, Copy)]
pub(crate) struct LogNormal;

/// s^2 and its slopes.
struct Width {
    s2: f64,
    mean: f64,
    std: f64,
}

impl Width {
    #[inline(always)]
    fn new(mean: f64, std: f64) -> Self {
        let ratio = std / mean;
        let r = ratio * ratio;
        let k = 2.0 * r / (1.0 + r);
        Width { s2: math::ln_1p(r), mean: -k / mean, std: k / std }
    }
}

/// ln of the density of ln a, but for its constant, from ln(a / mean). With z = ln(a/mean) + s^2/2:
///
/// ```text
/// -z^2 / (2 s^2) - ln s
/// ```
#[inline(always)]
fn law(log_ratio: f64, mean: f64, std: f64) -> Slopes {
    let l = Width::new(mean, std);
    let z = log_ratio + 0.5 * l.s2;
    let (dz, ds2) = (-z / l.s2, 0.5 * (z * z / l.s2 - 1.0) / l.s2);
    Slopes {
        value: -0.5 * z * z / l.s2 - 0.5 * math::ln(l.s2),
        mean: dz * (-1.0 / mean + 0.5 * l.mean) + ds2 * l.mean,
        std: (0.5 * dz + ds2) * l.std,
    }
}

impl Member for LogNormal {
    fn support(self) -> Support {
        Support::Positive
    }

    fn entropy_varies(self) -> bool {
        true
    }

    fn normalises(self) -> bool {
        true
    }

    fn seen(self, a: f64) -> Seen {
        Seen { action: math::ln(a), constant: HALF_LN_2PI + math::ln(a) }
    }

    #[inline(always)]
    fn log_density(self, log_a: f64, mean: f64, std: f64) -> Slopes {
        law(log_a - math::ln(mean), mean, std)
    }

    fn full_log_density(self, a: f64, mean: f64, std: f64) -> Slopes {
        let p = law(ln_ratio(a, mean), mean, std);
        Slopes { value: p.value - math::ln(a) - HALF_LN_2PI, ..p }
    }

    /// m + ln s + (1 + ln 2 pi)/2
    #[inline(always)]
    fn entropy(self, mean: f64, std: f64) -> Slopes {
        let l = Width::new(mean, std);
        let d = 0.5 / l.s2 - 0.5;
        Slopes {
            value: math::ln(mean) - 0.5 * l.s2 + 0.5 * math::ln(l.s2) + C,
            mean: 1.0 / mean + d * l.mean,
            std: d * l.std,
        }
    }

    fn cdf(self, a: f64, mean: f64, std: f64) -> Slopes {
        let l = Width::new(mean, std);
        let s = l.s2.sqrt();
        let t = (ln_ratio(a, mean) + 0.5 * l.s2) / s;
        // t = ln(a/mean)/s + s/2, and ds/ds2 = 1/(2 s)
        let dt_s2 = 0.5 / s - 0.5 * t / l.s2;
        Slopes {
            value: normal_cdf(t),
            mean: bell(t) * (-1.0 / (mean * s) + dt_s2 * l.mean),
            std: bell(t) * dt_s2 * l.std,
        }
    }

    fn at(self, z: f64, mean: f64, std: f64) -> Slopes {
        let l = Width::new(mean, std);
        let s = l.s2.sqrt();
        let a = math::exp(math::ln(mean) - 0.5 * l.s2 + s * z);
        let d = 0.5 * z / s - 0.5;
        Slopes { value: a, mean: a * (1.0 / mean + d * l.mean), std: a * d * l.std }
    }

    fn log_density_slope(self, a: f64, mean: f64, std: f64) -> f64 {
        let s2 = Width::new(mean, std).s2;
        -((ln_ratio(a, mean) + 0.5 * s2) / s2 + 1.0) / a
    }

    /// By the trapezoid rule along the policy, with a step that is known in advance. For Gaussian-weighted entire functions
    /// the rule converges exponentially, and unlike the nodes of Gauss and Hermite its step can follow the kernel's width.
    fn kernel(self, mean: f64, std: f64, z: f64, alpha: f64) -> Slopes {
        /// The normal density is below 1e-16 beyond.
        const REACH: f64 = 8.5;
        // In the coordinate t, a = exp(m + s t). The kernel reaches up to a = z + 4 / sqrt(alpha), and is narrowest there:
        // its width in t is 1 / (s a sqrt(alpha)). Steps of 0.7 of that leave errors below 1e-13.
        let s = Width::new(mean, std).s2.sqrt();
        let step = 0.7 / (1.0 + math::powi(s * (alpha.sqrt() * z.max(0.0) + 4.0), 2)).sqrt();
        let k = (REACH / step).ceil().min(4000.0) as i32;
        let h = REACH / f64::from(k);
        let mut out = Slopes::default();
        self.along(h, k, (mean, std), &mut |t, a| {
            let d = a.value - z;
            let exponent = -0.5 * (t * t + alpha * d * d) - HALF_LN_2PI;
            if exponent > -60.0 {
                let v = h * math::exp(exponent);
                out.value += v;
                out.mean -= v * alpha * d * a.mean;
                out.std -= v * alpha * d * a.std;
            }
        });
        out
    }

    /// Density and entropy together: they share both logarithms.
    #[inline(always)]
    fn strip<T: Elementary, S: Simd>(self, simd: S, column: &mut Column<T>) {
        let (inverse_std, std) = (splat::<T, S>(simd, column.std.inverse), splat::<T, S>(simd, column.std.value));
        let (one, half, c) =
            (splat::<T, S>(simd, T::ONE), splat::<T, S>(simd, T::of(0.5)), splat::<T, S>(simd, T::of(C)));
        let Column { a, mu, log_w, slopes, h, h_slopes, .. } = column;
        for i in 0..vectors::<T, S>() {
            let mu = load::<T, S>(simd, mu, i);
            let inverse = one / mu;
            let ratio = std * inverse;
            let r = ratio * ratio;
            let s2 = ln_1p::<T, S>(simd, r);
            let k = (r + r) / (one + r);
            let (s2_mean, s2_std) = (-(k * inverse), k * inverse_std);
            let log_mu = ln::<T, S>(simd, mu);
            let half_log_s2 = half * ln::<T, S>(simd, s2);
            let z = s2.mul_add_precise(half, load::<T, S>(simd, a, i) - log_mu);
            let inv_s2 = one / s2;
            let zs = z * inv_s2;
            let ds2 = (z * zs - one) * inv_s2 * half;
            store::<T, S>(load::<T, S>(simd, log_w, i) - (half * z).mul_add_precise(zs, half_log_s2), log_w, i);
            store::<T, S>(ds2 * s2_mean - zs * (half * s2_mean - inverse), slopes[0], i);
            store::<T, S>((ds2 - half * zs) * s2_std, slopes[1], i);
            let d = half * inv_s2 - half;
            store::<T, S>(load::<T, S>(simd, h, i) + (log_mu - half * s2 + half_log_s2 + c), h, i);
            store::<T, S>(inverse + d * s2_mean, h_slopes[0], i);
            store::<T, S>(d * s2_std, h_slopes[1], i);
        }
    }
}
