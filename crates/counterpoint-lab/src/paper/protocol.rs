//! Appendix D.2 in pictures: how far the lower bound lies under the truth, and what the gate on n_eff does.

use super::draw::{curve, histogram, picture};
use super::pool::{Fitted, Offline, SYNTHETIC, Variant, pool};
use super::statistics::{Paired, mean};
use super::{Ask, Axis, Cell, Claim, Exhibit, Mark, Series, Table};
use crate::protocol::{Judged, Setup, Z, judge};
use counterpoint::Result;

/// Logs, policies a log, and rows of a part. Policies of one log share its rows, so that only logs count as independent.
fn size(ask: &Ask) -> (usize, usize, usize) {
    ask.by_effort((10, 50, 1_000), (40, 50, 2_000))
}

const SETUPS: [(Setup, &str, &str); 3] = [
    (Setup::Logging, "logging", "policies around the logging policy"),
    (Setup::Optimal, "optimal", "policies around the optimal policy"),
    (Setup::Far, "tail", "policies around an optimum in the tail of the log"),
];

/// The paper's threshold of n_eff / n.
const GATE: f64 = 0.01;

type Estimated = fn(&Judged) -> (f64, f64);
const ESTIMATORS: [(&str, Estimated); 2] = [("IPS", |j| j.ips), ("SNIPS", |j| j.snips)];

/// The judged policies, log by log.
fn judged(ask: &Ask, setup: Setup) -> Result<Vec<Vec<Judged>>> {
    let (logs, policies, rows) = size(ask);
    let key = format!("judged {setup:?} {logs} {policies} {rows}");
    ask.once(&key, || Ok((0..logs as u64).map(|log| judge(setup, policies, rows, log + 1)).collect()))
}

/// Figure 14: histograms of the true reward minus the offline lower confidence bound.
pub fn lower_bound(ask: &Ask) -> Result<Exhibit> {
    let (logs, policies, rows) = size(ask);
    let names = ESTIMATORS.map(|(name, _)| name);
    let (mut pictures, mut table, mut claims) = (Vec::new(), Vec::new(), Vec::new());
    let mut show = |name: &str, title: &str, gaps: &[Vec<f64>; 2]| {
        if gaps[0].is_empty() {
            return;
        }
        pictures.push(gaps_picture(name, title, &names, gaps));
        table.extend(names.iter().zip(gaps).map(|(estimator, gaps)| row(&format!("{title}, {estimator}"), gaps)));
    };
    for (setup, name, title) in SETUPS {
        let mut judged = judged(ask, setup)?;
        judged.iter_mut().for_each(|log| log.retain(|j| j.share > GATE));
        let gap = |j: &Judged, of: Estimated| j.value - (of(j).0 - Z * of(j).1);
        show(name, title, &ESTIMATORS.map(|(_, of)| judged.iter().flatten().map(|j| gap(j, of)).collect()));
        let more = |log: &Vec<Judged>| log.iter().map(|j| gap(j, |j| j.ips) - gap(j, |j| j.snips)).collect::<Vec<_>>();
        let by_log: Vec<f64> = judged.iter().filter(|log| !log.is_empty()).map(|log| mean(&more(log))).collect();
        claims.push(promise(title, &by_log));
    }
    for pool in pool(ask, &SYNTHETIC, &[Variant::Soft])? {
        let of = |e: fn(&Fitted) -> Offline| -> Vec<f64> {
            let supported = pool.fits.iter().flatten().filter(|f| f.share > GATE);
            supported.map(|f| f.online - (e(f).value - Z * e(f).std_error)).collect()
        };
        let name = pool.place.name();
        show(name, &format!("policies learned on {name}"), &[of(|f| f.ips), of(|f| f.snips)]);
    }
    Ok(Exhibit {
        about: format!(
            "{logs} logs per setup with {policies} policies each, gate and decision on {rows} rows each; and the learned policies of the pool on the test rows of the three sets. The lower bound is the estimate less {Z:.2} standard errors. Policies with n_eff / n below {GATE} are left out."
        ),
        tables: vec![Table {
            caption: "True reward minus lower bound; a gap below 0 is a promise that was not kept (nominal 2.5%)".into(),
            head: ["policies", "number", "mean gap", "share below 0"].map(String::from).to_vec(),
            rows: table,
        }],
        pictures,
        claims,
        notes: vec![
            "The paper takes percentiles of a 100-fold bootstrap; with thousands of rows that is the normal interval but for its own noise.".into(),
            "Learned policies of a set are judged by the same test rows: their share below 0 is that of one log.".into(),
        ],
    })
}

fn promise(title: &str, by_log: &[f64]) -> Claim {
    let says = format!("IPS promises less than SNIPS for {title}: its lower bound lies farther under the truth.");
    if by_log.is_empty() {
        return Claim { says, holds: None, measured: "no policy passed the gate".into() };
    }
    let more = Paired::new(by_log);
    Claim { says, holds: more.larger(), measured: format!("gap with IPS minus gap with SNIPS, by log: {more}") }
}

fn row(name: &str, gaps: &[f64]) -> Vec<Cell> {
    let below = gaps.iter().filter(|g| **g < 0.0).count() as f64 / gaps.len() as f64;
    vec![name.into(), (gaps.len() as f64).into(), mean(gaps).into(), below.into()]
}

fn gaps_picture(name: &str, title: &str, names: &[&str; 2], gaps: &[Vec<f64>; 2]) -> super::Picture {
    let mut all: Vec<f64> = gaps.concat();
    all.sort_by(f64::total_cmp);
    let at = |q: f64| all[((all.len() - 1) as f64 * q) as usize];
    let range = [at(0.005).min(0.0), at(0.995)];
    let bars = names.iter().zip(gaps).map(|(name, gaps)| histogram(name, gaps, range, 40)).collect();
    picture(name, title, Axis::linear("online reward minus lower bound"), Axis::linear("share of policies"), bars)
}

/// Figure 15: precision, recall and F1 of the decision over the threshold of n_eff / n.
pub fn threshold(ask: &Ask) -> Result<Exhibit> {
    let (logs, policies, rows) = size(ask);
    let (mut pictures, mut table, mut claims) = (Vec::new(), Vec::new(), Vec::new());
    for (setup, name, title) in SETUPS {
        let judged = judged(ask, setup)?.concat();
        for (estimator, of) in ESTIMATORS {
            let score = |nu: f64| scores(&judged, of, nu);
            let lines: Vec<Series> = ["precision", "recall", "F1"]
                .iter()
                .enumerate()
                .map(|(k, label)| {
                    let mut line = curve(label, [0.0, 1.0], |nu| score(nu)[k]);
                    line.points.retain(|p| p[1].is_finite());
                    Series { mark: Mark::Line, ..line }
                })
                .collect();
            let best = best_threshold(&judged, of);
            let file = format!("{name}-{}", estimator.to_lowercase());
            pictures.push(picture(
                &file,
                &format!("{estimator}, {title}"),
                Axis::linear("threshold of n_eff / n"),
                Axis::linear("score"),
                lines,
            ));
            for (label, nu) in [("no threshold", 0.0), ("the paper's", GATE), ("best F1", best)] {
                let [precision, recall, f1] = score(nu);
                let place = format!("{title}, {estimator}: {label}");
                table.push(vec![place.into(), nu.into(), precision.into(), recall.into(), f1.into()]);
            }
            if estimator == "SNIPS" {
                claims.push(claim(setup, title, &score, best));
            }
        }
    }
    Ok(Exhibit {
        about: format!(
            "{logs} logs per setup with {policies} policies each; deployed where n_eff / n on {rows} valid rows passes the threshold and the lower bound on {rows} test rows passes the mean reward of the log. Positive: truly better than the logging policy."
        ),
        tables: vec![Table {
            caption: "Scores at three thresholds".into(),
            head: ["decision", "threshold", "precision", "recall", "F1"].map(String::from).to_vec(),
            rows: table,
        }],
        pictures,
        claims,
        notes: vec!["The paper's means, noises and number of rows are not printed, so the setups are ours: how often significance alone errs depends on them. The third setup is not in the paper; there the log does not support most policies, which is what the threshold is for.".into()],
    })
}

/// Precision, recall and F1; precision is not a number where nothing is deployed.
fn scores(judged: &[Judged], of: Estimated, nu: f64) -> [f64; 3] {
    let deployed = |j: &&Judged| j.share > nu && of(j).0 - Z * of(j).1 > j.logged;
    let better = judged.iter().filter(|j| j.value > j.logging).count() as f64;
    let chosen = judged.iter().filter(deployed).count() as f64;
    let right = judged.iter().filter(deployed).filter(|j| j.value > j.logging).count() as f64;
    [right / chosen, right / better, 2.0 * right / (chosen + better)]
}

/// The smallest threshold with the highest F1, of 0 and those at which a policy is filtered.
fn best_threshold(judged: &[Judged], of: Estimated) -> f64 {
    let mut nus: Vec<f64> = judged.iter().map(|j| j.share).chain([0.0]).collect();
    nus.sort_by(f64::total_cmp);
    let f1 = |nu: f64| scores(judged, of, nu)[2];
    nus.iter().fold(0.0, |best, nu| if f1(*nu) > f1(best) { *nu } else { best })
}

fn claim(setup: Setup, title: &str, score: &dyn Fn(f64) -> [f64; 3], best: f64) -> Claim {
    let [p0, r0, f0] = score(0.0);
    let [p1, r1, f1] = score(GATE);
    let [pb, _, fb] = score(best);
    let measured = format!(
        "precision, recall, F1: {p0:.4}, {r0:.4}, {f0:.4} without; {p1:.4}, {r1:.4}, {f1:.4} at 1%; F1 {fb:.4} (precision {pb:.4}) at its best threshold {best:.4}"
    );
    match setup {
        Setup::Logging => Claim {
            says: format!("For {title} the threshold is seldom needed."),
            holds: Some((fb - f0).abs() < 0.005),
            measured,
        },
        Setup::Optimal | Setup::Far => Claim {
            says: format!("For {title} significance alone lets too much in, and a threshold raises F1."),
            holds: Some(fb > f0 && pb > p0),
            measured,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of three better policies two are deployed, and one worse: precision 2/3, recall 2/3; a threshold takes out the worse.
    #[test]
    fn scores_by_hand() {
        let j = |value: f64, estimate: f64, share: f64| Judged {
            value,
            share,
            snips: (estimate, 0.0),
            ..Judged { logging: 0.5, logged: 0.5, ..Judged::default() }
        };
        let judged = [j(0.6, 0.7, 0.5), j(0.7, 0.8, 0.5), j(0.8, 0.4, 0.5), j(0.3, 0.9, 0.02), j(0.1, 0.2, 0.5)];
        let [precision, recall, f1] = scores(&judged, |j| j.snips, 0.0);
        assert_eq!([precision, recall], [2.0 / 3.0; 2]);
        assert!((f1 - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(best_threshold(&judged, |j| j.snips), 0.02);
        assert_eq!(scores(&judged, |j| j.snips, 0.02), [1.0, 2.0 / 3.0, 0.8]);
        assert!(scores(&judged, |j| j.snips, 0.9)[0].is_nan());
    }
}
