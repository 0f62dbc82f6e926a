//! The contents of a store: everything but the rows, and the slots of the header that point to it.

use super::super::check::{Context, Gaps, Levels};
use super::super::checksum::Checksum;
use super::super::config::LogConfig;
use super::super::input::{MAX_LEVELS, MISSING, Missing, check_word};
use super::super::log::Dropped;
use super::super::read::Roles;
use super::super::rows::Layout;
use super::super::weighting::Weighting;
use super::{Numbers, SLOT, damaged};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Everything that a store says of its rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct State {
    /// The program that wrote it.
    pub(in super::super) writer: String,
    /// Which column is which, as in a `log.toml`.
    pub(in super::super) config: String,
    /// Whether rows with unusable values were left out.
    pub(in super::super) drop_invalid: bool,
    /// The contexts; none before the first row.
    pub(in super::super) contexts: Vec<Field>,
    /// The log as it was named when it was packed.
    pub(in super::super) given: Vec<String>,
    /// The files it was packed from.
    pub(in super::super) sources: Vec<SourceFile>,
    /// Rows that were seen, those left out included.
    pub(in super::super) seen: u64,
    pub(in super::super) dropped: Dropped,
    /// Rows that are held.
    pub(in super::super) rows: u64,
    /// In what precision they are held.
    #[serde(default, skip_serializing_if = "Numbers::is_f64")]
    pub(in super::super) numbers: Numbers,
    /// Where blocks stand one after the other: the place of the first, and how many.
    pub(in super::super) runs: Vec<(u64, u64)>,
    /// Parts by time, if the log is divided so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in super::super) divided: Option<Divided>,
}

/// A context of a store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Field {
    pub(in super::super) name: String,
    /// The words by their numbers, where it is a category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in super::super) levels: Option<Vec<String>>,
}

/// A file that rows came from: its name, its length, and a checksum of its first and last 64 KiB.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct SourceFile {
    pub(in super::super) name: String,
    pub(in super::super) bytes: u64,
    pub(in super::super) checksum: String,
    /// Rows that were read of it, and whether that is all of them.
    pub(in super::super) rows: u64,
    pub(in super::super) whole: bool,
}

impl SourceFile {
    /// Whether two stand for the same bytes; of standard input nobody knows.
    pub(in super::super) fn same(&self, other: &SourceFile) -> bool {
        !self.checksum.is_empty() && (self.bytes, &self.checksum) == (other.bytes, &other.checksum)
    }
}

/// Where the parts of all rows that were seen stand, one byte each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Divided {
    pub(in super::super) place: u64,
    pub(in super::super) checksum: String,
}

impl State {
    /// Of a store without rows.
    pub(in super::super) fn new(config: &LogConfig, drop_invalid: bool, numbers: Numbers, given: Vec<String>) -> Self {
        State {
            writer: concat!("counterpoint ", env!("CARGO_PKG_VERSION")).into(),
            config: config.to_toml(),
            drop_invalid,
            contexts: Vec::new(),
            given,
            sources: Vec::new(),
            seen: 0,
            dropped: Dropped::default(),
            rows: 0,
            numbers,
            runs: Vec::new(),
            divided: None,
        }
    }

    /// Reads contents, which must make sense.
    pub(super) fn parse(text: &[u8]) -> Result<Self> {
        let state: State =
            serde_json::from_slice(text).map_err(|e| damaged(format!("its contents cannot be read: {e}")))?;
        state.check_counts()?;
        let names = state.config()?.context.unwrap_or_default();
        if !state.contexts.is_empty() && !names.iter().eq(state.contexts.iter().map(|f| &f.name)) {
            return Err(damaged("its contexts are not those of its columns"));
        }
        for Field { name, levels } in &state.contexts {
            let Some(levels) = levels else { continue };
            let once: std::collections::BTreeSet<&String> = levels.iter().collect();
            if once.len() != levels.len() || levels.len() > MAX_LEVELS {
                return Err(damaged(format!("the words of column {name:?} are too many, or one is there twice")));
            }
            levels.iter().try_for_each(|w| check_word(w))?;
        }
        Ok(state)
    }

    /// Rows that are held or were left out were seen, and can be counted on from.
    fn check_counts(&self) -> Result<()> {
        let (left, by_column) = (self.dropped.rows as u64, self.dropped.columns.iter().map(|(_, n)| *n as u64));
        let known = self.rows.checked_add(left).is_some_and(|known| known <= self.seen && self.seen <= 1 << 53);
        match known && by_column.max().is_none_or(|most| most <= self.seen) {
            true => Ok(()),
            false => Err(damaged("it says it has more rows than it has seen")),
        }
    }

    pub(super) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default() // names and numbers: it cannot fail
    }

    /// Which column is which.
    pub(in super::super) fn config(&self) -> Result<LogConfig> {
        LogConfig::from_toml(&self.config).map_err(|e| damaged(format!("its columns cannot be read: {}", e.what())))
    }

    /// What becomes of missing contexts.
    pub(in super::super) fn missing(&self) -> Result<Missing> {
        Ok(self.config()?.missing.unwrap_or_default())
    }

    /// The columns with the contexts as they are known so far.
    pub(in super::super) fn layout(&self) -> Result<Layout> {
        let missing = self.missing()?;
        let context = |f: &Field| {
            let own = match &f.levels {
                Some(words) => Context { levels: Some(Levels::open(words.clone())), ..Context::category(&f.name) },
                None => Context::number(&f.name),
            };
            own.with(missing)
        };
        Ok(Layout { contexts: self.contexts.iter().map(context).collect(), ..Layout::of(&self.config()?.roles(), &[]) })
    }

    /// Keeps the contexts as they are known by now.
    pub(in super::super) fn learn(&mut self, contexts: &[Context]) {
        let field = |c: &Context| Field { name: c.name.clone(), levels: c.levels.as_ref().map(|l| l.words().to_vec()) };
        self.contexts = contexts.iter().map(field).collect();
    }

    /// Number of blocks.
    pub(super) fn blocks(&self) -> Option<u64> {
        self.runs.iter().try_fold(0u64, |n, (_, count)| n.checked_add(*count))
    }
}

impl Field {
    /// Whether a row may have no value here: a word that says so, or NaN.
    pub(super) fn has_gaps(&self, missing: Missing) -> bool {
        match &self.levels {
            Some(words) => words.iter().any(|w| w == MISSING),
            None => missing == Missing::Indicator,
        }
    }

    /// The context as a new log with these words would have it.
    pub(super) fn gaps(&self, missing: Missing) -> Gaps {
        if missing == Missing::Indicator { Gaps::Kept } else { Gaps::Refused }
    }
}

impl Layout {
    /// The columns that roles name; contexts are taken for numbers until rows are seen.
    pub(in super::super) fn of(roles: &Roles, contexts: &[&str]) -> Layout {
        let (outcome, direction) = roles.outcome.clone().unwrap_or((String::new(), super::super::log::Outcome::Cost));
        Layout {
            contexts: contexts.iter().map(|n| Context::number(n)).collect(),
            actions: roles.actions.clone(),
            outcome,
            direction,
            propensity: roles.propensity.column().map(String::from),
            weight: roles.count.as_ref().or(roles.weight.as_ref()).cloned(),
            weighting: match (&roles.count, &roles.weight) {
                (None, Some(_)) => Weighting::Sampling,
                _ => Weighting::Counts, // also where there are no weights: every row is one
            },
            cluster: roles.cluster.clone(),
            target: roles.target.clone(),
            split: roles.split.clone(),
        }
    }
}

/// Where the contents of a store stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// How many contents were written before.
    pub(super) sequence: u64,
    pub(super) place: u64,
    pub(super) length: u64,
    /// The checksum of the contents.
    pub(super) checksum: u64,
}

impl Slot {
    pub(super) fn to_bytes(self) -> [u8; SLOT] {
        let words = [self.sequence, self.place, self.length, self.checksum];
        let own = Checksum::of_words(&words).value();
        let mut bytes = [0; SLOT];
        for (to, word) in bytes.chunks_exact_mut(8).zip(words.into_iter().chain([own])) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// None where it was not written, or not to its end.
    pub(super) fn parse(bytes: &[u8]) -> Option<Slot> {
        let word = |i: usize| bytes.get(8 * i..8 * i + 8)?.try_into().ok().map(u64::from_le_bytes);
        let words = [word(0)?, word(1)?, word(2)?, word(3)?];
        let [sequence, place, length, checksum] = words;
        (Checksum::of_words(&words).value() == word(4)?).then_some(Slot { sequence, place, length, checksum })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_cannot_be_added_up_are_refused() {
        let config = "context = []\naction = \"a\"\nreward = \"y\"\npropensity = \"p\"\n";
        let plain = State::new(&LogConfig::from_toml(config).unwrap(), false, Numbers::F64, Vec::new());
        let read = |state: &State| State::parse(&state.to_json());
        let good = State { seen: 9, rows: 7, dropped: Dropped { rows: 2, columns: vec![("a".into(), 2)] }, ..plain };
        assert_eq!(read(&good).unwrap(), good);
        let dropped = |rows, n| Dropped { rows, columns: vec![("a".into(), n)] };
        for bad in [
            State { seen: u64::MAX, ..good.clone() },
            State { rows: u64::MAX, ..good.clone() },
            State { dropped: dropped(usize::MAX, 2), ..good.clone() },
            State { dropped: dropped(2, usize::MAX), ..good.clone() },
            State { rows: 8, ..good.clone() },
        ] {
            assert!(read(&bad).unwrap_err().to_string().contains("more rows than it has seen"));
        }
    }
}
