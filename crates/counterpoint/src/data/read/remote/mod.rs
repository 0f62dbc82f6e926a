//! Logs that lie elsewhere: `s3://`, `gs://`, `az://` and `https://`, where a path of a log may stand.
//!
//! A name is told by its scheme and stays text: what follows the bucket is the key as it is, without escapes, as the vendors' own tools take it;
//! an address of the web is an address, with its query. Parquet is read in parts (the end of the file, then the wanted columns of one row group
//! after the other, the next while one is decoded), CSV and JSON lines as a stream. Nothing is kept on disk.
//!
//! It needs the feature `cloud`. Without it the names are known and refused, with what to do about it. The library reads no environment:
//! credentials are what [`cloud_settings`] was told, and the command line and Python tell it the environment's.

#[cfg(not(feature = "cloud"))]
mod absent;
#[cfg(feature = "cloud")]
mod object;
#[cfg(feature = "cloud")]
mod parts;
#[cfg(feature = "cloud")]
mod stores;

#[cfg(not(feature = "cloud"))]
pub(super) use absent::{Object, Parquet, list};
#[cfg(feature = "cloud")]
pub(super) use {object::Object, parts::Parquet, stores::list};

use super::find::{Kind, Piece, keys};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The schemes of the names that are taken.
const SCHEMES: [&str; 9] = ["s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "https", "http"];

/// Names and values, as an environment has them.
pub type CloudSettings = Vec<(String, String)>;

static SETTINGS: Mutex<Option<fn() -> CloudSettings>> = Mutex::new(None);

/// Says where credentials and other settings of object stores come from: a function, asked whenever a bucket is opened.
///
/// The names are those of the vendors' variables: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`,
/// `AWS_ENDPOINT_URL`, `GOOGLE_APPLICATION_CREDENTIALS`, `AZURE_STORAGE_ACCOUNT_NAME`, `AZURE_STORAGE_ACCOUNT_KEY` and the others that the crate
/// `object_store` knows. Other names are passed over. Without them, stores ask the machine they run on (roles of instances and containers).
///
/// ```
/// counterpoint::data::cloud_settings(|| std::env::vars().collect());
/// ```
pub fn cloud_settings(from: fn() -> CloudSettings) {
    *SETTINGS.lock().unwrap_or_else(PoisonError::into_inner) = Some(from);
}

/// What was told, of the vendors' names alone.
#[cfg(feature = "cloud")]
fn settings() -> CloudSettings {
    let from = *SETTINGS.lock().unwrap_or_else(PoisonError::into_inner);
    let ours = |(name, _): &(String, String)| ["AWS_", "AZURE_", "GOOGLE_"].iter().any(|p| name.starts_with(p));
    let mut told: CloudSettings = from.map(|f| f()).unwrap_or_default().into_iter().filter(ours).collect();
    told.sort();
    told
}

/// The scheme of a name and what follows it, where the name is one of ours.
fn parted(path: &Path) -> Option<(&str, &str)> {
    let (scheme, rest) = path.to_str()?.split_once("://")?;
    SCHEMES.contains(&scheme).then_some((scheme, rest))
}

/// Whether a path names something that is not on this machine.
pub(in super::super) fn is_remote(path: &Path) -> bool {
    parted(path).is_some()
}

/// Whether a path is a remote name from which a slash was taken, as path objects do.
pub(super) fn lost_a_slash(path: &Path) -> bool {
    let scheme = path.to_str().and_then(|t| t.split_once(":/")).filter(|(_, rest)| !rest.starts_with('/'));
    scheme.is_some_and(|(scheme, _)| SCHEMES.contains(&scheme))
}

/// Whether a path names a page of the web, which cannot be listed and may have a query.
fn is_web(path: &Path) -> bool {
    parted(path).is_some_and(|(scheme, _)| scheme.starts_with("http"))
}

/// The name without what may be secret: the query of an address, a user and a password.
pub(in super::super) fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    if !is_web(path) {
        return text;
    }
    let bare = text.split(['?', '#']).next().unwrap_or_default();
    match bare.split_once("://").map(|(scheme, rest)| (scheme, rest.split_once('@'))) {
        Some((scheme, Some((user, rest)))) if !user.contains('/') => format!("{scheme}://{rest}"),
        _ => bare.to_string(),
    }
}

/// The files a remote name means, as [`find`](super::find::find) finds those of a path: one file by its ending, what matches a pattern, or
/// all below a prefix.
pub(super) fn expand(path: &Path) -> Result<Vec<Piece>> {
    let name = shown(path);
    let pattern = path.to_str().is_some_and(|t| t.contains(['*', '?', '['])) && !is_web(path);
    if !pattern && let Ok(kind) = Kind::of(path) {
        if kind == Kind::Store {
            return Err(Error::data("a store is mapped into memory, so it must lie on a disk of this machine")
                .at(name)
                .hint("copy it here, or pack the files of the log into a store here"));
        }
        return Ok(vec![Piece { path: path.to_path_buf(), keys: Vec::new() }]);
    }
    if is_web(path) {
        return Err(Error::data("a web server cannot be asked which files it has, and this is not the name of one")
            .at(name)
            .hint("name each file: .parquet, .csv, .csv.gz, .jsonl or .arrow"));
    }
    let fixed = match name.find(['*', '?', '[']).filter(|_| pattern) {
        Some(sign) => name[..sign].rsplit_once('/').map_or("", |(folder, _)| folder),
        None => name.trim_end_matches('/'),
    };
    let base = PathBuf::from(fixed);
    if !is_remote(&base) {
        return Err(Error::data("the bucket itself cannot be a pattern").at(name).hint("name each bucket"));
    }
    let matcher = match pattern {
        true => {
            Some(glob::Pattern::new(&name).map_err(|e| Error::data(format!("it is not a pattern: {e}")).at(&name))?)
        }
        false => None,
    };
    let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::new() };
    let wanted = |found: &PathBuf| {
        let below = found.strip_prefix(&base).unwrap_or(found);
        let marker = below.components().any(|c| c.as_os_str().to_string_lossy().starts_with(['.', '_']));
        let fits = || match &matcher {
            Some(m) => found.ancestors().any(|a| m.matches_path_with(a, options)),
            None => true,
        };
        !marker && Kind::of(found).is_ok_and(|k| k != Kind::Store) && fits()
    };
    let mut found: Vec<PathBuf> = list(&base).map_err(|e| e.at(&name))?.into_iter().filter(wanted).collect();
    found.sort();
    if found.is_empty() {
        let what = if pattern { "the pattern matches" } else { "the prefix holds" };
        return Err(Error::data(format!("{what} no .parquet, .csv, .csv.gz, .jsonl or .arrow file")).at(name));
    }
    Ok(found.into_iter().map(|path| Piece { keys: keys(&base, &path), path }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remote_names_are_told_from_paths_and_show_no_secrets() {
        for name in ["s3://b/k.parquet", "gs://b/k", "az://c/k", "https://h/x.csv?sig=1", "http://127.0.0.1:9/x.csv"] {
            assert!(is_remote(Path::new(name)), "{name}");
        }
        for name in ["logs/s3/x.csv", "s3:/b/k.parquet", "ftp://h/x.csv", "C://x.csv", "-"] {
            assert!(!is_remote(Path::new(name)), "{name}");
        }
        assert!(lost_a_slash(Path::new("s3:/b/k.parquet")) && !lost_a_slash(Path::new("s3://b/k.parquet")));
        assert_eq!(shown(Path::new("https://me:word@h/d/x.csv?X-Amz-Signature=1")), "https://h/d/x.csv");
        assert_eq!(shown(Path::new("s3://b/what?.parquet")), "s3://b/what?.parquet");
        assert_eq!(Kind::of(Path::new("https://h/x.csv.gz?sig=a.parquet")).unwrap(), Kind::CsvGz);
    }

    #[test]
    fn what_cannot_be_listed_or_mapped_is_refused_before_anything_is_asked() {
        let said = |name: &str| expand(Path::new(name)).unwrap_err().to_string();
        assert!(said("https://h/logs/").contains("cannot be asked which files"), "{}", said("https://h/logs/"));
        assert!(said("s3://b/log.cps").contains("must lie on a disk"), "{}", said("s3://b/log.cps"));
        assert_eq!(expand(Path::new("s3://b/day=1/a.parquet")).unwrap()[0].keys, []);
    }
}
