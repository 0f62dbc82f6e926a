//! Learning for more than the mean outcome of our own models: guardrails, tails, and predictions that others bring.

#![allow(clippy::unwrap_used, missing_docs)]

use counterpoint::certify::{Guardrail, Terms, Verdict, certify, guard, spread};
use counterpoint::data::{Outcome, Parts, SplitRule};
use counterpoint::learn::{Guarding, Learned, Learner};
use counterpoint::policy::{SavedPolicy, TargetPolicy};
use counterpoint::{Log, Recipe};

/// A number in (0, 1) for every place, without a pattern that a tree could find.
fn uniform(i: u64) -> f64 {
    let mut z = i.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

/// A row: a context in (0, 1), an action drawn evenly from (0, 3), and two independent numbers in (-1, 1).
#[derive(Clone, Copy)]
struct Row {
    x: f64,
    a: f64,
    e: [f64; 2],
}

fn rows(n: u64, seed: u64) -> Vec<Row> {
    let of = |i: u64| {
        let u = |k: u64| uniform(8 * (i + 1_000_003 * seed) + k);
        Row { x: u(0), a: 3.0 * u(1), e: [2.0 * u(2) - 1.0, 2.0 * u(3) - 1.0] }
    };
    (0..n).map(of).collect()
}

fn log(rows: &[Row], (name, direction): (&str, Outcome), outcome: impl Fn(&Row) -> f64) -> Log {
    let column = |f: &dyn Fn(&Row) -> f64| rows.iter().map(f).collect::<Vec<f64>>();
    let log = Log::builder().context("x", column(&|r| r.x)).action("a", column(&|r| r.a));
    let log = log.propensity("p", vec![1.0 / 3.0; rows.len()]);
    let y = column(&outcome);
    match direction {
        Outcome::Reward => log.reward(name, y).build().unwrap(),
        Outcome::Cost => log.cost(name, y).build().unwrap(),
    }
}

fn parts(log: &Log) -> Parts {
    log.split(SplitRule::default()).unwrap()
}

/// Outcomes of the policy's own draws in fresh rows.
fn played(policy: &dyn TargetPolicy, of: impl Fn(&Row) -> f64) -> Vec<f64> {
    let act = |(i, r): (usize, Row)| of(&Row { a: policy.draw(&[r.x], 5, i as u64).0[0], ..r });
    rows(40_000, 99).into_iter().enumerate().map(act).collect()
}

fn mean(v: &[f64]) -> f64 {
    v.iter().sum::<f64>() / v.len() as f64
}

/// The mean of the lowest tenth.
fn worst(mut v: Vec<f64>) -> f64 {
    v.sort_by(f64::total_cmp);
    mean(&v[..v.len() / 10])
}

/// Sales grow with the action everywhere, refunds grow with it in half of the contexts.
fn sales(r: &Row) -> f64 {
    r.a + 0.8 * r.e[0]
}

fn refunds(r: &Row) -> f64 {
    1.0 + if r.x > 0.5 { 0.6 * r.a } else { 0.0 } + 0.5 * r.e[1]
}

fn learned(primary: &Parts, guards: &[(Guardrail, Log)], recipe: &str) -> Learned {
    let recipe = Recipe::from_toml(recipe).unwrap();
    let guards: Vec<Guarding> = guards.iter().map(|(guardrail, rows)| Guarding { guardrail, rows }).collect();
    Learner::new(&recipe).guards(&guards).learn_from(primary).unwrap()
}

/// The best policy raises refunds by a third; the one that is learned under the guardrail passes it and still gains a good part.
#[test]
fn a_policy_learned_under_a_guardrail_passes_it_and_still_gains() {
    for seed in 1..3 {
        let rows = rows(6000, seed);
        let primary = parts(&log(&rows, ("sales", Outcome::Reward), sales));
        let other = parts(&log(&rows, ("refunds", Outcome::Cost), refunds));
        let g: Guardrail = "refunds:max+5%".parse().unwrap();
        let both = Log::join(&[&other.train, &other.valid]).unwrap();
        let certified = |policy: &SavedPolicy| {
            let c = certify(policy, &primary.valid, &primary.test, &Terms::default()).unwrap();
            guard(c, policy, &[(g.clone(), &other.valid, &other.test)], &Terms::default()).unwrap()
        };
        let free = learned(&primary, &[], "");
        assert_eq!(certified(&free.policy).verdict, Verdict::Keep, "the best policy harms");
        let bound = learned(&primary, &[(g.clone(), both)], "");
        let guarded = certified(&bound.policy);
        assert_eq!(guarded.verdict, Verdict::Deploy, "{}\n{:?}", guarded.guardrails[0], bound.search.unwrap().notes);
        // the truth: the log sells 1.5 and has 1.45 refunds, 0.0725 more are let pass
        let (sold, refunded) = (mean(&played(&bound.policy, sales)), mean(&played(&bound.policy, refunds)));
        assert!(refunded < 1.45 + 0.0725, "{refunded}");
        assert!(sold > 1.5 + 0.4, "{sold}");
    }
}

/// A guardrail that nothing harms changes little, one of other rows is refused, and so is a recipe that knows none.
#[test]
fn guardrails_are_of_the_same_rows_and_of_greedy_policies() {
    let rows = rows(1500, 7);
    let primary = parts(&log(&rows, ("sales", Outcome::Reward), sales));
    let calm = parts(&log(&rows, ("calls", Outcome::Cost), |r| r.e[1]));
    let g: Guardrail = "calls:max+0.2".parse().unwrap();
    let calls = Log::join(&[&calm.train, &calm.valid]).unwrap();
    let bound = learned(&primary, &[(g.clone(), calls.clone())], "");
    assert!(mean(&played(&bound.policy, sales)) > 2.0);
    let refused = |recipe: &str, rows: &Log| {
        let recipe = Recipe::from_toml(recipe).unwrap();
        let guards = [Guarding { guardrail: &g, rows }];
        Learner::new(&recipe).guards(&guards).learn_from(&primary).unwrap_err().to_string()
    };
    assert!(refused("policy = \"linear\"", &calls).contains("greedy"));
    assert!(refused("", &calm.test).contains("not those that are learned from"));
    assert!(refused("", &primary.train).contains("guardrail \"calls\""));
}

/// High actions pay on average and lose much at times where x > 0.5: the mean and its worst tenth disagree there.
fn gamble(r: &Row) -> f64 {
    let stake = if r.x > 0.5 { 2.0 } else { 0.1 };
    r.a * (1.0 + stake * r.e[0]) + 0.1 * r.e[1]
}

#[test]
fn the_worst_outcomes_can_be_the_objective() {
    let rows = rows(8000, 3);
    let primary = parts(&log(&rows, ("pay", Outcome::Reward), gamble));
    let by_mean = learned(&primary, &[], "").policy;
    let found = learned(&primary, &[], "objective = \"cvar\"\ntail = 0.1");
    let by_tail = found.policy;
    let [mean_plays, tail_plays] = [&by_mean, &by_tail].map(|p| played(p, gamble));
    let logged: Vec<f64> = self::rows(40_000, 99).iter().map(gamble).collect();
    assert!(mean(&mean_plays) > mean(&tail_plays) + 0.2, "{} {}", mean(&mean_plays), mean(&tail_plays));
    let [of_mean, of_tail, of_log] = [mean_plays, tail_plays, logged].map(worst);
    assert!(of_tail > of_mean + 0.5 && of_tail > of_log + 0.5, "{of_tail} {of_mean} {of_log}");
    let notes = found.search.unwrap().notes;
    assert!(notes.iter().any(|n| n.contains("worst 10%")), "{notes:?}");
    // and what is estimated of the tail on test rows is the truth
    for (policy, truth) in [(&by_mean, of_mean), (&by_tail, of_tail)] {
        let tail = spread(policy, &primary.test, 0.1, 0.999).unwrap().tail;
        assert!(tail.holds(truth), "{truth} {tail:?}");
    }
}

/// What a model predicts of `steep` at a list of actions, as columns of the log.
const ASKED: [f64; 7] = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0];

/// A cost that our models cannot know from the contexts they see: its best action depends on a hidden number.
fn hidden(r: &Row) -> f64 {
    1.5 + 1.2 * r.e[0]
}

fn steep(r: &Row) -> f64 {
    (r.a - hidden(r)).abs() + 0.3 * r.e[1]
}

fn with_predictions(rows: &[Row], sign: f64, direction: Outcome) -> Log {
    let column = |f: &dyn Fn(&Row) -> f64| rows.iter().map(f).collect::<Vec<f64>>();
    let mut log = Log::builder().context("x", column(&|r| r.x));
    for a in ASKED {
        log = log.context(&format!("q_{a}"), column(&|r| sign * (a - hidden(r)).abs()));
    }
    let log = log.action("a", column(&|r| r.a)).propensity("p", vec![1.0 / 3.0; rows.len()]);
    let y = column(&|r| sign * steep(r));
    let log = match direction {
        Outcome::Cost => log.cost("y", y),
        Outcome::Reward => log.reward("y", y),
    };
    log.build().unwrap().with_predictions(&ASKED).unwrap()
}

/// The context of a row with its predictions.
fn wide(r: &Row, sign: f64) -> Vec<f64> {
    std::iter::once(r.x).chain(ASKED.map(|a| sign * (a - hidden(r)).abs())).collect()
}

#[test]
fn predictions_that_others_bring_are_a_model_among_ours() {
    let rows = rows(3000, 11);
    let cost = learned(&parts(&with_predictions(&rows, 1.0, Outcome::Cost)), &[], "");
    let far = |p: &SavedPolicy, sign: f64| {
        let off = |r: &Row| (p.mean(&wide(r, sign)).unwrap()[0] - hidden(r)).abs();
        mean(&self::rows(500, 12).iter().map(off).collect::<Vec<f64>>())
    };
    assert!(far(&cost.policy, 1.0) < 0.15, "{}", far(&cost.policy, 1.0));
    let notes = cost.search.as_ref().unwrap().notes.join("\n");
    assert!(notes.contains("predictions"), "{notes}");
    // rewards are costs with the other sign: the same policy
    let reward = learned(&parts(&with_predictions(&rows, -1.0, Outcome::Reward)), &[], "");
    for r in self::rows(20, 13) {
        let [a, b] = [(&cost.policy, 1.0), (&reward.policy, -1.0)].map(|(p, s)| p.mean(&wide(&r, s)).unwrap()[0]);
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
    // alone they are followed too, and the file says what it needs
    let alone = learned(&parts(&with_predictions(&rows, 1.0, Outcome::Cost)), &[], "models = \"predictions\"");
    assert!(far(&alone.policy, 1.0) < 0.15);
    let json = alone.policy.to_json();
    assert_eq!(alone.policy.predicted().len(), ASKED.len());
    assert_eq!(SavedPolicy::from_json(&json).unwrap(), alone.policy);
    let parts = parts(&with_predictions(&rows, 1.0, Outcome::Cost));
    let c = certify(&cost.policy, &parts.valid, &parts.test, &Terms::default()).unwrap();
    assert_eq!(c.verdict, Verdict::Deploy);
}

#[test]
fn predictions_are_refused_where_they_mean_nothing() {
    let rows = rows(800, 17);
    let primary = parts(&with_predictions(&rows, 1.0, Outcome::Cost));
    let refused = |recipe: &str, parts: &Parts| {
        let recipe = Recipe::from_toml(recipe).unwrap();
        Learner::new(&recipe).learn_from(parts).unwrap_err().to_string()
    };
    assert!(refused("objective = \"cvar\"", &primary).contains("not of its tail"));
    assert!(refused("policy = \"linear\"", &primary).contains("greedy"));
    let bare = parts(&log(&rows, ("y", Outcome::Cost), steep));
    assert!(refused("models = \"predictions\"", &bare).contains("no columns of predictions"));
    assert!(with_predictions(&rows, 1.0, Outcome::Cost).with_predictions(&[2.0, 1.0]).is_err());
}
