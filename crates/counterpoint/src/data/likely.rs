//! Which columns look as if they said what rows belong together, though nobody said so.
//!
//! A certificate takes rows for independent draws unless it is told of clusters. Nobody can see from the numbers that rows of one user depend on
//! each other; but a column with the name of an identifier, whose values repeat, is a hint that is cheap to give.

use super::files::size;
use super::read::{files_of, remote::is_remote};
use super::table::{Column, Table};
use crate::error::Result;
use serde::Serialize;
use std::collections::HashSet;
use std::path::Path;

/// Bytes of files that are read for a hint; of more, names alone are looked at.
const READ: u64 = 64 << 20;

/// Names of those who act or are acted upon again and again.
const OFTEN: [&str; 22] = [
    "user",
    "customer",
    "client",
    "patient",
    "account",
    "member",
    "household",
    "subject",
    "session",
    "device",
    "visitor",
    "branch",
    "store",
    "shop",
    "clinic",
    "hospital",
    "school",
    "employee",
    "driver",
    "campaign",
    "person",
    "participant",
];

/// A column that may say which rows belong together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LikelyCluster {
    /// Its name.
    pub column: String,
    /// Rows, and different values among them; nothing where the files are too large to be read for a hint.
    pub counted: Option<(usize, usize)>,
}

/// Whether a name is that of an identifier: `id`, `user_id`, `customerId`, `patient`.
///
/// ```
/// use counterpoint::data::names_an_id;
/// assert!(["id", "user_id", "customerId", "Patient", "STORE ID", "person_number"].iter().all(|n| names_an_id(n)));
/// assert!(!["paid", "reward", "x0", "users_online", "valid", "price", "storey"].iter().any(|n| names_an_id(n)));
/// ```
pub fn names_an_id(name: &str) -> bool {
    let parted: String = name
        .char_indices()
        .flat_map(|(i, c)| {
            // customerId has two words
            let begins = c.is_uppercase() && name[..i].ends_with(|p: char| p.is_lowercase());
            begins.then_some(' ').into_iter().chain(c.to_lowercase())
        })
        .map(|c| if c.is_alphanumeric() { c } else { ' ' })
        .collect();
    let words: Vec<&str> = parted.split_whitespace().collect();
    let numbered = |w: &&str| ["id", "key", "number", "no", "code", "name"].contains(w);
    match words[..] {
        [only] => only == "id" || OFTEN.contains(&only),
        [.., before, last] => last == "id" || (OFTEN.contains(&before) && numbered(&last)),
        [] => false,
    }
}

/// The columns of a table that have the name of an identifier and whose values repeat; those in `roles` have another meaning.
///
/// A hint and nothing more: a file that cannot be read for it is no error here.
pub fn likely_clusters<P: AsRef<Path>>(paths: &[P], names: &[String], roles: &[String]) -> Vec<LikelyCluster> {
    let found: Vec<String> = names.iter().filter(|n| names_an_id(n) && !roles.contains(n)).cloned().collect();
    if found.is_empty() {
        return Vec::new();
    }
    let Ok(counted) = count(paths, &found) else { return Vec::new() };
    let Some(counted) = counted else {
        return found.into_iter().map(|column| LikelyCluster { column, counted: None }).collect();
    };
    let repeats = |(_, (rows, different)): &(String, (usize, usize))| *different > 1 && different < rows;
    let likely = |(column, counted)| LikelyCluster { column, counted: Some(counted) };
    found.into_iter().zip(counted).filter(repeats).map(likely).collect()
}

/// Rows and different values of every column; nothing where the files are too large.
fn count<P: AsRef<Path>>(paths: &[P], found: &[String]) -> Result<Option<Vec<(usize, usize)>>> {
    let files = files_of(paths)?;
    if files.iter().map(|f| size(f)).sum::<u64>() > READ || files.iter().any(|f| is_remote(f)) {
        return Ok(None);
    }
    let mut seen: Vec<(usize, HashSet<String>)> = vec![(0, HashSet::new()); found.len()];
    for file in files {
        let table = Table::read(&file, found)?;
        for ((_, column), (rows, different)) in table.columns.into_iter().zip(&mut seen) {
            match column {
                Column::Numbers(v) => {
                    *rows += v.len();
                    different.extend(v.iter().map(|v| v.to_bits().to_string()));
                }
                Column::Integers(v) => {
                    *rows += v.len();
                    different.extend(v.iter().map(i64::to_string));
                }
                Column::Words(v) => {
                    *rows += v.len();
                    different.extend(v);
                }
            }
        }
    }
    Ok(Some(seen.into_iter().map(|(rows, different)| (rows, different.len())).collect()))
}
