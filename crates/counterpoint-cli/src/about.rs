//! Fills the page about a log from what the library said of it.

use crate::say;
use crate::story::propensity;
use counterpoint::data::{Outcome as Direction, write_text};
use counterpoint::features::anchors::quantile_sorted;
use counterpoint::{ColumnFacts, Description, Log, Result};
use counterpoint_report::*;
use std::path::Path;

/// Rows from which the ends of the axes are taken.
const SAMPLE: usize = 20_000;

/// Writes the page, whole or not at all.
pub(crate) fn write(path: &Path, log: &Log, name: &str, facts: &Description) -> Result<()> {
    write_text(path, &about(log, name, facts).html())?;
    say::line(format_args!("\nwrote the report to {}", path.display()));
    Ok(())
}

fn about(log: &Log, name: &str, facts: &Description) -> LogReport {
    let schema = log.schema();
    let better = if schema.direction == Direction::Reward { Better::Higher } else { Better::Lower };
    let half = 1.96 * facts.outcome.std / facts.total_weight.sqrt();
    let mean = facts.outcome.mean;
    let columns = facts.contexts.iter().chain(&facts.actions).chain([&facts.outcome]).map(column).collect();
    let fact = |name: &str, value: String| Fact { name: name.into(), value };
    LogReport {
        title: format!("What is in {name}?"),
        outcome: Outcome { name: schema.outcome.clone(), better },
        rows: facts.rows as f64,
        mean: Interval { value: mean, low: mean - half, high: mean + half },
        nonzero: facts.nonzero,
        outcomes: outcomes(log, facts),
        actions: actions(log),
        propensities: propensities(log, facts),
        columns,
        contexts: facts.contexts.len(),
        support: SupportView {
            action: schema.actions[0].clone(),
            floor: facts.reach.floor,
            lines: facts
                .reach
                .lines
                .iter()
                .map(|l| SupportLine {
                    std: l.std,
                    points: l.points.iter().map(|p| [p.0, p.1]).collect(),
                    supported: l.supported.map(|s| [s.0, s.1]),
                })
                .collect(),
        },
        warnings: facts.warnings.clone(),
        provenance: Provenance {
            version: env!("CARGO_PKG_VERSION").into(),
            parts: vec![Part { name: "all".into(), rows: facts.rows as f64 }],
            files: vec![SourceFile { name: name.into(), fingerprint: String::new() }],
            facts: vec![
                fact("contexts", schema.contexts.join(", ")),
                fact("actions", schema.actions.join(", ")),
                fact("outcome", schema.outcome.clone()),
                fact("propensity", propensity(log)),
                fact("rows dropped", log.dropped().rows.to_string()),
            ],
            ..Provenance::default()
        },
    }
}

fn column(c: &ColumnFacts) -> ColumnView {
    ColumnView { name: c.name.clone(), mean: c.mean, std: c.std, quantiles: c.quantiles }
}

/// A histogram whose ends leave out a few extreme values.
fn histogram(mut sample: Vec<f64>, values: impl Iterator<Item = (f64, f64)>) -> Histogram {
    sample.sort_by(f64::total_cmp);
    let ends =
        if sample.is_empty() { (0.0, 0.0) } else { (quantile_sorted(&sample, 0.001), quantile_sorted(&sample, 0.995)) };
    let mut h = Histogram::linear(ends.0, ends.1, 60);
    values.for_each(|(v, w)| h.add(v, w));
    h
}

fn actions(log: &Log) -> Vec<ActionView> {
    let (_, sample) = log.thin(SAMPLE);
    let q = log.q();
    let view = |(c, action): (usize, &String)| {
        let values = log.blocks().iter().flat_map(|b| b.a[c].iter().copied().zip(b.omega.iter().copied()));
        let logged = histogram(sample.iter().skip(c).step_by(q).copied().collect(), values);
        ActionView { action: action.clone(), logged, policy: None }
    };
    log.schema().actions.iter().enumerate().map(view).collect()
}

/// Of all outcomes; of those that are not 0 where few are.
fn outcomes(log: &Log, facts: &Description) -> Histogram {
    let direction = log.schema().direction;
    let sparse = facts.nonzero < 0.5;
    let values = || {
        let all = log.blocks().iter().flat_map(|b| b.y.iter().zip(&b.omega));
        all.filter(move |(y, _)| !sparse || **y != 0.0).map(move |(y, w)| (direction.to_user(*y), *w))
    };
    let step = log.rows().div_ceil(SAMPLE).max(1);
    histogram(values().step_by(step).map(|v| v.0).collect(), values())
}

fn propensities(log: &Log, facts: &Description) -> PropensityView {
    let p = &facts.propensity;
    let half = 1.96 * p.std_error;
    let values = || {
        let all = log.blocks().iter().flat_map(|b| b.log_p.iter().zip(&b.omega));
        all.map(|(l, w)| (l * std::f64::consts::LOG10_E, *w))
    };
    let step = log.rows().div_ceil(SAMPLE).max(1);
    let estimated = match facts.propensities.estimated() {
        Some(_) => format!("They were not logged but {}.", propensity(log)),
        None => String::new(),
    };
    PropensityView {
        integral: Interval { value: p.ratio, low: p.ratio - half, high: p.ratio + half },
        plausible: p.plausible,
        estimated,
        histogram: histogram(values().step_by(step).map(|v| v.0).collect(), values()),
    }
}
