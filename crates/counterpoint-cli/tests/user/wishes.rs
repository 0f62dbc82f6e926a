//! What users wish of a search: a time, guardrails, another objective, a model of their own.

use crate::support::{COLUMNS, Place};

/// A column, computed from the action.
type Computed = (&'static str, fn(f64) -> f64);

/// log.csv with columns more.
fn with_columns(place: &Place, to: &str, columns: &[Computed]) {
    let text = place.text("log.csv");
    let at = text.lines().next().unwrap().split(',').position(|c| c == "action").unwrap();
    let line = |(i, line): (usize, &str)| {
        let cells: Vec<String> = match i {
            0 => columns.iter().map(|(name, _)| (*name).to_string()).collect(),
            _ => {
                let action: f64 = line.split(',').nth(at).unwrap().parse().unwrap();
                columns.iter().map(|(_, of)| of(action).to_string()).collect()
            }
        };
        format!("{line},{}\n", cells.join(","))
    };
    place.write(to, text.lines().enumerate().map(line).collect::<String>());
}

#[test]
fn a_search_takes_the_time_it_is_given_and_says_what_it_left_out() {
    let place = Place::with_log();
    // the log is divided by a column: a duration behind --time is none
    let said = place.done(&format!("select log.csv {COLUMNS} --time 1ms -o p.json"));
    assert!(said.contains("time was up") && said.contains("network"), "{said}");
    assert!(place.text("p.json").contains("depends on the clock"));
    let said = place.done(&format!("select log.csv {COLUMNS} --budget 1ms -o p.json --json"));
    assert!(said.contains("\"left_out\": [") && said.contains("\"models: trees\""), "{said}");
    place.refused(&format!("select log.csv {COLUMNS} --budget 1s --time 1s -o q.json"), &["both say how long"]);
    place.refused(&format!("select log.csv {COLUMNS} --time day -o q.json"), &["--split and --time"]);
    let out = place.run(&format!("select log.csv {COLUMNS} --budget 60 -o q.json"));
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("60s, 2m or 1.5h"));
    // of a grid some candidates are left, and the journal of the rest can be taken up
    place.write(
        "grid.toml",
        "[recipe]\ncap = [5.0, 6.0, 7.0, 8.0]\nanchors = 4\nstarts = 1\nproximal_steps = 1\nstd_floor = 0.3\n",
    );
    let grid = format!("select log.csv {COLUMNS} --grid grid.toml");
    place.done(&format!("{grid} -o whole.json"));
    let said = place.done(&format!("{grid} --budget 1ms -o g.json"));
    assert!(said.contains("time was up") && said.contains("candidates"), "{said}");
    place.done(&format!("{grid} --resume -o g.json"));
    assert_eq!(place.text("whole.json"), place.text("g.json"));
}

#[test]
fn predictions_are_learned_from_and_needed_to_act() {
    let place = Place::with_log();
    // a model that says: the nearer to the asked action, the better
    let asked: [Computed; 3] = [("q_1", |_| 0.2), ("q_2", |_| 0.7), ("q_3", |_| 0.1)];
    with_columns(&place, "wide.csv", &asked);
    let columns = COLUMNS.replace("--context x0,x1", "--context x*");
    let said = place.done(&format!("learn wide.csv {columns} --predictions q_* --set models=predictions -o p.json"));
    assert!(said.contains("predictions"), "{said}");
    let policy = place.text("p.json");
    assert!(policy.contains("\"predicted\":3") || policy.contains("\"predicted\": 3"), "the file says what it needs");
    place.done("act p.json wide.csv -o actions.csv --means --seed 1");
    let mean: f64 = place.text("actions.csv").lines().nth(1).unwrap().split(',').nth(3).unwrap().parse().unwrap();
    assert!((mean - 2.0).abs() < 0.5, "it does what the columns say: {mean}");
    place.refused("act p.json log.csv -o none.csv", &["q_1", "follows predictions"]);
    let log = "--action action --reward reward --propensity propensity --split split";
    place.refused(&format!("certify p.json log.csv {log}"), &["q_1", "follows predictions"]);
    place.done(&format!("certify p.json wide.csv {log}"));
    place.done(&format!("evaluate p.json wide.csv {log}"));
    place.refused(&format!("learn wide.csv {columns} --predictions q_1 -o n.json"), &["COLUMN@ACTION"]);
    place.refused(&format!("learn wide.csv {columns} --predictions q_1@1,q_2@1 -o n.json"), &["both predictions at 1"]);
    let parametric = format!("learn wide.csv {columns} --predictions q_* --set policy=linear -o n.json");
    place.refused(&parametric, &["greedy"]);
    // log.toml says it once
    place.write("log.toml", "predictions = \"q_*\"\n");
    let said = place.done(&format!("learn wide.csv {columns} --set models=predictions --no-certify -o again.json"));
    assert!(said.contains("predictions"), "{said}");
    assert_eq!(place.text("again.json"), policy);
}

#[test]
fn learning_keeps_to_guardrails_and_certifies_them() {
    let place = Place::with_log();
    with_columns(&place, "wide.csv", &[("load", |a| a)]);
    let learn = format!("learn wide.csv {COLUMNS} --set models=linear -o p.json");
    let said = place.done(&format!("{learn} --guardrail load:max+400%"));
    assert!(said.contains("guardrail load") && said.contains("Guardrails:"), "{said}");
    let certificate = place.text("p.certificate.json");
    assert!(certificate.contains("\"guardrails\"") && certificate.contains("\"load\""), "{certificate}");
    let other = learn.replace("p.json", "q.json");
    place.refused(&format!("{other} --guardrail none:max+1%"), &["none"]);
    let parametric = format!("learn wide.csv {COLUMNS} --set policy=linear -o q.json --guardrail load:max+1%");
    place.refused(&parametric, &["greedy"]);
    place.done(&format!("select wide.csv {COLUMNS} --budget 1ms -o s.json --guardrail load:max+400%"));
    assert!(place.text("s.certificate.json").contains("\"guardrails\""));
}

#[test]
fn the_worst_outcomes_can_be_asked_for() {
    let place = Place::with_log();
    let said = place
        .done(&format!("learn log.csv {COLUMNS} --set models=linear --set objective=cvar --set tail=0.2 -o p.json"));
    assert!(said.contains("worst 20%"), "{said}");
    place.refused(&format!("learn log.csv {COLUMNS} --set tail=0.2 -o q.json"), &["objective = cvar"]);
    place.refused(&format!("learn log.csv {COLUMNS} --set objective=cvar --set tail=1.5 -o q.json"), &["in (0, 1)"]);
}
