//! JSON lines give the log that the same table gives as CSV; lines that are no rows are named.
#![cfg(feature = "readers")]
#![allow(clippy::unwrap_used, missing_docs)]

use counterpoint::data::{Missing, Outcome, ReadOptions, Roles, columns, read_log};
use counterpoint::{Log, Result};
use std::path::Path;

fn read(path: &Path) -> Result<Log> {
    let roles = Roles {
        contexts: ["x", "city"].map(String::from).to_vec(),
        actions: vec!["a".into()],
        outcome: Some(("reward".into(), Outcome::Reward)),
        propensity: "p".into(),
        ..Roles::default()
    };
    read_log(&[path], &roles, &ReadOptions { missing: Missing::Indicator, ..ReadOptions::default() })
}

/// Row i as JSON; names stand in an order of their own, and what is missing is left out, null or empty.
fn object(i: usize) -> String {
    let x = if i % 7 == 3 { String::new() } else { format!("\"x\": {}, ", 0.125 * i as f64) };
    let city = ["\"Rome\"", "\"O\\u0073lo, the \\\"city\\\"\"", "null", "\"\""][i % 4];
    format!("{{\"p\": \"0.25\", {x}\"note\": [1, {{}}], \"city\": {city}, \"reward\": {}, \"a\": 1e-3}}\n", i % 5)
}

#[test]
fn json_lines_give_the_log_of_the_same_csv() {
    let dir = tempfile::tempdir().unwrap();
    let rows = 20_000;
    let cell = |i: usize| if i % 7 == 3 { String::new() } else { format!("{}", 0.125 * i as f64) };
    let city = |i: usize| ["Rome", "\"Oslo, the \"\"city\"\"\"", "", ""][i % 4];
    let csv: String = (0..rows).map(|i| format!("{},{},0.001,{},0.25\n", cell(i), city(i), i % 5)).collect();
    let lines: String = (0..rows).map(object).collect();
    let [a, b, c] = ["log.csv", "log.jsonl", "log.ndjson.gz"].map(|n| dir.path().join(n));
    std::fs::write(&a, format!("x,city,a,reward,p\n{csv}")).unwrap();
    std::fs::write(&b, format!("\u{feff}{}", lines.replacen('\n', "\r\n\n  \n", 3))).unwrap();
    let mut packed = flate2::write::GzEncoder::new(std::fs::File::create(&c).unwrap(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, lines.as_bytes()).unwrap();
    packed.finish().unwrap();
    let plain = read(&a).unwrap();
    for path in [b, c] {
        let log = read(&path).unwrap();
        assert_eq!(log.schema(), plain.schema());
        assert!(log.blocks() == plain.blocks());
        let mut names = columns(&[&path]).unwrap();
        names.sort();
        assert_eq!(names, ["a", "city", "note", "p", "reward", "x"]);
    }
}

#[test]
fn lines_that_are_no_rows_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.jsonl");
    let says = |text: String, parts: &[&str]| {
        std::fs::write(&path, text).unwrap();
        let said = read(&path).unwrap_err().to_string();
        assert!(said.contains("hint: ") && parts.iter().all(|p| said.contains(p)), "{said}");
    };
    let rows = |n: usize| (0..n).map(object).collect::<String>();
    says(rows(5) + "{\"x\": 1", &["line 6", "not an object"]);
    says(rows(30_000) + "[1]\n", &["line 30001", "not an object"]);
    says(rows(5) + &object(1).replace("0.125", "[0.125]"), &["line 6", "column \"x\"", "list"]);
    says("\n\n".into(), &["no row"]);
    says(rows(5).replace("\"a\"", "\"b\""), &["no column \"a\""]);
    says(rows(5) + &object(1).replace("1e-3", "\"much\""), &["row 6", "column \"a\"", "much"]);
}
