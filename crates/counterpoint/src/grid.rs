//! A grid: many recipes written once.
//!
//! A grid is a recipe in which a field may be a list. The candidates are all combinations, or a seeded sample of `limit`
//! of them. A combination that does not use a field (`anchors` where `policy` is linear) is made once, not once per value of
//! the field; a field that no combination uses is refused. Some grids are built in by name: `auto`, one
//! greedy recipe, which is searched with all effort; `clp`, small and good grids of the paper's policy; `wide`, for logs with
//! dozens of contexts and few rows; and those of the paper's Table 5.

mod combinations;

use crate::data::files::read_text;
use crate::error::{Error, Result};
use crate::recipe::{Recipe, misread};
use crate::source::LEAST_ROWS;
use combinations::Combinations;
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

    /// Reads a grid; every value is checked, and every combination of choices.
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
        let combinations = Combinations::of(&grid.recipe)?;
        grid.refuse_too_many(combinations.total())?;
        combinations.check_choices()?;
        Ok(grid)
    }

    /// The candidate recipes, all different, in a fixed order.
    pub fn candidates(&self, seed: u64) -> Result<Vec<Recipe>> {
        let combinations = Combinations::of(&self.recipe)?;
        let total = combinations.total();
        self.refuse_too_many(total)?;
        let picks = match self.limit {
            Some(limit) if limit < total => combinations.sample(limit, seed),
            _ => (0..total).map(|i| combinations.plain(i)).collect::<BTreeSet<usize>>(),
        };
        picks.into_iter().map(|index| combinations.recipe(index, seed)).collect()
    }

    /// As many combinations as are made, or a limit.
    fn refuse_too_many(&self, total: usize) -> Result<()> {
        match total > MOST && self.limit.is_none() {
            true => Err(Error::recipe("grid", format!("{total} combinations are too many (at most {MOST})"))
                .hint("set limit = 200")),
            false => Ok(()),
        }
    }
}

/// A grid has at most this many candidates.
const MOST: usize = 100_000;

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

    /// A list of this many numbers.
    fn numbers(n: usize) -> String {
        (1..=n).map(|i| format!("{i}.5")).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn time_and_memory_do_not_grow_with_what_is_not_drawn() {
        // 10^15 combinations, of which many are one; two million of choices alone, which made one by one would take minutes
        let steps = (1..=1000).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
        let wide = format!(
            "limit = 500\n[recipe]\npolicy = [\"constant\", \"clp\"]\nproximal_steps = [{steps}]\nstd = [{0}]\ntemperature = [{0}]\n\
             cap = [{0}]\nbandwidth = [{0}]",
            numbers(1000)
        );
        assert_eq!(Grid::from_toml(&wide).unwrap().candidates(7).unwrap().len(), 500);
        // fewer than are asked for: the draws end
        let few = format!("limit = 900\n[recipe]\npolicy = [\"constant\", \"linear\"]\nridge = [{}]", numbers(500));
        assert!(Grid::from_toml(&few).unwrap().candidates(7).unwrap().len() <= 501);
        let many = format!("limit = 3\n[recipe]\ncap = [{}]", numbers(100_001));
        assert!(Grid::from_toml(&many).unwrap_err().to_string().contains("100001 values are too many"));
    }

    #[test]
    fn a_value_out_of_range_is_found_whatever_is_drawn() {
        for limit in [1, 2, 5] {
            let text = format!("limit = {limit}\n[recipe]\nanchors = [5, 7, 1000]\ncap = [1.0, 2.0, 3.0]");
            let said = Grid::from_toml(&text).unwrap_err().to_string();
            assert!(said.contains("anchors") && said.contains("out of range"), "{said}");
        }
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
            "[recipe]\ncap = [5.0, 7.0, 5.0]",
            "limit = 1\n[recipe]\npolicy = [\"linear\", \"clp\"]\nstart = \"direct\"", // whichever is drawn
        ] {
            assert!(Grid::from_toml(text).is_err(), "{text}");
        }
    }
}
