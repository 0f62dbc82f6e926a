//! Arguments that say which recipe: a file, and changes to it.

use clap::Args;
use counterpoint::{Error, Recipe, Result};
use std::path::PathBuf;

/// A recipe file and changes to it.
#[derive(Args)]
#[command(next_help_heading = "Recipe")]
pub(crate) struct RecipeArgs {
    /// Recipe file (TOML); without it the default recipe. `counterpoint recipe` prints every field.
    #[arg(long, value_name = "FILE")]
    pub(crate) recipe: Option<PathBuf>,
    /// Change one field of the recipe, for example --set cap=20 or --set family=lognormal. May be repeated.
    #[arg(long, value_name = "FIELD=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seed of everything random: the split by hash, starting points, bootstrap [default: that of the recipe, 0].
    #[arg(long, value_parser = crate::flag::seed, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
}

impl RecipeArgs {
    /// The recipe, checked.
    pub(crate) fn read(&self) -> Result<Recipe> {
        let mut changes = toml::Table::new();
        for c in &self.set {
            let (field, value) = change(c)?;
            changes.insert(field, value);
        }
        if let Some(seed) = self.seed {
            changes.insert("seed".into(), toml::Value::Integer(seed as i64));
        }
        match &self.recipe {
            Some(path) => Recipe::load(path)?.changed(&changes),
            // without a file the fields that are set say which policy is meant
            None => Recipe::from_toml(&changes.to_string()),
        }
    }
}

/// FIELD=VALUE in two.
pub(crate) fn change(text: &str) -> Result<(String, toml::Value)> {
    match text.split_once('=') {
        Some((field, value)) => Ok((field.trim().into(), value_of(value.trim()))),
        None => Err(Error::recipe(text, "a change is written FIELD=VALUE").hint("for example --set cap=20")),
    }
}

/// A TOML value; a bare word is a string.
fn value_of(text: &str) -> toml::Value {
    let wrapped: Result<toml::Table, _> = toml::from_str(&format!("v = {text}"));
    wrapped.ok().and_then(|mut t| t.remove("v")).unwrap_or_else(|| toml::Value::String(text.into()))
}
