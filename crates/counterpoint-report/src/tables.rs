//! The page's tables. A cell has its text and a key to sort by, so that the script need not read numbers back from words.

use super::words::{self, count, fixed, percent};
use counterpoint::certify::Interval;
use counterpoint::data::Outcome;
use counterpoint::explain::{ColumnView, EstimatorRow, EstimatorTable, Leaderboard, PolicyReport, SupportView, Tried};
use serde::Serialize;

/// Headings and rows.
#[derive(Serialize)]
pub(crate) struct Table {
    heads: Vec<Head>,
    rows: Vec<TableRow>,
}

#[derive(Serialize)]
struct Head {
    name: String,
    number: bool,
}

#[derive(Serialize)]
struct TableRow {
    chosen: bool,
    cells: Vec<Cell>,
}

#[derive(Serialize)]
struct Cell {
    text: String,
    key: String,
    number: bool,
}

/// A number in words; its key is all of it.
fn figure(value: Option<f64>, write: impl Fn(f64) -> String) -> Cell {
    match value.filter(|v| v.is_finite()) {
        Some(v) => Cell { text: write(v), key: format!("{v:?}"), number: true },
        None => Cell { text: "\u{2013}".into(), key: String::new(), number: true },
    }
}

fn text(value: &str, number: bool) -> Cell {
    Cell { text: value.into(), key: value.into(), number }
}

fn heads(names: impl IntoIterator<Item = String>, row: Option<&TableRow>) -> Vec<Head> {
    let numbers = row.map(|r| r.cells.iter().map(|c| c.number).collect::<Vec<_>>()).unwrap_or_default();
    (0..).zip(names).map(|(i, name)| Head { name, number: numbers.get(i).copied().unwrap_or(false) }).collect()
}

/// Decimals that suit a whole column of standard errors.
fn column_decimals(errors: impl Iterator<Item = f64>) -> usize {
    words::decimals(errors.filter(|e| e.is_finite() && *e > 0.0).fold(f64::INFINITY, f64::min))
}

/// Every estimator that could answer, side by side.
pub(crate) fn estimators(t: &EstimatorTable, outcome: &str) -> Table {
    let answers = || t.estimators.iter().filter_map(|e| e.answer.map(|i| (e, i)));
    let d = column_decimals(answers().map(|(_, i)| i.std_error));
    let row = |name: &str, i: Interval, share: Option<f64>, mean_weight: Option<f64>| TableRow {
        chosen: false,
        cells: vec![
            text(name, false),
            figure(Some(i.estimate), |v| fixed(v, d)),
            figure(Some(i.lower), |v| fixed(v, d)),
            figure(Some(i.upper), |v| fixed(v, d)),
            figure(Some(i.std_error), |v| fixed(v, d)),
            figure(share, percent),
            figure(mean_weight, |v| fixed(v, 3)),
        ],
    };
    let answered = |(e, i): (&EstimatorRow, Interval)| row(spelled(&e.name), i, e.effective_share, e.mean_weight);
    let rows: Vec<TableRow> = answers().map(answered).chain([row("the log itself", t.logged, None, None)]).collect();
    let names = ["estimator", outcome, "lower 95%", "upper 95%", "std error", "n_eff / n", "mean weight"];
    Table { heads: heads(names.map(String::from), rows.first()), rows }
}

/// An estimator's name as practitioners write it.
fn spelled(name: &str) -> &str {
    match name {
        "snips" => "self-normalised inverse propensity (SNIPS)",
        "ips" => "inverse propensity (IPS)",
        "clipped" => "clipped IPS",
        "soft-clipped" => "soft-clipped IPS",
        "power-mean" => "power-mean IPS",
        "direct" => "direct method (loss model)",
        "doubly-robust" => "doubly robust (DR)",
        "self-normalised-dr" => "self-normalised DR",
        "switch" => "SWITCH",
        "cab" => "CAB",
        "cab-dr" => "CAB-DR",
        other => other,
    }
}

/// All recipes that were tried.
pub(crate) fn leaderboard(l: &Leaderboard) -> Table {
    let d = column_decimals(l.rows.iter().filter_map(|t| t.std_error));
    let numeric = |i: usize| l.rows.iter().all(|t| t.settings.get(i).is_none_or(|s| s.parse::<f64>().is_ok()));
    let row = |(i, t): (usize, &Tried)| {
        let mut cells = vec![figure(Some((i + 1) as f64), count)];
        for (j, _) in l.settings.iter().enumerate() {
            cells.push(text(t.settings.get(j).map_or("", String::as_str), numeric(j)));
        }
        cells.push(figure(t.estimate, |v| fixed(v, d)));
        cells.push(figure(t.std_error, |v| fixed(v, d)));
        cells.push(figure(t.effective, count));
        cells.push(figure(t.mean_weight, |v| fixed(v, 3)));
        cells.push(text(&t.state, false));
        TableRow { chosen: t.chosen, cells }
    };
    let rows: Vec<TableRow> = l.rows.iter().enumerate().map(row).collect();
    let names = ["rank"].into_iter().map(String::from).chain(l.settings.iter().cloned());
    let names = names.chain(["estimate", "std error", "n_eff", "mean weight", "state"].map(String::from));
    Table { heads: heads(names, rows.first()), rows }
}

/// What the leaderboard is a list of.
pub(crate) fn leaderboard_words(l: &Leaderboard, r: &PolicyReport) -> String {
    let best = match r.outcome.direction {
        Outcome::Reward => "highest",
        Outcome::Cost => "lowest",
    };
    format!(
        "{} recipes, compared on the {} part by estimated {} ({best} first). The rows behind the verdict played no part in \
         this choice.",
        count(l.rows.len() as f64),
        l.part,
        r.outcome.name
    )
}

/// Columns in figures.
pub(crate) fn columns(all: &[ColumnView]) -> Table {
    let row = |c: &ColumnView| {
        let figures = [c.mean, c.std].into_iter().chain([0, 1, 3, 5, 6].map(|i| c.quantiles[i]));
        let cells = figures.map(|v| figure(Some(v), words::number));
        TableRow { chosen: false, cells: [text(&c.name, false)].into_iter().chain(cells).collect() }
    };
    let rows: Vec<TableRow> = all.iter().map(row).collect();
    let names = ["column", "mean", "std", "min", "1%", "median", "99%", "max"];
    Table { heads: heads(names.map(String::from), rows.first()), rows }
}

/// Between which means each std stays above the floor.
pub(crate) fn reach(s: &SupportView) -> Table {
    let rows: Vec<TableRow> = s
        .lines
        .iter()
        .map(|l| {
            let best = l.points.iter().map(|p| p[1]).filter(|v| v.is_finite()).reduce(f64::max);
            let cells = vec![
                figure(Some(l.std), words::short),
                figure(l.supported.map(|r| r[0]), words::number),
                figure(l.supported.map(|r| r[1]), words::number),
                figure(best, percent),
            ];
            TableRow { chosen: false, cells }
        })
        .collect();
    let names = ["std / logged std", "from", "to", "best n_eff / n"];
    Table { heads: heads(names.map(String::from), rows.first()), rows }
}
