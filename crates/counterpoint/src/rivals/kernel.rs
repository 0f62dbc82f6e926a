//! Kernel smoothing (Kallus & Zhou 2018): the log's costs near the action a rule would take.
//!
//! ```text
//! KS(tau)    = 1/n sum_i K_h(tau(x_i) - a_i) y_i / (p_i Z(tau(x_i)))
//! SN-KS(tau) = the same over 1/n sum_i K_h(tau(x_i) - a_i) / (p_i Z(tau(x_i)))
//! ```
//!
//! over tau linear in psi(x); K_h(u) = K(u/h)/h, and Z is the kernel's mass inside the range of the logged actions, so
//! that nothing is lost at its ends. Both are importance weighting with the kernel as the policy's density, which is
//! how a given policy is evaluated: [`super::RivalPolicy::estimate`].

use super::direct::Direct;
use super::rows::{Centre, Rows, descend, dot};
use crate::estimate::{LossModel, Normalise};
use crate::features::{ContextKind, ContextMap};
use crate::math;
use crate::policy::{Kernel, Noise, Rule, RulePolicy};
use crate::rng::StandardNormal;
use crate::{Engine, Log, Result};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};

/// Constant rules the descent starts from: quantiles of the logged actions.
const LEVELS: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.9];

/// Noise on the coefficients of a start, in units of the std of the logged actions.
const START_NOISE: f64 = 0.1;

/// Steps of L-BFGS a start.
const STEPS: usize = 200;

/// Where h comes from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bandwidth {
    /// A share of the std of the logged actions.
    Share(f64),
    /// The plug-in rule at a rule fitted with the pilot bandwidth; see [`plug_in`].
    PlugIn,
}

/// What happens at the ends of the range of the logged actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Boundary {
    /// The kernel's mass inside is divided out, and rules stay inside.
    #[default]
    Corrected,
    /// Nothing.
    Ignored,
}

/// Settings of KS and SN-KS.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Smoothing {
    /// The kernel.
    pub kernel: Kernel,
    /// Its width.
    pub bandwidth: Bandwidth,
    /// The ends of the range.
    pub boundary: Boundary,
    /// The columns tau is linear in.
    pub map: ContextKind,
    /// What is subtracted from costs; SN-KS moves with it and does not care.
    pub centre: Centre,
    /// Weight of |w|^2 / 2, with costs and actions in units of their stds; the intercept is free.
    pub ridge: f64,
}

impl Default for Smoothing {
    fn default() -> Self {
        Smoothing {
            kernel: Kernel::Gaussian,
            bandwidth: Bandwidth::Share(0.3),
            boundary: Boundary::Corrected,
            map: ContextKind::Linear,
            centre: Centre::Mean,
            ridge: 0.0,
        }
    }
}

impl Smoothing {
    /// Learns a rule; the policy has the kernel as its noise.
    pub fn fit(&self, engine: &Engine, log: &Log, normalise: Normalise, seed: u64) -> Result<RulePolicy> {
        let rows = Rows::new(log)?;
        let (_, std) = rows.action_moments();
        let cost_std = log.cost_summary().std();
        let problem = Problem {
            map: rows.map(self.map, seed)?,
            // a ratio moves with a shift: centring only helps the arithmetic
            costs: rows.costs(if normalise == Normalise::ByWeights { Centre::Mean } else { self.centre }),
            ridge: self.ridge * cost_std / (std * std),
            std,
            normalise,
            seed,
            rows: &rows,
        };
        let range = (self.boundary == Boundary::Corrected).then(|| rows.range());
        let noise = |width| Noise { kernel: self.kernel, width, range };
        let policy = |noise: Noise| -> Result<RulePolicy> {
            let rule = Rule::Linear { map: problem.map.clone(), w: problem.minimise(&noise)?, range };
            Ok(rows.policy(rule, Some(noise)))
        };
        match self.bandwidth {
            Bandwidth::Share(share) => policy(noise(share * std)),
            Bandwidth::PlugIn => {
                let pilot = noise(pilot(&rows, self.kernel));
                let rule = policy(pilot)?.rule;
                let direct = Direct { map: ContextKind::Quadratic, ..Direct::default() };
                // the quadratic map of many contexts has more columns than a log has rows
                let direct = if rows.d() > 10 { Direct { map: ContextKind::Linear, ..direct } } else { direct };
                let model = direct.model(engine, log, &rows, seed)?;
                policy(noise(plug_in(&rows, &problem.costs, &rule, &model, &pilot)))
            }
        }
    }
}

/// Silverman's bandwidth for the density of the actions, as wide for each kernel.
fn pilot(rows: &Rows, kernel: Kernel) -> f64 {
    1.06 * rows.action_moments().1 * math::pow(rows.n() as f64, -0.2) / kernel.variance().sqrt()
}

/// The bandwidth with the smallest asymptotic mean squared error of KS at a rule.
///
/// ```text
/// bias = h^2/2 k2(K) B,   B = E d^2/da^2 eta(x, a) at a = tau(x)
/// variance = R(K) V / (n h),   V = E[ E(y^2 | tau(x), x) / p(tau(x)|x) ]
/// h^5 = R(K) V / (n k2(K)^2 B^2)
/// ```
///
/// V is a kernel estimate with the pilot bandwidth, B a second difference of a ridge regression of the cost over as many.
/// h is kept between a quarter of the pilot and the std of the actions: where B is near 0 the rule has no answer.
pub fn plug_in(rows: &Rows, costs: &[f64], rule: &Rule, model: &LossModel, pilot: &Noise) -> f64 {
    let (d, h) = (rows.d(), pilot.width);
    let (mut v, mut b) = (0.0, 0.0);
    for i in 0..rows.n() {
        let x = &rows.x[i * d..(i + 1) * d];
        let tau = rule.action(x);
        v += rows.omega[i] * pilot.density(tau, rows.a[i]).0 * math::powi(costs[i] / rows.p[i], 2);
        let c = model.coefficients_at(x);
        let eta = |a: f64| model.actions.function(&c, &[a], &mut [0.0]);
        b += rows.omega[i] * (eta(tau + h) - 2.0 * eta(tau) + eta(tau - h)) / (h * h);
    }
    let k = pilot.kernel;
    let fifth = k.roughness() * v / (rows.n() as f64 * math::powi(k.variance(), 2) * b * b);
    math::pow(fifth, 0.2).clamp(0.25 * h, rows.action_moments().1.max(0.25 * h))
}

/// The smoothed cost of rules linear in psi.
struct Problem<'a> {
    rows: &'a Rows,
    map: ContextMap,
    costs: Vec<f64>,
    ridge: f64,
    /// Of the logged actions.
    std: f64,
    normalise: Normalise,
    seed: u64,
}

impl Problem<'_> {
    fn minimise(&self, noise: &Noise) -> Result<Vec<f64>> {
        let psi = self.rows.features(&self.map);
        let k = self.map.dim(self.rows.d());
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut starts = Vec::new();
        for level in self.rows.quantiles(&LEVELS) {
            let mut w = vec![0.0; k];
            w[k - 1] = level;
            starts.push(w.clone());
            w.iter_mut().for_each(|w| *w += START_NOISE * self.std * rng.sample::<f64, _>(StandardNormal));
            starts.push(w);
        }
        Ok(descend(STEPS, &starts, |w, grad| self.value(&psi, noise, w, grad))?.theta)
    }

    fn value(&self, psi: &[f64], noise: &Noise, w: &[f64], grad: &mut [f64]) -> f64 {
        let (rows, k) = (self.rows, w.len());
        let (mut top, mut mass) = (0.0, 0.0);
        let mut mass_grad = vec![0.0; k];
        for (i, f) in psi.chunks_exact(k).enumerate() {
            let (density, slope) = noise.density(dot(w, f), rows.a[i]);
            if density == 0.0 {
                continue;
            }
            let u = rows.omega[i] / rows.p[i];
            top += u * density * self.costs[i];
            mass += u * density;
            if slope != 0.0 {
                for j in 0..k {
                    grad[j] += u * slope * self.costs[i] * f[j];
                    mass_grad[j] += u * slope * f[j];
                }
            }
        }
        let mut value = top;
        if self.normalise == Normalise::ByWeights {
            // a rule that meets no action is worth what the log is: descent then leaves it where it is
            let (over, ratio) = if mass > 0.0 { (mass, top / mass) } else { (1.0, 0.0) };
            (0..k).for_each(|j| grad[j] = (grad[j] - ratio * mass_grad[j]) / over);
            value = ratio;
        }
        for j in 0..k - 1 {
            value += 0.5 * self.ridge * w[j] * w[j];
            grad[j] += self.ridge * w[j];
        }
        value
    }
}

#[cfg(all(test, feature = "simulate"))]
mod tests;
