//! The page's charts with their words: each function takes a part of the report and gives a figure, or nothing.

use super::svg::{self, Against, Caption, Line, Lines, Panel, Row, Upward};
use super::words::{self, count, fixed, number, percent, short, signed};
use super::{ActionView, Better, ContextView, CostCurves, Decision, Interval, Lift, Report, Seen, Weights};
use minijinja::Value;
use serde::Serialize;

/// A chart under its heading, with a sentence on how to read it.
#[derive(Serialize)]
pub(crate) struct Figure {
    pub(super) title: String,
    pub(super) chart: Value,
    pub(super) legend: Vec<Key>,
    pub(super) words: String,
}

/// An entry of a legend below a chart.
#[derive(Serialize)]
pub(crate) struct Key {
    pub(super) class: String,
    pub(super) name: String,
}

/// A figure with its small chart and a sentence.
#[derive(Serialize)]
pub(crate) struct Tile {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) unit: String,
    pub(super) standing: &'static str,
    pub(super) chart: Option<Value>,
    pub(super) words: String,
}

/// What the weights of one part of the log say.
#[derive(Serialize)]
pub(crate) struct Overlap {
    part: String,
    rows: String,
    tiles: Vec<Tile>,
    figure: Option<Figure>,
    facts: Vec<(String, String)>,
}

pub(super) fn figure(title: String, chart: String, words: String) -> Figure {
    Figure { title, chart: Value::from_safe_string(chart), legend: Vec::new(), words }
}

/// How the difference may be coloured: good or bad only where it is certain, and never where the checks failed.
pub(crate) fn standing(l: &Lift, r: &Report) -> &'static str {
    let invalid = r.verdict.as_ref().is_some_and(|v| v.decision == Decision::Invalid);
    let (higher, lower) = (l.difference.low > 0.0, l.difference.high < 0.0);
    match r.outcome.better {
        _ if invalid || !(higher || lower) => "plain",
        Better::Higher if higher => "good",
        Better::Lower if lower => "good",
        _ => "bad",
    }
}

/// "0.810 [0.798, 0.822]"
fn said(i: Interval, d: usize, write: impl Fn(f64, usize) -> String) -> String {
    if i.low.is_finite() && i.high.is_finite() {
        format!("{} [{}, {}]", write(i.value, d), write(i.low, d), write(i.high, d))
    } else {
        write(i.value, d)
    }
}

/// Log, policy and difference.
pub(crate) fn lift(l: &Lift, r: &Report) -> Option<Figure> {
    let d = words::decimals(l.difference.half());
    let row = |name: &str, class, interval| Row { name: name.into(), class, interval, said: said(interval, d, fixed) };
    let mut rows = vec![row("log", "log", l.log), row("policy", "policy", l.policy)];
    rows.extend(l.others.iter().map(|o| row(&o.name, "policy", o.interval)));
    let class = match standing(l, r) {
        "plain" => "log",
        certain => certain,
    };
    let difference =
        Row { name: "difference".into(), class, interval: l.difference, said: said(l.difference, d, signed) };
    let panels = [
        Panel { rows, axis: format!("{} per row", r.outcome.name), reference: None, tolerated: None },
        Panel { rows: vec![difference], axis: "policy minus log".into(), reference: Some(0.0), tolerated: None },
    ];
    let level = words::level(l.confidence);
    let description = format!(
        "{} of the log {}, of the policy {}, difference {}.",
        r.outcome.name,
        said(l.log, d, fixed),
        said(l.policy, d, fixed),
        said(l.difference, d, signed)
    );
    let caption = Caption { title: "Log, policy and difference with intervals", description: &description };
    let words = format!(
        "Estimates on {} rows of the {} part with {level} intervals. The difference is measured row by row, so its interval is \
         not the gap between the two above it.",
        count(l.rows),
        l.part
    );
    Some(figure("Lift".into(), svg::forest(&panels, svg::WIDTH, caption)?, words))
}

/// Tiles and histogram of the weights.
pub(crate) fn overlap(w: &Weights) -> Overlap {
    let below = w.histogram.as_ref().filter(|h| h.total() > 0.0).map_or(0.0, |h| h.below / h.total());
    let words = match below {
        0.0 => String::new(),
        share => format!("{} of rows have weights too small to be drawn.", percent(share)),
    };
    let description = format!(
        "Histogram of importance weights on a logarithmic axis; mean {}, effective rows {} of {}.",
        number(w.mean.value),
        count(w.effective),
        count(w.rows)
    );
    let caption = Caption { title: "Importance weights", description: &description };
    let chart = w.histogram.as_ref().and_then(|h| svg::weights(h, caption));
    Overlap {
        part: w.part.clone(),
        rows: count(w.rows),
        tiles: vec![effective_tile(w), mean_tile(w), largest_tile(w)],
        figure: chart.map(|c| figure(format!("Importance weights, {} part", w.part), c, words)),
        facts: w.facts.iter().map(|f| (f.name.clone(), f.value.clone())).collect(),
    }
}

fn effective_tile(w: &Weights) -> Tile {
    let (standing, verdict) = match w.floor {
        Some(floor) if w.effective < floor => ("bad", format!("Under the floor of {}.", count(floor))),
        Some(floor) => ("good", format!("The floor is {}.", count(floor))),
        None => ("plain", String::new()),
    };
    let against = w.floor.map_or(Against::Whole(w.rows), Against::Floor);
    let description = format!("{} effective rows. {verdict}", count(w.effective));
    let caption = Caption { title: "Effective rows against the floor", description: &description };
    Tile {
        name: "Effective rows".into(),
        value: count(w.effective),
        unit: format!("of {} ({})", count(w.rows), percent(w.effective / w.rows)),
        standing,
        chart: svg::gauge(w.effective, against, caption).map(Value::from_safe_string),
        words: format!("As many equally weighted rows would say as much. {verdict}"),
    }
}

fn mean_tile(w: &Weights) -> Tile {
    let d = words::decimals(w.mean.half()).max(2);
    let off = w.mean_tolerance.map(|t| (w.mean.value - 1.0).abs() > t);
    let description = said(w.mean, d, fixed);
    let row = Row { name: String::new(), class: "policy", interval: w.mean, said: String::new() };
    let tolerated = w.mean_tolerance.map(|t| (1.0 - t, 1.0 + t));
    let panel = Panel { rows: vec![row], axis: String::new(), reference: Some(1.0), tolerated };
    let caption = Caption { title: "Mean weight with its interval", description: &description };
    let bound = w.mean_tolerance.map(|t| format!(" Accepted: {} to {}.", short(1.0 - t), short(1.0 + t)));
    Tile {
        name: "Mean weight".into(),
        value: fixed(w.mean.value, d),
        unit: format!("[{}, {}]", fixed(w.mean.low, d), fixed(w.mean.high, d)),
        standing: match off {
            Some(true) => "bad",
            Some(false) => "good",
            None => "plain",
        },
        chart: svg::forest(&[panel], svg::TILE, caption).map(Value::from_safe_string),
        words: format!(
            "Should be near 1. If not, propensities are wrong or the policy leaves the log\u{2019}s actions.{}",
            bound.unwrap_or_default()
        ),
    }
}

fn largest_tile(w: &Weights) -> Tile {
    let description = format!("The largest weight is {} of the sum of weights.", percent(w.largest_share));
    let caption = Caption { title: "Share of the largest weight, in percent of the sum", description: &description };
    Tile {
        name: "Largest weight".into(),
        value: percent(w.largest_share),
        unit: "of the sum of weights".into(),
        standing: "plain",
        chart: svg::gauge(100.0 * w.largest_share, Against::Whole(100.0), caption).map(Value::from_safe_string),
        words: format!("One row carries this much of the estimate. An even share would be {}.", percent(1.0 / w.rows)),
    }
}

/// Logged against new actions.
pub(crate) fn action(a: &ActionView) -> Option<Figure> {
    let mut series = vec![("log", "logged", &a.logged)];
    series.extend(a.policy.as_ref().map(|p| ("policy", "policy", p)));
    let caption = Caption {
        title: &format!("Distribution of {}", a.action),
        description: "Densities of the action in the log and under the policy, over the same contexts.",
    };
    let words = match a.policy {
        Some(_) => "What was done and what the policy would do in the same contexts. Where the policy acts and the log hardly did, \
                    the estimate rests on few rows."
            .into(),
        None => "What was done.".to_string(),
    };
    Some(figure(format!("Distribution of {}", a.action), svg::densities(&series, &a.action, caption)?, words))
}

/// The predicted outcome over the action.
pub(crate) fn curves(c: &CostCurves, outcome: &str) -> Option<Figure> {
    let lines: Vec<Line> = (0..)
        .zip(&c.curves)
        .map(|(i, curve)| Line {
            name: curve.context.clone(),
            class: format!("{}", i % 6),
            points: curve.points.clone(),
            acts: Some([curve.mean, curve.std]),
            ..Line::default()
        })
        .collect();
    let name = format!("predicted {outcome}");
    let chart = Lines { lines: &lines, x: &c.action, y: &name, height: 280.0, upward: Upward::Linear };
    let title = format!("Predicted {outcome} over {}", c.action);
    let caption = Caption {
        title: &title,
        description: "One line a typical context; the dot is the policy's mean action there, the thick stretch one std either side.",
    };
    let words = format!(
        "One line a typical context. The dot is the policy\u{2019}s mean action there, the thick stretch one std either side. \
         Predicted by {}; a picture of what was learned, not evidence for it.",
        c.predicted_by
    );
    let legend = lines.iter().map(|l| Key { class: format!("fill-{}", l.class), name: l.name.clone() }).collect();
    Some(Figure { legend, ..figure(title.clone(), svg::lines(&chart, caption)?, words) })
}

/// The learned mean against one context.
pub(crate) fn context(c: &ContextView) -> Option<Figure> {
    let title = format!("{} against {}", c.action, c.context);
    let y = format!("mean {}", c.action);
    let description = format!("The policy's mean {} against {}.", c.action, c.context);
    let caption = Caption { title: &title, description: &description };
    match &c.seen {
        Seen::Numeric { rows, curve } => {
            let line = Line {
                class: "policy".into(),
                points: curve.iter().map(|b| [b.x, b.value]).collect(),
                band: curve.iter().map(|b| [b.x, b.low, b.high]).collect(),
                dots: rows.clone(),
                ..Line::default()
            };
            let chart = Lines { lines: &[line], x: &c.context, y: &y, height: 230.0, upward: Upward::Linear };
            Some(figure(title.clone(), svg::lines(&chart, caption)?, String::new()))
        }
        Seen::Categorical { levels } => {
            let d = words::decimals(levels.iter().map(|l| l.mean.half()).fold(f64::INFINITY, f64::min));
            let rows = levels.iter().map(|l| Row {
                name: l.name.clone(),
                class: "policy",
                interval: l.mean,
                said: format!("{} ({} rows)", fixed(l.mean.value, d), count(l.rows)),
            });
            let panel = Panel { rows: rows.collect(), axis: y, reference: None, tolerated: None };
            Some(figure(title.clone(), svg::forest(&[panel], svg::WIDTH, caption)?, String::new()))
        }
    }
}
