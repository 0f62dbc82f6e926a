//! Attacks from outside that once went through: each is refused in words, at once, and takes no memory.

#![cfg(feature = "readers")]
#![allow(clippy::unwrap_used, missing_docs)]

use arrow_array::*;
use counterpoint::data::{Missing, Outcome, ReadOptions, Roles, check_output, read_log};
use counterpoint::policy::{Family, Ready, SavedPolicy};
use counterpoint::{Log, Policy, Recipe, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

fn read(path: &Path, contexts: &[&str]) -> Result<Log> {
    let roles = Roles {
        contexts: contexts.iter().map(|c| c.to_string()).collect(),
        actions: vec!["action".into()],
        outcome: Some(("reward".into(), Outcome::Reward)),
        propensity: "propensity".into(),
        ..Roles::default()
    };
    read_log(&[path], &roles, &ReadOptions { missing: Missing::Refuse, ..ReadOptions::default() })
}

#[track_caller]
fn refused<T>(done: Result<T>, parts: &[&str]) {
    let Err(e) = done else { panic!("it was believed") };
    assert!(e.remedy().is_some(), "no hint: {e}");
    parts.iter().for_each(|p| assert!(e.to_string().contains(p), "no {p:?} in: {e}"));
    assert!(e.to_string().len() < 10_000, "an error of {} bytes", e.to_string().len());
}

fn file(dir: &tempfile::TempDir, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// A column of words beside the others, as Parquet.
fn parquet(dir: &tempfile::TempDir, name: &str, words: ArrayRef) -> PathBuf {
    let rows = words.len();
    let numbers = |v: f64| Arc::new(Float64Array::from(vec![v; rows])) as ArrayRef;
    let [action, reward, propensity] = [1.0, 2.0, 0.5].map(numbers);
    let columns = [("word", words), ("action", action), ("reward", reward), ("propensity", propensity)];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let path = dir.path().join(name);
    let to = std::fs::File::create(&path).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(to, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path
}

#[test]
fn a_name_that_stands_twice_in_a_line_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let row = "{\"x\": 1, \"action\": 1, \"reward\": 1, \"propensity\": 0.5, \"note\": 1, \"note\": 2}\n";
    let plain = file(&dir, "plain.jsonl", row.repeat(20));
    assert_eq!(read(&plain, &["x"]).unwrap().rows(), 20); // of a column that nobody reads anything may stand there
    let twice = file(&dir, "twice.jsonl", row.repeat(19) + &row.replace("\"x\": 1", "\"x\": 1, \"x\": 2"));
    refused(read(&twice, &["x"]), &["line 20", "\"x\" stands in it twice"]);
}

#[test]
fn many_columns_take_a_time_in_proportion() {
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..60_000).map(|i| format!("c{i}")).collect();
    let header = format!("action,reward,propensity,{}\n", names.join(","));
    let row = format!("1,1,0.5{}\n", ",1".repeat(names.len()));
    let path = file(&dir, "wide.csv", header + &row + &row);
    let clock = Instant::now();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(read(&path, &all).unwrap().rows(), 2);
    assert!(clock.elapsed().as_secs() < 30, "{:?}", clock.elapsed()); // by pairs of names it was minutes
    let line: String = names.iter().map(|n| format!("\"{n}\":1,")).collect();
    let line = format!("{{{line}\"action\":1,\"reward\":1,\"propensity\":0.5}}\n");
    let clock = Instant::now();
    assert_eq!(read(&file(&dir, "wide.jsonl", line.repeat(2)), &["c7"]).unwrap().rows(), 2);
    assert!(clock.elapsed().as_secs() < 10, "{:?}", clock.elapsed());
    let long = file(&dir, "long.csv", format!("{},b\n1,2\n", "n".repeat(3 << 20)));
    refused(read(&long, &["x"]), &["there is no column"]);
}

#[test]
fn numbers_that_stand_for_nothing_are_not_computed_with() {
    let dir = tempfile::tempdir().unwrap();
    let mut hints = Vec::new();
    for (i, column) in ["x", "action", "reward"].iter().enumerate() {
        for value in ["1e308", "-1.7976931348623157e308", "3e140", "inf"] {
            let mut cells = ["1", "1", "1", "0.5"];
            cells[i] = value;
            let text = format!("x,action,reward,propensity\n{}{}\n", "1,1,1,0.5\n".repeat(9), cells.join(","));
            let place = format!("column {column:?}");
            let what = if value == "inf" { "must be finite" } else { "too large to compute with" };
            let done = read(&file(&dir, "log.csv", text), &["x"]);
            hints.extend(done.as_ref().err().and_then(|e| e.remedy().cloned()));
            refused(done, &["row 10", &place, what]);
        }
    }
    // they are no gaps, and nobody is told how gaps are kept
    assert!(hints.len() == 12 && hints.iter().all(|h| *h == hints[0]), "{hints:?}");
}

#[test]
fn a_missing_number_is_no_word() {
    let dir = tempfile::tempdir().unwrap();
    let codes: ArrayRef =
        Arc::new(Float64Array::from((0..20).map(|i| [1.0, 2.0, f64::NAN][i % 3]).collect::<Vec<_>>()));
    let path = parquet(&dir, "codes.parquet", codes);
    let roles = Roles {
        contexts: vec!["word".into()],
        actions: vec!["action".into()],
        outcome: Some(("reward".into(), Outcome::Reward)),
        propensity: "propensity".into(),
        ..Roles::default()
    };
    let options = ReadOptions { categorical: vec!["word".into()], ..ReadOptions::default() };
    refused(read_log(&[&path], &roles, &options), &["row 3", "the category is missing"]);
}

#[test]
fn words_of_parquet_are_read_as_they_lie_and_long_ones_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let words: ArrayRef = Arc::new(StringArray::from((0..40_000).map(|i| ["Rome", "Oslo"][i % 2]).collect::<Vec<_>>()));
    let log = read(&parquet(&dir, "plain.parquet", words.clone()), &["word"]).unwrap();
    assert_eq!((log.rows(), log.schema().contexts.len()), (40_000, 2));
    let large: ArrayRef =
        Arc::new(words.as_any().downcast_ref::<StringArray>().unwrap().iter().collect::<LargeStringArray>());
    assert!(read(&parquet(&dir, "large.parquet", large), &["word"]).unwrap().blocks() == log.blocks());
    // one long word that every row names: a kilobyte of file, which would be a gigabyte of text
    let long = "a".repeat(1 << 16);
    let keys = Int32Array::from(vec![0; 16_384]);
    let named = DictionaryArray::new(keys, Arc::new(StringArray::from(vec![long.as_str()])));
    let path = parquet(&dir, "long.parquet", Arc::new(named));
    assert!(std::fs::metadata(&path).unwrap().len() < 1 << 20);
    refused(read(&path, &["word"]), &["column \"word\""]);
    // bytes and lists are refused by their type, before one of them is unpacked
    let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![&b"a"[..]; 9]));
    refused(read(&parquet(&dir, "bytes.parquet", bytes), &["word"]), &["it holds bytes", "column \"word\""]);
}

#[cfg(target_os = "linux")]
#[test]
fn pipes_and_devices_are_no_files() {
    let dir = tempfile::tempdir().unwrap();
    for (name, device) in [("zero.csv", "/dev/zero"), ("null.parquet", "/dev/null"), ("tty.jsonl", "/dev/urandom")] {
        let link = dir.path().join(name);
        std::os::unix::fs::symlink(device, &link).unwrap();
        refused(read(&link, &["x"]), &["a pipe or a device", "name - for standard input"]);
    }
    // opening it would wait for somebody who writes
    let pipe = dir.path().join("pipe.csv");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    refused(read(&pipe, &["x"]), &["a pipe or a device"]);
    refused(check_output("-", &[]), &["outputs are files"]);
    // a text without end is read to its limit
    refused(SavedPolicy::load("/dev/zero"), &["it is longer than 256 MiB"]);
    refused(Recipe::load("/dev/zero"), &["it is longer than 256 MiB"]);
}

#[test]
fn a_density_that_is_no_number_is_never_logged() {
    // the mean of a gamma policy far below its contexts is 0: the draw is the smallest number, its density none
    let policy = Policy::constant(Family::Gamma, &["x"], &["a"], &[2.0], &[0.5]).unwrap();
    let far: SavedPolicy = Policy { theta: vec![-1e100, policy.theta[1]], ..policy.clone() }.into();
    let near: SavedPolicy = policy.into();
    for (policy, usable) in [(near, true), (far, false)] {
        let (a, log_density) = Ready::new(&policy).draw(&[0.5], 7, 3).unwrap();
        assert_eq!(policy.usable(&a, log_density), usable, "{a:?} with ln density {log_density}");
    }
    let rule = include_str!("compat/policy-v3-rule.json");
    let SavedPolicy::Rule(rule) = SavedPolicy::from_json(rule).unwrap() else { panic!("another kind") };
    assert!(SavedPolicy::from(rule.clone().without_noise()).usable(&[1.0], f64::NAN));
    assert!(!SavedPolicy::from(rule.with_std(1.0)).usable(&[1.0], f64::NAN));
}
