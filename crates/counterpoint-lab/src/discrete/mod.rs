//! The baseline the paper argues against: cut the actions into buckets and learn a softmax over them.
//!
//! ```text
//! p_k(x) = softmax_k(<psi_X(x), theta_k>),   q_k(x) = integral of pi0(.|x) over bucket k,   w = p_b(x) / q_b(x)
//! ```
//!
//! with b the bucket of the logged action. Buckets lie between quantiles of the logged actions ([`Buckets`]). Everything
//! an estimator needs is a weight, a cost and a model a bucket, so the table of [`counterpoint::estimate`] serves
//! here too: IPS and its clipped kin, SNIPS, DM, DR, SWITCH, CAB and CAB-DR. With finitely many actions the sums over them are
//! exact, which is why the paper has SWITCH, CAB and CAB-DR in this form only.
//!
//! ```text
//! DR, CAB-DR     v (y - eta_b) + sum_k p_k eta_k
//! SWITCH, CAB    v y           + sum_k (p_k - q_k v_k) eta_k      v_k: the transformed weight of bucket k
//! ```
//!
//! What is estimated: w weighs every action of a bucket alike, so these are estimates of the policy that draws a bucket
//! and then acts as the log did inside it. What is done: the bucket's median ([`Buckets::centre`]), one action a bucket, as
//! a discrete policy must. The gap between the two is the price of discretisation and closes as buckets become narrow. As
//! a density the policy is uniform within a bucket ([`DiscretePolicy::log_density`]), so that it can be judged by
//! continuous weights too ([`Reference::Density`]).
//!
//! The authors' published code learns such policies in another way. [`learn_published`] does as it does, so that what this costs can
//! be measured.

mod buckets;
mod learn;
mod logging;
mod policy;
mod published;
mod risk;
mod rows;
#[cfg(test)]
mod tests;

pub use buckets::Buckets;
pub use learn::{DiscreteLearned, DiscreteRecipe, evaluate_discrete, fit_bucket_model, learn_discrete};
pub use logging::Logging;
pub use policy::DiscretePolicy;
pub use published::{
    Coefficients, Constants, Divisor, PublishedRecipe, PublishedRisk, Taken, Training, evaluate_published,
    learn_published,
};
pub use risk::SoftmaxRisk;
pub use rows::{Reference, Rows};
