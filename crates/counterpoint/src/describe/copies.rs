//! Rows that stand more than once in a log, with every number the same.

use crate::data::{Hashes, Recognised};
use crate::error::Result;
use crate::source::Source;

/// Rows that are looked at: those with the smallest hashes, a fair sample.
const LOOKED_AT: usize = 4096;

/// That rows have copies, in words; nothing where none was found.
pub(super) fn copies(log: &dyn Source) -> Result<Option<String>> {
    let rows = log.recognise(Hashes::of(LOOKED_AT, Recognised::Content))?;
    let looked_at = rows.smallest.len();
    let copied: usize = rows.smallest.chunk_by(|a, b| a == b).map(|run| run.len() - 1).sum();
    Ok((copied > 0).then(|| {
        format!(
            "{copied} of {looked_at} rows looked at are copies of another row, with every number the same: on a grid of contexts, actions \
             and outcomes that is natural; otherwise the log holds rows twice, and no error of it can be believed"
        )
    }))
}
