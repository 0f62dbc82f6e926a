//! How a column of the user's file becomes numbers: as it is, with its gaps filled and marked, or one 0/1 column a category.
//!
//! The encoding is decided once, where a log is first read, and travels with the log ([`Schema`](super::Schema)) and
//! with the policy learned from it. New data is then read by the policy's own encoding: columns are found by name, a
//! category is found by its word, and what the policy has never seen is refused instead of guessed at.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// More categories than this in one column are refused: each becomes a column of numbers.
pub const MAX_LEVELS: usize = 200;

/// The category of rows that have none.
pub const MISSING: &str = "(missing)";

/// What becomes of a context that is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Missing {
    /// The row is refused, or dropped where that was asked for.
    #[default]
    Refuse,
    /// A number is replaced by the mean of its column and marked in a column of its own; a category becomes [`MISSING`].
    Indicator,
}

/// One context column as the user has it.
///
/// ```text
/// Number { hour }                      ->  hour
/// Filled { age, 41.5 }                 ->  age, age=(missing)      (41.5 and 1 where there is none)
/// Category { city, [Paris, Rome] }     ->  city=Paris, city=Rome   (1 where the row is of that city, else 0)
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Input {
    /// A column of numbers, taken as it is.
    Number {
        /// The column.
        name: String,
    },
    /// A column of numbers with gaps, and a 0/1 column that marks them.
    Filled {
        /// The column.
        name: String,
        /// What stands in a gap.
        value: f64,
    },
    /// A column of words, one 0/1 column a level.
    Category {
        /// The column.
        name: String,
        /// The known words, sorted.
        levels: Vec<String>,
    },
}

impl Input {
    /// The column in the user's file.
    pub fn name(&self) -> &str {
        match self {
            Input::Number { name } | Input::Filled { name, .. } | Input::Category { name, .. } => name,
        }
    }

    /// Number of numeric columns it becomes.
    pub fn width(&self) -> usize {
        match self {
            Input::Number { .. } => 1,
            Input::Filled { .. } => 2,
            Input::Category { levels, .. } => levels.len(),
        }
    }

    /// Whether it is read as words.
    pub fn is_category(&self) -> bool {
        matches!(self, Input::Category { .. })
    }

    /// Names of the numeric columns of all inputs, in order.
    ///
    /// ```
    /// use counterpoint::data::Input;
    /// let city = Input::Category { name: "city".into(), levels: vec!["Paris".into(), "Rome".into()] };
    /// assert_eq!(Input::expand(&[Input::Number { name: "hour".into() }, city]), ["hour", "city=Paris", "city=Rome"]);
    /// ```
    pub fn expand(inputs: &[Input]) -> Vec<String> {
        let mut names = Vec::new();
        for input in inputs {
            match input {
                Input::Number { name } => names.push(name.clone()),
                Input::Filled { name, .. } => names.extend([name.clone(), format!("{name}={MISSING}")]),
                Input::Category { name, levels } => names.extend(levels.iter().map(|l| format!("{name}={l}"))),
            }
        }
        names
    }

    /// Columns of numbers under these names.
    pub fn numbers<S: AsRef<str>>(names: &[S]) -> Vec<Input> {
        names.iter().map(|n| Input::Number { name: n.as_ref().into() }).collect()
    }

    /// Refuses an encoding that no reader could have made: no levels, too many, unsorted, twice the same column.
    pub fn check(inputs: &[Input]) -> Result<()> {
        let mut seen = std::collections::HashSet::new();
        for input in inputs {
            let bad = |what: &str| Err(Error::policy(what).at(format!("input {:?}", input.name())));
            if !seen.insert(input.name()) {
                return bad("the column is there twice");
            }
            if let Input::Filled { value, .. } = input
                && !value.is_finite()
            {
                return bad("what stands in its gaps is not a finite number");
            }
            if let Input::Category { levels, .. } = input {
                if levels.is_empty() {
                    return bad("the category has no levels");
                }
                if levels.len() > MAX_LEVELS {
                    return bad("the category has too many levels");
                }
                if levels.windows(2).any(|w| w[0] >= w[1]) {
                    return bad("the levels are not sorted, or one is there twice");
                }
            }
        }
        Ok(())
    }
}

/// Refuses a name or a word that a terminal or a table could not show as it is.
pub(crate) fn check_word(word: &str) -> Result<()> {
    match word.chars().find(|c| c.is_control()) {
        Some(c) => Err(Error::data(format!("{word:?} holds the control character {c:?}"))
            .hint("take line ends, tabs and other control characters out of names and categories")),
        None => Ok(()),
    }
}

/// Words for an error: at most forty of them, quoted.
pub(crate) fn list<S: AsRef<str>>(words: &[S]) -> String {
    let short = |w: &str| match w.char_indices().nth(80) {
        Some((end, _)) => format!("{:?}...", &w[..end]),
        None => format!("{w:?}"),
    };
    let shown: Vec<String> = words.iter().take(40).map(|w| short(w.as_ref())).collect();
    match words.len() {
        n if n > 40 => format!("{} and {} more", shown.join(", "), n - 40),
        _ => shown.join(", "),
    }
}
