//! Where things stand in a picture: title, name of the upright axis, legend, frame, ticks. Nothing overlaps, because every
//! text has a row of its own or a width that is reckoned with.

use super::canvas::{Anchor, Canvas};
use super::look::Look;
use super::marks;
use super::picture::{Mark, Picture, Sheet};
use super::scale::Scale;
use crate::words;

/// Height of a row of text.
const ROW: f64 = 19.0;
/// Width of a letter, a little more than it takes on average.
const LETTER: f64 = 6.7;
/// Height for each tick of the upright axis.
const TICK: f64 = 36.0;
/// Room for a mark in the legend.
const SWATCH: f64 = 30.0;

/// Where the data lie.
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

/// A name in the legend.
#[derive(Clone)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) look: Look,
    pub(super) marks: Vec<Mark>,
}

/// The places of everything in a picture.
pub(super) struct Layout {
    pub(super) height: f64,
    pub(super) frame: Frame,
    pub(super) x: Scale,
    pub(super) y: Scale,
    x_ticks: Vec<(f64, String)>,
    y_ticks: Vec<(f64, String)>,
    title: Vec<String>,
    /// The names of the legend and where they stand: left, baseline.
    keys: Vec<(f64, f64, Key)>,
}

impl Layout {
    pub(super) fn new(picture: &Picture, sheet: &Sheet, keys: &[Key], [xs, ys]: [(f64, f64); 2]) -> Self {
        let title = match sheet.titled {
            true => wrap(&picture.title, ((sheet.width - 16.0) / (1.12 * LETTER)) as usize),
            false => Vec::new(),
        };
        let mut top = 4.0 + ROW * title.len() as f64;
        let (placed, rows) = place(keys, top, sheet.width);
        top += ROW * rows as f64;
        if !picture.y.name.is_empty() {
            top += ROW;
        }
        top += 8.0;
        let bottom = top + sheet.frame;
        let y = picture.y.scale(ys, bottom, top);
        let y_ticks = y.ticks((sheet.frame / TICK).round() as usize);
        let widest = y_ticks.iter().map(|t| t.1.chars().count()).max().unwrap_or(1) as f64;
        let frame = Frame { left: (16.0 + LETTER * widest).max(36.0), right: sheet.width - 16.0, top, bottom };
        let x = picture.x.scale(xs, frame.left, frame.right);
        let x_ticks = spaced(&x, x.ticks(7));
        let name = if picture.x.name.is_empty() { 0.0 } else { 18.0 };
        Layout { height: bottom + 26.0 + name, frame, x, y, x_ticks, y_ticks, title, keys: placed }
    }

    /// Everything but the data and the legend.
    pub(super) fn dress(&self, canvas: &mut Canvas, picture: &Picture, sheet: &Sheet) {
        if sheet.titled {
            canvas.rect("paper", (0.0, 0.0), (sheet.width, self.height), None);
        }
        let letters = ((sheet.width - 16.0) / LETTER) as usize;
        for (i, line) in self.title.iter().enumerate() {
            canvas.text("title", Anchor::Start, (8.0, 16.0 + ROW * i as f64), line);
        }
        let f = &self.frame;
        canvas.text("axis-name", Anchor::Start, (8.0, f.top - 10.0), &words::cut(&picture.y.name, letters));
        for (v, said) in &self.y_ticks {
            let at = self.y.at(*v);
            canvas.line("grid", (f.left, at), (f.right, at));
            canvas.text("tick", Anchor::End, (f.left - 7.0, at + 4.0), said);
        }
        canvas.line("axis", (f.left, f.bottom), (f.right, f.bottom));
        for (v, said) in &self.x_ticks {
            let at = self.x.at(*v);
            canvas.line("grid", (at, f.top), (at, f.bottom));
            canvas.line("axis", (at, f.bottom), (at, f.bottom + 5.0));
            canvas.text("tick", Anchor::Middle, (at, f.bottom + 18.0), said);
        }
        canvas.text(
            "axis-name",
            Anchor::Middle,
            ((f.left + f.right) / 2.0, f.bottom + 36.0),
            &words::cut(&picture.x.name, letters - 4),
        );
    }

    /// The names of the series.
    pub(super) fn legend(&self, canvas: &mut Canvas) {
        for (left, baseline, key) in &self.keys {
            for mark in &key.marks {
                marks::swatch(canvas, *mark, &key.look, (*left, baseline - 4.0), SWATCH - 8.0);
            }
            canvas.text("legend", Anchor::Start, (left + SWATCH, *baseline), &key.name);
        }
    }
}

/// Names from left to right, row after row; and how many rows.
fn place(keys: &[Key], top: f64, width: f64) -> (Vec<(f64, f64, Key)>, usize) {
    let (mut left, mut row, mut placed) = (8.0, 0, Vec::new());
    for key in keys {
        let name = words::cut(&key.name, ((width - SWATCH - 26.0) / LETTER) as usize);
        let wide = SWATCH + LETTER * name.chars().count() as f64 + 14.0;
        if left > 8.0 && left + wide > width - 4.0 {
            left = 8.0;
            row += 1;
        }
        placed.push((left, top + 14.0 + ROW * row as f64, Key { name, ..key.clone() }));
        left += wide;
    }
    let rows = if keys.is_empty() { 0 } else { row + 1 };
    (placed, rows)
}

/// Every tick, or every second, third... of them, so that labels do not touch.
fn spaced(x: &Scale, ticks: Vec<(f64, String)>) -> Vec<(f64, String)> {
    for every in 1..=ticks.len().max(1) {
        let kept: Vec<_> = ticks.iter().step_by(every).cloned().collect();
        let half = |t: &(f64, String)| 0.5 * LETTER * t.1.chars().count() as f64;
        if kept.windows(2).all(|w| x.at(w[1].0) - x.at(w[0].0) > half(&w[0]) + half(&w[1]) + 8.0) {
            return kept;
        }
    }
    ticks
}

/// The text in lines of at most `most` letters, broken between words.
fn wrap(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(words::cut(word, most)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_not_broken() {
        assert_eq!(wrap("a picture of three words and more", 12), ["a picture of", "three words", "and more"]);
        assert!(wrap("", 10).is_empty());
    }

    #[test]
    fn labels_do_not_touch() {
        let x = Scale::linear((0.0, 1e9), 40.0, 140.0);
        let all = x.ticks(7);
        let kept = spaced(&x, all.clone());
        assert!(kept.len() < all.len() && !kept.is_empty());
    }
}
