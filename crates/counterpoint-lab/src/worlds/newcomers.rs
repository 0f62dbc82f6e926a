//! Worlds of a third adversary: logs of two policies in turn, other laws of actions, contexts of odd laws, outcomes that contexts
//! rule, losses that grow rarer as they grow, and policies that play within the log's range where no like context has a row.

use super::laws::{Censored, Levels, Member, gauss, laplace};
use super::{Cell, Contexts, GAIN, Gauss, Logging, SAME, WORSE, exponential, normal, uniform};
use counterpoint::policy::Family;
use rand::rngs::ChaCha8Rng;

/// A normal context, another one, and whether the first or the second policy acted, which is not written down.
pub(super) const IN_TURN: Contexts = Contexts::Given(2, |r| vec![normal(r), normal(r), f64::from(uniform(r) < 0.5)]);

/// The policy that acted in that half of the time, with its own density.
pub(super) const TWO_POLICIES: Logging =
    Logging::Given(|x, r| if x[2] > 0.5 { gauss(-0.5 + 0.3 * x[0], 0.5, r) } else { gauss(0.8, 0.8, r) });

/// ln a is normal around .3 x0.
const POSITIVE: Logging = Logging::LogNormal(Gauss { mean: |x| 0.3 * x[0], std: |_| 0.4 });

/// Plays a log-normal law.
const LOG_NORMAL: fn(Gauss) -> Box<dyn counterpoint::policy::TargetPolicy> = |g| Box::new(Member(Family::LogNormal, g));

/// Happens with probability p.
fn event(p: f64, r: &mut ChaCha8Rng) -> f64 {
    f64::from(uniform(r) < p)
}

/// A Poisson number.
fn count(mean: f64, r: &mut ChaCha8Rng) -> f64 {
    let (mut left, mut k) = (mean, 0.0);
    loop {
        left -= exponential(r);
        if left < 0.0 {
            return k;
        }
        k += 1.0;
    }
}

/// One in twelve of 40 categories is harmful, drawn evenly; a number beside it.
const SHOPS: Contexts = Contexts::Given(2, |r| vec![(40.0 * uniform(r)).floor(), normal(r)]);

/// Where three contexts have signs whose product is positive, and the first is far out: 6% of rows, which no cut of one context finds.
fn checker(x: &[f64]) -> bool {
    x[0] * x[1] * x[2] > 0.0 && x[3].abs() > 1.55
}

/// Every cell.
pub const NEWCOMERS: &[Cell] = &[
    Cell {
        name: "two policies in turn, context cost",
        contexts: IN_TURN,
        logging: TWO_POLICIES,
        policy: Gauss { mean: |_| 0.2, std: |_| 0.5 },
        outcome: |x, _, r| x[0] + x[1].abs() + 0.5 * normal(r),
        rows: &[300, 2000],
        value: Some(super::cells::MEAN_ABS),
        ..SAME
    },
    Cell {
        name: "two policies in turn, outcomes of the second half higher, reward",
        contexts: IN_TURN,
        logging: TWO_POLICIES,
        policy: Gauss { mean: |_| 0.2, std: |_| 0.5 },
        outcome: |x, _, r| 2.0 * x[2] + x[0] + 0.5 * normal(r),
        cost: false,
        value: Some(1.0),
        rows: &[300, 2000],
        ..SAME
    },
    Cell {
        name: "binary, 10%, by context, cost",
        outcome: |x, _, r| event(0.1 * (0.8 * x[0] - 0.32).exp().min(8.0), r),
        rows: &[300, 2000],
        value: None,
        ..SAME
    },
    Cell {
        name: "binary, 20%, by context, reward",
        outcome: |x, _, r| event(0.2 * (0.5 * x[0] - 0.125).exp().min(4.0), r),
        cost: false,
        rows: &[300, 2000],
        value: None,
        ..SAME
    },
    Cell {
        name: "counts, cost",
        outcome: |x, _, r| count((0.7 * x[0] - 0.5).exp(), r),
        rows: &[300, 2000],
        value: None,
        ..SAME
    },
    Cell {
        name: "counts, reward",
        outcome: |x, _, r| count((0.7 * x[0] - 0.5).exp(), r),
        cost: false,
        rows: &[300, 2000],
        value: None,
        ..SAME
    },
    Cell {
        name: "log-normal actions scaled by 1.3, skewed cost",
        logging: POSITIVE,
        policy: Gauss { mean: |x| 1.3 * (0.3 * x[0] + 0.08).exp(), std: |x| 0.4 * (0.3 * x[0] + 0.08).exp() },
        plays: LOG_NORMAL,
        outcome: |x, _, r| (0.5 * x[0]).exp() * exponential(r),
        rows: &[300, 2000],
        value: Some(1.133_148_453_066_826),
        ..SAME
    },
    Cell {
        name: "log-normal actions scaled by 1.3, context reward",
        logging: POSITIVE,
        policy: Gauss { mean: |x| 1.3 * (0.3 * x[0] + 0.08).exp(), std: |x| 0.4 * (0.3 * x[0] + 0.08).exp() },
        plays: LOG_NORMAL,
        outcome: |x, _, r| x[0] + 0.5 * normal(r),
        cost: false,
        value: Some(0.0),
        rows: &[300, 2000],
        ..SAME
    },
    Cell {
        name: "a loss that grows rarer as it grows, cost",
        policy: Gauss { mean: |_| 0.8, std: |_| 0.7 },
        outcome: |_, a, r| {
            let p = (0.08 * (-0.8 * a).exp()).min(0.5);
            event(p, r) / p + 0.3 * normal(r)
        },
        value: Some(1.0),
        rows: &[300, 1000, 4000],
        ..SAME
    },
    Cell {
        name: "a gain that grows rarer as it grows, reward",
        policy: Gauss { mean: |_| 0.8, std: |_| 0.7 },
        outcome: |_, a, r| {
            let p = (0.08 * (-0.8 * a).exp()).min(0.5);
            event(p, r) / p + 0.3 * normal(r)
        },
        cost: false,
        value: Some(1.0),
        rows: &[300, 1000, 4000],
        ..SAME
    },
    Cell {
        name: "one of 40 categories is harmed, no gain",
        contexts: SHOPS,
        policy: Gauss { mean: |_| 0.6, std: |_| 0.8 },
        // 1/40 of 7.8 a is 39/40 of .2 a
        outcome: |x, a, r| if x[0] == 17.0 { -7.8 * a } else { 0.2 * a } + 0.5 * normal(r),
        cost: false,
        value: Some(0.0),
        rows: &[300, 1000, 4000],
        ..SAME
    },
    Cell {
        name: "a point mass at 0, context cost",
        logging: Logging::Given(|x, r| {
            let mean = 0.4 + 0.3 * x[0];
            let a = (mean + 0.7 * normal(r)).max(0.0);
            (a, Censored::density(a, mean, 0.7))
        }),
        policy: Gauss { mean: |x| 0.1 + 0.3 * x[0], std: |_| 0.6 },
        plays: |g| Box::new(Censored(g)),
        outcome: |x, _, r| 2.0 * x[0] + normal(r),
        rows: &[300, 2000],
        value: Some(0.0),
        ..SAME
    },
    Cell {
        name: "a grid of nine levels, skewed reward",
        logging: Logging::Given(|x, r| Levels::draw(0.4 * x[0], 1.0, uniform(r))),
        policy: Gauss { mean: |x| 0.4 * x[0] + 0.5, std: |_| 0.7 },
        plays: |g| Box::new(Levels(g)),
        outcome: |x, _, r| x[0] + exponential(r),
        cost: false,
        value: Some(1.0),
        rows: &[300, 2000],
        ..SAME
    },
    Cell {
        name: "spread exp(x0), policy of constant spread, -context cost",
        logging: Logging::Normal(Gauss { mean: |_| 0.0, std: |x| x[0].exp() }),
        policy: Gauss { mean: |_| 0.0, std: |_| 0.6 },
        outcome: |x, _, r| -x[0] + 0.5 * normal(r),
        rows: &[300, 2000],
        value: Some(0.0),
        ..SAME
    },
    Cell {
        name: "spread exp(x0), policy of constant spread, context reward squared",
        logging: Logging::Normal(Gauss { mean: |_| 0.0, std: |x| x[0].exp() }),
        policy: Gauss { mean: |_| 0.0, std: |_| 0.6 },
        outcome: |x, _, r| x[0] * x[0] + 0.5 * normal(r),
        cost: false,
        rows: &[300, 2000],
        value: Some(1.0),
        ..SAME
    },
    Cell {
        name: "outliers of 10 beyond 2.2, no gain",
        policy: Gauss { mean: |_| 1.0, std: |_| 0.8 },
        // P(a > 2.2) is .0668 under the policy and .0139 under the log
        outcome: |_, a, r| if a > 2.2 { 10.0 } else { 0.0 } - 0.529_041 * a + 0.3 * normal(r),
        value: Some(0.139_034),
        rows: &[300, 1000, 4000],
        ..SAME
    },
    Cell {
        name: "a context of 1% rules the outcome, cost",
        contexts: Contexts::Given(2, |r| vec![event(0.01, r), normal(r)]),
        policy: Gauss { mean: |x| 0.3 + 0.7 * x[0], std: |_| 0.7 },
        outcome: |x, _, r| 50.0 * x[0] + normal(r),
        value: Some(0.5),
        rows: &[300, 1000, 4000],
        ..SAME
    },
    Cell {
        name: "a context of 1% rules the outcome, reward",
        contexts: Contexts::Given(2, |r| vec![event(0.01, r), normal(r)]),
        policy: Gauss { mean: |x| 0.3 + 0.7 * x[0], std: |_| 0.7 },
        outcome: |x, _, r| 50.0 * x[0] + normal(r),
        cost: false,
        value: Some(0.5),
        rows: &[300, 1000, 4000],
        ..SAME
    },
    Cell {
        name: "Cauchy contexts, logarithmic reward",
        contexts: Contexts::Given(2, |r| vec![normal(r) / normal(r), normal(r)]),
        logging: Logging::Normal(Gauss { mean: |x| x[0].tanh(), std: |_| 0.6 }),
        policy: Gauss { mean: |x| x[0].tanh() + 0.3, std: |_| 0.5 },
        outcome: |x, _, r| x[0].signum() * (1.0 + x[0].abs()).ln() + 0.5 * normal(r),
        cost: false,
        value: Some(0.0),
        rows: &[300, 2000],
        ..SAME
    },
    Cell {
        name: "a Laplace log, noise exp(x0), cost",
        logging: Logging::Given(|x, r| {
            let z = laplace(r);
            (0.3 * x[0] + 0.7 * z, (-z.abs()).exp() / 1.4)
        }),
        policy: Gauss { mean: |x| 0.3 * x[0] + 0.3, std: |_| 0.5 },
        outcome: |x, _, r| (0.8 * x[0]).exp() * normal(r),
        value: Some(0.0),
        rows: &[300, 2000],
        ..SAME
    },
    Cell {
        name: "almost a rule and seldom a look round, skewed cost",
        logging: Logging::Explores { usual: Gauss { mean: |x| x[0], std: |_| 0.05 }, share: 0.05, reach: 1.5 },
        policy: Gauss { mean: |x| x[0] + 0.3, std: |_| 0.4 },
        outcome: |x, _, r| x[0].abs() + exponential(r),
        value: Some(1.0 + super::cells::MEAN_ABS),
        rows: &[1000, 4000, 10_000],
        ..SAME
    },
    Cell {
        name: "near the log, heavy noise of Student's law, cost",
        policy: Gauss { mean: |_| 0.15, std: |_| 0.9 },
        outcome: |x, _, r| x[0] + normal(r) / (0.5 * (normal(r).powi(2) + normal(r).powi(2))).sqrt(),
        value: Some(0.0),
        rows: &[300, 2000],
        ..SAME
    },
    // worse
    Cell {
        name: "within range, unlike any row, in a checker of 6%",
        contexts: Contexts::Normals(4),
        policy: Gauss { mean: |x| if checker(x) { 2.3 } else { 0.3 }, std: |x| if checker(x) { 0.4 } else { 0.8 } },
        outcome: |x, a, r| 0.3 * a - if checker(x) && a > 1.6 { 9.0 } else { 0.0 } + 0.3 * normal(r),
        rows: &[300, 1000, 4000],
        ..WORSE_HERE
    },
    Cell {
        name: "within range, one of 40 categories, terrible beyond 1.8",
        contexts: SHOPS,
        policy: Gauss { mean: |x| if x[0] == 17.0 { 2.4 } else { 0.3 }, std: |x| if x[0] == 17.0 { 0.4 } else { 0.8 } },
        outcome: |x, a, r| 0.3 * a - if x[0] == 17.0 && a > 1.8 { 20.0 } else { 0.0 } + 0.3 * normal(r),
        rows: &[300, 1000, 4000],
        ..WORSE_HERE
    },
    Cell {
        name: "the other hump in a corner",
        contexts: Contexts::Normals(4),
        logging: Logging::Given(|x, r| {
            let at = if x[0] > 0.0 { 1.0 } else { -1.0 };
            let (a, _) = gauss(at * if uniform(r) < 0.5 { 1.0 } else { 1.2 }, 0.3, r);
            let density = |m: f64| Family::Normal.log_density(a, m, 0.3).value.exp();
            (a, 0.5 * (density(at) + density(1.2 * at)))
        }),
        policy: Gauss {
            mean: |x| {
                if x[0] > 0.0 {
                    1.25
                } else if x[1] > 1.4 {
                    1.0
                } else {
                    -1.0
                }
            },
            std: |_| 0.25,
        },
        outcome: |x, a, r| 0.3 * a - if x[0] <= 0.0 && a > 0.0 { 12.0 } else { 0.0 } + 0.3 * normal(r),
        rows: &[300, 1000],
        ..WORSE_HERE
    },
    Cell {
        name: "a policy that drifts away with ten contexts",
        contexts: Contexts::Normals(10),
        policy: Gauss { mean: |x| 0.22 * (x[0] + x[1] + x[2] + x[3]).powi(2) - 0.5, std: |_| 0.6 },
        outcome: |x, a, r| {
            let far = (x[0] + x[1] + x[2] + x[3]).abs() > 3.4;
            0.25 * a - if far && a > 1.7 { 9.0 } else { 0.0 } + 0.3 * normal(r)
        },
        rows: &[300, 1000, 4000],
        ..WORSE_HERE
    },
    Cell {
        name: "zero doses in 3% of contexts of a censored log",
        logging: Logging::Given(|x, r| {
            let mean = 2.0 + 0.3 * x[0];
            let a = (mean + 0.8 * normal(r)).max(0.0);
            (a, Censored::density(a, mean, 0.8))
        }),
        policy: Gauss { mean: |x| if x[1] > 0.94 { -1.5 } else { 2.3 + 0.3 * x[0] }, std: |_| 0.6 },
        plays: |g| Box::new(Censored(g)),
        outcome: |_, a, r| 0.3 * a - if a == 0.0 { 12.0 } else { 0.0 } + 0.3 * normal(r),
        rows: &[300, 1000],
        ..WORSE_HERE
    },
    // better
    Cell {
        name: "better, two policies in turn",
        contexts: IN_TURN,
        logging: TWO_POLICIES,
        policy: Gauss { mean: |_| 0.4, std: |_| 0.5 },
        outcome: |x, a, r| 0.8 * a + 0.5 * x[0] + 0.5 * normal(r),
        rows: &[300, 1000],
        ..GAIN
    },
    Cell {
        name: "better, log-normal actions scaled by 1.3",
        logging: POSITIVE,
        policy: Gauss { mean: |x| 1.3 * (0.3 * x[0] + 0.08).exp(), std: |x| 0.4 * (0.3 * x[0] + 0.08).exp() },
        plays: LOG_NORMAL,
        outcome: |_, a, r| a.ln() + 0.5 * normal(r),
        rows: &[300, 1000],
        ..GAIN
    },
    Cell {
        name: "better, a grid of nine levels",
        logging: Logging::Given(|x, r| Levels::draw(0.4 * x[0], 1.0, uniform(r))),
        policy: Gauss { mean: |x| 0.4 * x[0] + 0.5, std: |_| 0.7 },
        plays: |g| Box::new(Levels(g)),
        outcome: |_, a, r| 0.5 * a + 0.5 * normal(r),
        rows: &[300, 1000],
        ..GAIN
    },
    Cell {
        name: "better, a point mass at 0",
        logging: Logging::Given(|x, r| {
            let mean = 0.4 + 0.3 * x[0];
            let a = (mean + 0.7 * normal(r)).max(0.0);
            (a, Censored::density(a, mean, 0.7))
        }),
        policy: Gauss { mean: |x| 0.1 + 0.3 * x[0], std: |_| 0.6 },
        plays: |g| Box::new(Censored(g)),
        outcome: |_, a, r| -0.7 * a + 0.5 * normal(r),
        rows: &[300, 1000],
        ..GAIN
    },
    Cell {
        name: "better, counts",
        policy: Gauss { mean: |_| 0.5, std: |_| 0.8 },
        outcome: |x, a, r| count((0.5 * x[0] + 0.3 * a).min(3.0).exp(), r),
        rows: &[300, 1000],
        ..GAIN
    },
    Cell {
        name: "better, binary 20%",
        policy: Gauss { mean: |_| 0.6, std: |_| 0.8 },
        outcome: |x, a, r| event(0.2 * (0.4 * x[0] + 0.6 * a - 0.2).exp().min(4.0), r),
        rows: &[300, 1000],
        ..GAIN
    },
    Cell {
        name: "better, drifts with ten contexts, supported",
        contexts: Contexts::Normals(10),
        policy: Gauss { mean: |x| 0.3 * (x[0] + x[1] + x[2]), std: |_| 0.8 },
        outcome: |x, a, r| 0.6 * a * (x[0] + x[1] + x[2]) + 0.5 * normal(r),
        rows: &[300, 1000],
        ..GAIN
    },
];

/// The plain log, and a policy that is worse.
const WORSE_HERE: Cell = Cell { logging: SAME.logging, ..WORSE };
