//! Table 3: previous methods for continuous actions, each given its own grid, beside ours.

mod claims;
mod fit;
mod show;

use super::dataset::cuts::{Column, CutSet, cheapest, passed, quarters};
use super::dataset::{Kind, drawn_cocoa, potential};
use super::{Ask, Exhibit, table2};
use crate::Potential;
use crate::rivals::{Bandwidth, Centre, Choice, Direct, Figures, PAPER_GATE, Rival, Smoothing};
use counterpoint::features::ContextKind;
use counterpoint::recipe::{ContextChoice, EstimatorChoice, StdChoice};
use counterpoint::select::Grid;
use counterpoint::{Recipe, Result};
use fit::Job;
use serde::{Deserialize, Serialize};

/// The seed of every fit and every sampled action.
const SEED: u64 = 1;

/// Rows of the twin of CoCoA in a full and in a quick run: fewer than in Table 2, because some rivals are slow.
const TWIN: [usize; 2] = [200_000, 20_000];

/// The paper's values with their error bars.
type Printed = [(f64, f64); 5];

/// Where the paper prints nothing.
const NONE: (f64, f64) = (f64::NAN, f64::NAN);

/// The rows: method, its name in the table, and what the paper prints for each set, with its error bar.
///
/// The paper tells of Demirer's method in words only; DM is the rule within SDM. The paper gives KS on Warfarin as Kallus &
/// Zhou report it, without an error bar.
const ROWS: [(&str, &str, Option<Printed>); 7] = [
    ("dm", "direct method", None),
    (
        "sdm",
        "stochastic direct method",
        Some([(0.6205, 0.0004), (0.7225, 0.0006), (0.6383, 0.0003), (-9.714, 0.013), NONE]),
    ),
    (
        "o-learning",
        "O-learning",
        Some([(0.608, 0.0002), (0.645, 0.0003), (0.754, 0.0002), (-9.407, 0.004), (11.03, 0.15)]),
    ),
    ("ks", "KS", Some([(0.612, 0.0001), (0.734, 0.0001), (0.785, 0.0002), (-10.19, f64::NAN), (11.38, 0.07)])),
    ("sn-ks", "SN-KS", Some([(0.609, 0.0001), (0.595, 0.0001), (0.652, 0.0001), (-12.569, 0.001), (9.14, 0.94)])),
    ("cats", "CATS offline", Some([(0.589, 0.0011), (0.592, 0.0011), (0.569, 0.0012), (-12.236, 0.2548), NONE])),
    ("demirer", "Demirer et al.", None),
];

/// The paper's own row.
const OURS: Printed = [(0.767, 0.0008), (0.781, 0.0004), (0.770, 0.0002), (-8.720, 0.001), (11.44, 0.10)];

/// One fit: what unseen rows say of it, and what it is worth.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Record {
    /// The settings.
    settings: String,
    /// What each cut says of a fit on its rows; nothing of those on which no row has a weight, or which failed.
    seen: Vec<Figures>,
    /// Value and standard error of what the method puts to work, learned from all rows it may see.
    deployed: Option<[f64; 2]>,
    /// The same of the policy that was judged, noise included.
    judged: Option<[f64; 2]>,
    failure: Option<String>,
}

/// All fits: for each set and each row of the table those of its grid.
struct Results {
    columns: Vec<Column>,
    /// Cuts of each set.
    cuts: Vec<usize>,
    records: Vec<Vec<Vec<Record>>>,
}

/// Table 3, run again.
pub fn table3(ask: &Ask) -> Result<Exhibit> {
    let mut sets = Vec::new();
    for kind in [Potential::Circles, Potential::Moons, Potential::Anisotropic] {
        sets.push(CutSet::of(potential(ask, kind)?));
    }
    sets.extend(quarters(ask)?);
    sets.push(CutSet::of(drawn_cocoa(ask.by_effort(TWIN[1], TWIN[0]), SEED)?));
    let mut records = Vec::new();
    for set in &sets {
        records.push(run(ask, set)?);
    }
    let cuts = sets.iter().map(|s| s.cuts.len()).collect();
    Ok(show::exhibit(ask, &Results { columns: Column::all(&sets), cuts, records }))
}

/// All fits of a set: they are independent, side by side, each on one thread.
fn run(ask: &Ask, set: &CutSet) -> Result<Vec<Vec<Record>>> {
    let mut jobs: Vec<(usize, Job)> = Vec::new();
    for (r, (name, ..)) in ROWS.iter().enumerate() {
        jobs.extend(grid(ask, name, set)?.into_iter().map(|rival| (r, Job::Rival(rival))));
    }
    let recipes = recipes(ask, set)?;
    jobs.extend(recipes.into_iter().enumerate().map(|(i, r)| (ROWS.len() + i.min(1), Job::Clp(Box::new(r)))));
    let done = ask.engine.map(&jobs, |(_, job)| job.record(ask, set));
    let mut rows = vec![Vec::new(); ROWS.len() + 2];
    for ((r, _), record) in jobs.iter().zip(done) {
        rows[*r].push(record?);
    }
    // the default recipe is a candidate too
    let default = rows[ROWS.len()].clone();
    rows[ROWS.len() + 1].extend(default);
    Ok(rows)
}

/// The method's grid; a quick run takes its default settings and one more.
fn grid(ask: &Ask, name: &str, set: &CutSet) -> Result<Vec<Rival>> {
    let mut grid = Rival::grid(name, set.learn.d())?;
    match set.kind {
        Kind::Potential(_) => (),
        Kind::Warfarin => grid.retain(matters),
        // a kernel takes minutes a fit on so many rows, and where most rewards are 0 so is the worse half of them
        Kind::Cocoa => {
            grid.retain(|r| !matches!(r, Rival::OLearning(o) if o.map == ContextKind::Nystrom || o.floor > 0.0));
        }
    }
    Ok(if ask.quick() { vec![grid[0], grid[grid.len() / 2]] } else { grid })
}

/// Whether a setting is tried on Warfarin, where each is fitted six times a quarter.
///
/// Left out is what the truth of a quarter showed to be worse than the method's other settings, so that no method loses by it: the
/// best there of each method's whole grid is among these. Of O-learning's slow kernel rules no others were looked at.
fn matters(rival: &Rival) -> bool {
    let linear = |map: ContextKind| map == ContextKind::Linear;
    let direct = |d: &Direct| !linear(d.map) || d.ridge >= 1.0;
    let wide = |s: &Smoothing| matches!(s.bandwidth, Bandwidth::Share(h) if h >= 0.4) && s.ridge >= 0.1;
    match rival {
        Rival::Dm(d) => direct(d),
        Rival::Sdm(s) => direct(&s.direct) && s.std <= 0.2,
        Rival::Ks(s) => wide(s) && (s.centre == Centre::Mean || s.ridge >= 1.0),
        Rival::SnKs(s) => wide(s),
        Rival::OLearning(o) => o.phi >= 0.4 && o.lambda >= 1.0 && (o.floor > 0.0 || linear(o.map) && o.lambda >= 10.0),
        Rival::Demirer(d) => linear(d.map) || d.choice == Choice::Linear,
        Rival::Cats(_) | Rival::Softmax(_) => true,
    }
}

/// Ours: first the default recipe, then a grid as small as the rivals'.
///
/// With 81 contexts the default's quadratic map has more parameters than the log has rows and is refused: there the first recipe
/// of the library's grid for wide logs stands in its place. The recipes on Warfarin are a third of Table 2's, those on the twin its own.
fn recipes(ask: &Ask, set: &CutSet) -> Result<Vec<Recipe>> {
    let default = match set.kind {
        Kind::Warfarin => Recipe { seed: SEED, ..Grid::named_or_file("wide")?.candidates(0)?[0].clone() },
        _ => Recipe { seed: SEED, ..Recipe::clp() },
    };
    let mut out = vec![default.clone()];
    if ask.quick() {
        out[0].starts = 2;
        return Ok(out);
    }
    if !matches!(set.kind, Kind::Potential(_)) {
        let step = if set.kind == Kind::Warfarin { 3 } else { 1 };
        out.extend(table2::ours(ask, set.kind)?.into_iter().step_by(step));
        return Ok(out);
    }
    for cap in [20.0, 59.9] {
        for std_floor in [0.05, 0.08] {
            let one = Recipe {
                estimator: EstimatorChoice::SoftClipped { cap },
                std: StdChoice::Learned { floor: std_floor },
                variance_penalty: 1.0,
                ..default.clone()
            };
            let maps = [ContextChoice::Quadratic, ContextChoice::Cubic];
            out.extend(maps.map(|map| one.clone().with_context_map(map)));
        }
    }
    Ok(out)
}

impl Results {
    /// The chosen fit of a row on a set.
    fn chosen(&self, row: usize, set: usize) -> Option<&Record> {
        let all = &self.records[set][row];
        if row == ROWS.len() {
            return all.first().filter(|r| r.failure.is_none()); // the default recipe was not chosen, it is
        }
        self.best(all, set, |_| true)
    }

    /// The best on unseen rows of those fits that are let through.
    fn best<'a>(&self, all: &'a [Record], set: usize, among: impl Fn(&Record) -> bool) -> Option<&'a Record> {
        let seen = |r: &Record| r.deployed.and_then(|_| passed(&r.seen, self.cuts[set], PAPER_GATE));
        cheapest(all.iter().map(|r| seen(r).filter(|_| among(r)))).map(|i| &all[i])
    }

    /// What a row earns in a column when it is held to rules linear in the contexts, all rewards kept.
    fn plain(&self, row: usize, column: &Column) -> Option<[f64; 2]> {
        let plain = |r: &Record| {
            let settings: serde_json::Value = serde_json::from_str(&r.settings).unwrap_or_default();
            settings["map"] == "linear" && settings["floor"].as_f64().unwrap_or(0.0) == 0.0
        };
        column.figure(|s| self.best(&self.records[s][row], s, plain)?.deployed)
    }

    /// What a row earns in a column; nothing unless there is a choice on every set of it.
    fn value(&self, row: usize, column: &Column) -> Option<[f64; 2]> {
        column.figure(|s| self.chosen(row, s)?.deployed)
    }

    /// What a row could have earned in a column with the best settings of its grid.
    fn hindsight(&self, row: usize, column: &Column) -> Option<[f64; 2]> {
        let deployed = |s: usize| self.records[s][row].iter().filter_map(|r| r.deployed);
        column.figure(|s| deployed(s).max_by(|a, b| a[0].total_cmp(&b[0])))
    }
}

#[cfg(test)]
mod tests;
