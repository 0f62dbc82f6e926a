//! The policy file: one JSON document that a person can read, of one format for every kind of policy.
//!
//! It is a header {format, version, kind}, notes for people, and the policy. Format, version and kind are checked before
//! anything else is believed: a file of another version is refused, never guessed at. Then every part is checked as it is
//! read: lengths against each other (so no count is larger than the file), numbers for being finite, stds and bandwidths for
//! being positive, edges for being sorted; and the policy must act where it was learned. Last, its checksum must be right: a
//! flipped bit would otherwise be another policy. Version 1, which knew only parametric policies, and version 2, which had no
//! checksum, are still read. Writing goes to a temporary file that is renamed when complete.

use super::{AbstainPolicy, ModelPolicy, Policy, RulePolicy, SavedPolicy, SoftmaxPolicy, TargetPolicy};
use crate::data::checksum::Checksum;
use crate::data::files::{read_text, write_whole};
use crate::error::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::Path;

const FORMAT: &str = "counterpoint-policy";
const VERSION: u32 = 3;

/// What is looked at first.
#[derive(Deserialize)]
struct Header {
    format: Option<String>,
    version: Option<u32>,
    kind: Option<String>,
    /// Files of rivals before they had this format.
    settings: Option<serde_json::Value>,
}

#[derive(Serialize)]
struct Written<'a, P> {
    format: &'static str,
    version: u32,
    kind: &'static str,
    /// For people: what theta says about the stds.
    #[serde(skip_serializing_if = "Option::is_none")]
    std: Option<Vec<f64>>,
    /// For people: what the policy rests on.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
    /// Of all of it; see [`checksum`].
    checksum: String,
    policy: &'a P,
}

/// The whole file; a field that is not known is an error.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read<P> {
    #[serde(rename = "format")]
    _format: String,
    #[serde(rename = "version")]
    _version: u32,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    std: Option<Vec<f64>>,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    checksum: Option<String>,
    policy: P,
}

/// The checksum of what a file says, however it is laid out. Numbers are written so that reading gives the same bits, and so the
/// same text again.
fn checksum<P: Serialize>(kind: Option<&str>, std: Option<&[f64]>, notes: &[String], policy: &P) -> String {
    let text = serde_json::to_string(&(kind, std, notes, policy)).unwrap_or_default();
    Checksum::of(text.as_bytes()).to_string()
}

fn bad(e: serde_json::Error) -> Error {
    let what = e.to_string();
    // the remedy of a check that failed within stays a remedy
    let (what, hint) =
        what.split_once("\nhint: ").unwrap_or((&what, "policy files are written by `learn` and `select`"));
    Error::policy(format!("it is not a policy file: {what}")).hint(hint.to_string())
}

fn written<P: Serialize>(kind: &'static str, std: Option<Vec<f64>>, notes: &[String], policy: &P) -> String {
    let checksum = checksum(Some(kind), std.as_deref(), notes, policy);
    let file = Written { format: FORMAT, version: VERSION, kind, std, notes, checksum, policy };
    // a policy is finite numbers and strings: it cannot fail to serialise
    serde_json::to_string_pretty(&file).unwrap_or_default() + "\n"
}

fn read<P: DeserializeOwned + Serialize + Into<SavedPolicy>>(text: &str) -> Result<SavedPolicy> {
    let file: Read<P> = serde_json::from_str(text).map_err(bad)?;
    let Read { kind, std, notes, checksum: said, policy, .. } = file;
    if said.is_some_and(|said| said != checksum(kind.as_deref(), std.as_deref(), &notes, &policy)) {
        return Err(Error::policy("its checksum is wrong: it was changed or damaged after it was written")
            .hint("learn it again, or copy it again; who changed it by hand takes the line \"checksum\" out"));
    }
    let policy = policy.into();
    policy.check_acts()?;
    Ok(policy)
}

impl SavedPolicy {
    /// The policy as a JSON document. Numbers are written so that reading gives the same bits.
    pub fn to_json(&self) -> String {
        self.to_json_noting(&[])
    }

    /// SHA-256 of the file as [`to_json`](Self::to_json) writes it, in hexadecimal digits: what `sha256sum` says of a policy file
    /// without notes. Certificates carry it.
    pub fn sha256(&self) -> String {
        Sha256::digest(self.to_json()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The same with notes for people who open the file, such as that the policy was learned from estimated propensities.
    pub fn to_json_noting(&self, notes: &[String]) -> String {
        match self {
            SavedPolicy::Parametric(policy) => policy.to_json_noting(notes),
            SavedPolicy::Rule(policy) => written(self.kind(), None, notes, policy),
            SavedPolicy::Softmax(policy) => written(self.kind(), None, notes, policy),
            SavedPolicy::Model(policy) => written(self.kind(), None, notes, policy),
            SavedPolicy::Abstain(policy) => written(self.kind(), None, notes, policy),
        }
    }

    /// Reads a policy back; unknown formats, versions, kinds and fields, and parts that do not fit, are refused.
    pub fn from_json(text: &str) -> Result<Self> {
        let header: Header = serde_json::from_str(text).map_err(bad)?;
        let (Some(format), Some(version)) = (header.format, header.version) else {
            let rival = header.settings.is_some_and(|s| s.get("rival").is_some());
            return Err(match rival {
                true => Error::policy("it was written by `rival` of an earlier release, whose files had no header")
                    .hint("write it anew with `rival`"),
                false => Error::policy("it is not a policy file: it has no format and version")
                    .hint("policy files are written by `learn`, `select` and `rival`"),
            });
        };
        if format != FORMAT {
            return Err(Error::policy(format!("its format is {format:?}, expected {FORMAT:?}"))
                .hint("policy files are written by `learn`, `select` and `rival`"));
        }
        match (version, header.kind.as_deref()) {
            (1, None) | (2 | 3, Some("parametric")) => read::<Policy>(text),
            (2 | 3, Some("model")) => read::<ModelPolicy>(text),
            (3, Some("abstain")) => read::<AbstainPolicy>(text),
            (2 | 3, Some("rule")) => read::<RulePolicy>(text),
            (2 | 3, Some("softmax")) => read::<SoftmaxPolicy>(text),
            (1..=VERSION, kind) => Err(Error::policy(format!("its kind is {:?}", kind.unwrap_or_default()))
                .hint("the kinds are parametric, model, rule, softmax and abstain")),
            _ => Err(Error::policy(format!("it is of version {version}, this program reads versions 1 to {VERSION}"))
                .hint("use the release of counterpoint that wrote it, or learn it again")),
        }
    }

    /// Refuses a policy whose numbers are finite one by one and overflow together: in the middle of the contexts that it was learned
    /// from, and one unit to either side, its mean must be a number.
    fn check_acts(&self) -> Result<()> {
        let Some(scaler) = self.scaler() else { return Ok(()) };
        for z in [0.0, -1.0, 1.0] {
            let x: Vec<f64> = scaler.shift.iter().zip(&scaler.unit).map(|(s, u)| s + z * u).collect();
            if !self.mean(&x).is_none_or(|mean| mean.iter().all(|m| m.is_finite())) {
                return Err(Error::policy("its action is not a finite number even where it was learned")
                    .hint("the file is damaged: learn the policy again, or copy it again"));
            }
        }
        Ok(())
    }

    /// Writes the file whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        write_whole(path.as_ref(), self.to_json().as_bytes())
    }

    /// Reads a policy file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_json(&read_text(path)?).map_err(|e| e.at(path.display().to_string()))
    }
}

impl Policy {
    /// The policy as a JSON document. Numbers are written so that reading gives the same bits.
    pub fn to_json(&self) -> String {
        self.to_json_noting(&[])
    }

    /// The same with notes for people who open the file, such as that the policy was learned from estimated propensities.
    pub fn to_json_noting(&self, notes: &[String]) -> String {
        written("parametric", Some(self.std()), notes, self)
    }

    /// Reads a policy of this kind back; see [`SavedPolicy::from_json`].
    pub fn from_json(text: &str) -> Result<Self> {
        SavedPolicy::from_json(text)?.into_parametric()
    }

    /// Writes the file whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        write_whole(path.as_ref(), self.to_json().as_bytes())
    }

    /// Writes the file with notes; see [`to_json_noting`](Self::to_json_noting).
    pub fn save_noting(&self, path: impl AsRef<Path>, notes: &[String]) -> Result<()> {
        write_whole(path.as_ref(), self.to_json_noting(notes).as_bytes())
    }

    /// Reads a policy file of this kind.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let policy = SavedPolicy::load(path)?;
        policy.into_parametric().map_err(|e| e.at(path.display().to_string()))
    }
}
