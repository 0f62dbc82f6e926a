//! The tables of Table 3.

use super::{OURS, Printed, ROWS, Record, Results, claims};
use crate::paper::dataset::Kind;
use crate::paper::dataset::cuts::Column;
use crate::paper::{Ask, Cell, Exhibit, Table, Value};

/// The names of the rows.
fn names() -> Vec<&'static str> {
    let ours = ["ours: CLP, scIPS, default recipe", "ours: CLP, scIPS, chosen from a grid"];
    ROWS.iter().map(|r| r.1).chain(ours).collect()
}

pub(super) fn exhibit(ask: &Ask, results: &Results) -> Exhibit {
    let mut value = each(results, "Test reward of what each method puts to work", |row, column| {
        let paper = ROWS.get(row).map_or(Some(OURS), |r| r.2).map(|p| p[column.kind.column()]);
        results.value(row, column).map(|ours| beside(ours, paper))
    });
    let logged = results.columns.iter().map(|c| beside(c.logged, None));
    value.rows.push([Cell::from("the log")].into_iter().chain(logged).collect());
    let judged = each(
        results,
        "Test reward of the policy that was judged offline, noise included; its SNIPS on unseen rows before the test; n_eff/n",
        |row, column| all(results, row, column).map(|records| judged(column, &records).into()),
    );
    let hindsight =
        each(results, "Test reward of the best settings of the grid in hindsight: what the offline choice costs", {
            |row, column| results.hindsight(row, column).map(|ours| beside(ours, None))
        });
    let mut picks = each(
        results,
        "Settings chosen; on Warfarin for one test quarter after the other, repetitions left out",
        |row, column| {
            let mut settings: Vec<String> = all(results, row, column)?.iter().map(|r| short(&r.settings)).collect();
            settings.dedup();
            Some(settings.join("; ").into())
        },
    );
    picks.rows.truncate(ROWS.len());
    Exhibit {
        about: claims::about(),
        tables: if ask.quick() { vec![value, judged] } else { vec![value, plain(results), judged, hindsight, picks] },
        pictures: vec![],
        claims: claims::all(results),
        notes: claims::notes(ask, results),
    }
}

/// The methods that may take richer maps here, held to linear ones, on the sets where all of their grid is tried.
fn plain(results: &Results) -> Table {
    let columns: Vec<&Column> = results.columns.iter().filter(|c| matches!(c.kind, Kind::Potential(_))).collect();
    let rows = ROWS.iter().enumerate().filter(|(_, r)| ["dm", "sdm", "o-learning"].contains(&r.0));
    let cells = |(row, (_, name, paper)): (usize, &(&str, &str, Option<Printed>))| {
        let cell = |c: &&Column| {
            let ours = results.plain(row, c).map(|ours| beside(ours, paper.map(|p| p[c.kind.column()])));
            ours.unwrap_or_else(|| "none passes".into())
        };
        [Cell::from(*name)].into_iter().chain(columns.iter().map(cell)).collect()
    };
    Table {
        caption: "The same choice among context maps that are linear only, O-learning keeping all rewards: how much the richer settings add"
            .into(),
        head: ["method"].into_iter().chain(columns.iter().map(|c| c.kind.printed())).map(String::from).collect(),
        rows: rows.map(cells).collect(),
    }
}

/// A table with a row for each method and a column for each log.
fn each(results: &Results, caption: &str, cell: impl Fn(usize, &Column) -> Option<Cell>) -> Table {
    let head =
        ["method"].into_iter().chain(results.columns.iter().map(|c| c.kind.printed())).map(String::from).collect();
    let row = |(row, name): (usize, &'static str)| {
        let cells = results.columns.iter().map(|c| cell(row, c).unwrap_or_else(|| "none passes".into()));
        [Cell::from(name)].into_iter().chain(cells).collect()
    };
    Table { caption: caption.into(), head, rows: names().into_iter().enumerate().map(row).collect() }
}

/// A rival's settings as `ridge 0.001, map linear`.
pub(super) fn short(settings: &str) -> String {
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(settings).unwrap_or_default();
    let words = fields.iter().filter(|(name, _)| *name != "rival").map(|(name, value)| {
        let value = value.as_object().and_then(|o| o.values().next()).unwrap_or(value);
        format!("{} {}", name, value.as_str().map_or_else(|| value.to_string(), String::from))
    });
    words.collect::<Vec<_>>().join(", ")
}

/// The chosen fits of a column; nothing unless there is one on every set.
fn all<'a>(results: &'a Results, row: usize, column: &Column) -> Option<Vec<&'a Record>> {
    column.sets.iter().map(|&s| results.chosen(row, s)).collect()
}

/// Value; estimate and its error; n_eff/n: the middle of all cuts of all sets, with the error of a single cut.
fn judged(column: &Column, records: &[&Record]) -> String {
    let seen: Vec<_> = records.iter().flat_map(|r| &r.seen).collect();
    let mean = |f: &dyn Fn(usize) -> f64| (0..seen.len()).map(f).sum::<f64>() / seen.len() as f64;
    let value = records.iter().filter_map(|r| r.judged).map(|v| v[0]).sum::<f64>() / column.sets.len() as f64;
    let (snips, error) = (-mean(&|i| seen[i].snips), mean(&|i| seen[i].std_error));
    format!("{value:.4}; {snips:.4} \u{b1} {error:.4}; {:.3}", mean(&|i| seen[i].effective / seen[i].rows))
}

fn beside([ours, error]: [f64; 2], paper: Option<(f64, f64)>) -> Cell {
    let printed = |v: f64| Some(v).filter(|v| v.is_finite());
    let (paper, paper_error) = (paper.and_then(|p| printed(p.0)), paper.and_then(|p| printed(p.1)));
    Value { ours, error: Some(error), paper, paper_error }.into()
}
