//! Scaling of contexts, learned on the train part and kept in the policy.
//!
//! x becomes (x - shift) / unit, column by column. A column that does not vary keeps unit 1: it becomes the constant
//! 0 and says nothing, which is all it can say; [`Scaler::silent`] lists such columns so that a report can.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// How contexts are brought to a common scale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Subtract the mean, divide by the standard deviation.
    #[default]
    Standard,
    /// Map the observed range to [0, 1].
    MinMax,
    /// Leave contexts as they are.
    None,
}

/// A learned scaling, one shift and unit a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaler {
    /// What is subtracted.
    pub shift: Vec<f64>,
    /// What is divided by; never 0.
    pub unit: Vec<f64>,
}

/// So many units from the middle a context is unlike any that was learned from.
const FAR: f64 = 20.0;

impl Scaler {
    /// The scaling that does nothing to `d` columns.
    pub fn identity(d: usize) -> Self {
        Scaler { shift: vec![0.0; d], unit: vec![1.0; d] }
    }

    /// Learns the scaling from per-column summaries.
    pub fn learn(kind: Scale, columns: &[crate::data::Summary]) -> Self {
        let mut out = Self::identity(columns.len());
        for (j, c) in columns.iter().enumerate() {
            let (shift, unit) = match kind {
                Scale::Standard => (c.mean(), c.std()),
                Scale::MinMax => (c.min, c.max - c.min),
                Scale::None => (0.0, 1.0),
            };
            // relative to the size of the entries: a constant column has a std of rounding errors, not of 0
            let varies = kind == Scale::None || unit > 1e-12 * c.min.abs().max(c.max.abs());
            out.shift[j] = shift;
            out.unit[j] = if varies { unit } else { 1.0 };
        }
        out
    }

    /// Refuses a scaling that does not fit `d` columns, holds a number that is not finite, or divides by 0.
    pub fn check(&self, d: usize) -> Result<()> {
        if self.shift.len() != d || self.unit.len() != d {
            return Err(Error::policy(format!("the scaling has {} columns for {d} contexts", self.shift.len())));
        }
        let usable = |j: &usize| self.shift[*j].is_finite() && self.unit[*j].is_finite() && self.unit[*j] != 0.0;
        match (0..d).find(|j| !usable(j)) {
            Some(j) => {
                let (shift, unit) = (self.shift[j], self.unit[j]);
                Err(Error::policy(format!("the scaling of context {j} is {shift} and {unit} (unit must not be 0)")))
            }
            None => Ok(()),
        }
    }

    /// Whether it leaves contexts as they are, so that nothing is known of where they lay.
    pub fn is_identity(&self) -> bool {
        self.shift.iter().all(|s| *s == 0.0) && self.unit.iter().all(|u| *u == 1.0)
    }

    /// Of some contexts the one that lies farthest from where the scaling was learned, if that is more than 20 units: standard
    /// deviations, or ranges.
    pub fn far(&self, x: &[f64], among: &[usize]) -> Option<usize> {
        let away = |j: usize| ((x[j] - self.shift[j]) / self.unit[j]).abs();
        among.iter().copied().max_by(|&i, &j| away(i).total_cmp(&away(j))).filter(|&j| away(j) > FAR)
    }

    /// Scales one row in place.
    pub fn apply(&self, x: &mut [f64]) {
        for j in 0..x.len() {
            x[j] = (x[j] - self.shift[j]) / self.unit[j];
        }
    }

    /// Columns that did not vary where the scaling was learned.
    pub fn silent(kind: Scale, columns: &[crate::data::Summary]) -> Vec<usize> {
        let varies = |c: &crate::data::Summary| c.std() > 1e-12 * c.min.abs().max(c.max.abs());
        if kind == Scale::None {
            return Vec::new();
        }
        (0..columns.len()).filter(|&j| !varies(&columns[j])).collect()
    }
}
