//! A store: the blocks of a log in a file with a name, written once and read many times.
//!
//! ```text
//! header, 4096 bytes    "counterpoint-cps", version, rows of a block; two equal slots that say where the contents stand
//! constants             1024 ones, 1024 zeros: the weights and densities of logs that have none
//! blocks                each a head of 64 bytes (place, rows, length, checksum), then its columns, each at a multiple of 64 bytes
//! contents              JSON: columns and their words, sources, rows left out, where the blocks are
//! ```
//!
//! Numbers are little-endian f64, or f32 where that was asked for ([`Numbers`]). A block holds what a block in memory holds before all rows are known: words as numbers, gaps as NaN,
//! weights as they were given. So days can be added: what depends on all rows ([`Gathered`](super::gather::Gathered)) is done when the
//! store is opened, and where nothing depends on them the columns are used where they lie.
//!
//! What is written is never changed. New contents go behind everything else, and only then the slots point to them: whoever was killed
//! has left the store as it was, and whoever has it mapped sees the same bytes to the end.

mod block;
mod log;
mod numbers;
mod open;
mod state;
mod table;
mod write;

pub(super) use block::Shape;
pub(super) use log::log_of;
pub use numbers::Numbers;
pub use open::Store;
pub(super) use state::{SourceFile, State};
pub(super) use table::Cells;
pub(super) use write::{Last, Writer};

use super::log::BLOCK_ROWS;
use crate::error::Error;

/// How a store begins.
const MAGIC: &[u8; 16] = b"counterpoint-cps";
/// The version of the layout.
const VERSION: u32 = 1;
/// The header's bytes.
const HEADER: usize = 4096;
/// Where the two slots stand in it, and their bytes.
const SLOTS: [usize; 2] = [512, 1024];
const SLOT: usize = 40;
/// Columns, blocks and contents start at multiples of a cache line.
const LINE: usize = 64;
/// Where the ones and the zeros stand, and where the first block may.
const ONES: usize = HEADER;
const ZEROS: usize = ONES + BLOCK_ROWS * 8;
const FIRST: usize = ZEROS + BLOCK_ROWS * 8;

/// What is wrong with a store, and the remedy.
fn damaged(what: impl Into<String>) -> Error {
    Error::data(what).hint("the file was changed or cut after it was written: copy it again, or pack the log again")
}
