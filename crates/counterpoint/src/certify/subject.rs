//! What a certificate speaks of: a policy, a log, a program.

use crate::policy::TargetPolicy;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Which policy was judged, on which log, and by which program, so that a certificate found alone can be traced back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Subject {
    /// SHA-256 of the policy's file ([`SavedPolicy::sha256`](crate::policy::SavedPolicy::sha256)); absent for a policy that has none.
    pub policy_sha256: Option<String>,
    /// The log, by the name the caller has for it.
    pub log: Option<String>,
    /// The program and its version.
    pub program: String,
}

impl Subject {
    pub(super) fn of(policy: &dyn TargetPolicy) -> Self {
        Subject {
            policy_sha256: policy.saved().map(|p| p.sha256()),
            log: None,
            program: concat!("counterpoint ", env!("CARGO_PKG_VERSION")).into(),
        }
    }
}

/// "policy 0b5f3a1c9d2e (SHA-256); log a.parquet; counterpoint 0.1.0": the hash by its first digits.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(hash) = &self.policy_sha256 {
            write!(f, "policy {} (SHA-256); ", &hash[..hash.len().min(12)])?;
        }
        if let Some(log) = &self.log {
            write!(f, "log {log}; ")?;
        }
        f.write_str(&self.program)
    }
}
