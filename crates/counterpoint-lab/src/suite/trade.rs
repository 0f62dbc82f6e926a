//! Worlds of trade: bids, prices, stocks. Outcomes jump or bend where a deal is won or lost.

use super::acts::{coin, even, normal, normals};
use super::{Acts, World, sigmoid};
use counterpoint::data::Outcome::{Cost, Reward};
use counterpoint::policy::Family;

/// The worlds of this file.
pub(super) const WORLDS: &[World] = &[AUCTION, OFFERS, NEWSVENDOR, WEDGE, PRICES, TABLETS];

/// What a won auction is worth.
fn worth(x: &[f64]) -> f64 {
    1.2 + 2.5 * sigmoid(1.5 * x[0]) + 1.5 * sigmoid(2.0 * x[1] * x[2])
}

/// The probability that a bid wins.
fn wins(x: &[f64], a: f64) -> f64 {
    if a <= 0.0 { 0.0 } else { sigmoid(4.0 * (a / (0.8 + 1.2 * sigmoid(2.0 * x[3]))).ln()) }
}

/// Win probability times margin; most contexts say nothing.
const AUCTION: World = World {
    name: "auction",
    about: "bid: win probability times margin, 8 contexts, 50,000 rows",
    contexts: 8,
    rows: 50_000,
    direction: Reward,
    draw: |rng| normals(8, rng),
    acts: |_| Acts::LogNormal { median: 2.2, sigma: 0.5 },
    mean: |x, a| wins(x, a) * (worth(x) - a),
    outcome: |x, a, rng| if coin(wins(x, a), rng) { worth(x) - a + 0.3 * normal(rng) } else { 0.0 },
};

/// What a customer is willing to pay: a step in the price.
fn willing(x: &[f64]) -> f64 {
    20.0 + 8.0 * x[0] - 5.0 * x[1] + if x[2] > 0.0 { 6.0 } else { 0.0 }
}

/// A price above what the customer would pay earns nothing.
const OFFERS: World = World {
    name: "offers",
    about: "step: a price earns its margin up to what the customer would pay, nothing above",
    contexts: 4,
    rows: 20_000,
    direction: Reward,
    draw: |rng| even(4, rng),
    acts: |_| Acts::Uniform { low: 5.0, high: 40.0 },
    mean: |x, a| if a <= willing(x) { a - 5.0 } else { 0.0 },
    outcome: |x, a, rng| (OFFERS.mean)(x, a) + 4.0 * normal(rng),
};

/// Mean and standard deviation of the demand.
fn demand(x: &[f64]) -> (f64, f64) {
    (100.0 + 30.0 * x[0] + 15.0 * x[1] * x[1], 10.0 * (1.0 + sigmoid(2.0 * x[2])))
}

/// Leftovers cost little, missing ones much, and demand is random.
const NEWSVENDOR: World = World {
    name: "newsvendor",
    about: "stock: over-stock costs 1, under-stock 4, demand random",
    contexts: 3,
    rows: 10_000,
    direction: Cost,
    draw: |rng| even(3, rng),
    acts: |_| Acts::Normal { mean: 100.0, std: 25.0 },
    mean: |x, a| {
        // E (a - D)+ = s (z Phi(z) + phi(z)), and E (D - a)+ = E (a - D)+ - (a - m)
        let (m, s) = demand(x);
        let z = (a - m) / s;
        let over =
            s * (z * Family::Normal.cdf(z, 0.0, 1.0).value + Family::Normal.log_density(z, 0.0, 1.0).value.exp());
        over + 4.0 * (over - (a - m))
    },
    outcome: |x, a, rng| {
        let (m, s) = demand(x);
        let d = m + s * normal(rng);
        (a - d).max(0.0) + 4.0 * (d - a).max(0.0)
    },
};

/// Too little is four times as bad as too much, and the log aims too low.
const WEDGE: World = World {
    name: "wedge",
    about: "wedge-shaped cost, log spread with x around a rule that aims too low",
    contexts: 5,
    rows: 5000,
    direction: Cost,
    draw: |rng| normals(5, rng),
    acts: |x| Acts::Normal { mean: 4.0 + 0.5 * x[0], std: 0.8 + 0.4 * sigmoid(x[1]) },
    mean: |x, a| {
        let d = a - (5.0 + x[0] + 0.5 * (x[1] * x[2]).tanh());
        if d > 0.0 { 0.5 * d } else { -2.0 * d }
    },
    outcome: |x, a, rng| (WEDGE.mean)(x, a) + 0.8 * normal(rng),
};

/// Prices of a shop.
const PRICE_POINTS: &[f64] = &[4.99, 5.99, 6.99, 7.99, 8.99, 9.99, 11.99, 13.99, 15.99, 19.99];

/// The probability that a customer buys at a price.
fn buys(x: &[f64], a: f64) -> f64 {
    sigmoid(3.0 + x[0] - 0.8 * x[1] - 0.35 * a * (1.0 + 0.3 * x[2].tanh()))
}

/// Ten price points, the cheap ones more often to some; the propensity is a probability.
const PRICES: World = World {
    name: "prices",
    about: "10 price points (ties, probabilities as propensities), sale or no sale",
    contexts: 5,
    rows: 30_000,
    direction: Reward,
    draw: |rng| normals(5, rng),
    acts: |x| Acts::softmax(PRICE_POINTS, |a| -0.08 * (a - 8.0) * (1.0 + 0.5 * x[3].tanh())),
    mean: |x, a| buys(x, a) * (a - 3.0),
    outcome: |x, a, rng| if coin(buys(x, a), rng) { a - 3.0 } else { 0.0 },
};

/// Whole tablets.
const TABLET_POINTS: &[f64] = &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

/// Whole tablets: an action between two of them is rounded.
const TABLETS: World = World {
    name: "tablets",
    about: "0 to 6 whole tablets (probabilities as propensities), quadratic cost",
    contexts: 3,
    rows: 5000,
    direction: Cost,
    draw: |rng| even(3, rng),
    acts: |x| Acts::softmax(TABLET_POINTS, |a| -0.15 * (a - 2.0 + x[2]).powi(2)),
    mean: |x, a| (a.round().clamp(0.0, 6.0) - 3.0 - 2.0 * x[0] - x[1] * x[2]).powi(2),
    outcome: |x, a, rng| (TABLETS.mean)(x, a) + 2.0 * normal(rng),
};
