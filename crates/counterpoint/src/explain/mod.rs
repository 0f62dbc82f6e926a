//! What does a policy do, and what is known of it? Everything that a report shows, as data.
//!
//! [`explain_policy`] and [`explain_log`] compute; `counterpoint-report` draws what they return, and other programs read the same
//! as JSON. All values are on the user's scale: rewards are rewards, and larger is better for them. The pieces can also be had
//! one by one: [`dependence`] (partial dependence of the mean action on each context, the most important first),
//! [`action_histograms`], [`outcome_curves`], [`weight_histogram`], [`estimator_table`].

mod actions;
mod curves;
mod dependence;
mod detail;
mod estimators;
mod histogram;
mod leaderboard;
mod log;
mod policy;
mod provenance;
mod weights;

pub use actions::{ActionHistograms, action_histograms};
pub use curves::{OutcomeCurve, OutcomeCurves, outcome_curves};
pub use dependence::{CurvePoint, Dependence, Level, Shape, dependence};
pub use detail::{Detail, FEWEST};
pub use estimators::{EstimatorRow, EstimatorTable, estimator_table, estimator_table_of};
pub use histogram::Histogram;
pub use leaderboard::{Leaderboard, Tried};
pub use log::{ColumnView, LogReport, PropensityView, SupportLine, SupportView, explain_log};
pub use policy::{Evidence, Lift, Named, OutcomeColumn, PolicyReport, Reason, Ruling, Standing, explain_policy};
pub use provenance::{Fact, Part, Provenance, SourceFile};
pub use weights::{PartWeights, weight_histogram};

/// Rows that are drawn or averaged over.
const SAMPLE: usize = 400;

/// Rows from which the ends of axes are taken.
const ENDS: usize = 20_000;
