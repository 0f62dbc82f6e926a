//! The page about a log: what it holds and which policies it can support.
//!
//! Like [`Report`](super::Report) it is plain data that becomes one sealed file; it shares head, foot, style and charts
//! with it.

use super::chart::{self, Axis, Caption, Panel, Picture, Row, Series, Tone};
use super::figures::{Figure, Tile, action, densities, drawn, figure};
use super::tables::{self, Table};
use super::words::{self, count, fixed, number, percent};
use super::{ActionView, Better, Histogram, Interval, Outcome, Provenance, page, view};
use serde::Serialize;

/// Everything the page can show.
#[derive(Clone, Debug, Serialize)]
pub struct LogReport {
    /// "What is in log.parquet?"
    pub title: String,
    /// What came of the actions.
    pub outcome: Outcome,
    /// Rows.
    pub rows: f64,
    /// Mean outcome with its interval.
    pub mean: Interval,
    /// Share of rows whose outcome is not 0.
    pub nonzero: f64,
    /// Of the outcomes, or of those that are not 0 where few are.
    pub outcomes: Histogram,
    /// One entry per action column.
    pub actions: Vec<ActionView>,
    /// Are the propensities densities?
    pub propensities: PropensityView,
    /// Contexts, actions, outcome.
    pub columns: Vec<ColumnView>,
    /// The contexts among them.
    pub contexts: usize,
    /// How far a policy may move.
    pub support: SupportView,
    /// What to look at before believing anything.
    pub warnings: Vec<String>,
    /// Where the figures come from.
    pub provenance: Provenance,
}

/// Are the propensities densities?
#[derive(Clone, Debug, Serialize)]
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
#[derive(Clone, Debug, Serialize)]
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
#[derive(Clone, Debug, Serialize)]
pub struct SupportView {
    /// The action.
    pub action: String,
    /// The least n_eff / n that is believed.
    pub floor: f64,
    /// One per std.
    pub lines: Vec<SupportLine>,
}

/// One std of a policy.
#[derive(Clone, Debug, Serialize)]
pub struct SupportLine {
    /// As a share of the logged std.
    pub std: f64,
    /// (mean, n_eff / n).
    pub points: Vec<[f64; 2]>,
    /// Between which means it stays above the floor.
    pub supported: Option<[f64; 2]>,
}

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

impl LogReport {
    /// The page: one self-contained file.
    pub fn html(&self) -> String {
        page(include_str!("log.html"), "", &self.view(), Some(self))
    }

    fn view(&self) -> View {
        let direction = if self.outcome.better == Better::Higher { "higher" } else { "lower" };
        View {
            title: self.title.clone(),
            lead: format!("{} logged rows. Outcome: {}, {direction} is better.", count(self.rows), self.outcome.name),
            tiles: vec![self.outcome_tile(), self.sparsity_tile(), self.propensity_tile()],
            warnings: self.warnings.clone(),
            support: self.support_figure(),
            reach: tables::reach(&self.support),
            distributions: self.distributions(),
            ranges: self.ranges(),
            columns: tables::columns(&self.columns),
            provenance: view::provenance(&self.provenance),
            version: self.provenance.version.clone(),
        }
    }

    fn outcome_tile(&self) -> Tile {
        let d = words::decimals(self.mean.half());
        Tile {
            name: format!("Mean {}", self.outcome.name),
            value: fixed(self.mean.value, d),
            unit: format!("[{}, {}]", fixed(self.mean.low, d), fixed(self.mean.high, d)),
            standing: "plain",
            chart: None,
            words: "What the logging policy had; a new policy is compared with this.".into(),
        }
    }

    fn sparsity_tile(&self) -> Tile {
        let caption = Caption { title: "Share of outcomes that are not zero", description: &percent(self.nonzero) };
        Tile {
            name: format!("{} not zero", self.outcome.name),
            value: percent(self.nonzero),
            unit: "of rows".into(),
            standing: "plain",
            chart: chart::gauge(100.0 * self.nonzero, chart::Against::Whole(100.0), caption)
                .map(minijinja::Value::from_safe_string),
            words: "Where few rows have an outcome, few rows decide.".into(),
        }
    }

    fn propensity_tile(&self) -> Tile {
        let p = &self.propensities;
        let row = Row { name: String::new(), class: "policy", interval: p.integral, said: String::new() };
        let panel = Panel { rows: vec![row], axis: String::new(), reference: Some(1.0), tolerated: Some((0.9, 1.1)) };
        let description = format!("The propensities integrate to {}; should be 1.", number(p.integral.value));
        let caption = Caption { title: "Integral of the propensities", description: &description };
        Tile {
            name: if p.estimated.is_empty() { "Propensities" } else { "Propensities (estimated)" }.into(),
            value: fixed(p.integral.value, 3),
            unit: format!("[{}, {}]", fixed(p.integral.low, 3), fixed(p.integral.high, 3)),
            standing: if p.plausible { "good" } else { "bad" },
            chart: chart::forest(&[panel], chart::TILE, caption).map(minijinja::Value::from_safe_string),
            words: format!(
                "The mean of 1/p over the central range of actions, divided by its length: 1 if they are densities. {}",
                p.estimated
            ),
        }
    }

    /// Effective rows over the mean of a policy, one line per std, with the floor.
    fn support_figure(&self) -> Option<Figure> {
        let s = &self.support;
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
    fn distributions(&self) -> Vec<Figure> {
        let mut out: Vec<Figure> = self.actions.iter().filter_map(action).collect();
        let one = |h: &Histogram, name: &str, words: String| {
            let (title, description) = (format!("Distribution of {name}"), words.clone());
            let picture = Picture { title, description, ..densities(&[(Tone::Log, "logged", h)], name) };
            drawn(&picture, 180.0, words)
        };
        let name = &self.outcome.name;
        out.extend(if self.nonzero < 0.5 {
            let words = format!("Of the {} of rows where it is not zero.", percent(self.nonzero));
            one(&self.outcomes, name, words)
        } else {
            one(&self.outcomes, name, "What came of it.".into())
        });
        let words =
            "Small propensities make large weights: a long tail to the left is where estimates become uncertain.";
        out.extend(one(&self.propensities.histogram, "log10 of the propensity", words.into()));
        out
    }

    /// Contexts on one axis, each in its own standard deviations.
    fn ranges(&self) -> Option<Figure> {
        let rows = self.columns.iter().take(self.contexts.min(RANGES)).filter(|c| c.std > 0.0).map(|c| {
            let z = |v: f64| (v - c.mean) / c.std;
            Row {
                name: words::cut(&c.name, 16),
                class: "log",
                interval: Interval { value: z(c.quantiles[3]), low: z(c.quantiles[1]), high: z(c.quantiles[5]) },
                said: format!("{} to {}", words::short(c.quantiles[1]), words::short(c.quantiles[5])),
            }
        });
        let rows: Vec<Row> = rows.collect();
        if rows.is_empty() {
            return None;
        }
        let panel =
            Panel { rows, axis: "standard deviations from the mean".into(), reference: Some(0.0), tolerated: None };
        let caption = Caption {
            title: "Ranges of the contexts",
            description: "Median and 1% to 99% range of each context in its own standard deviations.",
        };
        let mut words = "Median, and the range from 1% to 99% of the rows.".to_string();
        if self.contexts > RANGES {
            words += &format!(" The first {RANGES} of {}; all stand in the table.", self.contexts);
        }
        Some(figure("Ranges of the contexts".into(), chart::forest(&[panel], chart::WIDTH, caption)?, words))
    }
}
