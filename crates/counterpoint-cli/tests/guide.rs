//! The commands of GUIDE.md, run in order as they stand there.

#![allow(clippy::unwrap_used, missing_docs)]

use std::process::Command;

/// The fenced blocks of one language, in order.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let open = format!("```{language}\n");
    text.split(&open).skip(1).map(|b| b.split("```").next().unwrap_or_default()).collect()
}

#[test]
fn every_command_of_the_guide_works_as_written() {
    let guide = include_str!("../../../GUIDE.md");
    let dir = tempfile::tempdir().unwrap();
    let toml = blocks(guide, "toml");
    std::fs::write(dir.path().join("grid.toml"), toml[1]).unwrap();
    let commands: Vec<&str> = blocks(guide, "sh").iter().flat_map(|b| b.lines()).collect();
    assert!(commands.len() >= 8, "the guide has lost its commands");
    for line in commands {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[0], "counterpoint", "{line}");
        let done = Command::new(env!("CARGO_BIN_EXE_counterpoint"))
            .current_dir(dir.path())
            .args(&words[1..])
            .output()
            .unwrap();
        // 0: done and certified; 1: done, not certified; anything else is a broken promise
        assert!(matches!(done.status.code(), Some(0 | 1)), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    }
    // the guide shows the log.toml that `simulate` has written
    let parsed = |text: &str| -> toml::Table { toml::from_str(text).unwrap() };
    assert_eq!(parsed(&std::fs::read_to_string(dir.path().join("log.toml")).unwrap()), parsed(toml[0]));
    for file in [
        "policy.json",
        "policy.certificate.json",
        "best.json",
        "best.leaderboard.json",
        "certificate.json",
        "actions.parquet",
        "fitted.json",
        "log.html",
    ] {
        assert!(dir.path().join(file).exists(), "{file}");
    }
}
