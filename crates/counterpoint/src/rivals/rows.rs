//! A log as the rivals see it: standardised contexts in one matrix, one action, and small dense algebra.

use crate::features::anchors::quantile_sorted;
use crate::features::{ContextKind, ContextMap, MapOptions, Scale, Scaler};
use crate::math;
use crate::optim::{Lbfgs, Objective, Optimiser, Optimum};
use crate::policy::{Columns, Noise, Rule, RulePolicy};
use crate::{Error, Log, Result};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// Centres of a Nystrom map.
const CENTRES: usize = 40;

/// What is subtracted from the costs before they meet weights.
///
/// None of the weighted objectives is equivariant to a shift of the costs, and each paper has its own habit; which
/// one serves a log is for the offline choice to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Centre {
    /// 0
    None,
    /// The smallest cost: losses from 0 up, as CATS wants them.
    Min,
    /// The mean cost.
    #[default]
    Mean,
    /// The largest cost: no cost is positive, as KS wants them where rewards are not negative.
    Max,
}

/// Rows of a log in memory.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The columns, and where the rows come from.
    pub columns: Columns,
    /// The scaling of the contexts.
    pub scaler: Scaler,
    /// Contexts, standardised, row-major.
    pub x: Vec<f64>,
    /// Actions.
    pub a: Vec<f64>,
    /// Logging densities.
    pub p: Vec<f64>,
    /// Costs.
    pub y: Vec<f64>,
    /// Row weights over their sum.
    pub omega: Vec<f64>,
}

impl Rows {
    /// Gathers a log and standardises its contexts.
    pub fn new(log: &Log) -> Result<Self> {
        if log.q() != 1 {
            return Err(Error::data(format!("the rivals choose one action, the log has {} columns", log.q())));
        }
        let scaler = Scaler::learn(Scale::Standard, &log.context_summaries());
        let (n, d) = (log.rows(), log.d());
        let mut rows = Rows {
            columns: Columns::of(log),
            scaler,
            x: Vec::with_capacity(n * d),
            a: Vec::with_capacity(n),
            p: Vec::with_capacity(n),
            y: Vec::with_capacity(n),
            omega: Vec::with_capacity(n),
        };
        let mut x = vec![0.0; d];
        for b in log.blocks() {
            for i in 0..b.rows() {
                b.context(i, &mut x);
                rows.scaler.apply(&mut x);
                rows.x.extend_from_slice(&x);
            }
            rows.a.extend_from_slice(&b.a[0]);
            rows.p.extend(b.log_p.iter().map(|l| math::exp(*l)));
            rows.y.extend_from_slice(&b.y);
            rows.omega.extend_from_slice(&b.omega);
        }
        let total: f64 = rows.omega.iter().sum();
        rows.omega.iter_mut().for_each(|w| *w /= total);
        Ok(rows)
    }

    /// A policy for the columns of these rows.
    pub(crate) fn policy(&self, rule: Rule, noise: Option<Noise>) -> RulePolicy {
        RulePolicy { columns: self.columns.clone(), scaler: self.scaler.clone(), rule, noise }
    }

    /// Number of rows.
    pub fn n(&self) -> usize {
        self.y.len()
    }

    /// Number of contexts.
    pub fn d(&self) -> usize {
        self.columns.contexts.len()
    }

    /// Smallest and largest logged action.
    pub fn range(&self) -> [f64; 2] {
        self.a.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[l, h], a| [l.min(*a), h.max(*a)])
    }

    /// Quantiles of the logged actions.
    pub fn quantiles(&self, levels: &[f64]) -> Vec<f64> {
        let mut sorted = self.a.clone();
        sorted.sort_by(f64::total_cmp);
        levels.iter().map(|l| quantile_sorted(&sorted, *l)).collect()
    }

    /// Mean and standard deviation of the logged actions.
    pub fn action_moments(&self) -> (f64, f64) {
        let mean = self.mean(|i| self.a[i]);
        (mean, self.mean(|i| math::powi(self.a[i] - mean, 2)).sqrt())
    }

    /// A weighted mean over rows.
    pub fn mean(&self, f: impl Fn(usize) -> f64) -> f64 {
        (0..self.n()).map(|i| self.omega[i] * f(i)).sum()
    }

    /// Costs minus their centre.
    pub fn costs(&self, centre: Centre) -> Vec<f64> {
        let c = match centre {
            Centre::None => 0.0,
            Centre::Min => self.y.iter().copied().fold(f64::INFINITY, f64::min),
            Centre::Mean => self.mean(|i| self.y[i]),
            Centre::Max => self.y.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        };
        self.y.iter().map(|y| y - c).collect()
    }

    /// Learns a context map.
    pub fn map(&self, kind: ContextKind, seed: u64) -> Result<ContextMap> {
        let kind = if self.d() == 0 { ContextKind::Constant } else { kind };
        let how = MapOptions { buckets: 4, centres: CENTRES, bandwidth: None, seed };
        ContextMap::learn(kind, &self.x, self.d(), how)
    }

    /// psi_X of every row, row-major.
    pub fn features(&self, map: &ContextMap) -> Vec<f64> {
        let k = map.dim(self.d());
        let mut out = vec![0.0; self.n() * k];
        for (i, row) in out.chunks_exact_mut(k).enumerate() {
            map.apply(&self.x[i * self.d()..(i + 1) * self.d()], row);
        }
        out
    }
}

/// <u, v>
pub(crate) fn dot(u: &[f64], v: &[f64]) -> f64 {
    u.iter().zip(v).map(|(a, b)| a * b).sum()
}

struct Smooth<F> {
    dim: usize,
    f: F,
}

impl<F: FnMut(&[f64], &mut [f64]) -> f64> Objective for Smooth<F> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn eval(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
        grad.fill(0.0);
        Ok((self.f)(theta, grad))
    }
}

/// Goes down by at most `max_iterations` steps of L-BFGS from each start and keeps the lowest end. `f` adds its gradient to zeros.
pub(crate) fn descend(
    max_iterations: usize,
    starts: &[Vec<f64>],
    f: impl FnMut(&[f64], &mut [f64]) -> f64,
) -> Result<Optimum> {
    let solver = Lbfgs { max_iterations, ..Lbfgs::default() };
    let mut problem = Smooth { dim: starts.first().map_or(0, Vec::len), f };
    let mut best: Option<Optimum> = None;
    for start in starts {
        let found = solver.minimise(&mut problem, start, &mut |_| ControlFlow::Continue(()))?;
        if best.as_ref().is_none_or(|b| found.value < b.value) {
            best = Some(found);
        }
    }
    best.ok_or_else(|| Error::numeric("objective", "there is no start"))
}

/// Ridge regression of the columns of `t` (row-major, q a row) on `f` (row-major, k a row); the result is k x q.
///
/// ```text
/// min over W of  sum_i omega_i |W^T f_i - t_i|^2 + ridge |W|^2
/// ```
pub(crate) fn ridge(f: &[f64], k: usize, t: &[f64], q: usize, omega: &[f64], ridge: f64) -> Result<Vec<f64>> {
    let (mut gram, mut right) = (vec![0.0; k * k], vec![0.0; k * q]);
    for ((f, t), w) in f.chunks_exact(k).zip(t.chunks_exact(q)).zip(omega) {
        for i in 0..k {
            let v = w * f[i];
            if v == 0.0 {
                continue;
            }
            (0..=i).for_each(|j| gram[i * k + j] += v * f[j]);
            (0..q).for_each(|c| right[i * q + c] += v * t[c]);
        }
    }
    (0..k).for_each(|i| gram[i * k + i] += ridge);
    solve(&mut gram, k, &mut right, q)?;
    Ok(right)
}

/// Solves A X = B in place for a symmetric positive definite A (its lower triangle is read and becomes the Cholesky
/// factor); B is k x q.
pub(crate) fn solve(a: &mut [f64], k: usize, b: &mut [f64], q: usize) -> Result<()> {
    for i in 0..k {
        for j in 0..=i {
            let s = a[i * k + j] - dot(&a[i * k..i * k + j], &a[j * k..j * k + j]);
            if i > j {
                a[i * k + j] = s / a[j * k + j];
            } else if s > 0.0 {
                a[i * k + i] = s.sqrt();
            } else {
                return Err(Error::numeric("Cholesky factor", "the matrix is not positive definite"));
            }
        }
    }
    for c in 0..q {
        for i in 0..k {
            let s: f64 = (0..i).map(|j| a[i * k + j] * b[j * q + c]).sum();
            b[i * q + c] = (b[i * q + c] - s) / a[i * k + i];
        }
        for i in (0..k).rev() {
            let s: f64 = (i + 1..k).map(|j| a[j * k + i] * b[j * q + c]).sum();
            b[i * q + c] = (b[i * q + c] - s) / a[i * k + i];
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_a_small_system_by_hand() {
        // [4 1; 1 3] X = [[1, 4], [2, 1]]: X = [[1/11, 1], [7/11, 0]]
        let mut b = [1.0, 4.0, 2.0, 1.0];
        solve(&mut [4.0, 0.0, 1.0, 3.0], 2, &mut b, 2).expect("definite");
        for (b, x) in b.iter().zip([1.0 / 11.0, 1.0, 7.0 / 11.0, 0.0]) {
            assert!((b - x).abs() < 1e-14);
        }
        assert!(solve(&mut [1.0, 0.0, 2.0, 1.0], 2, &mut [0.0, 0.0], 1).is_err());
    }
}
