//! Gains segment by segment, all of them held to account together.

#![allow(clippy::unwrap_used, missing_docs)]

use counterpoint::certify::{Finding, Method, Terms, segments};
use counterpoint::data::SplitRule;
use counterpoint::policy::Family;
use counterpoint::{Log, Policy};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

const ROWS: usize = 4000;

/// Actions by N(0, 1), their densities, and a reward of effect * a for one group and -effect * a for the other, with noise.
fn log(seed: u64, effect: f64) -> Log {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let (a, e): (Vec<f64>, Vec<f64>) = (0..ROWS).map(|_| (normal(), normal())).unzip();
    let sign = |i: usize| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
    let p = a.iter().map(|a| Family::Normal.log_density(*a, 0.0, 1.0).value.exp()).collect();
    let y = (0..ROWS).map(|i| effect * sign(i) * a[i] + e[i]).collect();
    Log::builder()
        .context("x", (0..ROWS).map(|i| f64::from(i as u32 % 97)).collect())
        .category("group", (0..ROWS).map(|i| ["up", "down"][i % 2].to_string()).collect())
        .action("a", a)
        .reward("r", y)
        .propensity("p", p)
        .build()
        .unwrap()
}

/// Reward 0.8 a z + e with a category z in {-1, 1}: a policy that plays higher is better for one group and worse for the other, and as
/// good as the log overall. Without any effect all segments together are called something in at most .05 of logs.
#[test]
fn segments_tell_who_gains_and_who_loses() {
    let p = Policy::constant(Family::Normal, &["x", "group=down", "group=up"], &["a"], &[0.4], &[0.9]).unwrap();
    let terms = Terms { interval: Method::Normal, ..Terms::default() };
    let found = |seed: u64, effect: f64, by: &str| {
        let parts = log(seed, effect).split(SplitRule::default()).unwrap();
        segments(&p, &parts.valid, &parts.test, by, &terms).unwrap()
    };
    let by_group = found(1, 0.8, "group");
    let of = |name: &str| by_group.segments.iter().find(|s| s.name == name).unwrap().finding.clone();
    assert_eq!((of("group = up"), of("group = down")), (Finding::Better, Finding::Worse), "{by_group}");
    let by_x = found(1, 0.8, "x");
    assert_eq!(by_x.segments.len(), 4);
    let rows: f64 = by_x.segments.iter().map(|s| s.rows).sum();
    assert!((900.0..1100.0).contains(&rows), "every test row is in one segment: {rows}");
    // .05, and four standard errors over 150 logs are .07
    let said = (0..150).filter(|s| {
        let segments = found(200 + s, 0.0, "x").segments;
        segments.iter().any(|s| matches!(s.finding, Finding::Better | Finding::Worse))
    });
    let said = said.count();
    assert!((said as f64) < (0.05 + 0.07) * 150.0, "{said} of 150");
    let parts = log(1, 0.0).split(SplitRule::default()).unwrap();
    let e = segments(&p, &parts.valid, &parts.test, "nobody", &terms).unwrap_err().to_string();
    assert!(e.contains("there is no context \"nobody\""), "{e}");
}
