//! Laws of probability: the normal one and its inverse, and Student's.

use super::{exp, ln, ln_1p};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI};

/// 1 - erf(x).
pub(crate) fn erfc(x: f64) -> f64 {
    libm::erfc(x)
}

/// ln Gamma(x) for x > 0.
pub(crate) fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// x with erfc(x) = p: a rational start (Abramowitz and Stegun 26.2.23, error 4.5e-4), then three steps of Halley's method.
pub(crate) fn erfc_inv(p: f64) -> f64 {
    if p > 1.0 {
        return -erfc_inv(2.0 - p);
    }
    if p <= 0.0 {
        return if p == 0.0 { f64::INFINITY } else { f64::NAN };
    }
    let t = (-2.0 * ln(0.5 * p)).sqrt();
    let above = 2.515517 + t * (0.802853 + t * 0.010328);
    let below = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308));
    let mut x = (t - above / below) * FRAC_1_SQRT_2;
    for _ in 0..3 {
        // relative to p, so that the smallest tails keep their digits
        let off = (erfc(x) - p) / p;
        x += off / (FRAC_2_SQRT_PI * exp(-x * x) / p - x * off);
    }
    x
}

/// How likely Student's law with these degrees of freedom lies below t.
pub(crate) fn student(t: f64, freedom: f64) -> f64 {
    let tail = student_tail(t.abs(), freedom);
    if t < 0.0 { tail } else { 1.0 - tail }
}

/// How likely it lies above t >= 0: half the regularised incomplete beta function I_x(v/2, 1/2) at x = v / (v + t^2).
fn student_tail(t: f64, freedom: f64) -> f64 {
    let (a, tt) = (0.5 * freedom, t * t);
    let (x, y) = (freedom / (freedom + tt), tt / (freedom + tt));
    // x^a y^(1/2) / B(a, 1/2), with ln x = -ln(1 + t^2/v)
    let front = exp(gamma_ratio(a) - a * ln_1p(tt / freedom)) * (y / PI).sqrt();
    if x < (a + 1.0) / (a + 2.5) {
        0.5 * front / a * fraction(a, 0.5, x)
    } else {
        0.5 * (1.0 - 2.0 * front * fraction(0.5, a, y))
    }
}

/// ln(Gamma(a + 1/2) / Gamma(a)); large ones would cancel, so they have the series in 1/a.
fn gamma_ratio(a: f64) -> f64 {
    if a < 30.0 {
        return ln_gamma(a + 0.5) - ln_gamma(a);
    }
    let (r, rr) = (1.0 / a, 1.0 / (a * a));
    0.5 * ln(a) - r * (1.0 / 8.0 - rr * (1.0 / 192.0 - rr * (1.0 / 640.0 - rr * 17.0 / 14336.0)))
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let safe = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / safe(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    for m in 1..100_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / safe(1.0 + even * d);
        c = safe(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / safe(1.0 + odd * d);
        c = safe(1.0 + odd / c);
        h *= d * c;
        if (d * c - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    h
}

/// The point above which Student's law leaves `tail` (at most one half): Newton's method between bounds.
pub(crate) fn student_quantile(tail: f64, freedom: f64) -> f64 {
    let log_top = gamma_ratio(0.5 * freedom) - 0.5 * ln(freedom * PI);
    let density = |t: f64| exp(log_top - 0.5 * (freedom + 1.0) * ln_1p(t * t / freedom));
    let (mut low, mut high) = (0.0, 1.0);
    while student_tail(high, freedom) > tail && high < 1e300 {
        (low, high) = (high, 2.0 * high);
    }
    let mut t = 0.5 * (low + high);
    for _ in 0..200 {
        let off = student_tail(t, freedom) - tail;
        if off > 0.0 {
            low = t
        } else {
            high = t
        }
        let newton = t + off / density(t);
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - t).abs() <= 2.0 * f64::EPSILON * t {
            return next;
        }
        t = next;
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{ContinuousCDF, StudentsT};
    #[test]
    fn the_inverse_inverts() {
        for p in [1e-300, 1e-40, 1e-9, 0.003, 0.2, 0.9999, 1.0, 1.3, 1.999] {
            assert!((erfc(erfc_inv(p)) / p - 1.0).abs() < 1e-12, "{p}");
            let other = statrs::function::erf::erfc_inv(p);
            assert!((erfc_inv(p) - other).abs() <= 1e-9 * other.abs().max(1e-6), "{p}");
        }
        assert_eq!((erfc_inv(0.0), erfc_inv(2.0)), (f64::INFINITY, f64::NEG_INFINITY));
        // the normal quantile of 0.975
        assert!((std::f64::consts::SQRT_2 * erfc_inv(0.05) - 1.959_963_984_540_054).abs() < 1e-14);
    }

    /// Cauchy's law and that of two degrees have closed forms; others are held to another library, large ones to the normal.
    #[test]
    fn student_is_known_where_it_is() {
        for t in [-40.0, -2.0f64, -0.1, 0.0, 0.5, 3.0, 700.0] {
            assert!((student(t, 1.0) - (0.5 + t.atan() / PI)).abs() < 1e-14);
            assert!((student(t, 2.0) - (0.5 + t / (2.0 * (2.0 + t * t).sqrt()))).abs() < 1e-14);
            for freedom in [1.3, 4.0, 17.5, 59.0, 61.0, 400.0, 3e4] {
                let other = StudentsT::new(0.0, 1.0, freedom).unwrap().cdf(t);
                assert!((student(t, freedom) - other).abs() < 1e-9, "{t} {freedom}");
            }
            let far = student(t, 999_999.0) - 0.5 * erfc(-t * FRAC_1_SQRT_2);
            assert!(far.abs() < 1e-6, "{far:e}");
        }
        for freedom in [1.0, 2.0, 3.3, 12.0, 200.0, 9e5] {
            for tail in [0.49, 0.1, 0.025, 1e-4, 1e-9] {
                let t = student_quantile(tail, freedom);
                assert!((student_tail(t, freedom) / tail - 1.0).abs() < 1e-9, "{tail} {freedom}");
            }
        }
        // tables: the 0.975 quantile with 10 degrees of freedom
        assert!((student_quantile(0.025, 10.0) - 2.228_138_851_986_274).abs() < 1e-12);
    }
}
