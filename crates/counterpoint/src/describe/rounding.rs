//! Densities that were rounded before they were written down.
//!
//! A weight is one over a density, so a density of .14 that is logged as .1 makes a row count 1.4 times. Rounding shows: many different
//! actions share few densities, and all of them are multiples of one step.

use crate::data::Sample;
use crate::error::Result;
use crate::math;
use crate::source::Source;
use serde::Serialize;

/// Rows that are looked at.
const ROWS: usize = 8192;

/// Fewer rows show nothing.
const LEAST: usize = 100;

/// Fewer different densities may be a design: uniform within a few segments.
const DESIGNED: usize = 4;

/// So many different actions share a density.
const SHARED: usize = 10;

/// Half a step, as a share of a density, on average: less does no harm.
const COARSE: f64 = 0.02;

/// How coarsely propensities were rounded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rounding {
    /// Every density is a multiple of this.
    pub step: f64,
    /// Different densities.
    pub values: usize,
    /// Half a step as a share of a density, on average over the rows: how far weights are off.
    pub error: f64,
}

impl Rounding {
    /// Looks at the densities of a log; nothing where they were not rounded, or too finely to matter.
    pub fn of(log: &dyn Source, rows: u64) -> Result<Option<Rounding>> {
        let q = log.schema().actions.len();
        let sample = log.get(Sample::of(rows, ROWS).without_contexts())?;
        let p: Vec<f64> = sample.log_p.iter().map(|l| math::exp(*l)).collect();
        if p.len() < LEAST {
            return Ok(None);
        }
        let actions = distinct((0..p.len()).map(|i| sample.a[i * q]).collect());
        let values = distinct(p.clone());
        if values <= DESIGNED || SHARED * values > actions {
            return Ok(None);
        }
        let whole = |step: f64| p.iter().all(|p| (p / step - (p / step).round()).abs() < 1e-6);
        let Some(step) = [1.0, 0.5, 0.1, 0.05, 0.01, 0.001].into_iter().find(|s| whole(*s)) else { return Ok(None) };
        let error = p.iter().map(|p| 0.5 * step / p).sum::<f64>() / p.len() as f64;
        Ok((error > COARSE).then_some(Rounding { step, values, error }))
    }

    /// What to know about it.
    pub fn warning(&self) -> String {
        format!(
            "propensities were rounded: {} different ones, all multiples of {}; weights are off by up to {:.0}% on average. Log them \
             with all their digits",
            self.values,
            self.step,
            100.0 * self.error
        )
    }
}

/// How many of them differ; densities that differ by rounding of a logarithm do not.
fn distinct(mut v: Vec<f64>) -> usize {
    v.sort_by(f64::total_cmp);
    v.dedup_by(|a, b| (*a - *b).abs() <= 1e-12 * b.abs());
    v.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Log;

    /// Normal densities at 3,000 actions, written down by `f`.
    fn found(f: fn(f64) -> f64) -> Option<Rounding> {
        let a: Vec<f64> = (0..3000).map(|i| 3.0 * (f64::from(i) * 0.618_033_988_75).fract() - 1.5).collect();
        let p = a.iter().map(|a| f((-0.5 * a * a).exp() / 0.4)).collect();
        let log = Log::builder().action("a", a).cost("y", vec![0.0; 3000]).propensity("p", p).build().unwrap();
        Rounding::of(&log, 3000).unwrap()
    }

    #[test]
    fn coarse_rounding_is_seen_and_fine_or_none_is_not() {
        let tenths = found(|p| (10.0 * p).round() / 10.0).unwrap();
        assert_eq!(tenths.step, 0.1);
        assert!(tenths.values > 10 && tenths.error > 0.02 && tenths.warning().contains("multiples of 0.1"));
        assert_eq!(found(|p| p), None);
        assert_eq!(found(|p| (1e6 * p).round() / 1e6), None);
        // uniform on two segments
        assert_eq!(found(|p| if p > 1.0 { 0.5 } else { 0.2 }), None);
    }
}
