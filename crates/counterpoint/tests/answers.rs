//! Questions whose answers are known: the value of a mean action.

#![allow(clippy::unwrap_used, missing_docs)]

use counterpoint::certify::mean_action;
use counterpoint::evaluate::paper_bounds;
use counterpoint::policy::{Family, TargetAction};
use counterpoint::{Estimator, Log, Policy, Recipe, evaluate, learn};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// x uniform on (-1, 1), a ~ N(.3 x, 1), the policy's mean at off + .3 x; y by a function of a and the mean, plus noise of std .5.
struct World {
    x: Vec<f64>,
    a: Vec<f64>,
    mean: Vec<f64>,
    y: Vec<f64>,
}

fn world(n: usize, seed: u64, off: f64, cost: fn(f64, f64) -> f64) -> World {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut w = World { x: Vec::new(), a: Vec::new(), mean: Vec::new(), y: Vec::new() };
    for _ in 0..n {
        let (x, z, e): (f64, f64, f64) =
            (2.0 * rng.random::<f64>() - 1.0, StandardNormal.sample(&mut rng), StandardNormal.sample(&mut rng));
        let (a, mean) = (0.3 * x + z, off + 0.3 * x);
        w.y.push(cost(a, mean) + 0.5 * e);
        (w.x.push(x), w.a.push(a), w.mean.push(mean));
    }
    w
}

impl World {
    fn log(&self) -> Log {
        let p = self.a.iter().zip(&self.x).map(|(a, x)| Family::Normal.log_density(*a, 0.3 * x, 1.0).value.exp());
        Log::builder()
            .context("x", self.x.clone())
            .action("a", self.a.clone())
            .cost("y", self.y.clone())
            .propensity("p", p.collect())
            .target_action("mine", self.mean.clone())
            .build()
            .unwrap()
    }
}

/// 150 logs of 2,000 rows; four standard errors of a share of .95 are .07, and a kink is allowed .03 more (`docs/maths.md`).
#[test]
fn intervals_of_the_mean_action_hold_its_value() {
    let mine = TargetAction::new(Family::Normal, &[0.5]).unwrap();
    // a parabola, a sine, a line, a kink at the mean action itself; at the mean and 1.5 stds away from it
    let costs: [(fn(f64, f64) -> f64, f64); 4] = [
        (|a, m| (a - m + 0.2).powi(2), 0.88),
        (|a, m| (3.0 * (a - m)).sin(), 0.88),
        (|a, _| a, 0.88),
        (|a, m| (a - m).abs(), 0.85),
    ];
    for (k, (cost, least)) in costs.into_iter().enumerate() {
        for off in [0.5, 1.5] {
            let (logs, mut held, mut supported) = (150, 0, 0);
            // E over x of the cost at a = mean; the mean itself averages to off
            let truth = cost(off, off);
            for seed in 0..logs {
                let m = mean_action(&mine, &world(2000, seed, off, cost).log(), 0.95).unwrap();
                assert!(m.effective >= 30.0 && m.bias >= 0.0, "{m:?}");
                held += u32::from(m.value.holds(truth));
                supported += u32::from(m.supported);
            }
            // the tolerance is three standard errors of a skewed mean weight
            assert!(supported >= 144, "cost {k} at {off}: {supported}");
            let share = f64::from(held) / logs as f64;
            assert!(share >= least, "cost {k} at {off}: {share}");
        }
    }
}

/// Noise of std .6 costs .36 on a parabola: the mean action must be told apart from the policy around it.
#[test]
fn the_mean_action_is_another_policy_than_the_one_around_it() {
    let w = world(4000, 1, 0.5, |a, m| (a - m).powi(2));
    let mine = TargetAction::new(Family::Normal, &[0.6]).unwrap();
    let m = mean_action(&mine, &w.log(), 0.95).unwrap();
    assert!(m.value.holds(0.0) && m.value.upper < 0.2, "{m}");
}

/// Price points 1, 2, 3, played in .2, .5 and .3 of the rows: the mean action is 2, and the rows that played it are the answer.
#[test]
fn rows_on_a_grid_that_did_just_that_are_the_answer() {
    let price = |i: usize| [1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0][i % 10];
    let a: Vec<f64> = (0..1000).map(price).collect();
    let y: Vec<f64> = (0..1000).map(|i| 10.0 * price(i) + (i % 7) as f64).collect();
    let p = a.iter().map(|a| [0.2, 0.5, 0.3][*a as usize - 1]).collect();
    let at: Vec<f64> = (0..1000).filter(|&i| a[i] == 2.0).map(|i| y[i]).collect();
    let truth = at.iter().sum::<f64>() / 500.0;
    let squares: f64 = at.iter().map(|y| (y - truth).powi(2)).sum();
    let log = Log::builder().action("a", a).reward("r", y).propensity("p", p).build().unwrap();
    let policy = Policy::constant(Family::Normal, &[], &["a"], &[2.0], &[0.5]).unwrap();
    let m = mean_action(&policy, &log, 0.95).unwrap();
    assert_eq!((m.distance[0], m.bias), (0.0, 0.0));
    assert!((m.value.estimate - truth).abs() < 1e-9 && (m.mean_weight - 1.0).abs() < 1e-9, "{m:?} {truth}");
    assert!((m.value.std_error - squares.sqrt() / 500.0).abs() < 1e-9 && (m.effective - 500.0).abs() < 1e-6, "{m:?}");
}

#[test]
fn a_mean_action_far_from_every_row_has_no_value() {
    let log = world(500, 2, 0.0, |a, _| a).log();
    let far = Policy::constant(Family::Normal, &["x"], &["a"], &[40.0], &[1.0]).unwrap();
    assert!(mean_action(&far, &log, 0.95).unwrap_err().to_string().contains("effective rows"));
    let edge = Policy::constant(Family::Normal, &["x"], &["a"], &[3.4], &[1.0]).unwrap();
    // where a few rows are near, the interval says how little they know, or there is none
    assert!(mean_action(&edge, &log, 0.95).is_err() || !mean_action(&edge, &log, 0.95).unwrap().supported);
}

/// The paper's bounds of a fitted CLP policy: they hold (the truth is a gain), they are vacuous at this size, and they start from scIPS on costs in [-1, 0].
#[test]
fn the_papers_bounds_hold_and_say_nothing_at_common_sizes() {
    let w = world(2000, 5, 0.5, |a, m| (a - m).powi(2).min(4.0));
    let log = w.log();
    let recipe = Recipe::from_toml("policy = \"clp\"\nfamily = \"normal\"\nanchors = 6\nstarts = 1").unwrap();
    let learned = learn(&log, &recipe).unwrap();
    let policy = learned.policy.into_parametric().unwrap();
    let b = paper_bounds(&log, &policy, 15.0, 0.95).unwrap();
    assert!(b.vacuous && b.generalisation > b.range[1] && b.excess > b.range[1] - b.range[0], "{b}");
    // the constants of an infinite class are the larger ones, and gamma is in the complexity
    assert!(b.printed < b.generalisation && b.estimate < b.printed);
    let gamma = (b.class.anchors * b.class.features) as f64 * b.class.temperature.ln();
    assert!((b.complexity - b.complexity_printed - gamma).abs() < 1e-6 * b.complexity, "{b}");
    let raw = evaluate(&log, &policy, &Estimator::soft_clipped(15.0)).unwrap();
    let mean_weight = raw.mean_weight;
    // scIPS of y - max is that of y less max times the mean clipped weight
    assert!((b.estimate - (raw.estimate - b.range[1] * mean_weight + b.range[1])).abs() < 1e-9, "{b}");
    let other = Policy::constant(Family::Normal, &["x"], &["a"], &[0.4], &[0.7]).unwrap();
    assert!(paper_bounds(&log, &other, 15.0, 0.95).unwrap_err().to_string().contains("loss predictors"));
}
