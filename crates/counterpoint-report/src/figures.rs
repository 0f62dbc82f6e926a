//! The page's charts with their words: each function takes a part of the report and gives a figure, or nothing.

use super::chart::{self, Against, Axis, Caption, Mark, Panel, Picture, Row, Series, Sheet, Strip, Tone};
use super::words::{self, count, fixed, number, percent, short, signed};
use counterpoint::certify::{Interval, Verdict};
use counterpoint::data::Outcome;
use counterpoint::explain::{
    ActionHistograms, Dependence, Histogram, Level, Lift, OutcomeCurve, OutcomeCurves, PartWeights, PolicyReport, Shape,
};
use minijinja::Value;
use serde::Serialize;

/// A chart under its heading, with a sentence on how to read it.
#[derive(Serialize)]
pub(crate) struct Figure {
    pub(super) title: String,
    pub(super) chart: Value,
    pub(super) words: String,
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
    clusters: bool,
    tiles: Vec<Tile>,
    figure: Option<Figure>,
    facts: Vec<(String, String)>,
}

pub(super) fn figure(title: String, chart: String, words: String) -> Figure {
    Figure { title, chart: Value::from_safe_string(chart), words }
}

/// A picture of a card under its own title; nothing if there is nothing to draw.
pub(super) fn drawn(picture: &Picture, height: f64, words: String) -> Option<Figure> {
    Some(figure(picture.title.clone(), picture.svg(&Sheet::card(height))?, words))
}

/// How the difference may be coloured: good or bad only where it is certain, and never where the checks failed.
pub(crate) fn standing(l: &Lift, r: &PolicyReport) -> &'static str {
    let invalid = r.verdict.as_ref().is_some_and(|v| v.decision == Verdict::Invalid);
    let (higher, lower) = (l.difference.lower > 0.0, l.difference.upper < 0.0);
    match r.outcome.direction {
        _ if invalid || !(higher || lower) => "plain",
        Outcome::Reward if higher => "good",
        Outcome::Cost if lower => "good",
        _ => "bad",
    }
}

/// "0.810 [0.798, 0.822]"
fn said(i: Interval, d: usize, write: impl Fn(f64, usize) -> String) -> String {
    if i.lower.is_finite() && i.upper.is_finite() {
        format!("{} [{}, {}]", write(i.estimate, d), write(i.lower, d), write(i.upper, d))
    } else {
        write(i.estimate, d)
    }
}

/// Log, policy and difference.
pub(crate) fn lift(l: &Lift, r: &PolicyReport) -> Option<Figure> {
    let d = words::decimals(words::half(&l.difference));
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
    Some(figure("Lift".into(), chart::forest(&panels, chart::WIDTH, caption)?, words))
}

/// Tiles and histogram of the weights.
pub(crate) fn overlap(w: &PartWeights) -> Overlap {
    let below = w.histogram.as_ref().filter(|h| h.total() > 0.0).map_or(0.0, |h| h.below / h.total());
    let words = match below {
        0.0 => String::new(),
        share => format!("{} of rows have weights too small to be drawn.", percent(share)),
    };
    let description = format!(
        "Histogram of importance weights on a logarithmic axis; mean {}, effective rows {} of {}.",
        number(w.mean.estimate),
        count(w.effective),
        count(w.rows)
    );
    let picture = w.histogram.as_ref().map(|h| Picture {
        title: format!("Importance weights, {} part", w.part),
        description,
        ..weights(h)
    });
    Overlap {
        part: w.part.clone(),
        rows: count(w.rows),
        clusters: w.clusters,
        tiles: vec![effective_tile(w), mean_tile(w), largest_tile(w)],
        figure: picture.and_then(|p| drawn(&p, 180.0, words)),
        facts: w.facts.iter().map(|f| (f.name.clone(), f.value.clone())).collect(),
    }
}

/// Importance weights: bins of equal width in the logarithm, a line at one.
fn weights(h: &Histogram) -> Picture {
    let total = h.total();
    let bins: Vec<(f64, f64, f64)> = h.bins().filter(|b| b.0 > 0.0).collect();
    let share = |mass: f64| 100.0 * mass / total;
    let most = bins.iter().map(|b| share(b.2)).fold(0.0, f64::max);
    if most.is_nan() || most <= 0.0 {
        return Picture::default();
    }
    let bars = Series {
        mark: Mark::Bars,
        tone: Tone::Policy,
        points: bins.iter().map(|b| [(b.0 + b.1) / 2.0, share(b.2)]).collect(),
        spread: bins.iter().map(|b| b.1 - b.0).collect(),
        ..Series::default()
    };
    let one = Series {
        name: "1: as in the log".into(),
        mark: Mark::Guide,
        points: vec![[1.0, 0.0], [1.0, most]],
        ..Series::default()
    };
    let strip = |b: &(f64, f64, f64)| Strip {
        from: b.0,
        to: b.1,
        tip: format!("weight {} to {}\n{} rows, {}", short(b.0), short(b.1), count(b.2), percent(b.2 / total)),
    };
    Picture {
        x: Axis::log("importance weight (log scale)"),
        y: Axis::linear("% of rows"),
        series: vec![bars, one],
        strips: bins.iter().map(strip).collect(),
        ..Picture::default()
    }
}

fn effective_tile(w: &PartWeights) -> Tile {
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
        chart: chart::gauge(w.effective, against, caption).map(Value::from_safe_string),
        words: format!("As many equally weighted rows would say as much. {verdict}"),
    }
}

fn mean_tile(w: &PartWeights) -> Tile {
    let d = words::decimals(words::half(&w.mean)).max(2);
    let off = w.mean_tolerance.map(|t| (w.mean.estimate - 1.0).abs() > t);
    let description = said(w.mean, d, fixed);
    let row = Row { name: String::new(), class: "policy", interval: w.mean, said: String::new() };
    let tolerated = w.mean_tolerance.map(|t| (1.0 - t, 1.0 + t));
    let panel = Panel { rows: vec![row], axis: String::new(), reference: Some(1.0), tolerated };
    let caption = Caption { title: "Mean weight with its interval", description: &description };
    let bound = w.mean_tolerance.map(|t| format!(" Accepted: {} to {}.", short(1.0 - t), short(1.0 + t)));
    Tile {
        name: "Mean weight".into(),
        value: fixed(w.mean.estimate, d),
        unit: format!("[{}, {}]", fixed(w.mean.lower, d), fixed(w.mean.upper, d)),
        standing: match off {
            Some(true) => "bad",
            Some(false) => "good",
            None => "plain",
        },
        chart: chart::forest(&[panel], chart::TILE, caption).map(Value::from_safe_string),
        words: format!(
            "Should be near 1. If not, propensities are wrong or the policy leaves the log\u{2019}s actions.{}",
            bound.unwrap_or_default()
        ),
    }
}

fn largest_tile(w: &PartWeights) -> Tile {
    let description = format!("The largest weight is {} of the sum of weights.", percent(w.largest_share));
    let caption = Caption { title: "Share of the largest weight, in percent of the sum", description: &description };
    Tile {
        name: "Largest weight".into(),
        value: percent(w.largest_share),
        unit: "of the sum of weights".into(),
        standing: "plain",
        chart: chart::gauge(100.0 * w.largest_share, Against::Whole(100.0), caption).map(Value::from_safe_string),
        words: format!("One row carries this much of the estimate. An even share would be {}.", percent(1.0 / w.rows)),
    }
}

/// Logged against new actions.
pub(crate) fn action(a: &ActionHistograms) -> Option<Figure> {
    let mut all = vec![(Tone::Log, "logged", &a.logged)];
    all.extend(a.policy.as_ref().map(|p| (Tone::Policy, "policy", p)));
    let words = match a.policy {
        Some(_) => "What was done and what the policy would do in the same contexts. Where the policy acts and the log hardly did, \
                    the estimate rests on few rows."
            .into(),
        None => "What was done.".to_string(),
    };
    let picture = Picture {
        title: format!("Distribution of {}", a.action),
        description: "Densities of the action in the log and under the policy, over the same contexts.".into(),
        ..densities(&all, &a.action)
    };
    drawn(&picture, 180.0, words)
}

/// Distributions over the same axis, each as a density (its area is one).
pub(super) fn densities(all: &[(Tone, &str, &Histogram)], name: &str) -> Picture {
    let all: Vec<_> = all.iter().filter(|(_, _, h)| h.total() > 0.0).collect();
    let density = |h: &Histogram, b: &(f64, f64, f64)| b.2 / (h.total() * (b.1 - b.0));
    let area = |(tone, label, h): &&(Tone, &str, &Histogram)| Series {
        name: label.to_string(),
        mark: Mark::Area,
        tone: *tone,
        points: h.bins().flat_map(|b| [[b.0, density(h, &b)], [b.1, density(h, &b)]]).collect(),
        ..Series::default()
    };
    let strip = |b: (f64, f64, f64)| {
        let middle = (b.0 + b.1) / 2.0;
        let mut tip = format!("{name} {} to {}", short(b.0), short(b.1));
        for (_, label, h) in &all {
            if let Some(bin) = h.bins().find(|b| b.0 <= middle && middle < b.1) {
                tip += &format!("\n{label}: {} of rows", percent(bin.2 / h.total()));
            }
        }
        Strip { from: b.0, to: b.1, tip }
    };
    Picture {
        x: Axis::linear(name),
        y: Axis::linear("density"),
        series: all.iter().map(area).collect(),
        strips: all.first().map(|(_, _, h)| h.bins().map(strip).collect()).unwrap_or_default(),
        ..Picture::default()
    }
}

/// The predicted outcome over the action.
pub(crate) fn curves(c: &OutcomeCurves, outcome: &str) -> Option<Figure> {
    let how = "One line for the contexts of low, middling and high actions each; the dot is the policy\u{2019}s mean action there, the thick stretch one std either side.";
    let picture = Picture {
        title: format!("Predicted {outcome} over {}", c.action),
        description: how.into(),
        x: Axis::linear(&c.action),
        y: Axis::linear(&format!("predicted {outcome}")),
        series: c.curves.iter().flat_map(curve).collect(),
        ..Picture::default()
    };
    let words = format!("{how} Predicted by {}; a picture of what was learned, not evidence for it.", c.predicted_by);
    drawn(&picture, 210.0, words)
}

/// A curve, where the policy acts on it, and its mean there.
fn curve(c: &OutcomeCurve) -> [Series; 3] {
    let line = Series { name: c.context.clone(), points: c.points.clone(), ..Series::default() };
    let known: Vec<[f64; 2]> = c.points.iter().filter(|p| p.iter().all(|v| v.is_finite())).copied().collect();
    let at = |x: f64| chart::height_at(&known, x).map(|y| [x, y]);
    let std = c.std.unwrap_or(f64::NAN); // no stretch where it is not known
    let (low, high) = (c.mean - std, c.mean + std);
    let within = known.iter().filter(|p| low < p[0] && p[0] < high).copied();
    let stretch = at(low).into_iter().chain(within).chain(at(high)).collect();
    let part = |mark, points| Series { mark, points, ..Series { name: c.context.clone(), ..Series::default() } };
    [line, part(Mark::Stretch, stretch), part(Mark::Dots, at(c.mean).into_iter().collect())]
}

/// The learned mean against one context.
pub(crate) fn context(c: &Dependence) -> Option<Figure> {
    let title = format!("{} against {}", c.action, c.context);
    let y = format!("mean {}", c.action);
    let description = format!("The policy's mean {} against {}.", c.action, c.context);
    match &c.shape {
        Shape::Numeric { rows, curve } => {
            let dots = Series { mark: Mark::Dots, tone: Tone::Policy, points: rows.clone(), ..Series::default() };
            let line = Series {
                tone: Tone::Policy,
                points: curve.iter().map(|p| [p.x, p.mean]).collect(),
                band: curve.iter().map(|p| [p.lower, p.upper]).collect(),
                ..Series::default()
            };
            let (x, y) = (Axis::linear(&c.context), Axis::linear(&y));
            let picture = Picture { title, description, x, y, series: vec![dots, line], ..Picture::default() };
            drawn(&picture, 160.0, String::new())
        }
        Shape::Categorical { levels } => {
            let d = words::decimals(levels.iter().map(|l| words::half(&range_of(l))).fold(f64::INFINITY, f64::min));
            let rows = levels.iter().map(|l| Row {
                name: l.name.clone(),
                class: "policy",
                interval: range_of(l),
                said: format!("{} ({} rows)", fixed(l.mean, d), count(l.rows)),
            });
            let panel = Panel { rows: rows.collect(), axis: y, reference: None, tolerated: None };
            let caption = Caption { title: &title, description: &description };
            Some(figure(title.clone(), chart::forest(&[panel], chart::WIDTH, caption)?, String::new()))
        }
    }
}

/// A level's mean with the range of most rows.
fn range_of(l: &Level) -> Interval {
    Interval { estimate: l.mean, lower: l.lower, upper: l.upper, ..Interval::default() }
}
