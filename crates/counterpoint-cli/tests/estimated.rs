//! A log without propensities, end to end: everything that rests on an estimate says so.

#![allow(clippy::unwrap_used, missing_docs)]

use std::path::Path;
use std::process::{Command, Output};

fn run(dir: &Path, args: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_counterpoint")).current_dir(dir).args(args.split_whitespace()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const COLUMNS: &str = "--context x0,x1 --action action --reward reward --split split";
const SMALL: &str = "--set starts=1 --set proximal_steps=2 --set max_iterations=30 --set anchors=5";

/// A simulated log, with the column of propensities renamed or left out.
fn bare(dir: &Path, rename: Option<&str>) {
    assert!(run(dir, "simulate moons --rows 4000 --seed 3 -o log.csv").status.success());
    std::fs::remove_file(dir.join("log.toml")).unwrap(); // the columns are named by flags here
    let csv = std::fs::read_to_string(dir.join("log.csv")).unwrap();
    let at = csv.lines().next().unwrap().split(',').position(|n| n == "propensity").unwrap();
    let lines = csv.lines().enumerate().map(|(i, line)| {
        let mut cells: Vec<&str> = line.split(',').collect();
        match (rename, i) {
            (Some(name), 0) => cells[at] = name,
            (Some(_), _) => {}
            (None, _) => drop(cells.remove(at)),
        }
        cells.join(",")
    });
    let text: Vec<String> = lines.collect();
    std::fs::write(dir.join("bare.csv"), text.join("\n")).unwrap();
}

#[test]
fn every_command_says_that_propensities_are_estimated() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    bare(d, None);
    let said = run(d, &format!("describe bare.csv {COLUMNS} --propensity fit --json"));
    assert!(said.status.success(), "{}", text(&said.stderr));
    assert!(text(&said.stderr).contains("ESTIMATED") && text(&said.stderr).contains("lognormal"));
    let json: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
    assert_eq!(json["propensities"]["source"], "estimated");
    assert_eq!(json["propensities"]["actions"][0]["family"], "lognormal");

    let learned =
        run(d, &format!("learn bare.csv {COLUMNS} --propensity fit {SMALL} -o p.json --report p.html --json"));
    assert!(matches!(learned.status.code(), Some(0 | 1)), "{}", text(&learned.stderr));
    let json: serde_json::Value = serde_json::from_slice(&learned.stdout).unwrap();
    assert_eq!(json["propensities"]["source"], "estimated");
    for file in ["p.json", "p.certificate.json", "p.html"] {
        let written = std::fs::read_to_string(d.join(file)).unwrap();
        assert!(written.contains("not logged but estimated from the log"), "{file}");
    }

    let certified = run(d, &format!("certify p.json bare.csv {COLUMNS} --propensity fit --json"));
    let json: serde_json::Value = serde_json::from_slice(&certified.stdout).unwrap();
    assert_eq!(json["propensities"]["source"], "estimated");
    assert!(text(&certified.stderr).contains("ESTIMATED"));
    assert!(json["reasons"].to_string().contains("estimated from the log"));
    // the same rows and the same columns: the same densities, so the same certificate
    let before: serde_json::Value =
        serde_json::from_slice(&std::fs::read(d.join("p.certificate.json")).unwrap()).unwrap();
    assert_eq!(before["value"], json["value"]);

    // the truth is log-normal here: values by logged and by estimated propensities agree
    let by = |args: &str| -> f64 {
        let done = run(d, &format!("evaluate p.json {args} {COLUMNS} --json"));
        let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        json["snips"]["estimate"].as_f64().unwrap()
    };
    let (fitted, logged) = (by("bare.csv --propensity fit"), by("log.csv --propensity propensity"));
    assert!((fitted - logged).abs() < 0.02, "{fitted} {logged}");

    std::fs::write(
        d.join("log.toml"),
        "context = [\"x0\", \"x1\"]\naction = \"action\"\nreward = \"reward\"\nsplit = \"split\"\npropensity = \"fit\"\n",
    )
    .unwrap();
    assert!(text(&run(d, "describe bare.csv").stderr).contains("ESTIMATED"));
}

#[test]
fn without_the_flag_the_error_names_both_ways_out() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    bare(d, None);
    let said = run(d, &format!("learn bare.csv {COLUMNS} -o p.json"));
    let words = text(&said.stderr);
    assert_eq!(said.status.code(), Some(2));
    assert!(words.contains("propensity") && words.contains("--propensity COLUMN, or --propensity fit"), "{words}");
}

#[test]
fn a_column_called_fit_is_asked_about() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    bare(d, Some("fit"));
    let said = run(d, &format!("describe bare.csv {COLUMNS} --propensity fit"));
    assert_eq!(said.status.code(), Some(2));
    assert!(text(&said.stderr).contains("--propensity column:fit"), "{}", text(&said.stderr));
    let said = run(d, &format!("describe bare.csv {COLUMNS} --propensity column:fit"));
    assert!(said.status.success() && !text(&said.stderr).contains("ESTIMATED"), "{}", text(&said.stderr));
}
