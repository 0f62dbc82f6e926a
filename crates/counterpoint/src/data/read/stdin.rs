//! Standard input as a log, named `-`: CSV or JSON lines, packed with gzip or not, told by the first bytes.
//!
//! It can be read once. Who only wants to know the columns looks at the first megabyte, which is kept for who reads the rows.

use crate::error::{Error, Result};
use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// How much is looked at.
const PEEK: u64 = 1 << 20;

/// What was looked at and not yet read; none before the first look.
static PEEKED: Mutex<Option<Vec<u8>>> = Mutex::new(None);
/// Whether the rows were read.
static READ: Mutex<bool> = Mutex::new(false);

/// Whether a path means standard input.
pub(in super::super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The beginning, to be looked at.
pub(super) fn peek() -> Result<Vec<u8>> {
    let mut peeked = PEEKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(first) = &*peeked {
        return Ok(first.clone());
    }
    let mut first = Vec::new();
    std::io::stdin().lock().take(PEEK).read_to_end(&mut first).map_err(|e| Error::io("-", e))?;
    Ok(peeked.insert(first).clone())
}

/// All of it, once.
pub(super) fn open() -> Result<Box<dyn Read + Send>> {
    let first = peek()?;
    if std::mem::replace(&mut *READ.lock().unwrap_or_else(PoisonError::into_inner), true) {
        return Err(Error::data("standard input can be read once, and this needs it twice")
            .hint("write it to a file first, or pack it into a store"));
    }
    Ok(Box::new(Cursor::new(first).chain(std::io::stdin())))
}
