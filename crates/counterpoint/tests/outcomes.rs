//! Questions beyond the mean: distributions, what overturns a certificate, guardrails, monitors, plans.

#![allow(clippy::unwrap_used, missing_docs)]

use counterpoint::certify::{Guardrail, Method, Standing, Terms, Verdict, Watch, WatchTerms, certify, guard, spread};
use counterpoint::data::{Outcome, SplitRule};
use counterpoint::plan::{PlanTerms, plan};
use counterpoint::policy::Family;
use counterpoint::{Log, Policy, Source};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// Rows of a log that plays N(0, 1): actions, densities, and noise for outcomes.
struct World {
    a: Vec<f64>,
    p: Vec<f64>,
    e: Vec<f64>,
}

fn world(n: usize, seed: u64) -> World {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let (a, e): (Vec<f64>, Vec<f64>) = (0..n).map(|_| (normal(), normal())).unzip();
    let p = a.iter().map(|a| Family::Normal.log_density(*a, 0.0, 1.0).value.exp()).collect();
    World { a, p, e }
}

impl World {
    fn log(&self, name: &str, direction: Outcome, outcome: impl Fn(f64, f64) -> f64) -> Log {
        let y = self.a.iter().zip(&self.e).map(|(a, e)| outcome(*a, *e)).collect();
        let log = Log::builder().action("a", self.a.clone()).propensity("p", self.p.clone());
        let log = if direction == Outcome::Reward { log.reward(name, y) } else { log.cost(name, y) };
        log.build().unwrap()
    }
}

fn policy(mean: f64, std: f64) -> Policy {
    Policy::constant(Family::Normal, &[], &["a"], &[mean], &[std]).unwrap()
}

/// Reward a + e under N(.5, .8): its law is N(.5, 1.64), so quantiles and tail are known. 300 logs: four standard errors of a share of
/// .95 are .05.
#[test]
fn intervals_of_quantiles_and_of_the_tail_hold_the_truth() {
    let (mean, sd) = (0.5, 1.64f64.sqrt());
    // standard normal quantiles at .05, .25, .5, .75, .95, and the mean of the lowest tenth
    let truth = [-1.644854, -0.67449, 0.0, 0.67449, 1.644854].map(|z| mean + sd * z);
    let tail = mean - sd * 1.754983;
    let (logs, mut held) = (300, [0.0; 7]);
    for seed in 0..logs {
        let log = world(2000, seed).log("r", Outcome::Reward, |a, e| a + e);
        let s = spread(&policy(0.5, 0.8), &log, 0.1, 0.95).unwrap();
        let quantiles = s.quantiles.iter().zip(truth).map(|(q, t)| q.policy.holds(t));
        let logged = s.quantiles[4].logged.holds(2f64.sqrt() * 1.644854);
        let holds = quantiles.chain([s.tail.holds(tail), logged]);
        held.iter_mut().zip(holds).for_each(|(h, holds)| *h += f64::from(u8::from(holds)) / logs as f64);
    }
    assert!(held.iter().all(|h| *h > 0.90), "{held:?}");
}

/// The same numbers for a cost and for the reward that is its negative, seen from the other end.
#[test]
fn rewards_and_costs_have_one_distribution() {
    let w = world(1500, 3);
    let reward = spread(&policy(0.3, 0.9), &w.log("y", Outcome::Reward, |a, e| a + e), 0.2, 0.9).unwrap();
    let cost = spread(&policy(0.3, 0.9), &w.log("y", Outcome::Cost, |a, e| -a - e), 0.2, 0.9).unwrap();
    for (r, c) in reward.quantiles.iter().zip(cost.quantiles.iter().rev()) {
        assert_eq!(
            (r.policy.estimate, r.policy.lower, r.policy.upper),
            (-c.policy.estimate, -c.policy.upper, -c.policy.lower)
        );
    }
    assert_eq!((reward.tail.estimate, reward.tail.lower), (-cost.tail.estimate, -cost.tail.upper));
    // the worst fifth lies below what a quarter lies below
    assert!(reward.tail.estimate < reward.quantiles[1].policy.estimate);
}

fn certified(log: &Log, policy: &Policy) -> counterpoint::Certificate {
    let parts = log.split(SplitRule::default()).unwrap();
    certify(policy, &parts.valid, &parts.test, &Terms { bootstrap: 400, ..Terms::default() }).unwrap()
}

/// The verdict stands at a little less than G* and falls at a little more, recomputed row by row.
#[test]
fn the_factor_that_overturns_is_where_the_worst_gain_ends() {
    let log = world(6000, 5).log("r", Outcome::Reward, |a, e| a + e);
    let (better, parts) = (policy(0.5, 0.8), log.split(SplitRule::default()).unwrap());
    let c = certified(&log, &better);
    assert_eq!(c.verdict, Verdict::Deploy, "{c}");
    let o = c.overturn.as_ref().unwrap();
    let g = o.factor.unwrap();
    let rows: Vec<(f64, f64)> = parts
        .test
        .blocks()
        .iter()
        .flat_map(|b| {
            (0..b.rows()).map(|i| {
                let w = (Family::Normal.log_density(b.a[0][i], 0.5, 0.8).value - b.log_p[i]).exp();
                (w, -b.y[i])
            })
        })
        .collect();
    // the smallest mean reward: low rewards count g times, high ones 1 / g times
    let worst = |g: f64| {
        let (mut low, mut high) = (-20.0, 20.0);
        for _ in 0..100 {
            let v = 0.5 * (low + high);
            let pull: f64 = rows.iter().map(|(w, r)| w * (if *r < v { g } else { 1.0 / g }) * (r - v)).sum();
            if pull > 0.0 { low = v } else { high = v }
        }
        low
    };
    let left = |g: f64| c.difference.lower + worst(g) - worst(1.0);
    assert!(g > 1.01 && left(g * 0.999) > 0.0 && left(g * 1.001) < 0.0, "{g} {} {}", left(g * 0.999), left(g * 1.001));
    assert!(o.shift.unwrap() > 0.0 && o.half_becomes().unwrap() > 0.5);
    assert!(o.heaviest.holds && (o.heaviest.share - 0.01).abs() < 0.005, "{o:?}");
    assert!(o.to_string().contains("within a factor of"), "{o}");
    // nothing to overturn where nothing is deployed; and certificates of before load
    let worse = certified(&log, &policy(-0.5, 0.8));
    assert_eq!(worse.overturn.as_ref().unwrap().factor, None);
    let mut old = serde_json::to_value(&c).unwrap();
    old.as_object_mut().unwrap().remove("overturn");
    assert_eq!(serde_json::from_value::<counterpoint::Certificate>(old).unwrap().overturn, None);
}

#[test]
fn a_guardrail_that_is_not_shown_keeps_the_policy_back() {
    let w = world(8000, 8);
    let rule = SplitRule::default();
    let log = w.log("r", Outcome::Reward, |a, e| a + e);
    let (terms, better) = (Terms { bootstrap: 400, ..Terms::default() }, policy(0.4, 0.9));
    let c = certified(&log, &better);
    assert_eq!(c.verdict, Verdict::Deploy);
    let guarded = |text: &str, of: fn(f64, f64) -> f64| {
        let g: Guardrail = text.parse().unwrap();
        let parts = w.log(&g.column, g.direction, of).split(rule).unwrap();
        let sources: (&dyn Source, &dyn Source) = (&parts.valid, &parts.test);
        guard(c.clone(), &better, &[(g, sources.0, sources.1)], &terms).unwrap()
    };
    // complaints have nothing to do with the action: no harm is shown to be below 30% of them, but not below .1%
    let complaints = |_: f64, e: f64| f64::from(u8::from((7.0 * e).fract().abs() < 0.4));
    assert_eq!(guarded("complaints:max+30%", complaints).verdict, Verdict::Deploy);
    let strict = guarded("complaints:max+0.1%", complaints);
    assert!(strict.verdict == Verdict::Keep && !strict.guardrails[0].holds, "{}", strict.guardrails[0]);
    // a margin that is really broken, in both directions
    assert_eq!(guarded("load:max+0.1", |a, e| a + e).verdict, Verdict::Keep);
    assert_eq!(guarded("rest:min-0.1", |a, e| e - a).verdict, Verdict::Keep);
    assert_eq!(guarded("rest:min-0.9", |a, e| e - a).verdict, Verdict::Deploy);
}

/// A guardrail whose harm equals its margin passes in at most delta / 2 of logs: .025, and four standard errors over 300 logs are .036.
#[test]
fn harm_at_the_margin_hardly_ever_passes() {
    let terms = Terms { interval: Method::Normal, ..Terms::default() };
    let (logs, better, mut passed) = (300, policy(0.4, 0.9), 0);
    for seed in 0..logs {
        let w = world(3000, 500 + seed);
        let primary = certified(&w.log("r", Outcome::Reward, |a, e| a + e), &better);
        // under the policy the mean load is .4 higher: exactly the margin
        let parts = w.log("load", Outcome::Cost, |a, e| a + e).split(SplitRule::default()).unwrap();
        let g: Guardrail = "load:max+0.4".parse().unwrap();
        passed += usize::from(
            guard(primary, &better, &[(g, &parts.valid, &parts.test)], &terms).unwrap().guardrails[0].holds,
        );
    }
    assert!((passed as f64) < (0.025 + 0.036) * logs as f64, "{passed} of {logs}");
}

/// Rewards 0 and 1 with probability depending on the action.
fn coins(w: &World, gain: f64) -> Log {
    w.log("r", Outcome::Reward, |a, e| {
        f64::from(u8::from(Family::Normal.cdf(e, 0.0, 1.0).value < 0.5 + gain * a.clamp(-1.0, 1.0)))
    })
}

fn watch_terms(against: Option<f64>) -> WatchTerms {
    WatchTerms { confidence: 0.9, outcome_range: [0.0, 1.0], against }
}

/// Without a difference, batches of any number of looks end in a verdict in at most .1 of 200 runs, and four standard errors more.
#[test]
fn a_monitor_may_be_looked_at_after_every_batch() {
    let (runs, p, mut wrong) = (200, policy(0.3, 0.9), 0);
    for seed in 0..runs {
        let first = coins(&world(100, 7000 + 40 * seed), 0.0);
        let mut watch = Watch::new(&p, &first, watch_terms(None)).unwrap();
        let looks = (0..20).map(|b| watch.fold(&p, &coins(&world(100, 7000 + 40 * seed + b), 0.0)).unwrap().standing);
        wrong += usize::from(looks.filter(|s| *s != Standing::Undecided).count() > 0);
    }
    assert!((wrong as f64) < (0.1 + 0.085) * runs as f64, "{wrong} of {runs}");
}

#[test]
fn a_monitor_finds_gains_and_harm_resumes_and_merges() {
    let p = policy(0.5, 0.8);
    let batch = |seed: u64, gain: f64| coins(&world(2000, seed), gain);
    let mut better = Watch::new(&p, &batch(0, 0.4), watch_terms(None)).unwrap();
    let mut worse = better.clone();
    for b in 0..4 {
        better.fold(&p, &batch(b, 0.4)).unwrap();
        worse.fold(&p, &batch(b, -0.4)).unwrap();
    }
    assert_eq!((better.look().standing, worse.look().standing), (Standing::Better, Standing::Worse));
    // the same rows in another order and cut otherwise are the same sums
    let (mut north, mut south) = (Watch::new(&p, &batch(0, 0.4), watch_terms(None)).unwrap(), better.clone());
    for b in 2..4 {
        north.fold(&p, &batch(b, 0.4)).unwrap();
    }
    assert!(south.merge(&north).is_err(), "batches 2 and 3 are in both");
    south = Watch::new(&p, &batch(0, 0.4), watch_terms(None)).unwrap();
    for b in 0..2 {
        south.fold(&p, &batch(b, 0.4)).unwrap();
    }
    let merged = south.merge(&north).unwrap();
    let (a, b) = (merged.difference, better.look().difference);
    assert!((a[0] - b[0]).abs() < 1e-9 && (a[1] - b[1]).abs() < 1e-9 && merged.rows == 8000);
    // rows that were seen: all, or half of them
    assert!(better.fold(&p, &batch(3, 0.4)).is_err());
    let half = Log::join(&[&batch(3, 0.4), &batch(9, 0.4)]).unwrap();
    let e = better.fold(&p, &half).unwrap_err().to_string();
    assert!(e.contains("folded in before"), "{e}");
    assert_eq!(better.look().rows, 8000, "a refused batch leaves no trace");
    // other policies, outcomes and ranges are refused
    assert!(better.fold(&policy(0.6, 0.8), &batch(20, 0.4)).is_err());
    assert!(better.fold(&p, &world(50, 1).log("r", Outcome::Reward, |_, _| 2.0)).is_err());
    assert!(better.fold(&p, &world(50, 1).log("other", Outcome::Reward, |_, _| 1.0)).is_err());
}

#[test]
fn a_damaged_state_is_refused() {
    let p = policy(0.5, 0.8);
    let log = coins(&world(300, 1), 0.4);
    let mut watch = Watch::new(&p, &log, watch_terms(Some(0.5))).unwrap();
    watch.fold(&p, &log).unwrap();
    let text = watch.to_json();
    assert_eq!(Watch::from_json(&text).unwrap(), watch);
    // digits that are changed anywhere in the state
    let at: Vec<usize> = text.char_indices().filter(|(_, c)| c.is_ascii_digit()).map(|(i, _)| i).collect();
    for i in at.iter().step_by(at.len() / 60) {
        let mut bytes = text.clone().into_bytes();
        bytes[*i] = if bytes[*i] == b'7' { b'3' } else { b'7' };
        let changed = String::from_utf8(bytes).unwrap();
        match Watch::from_json(&changed) {
            Err(e) => assert!(!e.to_string().is_empty()),
            Ok(read) => assert_eq!(read, watch, "{}", &changed[i.saturating_sub(40)..i + 10]), // the last digit of a number too long
        }
    }
    assert!(Watch::from_json("{}").is_err() && Watch::from_json("").is_err());
    assert!(
        Watch::from_json(&text.replace("\"version\":1", "\"version\":2"))
            .unwrap_err()
            .to_string()
            .contains("version 2")
    );
}

/// Rows of the policy itself have weight 1: they are compared with a number.
#[test]
fn rows_of_the_deployed_policy_are_compared_with_a_number() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let n = 3000;
    let (p, mut rows) = (policy(0.5, 0.8), [vec![], vec![], vec![]]);
    for _ in 0..n {
        let z: f64 = StandardNormal.sample(&mut rng);
        let a = 0.5 + 0.8 * z;
        let r = f64::from(u8::from(rng.random::<f64>() < 0.7));
        [a, r, Family::Normal.log_density(a, 0.5, 0.8).value.exp()].iter().zip(&mut rows).for_each(|(v, c)| c.push(*v));
    }
    let [a, r, density] = rows;
    let log = Log::builder().action("a", a).reward("r", r).propensity("p", density).build().unwrap();
    for (against, expected) in
        [(Some(0.6), Standing::Better), (Some(0.8), Standing::Worse), (None, Standing::Undecided)]
    {
        let mut watch = Watch::new(&p, &log, watch_terms(against)).unwrap();
        assert_eq!(watch.fold(&p, &log).unwrap().standing, expected, "{watch}");
        assert!(watch.has_own_rows_only());
    }
}

/// A plan for a power of .8 is kept: over 200 logs of the planned size the gain is found in .8, and four standard errors are .113.
#[test]
fn the_planned_rows_find_the_gain_with_the_planned_power() {
    let p = policy(0.3, 0.9);
    let outcome = |a: f64, e: f64| 0.15 * a + e;
    let gain = 0.15 * 0.3;
    let terms = PlanTerms { gain: Some(gain), ..PlanTerms::default() };
    let planned = plan(&world(20_000, 1).log("r", Outcome::Reward, outcome), Some(&p), &terms).unwrap();
    let needs = planned.policy.unwrap();
    let (rows, logs) = (needs.test_rows as usize, 200);
    let certificate = Terms { interval: Method::Normal, ..Terms::default() };
    let found = (0..logs).filter(|seed| {
        let log = world(4 * rows, 50_000 + seed).log("r", Outcome::Reward, outcome);
        let parts = log.split(SplitRule::default()).unwrap();
        certify(&p, &parts.valid, &parts.test, &certificate).unwrap().difference.lower > 0.0
    });
    let share = found.count() as f64 / logs as f64;
    assert!((share - 0.8).abs() < 0.113, "{share} with {rows} test rows");
    assert!(planned.to_string().contains("this policy needs"));
    assert!(plan(&world(100, 1).log("r", Outcome::Reward, |_, _| 1.0), None, &PlanTerms::default()).is_err());
}
