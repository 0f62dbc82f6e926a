//! Table 3: previous methods for continuous actions, each given its own grid, beside ours.

use super::data::{World, potential, warfarin};
use super::{Ask, Cell, Claim, Exhibit, Table, Value};
use crate::Potential;
use crate::rivals::{Figures, JUDGE_STD, PAPER_GATE, Rival, best, judge};
use counterpoint::features::ContextKind;
use counterpoint::{Engine, Estimator, Grid, Recipe, Result, evaluate, learn};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// The seed of every fit and every sampled action.
const SEED: u64 = 1;

/// The sets, in the paper's order.
const SETS: [&str; 4] = ["circles", "moons", "anisotropic", "warfarin"];

/// The paper's values with their error bars.
type Printed = [(f64, f64); 4];

/// The rows: method, its name in the table, and what the paper prints for each set, with its error bar.
///
/// The paper tells of Demirer's method in words only; DM is the rule within SDM. The paper gives KS on Warfarin as Kallus &
/// Zhou report it, without an error bar.
const ROWS: [(&str, &str, Option<Printed>); 7] = [
    ("dm", "direct method", None),
    ("sdm", "stochastic direct method", Some([(0.6205, 0.0004), (0.7225, 0.0006), (0.6383, 0.0003), (-9.714, 0.013)])),
    ("o-learning", "O-learning", Some([(0.608, 0.0002), (0.645, 0.0003), (0.754, 0.0002), (-9.407, 0.004)])),
    ("ks", "KS", Some([(0.612, 0.0001), (0.734, 0.0001), (0.785, 0.0002), (-10.19, f64::NAN)])),
    ("sn-ks", "SN-KS", Some([(0.609, 0.0001), (0.595, 0.0001), (0.652, 0.0001), (-12.569, 0.001)])),
    ("cats", "CATS offline", Some([(0.589, 0.0011), (0.592, 0.0011), (0.569, 0.0012), (-12.236, 0.2548)])),
    ("demirer", "Demirer et al.", None),
];

/// The paper's own row.
const OURS: Printed = [(0.767, 0.0008), (0.781, 0.0004), (0.770, 0.0002), (-8.720, 0.001)];

/// One fit: what the valid rows say of it, and what it is worth.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Record {
    /// The settings.
    settings: String,
    figures: Option<Figures>,
    /// Value and standard error of what the method puts to work.
    deployed: Option<(f64, f64)>,
    /// The same of the policy that was judged, noise included.
    judged: Option<(f64, f64)>,
    failure: Option<String>,
}

/// Table 3, run again.
pub fn table3(ask: &Ask) -> Result<Exhibit> {
    let mut worlds = Vec::new();
    for name in SETS {
        let world = match name {
            "warfarin" => warfarin(ask)?,
            _ => Some(potential(ask, name.parse::<Potential>().unwrap_or(Potential::Moons))?),
        };
        worlds.extend(world.map(|w| (name, w)));
    }
    // all fits of a set are independent: side by side, each on one thread
    let mut results: Vec<Vec<Vec<Record>>> = Vec::new();
    for (set, world) in &worlds {
        let mut jobs: Vec<(usize, Job)> = Vec::new();
        for (r, (name, ..)) in ROWS.iter().enumerate() {
            jobs.extend(grid(ask, name, world)?.into_iter().map(|rival| (r, Job::Rival(rival))));
        }
        let recipes = recipes(ask, world)?;
        jobs.extend(recipes.into_iter().enumerate().map(|(i, r)| (ROWS.len() + i.min(1), Job::Clp(Box::new(r)))));
        let done = ask.engine.map(&jobs, |(_, job)| run(ask, set, world, job));
        let mut rows = vec![Vec::new(); ROWS.len() + 2];
        for ((r, _), record) in jobs.iter().zip(done) {
            rows[*r].push(record?);
        }
        // the default recipe is a candidate too
        let default = rows[ROWS.len()].clone();
        rows[ROWS.len() + 1].extend(default);
        results.push(rows);
    }
    Ok(show(ask, &worlds, &results))
}

enum Job {
    Rival(Rival),
    Clp(Box<Recipe>),
}

/// The method's grid; a quick run takes its default settings and one more.
fn grid(ask: &Ask, name: &str, world: &World) -> Result<Vec<Rival>> {
    let grid = Rival::grid(name, world.parts.train.d())?;
    Ok(if ask.quick() { vec![grid[0], grid[grid.len() / 2]] } else { grid })
}

/// Ours: first the default recipe, then a grid as small as the rivals'.
///
/// With 81 contexts the default's quadratic map has more parameters than the log has rows and is refused: there the first recipe
/// of the library's grid for wide logs stands in its place, and the grid is about what holds so many coefficients back.
fn recipes(ask: &Ask, world: &World) -> Result<Vec<Recipe>> {
    let many = world.parts.train.d() > 10;
    let default = match many {
        true => Recipe { seed: SEED, ..Grid::named_or_file("wide")?.candidates(0)?[0].clone() },
        false => Recipe { seed: SEED, ..Recipe::default() },
    };
    let mut out = vec![default.clone()];
    if ask.quick() {
        out[0].starts = 2;
        return Ok(out);
    }
    for cap in [10.0, 20.0] {
        if many {
            for anchors in [5, 10] {
                for temperature in [0.5, 1.0] {
                    out.extend([1.0, 3.0, 10.0].map(|ridge| Recipe {
                        cap,
                        anchors,
                        temperature,
                        ridge,
                        std_floor: Recipe::default().std_floor,
                        ..default.clone()
                    }));
                }
            }
        } else {
            for variance_penalty in [0.0, 1.0] {
                let maps = [ContextKind::Quadratic, ContextKind::Cubic];
                out.extend(maps.map(|context_map| Recipe { cap, variance_penalty, context_map, ..default.clone() }));
            }
        }
    }
    Ok(out)
}

fn run(ask: &Ask, set: &str, world: &World, job: &Job) -> Result<Record> {
    let source = if ask.data.is_some() { "file" } else { "drawn" };
    let settings = match job {
        Job::Rival(rival) => serde_json::to_string(rival).unwrap_or_default(),
        Job::Clp(recipe) => recipe.to_toml().replace('\n', " "),
    };
    ask.once(&format!("table3 {set} ({source}): {settings}"), || {
        let record = match job {
            Job::Rival(rival) => rival_record(rival, world),
            Job::Clp(recipe) => clp_record(recipe, world),
        };
        let failed = |failure| Record { settings: String::new(), figures: None, deployed: None, judged: None, failure };
        // settings that do not suit a log lose the comparison, they do not end it
        let record = record.unwrap_or_else(|e| failed(Some(e.to_string())));
        Ok(Record { settings, ..record })
    })
}

fn rival_record(rival: &Rival, world: &World) -> Result<Record> {
    let judged = judge(&Engine::single(), rival, [&world.parts.train, &world.parts.valid], None, SEED)?;
    let deployed = world.truth.rival_value(&rival.deployed(&judged.policy), SEED);
    let value = world.truth.rival_value(&judged.policy, SEED);
    let settings = String::new();
    Ok(Record { settings, figures: judged.figures, deployed: Some(deployed), judged: Some(value), failure: None })
}

fn clp_record(recipe: &Recipe, world: &World) -> Result<Record> {
    let engine = Engine::single();
    let policy = learn(&engine, &world.parts.train, recipe, &|_| ControlFlow::Continue(()))?.policy;
    let e = evaluate(&engine, &world.parts.valid, &policy, &Estimator::SNIPS, None)?;
    let ips = evaluate(&engine, &world.parts.valid, &policy, &Estimator::IPS, None)?.cost;
    let figures = Figures {
        ips,
        snips: e.cost,
        std_error: e.std_error,
        effective: e.effective,
        rows: e.rows,
        mean_weight: e.mean_weight,
    };
    let value = world.truth.value(&policy, SEED);
    let settings = String::new();
    Ok(Record { settings, figures: Some(figures), deployed: Some(value), judged: Some(value), failure: None })
}

/// The chosen fit of each row and set.
fn chosen(results: &[Vec<Vec<Record>>], row: usize) -> Vec<Option<&Record>> {
    results
        .iter()
        .map(|rows| match row == ROWS.len() {
            true => rows[row].first().filter(|r| r.failure.is_none()), // the default recipe was not chosen, it is
            false => best(&rows[row], PAPER_GATE, |r| r.figures),
        })
        .collect()
}

fn show(ask: &Ask, worlds: &[(&str, World)], results: &[Vec<Vec<Record>>]) -> Exhibit {
    let head = |first: &str| {
        let sets = worlds.iter().map(|(name, _)| name.to_string());
        [first.to_string()].into_iter().chain(sets).collect::<Vec<_>>()
    };
    let mut names: Vec<&str> = ROWS.iter().map(|r| r.1).collect();
    names.extend(["ours: CLP, scIPS, default recipe", "ours: CLP, scIPS, chosen from a grid"]);
    let printed = |row: usize| match row {
        r if r < ROWS.len() => ROWS[r].2,
        _ => Some(OURS),
    };
    let mut value =
        Table { caption: "Test reward of what each method puts to work".into(), head: head("method"), rows: vec![] };
    let mut judged = Table {
        caption:
            "Test reward of the policy that was judged offline, noise included; its SNIPS on the valid rows; n_eff/n"
                .into(),
        head: head("method"),
        rows: vec![],
    };
    let mut hindsight = Table {
        caption: "Test reward of the best settings of the grid in hindsight: what the offline choice costs".into(),
        head: head("method"),
        rows: vec![],
    };
    let mut picks = Table { caption: "Settings chosen".into(), head: head("method"), rows: vec![] };
    for (row, name) in names.iter().enumerate() {
        let records = chosen(results, row);
        let cells = |f: &dyn Fn(usize, &Record) -> Cell| -> Vec<Cell> {
            let cell = |(s, r): (usize, &Option<&Record>)| r.map_or_else(|| Cell::from("none passes"), |r| f(s, r));
            [Cell::from(*name)].into_iter().chain(records.iter().enumerate().map(cell)).collect()
        };
        value.rows.push(cells(&|s, r| {
            let set = SETS.iter().position(|n| *n == worlds[s].0).unwrap_or_default();
            beside(r.deployed, printed(row).map(|p| p[set]))
        }));
        judged.rows.push(cells(&|_, r| match (r.judged, r.figures) {
            (Some(v), Some(f)) => {
                format!("{:.4}; {:.4} ± {:.4}; {:.3}", v.0, -f.snips, f.std_error, f.effective / f.rows).into()
            }
            _ => "failed".into(),
        }));
        picks.rows.push(cells(&|_, r| r.settings.as_str().into()));
        let tops = results.iter().map(|rows| {
            let deployed = rows[row].iter().filter_map(|r| r.deployed);
            beside(deployed.max_by(|a, b| a.0.total_cmp(&b.0)), None)
        });
        hindsight.rows.push([Cell::from(*name)].into_iter().chain(tops).collect());
    }
    let logged = worlds.iter().map(|(_, w)| beside(Some(w.logged()), None));
    value.rows.push([Cell::from("the log")].into_iter().chain(logged).collect());
    picks.rows.truncate(ROWS.len());
    let tables = if ask.quick() { vec![value, judged] } else { vec![value, judged, hindsight, picks] };
    Exhibit { about: about(), tables, pictures: vec![], claims: claims(worlds, results), notes: notes(ask, results) }
}

fn beside(ours: Option<(f64, f64)>, paper: Option<(f64, f64)>) -> Cell {
    let Some((ours, error)) = ours else { return "failed".into() };
    let paper_error = paper.map(|p| p.1).filter(|e| e.is_finite());
    Value { ours, error: Some(error), paper: paper.map(|p| p.0), paper_error }.into()
}

fn about() -> String {
    format!(
        "Each method learns on the train rows with every setting of a small grid; the setting is chosen by SNIPS on the valid rows \
         among policies with n_eff/n >= {}, as in the paper. Values are known rewards on the test contexts, \
         averaged over 100 sampled actions a context for policies that draw.",
        PAPER_GATE.min_effective_share
    )
}

fn notes(ask: &Ask, results: &[Vec<Vec<Record>>]) -> Vec<String> {
    let mut notes = vec![
        "Errors are standard errors over test contexts; the paper's are those of sampling actions for one policy.".into(),
        format!(
            "KS, SN-KS, O-learning and Demirer's method learn rules without noise and are shown as such; the paper does not say how \
             it drew their actions. KS and SN-KS are judged with their kernel as the density, the others with a normal of \
             {JUDGE_STD} std of the logged actions."
        ),
        "The grids give the rivals what ours has: standardised contexts, centred costs, a ridge or a richer context map for the direct \
         method and for Demirer's. The paper does not say what its grids held.".into(),
        "O-learning may take a Gaussian kernel and may count the worse half of the rewards as 0 (`floor`); the latter is ours. z in the claims treats the two values as independent, which on common contexts is cautious."
            .into(),
        "Rules of KS and SN-KS are linear in the contexts, as in their paper.".into(),
        "Warfarin is one split with some 660 valid rows, of which the paper's gate asks seven to be effective: which settings are chosen there is \
         close to chance, for every method. Table 2 cross-validates and turns the test part around."
            .into(),
        "The gate of the paper looks at n_eff alone. Policies that leave the log's support for some contexts pass it with a mean weight \
         below 1 and an estimate that is too good."
            .into(),
    ];
    if !ask.quick() {
        notes.push(
            "Why the order differs from the paper's: its direct method is under-tuned. With a rich context map and a small std it fits these \
             rewards, which are smooth and almost free of noise, better than any weighted estimate can, and O-learning gains from its kernel in \
             the same way. CATS is not the last of all here, and whether SN-KS stands above or below KS depends on the set."
                .into(),
        );
    }
    if ask.data.is_none() {
        notes.push("Warfarin is left out and the potentials are drawn anew: no data directory was given.".into());
    } else {
        notes.push(
            "On Warfarin the default recipe gives way to the first of the built-in grid `wide`: the quadratic map of 81 contexts has more \
             parameters than the log has rows. That grid keeps the std above a fifth of the log's, so that the policy can be certified."
                .into(),
        );
    }
    let failures = results.iter().flatten().flatten().filter(|r| r.failure.is_some()).count();
    if failures > 0 {
        notes.push(format!("{failures} fits failed and count as not passing."));
    }
    notes
}

/// The paper's sentences about the table.
fn claims(worlds: &[(&str, World)], results: &[Vec<Vec<Record>>]) -> Vec<Claim> {
    let value = |name: &str, set: usize| {
        let row = ROWS.iter().position(|r| r.0 == name).unwrap_or(ROWS.len() + 1);
        chosen(results, row)[set].and_then(|r| r.deployed)
    };
    let lines = |f: &dyn Fn(usize) -> Option<(bool, String)>| -> (Option<bool>, String) {
        let all: Vec<(bool, String)> = (0..worlds.len())
            .filter_map(|s| f(s).map(|(holds, words)| (holds, format!("{}: {words}", worlds[s].0))))
            .collect();
        let holds = (!all.is_empty()).then(|| all.iter().all(|(h, _)| *h));
        (holds, all.into_iter().map(|(_, w)| w).collect::<Vec<_>>().join("; "))
    };
    let claim = |says: &str, f: &dyn Fn(usize) -> Option<(bool, String)>| {
        let (holds, measured) = lines(f);
        Claim { says: says.into(), holds, measured }
    };
    let above = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0) / a.1.hypot(b.1);
    vec![
        claim("CLP with scIPS earns more than each of the five methods, on every set", &|s| {
            let ours = value("ours", s)?;
            let rivals = ["sdm", "o-learning", "ks", "sn-ks", "cats"];
            let top = rivals.iter().filter_map(|r| Some((r, value(r, s)?))).max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
            let z = above(ours, top.1);
            Some((z > 1.64, format!("ours {:.4}, best rival {} {:.4} (z = {z:.1})", ours.0, top.0, top.1.0)))
        }),
        claim("Self-normalising kernel smoothing makes it worse", &|s| {
            let (sn, ks) = (value("sn-ks", s)?, value("ks", s)?);
            let z = above(ks, sn);
            Some((z > 1.64, format!("KS {:.4}, SN-KS {:.4} (z = {z:.1})", ks.0, sn.0)))
        }),
        claim("CATS offline does poorly: below the other methods", &|s| {
            let cats = value("cats", s)?;
            let rivals = ["sdm", "o-learning", "ks", "sn-ks"].iter().filter_map(|r| Some(value(r, s)?.0));
            let least = rivals.fold(f64::INFINITY, f64::min);
            Some((cats.0 < least, format!("CATS {:.4}, the least of the others {least:.4}", cats.0)))
        }),
        claim("Demirer's method with richer maps beats the logging policy", &|s| {
            let (own, logged) = (value("demirer", s)?, worlds[s].1.logged());
            let z = above(own, logged);
            Some((z > 1.64, format!("{:.4}, the log {:.4} (z = {z:.1})", own.0, logged.0)))
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::Effort;

    fn record(snips: f64, effective: f64, value: f64) -> Record {
        let figures = Figures { ips: snips, snips, std_error: 0.1, effective, rows: 1000.0, mean_weight: 1.0 };
        let deployed = Some((value, 0.01));
        Record { settings: String::new(), figures: Some(figures), deployed, judged: deployed, failure: None }
    }

    #[test]
    fn the_cheapest_that_passes_is_chosen_and_the_default_recipe_is_not() {
        let mut rows =
            vec![vec![record(-0.5, 100.0, 0.5), record(-0.9, 9.0, 0.2), record(-0.7, 50.0, 0.6)]; ROWS.len()];
        rows.push(vec![record(-0.1, 1.0, 0.8)]);
        rows.push(vec![record(-0.1, 1.0, 0.8)]);
        let results = [rows];
        let value = |row: usize| chosen(&results, row)[0].and_then(|r| r.deployed).map(|d| d.0);
        assert_eq!((value(0), value(ROWS.len()), value(ROWS.len() + 1)), (Some(0.6), Some(0.8), None));
    }

    #[test]
    #[ignore = "half a minute"]
    fn a_quick_table_is_whole() {
        let ask = Ask::new(Effort::Quick, None, Engine::new(2).expect("threads"));
        let exhibit = table3(&ask).expect("an exhibit");
        assert_eq!(exhibit.tables[0].rows.len(), ROWS.len() + 3);
        for table in &exhibit.tables {
            assert!(table.rows.iter().all(|r| r.len() == table.head.len() && r.len() == 4), "{table:?}");
        }
        // on simulated circles the default recipe beats the log by far, even with few rows
        let worth = |row: usize| match &exhibit.tables[0].rows[row][1] {
            Cell::Value(v) => v.ours,
            Cell::Text(t) => panic!("{t}"),
        };
        assert!(worth(ROWS.len()) > worth(ROWS.len() + 2) + 0.1);
        assert_eq!(exhibit.claims.len(), 4);
    }
}
