//! An evaluation of the objective allocates nothing once the buffers have their size.

#![allow(missing_docs, clippy::unwrap_used)]

use counterpoint::features::{ActionMap, ContextKind, ContextMap, MapOptions, Scaler};
use counterpoint::folds::{Crm, Design, Precision, Question};
use counterpoint::optim::Objective;
use counterpoint::policy::{Family, Mean, Parts, Std};
use counterpoint::{Engine, Estimator, Log, Policy};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// An allocator cannot be written without it; the library itself has none.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn evaluations_do_not_allocate() {
    let n = 3000;
    let wave = |f: f64| (0..n).map(|i| (f * i as f64).sin()).collect::<Vec<_>>();
    let log = Log::builder()
        .context("x", wave(0.7))
        .action("a", wave(1.3).iter().map(|v| 2.0 + v).collect())
        .cost("y", wave(2.1))
        .propensity("p", wave(0.9).iter().map(|v| 0.3 + 0.2 * v).collect())
        .build()
        .unwrap();
    let actions = ActionMap::new(vec![1.0, 1.7, 2.2, 2.9, 3.0], 1, None).unwrap();
    for &family in Family::ALL {
        for (name, mean) in examples(family, &actions) {
            check(&log, &format!("{family:?} {name}"), family, mean);
        }
    }
}

/// Every mean model, on maps that need no data.
fn examples(family: Family, actions: &ActionMap) -> Vec<(String, Mean)> {
    let x: Vec<f64> = (0..60).map(|i| (0.7 * f64::from(i)).sin()).collect();
    let how = MapOptions { buckets: 2, centres: 3, bandwidth: Some(0.8), seed: 5 };
    let map = |kind: ContextKind| ContextMap::learn(kind, &x, 1, how);
    Mean::examples(&Parts { map: &map, actions: actions.clone(), support: family.support() }).unwrap()
}

fn check(log: &Log, what: &str, family: Family, mean: Mean) {
    let theta = mean.start(&[2.0], 1, &mut || 0.3);
    let policy = Policy {
        origin: None,
        inputs: Vec::new(),
        contexts: log.schema().contexts.clone(),
        actions: log.schema().actions.clone(),
        scaler: Scaler::identity(1),
        family,
        mean,
        std: Std::Learned { floor: vec![0.0] },
        theta: theta.into_iter().chain([0.1]).collect(),
    };
    let mut question = Question::new(Estimator::soft_clipped(3.0));
    question.variance_penalty = 1.0;
    let engine = Engine::single();
    for precision in [Precision::F64, Precision::F32] {
        let design = Design::new(log, &policy, &question, 0.0, precision).unwrap();
        let mut crm = Crm::new(&engine, &design, &question, &policy, 1e-3).unwrap();
        let (mut theta, mut grad) = (policy.theta.clone(), vec![0.0; policy.theta.len()]);
        crm.eval(&theta, &mut grad).unwrap();
        let before = COUNT.get();
        for _ in 0..5 {
            theta[0] += 0.01;
            crm.eval(&theta, &mut grad).unwrap();
        }
        assert_eq!(COUNT.get() - before, 0, "{what} {precision:?}");
    }
}
