//! What a log supports, where neither the range of its actions nor a cut of one context says so.

#![allow(clippy::unwrap_used, missing_docs)]

use counterpoint::Log;
use counterpoint::certify::{Certificate, Terms, Verdict, certify};
use counterpoint::policy::{Family, Law, TargetPolicy};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// A normal policy: mean and std given x.
struct Gauss(fn(&[f64]) -> [f64; 2]);

impl TargetPolicy for Gauss {
    fn log_density(&self, x: &[f64], a: &[f64]) -> f64 {
        let [mean, std] = self.0(x);
        Family::Normal.log_density(a[0], mean, std).value
    }

    fn sample(&self, x: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
        let ([mean, std], z): ([f64; 2], f64) = (self.0(x), StandardNormal.sample(rng));
        vec![mean + std * z]
    }

    fn mean(&self, x: &[f64]) -> Option<Vec<f64>> {
        Some(vec![self.0(x)[0]])
    }

    fn law(&self, x: &[f64]) -> Option<Law> {
        let [mean, std] = self.0(x);
        Some(Law::Family { family: Family::Normal, mean: vec![mean], std: vec![std] })
    }

    fn mass_within(&self, x: &[f64], low: &[f64], high: &[f64]) -> Option<f64> {
        self.law(x).map(|law| law.mass_within(low, high))
    }
}

fn normals(seed: u64) -> impl FnMut() -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    move || StandardNormal.sample(&mut rng)
}

/// 6% of contexts, which no cut of one context finds.
fn checker(x: &[f64]) -> bool {
    x[0] * x[1] * x[2] > 0.0 && x[3].abs() > 1.55
}

/// A standard normal log of four contexts.
fn log(n: usize, seed: u64, reward: fn(&[f64], f64) -> f64) -> Log {
    let mut normal = normals(seed);
    let (mut x, mut a, mut y) = (vec![Vec::new(); 4], Vec::new(), Vec::new());
    for _ in 0..n {
        let context: Vec<f64> = (0..4).map(|_| normal()).collect();
        let action = normal();
        y.push(reward(&context, action) + 0.3 * normal());
        a.push(action);
        x.iter_mut().zip(context).for_each(|(column, v)| column.push(v));
    }
    let p = a.iter().map(|a| Family::Normal.log_density(*a, 0.0, 1.0).value.exp()).collect();
    let log = x.into_iter().enumerate().fold(Log::builder(), |log, (c, x)| log.context(&format!("x{c}"), x));
    log.action("a", a).propensity("p", p).reward("r", y).build().unwrap()
}

fn judge(policy: &dyn TargetPolicy, log: impl Fn(u64) -> Log) -> Certificate {
    certify(policy, &log(1), &log(2), &Terms::default()).unwrap()
}

/// 2.3 stds from the log's mean is within what the log did, but in these 6% of the contexts next to no row did it; elsewhere hundreds did,
/// without harm.
#[test]
fn what_no_like_row_does_is_missing_though_it_is_within_the_logs_range() {
    let reward = |x: &[f64], a: f64| 0.3 * a - if checker(x) && a > 1.6 { 9.0 } else { 0.0 };
    let away = Gauss(|x| if checker(x) { [2.3, 0.4] } else { [0.3, 0.8] });
    for n in [300, 1000] {
        let c = judge(&away, |seed| log(n, seed, reward));
        assert_ne!(c.verdict, Verdict::Deploy, "{c}");
    }
    let near = judge(&Gauss(|_| [0.3, 0.8]), |seed| log(1000, seed, |_, a| 0.3 * a));
    assert!(near.verdict == Verdict::Deploy && near.missing == 0.0, "{near}");
}

/// Doses that stop at 0: their propensity there is a probability, elsewhere a density. Such a log is no log of wrong densities; one whose
/// other densities are wrong is.
#[test]
fn a_point_mass_at_a_bound_is_no_wrong_density() {
    let density = |a: f64| match a {
        0.0 => Family::Normal.cdf(0.0, 0.4, 0.7).value,
        a => Family::Normal.log_density(a, 0.4, 0.7).value.exp(),
    };
    let log = |seed: u64, p: &dyn Fn(f64, f64) -> f64| {
        let mut normal = normals(seed);
        let x: Vec<f64> = (0..1500).map(|_| normal()).collect();
        let a: Vec<f64> = x.iter().map(|_| (0.4 + 0.7 * normal()).max(0.0)).collect();
        let p = x.iter().zip(&a).map(|(x, a)| p(*x, *a)).collect();
        let y = a.iter().map(|a| a + normal()).collect();
        Log::builder().context("x", x).action("a", a).propensity("p", p).reward("r", y).build().unwrap()
    };
    let policy = Gauss(|_| [1.0, 0.4]);
    let right = judge(&policy, |seed| log(seed, &|_, a| density(a)));
    assert!(right.coverage.unwrap().densities.is_none());
    let wrong = judge(&policy, |seed| log(seed, &|x, a| if x > 0.0 { 0.5 * density(a) } else { density(a) }));
    assert!(wrong.coverage.unwrap().densities.is_some());
}
