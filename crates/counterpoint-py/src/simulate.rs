//! Simulated logs as columns.

use crate::errors::Fault;
use counterpoint::Error;
use counterpoint::data::Column;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A log from one of the paper's environments: a dictionary of columns, in the order of the file that `simulate` writes.
#[pyfunction]
pub(crate) fn simulate<'py>(
    py: Python<'py>,
    environment: &str,
    rows: usize,
    seed: u64,
) -> PyResult<(Bound<'py, PyDict>, String)> {
    let drawn = py.detach(|| {
        // threads of its own: those that all share would be gone after a fork
        let pool = rayon::ThreadPoolBuilder::new().build().map_err(|e| Error::data(e.to_string()))?;
        pool.install(|| counterpoint_cli::draw_log(environment, rows, seed))
    });
    let (table, config) = drawn.map_err(Fault::from)?;
    let columns = PyDict::new(py);
    for (name, column) in table.columns {
        match column {
            Column::Numbers(v) => columns.set_item(name, PyArray1::from_vec(py, v))?,
            Column::Integers(v) => columns.set_item(name, PyArray1::from_vec(py, v))?,
            Column::Words(v) => columns.set_item(name, v)?,
        }
    }
    Ok((columns, serde_json::to_string(&config).unwrap_or_default()))
}
