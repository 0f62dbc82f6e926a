//! What a log holds, whether its propensities can be densities, and which policies it can support.

mod reach;

pub use reach::{Reach, ReachLine, Support};

use crate::data::{Log, Outcome, Propensities, Summary};
use crate::error::Result;
use crate::features::anchors::quantile_sorted;
use reach::Sample;
use serde::Serialize;

/// A log in figures.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    /// Rows.
    pub rows: usize,
    /// Sum of row weights.
    pub total_weight: f64,
    /// Context columns.
    pub contexts: Vec<ColumnFacts>,
    /// Action columns.
    pub actions: Vec<ColumnFacts>,
    /// The outcome, on the user's scale.
    pub outcome: ColumnFacts,
    /// Its direction.
    pub direction: Outcome,
    /// Share of rows whose outcome is not 0.
    pub nonzero: f64,
    /// Whether the propensities can be densities.
    pub propensity: PropensityCheck,
    /// Where they come from.
    pub propensities: Propensities,
    /// What policies the log can support, around typical actions.
    pub support: Vec<Support>,
    /// How far the mean of a policy may move.
    pub reach: Reach,
    /// Things to look at before believing anything.
    pub warnings: Vec<String>,
}

/// One column in figures.
#[derive(Clone, Debug, Serialize)]
pub struct ColumnFacts {
    /// Its name.
    pub name: String,
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub std: f64,
    /// Smallest value, quantiles 1%, 25%, 50%, 75%, 99%, largest value. Beyond a million rows, quantiles of every k-th row.
    pub quantiles: [f64; 7],
}

/// Do the propensities integrate to one?
///
/// ```text
/// E_{a ~ p} [1{low <= a <= high} / p(a|x)] = high - low
/// ```
///
/// whatever the context, so the mean of 1/p over the rows between the 1% and the 99% quantile, divided by their distance (for
/// vector actions: by the volume of the box), should be 1. A ratio of 2 says that densities are half of what they should be.
#[derive(Clone, Debug, Serialize)]
pub struct PropensityCheck {
    /// The ratio; should be about 1.
    pub ratio: f64,
    /// Its standard error.
    pub std_error: f64,
    /// Smallest and largest propensity.
    pub range: (f64, f64),
    /// Whether it is believable: within 10% or three standard errors of 1.
    pub plausible: bool,
}

/// Above this many rows quantiles are taken from every k-th row: sorting ten million values a column would take longer than
/// everything else.
const SORTED: usize = 1_000_000;

/// Describes a log.
///
/// ```
/// use counterpoint::{Log, describe};
/// let n = 1000;
/// let a: Vec<f64> = (0..n).map(|i| 2.0 * (i as f64 * 0.618_033_988_75).fract()).collect();
/// let log = Log::builder().action("a", a).cost("y", vec![1.0; n]).propensity("p", vec![0.5; n]).build()?;
/// let facts = describe(&log)?;
/// assert!(facts.propensity.plausible && (facts.propensity.ratio - 1.0).abs() < 0.05);
/// # Ok::<(), counterpoint::Error>(())
/// ```
pub fn describe(log: &Log) -> Result<Description> {
    let schema = log.schema();
    let column = |pick: &dyn Fn(&crate::data::Block) -> Vec<f64>| -> Vec<f64> {
        let step = log.rows().div_ceil(SORTED).max(1);
        let mut v: Vec<f64> = log.blocks().iter().flat_map(pick).step_by(step).collect();
        v.sort_by(f64::total_cmp);
        v
    };
    let facts = |name: &str, s: &Summary, sorted: &[f64]| ColumnFacts {
        name: name.into(),
        mean: s.mean(),
        std: s.std(),
        quantiles: {
            let inner = [0.01, 0.25, 0.5, 0.75, 0.99].map(|l| quantile_sorted(sorted, l));
            [s.min, inner[0], inner[1], inner[2], inner[3], inner[4], s.max]
        },
    };
    let sorted_actions: Vec<Vec<f64>> = (0..log.q()).map(|c| column(&|b| b.a[c].to_vec())).collect();
    let actions: Vec<ColumnFacts> = log
        .action_summaries()
        .iter()
        .enumerate()
        .map(|(c, s)| facts(&schema.actions[c], s, &sorted_actions[c]))
        .collect();
    let contexts: Vec<ColumnFacts> = log
        .context_summaries()
        .iter()
        .enumerate()
        .map(|(j, s)| facts(&schema.contexts[j], s, &column(&|b| b.x[j].to_vec())))
        .collect();
    let sign = schema.direction.to_user(1.0);
    let mut outcomes = Summary::default();
    let (mut nonzero, mut total) = (0.0, 0.0);
    for b in log.blocks() {
        for (y, w) in b.y.iter().zip(&b.omega) {
            outcomes.add(sign * y, *w);
            total += w;
            nonzero += if *y != 0.0 { *w } else { 0.0 };
        }
    }
    let outcome = facts(&schema.outcome, &outcomes, &column(&|b| b.y.iter().map(|y| sign * y).collect()));
    let central: Vec<(f64, f64)> = actions.iter().map(|a| (a.quantiles[1], a.quantiles[5])).collect();
    let propensity = propensity_check(log, &central);
    let sample = Sample::of(log, total);
    let (support, reach) = (sample.support(&actions, &sorted_actions[0]), sample.reach(&actions));
    let mut warnings: Vec<String> = schema.propensities.sentence().into_iter().collect();
    warnings.extend(schema.propensities.estimated().iter().flat_map(|e| e.warnings.clone()));
    if !propensity.plausible && schema.propensities == Propensities::Logged {
        warnings.push(format!(
            "propensities do not look like densities: 1/p averages to {:.2} times the range of the actions (should be 1)",
            propensity.ratio
        ));
    }
    for c in contexts.iter().filter(|c| c.std <= 1e-12 * c.mean.abs().max(1e-300)) {
        warnings.push(format!("context {:?} does not vary and says nothing", c.name));
    }
    for c in actions.iter().filter(|c| c.std <= 1e-12 * c.mean.abs().max(1e-300)) {
        warnings.push(format!("action {:?} does not vary: nothing can be learned about others", c.name));
    }
    if nonzero < 0.001 * total {
        warnings.push(format!("only {:.3}% of outcomes are not zero", 100.0 * nonzero / total));
    }
    Ok(Description {
        rows: log.rows(),
        total_weight: total,
        contexts,
        actions,
        outcome,
        direction: schema.direction,
        nonzero: nonzero / total,
        propensity,
        propensities: schema.propensities.clone(),
        support,
        reach,
        warnings,
    })
}

/// The check over a box: for each action where its central range begins and ends.
pub(crate) fn propensity_check(log: &Log, central: &[(f64, f64)]) -> PropensityCheck {
    let volume: f64 = central.iter().map(|(low, high)| high - low).product();
    let mut s = Summary::default();
    let (mut low, mut high) = (f64::INFINITY, 0f64);
    for b in log.blocks() {
        for i in 0..b.rows() {
            let p = b.log_p[i].exp();
            (low, high) = (low.min(p), high.max(p));
            let inside = central.iter().enumerate().all(|(c, (low, high))| (*low..=*high).contains(&b.a[c][i]));
            s.add(if inside { 1.0 / p } else { 0.0 }, b.omega[i]);
        }
    }
    let (ratio, std_error) = (s.mean() / volume, s.std() / s.n.sqrt() / volume);
    let plausible = volume > 0.0 && (ratio - 1.0).abs() <= (3.0 * std_error).max(0.1);
    PropensityCheck { ratio, std_error, range: (low, high), plausible }
}
