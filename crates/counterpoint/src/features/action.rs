//! The action map psi_A: Nystrom features of the Gaussian kernel on the anchors, and their expectations.
//!
//! ```text
//! psi_A(a) = K_ZZ^(-1/2) K_Z(a),   k(a, z) = exp(-alpha/2 |a - z|^2)
//! ```
//!
//! A function of the action is held as coefficients c on the kernel, f(a) = sum_l c_l k(a, z_l), because that form has
//! an exact expectation under a Normal policy, component by component (Section 2 of docs/maths.md):
//!
//! ```text
//! E exp(-alpha/2 (a - z)^2) = (1 + alpha s^2)^(-1/2) exp(-alpha (mu - z)^2 / (2 (1 + alpha s^2)))
//! ```

use super::context::{gauss, neighbour_bandwidth};
use crate::error::{Error, Result};
use crate::linalg::inverse_square_root;
use crate::math;
use serde::{Deserialize, Serialize};

/// A Nystrom map on anchors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionMap {
    /// Anchors, row-major, one row of q numbers each.
    pub anchors: Vec<f64>,
    /// Number of action columns q.
    pub width: usize,
    /// alpha of the kernel.
    pub bandwidth: f64,
    /// K_ZZ^(-1/2), row-major, symmetric.
    pub whiten: Vec<f64>,
}

/// A number with its slopes in the mean and the standard deviation of a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slopes {
    /// The value.
    pub value: f64,
    /// d value / d mean.
    pub mean: f64,
    /// d value / d std.
    pub std: f64,
}

impl ActionMap {
    /// The map on given anchors; `bandwidth` defaults to 1 / (mean squared spacing of neighbouring anchors).
    pub fn new(anchors: Vec<f64>, width: usize, bandwidth: Option<f64>) -> Result<Self> {
        let bandwidth = bandwidth.unwrap_or_else(|| neighbour_bandwidth(&anchors, width));
        if !(bandwidth.is_finite() && bandwidth > 0.0) {
            return Err(Error::recipe("bandwidth", format!("{bandwidth} must be > 0")));
        }
        let m = anchors.len() / width;
        let row = |i: usize| &anchors[i * width..(i + 1) * width];
        let k: Vec<f64> = (0..m * m).map(|i| gauss(row(i / m), row(i % m), bandwidth)).collect();
        let whiten = inverse_square_root(&k, m, 1e-10)?;
        Ok(ActionMap { anchors, width, bandwidth, whiten })
    }

    /// Refuses a map whose parts do not fit each other or `q` action columns: files can say anything.
    pub fn check(&self, q: usize) -> Result<()> {
        let fits = self.width == q
            && q > 0
            && !self.anchors.is_empty()
            && self.anchors.len().is_multiple_of(q)
            && self.len().checked_pow(2) == Some(self.whiten.len())
            && self.anchors.iter().chain(&self.whiten).all(|v| v.is_finite());
        if !(self.bandwidth.is_finite() && self.bandwidth > 0.0) {
            return Err(Error::policy(format!("the bandwidth of its anchors is {} (must be > 0)", self.bandwidth)));
        }
        if fits { Ok(()) } else { Err(Error::policy(format!("its anchors do not fit {q} action columns"))) }
    }

    /// Number of anchors m.
    pub fn len(&self) -> usize {
        self.anchors.len() / self.width.max(1) // a file may say 0, which `check` refuses
    }

    /// Whether there are no anchors.
    pub fn is_empty(&self) -> bool {
        self.anchors.is_empty()
    }

    /// Anchor j, a slice of q numbers.
    pub fn anchor(&self, j: usize) -> &[f64] {
        &self.anchors[j * self.width..(j + 1) * self.width]
    }

    /// psi_A(a).
    pub fn apply(&self, a: &[f64]) -> Vec<f64> {
        let k: Vec<f64> = (0..self.len()).map(|j| gauss(a, self.anchor(j), self.bandwidth)).collect();
        self.whitened(&k)
    }

    /// Psi_A(Z): psi_A of the anchors, row-major m x m (row j is psi_A(a_j)).
    pub fn at_anchors(&self) -> Vec<f64> {
        (0..self.len()).flat_map(|j| self.apply(self.anchor(j))).collect()
    }

    /// K_ZZ^(-1/2) v. The matrix is symmetric, so this also turns coefficients on psi_A into coefficients on k.
    pub fn whitened(&self, v: &[f64]) -> Vec<f64> {
        let m = self.len();
        (0..m).map(|i| (0..m).map(|j| self.whiten[i * m + j] * v[j]).sum()).collect()
    }

    /// f(a) = sum_l c_l k(a, z_l); `slope`, of length q, receives its gradient in the action.
    pub fn function(&self, c: &[f64], a: &[f64], slope: &mut [f64]) -> f64 {
        slope.fill(0.0);
        let mut f = 0.0;
        for (l, &cl) in c.iter().enumerate() {
            let z = self.anchor(l);
            let k = cl * gauss(a, z, self.bandwidth);
            f += k;
            for (s, (ai, zi)) in slope.iter_mut().zip(a.iter().zip(z)) {
                *s -= self.bandwidth * (ai - zi) * k;
            }
        }
        f
    }
}

impl ActionMap {
    /// E exp(-alpha/2 (a - z)^2) for a ~ N(mean, std^2), with its slopes.
    ///
    /// ```
    /// // a policy without noise gives the kernel itself
    /// let e = counterpoint::features::ActionMap::normal_kernel(0.0, 0.0, 1.5, 1.0);
    /// assert!((e.value - (-0.5f64 * 1.5 * 1.5).exp()).abs() < 1e-15);
    /// ```
    pub fn normal_kernel(mean: f64, std: f64, z: f64, alpha: f64) -> Slopes {
        let d = mean - z;
        let g = 1.0 + alpha * std * std;
        let value = math::exp(-alpha * d * d / (2.0 * g)) / g.sqrt();
        Slopes { value, mean: -alpha * d / g * value, std: value * alpha * std / g * (alpha * d * d / g - 1.0) }
    }
}
