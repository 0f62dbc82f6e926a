//! Any policy through one door: what the kernel says of a parametric policy, the plain path says of it by its contract alone.

#![allow(clippy::unwrap_used, missing_docs)]

use counterpoint::certify::{Terms, Verdict, certify};
use counterpoint::data::{Outcome, SplitRule};
use counterpoint::estimate::{LossModel, Predictions};
use counterpoint::evaluate::{Aids, Estimate, Evaluator, every_estimator};
use counterpoint::features::{ContextMap, Scaler};
use counterpoint::folds::DRAWS;
use counterpoint::learn::fit_model;
use counterpoint::policy::{
    BucketSoftmax, Buckets, Columns, Family, Law, Policy, Rule, RulePolicy, SoftmaxPolicy, TargetAction, TargetDensity,
    TargetPolicy,
};
use counterpoint::{Estimator, Log, Recipe, evaluate};
use rand::Rng;

const N: usize = 4000;

/// Uniform actions on (0.2, 3.2); the best action is 1 + x.
fn columns() -> [Vec<f64>; 3] {
    let x: Vec<f64> = (0..N).map(|i| (i as f64 * 0.754_877_666_246_692_7).fract()).collect();
    let a: Vec<f64> = (0..N).map(|i| 0.2 + 3.0 * (i as f64 * 0.569_840_290_998_053_3).fract()).collect();
    let y = x.iter().zip(&a).map(|(x, a)| (a - 1.0 - x).abs()).collect();
    [x, a, y]
}

fn log() -> Log {
    let [x, a, y] = columns();
    Log::builder().context("x", x).action("a", a).cost("y", y).propensity("p", vec![1.0 / 3.0; N]).build().unwrap()
}

/// A policy behind its contract: nothing but two methods, and perhaps its law.
struct Bare<'a> {
    policy: &'a dyn TargetPolicy,
    knows_its_law: Option<()>,
}

impl TargetPolicy for Bare<'_> {
    fn log_density(&self, x: &[f64], a: &[f64]) -> f64 {
        self.policy.log_density(x, a)
    }

    fn sample(&self, x: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
        self.policy.sample(x, rng)
    }

    fn law(&self, x: &[f64]) -> Option<Law> {
        self.knows_its_law.and_then(|()| self.policy.law(x))
    }
}

fn model(policy: &dyn TargetPolicy) -> LossModel {
    fit_model(&log(), policy, &Recipe::clp().with_model_ridge(1e-3)).unwrap()
}

/// The logging policy as a function: wide enough to pass for the uniform.
fn logging() -> Policy {
    Policy::constant(Family::Normal, &["x"], &["a"], &[1.7], &[1.2]).unwrap()
}

fn ask(policy: &dyn TargetPolicy, estimator: &Estimator, model: &LossModel) -> counterpoint::Result<Estimate> {
    let logging = logging();
    Evaluator::new(*estimator).model(Some(model)).logging(Some(&logging)).evaluate(&log(), policy)
}

fn near(a: f64, b: f64, by: f64, what: &str) {
    assert!((a - b).abs() <= by, "{what}: {a} {b}");
}

#[test]
fn the_contract_alone_gives_the_kernels_estimates() {
    for family in [Family::Normal, Family::LogNormal] {
        let policy = Policy::constant(family, &["x"], &["a"], &[1.5], &[0.3]).unwrap();
        let model = model(&policy);
        for (name, estimator) in every_estimator(2.0) {
            let own = ask(&policy, &estimator, &model).unwrap();
            let exact = ask(&Bare { policy: &policy, knows_its_law: Some(()) }, &estimator, &model).unwrap();
            assert_eq!((own.draws, exact.draws), (0, 0));
            for (a, b) in [
                (own.estimate, exact.estimate),
                (own.std_error, exact.std_error),
                (own.effective / own.rows, exact.effective / own.rows),
                (own.mean_weight, exact.mean_weight),
            ] {
                near(a, b, 1e-9 * (1.0 + a.abs()), name);
            }
            // without a law the model's expectation is drawn: N * DRAWS actions of costs that spread by less than 1
            let drawn = ask(&Bare { policy: &policy, knows_its_law: None }, &estimator, &model).unwrap();
            assert_eq!(drawn.draws, if estimator.needs_model() { DRAWS } else { 0 }, "{name}");
            near(own.estimate, drawn.estimate, 5.0 / ((N * DRAWS) as f64).sqrt() + 2e-4, name);
        }
    }
}

fn softmax() -> SoftmaxPolicy {
    let buckets = Buckets::new(vec![0.5, 1.1, 1.9, 2.6], vec![0.8, 1.5, 2.2]).unwrap();
    let theta = vec![0.3, -0.4, 0.9, 0.2, 0.5, -0.1];
    let softmax = BucketSoftmax { scaler: Scaler::identity(1), map: ContextMap::Linear, buckets, theta };
    SoftmaxPolicy { columns: Columns::named(&["x"], &["a"]), softmax }
}

#[test]
fn sums_over_buckets_are_exact() {
    let policy = softmax();
    let model = model(&policy);
    let exact = ask(&policy, &Estimator::DM, &model).unwrap();
    assert_eq!(exact.draws, 0);
    // the integral of the model over every bucket of every row, by midpoints
    let cells = 400;
    let [x, _, _] = columns();
    let mut total = 0.0;
    for x in &x {
        let p = policy.softmax.probabilities(&[*x]);
        for (k, e) in policy.softmax.buckets.edges().windows(2).enumerate() {
            let at = |i: usize| e[0] + (e[1] - e[0]) * (i as f64 + 0.5) / cells as f64;
            total += p[k] * (0..cells).map(|i| model.predict(&[*x], &[at(i)])).sum::<f64>() / cells as f64;
        }
    }
    near(exact.estimate, total / N as f64, 1e-5, "direct");
    let drawn = ask(&Bare { policy: &policy, knows_its_law: None }, &Estimator::DM, &model).unwrap();
    near(exact.estimate, drawn.estimate, 5.0 / ((N * DRAWS) as f64).sqrt(), "drawn");
}

/// Straight lines between knots .02 apart miss a curve whose second derivative is at most 10 by 10 (.02)^2 / 8 = 5e-4.
#[test]
fn our_own_loss_model_handed_over_as_predictions_gives_our_own_estimates() {
    let knots: Vec<f64> = (0..301).map(|k| -1.0 + 0.02 * f64::from(k)).collect();
    let normal = Policy::constant(Family::Normal, &["x"], &["a"], &[1.5], &[0.3]).unwrap();
    let (buckets, logging) = (softmax(), logging());
    let drawn = Bare { policy: &normal, knows_its_law: None };
    let [x, a, _] = columns();
    for (kind, policy) in [("normal", &normal as &dyn TargetPolicy), ("buckets", &buckets), ("drawn", &drawn)] {
        let model = model(policy);
        let curve = |x: &f64| {
            let c = model.coefficients_at(&[*x]);
            let at = |k: &f64| model.actions.function(&c, &[*k], &mut [0.0]) + model.intercept;
            knots.iter().map(at).collect::<Vec<_>>()
        };
        let values: Vec<f64> = x.iter().flat_map(curve).collect();
        let between = Predictions::new(Outcome::Cost, knots.clone(), values).unwrap();
        let exact = (0..N).map(|i| model.predict(&[x[i]], &[a[i]])).collect();
        let logged = between.clone().with_logged(Outcome::Cost, exact).unwrap();
        // with the exact value at the logged action once, with the line between knots for the others
        for predictions in if kind == "normal" { vec![&between, &logged] } else { vec![&logged] } {
            for (name, estimator) in every_estimator(2.0) {
                let ours = Aids { model: Some(&model), logging: Some(&logging), predictions: None };
                let theirs = Aids { model: None, logging: Some(&logging), predictions: Some(predictions) };
                let ask = |aids| Evaluator::new(estimator).aids(aids).evaluate(&log(), policy).unwrap();
                let (ours, theirs) = (ask(ours), ask(theirs));
                near(ours.estimate, theirs.estimate, 5e-4, &format!("{kind} {name}"));
                near(ours.std_error, theirs.std_error, 5e-4, &format!("{kind} {name}"));
            }
        }
    }
}

#[test]
fn predictions_of_other_rows_are_refused() {
    let policy = Policy::constant(Family::Normal, &["x"], &["a"], &[1.5], &[0.3]).unwrap();
    let few = Predictions::new(Outcome::Cost, vec![0.0, 3.0], vec![1.0; 2 * (N - 1)]).unwrap();
    let refused = Evaluator::new(Estimator::DR).predictions(Some(&few)).evaluate(&log(), &policy).unwrap_err();
    assert!(refused.to_string().contains("3999 rows"), "{refused}");
    // estimators without a model do not look at them
    assert!(Evaluator::new(Estimator::SNIPS).predictions(Some(&few)).evaluate(&log(), &policy).is_ok());
}

#[test]
fn a_column_of_densities_is_the_policy_that_wrote_it() {
    let [x, a, y] = columns();
    let policy = Policy::constant(Family::Normal, &["x"], &["a"], &[1.5], &[0.3]).unwrap();
    let density = (0..N).map(|i| policy.log_density(&[x[i]], &[a[i]]).exp()).collect();
    let builder = || Log::builder().context("x", x.clone()).action("a", a.clone()).cost("y", y.clone());
    let with = builder().propensity("p", vec![1.0 / 3.0; N]).target_density("mine", density).build().unwrap();
    for (name, estimator) in every_estimator(2.0).into_iter().filter(|e| !e.1.needs_model()) {
        let own = evaluate(&log(), &policy, &estimator).unwrap();
        let column = evaluate(&with, &TargetDensity, &estimator).unwrap();
        near(own.estimate, column.estimate, 1e-9, name);
        near(own.std_error, column.std_error, 1e-9, name);
    }
    let model = model(&policy);
    let aids = Aids { model: Some(&model), ..Aids::default() };
    let refused = Evaluator::new(Estimator::DR).aids(aids).evaluate(&with, &TargetDensity).unwrap_err().to_string();
    assert!(refused.contains("cannot be drawn from") && refused.contains("snips"), "{refused}");
    // and a column of actions with a std is the policy with that mean
    let with = builder().propensity("p", vec![1.0 / 3.0; N]).target_action("bid", vec![1.5; N]).build().unwrap();
    let around = TargetAction::new(Family::Normal, &[0.3]).unwrap();
    for (name, estimator) in every_estimator(2.0).into_iter().filter(|e| !["switch", "cab"].contains(&e.0)) {
        let own = Evaluator::new(estimator).aids(aids).evaluate(&log(), &policy).unwrap();
        let column = Evaluator::new(estimator).aids(aids).evaluate(&with, &around).unwrap();
        near(own.estimate, column.estimate, 1e-9, name);
    }
    // both are certified like any other, and parts of a log keep their columns
    let parts = [log().split(SplitRule::default()).unwrap(), with.split(SplitRule::default()).unwrap()];
    // a policy in columns has no masses, and no model takes part
    let terms = Terms { robust: false, ..Terms::default() };
    let [own, column] = [(&policy as &dyn TargetPolicy, &parts[0]), (&around, &parts[1])]
        .map(|(policy, parts)| certify(policy, &parts.valid, &parts.test, &terms).unwrap());
    assert_eq!(own.verdict, Verdict::Deploy);
    near(own.difference.upper, column.difference.upper, 1e-9, "upper end");
    near(own.test.outside, column.test.outside, 1e-12, "outside");
}

#[test]
fn densities_of_zero_are_weights_of_zero_and_negative_ones_are_refused() {
    let builder =
        || Log::builder().action("a", vec![1.0, 2.0, 3.0]).cost("y", vec![1.0, 5.0, 9.0]).propensity("p", vec![0.5; 3]);
    let log = builder().target_density("mine", vec![0.5, 0.0, 0.0]).build().unwrap();
    let e = evaluate(&log, &TargetDensity, &Estimator::SNIPS).unwrap();
    near(e.estimate, 1.0, 1e-12, "snips");
    let refused = builder().target_density("mine", vec![0.5, -0.1, 0.0]).build().unwrap_err().to_string();
    assert!(refused.contains("mine") && refused.contains("-0.1") && refused.contains(">= 0"), "{refused}");
    let refused = evaluate(&builder().build().unwrap(), &TargetDensity, &Estimator::IPS);
    assert!(refused.unwrap_err().to_string().contains("no column with the density"));
    assert!(TargetAction::new(Family::Normal, &[0.0]).is_err());
}

#[test]
fn a_rule_without_noise_is_refused_and_with_noise_is_judged() {
    let rule = RulePolicy {
        columns: Columns::named(&["x"], &["a"]),
        scaler: Scaler::identity(1),
        rule: Rule::Linear { map: ContextMap::Linear, w: vec![1.0, 1.0], range: None },
        noise: None,
    };
    let parts = log().split(SplitRule::default()).unwrap();
    let refused = certify(&rule, &parts.valid, &parts.test, &Terms::default()).unwrap_err().to_string();
    assert!(refused.contains("deterministic") && refused.contains("std"), "{refused}");
    let judged = certify(&rule.clone().with_std(0.2), &parts.valid, &parts.test, &Terms::default()).unwrap();
    assert_eq!(judged.verdict, Verdict::Deploy);
    // a policy that remembers its rows is not judged on them
    let learned = RulePolicy { columns: Columns::of(&parts.valid), ..rule.with_std(0.2) };
    let refused = certify(&learned, &parts.valid, &parts.test, &Terms::default()).unwrap_err().to_string();
    assert!(refused.contains("learned from rows of the valid part"), "{refused}");
}
