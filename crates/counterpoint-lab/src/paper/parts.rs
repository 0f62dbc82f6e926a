//! What the experiments on discretised and doubly robust policies share: the sets with their truth, fits, the paper's way to choose
//! among them, and paired comparisons.

use super::{Ask, Claim, Value};
use crate::discrete::{DiscretePolicy, DiscreteRecipe, Logging, Reference, evaluate_discrete, learn_discrete};
use crate::{DRAWS, Potential, Split, logging_policy, reward};
use counterpoint::data::{Column, Outcome, Parts, Roles, Table};
use counterpoint::features::ContextKind;
use counterpoint::{
    Engine, Error, Estimate, Estimator, Family, Log, Policy, Recipe, Result, SplitRule, evaluate, learn,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::path::Path;

/// The columns of the paper's tables.
pub(super) const HEAD: [&str; 4] = ["", "Noisymoons", "Noisycircles", "Anisotropic"];

/// One synthetic set, with what only a laboratory knows.
pub(super) struct World {
    pub(super) kind: Potential,
    /// Names the rows: the set, where it came from, how much of it.
    pub(super) name: String,
    pub(super) parts: Parts,
    x: [Vec<f64>; 2],
    potential: Vec<f64>,
}

/// The three sets: the paper's files if they are there, else drawn anew. Quick runs see a third of the rows.
pub(super) fn worlds(ask: &Ask) -> Result<Vec<World>> {
    let all = Potential::ALL.map(|kind| match &ask.data {
        Some(dir) => read(dir, kind),
        None => draw(kind),
    });
    let mut all: Vec<World> = all.into_iter().collect::<Result<_>>()?;
    if ask.quick() {
        for world in &mut all {
            for part in [&mut world.parts.train, &mut world.parts.valid] {
                *part = part.fold(1, 0, 3)?.1;
            }
            world.x.iter_mut().chain([&mut world.potential]).for_each(|c| c.truncate(2000));
        }
    }
    Ok(all)
}

fn draw(kind: Potential) -> Result<World> {
    let s = kind.simulate(30_000, 1);
    let rows = s.rows(Split::Test);
    Ok(World {
        kind,
        name: format!("{kind} drawn"),
        parts: s.log()?.split(SplitRule::Column)?,
        x: [s.x[0][rows.clone()].to_vec(), s.x[1][rows.clone()].to_vec()],
        potential: s.potential[rows].to_vec(),
    })
}

fn read(dir: &Path, kind: Potential) -> Result<World> {
    let file = match kind {
        Potential::Moons => "noisymoons.parquet",
        Potential::Circles => "noisycircles.parquet",
        Potential::Anisotropic => "anisotropic.parquet",
    };
    let names = ["x0", "x1", "action", "reward", "propensity", "split", "potential"].map(String::from);
    let table = Table::read(dir.join(file), &names)?;
    let Some((_, Column::Words(split))) = table.columns.iter().find(|(n, _)| n == "split") else {
        return Err(Error::data("there is no split column of words").at(file));
    };
    let keep: Vec<usize> = (0..table.rows()).filter(|&i| split[i] == "test").collect();
    let pick = |name: &str| -> Result<Vec<f64>> {
        let v = table.numbers(name)?;
        Ok(keep.iter().map(|&i| v[i]).collect())
    };
    let (x, potential) = ([pick("x0")?, pick("x1")?], pick("potential")?);
    let roles = Roles {
        contexts: vec!["x0".into(), "x1".into()],
        actions: vec!["action".into()],
        outcome: Some(("reward".into(), Outcome::Reward)),
        propensity: "propensity".into(),
        weight: None,
        split: Some("split".into()),
    };
    let parts = table.into_log(&roles)?.split(SplitRule::Column)?;
    Ok(World { kind, name: format!("{kind} file"), parts, x, potential })
}

/// A policy of either kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Found {
    /// With a density.
    Continuous(Policy),
    /// Over buckets.
    Discrete(DiscretePolicy),
}

/// A fit, and what the valid part says of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Fit {
    pub(super) found: Found,
    /// SNIPS on the valid part.
    cost: f64,
    /// n_eff / n there.
    share: f64,
}

/// What to fit.
#[derive(Clone, Debug)]
pub(super) enum Job {
    /// By the library.
    Continuous(Box<Recipe>),
    /// By [`crate::discrete`].
    Discrete(Box<DiscreteRecipe>),
}

impl Job {
    /// Fits on the train part and looks at the valid part; remembered.
    pub(super) fn fit(&self, ask: &Ask, world: &World) -> Result<Fit> {
        let engine = Engine::single();
        let name = &world.name;
        match self {
            Job::Continuous(recipe) => {
                let key = format!("{name}: {}", serde_json::to_string(recipe).unwrap_or_default());
                ask.once(&key, || {
                    let learned = learn(&engine, &world.parts.train, recipe, &|_| ControlFlow::Continue(()))?;
                    Fit::new(&world.parts.valid, Found::Continuous(learned.policy))
                })
            }
            Job::Discrete(recipe) => {
                let key = format!("{name}: buckets {}", serde_json::to_string(recipe).unwrap_or_default());
                ask.once(&key, || {
                    let learned =
                        learn_discrete(&engine, &world.parts.train, &Logging::Known(logging_policy()?), recipe)?;
                    Fit::new(&world.parts.valid, Found::Discrete(learned.policy))
                })
            }
        }
    }
}

impl Fit {
    /// Looks at a policy through the valid part.
    pub(super) fn new(valid: &Log, found: Found) -> Result<Fit> {
        let engine = Engine::single();
        let e: Estimate = match &found {
            Found::Continuous(policy) => evaluate(&engine, valid, policy, &Estimator::SNIPS, None)?,
            Found::Discrete(policy) => {
                let logging = Logging::Known(logging_policy()?);
                evaluate_discrete(&engine, valid, policy, &Reference::Buckets(&logging), &Estimator::SNIPS, None)?
            }
        };
        Ok(Fit { found, cost: e.cost, share: e.effective / e.rows })
    }
}

/// The paper's choice: of the policies with n_eff / n > 1% on the valid part, the one with the best SNIPS there.
pub(super) fn choose(fits: &[Fit]) -> Option<&Fit> {
    fits.iter().filter(|f| f.share > 0.01 && f.cost.is_finite()).min_by(|a, b| a.cost.total_cmp(&b.cost))
}

/// Fits all jobs of all cells side by side and chooses within each cell; in order.
pub(super) fn chosen(ask: &Ask, cells: &[(&World, Vec<Job>)]) -> Result<Vec<Option<Fit>>> {
    let flat: Vec<(&World, &Job)> = cells.iter().flat_map(|(w, jobs)| jobs.iter().map(move |j| (*w, j))).collect();
    let fits: Vec<Fit> = flat.par_iter().map(|(world, job)| job.fit(ask, world)).collect::<Result<_>>()?;
    let mut from = 0;
    Ok(cells
        .iter()
        .map(|(_, jobs)| {
            let mine = &fits[from..from + jobs.len()];
            from += jobs.len();
            choose(mine).cloned()
        })
        .collect())
}

impl World {
    /// The reward of each test context under a policy: the mean over [`DRAWS`] sampled actions; over buckets the exact mean.
    pub(super) fn rewards(&self, found: &Found) -> Vec<f64> {
        let rows: Vec<usize> = (0..self.potential.len()).collect();
        let one = |i: usize| -> f64 {
            let (x, p) = ([self.x[0][i], self.x[1][i]], self.potential[i]);
            match found {
                Found::Discrete(policy) => {
                    let centres = policy.buckets.centres();
                    policy.probabilities(&x).iter().zip(centres).map(|(q, a)| q * reward(*a, p)).sum()
                }
                Found::Continuous(policy) => {
                    let mut scorer = policy.scorer();
                    let draws = (0..DRAWS).map(|d| scorer.sample(&x, 1, i as u64 * DRAWS + d).0[0]);
                    draws.map(|a| reward(a, p)).sum::<f64>() / DRAWS as f64
                }
            }
        };
        rows.par_iter().map(|&i| one(i)).collect()
    }

    /// What the logging policy earned on the test rows.
    pub(super) fn logged(&self) -> f64 {
        -self.parts.test.cost_summary().mean()
    }
}

/// Mean and its standard error.
pub(super) fn mean_and_error(v: &[f64]) -> (f64, f64) {
    let n = v.len() as f64;
    let mean = v.iter().sum::<f64>() / n;
    let var = v.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (var / n).sqrt())
}

/// Ours, with the error over test contexts, beside the paper's (value, error bar).
pub(super) fn value(rewards: &[f64], paper: Option<(f64, f64)>) -> Value {
    let (ours, error) = mean_and_error(rewards);
    Value { ours, error: Some(error), paper: paper.map(|p| p.0), paper_error: paper.map(|p| p.1) }
}

/// Tries "the first is better than the second" on each set, context by context.
///
/// Holds if it is significant (one-sided, 2.5%) everywhere, does not if the contrary is significant anywhere.
pub(super) fn compared(says: &str, pairs: &[(String, &[f64], &[f64])]) -> Claim {
    let mut measured = Vec::new();
    let mut scores = Vec::new();
    for (name, a, b) in pairs {
        let difference: Vec<f64> = a.iter().zip(*b).map(|(a, b)| a - b).collect();
        let (mean, error) = mean_and_error(&difference);
        let z = if error > 0.0 { mean / error } else { 0.0 };
        let p = Family::Normal.cdf(-z, 0.0, 1.0).value;
        let p = if p < 0.001 { "< 0.001".to_string() } else { format!("= {p:.3}") };
        measured.push(format!("{name} {mean:+.4} (z = {z:.1}, p {p})"));
        scores.push(z);
    }
    let holds = match () {
        () if scores.is_empty() => None,
        () if scores.iter().all(|z| *z > 1.96) => Some(true),
        () if scores.iter().any(|z| *z < -1.96) => Some(false),
        () => None,
    };
    let test = "paired over test contexts: ";
    Claim { says: says.to_string(), holds, measured: format!("{test}{}", measured.join("; ")) }
}

/// The two context maps every method may choose from.
pub(super) const MAPS: [ContextKind; 2] = [ContextKind::Quadratic, ContextKind::Cubic];

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(cost: f64, share: f64) -> Fit {
        let policy = Policy::constant(Family::Normal, &[], &["a"], &[0.0], &[1.0]).unwrap();
        Fit { found: Found::Continuous(policy), cost, share }
    }

    #[test]
    fn the_best_that_passes_the_gate_is_chosen() {
        let fits = [fit(-0.7, 0.2), fit(-0.9, 0.01), fit(-0.8, 0.011), fit(f64::NAN, 0.5)];
        assert_eq!(choose(&fits).unwrap().cost, -0.8);
        assert!(choose(&fits[1..2]).is_none());
    }

    #[test]
    fn comparisons_by_hand() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [0.0, 1.5, 2.0, 2.5]);
        // differences 1, 0.5, 1, 1.5: mean 1, standard error sqrt(1/6) / 2
        let claim = compared("a is better", &[("here".into(), &a, &b)]);
        assert_eq!(claim.holds, Some(true));
        assert!(claim.measured.contains("+1.0000 (z = 4.9, p < 0.001)"), "{}", claim.measured);
        assert_eq!(compared("", &[("".into(), &b, &a)]).holds, Some(false));
        assert_eq!(compared("", &[("".into(), &a, &a)]).holds, None);
    }

    #[test]
    fn buckets_earn_the_mean_over_their_centres() {
        let world = draw(Potential::Moons).unwrap();
        let recipe = DiscreteRecipe { buckets: 3, proximal_steps: 0, max_iterations: 3, ..DiscreteRecipe::default() };
        let ask = Ask::new(super::super::Effort::Quick, None, Engine::single());
        let fit = Job::Discrete(Box::new(recipe)).fit(&ask, &world).unwrap();
        let Found::Discrete(policy) = &fit.found else { panic!("a policy over buckets") };
        let (exact, error) = mean_and_error(&world.rewards(&fit.found));
        let n = world.potential.len();
        let one = |i: usize| reward(policy.sample(&[world.x[0][i], world.x[1][i]], 3, i as u64).0, world.potential[i]);
        let drawn: f64 = (0..n).map(one).sum::<f64>() / n as f64;
        assert!((exact - drawn).abs() < 5.0 * error, "{exact} {drawn}");
    }
}
