//! `counterpoint-lab validity`: does a certificate keep its promises?

use crate::say;
use clap::{Args, ValueEnum};
use counterpoint::Result;
use counterpoint::certify::Terms;
use counterpoint_lab::protocol::{Rule, Setup, run};
use counterpoint_lab::validity::{Candidate, World, crossings, family, tally};

/// Simulate logs whose truth is known: how often intervals hold it, worse policies are deployed, better ones found.
///
/// Prints Markdown tables; docs/validity.md is such a run.
#[derive(Args)]
#[command(after_help = "Example:\n  counterpoint-lab validity light heavy --logs 2000 --rows 500,2000")]
pub(crate) struct Validity {
    /// Which tables; all of them if none is named.
    tables: Vec<Part>,
    /// Logs per cell.
    #[arg(long, default_value_t = 2000)]
    logs: usize,
    /// Rows of a log, separated by commas.
    #[arg(long, value_delimiter = ',', default_values_t = [500, 1000, 2000, 5000, 10_000])]
    rows: Vec<usize>,
    /// A tenth of the logs. Shows that it runs; not for quoting.
    #[arg(long)]
    quick: bool,
}

/// The tables there are.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Part {
    /// Coverage with light tails.
    Light,
    /// Coverage with heavy tails.
    Heavy,
    /// Policies worth what the log is worth.
    Null,
    /// Policies that are better.
    Power,
    /// Many policies judged together.
    Family,
    /// The confidence sequence.
    Monitor,
    /// The offline protocol of the paper.
    Protocol,
}

impl Validity {
    pub(crate) fn run(mut self) -> Result<()> {
        if self.quick {
            self.logs = (self.logs / 10).max(1);
        }
        let parts = if self.tables.is_empty() { Part::value_variants() } else { &self.tables };
        for part in parts {
            match part {
                Part::Light => coverage("Coverage, light tails (moons)", World::Light, &LIGHT, &self)?,
                Part::Heavy => coverage("Coverage, heavy tails (twin of CoCoA)", World::Heavy, &HEAVY, &self)?,
                Part::Null => null(&self)?,
                Part::Power => power(&self)?,
                Part::Family => families(&self)?,
                Part::Monitor => monitors(&self)?,
                Part::Protocol => protocol(&self)?,
            }
        }
        Ok(())
    }
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

fn coverage(title: &str, world: World, candidates: &[Candidate], ask: &Validity) -> Result<()> {
    say::result(format_args!("\n### {title}\n\n{} logs per cell; Monte-Carlo errors in brackets\n", ask.logs));
    say::result(format_args!(
        "| mean | std | n | n_eff | informative | refused | value held | reward below | gain held | gain below |"
    ));
    say::result(format_args!("|---|---|---|---|---|---|---|---|---|---|"));
    for c in candidates {
        for &n in &ask.rows {
            let t = tally(world, c, n, ask.logs, 1, &Terms::default())?;
            say::result(format_args!(
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
            ));
        }
    }
    Ok(())
}

/// Policies worth exactly what the log is worth, one on each side of the best mean.
fn nulls(std: f64) -> [Candidate; 2] {
    [World::Light.with_gain(0.0, std, [0.8, 1.6]), World::Light.with_gain(0.0, std, [1.6, 3.5])]
}

fn null(ask: &Validity) -> Result<()> {
    say::result(format_args!(
        "\n### Deployed under H0: the policy is worth exactly what the log is (nominal 0.025, target 0.035)\n"
    ));
    say::result(format_args!("{} logs per cell; paper: its unpaired rule and gate\n", ask.logs));
    say::result(format_args!("| mean | std | n | refused | deploy | deploy, paper |\n|---|---|---|---|---|---|"));
    for c in nulls(0.6).into_iter().chain(nulls(0.3)) {
        for &n in ask.rows.iter().filter(|n| **n <= 2000) {
            let t = tally(World::Light, &c, n, ask.logs, 2, &Terms::default())?;
            let p = tally(World::Light, &c, n, ask.logs, 2, &Terms::paper())?;
            say::result(format_args!(
                "| {:.3} | {} | {n} | {:.3} | {} | {} |",
                c.mean[0],
                c.std,
                t.refused.share(),
                t.deploy,
                p.deploy
            ));
        }
    }
    Ok(())
}

fn power(ask: &Validity) -> Result<()> {
    say::result(format_args!(
        "\n### Power: deployed when the true gain is 0.02, std 0.6 (targets 0.55 at 500 rows, 0.98 at 2,000)\n"
    ));
    say::result(format_args!("| mean | n | refused | deploy | deploy, paper |\n|---|---|---|---|---|"));
    for c in [World::Light.with_gain(0.02, 0.6, [0.8, 1.6]), World::Light.with_gain(0.02, 0.6, [1.8, 3.5])] {
        for n in [500, 2000] {
            let t = tally(World::Light, &c, n, ask.logs, 3, &Terms::default())?;
            let p = tally(World::Light, &c, n, ask.logs, 3, &Terms::paper())?;
            say::result(format_args!(
                "| {:.3} | {n} | {:.3} | {} | {} |",
                c.mean[0],
                t.refused.share(),
                t.deploy,
                p.deploy
            ));
        }
    }
    Ok(())
}

fn families(ask: &Validity) -> Result<()> {
    let c: Vec<Candidate> = (0..10).flat_map(|k| nulls(0.35 + 0.05 * f64::from(k))).collect();
    let one = family(World::Light, &c, 500, ask.logs, 4, &Terms::default())?;
    say::result(format_args!(
        "\n### Any of 20 policies without gain deployed (nominal 0.025, target 0.05), 500 rows\n"
    ));
    say::result(format_args!("max-T: {one} over {} logs", one.trials));
    Ok(())
}

fn monitors(ask: &Validity) -> Result<()> {
    say::result(format_args!(
        "\n### Confidence sequence: paths that ever leave out the truth, 10,000 steps (nominal 0.05)\n"
    ));
    // the weights of a narrower log-normal of the same mean are bounded
    for (c, cap) in [(candidate([2.0; 2], 1.0), 1.001), (candidate([2.0; 2], 0.6), 4.0)] {
        let rate = crossings(&c, cap, 10_000, (ask.logs / 4).max(50), 0.95)?;
        say::result(format_args!("mean {:?}, std {}, cap {cap}: {rate} over {} paths", c.mean, c.std, rate.trials));
    }
    Ok(())
}

fn protocol(ask: &Validity) -> Result<()> {
    let rows = 100_000;
    say::result(format_args!(
        "\n### Appendix D.2: {} policies per setup, {rows} valid and {rows} test rows\n",
        ask.logs
    ));
    say::result(format_args!(
        "| setup | rule | better, found | false negatives | of them refused | false positives | worse, kept |\n|---|---|---|---|---|---|---|"
    ));
    let rules = [Rule::PaperIps, Rule::PaperSnips, Rule::Paired];
    for (setup, name) in [(Setup::Logging, "(i)"), (Setup::Optimal, "(ii)")] {
        for (rule, c) in rules.iter().zip(run(setup, &rules, ask.logs, rows, 5)?) {
            let (fneg, fpos) = (c.false_negatives, c.false_positives);
            say::result(format_args!(
                "| {name} | {rule:?} | {} | {fneg} | {} | {fpos} | {} |",
                c.found, c.refused, c.kept
            ));
        }
    }
    say::result(format_args!("| (i) | the paper's IPS / SNIPS | 1282 / 1296 | 24 / 10 | | 19 / 0 | 675 / 694 |"));
    say::result(format_args!("| (ii) | the paper's IPS / SNIPS | 1565 / 1631 | 67 / 1 | | 0 / 6 | 368 / 362 |"));
    Ok(())
}
