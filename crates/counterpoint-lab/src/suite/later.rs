//! Worlds written last, when the learner was nearly what it is: what else its users bring. Like those of `aside` they chose nothing of it
//! before they were first run, and the page about learning says what was changed after that.

use super::acts::{coin, even, normal, normals};
use super::{Acts, World, sigmoid};
use counterpoint::data::Outcome::{Cost, Reward};
use rand::RngExt;

/// The worlds of this file.
pub(super) const WORLDS: &[World] = &[
    SINE_1, RESPONDERS, HURDLE, TIERS, GUSTS, LEANING, TWO_HILLS, PAIRS_25, FAINT, LINEAR_60, SEGMENTS, MARKUP,
    DELIVERY,
];

/// One wave, few rows.
const SINE_1: World = World {
    name: "sine-1",
    about: "a* = a wave in the only context, 1,500 rows",
    contexts: 1,
    rows: 1500,
    direction: Cost,
    draw: |rng| even(1, rng),
    acts: |_| Acts::Normal { mean: 0.5, std: 1.0 },
    mean: |x, a| (a - (4.0 * x[0]).sin()).powi(2),
    outcome: |x, a, rng| (SINE_1.mean)(x, a) + 0.7 * normal(rng),
};

/// A patient responds or does not.
const RESPONDERS: World = World {
    name: "responders",
    about: "yes or no by a logistic dose-response, 8 contexts, 4,000 rows",
    contexts: 8,
    rows: 4000,
    direction: Reward,
    draw: |rng| normals(8, rng),
    acts: |x| Acts::LogNormal { median: (0.2 * x[1]).exp(), sigma: 0.6 },
    mean: |x, a| sigmoid(0.5 + 0.6 * x[2] - 1.5 * (a.ln() - 0.5 * x[0] - 0.3 * x[3].tanh()).powi(2)),
    outcome: |x, a, rng| f64::from(u8::from(coin((RESPONDERS.mean)(x, a), rng))),
};

/// Most bids win nothing; what is won is skewed.
const HURDLE: World = World {
    name: "hurdle",
    about: "97% zeros; bid pays only above a reserve that depends on contexts; 6 contexts, 60,000 rows",
    contexts: 6,
    rows: 60_000,
    direction: Reward,
    draw: |rng| normals(6, rng),
    acts: |_| Acts::LogNormal { median: 1.0, sigma: 0.7 },
    mean: |x, a| hurdle(x, a) * (8.0 * (0.4 * x[1]).exp() - a),
    outcome: |x, a, rng| {
        let won = coin(hurdle(x, a), rng);
        if won { 8.0 * (0.4 * x[1] + 0.8 * normal(rng) - 0.32).exp() - a } else { 0.0 }
    },
};

/// The probability that a bid wins and the click buys.
fn hurdle(x: &[f64], a: f64) -> f64 {
    0.06 * sigmoid(3.0 * (a.ln() - 0.3 * x[0] - 0.2 * x[2] * x[3]))
}

/// Fees by tiers: what is earned jumps twice in the action.
const TIERS: World = World {
    name: "tiers",
    about: "staircase: two jumps up and a slope down, at places that depend on two of 5 contexts",
    contexts: 5,
    rows: 15_000,
    direction: Reward,
    draw: |rng| even(5, rng),
    acts: |x| Acts::Normal { mean: 3.0 + x[4], std: 1.5 },
    mean: |x, a| {
        let first = if a > 2.0 + x[0] { 2.0 } else { 0.0 };
        let second = if a > 4.0 + x[1] { 1.0 + 2.0 * x[2] } else { 0.0 };
        first + second - 0.5 * a
    },
    outcome: |x, a, rng| (TIERS.mean)(x, a) + 1.5 * normal(rng),
};

/// Noise with heavy tails on both sides.
const GUSTS: World = World {
    name: "gusts",
    about: "noise of either sign with a tail of index 3, 4 contexts, the log spreads with x",
    contexts: 4,
    rows: 12_000,
    direction: Cost,
    draw: |rng| normals(4, rng),
    acts: |x| Acts::Normal { mean: 0.4 * x[0], std: 0.6 + 0.6 * sigmoid(2.0 * x[1]) },
    mean: |x, a| 2.0 * (a - 0.7 * x[2] - 0.4 * x[0] * x[0] + 0.4).powi(2),
    outcome: |x, a, rng| {
        // a normal number over the root of one that is often small: three moments do not exist
        let half = 0.5 * normal(rng).powi(2);
        let gamma = half - 0.75 * (1.0 - rng.random::<f64>()).ln();
        (GUSTS.mean)(x, a) + 1.5 * normal(rng) / (gamma / 1.25).sqrt()
    },
};

/// The log leans away from the best action, narrowly, the more so the further it is.
const LEANING: World = World {
    name: "leaning",
    about: "log anti-correlated with a*, std half of the distance",
    contexts: 4,
    rows: 20_000,
    direction: Cost,
    draw: |rng| even(4, rng),
    acts: |x| Acts::Normal { mean: -0.4 * x[0] + 0.3 * x[3], std: 0.7 },
    mean: |x, a| (a - 0.9 * x[0] - 0.5 * x[1] * x[2]).abs().powf(1.5),
    outcome: |x, a, rng| (LEANING.mean)(x, a) + 0.8 * normal(rng),
};

/// Two hills whose heights follow ten contexts.
const TWO_HILLS: World = World {
    name: "two-hills",
    about: "two good actions; which is better follows a sum over 10 contexts",
    contexts: 10,
    rows: 20_000,
    direction: Reward,
    draw: |rng| normals(10, rng),
    acts: |_| Acts::Normal { mean: 0.0, std: 1.5 },
    mean: |x, a| {
        let lean = 0.4 * (x[0] + x[1] - x[2] + x[3] * x[4]);
        let hill = |at: f64| (-2.0 * (a - at).powi(2)).exp();
        (1.0 + lean.tanh()) * hill(-1.4) + (1.0 - lean.tanh()) * hill(1.4)
    },
    outcome: |x, a, rng| (TWO_HILLS.mean)(x, a) + 0.8 * normal(rng),
};

/// Products of contexts among 25.
const PAIRS_25: World = World {
    name: "pairs-25",
    about: "a* a sum of three products among 25 contexts, 25,000 rows",
    contexts: 25,
    rows: 25_000,
    direction: Cost,
    draw: |rng| normals(25, rng),
    acts: |_| Acts::Normal { mean: 0.0, std: 1.5 },
    mean: |x, a| (a - 0.6 * x[0] * x[1] - 0.6 * x[5] * x[6] + 0.5 * x[10] * x[0]).powi(2),
    outcome: |x, a, rng| (PAIRS_25.mean)(x, a) + 1.5 * normal(rng),
};

/// Noise five times as large as what there is to gain.
const FAINT: World = World {
    name: "faint",
    about: "noise drowns the effect (one part in fifty of the variance), 6 contexts, 40,000 rows",
    contexts: 6,
    rows: 40_000,
    direction: Reward,
    draw: |rng| normals(6, rng),
    acts: |x| Acts::Normal { mean: 10.0 + 0.5 * x[0], std: 2.0 },
    mean: |x, a| 20.0 + 3.0 * x[1] - 0.12 * (a - 11.0 - x[2] - 0.5 * x[0]).powi(2),
    outcome: |x, a, rng| (FAINT.mean)(x, a) + 6.0 * normal(rng),
};

/// Many contexts, all of which matter a little, and a kinked loss.
const LINEAR_60: World = World {
    name: "linear-60",
    about: "a* linear in 60 contexts, distance as the loss, 6,000 rows",
    contexts: 60,
    rows: 6000,
    direction: Cost,
    draw: |rng| normals(60, rng),
    acts: |_| Acts::Normal { mean: 0.0, std: 1.6 },
    mean: |x, a| {
        let best: f64 = x.iter().enumerate().map(|(j, v)| if j % 3 == 0 { 0.2 * v } else { -0.08 * v }).sum();
        (a - best).abs()
    },
    outcome: |x, a, rng| (LINEAR_60.mean)(x, a) + 0.5 * normal(rng),
};

/// Customers of eight segments, each with a price of its own, and a season.
const SEGMENTS: World = World {
    name: "segments",
    about: "8 segments as one coded column, demand falls with the price at a slope of the segment; 20 price points",
    contexts: 3,
    rows: 25_000,
    direction: Reward,
    draw: |rng| {
        let segment = f64::from(rng.random_range(0..8u32));
        vec![segment, normal(rng), rng.random::<f64>()]
    },
    acts: |x| Acts::softmax(&POINTS, |a| -0.02 * (a - 10.0 - x[1]).powi(2)),
    mean: |x, a| (a - 3.0) * sale(x, a),
    outcome: |x, a, rng| if coin(sale(x, a), rng) { a - 3.0 } else { 0.0 },
};

/// The prices of segments.
const POINTS: [f64; 20] =
    [4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0];

/// The probability of a sale at a price.
fn sale(x: &[f64], a: f64) -> f64 {
    let limit = [8.0, 16.0, 11.0, 19.0, 7.0, 14.0, 9.0, 17.0][x[0] as usize];
    sigmoid((limit + 0.8 * x[1] - a) / 1.5)
}

/// A mark-up: revenue is the price times a demand that falls exponentially.
const MARKUP: World = World {
    name: "markup",
    about: "price times exponential demand (Poisson sales), elasticity follows 5 contexts, 10,000 rows",
    contexts: 5,
    rows: 10_000,
    direction: Reward,
    draw: |rng| even(5, rng),
    acts: |x| Acts::LogNormal { median: 4.0 + x[0], sigma: 0.4 },
    mean: |x, a| a * demand(x, a),
    outcome: |x, a, rng| {
        // Poisson by exponential waiting times
        let (mut left, mut sold) = (demand(x, a), -1.0);
        while left >= 0.0 {
            left += (1.0 - rng.random::<f64>()).ln();
            sold += 1.0;
        }
        a * sold
    },
};

/// The mean number of sales at a price.
fn demand(x: &[f64], a: f64) -> f64 {
    let best = 3.5 + 1.5 * x[1] + 1.2 * (2.0 * x[2]).sin() + 0.8 * x[3];
    5.0 * (-a / best).exp()
}

/// Minutes promised: early costs a little, late costs much, and how late depends on traffic.
const DELIVERY: World = World {
    name: "delivery",
    about: "promised minutes: late costs 9 times early, spread of the duration follows contexts, 7 contexts",
    contexts: 7,
    rows: 12_000,
    direction: Cost,
    draw: |rng| normals(7, rng),
    acts: |x| Acts::Normal { mean: 30.0 + 3.0 * x[0], std: 8.0 },
    mean: |x, a| {
        let (centre, width) = duration(x);
        // the duration lies evenly between centre - width and centre + width
        let t = ((a - centre + width) / (2.0 * width)).clamp(0.0, 1.0);
        let early = if a >= centre + width { a - centre } else { width * t * t };
        let late = if a <= centre - width { centre - a } else { width * (1.0 - t) * (1.0 - t) };
        0.5 * early + 4.5 * late
    },
    outcome: |x, a, rng| {
        let (centre, width) = duration(x);
        let took = centre + width * (2.0 * rng.random::<f64>() - 1.0);
        if a > took { 0.5 * (a - took) } else { 4.5 * (took - a) }
    },
};

/// The centre and half width of a duration.
fn duration(x: &[f64]) -> (f64, f64) {
    (28.0 + 3.0 * x[0] + 2.0 * x[1] + 2.0 * x[2].abs(), 4.0 + 6.0 * sigmoid(2.0 * x[3]))
}
