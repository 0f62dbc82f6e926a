//! Searching within a budget: long enough it changes nothing, however short it leaves a policy, and what is missing is said.

#![allow(clippy::unwrap_used, missing_docs)]

use counterpoint::budget::Budget;
use counterpoint::certify::Gate;
use counterpoint::data::{Parts, SplitRule};
use counterpoint::policy::TargetPolicy;
use counterpoint::select::{Fit, Grid, Memory, Selected, Selector, Step};
use counterpoint::{Log, select};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Uniform actions on (1, 4); the cost is least at 2.5 + x.
fn parts(n: usize) -> Parts {
    let u = |i: usize, k: f64| (i as f64 * k).fract();
    let x: Vec<f64> = (0..n).map(|i| 2.0 * u(i, 0.754_877_666) - 1.0).collect();
    let a: Vec<f64> = (0..n).map(|i| 1.0 + 3.0 * u(i, 0.569_840_291)).collect();
    let noise = |i: usize| u(i, 0.819_172_513) + u(i, 0.671_043_607) - 1.0;
    let y = (0..n).map(|i| (a[i] - 2.5 - x[i]).powi(2) + noise(i)).collect();
    let log = Log::builder().context("x", x).action("a", a).cost("y", y).propensity("p", vec![1.0 / 3.0; n]);
    log.build().unwrap().split(SplitRule::default()).unwrap()
}

fn of(grid: &str) -> Grid {
    Grid::from_toml(grid).unwrap()
}

const AUTO: &str = "[recipe]\npolicy = \"greedy\"\n";
const FEW: &str =
    "[recipe]\npolicy = \"linear\"\nstd_floor = 0.3\ncap = [5.0, 10.0, 20.0, 40.0]\nstarts = 2\nproximal_steps = 2\n";
const MANY: &str = "[recipe]\npolicy = \"linear\"\nstd_floor = 0.3\ncap = [4.0, 6.0, 8.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0]\n\
                    variance_penalty = [0.0, 1.0]\nstarts = 2\nproximal_steps = 2\n";

fn within(parts: &Parts, grid: &Grid, clock: &(dyn Fn() -> f64 + Sync)) -> Selected {
    Selector::new(grid).seed(3).budget(Budget::by(clock)).select(parts).unwrap()
}

#[test]
fn a_budget_that_is_long_enough_changes_nothing() {
    let parts = parts(1500);
    for grid in [of(AUTO), of(FEW)] {
        let without = select(&parts, &grid, 3, Gate::default(), &Memory::none()).unwrap();
        let with = within(&parts, &grid, &|| 0.0);
        assert_eq!(without.policy.to_json(), with.policy.to_json());
        assert!(with.left_out.is_empty(), "{:?}", with.left_out);
        assert_eq!(without.recipe.to_toml(), with.recipe.to_toml());
    }
}

#[test]
fn without_any_time_there_is_a_policy_and_what_is_missing_is_said() {
    let parts = parts(1500);
    for grid in [AUTO, FEW, MANY] {
        let found = within(&parts, &of(grid), &|| 2.0);
        assert!(!found.left_out.is_empty());
        let mean = found.policy.mean(&[0.5]).unwrap()[0];
        assert!((1.0..4.0).contains(&mean), "{mean}");
    }
    let auto = within(&parts, &of(AUTO), &|| 2.0);
    assert!(auto.left_out.iter().any(|l| l.contains("network")), "{:?}", auto.left_out);
    // ridges need no time and know a parabola
    assert!((auto.policy.mean(&[0.5]).unwrap()[0] - 3.0).abs() < 0.3);
}

/// The time goes with the fits: some of many candidates are tried shortly, the better ones of them fully.
#[test]
fn many_candidates_are_halved_as_time_goes() {
    let parts = parts(1500);
    let grid = of(MANY);
    let fits = Mutex::new(Vec::<(usize, String)>::new());
    // every finished fit takes a part of the budget
    let clock = || 0.03 * fits.lock().unwrap().len() as f64;
    let record = |fit: &Fit, step: Step| {
        assert!(!fit.unfinished, "a fit that time ended is not finished work");
        fits.lock().unwrap().push((step.round, fit.key.clone()));
        Ok(())
    };
    let memory = Memory { known: Vec::new(), record: &record };
    let found = Selector::new(&grid).seed(3).memory(&memory).budget(Budget::by(&clock)).select(&parts).unwrap();
    assert_eq!(found.leaderboard.len(), 18, "what was not tried is listed too");
    let untried = found.leaderboard.iter().filter(|e| e.failure.is_some()).count();
    assert!(untried > 0 && untried < 18, "{untried}");
    assert!(found.left_out[0].contains("round 0"), "{:?}", found.left_out);
    assert!(found.leaderboard[0].estimate.is_some());
    let rounds = fits.lock().unwrap();
    let count = |r: usize| rounds.iter().filter(|(round, _)| *round == r).count();
    assert!(count(0) > count(1) && count(1) > 0, "{} {} {}", count(0), count(1), count(2));
}

/// What a run within a budget has finished is finished work for one without.
#[test]
fn a_journal_of_a_short_run_is_good_for_a_long_one() {
    let parts = parts(1500);
    let grid = of(FEW);
    let whole = select(&parts, &grid, 3, Gate::default(), &Memory::none()).unwrap();
    let finished = Mutex::new(Vec::<Fit>::new());
    let record = |fit: &Fit, _: Step| {
        finished.lock().unwrap().push(fit.clone());
        Ok(())
    };
    let clock = || 0.25 * finished.lock().unwrap().len() as f64;
    let memory = Memory { known: Vec::new(), record: &record };
    let short = Selector::new(&grid).seed(3).memory(&memory).budget(Budget::by(&clock)).select(&parts).unwrap();
    assert!(!short.left_out.is_empty());
    let known = finished.lock().unwrap().clone();
    assert!(!known.is_empty());
    let again = AtomicUsize::new(0);
    let record = |_: &Fit, _: Step| {
        again.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    let memory = Memory { known, record: &record };
    let resumed = select(&parts, &grid, 3, Gate::default(), &memory).unwrap();
    assert_eq!(whole.policy.to_json(), resumed.policy.to_json());
    assert!(again.into_inner() < 4 + 2, "some fits were known");
}
