//! The kernel against the plain loop, over everything it claims to compute.

use crate::data::Log;
use crate::engine::{Engine, Instructions};
use crate::estimate::{Estimator, Form, LossModel, Normalise, Weight};
use crate::features::{ActionMap, ContextMap, Scaler};
use crate::folds::risk::{Partial, Risk, truth};
use crate::folds::{Design, Precision, Question};
use crate::policy::{Clp, Family, Linear, Link, Mean, Network, Policy, Std};

/// Neither a multiple of a strip nor of a block.
const ROWS: usize = 2 * 1024 + 77;

fn u(i: usize, j: usize) -> f64 {
    let h = (i as u64 * 1_000_003 + j as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((h ^ (h >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64 / (1u64 << 53) as f64
}

fn log(q: usize) -> Log {
    let column = |j: usize, low: f64, high: f64| (0..ROWS).map(|i| low + (high - low) * u(i, j)).collect::<Vec<_>>();
    let mut builder = Log::builder().context("x", column(0, -1.0, 1.0)).context("z", column(1, -2.0, 0.5));
    for c in 0..q {
        builder = builder.action(&format!("a{c}"), column(10 + c, 0.3, 4.0));
    }
    // small propensities in some rows, so that weights pass the cap
    let p = (0..ROWS).map(|i| if i % 7 == 0 { 0.004 } else { 0.1 + 0.3 * u(i, 20) }).collect();
    builder.cost("y", column(21, -1.0, 0.4)).propensity("p", p).weight("w", column(22, 0.0, 2.0)).build().unwrap()
}

fn policy(log: &Log, family: Family, mean: Mean, scale: f64) -> Policy {
    let q = log.q();
    let mut policy = Policy {
        origin: None,
        inputs: Vec::new(),
        contexts: log.schema().contexts.clone(),
        actions: log.schema().actions.clone(),
        scaler: Scaler::identity(2),
        family,
        mean,
        std: Std::Learned { floor: vec![0.0; q] },
        theta: Vec::new(),
    };
    policy.theta = (0..policy.mean_parameters()).map(|i| scale * (u(i, 30) - 0.5)).collect();
    // around a mean of 1.5
    let start = policy.mean.start(&vec![1.5; q], 2, &mut || 0.4);
    policy.theta.iter_mut().zip(start).for_each(|(t, s)| *t += s);
    policy.theta.extend((0..q).map(|c| -0.3 + 0.2 * c as f64));
    policy
}

fn means(q: usize) -> Vec<(Mean, f64)> {
    let linear = |link| Mean::Linear(Linear { map: ContextMap::Linear, link });
    let mut all = vec![(linear(Link::Identity), 0.3), (linear(Link::Softplus), 0.3)];
    for (units, scale) in [(1, 0.5), (2, 0.5), (3, 0.5), (8, 0.5), (16, 4.0)] {
        all.push((Mean::Network(Network { map: ContextMap::Linear, units, link: Link::Softplus }), scale));
    }
    // every length of the last tile, and scores small and far apart
    for (m, scale) in [(1, 0.5), (2, 0.5), (3, 0.5), (7, 0.5), (12, 0.5), (6, 300.0)] {
        let anchors = (0..m * q).map(|i| 0.4 + 3.5 * u(i, 40)).collect();
        let actions = ActionMap::new(anchors, q, None).unwrap();
        all.push((Mean::Clp(Clp { map: ContextMap::Linear, actions, temperature: 3.0 }), scale));
    }
    all
}

/// The largest difference of sums, and of gradients relative to the largest entry of each gradient.
fn distance(got: &Partial, want: &Partial, risk: &Risk) -> (f64, f64) {
    let relative = |a: f64, b: f64, scale: f64| (a - b).abs() / scale.max(1e-300);
    let s = |p: &Partial| {
        let s = &p.sums;
        [s.n, s.t, s.v, s.tt, s.tv, s.vv, s.y, s.yy, s.ty, s.h]
    };
    // sums of numbers of both signs are held to the size of what is summed
    let (n, root) = (want.sums.n, |x: f64| x.abs().sqrt());
    let w = &want.sums;
    let size = [n, root(n * w.tt), w.v, w.tt, root(w.tt * w.vv), w.vv, root(n * w.yy), w.yy, root(w.tt * w.yy), n];
    let (got_sums, want_sums) = (s(got), s(want));
    let sums = (0..size.len()).fold(0.0, |m: f64, i| m.max(relative(got_sums[i], want_sums[i], size[i])));
    let mut grads = 0.0f64;
    for (a, b) in got.grads.chunks(risk.width()).zip(want.grads.chunks(risk.width())) {
        let top = b.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        grads = a.iter().zip(b).fold(grads, |m, (a, b)| m.max(relative(*a, *b, top)));
    }
    (sums, grads)
}

fn check(precision: Precision, sums: f64, grads: f64) {
    let engine = Engine::single();
    for q in [1, 2] {
        let log = log(q);
        for (mean, scale) in means(q) {
            for &family in Family::ALL {
                let policy = policy(&log, family, mean.clone(), scale);
                for (weight, normalise) in Weight::examples(5.0)
                    .iter()
                    .flat_map(|w| [Normalise::ByRows, Normalise::ByWeights].map(|n| (*w, n)))
                {
                    let mut question = Question::new(Estimator { form: Form::Plain, weight, normalise });
                    (question.variance_penalty, question.entropy) = (0.7, 0.1);
                    let design = Design::new(&log, &policy, &question, 0.1, precision).unwrap();
                    let risk = Risk::new(&question, &policy).unwrap();
                    let want = truth::ask(&risk, &engine, &design).unwrap();
                    let mut first: Option<Partial> = None;
                    for instructions in Instructions::all() {
                        let mut slots = Vec::new();
                        risk.ask(&Engine::single().using(instructions), &design, &mut slots).unwrap();
                        let got = slots.swap_remove(0);
                        let (s, g) = distance(&got, &want, &risk);
                        let case = format!(
                            "{family:?} {weight:?} {normalise:?} q={q} {} parameters {}",
                            policy.theta.len(),
                            instructions.name()
                        );
                        assert!(s < sums && g < grads, "{case}: sums {s:e}, gradients {g:e}");
                        // NaN in neither: so equal numbers are equal bits, but for the sign of 0
                        assert!(first.as_ref().is_none_or(|first| *first == got), "{case}: bits");
                        first = Some(got);
                    }
                }
            }
        }
    }
}

/// Forms with a loss model, those of the vector row stage among them.
#[test]
fn kernel_is_the_plain_loop_with_a_loss_model() {
    let engine = Engine::single();
    let log = log(1);
    let actions = ActionMap::new((0..6).map(|i| 0.4 + 0.6 * f64::from(i)).collect(), 1, None).unwrap();
    let coef = (0..18).map(|i| u(i, 50) - 0.5).collect();
    let model = LossModel { scaler: Scaler::identity(2), map: ContextMap::Linear, actions, coef, intercept: 0.2 };
    let (mean, scale) = means(1).remove(9);
    for form in [Form::Residual, Form::Model] {
        for weight in Weight::examples(5.0) {
            for normalise in [Normalise::ByRows, Normalise::ByWeights] {
                let policy = policy(&log, Family::Normal, mean.clone(), scale);
                let mut question = Question::new(Estimator { form, weight, normalise }).with_model(model.clone());
                (question.variance_penalty, question.entropy) = (0.7, 0.1);
                let design = Design::new(&log, &policy, &question, 0.1, Precision::F64).unwrap();
                let risk = Risk::new(&question, &policy).unwrap();
                let want = truth::ask(&risk, &engine, &design).unwrap();
                let mut first: Option<Partial> = None;
                for instructions in Instructions::all() {
                    let mut slots = Vec::new();
                    risk.ask(&Engine::single().using(instructions), &design, &mut slots).unwrap();
                    let got = slots.swap_remove(0);
                    let (s, g) = distance(&got, &want, &risk);
                    let case = format!("{form:?} {weight:?} {normalise:?} {}", instructions.name());
                    assert!(s < 1e-11 && g < 1e-9, "{case}: sums {s:e}, gradients {g:e}");
                    assert!(first.as_ref().is_none_or(|first| *first == got), "{case}: bits");
                    first = Some(got);
                }
            }
        }
    }
}

#[test]
fn kernel_is_the_plain_loop() {
    check(Precision::F64, 1e-11, 1e-9);
}

#[test]
fn single_precision_follows() {
    check(Precision::F32, 1e-4, 1e-4);
}
