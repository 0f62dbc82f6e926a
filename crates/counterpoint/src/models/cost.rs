//! One name for every model of the cost, and for regressions on contexts alone.

use super::{ActionTrees, CostNetwork, Index, Predicted, Recentred, Ridge, Trees};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The list: the enum, and the way from a member to its file.
macro_rules! cost_models {
    ($( $(#[$about:meta])+ $name:ident($ty:ty) = $text:literal; )+) => {
        /// A model of the cost given context and action.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum CostModel { $( $(#[$about])+ $name($ty), )+ }

        impl CostModel {
            /// The name in recipes and policy files.
            pub fn name(&self) -> &'static str {
                match self { $( CostModel::$name(_) => $text, )+ }
            }

            /// q(x, a).
            pub fn at(&self, x: &[f64], a: f64) -> f64 {
                match self { $( CostModel::$name(m) => m.at(x, a), )+ }
            }

            /// q(x, g) for each of these ascending actions.
            pub fn at_knots(&self, x: &[f64], knots: &[f64], out: &mut [f64]) {
                match self { $( CostModel::$name(m) => m.at_knots(x, knots, out), )+ }
            }

            /// Refuses a model whose parts do not fit each other or `d` contexts.
            pub fn check(&self, d: usize) -> Result<()> {
                match self { $( CostModel::$name(m) => m.check(d), )+ }
            }
        }
    };
}

cost_models! {
    /// Ridge regression on (context basis) x (action basis).
    Ridge(Ridge) = "ridge";
    /// Curves of the distance to one number made of the contexts.
    Index(Index) = "index";
    /// Boosted trees on contexts and action.
    Trees(Trees) = "trees";
    /// Boosted trees on contexts whose leaves are smooth functions of the action.
    ActionTrees(ActionTrees) = "action-trees";
    /// A small network.
    Network(CostNetwork) = "network";
    /// Boosted trees around the best action of a network.
    Recentred(Recentred) = "recentred";
    /// A model of others, by its predictions in the last contexts of a row.
    Predicted(Predicted) = "predictions";
}

impl CostModel {
    /// Whether it reads predictions in the last contexts of a row; every other model is asked without them.
    pub fn reads_predictions(&self) -> bool {
        matches!(self, CostModel::Predicted(_))
    }
}

/// A regression on contexts alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Regressor {
    /// The same number for every context.
    Constant(f64),
    /// A ridge regression that ignores the action.
    Ridge(Ridge),
    /// Trees that ignore the action.
    Trees(Trees),
}

impl Regressor {
    /// The value given x.
    pub fn at(&self, x: &[f64]) -> f64 {
        match self {
            Regressor::Constant(v) => *v,
            Regressor::Ridge(m) => m.at(x, 0.0),
            Regressor::Trees(m) => m.at(x, 0.0),
        }
    }

    /// Refuses a regression whose parts do not fit each other or `d` contexts.
    pub fn check(&self, d: usize) -> Result<()> {
        match self {
            Regressor::Constant(v) if v.is_finite() => Ok(()),
            Regressor::Constant(v) => Err(Error::policy(format!("a constant of its rules is {v}"))),
            Regressor::Ridge(m) => m.check(d),
            Regressor::Trees(m) => m.check(d),
        }
    }
}
