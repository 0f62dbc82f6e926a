//! `counterpoint-lab reproduce`: its list, its files, a run taken up again, and its page in a real browser.

#![allow(clippy::unwrap_used, missing_docs)]

#[cfg(unix)]
#[allow(dead_code)]
#[path = "../../counterpoint-report/tests/browser/mod.rs"]
mod browser;

use counterpoint_lab::Potential;
use std::path::Path;
use std::process::{Command, Output};

fn run(dir: &Path, args: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_counterpoint-lab"))
        .current_dir(dir)
        .args(args.split_whitespace())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_list_names_every_experiment_once() {
    let dir = tempfile::tempdir().unwrap();
    let listed = run(dir.path(), "reproduce --list");
    assert!(listed.status.success());
    let listed = text(&listed.stdout);
    let names: Vec<&str> = listed.lines().map(|l| l.split_whitespace().next().unwrap()).collect();
    for name in ["table1", "table2", "table4", "table5"] {
        assert_eq!(names.iter().filter(|n| **n == name).count(), 1, "{name}");
    }
    let json: serde_json::Value = serde_json::from_slice(&run(dir.path(), "reproduce --list --json").stdout).unwrap();
    assert_eq!(json.as_array().unwrap().len(), names.len());
    // every table of the paper, and every figure that shows something measured (1 and 3 are drawings)
    for n in 1..=7 {
        assert!(names.contains(&format!("table{n}").as_str()), "table {n}");
    }
    let mut figures: Vec<u64> = json
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|e| e["figures"].as_array().unwrap())
        .map(|f| f.as_u64().unwrap())
        .collect();
    figures.sort_unstable();
    figures.dedup();
    assert_eq!(figures, [2].into_iter().chain(4..=20).collect::<Vec<_>>());
}

#[test]
fn what_cannot_be_run_is_said() {
    let dir = tempfile::tempdir().unwrap();
    for (args, said) in [
        ("reproduce tabel1 --out again", "is not an experiment"),
        ("reproduce --out again", "no experiment is named"),
        ("reproduce table1", "--out"),
        ("reproduce table1 --out again --data nowhere", "nowhere"),
        ("reproduce table1 --out again --data .", "warfarin.parquet"),
    ] {
        let done = run(dir.path(), args);
        assert_eq!(done.status.code(), Some(2), "{args}");
        assert!(text(&done.stderr).contains(said), "{args}: {}", text(&done.stderr));
    }
    assert!(!dir.path().join("again").exists());
}

#[test]
fn a_quick_run_writes_a_page_that_loads_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let done = run(d, "reproduce table5 table1 figure2 --quick --out again --json");
    assert!(done.status.success(), "{}", text(&done.stderr));
    let said: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(said["finished"], serde_json::json!(["soft-clipping", "table1", "table5"]));
    let html = read(d.join("again/index.html"));
    assert!(html.starts_with("<!doctype html>\n<html") && html.trim_end().ends_with("</html>"));
    for loader in ["http:", "https:", "src=", "href=\"h", "url(", "@import", "<link", "<iframe"] {
        assert!(!html.contains(loader), "{loader}");
    }
    for name in ["section", "div", "table", "tr", "td", "ul", "li", "dl", "details"] {
        let opened = html.matches(&format!("<{name}>")).count() + html.matches(&format!("<{name} ")).count();
        assert_eq!(opened, html.matches(&format!("</{name}>")).count(), "{name}");
    }
    assert!(html.contains("Content-Security-Policy") && html.contains("id=\"table1\"") && html.contains("paper 9,455"));
    let markdown = read(d.join("again/paper.md"));
    assert!(markdown.contains("| twin of CoCoA | 100,000 (paper 120,000,000 ") && markdown.contains("**holds**"));
    // the file is the exhibit, and says what it was run with
    let kept: serde_json::Value = serde_json::from_str(&read(d.join("again/table1.json"))).unwrap();
    assert_eq!(
        (&kept["run"]["effort"], kept["tables"].as_array().map(Vec::len)),
        (&serde_json::json!("quick"), Some(1))
    );
    let left: Vec<_> = std::fs::read_dir(d.join("again")).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert!(left.iter().all(|f| !f.to_string_lossy().ends_with(".tmp")), "{left:?}");
}

#[test]
fn a_run_goes_on_where_it_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    assert!(run(d, "reproduce table1 --quick --out again").status.success());
    let (journal, exhibit) = (read(d.join("again/journal.jsonl")), read(d.join("again/table1.json")));
    // stopped after the work, before the exhibit: the journal has it, and nothing is added to it
    std::fs::remove_file(d.join("again/table1.json")).unwrap();
    let again = run(d, "reproduce table1 table5 --quick --out again --threads 1");
    assert!(again.status.success(), "{}", text(&again.stderr));
    assert_eq!(
        (read(d.join("again/journal.jsonl")), read(d.join("again/table1.json"))),
        (journal.clone(), exhibit.clone())
    );
    // what is finished is not run again, and the page shows both
    let third = run(d, "reproduce table1 --quick --out again");
    assert!(text(&third.stderr).contains("is there already"));
    assert!(read(d.join("again/index.html")).contains("id=\"table5\""));
    // a fresh run starts over and ends in the same bytes
    assert!(run(d, "reproduce table1 --quick --out again --fresh").status.success());
    assert_eq!((read(d.join("again/journal.jsonl")), read(d.join("again/table1.json"))), (journal, exhibit));
}

/// Two runs in one directory damaged each other's journal.
#[test]
fn a_journal_that_another_run_is_working_on_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    std::fs::create_dir(d.join("again")).unwrap();
    let path = d.join("again/journal.jsonl");
    let other = counterpoint::data::Journal::create(&path, "another run").unwrap();
    other.add(&("work", 1.0)).unwrap();
    let before = read(&path);
    let second = run(d, "reproduce table1 --quick --out again");
    assert_eq!(second.status.code(), Some(2));
    assert!(text(&second.stderr).contains("is working on it"), "{}", text(&second.stderr));
    assert_eq!(read(&path), before);
}

#[test]
fn one_failure_does_not_stop_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    for name in ["noisymoons", "noisycircles", "anisotropic", "warfarin"] {
        std::fs::write(d.join(format!("{name}.parquet")), "not a table").unwrap();
    }
    let done = run(d, "reproduce table2 soft-clipping table5 --quick --data . --out again --json");
    assert_eq!(done.status.code(), Some(2));
    let said = text(&done.stderr);
    assert!(said.contains("1 of the experiments failed: table2") && said.contains("noisycircles.parquet"), "{said}");
    let told: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(told["finished"], serde_json::json!(["soft-clipping", "table5"]));
    assert_eq!(told["failed"][0]["name"], "table2");
    assert!(read(d.join("again/paper.md")).contains("The hyperparameters"));
    assert!(!d.join("again/table2.json").exists());
}

#[test]
fn work_done_with_other_data_is_not_taken_up() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    assert!(run(d, "reproduce table5 --quick --out again").status.success());
    Potential::Moons.simulate(600, 1).table().write(d.join("noisymoons.parquet")).unwrap();
    let other = run(d, "reproduce table1 --quick --out again --data .");
    assert_eq!(other.status.code(), Some(2));
    assert!(text(&other.stderr).contains("--fresh"), "{}", text(&other.stderr));
}

#[cfg(unix)]
#[test]
#[ignore = "needs a browser"]
fn the_page_works_in_a_browser() {
    let browser = browser::find();
    let dir = tempfile::tempdir().unwrap();
    assert!(run(dir.path(), "reproduce table1 table4 --quick --out again").status.success());
    let file = dir.path().join("again/index.html");
    let mut page = browser::Page::open(&browser, &file);
    assert!(page.complaints().is_empty(), "{:?}", page.complaints());
    assert_eq!(page.requests().len(), 1, "{:?}", page.requests());
    assert_eq!(page.count("section.exhibit"), 2);
    // the style is let in by the seal: a card has its corners
    let corners = page.ask("getComputedStyle(document.querySelector('.card')).borderTopLeftRadius");
    assert_eq!(corners, "12px");
    page.click("#theme", 0);
    assert!(page.complaints().is_empty(), "{:?}", page.complaints());
}
