//! Tables as people have them: odd names, other line ends, marks at the start, and files that stop half way.

use crate::support::{COLUMNS, Place, SMALL};

/// The log's first row of cells under other names.
fn renamed(place: &Place, header: &str, end: &str, start: &str) -> String {
    let text = place.text("log.csv");
    let rows: Vec<&str> = text.lines().skip(1).collect();
    format!("{start}{header}{end}{}{end}", rows.join(end))
}

#[test]
fn awkward_names_line_ends_and_marks_do_not_matter() {
    let place = Place::with_log();
    place.done(&format!("learn log.csv {COLUMNS} {SMALL} -o plain.json"));
    let header = "hour of day,\"price, €\",действие,\"the \"\"reward\"\"\",density (1/€),split,potential,group";
    place.write("awkward.csv", renamed(&place, header, "\r\n", "\u{feff}"));
    let args = [
        "learn",
        "awkward.csv",
        "--context",
        "hour of day,\"price, €\"",
        "--action",
        "действие",
        "--reward",
        "the \"reward\"",
        "--propensity",
        "density (1/€)",
        "--split",
        "split",
        "-o",
        "awkward.json",
    ];
    let out = place.program().args(args).args(SMALL.split(' ')).output().unwrap();
    assert!(matches!(out.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&out.stderr));
    let named = |name: &str| -> serde_json::Value { serde_json::from_slice(&place.bytes(name)).unwrap() };
    let (plain, awkward) = (named("plain.json"), named("awkward.json"));
    assert_eq!(plain["policy"]["theta"], awkward["policy"]["theta"]);
    assert_eq!(awkward["policy"]["actions"][0], "действие");
    // and the policy finds its columns again
    let out = place.program().args(["act", "awkward.json", "awkward.csv", "-o", "actions.csv"]).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(place.text("actions.csv").starts_with("row,действие,density,seed\n"));
}

#[test]
fn two_columns_of_one_name_are_refused_only_where_they_are_needed() {
    let place = Place::with_log();
    place.write("twice.csv", renamed(&place, "x0,x0,action,reward,propensity,split,x1,group", "\n", ""));
    place.refused(&format!("learn twice.csv {COLUMNS} -o p.json"), &["twice.csv", "two columns \"x0\"", "rename"]);
    place.write("unused.csv", renamed(&place, "x0,x1,action,reward,propensity,split,note,note", "\n", ""));
    place.done(&format!("learn unused.csv {COLUMNS} {SMALL} --no-certify -o p.json"));
}

#[test]
fn a_file_cut_in_half_is_refused_and_nothing_is_left() {
    let place = Place::with_log();
    for ending in ["parquet", "csv.gz", "arrow", "csv"] {
        place.done(&format!("simulate moons --rows 900 -o whole.{ending}"));
        let bytes = place.bytes(&format!("whole.{ending}"));
        // half a file, and one that lacks only its last bytes
        let half = match ending {
            // in the middle of a row: where a row ends, or in its last cell, no reader could tell
            "csv" => bytes.len() / 2 + bytes[bytes.len() / 2..].windows(2).position(|w| w[0] == b'\n').unwrap() + 3,
            _ => bytes.len() / 2,
        };
        for (name, length) in [("half", half), ("most", bytes.len() - 9)] {
            let file = format!("{name}.{ending}");
            place.write(&file, &bytes[..length]);
            if ending == "csv" && name == "most" {
                continue; // the last cell is shorter: no reader can tell
            }
            for command in ["describe", "learn -o p.json", "select -o p.json", "certify policy.json -o c.json"] {
                place.refused(&format!("{command} {file} {COLUMNS}"), &[&file, "complete"]);
            }
            place.refused(&format!("act policy.json {file} -o a.csv"), &[&file, "complete"]);
        }
    }
}

#[test]
fn a_wrong_column_and_a_missing_reward_are_named() {
    let place = Place::with_log();
    place.with_cell("missing.csv", 12, "reward", "");
    let learn = |file: &str, columns: &str| format!("learn {file} {columns} -o p.json --report r.html");
    place.refused(
        &learn("missing.csv", COLUMNS),
        &["missing.csv, row 12, column \"reward\": the value is missing", "--drop-invalid"],
    );
    place.refused(&learn("log.csv", &COLUMNS.replace("x1", "x1x")), &["log.csv", "\"x1x\"", "the columns are"]);
    let said = place.done(&format!("learn missing.csv {COLUMNS} {SMALL} --drop-invalid --no-certify -o p.json"));
    assert!(said.contains("dropped 1 rows"), "{said}");
}

#[test]
fn standard_input_is_a_log() {
    let place = Place::with_log();
    let plain = String::from_utf8(place.run(&format!("describe log.csv {COLUMNS} --json")).stdout).unwrap();
    let text = place.text("log.csv");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let cell = |(name, cell): (&&str, &str)| match cell.parse::<f64>() {
        Ok(_) => format!("\"{name}\": {cell}"),
        Err(_) => format!("\"{name}\": \"{cell}\""),
    };
    let object = |l: &str| format!("{{{}}}\n", names.iter().zip(l.split(',')).map(cell).collect::<Vec<_>>().join(", "));
    place.write("log.jsonl", lines.map(object).collect::<String>());
    for script in [
        format!("cat log.csv | counterpoint describe - {COLUMNS} --json"),
        format!(
            "gzip -c log.csv | counterpoint describe - {} --context 'x*' --json",
            COLUMNS.replace("--context x0,x1", "")
        ),
        format!("cat log.jsonl | counterpoint describe - {COLUMNS} --json"),
        format!("counterpoint describe log.jsonl {COLUMNS} --json"),
        format!("cat log.csv | counterpoint pack - {COLUMNS} -o log.cps -q && counterpoint describe log.cps --json"),
    ] {
        let out = place.shell(&script);
        assert_eq!(String::from_utf8_lossy(&out.stdout), plain, "{script}: {}", String::from_utf8_lossy(&out.stderr));
    }
    let said = place
        .shell(&format!("cat log.csv | counterpoint describe - --time split {}", COLUMNS.replace("--split split", "")));
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("can be read once") && said.contains("hint: "), "{said}");
}
