#![allow(clippy::unwrap_used)]

use super::*;
use crate::data::SplitRule;
use crate::estimate::{Form, LossModel, Normalise, Target, Weight};
use crate::features::{ContextKind, ContextMap, Scaler};
use crate::optim::Objective;
use crate::policy::{BucketSoftmax, Buckets, Columns, Family, Linear, Link, Mean, SoftmaxPolicy, TargetPolicy};
use crate::simulate::{Potential, Split, logging_policy};
use crate::{Engine, Estimator, Log};

/// Moons with a policy that is neither the log's nor degenerate.
fn setting(rows: usize, k: usize) -> (Log, Logging, BucketSoftmax, LossModel) {
    let log = Potential::Moons.simulate(3 * rows, 5).log().unwrap().split(SplitRule::Column).unwrap().train;
    let actions: Vec<f64> = log.blocks().iter().flat_map(|b| b.a[0].to_vec()).collect();
    let buckets = Buckets::quantile(&actions, k).unwrap();
    let theta = (0..6 * k).map(|i| 1.7 * (i as f64 * 2.3).sin()).collect();
    let policy = BucketSoftmax { scaler: Scaler::identity(2), map: ContextMap::Quadratic, buckets, theta };
    let model = fit_bucket_model(&Engine::single(), &log, &policy, 1e-3).unwrap();
    (log, Logging::Known(logging_policy().unwrap()), policy, model)
}

fn everyone(cap: f64) -> Vec<Estimator> {
    let sn_dr = Estimator::new(Weight::Raw, Form::Residual, Normalise::ByWeights);
    vec![
        Estimator::IPS,
        Estimator::clipped(cap),
        Estimator::soft_clipped(cap),
        Estimator::power_mean(0.2, -1.0),
        Estimator::SNIPS,
        Estimator::DM,
        Estimator::DR,
        sn_dr,
        Estimator::switch(cap),
        Estimator::cab(cap),
        Estimator::cab_dr(cap),
    ]
}

#[test]
fn every_gradient_is_the_derivative_of_its_value() {
    let (log, logging, policy, model) = setting(300, 4);
    let engine = Engine::single();
    let rows = Rows::new(&log, &policy, &Reference::Buckets(&logging), Some(&model), -0.3).unwrap();
    for estimator in everyone(1.5) {
        let target = Target { normalise: estimator.normalise, variance_penalty: 0.7, entropy: 0.2 };
        let mut risk = SoftmaxRisk::new(&engine, &rows, estimator, target, (0.1, 5)).unwrap();
        let (mut grad, mut other) = (vec![0.0; risk.dim()], vec![0.0; risk.dim()]);
        risk.eval(&policy.theta, &mut grad).unwrap();
        for i in 0..grad.len() {
            let mut at = |h: f64| {
                let mut theta = policy.theta.clone();
                theta[i] += h;
                risk.eval(&theta, &mut other).unwrap()
            };
            let d = (at(1e-6) - at(-1e-6)) / 2e-6;
            assert!((grad[i] - d).abs() < 1e-7, "{estimator:?} {i}: {} {d}", grad[i]);
        }
    }
}

fn value(setting: &(Log, Logging, BucketSoftmax, LossModel), estimator: Estimator) -> f64 {
    let (log, logging, policy, model) = setting;
    let engine = Engine::single();
    evaluate_discrete(&engine, log, policy, &Reference::Buckets(logging), &estimator, Some(model)).unwrap().cost()
}

#[test]
fn switch_and_cab_lie_between_the_model_and_the_weights() {
    let s = setting(500, 6);
    let [dm, ips, dr] = [Estimator::DM, Estimator::IPS, Estimator::DR].map(|e| value(&s, e));
    assert!((dm - ips).abs() > 1e-3 && (dr - ips).abs() > 1e-6);
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
    for estimator in [Estimator::switch, Estimator::cab] {
        near(value(&s, estimator(1e-12)), dm);
        near(value(&s, estimator(1e12)), ips);
    }
    near(value(&s, Estimator::cab_dr(1e12)), dr);
    near(value(&s, Estimator::cab_dr(1e-12)), dm);
    let mid = value(&s, Estimator::cab(1.0));
    assert!((mid - dm).abs() > 1e-6 && (mid - ips).abs() > 1e-6);
}

#[test]
fn terms_by_hand() {
    // two buckets, no contexts: p = (1/4, 3/4); shares of N(0, 1) around 0.5: (0.6915, 0.3085)
    let logged = crate::Policy::constant(Family::Normal, &[], &["a"], &[0.0], &[1.0]).unwrap();
    let actions = vec![-1.0, 0.0, 1.0, 2.0];
    let density = actions.iter().map(|a| logged.log_density(&[], &[*a]).exp()).collect();
    let log = Log::builder()
        .action("a", actions.clone())
        .cost("y", vec![1.0, 2.0, -1.0, 4.0])
        .propensity("p", density)
        .build()
        .unwrap();
    let buckets = Buckets::quantile(&actions, 2).unwrap();
    assert_eq!((buckets.edges()[1], buckets.centres()), (0.5, &[-0.5, 1.5][..]));
    assert!((buckets.edges()[0] + 0.97).abs() < 1e-12 && (buckets.edges()[2] - 1.97).abs() < 1e-12);
    let theta = vec![0.25f64.ln(), 0.75f64.ln()];
    let policy = BucketSoftmax { scaler: Scaler::identity(0), map: ContextMap::Constant, buckets, theta };
    let model = fit_bucket_model(&Engine::single(), &log, &policy, 1e-12).unwrap();
    let s = (log, Logging::Known(logged), policy, model);
    let q = [0.691_462_461_274_013_1, 0.308_537_538_725_986_9];
    let w = [0.25 / q[0], 0.75 / q[1]];
    let near = |e, truth: f64| assert!((value(&s, e) - truth).abs() < 1e-9, "{e:?} {} {truth}", value(&s, e));
    // the model is the mean cost of each bucket: 1.5 and 1.5
    near(Estimator::IPS, (3.0 * w[0] + 3.0 * w[1]) / 4.0);
    near(Estimator::SNIPS, 1.5);
    near(Estimator::DM, 1.5);
    near(Estimator::DR, 1.5);
    near(Estimator::switch(1.0), 3.0 * w[0] / 4.0 + 0.75 * 1.5);
    near(Estimator::cab(2.0), (3.0 * w[0] + 6.0) / 4.0 + (0.75 - 2.0 * q[1]) * 1.5);
}

#[test]
fn shares_integrate_the_logging_density() {
    let (log, logging, policy, _) = setting(20_000, 8);
    let q = logging.shares(&policy.buckets).unwrap().at(&[0.2, 0.9]).unwrap();
    assert!((q.iter().sum::<f64>() - 1.0).abs() < 1e-14);
    // quantile buckets hold an eighth of the log each; five standard errors of such a share are 0.012
    q.iter().for_each(|q| assert!((q - 0.125).abs() < 0.012, "{q}"));
    // learned shares agree; ratios of probabilities are off by an order of d_X K / n
    let learned = Logging::learn(&Engine::single(), &log, &policy.buckets, &policy.scaler, &policy.map).unwrap();
    let shares = learned.shares(&policy.buckets).unwrap().at(&[0.2, 0.9]).unwrap();
    q.iter().zip(&shares).for_each(|(q, s)| assert!((q / s - 1.0).abs() < 0.15, "{q} {s}"));
}

#[test]
fn weights_average_to_one_by_buckets_and_by_density() {
    let (log, logging, policy, _) = setting(20_000, 8);
    for reference in [Reference::Buckets(&logging), Reference::Density] {
        let e = evaluate_discrete(&Engine::single(), &log, &policy, &reference, &Estimator::IPS, None).unwrap();
        let error = ((e.rows / e.effective - 1.0) / e.rows).sqrt();
        assert!((e.mean_weight - 1.0).abs() < 5.0 * error + 1e-3, "{} {error}", e.mean_weight);
    }
    // and the density is one
    let b = &policy.buckets;
    let mass: f64 = (0..b.len())
        .map(|k| b.width(k) * policy.log_density(&[0.4, 0.4], 0.5 * (b.edges()[k] + b.edges()[k + 1])).exp())
        .sum();
    assert!((mass - 1.0).abs() < 1e-12);
    assert_eq!(policy.log_density(&[0.4, 0.4], -1.0), f64::NEG_INFINITY);
}

#[test]
fn draws_follow_the_probabilities() {
    let (_, _, policy, _) = setting(300, 4);
    let p = policy.probabilities(&[0.3, 0.8]);
    let mut seen = [0.0; 4];
    for row in 0..20_000 {
        let (a, chance) = policy.sample(&[0.3, 0.8], 1, row);
        let k = policy.buckets.centres().iter().position(|c| *c == a).unwrap();
        assert_eq!(chance, p[k]);
        seen[k] += 1.0 / 20_000.0;
    }
    p.iter().zip(seen).for_each(|(p, s)| assert!((p - s).abs() < 5.0 * (p / 20_000.0).sqrt() + 1e-4, "{p} {s}"));
    // within a bucket every place is as likely: the mean of the draws is the mean of the middles
    let edges = policy.buckets.edges();
    let saved = SoftmaxPolicy { columns: Columns::named(&["x0", "x1"], &["a"]), softmax: policy.clone() };
    let middle = |k: usize| 0.5 * (edges[k] + edges[k + 1]);
    let mean: f64 = (0..20_000).map(|row| saved.draw(&[0.3, 0.8], 1, row).0[0]).sum::<f64>() / 20_000.0;
    let expected: f64 = (0..4).map(|k| p[k] * middle(k)).sum();
    assert!((mean - expected).abs() < 5.0 * (edges[4] - edges[0]) / 20_000f64.sqrt(), "{mean} {expected}");
}

/// Number i of a low-discrepancy sequence in (0, 1).
fn unit(i: usize, step: f64) -> f64 {
    ((i + 1) as f64 * step).fract()
}

/// The action of N(2, 1) at this level, bisected.
fn at_level(level: f64) -> f64 {
    let (mut low, mut high) = (-6.0, 10.0);
    for _ in 0..50 {
        let middle: f64 = 0.5 * (low + high);
        if Family::Normal.cdf(middle, 2.0, 1.0).value < level { low = middle } else { high = middle }
    }
    low
}

#[test]
fn learned_shares_follow_the_context() {
    let n = 4000;
    let x: Vec<f64> = (0..n).map(|i| 2.0 * unit(i, 0.754_877_666) - 1.0).collect();
    let a: Vec<f64> = (0..n).map(|i| at_level(unit(i, 0.569_840_291)) + x[i]).collect();
    let mut logged = crate::Policy::constant(Family::Normal, &["x"], &["a"], &[2.0], &[1.0]).unwrap();
    logged.mean = Mean::Linear(Linear { map: ContextMap::Linear, link: Link::Identity });
    logged.theta = vec![1.0, 2.0, 0.0];
    logged.check().unwrap();
    let p = (0..n).map(|i| logged.log_density(&[x[i]], &[a[i]]).exp()).collect();
    let buckets = Buckets::quantile(&a, 4).unwrap();
    let log = Log::builder().context("x", x).action("a", a).cost("y", vec![0.0; n]).propensity("p", p).build().unwrap();
    let learned =
        Logging::learn(&Engine::single(), &log, &buckets, &Scaler::identity(1), &ContextMap::Quadratic).unwrap();
    let known = Logging::Known(logged);
    for x in [-0.7, 0.0, 0.7] {
        let q = known.shares(&buckets).unwrap().at(&[x]).unwrap();
        let s = learned.shares(&buckets).unwrap().at(&[x]).unwrap();
        // N(2 + x, 1) up to the first edge, by hand
        let first = Family::Normal.cdf(buckets.edges()[1] - x, 2.0, 1.0).value;
        assert!((q[0] - first).abs() < 1e-12 && (q.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        q.iter().zip(&s).for_each(|(q, s)| assert!((q - s).abs() < 0.02, "{x}: {q} {s}"));
    }
}

/// Contexts in (-1, 1), actions N(2, 1); the third of four quarters costs least where x > 0, the first elsewhere.
fn quarters(n: usize) -> Log {
    let x: Vec<f64> = (0..n).map(|i| 2.0 * unit(i, 0.754_877_666) - 1.0).collect();
    let a: Vec<f64> = (0..n).map(|i| at_level(unit(i, 0.569_840_291))).collect();
    let cost = |x: f64, a: f64| {
        let quarter = [1.325_510, 2.0, 2.674_490].iter().filter(|e| a >= **e).count();
        if quarter == if x > 0.0 { 2 } else { 0 } { -1.0 } else { -0.2 }
    };
    let y = x.iter().zip(&a).map(|(x, a)| cost(*x, *a)).collect();
    let p = a.iter().map(|a| Family::Normal.log_density(*a, 2.0, 1.0).value.exp()).collect();
    Log::builder().context("x", x).action("a", a).cost("y", y).propensity("p", p).build().unwrap()
}

#[test]
fn the_best_bucket_is_found_by_every_estimator() {
    let log = quarters(2000);
    let logging = crate::Policy::constant(Family::Normal, &["x"], &["a"], &[2.0], &[1.0]).unwrap();
    // a hard clip falls silent at the cap: with shares of 1/4 and a cap of 3, where the probability is 3/4
    for estimator in everyone(3.0) {
        let recipe = DiscreteRecipe {
            buckets: 4,
            context_map: ContextKind::Linear,
            estimator,
            proximal_steps: 2,
            max_iterations: 40,
            ..DiscreteRecipe::default()
        };
        let learned =
            [Some(&logging), None].map(|logging| learn_discrete(&Engine::single(), &log, logging, &recipe).unwrap());
        for ((x, best), knowing) in [((-0.5, 0), 0), ((0.5, 2), 0), ((-0.5, 0), 1), ((0.5, 2), 1)] {
            let p = learned[knowing].policy.probabilities(&[x]);
            assert!(p[best] > 0.7, "{estimator:?} {x}: {p:?}");
        }
    }
}

#[test]
fn answer_does_not_depend_on_threads() {
    let train = Potential::Circles.simulate(9000, 2);
    assert_eq!(train.rows(Split::Train).len(), 3000);
    let log = train.log().unwrap().split(SplitRule::Column).unwrap().train;
    let logging = logging_policy().unwrap();
    let recipe = DiscreteRecipe {
        estimator: Estimator::cab_dr(3.0),
        variance_penalty: 0.5,
        max_iterations: 20,
        proximal_steps: 1,
        ..DiscreteRecipe::default()
    };
    let learn = |threads| learn_discrete(&Engine::new(threads).unwrap(), &log, Some(&logging), &recipe).unwrap();
    let (one, three) = (learn(1), learn(3));
    assert_eq!((one.policy, one.objective.to_bits()), (three.policy, three.objective.to_bits()));
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let (log, logging, policy, model) = setting(300, 4);
    let engine = Engine::single();
    let ask = |reference: &Reference, estimator, model: Option<&LossModel>| {
        evaluate_discrete(&engine, &log, &policy, reference, &estimator, model).map(|e| e.cost())
    };
    assert!(ask(&Reference::Buckets(&logging), Estimator::DR, None).is_err());
    assert!(ask(&Reference::Density, Estimator::cab(2.0), Some(&model)).is_err());
    assert!(ask(&Reference::Density, Estimator::DR, Some(&model)).is_ok());
    assert!(Buckets::quantile(&[1.0, 1.0, 1.0], 3).is_err());
    let ties = Buckets::quantile(&[1.0, 1.0, 1.0, 2.0, 3.0, 3.0], 6).unwrap();
    assert!(ties.centres().windows(2).all(|c| c[0] < c[1]) && (0..ties.len()).all(|k| ties.width(k) > 0.0));
}
