//! A confidence sequence: an interval that may be looked at after every row, and acted on whenever one likes.

use crate::error::{Error, Result};
use crate::estimate::Mixture;
use serde::{Deserialize, Serialize};

/// Follows the value of a policy and its difference to the log, row by row, by the [mixture of logarithms](Mixture).
///
/// With costs in [lo, hi], R = hi - lo, z = hi - y and z' = y - lo, the terms
///
/// ```text
/// w z,  w z'                       with the means hi - L and L - lo
/// (w - 1) z + R,  (w - 1) z' + R   with the means R - (L - L0) and R + (L - L0)
/// ```
///
/// are never negative, so that each has a lower bound that holds at all moments together: L and L - L0 are enclosed from both
/// sides with probability 1 - alpha, however long one looks and for whatever reason one stops. Weights need no cap. The order of the
/// rows does not matter, and monitors of disjoint rows [merge](Monitor::merge). Mass that no logged action shows counts as the
/// worst outcome on either side.
///
/// It needs a range: costs in [lo, hi], known beforehand; a cost outside is refused. To follow a policy that is already
/// deployed, every weight is 1.
///
/// ```
/// use counterpoint::certify::Monitor;
/// let mut monitor = Monitor::new(0.95, [0.0, 1.0])?;
/// for t in 0..2000 {
///     monitor.update(1.0, if t % 4 == 0 { 1.0 } else { 0.0 })?;
/// }
/// let (lower, upper) = monitor.interval();
/// assert!(0.18 < lower && lower < 0.25 && 0.25 < upper && upper < 0.32);
/// # Ok::<(), counterpoint::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Monitor {
    alpha: f64,
    range: [f64; 2],
    /// Terms with the means hi - L, L - lo, R - (L - L0), R + (L - L0).
    terms: [Mixture; 4],
}

impl Monitor {
    /// A monitor at this confidence for costs in `cost_range`.
    pub fn new(confidence: f64, cost_range: [f64; 2]) -> Result<Self> {
        let [lo, hi] = cost_range;
        if !(confidence > 0.0 && confidence < 1.0) {
            return Err(Error::recipe("monitor.confidence", format!("{confidence} must lie between 0 and 1")));
        }
        if !(lo.is_finite() && hi.is_finite() && lo < hi) {
            return Err(Error::recipe("monitor.cost_range", format!("[{lo}, {hi}] is not a range")));
        }
        let terms = std::array::from_fn(|_| Mixture::new(hi - lo));
        Ok(Monitor { alpha: 1.0 - confidence, range: cost_range, terms })
    }

    /// Takes in one row and returns the interval of the policy's cost.
    pub fn update(&mut self, w: f64, y: f64) -> Result<(f64, f64)> {
        let [lo, hi] = self.range;
        if !(lo..=hi).contains(&y) {
            return Err(Error::data(format!("a cost of {y} lies outside the range [{lo}, {hi}] of the monitor"))
                .hint("the range must hold every cost that can happen; start again with a wider one"));
        }
        if !(w >= 0.0 && w.is_finite()) {
            return Err(Error::data(format!("{w} is not a weight (must be >= 0)")));
        }
        self.terms.iter_mut().zip(Mixture::terms(w, y, self.range)).for_each(|(m, t)| m.add(t));
        Ok(self.interval())
    }

    /// Takes in the rows of another monitor of the same terms.
    pub fn merge(&mut self, other: &Monitor) -> Result<()> {
        if !self.agrees_with(other) {
            return Err(Error::data("monitors of another confidence or range do not add up"));
        }
        self.terms.iter_mut().zip(&other.terms).for_each(|(a, b)| a.merge(b));
        Ok(())
    }

    /// Takes in rows that were added up elsewhere; their costs lie in the range.
    pub(super) fn absorb(&mut self, rows: &[Mixture; 4]) {
        self.terms.iter_mut().zip(rows).for_each(|(a, b)| a.merge(b));
    }

    /// The range of the costs.
    pub(super) fn cost_range(&self) -> [f64; 2] {
        self.range
    }

    /// Whether another has the same confidence and range.
    pub(super) fn agrees_with(&self, other: &Monitor) -> bool {
        (self.alpha, self.range) == (other.alpha, other.range)
    }

    /// Whether rows could have made these sums.
    pub(super) fn is_sound(&self) -> bool {
        let [lo, hi] = self.range;
        let range = lo.is_finite() && hi.is_finite() && lo < hi;
        let rows = self.terms.iter().all(|m| m.rows() == self.terms[0].rows());
        range && self.alpha > 0.0 && self.alpha < 1.0 && rows && self.terms.iter().all(|m| m.is_sound(hi - lo))
    }

    /// The interval of the policy's cost as it stands.
    pub fn interval(&self) -> (f64, f64) {
        let [lo, hi] = self.range;
        let [above, below, ..] = self.terms.each_ref().map(|m| m.lower(0.5 * self.alpha));
        ((lo + below).min(hi), (hi - above).max(lo))
    }

    /// The interval of the policy's cost less that of the log: below 0, the policy is better.
    pub fn difference(&self) -> (f64, f64) {
        let range = self.range[1] - self.range[0];
        let [.., less, more] = self.terms.each_ref().map(|m| m.lower(0.5 * self.alpha));
        (more - range, range - less)
    }

    /// Rows seen.
    pub fn rows(&self) -> u64 {
        self.terms[0].rows() as u64
    }
}
