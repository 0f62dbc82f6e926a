//! Draws that are the same on every machine: standard normal, and Poisson.
//!
//! As in `rand_distr`, whose own depend on the C library of the system through exponentials and logarithms.

use crate::math;
use rand::distr::{Distribution, Open01};
use rand::{Rng, RngExt};
use std::sync::OnceLock;

/// N(0, 1), by the ziggurat of 256 boxes (Marsaglia and Tsang 2000, in the form of Doornik 2005).
#[derive(Clone, Copy, Debug)]
pub(crate) struct StandardNormal;

/// Where the lowest box ends, and the area of every box.
const END: f64 = 3.654_152_885_361_008_796;
const AREA: f64 = 0.004_928_673_233_99;
const BOXES: usize = 256;

/// Right ends of the boxes, and the density there.
struct Ziggurat {
    x: [f64; BOXES + 1],
    f: [f64; BOXES + 1],
}

fn density(x: f64) -> f64 {
    math::exp(-x * x / 2.0)
}

fn ziggurat() -> &'static Ziggurat {
    static BUILT: OnceLock<Ziggurat> = OnceLock::new();
    BUILT.get_or_init(|| {
        let mut x = [0.0; BOXES + 1];
        (x[0], x[1]) = (AREA / density(END), END);
        for i in 2..BOXES {
            x[i] = (-2.0 * math::ln(AREA / x[i - 1] + density(x[i - 1]))).sqrt();
        }
        Ziggurat { x, f: x.map(density) }
    })
}

impl Distribution<f64> for StandardNormal {
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        let Ziggurat { x: ends, f } = ziggurat();
        loop {
            // eight bits choose the box, 52 others the place in it, from -1 to 1
            let bits = rng.next_u64();
            let i = (bits & 0xff) as usize;
            let u = f64::from_bits((bits >> 12) | (1024 << 52)) - 3.0;
            let x = u * ends[i];
            if x.abs() < ends[i + 1] {
                return x;
            }
            if i == 0 {
                return tail(rng).copysign(u);
            }
            if f[i + 1] + (f[i] - f[i + 1]) * rng.random::<f64>() < density(x) {
                return x;
            }
        }
    }
}

/// Beyond the last box (Marsaglia 1964).
fn tail<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    loop {
        let (x, y): (f64, f64) = (rng.sample(Open01), rng.sample(Open01));
        let x = math::ln(x) / END;
        if -2.0 * math::ln(y) >= x * x {
            return END - x;
        }
    }
}

/// The Poisson law with this mean, which is positive.
pub(crate) struct Poisson {
    mean: f64,
    /// exp(-mean) below [`Poisson::SMALL`].
    none: f64,
}

impl Poisson {
    const SMALL: f64 = 12.0;
    /// Here the normal law with the same mean and variance is as good: its skewness is 1e-6.
    const LARGE: f64 = 1e12;

    /// None where the mean is not a positive number.
    pub(crate) fn new(mean: f64) -> Option<Self> {
        (mean > 0.0 && mean.is_finite()).then(|| Poisson { mean, none: math::exp(-mean) })
    }

    /// Hörmann's transformed rejection (PTRS, 1993).
    fn rejection<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        let b = 0.931 + 2.53 * self.mean.sqrt();
        let a = -0.059 + 0.02483 * b;
        let inverse = 1.1239 + 1.1328 / (b - 3.4);
        let sure = 0.9277 - 3.6224 / (b - 2.0);
        loop {
            let (u, v): (f64, f64) = (rng.random::<f64>() - 0.5, rng.sample(Open01));
            let us = 0.5 - u.abs();
            let k = ((2.0 * a / us + b) * u + self.mean + 0.43).floor();
            if us >= 0.07 && v <= sure {
                return k;
            }
            if k < 0.0 || (us < 0.013 && v > us) {
                continue;
            }
            let accept = math::ln(v * inverse / (a / (us * us) + b));
            if accept <= k * math::ln(self.mean) - self.mean - math::ln_gamma(k + 1.0) {
                return k;
            }
        }
    }
}

impl Distribution<f64> for Poisson {
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        if self.mean > Self::LARGE {
            return (self.mean + self.mean.sqrt() * rng.sample::<f64, _>(StandardNormal)).round();
        }
        if self.mean >= Self::SMALL {
            return self.rejection(rng);
        }
        // Knuth: uniform numbers are multiplied until the product is small
        let (mut count, mut p) = (0.0, rng.random::<f64>());
        while p > self.none {
            p *= rng.random::<f64>();
            count += 1.0;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, stream};

    #[test]
    fn normal_draws_are_those_of_another_library_but_for_rounding() {
        let (mut a, mut b) = (stream(5, Purpose::Start, 0), stream(5, Purpose::Start, 0));
        for i in 0..200_000 {
            let (own, other): (f64, f64) = (a.sample(StandardNormal), b.sample(rand_distr::StandardNormal));
            assert!((own - other).abs() < 1e-11, "{i}: {own} {other}");
        }
    }

    #[test]
    fn poisson_draws_have_its_mean_variance_and_third_moment() {
        for (k, mean) in [0.3, 2.5, 11.9, 12.0, 37.5, 1e3, 1e7, 1e13].into_iter().enumerate() {
            let (law, n) = (Poisson::new(mean).unwrap(), 100_000);
            let mut rng = stream(7, Purpose::Bootstrap, k as u64);
            let z: Vec<f64> = (0..n).map(|_| (law.sample(&mut rng) - mean) / mean.sqrt()).collect();
            let moment = |p: i32| z.iter().map(|z| z.powi(p)).sum::<f64>() / f64::from(n);
            let root = f64::from(n).sqrt();
            assert!(moment(1).abs() < 5.0 / root, "{mean}: mean off by {}", moment(1));
            let bound = 5.0 * (2.0 + 1.0 / mean).sqrt() / root;
            assert!((moment(2) - 1.0).abs() < bound, "{mean}: variance {}", moment(2));
            // the variance of z^3 is 15 for a normal law, and more for a skewed one
            let bound = 5.0 * (15.0 + 70.0 / mean + 100.0 / (mean * mean)).sqrt() / root;
            assert!((moment(3) - 1.0 / mean.sqrt()).abs() < bound, "{mean}: third moment {}", moment(3));
        }
        assert!(Poisson::new(0.0).is_none() && Poisson::new(f64::NAN).is_none() && Poisson::new(-1.0).is_none());
    }
}
