//! Files written whole or not at all.

use crate::error::{Error, Result};
use std::io::Write;
use std::path::Path;

/// Writes to a temporary file beside `path` and renames it: a reader never sees half a file.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, |temporary| {
        let mut f = std::fs::File::create(temporary).map_err(|e| Error::io(path, e))?;
        f.write_all(bytes).and_then(|()| f.sync_all()).map_err(|e| Error::io(path, e))
    })
}

/// Lets `write` fill a temporary file beside `path`, then renames it; on failure nothing is left behind.
pub(crate) fn replace(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let done = write(&temporary).and_then(|()| std::fs::rename(&temporary, path).map_err(|e| Error::io(path, e)));
    if done.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    done
}

/// Reads a text file.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|e| Error::io(path, e))
}

/// Writes a text file whole or not at all.
pub fn write_text(path: impl AsRef<Path>, text: &str) -> Result<()> {
    write_whole(path.as_ref(), text.as_bytes())
}
