//! Table 2: which class of policies learns most, under soft-clipped IPS and under SNIPS.

mod claims;
mod search;

use super::dataset::cuts::{Column, CutSet, quarters};
use super::dataset::{Kind, every_row_of};
use super::{Ask, Cell, Exhibit, Table, Value, cocoa};
use crate::{COCOA_REWARD, Potential};
use counterpoint::certify::{Gate, Verdict};
use counterpoint::{Recipe, Result};
use rayon::prelude::*;
use search::{CLASSES, ESTIMATORS, Judged, Search, Worth};

/// The printed table: set, estimator, class; NaN where nothing is printed. Values, then errors.
const PAPER: Printed = [
    [[0.6115, 0.6113, 0.6959, f64::NAN, 0.7674], [0.6115, 0.6115, 0.6969, f64::NAN, 0.6972]],
    [[0.6116, 0.7326, 0.7281, f64::NAN, 0.7805], [0.6115, 0.7360, 0.7370, f64::NAN, 0.74091]],
    [[0.6026, 0.7638, 0.7448, f64::NAN, 0.7703], [0.5930, 0.7103, 0.5801, f64::NAN, 0.7899]],
    [[-8.964, -12.857, f64::NAN, f64::NAN, -8.720], [-9.511, -10.583, f64::NAN, f64::NAN, -9.161]],
    [[11.36, 11.35, 10.36, f64::NAN, 11.44], [11.32, 10.34, 11.13, f64::NAN, 11.48]],
];
const PAPER_ERROR: Printed = [
    [[0.0000, 0.0001, 0.0001, f64::NAN, 0.0008], [0.0001, 0.0001, 0.0001, f64::NAN, 0.0001]],
    [[0.0000, 0.0001, 0.0001, f64::NAN, 0.0004], [0.0001, 0.0001, 0.0001, f64::NAN, 0.0004]],
    [[0.0000, 0.0005, 0.0008, f64::NAN, 0.0002], [0.0001, 0.0003, 0.0002, f64::NAN, 0.0002]],
    [[0.001, 0.002, f64::NAN, f64::NAN, 0.001], [0.001, 0.005, f64::NAN, f64::NAN, 0.001]],
    [[0.13, 0.02, 0.11, f64::NAN, 0.10], [0.13, 0.12, 0.08, f64::NAN, 0.14]],
];
const PAPER_LOGGING: [f64; 5] = [0.5301, 0.5301, 0.4533, -13.377, 11.34];

type Printed = [[[f64; 5]; 2]; 5];

/// What a cell's choice is worth; nothing if no recipe passed the gate, or none was tried.
type Found = Option<Worth>;

/// Runs it.
pub(crate) fn run(ask: &Ask) -> Result<Exhibit> {
    let sets = all(ask)?;
    Ok(show(ask, &Column::all(&sets), &found(ask, &sets)?))
}

/// What each cell's choice is worth, behind the paper's gate and behind the library's.
fn found(ask: &Ask, sets: &[CutSet]) -> Result<[Vec<Found>; 2]> {
    let searches: Vec<Search> = sets
        .iter()
        .flat_map(|set| ESTIMATORS.into_iter().flat_map(move |e| CLASSES.into_iter().map(move |c| (set, e, c))))
        .map(|(set, estimator, class)| Search::new(ask, set, estimator, class))
        .collect::<Result<_>>()?;
    let jobs: Vec<(usize, usize)> =
        searches.iter().enumerate().flat_map(|(s, search)| (0..search.recipes.len()).map(move |r| (s, r))).collect();
    let judged: Vec<Judged> = jobs.par_iter().map(|&(s, r)| searches[s].judge(ask, r)).collect::<Result<_>>()?;
    let judged = |s: usize| jobs.iter().zip(&judged).filter(move |(j, _)| j.0 == s).map(|(_, judged)| judged);
    let winners: Vec<[Option<usize>; 2]> = (0..searches.len())
        .map(|s| {
            let all: Vec<&Judged> = judged(s).collect();
            [search::best(&all, |j| j.paper), search::best(&all, |j| j.ours)]
        })
        .collect();
    let mut wanted: Vec<(usize, usize)> =
        winners.iter().enumerate().flat_map(|(s, w)| w.iter().flatten().map(move |&r| (s, r))).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let values: Vec<Worth> = wanted.par_iter().map(|&(s, r)| searches[s].worth(ask, r)).collect::<Result<_>>()?;
    let value =
        |s: usize, r: Option<usize>| r.and_then(|r| wanted.iter().position(|w| *w == (s, r))).map(|i| values[i]);
    Ok([0, 1].map(|gate| winners.iter().enumerate().map(|(s, w)| value(s, w[gate])).collect()))
}

/// All logs that are there.
fn all(ask: &Ask) -> Result<Vec<CutSet>> {
    let mut sets = Vec::new();
    // the files are small and the fits few: a quick run takes all rows
    for kind in [Potential::Circles, Potential::Moons, Potential::Anisotropic] {
        sets.push(CutSet::of(every_row_of(ask, kind, 1)?));
    }
    sets.extend(quarters(ask)?);
    sets.push(CutSet::of(cocoa(ask)?));
    Ok(sets)
}

fn show(ask: &Ask, columns: &[Column], found: &[Vec<Found>; 2]) -> Exhibit {
    let gate = Gate::default();
    Exhibit {
        about: format!(
            "Every class of policies is trained with {} recipes per cell ({} on the twin of CoCoA) by soft-clipped IPS and by SNIPS; one is \
             chosen offline, and its true value on the test contexts is measured with 100 sampled actions per context. On the twin, as in \
             the paper on CoCoA, the table shows the SNIPS estimate on the test rows; the truth stands in a table of its own.",
            search::recipes(ask, Kind::Warfarin),
            search::recipes(ask, Kind::Cocoa)
        ),
        tables: vec![
            table(
                "Test reward, higher is better; chosen as in the paper: n_eff/n > 1%, then the best SNIPS",
                columns,
                &found[0],
            ),
            table(
                &format!(
                    "The same fits, chosen behind the library's gate: also {} effective rows, and a mean weight within {} of one",
                    gate.min_effective_rows, gate.max_mean_weight_error
                ),
                columns,
                &found[1],
            ),
            twin(columns, &found[0]),
        ],
        claims: claims::all(columns, &found[0]),
        notes: claims::notes(ask, columns, &found[0]),
        ..Exhibit::default()
    }
}

/// The recipes of ours on a log: CLP, soft-clipped IPS.
pub(super) fn ours(ask: &Ask, kind: Kind) -> Result<Vec<Recipe>> {
    search::sample(ask, kind, ESTIMATORS[0].1, CLASSES[CLASSES.len() - 1].1, search::recipes(ask, kind))
}

/// Where a cell stands in the flat lists.
fn index(set: usize, estimator: usize, class: usize) -> usize {
    (set * ESTIMATORS.len() + estimator) * CLASSES.len() + class
}

/// A cell of a column as the table shows it.
fn shown(column: &Column, found: &[Found], e: usize, c: usize) -> Option<[f64; 2]> {
    column.figure(|s| found[index(s, e, c)].map(|w| w.shown))
}

fn table(caption: &str, columns: &[Column], found: &[Found]) -> Table {
    let mut logging: Vec<Cell> = vec!["logging policy".into()];
    for column in columns {
        let ([ours, error], paper) = (column.logged, Some(PAPER_LOGGING[column.kind.column()]));
        logging.push(Value { ours, error: Some(error), paper, paper_error: None }.into());
    }
    let mut rows = vec![logging];
    for (e, (estimator, _)) in ESTIMATORS.iter().enumerate() {
        for (c, (class, _)) in CLASSES.iter().enumerate() {
            let mut row: Vec<Cell> = vec![format!("{estimator}, {class}").into()];
            for column in columns {
                let printed = |t: &Printed| Some(t[column.kind.column()][e][c]).filter(|v| v.is_finite());
                row.push(match shown(column, found, e, c) {
                    Some([ours, error]) => {
                        Value { ours, error: Some(error), paper: printed(&PAPER), paper_error: printed(&PAPER_ERROR) }
                            .into()
                    }
                    None if search::takes(column.kind, class) => "none passes".into(),
                    None => "\u{2013}".into(),
                });
            }
            rows.push(row);
        }
    }
    let head = [""].into_iter().chain(columns.iter().map(|c| c.kind.printed())).map(String::from).collect();
    Table { caption: caption.into(), head, rows }
}

/// The twin of CoCoA: what the test rows say of the chosen policies, beside the truth.
fn twin(columns: &[Column], found: &[Found]) -> Table {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for set in columns.iter().filter(|c| c.kind == Kind::Cocoa).flat_map(|c| &c.sets) {
        for (e, (estimator, _)) in ESTIMATORS.iter().enumerate() {
            for (c, (class, _)) in CLASSES.iter().enumerate() {
                let name = format!("{estimator}, {class}");
                let Some((worth, t)) = found[index(*set, e, c)].and_then(|w| Some((w, w.tested?))) else {
                    rows.push([&name, "none passes", "", "", "", ""].map(Cell::from).into());
                    continue;
                };
                let cell = |[ours, error]: [f64; 2]| Value { ours, error: Some(error), ..Value::default() }.into();
                let said = |verdict: Verdict| match verdict {
                    Verdict::Deploy => "deploy",
                    Verdict::Promising => "promising",
                    Verdict::Keep => "keep",
                    Verdict::Invalid => "invalid",
                };
                rows.push(vec![
                    name.into(),
                    cell(t.truth),
                    cell(worth.shown),
                    cell(t.gain),
                    format!("{} (p = {:.4})", said(t.verdict), t.p_value).into(),
                    said(t.by_the_paper).into(),
                ]);
            }
        }
    }
    Table {
        caption: format!(
            "CoCoA twin: the policies of the first table. The rule that wrote the log is worth {COCOA_REWARD}; the error of the truth is \
             over contexts, which are the same for all"
        ),
        head: ["", "truth", "SNIPS on test", "gain over the log, paired", "certificate", "the paper's rule"]
            .map(String::from)
            .into(),
        rows,
    }
}

#[cfg(test)]
mod tests;
