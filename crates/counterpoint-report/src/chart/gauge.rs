//! The gauge: one bar on a track, read against a floor or a whole.

use super::canvas::{Anchor, Canvas, Caption};
use super::scale::Scale;

/// Width of a chart inside a tile.
pub(crate) const TILE: f64 = 300.0;

/// What a gauge is read against.
#[derive(Clone, Copy)]
pub(crate) enum Against {
    /// A mark that must be reached; the bar is good or bad by it.
    Floor(f64),
    /// The length of the whole track.
    Whole(f64),
}

/// A bar from zero to `value`.
pub(crate) fn gauge(value: f64, against: Against, caption: Caption<'_>) -> Option<String> {
    let (Against::Floor(measure) | Against::Whole(measure)) = against;
    if !(value.is_finite() && value >= 0.0 && measure.is_finite() && measure > 0.0) {
        return None;
    }
    let (left, right, top, thick) = (14.0, TILE - 14.0, 24.0, 16.0);
    let (most, class) = match against {
        Against::Floor(floor) if value < floor => (1.8 * floor, "fill-bad"),
        Against::Floor(floor) => ((1.8 * floor).max(1.15 * value), "fill-good"),
        Against::Whole(whole) => (whole, "fill-policy"),
    };
    let x = Scale::linear((0.0, most), left, right);
    let mut canvas = Canvas::new(TILE, 74.0);
    canvas.rect("track", (left, top), (right - left, thick), None);
    canvas.rect(class, (left, top), (x.at(value) - left, thick), None);
    if let Against::Floor(floor) = against {
        let at = x.at(floor);
        canvas.line("mark", (at, top - 6.0), (at, top + thick + 6.0));
        canvas.text("note", Anchor::Middle, (at.clamp(36.0, TILE - 36.0), top - 10.0), "floor");
    }
    for (v, label) in x.ticks(4) {
        canvas.text("tick", Anchor::Middle, (x.at(v).clamp(18.0, TILE - 18.0), top + thick + 20.0), &label);
    }
    Some(canvas.finish(caption))
}
