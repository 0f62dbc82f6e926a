use super::*;
use crate::paper::{Cell, Effort};
use counterpoint::Engine;

fn record(snips: f64, effective: f64, value: f64) -> Record {
    let figures = Figures { ips: snips, snips, std_error: 0.1, effective, rows: 1000.0, mean_weight: 1.0 };
    let deployed = Some([value, 0.01]);
    Record { settings: String::new(), seen: vec![figures], deployed, judged: deployed, failure: None }
}

/// Every row of the table has the same fits.
fn results(records: Vec<Record>) -> Results {
    let columns = vec![Column { kind: Kind::Warfarin, sets: vec![0], logged: [0.5, 0.01] }];
    Results { columns, cuts: vec![1], records: vec![vec![records; ROWS.len() + 2]] }
}

#[test]
fn the_cheapest_that_passes_is_chosen_and_the_default_recipe_is_not() {
    let mut results = results(vec![record(-0.5, 100.0, 0.5), record(-0.9, 9.0, 0.2), record(-0.7, 50.0, 0.6)]);
    results.records[0][ROWS.len()] = vec![record(-0.1, 1.0, 0.8)];
    results.records[0][ROWS.len() + 1] = vec![record(-0.1, 1.0, 0.8)];
    let value = |row: usize| results.value(row, &results.columns[0]).map(|v| v[0]);
    assert_eq!((value(0), value(ROWS.len()), value(ROWS.len() + 1)), (Some(0.6), Some(0.8), None));
    assert_eq!(results.hindsight(0, &results.columns[0]), Some([0.6, 0.01]));
}

#[test]
fn a_rival_that_earns_more_is_reported_as_such() {
    let mut results = results(vec![record(-0.5, 100.0, 0.5)]);
    results.records[0][ROWS.len() + 1] = vec![record(-0.5, 100.0, 0.7)];
    assert_eq!(claims::all(&results)[0].holds, Some(true));
    results.records[0][1] = vec![record(-0.5, 100.0, 0.9)];
    let claim = &claims::all(&results)[0];
    assert_eq!(claim.holds, Some(false));
    assert!(claim.measured.contains("stochastic direct method 0.9"), "{}", claim.measured);
}

#[test]
fn plain_settings_are_linear_and_keep_all_rewards() {
    let with = |settings: &str, snips, value| Record { settings: settings.into(), ..record(snips, 100.0, value) };
    let results = results(vec![
        with(r#"{"map":"nystrom"}"#, -0.9, 0.9),
        with(r#"{"map":"linear","floor":0.5}"#, -0.8, 0.8),
        with(r#"{"map":"linear","floor":0.0}"#, -0.6, 0.6),
        with(r#"{"map":"linear"}"#, -0.7, 0.7),
    ]);
    let column = &results.columns[0];
    assert_eq!((results.value(0, column), results.plain(0, column)), (Some([0.9, 0.01]), Some([0.7, 0.01])));
}

#[test]
fn settings_are_words() {
    let ks = r#"{"rival":"ks","bandwidth":{"share":0.2},"map":"linear"}"#;
    assert_eq!(show::short(ks), "bandwidth 0.2, map linear");
}

#[test]
#[ignore = "half a minute"]
fn a_quick_table_is_whole() {
    let ask = Ask::new(Effort::Quick, None, Engine::new(2).expect("threads"));
    let exhibit = table3(&ask).expect("an exhibit");
    assert_eq!(exhibit.tables[0].rows.len(), ROWS.len() + 3);
    for table in &exhibit.tables {
        assert!(table.rows.iter().all(|r| r.len() == table.head.len() && r.len() == 5), "{table:?}");
    }
    // on simulated circles the default recipe beats the log by far, even with few rows
    let worth = |row: usize| match &exhibit.tables[0].rows[row][1] {
        Cell::Value(v) => v.ours,
        Cell::Text(t) => panic!("{t}"),
    };
    assert!(worth(ROWS.len()) > worth(ROWS.len() + 2) + 0.1);
    assert_eq!(exhibit.claims.len(), 4);
}

#[test]
fn warfarin_leaves_no_method_without_a_choice() {
    for (name, ..) in ROWS {
        let whole = Rival::grid(name, 81).expect("a grid");
        let left = whole.iter().filter(|r| matters(r)).count();
        assert!((4..=36).contains(&left) && left <= whole.len(), "{name}: {left} of {}", whole.len());
    }
}
