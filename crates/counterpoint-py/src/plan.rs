//! How many rows a gain needs.

use crate::errors::Fault;
use crate::log::Log;
use crate::target::{Brought, target};
use crate::work;
use counterpoint::Error;
use counterpoint::plan::{PlanTerms, plan as plan_rows};
use pyo3::prelude::*;

/// Plans on the rows of a log, for a policy if there is one: JSON, and words. The terms are JSON.
#[pyfunction]
#[pyo3(signature = (log, policy, terms, threads))]
pub(crate) fn plan(
    py: Python<'_>,
    log: &Log,
    policy: Option<Brought<'_>>,
    terms: &str,
    threads: usize,
) -> PyResult<(String, String)> {
    let terms: PlanTerms = serde_json::from_str(terms).map_err(|e| Fault::from(Error::data(e.to_string())))?;
    let policy = policy.map(|p| target(&p, log)).transpose()?;
    work::run(py, None, |watch| {
        let found = plan_rows(&log.log.on(&watch.engine(threads)?), policy.as_deref(), &terms)?;
        Ok((serde_json::to_string(&found).unwrap_or_default(), found.to_string()))
    })
}
