//! A pool of fitted policies that several figures look at from different sides.
//!
//! Recipes are a seeded sample of the paper's grid (Table 5) without any selection, each learned from several starting points on
//! each of the three sets, and each in variants that differ in one thing only. A fit is done once and remembered, so the figures
//! share them.

use super::Ask;
use super::{World, potentials};
use crate::Potential;
use counterpoint::features::ContextKind;
use counterpoint::recipe::EstimatorName;
use counterpoint::{Engine, Estimator, Grid, Recipe, Result, evaluate, learn};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// What p-values over the pool mean.
pub(super) const DEPENDENCE: &str = "All fits of a set see the same rows: p-values and intervals speak of recipes and starting points on these logs, not of other logs.";

/// What differs between policies of one recipe and seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variant {
    /// Soft clipping, proximal point method: the paper's proposal.
    Soft,
    /// Hard clipping instead.
    Hard,
    /// Without the proximal point method.
    Plain,
}

/// An offline estimate of a policy's reward on the test rows.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Offline {
    /// The estimate.
    pub value: f64,
    /// Its standard error.
    pub std_error: f64,
}

/// A fitted policy, as figures see it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Fitted {
    /// The set it was learned from.
    pub set: Potential,
    /// Whether its context map is linear.
    pub linear: bool,
    /// The true value on the test contexts.
    pub online: f64,
    /// The training objective, a cost.
    pub objective: f64,
    /// Evaluations of the objective.
    pub evaluations: usize,
    /// n_eff / n on the valid rows.
    pub share: f64,
    /// IPS on the test rows.
    pub ips: Offline,
    /// SNIPS on the test rows.
    pub snips: Offline,
}

/// For every set, recipe and seed: the fitted variants in the order asked for.
pub(super) fn pool(ask: &Ask, variants: &[Variant]) -> Result<Vec<Vec<Fitted>>> {
    let mut grid = Grid::named_or_file("paper-synthetic")?;
    grid.limit = Some(ask.by_effort(8, 60));
    let (recipes, seeds) = (grid.candidates(7)?, ask.by_effort(1, 3));
    let sets = potentials(ask)?;
    let mut wanted = Vec::new();
    for (kind, world) in &sets {
        for index in 0..recipes.len() {
            wanted.extend((0..seeds).map(|seed| (*kind, world, index, seed)));
        }
    }
    wanted
        .par_iter()
        .map(|(kind, world, index, seed)| {
            let fit = |v: &Variant| {
                let (source, of) = (world.source, recipes.len());
                let key = format!("pool {kind} ({source}) recipe {index} of {of} seed {seed} {v:?}");
                ask.once(&key, || fit(*kind, world, &vary(&recipes[*index], *seed, *v)))
            };
            variants.iter().map(fit).collect()
        })
        .collect()
}

fn vary(recipe: &Recipe, seed: u64, variant: Variant) -> Recipe {
    let one = Recipe { starts: 1, seed, ..recipe.clone() };
    match variant {
        Variant::Soft => one,
        Variant::Hard => Recipe { estimator: EstimatorName::Clipped, ..one },
        Variant::Plain => Recipe { proximal_steps: 0, ..one },
    }
}

fn fit(kind: Potential, world: &World, recipe: &Recipe) -> Result<Fitted> {
    let engine = Engine::single();
    let learned = learn(&engine, &world.parts.train, recipe, &|_| ControlFlow::Continue(()))?;
    let offline = |estimator: &Estimator| -> Result<Offline> {
        let e = evaluate(&engine, &world.parts.test, &learned.policy, estimator, None)?;
        Ok(Offline { value: -e.cost, std_error: e.std_error })
    };
    let valid = evaluate(&engine, &world.parts.valid, &learned.policy, &Estimator::SNIPS, None)?;
    Ok(Fitted {
        set: kind,
        linear: recipe.context_map == ContextKind::Linear,
        online: world.truth.value(&learned.policy, 1).0,
        objective: learned.objective,
        evaluations: learned.starts[0].evaluations,
        share: valid.effective / valid.rows,
        ips: offline(&Estimator::IPS)?,
        snips: offline(&Estimator::SNIPS)?,
    })
}

/// What all exhibits of the pool say about it.
pub(super) fn about(ask: &Ask) -> String {
    let (recipes, seeds) = (ask.by_effort(8, 60), ask.by_effort(1, 3));
    format!(
        "{recipes} recipes drawn from the grid of Table 5, {seeds} starting point(s) each, on each of the three sets; no recipe is \
         selected or left out, where the paper selects all but a few fields on the valid part."
    )
}
