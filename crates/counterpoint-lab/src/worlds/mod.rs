//! Worlds in which the truth of a certificate is known: many kinds of outcomes, logs and policies.
//!
//! In most of them the outcome depends on contexts and chance but not on the action, so that every policy is worth exactly what the log
//! is, whatever it plays: `deploy` is then an error. In others the policy mirrors the log about the best action (again no gain), plays
//! where the log never was (worse, but no row shows it), or is truly better.

mod attacks;
mod cells;
mod rows;

pub use attacks::ATTACKS;
pub use cells::CELLS;
pub use rows::{Leads, Unlogged, clusters, leads, run_clusters};

use crate::validity::Rate;
use counterpoint::certify::{Certificate, Terms, Verdict, certify};
use counterpoint::policy::{Family, Law, TargetPolicy};
use counterpoint::{Engine, Log, Result};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1, StandardNormal};
use rayon::prelude::*;

/// A normal law of the action given the contexts (x0, x1).
#[derive(Clone, Copy, Debug)]
pub struct Gauss {
    /// Its mean.
    pub mean: fn([f64; 2]) -> f64,
    /// Its standard deviation.
    pub std: fn([f64; 2]) -> f64,
}

impl Gauss {
    fn log_density(&self, x: [f64; 2], a: f64) -> f64 {
        Family::Normal.log_density(a, (self.mean)(x), (self.std)(x)).value
    }

    fn law(&self, x: [f64; 2]) -> Law {
        Law::Family { family: Family::Normal, mean: vec![(self.mean)(x)], std: vec![(self.std)(x)] }
    }
}

impl TargetPolicy for Gauss {
    fn log_density(&self, x: &[f64], a: &[f64]) -> f64 {
        Gauss::log_density(self, [x[0], x[1]], a[0])
    }

    fn sample(&self, x: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
        let z: f64 = StandardNormal.sample(rng);
        vec![(self.mean)([x[0], x[1]]) + (self.std)([x[0], x[1]]) * z]
    }

    fn mean(&self, x: &[f64]) -> Option<Vec<f64>> {
        Some(vec![(self.mean)([x[0], x[1]])])
    }

    fn mass_within(&self, x: &[f64], low: &[f64], high: &[f64]) -> Option<f64> {
        Some(Gauss::law(self, [x[0], x[1]]).mass_within(low, high))
    }

    fn law(&self, x: &[f64]) -> Option<Law> {
        Some(Gauss::law(self, [x[0], x[1]]))
    }
}

/// How the log chose its actions.
#[derive(Clone, Copy, Debug)]
pub enum Logging {
    /// A normal law.
    Normal(Gauss),
    /// Uniform between -1 and 1 around a centre.
    Uniform,
}

/// Who wins, and what counts as an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// The policy is worth what the log is: `deploy` is an error.
    NoGain,
    /// The policy is worse, where the log has no rows: `deploy` is an error.
    Worse,
    /// The policy is better: `deploy` is right.
    Gain,
}

/// An outcome, given contexts, action and chance.
pub type Chance = fn([f64; 2], f64, &mut ChaCha8Rng) -> f64;

/// Every world that a policy is certified in.
pub fn all() -> impl Iterator<Item = &'static Cell> {
    CELLS.iter().chain(ATTACKS)
}

/// A world with its policy.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// What it is called.
    pub name: &'static str,
    /// How the log chose.
    pub logging: Logging,
    /// The policy to be certified.
    pub policy: Gauss,
    /// The outcome given contexts, action and chance.
    pub outcome: Chance,
    /// Whether the outcome is a cost.
    pub cost: bool,
    /// What is true.
    pub truth: Truth,
    /// The mean outcome under the policy, where it is known in closed form.
    pub value: Option<f64>,
    /// Rows of the valid and of the test part.
    pub rows: &'static [usize],
}

/// A standard normal number.
pub fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// A number between 0 and 1.
pub fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    rng.random()
}

/// An exponential number.
pub fn exponential(rng: &mut ChaCha8Rng) -> f64 {
    Exp1.sample(rng)
}

impl Cell {
    /// A log of n rows.
    pub fn log(&self, n: usize, seed: u64) -> Result<Log> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut columns: [Vec<f64>; 5] = Default::default();
        for _ in 0..n {
            let x = [normal(&mut rng), 2.0 * uniform(&mut rng) - 1.0];
            let (a, p) = match &self.logging {
                Logging::Normal(law) => {
                    let a = (law.mean)(x) + (law.std)(x) * normal(&mut rng);
                    (a, law.log_density(x, a).exp())
                }
                Logging::Uniform => (2.0 * uniform(&mut rng) - 1.0, 0.5),
            };
            let y = (self.outcome)(x, a, &mut rng);
            columns.iter_mut().zip([x[0], x[1], a, p, y]).for_each(|(c, v)| c.push(v));
        }
        let [x0, x1, a, p, y] = columns;
        let log = Log::builder().context("x0", x0).context("x1", x1).action("a", a).propensity("p", p);
        if self.cost { log.cost("y", y).build() } else { log.reward("y", y).build() }
    }
}

/// What happened to a cell over many logs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcomes {
    /// Refused by the gates.
    pub refused: Rate,
    /// Deployed, of all logs.
    pub deploy: Rate,
    /// The interval of the value holds the truth, of logs that were not refused.
    pub held: Rate,
    /// The truth is worse than the worse end of that interval.
    pub too_good: Rate,
    /// The mean share of the policy's mass that was missing.
    pub missing: f64,
}

/// Certifies the policy of a cell on `logs` logs of n valid and n test rows.
pub fn run(cell: &Cell, n: usize, logs: usize, seed: u64) -> Result<Outcomes> {
    let certificates: Vec<Certificate> = (0..logs as u64)
        .into_par_iter()
        .map_init(Engine::single, |engine, k| {
            let at = (seed << 32) + (n as u64) * 100_003 + 2 * k;
            let (valid, test) = (cell.log(n, at)?, cell.log(n, at + 1)?);
            certify(&cell.policy, &valid.on(engine), &test.on(engine), &Terms { seed: k, ..Terms::default() })
        })
        .collect::<Result<_>>()?;
    let mut o = Outcomes::default();
    certificates.iter().for_each(|c| o.add(c, cell.value, cell.cost));
    Ok(o)
}

impl Outcomes {
    /// Counts a certificate on a log whose policy is worth `value`, where that is known.
    fn add(&mut self, c: &Certificate, value: Option<f64>, cost: bool) {
        let refused = c.verdict == Verdict::Invalid;
        let before = self.refused.trials as f64;
        self.missing = (self.missing * before + c.missing) / (before + 1.0);
        self.refused.count(refused);
        self.deploy.count(c.deploys());
        if let Some(v) = value.filter(|_| !refused) {
            self.held.count(c.value.holds(v));
            self.too_good.count(if cost { v > c.value.upper } else { v < c.value.lower });
        }
    }
}

/// Follows the advice of certificates that keep a policy for want of rows: how often the policy is deployed on a fresh log with as many
/// more test rows as were asked for, and how many such certificates there were.
pub fn advised(cell: &Cell, n: usize, logs: usize, seed: u64) -> Result<Rate> {
    let ends: Vec<Option<bool>> = (0..logs as u64)
        .into_par_iter()
        .map_init(Engine::single, |engine, k| {
            let at = (seed << 32) + (n as u64) * 100_003 + 4 * k;
            let terms = Terms { seed: k, ..Terms::default() };
            let judge = |rows: usize, at: u64| {
                let (valid, test) = (cell.log(rows, at)?, cell.log(rows, at + 1)?);
                certify(&cell.policy, &valid.on(engine), &test.on(engine), &terms)
            };
            let first = judge(n, at)?;
            let asked = first.more_rows.filter(|_| first.verdict == Verdict::Keep);
            // a log of a million rows is not simulated to see what it says
            let Some(more) = asked.filter(|m| *m <= 40.0 * n as f64) else { return Ok(None) };
            Ok(Some(judge(n + more as usize, at + 2)?.deploys()))
        })
        .collect::<Result<_>>()?;
    let mut rate = Rate::default();
    ends.into_iter().for_each(|e| rate.count(e));
    Ok(rate)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Hits that a rate of `level` exceeds with probability below .001 in so many trials: three and a half standard errors and one.
    fn most(level: f64, trials: usize) -> usize {
        let n = trials as f64;
        (level * n + 3.5 * (level * (1.0 - level) * n).sqrt() + 1.0) as usize
    }

    fn check(cell: &Cell, n: usize, logs: usize) {
        let o = run(cell, n, logs, 91).unwrap();
        match cell.truth {
            Truth::NoGain => assert!(o.deploy.hits <= most(0.03, logs), "{}, {n}: deploy {}", cell.name, o.deploy),
            // missed: a loss that happens in one row of 300 and in none of these; a law that 300 rows do not show (docs/validity.md)
            Truth::Worse if n < 1000 && ["rare loss", "waves"].iter().any(|w| cell.name.contains(w)) => {}
            Truth::Worse => assert!(o.deploy.hits <= most(0.02, logs), "{}, {n}: deploy {}", cell.name, o.deploy),
            Truth::Gain => assert!(o.refused.share() < 0.1, "{}, {n}: refused {}", cell.name, o.refused),
        }
        let missed = o.held.trials - o.held.hits;
        assert!(missed <= most(0.07, o.held.trials), "{}, {n}: held {}", cell.name, o.held);
    }

    #[test]
    fn a_handful_of_worlds_keep_their_promise() {
        for name in
            ["normal log, shifted, rare 3% cost", "2% of contexts, terrible", "std .3 + |x|, constant .5, context cost"]
        {
            let cell = all().find(|c| c.name == name).unwrap();
            check(cell, cell.rows[0], 40);
        }
    }

    /// Minutes: every world, with as many logs as tell .03 from .1.
    #[test]
    #[ignore = "minutes"]
    fn every_world_keeps_its_promise() {
        for cell in all() {
            cell.rows.iter().filter(|n| **n <= 1000).for_each(|n| check(cell, *n, 200));
        }
    }

    #[test]
    fn names_of_worlds_differ() {
        let names: std::collections::BTreeSet<_> = all().map(|c| c.name).collect();
        assert_eq!(names.len(), all().count());
    }

    #[test]
    fn given_clusters_widen_and_estimated_densities_never_deploy() {
        let [named, plain] = [true, false].map(|named| run_clusters(0.7, 40, named, 30, 5).unwrap());
        assert!(named.deploy.hits <= most(0.03, 30) && named.deploy.hits <= plain.deploy.hits);
        for way in Unlogged::ALL {
            assert_eq!(leads(way, 1500, 3, 5).deploy.hits, 0, "{}", way.name());
        }
    }
}
