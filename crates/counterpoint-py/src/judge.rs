//! What a log holds, what a policy would have earned, and whether that may be believed.

use crate::errors::Fault;
use crate::grammar;
use crate::log::Log;
use crate::policy::Policy;
use crate::target::{Brought, target};
use crate::work;
use counterpoint::certify::{
    Abstained, Certificate, GuardedCertificate, Guardrail, Ratio, Terms, abstain, certify as certify_one,
    certify_several, guard, ratio, segments,
};
use counterpoint::data::{Outcome, Parts};
use counterpoint::explain::{Detail, Evidence, explain_log, explain_policy};
use counterpoint::policy::{SavedPolicy, TargetPolicy};
use counterpoint::portfolio::logging_policy;
use counterpoint::select::Selected;
use counterpoint::{Engine, Error, Recipe, Result, Source};
use counterpoint_report::{log_page, policy_page};
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// A certificate, and the rows it was given on, so that a report can be made of them.
#[pyclass(frozen, module = "counterpoint._counterpoint")]
pub(crate) struct Certified {
    certificate: Certificate,
    guarded: Option<GuardedCertificate>,
    ratio: Option<Ratio>,
    abstained: Option<Abstained>,
    heading: counterpoint::Log,
    parts: Arc<Parts>,
    policy: Arc<dyn TargetPolicy>,
    recipe: Option<Recipe>,
    selected: Option<Selected>,
    name: String,
    split: String,
    threads: usize,
}

impl Certified {
    /// Certifies a policy on the parts of a log.
    pub(crate) fn issue(
        log: &Log,
        policy: Arc<dyn TargetPolicy>,
        parts: Arc<Parts>,
        terms: &Terms,
        (engine, threads): (&Engine, usize),
    ) -> Result<Self> {
        let certificate = certify_one(&*policy, &parts.valid.on(engine), &parts.test.on(engine), terms)?;
        Ok(Self::of(log, policy, parts, certificate, threads))
    }

    fn of(
        log: &Log,
        policy: Arc<dyn TargetPolicy>,
        parts: Arc<Parts>,
        certificate: Certificate,
        threads: usize,
    ) -> Self {
        Certified {
            split: log.split_words(certificate.terms.seed),
            certificate: certificate.naming(&log.name, counterpoint_cli::program()),
            guarded: None,
            ratio: None,
            abstained: None,
            heading: log.log.heading(),
            parts,
            policy,
            recipe: None,
            selected: None,
            name: log.name.clone(),
            threads,
        }
    }

    /// The same, of a policy that was learned by this recipe.
    pub(crate) fn learned_by(self, recipe: Recipe, selected: Option<Selected>) -> Self {
        Certified { recipe: Some(recipe), selected, ..self }
    }

    /// The same with guardrails: each on the same rows with its column as the outcome.
    pub(crate) fn guarded_by(
        self,
        guards: &[(Guardrail, Arc<counterpoint::Log>)],
        log: &Log,
        engine: &Engine,
    ) -> Result<Self> {
        let terms = self.certificate.terms.clone();
        let mut parts = Vec::new();
        for (g, other) in guards {
            same_rows(log, other, &format!("guardrail {:?}", g.column))?;
            parts.push(other.split(log.rule(terms.seed))?);
        }
        let on: Vec<_> = parts.iter().map(|p| (p.valid.on(engine), p.test.on(engine))).collect();
        let asked: Vec<(Guardrail, &dyn Source, &dyn Source)> =
            guards.iter().zip(&on).map(|((g, _), (v, t))| (g.clone(), v as &dyn Source, t as &dyn Source)).collect();
        if asked.is_empty() {
            return Ok(self);
        }
        let guarded = guard(self.certificate.clone(), &*self.policy, &asked, &terms)?;
        Ok(Certified { guarded: Some(guarded), ..self })
    }

    /// The same with the outcome per unit of another one, on the test part.
    fn divided_by(self, below: &counterpoint::Log, log: &Log, engine: &Engine) -> Result<Self> {
        same_rows(log, below, &format!("column {:?}", below.schema().outcome))?;
        let terms = &self.certificate.terms;
        let below = below.split(log.rule(terms.seed))?;
        let found = ratio(&*self.policy, &self.parts.test.on(engine), &below.test.on(engine), terms)?;
        Ok(Certified { ratio: Some(found), ..self })
    }
}

/// Another outcome of a log must be of the same rows.
pub(crate) fn same_rows(log: &Log, other: &counterpoint::Log, place: &str) -> Result<()> {
    match other.dropped() == log.log.dropped() {
        true => Ok(()),
        false => Err(Error::data("other rows have an unusable value in this column than in the outcome")
            .at(place)
            .hint("clean the log first, so that all outcomes are those of the same rows")),
    }
}

/// JSON as the command line writes it to files.
fn pretty(what: &impl Serialize) -> String {
    serde_json::to_string_pretty(what).unwrap_or_default() + "\n"
}

#[pymethods]
impl Certified {
    /// The file of the certificate, as the command line writes it.
    #[getter]
    fn json(&self) -> String {
        self.guarded.as_ref().map_or_else(|| pretty(&self.certificate), pretty)
    }

    /// The verdict, its reasons and figures in a few lines.
    #[getter]
    fn words(&self) -> String {
        let guardrails = self.guarded.iter().flat_map(|g| &g.guardrails).map(|g| format!("\nguardrail {g}"));
        let ratio = self.ratio.iter().map(|r| format!("\n{r}; {}", r.finding(&self.certificate)));
        let abstains = self.abstained.iter().map(|a| format!("\nthe policy that abstains: {a}"));
        self.certificate.to_string() + &guardrails.chain(ratio).chain(abstains).collect::<String>()
    }

    /// What else the command line says with --json, by name, as JSON.
    #[getter]
    fn also(&self) -> String {
        let mut said = serde_json::Map::new();
        if let Some(ratio) = &self.ratio {
            let mut ratio_said = json!(ratio);
            ratio_said["finding"] = json!(ratio.finding(&self.certificate));
            said.insert("ratio".into(), ratio_said);
        }
        if let Some(found) = &self.abstained {
            said.insert("abstains".into(), json!({"share": found.share, "contexts": found.contexts}));
        }
        Value::Object(said).to_string()
    }

    /// The policy that was certified, where it has a file.
    #[getter]
    fn policy(&self) -> Option<Policy> {
        self.policy.saved().map(|saved| Policy::noting(saved, &[]))
    }

    /// The gain in every segment by a context, as JSON and in words.
    fn by(&self, py: Python<'_>, column: &str) -> PyResult<(String, String)> {
        work::run(py, None, |watch| {
            let engine = watch.engine(self.threads)?;
            let (valid, test) = (self.parts.valid.on(&engine), self.parts.test.on(&engine));
            let found = segments(&*self.policy, &valid, &test, column, &self.certificate.terms)?;
            Ok((serde_json::to_string(&found).unwrap_or_default(), found.to_string()))
        })
    }

    /// The report, a page of HTML, with or without some rows of the log as they are.
    fn page(&self, py: Python<'_>, with_rows: bool) -> PyResult<String> {
        work::run(py, None, |watch| {
            let evidence = Evidence {
                engine: &watch.engine(self.threads)?,
                log: &self.heading,
                parts: &self.parts,
                policy: &*self.policy,
                certificate: &self.certificate,
                recipe: self.recipe.as_ref(),
                selected: self.selected.as_ref(),
                name: self.name.clone(),
                split: self.split.clone(),
                seed: self.certificate.terms.seed,
                detail: if with_rows { Detail::Rows } else { Detail::Aggregates },
            };
            Ok(policy_page(&explain_policy(&evidence)?))
        })
    }
}

/// The column of a guardrail, and whether it is a reward or a cost.
#[pyfunction]
pub(crate) fn guardrail(rule: &str) -> PyResult<(String, &'static str)> {
    let g: Guardrail = rule.parse().map_err(|e: Error| Fault::from(e))?;
    Ok((g.column, if g.direction == Outcome::Reward { "reward" } else { "cost" }))
}

/// What is asked of a certificate beside its terms.
#[derive(FromPyObject)]
pub(crate) struct Beside<'py> {
    /// Rules, each with the log that has its column as the outcome.
    guardrails: Vec<(String, PyRef<'py, Log>)>,
    /// The log that has the column below the line of a ratio as its outcome.
    per: Option<PyRef<'py, Log>>,
    /// Certify the policy that abstains where the log does not support this one.
    abstain: bool,
    /// What the log did, for abstaining; without it, it is fitted on the train part.
    logging: Option<PyRef<'py, Policy>>,
}

/// Certifies a policy.
#[pyfunction]
pub(crate) fn certify(
    py: Python<'_>,
    policy: Brought<'_>,
    log: &Log,
    terms: &str,
    seed: u64,
    threads: usize,
    beside: Beside<'_>,
) -> PyResult<Certified> {
    let (policy, terms) = (target(&policy, log)?, grammar::terms(terms, seed)?);
    let guards = guards(&beside.guardrails)?;
    let below = beside.per.map(|other| other.log.clone());
    let (abstains, logging) = (beside.abstain, beside.logging.map(|p| p.saved.clone()));
    work::run(py, None, |watch| {
        let engine = watch.engine(threads)?;
        let parts = Arc::new(log.parts(seed)?);
        let found = match abstains {
            true => Some(abstaining(&*policy, logging.as_deref(), (&parts, seed), &engine)?),
            false => None,
        };
        let policy = match &found {
            Some(found) => Arc::new(SavedPolicy::from(found.policy.clone())),
            None => policy,
        };
        let mut made = Certified::issue(log, policy, parts, &terms, (&engine, threads))?;
        made.abstained = found;
        if let Some(below) = &below {
            made = made.divided_by(below, log, &engine)?;
        }
        if guards.is_empty() { Ok(made) } else { made.guarded_by(&guards, log, &engine) }
    })
}

/// The policy that does what the log did where the log does not support this one.
fn abstaining(
    policy: &dyn TargetPolicy,
    logging: Option<&SavedPolicy>,
    (parts, seed): (&Parts, u64),
    engine: &Engine,
) -> Result<Abstained> {
    let Some(new) = policy.saved() else {
        return Err(Error::policy(
            "a policy that is known at the rows of the log alone cannot abstain in other contexts",
        )
        .hint("abstain= needs a policy of ours: a fitted learner, a Policy or a policy file"));
    };
    let logging = match logging {
        Some(given) => given.clone(),
        None => logging_policy(&parts.train.on(engine), seed)?.into(),
    };
    abstain(&new, &logging, &parts.valid.on(engine))
}

/// Rules and the rows with their columns as the outcome.
pub(crate) type Guards = Vec<(Guardrail, Arc<counterpoint::Log>)>;

/// Rules as they are written, with their logs.
pub(crate) fn guards(given: &[(String, PyRef<'_, Log>)]) -> PyResult<Guards> {
    let parsed = |(rule, other): &(String, PyRef<'_, Log>)| Ok((rule.parse()?, other.log.clone()));
    Ok(given.iter().map(parsed).collect::<Result<Vec<_>>>().map_err(Fault::from)?)
}

/// Certifies several policies together, so that luck among many is accounted for.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    policies: Vec<Brought<'_>>,
    log: &Log,
    terms: &str,
    seed: u64,
    threads: usize,
) -> PyResult<Vec<Certified>> {
    let policies = policies.iter().map(|p| target(p, log)).collect::<std::result::Result<Vec<_>, Fault>>()?;
    let terms = grammar::terms(terms, seed)?;
    work::run(py, None, |watch| {
        let engine = watch.engine(threads)?;
        let parts = Arc::new(log.parts(seed)?);
        let all: Vec<&dyn TargetPolicy> = policies.iter().map(|p| &**p).collect();
        let certificates = certify_several(&all, &parts.valid.on(&engine), &parts.test.on(&engine), &terms)?;
        let made = certificates.into_iter().zip(&policies);
        Ok(made.map(|(c, p)| Certified::of(log, p.clone(), parts.clone(), c, threads)).collect())
    })
}

/// What a log holds, as JSON and in words.
#[pyfunction]
pub(crate) fn describe(py: Python<'_>, log: &Log) -> PyResult<(String, String)> {
    work::run(py, None, |watch| {
        let facts = counterpoint::describe(&log.log.on(&watch.engine(0)?))?;
        Ok((serde_json::to_string(&facts).unwrap_or_default(), facts.to_string()))
    })
}

/// The report on a log, a page of HTML.
#[pyfunction]
pub(crate) fn describe_page(py: Python<'_>, log: &Log) -> PyResult<String> {
    work::run(py, None, |watch| {
        let facts = counterpoint::describe(&log.log.on(&watch.engine(0)?))?;
        Ok(log_page(&explain_log(&log.log, &log.name, &facts)))
    })
}
