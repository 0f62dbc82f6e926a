//! The loss model: a ridge regression of the cost on psi_X(x) (x) psi_A(a), and what it predicts for a policy.
//!
//! ```text
//! eta(x, a) = <coef, psi_X(x) (x) psi_A(a)> + intercept = sum_l c_l(x) k(a, z_l) + intercept
//! ```
//!
//! The paper calls the expectation of eta under a continuous policy intractable; with the Gaussian kernel it is a closed
//! form (see [`ActionMap::normal_kernel`]), and that is what doubly robust estimates use here.

use crate::features::{ActionMap, ContextMap, Scaler};
use serde::{Deserialize, Serialize};

/// A fitted loss model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossModel {
    /// Scaling of the contexts.
    pub scaler: Scaler,
    /// psi_X.
    pub map: ContextMap,
    /// psi_A.
    pub actions: ActionMap,
    /// Row-major, d_X x m.
    pub coef: Vec<f64>,
    /// Not penalised.
    pub intercept: f64,
}

/// How the expectation of the model under the policy is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelTerm {
    /// Closed form for the normal family, quadrature to rounding for the log-normal.
    #[default]
    Exact,
    /// The paper's: the policy's mass between neighbouring anchors times the model at the lower one. The mass below
    /// the first anchor goes to it, so that the masses add up to one. One action column only.
    CdfDifferences,
}

impl LossModel {
    /// The kernel coefficients c(x) from psi_X(x): eta(x, .) = sum_l c_l k(., z_l) + intercept.
    pub fn kernel_coefficients(&self, psi_x: &[f64]) -> Vec<f64> {
        let m = self.actions.len();
        let mut b = vec![0.0; m];
        for (f, row) in psi_x.iter().zip(self.coef.chunks_exact(m)) {
            for l in 0..m {
                b[l] += f * row[l];
            }
        }
        self.actions.whitened(&b)
    }

    /// eta(x, a) for contexts on their own scale.
    pub fn predict(&self, x: &[f64], a: &[f64]) -> f64 {
        let mut slope = vec![0.0; a.len()];
        self.actions.function(&self.coefficients_at(x), a, &mut slope) + self.intercept
    }

    /// c(x) for contexts on their own scale.
    pub fn coefficients_at(&self, x: &[f64]) -> Vec<f64> {
        let mut x = x.to_vec();
        self.scaler.apply(&mut x);
        let mut psi = vec![0.0; self.map.dim(x.len())];
        self.map.apply(&x, &mut psi);
        self.kernel_coefficients(&psi)
    }

    /// The direct method's greedy action: the anchor with the smallest predicted cost.
    pub fn greedy(&self, x: &[f64]) -> &[f64] {
        let c = self.coefficients_at(x);
        let mut slope = vec![0.0; self.actions.width];
        let mut best = (0, f64::INFINITY);
        for j in 0..self.actions.len() {
            let v = self.actions.function(&c, self.actions.anchor(j), &mut slope);
            if v < best.1 {
                best = (j, v);
            }
        }
        self.actions.anchor(best.0)
    }
}
