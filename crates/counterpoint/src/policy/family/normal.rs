//! The normal family: any action, an entropy that does not depend on the row.

use super::{Column, Family, HALF_LN_2PI, Member, Seen, Support, bell, normal_cdf};
use crate::features::{ActionMap, Slopes};
use crate::math;
use crate::vector::{Elementary, load, splat, store, vectors};
use fearless_simd::{Simd, SimdFloat};

/// N(mean, std^2).
#[derive(Clone, Copy)]
pub(crate) struct Normal;

impl Member for Normal {
    fn support(self) -> Support {
        Support::Real
    }

    fn entropy_varies(self) -> bool {
        false
    }

    fn normalises(self) -> bool {
        true
    }

    fn seen(self, a: f64) -> Seen {
        Seen { action: a, constant: HALF_LN_2PI }
    }

    #[inline(always)]
    fn log_density(self, a: f64, mean: f64, std: f64) -> Slopes {
        let z = (a - mean) / std;
        Slopes { value: -0.5 * z * z - math::ln(std), mean: z / std, std: (z * z - 1.0) / std }
    }

    /// ln std + (1 + ln 2 pi)/2
    fn entropy(self, _mean: f64, std: f64) -> Slopes {
        Slopes { value: math::ln(std) + 0.5 + HALF_LN_2PI, mean: 0.0, std: 1.0 / std }
    }

    fn cdf(self, a: f64, mean: f64, std: f64) -> Slopes {
        let z = (a - mean) / std;
        Slopes { value: normal_cdf(z), mean: -bell(z) / std, std: -bell(z) * z / std }
    }

    fn at(self, z: f64, mean: f64, std: f64) -> Slopes {
        Slopes { value: mean + std * z, mean: 1.0, std: z }
    }

    fn log_density_slope(self, a: f64, mean: f64, std: f64) -> f64 {
        -(a - mean) / (std * std)
    }

    fn kernel(self, mean: f64, std: f64, z: f64, alpha: f64) -> Slopes {
        ActionMap::normal_kernel(mean, std, z, alpha)
    }

    fn has_normal_kernel(self) -> bool {
        true
    }

    #[inline(always)]
    fn strip<T: Elementary, S: Simd>(self, simd: S, column: &mut Column<T>) {
        let (inverse, log_std) = (splat::<T, S>(simd, column.std.inverse), splat::<T, S>(simd, column.std.log));
        let (one, half) = (splat::<T, S>(simd, T::ONE), splat::<T, S>(simd, T::of(-0.5)));
        let Column { a, mu, log_w, slopes: [mean, std], .. } = column;
        for i in 0..vectors::<T, S>() {
            let z = (load::<T, S>(simd, a, i) - load::<T, S>(simd, mu, i)) * inverse;
            let zz = z * z;
            store::<T, S>(zz.mul_add_precise(half, load::<T, S>(simd, log_w, i) - log_std), log_w, i);
            store::<T, S>(z * inverse, mean, i);
            store::<T, S>((zz - one) * inverse, std, i);
        }
    }
}

impl Family {
    /// How fast a density can change with its mean, sup |d pi / d mean| = 1 / (std^2 sqrt(2 pi e)) of the normal law; of others it depends on the
    /// mean, and nothing is said.
    pub fn steepest(self, std: f64) -> Option<f64> {
        match self {
            Family::Normal => Some(math::exp(-0.5 - HALF_LN_2PI) / (std * std)),
            _ => None,
        }
    }
}
