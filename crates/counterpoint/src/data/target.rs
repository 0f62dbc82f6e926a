//! A policy to be evaluated that stands in columns of the log itself: "evaluate my policy" without a policy file.

use crate::math;
use serde::{Deserialize, Serialize};

/// Columns that say what a policy from elsewhere would have done in each row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetColumns {
    /// The density with which the policy would take the logged action; 0 where it never would.
    Density(String),
    /// The action the policy would take, one column for each action column.
    Actions(Vec<String>),
}

impl TargetColumns {
    /// The names of the columns, in order.
    pub fn names(&self) -> &[String] {
        match self {
            TargetColumns::Density(name) => std::slice::from_ref(name),
            TargetColumns::Actions(names) => names,
        }
    }

    /// The number of a cell as a block holds it: densities as logarithms, actions as they are.
    pub(super) fn held(&self, v: f64) -> f64 {
        match self {
            TargetColumns::Density(_) => math::ln(v),
            TargetColumns::Actions(_) => v,
        }
    }
}
