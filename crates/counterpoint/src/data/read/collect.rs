//! Batches become rows: the first says what the contexts are, all are checked, and the log is what they leave.

use super::super::check::{Chunk, Context, Reason};
use super::super::input::Input;
use super::super::log::Log;
use super::super::rows::{Layout, Rows};
use super::open::{Batch, Typed};
use super::{Decoded, ReadOptions, Roles, cells, contexts_of, decode, spread};
use crate::error::{Error, Result};

/// Batches on their way to a log, whatever they come from.
pub(super) struct Collector<'a> {
    options: &'a ReadOptions,
    pub(super) layout: Layout,
    /// The columns that have a role, in the order of a chunk.
    pub(super) columns: Vec<String>,
    pub(super) log: Option<Rows>,
}

impl<'a> Collector<'a> {
    /// The roles must make sense before any row is read.
    pub(super) fn new(roles: &Roles, options: &'a ReadOptions) -> Result<Self> {
        let contexts: Vec<&str> = match &options.inputs {
            Some(inputs) => inputs.iter().map(Input::name).collect(),
            None => roles.contexts.iter().map(String::as_str).collect(),
        };
        if let Some(stray) = options.categorical.iter().find(|c| !contexts.contains(&c.as_str())) {
            return Err(Error::data("it is named as categorical and is not a context").at(format!("column {stray:?}")));
        }
        let layout = Layout::of(roles, &contexts);
        Rows::new(layout.clone(), false, None)?;
        Ok(Collector { options, columns: layout.columns(), layout, log: None })
    }

    /// Goes on with a log whose contexts are known.
    pub(super) fn go_on(&mut self, layout: Layout, resume: impl FnOnce(Rows) -> Rows) -> Result<()> {
        self.layout = layout;
        self.log = Some(resume(Rows::new(self.layout.clone(), self.options.drop_invalid, None)?));
        Ok(())
    }

    /// Adds a batch of the unique columns; `before` rows of its file came earlier.
    pub(super) fn add(&mut self, batch: &Batch, typed: &[Typed], file: Option<&str>, before: usize) -> Result<()> {
        let batch = Batch { rows: batch.rows, columns: spread(batch, &self.columns) };
        let place = |e: Error| match file {
            Some(file) => e.at(file),
            None => e,
        };
        if self.log.is_none() {
            let names: Vec<&str> = self.columns.iter().take(self.layout.contexts.len()).map(String::as_str).collect();
            self.layout.contexts = match &self.options.inputs {
                Some(inputs) => inputs.iter().map(Context::of).collect(),
                None => {
                    let found = contexts_of(&names, &batch, typed, &self.options.categorical).map_err(&place)?;
                    found.into_iter().map(|c| c.with(self.options.missing)).collect()
                }
            };
            let (drop_invalid, scratch) = (self.options.drop_invalid, self.options.scratch.as_ref());
            let rows = Rows::new(self.layout.clone(), drop_invalid, scratch)?;
            self.log = Some(rows.within(self.options.memory));
        }
        let Some(rows) = &mut self.log else { return Ok(()) };
        let (layout, last) = (&self.layout, self.columns.len());
        // clusters and parts stand last
        let named = usize::from(layout.cluster.is_some()) + usize::from(layout.split.is_some());
        let words = |c: usize| layout.contexts.get(c).map_or(c + named >= last, |x| x.levels.is_some());
        let decoded = decode(&batch, &self.columns, words).map_err(place)?;
        let why = |c: usize, row: usize| -> Option<Reason> { cells::why(&batch.columns[c], row) };
        let values = decoded.iter().map(Decoded::values).collect();
        rows.add(&Chunk { rows: batch.rows, columns: values, file, before, why: &why })
    }

    pub(super) fn finish(self) -> Result<Log> {
        match self.log {
            Some(rows) => rows.finish(),
            None => Err(Error::data("the log has no rows")
                .hint("there is a header and nothing below it: is it the right file?")),
        }
    }
}
