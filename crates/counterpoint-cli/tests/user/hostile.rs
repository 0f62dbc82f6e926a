//! Names, values and policies that mean harm, or are only odd: nothing is obeyed, nothing is silent.

use crate::support::{COLUMNS, Place, SMALL, words};

#[test]
fn a_page_is_not_written_over_the_log() {
    let place = Place::with_log();
    place.refused(&format!("describe log.csv {COLUMNS} --report log.csv --force"), &["is read by this command"]);
    std::os::unix::fs::symlink("log.csv", place.path("link.html")).unwrap();
    place.refused(&format!("describe log.csv {COLUMNS} --report link.html --force"), &["is read by this command"]);
    std::fs::hard_link(place.path("log.csv"), place.path("hard.html")).unwrap();
    place.refused(&format!("describe log.csv {COLUMNS} --report hard.html --force"), &["is read by this command"]);
}

#[test]
fn names_cannot_speak_to_the_terminal() {
    let place = Place::with_log();
    for (name, refused) in
        [("x\u{1b}]0;title\u{7}", true), ("x\u{1b}[31m", true), ("\u{202e}x", false), ("<b>x</b>", false)]
    {
        place.write("odd.csv", place.text("log.csv").replacen("x0,", &format!("\"{name}\","), 1));
        let columns = COLUMNS.split(' ').map(|w| w.replace("x0", name));
        for command in [
            "describe odd.csv",
            &format!("learn odd.csv {SMALL} --no-certify --force -o p.json"),
            "describe missing.csv",
        ] {
            let out =
                place.program().args(command.split(' ')).args(columns.clone()).env_remove("NO_COLOR").output().unwrap();
            let said = words(&out);
            assert!(!said.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{command}: {said:?}");
            assert_eq!(out.status.code() == Some(2), refused || command.contains("missing"), "{command}: {said}");
        }
        let out = place
            .run("learn odd.csv --context nothing --action action --reward reward --propensity propensity -o p.json");
        assert!(!words(&out).contains(['\u{1b}', '\u{202e}']), "{}", words(&out));
    }
    // a policy file may say anything too
    place.write("p.json", place.text("policy.json").replace("\"x0\"", "\"x\\u001b[31m\""));
    place.refused("act p.json log.csv -o a.csv", &["control character"]);
}

#[test]
fn contexts_that_become_categories_are_named() {
    let place = Place::with_log();
    place.with_column("words.csv", "x0", |i, _| ["Rome", "Oslo"][i % 2].into());
    let said = place.done(&format!("learn words.csv {COLUMNS} {SMALL} --no-certify -o w.json"));
    assert!(said.contains("read as categories: x0 (2 levels)"), "{said}");
    assert!(!place.done(&format!("describe log.csv {COLUMNS}")).contains("read as categories"));
}

#[test]
fn missing_values_are_kept_where_that_is_asked_for() {
    let place = Place::with_log();
    place.with_column("gaps.csv", "x0", |i, v| if i % 5 == 0 { String::new() } else { v.into() });
    place.refused(&format!("learn gaps.csv {COLUMNS} -o g.json"), &["row 1", "is missing", "--missing indicator"]);
    let said = place.done(&format!("learn gaps.csv {COLUMNS} {SMALL} --missing indicator --report g.html -o g.json"));
    assert!(said.contains("missing values are filled and marked: x0 (as "), "{said}");
    let policy: serde_json::Value = serde_json::from_slice(&place.bytes("g.json")).unwrap();
    assert_eq!(policy["policy"]["inputs"][0]["kind"], "filled");
    place.done("act g.json gaps.csv -o a.csv");
    assert_eq!(place.text("a.csv").lines().count(), 901);
    place.done(&format!("evaluate g.json gaps.csv {COLUMNS}"));
    place.refused("act policy.json gaps.csv -o b.csv", &["row 1", "learn with --missing indicator"]);
    place.write("log.toml", "missing = \"indicator\"\n");
    place.done(&format!("describe gaps.csv {COLUMNS}"));
}

#[test]
fn actions_are_finite_and_far_contexts_are_mentioned() {
    let place = Place::with_log();
    let linear = "--set policy=linear --set starts=1 --set max_iterations=20 --set proximal_steps=0";
    place.done(&format!("learn log.csv {COLUMNS} {linear} --no-certify -o linear.json"));
    place.write("far.csv", "id,x0,x1\n=a,0.5,0.5\nb,1.7e308,-1.7e308\nc,100,0.5\n");
    place
        .refused("act linear.json far.csv --id id -o a.csv", &["row 2", "too large to compute with", "--drop-invalid"]);
    // a gamma policy's mean is 0 in one of these corners, and no density there is a number
    place.done(&format!("learn log.csv {COLUMNS} {linear} --set family=gamma --no-certify -o gamma.json"));
    place.write("corners.csv", "x0,x1\n1e99,1e99\n1e99,-1e99\n-1e99,1e99\n-1e99,-1e99\n");
    place.refused("act gamma.json corners.csv -o g.csv", &["no finite action", "--drop-invalid"]);
    place.done("act gamma.json corners.csv --drop-invalid -o g.csv");
    assert!(!place.text("g.csv").contains("NaN") && !place.text("g.csv").contains("inf"));
    let said = place.done("act linear.json far.csv --id id --drop-invalid --json -o a.csv");
    assert!(said.contains("\"dropped\": 1") && said.contains("\"far\": 1"), "{said}");
    assert!(
        said.contains("warning: 1 rows have a context far outside") && said.contains("row 3: \"x0\" is 100"),
        "{said}"
    );
    let text = place.text("a.csv");
    assert!(text.contains("\n'=a,") && text.contains("\nc,") && !text.contains("\nb,"), "{text}");
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
}

#[test]
fn a_policy_that_was_changed_is_not_believed() {
    let place = Place::with_log();
    let text = place.text("policy.json");
    let at = text.find("\"theta\"").unwrap() + 30;
    let digit = text[at..].find(|c: char| c.is_ascii_digit()).unwrap() + at;
    let other = if &text[digit..=digit] == "7" { "8" } else { "7" };
    place.write("changed.json", format!("{}{other}{}", &text[..digit], &text[digit + 1..]));
    place.refused("act changed.json log.csv -o a.csv", &["changed.json", "checksum is wrong"]);
}

#[test]
fn what_cannot_fit_in_memory_is_refused_before_it_is_made() {
    let place = Place::new();
    place.refused("simulate moons --rows 1000000000000 -o s.csv", &["do not fit in memory"]);
    place.write("grid.toml", "limit = 50000000\n[recipe]\ncap = [1.0, 2.0]\n");
    place.refused(
        &format!("select log.csv {COLUMNS} --grid grid.toml -o p.json"),
        &["50000000 candidates are too many"],
    );
}

#[test]
fn densities_that_are_none_are_mentioned_by_every_command_that_uses_them() {
    let place = Place::with_log();
    place.with_column("half.csv", "propensity", |_, p| (0.5 * p.parse::<f64>().unwrap()).to_string());
    for command in [
        format!("learn half.csv {COLUMNS} {SMALL} -o h.json"),
        format!("certify policy.json half.csv {COLUMNS}"),
        format!("evaluate policy.json half.csv {COLUMNS}"),
    ] {
        let said = place.done(&command);
        assert!(said.contains("warning: propensities do not look like densities"), "{command}: {said}");
    }
    assert!(!place.done(&format!("certify policy.json log.csv {COLUMNS}")).contains("do not look like densities"));
    let tenths = |p: &str| ((10.0 * p.parse::<f64>().unwrap()).round() / 10.0).max(0.1).to_string();
    place.with_column("tenths.csv", "propensity", |_, p| tenths(p));
    for command in
        [format!("learn tenths.csv {COLUMNS} {SMALL} -o t.json"), format!("certify policy.json tenths.csv {COLUMNS}")]
    {
        let said = place.done(&command);
        assert!(said.contains("propensities were rounded"), "{command}: {said}");
    }
}
