//! Does a model of the costs make the difference more certain? Decided on valid rows, before a test row is read.
//!
//! With any model q of the cost in contexts and actions, learned elsewhere than on the test rows,
//!
//! ```text
//! u = w (y - q(x, a)) + E_pi q(x, .) - y
//! ```
//!
//! has the difference between policy and log as its mean (doubly robust, DR). The better q is, the less u varies. One half of the valid rows
//! teaches a model and the other half compares: DR is declared where the squares of u are at most nine tenths of those of the
//! self-normalised difference (SNIPS), less what contexts explain, and rest on many rows.

use super::coverage::Rows;
use crate::folds::{Forest, Growth, Tree};
use crate::math;
use crate::policy::TargetPolicy;

/// Valid rows at least.
const ROWS: usize = 200;

/// DR is declared where it leaves at most this share of the variance.
const WORTH: f64 = 0.9;

/// Rows that the squares of u must rest on: models of outcomes that are almost always the same are luck.
const INFORMATIVE: f64 = 30.0;

/// A model that was declared.
pub(super) struct Declared {
    pub(super) model: Forest,
    /// The variance of E_pi q(x, .) - q(x, a) on valid rows.
    pub(super) spread: f64,
}

/// A model of all valid rows, where models of half of them are worth it; nothing where the policy does not know its masses.
pub(super) fn declare(v: &Rows, policy: &dyn TargetPolicy, growth: fn(usize) -> Growth) -> Option<Declared> {
    if v.len() < ROWS || !policy.masses(v.x(0))(&vec![f64::NEG_INFINITY; v.q], &vec![f64::INFINITY; v.q]).is_finite() {
        return None;
    }
    let (mut robust, mut plain) = (Vec::with_capacity(v.len()), Vec::with_capacity(v.len()));
    for parity in [0, 1] {
        let [known, asked] = [parity, 1 - parity].map(|p| (0..v.len()).filter(|i| i % 2 == p).collect::<Vec<usize>>());
        let model = grow(v, &known);
        let cells = controls(v, &known, growth);
        let terms = |i: &usize| v.weight(*i) * (v.sample.y[*i] - model.at(|c| v.column(*i, c)));
        let u: Vec<f64> = asked.iter().map(|i| terms(i) + expected(&model, v, *i, policy) - v.sample.y[*i]).collect();
        robust.extend(about_mean(&u));
        let z: Vec<f64> = asked.iter().map(|&i| v.sample.y[i] - cells.cell(|c| v.x(i)[c]).1).collect();
        let weights: Vec<f64> = asked.iter().map(|&i| v.weight(i)).collect();
        let total: f64 = weights.iter().sum();
        let value = weights.iter().zip(&z).map(|(w, z)| w * z).sum::<f64>() / total;
        let wbar = total / weights.len() as f64;
        let psi: Vec<f64> = weights.iter().zip(&z).map(|(w, z)| (w / wbar - 1.0) * (z - value)).collect();
        plain.extend(about_mean(&psi));
    }
    let powers = |u: &[f64], p: i32| u.iter().map(|u| math::powi(*u, p)).sum::<f64>();
    let (two, four) = (powers(&robust, 2), powers(&robust, 4));
    // where valid outcomes are all the same there is nothing to model
    if !(two > 0.0 && two <= WORTH * powers(&plain, 2) && two * two >= INFORMATIVE * four) {
        return None;
    }
    let model = grow(v, &(0..v.len()).collect::<Vec<usize>>());
    let moved: Vec<f64> = (0..v.len()).map(|i| expected(&model, v, i, policy) - model.at(|c| v.column(i, c))).collect();
    let spread = powers(&about_mean(&moved), 2) / v.len() as f64;
    Some(Declared { model, spread })
}

fn grow(v: &Rows, rows: &[usize]) -> Forest {
    let columns: Vec<f64> = rows.iter().flat_map(|&i| (0..v.d + v.q).map(move |c| v.column(i, c))).collect();
    let costs: Vec<f64> = rows.iter().map(|&i| v.sample.y[i]).collect();
    Forest::grow(&columns, [v.d, v.q], &costs, Growth { cells: 8, rows: (rows.len() / 25).max(20) })
}

fn controls(v: &Rows, rows: &[usize], growth: fn(usize) -> Growth) -> Tree {
    let x: Vec<f64> = rows.iter().flat_map(|&i| v.x(i).iter().copied()).collect();
    let y: Vec<f64> = rows.iter().map(|&i| v.sample.y[i]).collect();
    Tree::grow(&x, v.d, &y, growth(y.len()))
}

fn expected(model: &Forest, v: &Rows, i: usize, policy: &dyn TargetPolicy) -> f64 {
    model.expected(v.x(i), &*policy.masses(v.x(i)))
}

fn about_mean(u: &[f64]) -> Vec<f64> {
    let mean = u.iter().sum::<f64>() / u.len().max(1) as f64;
    u.iter().map(|u| u - mean).collect()
}
