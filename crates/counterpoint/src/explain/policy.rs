//! A policy, its certificate and what else is known of it: the data of a report.

use super::detail::{Detail, without_small_cells};
use super::{
    ActionHistograms, Dependence, EstimatorTable, Fact, Histogram, Leaderboard, OutcomeCurves, Part, PartWeights,
    Provenance, action_histograms, dependence, estimator_table, outcome_curves, weight_histogram,
};
use crate::certify::{Certificate, Estimator, Interval, Overturn, Verdict, mean_action};
use crate::data::{Log, Outcome, Parts, Propensities};
use crate::engine::Engine;
use crate::error::Result;
use crate::evaluate::Aids;
use crate::learn::fit_model;
use crate::policy::TargetPolicy;
use crate::recipe::Recipe;
use crate::select::Selected;
use serde::{Deserialize, Serialize};

/// Everything that a report about a policy can show; what is empty is left out of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyReport {
    /// "Is there a better policy in log.parquet?"
    pub title: String,
    /// What came of the actions.
    pub outcome: OutcomeColumn,
    /// The decision and why.
    pub verdict: Option<Ruling>,
    /// What the policy brings.
    pub lift: Option<Lift>,
    /// One entry per part of the log, the gated part first.
    pub weights: Vec<PartWeights>,
    /// One entry per context and action, the most important first.
    pub contexts: Vec<Dependence>,
    /// One entry per action column.
    pub actions: Vec<ActionHistograms>,
    /// The predicted outcome over the action.
    pub predictions: Option<OutcomeCurves>,
    /// Every estimator's answer on the valid part.
    pub estimators: Option<EstimatorTable>,
    /// What else was tried.
    pub leaderboard: Option<Leaderboard>,
    /// The recipe as TOML.
    pub recipe: Option<String>,
    /// What must hold for the figures to mean what they say.
    pub assumptions: Vec<String>,
    /// What this log in particular gives reason to doubt.
    pub caveats: Vec<String>,
    /// Where the figures come from.
    pub provenance: Provenance,
}

/// What came of the actions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutcomeColumn {
    /// The column's name.
    pub name: String,
    /// Whether larger or smaller is better.
    pub direction: Outcome,
}

impl OutcomeColumn {
    pub(super) fn of(log: &Log) -> Self {
        OutcomeColumn { name: log.schema().outcome.clone(), direction: log.schema().direction }
    }
}

/// The decision and its reasons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ruling {
    /// The decision.
    pub decision: Verdict,
    /// Why.
    pub reasons: Vec<Reason>,
}

/// A reason in words: a whole sentence with its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// How it bears on the decision.
    pub standing: Standing,
    /// The sentence.
    pub text: String,
}

/// How a reason bears on the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// A check that holds.
    Good,
    /// A check that fails.
    Bad,
    /// Worth knowing, decides nothing.
    Note,
}

/// What the log earned or cost, what the policy would have, and the difference (policy minus log).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lift {
    /// The part of the log this was estimated on: "test".
    pub part: String,
    /// Its rows.
    pub rows: f64,
    /// How often an interval holds the truth: 0.95.
    pub confidence: f64,
    /// "self-normalised, paired with the log; bootstrap-t, 2,000 resamples"
    pub method: String,
    /// The log, per row.
    pub log: Interval,
    /// The policy, per row.
    pub policy: Interval,
    /// Policy minus log, paired row by row.
    pub difference: Interval,
    /// Further figures on the same scale, such as the value of the mean action.
    pub others: Vec<Named>,
    /// One-sided, of "the policy is not better than the log".
    pub p_value: Option<f64>,
}

/// A figure with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// The figure.
    pub interval: Interval,
}

/// What a report about a policy is made of.
pub struct Evidence<'a> {
    /// Who runs the folds.
    pub engine: &'a Engine,
    /// The log as read; only its schema and what was dropped are looked at, so [`Log::heading`] is enough.
    pub log: &'a Log,
    /// Train, valid and test.
    pub parts: &'a Parts,
    /// The policy.
    pub policy: &'a dyn TargetPolicy,
    /// What was certified of it.
    pub certificate: &'a Certificate,
    /// The recipe it was learned by, if known.
    pub recipe: Option<&'a Recipe>,
    /// What else was tried, if it was selected.
    pub selected: Option<&'a Selected>,
    /// The log by name.
    pub name: String,
    /// How it was split, in words.
    pub split: String,
    /// Of everything random.
    pub seed: u64,
    /// How much of the log the report shows.
    pub detail: Detail,
}

/// Computes everything that a report about a policy shows.
pub fn explain_policy(e: &Evidence) -> Result<PolicyReport> {
    let (c, parts) = (e.certificate, e.parts);
    let histogram = |part| weight_histogram(e.engine, part, e.policy).map(|h| shown(h, e.detail));
    let model_recipe = Recipe::clp().with_model_ridge(e.recipe.map_or(1e-3, |r| r.model.ridge));
    let model = fit_model(&parts.train.on(e.engine), e.policy, &model_recipe).ok();
    let aids = Aids { model: model.as_ref(), ..Aids::default() };
    let cap = e.recipe.and_then(|r| r.estimator.cap()).unwrap_or(15.0);
    Ok(PolicyReport {
        title: format!("Is there a better policy in {}?", e.name),
        outcome: OutcomeColumn::of(e.log),
        verdict: Some(ruling(c)),
        lift: Some(Lift { others: mean_actions(e), ..lift(c) }),
        weights: vec![
            PartWeights::gated("valid", histogram(&parts.valid)?, c),
            PartWeights::plain("test", &c.test, histogram(&parts.test)?),
        ],
        contexts: dependence(&parts.train, e.policy, e.detail),
        actions: actions(e),
        predictions: outcome_curves(e.engine, &parts.train, e.policy, e.detail)?,
        estimators: Some(estimator_table(e.engine, &parts.valid, e.policy, cap, aids)),
        leaderboard: e.selected.map(|s| Leaderboard::of(s, c.valid.rows)),
        recipe: e.recipe.map(Recipe::to_toml),
        assumptions: assumptions(&e.log.schema().propensities, e.log.schema().cluster.as_deref()),
        caveats: caveats(e),
        provenance: provenance(e),
    })
}

fn ruling(c: &Certificate) -> Ruling {
    let (decision, refusals) = (c.decision(), c.refusals());
    let unsupported = c.coverage.iter().flat_map(|k| &k.regions).filter(|r| r.unsupported);
    let unsupported: Vec<String> = unsupported.map(|r| format!("{}: mean weight", r.contexts)).collect();
    // what is missing, assumed or was widened is a remark; only the decision itself and a check that failed are more
    let standing = |text: &String| match c.verdict {
        _ if refusals.contains(text) || unsupported.iter().any(|u| text.starts_with(u)) => Standing::Bad,
        Verdict::Deploy if *text == decision => Standing::Good,
        Verdict::Invalid if *text == decision => Standing::Bad,
        _ => Standing::Note,
    };
    let mut reasons: Vec<Reason> =
        c.reasons.iter().map(|text| Reason { standing: standing(text), text: text.clone() }).collect();
    reasons.extend(c.overturn.iter().flat_map(overturning));
    Ruling { decision: c.verdict, reasons }
}

/// What would overturn the certificate: worth knowing, and a check that fails where a few rows carry the gain.
fn overturning(o: &Overturn) -> Vec<Reason> {
    let fails = !o.heaviest.holds || o.cluster.as_ref().is_some_and(|c| !c.holds);
    let text = o.to_string();
    let lines = text.lines().map(|l| {
        let carried = fails && l.starts_with("without") && l.contains("no longer");
        let standing = if carried && o.factor.is_some() { Standing::Bad } else { Standing::Note };
        Reason { standing, text: l.to_string() }
    });
    lines.collect()
}

fn actions(e: &Evidence) -> Vec<ActionHistograms> {
    let mut views = action_histograms(&e.parts.valid, Some(e.policy), e.seed);
    for v in &mut views {
        v.logged = shown(v.logged.clone(), e.detail);
        v.policy = v.policy.take().map(|h| shown(h, e.detail));
    }
    views
}

/// A histogram as a report may show it.
fn shown(h: Histogram, detail: Detail) -> Histogram {
    if detail == Detail::Rows { h } else { without_small_cells(&h) }
}

/// The value of always playing the mean action, where the test part can tell it.
fn mean_actions(e: &Evidence) -> Vec<Named> {
    let found = mean_action(e.policy, &e.parts.test.on(e.engine), e.certificate.terms.confidence);
    let named = |interval| Named { name: "always its mean action".into(), interval };
    found.ok().filter(|m| m.supported).map(|m| named(m.value)).into_iter().collect()
}

fn lift(c: &Certificate) -> Lift {
    let method = match c.terms.interval {
        crate::certify::Method::BootstrapT => format!("bootstrap-t, {} resamples", c.terms.bootstrap),
        crate::certify::Method::Percentile => format!("percentile bootstrap, {} resamples", c.terms.bootstrap),
        crate::certify::Method::Normal => "Student's t".into(),
    };
    Lift {
        part: "test".into(),
        rows: c.test.rows,
        confidence: c.terms.confidence,
        method: format!("{}, paired with the log; {method}", estimator(c)),
        log: c.logged,
        policy: c.value,
        difference: c.difference,
        others: Vec::new(),
        p_value: Some(c.p_value),
    }
}

fn estimator(c: &Certificate) -> &'static str {
    match c.estimator {
        Estimator::Snips => "self-normalised importance sampling (SNIPS)",
        Estimator::Dr => {
            "self-normalised importance sampling (SNIPS) for the value, doubly robust (DR, declared on the valid part) for the difference"
        }
    }
}

/// What must hold for the figures of any report to mean what they say, in plain words.
fn assumptions(propensities: &Propensities, cluster: Option<&str>) -> Vec<String> {
    let propensity = match propensities {
        Propensities::Logged => {
            "The logged propensities are the densities with which the actions were really drawn. If they are wrong, \
             every figure here is wrong; a mean weight far from 1 is the sign of it."
        }
        Propensities::Estimated(_) => {
            "The propensities were not logged but estimated from the log. The figures hold only if that model is right \
             and if nothing outside the contexts moved both the actions and the outcome (no hidden confounding). Treat them as a \
             lead, not as proof."
        }
    };
    let independent = match cluster {
        None => {
            "Rows are independent of each other: what was done in one row changed neither the context nor the outcome of another.".into()
        }
        Some(cluster) => format!(
            "Rows of different {cluster} are independent of each other. What was done in one row changed the outcome of no other, those of the same \
             {cluster} among them: what a policy does to all of them at once is not seen where the log did it to some."
        ),
    };
    [
        propensity,
        &independent,
        "Overlap (positivity): the logging policy could have taken every action that the new policy takes. Where it never went, \
         the log is silent.",
        "The future looks like the log: the same kind of contexts, and the same outcome for the same action.",
        "The rows behind the verdict were used neither to learn the policy nor to choose it.",
        "The interval is about the policy as written, which draws its actions at random. Always playing its mean action is \
         another policy, with another value.",
    ]
    .map(String::from)
    .into()
}

fn caveats(e: &Evidence) -> Vec<String> {
    let c = e.certificate;
    let mut out = Vec::new();
    for w in e.log.schema().propensities.estimated().iter().flat_map(|e| &e.warnings) {
        out.push(format!("Estimated propensities: {w}."));
    }
    if c.test.effective_share < 0.1 {
        out.push(format!(
            "The estimate rests on {:.0} effective rows of {:.0}: rare kinds of rows are hardly represented.",
            c.test.effective, c.test.rows
        ));
    }
    if let Some(s) = e.selected {
        out.push(format!(
            "{} recipes were tried; the valid figures of the winner are flattered by that choice, the test figures are not.",
            s.leaderboard.len()
        ));
    }
    out
}

fn provenance(e: &Evidence) -> Provenance {
    let part = |name: &str, log: &Log| Part { name: name.into(), rows: log.rows() as f64 };
    let mut provenance = Provenance::of(e.log, &e.name);
    provenance.files.iter_mut().for_each(|f| f.fingerprint = e.certificate.fingerprint.clone());
    let hash = e.certificate.subject.policy_sha256.iter();
    provenance.facts.extend(hash.map(|h| Fact { name: "policy (SHA-256)".into(), value: h.clone() }));
    // a program that knows its commit says so in its certificates
    if let Some(version) = e.certificate.subject.program.strip_prefix("counterpoint ") {
        provenance.version = version.into();
    }
    Provenance {
        seed: Some(e.seed),
        split: e.split.clone(),
        parts: vec![part("train", &e.parts.train), part("valid", &e.parts.valid), part("test", &e.parts.test)],
        ..provenance
    }
}
