//! Files written whole or not at all.
//!
//! Everything the project writes goes through [`replace`]: a temporary file beside the target, then a rename. Several
//! files that belong together go through [`write_together`], so that a full disk leaves all of them or none. What is no
//! regular file (a pipe, /dev/null) cannot be replaced and is written in place.
//!
//! Temporary files have names that nobody can guess and are never opened through a link. A new file has the mode that the
//! user's umask gives; a file that is replaced keeps its own. What a killed process has left is taken away by the next one
//! that writes in the same directory: a living writer holds a lock on its temporary file.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::NamedTempFile;

/// How the names of temporary files begin and end; between the two stand the process and something random.
const NAME: (&str, &str) = (".counterpoint-", ".tmp");

/// A temporary file younger than this may belong to a process that has not locked it yet.
const YOUNG: Duration = Duration::from_secs(5);

/// Writes to a temporary file beside `path` and renames it: a reader never sees half a file.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, |file| file.write_all(bytes).map_err(|e| Error::io(path, e)))
}

/// Lets `write` fill a temporary file beside `path`, then renames it; on failure nothing is left behind.
pub(crate) fn replace(path: &Path, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    stage(path, write)?.map_or(Ok(()), Staged::publish)
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
    let fill = |(path, text): &(PathBuf, String)| {
        stage(path, |file| file.write_all(text.as_bytes()).map_err(|e| Error::io(path, e)))
    };
    let staged = files.iter().map(fill).collect::<Result<Vec<_>>>()?;
    staged.into_iter().flatten().try_for_each(Staged::publish)
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
    if path.as_os_str() == "-" {
        return bad(
            "outputs are files; standard output has the words".into(),
            "name a file, or ./- if that is its name".into(),
        );
    }
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    if let Some(parent) = parent.filter(|p| !p.is_dir()) {
        let shown = parent.display();
        return match parent.exists() || parent.ancestors().any(Path::is_file) {
            true => bad(format!("{shown} is not a directory"), "choose another place for the output".into()),
            false => bad(format!("there is no directory {shown}"), format!("make it first: mkdir -p {shown}")),
        };
    }
    if let Some(input) = inputs.iter().find(|i| *i == path || same_file(i, path)) {
        let what = format!("{} is read by this command and would be overwritten", input.display());
        return bad(what, "give the output another name".into());
    }
    if is_special(path) {
        return Ok(()); // whoever reads a pipe would see its end
    }
    stage(path, |_| Ok(())).map(drop)
}

/// Whether a path is there and is neither a regular file nor a directory.
fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir())
}

/// Whether two paths mean one file, by whatever spelling or link.
fn same_file(a: &Path, b: &Path) -> bool {
    let known = |p| identity(p).ok();
    known(a).is_some_and(|a| known(b) == Some(a))
}

/// What tells a file from others: where the system numbers files, its device and number; elsewhere its full path.
#[cfg(unix)]
pub(crate) fn identity(path: &Path) -> std::io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).map(|m| (m.dev(), m.ino()))
}

/// What tells a file from others: where the system numbers files, its device and number; elsewhere its full path.
#[cfg(not(unix))]
pub(crate) fn identity(path: &Path) -> std::io::Result<PathBuf> {
    path.canonicalize()
}

/// A temporary file that is complete, and the place it is for. Dropped, it is gone.
struct Staged {
    path: PathBuf,
    target: PathBuf,
    file: NamedTempFile,
}

impl Staged {
    fn publish(self) -> Result<()> {
        self.file.persist(&self.target).map(drop).map_err(|e| Error::io(&self.path, e.error))
    }
}

/// Fills a temporary file for a path; what is no regular file is written at once, and nothing is left to publish.
fn stage(path: &Path, write: impl FnOnce(&mut File) -> Result<()>) -> Result<Option<Staged>> {
    let io = |e| Error::io(path, e);
    if is_special(path) {
        let mut file = File::options().write(true).open(path).map_err(io)?;
        write(&mut file)?;
        return file.flush().map(|()| None).map_err(io);
    }
    // a link is followed to what it means, so that it stays a link
    let target = if path.is_symlink() { path.canonicalize().map_err(io)? } else { path.to_path_buf() };
    let mut file = temporary(&target).map_err(io)?;
    write(file.as_file_mut())?;
    file.as_file().sync_all().map_err(io)?;
    Ok(Some(Staged { path: path.to_path_buf(), target, file }))
}

/// A new, locked temporary file beside a target, with the mode that the target has or a new file would have.
fn temporary(target: &Path) -> std::io::Result<NamedTempFile> {
    let directory = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    sweep(directory);
    let prefix = format!("{}{}-", NAME.0, std::process::id());
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(NAME.1);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // less the umask
    let file = builder.tempfile_in(directory)?;
    // where there are no locks nothing is swept either
    let _ = file.as_file().try_lock();
    if let Ok(old) = std::fs::metadata(target) {
        file.as_file().set_permissions(old.permissions())?;
    }
    Ok(file)
}

/// Takes away temporary files whose writers are dead: their locks are free, and they are not just being made.
fn sweep(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(middle) = name.to_str().and_then(|n| n.strip_prefix(NAME.0)?.strip_suffix(NAME.1)) else { continue };
        let old = entry.metadata().and_then(|m| m.modified()).is_ok_and(|t| t.elapsed().is_ok_and(|a| a > YOUNG));
        if !(old || middle.split('-').next().is_some_and(is_dead)) {
            continue;
        }
        // opened for reading only, and not through a link: nothing can be harmed by it
        let regular = entry.file_type().is_ok_and(|t| t.is_file());
        let free = regular && File::open(entry.path()).is_ok_and(|f| f.try_lock().is_ok());
        if free {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Whether a process is known not to run; where processes cannot be looked up, nothing is known.
fn is_dead(process: &str) -> bool {
    let all = Path::new("/proc");
    let number = !process.is_empty() && process.bytes().all(|b| b.is_ascii_digit());
    number && all.join("self").exists() && !all.join(process).exists()
}

/// The size of a file in bytes; 0 where it cannot be told.
#[cfg(feature = "readers")]
pub(crate) fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |m| m.len())
}

/// No policy, recipe, journal or state is longer; a device may be without end.
const LONGEST_TEXT: u64 = 1 << 28;

/// Reads a text file.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    let mut text = String::new();
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    file.take(LONGEST_TEXT + 1).read_to_string(&mut text).map_err(|e| Error::io(path, e))?;
    match text.len() as u64 > LONGEST_TEXT {
        true => Err(Error::data(format!("it is longer than {} MiB", LONGEST_TEXT >> 20))
            .at(path.display().to_string())
            .hint("is it the right file? Policies, recipes, certificates and log.toml are short texts")),
        false => Ok(text),
    }
}

/// Writes a text file whole or not at all.
pub fn write_text(path: impl AsRef<Path>, text: &str) -> Result<()> {
    write_whole(path.as_ref(), text.as_bytes())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_file_that_is_replaced_keeps_its_mode_and_its_links() {
        let dir = tempfile::tempdir().unwrap();
        let [file, link, plain] = ["a.txt", "link.txt", "plain.txt"].map(|n| dir.path().join(n));
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_text(&link, "new").unwrap();
        assert!(link.is_symlink() && std::fs::read_to_string(&file).unwrap() == "new" && mode(&file) == 0o640);
        // a new file has what the umask leaves, as any other program would give it
        std::fs::write(&plain, "").unwrap();
        write_text(dir.path().join("new.txt"), "new").unwrap();
        assert_eq!(mode(&dir.path().join("new.txt")), mode(&plain));
    }

    #[test]
    fn names_of_temporary_files_cannot_be_guessed_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        std::fs::write(&victim, "precious").unwrap();
        let target = dir.path().join("a.txt");
        // the name that was used once
        std::os::unix::fs::symlink(&victim, dir.path().join(format!("a.txt.{}.tmp", std::process::id()))).unwrap();
        let names = [(); 2].map(|()| temporary(&target).unwrap().path().to_path_buf());
        assert!(names[0] != names[1] && names.iter().all(|n| n.parent() == Some(dir.path())));
        write_text(&target, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    }

    #[test]
    fn what_the_dead_have_left_is_swept_and_what_the_living_write_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let [dead, link, other] =
            ["4194399-x", "4194399-link", "x"].map(|m| dir.path().join(format!(".counterpoint-{m}.tmp")));
        std::fs::write(&dead, "half").unwrap();
        std::fs::write(&other, "half").unwrap(); // just written, by nobody knows whom
        std::os::unix::fs::symlink(dir.path().join("nowhere"), &link).unwrap();
        let living = temporary(&dir.path().join("b.txt")).unwrap();
        write_text(dir.path().join("a.txt"), "new").unwrap();
        assert!(!dead.exists() && living.path().exists() && other.exists() && link.is_symlink());
    }
}
