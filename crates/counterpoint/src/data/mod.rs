//! What happened: a log of contexts, actions, propensities and costs.
//!
//! A [`Log`] is a sequence of [`Block`]s of [`BLOCK_ROWS`] rows with named columns. The block size belongs to the log,
//! not to the machine, so that sums over blocks in their order are the same bits everywhere. Inside there are costs,
//! never rewards: the sign changes once, in the builder. Only this room opens files.

mod block_builder;
mod build;
mod check;
pub(crate) mod checksum;
mod claim;
#[cfg(feature = "readers")]
mod config;
pub(crate) mod files;
mod gather;
mod hashes;
mod input;
mod journal;
#[cfg(feature = "readers")]
mod likely;
mod log;
mod predicted;
mod propensities;
#[cfg(feature = "readers")]
mod read;
mod rows;
mod sample;
mod scratch;
mod sketch;
mod split;
#[cfg(feature = "readers")]
mod store;
mod summary;
#[cfg(feature = "readers")]
mod table;
mod target;
mod time;
mod view;
mod weighting;

/// A batch of rows in the memory layout of Apache Arrow; see [`Log::from_batches`].
#[cfg(feature = "readers")]
pub use arrow_array::RecordBatch;
pub use build::{LogBuilder, Role};
pub(crate) use check::Said;
pub use claim::Claim;
#[cfg(feature = "readers")]
pub use config::{LOG_CONFIG, LogConfig};
pub use files::{check_output, write_text, write_together};
pub use hashes::{Hashed, Hashes, Recognised};
pub(crate) use input::check_word;
pub use input::{Input, MAX_LEVELS, MISSING, Missing};
pub use journal::{Journal, Resumed};
#[cfg(feature = "readers")]
pub use likely::{LikelyCluster, likely_clusters, names_an_id};
pub use log::{BLOCK_ROWS, Block, Dropped, Log, Outcome, Schema};
pub use predicted::predicted_columns;
pub use propensities::{ActionModel, BareLog, Estimated, Propensities, PropensityRole};
#[cfg(feature = "readers")]
pub use read::{
    CloudSettings, ContextBatch, ContextDecoder, ContextReader, Into, Packed, Packing, ReadOptions, Roles,
    check_format, cloud_settings, columns, decoding, files_of, pack, read_bare_log, read_contexts, read_log,
};
pub use sample::{Sample, Sampled};
pub use scratch::{Scratch, Span};
pub use sketch::{ActionQuantiles, Digest, Distributions, EXACT, Quantiles};
pub use split::{Part, Parts, SplitRule};
#[cfg(feature = "readers")]
pub use store::{Numbers, Store};
pub use summary::{Columns, Summaries, Summary};
#[cfg(feature = "readers")]
pub use table::{Column, Table};
pub use target::TargetColumns;
pub use time::{parts_by_number, parts_by_time, parts_by_word};
pub use view::View;
pub use weighting::Weighting;
