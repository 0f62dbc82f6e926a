//! The methods that are judged, each through the functions the command line calls.

use super::{Record, Truth, World};
use counterpoint::certify::{Certificate, Terms, Verdict, certify};
use counterpoint::data::{Parts, SplitRule};
use counterpoint::learn::Learner;
use counterpoint::policy::SavedPolicy;
use counterpoint::rivals::{Rival, choose};
use counterpoint::select::{Grid, Memory};
use counterpoint::{Engine, Error, Recipe, Result, select};
use std::time::Instant;

/// Draws of a policy's value do not share the seed of anything else.
const VALUE_SEED: u64 = 77;

/// A way to get from a log to a policy.
#[derive(Clone, Debug)]
pub enum Method {
    /// `counterpoint learn`.
    Learn(Box<Recipe>),
    /// `counterpoint select`.
    Select(Box<Grid>),
    /// `counterpoint rival NAME`.
    Rival(&'static str),
}

impl Method {
    /// The names of all methods.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ["learn", "select"].into_iter().chain(Rival::NAMES)
    }

    /// A method by its name; `learn` takes the recipe, `select` the grid.
    pub fn named(name: &str, recipe: &Recipe, grid: &Grid) -> Result<Method> {
        match name {
            "learn" => Ok(Method::Learn(Box::new(recipe.clone()))),
            "select" => Ok(Method::Select(Box::new(grid.clone()))),
            _ => Rival::NAMES.iter().find(|n| **n == name).map(|n| Method::Rival(n)).ok_or_else(|| {
                let known: Vec<&str> = Method::names().collect();
                Error::data(format!("there is no method {name:?}")).hint(format!("choose among {}", known.join(", ")))
            }),
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Method::Learn(_) => "learn",
            Method::Select(_) => "select",
            Method::Rival(name) => name,
        }
    }

    /// A policy from the train and valid parts, and a word about it.
    pub fn policy(&self, engine: &Engine, parts: &Parts, terms: &Terms) -> Result<(SavedPolicy, String)> {
        let seed = terms.seed;
        match self {
            Method::Learn(recipe) => {
                let recipe = Recipe { seed, ..(**recipe).clone() };
                let rows = (parts.train.on(engine), parts.valid.on(engine));
                let learned = Learner::new(&recipe).gate(terms.gate).learn_from(&rows)?;
                let line = learned.search.as_ref().and_then(|s| s.board.first());
                let said = line.map_or(String::new(), |l| format!("{}, share {}, step {}", l.rule, l.share, l.step));
                Ok((learned.policy, said))
            }
            Method::Select(grid) => {
                let rows = (parts.train.on(engine), parts.valid.on(engine));
                let chosen = select(&rows, grid, seed, terms.gate, &Memory::none())?;
                let said =
                    format!("{} candidates, {}", chosen.leaderboard.len(), chosen.recipe.to_toml().replace('\n', " "));
                Ok((chosen.policy, said))
            }
            Method::Rival(name) => {
                let grid = Rival::grid(name, parts.train.d())?;
                let rows = [&parts.train, &parts.valid];
                let chosen = choose(engine, &grid, rows, None, terms.gate, seed, &|| ())?;
                let said = serde_json::to_string(&chosen.best.rival).unwrap_or_default();
                Ok((chosen.best.policy, said))
            }
        }
    }
}

/// Runs a method on a log of a world. An error of the method is a result, `refused`; only a world that cannot be drawn is an error.
pub fn run(engine: &Engine, method: &Method, world: &World, truth: &Truth, rows: usize, seed: u64) -> Result<Record> {
    let parts = world.log(rows, seed)?.into_parts(SplitRule::Column)?;
    let terms = Terms { seed, ..Terms::default() };
    let (clock, cpu) = (Instant::now(), cpu_seconds());
    let made = method.policy(engine, &parts, &terms);
    let judged = made.map(|(policy, said)| {
        let certificate = certify(&policy, &parts.valid.on(engine), &parts.test.on(engine), &terms);
        (policy, said, certificate)
    });
    let seconds = clock.elapsed().as_secs_f64();
    let spent = cpu_seconds().zip(cpu).map(|(after, before)| after - before);
    let mut record = Record {
        world: world.name.into(),
        seed,
        method: method.name().into(),
        rows,
        oracle: truth.oracle,
        constant: truth.constant,
        logging: truth.logging,
        value: truth.logging,
        regret: 1.0,
        mean_regret: None,
        verdict: "refused".into(),
        difference: None,
        effective_share: None,
        seconds,
        cpu_seconds: spent,
        detail: String::new(),
    };
    match judged {
        Err(e) => record.detail = e.to_string(),
        Ok((policy, said, certificate)) => {
            let (value, mean) = truth.value(world, &policy, VALUE_SEED);
            record.value = value;
            record.regret = truth.regret(value);
            record.mean_regret = mean.map(|m| truth.regret(m));
            record.detail = said;
            match certificate {
                Ok(c) => note(&mut record, &c),
                Err(e) => record.detail = format!("{}; no certificate: {e}", record.detail),
            }
        }
    }
    Ok(record)
}

/// Writes down what the certificate says.
fn note(record: &mut Record, c: &Certificate) {
    record.verdict = match c.verdict {
        Verdict::Deploy => "deploy",
        Verdict::Promising => "promising",
        Verdict::Keep => "keep",
        Verdict::Invalid => "invalid",
    }
    .into();
    let d = &c.difference;
    record.difference = [d.lower, d.upper].iter().all(|v| v.is_finite()).then_some([d.lower, d.upper]);
    if c.verdict != Verdict::Deploy {
        record.detail = format!("{}; {}", record.detail, c.reasons.join("; "));
    }
    record.effective_share = Some(c.valid.effective_share).filter(|v| v.is_finite());
}

/// Seconds of processors this process has used, where the system tells (Linux, in hundredths).
pub fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // the name may hold spaces: count the fields after its closing bracket
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |k: usize| fields.get(k)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / 100.0)
}
