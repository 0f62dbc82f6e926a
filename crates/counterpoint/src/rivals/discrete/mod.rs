//! The baseline the paper argues against: cut the actions into buckets and learn a softmax over them.
//!
//! ```text
//! p_k(x) = softmax_k(<psi_X(x), theta_k>),   q_k(x) = integral of pi0(.|x) over bucket k,   w = p_b(x) / q_b(x)
//! ```
//!
//! with b the bucket of the logged action. Buckets lie between quantiles of the logged actions ([`Buckets`](crate::policy::Buckets)). Everything
//! an estimator needs is a weight, a cost and a model a bucket, so the table of [`crate::estimate`] serves
//! here too: IPS and its clipped kin, SNIPS, DM, DR, SWITCH, CAB and CAB-DR. With finitely many actions the sums over them are
//! exact, which is why the paper has SWITCH, CAB and CAB-DR in this form only.
//!
//! ```text
//! DR, CAB-DR     v (y - eta_b) + sum_k p_k eta_k
//! SWITCH, CAB    v y           + sum_k (p_k - q_k v_k) eta_k      v_k: the transformed weight of bucket k
//! ```
//!
//! What is estimated: w weighs every action of a bucket alike, so these are estimates of the policy that draws a bucket
//! and then acts as the log did inside it. What is done: the bucket's median ([`Buckets::centre`](crate::policy::Buckets::centre)), one action a bucket, as
//! a discrete policy must. The gap between the two is the price of discretisation and closes as buckets become narrow. As
//! a density the policy is uniform within a bucket ([`BucketSoftmax::log_density`](crate::policy::BucketSoftmax::log_density)), so that it can be judged by
//! continuous weights too ([`Reference::Density`]).

mod learn;
mod logging;
mod risk;
mod rows;
#[cfg(all(test, feature = "simulate"))]
mod tests;

pub use learn::{DiscreteLearned, DiscreteRecipe, estimate, evaluate_discrete, fit_bucket_model, learn_discrete};
pub use logging::Logging;
pub use risk::SoftmaxRisk;
pub use rows::{Reference, Rows};
