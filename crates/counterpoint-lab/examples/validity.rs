//! Does a certificate keep its promises?
//!
//! `cargo run --release -p counterpoint-lab --example validity -- [TABLE]... [--logs N] [--rows N]... [--quick]`
//! simulates logs whose truth is known and prints how often intervals hold it, how often worse policies are deployed and
//! better ones found. Tables: light, heavy, null, power, family, monitor, protocol; all of them if none is named. `--logs` is the
//! number of logs a cell (2,000), `--quick` a tenth of it.

#![allow(clippy::print_stdout)]

use counterpoint::certify::Terms;
use counterpoint::{Error, Result};
use counterpoint_lab::protocol::{Rule, Setup, run};
use counterpoint_lab::validity::{Candidate, World, crossings, family, tally};

struct Ask {
    tables: Vec<String>,
    logs: usize,
    rows: Vec<usize>,
}

fn ask() -> Result<Ask> {
    let mut ask = Ask { tables: Vec::new(), logs: 2000, rows: Vec::new() };
    let mut arguments = std::env::args().skip(1);
    while let Some(a) = arguments.next() {
        let mut number = || -> Result<usize> {
            arguments.next().and_then(|v| v.parse().ok()).ok_or_else(|| Error::recipe(&a, "needs a number"))
        };
        match a.as_str() {
            "--logs" => ask.logs = number()?,
            "--rows" => ask.rows.push(number()?),
            "--quick" => ask.logs /= 10,
            _ => ask.tables.push(a),
        }
    }
    if ask.rows.is_empty() {
        ask.rows = vec![500, 1000, 2000, 5000, 10_000];
    }
    Ok(ask)
}

const fn candidate(mean: [f64; 2], std: f64) -> Candidate {
    Candidate { mean, std }
}

/// From near to far.
const LIGHT: [Candidate; 7] = [
    candidate([2.0, 2.0], 0.9),
    candidate([2.0, 2.0], 0.6),
    candidate([1.5, 1.5], 0.6),
    candidate([1.5, 1.5], 0.2),
    candidate([2.85, 1.11], 0.5),
    candidate([2.85, 1.11], 0.3),
    candidate([2.85, 1.11], 0.1),
];
const HEAVY: [Candidate; 3] = [candidate([0.02; 2], 0.08), candidate([0.05; 2], 0.07), candidate([0.1; 2], 0.06)];

fn main() -> Result<()> {
    let ask = ask()?;
    let wanted = |table: &str| ask.tables.is_empty() || ask.tables.iter().any(|t| t == table);
    if wanted("light") {
        coverage("Coverage, light tails (moons)", World::Light, &LIGHT, &ask, &Terms::default())?;
    }
    if wanted("heavy") {
        coverage("Coverage, heavy tails (twin of CoCoA)", World::Heavy, &HEAVY, &ask, &Terms::default())?;
    }
    if wanted("null") {
        null(&ask)?;
    }
    if wanted("power") {
        power(&ask)?;
    }
    if wanted("family") {
        families(&ask)?;
    }
    if wanted("monitor") {
        monitors(&ask)?;
    }
    if wanted("protocol") {
        protocol(&ask)?;
    }
    Ok(())
}

fn coverage(title: &str, world: World, candidates: &[Candidate], ask: &Ask, terms: &Terms) -> Result<()> {
    println!("\n### {title}\n\n{} logs a cell; Monte-Carlo errors in brackets\n", ask.logs);
    println!("| mean | std | n | n_eff | informative | refused | value held | reward below | gain held | gain below |");
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for c in candidates {
        for &n in &ask.rows {
            let t = tally(world, c, n, ask.logs, 1, terms)?;
            println!(
                "| {:?} | {} | {n} | {:.0} | {:.0} | {:.3} | {} | {} | {} | {} |",
                c.mean,
                c.std,
                t.effective,
                t.informative,
                t.refused.share(),
                t.value,
                t.value_below,
                t.difference,
                t.difference_below
            );
        }
    }
    Ok(())
}

/// Policies worth exactly what the log is worth, one on each side of the best mean.
fn nulls(std: f64) -> [Candidate; 2] {
    [World::Light.with_gain(0.0, std, [0.8, 1.6]), World::Light.with_gain(0.0, std, [1.6, 3.5])]
}

fn null(ask: &Ask) -> Result<()> {
    println!("\n### Deployed under H0: the policy is worth exactly what the log is (nominal 0.025, target 0.035)\n");
    println!("{} logs a cell; paper: its unpaired rule and gate\n", ask.logs);
    println!("| mean | std | n | refused | deploy | deploy, paper |\n|---|---|---|---|---|---|");
    for c in nulls(0.6).into_iter().chain(nulls(0.3)) {
        for &n in ask.rows.iter().filter(|n| **n <= 2000) {
            let t = tally(World::Light, &c, n, ask.logs, 2, &Terms::default())?;
            let p = tally(World::Light, &c, n, ask.logs, 2, &Terms::paper())?;
            println!("| {:.3} | {} | {n} | {:.3} | {} | {} |", c.mean[0], c.std, t.refused.share(), t.deploy, p.deploy);
        }
    }
    Ok(())
}

fn power(ask: &Ask) -> Result<()> {
    println!("\n### Power: deployed when the true gain is 0.02, std 0.6 (targets 0.55 at 500 rows, 0.98 at 2,000)\n");
    println!("| mean | n | refused | deploy | deploy, paper |\n|---|---|---|---|---|");
    for c in [World::Light.with_gain(0.02, 0.6, [0.8, 1.6]), World::Light.with_gain(0.02, 0.6, [1.8, 3.5])] {
        for n in [500, 2000] {
            let t = tally(World::Light, &c, n, ask.logs, 3, &Terms::default())?;
            let p = tally(World::Light, &c, n, ask.logs, 3, &Terms::paper())?;
            println!("| {:.3} | {n} | {:.3} | {} | {} |", c.mean[0], t.refused.share(), t.deploy, p.deploy);
        }
    }
    Ok(())
}

fn families(ask: &Ask) -> Result<()> {
    let c: Vec<Candidate> = (0..10).flat_map(|k| nulls(0.35 + 0.05 * f64::from(k))).collect();
    let one = family(World::Light, &c, 500, ask.logs, 4, &Terms::default())?;
    println!("\n### Any of 20 policies without gain deployed (nominal 0.025, target 0.05), 500 rows\n");
    println!("max-T: {one} over {} logs", one.trials);
    Ok(())
}

fn monitors(ask: &Ask) -> Result<()> {
    println!("\n### Confidence sequence: paths that ever leave out the truth, 10,000 steps (nominal 0.05)\n");
    // the weights of a narrower log-normal of the same mean are bounded
    for (c, cap) in [(candidate([2.0; 2], 1.0), 1.001), (candidate([2.0; 2], 0.6), 4.0)] {
        let rate = crossings(&c, cap, 10_000, (ask.logs / 4).max(50), 0.95)?;
        println!("mean {:?}, std {}, cap {cap}: {rate} over {} paths", c.mean, c.std, rate.trials);
    }
    Ok(())
}

fn protocol(ask: &Ask) -> Result<()> {
    let rows = 100_000;
    println!("\n### Appendix D.2: {} policies a setup, {rows} valid and {rows} test rows\n", ask.logs);
    println!(
        "| setup | rule | better, found | false negatives | of them refused | false positives | worse, kept |\n|---|---|---|---|---|---|---|"
    );
    let rules = [Rule::PaperIps, Rule::PaperSnips, Rule::Paired];
    for (setup, name) in [(Setup::Logging, "(i)"), (Setup::Optimal, "(ii)")] {
        for (rule, c) in rules.iter().zip(run(setup, &rules, ask.logs, rows, 5)?) {
            let (fneg, fpos) = (c.false_negatives, c.false_positives);
            println!("| {name} | {rule:?} | {} | {fneg} | {} | {fpos} | {} |", c.found, c.refused, c.kept);
        }
    }
    println!("| (i) | the paper's IPS / SNIPS | 1282 / 1296 | 24 / 10 | | 19 / 0 | 675 / 694 |");
    println!("| (ii) | the paper's IPS / SNIPS | 1565 / 1631 | 67 / 1 | | 0 / 6 | 368 / 362 |");
    Ok(())
}
