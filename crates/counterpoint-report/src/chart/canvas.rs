//! A drawing under construction, and the elements that charts are made of.

use crate::words::escape;
use std::fmt::Write;

/// What a chart is called and, for those who cannot see it, what it shows.
#[derive(Clone, Copy)]
pub(crate) struct Caption<'a> {
    pub(crate) title: &'a str,
    pub(crate) description: &'a str,
}

/// Which point of a text lies at its coordinates.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing under construction.
pub(crate) struct Canvas {
    width: f64,
    height: f64,
    body: String,
}

impl Canvas {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Canvas { width, height, body: String::new() }
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.push(format_args!(
            r#"<line class="{class}" x1="{}" y1="{}" x2="{}" y2="{}"/>"#,
            place(from.0),
            place(from.1),
            place(to.0),
            place(to.1)
        ));
    }

    pub(crate) fn rect(&mut self, class: &str, corner: (f64, f64), size: (f64, f64), tip: Option<&str>) {
        let tip = tip.map(|t| format!("<title>{}</title>", escape(t))).unwrap_or_default();
        self.push(format_args!(
            r#"<rect class="{class}" x="{}" y="{}" width="{}" height="{}">{tip}</rect>"#,
            place(corner.0),
            place(corner.1),
            place(size.0.max(0.0)),
            place(size.1.max(0.0))
        ));
    }

    pub(crate) fn circle(&mut self, class: &str, centre: (f64, f64), radius: f64) {
        let (x, y) = (place(centre.0), place(centre.1));
        self.push(format_args!(r#"<circle class="{class}" cx="{x}" cy="{y}" r="{}"/>"#, place(radius)));
    }

    /// A line through the points, closed to an area if asked by the class's fill.
    pub(crate) fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let mut d = String::new();
        for (i, (x, y)) in points.iter().enumerate() {
            let _ = write!(d, "{}{} {}", if i == 0 { 'M' } else { 'L' }, place(*x), place(*y));
        }
        if !d.is_empty() {
            self.push(format_args!(r#"<path class="{class}" d="{d}"/>"#));
        }
    }

    pub(crate) fn text(&mut self, class: &str, anchor: Anchor, at: (f64, f64), text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y, text) = (place(at.0), place(at.1), escape(text));
        self.push(format_args!(r#"<text class="{class}" x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>"#));
    }

    /// A path as it is written, with a tooltip if there are words for one.
    pub(crate) fn shape(&mut self, class: &str, d: &str, tip: &str) {
        let tip = if tip.is_empty() { String::new() } else { format!("<title>{}</title>", escape(tip)) };
        self.push(format_args!(r#"<path class="{class}" d="{d}">{tip}</path>"#));
    }

    /// The drawing, named.
    pub(crate) fn finish(self, caption: Caption<'_>) -> String {
        format!(
            "<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" focusable=\"false\"><title>{}</title><desc>{}</desc>{}\n</svg>",
            place(self.width),
            place(self.height),
            escape(caption.title),
            escape(caption.description),
            self.body
        )
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        self.body.push('\n');
        let _ = self.body.write_fmt(element);
    }
}

/// A coordinate with at most one decimal: a tenth of a pixel is enough, and keeps the file small. The charts drop what is
/// not finite before it comes here; should one slip through, it lands at 0 rather than break the drawing.
pub(crate) fn place(x: f64) -> String {
    let tenths = if x.is_finite() { (10.0 * x).round() as i64 } else { 0 };
    match tenths % 10 {
        0 => format!("{}", tenths / 10),
        rest => format!("{}{}.{}", if tenths < 0 { "-" } else { "" }, tenths.abs() / 10, rest.abs()),
    }
}
