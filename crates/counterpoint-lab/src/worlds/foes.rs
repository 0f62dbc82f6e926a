//! Worlds of an adversary: small parts of the contexts in which a policy leaves the log, logs of every shape, outcomes and weights whose
//! errors rest on few rows. They came after the first rules, and what those missed here shaped the look at support: for that, they are no
//! longer fresh.

use super::{Cell, Contexts, GAIN, Gauss, Logging, SAME, WORSE, exponential, normal, uniform};
use rand::rngs::ChaCha8Rng;

/// Rises near the log's own mean, and is terrible beyond 1.3 on either side.
fn cliff(d: f64) -> f64 {
    0.6 * d - if d.abs() > 1.3 { 9.0 } else { 0.0 }
}

/// A policy near the log's mean, but `away` from it where it leaves the log.
fn leaves(here: bool, away: f64) -> f64 {
    if here { away } else { 0.2 }
}

/// A reward of the distance from the log's mean, which is the first context.
fn of_distance(x: &[f64], a: f64, r: &mut ChaCha8Rng) -> f64 {
    cliff(a - x[0]) + 0.3 * normal(r)
}

/// A reward of the action itself.
fn of_action(_: &[f64], a: f64, r: &mut ChaCha8Rng) -> f64 {
    cliff(a) + 0.3 * normal(r)
}

/// A mean that is linear in five contexts.
fn plane(x: &[f64]) -> f64 {
    0.5 * (x[0] + x[1] - x[2]) + 0.3 * (x[3] - x[4])
}

fn of_plane(x: &[f64], a: f64, r: &mut ChaCha8Rng) -> f64 {
    cliff(a - plane(x)) + 0.3 * normal(r)
}

/// Almost always 0, and sometimes large without a variance.
fn inflated(_: &[f64], _: f64, r: &mut ChaCha8Rng) -> f64 {
    if uniform(r) < 0.1 { uniform(r).powf(-1.0 / 1.8) } else { 0.0 }
}

fn rare_2(_: &[f64], _: f64, r: &mut ChaCha8Rng) -> f64 {
    f64::from(uniform(r) < 0.02)
}

const STD_3: fn(&[f64]) -> f64 = |_| 0.3;

/// Every cell.
pub const FOES: &[Cell] = &[
    Cell {
        name: "a disc of 4% of contexts",
        policy: Gauss { mean: |x| x[0] + leaves((x[0] - 0.3).powi(2) + x[1] * x[1] < 0.075, 2.0), std: STD_3 },
        outcome: of_distance,
        rows: &[300, 1000],
        ..WORSE
    },
    Cell {
        name: "a category of 3% of rows",
        contexts: Contexts::Categories,
        logging: Logging::Normal(Gauss { mean: |_| 0.0, std: |_| 0.4 }),
        policy: Gauss { mean: |x| leaves(x[0] == 7.0, 2.0), std: STD_3 },
        outcome: of_action,
        rows: &[300, 1000],
        ..WORSE
    },
    Cell {
        name: "a corner of 10 contexts",
        contexts: Contexts::Normals(10),
        policy: Gauss { mean: |x| plane(x) + leaves(x[5] > 0.5 && x[6] > 0.5 && x[7] > 0.0, 2.0), std: STD_3 },
        logging: Logging::Normal(Gauss { mean: plane, std: |_| 0.4 }),
        outcome: of_plane,
        rows: &[300, 1000],
        ..WORSE
    },
    Cell {
        name: "a corner of 30 contexts",
        contexts: Contexts::Normals(30),
        policy: Gauss { mean: |x| plane(x) + leaves(x[20] > 0.5 && x[21] > 0.5 && x[2] > 0.0, -2.0), std: STD_3 },
        logging: Logging::Normal(Gauss { mean: plane, std: |_| 0.4 }),
        outcome: of_plane,
        rows: &[300, 1000],
        ..WORSE
    },
    Cell {
        name: "opposite signs of two contexts",
        contexts: Contexts::Normals(10),
        policy: Gauss { mean: |x| x[0] + leaves(x[0] * x[1] < -1.2, 2.0), std: STD_3 },
        outcome: of_distance,
        rows: &[300, 1000],
        ..WORSE
    },
    Cell {
        name: "the gap of a log of two humps, one side",
        logging: Logging::Humps { mean: |_| 0.0, at: &[-1.0, 1.0], std: 0.25 },
        policy: Gauss { mean: |x| if x[0] > 1.5 { 0.0 } else { 1.1 }, std: |_| 0.2 },
        outcome: |_, a, r| 0.6 * a - if a.abs() < 0.5 { 20.0 } else { 0.0 } + 0.3 * normal(r),
        rows: &[300, 1000],
        ..WORSE
    },
    Cell {
        name: "between the levels of a log of five",
        logging: Logging::Humps { mean: |_| 0.0, at: &[-2.0, -1.0, 0.0, 1.0, 2.0], std: 0.08 },
        policy: Gauss { mean: |x| if x[1] > 0.9 { 0.5 } else { 1.02 }, std: |_| 0.07 },
        outcome: |_, a, r| 0.3 * a - if (a - 0.5).abs() < 0.15 { 20.0 } else { 0.0 } + 0.3 * normal(r),
        rows: &[500, 1000],
        ..WORSE
    },
    Cell {
        name: "beyond a uniform log that follows x, one side",
        logging: Logging::Uniform { mean: |x| x[0], reach: 1.0 },
        policy: Gauss { mean: |x| x[0] + leaves(x[0] > 1.6, 1.9), std: |_| 0.2 },
        outcome: of_distance,
        rows: &[300, 1000],
        ..WORSE
    },
    Cell {
        name: "beyond a truncated log, one side",
        logging: Logging::Truncated(Gauss { mean: |x| x[0], std: |_| 0.6 }, 1.5),
        policy: Gauss { mean: |x| x[0] + leaves(x[1] > 0.85, -1.8), std: |_| 0.25 },
        outcome: of_distance,
        rows: &[300, 1000],
        ..WORSE
    },
    Cell {
        name: "a band of a log whose spread follows x1",
        logging: Logging::Normal(Gauss { mean: |x| x[0], std: |x| 0.15 + 0.4 * x[1].abs() }),
        policy: Gauss {
            mean: |x| x[0] + if x[1].abs() < 0.07 { 1.5 } else { 0.3 * (0.15 + 0.4 * x[1].abs()) },
            std: |x| 0.7 * (0.15 + 0.4 * x[1].abs()),
        },
        outcome: of_distance,
        rows: &[300, 1000],
        ..WORSE
    },
    Cell {
        name: "a band of a log of sin(4x)",
        logging: Logging::Normal(Gauss { mean: |x| (4.0 * x[0]).sin(), std: |_| 0.3 }),
        policy: Gauss {
            mean: |x| (4.0 * x[0]).sin() + if (0.5..0.65).contains(&x[0]) { 1.8 } else { 0.12 },
            std: |_| 0.22,
        },
        outcome: |x, a, r| cliff(a - (4.0 * x[0]).sin()) + 0.3 * normal(r),
        rows: &[300, 1000],
        ..WORSE
    },
    Cell {
        name: "a band of a log of a product",
        contexts: Contexts::Normals(5),
        logging: Logging::Normal(Gauss { mean: |x| x[0] * x[1], std: |_| 0.4 }),
        policy: Gauss { mean: |x| x[0] * x[1] + leaves((1.0..1.25).contains(&x[2]), 2.0), std: STD_3 },
        outcome: |x, a, r| cliff(a - x[0] * x[1]) + 0.3 * normal(r),
        rows: &[300, 1000],
        ..WORSE
    },
    Cell {
        name: "heavy tails reach everywhere, once",
        logging: Logging::Heavy(Gauss { mean: |x| x[0], std: |_| 0.3 }),
        policy: Gauss { mean: |x| x[0] + leaves(x[1] > 0.9, 2.5), std: |_| 0.2 },
        outcome: of_distance,
        rows: &[300, 1000],
        ..WORSE
    },
    Cell {
        name: "three stds out everywhere, a cliff at four",
        policy: Gauss { mean: |x| x[0] + 0.9, std: |_| 0.25 },
        outcome: |x, a, r| 0.2 * (a - x[0]) - if a - x[0] > 1.25 { 9.0 } else { 0.0 } + 0.3 * normal(r),
        rows: &[300, 1000],
        ..WORSE
    },
    Cell { name: "zero-inflated pareto 1.8 cost", outcome: inflated, value: Some(0.225), ..SAME },
    Cell { name: "zero-inflated pareto 1.8 reward", outcome: inflated, cost: false, value: Some(0.225), ..SAME },
    Cell {
        name: "rare 2% harm as negative reward",
        outcome: |x, a, r| -rare_2(x, a, r),
        cost: false,
        value: Some(-0.02),
        ..SAME
    },
    Cell { name: "shifted by 1.2 stds, normal cost", policy: Gauss { mean: |_| 1.2, std: |_| 1.0 }, ..SAME },
    Cell {
        name: "shifted by 1.2 stds, skewed reward",
        policy: Gauss { mean: |_| 1.2, std: |_| 1.0 },
        outcome: |_, _, r| exponential(r),
        cost: false,
        value: Some(1.0),
        ..SAME
    },
    Cell {
        name: "shifted where outcomes are large, cost",
        policy: Gauss { mean: |x| if x[0] > 1.0 { 1.5 } else { 0.1 }, std: |_| 0.9 },
        outcome: |x, _, r| 3.0 * x[0].max(0.0).powi(2) + 0.5 * normal(r),
        value: Some(1.5),
        ..SAME
    },
    Cell {
        name: "shifted where outcomes are large, reward",
        policy: Gauss { mean: |x| if x[0] > 1.0 { 1.5 } else { 0.1 }, std: |_| 0.9 },
        outcome: |x, _, r| 3.0 * x[0].max(0.0).powi(2) + 0.5 * normal(r),
        cost: false,
        value: Some(1.5),
        ..SAME
    },
    Cell {
        name: "noise that grows with the action, cost",
        policy: Gauss { mean: |_| 0.8, std: |_| 0.7 },
        outcome: |_, a, r| (0.2 + a * a) * normal(r),
        ..SAME
    },
    Cell {
        name: "skewed noise that grows with the action, cost",
        policy: Gauss { mean: |_| 0.8, std: |_| 0.7 },
        outcome: |_, a, r| (0.2 + a * a) * (exponential(r) - 1.0),
        ..SAME
    },
    Cell {
        name: "skewed noise that grows with the action, reward",
        policy: Gauss { mean: |_| 0.8, std: |_| 0.7 },
        outcome: |_, a, r| (0.2 + a * a) * (exponential(r) - 1.0),
        cost: false,
        ..SAME
    },
    Cell {
        name: "a rare loss that grows with the action, no gain",
        policy: Gauss { mean: |_| 0.8, std: |_| 0.7 },
        outcome:
            |_, a, r| if uniform(r) < 0.02 { -20.0 * a.max(0.0) } else { 0.4 / 0.98 * a.max(0.0) } + 0.2 * normal(r),
        cost: false,
        ..SAME
    },
    Cell {
        name: "10 contexts, policy leans on all, context cost",
        contexts: Contexts::Normals(10),
        policy: Gauss { mean: |x| 0.25 * x.iter().sum::<f64>(), std: |_| 0.8 },
        outcome: |x, _, r| x[0] + x[1] * x[1] + 0.5 * normal(r),
        value: Some(1.0),
        ..SAME
    },
    Cell {
        name: "30 contexts, policy leans on all, context reward",
        contexts: Contexts::Normals(30),
        policy: Gauss { mean: |x| 0.12 * x.iter().sum::<f64>(), std: |_| 0.8 },
        outcome: |x, _, r| x[0] + x[1] * x[1] + 0.5 * normal(r),
        cost: false,
        value: Some(1.0),
        ..SAME
    },
    Cell {
        name: "two humps, policy on one, skewed cost",
        logging: Logging::Humps { mean: |_| 0.0, at: &[-1.0, 1.0], std: 0.3 },
        policy: Gauss { mean: |_| 1.0, std: |_| 0.25 },
        outcome: |_, _, r| exponential(r),
        value: Some(1.0),
        ..SAME
    },
    Cell {
        name: "heavy-tailed log, normal policy, normal cost",
        logging: Logging::Heavy(Gauss { mean: |_| 0.0, std: |_| 0.7 }),
        ..SAME
    },
    Cell {
        name: "truncated log, inside, rare 2% cost",
        logging: Logging::Truncated(Gauss { mean: |_| 0.0, std: |_| 1.0 }, 2.0),
        policy: Gauss { mean: |_| 0.4, std: |_| 0.5 },
        outcome: rare_2,
        value: Some(0.02),
        ..SAME
    },
    Cell { name: "hundred rows, normal cost", rows: &[100], ..SAME },
    Cell {
        name: "hundred rows, skewed reward",
        outcome: |_, _, r| exponential(r),
        cost: false,
        value: Some(1.0),
        rows: &[100],
        ..SAME
    },
    Cell {
        name: "hundred rows, rare 3% cost",
        outcome: |_, _, r| f64::from(uniform(r) < 0.03),
        value: Some(0.03),
        rows: &[100],
        ..SAME
    },
    Cell {
        name: "better, 30 contexts",
        contexts: Contexts::Normals(30),
        logging: Logging::Normal(Gauss { mean: plane, std: |_| 0.4 }),
        policy: Gauss { mean: |x| plane(x) + 0.2, std: |_| 0.35 },
        outcome: |x, a, r| 0.6 * (a - plane(x)) + x[0] + 0.3 * normal(r),
        value: Some(0.12),
        rows: &[300, 1000],
        ..GAIN
    },
    Cell {
        name: "better, two humps",
        logging: Logging::Humps { mean: |x| 0.3 * x[0], at: &[-0.6, 0.6], std: 0.3 },
        policy: Gauss { mean: |x| 0.3 * x[0] + 0.5, std: |_| 0.35 },
        outcome: |_, a, r| 0.4 * a + 0.5 * normal(r),
        value: Some(0.2),
        ..GAIN
    },
    Cell {
        name: "better, a log of sin(4x)",
        logging: Logging::Normal(Gauss { mean: |x| (4.0 * x[0]).sin(), std: |_| 0.3 }),
        policy: Gauss { mean: |x| (4.0 * x[0]).sin() + 0.12, std: |_| 0.25 },
        outcome: |x, a, r| 0.6 * (a - (4.0 * x[0]).sin()) + 0.3 * normal(r),
        value: Some(0.072),
        ..GAIN
    },
    Cell {
        name: "better, uniform log",
        logging: Logging::Uniform { mean: |x| x[0], reach: 1.0 },
        policy: Gauss { mean: |x| x[0] + 0.3, std: |_| 0.25 },
        outcome: |x, a, r| 0.5 * (a - x[0]) + 0.5 * normal(r),
        value: Some(0.15),
        ..GAIN
    },
    Cell {
        name: "better, spread follows x1",
        logging: Logging::Normal(Gauss { mean: |x| x[0], std: |x| 0.15 + 0.4 * x[1].abs() }),
        policy: Gauss { mean: |x| x[0] + 0.5 * (0.15 + 0.4 * x[1].abs()), std: |x| 0.7 * (0.15 + 0.4 * x[1].abs()) },
        outcome: |x, a, r| 0.6 * (a - x[0]) + 0.3 * normal(r),
        value: Some(0.105),
        ..GAIN
    },
];
