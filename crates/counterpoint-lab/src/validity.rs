//! Does a certificate keep its promises? Many logs, one policy, and a truth that is known.

use crate::{
    COCOA_REWARD, Cocoa, LOGGING_MEAN, LOGGING_STD, Potential, cocoa_logging_mean, cocoa_value, expected_reward,
};
use counterpoint::certify::{Certificate, Monitor, Terms, Verdict, certify_many_scored, certify_scored};
use counterpoint::data::Outcome;
use counterpoint::folds::Scored;
use counterpoint::policy::Family;
use counterpoint::{Engine, Result};
use rayon::prelude::*;

/// Where the logs come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// Moons: rewards between -0.1 and 1.
    Light,
    /// The twin of CoCoA: rewards that are almost always 0 and sometimes thousands.
    Heavy,
}

/// A log-normal policy of one of the worlds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Light: its means in the two groups. Heavy: what it adds to the logged mean, twice.
    pub mean: [f64; 2],
    /// Its standard deviation.
    pub std: f64,
}

impl World {
    /// The true mean reward of the log.
    pub fn logged(self) -> f64 {
        match self {
            World::Light => self.value(&Candidate { mean: [LOGGING_MEAN; 2], std: LOGGING_STD }),
            World::Heavy => COCOA_REWARD,
        }
    }

    /// The true mean reward of a policy, by quadrature.
    pub fn value(self, c: &Candidate) -> f64 {
        match self {
            World::Light => {
                let h = 0.1;
                let group = |g: usize| -> f64 {
                    (-70..=70)
                        .map(|k| f64::from(k) * h)
                        .map(|z| {
                            let a = Family::LogNormal.at(z, c.mean[g], c.std).value;
                            let mu = Potential::Moons.mean_potential(g as u32);
                            h * (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt() * expected_reward(a, mu)
                        })
                        .sum()
                };
                0.5 * (group(0) + group(1))
            }
            World::Heavy => cocoa_value(&|x1| cocoa_logging_mean(x1) + c.mean[0], c.std),
        }
    }

    /// The candidate with this standard deviation, the same mean (or offset) everywhere, and a true gain of `gain`; the
    /// mean is looked for between `low` and `high`, where the gain must change its side once.
    pub fn with_gain(self, gain: f64, std: f64, [mut low, mut high]: [f64; 2]) -> Candidate {
        let at = |m: f64| Candidate { mean: [m; 2], std };
        let excess = |m: f64| self.value(&at(m)) - self.logged() - gain;
        let rising = excess(high) > excess(low);
        assert!(excess(high) * excess(low) < 0.0, "no such policy: {} to {}", excess(low), excess(high));
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if (excess(middle) < 0.0) == rising { low = middle } else { high = middle }
        }
        at(0.5 * (low + high))
    }

    /// A log of n rows, scored by several policies.
    pub fn scored(self, candidates: &[Candidate], n: usize, seed: u64) -> Vec<Scored> {
        match self {
            World::Light => {
                let log = Potential::Moons.simulate(n, seed);
                let cost: Vec<f64> = log.reward.iter().map(|r| -r).collect();
                let mean = |c: &Candidate, i: usize| c.mean[log.group[i] as usize];
                score(candidates, &log.action, &log.propensity, &cost, mean)
            }
            World::Heavy => {
                let log = Cocoa::simulate(n, seed);
                let cost: Vec<f64> = log.reward.iter().map(|r| -r).collect();
                let mean = |c: &Candidate, i: usize| cocoa_logging_mean(log.x[1][i]) + c.mean[0];
                score(candidates, &log.action, &log.propensity, &cost, mean)
            }
        }
    }
}

fn score(
    candidates: &[Candidate],
    a: &[f64],
    p: &[f64],
    cost: &[f64],
    mean: impl Fn(&Candidate, usize) -> f64,
) -> Vec<Scored> {
    let one = |c: &Candidate| {
        let log_w = (0..a.len()).map(|i| Family::LogNormal.log_density(a[i], mean(c, i), c.std).value - p[i].ln());
        Scored::from_columns(0, log_w.collect(), cost.to_vec())
    };
    candidates.iter().map(one).collect()
}

/// A share of trials with its Monte-Carlo standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    /// Times it happened.
    pub hits: usize,
    /// Times it could have.
    pub trials: usize,
}

impl Rate {
    /// The share.
    pub fn share(self) -> f64 {
        self.hits as f64 / self.trials as f64
    }

    /// Its standard error.
    pub fn error(self) -> f64 {
        (self.share() * (1.0 - self.share()) / self.trials as f64).sqrt()
    }

    pub(crate) fn count(&mut self, hit: impl Into<Option<bool>>) {
        if let Some(hit) = hit.into() {
            self.trials += 1;
            self.hits += usize::from(hit);
        }
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.trials == 0 {
            return f.pad("-");
        }
        f.pad(&format!("{:.4} ({:.4})", self.share(), self.error()))
    }
}

/// What happened to one policy over many logs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Refused by the gates; nothing below counts such logs.
    pub refused: Rate,
    /// The interval of the policy's value holds the truth.
    pub value: Rate,
    /// The true reward lies below the lower end of that interval: too much was promised.
    pub value_below: Rate,
    /// The interval of the difference holds the truth.
    pub difference: Rate,
    /// The true gain lies below the lower end of the gain.
    pub difference_below: Rate,
    /// Deployed.
    pub deploy: Rate,
    /// Mean effective rows on the valid part.
    pub effective: f64,
    /// Mean number of rows behind the standard error, on the valid part.
    pub informative: f64,
}

/// Certifies a policy on `logs` logs of n valid and n test rows each.
pub fn tally(world: World, c: &Candidate, n: usize, logs: usize, seed: u64, terms: &Terms) -> Result<Tally> {
    let certificates: Vec<Certificate> = (0..logs as u64)
        .into_par_iter()
        .map_init(Engine::single, |engine, k| {
            let at = (seed << 24) + 2 * k;
            let (valid, test) = (world.scored(&[*c], n, at), world.scored(&[*c], n, at + 1));
            certify_scored(engine, &valid, &test, &Terms { seed: k, ..terms.clone() }, Outcome::Cost)
        })
        .collect::<Result<_>>()?;
    let (value, gain) = (-world.value(c), world.logged() - world.value(c));
    let mut t = Tally::default();
    for c in &certificates {
        let refused = c.verdict == Verdict::Invalid;
        t.refused.count(refused);
        t.effective += c.valid.effective / logs as f64;
        t.informative += c.valid.informative / logs as f64;
        if !refused {
            t.value.count(c.value.holds(value));
            t.value_below.count(value > c.value.upper);
            t.difference.count(c.difference.holds(gain));
            t.difference_below.count(gain > c.difference.upper);
            t.deploy.count(c.deploys());
        }
    }
    Ok(t)
}

/// How often any of several policies that are no better than the log is deployed.
pub fn family(world: World, c: &[Candidate], n: usize, logs: usize, seed: u64, terms: &Terms) -> Result<Rate> {
    let errs: Vec<bool> = (0..logs as u64)
        .into_par_iter()
        .map_init(Engine::single, |engine, k| {
            let at = (seed << 24) + 2 * k;
            let parts = world.scored(c, n, at).into_iter().zip(world.scored(c, n, at + 1));
            let rows: Vec<_> = parts.map(|(v, t)| (vec![v], vec![t])).collect();
            let verdicts = certify_many_scored(engine, &rows, &Terms { seed: k, ..terms.clone() })?;
            Ok(verdicts.iter().any(Certificate::deploys))
        })
        .collect::<Result<_>>()?;
    let mut rate = Rate::default();
    errs.into_iter().for_each(|e| rate.count(e));
    Ok(rate)
}

/// How often a confidence sequence ever leaves out the truth, over `paths` logs of `steps` rows of moons, looked at after every row: that of the
/// value, and that of the difference to the log.
pub fn crossings(c: &Candidate, steps: usize, paths: usize, confidence: f64) -> Result<[Rate; 2]> {
    let truth = [-World::Light.value(c), World::Light.logged() - World::Light.value(c)];
    let crossed: Vec<[bool; 2]> = (0..paths as u64)
        .into_par_iter()
        .map(|k| {
            let mut monitor = Monitor::new(confidence, COSTS)?;
            let rows = &World::Light.scored(&[*c], steps, (77 << 24) + k)[0];
            let mut left = [false; 2];
            for (log_w, y) in rows.log_w.iter().zip(&rows.y) {
                let value = monitor.update(log_w.exp(), *y)?;
                for (left, ((lower, upper), truth)) in
                    left.iter_mut().zip([value, monitor.difference()].iter().zip(truth))
                {
                    *left |= truth < *lower || truth > *upper;
                }
            }
            Ok(left)
        })
        .collect::<Result<_>>()?;
    let mut rates = [Rate::default(); 2];
    crossed.into_iter().for_each(|c| rates.iter_mut().zip(c).for_each(|(r, c)| r.count(c)));
    Ok(rates)
}

/// The costs of moons.
const COSTS: [f64; 2] = [-1.0, 0.1];

/// What is said of a gain that is there: by the guarantee and by the studentised interval, on average over logs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ends {
    /// The true gain.
    pub gain: f64,
    /// The lower end that the guarantee gives it, the range of outcomes being stated.
    pub guarantee: f64,
    /// That of the interval.
    pub interval: f64,
    /// The guarantee is above the truth.
    pub wrong: Rate,
}

/// Lower ends of the gain of a policy of moons on `logs` logs of n valid and n test rows.
pub fn lower_ends(c: &Candidate, n: usize, logs: usize, seed: u64) -> Result<Ends> {
    let gain = World::Light.value(c) - World::Light.logged();
    let ends: Vec<[f64; 2]> = (0..logs as u64)
        .into_par_iter()
        .map_init(Engine::single, |engine, k| {
            let at = (seed << 24) + 2 * k;
            let [valid, test] = [at, at + 1].map(|s| World::Light.scored(&[*c], n, s));
            let terms = Terms { seed: k, cost_range: Some(COSTS), ..Terms::default() };
            let c = certify_scored(engine, &valid, &test, &terms, Outcome::Cost)?;
            Ok([c.bound.map_or(f64::NEG_INFINITY, |b| -b.difference), -c.difference.upper])
        })
        .collect::<Result<_>>()?;
    let mut all = Ends { gain, ..Ends::default() };
    for [guarantee, interval] in ends {
        all.guarantee += guarantee / logs as f64;
        all.interval += interval / logs as f64;
        all.wrong.count(guarantee > gain);
    }
    Ok(all)
}
