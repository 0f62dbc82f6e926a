//! What a model of others predicts, by columns of the log.
//!
//! Such a model was asked before, in every row at a list of actions, the knots; its answers are the last contexts of a row. Between two knots
//! a prediction is the straight line, beyond the outer ones it stays what it is there.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// A curve through the last contexts of a row, without unit: scale * value + shift.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Predicted {
    /// Where the model was asked, ascending; the last contexts of a row are its answers.
    pub knots: Vec<f64>,
    /// Turns an answer into a cost without unit; negative for rewards.
    pub scale: f64,
    /// And moves it.
    pub shift: f64,
}

impl Predicted {
    /// q(x, a).
    pub fn at(&self, x: &[f64], a: f64) -> f64 {
        let (g, f) = (&self.knots, &x[x.len() - self.knots.len()..]);
        let above = g.partition_point(|k| *k <= a);
        let value = match above {
            0 => f[0],
            n if n == g.len() => f[n - 1],
            n => f[n - 1] + (f[n] - f[n - 1]) * (a - g[n - 1]) / (g[n] - g[n - 1]),
        };
        self.scale * value + self.shift
    }

    /// q(x, g) for each of these ascending actions.
    pub fn at_knots(&self, x: &[f64], knots: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(knots).for_each(|(o, a)| *o = self.at(x, *a));
    }

    /// Refuses knots that do not ascend, or more of them than `d` contexts.
    pub fn check(&self, d: usize) -> Result<()> {
        let ascending = self.knots.windows(2).all(|k| k[0] < k[1]) && self.knots.iter().all(|k| k.is_finite());
        let numbers = self.scale.is_finite() && self.scale != 0.0 && self.shift.is_finite();
        match self.knots.len() >= 2 && self.knots.len() <= d && ascending && numbers {
            true => Ok(()),
            false => Err(Error::policy("the columns of predictions that it follows are damaged")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_straight_between_knots_and_flat_beyond() {
        let rewards = Predicted { knots: vec![0.0, 1.0, 3.0], scale: -2.0, shift: 1.0 };
        let x = [9.0, 9.0, 0.0, 2.0, 4.0]; // two contexts, three answers
        let at = |a: f64| rewards.at(&x, a);
        assert_eq!([-1.0, 0.5, 2.0, 9.0].map(at), [1.0, -1.0, -5.0, -7.0]);
        let mut out = [0.0; 2];
        rewards.at_knots(&x, &[0.5, 2.0], &mut out);
        assert_eq!(out, [-1.0, -5.0]);
        assert!(rewards.check(5).is_ok() && rewards.check(2).is_err());
        assert!(Predicted { knots: vec![1.0, 1.0], ..rewards }.check(5).is_err());
    }
}
