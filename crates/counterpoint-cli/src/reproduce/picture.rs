//! Pictures of experiments as SVG: lines with bands, dots with error bars, bars and guides, on linear and logarithmic axes.
//!
//! Series of one name are one class, told apart by colour and also by dash and shape, so that neither colour blindness nor a
//! black-and-white print hides anything. What is not finite, and what a logarithmic axis cannot show, is left out.

use super::layout::{self, Layout};
use super::marks::{self, Look};
use crate::report::svg::{Anchor, Canvas, Caption, Scale, padded, range};
use crate::report::words;
use counterpoint_lab::paper::{Mark, Picture, Series};

/// Where a picture will stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stand {
    /// On a page that writes its title above it.
    Page,
    /// Alone in a file: the title is part of it.
    File,
}

/// How many strips along x have a tooltip with the values of all lines.
const STRIPS: usize = 40;

/// The picture, or nothing if there is nothing to draw.
pub(crate) fn draw(picture: &Picture, stand: Stand) -> Option<String> {
    let series: Vec<Series> =
        picture.series.iter().map(|s| usable(s, picture)).filter(|s| !s.points.is_empty()).collect();
    let looks = looks(&series);
    let (x, y) = ranges(&series, picture)?;
    let layout = Layout::new(picture, stand, &legend(&series, &looks), (x, y));
    let mut canvas = Canvas::new(layout::WIDTH, layout.height);
    layout.dress(&mut canvas, picture, stand);
    let scales = (&layout.x, &layout.y);
    strips(&mut canvas, &series, &layout, picture);
    for mark in [Mark::Bars, Mark::Guide, Mark::Line, Mark::Dots] {
        for (s, look) in series.iter().zip(&looks).filter(|(s, _)| s.mark == mark) {
            match mark {
                Mark::Bars => marks::bars(&mut canvas, s, look, scales),
                Mark::Guide => marks::guide(&mut canvas, s, look, scales),
                Mark::Line => marks::line(&mut canvas, s, look, scales),
                Mark::Dots => marks::dots(&mut canvas, s, look, scales),
            }
        }
    }
    layout.legend(&mut canvas);
    let description = format!("{} against {}. {}", picture.y.name, picture.x.name, said(&series));
    Some(canvas.finish(Caption { title: &picture.title, description: &description }))
}

/// The series without what its axes cannot show; spreads stay with their points.
pub(crate) fn usable(s: &Series, picture: &Picture) -> Series {
    let seen = |v: f64, log: bool| v.is_finite() && (!log || v > 0.0);
    let spread = |i: usize| s.spread.get(i).copied().filter(|e| e.is_finite() && *e >= 0.0).unwrap_or(0.0);
    let kept: Vec<usize> = (0..s.points.len())
        .filter(|&i| seen(s.points[i][0], picture.x.log) && seen(s.points[i][1], picture.y.log))
        .collect();
    Series {
        name: s.name.clone(),
        mark: s.mark,
        points: kept.iter().map(|&i| s.points[i]).collect(),
        spread: if s.spread.is_empty() { Vec::new() } else { kept.iter().map(|&i| spread(i)).collect() },
    }
}

/// One class a name; what has no name is grey beside what has one.
fn looks(series: &[Series]) -> Vec<Look> {
    let mut names: Vec<&str> = Vec::new();
    let named = series.iter().any(|s| s.mark != Mark::Guide && !s.name.is_empty());
    let mut guides = 0;
    series
        .iter()
        .map(|s| match s.mark {
            Mark::Guide => {
                guides += 1;
                Look::guide(guides - 1)
            }
            _ if s.name.is_empty() && named => Look::grey().of(s),
            _ => {
                let known = names.iter().position(|n| *n == s.name).unwrap_or(names.len());
                if known == names.len() {
                    names.push(&s.name);
                }
                Look::class(known).of(s)
            }
        })
        .collect()
}

/// Names with the marks they stand for, each once.
fn legend(series: &[Series], looks: &[Look]) -> Vec<layout::Key> {
    let mut keys: Vec<layout::Key> = Vec::new();
    for (s, look) in series.iter().zip(looks).filter(|(s, _)| !s.name.is_empty()) {
        match keys.iter_mut().find(|k| k.name == s.name && (k.marks[0] == Mark::Guide) == (s.mark == Mark::Guide)) {
            Some(key) if key.marks.contains(&s.mark) => {}
            Some(key) => key.marks.push(s.mark),
            None => keys.push(layout::Key { name: s.name.clone(), look: *look, marks: vec![s.mark] }),
        }
    }
    // a single series needs no name beside the title
    let drawn = series.iter().filter(|s| s.mark != Mark::Guide).count();
    if keys.len() == 1 && drawn == 1 && keys[0].marks[0] != Mark::Guide && series.len() == 1 {
        Vec::new()
    } else {
        keys
    }
}

/// What both axes have to hold.
fn ranges(series: &[Series], picture: &Picture) -> Option<((f64, f64), (f64, f64))> {
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    for s in series {
        let widths = marks::widths(s);
        for (i, [x, y]) in s.points.iter().enumerate() {
            let e = s.spread.get(i).copied().unwrap_or(0.0);
            xs.push(*x);
            ys.push(*y);
            match s.mark {
                Mark::Bars => {
                    xs.extend([x - widths[i] / 2.0, x + widths[i] / 2.0]);
                    ys.push(0.0);
                }
                Mark::Guide => {}
                _ => ys.extend([y - e, y + e]),
            }
        }
    }
    let ends = |v: Vec<f64>, log: bool, share: f64| -> Option<(f64, f64)> {
        let (low, high) = range(v.into_iter().filter(|v| !log || *v > 0.0))?;
        if log {
            let (low, high) = if high > low { (low, high) } else { (low / 1.5, high * 1.5) };
            let room = (high / low).powf(share);
            return Some((low / room, high * room));
        }
        Some(padded((low, high), share))
    };
    let bars = series.iter().any(|s| s.mark == Mark::Bars);
    let x = ends(xs, picture.x.log, if bars { 0.01 } else { 0.025 })?;
    let (low, high) = ends(ys, picture.y.log, 0.05)?;
    // bars stand on the axis
    let low = if bars && !picture.y.log && low < 0.0 && series.iter().all(|s| s.points.iter().all(|p| p[1] >= 0.0)) {
        0.0
    } else {
        low
    };
    Some((x, (low, high)))
}

/// Invisible strips below the marks, each with the values of all lines as its tooltip.
fn strips(canvas: &mut Canvas, series: &[Series], layout: &Layout, picture: &Picture) {
    let rises =
        |s: &&Series| s.mark == Mark::Line && s.points.len() > 1 && s.points.windows(2).all(|w| w[0][0] <= w[1][0]);
    let lines: Vec<&Series> = series.iter().filter(rises).collect();
    if lines.is_empty() {
        return;
    }
    let frame = &layout.frame;
    let wide = (frame.right - frame.left) / STRIPS as f64;
    for i in 0..STRIPS {
        let at = layout.x.value((i as f64 + 0.5) / STRIPS as f64);
        let values: Vec<String> = lines
            .iter()
            .filter_map(|s| {
                let name = if s.name.is_empty() { &picture.y.name } else { &s.name };
                height_at(&s.points, at).map(|h| format!("\n{name}: {}", words::short(h)))
            })
            .collect();
        if !values.is_empty() {
            let tip = format!("{} {}{}", picture.x.name, words::short(at), values.concat());
            canvas.rect("hit", (frame.left + i as f64 * wide, frame.top), (wide, frame.bottom - frame.top), Some(&tip));
        }
    }
}

/// The line's height at x, linear between points; nothing beyond its ends.
fn height_at(points: &[[f64; 2]], x: f64) -> Option<f64> {
    let after = points.partition_point(|p| p[0] < x);
    let [x1, y1] = *points.get(after)?;
    if after == 0 || x1 == x {
        return (x1 == x).then_some(y1);
    }
    let [x0, y0] = points[after - 1];
    Some(y0 + (y1 - y0) * (x - x0) / (x1 - x0))
}

/// The series in words, for those who cannot see them.
fn said(series: &[Series]) -> String {
    let one = |s: &Series| {
        let name = if s.name.is_empty() { "unnamed" } else { &s.name };
        let (low, high) = range(s.points.iter().map(|p| p[1])).unwrap_or_default();
        format!("{name}: {} points from {} to {}", s.points.len(), words::short(low), words::short(high))
    };
    series.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// A label for a tick: powers of ten where digits would be noughts.
pub(crate) fn label(value: f64, log: bool, plain: String) -> String {
    let size = value.abs();
    if log && size > 0.0 && !(1e-3..1e5).contains(&size) {
        format!("{value:e}").replace('-', "\u{2212}")
    } else {
        plain
    }
}

/// The scale of an axis.
pub(crate) fn scale(ends: (f64, f64), log: bool, from: f64, to: f64) -> Scale {
    if log { Scale::log(ends, from, to) } else { Scale::linear(ends, from, to) }
}

/// Text at a place.
pub(crate) fn text(canvas: &mut Canvas, class: &str, at: (f64, f64), words: &str) {
    canvas.text(class, Anchor::Start, at, words);
}
