//! From a log to a certificate: policies that were learned or selected on the log itself, and are judged on its test part.

use super::newcomers::{IN_TURN, TWO_POLICIES};
use super::{Cell, Contexts, GAIN, Gauss, Logging, SAME, exponential, normal, uniform};
use crate::suite::Method;
use crate::validity::Rate;
use counterpoint::certify::{Terms, Verdict, certify};
use counterpoint::data::SplitRule;
use counterpoint::policy::TargetPolicy;
use counterpoint::{Engine, Result};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rayon::prelude::*;

/// Fresh contexts on which it is said whether a deployed policy is better.
const DRAWS: usize = 4000;

/// A policy counts as worth what the log is if it gains less than this share of the outcomes' spread: less is noise of the draws.
const SAME_VALUE: f64 = 0.01;

/// The best policy at the log's own noise, of worlds whose best action is known.
const fn oracle(mean: super::Of) -> Gauss {
    Gauss { mean, std: |_| 1.0 }
}

/// Worlds to learn in. Where nothing depends on the action, every `deploy` is an error; elsewhere `policy` is the best one with
/// the log's own noise, which a certificate should be able to tell from the log.
pub const LEARNABLE: &[Cell] = &[
    Cell { name: "nothing, normal reward", cost: false, ..SAME },
    Cell { name: "nothing, contexts matter", outcome: |x, _, r| 2.0 * x[0].abs() + x[1] + 0.5 * normal(r), ..SAME },
    Cell { name: "nothing, skewed cost", outcome: |_, _, r| exponential(r), ..SAME },
    Cell { name: "nothing, rare 3% cost", outcome: |_, _, r| f64::from(uniform(r) < 0.03), ..SAME },
    Cell { name: "nothing, rare 2% harm", outcome: |_, _, r| -f64::from(uniform(r) < 0.02), cost: false, ..SAME },
    Cell {
        name: "nothing, zero-inflated pareto cost",
        outcome: |_, _, r| if uniform(r) < 0.1 { uniform(r).powf(-1.0 / 1.8) } else { 0.0 },
        ..SAME
    },
    Cell {
        name: "nothing, the log follows 10 contexts",
        contexts: Contexts::Normals(10),
        logging: Logging::Normal(Gauss { mean: |x| 0.5 * (x[0] + x[1] - x[2]), std: |x| 0.3 + 0.3 * x[3].abs() }),
        outcome: |x, _, r| x[0] + x[4] * x[4] + normal(r),
        ..SAME
    },
    Cell {
        name: "nothing, uniform log",
        logging: Logging::Uniform { mean: |_| 0.0, reach: 1.0 },
        outcome: |x, _, r| x[0] + normal(r),
        cost: false,
        ..SAME
    },
    Cell {
        name: "nothing, two policies in turn",
        contexts: IN_TURN,
        logging: TWO_POLICIES,
        outcome: |x, _, r| 2.0 * x[2] + x[0] + 0.5 * normal(r),
        cost: false,
        ..SAME
    },
    Cell {
        name: "nothing, binary 10% by context",
        outcome: |x, _, r| f64::from(uniform(r) < 0.1 * (0.8 * x[0] - 0.32).exp().min(8.0)),
        ..SAME
    },
    Cell {
        name: "hardly anything, normal reward",
        outcome: |x, a, r| -0.02 * (a - 0.3 * x[0]).powi(2) + normal(r),
        policy: oracle(|x| 0.3 * x[0]),
        ..GAIN
    },
    Cell {
        name: "a bend, normal reward",
        outcome: |x, a, r| -(a - x[0]).powi(2) + normal(r),
        policy: oracle(|x| x[0]),
        ..GAIN
    },
    Cell {
        name: "a slope that turns, cost",
        outcome: |x, a, r| if x[1] > 0.0 { a } else { -a } + normal(r),
        policy: oracle(|x| if x[1] > 0.0 { -1.0 } else { 1.0 }),
        cost: true,
        ..GAIN
    },
    Cell {
        name: "a rare cost that falls with the action",
        outcome: |_, a, r| f64::from(uniform(r) < 0.08 * (-0.8 * a).exp().min(6.0)),
        policy: oracle(|_| 1.0),
        cost: true,
        ..GAIN
    },
    Cell {
        name: "10 contexts, the best action follows two",
        contexts: Contexts::Normals(10),
        outcome: |x, a, r| -(a - 0.7 * x[0] + 0.7 * x[1]).powi(2) + normal(r),
        policy: oracle(|x| 0.7 * (x[0] - x[1])),
        ..GAIN
    },
];

/// How certificates of learned policies ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ends {
    /// No policy, or no certificate.
    pub failed: Rate,
    /// Refused by the gates.
    pub invalid: Rate,
    /// Deployed.
    pub deploy: Rate,
    /// Deployed, and no better than the log.
    pub wrong: Rate,
    /// The best policy at the log's own noise deployed on the same rows; nothing where there is no better policy.
    pub oracle: Rate,
}

impl Cell {
    /// What a policy costs less the log, over fresh contexts with the same chance for both, in stds of the outcome.
    fn excess(&self, policy: &dyn TargetPolicy, seed: u64) -> f64 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (mut sum, mut squares, mut mean) = (0.0, 0.0, 0.0);
        for _ in 0..DRAWS {
            let x = self.contexts.draw(&mut rng);
            let (logged, _) = self.logging.act(&x, &mut rng);
            let played = policy.sample(&x, &mut rng)[0];
            let chance = (uniform(&mut rng) * 2f64.powi(52)) as u64;
            let y = [played, logged].map(|a| (self.outcome)(&x, a, &mut ChaCha8Rng::seed_from_u64(chance)));
            sum += y[0] - y[1];
            mean += y[1] / DRAWS as f64;
            squares += y[1] * y[1] / DRAWS as f64;
        }
        let difference = sum / DRAWS as f64 / (squares - mean * mean).sqrt();
        if self.cost { difference } else { -difference }
    }
}

/// Learns on `logs` logs of n rows (half train, a quarter valid, a quarter test) and judges what was learned.
pub fn learned(cell: &Cell, method: &Method, n: usize, logs: usize, seed: u64) -> Result<Ends> {
    let one = |engine: &Engine, k: u64| -> Result<(Option<Verdict>, bool, Option<bool>)> {
        let parts = cell.log(n, (seed << 32) + (n as u64) * 100_003 + k)?.split(SplitRule::default())?;
        let terms = Terms { seed: k, ..Terms::default() };
        let (valid, test) = (parts.valid.on(engine), parts.test.on(engine));
        let gains = cell.truth == super::Truth::Gain;
        let oracle =
            gains.then(|| certify(&*(cell.plays)(cell.policy), &valid, &test, &terms).is_ok_and(|c| c.deploys()));
        let Ok((policy, _)) = method.policy(engine, &parts, &terms) else { return Ok((None, false, oracle)) };
        let Ok(c) = certify(&policy, &valid, &test, &terms) else { return Ok((None, false, oracle)) };
        let better = gains && c.deploys() && cell.excess(&policy, k) < -SAME_VALUE;
        Ok((Some(c.verdict), better, oracle))
    };
    let ends: Vec<_> =
        (0..logs as u64).into_par_iter().map_init(Engine::single, |engine, k| one(engine, k)).collect::<Result<_>>()?;
    let mut o = Ends::default();
    for (verdict, better, oracle) in ends {
        o.failed.count(verdict.is_none());
        o.invalid.count(verdict == Some(Verdict::Invalid));
        o.deploy.count(verdict == Some(Verdict::Deploy));
        o.wrong.count(verdict == Some(Verdict::Deploy) && !better);
        o.oracle.count(oracle);
    }
    Ok(o)
}
