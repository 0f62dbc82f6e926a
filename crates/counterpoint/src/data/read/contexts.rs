//! Rows that have contexts and nothing else: what a policy is asked about.

use super::super::check::{Checker, Chunk, Context, Values};
use super::super::gather::Expansion;
use super::super::input::Input;
use super::super::log::Dropped;
use super::super::table::Column;
use super::open::{Batch, Batches, Pieces};
use super::{Decoded, cells, decode, find::find, spread, unique};
use crate::error::{Error, Hint, Result};
use arrow_array::{Array, ArrayRef, RecordBatch};
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

    /// The id of row i in words, if a column of ids was asked for.
    pub fn id(&self, i: usize) -> Option<String> {
        self.ids.as_ref().map(|ids| match ids {
            Column::Numbers(v) => v[i].to_string(),
            Column::Integers(v) => v[i].to_string(),
            Column::Words(v) => v[i].clone(),
        })
    }

    /// Keeps these rows alone, by their places in the batch.
    pub fn keep(&mut self, places: &[usize]) {
        self.rows = places.iter().map(|&i| self.rows[i]).collect();
        self.x.iter_mut().for_each(|c| *c = places.iter().map(|&i| c[i]).collect());
        self.ids = self.ids.take().map(|ids| match ids {
            Column::Numbers(v) => Column::Numbers(places.iter().map(|&i| v[i]).collect()),
            Column::Integers(v) => Column::Integers(places.iter().map(|&i| v[i]).collect()),
            Column::Words(v) => Column::Words(places.iter().map(|&i| v[i].clone()).collect()),
        });
    }
}

/// From batches in memory or of files to contexts, by the encoding of a policy; see [`ContextDecoder::decode`].
pub struct ContextDecoder {
    names: Vec<String>,
    id: bool,
    checker: Checker,
    expansion: Expansion,
    /// Rows of the present file, and of all, that came earlier.
    before: usize,
    seen: u64,
}

/// Batches of contexts; see [`read_contexts`].
pub struct ContextReader {
    files: Pieces,
    decoder: ContextDecoder,
    open: Option<Batches>,
    index: usize,
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
    let decoder = ContextDecoder::new(options, id)?;
    Ok(ContextReader { files, decoder, open: None, index: 0, failed: false })
}

impl ContextReader {
    /// Rows left out so far.
    pub fn dropped(&self) -> Dropped {
        self.decoder.dropped()
    }

    fn step(&mut self) -> Result<Option<ContextBatch>> {
        loop {
            let Some(piece) = self.files.pieces.get(self.index) else { return Ok(None) };
            let names = &self.decoder.names;
            let batches = match &mut self.open {
                Some(batches) => batches,
                closed => {
                    closed.insert(self.files.open(self.index, &unique(names)).map_err(|e| piece.blame(needed(e)))?)
                }
            };
            let Some(batch) = batches.next() else {
                (self.open, self.index, self.decoder.before) = (None, self.index + 1, 0);
                continue;
            };
            let batch = batch.map_err(|e| piece.blame(e))?;
            let name = piece.name();
            return self.decoder.convert(&batch, Some(&name)).map(Some);
        }
    }
}

impl ContextDecoder {
    /// Decodes by `options.inputs`, the encoding of a policy; `id` names a column to hand through.
    pub fn new(options: &super::ReadOptions, id: Option<&str>) -> Result<Self> {
        let inputs = options.inputs.as_deref().ok_or_else(|| {
            Error::data("contexts alone are read by the encoding of a policy").hint("set ReadOptions::inputs")
        })?;
        Input::check(inputs)?;
        let contexts: Vec<Context> = inputs.iter().map(Context::of).collect();
        let expansion = Expansion::new(&contexts, |_, _| None);
        let names = inputs.iter().map(Input::name).chain(id).map(String::from).collect();
        let checker = Checker::new(contexts, Vec::new(), options.drop_invalid);
        Ok(ContextDecoder { names, id: id.is_some(), checker, expansion, before: 0, seen: 0 })
    }

    /// The contexts of the next rows, which may have other columns too.
    ///
    /// ```
    /// use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
    /// use counterpoint::data::{ContextDecoder, Input, ReadOptions};
    /// use std::sync::Arc;
    /// let city = Input::Category { name: "city".into(), levels: vec!["Bern".into(), "Rome".into()] };
    /// let inputs = Some(vec![Input::Number { name: "hour".into() }, city]);
    /// let mut decoder = ContextDecoder::new(&ReadOptions { inputs, ..ReadOptions::default() }, None)?;
    /// let batch = RecordBatch::try_from_iter([
    ///     ("city", Arc::new(StringArray::from(vec!["Rome", "Bern"])) as ArrayRef),
    ///     ("hour", Arc::new(Float64Array::from(vec![9.0, 17.0])) as ArrayRef),
    /// ]).unwrap();
    /// let rows = decoder.decode(&batch)?;
    /// assert_eq!(rows.x, [[9.0, 17.0], [0.0, 1.0], [1.0, 0.0]]);
    /// # Ok::<(), counterpoint::Error>(())
    /// ```
    pub fn decode(&mut self, batch: &RecordBatch) -> Result<ContextBatch> {
        let batch = super::batch_of(batch, &unique(&self.names)).map_err(needed)?;
        self.convert(&batch, None)
    }

    /// Rows left out so far.
    pub fn dropped(&self) -> Dropped {
        self.checker.dropped()
    }

    fn convert(&mut self, batch: &Batch, file: Option<&str>) -> Result<ContextBatch> {
        let place = |e: Error| match file {
            Some(file) => e.at(file),
            None => e,
        };
        let mut batch = Batch { rows: batch.rows, columns: spread(batch, &self.names) };
        let id = if self.id { batch.columns.pop() } else { None };
        let words = |c: usize| self.checker.contexts[c].levels.is_some();
        let decoded = decode(&batch, &self.names, words).map_err(place)?;
        let why = |c: usize, row: usize| cells::why(&batch.columns[c], row);
        let columns = decoded.iter().map(Decoded::values).collect();
        let chunk = Chunk { rows: batch.rows, columns, file, before: self.before, why: &why };
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
        let ids = id.map(|array| ids(&array, &keep, self.before)).transpose().map_err(place)?;
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
    match e.remedy().cloned() {
        Some(hint) => e.hint(Hint::from("the policy needs it; ") + hint),
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
