//! A policy whose mean is found by models: the cheapest action by predicted cost, kept where the log has been.
//!
//! ```text
//! s(x)  = share * spread(x)                          the log's own spread given x, in levels
//! mu(x) = argmin over u of E_{N(u, s(x))} q(x, .)    over knots within the window around the log's mean, a parabola at the best
//! mean  = m0(x) + step (mu(x) - m0(x))               m0 the log's mean given x; step 1 goes all the way
//! a ~ N(mean, s(x)^2) on the axis, cut to its bounds or put on its grid
//! ```
//!
//! The expectation under the very noise that the policy will have makes the minimum robust: a narrow dip of q that noise
//! would miss does not attract. The window and the step hold the policy to actions that the log took in such contexts, without
//! which neither an estimate nor a certificate is possible.

use super::axis::Axis;
use super::columns::Columns;
use super::target::TargetPolicy;
use super::{Origin, SavedPolicy};
use crate::data::{Block, Schema};
use crate::error::{Error, Result};
use crate::models::{Boosted, CostModel, Regressor};
use rand::Rng;
use serde::{Deserialize, Serialize};

/// The log's own policy given the context, as far as a regression knows it: positions on the axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoggingLaw {
    /// Its mean.
    pub mean: Regressor,
    /// What tells contexts of small spread from those of large spread.
    pub size: Regressor,
    /// Where on the scale of `size` one level of the spread ends and the next begins, ascending.
    pub cuts: Vec<f64>,
    /// The levels of the spread, not falling; one more than cuts.
    pub levels: Vec<f64>,
}

impl LoggingLaw {
    /// The level of the spread given x.
    pub fn level(&self, x: &[f64]) -> usize {
        if self.cuts.is_empty() {
            return 0;
        }
        let size = self.size.at(x);
        self.cuts.partition_point(|c| *c <= size)
    }

    fn check(&self, d: usize) -> Result<()> {
        self.mean.check(d)?;
        self.size.check(d)?;
        let rising = |v: &[f64]| v.iter().all(|s| s.is_finite()) && v.windows(2).all(|w| w[0] <= w[1]);
        let fits = self.levels.len() == self.cuts.len() + 1 && rising(&self.cuts) && rising(&self.levels);
        if fits && self.levels[0] > 0.0 {
            return Ok(());
        }
        Err(Error::policy("the levels of the log's spread are damaged"))
    }
}

/// How the mean is found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum MeanRule {
    /// The position with the smallest predicted cost, costs being a weighted mean of models.
    Greedy(Vec<Member>),
    /// A regression of the position on the contexts.
    Direct(Regressor),
    /// A rule, moved by trees that went down the objective.
    Boosted(Box<MeanRule>, Boosted),
    /// The mean of several rules.
    Average(Vec<MeanRule>),
}

/// A model and its weight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Its weight; they add up to 1.
    pub weight: f64,
    /// The model.
    pub model: CostModel,
}

/// Rules within rules beyond this depth are a damaged file.
const DEEPEST: usize = 4;

impl MeanRule {
    /// For `d` contexts, of which the last `predicted` are predictions.
    fn check(&self, d: usize, predicted: usize, depth: usize) -> Result<()> {
        let own = d - predicted;
        if depth > DEEPEST {
            return Err(Error::policy("its rules are nested too deeply"));
        }
        match self {
            MeanRule::Greedy(members) => {
                if members.is_empty() || members.iter().any(|m| !(m.weight.is_finite() && m.weight >= 0.0)) {
                    return Err(Error::policy("the weights of its models are damaged"));
                }
                let reads = |m: &Member| if m.model.reads_predictions() { d } else { own };
                let stray = members.iter().any(|m| m.model.reads_predictions() && predicted == 0);
                if stray {
                    return Err(Error::policy("it follows predictions without saying which columns they are"));
                }
                members.iter().try_for_each(|m| m.model.check(reads(m)))
            }
            MeanRule::Direct(regressor) => regressor.check(own),
            MeanRule::Boosted(start, trees) => {
                trees.check(own)?;
                start.check(d, predicted, depth + 1)
            }
            MeanRule::Average(rules) if rules.is_empty() => Err(Error::policy("it averages no rules")),
            MeanRule::Average(rules) => rules.iter().try_for_each(|r| r.check(d, predicted, depth + 1)),
        }
    }
}

/// A policy whose mean is found by models. One action column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ModelParts", into = "ModelParts")]
pub struct ModelPolicy {
    parts: ModelParts,
    /// For each level of the spread the matrix that turns costs at knots into expected costs around knots.
    smoothing: Vec<Vec<f64>>,
}

/// The parts of such a policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelParts {
    /// The columns it is for.
    pub columns: Columns,
    /// Where it acts.
    pub axis: Axis,
    /// What the log did.
    pub logging: LoggingLaw,
    /// How the mean is found.
    pub rule: MeanRule,
    /// The std in units of the log's spread.
    pub share: f64,
    /// How far the mean goes from the log's to the rule's, (0, 1].
    pub step: f64,
    /// How far the rule's mean may lie from the log's, below and above, in units of the log's spread.
    pub window: [f64; 2],
    /// And at most so far in units of the axis; absent: as far as the window allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_change: Option<f64>,
    /// How many of the last contexts are predictions of a model of others, which must stand in the rows that it acts on.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub predicted: usize,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl TryFrom<ModelParts> for ModelPolicy {
    type Error = Error;

    fn try_from(parts: ModelParts) -> Result<Self> {
        parts.columns.check()?;
        let d = parts.columns.contexts.len();
        if parts.columns.actions.len() != 1 {
            return Err(Error::policy("a policy by models has one action column"));
        }
        parts.axis.check()?;
        if parts.predicted > d {
            return Err(Error::policy("it has more columns of predictions than contexts"));
        }
        parts.logging.check(d - parts.predicted)?;
        parts.rule.check(d, parts.predicted, 0)?;
        let [low, high] = parts.window;
        let shares = parts.share.is_finite() && parts.share > 0.0 && parts.step > 0.0 && parts.step <= 1.0;
        let change = parts.max_change.is_none_or(|c| c.is_finite() && c > 0.0);
        if !(shares && change && low.is_finite() && high.is_finite() && low <= high) {
            return Err(Error::policy("its share, step or window is damaged"));
        }
        let smoothing = parts.logging.levels.iter().map(|s| smoothing(&parts.axis, parts.share * s)).collect();
        Ok(ModelPolicy { parts, smoothing })
    }
}

impl From<ModelPolicy> for ModelParts {
    fn from(policy: ModelPolicy) -> Self {
        policy.parts
    }
}

/// The matrix whose column j holds the expectation of every knot's hat under the policy with mean at knot j; row-major, so that costs are
/// smoothed for all means side by side.
pub(crate) fn smoothing(axis: &Axis, std: f64) -> Vec<f64> {
    let k = axis.knots.len();
    let (mut out, mut weights) = (vec![0.0; k * k], vec![0.0; k]);
    for (j, mean) in axis.knots.iter().enumerate() {
        axis.weights(*mean, std, &mut weights);
        weights.iter().enumerate().for_each(|(i, w)| out[i * k + j] = *w);
    }
    out
}

/// Costs at knots, smoothed by such a matrix.
pub(crate) fn smoothed(matrix: &[f64], costs: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for (c, row) in costs.iter().zip(matrix.chunks_exact(costs.len())) {
        out.iter_mut().zip(row).for_each(|(o, w)| *o += w * c);
    }
}

/// The position with the smallest of the smoothed costs within [low, high]: the best knot, or the lowest point of the parabola
/// through it and its neighbours. Where costs are equal the knot nearest to `home` is taken.
pub(crate) fn least(knots: &[f64], costs: &[f64], home: f64, [low, high]: [f64; 2]) -> f64 {
    let inside = |k: &usize| (low..=high).contains(&knots[*k]);
    let nearer = |a: usize, b: usize| (knots[a] - home).abs() < (knots[b] - home).abs();
    let best = (0..knots.len())
        .filter(inside)
        .reduce(|a, b| if costs[b] < costs[a] || (costs[b] == costs[a] && nearer(b, a)) { b } else { a });
    let Some(k) = best else { return home.clamp(low, high) };
    if k == 0 || k + 1 == knots.len() {
        return knots[k];
    }
    let ([g0, g1, g2], [c0, c1, c2]) = ([knots[k - 1], knots[k], knots[k + 1]], [costs[k - 1], costs[k], costs[k + 1]]);
    let (left, right) = ((c1 - c0) / (g1 - g0), (c2 - c1) / (g2 - g1));
    let bend = (right - left) / (g2 - g0);
    if bend.is_nan() || bend <= 0.0 || c0 < c1 || c2 < c1 {
        return g1;
    }
    // the slope of the parabola is left at (g0 + g1)/2 and right at (g1 + g2)/2
    let vertex = 0.5 * (g0 + g1) - left / (2.0 * bend);
    vertex.clamp(g0.max(low), g2.min(high))
}

impl ModelPolicy {
    /// Refuses parts that do not fit each other.
    pub fn check(&self) -> Result<()> {
        ModelPolicy::try_from(self.parts.clone()).map(|_| ())
    }

    /// The parts.
    pub fn parts(&self) -> &ModelParts {
        &self.parts
    }

    /// What the log did, as far as this policy knows it: its mean and spread given x, as a policy of its own.
    pub fn logging_policy(&self) -> ModelPolicy {
        let rule = MeanRule::Direct(self.parts.logging.mean.clone());
        // the mean is that of the log, wherever the window
        let parts =
            ModelParts { rule, share: 1.0, step: 1.0, window: [-1.0, 1.0], max_change: None, ..self.parts.clone() };
        let smoothing = parts.logging.levels.iter().map(|s| smoothing(&parts.axis, *s)).collect();
        ModelPolicy { parts, smoothing }
    }

    /// Mean and std as positions on the axis.
    pub fn law_at(&self, x: &[f64]) -> (f64, f64) {
        let p = &self.parts;
        let own = self.own(x);
        let level = p.logging.level(own);
        let (home, spread) = (p.logging.mean.at(own), p.logging.levels[level]);
        let range = reach(&p.axis, home, spread, p.window, p.max_change);
        let mu = self.position(&p.rule, x, level, home, range).clamp(range[0], range[1]);
        (home + p.step * (mu - home), p.share * spread)
    }

    /// The contexts without predictions.
    fn own<'x>(&self, x: &'x [f64]) -> &'x [f64] {
        &x[..x.len() - self.parts.predicted]
    }

    /// The columns of predictions that a row must have for this policy to act; most policies need none.
    pub fn predicted(&self) -> &[String] {
        let contexts = &self.parts.columns.contexts;
        &contexts[contexts.len() - self.parts.predicted..]
    }

    fn position(&self, rule: &MeanRule, x: &[f64], level: usize, home: f64, range: [f64; 2]) -> f64 {
        let axis = &self.parts.axis;
        match rule {
            MeanRule::Greedy(members) => {
                let k = axis.knots.len();
                let (mut costs, mut one) = (vec![0.0; k], vec![0.0; k]);
                for m in members {
                    let sees = if m.model.reads_predictions() { x } else { self.own(x) };
                    m.model.at_knots(sees, &axis.knots, &mut one);
                    costs.iter_mut().zip(&one).for_each(|(c, q)| *c += m.weight * q);
                }
                smoothed(&self.smoothing[level], &costs, &mut one);
                least(&axis.knots, &one, home, range)
            }
            MeanRule::Direct(regressor) => regressor.at(self.own(x)),
            MeanRule::Boosted(start, trees) => self.position(start, x, level, home, range) + trees.at(self.own(x)),
            MeanRule::Average(rules) => {
                let sum: f64 =
                    rules.iter().map(|r| self.position(r, x, level, home, range).clamp(range[0], range[1])).sum();
                sum / rules.len() as f64
            }
        }
    }
}

/// Where the rule's mean may lie, as positions.
pub(crate) fn reach(axis: &Axis, home: f64, spread: f64, window: [f64; 2], max_change: Option<f64>) -> [f64; 2] {
    let [lo, hi] = axis.ends();
    let (mut from, mut to) = (home + spread * window[0], home + spread * window[1]);
    if let Some(c) = max_change {
        (from, to) = (from.max(home - c), to.min(home + c));
    }
    // a log's mean outside the bounds leaves the nearer bound
    let from = from.clamp(lo, hi);
    [from, to.clamp(from, hi)]
}

impl TargetPolicy for ModelPolicy {
    fn log_density(&self, x: &[f64], a: &[f64]) -> f64 {
        let (mean, std) = self.law_at(x);
        self.parts.axis.log_density(mean, std, a[0])
    }

    fn sample(&self, x: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
        self.sampler(x)(rng)
    }

    fn sampler<'a>(&'a self, x: &[f64]) -> Box<dyn Fn(&mut dyn Rng) -> Vec<f64> + 'a> {
        let (mean, std) = self.law_at(x);
        Box::new(move |rng| vec![self.parts.axis.sample(mean, std, rng)])
    }

    fn mean(&self, x: &[f64]) -> Option<Vec<f64>> {
        let axis = &self.parts.axis;
        let u = self.law_at(x).0;
        let nearest = |points: &[f64]| {
            let k = (0..points.len() - 1).take_while(|&k| u > 0.5 * (axis.knots[k] + axis.knots[k + 1])).count();
            points[k]
        };
        let a = axis.points.as_deref().map_or_else(|| axis.scale.action(u), nearest);
        Some(vec![a.clamp(axis.bounds[0], axis.bounds[1])])
    }

    fn mass_within(&self, x: &[f64], low: &[f64], high: &[f64]) -> Option<f64> {
        let (mean, std) = self.law_at(x);
        Some(self.parts.axis.mass_within(mean, std, low[0], high[0]))
    }

    fn masses<'a>(&'a self, x: &[f64]) -> Box<dyn Fn(&[f64], &[f64]) -> f64 + 'a> {
        let (mean, std) = self.law_at(x);
        Box::new(move |low, high| self.parts.axis.mass_within(mean, std, low[0], high[0]))
    }

    fn masses_within(&self, block: &Block, low: &[f64], high: &[f64]) -> Option<Vec<f64>> {
        let [lo, hi] = self.parts.axis.bounds;
        if low[0] <= lo && high[0] >= hi {
            return Some(vec![1.0; block.rows()]); // no draw leaves the bounds
        }
        let mut x = vec![0.0; block.x.len()];
        let mut mass = |i| {
            block.context(i, &mut x);
            self.mass_within(&x, low, high)
        };
        (0..block.rows()).map(&mut mass).collect()
    }

    fn check_against(&self, schema: &Schema) -> Result<()> {
        self.parts.columns.check_against(schema)
    }

    fn origin(&self) -> Option<&Origin> {
        self.parts.columns.origin.as_ref()
    }

    fn saved(&self) -> Option<SavedPolicy> {
        Some(self.clone().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_cost_lies_at_the_lowest_point_of_a_parabola_or_at_an_end() {
        let knots = [0.0, 1.0, 2.0, 3.0, 4.0];
        for (bottom, want) in [(1.3, 1.3), (2.6, 2.6), (0.8, 0.8), (-3.0, 0.0), (9.0, 4.0)] {
            let costs = knots.map(|k| (k - bottom) * (k - bottom));
            let found = least(&knots, &costs, 2.0, [0.0, 4.0]);
            assert!((found - want).abs() < 1e-12, "{bottom}: {found}");
        }
        assert_eq!(least(&knots, &[1.0; 5], 3.2, [0.0, 4.0]), 3.0, "of equal costs the nearest to home");
    }
}
