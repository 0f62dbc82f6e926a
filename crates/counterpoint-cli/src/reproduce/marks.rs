//! What is drawn: lines, dots, bars, guides, each in the look of its class.

use crate::report::svg::{Canvas, Scale, place};
use crate::report::words;
use counterpoint_lab::paper::{Mark, Series};
use std::fmt::Write;

/// Dots of a series up to this many are elements with tooltips; more are one path.
const SINGLE: usize = 300;
/// A line with at most this many points shows them.
const BEADS: usize = 24;
/// Colours, dashes and shapes there are; a ninth class takes the first colour with the next shape.
const COLOURS: usize = 8;

/// How a class looks: the ends of its class names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Of `fill-` and `line-`: a number, or `log` for grey.
    colour: Option<usize>,
    /// Of `dash-`, and the shape of dots.
    shape: usize,
    /// Whether its line shows its points.
    beads: bool,
}

impl Look {
    pub(crate) fn class(index: usize) -> Self {
        Look { colour: Some(index % COLOURS), shape: (index + index / COLOURS) % COLOURS, beads: false }
    }

    pub(crate) fn grey() -> Self {
        Look { colour: None, shape: 0, beads: false }
    }

    pub(crate) fn guide(index: usize) -> Self {
        Look { colour: None, shape: index % 4, beads: false }
    }

    /// The look for a series: a line of few points shows them.
    pub(crate) fn of(self, s: &Series) -> Self {
        Look { beads: s.mark == Mark::Line && s.points.len() <= BEADS, ..self }
    }

    fn colour(&self) -> String {
        self.colour.map_or("log".into(), |c| c.to_string())
    }
}

type Scales<'a> = (&'a Scale, &'a Scale);

/// A line through the points with its band.
pub(crate) fn line(canvas: &mut Canvas, s: &Series, look: &Look, (x, y): Scales<'_>) {
    let colour = look.colour();
    if !s.spread.is_empty() {
        let edge = |side: f64| s.points.iter().zip(&s.spread).map(move |(p, e)| (x.at(p[0]), y.at(p[1] + side * e)));
        let there: Vec<(f64, f64)> = edge(1.0).chain(edge(-1.0).collect::<Vec<_>>().into_iter().rev()).collect();
        canvas.path(&format!("band fill-{colour}"), &there);
    }
    let points: Vec<(f64, f64)> = s.points.iter().map(|p| (x.at(p[0]), y.at(p[1]))).collect();
    canvas.path(&format!("line-{colour} dash-{}", look.shape), &points);
    if look.beads {
        for (p, at) in s.points.iter().zip(&points) {
            let spread = s.spread.first().map(|_| 0.0);
            canvas.shape(&format!("bead fill-{colour}"), &shape(look.shape, *at, 3.6), &tip(s, p, spread));
        }
    }
}

/// Dots with error bars; a cloud of very many is one path, small and without tooltips.
pub(crate) fn dots(canvas: &mut Canvas, s: &Series, look: &Look, (x, y): Scales<'_>) {
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
pub(crate) fn bars(canvas: &mut Canvas, s: &Series, look: &Look, (x, y): Scales<'_>) {
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
pub(crate) fn widths(s: &Series) -> Vec<f64> {
    if s.mark == Mark::Bars && !s.spread.is_empty() {
        return s.spread.clone();
    }
    let mut xs: Vec<f64> = s.points.iter().map(|p| p[0]).collect();
    xs.sort_by(f64::total_cmp);
    let gap = xs.windows(2).map(|w| w[1] - w[0]).filter(|g| *g > 0.0).fold(f64::INFINITY, f64::min);
    vec![if gap.is_finite() { 0.8 * gap } else { 0.8 }; s.points.len()]
}

/// A thin line for the eye.
pub(crate) fn guide(canvas: &mut Canvas, s: &Series, look: &Look, (x, y): Scales<'_>) {
    let points: Vec<(f64, f64)> = s.points.iter().map(|p| (x.at(p[0]), y.at(p[1]))).collect();
    canvas.path(&format!("guide guide-{}", look.shape), &points);
}

/// The mark as it stands in the legend, from `left` over `wide`; a line has a bead there if it has beads.
pub(crate) fn swatch(canvas: &mut Canvas, mark: Mark, look: &Look, (left, middle): (f64, f64), wide: f64) {
    let colour = look.colour();
    let ends = ((left, middle), (left + wide, middle));
    let centre = (left + wide / 2.0, middle);
    match mark {
        Mark::Line => {
            canvas.line(&format!("line-{colour} dash-{}", look.shape), ends.0, ends.1);
            if look.beads {
                canvas.shape(&format!("bead fill-{colour}"), &shape(look.shape, centre, 3.6), "");
            }
        }
        Mark::Guide => canvas.line(&format!("guide guide-{}", look.shape), ends.0, ends.1),
        Mark::Bars => {
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
