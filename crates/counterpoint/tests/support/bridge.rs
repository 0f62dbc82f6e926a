//! The golden files and the bridge between their conventions and ours.

#![allow(missing_docs, unreachable_pub)]

use super::support::Columns;
use counterpoint::features::{ActionMap, ContextMap, Scaler};
use counterpoint::policy::{Clp, Family, Linear, Link, Mean, Std};
use counterpoint::{Log, Policy};
use serde_json::Value;

pub fn load(file: &str) -> Value {
    let path = format!("{}/tests/golden/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    serde_json::from_str(&text).unwrap()
}

pub fn num(v: &Value) -> f64 {
    v.as_f64().unwrap()
}

pub fn nums(v: &Value) -> Vec<f64> {
    v.as_array().unwrap().iter().map(num).collect()
}

pub fn entries(v: &Value) -> impl Iterator<Item = (&String, &Value)> {
    v.as_object().unwrap().iter()
}

/// One policy of the file in our parameters.
pub struct Bridge {
    pub name: String,
    pub golden: Value,
    pub policy: Policy,
    /// Our mean parameter o is a sum of factor times golden parameter g.
    links: Vec<(usize, usize, f64)>,
    pub theta: Vec<f64>,
}

impl Bridge {
    pub fn new(name: &str, golden: &Value, file: &Value) -> Self {
        let (m, clp) = (5, &file["meta"]["clp"]);
        let family = if golden["family"] == "normal" { Family::Normal } else { Family::LogNormal };
        let linear = |map: ContextMap| Mean::Linear(Linear { map, link: Link::Identity });
        let predictor = |map: ContextMap| {
            let actions = ActionMap::new(nums(&clp["anchors"]), 1, clp["alpha"].as_f64()).unwrap();
            Mean::Clp(Clp { map, actions, temperature: num(&clp["gamma"]) })
        };
        let root = 0.5f64.sqrt();
        // (our feature, golden feature, factor), for two contexts; the constant of the predictors is not there
        let (mean, columns, features) = match golden["model"].as_str().unwrap() {
            "constant" => (linear(ContextMap::Constant), 1, vec![(0, 0, 1.0)]),
            "linear" => (linear(ContextMap::Linear), 1, vec![(2, 0, 1.0), (0, 1, 1.0), (1, 2, 1.0)]),
            "poly" => {
                (linear(ContextMap::Poly), 1, vec![(3, 0, 1.0), (0, 1, 1.0), (1, 2, 1.0), (1, 3, 1.0), (2, 4, 1.0)])
            }
            "clp_lin" => (predictor(ContextMap::Linear), m, vec![(0, 0, 1.0), (1, 1, 1.0)]),
            "clp_quad" => {
                let squares = vec![(0, 0, 1.0), (1, 1, root), (1, 2, root), (2, 3, 1.0), (3, 4, 1.0), (4, 5, 1.0)];
                (predictor(ContextMap::Quadratic), m, squares)
            }
            other => panic!("no model {other}"),
        };
        let width = features.len();
        let links = (0..columns)
            .flat_map(|l| features.iter().map(move |&(o, g, f)| (o * columns + l, l * width + g, f)))
            .collect();
        let mut policy = Policy {
            origin: None,
            inputs: Vec::new(),
            contexts: vec!["x0".into(), "x1".into()],
            actions: vec!["a0".into()],
            scaler: Scaler::identity(2),
            family,
            mean,
            std: Std::Learned { floor: vec![0.0] },
            theta: Vec::new(),
        };
        policy.theta = vec![0.0; policy.mean_parameters() + 1];
        let mut bridge =
            Bridge { name: name.into(), golden: golden.clone(), policy, links, theta: nums(&golden["theta"]) };
        bridge.policy.theta = bridge.ours(&bridge.theta);
        bridge
    }

    pub fn sigma(&self) -> f64 {
        self.theta[self.theta.len() - 1]
    }

    /// Our theta for a golden one.
    pub fn ours(&self, theta: &[f64]) -> Vec<f64> {
        let mut ours = vec![0.0; self.policy.theta.len()];
        self.links.iter().for_each(|&(o, g, f)| ours[o] += f * theta[g]);
        ours[self.policy.theta.len() - 1] = theta[theta.len() - 1].ln();
        ours
    }

    /// The golden gradient for one of ours.
    pub fn back(&self, grad: &[f64]) -> Vec<f64> {
        let mut golden = vec![0.0; self.theta.len()];
        self.links.iter().for_each(|&(o, g, f)| golden[g] += f * grad[o]);
        golden[self.theta.len() - 1] = grad[grad.len() - 1] / self.sigma();
        golden
    }
}

pub fn log(file: &Value) -> Log {
    let x: Vec<Vec<f64>> = file["data"]["x"].as_array().unwrap().iter().map(nums).collect();
    let column = |name: &str| nums(&file["data"][name]);
    let x = (0..2).map(|j| x.iter().map(|r| r[j]).collect()).collect();
    Columns { x, a: vec![column("a")], p: column("pi0"), y: column("y"), omega: None }.log()
}

/// Runs over the ten policies of the file.
pub fn each_policy(check: impl Fn(&Bridge, &Log, &Value)) {
    let file = load("golden_d2.json");
    let log = log(&file);
    for (name, golden) in entries(&file["policies"]) {
        check(&Bridge::new(name, golden, &file), &log, &file);
    }
    assert_eq!(file["policies"].as_object().unwrap().len(), 10);
}
