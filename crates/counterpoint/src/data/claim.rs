//! One writer at a time: locks on outputs and journals, held by whoever works towards them.
//!
//! A lock of the operating system ends with its process, however that ends; so nothing has to be cleaned up by hand. The lock of
//! an output stands in a hidden file beside it, because the output itself is replaced when it is written.

use crate::error::{Error, Result};
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// An output that no other process may work towards while this lives.
pub struct Claim {
    lock: PathBuf,
    /// Locked until it is closed.
    file: File,
}

impl Claim {
    /// Claims an output; where another process has it, an error that says which. What is no regular file cannot be claimed, nor
    /// what stands where there are no locks.
    pub fn on(path: impl AsRef<Path>) -> Result<Option<Claim>> {
        let path = path.as_ref();
        let special = std::fs::metadata(path).is_ok_and(|m| !m.is_file());
        let Some(name) = path.file_name().filter(|_| !special) else { return Ok(None) };
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(".lock");
        let lock = path.with_file_name(hidden);
        loop {
            // never through a link that somebody has put there
            if lock.is_symlink() {
                return Ok(None);
            }
            let opened = File::options().read(true).write(true).create(true).truncate(false).open(&lock);
            let Ok(mut file) = opened else { return Ok(None) };
            match held(&mut file, path)? {
                true if is_at(&file, &lock) => {
                    let _ = sign(&mut file);
                    return Ok(Some(Claim { lock, file }));
                }
                true => {} // its last owner took it away between our opening and our locking: once more
                false => return Ok(None),
            }
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // taken away while it is still held, so that nobody can hold it and find it gone
        let _ = std::fs::remove_file(&self.lock);
        let _ = self.file.unlock();
    }
}

/// Locks an open file for this process: true where that went well, false where there are no locks, an error where another process
/// has it. `path` is what the other is working on.
pub(super) fn held(file: &mut File, path: &Path) -> Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::Error(_)) => Ok(false),
        Err(TryLockError::WouldBlock) => {
            let mut owner = String::new();
            let _ = file.rewind().and_then(|()| file.take(64).read_to_string(&mut owner));
            let number: String = owner.chars().filter(char::is_ascii_digit).collect();
            let who = if number.is_empty() { "another process".into() } else { format!("another process ({number})") };
            Err(Error::data(format!("{who} is working on it"))
                .at(path.display().to_string())
                .hint("wait until it is done, or give this run another output"))
        }
    }
}

/// Writes down whose the lock is.
fn sign(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

/// Whether an open file is the one that stands at a path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let own = file.metadata().map(|m| (m.dev(), m.ino()));
    // not followed: a link put there meanwhile is not our file
    let there = std::fs::symlink_metadata(path).map(|m| (m.dev(), m.ino()));
    own.is_ok_and(|own| there.is_ok_and(|there| there == own))
}

/// Whether an open file is the one that stands at a path.
#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_has_one_owner_and_leaves_no_trace() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.json");
        let first = Claim::on(&path).unwrap().unwrap();
        let said = Claim::on(&path).err().unwrap().to_string();
        assert!(said.contains(&format!("another process ({}) is working on it", std::process::id())), "{said}");
        assert!(Claim::on(dir.path().join("q.json")).unwrap().is_some());
        drop(first);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        // a lock file whose owner was killed is nobody's
        std::fs::write(dir.path().join(".p.json.lock"), "4194399\n").unwrap();
        assert!(Claim::on(&path).unwrap().is_some());
    }
}
