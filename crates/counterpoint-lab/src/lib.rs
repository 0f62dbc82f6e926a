//! The laboratory: logs whose truth is known, to learn from and to be judged by.
//!
//! A real log never says what another action would have earned. A simulated one does, so here the value of a
//! policy is a number and not an estimate, and every claim of the library can be held against it. The central type
//! is [`Potential`], the three synthetic environments of the paper; [`Potential::simulate`] draws a log from one.
//!
//! ```
//! use counterpoint_lab::{Potential, Split, reward};
//!
//! let log = Potential::Moons.simulate(3_000, 1);
//! let test = log.rows(Split::Test);
//! assert_eq!(test, 2_000..3_000);
//!
//! // What the log earned on its test rows, and what the best constant action per group would have earned there.
//! let logged = log.reward[test.clone()].iter().sum::<f64>() / 1_000.0;
//! let best = [0, 1].map(|g| Potential::Moons.oracle_action(g));
//! let oracle = test.map(|i| reward(best[log.group[i] as usize], log.potential[i])).sum::<f64>() / 1_000.0;
//! assert!(logged < 0.56 && oracle > 0.79);
//! ```
//!
//! This crate makes no promise of stability: it changes when an experiment does.

mod chess;
mod cocoa;
pub mod discrete;
mod logging;
mod online;
mod oracle;
mod outlier;
pub mod paper;
mod potentials;
pub mod protocol;
pub mod rivals;
pub mod validity;
mod warfarin;
mod whatif;

pub use chess::{CHESS_MEAN, CHESS_STD, Chess, chess_reward, chess_value};
pub use cocoa::{
    COCOA_ACTION_VARIANCE, COCOA_REWARD, COCOA_REWARDED, COCOA_VARIANCE, Cocoa, CocoaColumns, cocoa_amount, cocoa_best,
    cocoa_chance, cocoa_logging_mean, cocoa_logging_std, cocoa_online_value, cocoa_value, read_cocoa,
};
pub use logging::{LOGGING_MEAN, LOGGING_STD, logging_density};
pub use online::{DRAWS, logging_policy, online_value};
pub use oracle::expected_reward;
pub use outlier::{OUTLIER_ACTION, OUTLIER_CONTEXT, OUTLIER_REWARD, Outlier};
pub use potentials::{POTENTIAL_STD, Potential, Simulated, Split, UnknownPotential, reward};
pub use warfarin::{Warfarin, warfarin_cost};
pub use whatif::{WHATIF_STD, WhatIf};
