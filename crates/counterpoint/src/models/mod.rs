//! [models/] What will a cost be, given the context and the action?
//!
//! Regressions of the cost on (context, action), for greedy policies and for the model part of doubly robust estimates:
//! boosted trees on both ([`Trees`]), boosted trees on the contexts whose leaves are smooth functions of the action
//! ([`ActionTrees`]), curves of the distance to one number made of the contexts ([`Index`]), a small network ([`CostNetwork`]), and boosted trees around its best
//! action ([`Recentred`]); and trees that descend a policy's own objective
//! ([`Boosted`]). Each is a pure function of rows in memory, options and a seed.
//!
//! Two decisions are shared. Rows are put in an order of their own, by a seeded hash of what they hold (`order`), so that
//! the order in which they come does not matter, nor do units: what is hashed and fitted has none. And no sum depends on
//! threads or on the instruction set: histograms are shared out by features, and the network's sums have a fixed number
//! of lanes.

mod action;
mod basis;
mod bins;
mod boost;
mod cost;
mod forest;
mod grow;
mod index;
mod levels;
mod masks;
mod network;
mod order;
mod predicted;
mod recentred;
mod ridge;
mod rounds;
#[cfg(test)]
mod tests;
mod trees;

pub use action::ActionTrees;
pub use boost::{BoostOptions, Boosted, Objective, Watched};
pub use cost::{CostModel, Regressor};
pub use index::Index;
pub(crate) use index::IndexChoice;
pub use network::{Activation, CostNetwork, NetworkOptions};
pub use predicted::Predicted;
pub use recentred::Recentred;
pub use ridge::Ridge;
pub(crate) use ridge::{ContextShape, Shape, cross_validate};
pub use trees::{TreeOptions, Trees};

use crate::error::{Error, Result};

/// Rows of a regression of costs on contexts and one action.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Contexts per row.
    pub d: usize,
    /// Contexts, row by row; NaN is a missing value.
    pub x: &'a [f64],
    /// Actions.
    pub a: &'a [f64],
    /// Costs.
    pub y: &'a [f64],
    /// Weights of the rows, >= 0; rows of weight 0 are passed over.
    pub omega: &'a [f64],
}

impl<'a> Rows<'a> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.y.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.y.is_empty()
    }

    /// The contexts of row i.
    pub(crate) fn context(&self, i: usize) -> &'a [f64] {
        &self.x[i * self.d..(i + 1) * self.d]
    }

    /// Lengths agree, and actions, costs and weights are numbers.
    fn check(&self) -> Result<()> {
        let n = self.len();
        let lengths =
            [("contexts", self.x.len(), n * self.d), ("actions", self.a.len(), n), ("weights", self.omega.len(), n)];
        for (what, is, should) in lengths {
            if is != should {
                return Err(
                    Error::data(format!("{is} {what} for {n} costs (must be {should})")).at("rows of a cost model")
                );
            }
        }
        for (what, column) in [("action", self.a), ("cost", self.y), ("weight", self.omega)] {
            if let Some(i) = column.iter().position(|v| !v.is_finite()) {
                return Err(
                    Error::data(format!("the {what} is {}, not a finite number", column[i])).at(format!("row {i}"))
                );
            }
        }
        if let Some(i) = self.omega.iter().position(|w| *w < 0.0) {
            return Err(Error::data(format!("the weight is {}, below 0", self.omega[i])).at(format!("row {i}")));
        }
        if !self.omega.iter().any(|w| *w > 0.0) {
            return Err(Error::data("no row has a positive weight").at("rows of a cost model"));
        }
        Ok(())
    }
}

/// Refuses options outside their ranges: (name, value, least, most).
fn within(ranges: &[(&str, f64, f64, f64)]) -> Result<()> {
    match ranges.iter().find(|(_, v, low, high)| !(low..=high).contains(&v)) {
        Some((name, v, low, high)) => Err(Error::recipe(name, format!("{v} is not between {low} and {high}"))),
        None => Ok(()),
    }
}
