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

    /// The version of the program, where that is newer than this one.
    pub(super) fn newer(&self) -> Option<&str> {
        let parts = |version: &str| {
            let parts: Vec<u64> = version.split('.').map_while(|p| p.parse().ok()).collect();
            <[u64; 3]>::try_from(parts).ok()
        };
        let (version, found) = self.program.split_whitespace().find_map(|word| Some((word, parts(word)?)))?;
        (Some(found) > parts(env!("CARGO_PKG_VERSION"))).then_some(version)
    }
}

/// "policy 0b5f3a1c9d2e (SHA-256); log a.parquet; counterpoint 0.1.0": the hash by its first digits.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(hash) = &self.policy_sha256 {
            // a certificate that was read may hold any words here
            write!(f, "policy {} (SHA-256); ", hash.chars().take(12).collect::<String>())?;
        }
        if let Some(log) = &self.log {
            write!(f, "log {log}; ")?;
        }
        f.write_str(&self.program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_program_is_told_by_its_version() {
        let of = |program: &str| Subject { program: program.into(), ..Subject::default() };
        assert_eq!(of("counterpoint 1.0.0 (commit 0123)").newer(), Some("1.0.0"));
        assert_eq!(of("counterpoint 0.10.0").newer(), Some("0.10.0"));
        for same in
            [concat!("counterpoint ", env!("CARGO_PKG_VERSION")), "counterpoint 0.0.9", "", "mine, 7", "mine 1.2"]
        {
            assert_eq!(of(same).newer(), None, "{same}");
        }
    }

    #[test]
    fn a_hash_of_any_words_is_told() {
        let subject = Subject { policy_sha256: Some("abcdefghijkéé".into()), ..Subject::default() };
        assert_eq!(subject.to_string(), "policy abcdefghijké (SHA-256); ");
    }
}
