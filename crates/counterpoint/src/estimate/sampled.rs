//! The sums of an estimator over rows with sampling weights: once with the weights, once with their squares.

use super::Normalise;
use super::moments::not_below_zero;
use super::sums::Sums;
use serde::{Deserialize, Serialize};

/// Sums over rows that count s times in a mean and s^2 times in a variance ([`Weighting::Sampling`](crate::data::Weighting)).
///
/// With the influence psi of a row on the risk,
///
/// ```text
/// ByRows      psi = t - mean t
/// ByWeights   psi = (t - R v) / (mean v) + g - mean g,   R = sum s t / sum s v
/// ```
///
/// the standard error is sqrt(sum s^2 psi^2) / sum s: the unit of s cancels, and rows that stand for many do not pass for many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SampledSums {
    /// With the weights.
    pub sums: Sums,
    /// With their squares.
    pub squares: Sums,
}

impl SampledSums {
    /// The standard error of the risk.
    pub fn std_error(&self, normalise: Normalise) -> f64 {
        let (a, b) = (&self.sums, &self.squares);
        match normalise {
            Normalise::ByRows => self.error_of_mean(a.t / a.n, [b.n, b.t, b.tt]),
            Normalise::ByWeights => {
                let (r, f, g) = (a.t / a.v, a.n / a.v, a.g / a.n);
                let weighted = b.tt - 2.0 * r * b.tv + r * r * b.vv;
                let model = b.gg - 2.0 * g * b.g + g * g * b.n;
                let cross = (b.tg - r * b.vg) - g * (b.t - r * b.v);
                not_below_zero(f * f * weighted + model + 2.0 * f * cross).sqrt() / a.n
            }
        }
    }

    /// (sum s v)^2 / sum s^2 v^2
    pub fn effective(&self) -> f64 {
        if self.squares.vv > 0.0 { self.sums.v * self.sums.v / self.squares.vv } else { 0.0 }
    }

    /// The standard error of the mean cost of the rows themselves.
    pub fn logged_error(&self) -> f64 {
        let b = &self.squares;
        self.error_of_mean(self.sums.y / self.sums.n, [b.n, b.y, b.yy])
    }

    /// sqrt(sum s^2 (f - mean)^2) / sum s, from the sums of s^2, s^2 f and s^2 f^2.
    fn error_of_mean(&self, mean: f64, [s0, s1, s2]: [f64; 3]) -> f64 {
        not_below_zero(s2 - 2.0 * mean * s1 + mean * mean * s0).sqrt() / self.sums.n
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::{PerTerm, Term};

    /// Rows (s, v, t, g, y), and every error as a sum of squared influences.
    #[test]
    fn errors_are_sums_of_squared_influences_in_any_unit() {
        let rows = [(1.0, 0.4, 0.8, 0.1, 2.0), (3.0, 1.9, -1.9, -0.2, -1.0), (0.5, 3.0, 2.4, 0.7, 0.8)];
        let of = |unit: f64, power: i32| {
            let mut sums = Sums::default();
            for (s, v, t, g, y) in rows {
                let mut terms = PerTerm::default();
                (terms[Term::T], terms[Term::V], terms[Term::G]) = (t, v, g);
                sums.add(&terms, y, f64::powi(s * unit, power));
            }
            sums
        };
        let sum = |f: &dyn Fn((f64, f64, f64, f64, f64)) -> f64| rows.iter().map(|r| f(*r)).sum::<f64>();
        let n = sum(&|(s, ..)| s);
        let mean = |f: &dyn Fn((f64, f64, f64, f64, f64)) -> f64| sum(&|r| r.0 * f(r)) / n;
        let (t, v, g, y) = (mean(&|r| r.2), mean(&|r| r.1), mean(&|r| r.3), mean(&|r| r.4));
        let error = |psi: &dyn Fn((f64, f64, f64, f64, f64)) -> f64| sum(&|r| (r.0 * psi(r)).powi(2)).sqrt() / n;
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        for unit in [1.0, 100.0, 1e-3] {
            let sampled = SampledSums { sums: of(unit, 1), squares: of(unit, 2) };
            close(sampled.std_error(Normalise::ByRows), error(&|r| r.2 - t));
            close(sampled.std_error(Normalise::ByWeights), error(&|r| (r.2 - t / v * r.1) / v + r.3 - g));
            close(sampled.logged_error(), error(&|r| r.4 - y));
            close(sampled.effective(), (n * v).powi(2) / sum(&|r| (r.0 * r.1).powi(2)));
        }
    }
}
