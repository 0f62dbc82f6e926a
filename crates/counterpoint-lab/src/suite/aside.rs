//! Worlds kept aside: written before the learner was run on them, and nothing of it is chosen by their results. They differ from the
//! others in kind: logs that hardly explore, best actions out of reach, tails without a variance, units of every size, a log that is
//! right already.

use super::acts::{coin, even, normal, normals};
use super::{Acts, World};
use counterpoint::data::Outcome::{Cost, Reward};
use rand::RngExt;
use std::f64::consts::TAU;

/// The worlds of this file.
pub(super) const WORLDS: &[World] = &[
    EXPLORER,
    OUT_OF_REACH,
    PAYOUTS,
    FURNACE,
    CLINIC,
    DECADES,
    REGIONS,
    CROWD_100,
    ONE_FOR_ALL,
    NEEDLE,
    SEASON,
    GAPS,
    SETTLED,
];

/// The log follows its rule closely and tries something else once in twenty rows.
const EXPLORER: World = World {
    name: "explorer",
    about: "nearly deterministic log: 95% within .1 of its rule, 5% anywhere",
    contexts: 4,
    rows: 20_000,
    direction: Reward,
    draw: |rng| even(4, rng),
    acts: |x| Acts::Explores { mean: 4.0 + x[0], std: 0.1, share: 0.05, range: [0.0, 10.0] },
    mean: |x, a| 5.0 - 0.2 * (a - 6.0 - 1.5 * x[0] - 1.5 * x[1] * x[2]).powi(2),
    outcome: |x, a, rng| (EXPLORER.mean)(x, a) + normal(rng),
};

/// The best action lies where the log, given the context, has never been.
const OUT_OF_REACH: World = World {
    name: "out-of-reach",
    about: "log N(x0, .4), the best action up to eight of its stds away",
    contexts: 2,
    rows: 10_000,
    direction: Cost,
    draw: |rng| normals(2, rng),
    acts: |x| Acts::Normal { mean: x[0], std: 0.4 },
    mean: |x, a| (a + x[0] - 0.5 * x[1]).abs(),
    outcome: |x, a, rng| (OUT_OF_REACH.mean)(x, a) + 0.5 * normal(rng),
};

/// Index of the tail of payouts.
const TAIL: f64 = 1.7;

/// Rewards whose variance is infinite.
const PAYOUTS: World = World {
    name: "payouts",
    about: "Pareto rewards (tail 1.7, no variance), 5 contexts",
    contexts: 5,
    rows: 20_000,
    direction: Reward,
    draw: |rng| normals(5, rng),
    acts: |x| Acts::Normal { mean: 0.5 * x[2], std: 1.2 },
    mean: |x, a| 6.0 * (-0.5 * (a - 0.8 * x[0] - 0.6 * x[1].tanh()).powi(2)).exp() + 1.0,
    outcome: |x, a, rng| {
        let u: f64 = 1.0 - rng.random::<f64>();
        (PAYOUTS.mean)(x, a) * (TAIL - 1.0) / TAIL * u.powf(-1.0 / TAIL)
    },
};

/// Everything far from 0, and actions of both signs around an offset.
const FURNACE: World = World {
    name: "furnace",
    about: "contexts near 1e6, actions from -70 to 40, costs near -3e5; products of contexts",
    contexts: 3,
    rows: 8000,
    direction: Cost,
    draw: |rng| (0..3).map(|_| 1e6 + 250.0 * normal(rng)).collect(),
    acts: |x| Acts::Normal { mean: -15.0 + 8.0 * scaled(x[2]), std: 18.0 },
    mean: |x, a| -3e5 + (a + 20.0 - 14.0 * scaled(x[0]) * scaled(x[1])).powi(2),
    outcome: |x, a, rng| (FURNACE.mean)(x, a) + 300.0 * normal(rng),
};

/// A context of the furnace in units of its spread.
fn scaled(x: f64) -> f64 {
    (x - 1e6) / 250.0
}

/// One context, four hundred rows.
const CLINIC: World = World {
    name: "clinic",
    about: "1 context, 400 rows, curved best dose",
    contexts: 1,
    rows: 400,
    direction: Reward,
    draw: |rng| vec![18.0 + 70.0 * rng.random::<f64>()],
    acts: |x| Acts::LogNormal { median: 10.0 + 0.1 * x[0], sigma: 0.5 },
    mean: |x, a| 10.0 - 8.0 * (a / (30.0 - 0.25 * (x[0] - 40.0).abs())).ln().powi(2),
    outcome: |x, a, rng| (CLINIC.mean)(x, a) + 2.0 * normal(rng),
};

/// Actions over three decades.
const DECADES: World = World {
    name: "decades",
    about: "actions over three decades, the best one on a log scale",
    contexts: 6,
    rows: 12_000,
    direction: Reward,
    draw: |rng| even(6, rng),
    acts: |x| Acts::LogNormal { median: 30.0 * (0.5 * x[5]).exp(), sigma: 1.1 },
    mean: |x, a| {
        let best = 60f64.ln() + 1.2 * x[0] + 0.8 * x[1] * x[1] - 0.6 * if x[2] > 0.0 { 1.0 } else { -1.0 };
        4.0 / (1.0 + (a.ln() - best).powi(2))
    },
    outcome: |x, a, rng| (DECADES.mean)(x, a) + normal(rng),
};

/// The region of a row of dummies.
fn region(x: &[f64]) -> usize {
    x[..9].iter().position(|v| *v == 1.0).unwrap_or(0)
}

/// The last action that is free of the penalty.
fn limit(x: &[f64]) -> f64 {
    [3.0, 7.5, 5.0, 2.0, 6.0, 8.0, 4.0, 3.5, 7.0][region(x)] + 0.8 * x[9]
}

/// A category as dummies, and a step in the action.
const REGIONS: World = World {
    name: "regions",
    about: "9 regions as dummies and a number; a fine beyond a limit, cost falling up to it",
    contexts: 10,
    rows: 6000,
    direction: Cost,
    draw: |rng| {
        let mut x = vec![0.0; 10];
        x[rng.random_range(0..9usize)] = 1.0;
        x[9] = normal(rng).clamp(-2.0, 2.0);
        x
    },
    acts: |_| Acts::Uniform { low: 0.0, high: 10.0 },
    mean: |x, a| 12.0 - a + if a > limit(x) { 9.0 } else { 0.0 },
    outcome: |x, a, rng| (REGIONS.mean)(x, a) + 2.0 * normal(rng),
};

/// More contexts than many logs have hundreds of rows.
const CROWD_100: World = World {
    name: "crowd-100",
    about: "100 contexts, 2,000 rows, five of them matter",
    contexts: 100,
    rows: 2000,
    direction: Reward,
    draw: |rng| normals(100, rng),
    acts: |_| Acts::Normal { mean: 0.0, std: 1.0 },
    mean: |x, a| -(a - 0.5 - 0.5 * (x[3] + x[20] - x[41] + x[60].abs() - x[99].tanh())).powi(2),
    outcome: |x, a, rng| (CROWD_100.mean)(x, a) + 0.7 * normal(rng),
};

/// Contexts say how much is earned, and nothing about the best action.
const ONE_FOR_ALL: World = World {
    name: "one-for-all",
    about: "the best action is the same everywhere; 15 contexts move the level alone",
    contexts: 15,
    rows: 5000,
    direction: Reward,
    draw: |rng| normals(15, rng),
    acts: |x| Acts::Normal { mean: 20.0 + x[0], std: 4.0 },
    mean: |x, a| 50.0 + 5.0 * (x[0] + x[1] * x[2] + x[3].abs()) - 0.15 * (a - 25.0).powi(2),
    outcome: |x, a, rng| (ONE_FOR_ALL.mean)(x, a) + 4.0 * normal(rng),
};

/// A narrow peak in a wide range.
const NEEDLE: World = World {
    name: "needle",
    about: "even log over 20, a peak .5 wide at a place that depends on x",
    contexts: 2,
    rows: 20_000,
    direction: Reward,
    draw: |rng| even(2, rng),
    acts: |_| Acts::Uniform { low: 0.0, high: 20.0 },
    mean: |x, a| (-0.5 * ((a - 10.0 - 6.0 * x[0] - 2.0 * x[1]) / 0.5).powi(2)).exp(),
    outcome: |x, a, rng| (NEEDLE.mean)(x, a) + 0.3 * normal(rng),
};

/// The best action runs round the clock.
const SEASON: World = World {
    name: "season",
    about: "hour and weekday as whole numbers; the best action is periodic in the hour",
    contexts: 3,
    rows: 15_000,
    direction: Cost,
    draw: |rng| vec![f64::from(rng.random_range(0..24u32)), f64::from(rng.random_range(0..7u32)), normal(rng)],
    acts: |x| Acts::Normal { mean: 50.0 + 4.0 * x[2], std: 12.0 },
    mean: |x, a| {
        let weekend = if x[1] >= 5.0 { 8.0 } else { 0.0 };
        let best = 52.0 + 12.0 * (TAU * (x[0] - 5.0) / 24.0).sin() + weekend + 3.0 * x[2];
        0.1 * (a - best).powi(2) / (1.0 + 0.02 * (a - best).abs())
    },
    outcome: |x, a, rng| (SEASON.mean)(x, a) + 8.0 * normal(rng),
};

/// A quarter of the values is missing: 0 stands for them, and a column says so, as the reader of logs does it.
const GAPS: World = World {
    name: "gaps",
    about: "4 contexts of which a quarter is missing, each with its indicator; missing means something",
    contexts: 8,
    rows: 8000,
    direction: Reward,
    draw: |rng| {
        let x = normals(4, rng);
        let gone: Vec<bool> = x.iter().map(|v| coin(if *v > 0.0 { 0.4 } else { 0.1 }, rng)).collect();
        let filled = x.iter().zip(&gone).map(|(v, g)| if *g { 0.0 } else { *v });
        filled.chain(gone.iter().map(|g| f64::from(u8::from(*g)))).collect()
    },
    acts: |x| Acts::Normal { mean: 2.0 + 0.3 * x[0], std: 1.2 },
    mean: |x, a| 3.0 - (a - 2.5 - 0.6 * x[0] - 1.2 * x[4] + 0.5 * x[1] * (1.0 - x[6])).abs(),
    outcome: |x, a, rng| (GAPS.mean)(x, a) + 0.8 * normal(rng),
};

/// The log is right: what its noise costs is too little to be seen.
const SETTLED: World = World {
    name: "settled",
    about: "the log is right already; what is left to gain cannot be seen: keep",
    contexts: 5,
    rows: 10_000,
    direction: Reward,
    draw: |rng| normals(5, rng),
    acts: |x| Acts::Normal { mean: 3.0 + x[0] - 0.5 * x[1], std: 0.3 },
    mean: |x, a| 1.0 - 0.02 * (a - 3.0 - x[0] + 0.5 * x[1]).powi(2),
    outcome: |x, a, rng| (SETTLED.mean)(x, a) + normal(rng),
};
