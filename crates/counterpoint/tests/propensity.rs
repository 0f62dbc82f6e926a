//! Estimated propensities against the policies that really logged.

#![allow(clippy::unwrap_used, clippy::print_stderr, missing_docs)]

use counterpoint::certify::Terms;
use counterpoint::data::{Estimated, LogBuilder};
use counterpoint::policy::{Family, Support};
use counterpoint::{Engine, Estimator, Log, Policy, certify, describe, evaluate, propensity};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// A simulated log: contexts, action, its true log density, cost.
struct Drawn {
    x: [Vec<f64>; 2],
    a: Vec<f64>,
    log_p: Vec<f64>,
    y: Vec<f64>,
}

/// t = m(x) + s(x) e, a = t or exp t; the cost is |a - 1| plus noise.
fn draw(n: usize, seed: u64, family: Family, m: fn(f64, f64) -> f64, s: fn(f64, f64) -> f64) -> Drawn {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut out = Drawn { x: [vec![], vec![]], a: vec![], log_p: vec![], y: vec![] };
    for _ in 0..n {
        let (u, v): (f64, f64) = (rng.random(), StandardNormal.sample(&mut rng));
        let e: f64 = StandardNormal.sample(&mut rng);
        let t = m(u, v) + s(u, v) * e;
        let density = -0.5 * e * e - s(u, v).ln() - counterpoint::policy::HALF_LN_2PI;
        let (a, log_p) = match family.support() {
            Support::Real => (t, density),
            Support::Positive => (t.exp(), density - t),
        };
        out.x[0].push(u);
        out.x[1].push(v);
        out.a.push(a);
        out.log_p.push(log_p);
        out.y.push((a - 1.0).abs() + 0.1 * noise(&mut rng));
    }
    out
}

fn noise(rng: &mut impl Rng) -> f64 {
    StandardNormal.sample(rng)
}

impl Drawn {
    fn columns(&self) -> LogBuilder<'static> {
        let [u, v] = self.x.clone();
        Log::builder().context("u", u).context("v", v).action("a", self.a.clone()).cost("y", self.y.clone())
    }

    fn true_log(&self) -> Log {
        self.columns().propensity("p", self.log_p.iter().map(|l| l.exp()).collect()).build().unwrap()
    }

    fn fitted(&self) -> Log {
        propensity::fit(&Engine::new(2).unwrap(), self.columns().build_bare().unwrap()).unwrap()
    }

    /// Mean of ln p - ln p_hat: an estimate of the divergence from the truth to the fit.
    fn divergence(&self, log: &Log) -> f64 {
        let fitted = log.blocks().iter().flat_map(|b| &b.log_p);
        self.log_p.iter().zip(fitted).map(|(t, f)| t - f).sum::<f64>() / self.a.len() as f64
    }
}

fn facts(log: &Log) -> &Estimated {
    log.schema().propensities.estimated().unwrap()
}

/// The divergence of a fit with k parameters is about k / 2n; three times that leaves room for chance.
#[track_caller]
fn close(drawn: &Drawn, log: &Log, parameters: f64) {
    let n = drawn.a.len() as f64;
    let kl = drawn.divergence(log);
    assert!(kl.abs() < 3.0 * parameters / (2.0 * n) * 1.25 + 1.0 / n, "divergence {kl} at n = {n}");
    assert!(facts(log).warnings.is_empty(), "{:?}", facts(log).warnings);
}

#[test]
fn a_normal_regression_is_found_and_its_densities_too() {
    for n in [1000, 16_000] {
        let drawn = draw(n, 1, Family::Normal, |u, v| 1.0 + 2.0 * u - 0.5 * v, |_, _| 0.7);
        let log = drawn.fitted();
        let m = &facts(&log).actions[0];
        assert_eq!((m.family.as_str(), m.mean.as_str()), ("normal", "linear"), "{m:?}");
        assert!((m.residual - 0.7).abs() < 3.0 / (n as f64).sqrt(), "{}", m.residual);
        close(&drawn, &log, 7.0);
    }
}

#[test]
fn a_lognormal_regression_is_told_from_a_normal_one() {
    let drawn = draw(8000, 2, Family::LogNormal, |u, v| 0.5 * u + 0.2 * v, |_, _| 0.5);
    let log = drawn.fitted();
    let m = &facts(&log).actions[0];
    assert_eq!((m.family.as_str(), m.mean.as_str()), ("lognormal", "linear"), "{m:?}");
    close(&drawn, &log, 7.0);
    // all positive, and still normal: far from 0 the two differ by skewness alone
    let drawn = draw(8000, 3, Family::Normal, |u, _| 5.0 + u, |_, _| 0.8);
    assert!(drawn.a.iter().all(|a| *a > 0.0));
    let log = drawn.fitted();
    assert_eq!(facts(&log).actions[0].family, "normal");
    close(&drawn, &log, 7.0);
}

#[test]
fn curved_means_and_uneven_spreads_are_seen() {
    let drawn = draw(20_000, 4, Family::Normal, |u, v| u - 0.3 * v * v, |u, v| (-0.5 + 0.8 * u + 0.2 * v).exp());
    let log = drawn.fitted();
    let m = &facts(&log).actions[0];
    assert_eq!((m.mean.as_str(), m.std.as_str()), ("quadratic", "log-linear"), "{m:?}");
    close(&drawn, &log, 12.0);
}

#[test]
fn without_structure_the_constant_is_nearly_as_good_as_the_choice() {
    let drawn = draw(4000, 5, Family::LogNormal, |_, _| 0.3, |_, _| 0.6);
    let log = drawn.fitted();
    close(&drawn, &log, 9.0);
    assert!(facts(&log).actions[0].explained.abs() < 0.01);
}

#[test]
fn a_policy_is_worth_the_same_by_estimated_propensities() {
    let drawn = draw(20_000, 6, Family::Normal, |u, v| 1.2 + u - 0.3 * v, |_, _| 0.8);
    let policy = Policy::constant(Family::Normal, &["u", "v"], &["a"], &[1.0], &[0.4]).unwrap();
    let engine = Engine::single();
    let value = |log: &Log| evaluate(&log.on(&engine), &policy, &Estimator::SNIPS).unwrap();
    let (truth, fitted) = (value(&drawn.true_log()), value(&drawn.fitted()));
    assert!((truth.estimate - fitted.estimate).abs() < 2.0 * truth.std_error, "{truth:?} {fitted:?}");
    assert!((fitted.mean_weight - 1.0).abs() < 0.05);
}

#[test]
fn two_actions_have_the_product_of_their_densities() {
    let (one, two) = (
        draw(6000, 7, Family::Normal, |u, v| u + v, |_, _| 0.5),
        draw(6000, 8, Family::LogNormal, |_, _| 0.0, |_, _| 0.4),
    );
    let bare = one.columns().action("b", two.a.clone()).build_bare().unwrap();
    let log = propensity::fit(&Engine::single(), bare).unwrap();
    let joint = Drawn { log_p: one.log_p.iter().zip(&two.log_p).map(|(a, b)| a + b).collect(), ..one };
    let families: Vec<&str> = facts(&log).actions.iter().map(|m| m.family.as_str()).collect();
    assert_eq!(families, ["normal", "lognormal"]);
    assert!(facts(&log).dependence.unwrap().abs() < 0.05);
    close(&joint, &log, 14.0);
    // and actions that move together are told
    let bare = joint.columns().action("b", joint.a.iter().zip(&two.a).map(|(a, b)| a + b).collect());
    let log = propensity::fit(&Engine::single(), bare.build_bare().unwrap()).unwrap();
    assert!(facts(&log).warnings.iter().any(|w| w.contains("move together")), "{:?}", facts(&log).warnings);
}

#[test]
fn the_fit_does_not_depend_on_threads_and_a_row_not_on_itself() {
    let drawn = draw(5000, 9, Family::Normal, |u, _| u, |_, _| 0.5);
    let fit = |a: &[f64], threads| {
        let [u, v] = drawn.x.clone();
        let columns = Log::builder().context("u", u).context("v", v).action("a", a.to_vec()).cost("y", drawn.y.clone());
        propensity::fit(&Engine::new(threads).unwrap(), columns.build_bare().unwrap()).unwrap()
    };
    assert_eq!(fit(&drawn.a, 1), fit(&drawn.a, 3));
    // moving one action far out changes the densities of other folds, and of its own fold only by the common scale
    let mut moved = drawn.a.clone();
    moved[17] += 2.0;
    let (before, after) = (fit(&drawn.a, 1), fit(&moved, 1));
    let difference = |i: usize| {
        let at = |log: &Log| log.blocks()[i / 1024].log_p[i % 1024];
        (at(&before) - at(&after)).abs()
    };
    let mut changes: Vec<f64> = (0..5000).filter(|i| *i != 17).map(difference).collect();
    changes.sort_by(f64::total_cmp);
    // a fifth of the rows shares its fold
    assert!(changes[800] < 1e-6 && changes[1500] > 1e-6, "{} {}", changes[800], changes[1500]);
}

#[test]
fn what_has_no_density_is_refused_with_a_remedy() {
    let n = 1000;
    let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.754_877_666).fract()).collect();
    let u: Vec<f64> = (0..n).map(|i| (i as f64 * 0.569_840_291).fract()).collect();
    let refused = |a: Vec<f64>| {
        let n = a.len();
        let log = Log::builder().context("x", x[..n].to_vec()).action("a", a).cost("y", vec![0.0; n]);
        propensity::fit(&Engine::single(), log.build_bare().unwrap()).unwrap_err()
    };
    for (a, message) in [
        (u.iter().map(|u| (u * 4.0).floor()).collect::<Vec<f64>>(), "only 4 different actions"),
        (u.iter().map(|u| (u - 0.3).max(0.0)).collect(), "are exactly 0"),
        (x.iter().map(|x| 2.0 + 3.0 * x).collect(), "were not random"),
        (u.iter().map(|u| if *u < 0.5 { u / 10.0 } else { 9.0 + u / 10.0 } - 4.0).collect(), "fits"),
        (u[..40].to_vec(), "too few"),
    ] {
        let e = refused(a);
        assert!(e.to_string().contains(message) && e.remedy().is_some(), "{e}");
    }
}

#[test]
fn a_wrong_shape_is_said() {
    let drawn = draw(5000, 10, Family::Normal, |_, _| 0.0, |_, _| 1.0);
    // uniform actions: a normal law is at a distance of about 0.06 from them
    let a = drawn.a.iter().map(|a| Family::Normal.cdf(*a, 0.0, 1.0).value - 0.5).collect();
    let log = Drawn { a, ..drawn }.fitted();
    assert!(facts(&log).warnings.iter().any(|w| w.contains("shape")), "{:?}", facts(&log));
}

#[test]
fn every_later_result_says_that_it_rests_on_an_estimate() {
    let drawn = draw(8000, 11, Family::Normal, |u, _| 1.5 + u, |_, _| 0.8);
    let log = drawn.fitted();
    let description = describe(&log).unwrap();
    assert!(description.warnings.iter().any(|w| w.contains("estimated")));
    let json = serde_json::to_value(&description).unwrap();
    assert_eq!(json["propensities"]["source"], "estimated");
    let parts = log.split(Default::default()).unwrap();
    let policy = Policy::constant(Family::Normal, &["u", "v"], &["a"], &[1.2], &[0.5]).unwrap();
    let c = certify(&policy, &parts.valid, &parts.test, &Terms::default()).unwrap();
    assert!(c.reasons.iter().any(|r| r.contains("estimated from the log")), "{:?}", c.reasons);
    let json = serde_json::to_string(&c).unwrap();
    let back: counterpoint::Certificate = serde_json::from_str(&json).unwrap();
    assert_eq!(back, c);
    assert!(back.propensities.estimated().is_some());
    let logged = drawn.true_log().split(Default::default()).unwrap();
    let c = certify(&policy, &logged.valid, &logged.test, &Terms::default()).unwrap();
    assert!(c.propensities.sentence().is_none() && !c.reasons.iter().any(|r| r.contains("estimated")));
}

/// A million rows and ten contexts: a few seconds (`cargo test --release -- --ignored`).
#[test]
#[ignore = "a measurement"]
fn a_million_rows_take_seconds() {
    let n = 1_000_000;
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut builder = Log::builder();
    let mut mean = vec![0.0; n];
    for j in 0..10 {
        let column: Vec<f64> = (0..n).map(|_| noise(&mut rng)).collect();
        mean.iter_mut().zip(&column).for_each(|(m, x)| *m += 0.1 * x);
        builder = builder.context(&format!("x{j}"), column);
    }
    let a = mean.iter().map(|m| (m + 0.5 * noise(&mut rng)).exp()).collect();
    let bare = builder.action("a", a).cost("y", vec![0.0; n]).build_bare().unwrap();
    let clock = std::time::Instant::now();
    let log = propensity::fit(&Engine::new(0).unwrap(), bare).unwrap();
    assert_eq!(facts(&log).actions[0].family, "lognormal");
    let seconds = clock.elapsed().as_secs_f64();
    assert!(seconds < 10.0, "{seconds} s");
    eprintln!("{seconds:.2} s");
}
