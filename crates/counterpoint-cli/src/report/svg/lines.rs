//! Lines over one axis, with a band, scattered rows and the place where the policy acts.

use super::super::words;
use super::{Canvas, Caption, Frame, Scale, WIDTH, padded, range};

/// One line of a chart. All lists may be empty; what is not finite is left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// Ends of class names: `policy`, `log`, `0` to `5`.
    pub(crate) class: String,
    /// (x, y) in increasing x.
    pub(crate) points: Vec<[f64; 2]>,
    /// (x, low, high) in increasing x.
    pub(crate) band: Vec<[f64; 3]>,
    /// Rows, drawn as faint dots.
    pub(crate) dots: Vec<[f64; 2]>,
    /// Where the policy acts: (mean, std) along x.
    pub(crate) acts: Option<[f64; 2]>,
}

/// A chart of lines.
pub(crate) struct Lines<'a> {
    pub(crate) lines: &'a [Line],
    pub(crate) x: &'a str,
    pub(crate) y: &'a str,
    pub(crate) height: f64,
    pub(crate) upward: Upward,
}

/// The scale of the upward axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upward {
    Linear,
    /// For shares; heights under [`LOWEST`] are drawn there.
    Log,
}

/// The foot of a logarithmic axis.
const LOWEST: f64 = 1e-4;

/// How many strips along x have a tooltip.
const STRIPS: usize = 40;

/// The chart, or nothing if no line has a point.
pub(crate) fn lines(chart: &Lines<'_>, caption: Caption<'_>) -> Option<String> {
    let cleaned: Vec<Line> = chart.lines.iter().map(cleaned).collect();
    let xs = cleaned.iter().flat_map(|l| l.points.iter().chain(&l.dots).map(|p| p[0]));
    let ys = cleaned.iter().flat_map(|l| {
        let band = l.band.iter().flat_map(|b| [b[1], b[2]]);
        l.points.iter().chain(&l.dots).map(|p| p[1]).chain(band)
    });
    let (x, y) = (range(xs)?, range(ys)?);
    let frame = Frame::of(chart.height);
    let mut canvas = Canvas::new(WIDTH, chart.height);
    let x = Scale::linear(padded(x, 0.01), frame.left, frame.right);
    let y = match chart.upward {
        Upward::Linear => Scale::linear(padded(y, 0.06), frame.bottom, frame.top),
        Upward::Log => Scale::log((y.0.max(LOWEST), y.1.max(10.0 * LOWEST)), frame.bottom, frame.top),
    };
    frame.axes(&mut canvas, (&x, chart.x), (&y, chart.y));
    let spot = |p: &[f64; 2]| (x.at(p[0]), y.at(p[1]));
    for l in &cleaned {
        for dot in &l.dots {
            canvas.circle(&format!("dot fill-{}", l.class), spot(dot), 2.0);
        }
        if !l.band.is_empty() {
            let there = l.band.iter().map(|b| spot(&[b[0], b[2]]));
            let back = l.band.iter().rev().map(|b| spot(&[b[0], b[1]]));
            canvas.path(&format!("band fill-{}", l.class), &there.chain(back).collect::<Vec<_>>());
        }
    }
    for l in &cleaned {
        canvas.path(&format!("line-{}", l.class), &l.points.iter().map(spot).collect::<Vec<_>>());
    }
    for l in &cleaned {
        if let Some([mean, std]) = l.acts {
            acts(&mut canvas, l, (&x, &y), mean, std);
        }
    }
    strips(&mut canvas, &cleaned, (&frame, &x), chart);
    Some(canvas.finish(caption))
}

/// The stretch mean ± std drawn thick along the line, and a dot at the mean.
fn acts(canvas: &mut Canvas, l: &Line, (x, y): (&Scale, &Scale), mean: f64, std: f64) {
    let Some(at) = height_at(&l.points, mean) else { return };
    let ends = [mean - std, mean + std];
    let mut stretch: Vec<(f64, f64)> = Vec::new();
    let within = l.points.iter().filter(|p| ends[0] < p[0] && p[0] < ends[1]).copied();
    let ends = ends.map(|v| height_at(&l.points, v).map(|h| [v, h]));
    for p in ends[0].into_iter().chain(within).chain(ends[1]) {
        stretch.push((x.at(p[0]), y.at(p[1])));
    }
    canvas.path(&format!("acts line-{}", l.class), &stretch);
    canvas.circle(&format!("centre fill-{}", l.class), (x.at(mean), y.at(at)), 5.5);
}

/// Invisible strips, each with the values of all lines as its tooltip.
fn strips(canvas: &mut Canvas, lines: &[Line], (frame, x): (&Frame, &Scale), chart: &Lines<'_>) {
    let wide = (frame.right - frame.left) / STRIPS as f64;
    for i in 0..STRIPS {
        let at = x.value((i as f64 + 0.5) / STRIPS as f64);
        let values: Vec<String> = lines
            .iter()
            .filter_map(|l| {
                let name = if l.name.is_empty() { chart.y } else { &l.name };
                height_at(&l.points, at).map(|h| format!("\n{name}: {}", words::short(h)))
            })
            .collect();
        if !values.is_empty() {
            let tip = format!("{} {}{}", chart.x, words::short(at), values.concat());
            canvas.rect("hit", (frame.left + i as f64 * wide, frame.top), (wide, frame.bottom - frame.top), Some(&tip));
        }
    }
}

/// The line's height at x, linear between points; nothing beyond its ends.
fn height_at(points: &[[f64; 2]], x: f64) -> Option<f64> {
    let after = points.iter().position(|p| p[0] >= x)?;
    let [x1, y1] = points[after];
    if after == 0 || x1 == x {
        return (x1 == x).then_some(y1);
    }
    let [x0, y0] = points[after - 1];
    Some(y0 + (y1 - y0) * (x - x0) / (x1 - x0))
}

fn cleaned(l: &Line) -> Line {
    let finite = |p: &&[f64; 2]| p.iter().all(|v| v.is_finite());
    Line {
        points: l.points.iter().filter(finite).copied().collect(),
        dots: l.dots.iter().filter(finite).copied().collect(),
        band: l.band.iter().filter(|b| b.iter().all(|v| v.is_finite())).copied().collect(),
        acts: l.acts.filter(|a| a[0].is_finite() && a[1].is_finite() && a[1] >= 0.0),
        ..l.clone()
    }
}
