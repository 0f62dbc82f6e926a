//! What a log holds, what a policy would have earned, and whether that may be believed.

use crate::errors::Fault;
use crate::grammar;
use crate::log::Log;
use crate::policy::Policy;
use crate::target::{Brought, logging as logging_policy, target};
use crate::work;
use counterpoint::certify::{Certificate, Terms, certify as certify_one, certify_several, mean_action_value};
use counterpoint::data::{Parts, Schema};
use counterpoint::evaluate::Aids;
use counterpoint::explain::{Detail, EstimatorTable, Evidence, estimator_table, explain_log, explain_policy};
use counterpoint::learn::fit_model;
use counterpoint::policy::TargetPolicy;
use counterpoint::select::Selected;
use counterpoint::{Engine, Error, Recipe, Result};
use counterpoint_report::{log_page, policy_page};
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;

/// A certificate, and the rows it was given on, so that a report can be made of them.
#[pyclass(frozen, module = "counterpoint._counterpoint")]
pub(crate) struct Certified {
    certificate: Certificate,
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
}

#[pymethods]
impl Certified {
    /// The file of the certificate, as the command line writes it.
    #[getter]
    fn json(&self) -> String {
        serde_json::to_string_pretty(&self.certificate).unwrap_or_default() + "\n"
    }

    /// The verdict, its reasons and figures in a few lines.
    #[getter]
    fn words(&self) -> String {
        self.certificate.to_string()
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

/// Certifies a policy.
#[pyfunction]
pub(crate) fn certify(
    py: Python<'_>,
    policy: Brought<'_>,
    log: &Log,
    terms: &str,
    seed: u64,
    threads: usize,
) -> PyResult<Certified> {
    let (policy, terms) = (target(&policy, log)?, grammar::terms(terms, seed)?);
    work::run(py, None, |watch| {
        let engine = watch.engine(threads)?;
        Certified::issue(log, policy, Arc::new(log.parts(seed)?), &terms, (&engine, threads))
    })
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

/// How a policy is evaluated.
#[derive(FromPyObject)]
pub(crate) struct Question {
    /// all, train, valid or test.
    pub(crate) rows: String,
    pub(crate) seed: u64,
    pub(crate) cap: f64,
    pub(crate) model_ridge: f64,
    pub(crate) threads: usize,
}

/// There are no such rows.
pub(crate) fn unknown_rows(name: &str) -> Error {
    Error::data(format!("there are no rows {name:?}")).hint("all, train, valid or test")
}

/// What estimators say, as JSON.
pub(crate) fn estimates(
    table: &EstimatorTable,
    question: &Question,
    mean: Option<impl Serialize>,
    schema: &Schema,
) -> String {
    let sentence = schema.propensities.sentence();
    json!({"table": table, "part": question.rows, "outcome": schema.outcome, "mean_action": mean,
        "direction": schema.direction, "notes": sentence.into_iter().collect::<Vec<_>>()})
    .to_string()
}

/// Every estimator's answer, as JSON.
#[pyfunction]
#[pyo3(signature = (policy, log, question, logging))]
pub(crate) fn evaluate(
    py: Python<'_>,
    policy: Brought<'_>,
    log: &Log,
    question: Question,
    logging: Option<&Policy>,
) -> PyResult<String> {
    let (policy, logging) = (target(&policy, log)?, logging_policy(logging)?);
    work::run(py, None, |watch| {
        let engine = watch.engine(question.threads)?;
        let parts = log.parts(question.seed);
        let rows: &counterpoint::Log = match (question.rows.as_str(), &parts) {
            ("all", _) => &log.log,
            ("train", Ok(parts)) => &parts.train,
            ("valid", Ok(parts)) => &parts.valid,
            ("test", Ok(parts)) => &parts.test,
            ("train" | "valid" | "test", Err(_)) => return parts.map(|_| String::new()),
            (other, _) => return Err(unknown_rows(other)),
        };
        // a log too short to divide can still be weighed
        let recipe = Recipe::clp().with_model_ridge(question.model_ridge);
        let model = parts.as_ref().ok().map(|parts| fit_model(&parts.train.on(&engine), &*policy, &recipe));
        let model = model.and_then(Result::ok);
        let aids = Aids { model: model.as_ref(), logging: logging.as_ref() };
        let table = estimator_table(&engine, rows, &*policy, question.cap, aids);
        let mean = match &model {
            Some(model) => mean_action_value(&rows.on(&engine), &*policy, model)?,
            None => None,
        };
        Ok(estimates(&table, &question, mean, rows.schema()))
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
