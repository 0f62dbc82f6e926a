//! Questions whose answers are known: the value of a mean action, ratios of outcomes.

#![allow(clippy::unwrap_used, missing_docs)]

use counterpoint::certify::{Finding, Terms, certify, mean_action, ratio};
use counterpoint::data::SplitRule;
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
        w.x.push(x);
        w.a.push(a);
        w.mean.push(mean);
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
    type Cost = fn(f64, f64) -> f64;
    let costs: [(Cost, f64); 4] = [
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

fn two(actions: &[f64], p: &[f64], name: &str, y: Vec<f64>) -> Log {
    Log::builder().action("a", actions.to_vec()).reward(name, y).propensity("p", p.to_vec()).build().unwrap()
}

/// Weights 2, 1, 1 (up to a factor), revenue 4, 1, 3, spend 1, 1, 2: R = (8 + 1 + 3)/(2 + 1 + 2) = 2.4, the log's 8/4 = 2.
/// Influences w (y - R c) / 5: 2 (1.6), -1.4, -1.8, over 5; of the log (y - 2 c) / 4: 2, -1, -1, over 4.
#[test]
fn ratios_of_three_rows_by_hand() {
    let at = |a: f64| Family::Normal.log_density(a, 0.0, 1.0).value.exp();
    let (a, p) = ([0.0, 0.5, 1.0], [at(0.0) / 2.0, at(0.5), at(1.0)]);
    let (revenue, spend) = (two(&a, &p, "revenue", vec![4.0, 1.0, 3.0]), two(&a, &p, "spend", vec![1.0, 1.0, 2.0]));
    let policy = Policy::constant(Family::Normal, &[], &["a"], &[0.0], &[1.0]).unwrap();
    let balance = two(&a, &p, "balance", vec![1.0, -1.0, 2.0]); // it may well be 0 on average
    assert!(ratio(&policy, &revenue, &balance, &Terms::default()).unwrap_err().to_string().contains("balance"));
    assert!((ratio(&policy, &revenue, &spend, &Terms::default()).unwrap().policy.estimate - 2.4).abs() < 1e-12);
    let thirty = |log: [f64; 3], k: usize| log.iter().copied().cycle().take(3 * k).collect::<Vec<f64>>();
    let (a, p) = (thirty(a, 10), thirty(p, 10));
    let revenue = two(&a, &p, "revenue", thirty([4.0, 1.0, 3.0], 10));
    let spend = two(&a, &p, "spend", thirty([1.0, 1.0, 2.0], 10));
    let r = ratio(&policy, &revenue, &spend, &Terms::default()).unwrap();
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    close(r.policy.estimate, 2.4);
    close(r.logged.estimate, 2.0);
    close(r.difference.estimate, 0.4);
    let error = |psi: [f64; 3]| (10.0 * psi.iter().map(|p| p * p).sum::<f64>()).sqrt() / 10.0;
    let (own, log) = ([3.2 / 5.0, -1.4 / 5.0, -1.8 / 5.0], [2.0 / 4.0, -1.0 / 4.0, -1.0 / 4.0]);
    close(r.policy.std_error, error(own));
    close(r.logged.std_error, error(log));
    close(r.difference.std_error, error([own[0] - log[0], own[1] - log[1], own[2] - log[2]]));
    close(r.means_below[0], 1.25);
    close(r.means_below[1], 4.0 / 3.0);
}

/// Spend 1 + a^2 + noise, revenue 2 + a + noise under a ~ N(0, 1); the policy plays N(.4, .7). Truth: 2.4 / (1 + .16 + .49) and 2 / 2.
/// 300 logs of 1,000 rows: four standard errors of .95 are .05. Better is said of the policy, never of its reverse.
#[test]
fn intervals_of_ratios_hold_the_truth() {
    let policy = Policy::constant(Family::Normal, &[], &["a"], &[0.4], &[0.7]).unwrap();
    let (truth, logged) = (2.4 / 1.65, 1.0);
    let (logs, mut held) = (300, [0; 3]);
    for seed in 0..logs {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let rows: Vec<[f64; 3]> = (0..1000).map(|_| [normal(), normal(), normal()]).collect();
        let a: Vec<f64> = rows.iter().map(|r| r[0]).collect();
        let p: Vec<f64> = a.iter().map(|a| Family::Normal.log_density(*a, 0.0, 1.0).value.exp()).collect();
        let revenue = two(&a, &p, "revenue", rows.iter().map(|r| 2.0 + r[0] + r[1]).collect());
        let spend = two(&a, &p, "spend", rows.iter().map(|r| 1.0 + r[0] * r[0] + 0.3 * (r[1] + r[2])).collect());
        let r = ratio(&policy, &revenue, &spend, &Terms::default()).unwrap();
        let holds = [r.policy.holds(truth), r.logged.holds(logged), r.difference.holds(truth - logged)];
        held.iter_mut().zip(holds).for_each(|(h, holds)| *h += u32::from(holds));
        if seed == 0 {
            let parts = revenue.split(SplitRule::default()).unwrap();
            let c = certify(&policy, &parts.valid, &parts.test, &Terms::default()).unwrap();
            assert_eq!(r.finding(&c), Finding::Better, "{r}");
            assert_eq!(ratio(&policy, &spend, &revenue, &Terms::default()).unwrap().finding(&c), Finding::Worse);
        }
    }
    assert!(held.iter().all(|h| f64::from(*h) / logs as f64 > 0.90), "{held:?}");
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
