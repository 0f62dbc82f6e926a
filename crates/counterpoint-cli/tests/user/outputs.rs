//! Where results cannot go: full disks, directories, inputs. Work is refused before it starts, files are whole or absent.

use crate::support::{COLUMNS, Place, SMALL, words};
use std::path::Path;

#[test]
fn outputs_that_cannot_be_written_are_refused_before_the_work() {
    let place = Place::with_log();
    place.write("dir/inside.txt", "");
    let learn = format!("learn log.csv {COLUMNS}");
    for (output, message) in [
        ("-o dir", "it is a directory"),
        ("-o dir/", "it is a directory"),
        ("-o missing/p.json", "there is no directory missing"),
        ("-o log.csv/p.json", "log.csv is not a directory"),
        ("-o log.csv/deeper/p.json", "log.csv/deeper is not a directory"),
        ("-o /proc/p.json", "/proc/p.json"),
        ("-o log.csv", "log.csv is read by this command"),
        ("-o ./log.csv", "log.csv is read by this command"),
        ("-o p.json --report dir", "it is a directory"),
        ("-o p.json --report missing/r.html", "there is no directory missing"),
        ("-o p.json --report p.json", "two outputs would go to this file"),
        ("-o p.json --report log.csv", "log.csv is read by this command"),
    ] {
        let said = place.refused(&format!("{learn} {output}"), &[message]);
        assert!(!said.contains("Learned"), "{output} was refused after the work");
        if !output.contains("html") || output.contains("missing") {
            place.refused(&format!("select log.csv {COLUMNS} {output}"), &[message]);
        }
    }
    for (args, message) in [
        (format!("certify policy.json log.csv {COLUMNS} -o policy.json"), "policy.json is read by this command"),
        (format!("certify policy.json log.csv {COLUMNS} --report log.csv"), "log.csv is read by this command"),
        ("act policy.json log.csv -o log.csv".into(), "log.csv is read by this command"),
        ("act policy.json log.csv -o missing/a.csv".into(), "there is no directory missing"),
        ("act policy.json log.csv -o dir".into(), "does not end in a format"),
        ("simulate moons -o missing/a.csv".into(), "there is no directory missing"),
    ] {
        place.refused(&args, &[message]);
    }
}

#[test]
fn a_log_in_a_directory_or_a_pattern_is_not_overwritten() {
    let place = Place::with_log();
    place.write("logs/a.csv", place.text("log.csv"));
    place.refused("act policy.json logs -o logs/a.csv", &["logs/a.csv is read by this command"]);
    place.refused("act policy.json logs/*.csv -o logs/a.csv", &["logs/a.csv is read by this command"]);
}

#[test]
fn a_link_is_followed_and_not_replaced() {
    let place = Place::with_log();
    place.write("store/p.json", "old");
    std::os::unix::fs::symlink("store/p.json", place.path("link.json")).unwrap();
    place.done(&format!("learn log.csv {COLUMNS} {SMALL} --no-certify -o link.json"));
    assert!(place.path("link.json").is_symlink());
    assert_eq!(place.bytes("store/p.json"), place.bytes("policy.json"));
}

/// A limit on the size of files stands for a disk that fills up: the write fails half way.
#[test]
fn a_full_disk_leaves_nothing_behind() {
    let place = Place::with_log();
    let small = "--set starts=1 --set proximal_steps=1 --set max_iterations=20 --set anchors=4";
    place.done(&format!("learn log.csv {COLUMNS} {small} -o sized.json --report sized.html"));
    let size = |name: &str| place.path(name).metadata().unwrap().len();
    assert!(size("sized.html") > 40_000 && size("sized.json") < 30_000, "the limits below no longer separate the two");
    let before = place.listing();
    // 64 blocks of 512 bytes: the policy fits, the report does not, nor do the tables
    for args in [
        format!("learn log.csv {COLUMNS} {small} -o p.json --report r.html"),
        format!("certify policy.json log.csv {COLUMNS} -o c.json --report r.html"),
        "simulate moons --rows 9000 -o s.csv".into(),
        "simulate moons --rows 9000 -o s.parquet".into(),
        "simulate moons --rows 9000 -o s.arrow".into(),
        "simulate moons --rows 9000 -o s.csv.gz".into(),
    ] {
        let out = place.shell(&format!("ulimit -f 64; exec counterpoint {args}"));
        assert_eq!(out.status.code(), Some(2), "{args}: {}", words(&out));
        assert!(words(&out).contains("error: ") && words(&out).contains("hint: "), "{args}: {}", words(&out));
        assert_eq!(place.listing(), before, "{args} left something");
    }
}

#[test]
fn a_selection_that_cannot_write_keeps_its_journal_and_goes_on_from_it() {
    let place = Place::with_log();
    place.done("simulate moons --rows 3000 --seed 2 -o big.parquet");
    place.write(
        "grid.toml",
        "[recipe]\nanchors = [4, 5]\nstd_floor = 0.3\nstarts = 1\nproximal_steps = 1\nmax_iterations = 40\n",
    );
    let args = format!("select big.parquet {COLUMNS} --grid grid.toml");
    place.done(&format!("{args} -o whole.json --report whole.html"));
    let before = place.listing();
    let out = place.shell(&format!("ulimit -f 64; exec counterpoint {args} -o p.json --report p.html"));
    let said = words(&out);
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(
        said.contains("p.html: File too large") && said.contains("p.journal") && said.contains("--resume"),
        "{said}"
    );
    let new: Vec<_> = place.listing().into_iter().filter(|f| !before.contains(f)).map(|f| f.0).collect();
    assert_eq!(new, ["p.journal"]);
    // the journal is not overwritten by mistake
    let said = place.refused(&format!("{args} -o p.json"), &["p.journal: an interrupted run", "--resume"]);
    assert!(!said.contains("Leaderboard"));
    let said = place.done(&format!("{args} -o p.json --report p.html --resume"));
    assert!(said.contains("resuming: 2 finished fits"), "{said}");
    assert_eq!(place.bytes("whole.json"), place.bytes("p.json"));
    assert!(place.bytes("whole.html") == place.bytes("p.html"));
    assert!(!place.path("p.journal").exists());
}

#[test]
fn the_journal_of_another_log_is_not_believed() {
    let place = Place::new();
    place.write(
        "grid.toml",
        "[recipe]\nanchors = [4, 5]\nstd_floor = 0.3\nstarts = 1\nproximal_steps = 1\nmax_iterations = 40\n",
    );
    for seed in [1, 2] {
        place.done(&format!("simulate moons --rows 3000 --seed {seed} -o {seed}.parquet"));
        place.done(&format!("select {seed}.parquet {COLUMNS} --grid grid.toml -o {seed}.json"));
    }
    let out = place.shell(&format!(
        "ulimit -f 64; exec counterpoint select 1.parquet {COLUMNS} --grid grid.toml -o p.json --report p.html"
    ));
    assert_eq!(out.status.code(), Some(2), "{}", words(&out));
    place.done(&format!("select 2.parquet {COLUMNS} --grid grid.toml -o p.json --resume"));
    assert_eq!(place.bytes("2.json"), place.bytes("p.json"));
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "needs /dev/full")]
fn results_that_stdout_cannot_take_are_an_error_and_a_closed_pipe_is_not() {
    let place = Place::with_log();
    for args in [
        "recipe".to_string(),
        "completions bash".into(),
        format!("describe log.csv {COLUMNS} --json"),
        format!("evaluate policy.json log.csv {COLUMNS} --json"),
        "simulate moons --rows 300 -o s.csv --json --force".into(),
    ] {
        let out = place.shell(&format!("exec counterpoint {args} > /dev/full"));
        let said = words(&out);
        assert_eq!(out.status.code(), Some(2), "{args}: {said}");
        assert!(said.contains("error: stdout: No space left on device") && said.contains("hint: "), "{args}: {said}");
        let out = place.shell(&format!("exec counterpoint {args} 2> /dev/full"));
        assert!(out.status.success(), "{args}: words that nobody can read are no error");
        let out = place.shell(&format!("(counterpoint {args}; echo $? > code) | true"));
        assert!(out.status.success() && !words(&out).contains("panicked"), "{args}: {}", words(&out));
        assert_eq!(place.text("code").trim(), "0", "{args}");
    }
    let out = place.shell(&format!("exec counterpoint learn log.csv {COLUMNS} {SMALL} --no-certify -o /dev/full"));
    assert_eq!(out.status.code(), Some(2), "{}", words(&out));
    assert!(words(&out).contains("/dev/full: No space left"), "{}", words(&out));
    let kind = std::os::unix::fs::FileTypeExt::is_char_device(&Path::new("/dev/full").metadata().unwrap().file_type());
    assert!(kind, "the device was replaced by a file");
}
