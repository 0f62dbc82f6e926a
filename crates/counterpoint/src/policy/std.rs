//! The standard deviation of a policy: learned, fixed, or that of the log.
//!
//! theta holds t = ln std, so that no bound constraint is needed, and a floor keeps the policy from collapsing onto
//! single actions. The floor enters smoothly,
//!
//! ```text
//! std = sqrt(exp(2 t) + floor^2)
//! ```
//!
//! because a hard maximum would leave the optimiser without a slope at the floor. Without a floor theta is ln std.

use crate::error::{Error, Result};
use crate::math;
use serde::{Deserialize, Serialize};

/// The standard deviations of a policy, one an action column, and whether they are parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Std {
    /// A parameter: the last q entries of theta.
    Learned {
        /// No std falls below this.
        floor: Vec<f64>,
    },
    /// Given once and for all (also for `logging`: the std of the logged actions).
    Fixed {
        /// The value, one an action column.
        value: Vec<f64>,
    },
}

impl Std {
    /// How many entries of theta it takes.
    pub fn parameters(&self) -> usize {
        match self {
            Std::Learned { floor } => floor.len(),
            Std::Fixed { .. } => 0,
        }
    }

    /// The std and d std / d t for each column; `tail` is the end of theta.
    pub fn apply(&self, tail: &[f64], std: &mut [f64], slope: &mut [f64]) {
        match self {
            Std::Learned { floor } => {
                for c in 0..floor.len() {
                    let e = math::exp(tail[c]);
                    std[c] = math::hypot(e, floor[c]);
                    slope[c] = if floor[c] == 0.0 { e } else { e * (e / std[c]) };
                }
            }
            Std::Fixed { value } => {
                std.copy_from_slice(value);
                slope.fill(0.0);
            }
        }
    }

    /// The entries of theta that give these stds.
    pub fn invert(&self, std: &[f64]) -> Result<Vec<f64>> {
        match self {
            Std::Fixed { .. } => Ok(Vec::new()),
            Std::Learned { floor } => std
                .iter()
                .zip(floor)
                .map(|(&s, &f)| {
                    if s > f {
                        Ok(0.5 * math::ln((s - f) * (s + f)))
                    } else {
                        Err(Error::recipe("std.floor", format!("a std of {s} is not above the floor of {f}"))
                            .hint("lower the floor"))
                    }
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inversion_and_slope() {
        for floor in [0.0, 0.05] {
            let std = Std::Learned { floor: vec![floor] };
            let t = std.invert(&[0.3]).unwrap();
            let (mut s, mut d) = ([0.0], [0.0]);
            std.apply(&t, &mut s, &mut d);
            assert!((s[0] - 0.3).abs() < 1e-15);
            let (mut up, mut down, mut sink) = ([0.0], [0.0], [0.0]);
            std.apply(&[t[0] + 1e-6], &mut up, &mut sink);
            std.apply(&[t[0] - 1e-6], &mut down, &mut sink);
            assert!((d[0] - (up[0] - down[0]) / 2e-6).abs() < 1e-9);
            std.apply(&[-800.0], &mut s, &mut d);
            assert!(s[0] >= floor);
        }
        assert!(Std::Learned { floor: vec![0.5] }.invert(&[0.4]).is_err());
    }
}
