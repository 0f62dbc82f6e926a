//! The original of CoCoA, for whoever has it; [`Cocoa`](counterpoint::simulate::Cocoa) is its twin.

use counterpoint::data::{Outcome, ReadOptions, Roles, read_log};
use counterpoint::{Log, Result};
use std::path::Path;

/// The names of the original's columns: three contexts, the bid, what it earned, its density. By default those of the twin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CocoaColumns {
    /// The contexts.
    pub contexts: [String; 3],
    /// The bid.
    pub action: String,
    /// What it earned.
    pub reward: String,
    /// The density of the bid.
    pub propensity: String,
}

impl Default for CocoaColumns {
    fn default() -> Self {
        CocoaColumns {
            contexts: ["x0", "x1", "x2"].map(String::from),
            action: "action".into(),
            reward: "reward".into(),
            propensity: "propensity".into(),
        }
    }
}

/// Reads the original, or anything of its shape: a CSV or Parquet file, a directory or a pattern. Rows go straight into blocks,
/// so 120 million of them need about 48 bytes each.
pub fn read_cocoa(path: impl AsRef<Path>, columns: &CocoaColumns) -> Result<Log> {
    let roles = Roles {
        contexts: columns.contexts.to_vec(),
        actions: vec![columns.action.clone()],
        outcome: Some((columns.reward.clone(), Outcome::Reward)),
        propensity: columns.propensity.as_str().into(),
        ..Roles::default()
    };
    read_log(&[path], &roles, &ReadOptions::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cocoa;

    /// Under names of their own, through a CSV, the rows come back.
    #[test]
    fn a_csv_of_any_names_is_read() {
        let mut table = Cocoa::simulate(50, 1).table();
        let names = ["hour", "price", "user", "bid", "sales", "density"];
        table.columns.iter_mut().zip(names).for_each(|((name, _), new)| *name = new.to_string());
        let path = std::env::temp_dir().join(format!("counterpoint-cocoa-{}.csv", std::process::id()));
        table.write(&path).expect("written");
        let [a, b, c, action, reward, propensity] = names.map(String::from);
        let log = read_cocoa(&path, &CocoaColumns { contexts: [a, b, c], action, reward, propensity }).expect("read");
        assert!(read_cocoa(&path, &CocoaColumns::default()).is_err());
        std::fs::remove_file(&path).expect("removed");
        let own = Cocoa::simulate(50, 1).log().expect("a log");
        assert_eq!(log.rows(), 50);
        assert_eq!(log.cost_summary(), own.cost_summary());
        assert_eq!(log.context_summaries(), own.context_summaries());
    }
}
