//! Monitors, plans, guardrails and weights from the command line.

use crate::support::{COLUMNS, Place, words};

const ROLES: &str = "--action action --reward reward --propensity propensity";

fn code(place: &Place, args: &str) -> (i32, String) {
    let out = place.run(args);
    (out.status.code().unwrap_or(-1), words(&out))
}

/// What a command prints for programs.
fn json(place: &Place, args: &str) -> serde_json::Value {
    let out = place.run(&format!("{args} --json"));
    serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{args}: {e}: {}", words(&out)))
}

#[test]
fn a_monitor_keeps_its_state_and_counts_every_row_once() {
    let place = Place::with_log();
    let text = place.text("log.csv");
    let (head, rows) = text.split_once('\n').unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    let part = |r: std::ops::Range<usize>| format!("{head}\n{}\n", rows[r].join("\n"));
    place.write("first.csv", part(0..300));
    place.write("second.csv", part(300..900));
    place.write("overlap.csv", part(200..500));
    let monitor =
        |rows: &str, more: &str| code(&place, &format!("monitor policy.json {rows} {ROLES} --state s.json {more}"));
    let (exit, said) = monitor("first.csv", "");
    assert!(exit == 2 && said.contains("--outcome-range LOW,HIGH"), "{exit} {said}");
    assert!(!place.path("s.json").exists());
    let (exit, said) = monitor("first.csv", "--outcome-range -0.1,2");
    assert!([0, 1, 3].contains(&exit) && said.contains("300 rows"), "{exit} {said}");
    let before = place.bytes("s.json");
    for (rows, more, message) in [
        ("first.csv", "", "these 300 rows have been folded in before"),
        ("overlap.csv", "", "have been folded in before"),
        ("second.csv", "--outcome-range 0,1", "another --outcome-range"),
        ("second.csv", "--confidence 0.8", "another --confidence"),
    ] {
        let (exit, said) = monitor(rows, more);
        assert!(exit == 2 && said.contains(message), "{rows} {more}: {exit} {said}");
        assert_eq!(place.bytes("s.json"), before, "{rows} {more}: a refused batch leaves no trace");
    }
    let (_, said) = monitor("second.csv", "");
    assert!(said.contains("900 rows in 2 looks"), "{said}");
    // the same in two places, merged
    place.run(&format!("monitor policy.json first.csv {ROLES} --state a.json --outcome-range -0.1,2"));
    place.run(&format!("monitor policy.json second.csv {ROLES} --state b.json --outcome-range -0.1,2"));
    let (exit, said) = code(&place, "monitor --state all.json --merge a.json,b.json");
    assert!([0, 1, 3].contains(&exit), "{said}");
    let merged = json(&place, "monitor --state all.json");
    assert_eq!(merged["look"]["rows"], 900);
    let (exit, said) = code(&place, "monitor --state all.json --merge a.json");
    assert!(exit == 2 && said.contains("is in both states"), "{said}");
    // a flipped digit is found
    let text = place.text("s.json").replacen("\"rows\":900", "\"rows\":901", 1);
    place.write("s.json", text);
    let (exit, said) = monitor("overlap.csv", "");
    assert!(exit == 2 && said.contains("s.json: it was changed or damaged"), "{said}");
}

#[test]
fn a_plan_says_how_many_rows_a_gain_needs() {
    let place = Place::with_log();
    let said = place.done(&format!("plan log.csv {COLUMNS} --gain 0.05 --policy policy.json"));
    assert!(said.contains("this policy needs") && said.contains("best std"), "{said}");
    let at = |gain: &str| json(&place, &format!("plan log.csv {COLUMNS} --gain {gain}"));
    let rows = |v: &serde_json::Value| v["moves"][2]["best"]["test_rows"].as_f64().unwrap();
    let ratio = rows(&at("0.01")) / rows(&at("0.02"));
    assert!((ratio - 4.0).abs() < 0.01, "{ratio}");
    let (exit, said) = code(&place, &format!("plan log.csv {COLUMNS} --power 1.5"));
    assert!(exit == 2 && said.contains("between 0 and 1"), "{said}");
}

#[test]
fn guardrails_are_read_from_the_same_rows() {
    let place = Place::with_log();
    // x1 is the reward once more: as a benefit it grows with the policy, as a burden too
    let text = place.text("log.csv");
    let at = |name: &str| text.lines().next().unwrap().split(',').position(|c| c == name).unwrap();
    let (reward, x1) = (at("reward"), at("x1"));
    let copied = |(i, line): (usize, &str)| {
        let mut cells: Vec<&str> = line.split(',').collect();
        if i > 0 {
            cells[x1] = cells[reward];
        }
        cells.join(",")
    };
    place.write("two.csv", text.lines().enumerate().map(copied).collect::<Vec<_>>().join("\n") + "\n");
    place.done(&format!("learn two.csv --context x0 {ROLES} --split split --no-certify -o two.json"));
    let certify = |more: &str| code(&place, &format!("certify two.json two.csv {ROLES} --split split {more}"));
    let (exit, said) = certify("--guardrail x1:max+900% --guardrail x1:min-0.9");
    assert!(exit < 2 && said.contains("Guardrails: all hold"), "{exit} {said}");
    let (exit, said) = certify("--guardrail x1:max+0%");
    assert!(exit == 1 && said.contains("not shown"), "{exit} {said}");
    let (exit, said) = certify("--guardrail x1:up");
    assert!(exit == 2 && said.contains("is not a guardrail"), "{said}");
    let (exit, said) = certify("--guardrail nobody:max+1%");
    assert!(exit == 2 && said.contains("nobody"), "{said}");
}

#[test]
fn weights_are_sampling_weights_and_counts_are_rows() {
    let place = Place::with_log();
    place.with_column("w.csv", "group", |i, _| ["1", "3"][i % 2].into());
    place.with_column("w100.csv", "group", |i, _| ["100", "300"][i % 2].into());
    let snips = |log: &str, flag: &str| {
        json(&place, &format!("evaluate policy.json {log} {COLUMNS} {flag} group --rows all"))["snips"].clone()
    };
    let error = |v: &serde_json::Value| v["std_error"].as_f64().unwrap();
    let (one, hundred) = (snips("w.csv", "--weight"), snips("w100.csv", "--weight"));
    assert!((error(&one) / error(&hundred) - 1.0).abs() < 1e-9 && one["rows"] == 900.0, "{one} {hundred}");
    let (one, hundred) = (snips("w.csv", "--count"), snips("w100.csv", "--count"));
    assert!((error(&one) / error(&hundred) - 10.0).abs() < 1e-6, "{one} {hundred}");
    let (exit, said) = code(&place, &format!("describe w.csv {COLUMNS} --weight group --count group"));
    assert!(exit == 2 && said.contains("--count"), "{said}");
    place.with_column("half.csv", "group", |_, _| "1.5".into());
    let (exit, said) = code(&place, &format!("describe half.csv {COLUMNS} --count group"));
    assert!(exit == 2 && said.contains("1.5 is not a count"), "{said}");
}

#[test]
fn an_evaluation_shows_the_distribution() {
    let place = Place::with_log();
    let said = place.done(&format!("evaluate policy.json log.csv {COLUMNS} --rows all --tail 0.2"));
    assert!(said.contains("50% lie below") && said.contains("mean of worst 20%"), "{said}");
}

#[test]
fn gains_by_a_context_are_shown_together() {
    let place = Place::with_log();
    let out = json(&place, &format!("certify policy.json log.csv {COLUMNS} --by x0"));
    assert_eq!(out["segments"]["segments"].as_array().unwrap().len(), 4);
    let (exit, said) = code(&place, &format!("certify policy.json log.csv {COLUMNS} --by x0"));
    assert!(exit < 2 && said.contains("By x0"), "{said}");
    let (exit, said) = code(&place, &format!("certify policy.json log.csv {COLUMNS} --by nobody"));
    assert!(exit == 2 && said.contains("the contexts are: x0, x1"), "{said}");
}

/// The log with a column of days in place of the parts: ten rows a day.
#[test]
fn a_log_is_divided_by_time_and_its_drift_is_said() {
    let place = Place::with_log();
    place.with_column("days.csv", "split", |i, _| format!("2024-{:02}-{:02}", 1 + i / 280, 1 + i / 10 % 28));
    place.with_column("numbers.csv", "split", |i, _| format!("{}", i / 10));
    let roles = "--context x0,x1 --action action --reward reward --propensity propensity --time split";
    let words = json(&place, &format!("certify policy.json days.csv {roles}"));
    let numbers = json(&place, &format!("certify policy.json numbers.csv {roles}"));
    assert_eq!(words["fingerprint"], numbers["fingerprint"], "days and their numbers are the same order");
    let rows = words["test"]["rows"].as_f64().unwrap();
    assert!((215.0..=225.0).contains(&rows), "a quarter of 900, and no day is divided: {rows}");
    let (_, said) = code(&place, &format!("describe days.csv {roles}"));
    assert!(said.contains("divided by split; from train to test:"), "{said}");
    // later rows have larger contexts
    let days = place.text("days.csv");
    let shifted = days.lines().enumerate().map(|(i, l)| {
        let (x0, rest) = l.split_once(',').unwrap();
        if i > 500 { format!("{},{rest}", x0.parse::<f64>().unwrap() + 3.0) } else { l.to_string() }
    });
    let shifted = shifted.collect::<Vec<_>>().join("\n") + "\n";
    assert!(shifted.starts_with("x0,"), "x0 is the first column");
    place.write("shifted.csv", shifted);
    let (_, said) = code(&place, &format!("describe shifted.csv {roles}"));
    assert!(said.contains("x0: ") && said.contains("std)"), "{said}");
    let (exit, said) = code(&place, &format!("describe days.csv {roles} --split split"));
    assert!(exit == 2 && said.contains("--split"), "{said}");
}

/// The policy that abstains is a policy file like any other: certified, evaluated and drawn from; ratios and bounds stand beside.
#[test]
fn abstaining_ratios_and_bounds_from_the_command_line() {
    let place = Place::with_log();
    let said = json(&place, &format!("certify policy.json log.csv {COLUMNS} --abstain careful.json --per potential"));
    let share = said["abstains"]["share"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&share) && said["verdict"].is_string(), "{said}");
    assert!(place.text("careful.json").contains("\"kind\": \"abstain\""));
    let ratio = &said["ratio"];
    let of = |who: &str, what: &str| ratio[who][what].as_f64().unwrap_or_else(|| panic!("{ratio}"));
    for who in ["policy", "logged", "difference"] {
        assert!(of(who, "lower") < of(who, "estimate") && of(who, "estimate") < of(who, "upper"), "{ratio}");
    }
    assert!((of("policy", "estimate") - of("logged", "estimate") - of("difference", "estimate")).abs() < 1e-12);
    assert!(!ratio["finding"].is_null());
    let again = json(&place, &format!("certify careful.json log.csv {COLUMNS}"));
    assert_eq!((&again["verdict"], &again["value"]), (&said["verdict"], &said["value"]));
    let (exit, words) = code(&place, "act careful.json log.csv --seed 1 -o next.csv");
    assert_eq!(exit, 0, "{words}");
    let (exit, words) = code(&place, &format!("certify policy.json log.csv {COLUMNS} --abstain careful.json"));
    assert!(exit == 2 && words.contains("--force"), "{words}");
    let evaluated = json(&place, &format!("evaluate policy.json log.csv {COLUMNS} --per potential --rows all"));
    assert!(evaluated["ratio"]["policy"]["estimate"].is_number() && evaluated["bounds"].is_null(), "{evaluated}");
    let (exit, words) = code(&place, &format!("evaluate careful.json log.csv {COLUMNS} --bounds"));
    assert!(exit == 2 && words.contains("counterfactual loss predictor"), "{words}");
}

#[test]
fn columns_that_may_be_clusters_are_mentioned() {
    let place = Place::with_log();
    let text = place.text("log.csv");
    let mut rows = text.lines();
    let head = rows.next().unwrap();
    let with: Vec<String> = rows.enumerate().map(|(i, r)| format!("{r},{},{i}", i / 10)).collect();
    place.write("ids.csv", format!("{head},user_id,row_id\n{}\n", with.join("\n")));
    let (_, words) = code(&place, &format!("describe ids.csv {COLUMNS}"));
    assert!(
        words.contains("user_id (90 different values in 900 rows)") && words.contains("--cluster user_id"),
        "{words}"
    );
    assert!(!words.contains("--cluster row_id"), "values that do not repeat hold nothing together: {words}");
    let (_, words) = code(&place, &format!("describe ids.csv {COLUMNS} --cluster user_id"));
    assert!(!words.contains("may say which rows"), "{words}");
    // every row twice
    let text = place.text("log.csv");
    let (head, rows) = text.split_once('\n').unwrap();
    place.write("twice.csv", format!("{head}\n{rows}{rows}"));
    let (_, words) = code(&place, &format!("describe twice.csv {COLUMNS}"));
    assert!(words.contains("900 of 1800 rows looked at are copies"), "{words}");
    assert!(!code(&place, &format!("describe log.csv {COLUMNS}")).1.contains("copies"));
}
