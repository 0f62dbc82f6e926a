//! What a log holds, whether its propensities can be densities, and which policies it can support.

mod copies;
mod drift;
mod reach;
mod rounding;

pub use drift::{Drift, Moved, drift};
pub use reach::{Reach, ReachLine, Support};
pub use rounding::Rounding;

use crate::data::{ActionQuantiles, Digest, Outcome, Propensities, Quantiles, Sample, Summaries, Summary};
use crate::error::{Error, Result};
use crate::folds::{Mass, OutcomeFacts, PropensityMass};
use crate::math;
use crate::source::Source;
use reach::Rows;
use serde::Serialize;
use std::fmt;

/// Levels at which quantiles of an action are looked at for points of a grid.
const LEVELS: usize = 500;

/// A mean of 1/p below this share of the range: the log acts in next to none of it, or densities are far too large.
const LEAST_RATIO: f64 = 0.1;

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
    /// Smallest value, quantiles 1%, 25%, 50%, 75%, 99%, largest value. Beyond 65,536 distinct values the inner ones
    /// are those of a digest, which meets a level within 0.0002.
    pub quantiles: [f64; 7],
}

/// Do the propensities integrate to one?
///
/// ```text
/// E_{a ~ p} [1{low <= a <= high} / p(a|x)] = high - low
/// ```
///
/// where the log acts anywhere between the two, so the mean of 1/p over the rows between the 1% and the 99% quantile, divided by their distance (for
/// vector actions: by the volume of the box), should be 1. A ratio of 2 says that densities are half of what they should be. Less than 1 says little: a log
/// that keeps to a part of the range in each context has no rows in the rest of it. Where actions are points of a grid, or stop at bounds, propensities may be
/// probabilities, and 1/p then averages to the number of such points, which is added to the range.
#[derive(Clone, Debug, Serialize)]
pub struct PropensityCheck {
    /// The ratio; should be about 1.
    pub ratio: f64,
    /// Its standard error.
    pub std_error: f64,
    /// Smallest and largest propensity.
    pub range: (f64, f64),
    /// Whether it is believable: at most 10% or three standard errors above 1, not less than a tenth, and not rounded coarsely.
    pub plausible: bool,
    /// How coarsely they were rounded, where that matters.
    pub rounding: Option<Rounding>,
}

/// Describes a log.
///
/// ```
/// use counterpoint::{Log, describe};
/// let n = 1000;
/// let a: Vec<f64> = (0..n).map(|i| 2.0 * (i as f64 * 0.618_033_988_75).fract()).collect();
/// let log = Log::builder().action("a", a).cost("y", vec![1.0; n]).propensity("p", vec![0.5; n]).build()?;
/// let facts = describe(&log)?;
/// assert!(facts.propensity.plausible && (facts.propensity.ratio - 1.0).abs() < 0.05);
/// println!("{facts}");
/// # Ok::<(), counterpoint::Error>(())
/// ```
pub fn describe(log: &dyn Source) -> Result<Description> {
    let schema = log.schema();
    let summaries = log.get(Summaries)?;
    if summaries.rows == 0 {
        return Err(Error::data("the log has no rows"));
    }
    let quantiles = log.get(Quantiles)?;
    let columns = |names: &[String], summaries: &[Summary], digests: &[Digest]| -> Vec<ColumnFacts> {
        let each = names.iter().zip(summaries).zip(digests);
        each.map(|((name, s), d)| ColumnFacts::new(name, s, &|level| d.quantile(level))).collect()
    };
    let contexts = columns(&schema.contexts, &summaries.contexts, &quantiles.contexts);
    let actions = columns(&schema.actions, &summaries.actions, &quantiles.actions);
    let total = summaries.cost.n;
    let outcome = match schema.direction {
        Outcome::Cost => ColumnFacts::new(&schema.outcome, &summaries.cost, &|level| quantiles.cost.quantile(level)),
        Outcome::Reward => {
            let reward = |level: f64| -quantiles.cost.quantile(1.0 - level);
            ColumnFacts::new(&schema.outcome, &summaries.cost.negated(), &reward)
        }
    };
    let nonzero = log.get(OutcomeFacts)?;
    let central: Vec<(f64, f64)> = actions.iter().map(|a| (a.quantiles[1], a.quantiles[5])).collect();
    let mass = log.get(PropensityMass { central: central.clone() })?;
    let points = point_masses(&quantiles.actions);
    let propensity = PropensityCheck::of(&mass, &central, points).logged(Rounding::of(log, summaries.rows)?);
    let sample =
        Rows::new(log.get(Sample::of(summaries.rows, reach::ROWS).without_contexts())?, total, log.schema().weighting);
    let level = |level: f64| quantiles.actions[0].quantile(level);
    let (support, reach) = (sample.support(&actions, &level), sample.reach(&actions));
    let mut warnings: Vec<String> = schema.propensities.sentence().into_iter().collect();
    warnings.extend(schema.propensities.estimated().iter().flat_map(|e| e.warnings.clone()));
    if schema.propensities == Propensities::Logged {
        warnings.extend(propensity.warning());
    }
    for c in contexts.iter().filter(|c| c.std <= 1e-12 * c.mean.abs().max(1e-300)) {
        warnings.push(format!("context {:?} does not vary and says nothing", c.name));
    }
    for c in actions.iter().filter(|c| c.std <= 1e-12 * c.mean.abs().max(1e-300)) {
        warnings.push(format!("action {:?} does not vary: nothing can be learned about others", c.name));
    }
    warnings.extend(copies::copies(log)?);
    if nonzero < 0.001 * total {
        warnings.push(format!("only {:.3}% of outcomes are not zero", 100.0 * nonzero / total));
    }
    Ok(Description {
        rows: summaries.rows as usize,
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

impl ColumnFacts {
    fn new(name: &str, s: &Summary, quantile: &dyn Fn(f64) -> f64) -> Self {
        let inner = [0.01, 0.25, 0.5, 0.75, 0.99].map(quantile);
        let quantiles = [s.min, inner[0], inner[1], inner[2], inner[3], inner[4], s.max];
        ColumnFacts { name: name.into(), mean: s.mean(), std: s.std(), quantiles }
    }
}

/// Whether the propensities of a log can be densities: what [`describe`] says of them, without the rest.
pub fn check_propensities(log: &dyn Source) -> Result<PropensityCheck> {
    let actions = log.get(ActionQuantiles)?;
    let central: Vec<(f64, f64)> = actions.iter().map(|a| (a.quantile(0.01), a.quantile(0.99))).collect();
    let rounding = Rounding::of(log, log.get(Summaries)?.rows)?;
    let points = point_masses(&actions);
    let mass = log.get(PropensityMass { central: central.clone() })?;
    Ok(PropensityCheck::of(&mass, &central, points).logged(rounding))
}

/// How many values between the 1% and the 99% quantile of the action have a probability of their own: the points of a grid, or bounds and defaults that many
/// rows share; none is known of several actions.
fn point_masses(actions: &[Digest]) -> usize {
    let [action] = actions else { return 0 };
    let level = |k: usize| 0.01 + 0.98 * k as f64 / (LEVELS - 1) as f64;
    let values: Vec<f64> = (0..LEVELS).map(|k| action.quantile(level(k))).collect();
    // between two points of a grid a quantile may lie anywhere
    let shared = |least: usize| -> Vec<usize> {
        values.chunk_by(|a, b| a == b).map(<[f64]>::len).filter(|n| *n >= least).collect()
    };
    let points = shared(2);
    let grid = points.iter().sum::<usize>() * 10 >= LEVELS * 9;
    if grid { points.len() } else { shared(LEVELS / 50).len() }
}

impl PropensityCheck {
    /// What to know about densities that are not believable; nothing where they are.
    pub fn warning(&self) -> Option<String> {
        if let Some(rounding) = &self.rounding {
            return Some(rounding.warning());
        }
        if !self.ratio.is_finite() {
            return Some("propensities do not look like densities: some are so small that 1/p is no number".into());
        }
        (!self.plausible).then(|| {
            format!(
                "propensities do not look like densities: 1/p averages to {:.2} times the range of the actions (should be {})",
                self.ratio,
                if self.ratio < 1.0 { "1, less where the log keeps to a part of it, but hardly so much less" } else { "1" }
            )
        })
    }

    /// The check over a box: for each action where its central range begins and ends, and how many actions have a probability of their own.
    pub(crate) fn of(mass: &Mass, central: &[(f64, f64)], points: usize) -> Self {
        let s = &mass.inverse;
        let far = |volume: f64| math::ln(s.mean() / volume).abs();
        let length: f64 = central.iter().map(|(low, high)| high - low).product();
        // propensities may be densities, probabilities, or either by action
        let volumes = [length, points as f64, length + points as f64];
        let nearer = |a: f64, b: f64| if b > 0.0 && far(b) < far(a) { b } else { a };
        let volume = volumes.into_iter().fold(length, nearer);
        let (ratio, std_error) = (s.mean() / volume, s.std() / s.n.sqrt() / volume);
        let check = PropensityCheck { ratio, std_error, range: mass.range, plausible: false, rounding: None };
        PropensityCheck { plausible: volume > 0.0 && (ratio - 1.0).abs() <= check.tolerance(), ..check }
    }

    fn tolerance(&self) -> f64 {
        (3.0 * self.std_error).max(0.1)
    }

    /// The same for densities that were logged: the rows a log lacks where it does not act in all contexts are no fault of theirs.
    fn logged(self, rounding: Option<Rounding>) -> Self {
        let believable = self.ratio >= LEAST_RATIO && self.ratio <= 1.0 + self.tolerance();
        PropensityCheck { plausible: believable && rounding.is_none(), rounding, ..self }
    }
}

/// The log in a few lines: rows, columns, whether propensities can be densities, warnings.
impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = match self.direction {
            Outcome::Reward => "reward",
            Outcome::Cost => "cost",
        };
        writeln!(f, "{} rows, {} contexts, {} actions", self.rows, self.contexts.len(), self.actions.len())?;
        let groups = [
            ("context", &self.contexts[..]),
            ("action", &self.actions),
            (direction, std::slice::from_ref(&self.outcome)),
        ];
        for (role, c) in groups.iter().flat_map(|(role, columns)| columns.iter().map(move |c| (role, c))) {
            let [min, .., max] = c.quantiles;
            writeln!(f, "{role:<8} {:<20} mean {:.4}, std {:.4}, {min:.4} to {max:.4}", c.name, c.mean, c.std)?;
        }
        let p = &self.propensity;
        let word = if p.plausible { "plausible" } else { "not plausible" };
        write!(f, "propensities integrate to {:.3} ± {:.3}: {word} densities", p.ratio, p.std_error)?;
        self.warnings.iter().try_for_each(|w| write!(f, "\nwarning: {w}"))
    }
}
