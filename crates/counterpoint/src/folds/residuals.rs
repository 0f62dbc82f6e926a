//! Sums over the standardised residuals of propensity models: what their checks are made of.

use crate::policy::Family;
use serde::{Deserialize, Serialize};

/// Bins of the integral transform: the distance is exact to their width.
const BINS: usize = 4096;

/// Sums over rows of standardised residuals z.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Residuals {
    n: f64,
    /// For each action: weight by bin of F(a|x).
    uniform: Vec<Vec<f64>>,
    extreme: Vec<f64>,
    /// For each action: sums of z, z^2, z^4.
    powers: Vec<[f64; 3]>,
    /// Sums of x_j and x_j^2.
    contexts: Vec<[f64; 2]>,
    /// For each action and context: sums of z x_j and z^2 x_j.
    products: Vec<Vec<[f64; 2]>>,
    /// z_c z_e for c < e, row by row.
    pairs: Vec<f64>,
    log_p: (f64, f64),
    lowest: u64,
}

impl Residuals {
    pub(crate) fn new(q: usize, d: usize) -> Self {
        Residuals {
            n: 0.0,
            uniform: vec![vec![0.0; BINS]; q],
            extreme: vec![0.0; q],
            powers: vec![[0.0; 3]; q],
            contexts: vec![[0.0; 2]; d],
            products: vec![vec![[0.0; 2]; d]; q],
            pairs: vec![0.0; q * q],
            log_p: (f64::INFINITY, f64::NEG_INFINITY),
            lowest: 0,
        }
    }

    /// Adds a row: residuals, scaled contexts, ln p, weight.
    pub(crate) fn add(&mut self, id: u64, z: &[f64], x: &[f64], log_p: f64, w: f64) {
        let q = z.len();
        self.n += w;
        for c in 0..q {
            let u = Family::Normal.cdf(z[c], 0.0, 1.0).value;
            self.uniform[c][((u * BINS as f64) as usize).min(BINS - 1)] += w;
            self.extreme[c] += if z[c].abs() > 4.0 { w } else { 0.0 };
            let square = z[c] * z[c];
            for (p, v) in self.powers[c].iter_mut().zip([z[c], square, square * square]) {
                *p += w * v;
            }
            for (p, x) in self.products[c].iter_mut().zip(x) {
                p[0] += w * z[c] * x;
                p[1] += w * square * x;
            }
            (c + 1..q).for_each(|e| self.pairs[c * q + e] += w * z[c] * z[e]);
        }
        for (s, x) in self.contexts.iter_mut().zip(x) {
            s[0] += w * x;
            s[1] += w * x * x;
        }
        // what is not a number is no density
        let log_p = if log_p.is_nan() { f64::NEG_INFINITY } else { log_p };
        if log_p < self.log_p.0 {
            (self.log_p.0, self.lowest) = (log_p, id);
        }
        self.log_p.1 = self.log_p.1.max(log_p);
    }

    pub(crate) fn merge(&mut self, other: &Residuals) {
        fn plus<'a>(to: impl Iterator<Item = &'a mut f64>, from: impl Iterator<Item = &'a f64>) {
            to.zip(from).for_each(|(a, b)| *a += b);
        }
        self.n += other.n;
        plus(self.uniform.iter_mut().flatten(), other.uniform.iter().flatten());
        plus(self.extreme.iter_mut(), other.extreme.iter());
        plus(self.powers.iter_mut().flatten(), other.powers.iter().flatten());
        plus(self.contexts.iter_mut().flatten(), other.contexts.iter().flatten());
        plus(self.products.iter_mut().flatten().flatten(), other.products.iter().flatten().flatten());
        plus(self.pairs.iter_mut(), other.pairs.iter());
        if other.log_p.0 < self.log_p.0 {
            (self.log_p.0, self.lowest) = (other.log_p.0, other.lowest);
        }
        self.log_p.1 = self.log_p.1.max(other.log_p.1);
    }

    /// The smallest ln p with the row it belongs to, and the largest.
    pub(crate) fn log_p(&self) -> (f64, u64, f64) {
        (self.log_p.0, self.lowest, self.log_p.1)
    }

    /// Share of rows more than 4 standard deviations from their mean.
    pub(crate) fn extreme(&self, c: usize) -> f64 {
        self.extreme[c] / self.n
    }

    /// Excess kurtosis: 0 for a normal law.
    pub(crate) fn kurtosis(&self, c: usize) -> f64 {
        let [z, square, fourth] = self.powers[c].map(|p| p / self.n);
        let variance = square - z * z;
        // about 0, near which residuals lie, and not about their mean: the third power is not kept
        fourth / (variance * variance) - 3.0
    }

    /// Largest distance between the distribution of F(a|x) and the uniform, at the edges of the bins.
    pub(crate) fn kolmogorov(&self, c: usize) -> f64 {
        let mut below = 0.0;
        let edges = self.uniform[c].iter().enumerate().map(|(i, w)| {
            below += w;
            (below / self.n - (i + 1) as f64 / BINS as f64).abs()
        });
        edges.fold(0.0, f64::max)
    }

    /// Largest correlation of z (power 0) or z^2 (power 1) with a context.
    pub(crate) fn left(&self, c: usize, power: usize) -> Option<(usize, f64)> {
        let n = self.n;
        let (mean, square) = (self.powers[c][power] / n, [self.powers[c][1], self.powers[c][2]][power] / n);
        let spread = (square - mean * mean).sqrt();
        let correlations = self.contexts.iter().zip(&self.products[c]).map(|(x, p)| {
            let x_mean = x[0] / n;
            let x_spread = (x[1] / n - x_mean * x_mean).max(0.0).sqrt();
            // a context that does not vary has no correlation
            if x_spread > 1e-9 { (p[power] / n - mean * x_mean) / (spread * x_spread) } else { 0.0 }
        });
        correlations.enumerate().reduce(|a, b| if b.1.abs() > a.1.abs() { b } else { a })
    }

    /// Largest correlation between the residuals of two actions.
    pub(crate) fn dependence(&self) -> Option<f64> {
        let q = self.powers.len();
        let moment = |c: usize| (self.powers[c][0] / self.n, self.powers[c][1] / self.n);
        let correlation = |c: usize, e: usize| {
            let ((mc, sc), (me, se)) = (moment(c), moment(e));
            (self.pairs[c * q + e] / self.n - mc * me) / ((sc - mc * mc) * (se - me * me)).sqrt()
        };
        let pairs = (0..q).flat_map(|c| (c + 1..q).map(move |e| (c, e)));
        pairs.map(|(c, e)| correlation(c, e)).reduce(|a, b| if b.abs() > a.abs() { b } else { a })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residuals_of_the_right_law_have_no_distance_and_shifted_ones_have() {
        let n = 2000;
        let sums_of = |shift: f64| {
            let mut left = Residuals::new(1, 1);
            let mut right = Residuals::new(1, 1);
            for i in 0..n {
                // the quantiles of the normal law, by bisection
                let u = (i as f64 + 0.5) / f64::from(n);
                let (mut low, mut high) = (-6.0, 6.0);
                while high - low > 1e-9 {
                    let mid = 0.5 * (low + high);
                    if Family::Normal.cdf(mid, 0.0, 1.0).value < u { low = mid } else { high = mid }
                }
                let to = if i % 2 == 0 { &mut left } else { &mut right };
                to.add(i as u64, &[low + shift], &[low], -1.0, 1.0);
            }
            left.merge(&right);
            left
        };
        assert!(sums_of(0.0).kolmogorov(0) < 1e-3);
        // the largest gap between two normal laws half a std apart: 2 Phi(1/4) - 1
        assert!((sums_of(0.5).kolmogorov(0) - 0.1974).abs() < 1e-3);
        assert!(sums_of(0.0).kurtosis(0).abs() < 0.02);
        let (_, r) = sums_of(0.0).left(0, 0).unwrap();
        assert!((r - 1.0).abs() < 1e-9, "z is the context itself here: {r}");
    }
}
