//! Estimates over many simulated logs with a known truth: right on average, and as uncertain as they say.
//!
//! Tolerances follow from the number of logs: four standard errors of the mean over logs, and for variances four times
//! sqrt((kurtosis - 1) / logs), the relative standard error of a sample variance.

#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use counterpoint::estimate::{LossModel, Normalise};
use counterpoint::features::{ActionMap, ContextMap, Scaler};
use counterpoint::folds::{LossOptions, Question, fit_loss_model};
use counterpoint::policy::{Family, Linear, Link, Mean, Std};
use counterpoint::{Engine, Estimator, Policy};
use support::{Columns, ask, normal, u};

const LOGS: usize = 400;
const ROWS: usize = 250;

/// N(b0 + b1 x, std^2).
fn gaussian(b0: f64, b1: f64, std: f64) -> Policy {
    Policy {
        origin: None,
        inputs: Vec::new(),
        contexts: vec!["x0".into()],
        actions: vec!["a0".into()],
        scaler: Scaler::identity(1),
        family: Family::Normal,
        mean: Mean::Linear(Linear { map: ContextMap::Linear, link: Link::Identity }),
        std: Std::Learned { floor: vec![0.0] },
        theta: vec![b1, b0, std.ln()],
    }
}

fn logging() -> Policy {
    gaussian(0.2, 0.3, 1.0)
}

/// The policy whose value is asked: narrower than the log's, so that its weights have all moments.
fn target() -> Policy {
    gaussian(0.5, 0.6, 0.6)
}

/// x uniform on [-1, 1], a from the logging policy, cost (a - x)^2 - 1 with noise.
fn simulate(seed: usize, rows: usize) -> Columns {
    let policy = logging();
    let mut c = Columns { x: vec![Vec::new()], a: vec![Vec::new()], ..Columns::default() };
    let mut scorer = policy.scorer();
    for i in 0..rows {
        let x = 2.0 * u(i, 1000 + 2 * seed) - 1.0;
        let (a, log_density) = scorer.sample(&[x], seed as u64, i as u64);
        c.y.push((a[0] - x).powi(2) - 1.0 + 0.3 * normal(i, 5000 + 2 * seed));
        c.p.push(log_density.exp());
        c.x[0].push(x);
        c.a[0].push(a[0]);
    }
    c
}

/// E (b0 + (b1 - 1) x)^2 + std^2 - 1 with E x^2 = 1/3.
fn truth() -> f64 {
    0.5f64.powi(2) + 0.4f64.powi(2) / 3.0 + 0.6f64.powi(2) - 1.0
}

/// A loss model from a log of its own: wrong, as models are, but independent of the logs it is used on.
fn model() -> LossModel {
    let actions = ActionMap::new((0..6).map(|j| -2.0 + 0.9 * f64::from(j)).collect(), 1, None).unwrap();
    let options = LossOptions { scaler: Scaler::identity(1), map: ContextMap::Linear, actions, ridge: 1e-2 };
    fit_loss_model(&Engine::single(), &simulate(9999, 300).log(), &options).unwrap()
}

/// Estimates, reported variances and first-order biases over the logs.
struct Trials {
    estimates: Vec<f64>,
    reported: Vec<f64>,
    /// -cov(v, t - L v) / n: what a ratio of means is off by; 0 for means.
    bias: f64,
}

fn trials(question: &Question) -> Trials {
    let normalise = question.estimator.normalise;
    let mut t = Trials { estimates: Vec::new(), reported: Vec::new(), bias: 0.0 };
    for seed in 0..LOGS {
        let s = ask(&simulate(seed, ROWS).log(), &target(), question).sums;
        t.estimates.push(s.risk(normalise));
        t.reported.push(s.std_error(normalise).powi(2));
        if normalise == Normalise::ByWeights {
            let ratio = s.t / s.v;
            t.bias -= (s.tv - ratio * s.vv) * s.n / (s.v * s.v) / s.n / LOGS as f64;
        }
    }
    t
}

fn moments(v: &[f64]) -> (f64, f64, f64) {
    let n = v.len() as f64;
    let mean = v.iter().sum::<f64>() / n;
    let central = |k: i32| v.iter().map(|x| (x - mean).powi(k)).sum::<f64>();
    let variance = central(2) / (n - 1.0);
    (mean, variance, central(4) / n / variance.powi(2))
}

fn questions() -> Vec<(&'static str, Question)> {
    let with = |e: Estimator| Question::new(e).with_model(model());
    vec![
        ("IPS", Question::new(Estimator::IPS)),
        ("SNIPS", Question::new(Estimator::SNIPS)),
        ("DR", with(Estimator::DR)),
        ("self-normalised DR", with(Estimator { normalise: Normalise::ByWeights, ..Estimator::DR })),
    ]
}

#[test]
fn estimates_are_right_on_average_and_as_uncertain_as_they_say() {
    let mut spread = Vec::new();
    for (name, question) in questions() {
        let t = trials(&question);
        let (mean, variance, kurtosis) = moments(&t.estimates);
        let error = (variance / LOGS as f64).sqrt();
        let off = mean - truth() - t.bias;
        assert!(off.abs() < 4.0 * error, "{name}: off by {off:.5} with a standard error of {error:.5}");
        assert!(t.bias.abs() < 0.1 * variance.sqrt(), "{name}: a bias of {} is not small", t.bias);

        let (reported, varies, _) = moments(&t.reported);
        let relative = ((kurtosis - 1.0) / LOGS as f64 + varies / LOGS as f64 / reported.powi(2)).sqrt();
        let ratio = reported / variance;
        assert!(
            (ratio - 1.0).abs() < 4.0 * relative,
            "{name}: reported variance is {ratio:.3} of the real one, +- {relative:.3}"
        );
        spread.push(variance);
    }
    assert!(spread[2] < spread[0] && spread[3] < spread[1], "a model should help: variances {spread:?}");
}

#[test]
fn intervals_of_two_standard_errors_hold_the_truth_as_often_as_they_should() {
    for (name, question) in questions() {
        let t = trials(&question);
        let held = t.estimates.iter().zip(&t.reported).filter(|(e, v)| (*e - truth()).abs() < 1.96 * v.sqrt()).count();
        // 95% nominal; a few points are lost to skew at 250 rows, and 4 standard errors of a proportion to chance
        let share = held as f64 / LOGS as f64;
        assert!((share - 0.95).abs() < 0.03 + 4.0 * (0.95f64 * 0.05 / LOGS as f64).sqrt(), "{name}: {share}");
    }
}

#[test]
fn the_direct_method_is_only_as_right_as_its_model() {
    let t = trials(&Question::new(Estimator::DM).with_model(model()));
    let (mean, variance, _) = moments(&t.estimates);
    let error = (variance / LOGS as f64).sqrt();
    assert!((mean - truth()).abs() > 4.0 * error, "the model was meant to be wrong; otherwise DR proves nothing");
}
