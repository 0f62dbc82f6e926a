//! The file of the Warfarin experiment is what the paper says it is.
//!
//! It is looked for in `shared/data` beside the repository (or under the directory named by COUNTERPOINT_SHARED). These
//! tests are marked #[ignore]; `scripts/check` runs them where the file is.

#![allow(clippy::unwrap_used, missing_docs)]

use counterpoint::Policy;
use counterpoint::policy::Family;
use counterpoint_lab::{Warfarin, warfarin_cost};
use std::path::PathBuf;

fn file() -> Warfarin {
    let shared = std::env::var_os("COUNTERPOINT_SHARED")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    Warfarin::load(shared.join("data/warfarin.parquet")).unwrap()
}

#[test]
#[ignore = "needs the paper's files"]
fn papers_files_hold_the_propensities_and_rewards_of_the_formulas() {
    let log = file();
    assert_eq!((log.x.len(), log.dose.len(), log.index), (81, 3964, 9));
    for i in 0..log.dose.len() {
        let density = Family::Normal.log_density(log.action[i], log.logging_mean(i), log.logging_std()).value.exp();
        assert!((density - log.propensity[i]).abs() < 1e-6 * log.propensity[i], "row {i}");
        assert!((log.reward[i] + warfarin_cost(log.action[i], log.dose[i])).abs() < 1e-12, "row {i}");
    }
    assert_eq!(log.log().unwrap().rows(), 3964);
}

/// Costs have a standard deviation near 12: five standard errors at 3,964 rows are about 1, at 20 redraws 0.22.
#[test]
#[ignore = "needs the paper's files"]
fn papers_files_drawn_again_earn_the_exact_value() {
    let log = file();
    let mean = |r: &[f64]| r.iter().sum::<f64>() / r.len() as f64;
    let again: Vec<f64> = (0..20).map(|seed| mean(&log.redraw(seed).reward)).collect();
    assert!((mean(&again) - log.logged_value()).abs() < 0.22, "{} {}", mean(&again), log.logged_value());
    assert!((mean(&log.reward) - log.logged_value()).abs() < 1.0);
    assert_eq!(log.redraw(3), log.redraw(3));
    assert_ne!(log.redraw(3).action, log.redraw(4).action);
}

/// The best constant dose is said to earn -8.81 on one split of the patients; on all of them it is -9.28.
#[test]
#[ignore = "needs the paper's files"]
fn papers_files_have_the_best_constant_dose_that_is_known() {
    let log = file();
    let names: Vec<String> = (0..81).map(|k| format!("x{k}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let rows: Vec<usize> = (0..log.dose.len()).collect();
    let earned = |dose: f64| -> f64 {
        let policy = Policy::constant(Family::Normal, &names, &["action"], &[dose], &[1e-6]).unwrap();
        log.online_value(&policy, &rows[..], 1)
    };
    let by_hand =
        |dose: f64| -> f64 { -log.dose.iter().map(|t| warfarin_cost(dose, *t)).sum::<f64>() / log.dose.len() as f64 };
    assert!((earned(28.0) - by_hand(28.0)).abs() < 1e-4);
    let best = (200..400).map(|k| by_hand(f64::from(k) / 10.0)).fold(f64::NEG_INFINITY, f64::max);
    assert!((best + 9.28).abs() < 0.01, "{best}");
}
