//! Arguments that several commands share: where the log is and which column is which.

use clap::Args;
use counterpoint::data::{Outcome, Roles, Table};
use counterpoint::{Error, Log, Recipe, Result, SplitRule};
use std::path::PathBuf;

/// The log and its columns.
#[derive(Args)]
pub(crate) struct LogArgs {
    /// The log: a .parquet, .csv or .arrow file, or a directory of them.
    pub(crate) log: PathBuf,
    /// Context columns, separated by commas.
    #[arg(long, value_delimiter = ',', num_args = 0..)]
    pub(crate) context: Vec<String>,
    /// Action column, or several separated by commas.
    #[arg(long, value_delimiter = ',', required = true)]
    pub(crate) action: Vec<String>,
    /// Outcome column, larger is better.
    #[arg(long, conflicts_with = "cost", required_unless_present = "cost")]
    pub(crate) reward: Option<String>,
    /// Outcome column, smaller is better.
    #[arg(long)]
    pub(crate) cost: Option<String>,
    /// Column with the density of the logged action.
    #[arg(long)]
    pub(crate) propensity: String,
    /// Column with row weights: a row of weight 2 counts as two equal rows.
    #[arg(long)]
    pub(crate) weight: Option<String>,
    /// Column that says train, valid or test; without it rows are split 50/25/25 by a seeded hash of their number.
    #[arg(long)]
    pub(crate) split: Option<String>,
}

impl LogArgs {
    /// Reads and checks the log; only the named columns are decoded.
    pub(crate) fn read(&self) -> Result<Log> {
        let outcome = match (&self.reward, &self.cost) {
            (Some(r), _) => (r.clone(), Outcome::Reward),
            (None, Some(c)) => (c.clone(), Outcome::Cost),
            (None, None) => return Err(Error::data("the log needs --reward or --cost")),
        };
        let roles = Roles {
            contexts: self.context.clone(),
            actions: self.action.clone(),
            outcome: Some(outcome.clone()),
            propensity: self.propensity.clone(),
            weight: self.weight.clone(),
            split: self.split.clone(),
        };
        let names: Vec<String> = self
            .context
            .iter()
            .chain(&self.action)
            .chain([&outcome.0, &self.propensity])
            .chain(&self.weight)
            .chain(&self.split)
            .cloned()
            .collect();
        Table::read(&self.log, &names)?.into_log(&roles).map_err(|e| e.at(self.log.display().to_string()))
    }

    /// How the log is divided.
    pub(crate) fn rule(&self, seed: u64) -> SplitRule {
        if self.split.is_some() { SplitRule::Column } else { SplitRule::Hash { seed, shares: [0.5, 0.25, 0.25] } }
    }
}

/// A recipe file and changes to it.
#[derive(Args)]
pub(crate) struct RecipeArgs {
    /// Recipe file (TOML); without it the default recipe. `counterpoint recipe` prints every field.
    #[arg(long)]
    pub(crate) recipe: Option<PathBuf>,
    /// Change one field of the recipe, for example --set cap=20 or --set family=lognormal. May be repeated.
    #[arg(long, value_name = "FIELD=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seed of everything random.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
}

impl RecipeArgs {
    /// The recipe, checked.
    pub(crate) fn read(&self) -> Result<Recipe> {
        let recipe = match &self.recipe {
            Some(path) => Recipe::load(path)?,
            None => Recipe::default(),
        };
        let mut table: toml::Table = toml::from_str(&recipe.to_toml()).unwrap_or_default();
        for change in &self.set {
            let (field, value) = change.split_once('=').ok_or_else(|| {
                Error::recipe(change, "a change is written FIELD=VALUE").hint("for example --set cap=20")
            })?;
            table.insert(field.trim().into(), value_of(value.trim()));
        }
        if let Some(seed) = self.seed {
            table.insert("seed".into(), toml::Value::Integer(seed as i64));
        }
        Recipe::from_toml(&table.to_string())
    }
}

/// A TOML value; a bare word is a string.
fn value_of(text: &str) -> toml::Value {
    let wrapped: Result<toml::Table, _> = toml::from_str(&format!("v = {text}"));
    wrapped.ok().and_then(|mut t| t.remove("v")).unwrap_or_else(|| toml::Value::String(text.into()))
}
