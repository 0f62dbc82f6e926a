use super::super::figures;
use super::super::tests::{spread, uniform_log};
use super::*;
use crate::data::SplitRule;
use crate::features::Scaler;
use crate::policy::{Columns, Family, Linear, Link, Mean, Std};
use crate::simulate::Potential;
use crate::{Estimator, Policy, evaluate};

/// A rule 0.5 + x0 - 0.3 x1 as a rival's policy with a Gaussian kernel and as the library's Normal policy.
#[test]
fn a_gaussian_kernel_is_importance_weighting_with_a_normal_policy() {
    let log = Potential::Moons.simulate(3000, 5).log().expect("a log");
    let log = log.split(SplitRule::Column).expect("parts").valid;
    let (w, h) = (vec![1.0, -0.3, 0.5], 0.35);
    let ours = RulePolicy {
        columns: Columns::named(&["x0", "x1"], &["action"]),
        scaler: Scaler::identity(2),
        rule: Rule::Linear { map: ContextMap::Linear, w: w.clone(), range: None },
        noise: Some(Noise::normal(h)),
    };
    let mut theirs = Policy::constant(Family::Normal, &["x0", "x1"], &["action"], &[1.0], &[h]).expect("a policy");
    theirs.mean = Mean::Linear(Linear { map: ContextMap::Linear, link: Link::Identity });
    theirs.std = Std::Fixed { value: vec![h] };
    theirs.theta = w;
    let engine = Engine::single();
    let figures = figures(&engine, &ours, &log).expect("figures");
    let ips = evaluate(&log.on(&engine), &theirs, &Estimator::IPS).expect("estimate");
    let snips = evaluate(&log.on(&engine), &theirs, &Estimator::SNIPS).expect("estimate");
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-10 * b.abs().max(1.0), "{a} {b}");
    close(figures.ips, ips.cost());
    close(figures.snips, snips.cost());
    close(figures.std_error, snips.std_error);
    close(figures.effective, snips.effective);
    close(figures.mean_weight, snips.mean_weight);
}

/// Two rows by hand: Epanechnikov, h = 1, range [0, 2], tau = 1/2: Z = 27/32.
///
/// a = 1/2: K = 3/4; a = 1: K = 9/16; p = 1/2; y = 2, 4: KS = (3/4 * 2 + 9/16 * 4) * 2 / 2 * 32/27 = 15/4 * 32/27 = 40/9.
#[test]
fn two_rows_by_hand() {
    let log = Log::builder()
        .action("a", vec![0.5, 1.0])
        .cost("y", vec![2.0, 4.0])
        .propensity("p", vec![0.5; 2])
        .build()
        .expect("a log");
    let range = Some([0.0, 2.0]);
    let policy = RulePolicy {
        columns: Columns::named(&[], &["a"]),
        scaler: Scaler::identity(0),
        rule: Rule::Linear { map: ContextMap::Constant, w: vec![0.5], range },
        noise: Some(Noise { kernel: Kernel::Epanechnikov, width: 1.0, range }),
    };
    let figures = figures(&Engine::single(), &policy, &log).expect("figures");
    assert!((figures.ips - 40.0 / 9.0).abs() < 1e-12, "{figures:?}");
    // the correction cancels: (3/2 + 9/4) / (3/4 + 9/16) = 20/7
    assert!((figures.snips - 20.0 / 7.0).abs() < 1e-12, "{figures:?}");
}

#[test]
fn gradients_are_derivatives() {
    let log = uniform_log(200, |x, a| (a - 1.0 - x).abs());
    let rows = Rows::new(&log).expect("rows");
    for kernel in [Kernel::Gaussian, Kernel::Epanechnikov] {
        for normalise in [Normalise::ByRows, Normalise::ByWeights] {
            let map = rows.map(ContextKind::Quadratic, 0).expect("map");
            let costs = rows.costs(Centre::None);
            let problem = Problem { rows: &rows, map, costs, ridge: 0.1, std: 1.0, normalise, seed: 0 };
            let noise = Noise { kernel, width: 0.5, range: Some(rows.range()) };
            let psi = rows.features(&problem.map);
            let value = |w: &[f64]| problem.value(&psi, &noise, w, &mut [0.0; 3]);
            let (w, mut grad) = ([0.1, 0.3, 1.2], [0.0; 3]);
            problem.value(&psi, &noise, &w, &mut grad);
            for j in 0..3 {
                let shifted = |e: f64| value(&std::array::from_fn::<_, 3, _>(|i| w[i] + if i == j { e } else { 0.0 }));
                let difference = (shifted(1e-6) - shifted(-1e-6)) / 2e-6;
                assert!((grad[j] - difference).abs() < 1e-5, "{kernel:?} {normalise:?} {j}: {} {difference}", grad[j]);
            }
        }
    }
}

#[test]
fn recovers_a_linear_rule() {
    let log = uniform_log(3000, |x, a| (a - 1.0 - x).abs());
    for kernel in [Kernel::Gaussian, Kernel::Epanechnikov] {
        for normalise in [Normalise::ByRows, Normalise::ByWeights] {
            let settings = Smoothing { kernel, ..Smoothing::default() };
            let policy = settings.fit(&Engine::single(), &log, normalise, 0).expect("learned");
            assert!(spread(&policy, |x| 1.0 + x) < 0.1, "{kernel:?} {normalise:?} {}", spread(&policy, |x| 1.0 + x));
        }
    }
}

#[test]
fn the_self_normalised_rule_does_not_move_with_the_costs() {
    let engine = Engine::single();
    let of = |shift: f64| {
        let log = uniform_log(800, |x, a| (a - 1.0 - x).abs() + shift);
        let policy = Smoothing::default().fit(&engine, &log, Normalise::ByWeights, 0).expect("learned");
        let figures = figures(&engine, &policy, &log).expect("figures");
        (policy, figures)
    };
    let ((own, a), (moved, b)) = (of(0.0), of(16.0));
    assert!((b.snips - a.snips - 16.0).abs() < 1e-6);
    assert!(spread(&moved, |x| own.action(&[x])) < 1e-4);
    // the plain estimator moves by 16 times the mean weight instead
    assert!((b.ips - a.ips - 16.0 * a.mean_weight).abs() < 1e-3);
}

/// Uniform actions on (0, 3), y = 2 + (a - 1.5)^2 exactly, tau = 1.5: B = 2, and V is the Gaussian's mean of 3 y^2,
/// 3 (4 + 4 h^2 + 3 h^4) for the pilot's h.
#[test]
fn plug_in_bandwidth_by_hand() {
    let log = uniform_log(4000, |_, a| 2.0 + (a - 1.5).powi(2));
    let rows = Rows::new(&log).expect("rows");
    let direct = Direct { map: ContextKind::Linear, ridge: 1e-9, ..Direct::default() };
    let model = direct.model(&Engine::single(), &log, &rows, 0).expect("model");
    let rule = Rule::Linear { map: ContextMap::Linear, w: vec![0.0, 1.5], range: None };
    let h = 0.4f64;
    let pilot = Noise { kernel: Kernel::Gaussian, width: h, range: None };
    let found = plug_in(&rows, &rows.y, &rule, &model, &pilot);
    let v = 3.0 * (4.0 + 4.0 * h.powi(2) + 3.0 * h.powi(4));
    let by_hand = (0.5 / std::f64::consts::PI.sqrt() * v / (4000.0 * 4.0)).powf(0.2);
    assert!((found / by_hand - 1.0).abs() < 0.01, "{found} {by_hand}");
}
