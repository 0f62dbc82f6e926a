//! `counterpoint recipe`: the grammar of recipes, from the recipe itself.

use crate::Done;
use crate::say;
use clap::Args;
use counterpoint::{Recipe, Result};

/// Print the default recipe as TOML, every field with its meaning and range.
#[derive(Args)]
pub(crate) struct PrintRecipe {}

impl PrintRecipe {
    pub(crate) fn run(&self) -> Result<Done> {
        let written: toml::Table = toml::from_str(&Recipe::default().to_toml()).unwrap_or_default();
        for (name, _, meaning) in Recipe::describe() {
            say::result(format_args!("# {meaning}"));
            match written.get(name) {
                Some(value) => say::result(format_args!("{name} = {value}\n")),
                None => say::result(format_args!("# {name} = (automatic)\n")),
            }
        }
        Ok(Done::Yes)
    }
}
