//! Policies that people bring: their densities or actions in the rows of the log, or a policy of ours.

use crate::errors::{Answer, Fault};
use crate::log::Log;
use crate::policy::Policy;
use counterpoint::data::{Block, Schema, TargetColumns};
use counterpoint::policy::{Family, Law, SavedPolicy, TargetAction, TargetDensity, TargetPolicy};
use counterpoint::{Error, Result};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::sync::Arc;

/// A policy as Python hands it over.
#[derive(FromPyObject)]
pub(crate) enum Brought<'py> {
    /// One of ours.
    #[pyo3(transparent)]
    Ours(PyRef<'py, Policy>),
    /// Its log density at every logged action.
    #[pyo3(transparent)]
    LogDensities(PyReadonlyArray1<'py, f64>),
    /// The same, and its densities in the middle of every step between these edges: of a policy that is a function.
    Function(PyReadonlyArray1<'py, f64>, Vec<f64>, PyReadonlyArray2<'py, f64>),
    /// Its action in every row, the std around it and the family.
    Actions(PyReadonlyArray2<'py, f64>, Vec<f64>, String),
    /// It stands in columns of the log, with a std and a family where these are actions.
    Columns(Vec<f64>, String),
}

/// The policy to be asked about.
pub(crate) fn target(brought: &Brought, log: &Log) -> Answer<Arc<dyn TargetPolicy>> {
    let schema = log.log.schema();
    let policy: Arc<dyn TargetPolicy> = match brought {
        Brought::Ours(policy) => policy.saved.clone(),
        Brought::LogDensities(values) => Arc::new(InRows::densities(values, log.given)?),
        Brought::Function(values, edges, steps) => {
            let rows = InRows::densities(values, log.given)?;
            same_rows(steps.as_array().nrows(), log.given)?;
            let steps = steps.as_array().iter().copied().collect();
            Arc::new(InRows { steps: Some((edges.clone(), steps)), ..rows })
        }
        Brought::Actions(actions, std, name) => {
            let view = actions.as_array();
            same_rows(view.nrows(), log.given)?;
            let std = one_each(std, view.ncols());
            TargetAction::new(family(name)?, &std)?; // refuses a std that is none
            Arc::new(ActionsInRows { family: family(name)?, std, rows: view.iter().copied().collect() })
        }
        Brought::Columns(std, name) => match &schema.target {
            Some(TargetColumns::Actions(names)) => {
                let around = TargetAction::new(family(name)?, &one_each(std, names.len()))?;
                around.check_rows(&log.log)?;
                Arc::new(around)
            }
            _ => Arc::new(TargetDensity),
        },
    };
    policy.check_against(schema)?;
    Ok(policy)
}

fn family(name: &str) -> Result<Family> {
    let unknown = |_| Error::data(format!("there is no family {name:?}")).hint("normal, lognormal or gamma");
    serde_json::from_value(name.into()).map_err(unknown)
}

/// One std for all columns may be given once.
fn one_each(std: &[f64], columns: usize) -> Vec<f64> {
    if let [one] = std { vec![*one; columns] } else { std.to_vec() }
}

fn same_rows(given: usize, rows: usize) -> Result<()> {
    match given == rows {
        true => Ok(()),
        false => Err(Error::data(format!("the policy has {given} values, the log has {rows} rows"))
            .hint("one value for every row of the table, in its order")),
    }
}

/// Log densities at the logged actions, by row number; and perhaps densities in the middle of steps along the action.
struct InRows {
    logged: Vec<f64>,
    /// Edges of the steps, and row by row the density in each.
    steps: Option<(Vec<f64>, Vec<f64>)>,
}

/// Densities of steps must add up to 1 within this much: else the steps are too few, or do not reach far enough.
const MISSED: f64 = 0.02;

impl InRows {
    fn densities(values: &PyReadonlyArray1<f64>, rows: usize) -> Result<Self> {
        let logged: Vec<f64> = values.as_array().iter().copied().collect();
        same_rows(logged.len(), rows)?;
        match logged.iter().position(|v| v.is_nan() || *v == f64::INFINITY) {
            Some(i) => Err(Error::data(format!("a log density of {} is none", logged[i])).at(format!("row {}", i + 1))),
            None => Ok(InRows { logged, steps: None }),
        }
    }

    /// The law of a row by its steps; nothing where these do not hold it.
    fn law_of(&self, id: u64) -> Option<Law> {
        let (edges, densities) = self.steps.as_ref()?;
        let k = edges.len() - 1;
        let row = &densities[id as usize * k..(id as usize + 1) * k];
        let masses: Vec<f64> = row.iter().zip(edges.windows(2)).map(|(p, e)| p * (e[1] - e[0])).collect();
        let total: f64 = masses.iter().sum();
        let masses = masses.into_iter().map(|m| m / total).collect();
        ((total - 1.0).abs() < MISSED).then(|| Law::Steps { edges: edges.clone(), masses })
    }
}

impl TargetPolicy for InRows {
    fn log_density(&self, _x: &[f64], _a: &[f64]) -> f64 {
        f64::NAN
    }

    fn sample(&self, _x: &[f64], _rng: &mut dyn rand::Rng) -> Vec<f64> {
        Vec::new()
    }

    fn can_sample(&self) -> bool {
        false
    }

    fn log_densities(&self, block: &Block, out: &mut Vec<f64>) {
        out.clear();
        out.extend(block.ids.iter().map(|&id| self.logged[id as usize]));
    }

    fn masses_within(&self, block: &Block, low: &[f64], high: &[f64]) -> Option<Vec<f64>> {
        block.ids.iter().map(|&id| self.law_of(id).map(|law| law.mass_within(low, high))).collect()
    }

    fn laws(&self, block: &Block) -> Option<Vec<Law>> {
        block.ids.iter().map(|&id| self.law_of(id)).collect()
    }
}

/// A family around an action of its own in every row.
struct ActionsInRows {
    family: Family,
    std: Vec<f64>,
    rows: Vec<f64>,
}

impl ActionsInRows {
    fn law_of(&self, block: &Block, i: usize) -> Law {
        let (at, q) = (block.ids[i] as usize, self.std.len());
        Law::Family { family: self.family, mean: self.rows[at * q..(at + 1) * q].to_vec(), std: self.std.clone() }
    }
}

impl TargetPolicy for ActionsInRows {
    fn log_density(&self, _x: &[f64], _a: &[f64]) -> f64 {
        f64::NAN
    }

    fn sample(&self, _x: &[f64], _rng: &mut dyn rand::Rng) -> Vec<f64> {
        Vec::new()
    }

    fn can_sample(&self) -> bool {
        false
    }

    fn log_densities(&self, block: &Block, out: &mut Vec<f64>) {
        let q = self.std.len();
        let mean = |c: usize, i: usize| self.rows[block.ids[i] as usize * q + c];
        let one = |c: usize, i: usize| self.family.log_density(block.a[c][i], mean(c, i), self.std[c]).value;
        out.clear();
        out.extend((0..block.rows()).map(|i| (0..q).map(|c| one(c, i)).sum::<f64>()));
    }

    fn masses_within(&self, block: &Block, low: &[f64], high: &[f64]) -> Option<Vec<f64>> {
        Some((0..block.rows()).map(|i| self.law_of(block, i).mass_within(low, high)).collect())
    }

    fn laws(&self, block: &Block) -> Option<Vec<Law>> {
        Some((0..block.rows()).map(|i| self.law_of(block, i)).collect())
    }

    fn check_against(&self, schema: &Schema) -> Result<()> {
        match schema.actions.len() == self.std.len() {
            true => Ok(()),
            false => Err(Error::data(format!(
                "the policy has {} actions with a std, the log has {}",
                self.std.len(),
                schema.actions.len()
            ))
            .hint("one action and one std for each action column")),
        }
    }
}

/// The logging policy as a function, where one is given.
pub(crate) fn logging(policy: Option<&Policy>) -> PyResult<Option<counterpoint::Policy>> {
    let parametric = |p: &Policy| SavedPolicy::into_parametric((*p.saved).clone());
    Ok(policy.map(parametric).transpose().map_err(Fault::from)?)
}
