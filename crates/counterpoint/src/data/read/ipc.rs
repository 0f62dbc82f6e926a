//! Arrow files are believed only after their lengths were added up: a decoder takes memory by what a file says of itself.
//!
//! Every block must lie within the file, and every buffer within its block. Packed buffers say how long they are unpacked; all of
//! a batch together may not be longer than [`RATIO`] times the file, or [`ALWAYS`] where that is more. Rows are at least one bit.

use super::open::broken;
use crate::error::{Error, Result};
use std::io::{Read, Seek, SeekFrom};

/// Columns of one value pack well; beyond this it is no log.
const RATIO: u64 = 1000;

/// So many bytes may be unpacked from any file.
const ALWAYS: u64 = 1 << 28;

/// So many rows without any byte may be in any batch.
const ROWS: u64 = 1 << 20;

/// Refuses a file whose lengths it cannot hold.
pub(super) fn check(file: &mut (impl Read + Seek)) -> Result<()> {
    let length = file.seek(SeekFrom::End(0)).map_err(broken)?;
    let complete = "is the file complete? A stream of Arrow messages must be written as an Arrow file";
    let mut tail = [0; 10];
    if length < 10 {
        return Err(broken("the file is too short").hint(complete));
    }
    file.seek(SeekFrom::End(-10)).and_then(|_| file.read_exact(&mut tail)).map_err(broken)?;
    let size = arrow_ipc::reader::read_footer_length(tail).map_err(|e| broken(e).hint(complete))? as u64;
    if size > length - 10 {
        return Err(too_long("its footer", size, length));
    }
    let footer = bytes(file, length - 10 - size, size)?;
    let footer = arrow_ipc::root_as_footer(&footer).map_err(broken)?;
    let blocks = footer.dictionaries().into_iter().flatten().chain(footer.recordBatches().into_iter().flatten());
    for block in blocks {
        check_block(file, block, length)?;
    }
    file.rewind().map_err(broken)
}

fn check_block(file: &mut (impl Read + Seek), block: &arrow_ipc::Block, length: u64) -> Result<()> {
    let part = |v: i64| u64::try_from(v).map_err(|_| broken("a length is negative"));
    let (offset, head) = (part(block.offset())?, part(i64::from(block.metaDataLength()))?);
    let body = part(block.bodyLength())?;
    let end = offset.checked_add(head).and_then(|e| e.checked_add(body)).unwrap_or(u64::MAX);
    if end > length {
        return Err(too_long("a block", end, length));
    }
    let message = bytes(file, offset, head)?;
    let skip = if message.starts_with(&[0xff; 4]) { 8 } else { 4 };
    let message = arrow_ipc::root_as_message(message.get(skip..).unwrap_or_default()).map_err(broken)?;
    let batch = message
        .header_as_record_batch()
        .or_else(|| message.header_as_dictionary_batch().and_then(|d| d.data()))
        .ok_or_else(|| broken("a block holds neither rows nor words"))?;
    let packed = batch.compression().is_some();
    let mut total = 0u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let (at, size) = (part(buffer.offset())?, part(buffer.length())?);
        if at.checked_add(size).is_none_or(|e| e > body) {
            return Err(too_long("a buffer", at.saturating_add(size), body));
        }
        total =
            total.saturating_add(if packed && size >= 8 { unpacked(file, offset + head + at, size)? } else { size });
    }
    if total > ALWAYS.max(length.saturating_mul(RATIO)) {
        return Err(too_long("a batch unpacked", total, length));
    }
    let rows = part(batch.length())?;
    match rows > total.saturating_mul(8).saturating_add(ROWS) {
        true => Err(broken(format!("it says that {rows} rows are in {total} bytes"))),
        false => Ok(()),
    }
}

/// How long a packed buffer says it is unpacked; -1 marks one that is not packed.
fn unpacked(file: &mut (impl Read + Seek), at: u64, size: u64) -> Result<u64> {
    let prefix = bytes(file, at, 8)?;
    let said = prefix.try_into().map(i64::from_le_bytes).unwrap_or_default();
    match said {
        -1 => Ok(size),
        said => u64::try_from(said).map_err(|_| broken("a length is negative")),
    }
}

/// Bytes that were found to be within the file.
fn bytes(file: &mut (impl Read + Seek), at: u64, size: u64) -> Result<Vec<u8>> {
    let mut to = Vec::new();
    file.seek(SeekFrom::Start(at)).map_err(broken)?;
    file.take(size).read_to_end(&mut to).map_err(broken)?;
    match to.len() as u64 == size {
        true => Ok(to),
        false => Err(broken("the file ends too early")),
    }
}

fn too_long(what: &str, said: u64, room: u64) -> Error {
    broken(format!("{what} says it is {said} bytes long, in {room} bytes"))
}
