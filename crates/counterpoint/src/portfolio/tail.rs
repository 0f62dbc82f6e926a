//! The mean of the worst outcomes as the objective.
//!
//! ```text
//! CVaR_t(y) = min over eta of eta + E (y - eta)_+ / t      the mean of the worst share t of the costs, eta their quantile
//! ```
//!
//! For a fixed eta this is the mean of another cost, so everything that finds a policy for a mean finds one for it. The eta of the
//! policy that is found is another than that of the log: it is searched again with that one, until it stays or is no better. (Rockafellar
//! and Uryasev 2000.)

use super::table::Table;

/// Searches at most, each with the threshold of the policy that was found before.
pub(super) const ROUNDS: usize = 3;

/// A threshold that moves by less than this, in standard deviations of the cost, stays.
pub(super) const STAYS: f64 = 0.05;

/// The worst share of the costs under weights: threshold, and the mean of what is worse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tail {
    pub(super) eta: f64,
    pub(super) cvar: f64,
}

impl Tail {
    /// Of costs with weights >= 0 that are not all 0.
    pub(super) fn of(costs: &[f64], weights: &[f64], share: f64) -> Tail {
        let mut order: Vec<usize> = (0..costs.len()).collect();
        order.sort_by(|&i, &j| costs[j].total_cmp(&costs[i]));
        let total: f64 = order.iter().map(|&i| weights[i]).sum();
        let (mut mass, mut sum, mut eta) = (0.0, 0.0, costs[order[0]]);
        for &i in &order {
            // the row at the threshold counts in part
            let part = weights[i].min(share * total - mass);
            if part <= 0.0 {
                break;
            }
            (mass, sum, eta) = (mass + part, sum + part * costs[i], costs[i]);
        }
        Tail { eta, cvar: sum / mass }
    }

    /// A threshold that some costs lie above: the largest cost itself says nothing.
    pub(super) fn threshold(&self, costs: &[f64]) -> f64 {
        let most = costs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if self.eta < most {
            return self.eta;
        }
        costs.iter().copied().filter(|c| *c < most).fold(f64::NEG_INFINITY, f64::max)
    }
}

/// The rows with eta + (y - eta)_+ / t as their cost.
pub(super) fn above(table: &Table, costs: &[f64], eta: f64, share: f64) -> Table {
    table.with_costs(&costs.iter().map(|y| eta + (y - eta).max(0.0) / share).collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_least_of_its_objective() {
        let u = |i: usize, k: f64| (i as f64 * k).fract();
        let costs: Vec<f64> = (0..400).map(|i| (5.0 * u(i, 0.618_033_98)).exp()).collect();
        let weights: Vec<f64> = (0..400).map(|i| 2.0 * u(i, 0.754_877_66)).collect();
        let total: f64 = weights.iter().sum();
        for share in [0.05, 0.1, 0.5] {
            let tail = Tail::of(&costs, &weights, share);
            let objective = |eta: f64| {
                let above: f64 = costs.iter().zip(&weights).map(|(c, w)| w * (c - eta).max(0.0)).sum();
                eta + above / total / share
            };
            assert!((objective(tail.eta) - tail.cvar).abs() < 1e-9, "{share}");
            let least = costs.iter().map(|c| objective(*c)).fold(f64::INFINITY, f64::min);
            assert!((least - tail.cvar).abs() < 1e-9, "{share}: {least} {}", tail.cvar);
        }
    }

    #[test]
    fn a_threshold_leaves_something_above_it() {
        let costs = [0.0, 0.0, 1.0, 1.0, 1.0];
        let tail = Tail::of(&costs, &[1.0; 5], 0.2);
        assert_eq!((tail.eta, tail.cvar, tail.threshold(&costs)), (1.0, 1.0, 0.0));
    }
}
