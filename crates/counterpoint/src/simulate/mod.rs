//! Simulated logs whose truth is known: environments to learn from, and the true value of a policy in them.
//!
//! A real log never says what another action would have earned. A simulated one does, so here the value of a policy is a
//! number and not an estimate, and off-policy estimates can be held against it. [`Potential`] has the three synthetic
//! environments of the paper; [`Cocoa`] is a twin of its log of real-time bids, rewards rare and heavy-tailed; [`Chess`],
//! [`Outlier`] and [`WhatIf`] show where off-policy evaluation fails and how that is seen.
//!
//! ```
//! use counterpoint::simulate::{Potential, Split, reward};
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

mod chess;
mod cocoa;
mod logging;
mod online;
mod oracle;
mod outlier;
mod potentials;
mod whatif;

pub use chess::{CHESS_MEAN, CHESS_STD, Chess, chess_reward, chess_value};
pub use cocoa::{
    COCOA_ACTION_VARIANCE, COCOA_REWARD, COCOA_REWARDED, COCOA_VARIANCE, Cocoa, cocoa_amount, cocoa_best, cocoa_chance,
    cocoa_logging_mean, cocoa_logging_std, cocoa_online_value, cocoa_value,
};
pub use logging::{LOGGING_MEAN, LOGGING_STD, logging_density};
pub use online::{DRAWS, logging_policy, online_value};
pub use oracle::expected_reward;
pub use outlier::{OUTLIER_ACTION, OUTLIER_CONTEXT, OUTLIER_REWARD, Outlier};
pub use potentials::{POTENTIAL_STD, Potential, Simulated, Split, UnknownPotential, reward};
pub use whatif::{WHATIF_STD, WhatIf};
