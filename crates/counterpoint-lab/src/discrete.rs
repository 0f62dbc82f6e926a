//! Softmax policies over buckets: the library's own, and the authors' published code beside it.

pub use crate::published::{
    Coefficients, Constants, Divisor, PublishedRecipe, PublishedRisk, Taken, Training, evaluate_published,
    learn_published, published_buckets,
};
pub use counterpoint::policy::{BucketSoftmax as DiscretePolicy, Buckets};
pub use counterpoint::rivals::discrete::*;
