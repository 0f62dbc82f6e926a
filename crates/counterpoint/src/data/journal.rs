//! A journal of finished work: one JSON line a result, written and synced as soon as it is there.
//!
//! A process may be killed at any moment; what stands in the journal need not be done again. A last line that was cut in
//! half is ignored, and overwritten by the next.

use crate::error::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// An open journal.
pub struct Journal {
    path: PathBuf,
    /// Open once there is something to write.
    file: Mutex<Option<File>>,
}

impl Journal {
    /// Starts a journal. The file appears with the first result; one that is there already is not overwritten, because
    /// it is work somebody may want to go on with.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        if std::fs::metadata(&path).is_ok_and(|m| m.len() > 0) {
            return Err(Error::data("an interrupted run has left its journal")
                .at(path.display().to_string())
                .hint("add --resume to go on with it, or delete the file to start over"));
        }
        Ok(Journal { path, file: Mutex::new(None) })
    }

    /// Opens a journal to go on with, and returns what stands in it. A missing file is an empty journal.
    pub fn resume<T: DeserializeOwned>(path: impl AsRef<Path>) -> Result<(Self, Vec<T>)> {
        let path = path.as_ref().to_path_buf();
        let io = |e| Error::io(&path, e);
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        let (mut known, mut good) = (Vec::new(), 0);
        for line in bytes.split_inclusive(|b| *b == b'\n').filter(|l| l.ends_with(b"\n")) {
            match serde_json::from_slice(line) {
                Ok(entry) => known.push(entry),
                Err(e) => {
                    return Err(Error::data(format!("line {} of the journal is not readable: {e}", known.len() + 1))
                        .at(path.display().to_string())
                        .hint("delete the journal to start over"));
                }
            }
            good += line.len();
        }
        file.set_len(good as u64).and_then(|()| file.seek(SeekFrom::End(0))).map_err(io)?;
        Ok((Journal { path, file: Mutex::new(Some(file)) }, known))
    }

    /// Adds one result and makes sure it is on disk.
    pub fn add<T: Serialize>(&self, entry: &T) -> Result<()> {
        let mut line = serde_json::to_vec(entry).map_err(|e| Error::data(e.to_string()))?;
        line.push(b'\n');
        let io = |e| Error::io(&self.path, e);
        let mut slot = self.file.lock().unwrap_or_else(|e| e.into_inner());
        let file = match &mut *slot {
            Some(file) => file,
            none => none.insert(File::create(&self.path).map_err(io)?),
        };
        let before = file.stream_position().map_err(io)?;
        file.write_all(&line).and_then(|()| file.sync_data()).map_err(|e| {
            // half a line is no use to anybody, and a full disk may need the room
            let _ = file.set_len(before).and_then(|()| file.seek(SeekFrom::Start(before)));
            io(e)
        })
    }
}
