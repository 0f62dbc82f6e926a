//! One run of one method on one log of one world, as a line of JSON.

use counterpoint::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What a method made of a log, and what is true of it. Lines of several runs and programs can be put together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The world.
    pub world: String,
    /// The seed of its log.
    pub seed: u64,
    /// The method.
    pub method: String,
    /// Rows of the log, all parts.
    pub rows: usize,
    /// Mean outcome of the best action of each context, in the outcome's own direction as all values here.
    pub oracle: f64,
    /// Mean outcome of the best constant.
    pub constant: f64,
    /// Mean outcome of the log.
    pub logging: f64,
    /// Mean outcome of the policy; of the log, which stays, where there is none.
    pub value: f64,
    /// (oracle - value) / (oracle - logging).
    pub regret: f64,
    /// The same of its mean actions, where they are known.
    #[serde(default)]
    pub mean_regret: Option<f64>,
    /// `deploy`, `keep`, `invalid`; `refused`: the method ended in an error; `none`: it asks for no certificate.
    pub verdict: String,
    /// The interval of the certificate's difference to the log, in the outcome's direction.
    #[serde(default)]
    pub difference: Option<[f64; 2]>,
    /// Effective share of the valid part.
    #[serde(default)]
    pub effective_share: Option<f64>,
    /// Seconds on the clock, learning and certificate.
    pub seconds: f64,
    /// Seconds of processors, where they can be told.
    #[serde(default)]
    pub cpu_seconds: Option<f64>,
    /// What was chosen, or what went wrong.
    #[serde(default)]
    pub detail: String,
}

impl Record {
    /// Whether the method advised to deploy a policy that is worse than the log.
    pub fn false_deploy(&self) -> bool {
        self.verdict == "deploy" && self.regret > 1.0
    }

    /// The regret of what happens if the advice is followed: without `deploy` the log stays.
    pub fn decided(&self) -> f64 {
        if ["deploy", "none"].contains(&self.verdict.as_str()) { self.regret } else { 1.0 }
    }

    /// The record as a line.
    pub fn line(&self) -> String {
        // numbers and words: it cannot fail to serialise
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

/// Reads lines of records from files; of two lines for the same run the later one counts.
pub fn read_records(files: &[impl AsRef<Path>]) -> Result<Vec<Record>> {
    let mut all: Vec<Record> = Vec::new();
    for path in files {
        let path = path.as_ref();
        let place = |line: usize| format!("{}, line {}", path.display(), line + 1);
        let text = std::fs::read_to_string(path).map_err(|e| Error::data(format!("{}: {e}", path.display())))?;
        for (i, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
            let record: Record =
                serde_json::from_str(line).map_err(|e| Error::data(format!("not a record: {e}")).at(place(i)))?;
            let key = |r: &Record| (r.world.clone(), r.seed, r.method.clone(), r.rows);
            all.retain(|r| key(r) != key(&record));
            all.push(record);
        }
    }
    Ok(all)
}
