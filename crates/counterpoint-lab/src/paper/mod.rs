//! The paper, again: every table and figure as an experiment that can be run.
//!
//! An experiment is a function from its surroundings ([`Ask`]) to what it shows ([`Exhibit`]). [`exhibits`] lists them all.

mod anchors;
mod ask;
mod data;
mod exhibit;
mod table3;
mod bias;
mod exhibit;
mod parts;
mod table6;
mod table7;

pub use anchors::anchors;
pub use ask::{Ask, Effort};
pub use data::{World, drawn_potential, potential, read_potential, warfarin, warfarin_reward};
pub use exhibit::{Axis, Cell, Claim, Exhibit, Mark, Picture, Series, Table, Value};
pub use table3::table3;
pub use table6::table6;
pub use table7::table7;

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
