//! A kernel around an action, cut to the range of actions: the density of a rule with noise.
//!
//! ```text
//! pi(a) = K((c - a)/h) / (h Z(c)),   Z(c) = mass of the kernel around c inside [lo, hi],   lo <= a <= hi
//! ```
//!
//! With this density as a policy, the kernel estimators of Kallus & Zhou are importance weighting and nothing else; the
//! division by Z is their boundary correction. CATS is the uniform kernel.

use super::Family;
use super::target::Law;
use crate::error::{Error, Result};
use crate::math;
use crate::rng::StandardNormal;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

/// The shape K, a symmetric density.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kernel {
    /// The standard normal density.
    #[default]
    Gaussian,
    /// 3/4 (1 - u^2) on [-1, 1].
    Epanechnikov,
    /// 1/2 on [-1, 1].
    Uniform,
}

impl Kernel {
    /// ln K(u); minus infinity outside the support.
    pub fn log_density(self, u: f64) -> f64 {
        match self {
            Kernel::Gaussian => Family::Normal.log_density(u, 0.0, 1.0).value,
            Kernel::Epanechnikov if u.abs() < 1.0 => math::ln(0.75 * (1.0 - u * u)),
            Kernel::Uniform if u.abs() <= 1.0 => math::ln(0.5f64),
            _ => f64::NEG_INFINITY,
        }
    }

    /// K(u) and its slope.
    pub fn density(self, u: f64) -> (f64, f64) {
        let k = math::exp(self.log_density(u));
        match self {
            Kernel::Gaussian => (k, -u * k),
            Kernel::Epanechnikov if u.abs() < 1.0 => (k, -1.5 * u),
            _ => (k, 0.0),
        }
    }

    /// The mass below u.
    pub fn cdf(self, u: f64) -> f64 {
        let v = u.clamp(-1.0, 1.0);
        match self {
            Kernel::Gaussian => Family::Normal.cdf(u, 0.0, 1.0).value,
            Kernel::Epanechnikov => 0.5 + 0.75 * v - 0.25 * v * v * v,
            Kernel::Uniform => 0.5 + 0.5 * v,
        }
    }

    /// The integral of K^2.
    pub fn roughness(self) -> f64 {
        match self {
            Kernel::Gaussian => 0.5 / std::f64::consts::PI.sqrt(),
            Kernel::Epanechnikov => 0.6,
            Kernel::Uniform => 0.5,
        }
    }

    /// The second moment of K.
    pub fn variance(self) -> f64 {
        match self {
            Kernel::Gaussian => 1.0,
            Kernel::Epanechnikov => 0.2,
            Kernel::Uniform => 1.0 / 3.0,
        }
    }

    /// A draw from K.
    pub fn sample(self, rng: &mut (impl Rng + ?Sized)) -> f64 {
        let mut u = || 2.0 * rng.random::<f64>() - 1.0;
        match self {
            Kernel::Gaussian => rng.sample(StandardNormal),
            Kernel::Uniform => u(),
            Kernel::Epanechnikov => {
                // Devroye: of three uniforms the last, or the second where the last is the largest in size
                let (a, b, c) = (u(), u(), u());
                if c.abs() >= b.abs() && c.abs() >= a.abs() { b } else { c }
            }
        }
    }
}

/// A kernel with its width, and the range it is cut to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// The shape.
    pub kernel: Kernel,
    /// h: the standard deviation of the Gaussian, half the support of the others.
    pub width: f64,
    /// Where actions may lie; absent: anywhere.
    pub range: Option<[f64; 2]>,
}

/// Mass that a range keeps of a kernel is never taken as less: the centre lies inside, so less is rounding.
const MASS_FLOOR: f64 = 1e-12;

/// Noise wider than this many ranges would be drawn again and again until it falls inside.
const WIDEST: f64 = 1e3;

/// Refuses a range that is not two ascending numbers.
pub(super) fn check_range(range: Option<[f64; 2]>) -> Result<()> {
    match range {
        Some([lo, hi]) if !(lo.is_finite() && hi.is_finite() && lo < hi) => {
            Err(Error::policy(format!("[{lo}, {hi}] is not a range of actions"))
                .hint("are all actions the same? otherwise the policy file was changed: learn it again"))
        }
        _ => Ok(()),
    }
}

impl Noise {
    /// The normal law.
    pub fn normal(std: f64) -> Self {
        Noise { kernel: Kernel::Gaussian, width: std, range: None }
    }

    /// Refuses a width that is not positive, a range that is none, and noise that hardly ever meets its range.
    pub fn check(&self) -> Result<()> {
        if !(self.width.is_finite() && self.width > 0.0) {
            return Err(Error::policy(format!("the width of its noise is {} (must be > 0)", self.width)));
        }
        check_range(self.range)?;
        match self.range {
            Some([lo, hi]) if self.width > WIDEST * (hi - lo) => Err(Error::policy(format!(
                "the width {} of its noise is more than {WIDEST} times its range of actions",
                self.width
            ))),
            _ => Ok(()),
        }
    }

    /// The law around a centre where it has a closed form: the normal that is not cut, and the uniform.
    pub fn law(&self, c: f64) -> Option<Law> {
        let c = self.centre(c);
        match (self.kernel, self.range) {
            (Kernel::Gaussian, None) => {
                Some(Law::Family { family: Family::Normal, mean: vec![c], std: vec![self.width] })
            }
            (Kernel::Uniform, range) => {
                let [lo, hi] = range.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
                Some(Law::Steps { edges: vec![(c - self.width).max(lo), (c + self.width).min(hi)], masses: vec![1.0] })
            }
            _ => None,
        }
    }

    /// The probability of [low, high] around a centre.
    pub fn mass_between(&self, c: f64, low: f64, high: f64) -> f64 {
        let c = self.centre(c);
        let [lo, hi] = self.range.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
        let below = |a: f64| self.kernel.cdf((a.clamp(lo, hi) - c) / self.width);
        ((below(high) - below(low)) / self.mass(c).0).clamp(0.0, 1.0)
    }

    /// The centre, moved into the range.
    pub fn centre(&self, c: f64) -> f64 {
        self.range.map_or(c, |[lo, hi]| c.clamp(lo, hi))
    }

    /// Z(c) and its slope, for a centre inside the range.
    pub fn mass(&self, c: f64) -> (f64, f64) {
        let Some([lo, hi]) = self.range else { return (1.0, 0.0) };
        let (l, h) = ((lo - c) / self.width, (hi - c) / self.width);
        let mass = self.kernel.cdf(h) - self.kernel.cdf(l);
        let slope = (self.kernel.density(l).0 - self.kernel.density(h).0) / self.width;
        (mass.max(MASS_FLOOR), slope)
    }

    /// ln pi(a) around a centre.
    pub fn log_density(&self, c: f64, a: f64) -> f64 {
        let c = self.centre(c);
        if self.range.is_some_and(|[lo, hi]| a < lo || a > hi) {
            return f64::NEG_INFINITY;
        }
        self.kernel.log_density((c - a) / self.width) - math::ln(self.width) - math::ln(self.mass(c).0)
    }

    /// pi(a) around a centre and its slope in the centre; a centre outside the range has none.
    pub fn density(&self, c: f64, a: f64) -> (f64, f64) {
        let inside = self.centre(c);
        if self.range.is_some_and(|[lo, hi]| a < lo || a > hi) {
            return (0.0, 0.0);
        }
        let (k, dk) = self.kernel.density((inside - a) / self.width);
        if k == 0.0 {
            return (0.0, 0.0);
        }
        let (z, dz) = self.mass(inside);
        let slope = (dk / self.width - k * dz / z) / (self.width * z);
        (k / (self.width * z), if inside == c { slope } else { 0.0 })
    }

    /// An action around a centre.
    pub fn sample(&self, c: f64, rng: &mut (impl Rng + ?Sized)) -> f64 {
        let c = self.centre(c);
        if c.is_nan() {
            return c; // it lies in no range
        }
        loop {
            let a = c + self.width * self.kernel.sample(rng);
            if self.range.is_none_or(|[lo, hi]| (lo..=hi).contains(&a)) {
                return a;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    const ALL: [Kernel; 3] = [Kernel::Gaussian, Kernel::Epanechnikov, Kernel::Uniform];

    fn integral(from: f64, to: f64, f: impl Fn(f64) -> f64) -> f64 {
        let n = 20_000;
        let step = (to - from) / n as f64;
        (0..n).map(|i| f(from + (i as f64 + 0.5) * step)).sum::<f64>() * step
    }

    #[test]
    fn a_centre_that_is_no_number_has_no_draw() {
        let noise = Noise { kernel: Kernel::Gaussian, width: 0.3, range: Some([0.0, 1.0]) };
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        assert!(noise.sample(f64::NAN, &mut rng).is_nan());
        assert!((0.0..=1.0).contains(&noise.sample(f64::INFINITY, &mut rng)));
    }

    #[test]
    fn constants_are_the_integrals_they_name() {
        for k in ALL {
            let of = |f: fn(f64, f64) -> f64| integral(-8.0, 8.0, |u| f(u, k.density(u).0));
            assert!((of(|_, k| k) - 1.0).abs() < 1e-6, "{k:?}");
            assert!((of(|_, k| k * k) - k.roughness()).abs() < 1e-3, "{k:?}");
            assert!((of(|u, k| u * u * k) - k.variance()).abs() < 1e-3, "{k:?}");
            assert!((integral(-8.0, 0.3, |u| k.density(u).0) - k.cdf(0.3)).abs() < 1e-3, "{k:?}");
        }
    }

    /// Epanechnikov of width 1 at the edge of [0, 2]: half of it lies inside, so the density doubles there, and at the
    /// point a = 1/2 it is 2 * 3/4 * (1 - 1/4) = 9/8. Around 1/2 the mass is 1/2 + 3/8 - 1/32 = 27/32.
    #[test]
    fn boundary_correction_by_hand() {
        let noise = Noise { kernel: Kernel::Epanechnikov, width: 1.0, range: Some([0.0, 2.0]) };
        assert!((noise.density(0.0, 0.5).0 - 1.125).abs() < 1e-14);
        assert!((noise.mass(0.5).0 - 27.0 / 32.0).abs() < 1e-14);
        assert!((noise.density(0.5, 0.5).0 - 0.75 * 32.0 / 27.0).abs() < 1e-14);
        assert_eq!(noise.density(0.1, -0.1), (0.0, 0.0));
        // a uniform of half width 1 around 0.5, cut to [0, 2], is uniform on [0, 1.5]
        let noise = Noise { kernel: Kernel::Uniform, ..noise };
        assert!((noise.density(0.5, 1.4).0 - 1.0 / 1.5).abs() < 1e-14);
    }

    #[test]
    fn a_cut_kernel_is_a_density_and_its_slope_is_its_derivative() {
        for kernel in ALL {
            for c in [-0.5, 0.1, 0.9, 1.7] {
                let noise = Noise { kernel, width: 0.6, range: Some([0.0, 2.0]) };
                assert!((integral(0.0, 2.0, |a| noise.density(c, a).0) - 1.0).abs() < 1e-3, "{kernel:?} {c}");
                let a = noise.centre(c) + 0.23;
                let (k, slope) = noise.density(c, a);
                assert!((k.ln() - noise.log_density(c, a)).abs() < 1e-12);
                let e = 1e-6;
                let difference = (noise.density(c + e, a).0 - noise.density(c - e, a).0) / (2.0 * e);
                assert!((slope - difference).abs() < 1e-6, "{kernel:?} {c}: {slope} {difference}");
            }
        }
    }

    #[test]
    fn draws_follow_the_density() {
        let n = 40_000;
        for kernel in ALL {
            let noise = Noise { kernel, width: 0.8, range: Some([0.0, 2.0]) };
            let mut rng = ChaCha8Rng::seed_from_u64(3);
            let below = (0..n).filter(|_| noise.sample(0.3, &mut rng) < 0.4).count() as f64 / f64::from(n);
            let truth = integral(0.0, 0.4, |a| noise.density(0.3, a).0);
            assert!((below - truth).abs() < 4.5 * (truth * (1.0 - truth) / f64::from(n)).sqrt(), "{kernel:?}");
        }
    }
}
