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

/// A standard normal log of one context, in 1.5% of which (x > 2.17) a policy does what the log never did.
fn with_tail(seed: u64, reward: impl Fn(f64, &mut dyn FnMut() -> f64) -> f64) -> Log {
    let mut normal = normals(seed);
    let (mut x, mut a, mut y) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..2000 {
        x.push(normal());
        a.push(normal());
        y.push(reward(a[a.len() - 1], &mut normal));
    }
    let p = a.iter().map(|a| Family::Normal.log_density(*a, 0.0, 1.0).value.exp()).collect();
    Log::builder().context("x", x).action("a", a).propensity("p", p).reward("r", y).build().unwrap()
}

/// Of yes or no the range is known: nothing worse than no can happen where nobody has been. Of a number it is not.
#[test]
fn what_is_unseen_cannot_be_worse_than_no() {
    let away = Gauss(|x| if x[0] > 2.17 { [6.0, 0.3] } else { [0.8, 0.8] });
    let yes = |a: f64, u: f64| f64::from(u < 0.6 * a);
    let binary = judge(&away, |seed| with_tail(seed, |a, normal| yes(a, normal())));
    let number = judge(&away, |seed| with_tail(seed, |a, normal| yes(a, normal()) + 1e-3 * normal()));
    assert!(binary.coverage.as_ref().unwrap().away > 0.01 && binary.missing > 0.01, "{binary}");
    assert_eq!((binary.verdict, number.verdict), (Verdict::Deploy, Verdict::Keep), "{binary}\n{number}");
    // one event in two thousand rows is no yes or no that was seen often
    let once = judge(&away, |seed| with_tail(seed, |a, normal| f64::from(a > 0.5 && normal() > 3.2) + 0.0));
    assert_ne!(once.verdict, Verdict::Deploy, "{once}");
}

/// A log-normal log and a policy at its lowest twentieth in some contexts: on the scale of the actions their density at 0 looks like an end, on that of their
/// logarithms there is support.
#[test]
fn positive_actions_are_looked_at_on_their_own_scale() {
    struct Low;
    impl Low {
        fn at(x: &[f64]) -> (f64, f64) {
            let (median, sigma) = (4.0 * (0.2 * x[0] + if x[0] > 1.8 { -1.3 } else { -0.5 }).exp(), 0.4f64);
            let mean = median * (0.5 * sigma * sigma).exp();
            (mean, mean * (sigma * sigma).exp_m1().sqrt())
        }
    }
    impl TargetPolicy for Low {
        fn log_density(&self, x: &[f64], a: &[f64]) -> f64 {
            Family::LogNormal.log_density(a[0], Low::at(x).0, Low::at(x).1).value
        }
        fn sample(&self, x: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
            vec![Family::LogNormal.at(StandardNormal.sample(rng), Low::at(x).0, Low::at(x).1).value]
        }
        fn mean(&self, x: &[f64]) -> Option<Vec<f64>> {
            Some(vec![Low::at(x).0])
        }
        fn law(&self, x: &[f64]) -> Option<Law> {
            Some(Law::Family { family: Family::LogNormal, mean: vec![Low::at(x).0], std: vec![Low::at(x).1] })
        }
        fn mass_within(&self, x: &[f64], low: &[f64], high: &[f64]) -> Option<f64> {
            self.law(x).map(|law| law.mass_within(low, high))
        }
    }
    let log = |seed: u64| {
        let mut normal = normals(seed);
        let x: Vec<f64> = (0..1500).map(|_| normal()).collect();
        let ln: Vec<f64> = x.iter().map(|x| 4f64.ln() + 0.2 * x + 0.8 * normal()).collect();
        let p =
            x.iter().zip(&ln).map(|(x, l)| (Family::Normal.log_density(*l, 4f64.ln() + 0.2 * x, 0.8).value - l).exp());
        let p: Vec<f64> = p.collect();
        let y = ln.iter().map(|l| -l + normal()).collect();
        let a = ln.iter().map(|l| l.exp()).collect();
        Log::builder().context("x", x).action("a", a).propensity("p", p).reward("r", y).build().unwrap()
    };
    let c = judge(&Low, log);
    let coverage = c.coverage.as_ref().unwrap();
    assert!(coverage.away < 0.004 && c.verdict == Verdict::Deploy, "{} {c}", coverage.away);
    assert!(coverage.distance.unwrap()[3] < 4.0, "{:?}", coverage.distance);
}

/// A range that is stated says what rows cannot: that worse may happen than was seen. Where it has been seen, it changes nothing.
#[test]
fn a_stated_range_allows_for_what_was_not_seen() {
    let near = Gauss(|_| [0.3, 0.8]);
    let log = |seed: u64| with_tail(seed, |a, normal| (0.3 * a + normal()).clamp(-3.0, 3.0));
    let judge = |range: Option<[f64; 2]>| {
        let terms = Terms { outcome_range: range, ..Terms::default() };
        certify(&near, &log(1), &log(2), &terms).unwrap()
    };
    let (free, seen, far) = (judge(None), judge(Some([-3.0, 3.0])), judge(Some([-100.0, 3.0])));
    assert_eq!([free.verdict, seen.verdict, far.verdict], [Verdict::Deploy, Verdict::Deploy, Verdict::Keep]);
    assert_eq!(free.difference, seen.difference);
    assert!(far.difference.lower < free.difference.lower && far.difference.upper == free.difference.upper);
    assert!(far.reasons.iter().any(|r| r.contains("the stated range has worse outcomes")), "{far}");
}

/// Densities kept above a floor make rare actions weigh too little. A log that explores evenly has a smallest density too, and it is right.
#[test]
fn a_floor_under_densities_is_found_and_an_even_share_is_none() {
    let log = |seed: u64, explores: bool| {
        let mut normal = normals(seed);
        let even = |z: f64| 2.0 * Family::Normal.cdf(z, 0.0, 1.0).value - 1.0;
        let (mut x, mut a, mut p, mut y) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..1500 {
            let context = normal();
            let far = explores && even(normal()).abs() < 0.2;
            let usual = if explores { 0.15 } else { 1.0 };
            let d = if far { 3.0 * even(normal()) } else { usual * normal() };
            let density = Family::Normal.log_density(d, 0.0, usual).value.exp();
            let written = match explores {
                true => 0.8 * density + if d.abs() <= 3.0 { 0.2 / 6.0 } else { 0.0 },
                false => density.max(0.1),
            };
            x.push(context);
            a.push(context + d);
            p.push(written);
            y.push(normal());
        }
        Log::builder().context("x", x).action("a", a).propensity("p", p).reward("r", y).build().unwrap()
    };
    struct Near(f64);
    impl TargetPolicy for Near {
        fn log_density(&self, x: &[f64], a: &[f64]) -> f64 {
            Family::Normal.log_density(a[0], x[0] + self.0, 0.5).value
        }
        fn sample(&self, x: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
            let z: f64 = StandardNormal.sample(rng);
            vec![x[0] + self.0 + 0.5 * z]
        }
    }
    let floored = judge(&Near(0.4), |seed| log(seed, false));
    assert!(floored.verdict == Verdict::Invalid, "{floored}");
    assert!(floored.reasons.iter().any(|r| r.contains("kept above a floor")), "{floored}");
    let even = judge(&Near(0.4), |seed| log(seed, true));
    assert!(even.coverage.as_ref().unwrap().densities.is_none(), "{even}");
}

/// Plays the highest of the price points in some contexts, the lowest in the others; one time in ten any other.
struct Ends;

const PRICES: [f64; 5] = [9.0, 12.0, 15.0, 19.0, 25.0];

impl Ends {
    fn probability(x: &[f64], a: f64) -> f64 {
        let most = if x[0] > 0.0 { PRICES[4] } else { PRICES[0] };
        if a == most { 0.9 } else { 0.025 }
    }
}

impl TargetPolicy for Ends {
    fn log_density(&self, x: &[f64], a: &[f64]) -> f64 {
        Ends::probability(x, a[0]).ln()
    }

    fn sample(&self, x: &[f64], _: &mut dyn Rng) -> Vec<f64> {
        self.mean(x).unwrap()
    }

    fn mean(&self, x: &[f64]) -> Option<Vec<f64>> {
        Some(vec![if x[0] > 0.0 { PRICES[4] } else { PRICES[0] }])
    }

    fn mass_within(&self, x: &[f64], low: &[f64], high: &[f64]) -> Option<f64> {
        let inside = PRICES.iter().filter(|a| (low[0]..=high[0]).contains(*a));
        Some(inside.map(|a| Ends::probability(x, *a)).sum())
    }
}

/// One row in ten has the highest of five prices, and one in ten the lowest: a policy that plays these two is where the log has been, whatever rounding makes of
/// an action that is measured in stds from the log's mean and back.
#[test]
fn the_last_points_of_a_grid_are_not_beyond_it() {
    for seed in 1..9 {
        let log = |part: u64| {
            let mut normal = normals(100 * seed + part);
            let x: Vec<[f64; 2]> = (0..1500).map(|_| [normal().round(), normal().round()]).collect();
            let point = |z: f64| {
                let u = Family::Normal.cdf(z, 0.0, 1.0).value;
                [0.1, 0.4, 0.7, 0.9].iter().filter(|p| u > **p).count()
            };
            let k: Vec<usize> = x.iter().map(|_| point(normal())).collect();
            let noise: Vec<f64> = x.iter().map(|_| normal()).collect();
            let column = |f: &dyn Fn(usize) -> f64| (0..x.len()).map(f).collect::<Vec<f64>>();
            let log = Log::builder().context("x0", column(&|i| x[i][0])).context("x1", column(&|i| x[i][1]));
            let log = log.action("a", column(&|i| PRICES[k[i]])).cost("y", noise);
            log.propensity("p", column(&|i| [0.1, 0.3, 0.3, 0.2, 0.1][k[i]])).build().unwrap()
        };
        let c = judge(&Ends, log);
        assert_eq!(c.missing, 0.0, "seed {seed}: {c}");
    }
}

/// A rule that follows the context in 85% of the rows, any action between 0 and 6 in the others: how far an even range reaches from the rule depends on the
/// context, and what no context reaches is not counted as explored.
#[test]
fn an_even_range_of_actions_around_a_rule_that_moves_is_no_floor() {
    for seed in 1..7 {
        let log = |part: u64| {
            let mut normal = normals(100 * seed + part);
            let mut even = move || Family::Normal.cdf(normal(), 0.0, 1.0).value;
            let density = |x: f64, a: f64| 0.85 * Family::Normal.log_density(a, 2.0 + x, 0.1).value.exp() + 0.15 / 6.0;
            let mut rows = Vec::new();
            for _ in 0..2500 {
                let x = 3.0 * even() - 1.5;
                let near = 2.0 + x + 0.1 * (even() + even() + even() - 1.5) * 2.0;
                let a = if even() < 0.85 { near } else { 6.0 * even() };
                rows.push([x, a, density(x, a), even()]);
            }
            let column = |c: usize| rows.iter().map(|r| r[c]).collect::<Vec<f64>>();
            let log = Log::builder().context("x", column(0)).action("a", column(1));
            log.propensity("p", column(2)).cost("y", column(3)).build().unwrap()
        };
        let c = judge(&Gauss(|x| [3.0 + 0.5 * x[0], 0.8]), log);
        assert!(c.coverage.as_ref().unwrap().densities.is_none(), "seed {seed}: {c}");
    }
}
