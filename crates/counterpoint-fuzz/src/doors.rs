//! What comes in: files of every kind, as bytes.

use counterpoint::certify::{Certificate, Watch};
use counterpoint::data::{Journal, LogConfig, Missing, Outcome, ReadOptions, Roles, read_log};
use counterpoint::policy::{Ready, SavedPolicy};
use counterpoint::select::Grid;
use counterpoint::{Error, Recipe};
use std::cell::RefCell;
use std::path::PathBuf;

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// An error must say something, in words that end.
fn worded(e: &Error) {
    let said = e.to_string();
    assert!(!said.trim().is_empty() && said.len() < 100_000, "an error of {} bytes", said.len());
}

/// Whether it went well; an error must be worded.
fn accepted<T>(done: Result<T, Error>) -> Option<T> {
    done.map_err(|e| worded(&e)).ok()
}

/// A policy that is accepted acts near where it was learned, and is the same when it is written and read again.
pub(crate) fn policy(bytes: &[u8]) -> bool {
    let Some(policy) = text(bytes).and_then(|t| accepted(SavedPolicy::from_json(t))) else { return false };
    let again = SavedPolicy::from_json(&policy.to_json());
    assert!(again.is_ok_and(|again| again == policy), "it changes when it is written and read");
    let d = policy.columns().contexts.len();
    let mut ready = Ready::new(&policy);
    for (row, value) in [0.0, 1.0, -1.0, 1e3, 1e300].into_iter().enumerate() {
        // far outside anything may happen but a panic or an endless loop
        let _ = ready.draw(&vec![value; d], 1, row as u64);
    }
    if let Some(scaler) = policy.scaler() {
        let mean = ready.mean(&scaler.shift);
        assert!(mean.is_none_or(|m| m.iter().all(|v| v.is_finite())), "no finite action where it was learned");
    }
    true
}

pub(crate) fn recipe(bytes: &[u8]) -> bool {
    let Some(recipe) = text(bytes).and_then(|t| accepted(Recipe::from_toml(t))) else { return false };
    let again = Recipe::from_toml(&recipe.to_toml());
    assert!(again.is_ok_and(|again| again == recipe), "it changes when it is written and read");
    true
}

pub(crate) fn grid(bytes: &[u8]) -> bool {
    let Some(grid) = text(bytes).and_then(|t| accepted(Grid::from_toml(t))) else { return false };
    accepted(grid.candidates(7)).is_some()
}

pub(crate) fn config(bytes: &[u8]) -> bool {
    let Some(mut config) = text(bytes).and_then(|t| accepted(LogConfig::from_toml(t))) else { return false };
    let columns = ["x0", "x1", "action", "reward", "propensity"].map(String::from);
    let _ = accepted(config.expand(&columns));
    let _ = (config.missing(), config.roles());
    true
}

/// A certificate that is accepted can be told in words.
pub(crate) fn certificate(bytes: &[u8]) -> bool {
    let Some(certificate) = text(bytes).and_then(|t| accepted(Certificate::from_json(t))) else { return false };
    let _ = (certificate.to_string(), certificate.subject.to_string(), certificate.deploys());
    let _ = (certificate.decision(), certificate.refusals());
    true
}

/// The state of a monitor, as it is and with a checksum that fits what it says, so that damage gets further: one that is accepted is the
/// same when it is written and read again, and its intervals are numbers.
pub(crate) fn state(bytes: &[u8]) -> bool {
    let Some(text) = text(bytes) else { return false };
    let fitting = || {
        let file: serde_json::Value = serde_json::from_str(text).ok()?;
        serde_json::from_value::<Watch>(file.get("state")?.clone()).ok()
    };
    let read = accepted(Watch::from_json(text));
    let Some(watch) = read.or_else(|| accepted(Watch::from_json(&fitting()?.to_json()))) else { return false };
    let again = Watch::from_json(&watch.to_json());
    assert!(again.is_ok_and(|again| again == watch), "it changes when it is written and read");
    let look = watch.look();
    let numbers = look.value.iter().chain(&look.difference);
    assert!(numbers.clone().all(|v| v.is_finite()), "an interval that is not finite was accepted: {look:?}");
    let mut both = watch.clone();
    let _ = (accepted(both.merge(&watch)), watch.to_string());
    true
}

pub(crate) fn journal(bytes: &[u8]) -> bool {
    with_file("journal", bytes, |path| {
        let resumed = accepted(Journal::resume::<(String, f64)>(path, "fuzz 1"));
        let Some(resumed) = resumed else { return false };
        let before = resumed.known.len();
        assert!(resumed.known.iter().all(|(_, v)| v.is_finite()));
        resumed.journal.add(&("more", 1.0)).unwrap_or_else(|e| panic!("{e}"));
        drop(resumed);
        let again = Journal::resume::<(String, f64)>(path, "fuzz 1").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again.known.len(), before + 1, "what was added is not found again");
        true
    })
}

pub(crate) fn csv(bytes: &[u8]) -> bool {
    log("csv", bytes)
}

/// Bytes that are packed, and bytes as they are.
pub(crate) fn csv_gz(bytes: &[u8]) -> bool {
    log("csv.gz", bytes)
}

pub(crate) fn tsv(bytes: &[u8]) -> bool {
    log("tsv", bytes)
}

/// Lines of JSON. Standard input is read by this and by the CSV reader.
pub(crate) fn jsonl(bytes: &[u8]) -> bool {
    log("jsonl", bytes)
}

pub(crate) fn parquet(bytes: &[u8]) -> bool {
    log("parquet", bytes)
}

pub(crate) fn arrow(bytes: &[u8]) -> bool {
    log("arrow", bytes)
}

/// Bytes as they are.
pub(crate) fn store(bytes: &[u8]) -> bool {
    log("cps", bytes)
}

fn log(ending: &str, bytes: &[u8]) -> bool {
    let roles = Roles {
        contexts: ["x0", "city"].map(String::from).to_vec(),
        actions: vec!["action".into()],
        outcome: Some(("reward".into(), Outcome::Reward)),
        propensity: "propensity".into(),
        ..Roles::default()
    };
    let choice = bytes.len() % 3;
    let options = ReadOptions {
        drop_invalid: choice == 1,
        missing: if choice == 2 { Missing::Indicator } else { Missing::Refuse },
        memory: Some(1 << 28),
        ..ReadOptions::default()
    };
    with_file(ending, bytes, |path| {
        let Some(log) = accepted(read_log(&[path], &roles, &options)) else { return false };
        for block in log.blocks() {
            let columns = block.x.iter().chain(&block.a).chain([&block.log_p, &block.y, &block.omega]);
            for column in columns {
                assert!(column.iter().all(|v| v.is_finite()), "a value that is not finite was accepted");
                assert_eq!(column.len(), block.rows());
            }
        }
        true
    })
}

/// Runs with a file of these bytes; one directory a thread, in memory where there is one.
fn with_file(ending: &str, bytes: &[u8], run: impl FnOnce(&PathBuf) -> bool) -> bool {
    thread_local!(static DIRECTORY: RefCell<Option<tempfile::TempDir>> = const { RefCell::new(None) });
    DIRECTORY.with_borrow_mut(|slot| {
        let directory = slot.get_or_insert_with(|| {
            let made = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
            made.unwrap_or_else(|e| panic!("no directory to work in: {e}"))
        });
        let path = directory.path().join(format!("input.{ending}"));
        std::fs::write(&path, bytes).unwrap_or_else(|e| panic!("{e}"));
        run(&path)
    })
}
