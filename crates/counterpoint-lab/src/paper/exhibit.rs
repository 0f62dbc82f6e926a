//! What an experiment shows: tables, pictures and claims, as plain data.
//!
//! Experiments compute, the command line draws. Everything here serialises, so a finished exhibit can be kept.

use serde::{Deserialize, Serialize};

/// One table or figure of the paper, run again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Exhibit {
    /// A paragraph: what was done.
    pub about: String,
    /// Tables, in order.
    pub tables: Vec<Table>,
    /// Pictures, in order.
    pub pictures: Vec<Picture>,
    /// What the paper claims, and whether it holds here.
    pub claims: Vec<Claim>,
    /// Where ours differs from the paper's and why, each a sentence or two.
    pub notes: Vec<String>,
}

/// A table; all rows are as long as `head`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What the table shows.
    pub caption: String,
    /// Names of the columns; the first column names the rows.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// Words, or nothing.
    Text(String),
    /// A number of ours, beside the paper's where it has one.
    Value(Value),
}

/// A number with its standard error, and what the paper prints in its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// Ours.
    pub ours: f64,
    /// Its standard error; what of is said in the notes.
    pub error: Option<f64>,
    /// The paper's number.
    pub paper: Option<f64>,
    /// The paper's error bar.
    pub paper_error: Option<f64>,
}

impl From<&str> for Cell {
    fn from(words: &str) -> Self {
        Cell::Text(words.to_string())
    }
}

impl From<String> for Cell {
    fn from(words: String) -> Self {
        Cell::Text(words)
    }
}

impl From<f64> for Cell {
    fn from(ours: f64) -> Self {
        Cell::Value(Value { ours, ..Value::default() })
    }
}

impl From<Value> for Cell {
    fn from(value: Value) -> Self {
        Cell::Value(value)
    }
}

/// A picture with two axes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// A name for files: lower case, digits and hyphens, unique within the exhibit.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, the later over the earlier.
    pub series: Vec<Series>,
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
    /// Half lengths of error bars, one a point, or empty. For bars: their width.
    pub spread: Vec<f64>,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// A line through the points; `spread` is a band around it.
    #[default]
    Line,
    /// Dots; `spread` are error bars.
    Dots,
    /// Upright bars from 0, centred at x; `spread` are their widths.
    Bars,
    /// A thin line for the eye: y = x, a fitted line, a threshold.
    Guide,
}

/// A claim of the paper, tried; or one of ours, which says so in its first words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// What the paper says, in our words; `Not in the paper: ` before what it does not say.
    pub says: String,
    /// Whether it holds here; nothing if the data cannot tell.
    pub holds: Option<bool>,
    /// By how much, with the test and its p-value or interval.
    pub measured: String,
}

impl Claim {
    /// Whether the paper says it.
    ///
    /// ```
    /// use counterpoint_lab::paper::Claim;
    /// let claim = |says: &str| Claim { says: says.into(), ..Claim::default() };
    /// assert!(claim("Soft clipping does better.").is_the_papers());
    /// assert!(!claim("Not in the paper: exact DR does better.").is_the_papers());
    /// ```
    pub fn is_the_papers(&self) -> bool {
        !self.says.starts_with("Not in the paper")
    }
}
