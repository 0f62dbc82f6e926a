//! From files to a log, batch by batch: a log larger than its decoded columns never exists.
//!
//! [`read_log`] decodes a few thousand rows of the columns that have a role, checks them, appends them to the log's
//! blocks, and forgets them. [`read_contexts`] does the same for rows that have contexts only, by the encoding of a
//! policy, and hands them on instead of keeping them. Order is that of the files' paths, and rows are numbered within
//! their file in every message.

mod abreast;
mod cast;
mod cells;
mod collect;
mod comma;
mod contexts;
mod csv;
mod disguise;
pub(super) mod find;
mod ipc;
mod jsonl;
mod open;
mod pack;
mod pages;
mod quotes;
pub(super) mod remote;
mod stdin;
pub(super) mod sums;

pub(super) use cells::spells;
pub use contexts::{ContextBatch, ContextDecoder, ContextReader, read_contexts};
pub(super) use csv::is_formula;
pub use open::decoding;
pub(super) use open::{Batch, columns_hint};
pub use pack::{Into, Packed, Packing, pack};
pub use remote::{CloudSettings, cloud_settings};

use super::check::{Context, Values};
use super::input::{Input, Missing};
use super::log::{Log, Outcome};
use super::propensities::{BareLog, PropensityRole};
use super::scratch::Scratch;
use super::store::{Store, log_of};
use super::table::{Column, Table};
use super::target::TargetColumns;
use crate::error::{Error, Hint, Remedy, Result};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_buffer::ScalarBuffer;
use collect::Collector;
use find::find;
use open::{Pieces, Typed};
use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Which column of a table plays which part in a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Roles {
    /// Contexts.
    pub contexts: Vec<String>,
    /// Actions.
    pub actions: Vec<String>,
    /// The outcome and its direction.
    pub outcome: Option<(String, Outcome)>,
    /// The logging density: a column, or an estimate.
    pub propensity: PropensityRole,
    /// Sampling weights of the rows; see [`Weighting`](crate::data::Weighting).
    pub weight: Option<String>,
    /// How many equal rows each row stands for; takes the place of `weight`.
    pub count: Option<String>,
    /// What rows that belong together share.
    pub cluster: Option<String>,
    /// A policy to be evaluated that stands in columns of the log.
    pub target: Option<TargetColumns>,
    /// train / valid / test.
    pub split: Option<String>,
}

/// How rows are read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadOptions {
    /// Skip and count rows with an unusable value ([`Log::dropped`]) instead of refusing the log.
    pub drop_invalid: bool,
    /// Contexts to read as categories though they are written as numbers.
    pub categorical: Vec<String>,
    /// The encoding of a policy ([`Policy::encoding`](crate::Policy::encoding)): its columns are the contexts, in its
    /// order, and a category it does not know is a bad value. Without it, columns of words become categories.
    pub inputs: Option<Vec<Input>>,
    /// What becomes of a context that is missing. Of a policy's encoding it is known already.
    pub missing: Missing,
    /// Hold the rows, and what is made of them, in scratch files instead of memory.
    pub scratch: Option<Scratch>,
    /// Refuse a log whose rows take more bytes of memory than this.
    pub memory: Option<u64>,
}

/// Reads a log from files, directories (hive-partitioned ones included) and patterns.
///
/// ```no_run
/// use counterpoint::data::{Outcome, ReadOptions, Roles, read_log};
/// let roles = Roles {
///     contexts: vec!["hour".into(), "city".into()],
///     actions: vec!["bid".into()],
///     outcome: Some(("sales".into(), Outcome::Reward)),
///     propensity: "density".into(),
///     ..Roles::default()
/// };
/// let log = read_log(&["logs/day=*/*.parquet"], &roles, &ReadOptions::default())?;
/// # Ok::<(), counterpoint::Error>(())
/// ```
pub fn read_log<P: AsRef<Path>>(paths: &[P], roles: &Roles, options: &ReadOptions) -> Result<Log> {
    if roles.propensity == PropensityRole::Fit {
        return Err(Error::data("a log whose propensities are to be estimated is not a log yet")
            .hint("read it with read_bare_log, then call propensity::fit"));
    }
    collect(paths, roles, options)
}

/// Reads rows without propensities, for [`propensity::fit`](crate::propensity::fit) to estimate them.
///
/// The role must say so. A column that is called `fit` and has no other role is refused: nobody could tell which of the
/// two was meant.
pub fn read_bare_log<P: AsRef<Path>>(paths: &[P], roles: &Roles, options: &ReadOptions) -> Result<BareLog> {
    if let Some(name) = roles.propensity.column() {
        return Err(has_propensities(name, "read_log"));
    }
    let fit = PropensityRole::FIT;
    let outcome = roles.outcome.iter().map(|(n, _)| n);
    let mut used = roles
        .contexts
        .iter()
        .chain(&roles.actions)
        .chain(outcome)
        .chain(&roles.weight)
        .chain(&roles.count)
        .chain(&roles.cluster)
        .chain(&roles.split);
    if !used.any(|n| n == fit) && columns(paths)?.iter().any(|n| n == fit) {
        return Err(Error::data("`fit` asks for estimated propensities, and the log has a column of that name").hint(
            Hint::from("write ")
                + Remedy::PropensityColumn(fit.into())
                + " if the column holds the propensities; otherwise rename or remove the column",
        ));
    }
    collect(paths, roles, options).map(BareLog)
}

fn collect<P: AsRef<Path>>(paths: &[P], roles: &Roles, options: &ReadOptions) -> Result<Log> {
    let mut to = Collector::new(roles, options)?;
    let files = Pieces::new(find(paths)?);
    if let Some(store) = store_of(&files)? {
        return log_of(&store, roles, options);
    }
    for (index, piece) in files.pieces.iter().enumerate() {
        let name = piece.name();
        let mut before = 0;
        let batches = files.open(index, &unique(&to.columns)).map_err(|e| piece.blame(e))?;
        let typed = batches.typed.clone();
        for batch in batches {
            let batch = batch.map_err(|e| piece.blame(e))?;
            to.add(&batch, &typed, Some(&name), before)?;
            before += batch.rows;
        }
    }
    let place = || paths.iter().map(|p| p.as_ref().display().to_string()).collect::<Vec<_>>().join(", ");
    to.finish().map_err(|e| e.at(place()))
}

/// The store among the files, which must be alone.
fn store_of(files: &Pieces) -> Result<Option<Store>> {
    match files.pieces.iter().find(|p| Store::is_named(&p.path)) {
        Some(piece) if files.pieces.len() > 1 => Err(Error::data("a store is a whole log, and there are other files")
            .at(piece.name())
            .hint("name the store alone; files are added to a store by packing them into it")),
        Some(piece) => Store::open(&piece.path).map(Some),
        None => Ok(None),
    }
}

impl Log {
    /// A log from record batches in memory, with the checks of files: columns are found by name in every batch, words become
    /// categories, dates are refused, the first bad row is an error unless such rows are dropped.
    ///
    /// ```
    /// use arrow_array::{ArrayRef, Float64Array, RecordBatch};
    /// use counterpoint::Log;
    /// use counterpoint::data::{Outcome, ReadOptions, Roles};
    /// use std::sync::Arc;
    /// let column = |v: [f64; 3]| Arc::new(Float64Array::from(v.to_vec())) as ArrayRef;
    /// let batch = RecordBatch::try_from_iter([
    ///     ("bid", column([1.0, 1.5, 0.7])), ("sales", column([0.0, 2.0, 0.0])), ("density", column([0.4, 0.3, 0.5])),
    /// ]).unwrap();
    /// let roles = Roles {
    ///     actions: vec!["bid".into()],
    ///     outcome: Some(("sales".into(), Outcome::Reward)),
    ///     propensity: "density".into(),
    ///     ..Roles::default()
    /// };
    /// let log = Log::from_batches([&batch, &batch], &roles, &ReadOptions::default())?;
    /// assert_eq!(log.rows(), 6);
    /// # Ok::<(), counterpoint::Error>(())
    /// ```
    pub fn from_batches<B: Borrow<RecordBatch>>(
        batches: impl IntoIterator<Item = B>,
        roles: &Roles,
        options: &ReadOptions,
    ) -> Result<Log> {
        if roles.propensity == PropensityRole::Fit {
            return Err(Error::data("a log whose propensities are to be estimated is not a log yet")
                .hint("read it with BareLog::from_batches, then call propensity::fit"));
        }
        gather(batches, roles, options)
    }
}

impl BareLog {
    /// Rows without propensities from record batches, as [`Log::from_batches`] reads them, for
    /// [`propensity::fit`](crate::propensity::fit).
    pub fn from_batches<B: Borrow<RecordBatch>>(
        batches: impl IntoIterator<Item = B>,
        roles: &Roles,
        options: &ReadOptions,
    ) -> Result<BareLog> {
        if let Some(name) = roles.propensity.column() {
            return Err(has_propensities(name, "Log::from_batches"));
        }
        gather(batches, roles, options).map(BareLog)
    }
}

fn gather<B: Borrow<RecordBatch>>(
    batches: impl IntoIterator<Item = B>,
    roles: &Roles,
    options: &ReadOptions,
) -> Result<Log> {
    let mut to = Collector::new(roles, options)?;
    let mut before = 0;
    for batch in batches {
        let batch = batch_of(batch.borrow(), &unique(&to.columns))?;
        to.add(&batch, &vec![Typed::File; batch.columns.len()], None, before)?;
        before += batch.rows;
    }
    to.finish()
}

/// These columns of a record batch.
fn batch_of(batch: &RecordBatch, names: &[&str]) -> Result<Batch> {
    let header: Vec<String> = batch.schema().fields().iter().map(|f| f.name().clone()).collect();
    let places = open::wanted(&header, names).map_err(|e| e.hint(open::columns_hint(&header, names)))?;
    Ok(Batch { rows: batch.num_rows(), columns: places.into_iter().map(|i| batch.column(i).clone()).collect() })
}

fn has_propensities(name: &str, reader: &str) -> Error {
    Error::data("it is a column of propensities: there is nothing to estimate")
        .at(format!("column {name:?}"))
        .hint(format!("read it with {reader}"))
}

/// The files that paths, directories and patterns mean, in the order they are read.
pub fn files_of<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<std::path::PathBuf>> {
    Ok(find(paths)?.into_iter().map(|p| p.path).collect())
}

/// Refuses a name that does not end as a format in which tables are written.
pub fn check_format(path: impl AsRef<Path>) -> Result<()> {
    match find::Kind::of(path.as_ref())? {
        find::Kind::Store | find::Kind::Json | find::Kind::JsonGz => Err(not_written(path.as_ref())),
        _ => Ok(()),
    }
}

/// A table under the name of a format that is read only.
pub(super) fn not_written(path: &Path) -> Error {
    Error::data("tables are not written in this format; a store is packed from a log")
        .at(path.display().to_string())
        .hint("use .parquet, .csv, .csv.gz or .arrow")
}

/// The columns of the first file, those its folders give last.
pub fn columns<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<String>> {
    Pieces::new(find(paths)?).columns()
}

impl Table {
    /// Reads the named columns of a file, a directory or a pattern. For logs, [`read_log`] needs less memory and says
    /// more about bad rows.
    pub fn read(path: impl AsRef<Path>, names: &[String]) -> Result<Self> {
        Self::read_all(&[path], names)
    }

    /// The same from several files, directories and patterns, in the order in which a log is read from them; the names of folders are columns.
    pub fn read_all<P: AsRef<Path>>(paths: &[P], names: &[String]) -> Result<Self> {
        let files = Pieces::new(find(paths)?);
        let mut table = Table::default();
        for (index, piece) in files.pieces.iter().enumerate() {
            let batches = files.open(index, &unique(names)).map_err(|e| piece.blame(e))?;
            let typed = batches.typed.clone();
            for batch in batches {
                let batch = batch.map_err(|e| piece.blame(e))?;
                append(&mut table, &batch, &unique(names), &typed).map_err(|e| piece.blame(e))?;
            }
        }
        Ok(table)
    }
}

fn append(table: &mut Table, batch: &Batch, names: &[&str], typed: &[Typed]) -> Result<()> {
    for ((name, array), &typed) in names.iter().zip(&batch.columns).zip(typed) {
        let place = |e: Error| e.at(format!("column {name:?}"));
        let at = table.columns.iter().position(|(n, _)| n == name).unwrap_or_else(|| {
            let empty = if holds_words(array, typed) { Column::Words(Vec::new()) } else { Column::Numbers(Vec::new()) };
            table.columns.push((name.to_string(), empty));
            table.columns.len() - 1
        });
        match &mut table.columns[at].1 {
            Column::Words(to) => {
                to.extend(cells::words(array).map_err(place)?.iter().map(|w| w.unwrap_or_default().to_string()));
            }
            Column::Numbers(to) => {
                let numbers = cells::numbers(array).map_err(place)?;
                if let Some((i, reason)) = cells::misspelt(array, &numbers) {
                    return Err(Error::data(reason.what).at(format!("row {}, column {name:?}", to.len() + i + 1)));
                }
                to.extend_from_slice(&numbers);
            }
            Column::Integers(_) => {} // never made above
        }
    }
    Ok(())
}

/// Each name once, in order.
fn unique<S: AsRef<str>>(names: &[S]) -> Vec<&str> {
    let mut seen = HashSet::new();
    names.iter().map(AsRef::as_ref).filter(|name| seen.insert(*name)).collect()
}

/// The columns of a batch of unique columns, one for each name.
fn spread(batch: &Batch, names: &[String]) -> Vec<ArrayRef> {
    let places: HashMap<&str, usize> = unique(names).into_iter().enumerate().map(|(i, n)| (n, i)).collect();
    names.iter().map(|n| batch.columns[places[n.as_str()]].clone()).collect()
}

/// By the type of a column, or, where it has none, by its cells.
fn holds_words(array: &ArrayRef, typed: Typed) -> bool {
    match typed {
        Typed::No => cells::looks_like_words(array),
        Typed::File | Typed::Folder => cells::is_words(array.data_type()),
    }
}

/// Whether a context holds words. Text of a file that spells a number in every cell is numbers, as in a file without types.
fn is_category(array: &ArrayRef, typed: Typed) -> bool {
    let numbers = || typed == Typed::File && cells::words(array).is_ok_and(|w| cells::all_numbers(&w));
    holds_words(array, typed) && !numbers()
}

/// Numbers or categories, by the first batch. Contexts come first, and each once, so that places agree.
fn contexts_of(names: &[&str], batch: &Batch, typed: &[Typed], categorical: &[String]) -> Result<Vec<Context>> {
    let context = |c: usize| {
        if categorical.iter().any(|n| n == names[c]) {
            return Ok(Context::category(names[c]));
        }
        if !is_category(&batch.columns[c], typed[c]) {
            return Ok(Context::number(names[c]));
        }
        match cells::words(&batch.columns[c]).ok().as_ref().and_then(disguise::disguise) {
            None => Ok(Context::category(names[c])),
            Some(d) => Err(Error::data(format!("it holds {}, which are not read as numbers", d.what))
                .at(format!("column {:?}", names[c]))
                .hint(Hint::from(format!("{}; ", d.remedy)) + Remedy::Categorical + " reads the column as words")),
        }
    };
    (0..names.len()).map(context).collect()
}

/// A column after decoding.
enum Decoded {
    Numbers(ScalarBuffer<f64>),
    Words(StringArray),
}

impl Decoded {
    fn values(&self) -> Values<'_> {
        match self {
            Decoded::Numbers(v) => Values::Numbers(v),
            Decoded::Words(w) => Values::Words(w.iter().map(|w| w.filter(|w| !w.is_empty())).collect()),
        }
    }
}

fn decode(batch: &Batch, names: &[String], words: impl Fn(usize) -> bool) -> Result<Vec<Decoded>> {
    let column = |(c, array): (usize, &ArrayRef)| {
        let decoded = match words(c) {
            true => cells::words(array).map(Decoded::Words),
            false => cells::numbers(array).map(Decoded::Numbers),
        };
        decoded.map_err(|e| e.at(format!("column {:?}", names[c])))
    };
    open::guarded(|| batch.columns.iter().enumerate().map(column).collect())
}
