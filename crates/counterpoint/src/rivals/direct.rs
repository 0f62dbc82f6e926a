//! The direct method: predict the cost of every action, take the cheapest.
//!
//! ```text
//! eta(x, a) = <coef, psi_X(x) (x) psi_A(a)> + b by ridge regression;   pi(x) = argmin over a of eta(x, a)
//! ```
//!
//! The minimum is looked for on a fine grid between the outer anchors: eta is smooth in the action, so the anchors
//! alone would only add an error of half their spacing.

use super::rows::Rows;
use crate::features::{ActionMap, Anchors, ContextKind, Scaler};
use crate::folds::{LossOptions, fit_loss_model};
use crate::policy::{Rule, RulePolicy};
use crate::{Engine, Log, Result};
use serde::{Deserialize, Serialize};

/// Actions the greedy rule looks at.
const ACTIONS: usize = 101;

/// Settings of the direct method.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Direct {
    /// The context map.
    pub map: ContextKind,
    /// Anchors of the action map.
    pub anchors: usize,
    /// The ridge, > 0.
    pub ridge: f64,
}

impl Default for Direct {
    fn default() -> Self {
        Direct { map: ContextKind::Nystrom, anchors: 12, ridge: 1e-3 }
    }
}

impl Direct {
    /// Learns the greedy rule.
    pub fn fit(&self, engine: &Engine, log: &Log, seed: u64) -> Result<RulePolicy> {
        let rows = Rows::new(log)?;
        let model = self.model(engine, log, &rows, seed)?;
        let (lo, hi) = (model.actions.anchors[0], model.actions.anchors[model.actions.len() - 1]);
        let actions = (0..ACTIONS).map(|i| lo + (hi - lo) * i as f64 / (ACTIONS - 1) as f64).collect();
        let rule = Rule::Greedy { map: model.map, kernels: model.actions, coef: model.coef, actions };
        Ok(rows.policy(rule, None))
    }

    /// The loss model, for contexts that are standardised already.
    pub(crate) fn model(
        &self,
        engine: &Engine,
        log: &Log,
        rows: &Rows,
        seed: u64,
    ) -> Result<crate::estimate::LossModel> {
        let anchors = Anchors::Quantile.place(&rows.a, 1, self.anchors, seed)?;
        let options = LossOptions {
            scaler: rows.scaler.clone(),
            map: rows.map(self.map, seed)?,
            actions: ActionMap::new(anchors, 1, None)?,
            ridge: self.ridge,
        };
        let mut model = fit_loss_model(engine, log, &options)?;
        model.scaler = Scaler::identity(rows.d());
        Ok(model)
    }
}
