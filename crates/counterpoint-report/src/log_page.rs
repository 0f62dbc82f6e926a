//! The page about a log: what it holds and which policies it can support.
//!
//! It shares head, foot, style and charts with the page about a policy.

use super::chart::{self, Axis, Caption, Panel, Picture, Row, Series, Tone};
use super::figures::{Figure, Tile, action, densities, drawn, figure};
use super::tables::{self, Table};
use super::words::{self, count, fixed, number, percent};
use super::{page, view};
use counterpoint::certify::Interval;
use counterpoint::data::Outcome;
use counterpoint::explain::{Histogram, LogReport};
use serde::Serialize;

/// What the template is given.
#[derive(Serialize)]
struct View {
    title: String,
    lead: String,
    tiles: Vec<Tile>,
    warnings: Vec<String>,
    support: Option<Figure>,
    reach: Table,
    distributions: Vec<Figure>,
    ranges: Option<Figure>,
    columns: Table,
    provenance: Vec<(String, String)>,
    version: String,
}

/// How many contexts are drawn; the table has all.
const RANGES: usize = 24;

/// The foot of the logarithmic axis of shares; smaller shares are drawn there.
const LOWEST: f64 = 1e-4;

/// The page about a log: one self-contained file, the same bytes for the same data.
pub fn log_page(report: &LogReport) -> String {
    page(include_str!("log.html"), "", &view_of(report), Some(report))
}

fn view_of(r: &LogReport) -> View {
    let direction = if r.outcome.direction == Outcome::Reward { "higher" } else { "lower" };
    View {
        title: r.title.clone(),
        lead: format!("{} logged rows. Outcome: {}, {direction} is better.", count(r.rows), r.outcome.name),
        tiles: vec![outcome_tile(r), sparsity_tile(r), propensity_tile(r)],
        warnings: r.warnings.clone(),
        support: support_figure(r),
        reach: tables::reach(&r.support),
        distributions: distributions(r),
        ranges: ranges(r),
        columns: tables::columns(&r.columns),
        provenance: view::provenance(&r.provenance),
        version: r.provenance.version.clone(),
    }
}

fn outcome_tile(r: &LogReport) -> Tile {
    let d = words::decimals(words::half(&r.mean));
    Tile {
        name: format!("Mean {}", r.outcome.name),
        value: fixed(r.mean.estimate, d),
        unit: format!("[{}, {}]", fixed(r.mean.lower, d), fixed(r.mean.upper, d)),
        standing: "plain",
        chart: None,
        words: "What the logging policy had; a new policy is compared with this.".into(),
    }
}

fn sparsity_tile(r: &LogReport) -> Tile {
    let caption = Caption { title: "Share of outcomes that are not zero", description: &percent(r.nonzero) };
    Tile {
        name: format!("{} not zero", r.outcome.name),
        value: percent(r.nonzero),
        unit: "of rows".into(),
        standing: "plain",
        chart: chart::gauge(100.0 * r.nonzero, chart::Against::Whole(100.0), caption)
            .map(minijinja::Value::from_safe_string),
        words: "Where few rows have an outcome, few rows decide.".into(),
    }
}

fn propensity_tile(r: &LogReport) -> Tile {
    let p = &r.propensities;
    let row = Row { name: String::new(), class: "policy", interval: p.integral, said: String::new() };
    let panel = Panel { rows: vec![row], axis: String::new(), reference: Some(1.0), tolerated: Some((0.9, 1.1)) };
    let description = format!(
        "The propensities integrate to {}; should be 1, or less where the log keeps to a part of the range.",
        number(p.integral.estimate)
    );
    let caption = Caption { title: "Integral of the propensities", description: &description };
    Tile {
        name: if p.estimated.is_empty() { "Propensities" } else { "Propensities (estimated)" }.into(),
        value: fixed(p.integral.estimate, 3),
        unit: format!("[{}, {}]", fixed(p.integral.lower, 3), fixed(p.integral.upper, 3)),
        standing: if p.plausible { "good" } else { "bad" },
        chart: chart::forest(&[panel], chart::TILE, caption).map(minijinja::Value::from_safe_string),
        words: format!(
            "The mean of 1/p over the central range of actions, divided by its length: 1 if they are densities, less where the log keeps to a part of the range in each context. {}",
            p.estimated
        ),
    }
}

/// Effective rows over the mean of a policy, one line per std, with the floor.
fn support_figure(r: &LogReport) -> Option<Figure> {
    let s = &r.support;
    let mut series: Vec<Series> = s
        .lines
        .iter()
        .map(|l| Series {
            name: format!("std {} of the log\u{2019}s", words::short(l.std)),
            points: l.points.iter().map(|p| [p[0], if p[1] < LOWEST { LOWEST } else { p[1] }]).collect(),
            ..Series::default()
        })
        .collect();
    let ends = chart::range(s.lines.iter().flat_map(|l| l.points.iter().map(|p| p[0])))?;
    let floor = vec![[ends.0, s.floor], [ends.1, s.floor]];
    series.push(Series { name: "floor".into(), tone: Tone::Bad, points: floor, ..Series::default() });
    let picture = Picture {
        title: "How far a policy may go".into(),
        description:
            "Share of effective rows for normal policies as their mean moves over the logged actions, one line per \
                          std, and the floor under which no estimate is believed."
                .into(),
        x: Axis::linear(&format!("mean {} of the policy", s.action)),
        y: Axis::log("n_eff / n"),
        series,
        ..Picture::default()
    };
    let words = format!(
        "Where a line lies above the floor of {}, the log can say what a policy with that mean and std would have brought. \
             These policies ignore the contexts; one that follows them has its own share, which `evaluate` tells.",
        percent(s.floor)
    );
    drawn(&picture, 230.0, words)
}

/// Actions, outcomes, propensities.
fn distributions(r: &LogReport) -> Vec<Figure> {
    let mut out: Vec<Figure> = r.actions.iter().filter_map(action).collect();
    let one = |h: &Histogram, name: &str, words: String| {
        let (title, description) = (format!("Distribution of {name}"), words.clone());
        let picture = Picture { title, description, ..densities(&[(Tone::Log, "logged", h)], name) };
        drawn(&picture, 180.0, words)
    };
    let name = &r.outcome.name;
    out.extend(if r.nonzero < 0.5 {
        let words = format!("Of the {} of rows where it is not zero.", percent(r.nonzero));
        one(&r.outcomes, name, words)
    } else {
        one(&r.outcomes, name, "What came of it.".into())
    });
    let words = "Small propensities make large weights: a long tail to the left is where estimates become uncertain.";
    out.extend(one(&r.propensities.histogram, "log10 of the propensity", words.into()));
    out
}

/// Contexts on one axis, each in its own standard deviations.
fn ranges(r: &LogReport) -> Option<Figure> {
    let rows = r.columns.iter().take(r.contexts.min(RANGES)).filter(|c| c.std > 0.0).map(|c| {
        let z = |v: f64| (v - c.mean) / c.std;
        Row {
            name: words::cut(&c.name, 16),
            class: "log",
            interval: Interval {
                estimate: z(c.quantiles[3]),
                lower: z(c.quantiles[1]),
                upper: z(c.quantiles[5]),
                ..Interval::default()
            },
            said: format!("{} to {}", words::short(c.quantiles[1]), words::short(c.quantiles[5])),
        }
    });
    let rows: Vec<Row> = rows.collect();
    if rows.is_empty() {
        return None;
    }
    let panel = Panel { rows, axis: "standard deviations from the mean".into(), reference: Some(0.0), tolerated: None };
    let caption = Caption {
        title: "Ranges of the contexts",
        description: "Median and 1% to 99% range of each context in its own standard deviations.",
    };
    let mut words = "Median, and the range from 1% to 99% of the rows.".to_string();
    if r.contexts > RANGES {
        words += &format!(" The first {RANGES} of {}; all stand in the table.", r.contexts);
    }
    Some(figure("Ranges of the contexts".into(), chart::forest(&[panel], chart::WIDTH, caption)?, words))
}
