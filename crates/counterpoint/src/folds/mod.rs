//! The questions we ask of a log: where policies and estimators meet.
//!
//! [`Design`] holds the rows as the kernel wants them, features computed once; [`Risk`] is the fold behind every
//! training step and every evaluation; [`fit_loss_model`] is the ridge regression behind the direct method.

mod design;
mod expect;
mod facts;
mod forest;
mod gram;
mod near;
mod objective;
mod outcomes;
mod propensity;
mod residuals;
mod risk;
mod rows;
mod score;
mod target;
mod tree;
mod weights;

pub use crate::estimate::Moments;
pub use design::{Design, Precision};
pub use facts::{Mass, MeanAction, OutcomeFacts, PropensityMass};
pub use forest::{Forest, Masses};
pub use gram::{Gram, LossOptions, fit_loss_model};
pub(crate) use near::NearFold;
pub use near::{Distances, NearMean, NearSums, NearValue};
pub use objective::{Crm, Prepared, Threads};
pub use outcomes::{ClusterWeights, OutcomeDistribution, OutcomeLaw, Remaining, Without};
pub use propensity::{
    Densities, Density, FOLDS, Fit, FoldGrams, Frame, Scales, Spread, SpreadSums, Target, TargetScales,
};
pub use residuals::Residuals;
pub use risk::{Partial, Risk, instruction_set, truth};
pub use rows::{Question, RiskSpec};
pub use score::{Bootstrap, Control, Powers, Replicates, Scored, score, score_with};
pub(crate) use score::{Weigher, score_again, score_block};
pub(crate) use target::target_sums;
pub use target::{DRAWS, Entering, TargetAnswer, TargetSums};
pub use tree::{Growth, Ranked, Tree};
pub use weights::{Guarantee, Here, Shape, Shaped, Totalled, Totals, Weighed, WeightAnswer, WeightAsk, ask_weights};
