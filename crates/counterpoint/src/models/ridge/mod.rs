//! Ridge regression of the cost on (context basis) x (action basis), shape and penalty chosen by cross-validation.
//!
//! ```text
//! q(x, a) = sum_jk B_jk psi_j(x) phi_k(a),   min 1/n sum_i omega_i (q(x_i, a_i) - y_i)^2 + lambda sum_jk var_jk B_jk^2
//! ```
//!
//! A penalty in units of each column's variance makes lambda a number without unit, whatever the contexts, actions and costs
//! are measured in. Everything that cross-validation needs is the Gram matrix of (columns, 1, y), fold by fold: errors of all
//! penalties come from these sums, without another pass over the rows.

mod columns;
mod shape;

use super::Rows;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::linalg::{add_gram, cholesky_solve};
use columns::ActionBasis;
pub(in crate::models) use columns::ContextBasis;
use serde::{Deserialize, Serialize};

pub(crate) use shape::{ContextShape, Shape};

/// Penalties that are tried.
const PENALTIES: [f64; 6] = [1e-4, 1e-3, 1e-2, 0.05, 0.3, 2.0];

/// Rows whose columns are formed before they are added up.
const RUN: usize = 256;

/// A fitted regression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ridge {
    contexts: ContextBasis,
    actions: ActionBasis,
    /// Row-major: a row for each context column, an entry for each action column. The last entry is the constant.
    coef: Vec<f64>,
}

/// A shape after cross-validation.
pub(crate) struct Tried {
    /// Which.
    pub(crate) shape: Shape,
    /// Mean squared error on rows not seen, in units of the costs' variance.
    pub(crate) error: f64,
    /// For each fold the model that has not seen it.
    pub(crate) folds: Vec<Ridge>,
    /// The model of all rows.
    pub(crate) all: Ridge,
}

/// Fits every shape by cross-validation over the given folds, side by side on the threads of the engine.
pub(crate) fn cross_validate(
    rows: &Rows,
    folds: &[usize],
    shapes: &[Shape],
    seed: u64,
    engine: &Engine,
) -> Result<Vec<Tried>> {
    let count = folds.iter().max().map_or(1, |k| k + 1);
    engine.map(shapes, |shape| try_shape(rows, folds, count, *shape, seed)).into_iter().collect()
}

fn try_shape(rows: &Rows, folds: &[usize], count: usize, shape: Shape, seed: u64) -> Result<Tried> {
    let bases = (ContextBasis::learn(rows, shape.contexts, seed)?, ActionBasis::learn(rows, shape.degree, shape.knots));
    let p = bases.0.dim() * bases.1.dim() - 1;
    let w = p + 2;
    let grams = grams(rows, folds, count, &bases);
    let mut total = vec![0.0; w * w];
    for g in &grams {
        total.iter_mut().zip(g).for_each(|(t, g)| *t += g);
    }
    let others: Vec<Vec<f64>> = grams.iter().map(|g| total.iter().zip(g).map(|(t, g)| t - g).collect()).collect();
    let mut best: Option<(f64, f64, Vec<Vec<f64>>)> = None;
    for penalty in PENALTIES {
        // a matrix that cannot be factored at a small penalty can at a larger one
        let Ok(coefs) = others.iter().map(|g| solve(g, p, penalty)).collect::<Result<Vec<_>>>() else { continue };
        let error: f64 = grams.iter().zip(&coefs).map(|(g, b)| squares(g, p, b)).sum();
        if error.is_finite() && best.as_ref().is_none_or(|b| error < b.0) {
            best = Some((error, penalty, coefs));
        }
    }
    let Some((error, penalty, coefs)) = best else {
        return Err(Error::numeric("loss model", "its regression has no solution"));
    };
    let spread = squares(&total, p, &[vec![0.0; p], vec![total[p * w + p + 1] / total[p * w + p]]].concat());
    let make = |coef: Vec<f64>| Ridge { contexts: bases.0.clone(), actions: bases.1.clone(), coef };
    let all = make(solve(&total, p, penalty)?);
    Ok(Tried { shape, error: error / spread.max(f64::MIN_POSITIVE), folds: coefs.into_iter().map(make).collect(), all })
}

/// The Gram matrices of (columns, 1, y), one per fold. The last column of the bases is the constant.
fn grams(
    rows: &Rows,
    folds: &[usize],
    count: usize,
    (contexts, actions): &(ContextBasis, ActionBasis),
) -> Vec<Vec<f64>> {
    let (px, pa) = (contexts.dim(), actions.dim());
    let w = px * pa + 1;
    let mut out = vec![vec![0.0; w * w]; count];
    let (mut psi, mut phi, mut x) = (vec![0.0; px], vec![0.0; pa], vec![0.0; rows.d]);
    for (k, gram) in out.iter_mut().enumerate() {
        let mine: Vec<usize> = (0..rows.len()).filter(|i| folds[*i] == k).collect();
        let mut run = Vec::with_capacity(RUN * w);
        for chunk in mine.chunks(RUN) {
            run.clear();
            for &i in chunk {
                contexts.apply(rows.context(i), &mut x, &mut psi);
                actions.apply(rows.a[i], &mut phi);
                let root = rows.omega[i].sqrt();
                for f in &psi {
                    run.extend(phi.iter().map(|g| root * f * g));
                }
                run.push(root * rows.y[i]);
            }
            add_gram(&run, chunk.len(), w, gram);
        }
    }
    out
}

/// Coefficients from a Gram matrix of p columns, the constant and y; the constant's comes last and is not penalised.
fn solve(gram: &[f64], p: usize, penalty: f64) -> Result<Vec<f64>> {
    let w = p + 2;
    let at = |i: usize, j: usize| gram[i * w + j];
    let n = at(p, p);
    let mean = |i: usize| at(i, p) / n;
    // a column that does not vary, or only by rounding, says nothing
    let unit: Vec<f64> = (0..p).map(|i| (at(i, i) / n - mean(i) * mean(i)).max(0.0)).collect();
    let live: Vec<usize> = (0..p).filter(|&i| unit[i] > 1e-10 * (at(i, i) / n)).collect();
    let m = live.len();
    let (mut a, mut b) = (vec![0.0; m * m], vec![0.0; m]);
    for (r, &i) in live.iter().enumerate() {
        for (c, &j) in live.iter().enumerate() {
            a[r * m + c] = (at(i, j) / n - mean(i) * mean(j)) / (unit[i] * unit[j]).sqrt();
        }
        a[r * m + r] += penalty;
        b[r] = (at(i, p + 1) / n - mean(i) * mean(p + 1)) / unit[i].sqrt();
    }
    let solved = if m == 0 { Vec::new() } else { cholesky_solve(&a, &b)? };
    let mut coef = vec![0.0; p + 1];
    live.iter().zip(&solved).for_each(|(&i, s)| coef[i] = s / unit[i].sqrt());
    coef[p] = mean(p + 1) - (0..p).map(|i| mean(i) * coef[i]).sum::<f64>();
    Ok(coef)
}

/// sum of omega (y - <coef, columns>)^2 from a Gram matrix.
fn squares(gram: &[f64], p: usize, coef: &[f64]) -> f64 {
    let w = p + 2;
    let mut total = gram[(p + 1) * w + p + 1];
    for i in 0..=p {
        let row: f64 = (0..=p).map(|j| gram[i * w + j] * coef[j]).sum();
        total += coef[i] * (row - 2.0 * gram[i * w + p + 1]);
    }
    total
}

/// A regression on contexts alone, as a rule: the same columns with other coefficients.
impl Ridge {
    /// A lightly penalised regression of `rows.y` on the contexts, linear, over the rows that are kept.
    pub(crate) fn linear(rows: &Rows, keep: &[usize]) -> Result<Ridge> {
        let bases = (ContextBasis::learn(rows, ContextShape::Linear, 0)?, ActionBasis::learn(rows, 0, 0));
        let mut folds = vec![1; rows.len()];
        keep.iter().for_each(|&i| folds[i] = 0);
        let gram = grams(rows, &folds, 2, &bases).swap_remove(0);
        let coef = solve(&gram, bases.0.dim() - 1, 0.01)?;
        Ok(Ridge { contexts: bases.0, actions: bases.1, coef })
    }

    /// Number of context columns.
    pub(crate) fn columns(&self) -> usize {
        self.contexts.dim()
    }

    /// The context columns.
    pub(crate) fn features(&self, x: &[f64], out: &mut [f64]) {
        self.contexts.apply(x, &mut vec![0.0; x.len()], out);
    }

    /// The coefficients, the constant last.
    pub(crate) fn coefficients(&self) -> &[f64] {
        &self.coef
    }

    /// With other coefficients.
    pub(crate) fn with_coefficients(&self, coef: Vec<f64>) -> Ridge {
        Ridge { coef, ..self.clone() }
    }
}

impl Ridge {
    /// q(x, a).
    pub fn at(&self, x: &[f64], a: f64) -> f64 {
        let mut out = [0.0];
        self.at_knots(x, &[a], &mut out);
        out[0]
    }

    /// q(x, g) for each of these actions.
    pub fn at_knots(&self, x: &[f64], knots: &[f64], out: &mut [f64]) {
        let (px, pa) = (self.contexts.dim(), self.actions.dim());
        let (mut room, mut psi, mut phi, mut c) = (vec![0.0; x.len()], vec![0.0; px], vec![0.0; pa], vec![0.0; pa]);
        self.contexts.apply(x, &mut room, &mut psi);
        for (f, row) in psi.iter().zip(self.coef.chunks_exact(pa)) {
            c.iter_mut().zip(row).for_each(|(c, b)| *c += f * b);
        }
        for (o, g) in out.iter_mut().zip(knots) {
            self.actions.apply(*g, &mut phi);
            *o = c.iter().zip(&phi).map(|(c, f)| c * f).sum();
        }
    }

    /// Refuses parts that do not fit each other or `d` contexts, and numbers that are not finite.
    pub fn check(&self, d: usize) -> Result<()> {
        self.contexts.check(d)?;
        self.actions.check()?;
        let fits = self.contexts.dim().checked_mul(self.actions.dim()) == Some(self.coef.len());
        if fits && self.coef.iter().all(|c| c.is_finite()) {
            return Ok(());
        }
        Err(Error::policy("the coefficients of its loss model are damaged"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes without an order: a category is found, and a number beside it stays one.
    #[test]
    fn contexts_of_few_values_may_be_categories() {
        let n = 3000usize;
        let effect = [3.0, -1.0, 2.0, -4.0, 1.0, 0.5, -2.0];
        let spread = |i: usize, k: u64| (crate::rng::hash(k, i as u64) >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
        let x: Vec<f64> = (0..n).flat_map(|i| [(i % 7) as f64 * 10.0, spread(i, 1)]).collect();
        let a: Vec<f64> = (0..n).map(|i| spread(i, 2)).collect();
        let y: Vec<f64> = (0..n).map(|i| effect[i % 7] * a[i] + x[2 * i + 1]).collect();
        let rows = Rows { d: 2, x: &x, a: &a, y: &y, omega: &vec![1.0; n] };
        let shapes = Shape::all(&rows);
        let levels = shapes.iter().find(|s| s.contexts == ContextShape::Levels(7)).expect("six dummies and a number");
        let folds: Vec<usize> = (0..n).map(|i| (i / 7) % 3).collect();
        let tried = cross_validate(&rows, &folds, &[*levels, shapes[3]], 1, &Engine::single()).expect("fits");
        assert!(tried[0].error < 1e-3, "{}", tried[0].error);
        assert!(tried[1].error > 0.3, "{}", tried[1].error);
        let ridge = &tried[0].all;
        ridge.check(2).expect("sound");
        assert_eq!(ridge.at(&[31.0, 0.1], 0.2), ridge.at(&[30.0, 0.1], 0.2), "the nearest level");
    }
}
