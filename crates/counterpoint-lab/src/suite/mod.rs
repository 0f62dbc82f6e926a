//! The suite: worlds of our own whose truth is known, on which learners are judged.
//!
//! A [`World`] is a handful of plain functions: how contexts are drawn, how the log acts, what an action earns on average, what
//! it earns on a given day. From them follow a [log](World::log) for learners, and the [`Truth`] for judges: what the best
//! action of each context earns (the oracle), the best constant action, and the log's own actions. The worlds differ in what makes learning hard:
//! the shape of the outcome in the action, of the best action in the contexts, the noise, the number of contexts and rows, and how well and how widely
//! the log acts. None of them is the paper's.
//!
//! ```
//! use counterpoint_lab::suite::{Truth, World};
//! let world = World::named("dial")?;
//! let truth = Truth::of(&world, 2000);
//! assert!(truth.oracle > truth.constant && truth.constant > truth.logging); // rewards
//! let log = world.log(world.rows, 1)?;
//! assert_eq!((log.rows(), log.d()), (1000, 1));
//! # Ok::<(), counterpoint::Error>(())
//! ```

mod acts;
mod aside;
mod board;
mod draw;
mod later;
mod methods;
mod record;
mod shapes;
mod tails;
mod trade;
mod truth;
mod wide;

#[cfg(test)]
mod tests;

pub use acts::Acts;
pub use board::{board, duels, summary, worlds_table};
pub use draw::{Rows, write};
pub use methods::{Method, cpu_seconds, run};
pub use record::{Record, read_records};
pub use truth::{GRID, Truth};

use counterpoint::data::Outcome;
use counterpoint::{Error, Result};
use rand::rngs::ChaCha8Rng;

/// A problem whose truth is known.
#[derive(Clone, Copy)]
pub struct World {
    /// Its name.
    pub name: &'static str,
    /// What is hard about it, in one line.
    pub about: &'static str,
    /// Number of contexts.
    pub contexts: usize,
    /// Rows of a log of the usual size; half of them are to learn from.
    pub rows: usize,
    /// Whether outcomes are rewards or costs.
    pub direction: Outcome,
    /// Draws the contexts of a row.
    pub draw: fn(&mut ChaCha8Rng) -> Vec<f64>,
    /// How the log acts given the contexts.
    pub acts: fn(&[f64]) -> Acts,
    /// The mean outcome given contexts and action.
    pub mean: fn(&[f64], f64) -> f64,
    /// An outcome given contexts and action; its mean is `mean`.
    pub outcome: fn(&[f64], f64, &mut ChaCha8Rng) -> f64,
}

/// The worlds, one list a file.
const GROUPS: [&[World]; 6] =
    [shapes::WORLDS, trade::WORLDS, tails::WORLDS, wide::WORLDS, aside::WORLDS, later::WORLDS];

impl World {
    /// Every world.
    pub fn all() -> impl Iterator<Item = World> {
        GROUPS.into_iter().flatten().copied()
    }

    /// Whether it is kept aside: nothing of the learner was ever chosen by its results.
    pub fn aside(&self) -> bool {
        aside::WORLDS.iter().chain(later::WORLDS).any(|w| w.name == self.name)
    }

    /// The world of this name.
    pub fn named(name: &str) -> Result<World> {
        World::all().find(|w| w.name == name).ok_or_else(|| {
            let known: Vec<&str> = World::all().map(|w| w.name).collect();
            Error::data(format!("there is no world {name:?}")).hint(format!("choose among {}", known.join(", ")))
        })
    }

    /// What is better is larger: rewards as they are, costs with their sign changed.
    pub fn gain(&self, outcome: f64) -> f64 {
        match self.direction {
            Outcome::Reward => outcome,
            Outcome::Cost => -outcome,
        }
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// 1 / (1 + e^-t)
fn sigmoid(t: f64) -> f64 {
    1.0 / (1.0 + (-t).exp())
}
