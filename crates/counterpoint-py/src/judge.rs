//! What a log holds, what a policy would have earned, and whether that may be believed.

use crate::errors::Fault;
use crate::grammar;
use crate::log::Log;
use crate::target::{Brought, target};
use crate::work;
use counterpoint::certify::{
    Certificate, GuardedCertificate, Guardrail, Terms, certify as certify_one, certify_several, guard, segments,
};
use counterpoint::data::{Outcome, Parts};
use counterpoint::explain::{Detail, Evidence, explain_log, explain_policy};
use counterpoint::policy::TargetPolicy;
use counterpoint::select::Selected;
use counterpoint::{Engine, Error, Recipe, Result, Source};
use counterpoint_report::{log_page, policy_page};
use pyo3::prelude::*;
use serde::Serialize;
use std::sync::Arc;

/// A certificate, and the rows it was given on, so that a report can be made of them.
#[pyclass(frozen, module = "counterpoint._counterpoint")]
pub(crate) struct Certified {
    certificate: Certificate,
    guarded: Option<GuardedCertificate>,
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
            if other.dropped() != log.log.dropped() {
                return Err(Error::data("other rows have an unusable value in this column than in the outcome")
                    .at(format!("guardrail {:?}", g.column))
                    .hint("clean the log first, so that all outcomes are those of the same rows"));
            }
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
        self.certificate.to_string() + &guardrails.collect::<String>()
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

    /// The report, a page of HTML.
    fn page(&self, py: Python<'_>) -> PyResult<String> {
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
                detail: Detail::Aggregates,
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

/// Certifies a policy; guardrails are rules, each with the log that has its column as the outcome.
#[pyfunction]
#[pyo3(signature = (policy, log, terms, seed, threads, guardrails))]
pub(crate) fn certify(
    py: Python<'_>,
    policy: Brought<'_>,
    log: &Log,
    terms: &str,
    seed: u64,
    threads: usize,
    guardrails: Vec<(String, PyRef<'_, Log>)>,
) -> PyResult<Certified> {
    let (policy, terms) = (target(&policy, log)?, grammar::terms(terms, seed)?);
    let guards = guards(&guardrails)?;
    work::run(py, None, |watch| {
        let engine = watch.engine(threads)?;
        let made = Certified::issue(log, policy, Arc::new(log.parts(seed)?), &terms, (&engine, threads))?;
        made.guarded_by(&guards, log, &engine)
    })
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
