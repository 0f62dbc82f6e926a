//! Logs that are cut in the same way for every method: what to learn from, what to judge on, and the truth of the rest.
//!
//! With many rows there is one cut, the train part against the valid part. Warfarin has few: there are five folds, and four test
//! quarters in turn, each a set of its own. Tables 2 and 3 choose by the same rule, [`passed`].

use super::{Dataset, Kind, Truth, WARFARIN, figures, warfarin_log, warfarin_reward};
use crate::paper::Ask;
use crate::rivals::Figures;
use counterpoint::certify::Gate;
use counterpoint::{Engine, Estimator, Log, Policy, Result, evaluate};
use std::path::Path;

/// Folds on Warfarin.
const FOLDS: usize = 5;

/// Test parts on Warfarin: each row is in one of them.
const QUARTERS: usize = 4;

/// How the recipes of ours came about, for notes.
pub(in crate::paper) const FOUND: &str = "That a cap near 60 goes well with a floor under the std was found with the truth of these sets in view; the choice \
     among recipes is made without it.";

/// A data set as Tables 2 and 3 cut it, and its truth.
pub(in crate::paper) struct CutSet {
    pub(in crate::paper) kind: Kind,
    /// Where the rows are from, for the keys of finished work.
    pub(in crate::paper) source: String,
    /// What to learn from once settings are chosen.
    pub(in crate::paper) learn: Log,
    /// Pairs of logs: to train on, to judge on.
    pub(in crate::paper) cuts: Vec<(Log, Log)>,
    /// The test part.
    pub(in crate::paper) test: Log,
    /// What any action would earn on the test part.
    pub(in crate::paper) truth: Truth,
    /// What the log earned on the test part, with its standard error.
    pub(in crate::paper) logged: (f64, f64),
}

impl CutSet {
    /// A log with enough rows for one cut.
    pub(in crate::paper) fn of(set: Dataset) -> Self {
        let logged = set.logged();
        let parts = set.parts;
        CutSet {
            kind: set.kind,
            source: set.source.into(),
            learn: parts.train.clone(),
            cuts: vec![(parts.train, parts.valid)],
            test: parts.test,
            truth: set.truth,
            logged,
        }
    }

    /// What the cuts say of a method: `fit` learns from the first rows of a cut and asks the second. Cuts on which it fails say nothing.
    pub(in crate::paper) fn judge(&self, fit: impl Fn(&Log, &Log) -> Result<Figures>) -> Vec<Figures> {
        self.cuts.iter().filter_map(|(train, rest)| fit(train, rest).ok()).collect()
    }
}

/// The mean SNIPS cost over the cuts that pass the gate, if more than half of all cuts do. Section 6.2.
pub(in crate::paper) fn passed(seen: &[Figures], cuts: usize, gate: Gate) -> Option<f64> {
    let costs: Vec<f64> = seen.iter().filter(|f| f.passes(gate)).map(|f| f.snips).collect();
    (2 * costs.len() > cuts).then(|| costs.iter().sum::<f64>() / costs.len() as f64)
}

/// The place of the cheapest that passes; of equals the first.
pub(in crate::paper) fn cheapest(costs: impl IntoIterator<Item = Option<f64>>) -> Option<usize> {
    let passed = costs.into_iter().enumerate().filter_map(|(i, c)| c.map(|c| (i, c)));
    passed.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i)
}

/// What rows say of a policy by SNIPS.
pub(in crate::paper) fn ask_rows(policy: &Policy, rows: &Log) -> Result<Figures> {
    let e = evaluate(&rows.on(&Engine::single()), policy, &Estimator::SNIPS)?;
    Ok(Figures {
        ips: e.mean_weight * e.cost(),
        snips: e.cost(),
        std_error: e.std_error,
        effective: e.effective,
        rows: e.rows,
        mean_weight: e.mean_weight,
    })
}

/// Warfarin: a set for each test quarter, a single one in a quick run; none without its file.
///
/// With few rows it matters which are held out, so each quarter is in turn; the other three are for cross-validation. By a seeded hash.
pub(in crate::paper) fn quarters(ask: &Ask) -> Result<Vec<CutSet>> {
    let quarters = ask.by_effort(1, QUARTERS);
    match ask.file(WARFARIN) {
        Some(path) => (0..quarters).map(|quarter| warfarin(&path, quarter)).collect(),
        None => Ok(Vec::new()),
    }
}

fn warfarin(path: &Path, quarter: usize) -> Result<CutSet> {
    let (log, dose) = warfarin_log(path)?;
    let (learn, test) = log.fold(1, quarter, QUARTERS)?;
    let rewards: Vec<f64> = test.blocks().iter().flat_map(|b| b.y.iter().map(|y| -y)).collect();
    Ok(CutSet {
        kind: Kind::Warfarin,
        source: format!("the paper's file, test quarter {quarter}"),
        cuts: (0..FOLDS).map(|f| learn.fold(2, f, FOLDS)).collect::<Result<_>>()?,
        learn,
        truth: Truth::of(&test, &dose, warfarin_reward),
        test,
        logged: figures(&rewards),
    })
}

/// A column of a table: the sets of one kind, by their places in the list.
pub(in crate::paper) struct Column {
    pub(in crate::paper) kind: Kind,
    pub(in crate::paper) sets: Vec<usize>,
    /// What the log earned, with its standard error.
    pub(in crate::paper) logged: [f64; 2],
}

impl Column {
    /// The columns of a list of sets.
    pub(in crate::paper) fn all(sets: &[CutSet]) -> Vec<Column> {
        let mut columns: Vec<Column> = Vec::new();
        for (s, set) in sets.iter().enumerate() {
            match columns.iter_mut().find(|c| c.kind == set.kind) {
                Some(column) => column.sets.push(s),
                None => columns.push(Column { kind: set.kind, sets: vec![s], logged: [0.0; 2] }),
            }
        }
        for column in &mut columns {
            column.logged = together(&column.sets.iter().map(|&s| sets[s].logged.into()).collect::<Vec<_>>());
        }
        columns
    }

    /// The figure of a column; nothing unless every set of it has one.
    pub(in crate::paper) fn figure(&self, of: impl Fn(usize) -> Option<[f64; 2]>) -> Option<[f64; 2]> {
        let each: Option<Vec<[f64; 2]>> = self.sets.iter().map(|&s| of(s)).collect();
        each.map(|each| together(&each))
    }
}

/// The mean of independent figures of about equally many rows, with its error.
fn together(each: &[[f64; 2]]) -> [f64; 2] {
    let n = each.len() as f64;
    [each.iter().map(|v| v[0]).sum::<f64>() / n, each.iter().map(|v| v[1] * v[1]).sum::<f64>().sqrt() / n]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::PAPER_GATE;

    fn seen(snips: f64, effective: f64) -> Figures {
        Figures { ips: snips, snips, std_error: 0.1, effective, rows: 1000.0, mean_weight: 1.0 }
    }

    #[test]
    fn folds_that_fail_the_gate_are_dropped_and_three_of_five_must_pass() {
        let (good, bad) = (seen(-1.0, 100.0), seen(-9.0, 1.0));
        assert_eq!(passed(&[good, seen(-2.0, 50.0), bad, seen(-3.0, 10.0)], 5, PAPER_GATE), Some(-2.0));
        assert_eq!(passed(&[good, good, bad, bad, bad], 5, PAPER_GATE), None);
        assert_eq!(passed(&[good, good], 5, PAPER_GATE), None); // three fits failed
        assert_eq!((passed(&[good], 1, PAPER_GATE), passed(&[bad], 1, PAPER_GATE)), (Some(-1.0), None));
    }

    #[test]
    fn the_cheapest_that_passes_wins() {
        assert_eq!(cheapest([None, Some(-0.5), Some(-0.7), Some(-0.7)]), Some(2));
        assert_eq!(cheapest([None, None]), None);
    }

    #[test]
    fn a_column_without_one_of_its_sets_has_no_figure() {
        let column = Column { kind: Kind::Warfarin, sets: vec![1, 3], logged: [0.0; 2] };
        assert_eq!(column.figure(|s| Some([s as f64, 3.0])), Some([2.0, 18f64.sqrt() / 2.0]));
        assert_eq!(column.figure(|s| (s == 1).then_some([1.0, 3.0])), None);
    }
}
