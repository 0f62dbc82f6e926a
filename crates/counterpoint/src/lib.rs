//! counterpoint learns better decisions from logs.
//!
//! A [`Log`] holds what happened: contexts, continuous actions, the density with which they were chosen, costs. A
//! [`Policy`] is a density of actions given contexts. [`learn`] finds a policy that would have done better, following a
//! [`Recipe`]; [`evaluate`] says what a policy would have cost, and what that estimate rests on.
//!
//! ```
//! use counterpoint::{Estimator, Log, Recipe, SplitRule, evaluate, learn};
//!
//! // uniform actions on (0, 3); the best action is 1 + x
//! let n = 3000;
//! let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7548776662).fract()).collect();
//! let a: Vec<f64> = (0..n).map(|i| 3.0 * (i as f64 * 0.5698402910).fract()).collect();
//! let reward = x.iter().zip(&a).map(|(x, a)| 1.0 - (a - 1.0 - x).abs()).collect();
//! let log = Log::builder().context("x", x).action("a", a).reward("reward", reward)
//!     .propensity("density", vec![1.0 / 3.0; n]).build()?;
//!
//! let parts = log.split(SplitRule::default())?;
//! let learned = learn(&parts.train, &Recipe::default())?;
//! let estimate = evaluate(&parts.valid, &learned.policy, &Estimator::SNIPS)?;
//! assert!(estimate.lower > estimate.logged); // rewards: more is better
//! let (action, log_density) = learned.policy.sample(&[0.5], 7, 0); // for the next log
//! # Ok::<(), counterpoint::Error>(())
//! ```
//!
//! The rooms, from what happened to what to do: [`data`], [`features`], [`policy`], [`estimate`], [`engine`], [`folds`],
//! [`source`], [`optim`], [`recipe`]; [`propensity`] where none were logged. The library never prints, never exits, never reads the environment.

#![deny(unsafe_code)] // but for two places, each with its reason: a mapped file, and what may lie in one

pub mod certify;
pub mod data;
mod describe;
pub mod engine;
mod error;
pub mod estimate;
mod evaluate;
pub mod explain;
pub mod features;
pub mod folds;
mod grid;
mod learn;
mod linalg;
pub mod optim;
pub mod policy;
pub mod propensity;
pub mod recipe;
#[cfg(feature = "rivals")]
pub mod rivals;
mod rng;
mod select;
#[cfg(feature = "simulate")]
pub mod simulate;
pub mod source;
mod vector;

/// The snippets of the README, as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

pub use certify::{Certificate, Gate, Terms, Verdict, certify};
pub use data::{Log, Part, SplitRule};
pub use describe::{ColumnFacts, Description, PropensityCheck, Reach, ReachLine, Support, describe};
pub use engine::Engine;
pub use error::{Error, Kind as ErrorKind, Result};
pub use estimate::{Estimator, Form, Normalise, Weight};
pub use evaluate::{Aids, Estimate, Evaluator, evaluate, every_estimator};
pub use grid::Grid;
pub use learn::{Learned, Learner, Progress, Start, Watch, fit_model, learn};
pub use policy::{Family, Policy};
pub use recipe::Recipe;
pub use select::{Cut, Divided, Entry, Fit, Memory, Selected, Step, select};
pub use source::Source;
