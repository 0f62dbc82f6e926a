//! The program as a user meets it: files in, files out, messages, exit codes.

#![allow(clippy::unwrap_used, missing_docs)]

use std::path::Path;
use std::process::{Command, Output};

fn run(dir: &Path, args: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_counterpoint")).current_dir(dir).args(args.split_whitespace()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const COLUMNS: &str = "--context x0,x1 --action action --reward reward --propensity propensity --split split";
const SMALL: &str = "--set starts=1 --set proximal_steps=2 --set max_iterations=30 --set anchors=5";

#[test]
fn a_simulated_log_becomes_a_policy_and_an_estimate() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    for ending in ["parquet", "csv", "arrow"] {
        let made = run(d, &format!("simulate moons --rows 3000 --seed 3 -o log.{ending}"));
        assert!(made.status.success(), "{}", text(&made.stderr));
        let learned = run(d, &format!("learn log.{ending} {COLUMNS} {SMALL} -o {ending}.json --json"));
        assert!(matches!(learned.status.code(), Some(0 | 1)), "{}", text(&learned.stderr)); // certified or not
        let said: serde_json::Value = serde_json::from_slice(&learned.stdout).unwrap();
        assert!(said["valid"]["estimate"].as_f64().unwrap() > said["valid"]["logged"].as_f64().unwrap());
    }
    // the same rows in three formats: the same bytes of policy
    let policies = ["parquet", "csv", "arrow"].map(|e| std::fs::read(d.join(format!("{e}.json"))).unwrap());
    assert!(policies[0] == policies[1] && policies[1] == policies[2]);
    let evaluated = run(d, &format!("evaluate parquet.json log.parquet {COLUMNS} --json"));
    assert!(evaluated.status.success(), "{}", text(&evaluated.stderr));
    let said: serde_json::Value = serde_json::from_slice(&evaluated.stdout).unwrap();
    assert!(said["snips"]["estimate"].is_number() && said["logged"]["estimate"].is_number());
}

/// The narrow policy has the better estimate and about 450 effective rows, the wide one about 1,100.
#[test]
fn select_picks_by_the_gate_that_its_certificate_uses() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    assert!(run(d, "simulate moons --rows 9000 --seed 5 -o log.parquet").status.success());
    std::fs::write(d.join("grid.toml"), "keep = 1.0\n[recipe]\npolicy = \"linear\"\nstarts = 1\nstd = [0.15, 0.5]\n")
        .unwrap();
    let chosen = |gate: &str, name: &str| {
        let done = run(d, &format!("select log.parquet {COLUMNS} --grid grid.toml {gate} -o {name} --json"));
        let said: serde_json::Value =
            serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{}", text(&done.stderr)));
        let std = said["leaderboard"][0]["recipe"]["std"].as_f64().unwrap();
        (std, said["certificate"]["valid"]["effective"].as_f64().unwrap(), said["certificate"]["verdict"].clone())
    };
    let (std, effective, _) = chosen("", "a.json");
    assert_eq!(std, 0.15, "{effective} effective rows");
    let need = (2.0 * effective).round();
    let (std, effective, verdict) = chosen(&format!("--min-effective-rows {need}"), "b.json");
    assert!(std == 0.5 && effective > need && verdict != "invalid", "{std} {effective} {verdict}");
}

#[test]
fn rivals_learn_from_the_same_log_and_stand_before_the_same_certificate() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    assert!(run(d, "simulate moons --rows 6000 --seed 3 -o log.parquet").status.success());
    let (family, contexts) = (counterpoint::policy::Family::LogNormal, ["x0", "x1"]);
    counterpoint::Policy::constant(family, &contexts, &["action"], &[2.0], &[1.0])
        .unwrap()
        .save(d.join("l.json"))
        .unwrap();
    for (method, more) in [("sdm", ""), ("cats", ""), ("softmax-ips", ""), ("softmax-dr", "--logging-policy l.json")] {
        let done = run(d, &format!("rival {method} log.parquet {COLUMNS} {more} -o {method}.json --json"));
        assert!(done.status.code() == Some(0), "{}", text(&done.stderr));
        let said: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        let name = if method.starts_with("softmax") { "softmax" } else { method };
        assert_eq!(said["settings"]["rival"], name);
        assert_eq!(said["certificate"]["verdict"], "deploy"); // all earn .6 and more, the log .53
        assert!(d.join(format!("{method}.json")).exists() && d.join(format!("{method}.certificate.json")).exists());
        // and acts
        let acted = run(d, &format!("act {method}.json log.parquet --means -o {method}.csv"));
        assert!(acted.status.success(), "{}", text(&acted.stderr));
        let rows = std::fs::read_to_string(d.join(format!("{method}.csv"))).unwrap();
        assert!(rows.starts_with("row,action,density,mean,seed\n") && rows.lines().count() == 6001, "{method}");
        // its file comes through the same doors as a learned policy, and gives the same certificate
        let again = run(d, &format!("certify {method}.json log.parquet {COLUMNS} --json"));
        let certificate: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
        assert_eq!(certificate["difference"], said["certificate"]["difference"], "{}", text(&again.stderr));
        let evaluated = run(d, &format!("evaluate {method}.json log.parquet {COLUMNS} --json"));
        let every: serde_json::Value = serde_json::from_slice(&evaluated.stdout).unwrap();
        for name in ["snips", "ips", "direct", "doubly-robust"] {
            assert!(every[name]["estimate"].is_number(), "{method} {name}: {}", text(&evaluated.stderr));
        }
    }
    // a setting held fast is the setting of all that is tried
    let held =
        run(d, &format!("rival cats log.parquet {COLUMNS} --set depth=4 --set bandwidth=0.3 -o held.json --json"));
    assert!(matches!(held.status.code(), Some(0 | 1)), "{}", text(&held.stderr));
    let said: serde_json::Value = serde_json::from_slice(&held.stdout).unwrap();
    assert_eq!((&said["settings"]["depth"], &said["settings"]["bandwidth"]), (&4.into(), &0.3.into()));
    for (set, says) in [("phi=0.3", "bandwidth, centre, depth"), ("depth=99", "out of range"), ("depth", "FIELD=VALUE")]
    {
        let wrong = run(d, &format!("rival cats log.parquet {COLUMNS} --set {set} -o wrong.json"));
        assert!(wrong.status.code() == Some(2) && text(&wrong.stderr).contains(says), "{}", text(&wrong.stderr));
    }
    let wrong = run(d, &format!("rival vowpal log.parquet {COLUMNS} -o v.json"));
    assert!(wrong.status.code() == Some(2) && text(&wrong.stderr).contains("o-learning"), "{}", text(&wrong.stderr));
}

/// Without a seed every call draws afresh; with one, a row draws the same wherever it stands, and equal rows draw apart.
#[test]
fn actions_are_random() {
    let place = tempfile::tempdir().unwrap();
    let d = place.path();
    counterpoint::Policy::constant(counterpoint::policy::Family::Normal, &["x"], &["a"], &[2.0], &[1.0])
        .unwrap()
        .save(d.join("p.json"))
        .unwrap();
    std::fs::write(d.join("one.csv"), "x\n1\n").unwrap();
    std::fs::write(d.join("some.csv"), "x\n3\n1\n1\n2\n").unwrap();
    std::fs::write(d.join("turned.csv"), "x\n1\n2\n3\n").unwrap();
    let drawn = |file: &str, more: &str| -> Vec<String> {
        let acted = run(d, &format!("act p.json {file} {more} --force -o a.csv"));
        assert!(acted.status.success() && text(&acted.stdout).contains("seed"), "{}", text(&acted.stderr));
        let rows = std::fs::read_to_string(d.join("a.csv")).unwrap();
        rows.lines().skip(1).map(|l| l.split(',').nth(1).unwrap().to_string()).collect()
    };
    let once = drawn("one.csv", "");
    assert_ne!(once, drawn("one.csv", ""));
    let some = drawn("some.csv", "--seed 7");
    assert_eq!(some, drawn("some.csv", "--seed 7"));
    assert_ne!(some, drawn("some.csv", "--seed 8"));
    assert_ne!(some[1], some[2]);
    assert_eq!(drawn("turned.csv", "--seed 7"), [&some[1], &some[3], &some[0]].map(String::clone));
}

/// A log with two columns more: the density and the action of a policy that has no file.
fn with_a_policy_of_ones_own(d: &Path) {
    assert!(run(d, "simulate moons --rows 3000 --seed 3 -o plain.csv").status.success());
    let plain = std::fs::read_to_string(d.join("plain.csv")).unwrap();
    let mut lines = plain.lines();
    let head = lines.next().unwrap();
    let at = head.split(',').position(|c| c == "propensity").unwrap();
    let mut own = format!("{head},mine,bid\n");
    lines.for_each(|l| own.push_str(&format!("{l},{},1.5\n", l.split(',').nth(at).unwrap())));
    std::fs::write(d.join("log.csv"), own).unwrap();
}

#[test]
fn a_policy_of_ones_own_is_evaluated_and_certified_by_columns_of_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    with_a_policy_of_ones_own(d);
    let json = |out: &Output| -> serde_json::Value {
        serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&out.stderr)))
    };
    // the densities of the log itself: every weight is 1, and there is nothing to gain
    let same = json(&run(d, &format!("evaluate log.csv {COLUMNS} --target-density mine --json")));
    let gap = same["snips"]["estimate"].as_f64().unwrap() - same["logged"]["estimate"].as_f64().unwrap();
    assert!(gap.abs() < 1e-9 && same["direct"]["failure"].as_str().unwrap().contains("drawn"), "{same}");
    let kept = run(d, &format!("certify log.csv {COLUMNS} --target-density mine --json"));
    assert_eq!((kept.status.code(), &json(&kept)["verdict"]), (Some(1), &"keep".into()));
    // an action needs a std before it can be weighed
    let alone = run(d, &format!("evaluate log.csv {COLUMNS} --target-action bid"));
    assert!(alone.status.code() == Some(2) && text(&alone.stderr).contains("--target-std"));
    let args = format!("{COLUMNS} --target-action bid --target-std 0.5 --target-family lognormal --json");
    let around = json(&run(d, &format!("evaluate log.csv {args}")));
    assert!(around["snips"]["estimate"].is_number() && around["doubly-robust"]["estimate"].is_number(), "{around}");
    // the same by log.toml, where the flags need not be said
    let toml = "context = [\"x0\", \"x1\"]\naction = \"action\"\nreward = \"reward\"\npropensity = \"propensity\"\n\
                split = \"split\"\ntarget_density = \"mine\"\n";
    std::fs::write(d.join("log.toml"), toml).unwrap();
    assert_eq!(json(&run(d, "evaluate log.csv --json"))["snips"], same["snips"]);
    let nobody = run(d, "evaluate plain.csv --log-config nothing.toml");
    assert_eq!(nobody.status.code(), Some(2));
}

#[test]
fn evaluate_sets_every_estimator_side_by_side() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    assert!(run(d, "simulate moons --rows 6000 --seed 3 -o log.parquet").status.success());
    let logging = |mean: f64, std: f64| {
        counterpoint::Policy::constant(
            counterpoint::policy::Family::LogNormal,
            &["x0", "x1"],
            &["action"],
            &[mean],
            &[std],
        )
    };
    logging(2.0, 1.0).unwrap().save(d.join("logging.json")).unwrap();
    logging(1.5, 0.8).unwrap().save(d.join("p.json")).unwrap();
    let asked = |more: &str| -> (serde_json::Value, String) {
        let command = format!("evaluate p.json log.parquet {COLUMNS} {more}");
        let done = run(d, &format!("{command} --json"));
        assert!(done.status.success(), "{}", text(&done.stderr));
        (serde_json::from_slice(&done.stdout).unwrap(), text(&run(d, &command).stdout))
    };
    let plain = ["snips", "ips", "clipped", "soft-clipped", "power-mean"];
    let modelled = ["direct", "doubly-robust", "self-normalised-dr", "cab-dr"];
    let (said, words) = asked("");
    for name in plain.into_iter().chain(modelled) {
        let e = &said[name];
        let number = |k: &str| e[k].as_f64().unwrap_or_else(|| panic!("{name} {k}: {e}"));
        assert!(
            number("lower") < number("estimate") && number("estimate") < number("upper") && number("std_error") > 0.0
        );
        assert_eq!(e["mean_weight"].is_number(), name != "direct", "{name}");
    }
    for name in ["switch", "cab"] {
        assert!(said[name]["failure"].as_str().unwrap().contains("logging density"), "{}", said[name]);
    }
    let mean = |k: &str| said["mean_action"]["value"][k].as_f64().unwrap_or_else(|| panic!("{}", said["mean_action"]));
    assert!(mean("lower") < mean("estimate") && mean("estimate") < mean("upper") && words.contains("mean action"));
    assert!(said["mean_action_by_model"]["estimate"].is_number());
    // the columns of the table stand under each other
    let lines: Vec<&str> = words.lines().collect();
    let head = lines.iter().position(|l| l.contains("n_eff/n")).unwrap();
    for line in &lines[head + 1..=head + 5] {
        assert_eq!(line.chars().count(), lines[head].chars().count(), "{line}");
    }
    let (said, words) = asked("--rows test --logging-policy logging.json");
    for name in ["switch", "cab"] {
        let off = said[name]["estimate"].as_f64().unwrap() - said["doubly-robust"]["estimate"].as_f64().unwrap();
        assert!(off.abs() < 0.1, "{name}: {off}");
    }
    assert!(words.contains("test rows"));
    let (said, _) = asked("--rows train");
    assert!(said["notes"].as_array().unwrap().iter().any(|n| n.as_str().unwrap().contains("has seen rows")));
}

#[test]
fn threads_do_not_change_a_byte() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    assert!(run(d, "simulate circles --rows 6000 --seed 5 -o log.parquet").status.success());
    for threads in [1, 2, 5] {
        let done = run(d, &format!("learn log.parquet {COLUMNS} {SMALL} --threads {threads} -o {threads}.json"));
        assert!(matches!(done.status.code(), Some(0 | 1)), "{}", text(&done.stderr)); // certified or not
    }
    let one = std::fs::read(d.join("1.json")).unwrap();
    assert!(one == std::fs::read(d.join("2.json")).unwrap() && one == std::fs::read(d.join("5.json")).unwrap());
}

#[test]
fn bad_input_ends_in_a_message_exit_two_and_no_output() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    assert!(run(d, "simulate moons --rows 600 -o log.csv").status.success());
    let csv = std::fs::read_to_string(d.join("log.csv")).unwrap();
    let mut lines: Vec<&str> = csv.lines().collect();
    let broken = {
        let mut cells: Vec<&str> = lines[7].split(',').collect();
        cells[4] = "0"; // propensity of data row 7
        cells.join(",")
    };
    lines[7] = &broken;
    std::fs::write(d.join("zero.csv"), lines.join("\n")).unwrap();
    std::fs::write(d.join("half.parquet"), b"PAR1 and then nothing").unwrap();
    std::fs::write(d.join("bad.toml"), "cap = -3.0").unwrap();
    let wrong = COLUMNS.replace("x0,x1", "x0,x9");
    for (args, message) in [
        (format!("learn zero.csv {COLUMNS} -o p.json"), "row 7, column \"propensity\": 0 is not a density"),
        (format!("learn half.parquet {COLUMNS} -o p.json"), "half.parquet"),
        (format!("learn log.csv {wrong} -o p.json"), "there is no column \"x9\""),
        (format!("learn nowhere.csv {COLUMNS} -o p.json"), "nowhere.csv"),
        (format!("learn log.csv {COLUMNS} --recipe bad.toml -o p.json"), "recipe field `cap`"),
        (format!("learn log.csv {COLUMNS} --set ancors=3 -o p.json"), "ancors"),
        (format!("learn log.csv {COLUMNS} {SMALL} --set estimator=cab -o p.json"), "logging density as a function"),
        (format!("learn log.csv {COLUMNS} {SMALL} -o missing/p.json"), "missing/p.json"),
        (format!("evaluate log.csv log.csv {COLUMNS}"), "not a policy file"),
    ] {
        let done = run(d, &args);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{args}: {said}");
        assert!(said.contains("error:") && said.contains(message), "{args}: {said}");
        assert!(!d.join("p.json").exists(), "{args} left a file");
    }
    let left: Vec<_> = std::fs::read_dir(d).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert!(left.iter().all(|n| !n.ends_with(".tmp")), "{left:?}");
}

#[test]
fn the_recipe_it_prints_is_the_recipe_it_reads() {
    let dir = tempfile::tempdir().unwrap();
    let printed = run(dir.path(), "recipe");
    assert_eq!(counterpoint::Recipe::from_toml(&text(&printed.stdout)).unwrap(), counterpoint::Recipe::default());
    for (field, ..) in counterpoint::Recipe::describe() {
        assert!(text(&printed.stdout).contains(field));
    }
}

#[test]
fn the_demo_tells_estimate_and_truth() {
    let dir = tempfile::tempdir().unwrap();
    let done = run(dir.path(), "demo --rows 15000 --json --keep kept");
    assert!(done.status.success(), "{}", text(&done.stderr));
    let said: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let truth = |k: &str| said["truth"][k].as_f64().unwrap();
    assert!(truth("learned") > truth("logging") && truth("learned") < truth("oracle") + 0.02);
    for file in ["policy.json", "log.parquet", "report.html"] {
        assert!(dir.path().join("kept").join(file).exists(), "{file}");
    }
}
