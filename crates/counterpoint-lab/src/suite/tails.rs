//! Worlds by their outcomes: yes or no, almost always zero, heavy tails, saturation.

use super::acts::{coin, even, normal, normals};
use super::{Acts, World, sigmoid};
use counterpoint::data::Outcome::{Cost, Reward};
use rand::RngExt;

/// The worlds of this file.
pub(super) const WORLDS: &[World] = &[CLICKS, BASKETS, CLAIMS, DOSE, INCOMES];

/// The probability of a click.
fn clicks(x: &[f64], a: f64) -> f64 {
    let best = 3.0 + x[0] + (2.0 * x[1]).sin() * x[2];
    sigmoid(-1.0 + 0.4 * x[3] - 0.5 * (a - best).powi(2))
}

/// Yes or no.
const CLICKS: World = World {
    name: "clicks",
    about: "yes or no (Bernoulli), 6 contexts, 50,000 rows",
    contexts: 6,
    rows: 50_000,
    direction: Reward,
    draw: |rng| even(6, rng),
    acts: |x| Acts::Normal { mean: 3.5 - 0.5 * x[0], std: 1.2 },
    mean: clicks,
    outcome: |x, a, rng| f64::from(u8::from(coin(clicks(x, a), rng))),
};

/// Mean of the logarithm of a basket, and its standard deviation.
const BASKET: (f64, f64) = (3.0, 0.8);

/// The probability that an offer with a discount `a` (percent) is taken; about 7% of the log.
fn takes(x: &[f64], a: f64) -> f64 {
    0.27 * sigmoid(-3.4 + 0.8 * x[0] + 0.5 * x[1] + 0.12 * a * (1.0 + 0.9 * (1.5 * x[2]).tanh()))
}

/// What a sale brings on average.
fn brings(x: &[f64], a: f64) -> f64 {
    (BASKET.0 + 0.3 * x[3].tanh() + 0.5 * BASKET.1 * BASKET.1).exp() * (1.0 - a / 40.0)
}

/// Almost all outcomes are zero, the others log-normal.
const BASKETS: World = World {
    name: "baskets",
    about: "93% zeros, the rest log-normal; 12 contexts, 100,000 rows",
    contexts: 12,
    rows: 100_000,
    direction: Reward,
    draw: |rng| normals(12, rng),
    acts: |_| Acts::Uniform { low: 0.0, high: 30.0 },
    mean: |x, a| takes(x, a) * brings(x, a),
    outcome: |x, a, rng| {
        if coin(takes(x, a), rng) {
            brings(x, a) * (BASKET.1 * normal(rng) - 0.5 * BASKET.1 * BASKET.1).exp()
        } else {
            0.0
        }
    },
};

/// The tail of the claims: P(y > t) ~ t^-2.2, so the variance is large and the fourth moment infinite.
const TAIL: f64 = 2.2;

/// The mean claim.
fn claim(x: &[f64], a: f64) -> f64 {
    let best = 2.0 + 0.8 * x[0] - 0.5 * x[1].abs();
    1.0 + (a - best).powi(2) + 0.5 * sigmoid(x[2])
}

/// Pareto costs.
const CLAIMS: World = World {
    name: "claims",
    about: "Pareto costs (tail 2.2), 4 contexts",
    contexts: 4,
    rows: 20_000,
    direction: Cost,
    draw: |rng| normals(4, rng),
    acts: |_| Acts::Normal { mean: 1.0, std: 1.5 },
    mean: claim,
    outcome: |x, a, rng| {
        let u: f64 = 1.0 - rng.random::<f64>();
        claim(x, a) * (TAIL - 1.0) / TAIL * u.powf(-1.0 / TAIL)
    },
};

/// Benefit saturates, harm grows: the usual dose-response.
fn response(x: &[f64], a: f64) -> f64 {
    let a = a.max(0.0);
    let half = 2.0 * (0.9 * x[0] + 0.4 * x[1]).exp();
    let harm = 0.06 * (0.8 * x[2]).exp();
    a / (a + half) - harm * a
}

/// A dose whose effect saturates.
const DOSE: World = World {
    name: "dose",
    about: "saturating dose-response minus harm, log-normal log, 5 contexts, 3,000 rows",
    contexts: 5,
    rows: 3000,
    direction: Reward,
    draw: |rng| normals(5, rng),
    acts: |x| Acts::LogNormal { median: 4.0 * (0.2 * x[3]).exp(), sigma: 0.8 },
    mean: response,
    outcome: |x, a, rng| response(x, a) + 0.2 * normal(rng),
};

/// Log-normal noise that multiplies.
const NOISE: f64 = 1.0;

/// Rewards are log-normal around a smooth mean.
const INCOMES: World = World {
    name: "incomes",
    about: "log-normal rewards (sigma 1), smooth, log spread with x",
    contexts: 6,
    rows: 10_000,
    direction: Reward,
    draw: |rng| even(6, rng),
    acts: |x| Acts::LogNormal { median: 10.0, sigma: 0.4 + 0.3 * sigmoid(3.0 * x[4]) },
    mean: |x, a| {
        let best = 12.0 * (0.5 * x[0] - 0.4 * x[1] * x[1]).exp();
        1e4 * (-((a.max(0.01) / best).ln()).powi(2)).exp()
    },
    outcome: |x, a, rng| (INCOMES.mean)(x, a) * (NOISE * normal(rng) - 0.5 * NOISE * NOISE).exp(),
};
