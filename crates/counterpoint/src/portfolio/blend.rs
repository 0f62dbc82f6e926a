//! Weighted sums of models: one model alone, or the stack.
//!
//! What a model says of a row falls into two parts, g(x) = E q(x, a) over what the log did in that context, and q(x, a) - g(x), what the action
//! changes. A rule needs the second alone, and the first is often most of what can be predicted: weights that predict best would then be those of
//! the models that know the contexts best. So each part has weights of its own,
//!
//! ```text
//! y ~ sum_k w_k (q_k(x, a) - g_k(x)) + sum_k v_k g_k(x),    w, v >= 0
//! ```
//!
//! on rows that the models have not seen. Where rows say little of what actions change, w stays near v.

use super::fitted::Fitted;
use super::table::Table;
use crate::engine::Engine;
use crate::error::Result;
use crate::math;
use crate::policy::{Axis, LoggingLaw, ModelMember};

/// The expected square of the difference of a model's two weights, before the rows are asked.
const APART: f64 = 0.05;

/// A little shrinkage keeps weights of nearly equal models apart from chance: a share of the largest diagonal entry.
const SHRINK: f64 = 1e-3;

/// Weights below this are left out.
const LEAST_WEIGHT: f64 = 0.02;

/// A weighted sum of models.
pub(super) struct Blend {
    pub(super) name: String,
    /// Which of the fitted models, and their weights.
    pub(super) members: Vec<(usize, f64)>,
    /// What is added in each row, whatever the action; empty: nothing.
    level: Vec<f64>,
}

impl Blend {
    /// No model: 0 everywhere.
    pub(super) fn nothing() -> Blend {
        Blend { name: "nothing".into(), members: Vec::new(), level: Vec::new() }
    }

    /// One model alone.
    pub(super) fn of_one(fitted: &[Fitted], i: usize) -> Blend {
        Blend { name: fitted[i].name.clone(), members: vec![(i, 1.0)], level: Vec::new() }
    }

    /// The weights >= 0 that fit the costs best on rows not seen, for contexts and actions apart.
    pub(super) fn stacked(table: &Table, fitted: &[Fitted], (axis, logging): (&Axis, &LoggingLaw)) -> Blend {
        let (m, n) = (fitted.len(), table.n());
        let levels = context_parts(table, fitted, axis, logging);
        let part = |k: usize, i: usize| if k < m { fitted[k].at[i] - levels[k][i] } else { levels[k - m][i] };
        let sum = |f: &dyn Fn(usize) -> f64| (0..n).map(|i| table.omega[i] * f(i)).sum::<f64>();
        let mut gram = vec![0.0; 4 * m * m];
        let mut right = vec![0.0; 2 * m];
        for a in 0..2 * m {
            right[a] = sum(&|i| part(a, i) * table.y[i]);
            for b in 0..=a {
                gram[a * 2 * m + b] = sum(&|i| part(a, i) * part(b, i));
                gram[b * 2 * m + a] = gram[a * 2 * m + b];
            }
        }
        let noise = fitted.iter().map(|f| f.error).fold(1.0, f64::min);
        let w = weights(&gram, &right, noise / APART);
        let mut members: Vec<(usize, f64)> =
            w[..m].iter().copied().enumerate().filter(|(_, w)| *w > LEAST_WEIGHT).collect();
        if members.is_empty() {
            // no action changes anything that could be predicted: the model that does the least harm
            let least = (0..m).min_by(|a, b| fitted[*a].error.total_cmp(&fitted[*b].error));
            members.extend(least.map(|i| (i, 1.0)));
        }
        let of_actions = |k: usize| members.iter().find(|(i, _)| *i == k).map_or(0.0, |(_, w)| *w);
        let level = (0..n).map(|i| (0..m).map(|k| (w[m + k] - of_actions(k)) * levels[k][i]).sum()).collect();
        let names: Vec<String> = members.iter().map(|(i, w)| format!("{w:.2} {}", fitted[*i].kind.name())).collect();
        Blend { name: format!("stack of {}", names.join(", ")), members, level }
    }

    fn level(&self, i: usize) -> f64 {
        self.level.get(i).copied().unwrap_or(0.0)
    }

    /// Held-out predictions at the knots of row i, into `out`.
    pub(super) fn knots(&self, fitted: &[Fitted], i: usize, out: &mut [f64]) {
        let k = out.len();
        out.fill(self.level(i));
        for (m, w) in &self.members {
            let row = &fitted[*m].knots[i * k..(i + 1) * k];
            out.iter_mut().zip(row).for_each(|(o, q)| *o += w * q);
        }
    }

    /// Held-out prediction at the logged action of row i.
    pub(super) fn at(&self, fitted: &[Fitted], i: usize) -> f64 {
        self.level(i) + self.members.iter().map(|(m, w)| w * fitted[*m].at[i]).sum::<f64>()
    }

    /// The models that act.
    pub(super) fn members(
        &self,
        table: &Table,
        fitted: &[Fitted],
        seed: u64,
        engine: &Engine,
    ) -> Result<Vec<ModelMember>> {
        let mut out = Vec::new();
        for (m, weight) in &self.members {
            let models = fitted[*m].acts(table, seed, engine)?;
            let weight = weight / models.len() as f64;
            out.extend(models.into_iter().map(|model| ModelMember { weight, model }));
        }
        Ok(out)
    }
}

/// g(x) of every model and row: the mean over the knots by a normal law with the mean and spread of what the log did.
fn context_parts(table: &Table, fitted: &[Fitted], axis: &Axis, logging: &LoggingLaw) -> Vec<Vec<f64>> {
    let (knots, k) = (&axis.knots, axis.knots.len());
    let widths: Vec<f64> = (0..k).map(|j| knots[(j + 1).min(k - 1)] - knots[j.saturating_sub(1)]).collect();
    let widest = widths.iter().copied().fold(0.0, f64::max);
    let mut out: Vec<Vec<f64>> = fitted.iter().map(|_| Vec::with_capacity(table.n())).collect();
    let mut law = vec![0.0; k];
    for i in 0..table.n() {
        let x = table.context(i);
        // a law between two knots must find one of them
        let (mean, std) =
            (logging.mean.at(x).clamp(knots[0], knots[k - 1]), logging.levels[logging.level(x)].max(0.5 * widest));
        for j in 0..k {
            let z = (knots[j] - mean) / std.max(f64::MIN_POSITIVE);
            law[j] = widths[j].max(f64::MIN_POSITIVE) * math::exp(-0.5 * z * z);
        }
        let total: f64 = law.iter().sum();
        for (out, f) in out.iter_mut().zip(fitted) {
            let row = &f.knots[i * k..(i + 1) * k];
            out.push(row.iter().zip(&law).map(|(q, p)| q * p).sum::<f64>() / total);
        }
    }
    out
}

/// The weights >= 0 of least squares by coordinate descent: those of actions, then those of contexts, tied to each other by `tie` (w - v)^2.
fn weights(gram: &[f64], right: &[f64], tie: f64) -> Vec<f64> {
    let (all, m) = (right.len(), right.len() / 2);
    let largest = |from: usize| (from..from + m).map(|a| gram[a * all + a]).fold(0.0, f64::max);
    let shrink = [SHRINK * largest(0), SHRINK * largest(m)];
    let mut w = vec![0.0; all];
    for _ in 0..500 {
        for a in 0..all {
            let twin = if a < m { a + m } else { a - m };
            let others: f64 = (0..all).filter(|b| *b != a).map(|b| gram[a * all + b] * w[b]).sum();
            let diagonal = gram[a * all + a] + shrink[a / m] + tie;
            w[a] = ((right[a] - others + tie * w[twin]) / diagonal).max(0.0);
        }
    }
    w
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two models: one knows the contexts, one what actions change. Without ties each part takes the model that knows it; with strong ties both
    /// weights of a model are the same.
    #[test]
    fn contexts_and_actions_have_weights_of_their_own() {
        // orthogonal parts: actions of A, actions of B, contexts of A, contexts of B; the truth is B's actions and A's contexts
        let gram: Vec<f64> = (0..16).map(|k| if k % 5 == 0 { 100.0 } else { 0.0 }).collect();
        let right = [0.0, 100.0, 100.0, 0.0];
        let free = weights(&gram, &right, 0.0);
        for (got, want) in free.iter().zip([0.0, 1.0, 1.0, 0.0]) {
            assert!((got - want).abs() < 2e-3, "{free:?}");
        }
        let tied = weights(&gram, &right, 1e3);
        // w - v = 100 / (100 + 2 x 1000) and w + v = 1, but for the shrinkage
        for (got, want) in tied.iter().zip([0.476, 0.524, 0.524, 0.476]) {
            assert!((got - want).abs() < 2e-3, "{tied:?}");
        }
    }
}
