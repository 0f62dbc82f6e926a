//! Three synthetic logs in which a hidden group moves both the context and the best action.
//!
//! A row draws its group g, then a context x whose shape depends on g, a potential p = |N(mu_g, 0.5^2)|, and an action
//! from a logging policy that ignores x. The reward peaks where the action meets the potential, so a good policy must
//! read the group off the context. Section 7.2.1.
//!
//! Rows are independent and identically distributed: the group is drawn afresh for every row, where the paper's files
//! hold exactly as many rows of each group. Intervals and tests assume independent rows, so a laboratory for them must
//! provide such rows. Every 1,024 rows read a random stream of their own, so a log is a prefix of any longer log of
//! the same seed (but for the scale of the contexts), whatever the number of threads.

use crate::math;
use std::f64::consts::{PI, TAU};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::rng::StandardNormal;
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::logging;

/// Standard deviation of the potential within a group, before the absolute value.
pub const POTENTIAL_STD: f64 = 0.5;

/// No action earns less than this.
pub(crate) const REWARD_FLOOR: f64 = -0.1;

/// Rows that share a random stream.
const BLOCK: usize = 1024;

/// Mean potential of each group, before the absolute value.
const MEAN_POTENTIAL: [f64; 3] = [3.0, 1.0, 0.1];

/// Noise of the moons and circles, on both axes.
const NOISE: f64 = 0.05;

/// Centres of the blobs, their standard deviations per axis, and the matrix that shears them (row vector times matrix).
const CENTRES: [[f64; 2]; 3] = [[-2.509, 9.014], [4.640, 1.973], [-6.880, -6.880]];
const SPREADS: [[f64; 2]; 3] = [[0.5, 1.0], [1.5, 0.5], [1.0, 1.5]];
const SHEAR: [[f64; 2]; 2] = [[1.6243, -0.6118], [-0.5282, -1.0730]];

/// The shape of the contexts, and with it the number of groups.
///
/// ```
/// use counterpoint::simulate::Potential;
/// assert_eq!("noisymoons".parse(), Ok(Potential::Moons));
/// assert_eq!(Potential::Anisotropic.to_string(), "anisotropic");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Potential {
    /// Two interleaved half circles; the upper one is group 0.
    #[serde(alias = "noisymoons")]
    Moons,
    /// Two concentric circles; the outer one is group 0.
    #[serde(alias = "noisycircles")]
    Circles,
    /// Three sheared blobs.
    Anisotropic,
}

/// A log drawn from a [`Potential`], with what a real log would not tell: the potential and the group.
///
/// Column `i` of every field belongs to row `i`; rows stand in the order train, valid, test.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// The two contexts, scaled so that the train rows span 0 to 1; other rows may fall slightly outside.
    pub x: [Vec<f64>; 2],
    /// The action the logging policy took.
    pub action: Vec<f64>,
    /// What the action earned: [`reward`] of action and potential.
    pub reward: Vec<f64>,
    /// The density of the action under the logging policy.
    pub propensity: Vec<f64>,
    /// The action that would have earned 1. Hidden from learners.
    pub potential: Vec<f64>,
    /// The group of the row. Hidden from learners.
    pub group: Vec<u32>,
    /// The part of the log the row belongs to.
    pub split: Vec<Split>,
}

/// The part of a log a row belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// For learning.
    Train,
    /// For choosing.
    Valid,
    /// For judging, once.
    Test,
}

/// The name of no simulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPotential(String);

/// What an action earns when the potential is `potential`: up to 1 at the potential, then down to -0.1.
///
/// ```text
/// reward(a, p) = max(-0.1, a/p            if a < p
///                          1 + p/2 - a/2  otherwise)
/// ```
///
/// Too little costs in proportion to what is missing, too much costs a half per unit.
pub fn reward(action: f64, potential: f64) -> f64 {
    let (a, p) = (action, potential);
    let r = if a < p { a / p } else { 1.0 + p / 2.0 - a / 2.0 };
    r.max(REWARD_FLOOR)
}

impl Potential {
    /// Every simulator, for loops over all of them.
    pub const ALL: [Potential; 3] = [Potential::Moons, Potential::Circles, Potential::Anisotropic];

    /// The fewest rows that can be simulated: with two train rows the contexts have a range to be scaled by.
    pub const MIN_ROWS: usize = 6;

    /// The name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Potential::Moons => "moons",
            Potential::Circles => "circles",
            Potential::Anisotropic => "anisotropic",
        }
    }

    /// The number of groups.
    pub fn groups(self) -> u32 {
        match self {
            Potential::Moons | Potential::Circles => 2,
            Potential::Anisotropic => 3,
        }
    }

    /// The mean mu_g of a group's potential |N(mu_g, 0.5^2)| before the absolute value: 3, 1, 0.1.
    ///
    /// # Panics
    /// If there is no such group.
    pub fn mean_potential(self, group: u32) -> f64 {
        assert!(group < self.groups(), "{self} has {} groups, there is no group {group}", self.groups());
        MEAN_POTENTIAL[group as usize]
    }

    /// Draws a log of `rows` rows: the first third for training, the second for validation, the rest for testing.
    ///
    /// Same rows and seed, same bits. Of two logs with one seed, the shorter is the beginning of the longer in every
    /// column but `split`, and `x` up to its scale.
    ///
    /// # Panics
    /// If `rows` is less than [`Potential::MIN_ROWS`].
    pub fn simulate(self, rows: usize, seed: u64) -> Simulated {
        assert!(rows >= Self::MIN_ROWS, "{rows} rows are too few to simulate (at least {})", Self::MIN_ROWS);
        let drawn = self.draw(rows, seed);
        let split: Vec<Split> = (0..rows).map(|i| Split::of(i, rows)).collect();
        let train = rows / 3;
        let scaled = |axis: usize| {
            let raw: Vec<f64> = drawn.iter().map(|row| row.x[axis]).collect();
            min_max_scaled(raw, train)
        };
        Simulated {
            x: [scaled(0), scaled(1)],
            action: drawn.iter().map(|row| row.action).collect(),
            reward: drawn.iter().map(|row| reward(row.action, row.potential)).collect(),
            propensity: drawn.iter().map(|row| logging::logging_density(row.action)).collect(),
            potential: drawn.iter().map(|row| row.potential).collect(),
            group: drawn.iter().map(|row| row.group).collect(),
            split,
        }
    }

    /// The rows before scaling, block by block.
    fn draw(self, rows: usize, seed: u64) -> Vec<Row> {
        (0..rows.div_ceil(BLOCK))
            .into_par_iter()
            .flat_map_iter(|block| {
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                rng.set_stream(block as u64);
                let here = BLOCK.min(rows - block * BLOCK);
                (0..here).map(move |_| self.draw_row(&mut rng))
            })
            .collect()
    }

    fn draw_row(self, rng: &mut impl Rng) -> Row {
        let group = rng.random_range(0..self.groups());
        let x = self.draw_context(group, rng);
        let potential = (self.mean_potential(group) + POTENTIAL_STD * normal(rng)).abs();
        Row { group, x, potential, action: logging::draw(rng) }
    }

    /// A context of the group, on the scale of the shapes themselves.
    fn draw_context(self, group: u32, rng: &mut impl Rng) -> [f64; 2] {
        let g = group as usize;
        let noisy = |x: [f64; 2], rng: &mut _| x.map(|v| v + NOISE * normal(rng));
        match self {
            Potential::Moons => {
                let t = PI * rng.random::<f64>();
                let (sin, cos) = math::sin_cos(t);
                noisy(if group == 0 { [cos, sin] } else { [1.0 - cos, 0.5 - sin] }, rng)
            }
            Potential::Circles => {
                let t = TAU * rng.random::<f64>();
                let radius = if group == 0 { 1.0 } else { 0.5 };
                noisy([radius * math::cos(t), radius * math::sin(t)], rng)
            }
            Potential::Anisotropic => {
                let z = [0, 1].map(|k| CENTRES[g][k] + SPREADS[g][k] * normal(rng));
                [0, 1].map(|k| z[0] * SHEAR[0][k] + z[1] * SHEAR[1][k])
            }
        }
    }
}

impl Simulated {
    /// The rows of one part, which are contiguous.
    pub fn rows(&self, part: Split) -> Range<usize> {
        let n = self.split.len();
        match part {
            Split::Train => 0..n / 3,
            Split::Valid => n / 3..2 * n / 3,
            Split::Test => 2 * n / 3..n,
        }
    }
}

impl Split {
    /// The part of row `i` of `rows`, by thirds.
    fn of(i: usize, rows: usize) -> Split {
        if i < rows / 3 {
            Split::Train
        } else if i < 2 * rows / 3 {
            Split::Valid
        } else {
            Split::Test
        }
    }
}

/// A row before its context is scaled.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    group: u32,
    x: [f64; 2],
    potential: f64,
    action: f64,
}

fn normal(rng: &mut impl Rng) -> f64 {
    rng.sample(StandardNormal)
}

/// Scales a column so that its first `train` rows span 0 to 1.
fn min_max_scaled(column: Vec<f64>, train: usize) -> Vec<f64> {
    let lo = column[..train].iter().copied().fold(f64::INFINITY, f64::min);
    let hi = column[..train].iter().copied().fold(f64::NEG_INFINITY, f64::max);
    column.into_iter().map(|v| (v - lo) / (hi - lo)).collect()
}

impl fmt::Display for Potential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Potential {
    type Err = UnknownPotential;

    /// Reads a name; the paper's `noisymoons` and `noisycircles` are understood too.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "moons" | "noisymoons" => Ok(Potential::Moons),
            "circles" | "noisycircles" => Ok(Potential::Circles),
            "anisotropic" => Ok(Potential::Anisotropic),
            _ => Err(UnknownPotential(name.to_string())),
        }
    }
}

impl fmt::Display for UnknownPotential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" names no simulator\nhint: choose moons, circles or anisotropic", self.0)
    }
}

impl std::error::Error for UnknownPotential {}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Split::Train => "train",
            Split::Valid => "valid",
            Split::Test => "test",
        })
    }
}

#[cfg(test)]
mod tests;
