//! Policies that stand in columns of the log: their densities, or the actions they would take.
//!
//! Such a policy is known in the rows of the log and nowhere else, so it is asked block by block. It has no density at another
//! action and cannot be drawn from; everything that follows from importance weights works.

use super::{Family, Law, TargetPolicy};
use crate::data::{Block, Log, Schema, TargetColumns};
use crate::error::{Error, Hint, Remedy, Result};
use rand::Rng;

/// The policy whose density at the logged action stands in a column of the log ([`TargetColumns::Density`]).
///
/// ```
/// use counterpoint::policy::TargetDensity;
/// use counterpoint::{Estimator, Log, evaluate};
/// let log = Log::builder().action("a", vec![0.5, 1.0, 2.0]).cost("y", vec![1.0, 2.0, 6.0])
///     .propensity("p", vec![0.25; 3]).target_density("mine", vec![0.5, 0.25, 0.0]).build()?;
/// let e = evaluate(&log, &TargetDensity, &Estimator::SNIPS)?;
/// assert!((e.estimate - (2.0 * 1.0 + 1.0 * 2.0) / 3.0).abs() < 1e-12); // weights 2, 1 and 0
/// # Ok::<(), counterpoint::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TargetDensity;

impl TargetPolicy for TargetDensity {
    fn log_density(&self, _x: &[f64], _a: &[f64]) -> f64 {
        f64::NAN
    }

    fn sample(&self, _x: &[f64], _rng: &mut dyn Rng) -> Vec<f64> {
        Vec::new()
    }

    fn can_sample(&self) -> bool {
        false
    }

    fn log_densities(&self, block: &Block, out: &mut Vec<f64>) {
        out.clear();
        out.extend_from_slice(&block.target[0]);
    }

    fn check_against(&self, schema: &Schema) -> Result<()> {
        match &schema.target {
            Some(TargetColumns::Density(_)) => Ok(()),
            _ => Err(Error::data("the log has no column with the density of the target policy")
                .hint(Hint::from("name it with ") + Remedy::TargetDensity)),
        }
    }
}

/// The policy that acts around a column of the log ([`TargetColumns::Actions`]): a family with that mean, and a given std.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetAction {
    family: Family,
    std: Vec<f64>,
}

impl TargetAction {
    /// A member of the family around the actions in the log, with one std for each action column. An action alone, without
    /// noise, has no density and no importance weight.
    pub fn new(family: Family, std: &[f64]) -> Result<Self> {
        match std.iter().find(|s| !(s.is_finite() && **s > 0.0)) {
            Some(s) => Err(Error::policy(format!("a std of {s} around the target action (must be > 0)")).hint(
                "a policy without noise cannot be weighed; a small share of the std of the logged actions is usual",
            )),
            None => Ok(TargetAction { family, std: std.to_vec() }),
        }
    }

    /// Refuses rows in which the action of the target policy is none that its family has: a log-normal one is positive.
    pub fn check_rows(&self, log: &Log) -> Result<()> {
        let names = log.schema().target.as_ref().map(TargetColumns::names).unwrap_or_default();
        for b in log.blocks() {
            for (column, name) in b.target.iter().zip(names) {
                if let Some(i) = column.iter().position(|t| !self.family.support().holds(*t)) {
                    return Err(Error::data(format!("the target action {} {}", column[i], self.family.complaint()))
                        .at(format!("row {}, column {name:?}", b.ids[i] + 1))
                        .hint("choose the normal family, or correct the column"));
                }
            }
        }
        Ok(())
    }

    fn law_of(&self, block: &Block, i: usize) -> Law {
        Law::Family { family: self.family, mean: block.target.iter().map(|t| t[i]).collect(), std: self.std.clone() }
    }
}

impl TargetPolicy for TargetAction {
    fn log_density(&self, _x: &[f64], _a: &[f64]) -> f64 {
        f64::NAN
    }

    fn sample(&self, _x: &[f64], _rng: &mut dyn Rng) -> Vec<f64> {
        Vec::new()
    }

    fn can_sample(&self) -> bool {
        false
    }

    fn log_densities(&self, block: &Block, out: &mut Vec<f64>) {
        let one = |c: usize, i: usize| self.family.log_density(block.a[c][i], block.target[c][i], self.std[c]).value;
        out.clear();
        out.extend((0..block.rows()).map(|i| (0..self.std.len()).map(|c| one(c, i)).sum::<f64>()));
    }

    fn means(&self, block: &Block) -> Option<Vec<f64>> {
        Some((0..block.rows()).flat_map(|i| block.target.iter().map(move |t| t[i])).collect())
    }

    fn masses_within(&self, block: &Block, low: &[f64], high: &[f64]) -> Option<Vec<f64>> {
        Some((0..block.rows()).map(|i| self.law_of(block, i).mass_within(low, high)).collect())
    }

    fn laws(&self, block: &Block) -> Option<Vec<Law>> {
        Some((0..block.rows()).map(|i| self.law_of(block, i)).collect())
    }

    fn check_against(&self, schema: &Schema) -> Result<()> {
        let (q, stds) = (schema.actions.len(), self.std.len());
        match &schema.target {
            Some(TargetColumns::Actions(names)) if names.len() == q && stds == q => Ok(()),
            Some(TargetColumns::Actions(names)) => Err(Error::policy(format!(
                "it has {} columns of actions and {stds} stds, the log has {q} action columns",
                names.len()
            ))
            .hint("name one target action and one std for each action column, in their order")),
            _ => Err(Error::data("the log has no column with the action of the target policy")
                .hint(Hint::from("name it with ") + Remedy::TargetAction)),
        }
    }
}
