//! Table 4 (Appendix D.2): how often the offline protocol errs.

use super::{Ask, Cell, Claim, Exhibit, Table, Value};
use crate::protocol::{Rule, Setup, run as decide};
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

/// Runs it.
pub(crate) fn run(ask: &Ask) -> Result<Exhibit> {
    let (policies, sizes) = ask.by_effort((200, [2_000, 20_000]), (2000, [10_000, 100_000]));
    exhibit(ask, policies, sizes)
}

/// The smaller size is that of the paper's synthetic sets; with the larger one there is hardly an error left to count.
fn exhibit(ask: &Ask, policies: usize, sizes: [usize; 2]) -> Result<Exhibit> {
    let (mut tables, mut all) = (Vec::new(), Vec::new());
    for rows in sizes {
        let mut counts = Vec::new();
        for (setup, name, title, paper) in SETUPS {
            let key = format!("table4: {name}, {policies} policies, {rows} rows, seed 1");
            let found: Vec<Counts> = ask.once(&key, || {
                let found = decide(setup, &RULES.map(|r| r.0), policies, rows, 1)?;
                let counts = found.iter().map(|c| [c.found, c.false_negatives, c.false_positives, c.kept, c.refused]);
                Ok(counts.map(|c| c.map(|v| v as f64)).collect())
            })?;
            tables.push(table(&format!("{title}, {rows} rows: % of policies"), &found, paper, policies));
            counts.push(found);
        }
        all.push((rows, counts));
    }
    Ok(Exhibit {
        about: format!(
            "{policies} policies are drawn around the logging policy (i), {policies} around the optimal one (ii), and {policies} around an optimal \
             one in the tail of the log (iii), which is not in the paper. Each is judged offline on {} or {} rows, with as many others for the \
             gate n_eff/n > 1%, and compared with its true value.",
            sizes[0], sizes[1]
        ),
        tables,
        claims: claims(&all),
        notes: vec![
            "The paper prints counts out of 2,000; here both are percentages. Errors are binomial, over the draw of policies: \
             all policies of a setup are judged on the same rows."
                .into(),
            "The paper does not print its means, noise and number of rows; ours are those of the laboratory's `protocol`. In our (i) and (ii) \
             the log supports nearly every policy, so there is less for SNIPS to mend than in the paper; (iii) is where the log does not."
                .into(),
            "With so many rows the paper's 100-fold percentile bootstrap is the normal interval but for its own noise; all \
             rules use the latter."
                .into(),
            "The paired rule has more gates (50 effective rows, mean weight within 0.1 of one); a refusal of a better policy \
             counts as a false negative, and the last column says how many of them are refusals."
                .into(),
        ],
        ..Exhibit::default()
    })
}

fn table(caption: &str, counts: &[Counts], paper: &[[f64; 4]], policies: usize) -> Table {
    let n = policies as f64;
    let rows = counts.iter().zip(RULES).enumerate().map(|(i, (c, (_, name)))| {
        let mut row: Vec<Cell> = vec![name.into()];
        for (j, &count) in c.iter().enumerate() {
            let p = count / n;
            let printed = paper.get(i).and_then(|row| row.get(j)).map(|v| 100.0 * v / PAPER_POLICIES);
            // no event at all: the upper end of a 68% interval, -ln(0.32) / n, says more than an error of nought
            let error = if count == 0.0 { 1.14 / n } else { (p * (1.0 - p) / n).sqrt() };
            row.push(Value { ours: 100.0 * p, error: Some(100.0 * error), paper: printed, paper_error: None }.into());
        }
        row
    });
    let head = ["rule", "better, found", "better, kept out", "worse, let in", "worse, kept out", "better, refused"];
    Table { caption: caption.into(), head: head.map(String::from).into(), rows: rows.collect() }
}

/// `all`: by number of rows, the counts by setup and rule.
fn claims(all: &[(usize, Vec<Vec<Counts>>)]) -> Vec<Claim> {
    let errors = |c: &Counts| c[1] + c[2];
    let said = |setup: usize, [this, other]: [usize; 2]| {
        let one = |(rows, counts): &(usize, Vec<Vec<Counts>>)| {
            let of = |r: usize| (counts[setup][r][1], counts[setup][r][2]);
            let ((a, b), (c, d)) = (of(this), of(other));
            let [this, other] = [this, other].map(|r| RULES[r].1);
            format!(
                "with {rows} rows {this} keeps out {a} of the better and lets in {b} of the worse, {other} {c} and {d}"
            )
        };
        all.iter().map(one).collect::<Vec<_>>().join("; ")
    };
    // the smaller size decides: it has the more errors to count
    let counts = &all[0].1;
    let (near, far, tail) = (&counts[0], &counts[1], &counts[2]);
    vec![
        Claim {
            says: "Near the logging policy, SNIPS errs less often than IPS".into(),
            holds: fewer(errors(&near[1]), errors(&near[0])),
            measured: said(0, [1, 0]),
        },
        Claim {
            says: "Near the optimal policy, SNIPS misses far fewer better policies than IPS".into(),
            holds: fewer(far[1][1], far[0][1]),
            measured: said(1, [1, 0]),
        },
        Claim {
            says: "Not in the paper: where the optimal policy lies in the tail of the log, SNIPS misses fewer better policies than IPS"
                .into(),
            holds: fewer(tail[1][1], tail[0][1]),
            measured: said(2, [1, 0]),
        },
        Claim {
            says: "Not in the paper: there, our rule lets in fewer of the worse than the paper's with SNIPS".into(),
            holds: fewer(tail[2][2], tail[1][2]),
            measured: said(2, [2, 1]),
        },
    ]
}

/// Whether one count is smaller than another, beyond two Poisson standard errors of their difference.
fn fewer(this: f64, other: f64) -> Option<bool> {
    let z = (this - other) / (this + other).sqrt();
    (z.abs() > 2.0).then_some(z < 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::Effort;
    use counterpoint::Engine;

    #[test]
    fn counts_are_compared_with_their_noise() {
        assert_eq!(
            (fewer(1.0, 67.0), fewer(67.0, 1.0), fewer(3.0, 5.0), fewer(0.0, 0.0)),
            (Some(true), Some(false), None, None)
        );
    }

    #[test]
    fn every_policy_is_counted_once() {
        let e = exhibit(&Ask::new(Effort::Quick, None, Engine::single()), 40, [1000, 3000]).expect("runs");
        for t in &e.tables {
            for row in &t.rows {
                let share = |i: usize| if let Cell::Value(v) = &row[i] { v.ours } else { f64::NAN };
                assert!(((1..=4).map(share).sum::<f64>() - 100.0).abs() < 1e-9);
                assert!(share(5) <= share(2) && row.len() == t.head.len());
            }
        }
    }
}
