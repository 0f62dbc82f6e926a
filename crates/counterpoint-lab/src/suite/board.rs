//! Tables of records, as Markdown.

use super::{Record, Truth, World};
use std::fmt::Write as _;

/// A quantile of ascending numbers, linear between them.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let at = q * (sorted.len() - 1) as f64;
    let (k, part) = (at.floor() as usize, at.fract());
    let next = sorted[(k + 1).min(sorted.len() - 1)];
    sorted[k] + part * (next - sorted[k])
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut v: Vec<f64> = values.collect();
    v.sort_by(f64::total_cmp);
    v
}

/// Names in the order of their first appearance.
fn in_order<'a>(records: &'a [Record], name: impl Fn(&'a Record) -> &'a str) -> Vec<&'a str> {
    let mut names = Vec::new();
    for r in records {
        if !names.contains(&name(r)) {
            names.push(name(r));
        }
    }
    names
}

/// The worlds with their values.
pub fn worlds_table(worlds: &[World], fresh: usize) -> String {
    let mut out = String::from(
        "| world | what is hard | contexts | rows | outcome | log | best constant | oracle |\n|---|---|---|---|---|---|---|---|\n",
    );
    for w in worlds {
        let t = Truth::of(w, fresh);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {:.4} | {:.4} | {:.4} |",
            w.name,
            w.about,
            w.contexts,
            w.rows,
            w.outcome_name(),
            t.logging,
            t.constant,
            t.oracle
        );
    }
    out
}

/// Per world and method the median regret over seeds, with the verdicts: D deploy, K keep, I invalid, R refused.
pub fn board(records: &[Record]) -> String {
    let (worlds, methods) = (in_order(records, |r| &r.world), in_order(records, |r| &r.method));
    let mut out = format!("| world | {} |\n|---|{}\n", methods.join(" | "), "---|".repeat(methods.len()));
    for world in worlds {
        let cells = methods.iter().map(|m| cell(records, world, m));
        let _ = writeln!(out, "| {world} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    out
}

fn cell(records: &[Record], world: &str, method: &str) -> String {
    let runs: Vec<&Record> = records.iter().filter(|r| r.world == world && r.method == method).collect();
    if runs.is_empty() {
        return String::new();
    }
    let regret = quantile(&sorted(runs.iter().map(|r| r.regret)), 0.5);
    let letters: String = runs.iter().filter(|r| r.verdict != "none").map(|r| letter(&r.verdict)).collect();
    format!("{regret:.2} {letters}").trim_end().to_string()
}

fn letter(verdict: &str) -> char {
    verdict.chars().next().unwrap_or('?').to_ascii_uppercase()
}

/// One line a method: quantiles of regret, counts of verdicts, deploys that lose, time.
pub fn summary(records: &[Record]) -> String {
    let mut out = String::from(
        "| method | runs | median regret | 90% | worst | median if followed | deploy | keep | invalid | refused | worse than the log | false deploys | CPU s, median | most |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for method in in_order(records, |r| &r.method) {
        let runs: Vec<&Record> = records.iter().filter(|r| r.method == method).collect();
        let count = |verdict: &str| runs.iter().filter(|r| r.verdict == verdict).count();
        let regret = sorted(runs.iter().map(|r| r.regret));
        let decided = sorted(runs.iter().map(|r| r.decided()));
        let time = sorted(runs.iter().map(|r| r.cpu_seconds.unwrap_or(r.seconds)));
        let _ = writeln!(
            out,
            "| {method} | {} | {:.3} | {:.3} | {:.2} | {:.3} | {} | {} | {} | {} | {} | {} | {:.1} | {:.1} |",
            runs.len(),
            quantile(&regret, 0.5),
            quantile(&regret, 0.9),
            quantile(&regret, 1.0),
            quantile(&decided, 0.5),
            count("deploy"),
            count("keep"),
            count("invalid"),
            count("refused"),
            runs.iter().filter(|r| r.regret > 1.0).count(),
            runs.iter().filter(|r| r.false_deploy()).count(),
            quantile(&time, 0.5),
            quantile(&time, 1.0),
        );
    }
    out
}

/// What users would pick instead; a method is held against the best of them on each log.
const PEERS: [&str; 4] = ["lightgbm", "network", "ridge", "linear-kernel"];
/// Differences of regret smaller than this do not count.
const MARGIN: f64 = 0.02;

/// One line a method that is no peer: on how many logs it is as good as the best peer there, within 0.02, and on how many better by 0.02.
/// Only logs on which all peers were run count; empty where there are none.
pub fn duels(records: &[Record]) -> String {
    let mut out = String::from(
        "| method | logs | as good as the best peer | better | difference of regret, median |\n|---|---|---|---|---|\n",
    );
    let head = out.len();
    for method in in_order(records, |r| &r.method).into_iter().filter(|m| !PEERS.contains(m)) {
        let gaps = sorted(records.iter().filter(|r| r.method == method).filter_map(|r| gap(records, r)));
        if gaps.is_empty() {
            continue;
        }
        let share = |most: f64| 100.0 * gaps.partition_point(|g| *g <= most) as f64 / gaps.len() as f64;
        let (good, better, middle) = (share(MARGIN), share(-MARGIN), quantile(&gaps, 0.5));
        let _ = writeln!(out, "| {method} | {} | {good:.0}% | {better:.0}% | {middle:+.3} |", gaps.len());
    }
    if out.len() == head { String::new() } else { out }
}

/// The regret of a run less that of the best peer on the same log.
fn gap(records: &[Record], run: &Record) -> Option<f64> {
    let same = |r: &&Record| (&r.world, r.seed, r.rows) == (&run.world, run.seed, run.rows);
    let peer = |name: &&str| records.iter().filter(same).find(|r| r.method == **name).map(|r| r.regret);
    let all: Vec<f64> = PEERS.iter().map(peer).collect::<Option<_>>()?;
    Some(run.regret - all.into_iter().fold(f64::INFINITY, f64::min))
}
