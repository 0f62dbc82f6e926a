//! The row stage in vectors, for plain forms: from means to weights, terms, sums and slopes.
//!
//! Three short loops over the strip rather than one long one: log weights, weights, terms. Each has few steps that wait
//! for each other, so that the processor works on several vectors at once.

use super::{Coefficients, Lane, Lanes, STRIP, Scratch, load, store};
use crate::estimate::{Normalise, Weight};
use crate::folds::risk::Risk;
use crate::folds::risk::math::{V, exp, ln, ln_1p, splat};
use crate::folds::risk::truth::LOG_RANGE;
use crate::policy::Family;
use fearless_simd::{Select, Simd, SimdBase, SimdFloat, SimdMask};

/// Sums kept here: t, v, tt, tv, vv, ty, h.
pub(super) const SUMS: usize = 7;
/// The graded sum whose slopes are those of the entropy.
const ENTROPY: usize = 9;

/// Slopes of something in the means and the stds, q lanes each.
pub(super) struct Slopes<T> {
    pub(super) mean: Vec<Lane<T>>,
    pub(super) std: Vec<Lane<T>>,
}

impl<T> Default for Slopes<T> {
    fn default() -> Self {
        Slopes { mean: Vec::new(), std: Vec::new() }
    }
}

/// One strip; false if a weight left the range in which plain sums are safe.
#[inline(never)]
pub(super) fn rows<T: Lanes, S: Simd>(
    simd: S,
    risk: &Risk,
    theta: &Coefficients<T>,
    strip: &[Lane<T>],
    scratch: &mut Scratch<T>,
) -> bool {
    let layout = risk.layout;
    let (omega, y) = (&strip[layout.omega()], &strip[layout.cost()]);
    simd.vectorize(
        #[inline(always)]
        || {
            for i in 0..STRIP / V::<T, S>::LEN {
                store::<T, S>(-load::<T, S>(simd, &strip[layout.log_p()], i), &mut scratch.v, i);
            }
            for c in 0..layout.actions {
                let a = &strip[layout.action() + c];
                match risk.family {
                    Family::Normal => normal::<T, S>(simd, &theta.std[c], a, c, scratch),
                    Family::LogNormal => log_normal::<T, S>(simd, &theta.std[c], a, c, scratch),
                }
            }
            if risk.question.estimator.normalise == Normalise::ByWeights && beyond::<T, S>(simd, omega, &scratch.v) {
                return false;
            }
            weights::<T, S>(simd, &risk.question.estimator.weight, scratch);
            sums::<T, S>(simd, omega, y, scratch);
            let q = layout.actions;
            for (slot, &r) in risk.graded.iter().enumerate() {
                for c in 0..q {
                    slopes::<T, S>(simd, r, omega, y, (c, slot * q + c), scratch);
                }
            }
            true
        },
    )
}

/// Adds ln of the normal density of action column c to ln w, and notes its slopes.
#[inline(always)]
fn normal<T: Lanes, S: Simd>(simd: S, std: &[T; 3], a: &Lane<T>, c: usize, scratch: &mut Scratch<T>) {
    let [inverse, log_std, _] = std.map(|v| splat::<T, S>(simd, v));
    let (one, half) = (splat::<T, S>(simd, T::ONE), splat::<T, S>(simd, T::of(-0.5)));
    let Scratch { v, mu, log_w, .. } = scratch;
    let (mu, mean, std) = (&mu[c], &mut log_w.mean[c], &mut log_w.std[c]);
    for i in 0..STRIP / V::<T, S>::LEN {
        let z = (load::<T, S>(simd, a, i) - load::<T, S>(simd, mu, i)) * inverse;
        let zz = z * z;
        store::<T, S>(zz.mul_add(half, load::<T, S>(simd, v, i) - log_std), v, i);
        store::<T, S>(z * inverse, mean, i);
        store::<T, S>((zz - one) * inverse, std, i);
    }
}

/// The same for the log-normal density (`a` is ln of the action), with the entropy, which depends on the mean.
#[inline(always)]
fn log_normal<T: Lanes, S: Simd>(simd: S, std: &[T; 3], a: &Lane<T>, c: usize, scratch: &mut Scratch<T>) {
    let [inverse_std, _, std] = std.map(|v| splat::<T, S>(simd, v));
    let (one, half) = (splat::<T, S>(simd, T::ONE), splat::<T, S>(simd, T::of(0.5)));
    let Scratch { v, mu, log_w, entropy, h, .. } = scratch;
    for i in 0..STRIP / V::<T, S>::LEN {
        let mu = load::<T, S>(simd, &mu[c], i);
        let inverse = one / mu;
        let ratio = std * inverse;
        let r = ratio * ratio;
        let s2 = ln_1p::<T, S>(simd, r);
        let kk = (r + r) / (one + r);
        let (s2_mean, s2_std) = (-(kk * inverse), kk * inverse_std);
        let log_mu = ln::<T, S>(simd, mu);
        let half_log_s2 = half * ln::<T, S>(simd, s2);
        let z = s2.mul_add(half, load::<T, S>(simd, a, i) - log_mu);
        let inv_s2 = one / s2;
        let zs = z * inv_s2;
        let ds2 = (z * zs - one) * inv_s2 * half;
        store::<T, S>(load::<T, S>(simd, v, i) - (half * z).mul_add(zs, half_log_s2), v, i);
        store::<T, S>(ds2 * s2_mean - zs * (half * s2_mean - inverse), &mut log_w.mean[c], i);
        store::<T, S>((ds2 - half * zs) * s2_std, &mut log_w.std[c], i);
        let d = half * inv_s2 - half;
        let own = log_mu - half * s2 + half_log_s2;
        store::<T, S>(if c == 0 { own } else { own + load::<T, S>(simd, h, i) }, h, i);
        store::<T, S>(inverse + d * s2_mean, &mut entropy.mean[c], i);
        store::<T, S>(d * s2_std, &mut entropy.std[c], i);
    }
}

/// Whether a row that counts has a weight too large for plain sums of squares.
#[inline(always)]
fn beyond<T: Lanes, S: Simd>(simd: S, omega: &Lane<T>, log_w: &Lane<T>) -> bool {
    let zero = splat::<T, S>(simd, T::ZERO);
    let limit = splat::<T, S>(simd, T::of(LOG_RANGE.min(T::HIGHEST.f64() / 3.0)));
    let mut top = zero;
    for i in 0..STRIP / V::<T, S>::LEN {
        let counts = load::<T, S>(simd, omega, i).simd_gt(zero);
        top = top.max(counts.select(load::<T, S>(simd, log_w, i), zero));
    }
    top.simd_gt(limit).any_true()
}

/// ln w becomes v, and dv / d ln w is noted.
#[inline(always)]
fn weights<T: Lanes, S: Simd>(simd: S, weight: &Weight, scratch: &mut Scratch<T>) {
    let s = |v: f64| splat::<T, S>(simd, T::of(v));
    let Scratch { v, dv, .. } = scratch;
    for i in 0..STRIP / V::<T, S>::LEN {
        let log_w = load::<T, S>(simd, v, i);
        let w = exp::<T, S>(simd, log_w);
        let (value, slope) = match *weight {
            Weight::Clip { cap } => {
                let over = w.simd_gt(s(cap));
                (over.select(s(cap), w), over.select(s(0.0), w))
            }
            Weight::SoftClip { cap, alpha } => {
                let over = w.simd_gt(s(cap));
                if over.any_true() {
                    // ln(w + alpha - M) = ln w + ln(1 + (alpha - M)/w): in logs, so that no weight overflows
                    let r = s(alpha - cap) * exp::<T, S>(simd, -log_w.max(s(cap.ln())));
                    let log = log_w + ln::<T, S>(simd, s(1.0) + r);
                    (over.select(s(alpha) * log, w), over.select(s(alpha) / (s(1.0) + r), w))
                } else {
                    (w, w)
                }
            }
            _ => (w, w),
        };
        store::<T, S>(value, v, i);
        store::<T, S>(slope, dv, i);
    }
}

/// Adds the strip to the sums; dv is multiplied by the row weight.
#[inline(always)]
fn sums<T: Lanes, S: Simd>(simd: S, omega: &Lane<T>, y: &Lane<T>, scratch: &mut Scratch<T>) {
    let n = V::<T, S>::LEN;
    let Scratch { v, dv, h, sums: acc, .. } = scratch;
    let mut sums = [splat::<T, S>(simd, T::ZERO); SUMS];
    for i in 0..STRIP / n {
        let (omega, y) = (load::<T, S>(simd, omega, i), load::<T, S>(simd, y, i));
        let v = load::<T, S>(simd, v, i);
        let t = v * y;
        let (ov, ot) = (omega * v, omega * t);
        sums[0] += ot;
        sums[1] += ov;
        sums[2] = ot.mul_add(t, sums[2]);
        sums[3] = ot.mul_add(v, sums[3]);
        sums[4] = ov.mul_add(v, sums[4]);
        sums[5] = ot.mul_add(y, sums[5]);
        sums[6] = omega.mul_add(load::<T, S>(simd, h, i), sums[6]);
        store::<T, S>(omega * load::<T, S>(simd, dv, i), dv, i);
    }
    for (sum, acc) in sums.iter().zip(acc.chunks_exact_mut(n)) {
        (V::<T, S>::from_slice(simd, acc) + *sum).store_slice(acc);
    }
}

/// Slopes of graded sum r in mean c (to lane `lane`) and in std c (to its accumulator).
#[inline(always)]
fn slopes<T: Lanes, S: Simd>(
    simd: S,
    r: usize,
    omega: &Lane<T>,
    y: &Lane<T>,
    (c, lane): (usize, usize),
    scratch: &mut Scratch<T>,
) {
    let n = V::<T, S>::LEN;
    let Scratch { v, dv, log_w, entropy, slope, std_acc, .. } = scratch;
    let of = if r == ENTROPY { entropy } else { log_w };
    let (mean, std, slope) = (&of.mean[c], &of.std[c], &mut slope[lane]);
    let acc = &mut std_acc[lane * n..(lane + 1) * n];
    let mut sum = V::<T, S>::from_slice(simd, acc);
    for i in 0..STRIP / n {
        let (v, dv) = (load::<T, S>(simd, v, i), load::<T, S>(simd, dv, i));
        let y = load::<T, S>(simd, y, i);
        let vy = v * y;
        let coef = match r {
            0 => dv * y,
            1 => dv,
            3 => dv * y * (vy + vy),
            4 => dv * (vy + vy),
            5 => dv * (v + v),
            _ => load::<T, S>(simd, omega, i),
        };
        store::<T, S>(coef * load::<T, S>(simd, mean, i), slope, i);
        sum = coef.mul_add(load::<T, S>(simd, std, i), sum);
    }
    sum.store_slice(acc);
}
