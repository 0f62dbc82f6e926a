//! The paper's data sets: logs with their truth, read from its files or drawn anew.
//!
//! A [`Dataset`] has three parts and the [`Truth`] of its test part. Tables 2 and 3 cut it for the choice of settings
//! ([`cuts`]).

pub(super) mod cuts;
mod truth;

pub use truth::Truth;
pub(super) use truth::figures;

use super::Ask;
use crate::{Cocoa, Potential, cocoa_amount, cocoa_chance, reward, warfarin_cost};
use counterpoint::data::{Column, Outcome, Parts, Roles, SplitRule, Table};
use counterpoint::{Log, Result};
use std::path::Path;

/// Rows of a potential, as in the paper.
const ROWS: usize = 30_000;

/// A quick run looks at every so many rows.
const QUICK_STEP: usize = 5;

/// Its file.
pub(super) const WARFARIN: &str = "warfarin.parquet";

/// Contexts of Warfarin.
const WARFARIN_CONTEXTS: usize = 81;

/// Rows of the twin of CoCoA in a full and in a quick run.
const COCOA_ROWS: [usize; 2] = [1_000_000, 20_000];

/// The truth of the twin is asked of at most so many test contexts, with so many draws each: its reward is smooth in the action, and
/// contexts differ far more than draws do.
const COCOA_TRUTH: (usize, u64) = (50_000, 10);

/// Which data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One of the synthetic sets.
    Potential(Potential),
    /// Warfarin, where its file is.
    Warfarin,
    /// The twin of CoCoA.
    Cocoa,
}

impl Kind {
    /// Its name, for files and the keys of finished work.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Potential(kind) => kind.name(),
            Kind::Warfarin => "warfarin",
            Kind::Cocoa => "cocoa",
        }
    }

    /// Its name in a sentence.
    pub fn title(self) -> &'static str {
        match self {
            Kind::Potential(kind) => kind.name(),
            Kind::Warfarin => "Warfarin",
            Kind::Cocoa => "the twin of CoCoA",
        }
    }

    /// Its name in the paper's tables; a twin is called one.
    pub(super) fn printed(self) -> &'static str {
        match self {
            Kind::Potential(Potential::Circles) => "Noisycircles",
            Kind::Potential(Potential::Moons) => "NoisyMoons",
            Kind::Potential(Potential::Anisotropic) => "Anisotropic",
            Kind::Warfarin => "Warfarin",
            Kind::Cocoa => "CoCoA twin",
        }
    }

    /// Its column in the paper's tables.
    pub(super) fn column(self) -> usize {
        match self {
            Kind::Potential(Potential::Circles) => 0,
            Kind::Potential(Potential::Moons) => 1,
            Kind::Potential(Potential::Anisotropic) => 2,
            Kind::Warfarin => 3,
            Kind::Cocoa => 4,
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A log in three parts, and the truth of its test part.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// Which one.
    pub kind: Kind,
    /// Where the rows come from, for the keys of finished work.
    pub source: &'static str,
    /// Train, valid and test.
    pub parts: Parts,
    /// What any action would have earned on the test part.
    pub truth: Truth,
}

/// The three potentials, each [`potential`].
pub fn potentials(ask: &Ask) -> Result<Vec<Dataset>> {
    Potential::ALL.into_iter().map(|kind| potential(ask, kind)).collect()
}

/// One of the three potentials: its file where the [`Ask`] has it, or simulated with seed 1. Quick runs take a fifth of the rows.
pub fn potential(ask: &Ask, kind: Potential) -> Result<Dataset> {
    every_row_of(ask, kind, ask.by_effort(QUICK_STEP, 1))
}

/// Every `step`-th row of a potential's file, or as many drawn anew where it is not there.
pub(super) fn every_row_of(ask: &Ask, kind: Potential, step: usize) -> Result<Dataset> {
    match (&ask.data, ask.file(file_of(kind))) {
        (Some(dir), Some(_)) => read_potential(dir, kind, step),
        _ => drawn_potential(kind, ROWS / step, 1),
    }
}

/// A potential from a directory of the paper's files: every `step`-th row.
pub fn read_potential(dir: &Path, kind: Potential, step: usize) -> Result<Dataset> {
    let names = ["x0", "x1", "action", "reward", "propensity", "split", "potential"].map(String::from);
    of_table(kind, thinned(Table::read(dir.join(file_of(kind)), &names)?, step), "the paper's file")
}

fn file_of(kind: Potential) -> &'static str {
    match kind {
        Potential::Moons => "noisymoons.parquet",
        Potential::Circles => "noisycircles.parquet",
        Potential::Anisotropic => "anisotropic.parquet",
    }
}

/// A potential drawn anew.
pub fn drawn_potential(kind: Potential, rows: usize, seed: u64) -> Result<Dataset> {
    of_table(kind, kind.simulate(rows, seed).table(), "drawn anew")
}

fn of_table(kind: Potential, table: Table, source: &'static str) -> Result<Dataset> {
    let hidden = table.numbers("potential")?;
    let log = table.into_log(&roles(2, Some("split".into())))?;
    let parts = log.into_parts(SplitRule::Column)?;
    let truth = Truth::of(&parts.test, &hidden, |a, t, _| reward(a, t));
    Ok(Dataset { kind: Kind::Potential(kind), source, truth, parts })
}

/// A note on the paper's files that are not here; nothing if all are.
pub(super) fn missing(ask: &Ask) -> Option<String> {
    let drawn: Vec<&str> = Potential::ALL.into_iter().map(file_of).filter(|name| ask.file(name).is_none()).collect();
    let mut words = Vec::new();
    if !drawn.is_empty() {
        words.push(format!("{} {} drawn anew", drawn.join(", "), if drawn.len() == 1 { "is" } else { "are" }));
    }
    if ask.file(WARFARIN).is_none() {
        words.push("Warfarin is left out".into());
    }
    (!words.is_empty()).then(|| format!("Not all of the paper's files are here (--data): {}.", words.join(", ")))
}

/// Warfarin, split by thirds; nothing without its file.
pub fn warfarin(ask: &Ask) -> Result<Option<Dataset>> {
    ask.file(WARFARIN).as_deref().map(read_warfarin).transpose()
}

fn read_warfarin(path: &Path) -> Result<Dataset> {
    let (log, dose) = warfarin_log(path)?;
    let parts = log.into_parts(SplitRule::Hash { seed: 0, shares: [1.0; 3] })?;
    let truth = Truth::of(&parts.test, &dose, warfarin_reward);
    Ok(Dataset { kind: Kind::Warfarin, source: "the paper's file", truth, parts })
}

/// Warfarin undivided, with the experts' doses.
pub(super) fn warfarin_log(path: &Path) -> Result<(Log, Vec<f64>)> {
    let mut names: Vec<String> = (0..WARFARIN_CONTEXTS).map(|j| format!("x{j}")).collect();
    names.extend(["action", "reward", "propensity", "expert_dose"].map(String::from));
    let table = Table::read(path, &names)?;
    let dose = table.numbers("expert_dose")?;
    Ok((table.into_log(&roles(WARFARIN_CONTEXTS, None))?, dose))
}

/// Minus the cost of a dose.
pub(super) fn warfarin_reward(action: f64, dose: f64, _: &[f64]) -> f64 {
    -warfarin_cost(action, dose)
}

/// The twin of CoCoA, half of it to learn from, a quarter each for valid and test.
pub fn cocoa(ask: &Ask) -> Result<Dataset> {
    let [full, quick] = COCOA_ROWS;
    drawn_cocoa(ask.by_effort(quick, full), 1)
}

/// A twin of CoCoA of any size. Its test part is whole; its truth is that of a sample of the test contexts.
pub fn drawn_cocoa(rows: usize, seed: u64) -> Result<Dataset> {
    let parts =
        Cocoa::simulate(rows, seed).log()?.into_parts(SplitRule::Hash { seed: 0, shares: [0.5, 0.25, 0.25] })?;
    let (contexts, draws) = COCOA_TRUTH;
    let (x, _) = parts.test.thin(contexts);
    let d = parts.test.d();
    let hidden = x.chunks_exact(d).map(|x| cocoa_amount(x[0])).collect();
    let truth = Truth { x, d, hidden, reward: |a, amount, x| amount * cocoa_chance(x[1], a), draws };
    Ok(Dataset { kind: Kind::Cocoa, source: "drawn anew", parts, truth })
}

fn roles(contexts: usize, split: Option<String>) -> Roles {
    Roles {
        contexts: (0..contexts).map(|j| format!("x{j}")).collect(),
        actions: vec!["action".into()],
        outcome: Some(("reward".into(), Outcome::Reward)),
        propensity: "propensity".into(),
        split,
        ..Roles::default()
    }
}

/// Every `step`-th row.
fn thinned(mut table: Table, step: usize) -> Table {
    fn every<T>(v: &mut Vec<T>, step: usize) {
        let mut i = 0;
        v.retain(|_| {
            i += 1;
            (i - 1) % step == 0
        });
    }
    for (_, column) in &mut table.columns {
        match column {
            Column::Numbers(v) => every(v, step),
            Column::Integers(v) => every(v, step),
            Column::Words(v) => every(v, step),
        }
    }
    table
}

impl Dataset {
    /// Names the rows, for the keys of finished work.
    pub(super) fn name(&self) -> String {
        format!("{}, {}", self.kind, self.source)
    }

    /// What the log earned on its test rows, with its standard error.
    pub fn logged(&self) -> (f64, f64) {
        figures(&self.parts.test.blocks().iter().flat_map(|b| b.y.iter().map(|y| -y)).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::Effort;
    use crate::{logging_policy, online_value};
    use counterpoint::Engine;

    #[test]
    fn the_value_of_a_policy_is_the_laboratorys() {
        let set = potential(&Ask::new(Effort::Quick, None, Engine::single()), Potential::Circles).expect("a data set");
        assert_eq!(set.parts.test.rows(), 2000);
        let s = Potential::Circles.simulate(6000, 1);
        let policy = logging_policy().expect("a policy");
        let rows = 4000..6000;
        let own = online_value(&policy, [&s.x[0][rows.clone()], &s.x[1][rows.clone()]], &s.potential[rows], 3);
        let (value, error) = set.truth.value(&policy, 3);
        assert!((value - own).abs() < 1e-12, "{value} {own}");
        let (same, of_draws) = set.truth.value_on_these(&policy, 3);
        assert!((same - value).abs() < 1e-12 && of_draws > 1e-4 && of_draws < error, "{of_draws}");
        assert!((value - set.logged().0).abs() < 5.0 * set.logged().1 && error > 0.0);
    }

    #[test]
    fn what_is_not_there_is_drawn_anew_and_said() {
        let dir = std::env::temp_dir().join(format!("counterpoint-some-files-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory");
        let ask = || Ask::new(Effort::Quick, Some(dir.clone()), Engine::single());
        assert!(
            missing(&ask())
                .expect("a note")
                .contains("noisymoons.parquet, noisycircles.parquet, anisotropic.parquet are")
        );
        assert_eq!(potential(&ask(), Potential::Moons).expect("a data set").source, "drawn anew");
        Potential::Moons.simulate(300, 1).table().write(dir.join("noisymoons.parquet")).expect("written");
        assert_eq!(potential(&ask(), Potential::Moons).expect("a data set").source, "the paper's file");
        let said = missing(&ask()).expect("a note");
        assert!(!said.contains("noisymoons") && said.contains("Warfarin is left out"), "{said}");
        assert!(warfarin(&ask()).expect("no error").is_none());
        std::fs::remove_dir_all(&dir).expect("removed");
    }

    #[test]
    fn the_twins_truth_is_the_twins_law() {
        let set = drawn_cocoa(40_000, 2).expect("a data set");
        let rows = [&set.parts.train, &set.parts.valid, &set.parts.test].map(|p| p.rows() as f64 / 40_000.0);
        assert!((rows[0] - 0.5).abs() < 0.01 && (rows[1] - 0.25).abs() < 0.01, "{rows:?}");
        let truth = &set.truth;
        assert_eq!(truth.hidden.len(), set.parts.test.rows());
        let i = 7;
        let x = truth.context(i);
        assert_eq!(truth.reward(i, 1.3), cocoa_amount(x[0]) * cocoa_chance(x[1], 1.3));
        // E[reward | x] of the logged actions, against the rewards
        let own: Vec<f64> = {
            let actions = set.parts.test.blocks().iter().flat_map(|b| b.a[0].iter());
            actions.enumerate().map(|(i, a)| truth.reward(i, *a)).collect()
        };
        let ((mean, error), (logged, noise)) = (figures(&own), set.logged());
        assert!((mean - 11.37).abs() < 5.0 * error && error < 0.2, "{mean} {error}");
        assert!((mean - logged).abs() < 5.0 * noise && noise > 3.0 * error);
    }

    #[test]
    #[ignore = "needs the paper's files"]
    fn papers_files_hold_the_known_rewards() {
        let shared = std::env::var_os("COUNTERPOINT_SHARED")
            .map(std::path::PathBuf::from)
            .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
        let data = shared.join("data");
        let ask = Ask::new(Effort::Full, Some(data), Engine::single());
        for set in [warfarin(&ask).expect("read").expect("there"), potential(&ask, Potential::Moons).expect("read")] {
            let blocks = set.parts.test.blocks().iter();
            let logged = blocks.flat_map(|b| b.a[0].iter().zip(&b.y));
            for (i, (a, y)) in logged.enumerate() {
                assert!((set.truth.reward(i, *a) + y).abs() < 1e-6, "row {i}: {a}, {y}");
            }
        }
    }
}
