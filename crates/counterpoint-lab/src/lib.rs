//! The laboratory: the paper's experiments, and the library's claims held against logs whose truth is known.
//!
//! The logs come from [`counterpoint::simulate`], the methods of others from [`counterpoint::rivals`]; both are
//! re-exported here. This crate makes no promise of stability: it changes when an experiment does.

mod cocoa;
pub mod discrete;
mod loans;
pub mod paper;
pub mod protocol;
mod published;
pub mod suite;
pub mod validity;
mod warfarin;
pub mod worlds;

pub use cocoa::{CocoaColumns, read_cocoa};
pub use counterpoint::rivals;
pub use counterpoint::simulate::*;
pub use loans::{LOAN_COLUMNS, read_loans, shares};
pub use warfarin::{Warfarin, warfarin_cost};
