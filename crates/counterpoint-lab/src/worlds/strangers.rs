//! Worlds of a second adversary, written without the rules in view: harm of every rarity at every size, outcomes in odd units, logs that
//! explore, log-normal and gamma logs, policies that are almost rules, holes of 1 to 5% of the contexts.

use super::{Cell, Contexts, GAIN, Gauss, Logging, SAME, WORSE, exponential, normal, uniform};
use rand::rngs::ChaCha8Rng;

/// Mostly near x0, and one row in eight anywhere within 2 of it.
const EXPLORES: Logging =
    Logging::Explores { usual: Gauss { mean: |x| x[0], std: |_| 0.15 }, share: 0.125, reach: 2.0 };

/// Positive actions, ln a normal around .3 x1.
const POSITIVE: Logging = Logging::LogNormal(Gauss { mean: |x| 0.3 * x[1], std: |_| 0.5 });

/// Positive actions that follow a gamma law of shape 4, with mean 2 + x1.
const GAMMA: Logging = Logging::Gamma { shape: 4, mean: |x| 2.0 + x[1] };

/// A log that jumps with the sign of x0.
const JUMPS: Gauss = Gauss { mean: |x| if x[0] > 0.0 { 1.0 } else { -1.0 }, std: |_| 0.35 };

const SHARP: fn(&[f64]) -> f64 = |_| 0.3;

/// Rises near the log's own mean, and is terrible beyond `at` on either side.
fn cliff(d: f64, at: f64, depth: f64) -> f64 {
    0.6 * d - if d.abs() > at { depth } else { 0.0 }
}

/// Happens with probability p.
fn event(p: f64, r: &mut ChaCha8Rng) -> f64 {
    f64::from(uniform(r) < p)
}

/// A chance that is curved in the action and has the mean .0107 `times` under the plain log and the plain policy alike:
/// E a^2 + .52 E a = 1 for both N(0, 1) and N(.5, .49).
fn curved(a: f64) -> f64 {
    0.01 * (a * a + 0.52 * a + 0.0676)
}

/// Losses of size 20 max(a, 0)^2 in 2% of rows, and .3016 a in all: N(0, 1) and N(.8, .49) are both worth -.2.
fn square_loss(_: &[f64], a: f64, r: &mut ChaCha8Rng) -> f64 {
    let loss = if uniform(r) < 0.02 { 20.0 * a.max(0.0).powi(2) } else { 0.0 };
    0.301_635 * a - loss + 0.2 * normal(r)
}

/// Every cell.
pub const STRANGERS: &[Cell] = &[
    Cell { name: "rare .3% cost", outcome: |_, _, r| event(0.003, r), value: Some(0.003), rows: MANY, ..SAME },
    Cell {
        name: "rare .3% harm as negative reward",
        outcome: |_, _, r| -event(0.003, r),
        cost: false,
        value: Some(-0.003),
        rows: MANY,
        ..SAME
    },
    Cell {
        name: "rare 1.07% cost, curved",
        outcome: |_, a, r| event(curved(a), r),
        value: Some(0.010_676),
        rows: MANY,
        ..SAME
    },
    Cell {
        name: "rare 3.2% harm, curved, negative reward",
        outcome: |_, a, r| -event(3.0 * curved(a), r),
        cost: false,
        value: Some(-0.032_028),
        rows: MANY,
        ..SAME
    },
    Cell {
        name: "rare .5% reward",
        outcome: |_, _, r| event(0.005, r),
        cost: false,
        value: Some(0.005),
        rows: MANY,
        ..SAME
    },
    Cell {
        name: "a rare loss with the square of the action",
        policy: Gauss { mean: |_| 0.8, std: |_| 0.7 },
        outcome: square_loss,
        cost: false,
        value: Some(-0.2),
        rows: &[100, 250, 1000, 4000],
        ..SAME
    },
    Cell {
        name: "a rare loss of half a percent that grows with the action",
        policy: Gauss { mean: |_| 0.8, std: |_| 0.7 },
        outcome:
            |_, a, r| if uniform(r) < 0.005 { -80.0 * a.max(0.0) } else { 0.4 / 0.995 * a.max(0.0) } + 0.2 * normal(r),
        cost: false,
        rows: &[250, 1000, 4000],
        ..SAME
    },
    Cell {
        name: "a rare loss of 5% that grows with the action",
        policy: Gauss { mean: |_| 0.8, std: |_| 0.7 },
        outcome:
            |_, a, r| if uniform(r) < 0.05 { -8.0 * a.max(0.0) } else { 0.4 / 0.95 * a.max(0.0) } + 0.2 * normal(r),
        cost: false,
        rows: &[100, 250, 1000],
        ..SAME
    },
    Cell {
        name: "a few huge values of either sign",
        outcome: |_, _, r| normal(r) * if uniform(r) < 0.004 { 300.0 } else { 1.0 },
        rows: &[300, 1000, 4000],
        ..SAME
    },
    Cell {
        name: "lognormal reward, log std 1.5, narrow policy",
        policy: Gauss { mean: |_| 0.4, std: |_| 0.2 },
        outcome: |_, _, r| (1.5 * normal(r)).exp(),
        cost: false,
        value: Some(3.080_216_848_918_031),
        rows: &[300, 1000, 4000],
        ..SAME
    },
    Cell {
        name: "lognormal cost, log std 1.5, narrow policy",
        policy: Gauss { mean: |_| 0.4, std: |_| 0.2 },
        outcome: |_, _, r| (1.5 * normal(r)).exp(),
        value: Some(3.080_216_848_918_031),
        rows: &[300, 1000, 4000],
        ..SAME
    },
    Cell {
        name: "almost a rule, normal cost",
        policy: Gauss { mean: |_| 0.3, std: |_| 0.05 },
        rows: &[1000, 4000],
        ..SAME
    },
    Cell {
        name: "almost a rule, rare 2% cost",
        policy: Gauss { mean: |_| 0.3, std: |_| 0.05 },
        outcome: |_, _, r| event(0.02, r),
        value: Some(0.02),
        rows: &[1000, 4000],
        ..SAME
    },
    Cell {
        name: "far out, near the gate, skewed cost",
        policy: Gauss { mean: |_| 1.6, std: |_| 0.6 },
        outcome: |_, _, r| exponential(r),
        value: Some(1.0),
        rows: &[500, 1000, 4000],
        ..SAME
    },
    Cell {
        name: "far out, near the gate, skewed reward",
        policy: Gauss { mean: |_| 1.6, std: |_| 0.6 },
        outcome: |_, _, r| exponential(r),
        cost: false,
        value: Some(1.0),
        rows: &[500, 1000, 4000],
        ..SAME
    },
    Cell {
        name: "std 1.35, weights without a fourth moment, skewed cost",
        policy: Gauss { mean: |_| 0.2, std: |_| 1.35 },
        outcome: |_, _, r| exponential(r),
        value: Some(1.0),
        rows: &[300, 1000, 4000],
        ..SAME
    },
    Cell {
        name: "curved, equal value, cost",
        outcome: |_, a, r| a * a + 0.52 * a + 0.3 * normal(r),
        value: Some(1.0),
        rows: &[100, 250, 1000],
        ..SAME
    },
    Cell {
        name: "curved, equal value, reward",
        outcome: |_, a, r| a * a + 0.52 * a + 0.3 * normal(r),
        cost: false,
        value: Some(1.0),
        rows: &[100, 250, 1000],
        ..SAME
    },
    Cell {
        name: "in units of a billion, skewed reward",
        outcome: |_, _, r| 1e9 * (exponential(r) + 40.0),
        cost: false,
        value: Some(4.1e10),
        ..SAME
    },
    Cell {
        name: "in units of a billionth, cost",
        outcome: |_, _, r| 1e-9 * normal(r) + 1e-7,
        value: Some(1e-7),
        ..SAME
    },
    Cell {
        name: "explores, shifted, context reward",
        logging: EXPLORES,
        policy: Gauss { mean: |x| x[0] + 0.1, std: |_| 0.2 },
        outcome: |x, _, r| x[0] + x[0] * x[0] + 0.5 * normal(r),
        cost: false,
        value: Some(1.0),
        rows: &[300, 1000, 4000],
        ..SAME
    },
    Cell {
        name: "explores, policy where it explores, rare 3% cost",
        logging: EXPLORES,
        policy: Gauss { mean: |x| x[0] + 0.7, std: |_| 0.3 },
        outcome: |_, _, r| event(0.03, r),
        value: Some(0.03),
        rows: &[1000, 4000],
        ..SAME
    },
    Cell {
        name: "explores, policy where it explores, normal reward",
        logging: EXPLORES,
        policy: Gauss { mean: |x| x[0] + 0.7, std: |_| 0.3 },
        cost: false,
        rows: &[1000, 4000],
        ..SAME
    },
    Cell {
        name: "log-normal log, shifted, skewed cost",
        logging: POSITIVE,
        policy: Gauss { mean: |x| (0.3 * x[1]).exp() * 1.1, std: |_| 0.3 },
        outcome: |_, _, r| exponential(r),
        value: Some(1.0),
        rows: &[300, 1000],
        ..SAME
    },
    Cell {
        name: "gamma log, shifted, context cost",
        logging: GAMMA,
        policy: Gauss { mean: |x| 0.9 * (2.0 + x[1]), std: |x| 0.3 * (2.0 + x[1]) },
        outcome: |x, _, r| x[1] * 2.0 + normal(r),
        rows: &[300, 1000],
        ..SAME
    },
    Cell {
        name: "50 contexts, skewed reward",
        contexts: Contexts::Normals(50),
        logging: Logging::Normal(Gauss { mean: |x| 0.3 * (x[0] - x[1]), std: |_| 0.8 }),
        policy: Gauss { mean: |x| 0.3 * (x[0] - x[1]) + 0.2 * x[2], std: |_| 0.7 },
        outcome: |x, _, r| x[0] + exponential(r),
        cost: false,
        value: Some(1.0),
        rows: &[300, 1000],
        ..SAME
    },
    Cell {
        name: "spread exp(x0), policy of constant spread, context cost",
        logging: Logging::Normal(Gauss { mean: |_| 0.0, std: |x| (0.6 * x[0]).exp() }),
        policy: Gauss { mean: |_| 0.1, std: |_| 0.8 },
        outcome: |x, _, r| x[0] + 0.5 * normal(r),
        rows: &[500, 2000],
        ..SAME
    },
    Cell {
        name: "spread exp(x0), policy follows, -context cost",
        logging: Logging::Normal(Gauss { mean: |_| 0.0, std: |x| (0.6 * x[0]).exp() }),
        policy: Gauss { mean: |x| 0.4 * (0.6 * x[0]).exp(), std: |x| 0.8 * (0.6 * x[0]).exp() },
        outcome: |x, _, r| -x[0] + 0.5 * normal(r),
        rows: &[300, 1000],
        ..SAME
    },
    Cell {
        name: "noise exp(a), mean zero, cost",
        outcome: |_, a, r| a.exp() * normal(r),
        policy: Gauss { mean: |_| 0.7, std: |_| 0.8 },
        rows: &[100, 250, 1000, 4000],
        ..SAME
    },
    Cell {
        name: "losses that grow as exp(a), skewed, reward",
        outcome: |_, a, r| a.exp() * (1.0 - exponential(r)),
        policy: Gauss { mean: |_| 0.7, std: |_| 0.8 },
        cost: false,
        rows: &[100, 250, 1000, 4000],
        ..SAME
    },
    Cell {
        name: "sixty rows, skewed losses",
        outcome: |_, _, r| 1.0 - exponential(r),
        policy: Gauss { mean: |_| 0.3, std: |_| 0.9 },
        cost: false,
        rows: &[60, 100],
        ..SAME
    },
    // worse
    Cell {
        name: "1% of contexts, a band, terrible",
        policy: Gauss { mean: |x| x[0] + if (0.48..0.5).contains(&x[1]) { 2.1 } else { 0.1 }, std: SHARP },
        outcome: |x, a, r| cliff(a - x[0], 1.35, 30.0) + 0.3 * normal(r),
        rows: &[300, 1000, 4000],
        ..WORSE
    },
    Cell {
        name: "half of a category of 3%",
        contexts: Contexts::Categories,
        logging: Logging::Normal(Gauss { mean: |_| 0.0, std: |_| 0.4 }),
        policy: Gauss { mean: |x| if x[0] == 7.0 && x[1] > 0.0 { -2.0 } else { 0.15 }, std: SHARP },
        outcome: |_, a, r| cliff(a, 1.3, 20.0) + 0.3 * normal(r),
        rows: &[300, 1000, 4000],
        ..WORSE
    },
    Cell {
        name: "a log that explores, left in 3% of contexts",
        logging: EXPLORES,
        policy: Gauss { mean: |x| x[0] + if x[1] < -0.94 { 2.6 } else { 0.1 }, std: |_| 0.15 },
        outcome: |x, a, r| cliff(a - x[0], 2.1, 9.0) + 0.3 * normal(r),
        rows: &[300, 1000, 4000],
        ..WORSE
    },
    Cell {
        name: "a log-normal log, left downwards in 5% of contexts",
        logging: POSITIVE,
        policy: Gauss {
            mean: |x| if x[0] > 1.65 { 0.08 } else { 1.25 * (0.3 * x[1]).exp() },
            std: |x| if x[0] > 1.65 { 0.03 } else { 0.3 },
        },
        outcome: |_, a, r| 0.6 * a - if a < 0.2 { 9.0 } else { 0.0 } + 0.3 * normal(r),
        rows: &[300, 1000],
        ..WORSE
    },
    Cell {
        name: "a gamma log, left upwards in 3% of contexts",
        logging: GAMMA,
        policy: Gauss { mean: |x| (2.0 + x[1]) * if x[0] > 1.9 { 4.0 } else { 1.1 }, std: |x| 0.3 * (2.0 + x[1]) },
        outcome: |x, a, r| a / (2.0 + x[1]) - if a > 3.0 * (2.0 + x[1]) { 15.0 } else { 0.0 } + 0.3 * normal(r),
        rows: &[300, 1000],
        ..WORSE
    },
    Cell {
        name: "a log that jumps, left in 3% of contexts",
        logging: Logging::Normal(JUMPS),
        policy: Gauss { mean: |x| (JUMPS.mean)(x) * if x[0] > 1.9 { -1.0 } else { 1.0 } + 0.15, std: |_| 0.28 },
        outcome: |x, a, r| cliff(a - (JUMPS.mean)(x), 1.2, 9.0) + 0.3 * normal(r),
        rows: &[300, 1000],
        ..WORSE
    },
    Cell {
        name: "a disc of 2% of contexts of a uniform log",
        logging: Logging::Uniform { mean: |x| 0.5 * x[0], reach: 0.8 },
        policy: Gauss {
            mean: |x| 0.5 * x[0] + if x[0].powi(2) + x[1].powi(2) < 0.035 { 1.3 } else { 0.15 },
            std: |_| 0.15,
        },
        outcome: |x, a, r| cliff(a - 0.5 * x[0], 0.85, 12.0) + 0.3 * normal(r),
        rows: &[300, 1000, 4000],
        ..WORSE
    },
    Cell {
        name: "both ends of x0, half a std beyond a truncated log",
        logging: Logging::Truncated(Gauss { mean: |x| x[0], std: |_| 0.5 }, 2.0),
        policy: Gauss { mean: |x| x[0] + if x[0].abs() > 2.0 { 1.4 } else { 0.15 }, std: |_| 0.2 },
        outcome: |x, a, r| cliff(a - x[0], 1.02, 12.0) + 0.3 * normal(r),
        rows: &[300, 1000],
        ..WORSE
    },
    Cell {
        name: "a corner of 20 contexts, 3%",
        contexts: Contexts::Normals(20),
        logging: Logging::Normal(Gauss { mean: |x| 0.5 * x[0] - 0.5 * x[1], std: |_| 0.4 }),
        policy: Gauss {
            mean: |x| 0.5 * x[0] - 0.5 * x[1] + if x[9] > 1.0 && x[10] > 0.9 { 2.2 } else { 0.12 },
            std: SHARP,
        },
        outcome: |x, a, r| cliff(a - 0.5 * x[0] + 0.5 * x[1], 1.35, 12.0) + 0.3 * normal(r),
        rows: &[300, 1000, 4000],
        ..WORSE
    },
    Cell {
        name: "rare harm doubles, 1% to 2%",
        policy: Gauss { mean: |_| 0.7, std: |_| 0.8 },
        logging: SAME.logging,
        outcome: |_, a, r| 0.02 * a - 3.0 * event((0.008 * (0.9 * a).exp()).min(0.5), r) + 0.05 * normal(r),
        rows: &[300, 1000, 4000],
        ..WORSE
    },
    // better
    Cell {
        name: "better, a log that explores",
        logging: EXPLORES,
        policy: Gauss { mean: |x| x[0] + 0.1, std: |_| 0.15 },
        outcome: |x, a, r| 1.2 * (a - x[0]) + 0.3 * normal(r),
        value: Some(0.12),
        rows: &[300, 1000],
        ..GAIN
    },
    Cell {
        name: "better, where the log explores",
        logging: EXPLORES,
        policy: Gauss { mean: |x| x[0] + 0.7, std: |_| 0.3 },
        outcome: |x, a, r| 0.8 * (a - x[0]) + 0.4 * normal(r),
        value: Some(0.56),
        rows: &[1000, 4000],
        ..GAIN
    },
    Cell {
        name: "better, log-normal log",
        logging: POSITIVE,
        policy: Gauss { mean: |x| 1.35 * (0.3 * x[1]).exp(), std: |_| 0.35 },
        outcome: |_, a, r| 0.8 * a.ln().max(-3.0) + 0.4 * normal(r),
        rows: &[300, 1000],
        ..GAIN
    },
    Cell {
        name: "better, gamma log",
        logging: GAMMA,
        policy: Gauss { mean: |x| 1.15 * (2.0 + x[1]), std: |x| 0.4 * (2.0 + x[1]) },
        outcome: |x, a, r| 0.5 * a / (2.0 + x[1]) + 0.3 * normal(r),
        rows: &[300, 1000],
        ..GAIN
    },
    Cell {
        name: "better, a log that jumps",
        logging: Logging::Normal(JUMPS),
        policy: Gauss { mean: |x| (JUMPS.mean)(x) + 0.15, std: |_| 0.3 },
        outcome: |x, a, r| 0.6 * (a - (JUMPS.mean)(x)) + 0.3 * normal(r),
        value: Some(0.09),
        rows: &[300, 1000],
        ..GAIN
    },
    Cell {
        name: "better, almost a rule",
        policy: Gauss { mean: |_| 0.5, std: |_| 0.08 },
        outcome: |_, a, r| -(a - 0.5).powi(2) + 0.5 * normal(r),
        value: Some(-0.0064),
        rows: &[1000, 4000],
        ..GAIN
    },
    Cell {
        name: "better, rare 2% harm falls to a third",
        policy: Gauss { mean: |_| -0.8, std: |_| 0.8 },
        outcome: |_, a, r| event((0.012 * (1.1 * a).exp()).min(0.8), r),
        cost: true,
        rows: &[1000, 4000],
        ..GAIN
    },
    Cell {
        name: "better, categories",
        contexts: Contexts::Categories,
        logging: Logging::Normal(Gauss { mean: |x| 0.2 * (x[0] % 5.0), std: |_| 0.4 }),
        policy: Gauss { mean: |x| 0.2 * (x[0] % 5.0) + 0.15, std: |_| 0.35 },
        outcome: |x, a, r| 0.6 * (a - 0.2 * (x[0] % 5.0)) + 0.3 * normal(r),
        value: Some(0.09),
        rows: &[300, 1000],
        ..GAIN
    },
];

/// Sizes at which rare outcomes are looked at.
const MANY: &[usize] = &[300, 1000, 4000];
