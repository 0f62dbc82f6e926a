//! What the tests share: numbers by formula, small logs and policies, and asking a question in every way there is.

#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)]

use counterpoint::engine::Instructions;
use counterpoint::estimate::LossModel;
use counterpoint::features::{ActionMap, ContextKind, ContextMap, MapOptions, Scaler};
use counterpoint::folds::{Design, Partial, Precision, Question, Risk, truth};
use counterpoint::policy::{Family, Mean, Parts, Std};
use counterpoint::{Engine, Log, Policy};

/// A uniform number in (0, 1) that depends on (i, j) and on nothing else.
pub fn u(i: usize, j: usize) -> f64 {
    let mut h = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add((j as u64 + 1) << 32);
    for m in [0xbf58_476d_1ce4_e5b9u64, 0x94d0_49bb_1331_11eb] {
        h = (h ^ (h >> 30)).wrapping_mul(m);
    }
    ((h ^ (h >> 31)) >> 11) as f64 / (1u64 << 53) as f64 + 1e-17
}

/// A standard normal number, by Box and Muller.
pub fn normal(i: usize, j: usize) -> f64 {
    (-2.0 * u(i, 2 * j).ln()).sqrt() * (2.0 * std::f64::consts::PI * u(i, 2 * j + 1)).cos()
}

/// |a - b| within `tolerance` of `scale`.
#[track_caller]
pub fn close(a: f64, b: f64, tolerance: f64, what: &str) {
    let scale = a.abs().max(b.abs());
    assert!(
        (a - b).abs() <= tolerance * scale || a == b,
        "{what}: {a} and {b} differ by {:.1e} of {scale}",
        (a - b) / scale
    );
}

/// Entry by entry, relative to the largest entry.
#[track_caller]
pub fn all_close(a: &[f64], b: &[f64], tolerance: f64, what: &str) {
    assert_eq!(a.len(), b.len(), "{what}: lengths");
    let scale = b.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    for (i, (x, y)) in a.iter().zip(b).enumerate() {
        assert!(
            (x - y).abs() <= tolerance * scale,
            "{what}, entry {i}: {x} and {y} differ by {:.1e} of {scale}",
            (x - y) / scale
        );
    }
}

/// The columns of a log, before it is one.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    pub x: Vec<Vec<f64>>,
    pub a: Vec<Vec<f64>>,
    pub p: Vec<f64>,
    pub y: Vec<f64>,
    pub omega: Option<Vec<f64>>,
}

impl Columns {
    pub fn log(&self) -> Log {
        let mut b = Log::builder().cost("cost", self.y.clone()).propensity("propensity", self.p.clone());
        for (j, x) in self.x.iter().enumerate() {
            b = b.context(&format!("x{j}"), x.clone());
        }
        for (c, a) in self.a.iter().enumerate() {
            b = b.action(&format!("a{c}"), a.clone());
        }
        if let Some(w) = &self.omega {
            b = b.count("rows", w.clone());
        }
        b.build().unwrap()
    }

    /// The rows at these positions, in this order.
    pub fn take(&self, rows: &[usize]) -> Columns {
        let pick = |v: &Vec<f64>| rows.iter().map(|&i| v[i]).collect::<Vec<f64>>();
        Columns {
            x: self.x.iter().map(pick).collect(),
            a: self.a.iter().map(pick).collect(),
            p: pick(&self.p),
            y: pick(&self.y),
            omega: self.omega.as_ref().map(pick),
        }
    }

    pub fn rows(&self) -> usize {
        self.y.len()
    }

    pub fn context(&self, i: usize) -> Vec<f64> {
        self.x.iter().map(|c| c[i]).collect()
    }

    pub fn action(&self, i: usize) -> Vec<f64> {
        self.a.iter().map(|c| c[i]).collect()
    }
}

/// n rows, d contexts in [-1, 1], q positive actions drawn from [`logging`], costs with a minimum that moves with x.
pub fn columns(n: usize, d: usize, q: usize, seed: usize) -> Columns {
    let policy = logging(d, q);
    let mut c = Columns { x: vec![Vec::new(); d], a: vec![Vec::new(); q], ..Columns::default() };
    for i in 0..n {
        let x: Vec<f64> = (0..d).map(|j| 2.0 * u(i, 100 * seed + j) - 1.0).collect();
        let (a, log_density) = policy.sample(&x, seed as u64, i as u64);
        let miss: f64 = a.iter().map(|a| (a - 1.5 - 0.5 * x[0]).abs()).sum();
        c.y.push((miss + 0.1 * normal(i, 100 * seed + 50)).min(2.5) - 1.2);
        c.p.push(log_density.exp());
        c.x.iter_mut().zip(x).for_each(|(c, v)| c.push(v));
        c.a.iter_mut().zip(a).for_each(|(c, v)| c.push(v));
    }
    c
}

/// The policy behind [`columns`]: log-normal, mean 2 and std 1, whatever the context.
pub fn logging(d: usize, q: usize) -> Policy {
    let (x, a) = (names("x", d), names("a", q));
    let x: Vec<&str> = x.iter().map(String::as_str).collect();
    let a: Vec<&str> = a.iter().map(String::as_str).collect();
    Policy::constant(Family::LogNormal, &x, &a, &vec![2.0; q], &vec![1.0; q]).unwrap()
}

pub fn names(stem: &str, n: usize) -> Vec<String> {
    (0..n).map(|j| format!("{stem}{j}")).collect()
}

/// Every mean model there is, by name.
pub fn means() -> Vec<String> {
    let log = columns(20, 2, 1, 1).log();
    examples(Family::Normal, &log).into_iter().map(|(name, _)| name).collect()
}

/// Small members of every mean model, on maps learned from a log.
pub fn examples(family: Family, log: &Log) -> Vec<(String, Mean)> {
    let (x, _) = log.thin(10_000);
    let how = MapOptions { buckets: 2, centres: 3, bandwidth: Some(0.8), seed: 5 };
    let map = |kind: ContextKind| ContextMap::learn(kind, &x, log.d(), how);
    Mean::examples(&Parts { map: &map, actions: anchors(log.q()), support: family.support() }).unwrap()
}

/// Every way to have a std: name, and whether it is a parameter, with which floor.
pub const STDS: [(&str, Option<f64>); 3] =
    [("learned", Some(0.0)), ("learned above a floor", Some(0.2)), ("fixed", None)];

/// Anchors on a diagonal line through the logged actions, not quite regular.
pub fn anchors(q: usize) -> ActionMap {
    let z = (0..4)
        .flat_map(|j| (0..q).map(move |c| 0.6 + 0.75 * j as f64 + 0.1 * (j * j) as f64 + 0.2 * c as f64))
        .collect();
    ActionMap::new(z, q, Some(1.3)).unwrap()
}

/// A policy of this structure, with parameters by formula that keep it close to the log.
pub fn policy(mean: &str, family: Family, std: Option<f64>, log: &Log) -> Policy {
    let (d, q) = (log.d(), log.q());
    let found = examples(family, log).into_iter().find(|(name, _)| name == mean);
    let (_, mean) = found.unwrap_or_else(|| panic!("no mean {mean:?}"));
    let std = match std {
        Some(floor) => Std::Learned { floor: vec![floor; q] },
        None => Std::Fixed { value: vec![0.5; q] },
    };
    let mut p = Policy {
        origin: None,
        inputs: Vec::new(),
        contexts: log.schema().contexts.clone(),
        actions: log.schema().actions.clone(),
        scaler: Scaler { shift: vec![0.1; d], unit: vec![0.9; d] },
        family,
        mean,
        std,
        theta: Vec::new(),
    };
    // around a mean of 1.7
    let mut draws = 0;
    let start = p.mean.start(&vec![1.7; q], d, &mut || {
        draws += 1;
        normal(draws, 902)
    });
    p.theta = start.iter().enumerate().map(|(i, t)| t + 0.5 * (u(i, 900) - 0.5)).collect();
    p.theta.extend((0..p.std.parameters()).map(|c| -0.6 + 0.1 * c as f64));
    p
}

/// A loss model by formula on the anchors.
pub fn loss_model(d: usize, q: usize) -> LossModel {
    let map = ContextMap::Linear;
    let actions = anchors(q);
    let coef = (0..map.dim(d) * actions.len()).map(|i| 0.8 * (u(i, 901) - 0.5)).collect();
    LossModel { scaler: Scaler { shift: vec![0.05; d], unit: vec![1.1; d] }, map, actions, coef, intercept: -0.3 }
}

/// A risk ready to be asked.
pub fn risk(log: &Log, policy: &Policy, question: &Question) -> (Design, Risk) {
    let design = Design::new(log, policy, question, 0.0, Precision::F64).unwrap();
    let risk = Risk::new(question, policy).unwrap();
    (design, risk)
}

/// The answer of the kernel on one thread.
pub fn ask(log: &Log, policy: &Policy, question: &Question) -> Partial {
    let (design, risk) = risk(log, policy, question);
    let mut slots = Vec::new();
    risk.ask(&Engine::single(), &design, &mut slots).unwrap();
    slots.swap_remove(0)
}

/// An answer with its value and its gradient in theta.
pub struct Answer {
    pub way: &'static str,
    pub partial: Partial,
    pub value: f64,
    pub grad: Vec<f64>,
}

/// The same question through the plain loop, the kernel, and the kernel with the narrowest instructions.
pub fn every_way(log: &Log, policy: &Policy, question: &Question) -> Vec<Answer> {
    let (design, fast) = risk(log, policy, question);
    let engine = Engine::single();
    let plain = truth::ask(&fast, &engine, &design).unwrap();
    let kernel = ask(log, policy, question);
    let mut slots = Vec::new();
    fast.ask(&Engine::single().using(Instructions::all()[0]), &design, &mut slots).unwrap();
    [("plain loop", plain), ("kernel", kernel), ("portable kernel", slots.swap_remove(0))]
        .into_iter()
        .map(|(way, partial)| {
            let mut grad = vec![0.0; policy.theta.len()];
            let value = fast.value(&partial, &mut grad, &mut Vec::new());
            Answer { way, partial, value, grad }
        })
        .collect()
}

/// Adaptive Simpson over a range cut into pieces, the independent judge of integrals.
pub fn integral(f: &dyn Fn(f64) -> f64, a: f64, b: f64) -> f64 {
    fn simpson(f: &dyn Fn(f64) -> f64, a: f64, b: f64, tolerance: f64, depth: u32) -> f64 {
        let (c, h) = (0.5 * (a + b), b - a);
        let whole = h / 6.0 * (f(a) + 4.0 * f(c) + f(b));
        let halves = h / 12.0 * (f(a) + 4.0 * f(0.5 * (a + c)) + 2.0 * f(c) + 4.0 * f(0.5 * (c + b)) + f(b));
        if depth == 0 || (halves - whole).abs() < 15.0 * tolerance {
            return halves + (halves - whole) / 15.0;
        }
        simpson(f, a, c, tolerance / 2.0, depth - 1) + simpson(f, c, b, tolerance / 2.0, depth - 1)
    }
    let w = (b - a) / 32.0;
    (0..32).map(|i| simpson(f, a + f64::from(i) * w, a + f64::from(i + 1) * w, 1e-13, 24)).sum()
}
