//! The laws of greedy policies: units, order, threads and shards do not matter; bounds and grids are kept; gains are real.

#![allow(clippy::unwrap_used, missing_docs)]

use counterpoint::data::SplitRule;
use counterpoint::learn::{Learned, Learner};
use counterpoint::policy::{SavedPolicy, TargetPolicy};
use counterpoint::source::{LocalShard, Shard, Shards};
use counterpoint::{Engine, Log, Recipe, Verdict, certify, learn};

/// A row of the test world: contexts in (-1, 1), an action, its density, a reward.
struct Row {
    x: [f64; 2],
    a: f64,
    p: f64,
    y: f64,
}

/// A number in (0, 1) for every place, without a pattern that a tree could find.
fn uniform(i: u64) -> f64 {
    let mut z = i.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

/// Uniform actions on (1, 4); the reward is best at 2.5 + x0, whatever x1, and noisy.
fn rows(n: u64, gain: f64) -> Vec<Row> {
    (0..n)
        .map(|i| {
            let u = |k: u64| uniform(10 * i + k);
            let x = [2.0 * u(0) - 1.0, 2.0 * u(1) - 1.0];
            let a = 1.0 + 3.0 * u(2);
            let noise = u(3) + u(4) + u(5) - 1.5;
            Row { x, a, p: 1.0 / 3.0, y: 1.0 - gain * (a - 2.5 - x[0]).powi(2) + 0.5 * noise }
        })
        .collect()
}

fn log(rows: &[Row]) -> Log {
    let column = |f: fn(&Row) -> f64| rows.iter().map(f).collect::<Vec<f64>>();
    Log::builder()
        .context("x0", column(|r| r.x[0]))
        .context("x1", column(|r| r.x[1]))
        .action("a", column(|r| r.a))
        .reward("y", column(|r| r.y))
        .propensity("p", column(|r| r.p))
        .build()
        .unwrap()
}

/// Trees and a network, as by default.
fn fit(rows: &[Row]) -> Learned {
    learn(&log(rows), &Recipe::default()).unwrap()
}

fn means(policy: &SavedPolicy, contexts: impl Fn(f64) -> [f64; 2]) -> Vec<f64> {
    (0..9).map(|k| policy.mean(&contexts(f64::from(k) / 4.0 - 1.0)).unwrap()[0]).collect()
}

#[test]
fn learns_the_best_action_and_says_what_it_did() {
    let learned = fit(&rows(4000, 1.0));
    for (k, mean) in means(&learned.policy, |t| [t * 0.8, 0.3]).iter().enumerate() {
        let best = 2.5 + 0.8 * (k as f64 / 4.0 - 1.0);
        assert!((mean - best).abs() < 0.12, "{mean} {best}");
    }
    let search = learned.search.unwrap();
    assert!(search.board[0].passes && search.board[0].certifiable && search.notes.len() >= 4);
    assert!(search.board[0].difference > 0.0, "rewards: a gain is positive");
}

#[test]
fn units_and_the_order_of_rows_do_not_matter() {
    let plain = rows(1500, 1.0);
    let own = fit(&plain);
    let expected = means(&own.policy, |t| [t, -t]);
    let changed = |f: &dyn Fn(&Row) -> Row| -> Vec<Row> { plain.iter().map(f).collect() };
    // ten thousand, and two million, standard deviations away
    let costs = changed(&|r| Row { y: 1e-5 * r.y + 0.1, ..*r });
    let distant = changed(&|r| Row { y: 1e-5 * r.y + 20.0, ..*r });
    let actions = changed(&|r| Row { a: 0.25 * r.a - 7.0, p: r.p / 0.25, ..*r });
    let contexts = changed(&|r| Row { x: [1000.0 * r.x[0] + 5.0, 0.01 * r.x[1] - 3.0], ..*r });
    let reversed: Vec<Row> = plain.iter().rev().map(|r| Row { ..*r }).collect();
    let close = |name: &str, found: Vec<f64>, learned: &Learned| {
        for (f, e) in found.iter().zip(&expected) {
            assert!((f - e).abs() < 1e-5, "{name}: {found:?} {expected:?}");
        }
        let (a, b) = (learned.search.as_ref().unwrap(), own.search.as_ref().unwrap());
        assert_eq!((a.board[0].share, a.board[0].step), (b.board[0].share, b.board[0].step), "{name}");
    };
    let l = fit(&costs);
    close("costs", means(&l.policy, |t| [t, -t]), &l);
    let l = fit(&distant);
    close("distant costs", means(&l.policy, |t| [t, -t]), &l);
    let l = fit(&actions);
    close("actions", means(&l.policy, |t| [t, -t]).iter().map(|a| (a + 7.0) / 0.25).collect(), &l);
    let l = fit(&contexts);
    close("contexts", means(&l.policy, |t| [1000.0 * t + 5.0, -0.01 * t - 3.0]), &l);
    let l = fit(&reversed);
    close("order", means(&l.policy, |t| [t, -t]), &l);
}

#[test]
fn answer_does_not_depend_on_threads_or_shards() {
    let log = log(&rows(3000, 1.0));
    let recipe = Recipe::default();
    let on = |threads: usize| {
        let engine = Engine::new(threads).unwrap();
        let learned = learn(&log.on(&engine), &recipe).unwrap();
        learned.policy.to_json()
    };
    let one = on(1);
    assert_eq!(one, on(2));
    let shards: Vec<Box<dyn Shard>> = log
        .pieces(3)
        .into_iter()
        .map(|piece| Box::new(LocalShard::new(piece, Engine::single())) as Box<dyn Shard>)
        .collect();
    let sharded = learn(&Shards::new(shards).unwrap(), &recipe).unwrap();
    assert_eq!(one, sharded.policy.to_json());
}

#[test]
fn a_policy_file_is_the_policy() {
    let learned = fit(&rows(800, 1.0));
    let again = SavedPolicy::from_json(&learned.policy.to_json()).unwrap();
    assert_eq!(again, learned.policy);
    let damaged = learned.policy.to_json().replacen("\"share\": 0.", "\"share\": -0.", 1);
    assert!(SavedPolicy::from_json(&damaged).is_err());
}

#[test]
fn draws_keep_to_bounds_and_grid() {
    let recipe = Recipe::from_toml("min_action = 2.0\nmax_action = 3.0\nmodels = \"ridge\"").unwrap();
    let policy = learn(&log(&rows(2000, 1.0)), &recipe).unwrap().policy;
    let step = Recipe::from_toml("action_grid = 0.25\nmodels = \"ridge\"").unwrap();
    let found = learn(&log(&rows(2000, 1.0)), &step).unwrap();
    assert!(found.search.unwrap().board[0].passes, "a grid on a log without one is weighed by its cells");
    let stepped = found.policy;
    for row in 0..2000 {
        let x = [2.0 * uniform(row) - 1.0, 0.0];
        let (a, density) = policy.draw(&x, 1, row);
        assert!((2.0..=3.0).contains(&a[0]) && density.is_finite());
        let (a, density) = stepped.draw(&x, 1, row);
        assert!((a[0] / 0.25).fract() == 0.0 && (1.0..=4.0).contains(&a[0]) && density.is_finite());
    }
}

/// Price points with probabilities: the policy plays them with probabilities that add up to one, and is certified.
#[test]
fn tied_actions_are_a_grid() {
    let tied: Vec<Row> = rows(4000, 1.0)
        .into_iter()
        .map(|r| {
            let a = 1.0 + ((r.a - 1.0) / 0.5).floor() * 0.5; // six points
            Row {
                a,
                p: 1.0 / 6.0,
                y: 1.0 - (a - 2.5 - r.x[0]).powi(2) + r.y - (1.0 - (r.a - 2.5 - r.x[0]).powi(2)),
                ..r
            }
        })
        .collect();
    let parts = log(&tied).split(SplitRule::default()).unwrap();
    let learned = Learner::new(&Recipe::default()).learn_from(&parts).unwrap();
    let total: f64 = (0..6).map(|k| learned.policy.log_density(&[0.3, 0.1], &[1.0 + 0.5 * f64::from(k)]).exp()).sum();
    assert!((total - 1.0).abs() < 1e-9, "{total}");
    assert_eq!(learned.policy.log_density(&[0.3, 0.1], &[1.3]), f64::NEG_INFINITY);
    let c = certify(&learned.policy, &parts.valid, &parts.test, &Default::default()).unwrap();
    assert_eq!(c.verdict, Verdict::Deploy, "{c}");
}

/// A policy learned from train and valid is gated by its folds, not refused; and without an effect nothing is deployed.
#[test]
fn nothing_is_deployed_where_there_is_nothing_to_gain() {
    let mut deployed = 0;
    for seed in 0..8u64 {
        let null: Vec<Row> = rows(1200, 0.0)
            .into_iter()
            .enumerate()
            .map(|(i, r)| Row { y: uniform(1 + 77 * seed + 1_000_003 * i as u64), ..r })
            .collect();
        let parts = log(&null).split(SplitRule::Hash { seed, shares: [0.5, 0.25, 0.25] }).unwrap();
        let recipe = Recipe { seed, ..Recipe::default() };
        let learned = Learner::new(&recipe).learn_from(&parts).unwrap();
        let c = certify(&learned.policy, &parts.valid, &parts.test, &Default::default()).unwrap();
        deployed += usize::from(c.verdict == Verdict::Deploy);
    }
    assert!(deployed <= 1, "{deployed} of 8"); // 2.5% each: two or more have probability .016
}

#[test]
fn what_cannot_be_learned_is_said() {
    let same: Vec<Row> = rows(200, 1.0).into_iter().map(|r| Row { y: 3.0, ..r }).collect();
    let said = learn(&log(&same), &Recipe::default()).unwrap_err().to_string();
    assert!(said.contains("every outcome is the same"), "{said}");
    let still: Vec<Row> = rows(200, 1.0).into_iter().map(|r| Row { a: 2.0, ..r }).collect();
    let said = learn(&log(&still), &Recipe::default()).unwrap_err().to_string();
    assert!(said.contains("all logged actions are 2"), "{said}");
}
