//! A journal of finished work: one line a result, written and synced as soon as it is there.
//!
//! ```text
//! counterpoint-journal 1 5d5cb14a7a47b36a counterpoint 0.1.0 who wrote it, with a checksum
//! 8d3f0c5a1be01d42 {"key":...}                             a result as JSON, with a checksum
//! ```
//!
//! A process may be killed at any moment; what stands in the journal need not be done again. A last line that was cut in
//! half is ignored, and overwritten by the next. A line that was damaged is left out and counted, the others are believed. A
//! journal of another program is not: its results could differ in their bits. (Another machine's is: bits do not depend on that.)
//! While a journal is open it is locked, so that two processes never write into one.

use super::checksum::Checksum;
use super::claim::held;
use crate::error::{Error, Hint, Remedy, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// How the first line begins.
const FORMAT: &str = "counterpoint-journal 1 ";

/// An open journal.
pub struct Journal {
    path: PathBuf,
    /// Who writes: results of others are not believed.
    writer: String,
    /// Open once there is something to write.
    file: Mutex<Option<File>>,
}

/// A journal to go on with.
pub struct Resumed<T> {
    /// The journal.
    pub journal: Journal,
    /// The results that stand in it.
    pub known: Vec<T>,
    /// Lines that were damaged and are left out.
    pub damaged: usize,
}

impl Journal {
    /// Starts a journal. The file appears with the first result; one that is there already is not overwritten, because
    /// it is work somebody may want to go on with. `writer` is the program in one line: its version and whatever else its results
    /// depend on beside their keys.
    pub fn create(path: impl AsRef<Path>, writer: &str) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        if std::fs::metadata(&path).is_ok_and(|m| m.len() > 0) {
            return Err(occupied(&path));
        }
        Ok(Journal { path, writer: one_line(writer), file: Mutex::new(None) })
    }

    /// Opens a journal to go on with, and returns what stands in it. A missing file is an empty journal.
    pub fn resume<T: DeserializeOwned>(path: impl AsRef<Path>, writer: &str) -> Result<Resumed<T>> {
        let (path, writer) = (path.as_ref().to_path_buf(), one_line(writer));
        let io = |e| Error::io(&path, e);
        let mut file = open(&path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let mut lines = bytes[..whole].split_inclusive(|b| *b == b'\n');
        match lines.next() {
            Some(first) => check_writer(first, &writer).map_err(|e| e.at(path.display().to_string()))?,
            None => begin(&mut file, &writer).map_err(io)?,
        }
        let (mut known, mut damaged) = (Vec::new(), 0);
        for line in lines {
            match entry(line) {
                Some(entry) => known.push(entry),
                None => damaged += 1,
            }
        }
        let end = if whole == 0 { file.stream_position().map_err(io)? } else { whole as u64 };
        file.set_len(end).and_then(|()| file.seek(SeekFrom::End(0))).map_err(io)?;
        Ok(Resumed { journal: Journal { path, writer, file: Mutex::new(Some(file)) }, known, damaged })
    }

    /// Adds one result and makes sure it is on disk.
    pub fn add<T: Serialize>(&self, entry: &T) -> Result<()> {
        let json = serde_json::to_string(entry).map_err(|e| Error::data(e.to_string()))?;
        let io = |e| Error::io(&self.path, e);
        let mut slot = self.file.lock().unwrap_or_else(|e| e.into_inner());
        let file = match &mut *slot {
            Some(file) => file,
            none => none.insert(self.start()?),
        };
        let before = file.stream_position().map_err(io)?;
        let line = format!("{} {json}\n", Checksum::of(json.as_bytes()));
        file.write_all(line.as_bytes()).and_then(|()| file.sync_data()).map_err(|e| {
            // half a line is no use to anybody, and a full disk may need the room
            let _ = file.set_len(before).and_then(|()| file.seek(SeekFrom::Start(before)));
            io(e)
        })
    }

    /// The file of a new journal.
    fn start(&self) -> Result<File> {
        let mut file = open(&self.path)?;
        if file.metadata().map_err(|e| Error::io(&self.path, e))?.len() > 0 {
            return Err(occupied(&self.path));
        }
        begin(&mut file, &self.writer).map_err(|e| {
            let _ = file.set_len(0);
            Error::io(&self.path, e)
        })?;
        Ok(file)
    }
}

fn occupied(path: &Path) -> Error {
    Error::data("an interrupted run has left its journal")
        .at(path.display().to_string())
        .hint(Hint::from(Remedy::Resume) + " goes on with it; or delete the file to start over")
}

/// Opens and locks.
fn open(path: &Path) -> Result<File> {
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    let mut file = opened.map_err(|e| Error::io(path, e))?;
    held(&mut file, path)?;
    Ok(file)
}

/// Writes the first line.
fn begin(file: &mut File, writer: &str) -> std::io::Result<()> {
    file.rewind()?;
    file.write_all(format!("{FORMAT}{} {writer}\n", Checksum::of(writer.as_bytes())).as_bytes())
}

/// Refuses a journal of another writer.
fn check_writer(line: &[u8], ours: &str) -> Result<()> {
    let over = "delete the journal to start over";
    let Some(rest) = line.strip_prefix(FORMAT.as_bytes()) else {
        let what = match line.first() {
            Some(b'{' | b'[') => "the journal is of an earlier version, whose results had no checksums",
            _ => "it is not a journal, or its first line is damaged",
        };
        return Err(Error::data(what).hint(over));
    };
    match checked(rest) {
        Some(theirs) if theirs == ours => Ok(()),
        Some(theirs) => Err(Error::data(format!("its results are those of {theirs}; this is {ours}"))
            .hint(format!("go on with the program that began it, or {over}"))),
        None => Err(Error::data("the first line of the journal is damaged").hint(over)),
    }
}

/// The text of a line whose checksum is right.
fn checked(line: &[u8]) -> Option<&str> {
    let (sum, text) = std::str::from_utf8(line).ok()?.trim_end_matches('\n').split_once(' ')?;
    (sum == Checksum::of(text.as_bytes()).to_string()).then_some(text)
}

fn entry<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    serde_json::from_str(checked(line)?).ok()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.journal");
        (dir, path)
    }

    fn known(path: &Path) -> (Vec<(String, f64)>, usize) {
        let r = Journal::resume::<(String, f64)>(path, "test 1").unwrap();
        (r.known, r.damaged)
    }

    fn filled(path: &Path) -> Vec<(String, f64)> {
        let entries: Vec<(String, f64)> = (0..5).map(|i| (format!("work {i}"), 0.1 * f64::from(i))).collect();
        let journal = Journal::create(path, "test 1").unwrap();
        assert!(!path.exists());
        entries.iter().for_each(|e| journal.add(e).unwrap());
        entries
    }

    #[test]
    fn what_was_added_is_known_and_a_half_line_is_overwritten() {
        let (_dir, path) = place();
        let entries = filled(&path);
        assert_eq!(known(&path), (entries.clone(), 0));
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.truncate(bytes.len() - 3);
        std::fs::write(&path, &bytes).unwrap();
        let r = Journal::resume::<(String, f64)>(&path, "test 1").unwrap();
        assert_eq!((&r.known[..], r.damaged), (&entries[..4], 0));
        r.journal.add(&entries[4]).unwrap();
        drop(r);
        assert_eq!(known(&path), (entries, 0));
    }

    #[test]
    fn no_flipped_bit_changes_a_result() {
        let (_dir, path) = place();
        let entries = filled(&path);
        let bytes = std::fs::read(&path).unwrap();
        let header = bytes.iter().position(|b| *b == b'\n').unwrap();
        for at in 0..bytes.len() {
            for bit in [0, 3, 7] {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                std::fs::write(&path, &damaged).unwrap();
                match Journal::resume::<(String, f64)>(&path, "test 1") {
                    Ok(r) => {
                        assert!(at > header || damaged[header] != b'\n', "byte {at}");
                        assert!(r.known.iter().all(|e| entries.contains(e)), "byte {at} bit {bit}: {:?}", r.known);
                        assert!(r.known.len() >= 3, "byte {at} bit {bit}");
                    }
                    Err(e) => assert!(at <= header && e.remedy().is_some(), "byte {at}: {e}"),
                }
            }
        }
    }

    #[test]
    fn a_journal_of_another_writer_or_version_is_refused() {
        let (_dir, path) = place();
        filled(&path);
        let said = Journal::resume::<(String, f64)>(&path, "test 2").err().unwrap().to_string();
        assert!(said.contains("those of test 1; this is test 2"), "{said}");
        std::fs::write(&path, "[\"work\",1.0]\n").unwrap();
        let said = Journal::resume::<(String, f64)>(&path, "test 1").err().unwrap().to_string();
        assert!(said.contains("of an earlier version"), "{said}");
    }

    #[test]
    fn a_journal_has_one_owner() {
        let (_dir, path) = place();
        let first = Journal::resume::<(String, f64)>(&path, "test 1").unwrap();
        let said = Journal::resume::<(String, f64)>(&path, "test 1").err().unwrap().to_string();
        assert!(said.contains("another process") && said.contains("is working on it"), "{said}");
        drop(first);
        assert!(Journal::resume::<(String, f64)>(&path, "test 1").is_ok());
        // two that began at once: the second finds the first's work and does not touch it
        std::fs::remove_file(&path).unwrap();
        let [a, b] = [(); 2].map(|()| Journal::create(&path, "test 1").unwrap());
        a.add(&("work", 1.0)).unwrap();
        assert!(b.add(&("work", 2.0)).is_err());
        drop(a);
        assert!(b.add(&("work", 2.0)).is_err());
        assert_eq!(known(&path).0, [("work".to_string(), 1.0)]);
    }
}
