//! The home of the self-normalised estimate, its standard error, the effective sample size and the mean weight.
//!
//! With weights w and costs z, each row counted m times, all of them are functions of nine sums. Training and evaluation add
//! up the weights themselves; certificates add up v = w / scale - 1, which loses no digits when weights are near their mean.
//! Both are sums of v with w = v + offset (offset 0 or 1), so both ask here.

use serde::{Deserialize, Serialize};

/// Nine sums over rows of v = w / scale - offset and of z = y - centre, each row counted m times.
///
/// ```text
/// sum m, v, v^2, z, v z, v^2 z, z^2, v z^2, v^2 z^2
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    sums: [f64; Moments::SUMS],
    offset: f64,
}

impl Moments {
    /// Number of sums.
    pub const SUMS: usize = 9;

    /// From sums of the weights themselves.
    pub fn of_weights(sums: [f64; Self::SUMS]) -> Self {
        Moments { sums, offset: 0.0 }
    }

    /// From sums of w / scale - 1.
    pub fn of_deviations(sums: [f64; Self::SUMS]) -> Self {
        Moments { sums, offset: 1.0 }
    }

    /// What one row adds to the nine sums.
    pub fn terms(v: f64, z: f64) -> [f64; Self::SUMS] {
        [1.0, v, v * v, z, v * z, v * v * z, z * z, v * z * z, v * v * z * z]
    }

    /// The sums.
    pub fn sums(&self) -> &[f64; Self::SUMS] {
        &self.sums
    }

    /// Adds rows, or the sums of other rows, this many times.
    pub fn add(&mut self, terms: &[f64; Self::SUMS], times: f64) {
        self.sums.iter_mut().zip(terms).for_each(|(s, t)| *s += times * t);
    }

    /// sum m (v + offset) f, from sum m v f and sum m f.
    fn weighted(&self, of_v: f64, of_1: f64) -> f64 {
        // costs may overflow where weights are plain; 0 times infinity would spoil what does not need them
        if self.offset == 0.0 { of_v } else { of_v + self.offset * of_1 }
    }

    /// Rows.
    pub fn n(&self) -> f64 {
        self.sums[0]
    }

    /// Mean weight in units of the scale, with its standard error.
    pub fn weight(&self) -> (f64, f64) {
        let [n, v, vv, ..] = self.sums;
        let mean = v / n;
        (self.offset + mean, (not_below_zero(vv / n - mean * mean) / n).sqrt())
    }

    /// The effective sample size (sum w)^2 / sum w^2; 0 if all weights are.
    pub fn effective(&self) -> f64 {
        let [n, v, vv, ..] = self.sums;
        let (sum, squares) = (self.weighted(v, n), self.weighted(vv, v) + self.offset * self.weighted(v, n));
        if squares > 0.0 { sum * sum / squares } else { 0.0 }
    }

    /// Mean of z with its standard error.
    pub fn logged(&self) -> (f64, f64) {
        let [n, _, _, z, _, _, zz, ..] = self.sums;
        let mean = z / n;
        (mean, (not_below_zero(zz / n - mean * mean) / n).sqrt())
    }

    /// The self-normalised estimate L = sum w z / sum w (SNIPS).
    pub fn ratio(&self) -> f64 {
        let [n, v, _, z, vz, ..] = self.sums;
        self.weighted(vz, z) / self.weighted(v, n)
    }

    /// sum m w^2 (z - l)^2
    pub fn squares_about(&self, l: f64) -> f64 {
        self.spread(l, self.offset)
    }

    /// The self-normalised estimate with its standard error sqrt(sum w^2 (z - L)^2) / sum w.
    pub fn value(&self) -> (f64, f64) {
        let [n, v, ..] = self.sums;
        let l = self.ratio();
        (l, self.squares_about(l).sqrt() / self.weighted(v, n))
    }

    /// D = L - mean(z) with the standard error of its influence function w (z - L) / wbar - (z - zbar).
    ///
    /// ```text
    /// psi_i = (z_i - L) (v_i - vbar) / wbar - D,   D = mean of (z - L)(v - vbar) / wbar
    /// ```
    ///
    /// Both vanish with the weights' spread: the policy that wrote the log has D = 0 to the last digit.
    pub fn difference(&self) -> (f64, f64) {
        let [n, v, _, z, vz, ..] = self.sums;
        let (sum, vbar) = (self.weighted(v, n), v / n);
        let d = (vz - vbar * z) / sum;
        let wbar = self.offset + vbar;
        let squares = self.spread(self.ratio(), -vbar) / (wbar * wbar) - n * d * d;
        (d, not_below_zero(squares).sqrt() / n)
    }

    /// sum m (z - l)^2 (v + c)^2
    fn spread(&self, l: f64, c: f64) -> f64 {
        let [n, v, vv, z, vz, vvz, zz, vzz, vvzz] = self.sums;
        let squares = |s0: f64, s1: f64, s2: f64| s2 - 2.0 * l * s1 + l * l * s0;
        let pure = squares(vv, vvz, vvzz);
        let mixed = if c == 0.0 { 0.0 } else { 2.0 * c * squares(v, vz, vzz) + c * c * squares(n, z, zz) };
        not_below_zero(pure + mixed)
    }
}

/// Takes back what rounding made negative. (`max(0.0)` would also turn an overflow, which is NaN here, into a 0.)
pub(super) fn not_below_zero(v: f64) -> f64 {
    if v < 0.0 { 0.0 } else { v }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(rows: &[(f64, f64)], offset: f64) -> [f64; Moments::SUMS] {
        rows.iter().fold([0.0; Moments::SUMS], |s, (w, z)| {
            let t = Moments::terms(w - offset, *z);
            std::array::from_fn(|k| s[k] + t[k])
        })
    }

    /// Weights and deviations are two ways to write down the same rows.
    #[test]
    fn figures_do_not_depend_on_the_offset() {
        let rows = [(0.4, 2.0), (1.9, -1.0), (0.05, 0.3), (3.0, 0.8), (1.0, -2.5)];
        let plain = Moments::of_weights(sums(&rows, 0.0));
        let shifted = Moments::of_deviations(sums(&rows, 1.0));
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-13 * (1.0 + a.abs()), "{a} {b}");
        let both = |f: fn(&Moments) -> (f64, f64)| {
            let ((a, da), (b, db)) = (f(&plain), f(&shifted));
            close(a, b);
            close(da, db);
        };
        both(Moments::value);
        both(Moments::difference);
        both(Moments::logged);
        both(Moments::weight);
        close(plain.effective(), shifted.effective());
        let (w, wz) = rows.iter().fold((0.0, 0.0), |(s, t), (w, z)| (s + w, t + w * z));
        close(plain.value().0, wz / w);
        let squares: f64 = rows.iter().map(|(w, z)| (w * (z - wz / w_total(&rows))).powi(2)).sum();
        close(plain.value().1, squares.sqrt() / w);
    }

    fn w_total(rows: &[(f64, f64)]) -> f64 {
        rows.iter().map(|(w, _)| w).sum()
    }

    #[test]
    fn no_weight_is_no_effective_row() {
        assert_eq!(Moments::of_weights(sums(&[(0.0, 1.0), (0.0, 2.0)], 0.0)).effective(), 0.0);
    }
}
