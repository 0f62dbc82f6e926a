//! `counterpoint recipe`: the grammar of recipes, from the recipe itself.

use crate::Done;
use crate::say;
use clap::Args;
use counterpoint::select::Grid;
use counterpoint::{Recipe, Result};

/// Print the default recipe as TOML, every field with its meaning and range; fields of other choices stand as comments. Or print one
/// of the built-in grids.
#[derive(Args)]
#[command(after_help = "Example:\n  counterpoint recipe > recipe.toml\n  counterpoint recipe --grid clp > grid.toml")]
pub(crate) struct PrintRecipe {
    /// Print a built-in grid of `select` instead: a start for your own.
    #[arg(long, value_name = "NAME")]
    grid: Option<String>,
}

impl PrintRecipe {
    pub(crate) fn run(&self) -> Result<Done> {
        if let Some(name) = &self.grid {
            say::result(Grid::text(name)?.trim_end());
            return Ok(Done::Yes);
        }
        let written: toml::Table = toml::from_str(&Recipe::default().to_toml()).unwrap_or_default();
        for (name, default, meaning) in Recipe::describe() {
            say::result(format_args!("# {meaning}"));
            match written.get(name) {
                Some(value) => say::result(format_args!("{name} = {value}\n")),
                None => say::result(format_args!("# {name} = {default}\n")),
            }
        }
        Ok(Done::Yes)
    }
}
