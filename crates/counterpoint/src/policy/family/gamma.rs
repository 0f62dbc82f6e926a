//! The gamma family: positive actions, with the shape k = mean^2 / std^2 and the scale std^2 / mean.
//!
//! Everything is written in d = ln(a / mean), where only the shape is left:
//!
//! ```text
//! p(d) = sqrt(k / 2 pi) exp(-rest(k) - k h(d)),   h(d) = exp(d) - 1 - d >= 0
//! rest(k) = ln Gamma(k) - (k - 1/2) ln k + k - ln(2 pi)/2 = 1/(12 k) - ..     (what Stirling's formula leaves out)
//! ```
//!
//! In this form nothing cancels, however narrow the law: ln Gamma(k) and k ln k, which are huge, never appear. The density
//! in d is log-concave with its mode at 0. Tail masses are integrated outward from d by Gauss-Legendre rules on panels that
//! widen as the integrand falls, and so are their slopes in k, which the same nodes give: tests hold both to the incomplete
//! gamma function and to differences.

use super::{Column, HALF_LN_2PI, Member, Seen, Support, bell, ln_ratio, normal_cdf, widened};
use crate::features::Slopes;
use crate::math;
use crate::vector::math::{exp, ln};
use crate::vector::{Elementary, V, load, splat, store, vectors};
use fearless_simd::{Select, Simd, SimdBase, SimdFloat, SimdMask};

/// The gamma law with this mean and std.
#[derive(Clone, Copy)]
pub(crate) struct Gamma;

impl Member for Gamma {
    fn support(self) -> Support {
        Support::Positive
    }

    fn entropy_varies(self) -> bool {
        true
    }

    fn seen(self, a: f64) -> Seen {
        Seen { action: math::ln(a), constant: HALF_LN_2PI + math::ln(a) }
    }

    #[inline(always)]
    fn log_density(self, log_a: f64, mean: f64, std: f64) -> Slopes {
        density(log_a - math::ln(mean), mean, std)
    }

    fn full_log_density(self, a: f64, mean: f64, std: f64) -> Slopes {
        let p = density(ln_ratio(a, mean), mean, std);
        Slopes { value: p.value - math::ln(a) - HALF_LN_2PI, ..p }
    }

    /// ln mean - ln(k)/2 + ln(2 pi)/2 + rest + (1 - k) (rest' - 1/(2 k)); its slope in k is (1 - k)(rest'' + 1/(2 k^2)).
    #[inline(always)]
    fn entropy(self, mean: f64, std: f64) -> Slopes {
        let k = shape(mean, std);
        let rest = Stirling::new(k);
        let value = math::ln(mean) - 0.5 * math::ln(k) + HALF_LN_2PI + rest.value + (1.0 - k) * (rest.slope - 0.5 / k);
        let in_k = (1.0 - k) * (rest.curvature + 0.5 / (k * k));
        Slopes { value, mean: (1.0 + 2.0 * k * in_k) / mean, std: -2.0 * k * in_k / std }
    }

    fn cdf(self, a: f64, mean: f64, std: f64) -> Slopes {
        let law = Law::new(shape(mean, std));
        let d = ln_ratio(a, mean);
        let below = law.below(d);
        let in_k = below.in_k * 2.0 * law.k;
        Slopes { value: below.mass, mean: (in_k - law.p(d)) / mean, std: -in_k / std }
    }

    fn at(self, z: f64, mean: f64, std: f64) -> Slopes {
        let law = Law::new(shape(mean, std));
        law.position(law.quantile(z), mean, std)
    }

    fn log_density_slope(self, a: f64, mean: f64, std: f64) -> f64 {
        let k = shape(mean, std);
        (k - 1.0) / a - k / mean
    }

    /// Walks from both ends inward: the next position has a known mass more beyond it, and is found near the last one. Masses
    /// are only ever added to smaller ones, so that the far tails, where the walk begins, keep all their digits.
    fn along(self, h: f64, steps: i32, (mean, std): (f64, f64), each: &mut dyn FnMut(f64, Slopes)) {
        let law = Law::new(shape(mean, std));
        for side in [-1.0, 1.0] {
            let mut at = law.quantile(side * f64::from(steps) * h);
            for i in (1..=steps).rev() {
                let z = f64::from(i) * h;
                each(side * z, law.position(at, mean, std));
                at = law.inward(at, z, h, side);
            }
        }
        each(0.0, law.position(law.quantile(0.0), mean, std));
    }

    /// By the trapezoid rule in d. The rule's error is that of the narrowest of three things: the law itself, of width
    /// 1/sqrt(k); the kernel, which in d is narrowest at its upper end; and exp(-k e^d), whose Fourier transform falls
    /// like exp(-pi |w| / 2).
    fn kernel(self, mean: f64, std: f64, z: f64, alpha: f64) -> Slopes {
        let law = Law::new(shape(mean, std));
        let narrow = alpha.sqrt() * z.max(0.0) + 4.0;
        let h = 1.0 / ((law.k + narrow * narrow) / 0.49 + 1.0 / 0.0784).sqrt();
        let mut out = Slopes::default();
        for side in [-1.0, 1.0] {
            // 0 belongs to the right side; far out the density has fallen by exp(-60)
            for i in i32::from(side < 0.0)..20_000 {
                let d = side * f64::from(i) * h;
                let fall = law.k * height(d);
                if fall.is_nan() || fall > 60.0 {
                    break;
                }
                let a = mean * math::exp(d);
                let v = h * math::exp(law.log_top - fall - 0.5 * alpha * (a - z) * (a - z));
                let in_k = 2.0 * law.k * (law.top_in_k - height(d));
                out.value += v;
                out.mean += v * (in_k / mean - alpha * (a - z) * a / mean);
                out.std -= v * in_k / std;
            }
        }
        out
    }

    /// In single precision the differences in it would have few digits left, so there a strip is widened for it.
    #[inline(always)]
    fn strip<T: Elementary, S: Simd>(self, simd: S, column: &mut Column<T>) {
        match T::MANTISSA_BITS < <f64 as Elementary>::MANTISSA_BITS {
            true => widened(
                column,
                #[inline(always)]
                |column| rows::<f64, S>(simd, column),
            ),
            false => rows::<T, S>(simd, column),
        }
    }
}

/// Density and entropy of a strip together: they share what Stirling leaves out.
#[inline(always)]
fn rows<T: Elementary, S: Simd>(simd: S, column: &mut Column<T>) {
    let s = |v: f64| splat::<T, S>(simd, T::of(v));
    let (one, half, inverse_std) = (s(1.0), s(0.5), splat::<T, S>(simd, column.std.inverse));
    let Column { a, mu, log_w, slopes, h, h_slopes, .. } = column;
    for i in 0..vectors::<T, S>() {
        let mu = load::<T, S>(simd, mu, i);
        let (inverse, log_mu) = (one / mu, ln::<T, S>(simd, mu));
        let ratio = mu * inverse_std;
        let k = ratio * ratio;
        let half_inverse_k = half / k;
        let [half_log_k, rest, rest_slope, curvature] = stirling::<T, S>(simd, k);
        let d = load::<T, S>(simd, a, i) - log_mu;
        let height = heights::<T, S>(simd, d);
        let k2 = k + k;
        let in_k = k2 * (half_inverse_k - rest_slope - height);
        store::<T, S>(load::<T, S>(simd, log_w, i) + (half_log_k - rest - k * height), log_w, i);
        store::<T, S>((in_k + k * (d + height)) * inverse, slopes[0], i);
        store::<T, S>(-in_k * inverse_std, slopes[1], i);
        let value = log_mu - half_log_k + s(HALF_LN_2PI) + rest + (one - k) * (rest_slope - half_inverse_k);
        let in_k = k2 * ((one - k) * (curvature + half_inverse_k / k));
        store::<T, S>(load::<T, S>(simd, h, i) + value, h, i);
        store::<T, S>((one + in_k) * inverse, h_slopes[0], i);
        store::<T, S>(-in_k * inverse_std, h_slopes[1], i);
    }
}

/// [`height`] of a vector.
#[inline(always)]
fn heights<T: Elementary, S: Simd>(simd: S, d: V<T, S>) -> V<T, S> {
    let s = |v: f64| splat::<T, S>(simd, T::of(v));
    let mut sum = s(1.0);
    for inverse in INVERSES {
        sum = sum.mul_add_precise(d * s(inverse), s(1.0));
    }
    let near = s(0.5) * d * d * sum;
    d.abs().simd_gt(s(0.3)).select(exp::<T, S>(simd, d) - s(1.0) - d, near)
}

/// ln(k)/2, and [`Stirling`] of a vector: value, slope, curvature.
#[inline(always)]
fn stirling<T: Elementary, S: Simd>(simd: S, k: V<T, S>) -> [V<T, S>; 4] {
    let s = |v: f64| splat::<T, S>(simd, T::of(v));
    let (zero, one, half) = (s(0.0), s(1.0), s(0.5));
    let (mut big, mut ones, mut squares, mut product) = (k, zero, zero, one);
    loop {
        let small = big.simd_lt(s(10.0));
        if !small.any_true() {
            break;
        }
        let inverse = one / big;
        ones = small.select(ones + inverse, ones);
        squares = small.select(squares + inverse * inverse, squares);
        product = small.select(product * big, product);
        big = small.select(big + one, big);
    }
    let inverse = one / big;
    let square = inverse * inverse;
    let mut sums = [zero; 3];
    for (i, c) in SERIES.iter().enumerate().rev() {
        let n = (2 * i + 1) as f64;
        for (sum, c) in sums.iter_mut().zip([*c, c * n, c * n * (n + 1.0)]) {
            *sum = sum.mul_add_precise(square, s(c));
        }
    }
    let log_k = ln::<T, S>(simd, k);
    let mut out = [half * log_k, inverse * sums[0], -(square * sums[1]), inverse * square * sums[2]];
    let moved = big.simd_gt(k);
    if moved.any_true() {
        let log_big = ln::<T, S>(simd, big);
        let inverse_k = one / k;
        let value = (big - half) * log_big - big - ln::<T, S>(simd, product) - (k - half) * log_k + k;
        let slope = log_big - log_k - half * inverse - ones + half * inverse_k;
        let curvature = inverse + half * square + squares - inverse_k - half * inverse_k * inverse_k;
        for (out, more) in out[1..].iter_mut().zip([value, slope, curvature]) {
            *out = moved.select(*out + more, *out);
        }
    }
    out
}

#[inline(always)]
fn shape(mean: f64, std: f64) -> f64 {
    let ratio = mean / std;
    ratio * ratio
}

/// ln p(d) but for its constant ln(2 pi)/2, with slopes in mean and std at a fixed action: dk = 2 k (dmean/mean - dstd/std).
#[inline(always)]
fn density(d: f64, mean: f64, std: f64) -> Slopes {
    let k = shape(mean, std);
    let rest = Stirling::new(k);
    let h = height(d);
    let in_k = 2.0 * k * (0.5 / k - rest.slope - h);
    Slopes {
        value: 0.5 * math::ln(k) - rest.value - k * h,
        mean: (in_k + k * math::exp_m1(d)) / mean,
        std: -in_k / std,
    }
}

/// 1/13, 1/12, .., 1/3
const INVERSES: [f64; 11] = {
    let mut out = [0.0; 11];
    let mut i = 0;
    while i < 11 {
        out[i] = 1.0 / (13 - i) as f64;
        i += 1;
    }
    out
};

/// h(d) = exp(d) - 1 - d, which near 0 is d^2/2 + d^3/6 + ..
#[inline(always)]
fn height(d: f64) -> f64 {
    if d.abs() > 0.3 {
        return math::exp_m1(d) - d;
    }
    let mut sum = 1.0;
    for inverse in INVERSES {
        sum = 1.0 + sum * d * inverse;
    }
    0.5 * d * d * sum
}

/// rest(k) and its derivatives, by the series for large k; smaller k are brought there by Gamma(k + 1) = k Gamma(k).
struct Stirling {
    value: f64,
    slope: f64,
    curvature: f64,
}

/// B_2i / (2 i (2 i - 1)): rest(k) = sum of c_i k^(1 - 2 i).
const SERIES: [f64; 8] = [
    1.0 / 12.0,
    -1.0 / 360.0,
    1.0 / 1260.0,
    -1.0 / 1680.0,
    1.0 / 1188.0,
    -691.0 / 360_360.0,
    1.0 / 156.0,
    -3617.0 / 122_400.0,
];

impl Stirling {
    #[inline(always)]
    fn new(k: f64) -> Self {
        let mut big = k;
        // of 1 / k + 1 / (k + 1) + .., of its squares, and the product of what is left behind
        let (mut ones, mut squares, mut product) = (0.0, 0.0, 1.0);
        while big < 10.0 {
            ones += 1.0 / big;
            squares += 1.0 / (big * big);
            product *= big;
            big += 1.0;
        }
        let (inverse, mut out) = (1.0 / big, Stirling { value: 0.0, slope: 0.0, curvature: 0.0 });
        let mut power = inverse;
        for (i, c) in SERIES.iter().enumerate() {
            let n = (2 * i + 1) as f64;
            out.value += c * power;
            out.slope -= c * n * power * inverse;
            out.curvature += c * n * (n + 1.0) * power * inverse * inverse;
            power *= inverse * inverse;
        }
        if big > k {
            // ln Gamma, digamma and trigamma at k from those at the larger number, less Stirling's part at k
            out.value += (big - 0.5) * math::ln(big) - big - math::ln(product) - (k - 0.5) * math::ln(k) + k;
            out.slope += math::ln(big / k) - 0.5 / big - ones + 0.5 / k;
            out.curvature += 1.0 / big + 0.5 / (big * big) + squares - 1.0 / k - 0.5 / (k * k);
        }
        out
    }
}

/// A mass and its slope in k.
#[derive(Clone, Copy, Debug, Default)]
struct Mass {
    mass: f64,
    in_k: f64,
}

/// A quantile: where it is, and the slope in k of the mass below a fixed d there.
#[derive(Clone, Copy, Debug)]
struct Quantile {
    d: f64,
    in_k: f64,
}

/// The law of d.
struct Law {
    k: f64,
    /// ln p(0) and its slope in k.
    log_top: f64,
    top_in_k: f64,
}

/// Nodes and weights of Gauss and Legendre on (-1, 1), the positive half: 16 and 4 points.
const SIXTEEN: [[f64; 2]; 8] = [
    [0.09501250983763744, 0.18945061045506847],
    [0.2816035507792589, 0.1826034150449236],
    [0.45801677765722737, 0.16915651939500256],
    [0.6178762444026438, 0.14959598881657682],
    [0.755404408355003, 0.12462897125553395],
    [0.8656312023878318, 0.0951585116824929],
    [0.9445750230732326, 0.062253523938647776],
    [0.9894009349916499, 0.027152459411754058],
];
const FOUR: [[f64; 2]; 2] = [[0.3399810435848563, 0.6521451548625461], [0.8611363115940526, 0.3478548451374538]];

impl Law {
    fn new(k: f64) -> Self {
        let rest = Stirling::new(k);
        Law { k, log_top: 0.5 * math::ln(k) - HALF_LN_2PI - rest.value, top_in_k: 0.5 / k - rest.slope }
    }

    fn p(&self, d: f64) -> f64 {
        math::exp(self.log_top - self.k * height(d))
    }

    /// The mass between two points.
    fn between(&self, from: f64, to: f64, rule: &[[f64; 2]]) -> Mass {
        let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
        let mut out = Mass::default();
        for [x, w] in rule {
            for x in [-x, *x] {
                let h = height(middle + half * x);
                let v = half * w * math::exp(self.log_top - self.k * h);
                out.mass += v;
                out.in_k += v * (self.top_in_k - h);
            }
        }
        out
    }

    /// The mass beyond d, away from the mode.
    fn tail(&self, d: f64) -> Mass {
        let side = if d < 0.0 { -1.0 } else { 1.0 };
        let mut width = 1.0 / (self.k + 1.0).sqrt();
        let (start, mut at, mut out) = (height(d), d, Mass::default());
        // the last panel begins where the density has fallen by exp(-40)
        while self.k * (height(at) - start) < 40.0 && (at - d).abs() < 1e300 {
            let next = at + side * width;
            let piece = self.between(at.min(next), at.max(next), &SIXTEEN);
            out = Mass { mass: out.mass + piece.mass, in_k: out.in_k + piece.in_k };
            at = next;
            // to the left the density falls like exp(k d), however far; to the right it ends like exp(-k e^d)
            width *= if side < 0.0 || 2.0 * width < 1.5 { 2.0 } else { 1.0 };
        }
        out
    }

    /// The mass below d.
    fn below(&self, d: f64) -> Mass {
        let tail = self.tail(d);
        if d < 0.0 { tail } else { Mass { mass: 1.0 - tail.mass, in_k: -tail.in_k } }
    }

    /// Where the mass below is Phi(z): Newton steps on the logarithm of the tail, which is concave, so that they arrive from
    /// anywhere.
    fn quantile(&self, z: f64) -> Quantile {
        let left = normal_cdf(z) < self.tail(-f64::MIN_POSITIVE).mass;
        let (target, side) = if left { (normal_cdf(z), -1.0) } else { (normal_cdf(-z), 1.0) };
        // Wilson and Hilferty's cube, or the power law of the far left
        let cube = 1.0 - 1.0 / (9.0 * self.k) + z / (3.0 * self.k.sqrt());
        let mut d =
            if cube > 0.1 { 3.0 * math::ln(cube) } else { (math::ln(target * self.k) - self.log_top) / self.k - 1.0 };
        d = if left { d.min(-1e-300) } else { d.max(0.0) };
        for _ in 0..60 {
            let tail = self.tail(d);
            let move_by = side * math::ln(tail.mass / target) * tail.mass / self.p(d);
            d += move_by;
            d = if left { d.min(-1e-300) } else { d.max(0.0) };
            // convergence is quadratic: this was the last step but for rounding
            if move_by.is_nan() || move_by.abs() * (1.0 + self.k.sqrt()) < 1e-8 {
                break;
            }
        }
        Quantile { d, in_k: self.below(d).in_k }
    }

    /// The quantile at side * (z - step) from the one at side * z.
    fn inward(&self, from: Quantile, z: f64, step: f64, side: f64) -> Quantile {
        let mass = normal_cdf(step - z) - normal_cdf(-z);
        // d' = phi / p, at both ends (Heun), then steps of third order (Halley; p'/p = -k (e^d - 1)): an error would be
        // carried along the whole walk
        let first = step * bell(z) / self.p(from.d);
        let second = step * bell(z - step) / self.p(from.d - side * first);
        let mut d = from.d - side * 0.5 * (first + second);
        let mut in_k = from.in_k;
        for _ in 0..8 {
            let piece = self.between(from.d.min(d), from.d.max(d), &FOUR);
            let (p, h, bend) = (self.p(d), height(d), side * math::exp_m1(d));
            let newton = (piece.mass - mass) / p;
            let off = newton / (1.0 - 0.5 * newton * self.k * bend);
            // a step may not come back past where it began
            let back = off.min(0.9 * (d - from.d).abs());
            d += side * back;
            // what the last step took away, to second order
            let rate = self.top_in_k - h;
            let taken = back * p * (rate - 0.5 * back * bend * (self.k * rate + 1.0));
            in_k = from.in_k - side * (piece.in_k - taken);
            // the next error is of the order of the cube of this one
            if off.is_nan() || off.abs() * (1.0 + self.k.sqrt()) < 3e-6 {
                break;
            }
        }
        Quantile { d, in_k }
    }

    /// The action at a quantile, with slopes: at a fixed mass below, dd/dk = -(slope of the mass) / p.
    fn position(&self, at: Quantile, mean: f64, std: f64) -> Slopes {
        let in_k = -2.0 * self.k * at.in_k / self.p(at.d);
        let a = (mean * math::exp(at.d)).max(f64::MIN_POSITIVE);
        Slopes { value: a, mean: a * (1.0 + in_k) / mean, std: -a * in_k / std }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::function::gamma::{digamma, gamma_lr, ln_gamma};

    #[test]
    fn what_stirling_leaves_out() {
        for k in [0.01, 0.3, 1.0, 4.5, 9.99, 10.0, 80.0, 1e5] {
            let rest = Stirling::new(k);
            let want = ln_gamma(k) - (k - 0.5) * f64::ln(k) + k - HALF_LN_2PI;
            assert!((rest.value - want).abs() < 1e-13 * (1.0 + ln_gamma(k).abs()), "{k}: {} {want}", rest.value);
            let want = digamma(k) - f64::ln(k) + 0.5 / k;
            assert!((rest.slope - want).abs() < 1e-12 * (1.0 + 1.0 / k), "{k}: {} {want}", rest.slope);
            let h = 1e-4 * k;
            let slope = |x: f64| Stirling::new(x).slope;
            let want = (8.0 * (slope(k + h) - slope(k - h)) - slope(k + 2.0 * h) + slope(k - 2.0 * h)) / (12.0 * h);
            assert!((rest.curvature - want).abs() < 1e-9 * (want.abs() + 1e-12 / h), "{k}: {} {want}", rest.curvature);
        }
    }

    #[test]
    fn masses_are_those_of_the_incomplete_gamma_function() {
        for k in [0.05, 0.4, 1.0, 3.0, 25.0, 400.0] {
            for d in [-2.0, -0.5, -0.05, 0.0, 0.02, 0.3, 1.5] {
                let want = gamma_lr(k, k * f64::exp(d));
                let got = Law::new(k).below(d).mass;
                assert!((got - want).abs() < 2e-13, "{k} at {d}: {got} {want}");
            }
        }
    }

    /// k = 1 is the exponential law, whose quantiles are known.
    #[test]
    fn quantiles_of_the_exponential_law() {
        for z in [-5.0, -1.0, 0.0, 0.7, 4.0] {
            let want = -3.0 * (-normal_cdf(z)).ln_1p();
            let got = Gamma.at(z, 3.0, 3.0).value;
            assert!((got / want - 1.0).abs() < 1e-12, "{z}: {got} {want}");
        }
    }

    /// A law so narrow that ln Gamma(k) has twelve digits before the point is still the normal law to as many digits as it
    /// differs by: skewness 2 std / mean.
    #[test]
    fn narrow_laws_keep_their_digits() {
        let (mean, std) = (5.0, 5e-6);
        for z in [-2.0, 0.0, 1.5] {
            let a = mean + std * z;
            let got = Gamma.full_log_density(a, mean, std).value;
            let want = -0.5 * z * z - f64::ln(std) - HALF_LN_2PI;
            assert!((got - want).abs() < 1e-5, "{z}: {got} {want}");
            assert!((Gamma.cdf(a, mean, std).value - normal_cdf(z)).abs() < 1e-5);
        }
    }
}
