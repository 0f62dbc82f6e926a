//! The paper, again: every table and figure as an experiment that can be run.
//!
//! An experiment is a function from its surroundings ([`Ask`]) to what it shows ([`Exhibit`]). [`exhibits`] lists them all.

mod agreement;
mod ask;
mod chess;
mod clipping;
mod curves;
mod draw;
mod exhibit;
mod outlier;
mod pool;
mod protocol;
mod proximal;
mod rates;
mod sets;
mod statistics;
mod whatif;

pub use agreement::ips_snips;
pub use ask::{Ask, Effort};
pub use chess::chess;
pub use clipping::clipping;
pub use curves::{contexts, reward_shape, soft_clipping};
pub use exhibit::{Axis, Cell, Claim, Exhibit, Mark, Picture, Series, Table, Value};
pub use outlier::outlier;
pub use protocol::{lower_bound, threshold};
pub use proximal::proximal;
pub use rates::rates;
pub use statistics::{Paired, bootstrap_mean, correlation, line, mean, r_squared, sign_test, std_error, wilcoxon};
pub use whatif::what_if;

use counterpoint::Result;

/// An experiment with its names.
pub struct Experiment {
    /// On the command line: `table2`, `soft-clipping`.
    pub name: &'static str,
    /// As a heading.
    pub title: &'static str,
    /// Where the paper has it.
    pub place: &'static str,
    /// Runs it.
    pub run: fn(&Ask) -> Result<Exhibit>,
}

/// All experiments, in the order of the paper.
pub fn exhibits() -> &'static [Experiment] {
    &[]
}
