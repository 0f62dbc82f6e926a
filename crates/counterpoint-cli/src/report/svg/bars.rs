//! Histograms, densities and the gauge.

use super::super::histogram::Histogram;
use super::super::words;
use super::{Anchor, Canvas, Caption, Frame, Scale, TILE, WIDTH, range};

/// Importance weights: bins of equal width in the logarithm, a line at one.
pub(crate) fn weights(histogram: &Histogram, caption: Caption<'_>) -> Option<String> {
    let total = histogram.total();
    let bins: Vec<(f64, f64, f64)> = histogram.bins().filter(|b| b.0 > 0.0).collect();
    let (low, high) = range(bins.iter().flat_map(|b| [b.0, b.1]))?;
    let most = bins.iter().map(|b| b.2 / total).fold(0.0, f64::max);
    if most.is_nan() || most <= 0.0 {
        return None;
    }
    let height = 250.0;
    let frame = Frame::of(height);
    let mut canvas = Canvas::new(WIDTH, height);
    let x = Scale::log((low, high), frame.left, frame.right);
    let y = Scale::linear((0.0, 105.0 * most), frame.bottom, frame.top);
    frame.axes(&mut canvas, (&x, "importance weight (log scale)"), (&y, "% of rows"));
    for (low, high, mass) in &bins {
        let (left, right, top) = (x.at(*low), x.at(*high), y.at(100.0 * mass / total));
        let tip = format!(
            "weight {} to {}\n{} rows, {}",
            words::short(*low),
            words::short(*high),
            words::count(*mass),
            words::percent(mass / total)
        );
        canvas.rect("fill-policy bar", (left + 0.5, top), (right - left - 1.0, frame.bottom - top), None);
        canvas.rect("hit", (left, frame.top), (right - left, frame.bottom - frame.top), Some(&tip));
    }
    if x.holds(1.0) {
        canvas.line("reference", (x.at(1.0), frame.top - 4.0), (x.at(1.0), frame.bottom));
        canvas.text("note", Anchor::Middle, (x.at(1.0), frame.top - 9.0), "1: as in the log");
    }
    Some(canvas.finish(caption))
}

/// One or two distributions over the same axis, each as a density (its area is one).
pub(crate) fn densities(series: &[(&str, &str, &Histogram)], name: &str, caption: Caption<'_>) -> Option<String> {
    let series: Vec<_> = series.iter().filter(|(_, _, h)| h.total() > 0.0).collect();
    let ends = range(series.iter().flat_map(|(_, _, h)| h.bins().flat_map(|b| [b.0, b.1])))?;
    let height = 250.0;
    let frame = Frame::of(height);
    let mut canvas = Canvas::new(WIDTH, height);
    let x = Scale::linear(ends, frame.left, frame.right);
    let density = |h: &Histogram, b: (f64, f64, f64)| b.2 / (h.total() * (b.1 - b.0));
    let most = range(series.iter().flat_map(|(_, _, h)| h.bins().map(|b| density(h, b))))?.1;
    let y = Scale::linear((0.0, 1.05 * most), frame.bottom, frame.top);
    frame.axes(&mut canvas, (&x, name), (&y, "density"));
    for (class, _, h) in &series {
        let mut steps = vec![(x.at(h.edges[0]), frame.bottom)];
        for b in h.bins() {
            let top = y.at(density(h, b));
            steps.extend([(x.at(b.0), top), (x.at(b.1), top)]);
        }
        steps.push((x.at(h.edges[h.edges.len() - 1]), frame.bottom));
        canvas.path(&format!("fill-{class} area"), &steps);
        canvas.path(&format!("line-{class}"), &steps);
    }
    for b in series[0].2.bins() {
        let middle = (b.0 + b.1) / 2.0;
        let mut tip = format!("{name} {} to {}", words::short(b.0), words::short(b.1));
        for (_, label, h) in &series {
            if let Some(bin) = h.bins().find(|b| b.0 <= middle && middle < b.1) {
                tip += &format!("\n{label}: {} of rows", words::percent(bin.2 / h.total()));
            }
        }
        canvas.rect("hit", (x.at(b.0), frame.top), (x.at(b.1) - x.at(b.0), frame.bottom - frame.top), Some(&tip));
    }
    let names: Vec<(String, &str)> = series.iter().map(|(class, label, _)| (format!("fill-{class}"), *label)).collect();
    let names: Vec<(&str, &str)> = names.iter().map(|(class, label)| (class.as_str(), *label)).collect();
    frame.legend(&mut canvas, &names);
    Some(canvas.finish(caption))
}

/// What a gauge is read against.
#[derive(Clone, Copy)]
pub(crate) enum Against {
    /// A mark that must be reached; the bar is good or bad by it.
    Floor(f64),
    /// The length of the whole track.
    Whole(f64),
}

/// A bar from nought to `value`.
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
