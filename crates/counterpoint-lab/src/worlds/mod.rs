//! Worlds in which the truth of a certificate is known: many kinds of outcomes, logs and policies.
//!
//! In most of them the outcome depends on contexts and chance but not on the action, so that every policy is worth exactly what the log
//! is, whatever it plays: `deploy` is then an error. In others the policy mirrors the log about the best action (again no gain), plays
//! where the log never was (worse, but no row shows it), or is truly better. [`CELLS`] and [`ATTACKS`] helped to find the rules, [`FOES`] and
//! [`STRANGERS`] came after them, [`NEWCOMERS`] last; in [`LEARNABLE`] worlds the policy is not given but learned from the log, and [`QUESTIONS`]
//! ask something other than whether to deploy. [`sieges`] are whole logs, whose rows may know of each other or be wrong in part, and logs that are right in every
//! way to randomise.

mod attacks;
mod cells;
mod foes;
mod laws;
mod learned;
mod newcomers;
mod questions;
mod right;
mod rows;
mod siege;
mod strangers;

pub use attacks::ATTACKS;
pub use cells::CELLS;
pub use foes::FOES;
pub use learned::{Ends, LEARNABLE, learned};
pub use newcomers::NEWCOMERS;
pub use questions::{QUESTIONS, Question, asked};
pub use rows::{
    Leads, Miswritten, Unlogged, clusters, leads, miswritten, run_clusters, run_unequal_clusters, unequal_clusters,
};
pub use siege::{Row, Siege, Sight, besiege};
pub use strangers::STRANGERS;

use crate::validity::Rate;
use counterpoint::certify::{Certificate, Estimator, Terms, Verdict, certify};
use counterpoint::policy::{Family, Law, TargetPolicy};
use counterpoint::{Engine, Log, Result};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1, StandardNormal};
use rayon::prelude::*;

/// A number that depends on the contexts.
pub type Of = fn(&[f64]) -> f64;

/// A normal law of the action given the contexts.
#[derive(Clone, Copy, Debug)]
pub struct Gauss {
    /// Its mean.
    pub mean: Of,
    /// Its standard deviation.
    pub std: Of,
}

impl Gauss {
    fn log_density(&self, x: &[f64], a: f64) -> f64 {
        Family::Normal.log_density(a, (self.mean)(x), (self.std)(x)).value
    }

    fn law(&self, x: &[f64]) -> Law {
        Law::Family { family: Family::Normal, mean: vec![(self.mean)(x)], std: vec![(self.std)(x)] }
    }
}

impl TargetPolicy for Gauss {
    fn log_density(&self, x: &[f64], a: &[f64]) -> f64 {
        Gauss::log_density(self, x, a[0])
    }

    fn sample(&self, x: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
        let z: f64 = StandardNormal.sample(rng);
        vec![(self.mean)(x) + (self.std)(x) * z]
    }

    fn mean(&self, x: &[f64]) -> Option<Vec<f64>> {
        Some(vec![(self.mean)(x)])
    }

    fn mass_within(&self, x: &[f64], low: &[f64], high: &[f64]) -> Option<f64> {
        Some(Gauss::law(self, x).mass_within(low, high))
    }

    fn law(&self, x: &[f64]) -> Option<Law> {
        Some(Gauss::law(self, x))
    }
}

/// How the log chose its actions.
#[derive(Clone, Copy, Debug)]
pub enum Logging {
    /// A normal law.
    Normal(Gauss),
    /// Uniform within `reach` of a mean.
    Uniform {
        /// Its centre.
        mean: Of,
        /// Half its width.
        reach: f64,
    },
    /// A normal law of which what lies further than so many stds from its mean was never done.
    Truncated(Gauss, f64),
    /// Student's law with three degrees of freedom, around this mean and with this scale.
    Heavy(Gauss),
    /// Humps of one std, equally likely, around a mean.
    Humps {
        /// What they lie around.
        mean: Of,
        /// Where each of them lies.
        at: &'static [f64],
        /// The std of each.
        std: f64,
    },
    /// A normal law, but sometimes anything within `reach` of its mean, equally likely.
    Explores {
        /// The normal law.
        usual: Gauss,
        /// How often it explores.
        share: f64,
        /// How far.
        reach: f64,
    },
    /// ln of the action is normal.
    LogNormal(Gauss),
    /// A gamma law of a whole shape.
    Gamma {
        /// Its shape.
        shape: u32,
        /// Its mean.
        mean: Of,
    },
    /// Any law: an action and its density, given the contexts and what is not logged of them.
    Given(fn(&[f64], &mut ChaCha8Rng) -> (f64, f64)),
}

impl Logging {
    /// An action and its density.
    fn act(&self, x: &[f64], rng: &mut ChaCha8Rng) -> (f64, f64) {
        match self {
            Logging::Given(act) => act(x, rng),
            Logging::Normal(law) => {
                let a = (law.mean)(x) + (law.std)(x) * normal(rng);
                (a, law.log_density(x, a).exp())
            }
            Logging::Uniform { mean, reach } => (mean(x) + reach * (2.0 * uniform(rng) - 1.0), 0.5 / reach),
            Logging::Truncated(law, at) => {
                let z = std::iter::repeat_with(|| normal(rng)).find(|z| z.abs() <= *at).unwrap_or(0.0);
                let inside = Gauss { mean: |_| 0.0, std: |_| 1.0 }.law(x).mass_within(&[-at], &[*at]);
                let a = (law.mean)(x) + (law.std)(x) * z;
                (a, law.log_density(x, a).exp() / inside)
            }
            Logging::Heavy(law) => {
                let chi: f64 = (0..3).map(|_| normal(rng).powi(2)).sum();
                let (z, std) = (normal(rng) / (chi / 3.0).sqrt(), (law.std)(x));
                let density = 2.0 / (std::f64::consts::PI * 3f64.sqrt()) / (1.0 + z * z / 3.0).powi(2);
                ((law.mean)(x) + std * z, density / std)
            }
            Logging::Humps { mean, at, std } => {
                let hump = ((uniform(rng) * at.len() as f64) as usize).min(at.len() - 1);
                let a = mean(x) + at[hump] + std * normal(rng);
                let density = |c: &f64| Family::Normal.log_density(a, mean(x) + c, *std).value.exp();
                (a, at.iter().map(density).sum::<f64>() / at.len() as f64)
            }
            Logging::Explores { usual, share, reach } => {
                let mean = (usual.mean)(x);
                let a = if uniform(rng) < *share {
                    mean + reach * (2.0 * uniform(rng) - 1.0)
                } else {
                    mean + (usual.std)(x) * normal(rng)
                };
                let anywhere = if (a - mean).abs() <= *reach { 0.5 / reach } else { 0.0 };
                (a, (1.0 - share) * usual.log_density(x, a).exp() + share * anywhere)
            }
            Logging::LogNormal(law) => {
                let ln = (law.mean)(x) + (law.std)(x) * normal(rng);
                (ln.exp(), (law.log_density(x, ln) - ln).exp())
            }
            Logging::Gamma { shape, mean } => {
                let (k, scale) = (f64::from(*shape), mean(x) / f64::from(*shape));
                let a = scale * (0..*shape).map(|_| exponential(rng)).sum::<f64>();
                let factorial: f64 = (1..*shape).map(|i| f64::from(i).ln()).sum();
                (a, ((k - 1.0) * (a / scale).ln() - a / scale - factorial).exp() / scale)
            }
        }
    }
}

/// What is known of a row before the log acts.
#[derive(Clone, Copy, Debug)]
pub enum Contexts {
    /// A standard normal number and one between -1 and 1.
    Two,
    /// So many standard normal numbers.
    Normals(usize),
    /// One of 25 categories, 24 of them equally likely and number 7 in 3% of rows, and a number between -1 and 1.
    Categories,
    /// So many numbers, and behind them some that the outcome and the log know, but that are not written down.
    Given(usize, fn(&mut ChaCha8Rng) -> Vec<f64>),
}

impl Contexts {
    fn count(self) -> usize {
        match self {
            Contexts::Normals(d) | Contexts::Given(d, _) => d,
            _ => 2,
        }
    }

    fn draw(self, rng: &mut ChaCha8Rng) -> Vec<f64> {
        match self {
            Contexts::Two => vec![normal(rng), 2.0 * uniform(rng) - 1.0],
            Contexts::Normals(d) => (0..d).map(|_| normal(rng)).collect(),
            Contexts::Given(_, draw) => draw(rng),
            Contexts::Categories => {
                let common = (uniform(rng) * 24.0).floor();
                let category = if uniform(rng) < 0.03 { 7.0 } else { common + f64::from(common >= 7.0) };
                vec![category, 2.0 * uniform(rng) - 1.0]
            }
        }
    }
}

/// Who wins, and what counts as an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// The policy is worth what the log is: `deploy` is an error.
    NoGain,
    /// The policy is worse, where the log has no rows: `deploy` is an error.
    Worse,
    /// The policy is better: `deploy` is right.
    Gain,
}

/// An outcome, given contexts, action and chance.
pub type Chance = fn(&[f64], f64, &mut ChaCha8Rng) -> f64;

/// Every world that a policy is certified in.
pub fn all() -> impl Iterator<Item = &'static Cell> {
    CELLS.iter().chain(ATTACKS).chain(FOES).chain(STRANGERS).chain(NEWCOMERS)
}

/// A world with its policy.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// What it is called.
    pub name: &'static str,
    /// What is known of a row.
    pub contexts: Contexts,
    /// How the log chose.
    pub logging: Logging,
    /// The mean and the spread of the policy to be certified, ..
    pub policy: Gauss,
    /// .. and the law it plays with them.
    pub plays: fn(Gauss) -> Box<dyn TargetPolicy>,
    /// The outcome given contexts, action and chance.
    pub outcome: Chance,
    /// Whether the outcome is a cost.
    pub cost: bool,
    /// What is true.
    pub truth: Truth,
    /// The mean outcome under the policy, where it is known in closed form.
    pub value: Option<f64>,
    /// Rows of the valid and of the test part.
    pub rows: &'static [usize],
}

/// A standard normal number.
pub fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// Every whole log.
pub fn sieges() -> impl Iterator<Item = &'static Siege> {
    siege::SIEGES.iter().chain(right::RIGHT)
}

/// A number between 0 and 1.
pub fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    rng.random()
}

/// An exponential number.
pub fn exponential(rng: &mut ChaCha8Rng) -> f64 {
    Exp1.sample(rng)
}

/// What most cells have in common: a standard normal log, a policy that differs from it as learned ones do, noise.
const SAME: Cell = Cell {
    name: "",
    contexts: Contexts::Two,
    logging: Logging::Normal(Gauss { mean: |_| 0.0, std: |_| 1.0 }),
    policy: Gauss { mean: |_| 0.5, std: |_| 0.7 },
    plays: |law| Box::new(law),
    outcome: |_, _, r| normal(r),
    cost: true,
    truth: Truth::NoGain,
    value: Some(0.0),
    rows: &[250, 1000],
};

/// A log that follows the first context, and a policy that is worse.
const WORSE: Cell = Cell {
    logging: Logging::Normal(Gauss { mean: |x| x[0], std: |_| 0.4 }),
    cost: false,
    truth: Truth::Worse,
    value: None,
    rows: &[1000, 5000],
    ..SAME
};

/// A policy that is better.
const GAIN: Cell = Cell { cost: false, truth: Truth::Gain, value: None, ..SAME };

impl Cell {
    /// A log of n rows.
    pub fn log(&self, n: usize, seed: u64) -> Result<Log> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let d = self.contexts.count();
        let mut columns = vec![Vec::with_capacity(n); d + 3];
        for _ in 0..n {
            let x = self.contexts.draw(&mut rng);
            let (a, p) = self.logging.act(&x, &mut rng);
            let y = (self.outcome)(&x, a, &mut rng);
            columns.iter_mut().zip(x[..d].iter().copied().chain([a, p, y])).for_each(|(c, v)| c.push(v));
        }
        let mut columns = columns.into_iter();
        let mut log = Log::builder();
        for (j, x) in columns.by_ref().take(d).enumerate() {
            log = log.context(&format!("x{j}"), x);
        }
        let [a, p, y] = std::array::from_fn(|_| columns.next().unwrap_or_default());
        let log = log.action("a", a).propensity("p", p);
        if self.cost { log.cost("y", y).build() } else { log.reward("y", y).build() }
    }

    /// The mean outcomes of the policy and of the log over `draws` fresh contexts, as costs.
    pub fn costs(&self, draws: usize, seed: u64) -> [f64; 2] {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (mut sums, policy) = ([0.0; 2], (self.plays)(self.policy));
        for _ in 0..draws {
            let x = self.contexts.draw(&mut rng);
            let played = policy.sample(&x, &mut rng)[0];
            let (logged, _) = self.logging.act(&x, &mut rng);
            for (sum, a) in sums.iter_mut().zip([played, logged]) {
                *sum += (self.outcome)(&x, a, &mut rng) / draws as f64;
            }
        }
        sums.map(|y| if self.cost { y } else { -y })
    }
}

/// What happened to a cell over many logs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcomes {
    /// Refused by the gates.
    pub refused: Rate,
    /// Deployed, of all logs.
    pub deploy: Rate,
    /// The interval of the value holds the truth, of logs that were not refused.
    pub held: Rate,
    /// The truth is worse than the worse end of that interval.
    pub too_good: Rate,
    /// The mean share of the policy's mass that was missing.
    pub missing: f64,
    /// A model of the outcome took part.
    pub robust: Rate,
    /// The mean width of the interval of the difference, of logs that were not refused.
    pub width: f64,
}

/// Certifies the policy of a cell on `logs` logs of n valid and n test rows.
pub fn run(cell: &Cell, n: usize, logs: usize, seed: u64, terms: &Terms) -> Result<Outcomes> {
    let certificates: Vec<Certificate> = (0..logs as u64)
        .into_par_iter()
        .map_init(Engine::single, |engine, k| {
            let at = (seed << 32) + (n as u64) * 100_003 + 2 * k;
            let (valid, test) = (cell.log(n, at)?, cell.log(n, at + 1)?);
            certify(
                &*(cell.plays)(cell.policy),
                &valid.on(engine),
                &test.on(engine),
                &Terms { seed: k, ..terms.clone() },
            )
        })
        .collect::<Result<_>>()?;
    let mut o = Outcomes::default();
    certificates.iter().for_each(|c| o.add(c, cell.value, cell.cost));
    Ok(o)
}

/// Why certificates of a cell refused its policy, in words without their numbers, and how often.
pub fn refusals(cell: &Cell, n: usize, logs: usize, seed: u64, terms: &Terms) -> Result<Vec<(String, usize)>> {
    let mut all = std::collections::BTreeMap::new();
    let engine = Engine::single();
    for k in 0..logs as u64 {
        let at = (seed << 32) + (n as u64) * 100_003 + 2 * k;
        let (valid, test) = (cell.log(n, at)?, cell.log(n, at + 1)?);
        let policy = (cell.plays)(cell.policy);
        let c = certify(&*policy, &valid.on(&engine), &test.on(&engine), &Terms { seed: k, ..terms.clone() })?;
        for why in if c.verdict == Verdict::Invalid { c.refusals() } else { c.reasons.into_iter().skip(1).collect() } {
            let words: String = why.chars().filter(|c| !c.is_ascii_digit()).take(90).collect();
            *all.entry(format!("{}: {words}", c.verdict)).or_insert(0) += 1;
        }
    }
    let mut all: Vec<(String, usize)> = all.into_iter().collect();
    all.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    Ok(all)
}

impl Outcomes {
    /// Counts a certificate; a log that was not accepted is refused.
    fn add_or_refuse(&mut self, c: Option<&Certificate>) {
        match c {
            Some(c) => self.add(c, None, false),
            None => {
                self.refused.count(true);
                self.deploy.count(false);
            }
        }
    }

    /// Counts a certificate on a log whose policy is worth `value`, where that is known.
    fn add(&mut self, c: &Certificate, value: Option<f64>, cost: bool) {
        let refused = c.verdict == Verdict::Invalid;
        let before = self.refused.trials as f64;
        self.missing = (self.missing * before + c.missing) / (before + 1.0);
        self.refused.count(refused);
        self.deploy.count(c.deploys());
        self.robust.count(c.estimator == Estimator::Dr);
        if !refused {
            let passed = (self.refused.trials - self.refused.hits) as f64;
            self.width += (c.difference.upper - c.difference.lower - self.width) / passed;
        }
        if let Some(v) = value.filter(|_| !refused) {
            self.held.count(c.value.holds(v));
            self.too_good.count(if cost { v > c.value.upper } else { v < c.value.lower });
        }
    }
}

/// Follows the advice of certificates that keep a policy for want of rows: how often the policy is deployed on a fresh log with as many
/// more test rows as were asked for, and how many such certificates there were.
pub fn advised(cell: &Cell, n: usize, logs: usize, seed: u64) -> Result<Rate> {
    let ends: Vec<Option<bool>> = (0..logs as u64)
        .into_par_iter()
        .map_init(Engine::single, |engine, k| {
            let at = (seed << 32) + (n as u64) * 100_003 + 4 * k;
            let terms = Terms { seed: k, ..Terms::default() };
            let judge = |rows: usize, at: u64| {
                let (valid, test) = (cell.log(rows, at)?, cell.log(rows, at + 1)?);
                certify(&*(cell.plays)(cell.policy), &valid.on(engine), &test.on(engine), &terms)
            };
            let first = judge(n, at)?;
            let asked = first.more_rows.filter(|_| first.verdict == Verdict::Keep);
            // a log of a million rows is not simulated to see what it says
            let Some(more) = asked.filter(|m| *m <= 40.0 * n as f64) else { return Ok(None) };
            Ok(Some(judge(n + more as usize, at + 2)?.deploys()))
        })
        .collect::<Result<_>>()?;
    let mut rate = Rate::default();
    ends.into_iter().for_each(|e| rate.count(e));
    Ok(rate)
}

#[cfg(test)]
mod tests;
