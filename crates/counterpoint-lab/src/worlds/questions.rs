//! The other questions that weighted rows answer: guardrails, segments, ratios, worst outcomes, mean actions, policies that abstain or that
//! remember the valid rows, rows that stand for very different numbers of others.

use super::{Gauss, normal, uniform};
use crate::validity::Rate;
use counterpoint::certify::{
    Finding, Guardrail, Margin, Terms, abstain, certify, guard, mean_action, ratio, segments, spread,
};
use counterpoint::data::Outcome;
use counterpoint::features::{ContextMap, Scaler};
use counterpoint::policy::{Columns, Family, Noise, Rule, RulePolicy, SavedPolicy, TargetPolicy};
use counterpoint::{Engine, Log, Policy, Result};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use rayon::prelude::*;

/// A question whose right answer is known.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// What it is called, and what an error is.
    pub name: &'static str,
    /// How often an error may happen.
    pub level: f64,
    /// Rows of the valid and of the test part.
    pub rows: &'static [usize],
    /// Whether the answer on a log of n valid and n test rows is wrong; nothing where there is none.
    pub wrong: fn(&Engine, usize, u64) -> Result<Option<bool>>,
}

/// Asks on many logs.
pub fn asked(question: &Question, n: usize, logs: usize, seed: u64) -> Result<Rate> {
    let one = |engine: &mut Engine, k: u64| (question.wrong)(engine, n, (seed << 32) + 2 * k);
    let wrong: Vec<Option<bool>> =
        (0..logs as u64).into_par_iter().map_init(Engine::single, one).collect::<Result<_>>()?;
    let mut rate = Rate::default();
    wrong.into_iter().for_each(|w| rate.count(w));
    Ok(rate)
}

/// The outcome of contexts, action and chance.
type Made = fn(&[f64; 2], f64, &mut ChaCha8Rng) -> f64;

/// A standard normal log with the contexts x0 (normal) and x1 (1 to 5); the same seed makes the same rows whatever the outcome.
fn log(n: usize, seed: u64, outcome: Made, direction: Outcome, more: fn(&mut ChaCha8Rng) -> f64) -> Result<Log> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut columns: [Vec<f64>; 6] = Default::default();
    for _ in 0..n {
        let (x, a) = ([normal(&mut rng), 1.0 + (5.0 * uniform(&mut rng)).floor()], normal(&mut rng));
        let mut chance = ChaCha8Rng::seed_from_u64((uniform(&mut rng) * 2f64.powi(52)) as u64);
        let p = Family::Normal.log_density(a, 0.0, 1.0).value.exp();
        let y = outcome(&x, a, &mut chance);
        columns.iter_mut().zip([x[0], x[1], a, p, y, more(&mut rng)]).for_each(|(c, v)| c.push(v));
    }
    let [x0, x1, a, p, y, weight] = columns;
    let varies = weight.windows(2).any(|w| w[0] != w[1]);
    let log = Log::builder().context("x0", x0).context("x1", x1).action("a", a).propensity("p", p);
    let log = if varies { log.weight("weight", weight) } else { log };
    match direction {
        Outcome::Reward => log.reward("y", y).build(),
        Outcome::Cost => log.cost("y", y).build(),
    }
}

const SHIFTED: Gauss = Gauss { mean: |_| 0.5, std: |_| 0.7 };

/// A guardrail whose true harm is its margin, beside a clear gain: it holds in error.
fn guarded(engine: &Engine, n: usize, seed: u64, harm: Made, margin: f64) -> Result<Option<bool>> {
    let parts = |outcome: Made, direction| {
        Ok::<_, counterpoint::Error>([
            log(n, seed, outcome, direction, |_| 1.0)?,
            log(n, seed + 1, outcome, direction, |_| 1.0)?,
        ])
    };
    let [gain, harm] = [parts(|_, a, r| a + normal(r), Outcome::Reward)?, parts(harm, Outcome::Cost)?];
    let terms = Terms { seed, ..Terms::default() };
    let primary = certify(&SHIFTED, &gain[0].on(engine), &gain[1].on(engine), &terms)?;
    let guardrail = Guardrail { column: "y".into(), direction: Outcome::Cost, margin: Margin::Absolute(margin) };
    let (valid, test) = (harm[0].on(engine), harm[1].on(engine));
    let judged = guard(primary, &SHIFTED, &[(guardrail, &valid, &test)], &terms)?;
    Ok(Some(judged.guardrails[0].holds))
}

/// An outcome that the action does not move.
fn still(n: usize, seed: u64, outcome: Made) -> Result<[Log; 2]> {
    Ok([log(n, seed, outcome, Outcome::Cost, |_| 1.0)?, log(n, seed + 1, outcome, Outcome::Cost, |_| 1.0)?])
}

/// Any segment better or worse where nothing is.
fn divided(engine: &Engine, n: usize, seed: u64, outcome: Made) -> Result<Option<bool>> {
    let [valid, test] = still(n, seed, outcome)?;
    let found = segments(&SHIFTED, &valid.on(engine), &test.on(engine), "x1", &Terms { seed, ..Terms::default() })?;
    Ok(Some(found.segments.iter().any(|s| matches!(s.finding, Finding::Better | Finding::Worse))))
}

/// A policy that plays what the nearest valid row played, if that was among the better half.
struct Remembers(Vec<[f64; 3]>);

impl Remembers {
    fn at(&self, x: &[f64]) -> f64 {
        let far = |r: &&[f64; 3]| (r[0] - x[0]).powi(2) + (r[1] - x[1]).powi(2);
        self.0.iter().min_by(|a, b| far(a).total_cmp(&far(b))).map_or(0.0, |r| 0.6 * r[2])
    }
}

impl TargetPolicy for Remembers {
    fn log_density(&self, x: &[f64], a: &[f64]) -> f64 {
        Family::Normal.log_density(a[0], self.at(x), 0.7).value
    }

    fn sample(&self, x: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
        let z: f64 = rand_distr::Distribution::sample(&rand_distr::StandardNormal, rng);
        vec![self.at(x) + 0.7 * z]
    }

    fn mean(&self, x: &[f64]) -> Option<Vec<f64>> {
        Some(vec![self.at(x)])
    }

    fn mass_within(&self, x: &[f64], low: &[f64], high: &[f64]) -> Option<f64> {
        let below = |a: f64| Family::Normal.cdf(a, self.at(x), 0.7).value;
        Some(below(high[0]) - below(low[0]))
    }
}

fn remembered(engine: &Engine, n: usize, seed: u64) -> Result<Option<bool>> {
    let [valid, test] = still(n, seed, |x, _, r| x[0] + normal(r))?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut rows = Vec::new();
    for _ in 0..n {
        let (x, a) = ([normal(&mut rng), 1.0 + (5.0 * uniform(&mut rng)).floor()], normal(&mut rng));
        let mut chance = ChaCha8Rng::seed_from_u64((uniform(&mut rng) * 2f64.powi(52)) as u64);
        if normal(&mut chance) < 0.0 {
            rows.push([x[0], x[1], a]);
        }
    }
    let terms = Terms { seed, ..Terms::default() };
    Ok(Some(certify(&Remembers(rows), &valid.on(engine), &test.on(engine), &terms)?.deploys()))
}

fn line(w: Vec<f64>, std: f64) -> SavedPolicy {
    RulePolicy {
        columns: Columns::named(&["x0", "x1"], &["a"]),
        scaler: Scaler::identity(2),
        rule: Rule::Linear { map: ContextMap::Linear, w, range: None },
        noise: Some(Noise::normal(std)),
    }
    .into()
}

/// A policy that abstains where the log does not support it, without gain: deployed.
fn abstaining(engine: &Engine, n: usize, seed: u64) -> Result<Option<bool>> {
    let [valid, test] = still(n, seed, |x, _, r| x[0].abs() + 0.5 * normal(r))?;
    let policy = abstain(&line(vec![1.5, 0.1, 0.0], 0.5), &line(vec![0.0, 0.0, 0.0], 1.0), &valid.on(engine))?.policy;
    Ok(Some(certify(&policy, &valid.on(engine), &test.on(engine), &Terms { seed, ..Terms::default() })?.deploys()))
}

/// Rows that stand for numbers of others as different as exp(1.5 z), without gain: deployed.
fn sampled(engine: &Engine, n: usize, seed: u64) -> Result<Option<bool>> {
    let part = |seed| log(n, seed, |x, _, r| x[0] + normal(r), Outcome::Cost, |r| (1.5 * normal(r)).exp());
    let (valid, test) = (part(seed)?, part(seed + 1)?);
    let terms = Terms { seed, ..Terms::default() };
    Ok(Some(certify(&SHIFTED, &valid.on(engine), &test.on(engine), &terms)?.deploys()))
}

/// A ratio without a difference: better or worse.
fn of_two(engine: &Engine, n: usize, seed: u64, top: Made, base: Made) -> Result<Option<bool>> {
    let [valid, above] = still(n, seed, top)?;
    let below = log(n, seed + 1, base, Outcome::Cost, |_| 1.0)?;
    let terms = Terms { seed, ..Terms::default() };
    let c = certify(&SHIFTED, &valid.on(engine), &above.on(engine), &terms)?;
    let found = ratio(&SHIFTED, &above.on(engine), &below.on(engine), &terms)?.finding(&c);
    Ok(Some(matches!(found, Finding::Better | Finding::Worse)))
}

/// An interval of the worst tenth, or of the median, that misses.
fn tail(engine: &Engine, n: usize, seed: u64, outcome: Made, truth: f64) -> Result<Option<bool>> {
    let test = log(n, seed, outcome, Outcome::Cost, |_| 1.0)?;
    let s = spread(&SHIFTED, &test.on(engine), 0.1, 0.95)?;
    Ok(Some(!s.tail.holds(truth)))
}

fn played(engine: &Engine, n: usize, seed: u64, outcome: Made, truth: f64) -> Result<Option<bool>> {
    let test = log(n, seed, outcome, Outcome::Cost, |_| 1.0)?;
    let policy = Policy::constant(Family::Normal, &["x0", "x1"], &["a"], &[0.5], &[0.5])?;
    Ok(mean_action(&policy, &test.on(engine), 0.95).ok().map(|m| !m.value.holds(truth)))
}

/// .03 (1 + .4 a) of rows: the policy's share is .006 higher.
fn refunds(_: &[f64; 2], a: f64, r: &mut ChaCha8Rng) -> f64 {
    f64::from(uniform(r) < 0.03 * (1.0 + 0.4 * a).max(0.0))
}

/// .01 (1 + .4 a).
fn events(_: &[f64; 2], a: f64, r: &mut ChaCha8Rng) -> f64 {
    f64::from(uniform(r) < 0.01 * (1.0 + 0.4 * a).max(0.0))
}

/// Every question.
pub const QUESTIONS: &[Question] = &[
    Question {
        name: "a guardrail whose harm is its margin, normal: holds",
        level: 0.03,
        rows: &[300, 2000],
        wrong: |e, n, s| guarded(e, n, s, |_, a, r| 0.4 * a + normal(r), 0.2),
    },
    Question {
        name: "a guardrail whose harm is its margin, refunds of 3%: holds",
        level: 0.03,
        rows: &[300, 1000, 4000],
        wrong: |e, n, s| guarded(e, n, s, refunds, 0.006),
    },
    Question {
        name: "a guardrail whose harm is its margin, events of 1%: holds",
        level: 0.03,
        rows: &[300, 1000, 4000],
        wrong: |e, n, s| guarded(e, n, s, events, 0.002),
    },
    Question {
        name: "five segments without a difference, normal: any better or worse",
        level: 0.05,
        rows: &[1500, 5000],
        wrong: |e, n, s| divided(e, n, s, |x, _, r| x[0] + x[1] + normal(r)),
    },
    Question {
        name: "five segments without a difference, rare 2%: any better or worse",
        level: 0.05,
        rows: &[1500, 5000],
        wrong: |e, n, s| divided(e, n, s, |_, _, r| f64::from(uniform(r) < 0.02)),
    },
    Question {
        name: "a policy that remembers the valid rows, no gain: deploy",
        level: 0.03,
        rows: &[300, 1000],
        wrong: remembered,
    },
    Question { name: "a policy that abstains, no gain: deploy", level: 0.03, rows: &[300, 2000], wrong: abstaining },
    Question { name: "sampling weights exp(1.5 z), no gain: deploy", level: 0.03, rows: &[300, 2000], wrong: sampled },
    Question {
        name: "a ratio without a difference, normal: better or worse",
        level: 0.05,
        rows: &[300, 2000],
        wrong: |e, n, s| of_two(e, n, s, |x, _, r| 3.0 + x[0] + normal(r), |x, _, r| 5.0 + x[0] + normal(r)),
    },
    Question {
        name: "a ratio without a difference, rare over skewed: better or worse",
        level: 0.05,
        rows: &[300, 2000],
        wrong: |e, n, s| of_two(e, n, s, |_, _, r| f64::from(uniform(r) < 0.03), |_, _, r| super::exponential(r)),
    },
    Question {
        name: "the mean of the worst tenth, normal: missed",
        level: 0.07,
        rows: &[500, 2000],
        wrong: |e, n, s| tail(e, n, s, |_, _, r| normal(r), 1.754_983),
    },
    Question {
        name: "the mean of the worst tenth, exponential: missed",
        level: 0.07,
        rows: &[500, 2000],
        wrong: |e, n, s| tail(e, n, s, |_, _, r| super::exponential(r), 3.302_585),
    },
    Question {
        name: "the value of the mean action, a parabola: missed",
        level: 0.07,
        rows: &[1000, 4000],
        wrong: |e, n, s| played(e, n, s, |_, a, r| (a - 0.2).powi(2) + 0.5 * normal(r), 0.09),
    },
    Question {
        name: "the value of the mean action, nothing but noise: missed",
        level: 0.07,
        rows: &[1000, 4000],
        wrong: |e, n, s| played(e, n, s, |x, _, r| x[0] + normal(r), 0.0),
    },
];
