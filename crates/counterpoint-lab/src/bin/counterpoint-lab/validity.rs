//! `counterpoint-lab validity`: does a certificate keep its promises?

use crate::say;
use clap::{Args, ValueEnum};
use counterpoint::certify::Terms;
use counterpoint::select::Grid;
use counterpoint::{Recipe, Result};
use counterpoint_lab::protocol::{Rule, Setup, run};
use counterpoint_lab::suite::Method;
use counterpoint_lab::validity::{Candidate, World, crossings, family, lower_ends, tally};
use counterpoint_lab::worlds::{
    LEARNABLE, Miswritten, QUESTIONS, Sight, Truth, Unlogged, advised, all, asked, besiege, leads, learned, miswritten,
    refusals, run as run_cell, run_clusters, run_unequal_clusters,
};

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
    /// Only worlds whose name contains this.
    #[arg(long, default_value = "", value_name = "WORDS")]
    only: String,
    /// Leave worlds with more rows out.
    #[arg(long, default_value_t = usize::MAX, value_name = "ROWS", hide_default_value = true)]
    most: usize,
    /// Leave worlds with fewer rows out.
    #[arg(long, default_value_t = 0, value_name = "ROWS", hide_default_value = true)]
    least: usize,
    /// The first seed of the worlds.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Which learners of `learned`, separated by commas.
    #[arg(long, value_delimiter = ',', default_values_t = ["learn".to_string(), "select".to_string()])]
    methods: Vec<String>,
    /// Let no model of the outcome take part in the certificates of `worlds`.
    #[arg(long)]
    snips: bool,
    /// Below each of the `worlds`, what else its certificates said, and how often.
    #[arg(long)]
    why: bool,
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
    /// Many kinds of outcomes, logs and policies.
    Worlds,
    /// Whole logs: rows that belong together or copy each other, densities wrong in part, outcomes that are late.
    Sieges,
    /// Rows that belong together, densities that were estimated.
    Rows,
    /// Whether the advice of certificates helps.
    Advice,
    /// Policies learned and selected on the log itself, end to end.
    Learned,
    /// Guardrails, segments, ratios, worst outcomes, mean actions.
    Questions,
}

impl Validity {
    /// Whether worlds of so many rows are wanted.
    fn holds(&self, rows: usize) -> bool {
        (self.least..=self.most).contains(&rows)
    }

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
                Part::Worlds => worlds(&self)?,
                Part::Sieges => sieges(&self),
                Part::Rows => rows(&self)?,
                Part::Advice => advice(&self)?,
                Part::Learned => end_to_end(&self)?,
                Part::Questions => questions(&self)?,
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
    let steps = ask.rows.iter().copied().find(|n| *n >= 2000).unwrap_or(2000);
    say::result(format_args!(
        "\n### Confidence sequence: paths that ever leave out the truth, looked at after every one of {steps} rows (nominal 0.05)\n"
    ));
    say::result(format_args!("| mean | std | paths | value left out | difference left out |\n|---|---|---|---|---|"));
    for c in [candidate([2.0; 2], 1.0), candidate([2.0; 2], 0.6), candidate([2.85, 1.11], 0.3)] {
        let [value, difference] = crossings(&c, steps, ask.logs, 0.95)?;
        say::result(format_args!("| {:?} | {} | {} | {value} | {difference} |", c.mean, c.std, value.trials));
    }
    say::result(format_args!(
        "\n### Lower end of the gain: the guarantee and the interval (target: more than .6 of it at 2,000 rows on near policies)\n"
    ));
    say::result(format_args!(
        "| mean | std | n | gain | guarantee | interval | share | guarantee above the gain |\n|---|---|---|---|---|---|---|---|"
    ));
    let near = [[2.2, 1.8], [2.4, 1.6], [2.6, 1.4], [2.85, 1.11]];
    for c in near.into_iter().zip([0.9, 0.8, 0.7, 0.6]).map(|(mean, std)| candidate(mean, std)) {
        for &n in ask.rows.iter().filter(|n| **n <= 10_000) {
            let e = lower_ends(&c, n, (ask.logs / 4).max(20), 6)?;
            say::result(format_args!(
                "| {:?} | {} | {n} | {:.4} | {:.4} | {:.4} | {:.2} | {} |",
                c.mean,
                c.std,
                e.gain,
                e.guarantee,
                e.interval,
                e.guarantee / e.interval,
                e.wrong
            ));
        }
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

/// Every world: how often `deploy` is said, and how often the interval of the value holds the truth.
fn worlds(ask: &Validity) -> Result<()> {
    for (truth, title) in [
        (Truth::NoGain, "No gain: deploy is an error (target at most 0.03)"),
        (Truth::Worse, "Worse, where the log has no rows: deploy is an error"),
        (Truth::Gain, "Better: deploy is right"),
    ] {
        say::result(format_args!("\n### {title}\n\n{} logs per cell\n", ask.logs));
        say::result(format_args!(
            "| world | n | refused | deploy | value held | too good | missing | DR | width |\n|---|---|---|---|---|---|---|---|---|"
        ));
        for cell in all().filter(|c| c.truth == truth && c.name.contains(&ask.only)) {
            for &n in cell.rows.iter().filter(|n| ask.holds(**n)) {
                let o = run_cell(cell, n, ask.logs, ask.seed, &Terms { robust: !ask.snips, ..Terms::default() })?;
                say::result(format_args!(
                    "| {} | {n} | {:.3} | {} | {} | {} | {:.3} | {:.2} | {:.3e} |",
                    cell.name.replace('|', "\\|"),
                    o.refused.share(),
                    o.deploy,
                    o.held,
                    o.too_good,
                    o.missing,
                    o.robust.share(),
                    o.width
                ));
                if ask.why {
                    for (words, times) in refusals(cell, n, ask.logs, ask.seed, &Terms::default())?.iter().take(6) {
                        say::result(format_args!("  {times} times {words}"));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Logs as wholes.
fn sieges(ask: &Validity) {
    for (sight, title) in [
        (Sight::Open, "Whole logs: deploy is an error but for the better ones"),
        (Sight::Hidden, "Whole logs that no look at the rows can tell from right ones"),
        (Sight::Right, "Whole logs that are right, and a policy that is better: refused is an error"),
    ] {
        say::result(format_args!("\n### {title}\n\n{} logs per cell\n", ask.logs));
        say::result(format_args!("| world | n | refused | deploy | missing |\n|---|---|---|---|---|"));
        for siege in counterpoint_lab::worlds::sieges().filter(|s| s.sight == sight && s.name.contains(&ask.only)) {
            for &n in siege.rows.iter().filter(|n| ask.holds(**n)) {
                let o = besiege(siege, n, ask.logs, ask.seed);
                let refused = o.refused.share();
                say::result(format_args!("| {} | {n} | {refused:.3} | {} | {:.3} |", siege.name, o.deploy, o.missing));
            }
        }
    }
}

/// Clusters, given and not, and densities that were estimated rightly and in five wrong ways.
fn rows(ask: &Validity) -> Result<()> {
    say::result(format_args!("\n### No gain, ten rows a cluster\n\n{} logs per cell\n", ask.logs));
    say::result(format_args!(
        "| correlation | clusters | given | refused | deploy | value held |\n|---|---|---|---|---|---|"
    ));
    for (correlation, count) in [(0.3, 100), (0.7, 100), (0.7, 400)] {
        for named in [true, false] {
            let o = run_clusters(correlation, count, named, ask.logs, ask.seed)?;
            let given = if named { "yes" } else { "no" };
            let refused = o.refused.share();
            say::result(format_args!(
                "| {correlation} | {count} | {given} | {refused:.3} | {} | {} |",
                o.deploy, o.held
            ));
        }
    }
    for (correlation, count) in [(0.3, 100), (0.7, 100)] {
        let o = run_unequal_clusters(correlation, count, ask.logs, ask.seed)?;
        let refused = o.refused.share();
        say::result(format_args!(
            "| {correlation} | {count}, 1 to 100 rows | yes | {refused:.3} | {} | {} |",
            o.deploy, o.held
        ));
    }
    say::result(format_args!(
        "\n### No gain, logged densities, 1000 valid and 1000 test rows\n\n{} logs per cell\n",
        ask.logs
    ));
    say::result(format_args!("| densities | refused | deploy |\n|---|---|---|"));
    for way in Miswritten::ALL {
        let o = miswritten(way, 1000, ask.logs, ask.seed);
        say::result(format_args!("| {} | {} | {} |", way.name(), o.refused, o.deploy));
    }
    say::result(format_args!("\n### No gain, estimated densities\n\n{} logs of 4000 rows per cell\n", ask.logs));
    say::result(format_args!("| how the log acts | deploy | promising | warned or refused |\n|---|---|---|---|"));
    for way in Unlogged::ALL {
        let o = leads(way, 4000, ask.logs, ask.seed);
        say::result(format_args!("| {} | {} | {} | {} |", way.name(), o.deploy, o.promising, o.warned));
    }
    Ok(())
}

/// How often a policy that was kept for want of rows is deployed with as many more as were asked for.
fn advice(ask: &Validity) -> Result<()> {
    say::result(format_args!(
        "\n### Better, kept, and judged again with as many more rows as advised\n\n{} logs per cell\n",
        ask.logs
    ));
    say::result(format_args!("| world | n | asked for rows | deployed then |\n|---|---|---|---|"));
    for cell in all().filter(|c| c.truth == Truth::Gain && c.name.contains(&ask.only)) {
        let n = cell.rows[0];
        let o = advised(cell, n, ask.logs, ask.seed)?;
        say::result(format_args!("| {} | {n} | {} | {o} |", cell.name, o.trials));
    }
    Ok(())
}

/// Policies learned and selected on logs of the rows asked for, judged on their test parts.
fn end_to_end(ask: &Validity) -> Result<()> {
    say::result(format_args!(
        "\n### Learned, then certified on the same log\n\n{} logs per cell; oracle: the best policy at the log's own noise\n",
        ask.logs
    ));
    say::result(format_args!(
        "| world | rows | by | failed | invalid | deploy | no better and deployed | oracle deployed |\n|---|---|---|---|---|---|---|---|"
    ));
    for cell in LEARNABLE.iter().filter(|c| c.name.contains(&ask.only)) {
        for &n in ask.rows.iter().filter(|n| ask.holds(**n)) {
            for name in &ask.methods {
                let method = Method::named(name, &Recipe::default(), &Grid::named_or_file("auto")?)?;
                let o = learned(cell, &method, n, ask.logs, ask.seed)?;
                say::result(format_args!(
                    "| {} | {n} | {name} | {:.3} | {:.3} | {} | {} | {} |",
                    cell.name,
                    o.failed.share(),
                    o.invalid.share(),
                    o.deploy,
                    o.wrong,
                    o.oracle
                ));
            }
        }
    }
    Ok(())
}

/// Questions beside the verdict, asked of logs of which the answer is known.
fn questions(ask: &Validity) -> Result<()> {
    say::result(format_args!("\n### Other questions: wrong answers\n\n{} logs per cell\n", ask.logs));
    say::result(format_args!("| question: error | n | at most | wrong | of logs |\n|---|---|---|---|---|"));
    for q in QUESTIONS.iter().filter(|q| q.name.contains(&ask.only)) {
        for &n in q.rows.iter().filter(|n| ask.holds(**n)) {
            let wrong = asked(q, n, ask.logs, ask.seed)?;
            say::result(format_args!("| {} | {n} | {} | {wrong} | {} |", q.name, q.level, wrong.trials));
        }
    }
    Ok(())
}
