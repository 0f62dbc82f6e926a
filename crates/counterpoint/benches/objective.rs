//! The hot loop against its plain form: ratios measured in one run.
//!
//! `cargo bench -p counterpoint --bench objective`, or with `-- roofline` behind it the last table alone. Every pair is timed in alternation, so that a busy machine slows both
//! sides alike; figures are medians. Nothing here is a test.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

use counterpoint::engine::Instructions;
use counterpoint::estimate::{Form, LossModel, Normalise, Weight};
use counterpoint::features::{ActionMap, ContextMap, Scaler};
use counterpoint::folds::{Design, Precision, Question, Risk, truth};
use counterpoint::policy::{Clp, Family, Link, Mean, Network, Std};
use counterpoint::{Engine, Estimator, Log, Policy};
use fearless_simd::{Level, Simd, SimdBase, SimdFloat, dispatch};
use std::hint::black_box;
use std::time::Instant;

/// A mean model on the linear map, with `m` anchors or units: equal flops per row.
fn clp(m: usize) -> Mean {
    let anchors = (0..m).map(|j| 0.4 + 3.6 * j as f64 / (m - 1) as f64).collect();
    let actions = ActionMap::new(anchors, 1, None).unwrap();
    Mean::Clp(Clp { map: ContextMap::Linear, actions, temperature: 10.0 })
}

fn network(m: usize) -> Mean {
    Mean::Network(Network { map: ContextMap::Linear, units: m, link: Link::Identity })
}

/// A log with `d - 1` contexts (the constant makes `d` features) and a policy.
fn problem(n: usize, d: usize, family: Family, mean: Mean) -> (Log, Policy) {
    let u = |i: usize, j: usize| {
        let h = (i as u64 * 1_000_003 + j as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((h ^ (h >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut builder = Log::builder();
    for j in 0..d - 1 {
        builder = builder.context(&format!("x{j}"), (0..n).map(|i| 2.0 * u(i, j) - 1.0).collect());
    }
    let actions: Vec<f64> = (0..n).map(|i| 0.4 + 3.6 * u(i, 50) * u(i, 51)).collect();
    let log = builder
        .cost("y", (0..n).map(|i| -(1.0 - (actions[i] - 1.0 - u(i, 0)).abs()).max(-0.1)).collect())
        .propensity("p", (0..n).map(|i| 0.2 + 0.3 * u(i, 52)).collect())
        .action("a", actions)
        .build()
        .unwrap();
    let mut policy = Policy {
        origin: None,
        inputs: Vec::new(),
        contexts: log.schema().contexts.clone(),
        actions: log.schema().actions.clone(),
        scaler: Scaler::identity(d - 1),
        family,
        mean,
        std: Std::Learned { floor: vec![0.0] },
        theta: Vec::new(),
    };
    policy.theta = (0..policy.mean_parameters()).map(|i| 0.2 * (u(i, 60) - 0.5)).collect();
    policy.theta.push(-0.7);
    (log, policy)
}

/// Median seconds of each side, timed in alternation for about `seconds` in all. A turn is a burst of passes, as an
/// optimiser makes them, after one that is not timed: it brings caches and threads back from the other sides.
fn race(seconds: f64, burst: usize, sides: &mut [&mut dyn FnMut()]) -> Vec<f64> {
    let mut times = vec![Vec::new(); sides.len()];
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < seconds || times[0].len() < 5 {
        for (side, times) in sides.iter_mut().zip(&mut times) {
            side();
            let t = Instant::now();
            (0..burst).for_each(|_| side());
            times.push(t.elapsed().as_secs_f64() / burst as f64);
        }
    }
    times
        .iter_mut()
        .map(|t| {
            t.sort_by(f64::total_cmp);
            t[t.len() / 2]
        })
        .collect()
}

fn main() {
    if std::env::args().any(|a| a == "--test" || a == "--list") {
        return;
    }
    if std::env::args().any(|a| a == "roofline") {
        return compare_with_the_limit();
    }
    println!("value and gradient of the soft-clipped CLP objective with variance penalty; M rows a second");
    println!(
        "{:>8} {:>4} {:>4} {:>10} | {:>7} {:>7} {:>7} {:>7} | {:>8} {:>8} {:>8}",
        "rows", "d_X", "m", "family", "plain", "f64", "f64 x2", "f32", "f64/pln", "x2/f64", "f32/f64"
    );
    for (n, d, m, family) in [
        (10_000, 6, 12, Family::Normal),
        (1_000_000, 3, 7, Family::Normal),
        (10_000, 6, 10, Family::Normal),
        (10_000, 6, 12, Family::LogNormal),
        (10_000, 6, 12, Family::Gamma),
    ] {
        let (log, policy) = problem(n, d, family, clp(m));
        let mut question = Question::new(Estimator::soft_clipped(15.0));
        question.variance_penalty = 1.0;
        let design = |p| Design::new(&log, &policy, &question, 0.0, p).unwrap();
        let (d64, d32) = (design(Precision::F64), design(Precision::F32));
        let risk = Risk::new(&question, &policy).unwrap();
        let (one, two) = (Engine::single(), Engine::new(2).unwrap());
        let (mut s1, mut s2, mut s3) = (Vec::new(), Vec::new(), Vec::new());
        let t = race(
            6.0,
            (100_000 / n).max(1),
            &mut [
                &mut || drop(std::hint::black_box(truth::ask(&risk, &one, &d64).unwrap())),
                &mut || risk.ask(&one, &d64, &mut s1).unwrap(),
                &mut || risk.ask(&two, &d64, &mut s2).unwrap(),
                &mut || risk.ask(&one, &d32, &mut s3).unwrap(),
            ],
        );
        let m_rows = |t: f64| n as f64 / t / 1e6;
        println!(
            "{n:>8} {d:>4} {m:>4} {:>10} | {:>7.2} {:>7.2} {:>7.2} {:>7.2} | {:>8.2} {:>8.2} {:>8.2}",
            format!("{family:?}"),
            m_rows(t[0]),
            m_rows(t[1]),
            m_rows(t[2]),
            m_rows(t[3]),
            t[0] / t[1],
            t[1] / t[2],
            t[1] / t[3]
        );
    }
    compare_means();
    compare_row_stages();
    compare_with_the_limit();
}

/// Multiply-adds of one vector of rows: scores, exponentials (13 each), means and g, features times the slopes of two sums, the
/// product back, and the row stage, about.
fn multiply_adds(d: usize, m: usize) -> usize {
    d * m + 13 * m + 2 * m + 2 * d + 2 * d * m + 60
}

/// Twelve sums side by side, so many multiply-adds each: as fast as a core starts them.
#[inline(always)]
fn spin<S: Simd>(simd: S, count: usize) -> f64 {
    simd.vectorize(
        #[inline(always)]
        || {
            let (factor, more) =
                (S::f64s::splat(simd, black_box(0.999_999)), S::f64s::splat(simd, black_box(0.000_001)));
            let mut sums = [more; 12];
            for _ in 0..count {
                for sum in &mut sums {
                    *sum = sum.mul_add_precise(factor, more);
                }
            }
            sums.iter().map(|sum| sum.as_slice()[0]).sum()
        },
    )
}

/// Seconds of processor of this thread so far; where the system does not say, of the clock.
fn used(start: Instant) -> f64 {
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = said.and_then(|s| s.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |ns| ns / 1e9)
}

/// Seconds of processor that work takes, over half a second of it: passes over a million rows are long enough to be interrupted.
fn of_processor(work: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    work();
    let (before, mut times) = (used(start), 0);
    loop {
        (0..10).for_each(|_| work());
        times += 10;
        let spent = used(start) - before;
        if spent > 0.5 {
            return spent / f64::from(times);
        }
    }
}

/// How near the kernel comes to the multiply-adds that this core starts at most, measured beside it, at every level that has them in vectors.
fn compare_with_the_limit() {
    println!("\nthe limit: multiply-adds of a vector of rows, at the rate at which this core starts them; one thread");
    println!(
        "{:>8} {:>8} {:>4} {:>4} | {:>9} {:>9} {:>7} {:>7} | {:>6}",
        "level", "rows", "d_X", "m", "G vectors", "per vec", "limit", "kernel", "share"
    );
    let best = Level::new();
    let levels: Vec<(Level, usize)> = [
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        best.as_avx2().map(|l| (Level::Avx2(l), 4)),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        best.as_avx512().map(|l| (Level::Avx512(l), 8)),
        #[cfg(target_arch = "aarch64")]
        Some((best, 2)),
    ]
    .into_iter()
    .flatten()
    .collect();
    for (level, lanes) in levels {
        let name = format!("{level:?}").split('(').next().unwrap_or_default().to_lowercase();
        let engine = Engine::single().using(Instructions::named(&name).unwrap());
        for (n, d, m) in [(10_000, 6, 12), (10_000, 3, 7), (1_000_000, 3, 7)] {
            let (log, policy) = problem(n, d, Family::Normal, clp(m));
            let mut question = Question::new(Estimator::soft_clipped(15.0));
            question.variance_penalty = 1.0;
            let design = Design::new(&log, &policy, &question, 0.0, Precision::F64).unwrap();
            let risk = Risk::new(&question, &policy).unwrap();
            let mut slots = Vec::new();
            const SPUN: usize = 20_000;
            let mut ask = || risk.ask(&engine, &design, &mut slots).unwrap();
            let mut spun = || {
                black_box(dispatch!(level, simd => spin(simd, SPUN)));
            };
            let mut t = [f64::INFINITY; 2];
            for _ in 0..5 {
                t = [t[0].min(of_processor(&mut ask)), t[1].min(of_processor(&mut spun))];
            }
            let (rate, needed) = ((12 * SPUN) as f64 / t[1], multiply_adds(d, m));
            let (limit, kernel) = (rate * lanes as f64 / needed as f64 / 1e6, n as f64 / t[0] / 1e6);
            println!(
                "{name:>8} {n:>8} {d:>4} {m:>4} | {:>9.2} {needed:>9} {limit:>7.1} {kernel:>7.1} | {:>5.0}%",
                rate / 1e9,
                100.0 * kernel / limit
            );
        }
    }
}

/// What else a row may be asked, against soft clipping with normal actions: one run, one thread, the mean model the same.
fn compare_row_stages() {
    println!("\nother row stages, 10,000 rows, d_X = 6, m = 12, one thread: how many times as long as soft clipping");
    let model = {
        let actions = ActionMap::new((0..12).map(|j| 0.4 + 0.3 * f64::from(j)).collect(), 1, None).unwrap();
        let coef = (0..6 * 12).map(|i| 0.01 * f64::from(i % 7) - 0.03).collect();
        LossModel { scaler: Scaler::identity(5), map: ContextMap::Linear, actions, coef, intercept: 0.1 }
    };
    let own = |weight: Weight| Question::new(Estimator::new(weight, Form::Plain, Normalise::ByRows));
    let modelled = |estimator: Estimator| Question::new(estimator).with_model(model.clone());
    let cases = [
        ("soft-clipped", Family::Normal, own(Weight::soft(15.0))),
        ("clipped", Family::Normal, own(Weight::Clip { cap: 15.0 })),
        ("power mean", Family::Normal, own(Weight::PowerMean { lambda: 0.1, s: -1.0 })),
        ("switch", Family::Normal, own(Weight::Switch { tau: 15.0 })),
        ("doubly robust", Family::Normal, modelled(Estimator::DR)),
        ("direct", Family::Normal, modelled(Estimator::DM)),
        ("self-normalised", Family::Normal, Question::new(Estimator::SNIPS)),
        ("log-normal", Family::LogNormal, own(Weight::soft(15.0))),
        ("gamma", Family::Gamma, own(Weight::soft(15.0))),
    ];
    let engine = Engine::single();
    let ready: Vec<_> = cases
        .into_iter()
        .map(|(name, family, mut question)| {
            question.variance_penalty = 1.0;
            let (log, policy) = problem(10_000, 6, family, clp(12));
            let design = Design::new(&log, &policy, &question, 0.0, Precision::F64).unwrap();
            (name, design, Risk::new(&question, &policy).unwrap())
        })
        .collect();
    let mut sides: Vec<Box<dyn FnMut()>> = ready
        .iter()
        .map(|(_, design, risk)| -> Box<dyn FnMut()> {
            let (mut slots, engine) = (Vec::new(), &engine);
            Box::new(move || risk.ask(engine, design, &mut slots).unwrap())
        })
        .collect();
    let mut sides: Vec<&mut dyn FnMut()> = sides.iter_mut().map(|s| &mut **s as &mut dyn FnMut()).collect();
    let t = race(12.0, 5, &mut sides);
    for ((name, ..), seconds) in ready.iter().zip(&t) {
        println!("{name:>16} | {:>7.2} M rows a second | {:>6.2}", 0.01 / seconds, seconds / t[0]);
    }
}

/// Mean models of equal flops in one run: a network with as many units as the CLP has anchors.
fn compare_means() {
    println!("\nthe same objective, one thread: CLP against a network of equal flops");
    println!("{:>8} {:>4} {:>4} | {:>7} {:>7} | {:>11}", "rows", "d_X", "m", "clp", "network", "network/clp");
    for (n, d, m) in [(10_000, 6, 12), (100_000, 6, 16), (100_000, 20, 16)] {
        let mut question = Question::new(Estimator::soft_clipped(15.0));
        question.variance_penalty = 1.0;
        let ready = |mean: Mean| {
            let (log, policy) = problem(n, d, Family::Normal, mean);
            let design = Design::new(&log, &policy, &question, 0.0, Precision::F64).unwrap();
            (design, Risk::new(&question, &policy).unwrap())
        };
        let ((d1, clp), (d2, network)) = (ready(clp(m)), ready(network(m)));
        let (engine, mut s1, mut s2) = (Engine::single(), Vec::new(), Vec::new());
        let t = race(
            4.0,
            (100_000 / n).max(1),
            &mut [&mut || clp.ask(&engine, &d1, &mut s1).unwrap(), &mut || network.ask(&engine, &d2, &mut s2).unwrap()],
        );
        let m_rows = |t: f64| n as f64 / t / 1e6;
        println!("{n:>8} {d:>4} {m:>4} | {:>7.2} {:>7.2} | {:>11.2}", m_rows(t[0]), m_rows(t[1]), t[1] / t[0]);
    }
}
