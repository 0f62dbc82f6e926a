//! What a value must be: the checks every row passes, whether it comes from memory or from a file.
//!
//! Rows arrive in chunks of columns, and a column is checked as a whole. The first bad row is an error that names file,
//! row and column; where rows may be dropped, each is counted under every column that speaks against it.

use super::input::{Input, MAX_LEVELS, MISSING, Missing, check_word, list};
use super::log::Dropped;
use super::split::Part;
use crate::error::{Error, Hint, Remedy, Result};
use std::collections::HashMap;

/// A context column: numbers, or words with the levels known so far.
#[derive(Clone, Debug)]
pub(super) struct Context {
    pub(super) name: String,
    pub(super) levels: Option<Levels>,
    pub(super) gaps: Gaps,
}

/// Whether values of a context may be missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Gaps {
    /// No, for none was asked for.
    Refused,
    /// No, for the policy has never seen one.
    Unlearned,
    /// Yes, and at the end it is seen what to do about them.
    Kept,
    /// Yes, and it is known what stands in them.
    Filled(f64),
}

impl Context {
    pub(super) fn number(name: &str) -> Self {
        Context { name: name.into(), levels: None, gaps: Gaps::Refused }
    }

    pub(super) fn category(name: &str) -> Self {
        Context { name: name.into(), levels: Some(Levels::default()), gaps: Gaps::Refused }
    }

    /// The same with gaps, where they may be.
    pub(super) fn with(self, missing: Missing) -> Self {
        let gaps = if missing == Missing::Indicator { Gaps::Kept } else { Gaps::Refused };
        Context { gaps, ..self }
    }

    /// The word that stands for a missing one, where one may be missing.
    fn missing(&self) -> Option<&'static str> {
        matches!(self.gaps, Gaps::Kept | Gaps::Filled(_)).then_some(MISSING)
    }

    /// A column whose levels are given and may not grow.
    pub(super) fn of(input: &Input) -> Self {
        match input {
            Input::Number { name } => Context { gaps: Gaps::Unlearned, ..Context::number(name) },
            Input::Filled { name, value } => Context { gaps: Gaps::Filled(*value), ..Context::number(name) },
            Input::Category { name, levels } => {
                let codes = levels.iter().enumerate().map(|(i, l)| (l.clone(), i)).collect();
                let gaps = if levels.iter().any(|l| l == MISSING) { Gaps::Kept } else { Gaps::Unlearned };
                let levels = Some(Levels { codes, words: levels.clone(), closed: true });
                Context { name: name.clone(), levels, gaps }
            }
        }
    }
}

/// A longer word is a text, not a category.
const LONGEST_WORD: usize = 1024;

/// Words and their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Levels {
    codes: HashMap<String, usize>,
    words: Vec<String>,
    closed: bool,
}

impl Levels {
    /// The words known so far, by number.
    pub(super) fn words(&self) -> &[String] {
        &self.words
    }

    /// Words in the order of their numbers, to which more may come.
    #[cfg(feature = "readers")]
    pub(super) fn open(words: Vec<String>) -> Self {
        let codes = words.iter().enumerate().map(|(i, w)| (w.clone(), i)).collect();
        Levels { codes, words, closed: false }
    }

    /// What is wrong with a word that was refused.
    fn refuse(&self, word: Option<&str>) -> Reason {
        match word {
            None => Reason::new("the category is missing"),
            Some(w) => Reason {
                what: format!("{w:?} is not a category the policy knows"),
                hint: Some(
                    Hint::from(format!("it knows {}; correct the word, ", list(&self.words)))
                        + "learn again with such rows, or skip them with "
                        + Remedy::DropInvalid,
                ),
            },
        }
    }

    /// The number of a word that was not refused.
    fn code(&mut self, word: &str) -> Result<f64> {
        if let Some(&code) = self.codes.get(word) {
            return Ok(code as f64);
        }
        if word.len() > LONGEST_WORD {
            return Err(Error::data(format!("a category of {} bytes (at most {LONGEST_WORD})", word.len()))
                .hint("leave the column out of the contexts, or write short words in it"));
        }
        check_word(word)?;
        if self.words.len() == MAX_LEVELS {
            return Err(Error::data(format!("it has more than {MAX_LEVELS} categories")).hint(
                Hint::from("group the rare ones or leave the column out; a number read as words needs no ")
                    + Remedy::Categorical,
            ));
        }
        self.codes.insert(word.into(), self.words.len());
        self.words.push(word.into());
        Ok((self.words.len() - 1) as f64)
    }
}

/// Why a value is refused.
pub(super) struct Reason {
    pub(super) what: String,
    pub(super) hint: Option<Hint>,
}

impl Reason {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Reason { what: what.into(), hint: None }
    }
}

/// The values of one column in a chunk.
pub(super) enum Values<'a> {
    /// Numbers; what could not be read is NaN.
    Numbers(&'a [f64]),
    /// Words; a missing one is `None`.
    Words(Vec<Option<&'a str>>),
    /// Parts already known.
    Parts(&'a [Part]),
}

/// Some rows, and where they come from.
pub(super) struct Chunk<'a> {
    pub(super) rows: usize,
    /// Contexts, actions, outcome, propensity, then weight and split where the layout has them.
    pub(super) columns: Vec<Values<'a>>,
    /// The file, if there is one.
    pub(super) file: Option<&'a str>,
    /// Rows of the file before this chunk.
    pub(super) before: usize,
    /// What the source knows about a number that is NaN: (column, row).
    pub(super) why: &'a dyn Fn(usize, usize) -> Option<Reason>,
}

impl Chunk<'_> {
    fn place(&self, row: usize, column: &str) -> String {
        let row = format!("row {}, column {column:?}", self.before + row + 1);
        self.file.map_or(row.clone(), |f| format!("{f}, {row}"))
    }
}

/// What a number must be beyond finite.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Range {
    Any,
    Positive,
    NotNegative,
    /// How many equal rows a row stands for.
    Count,
    /// At least 0: a policy may never take an action that was logged.
    Density,
    /// A name of any kind: only a missing one is wrong.
    Key,
}

/// Larger numbers cannot be squared and added up; most often they stand for a value that is missing.
const LARGEST: f64 = 1e140;

/// Larger whole numbers have gaps between them: 2^53.
const LARGEST_COUNT: f64 = 9_007_199_254_740_992.0;

/// A number as it is said: in powers of ten where it would be a row of noughts.
pub(crate) struct Said(pub(crate) f64);

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self.0 == 0.0 || !self.0.is_finite() || (1e-5..1e17).contains(&self.0.abs()) {
            true => write!(f, "{}", self.0),
            false => write!(f, "{:e}", self.0),
        }
    }
}

impl Range {
    fn holds(self, v: f64) -> bool {
        v.is_finite()
            && match self {
                Range::Key => true,
                Range::Any => v.abs() <= LARGEST,
                Range::Positive => v > 0.0,
                Range::NotNegative | Range::Density => v >= 0.0,
                Range::Count => (0.0..=LARGEST_COUNT).contains(&v) && v.fract() == 0.0,
            }
    }

    fn refuse(self, value: f64) -> Reason {
        let v = Said(value);
        Reason::new(match self {
            _ if !value.is_finite() => format!("{v} is not a number to compute with (must be finite)"),
            Range::Any => {
                format!(
                    "{value:e} is too large to compute with (at most {LARGEST:e}); does it stand for a missing value?"
                )
            }
            Range::Density => format!("{v} is not a density (must be >= 0)"),
            Range::Count if value > LARGEST_COUNT => {
                format!("{v} is too large for a count (at most 2^53); weights in any unit are sampling weights")
            }
            Range::Count => format!(
                "{v} is not a count (must be a whole number >= 0; weights of another kind are sampling weights)"
            ),
            Range::NotNegative => format!("{v} is not a row weight (must be >= 0)"),
            _ => format!("{v} is not a density (must be > 0)"),
        })
    }
}

/// Checks chunks of columns: contexts first, then whatever else a row needs.
pub(super) struct Checker {
    pub(super) contexts: Vec<Context>,
    others: Vec<(String, Range)>,
    drop_invalid: bool,
    counts: Vec<usize>,
    rows: usize,
    /// The rows of the last chunk that are to be left out.
    pub(super) bad: Vec<bool>,
}

impl Checker {
    pub(super) fn new(contexts: Vec<Context>, others: Vec<(String, Range)>, drop_invalid: bool) -> Self {
        let counts = vec![0; contexts.len() + others.len()];
        Checker { contexts, others, drop_invalid, counts, rows: 0, bad: Vec::new() }
    }

    /// Marks the bad rows; the first of them is an error unless they may be dropped.
    pub(super) fn check(&mut self, chunk: &Chunk) -> Result<()> {
        self.bad.clear();
        self.bad.resize(chunk.rows, false);
        let mut first: Option<(usize, usize)> = None;
        for (c, values) in chunk.columns.iter().enumerate() {
            let levels = self.contexts.get(c).and_then(|x| x.levels.as_ref());
            let range = self.range(c);
            let context = self.contexts.get(c);
            let gaps = context.and_then(Context::missing).is_some();
            let wrong: Vec<usize> = match (values, levels) {
                (Values::Numbers(v), _) if gaps => {
                    let mut wrong = positions(v, |v| !range.holds(*v));
                    wrong.retain(|&i| !(v[i].is_nan() && is_gap(chunk, c, i)));
                    wrong
                }
                (Values::Numbers(v), _) => positions(v, |v| !range.holds(*v)),
                (Values::Words(w), Some(l)) => {
                    let missing = context.and_then(Context::missing);
                    positions(w, |w| w.or(missing).is_none_or(|w| l.closed && !l.codes.contains_key(w)))
                }
                (Values::Words(w), None) if range == Range::Key => positions(w, Option::is_none),
                (Values::Words(w), None) => positions(w, |w| w.is_none_or(|w| w.parse::<Part>().is_err())),
                (Values::Parts(_), _) => Vec::new(),
            };
            self.counts[c] += wrong.len();
            wrong.iter().for_each(|&i| self.bad[i] = true);
            if let Some(&row) = wrong.first()
                && first.is_none_or(|(earlier, _)| row < earlier)
            {
                first = Some((row, c));
            }
        }
        self.rows += self.bad.iter().filter(|b| **b).count();
        match first {
            Some((row, column)) if !self.drop_invalid => Err(self.refuse(chunk, row, column)),
            _ => Ok(()),
        }
    }

    /// The numbers of the words of context c, for the good rows among `rows`.
    pub(super) fn encode(
        &mut self,
        chunk: &Chunk,
        c: usize,
        rows: std::ops::Range<usize>,
        to: &mut Vec<f64>,
    ) -> Result<()> {
        let Values::Words(words) = &chunk.columns[c] else { return Ok(()) };
        let context = &mut self.contexts[c];
        let missing = context.missing();
        let Context { name, levels: Some(levels), .. } = context else { return Ok(()) };
        for i in rows {
            if let Some(word) = words[i].or(missing) {
                to.push(levels.code(word).map_err(|e| e.at(chunk.place(i, name)))?);
            }
        }
        Ok(())
    }

    /// What was left out so far.
    pub(super) fn dropped(&self) -> Dropped {
        let columns = (0..self.counts.len()).filter(|&c| self.counts[c] > 0);
        Dropped { rows: self.rows, columns: columns.map(|c| (self.name(c).to_string(), self.counts[c])).collect() }
    }

    /// Counts on from what was left out before.
    #[cfg(feature = "readers")]
    pub(super) fn resume(&mut self, dropped: &Dropped) {
        self.rows = dropped.rows;
        let mut before = dropped.columns.iter().peekable();
        for c in 0..self.counts.len() {
            if let Some((_, n)) = before.next_if(|(name, _)| name == self.name(c)) {
                self.counts[c] = *n;
            }
        }
    }

    fn name(&self, c: usize) -> &str {
        self.contexts.get(c).map_or_else(|| self.others[c - self.contexts.len()].0.as_str(), |x| x.name.as_str())
    }

    fn range(&self, c: usize) -> Range {
        c.checked_sub(self.contexts.len()).map_or(Range::Any, |c| self.others[c].1)
    }

    fn refuse(&self, chunk: &Chunk, row: usize, c: usize) -> Error {
        let levels = self.contexts.get(c).and_then(|x| x.levels.as_ref());
        let reason = match (&chunk.columns[c], levels) {
            (Values::Numbers(v), _) => {
                let known = if v[row].is_nan() { (chunk.why)(c, row) } else { None };
                known.unwrap_or_else(|| self.range(c).refuse(v[row]))
            }
            (Values::Words(w), Some(levels)) => levels.refuse(w[row]),
            (Values::Words(w), None) => Reason::new(match w[row] {
                Some(w) => format!("{w:?} is not a part of a log (train, valid or test)"),
                None => "the value is missing".into(),
            }),
            (Values::Parts(_), _) => Reason::new("it is not a part of a log"),
        };
        let drop = || Hint::from(Remedy::DropInvalid) + " skips and counts such rows";
        let gap = match &chunk.columns[c] {
            Values::Numbers(v) => v[row].is_nan() && is_gap(chunk, c, row),
            Values::Words(w) => w[row].is_none(),
            Values::Parts(_) => false,
        };
        let hint = || match self.contexts.get(c).map(|x| x.gaps).filter(|_| gap) {
            Some(Gaps::Refused) => {
                Hint::from(Remedy::Missing)
                    + " keeps such rows and marks them; "
                    + Remedy::DropInvalid
                    + " skips and counts such rows"
            }
            Some(Gaps::Unlearned) => {
                Hint::from("the policy has not learned from missing values here (learn with ")
                    + Remedy::Missing
                    + "); "
                    + Remedy::DropInvalid
                    + " skips and counts such rows"
            }
            _ => drop(),
        };
        Error::data(reason.what).at(chunk.place(row, self.name(c))).hint(reason.hint.unwrap_or_else(hint))
    }
}

/// Whether nothing stood where a number is NaN, rather than something that is no number.
fn is_gap(chunk: &Chunk, c: usize, row: usize) -> bool {
    (chunk.why)(c, row).is_none_or(|reason| reason.hint.is_none())
}

fn positions<T>(values: &[T], wrong: impl Fn(&T) -> bool) -> Vec<usize> {
    values.iter().enumerate().filter(|(_, v)| wrong(v)).map(|(i, _)| i).collect()
}
