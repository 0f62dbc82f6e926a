//! The paper, again: every table and figure as an experiment that can be run.
//!
//! An experiment is a function from its surroundings ([`Ask`]) to what it shows ([`Exhibit`]). [`exhibits`] lists them all.

mod ask;
mod exhibit;
mod table1;
mod table2;
mod table4;
mod table5;

pub use ask::{Ask, Effort};
pub use exhibit::{Axis, Cell, Claim, Exhibit, Mark, Picture, Series, Table, Value};

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
    const ALL: &[Experiment] = &[
        Experiment {
            name: "table1",
            title: "What the log of bids looks like",
            place: "Table 1, Section 6.1",
            run: table1::run,
        },
        Experiment {
            name: "table2",
            title: "Which class of policies learns most",
            place: "Table 2, Section 7.2",
            run: table2::run,
        },
        Experiment {
            name: "table4",
            title: "How often the offline protocol errs",
            place: "Table 4, Appendix D.2",
            run: table4::run,
        },
        Experiment { name: "table5", title: "The hyperparameters", place: "Table 5, Appendix F.2", run: table5::run },
    ];
    ALL
}
