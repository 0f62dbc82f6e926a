//! The library's error as an exception that carries its place and its remedy.

use counterpoint::Error;
use counterpoint::error::{Kind, Remedy};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// An error of the library on its way to Python.
pub(crate) struct Fault(Error);

/// What a function of this crate returns.
pub(crate) type Answer<T> = Result<T, Fault>;

impl From<Error> for Fault {
    fn from(e: Error) -> Self {
        Fault(e)
    }
}

impl From<Fault> for PyErr {
    fn from(Fault(e): Fault) -> Self {
        Python::attach(|py| raise(py, &e).unwrap_or_else(|failed| failed))
    }
}

/// The exception `counterpoint.errors.Error`, or the kind of it that is meant.
fn raise(py: Python<'_>, e: &Error) -> PyResult<PyErr> {
    let name = match e.kind() {
        Kind::Unsupported => "Unsupported",
        Kind::Io => "FileError",
        _ => "Error",
    };
    let facts = PyDict::new(py);
    facts.set_item("kind", format!("{:?}", e.kind()).to_lowercase())?;
    facts.set_item("row", e.row())?;
    facts.set_item("column", e.column().or_else(|| sought(&e.what())))?;
    facts.set_item("remedy", e.remedy().map(|hint| hint.words(argument)))?;
    let class = py.import("counterpoint.errors")?.getattr(name)?;
    Ok(PyErr::from_value(class.call((e.what(),), Some(&facts))?))
}

/// The column that is not there, where that is what is wrong.
fn sought(what: &str) -> Option<String> {
    let (_, rest) = what.split_once("there is no column \"")?;
    rest.rsplit_once('"').map(|(name, _)| name.to_string())
}

/// What a remedy is called in Python: an argument.
fn argument(remedy: &Remedy) -> String {
    match remedy {
        Remedy::DropInvalid => "drop_invalid=True",
        Remedy::Categorical => "categorical=[...]",
        Remedy::Propensity => "propensity=...",
        Remedy::PropensityColumn(name) => return format!("propensity=\"column:{name}\""),
        Remedy::FitPropensity => "propensity=\"fit\"",
        Remedy::RowWeight => "sample_weight",
        Remedy::Cluster => "cluster=...",
        Remedy::SplitColumn => "split=...",
        Remedy::SameSplit => "the same seed= or split=",
        Remedy::Split => "split=..., or a hash of the rows by seed=,",
        Remedy::Scratch => "scratch=DIRECTORY",
        Remedy::Missing => "missing=\"indicator\"",
        Remedy::TargetDensity => "target_density=...",
        Remedy::TargetAction => "target_action=...",
        Remedy::Resume => "resume=True",
        other => return other.to_string(),
    }
    .into()
}
