//! What the weights of rows mean: how many equal rows a row stands for, or how rarely rows like it were kept.

use serde::{Deserialize, Serialize};

/// What row weights mean.
///
/// Both make a row of weight 2 count twice in every mean. They differ in what a standard error is made of. Counts are frequencies: a row
/// of count 2 is two equal rows, and n is the sum of the counts. Sampling weights are inverse probabilities of being kept (negatives
/// thinned out tenfold have weight 10): there is still one row, so n is the number of rows, the unit of the weights cancels,
/// and a row adds the square of its weight to a variance:
///
/// ```text
/// mean = sum s y / sum s,   se^2 = sum s^2 (y - mean)^2 / (sum s)^2,   n_eff = (sum s w)^2 / sum s^2 w^2
/// ```
///
/// ```
/// use counterpoint::policy::Family;
/// use counterpoint::{Estimator, Log, Policy, evaluate};
/// let log = |weights: Vec<f64>| Log::builder().action("a", vec![0.5, 1.0, 2.0]).cost("y", vec![1.0, 2.0, 6.0])
///     .propensity("p", vec![0.2, 0.2, 0.2]).weight("kept", weights).build();
/// let policy = Policy::constant(Family::Normal, &[], &["a"], &[1.0], &[1.0])?;
/// let [one, hundred] = [1.0, 100.0].map(|unit| evaluate(&log(vec![unit, 2.0 * unit, unit])?, &policy, &Estimator::SNIPS));
/// let (one, hundred) = (one?, hundred?);
/// assert!((one.estimate - hundred.estimate).abs() < 1e-12 && (one.std_error - hundred.std_error).abs() < 1e-12);
/// # Ok::<(), counterpoint::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weighting {
    /// Frequencies, whole numbers: so many equal rows.
    #[default]
    Counts,
    /// Sampling weights, in any unit. Inside a log their mean is 1.
    Sampling,
}

impl Weighting {
    /// What a row of this weight adds to a variance, in squares of its influence.
    pub fn squared(self, weight: f64) -> f64 {
        match self {
            Weighting::Counts => weight,
            Weighting::Sampling => weight * weight,
        }
    }

    /// (multiplier, times): how a row enters a resample. Counts are drawn as so many rows, a sampled row as one that brings its weight.
    pub(crate) fn draw(self, weight: f64) -> (f64, f64) {
        match self {
            Weighting::Counts => (1.0, weight),
            Weighting::Sampling => (weight, if weight > 0.0 { 1.0 } else { 0.0 }),
        }
    }
}
