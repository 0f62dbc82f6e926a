//! What all rivals must do.

use super::*;
use crate::Engine;
use crate::policy::{RulePolicy, TargetPolicy};

/// n rows: x uniform on (0, 1), actions uniform on (0, 3), cost as given, of a deterministic even sequence.
pub(super) fn uniform_log(n: usize, cost: impl Fn(f64, f64) -> f64) -> Log {
    let x: Vec<f64> = (0..n).map(|i| (0.5 + i as f64 * 0.754_877_666_246_692_7).fract()).collect();
    let a: Vec<f64> = (0..n).map(|i| 3.0 * (0.5 + i as f64 * 0.569_840_290_998_053_3).fract()).collect();
    let y = x.iter().zip(&a).map(|(x, a)| cost(*x, *a)).collect();
    Log::builder()
        .context("x", x)
        .action("a", a)
        .cost("y", y)
        .propensity("p", vec![1.0 / 3.0; n])
        .build()
        .expect("a log")
}

/// Mean distance of a policy's action from a rule.
pub(super) fn spread(policy: &RulePolicy, rule: impl Fn(f64) -> f64) -> f64 {
    (0..100).map(|i| (f64::from(i) + 0.5) / 100.0).map(|x| (policy.action(&[x]) - rule(x)).abs()).sum::<f64>() / 100.0
}

#[test]
fn the_direct_method_finds_the_best_action_of_a_cost_in_its_model() {
    // linear in psi_A with coefficients linear in x: a bump that moves with the context
    let bump = |a: f64, z: f64| (-0.5 * 4.0 * (a - z) * (a - z)).exp();
    let log = uniform_log(4000, |x, a| -(1.0 - x) * bump(a, 0.8) - x * bump(a, 2.2));
    let settings = Direct { map: ContextKind::Linear, ridge: 1e-8, ..Direct::default() };
    let policy = settings.fit(&Engine::single(), &log, 0).expect("learned");
    for x in [0.1, 0.3, 0.7, 0.9] {
        let best = (0..=300).map(|i| 0.01 * f64::from(i));
        let cost = |a: f64| -(1.0 - x) * bump(a, 0.8) - x * bump(a, 2.2);
        let best = best.min_by(|a, b| cost(*a).total_cmp(&cost(*b))).expect("some");
        assert!((policy.action(&[x]) - best).abs() < 0.05, "{x}: {} {best}", policy.action(&[x]));
    }
    let sdm =
        Rival::Sdm(Stochastic { direct: settings, std: 0.1 }).fit(&Engine::single(), &log, None, 0).expect("learned");
    let SavedPolicy::Rule(sdm) = sdm else { panic!("a rule") };
    assert_eq!(sdm.action(&[0.3]), policy.action(&[0.3]));
    let std = 0.1 * log.action_summaries()[0].std();
    assert!((sdm.noise.expect("noise").width - std).abs() < 1e-12);
}

#[test]
fn every_rival_beats_the_log_and_survives_its_file() {
    let log = uniform_log(2000, |x, a| (a - 1.0 - x).abs() - 1.0);
    let engine = Engine::single();
    for name in Rival::NAMES {
        let rival: Rival = name.parse().expect("a name");
        assert_eq!(rival.to_string(), name);
        let text = serde_json::to_string(&rival).expect("text");
        assert_eq!(serde_json::from_str::<Rival>(&text).expect("a rival"), rival);
        let judged = judge(&engine, &rival, [&log, &log], None, 1).expect("judged");
        let figures = judged.figures.expect("figures");
        assert!(figures.passes(PAPER_GATE) && figures.snips < log.cost_summary().mean() - 0.2, "{name} {figures:?}");
        let text = serde_json::to_string(&judged).expect("text");
        assert_eq!(serde_json::from_str::<Judged>(&text).expect("a fit"), judged);
        let (policy, x) = (&judged.policy, [0.4]);
        assert_eq!(policy.draw(&x, 3, 5), policy.draw(&x, 3, 5));
        assert!(policy.draw(&x, 3, 5).1.is_finite());
        assert_eq!(SavedPolicy::from_json(&policy.to_json()).expect("a file"), *policy);
        if let SavedPolicy::Rule(rule) = policy {
            let alone = SavedPolicy::from(rule.clone().without_noise());
            let (action, log_density) = alone.draw(&x, 3, 5);
            assert!(action == [rule.action(&x)] && log_density.is_nan());
            let refused = alone.check_against(log.schema()).expect_err("no density").to_string();
            assert!(refused.contains("deterministic") && refused.contains("std"), "{refused}");
        }
    }
    assert!("olearn".parse::<Rival>().is_err());
}

#[test]
fn the_choice_is_the_best_that_passes_and_does_not_depend_on_threads() {
    let log = uniform_log(1500, |x, a| (a - 1.0 - x).abs() - 1.0);
    let parts = log.split(crate::data::SplitRule::default()).expect("parts");
    // the first is too narrow to be believed: about 750 * 2 * 0.003 / 3 valid rows see it
    let grid = [0.002, 0.3, 0.8].map(|share| {
        Rival::Ks(Smoothing {
            bandwidth: Bandwidth::Share(share),
            kernel: Kernel::Epanechnikov,
            ..Smoothing::default()
        })
    });
    let rows = [&parts.train, &parts.valid];
    let one = choose(&Engine::single(), &grid, rows, None, PAPER_GATE, 0, &|| ()).expect("chosen");
    let two = choose(&Engine::new(2).expect("threads"), &grid, rows, None, PAPER_GATE, 0, &|| ()).expect("chosen");
    assert_eq!(one, two);
    assert!(
        !one.all[0].figures.is_some_and(|f| f.passes(PAPER_GATE)) && one.best.rival == grid[1],
        "{:?}",
        one.all.iter().map(|j| j.figures).collect::<Vec<_>>()
    );
    assert!(choose(&Engine::single(), &grid[..1], rows, None, PAPER_GATE, 0, &|| ()).is_err());
}

#[test]
fn grids_name_their_method_and_hold_no_setting_twice() {
    for name in Rival::NAMES {
        for contexts in [2, 81] {
            let grid = Rival::grid(name, contexts).expect("a grid");
            assert!(grid.len() >= 4 && grid.iter().all(|r| r.name() == name));
            for (i, r) in grid.iter().enumerate() {
                assert!(!grid[..i].contains(r), "{r:?}");
            }
        }
    }
    assert!(Rival::grid("none", 2).is_err());
}
