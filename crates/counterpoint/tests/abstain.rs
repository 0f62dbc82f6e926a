//! A policy that goes where the log never was, and the one that abstains there.

#![allow(clippy::unwrap_used, missing_docs)]

use counterpoint::certify::{Terms, Verdict, abstain, certify};
use counterpoint::data::{Parts, SplitRule};
use counterpoint::features::{ContextMap, Scaler};
use counterpoint::policy::{Columns, Family, Noise, Rule, RulePolicy, SavedPolicy, TargetPolicy};
use counterpoint::portfolio::logging_policy;
use counterpoint::{Log, Policy};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// x uniform on (-1, 1), a ~ N(x, .4). The reward falls with (a - x - .3)^2, and by 2 more beyond x + 1.6, where no row is.
fn reward(x: f64, a: f64) -> f64 {
    1.0 - (a - x - 0.3).powi(2) - if a > x + 1.6 { 2.0 } else { 0.0 }
}

fn log(n: usize, seed: u64) -> Log {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut x, mut a, mut r, mut p) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..n {
        let (at, z, e): (f64, f64, f64) =
            (2.0 * rng.random::<f64>() - 1.0, StandardNormal.sample(&mut rng), StandardNormal.sample(&mut rng));
        let action = at + 0.4 * z;
        x.push(at);
        a.push(action);
        r.push(reward(at, action) + 0.1 * e);
        p.push(Family::Normal.log_density(action, at, 0.4).value.exp());
    }
    Log::builder().context("x", x).action("a", a).reward("r", r).propensity("p", p).build().unwrap()
}

/// 1.6 x^3 + x + .25: near the best action in the middle, where the log never was at the ends.
fn new() -> SavedPolicy {
    RulePolicy {
        columns: Columns::named(&["x"], &["a"]),
        scaler: Scaler::identity(1),
        rule: Rule::Linear { map: ContextMap::Cubic, w: vec![1.6, 0.0, 1.0, 0.25], range: None },
        noise: Some(Noise::normal(0.25)),
    }
    .into()
}

fn mean(x: f64) -> f64 {
    1.6 * x.powi(3) + x + 0.25
}

fn logging() -> SavedPolicy {
    RulePolicy {
        columns: Columns::named(&["x"], &["a"]),
        scaler: Scaler::identity(1),
        rule: Rule::Linear { map: ContextMap::Linear, w: vec![1.0, 0.0], range: None },
        noise: Some(Noise::normal(0.4)),
    }
    .into()
}

/// Means over x of the expected reward, 200,000 draws: the error of the mean is below .005.
fn truth(policy: &SavedPolicy) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let n = 200_000;
    let one = |rng: &mut ChaCha8Rng| {
        let x = 2.0 * rng.random::<f64>() - 1.0;
        reward(x, policy.sample(&[x], rng)[0])
    };
    (0..n).map(|_| one(&mut rng)).sum::<f64>() / f64::from(n)
}

fn parts(n: usize, seed: u64) -> Parts {
    log(n, seed).split(SplitRule::default()).unwrap()
}

#[test]
fn the_policy_that_abstains_is_certified_where_the_other_is_not() {
    let (new, log) = (new(), parts(12_000, 1));
    assert!((new.mean(&[0.9]).unwrap()[0] - mean(0.9)).abs() < 1e-9);
    let plain = certify(&new, &log.valid, &log.test, &Terms::default()).unwrap();
    assert_ne!(plain.verdict, Verdict::Deploy, "{plain}");
    let fitted = SavedPolicy::from(logging_policy(&log.train, 0).unwrap());
    for logging in [logging(), fitted] {
        let found = abstain(&new, &logging, &log.valid).unwrap();
        // 1.6 x^3 is beyond .4 * 3.29 - .25 * 1.64 - .25 = .65 from x = .74 on, below -(.4 * 3.29 - .41 + .25) from x = -.9 on
        assert!(found.share > 0.1 && found.share < 0.3, "{found}");
        assert!(found.contexts.iter().any(|c| c.starts_with("x > 0.")), "{found}");
        let careful = SavedPolicy::from(found.policy.clone());
        let again = SavedPolicy::from_json(&careful.to_json()).unwrap();
        let c = certify(&again, &log.valid, &log.test, &Terms::default()).unwrap();
        assert_eq!(c.verdict, Verdict::Deploy, "{c}");
        let value = truth(&careful);
        // five standard errors, and those of the truth
        assert!((c.value.estimate - value).abs() < 5.0 * c.value.std_error + 0.01, "{} {value}", c.value.estimate);
        assert!(value > truth(&new), "abstaining is worth something here");
    }
}

#[test]
fn a_policy_that_abstains_does_one_or_the_other_thing_row_by_row() {
    let (new, old, log) = (new(), logging(), parts(4000, 2));
    let policy = abstain(&new, &old, &log.valid).unwrap().policy;
    let (mut seen, block) = ([0, 0], &log.test.blocks()[0]);
    let (mut densities, mut x) = (Vec::new(), vec![0.0]);
    policy.log_densities(block, &mut densities);
    for i in 0..block.rows() {
        block.context(i, &mut x);
        let a = [block.a[0][i]];
        let acting = if policy.acts(&x) { &new } else { &old };
        seen[usize::from(policy.acts(&x))] += 1;
        assert_eq!(densities[i], acting.log_density(&x, &a));
        assert_eq!(policy.log_density(&x, &a), acting.log_density(&x, &a));
        assert_eq!(policy.mean(&x), acting.mean(&x));
        assert_eq!(policy.draw(&x, 3, i as u64), acting.draw(&x, 3, i as u64));
    }
    assert!(seen[0] > 20 && seen[1] > 100, "{seen:?}");
}

#[test]
fn a_supported_policy_never_abstains_and_a_wrong_logging_policy_is_refused() {
    let log = parts(4000, 3);
    let found = abstain(&logging(), &logging(), &log.valid).unwrap();
    assert_eq!(found.share, 0.0);
    assert!(found.to_string().contains("nowhere"));
    let other = Policy::constant(Family::Normal, &["z"], &["a"], &[0.0], &[1.0]).unwrap();
    assert!(abstain(&new(), &other.into(), &log.valid).unwrap_err().to_string().contains("columns"));
}
