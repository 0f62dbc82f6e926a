//! The logs of Table 2, with their truth.

use crate::Potential;
use crate::paper::data::{figures, warfarin_log, warfarin_reward};
use crate::paper::{Ask, Truth, World, drawn_potential, read_potential};
use counterpoint::data::Parts;
use counterpoint::{Log, Result};
use std::path::Path;

/// Folds on Warfarin.
const FOLDS: usize = 5;

/// Test parts on Warfarin: each row is in one of them.
pub(super) const QUARTERS: usize = 4;

/// Which log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Potential(Potential),
    Warfarin,
}

impl Kind {
    /// As the paper writes it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Potential(Potential::Circles) => "Noisycircles",
            Kind::Potential(Potential::Moons) => "NoisyMoons",
            Kind::Potential(Potential::Anisotropic) => "Anisotropic",
            Kind::Warfarin => "Warfarin",
        }
    }

    /// Its column in the printed table.
    pub(super) fn column(self) -> usize {
        match self {
            Kind::Potential(Potential::Circles) => 0,
            Kind::Potential(Potential::Moons) => 1,
            Kind::Potential(Potential::Anisotropic) => 2,
            Kind::Warfarin => 3,
        }
    }

    /// Whether a class of policies is tried on it.
    pub(super) fn takes(self, class: &str) -> bool {
        self != Kind::Warfarin || !matches!(class, "poly" | "stratified")
    }
}

/// A log and its truth.
pub(super) struct Set {
    pub(super) kind: Kind,
    /// Where the rows are from, for the keys of finished work.
    pub(super) source: String,
    /// What to learn from once a recipe is chosen.
    pub(super) learn: Log,
    /// Pairs of logs: to train on, to judge on.
    pub(super) cuts: Vec<(Log, Log)>,
    /// What any action would earn on the test part.
    pub(super) truth: Truth,
    /// What the log earned on the test part, with its standard error.
    pub(super) logged: (f64, f64),
}

/// All logs that are there, and what is to be said about those that are not.
pub(super) fn all(ask: &Ask) -> Result<(Vec<Set>, Vec<String>)> {
    let (mut sets, mut notes) = (Vec::new(), Vec::new());
    // the files are small and the fits few: a quick run takes all rows
    for kind in [Potential::Circles, Potential::Moons, Potential::Anisotropic] {
        let world = match &ask.data {
            Some(dir) => read_potential(dir, kind, 1)?,
            None => drawn_potential(kind, 30_000, 1)?,
        };
        let logged = world.logged();
        let World { source, parts: Parts { train, valid, .. }, truth } = world;
        sets.push(Set {
            kind: Kind::Potential(kind),
            source: source.into(),
            learn: train.clone(),
            cuts: vec![(train, valid)],
            truth,
            logged,
        });
    }
    match &ask.data {
        // with few rows it matters which are held out: each quarter in turn
        Some(dir) => {
            for quarter in 0..ask.by_effort(1, QUARTERS) {
                sets.push(warfarin(dir, quarter)?);
            }
        }
        None => notes.push(
            "The synthetic sets are drawn anew and Warfarin is left out, because the paper's files are not here (--data)."
                .into(),
        ),
    }
    Ok((sets, notes))
}

/// Warfarin: three quarters for cross-validation, a quarter for the test, by a seeded hash.
fn warfarin(dir: &Path, quarter: usize) -> Result<Set> {
    let (log, dose) = warfarin_log(dir)?;
    let (learn, test) = log.fold(1, quarter, QUARTERS)?;
    let rewards: Vec<f64> = test.blocks().iter().flat_map(|b| b.y.iter().map(|y| -y)).collect();
    Ok(Set {
        kind: Kind::Warfarin,
        source: format!("the paper's file, test quarter {quarter}"),
        cuts: (0..FOLDS).map(|f| learn.fold(2, f, FOLDS)).collect::<Result<_>>()?,
        learn,
        truth: Truth::of(&test, &dose, warfarin_reward),
        logged: figures(&rewards),
    })
}
