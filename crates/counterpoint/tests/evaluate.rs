//! Every estimator side by side, on a log whose truth is known.

#![allow(clippy::unwrap_used, missing_docs)]

use counterpoint::certify::mean_action_value;
use counterpoint::estimate::LossModel;
use counterpoint::evaluate::{Estimate, Evaluator, every_estimator};
use counterpoint::learn::fit_model;
use counterpoint::policy::Family;
use counterpoint::{Log, Policy, Recipe};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// a ~ N(1, 1), y = (a - x)^2 + noise, x ~ N(0, 1).
fn log(n: u64, seed: u64) -> (Log, Policy) {
    let logging = Policy::constant(Family::Normal, &["x"], &["a"], &[1.0], &[1.0]).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let x: Vec<f64> = (0..n).map(|_| normal()).collect();
    let drawn: Vec<(Vec<f64>, f64)> = (0..n).map(|i| logging.sample(&[x[i as usize]], seed, i)).collect();
    let y = x.iter().zip(&drawn).map(|(x, d)| (d.0[0] - x).powi(2) + 0.1 * normal()).collect();
    let log = Log::builder()
        .context("x", x)
        .action("a", drawn.iter().map(|d| d.0[0]).collect())
        .cost("y", y)
        .propensity("p", drawn.iter().map(|d| d.1.exp()).collect())
        .build()
        .unwrap();
    (log, logging)
}

fn all(log: &Log, policy: &Policy, (model, logging): (&LossModel, &Policy), cap: f64) -> Vec<(&'static str, Estimate)> {
    let ask = |e| Evaluator::new(e).model(Some(model)).logging(Some(logging)).evaluate(log, policy).unwrap();
    every_estimator(cap).into_iter().map(|(name, e)| (name, ask(e))).collect()
}

#[test]
fn intervals_of_consistent_estimators_hold_the_truth() {
    let ((train, logging), (test, _)) = (log(6000, 1), log(6000, 2));
    let policy = Policy::constant(Family::Normal, &["x"], &["a"], &[0.6], &[0.7]).unwrap();
    let model = fit_model(&train, &policy, &Recipe::clp()).unwrap();
    // E (a - x)^2 = 0.36 + 0.49 + 1
    let truth = 1.85;
    let estimates = all(&test, &policy, (&model, &logging), 100.0);
    assert_eq!(estimates.len(), 11);
    for (name, e) in &estimates {
        let (low, high) = (e.lower, e.upper);
        assert!((high - low - 2.0 * 1.959_963_984_540_054 * e.std_error).abs() < 1e-12);
        // four standard errors, and what the power mean and the ridge bend
        let bias = if ["power-mean", "direct"].contains(name) { 0.25 } else { 0.0 };
        assert!((e.estimate - truth).abs() < 4.0 * e.std_error + bias, "{name}: {e:?}");
    }
    let error = |name: &str| estimates.iter().find(|e| e.0 == name).unwrap().1.std_error;
    assert!(error("doubly-robust") < error("ips") && error("self-normalised-dr") < error("snips"));
    // the mean action alone: E (0.6 - x)^2 = 1.36
    assert!((mean_action_value(&test, &policy, &model).unwrap().unwrap() - 1.36).abs() < 0.25);
}

#[test]
fn the_policy_that_wrote_the_log_costs_what_the_log_cost() {
    let (log, logging) = log(2000, 3);
    let model = fit_model(&log, &logging, &Recipe::clp()).unwrap();
    let estimates = all(&log, &logging, (&model, &logging), 10.0);
    let value = |name: &str| estimates.iter().find(|e| e.0 == name).unwrap().1;
    for name in ["snips", "ips", "clipped", "soft-clipped", "power-mean", "switch", "cab"] {
        let e = value(name);
        assert!((e.estimate - e.logged).abs() < 1e-9, "{name}: {e:?}");
        assert!((e.mean_weight - 1.0).abs() < 1e-9 && (e.effective - 2000.0).abs() < 1e-5, "{name}: {e:?}");
    }
    assert!((value("doubly-robust").estimate - value("cab-dr").estimate).abs() < 1e-12);
    assert!((value("doubly-robust").estimate - value("self-normalised-dr").estimate).abs() < 1e-9);
}

#[test]
fn what_is_missing_is_named() {
    let (log, logging) = log(500, 4);
    for (name, e) in every_estimator(10.0) {
        let done = Evaluator::new(e).evaluate(&log, &logging);
        match name {
            "snips" | "ips" | "clipped" | "soft-clipped" | "power-mean" => assert!(done.is_ok(), "{name}"),
            _ => assert!(done.unwrap_err().to_string().contains("loss model"), "{name}"),
        }
    }
}
