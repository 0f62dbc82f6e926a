//! How a context or an action becomes numbers.
//!
//! A [`ContextMap`] turns scaled contexts into the columns psi_X of a mean or a loss model; an [`ActionMap`] is the
//! Nystrom map psi_A of the Gaussian kernel on a few [`anchors`](anchors::Anchors). Both are plain data: they are
//! learned once on the training part and travel inside the policy file.

mod action;
pub mod anchors;
mod context;
mod kmeans;
mod scale;

pub use action::{ActionMap, Slopes};
pub use anchors::Anchors;
pub use context::{ContextKind, ContextMap, Learn as MapOptions};
pub use kmeans::kmeans;
pub use scale::{Scale, Scaler};
