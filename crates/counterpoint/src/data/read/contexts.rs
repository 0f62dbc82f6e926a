//! Rows that have contexts and nothing else: what a policy is asked about.

use super::super::check::{Checker, Chunk, Context, Values};
use super::super::input::Input;
use super::super::log::Dropped;
use super::super::rows::Expansion;
use super::super::table::Column;
use super::open::{Batch, Batches, Pieces};
use super::{Decoded, cells, decode, find::find, spread, unique};
use crate::error::{Error, Result};
use arrow_array::{Array, ArrayRef};
use std::path::Path;

/// Some rows of contexts, as a policy wants them.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextBatch {
    /// Row numbers over all files, from 0.
    pub rows: Vec<u64>,
    /// Contexts as numbers, one vector a column, categories as 0/1.
    pub x: Vec<Vec<f64>>,
    /// The ids, if a column of them was asked for: whole numbers stay whole, everything else is words.
    pub ids: Option<Column>,
}

impl ContextBatch {
    /// Context row i, gathered into `out`.
    pub fn context(&self, i: usize, out: &mut [f64]) {
        for (o, column) in out.iter_mut().zip(&self.x) {
            *o = column[i];
        }
    }
}

/// Batches of contexts; see [`read_contexts`].
pub struct ContextReader {
    files: Pieces,
    names: Vec<String>,
    id: bool,
    checker: Checker,
    expansion: Expansion,
    open: Option<Batches>,
    index: usize,
    before: usize,
    seen: u64,
    failed: bool,
}

/// Reads the contexts of a policy from files that need no outcome, no action and no propensity.
///
/// `inputs` is [`Policy::encoding`](crate::Policy::encoding); columns are found by name in whatever order they stand.
/// `id` names a column to hand through. `drop_invalid` skips rows that cannot be used instead of refusing them.
///
/// ```no_run
/// use counterpoint::{Policy, data::{ReadOptions, read_contexts}};
/// let policy = Policy::load("policy.json")?;
/// let options = ReadOptions { inputs: Some(policy.encoding()), ..ReadOptions::default() };
/// let (mut scorer, mut x) = (policy.scorer(), vec![0.0; policy.d()]);
/// for batch in read_contexts(&["new.csv"], &options, Some("user"))? {
///     let batch = batch?;
///     for (i, row) in batch.rows.iter().enumerate() {
///         batch.context(i, &mut x);
///         let (action, log_density) = scorer.sample(&x, 7, *row);
///     }
/// }
/// # Ok::<(), counterpoint::Error>(())
/// ```
pub fn read_contexts<P: AsRef<Path>>(
    paths: &[P],
    options: &super::ReadOptions,
    id: Option<&str>,
) -> Result<ContextReader> {
    let files = Pieces::new(find(paths)?);
    let inputs = options.inputs.as_deref().ok_or_else(|| {
        Error::data("contexts alone are read by the encoding of a policy").hint("set ReadOptions::inputs")
    })?;
    Input::check(inputs)?;
    let contexts: Vec<Context> = inputs.iter().map(Context::of).collect();
    let expansion = Expansion::new(&contexts);
    let names = inputs.iter().map(Input::name).chain(id).map(String::from).collect();
    let checker = Checker::new(contexts, Vec::new(), options.drop_invalid);
    let id = id.is_some();
    let (open, index, before, seen, failed) = (None, 0, 0, 0, false);
    Ok(ContextReader { files, names, id, checker, expansion, open, index, before, seen, failed })
}

impl ContextReader {
    /// Rows left out so far.
    pub fn dropped(&self) -> Dropped {
        self.checker.dropped()
    }

    fn step(&mut self) -> Result<Option<ContextBatch>> {
        loop {
            let Some(piece) = self.files.pieces.get(self.index) else { return Ok(None) };
            let batches = match &mut self.open {
                Some(batches) => batches,
                closed => closed
                    .insert(self.files.open(self.index, &unique(&self.names)).map_err(|e| piece.blame(needed(e)))?),
            };
            let Some(batch) = batches.next() else {
                (self.open, self.index, self.before) = (None, self.index + 1, 0);
                continue;
            };
            let batch = batch.map_err(|e| piece.blame(e))?;
            let batch = Batch { rows: batch.rows, columns: spread(&batch, &self.names) };
            let name = piece.name();
            return self.convert(batch, &name).map(Some);
        }
    }

    fn convert(&mut self, mut batch: Batch, file: &str) -> Result<ContextBatch> {
        let id = if self.id { batch.columns.pop() } else { None };
        let words = |c: usize| self.checker.contexts[c].levels.is_some();
        let decoded = decode(&batch, &self.names, words).map_err(|e| e.at(file.to_string()))?;
        let why = |c: usize, row: usize| cells::why(&batch.columns[c], row);
        let columns = decoded.iter().map(Decoded::values).collect();
        let chunk = Chunk { rows: batch.rows, columns, file: Some(file), before: self.before, why: &why };
        self.checker.check(&chunk)?;
        let keep: Vec<usize> = (0..batch.rows).filter(|&i| !self.checker.bad[i]).collect();
        let mut x: Vec<Vec<f64>> = Vec::new();
        for (c, values) in chunk.columns.iter().enumerate() {
            let mut to = Vec::with_capacity(keep.len());
            match values {
                Values::Numbers(v) => to.extend(keep.iter().map(|&i| v[i])),
                _ => keep.iter().try_for_each(|&i| self.checker.encode(&chunk, c, i..i + 1, &mut to))?,
            }
            x.push(to);
        }
        self.expansion.apply(&mut x, keep.len());
        let ids = id.map(|array| ids(&array, &keep, self.before)).transpose().map_err(|e| e.at(file.to_string()))?;
        let rows = keep.iter().map(|&i| self.seen + i as u64).collect();
        self.before += batch.rows;
        self.seen += batch.rows as u64;
        Ok(ContextBatch { rows, x, ids })
    }
}

impl Iterator for ContextReader {
    type Item = Result<ContextBatch>;
    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let step = self.step();
        self.failed = step.is_err();
        step.transpose()
    }
}

fn needed(e: Error) -> Error {
    match e.remedy().map(str::to_string) {
        Some(hint) => e.hint(format!("the policy needs it; {hint}")),
        None => e,
    }
}

/// By the type of the column alone, so that all batches of a file agree.
fn ids(array: &ArrayRef, keep: &[usize], before: usize) -> Result<Column> {
    if let Some(&i) = keep.iter().find(|&&i| array.is_null(i)) {
        return Err(Error::data("the id is missing")
            .at(format!("row {}", before + i + 1))
            .hint("give every row an id"));
    }
    if let Some(whole) = super::cast::integers(array) {
        return Ok(Column::Integers(keep.iter().map(|&i| whole.value(i)).collect()));
    }
    let words = cells::words(array)?;
    Ok(Column::Words(keep.iter().map(|&i| words.value(i).to_string()).collect()))
}
