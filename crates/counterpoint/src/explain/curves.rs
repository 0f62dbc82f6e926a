//! What a loss model predicts over the action, for a few typical contexts.

use super::detail::{Detail, FEWEST};
use super::{ENDS, SAMPLE};
use crate::data::Log;
use crate::engine::Engine;
use crate::error::Result;
use crate::features::anchors::quantile_sorted;
use crate::learn::fit_model;
use crate::math;
use crate::policy::{Law, Ready, TargetPolicy};
use crate::recipe::Recipe;
use serde::{Deserialize, Serialize};

/// Points of a curve.
const POINTS: i32 = 80;

/// The predicted outcome over the action for one context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutcomeCurve {
    /// The contexts in words: "the lowest actions: x0 about 0.21, x1 about 1.30"; of a single row "x0 = 0.21, x1 = 1.30".
    pub context: String,
    /// (action, predicted outcome) in increasing action.
    pub points: Vec<[f64; 2]>,
    /// Mean of the policy's action in this context.
    pub mean: f64,
    /// Its standard deviation.
    pub std: Option<f64>,
}

/// The predicted outcome over one action for a few typical contexts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutcomeCurves {
    /// The action.
    pub action: String,
    /// Who predicts: "ridge regression on the train part".
    pub predicted_by: String,
    /// One per context.
    pub curves: Vec<OutcomeCurve>,
}

/// What a ridge regression on the train part predicts over the action, where the policy's mean action lies low, in the middle and high:
/// the mean over a tenth of the rows each, or for one row each where rows may be shown. Nothing for vector actions, or without contexts.
pub fn outcome_curves(
    engine: &Engine,
    train: &Log,
    policy: &dyn TargetPolicy,
    detail: Detail,
) -> Result<Option<OutcomeCurves>> {
    let (schema, d) = (train.schema(), train.d());
    if train.q() != 1 || d == 0 || !policy.can_sample() {
        return Ok(None);
    }
    let model = fit_model(&train.on(engine), policy, &Recipe::clp().with_model_ridge(1e-4))?;
    let ends = ends(train);
    let (x, _) = train.thin(SAMPLE);
    let mut ready = Ready::new(policy);
    let Some(mut rows) = x.chunks_exact(d).map(|r| Some((ready.mean(r)?[0], r))).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let direction = schema.direction;
    let curve = |(level, name): (f64, &str)| {
        let group = around(&rows, level, detail);
        let mean = |f: &dyn Fn(usize) -> f64| (0..group.len()).map(f).sum::<f64>() / group.len() as f64;
        let equals = if detail == Detail::Rows { "=" } else { "about" };
        let contexts = schema.contexts.iter().take(4).enumerate();
        let words: Vec<String> =
            contexts.map(|(c, n)| format!("{n} {equals} {:.2}", mean(&|i| group[i].1[c]))).collect();
        let words = words.join(", ");
        let points = actions(ends).map(|a| [a, direction.to_user(mean(&|i| model.predict(group[i].1, &[a])))]);
        OutcomeCurve {
            context: if detail == Detail::Rows { words } else { format!("{name}: {words}") },
            points: points.collect(),
            mean: mean(&|i| group[i].0),
            std: Some(mean(&|i| std_at(policy, group[i].1))),
        }
    };
    if detail == Detail::Aggregates && rows.len() < FEWEST {
        return Ok(None);
    }
    let curves = [(0.1, "the lowest actions"), (0.5, "middling actions"), (0.9, "the highest actions")].map(curve);
    Ok(Some(OutcomeCurves {
        action: schema.actions[0].clone(),
        predicted_by: "ridge regression on the train part; for orientation, the verdict does not use it".into(),
        curves: curves.into(),
    }))
}

/// Rows sorted by their action: the one at a level, or the tenth around it.
fn around<'a>(rows: &'a [(f64, &'a [f64])], level: f64, detail: Detail) -> &'a [(f64, &'a [f64])] {
    let at = ((rows.len() - 1) as f64 * level) as usize;
    if detail == Detail::Rows {
        return &rows[at..=at];
    }
    let size = (rows.len() / 10).max(FEWEST).min(rows.len());
    let from = at.saturating_sub(size / 2).min(rows.len() - size);
    &rows[from..from + size]
}

/// The standard deviation of the action in one context: known, or that of seeded draws.
fn std_at(policy: &dyn TargetPolicy, x: &[f64]) -> f64 {
    if let Some(Law::Family { std, .. }) = policy.law(x) {
        return std[0];
    }
    let draws: Vec<f64> = (0..SAMPLE as u64).map(|row| policy.draw(x, 0, row).0[0]).collect();
    let mean = draws.iter().sum::<f64>() / draws.len() as f64;
    (draws.iter().map(|a| math::powi(a - mean, 2)).sum::<f64>() / draws.len() as f64).sqrt()
}

/// The range of nearly all logged actions.
fn ends(log: &Log) -> [f64; 2] {
    let (_, mut a) = log.thin(ENDS);
    a.sort_by(f64::total_cmp);
    [quantile_sorted(&a, 0.001), quantile_sorted(&a, 0.995)]
}

/// From the first action to the last.
fn actions([low, high]: [f64; 2]) -> impl Iterator<Item = f64> {
    (0..=POINTS).map(move |i| low + (high - low) * f64::from(i) / f64::from(POINTS))
}
