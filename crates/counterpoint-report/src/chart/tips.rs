//! Tooltips along x: invisible strips, each with words.

use super::canvas::Canvas;
use super::layout::Layout;
use super::picture::{Mark, Picture, Series, Strip};
use crate::words;

/// How many strips there are where they are made from lines.
const STRIPS: usize = 40;

/// Strips below the marks, each with the values of all lines.
pub(super) fn of_lines(canvas: &mut Canvas, series: &[Series], layout: &Layout, picture: &Picture) {
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

/// Strips over everything, as given.
pub(super) fn of_strips(canvas: &mut Canvas, strips: &[Strip], layout: &Layout) {
    let (frame, x) = (&layout.frame, &layout.x);
    for s in strips.iter().filter(|s| s.from.is_finite() && s.to.is_finite()) {
        let (left, right) = (x.at(s.from), x.at(s.to));
        canvas.rect("hit", (left, frame.top), (right - left, frame.bottom - frame.top), Some(&s.tip));
    }
}

/// The line's height at x, linear between points; nothing beyond its ends.
pub(crate) fn height_at(points: &[[f64; 2]], x: f64) -> Option<f64> {
    let after = points.partition_point(|p| p[0] < x);
    let [x1, y1] = *points.get(after)?;
    if after == 0 || x1 == x {
        return (x1 == x).then_some(y1);
    }
    let [x0, y0] = points[after - 1];
    Some(y0 + (y1 - y0) * (x - x0) / (x1 - x0))
}
