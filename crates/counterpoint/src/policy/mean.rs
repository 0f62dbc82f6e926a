//! Mean models mu(x).
//!
//! `constant`, `linear`, `poly` and `stratified` are one model, mu_c(x) = link(<psi_X(x), B_c>), with four context maps.
//! `clp`, the counterfactual loss predictor, is a soft minimum over anchors (Section 2.2.2 of the paper):
//!
//! ```text
//! mu(x) = sum_j a_j softmax_j(-gamma eta(x, a_j)),   eta(x, a) = <B, psi_X(x) (x) psi_A(a)>
//! ```
//!
//! Either way a row is scored by one small matrix product, psi_X(x)^T C with C of d_X rows and k columns: for the
//! linear models C = B and k = q; for the predictor C = -gamma B Psi_A(Z)^T and k = m. [`Mean::scores`] forms C from
//! theta and [`Mean::pull`] carries a gradient in C back to theta. Everything else only ever sees C.

use crate::features::{ActionMap, ContextMap};
use serde::{Deserialize, Serialize};

/// A mean model, without its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case")]
pub enum Mean {
    /// mu_c(x) = link(<psi_X(x), B_c>)
    Linear {
        /// psi_X.
        map: ContextMap,
        /// Keeps means positive where the family needs it.
        link: Link,
    },
    /// The counterfactual loss predictor.
    Clp(Clp),
}

/// How a linear score becomes a mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Link {
    /// mu = s
    #[default]
    Identity,
    /// mu = ln(1 + exp s), positive; for the log-normal family
    Softplus,
}

/// The counterfactual loss predictor: context map, anchors, temperature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clp {
    /// psi_X.
    pub map: ContextMap,
    /// psi_A and the anchors.
    pub actions: ActionMap,
    /// gamma.
    pub temperature: f64,
}

impl Link {
    /// The mean and its slope in the score.
    pub fn apply(self, s: f64) -> (f64, f64) {
        match self {
            Link::Identity => (s, 1.0),
            Link::Softplus => {
                let e = (-s.abs()).exp();
                let value = s.max(0.0) + e.ln_1p();
                (value, if s >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) })
            }
        }
    }

    /// The score that gives this mean.
    pub fn invert(self, mean: f64) -> f64 {
        match self {
            Link::Identity => mean,
            Link::Softplus => mean + (-(-mean).exp_m1()).ln(),
        }
    }
}

impl Mean {
    /// psi_X.
    pub fn map(&self) -> &ContextMap {
        match self {
            Mean::Linear { map, .. } => map,
            Mean::Clp(clp) => &clp.map,
        }
    }

    /// Columns of C: q for the linear models, m for the predictor.
    pub fn columns(&self, q: usize) -> usize {
        match self {
            Mean::Linear { .. } => q,
            Mean::Clp(clp) => clp.actions.len(),
        }
    }

    /// Number of parameters of the mean, for d contexts and q actions.
    pub fn parameters(&self, d: usize, q: usize) -> usize {
        self.map().dim(d) * self.columns(q)
    }

    /// Psi_A(Z), what B is multiplied with to give C (empty for the linear models). It is fixed: form it once.
    pub fn psi(&self) -> Vec<f64> {
        match self {
            Mean::Linear { .. } => Vec::new(),
            Mean::Clp(clp) => clp.actions.at_anchors(),
        }
    }

    /// C from the parameters beta = B (row-major, d_X x k): what a row's features are multiplied with.
    pub fn scores(&self, beta: &[f64], psi: &[f64], c: &mut [f64]) {
        match self {
            Mean::Linear { .. } => c.copy_from_slice(beta),
            // Psi_A(Z) = K^(1/2) is symmetric, so its transpose is itself
            Mean::Clp(clp) => scaled_product(beta, psi, -clp.temperature, c),
        }
    }

    /// The gradient in beta from the gradient in C.
    pub fn pull(&self, grad_c: &[f64], psi: &[f64], grad_beta: &mut [f64]) {
        match self {
            Mean::Linear { .. } => grad_beta.copy_from_slice(grad_c),
            Mean::Clp(clp) => scaled_product(grad_c, psi, -clp.temperature, grad_beta),
        }
    }

    /// The mean of one row from its scores s = psi_X^T C. `slopes` (q x k, row-major) receives d mu_c / d s_j.
    pub fn from_scores(&self, s: &[f64], mu: &mut [f64], slopes: &mut [f64]) {
        let k = s.len();
        match self {
            Mean::Linear { link, .. } => {
                slopes.fill(0.0);
                for c in 0..k {
                    (mu[c], slopes[c * k + c]) = link.apply(s[c]);
                }
            }
            Mean::Clp(clp) => {
                let top = s.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let mut p = [0.0; 64];
                let mut heap;
                let p: &mut [f64] = if k <= 64 {
                    &mut p[..k]
                } else {
                    heap = vec![0.0; k];
                    &mut heap
                };
                let mut total = 0.0;
                for j in 0..k {
                    p[j] = (s[j] - top).exp();
                    total += p[j];
                }
                for c in 0..mu.len() {
                    mu[c] = (0..k).map(|j| p[j] * clp.actions.anchor(j)[c]).sum::<f64>() / total;
                    for j in 0..k {
                        slopes[c * k + j] = p[j] / total * (clp.actions.anchor(j)[c] - mu[c]);
                    }
                }
            }
        }
    }
}

/// out = scale A Psi for a square Psi, row-major.
fn scaled_product(a: &[f64], psi: &[f64], scale: f64, out: &mut [f64]) {
    let m = psi.len().isqrt();
    for (row, out) in a.chunks_exact(m).zip(out.chunks_exact_mut(m)) {
        out.fill(0.0);
        for (l, v) in row.iter().enumerate() {
            for j in 0..m {
                out[j] += scale * v * psi[l * m + j];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softplus_inverts() {
        for mean in [1e-20, 1e-6, 0.3, 2.0, 50.0] {
            let (back, _) = Link::Softplus.apply(Link::Softplus.invert(mean));
            assert!((back / mean - 1.0).abs() < 1e-13, "{mean} {back}");
        }
    }

    #[test]
    fn extreme_scores_stay_finite() {
        let actions = ActionMap::new(vec![0.1, 1.0, 5.0], 1, Some(1.0)).unwrap();
        let mean = Mean::Clp(Clp { map: ContextMap::Constant, actions, temperature: 1.0 });
        let (mut mu, mut slopes) = ([0.0], [0.0; 3]);
        mean.from_scores(&[0.0, -1000.0, -2000.0], &mut mu, &mut slopes);
        assert_eq!(mu[0], 0.1);
        mean.from_scores(&[1e5, 1e5, 1e5], &mut mu, &mut slopes);
        assert!((mu[0] - 6.1 / 3.0).abs() < 1e-15);
    }
}
