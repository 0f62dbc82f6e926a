//! Logs at the edge of sense: no rows, one row, nothing that varies. A result or a message, never a panic.

use crate::support::{COLUMNS, Place, SMALL, words};

const GRID: &str = "[recipe]\nanchors = [4, 5, 6]\nstarts = 1\nproximal_steps = 1\nmax_iterations = 10\n";

/// Exit codes of describe, learn, select, evaluate, certify and act on a log; what they said, joined.
fn codes(place: &Place, log: &str, more: &str) -> (Vec<i32>, String) {
    let (mut codes, mut said) = (Vec::new(), String::new());
    for args in [
        format!("describe {log} {COLUMNS} {more}"),
        format!("learn {log} {COLUMNS} {SMALL} {more} -o out-p.json --report out-r.html"),
        format!("select {log} {COLUMNS} --grid grid.toml {more} -o out-s.json --report out-s.html"),
        format!("evaluate policy.json {log} {COLUMNS} {more} --rows all"),
        format!("certify policy.json {log} {COLUMNS} {more} --report out-c.html"),
        format!("act policy.json {log} -o out-a.csv"),
    ] {
        let before = place.listing();
        let out = place.run(&args);
        let code = out.status.code().unwrap_or(-1);
        assert!((0..=2).contains(&code), "{args}: exit {code}: {}", words(&out));
        assert!(!words(&out).contains("panicked"), "{args}: {}", words(&out));
        if code == 2 {
            assert!(words(&out).contains("hint: "), "{args}: {}", words(&out));
            assert_eq!(place.listing(), before, "{args} left something");
        }
        for (name, _) in place.listing().iter().filter(|(n, _)| n.starts_with("out-")) {
            let written = String::from_utf8_lossy(&place.bytes(name)).into_owned();
            assert!(!name.ends_with("html") || !written.contains(">NaN<"), "{args}: NaN in {name}");
            std::fs::remove_file(place.path(name)).unwrap();
        }
        codes.push(code);
        said += &words(&out);
    }
    (codes, said)
}

#[test]
fn logs_at_the_edge_end_in_a_result_or_a_message() {
    let place = Place::with_log();
    place.write("grid.toml", GRID);
    let text = place.text("log.csv");
    let head = |n: usize| text.lines().take(n + 1).collect::<Vec<_>>().join("\n") + "\n";
    place.write("none.csv", head(0));
    place.write("one.csv", head(1));
    place.with_column("rewards.csv", "reward", |_, _| "1.0".into());
    place.with_column("actions.csv", "action", |_, _| "1.5".into());
    place.with_column("contexts.csv", "x0", |_, _| "2.0".into());
    place.with_column("nulls.csv", "x0", |_, _| String::new());
    // three rows, one a part
    let lines: Vec<&str> = text.lines().collect();
    place.write("three.csv", [lines[0], lines[1], lines[400], lines[800]].join("\n") + "\n");
    for (log, expected, message) in [
        ("none.csv", [2, 2, 2, 2, 2, 0], "none.csv: the log has no rows"),
        ("one.csv", [0, 2, 2, 0, 2, 0], "the valid part of the split is empty"),
        ("three.csv", [0, 2, 2, 0, 2, 0], "the valid part has one row"),
        ("actions.csv", [0, 2, 2, 0, 1, 0], "all logged actions are 1.5"),
        ("nulls.csv", [2, 2, 2, 2, 2, 2], "row 1, column \"x0\": the value is missing"),
    ] {
        let (codes, said) = codes(&place, log, "");
        assert_eq!(codes, expected, "{log}: {said}");
        assert!(said.contains(message), "{log}: {said}");
    }
    let (found, said) = codes(&place, "rewards.csv", "");
    assert!(found[1] == 1 && found[4] == 1, "{found:?}: equal rewards certify nothing: {said}");
    assert!(said.contains("every outcome of the test part is the same"), "{said}");
    let (found, said) = codes(&place, "contexts.csv", "");
    assert!(found[1] < 2 && said.contains("these contexts do not vary and say nothing: x0"), "{found:?}: {said}");
    let (found, said) = codes(&place, "nulls.csv", "--drop-invalid");
    assert_eq!(found[..2], [2, 2], "{said}");
    assert!(said.contains("all 900 rows have an unusable value"), "{said}");
}

#[test]
fn row_weights_are_checked_and_count() {
    let place = Place::with_log();
    place.write("grid.toml", GRID);
    place.with_column("ones.csv", "group", |_, _| "1".into());
    place.with_column("zeros.csv", "group", |_, _| "0".into());
    place.with_column("below.csv", "group", |i, _| if i == 8 { "-1" } else { "1" }.into());
    place.with_column("some.csv", "group", |i, _| if i < 300 { "1" } else { "0" }.into());
    for (log, message) in [
        ("zeros.csv", "column \"group\": all row weights are 0"),
        ("below.csv", "below.csv, row 9, column \"group\": -1 is not a row weight"),
    ] {
        let (found, said) = codes(&place, log, "--weight group");
        assert!(found[..5] == [2; 5] && said.contains(message), "{log}: {found:?} {said}");
    }
    // weights that leave nothing of the valid part
    let (_, said) = codes(&place, "some.csv", "--weight group");
    assert!(said.contains("error: "), "{said}");
    place.done(&format!("learn ones.csv {COLUMNS} {SMALL} --weight group --no-certify -o ones.json"));
    let theta = |f: &str| -> serde_json::Value {
        serde_json::from_slice::<serde_json::Value>(&place.bytes(f)).unwrap()["policy"]["theta"].clone()
    };
    assert_eq!(theta("ones.json"), theta("policy.json"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_small_stack_of_the_shell_is_enough() {
    let place = Place::with_log();
    // arguments and environment count as stack, and so there is none
    let script = format!("ulimit -s 100; exec counterpoint learn log.csv {COLUMNS} {SMALL} -o stack.json");
    let script = script.replace("counterpoint", env!("CARGO_BIN_EXE_counterpoint"));
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script]).env_clear().current_dir(place.path("."));
    let out = shell.output().unwrap();
    assert!(matches!(out.status.code(), Some(0 | 1)), "{:?}: {}", out.status, words(&out));
}
