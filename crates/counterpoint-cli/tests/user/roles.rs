//! Columns and flags that say something else than what they are taken for: refused before anything is said or written.

use crate::support::{COLUMNS, Place, SMALL, words};

const UNDIVIDED: &str = "--context x0,x1 --action action --reward reward --propensity propensity";
const POLICY: &str = "--action action --reward reward --propensity propensity";

#[test]
fn times_that_do_not_sort_are_refused() {
    let place = Place::with_log();
    let day = |i: usize| (1 + i % 28, 1 + i / 28 % 12, 2024 + i / 336);
    type Cell = fn((usize, usize, usize)) -> String;
    let wrong: [(&str, Cell); 5] = [
        ("days first", |(d, m, y)| format!("{d:02}.{m:02}.{y}")),
        ("months first", |(d, m, y)| format!("{m}/{d}/{y}")),
        ("numbers of one digit", |(d, m, y)| format!("{y}-{m}-{d}")),
        ("zones", |(d, m, y)| format!("{y}-{m:02}-{d:02}T10:00:00{}", if d % 2 == 0 { "Z" } else { "+02:00" })),
        ("units", |(d, m, y)| {
            format!("{}", if d % 2 == 0 { 1 } else { 1000 } * (1_600_000_000 + y * 10_000 + m * 100 + d))
        }),
    ];
    for (what, cell) in wrong {
        place.with_column("times.csv", "group", |i, _| cell(day(i)));
        let said = place.refused(&format!("describe times.csv {UNDIVIDED} --time group"), &["column \"group\": "]);
        assert!(said.contains("write "), "{what}: {said}");
    }
    place.with_column("times.csv", "group", |i, _| {
        let (d, m, y) = day(i);
        format!("{y}-{m:02}-{d:02}")
    });
    place.done(&format!("describe times.csv {UNDIVIDED} --time group"));
    place.with_column("times.csv", "group", |i, _| if i == 4 { "inf".into() } else { i.to_string() });
    place.refused(&format!("describe times.csv {UNDIVIDED} --time group"), &["row 5", "inf is no time"]);
}

#[test]
fn the_name_of_a_folder_may_be_the_time() {
    let place = Place::with_log();
    let text = place.text("log.csv");
    let (head, rows) = text.split_once('\n').unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    for (i, part) in rows.chunks(225).enumerate() {
        place.write(&format!("days/day=2024-01-{:02}/rows.csv", 9 + i), format!("{head}\n{}\n", part.join("\n")));
        place.write(&format!("months/month={}/rows.csv", 9 + i), format!("{head}\n{}\n", part.join("\n")));
        place.write(&format!("wrong/day=2024-1-{}/rows.csv", 9 + i), format!("{head}\n{}\n", part.join("\n")));
    }
    let said = |log: &str, time: &str| place.done(&format!("describe {log} {UNDIVIDED} --time {time}"));
    assert!(said("days", "day").contains("divided by day") && said("months", "month").contains("divided by month"));
    place.refused(&format!("describe wrong {UNDIVIDED} --time day"), &["these times do not sort"]);
}

#[test]
fn counts_are_numbers_that_can_be_counted() {
    let place = Place::with_log();
    place.with_column("counts.csv", "group", |i, _| if i == 2 { "1e308" } else { "1" }.into());
    let columns = UNDIVIDED;
    place
        .refused(&format!("describe counts.csv {columns} --count group"), &["row 3", "1e308 is too large for a count"]);
    place.with_column("counts.csv", "group", |_, _| "5e-324".into());
    let said = place.refused(&format!("describe counts.csv {columns} --count group"), &["5e-324 is not a count"]);
    assert!(said.len() < 300, "{said}");
    place.with_column("counts.csv", "group", |_, _| "0".into());
    place.refused(&format!("describe counts.csv {columns} --count group"), &["leave --count out"]);
}

/// A verdict that is followed by an error would be read as a verdict.
#[test]
fn nothing_is_said_before_a_refusal() {
    let place = Place::with_log();
    let rows = format!("log.csv {POLICY} --split split");
    for args in [
        format!("certify policy.json {rows} --by nothing"),
        format!("certify policy.json {rows} --per nothing"),
        format!("certify policy.json {rows} --guardrail nothing:max+1%"),
        format!("evaluate policy.json {rows} --per nothing"),
        format!("evaluate policy.json {rows} --per split"),
    ] {
        place.refused(&args, &[]);
        let said = String::from_utf8(place.run(&args).stdout).unwrap();
        assert!(said.is_empty(), "{args}: {said}");
    }
}

#[test]
fn a_monitor_counts_no_row_twice_within_a_batch() {
    let place = Place::with_log();
    let text = place.text("log.csv");
    let mut twice: Vec<&str> = text.lines().collect();
    twice.extend(text.lines().skip(1));
    place.write("twice.csv", twice.join("\n") + "\n");
    let follow = |log: &str| format!("monitor policy.json {log} {POLICY} --outcome-range -9,9 --state state.json");
    place.refused(&follow("twice.csv"), &["stand more than once"]);
    place.write("copy.csv", &text);
    place.refused(&follow("log.csv copy.csv"), &["stand more than once"]);
    assert!(matches!(place.run(&follow("log.csv")).status.code(), Some(0 | 1 | 3)));
    // where everything is rounded, equal rows are no copies
    let half = |v: &str| ((2.0 * v.parse::<f64>().unwrap()).round() / 2.0).to_string();
    place.with_column("log.csv", "x0", |_, v| half(v));
    for name in ["x1", "action", "reward"] {
        place.with_column("log.csv", name, |_, v| half(v));
    }
    place.with_column("log.csv", "propensity", |_, _| "0.3".into());
    let said = place.run(&follow("log.csv --state rounded.json").replace("--state state.json", ""));
    assert!(matches!(said.status.code(), Some(0 | 1 | 3)), "{}", words(&said));
}

#[test]
fn the_name_of_the_rows_is_no_other_column_of_the_output() {
    let place = Place::with_log();
    for name in ["density", "seed", "mean", "action"] {
        let log = place.text("log.csv").replacen("group", name, 1).replacen(
            ",action,",
            if name == "action" { ",a," } else { ",action," },
            1,
        );
        place.write("ids.csv", log);
        let args = format!("act policy.json ids.csv --means --id {name} -o out.csv");
        place.refused(&args, &[&format!("--id {name}"), "rename the column"]);
    }
    place.done("act policy.json log.csv --id group -o out.csv");
}

#[test]
fn a_store_that_is_refused_leaves_nothing_and_one_keeps_its_ways() {
    let place = Place::with_log();
    place.with_cell("bad.csv", 700, "reward", "NaN");
    place.refused(&format!("pack bad.csv {UNDIVIDED} -o new.cps"), &["row 700"]);
    place.with_cell("large.csv", 3, "x1", "1e60");
    let said = place
        .refused(&format!("pack large.csv {UNDIVIDED} -o new.cps --f32"), &["row 3, context 2", "1e60 has no place"]);
    assert!(said.len() < 300, "{said}");
    place.done(&format!("pack log.csv {UNDIVIDED} -o log.cps"));
    place.with_cell("more.csv", 1, "x0", "0.123");
    for flag in ["--categorical x0", "--missing indicator"] {
        place.refused(&format!("pack --append more.csv {UNDIVIDED} -o log.cps {flag}"), &["packed in another way"]);
    }
    place.done("pack --append more.csv -o log.cps");
}

#[test]
fn flags_that_mean_nothing_are_refused() {
    let place = Place::with_log();
    let rows = format!("log.csv {POLICY} --split split");
    let state = "--outcome-range -9,9 --state new.json";
    for (args, flag) in [
        (format!("evaluate policy.json {rows} --model-ridge=-1"), "--model-ridge"),
        (format!("evaluate policy.json {rows} --model-ridge=nan"), "--model-ridge"),
        (format!("monitor policy.json {rows} {state} --against=nan"), "--against"),
        (format!("monitor policy.json {rows} {state} --against=1e308"), "--against"),
        (format!("monitor policy.json {rows} --state new.json --outcome-range=-1e308,1e308"), "--outcome-range"),
    ] {
        let out = place.run(&args);
        let said = words(&out);
        assert!(out.status.code() == Some(2) && said.contains(flag), "{args}: {said}");
    }
    place.refused(&format!("certify policy.json {rows} --target-density x0"), &["leave one of them out"]);
    let around = "--target-action x0 --target-std 1 --target-family lognormal";
    place.refused(
        &format!("evaluate {rows} {around}"),
        &["column \"x0\"", "is not positive", "choose the normal family"],
    );
    place.with_column("one.csv", "action", |_, _| "1.5".into());
    place.refused(&format!("plan one.csv {COLUMNS}"), &["all logged actions are 1.5"]);
    place.refused(&format!("rival o-learning one.csv {COLUMNS} -o out.json"), &["are all actions the same?"]);
    let said = place.done(&format!("evaluate policy.json {rows} --rows all"));
    assert!(!said.contains("mean nothing"), "{said}");
    let few: Vec<&str> = place.text("log.csv").lines().take(4).map(|l| l.to_string().leak() as &str).collect();
    place.write("few.csv", few.join("\n") + "\n");
    let said = place.done(&format!("evaluate policy.json few.csv {POLICY} --rows all"));
    assert!(said.contains("from so few mean nothing"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn too_little_memory_is_an_error_and_no_end() {
    let place = Place::with_log();
    let size = std::fs::metadata(env!("CARGO_BIN_EXE_counterpoint")).unwrap().len() / 1024;
    // so much more than its own code, in kilobytes
    for more in [16_000, 20_000, 24_000, 32_000, 48_000, 100_000] {
        let script = format!(
            "ulimit -v {}; counterpoint learn log.csv {COLUMNS} {SMALL} --no-certify --threads 2 -o small.json --force",
            size + more
        );
        let out = place.shell(&script);
        let said = words(&out);
        let told = out.status.code() == Some(2) && said.contains("hint: ");
        assert!(out.status.code() == Some(0) || told, "{more}: {:?}: {said}", out.status);
    }
}
