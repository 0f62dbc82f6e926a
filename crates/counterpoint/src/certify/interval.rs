//! Intervals from sums: studentised, percentile, normal.

use super::terms::{Method, Terms};
use crate::data::Outcome;
use crate::folds::{Moments, Replicates};
use crate::math::{self, erfc, erfc_inv, student_quantile};
use serde::{Deserialize, Serialize};
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
    /// The normal interval: the estimate and z standard errors either side, where the standard normal lies within z with
    /// probability `confidence`.
    ///
    /// ```
    /// use counterpoint::certify::Interval;
    /// let i = Interval::around(1.0, 0.5, 0.95);
    /// assert!((i.upper - (1.0 + 0.5 * 1.959964)).abs() < 1e-6 && (i.lower + i.upper - 2.0).abs() < 1e-12);
    /// ```
    pub fn around(estimate: f64, std_error: f64, confidence: f64) -> Self {
        let half = SQRT_2 * erfc_inv(1.0 - confidence) * std_error;
        Interval { estimate, std_error, lower: estimate - half, upper: estimate + half }
    }

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

    /// The same with ends further out.
    pub(super) fn widened(self, below: f64, above: f64) -> Self {
        Interval { lower: self.lower - below, upper: self.upper + above, ..self }
    }

    /// The same, so many times as wide.
    pub(super) fn stretched(self, times: f64) -> Self {
        let at = |end: f64| if end.is_finite() { self.estimate + times * (end - self.estimate) } else { end };
        Interval { lower: at(self.lower), upper: at(self.upper), ..self }
    }

    /// The ends if the standard error is at least this: where no event fell on a heavy row, influence functions are blind to what one would do.
    pub(super) fn ends_with(&self, error: f64) -> [f64; 2] {
        let blind = if self.std_error > 0.0 { (error / self.std_error).max(1.0) } else { 1.0 };
        let i = self.stretched(blind);
        [i.lower, i.upper]
    }

    pub(super) fn shifted(self, by: f64) -> Self {
        let Interval { estimate, std_error, lower, upper } = self;
        Interval { estimate: estimate + by, std_error, lower: lower + by, upper: upper + by }
    }

    pub(super) fn normal((estimate, std_error): (f64, f64), terms: &Terms) -> Self {
        let half = normal_quantile(terms) * std_error;
        Interval { estimate, std_error, lower: estimate - half, upper: estimate + half }
    }
}

/// A figure of the sums: an estimate and its standard error.
pub(super) type Figure = fn(&Moments) -> (f64, f64);

/// z of the terms: the standard normal leaves delta / 2 beyond it.
pub(super) fn normal_quantile(terms: &Terms) -> f64 {
    SQRT_2 * erfc_inv(2.0 * terms.tail())
}

/// Degrees of freedom from which Student's law is taken for the normal one.
const NORMAL: f64 = 1e6;

/// How much further Student's law with these degrees of freedom reaches than the normal one.
///
/// A standard error from few rows is uncertain itself; the bootstrap draws from those rows and hides it. With r the
/// relative variance of se^2, a chi-square of 2 / r degrees varies as much (Satterthwaite 1946).
pub(super) fn stretch(freedom: f64, terms: &Terms) -> f64 {
    if freedom < NORMAL {
        (student_quantile(terms.tail(), freedom.max(1.0)) / normal_quantile(terms)).max(1.0)
    } else {
        1.0
    }
}

/// How likely Student's law with these degrees of freedom lies below t.
fn student(t: f64, freedom: f64) -> f64 {
    if freedom < NORMAL { math::student(t, freedom.max(1.0)) } else { 0.5 * erfc(-t * FRAC_1_SQRT_2) }
}

/// A figure with its interval, and how likely so low an estimate would be if the truth were 0 (one-sided). Its standard error under that
/// hypothesis is at least `null`.
pub(super) fn interval(sums: &Replicates, figure: Figure, freedom: f64, null: f64, terms: &Terms) -> (Interval, f64) {
    let own = figure(&sums.own);
    let (estimate, std_error) = own;
    let under = std_error.max(null);
    let k = terms.rank();
    match terms.interval {
        Method::Normal => {
            let stretch = stretch(freedom, terms);
            let t = if std_error > 0.0 { estimate / under } else { 0.0 };
            (Interval { std_error, ..Interval::normal((estimate, stretch * std_error), terms) }, student(t, freedom))
        }
        Method::Percentile => {
            let mut t: Vec<f64> = (0..terms.bootstrap).map(|b| figure(&sums.replicate(b)).0).collect();
            let p = p_value(t.iter().filter(|t| t.is_nan() || **t >= 0.0).count(), terms.bootstrap);
            // a replicate without weight says nothing: it counts against both ends
            let [lower, upper] = ends(&mut t, k);
            (Interval { estimate, std_error, lower, upper }, p)
        }
        Method::BootstrapT => {
            let mut t = studentised(sums, figure, terms.bootstrap);
            let stretch = stretch(freedom, terms);
            let se = stretch * std_error;
            let observed = estimate / (stretch * under);
            let p = p_value(t.iter().filter(|t| t.is_nan() || **t <= observed).count(), terms.bootstrap);
            let [low, high] = ends(&mut t, k);
            // replicates that say nothing leave an end open, also where the rows' own error is 0
            let reach = |q: f64| if q.is_finite() { q * se } else { q };
            let interval =
                Interval { estimate, std_error, lower: estimate - reach(high), upper: estimate - reach(low) };
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
    use crate::certify::certify_scored;
    use crate::engine::Engine;
    use crate::folds::Scored;

    #[test]
    fn few_degrees_of_freedom_reach_further() {
        let terms = Terms::default();
        // Student's .975 quantiles: 12.7062, 4.30265, 2.22814, 2.00856; the normal one: 1.95996
        for (freedom, t) in [(0.2, 12.7062), (1.0, 12.7062), (2.0, 4.30265), (10.0, 2.22814), (50.0, 2.00856)] {
            assert!((stretch(freedom, &terms) - t / 1.95996).abs() < 1e-4, "{freedom}");
        }
        assert!((stretch(1e5, &terms) - 1.0).abs() < 2e-5);
        assert_eq!(stretch(f64::INFINITY, &terms), 1.0);
    }

    #[test]
    fn replicates_without_weight_leave_an_open_interval_not_a_nan() {
        // one row carries all the weight: the error of the estimate is 0, and a third of the replicates miss that row
        let column = |log_w: f64| vec![log_w, -700.0, -700.0];
        let part = |first| [Scored::from_columns(first, column(0.0), vec![1.0, 0.0, 2.0])];
        let (valid, test) = (part(0), part(3));
        let terms = Terms { bootstrap: 99, ..Terms::default() };
        let c = certify_scored(&Engine::single(), &valid, &test, &terms, Outcome::Cost).unwrap();
        assert_eq!(c.value.std_error, 0.0);
        for i in [c.logged, c.value, c.difference] {
            assert!(i.lower <= i.estimate && i.estimate <= i.upper, "{i:?}");
        }
    }

    #[test]
    fn an_error_that_is_blind_does_not_draw_ends_nearer() {
        let i = Interval { estimate: 1.0, std_error: 0.5, lower: 0.0, upper: 3.0 };
        assert_eq!(i.ends_with(0.1), [0.0, 3.0]);
        assert_eq!(i.ends_with(1.0), [-1.0, 5.0]);
        assert_eq!(Interval { std_error: 0.0, ..i }.ends_with(1.0), [0.0, 3.0]);
    }

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
