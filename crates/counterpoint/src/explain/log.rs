//! A log and what it can support: the data of the page about a log.

use super::detail::without_small_cells;
use super::provenance::propensity;
use super::{ActionHistograms, ENDS, Histogram, OutcomeColumn, Part, Provenance, action_histograms};
use crate::certify::Interval;
use crate::data::Log;
use crate::describe::{ColumnFacts, Description, Reach};
use serde::{Deserialize, Serialize};

/// Where fewer outcomes than this share are not zero, those are what is shown.
const SPARSE: f64 = 0.5;

/// Everything that the page about a log can show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogReport {
    /// "What is in log.parquet?"
    pub title: String,
    /// What came of the actions.
    pub outcome: OutcomeColumn,
    /// Rows.
    pub rows: f64,
    /// Mean outcome with its 95% interval.
    pub mean: Interval,
    /// Share of rows whose outcome is not 0.
    pub nonzero: f64,
    /// Of the outcomes, or of those that are not 0 where few are.
    pub outcomes: Histogram,
    /// One entry per action column.
    pub actions: Vec<ActionHistograms>,
    /// Are the propensities densities?
    pub propensities: PropensityView,
    /// Contexts, actions, outcome.
    pub columns: Vec<ColumnView>,
    /// How many of the columns are contexts; they come first.
    pub contexts: usize,
    /// How far a policy may move.
    pub support: SupportView,
    /// What to look at before believing anything.
    pub warnings: Vec<String>,
    /// Where the figures come from.
    pub provenance: Provenance,
}

/// Are the propensities densities?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PropensityView {
    /// 1/p over the central range of actions; should hold 1.
    pub integral: Interval,
    /// Whether they are believable.
    pub plausible: bool,
    /// How they were estimated, in words; empty if they were logged.
    pub estimated: String,
    /// Of log10 p.
    pub histogram: Histogram,
}

/// A column in figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnView {
    /// Its name.
    pub name: String,
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub std: f64,
    /// Smallest, 1%, 25%, 50%, 75%, 99%, largest.
    pub quantiles: [f64; 7],
}

/// n_eff / n over the mean of a policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SupportView {
    /// The action.
    pub action: String,
    /// The least n_eff / n that is believed.
    pub floor: f64,
    /// One per std.
    pub lines: Vec<SupportLine>,
}

/// One std of a policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SupportLine {
    /// As a share of the logged std.
    pub std: f64,
    /// (mean, n_eff / n).
    pub points: Vec<[f64; 2]>,
    /// Between which means it stays above the floor.
    pub supported: Option<[f64; 2]>,
}

/// Computes everything that the page about a log shows, from the log and what [`describe`](crate::describe()) said of it.
pub fn explain_log(log: &Log, name: &str, facts: &Description) -> LogReport {
    let outcome = &facts.outcome;
    let columns = facts.contexts.iter().chain(&facts.actions).chain([outcome]).map(column).collect();
    let rows = vec![Part { name: "all".into(), rows: facts.rows as f64 }];
    LogReport {
        title: format!("What is in {name}?"),
        outcome: OutcomeColumn::of(log),
        rows: facts.rows as f64,
        mean: Interval::around(outcome.mean, outcome.std / facts.total_weight.sqrt(), 0.95),
        nonzero: facts.nonzero,
        outcomes: outcomes(log, facts),
        actions: action_histograms(log, None, 0)
            .into_iter()
            .map(|a| ActionHistograms { logged: without_small_cells(&a.logged), ..a })
            .collect(),
        propensities: propensities(log, facts),
        columns,
        contexts: facts.contexts.len(),
        support: support(&facts.reach, &log.schema().actions[0]),
        warnings: facts.warnings.clone(),
        provenance: Provenance { parts: rows, ..Provenance::of(log, name) },
    }
}

fn column(c: &ColumnFacts) -> ColumnView {
    ColumnView { name: c.name.clone(), mean: c.mean, std: c.std, quantiles: c.quantiles }
}

fn support(reach: &Reach, action: &str) -> SupportView {
    let lines = reach.lines.iter().map(|l| SupportLine {
        std: l.std,
        points: l.points.iter().map(|p| [p.0, p.1]).collect(),
        supported: l.supported.map(|s| [s.0, s.1]),
    });
    SupportView { action: action.into(), floor: reach.floor, lines: lines.collect() }
}

/// A histogram of (value, row weight) pairs whose ends leave out a few extreme values.
fn histogram<I: Iterator<Item = (f64, f64)>>(rows: usize, values: impl Fn() -> I) -> Histogram {
    let step = rows.div_ceil(ENDS).max(1);
    let mut h = Histogram::of_most(values().step_by(step).map(|v| v.0).collect());
    values().for_each(|(v, w)| h.add(v, w));
    without_small_cells(&h)
}

fn outcomes(log: &Log, facts: &Description) -> Histogram {
    let direction = log.schema().direction;
    let sparse = facts.nonzero < SPARSE;
    histogram(log.rows(), || {
        let all = log.blocks().iter().flat_map(|b| b.y.iter().zip(&b.omega));
        all.filter(move |(y, _)| !sparse || **y != 0.0).map(move |(y, w)| (direction.to_user(*y), *w))
    })
}

fn propensities(log: &Log, facts: &Description) -> PropensityView {
    let p = &facts.propensity;
    let estimated = match facts.propensities.estimated() {
        Some(_) => format!("They were not logged but {}.", propensity(log)),
        None => String::new(),
    };
    PropensityView {
        integral: Interval::around(p.ratio, p.std_error, 0.95),
        plausible: p.plausible,
        estimated,
        histogram: histogram(log.rows(), || {
            let all = log.blocks().iter().flat_map(|b| b.log_p.iter().zip(&b.omega));
            all.map(|(l, w)| (l * std::f64::consts::LOG10_E, *w))
        }),
    }
}
