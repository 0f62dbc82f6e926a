//! What says, before a test row is read, whether the test part can tell.

use super::diagnose::Diagnostics;
use crate::policy::{GateFigures, TargetPolicy};
use serde::{Deserialize, Serialize};

/// Where the gate takes its figures from: always rows other than those of the estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateEvidence {
    /// The weights of the valid part, from which the policy must not have been learned.
    #[default]
    Valid,
    /// Weights on held-out folds of all that the policy was learned from: train and valid. A test part is all it needs then.
    Folds(GateFigures),
}

impl GateEvidence {
    /// What a policy brings: figures of its held-out folds where its file has them ([`Origin::support`](crate::policy::Origin)), else nothing,
    /// and the valid part decides.
    pub fn of(policy: &dyn TargetPolicy) -> Self {
        policy.origin().and_then(|o| o.support).map_or(GateEvidence::Valid, GateEvidence::Folds)
    }

    /// The figures for the gate.
    pub(super) fn figures(&self, valid: &Diagnostics) -> GateFigures {
        match self {
            GateEvidence::Valid => GateFigures {
                effective: valid.effective,
                rows: valid.clusters.unwrap_or(valid.rows),
                mean_weight: valid.mean_weight.estimate,
                mean_weight_error: valid.mean_weight.std_error,
                folds: 0,
            },
            GateEvidence::Folds(support) => *support,
        }
    }
}
