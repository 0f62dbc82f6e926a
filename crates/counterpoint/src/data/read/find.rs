//! Which files a path means: itself, the files of a directory tree, or the matches of a pattern, in the order of paths.
//!
//! Below a directory or a pattern, a folder named `key=value` (as Hive, Spark and others write) gives every file in it
//! a column `key`. Hidden files and those whose name begins with `_` are markers of such systems and are passed over;
//! two formats side by side are refused, because they are most often the same rows twice.

use super::super::files::identity;
use super::super::input::list;
use super::remote;
use super::stdin::is_stdin;
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The formats, told by the ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Kind {
    Parquet,
    Csv,
    CsvGz,
    Json,
    JsonGz,
    Arrow,
    Store,
}

impl Kind {
    pub(in super::super) fn of(path: &Path) -> Result<Self> {
        let shown = PathBuf::from(remote::shown(path)); // an address without its query
        let name = shown.file_name().map(|n| n.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        let ends = |endings: &[&str]| endings.iter().any(|e| name.ends_with(e));
        match () {
            () if ends(&[".parquet", ".pq"]) => Ok(Kind::Parquet),
            () if ends(&[".csv", ".tsv"]) => Ok(Kind::Csv),
            () if ends(&[".csv.gz", ".tsv.gz"]) => Ok(Kind::CsvGz),
            () if ends(&[".jsonl", ".ndjson"]) => Ok(Kind::Json),
            () if ends(&[".jsonl.gz", ".ndjson.gz"]) => Ok(Kind::JsonGz),
            () if ends(&[".arrow", ".feather", ".ipc"]) => Ok(Kind::Arrow),
            () if ends(&[".cps"]) => Ok(Kind::Store),
            () => Err(Error::data("its name does not end in a format that is read or written")
                .at(shown.display().to_string())
                .hint("use .parquet, .csv, .csv.gz or .arrow")),
        }
    }

    fn family(self) -> &'static str {
        match self {
            Kind::Parquet => "parquet",
            Kind::Csv | Kind::CsvGz => "csv",
            Kind::Json | Kind::JsonGz => "json lines",
            Kind::Arrow => "arrow",
            Kind::Store => "cps",
        }
    }
}

/// A file, and the columns its folders give it. A missing value is `None`.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Piece {
    pub(in super::super) path: PathBuf,
    pub(in super::super) keys: Vec<(String, Option<String>)>,
}

impl Piece {
    pub(in super::super) fn name(&self) -> String {
        remote::shown(&self.path)
    }

    /// The error with the file's name in front; errors of the operating system have it already.
    pub(in super::super) fn blame(&self, e: Error) -> Error {
        if e.kind() == crate::error::Kind::Io { e } else { e.at(self.name()) }
    }
}

/// The files of all paths. The order is that of the paths given, and of the names below each.
pub(in super::super) fn find<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<Piece>> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut seen = HashMap::new();
    let mut elsewhere: Vec<PathBuf> = Vec::new();
    for path in paths {
        for piece in expand(path.as_ref())? {
            // a file that is not there is refused where it is opened
            let known = match remote::is_remote(&piece.path) {
                true => elsewhere.contains(&piece.path).then(|| piece.name()),
                false => identity(&piece.path).ok().and_then(|id| seen.insert(id, piece.name())),
            };
            if remote::is_remote(&piece.path) {
                elsewhere.push(piece.path.clone());
            }
            if let Some(first) = known {
                let what = match first == piece.name() {
                    true => "the file is named twice, so its rows would count twice".into(),
                    false => format!("it is the same file as {first}, so its rows would count twice"),
                };
                return Err(Error::data(what)
                    .at(piece.name())
                    .hint("name each file once; links to a file are that file"));
            }
            pieces.push(piece);
        }
    }
    if pieces.is_empty() {
        return Err(
            Error::data("no log is given").hint("name a file, a directory or a pattern such as 'logs/*.parquet'")
        );
    }
    let keys = |p: &Piece| p.keys.iter().map(|(k, _)| k.clone()).collect::<Vec<_>>();
    let first = keys(&pieces[0]);
    match pieces.iter().find(|p| keys(p) != first) {
        Some(other) => Err(Error::data(format!("its folders give the columns [{}]", list(&keys(other))))
            .at(other.name())
            .hint(format!("those of {} give [{}]; all must give the same", pieces[0].name(), list(&first)))),
        None => Ok(pieces),
    }
}

fn expand(path: &Path) -> Result<Vec<Piece>> {
    let text = path.to_string_lossy();
    let mut found = Vec::new();
    if remote::is_remote(path) {
        let found = remote::expand(path)?;
        one_format(&text, &found.iter().map(|p| p.path.clone()).collect::<Vec<_>>())?;
        return Ok(found);
    }
    let base = if path.is_dir() {
        walk(path, 0, &mut found)?;
        path.to_path_buf()
    } else if is_stdin(path) {
        return Ok(vec![Piece { path: path.to_path_buf(), keys: Vec::new() }]);
    } else if path.exists() || !text.contains(['*', '?', '[']) {
        if !path.exists() && remote::lost_a_slash(path) {
            return Err(Error::data("it looks like an address that has lost a slash")
                .at(text.to_string())
                .hint("write it as text with two slashes, s3://bucket/key; a path object keeps one of them"));
        }
        Kind::of(path)?;
        return Ok(vec![Piece { path: path.to_path_buf(), keys: Vec::new() }]);
    } else {
        let bad = |e: glob::PatternError| Error::data(format!("it is not a pattern: {e}")).at(text.to_string());
        for entry in glob::glob(&text).map_err(bad)? {
            let entry = entry.map_err(|e| {
                let path = e.path().to_path_buf();
                Error::io(path, e.into())
            })?;
            match entry.is_dir() {
                true => walk(&entry, 0, &mut found)?,
                false if Kind::of(&entry).is_ok() => found.push(entry),
                false => {}
            }
        }
        fixed_part(path)
    };
    found.sort();
    found.dedup();
    if found.is_empty() {
        let what = if path.is_dir() { "the directory holds" } else { "the pattern matches" };
        return Err(
            Error::data(format!("{what} no .parquet, .csv, .csv.gz, .jsonl, .arrow or .cps file")).at(text.to_string())
        );
    }
    one_format(&text, &found)?;
    Ok(found.into_iter().map(|path| Piece { keys: keys(&base, &path), path }).collect())
}

/// Refuses files of two formats side by side.
fn one_format(text: &str, found: &[PathBuf]) -> Result<()> {
    let Some(first) = found.first() else { return Ok(()) };
    let family = Kind::of(first)?.family();
    match found.iter().find(|p| Kind::of(p).is_ok_and(|k| k.family() != family)) {
        Some(other) => {
            let (a, b) = (first.display(), other.display());
            Err(Error::data(format!("it holds files of two formats, such as {a} and {b}"))
                .at(text.to_string())
                .hint("name one format with a pattern, for example 'logs/*.parquet'"))
        }
        None => Ok(()),
    }
}

/// The folders before the first sign of a pattern.
pub(in super::super) fn fixed_part(path: &Path) -> PathBuf {
    path.components().take_while(|c| !c.as_os_str().to_string_lossy().contains(['*', '?', '['])).collect()
}

fn walk(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<()> {
    if depth > 32 {
        return Err(Error::data("the folders are nested more than 32 deep")
            .at(dir.display().to_string())
            .hint("does a link lead back to a folder above it?"));
    }
    for entry in std::fs::read_dir(dir).map_err(|e| Error::io(dir, e))? {
        let path = entry.map_err(|e| Error::io(dir, e))?.path();
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        match () {
            () if name.starts_with(['.', '_']) => {}
            () if path.is_dir() => walk(&path, depth + 1, found)?,
            () if Kind::of(&path).is_ok() => found.push(path),
            () => {}
        }
    }
    Ok(())
}

/// The `key=value` folders between `base` and the file.
pub(super) fn keys(base: &Path, path: &Path) -> Vec<(String, Option<String>)> {
    let below = path.strip_prefix(base).unwrap_or(path);
    let folders = below.parent().into_iter().flat_map(Path::components);
    folders
        .filter_map(|c| {
            let text = c.as_os_str().to_string_lossy();
            let (key, value) = text.split_once('=')?;
            let value = (value != "__HIVE_DEFAULT_PARTITION__").then(|| unescape(value));
            Some((unescape(key), value))
        })
        .collect()
}

/// Turns %20 and the like back into what they stand for.
fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let code = text.get(i + 1..i + 3).filter(|_| bytes[i] == b'%').and_then(|h| u8::from_str_radix(h, 16).ok());
        out.push(code.unwrap_or(bytes[i]));
        i += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_string())
}
