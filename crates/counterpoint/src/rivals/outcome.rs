//! O-learning (Chen, Zeng & Kosorok 2016): a regression of the action on the context in which good outcomes pull.
//!
//! ```text
//! min over f of  1/n sum_i R_i l(a_i - f(x_i)) / (phi p_i) + lambda |f|^2,   l(u) = min(|u|/phi, 1),   R_i >= 0
//! ```
//!
//! l is a difference of convex functions, h(u) - max(h(u) - 1, 0) with h(u) = |u|/phi; each round replaces the second by
//! its tangent at the last f and solves the convex problem that is left. h is rounded at its tip,
//! h(u) = (sqrt(u^2 + e^2) - e)/phi with e = phi/100, so that L-BFGS can solve it; tangents still lie below, so every round
//! lowers the objective. Rewards are shifted to start at 0 and divided by their mean, actions are in units of their
//! std: phi and lambda then mean the same on every log. A kernel f is linear in the Nystrom map of the Gaussian kernel,
//! whose coefficients have the norm of the kernel's space: the log's own kernel matrix would be rows x rows.

use super::rows::{Rows, descend, dot};
use crate::features::ContextKind;
use crate::features::anchors::quantile_sorted;
use crate::math;
use crate::policy::{Rule, RulePolicy};
use crate::{Log, Result};
use serde::{Deserialize, Serialize};

/// Constant rules the rounds start from: quantiles of the logged actions.
const LEVELS: [f64; 3] = [0.2, 0.5, 0.8];

/// Each start is followed from this phi, where the loss is nearly convex, down by halves: at a small phi most rows lie
/// where the loss is flat and a start stays where it is.
const WIDEST: f64 = 2.0;

/// At most this many rounds a phi; they stop when the objective does.
const ROUNDS: usize = 10;

/// Steps of L-BFGS a round: the next round moves the problem, so there is no use in solving this one to the end.
const STEPS: usize = 40;

/// Settings of O-learning.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OLearning {
    /// linear, or nystrom for a Gaussian kernel; other maps work too.
    pub map: ContextKind,
    /// How far an action may be from f and still count, in units of the std of the logged actions.
    pub phi: f64,
    /// Weight of |f|^2, intercept free.
    pub lambda: f64,
    /// The level of the logged rewards that counts as 0, and all below with it, [0, 1). At 0, the worst reward, all rewards are kept as
    /// in the method's paper; where a few are far below the rest, they make the others look alike.
    pub floor: f64,
}

impl Default for OLearning {
    fn default() -> Self {
        OLearning { map: ContextKind::Linear, phi: 0.3, lambda: 1e-3, floor: 0.0 }
    }
}

impl OLearning {
    /// Learns a rule.
    pub fn fit(&self, log: &Log, seed: u64) -> Result<RulePolicy> {
        let rows = Rows::new(log)?;
        let (mean, std) = rows.action_moments();
        let map = rows.map(self.map, seed)?;
        let mut sorted = rows.y.clone();
        sorted.sort_by(f64::total_cmp);
        let worst = quantile_sorted(&sorted, 1.0 - self.floor);
        let reward: Vec<f64> = rows.y.iter().map(|y| (worst - y).max(0.0)).collect();
        let unit = rows.mean(|i| reward[i]).max(f64::MIN_POSITIVE);
        let problem = Pull {
            psi: rows.features(&map),
            a: rows.a.iter().map(|a| (a - mean) / std).collect(),
            // the density of an action in units of the std is p std
            pull: (0..rows.n()).map(|i| rows.omega[i] * reward[i] / unit / (self.phi * rows.p[i] * std)).collect(),
            phi: self.phi,
            lambda: self.lambda,
        };
        let k = map.dim(rows.d());
        let starts: Vec<Vec<f64>> = rows
            .quantiles(&LEVELS)
            .into_iter()
            .map(|level| {
                let mut w = vec![0.0; k];
                w[k - 1] = (level - mean) / std;
                w
            })
            .collect();
        let mut w = problem.learn(starts)?;
        w.iter_mut().for_each(|w| *w *= std);
        w[k - 1] += mean;
        Ok(rows.policy(Rule::Linear { map, w, range: Some(rows.range()) }, None))
    }
}

struct Pull {
    psi: Vec<f64>,
    a: Vec<f64>,
    /// R / (phi p), with row weights.
    pull: Vec<f64>,
    phi: f64,
    lambda: f64,
}

impl Pull {
    /// The lowest end over the starts.
    fn learn(mut self, starts: Vec<Vec<f64>>) -> Result<Vec<f64>> {
        let phi = self.phi;
        let mut best = (f64::INFINITY, Vec::new());
        for mut w in starts {
            self.phi = phi.max(WIDEST);
            loop {
                w = self.settle(w)?;
                if self.phi <= phi {
                    break;
                }
                self.phi = phi.max(0.5 * self.phi);
            }
            let value = self.objective(&w);
            if value < best.0 {
                best = (value, w);
            }
        }
        Ok(best.1)
    }

    /// Rounds until the objective stops.
    fn settle(&self, mut w: Vec<f64>) -> Result<Vec<f64>> {
        let mut value = self.objective(&w);
        for _ in 0..ROUNDS {
            w = self.round(&w)?;
            let next = self.objective(&w);
            if value - next <= 1e-5 * value.abs() {
                break;
            }
            value = next;
        }
        Ok(w)
    }

    /// h and its slope.
    fn distance(&self, u: f64) -> (f64, f64) {
        let e = 0.01 * self.phi;
        let root = math::hypot(u, e);
        ((root - e) / self.phi, u / root / self.phi)
    }

    fn norm(&self, w: &[f64]) -> f64 {
        self.lambda * w[..w.len() - 1].iter().map(|w| w * w).sum::<f64>()
    }

    fn objective(&self, w: &[f64]) -> f64 {
        let rows = self.psi.chunks_exact(w.len()).zip(&self.a).zip(&self.pull);
        rows.map(|((f, a), c)| c * self.distance(a - dot(w, f)).0.min(1.0)).sum::<f64>() + self.norm(w)
    }

    /// Solves the convex problem around `last`.
    fn round(&self, last: &[f64]) -> Result<Vec<f64>> {
        let k = last.len();
        let tangent: Vec<f64> = self
            .psi
            .chunks_exact(k)
            .zip(&self.a)
            .map(|(f, a)| {
                let (h, slope) = self.distance(a - dot(last, f));
                if h > 1.0 { slope } else { 0.0 }
            })
            .collect();
        let convex = |w: &[f64], grad: &mut [f64]| -> f64 {
            let mut value = self.norm(w);
            for (i, f) in self.psi.chunks_exact(k).enumerate() {
                let u = self.a[i] - dot(w, f);
                let (h, slope) = self.distance(u);
                value += self.pull[i] * (h - tangent[i] * u);
                let g = -self.pull[i] * (slope - tangent[i]);
                (0..k).for_each(|j| grad[j] += g * f[j]);
            }
            (0..k - 1).for_each(|j| grad[j] += 2.0 * self.lambda * w[j]);
            value
        };
        Ok(descend(STEPS, &[last.to_vec()], convex)?.theta)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{spread, uniform_log};
    use super::*;

    #[test]
    fn recovers_a_linear_rule() {
        // the best action is 1 + x, x in (0, 1); actions uniform on (0, 3)
        let log = uniform_log(3000, |x, a| (a - 1.0 - x).abs());
        let policy = OLearning { phi: 0.4, lambda: 1e-5, ..OLearning::default() }.fit(&log, 0).expect("learned");
        let error = spread(&policy, |x| 1.0 + x);
        assert!(error < 0.05, "{error}");
    }

    #[test]
    fn a_kernel_follows_what_a_line_cannot() {
        let best = |x: f64| 1.5 + (6.0 * x).sin();
        let log = uniform_log(2500, |x, a| (a - best(x)).abs());
        let fit = |map| OLearning { map, phi: 0.4, lambda: 1e-3, floor: 0.0 }.fit(&log, 0).expect("learned");
        let (line, kernel) = (spread(&fit(ContextKind::Linear), best), spread(&fit(ContextKind::Nystrom), best));
        assert!(kernel < 0.2 && line > 0.3, "{kernel} {line}");
    }

    #[test]
    fn every_round_lowers_the_objective() {
        let log = uniform_log(300, |x, a| (a - 1.0 - x).abs());
        let rows = Rows::new(&log).expect("rows");
        let map = rows.map(ContextKind::Linear, 0).expect("map");
        let pull = rows.costs(crate::rivals::Centre::Max).iter().map(|y| -y / 300.0).collect();
        let problem = Pull { psi: rows.features(&map), a: rows.a.clone(), pull, phi: 0.3, lambda: 1e-3 };
        let mut w = vec![0.0, 0.5];
        let mut value = problem.objective(&w);
        for _ in 0..10 {
            w = problem.round(&w).expect("solved");
            let next = problem.objective(&w);
            assert!(next <= value + 1e-9, "{next} {value}");
            value = next;
        }
    }
}
