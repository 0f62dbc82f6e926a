//! What a loss model expects of a policy, with slopes: where `policy` and `estimate` meet.
//!
//! f(a) = sum_l c_l k(a, z_l) is the model at one context, so its expectation is that of a few Gaussian kernels, which every
//! family knows: in closed form (normal), or by quadrature to rounding. The components of a vector action are independent
//! and the kernel is a product over them, so its expectation is the product of theirs.

use crate::estimate::{ModelTerm, Weight};
use crate::features::{ActionMap, Slopes};
use crate::math;
use crate::policy::{Family, bell};
use std::sync::LazyLock;

/// A policy at one context.
#[derive(Clone, Copy)]
pub(crate) struct Law<'a> {
    pub(crate) family: Family,
    pub(crate) mean: &'a [f64],
    pub(crate) std: &'a [f64],
}

/// E_pi f, with slopes in the means and the stds.
pub(crate) fn expected(
    term: ModelTerm,
    map: &ActionMap,
    c: &[f64],
    law: Law,
    d_mean: &mut [f64],
    d_std: &mut [f64],
) -> f64 {
    d_mean.fill(0.0);
    d_std.fill(0.0);
    match term {
        ModelTerm::CdfDifferences => cdf_differences(map, c, law, d_mean, d_std),
        ModelTerm::Exact => {
            let q = law.mean.len();
            let mut e = vec![Slopes::default(); q];
            let mut total = 0.0;
            for (l, &cl) in c.iter().enumerate() {
                let z = map.anchor(l);
                for i in 0..q {
                    e[i] = law.family.kernel(law.mean[i], law.std[i], z[i], map.bandwidth);
                }
                total += cl * e.iter().map(|s| s.value).product::<f64>();
                for i in 0..q {
                    let others: f64 = cl * (0..q).filter(|&j| j != i).map(|j| e[j].value).product::<f64>();
                    d_mean[i] += others * e[i].mean;
                    d_std[i] += others * e[i].std;
                }
            }
            total
        }
    }
}

/// The paper's: sum_j f(a_j) (F(a_{j+1}) - F(a_j)), the outer buckets open.
fn cdf_differences(map: &ActionMap, c: &[f64], law: Law, d_mean: &mut [f64], d_std: &mut [f64]) -> f64 {
    let mut slope = [0.0];
    let mut below = Slopes::default();
    let mut total = 0.0;
    for j in 0..map.len() {
        let f = map.function(c, map.anchor(j), &mut slope);
        let edge = if j + 1 < map.len() { map.anchor(j + 1)[0] } else { f64::INFINITY };
        let above = law.family.cdf(edge, law.mean[0], law.std[0]);
        total += f * (above.value - below.value);
        d_mean[0] += f * (above.mean - below.mean);
        d_std[0] += f * (above.std - below.std);
        below = above;
    }
    total
}

/// E_pi [(f(a) + b) (1 - v(w)/w)]: the model with the mass the transformed weights leave out, for SWITCH and CAB.
///
/// `logging` is the logging policy's law at the same context: the integral needs its density as a function. One action
/// column. Trapezoid rule with steps of 1/32 std: the integrand has a kink (CAB) or a jump (SWITCH) where w passes the
/// cap, so this is good to about 1e-4 of the model's range; slopes are those between jumps.
pub(crate) fn left_out(weight: &Weight, map: &ActionMap, c: &[f64], b: f64, law: Law, logging: Law) -> Slopes {
    const STEPS: i32 = 32 * 8;
    let h = 1.0 / 32.0;
    let (mean, std) = (law.mean[0], law.std[0]);
    let mut slope = [0.0];
    let mut out = Slopes::default();
    law.family.along(h, STEPS, (mean, std), &mut |z, a| {
        let mass = h * bell(z);
        let Some(Left { share, slopes: [d_mean, d_std] }) = left_share(weight, a, law, logging) else { return };
        let f = map.function(c, &[a.value], &mut slope) + b;
        // the node moves with the policy: the model's slope at it, and the slope of the share
        out.value += mass * f * share;
        out.mean += mass * (slope[0] * a.mean * share + f * d_mean);
        out.std += mass * (slope[0] * a.std * share + f * d_std);
    });
    out
}

/// E_pi f of a function with kinks, by the trapezoid rule along the policy with steps of 1/8 std. One action column.
///
/// A kink between two nodes costs about (std / 8)^2 / 12 of the change of the slope, times the density there: 5e-4 of the change over one std.
pub(crate) fn along(f: &dyn Fn(f64) -> f64, law: Law) -> f64 {
    static MASSES: LazyLock<[f64; 2 * HALF + 1]> =
        LazyLock::new(|| std::array::from_fn(|i| STEP * bell(STEP * (i as f64 - HALF as f64))));
    const HALF: usize = 64;
    const STEP: f64 = 1.0 / 8.0;
    let masses = &*MASSES;
    let mut total = 0.0;
    law.family.along(STEP, HALF as i32, (law.mean[0], law.std[0]), &mut |z, a| {
        total += masses[((z / STEP).round() + HALF as f64) as usize] * f(a.value);
    });
    total
}

/// E_pi [f (1 - v(w)/w)] of any function, by the rule of [`left_out`].
pub(crate) fn left_of(weight: &Weight, f: &dyn Fn(f64) -> f64, law: Law, logging: Law) -> f64 {
    let h = 1.0 / 32.0;
    let mut total = 0.0;
    law.family.along(h, 32 * 8, (law.mean[0], law.std[0]), &mut |z, a| {
        let share = left_share(weight, a, law, logging).map_or(0.0, |left| left.share);
        total += h * bell(z) * f(a.value) * share;
    });
    total
}

/// The share of a node's mass that is left to the model, 1 - v(w)/w, with its slopes along the moving node.
struct Left {
    share: f64,
    slopes: [f64; 2],
}

/// `None` if nothing is left.
fn left_share(weight: &Weight, a: Slopes, law: Law, logging: Law) -> Option<Left> {
    let (mean, std) = (law.mean[0], law.std[0]);
    if !logging.family.support().holds(a.value) {
        // no logged action can be there: all of it is left to the model
        return Some(Left { share: 1.0, slopes: [0.0; 2] });
    }
    let own = law.family.log_density(a.value, mean, std);
    let theirs = logging.family.log_density(a.value, logging.mean[0], logging.std[0]).value;
    let log_w = own.value - theirs;
    if log_w < -700.0 {
        return None;
    }
    let (v, dv) = weight.apply(log_w);
    let inverse = math::exp(-log_w);
    let (share, d_share) = (1.0 - v * inverse, (v - dv) * inverse);
    if share == 0.0 && d_share == 0.0 {
        return None;
    }
    // d ln w along the moving node: its explicit slope, and its slope in a times that of a
    let in_a = law.family.log_density_slope(a.value, mean, std)
        - logging.family.log_density_slope(a.value, logging.mean[0], logging.std[0]);
    Some(Left { share, slopes: [d_share * (own.mean + in_a * a.mean), d_share * (own.std + in_a * a.std)] })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adaptive Simpson, the independent judge.
    fn simpson(f: &dyn Fn(f64) -> f64, a: f64, b: f64, tolerance: f64, depth: u32) -> f64 {
        let (c, h) = (0.5 * (a + b), b - a);
        let whole = h / 6.0 * (f(a) + 4.0 * f(c) + f(b));
        let halves = h / 12.0 * (f(a) + 4.0 * f(0.5 * (a + c)) + 2.0 * f(c) + 4.0 * f(0.5 * (c + b)) + f(b));
        if depth == 0 || (halves - whole).abs() < 15.0 * tolerance {
            return halves + (halves - whole) / 15.0;
        }
        simpson(f, a, c, tolerance / 2.0, depth - 1) + simpson(f, c, b, tolerance / 2.0, depth - 1)
    }

    fn split_simpson(f: &dyn Fn(f64) -> f64, a: f64, b: f64) -> f64 {
        let n = 64;
        let w = (b - a) / f64::from(n);
        (0..n).map(|i| simpson(f, a + f64::from(i) * w, a + f64::from(i + 1) * w, 1e-14, 30)).sum()
    }

    fn map() -> (ActionMap, Vec<f64>) {
        (ActionMap::new(vec![0.5, 1.2, 2.0, 3.4], 1, Some(2.5)).unwrap(), vec![0.3, -1.1, 0.8, 0.45])
    }

    #[test]
    fn exact_expectation_equals_adaptive_quadrature() {
        let (map, c) = map();
        for &family in Family::ALL {
            for (mean, std) in [(1.0, 0.2), (2.2, 1.3), (0.4, 0.05)] {
                let (mut dm, mut ds) = ([0.0], [0.0]);
                let value =
                    expected(ModelTerm::Exact, &map, &c, Law { family, mean: &[mean], std: &[std] }, &mut dm, &mut ds);
                let integrand =
                    |a: f64| map.function(&c, &[a], &mut [0.0]) * family.log_density(a, mean, std).value.exp();
                let truth = split_simpson(&integrand, mean - 14.0 * std, mean + 40.0 * std);
                assert!((value - truth).abs() < 1e-10, "{family:?} {mean} {std}: {value} {truth}");
            }
        }
    }

    #[test]
    fn slopes_against_differences() {
        let (map, c) = map();
        let h = 1e-5;
        for &family in Family::ALL {
            for term in [ModelTerm::Exact, ModelTerm::CdfDifferences] {
                let at = |mean: f64, std: f64| {
                    let (mut dm, mut ds) = ([0.0], [0.0]);
                    let v = expected(term, &map, &c, Law { family, mean: &[mean], std: &[std] }, &mut dm, &mut ds);
                    (v, dm[0], ds[0])
                };
                let (_, dm, ds) = at(1.4, 0.6);
                assert!((dm - (at(1.4 + h, 0.6).0 - at(1.4 - h, 0.6).0) / (2.0 * h)).abs() < 1e-8);
                assert!((ds - (at(1.4, 0.6 + h).0 - at(1.4, 0.6 - h).0) / (2.0 * h)).abs() < 1e-8);
            }
        }
    }

    #[test]
    fn what_is_left_out_by_clipping_is_the_rest_of_the_integral() {
        let (map, c) = map();
        let law = Law { family: Family::Normal, mean: &[1.6], std: &[0.4] };
        let logging = Law { family: Family::LogNormal, mean: &[2.0], std: &[1.0] };
        let cap = 1.3;
        let got = left_out(&Weight::Clip { cap }, &map, &c, 0.2, law, logging);
        let truth = split_simpson(
            &|a: f64| {
                let p = law.family.log_density(a, 1.6, 0.4).value.exp();
                let p0 = logging.family.log_density(a, 2.0, 1.0).value.exp();
                (map.function(&c, &[a], &mut [0.0]) + 0.2) * (p - cap * p0).max(0.0)
            },
            1.6 - 8.0 * 0.4,
            1.6 + 8.0 * 0.4,
        );
        assert!((got.value - truth).abs() < 2e-4, "{} {truth}", got.value);
        let none = left_out(&Weight::Raw, &map, &c, 0.2, law, logging);
        let outside: f64 = Family::Normal.cdf(0.0, 1.6, 0.4).value;
        assert!(none.value.abs() < 10.0 * outside, "raw weights leave nothing but what lies outside the log's support");
    }
}
