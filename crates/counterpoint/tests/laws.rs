//! Laws that hold whatever the numbers: of sums, of estimators, of policies and of splits.

#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use counterpoint::data::SplitRule;
use counterpoint::estimate::{LossModel, Normalise, Sums, Weight};
use counterpoint::folds::{Design, LossOptions, Partial, Precision, Question, Risk, fit_loss_model};
use counterpoint::policy::Support;
use counterpoint::policy::{Family, Std};
use counterpoint::{Engine, Estimator, Log, Policy};
use proptest::prelude::*;
use support::{
    Columns, STDS, all_close, ask, close, columns, every_way, integral, logging, loss_model, means, normal, policy,
    risk, u,
};

const CAP: f64 = 1.5;

/// The estimators of the table with their questions, for one action column.
fn questions() -> Vec<(&'static str, Question)> {
    let model =
        |e: Estimator| Question { logging: Some(logging(2, 1)), ..Question::new(e).with_model(loss_model(2, 1)) };
    let mut all = vec![
        ("IPS", Question::new(Estimator::IPS)),
        ("clipped", Question::new(Estimator::clipped(CAP))),
        ("soft-clipped", Question::new(Estimator::soft_clipped(CAP))),
        ("power mean", Question::new(Estimator::power_mean(0.1, -1.0))),
        ("SNIPS", Question::new(Estimator::SNIPS)),
        ("DM", model(Estimator::DM)),
        ("DR", model(Estimator::DR)),
        ("SWITCH", model(Estimator::switch(CAP))),
        ("CAB", model(Estimator::cab(CAP))),
        ("CAB-DR", model(Estimator::cab_dr(CAP))),
        ("self-normalised DR", model(Estimator { normalise: Normalise::ByWeights, ..Estimator::DR })),
    ];
    all.iter_mut().for_each(|(_, q)| (q.variance_penalty, q.entropy) = (0.5, 0.1));
    all
}

fn fields(s: &Sums) -> [f64; 14] {
    [s.n, s.t, s.v, s.g, s.tt, s.tv, s.vv, s.gg, s.tg, s.vg, s.y, s.yy, s.ty, s.h]
}

fn one_of_the_policies(log: &Log, which: usize) -> Policy {
    let (families, means) = (Family::ALL, means());
    let family = families[which % families.len()];
    policy(&means[which / families.len() % means.len()], family, STDS[which % 3].1, log)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_answer_for_two_sets_of_rows_is_their_answers_merged(cut in 1usize..2399, which in 0usize..1000, seed in 0usize..99) {
        let all = columns(2400, 2, 1, seed);
        let p = one_of_the_policies(&all.log(), which);
        for (name, question) in questions().into_iter().filter(|(n, _)| !["SWITCH", "CAB"].contains(n)) {
            let rows: Vec<usize> = (0..all.rows()).collect();
            let whole = ask(&all.log(), &p, &question);
            let left = ask(&all.take(&rows[..cut]).log(), &p, &question);
            let right = ask(&all.take(&rows[cut..]).log(), &p, &question);
            let mut sums = left.sums;
            sums.merge(&right.sums);
            all_close(&fields(&sums), &fields(&whole.sums), 1e-12, name);
            let grads: Vec<f64> = left.grads.iter().zip(&right.grads).map(|(a, b)| a + b).collect();
            all_close(&grads, &whole.grads, 1e-11, name);
            prop_assert_eq!(left.rows + right.rows, whole.rows);
        }
    }

    #[test]
    fn row_order_within_a_block_changes_only_rounding(which in 0usize..1000, stride in prop::sample::select(vec![7usize, 11, 101, 397])) {
        let all = columns(1000, 2, 1, 3);
        let mixed: Vec<usize> = (0..1000).map(|i| i * stride % 1000).collect();
        let p = one_of_the_policies(&all.log(), which);
        for (name, question) in questions().into_iter().filter(|(n, _)| !["SWITCH", "CAB"].contains(n)) {
            let (a, b) = (ask(&all.log(), &p, &question), ask(&all.take(&mixed).log(), &p, &question));
            all_close(&fields(&a.sums), &fields(&b.sums), 1e-12, name);
            all_close(&a.grads, &b.grads, 1e-11, name);
        }
    }

    #[test]
    fn soft_clipping_lies_between_clipping_and_nothing(log_w in -40.0..700.0f64, log_cap in -8.0..9.0f64) {
        let (w, cap) = (log_w.exp(), log_cap.exp());
        let (soft, slope) = Weight::soft(cap).apply(log_w);
        let slack = 1.0 + 1e-14 * (1.0 + log_w.abs());
        prop_assert!(w.min(cap) <= soft * slack && soft <= w * slack, "min({}, {}) <= {} <= {}", w, cap, soft, w);
        prop_assert!(slope >= 0.0 && slope <= w * slack);
    }

    #[test]
    fn power_means_lie_between_the_weight_and_one(log_w in -40.0..40.0f64, lambda in 0.0..1.0f64, s in prop::sample::select(vec![-2.0, -1.0, -0.5, 0.0, 0.5, 1.0])) {
        let (v, slope) = Weight::PowerMean { lambda, s }.apply(log_w);
        let w = log_w.exp();
        prop_assert!(v >= w.min(1.0) * (1.0 - 1e-12) && v <= w.max(1.0) * (1.0 + 1e-12), "{} {}", w, v);
        prop_assert!(slope >= 0.0 && slope.is_finite());
    }

    #[test]
    fn self_normalised_risks_move_with_the_cost_and_scale_with_its_unit(shift in -50.0..50.0f64, power in -6i32..7, which in 0usize..1000) {
        let (unit, before) = (2f64.powi(power), columns(500, 2, 1, 4));
        let p = one_of_the_policies(&before.log(), which);
        let question = Question { variance_penalty: 0.0, ..Question::new(Estimator::SNIPS) };
        let at = |f: &dyn Fn(f64) -> f64| {
            let moved = Columns { y: before.y.iter().map(|y| f(*y)).collect(), ..before.clone() };
            let s = ask(&moved.log(), &p, &question).sums;
            (s.risk(Normalise::ByWeights), s.std_error(Normalise::ByWeights))
        };
        let (risk, error) = at(&|y| y);
        let (moved, same) = at(&|y| y + shift);
        prop_assert!((moved - risk - shift).abs() <= 1e-13 * (1.0 + shift.abs()));
        // squares of a shifted cost cancel: (shift / spread)^2 digits are lost, which is what the baseline is for
        prop_assert!((same / error - 1.0).abs() <= 1e-12 * (1.0 + (shift / 0.1).powi(2)));
        prop_assert_eq!(at(&|y| unit * y), (unit * risk, unit * error), "a power of two changes no digit");
    }

    #[test]
    fn scaling_all_propensities_leaves_self_normalised_risks_alone(log_factor in prop::sample::select(vec![-690.0, -320.0, -30.0, 1.0, 30.0, 320.0, 690.0]), which in 0usize..1000) {
        let before = columns(1500, 2, 1, 5);
        let scaled = Columns { p: before.p.iter().map(|p| (p.ln() + log_factor).exp()).collect(), ..before.clone() };
        let p = one_of_the_policies(&before.log(), which);
        let models = Question::new(Estimator { normalise: Normalise::ByWeights, ..Estimator::DR }).with_model(loss_model(2, 1));
        for question in [Question::new(Estimator::SNIPS), models] {
            let question = Question { variance_penalty: 0.5, ..question };
            for (a, b) in every_way(&before.log(), &p, &question).into_iter().zip(every_way(&scaled.log(), &p, &question)) {
                close(a.value, b.value, 1e-11, a.way);
                all_close(&a.grad, &b.grad, 1e-10, a.way);
                close(a.partial.sums.effective(), b.partial.sums.effective(), 1e-11, a.way);
            }
        }
    }

    #[test]
    fn a_row_of_weight_two_is_two_rows_and_of_weight_zero_none(which in 0usize..1000, seed in 0usize..99) {
        let n = 300;
        let times: Vec<usize> = (0..n).map(|i| (3.0 * u(i, seed + 40)) as usize).collect();
        let once = Columns { omega: Some(times.iter().map(|t| *t as f64).collect()), ..columns(n, 2, 1, seed) };
        let rows: Vec<usize> = (0..n).flat_map(|i| std::iter::repeat_n(i, times[i])).collect();
        let twice = Columns { omega: None, ..once.take(&rows) };
        let p = one_of_the_policies(&once.log(), which);
        for (name, question) in questions().into_iter().filter(|(n, _)| !["SWITCH", "CAB"].contains(n)) {
            for (a, b) in every_way(&once.log(), &p, &question).into_iter().zip(every_way(&twice.log(), &p, &question)) {
                close(a.value, b.value, 1e-12, name);
                all_close(&a.grad, &b.grad, 1e-11, name);
            }
        }
    }

    #[test]
    fn a_policy_read_back_has_the_same_bits(which in 0usize..1000, size in -300.0..300.0f64, seed in 0usize..1000) {
        let log = columns(40, 2, 1, 1).log();
        let mut p = one_of_the_policies(&log, which);
        let k = p.mean_parameters();
        p.theta[..k].iter_mut().enumerate().for_each(|(i, t)| *t = normal(i, seed) * size.exp().min(1e300));
        let back = Policy::from_json(&p.to_json()).unwrap();
        prop_assert_eq!(&back, &p);
        let bits = |p: &Policy| p.theta.iter().map(|t| t.to_bits()).collect::<Vec<u64>>();
        prop_assert_eq!(bits(&back), bits(&p));
    }

    #[test]
    fn parts_are_disjoint_complete_and_stable_when_rows_are_added(n in 40usize..3000, more in 0usize..2000, seed in any::<u64>()) {
        let all = columns(n + more, 1, 1, 1);
        let rows: Vec<usize> = (0..n).collect();
        let rule = SplitRule::Hash { seed, shares: [0.5, 0.25, 0.25] };
        let (Ok(short), Ok(long)) = (all.take(&rows).log().split(rule), all.log().split(rule)) else { return Ok(()) };
        let ids = |log: &Log| log.blocks().iter().flat_map(|b| b.ids.to_vec()).collect::<Vec<u64>>();
        let mut seen: Vec<u64> = [&long.train, &long.valid, &long.test].into_iter().flat_map(ids).collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..(n + more) as u64).collect::<Vec<u64>>());
        for (s, l) in [(&short.train, &long.train), (&short.valid, &long.valid), (&short.test, &long.test)] {
            prop_assert_eq!(ids(s), ids(l).into_iter().filter(|i| *i < n as u64).collect::<Vec<u64>>());
        }
    }

    #[test]
    fn a_sample_is_the_same_for_the_same_seed_and_tells_its_own_density(which in 0usize..1000, seed in any::<u64>(), row in any::<u64>()) {
        let p = one_of_the_policies(&columns(40, 2, 1, 1).log(), which);
        let x = [u(row as usize % 999, 1), u(row as usize % 999, 2)];
        let (a, density) = p.sample(&x, seed, row);
        prop_assert_eq!(p.sample(&x, seed, row), (a.clone(), density));
        prop_assert!((p.log_density(&x, &a) - density).abs() < 1e-12);
        prop_assert!(p.sample(&x, seed, row.wrapping_add(1)).0 != a);
    }

    #[test]
    fn single_precision_is_close_to_double(which in 0usize..1000, seed in 0usize..99) {
        let log = columns(3000, 2, 1, seed).log();
        let p = one_of_the_policies(&log, which);
        for (name, question) in questions().into_iter().filter(|(n, _)| !["SWITCH", "CAB"].contains(n)) {
            let (_, double) = risk(&log, &p, &question);
            let at = |precision| {
                let design = Design::new(&log, &p, &question, 0.0, precision).unwrap();
                let mut slots = Vec::new();
                double.ask(&Engine::single(), &design, &mut slots).unwrap();
                let mut grad = vec![0.0; p.theta.len()];
                (double.value(&slots[0], &mut grad, &mut Vec::new()), grad)
            };
            let ((v64, g64), (v32, g32)) = (at(Precision::F64), at(Precision::F32));
            prop_assert!((v64 - v32).abs() < 2e-5 * (1.0 + v64.abs()), "{}: {} {}", name, v64, v32);
            all_close(&g32, &g64, 1e-3, name);
        }
    }
}

#[test]
fn the_answer_does_not_depend_on_threads() {
    let log = columns(20_000, 2, 1, 1).log();
    let p = policy("clp-quadratic", Family::Normal, Some(0.0), &log);
    for (name, question) in questions().into_iter().filter(|(n, _)| !["SWITCH", "CAB"].contains(n)) {
        let (design, risk) = risk(&log, &p, &question);
        let on = |threads| {
            let mut slots = Vec::new();
            risk.ask(&Engine::new(threads).unwrap(), &design, &mut slots).unwrap();
            slots.swap_remove(0)
        };
        let bits = |p: &Partial| fields(&p.sums).iter().chain(&p.grads).map(|v| v.to_bits()).collect::<Vec<u64>>();
        let one = on(1);
        assert_eq!(one.rows, 20_000);
        for threads in 2..=8 {
            let many = on(threads);
            assert_eq!((bits(&many), many.fingerprint), (bits(&one), one.fingerprint), "{name} on {threads} threads");
        }
    }
}

#[test]
fn the_doubly_robust_estimate_is_the_quadrature_of_its_definition() {
    let c = columns(12, 2, 1, 6);
    let model = loss_model(2, 1);
    for which in 0..Family::ALL.len() * means().len() {
        let p = one_of_the_policies(&c.log(), which);
        let mut want = 0.0;
        for i in 0..c.rows() {
            let (x, a) = (c.context(i), c.action(i));
            let w = p.log_density(&x, &a).exp() / c.p[i];
            let (mean, std) = (p.mean(&x)[0], p.std()[0]);
            let positive = p.family.support() == Support::Positive;
            let below = if positive { 1e-9 } else { mean - 12.0 * std };
            let f = |t: f64| model.predict(&x, &[t]) * p.log_density(&x, &[t]).exp();
            want += w * (c.y[i] - model.predict(&x, &a)) + integral(&f, below, mean + 14.0 * std);
            if positive {
                want += integral(&f, mean + 14.0 * std, mean + 120.0 * std);
            }
        }
        for a in every_way(&c.log(), &p, &Question::new(Estimator::DR).with_model(model.clone())) {
            assert!((a.value - want / 12.0).abs() < 1e-10, "policy {which}, {}: {} {}", a.way, a.value, want / 12.0);
        }
    }
}

/// The log of costs that the model predicts exactly.
fn predicted(model: &LossModel, c: &Columns) -> Columns {
    Columns { y: (0..c.rows()).map(|i| model.predict(&c.context(i), &c.action(i))).collect(), ..c.clone() }
}

#[test]
fn with_a_perfect_model_doubly_robust_is_the_direct_method() {
    for q in [1, 2] {
        let model = loss_model(2, q);
        let log = predicted(&model, &columns(400, 2, q, 7)).log();
        for &family in Family::ALL {
            let p = policy("clp-linear", family, Some(0.0), &log);
            let at = |e: Estimator| every_way(&log, &p, &Question::new(e).with_model(model.clone()));
            let own = Estimator { normalise: Normalise::ByWeights, ..Estimator::DR };
            for e in [Estimator::DR, Estimator::cab_dr(CAP), own] {
                for (dr, dm) in at(e).into_iter().zip(at(Estimator::DM)) {
                    close(dr.value, dm.value, 1e-12, dr.way);
                    all_close(&dr.grad, &dm.grad, 1e-11, dr.way);
                }
            }
        }
    }
}

#[test]
fn the_log_under_its_own_policy_is_its_mean_cost() {
    let c = columns(2500, 2, 1, 8);
    let mean = c.y.iter().sum::<f64>() / 2500.0;
    for (name, question) in
        questions().into_iter().filter(|(n, _)| !["DM", "DR", "CAB-DR", "self-normalised DR"].contains(n))
    {
        let mut s = ask(&c.log(), &logging(2, 1), &question).sums;
        s.h = 0.0;
        close(s.risk(question.estimator.normalise), mean, 1e-12, name);
        close(s.effective(), 2500.0, 1e-12, name);
        close(s.mean_weight(), 1.0, 1e-12, name);
        let spread = c.y.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>();
        let error = if question.estimator.normalise == Normalise::ByRows {
            spread / 2499.0 / 2500.0
        } else {
            spread / 2500f64.powi(2)
        };
        close(s.std_error(question.estimator.normalise), error.sqrt(), 1e-10, name);
    }
}

#[test]
fn blended_estimates_have_ips_and_the_direct_method_at_their_ends() {
    let c = columns(40, 2, 1, 9);
    let (log, model) = (c.log(), loss_model(2, 1));
    // a log-normal policy: no mass where the logging policy has none
    let p = policy("linear", Family::LogNormal, Some(0.0), &log);
    let at = |e: Estimator| {
        let question = Question { logging: Some(logging(2, 1)), ..Question::new(e).with_model(model.clone()) };
        every_way(&log, &p, &question)
    };
    let pairs = [
        (Estimator::switch(1e200), Estimator::IPS),
        (Estimator::cab(1e200), Estimator::IPS),
        (Estimator::switch(1e-280), Estimator::DM),
        (Estimator::cab(1e-280), Estimator::DM),
    ];
    for (blend, end) in pairs {
        for (a, b) in at(blend).into_iter().zip(at(end)) {
            close(a.value, b.value, 1e-10, &format!("{blend:?}, {}", a.way));
            all_close(&a.grad, &b.grad, 1e-9, &format!("{blend:?}, {}", a.way));
        }
    }
}

#[test]
fn a_loss_model_counts_rows_by_their_weight_and_not_by_threads() {
    let n = 2500;
    let times: Vec<usize> = (0..n).map(|i| (3.0 * u(i, 41)) as usize).collect();
    let once = Columns { omega: Some(times.iter().map(|t| *t as f64).collect()), ..columns(n, 2, 1, 1) };
    let rows: Vec<usize> = (0..n).flat_map(|i| std::iter::repeat_n(i, times[i])).collect();
    let twice = Columns { omega: None, ..once.take(&rows) };
    let LossModel { scaler, map, actions, .. } = loss_model(2, 1);
    let options = LossOptions { scaler, map, actions, ridge: 1e-3 };
    let fit = |c: &Columns, threads| fit_loss_model(&Engine::new(threads).unwrap(), &c.log(), &options).unwrap();
    let model = fit(&once, 1);
    assert_eq!(model, fit(&once, 3));
    all_close(&model.coef, &fit(&twice, 1).coef, 1e-9, "coefficients");
    close(model.intercept, fit(&twice, 1).intercept, 1e-9, "intercept");
}

#[test]
fn a_policy_file_of_another_version_is_refused() {
    let text = logging(2, 1).to_json();
    let newer = text.replacen("\"version\": 3", "\"version\": 9", 1);
    assert_ne!(text, newer);
    let error = Policy::from_json(&newer).unwrap_err().to_string();
    assert!(error.contains("version 9") && error.contains("versions 1 to 3") && error.contains("hint:"), "{error}");
    let other = text.replacen("counterpoint-policy", "something-else", 1);
    assert!(Policy::from_json(&other).unwrap_err().to_string().contains("something-else"));
    assert!(Policy::from_json("{}").unwrap_err().to_string().contains("not a policy file"));
    let mut broken = logging(2, 1);
    broken.std = Std::Fixed { value: vec![-1.0] };
    broken.theta.pop();
    assert!(Policy::from_json(&broken.to_json()).unwrap_err().to_string().contains("a std or its floor is -1"));
}

#[test]
fn values_only_changes_no_sum() {
    let log = columns(1500, 2, 1, 1).log();
    let p = policy("clp-cubic", Family::LogNormal, Some(0.2), &log);
    for (name, question) in questions() {
        let (design, with) = risk(&log, &p, &question);
        let without = Risk::new(&question, &p).unwrap().values_only();
        let (mut a, mut b) = (Vec::new(), Vec::new());
        with.ask(&Engine::single(), &design, &mut a).unwrap();
        without.ask(&Engine::single(), &design, &mut b).unwrap();
        assert_eq!(fields(&a[0].sums), fields(&b[0].sums), "{name}");
        assert!(b[0].grads.is_empty());
    }
}
