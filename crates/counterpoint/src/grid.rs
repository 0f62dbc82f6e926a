//! A grid: many recipes written once.
//!
//! A grid is a recipe in which a field may be a list. The candidates are all combinations, or a seeded sample of `limit`
//! of them. A combination that does not use a field (`anchors` where `policy` is linear) is made once, not once per value of
//! the field; a field that no combination uses is refused. Some grids are built in by name: `auto`, one
//! greedy recipe, which is searched with all effort; `clp`, small and good grids of the paper's policy; `wide`, for logs with
//! dozens of contexts and few rows; and those of the paper's Table 5.

use crate::data::files::read_text;
use crate::error::{Error, Result};
use crate::recipe::{Flat, Recipe, idle, misread};
use crate::rng::hash;
use crate::source::LEAST_ROWS;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// Recipes to choose from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Grid {
    /// At most this many candidates, sampled by the seed; absent: all combinations.
    pub limit: Option<usize>,
    /// Share of the candidates that go on to the second round, (0, 1]; 1 means no early stopping.
    pub keep: f64,
    /// Starting points of a fit in the first round.
    pub first_starts: usize,
    /// Proximal steps of a fit in the first round.
    pub first_proximal_steps: usize,
    /// Rows, in whole blocks, that a fit before the last round learns from, at least 100,000; absent: all. The last round learns from all rows.
    pub first_rows: Option<u64>,
    /// Cross-validation folds over train and valid; 0 or 1: the valid part alone.
    pub folds: usize,
    /// Fields of the recipe, each a value or a list of values.
    pub recipe: toml::Table,
}

const FIELDS: [&str; 7] = ["limit", "keep", "first_starts", "first_proximal_steps", "first_rows", "folds", "recipe"];
const HINT: &str = "a grid has limit, keep, first_starts, first_proximal_steps, first_rows, folds, and under [recipe] the fields of \
                    a recipe, each a value or a list";

impl Default for Grid {
    fn default() -> Self {
        Grid {
            limit: None,
            keep: 0.4,
            first_starts: 2,
            first_proximal_steps: 4,
            first_rows: None,
            folds: 0,
            recipe: toml::Table::new(),
        }
    }
}

/// The built-in grids: name and text.
const NAMED: [(&str, &str); 6] = [
    ("auto", "[recipe]\npolicy = \"greedy\"\n"),
    (
        "clp",
        "[recipe]\ncontext_map = [\"quadratic\", \"cubic\"]\ncap = [10.0, 20.0]\nvariance_penalty = [0.0, 1.0]\nanchors = [10, 15]\n",
    ),
    (
        "wide",
        "folds = 5\n[recipe]\ncontext_map = \"linear\"\ntemperature = 1.0\nstart_noise = 0.01\nstd_floor = [0.2, 0.4]\n\
         ridge = [0.01, 0.1, 1.0]\nanchors = [5, 10]\n",
    ),
    (
        "paper-synthetic",
        "limit = 200\n[recipe]\ncontext_map = [\"linear\", \"quadratic\"]\nvariance_penalty = [0.0, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0]\n\
         cap = [1.0, 1.7, 2.8, 4.6, 7.7, 12.9, 21.5, 35.9, 59.9, 100.0]\nkappa = [0.001, 0.01, 0.1, 1.0]\n\
         ridge = [0.00001, 0.0001, 0.001, 0.01, 0.1]\nanchors = [2, 3, 5, 7, 10]\ntemperature = [1.0, 10.0, 100.0]\n",
    ),
    (
        "paper-warfarin",
        "limit = 200\nfolds = 5\n[recipe]\ncontext_map = \"linear\"\nvariance_penalty = [0.0001, 0.001, 0.01, 0.1]\ncap = [1.0, 2.1, 4.5, 9.5, 20.0]\n\
         kappa = [0.001, 0.01, 0.1]\nridge = [0.00001, 0.0001, 0.001, 0.01, 0.1]\nanchors = [5, 7, 10, 12, 15, 20]\ntemperature = [1.0, 5.0, 10.0]\n",
    ),
    (
        "paper-cocoa",
        "limit = 200\n[recipe]\ncontext_map = [\"linear\", \"quadratic\"]\nfamily = [\"normal\", \"lognormal\"]\nvariance_penalty = [0.0, 0.001, 0.1]\n\
         cap = [1.0, 2.1, 4.5, 9.5, 10.0, 20.0, 100.0]\nkappa = [0.001, 0.01, 0.1]\nridge = [0.00001, 0.0001, 0.001, 0.01, 0.1]\n\
         anchors = [2, 3, 5]\ntemperature = [0.1, 0.5, 1.0, 5.0]\n",
    ),
];

impl Grid {
    /// A built-in grid by name, or a grid file.
    ///
    /// ```
    /// use counterpoint::select::Grid;
    /// assert_eq!(Grid::named_or_file("clp")?.candidates(0)?.len(), 16);
    /// # Ok::<(), counterpoint::Error>(())
    /// ```
    pub fn named_or_file(name: &str) -> Result<Self> {
        if let Ok(text) = Self::text(name) {
            return Self::from_toml(text);
        }
        let path = Path::new(name);
        if !path.exists() {
            return Err(Error::recipe("grid", format!("{name:?} is neither a file nor a built-in grid"))
                .hint(format!("built in: {}", Self::names().join(", "))));
        }
        Self::from_toml(&read_text(path)?).map_err(|e| e.at(path.display().to_string()))
    }

    /// The text of a built-in grid, to start a grid file from.
    pub fn text(name: &str) -> Result<&'static str> {
        NAMED.iter().find(|(n, _)| *n == name).map(|(_, text)| *text).ok_or_else(|| {
            Error::recipe("grid", format!("{name:?} is not a built-in grid"))
                .hint(format!("built in: {}", Self::names().join(", ")))
        })
    }

    /// The names of the built-in grids.
    pub fn names() -> Vec<&'static str> {
        NAMED.iter().map(|(n, _)| *n).collect()
    }

    /// Reads a grid; every candidate is checked.
    pub fn from_toml(text: &str) -> Result<Self> {
        let grid: Grid = toml::from_str(text).map_err(|e| misread(text, &e, &FIELDS, HINT))?;
        if !(grid.keep > 0.0 && grid.keep <= 1.0) {
            return Err(Error::recipe("keep", format!("{} must lie in (0, 1]", grid.keep)));
        }
        if grid.first_rows.is_some_and(|rows| rows < LEAST_ROWS as u64) {
            return Err(Error::recipe("first_rows", format!("it must be at least {LEAST_ROWS}")));
        }
        if grid.first_starts == 0 || grid.limit == Some(0) {
            return Err(Error::recipe("first_starts", "first_starts and limit must be at least 1"));
        }
        if let Some(limit) = grid.limit.filter(|limit| *limit > MOST) {
            return Err(Error::recipe("limit", format!("{limit} candidates are too many (at most {MOST})"))
                .hint("set limit = 200"));
        }
        grid.candidates(0)?;
        Ok(grid)
    }

    /// The candidate recipes, all different, in a fixed order.
    pub fn candidates(&self, seed: u64) -> Result<Vec<Recipe>> {
        let combinations = Combinations::of(&self.recipe)?;
        combinations.refuse_idle_fields()?;
        let total = combinations.total();
        let picks = match self.limit {
            Some(limit) if limit < total => combinations.sample(limit, seed)?,
            _ if total > MOST => {
                return Err(Error::recipe("grid", format!("{total} combinations are too many")).hint("set limit = 200"));
            }
            _ => (0..total).map(|i| combinations.plain(i)).collect::<Result<BTreeSet<usize>>>()?,
        };
        picks.into_iter().map(|index| combinations.recipe(index, seed)).collect()
    }
}

/// A grid has at most this many candidates.
const MOST: usize = 100_000;

/// The combinations of the lists of a grid, numbered: the first field turns fastest.
struct Combinations<'a> {
    lists: Vec<(&'a str, Vec<&'a toml::Value>)>,
}

impl<'a> Combinations<'a> {
    fn of(table: &'a toml::Table) -> Result<Self> {
        let list = |value: &'a toml::Value| match value {
            toml::Value::Array(values) => values.iter().collect(),
            one => vec![one],
        };
        let lists: Vec<(&str, Vec<&toml::Value>)> = table.iter().map(|(f, v)| (f.as_str(), list(v))).collect();
        match lists.iter().find(|(_, v)| v.is_empty()) {
            Some((field, _)) => Err(Error::recipe(field, "an empty list leaves nothing to choose from")),
            None => Ok(Combinations { lists }),
        }
    }

    fn total(&self) -> usize {
        self.lists.iter().try_fold(1usize, |n, (_, v)| n.checked_mul(v.len())).unwrap_or(usize::MAX)
    }

    /// The values of a combination.
    fn table(&self, mut index: usize) -> toml::Table {
        let mut table = toml::Table::new();
        for (field, values) in &self.lists {
            table.insert((*field).to_string(), values[index % values.len()].clone());
            index /= values.len();
        }
        table
    }

    fn flat(&self, index: usize) -> Result<Flat> {
        let text = self.table(index).to_string();
        toml::from_str(&text).map_err(|e| misread(&text, &e, Flat::FIELDS, HINT).at("[recipe]"))
    }

    /// The first combination that makes the same recipe: with the first value of every field that it does not use.
    fn plain(&self, index: usize) -> Result<usize> {
        let flat = self.flat(index)?;
        let (mut out, mut rest, mut unit) = (0, index, 1);
        for (field, values) in &self.lists {
            let used = flat.stranger(field).is_none();
            out += if used { rest % values.len() * unit } else { 0 };
            rest /= values.len();
            unit *= values.len();
        }
        Ok(out)
    }

    /// A field that no combination uses is a mistake. Only choices decide which fields are used, so only they are varied.
    fn refuse_idle_fields(&self) -> Result<()> {
        let (mut varied, mut unit) = (vec![0usize], 1usize);
        for (name, values) in &self.lists {
            if Flat::CHOICES.contains(name) {
                varied = varied.iter().flat_map(|at| (0..values.len()).map(move |v| at + v * unit)).collect();
            }
            unit = unit.saturating_mul(values.len());
        }
        let flats = varied.into_iter().map(|at| self.flat(at)).collect::<Result<Vec<Flat>>>()?;
        for (field, _) in &self.lists {
            let homes: Vec<&str> = flats.iter().filter_map(|f| f.stranger(field)).collect();
            if let Some(home) = homes.first().filter(|_| homes.len() == flats.len()) {
                return Err(idle(field, home).at("[recipe]"));
            }
        }
        Ok(())
    }

    /// `count` different combinations by rank of their hash, or as many as there are.
    fn sample(&self, count: usize, seed: u64) -> Result<BTreeSet<usize>> {
        let total = self.total() as u64;
        let mut picked = BTreeSet::new();
        for i in 0.. {
            // every draw gives a new one, unless few are left
            if picked.len() == count || i > 100 * count as u64 + 1000 {
                break;
            }
            picked.insert(self.plain((hash(seed, i) % total) as usize)?);
        }
        Ok(picked)
    }

    /// The recipe of a combination, without the fields that it does not use.
    fn recipe(&self, index: usize, seed: u64) -> Result<Recipe> {
        let (mut table, flat) = (self.table(index), self.flat(index)?);
        flat.strangers().for_each(|(field, _)| {
            table.remove(field);
        });
        table.entry("seed").or_insert(toml::Value::Integer(seed as i64));
        Recipe::from_toml(&table.to_string()).map_err(|e| e.at("[recipe]"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_grid_is_made_of_legal_recipes() {
        for name in Grid::names() {
            let grid = Grid::named_or_file(name).unwrap();
            let candidates = grid.candidates(3).unwrap();
            assert!(!candidates.is_empty() && candidates.iter().all(|r| r.check().is_ok() && r.seed == 3), "{name}");
            assert_eq!(candidates, grid.candidates(3).unwrap());
        }
    }

    #[test]
    fn a_combination_that_does_not_use_a_field_is_made_once() {
        let grid =
            Grid::from_toml("[recipe]\npolicy = [\"linear\", \"clp\"]\nanchors = [6, 12]\ncap = [5.0, 10.0]").unwrap();
        let all = grid.candidates(0).unwrap();
        assert_eq!(all.len(), 2 + 4);
        assert!((0..all.len()).all(|i| !all[..i].contains(&all[i])));
        // a sample has different members too, and no more than there are
        let some = Grid { limit: Some(7), ..grid.clone() }.candidates(0).unwrap();
        assert_eq!(some.len(), 6);
        assert_eq!(Grid { limit: Some(3), ..grid }.candidates(0).unwrap().len(), 3);
    }

    #[test]
    fn a_field_that_no_combination_uses_is_refused() {
        let said = Grid::from_toml("[recipe]\npolicy = \"linear\"\nanchors = [6, 12, 24]").unwrap_err().to_string();
        assert!(said.contains("anchors belongs to policy = clp"), "{said}");
        assert!(Grid::from_toml("limit = 2\n[recipe]\nestimator = [\"ips\", \"snips\"]\ncap = [1.0, 2.0]").is_err());
        assert!(Grid::from_toml("[recipe]\npolicy = [\"linear\", \"clp\"]\ntemperature = [1.0, 10.0]").is_ok());
    }

    #[test]
    fn bad_grids_are_refused() {
        for text in [
            "[recipe]\ncap = [1.0, -1.0]",
            "keep = 0.0",
            "limit = 50000000",
            "[recipe]\ncap = []",
            "typo = 1",
            "[recipe]\ntypo = [1]",
        ] {
            assert!(Grid::from_toml(text).is_err(), "{text}");
        }
    }
}
