//! When rows happened, for logs that are divided by time.

use counterpoint::data::{Column, Part, Store, Table, files_of, parts_by_number, parts_by_word};
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
    let mut parts = Times::None;
    for file in files_of(paths)? {
        let table = Table::read(&file, &[time.to_string()])?;
        parts.add(table.columns.into_iter().next().map(|c| c.1), time)?;
    }
    parts.parts(time)
}

/// The part of every row by its time, numbers or words that sort as they should.
pub fn parts_of_times(times: Column, name: &str) -> Result<Vec<Part>> {
    let mut all = Times::None;
    all.add(Some(times), name)?;
    all.parts(name)
}

/// The times of all rows.
enum Times {
    None,
    Numbers(Vec<f64>),
    Words(Vec<String>),
}

impl Times {
    fn add(&mut self, column: Option<Column>, time: &str) -> Result<()> {
        match (&mut *self, column) {
            (_, None) => {}
            (Times::None, Some(Column::Numbers(v))) => *self = Times::Numbers(v),
            (Times::None, Some(Column::Words(v))) => *self = Times::Words(v),
            (Times::Numbers(all), Some(Column::Numbers(v))) => all.extend(v),
            (Times::Words(all), Some(Column::Words(v))) => all.extend(v),
            _ => {
                return Err(Error::data("it is numbers in one file and words in another")
                    .at(format!("column {time:?}"))
                    .hint("write times in one way"));
            }
        }
        Ok(())
    }

    fn parts(&self, time: &str) -> Result<Vec<Part>> {
        let place = |e: Error| e.at(format!("column {time:?}"));
        match self {
            Times::Numbers(v) => parts_by_number(v).map_err(place),
            Times::Words(v) => parts_by_word(v).map_err(place),
            Times::None => Ok(Vec::new()),
        }
    }
}
