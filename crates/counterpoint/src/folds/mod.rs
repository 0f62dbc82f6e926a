//! The questions we ask of a log: where policies and estimators meet.
//!
//! [`Design`] holds the rows as the kernel wants them, features computed once; [`Risk`] is the fold behind every
//! training step and every evaluation; [`fit_loss_model`] is the ridge regression behind the direct method.

mod design;
mod expect;
mod gram;
mod objective;
mod risk;
mod rows;
mod score;

pub use design::{Design, Precision};
pub use gram::{LossOptions, fit_loss_model};
pub use objective::Crm;
pub use risk::{Partial, Risk, instruction_set, truth};
pub use rows::{Question, RiskSpec};
pub use score::{Bootstrap, Moments, Replicates, Scored, score};
