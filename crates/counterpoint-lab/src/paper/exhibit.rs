//! What an experiment shows: tables, pictures and claims, as plain data.
//!
//! Experiments compute; `counterpoint-report` draws the pictures. Everything here serialises, so a finished exhibit can be kept.

pub use counterpoint_report::chart::{Axis, Mark, Picture, Series};
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
