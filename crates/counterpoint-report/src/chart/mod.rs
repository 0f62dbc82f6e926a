//! Charts as SVG, written by hand: small, the same bytes for the same data, and nothing to load.
//!
//! There is one engine. A [`Picture`] is a chart with two axes as plain data (lines with bands, dots with error bars, bars,
//! areas, guides, on linear and logarithmic axes); [`Picture::svg`] draws it. The forest plot and the gauge are the two charts
//! without an upright axis. A chart is a function from data to `Option<String>`: `None` where there is nothing to draw, so that a
//! page can leave it out. Colours are classes of style.css, so that light, dark and print are decided in one place. A `<title>`
//! in an element is its tooltip; script.js shows it at once, and without script the browser shows it after a moment.

mod canvas;
mod forest;
mod gauge;
mod layout;
mod look;
mod marks;
mod picture;
mod scale;
mod svg_file;
#[cfg(test)]
mod tests;
mod tips;

pub(crate) use canvas::Caption;
pub(crate) use forest::{Panel, Row, forest};
pub(crate) use gauge::{Against, TILE, gauge};
pub(crate) use scale::range;
pub(crate) use tips::height_at;

pub use picture::{Axis, Mark, Picture, Series, Sheet, Strip, Tone};
pub use svg_file::svg_file;

/// Width of a chart in a card of the page, in its own units; the page scales it. Narrow, so that text stays legible on a
/// telephone.
pub(crate) const WIDTH: f64 = 420.0;
