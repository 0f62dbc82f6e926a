//! Demirer et al. 2019: doubly robust coefficients of a cost that is a polynomial in the action.
//!
//! ```text
//! E[y|x, a] = <theta(x), phi(a)>,   phi(a) = (1, u, .., u^k),   u = a in units of its std
//! theta_dr = theta_hat(x) + Sigma(x)^-1 phi(a) (y - <theta_hat(x), phi(a)>),   Sigma(x) = E[phi phi^T | x] under the log
//! ```
//!
//! If Sigma is right, theta_dr has mean theta(x) whatever theta_hat is. theta_hat is a ridge regression on
//! psi(x) (x) phi(a), fitted on the other folds. The policy then minimises the mean of <theta_dr_i, phi(pi(x_i))> over rules
//! linear in psi, or is greedy in a regression of theta_dr on psi.
//!
//! Sigma needs moments of the logging policy, and a log holds its density at one action a row. Unless the moments are
//! given as a function ([`Demirer::fit_knowing`]) they come from a location model, a = m(x) + e with m linear and e
//! independent of x, whose moments are those of the residuals. It is exact for both logging policies of Table 3 (one that ignores the
//! context, one whose mean is linear in it), and always gives a positive definite Sigma, which regressing
//! each moment on x by itself does not.

use super::rows::{Centre, Rows, descend, dot, ridge, solve};
use crate::features::ContextKind;
use crate::math;
use crate::policy::{Rule, RulePolicy, columns, polynomial};
use crate::{Error, Log, Result};
use serde::{Deserialize, Serialize};

/// Folds of the cross-fitting.
const FOLDS: usize = 5;

/// Actions the greedy rule looks at.
const ACTIONS: usize = 101;

/// Steps of L-BFGS a start, for linear rules.
const STEPS: usize = 200;

/// What minimises the mean of <theta_dr, phi>.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// A rule linear in psi.
    Linear,
    /// The best action for a ridge regression of theta_dr on psi.
    #[default]
    Greedy,
}

/// Settings of Demirer's method.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Demirer {
    /// The columns of theta_hat and of the rule.
    pub map: ContextKind,
    /// Degree of phi, 1 to 4.
    pub degree: usize,
    /// The ridge of both regressions, > 0; a linear rule pays it for |w|^2 / 2, with costs and actions in units of their stds.
    pub ridge: f64,
    /// The class of rules.
    pub choice: Choice,
}

impl Default for Demirer {
    fn default() -> Self {
        Demirer { map: ContextKind::Quadratic, degree: 2, ridge: 1e-3, choice: Choice::Greedy }
    }
}

/// Raw moments E[u^k | x], k = 0 to 2 degree, for a standardised context; u as in the module.
type Moments<'a> = dyn Fn(&[f64]) -> Vec<f64> + 'a;

impl Demirer {
    /// Learns a rule with the moments of a location model.
    pub fn fit(&self, log: &Log, seed: u64) -> Result<RulePolicy> {
        let rows = Rows::new(log)?;
        let moments = location(&rows, 2 * self.degree)?;
        self.learn(&rows, &moments, seed)
    }

    /// Learns a rule with known moments of the logging policy: `moments(x, m, s)` are E[((a - m)/s)^k | x], k = 0 to
    /// 2 degree, for a context on its own scale.
    pub fn fit_knowing(
        &self,
        log: &Log,
        moments: impl Fn(&[f64], f64, f64) -> Vec<f64>,
        seed: u64,
    ) -> Result<RulePolicy> {
        let rows = Rows::new(log)?;
        let (shift, unit) = rows.action_moments();
        let scaler = rows.scaler.clone();
        let own = |x: &[f64]| {
            let x: Vec<f64> = (0..x.len()).map(|j| x[j] * scaler.unit[j] + scaler.shift[j]).collect();
            moments(&x, shift, unit)
        };
        self.learn(&rows, &own, seed)
    }

    fn learn(&self, rows: &Rows, moments: &Moments, seed: u64) -> Result<RulePolicy> {
        if !(1..=4).contains(&self.degree) {
            return Err(Error::recipe("degree", format!("{} is out of range (must be 1 to 4)", self.degree)));
        }
        let map = rows.map(self.map, seed)?;
        let psi = rows.features(&map);
        let (k, q) = (map.dim(rows.d()), self.degree + 1);
        let (shift, unit) = rows.action_moments();
        let phi: Vec<f64> = rows.a.iter().flat_map(|a| powers((a - shift) / unit, q)).collect();
        let robust = self.robust(rows, &psi, &phi, moments)?;
        let range = rows.range();
        let rule = match self.choice {
            Choice::Greedy => {
                let theta = ridge(&psi, k, &robust, q, &rows.omega, self.ridge)?;
                let ends = rows.quantiles(&[0.01, 0.99]);
                let action = |i: usize| ends[0] + (ends[1] - ends[0]) * i as f64 / (ACTIONS - 1) as f64;
                Rule::Polynomial { map, theta, shift, unit, actions: (0..ACTIONS).map(action).collect() }
            }
            Choice::Linear => {
                let within = range.map(|a| (a - shift) / unit);
                let mut w = self.linear(rows, &psi, &robust, within)?;
                w.iter_mut().for_each(|w| *w *= unit);
                w[k - 1] += shift;
                Rule::Linear { map, w, range: Some(range) }
            }
        };
        Ok(rows.policy(rule, None))
    }

    /// theta_dr of every row, with theta_hat from the other folds.
    fn robust(&self, rows: &Rows, psi: &[f64], phi: &[f64], moments: &Moments) -> Result<Vec<f64>> {
        let (n, q) = (rows.n(), self.degree + 1);
        let k = psi.len() / n;
        let mut out = vec![0.0; n * q];
        for fold in 0..FOLDS {
            let others: Vec<usize> = (0..n).filter(|i| i % FOLDS != fold).collect();
            let mut joint = Vec::with_capacity(others.len() * k * q);
            for &i in &others {
                for f in &psi[i * k..(i + 1) * k] {
                    joint.extend(phi[i * q..(i + 1) * q].iter().map(|p| f * p));
                }
            }
            let y: Vec<f64> = others.iter().map(|i| rows.y[*i]).collect();
            let omega: Vec<f64> = others.iter().map(|i| rows.omega[*i]).collect();
            let theta = ridge(&joint, k * q, &y, 1, &omega, self.ridge)?;
            for i in (fold..n).step_by(FOLDS) {
                let hat = columns(&psi[i * k..(i + 1) * k], &theta);
                let x = &rows.x[i * rows.d()..(i + 1) * rows.d()];
                let t = theta_dr(&hat, &phi[i * q..(i + 1) * q], rows.y[i], &moments(x))?;
                out[i * q..(i + 1) * q].copy_from_slice(&t);
            }
        }
        Ok(out)
    }

    /// The rule linear in psi with the smallest mean of <theta, phi(rule)>, in units of u; actions stay within a range.
    fn linear(&self, rows: &Rows, psi: &[f64], theta: &[f64], within: [f64; 2]) -> Result<Vec<f64>> {
        let (k, q) = (psi.len() / rows.n(), self.degree + 1);
        let y = rows.costs(Centre::Mean);
        let ridge = self.ridge * rows.mean(|i| y[i] * y[i]).sqrt();
        let value = |w: &[f64], grad: &mut [f64]| -> f64 {
            let mut value = 0.0;
            for (i, f) in psi.chunks_exact(k).enumerate() {
                let t = &theta[i * q..(i + 1) * q];
                let raw = dot(w, f);
                let u = raw.clamp(within[0], within[1]);
                value += rows.omega[i] * polynomial(t, u);
                if u == raw {
                    let slope: f64 = (1..q).map(|j| j as f64 * t[j] * math::powi(u, j as i32 - 1)).sum();
                    (0..k).for_each(|j| grad[j] += rows.omega[i] * slope * f[j]);
                }
            }
            for j in 0..k - 1 {
                value += 0.5 * ridge * w[j] * w[j];
                grad[j] += ridge * w[j];
            }
            value
        };
        let starts: Vec<Vec<f64>> = [-1.0, 0.0, 1.0]
            .map(|u| {
                let mut w = vec![0.0; k];
                w[k - 1] = f64::clamp(u, within[0], within[1]);
                w
            })
            .into();
        Ok(descend(STEPS, &starts, value)?.theta)
    }
}

/// theta_hat + Sigma^-1 phi (y - <theta_hat, phi>), Sigma_jk = m_(j+k).
pub fn theta_dr(hat: &[f64], phi: &[f64], y: f64, moments: &[f64]) -> Result<Vec<f64>> {
    let q = phi.len();
    let mut sigma: Vec<f64> = (0..q * q).map(|i| moments[i / q + i % q]).collect();
    let mut step = phi.to_vec();
    solve(&mut sigma, q, &mut step, 1)?;
    let gap = y - dot(hat, phi);
    Ok(hat.iter().zip(step).map(|(t, s)| t + gap * s).collect())
}

/// 1, u, u^2, ..
fn powers(u: f64, q: usize) -> impl Iterator<Item = f64> {
    std::iter::successors(Some(1.0), move |p| Some(p * u)).take(q)
}

/// Moments of u = m(x) + e from the residuals of a regression of u on (x, 1):
///
/// ```text
/// E u^k = sum_j binomial(k, j) m^(k-j) E e^j
/// ```
fn location(rows: &Rows, highest: usize) -> Result<impl Fn(&[f64]) -> Vec<f64>> {
    let map = rows.map(ContextKind::Linear, 0)?;
    let (psi, k) = (rows.features(&map), map.dim(rows.d()));
    let (shift, unit) = rows.action_moments();
    let u: Vec<f64> = rows.a.iter().map(|a| (a - shift) / unit).collect();
    // a touch of ridge: standardised columns may be collinear or constant
    let w = ridge(&psi, k, &u, 1, &rows.omega, 1e-6)?;
    let e: Vec<f64> = psi.chunks_exact(k).zip(&u).map(|(f, u)| u - dot(&w, f)).collect();
    let central: Vec<f64> = (0..=highest).map(|j| rows.mean(|i| math::powi(e[i], j as i32))).collect();
    Ok(move |x: &[f64]| {
        let mut f = vec![0.0; k];
        map.apply(x, &mut f);
        let m = dot(&w, &f);
        (0..=highest)
            .map(|k| {
                let mut binomial = 1.0;
                let terms = (0..=k).map(|j| {
                    let term = binomial * math::powi(m, (k - j) as i32) * central[j];
                    binomial *= (k - j) as f64 / (j + 1) as f64;
                    term
                });
                terms.sum()
            })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{spread, uniform_log};
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    /// u uniform on (-1, 1): E u^k = 1/(k + 1) for even k. y = 2 - u + 3 u^2 + noise, and a theta_hat that is wrong.
    #[test]
    fn theta_dr_is_unbiased_whatever_theta_hat_is() {
        let moments = [1.0, 0.0, 1.0 / 3.0, 0.0, 0.2];
        let truth = [2.0, -1.0, 3.0];
        let n = 200_000;
        for hat in [[0.0; 3], [5.0, 2.0, -4.0]] {
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            let (mut sum, mut squares) = ([0.0; 3], [0.0; 3]);
            for _ in 0..n {
                let u = 2.0 * rng.random::<f64>() - 1.0;
                let y = 2.0 - u + 3.0 * u * u + rng.random::<f64>() - 0.5;
                let t = theta_dr(&hat, &[1.0, u, u * u], y, &moments).expect("definite");
                (0..3).for_each(|j| {
                    sum[j] += t[j];
                    squares[j] += t[j] * t[j];
                });
            }
            for j in 0..3 {
                let mean = sum[j] / f64::from(n);
                let error = ((squares[j] / f64::from(n) - mean * mean) / f64::from(n)).sqrt();
                assert!((mean - truth[j]).abs() < 4.0 * error, "{hat:?} {j}: {mean} ± {error}");
            }
        }
    }

    /// The location model's moments against their definition: actions uniform on (0, 3), whatever x.
    #[test]
    fn moments_of_the_location_model() {
        let log = uniform_log(20_000, |_, _| 0.0);
        let rows = Rows::new(&log).expect("rows");
        // u is uniform on (-sqrt 3, sqrt 3)
        let moments = location(&rows, 4).expect("moments")(&[0.4]);
        for (m, t) in moments.iter().zip([1.0, 0.0, 1.0, 0.0, 1.8]) {
            assert!((m - t).abs() < 0.03, "{moments:?}");
        }
    }

    #[test]
    fn recovers_the_rule_of_a_quadratic_cost() {
        let log = uniform_log(3000, |x, a| (a - 1.0 - x).powi(2));
        for choice in [Choice::Linear, Choice::Greedy] {
            let settings = Demirer { choice, map: ContextKind::Linear, ..Demirer::default() };
            let error = spread(&settings.fit(&log, 0).expect("learned"), |x| 1.0 + x);
            assert!(error < 0.1, "{choice:?} {error}");
            // moments of the uniform on (0, 3), integrated
            let known = |_: &[f64], m: f64, s: f64| -> Vec<f64> {
                (0..5)
                    .map(|k| (0..3000).map(|i| ((0.0005 + f64::from(i) * 0.001 - m) / s).powi(k)).sum::<f64>() / 3000.0)
                    .collect()
            };
            let error = spread(&settings.fit_knowing(&log, known, 0).expect("learned"), |x| 1.0 + x);
            assert!(error < 0.1, "{choice:?} {error}");
        }
    }
}
