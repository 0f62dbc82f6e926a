//! Bad input is refused in a sentence that says where and what to do, or does what the documentation says; no input
//! makes a policy of numbers that are not.

#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use counterpoint::data::{Part, SplitRule};
use counterpoint::error::Kind as ErrorKind;
use counterpoint::estimate::{Normalise, Weight};
use counterpoint::features::{ActionMap, Anchors, ContextKind, ContextMap, MapOptions, Scale, Scaler};
use counterpoint::folds::{Design, LossOptions, Precision, Question, Risk, fit_loss_model};
use counterpoint::policy::{Family, Linear, Link, Mean, Std};
use counterpoint::{Engine, Error, Estimator, Log, Policy};
use support::{Columns, STDS, ask, close, columns, every_way, logging, loss_model, means, policy};

/// The message names every one of these.
#[track_caller]
fn says<T>(result: Result<T, Error>, kind: ErrorKind, words: &[&str]) {
    let Err(error) = result else { panic!("not refused; expected {words:?}") };
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    for word in words {
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
}

fn builder() -> counterpoint::data::LogBuilder<'static> {
    Log::builder()
        .context("age", vec![1.0, 2.0, 3.0])
        .action("dose", vec![0.5, 1.0, 2.0])
        .propensity("density", vec![0.2, 0.3, 0.4])
        .cost("pain", vec![1.0, 0.0, 0.5])
}

#[test]
fn a_value_that_is_not_a_number_is_named_with_its_row_and_column() {
    let hint = "`drop_invalid` skips";
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let v = vec![1.0, bad, 1.0];
        let b = builder;
        says(
            b().context("bmi", v.clone()).build(),
            ErrorKind::Data,
            &["row 2, column \"bmi\"", "must be finite", hint],
        );
        says(b().action("pulse", v.clone()).build(), ErrorKind::Data, &["row 2, column \"pulse\"", hint]);
        says(b().reward("gain", v.clone()).build(), ErrorKind::Data, &["row 2, column \"gain\"", hint]);
        says(b().propensity("p", v.clone()).build(), ErrorKind::Data, &["row 2, column \"p\"", hint]);
        says(b().weight("times", v.clone()).build(), ErrorKind::Data, &["row 2, column \"times\"", hint]);
    }
}

#[test]
fn a_propensity_must_be_a_density_and_a_weight_a_count() {
    for bad in [0.0, -0.0, -1.0] {
        let made = builder().propensity("p", vec![0.1, 0.2, bad]).build();
        says(made, ErrorKind::Data, &["row 3, column \"p\"", "is not a density (must be > 0)", "`drop_invalid` skips"]);
    }
    says(
        builder().weight("times", vec![-1.0, 1.0, 1.0]).build(),
        ErrorKind::Data,
        &["row 1, column \"times\"", "-1 is not a row weight (must be >= 0)", "`drop_invalid` skips"],
    );
    says(
        builder().weight("times", vec![0.0; 3]).build(),
        ErrorKind::Data,
        &["column \"times\"", "all row weights are 0"],
    );
}

#[test]
fn dropped_rows_are_counted_and_keep_their_numbers() {
    let (log, dropped) = builder().propensity("p", vec![0.1, 0.0, 0.3]).drop_invalid().build_counting().unwrap();
    assert_eq!((dropped, log.rows(), log.blocks()[0].ids.to_vec()), (1, 2, vec![0, 2]));
    let none = builder().propensity("p", vec![0.0; 3]).drop_invalid().build();
    says(none, ErrorKind::Data, &["all 3 rows have an unusable value"]);
}

#[test]
fn columns_must_fit_together() {
    says(builder().context("bmi", vec![1.0]).build(), ErrorKind::Data, &["column \"bmi\"", "it has 1 rows", "has 3"]);
    says(builder().weight("times", vec![1.0; 4]).build(), ErrorKind::Data, &["column \"times\"", "it has 4 rows"]);
    says(builder().parts(vec![Part::Train]).build(), ErrorKind::Data, &["column \"split\"", "it has 1 rows"]);
    says(builder().context("age", vec![0.0; 3]).build(), ErrorKind::Data, &["column \"age\"", "used twice"]);
    says(builder().action("pain", vec![0.0; 3]).build(), ErrorKind::Data, &["column \"pain\"", "used twice"]);
    says(builder().weight("density", vec![1.0; 3]).build(), ErrorKind::Data, &["column \"density\"", "used twice"]);
    let empty = Log::builder().action("a", vec![]).cost("y", vec![]).propensity("p", vec![]).build();
    says(empty, ErrorKind::Data, &["the log has no rows"]);
    says(Log::builder().action("a", vec![1.0]).build(), ErrorKind::Data, &["no reward or cost column"]);
    says(
        Log::builder().cost("y", vec![1.0]).propensity("p", vec![1.0]).build(),
        ErrorKind::Data,
        &["no action column"],
    );
    let blind = Log::builder().action("a", vec![1.0]).cost("y", vec![1.0]).build();
    says(blind, ErrorKind::Data, &["no propensity column", "hint: a propensity is the density"]);
}

#[test]
fn a_split_without_rows_is_refused() {
    let log = builder().build().unwrap();
    says(log.split(SplitRule::Column), ErrorKind::Data, &["no split column", "hint: name one with `Roles::split`"]);
    let by_column = builder().parts(vec![Part::Train, Part::Train, Part::Test]).build().unwrap();
    says(
        by_column.split(SplitRule::Column),
        ErrorKind::Data,
        &["the valid part of the split is empty", "hint: a log needs"],
    );
    for shares in [[0.0, 1.0, 1.0], [0.5, f64::NAN, 0.5], [-1.0, 1.0, 1.0], [f64::INFINITY, 1.0, 1.0]] {
        says(
            log.split(SplitRule::Hash { seed: 0, shares }),
            ErrorKind::Recipe,
            &["split.shares", "must all be positive"],
        );
    }
    says("dev".parse::<Part>(), ErrorKind::Data, &["\"dev\" is not a part of a log (train, valid or test)"]);
}

#[test]
fn the_log_normal_family_needs_positive_actions() {
    let mut c = columns(30, 2, 1, 1);
    c.a[0][16] = -0.25;
    let (log, p) = (c.log(), logging(2, 1));
    let made = Design::new(&log, &p, &Question::new(Estimator::IPS), 0.0, Precision::F64);
    says(
        made.map(drop),
        ErrorKind::Data,
        &["row 17, column \"a0\"", "-0.25 is not positive", "hint: use family = \"normal\""],
    );
    let mut clp = policy("clp-linear", Family::LogNormal, Some(0.0), &columns(30, 2, 1, 1).log());
    let Mean::Clp(inner) = &mut clp.mean else { unreachable!() };
    inner.actions = ActionMap::new(vec![-0.1, 1.0, 2.0, 3.0], 1, None).unwrap();
    says(clp.check(), ErrorKind::Policy, &["anchor -0.1 is not positive", "hint: use family = \"normal\""]);
}

#[test]
fn a_policy_must_fit_its_log() {
    let (log, p) = (columns(30, 2, 1, 1).log(), logging(3, 1));
    let made = Design::new(&log, &p, &Question::new(Estimator::IPS), 0.0, Precision::F64);
    says(made.map(drop), ErrorKind::Data, &["the log has 2 contexts and 1 actions, the policy 3 and 1"]);
    let mut p = logging(2, 1);
    p.theta.pop();
    says(p.check(), ErrorKind::Policy, &["theta has 1 entries, the model needs 2"]);
    p.theta.push(f64::NAN);
    says(p.check(), ErrorKind::Policy, &["theta[1] is NaN"]);
    p.theta[1] = -800.0;
    says(p.check(), ErrorKind::Policy, &["the std of action \"a0\" is 0 (must be > 0)"]);
    let mut p = logging(2, 1);
    p.scaler.unit[1] = 0.0;
    says(p.check(), ErrorKind::Policy, &["the scaling of context 1 is 0 and 0 (unit must not be 0)"]);
    let flat = Policy::constant(Family::Normal, &[], &["a"], &[1.0], &[0.0]);
    says(flat, ErrorKind::Recipe, &["std.floor", "is not above the floor"]);
}

#[test]
fn a_policy_file_whose_parts_do_not_fit_is_refused() {
    let log = columns(60, 2, 1, 1).log();
    let read = |p: &Policy| Policy::from_json(&p.to_json());
    let mut p = policy("clp-linear", Family::Normal, None, &log);
    p.std = Std::Fixed { value: vec![0.5, 0.5] };
    says(p.check(), ErrorKind::Policy, &["2 stds for 1 action columns"]);
    let mut p = policy("clp-linear", Family::Normal, Some(0.0), &log);
    let Mean::Clp(clp) = &mut p.mean else { unreachable!() };
    clp.actions.whiten.pop();
    says(read(&p), ErrorKind::Policy, &["anchors do not fit 1 action columns"]);
    let mut p = policy("strata", Family::Normal, Some(0.0), &log);
    let Mean::Linear(Linear { map: ContextMap::Strata { edges }, .. }) = &mut p.mean else { unreachable!() };
    edges.push(vec![]);
    says(read(&p), ErrorKind::Policy, &["context map does not fit 2 contexts"]);
    let negative = Policy::constant(Family::LogNormal, &[], &["a"], &[-1.0], &[1.0]);
    says(negative, ErrorKind::Policy, &["a mean of -1 is not positive", "hint:"]);
    says(
        Policy::constant(Family::Normal, &[], &["a"], &[1.0, 2.0], &[1.0]),
        ErrorKind::Policy,
        &["2 means and 1 stds"],
    );
}

#[test]
fn a_question_must_fit_its_policy_and_its_design() {
    let (log, p) = (columns(30, 2, 1, 1).log(), logging(2, 1));
    let design = |q: &Question| Design::new(&log, &p, q, 0.0, Precision::F64);
    let other = Question::new(Estimator::DR).with_model(loss_model(2, 2));
    says(design(&other).map(drop), ErrorKind::Recipe, &["estimator.model", "for 2 and 2", "the policy has 2 and 1"]);
    let model = |e: Estimator| Question::new(e).with_model(loss_model(2, 1));
    let foreign = Question { logging: Some(logging(3, 1)), ..model(Estimator::cab(2.0)) };
    says(design(&foreign).map(drop), ErrorKind::Recipe, &["estimator.logging", "other contexts or actions"]);
    let own = Estimator { normalise: Normalise::ByWeights, ..Estimator::cab(2.0) };
    let own = Question { logging: Some(logging(2, 1)), ..model(own) };
    says(design(&own).map(drop), ErrorKind::Recipe, &["cannot be self-normalised", "hint: use normalise"]);
    // a design without the model's rows would quietly answer by IPS
    let plain = design(&Question::new(Estimator::IPS)).unwrap();
    let asked = |q: &Question, p: &Policy| Risk::new(q, p).unwrap().ask(&Engine::single(), &plain, &mut Vec::new());
    asked(&model(Estimator::IPS), &p).unwrap();
    says(asked(&model(Estimator::DR), &p), ErrorKind::Recipe, &["made for another question"]);
    let clp = policy("clp-cubic", Family::Normal, Some(0.0), &log);
    says(asked(&model(Estimator::IPS), &clp), ErrorKind::Recipe, &["made for another question"]);
    // of the same shape, but another family sees other actions, and another scaling other contexts
    let normal = Policy { family: Family::Normal, ..p.clone() };
    says(asked(&Question::new(Estimator::IPS), &normal), ErrorKind::Recipe, &["made for another question"]);
    let scaled = Policy { scaler: Scaler { shift: vec![0.0, 1.0], unit: vec![1.0; 2] }, ..p.clone() };
    says(asked(&Question::new(Estimator::IPS), &scaled), ErrorKind::Recipe, &["made for another question"]);
    // and a design with the rows of one loss model does not answer for another
    let fitted = design(&model(Estimator::DR)).unwrap();
    let mut other = model(Estimator::DR);
    other.model.as_mut().unwrap().coef[0] += 1.0;
    let refused = Risk::new(&other, &p).unwrap().ask(&Engine::single(), &fitted, &mut Vec::new());
    says(refused, ErrorKind::Recipe, &["made for another question"]);
}

#[test]
fn anchors_need_more_than_one_action() {
    for kind in [Anchors::Quantile, Anchors::Grid, Anchors::Kmeans] {
        says(
            kind.place(&[1.5; 20], 1, 5, 0),
            ErrorKind::Data,
            &["action columns", "single distinct action", "hint: a log needs randomised"],
        );
        says(kind.place(&[1.0, 2.0, 3.0], 1, 1, 0), ErrorKind::Recipe, &["mean.anchors", "1 anchor", "at least 2"]);
    }
    says(
        Anchors::Grid.place(&[1.0, 2.0, 3.0, 4.0], 2, 2, 0),
        ErrorKind::Recipe,
        &["mean.anchors", "hint: use anchors = \"kmeans\""],
    );
    let few = Anchors::Quantile.place(&[1.0, 1.0, 1.0, 2.0], 1, 9, 0).unwrap();
    assert!(few.windows(2).all(|w| w[0] < w[1]), "{few:?} has duplicates");
}

#[test]
fn duplicated_anchors_and_constant_columns_are_harmless() {
    // twins: the kernel matrix is singular and its null space is dropped
    for bandwidth in [None, Some(1.0)] {
        let twins = ActionMap::new(vec![1.0, 1.0, 2.0, 2.0 + 1e-12], 1, bandwidth).unwrap();
        let single = ActionMap::new(vec![1.0, 2.0], 1, Some(twins.bandwidth)).unwrap();
        assert!(twins.whiten.iter().chain(&twins.at_anchors()).all(|v| v.is_finite()));
        let inner =
            |m: &ActionMap, a: f64, b: f64| m.apply(&[a]).iter().zip(m.apply(&[b])).map(|(x, y)| x * y).sum::<f64>();
        close(inner(&twins, 0.7, 1.9), inner(&single, 0.7, 1.9), 1e-6, "inner product");
    }
    for map in [ActionMap::new(vec![1.0, 1.0], 1, None), ActionMap::new(vec![3.0], 1, None)] {
        assert!(map.unwrap().apply(&[2.0]).iter().all(|v| v.is_finite()), "all anchors in one place");
    }
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        says(ActionMap::new(vec![1.0, 2.0], 1, Some(bad)).map(drop), ErrorKind::Recipe, &["bandwidth", "must be > 0"]);
    }
    let mut c = columns(60, 2, 1, 1);
    c.x[1].fill(1e9);
    let log = c.log();
    for kind in [Scale::Standard, Scale::MinMax] {
        let scaler = Scaler::learn(kind, &log.context_summaries());
        assert_eq!((scaler.unit[1], Scaler::silent(kind, &log.context_summaries())), (1.0, vec![1]));
        let mut x = [0.3, 1e9];
        scaler.apply(&mut x);
        assert!(x[1].abs() < 1e-3, "a column that does not vary says nothing: {}", x[1]);
        for map in [ContextKind::Quadratic, ContextKind::Strata, ContextKind::Nystrom] {
            let rows: Vec<f64> = (0..60)
                .flat_map(|i| {
                    let mut x = [c.x[0][i], c.x[1][i]];
                    scaler.apply(&mut x);
                    x
                })
                .collect();
            let how = MapOptions { buckets: 3, centres: 4, bandwidth: None, seed: 0 };
            let map = ContextMap::learn(map, &rows, 2, how).unwrap();
            let options = LossOptions { scaler: scaler.clone(), map, actions: support::anchors(1), ridge: 1e-6 };
            let model = fit_loss_model(&Engine::single(), &log, &options).unwrap();
            assert!(model.coef.iter().all(|v| v.is_finite()) && model.predict(&[0.1, 1e9], &[1.0]).is_finite());
        }
    }
    let options =
        LossOptions { scaler: Scaler::identity(2), map: ContextMap::Linear, actions: support::anchors(1), ridge: 0.0 };
    says(
        fit_loss_model(&Engine::single(), &log, &options).map(drop),
        ErrorKind::Recipe,
        &["model.ridge", "must be > 0"],
    );
}

#[test]
fn maps_that_cannot_be_learned_say_so() {
    let how = MapOptions { buckets: 9, centres: 4, bandwidth: None, seed: 0 };
    let x: Vec<f64> = (0..400).map(|i| support::u(i, 3)).collect();
    says(
        ContextMap::learn(ContextKind::Strata, &x, 4, how).map(drop),
        ErrorKind::Recipe,
        &["mean.buckets", "more than 4096 cells", "hint: use fewer"],
    );
    says(
        ContextMap::learn(ContextKind::Nystrom, &[], 0, how).map(drop),
        ErrorKind::Recipe,
        &["nystrom", "needs contexts"],
    );
}

#[test]
fn weights_outside_their_range_are_refused() {
    let (log, p) = (columns(10, 2, 1, 1).log(), logging(2, 1));
    let bad = [
        (Estimator::clipped(0.0), "cap"),
        (Estimator::clipped(f64::NAN), "cap"),
        (Estimator::soft_clipped(-1.0), "cap"),
        (Estimator::switch(0.0), "tau"),
        (Estimator::power_mean(1.5, -1.0), "lambda"),
        (Estimator::power_mean(f64::NAN, -1.0), "lambda"),
        (Estimator::power_mean(0.5, 2.0), "estimator.weight.s"),
    ];
    for (estimator, field) in bad {
        let question = Question::new(estimator).with_model(loss_model(2, 1));
        let made = Design::new(&log, &p, &question, 0.0, Precision::F64);
        says(made.map(drop), ErrorKind::Recipe, &["recipe field `estimator.weight", field]);
    }
    let made = |e| Design::new(&log, &p, &Question::new(e), 0.0, Precision::F64).map(drop);
    says(made(Estimator::DR), ErrorKind::Recipe, &["needs a loss model", "hint: fit one"]);
    let blend = Question::new(Estimator::cab(2.0)).with_model(loss_model(2, 1));
    let made = Design::new(&log, &p, &blend, 0.0, Precision::F64).map(drop);
    says(made, ErrorKind::Recipe, &["logging density as a function", "hint: give the logging policy"]);
}

#[test]
fn extreme_parameters_never_make_a_policy_of_numbers_that_are_not() {
    let log = columns(70, 2, 1, 1).log();
    for mean in &means() {
        for &family in Family::ALL {
            for (_, std) in STDS {
                for size in [1e2, 1e5, 1e8] {
                    let mut p = policy(mean, family, std, &log);
                    let k = p.mean_parameters();
                    p.theta[..k]
                        .iter_mut()
                        .enumerate()
                        .for_each(|(i, t)| *t = size * if i % 2 == 0 { 1.0 } else { -1.0 });
                    let mu = p.mean(&[0.3, -0.7])[0];
                    assert!(mu.is_finite(), "{mean} {family:?} at {size}: the mean is {mu}");
                    for estimator in [Estimator::IPS, Estimator::SNIPS, Estimator::soft_clipped(10.0)] {
                        blamed(&log, &p, estimator, &format!("{mean} {family:?} {estimator:?} at {size}"));
                    }
                }
            }
        }
    }
}

/// The value is finite, or the library says which term is not.
fn blamed(log: &Log, p: &Policy, estimator: Estimator, what: &str) {
    let question = Question { variance_penalty: 1.0, entropy: 0.1, ..Question::new(estimator) };
    let risk = Risk::new(&question, p).unwrap();
    for a in every_way(log, p, &question) {
        if !(a.value.is_finite() && a.grad.iter().all(|g| g.is_finite())) {
            let error = risk.blame(&a.partial);
            assert_eq!(error.kind(), ErrorKind::Numeric, "{what}");
            assert!(error.to_string().contains("not finite\nhint: "), "{what}: {error}");
        }
    }
}

#[test]
fn what_is_not_finite_is_named() {
    let mut c = columns(70, 2, 1, 1);
    let p = logging(2, 1);
    let blame = |c: &Columns, p: &Policy, estimator: Estimator| {
        let log = c.log();
        let question = Question { variance_penalty: 1.0, entropy: 0.1, ..Question::new(estimator) };
        let answer = ask(&log, p, &question);
        Risk::new(&question, p).unwrap().blame(&answer).to_string()
    };
    (c.y[3], c.p[3]) = (1e140, 1e-60);
    assert!(blame(&c, &p, Estimator::IPS).starts_with("variance penalty: not finite"));
    c.y.fill(1e140);
    c.p.fill(1e-200);
    assert!(blame(&c, &p, Estimator::IPS).starts_with("risk: not finite"));
    let mut c = columns(70, 2, 1, 1);
    let mut far = policy("linear", Family::Normal, Some(0.0), &c.log());
    far.theta = vec![0.0, 0.0, 1e160, -5.0];
    let text = blame(&c, &far, Estimator::SNIPS);
    assert!(text.starts_with("sum of importance weights") && text.contains("no overlap"), "{text}");
    c.p.fill(1e-300);
    let mut tight = policy("constant", Family::Normal, Some(0.0), &c.log());
    tight.theta = vec![c.a[0][0], -300.0];
    let text = blame(&c, &tight, Estimator::IPS);
    assert!(text.starts_with("sum of importance weights") && text.contains("clip weights"), "{text}");
}

#[test]
fn a_row_of_weight_zero_says_nothing_even_if_its_weight_is_infinite() {
    let mut c = columns(70, 2, 1, 1);
    c.omega = Some((0..70).map(|i| f64::from(u8::from(i != 5))).collect());
    let rest = Columns { omega: None, ..c.take(&(0..70).filter(|i| *i != 5).collect::<Vec<_>>()) };
    c.p[5] = 5e-324;
    let mut p = policy("constant", Family::Normal, Some(0.0), &c.log());
    p.theta = vec![c.a[0][5], -30.0];
    let model = |e| Question::new(e).with_model(loss_model(2, 1));
    let own = Estimator { normalise: Normalise::ByWeights, ..Estimator::DR };
    for question in [model(Estimator::IPS), model(Estimator::SNIPS), model(Estimator::DR), model(own)] {
        let near: Vec<f64> = rest.a[0].iter().map(|a| (a - p.theta[0]).abs()).collect();
        p.theta[1] = near.iter().copied().fold(f64::INFINITY, f64::min).ln() - 1.0;
        for (a, b) in every_way(&c.log(), &p, &question).into_iter().zip(every_way(&rest.log(), &p, &question)) {
            close(a.value, b.value, 1e-12, a.way);
        }
    }
}

#[test]
fn the_direct_method_does_not_look_at_weights() {
    let mut c = columns(40, 2, 1, 1);
    let question = Question::new(Estimator::DM).with_model(loss_model(2, 1));
    let mut p = policy("constant", Family::Normal, Some(0.0), &c.log());
    let n = p.theta.len();
    p.theta[n - 1] = -60.0;
    let plain = ask(&c.log(), &p, &question).sums.t;
    p.theta[0] = c.a[0][0];
    c.p.fill(5e-324);
    for a in every_way(&c.log(), &p, &question) {
        assert!(
            a.value.is_finite() && a.grad.iter().all(|g| g.is_finite()) && plain.is_finite(),
            "{}: {}",
            a.way,
            a.value
        );
    }
}

#[test]
fn a_non_positive_mean_of_a_log_normal_policy_is_never_a_number() {
    // only a link that is the identity can do this; `softplus` is what recipes use
    let log = columns(70, 2, 1, 1).log();
    let mut p = policy("linear", Family::LogNormal, Some(0.0), &log);
    let Mean::Linear(Linear { link, .. }) = &mut p.mean else { unreachable!() };
    *link = Link::Identity;
    p.theta = vec![0.0, 0.0, -1.0, -0.5];
    for a in every_way(&log, &p, &Question::new(Estimator::soft_clipped(10.0))) {
        assert!(!a.value.is_finite(), "{}: {}", a.way, a.value);
    }
}

#[test]
fn floors_hold_and_fixed_stds_stay() {
    let mut p = policy("constant", Family::Normal, Some(0.2), &columns(30, 2, 1, 1).log());
    let n = p.theta.len();
    p.theta[n - 1] = -700.0;
    assert_eq!(p.std(), [0.2]);
    p.std = Std::Fixed { value: vec![0.7] };
    p.theta.pop();
    assert_eq!(p.std(), [0.7]);
    let (v, slope) = Weight::soft(3.0).apply(1e6);
    assert!(v.is_finite() && slope.is_finite());
}
