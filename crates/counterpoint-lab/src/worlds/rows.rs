//! Worlds of the rows themselves: clusters, copies, densities that are estimated.

use super::laws::Member;
use super::{Gauss, Outcomes, normal, uniform};
use counterpoint::certify::{Certificate, Terms, Verdict, certify};
use counterpoint::data::SplitRule;
use counterpoint::policy::{Family, TargetPolicy};
use counterpoint::{Engine, Log, Result, propensity};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rayon::prelude::*;

/// Rows of a cluster.
const ROWS_A_CLUSTER: usize = 10;

/// A log of clusters of unequal size, most of them of few rows and some of a hundred; else like [`clusters`].
pub fn unequal_clusters(correlation: f64, count: usize, seed: u64) -> Result<Log> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut columns: [Vec<f64>; 4] = Default::default();
    let mut keys = Vec::new();
    let (common, own) = (correlation.sqrt(), (1.0 - correlation).sqrt());
    for cluster in 0..count {
        let (habit, level) = (normal(&mut rng), normal(&mut rng));
        let rows = (uniform(&mut rng).max(1e-3).powf(-0.9) as usize).min(100);
        for _ in 0..rows {
            let a = common * habit + own * normal(&mut rng);
            let y = common * level + own * normal(&mut rng);
            let p = (-0.5 * a * a).exp() / std::f64::consts::TAU.sqrt();
            columns.iter_mut().zip([normal(&mut rng), a, p, y]).for_each(|(c, v)| c.push(v));
            keys.push(cluster.to_string());
        }
    }
    let [x, a, p, y] = columns;
    Log::builder().context("x", x).action("a", a).propensity("p", p).cost("y", y).cluster("user", keys).build()
}

/// Certifies a policy without gain on logs of clusters of unequal size.
pub fn run_unequal_clusters(correlation: f64, count: usize, logs: usize, seed: u64) -> Result<Outcomes> {
    run_logs(logs, |k| unequal_clusters(correlation, 4 * count, (seed << 32) + k))
}

/// A log of clusters whose rows share an action habit and an outcome level, each with this correlation; the outcome does not depend on
/// the action. `named`: whether the log says which rows belong together.
pub fn clusters(correlation: f64, count: usize, named: bool, seed: u64) -> Result<Log> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut columns: [Vec<f64>; 4] = Default::default();
    let mut keys = Vec::new();
    let (common, own) = (correlation.sqrt(), (1.0 - correlation).sqrt());
    for cluster in 0..count {
        let (habit, level) = (normal(&mut rng), normal(&mut rng));
        for _ in 0..ROWS_A_CLUSTER {
            let a = common * habit + own * normal(&mut rng);
            let y = common * level + own * normal(&mut rng);
            let p = (-0.5 * a * a).exp() / std::f64::consts::TAU.sqrt();
            columns.iter_mut().zip([normal(&mut rng), a, p, y]).for_each(|(c, v)| c.push(v));
            keys.push(cluster.to_string());
        }
    }
    let [x, a, p, y] = columns;
    let log = Log::builder().context("x", x).action("a", a).propensity("p", p).cost("y", y);
    if named { log.cluster("user", keys).build() } else { log.build() }
}

/// How actions were drawn where nobody logged the density; the outcome does not depend on the action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unlogged {
    /// A line and a constant spread: a law that can be fitted.
    Line,
    /// sin(3 x).
    Sine,
    /// A spread that waves with the context.
    Spread,
    /// Two humps.
    Humps,
    /// Heavy tails.
    Tails,
    /// Noise of the logistic law.
    Logistic,
    /// Rounded to half a unit.
    Rounded,
    /// Two humps where x is positive, one elsewhere.
    Mixed,
    /// Two regimes that nobody wrote down, one following x and one not.
    Regimes,
    /// Something that moved the action and the outcome, and is not in the log.
    Hidden,
}

impl Unlogged {
    /// Every way.
    pub const ALL: [Unlogged; 10] = [
        Unlogged::Line,
        Unlogged::Sine,
        Unlogged::Spread,
        Unlogged::Humps,
        Unlogged::Tails,
        Unlogged::Logistic,
        Unlogged::Rounded,
        Unlogged::Mixed,
        Unlogged::Regimes,
        Unlogged::Hidden,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Unlogged::Line => "a line (right)",
            Unlogged::Sine => "sin(3x)",
            Unlogged::Spread => "a spread that waves",
            Unlogged::Humps => "two humps",
            Unlogged::Tails => "heavy tails",
            Unlogged::Logistic => "logistic noise",
            Unlogged::Rounded => "rounded to halves",
            Unlogged::Mixed => "two humps where x > 0",
            Unlogged::Regimes => "two regimes, not written down",
            Unlogged::Hidden => "a hidden cause",
        }
    }

    fn row(self, r: &mut ChaCha8Rng) -> [f64; 3] {
        let (x, e, u) = (normal(r), normal(r), normal(r));
        let action = match self {
            Unlogged::Line => 0.5 * x + 0.6 * e,
            Unlogged::Sine => (3.0 * x).sin() + 0.4 * e,
            Unlogged::Spread => 0.5 * x + 0.15 * (2.0 + (4.0 * x).sin() * 1.8) * e,
            Unlogged::Humps => 0.5 * x + if uniform(r) < 0.5 { -1.0 } else { 1.0 } + 0.3 * e,
            Unlogged::Tails => 0.5 * x + 0.4 * e / (uniform(r) * 0.9 + 0.02),
            Unlogged::Logistic => {
                let v = uniform(r).clamp(1e-9, 1.0 - 1e-9);
                0.5 * x + 0.35 * (v / (1.0 - v)).ln()
            }
            Unlogged::Rounded => (2.0 * (0.5 * x + 0.6 * e)).round() / 2.0,
            Unlogged::Mixed if x > 0.0 => 0.9 * (2.0 * uniform(r) - 1.0).signum() + 0.35 * e,
            Unlogged::Mixed => 0.7 * e,
            Unlogged::Regimes if uniform(r) < 0.5 => x + 0.4 * e,
            Unlogged::Regimes => 0.6 * e,
            Unlogged::Hidden => 0.5 * x + 0.5 * u + 0.4 * e,
        };
        let outcome = match self {
            Unlogged::Hidden => u + 0.3 * normal(r),
            _ => (3.0 * x).sin() + 0.3 * normal(r),
        };
        [x, action, outcome]
    }

    /// A log of n rows with estimated densities; an error where no law can be fitted.
    pub fn log(self, n: usize, seed: u64, engine: &Engine) -> Result<Log> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut columns: [Vec<f64>; 3] = Default::default();
        for _ in 0..n {
            columns.iter_mut().zip(self.row(&mut rng)).for_each(|(c, v)| c.push(v));
        }
        let [x, a, y] = columns;
        // the policy knows two contexts
        let zero = vec![0.0; n];
        let bare = Log::builder().context("x0", x).context("x1", zero).action("a", a).reward("y", y).build_bare()?;
        propensity::fit(engine, bare)
    }
}

/// How densities that were logged may be wrong; the log is N(.7 x, .6), and the outcome follows the context alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Miswritten {
    /// They are right.
    Right,
    /// Those of a policy that does not look at the context.
    Other,
    /// Those of the mean of last year, which lay .4 lower.
    Stale,
    /// Those of a policy with twice the spread.
    Wide,
    /// Those of the row before.
    Swapped,
    /// Twice too large.
    Doubled,
    /// A tenth of them: probabilities of buckets.
    Bucketed,
    /// Their negative logarithms.
    Logarithms,
    /// Those of ln a, where the action is a.
    LogActions,
    /// At least .15: a floor that keeps weights small.
    Floored,
    /// In half of the rows those of the policy before, which followed the context less.
    HalfOld,
}

impl Miswritten {
    /// Every way.
    pub const ALL: [Miswritten; 11] = [
        Miswritten::Right,
        Miswritten::Other,
        Miswritten::Stale,
        Miswritten::Wide,
        Miswritten::Swapped,
        Miswritten::Doubled,
        Miswritten::Bucketed,
        Miswritten::Logarithms,
        Miswritten::LogActions,
        Miswritten::Floored,
        Miswritten::HalfOld,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Miswritten::Right => "right",
            Miswritten::Other => "of a policy that is blind to the context",
            Miswritten::Stale => "of a mean .4 lower",
            Miswritten::Wide => "of twice the spread",
            Miswritten::Swapped => "of the row before",
            Miswritten::Doubled => "twice too large",
            Miswritten::Bucketed => "a tenth, as probabilities of buckets",
            Miswritten::Logarithms => "negative logarithms",
            Miswritten::LogActions => "of ln a, of actions a",
            Miswritten::Floored => "at least .15",
            Miswritten::HalfOld => "of a mean of .3 x in half of the rows",
        }
    }

    /// A log of n rows.
    pub fn log(self, n: usize, seed: u64) -> Result<Log> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut columns: [Vec<f64>; 4] = Default::default();
        let density = |a: f64, mean: f64, std: f64| {
            (-0.5 * ((a - mean) / std).powi(2)).exp() / (std * std::f64::consts::TAU.sqrt())
        };
        let mut before = 0.5;
        for _ in 0..n {
            let x = normal(&mut rng);
            let (a, y) = (0.7 * x + 0.6 * normal(&mut rng), 2.0 * x + 0.5 * normal(&mut rng));
            let right = density(a, 0.7 * x, 0.6);
            let p = match self {
                Miswritten::Right => right,
                Miswritten::Other => density(a, 0.0, 0.9219544457292888),
                Miswritten::Stale => density(a, 0.7 * x - 0.4, 0.6),
                Miswritten::Wide => density(a, 0.7 * x, 1.2),
                Miswritten::Swapped => before,
                Miswritten::Doubled => 2.0 * right,
                Miswritten::Bucketed => 0.1 * right,
                Miswritten::Logarithms => right.ln().abs().max(1e-9),
                Miswritten::LogActions => right,
                Miswritten::Floored => right.max(0.15),
                Miswritten::HalfOld if uniform(&mut rng) < 0.5 => density(a, 0.3 * x, 0.6),
                Miswritten::HalfOld => right,
            };
            before = right;
            let a = if self == Miswritten::LogActions { a.exp() } else { a };
            columns.iter_mut().zip([x, a, p, y]).for_each(|(c, v)| c.push(v));
        }
        let [x, a, p, y] = columns;
        let zero = vec![0.0; n];
        Log::builder().context("x0", x).context("x1", zero).action("a", a).propensity("p", p).reward("y", y).build()
    }
}

/// Certifies a policy without gain, N(.7 x + .3, .5), on logs of n valid and n test rows whose densities were written down in this way.
pub fn miswritten(way: Miswritten, n: usize, logs: usize, seed: u64) -> Outcomes {
    let policy: Box<dyn TargetPolicy> = match way {
        // the same law of ln a
        Miswritten::LogActions => Box::new(Member(
            Family::LogNormal,
            Gauss {
                mean: |x| (0.7 * x[0] + 0.425).exp(),
                std: |x| (0.7 * x[0] + 0.425).exp() * 0.25f64.exp_m1().sqrt(),
            },
        )),
        _ => Box::new(Gauss { mean: |x| 0.7 * x[0] + 0.3, std: |_| 0.5 }),
    };
    let certificates: Vec<Option<Certificate>> = (0..logs as u64)
        .into_par_iter()
        .map_init(Engine::single, |engine, k| {
            let at = (seed << 32) + 2 * k;
            let (valid, test) = (way.log(n, at).ok()?, way.log(n, at + 1).ok()?);
            certify(&*policy, &valid.on(engine), &test.on(engine), &Terms { seed: k, ..Terms::default() }).ok()
        })
        .collect();
    let mut o = Outcomes::default();
    certificates.iter().for_each(|c| o.add_or_refuse(c.as_ref()));
    o
}

/// What happened to logs with estimated densities.
#[derive(Clone, Copy, Debug, Default)]
pub struct Leads {
    /// Said to deploy, which is never right here.
    pub deploy: crate::validity::Rate,
    /// Called promising.
    pub promising: crate::validity::Rate,
    /// Refused as a log, or warned of.
    pub warned: crate::validity::Rate,
}

/// Certifies a policy without gain on logs of n rows with estimated densities.
pub fn leads(way: Unlogged, n: usize, logs: usize, seed: u64) -> Leads {
    let policy = Gauss { mean: |x| 0.5 * x[0] + 0.2, std: |_| 0.5 };
    let ends: Vec<(Option<Verdict>, bool)> = (0..logs as u64)
        .into_par_iter()
        .map_init(Engine::single, |engine, k| {
            let judged = way.log(n, (seed << 32) + k, engine).and_then(|log| {
                let warned = log.schema().propensities.estimated().is_some_and(|e| !e.warnings.is_empty());
                let parts = log.split(SplitRule::default())?;
                let (valid, test) = (parts.valid.on(engine), parts.test.on(engine));
                Ok((certify(&policy, &valid, &test, &Terms { seed: k, ..Terms::default() })?.verdict, warned))
            });
            judged.map_or((None, true), |(verdict, warned)| (Some(verdict), warned))
        })
        .collect();
    let mut o = Leads::default();
    for (verdict, warned) in ends {
        o.deploy.count(verdict == Some(Verdict::Deploy));
        o.promising.count(verdict == Some(Verdict::Promising));
        o.warned.count(warned);
    }
    o
}

/// Certifies a policy without gain on logs of clusters.
pub fn run_clusters(correlation: f64, count: usize, named: bool, logs: usize, seed: u64) -> Result<Outcomes> {
    run_logs(logs, |k| clusters(correlation, 4 * count, named, (seed << 32) + k))
}

fn run_logs(logs: usize, log: impl Fn(u64) -> Result<Log> + Sync) -> Result<Outcomes> {
    let policy = counterpoint::Policy::constant(counterpoint::policy::Family::Normal, &["x"], &["a"], &[0.5], &[0.8])?;
    let certificates: Vec<Certificate> = (0..logs as u64)
        .into_par_iter()
        .map_init(Engine::single, |engine, k| {
            let parts = log(k)?.split(SplitRule::default())?;
            let terms = Terms { seed: k, ..Terms::default() };
            certify(&policy, &parts.valid.on(engine), &parts.test.on(engine), &terms)
        })
        .collect::<Result<_>>()?;
    let mut o = Outcomes::default();
    for c in &certificates {
        o.add(c, Some(0.0), true);
    }
    Ok(o)
}
