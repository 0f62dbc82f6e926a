//! What a loss model predicts over the action, for a few typical contexts.

use super::{ENDS, SAMPLE};
use crate::data::Log;
use crate::engine::Engine;
use crate::error::Result;
use crate::estimate::LossModel;
use crate::features::anchors::quantile_sorted;
use crate::learn::fit_model;
use crate::policy::{Law, Ready, TargetPolicy};
use crate::recipe::Recipe;
use serde::{Deserialize, Serialize};

/// Points of a curve.
const POINTS: i32 = 80;

/// The predicted outcome over the action for one context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutcomeCurve {
    /// The context in words: "x0 = 0.21, x1 = 1.30".
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

/// What a ridge regression on the train part predicts over the action, in three contexts: where the policy's mean action lies
/// low, in the middle and high. Nothing for vector actions, or without contexts.
pub fn outcome_curves(engine: &Engine, train: &Log, policy: &dyn TargetPolicy) -> Result<Option<OutcomeCurves>> {
    let (schema, d) = (train.schema(), train.d());
    if train.q() != 1 || d == 0 || !policy.can_sample() {
        return Ok(None);
    }
    let model = fit_model(&train.on(engine), policy, &Recipe::default().with_model_ridge(1e-4))?;
    let ends = ends(train);
    let (x, _) = train.thin(SAMPLE);
    let mut ready = Ready::new(policy);
    let Some(mut rows) = x.chunks_exact(d).map(|r| Some((ready.mean(r)?[0], r))).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let typical = [0.1, 0.5, 0.9].map(|level| rows[((rows.len() - 1) as f64 * level) as usize]);
    let direction = schema.direction;
    let curves = typical.map(|(mean, row)| {
        let words: Vec<String> =
            schema.contexts.iter().zip(row).take(4).map(|(n, v)| format!("{n} = {v:.2}")).collect();
        let points = predicted(&model, row, ends).map(|[a, cost]| [a, direction.to_user(cost)]).collect();
        OutcomeCurve { context: words.join(", "), points, mean, std: Some(std_at(policy, row)) }
    });
    Ok(Some(OutcomeCurves {
        action: schema.actions[0].clone(),
        predicted_by: "ridge regression on the train part; for orientation, the verdict does not use it".into(),
        curves: curves.into(),
    }))
}

/// The standard deviation of the action in one context: known, or that of seeded draws.
fn std_at(policy: &dyn TargetPolicy, x: &[f64]) -> f64 {
    if let Some(Law::Family { std, .. }) = policy.law(x) {
        return std[0];
    }
    let draws: Vec<f64> = (0..SAMPLE as u64).map(|row| policy.draw(x, 0, row).0[0]).collect();
    let mean = draws.iter().sum::<f64>() / draws.len() as f64;
    (draws.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / draws.len() as f64).sqrt()
}

/// The range of nearly all logged actions.
fn ends(log: &Log) -> [f64; 2] {
    let (_, mut a) = log.thin(ENDS);
    a.sort_by(f64::total_cmp);
    [quantile_sorted(&a, 0.001), quantile_sorted(&a, 0.995)]
}

/// (action, predicted cost) from the first action to the last.
fn predicted(model: &LossModel, row: &[f64], [low, high]: [f64; 2]) -> impl Iterator<Item = [f64; 2]> {
    (0..=POINTS).map(move |i| {
        let a = low + (high - low) * f64::from(i) / f64::from(POINTS);
        [a, model.predict(row, &[a])]
    })
}
