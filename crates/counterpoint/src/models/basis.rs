//! A few smooth functions of the action, orthonormal on the rows.
//!
//! ```text
//! psi = M (T_0(z), .., T_3(z), (z - k_1)_+^3, (z - k_2)_+^3, ..),   mean of psi_i psi_j over the rows = [i = j]
//! ```
//!
//! z runs from -1 to 1 between two quantiles of the actions and is constant beyond; T are Chebyshev's polynomials. M is
//! triangular (Gram-Schmidt), so the first functions are the simplest: a constant, a line, a parabola. Functions that the
//! rows cannot tell from those before them, as with few distinct actions, are left out.

use super::order::GRID;
use serde::{Deserialize, Serialize};

/// Functions at most.
pub(super) const MOST: usize = 7;

/// Shares of the rows beyond the two ends.
const TAIL: f64 = 0.005;

/// Functions of the action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Basis {
    low: f64,
    high: f64,
    /// Knots on the scale of z.
    knots: Vec<f64>,
    /// Rows of M, one for each function.
    mix: Vec<[f64; MOST]>,
}

impl Basis {
    /// Functions for these actions with their weights.
    pub(super) fn learn(actions: &[f64], omega: &[f64]) -> Basis {
        let mut sorted = actions.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |q: f64| sorted[(q * (sorted.len() - 1) as f64).round() as usize];
        let (mut low, mut high) = (at(TAIL), at(1.0 - TAIL));
        if low == high {
            (low, high) = (sorted[0], sorted[sorted.len() - 1]);
        }
        let mut basis = Basis { low, high, knots: Vec::new(), mix: Vec::new() };
        basis.knots = [0.25, 0.5, 0.75].iter().map(|q| basis.place(at(*q))).collect();
        basis.orthonormalise(actions, omega);
        basis
    }

    /// Gram-Schmidt, twice over each function, from the matrix of mean products.
    fn orthonormalise(&mut self, actions: &[f64], omega: &[f64]) {
        let mut gram = [[0.0; MOST]; MOST];
        for (a, w) in actions.iter().zip(omega) {
            let raw = self.raw(*a);
            for i in 0..MOST {
                for j in 0..MOST {
                    gram[i][j] += w * raw[i] * raw[j];
                }
            }
        }
        let weight: f64 = omega.iter().sum();
        let inner = |u: &[f64; MOST], v: &[f64; MOST]| {
            let row = |i: usize| (0..MOST).map(|j| gram[i][j] * v[j]).sum::<f64>();
            (0..MOST).map(|i| u[i] * row(i)).sum::<f64>() / weight
        };
        for i in 0..MOST {
            let mut own = [0.0; MOST];
            own[i] = 1.0;
            let whole = inner(&own, &own);
            for _ in 0..2 {
                for before in &self.mix {
                    let along = inner(&own, before);
                    (0..MOST).for_each(|j| own[j] -= along * before[j]);
                }
            }
            let left = inner(&own, &own);
            if left > 1e-7 * whole.max(1e-3) {
                self.mix.push(own.map(|v| v / left.sqrt()));
            }
        }
    }

    /// z of an action, on the grid of standardised numbers.
    fn place(&self, a: f64) -> f64 {
        let half = self.high / 2.0 - self.low / 2.0;
        if half <= 0.0 {
            return 0.0;
        }
        let z = (a.clamp(self.low, self.high) - self.low) / half - 1.0;
        (z * GRID).round() / GRID
    }

    fn raw(&self, a: f64) -> [f64; MOST] {
        let z = self.place(a);
        let cube = |k: f64| if z > k { (z - k) * (z - k) * (z - k) } else { 0.0 };
        let knot = |i: usize| self.knots.get(i).map_or(0.0, |k| cube(*k));
        [1.0, z, 2.0 * z * z - 1.0, z * (4.0 * z * z - 3.0), knot(0), knot(1), knot(2)]
    }

    /// Number of functions.
    pub(super) fn len(&self) -> usize {
        self.mix.len()
    }

    /// The functions at an action; 0 behind the last.
    pub(super) fn at(&self, a: f64) -> [f64; MOST] {
        let raw = self.raw(a);
        let mut psi = [0.0; MOST];
        for (p, mix) in psi.iter_mut().zip(&self.mix) {
            *p = mix.iter().zip(&raw).fold(0.0, |s, (m, r)| s + m * r);
        }
        psi
    }

    /// Whether these are functions: finite numbers, not too many.
    pub(super) fn sound(&self) -> bool {
        let numbers = [self.low, self.high].into_iter().chain(self.knots.iter().copied());
        let finite = numbers.chain(self.mix.iter().flatten().copied()).all(f64::is_finite);
        finite && self.low <= self.high && self.knots.len() <= 3 && (1..=MOST).contains(&self.mix.len())
    }
}
