//! Exponentials and logarithms in vector registers, for both precisions.
//!
//! exp: x = n ln 2 + r with |r| <= ln(2)/2, a minimax polynomial for exp(r) (relative error 1.2e-15 in f64, 1e-8 in f32),
//! and n added to the exponent field. ln: x = m 2^e with m in [sqrt(1/2), sqrt 2), ln m = 2 artanh((m-1)/(m+1)).

use super::Real;
use fearless_simd::{Select, Simd, SimdBase, SimdFloat, SimdFloatElement, f32x16, f64x8};

/// The vector of a scalar type at an instruction set.
pub(crate) type V<T, S> = <T as SimdFloatElement>::Native<S>;
type Bits<T, S> = <V<T, S> as SimdFloat<S>>::Bits;

/// Constants of the two precisions.
pub(crate) trait Elementary: Real {
    /// Coefficients of r^2, r^3, .. in exp(r) = 1 + r + ..
    const EXP: &'static [Self];
    /// 1/3, 1/5, .. in artanh(s) = s + s^3/3 + ..
    const ARTANH: &'static [Self];
    const LOG2_E: Self;
    const LN_2_HIGH: Self;
    const LN_2_LOW: Self;
    const LN_2: Self;
    /// 1.5 times two to the mantissa bits: adding it rounds to an integer that sits in the low bits.
    const ROUND: Self;
    /// Two to the mantissa bits, and its bit pattern, for turning small integers into floats.
    const WHOLE: Self;
    const WHOLE_BITS: Self::Bits;
    const MANTISSA_BITS: u32;
    const MANTISSA: Self::Bits;
    /// Bits of sqrt(1/2), where the mantissa is cut.
    const ROOT_HALF: Self::Bits;
    const ONE_EXPONENT: Self::Bits;
    /// exp is 0 below and infinite above.
    const LOWEST: Self;
    const HIGHEST: Self;
    const BIAS: Self;
    /// The sum of a virtual vector's numbers, in an order that no machine changes.
    fn total<S: Simd>(simd: S, v: &[Self]) -> Self;
}

impl Elementary for f64 {
    const EXP: &'static [f64] = &[
        0.5,
        0.166666666666482881,
        0.041666666666651355,
        0.00833333335372939715,
        0.00138888889058815425,
        0.000198412087325363831,
        0.0000248015363886907678,
        2.76251155782876293e-6,
        2.76138068615382881e-7,
    ];
    const ARTANH: &'static [f64] = &[
        1.0 / 3.0,
        1.0 / 5.0,
        1.0 / 7.0,
        1.0 / 9.0,
        1.0 / 11.0,
        1.0 / 13.0,
        1.0 / 15.0,
        1.0 / 17.0,
        1.0 / 19.0,
        1.0 / 21.0,
    ];
    const LOG2_E: f64 = std::f64::consts::LOG2_E;
    const LN_2_HIGH: f64 = 0.693147180369123816490;
    const LN_2_LOW: f64 = 1.90821492927058770002e-10;
    const LN_2: f64 = std::f64::consts::LN_2;
    const ROUND: f64 = 6755399441055744.0;
    const WHOLE: f64 = 4503599627370496.0;
    const WHOLE_BITS: u64 = 0x4330_0000_0000_0000;
    const MANTISSA_BITS: u32 = 52;
    const MANTISSA: u64 = (1 << 52) - 1;
    const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    const ONE_EXPONENT: u64 = 0x3ff0_0000_0000_0000;
    const LOWEST: f64 = -708.0;
    const HIGHEST: f64 = 709.0;
    const BIAS: f64 = 1023.0;
    #[inline(always)]
    fn total<S: Simd>(simd: S, v: &[f64]) -> f64 {
        f64x8::from_slice(simd, v).reduce_sum()
    }
}

impl Elementary for f32 {
    const EXP: &'static [f32] =
        &[0.5, 0.166665769896987757, 0.0416665546172045742, 0.00836317905272257737, 0.00139261835877134945];
    const ARTANH: &'static [f32] = &[1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0, 1.0 / 9.0];
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    const LN_2_HIGH: f32 = 0.693359375;
    const LN_2_LOW: f32 = -2.12194440e-4;
    const LN_2: f32 = std::f32::consts::LN_2;
    const ROUND: f32 = 12582912.0;
    const WHOLE: f32 = 8388608.0;
    const WHOLE_BITS: u32 = 0x4b00_0000;
    const MANTISSA_BITS: u32 = 23;
    const MANTISSA: u32 = (1 << 23) - 1;
    const ROOT_HALF: u32 = 0x3f35_04f3;
    const ONE_EXPONENT: u32 = 0x3f80_0000;
    const LOWEST: f32 = -87.0;
    const HIGHEST: f32 = 88.0;
    const BIAS: f32 = 127.0;
    #[inline(always)]
    fn total<S: Simd>(simd: S, v: &[f32]) -> f32 {
        f32x16::from_slice(simd, v).reduce_sum()
    }
}

#[inline(always)]
pub(crate) fn splat<T: Elementary, S: Simd>(simd: S, v: T) -> V<T, S> {
    V::<T, S>::splat(simd, v)
}

/// The larger of the two, and b where they are not ordered: without the freedom that `max` leaves to machines.
#[inline(always)]
pub(crate) fn at_least<T: Elementary, S: Simd>(a: V<T, S>, b: V<T, S>) -> V<T, S> {
    a.simd_gt(b).select(a, b)
}

/// The smaller of the two, and b where they are not ordered.
#[inline(always)]
pub(crate) fn at_most<T: Elementary, S: Simd>(a: V<T, S>, b: V<T, S>) -> V<T, S> {
    a.simd_lt(b).select(a, b)
}

/// exp(x) for x <= 0, as the soft minimum needs it: no range check above; below the range a tiny positive number.
#[inline(always)]
pub(crate) fn exp_negative<T: Elementary, S: Simd>(simd: S, x: V<T, S>) -> V<T, S> {
    let x = at_least::<T, S>(x, splat::<T, S>(simd, T::LOWEST));
    let t = x.mul_add_precise(splat::<T, S>(simd, T::LOG2_E), splat::<T, S>(simd, T::ROUND));
    let n = t - splat::<T, S>(simd, T::ROUND);
    let r = n.mul_add_precise(splat::<T, S>(simd, -T::LN_2), x);
    scaled::<T, S>(simd, r, t)
}

/// exp of J vectors, each within the range. Even and odd powers of r are summed apart, so 2 J chains run side by side.
///
/// `powers` is [`powers`]; it is handed in, not known here, so that the loop over it stays a loop: unrolled, the compiler
/// puts one chain after the other, and the processor waits for each.
#[inline(always)]
pub(crate) fn exp_near<const J: usize, T: Elementary, S: Simd>(
    simd: S,
    powers: &[[T; 2]],
    x: [V<T, S>; J],
) -> [V<T, S>; J] {
    let s = |v: T| splat::<T, S>(simd, v);
    let last = T::EXP.len() - 1;
    let (mut t, mut r, mut rr, mut even) = (x, x, x, x);
    let mut odd = [s(T::EXP[last - 1]); J];
    for j in 0..J {
        t[j] = x[j].mul_add_precise(s(T::LOG2_E), s(T::ROUND));
        r[j] = (t[j] - s(T::ROUND)).mul_add_precise(s(-T::LN_2), x[j]);
        rr[j] = r[j] * r[j];
        even[j] = rr[j].mul_add_precise(s(T::EXP[last]), s(T::EXP[last - 2]));
    }
    for [c, d] in powers {
        let (c, d) = (s(*c), s(*d));
        for j in 0..J {
            odd[j] = odd[j].mul_add_precise(rr[j], c);
            even[j] = even[j].mul_add_precise(rr[j], d);
        }
    }
    for j in 0..J {
        let n: Bits<T, S> = t[j].to_bits() << T::MANTISSA_BITS;
        even[j] = V::<T, S>::from_bits(odd[j].mul_add_precise(r[j], even[j]).to_bits() + n);
    }
    even
}

/// The coefficients [`exp_near`] takes two at a time: of r^(2i+1) and r^(2i), down to 1 and 1.
pub(crate) fn powers<T: Elementary>() -> Vec<[T; 2]> {
    let mut all = vec![T::ONE, T::ONE];
    all.extend_from_slice(T::EXP);
    all[..all.len() - 3].chunks_exact(2).rev().map(|c| [c[1], c[0]]).collect()
}

/// exp(x): 0 below the range, infinite above it.
#[inline(always)]
pub(crate) fn exp<T: Elementary, S: Simd>(simd: S, x: V<T, S>) -> V<T, S> {
    let (low, high) = (splat::<T, S>(simd, T::LOWEST), splat::<T, S>(simd, T::HIGHEST));
    let inside = at_most::<T, S>(at_least::<T, S>(x, low), high);
    let t = inside.mul_add_precise(splat::<T, S>(simd, T::LOG2_E), splat::<T, S>(simd, T::ROUND));
    let n = t - splat::<T, S>(simd, T::ROUND);
    let r = n.mul_add_precise(splat::<T, S>(simd, -T::LN_2_HIGH), inside);
    let r = n.mul_add_precise(splat::<T, S>(simd, -T::LN_2_LOW), r);
    let e = scaled::<T, S>(simd, r, t);
    let e = x.simd_lt(low).select(splat::<T, S>(simd, T::ZERO), e);
    x.simd_gt(high).select(splat::<T, S>(simd, T::of(f64::INFINITY)), e)
}

/// 2^n exp(r), with n in the low bits of t.
#[inline(always)]
fn scaled<T: Elementary, S: Simd>(simd: S, r: V<T, S>, t: V<T, S>) -> V<T, S> {
    let mut p = splat::<T, S>(simd, T::EXP[T::EXP.len() - 1]);
    for c in T::EXP.iter().rev().skip(1) {
        p = p.mul_add_precise(r, splat::<T, S>(simd, *c));
    }
    p = p.mul_add_precise(r, splat::<T, S>(simd, T::ONE));
    p = p.mul_add_precise(r, splat::<T, S>(simd, T::ONE));
    let n: Bits<T, S> = t.to_bits() << T::MANTISSA_BITS;
    V::<T, S>::from_bits(p.to_bits() + n)
}

/// ln(x) for normal positive x.
#[inline(always)]
pub(crate) fn ln<T: Elementary, S: Simd>(simd: S, x: V<T, S>) -> V<T, S> {
    let bits = x.to_bits();
    // shift so that the cut is at sqrt(1/2): then the exponent field is e + bias, the mantissa that of m
    let shifted = bits + Bits::<T, S>::splat(simd, T::ONE_EXPONENT) - Bits::<T, S>::splat(simd, T::ROOT_HALF);
    let e = V::<T, S>::from_bits((shifted >> T::MANTISSA_BITS) | Bits::<T, S>::splat(simd, T::WHOLE_BITS))
        - splat::<T, S>(simd, T::WHOLE)
        - splat::<T, S>(simd, T::BIAS);
    let m = V::<T, S>::from_bits(
        (shifted & Bits::<T, S>::splat(simd, T::MANTISSA)) + Bits::<T, S>::splat(simd, T::ROOT_HALF),
    );
    let one = splat::<T, S>(simd, T::ONE);
    let s = (m - one) / (m + one);
    let z = s * s;
    let mut p = splat::<T, S>(simd, T::ARTANH[T::ARTANH.len() - 1]);
    for c in T::ARTANH.iter().rev().skip(1) {
        p = p.mul_add_precise(z, splat::<T, S>(simd, *c));
    }
    let s2 = s + s;
    let tail = (p * z).mul_add_precise(s2, s2);
    e.mul_add_precise(splat::<T, S>(simd, T::LN_2), tail)
}

/// ln(1 + x) for x >= 0, accurate for small x (Kahan's correction).
#[inline(always)]
pub(crate) fn ln_1p<T: Elementary, S: Simd>(simd: S, x: V<T, S>) -> V<T, S> {
    let one = splat::<T, S>(simd, T::ONE);
    let u = one + x;
    let d = u - one;
    let tiny = d.simd_eq(splat::<T, S>(simd, T::ZERO));
    let safe = tiny.select(one, d);
    tiny.select(x, ln::<T, S>(simd, u) * (x / safe))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::dispatch;
    use fearless_simd::Level;

    #[inline(always)]
    fn apply<T: Elementary, S: Simd>(simd: S, which: u8, x: &[T], out: &mut [T]) {
        let n = V::<T, S>::LEN;
        for (x, out) in x.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
            let v = V::<T, S>::from_slice(simd, x);
            let r = match which {
                0 => exp::<T, S>(simd, v),
                1 => ln::<T, S>(simd, v),
                2 => exp_negative::<T, S>(simd, v),
                3 => exp_near::<1, T, S>(simd, &powers(), [v])[0],
                _ => ln_1p::<T, S>(simd, v),
            };
            r.store_slice(out);
        }
    }

    /// The largest relative error, less `slope` times |x|: what a last-bit error of x itself would do to exp(x).
    fn worst<T: Elementary>(level: Level, which: u8, xs: &[f64], truth: fn(f64) -> f64, slope: f64) -> f64 {
        let x: Vec<T> = xs.iter().map(|v| T::of(*v)).collect();
        let mut out = vec![T::ZERO; x.len()];
        dispatch!(level, simd => apply(simd, which, &x, &mut out));
        x.iter().zip(&out).fold(0.0, |m, (x, got)| {
            let t = truth(x.f64());
            m.max((got.f64() - t).abs() / t.abs().max(1e-290) - slope * x.f64().abs())
        })
    }

    fn grid(low: f64, high: f64) -> Vec<f64> {
        (0..6400).map(|i| low + (high - low) * (f64::from(i) + 0.37) / 6400.0).collect()
    }

    #[test]
    fn vector_functions_follow_the_library() {
        for level in crate::vector::Instructions::all().iter().map(|i| i.during(crate::vector::level)) {
            assert!(worst::<f64>(level, 0, &grid(-700.0, 700.0), f64::exp, 0.0) < 3e-15);
            for which in [2, 3] {
                assert!(worst::<f64>(level, which, &grid(-30.0, 0.0), f64::exp, f64::EPSILON) < 2e-15);
                assert!(worst::<f32>(level, which, &grid(-30.0, 0.0), f64::exp, f32::EPSILON.into()) < 2e-7);
            }
            assert!(worst::<f64>(level, 3, &grid(-350.0, 350.0), f64::exp, f64::EPSILON) < 2e-15);
            assert!(worst::<f32>(level, 0, &grid(-80.0, 80.0), f64::exp, 0.0) < 3e-7);
            let logs: Vec<f64> = grid(-60.0, 60.0).iter().map(|x| x.exp()).collect();
            assert!(worst::<f64>(level, 1, &logs, f64::ln, 0.0) < 1e-15);
            assert!(worst::<f32>(level, 1, &logs, f64::ln, 0.0) < 3e-7);
            assert!(worst::<f64>(level, 4, &logs, f64::ln_1p, 0.0) < 1e-15);
        }
    }

    #[test]
    fn every_level_gives_the_same_bits() {
        fn all<T: Elementary>(xs: &[f64]) {
            let x: Vec<T> = xs.iter().map(|v| T::of(*v)).collect();
            for which in 0..5 {
                let at = |level: Level| -> Vec<u64> {
                    let mut out = vec![T::ZERO; x.len()];
                    dispatch!(level, simd => apply(simd, which, &x, &mut out));
                    out.iter().map(|v| v.f64().to_bits()).collect()
                };
                let best = at(Level::new());
                for instructions in crate::vector::Instructions::all() {
                    assert!(at(instructions.during(crate::vector::level)) == best, "{which} {}", instructions.name());
                }
            }
        }
        // in the range of all of them, from tiny to large; negative numbers have no logarithm and are none of its business
        let mut x: Vec<f64> = grid(-80.0, 80.0);
        x.extend(grid(-1e-6, 1e-6));
        all::<f64>(&x);
        all::<f32>(&x);
    }

    #[test]
    fn ends_of_the_range() {
        let x = [
            -1e300,
            -800.0,
            0.0,
            800.0,
            f64::NEG_INFINITY,
            f64::INFINITY,
            1e-300,
            -1e-300,
            1.0,
            -1.0,
            2.0,
            3.0,
            4.0,
            5.0,
            6.0,
            7.0,
        ];
        let mut out = [0.0; 16];
        dispatch!(Level::new(), simd => apply::<f64, _>(simd, 0, &x, &mut out));
        assert_eq!(out[..6], [0.0, 0.0, 1.0, f64::INFINITY, 0.0, f64::INFINITY]);
    }
}
