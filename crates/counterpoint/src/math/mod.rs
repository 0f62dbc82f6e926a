//! Elementary functions that give the same bits on every machine.
//!
//! The standard library asks the C library of the system for exponentials, logarithms and their kin, and no two of those agree
//! in every last bit. Here they are pure Rust (`libm`, whose version is pinned), so that a policy fitted on one machine is
//! the policy fitted on another. Everything else in the house calls these; a test holds that wall. Roots, rounding and
//! fused multiply-adds need no home: their results are prescribed to the last bit. (Vectors have their own, in `vector`.)

mod laws;

pub(crate) use laws::{erfc, erfc_inv, ln_gamma, student, student_quantile};

/// e^x.
#[inline]
pub(crate) fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// 2^x.
pub(crate) fn exp2(x: f64) -> f64 {
    libm::exp2(x)
}

/// e^x - 1, accurate for small x.
#[inline]
pub(crate) fn exp_m1(x: f64) -> f64 {
    libm::expm1(x)
}

/// The natural logarithm.
#[inline]
pub(crate) fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// ln(1 + x), accurate for small x.
#[inline]
pub(crate) fn ln_1p(x: f64) -> f64 {
    libm::log1p(x)
}

/// The logarithm to base 2.
pub(crate) fn log2(x: f64) -> f64 {
    libm::log2(x)
}

/// The logarithm to base 10.
pub(crate) fn log10(x: f64) -> f64 {
    libm::log10(x)
}

/// x^y.
pub(crate) fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

/// x^n by repeated squaring, in the order of the bits of n; `f64::powi` promises no order.
#[inline]
pub(crate) fn powi(x: f64, n: i32) -> f64 {
    let (mut square, mut left, mut out) = (x, n.unsigned_abs(), 1.0);
    while left > 0 {
        if left & 1 == 1 {
            out *= square;
        }
        square *= square;
        left >>= 1;
    }
    if n < 0 { 1.0 / out } else { out }
}

/// The hyperbolic tangent.
#[inline]
pub(crate) fn tanh(x: f64) -> f64 {
    libm::tanh(x)
}

/// The sine.
#[cfg(any(test, feature = "simulate"))]
pub(crate) fn sin(x: f64) -> f64 {
    libm::sin(x)
}

/// The cosine.
#[cfg(any(test, feature = "simulate"))]
pub(crate) fn cos(x: f64) -> f64 {
    libm::cos(x)
}

/// Both.
#[cfg(feature = "simulate")]
pub(crate) fn sin_cos(x: f64) -> (f64, f64) {
    (sin(x), cos(x))
}

/// The root of x^2 + y^2, without overflow on the way.
#[inline]
pub(crate) fn hypot(x: f64, y: f64) -> f64 {
    libm::hypot(x, y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_follow_the_library() {
        for x in [0.3, -1.7, 2.0, 1e-3] {
            for n in -9..=20 {
                assert!((powi(x, n) / x.powi(n) - 1.0).abs() < 1e-14, "{x} {n}");
            }
        }
        assert_eq!(powi(0.0, 0), 1.0);
        assert_eq!(powi(10.0, i32::MIN), 0.0);
    }

    /// A change of version of what stands behind these must not go unseen: it changes fitted policies.
    #[test]
    fn the_bits_are_pinned() {
        let mut all = 0u64;
        for i in 0..2000 {
            let x = 0.01 + 0.0173 * f64::from(i);
            let of = [
                exp(-x),
                exp2(x),
                exp_m1(0.1 * x),
                ln(x),
                ln_1p(x),
                log2(x),
                log10(x),
                pow(x, 0.37),
                tanh(x),
                sin(x),
                cos(x),
                hypot(x, 1.0),
                erfc(0.2 * x),
                ln_gamma(x),
                erfc_inv(x / 40.0),
                student(x, 3.5 + x),
            ];
            for v in of {
                all = all.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ v.to_bits();
            }
        }
        assert_eq!(all, 0x7494_c675_0782_934e, "{all:#x}");
    }
}
