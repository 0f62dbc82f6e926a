//! The recipes that were tried, by what differs among them.

use crate::select::{Entry, Selected};
use serde::{Deserialize, Serialize};

/// All recipes that were tried, best first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leaderboard {
    /// The part of the log they were compared on: "valid".
    pub part: String,
    /// The fields of the recipe that differ.
    pub settings: Vec<String>,
    /// The recipes.
    pub rows: Vec<Tried>,
}

/// A recipe that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// One text for each of [`Leaderboard::settings`].
    pub settings: Vec<String>,
    /// Estimated outcome; none if the recipe did not pass the gate.
    pub estimate: Option<f64>,
    /// Its standard error.
    pub std_error: Option<f64>,
    /// n_eff.
    pub effective: Option<f64>,
    /// Mean weight.
    pub mean_weight: Option<f64>,
    /// "passed", or why it did not.
    pub state: String,
    /// Whether it was chosen.
    pub chosen: bool,
}

impl Leaderboard {
    /// What was tried in a selection, judged on a valid part of `rows` rows.
    pub(super) fn of(selected: &Selected, rows: f64) -> Self {
        let recipes = selected.leaderboard.iter().map(|e| toml::from_str(&e.recipe.to_toml()).unwrap_or_default());
        let recipes: Vec<toml::Table> = recipes.collect();
        let differ = |k: &&String| recipes.iter().any(|o| o.get(*k) != recipes[0].get(*k));
        let settings: Vec<String> =
            recipes.first().map(|t| t.keys().filter(differ).cloned().collect()).unwrap_or_default();
        let tried = selected.leaderboard.iter().zip(&recipes).enumerate().map(|(rank, (e, recipe))| Tried {
            settings: settings.iter().map(|s| setting(recipe, s)).collect(),
            estimate: e.estimate,
            std_error: e.std_error.is_finite().then_some(e.std_error),
            effective: Some(e.effective_share * rows),
            mean_weight: Some(e.mean_weight),
            state: state(e),
            chosen: rank == 0,
        });
        Leaderboard { part: "valid".into(), rows: tried.collect(), settings }
    }
}

fn setting(recipe: &toml::Table, name: &str) -> String {
    recipe.get(name).map_or("automatic".into(), |v| v.to_string().trim_matches('"').to_string())
}

fn state(e: &Entry) -> String {
    match (&e.failure, e.estimate) {
        (Some(f), _) => f.clone(),
        (None, None) => "stopped by the gate".into(),
        (None, Some(_)) if e.round == 1 => "first round".into(),
        _ => "passed".into(),
    }
}
