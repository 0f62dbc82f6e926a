//! The forest plot: one row per figure, its interval as a whisker, the numbers beside it.

use super::canvas::{Anchor, Canvas, Caption};
use super::layout::Frame;
use super::scale::{Scale, padded, range};
use crate::words;
use counterpoint::certify::Interval;

/// A figure with its interval.
pub(crate) struct Row {
    pub(crate) name: String,
    /// End of a class name: `policy`, `log`, `good`, `bad`.
    pub(crate) class: &'static str,
    pub(crate) interval: Interval,
    /// The numbers in words, written at the right.
    pub(crate) said: String,
}

/// Rows that share an axis.
pub(crate) struct Panel {
    pub(crate) rows: Vec<Row>,
    pub(crate) axis: String,
    /// A value to compare with, drawn as a line: 0 for a difference, 1 for a mean weight.
    pub(crate) reference: Option<f64>,
    /// A range that is all right, drawn as a band.
    pub(crate) tolerated: Option<(f64, f64)>,
}

const ROW: f64 = 30.0;
const FOOT: f64 = 32.0;
const AXIS_NAME: f64 = 18.0;

/// The panels one below the other in a chart of this width, or nothing if no row has a finite value.
pub(crate) fn forest(panels: &[Panel], width: f64, caption: Caption<'_>) -> Option<String> {
    let drawn = |r: &&Row| r.interval.estimate.is_finite();
    let panels: Vec<&Panel> = panels.iter().filter(|p| p.rows.iter().any(|r| drawn(&r))).collect();
    let rows: usize = panels.iter().map(|p| p.rows.iter().filter(drawn).count()).sum();
    if rows == 0 {
        return None;
    }
    let height = 6.0 + ROW * rows as f64 + panels.iter().map(|p| foot(p)).sum::<f64>();
    let mut canvas = Canvas::new(width, height);
    let widest =
        |text: &dyn Fn(&Row) -> usize| panels.iter().flat_map(|p| &p.rows).map(text).max().unwrap_or(0).min(24) as f64;
    let (left, right) = (
        16.0 + 6.8 * widest(&|r| r.name.chars().count().min(18)),
        width - 14.0 - 6.6 * widest(&|r| r.said.chars().count()),
    );
    let mut top = 6.0;
    for panel in panels {
        let rows: Vec<&Row> = panel.rows.iter().filter(drawn).collect();
        let bottom = top + ROW * rows.len() as f64;
        let frame = Frame { left, right, top, bottom };
        draw(&mut canvas, panel, &rows, (&frame, width))?;
        top = bottom + foot(panel);
    }
    Some(canvas.finish(caption))
}

/// The room that a panel's axis needs below its rows.
fn foot(panel: &Panel) -> f64 {
    if panel.axis.is_empty() { FOOT } else { FOOT + AXIS_NAME }
}

fn draw(canvas: &mut Canvas, panel: &Panel, rows: &[&Row], (frame, width): (&Frame, f64)) -> Option<()> {
    let (tolerated, reference) = (panel.tolerated.into_iter().flat_map(|t| [t.0, t.1]), panel.reference);
    let figures = rows.iter().flat_map(|r| [r.interval.lower, r.interval.estimate, r.interval.upper]);
    let x = Scale::linear(padded(range(figures.chain(tolerated).chain(reference))?, 0.08), frame.left, frame.right);
    let (top, bottom) = (frame.top, frame.bottom);
    if let Some((low, high)) = panel.tolerated {
        canvas.rect("tolerated", (x.at(low), top), (x.at(high) - x.at(low), bottom - top), None);
    }
    canvas.line("axis", (frame.left, bottom), (frame.right, bottom));
    for (v, label) in x.ticks(4) {
        canvas.line("grid", (x.at(v), top), (x.at(v), bottom));
        canvas.text("tick", Anchor::Middle, (x.at(v), bottom + 16.0), &label);
    }
    if let Some(v) = reference {
        canvas.line("reference", (x.at(v), top), (x.at(v), bottom));
    }
    canvas.text("axis-name", Anchor::Middle, ((frame.left + frame.right) / 2.0, bottom + 33.0), &panel.axis);
    for (i, row) in rows.iter().enumerate() {
        let y = top + ROW * (i as f64 + 0.5);
        let Interval { estimate: value, lower: low, upper: high, .. } = row.interval;
        canvas.text("row-name", Anchor::Start, (4.0, y + 4.5), &words::cut(&row.name, 18));
        if low.is_finite() && high.is_finite() {
            let class = format!("whisker line-{}", row.class);
            canvas.line(&class, (x.at(low), y), (x.at(high), y));
            for end in [low, high] {
                canvas.line(&class, (x.at(end), y - 5.0), (x.at(end), y + 5.0));
            }
        }
        canvas.circle(&format!("centre fill-{}", row.class), (x.at(value), y), 4.5);
        canvas.text("said", Anchor::End, (width - 4.0, y + 4.5), &row.said);
        canvas.rect("hit", (0.0, y - ROW / 2.0), (width, ROW), Some([row.name.as_str(), &row.said].join("\n").trim()));
    }
    Some(())
}
