//! What the paper says of Table 3, and where ours differs. All words about numbers follow from the numbers.

use super::{ROWS, Results, TWIN};
use crate::paper::dataset::cuts::{Column, FOUND};
use crate::paper::dataset::{Kind, missing};
use crate::paper::{Ask, Claim};
use crate::rivals::{JUDGE_STD, PAPER_GATE};

/// The row of ours that is chosen from a grid.
const OWN: usize = ROWS.len() + 1;

/// The five methods of the printed table.
const PRINTED: [&str; 5] = ["sdm", "o-learning", "ks", "sn-ks", "cats"];

/// From here on a difference counts, in standard errors: one-sided 5%.
const CLEAR: f64 = 1.64;

fn row(name: &str) -> usize {
    ROWS.iter().position(|r| r.0 == name).unwrap_or(OWN)
}

/// How many standard errors a lies above b.
fn above(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]) / a[1].hypot(b[1])
}

/// The best of some rows in a column.
fn top(results: &Results, names: &[&str], column: &Column) -> Option<(usize, [f64; 2])> {
    let all = names.iter().filter_map(|name| Some((row(name), results.value(row(name), column)?)));
    all.max_by(|a, b| a.1[0].total_cmp(&b.1[0]))
}

/// Tries a sentence on every column; it holds if it does on all that can tell.
fn claim(results: &Results, says: &str, tries: impl Fn(&Column) -> Option<(bool, String)>) -> Claim {
    let tried = results.columns.iter().filter_map(|c| tries(c).map(|(holds, words)| (holds, c.kind.printed(), words)));
    let tried: Vec<(bool, &str, String)> = tried.collect();
    let measured: Vec<String> = tried.iter().map(|(_, name, words)| format!("{name}: {words}")).collect();
    Claim {
        says: says.into(),
        holds: (!tried.is_empty()).then(|| tried.iter().all(|t| t.0)),
        measured: measured.join("; "),
    }
}

/// The paper's sentences about the table.
pub(super) fn all(results: &Results) -> Vec<Claim> {
    let value = |name: &str, column: &Column| results.value(row(name), column);
    vec![
        claim(results, "CLP with scIPS earns more than each of the five methods, on every set", |c| {
            let ours = results.value(OWN, c)?;
            let (best, rival) = top(results, &PRINTED, c)?;
            let z = above(ours, rival);
            let words = format!("ours {:.4}, best rival {} {:.4} (z = {z:.1})", ours[0], ROWS[best].1, rival[0]);
            Some((z > CLEAR, words))
        }),
        claim(results, "Self-normalising kernel smoothing makes it worse", |c| {
            let (sn, ks) = (value("sn-ks", c)?, value("ks", c)?);
            let z = above(ks, sn);
            Some((z > CLEAR, format!("KS {:.4}, SN-KS {:.4} (z = {z:.1})", ks[0], sn[0])))
        }),
        claim(results, "CATS offline does poorly: below the other methods", |c| {
            let cats = value("cats", c)?;
            let rivals = PRINTED[..4].iter().filter_map(|r| Some(value(r, c)?[0]));
            let least = rivals.fold(f64::INFINITY, f64::min);
            Some((cats[0] < least, format!("CATS {:.4}, the least of the others {least:.4}", cats[0])))
        }),
        claim(results, "Demirer's method with richer maps beats the logging policy", |c| {
            let own = value("demirer", c)?;
            let z = above(own, c.logged);
            Some((z > CLEAR, format!("{:.4}, the log {:.4} (z = {z:.1})", own[0], c.logged[0])))
        }),
    ]
}

pub(super) fn about() -> String {
    format!(
        "Each method learns with every setting of a small grid; the setting is chosen by SNIPS on rows it has not seen \
         among policies with n_eff/n >= {}, as in the paper: on the valid rows, on Warfarin by five-fold cross-validation, each test quarter in \
         turn. Values are known rewards on the test contexts, averaged over sampled actions for policies that draw.",
        PAPER_GATE.min_effective_share
    )
}

pub(super) fn notes(ask: &Ask, results: &Results) -> Vec<String> {
    let mut notes = vec![
        "Errors are standard errors over test contexts; the paper's are those of sampling actions for one policy.".into(),
        format!(
            "KS, SN-KS, O-learning and Demirer's method learn rules without noise and are shown as such; the paper does not say how \
             it drew their actions. KS and SN-KS are judged with their kernel as the density, the others with a normal of \
             {JUDGE_STD} std of the logged actions."
        ),
        "The grids give the rivals what ours has: standardised contexts, centred costs, a ridge or a richer context map for the direct \
         method and for Demirer's. The paper does not say what its grids held."
            .into(),
        "O-learning may take a Gaussian kernel and may count the worse half of the rewards as 0 (`floor`); the latter is ours. z in the \
         claims treats the two values as independent, which on common contexts is cautious."
            .into(),
        "Rules of KS and SN-KS are linear in the contexts, as in their paper.".into(),
        "The gate of the paper looks at n_eff alone. Policies that leave the log's support for some contexts pass it with a mean weight \
         below 1 and an estimate that is too good."
            .into(),
    ];
    notes.push(format!("Ours on the synthetic sets: {FOUND}"));
    notes.extend(beaten(results));
    if let Some(column) = results.columns.iter().find(|c| c.kind == Kind::Warfarin) {
        notes.extend(warfarin(results, column));
    }
    notes.extend(missing(ask));
    notes.push(format!(
        "CoCoA cannot be shipped. Its twin shares only the statistics of Table 1 with it; what there is to gain is ours, so the printed \
         values stand beside it for orientation only. They are estimates on CoCoA's test rows, ours are true values on the twin's \
         contexts. It has {} rows here, fewer than in Table 2, because some rivals are slow; half of them are to learn from. \
         For the same reason O-learning's rules are linear there, which the twin's best bid is too.",
        ask.by_effort(TWIN[1], TWIN[0])
    ));
    let failures = results.records.iter().flatten().flatten().filter(|r| r.failure.is_some()).count();
    if failures > 0 {
        notes.push(format!("{failures} fits failed and count as not passing."));
    }
    if ask.quick() {
        notes.push("A quick run: two settings a rival, one recipe of ours. Not for quoting.".into());
    }
    notes
}

/// Where another method earns clearly more than ours, and why.
fn beaten(results: &Results) -> Option<String> {
    let names: Vec<&str> = ROWS.iter().map(|r| r.0).collect();
    let mut places: Vec<String> = Vec::new();
    for column in &results.columns {
        let Some(ours) = results.value(OWN, column) else { continue };
        let better = names.iter().filter(|n| results.value(row(n), column).is_some_and(|v| above(v, ours) > CLEAR));
        let better: Vec<&str> = better.map(|n| ROWS[row(n)].1).collect();
        if !better.is_empty() {
            places.push(format!("{} ({})", column.kind.printed(), better.join(", ")));
        }
    }
    (!places.is_empty()).then(|| {
        format!(
            "Other methods earn more than ours, by more than {CLEAR} standard errors, on {}. The synthetic rewards are smooth and \
             almost free of noise, so a regression with a rich context map fits them better than any weighted estimate can. The second \
             table says what the same methods earn with linear maps: where that is near the printed number, the paper's grid for them was probably no richer.",
            places.join("; ")
        )
    })
}

/// How Warfarin was done, and what came of it quarter by quarter.
fn warfarin(results: &Results, column: &Column) -> [String; 2] {
    let each = |row: usize| -> String {
        let value = |&s: &usize| results.chosen(row, s).and_then(|r| r.deployed);
        let words = |s| value(s).map_or("none passes".to_string(), |v| format!("{:.2}", v[0]));
        column.sets.iter().map(words).collect::<Vec<_>>().join(", ")
    };
    let names: Vec<&str> = ROWS.iter().map(|r| r.0).collect();
    let rival = top(results, &names, column).map_or(String::new(), |(r, _)| {
        let judged = column.figure(|s| results.chosen(r, s)?.judged).map_or(f64::NAN, |v| v[0]);
        format!(
            ", {} (the best other) {}. Ours draws its actions; with the noise under which it was judged the other earns {judged:.2} on average",
            ROWS[r].1,
            each(r)
        )
    });
    [
        format!(
            "Warfarin: as in Table 2, for every method. Five-fold cross-validation over train and valid; folds that fail the gate are dropped, a \
             setting needs three that pass, and the mean SNIPS over the rest decides; then it learns from train and valid. The value is the mean \
             over {} test quarter(s), each with its own choice on the other three. By quarter, ours earns {}{rival}.",
            column.sets.len(),
            each(OWN)
        ),
        "On Warfarin the default recipe gives way to the first of the built-in grid `wide`: the quadratic map of 81 contexts has more \
         parameters than the log has rows. That grid keeps the std above a fifth of the log's, so that the policy can be certified. The \
         recipes of ours are every third of Table 2's, around one that was found with the truth in view; likewise, the rivals' grids are \
         here those settings that the truth of a test quarter showed to matter."
            .into(),
    ]
}
