//! Our side of `scripts/bench-peers`: the objective of a problem written by `scripts/peers/make_problem.py`.
//!
//! ```text
//! peer DIR --mode time [--seconds 3] [--threads 1] [--precision f64|f32]
//! peer DIR --mode fit  [--threads 1]
//! ```
//!
//! Prints one line of JSON with the fields of `jax_peer.py`. The problem's psi_A is the identity at the anchors, which a
//! kernel so narrow that no anchor sees another gives; its features have the constant last, as ours do.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

use counterpoint::features::{ActionMap, ContextMap, Scaler};
use counterpoint::folds::{Crm, Design, Precision, Question};
use counterpoint::optim::{Lbfgs, Objective, Optimiser, Proximal};
use counterpoint::policy::{Clp, Family, Mean, Std};
use counterpoint::{Engine, Estimator, Log, Policy};
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

struct Problem {
    spec: Value,
    log: Log,
    policy: Policy,
    question: Question,
}

fn numbers(folder: &Path, name: &str) -> Vec<f64> {
    let bytes = std::fs::read(folder.join(format!("{name}.f64"))).unwrap();
    bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
}

fn problem(folder: &Path) -> Problem {
    let spec: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("problem.json")).unwrap()).unwrap();
    let d = spec["d"].as_u64().unwrap() as usize;
    let x = numbers(folder, "x");
    let mut builder = Log::builder();
    for j in 0..d - 1 {
        builder = builder.context(&format!("x{j}"), x.iter().skip(j).step_by(d).copied().collect());
    }
    let log = builder
        .action("a", numbers(folder, "action"))
        .propensity("p", numbers(folder, "log_propensity").iter().map(|v| v.exp()).collect())
        .cost("y", numbers(folder, "cost"))
        .build()
        .unwrap();
    let actions = ActionMap::new(numbers(folder, "anchors"), 1, Some(1e12)).unwrap();
    let temperature = spec["gamma"].as_f64().unwrap();
    let policy = Policy {
        origin: None,
        inputs: Vec::new(),
        contexts: log.schema().contexts.clone(),
        actions: log.schema().actions.clone(),
        scaler: Scaler::identity(d - 1),
        family: Family::Normal,
        mean: Mean::Clp(Clp { map: ContextMap::Linear, actions, temperature }),
        std: Std::Learned { floor: vec![0.0] },
        theta: numbers(folder, "theta"),
    };
    let mut question = Question::new(Estimator::soft_clipped(spec["cap"].as_f64().unwrap()));
    question.variance_penalty = spec["variance_penalty"].as_f64().unwrap();
    Problem { spec, log, policy, question }
}

fn time(crm: &mut Crm, theta: &[f64], rows: usize, seconds: f64) -> Value {
    let mut grad = vec![0.0; theta.len()];
    let mut value = 0.0;
    let mut times = Vec::new();
    (0..5).for_each(|_| value = crm.eval(theta, &mut grad).unwrap());
    let start = Instant::now();
    while times.len() < 5 || start.elapsed().as_secs_f64() < seconds {
        let t = Instant::now();
        value = crm.eval(theta, &mut grad).unwrap();
        times.push(t.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    let norm = grad.iter().map(|g| g * g).sum::<f64>().sqrt();
    json!({ "rows_per_second": rows as f64 / median, "value": value, "grad_norm": norm, "median_ms": 1e3 * median })
}

fn fit(crm: &mut Crm, theta: &[f64], spec: &Value, history: Option<usize>) -> Value {
    // a longer memory, carried from one proximal step to the next, where one is asked for
    let usual = Lbfgs::default();
    let solver = Proximal {
        kappa: spec["kappa"].as_f64().unwrap(),
        outer: spec["outer"].as_u64().unwrap() as usize,
        carry: history.is_some(),
        ..Proximal::new(Lbfgs { history: history.unwrap_or(usual.history), ..usual })
    };
    crm.eval(theta, &mut vec![0.0; theta.len()]).unwrap();
    let (mut trace, start) = (Vec::new(), Instant::now());
    let found = solver
        .minimise(crm, theta, &mut |p| {
            trace.push(json!([start.elapsed().as_secs_f64(), p.value, p.evaluations]));
            ControlFlow::Continue(())
        })
        .unwrap();
    let seconds = start.elapsed().as_secs_f64();
    json!({
        "seconds": seconds, "evaluations": found.evaluations, "value": found.value, "theta": found.theta, "trace": trace
    })
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str, default: &str| {
        let at = arguments.iter().position(|a| a == name);
        at.and_then(|i| arguments.get(i + 1)).map_or(default, |v| v).to_string()
    };
    let p = problem(Path::new(&arguments[0]));
    let engine = Engine::new(option("--threads", "1").parse().unwrap()).unwrap();
    let precision = if option("--precision", "f64") == "f32" { Precision::F32 } else { Precision::F64 };
    let design = Design::new(&p.log, &p.policy, &p.question, 0.0, precision).unwrap();
    let ridge = p.spec["ridge"].as_f64().unwrap();
    let mut crm = Crm::new(&engine, &design, &p.question, &p.policy, ridge).unwrap();
    let report = match option("--mode", "time").as_str() {
        "fit" => fit(&mut crm, &p.policy.theta, &p.spec, option("--carry", "").parse().ok()),
        _ => time(&mut crm, &p.policy.theta, p.log.rows(), option("--seconds", "3").parse().unwrap()),
    };
    println!("{report}");
}
