//! The problems of `optim.rs`, the same functions as in `make_optim_scipy.py` beside this file.
//!
//! A problem keeps every point it was asked about and refuses to be asked twice, so that each run of the table also
//! tests that solvers do not waste passes.

use std::collections::HashSet;

use counterpoint::optim::Objective;
use serde_json::Value;

pub(crate) type Function = Box<dyn FnMut(&[f64], &mut [f64]) -> f64>;

/// A problem that remembers every point it was asked about.
pub(crate) struct Problem {
    pub(crate) start: Vec<f64>,
    pub(crate) f: Function,
    pub(crate) evaluations: usize,
    pub(crate) seen: HashSet<Vec<u64>>,
}

impl Problem {
    pub(crate) fn new(start: &[f64], f: impl FnMut(&[f64], &mut [f64]) -> f64 + 'static) -> Self {
        Problem { start: start.to_vec(), f: Box::new(f), evaluations: 0, seen: HashSet::new() }
    }

    pub(crate) fn value(&mut self, theta: &[f64]) -> f64 {
        (self.f)(theta, &mut vec![0.0; theta.len()])
    }
}

impl Objective for Problem {
    fn dim(&self) -> usize {
        self.start.len()
    }

    fn eval(&mut self, theta: &[f64], grad: &mut [f64]) -> counterpoint::Result<f64> {
        self.evaluations += 1;
        let fresh = self.seen.insert(theta.iter().map(|t| t.to_bits()).collect());
        assert!(fresh, "evaluated twice: {theta:?}");
        Ok((self.f)(theta, grad))
    }
}

pub(crate) fn figures() -> Value {
    serde_json::from_str(include_str!("optim_scipy.json")).unwrap()
}

fn numbers(v: &Value) -> Vec<f64> {
    v.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn rows(v: &Value) -> Vec<Vec<f64>> {
    v.as_array().unwrap().iter().map(numbers).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(crate) const PROBLEMS: [&str; 12] = [
    "sphere",
    "quadratic",
    "rosenbrock_2",
    "rosenbrock_10",
    "beale",
    "booth",
    "himmelblau",
    "logistic",
    "log_sum_exp",
    "log_wall",
    "crm",
    "crm_far",
];

pub(crate) fn problem(name: &str, figures: &Value) -> Problem {
    let start = numbers(&figures["problems"][name]["start"]);
    let data = &figures["data"][name];
    let f: Function = match name {
        "sphere" => Box::new(|x, g| {
            g.iter_mut().zip(x).for_each(|(g, x)| *g = 2.0 * x);
            dot(x, x)
        }),
        "quadratic" => Box::new(|x, g| {
            let mut sum = 0.0;
            for i in 0..20 {
                let curvature = 10f64.powf(6.0 * i as f64 / 19.0);
                g[i] = curvature * (x[i] - 1.0);
                sum += 0.5 * curvature * (x[i] - 1.0).powi(2);
            }
            sum
        }),
        "rosenbrock_2" | "rosenbrock_10" => Box::new(rosenbrock),
        "beale" => Box::new(|x, g| {
            let (a, b) = (x[0], x[1]);
            let mut sum = 0.0;
            g.fill(0.0);
            for (i, c) in [(1, 1.5), (2, 2.25), (3, 2.625)] {
                let r = c - a + a * b.powi(i);
                sum += r * r;
                g[0] += 2.0 * r * (b.powi(i) - 1.0);
                g[1] += 2.0 * r * a * i as f64 * b.powi(i - 1);
            }
            sum
        }),
        "booth" => Box::new(|x, g| {
            let (r, s) = (x[0] + 2.0 * x[1] - 7.0, 2.0 * x[0] + x[1] - 5.0);
            (g[0], g[1]) = (2.0 * r + 4.0 * s, 4.0 * r + 2.0 * s);
            r * r + s * s
        }),
        "himmelblau" => Box::new(|x, g| {
            let (r, s) = (x[0] * x[0] + x[1] - 11.0, x[0] + x[1] * x[1] - 7.0);
            (g[0], g[1]) = (4.0 * x[0] * r + 2.0 * s, 2.0 * r + 4.0 * x[1] * s);
            r * r + s * s
        }),
        "logistic" => logistic(data),
        "log_sum_exp" => log_sum_exp(data),
        "log_wall" => Box::new(log_wall),
        "crm" | "crm_far" => crm(&figures["data"]["crm"]),
        _ => unreachable!("{name}"),
    };
    Problem::new(&start, f)
}

fn rosenbrock(x: &[f64], g: &mut [f64]) -> f64 {
    let mut sum = 0.0;
    for i in (0..x.len()).step_by(2) {
        let (a, b) = (x[i], x[i + 1]);
        let r = b - a * a;
        g[i] = -400.0 * a * r - 2.0 * (1.0 - a);
        g[i + 1] = 200.0 * r;
        sum += 100.0 * r * r + (1.0 - a) * (1.0 - a);
    }
    sum
}

/// sum x - log x, which is not a number unless every x is positive.
fn log_wall(x: &[f64], g: &mut [f64]) -> f64 {
    let mut sum = 0.0;
    for i in 0..x.len() {
        g[i] = if x[i] > 0.0 { 1.0 - 1.0 / x[i] } else { f64::NAN };
        sum += x[i] - x[i].ln();
    }
    sum
}

fn logistic(data: &Value) -> Function {
    let (x, y) = (rows(&data["x"]), numbers(&data["y"]));
    Box::new(move |t, g| {
        let n = y.len() as f64;
        let mut sum = 0.05 * dot(t, t);
        g.iter_mut().zip(t).for_each(|(g, t)| *g = 0.1 * t);
        for (x, y) in x.iter().zip(&y) {
            let m = y * dot(x, t);
            sum += ((-m.abs()).exp().ln_1p() + (-m).max(0.0)) / n;
            g.iter_mut().zip(x).for_each(|(g, x)| *g -= y * x / (1.0 + m.exp()) / n);
        }
        sum
    })
}

fn log_sum_exp(data: &Value) -> Function {
    let (a, b) = (rows(&data["a"]), numbers(&data["b"]));
    Box::new(move |t, g| {
        let z: Vec<f64> = a.iter().zip(&b).map(|(a, b)| dot(a, t) + b).collect();
        let m = z.iter().fold(f64::NEG_INFINITY, |m, z| m.max(*z));
        let total: f64 = z.iter().map(|z| (z - m).exp()).sum();
        g.iter_mut().zip(t).for_each(|(g, t)| *g = 0.01 * t);
        for (a, z) in a.iter().zip(&z) {
            g.iter_mut().zip(a).for_each(|(g, a)| *g += a * (z - m).exp() / total);
        }
        m + total.ln() + 0.005 * dot(t, t)
    })
}

/// Soft-clipped IPS with a variance penalty; Normal policy, its mean a soft argmin over anchors, log sigma last.
fn crm(data: &Value) -> Function {
    let (x, a) = (rows(&data["x"]), numbers(&data["action"]));
    let (p, y) = (numbers(&data["propensity"]), numbers(&data["cost"]));
    let anchors = numbers(&data["anchors"]);
    let [gamma, cap, lambda] = ["gamma", "cap", "lambda"].map(|k| data[k].as_f64().unwrap());
    let alpha = (0..60).fold(2.0f64, |a, _| a - (a * a.ln() - cap) / (a.ln() + 1.0));
    Box::new(move |t, g| {
        let (n, m, s) = (a.len() as f64, anchors.len(), t[t.len() - 1]);
        let mut terms = Vec::new();
        for i in 0..a.len() {
            let x = [x[i][0], x[i][1], 1.0];
            let z: Vec<f64> = (0..m).map(|j| -gamma * (0..3).map(|k| x[k] * t[k * m + j]).sum::<f64>()).collect();
            let top = z.iter().fold(f64::NEG_INFINITY, |m, z| m.max(*z));
            let total: f64 = z.iter().map(|z| (z - top).exp()).sum();
            let q: Vec<f64> = z.iter().map(|z| (z - top).exp() / total).collect();
            let mu = dot(&q, &anchors);
            let u = (a[i] - mu) / s.exp();
            let w = (-0.5 * u * u - s - 0.5 * (2.0 * std::f64::consts::PI).ln() - p[i].ln()).exp();
            let (zeta, slope) =
                if w > cap { (alpha * (w + alpha - cap).ln(), alpha / (w + alpha - cap)) } else { (w, 1.0) };
            terms.push((y[i] * zeta, y[i] * slope * w, x, q, mu, u));
        }
        let mean = terms.iter().map(|r| r.0).sum::<f64>() / n;
        let var = terms.iter().map(|r| (r.0 - mean).powi(2)).sum::<f64>() / (n - 1.0);
        g.fill(0.0);
        for (r, dr, x, q, mu, u) in &terms {
            let k = dr * (1.0 / n + lambda * (r - mean) / ((n - 1.0) * (var * n).sqrt()));
            for j in 0..m {
                let dz = k * u / s.exp() * q[j] * (anchors[j] - mu);
                (0..3).for_each(|i| g[i * m + j] -= gamma * x[i] * dz);
            }
            g[3 * m] += k * (u * u - 1.0);
        }
        mean + lambda * (var / n).sqrt()
    })
}
