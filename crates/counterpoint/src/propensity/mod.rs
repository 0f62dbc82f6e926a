//! With which density was it done? A generalised propensity score for logs that have none.
//!
//! [`fit`] regresses each action on the contexts, as a normal law of a or of ln a:
//!
//! ```text
//! t = a or ln a,   t | x ~ N(m(x), s(x)^2),   m = <beta, psi(x)>,   ln s = <gamma, (x, 1)> or constant
//! p(a|x) = N(t; m(x), s(x)^2) |dt/da|,        vector actions: the product over components
//! ```
//!
//! psi is constant, linear or quadratic. Family, psi and the form of s are chosen by the log density out of fold. The
//! estimate is cross-fitted: rows are dealt into [`FOLDS`] folds by a hash of their number, and the density of a row comes
//! from the fit without its fold. So a row cannot pull its own density up, which would pull its weight down.
//!
//! All rows of the log take part, those of the test part too: outcomes are not looked at, so nothing about the value of any
//! policy is learned here.
//!
//! What cannot be checked: whether something outside the contexts moved both action and outcome. What can be checked is
//! checked (`check`), in words; where no density of this kind can be right the log is refused. Every later result says that
//! it rests on an estimate.

mod cells;
mod check;
mod regress;
mod spread;

pub use crate::folds::FOLDS;

use crate::data::{ActionModel, BareLog, Columns, Estimated, Log, Sample, Summaries};
use crate::engine::Engine;
use crate::error::Result;
use crate::features::{ContextMap, Scale, Scaler};
use crate::folds::{Densities, Density, FoldGrams, Frame, Target, TargetScales};
use crate::source::Source;
use regress::Grams;
use serde::{Deserialize, Serialize};

/// A quadratic map wider than this would take longer than everything after it.
const WIDEST: usize = 256;

/// Rows a feature at least.
const ROWS_A_FEATURE: usize = 10;

/// Estimates the propensities of a log that has none.
///
/// ```
/// use counterpoint::policy::Family;
/// use counterpoint::{Engine, Log, Policy, propensity};
/// // logged by a policy that is known here, so that the estimate can be compared
/// let n = 4000;
/// let logging = Policy::constant(Family::LogNormal, &[], &["a"], &[2.0], &[1.0])?;
/// let drawn: Vec<_> = (0..n).map(|i| logging.sample(&[], 1, i)).collect();
/// let bare = Log::builder().action("a", drawn.iter().map(|d| d.0[0]).collect()).reward("r", vec![1.0; n as usize])
///     .build_bare()?;
/// let log = propensity::fit(&Engine::single(), bare)?;
/// let facts = log.schema().propensities.estimated().unwrap();
/// assert_eq!(facts.actions[0].family, "lognormal");
/// let estimated = log.blocks().iter().flat_map(|b| &b.log_p);
/// let error = drawn.iter().zip(estimated).map(|(d, e)| (d.1 - e).powi(2)).sum::<f64>() / n as f64;
/// assert!(error < 0.01);
/// # Ok::<(), counterpoint::Error>(())
/// ```
pub fn fit(engine: &Engine, bare: BareLog) -> Result<Log> {
    let fitted = estimate(&bare.log().on(engine))?;
    let log_p = engine.map(bare.log().blocks(), |b| fitted.densities.log_densities(b));
    Ok(bare.with_densities(log_p).estimated(fitted.facts))
}

/// A model of the logging policy: what gives every row its density, and what speaks for and against it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fitted {
    /// What computes the densities, row by row.
    pub(crate) densities: Densities,
    /// What was found.
    pub facts: Estimated,
}

/// Estimates the model of [`fit`] from rows without propensities, wherever they are; their own densities are not looked at.
///
/// Densities of rows elsewhere stay there: [`Shards::with_densities`](crate::source::Shards::with_densities) has them computed.
pub fn estimate(bare: &dyn Source) -> Result<Fitted> {
    let schema = bare.schema();
    let columns = bare.get(Summaries)?;
    let sample = bare.get(Sample::of(columns.rows, check::SAMPLE).without_contexts())?;
    let atoms = check::atoms(columns.rows, &sample, &schema.actions)?;
    let targets = TargetScales::targets(&bare.get(TargetScales)?);
    let (frame, maps) = frame(&columns, targets);
    let question = FoldGrams { frame };
    let grams = Grams::new(&question, columns.rows, bare.get(question.clone())?);
    let frame = question.frame;
    let models: Vec<Model> =
        (0..schema.actions.len()).map(|c| choose(bare, (&frame, &maps), &grams, c)).collect::<Result<_>>()?;
    let facts = models.iter().map(|m| m.facts(&schema.actions[m.density.target.action])).collect();
    let densities = Densities {
        frame,
        models: models.into_iter().map(|m| m.density).collect(),
        central: atoms.iter().map(|a| a.central).collect(),
    };
    let fit = bare.get(densities.clone())?;
    check::representable(&fit.residuals)?;
    let mut facts = check::judge(columns.rows, &schema.contexts, facts, &fit, &atoms)?;
    if !schema.contexts.is_empty() {
        let looked = bare.get(Sample::of(columns.rows, cells::LOOKED_AT))?;
        let residuals = densities.residuals(&looked.block(schema.contexts.len(), schema.actions.len()));
        facts.warnings.extend(cells::check(&looked.x, &schema.contexts, &schema.actions, &residuals)?);
    }
    Ok(Fitted { densities, facts })
}

/// A map to compare: its name and its number of columns.
type MapWidth = (&'static str, usize);

/// The frame with the widest map that the rows can pay for, and the maps to compare.
fn frame(columns: &Columns, targets: Vec<Target>) -> (Frame, Vec<MapWidth>) {
    let (d, rows) = (columns.contexts.len(), columns.rows as usize);
    let widths = [ContextMap::Constant, ContextMap::Linear, ContextMap::Quadratic].map(|m| (m.dim(d), m));
    let affordable = |m: usize| m == 1 || (m <= rows / ROWS_A_FEATURE && (m == d + 1 || m <= WIDEST));
    let mut maps = vec![("constant", 1)];
    let mut map = ContextMap::Constant;
    for (name, (width, kind)) in ["constant", "linear", "quadratic"].into_iter().zip(widths).skip(1) {
        if d > 0 && affordable(width) {
            maps.push((name, width));
            map = kind;
        }
    }
    (Frame { scaler: Scaler::learn(Scale::Standard, &columns.contexts), map, targets }, maps)
}

/// The model of one action, and what is known of it.
struct Model {
    density: Density,
    mean: &'static str,
    explained: f64,
    compared: Vec<(String, f64)>,
}

impl Model {
    /// What is known before the checks.
    fn facts(&self, action: &str) -> ActionModel {
        let std = if self.density.gamma[0].len() > 1 { "log-linear" } else { "constant" };
        ActionModel {
            action: action.into(),
            family: self.density.target.family.name().into(),
            mean: self.mean.into(),
            std: std.into(),
            explained: self.explained,
            residual: (1.0 - self.explained).max(0.0).sqrt() * self.density.target.unit,
            compared: self.compared.clone(),
            kolmogorov: 0.0,
            mean_left: None,
            spread_left: None,
            extreme: 0.0,
            atom: (0.0, 0.0),
        }
    }
}

/// The best of all models of action c by log density out of fold; of equals, the simplest.
fn choose(source: &dyn Source, (frame, maps): (&Frame, &[MapWidth]), grams: &Grams, c: usize) -> Result<Model> {
    let mut best: Option<(f64, Model)> = None;
    let mut compared = Vec::new();
    for (t, target) in frame.targets.iter().enumerate().filter(|(_, t)| t.action == c) {
        let mut fits = Vec::new();
        for &(name, width) in maps {
            let fit = grams.regress(t, width)?;
            let score = fit.score + target.mean_log_slope();
            compared.push((format!("{}, {name} mean, constant std", target.family.name()), score));
            fits.push((score, name, fit));
        }
        // the last of equal maxima would be the widest: compare strictly
        let (score, mean, fit) = fits.into_iter().reduce(|a, b| if b.0 > a.0 { b } else { a }).unwrap_or_default();
        check::random_enough(&fit, &source.schema().actions[c])?;
        let (mut gamma, mut score) = (fit.ln_s.iter().map(|s| vec![*s]).collect(), score);
        // columns of (x, 1), if contexts are used at all
        if let Some(&(_, width)) = maps.get(1) {
            let (bent, gain) = spread::fit(source, frame, grams, (target, &fit), width)?;
            compared.push((format!("{}, {mean} mean, log-linear std", target.family.name()), score + gain));
            if gain > 0.0 {
                (gamma, score) = (bent, score + gain);
            }
        }
        if best.as_ref().is_none_or(|(b, _)| score > *b) {
            let explained = 1.0 - fit.squares;
            let density = Density { target: *target, beta: fit.beta, gamma };
            best = Some((score, Model { density, mean, explained, compared: vec![] }));
        }
    }
    // every action has at least the normal target
    let (_, mut model) = best.ok_or_else(|| crate::Error::data("the log has no action column"))?;
    model.compared = compared;
    Ok(model)
}
