//! The combinations of the lists of a grid, numbered: the first field turns fastest.
//!
//! A grid of a hundred thousand candidates is checked without making one of them: each value is checked once, alone, and the choices (which
//! policy, which estimator, ..) in all their combinations, because only they decide what is legal together and which other fields have an
//! effect. A candidate is then put together from values that were read before.

use super::{HINT, MOST};
use crate::error::{Error, Result};
use crate::recipe::{Flat, Recipe, idle, misread};
use crate::rng::hash;
use std::collections::{BTreeSet, HashSet};
use toml::Value;

/// A field with its values, each a recipe in which nothing else is written.
struct Axis<'a> {
    field: &'a str,
    values: Vec<Flat>,
    /// Of each value the number of its kind: values of one kind decide alike which other fields have an effect.
    kinds: Vec<usize>,
    /// Of each kind its first value.
    first: Vec<usize>,
}

/// Everything that a grid holds.
pub(super) struct Combinations<'a> {
    axes: Vec<Axis<'a>>,
    /// Of each combination of kinds the fields that have an effect, one bit each.
    used: Vec<u64>,
}

impl<'a> Axis<'a> {
    fn of(field: &'a str, values: &[Value]) -> Result<Self> {
        if values.is_empty() {
            return Err(Error::recipe(field, "an empty list leaves nothing to choose from")
                .hint("write a value or a list of values, or leave the field out"));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = values.iter().map(Value::to_string).find(|v| !seen.insert(v.clone())) {
            return Err(Error::recipe(field, format!("{twice} stands in the list twice"))
                .hint("write each value once: equal candidates would be fitted again"));
        }
        let values = values.iter().map(|v| alone(field, v)).collect::<Result<Vec<Flat>>>()?;
        let (mut chosen, mut kinds, mut first) = (Vec::<Flat>::new(), Vec::new(), Vec::new());
        for (i, kind) in values.iter().map(Flat::chosen).enumerate() {
            let at = chosen.iter().position(|c| *c == kind).unwrap_or(chosen.len());
            kinds.push(at);
            if at == chosen.len() {
                chosen.push(kind);
                first.push(i);
            }
        }
        Ok(Axis { field, values, kinds, first })
    }
}

/// A value that is read and in its range.
fn alone(field: &str, value: &Value) -> Result<Flat> {
    let table = toml::Table::from_iter([(field.to_string(), value.clone())]);
    let read = |text: String| toml::from_str(&text).map_err(|e| misread(&text, &e, Flat::FIELDS, HINT));
    let flat: Flat = match table.clone().try_into() {
        Ok(flat) => flat,
        Err(_) => read(table.to_string()).map_err(|e: Error| e.at("[recipe]"))?, // the same, with its place
    };
    flat.check_ranges().map_err(|e| e.at("[recipe]"))?;
    Ok(flat)
}

impl<'a> Combinations<'a> {
    /// Of a table whose values are all read and in their ranges; a field that no combination uses is refused.
    pub(super) fn of(table: &'a toml::Table) -> Result<Self> {
        let values = |value: &'a Value| match value {
            Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        let many: usize = table.values().map(|v| values(v).len()).sum();
        if many > MOST {
            return Err(Error::recipe("grid", format!("{many} values are too many (at most {MOST})"))
                .hint("leave values out; a few of each field, log-spaced, are enough"));
        }
        let axes = table.iter().map(|(f, v)| Axis::of(f, values(v))).collect::<Result<Vec<_>>>()?;
        let mut all = Combinations { axes, used: Vec::new() };
        all.used = (0..all.choices()).map(|choice| all.uses(choice)).collect();
        match (0..all.axes.len()).find(|i| all.used.iter().all(|used| used >> i & 1 == 0)) {
            Some(i) => {
                let field = all.axes[i].field;
                let home = all.flat(all.first_with(0)).stranger(field).unwrap_or_default();
                Err(idle(field, home).at("[recipe]"))
            }
            None => Ok(all),
        }
    }

    /// Refuses choices that are not legal together, whatever the values of other fields.
    pub(super) fn check_choices(&self) -> Result<()> {
        (0..self.choices()).try_for_each(|choice| self.recipe(self.first_with(choice), 0).map(drop))
    }

    pub(super) fn total(&self) -> usize {
        self.axes.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.values.len())).unwrap_or(usize::MAX)
    }

    /// How many combinations of kinds there are: a few thousand where every choice is left open.
    fn choices(&self) -> usize {
        self.axes.iter().map(|axis| axis.first.len()).product()
    }

    /// The first combination of these kinds.
    fn first_with(&self, mut choice: usize) -> usize {
        let (mut out, mut unit) = (0usize, 1usize);
        for axis in &self.axes {
            let first = axis.first[choice % axis.first.len()];
            choice /= axis.first.len();
            out = out.saturating_add(first.saturating_mul(unit));
            unit = unit.saturating_mul(axis.values.len());
        }
        out
    }

    /// Which fields have an effect with these kinds.
    fn uses(&self, choice: usize) -> u64 {
        let flat = self.flat(self.first_with(choice));
        let used = self.axes.iter().enumerate().filter(|(_, axis)| flat.stranger(axis.field).is_none());
        used.fold(0, |bits, (i, _)| bits | 1 << i)
    }

    /// The values of a combination, as they are written.
    fn flat(&self, mut index: usize) -> Flat {
        let mut flat = Flat::default();
        for axis in &self.axes {
            flat.take(axis.field, &axis.values[index % axis.values.len()]);
            index /= axis.values.len();
        }
        flat
    }

    /// The first combination that makes the same recipe: with the first value of every field that it does not use.
    pub(super) fn plain(&self, index: usize) -> usize {
        let (mut choice, mut rest, mut unit) = (0, index, 1);
        for axis in &self.axes {
            choice += axis.kinds[rest % axis.values.len()] * unit;
            rest /= axis.values.len();
            unit *= axis.first.len();
        }
        let (mut out, mut rest, mut unit) = (0, index, 1usize);
        for (i, axis) in self.axes.iter().enumerate() {
            let used = (self.used[choice] >> i & 1) as usize;
            out += used * (rest % axis.values.len()) * unit;
            rest /= axis.values.len();
            unit = unit.saturating_mul(axis.values.len());
        }
        out
    }

    /// `count` different combinations by rank of their hash, or as many as there are.
    pub(super) fn sample(&self, count: usize, seed: u64) -> BTreeSet<usize> {
        let total = self.total() as u64;
        let mut picked = BTreeSet::new();
        for i in 0.. {
            // every draw gives a new one, unless few are left
            if picked.len() == count || i > 100 * count as u64 + 1000 {
                break;
            }
            picked.insert(self.plain((hash(seed, i) % total) as usize));
        }
        picked
    }

    /// The recipe of a combination, without the fields that it does not use.
    pub(super) fn recipe(&self, index: usize, seed: u64) -> Result<Recipe> {
        Recipe::try_from(self.flat(index).effective().seeded(seed)).map_err(|e| e.at("[recipe]"))
    }
}
