//! One file as a stream of batches: only the wanted columns are decoded, in the order they were asked for.

use super::super::input::list;
use super::super::store::{self, Store};
use super::abreast::abreast;
use super::cells::{self, spells};
use super::csv;
use super::find::{Kind, Piece};
use super::ipc;
use super::jsonl;
use super::pages::{self, Checked};
use super::remote::{self, is_remote};
use super::stdin::{self, is_stdin};
use super::sums::{self, Sums};
use crate::error::{Error, Result, nearest};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_schema::{Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::FileMetaData;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows decoded at a time.
pub(super) const BATCH: usize = 16_384;

/// Some rows of the wanted columns.
pub(in super::super) struct Batch {
    pub(in super::super) rows: usize,
    pub(in super::super) columns: Vec<ArrayRef>,
}

/// The batches of a file.
pub(super) struct Batches {
    from: Box<dyn Iterator<Item = Result<Batch>> + Send>,
    /// Where each wanted column comes from.
    sources: Vec<Source>,
    /// What is known of the types of the columns.
    pub(super) typed: Vec<Typed>,
}

/// Where the type of a column comes from.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Typed {
    /// It has none: the columns of a CSV file.
    No,
    /// The file says it.
    File,
    /// The names of all folders together say it.
    Folder,
}

#[derive(Clone)]
enum Source {
    File(usize),
    Folder(Option<String>, Column),
}

#[derive(Clone, Copy, PartialEq)]
enum Column {
    Numbers,
    Words,
}

/// The files of a log, opened one after the other.
pub(super) struct Pieces {
    pub(super) pieces: Vec<Piece>,
    /// What the folders' columns hold: numbers where every value of every file spells one.
    kinds: Vec<Column>,
}

impl Pieces {
    pub(super) fn new(pieces: Vec<Piece>) -> Self {
        let keys = pieces.first().map_or(0, |p| p.keys.len());
        let number = |p: &Piece, k: usize| p.keys[k].1.as_ref().is_none_or(|v| spells(v).is_some());
        let kind = |k| if pieces.iter().all(|p| number(p, k)) { Column::Numbers } else { Column::Words };
        Pieces { kinds: (0..keys).map(kind).collect(), pieces }
    }

    /// Opens a file for the named columns.
    pub(super) fn open(&self, index: usize, names: &[&str]) -> Result<Batches> {
        let piece = &self.pieces[index];
        let folder = |name: &str| piece.keys.iter().position(|(k, _)| k == name);
        let own: Vec<&str> = names.iter().copied().filter(|n| folder(n).is_none()).collect();
        let file = open(piece)?;
        if let Some((key, _)) =
            piece.keys.iter().find(|(k, _)| names.contains(&k.as_str()) && file.header().contains(k))
        {
            return Err(Error::data(format!("column {key:?} is both in the file and in the name of its folder"))
                .hint("rename one of the two"));
        }
        let own_type = if file.typed() { Typed::File } else { Typed::No };
        let typed = names.iter().map(|n| if folder(n).is_some() { Typed::Folder } else { own_type }).collect();
        let mut next = 0;
        let sources = names.iter().map(|n| match folder(n) {
            Some(k) => Source::Folder(piece.keys[k].1.clone(), self.kinds[k]),
            None => {
                next += 1;
                Source::File(next - 1)
            }
        });
        let sources = sources.collect();
        let also: Vec<&str> = piece.keys.iter().map(|(k, _)| k.as_str()).collect();
        let from = file.choose(&own).map_err(|e| match (e.remedy(), also.is_empty()) {
            (Some(hint), false) => {
                let hint = format!("{hint}; of its folders: {}", list(&also));
                e.hint(hint)
            }
            _ => e,
        })?;
        Ok(Batches { from, sources, typed })
    }

    /// All columns of the first file, those of its folders last.
    pub(super) fn columns(&self) -> Result<Vec<String>> {
        let Some(piece) = self.pieces.first() else { return Ok(Vec::new()) };
        let opened = match is_stdin(&piece.path) {
            true => of_stdin(Box::new(Cursor::new(stdin::peek()?))), // who reads the rows reads them from the beginning
            false => open(piece),
        };
        let mut names = opened.map_err(|e| piece.blame(e))?.header();
        names.extend(piece.keys.iter().map(|(k, _)| k.clone()));
        Ok(names)
    }
}

impl Iterator for Batches {
    type Item = Result<Batch>;
    fn next(&mut self) -> Option<Self::Item> {
        let batch = match self.from.next()? {
            Ok(batch) => batch,
            Err(e) => return Some(Err(e)),
        };
        let rows = batch.rows;
        let column = |source: &Source| match source {
            Source::File(i) => batch.columns[*i].clone(),
            Source::Folder(value, Column::Numbers) => {
                let number = value.as_deref().and_then(spells);
                Arc::new(Float64Array::from(vec![number; rows])) as ArrayRef
            }
            Source::Folder(value, Column::Words) => {
                Arc::new(StringArray::from(vec![value.as_deref(); rows])) as ArrayRef
            }
        };
        Some(Ok(Batch { rows, columns: self.sources.iter().map(column).collect() }))
    }
}

/// A file whose columns are known and not yet chosen.
enum Opened {
    Parquet(File, Box<ArrowReaderMetadata>),
    Csv(Box<csv::Cells>),
    Json(Box<jsonl::Lines>),
    Arrow(PathBuf, SchemaRef),
    Store(Box<store::Cells>),
    Remote(Box<remote::Parquet>),
}

fn open(piece: &Piece) -> Result<Opened> {
    let path = &piece.path;
    if is_stdin(path) {
        return of_stdin(stdin::open()?);
    }
    if is_remote(path) {
        return of_remote(path);
    }
    // looked at before it is opened: opening a pipe waits for somebody who writes
    let facts = std::fs::metadata(path).map_err(|e| Error::io(path, e))?;
    if !facts.is_file() {
        return Err(Error::data("it is a pipe or a device, not a file")
            .hint("name - for standard input: it may be CSV or JSON lines, packed with gzip or not"));
    }
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    if facts.len() == 0 {
        return Err(Error::data("the file is empty (0 bytes)").hint("remove it, or write it again"));
    }
    match Kind::of(path)? {
        Kind::Parquet => {
            let facts = pages::facts(&file)?;
            Ok(Opened::Parquet(file, Box::new(facts)))
        }
        Kind::Csv => Ok(Opened::Csv(Box::new(csv::open(Box::new(file))?))),
        Kind::CsvGz => Ok(Opened::Csv(Box::new(csv::open(unpacked(Box::new(file)))?))),
        Kind::Json => Ok(Opened::Json(Box::new(jsonl::open(Box::new(file))?))),
        Kind::JsonGz => Ok(Opened::Json(Box::new(jsonl::open(unpacked(Box::new(file)))?))),
        Kind::Store => Ok(Opened::Store(Box::new(store::Cells::new(Store::open(path)?)))),
        Kind::Arrow => of_arrow(path, file),
    }
}

/// Bytes that can be searched, for Arrow files.
trait Searched: Read + Seek + Send {}
impl<T: Read + Seek + Send> Searched for T {}

fn of_arrow(path: &Path, mut file: impl Searched) -> Result<Opened> {
    guarded(|| ipc::check(&mut file))?;
    let reader = guarded(|| {
        arrow_ipc::reader::FileReader::try_new(BufReader::new(file), None).map_err(|e| {
            broken(e).hint("is the file complete? A stream of Arrow messages must be written as an Arrow file")
        })
    })?;
    Ok(Opened::Arrow(path.to_path_buf(), reader.schema()))
}

fn of_remote(path: &Path) -> Result<Opened> {
    let object = remote::Object::open(path)?;
    match Kind::of(path)? {
        Kind::Parquet => Ok(Opened::Remote(Box::new(remote::Parquet::open(object)?))),
        Kind::Csv => Ok(Opened::Csv(Box::new(csv::open(object.stream())?))),
        Kind::CsvGz => Ok(Opened::Csv(Box::new(csv::open(unpacked(object.stream()))?))),
        Kind::Json => Ok(Opened::Json(Box::new(jsonl::open(object.stream())?))),
        Kind::JsonGz => Ok(Opened::Json(Box::new(jsonl::open(unpacked(object.stream()))?))),
        Kind::Arrow => of_arrow(path, object),
        Kind::Store => Err(Error::data("a store must lie on a disk of this machine")),
    }
}

type Bytes = Box<dyn Read + Send>;

fn unpacked(bytes: Bytes) -> Bytes {
    Box::new(flate2::read::MultiGzDecoder::new(BufReader::new(bytes)))
}

/// CSV or JSON lines, packed or not, by the first bytes.
fn of_stdin(mut from: Bytes) -> Result<Opened> {
    let start = |from: &mut Bytes, n: u64| {
        let mut first = Vec::new();
        from.take(n).read_to_end(&mut first).map(|_| first).map_err(|e| Error::io("-", e))
    };
    let first = start(&mut from, 2)?;
    let packed = first == [0x1f, 0x8b];
    let whole: Bytes = Box::new(Cursor::new(first).chain(from));
    let mut text = if packed { unpacked(whole) } else { whole };
    let first = start(&mut text, 64)?;
    let json = first.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&first).trim_ascii_start().starts_with(b"{");
    let text: Bytes = Box::new(Cursor::new(first).chain(text));
    match json {
        true => Ok(Opened::Json(Box::new(jsonl::open(text)?))),
        false => Ok(Opened::Csv(Box::new(csv::open(text)?))),
    }
}

impl Opened {
    fn header(&self) -> Vec<String> {
        match self {
            Opened::Parquet(_, facts) => facts.schema().fields().iter().map(|f| f.name().clone()).collect(),
            Opened::Csv(c) => c.header().to_vec(),
            Opened::Json(l) => l.header().to_vec(),
            Opened::Arrow(_, schema) => schema.fields().iter().map(|f| f.name().clone()).collect(),
            Opened::Store(cells) => cells.header(),
            Opened::Remote(parquet) => parquet.header(),
        }
    }

    fn typed(&self) -> bool {
        !matches!(self, Opened::Csv(_) | Opened::Json(_))
    }

    fn choose(self, names: &[&str]) -> Result<Box<dyn Iterator<Item = Result<Batch>> + Send>> {
        let header = self.header();
        let chosen = || wanted(&header, names).map_err(|e| e.hint(columns_hint(&header, names)));
        match self {
            Opened::Csv(cells) => Ok(Box::new((*cells).choose(names)?)),
            Opened::Json(lines) => Ok(Box::new((*lines).choose(names)?)),
            Opened::Store(cells) => Ok(Box::new((*cells).choose(names)?)),
            Opened::Parquet(file, facts) => {
                let chosen = chosen()?;
                readable(facts.schema(), &chosen)?;
                let sums = sums_of(facts.metadata().file_metadata(), names);
                if let Some(reader) = abreast(&file, &facts, &chosen)? {
                    return Ok(Box::new(batches(reader, chosen, sums)));
                }
                let mask = ProjectionMask::roots(facts.parquet_schema(), chosen.clone());
                let file = Checked::new(file, chosen.len());
                let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, *facts);
                let reader = guarded(|| builder.with_projection(mask).with_batch_size(BATCH).build().map_err(broken))?;
                Ok(Box::new(batches(reader.map(|b| b.map_err(broken)), chosen, sums)))
            }
            Opened::Remote(parquet) => (*parquet).choose(chosen()?, names),
            Opened::Arrow(path, schema) => {
                let chosen = chosen()?;
                readable(&schema, &chosen)?;
                let mut sorted = chosen.clone();
                sorted.sort_unstable();
                let file: Box<dyn Searched> = match is_remote(&path) {
                    true => Box::new(remote::Object::open(&path)?),
                    false => Box::new(File::open(&path).map_err(|e| Error::io(&path, e))?),
                };
                let reader = guarded(|| {
                    arrow_ipc::reader::FileReader::try_new(BufReader::new(file), Some(sorted)).map_err(broken)
                })?;
                let sums = Sums::new(reader.custom_metadata().get(sums::KEY).map(String::as_str), names);
                Ok(Box::new(batches(reader.map(|b| b.map_err(broken)), chosen, sums)))
            }
        }
    }
}

/// Refuses columns of a type that is not read, before any of them is decoded.
pub(super) fn readable(schema: &Schema, chosen: &[usize]) -> Result<()> {
    chosen.iter().map(|i| schema.field(*i)).try_for_each(|field| {
        cells::readable(field.data_type()).map_err(|e| e.at(format!("column {:?}", field.name())))
    })
}

/// The checksums that a Parquet file of ours has of these columns.
pub(super) fn sums_of(facts: &FileMetaData, names: &[&str]) -> Option<Sums> {
    let ours = facts.created_by() == Some(sums::WRITER);
    let said = facts.key_value_metadata().filter(|_| ours).into_iter().flatten();
    let said = said.filter(|e| e.key == sums::KEY).find_map(|e| e.value.as_deref());
    Sums::new(said, names)
}

/// The chosen columns of every batch, in pieces of [`BATCH`] rows; after an error there are no more.
pub(super) fn batches(
    mut reader: impl Iterator<Item = Result<RecordBatch>> + Send,
    chosen: Vec<usize>,
    mut sums: Option<Sums>,
) -> impl Iterator<Item = Result<Batch>> + Send {
    let mut over = false;
    let mut rest: Option<RecordBatch> = None;
    std::iter::from_fn(move || {
        if over {
            return None;
        }
        let next = match rest.take() {
            Some(batch) => Some(Ok(batch)),
            None => guarded(|| reader.next().transpose()).transpose(),
        };
        let Some(next) = next else {
            over = true;
            return sums.take().and_then(|sums| sums.check().err()).map(Err);
        };
        let batch = next.and_then(|b| {
            let here = b.num_rows().min(BATCH);
            rest = (b.num_rows() > here).then(|| b.slice(here, b.num_rows() - here));
            let batch = guarded(|| Ok(in_order(&b.slice(0, here), &chosen)))?;
            sums.iter_mut().for_each(|sums| sums.add(&batch.columns));
            Ok(batch)
        });
        over = batch.is_err();
        Some(batch)
    })
}

thread_local!(static DECODING: Cell<bool> = const { Cell::new(false) });

/// Whether this thread is in a decoder whose panics are caught and reported as damage to the file. A program that writes panics
/// to a terminal asks, so as not to mention them twice.
pub fn decoding() -> bool {
    DECODING.get()
}

/// Runs a decoder that is not ours: damage that makes it panic is damage like any other.
pub(super) fn guarded<T>(decode: impl FnOnce() -> Result<T>) -> Result<T> {
    let damaged = |_| Err(broken("the file is damaged"));
    let before = DECODING.replace(true);
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(decode)).unwrap_or_else(damaged);
    DECODING.set(before);
    done
}

/// The columns of a batch, which has them in the order of the file, in the order they were asked for.
fn in_order(batch: &RecordBatch, chosen: &[usize]) -> Batch {
    let mut sorted = chosen.to_vec();
    sorted.sort_unstable();
    let rank = |i: &usize| sorted.partition_point(|j| j < i);
    Batch { rows: batch.num_rows(), columns: chosen.iter().map(|i| batch.column(rank(i)).clone()).collect() }
}

/// Where the names stand in a header; a name that is missing or there twice is refused.
pub(super) fn wanted(header: &[String], names: &[&str]) -> Result<Vec<usize>> {
    let asked: HashSet<&str> = names.iter().copied().collect();
    let mut places: HashMap<&str, (usize, usize)> = HashMap::new(); // where first, and how often
    for (i, name) in header.iter().enumerate().filter(|(_, name)| asked.contains(name.as_str())) {
        places.entry(name).or_insert((i, 0)).1 += 1;
    }
    let place = |name: &&str| match places.get(name) {
        Some((place, 1)) => Ok(*place),
        Some(_) => Err(Error::data(format!("there are two columns {name:?}"))),
        None => Err(Error::data(format!("there is no column {name:?}"))),
    };
    names.iter().map(place).collect()
}

/// The columns there are, and the one that was perhaps meant.
pub(in super::super) fn columns_hint(header: &[String], names: &[&str]) -> String {
    let mut times: HashMap<&str, usize> = HashMap::new();
    header.iter().for_each(|h| *times.entry(h).or_default() += 1);
    let missing = names.iter().find(|n| !times.contains_key(*n));
    let twice = names.iter().find(|n| times.get(*n).is_some_and(|t| *t > 1));
    let near = missing.and_then(|n| nearest(n, header));
    let all = list(header);
    match (twice, near) {
        (Some(_), _) if missing.is_none() => format!("rename one of them; the columns are: {all}"),
        (_, Some(near)) => format!("did you mean {near:?}? the columns are: {all}"),
        _ => format!("the columns are: {all}"),
    }
}

pub(super) fn broken(e: impl std::fmt::Display) -> Error {
    let text = e.to_string();
    let plain = ["Parquet error: ", "Parser error: ", "Ipc error: "].iter().find_map(|p| text.strip_prefix(p));
    Error::data(plain.unwrap_or(&text)).hint("is the file complete, and of the format its name says?")
}
