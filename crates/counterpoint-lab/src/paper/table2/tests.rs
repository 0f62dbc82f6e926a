use super::*;
use crate::paper::{Effort, drawn_cocoa};
use counterpoint::Engine;
use counterpoint::certify::Verdict::{Deploy, Keep};
use search::Tested;

fn twin_alone() -> Vec<Column> {
    vec![Column { kind: Kind::Cocoa, sets: vec![0], logged: [11.3, 0.2] }]
}

/// The same in every cell.
fn worth(verdict: Verdict) -> Found {
    let tested =
        Tested { truth: [12.0, 0.1], share: 0.2, gain: [0.7, 0.2], p_value: 0.01, verdict, by_the_paper: Keep };
    Some(Worth { shown: [12.0, 0.3], tested: Some(tested) })
}

#[test]
fn only_clp_passes_means_that_all_of_clp_does_and_nothing_else() {
    let clp = |e: usize| index(0, e, CLASSES.len() - 1);
    let holds = |found: &[Found]| claims::all(&twin_alone(), found).last().and_then(|c| c.holds);
    let mut found = vec![worth(Keep); ESTIMATORS.len() * CLASSES.len()];
    assert_eq!(holds(&found), Some(false));
    found[clp(0)] = worth(Deploy);
    assert_eq!(holds(&found), Some(false));
    found[clp(1)] = worth(Deploy);
    assert_eq!(holds(&found), Some(true));
    found[0] = None; // no recipe passes: not significant either
    assert_eq!(holds(&found), Some(true));
    found[0] = worth(Deploy);
    assert_eq!(holds(&found), Some(false));
}

#[test]
fn the_column_of_the_twin_shows_estimates_and_truth() {
    let ask = Ask::new(Effort::Quick, None, Engine::single());
    let sets = [CutSet::of(drawn_cocoa(20_000, 1).expect("a twin"))];
    let exhibit = show(&ask, &Column::all(&sets), &found(&ask, &sets).expect("searched"));
    let [chosen, _, twin] = exhibit.tables.as_slice() else { panic!("three tables") };
    assert_eq!((chosen.head.len(), chosen.rows.len(), twin.rows.len()), (2, 11, 10));
    for (shown, row) in chosen.rows[1..].iter().zip(&twin.rows) {
        assert_eq!(row.len(), twin.head.len());
        let (Cell::Value(shown), Cell::Value(truth), Cell::Value(estimate)) = (&shown[1], &row[1], &row[2]) else {
            continue; // none passes
        };
        assert_eq!(shown.ours, estimate.ours);
        // nothing on the twin is worth more than the best bid always, 11.37 / 0.8666
        assert!(truth.ours < 13.5 && truth.ours >= 0.0, "{row:?}");
        // the paper's gate lets policies through that run off to where nothing is earned: our certificate must call them invalid
        let invalid = row.iter().any(|c| matches!(c, Cell::Text(t) if t.starts_with("invalid")));
        assert!(truth.ours > 0.0 || invalid, "{row:?}");
    }
}
