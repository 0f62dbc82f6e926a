//! One error for the whole library: what is wrong, where, and what to do about it.
//!
//! The decision here is that an error is a sentence and a remedy, not a tree of types. Callers branch on
//! [`Kind`]; people read the message and the `hint:` line under it. Places (file, row, column) are part of the
//! sentence, so that nothing is lost when the error is printed by a program that knows nothing of us. What a hint tells
//! the user to set is data ([`Remedy`]), because a flag, a method and an argument of Python have different names.

mod remedy;

pub use remedy::{Hint, Remedy};

use std::fmt;

/// What every fallible function of the library returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The family an error belongs to, for programs that branch on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The log itself is unusable: a bad value, a missing column, an empty split.
    Data,
    /// A recipe asks for something outside its range or for a combination that makes no sense.
    Recipe,
    /// A policy file is of another version, incomplete, or does not fit the data.
    Policy,
    /// A number left the floating-point range; the message names the term.
    Numeric,
    /// The work was done, and the log supports none of the policies that were tried: an answer rather than a mistake.
    Unsupported,
    /// The operating system said no.
    Io,
}

/// An error with its place and its remedy.
///
/// ```
/// use counterpoint::error::{Hint, Kind, Remedy};
/// use counterpoint::Error;
/// let e = Error::data("0 is not a density (must be > 0)")
///     .at("row 1204, column \"propensity\"")
///     .hint(Hint::from(Remedy::DropInvalid) + " skips and counts such rows");
/// assert_eq!(e.kind(), Kind::Data);
/// assert_eq!(e.to_string(), "row 1204, column \"propensity\": 0 is not a density (must be > 0)\nhint: `drop_invalid` skips and counts such rows");
/// ```
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: Kind,
    place: Option<String>,
    what: String,
    hint: Option<Hint>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    fn new(kind: Kind, what: impl Into<String>) -> Self {
        Error(Box::new(Inner { kind, place: None, what: what.into(), hint: None, source: None }))
    }

    /// The log is unusable.
    pub fn data(what: impl Into<String>) -> Self {
        Self::new(Kind::Data, what)
    }

    /// The recipe is wrong; `field` is its path in the TOML file.
    pub fn recipe(field: &str, what: impl Into<String>) -> Self {
        Self::new(Kind::Recipe, what).at(format!("recipe field `{field}`"))
    }

    /// The policy is unusable.
    pub fn policy(what: impl Into<String>) -> Self {
        Self::new(Kind::Policy, what)
    }

    /// The log supports none of the policies that were tried.
    pub fn unsupported(what: impl Into<String>) -> Self {
        Self::new(Kind::Unsupported, what)
    }

    /// A number is not finite; `term` names the part of the objective it came from.
    pub fn numeric(term: &str, what: impl Into<String>) -> Self {
        Self::new(Kind::Numeric, what).at(term.to_string())
    }

    /// Reading or writing failed.
    pub fn io(path: impl AsRef<std::path::Path>, source: std::io::Error) -> Self {
        use std::io::ErrorKind as E;
        let mut e = Self::new(Kind::Io, source.to_string()).at(path.as_ref().display().to_string());
        e.0.hint = match source.kind() {
            E::NotFound => Some("is the name right? a relative path starts at the current directory"),
            E::PermissionDenied | E::ReadOnlyFilesystem => Some("choose a place you may read and write"),
            E::StorageFull | E::QuotaExceeded => Some("the disk is full: make room, or write to another disk"),
            E::FileTooLarge => Some("the file is larger than this disk or this shell (ulimit -f) allows"),
            E::IsADirectory => Some("name a file, not a directory"),
            E::InvalidData => Some("is it text in UTF-8, and the file you meant?"),
            _ => None,
        }
        .map(Hint::from);
        e.0.source = Some(Box::new(source));
        e
    }

    /// Says where: a file, a row, a column. A second place goes in front of the first.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        let place = place.into();
        self.0.place = Some(match self.0.place.take() {
            Some(inner) => format!("{place}, {inner}"),
            None => place,
        });
        self
    }

    /// Says what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Hint>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The family of the error.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// Where it is: file, row, column, field of the recipe, as far as they are known.
    pub fn place(&self) -> Option<&str> {
        self.0.place.as_deref()
    }

    /// The row it is about, as people count, from 1.
    ///
    /// ```
    /// let e = counterpoint::Error::data("0 is not a density").at("row 1204, column \"p\"").at("log.csv");
    /// assert_eq!((e.row(), e.column().as_deref()), (Some(1204), Some("p")));
    /// assert_eq!(counterpoint::Error::data("no rows").row(), None);
    /// ```
    pub fn row(&self) -> Option<u64> {
        let place = self.place()?;
        // a place is written from the outside in: what stands last is nearest
        let at = place.rfind("row ").filter(|&i| i == 0 || place[..i].ends_with(", "))?;
        place[at + 4..].split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    }

    /// The column it is about.
    pub fn column(&self) -> Option<String> {
        let place = self.place()?;
        let quoted = &place[place.rfind("column \"")? + 7..];
        // names are written as Rust writes strings; up to the quote that is not escaped
        let end = quoted.char_indices().skip(1).find(|&(i, c)| c == '"' && !quoted[..i].ends_with('\\'))?.0;
        serde_json::from_str(&quoted[..=end]).ok()
    }

    /// The hint alone, if there is one.
    pub fn remedy(&self) -> Option<&Hint> {
        self.0.hint.as_ref()
    }

    /// What is wrong, and where, without the hint.
    pub fn what(&self) -> String {
        match &self.0.place {
            Some(place) => format!("{place}: {}", self.0.what),
            None => self.0.what.clone(),
        }
    }
}

/// The name that was perhaps meant: the same but for case and space, or else the nearest within a third of its letters.
///
/// ```text
/// propensty -> propensity        ancors -> anchors        price -> (nothing near)
/// ```
pub(crate) fn nearest<'a, S: AsRef<str>>(name: &str, known: &'a [S]) -> Option<&'a str> {
    let plain = |s: &str| s.trim().to_lowercase();
    let wanted = plain(name);
    let distance = |k: &str| edits(&wanted, &plain(k));
    let near = known.iter().map(AsRef::as_ref).min_by_key(|k| distance(k))?;
    (distance(near) <= wanted.chars().count() / 3).then_some(near)
}

/// Insertions, deletions and changes of letters that turn one word into the other (Levenshtein).
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what())?;
        if let Some(hint) = &self.0.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|e| e as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_was_meant_is_found() {
        let known = ["x0", "x1", "action", "reward", "propensity"];
        for (given, meant) in
            [("Reward ", Some("reward")), ("propensty", Some("propensity")), ("acton", Some("action"))]
        {
            assert_eq!(nearest(given, &known), meant, "{given}");
        }
        assert_eq!(nearest("price", &known), None);
        assert_eq!(nearest("x9", &known), None, "two letters are too few to guess from");
        assert_eq!((edits("kitten", "sitting"), edits("", "abc"), edits("abc", "")), (3, 3, 3));
    }
}
