//! Table 1: what CoCoA looks like, on its twin.

use super::{Ask, Cell, Claim, Exhibit, Table, Value};
use crate::{COCOA_ACTION_VARIANCE, COCOA_REWARD, COCOA_REWARDED, COCOA_VARIANCE, Cocoa};
use counterpoint::Result;

/// Rows of the paper's log, and its contexts.
const PAPER: [f64; 2] = [120e6, 3.0];

/// Runs it.
pub(crate) fn run(ask: &Ask) -> Result<Exhibit> {
    let rows = ask.by_effort(100_000, 1_000_000);
    let figures = ask.once(&format!("table1: {rows} rows, seed 1"), || Ok(summary(&Cocoa::simulate(rows, 1))))?;
    let printed = [COCOA_REWARD, COCOA_VARIANCE, COCOA_ACTION_VARIANCE, COCOA_REWARDED];
    let mut row: Vec<Cell> = vec!["twin of CoCoA".into()];
    row.extend([rows as f64, 3.0].iter().zip(PAPER).map(|(&ours, paper)| exact(ours, paper)));
    row.extend(figures.iter().zip(printed).map(|(&[ours, error], paper)| {
        Cell::from(Value { ours, error: Some(error), paper: Some(paper), paper_error: None })
    }));
    let z = figures.iter().zip(printed).map(|([ours, error], paper)| (ours - paper).abs() / error).fold(0.0, f64::max);
    let [[mean, _], [variance, _], ..] = figures;
    let relative = variance.sqrt() / mean;
    Ok(Exhibit {
        about: "CoCoA, the paper's log of real-time bids, cannot be shipped. Its twin is a simulated log with the same \
                summary at any number of rows: three contexts, a bid, and a reward that is mostly zero and sometimes large."
            .into(),
        tables: vec![Table {
            caption: "Summary statistics; the errors are Monte-Carlo standard errors at this number of rows".into(),
            head: ["", "N", "d", "E[-Y]", "V[Y]", "V[A]", "P(Y \u{2260} 0)"].map(String::from).into(),
            rows: vec![row],
        }],
        claims: vec![Claim {
            says: "The log has these four statistics".into(),
            holds: Some(z < 4.0),
            measured: format!("the largest deviation of the twin from the printed figures is {z:.1} standard errors"),
        }],
        notes: vec![
            "Only these figures are fixed by the paper; how reward depends on bid and context in the twin is ours.".into(),
            format!(
                "The standard deviation of the reward is {relative:.1} times its mean, so an estimate within 1% of the mean \
                 (one standard error) takes {:.0} thousand rows of the log itself, and more under weights. That is why the log is large.",
                (100.0 * relative).powi(2) / 1000.0
            ),
        ],
        ..Exhibit::default()
    })
}

fn exact(ours: f64, paper: f64) -> Cell {
    Value { ours, error: None, paper: Some(paper), paper_error: None }.into()
}

/// E[-Y], V[Y], V[A] and P(Y != 0), each with its standard error.
///
/// ```text
/// se(mean) = sqrt(m2 / n),   se(variance) = sqrt((m4 - m2^2) / n),   se(share) = sqrt(p (1 - p) / n)
/// ```
fn summary(log: &Cocoa) -> [[f64; 2]; 4] {
    let n = log.reward.len() as f64;
    let (mean, m2, m4) = moments(&log.reward);
    let (_, a2, a4) = moments(&log.action);
    let p = log.reward.iter().filter(|r| **r != 0.0).count() as f64 / n;
    [
        [mean, (m2 / n).sqrt()],
        [m2, ((m4 - m2 * m2) / n).sqrt()],
        [a2, ((a4 - a2 * a2) / n).sqrt()],
        [p, (p * (1.0 - p) / n).sqrt()],
    ]
}

/// Mean, and second and fourth moments about it.
fn moments(v: &[f64]) -> (f64, f64, f64) {
    let n = v.len() as f64;
    let mean = v.iter().sum::<f64>() / n;
    let power = |k: i32| v.iter().map(|x| (x - mean).powi(k)).sum::<f64>() / n;
    (mean, power(2), power(4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_by_hand() {
        assert_eq!(moments(&[1.0, 3.0, 5.0, 7.0]), (4.0, 5.0, 41.0));
        let log = Cocoa { reward: vec![0.0, 0.0, 0.0, 8.0], action: vec![1.0, 1.0, 3.0, 3.0], ..Cocoa::default() };
        let [mean, variance, action, share] = summary(&log);
        assert_eq!(mean, [2.0, 3f64.sqrt()]);
        assert_eq!(variance[0], 12.0);
        assert_eq!(action, [1.0, 0.0]);
        assert_eq!(share, [0.25, (0.1875f64 / 4.0).sqrt()]);
    }
}
