//! Appendix D.2: can the offline protocol tell better policies from worse ones?
//!
//! The paper draws 2,000 policies by adding Gaussian noise to the parameters of (i) the logging policy and (ii) the optimal
//! one, and counts how often the offline decision disagrees with the truth. Its figures for means, noise and rows are not
//! printed, so these are ours:
//!
//! ```text
//! logging LogNormal(mean 2, std 1),  optimal Normal(3, 0.5),  reward = exp(-(a - 3)^2 / 2) + N(0, 0.1^2)
//! (i)  LogNormal(2 + 0.3 e1, exp(0.3 e2)),  (ii) Normal(3 + 0.8 e1, 0.5 exp(0.3 e2)),  e1, e2 ~ N(0, 1)
//! ```
//!
//! In (ii) the log supports nearly every policy. The third setup is one where it does not: the best action moves to 5, where 1.6%
//! of the log lies beyond, and policies are scattered far to both sides, Normal(5 + 2 e1, 0.5 exp(0.3 e2)).
//!
//! Rows for the gate and rows for the decision are drawn separately and are the same for all policies.

use counterpoint::certify::{Terms, Verdict, certify_scored};
use counterpoint::data::Outcome;
use counterpoint::folds::{Bootstrap, Moments, Powers, Scored};
use counterpoint::policy::Family;
use counterpoint::{Engine, Result};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{LOGGING_MEAN, LOGGING_STD};

/// The two-sided 95% quantile of the normal.
pub const Z: f64 = 1.959_963_984_540_054;

/// Around which policy candidates are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setup {
    /// (i): around the logging policy.
    Logging,
    /// (ii): around the optimal policy.
    Optimal,
    /// (iii), not in the paper: around an optimal policy in the tail of the log.
    Far,
}

impl Setup {
    /// The best action, and the mean of the optimal policy.
    fn best(self) -> f64 {
        if self == Setup::Far { 5.0 } else { 3.0 }
    }
}

/// How a decision is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The paper's, with IPS: the upper end of the cost against the mean cost, unpaired, gate n_eff / n > 1%.
    PaperIps,
    /// The paper's, with SNIPS.
    PaperSnips,
    /// The library's default test (paired, all gates) with the normal interval, meant for so many rows.
    Paired,
}

/// How decisions compare with the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confusion {
    /// Better, and found to be.
    pub found: usize,
    /// Better, and kept out (refusals included, as the paper counts).
    pub false_negatives: usize,
    /// Better, and refused by the gates: no decision was made.
    pub refused: usize,
    /// Not better, and let in.
    pub false_positives: usize,
    /// Not better, and kept out.
    pub kept: usize,
}

/// One policy of an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Drawn {
    family: Family,
    mean: f64,
    std: f64,
}

impl Drawn {
    fn new(setup: Setup, rng: &mut ChaCha8Rng) -> Self {
        let (e1, e2): (f64, f64) = (rng.sample(StandardNormal), rng.sample(StandardNormal));
        let spread = (0.3 * e2).exp();
        match setup {
            Setup::Logging => {
                Drawn { family: Family::LogNormal, mean: LOGGING_MEAN + 0.3 * e1, std: LOGGING_STD * spread }
            }
            Setup::Optimal => Drawn { family: Family::Normal, mean: setup.best() + 0.8 * e1, std: 0.5 * spread },
            Setup::Far => Drawn { family: Family::Normal, mean: setup.best() + 2.0 * e1, std: 0.5 * spread },
        }
    }

    /// The true mean reward, by the trapezoid rule in the standard-normal position of the action.
    fn value(&self, best: f64) -> f64 {
        let h = 0.05;
        (-180..=180)
            .map(|k| f64::from(k) * h)
            .map(|z| {
                let u = self.family.at(z, self.mean, self.std).value - best;
                h * (-0.5 * (z * z + u * u)).exp() / std::f64::consts::TAU.sqrt()
            })
            .sum()
    }

    pub(crate) fn log_density(&self, a: f64) -> f64 {
        self.family.log_density(a, self.mean, self.std).value
    }
}

const LOGGING: Drawn = Drawn { family: Family::LogNormal, mean: LOGGING_MEAN, std: LOGGING_STD };

/// The logging policy, the optimal one, and the first that is drawn of a setup with seed 1.
pub(crate) fn shown(setup: Setup) -> [Drawn; 3] {
    let optimal = Drawn { family: Family::Normal, mean: setup.best(), std: 0.5 };
    [LOGGING, optimal, Scene::draw(setup, 1, 1, 1).drawn[0]]
}

/// One log in two parts, rows of (action, cost, ln density), and the policies to be judged by it.
struct Scene {
    valid: Vec<[f64; 3]>,
    test: Vec<[f64; 3]>,
    drawn: Vec<Drawn>,
}

impl Scene {
    fn draw(setup: Setup, policies: usize, rows: usize, seed: u64) -> Scene {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut draw = || -> Vec<[f64; 3]> {
            (0..rows)
                .map(|_| {
                    let a = Family::LogNormal.sample(LOGGING_MEAN, LOGGING_STD, &mut rng);
                    let noise: f64 = rng.sample(StandardNormal);
                    [a, -(-0.5 * (a - setup.best()) * (a - setup.best())).exp() - 0.1 * noise, LOGGING.log_density(a)]
                })
                .collect()
        };
        let (valid, test) = (draw(), draw());
        Scene { valid, test, drawn: (0..policies).map(|_| Drawn::new(setup, &mut rng)).collect() }
    }

    /// Both parts as one policy sees them.
    fn scored(&self, d: &Drawn) -> [[Scored; 1]; 2] {
        [&self.valid, &self.test].map(|part| {
            let log_w = part.iter().map(|[a, _, log_p]| d.log_density(*a) - log_p).collect();
            [Scored::from_columns(0, log_w, part.iter().map(|r| r[1]).collect())]
        })
    }
}

/// Runs an experiment: `policies` candidates judged by each rule on one log of `rows` valid and `rows` test rows.
pub fn run(setup: Setup, rules: &[Rule], policies: usize, rows: usize, seed: u64) -> Result<Vec<Confusion>> {
    let scene = Scene::draw(setup, policies, rows, seed);
    let logged = LOGGING.value(setup.best());
    let decisions: Vec<(bool, Vec<Verdict>)> = scene
        .drawn
        .par_iter()
        .map(|d| {
            let [valid, test] = scene.scored(d);
            let decide = rules.iter().map(|r| decide(*r, &valid, &test)).collect::<Result<_>>()?;
            Ok((d.value(setup.best()) > logged, decide))
        })
        .collect::<Result<_>>()?;
    let mut out = vec![Confusion::default(); rules.len()];
    for (better, verdicts) in &decisions {
        for (c, verdict) in out.iter_mut().zip(verdicts) {
            c.refused += usize::from(*better && *verdict == Verdict::Invalid);
            match (better, *verdict == Verdict::Deploy) {
                (true, true) => c.found += 1,
                (true, false) => c.false_negatives += 1,
                (false, true) => c.false_positives += 1,
                (false, false) => c.kept += 1,
            }
        }
    }
    Ok(out)
}

/// What a log says of one policy, beside the truth. Rewards, not costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The true value of the policy.
    pub value: f64,
    /// The true value of the logging policy.
    pub logging: f64,
    /// The mean reward of the log on the test rows.
    pub logged: f64,
    /// n_eff / n on the valid rows.
    pub share: f64,
    /// IPS on the test rows, and its standard error.
    pub ips: (f64, f64),
    /// SNIPS on the test rows, and its standard error.
    pub snips: (f64, f64),
}

/// The policies of [`run`] with all that its rules look at.
pub fn judge(setup: Setup, policies: usize, rows: usize, seed: u64) -> Vec<Judged> {
    let scene = Scene::draw(setup, policies, rows, seed);
    let judged = |d: &Drawn| {
        let [valid, test] = scene.scored(d);
        let own = sums(&test);
        let gate = sums(&valid);
        let reward = |(cost, std_error): (f64, f64)| (-cost, std_error);
        Judged {
            value: d.value(setup.best()),
            logging: LOGGING.value(setup.best()),
            logged: -own.logged().0,
            share: gate.effective() / gate.n(),
            ips: reward(ips(&own, &test)),
            snips: reward(own.value()),
        }
    };
    scene.drawn.par_iter().map(judged).collect()
}

fn sums(rows: &[Scored]) -> Moments {
    let fold = Bootstrap { replicates: 0, seed: 0, log_scale: 0.0, centre: 0.0, of: Powers::Weights, together: 1 };
    Engine::single().ask(&fold, rows).own
}

/// IPS and its standard error.
fn ips(own: &Moments, rows: &[Scored]) -> (f64, f64) {
    let [n, _, _, z, vz, ..] = *own.sums();
    let mean = (z + vz) / n;
    let squares: f64 =
        rows.iter().flat_map(|b| b.log_w.iter().zip(&b.y)).map(|(l, y)| (l.exp() * y - mean).powi(2)).sum();
    (mean, squares.sqrt() / n)
}

/// The verdict of a rule. With so many rows the 100-fold percentile bootstrap of the paper is the normal interval but
/// for its own noise, so all rules use the latter.
fn decide(rule: Rule, valid: &[Scored], test: &[Scored]) -> Result<Verdict> {
    let normal = counterpoint::certify::Method::Normal;
    let terms = Terms { interval: normal, ..Terms::default() };
    if rule == Rule::Paired {
        return Ok(certify_scored(&Engine::single(), valid, test, &terms, Outcome::Cost)?.verdict);
    }
    let (gate, own) = (sums(valid), sums(test));
    let share = gate.effective() / gate.n();
    let (value, std_error) = if rule == Rule::PaperIps { ips(&own, test) } else { own.value() };
    let passes = value + Z * std_error < own.logged().0;
    Ok(match (share > terms.gate.min_effective_share, passes) {
        (false, _) => Verdict::Invalid,
        (true, true) => Verdict::Deploy,
        (true, false) => Verdict::Keep,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn true_values_agree_with_the_closed_form_of_a_normal_policy() {
        let d = Drawn { family: Family::Normal, mean: 2.2, std: 0.7 };
        let s = 1.0 + 0.7f64 * 0.7;
        assert!((d.value(3.0) - (-0.5 * 0.64 / s).exp() / s.sqrt()).abs() < 1e-10);
    }

    #[test]
    fn decisions_are_mostly_right() {
        let c = run(Setup::Optimal, &[Rule::PaperSnips, Rule::Paired], 60, 4000, 1).expect("a run");
        for c in c {
            assert_eq!(c.found + c.false_negatives + c.false_positives + c.kept, 60);
            assert!(c.found + c.kept > 50, "{c:?}");
        }
    }

    /// What is judged is what the rule decides by.
    #[test]
    fn judged_policies_give_the_decisions_of_the_rule() {
        let c = run(Setup::Optimal, &[Rule::PaperIps, Rule::PaperSnips], 60, 4000, 1).expect("a run");
        let judged = judge(Setup::Optimal, 60, 4000, 1);
        for (c, estimate) in c.iter().zip([|j: &Judged| j.ips, |j: &Judged| j.snips]) {
            let deployed = |j: &&Judged| j.share > 0.01 && estimate(j).0 - Z * estimate(j).1 > j.logged;
            let better = judged.iter().filter(deployed).filter(|j| j.value > j.logging).count();
            assert_eq!((better, judged.iter().filter(deployed).count()), (c.found, c.found + c.false_positives));
        }
    }
}
