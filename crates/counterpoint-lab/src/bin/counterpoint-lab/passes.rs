//! `counterpoint-lab passes`: how many passes over the rows does a fit take to reach what another recipe ends at?

use crate::say;
use clap::Args;
use counterpoint::learn::{Learner, Progress};
use counterpoint::{Engine, Log, Recipe, Result};
use counterpoint_lab::paper::drawn_potential;
use counterpoint_lab::suite::World;
use counterpoint_lab::{Cocoa, Potential};
use std::ops::ControlFlow;
use std::sync::Mutex;

/// Count passes over the rows until a recipe is where the default one of clp ends, on the paper's synthetic sets, the twin of CoCoA and worlds of
/// the suite.
///
/// For every set and seed both recipes learn from the same starting points. A pass is one value with its gradient; those of all starting points
/// are added, in the order of their numbers, as if they ran one after the other.
#[derive(Args)]
#[command(
    after_help = "Example:\n  counterpoint-lab passes --set history=200 --set finalists=1 --set carry=true --seeds 3"
)]
pub(crate) struct Passes {
    /// Change one field of the recipe that is counted; a line of TOML. May be repeated.
    #[arg(long, value_name = "FIELD=VALUE")]
    set: Vec<String>,
    /// Change one field of both recipes. May be repeated.
    #[arg(long, value_name = "FIELD=VALUE")]
    both: Vec<String>,
    /// Worlds of the suite.
    #[arg(long, value_name = "WORLDS", value_delimiter = ',', default_value = "dial,newsvendor")]
    worlds: Vec<String>,
    /// Rows to learn from.
    #[arg(long, default_value_t = 3000)]
    rows: usize,
    /// How many seeds.
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    first_seed: u64,
}

/// A fit as it went.
struct Fit {
    /// The best objective as a cost, and all passes.
    end: f64,
    passes: usize,
    /// After each step the passes so far, of all starting points, and the objective.
    steps: Vec<(usize, f64)>,
    stop: String,
}

impl Fit {
    /// Passes until an objective is reached.
    fn reaches(&self, objective: f64) -> Option<usize> {
        self.steps.iter().find(|(_, o)| *o <= objective).map(|(passes, _)| *passes)
    }
}

/// Steps of one starting point: proximal steps completed, passes and the objective.
type Steps = Vec<(usize, usize, f64)>;

/// The steps of all starting points in the order in which one thread would make them: one start after the other, and where only some go on
/// after the first proximal step, these behind the first steps of all.
fn in_order(starts: &[Steps], race: bool) -> Vec<(usize, f64)> {
    let first = |steps: &Steps| match race {
        true => steps.iter().position(|s| s.0 > 0).map_or(steps.len(), |i| i + 1),
        false => steps.len(),
    };
    let cut = starts.iter().map(|s| s.split_at(first(s)));
    let (early, late): (Vec<_>, Vec<_>) = cut.unzip();
    let mut all = Vec::new();
    let mut total = 0;
    for (i, steps) in early.iter().chain(&late).enumerate() {
        let own = if i < starts.len() { 0 } else { early[i - starts.len()].last().map_or(0, |s| s.1) };
        all.extend(steps.iter().map(|(_, passes, objective)| (total + passes - own, *objective)));
        total += steps.last().map_or(0, |s| s.1 - own);
    }
    all
}

impl Passes {
    pub(crate) fn run(self) -> Result<()> {
        let engine = Engine::new(0)?;
        let recipe = |more: &[String]| {
            let lines = [&["policy = \"clp\"".to_string()], &self.both[..], more].concat();
            Recipe::from_toml(&lines.join("\n"))
        };
        let (before, after) = (recipe(&[])?, recipe(&self.set)?);
        say::result(
            "| set | seed | passes, before | ends at | passes to there, after | share | passes, after | ends at | how |",
        );
        say::result("|---|---|---|---|---|---|---|---|---|");
        let mut shares = Vec::new();
        for seed in (self.first_seed..).take(self.seeds as usize) {
            for (name, log) in self.sets(seed)? {
                let [a, b] = [&before, &after].map(|r| fit(&engine, &log, &Recipe { seed, ..r.clone() }));
                let (a, b) = (a?, b?);
                let reached = b.reaches(a.end);
                let share = reached.map(|r| r as f64 / a.passes as f64);
                let shown = |v: Option<String>| v.unwrap_or_else(|| "never".into());
                say::result(format_args!(
                    "| {name} | {seed} | {} | {:.4} | {} | {} | {} | {:.4} | {} |",
                    a.passes,
                    a.end,
                    shown(reached.map(|r| r.to_string())),
                    shown(share.map(|s| format!("{s:.2}"))),
                    b.passes,
                    b.end,
                    b.stop
                ));
                shares.push((share, b.end < a.end, b.passes as f64 / a.passes as f64));
            }
        }
        type Share = (Option<f64>, bool, f64);
        let count = |f: &dyn Fn(&Share) -> bool| shares.iter().filter(|s| f(s)).count();
        let mut sorted: Vec<f64> = shares.iter().map(|s| s.0.unwrap_or(f64::INFINITY)).collect();
        sorted.sort_by(f64::total_cmp);
        say::result(format_args!(
            "\n{} fits: {} reach it, {} within a quarter of the passes, median share {:.2}; {} end lower; all passes {:.2} of before on average",
            shares.len(),
            count(&|s| s.0.is_some()),
            count(&|s| s.0.is_some_and(|s| s <= 0.25)),
            sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN),
            count(&|s| s.1),
            shares.iter().map(|s| s.2).sum::<f64>() / shares.len().max(1) as f64,
        ));
        Ok(())
    }

    fn sets(&self, seed: u64) -> Result<Vec<(String, Log)>> {
        let mut sets = Vec::new();
        for kind in Potential::ALL {
            sets.push((kind.to_string(), drawn_potential(kind, 3 * self.rows, seed + 1)?.parts.train));
        }
        sets.push(("cocoa".into(), Cocoa::simulate(self.rows, seed + 1).log()?));
        for name in &self.worlds {
            sets.push((name.clone(), World::named(name)?.log(self.rows, seed + 1)?));
        }
        Ok(sets)
    }
}

fn fit(engine: &Engine, log: &Log, recipe: &Recipe) -> Result<Fit> {
    let steps = Mutex::new(vec![Steps::new(); recipe.starts]);
    let sign = log.schema().direction.to_user(1.0);
    let watch = |p: &Progress| {
        if let Ok(mut steps) = steps.lock() {
            steps[p.start].push((p.outer, p.evaluations, sign * p.objective));
        }
        ControlFlow::Continue(())
    };
    let learned = Learner::new(recipe).watch(&watch).learn(&log.on(engine))?;
    let stop = learned.starts.get(learned.best).map(|s| s.stop.split(':').next().unwrap_or_default().to_string());
    Ok(Fit {
        end: sign * learned.objective,
        passes: learned.starts.iter().map(|s| s.evaluations).sum(),
        steps: in_order(&steps.into_inner().unwrap_or_default(), recipe.finalists.is_some()),
        stop: stop.unwrap_or_default(),
    })
}
