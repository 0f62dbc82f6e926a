//! Laws of the worlds: the log acts as its density says, outcomes average to their mean, the truth is in order.

use super::*;
use counterpoint::data::Outcome;
use rand::SeedableRng;

fn contexts(world: &World, count: usize) -> Vec<Vec<f64>> {
    world.fresh(count).0
}

#[test]
fn names_are_different_and_the_spread_is_wide() {
    let mut names: Vec<&str> = World::all().map(|w| w.name).collect();
    assert!(names.len() >= 18, "{}", names.len());
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    let has = |f: &dyn Fn(&World) -> bool| World::all().filter(|w| f(w)).count();
    assert!(has(&|w| w.contexts == 1) >= 1 && has(&|w| w.contexts == 81) >= 1);
    assert!(has(&|w| w.rows == 1000) >= 1 && has(&|w| w.rows == 100_000) >= 1);
    assert!(has(&|w| w.direction == Outcome::Cost) >= 6 && has(&|w| w.direction == Outcome::Reward) >= 6);
}

#[test]
fn contexts_have_the_declared_number() {
    for world in World::all() {
        assert!(contexts(&world, 3).iter().all(|x| x.len() == world.contexts), "{world:?}");
    }
}

/// The density integrates to one, and the probability of a set of actions is the share of draws in it.
#[test]
fn the_log_acts_as_its_density_says() {
    for world in World::all() {
        for x in contexts(&world, 3) {
            let acts = (world.acts)(&x);
            let mut rng = ChaCha8Rng::seed_from_u64(5);
            let mut drawn: Vec<f64> = (0..4000).map(|_| acts.sample(&mut rng)).collect();
            drawn.sort_by(f64::total_cmp);
            let cdf = match &acts {
                Acts::Points { points, masses } => {
                    assert!((masses.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                    points
                        .iter()
                        .map(|p| (*p, points.iter().map(|q| if q <= p { acts.density(*q) } else { 0.0 }).sum()))
                        .collect()
                }
                _ => integrated(&acts, drawn[0], drawn[drawn.len() - 1]),
            };
            let total = cdf.last().expect("a grid").1;
            assert!((total - 1.0f64).abs() < 1e-3, "{world:?}: the density adds up to {total}");
            // Kolmogorov and Smirnov at 1e-6: sqrt(n) D < 2.7
            let share = |a: f64| drawn.partition_point(|d| *d <= a) as f64 / drawn.len() as f64;
            let far = cdf.iter().map(|(a, p)| (share(*a) - p).abs()).fold(0.0, f64::max);
            assert!(far * (drawn.len() as f64).sqrt() < 2.7, "{world:?}: {far}");
        }
    }
}

/// The integral of the density by midpoints, well beyond the draws.
fn integrated(acts: &Acts, low: f64, high: f64) -> Vec<(f64, f64)> {
    let (low, high) = (low - 2.0 * (high - low), high + 2.0 * (high - low));
    let steps = 200_000;
    let h = (high - low) / f64::from(steps);
    let mut sum = 0.0;
    (0..steps)
        .map(|k| {
            sum += h * acts.density(low + h * (f64::from(k) + 0.5));
            (low + h * f64::from(k + 1), sum)
        })
        .step_by(97)
        .collect()
}

#[test]
fn outcomes_average_to_their_mean() {
    for world in World::all() {
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        let (mut sum, mut square, n) = (0.0, 0.0, 40_000);
        for x in contexts(&world, n) {
            let a = (world.acts)(&x).sample(&mut rng);
            let gap = (world.outcome)(&x, a, &mut rng) - (world.mean)(&x, a);
            sum += gap;
            square += gap * gap;
        }
        let (mean, n) = (sum / n as f64, n as f64);
        let error = ((square / n - mean * mean) / n).sqrt();
        assert!(error > 0.0 && mean.abs() < 5.0 * error, "{world:?}: off by {mean} ± {error}");
    }
}

#[test]
fn the_oracle_beats_the_constant_which_no_log_can_beat_by_chance() {
    for world in World::all() {
        let t = Truth::of(&world, 2000);
        let (oracle, constant, log) = (world.gain(t.oracle), world.gain(t.constant), world.gain(t.logging));
        assert!(oracle >= constant && oracle > log, "{world:?}: {oracle} {constant} {log}");
        let best = t
            .contexts
            .iter()
            .map(|x| t.actions.iter().map(|a| world.gain((world.mean)(x, *a))).fold(f64::MIN, f64::max));
        assert!((best.sum::<f64>() / 2000.0 - oracle).abs() < 1e-9, "{world:?}");
        assert_eq!((t.regret(t.oracle), t.regret(t.logging)), (0.0, 1.0));
    }
}

#[test]
fn the_same_seed_draws_the_same_log_and_another_seed_another() {
    for world in World::all() {
        assert_eq!(world.rows(50, 3), world.rows(50, 3));
        assert_ne!(world.rows(50, 3).outcome, world.rows(50, 4).outcome);
        assert_eq!(world.rows(50, 3).x, world.rows(80, 3).x[..50], "rows do not depend on how many there are");
    }
}

#[test]
fn propensities_are_those_of_the_actions() {
    for world in World::all() {
        let rows = world.rows(100, 2);
        for (i, a) in rows.action.iter().enumerate() {
            assert_eq!((world.acts)(&rows.x[i]).density(*a), rows.propensity[i]);
        }
    }
}

#[test]
fn baskets_are_almost_all_empty() {
    let world = World::named("baskets").expect("a world");
    let zeros = world.rows(20_000, 1).outcome.iter().filter(|y| **y == 0.0).count() as f64 / 20_000.0;
    assert!((0.91..0.95).contains(&zeros), "{zeros}");
}

fn record(world: &str, method: &str, regret: f64, verdict: &str) -> Record {
    let text = format!(
        r#"{{"world":"{world}","seed":1,"method":"{method}","rows":10,"oracle":1,"constant":0.5,"logging":0,"value":{},"regret":{regret},"verdict":"{verdict}","seconds":1}}"#,
        1.0 - regret
    );
    serde_json::from_str(&text).expect("a record")
}

#[test]
fn tables_count_what_the_records_say() {
    let mut records = vec![record("a", "learn", 0.1, "deploy"), record("b", "learn", 1.5, "deploy")];
    records.push(record("c", "learn", 0.3, "invalid"));
    for (world, best) in [("a", 0.2), ("b", 0.2)] {
        for (k, peer) in ["lightgbm", "network", "ridge", "linear-kernel"].iter().enumerate() {
            records.push(record(world, peer, best + 0.1 * k as f64, "none"));
        }
    }
    let line = |table: &str| table.lines().find(|l| l.starts_with("| learn")).expect("a line").to_string();
    // three runs: median 0.3, of what is decided 1; two deploys, one of them false; one is worse than the log
    let said = line(&summary(&records));
    assert!(said.starts_with("| learn | 3 | 0.300 | 1.260 | 1.50 | 1.000 | 2 | 0 | 1 | 0 | 1 | 1 |"), "{said}");
    // better by 0.1 on a, worse by 1.3 on b, no peers on c
    assert_eq!(line(&duels(&records)), "| learn | 2 | 50% | 50% | +0.600 |");
    assert!(board(&records).contains("| c | 0.30 I |"), "{}", board(&records));
}

#[test]
fn of_two_lines_for_one_run_the_later_counts() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("runs.jsonl");
    let lines =
        [record("a", "learn", 0.4, "keep"), record("b", "learn", 0.2, "deploy"), record("a", "learn", 0.1, "deploy")];
    std::fs::write(&file, lines.each_ref().map(Record::line).concat()).expect("written");
    assert_eq!(read_records(&[&file]).expect("records"), [lines[1].clone(), lines[2].clone()]);
    std::fs::write(&file, "{}\n").expect("written");
    let wrong = read_records(&[&file]).expect_err("no record").to_string();
    assert!(wrong.contains("line 1"), "{wrong}");
}
