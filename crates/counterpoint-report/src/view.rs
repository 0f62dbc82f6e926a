//! What the template is given: every figure already in words, every chart already drawn.

use super::figures::{self, Figure, Overlap, standing};
use super::tables::{self, Table};
use super::words::{self, count, fixed, signed};
use counterpoint::certify::Verdict;
use counterpoint::data::Outcome;
use counterpoint::explain::{Lift, PolicyReport, Provenance, Standing};
use serde::Serialize;

#[derive(Serialize)]
struct Banner {
    class: &'static str,
    word: &'static str,
    headline: &'static str,
    sentence: String,
    reasons: Vec<(&'static str, &'static str, String)>,
}

#[derive(Serialize)]
struct Big {
    value: String,
    standing: &'static str,
    what: String,
    interval: String,
    relative: Option<String>,
    fine_print: String,
}

/// The whole page.
#[derive(Serialize)]
pub(crate) struct View {
    title: String,
    lead: String,
    banner: Banner,
    big: Option<Big>,
    forest: Option<Figure>,
    overlaps: Vec<Overlap>,
    actions: Vec<Figure>,
    curves: Vec<Figure>,
    contexts: Vec<Figure>,
    more_contexts: Vec<Figure>,
    estimators: Option<Table>,
    leaderboard: Option<Table>,
    leaderboard_words: String,
    recipe: Option<String>,
    assumptions: Vec<String>,
    caveats: Vec<String>,
    provenance: Vec<(String, String)>,
    version: String,
}

/// How many contexts are shown at once; the others can be opened.
const CONTEXTS: usize = 6;

impl View {
    pub(crate) fn of(r: &PolicyReport) -> Self {
        let mut contexts: Vec<Figure> = r.contexts.iter().filter_map(figures::context).collect();
        let more_contexts = contexts.split_off(contexts.len().min(CONTEXTS));
        View {
            title: r.title.clone(),
            lead: lead(r),
            banner: banner(r),
            big: r.lift.as_ref().map(|l| big(l, r)),
            forest: r.lift.as_ref().and_then(|l| figures::lift(l, r)),
            overlaps: r.weights.iter().map(figures::overlap).collect(),
            actions: r.actions.iter().filter_map(figures::action).collect(),
            curves: r.predictions.iter().filter_map(|c| figures::curves(c, &r.outcome.name)).collect(),
            contexts,
            more_contexts,
            estimators: r.estimators.as_ref().map(|e| tables::estimators(e, &r.outcome.name)),
            leaderboard: r.leaderboard.as_ref().map(tables::leaderboard),
            leaderboard_words: r.leaderboard.as_ref().map(|l| tables::leaderboard_words(l, r)).unwrap_or_default(),
            recipe: r.recipe.clone(),
            assumptions: r.assumptions.clone(),
            caveats: r.caveats.clone(),
            provenance: provenance(&r.provenance),
            version: r.provenance.version.clone(),
        }
    }
}

fn lead(r: &PolicyReport) -> String {
    let files: Vec<&str> = r.provenance.files.iter().map(|f| f.name.as_str()).collect();
    let rows: f64 = r.provenance.parts.iter().map(|p| p.rows).sum();
    let direction = match r.outcome.direction {
        Outcome::Reward => "higher",
        Outcome::Cost => "lower",
    };
    let from = match files.as_slice() {
        [] => String::new(),
        [one] => format!(" from {one}"),
        many => format!(" from {} files", many.len()),
    };
    let rows = if rows > 0.0 { format!("{} logged rows{from}. ", count(rows)) } else { String::new() };
    format!("{rows}Outcome: {}, {direction} is better.", r.outcome.name)
}

fn banner(r: &PolicyReport) -> Banner {
    let (class, word, headline) = match r.verdict.as_ref().map(|v| v.decision) {
        Some(Verdict::Deploy) => ("good", "Deploy", "The new policy is better. Deploy it."),
        Some(Verdict::Promising) => {
            ("lead", "Promising", "Better if the estimated densities are right. A lead to test, not a proof.")
        }
        Some(Verdict::Keep) => ("warn", "Keep", "Not shown to be better. Keep the current policy."),
        Some(Verdict::Invalid) => ("bad", "Invalid", "The checks failed. No decision can be made from this log."),
        None => ("plain", "Not certified", "An estimate, not a certificate."),
    };
    let sentence = match (r.verdict.as_ref().map(|v| v.decision), &r.lift) {
        (Some(Verdict::Invalid), _) => {
            "The estimates below must not be believed, neither for better nor for worse, because a check did not hold."
                .into()
        }
        (_, Some(l)) => {
            let d = words::decimals(words::half(&l.difference));
            let way = if l.difference.estimate < 0.0 { "lower" } else { "higher" };
            format!(
                "On the {} rows of the {} part, the policy\u{2019}s mean {} is estimated {} {way} than that of the log; the {} interval of the difference runs from {} to {}.",
                count(l.rows),
                l.part,
                r.outcome.name,
                fixed(l.difference.estimate.abs(), d),
                words::level(l.confidence),
                signed(l.difference.lower, d),
                signed(l.difference.upper, d)
            )
        }
        _ => String::new(),
    };
    let reasons = r.verdict.iter().flat_map(|v| &v.reasons);
    let reasons = reasons
        .map(|reason| match reason.standing {
            Standing::Good => ("good", "holds", reason.text.clone()),
            Standing::Bad => ("bad", "fails", reason.text.clone()),
            Standing::Note => ("note", "note", reason.text.clone()),
        })
        .collect();
    Banner { class, word, headline, sentence, reasons }
}

fn big(l: &Lift, r: &PolicyReport) -> Big {
    let d = words::decimals(words::half(&l.difference));
    let invalid = r.verdict.as_ref().is_some_and(|v| v.decision == Verdict::Invalid);
    // a ratio to something that may be zero says nothing
    let firm = l.log.estimate.abs() > 3.0 * words::half(&l.log);
    let share = 100.0 * l.difference.estimate / l.log.estimate.abs();
    Big {
        value: signed(l.difference.estimate, d),
        standing: standing(l, r),
        what: match invalid {
            true => format!("{} per row, policy minus log: not to be believed", r.outcome.name),
            false => format!("{} per row, policy minus log", r.outcome.name),
        },
        interval: format!(
            "{} interval: {} to {}",
            words::level(l.confidence),
            signed(l.difference.lower, d),
            signed(l.difference.upper, d)
        ),
        relative: (firm && !invalid).then(|| format!("{}% relative to the log", signed(share, 1))),
        fine_print: [Some(l.method.clone()).filter(|m| !m.is_empty()), l.p_value.map(words::p_value)]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("; "),
    }
}

/// Every fact that lets somebody else compute the same figures.
pub(super) fn provenance(p: &Provenance) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut fact = |name: &str, value: String| {
        if !value.is_empty() {
            facts.push((name.into(), value));
        }
    };
    for f in &p.files {
        fact("file", if f.fingerprint.is_empty() { f.name.clone() } else { format!("{} ({})", f.name, f.fingerprint) });
    }
    let parts: Vec<String> = p.parts.iter().map(|part| format!("{} {}", part.name, count(part.rows))).collect();
    fact("rows", parts.join(", "));
    fact("split", p.split.clone());
    fact("seed", p.seed.map(|s| s.to_string()).unwrap_or_default());
    for f in &p.facts {
        fact(&f.name, f.value.clone());
    }
    fact("counterpoint", p.version.clone());
    facts
}
