//! Worlds by shape: of the outcome in the action (smooth, kinked, bimodal), and of the best action in the contexts (waves, xor, trees).

use super::acts::{even, normal, normals};
use super::{Acts, World};
use counterpoint::data::Outcome::{Cost, Reward};
use std::f64::consts::PI;

/// The worlds of this file.
pub(super) const WORLDS: &[World] = &[DIAL, THERMOSTAT, KINK, WAVES, XOR, BIMODAL, LANES, BRANCHES, GOOD_ALREADY];

/// The best action is linear, and rows are few.
const DIAL: World = World {
    name: "dial",
    about: "quadratic, 1 context, few rows, even log",
    contexts: 1,
    rows: 1000,
    direction: Reward,
    draw: |rng| even(1, rng),
    acts: |_| Acts::Uniform { low: 0.0, high: 4.0 },
    mean: |x, a| 3.0 - (a - 2.0 - x[0]).powi(2),
    outcome: |x, a, rng| (DIAL.mean)(x, a) + normal(rng),
};

/// The log tries more where it is warm; units far from 0.
const THERMOSTAT: World = World {
    name: "thermostat",
    about: "quadratic cost, spread of the log depends on x, units far from 0",
    contexts: 2,
    rows: 5000,
    direction: Cost,
    draw: |rng| normals(2, rng),
    acts: |x| Acts::Normal { mean: 293.0 + x[1], std: 1.0 + 1.5 / (1.0 + (-x[0]).exp()) },
    mean: |x, a| 500.0 + 10.0 * (a - 292.0 - 1.5 * (1.5 * x[0]).sin() - x[1]).powi(2),
    outcome: |x, a, rng| (THERMOSTAT.mean)(x, a) + 30.0 * normal(rng),
};

/// Distance to the best action, on each side the same.
const KINK: World = World {
    name: "kink",
    about: "distance to a*, 3 contexts, a* curved",
    contexts: 3,
    rows: 10_000,
    direction: Cost,
    draw: |rng| normals(3, rng),
    acts: |_| Acts::Normal { mean: 0.0, std: 2.0 },
    mean: |x, a| (a - (0.6 * x[0] + 0.5 * (x[1] * x[1] - 1.0) - 0.5 * x[2].tanh())).abs(),
    outcome: |x, a, rng| (KINK.mean)(x, a) + 0.5 * normal(rng),
};

/// The best action is a wave in one context whose height is another.
const WAVES: World = World {
    name: "waves",
    about: "a* = sine times a context, kinked",
    contexts: 4,
    rows: 20_000,
    direction: Reward,
    draw: |rng| even(4, rng),
    acts: |_| Acts::Uniform { low: -2.0, high: 2.0 },
    mean: |x, a| 1.0 - (a - 1.4 * x[1] * (PI * x[0]).sin() - 0.2 * x[2]).abs(),
    outcome: |x, a, rng| (WAVES.mean)(x, a) + 0.7 * normal(rng),
};

/// The best action is high where two contexts have the same sign.
const XOR: World = World {
    name: "xor",
    about: "a* jumps by the sign of x0 x1; linear rules gain nothing",
    contexts: 2,
    rows: 10_000,
    direction: Reward,
    draw: |rng| even(2, rng),
    acts: |_| Acts::Normal { mean: 0.0, std: 1.0 },
    mean: |x, a| {
        let best = if x[0] * x[1] > 0.0 { 1.0 } else { -1.0 };
        (-(a - best).powi(2)).exp()
    },
    outcome: |x, a, rng| (XOR.mean)(x, a) + 0.4 * normal(rng),
};

/// Two good actions far apart; which is better depends on x, and between them nothing is earned.
const BIMODAL: World = World {
    name: "bimodal",
    about: "two modes, the better one depends on x; the log acts between them",
    contexts: 2,
    rows: 10_000,
    direction: Reward,
    draw: |rng| normals(2, rng),
    acts: |_| Acts::Normal { mean: 5.0, std: 1.8 },
    mean: |x, a| {
        let mode = |at: f64| (-0.5 * ((a - at) / 0.6).powi(2)).exp();
        let tilt = 0.35 * (x[0] + 0.5 * x[1]).tanh();
        (0.65 - tilt) * mode(3.0 + 0.2 * x[1]) + (0.65 + tilt) * mode(7.0)
    },
    outcome: |x, a, rng| (BIMODAL.mean)(x, a) + 0.3 * normal(rng),
};

/// The log follows a rule that is wrong, closely.
const LANES: World = World {
    name: "lanes",
    about: "narrow log around a rule that leans the wrong way",
    contexts: 2,
    rows: 20_000,
    direction: Cost,
    draw: |rng| even(2, rng),
    acts: |x| Acts::Normal { mean: 10.0 - 0.5 * x[0], std: 0.4 },
    mean: |x, a| (a - 10.0 - 0.5 * x[0] - 0.3 * x[1] * x[1]).powi(2),
    outcome: |x, a, rng| (LANES.mean)(x, a) + 0.3 * normal(rng),
};

/// The best action is constant within the leaves of a tree.
const BRANCHES: World = World {
    name: "branches",
    about: "a* by a tree of thresholds, 6 contexts",
    contexts: 6,
    rows: 20_000,
    direction: Reward,
    draw: |rng| even(6, rng),
    acts: |_| Acts::LogNormal { median: 3.0, sigma: 0.6 },
    mean: |x, a| {
        let best = match (x[0] > 0.2, x[1] > -0.3, x[2] > 0.0) {
            (true, true, _) => 6.0,
            (true, false, _) => 2.0,
            (false, _, true) => 4.0,
            (false, _, false) => 1.5,
        };
        10.0 - (a - best).abs() - if a > best { 0.5 } else { 0.0 }
    },
    outcome: |x, a, rng| (BRANCHES.mean)(x, a) + 2.0 * normal(rng),
};

/// Little is left to gain, and much can be lost.
const GOOD_ALREADY: World = World {
    name: "good-already",
    about: "the log is nearly right; little to gain, much to lose",
    contexts: 3,
    rows: 20_000,
    direction: Reward,
    draw: |rng| normals(3, rng),
    acts: |x| Acts::Normal { mean: 1.0 + x[0] + 0.3 * x[1], std: 0.5 },
    mean: |x, a| 2.0 - (a - 1.2 - x[0] - 0.4 * x[1]).powi(2),
    outcome: |x, a, rng| (GOOD_ALREADY.mean)(x, a) + 0.5 * normal(rng),
};
