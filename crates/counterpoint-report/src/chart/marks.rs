//! What is drawn: lines, dots, bars, areas, guides, each in the look of its class.

use super::canvas::{Canvas, place};
use super::look::{COLOURS, Look};
use super::picture::{Mark, Series};
use super::scale::Scale;
use crate::words;
use std::fmt::Write;

/// Dots of a series up to this many are elements with tooltips; more are one path.
const SINGLE: usize = 300;

type Scales<'a> = (&'a Scale, &'a Scale);

/// Draws a series as its mark says.
pub(super) fn draw(canvas: &mut Canvas, s: &Series, look: &Look, scales: Scales<'_>) {
    match s.mark {
        Mark::Bars => bars(canvas, s, look, scales),
        Mark::Area => area(canvas, s, look, scales),
        Mark::Guide => guide(canvas, s, look, scales),
        Mark::Line => line(canvas, s, look, scales),
        Mark::Stretch => stretch(canvas, s, look, scales),
        Mark::Dots => dots(canvas, s, look, scales),
    }
}

/// A line through the points with its band.
fn line(canvas: &mut Canvas, s: &Series, look: &Look, (x, y): Scales<'_>) {
    let colour = look.colour();
    if !s.spread.is_empty() || !s.band.is_empty() {
        let edge = |i: usize, side: usize| (x.at(s.points[i][0]), y.at(s.ends_at(i)[side]));
        let n = s.points.len();
        let round: Vec<(f64, f64)> = (0..n).map(|i| edge(i, 1)).chain((0..n).rev().map(|i| edge(i, 0))).collect();
        canvas.path(&format!("band fill-{colour}"), &round);
    }
    let points = places(s, (x, y));
    canvas.path(&format!("line-{colour} dash-{}", look.shape), &points);
    if look.beads {
        for (p, at) in s.points.iter().zip(&points) {
            let spread = s.spread.first().map(|_| 0.0);
            canvas.shape(&format!("bead fill-{colour}"), &shape(look.shape, *at, 3.6), &tip(s, p, spread));
        }
    }
}

/// Dots with error bars; a cloud of very many is one path, small and without tooltips.
fn dots(canvas: &mut Canvas, s: &Series, look: &Look, (x, y): Scales<'_>) {
    let colour = look.colour();
    let many = s.points.len() > SINGLE;
    if !s.spread.is_empty() {
        let mut d = String::new();
        for (p, e) in s.points.iter().zip(&s.spread).filter(|(_, e)| **e > 0.0) {
            let (at, low, high) = (x.at(p[0]), y.at(p[1] - e), y.at(p[1] + e));
            let _ = write!(d, "M{0} {1}V{2}", place(at), place(low), place(high));
            if !many {
                let _ = write!(d, "M{0} {2}h6M{0} {1}h6", place(at - 3.0), place(low), place(high));
            }
        }
        if !d.is_empty() {
            canvas.shape(&format!("bar-of-error line-{colour}"), &d, &s.name);
        }
    }
    if many {
        let mut d = String::new();
        for p in &s.points {
            let _ = write!(d, "M{} {}h0", place(x.at(p[0])), place(y.at(p[1])));
        }
        let cap = if look.shape.is_multiple_of(2) { "round" } else { "square" };
        let tip = format!("{}\n{} points", s.name, words::count(s.points.len() as f64));
        canvas.shape(&format!("cloud {cap} line-{colour}"), &d, tip.trim());
        return;
    }
    for (i, p) in s.points.iter().enumerate() {
        let at = (x.at(p[0]), y.at(p[1]));
        let size = if s.points.len() > 80 { 3.2 } else { 4.4 };
        canvas.shape(
            &format!("spot fill-{colour}"),
            &shape(look.shape, at, size),
            &tip(s, p, s.spread.get(i).copied()),
        );
    }
}

/// Upright bars.
fn bars(canvas: &mut Canvas, s: &Series, look: &Look, (x, y): Scales<'_>) {
    let widths = widths(s);
    let class = format!("bar fill-{0} line-{0}", look.colour());
    for (p, w) in s.points.iter().zip(widths) {
        let (left, right) = (x.at(p[0] - w / 2.0), x.at(p[0] + w / 2.0));
        let (one, other) = (y.at(p[1]), y.at(if y.low > 0.0 { y.low } else { 0.0 }));
        let (top, bottom) = (one.min(other), one.max(other));
        canvas.rect(&class, (left, top), (right - left, bottom - top), Some(&tip(s, p, None)));
    }
}

/// The widths of bars: as given, or most of the smallest gap.
pub(super) fn widths(s: &Series) -> Vec<f64> {
    if s.mark == Mark::Bars && !s.spread.is_empty() {
        return s.spread.clone();
    }
    let mut xs: Vec<f64> = s.points.iter().map(|p| p[0]).collect();
    xs.sort_by(f64::total_cmp);
    let gap = xs.windows(2).map(|w| w[1] - w[0]).filter(|g| *g > 0.0).fold(f64::INFINITY, f64::min);
    vec![if gap.is_finite() { 0.8 * gap } else { 0.8 }; s.points.len()]
}

/// A line, and the area between it and 0.
fn area(canvas: &mut Canvas, s: &Series, look: &Look, (x, y): Scales<'_>) {
    let colour = look.colour();
    let foot = y.at(y.low.max(0.0));
    let points = places(s, (x, y));
    let ends = [points.first(), points.last()].map(|p| p.map(|p| (p.0, foot)));
    let round: Vec<(f64, f64)> = ends[0].into_iter().chain(points).chain(ends[1]).collect();
    canvas.path(&format!("area fill-{colour}"), &round);
    canvas.path(&format!("line-{colour}"), &round);
}

/// A thick stretch of a line.
fn stretch(canvas: &mut Canvas, s: &Series, look: &Look, scales: Scales<'_>) {
    canvas.path(&format!("stretch line-{}", look.colour()), &places(s, scales));
}

/// A thin line for the eye.
fn guide(canvas: &mut Canvas, s: &Series, look: &Look, scales: Scales<'_>) {
    canvas.path(&format!("guide guide-{}", look.shape), &places(s, scales));
}

fn places(s: &Series, (x, y): Scales<'_>) -> Vec<(f64, f64)> {
    s.points.iter().map(|p| (x.at(p[0]), y.at(p[1]))).collect()
}

/// The mark as it stands in the legend, from `left` over `wide`; a line has a bead there if it has beads.
pub(super) fn swatch(canvas: &mut Canvas, mark: Mark, look: &Look, (left, middle): (f64, f64), wide: f64) {
    let colour = look.colour();
    let ends = ((left, middle), (left + wide, middle));
    let centre = (left + wide / 2.0, middle);
    match mark {
        Mark::Stretch => canvas.line(&format!("stretch line-{colour}"), ends.0, ends.1),
        Mark::Line => {
            canvas.line(&format!("line-{colour} dash-{}", look.shape), ends.0, ends.1);
            if look.beads {
                canvas.shape(&format!("bead fill-{colour}"), &shape(look.shape, centre, 3.6), "");
            }
        }
        Mark::Guide => canvas.line(&format!("guide guide-{}", look.shape), ends.0, ends.1),
        Mark::Bars | Mark::Area => {
            canvas.rect(&format!("bar fill-{colour} line-{colour}"), (centre.0 - 6.0, middle - 6.0), (12.0, 12.0), None)
        }
        Mark::Dots => canvas.shape(&format!("spot fill-{colour}"), &shape(look.shape, centre, 4.6), ""),
    }
}

fn tip(s: &Series, p: &[f64; 2], spread: Option<f64>) -> String {
    let name = if s.name.is_empty() { String::new() } else { format!("{}\n", s.name) };
    let error = spread.filter(|e| *e > 0.0).map(|e| format!(" \u{b1} {}", words::short(e))).unwrap_or_default();
    format!("{name}{}, {}{error}", words::short(p[0]), words::short(p[1]))
}

/// A closed shape of radius r: disc, square, triangle, diamond, triangle upside down, cross, star, slab.
fn shape(kind: usize, (x, y): (f64, f64), r: f64) -> String {
    let corners = |points: &[(f64, f64)]| {
        let mut d = String::new();
        for (i, (dx, dy)) in points.iter().enumerate() {
            let _ = write!(d, "{}{} {}", if i == 0 { 'M' } else { 'L' }, place(x + r * dx), place(y + r * dy));
        }
        d + "Z"
    };
    let (s, w) = (0.85, 0.36);
    match kind % COLOURS {
        1 => corners(&[(-s, -s), (s, -s), (s, s), (-s, s)]),
        2 => corners(&[(0.0, -1.15), (1.05, 0.75), (-1.05, 0.75)]),
        3 => corners(&[(0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0)]),
        4 => corners(&[(0.0, 1.15), (1.05, -0.75), (-1.05, -0.75)]),
        5 => corners(&[
            (-w, -1.1),
            (w, -1.1),
            (w, -w),
            (1.1, -w),
            (1.1, w),
            (w, w),
            (w, 1.1),
            (-w, 1.1),
            (-w, w),
            (-1.1, w),
            (-1.1, -w),
            (-w, -w),
        ]),
        6 => corners(&[
            (-1.15, 0.0),
            (-0.3, -0.3),
            (0.0, -1.15),
            (0.3, -0.3),
            (1.15, 0.0),
            (0.3, 0.3),
            (0.0, 1.15),
            (-0.3, 0.3),
        ]),
        7 => corners(&[(-1.2, -0.5), (1.2, -0.5), (1.2, 0.5), (-1.2, 0.5)]),
        _ => format!(
            "M{0} {1}a{2} {2} 0 1 0 {3} 0a{2} {2} 0 1 0 -{3} 0Z",
            place(x - r),
            place(y),
            place(r),
            place(2.0 * r)
        ),
    }
}
