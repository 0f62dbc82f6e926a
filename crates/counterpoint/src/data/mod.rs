//! What happened: a log of contexts, actions, propensities and costs.
//!
//! A [`Log`] is a sequence of [`Block`]s of [`BLOCK_ROWS`] rows with named columns. The block size belongs to the log,
//! not to the machine, so that sums over blocks in their order are the same bits everywhere. Inside there are costs,
//! never rewards: the sign changes once, in the builder. Only this room opens files.

mod build;
pub(crate) mod files;
mod log;
mod split;
mod summary;
#[cfg(feature = "readers")]
mod table;

pub use build::LogBuilder;
pub use log::{BLOCK_ROWS, Block, Log, Outcome, Schema};
pub use split::{Part, Parts, SplitRule};
pub use summary::Summary;
#[cfg(feature = "readers")]
pub use table::{Column, Roles, Table};
