//! The cells of the first table: outcomes, logs and policies.

use super::{Cell, GAIN, Gauss, Logging, SAME, WORSE, exponential, normal, uniform};
use rand::rngs::ChaCha8Rng;

/// A log that follows the first context.
const FOLLOWS: Logging = Logging::Normal(Gauss { mean: |x| x[0], std: |_| 0.4 });

/// A log whose spread follows the first context.
const SPREADS: Logging = Logging::Normal(Gauss { mean: |_| 0.0, std: |x| 0.3 + x[0].abs() });

/// Uniform between -1 and 1.
const UNIFORM: Logging = Logging::Uniform { mean: |_| 0.0, reach: 1.0 };

/// The mean of |x| for a standard normal x.
pub(super) const MEAN_ABS: f64 = 0.7978845608028654;

fn by_context(x: &[f64], _: f64, r: &mut ChaCha8Rng) -> f64 {
    x[0].abs() + 0.5 * normal(r)
}

fn against_context(x: &[f64], _: f64, r: &mut ChaCha8Rng) -> f64 {
    -x[0].abs() + 0.5 * normal(r)
}

fn skewed(_: &[f64], _: f64, r: &mut ChaCha8Rng) -> f64 {
    exponential(r)
}

fn rare_1(_: &[f64], _: f64, r: &mut ChaCha8Rng) -> f64 {
    f64::from(uniform(r) < 0.01)
}

fn rare_3(_: &[f64], _: f64, r: &mut ChaCha8Rng) -> f64 {
    f64::from(uniform(r) < 0.03)
}

/// Rises near the log's own mean and falls where the log does not go.
fn far(d: f64) -> f64 {
    0.6 * d - 4.0 * (d.abs() - 1.0).max(0.0)
}

/// Every cell.
pub const CELLS: &[Cell] = &[
    Cell { name: "normal log, shifted, normal cost", ..SAME },
    Cell { name: "normal log, shifted, normal reward", cost: false, ..SAME },
    Cell { name: "normal log, shifted, context cost", outcome: by_context, value: Some(MEAN_ABS), ..SAME },
    Cell {
        name: "normal log, shifted, context reward",
        outcome: by_context,
        cost: false,
        value: Some(MEAN_ABS),
        ..SAME
    },
    Cell { name: "normal log, shifted, skewed cost", outcome: skewed, value: Some(1.0), ..SAME },
    Cell { name: "normal log, shifted, skewed reward", outcome: skewed, cost: false, value: Some(1.0), ..SAME },
    Cell {
        name: "normal log, shifted, pareto cost",
        outcome: |_, _, r| uniform(r).powf(-1.0 / 2.2),
        value: Some(1.8333333333333335),
        ..SAME
    },
    Cell {
        name: "normal log, shifted, pareto reward",
        outcome: |_, _, r| uniform(r).powf(-1.0 / 2.2),
        cost: false,
        value: Some(1.8333333333333335),
        ..SAME
    },
    Cell {
        name: "normal log, shifted, zero-inflated cost",
        outcome: |_, _, r| if uniform(r) < 0.1 { exponential(r) } else { 0.0 },
        value: Some(0.1),
        ..SAME
    },
    Cell {
        name: "normal log, shifted, zero-inflated reward",
        outcome: |_, _, r| if uniform(r) < 0.1 { exponential(r) } else { 0.0 },
        cost: false,
        value: Some(0.1),
        ..SAME
    },
    Cell { name: "normal log, shifted, rare 1% cost", outcome: rare_1, value: Some(0.01), ..SAME },
    Cell { name: "normal log, shifted, rare 1% reward", outcome: rare_1, cost: false, value: Some(0.01), ..SAME },
    Cell { name: "normal log, shifted, rare 3% cost", outcome: rare_3, value: Some(0.03), ..SAME },
    Cell { name: "normal log, shifted, rare 3% reward", outcome: rare_3, cost: false, value: Some(0.03), ..SAME },
    Cell { name: "normal log, in the tail, normal cost", policy: Gauss { mean: |_| 1.5, std: |_| 0.5 }, ..SAME },
    Cell { name: "normal log, wide, normal cost", policy: Gauss { mean: |_| 0.0, std: |_| 1.2 }, ..SAME },
    Cell {
        name: "normal log, in the tail, context cost",
        policy: Gauss { mean: |_| 1.5, std: |_| 0.5 },
        outcome: by_context,
        value: Some(MEAN_ABS),
        ..SAME
    },
    Cell {
        name: "normal log, wide, context cost",
        policy: Gauss { mean: |_| 0.0, std: |_| 1.2 },
        outcome: by_context,
        value: Some(MEAN_ABS),
        ..SAME
    },
    Cell {
        name: "normal log, in the tail, rare 3% cost",
        policy: Gauss { mean: |_| 1.5, std: |_| 0.5 },
        outcome: rare_3,
        value: Some(0.03),
        ..SAME
    },
    Cell {
        name: "normal log, wide, rare 3% cost",
        policy: Gauss { mean: |_| 0.0, std: |_| 1.2 },
        outcome: rare_3,
        value: Some(0.03),
        ..SAME
    },
    Cell {
        name: "normal log, far narrow, skewed cost",
        policy: Gauss { mean: |_| 1.0, std: |_| 0.3 },
        outcome: skewed,
        value: Some(1.0),
        ..SAME
    },
    Cell {
        name: "std .3 + |x|, constant .5, normal cost",
        logging: SPREADS,
        policy: Gauss { mean: |_| 0.0, std: |_| 0.5 },
        rows: &[500, 5000],
        ..SAME
    },
    Cell {
        name: "std .3 + |x|, constant 1, normal cost",
        logging: SPREADS,
        policy: Gauss { mean: |_| 0.0, std: |_| 1.0 },
        rows: &[500, 5000],
        ..SAME
    },
    Cell {
        name: "std .3 + |x|, constant .5, context cost",
        logging: SPREADS,
        policy: Gauss { mean: |_| 0.0, std: |_| 0.5 },
        outcome: by_context,
        value: Some(MEAN_ABS),
        rows: &[500, 5000],
        ..SAME
    },
    Cell {
        name: "std .3 + |x|, constant 1, context cost",
        logging: SPREADS,
        policy: Gauss { mean: |_| 0.0, std: |_| 1.0 },
        outcome: by_context,
        value: Some(MEAN_ABS),
        rows: &[500, 5000],
        ..SAME
    },
    Cell {
        name: "std .3 + |x|, constant .5, -context cost",
        logging: SPREADS,
        policy: Gauss { mean: |_| 0.0, std: |_| 0.5 },
        outcome: against_context,
        value: Some(-MEAN_ABS),
        rows: &[500, 5000],
        ..SAME
    },
    Cell {
        name: "std .3 + |x|, constant 1, -context cost",
        logging: SPREADS,
        policy: Gauss { mean: |_| 0.0, std: |_| 1.0 },
        outcome: against_context,
        value: Some(-MEAN_ABS),
        rows: &[500, 5000],
        ..SAME
    },
    Cell {
        name: "std .3 + |x|, constant .5, rare 3% cost",
        logging: SPREADS,
        policy: Gauss { mean: |_| 0.0, std: |_| 0.5 },
        outcome: rare_3,
        value: Some(0.03),
        rows: &[500, 5000],
        ..SAME
    },
    Cell {
        name: "std .3 + |x|, constant 1, rare 3% cost",
        logging: SPREADS,
        policy: Gauss { mean: |_| 0.0, std: |_| 1.0 },
        outcome: rare_3,
        value: Some(0.03),
        rows: &[500, 5000],
        ..SAME
    },
    Cell {
        name: "std .3 + |x|, constant .7, -context cost",
        logging: SPREADS,
        policy: Gauss { mean: |_| 0.0, std: |_| 0.7 },
        outcome: against_context,
        value: Some(-MEAN_ABS),
        rows: &[500, 2000, 5000],
        ..SAME
    },
    Cell {
        name: "std .3 + |x|, std follows, context cost",
        logging: SPREADS,
        policy: Gauss { mean: |_| 0.1, std: |x| 0.25 + 0.8 * x[0].abs() },
        outcome: by_context,
        value: Some(MEAN_ABS),
        ..SAME
    },
    Cell {
        name: "follows x, shifted, normal cost",
        logging: FOLLOWS,
        policy: Gauss { mean: |x| x[0] + 0.2, std: |_| 0.4 },
        ..SAME
    },
    Cell {
        name: "follows x, shifted, context reward",
        logging: FOLLOWS,
        policy: Gauss { mean: |x| x[0] + 0.2, std: |_| 0.35 },
        outcome: by_context,
        cost: false,
        value: Some(MEAN_ABS),
        ..SAME
    },
    Cell {
        name: "follows x, constant mean, normal cost",
        logging: FOLLOWS,
        policy: Gauss { mean: |x| 0.5 * x[0], std: |_| 0.4 },
        ..SAME
    },
    Cell {
        name: "narrow log, shifted, skewed cost",
        logging: Logging::Normal(Gauss { mean: |_| 0.0, std: |_| 0.2 }),
        policy: Gauss { mean: |_| 0.1, std: |_| 0.15 },
        outcome: skewed,
        value: Some(1.0),
        ..SAME
    },
    Cell {
        name: "uniform log, inside, normal reward",
        logging: UNIFORM,
        policy: Gauss { mean: |_| 0.2, std: |_| 0.25 },
        cost: false,
        ..SAME
    },
    Cell {
        name: "uniform log, inside, rare 1% cost",
        logging: UNIFORM,
        policy: Gauss { mean: |_| 0.0, std: |_| 0.3 },
        outcome: rare_1,
        value: Some(0.01),
        ..SAME
    },
    Cell {
        name: "uniform log, 9% outside, normal reward",
        logging: UNIFORM,
        policy: Gauss { mean: |_| 0.6, std: |_| 0.3 },
        cost: false,
        ..SAME
    },
    Cell {
        name: "uniform log, 9% outside, context cost",
        logging: UNIFORM,
        policy: Gauss { mean: |_| 0.6, std: |_| 0.3 },
        outcome: by_context,
        value: Some(MEAN_ABS),
        ..SAME
    },
    Cell {
        name: "mirrored about the best action, reward",
        policy: Gauss { mean: |_| 1.0, std: |_| 1.0 },
        outcome: |_, a, r| -(a - 0.5).powi(2) + 0.5 * normal(r),
        cost: false,
        value: Some(-1.25),
        ..SAME
    },
    Cell {
        name: "mirrored, skewed cost",
        policy: Gauss { mean: |_| 1.0, std: |_| 1.0 },
        outcome: |_, a, r| (a - 0.5).powi(2) + exponential(r),
        value: Some(2.25),
        ..SAME
    },
    Cell {
        name: "unsupported beyond |x0| > 1.7",
        policy: Gauss { mean: |x| x[0] + if x[0].abs() > 1.7 { 2.0 } else { 0.35 }, std: |_| 0.3 },
        outcome: |x, a, r| far(a - x[0]) + 0.3 * normal(r),
        ..WORSE
    },
    Cell {
        name: "unsupported, growing with x0",
        policy: Gauss { mean: |x| 1.75 * x[0] + 0.2, std: |_| 0.3 },
        outcome: |x, a, r| far(a - x[0]) + 0.3 * normal(r),
        ..WORSE
    },
    Cell {
        name: "unsupported in a corner",
        policy: Gauss { mean: |x| x[0] + if x[0] > 0.8 && x[1] > 0.3 { -1.8 } else { 0.35 }, std: |_| 0.3 },
        outcome: |x, a, r| far(a - x[0]) + 0.3 * normal(r),
        ..WORSE
    },
    Cell {
        name: "unsupported beyond a uniform log",
        logging: UNIFORM,
        policy: Gauss { mean: |_| 0.65, std: |_| 0.3 },
        outcome: |_, a, r| if a > 1.0 { -8.0 } else { a } + 0.3 * normal(r),
        ..WORSE
    },
    Cell { name: "better, normal reward", outcome: |_, a, r| 0.3 * a + normal(r), value: Some(0.15), ..GAIN },
    Cell {
        name: "better, context reward",
        policy: Gauss { mean: |_| 0.3, std: |_| 0.8 },
        outcome: |x, a, r| 2.0 * x[0].abs() + 0.3 * a + 0.5 * normal(r),
        value: Some(1.685769121605731),
        ..GAIN
    },
    Cell {
        name: "better, near, skewed cost",
        policy: Gauss { mean: |_| -0.3, std: |_| 0.9 },
        outcome: |_, a, r| 0.3 * a + exponential(r),
        cost: true,
        value: Some(0.91),
        ..GAIN
    },
    Cell {
        name: "better, rare 3% cost halved",
        policy: Gauss { mean: |_| -0.7, std: |_| 0.8 },
        outcome: |_, a, r| f64::from(uniform(r) < 0.03 * (a - 0.5).exp()),
        cost: true,
        rows: &[1000, 5000],
        ..GAIN
    },
    Cell {
        name: "better, follows x",
        logging: FOLLOWS,
        policy: Gauss { mean: |x| x[0] + 0.2, std: |_| 0.35 },
        outcome: |x, a, r| 0.5 * (a - x[0]) + x[0] + 0.5 * normal(r),
        value: Some(0.1),
        ..GAIN
    },
    Cell {
        name: "better, std .3 + |x|",
        logging: SPREADS,
        policy: Gauss { mean: |_| 0.3, std: |_| 0.4 },
        outcome: |x, a, r| 0.4 * a - x[0].abs() + 0.5 * normal(r),
        value: Some(-0.6778845608028654),
        ..GAIN
    },
];
