//! What a report shows: the right figures, on the user's scale, as data that can be written and read again.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "support/mod.rs"]
mod support;

use counterpoint::certify::{Certificate, Terms, certify};
use counterpoint::data::{Outcome, Parts, SplitRule};
use counterpoint::explain::*;
use counterpoint::features::Scaler;
use counterpoint::policy::{Family, TargetPolicy};
use counterpoint::{Engine, Log, Policy, describe};
use rand::{Rng, RngExt};
use support::u;

const ROWS: usize = 4000;

/// Uniform actions on (0, 4); the best action is 1 + x, and one more on a large device; z says nothing.
fn log(direction: Outcome) -> Log {
    let column = |j: usize| (0..ROWS).map(|i| u(i, j)).collect::<Vec<f64>>();
    let (x, z, a) = (column(0), column(1), column(2).into_iter().map(|v| 4.0 * v).collect::<Vec<f64>>());
    let large: Vec<bool> = column(3).iter().map(|v| *v < 0.3).collect();
    let best = |i: usize| 1.0 + x[i] + if large[i] { 1.0 } else { 0.0 };
    let reward: Vec<f64> = (0..ROWS).map(|i| 2.0 - (a[i] - best(i)).abs()).collect();
    let words = large.iter().map(|l| if *l { "large" } else { "small" }.to_string()).collect();
    let b = Log::builder().context("z", z).context("x", x).category("device", words).action("dose", a);
    let b = match direction {
        Outcome::Reward => b.reward("gain", reward),
        Outcome::Cost => b.cost("loss", reward.iter().map(|r| -r).collect()),
    };
    b.propensity("density", vec![0.25; ROWS]).build().unwrap()
}

/// Normal around the best action: mean 1 + x + 1{large}, std 0.5.
fn policy(log: &Log) -> Policy {
    let schema = log.schema();
    let slope = |name: &String| match name.as_str() {
        "x" => 1.0,
        name if name.contains("large") => 1.0,
        _ => 0.0,
    };
    let theta = schema.contexts.iter().map(slope).chain([1.0]).collect();
    let scaler = Scaler { shift: vec![0.0; log.d()], unit: vec![1.0; log.d()] };
    Policy { theta, scaler, inputs: schema.inputs.clone(), ..support::policy("linear", Family::Normal, None, log) }
}

struct Story {
    engine: Engine,
    parts: Parts,
    policy: Policy,
    certificate: Certificate,
}

fn story(direction: Outcome, threads: usize) -> (Log, Story) {
    let log = log(direction);
    let engine = Engine::new(threads).unwrap();
    let parts = log.split(SplitRule::default()).unwrap();
    let policy = policy(&log);
    let terms = Terms { bootstrap: 200, ..Terms::default() };
    let certificate = certify(&policy, &parts.valid.on(&engine), &parts.test.on(&engine), &terms).unwrap();
    (log, Story { engine, parts, policy, certificate })
}

fn report(log: &Log, s: &Story) -> PolicyReport {
    explain_policy(&Evidence {
        engine: &s.engine,
        log,
        parts: &s.parts,
        policy: &s.policy,
        certificate: &s.certificate,
        recipe: None,
        selected: None,
        name: "a log".into(),
        split: "by a hash".into(),
        seed: 3,
        detail: Detail::Aggregates,
    })
    .unwrap()
}

#[test]
fn partial_dependence_finds_what_moves_the_policy() {
    let (_, s) = story(Outcome::Reward, 1);
    let found = dependence(&s.parts.train, &s.policy, Detail::Rows);
    let of = |name: &str| found.iter().find(|d| d.context == name).unwrap();
    assert!(of("z").importance < 1e-12 && of("x").importance > 0.2 && of("device").importance > 0.2);
    assert!(found.windows(2).all(|w| w[0].importance >= w[1].importance));
    // the mean is linear in x, so its partial dependence is a line with the same slope in every row
    let Shape::Numeric { rows, curve } = &of("x").shape else { panic!("x is a number") };
    let slope = |i: usize| (curve[i + 1].mean - curve[i].mean) / (curve[i + 1].x - curve[i].x);
    assert!((0..curve.len() - 1).all(|i| (slope(i) - 1.0).abs() < 1e-6));
    assert!(curve.iter().all(|p| p.lower <= p.mean && p.mean <= p.upper));
    assert!(rows.len() > 200 && rows.iter().all(|r| (0.0..1.0).contains(&r[0])));
    // the slope is 1, so importance is the std of nine even quantiles of a uniform x: sqrt(20/3) / 9
    let expected = (20.0f64 / 3.0).sqrt() / 9.0;
    assert!((of("x").importance - expected).abs() < 0.1 * expected, "{} {expected}", of("x").importance);
    let Shape::Categorical { levels } = &of("device").shape else { panic!("device is a category") };
    let level = |name: &str| levels.iter().find(|l| l.name == name).unwrap();
    assert!((level("large").mean - level("small").mean - 1.0).abs() < 1e-9);
    // two levels, a share p of them large: the std of the mean is sqrt(p (1 - p))
    let p = level("large").rows / rows.len() as f64;
    assert!((of("device").importance - (p * (1.0 - p)).sqrt()).abs() < 1e-9);
    assert_eq!(levels.iter().map(|l| l.rows).sum::<f64>(), rows.len() as f64);
}

/// No context of a row is in the report, nor in its JSON: only means of ten rows and more.
#[test]
fn a_report_shows_no_row_unless_it_is_told_to() {
    let (log, s) = story(Outcome::Reward, 1);
    let contexts: std::collections::BTreeSet<u64> =
        log.blocks().iter().flat_map(|b| b.x[0].iter().map(|v| v.to_bits())).collect();
    let told = |detail: Detail| {
        let shapes = dependence(&s.parts.train, &s.policy, detail);
        let points = shapes.into_iter().filter_map(|d| match d.shape {
            Shape::Numeric { rows, .. } => Some(rows),
            Shape::Categorical { .. } => None,
        });
        points.flatten().filter(|p| contexts.contains(&p[0].to_bits())).count()
    };
    assert_eq!(told(Detail::Aggregates), 0);
    assert!(told(Detail::Rows) > 200);
    let r = report(&log, &s);
    let curves = r.predictions.as_ref().unwrap();
    assert!(curves.curves.iter().all(|c| c.context.contains("about")), "{curves:?}");
    for h in r.weights.iter().filter_map(|w| w.histogram.as_ref()).chain(r.actions.iter().map(|a| &a.logged)) {
        assert!(h.below == 0.0 || h.below >= FEWEST as f64);
        assert!(h.total() >= FEWEST as f64);
    }
}

/// The decision to deploy is good news; what is missing or assumed never is.
#[test]
fn reasons_have_a_standing_of_their_own() {
    let (log, s) = story(Outcome::Reward, 1);
    let mut certificate = s.certificate.clone();
    certificate.reasons.push("no guarantee: every outcome is the same, and no range of outcomes was stated".into());
    let s = Story { certificate, ..s };
    let ruling = report(&log, &s).verdict.unwrap();
    let of = |start: &str| ruling.reasons.iter().find(|r| r.text.contains(start)).unwrap().standing;
    assert_eq!(of("no guarantee"), Standing::Note);
    assert_eq!(of("the policy earns"), Standing::Good);
    assert_eq!(of("within a factor"), Standing::Note);
}

#[test]
fn histograms_hold_every_row() {
    let (_, s) = story(Outcome::Reward, 1);
    let valid = s.parts.valid.rows() as f64;
    assert_eq!(weight_histogram(&s.engine, &s.parts.valid, &s.policy).unwrap().total(), valid);
    let actions = action_histograms(&s.parts.valid, Some(&s.policy), 1);
    let dose = &actions[0];
    assert_eq!((dose.logged.total(), dose.policy.as_ref().unwrap().total()), (valid, valid));
    // the log is even over (0, 4), the policy is not
    let largest = |h: &Histogram| h.counts.iter().fold(0.0f64, |m, c| m.max(*c)) / h.total();
    assert!(largest(&dose.logged) < 0.04 && largest(dose.policy.as_ref().unwrap()) > 0.03);
}

#[test]
fn predicted_outcomes_peak_where_the_reward_does() {
    let (log, s) = story(Outcome::Reward, 1);
    let curves = report(&log, &s).predictions.unwrap();
    assert_eq!((curves.action.as_str(), curves.curves.len()), ("dose", 3));
    for c in &curves.curves {
        let best = c.points.iter().fold([0.0, f64::NEG_INFINITY], |m, p| if p[1] > m[1] { *p } else { m });
        assert!((0.7..3.3).contains(&best[0]), "{best:?}");
        assert!((best[0] - c.mean).abs() < 0.5, "the policy is at {}, the peak at {}", c.mean, best[0]);
    }
}

#[test]
fn figures_are_on_the_users_scale() {
    let (gain_log, gain) = story(Outcome::Reward, 1);
    let (loss_log, loss) = story(Outcome::Cost, 1);
    let (gain, loss) = (report(&gain_log, &gain), report(&loss_log, &loss));
    assert_eq!((gain.outcome.direction, loss.outcome.direction), (Outcome::Reward, Outcome::Cost));
    let (g, l) = (gain.lift.unwrap(), loss.lift.unwrap());
    assert!(g.difference.lower > 0.0 && l.difference.upper < 0.0);
    for (g, l) in [(g.log, l.log), (g.policy, l.policy), (g.difference, l.difference)] {
        assert!((g.estimate + l.estimate).abs() < 1e-9 && (g.lower + l.upper).abs() < 1e-9);
    }
    let (g, l) = (gain.estimators.unwrap(), loss.estimators.unwrap());
    assert!((g.logged.estimate + l.logged.estimate).abs() < 1e-9);
    for (g, l) in g.estimators.iter().zip(&l.estimators) {
        assert_eq!((&g.name, g.answer.is_some()), (&l.name, l.answer.is_some()));
        if let (Some(g), Some(l)) = (g.answer, l.answer) {
            assert!((g.estimate + l.estimate).abs() < 1e-6 && g.lower <= g.estimate && g.estimate <= g.upper);
        }
    }
    let answered = g.estimators.iter().filter(|e| e.answer.is_some()).count();
    assert!(answered >= 8, "a loss model is fitted, so that doubly robust estimates answer too: {answered}");
    let (g, l) = (gain.predictions.unwrap(), loss.predictions.unwrap());
    assert!((g.curves[0].points[9][1] + l.curves[0].points[9][1]).abs() < 1e-6);
}

#[test]
fn a_report_is_data_and_does_not_depend_on_threads() {
    let (log, one) = story(Outcome::Reward, 1);
    let (_, three) = story(Outcome::Reward, 3);
    let (one, three) = (report(&log, &one), report(&log, &three));
    assert_eq!(one, three);
    let text = serde_json::to_string(&one).unwrap();
    assert_eq!(serde_json::from_str::<PolicyReport>(&text).unwrap(), one);
    assert_eq!(one.weights.iter().map(|w| w.floor.is_some()).collect::<Vec<_>>(), [true, false]);
    let verdict = one.verdict.unwrap();
    // the decision is good news; what would overturn it is worth knowing
    assert_eq!(verdict.reasons[0].standing, Standing::Good, "{verdict:?}");
    assert!(
        verdict.reasons.len() > 3 && verdict.reasons[1..].iter().all(|r| r.standing == Standing::Note),
        "{verdict:?}"
    );
}

#[test]
fn a_log_is_described_on_the_users_scale() {
    let log = log(Outcome::Reward);
    let facts = describe(&log).unwrap();
    let r = explain_log(&log, "a log", &facts);
    assert!((r.mean.estimate - facts.outcome.mean).abs() < 1e-12 && r.mean.lower < r.mean.upper);
    assert_eq!((r.outcomes.total(), r.propensities.histogram.total()), (ROWS as f64, ROWS as f64));
    assert_eq!((r.contexts, r.columns.len(), r.actions.len()), (facts.contexts.len(), facts.contexts.len() + 2, 1));
    assert!(r.propensities.integral.holds(1.0) && r.propensities.plausible && r.actions[0].policy.is_none());
    let text = serde_json::to_string(&r).unwrap();
    assert_eq!(serde_json::from_str::<LogReport>(&text).unwrap(), r);
}

/// Even on (0.5, 3.5), known by its two methods and nothing else.
struct Even;

impl TargetPolicy for Even {
    fn log_density(&self, _: &[f64], a: &[f64]) -> f64 {
        if (0.5..3.5).contains(&a[0]) { -(3.0f64.ln()) } else { f64::NEG_INFINITY }
    }

    fn sample(&self, _: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
        vec![0.5 + 3.0 * rng.random::<f64>()]
    }
}

#[test]
fn a_policy_of_two_methods_shows_what_it_can() {
    let log = log(Outcome::Reward);
    let parts = log.split(SplitRule::default()).unwrap();
    let engine = Engine::single();
    let terms = Terms { bootstrap: 200, ..Terms::default() };
    let certificate = certify(&Even, &parts.valid, &parts.test, &terms).unwrap();
    let r = explain_policy(&Evidence {
        engine: &engine,
        log: &log,
        parts: &parts,
        policy: &Even,
        certificate: &certificate,
        recipe: None,
        selected: None,
        name: "a log".into(),
        split: "by a hash".into(),
        seed: 3,
        detail: Detail::Aggregates,
    })
    .unwrap();
    // no mean: no partial dependence and no curves; the rest is there
    assert!(r.contexts.is_empty() && r.predictions.is_none());
    assert!(r.lift.is_some() && r.verdict.is_some() && r.weights.len() == 2);
    // weights are 4/3 or 0: three quarters of the rows have the one
    let h = r.weights[0].histogram.as_ref().unwrap();
    assert!((h.below / h.total() - 0.25).abs() < 0.07, "{}", h.below / h.total());
    let drawn = r.actions[0].policy.as_ref().unwrap();
    assert_eq!(drawn.total(), parts.valid.rows() as f64);
    assert!(drawn.bins().all(|(low, high, mass)| mass == 0.0 || (high > 0.5 && low < 3.5)));
}

/// Probabilities of price points, densities that stop at bounds, and a log that keeps near its rule are as they should be; half of the densities, or a
/// hundred times as much, is not.
#[test]
fn propensities_are_held_against_what_they_may_be() {
    let n = 4000u64;
    let even = |column: usize, i: u64| u(i as usize, column);
    let (from, to) = (0.25, 0.75);
    type Way<'a> = (&'a str, &'a dyn Fn(u64) -> (f64, f64));
    let ways: [Way; 4] = [
        ("even", &|i| (even(1, i), 1.0)),
        ("price points", &|i| ((even(1, i) * 5.0).floor() * 3.0 + 9.0, 0.2)),
        ("bounds", &|i| {
            let a = even(1, i).clamp(from, to);
            (a, if a > from && a < to { 1.0 } else { 0.25 })
        }),
        ("a rule", &|i| (4.0 * even(2, i) + even(1, i), 1.0)),
    ];
    for (name, way) in ways {
        let plausible = |factor: f64| {
            let rows: Vec<(f64, f64)> = (0..n).map(way).collect();
            let log = Log::builder().context("x", (0..n).map(|i| even(2, i)).collect());
            let log =
                log.action("a", rows.iter().map(|r| r.0).collect()).cost("y", (0..n).map(|i| even(3, i)).collect());
            let log = log.propensity("p", rows.iter().map(|r| factor * r.1).collect()).build().unwrap();
            describe(&log).unwrap().propensity
        };
        assert!(plausible(1.0).plausible && plausible(1.0).warning().is_none(), "{name}: {:?}", plausible(1.0));
        assert!(!plausible(100.0).plausible, "{name}: {:?}", plausible(100.0));
        if name == "even" || name == "bounds" {
            assert!(!plausible(0.5).plausible, "{name}: {:?}", plausible(0.5));
        }
    }
}
