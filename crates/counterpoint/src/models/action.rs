//! Boosted trees on the contexts whose leaves are smooth functions of the action.

use super::Rows;
use super::basis::{Basis, MOST};
use super::bins::{Binned, Bins};
use super::forest::Forest;
use super::grow::{Leaf, Worth};
use super::order::Ordered;
use super::rounds::{Rounds, Step};
use super::trees::{TreeOptions, check_values};
use crate::engine::Engine;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Sums of a node: slopes in each function of the action, then the weight of the rows.
const W: usize = MOST + 1;

/// Bins of a context at most: a cell holds eight sums, and 64 cells of every context should stay near the core.
const CONTEXT_BINS: usize = 64;

/// Boosted trees that split on contexts alone and hold a function of the action in each leaf.
///
/// ```text
/// q(x, a) = offset + scale sum_t <beta_t(leaf of x in tree t), psi(a)>
/// ```
///
/// psi are at most seven smooth functions, orthonormal over the logged actions. A leaf's beta is the ridge solution on its
/// rows; splits are judged as if psi were orthonormal in every node, which holds where actions do not depend on contexts
/// and costs little where they do. So what varies with the action is smooth, and never split on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionTrees {
    offset: f64,
    scale: f64,
    basis: Basis,
    forest: Forest,
    /// Coefficients, leaf by leaf.
    values: Vec<f32>,
}

impl ActionTrees {
    /// Grows trees on these rows.
    pub fn fit(rows: &Rows, options: &TreeOptions, seed: u64, engine: &Engine) -> Result<ActionTrees> {
        options.check()?;
        let ordered = Ordered::new(rows, seed)?;
        let n = ordered.len();
        let at = |i: usize, j: usize| rows.x[ordered.row[i] as usize * rows.d + j];
        let bins = Bins::learn(n, rows.d, options.bins.min(CONTEXT_BINS) - 1, at);
        let actions: Vec<f64> = ordered.row.iter().map(|i| rows.a[*i as usize]).collect();
        let basis = Basis::learn(&actions, &ordered.omega);
        let psi: Vec<[f64; MOST]> = actions.iter().map(|a| basis.at(*a)).collect();
        let binned = Binned::new(&bins, n, at);
        let curves = Curves::new(&ordered, &psi, basis.len(), options);
        let (forest, values) = Rounds { ordered: &ordered, bins, binned, options, engine }.fit(&curves);
        Ok(ActionTrees { offset: ordered.cost.centre, scale: ordered.cost.scale, basis, forest, values })
    }

    /// The cost of action a in context x.
    pub fn at(&self, x: &[f64], a: f64) -> f64 {
        self.curve(&self.coefficients(x), a)
    }

    /// The costs of several actions in context x: trees are walked once.
    pub fn at_knots(&self, x: &[f64], knots: &[f64], out: &mut [f64]) {
        let beta = self.coefficients(x);
        out.iter_mut().zip(knots).for_each(|(o, a)| *o = self.curve(&beta, *a));
    }

    /// What the trees say of a context: the coefficients of the functions of the action.
    fn coefficients(&self, x: &[f64]) -> [f64; MOST] {
        let p = self.basis.len();
        let bins: Vec<u8> = x.iter().enumerate().map(|(j, v)| self.forest.bins.bin(j, *v)).collect();
        let mut beta = [0.0; MOST];
        let mut add = |leaf: usize| {
            beta.iter_mut().zip(&self.values[leaf * p..(leaf + 1) * p]).for_each(|(b, v)| *b += f64::from(*v));
        };
        match self.forest.masks() {
            Some(masks) => masks.leaves(&masks.possible(&bins)).for_each(add),
            None => self.forest.roots.iter().for_each(|root| add(self.forest.leaf(*root, &bins))),
        }
        beta
    }

    fn curve(&self, beta: &[f64; MOST], a: f64) -> f64 {
        self.offset + self.scale * dot(beta, &self.basis.at(a))
    }

    /// Number of trees.
    pub fn rounds(&self) -> usize {
        self.forest.roots.len()
    }

    /// Refuses a model that was damaged, or made for another number of contexts.
    pub fn check(&self, d: usize) -> Result<()> {
        self.forest.check(d)?;
        if !self.basis.sound() {
            return Err(Error::policy("functions of the action that are not finite, or too many")
                .at("trees of a cost model")
                .hint("the file is damaged: write it again"));
        }
        check_values(&self.values, self.forest.leaves as usize * self.basis.len(), &[self.offset, self.scale])
    }
}

fn dot(u: &[f64; MOST], v: &[f64; MOST]) -> f64 {
    u.iter().zip(v).fold(0.0, |s, (u, v)| s + u * v)
}

/// Functions whose shrinkage is the plain one: a constant, a line, a parabola. The others are wigglier.
const PLAIN: usize = 3;

/// How much more the wigglier functions are shrunk.
const WIGGLY: f64 = 4.0;

/// Leaves that hold a function of the action.
struct Curves<'a> {
    omega: &'a [f64],
    psi: &'a [[f64; MOST]],
    functions: usize,
    l2: f64,
    min_rows: f64,
    rate: f64,
}

/// The gain of a leaf as if psi were orthonormal in it: sum_j G_j^2 / (n + ridge_j).
impl Worth<W> for Curves<'_> {
    #[inline(always)]
    fn gain(&self, sums: &[f64; W]) -> f64 {
        let (mut plain, mut wiggly) = (0.0, 0.0);
        for j in 0..PLAIN {
            plain += sums[j] * sums[j];
        }
        for j in PLAIN..MOST {
            wiggly += sums[j] * sums[j];
        }
        plain / (sums[MOST] + self.l2) + wiggly / (sums[MOST] + WIGGLY * self.l2)
    }

    #[inline(always)]
    fn large(&self, sums: &[f64; W]) -> bool {
        sums[MOST] >= self.min_rows && sums[MOST] > 0.0
    }
}

impl<'a> Curves<'a> {
    fn new(ordered: &'a Ordered, psi: &'a [[f64; MOST]], functions: usize, options: &TreeOptions) -> Self {
        let TreeOptions { l2, min_rows, rate, .. } = *options;
        Curves { omega: &ordered.omega, psi, functions, l2, min_rows, rate }
    }
}

impl Step<W> for Curves<'_> {
    fn numbers(&self) -> usize {
        self.functions
    }

    #[inline(always)]
    fn sums(&self, i: usize, slope: f64, omega: f64) -> [f64; W] {
        let mut sums = [omega; W];
        for j in 0..MOST {
            sums[j] = slope * self.psi[i][j];
        }
        sums
    }

    /// beta = -rate (sum omega psi psi' + ridge)^-1 G on the rows of a leaf.
    fn leaf(&self, rows: &[u32], leaf: &Leaf<W>, into: &mut Vec<f32>) {
        let mut gram = [[0.0; MOST]; MOST];
        for i in rows {
            let (psi, omega) = (&self.psi[*i as usize], self.omega[*i as usize]);
            for j in 0..MOST {
                let own = omega * psi[j];
                for k in 0..MOST {
                    gram[j][k] += own * psi[k];
                }
            }
        }
        for j in 0..MOST {
            gram[j][j] += if j < PLAIN { self.l2 } else { WIGGLY * self.l2 };
        }
        let mut slope = [0.0; MOST];
        slope.copy_from_slice(&leaf.sums[..MOST]);
        let beta = solve(gram, slope);
        into.extend(beta[..self.functions].iter().map(|b| (-self.rate * b) as f32));
    }

    #[inline(always)]
    fn says(&self, i: usize, leaf: &[f32]) -> f64 {
        dot(&widened(&leaf[..self.functions]), &self.psi[i])
    }
}

fn widened(values: &[f32]) -> [f64; MOST] {
    let mut wide = [0.0; MOST];
    wide.iter_mut().zip(values).for_each(|(w, v)| *w = f64::from(*v));
    wide
}

/// A x = b for a symmetric positive definite A, by L D L'; a function without curvature gets 0.
fn solve(mut a: [[f64; MOST]; MOST], mut b: [f64; MOST]) -> [f64; MOST] {
    for k in 0..MOST {
        let pivot = a[k][k];
        if pivot <= 1e-12 {
            (a[k], b[k]) = ([0.0; MOST], 0.0);
            continue;
        }
        for i in k + 1..MOST {
            let l = a[i][k] / pivot;
            (k + 1..MOST).for_each(|j| a[i][j] -= l * a[k][j]);
            b[i] -= l * b[k];
        }
    }
    for k in (0..MOST).rev() {
        let known = (k + 1..MOST).fold(0.0, |s, j| s + a[k][j] * b[j]);
        b[k] = if a[k][k] > 1e-12 { (b[k] - known) / a[k][k] } else { 0.0 };
    }
    b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_systems_are_solved() {
        let mut a = [[0.0; MOST]; MOST];
        let mut b = [0.0; MOST];
        (a[0][0], a[0][1], a[1][0], a[1][1]) = (2.0, 1.0, 1.0, 3.0);
        (b[0], b[1]) = (4.0, 7.0);
        let x = solve(a, b);
        assert!((x[0] - 1.0).abs() < 1e-14 && (x[1] - 2.0).abs() < 1e-14 && x[2..] == [0.0; 5]);
    }
}
