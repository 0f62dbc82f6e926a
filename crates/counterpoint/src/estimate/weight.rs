//! Transforms of the importance weight w = pi(a|x) / p.
//!
//! Weights arrive as ln w and leave logs here, once: each transform gives v and dv / d ln w, so that nothing overflows
//! on the way and the chain rule continues with slopes of the log density.

use crate::error::{Error, Result};
use crate::math;
use serde::{Deserialize, Serialize};

/// A transform of the weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Weight {
    /// v = w
    #[default]
    Raw,
    /// v = min(w, M): beyond the cap a row falls silent.
    Clip {
        /// M
        cap: f64,
    },
    /// Soft clipping: the identity up to `cap`, a logarithm beyond it. Section 4.1.
    ///
    /// ```text
    /// zeta(w) = w                        if w <= M
    ///           alpha ln(w + alpha - M)  otherwise, where alpha ln alpha = M
    /// ```
    ///
    /// The pieces meet with the same slope, so a row whose weight passes the cap still says which way to move; with
    /// [`Weight::Clip`] it falls silent. Between the two: min(w, M) <= zeta(w) <= w.
    SoftClip {
        /// M
        cap: f64,
        /// Derived from the cap; see [`soft_cap_alpha`].
        alpha: f64,
    },
    /// v = w if w <= tau else 0: the model speaks for the rest.
    Switch {
        /// The threshold.
        tau: f64,
    },
    /// v = ((1 - lambda) w^s + lambda)^(1/s); s = 0 is the limit w^(1 - lambda).
    PowerMean {
        /// Mixing weight, in [0, 1].
        lambda: f64,
        /// Exponent, usually -1.
        s: f64,
    },
}

impl Weight {
    /// One of each kind, or a few, with caps of this size: what tables of tests run over.
    pub fn examples(cap: f64) -> Vec<Weight> {
        vec![
            Weight::Raw,
            Weight::Clip { cap },
            Weight::soft(cap),
            Weight::Switch { tau: cap },
            Weight::PowerMean { lambda: 0.1, s: -1.0 },
            Weight::PowerMean { lambda: 0.3, s: -0.5 },
            Weight::PowerMean { lambda: 0.3, s: 0.0 },
        ]
    }

    /// Soft clipping at `cap`.
    pub fn soft(cap: f64) -> Self {
        Weight::SoftClip { cap, alpha: soft_cap_alpha(cap) }
    }

    /// (v, dv / d ln w).
    ///
    /// ```
    /// use counterpoint::estimate::Weight;
    /// assert_eq!(Weight::Clip { cap: 2.0 }.apply(5f64.ln()), (2.0, 0.0));
    /// let (v, slope) = Weight::soft(2.0).apply(1000.0); // w itself would overflow
    /// assert!(v > 2.0 && v.is_finite() && slope > 0.0);
    /// ```
    pub fn apply(&self, log_w: f64) -> (f64, f64) {
        let w = math::exp(log_w);
        match *self {
            Weight::Raw => (w, w),
            Weight::Clip { cap } => {
                if w <= cap {
                    (w, w)
                } else {
                    (cap, 0.0)
                }
            }
            Weight::SoftClip { cap, alpha } => {
                if w <= cap {
                    (w, w)
                } else {
                    // ln(w + alpha - M) = ln w + ln(1 + (alpha - M)/w)
                    let r = (alpha - cap) * math::exp(-log_w);
                    let log = if log_w > 30.0 { log_w + math::ln_1p(r) } else { math::ln(w + (alpha - cap)) };
                    (alpha * log, alpha / (1.0 + r))
                }
            }
            Weight::Switch { tau } => {
                if w <= tau {
                    (w, w)
                } else {
                    (0.0, 0.0)
                }
            }
            Weight::PowerMean { lambda, s } => {
                if s == 0.0 {
                    let v = math::exp((1.0 - lambda) * log_w);
                    return (v, (1.0 - lambda) * v);
                }
                if log_w == f64::NEG_INFINITY && s < 0.0 {
                    return (0.0, 0.0); // the limit; w^s is infinite
                }
                // ln v = ln((1 - lambda) w^s + lambda) / s by log-sum-exp: w^s overflows for tiny w and s < 0
                let (a, b) = (math::ln(1.0 - lambda) + s * log_w, math::ln(lambda));
                let top = a.max(b);
                let log_sum = top + math::ln(math::exp(a - top) + math::exp(b - top));
                let v = math::exp(log_sum / s);
                (v, v * math::exp(a - log_sum))
            }
        }
    }

    /// Refuses parameters outside their range; `field` is the name in the recipe.
    pub fn check(&self, field: &str) -> Result<()> {
        let positive = |name: &str, v: f64| {
            if v.is_finite() && v > 0.0 {
                Ok(())
            } else {
                Err(Error::recipe(&format!("{field}.{name}"), format!("{v} must be > 0")))
            }
        };
        match *self {
            Weight::Raw => Ok(()),
            Weight::Clip { cap } | Weight::SoftClip { cap, .. } => positive("cap", cap),
            Weight::Switch { tau } => positive("tau", tau),
            Weight::PowerMean { lambda, s } => {
                if !(0.0..=1.0).contains(&lambda) {
                    return Err(Error::recipe(&format!("{field}.lambda"), format!("{lambda} must lie in [0, 1]")));
                }
                if !(s.is_finite() && s <= 1.0) {
                    return Err(Error::recipe(&format!("{field}.s"), format!("{s} must be at most 1")));
                }
                Ok(())
            }
        }
    }
}

/// The alpha >= 1 with alpha ln alpha = M: exp(W0(M)), Lambert's W, by Newton steps on u = ln alpha.
///
/// ```
/// let alpha = counterpoint::estimate::soft_cap_alpha(10.0);
/// assert!((alpha * alpha.ln() - 10.0).abs() < 1e-13);
/// ```
pub fn soft_cap_alpha(cap: f64) -> f64 {
    if cap == 0.0 {
        return 1.0;
    }
    // u + ln u = ln M converges from anywhere for large M, u e^u = M for small
    let mut u = if cap > 3.0 { math::ln(cap) - math::ln(math::ln(cap)) } else { math::ln_1p(cap) };
    for _ in 0..60 {
        let step = if cap > 3.0 {
            (u + math::ln(u) - math::ln(cap)) / (1.0 + 1.0 / u)
        } else {
            (u - cap * math::exp(-u)) / (1.0 + u)
        };
        u -= step;
        if step.abs() <= 1e-16 * u.abs() {
            break;
        }
    }
    // alpha = M / u is better conditioned than exp(u) unless u is tiny
    if u > 0.5 { cap / u } else { math::exp(u) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_is_lamberts() {
        for cap in [1e-12, 1e-3, 0.5, 1.0, 2.9, 3.1, 10.0, 100.0, 1e6, 1e12] {
            let truth = lambert_w::lambert_w0(cap).exp();
            assert!((soft_cap_alpha(cap) / truth - 1.0).abs() < 1e-14, "{cap}");
        }
    }

    #[test]
    fn slopes_are_slopes() {
        for weight in Weight::examples(2.0) {
            for log_w in [-3.0, -0.2, 0.5, 1.2, 4.0] {
                let h = 1e-6;
                let d = (weight.apply(log_w + h).0 - weight.apply(log_w - h).0) / (2.0 * h);
                assert!((weight.apply(log_w).1 - d).abs() < 1e-7 * (1.0 + d.abs()), "{weight:?} {log_w}");
            }
        }
    }

    #[test]
    fn power_mean_with_s_minus_one_is_the_harmonic_correction() {
        for w in [1e-300, 0.2, 1.0, 40.0] {
            let v = Weight::PowerMean { lambda: 0.1, s: -1.0 }.apply(f64::ln(w)).0;
            assert!((v / (w / (0.9 + 0.1 * w)) - 1.0).abs() < 1e-12);
        }
    }
}
