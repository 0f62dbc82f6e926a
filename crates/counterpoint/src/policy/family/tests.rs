//! Every family through the same laws.

use super::*;
use crate::vector::{Lane, dispatch};
use fearless_simd::Level;

/// Means and stds that every family can have.
const LAWS: [(f64, f64); 4] = [(1.3, 0.4), (0.7, 1.9), (2.0, 0.05), (31.0, 40.0)];

#[track_caller]
fn differences(f: impl Fn(f64, f64) -> Slopes, (mean, std): (f64, f64), what: &str) {
    let at = f(mean, std);
    // differences of order h^4: what is left is rounding, 1e-16 over h, times the size of what is differenced
    let slope = |g: &dyn Fn(f64) -> f64, h: f64| (8.0 * (g(h) - g(-h)) - (g(2.0 * h) - g(-2.0 * h))) / (12.0 * h);
    let dm = slope(&|h| f(mean + h, std).value, 1e-3 * mean.min(std));
    let ds = slope(&|h| f(mean, std + h).value, 1e-3 * mean.min(std));
    let size = 1.0 + dm.abs() + ds.abs() + at.value.abs() / std;
    assert!((at.mean - dm).abs() < 3e-9 * size, "{what}, slope in the mean {mean} {std}: {} {dm}", at.mean);
    assert!((at.std - ds).abs() < 3e-9 * size, "{what}, slope in the std {mean} {std}: {} {ds}", at.std);
}

/// Actions across a law: quantiles from far left to far right.
fn actions(family: Family, (mean, std): (f64, f64)) -> Vec<f64> {
    [-3.0, -1.5, -0.2, 0.0, 0.8, 2.5].iter().map(|z| family.at(*z, mean, std).value).collect()
}

#[test]
fn every_slope_is_the_slope_of_its_value() {
    for &family in Family::ALL {
        for law in LAWS {
            let (mean, std) = law;
            for a in actions(family, law) {
                let what = format!("{family:?} at {a}");
                differences(|m, s| family.log_density(a, m, s), law, &format!("log density, {what}"));
                differences(|m, s| family.cdf(a, m, s), law, &format!("cdf, {what}"));
                differences(|m, s| family.kernel(m, s, a, 1.0 / (std * std)), law, &format!("kernel, {what}"));
                let h = 1e-4 * std.min(a.abs());
                let d = (family.log_density(a + h, mean, std).value - family.log_density(a - h, mean, std).value)
                    / (2.0 * h);
                let slope = family.log_density_slope(a, mean, std);
                assert!((slope - d).abs() < 1e-6 * (1.0 + d.abs()), "slope in the action, {what}: {slope} {d}");
                // the density is the slope of the distribution function
                let p = (family.cdf(a + h, mean, std).value - family.cdf(a - h, mean, std).value) / (2.0 * h);
                let density = family.log_density(a, mean, std).value.exp();
                assert!((p - density).abs() < 1e-6 * density + 1e-10 / h, "density, {what}: {density} {p}");
            }
            for z in [-1.5, 0.0, 0.8] {
                differences(|m, s| family.at(z, m, s), law, &format!("at {z}, {family:?}"));
            }
            differences(|m, s| family.entropy(m, s), law, &format!("entropy, {family:?}"));
        }
    }
}

#[test]
fn the_action_at_a_position_has_the_probability_of_that_position_below_it() {
    for &family in Family::ALL {
        for (mean, std) in LAWS {
            for z in [-6.0, -1.5, -0.1, 0.0, 0.8, 3.0, 6.0] {
                let below = family.cdf(family.at(z, mean, std).value, mean, std).value;
                assert!((below - normal_cdf(z)).abs() < 1e-12, "{family:?} {mean} {std} at {z}: {below}");
            }
        }
    }
}

#[test]
fn a_walk_along_the_policy_is_the_positions_one_by_one() {
    for &family in Family::ALL {
        for (mean, std) in LAWS {
            let mut seen = Vec::new();
            family.along(0.125, 48, (mean, std), &mut |z, a| {
                seen.push(z);
                let own = family.at(z, mean, std);
                // far out positions rest on what is left of the mass; its digits are fewer there
                let tolerance = 1e-9 + 1e-14 / bell(z);
                for (x, y) in [(a.value, own.value), (a.mean, own.mean), (a.std, own.std)] {
                    assert!((x - y).abs() < tolerance * (1.0 + y.abs()), "{family:?} {mean} {std} at {z}: {x} {y}");
                }
            });
            seen.sort_by(f64::total_cmp);
            assert_eq!(seen, (-48..=48).map(|i| 0.125 * f64::from(i)).collect::<Vec<_>>());
        }
    }
}

#[test]
fn kernel_expectations_are_integrals_along_the_policy() {
    struct Along(f64, f64, f64, f64);
    impl Visit for Along {
        type Out = Slopes;
        fn see<M: Member>(self, member: M) -> Slopes {
            kernel_along(member, self.0, self.1, self.2, self.3)
        }
    }
    for &family in Family::ALL {
        for (mean, std) in LAWS {
            for (z, alpha) in [(0.5 * mean, 1.0), (mean + std, 2.5), (mean, 0.01)] {
                let (got, want) = (family.kernel(mean, std, z, alpha), family.visit(Along(mean, std, z, alpha)));
                for (x, y) in [(got.value, want.value), (got.mean, want.mean), (got.std, want.std)] {
                    assert!((x - y).abs() < 1e-9, "{family:?} {mean} {std}, kernel at {z}, {alpha}: {x} {y}");
                }
            }
        }
    }
}

#[test]
fn outside_the_support_there_is_no_density() {
    for &family in Family::ALL {
        for a in [-1.0, 0.0, f64::NAN, f64::INFINITY].into_iter().filter(|a| !family.support().holds(*a)) {
            let p = family.log_density(a, 1.0, 1.0);
            assert_eq!((p.value, p.mean, p.std), (f64::NEG_INFINITY, 0.0, 0.0), "{family:?} {a}");
            assert_eq!(family.cdf(a, 1.0, 1.0).value, f64::from(u8::from(a == f64::INFINITY)), "{family:?} {a}");
        }
    }
}

#[test]
fn names_are_those_of_recipes() {
    for &family in Family::ALL {
        assert_eq!(serde_json::to_value(family).unwrap(), family.name());
    }
}

/// The entropy is minus the expectation of the log density; it varies if and only if the mean matters.
#[test]
fn entropies_are_those_of_the_densities() {
    for &family in Family::ALL {
        for (mean, std) in LAWS {
            let (h, mut sum) = (1.0 / 16.0, 0.0);
            family.along(h, 8 * 16, (mean, std), &mut |z, a| {
                sum -= h * bell(z) * family.log_density(a.value, mean, std).value;
            });
            let entropy = family.entropy(mean, std);
            assert!((entropy.value - sum).abs() < 1e-9, "{family:?} {mean} {std}: {} {sum}", entropy.value);
            assert_eq!(entropy.mean != 0.0, family.entropy_varies());
        }
    }
}

#[test]
fn samples_have_the_mean_and_std_they_were_told() {
    use crate::rng::{Purpose, stream};
    let mut rng = stream(1, Purpose::Act, 0);
    for &family in Family::ALL {
        let n = 200_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let a = family.sample(2.0, 0.7, &mut rng);
            sum += a;
            squares += a * a;
        }
        let mean = sum / n as f64;
        let std = (squares / n as f64 - mean * mean).sqrt();
        assert!((mean - 2.0).abs() < 4.0 * 0.7 / (n as f64).sqrt());
        assert!((std - 0.7).abs() < 0.01);
    }
}

/// A strip as the row stage leaves it: ln w, its slopes, the entropy, its slopes.
fn staged<T: Elementary>(family: Family, std: f64, lift: Option<Level>) -> [Lane<T>; 6] {
    struct Stage<'a, T>(Column<'a, T>, Option<Level>);
    impl<T: Elementary> Visit for Stage<'_, T> {
        type Out = ();
        fn see<M: Member>(mut self, member: M) {
            match self.1 {
                Some(level) => dispatch!(level, simd => member.strip(simd, &mut self.0)),
                None => lifted(member, &mut self.0),
            }
        }
    }
    let row = |i: usize| 0.2 + 0.045 * i as f64;
    let a =
        Lane(std::array::from_fn(|i| T::of(family.seen(row((i * 29) % STRIP)).map_or(f64::NAN, |seen| seen.action))));
    let mu = Lane(std::array::from_fn(|i| T::of(row(i))));
    let start = Lane(std::array::from_fn(|i| T::of(0.1 * i as f64 - 3.0)));
    let [mut log_w, mut h, mut m, mut s, mut hm, mut hs] =
        [start, start, Lane::ZERO, Lane::ZERO, Lane::ZERO, Lane::ZERO];
    let column = Column {
        a: &a,
        mu: &mu,
        std: Spread::new(std),
        log_w: &mut log_w,
        slopes: [&mut m, &mut s],
        h: &mut h,
        h_slopes: [&mut hm, &mut hs],
    };
    family.visit(Stage(column, lift));
    [log_w, m, s, h, hm, hs]
}

fn strips_agree<T: Elementary>(tolerance: f64) {
    for &family in Family::ALL {
        for std in [0.3, 1.7] {
            let want = staged::<T>(family, std, None);
            let mut first = None;
            for level in crate::vector::Instructions::all().iter().map(|i| i.during(crate::vector::level)) {
                let got = staged::<T>(family, std, Some(level));
                let bits = got.map(|lane| lane.0.map(|v| v.f64().to_bits()));
                assert!(first.is_none_or(|first| first == bits), "{family:?}: bits at {level:?}");
                first = Some(bits);
                for (k, (got, want)) in got.iter().zip(&want).enumerate() {
                    for (x, y) in got.0.iter().zip(&want.0) {
                        let (x, y) = (x.f64(), y.f64());
                        assert!((x - y).abs() <= tolerance * (1.0 + y.abs()), "{family:?} {std}, lane {k}: {x} {y}");
                    }
                }
            }
        }
    }
}

#[test]
fn strips_are_the_functions_of_one_row() {
    strips_agree::<f64>(1e-13);
    strips_agree::<f32>(2e-5);
}
