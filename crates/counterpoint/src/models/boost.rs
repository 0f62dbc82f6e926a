//! Trees on the slope of an objective: the mean of a policy, boosted.

use super::bins::{Binned, Bins};
use super::forest::Forest;
use super::grow::{Grower, Shape};
use super::rounds::Watch;
use super::trees::{Newton, check_values};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::rng::hash;
use serde::{Deserialize, Serialize};

/// How a mean is boosted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BoostOptions {
    /// Trees at most.
    pub rounds: usize,
    /// The share of its Newton step that a tree takes.
    pub rate: f64,
    /// Leaves of a tree at most.
    pub leaves: usize,
    /// Curvature in a leaf at least, in rows of mean curvature.
    pub min_rows: f64,
    /// Shrinkage: a leaf of this many rows takes half of its step.
    pub l2: f64,
    /// The share of the rows that a tree is grown on, drawn anew for each.
    pub sample: f64,
    /// Trees that may be added without an improvement.
    pub patience: usize,
    /// Bins of a feature at most.
    pub bins: usize,
}

impl Default for BoostOptions {
    fn default() -> Self {
        BoostOptions { rounds: 200, rate: 0.1, leaves: 8, min_rows: 30.0, l2: 5.0, sample: 1.0, patience: 15, bins: 64 }
    }
}

impl BoostOptions {
    /// Refuses options outside their ranges.
    pub fn check(&self) -> Result<()> {
        super::within(&[
            ("rounds", self.rounds as f64, 1.0, 1e5),
            ("rate", self.rate, 1e-6, 1.0),
            ("leaves", self.leaves as f64, 2.0, 4096.0),
            ("min_rows", self.min_rows, 0.0, f64::MAX),
            ("l2", self.l2, 0.0, f64::MAX),
            ("sample", self.sample, 0.01, 1.0),
            ("bins", self.bins as f64, 2.0, 255.0),
        ])
    }
}

/// The objective: value, slope and curvature (> 0) in the mean of every row, from the means.
pub type Objective<'a> = dyn FnMut(&[f64], &mut [f64], &mut [f64]) -> f64 + 'a;

/// Rows that trees are not grown on, by which their number is chosen.
pub struct Watched<'a> {
    /// Contexts, row by row.
    pub x: &'a [f64],
    /// Means before the first tree.
    pub start: &'a [f64],
    /// The objective on these rows, from their means; less is better.
    pub objective: &'a mut dyn FnMut(&[f64]) -> f64,
}

/// A correction of a policy's mean, by trees on the contexts.
///
/// ```text
/// mu(x) = mu_0(x) + sum_t v_t(leaf of x in tree t),   v = -rate G / (H + l2)
/// ```
///
/// Tree t is grown on slopes g_i = dL/dmu_i and curvatures h_i of the objective at the means of the t - 1 trees before
/// (London et al. 2023). mu_0 stays with the caller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Boosted {
    forest: Forest,
    values: Vec<f32>,
    /// The unit of the leaves.
    scale: f64,
}

impl Boosted {
    /// Boosts from the means `start` of rows with contexts `x` (d per row).
    ///
    /// The best round is kept: by `watched` if there is one, else by the objective itself.
    pub fn fit(
        (x, d): (&[f64], usize),
        start: &[f64],
        objective: &mut Objective,
        mut watched: Option<Watched>,
        options: &BoostOptions,
        (seed, engine): (u64, &Engine),
    ) -> Result<Boosted> {
        options.check()?;
        let n = start.len();
        if x.len() != n * d || watched.as_ref().is_some_and(|w| w.x.len() != w.start.len() * d) {
            return Err(
                Error::data(format!("{} contexts for {n} means (must be {})", x.len(), n * d)).at("boosted mean")
            );
        }
        let at = |i: usize, j: usize| x[i * d + j];
        let bins = Bins::learn(n, d, options.bins - 1, at);
        let binned = Binned::new(&bins, n, at);
        let mut ascent = Descent::new(&bins, start, watched.as_ref());
        let first = watched.as_mut().map(|w| (w.objective)(w.start));
        let mut watch = Watch::new(first.unwrap_or(f64::INFINITY));
        let mut grower = Grower::new(&binned, engine);
        for round in 0..options.rounds {
            let value = ascent.ask(objective)?;
            if watched.is_none() && watch.tired(round, value, options.patience) {
                break;
            }
            ascent.grow(&mut grower, options, hash(seed, round as u64));
            if let Some(w) = &mut watched {
                ascent.move_watched(w.x, d);
                if watch.tired(round + 1, (w.objective)(&ascent.held), options.patience) {
                    break;
                }
            }
        }
        if watched.is_none() && ascent.forest.roots.len() == options.rounds {
            let value = ascent.ask(objective)?;
            watch.tired(options.rounds, value, options.patience);
        }
        Ok(ascent.cut(watch.best))
    }

    /// What is added to the mean at context x.
    pub fn at(&self, x: &[f64]) -> f64 {
        let bins: Vec<u8> = x.iter().enumerate().map(|(j, v)| self.forest.bins.bin(j, *v)).collect();
        let sum: f64 = self.forest.roots.iter().map(|r| f64::from(self.values[self.forest.leaf(*r, &bins)])).sum();
        self.scale * sum
    }

    /// Number of trees.
    pub fn rounds(&self) -> usize {
        self.forest.roots.len()
    }

    /// Refuses a model that was damaged, or made for another number of contexts.
    pub fn check(&self, d: usize) -> Result<()> {
        self.forest.check(d)?;
        check_values(&self.values, self.forest.leaves as usize, &[self.scale])
    }
}

/// Where a descent stands.
struct Descent {
    forest: Forest,
    values: Vec<f32>,
    scale: f64,
    mu: Vec<f64>,
    held: Vec<f64>,
    slope: Vec<f64>,
    curvature: Vec<f64>,
    stats: Vec<[f64; 2]>,
    rows: Vec<u32>,
}

impl Descent {
    fn new(bins: &Bins, start: &[f64], watched: Option<&Watched>) -> Descent {
        let n = start.len();
        Descent {
            forest: Forest { bins: bins.clone(), ..Forest::default() },
            values: Vec::new(),
            scale: 0.0,
            mu: start.to_vec(),
            held: watched.map_or(Vec::new(), |w| w.start.to_vec()),
            slope: vec![0.0; n],
            curvature: vec![0.0; n],
            stats: vec![[0.0; 2]; n],
            rows: Vec::new(),
        }
    }

    /// Value, slopes and curvatures at the means; curvatures are divided by their mean, and slopes too.
    fn ask(&mut self, objective: &mut Objective) -> Result<f64> {
        let value = objective(&self.mu, &mut self.slope, &mut self.curvature);
        let n = self.mu.len();
        let sound = |i: usize| self.slope[i].is_finite() && self.curvature[i] > 0.0 && self.curvature[i].is_finite();
        if let Some(i) = (0..n).find(|&i| !sound(i)) {
            let what = format!("slope {} and curvature {} in the mean", self.slope[i], self.curvature[i]);
            return Err(Error::numeric("boosted mean", what)
                .at(format!("row {i}"))
                .hint("a curvature must be above 0"));
        }
        let mean = self.curvature.iter().sum::<f64>() / n as f64;
        for i in 0..n {
            self.stats[i] = [self.slope[i] / mean, self.curvature[i] / mean];
        }
        Ok(value)
    }

    /// Grows a tree on the rows that this round's seed draws, and moves all means by it.
    fn grow(&mut self, grower: &mut Grower<2>, options: &BoostOptions, seed: u64) {
        let n = self.mu.len();
        let drawn =
            |i: &u32| options.sample >= 1.0 || (hash(seed, u64::from(*i)) as f64) < options.sample * u64::MAX as f64;
        self.rows.clear();
        self.rows.extend((0..n as u32).filter(drawn));
        if self.scale == 0.0 {
            // the unit of the mean is that of a step: slopes over curvatures
            let size = self.stats.iter().map(|[g, _]| g * g).sum::<f64>() / n.max(1) as f64;
            self.scale = if size > 0.0 { size.sqrt() } else { 1.0 };
        }
        for s in &mut self.stats {
            s[0] /= self.scale;
        }
        let worth = Newton { l2: options.l2, min_rows: options.min_rows, rate: options.rate };
        let shape = Shape { leaves: options.leaves, depth: 64, least_gain: 1e-12 * n as f64 };
        let leaves = grower.grow(&mut self.rows, &self.stats, &worth, shape, &mut self.forest);
        self.values.extend(leaves.iter().map(|leaf| worth.step(&leaf.sums)));
        let root = self.forest.roots[self.forest.roots.len() - 1];
        for i in 0..n {
            self.mu[i] += self.scale * f64::from(self.values[self.forest.leaf(root, grower.row(i))]);
        }
    }

    fn move_watched(&mut self, x: &[f64], d: usize) {
        let root = self.forest.roots[self.forest.roots.len() - 1];
        let mut bins = vec![0; d];
        for (i, mu) in self.held.iter_mut().enumerate() {
            (0..d).for_each(|j| bins[j] = self.forest.bins.bin(j, x[i * d + j]));
            *mu += self.scale * f64::from(self.values[self.forest.leaf(root, &bins)]);
        }
    }

    /// The first trees.
    fn cut(mut self, rounds: usize) -> Boosted {
        self.forest.truncate(rounds);
        self.values.truncate(self.forest.leaves as usize);
        self.forest.prune();
        Boosted { forest: self.forest, values: self.values, scale: self.scale }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The best mean is 1 where x > 0 and -2 elsewhere; curvatures differ from row to row.
    fn descend(unit: f64, options: &BoostOptions, threads: usize) -> (Boosted, Vec<f64>) {
        let mut x: Vec<f64> = (0..4000).map(|i| (hash(3, i) >> 11) as f64 / (1u64 << 52) as f64 - 1.0).collect();
        x.iter_mut().step_by(2).for_each(|x| *x = x.signum());
        let best: Vec<f64> = x.iter().step_by(2).map(|x| unit * if *x > 0.0 { 1.0 } else { -2.0 }).collect();
        let start = vec![0.5 * unit; 2000];
        let mut objective = |mu: &[f64], g: &mut [f64], h: &mut [f64]| {
            let mut value = 0.0;
            for i in 0..mu.len() {
                let w = 1.0 + (i % 3) as f64;
                value += 0.5 * w * (mu[i] - best[i]).powi(2);
                (g[i], h[i]) = (w * (mu[i] - best[i]), w);
            }
            value
        };
        let engine = Engine::new(threads).unwrap();
        (Boosted::fit((&x, 2), &start, &mut objective, None, options, (5, &engine)).unwrap(), x)
    }

    #[test]
    fn the_mean_goes_where_the_objective_is_least() {
        let (boosted, _) = descend(1.0, &BoostOptions::default(), 1);
        assert!((boosted.at(&[0.4, 0.0]) - 0.5).abs() < 0.02, "{}", boosted.at(&[0.4, 0.0]));
        assert!((boosted.at(&[-0.4, 0.0]) + 2.5).abs() < 1e-2);
        let sampled = descend(1.0, &BoostOptions { sample: 0.5, ..BoostOptions::default() }, 1).0;
        assert!((sampled.at(&[-0.4, 0.0]) + 2.5).abs() < 0.05);
        assert_ne!(sampled, boosted);
    }

    #[test]
    fn the_unit_of_the_mean_does_not_matter() {
        let (one, x) = descend(1.0, &BoostOptions::default(), 1);
        let (other, _) = descend(1e-4, &BoostOptions::default(), 2);
        for x in x.chunks_exact(2).take(50) {
            assert!((other.at(x) - 1e-4 * one.at(x)).abs() < 1e-9, "{} {}", other.at(x), one.at(x));
        }
    }

    #[test]
    fn held_out_rows_say_when_to_stop() {
        let x: Vec<f64> = (0..500).map(|i| i as f64).collect();
        // slopes that say nothing of the rows that are watched
        let mut noise = |_: &[f64], g: &mut [f64], h: &mut [f64]| {
            (0..g.len())
                .for_each(|i| (g[i], h[i]) = (if hash(1, i as u64).is_multiple_of(2) { 1.0 } else { -1.0 }, 1.0));
            0.0
        };
        let mut size = |mu: &[f64]| mu.iter().map(|m| m * m).sum();
        let watched = Watched { x: &x, start: &[0.0; 500], objective: &mut size };
        let options = BoostOptions { min_rows: 2.0, ..BoostOptions::default() };
        let engine = Engine::single();
        let boosted = Boosted::fit((&x, 1), &[0.0; 500], &mut noise, Some(watched), &options, (5, &engine)).unwrap();
        assert_eq!((boosted.rounds(), boosted.at(&[3.0])), (0, 0.0));
        boosted.check(1).unwrap();
    }

    #[test]
    fn a_file_gives_the_mean_back_and_damage_is_refused() {
        let (boosted, _) = descend(1.0, &BoostOptions::default(), 1);
        let mut text = serde_json::to_value(&boosted).unwrap();
        assert_eq!(serde_json::from_value::<Boosted>(text.clone()).unwrap(), boosted);
        boosted.check(2).unwrap();
        assert!(boosted.check(1).is_err());
        text["forest"]["child"][0] = 0.into();
        text["forest"]["feature"][0] = 1_000_000.into();
        assert!(serde_json::from_value::<Boosted>(text).unwrap().check(2).is_err());
    }

    #[test]
    fn a_curvature_of_0_is_refused() {
        let mut flat = |_: &[f64], g: &mut [f64], h: &mut [f64]| {
            g.fill(1.0);
            h.fill(0.0);
            0.0
        };
        let engine = Engine::single();
        assert!(
            Boosted::fit((&[0.0; 9], 1), &[0.0; 9], &mut flat, None, &BoostOptions::default(), (5, &engine)).is_err()
        );
    }
}
