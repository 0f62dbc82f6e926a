//! Partial dependence: how the mean action moves with each context, and which contexts matter.
//!
//! ```text
//! PD_j(v) = mean over sampled rows of mu(x with x_j = v)
//! ```
//!
//! The importance of a context is the standard deviation of PD_j over its own distribution (Greenwell and others 2018), in the
//! units of the action: how far the policy moves because of this context alone. Contexts that work only together with others
//! have a band around their curve and little importance.

use super::SAMPLE;
use super::detail::{Detail, grouped, without_rare_levels};
use crate::data::{Input, Log};
use crate::features::anchors::quantile_sorted;
use crate::math;
use crate::policy::{Ready, TargetPolicy};
use serde::{Deserialize, Serialize};

/// At most this many views; the least important are left out.
const SHOWN: usize = 12;

/// Steps of a curve.
const STEPS: i32 = 40;

/// Values of a context, and rows, from which its importance is taken.
const ROUGH: [usize; 2] = [9, 100];

/// How the mean of one action depends on one context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dependence {
    /// The context.
    pub context: String,
    /// The action.
    pub action: String,
    /// Standard deviation of the partial dependence over the context's distribution.
    pub importance: f64,
    /// The dependence itself.
    pub shape: Shape,
}

/// A curve, or a list of levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// The context is a number.
    Numeric {
        /// (context, mean action): means of neighbouring rows, or sampled rows where these may be shown ([`Detail`]).
        rows: Vec<[f64; 2]>,
        /// The mean action with this context set to x in every sampled row.
        curve: Vec<CurvePoint>,
    },
    /// The context is a category.
    Categorical {
        /// Its values.
        levels: Vec<Level>,
    },
}

/// A point of a curve with the band around it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// The value of the context.
    pub x: f64,
    /// The mean over rows.
    pub mean: f64,
    /// The 10% quantile over rows.
    pub lower: f64,
    /// The 90% quantile over rows.
    pub upper: f64,
}

/// One value of a categorical context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Its name.
    pub name: String,
    /// Sampled rows that have it.
    pub rows: f64,
    /// The mean over rows of the mean action with this level set in every sampled row.
    pub mean: f64,
    /// The 10% quantile over rows.
    pub lower: f64,
    /// The 90% quantile over rows.
    pub upper: f64,
}

/// The partial dependence of every mean action on every context, the most important first, at most twelve. Nothing where the policy
/// does not know its mean.
///
/// ```
/// use counterpoint::explain::{Detail, dependence};
/// use counterpoint::policy::Family;
/// use counterpoint::{Log, Policy};
/// let x: Vec<f64> = (0..200).map(|i| f64::from(i) * 0.01).collect();
/// let log = Log::builder().context("x", x).action("a", vec![1.0; 200]).cost("y", vec![1.0; 200])
///     .propensity("p", vec![0.5; 200]).build()?;
/// // a policy that ignores its context does not depend on it
/// let policy = Policy::constant(Family::Normal, &["x"], &["a"], &[2.0], &[0.5])?;
/// assert_eq!(dependence(&log, &policy, Detail::Aggregates)[0].importance, 0.0);
/// # Ok::<(), counterpoint::Error>(())
/// ```
pub fn dependence(log: &Log, policy: &dyn TargetPolicy, detail: Detail) -> Vec<Dependence> {
    let (x, _) = log.thin(SAMPLE);
    let (schema, d) = (log.schema(), log.d());
    if d == 0 || x.is_empty() || policy.mean(&x[..d]).is_none() {
        return Vec::new();
    }
    let inputs = if schema.inputs.is_empty() { Input::numbers(&schema.contexts) } else { schema.inputs.clone() };
    let mut what_if = WhatIf { rows: x.chunks_exact(d).collect(), policy: Ready::new(policy), detail };
    let mut places = Vec::new();
    let mut first = 0;
    for input in inputs {
        for action in 0..log.q() {
            let place = Place { first, action, input: input.clone() };
            places.push((what_if.importance(&place), place));
        }
        first += input.width();
    }
    places.sort_by(|a, b| b.0.total_cmp(&a.0));
    places.truncate(SHOWN);
    let view = |(importance, place): (f64, Place)| Dependence {
        context: place.input.name().into(),
        action: schema.actions[place.action].clone(),
        importance,
        shape: what_if.shape(&place),
    };
    places.into_iter().map(view).collect()
}

/// One context and one action: where the context's columns begin.
struct Place {
    first: usize,
    action: usize,
    input: Input,
}

impl Place {
    /// Sets level l of the category.
    fn set_level(&self, row: &mut [f64], l: usize) {
        (0..self.input.width()).for_each(|k| row[self.first + k] = if k == l { 1.0 } else { 0.0 });
    }
}

/// Sampled rows, and a policy that is asked what it would do if they were otherwise.
struct WhatIf<'a> {
    rows: Vec<&'a [f64]>,
    policy: Ready<'a>,
    detail: Detail,
}

impl WhatIf<'_> {
    /// Mean actions of the first `rows` rows, each changed by `set`; sorted.
    fn means(&mut self, rows: usize, action: usize, set: &dyn Fn(&mut [f64])) -> Vec<f64> {
        let step = self.rows.len().div_ceil(rows).max(1);
        let mut means = Vec::with_capacity(rows);
        for row in self.rows.iter().step_by(step) {
            let mut row = row.to_vec();
            set(&mut row);
            means.push(mean_of(&mut self.policy, &row, action));
        }
        means.sort_by(f64::total_cmp);
        means
    }

    /// The values of a numeric context, sorted.
    fn values(&self, place: &Place) -> Vec<f64> {
        let mut values: Vec<f64> = self.rows.iter().map(|r| r[place.first]).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    fn importance(&mut self, place: &Place) -> f64 {
        let [values, rows] = ROUGH;
        let points: Vec<(f64, f64)> = match &place.input {
            // a gap is one more value: its own mark stays as it is in each row
            Input::Number { .. } | Input::Filled { .. } => {
                let sorted = self.values(place);
                let level = |i: usize| (i as f64 + 0.5) / values as f64;
                let at = (0..values).map(|i| quantile_sorted(&sorted, level(i)));
                at.map(|v| (1.0, mean(&self.means(rows, place.action, &|r| r[place.first] = v)))).collect()
            }
            Input::Category { levels, .. } => (0..levels.len())
                .map(|l| {
                    let seen = self.rows.iter().filter(|r| r[place.first + l] == 1.0).count() as f64;
                    (seen, mean(&self.means(rows, place.action, &|r| place.set_level(r, l))))
                })
                .collect(),
        };
        spread(&points)
    }

    fn shape(&mut self, place: &Place) -> Shape {
        match &place.input {
            Input::Number { .. } | Input::Filled { .. } => self.curve(place),
            Input::Category { levels, .. } => {
                let level = |(l, name): (usize, &String)| {
                    let means = self.means(SAMPLE, place.action, &|r| place.set_level(r, l));
                    let rows = self.rows.iter().filter(|r| r[place.first + l] == 1.0).count() as f64;
                    let [mean, lower, upper] = summary(&means);
                    Level { name: name.clone(), rows, mean, lower, upper }
                };
                let levels = levels.iter().enumerate().map(level).collect();
                match self.detail {
                    Detail::Aggregates => Shape::Categorical { levels: without_rare_levels(levels) },
                    Detail::Rows => Shape::Categorical { levels },
                }
            }
        }
    }

    fn curve(&mut self, place: &Place) -> Shape {
        let (first, action) = (place.first, place.action);
        let sorted = self.values(place);
        let (low, high) = (quantile_sorted(&sorted, 0.01), quantile_sorted(&sorted, 0.99));
        let point = |i: i32| {
            let x = low + (high - low) * f64::from(i) / f64::from(STEPS);
            let [mean, lower, upper] = summary(&self.means(SAMPLE, action, &|r| r[first] = x));
            CurvePoint { x, mean, lower, upper }
        };
        let curve = (0..=STEPS).map(point).collect();
        let rows: Vec<[f64; 2]> = self.rows.iter().map(|r| [r[first], mean_of(&mut self.policy, r, action)]).collect();
        let rows = if self.detail == Detail::Rows { rows } else { grouped(rows) };
        Shape::Numeric { rows, curve }
    }
}

/// The mean of one action in one context; asked only of policies that know it.
fn mean_of(policy: &mut Ready, row: &[f64], action: usize) -> f64 {
    policy.mean(row).map_or(f64::NAN, |mean| mean[action])
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Mean, 10% and 90% quantile of sorted values.
fn summary(sorted: &[f64]) -> [f64; 3] {
    [mean(sorted), quantile_sorted(sorted, 0.1), quantile_sorted(sorted, 0.9)]
}

/// The standard deviation of (weight, value) pairs.
fn spread(points: &[(f64, f64)]) -> f64 {
    let total: f64 = points.iter().map(|p| p.0).sum();
    if total <= 0.0 {
        return 0.0;
    }
    let mean = points.iter().map(|p| p.0 * p.1).sum::<f64>() / total;
    (points.iter().map(|p| p.0 * math::powi(p.1 - mean, 2)).sum::<f64>() / total).sqrt()
}
