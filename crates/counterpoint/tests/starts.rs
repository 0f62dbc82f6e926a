//! Several starting points: which of them go on, and what the memory of L-BFGS changes.

#![allow(clippy::unwrap_used)]
#![cfg(feature = "simulate")]

use counterpoint::learn::Learned;
use counterpoint::simulate::{Potential, Split};
use counterpoint::{Engine, Log, Recipe, learn};

fn moons(rows: usize) -> Log {
    let drawn = Potential::Moons.simulate(rows, 1);
    let of = |column: &[f64]| column[drawn.rows(Split::Train)].to_vec();
    Log::builder()
        .context("x0", of(&drawn.x[0]))
        .context("x1", of(&drawn.x[1]))
        .action("a", of(&drawn.action))
        .reward("y", of(&drawn.reward))
        .propensity("p", of(&drawn.propensity))
        .build()
        .unwrap()
}

fn recipe(more: &str) -> Recipe {
    shorter(&format!("starts = 4\n{more}"), 25)
}

fn shorter(more: &str, most: usize) -> Recipe {
    let text = format!("policy = \"clp\"\nanchors = 6\nmax_iterations = {most}\nproximal_steps = 3\n");
    Recipe::from_toml(&format!("{text}{more}")).unwrap()
}

fn passes(learned: &Learned) -> usize {
    learned.starts.iter().map(|s| s.evaluations).sum()
}

#[test]
fn starts_that_fall_behind_are_not_gone_on_with() {
    let log = moons(3000);
    let all = learn(&log, &recipe("")).unwrap();
    let [two, again] = [1, 3].map(|threads| {
        let engine = Engine::new(threads).unwrap();
        learn(&log.on(&engine), &recipe("finalists = 2")).unwrap()
    });
    assert_eq!(two.policy.to_json(), again.policy.to_json(), "threads do not choose who goes on");
    let behind: Vec<bool> = two.starts.iter().map(|s| s.stop.contains("ahead")).collect();
    assert_eq!(behind.iter().filter(|b| **b).count(), 2);
    assert!(!behind[two.best] && passes(&two) < passes(&all) * 3 / 4, "{} {}", passes(&two), passes(&all));
    // whoever goes on ends where it would have ended in the company of all
    for (i, start) in two.starts.iter().enumerate().filter(|(i, _)| !behind[*i]) {
        assert_eq!(start.objective, all.starts[i].objective, "start {i}");
        assert_eq!(start.iterations, all.starts[i].iterations, "start {i}");
    }
    // the best after a step are the best of those there are
    let first = learn(&log, &recipe("finalists = 1")).unwrap();
    assert!(first.starts.iter().filter(|s| s.stop.contains("ahead")).count() == 3 && !behind[first.best]);
    let [as_many, more] = [4, 9].map(|k| learn(&log, &recipe(&format!("finalists = {k}"))).unwrap());
    assert_eq!((all.policy.to_json(), passes(&all)), (as_many.policy.to_json(), passes(&as_many)));
    assert_eq!(all.policy.to_json(), more.policy.to_json());
}

/// Starting points that see a part of the rows; the best goes on with all of them: as low an objective for a fraction of the work.
#[test]
fn starting_points_may_see_a_part_of_the_rows_first() {
    let log = moons(720_000);
    let few = |more: &str| shorter(&format!("starts = 2\n{more}"), 12);
    let all = learn(&log, &few("")).unwrap();
    let [some, again] = [1, 3].map(|threads| {
        let engine = Engine::new(threads).unwrap();
        learn(&log.on(&engine), &few("first_rows = 100000")).unwrap()
    });
    assert_eq!(some.policy.to_json(), again.policy.to_json());
    let [rows, of] = some.first_look.unwrap();
    assert_eq!(of, log.rows() as u64);
    assert!(rows > 60_000 && rows < 160_000, "{rows}");
    assert_eq!(some.starts.iter().filter(|s| s.stop.contains("ahead")).count(), 1);
    assert!(
        (some.objective - all.objective).abs() < 0.02 * all.objective.abs(),
        "{} {}",
        some.objective,
        all.objective
    );
    // a log that is not twice as long is seen as a whole from the beginning
    let whole = learn(&log, &few("first_rows = 200000")).unwrap();
    assert_eq!((whole.first_look, whole.policy.to_json()), (None, all.policy.to_json()));
}

#[test]
fn an_observer_who_asks_to_stop_before_the_choice_is_heard() {
    use counterpoint::learn::Learner;
    use std::ops::ControlFlow;
    let recipe = recipe("finalists = 2");
    let watch = |p: &counterpoint::learn::Progress| match p.iteration {
        0..3 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    let learned = Learner::new(&recipe).watch(&watch).learn(&moons(3000)).unwrap();
    assert!(learned.starts.iter().all(|s| s.iterations == 3 && s.stop.contains("interrupted")), "{:?}", learned.starts);
}

#[test]
fn ten_steps_are_remembered_unless_the_recipe_says_otherwise() {
    let log = moons(3000);
    let [usual, ten, many] = ["", "history = 10", "history = 100"].map(|h| learn(&log, &recipe(h)).unwrap());
    assert_eq!(usual.policy.to_json(), ten.policy.to_json());
    assert_ne!(usual.policy.to_json(), many.policy.to_json());
}

/// What was learned of the curvature is carried into the next proximal step: fewer passes to where runs without it end, whatever the threads, and
/// runs that are held and taken up again are those that were not.
#[test]
fn curvature_that_is_carried_saves_passes() {
    let log = moons(3000);
    let long = |more: &str| {
        let text = "policy = \"clp\"\nanchors = 6\nstarts = 3\nhistory = 60\n";
        Recipe::from_toml(&format!("{text}{more}")).unwrap()
    };
    let (without, with) = (learn(&log, &long("")).unwrap(), learn(&log, &long("carry = true")).unwrap());
    assert!(passes(&with) * 10 < passes(&without) * 9, "{} {}", passes(&with), passes(&without));
    assert!(
        with.objective > without.objective - 0.01 * without.objective.abs(),
        "{} {}",
        with.objective,
        without.objective
    );
    let [one, three] = [1, 3].map(|threads| {
        let engine = Engine::new(threads).unwrap();
        learn(&log.on(&engine), &long("carry = true\nfinalists = 2")).unwrap()
    });
    assert_eq!(one.policy.to_json(), three.policy.to_json());
    for (i, start) in one.starts.iter().enumerate().filter(|(_, s)| !s.stop.contains("ahead")) {
        assert_eq!(start.objective, with.starts[i].objective, "start {i}");
    }
    // what is off is what it was
    assert_eq!(learn(&log, &long("carry = false")).unwrap().policy.to_json(), without.policy.to_json());
    let idle = Recipe::from_toml("policy = \"clp\"\nproximal_steps = 0\ncarry = true").unwrap_err().to_string();
    assert!(idle.contains("carry"), "{idle}");
}
