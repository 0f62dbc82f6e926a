//! The logs of Table 2, with their truth.

use crate::paper::Ask;
use crate::{DRAWS, Potential, Split, reward};
use counterpoint::data::{Column, Parts, Table};
use counterpoint::{Error, Log, Part, Policy, Result, SplitRule};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rayon::prelude::*;
use std::path::Path;

/// Contexts of Warfarin.
const WARFARIN_CONTEXTS: usize = 81;
/// Folds on Warfarin.
const FOLDS: usize = 5;

/// Which log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Potential(Potential),
    Warfarin,
}

impl Kind {
    /// As the paper writes it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Potential(Potential::Circles) => "Noisycircles",
            Kind::Potential(Potential::Moons) => "NoisyMoons",
            Kind::Potential(Potential::Anisotropic) => "Anisotropic",
            Kind::Warfarin => "Warfarin",
        }
    }

    /// Its column in the printed table.
    pub(super) fn column(self) -> usize {
        match self {
            Kind::Potential(Potential::Circles) => 0,
            Kind::Potential(Potential::Moons) => 1,
            Kind::Potential(Potential::Anisotropic) => 2,
            Kind::Warfarin => 3,
        }
    }

    /// Whether a class of policies is tried on it.
    pub(super) fn takes(self, class: &str) -> bool {
        self != Kind::Warfarin || !matches!(class, "poly" | "stratified")
    }
}

/// A log and its truth.
pub(super) struct Set {
    pub(super) kind: Kind,
    /// Where the rows are from, for the keys of finished work.
    pub(super) source: String,
    /// What to learn from once a recipe is chosen.
    pub(super) learn: Log,
    /// Pairs of logs: to train on, to judge on.
    pub(super) cuts: Vec<(Log, Log)>,
    /// Contexts of the test part, row by row.
    test: Vec<Vec<f64>>,
    /// Potentials or expert doses of the test part.
    truth: Vec<f64>,
    /// What the log earned on the test part, with its standard error.
    pub(super) logged: [f64; 2],
}

/// All logs that are there, and what is to be said about those that are not.
pub(super) fn all(ask: &Ask) -> Result<(Vec<Set>, Vec<String>)> {
    let (mut sets, mut notes) = (Vec::new(), Vec::new());
    let file = |name: &str| ask.data.as_ref().map(|d| d.join(format!("{name}.parquet"))).filter(|p| p.exists());
    let mut drawn = Vec::new();
    for (kind, name) in [
        (Potential::Circles, "noisycircles"),
        (Potential::Moons, "noisymoons"),
        (Potential::Anisotropic, "anisotropic"),
    ] {
        sets.push(match file(name) {
            Some(path) => potential(kind, &path)?,
            None => {
                drawn.push(Kind::Potential(kind).name());
                simulated(kind)?
            }
        });
    }
    if !drawn.is_empty() {
        notes.push(format!("{}: drawn anew, because the paper's files are not here (--data).", drawn.join(", ")));
    }
    match file("warfarin") {
        Some(path) => sets.push(warfarin(&path)?),
        None => notes.push("Warfarin is left out: warfarin.parquet is not here (--data).".into()),
    }
    Ok((sets, notes))
}

fn simulated(kind: Potential) -> Result<Set> {
    let s = kind.simulate(30_000, 1);
    let rows = s.rows(Split::Test);
    let test = rows.clone().map(|i| vec![s.x[0][i], s.x[1][i]]).collect();
    let truth = s.potential[rows.clone()].to_vec();
    held_out(kind, "drawn anew, seed 1", &s.log()?, (test, truth), &s.reward[rows])
}

fn potential(kind: Potential, path: &Path) -> Result<Set> {
    let names = ["x0", "x1", "action", "reward", "propensity", "split", "potential"].map(String::from);
    let table = Table::read(path, &names)?;
    let Some((_, Column::Words(split))) = table.columns.iter().find(|(n, _)| n == "split") else {
        return Err(Error::data("there is no split column of words").at(path.display().to_string()));
    };
    let parts: Vec<Part> = split.iter().map(|s| s.parse()).collect::<Result<_>>()?;
    let [x0, x1, reward, truth] = ["x0", "x1", "reward", "potential"].map(|n| table.numbers(n));
    let (x0, x1, reward, truth) = (x0?, x1?, reward?, truth?);
    let rows: Vec<usize> = (0..parts.len()).filter(|&i| parts[i] == Part::Test).collect();
    let pick = |v: &[f64]| rows.iter().map(|&i| v[i]).collect::<Vec<f64>>();
    let test = rows.iter().map(|&i| vec![x0[i], x1[i]]).collect();
    let (truth, logged) = (pick(&truth), pick(&reward));
    let log = Log::builder()
        .context("x0", x0)
        .context("x1", x1)
        .action("action", table.numbers("action")?)
        .reward("reward", reward)
        .propensity("propensity", table.numbers("propensity")?)
        .parts(parts)
        .build()?;
    held_out(kind, "the paper's file", &log, (test, truth), &logged)
}

fn held_out(
    kind: Potential,
    source: &str,
    log: &Log,
    (test, truth): (Vec<Vec<f64>>, Vec<f64>),
    rewards: &[f64],
) -> Result<Set> {
    let Parts { train, valid, .. } = log.split(SplitRule::Column)?;
    let (learn, source) = (train.clone(), source.to_string());
    Ok(Set {
        kind: Kind::Potential(kind),
        source,
        learn,
        cuts: vec![(train, valid)],
        test,
        truth,
        logged: mean(rewards),
    })
}

/// Warfarin: three quarters for cross-validation, a quarter for the test, by a seeded shuffle.
fn warfarin(path: &Path) -> Result<Set> {
    let contexts: Vec<String> = (0..WARFARIN_CONTEXTS).map(|j| format!("x{j}")).collect();
    let mut names = contexts.clone();
    names.extend(["action", "reward", "propensity", "expert_dose"].map(String::from));
    let table = Table::read(path, &names)?;
    let mut order: Vec<usize> = (0..table.rows()).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(1));
    let (test, rest) = order.split_at(order.len() / 4);
    let pick = |name: &str, rows: &[usize]| -> Result<Vec<f64>> {
        let v = table.numbers(name)?;
        Ok(rows.iter().map(|&i| v[i]).collect())
    };
    let mut builder = Log::builder();
    for name in &contexts {
        builder = builder.context(name, pick(name, rest)?);
    }
    let learn = builder
        .action("action", pick("action", rest)?)
        .reward("reward", pick("reward", rest)?)
        .propensity("propensity", pick("propensity", rest)?)
        .build()?;
    let columns: Vec<Vec<f64>> = contexts.iter().map(|n| pick(n, test)).collect::<Result<_>>()?;
    let rows = (0..test.len()).map(|i| columns.iter().map(|c| c[i]).collect()).collect();
    Ok(Set {
        kind: Kind::Warfarin,
        source: "the paper's file".into(),
        cuts: (0..FOLDS).map(|f| learn.fold(1, f, FOLDS)).collect::<Result<_>>()?,
        learn,
        test: rows,
        truth: pick("expert_dose", test)?,
        logged: mean(&pick("reward", test)?),
    })
}

impl Set {
    /// The true value of a policy: the known reward averaged over [`DRAWS`] actions for each test context, and the
    /// Monte-Carlo error of that with the contexts given. Seeded, and the same on any number of threads.
    ///
    /// ```text
    /// value = mean_i mean_k r(a_ik, t_i),   error = sqrt(sum_i s_i^2 / DRAWS) / n
    /// ```
    pub(super) fn value(&self, policy: &Policy, seed: u64) -> [f64; 2] {
        let rows: Vec<usize> = (0..self.test.len()).collect();
        let sums: Vec<[f64; 2]> = rows
            .par_chunks(512)
            .map(|rows| {
                let mut scorer = policy.scorer();
                let (mut total, mut spread) = (0.0, 0.0);
                for &i in rows {
                    let (mut s, mut q) = (0.0, 0.0);
                    for k in 0..DRAWS {
                        let (a, _) = scorer.sample(&self.test[i], seed, i as u64 * DRAWS + k);
                        let r = earned(self.kind, a[0], self.truth[i]);
                        s += r;
                        q += r * r;
                    }
                    let draws = DRAWS as f64;
                    total += s / draws;
                    spread += (q - s * s / draws).max(0.0) / ((draws - 1.0) * draws);
                }
                [total, spread]
            })
            .collect();
        let n = rows.len() as f64;
        let sum = |j: usize| sums.iter().map(|s| s[j]).sum::<f64>();
        [sum(0) / n, sum(1).sqrt() / n]
    }
}

/// The known reward of an action: by the potential, or minus the distance to the expert's dose beyond a tenth of it.
fn earned(kind: Kind, action: f64, truth: f64) -> f64 {
    match kind {
        Kind::Potential(_) => reward(action, truth),
        Kind::Warfarin => -((action - truth).abs() - 0.1 * truth).max(0.0),
    }
}

fn mean(v: &[f64]) -> [f64; 2] {
    let n = v.len() as f64;
    let mean = v.iter().sum::<f64>() / n;
    [mean, (v.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n * (n - 1.0))).sqrt()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expert_dose_costs_nothing_up_to_a_tenth() {
        let cost = |a| earned(Kind::Warfarin, a, 30.0);
        assert_eq!([cost(30.0), cost(33.0), cost(27.5), cost(40.0), cost(20.0)], [0.0, 0.0, 0.0, -7.0, -7.0]);
    }

    #[test]
    fn the_logging_policy_has_the_value_of_the_log() {
        let set = simulated(Potential::Moons).expect("a set");
        let [value, error] = set.value(&crate::logging_policy().expect("a policy"), 3);
        assert!(error > 1e-4 && error < 1e-3, "{error}");
        // the log has one action a context, so its error is about ten times as large
        assert!((value - set.logged[0]).abs() < 4.0 * set.logged[1], "{value} {:?}", set.logged);
    }
}
