//! A loss model that was fitted elsewhere, by what it predicts in the rows of a log.
//!
//! Trees, networks and services of others cannot be asked from inside a sum over rows. So they are asked before: in every row at a list
//! of actions, the knots, and where that is not enough at the logged action itself. Between two knots a prediction is the straight line,
//! beyond the outer ones it stays what it is there; expectations under a policy are those of that curve.

use crate::data::Outcome;
use crate::error::{Error, Result};

/// Predicted costs in the rows of a log, by row number: at knots, and perhaps at the logged action.
///
/// Predictions of a row must come from a model that was not fitted on it, or on its cluster: what is said of errors rests on that.
///
/// ```
/// use counterpoint::data::Outcome;
/// use counterpoint::estimate::Predictions;
/// // two rows, three knots; a reward is a negative cost
/// let p = Predictions::new(Outcome::Reward, vec![0.0, 1.0, 3.0], vec![0.0, 2.0, 4.0, 1.0, 1.0, 1.0])?;
/// let at = |a: f64| p.along(p.curve(0), a);
/// assert_eq!([-1.0, 0.5, 2.0, 9.0].map(at), [0.0, -1.0, -3.0, -4.0]);
/// assert_eq!(p.logged(1, 0.3), -1.0);
/// # Ok::<(), counterpoint::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Predictions {
    knots: Vec<f64>,
    /// Row by row, one value a knot.
    costs: Vec<f64>,
    /// At the logged actions, where these were asked for.
    logged: Option<Vec<f64>>,
}

impl Predictions {
    /// Predictions of an outcome of this direction: row by row, one value a knot. Knots ascend.
    pub fn new(direction: Outcome, knots: Vec<f64>, values: Vec<f64>) -> Result<Self> {
        let ascending = knots.windows(2).all(|k| k[0] < k[1]) && knots.iter().all(|k| k.is_finite());
        if knots.len() < 2 || !ascending {
            return Err(Error::data(
                "the actions at which a model is asked must be two or more, each larger than the last",
            ));
        }
        if !values.len().is_multiple_of(knots.len()) {
            return Err(Error::data(format!(
                "{} predictions are none for each of {} actions",
                values.len(),
                knots.len()
            )));
        }
        finite(&values, knots.len())?;
        let costs = values.into_iter().map(|v| direction.to_user(v)).collect();
        Ok(Predictions { knots, costs, logged: None })
    }

    /// With the predictions at the logged actions, one a row: exact where a straight line between knots is not.
    pub fn with_logged(mut self, direction: Outcome, values: Vec<f64>) -> Result<Self> {
        if values.len() != self.rows() {
            let (given, rows) = (values.len(), self.rows());
            return Err(Error::data(format!("{given} predictions at logged actions, {rows} rows of predictions")));
        }
        finite(&values, 1)?;
        self.logged = Some(values.into_iter().map(|v| direction.to_user(v)).collect());
        Ok(self)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.costs.len() / self.knots.len()
    }

    /// The actions at which the model was asked.
    pub fn knots(&self) -> &[f64] {
        &self.knots
    }

    /// The costs at the knots in the row of this number.
    pub fn curve(&self, row: u64) -> &[f64] {
        let k = self.knots.len();
        &self.costs[row as usize * k..(row as usize + 1) * k]
    }

    /// The cost at the logged action a of the row of this number.
    pub fn logged(&self, row: u64, a: f64) -> f64 {
        self.logged.as_ref().map_or_else(|| self.along(self.curve(row), a), |v| v[row as usize])
    }

    /// A curve at any action.
    pub fn along(&self, curve: &[f64], a: f64) -> f64 {
        let above = self.knots.partition_point(|k| *k <= a);
        match above {
            0 => curve[0],
            n if n == self.knots.len() => curve[n - 1],
            n => {
                let (low, high) = (self.knots[n - 1], self.knots[n]);
                curve[n - 1] + (curve[n] - curve[n - 1]) * (a - low) / (high - low)
            }
        }
    }

    /// The mean of a curve over actions between low and high: the area below its pieces.
    pub fn mean_between(&self, curve: &[f64], low: f64, high: f64) -> f64 {
        let first = self.knots.partition_point(|k| *k <= low);
        let last = self.knots.partition_point(|k| *k < high);
        let (mut area, mut a, mut f) = (0.0, low, self.along(curve, low));
        let inside = self.knots[first..last.max(first)].iter().zip(&curve[first..last.max(first)]);
        for (k, v) in inside.map(|(k, v)| (*k, *v)).chain([(high, self.along(curve, high))]) {
            area += 0.5 * (f + v) * (k - a);
            (a, f) = (k, v);
        }
        area / (high - low)
    }
}

fn finite(values: &[f64], a_row: usize) -> Result<()> {
    match values.iter().position(|v| !v.is_finite()) {
        Some(i) => Err(Error::data(format!("a prediction of {} is none", values[i]))
            .at(format!("row {}", i / a_row + 1))
            .hint("the model must predict a number for every row and action")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_between_two_actions_is_an_integral() {
        let p = Predictions::new(Outcome::Cost, vec![0.0, 1.0, 1.5, 4.0], vec![1.0, -2.0, 0.5, 3.0]).unwrap();
        let n = 100_000;
        for (low, high) in [(-1.0, 5.0), (0.2, 0.9), (0.0, 1.0), (1.0, 1.5), (1.2, 3.9), (-3.0, -1.0), (4.0, 5.0)] {
            let at = |i: i32| p.along(p.curve(0), low + (high - low) * (f64::from(i) + 0.5) / f64::from(n));
            let mean = (0..n).map(at).sum::<f64>() / f64::from(n);
            let found = p.mean_between(p.curve(0), low, high);
            assert!((found - mean).abs() < 1e-8, "[{low}, {high}]: {found} {mean}");
        }
    }

    #[test]
    fn predictions_that_are_none_are_refused() {
        let of = |knots: &[f64], values: &[f64]| Predictions::new(Outcome::Cost, knots.to_vec(), values.to_vec());
        assert!(of(&[0.0], &[1.0]).is_err() && of(&[1.0, 1.0], &[1.0, 1.0]).is_err());
        assert!(of(&[0.0, 1.0], &[1.0, 2.0, 3.0]).is_err());
        let refused = of(&[0.0, 1.0], &[1.0, 2.0, 3.0, f64::NAN]).unwrap_err().to_string();
        assert!(refused.contains("row 2"), "{refused}");
        assert!(of(&[0.0, 1.0], &[1.0, 2.0]).unwrap().with_logged(Outcome::Cost, vec![1.0, 2.0]).is_err());
    }
}
