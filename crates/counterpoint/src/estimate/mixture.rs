//! Bounds for means of nonnegative terms that hold for any number of rows, at every moment: the mixture of logarithms.

use crate::math;
use serde::{Deserialize, Serialize};

/// Bets that are mixed.
const BETS: usize = 16;

/// Logarithms of wealth: for terms Y >= 0 with mean v, and bets l_k = 2^-12 .. 2^3 over the scale R of the terms,
///
/// ```text
/// S_k = sum ln(1 + l_k Y_i),      M(v) = (1/K) sum_k exp(S_k - n ln(1 + l_k v))
/// ```
///
/// M at the true mean is a martingale that starts at 1 and never falls below 0: ln(1 + l Y) - ln(1 + l v) is the logarithm of a
/// factor with mean 1. By Ville's inequality it ever reaches 1/delta with probability at most delta. So the v with M(v) = 1/delta
/// is a lower bound of the mean at all moments together, whatever the tail of the terms, in whatever order the rows come;
/// and the sums of two sets of rows add up. (Sakhi et al. 2024 smooth importance weights by a logarithm; this is the martingale
/// behind it, mixed over the bets so that none has to be chosen.)
///
/// ```
/// use counterpoint::estimate::Mixture;
/// let mut m = Mixture::new(1.0);
/// for i in 0..2000 {
///     m.add(if i % 4 == 0 { 1.0 } else { 0.0 });
/// }
/// let bound = m.lower(0.025);
/// assert!(0.21 < bound && bound < 0.25);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mixture {
    scale: f64,
    rows: f64,
    sums: [f64; BETS],
}

impl Mixture {
    /// For terms of this size (their unit, which nothing else depends on).
    pub fn new(scale: f64) -> Self {
        Mixture { scale, rows: 0.0, sums: [0.0; BETS] }
    }

    /// The four terms of a row of weight w and cost y in [lo, hi], none of which is negative: with R = hi - lo and L, L0 the costs of the
    /// policy and of the log, their means are hi - L, L - lo, R - (L - L0) and R + (L - L0). Mass of the policy that no row shows
    /// counts as the worst for each of them.
    pub fn terms(w: f64, y: f64, [lo, hi]: [f64; 2]) -> [f64; 4] {
        let (range, above, below) = (hi - lo, hi - y, y - lo);
        [w * above, w * below, (w - 1.0) * above + range, (w - 1.0) * below + range]
    }

    /// The bets, in units of 1 / scale.
    fn bets() -> [f64; BETS] {
        std::array::from_fn(|k| math::powi(2f64, k as i32 - 12))
    }

    /// Takes in a term; below 0, which no term is, counts as 0.
    pub fn add(&mut self, term: f64) {
        let y = (term / self.scale).max(0.0);
        self.rows += 1.0;
        self.sums.iter_mut().zip(Self::bets()).for_each(|(s, bet)| *s += math::ln_1p(bet * y));
    }

    /// Takes in the rows of another.
    pub fn merge(&mut self, other: &Mixture) {
        self.rows += other.rows;
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| *a += b);
    }

    /// Whether rows could have made these sums at this scale: of whole rows, finite, and larger for larger bets.
    pub(crate) fn is_sound(&self, scale: f64) -> bool {
        let whole = self.rows >= 0.0 && self.rows.fract() == 0.0 && self.rows < 9e15;
        let sums = self.sums.iter().all(|s| s.is_finite() && *s >= 0.0) && self.sums.is_sorted();
        self.scale == scale && whole && sums
    }

    /// Number of rows.
    pub fn rows(&self) -> f64 {
        self.rows
    }

    /// ln M(v), v in units of the scale: it falls in v.
    fn log_wealth(&self, v: f64) -> f64 {
        let exponents: [f64; BETS] = {
            let bets = Self::bets();
            std::array::from_fn(|k| self.sums[k] - self.rows * math::ln_1p(bets[k] * v))
        };
        let top = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        top + math::ln(exponents.iter().map(|e| math::exp(e - top)).sum::<f64>() / BETS as f64)
    }

    /// The mean of the terms is above this with probability 1 - delta, at all moments together.
    pub fn lower(&self, delta: f64) -> f64 {
        let limit = -math::ln(delta);
        // without evidence: terms are not negative
        if self.log_wealth(0.0).partial_cmp(&limit) != Some(std::cmp::Ordering::Greater) {
            return 0.0;
        }
        let (mut low, mut high) = (0.0, 1.0);
        while self.log_wealth(high) > limit && high < 1e300 {
            (low, high) = (high, 2.0 * high);
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if self.log_wealth(middle) > limit { low = middle } else { high = middle }
        }
        low * self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of one row the bound is Markov's: M(v) = 1/delta says that Y is more than v / delta for large bets, and no more.
    #[test]
    fn one_row_says_at_most_what_markov_says() {
        for y in [0.1, 1.0, 30.0, 1e6] {
            let mut m = Mixture::new(1.0);
            m.add(y);
            assert!(m.lower(0.05) <= 0.05 * y * (1.0 + 1e-12), "{y} {}", m.lower(0.05));
        }
        assert_eq!(Mixture::new(1.0).lower(0.05), 0.0);
    }

    #[test]
    fn the_scale_and_the_order_do_not_matter_and_shards_add_up() {
        let terms: Vec<f64> =
            (0..300).map(|i| (f64::from(i) * 0.618).fract() * if i % 7 == 0 { 9.0 } else { 0.6 }).collect();
        let of = |scale: f64, terms: &mut dyn Iterator<Item = f64>| {
            let mut m = Mixture::new(scale);
            terms.for_each(|t| m.add(scale * t));
            m
        };
        let whole = of(1.0, &mut terms.iter().copied());
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * b.abs(), "{a} {b}");
        close(of(40.0, &mut terms.iter().copied()).lower(0.05), 40.0 * whole.lower(0.05));
        close(of(1.0, &mut terms.iter().rev().copied()).lower(0.05), whole.lower(0.05));
        let mut first = of(1.0, &mut terms[..100].iter().copied());
        first.merge(&of(1.0, &mut terms[100..].iter().copied()));
        close(first.lower(0.05), whole.lower(0.05));
        let mean = terms.iter().sum::<f64>() / 300.0;
        assert!(whole.lower(0.05) < mean && whole.lower(0.05) > 0.6 * mean);
        assert!(whole.lower(0.01) < whole.lower(0.05));
    }
}
