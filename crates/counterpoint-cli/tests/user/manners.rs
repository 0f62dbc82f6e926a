//! Where the program speaks, and what it does not do unasked.

use crate::support::{COLUMNS, Place, SMALL, words};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn results_go_to_stdout_and_nothing_is_said_twice() {
    let place = Place::with_log();
    let learn = format!("learn log.csv {COLUMNS} {SMALL}");
    let out = place.run(&format!("{learn} -o a.json"));
    assert!(text(&out.stdout).contains("Certificate"), "{}", words(&out));
    assert!(!text(&out.stderr).contains("Certificate"));
    // for programs: one object and no words beside it
    let out = place.run(&format!("{learn} -o b.json --json"));
    let said: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert!(said["schema_version"].is_number());
    assert_eq!(place.bytes("a.json"), place.bytes("b.json"));
    // for nobody
    let out = place.run(&format!("{learn} -o c.json --quiet"));
    assert_eq!((text(&out.stdout), text(&out.stderr)), (String::new(), String::new()));
    let out = place.run("learn nowhere.csv -o d.json --quiet");
    assert!(text(&out.stderr).starts_with("error: ") && out.stdout.is_empty());
}

#[test]
fn outputs_are_not_overwritten_unasked() {
    let place = Place::with_log();
    let before = place.bytes("policy.json");
    let learn = format!("learn log.csv {COLUMNS} {SMALL} --seed 9 --no-certify -o policy.json");
    let said = place.refused(&learn, &["policy.json", "there already", "--force"]);
    assert!(!said.contains("panic"));
    assert_eq!(place.bytes("policy.json"), before);
    place.refused("simulate moons --rows 900 -o log.csv", &["log.csv", "--force"]);
    place.refused(&format!("describe log.csv {COLUMNS} --report log.csv"), &["is read by this command"]);
    place.done(&learn);
    assert_ne!(place.bytes("policy.json"), before);
}

#[test]
fn colour_is_for_terminals_unless_asked_for() {
    let place = Place::with_log();
    let describe = format!("describe log.csv {COLUMNS}");
    assert!(!text(&place.run(&describe).stdout).contains('\u{1b}'));
    assert!(text(&place.run(&format!("{describe} --color always")).stdout).contains('\u{1b}'));
    assert!(!text(&place.run(&format!("{describe} --color never")).stdout).contains('\u{1b}'));
}

#[test]
fn progress_is_told_in_lines_where_there_is_no_terminal() {
    let place = Place::with_log();
    let args = format!("learn log.csv {COLUMNS} --set starts=4 --set proximal_steps=20 --no-certify -o slow.json");
    let mut program = place.program();
    let out = program.args(args.split_whitespace()).env("COUNTERPOINT_PROGRESS_SECONDS", "0.01").output().unwrap();
    assert!(text(&out.stderr).contains("learning: "), "{}", text(&out.stderr));
    assert!(!text(&out.stdout).contains("learning: "));
}

#[test]
fn contexts_by_pattern() {
    let place = Place::with_log();
    let roles = "--action action --reward reward --propensity propensity --split split";
    let learn = |context: &str, to: &str| {
        let args = format!("learn log.csv {roles} {SMALL} --no-certify -o {to}");
        let mut program = place.program();
        program.args(args.split_whitespace()).args(context.split('|')).output().unwrap()
    };
    assert!(learn("--context|x0,x1", "named.json").status.success());
    assert!(learn("--context|x*", "pattern.json").status.success());
    assert!(learn("--context|*|--exclude|potential,group", "rest.json").status.success());
    assert_eq!(place.bytes("named.json"), place.bytes("pattern.json"));
    assert_eq!(place.bytes("named.json"), place.bytes("rest.json"));
    let out = learn("--context|z*", "none.json");
    assert!(words(&out).contains("no column matches") && out.status.code() == Some(2));
    let out = learn("--context|*|--exclude|potentail", "none.json");
    assert!(words(&out).contains("potentail") && out.status.code() == Some(2));
}

#[test]
fn numbers_and_dates_in_disguise_are_not_categories() {
    let place = Place::with_log();
    for (cell, what) in [("2024-03-0", "dates"), ("5", "percentages")] {
        place.with_column("odd.csv", "x0", |i, _| match cell {
            "5" => format!("{}%", i % 100),
            day => format!("{day}{}", 1 + i % 9),
        });
        let args = format!("learn odd.csv {COLUMNS} {SMALL} --no-certify -o odd.json");
        place.refused(&args, &["\"x0\"", what, "--categorical"]);
    }
    place.with_column("few.csv", "x0", |i, _| format!("2024-03-0{}", 1 + i % 3));
    place.done(&format!("learn few.csv {COLUMNS} {SMALL} --categorical x0 --no-certify -o few.json"));
}

#[test]
fn the_version_says_what_runs() {
    let said = text(&Place::new().run("--version").stdout);
    assert!(said.starts_with("counterpoint ") && said.contains(&counterpoint::folds::instruction_set()), "{said}");
}

#[test]
fn built_in_grids_can_be_printed_and_read_again() {
    let place = Place::new();
    for name in counterpoint::select::Grid::names() {
        let printed = text(&place.run(&format!("recipe --grid {name}")).stdout);
        assert_eq!(
            counterpoint::select::Grid::from_toml(&printed).unwrap(),
            counterpoint::select::Grid::named_or_file(name).unwrap()
        );
    }
    place.refused("recipe --grid none", &["built in: "]);
}
