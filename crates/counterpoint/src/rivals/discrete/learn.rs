//! From a log to a softmax over buckets, and what one would have cost.

use super::logging::Logging;
use super::risk::SoftmaxRisk;
use super::rows::{Reference, Rows};
use crate::estimate::{LossModel, Normalise, Sums, Target};
use crate::evaluate::Estimate;
use crate::features::{ActionMap, ContextKind, ContextMap, MapOptions, Scale, Scaler};
use crate::folds::{LossOptions, fit_loss_model};
use crate::optim::{Lbfgs, Optimiser, Proximal};
use crate::policy::{BucketSoftmax, Buckets};
use crate::rng::StandardNormal;
use crate::{Engine, Error, Estimator, Log, Policy, Result};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// What to learn and how: [`crate::Recipe`], as far as it makes sense for buckets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiscreteRecipe {
    /// How many buckets, at least 2.
    pub buckets: usize,
    /// psi_X.
    pub context_map: ContextKind,
    /// The row of the table of estimators.
    pub estimator: Estimator,
    /// Weight of the standard error, >= 0.
    pub variance_penalty: f64,
    /// Weight of |theta|^2 / 2, intercepts left out, >= 0.
    pub ridge: f64,
    /// Weight of the policy's entropy, >= 0.
    pub entropy: f64,
    /// Ridge of the loss model, > 0.
    pub model_ridge: f64,
    /// Weight of the distance to the last proximal point, >= 0.
    pub kappa: f64,
    /// Proximal steps.
    pub proximal_steps: usize,
    /// Iterations of each inner minimisation.
    pub max_iterations: usize,
    /// Starting points; the best training objective is kept.
    pub starts: usize,
    /// Std of the noise around the start, which is close to the logging policy.
    pub start_noise: f64,
    /// Seed of the noise.
    pub seed: u64,
}

impl Default for DiscreteRecipe {
    fn default() -> Self {
        DiscreteRecipe {
            buckets: 10,
            context_map: ContextKind::Quadratic,
            estimator: Estimator::soft_clipped(15.0),
            variance_penalty: 0.0,
            ridge: 0.0,
            entropy: 0.0,
            model_ridge: 1e-3,
            kappa: 0.01,
            proximal_steps: 10,
            max_iterations: 200,
            starts: 1,
            start_noise: 0.1,
            seed: 0,
        }
    }
}

/// What was learned.
#[derive(Clone, Debug)]
pub struct DiscreteLearned {
    /// The policy with the best training objective.
    pub policy: BucketSoftmax,
    /// Its training objective, on the scale of costs.
    pub objective: f64,
    /// Passes over the data, all starts together.
    pub evaluations: usize,
    /// The loss model, where the estimator needed one.
    pub model: Option<LossModel>,
}

/// Learns a softmax over buckets. As in the library, costs enter less their mean unless all are at most 0. Without the logging
/// policy, the shares of the buckets are learned from the same rows.
pub fn learn_discrete(
    engine: &Engine,
    train: &Log,
    logging: Option<&Policy>,
    recipe: &DiscreteRecipe,
) -> Result<DiscreteLearned> {
    let mut policy = untrained(train, recipe)?;
    let model = match recipe.estimator.needs_model() {
        true => Some(fit_bucket_model(engine, train, &policy, recipe.model_ridge)?),
        false => None,
    };
    let costs = train.cost_summary();
    let moved = costs.max > 0.0 || recipe.estimator.normalise == Normalise::ByWeights;
    let baseline = if moved { costs.mean() } else { 0.0 };
    let logging = match logging {
        Some(policy) => Logging::Known(policy.clone()),
        None => Logging::learn(engine, train, &policy.buckets, &policy.scaler, &policy.map)?,
    };
    let rows = Rows::new(train, &policy, &Reference::Buckets(&logging), model.as_ref(), baseline)?;
    let target = Target {
        normalise: recipe.estimator.normalise,
        variance_penalty: recipe.variance_penalty,
        entropy: recipe.entropy,
    };
    let method = Proximal {
        kappa: recipe.kappa,
        outer: recipe.proximal_steps,
        ..Proximal::new(Lbfgs { max_iterations: recipe.max_iterations, ..Lbfgs::default() })
    };
    let penalised = policy.map.intercept(train.d()).unwrap_or(rows.features);
    let (mut best, mut evaluations) = (None, 0);
    for start in 0..recipe.starts.max(1) as u64 {
        let mut risk = SoftmaxRisk::new(engine, &rows, recipe.estimator, target, (recipe.ridge, penalised))?;
        let from = noise(recipe.start_noise, rows.features * rows.k, (recipe.seed, start));
        let found = method.minimise(&mut risk, &from, &mut |_| ControlFlow::Continue(()))?;
        evaluations += found.evaluations;
        if best.as_ref().is_none_or(|(value, _)| found.value < *value) {
            best = Some((found.value, found.theta));
        }
    }
    let (value, theta) = best.ok_or_else(|| Error::numeric("objective", "there was no starting point"))?;
    policy.theta = theta;
    policy.check()?;
    Ok(DiscreteLearned { policy, objective: value + rows.baseline, evaluations, model })
}

/// Buckets and maps from the train part; theta is zero, which over quantile buckets is nearly the logging policy's marginal.
fn untrained(train: &Log, recipe: &DiscreteRecipe) -> Result<BucketSoftmax> {
    let actions: Vec<f64> = train.blocks().iter().flat_map(|b| b.a[0].iter().copied()).collect();
    let buckets = Buckets::quantile(&actions, recipe.buckets)?;
    let scaler = Scaler::learn(Scale::Standard, &train.context_summaries());
    let (mut x, _) = train.thin(50_000);
    x.chunks_exact_mut(train.d().max(1)).for_each(|row| scaler.apply(row));
    let options = MapOptions { buckets: 4, centres: 30, bandwidth: None, seed: recipe.seed };
    let map = ContextMap::learn(recipe.context_map, &x, train.d(), options)?;
    let theta = vec![0.0; map.dim(train.d()) * buckets.len()];
    Ok(BucketSoftmax { scaler, map, buckets, theta })
}

/// Normal noise of a start.
pub(super) fn noise(std: f64, dim: usize, (seed, start): (u64, u64)) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(start);
    (0..dim).map(|_| std * rng.sample::<f64, _>(StandardNormal)).collect()
}

/// The mean cost of each bucket given x, by ridge on psi_X(x) (x) one-hot(bucket): the discrete world's own loss model.
///
/// It is the library's regression on actions snapped to the centres of their buckets, with a kernel so narrow that every
/// centre sees itself only: psi_A is the indicator then, and the model at centre k is the model of bucket k.
pub fn fit_bucket_model(engine: &Engine, log: &Log, policy: &BucketSoftmax, ridge: f64) -> Result<LossModel> {
    let buckets = &policy.buckets;
    let column =
        |of: &dyn Fn(&crate::data::Block) -> Vec<f64>| -> Vec<f64> { log.blocks().iter().flat_map(of).collect() };
    let mut snapped = Log::builder();
    for (j, name) in log.schema().contexts.iter().enumerate() {
        snapped = snapped.context(name, column(&|b| b.x[j].to_vec()));
    }
    let snapped = snapped
        .action("centre", column(&|b| b.a[0].iter().map(|a| buckets.centre(buckets.index(*a))).collect()))
        .cost("cost", column(&|b| b.y.to_vec()))
        .propensity("density", vec![1.0; log.rows()])
        .weight("weight", column(&|b| b.omega.to_vec())) // a fit is the same whatever weights mean, and in any unit
        .build()?;
    let spacing = buckets.centres().windows(2).map(|c| c[1] - c[0]).fold(f64::INFINITY, f64::min);
    // exp(-alpha/2 spacing^2) = exp(-1000) is 0 in floating point
    let actions = ActionMap::new(buckets.centres().to_vec(), 1, Some(2000.0 / (spacing * spacing)))?;
    let options = LossOptions { scaler: policy.scaler.clone(), map: policy.map.clone(), actions, ridge };
    fit_loss_model(engine, &snapped, &options)
}

/// Estimates the cost of a policy on a log.
pub fn evaluate_discrete(
    engine: &Engine,
    log: &Log,
    policy: &BucketSoftmax,
    reference: &Reference,
    estimator: &Estimator,
    model: Option<&LossModel>,
) -> Result<Estimate> {
    policy.check()?;
    let shift = if estimator.normalise == Normalise::ByWeights { log.cost_summary().mean() } else { 0.0 };
    let rows = Rows::new(log, policy, reference, model, shift)?;
    let target = Target { normalise: estimator.normalise, variance_penalty: 0.0, entropy: 0.0 };
    let sums = SoftmaxRisk::new(engine, &rows, *estimator, target, (0.0, 0))?.sums(&policy.theta);
    Ok(estimate(log, &sums, estimator.normalise, shift))
}

/// What sums over the rows of a log say, costs having entered less `shift`.
pub fn estimate(log: &Log, sums: &Sums, normalise: Normalise, shift: f64) -> Estimate {
    let costs = log.cost_summary();
    let cost = (sums.risk(normalise) + shift, sums.std_error(normalise));
    let weights = (sums.effective(), sums.mean_weight(), sums.n);
    Estimate::from_cost(log.schema().direction, cost, weights, (costs.mean(), costs.std() / sums.n.sqrt()))
}
