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

mod check;
mod regress;
mod spread;

use crate::data::{ActionModel, BareLog, Block, Log};
use crate::engine::Engine;
use crate::error::Result;
use crate::features::{ContextMap, Scale, Scaler};
use crate::policy::Family;
use crate::rng::hash;
use regress::{Grams, Target};

/// Folds of the cross-fit.
pub const FOLDS: usize = 5;

/// The seed of the folds: not that of any split.
const SEED: u64 = 0x0066_6974;

/// Pieces of the log that are added up apart. Part of the definition of the sums, so it does not depend on the machine.
const PIECES: usize = 32;

/// A quadratic map wider than this would take longer than everything after it.
const WIDEST: usize = 256;

/// Rows a feature at least.
const ROWS_A_FEATURE: usize = 10;

/// Estimates the propensities of a log that has none.
///
/// ```
/// use counterpoint::{Engine, Family, Log, Policy, propensity};
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
    let log = bare.log();
    let atoms = check::atoms(log)?;
    let frame = Frame::new(log);
    let grams = Grams::new(engine, log, &frame);
    let mut models = Vec::with_capacity(log.q());
    for c in 0..log.q() {
        models.push(choose(engine, log, &frame, &grams, c)?);
    }
    let (log_p, sums) = densities(engine, log, &frame, &models)?;
    let facts: Vec<ActionModel> = models.iter().map(|m| m.facts(&log.schema().actions[m.target.action])).collect();
    let log = bare.with_densities(log_p);
    let facts = check::judge(&log, facts, &sums, &atoms)?;
    Ok(log.estimated(facts))
}

/// The fold of a row.
fn fold(id: u64) -> usize {
    (hash(SEED, id) % FOLDS as u64) as usize
}

/// How contexts and actions become numbers. Scalings use all rows: they move no density by more than the ridge does.
struct Frame {
    scaler: Scaler,
    /// The widest map; narrower ones are its last columns.
    map: ContextMap,
    /// The maps to compare: name and number of columns.
    maps: Vec<(&'static str, usize)>,
    targets: Vec<Target>,
}

impl Frame {
    fn new(log: &Log) -> Self {
        let (d, rows) = (log.d(), log.rows());
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
        let targets = (0..log.q()).flat_map(|c| Target::of(log, c)).collect();
        Frame { scaler: Scaler::learn(Scale::Standard, &log.context_summaries()), map, maps, targets }
    }

    /// Columns of the widest map.
    fn width(&self) -> usize {
        self.maps.last().map_or(1, |m| m.1)
    }

    /// Columns of (x, 1), if contexts are used at all.
    fn linear(&self) -> Option<usize> {
        self.maps.get(1).map(|m| m.1)
    }

    /// The features of row i.
    fn features(&self, b: &Block, i: usize, x: &mut [f64], psi: &mut [f64]) {
        b.context(i, x);
        self.scaler.apply(x);
        self.map.apply(x, psi);
    }
}

/// The density of one action: a fit for each fold, made without it.
struct Model {
    target: Target,
    mean: &'static str,
    /// Coefficients of the last columns of psi, one vector a fold.
    beta: Vec<Vec<f64>>,
    /// The same for ln s.
    gamma: Vec<Vec<f64>>,
    explained: f64,
    compared: Vec<(String, f64)>,
}

impl Model {
    /// Standardised residual and log density of action `a` in fold k.
    fn at(&self, k: usize, psi: &[f64], a: f64) -> (f64, f64) {
        let ln_s = tail_product(&self.gamma[k], psi);
        let z = (self.target.value(a) - tail_product(&self.beta[k], psi)) / ln_s.exp();
        (z, -0.5 * z * z - ln_s - crate::policy::HALF_LN_2PI + self.target.log_slope(a))
    }

    /// What is known before the checks.
    fn facts(&self, action: &str) -> ActionModel {
        let std = if self.gamma[0].len() > 1 { "log-linear" } else { "constant" };
        ActionModel {
            action: action.into(),
            family: family(self.target.family).into(),
            mean: self.mean.into(),
            std: std.into(),
            explained: self.explained,
            residual: (1.0 - self.explained).max(0.0).sqrt() * self.target.unit,
            compared: self.compared.clone(),
            kolmogorov: 0.0,
            mean_left: None,
            spread_left: None,
            extreme: 0.0,
            atom: (0.0, 0.0),
        }
    }
}

fn family(f: Family) -> &'static str {
    match f {
        Family::Normal => "normal",
        Family::LogNormal => "lognormal",
    }
}

/// <b, last columns of psi>
fn tail_product(b: &[f64], psi: &[f64]) -> f64 {
    b.iter().zip(&psi[psi.len() - b.len()..]).map(|(b, f)| b * f).sum()
}

/// The best of all models of action c by log density out of fold; of equals, the simplest.
fn choose(engine: &Engine, log: &Log, frame: &Frame, grams: &Grams, c: usize) -> Result<Model> {
    let mut best: Option<(f64, Model)> = None;
    let mut compared = Vec::new();
    for (t, target) in frame.targets.iter().enumerate().filter(|(_, t)| t.action == c) {
        let mut fits = Vec::new();
        for &(name, width) in &frame.maps {
            let fit = grams.regress(t, width)?;
            let score = fit.score + target.mean_log_slope();
            compared.push((format!("{}, {name} mean, constant std", family(target.family)), score));
            fits.push((score, name, fit));
        }
        // the last of equal maxima would be the widest: compare strictly
        let (score, mean, fit) = fits.into_iter().reduce(|a, b| if b.0 > a.0 { b } else { a }).unwrap_or_default();
        check::random_enough(&fit, &log.schema().actions[c])?;
        let (mut gamma, mut score) = (fit.ln_s.iter().map(|s| vec![*s]).collect(), score);
        if let Some(width) = frame.linear() {
            let (bent, gain) = spread::fit(engine, log, frame, grams, (target, &fit), width)?;
            compared.push((format!("{}, {mean} mean, log-linear std", family(target.family)), score + gain));
            if gain > 0.0 {
                (gamma, score) = (bent, score + gain);
            }
        }
        if best.as_ref().is_none_or(|(b, _)| score > *b) {
            let explained = 1.0 - fit.squares;
            best = Some((score, Model { target: *target, mean, beta: fit.beta, gamma, explained, compared: vec![] }));
        }
    }
    // every action has at least the normal target
    let (_, mut model) = best.ok_or_else(|| crate::Error::data("the log has no action column"))?;
    model.compared = compared;
    Ok(model)
}

/// ln p of every row from the fit without its fold, and the sums behind the checks.
fn densities(engine: &Engine, log: &Log, frame: &Frame, models: &[Model]) -> Result<(Vec<Vec<f64>>, check::Sums)> {
    let pieces = engine.map(&pieces(log), |blocks| {
        let mut sums = check::Sums::new(models.len(), log.d());
        let (mut x, mut psi, mut z) = (vec![0.0; log.d()], vec![0.0; frame.width()], vec![0.0; models.len()]);
        let mut out = Vec::with_capacity(blocks.len());
        for b in *blocks {
            let mut log_p = Vec::with_capacity(b.rows());
            for i in 0..b.rows() {
                frame.features(b, i, &mut x, &mut psi);
                let k = fold(b.ids[i]);
                let mut total = 0.0;
                for (m, z) in models.iter().zip(&mut z) {
                    let (residual, density) = m.at(k, &psi, b.a[m.target.action][i]);
                    (*z, total) = (residual, total + density);
                }
                log_p.push(total);
                sums.add(b.ids[i], &z, &x, total, b.omega[i]);
            }
            out.push(log_p);
        }
        (out, sums)
    });
    let mut log_p = Vec::with_capacity(log.blocks().len());
    let mut sums = check::Sums::new(models.len(), log.d());
    for (piece, s) in pieces {
        log_p.extend(piece);
        sums.merge(&s);
    }
    sums.representable()?;
    Ok((log_p, sums))
}

/// Runs of blocks.
fn pieces(log: &Log) -> Vec<&[Block]> {
    log.blocks().chunks(log.blocks().len().div_ceil(PIECES).max(1)).collect()
}
