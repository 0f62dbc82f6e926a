//! When rows happened, for logs that are divided by time.

use counterpoint::data::{Column, Part, Store, Table, parts_by_number, parts_by_word};
use counterpoint::{Error, Result};
use std::path::PathBuf;

/// The part of every row of these files by the time in a column; a store knows them.
pub fn parts_of_files(paths: &[PathBuf], time: &str) -> Result<Vec<Part>> {
    if let [path] = paths
        && Store::is_named(path)
    {
        return Store::open(path)?.parts_by_time()?.ok_or_else(|| {
            Error::data("the log was packed without its times")
                .at(path.display().to_string())
                .hint("pack it again with --time")
        });
    }
    let table = Table::read_all(paths, &[time.to_string()])?;
    table.columns.into_iter().next().map_or(Ok(Vec::new()), |(_, times)| parts_of_times(times, time))
}

/// The part of every row by its time, numbers or words that sort as they should.
pub fn parts_of_times(times: Column, name: &str) -> Result<Vec<Part>> {
    let parts = match &times {
        Column::Numbers(v) => parts_by_number(v),
        Column::Integers(v) => parts_by_number(&v.iter().map(|t| *t as f64).collect::<Vec<_>>()),
        Column::Words(v) => parts_by_word(v),
    };
    parts.map_err(|e| e.at(format!("column {name:?}")))
}
