//! Files written whole or not at all.
//!
//! Everything the project writes goes through [`replace`]: a temporary file beside the target, then a rename. Several
//! files that belong together go through [`write_together`], so that a full disk leaves all of them or none. What is no
//! regular file (a pipe, /dev/null) cannot be replaced and is written in place.

use crate::error::{Error, Result};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes to a temporary file beside `path` and renames it: a reader never sees half a file.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, |temporary| fill(temporary, bytes).map_err(|e| Error::io(path, e)))
}

/// Lets `write` fill a temporary file beside `path`, then renames it; on failure nothing is left behind.
pub(crate) fn replace(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let Some((target, temporary)) = places(path)? else { return write(path) };
    let done = write(&temporary).and_then(|()| std::fs::rename(&temporary, &target).map_err(|e| Error::io(path, e)));
    if done.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    done
}

/// Writes several texts; if one of them cannot be written, none is there.
///
/// ```
/// use counterpoint::data::write_together;
/// let dir = std::env::temp_dir().join(format!("together-{}", std::process::id()));
/// std::fs::create_dir_all(&dir).unwrap();
/// let files = [(dir.join("a.txt"), "a".to_string()), (dir.join("missing").join("b.txt"), "b".to_string())];
/// assert!(write_together(&files).is_err() && !dir.join("a.txt").exists());
/// # std::fs::remove_dir_all(&dir).unwrap();
/// ```
pub fn write_together(files: &[(PathBuf, String)]) -> Result<()> {
    let mut staged: Vec<(&Path, PathBuf, PathBuf)> = Vec::new();
    let mut done = Ok(());
    for (path, text) in files {
        done = places(path).and_then(|p| {
            let to = p.as_ref().map_or(path, |(_, temporary)| temporary).clone();
            staged.extend(p.map(|(target, temporary)| (path.as_path(), target, temporary)));
            fill(&to, text.as_bytes()).map_err(|e| Error::io(path, e))
        });
        if done.is_err() {
            break;
        }
    }
    for (path, target, temporary) in &staged {
        done = done.and_then(|()| std::fs::rename(temporary, target).map_err(|e| Error::io(path, e)));
    }
    if done.is_err() {
        staged.iter().for_each(|(_, _, temporary)| drop(std::fs::remove_file(temporary)));
    }
    done
}

/// Refuses a path that could not be written, or that is one of the files that are read, before any work is done.
///
/// ```
/// use counterpoint::data::check_output;
/// let inputs = ["Cargo.toml".into()];
/// assert!(check_output("policy.json", &inputs).is_ok());
/// assert!(check_output("Cargo.toml", &inputs).unwrap_err().to_string().contains("is read by this command"));
/// assert!(check_output("missing/policy.json", &inputs).is_err());
/// ```
pub fn check_output(path: impl AsRef<Path>, inputs: &[PathBuf]) -> Result<()> {
    let path = path.as_ref();
    let bad = |what: String, hint: String| Err(Error::data(what).at(path.display().to_string()).hint(hint));
    if path.is_dir() || path.file_name().is_none() {
        let example = path.join("policy.json");
        return bad("it is a directory".into(), format!("name a file, for example {}", example.display()));
    }
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    if let Some(parent) = parent.filter(|p| !p.is_dir()) {
        let shown = parent.display();
        return match parent.exists() || parent.ancestors().any(Path::is_file) {
            true => bad(format!("{shown} is not a directory"), "choose another place for the output".into()),
            false => bad(format!("there is no directory {shown}"), format!("make it first: mkdir -p {shown}")),
        };
    }
    let whole = |p: &Path| p.canonicalize().ok();
    if let Some(input) = inputs.iter().find(|i| *i == path || whole(path).is_some_and(|p| whole(i) == Some(p))) {
        let what = format!("{} is read by this command and would be overwritten", input.display());
        return bad(what, "give the output another name".into());
    }
    let Some((_, temporary)) = places(path)? else { return Ok(()) };
    fill(&temporary, b"").map_err(|e| Error::io(path, e))?;
    std::fs::remove_file(&temporary).map_err(|e| Error::io(path, e))
}

/// The file a path means, links followed, and a temporary name beside it; `None` where it is no regular file.
fn places(path: &Path) -> Result<Option<(PathBuf, PathBuf)>> {
    if std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        return Ok(None);
    }
    let target = match path.is_symlink() {
        true => path.canonicalize().map_err(|e| Error::io(path, e))?,
        false => path.to_path_buf(),
    };
    let mut name = target.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = target.with_file_name(name);
    Ok(Some((target, temporary)))
}

fn fill(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = std::fs::File::create(path)?;
    file.write_all(bytes)?;
    match file.metadata()?.is_file() {
        true => file.sync_all(),
        false => file.flush(),
    }
}

/// Reads a text file.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|e| Error::io(path, e))
}

/// Writes a text file whole or not at all.
pub fn write_text(path: impl AsRef<Path>, text: &str) -> Result<()> {
    write_whole(path.as_ref(), text.as_bytes())
}
