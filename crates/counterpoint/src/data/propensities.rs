//! Where the propensities of a log come from, and a log that has none yet.
//!
//! A [`Log`] always has densities: there is no state in which they are missing and something can be asked. Rows read
//! without them are a [`BareLog`], which can do one thing: have them estimated ([`propensity::fit`]). What was found then
//! stays in the schema, so that every later result can say what it rests on.
//!
//! [`propensity::fit`]: crate::propensity::fit

use super::log::{Block, Log};
use serde::{Deserialize, Serialize};

/// Which column holds the logging density, or that it is to be estimated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PropensityRole {
    /// This column.
    Column(String),
    /// No column: estimate it from actions and contexts.
    Fit,
}

impl PropensityRole {
    /// The word that asks for an estimate where a column name is expected.
    pub const FIT: &str = "fit";

    /// What a user wrote: `fit`, or the name of a column; `column:fit` is the column of that name.
    ///
    /// ```
    /// use counterpoint::data::PropensityRole;
    /// assert_eq!(PropensityRole::written("fit"), PropensityRole::Fit);
    /// assert_eq!(PropensityRole::written("density"), "density".into());
    /// assert_eq!(PropensityRole::written("column:fit"), "fit".into());
    /// ```
    pub fn written(text: &str) -> Self {
        match text {
            Self::FIT => PropensityRole::Fit,
            "column:fit" => PropensityRole::Column(Self::FIT.into()),
            name => PropensityRole::Column(name.into()),
        }
    }

    /// The column, if there is one.
    pub fn column(&self) -> Option<&str> {
        match self {
            PropensityRole::Column(name) => Some(name),
            PropensityRole::Fit => None,
        }
    }
}

impl Default for PropensityRole {
    fn default() -> Self {
        PropensityRole::Column(String::new())
    }
}

impl From<&str> for PropensityRole {
    fn from(column: &str) -> Self {
        PropensityRole::Column(column.into())
    }
}

impl From<String> for PropensityRole {
    fn from(column: String) -> Self {
        PropensityRole::Column(column)
    }
}

/// Where the propensities of a log come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "source", rename_all = "lowercase")]
pub enum Propensities {
    /// Written down when the action was chosen.
    #[default]
    Logged,
    /// Estimated from the log afterwards: everything later rests on that model.
    Estimated(Box<Estimated>),
}

impl Propensities {
    /// What every result must say that rests on estimated propensities; nothing where they were logged.
    pub fn sentence(&self) -> Option<String> {
        let Propensities::Estimated(facts) = self else { return None };
        let doubts = match facts.warnings.len() {
            0 => "its checks found nothing against it".into(),
            1 => "one of its checks speaks against it".into(),
            n => format!("{n} of its checks speak against it"),
        };
        Some(format!(
            "the propensities were not logged but estimated from the log: all figures hold only if that model of the logging \
             policy is right ({doubts}) and nothing outside the contexts moved both the actions and the outcome"
        ))
    }

    /// What is known about the estimate, if it is one.
    pub fn estimated(&self) -> Option<&Estimated> {
        match self {
            Propensities::Estimated(facts) => Some(facts),
            Propensities::Logged => None,
        }
    }
}

/// How propensities were estimated, and what speaks for and against them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimated {
    /// Folds of the cross-fit: each row's density comes from a fit that has not seen its fold.
    pub folds: usize,
    /// One model an action column; densities multiply.
    pub actions: Vec<ActionModel>,
    /// Smallest and largest density.
    pub range: (f64, f64),
    /// The mean of 1/p over the central range of actions, divided by its length; should be 1.
    pub integral: f64,
    /// Standard error of the integral.
    pub integral_std_error: f64,
    /// Largest correlation between the residuals of two actions, which the product of densities takes to be 0.
    pub dependence: Option<f64>,
    /// What speaks against the estimate, in words; empty is good.
    pub warnings: Vec<String>,
}

/// The model of one action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionModel {
    /// The action column.
    pub action: String,
    /// `normal`, or `lognormal`: a normal law of ln a.
    pub family: String,
    /// Mean: `constant`, `linear` or `quadratic` in the contexts.
    pub mean: String,
    /// Standard deviation: `constant` or `log-linear` in the contexts.
    pub std: String,
    /// Share of the variance of the action (of ln a for the lognormal) that the contexts explain, out of fold.
    pub explained: f64,
    /// Root mean square residual, out of fold, on the same scale.
    pub residual: f64,
    /// All models that were compared, with their mean log density out of fold; the best was kept.
    pub compared: Vec<(String, f64)>,
    /// Kolmogorov distance of the probability integral transform from the uniform law; 0 is perfect.
    pub kolmogorov: f64,
    /// The context whose correlation with the standardised residual is largest, and that correlation.
    pub mean_left: Option<(String, f64)>,
    /// The same for the squared residual: whether the spread still depends on a context.
    pub spread_left: Option<(String, f64)>,
    /// Share of rows more than 4 standard deviations from their mean; 0.00006 if the model is right.
    pub extreme: f64,
    /// The most frequent single action and its share of the rows; a density knows none.
    pub atom: (f64, f64),
}

/// Rows without propensities: nothing can be asked of them but to [estimate](crate::propensity::fit) these.
///
/// ```
/// use counterpoint::{Engine, Log, propensity};
/// let u = |i: usize| (i as f64 * 0.618_033_988_75).fract();
/// let x: Vec<f64> = (0..500).map(|i| (i as f64 * 0.754_877_666).fract()).collect();
/// // three uniform numbers added up are nearly normal
/// let a = x.iter().enumerate().map(|(i, x)| x + u(i) + u(3 * i + 1) + u(7 * i + 2)).collect();
/// let bare = Log::builder().context("x", x).action("a", a).cost("y", vec![0.0; 500]).build_bare()?;
/// let log = propensity::fit(&Engine::single(), bare)?;
/// assert!(log.schema().propensities.estimated().is_some());
/// # Ok::<(), counterpoint::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BareLog(pub(super) Log);

impl BareLog {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.0.rows()
    }

    /// Rows left out while reading.
    pub fn dropped(&self) -> &super::Dropped {
        self.0.dropped()
    }

    /// Cuts the log between blocks, as [`Log::pieces`] does.
    pub fn pieces(&self, count: usize) -> Vec<BareLog> {
        self.0.pieces(count).into_iter().map(BareLog).collect()
    }

    /// Rows whose densities mean nothing.
    pub(crate) fn from_rows(log: Log) -> Self {
        BareLog(log)
    }

    /// The rows; their densities mean nothing yet.
    pub(crate) fn log(&self) -> &Log {
        &self.0
    }

    /// The log with these logarithms of densities, one vector a block.
    pub(crate) fn with_densities(mut self, log_p: Vec<Vec<f64>>) -> Log {
        debug_assert!(log_p.iter().map(Vec::len).eq(self.0.blocks.iter().map(Block::rows)));
        self.0.blocks.iter_mut().zip(log_p).for_each(|(b, p)| b.log_p = p.into());
        self.0
    }
}

impl Log {
    /// The same log, saying where its propensities come from.
    pub(crate) fn estimated(mut self, facts: Estimated) -> Log {
        self.schema.propensities = Propensities::Estimated(Box::new(facts));
        self
    }
}
