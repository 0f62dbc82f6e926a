//! Softmax policies over buckets as the authors' published code learns them, and that code changed in one place at a time.
//!
//! Acting, every bucket has its logit s_j(x) = <theta_j, phi(x)> and the softmax over all of them decides. Training, only the bucket
//! that the log took has it; the others have 0:
//!
//! ```text
//! acting      p_j(x) = exp(s_j(x)) / sum_l exp(s_l(x))
//! training    p_b(x) = exp(s_b(x)) / (exp(s_b(x)) + m - 1)         b: the bucket of the logged action
//! ```
//!
//! In training, buckets do not compete: p_b grows with s_b wherever the bucket earns anything at all, and nothing says which
//! bucket earns most. Besides, theta >= 0 (the bounds handed to L-BFGS), phi has no constant, contexts lie in [0, 1], and what is done is
//! the upper edge of a bucket ([`published_buckets`]). The objective is
//!
//! ```text
//! mean(y zeta(w)) + lambda std(y w) + C/2 |theta|^2,    w = p_b / q_b,    q_b: the logging density integrated over the bucket
//! ```
//!
//! theta >= 0 becomes theta = u^2 here, the library's solvers being free of bounds. None of this is how to learn a policy.

use counterpoint::data::Block;
use counterpoint::estimate::{Normalise, PerTerm, Sums, Weight};
use counterpoint::evaluate::Estimate;
use counterpoint::features::anchors::quantile_sorted;
use counterpoint::features::{ContextKind, ContextMap, MapOptions, Scale, Scaler};
use counterpoint::optim::{Lbfgs, Objective, Optimiser};
use counterpoint::policy::{BucketSoftmax as DiscretePolicy, Buckets, logits, softmax};
use counterpoint::rivals::discrete::estimate;
use counterpoint::{Error, Log, Policy, Result};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// Whose logits count in training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Training {
    /// That of the bucket taken; the others are 0. As published.
    Alone,
    /// All: what is trained is what acts.
    Together,
}

/// What coefficients may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Coefficients {
    /// At least 0. As published.
    NotNegative,
    /// Anything.
    Free,
}

/// What the probability of a bucket is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Divisor {
    /// The log's probability of the bucket. As published.
    Share,
    /// The log's density of the action, which is no probability of anything.
    Density,
}

/// Whether a bucket has a logit that does not depend on the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Constants {
    /// No. As published, where all share one, which cancels.
    Shared,
    /// Yes.
    Each,
}

/// What to learn and how.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedRecipe {
    /// Quantile intervals, at least 2; there are two buckets more.
    pub buckets: usize,
    /// phi: one of the maps that end with a constant.
    pub context_map: ContextKind,
    /// What becomes of that constant.
    pub constants: Constants,
    /// Whose logits count.
    pub training: Training,
    /// What coefficients may be.
    pub coefficients: Coefficients,
    /// What weights are divided by.
    pub divisor: Divisor,
    /// Cap of soft clipping, > 0.
    pub cap: f64,
    /// lambda, the weight of the standard deviation (not of the standard error) of y w, unclipped; >= 0.
    pub variance_penalty: f64,
    /// C, >= 0.
    pub ridge: f64,
    /// Std of the noise of the start, around 0.
    pub start_noise: f64,
    /// Iterations.
    pub max_iterations: usize,
    /// Seed of the noise.
    pub seed: u64,
}

impl Default for PublishedRecipe {
    fn default() -> Self {
        PublishedRecipe {
            buckets: 10,
            context_map: ContextKind::Quadratic,
            constants: Constants::Shared,
            training: Training::Alone,
            coefficients: Coefficients::NotNegative,
            divisor: Divisor::Share,
            cap: 10.0,
            variance_penalty: 0.0,
            ridge: 1e-4,
            start_noise: 0.1,
            max_iterations: 200,
            seed: 0,
        }
    }
}

/// Learns a policy that acts with the softmax over all buckets, whatever it was trained with.
pub fn learn_published(train: &Log, logging: &Policy, recipe: &PublishedRecipe) -> Result<DiscretePolicy> {
    let actions: Vec<f64> = train.blocks().iter().flat_map(|b| b.a[0].iter().copied()).collect();
    let buckets = published_buckets(&actions, recipe.buckets)?;
    let scaler = Scaler::learn(Scale::MinMax, &train.context_summaries());
    let options = MapOptions { buckets: 4, centres: 30, bandwidth: None, seed: recipe.seed };
    let map = ContextMap::learn(recipe.context_map, &[], train.d(), options)?;
    let (columns, k) = (map.dim(train.d()), buckets.len());
    let mut policy = DiscretePolicy { scaler, map, buckets, theta: vec![0.0; columns * k] };
    let rows = Taken::new(train, logging, &policy, recipe)?;
    let mut risk = PublishedRisk::new(&rows, recipe)?;
    let start = recipe.coefficients.start(noise(recipe, risk.dim()));
    let method = Lbfgs { max_iterations: recipe.max_iterations, ..Lbfgs::default() };
    let found = method.minimise(&mut risk, &start, &mut |_| ControlFlow::Continue(()))?;
    // a constant that is shared is left out: the last row of theta stays at 0
    let theta = recipe.coefficients.theta(&found.theta);
    policy.theta[..theta.len()].copy_from_slice(&theta);
    policy.check()?;
    Ok(policy)
}

/// SNIPS of a policy with the weights it was trained with, unclipped: what the published code chooses by.
pub fn evaluate_published(
    log: &Log,
    logging: &Policy,
    policy: &DiscretePolicy,
    recipe: &PublishedRecipe,
) -> Result<Estimate> {
    let rows = Taken::new(log, logging, policy, recipe)?;
    let mut risk = PublishedRisk::new(&rows, recipe)?;
    risk.look(&policy.theta);
    let mut sums = Sums::default();
    for i in 0..rows.y.len() {
        let w = risk.log_w[i].exp();
        sums.add(&PerTerm::plain(w, rows.y[i]), rows.y[i], rows.omega[i]);
    }
    Ok(estimate(log, &sums, Normalise::ByWeights, 0.0))
}

/// Where the first of the published buckets ends.
const ZERO: f64 = 1e-8;

/// The buckets of the authors' published code: `k` + 2 of them, each closed on the right and acting with its upper edge.
///
/// ```text
/// (.., 1e-8], (1e-8, q_0], (q_0, q_1], ..., (q_{k-1}, q_k]      q_j: the j/k quantile of the logged actions
/// ```
///
/// q_0 is the smallest and q_k the largest logged action. So the first bucket is never taken in the log and the second once, yet a
/// policy over them can choose either. Our buckets are closed on the left: an edge here is the next number after q_j.
pub fn published_buckets(actions: &[f64], k: usize) -> Result<Buckets> {
    let mut sorted = actions.to_vec();
    sorted.sort_by(f64::total_cmp);
    if k < 2 || sorted.first().is_none_or(|least| *least <= ZERO) {
        return Err(Error::data(format!("{k} buckets of positive actions cannot be made of these")));
    }
    let mut centres = vec![ZERO];
    centres.extend((0..=k).map(|j| quantile_sorted(&sorted, j as f64 / k as f64)));
    if centres.windows(2).any(|c| c[0] >= c[1]) {
        return Err(Error::data("quantiles of the logged actions coincide").hint("use fewer buckets"));
    }
    let edges = [0.0].into_iter().chain(centres.iter().map(|c| c.next_up())).collect();
    Buckets::new(edges, centres)
}

/// Normal noise around 0, where the published code starts.
fn noise(recipe: &PublishedRecipe, dim: usize) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(recipe.seed);
    rng.set_stream(0);
    (0..dim).map(|_| recipe.start_noise * rng.sample::<f64, _>(StandardNormal)).collect()
}

impl Coefficients {
    /// theta of the solver's u.
    fn theta(self, u: &[f64]) -> Vec<f64> {
        match self {
            Coefficients::NotNegative => u.iter().map(|u| u * u).collect(),
            Coefficients::Free => u.to_vec(),
        }
    }

    /// u of theta; a negative theta is mirrored.
    fn start(self, theta: Vec<f64>) -> Vec<f64> {
        match self {
            Coefficients::NotNegative => theta.into_iter().map(|t| t.abs().sqrt()).collect(),
            Coefficients::Free => theta,
        }
    }

    /// d theta / d u.
    fn slope(self, u: f64) -> f64 {
        match self {
            Coefficients::NotNegative => 2.0 * u,
            Coefficients::Free => 1.0,
        }
    }
}

/// The rows of a log by the bucket taken.
pub struct Taken {
    columns: usize,
    k: usize,
    psi: Vec<f64>,
    bucket: Vec<usize>,
    /// ln of what the probability of the bucket is divided by.
    log_q: Vec<f64>,
    y: Vec<f64>,
    omega: Vec<f64>,
}

impl Taken {
    /// Prepares a log for policies with these maps and buckets (theta does not matter).
    pub fn new(log: &Log, logging: &Policy, policy: &DiscretePolicy, recipe: &PublishedRecipe) -> Result<Self> {
        let (d, q) = (policy.scaler.shift.len(), log.q());
        if log.d() != d || q != 1 || logging.q() != 1 {
            return Err(Error::data(format!("the log has {} contexts and {q} actions, not {d} and 1", log.d())));
        }
        let columns = match (policy.map.intercept(d), recipe.constants) {
            (None, _) => return Err(Error::recipe("context_map", "the published code knows no strata")),
            (Some(constant), Constants::Shared) => constant,
            (Some(constant), Constants::Each) => constant + 1,
        };
        let k = policy.buckets.len();
        let (psi, bucket, log_q, y, omega) = Default::default();
        let mut rows = Taken { columns, k, psi, bucket, log_q, y, omega };
        log.blocks().iter().for_each(|b| rows.add(b, logging, policy, recipe.divisor));
        match rows.log_q.iter().position(|q| !q.is_finite()) {
            Some(i) => {
                Err(Error::data("the logging policy could not have taken this action").at(format!("row {}", i + 1)))
            }
            None => Ok(rows),
        }
    }

    fn add(&mut self, b: &Block, logging: &Policy, policy: &DiscretePolicy, divisor: Divisor) {
        let (buckets, mut scorer) = (&policy.buckets, logging.scorer());
        let (mut x, mut mean) = (vec![0.0; b.x.len()], [0.0]);
        for i in 0..b.rows() {
            b.context(i, &mut x);
            self.psi.extend(&policy.features(&x)[..self.columns]);
            let k = buckets.index(b.a[0][i]);
            self.bucket.push(k);
            self.log_q.push(match divisor {
                Divisor::Density => b.log_p[i],
                Divisor::Share => {
                    scorer.mean(&x, &mut mean);
                    let up_to = |edge: f64| logging.family.cdf(edge, mean[0], scorer.std()[0]).value;
                    (up_to(buckets.edges()[k + 1]) - up_to(buckets.edges()[k])).ln()
                }
            });
        }
        self.y.extend(b.y.iter());
        self.omega.extend(b.omega.iter());
    }

    fn psi(&self, i: usize) -> &[f64] {
        &self.psi[i * self.columns..(i + 1) * self.columns]
    }
}

/// The objective, as a function of u.
pub struct PublishedRisk<'a> {
    rows: &'a Taken,
    recipe: &'a PublishedRecipe,
    weight: Weight,
    /// Of the last theta looked at: d ln p_b / d s_j, row by row, and ln w.
    slopes: Vec<f64>,
    log_w: Vec<f64>,
}

impl<'a> PublishedRisk<'a> {
    /// Prepares the objective.
    pub fn new(rows: &'a Taken, recipe: &'a PublishedRecipe) -> Result<Self> {
        let weight = Weight::soft(recipe.cap);
        weight.check("cap")?;
        let n = rows.y.len();
        Ok(PublishedRisk { rows, recipe, weight, slopes: vec![0.0; n * rows.k], log_w: vec![0.0; n] })
    }

    /// Fills slopes and weights.
    fn look(&mut self, theta: &[f64]) {
        let k = self.rows.k;
        for (i, s) in self.slopes.chunks_exact_mut(k).enumerate() {
            let b = self.rows.bucket[i];
            logits(theta, self.rows.psi(i), s);
            let own = s[b];
            let log_p = match self.recipe.training {
                Training::Together => {
                    let all = softmax(s);
                    s.iter_mut().for_each(|p| *p = -*p);
                    s[b] += 1.0;
                    own - all
                }
                Training::Alone => {
                    // p_b = 1 / (1 + exp(z)), and 1 - p_b is its slope
                    let z = ((k - 1) as f64).ln() - own;
                    let log_p = -(z.max(0.0) + (-z.abs()).exp().ln_1p());
                    s.fill(0.0);
                    s[b] = (z + log_p).exp();
                    log_p
                }
            };
            self.log_w[i] = log_p - self.rows.log_q[i];
        }
    }

    /// The value without ridge, and its slope in ln p of every row.
    fn value(&self) -> (f64, Vec<f64>) {
        let (rows, lambda) = (self.rows, self.recipe.variance_penalty);
        let (mut n, mut risk, mut first, mut second) = (0.0, 0.0, 0.0, 0.0);
        for (i, log_w) in self.log_w.iter().enumerate() {
            let (omega, y) = (rows.omega[i], rows.y[i]);
            let t = y * log_w.exp();
            n += omega;
            risk += omega * y * self.weight.apply(*log_w).0;
            first += omega * t;
            second += omega * t * t;
        }
        let mean = first / n;
        let std = (second / n - mean * mean).max(0.0).sqrt();
        let pull = if lambda > 0.0 && std > 0.0 { lambda / std } else { 0.0 };
        let slope = |(i, log_w): (usize, &f64)| {
            let t = rows.y[i] * log_w.exp();
            rows.omega[i] / n * (rows.y[i] * self.weight.apply(*log_w).1 + pull * (t - mean) * t)
        };
        (risk / n + lambda * std, self.log_w.iter().enumerate().map(slope).collect())
    }
}

impl Objective for PublishedRisk<'_> {
    fn dim(&self) -> usize {
        self.rows.columns * self.rows.k
    }

    fn eval(&mut self, u: &[f64], grad: &mut [f64]) -> Result<f64> {
        let (k, ridge, coefficients) = (self.rows.k, self.recipe.ridge, self.recipe.coefficients);
        let theta = coefficients.theta(u);
        self.look(&theta);
        let (mut value, by_row) = self.value();
        grad.fill(0.0);
        for (i, (c, slopes)) in by_row.iter().zip(self.slopes.chunks_exact(k)).enumerate() {
            for (f, to) in self.rows.psi(i).iter().zip(grad.chunks_exact_mut(k)) {
                to.iter_mut().zip(slopes).for_each(|(to, s)| *to += c * f * s);
            }
        }
        for i in 0..u.len() {
            value += 0.5 * ridge * theta[i] * theta[i];
            grad[i] = (grad[i] + ridge * theta[i]) * coefficients.slope(u[i]);
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Potential, logging_policy};
    use counterpoint::data::SplitRule;

    fn moons(rows: usize) -> Log {
        Potential::Moons.simulate(3 * rows, 5).log().unwrap().split(SplitRule::Column).unwrap().train
    }

    fn every() -> Vec<PublishedRecipe> {
        let mut all = Vec::new();
        for training in [Training::Alone, Training::Together] {
            for coefficients in [Coefficients::NotNegative, Coefficients::Free] {
                for divisor in [Divisor::Share, Divisor::Density] {
                    let plain = PublishedRecipe { buckets: 4, cap: 1.5, ridge: 0.1, ..PublishedRecipe::default() };
                    let recipe = PublishedRecipe { training, coefficients, divisor, variance_penalty: 0.3, ..plain };
                    all.extend(
                        [Constants::Shared, Constants::Each].map(|c| PublishedRecipe { constants: c, ..recipe }),
                    );
                }
            }
        }
        all
    }

    #[test]
    fn every_gradient_is_the_derivative_of_its_value() {
        let (log, logging) = (moons(300), logging_policy().unwrap());
        for recipe in every() {
            let policy = learn_published(&log, &logging, &PublishedRecipe { max_iterations: 1, ..recipe }).unwrap();
            let rows = Taken::new(&log, &logging, &policy, &recipe).unwrap();
            let mut risk = PublishedRisk::new(&rows, &recipe).unwrap();
            let u: Vec<f64> = (0..risk.dim()).map(|i| 1.7 * (i as f64 * 2.3).sin()).collect();
            let (mut grad, mut other) = (vec![0.0; u.len()], vec![0.0; u.len()]);
            risk.eval(&u, &mut grad).unwrap();
            for i in 0..u.len() {
                let mut at = |h: f64| {
                    let mut u = u.clone();
                    u[i] += h;
                    risk.eval(&u, &mut other).unwrap()
                };
                let d = (at(1e-6) - at(-1e-6)) / 2e-6;
                assert!((grad[i] - d).abs() < 1e-6 * (1.0 + d.abs()), "{recipe:?} {i}: {} {d}", grad[i]);
            }
        }
    }

    #[test]
    fn the_published_buckets_are_closed_on_the_right() {
        let b = published_buckets(&[1.0, 2.0, 3.0, 4.0, 5.0], 2).unwrap();
        assert_eq!(b.centres(), [1e-8, 1.0, 3.0, 5.0]);
        let taken = [1e-9, 1e-8, 0.5, 1.0, 1.5, 3.0, 3.1, 5.0, 9.0].map(|a| b.index(a));
        assert_eq!(taken, [0, 0, 1, 1, 2, 2, 3, 3, 3]);
        assert_eq!(b.at_medians(&[1.0, 2.0, 3.0, 4.0, 5.0]).centres(), [1e-8, 1.0, 2.5, 4.5]);
        assert_eq!(Buckets::quantile(&[1.0, 2.0, 3.0, 4.0], 2).unwrap().at_upper_edges().centres()[0], 2.5);
        assert!(published_buckets(&[-1.0, 1.0, 2.0], 2).is_err());
    }

    /// s = 2 at m = 4 buckets: alone e^2 / (e^2 + 3), whatever the logits of the others; together the softmax.
    #[test]
    fn probabilities_by_hand() {
        let rows = Taken {
            columns: 1,
            k: 4,
            psi: vec![2.0],
            bucket: vec![1],
            log_q: vec![0.5f64.ln()],
            y: vec![-1.0],
            omega: vec![1.0],
        };
        let e = 2f64.exp();
        for (training, p) in [(Training::Alone, e / (e + 3.0)), (Training::Together, e / (e + 1.0 + 6f64.exp() + 1.0))]
        {
            let recipe = PublishedRecipe { training, ..PublishedRecipe::default() };
            let mut risk = PublishedRisk::new(&rows, &recipe).unwrap();
            risk.look(&[0.0, 1.0, 3.0, 0.0]);
            assert!((risk.log_w[0].exp() - 2.0 * p).abs() < 1e-12, "{training:?}");
            assert!((risk.slopes[1] - (1.0 - p)).abs() < 1e-12);
        }
    }

    /// The policy never takes a bucket for being the better one: alone, every bucket that earns grows.
    #[test]
    fn without_competition_all_buckets_that_earn_grow() {
        let (log, logging) = (moons(2000), logging_policy().unwrap());
        let plain = PublishedRecipe { buckets: 5, context_map: ContextKind::Linear, ..PublishedRecipe::default() };
        let grown = |training| {
            let recipe = PublishedRecipe { training, coefficients: Coefficients::Free, ..plain };
            let policy = learn_published(&log, &logging, &recipe).unwrap();
            let mut s = vec![0.0; policy.buckets.len()];
            logits(&policy.theta, &policy.features(&[0.5, 0.5]), &mut s);
            s[2..6].iter().filter(|s| **s > 1.0).count()
        };
        assert_eq!(grown(Training::Alone), 4);
        assert!(grown(Training::Together) < 4);
    }
}
