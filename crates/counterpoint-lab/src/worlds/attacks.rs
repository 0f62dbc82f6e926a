//! Worlds made to fool a certificate: missing mass in few contexts, harm that is rarely seen, outcomes without a variance.

use super::{Cell, Gauss, Logging, SAME, WORSE, exponential, normal, uniform};

/// What the log does in most of these worlds.
const PLAIN: Gauss = Gauss { mean: |_| 0.0, std: |_| 1.0 };

/// A cell of a normal log with a worse policy.
const fn worse(name: &'static str, [log, policy]: [Gauss; 2], outcome: super::Chance, rows: &'static [usize]) -> Cell {
    Cell { name, logging: Logging::Normal(log), policy, outcome, rows, ..WORSE }
}

/// A cell of the plain log in which nothing depends on the action.
const fn idle(name: &'static str, outcome: super::Chance, cost: bool, value: f64) -> Cell {
    Cell { name, outcome, cost, value: Some(value), rows: &[300, 1000], ..SAME }
}

/// Rises near the log's own mean, and is terrible beyond a distance.
fn cliff(d: f64, at: f64, depth: f64) -> f64 {
    0.6 * d - if d.abs() > at { depth } else { 0.0 }
}

fn wave(x: &[f64]) -> f64 {
    (3.0 * x[0]).sin()
}

/// Every cell.
pub const ATTACKS: &[Cell] = &[
    worse(
        "2% of contexts, terrible",
        [
            Gauss { mean: |x| x[0], std: |_| 0.4 },
            Gauss { mean: |x| x[0] + if x[0] > 2.05 { 2.0 } else { 0.2 }, std: |_| 0.3 },
        ],
        |x, a, r| cliff(a - x[0], 1.3, 20.0) + 0.3 * normal(r),
        &[300, 1000],
    ),
    worse(
        "a band of 5% of contexts",
        [
            Gauss { mean: |x| x[0], std: |_| 0.4 },
            Gauss { mean: |x| x[0] + if (0.2..0.3).contains(&x[1]) { -1.9 } else { 0.2 }, std: |_| 0.3 },
        ],
        |x, a, r| cliff(a - x[0], 1.3, 9.0) + 0.3 * normal(r),
        &[300, 1000],
    ),
    worse(
        "an interaction of two contexts",
        [
            Gauss { mean: |x| x[0], std: |_| 0.4 },
            Gauss { mean: |x| x[0] + if x[0] * x[1] > 0.8 { 2.0 } else { 0.2 }, std: |_| 0.3 },
        ],
        |x, a, r| cliff(a - x[0], 1.3, 9.0) + 0.3 * normal(r),
        &[300, 1000],
    ),
    worse(
        "a corner of a log that waves",
        [
            Gauss { mean: wave, std: |_| 0.3 },
            Gauss { mean: |x| wave(x) + if x[0] > 1.2 && x[1] > 0.0 { 1.5 } else { 0.15 }, std: |_| 0.2 },
        ],
        |x, a, r| cliff(a - wave(x), 1.0, 6.0) + 0.3 * normal(r),
        &[300, 1000],
    ),
    worse(
        "one side of a log that bends",
        [
            Gauss { mean: |x| x[0] * x[0], std: |_| 0.3 },
            Gauss { mean: |x| x[0] * x[0] + if x[0] > 1.5 { -1.6 } else { 0.15 }, std: |_| 0.2 },
        ],
        |x, a, r| cliff(a - x[0] * x[0], 1.0, 6.0) + 0.3 * normal(r),
        &[300, 1000],
    ),
    worse(
        "a small gain hides a rare loss of 100",
        [PLAIN, Gauss { mean: |_| 0.7, std: |_| 0.6 }],
        |_, a, r| 0.1 * a - if uniform(r) < 0.004 * a.max(0.0).powi(2) { 100.0 } else { 0.0 } + 0.1 * normal(r),
        &[300, 1000],
    ),
    worse(
        "rare harm rises, 1.05% to 1.84%",
        [PLAIN, Gauss { mean: |_| 0.8, std: |_| 0.7 }],
        |_, a, r| -f64::from(uniform(r) < 0.01 * (0.7 * a - 0.2).exp().min(5.0)),
        &[300, 1000],
    ),
    idle(
        "a rare loss of 100 beside noise, 1%",
        |_, _, r| if uniform(r) < 0.01 { -100.0 } else { 0.1 * normal(r) },
        false,
        -1.0,
    ),
    idle("pareto 1.5 cost", |_, _, r| uniform(r).powf(-1.0 / 1.5), true, 3.0),
    idle("pareto 1.8 reward", |_, _, r| uniform(r).powf(-1.0 / 1.8), false, 2.25),
    idle("lognormal cost, log std 2", |_, _, r| (2.0 * normal(r)).exp(), true, 7.38905609893065),
    idle(
        "gamma-like reward, three exponentials",
        |_, _, r| exponential(r) + exponential(r) + exponential(r),
        false,
        3.0,
    ),
    Cell {
        name: "a log that hardly varies",
        logging: Logging::Normal(Gauss { mean: |x| x[0], std: |_| 0.02 }),
        policy: Gauss { mean: |x| x[0] + 0.01, std: |_| 0.015 },
        outcome: |x, _, r| x[0].abs() + 0.5 * normal(r),
        value: Some(0.7978845608028654),
        rows: &[300, 1000],
        ..SAME
    },
];
