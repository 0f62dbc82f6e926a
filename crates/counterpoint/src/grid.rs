//! A grid: many recipes written once.
//!
//! A grid is a recipe in which a field may be a list. The candidates are all combinations, or a seeded sample of `limit`
//! of them. Some grids are built in by name: `default`, small and good; `wide`, for logs with
//! dozens of contexts and few rows; and those of the paper's Table 5.

use crate::data::files::read_text;
use crate::error::{Error, Result};
use crate::recipe::{Recipe, misread};
use crate::rng::hash;
use serde::{Deserialize, Serialize};
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
    /// Cross-validation folds over train and valid; 0 or 1: the valid part alone.
    pub folds: usize,
    /// Fields of the recipe, each a value or a list of values.
    pub recipe: toml::Table,
}

const FIELDS: [&str; 6] = ["limit", "keep", "first_starts", "first_proximal_steps", "folds", "recipe"];
const HINT: &str = "a grid has limit, keep, first_starts, first_proximal_steps, folds, and under [recipe] the fields of \
                    a recipe, each a value or a list";

impl Default for Grid {
    fn default() -> Self {
        Grid { limit: None, keep: 0.4, first_starts: 2, first_proximal_steps: 4, folds: 0, recipe: toml::Table::new() }
    }
}

/// The built-in grids: name and text.
const NAMED: [(&str, &str); 5] = [
    (
        "default",
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
    /// use counterpoint::Grid;
    /// assert_eq!(Grid::named_or_file("default")?.candidates(0)?.len(), 16);
    /// # Ok::<(), counterpoint::Error>(())
    /// ```
    pub fn named_or_file(name: &str) -> Result<Self> {
        if let Some((_, text)) = NAMED.iter().find(|(n, _)| *n == name) {
            return Self::from_toml(text);
        }
        let path = Path::new(name);
        if !path.exists() {
            return Err(Error::recipe("grid", format!("{name:?} is neither a file nor a built-in grid"))
                .hint(format!("built in: {}", Self::names().join(", "))));
        }
        Self::from_toml(&read_text(path)?).map_err(|e| e.at(path.display().to_string()))
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
        if grid.first_starts == 0 || grid.limit == Some(0) {
            return Err(Error::recipe("first_starts", "first_starts and limit must be at least 1"));
        }
        grid.candidates(0)?;
        Ok(grid)
    }

    /// The candidate recipes, in a fixed order.
    pub fn candidates(&self, seed: u64) -> Result<Vec<Recipe>> {
        let lists: Vec<(&String, Vec<&toml::Value>)> = self
            .recipe
            .iter()
            .map(|(field, value)| match value {
                toml::Value::Array(values) => (field, values.iter().collect()),
                one => (field, vec![one]),
            })
            .collect();
        if let Some((field, _)) = lists.iter().find(|(_, v)| v.is_empty()) {
            return Err(Error::recipe(field, "an empty list leaves nothing to choose from"));
        }
        let total = lists.iter().try_fold(1usize, |n, (_, v)| n.checked_mul(v.len())).unwrap_or(usize::MAX);
        let mut picks: Vec<usize> = match self.limit {
            Some(limit) if limit < total => sample(total, limit, seed),
            _ if total > 100_000 => {
                return Err(Error::recipe("grid", format!("{total} combinations are too many")).hint("set limit = 200"));
            }
            _ => (0..total).collect(),
        };
        picks.sort_unstable();
        picks
            .into_iter()
            .map(|mut index| {
                let mut table = toml::Table::new();
                for (field, values) in &lists {
                    table.insert((*field).clone(), values[index % values.len()].clone());
                    index /= values.len();
                }
                table.entry("seed").or_insert(toml::Value::Integer(seed as i64));
                Recipe::from_toml(&table.to_string()).map_err(|e| e.at("[recipe]"))
            })
            .collect()
    }
}

/// `count` distinct indices below `total`, by rank of their hash.
fn sample(total: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut picked = std::collections::BTreeSet::new();
    let mut i = 0;
    while picked.len() < count {
        picked.insert((hash(seed, i) % total as u64) as usize);
        i += 1;
    }
    picked.into_iter().collect()
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
    fn bad_grids_are_refused() {
        for text in
            ["[recipe]\ncap = [1.0, -1.0]", "keep = 0.0", "[recipe]\ncap = []", "typo = 1", "[recipe]\ntypo = [1]"]
        {
            assert!(Grid::from_toml(text).is_err(), "{text}");
        }
    }
}
