//! What to do about an error, as data.
//!
//! The same remedy has another name at every door: a method in Rust, a flag on the command line, an argument in Python. So the
//! library says *which* remedy it means, and who shows the error says what it is called there ([`Hint::words`]). Most of a hint
//! is plain words all the same.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Add;

/// Something a user can set or call to mend an error. Its `Display` is its name in Rust.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Remedy {
    /// Skip and count rows with unusable values.
    DropInvalid,
    /// Read a context as words.
    Categorical,
    /// Say which column holds the propensities.
    Propensity,
    /// Say that a column of this name holds the propensities, whatever its name means otherwise.
    PropensityColumn(String),
    /// Estimate the propensities.
    FitPropensity,
    /// Say which column holds the weights of the rows.
    RowWeight,
    /// Say which column holds how many rows each row stands for.
    RowCount,
    /// Say which column names what rows belong together.
    Cluster,
    /// Say which column names the part of each row.
    SplitColumn,
    /// Divide the log as it was divided before.
    SameSplit,
    /// Divide the log into parts that share no row.
    Split,
    /// Go on with work that was interrupted.
    Resume,
    /// Choose where scratch files are held.
    Scratch,
    /// Keep rows with missing contexts, marked as such.
    Missing,
    /// Say which column holds the density of the target policy.
    TargetDensity,
    /// Say which columns hold the actions of the target policy.
    TargetAction,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Remedy::DropInvalid => "`drop_invalid`",
            Remedy::Categorical => "`ReadOptions::categorical`",
            Remedy::Propensity => "`Roles::propensity`",
            Remedy::PropensityColumn(name) => return write!(f, "`PropensityRole::Column({name:?})`"),
            Remedy::FitPropensity => "`propensity::fit`",
            Remedy::RowWeight => "the column of weights",
            Remedy::RowCount => "`LogBuilder::count` or `Roles::count`",
            Remedy::Cluster => "`LogBuilder::cluster` or `Roles::cluster`",
            Remedy::SplitColumn => "`Roles::split`",
            Remedy::SameSplit => "the same `SplitRule`",
            Remedy::Split => "`Log::split`",
            Remedy::Resume => "`Journal::resume`",
            Remedy::Scratch => "`Scratch::new`",
            Remedy::Missing => "`LogBuilder::missing`",
            Remedy::TargetDensity => "`LogBuilder::target_density` or `Roles::target`",
            Remedy::TargetAction => "`LogBuilder::target_action` or `Roles::target`",
        })
    }
}

/// A sentence about what to do: plain words, and remedies that each door calls by its own name.
///
/// ```
/// use counterpoint::error::{Hint, Remedy};
/// let hint = Hint::from(Remedy::DropInvalid) + " skips and counts such rows";
/// assert_eq!(hint.to_string(), "`drop_invalid` skips and counts such rows");
/// assert_eq!(hint.words(|_| "--drop-invalid".into()), "--drop-invalid skips and counts such rows");
/// assert!(hint.remedies().eq([&Remedy::DropInvalid]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Piece {
    Words(String),
    Remedy(Remedy),
}

impl Hint {
    /// The sentence, with each remedy by the name that the caller has for it.
    pub fn words(&self, name: impl Fn(&Remedy) -> String) -> String {
        let piece = |p: &Piece| match p {
            Piece::Words(words) => words.clone(),
            Piece::Remedy(remedy) => name(remedy),
        };
        self.0.iter().map(piece).collect()
    }

    /// The remedies alone, for programs that act on them.
    pub fn remedies(&self) -> impl Iterator<Item = &Remedy> {
        self.0.iter().filter_map(|p| match p {
            Piece::Remedy(remedy) => Some(remedy),
            Piece::Words(_) => None,
        })
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words(Remedy::to_string))
    }
}

impl From<&str> for Hint {
    fn from(words: &str) -> Self {
        words.to_string().into()
    }
}

impl From<String> for Hint {
    fn from(words: String) -> Self {
        Hint(vec![Piece::Words(words)])
    }
}

impl From<Remedy> for Hint {
    fn from(remedy: Remedy) -> Self {
        Hint(vec![Piece::Remedy(remedy)])
    }
}

/// One sentence after the other.
impl<T: Into<Hint>> Add<T> for Hint {
    type Output = Hint;

    fn add(mut self, more: T) -> Hint {
        self.0.extend(more.into().0);
        self
    }
}
