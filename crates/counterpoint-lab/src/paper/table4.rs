//! Table 4 (Appendix D.2): how often the offline protocol errs.

use super::draw::{curve, picture};
use super::statistics::Paired;
use super::{Ask, Axis, Cell, Claim, Exhibit, Picture, Table, Value};
use crate::protocol::{Confusion, Rule, Setup, run as decide, shown};
use counterpoint::Result;

/// The rules in the order of the rows.
const RULES: [(Rule, &str); 3] = [
    (Rule::PaperIps, "IPS (the paper's rule)"),
    (Rule::PaperSnips, "SNIPS (the paper's rule)"),
    (Rule::Paired, "paired SNIPS (ours)"),
];

/// Policies of the paper, and its counts: setup, then rule, then found, false negatives, false positives, kept.
const PAPER_POLICIES: f64 = 2000.0;
const PAPER: [[[f64; 4]; 2]; 2] = [
    [[1282.0, 24.0, 19.0, 675.0], [1296.0, 10.0, 0.0, 694.0]],
    [[1565.0, 67.0, 0.0, 368.0], [1631.0, 1.0, 6.0, 362.0]],
];

/// found, false negatives, false positives, kept, refused (of the false negatives).
type Counts = [f64; 5];

/// A setup: its name in the keys of finished work, in a caption, and the paper's counts.
type Printed = (Setup, &'static str, &'static str, &'static [[f64; 4]]);
const SETUPS: [Printed; 3] = [
    (Setup::Logging, "near logging", "(i) around the logging policy", &PAPER[0]),
    (Setup::Optimal, "near optimal", "(ii) around the optimal policy", &PAPER[1]),
    (Setup::Far, "optimal in the tail", "(iii) around an optimal policy in the tail of the log", &[]),
];

/// Logs, policies judged on each, and rows of each: many small logs, and a large one with hardly an error left to count.
type Size = (usize, usize, usize);

/// Runs it.
pub(crate) fn run(ask: &Ask) -> Result<Exhibit> {
    exhibit(ask, ask.by_effort([(10, 20, 2_000), (1, 200, 20_000)], [(40, 50, 2_000), (1, 2_000, 100_000)]))
}

fn exhibit(ask: &Ask, sizes: [Size; 2]) -> Result<Exhibit> {
    let (mut tables, mut all) = (Vec::new(), Vec::new());
    for (logs, policies, rows) in sizes {
        let mut by_setup = Vec::new();
        for (setup, name, title, paper) in SETUPS {
            let mut by_log: Vec<Vec<Counts>> = Vec::new();
            for seed in 1..=logs as u64 {
                by_log.push(ask.once(
                    &format!("table4: {name}, {policies} policies, {rows} rows, seed {seed}"),
                    || {
                        let found = decide(setup, &RULES.map(|r| r.0), policies, rows, seed)?;
                        let counts = |c: &Confusion| [c.found, c.false_negatives, c.false_positives, c.kept, c.refused];
                        Ok(found.iter().map(|c| counts(c).map(|v| v as f64)).collect())
                    },
                )?);
            }
            let caption = format!("{title}, {logs} log(s) of {rows} rows: % of {} policies", logs * policies);
            tables.push(table(&caption, &together(&by_log), paper, logs * policies));
            by_setup.push(by_log);
        }
        all.push((rows, by_setup));
    }
    let [(logs, each, rows), (_, policies, large)] = sizes;
    Ok(Exhibit {
        about: format!(
            "Policies are drawn around the logging policy (i), around the optimal one (ii), and around an optimal one in the tail of the log \
             (iii), which is not in the paper: {each} for each of {logs} logs of {rows} rows, and {policies} for a log of {large}. Each is \
             judged offline, with as many other rows for the gate n_eff/n > 1%, and compared with its true value."
        ),
        tables,
        pictures: vec![densities()],
        claims: claims(&all),
        notes: vec![
            "The paper prints counts out of 2,000; here both are percentages. Errors are binomial, over the draw of policies; policies of one log \
             share its rows, so the claims compare errors log by log, over the small logs."
                .into(),
            "The paper does not print its means, noise and number of rows; ours are those of the laboratory's `protocol`. With a log of 100,000 rows \
             both estimates decide nearly everything rightly, and there is nothing for SNIPS to mend."
                .into(),
            "The paper's 100-fold percentile bootstrap is replaced by the normal interval, for all rules.".into(),
            "The paired rule has more gates (50 effective rows, mean weight within 0.1 of one); a refusal of a better policy \
             counts as a false negative, and the last column says how many of them are refusals."
                .into(),
        ],
    })
}

/// Figure 13: the densities of the logging policy, of the optimal one, and of one drawn around each.
fn densities() -> Picture {
    let ([logging, optimal, near], [.., far]) = (shown(Setup::Logging), shown(Setup::Optimal));
    let series = [
        ("logging", logging),
        ("optimal", optimal),
        ("drawn around the logging policy (i)", near),
        ("drawn around the optimal policy (ii)", far),
    ]
    .map(|(name, policy)| curve(name, [0.01, 6.0], |a| policy.log_density(a).exp()));
    picture("policies", "Policies of the experiment", Axis::linear("action"), Axis::linear("density"), series.to_vec())
}

/// The counts of all logs, by rule.
fn together(by_log: &[Vec<Counts>]) -> Vec<Counts> {
    let mut sum = vec![[0.0; 5]; RULES.len()];
    for (rule, counts) in by_log.iter().flat_map(|log| log.iter().enumerate()) {
        (0..5).for_each(|i| sum[rule][i] += counts[i]);
    }
    sum
}

fn table(caption: &str, counts: &[Counts], paper: &[[f64; 4]], policies: usize) -> Table {
    let n = policies as f64;
    let rows = counts.iter().zip(RULES).enumerate().map(|(i, (c, (_, name)))| {
        let mut row: Vec<Cell> = vec![name.into()];
        for (j, &count) in c.iter().enumerate() {
            let p = count / n;
            let printed = paper.get(i).and_then(|row| row.get(j)).map(|v| 100.0 * v / PAPER_POLICIES);
            // no event at all: the upper end of a 68% interval, -ln(0.32) / n, says more than an error of zero
            let error = if count == 0.0 { 1.14 / n } else { (p * (1.0 - p) / n).sqrt() };
            row.push(Value { ours: 100.0 * p, error: Some(100.0 * error), paper: printed, paper_error: None }.into());
        }
        row
    });
    let head = ["rule", "better, found", "better, kept out", "worse, let in", "worse, kept out", "better, refused"];
    Table { caption: caption.into(), head: head.map(String::from).into(), rows: rows.collect() }
}

/// `all`: by number of rows, the counts by setup, log and rule.
fn claims(all: &[(usize, Vec<Vec<Vec<Counts>>>)]) -> Vec<Claim> {
    let claim = |says: &str, setup: usize, [this, other]: [usize; 2], errors: fn(&Counts) -> f64| {
        let one = |(rows, by_setup): &(usize, Vec<Vec<Vec<Counts>>>)| {
            let sum = together(&by_setup[setup]);
            let of = |r: usize| (RULES[r].1, sum[r][1], sum[r][2]);
            let ((a, b, c), (d, e, f)) = (of(this), of(other));
            format!("with {rows} rows {a} keeps out {b} of the better and lets in {c} of the worse, {d} {e} and {f}")
        };
        let fewer: Vec<f64> = all[0].1[setup].iter().map(|log| errors(&log[other]) - errors(&log[this])).collect();
        let fewer = Paired::new(&fewer);
        let counts = all.iter().map(one).collect::<Vec<_>>().join("; ");
        Claim {
            says: says.into(),
            holds: fewer.larger(),
            measured: format!("{counts}; fewer errors a small log: {fewer}"),
        }
    };
    vec![
        claim("Near the logging policy, SNIPS errs less often than IPS", 0, [1, 0], |c| c[1] + c[2]),
        claim("Near the optimal policy, SNIPS misses far fewer better policies than IPS", 1, [1, 0], |c| c[1]),
        claim(
            "Not in the paper: where the optimal policy lies in the tail of the log, SNIPS misses fewer better policies than IPS",
            2,
            [1, 0],
            |c| c[1],
        ),
        claim(
            "Not in the paper: near the logging policy, our rule errs less often than the paper's with SNIPS",
            0,
            [2, 1],
            |c| c[1] + c[2],
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::Effort;
    use counterpoint::Engine;

    #[test]
    fn every_policy_is_counted_once() {
        let e =
            exhibit(&Ask::new(Effort::Quick, None, Engine::single()), [(3, 20, 1000), (1, 40, 3000)]).expect("runs");
        for t in &e.tables {
            for row in &t.rows {
                let share = |i: usize| if let Cell::Value(v) = &row[i] { v.ours } else { f64::NAN };
                assert!(((1..=4).map(share).sum::<f64>() - 100.0).abs() < 1e-9);
                assert!(share(5) <= share(2) && row.len() == t.head.len());
            }
        }
    }
}
