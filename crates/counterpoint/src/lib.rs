//! counterpoint learns better decisions from logs.

#![forbid(unsafe_code)]

pub mod data;
pub mod engine;
mod error;
pub mod estimate;
mod evaluate;
pub mod features;
pub mod folds;
mod learn;
mod linalg;
pub mod optim;
pub mod policy;
pub mod recipe;
mod rng;

pub use data::{Log, Part, SplitRule};
pub use engine::Engine;
pub use error::{Error, Kind as ErrorKind, Result};
pub use estimate::{Estimator, Form, Normalise, Weight};
pub use evaluate::{Estimate, evaluate};
pub use learn::{Learned, Progress, Start, Watch, learn, learn_knowing};
pub use policy::{Family, Policy};
pub use recipe::Recipe;
