//! counterpoint learns better decisions from logs.

#![forbid(unsafe_code)]

pub mod data;
pub mod engine;
mod error;
pub mod estimate;
pub mod features;
pub mod folds;
mod linalg;
pub mod optim;
pub mod policy;
mod rng;

pub use data::{Log, Part, SplitRule};
pub use engine::Engine;
pub use error::{Error, Kind as ErrorKind, Result};
pub use estimate::{Estimator, Form, Normalise, Weight};
pub use policy::{Family, Policy};
