//! Weights of rows: frequencies are rows, sampling weights are not.

#![allow(clippy::unwrap_used, missing_docs)]

use counterpoint::certify::{Certificate, Method, Terms, certify};
use counterpoint::data::{Role, SplitRule, Weighting};
use counterpoint::policy::Family;
use counterpoint::{Error, Estimator, Log, Policy, evaluate};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// Columns of a log: actions, rewards, densities, weights.
type Columns = [Vec<f64>; 4];

/// The log plays N(.4, .8^2); a sale happens with probability .1 exp(-(a - 1)^2 / 2).
const LOGGED: (f64, f64) = (0.4, 0.8);

/// Sales under N(m, s^2): .1 (1 + s^2)^(-1/2) exp(-(m - 1)^2 / (2 (1 + s^2))).
fn truth(m: f64, s: f64) -> f64 {
    let spread = 1.0 + s * s;
    0.1 / spread.sqrt() * (-(m - 1.0) * (m - 1.0) / (2.0 * spread)).exp()
}

/// A log of which every sale and one in thirty of the other rows was kept, with weights 1 and 30 times a unit.
fn thinned(population: usize, seed: u64, unit: f64) -> Columns {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut columns: Columns = Default::default();
    for _ in 0..population {
        let z: f64 = StandardNormal.sample(&mut rng);
        let a = LOGGED.0 + LOGGED.1 * z;
        let sale = rng.random::<f64>() < 0.1 * (-(a - 1.0) * (a - 1.0) / 2.0).exp();
        if sale || rng.random::<f64>() < 1.0 / 30.0 {
            let p = Family::Normal.log_density(a, LOGGED.0, LOGGED.1).value.exp();
            let row = [a, f64::from(u8::from(sale)), p, unit * if sale { 1.0 } else { 30.0 }];
            columns.iter_mut().zip(row).for_each(|(c, v)| c.push(v));
        }
    }
    columns
}

fn log([a, y, p, w]: &Columns, role: Role) -> Log {
    let roles = [(Role::Action("a"), a), (Role::Reward("sale"), y), (Role::Propensity("p"), p), (role, w)];
    roles.into_iter().fold(Log::builder(), |b, (role, v)| b.slice(role, v)).build().unwrap()
}

fn policy() -> Policy {
    Policy::constant(Family::Normal, &[], &["a"], &[1.0], &[0.5]).unwrap()
}

fn judge(log: &Log, terms: &Terms) -> Certificate {
    let parts = log.split(SplitRule::default()).unwrap();
    certify(&policy(), &parts.valid, &parts.test, terms).unwrap()
}

#[test]
fn the_unit_of_sampling_weights_cancels() {
    let terms = Terms { bootstrap: 199, ..Terms::default() };
    let [one, hundred] = [1.0, 100.0].map(|unit| {
        let log = log(&thinned(6000, 1, unit), Role::Weight("kept"));
        (
            judge(&log, &terms),
            evaluate(&log, &policy(), &Estimator::DM).is_err(),
            evaluate(&log, &policy(), &Estimator::SNIPS).unwrap(),
        )
    });
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-9 * a.abs().max(1e-3), "{a} {b}");
    for (a, b) in
        [(one.0.value, hundred.0.value), (one.0.difference, hundred.0.difference), (one.0.logged, hundred.0.logged)]
    {
        let ends = [(a.estimate, b.estimate), (a.std_error, b.std_error), (a.lower, b.lower), (a.upper, b.upper)];
        ends.iter().for_each(|(a, b)| close(*a, *b));
    }
    close(one.0.test.effective, hundred.0.test.effective);
    close(one.0.test.largest_share, hundred.0.test.largest_share);
    assert_eq!((one.0.verdict, one.0.test.rows), (hundred.0.verdict, hundred.0.test.rows));
    close(one.2.std_error, hundred.2.std_error);
    close(one.2.effective, hundred.2.effective);
    assert!(one.1 && hundred.1, "the direct method needs a model, whatever the weights");
}

/// Weights that are all the same say nothing: every figure is that of the log without them, to the last bit.
#[test]
fn equal_sampling_weights_are_none() {
    let mut columns = thinned(4000, 2, 1.0);
    columns[3].fill(7.0);
    let weighted = log(&columns, Role::Weight("kept"));
    columns[3].fill(1.0);
    let counted = log(&columns, Role::Count("times"));
    assert_eq!((weighted.schema().weighting, weighted.schema().weight_mean), (Weighting::Sampling, 7.0));
    assert_eq!(weighted.blocks(), counted.blocks());
    let terms = Terms { bootstrap: 199, ..Terms::default() };
    let (a, b) = (judge(&weighted, &terms), judge(&counted, &terms));
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * a.abs().max(1e-3), "{a} {b}");
    for (a, b) in [(a.value, b.value), (a.difference, b.difference), (a.logged, b.logged)] {
        let ends = [(a.estimate, b.estimate), (a.std_error, b.std_error), (a.lower, b.lower), (a.upper, b.upper)];
        ends.iter().for_each(|(a, b)| close(*a, *b));
    }
    close(a.test.effective, b.test.effective);
    close(a.null_error, b.null_error);
    assert_eq!((a.bound.is_some(), a.test.rows), (b.bound.is_some(), b.test.rows));
}

/// How often intervals of the policy's value, of the log's and of their difference hold the truth, over logs of about 250 test rows.
fn coverage(logs: u64, role: Role, terms: &Terms) -> [f64; 3] {
    let (value, logged) = (truth(1.0, 0.5), truth(LOGGED.0, LOGGED.1));
    let mut held = [0.0; 3];
    for seed in 0..logs {
        let c = judge(&log(&thinned(10_000, 1000 + seed, 1.0), role), &Terms { seed, ..terms.clone() });
        let holds = [c.value.holds(value), c.logged.holds(logged), c.difference.holds(value - logged)];
        held.iter_mut().zip(holds).for_each(|(h, holds)| *h += f64::from(u8::from(holds)) / logs as f64);
    }
    held
}

/// Nominal .95: four standard errors of that share are .05 over 300 logs and .087 over 100.
#[test]
fn intervals_of_thinned_logs_hold_the_truth() {
    let normal = Terms { interval: Method::Normal, ..Terms::default() };
    let held = coverage(300, Role::Weight("kept"), &normal);
    assert!(held.iter().all(|h| *h > 0.90), "{held:?}");
    let held = coverage(100, Role::Weight("kept"), &Terms { bootstrap: 199, ..Terms::default() });
    assert!(held.iter().all(|h| *h > 0.863), "{held:?}");
}

/// Taken for counts, the same weights are an error too small by 1.7: of 175 sales (each .93 from the mean) and 78 other rows (.07 from
/// it, weight 30) the sum of s^2 psi^2 is 495, that of s psi^2 is 163. So the interval of the log's mean holds it in
/// P(|z| < 1.96 / 1.74) = .74; four standard errors over 300 logs are .10.
#[test]
fn frequencies_are_not_sampling_weights() {
    let held = coverage(300, Role::Count("times"), &Terms { interval: Method::Normal, ..Terms::default() });
    assert!((held[1] - 0.74).abs() < 0.10, "{held:?}");
}

#[test]
fn a_count_is_a_whole_number() {
    let build = |v: Vec<f64>| -> Result<Log, Error> {
        let n = v.len();
        Log::builder()
            .action("a", vec![1.0; n])
            .cost("y", vec![0.0; n])
            .propensity("p", vec![0.5; n])
            .count("times", v)
            .build()
    };
    let e = build(vec![1.0, 2.5]).unwrap_err().to_string();
    assert!(e.contains("row 2, column \"times\": 2.5 is not a count"), "{e}");
    assert!(build(vec![1.0, 2.0, 0.0]).is_ok());
}
