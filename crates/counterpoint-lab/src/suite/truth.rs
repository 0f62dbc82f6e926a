//! What is true of a world: the oracle, the best constant, the log, and any policy.

use super::{Acts, World};
use counterpoint::policy::TargetPolicy;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

/// Actions between the smallest and the largest that the oracle may choose, both included.
pub const GRID: usize = 201;
/// Draws per context for the value of the log.
const LOGGED: usize = 20;
/// Draws per context for the value of a policy.
const DRAWS: usize = 20;
/// The oracle stays between these quantiles of the logged actions.
const REACH: [f64; 2] = [0.005, 0.995];

/// Values of a world on fresh contexts, all by the known mean outcome.
///
/// The oracle takes the best of [`GRID`] actions of each context, within the range where the log acts (between the 0.5% and the 99.5% quantile
/// of its actions, contexts together); where the log acts on points, the best point. Values are in the outcome's own direction.
#[derive(Clone, Debug)]
pub struct Truth {
    /// The contexts.
    pub contexts: Vec<Vec<f64>>,
    /// The actions of the grid, ascending.
    pub actions: Vec<f64>,
    /// Whether these are all the actions there are.
    pub points: bool,
    /// The mean outcome of every context (rows) at every action of the grid (columns).
    pub means: Vec<f64>,
    /// The mean outcome of the best action of each context.
    pub oracle: f64,
    /// The mean outcome of the best constant action.
    pub constant: f64,
    /// The mean outcome of the log's own actions.
    pub logging: f64,
}

impl Truth {
    /// The truth on so many fresh contexts.
    pub fn of(world: &World, fresh: usize) -> Truth {
        let (contexts, mut rng) = world.fresh(fresh);
        let (mut logged, mut actions) = (0.0, Vec::with_capacity(fresh * LOGGED));
        for x in &contexts {
            let acts = (world.acts)(x);
            for _ in 0..LOGGED {
                let a = acts.sample(&mut rng);
                logged += (world.mean)(x, a);
                actions.push(a);
            }
        }
        let logging = logged / actions.len() as f64;
        let (actions, points) = grid(world, &contexts, actions);
        let means: Vec<f64> = contexts.iter().flat_map(|x| actions.iter().map(|a| (world.mean)(x, *a))).collect();
        let best = |values: &mut dyn Iterator<Item = f64>| {
            world.gain(values.map(|v| world.gain(v)).fold(f64::NEG_INFINITY, f64::max))
        };
        let rows = means.chunks_exact(actions.len());
        let oracle = rows.clone().map(|row| best(&mut row.iter().copied())).sum::<f64>() / fresh as f64;
        let column = |k: usize| rows.clone().map(|row| row[k]).sum::<f64>() / fresh as f64;
        let constant = best(&mut (0..actions.len()).map(column));
        Truth { contexts, actions, points, means, oracle, constant, logging }
    }

    /// (oracle - value) / (oracle - logging): 0 is perfect, 1 is the log, more is worse than the log.
    pub fn regret(&self, value: f64) -> f64 {
        (self.oracle - value) / (self.oracle - self.logging)
    }

    /// The mean outcome of a policy's draws, and of its mean actions where it knows them.
    pub fn value(&self, world: &World, policy: &dyn TargetPolicy, seed: u64) -> (f64, Option<f64>) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (mut drawn, mut means) = (0.0, Some(0.0));
        for x in &self.contexts {
            let sampler = policy.sampler(x);
            drawn += (0..DRAWS).map(|_| (world.mean)(x, sampler(&mut rng)[0])).sum::<f64>();
            means = means.and_then(|sum| Some(sum + (world.mean)(x, policy.mean(x)?[0])));
        }
        let n = self.contexts.len() as f64;
        (drawn / (n * DRAWS as f64), means.map(|sum| sum / n))
    }
}

/// The actions the oracle may choose, and whether there are no others.
fn grid(world: &World, contexts: &[Vec<f64>], mut logged: Vec<f64>) -> (Vec<f64>, bool) {
    if let Some(Acts::Points { points, .. }) = contexts.first().map(|x| (world.acts)(x)) {
        return (points.to_vec(), true);
    }
    logged.sort_by(f64::total_cmp);
    let [low, high] = REACH.map(|q| logged[(q * (logged.len() - 1) as f64).round() as usize]);
    let step = (high - low) / (GRID - 1) as f64;
    ((0..GRID).map(|k| low + step * k as f64).collect(), false)
}
