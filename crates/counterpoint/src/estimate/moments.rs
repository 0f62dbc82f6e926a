//! The home of the self-normalised estimate, its standard error, the effective sample size and the mean weight.
//!
//! With weights w and costs z, each row counted m times, all of them are functions of nine sums. Training and evaluation add
//! up the weights themselves; certificates add up v = w / scale - 1, which loses no digits when weights are near their mean.
//! Both are sums of v with w = v + offset (offset 0 or 1), so both ask here.
//!
//! Rows that stand for others by a sampling weight s count s times in a mean and s^2 times in a variance. Then there are two sets of
//! sums, and every standard error takes the second.

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
    /// The same sums with squared sampling weights; nothing where rows are counted.
    #[serde(default)]
    squares: Option<[f64; Moments::SUMS]>,
}

impl Moments {
    /// Number of sums.
    pub const SUMS: usize = 9;

    /// From sums of the weights themselves.
    pub fn of_weights(sums: [f64; Self::SUMS]) -> Self {
        Moments { sums, offset: 0.0, squares: None }
    }

    /// From sums of w / scale - 1.
    pub fn of_deviations(sums: [f64; Self::SUMS]) -> Self {
        Moments { sums, offset: 1.0, squares: None }
    }

    /// The same rows with what squared sampling weights make of the sums: standard errors and n_eff rest on them.
    #[must_use]
    pub fn with_squares(self, squares: [f64; Self::SUMS]) -> Self {
        Moments { squares: Some(squares), ..self }
    }

    /// The sums that variances are made of.
    fn second(&self) -> &[f64; Self::SUMS] {
        self.squares.as_ref().unwrap_or(&self.sums)
    }

    /// The standard error of a mean: sqrt(sum s^2 (f - mean)^2) / sum s, from sums of squares of 1, f, f^2.
    fn error_of_mean(&self, mean: f64, [s0, s1, s2]: [f64; 3]) -> f64 {
        let n = self.sums[0];
        match self.squares {
            None => (not_below_zero(s2 / n - mean * mean) / n).sqrt(),
            Some(_) => not_below_zero(s2 - 2.0 * mean * s1 + mean * mean * s0).sqrt() / n,
        }
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
        let [n, v, ..] = self.sums;
        let [s0, s1, s2, ..] = *self.second();
        let mean = v / n;
        (self.offset + mean, self.error_of_mean(mean, [s0, s1, s2]))
    }

    /// The effective sample size (sum w)^2 / sum w^2; 0 if all weights are.
    pub fn effective(&self) -> f64 {
        let [n, v, ..] = self.sums;
        let [s0, s1, s2, ..] = *self.second();
        let (sum, squares) = (self.weighted(v, n), self.weighted(s2, s1) + self.offset * self.weighted(s1, s0));
        if squares > 0.0 { sum * sum / squares } else { 0.0 }
    }

    /// Mean of z with its standard error.
    pub fn logged(&self) -> (f64, f64) {
        let [n, _, _, z, ..] = self.sums;
        let [s0, _, _, s1, _, _, s2, ..] = *self.second();
        let mean = z / n;
        (mean, self.error_of_mean(mean, [s0, s1, s2]))
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
        let l = self.ratio();
        let squares = self.spread(l, -vbar) / (wbar * wbar);
        let about = match &self.squares {
            None => -n * d * d,
            // sum s^2 (z - L)(v - vbar) / wbar is n d only where s is 1
            Some([s0, s1, _, sz, svz, ..]) => {
                let product = (svz - l * s1 - vbar * sz + l * vbar * s0) / wbar;
                d * d * s0 - 2.0 * d * product
            }
        };
        (d, not_below_zero(squares + about).sqrt() / n)
    }

    /// The standard error that D has if weights and costs have nothing to do with each other: sqrt(mean((w / wbar - 1)^2) var(z) / n).
    ///
    /// Where costs are almost always the same, no row with another cost may be a heavy one, and the influence function is then blind
    /// to what such a row would do. Weights and costs apart know it.
    pub fn null_error(&self) -> f64 {
        let [n, v, _, z, ..] = self.sums;
        let [s0, s1, s2, sz, _, _, szz, ..] = *self.second();
        let (vbar, zbar) = (v / n, z / n);
        let wbar = self.offset + vbar;
        if self.squares.is_none() {
            let weights = not_below_zero(s2 / n - vbar * vbar) / (wbar * wbar);
            return (weights * not_below_zero(szz / n - zbar * zbar) / n).sqrt();
        }
        let weights = not_below_zero(s2 - 2.0 * vbar * s1 + vbar * vbar * s0) / (s0 * wbar * wbar);
        (weights * not_below_zero(szz - 2.0 * zbar * sz + zbar * zbar * s0)).sqrt() / n
    }

    /// sum m (z - l)^2 (v + c)^2
    fn spread(&self, l: f64, c: f64) -> f64 {
        let [n, v, vv, z, vz, vvz, zz, vzz, vvzz] = *self.second();
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
        close(plain.null_error(), shifted.null_error());
        close(plain.effective(), shifted.effective());
        let (w, wz) = rows.iter().fold((0.0, 0.0), |(s, t), (w, z)| (s + w, t + w * z));
        close(plain.value().0, wz / w);
        let squares: f64 = rows.iter().map(|(w, z)| (w * (z - wz / w_total(&rows))).powi(2)).sum();
        close(plain.value().1, squares.sqrt() / w);
    }

    fn w_total(rows: &[(f64, f64)]) -> f64 {
        rows.iter().map(|(w, _)| w).sum()
    }

    /// Rows (s, w, z): L = sum s w z / sum s w, and every error is the root of a sum of squared influences, row by row.
    #[test]
    fn errors_of_sampled_rows_are_sums_of_squared_influences() {
        let rows = [(1.0, 0.4, 2.0), (3.0, 1.9, -1.0), (0.5, 0.05, 0.3), (2.0, 3.0, 0.8), (1.0, 1.0, -2.5)];
        let moments = |unit: f64| {
            let sums = |power: i32| {
                rows.iter().fold([0.0; Moments::SUMS], |sum, (s, w, z)| {
                    let t = Moments::terms(w - 1.0, *z);
                    std::array::from_fn(|k| sum[k] + (s * unit).powi(power) * t[k])
                })
            };
            Moments::of_deviations(sums(1)).with_squares(sums(2))
        };
        let sum = |f: &dyn Fn(f64, f64, f64) -> f64| rows.iter().map(|(s, w, z)| f(*s, *w, *z)).sum::<f64>();
        let (n, wbar) = (sum(&|s, _, _| s), sum(&|s, w, _| s * w) / sum(&|s, _, _| s));
        let (l, zbar) = (sum(&|s, w, z| s * w * z) / (n * wbar), sum(&|s, _, z| s * z) / n);
        let error = |psi: &dyn Fn(f64, f64) -> f64| sum(&|s, w, z| (s * psi(w, z)).powi(2)).sqrt() / n;
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{a} {b}");
        for unit in [1.0, 100.0, 1e-3] {
            let m = moments(unit);
            close(m.value().0, l);
            close(m.value().1, error(&|w, z| w * (z - l) / wbar));
            close(m.logged().0, zbar);
            close(m.logged().1, error(&|_, z| z - zbar));
            close(m.weight().0, wbar);
            close(m.weight().1, error(&|w, _| w - wbar));
            close(m.difference().0, l - zbar);
            close(m.difference().1, error(&|w, z| w * (z - l) / wbar - (z - zbar)));
            close(m.effective(), (n * wbar).powi(2) / sum(&|s, w, _| (s * w).powi(2)));
            let squares = sum(&|s, w, _| (s * (w / wbar - 1.0)).powi(2)) / sum(&|s, _, _| s * s);
            close(m.null_error(), (squares * sum(&|s, _, z| (s * (z - zbar)).powi(2))).sqrt() / n);
        }
    }

    #[test]
    fn no_weight_is_no_effective_row() {
        assert_eq!(Moments::of_weights(sums(&[(0.0, 1.0), (0.0, 2.0)], 0.0)).effective(), 0.0);
    }
}
