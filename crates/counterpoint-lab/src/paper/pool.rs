//! A pool of fitted policies that several figures look at from different sides.
//!
//! Recipes are a seeded sample of the paper's grid of a set (Table 5) without any selection, each learned from one or more starting
//! points, and each in variants that differ in one thing only. A fit is done once and remembered, so the figures share them.

use super::Ask;
use super::{Dataset, Kind, drawn_cocoa, potential, warfarin};
use crate::Potential;
use counterpoint::recipe::{ContextChoice, EstimatorChoice};
use counterpoint::select::Grid;
use counterpoint::{Engine, Estimator, Recipe, Result, evaluate, learn};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// What p-values over the pool mean.
pub(super) const DEPENDENCE: &str = "All fits of a set see the same rows: p-values and intervals speak of recipes and starting points on these logs, not of other logs.";

/// The synthetic sets.
pub(super) const SYNTHETIC: [Kind; 3] =
    [Kind::Potential(Potential::Moons), Kind::Potential(Potential::Circles), Kind::Potential(Potential::Anisotropic)];

/// All sets of Figure 20.
pub(super) const EVERYWHERE: [Kind; 5] = [SYNTHETIC[0], SYNTHETIC[1], SYNTHETIC[2], Kind::Warfarin, Kind::Cocoa];

/// Rows of the twin of CoCoA, quick and full: fewer than elsewhere, because there are many fits.
const COCOA_ROWS: (usize, usize) = (20_000, 200_000);

/// Of the grid's 5 to 20 anchors on Warfarin, those whose parameters (82 each) are fewer than the rows to learn from (1,312).
const WARFARIN_ANCHORS: usize = 15;

impl Kind {
    /// Its built-in grid.
    pub(super) fn grid(self) -> &'static str {
        match self {
            Kind::Potential(_) => "paper-synthetic",
            Kind::Warfarin => "paper-warfarin",
            Kind::Cocoa => "paper-cocoa",
        }
    }

    /// Recipes, and starting points of each.
    fn size(self, ask: &Ask) -> (usize, usize) {
        match self {
            Kind::Potential(_) => ask.by_effort((8, 1), (60, 3)),
            Kind::Warfarin => ask.by_effort((4, 1), (20, 2)),
            Kind::Cocoa => ask.by_effort((4, 1), (20, 1)),
        }
    }

    fn recipes(self, ask: &Ask) -> Result<Vec<Recipe>> {
        let count = self.size(ask).0;
        let mut grid = Grid::named_or_file(self.grid())?;
        if self != Kind::Warfarin {
            grid.limit = Some(count);
            return grid.candidates(7);
        }
        grid.limit = Some(2 * count);
        let fitting = grid.candidates(7)?.into_iter().filter(|r| r.basis().anchors <= WARFARIN_ANCHORS);
        // with 81 contexts the usual noise adds up to a random policy
        Ok(fitting.take(count).map(|r| Recipe { start_noise: 0.01, ..r }).collect())
    }

    fn dataset(self, ask: &Ask) -> Result<Option<Dataset>> {
        match self {
            Kind::Potential(kind) => potential(ask, kind).map(Some),
            Kind::Warfarin => warfarin(ask),
            Kind::Cocoa => drawn_cocoa(ask.by_effort(COCOA_ROWS.0, COCOA_ROWS.1), 1).map(Some),
        }
    }

    /// Names its rows, for the keys of finished work.
    fn source(self, set: &Dataset) -> String {
        match self {
            Kind::Potential(kind) => format!("{kind} ({})", set.source),
            _ => format!("{} ({}, {} rows to learn from)", self.name(), set.source, set.parts.train.rows()),
        }
    }
}

/// The fits of a set.
pub(super) struct Pool {
    /// The set.
    pub(super) place: Kind,
    /// Starting points per recipe.
    pub(super) starts: usize,
    /// For every recipe and starting point, the first recipe's first: the variants in the order asked for.
    pub(super) fits: Vec<Vec<Fitted>>,
}

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

/// The fits of those of the sets that are there.
pub(super) fn pool(ask: &Ask, places: &[Kind], variants: &[Variant]) -> Result<Vec<Pool>> {
    let mut there = Vec::new();
    for place in places {
        if let Some(set) = place.dataset(ask)? {
            there.push((*place, set, place.recipes(ask)?));
        }
    }
    let mut wanted = Vec::new();
    for (place, set, recipes) in &there {
        let starts = place.size(ask).1 as u64;
        for (index, recipe) in recipes.iter().enumerate() {
            let name = format!("pool {} recipe {index} of {}", place.source(set), recipes.len());
            wanted.extend((0..starts).map(|seed| (set, recipe, name.clone(), seed)));
        }
    }
    let all = wanted.par_iter().map(|(set, recipe, name, seed)| {
        let fit = |v: &Variant| ask.once(&format!("{name} seed {seed} {v:?}"), || fit(set, &vary(recipe, *seed, *v)));
        variants.iter().map(fit).collect::<Result<Vec<Fitted>>>()
    });
    let mut all = all.collect::<Result<Vec<_>>>()?.into_iter();
    Ok(there
        .iter()
        .map(|(place, _, recipes)| {
            let starts = place.size(ask).1;
            Pool { place: *place, starts, fits: all.by_ref().take(recipes.len() * starts).collect() }
        })
        .collect())
}

fn vary(recipe: &Recipe, seed: u64, variant: Variant) -> Recipe {
    let one = Recipe { starts: 1, seed, ..recipe.clone() };
    match variant {
        Variant::Soft => one,
        Variant::Hard => {
            let cap = one.estimator.cap().unwrap_or(f64::INFINITY);
            Recipe { estimator: EstimatorChoice::Clipped { cap }, ..one }
        }
        Variant::Plain => one.with_proximal_steps(0),
    }
}

fn fit(set: &Dataset, recipe: &Recipe) -> Result<Fitted> {
    let engine = Engine::single();
    let learned = learn(&set.parts.train.on(&engine), recipe)?;
    let policy = learned.policy.clone().into_parametric()?;
    let offline = |estimator: &Estimator| -> Result<Offline> {
        let e = evaluate(&set.parts.test.on(&engine), &learned.policy, estimator)?;
        Ok(Offline { value: -e.cost(), std_error: e.std_error })
    };
    let valid = evaluate(&set.parts.valid.on(&engine), &learned.policy, &Estimator::SNIPS)?;
    Ok(Fitted {
        linear: recipe.basis().context_map == ContextChoice::Linear,
        online: set.truth.value(&policy, 1).0,
        objective: set.parts.train.schema().direction.to_user(learned.objective), // a cost
        evaluations: learned.starts[0].evaluations,
        share: valid.effective / valid.rows,
        ips: offline(&Estimator::IPS)?,
        snips: offline(&Estimator::SNIPS)?,
    })
}

/// What all exhibits of the pool say about it.
pub(super) fn about(ask: &Ask, places: &[Kind]) -> String {
    let (recipes, starts) = SYNTHETIC[0].size(ask);
    let mut words = format!(
        "{recipes} recipes drawn from the grid of Table 5, {starts} starting point(s) each, on each of the three synthetic sets"
    );
    for place in places.iter().filter(|p| !SYNTHETIC.contains(p)) {
        let (recipes, starts) = place.size(ask);
        words += &format!("; {recipes} and {starts} on {}", place.title());
    }
    words + "; no recipe is selected or left out, where the paper selects all but a few fields on the valid part."
}

/// What is to be said of the sets that are not the paper's or not there.
pub(super) fn notes(pools: &[Pool]) -> Vec<String> {
    let mut notes = vec![
        "CoCoA cannot be shipped: its twin has the summary of the paper's Table 1, and how its reward depends on bid and context is ours."
            .to_string(),
    ];
    notes.push(match pools.iter().any(|p| p.place == Kind::Warfarin) {
        true => "On Warfarin rewards are minus milligrams per week; costs enter less their mean, without which a clipped objective is best \
                 served by weights of zero. Of the grid, 20 anchors are left out: they make more parameters than there are rows to learn from."
            .into(),
        false => "Warfarin is left out, because its file is not here (--data).".into(),
    });
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::Effort;

    #[test]
    fn every_place_has_its_recipes() {
        for effort in [Effort::Quick, Effort::Full] {
            let ask = Ask::new(effort, None, Engine::single());
            for place in EVERYWHERE {
                assert_eq!(place.recipes(&ask).expect("legal recipes").len(), place.size(&ask).0, "{place:?}");
            }
        }
        let ask = Ask::new(Effort::Full, None, Engine::single());
        let most = |place: Kind| place.recipes(&ask).unwrap().iter().map(|r| r.basis().anchors).max();
        assert_eq!((most(Kind::Warfarin), most(Kind::Cocoa)), (Some(15), Some(5)));
    }
}
