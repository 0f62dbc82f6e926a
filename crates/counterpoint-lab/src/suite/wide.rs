//! Worlds of many contexts: additive effects, a few that matter among many, categories.

use super::acts::{even, normal, normals};
use super::{Acts, World};
use counterpoint::data::Outcome::{Cost, Reward};
use rand::RngExt;

/// The worlds of this file.
pub(super) const WORLDS: &[World] = &[ADDITIVE_10, ADDITIVE_20, FEW_OF_50, LINEAR_40, LEVELS_81, CODES];

/// The effect of context j alone: waves, bowls and kinks in turn.
fn effect(j: usize, x: f64) -> f64 {
    match j % 4 {
        0 => (2.0 * x).sin(),
        1 => x * x - 1.0 / 3.0,
        2 => x.abs() - 0.5,
        _ => 0.7 * x,
    }
}

/// The best action: the sum of effects, scaled to the number of contexts.
fn additive(x: &[f64]) -> f64 {
    let sum: f64 = x.iter().enumerate().map(|(j, v)| effect(j, *v)).sum();
    5.0 + 2.0 * sum / (x.len() as f64).sqrt()
}

/// Ten curved effects that add up.
const ADDITIVE_10: World = World {
    name: "additive-10",
    about: "a* a sum of 10 curved effects, quadratic, 20,000 rows",
    contexts: 10,
    rows: 20_000,
    direction: Reward,
    draw: |rng| even(10, rng),
    acts: |_| Acts::Normal { mean: 4.5, std: 1.5 },
    mean: |x, a| -(a - additive(x)).powi(2),
    outcome: |x, a, rng| (ADDITIVE_10.mean)(x, a) + normal(rng),
};

/// Twenty effects and few rows.
const ADDITIVE_20: World = World {
    name: "additive-20",
    about: "a* a sum of 20 curved effects, kinked, 5,000 rows",
    contexts: 20,
    rows: 5000,
    direction: Cost,
    draw: |rng| even(20, rng),
    acts: |_| Acts::Uniform { low: 2.0, high: 8.0 },
    mean: |x, a| (a - additive(x)).abs(),
    outcome: |x, a, rng| (ADDITIVE_20.mean)(x, a) + 0.5 * normal(rng),
};

/// Three contexts of fifty matter.
const FEW_OF_50: World = World {
    name: "few-of-50",
    about: "3 contexts of 50 matter, quadratic",
    contexts: 50,
    rows: 10_000,
    direction: Reward,
    draw: |rng| normals(50, rng),
    acts: |x| Acts::Normal { mean: 0.3 * x[7], std: 1.5 },
    mean: |x, a| 1.0 - (a - x[3] - 0.7 * (x[17] * x[17] - 1.0) * 0.7 - if x[31] > 0.0 { 0.5 } else { -0.5 }).powi(2),
    outcome: |x, a, rng| (FEW_OF_50.mean)(x, a) + normal(rng),
};

/// Forty contexts, a thousand rows, everything linear.
const LINEAR_40: World = World {
    name: "linear-40",
    about: "a* linear in 40 contexts, 1,000 rows",
    contexts: 40,
    rows: 1000,
    direction: Cost,
    draw: |rng| normals(40, rng),
    acts: |_| Acts::Normal { mean: 0.0, std: 1.5 },
    mean: |x, a| {
        let best: f64 = x.iter().enumerate().map(|(j, v)| v * 0.8f64.powi(j as i32)).sum();
        (a - 0.8 * best).powi(2)
    },
    outcome: |x, a, rng| (LINEAR_40.mean)(x, a) + 0.5 * normal(rng),
};

/// The level of category c in which a row of dummies stands.
fn level(x: &[f64], c: usize) -> usize {
    x[20 * c..20 * (c + 1)].iter().position(|v| *v == 1.0).unwrap_or(0)
}

/// A number between -1 and 1 for each level of each category, without order: what the level does to the best action.
fn shift(c: usize, level: usize) -> f64 {
    let t = (0.754_877_666 * (1 + level + 37 * c) as f64).fract();
    2.0 * t - 1.0
}

/// Four categories of twenty levels as dummies, and a number.
const LEVELS_81: World = World {
    name: "levels-81",
    about: "4 categories of 20 levels as 80 dummies and a number, 30,000 rows",
    contexts: 81,
    rows: 30_000,
    direction: Reward,
    draw: |rng| {
        let mut x = vec![0.0; 81];
        for c in 0..4 {
            // levels differ in how common they are
            let u: f64 = rng.random();
            x[20 * c + (20.0 * u * u) as usize] = 1.0;
        }
        x[80] = normal(rng);
        x
    },
    acts: |x| Acts::Normal { mean: 6.0 + 0.4 * x[80], std: 1.5 },
    mean: |x, a| {
        let best = 6.5 + (0..4).map(|c| shift(c, level(x, c))).sum::<f64>() + 0.5 * x[80];
        3.0 - (a - best).abs()
    },
    outcome: |x, a, rng| (LEVELS_81.mean)(x, a) + normal(rng),
};

/// Two categories as numbers, the numbers without meaning.
const CODES: World = World {
    name: "codes",
    about: "two categories coded as numbers (12 and 5 levels), step in the action",
    contexts: 2,
    rows: 8000,
    direction: Reward,
    draw: |rng| vec![f64::from(rng.random_range(0..12u32)), f64::from(rng.random_range(0..5u32))],
    acts: |_| Acts::LogNormal { median: 5.0, sigma: 0.5 },
    mean: |x, a| {
        let limit = 5.5 + 2.5 * shift(0, x[0] as usize) + 1.0 * shift(1, x[1] as usize);
        if a <= limit { a } else { 0.5 * limit }
    },
    outcome: |x, a, rng| (CODES.mean)(x, a) + 1.5 * normal(rng),
};
