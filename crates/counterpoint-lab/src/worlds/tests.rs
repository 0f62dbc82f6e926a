//! Worlds are what they say, and certificates keep their promises in a few of them.

#![allow(clippy::unwrap_used)]

use super::*;

/// Hits that a rate of `level` exceeds with probability below .001 in so many trials: three and a half standard errors and one.
fn most(level: f64, trials: usize) -> usize {
    let n = trials as f64;
    (level * n + 3.5 * (level * (1.0 - level) * n).sqrt() + 1.0) as usize
}

fn check(cell: &Cell, n: usize, logs: usize) {
    let o = run(cell, n, logs, 91, &Terms::default()).unwrap();
    match cell.truth {
        Truth::NoGain => assert!(o.deploy.hits <= most(0.03, logs), "{}, {n}: deploy {}", cell.name, o.deploy),
        // missed: a loss that happens in one row of 300 and in none of these; a law that 300 rows do not show (docs/validity.md)
        Truth::Worse if n < 1000 && ["rare loss", "waves"].iter().any(|w| cell.name.contains(w)) => {}
        Truth::Worse => assert!(o.deploy.hits <= most(0.02, logs), "{}, {n}: deploy {}", cell.name, o.deploy),
        Truth::Gain => assert!(o.refused.share() < 0.1, "{}, {n}: refused {}", cell.name, o.refused),
    }
    let missed = o.held.trials - o.held.hits;
    assert!(missed <= most(0.07, o.held.trials), "{}, {n}: held {}", cell.name, o.held);
}

#[test]
fn a_handful_of_worlds_keep_their_promise() {
    for name in
        ["normal log, shifted, rare 3% cost", "2% of contexts, terrible", "std .3 + |x|, constant .5, context cost"]
    {
        let cell = all().find(|c| c.name == name).unwrap();
        check(cell, cell.rows[0], 40);
    }
}

/// Minutes: every world, with as many logs as tell .03 from .1.
#[test]
#[ignore = "minutes"]
fn every_world_keeps_its_promise() {
    for cell in all() {
        cell.rows.iter().filter(|n| **n <= 1000).for_each(|n| check(cell, *n, 200));
    }
}

#[test]
fn names_of_worlds_differ() {
    let names: std::collections::BTreeSet<_> = all().map(|c| c.name).collect();
    assert_eq!(names.len(), all().count());
}

#[test]
fn given_clusters_widen_and_estimated_densities_never_deploy() {
    let [named, plain] = [true, false].map(|named| run_clusters(0.7, 40, named, 30, 5).unwrap());
    assert!(named.deploy.hits <= most(0.03, 30) && named.deploy.hits <= plain.deploy.hits);
    for way in Unlogged::ALL {
        assert_eq!(leads(way, 1500, 3, 5).deploy.hits, 0, "{}", way.name());
    }
}

/// A world that is said to be worse, better or the same is.
#[test]
fn worlds_are_what_they_are_said_to_be() {
    for cell in all() {
        let [policy, log] = cell.costs(40_000, 3);
        match cell.truth {
            Truth::Worse => assert!(policy > log, "{}: {policy} {log}", cell.name),
            Truth::Gain => assert!(policy < log, "{}: {policy} {log}", cell.name),
            Truth::NoGain => {}
        }
        let far = |v: f64| (if cell.cost { v } else { -v } - policy).abs() > 0.1 * (1.0 + v.abs());
        let heavy = ["pareto", "log std 2", "huge"].iter().any(|word| cell.name.contains(word));
        assert!(heavy || !cell.value.is_some_and(far), "{}: {policy}", cell.name);
    }
}

/// However a log randomised, the densities it wrote down are not called wrong, and a policy that is better is not refused.
#[test]
fn right_logs_are_not_refused() {
    let right: Vec<_> = sieges().filter(|s| s.sight == Sight::Right).collect();
    assert!(right.len() > 15);
    for siege in right {
        let o = besiege(siege, 1000, 8, 6);
        assert!(o.refused.hits <= 1, "{}: refused {}", siege.name, o.refused);
    }
}

/// Of whole logs that are right a policy that is better is deployed, and of those that are not none is, in a few of them.
#[test]
fn sieges_are_held() {
    let named = |name: &str| sieges().find(|s| s.name == name).unwrap();
    assert!(besiege(named("better, two actions"), 300, 10, 5).deploy.hits >= 8);
    for name in [
        "two actions together in a checker of 6%, never so in the log",
        "each row five times, shaken by a thousandth",
        "densities per percent in a stratum of a tenth",
        "a rare loss of half a percent, its range stated",
    ] {
        let siege = named(name);
        let o = besiege(siege, siege.rows[0], 20, 5);
        assert_eq!(o.deploy.hits, 0, "{name}");
    }
    let names: std::collections::BTreeSet<_> = sieges().map(|s| s.name).collect();
    assert_eq!(names.len(), sieges().count());
}
