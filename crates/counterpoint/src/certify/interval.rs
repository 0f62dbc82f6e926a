//! Intervals from sums: studentised, percentile, normal.

use super::terms::{Method, Terms};
use crate::data::Outcome;
use crate::folds::{Moments, Replicates};
use serde::{Deserialize, Serialize};
use statrs::function::erf::{erfc, erfc_inv};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// An estimate with its interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The estimate.
    pub estimate: f64,
    /// Its standard error, from the influence function.
    pub std_error: f64,
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

impl Interval {
    /// Whether a value lies in the interval.
    pub fn holds(&self, value: f64) -> bool {
        self.lower <= value && value <= self.upper
    }

    /// The same on the user's scale: rewards are negative costs, so their ends change places.
    #[must_use]
    pub fn to_user(self, direction: Outcome) -> Self {
        match direction {
            Outcome::Cost => self,
            Outcome::Reward => Interval { estimate: -self.estimate, lower: -self.upper, upper: -self.lower, ..self },
        }
    }

    pub(super) fn shifted(self, by: f64) -> Self {
        let Interval { estimate, std_error, lower, upper } = self;
        Interval { estimate: estimate + by, std_error, lower: lower + by, upper: upper + by }
    }

    pub(super) fn normal((estimate, std_error): (f64, f64), terms: &Terms) -> Self {
        let half = SQRT_2 * erfc_inv(2.0 * terms.tail()) * std_error;
        Interval { estimate, std_error, lower: estimate - half, upper: estimate + half }
    }
}

/// A figure of the sums: an estimate and its standard error.
pub(super) type Figure = fn(&Moments) -> (f64, f64);

/// A figure with its interval, and how likely so low an estimate would be if the truth were `null` (one-sided).
pub(super) fn interval(sums: &Replicates, figure: Figure, null: f64, terms: &Terms) -> (Interval, f64) {
    let own = figure(&sums.own);
    let (estimate, std_error) = own;
    let k = terms.rank();
    match terms.interval {
        Method::Normal => {
            let z = if std_error > 0.0 { (estimate - null) / std_error } else { 0.0 };
            (Interval::normal(own, terms), 0.5 * erfc(-z * FRAC_1_SQRT_2))
        }
        Method::Percentile => {
            let mut t: Vec<f64> = (0..terms.bootstrap).map(|b| figure(&sums.replicate(b)).0).collect();
            let p = p_value(t.iter().filter(|t| t.is_nan() || **t >= null).count(), terms.bootstrap);
            // a replicate without weight says nothing: it counts against both ends
            let [lower, upper] = ends(&mut t, k);
            (Interval { estimate, std_error, lower, upper }, p)
        }
        Method::BootstrapT => {
            let mut t = studentised(sums, figure, terms.bootstrap);
            let observed = (estimate - null) / std_error;
            let p = p_value(t.iter().filter(|t| t.is_nan() || **t <= observed).count(), terms.bootstrap);
            let [low, high] = ends(&mut t, k);
            let interval =
                Interval { estimate, std_error, lower: estimate - high * std_error, upper: estimate - low * std_error };
            (interval, if std_error > 0.0 { p } else { 1.0 })
        }
    }
}

/// (T* - T) / se* of every replicate; not a number where a replicate has no weight.
pub(super) fn studentised(sums: &Replicates, figure: Figure, replicates: usize) -> Vec<f64> {
    let (estimate, _) = figure(&sums.own);
    (0..replicates)
        .map(|b| {
            let (t, se) = figure(&sums.replicate(b));
            if t == estimate { 0.0 } else { (t - estimate) / se }
        })
        .collect()
}

/// Of B replicates, `beyond` are at least as extreme as what was seen.
pub(super) fn p_value(beyond: usize, replicates: usize) -> f64 {
    (1 + beyond) as f64 / (replicates + 1) as f64
}

/// The k-th smallest and the k-th largest; a value that is not a number is the most extreme on both sides.
fn ends(t: &mut [f64], k: usize) -> [f64; 2] {
    let lost = t.iter().filter(|t| t.is_nan()).count();
    if k == 0 || lost >= k || t.len() < 2 * k {
        return [f64::NEG_INFINITY, f64::INFINITY];
    }
    t.sort_by(f64::total_cmp); // numbers that are none stand at the ends
    let numbers: Vec<f64> = t.iter().copied().filter(|t| !t.is_nan()).collect();
    let at = k - lost - 1;
    [numbers[at], numbers[numbers.len() - 1 - at]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_leave_k_minus_one_values_out_on_each_side() {
        let mut t: Vec<f64> = (1..=99).rev().map(f64::from).collect();
        assert_eq!(ends(&mut t, 1), [1.0, 99.0]);
        assert_eq!(ends(&mut t, 5), [5.0, 95.0]);
        t[3] = f64::NAN;
        t[50] = f64::NAN; // both count on each side; 4 and 51 are gone
        assert_eq!(ends(&mut t, 5), [3.0, 97.0]);
        assert_eq!(ends(&mut t, 2), [f64::NEG_INFINITY, f64::INFINITY]);
    }
}
