//! Logs that are right, of every way to randomise that users write down: here a refusal is the error, and so is advice that the densities are wrong.
//!
//! The rule of the log is half of the first context, the best action lies above it, and the policy goes part of that way.

use super::laws::{Member, gauss, laplace};
use super::siege::{PLAIN, density, normals, row, rows, two};
use super::{Gauss, Siege, Sight, Truth, exponential, normal, uniform};
use counterpoint::policy::{Family, TargetPolicy};
use rand::rngs::ChaCha8Rng;

/// Where the rule of the log is.
fn rule(x: &[f64]) -> f64 {
    0.5 * x[0]
}

fn bolder() -> Box<dyn TargetPolicy> {
    Box::new(Gauss { mean: |x| rule(x) + 0.4, std: |_| 0.4 })
}

/// What an action brings where the best one is .8 above the rule.
fn reward(x: &[f64], a: f64, r: &mut ChaCha8Rng) -> f64 {
    -(a - rule(x) - 0.8).powi(2) + 0.5 * normal(r)
}

/// A world of one way to act: contexts and row number to an action and its density.
macro_rules! right {
    ($name:literal, $act:expr) => {
        Siege {
            name: $name,
            truth: Truth::Gain,
            sight: Sight::Right,
            log: |n, r| {
                rows(n, r, |i, r| {
                    let x = two(r);
                    let act: fn(&[f64], usize, &mut ChaCha8Rng) -> (f64, f64) = $act;
                    let (a, p) = act(&x, i, r);
                    let y = reward(&x, a, r);
                    row(x, (a, p), y)
                })
            },
            policy: bolder,
            ..PLAIN
        }
    };
}

/// Once in so many rows an even draw between two actions, else N(mean, std).
fn explores(share: f64, [from, to]: [f64; 2], (mean, std): (f64, f64), r: &mut ChaCha8Rng) -> (f64, f64) {
    let a = if uniform(r) < share { from + (to - from) * uniform(r) } else { mean + std * normal(r) };
    let even = if (from..=to).contains(&a) { share / (to - from) } else { 0.0 };
    (a, even + (1.0 - share) * density(a, mean, std))
}

fn even([from, to]: [f64; 2], r: &mut ChaCha8Rng) -> (f64, f64) {
    (from + (to - from) * uniform(r), 1.0 / (to - from))
}

/// Draws from N(mean, std) until one lies inside.
fn truncated([from, to]: [f64; 2], (mean, std): (f64, f64), r: &mut ChaCha8Rng) -> (f64, f64) {
    loop {
        let a = mean + std * normal(r);
        if (from..=to).contains(&a) {
            let mass = Family::Normal.cdf(to, mean, std).value - Family::Normal.cdf(from, mean, std).value;
            return (a, density(a, mean, std) / mass);
        }
    }
}

/// Every world.
pub(super) const RIGHT: &[Siege] = &[
    right!("right: normal noise", |x, _, r| gauss(rule(x), 0.7, r)),
    right!("right: Laplace noise", |x, _, r| {
        let z = laplace(r);
        (rule(x) + 0.5 * z, (-z.abs()).exp())
    }),
    right!("right: logistic noise", |x, _, r| {
        let u = uniform(r);
        (rule(x) + 0.4 * (u / (1.0 - u)).ln(), u * (1.0 - u) / 0.4)
    }),
    right!("right: Student noise of three degrees", |x, _, r| {
        let chi: f64 = (0..3).map(|_| normal(r).powi(2)).sum();
        let t = normal(r) / (chi / 3.0).sqrt();
        let p = 2.0 / (std::f64::consts::PI * 3f64.sqrt()) * (1.0 + t * t / 3.0).powi(-2);
        (rule(x) + 0.5 * t, p / 0.5)
    }),
    right!("right: an even range for everyone", |_, _, r| even([-1.5, 2.5], r)),
    right!("right: an even range around the rule", |x, _, r| even([rule(x) - 1.2, rule(x) + 1.2], r)),
    right!("right: nearly the rule, one row in seven of an even range", |x, _, r| {
        explores(0.15, [-2.0, 3.0], (rule(x), 0.1), r)
    }),
    right!("right: nearly the rule, one row in seven evenly around it", |x, _, r| {
        explores(0.15, [rule(x) - 1.5, rule(x) + 1.5], (rule(x), 0.1), r)
    }),
    right!("right: a rule in steps, one row in five of an even range", |x, _, r| {
        explores(0.2, [-2.0, 3.0], ((2.0 * rule(x)).round() / 2.0, 0.15), r)
    }),
    right!("right: explores further in some contexts", |x, _, r| {
        explores(0.2, [rule(x) - 1.0, rule(x) + 1.5 + x[1]], (rule(x), 0.3), r)
    }),
    right!("right: two humps", |x, _, r| {
        let side = if uniform(r) < 0.5 { 0.7 } else { -0.7 };
        let a = rule(x) + side + 0.3 * normal(r);
        (a, 0.5 * density(a, rule(x) + 0.7, 0.3) + 0.5 * density(a, rule(x) - 0.7, 0.3))
    }),
    right!("right: a triangle", |x, _, r| {
        let z = uniform(r) + uniform(r) - 1.0;
        (rule(x) + 1.6 * z, (1.0 - z.abs()) / 1.6)
    }),
    right!("right: narrow in half of the contexts", |x, _, r| {
        gauss(rule(x), if x[1] > 0.0 { 0.35 } else { 1.0 }, r)
    }),
    right!("right: held between bounds by drawing again", |x, _, r| truncated([-1.2, 1.8], (rule(x), 0.8), r)),
    right!("right: a rule that waves", |x, _, r| gauss(rule(x) + 0.5 * (4.0 * x[1]).sin(), 0.6, r)),
    right!("right: densities of three digits", |x, _, r| {
        let (a, p) = gauss(rule(x), 0.7, r);
        let unit = 10f64.powf(p.log10().floor() - 2.0);
        (a, (p / unit).round() * unit)
    }),
    right!("right: actions of two decimals", |x, _, r| {
        let (a, _) = gauss(rule(x), 0.7, r);
        let a = (100.0 * a).round() / 100.0;
        (a, density(a, rule(x), 0.7))
    }),
    right!("right: another spread in every other row", |x, i, r| {
        gauss(rule(x), if i % 2 == 0 { 0.6 } else { 0.8 }, r)
    }),
    Siege {
        name: "right: ln a is normal",
        truth: Truth::Gain,
        sight: Sight::Right,
        log: |n, r| {
            rows(n, r, |_, r| {
                let x = two(r);
                let (ln, p) = gauss(0.3 * x[0], 0.4, r);
                let y = -(ln - 0.3 * x[0] - 0.5).powi(2) + 0.3 * normal(r);
                row(x, (ln.exp(), p / ln.exp()), y)
            })
        },
        policy: || {
            Box::new(Member(
                Family::LogNormal,
                Gauss { mean: |x| (0.3 * x[0] + 0.25).exp(), std: |x| 0.3 * (0.3 * x[0] + 0.25).exp() },
            ))
        },
        ..PLAIN
    },
    Siege {
        name: "right: a gamma law",
        truth: Truth::Gain,
        sight: Sight::Right,
        log: |n, r| {
            rows(n, r, |_, r| {
                let x = two(r);
                let scale = (0.2 * x[0]).exp() / 4.0;
                let z: f64 = (0..4).map(|_| exponential(r)).sum();
                let y = -(z / 4.0 - 1.5).powi(2) + 0.3 * normal(r);
                row(x, (scale * z, z.powi(3) * (-z).exp() / (6.0 * scale)), y)
            })
        },
        policy: || {
            Box::new(Member(
                Family::Gamma,
                Gauss { mean: |x| 1.3 * (0.2 * x[0]).exp(), std: |x| 0.4 * (0.2 * x[0]).exp() },
            ))
        },
        ..PLAIN
    },
    Siege {
        name: "right: twelve contexts in the rule",
        truth: Truth::Gain,
        sight: Sight::Right,
        log: |n, r| {
            rows(n, r, |_, r| {
                let x = normals(12, r);
                let centre = 0.3 * x.iter().sum::<f64>() / 12f64.sqrt();
                let (a, p) = gauss(centre, 0.7, r);
                let y = -(a - centre - 0.8).powi(2) + 0.5 * normal(r);
                row(x, (a, p), y)
            })
        },
        policy: || Box::new(Gauss { mean: |x| 0.3 * x.iter().sum::<f64>() / 12f64.sqrt() + 0.4, std: |_| 0.5 }),
        ..PLAIN
    },
];
