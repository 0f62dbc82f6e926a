//! The native part of the Python package: Python's tables, policies and errors on one side, the library on the other.
//!
//! Nothing is computed here. A table becomes record batches (`table`), these a log by the library's own reader (`log`); work
//! runs on a thread of its own without the interpreter's lock, and is asked to stop when Python is interrupted (`work`). Results
//! cross as JSON, written by the library, and become objects in `python/counterpoint`.

mod cluster;
mod errors;
mod evaluate;
mod grammar;
mod judge;
mod learn;
mod log;
mod monitor;
mod plan;
mod policy;
mod simulate;
mod table;
mod target;
mod work;

use pyo3::prelude::*;

/// The module `counterpoint._counterpoint`.
#[pymodule]
mod _counterpoint {
    use super::*;

    #[pymodule_export]
    use super::cluster::{Cluster, RemoteCertificate, Shard};
    #[pymodule_export]
    use super::evaluate::evaluate;
    #[pymodule_export]
    use super::grammar::{recipe_fields, recipe_grammar};
    #[pymodule_export]
    use super::judge::{Certified, certify, compare, describe, describe_page, guardrail};
    #[pymodule_export]
    use super::learn::{Learned, learn, select};
    #[pymodule_export]
    use super::log::{Log, likely_cluster, log_config, names_an_id};
    #[pymodule_export]
    use super::monitor::{monitor, monitor_load, monitor_look, monitor_merge, monitor_save};
    #[pymodule_export]
    use super::plan::plan;
    #[pymodule_export]
    use super::policy::Policy;
    #[pymodule_export]
    use super::simulate::simulate;

    /// The command line with these arguments; the exit code.
    #[pyfunction]
    fn run(py: Python<'_>, arguments: Vec<String>) -> u8 {
        py.detach(|| counterpoint_cli::run(arguments))
    }

    #[pymodule_init]
    fn init(m: &Bound<'_, PyModule>) -> PyResult<()> {
        work::be_quiet_about_damage();
        counterpoint_cli::use_environment();
        m.add("__version__", env!("CARGO_PKG_VERSION"))?;
        m.add("program", counterpoint_cli::program())?;
        m.add("instructions", ::counterpoint::folds::instruction_set().to_string())
    }
}
