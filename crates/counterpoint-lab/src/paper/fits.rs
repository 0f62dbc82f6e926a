//! What the experiments on discretised and doubly robust policies share: fits, the paper's way to choose
//! among them, and paired comparisons.

use super::dataset::figures;
use super::{Ask, Claim, Dataset, Value};
use crate::discrete::{
    DiscretePolicy, DiscreteRecipe, Logging, PublishedRecipe, Reference, evaluate_discrete, evaluate_published,
    learn_discrete, learn_published,
};
use crate::logging_policy;
use counterpoint::evaluate::Estimate;
use counterpoint::policy::Family;
use counterpoint::recipe::ContextChoice;
use counterpoint::{Engine, Estimator, Log, Policy, Recipe, Result, evaluate, learn};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// The columns of the paper's tables.
pub(super) const HEAD: [&str; 4] = ["", "Noisymoons", "Noisycircles", "Anisotropic"];

/// A policy of either kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant)] // one per fit
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
    /// Over buckets, as the authors' published code does or nearly so.
    Published(Box<PublishedRecipe>),
}

impl Job {
    /// Fits on the train part and looks at the valid part; remembered.
    pub(super) fn fit(&self, ask: &Ask, set: &Dataset) -> Result<Fit> {
        let engine = Engine::single();
        let (name, parts) = (set.name(), &set.parts);
        match self {
            Job::Continuous(recipe) => {
                let key = format!("{name}: {}", serde_json::to_string(recipe).unwrap_or_default());
                ask.once(&key, || {
                    let learned = learn(&parts.train.on(&engine), recipe)?;
                    Fit::new(&parts.valid, Found::Continuous(learned.policy.into_parametric()?))
                })
            }
            Job::Discrete(recipe) => {
                let key = format!("{name}: buckets {}", serde_json::to_string(recipe).unwrap_or_default());
                ask.once(&key, || {
                    let learned = learn_discrete(&engine, &parts.train, Some(&logging_policy()?), recipe)?;
                    Fit::new(&parts.valid, Found::Discrete(learned.policy))
                })
            }
            Job::Published(recipe) => {
                let key = format!("{name}: published {}", serde_json::to_string(recipe).unwrap_or_default());
                ask.once(&key, || {
                    let logging = logging_policy()?;
                    let policy = learn_published(&parts.train, &logging, recipe)?;
                    let e = evaluate_published(&parts.valid, &logging, &policy, recipe)?;
                    Ok(Fit::seen(Found::Discrete(policy), &e))
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
            Found::Continuous(policy) => evaluate(&valid.on(&engine), policy, &Estimator::SNIPS)?,
            Found::Discrete(policy) => {
                let logging = Logging::Known(logging_policy()?);
                evaluate_discrete(&engine, valid, policy, &Reference::Buckets(&logging), &Estimator::SNIPS, None)?
            }
        };
        Ok(Fit::seen(found, &e))
    }

    /// Whether the paper's gate lets it through: n_eff / n > 1% on the valid part.
    pub(super) fn passes(&self) -> bool {
        self.share > 0.01 && self.cost.is_finite()
    }

    fn seen(found: Found, e: &Estimate) -> Fit {
        Fit { found, cost: e.cost(), share: e.effective / e.rows }
    }
}

/// The paper's choice: of the policies with n_eff / n > 1% on the valid part, the one with the best SNIPS there.
pub(super) fn choose(fits: &[Fit]) -> Option<&Fit> {
    fits.iter().filter(|f| f.passes()).min_by(|a, b| a.cost.total_cmp(&b.cost))
}

/// Fits all jobs of all cells side by side and chooses within each cell; in order.
pub(super) fn chosen(ask: &Ask, cells: &[(&Dataset, Vec<Job>)]) -> Result<Vec<Option<Fit>>> {
    let flat: Vec<(&Dataset, &Job)> = cells.iter().flat_map(|(w, jobs)| jobs.iter().map(move |j| (*w, j))).collect();
    let fits: Vec<Fit> = flat.par_iter().map(|(set, job)| job.fit(ask, set)).collect::<Result<_>>()?;
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

impl Dataset {
    /// The reward of each test context under a policy: the mean over sampled actions; over buckets the exact mean.
    pub(super) fn rewards(&self, found: &Found) -> Vec<f64> {
        let truth = &self.truth;
        let exact = |policy: &DiscretePolicy, i: usize| -> f64 {
            let both = policy.probabilities(truth.context(i)).into_iter().zip(policy.buckets.centres());
            both.map(|(q, a)| q * truth.reward(i, *a)).sum()
        };
        match found {
            Found::Continuous(policy) => truth.rewards(policy, 1),
            Found::Discrete(policy) => truth.each(|rows| rows.iter().map(|&i| exact(policy, i)).collect()),
        }
    }
}

/// Ours, with the error over test contexts, beside the paper's (value, error bar).
pub(super) fn value(rewards: &[f64], paper: Option<(f64, f64)>) -> Value {
    let (ours, error) = figures(rewards);
    Value { ours, error: Some(error), paper: paper.map(|p| p.0), paper_error: paper.map(|p| p.1) }
}

/// Tries "the first is better than the second" on each set, context by context.
///
/// Holds if it is significant (one-sided, 2.5%) everywhere, does not if the contrary is significant anywhere.
pub(super) fn compared(says: &str, pairs: &[(String, &[f64], &[f64])]) -> Claim {
    let mut all: Vec<(f64, f64, String)> = Vec::new();
    for (name, a, b) in pairs {
        let difference: Vec<f64> = a.iter().zip(*b).map(|(a, b)| a - b).collect();
        let (mean, error) = figures(&difference);
        let z = if error > 0.0 { mean / error } else { 0.0 };
        let p = Family::Normal.cdf(-z, 0.0, 1.0).value;
        let p = if p < 0.001 { "< 0.001".to_string() } else { format!("= {p:.3}") };
        all.push((mean, z, format!("{name} {mean:+.4} (z = {z:.1}, p {p})")));
    }
    let holds = match () {
        () if all.is_empty() => None,
        () if all.iter().all(|(_, z, _)| *z > 1.96) => Some(true),
        () if all.iter().any(|(_, z, _)| *z < -1.96) => Some(false),
        () => None,
    };
    let count = |keep: fn(f64) -> bool| all.iter().filter(|(_, z, _)| keep(*z)).count();
    let (n, better, worse) = (all.len(), count(|z| z > 1.96), count(|z| z < -1.96));
    let mut measured = format!("paired over test contexts, of {n} comparisons {better} better, {worse} worse");
    if n > 4 {
        // too many to read: the middle and the ends
        let mean = all.iter().map(|(mean, ..)| mean).sum::<f64>() / n as f64;
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        measured += &format!(" (|z| > 1.96), {mean:+.4} on average; from {} to {}", all[0].2, all[n - 1].2);
    } else {
        measured += &format!(": {}", all.into_iter().map(|(.., words)| words).collect::<Vec<_>>().join("; "));
    }
    Claim { says: says.to_string(), holds, measured }
}

/// What the z-scores of [`compared`] mean.
pub(super) const FITS: &str = "z compares one fit of each method on these contexts, so that a difference of a thousandth is told apart; another \
     log of the same size moves a fit by a hundredth. A sign that changes from set to set, or a difference under 0.01, should be read as a tie.";

/// The two context maps every method may choose from.
pub(super) const MAPS: [ContextChoice; 2] = [ContextChoice::Quadratic, ContextChoice::Cubic];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Potential;
    use crate::paper::drawn_potential;

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
        let set = drawn_potential(Potential::Moons, 30_000, 1).unwrap();
        let recipe = DiscreteRecipe { buckets: 3, proximal_steps: 0, max_iterations: 3, ..DiscreteRecipe::default() };
        let ask = Ask::new(super::super::Effort::Quick, None, Engine::single());
        let fit = Job::Discrete(Box::new(recipe)).fit(&ask, &set).unwrap();
        let Found::Discrete(policy) = &fit.found else { panic!("a policy over buckets") };
        let (exact, error) = figures(&set.rewards(&fit.found));
        let truth = &set.truth;
        let n = truth.hidden.len();
        let one = |i: usize| truth.reward(i, policy.sample(truth.context(i), 3, i as u64).0);
        let drawn: f64 = (0..n).map(one).sum::<f64>() / n as f64;
        assert!((exact - drawn).abs() < 5.0 * error, "{exact} {drawn}");
    }
}
