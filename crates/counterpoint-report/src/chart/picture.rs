//! A chart with two axes as plain data, and how it becomes a drawing.
//!
//! Series of one name are one class, told apart by colour and also by dash and shape, so that neither colour blindness nor a
//! black-and-white print hides anything. What is not finite, and what a logarithmic axis cannot show, is left out.

use super::canvas::{Canvas, Caption};
use super::layout::{Key, Layout};
use super::look::{Look, looks};
use super::scale::{Scale, padded, range};
use super::{WIDTH, marks, tips};
use crate::words;
use serde::{Deserialize, Serialize};

/// A picture with two axes.
///
/// ```
/// use counterpoint_report::chart::{Axis, Picture, Series, Sheet};
/// let line = Series { name: "cost".into(), points: vec![[0.0, 1.0], [1.0, 3.0]], ..Series::default() };
/// let picture = Picture { title: "Cost".into(), x: Axis::linear("dose"), y: Axis::linear("cost"), series: vec![line], ..Picture::default() };
/// assert!(picture.svg(&Sheet::FIGURE).unwrap().starts_with("<svg"));
/// assert!(Picture::default().svg(&Sheet::FIGURE).is_none()); // nothing to draw
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// A name for files: lower case, digits and hyphens, unique among the pictures of a page.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The same for those who cannot see it; without it the series are listed with their ranges.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, the later over the earlier.
    pub series: Vec<Series>,
    /// Tooltips along x; without them they are made from the lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strips: Vec<Strip>,
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// What it measures.
    pub name: String,
    /// Whether its scale is logarithmic; then all values must be positive.
    pub log: bool,
}

impl Axis {
    /// A linear axis.
    pub fn linear(name: &str) -> Self {
        Axis { name: name.to_string(), log: false }
    }

    /// A logarithmic axis.
    pub fn log(name: &str) -> Self {
        Axis { name: name.to_string(), log: true }
    }

    /// Whether a value has a place on it.
    fn shows(&self, v: f64) -> bool {
        v.is_finite() && (!self.log || v > 0.0)
    }

    /// Its scale between two places of the drawing.
    pub(super) fn scale(&self, ends: (f64, f64), from: f64, to: f64) -> Scale {
        if self.log { Scale::log(ends, from, to) } else { Scale::linear(ends, from, to) }
    }

    /// The ends of the values it can show, with a share of room added.
    fn ends(&self, values: Vec<f64>, share: f64) -> Option<(f64, f64)> {
        let (low, high) = range(values.into_iter().filter(|v| self.shows(*v)))?;
        if !self.log {
            return Some(padded((low, high), share));
        }
        let (low, high) = if high > low { (low, high) } else { (low / 1.5, high * 1.5) };
        let room = (high / low).powf(share);
        Some((low / room, high * room))
    }
}

/// A named set of points.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its name in the legend; empty: not listed.
    pub name: String,
    /// How it is drawn.
    pub mark: Mark,
    /// (x, y), in the order of drawing.
    pub points: Vec<[f64; 2]>,
    /// Half lengths of error bars, one per point, or empty. For bars: their width.
    pub spread: Vec<f64>,
    /// Lower and upper end of the band around a line, one per point, or empty; it takes the place of `spread`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub band: Vec<[f64; 2]>,
    /// Its colour.
    #[serde(default, skip_serializing_if = "Tone::is_own")]
    pub tone: Tone,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// A line through the points; `spread` or `band` is a band around it.
    #[default]
    Line,
    /// Dots; `spread` are error bars.
    Dots,
    /// Upright bars from 0, centred at x; `spread` are their widths.
    Bars,
    /// A line with the area between it and 0.
    Area,
    /// A thick stretch of a line, such as where a policy acts.
    Stretch,
    /// A thin line for the eye: y = x, a fitted line, a threshold.
    Guide,
}

impl Mark {
    /// From the back of the drawing to its front.
    const ORDER: [Mark; 6] = [Mark::Bars, Mark::Area, Mark::Guide, Mark::Line, Mark::Stretch, Mark::Dots];

    /// Whether its points stand on 0.
    fn stands(self) -> bool {
        matches!(self, Mark::Bars | Mark::Area)
    }
}

/// Which colour a series has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// One of its own, by the order of names.
    #[default]
    Own,
    /// That of the log.
    Log,
    /// That of the policy.
    Policy,
    /// That of a limit that must not be passed.
    Bad,
}

impl Tone {
    fn is_own(&self) -> bool {
        *self == Tone::Own
    }
}

/// A stretch of the x axis with its tooltip.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Strip {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// The words.
    pub tip: String,
}

/// The sheet that a picture is drawn on, in its own units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sheet {
    /// Width of the whole.
    pub width: f64,
    /// Height of the frame that holds the data.
    pub frame: f64,
    /// Whether the title is part of the drawing.
    pub titled: bool,
}

impl Sheet {
    /// On a page that writes the title above it.
    pub const FIGURE: Sheet = Sheet { width: 520.0, frame: 250.0, titled: false };
    /// Alone in a file: the title is part of it.
    pub const FILE: Sheet = Sheet { titled: true, ..Sheet::FIGURE };

    /// In a card of the report.
    pub(crate) const fn card(frame: f64) -> Sheet {
        Sheet { width: WIDTH, frame, titled: false }
    }
}

impl Picture {
    /// The drawing as an SVG element, or nothing if there is nothing to draw.
    pub fn svg(&self, sheet: &Sheet) -> Option<String> {
        let series: Vec<Series> = self.usable().series.into_iter().filter(|s| !s.points.is_empty()).collect();
        let looks = looks(&series);
        let layout = Layout::new(self, sheet, &legend(&series, &looks), self.ranges(&series)?);
        let mut canvas = Canvas::new(sheet.width, layout.height);
        layout.dress(&mut canvas, self, sheet);
        if self.strips.is_empty() {
            tips::of_lines(&mut canvas, &series, &layout, self);
        }
        for mark in Mark::ORDER {
            for (s, look) in series.iter().zip(&looks).filter(|(s, _)| s.mark == mark) {
                marks::draw(&mut canvas, s, look, (&layout.x, &layout.y));
            }
        }
        layout.legend(&mut canvas);
        tips::of_strips(&mut canvas, &self.strips, &layout);
        let said = format!("{} against {}. {}", self.y.name, self.x.name, said(&series));
        let description = if self.description.is_empty() { &said } else { &self.description };
        Some(canvas.finish(Caption { title: &self.title, description }))
    }

    /// The picture without what its axes cannot show; spreads and bands stay with their points.
    #[must_use]
    pub fn usable(&self) -> Picture {
        let series = self.series.iter().map(|s| s.shown_by(&self.x, &self.y)).collect();
        Picture { series, ..self.clone() }
    }

    /// What both axes have to hold.
    fn ranges(&self, series: &[Series]) -> Option<[(f64, f64); 2]> {
        let (mut xs, mut ys) = (Vec::new(), Vec::new());
        for s in series {
            s.extent(&mut xs, &mut ys);
        }
        let bars = series.iter().any(|s| s.mark.stands());
        let x = self.x.ends(xs, if bars { 0.01 } else { 0.025 })?;
        let (low, high) = self.y.ends(ys, 0.05)?;
        // bars stand on the axis
        let floor = bars && !self.y.log && low < 0.0 && series.iter().all(|s| s.points.iter().all(|p| p[1] >= 0.0));
        Some([x, (if floor { 0.0 } else { low }, high)])
    }
}

impl Series {
    fn shown_by(&self, x: &Axis, y: &Axis) -> Series {
        let spread = |i: usize| self.spread.get(i).copied().filter(|e| e.is_finite() && *e >= 0.0).unwrap_or(0.0);
        let band = |i: usize| {
            let own = [self.points[i][1]; 2];
            self.band.get(i).copied().filter(|b| b.iter().all(|v| v.is_finite())).unwrap_or(own)
        };
        let kept: Vec<usize> =
            (0..self.points.len()).filter(|&i| x.shows(self.points[i][0]) && y.shows(self.points[i][1])).collect();
        Series {
            name: self.name.clone(),
            mark: self.mark,
            points: kept.iter().map(|&i| self.points[i]).collect(),
            spread: if self.spread.is_empty() { Vec::new() } else { kept.iter().map(|&i| spread(i)).collect() },
            band: if self.band.is_empty() { Vec::new() } else { kept.iter().map(|&i| band(i)).collect() },
            tone: self.tone,
        }
    }

    /// Adds all values that must have a place.
    fn extent(&self, xs: &mut Vec<f64>, ys: &mut Vec<f64>) {
        let widths = marks::widths(self);
        for (i, [x, y]) in self.points.iter().enumerate() {
            xs.push(*x);
            ys.push(*y);
            match self.mark {
                Mark::Bars => {
                    xs.extend([x - widths[i] / 2.0, x + widths[i] / 2.0]);
                    ys.push(0.0);
                }
                Mark::Area => ys.push(0.0),
                Mark::Guide | Mark::Stretch => {}
                Mark::Line | Mark::Dots => ys.extend(self.ends_at(i)),
            }
        }
    }

    /// Lower and upper end of the band or error bar at point i.
    pub(super) fn ends_at(&self, i: usize) -> [f64; 2] {
        let (y, e) = (self.points[i][1], self.spread.get(i).copied().unwrap_or(0.0));
        self.band.get(i).copied().unwrap_or([y - e, y + e])
    }
}

/// Names with the marks they stand for, each once.
fn legend(series: &[Series], looks: &[Look]) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    for (s, look) in series.iter().zip(looks).filter(|(s, _)| !s.name.is_empty()) {
        match keys.iter_mut().find(|k| k.name == s.name && (k.marks[0] == Mark::Guide) == (s.mark == Mark::Guide)) {
            Some(key) if key.marks.contains(&s.mark) => {}
            Some(key) => key.marks.push(s.mark),
            None => keys.push(Key { name: s.name.clone(), look: *look, marks: vec![s.mark] }),
        }
    }
    // a single series needs no name beside the title
    if keys.len() == 1 && series.len() == 1 && keys[0].marks[0] != Mark::Guide { Vec::new() } else { keys }
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
