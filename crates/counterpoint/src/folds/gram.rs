//! The ridge regression behind the direct method: one pass over the log, one Cholesky factor.
//!
//! ```text
//! min over coef, b of  1/(2n) sum_i (<coef, psi_X(x_i) (x) psi_A(a_i)> + b - y_i)^2 + ridge/2 |coef|^2
//! ```
//!
//! The intercept b is not penalised. The pass adds up the Gram matrix of (features, 1, y), so it merges like any fold.

use crate::data::{Block, Log};
use crate::engine::{Engine, Fold};
use crate::error::{Error, Result};
use crate::estimate::LossModel;
use crate::features::{ActionMap, ContextMap, Scaler};
use crate::linalg::{add_gram, cholesky_solve};
use serde::{Deserialize, Serialize};

/// The maps of a loss model and its ridge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossOptions {
    /// Scaling of the contexts.
    pub scaler: Scaler,
    /// psi_X.
    pub map: ContextMap,
    /// psi_A.
    pub actions: ActionMap,
    /// The weight of |coef|^2 / 2; must be > 0, which also makes collinear columns harmless.
    pub ridge: f64,
}

/// Fits eta(x, a) to the costs of a log.
pub fn fit_loss_model(engine: &Engine, log: &Log, options: &LossOptions) -> Result<LossModel> {
    let gram = Gram::new(options.clone())?;
    gram.solve(&engine.ask(&gram, log.blocks()))
}

/// The question behind a loss model: the Gram matrix of (features, 1, y), row-major.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gram {
    options: LossOptions,
}

impl Gram {
    /// The question for these maps; a ridge that is not positive is refused.
    pub fn new(options: LossOptions) -> Result<Self> {
        if !(options.ridge.is_finite() && options.ridge > 0.0) {
            return Err(Error::recipe("model.ridge", format!("{} must be > 0", options.ridge)));
        }
        Ok(Gram { options })
    }

    /// Products of a context feature and an action feature.
    fn features(&self) -> usize {
        self.options.map.dim(self.options.scaler.shift.len()) * self.options.actions.len()
    }

    /// Features, the constant, the cost.
    fn width(&self) -> usize {
        self.features() + 2
    }

    /// The loss model from the answer for all rows.
    pub fn solve(&self, gram: &[f64]) -> Result<LossModel> {
        let options = &self.options;
        let (p, w) = (self.features(), self.width());
        let at = |i: usize, j: usize| gram[i * w + j];
        let n = at(p, p);
        let mean = |i: usize| at(i, p) / n;
        let mut a = vec![0.0; p * p];
        let mut b = vec![0.0; p];
        for i in 0..p {
            for j in 0..p {
                a[i * p + j] = at(i, j) / n - mean(i) * mean(j);
            }
            a[i * p + i] += options.ridge;
            b[i] = at(i, p + 1) / n - mean(i) * mean(p + 1);
        }
        let coef = cholesky_solve(&a, &b)?;
        let intercept = mean(p + 1) - (0..p).map(|i| mean(i) * coef[i]).sum::<f64>();
        Ok(LossModel {
            scaler: options.scaler.clone(),
            map: options.map.clone(),
            actions: options.actions.clone(),
            coef,
            intercept,
        })
    }
}

impl Fold<Block> for Gram {
    type Partial = Vec<f64>;

    fn zero(&self) -> Vec<f64> {
        vec![0.0; self.width() * self.width()]
    }

    fn add(&self, b: &Block, into: &mut Vec<f64>) {
        let o = &self.options;
        let (mut x, mut a) = (vec![0.0; b.x.len()], vec![0.0; b.a.len()]);
        let mut psi_x = vec![0.0; o.map.dim(x.len())];
        let mut rows = Vec::with_capacity(b.rows() * self.width());
        for i in 0..b.rows() {
            b.context(i, &mut x);
            b.action(i, &mut a);
            o.scaler.apply(&mut x);
            o.map.apply(&x, &mut psi_x);
            let psi_a = o.actions.apply(&a);
            let root = b.omega[i].sqrt();
            for f in &psi_x {
                rows.extend(psi_a.iter().map(|g| root * f * g));
            }
            rows.extend([root, root * b.y[i]]);
        }
        add_gram(&rows, b.rows(), self.width(), into);
    }

    fn merge(&self, other: &Vec<f64>, into: &mut Vec<f64>) {
        into.iter_mut().zip(other).for_each(|(a, b)| *a += b);
    }
}
