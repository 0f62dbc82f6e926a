//! counterpoint learns better decisions from logs.
//!
//! A [`Log`] holds what happened: contexts, continuous actions, the density with which they were chosen, costs. A
//! [`Policy`] is a density of actions given contexts. [`learn()`] finds a policy that would have done better, following a
//! [`Recipe`]; [`evaluate()`] says what a policy would have cost, and what that estimate rests on.
//!
//! ```
//! use counterpoint::data::SplitRule;
//! use counterpoint::policy::TargetPolicy;
//! use counterpoint::{Estimator, Log, Recipe, evaluate, learn};
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
//! let (action, log_density) = learned.policy.draw(&[0.5], 7, 0); // for the next log
//! # Ok::<(), counterpoint::Error>(())
//! ```
//!
//! # Where to look
//!
//! - The names at the root are enough to [`learn()`], [`evaluate()`], [`certify()`], [`select()`] and [`describe()`]; options are in the
//!   rooms of the same names ([`learn::Learner`], [`evaluate::Evaluator`], [`certify::Terms`], [`select::Grid`]).
//! - [`cookbook`]: learn, evaluate and certify your own policy, logs without propensities, shards, monitoring.
//! - The rooms, from what happened to what to do: [`data`], [`features`], [`policy`], [`estimate`], [`engine`], [`folds`], [`source`],
//!   [`optim`], [`recipe`], [`propensity`], [`certify`](mod@certify), [`explain`].
//! - [`error`](mod@error): one error, with its place and its remedy.
//!
//! The library never prints, never exits, never reads the environment. The same log, recipe and seed give the same bits on any number of
//! threads and shards.
//!
//! # Features
//!
//! All are on by default.
//!
//! - `readers`: logs from Parquet, CSV and Arrow files, and tables written to them ([`data`]). Without it the library works on columns
//!   in memory and has a third of the dependencies.
//! - `rivals`: learners of other methods, for comparison.
//! - `simulate`: simulated logs whose truth is known.

#![deny(unsafe_code)] // but for two places, each with its reason: a mapped file, and what may lie in one

pub mod budget;
pub mod certify;
#[doc = include_str!("cookbook.md")]
pub mod cookbook {}
pub mod data;
pub mod describe;
pub mod engine;
pub mod error;
pub mod estimate;
pub mod evaluate;
pub mod explain;
pub mod features;
pub mod folds;
mod grid;
pub mod learn;
mod linalg;
mod math;
pub mod models;
pub mod optim;
pub mod plan;
pub mod policy;
pub mod portfolio;
pub mod propensity;
pub mod recipe;
#[cfg(feature = "rivals")]
pub mod rivals;
mod rng;
pub mod select;
#[cfg(feature = "simulate")]
pub mod simulate;
pub mod source;
mod vector;

/// The snippets of the README, as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

pub use certify::{Certificate, Verdict, certify};
pub use data::Log;
pub use describe::describe;
pub use engine::Engine;
pub use error::{Error, Result};
pub use estimate::Estimator;
pub use evaluate::evaluate;
pub use learn::learn;
pub use policy::Policy;
pub use recipe::Recipe;
pub use select::select;
pub use source::Source;
