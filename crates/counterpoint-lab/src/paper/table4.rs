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

/// Runs it.
pub(crate) fn run(ask: &Ask) -> Result<Exhibit> {
    let (policies, rows) = ask.by_effort((200, 20_000), (2000, 100_000));
    exhibit(ask, policies, rows)
}

fn exhibit(ask: &Ask, policies: usize, rows: usize) -> Result<Exhibit> {
    let measure = |setup: Setup, name: &str| -> Result<Vec<Counts>> {
        ask.once(&format!("table4: {name}, {policies} policies, {rows} rows, seed 1"), || {
            let found = decide(setup, &RULES.map(|r| r.0), policies, rows, 1)?;
            let counts = found.iter().map(|c| [c.found, c.false_negatives, c.false_positives, c.kept, c.refused]);
            Ok(counts.map(|c| c.map(|v| v as f64)).collect())
        })
    };
    let (near, far) = (measure(Setup::Logging, "near logging")?, measure(Setup::Optimal, "near optimal")?);
    Ok(Exhibit {
        about: format!(
            "{policies} policies are drawn around the logging policy (i) and {policies} around the optimal one (ii). Each is \
             judged offline on {rows} rows, with as many others for the gate n_eff/n > 1%, and compared with its true value."
        ),
        tables: vec![
            table("(i) around the logging policy: % of policies", &near, &PAPER[0], policies),
            table("(ii) around the optimal policy: % of policies", &far, &PAPER[1], policies),
        ],
        claims: claims(&near, &far),
        notes: vec![
            "The paper prints counts out of 2,000; here both are percentages. Errors are binomial, over the draw of policies: \
             all policies of a setup are judged on the same rows."
                .into(),
            "The paper does not print its means, noise and number of rows; ours are those of the laboratory's `protocol`.".into(),
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

fn table(caption: &str, counts: &[Counts], paper: &[[f64; 4]; 2], policies: usize) -> Table {
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

fn claims(near: &[Counts], far: &[Counts]) -> Vec<Claim> {
    let errors = |c: &Counts| c[1] + c[2];
    let said = |ips: &Counts, snips: &Counts| {
        format!(
            "SNIPS keeps out {} of the better and lets in {} of the worse, IPS {} and {}",
            snips[1], snips[2], ips[1], ips[2]
        )
    };
    vec![
        Claim {
            says: "Near the logging policy, SNIPS errs less often than IPS".into(),
            holds: fewer(errors(&near[1]), errors(&near[0])),
            measured: said(&near[0], &near[1]),
        },
        Claim {
            says: "Near the optimal policy, SNIPS misses far fewer better policies than IPS".into(),
            holds: fewer(far[1][1], far[0][1]),
            measured: said(&far[0], &far[1]),
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
        let e = exhibit(&Ask::new(Effort::Quick, None, Engine::single()), 40, 3000).expect("runs");
        for t in &e.tables {
            for row in &t.rows {
                let share = |i: usize| if let Cell::Value(v) = &row[i] { v.ours } else { f64::NAN };
                assert!(((1..=4).map(share).sum::<f64>() - 100.0).abs() < 1e-9);
                assert!(share(5) <= share(2) && row.len() == t.head.len());
            }
        }
    }
}
