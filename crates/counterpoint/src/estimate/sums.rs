//! From sums over rows to a risk, its variance and its slopes.
//!
//! With a row's transformed weight v, weighted part t and model part g, everything wanted is a function of first and
//! second moments: sums of (t, v, g) and of their products. They add up over rows, so a partial answer is this struct,
//! and merging two is adding. Gradients of the sums are kept by the caller; [`Target::weights`] says how much each of
//! them contributes to the slope of the objective.
//!
//! ```text
//! ByRows:     L = sum(t) / n                    V = sample variance of t, penalty sqrt(V / n)
//! ByWeights:  L = sum(t) / sum(v) + sum(g) / n  V = sum of squared influences / n^2, penalty sqrt(V)
//! ```
//!
//! (For ByRows the model part is part of t.) For SNIPS, g = 0 and V is the paper's sum w^2 (y - L)^2 / (sum w)^2.

use super::Normalise;
use super::moments::{Moments, not_below_zero};
use super::named::{PerSum, PerTerm, Sum};
use crate::math;
use serde::{Deserialize, Serialize};

/// Sums over rows. Every row counts with its row weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sums {
    /// Number of rows (sum of row weights).
    pub n: f64,
    /// Weighted part; for ByRows the whole term.
    pub t: f64,
    /// Transformed weights.
    pub v: f64,
    /// Model part; for ByRows 0.
    pub g: f64,
    /// Squares and products.
    pub tt: f64,
    /// t v
    pub tv: f64,
    /// v v
    pub vv: f64,
    /// g g
    pub gg: f64,
    /// t g
    pub tg: f64,
    /// v g
    pub vg: f64,
    /// Costs.
    pub y: f64,
    /// Squared costs.
    pub yy: f64,
    /// Terms times costs.
    pub ty: f64,
    /// Entropies of the policy.
    pub h: f64,
    /// Weights are held as v exp(-scale); 0 unless weights would overflow. ByWeights only.
    pub scale: f64,
}

impl Sums {
    /// Adds a row: its terms, its cost y and its row weight.
    pub fn add(&mut self, terms: &PerTerm<f64>, y: f64, omega: f64) {
        for sum in Sum::ALL {
            *self.named_mut(sum) += omega * terms.product(sum);
        }
        self.n += omega;
        self.y += omega * y;
        self.yy += omega * y * y;
        self.ty += omega * terms[super::Term::T] * y;
    }

    /// The sum of this name.
    pub fn named(&self, sum: Sum) -> f64 {
        match sum {
            Sum::T => self.t,
            Sum::V => self.v,
            Sum::G => self.g,
            Sum::TT => self.tt,
            Sum::TV => self.tv,
            Sum::VV => self.vv,
            Sum::GG => self.gg,
            Sum::TG => self.tg,
            Sum::VG => self.vg,
            Sum::H => self.h,
        }
    }

    /// The sum of this name, to be changed.
    pub fn named_mut(&mut self, sum: Sum) -> &mut f64 {
        match sum {
            Sum::T => &mut self.t,
            Sum::V => &mut self.v,
            Sum::G => &mut self.g,
            Sum::TT => &mut self.tt,
            Sum::TV => &mut self.tv,
            Sum::VV => &mut self.vv,
            Sum::GG => &mut self.gg,
            Sum::TG => &mut self.tg,
            Sum::VG => &mut self.vg,
            Sum::H => &mut self.h,
        }
    }

    /// Adds the sums of other rows.
    pub fn merge(&mut self, other: &Sums) {
        // no rows have no scale: they must not pull tiny weights up to theirs, where they would vanish
        if self.n == 0.0 {
            *self = *other;
            return;
        }
        if other.n == 0.0 {
            return;
        }
        let (mine, theirs) = self.align(other.scale);
        debug_assert!(mine == 1.0 || theirs == 1.0);
        self.rescale(mine);
        let mut o = *other;
        o.rescale(theirs);
        self.scale = self.scale.max(other.scale);
        for sum in Sum::ALL {
            *self.named_mut(sum) += o.named(sum);
        }
        self.n += o.n;
        self.y += o.y;
        self.yy += o.yy;
        self.ty += o.ty;
    }

    /// Factors that bring these weights and weights at another scale to the larger of the two scales.
    pub fn align(&self, other: f64) -> (f64, f64) {
        let top = self.scale.max(other);
        (math::exp(self.scale - top), math::exp(other - top))
    }

    /// Multiplies everything that is linear in the weights by f, and what is quadratic by f^2.
    fn rescale(&mut self, f: f64) {
        if f != 1.0 {
            for sum in Sum::ALL {
                *self.named_mut(sum) *= math::powi(f, sum.weight_power());
            }
            self.ty *= f;
        }
    }

    /// The sums of weights and costs, from which everything about a plain self-normalised estimate follows.
    pub fn moments(&self) -> Moments {
        Moments::of_weights([self.n, self.v, self.vv, self.y, self.t, self.tv, self.yy, self.ty, self.tt])
    }

    /// The risk.
    pub fn risk(&self, normalise: Normalise) -> f64 {
        match normalise {
            Normalise::ByRows => self.t / self.n,
            Normalise::ByWeights => self.moments().ratio() + self.g / self.n,
        }
    }

    /// V of the specification: for ByRows the sample variance of the terms, for ByWeights a variance of the mean.
    pub fn variance(&self, normalise: Normalise) -> f64 {
        match normalise {
            Normalise::ByRows if self.n <= 1.0 => f64::INFINITY, // one row does not say how rows differ
            Normalise::ByRows => not_below_zero((self.tt - self.t * self.t / self.n) / (self.n - 1.0)),
            Normalise::ByWeights => {
                // influence of a row: (t - R v) / (mean v) + g - mean g, with R = sum t / sum v
                let moments = self.moments();
                let r = moments.ratio();
                let f = self.n / self.v;
                let weighted = moments.squares_about(r) * f * f;
                let model = self.gg - self.g * self.g / self.n;
                let cross = (self.tg - r * self.vg) * f; // sum (t - R v) = 0, so mean g drops out
                not_below_zero((weighted + model + 2.0 * cross) / (self.n * self.n))
            }
        }
    }

    /// The standard error of the risk.
    pub fn std_error(&self, normalise: Normalise) -> f64 {
        match normalise {
            Normalise::ByRows => (self.variance(normalise) / self.n).sqrt(),
            Normalise::ByWeights => self.variance(normalise).sqrt(),
        }
    }

    /// (sum v)^2 / sum v^2: how many rows the estimate rests on.
    pub fn effective(&self) -> f64 {
        self.moments().effective()
    }

    /// Mean weight; should be near 1 for raw weights.
    pub fn mean_weight(&self) -> f64 {
        self.moments().weight().0 * math::exp(self.scale)
    }
}

/// What is minimised, as far as the sums know: risk + variance_penalty * std error - entropy * mean entropy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// What is divided by.
    pub normalise: Normalise,
    /// lambda.
    pub variance_penalty: f64,
    /// c_H.
    pub entropy: f64,
}

impl Target {
    /// The value.
    pub fn value(&self, s: &Sums) -> f64 {
        let penalty =
            if self.variance_penalty > 0.0 { self.variance_penalty * s.std_error(self.normalise) } else { 0.0 };
        let entropy = if self.entropy > 0.0 { self.entropy * s.h / s.n } else { 0.0 };
        s.risk(self.normalise) + penalty - entropy
    }

    /// Which sums need gradients.
    pub fn graded(&self, has_model: bool, entropy_varies: bool) -> Vec<Sum> {
        let penalty = self.variance_penalty > 0.0;
        let by_weights = self.normalise == Normalise::ByWeights;
        let wanted = |sum: &Sum| match sum {
            Sum::T => true,
            Sum::TT => penalty,
            Sum::V => by_weights,
            Sum::TV | Sum::VV => by_weights && penalty,
            Sum::G => by_weights && has_model,
            Sum::GG | Sum::TG | Sum::VG => by_weights && has_model && penalty,
            Sum::H => self.entropy > 0.0 && entropy_varies,
        };
        Sum::ALL.into_iter().filter(wanted).collect()
    }

    /// d value / d sum, for each graded sum.
    pub fn weights(&self, s: &Sums) -> PerSum<f64> {
        let mut w = PerSum::default();
        let n = s.n;
        let error = s.std_error(self.normalise);
        let lambda = if error > 0.0 { self.variance_penalty } else { 0.0 };
        match self.normalise {
            Normalise::ByRows => {
                w[Sum::T] = 1.0 / n;
                if lambda > 0.0 {
                    // d sqrt(V/n) = dV / (2 n sqrt(V/n)), dV = (d tt - 2 (t/n) d t) / (n - 1)
                    let f = lambda / (2.0 * n * error * (n - 1.0));
                    w[Sum::T] -= f * 2.0 * s.t / n;
                    w[Sum::TT] = f;
                }
            }
            Normalise::ByWeights => {
                let r = s.t / s.v;
                let f = n / s.v;
                w[Sum::T] = 1.0 / s.v;
                w[Sum::V] = -r / s.v;
                w[Sum::G] = 1.0 / n;
                if lambda > 0.0 {
                    // n^2 V = f^2 W + M + 2 f X;  W = tt - 2 r tv + r^2 vv, X = tg - r vg, M = gg - g^2/n
                    let k = lambda / (2.0 * error * n * n);
                    let big_w = s.tt - 2.0 * r * s.tv + r * r * s.vv;
                    let x = s.tg - r * s.vg;
                    let d_r = f * f * (-2.0 * s.tv + 2.0 * r * s.vv) - 2.0 * f * s.vg;
                    let d_f = 2.0 * f * big_w + 2.0 * x;
                    w[Sum::T] += k * d_r / s.v;
                    w[Sum::V] += k * (-d_r * r / s.v - d_f * f / s.v);
                    w[Sum::G] += -k * 2.0 * s.g / n;
                    w[Sum::TT] = k * f * f;
                    w[Sum::TV] = -2.0 * k * f * f * r;
                    w[Sum::VV] = k * f * f * r * r;
                    w[Sum::GG] = k;
                    w[Sum::TG] = 2.0 * k * f;
                    w[Sum::VG] = -2.0 * k * f * r;
                }
            }
        }
        w[Sum::H] = -self.entropy / n;
        w
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of weight e and cost 2 held at the scale 1, and one of weight 1 and cost 3 held at 0: at the scale 1 the second counts 1/e.
    #[test]
    fn sums_at_two_scales_meet_at_the_larger() {
        let row = |y: f64, scale: f64| Sums { n: 1.0, v: 1.0, t: y, y, yy: y * y, ty: y * y, scale, ..Sums::default() };
        let inverse = 0.367_879_441_171_442_33; // 1/e
        for (first, second) in [(row(2.0, 1.0), row(3.0, 0.0)), (row(3.0, 0.0), row(2.0, 1.0))] {
            let mut all = first;
            all.merge(&second);
            let found = [all.scale, all.v, all.t, all.ty, all.yy];
            let want = [1.0, 1.0 + inverse, 2.0 + 3.0 * inverse, 4.0 + 9.0 * inverse, 13.0];
            assert!(found.iter().zip(want).all(|(f, w)| (f - w).abs() < 1e-14), "{found:?} {want:?}");
        }
    }

    #[test]
    fn weights_are_the_slopes_of_the_value() {
        let s = Sums {
            n: 10.0,
            t: -3.0,
            v: 8.0,
            g: 2.0,
            tt: 6.0,
            tv: -2.0,
            vv: 11.0,
            gg: 3.0,
            tg: -0.4,
            vg: 1.5,
            h: 4.0,
            ..Sums::default()
        };
        for normalise in [Normalise::ByRows, Normalise::ByWeights] {
            let target = Target { normalise, variance_penalty: 0.7, entropy: 0.2 };
            let w = target.weights(&s);
            for sum in Sum::ALL {
                let bump = |h: f64| {
                    let mut b = s;
                    *b.named_mut(sum) += h;
                    target.value(&b)
                };
                let d = (bump(1e-6) - bump(-1e-6)) / 2e-6;
                assert!((w[sum] - d).abs() < 1e-8, "{normalise:?} {sum:?}: {} {d}", w[sum]);
            }
        }
    }

    #[test]
    fn huge_weights_merge_without_overflow() {
        let big = |scale, v: f64, y: f64| Sums {
            n: 1.0,
            v,
            t: v * y,
            vv: v * v,
            tv: v * v * y,
            tt: v * v * y * y,
            scale,
            ..Sums::default()
        };
        let mut s = big(1000.0, 1.0, -1.0);
        s.merge(&big(1001.0, 1.0, 0.25));
        s.merge(&big(998.0, 1.0, 0.5));
        let e = std::f64::consts::E;
        let truth = (-1.0 + 0.25 * e + 0.5 * (-2f64).exp()) / (1.0 + e + (-2f64).exp());
        assert!((s.risk(Normalise::ByWeights) - truth).abs() < 1e-14);
    }
}
