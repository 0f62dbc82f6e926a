//! The policy file: one JSON document that a person can read.
//!
//! It is a header and the [`Policy`] itself. The version is checked before anything else is believed: a file of
//! another version is refused, never guessed at. Writing goes to a temporary file that is renamed when complete.

use super::Policy;
use crate::data::files::{read_text, write_whole};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

const FORMAT: &str = "counterpoint-policy";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Header {
    format: String,
    version: u32,
}

#[derive(Serialize, Deserialize)]
struct File {
    #[serde(flatten)]
    header: Header,
    /// For readers: what theta says about the stds.
    std: Vec<f64>,
    /// For readers: what the policy rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    policy: Policy,
}

impl Policy {
    /// The policy as a JSON document. Numbers are written so that reading gives the same bits.
    pub fn to_json(&self) -> String {
        self.to_json_noting(&[])
    }

    /// The same with notes for people who open the file, such as that the policy was learned from estimated propensities.
    pub fn to_json_noting(&self, notes: &[String]) -> String {
        let header = Header { format: FORMAT.into(), version: VERSION };
        let file = File { header, std: self.std(), notes: notes.to_vec(), policy: self.clone() };
        // a policy is finite numbers and strings: it cannot fail to serialise
        serde_json::to_string_pretty(&file).unwrap_or_default() + "\n"
    }

    /// Reads a policy back; unknown formats, versions and fields that do not fit are refused.
    pub fn from_json(text: &str) -> Result<Self> {
        let bad = |e: serde_json::Error| {
            Error::policy(format!("it is not a policy file: {e}"))
                .hint("policy files are written by `learn` and `select`")
        };
        let header: Header = serde_json::from_str(text).map_err(bad)?;
        if header.format != FORMAT {
            return Err(Error::policy(format!("its format is {:?}, expected {FORMAT:?}", header.format)));
        }
        if header.version != VERSION {
            return Err(Error::policy(format!(
                "it is of version {}, this program reads version {VERSION}",
                header.version
            ))
            .hint("use the release of counterpoint that wrote it, or learn it again"));
        }
        let file: File = serde_json::from_str(text).map_err(bad)?;
        file.policy.check()?;
        Ok(file.policy)
    }

    /// Writes the file whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        write_whole(path.as_ref(), self.to_json().as_bytes())
    }

    /// Writes the file with notes; see [`to_json_noting`](Self::to_json_noting).
    pub fn save_noting(&self, path: impl AsRef<Path>, notes: &[String]) -> Result<()> {
        write_whole(path.as_ref(), self.to_json_noting(notes).as_bytes())
    }

    /// Reads a policy file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_json(&read_text(path)?).map_err(|e| e.at(path.display().to_string()))
    }
}
