//! From files to a store, batch by batch: what is read is written, and nothing else is kept.

use super::super::checksum::Checksum;
use super::super::config::LogConfig;
use super::super::log::Dropped;
use super::super::split::Part;
use super::super::store::{Last, Numbers, Shape, SourceFile, State, Writer};
use super::collect::Collector;
use super::find::{Piece, find};
use super::open::Pieces;
use super::remote::{self, is_remote};
use super::stdin::is_stdin;
use super::{ReadOptions, columns, unique};
use crate::error::{Error, Result};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// How a log is packed; see [`pack`].
#[derive(Clone, Debug, PartialEq)]
pub struct Packing {
    /// Whether the store is new, or rows are added to one that is there.
    pub into: Into,
    /// Skip and count rows with an unusable value instead of refusing the log.
    pub drop_invalid: bool,
    /// Rows between the points from which an interrupted packing goes on.
    pub checkpoint: u64,
    /// The part of every row by its number, where the log is divided by time.
    pub parts: Option<Vec<Part>>,
    /// In what precision numbers are held. A store that is there keeps its own, and cannot be asked for less.
    pub numbers: Numbers,
}

/// What rows are packed into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Into {
    /// A new store, in the place of what is there; if the same packing was interrupted, it goes on.
    New,
    /// A store that is there: new rows come after its own.
    Old,
}

impl Default for Packing {
    fn default() -> Self {
        Packing { into: Into::New, drop_invalid: false, checkpoint: 1 << 20, parts: None, numbers: Numbers::F64 }
    }
}

/// What was packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Rows that the store holds.
    pub rows: u64,
    /// Of these, rows that were there already: of the store, or of an interrupted packing.
    pub before: u64,
    /// Rows that were left out.
    pub dropped: Dropped,
}

/// Packs a log into a store: blocks on disk, written once in bounded memory, that every reader takes where it takes a log.
///
/// A new store appears under its name when it is whole. Until then it grows in a file beside it, whose name ends in `.part`; the same call
/// goes on from the last point at which it was whole, if its sources have not changed. Rows are added to a store
/// ([`Into::Old`]) all or none. `watch` is told the number of rows now and then.
///
/// ```
/// use counterpoint::data::{LogConfig, Packing, ReadOptions, pack, read_log};
/// let dir = std::env::temp_dir().join(format!("pack-{}", std::process::id()));
/// std::fs::create_dir_all(&dir).unwrap();
/// let (csv, cps) = (dir.join("log.csv"), dir.join("log.cps"));
/// std::fs::write(&csv, "hour,bid,sales,density\n9,1.0,0,0.4\n14,1.5,2,0.3\n").unwrap();
/// let columns = "context = \"hour\"\naction = \"bid\"\nreward = \"sales\"\npropensity = \"density\"\n";
/// let config = LogConfig::from_toml(columns)?;
/// pack(&[&csv], &config, &cps, &Packing::default(), &|_| {})?;
/// let [a, b] = [&csv, &cps].map(|file| read_log(&[file], &config.roles(), &ReadOptions::default()));
/// assert_eq!(a?.blocks(), b?.blocks());
/// # std::fs::remove_dir_all(&dir).unwrap();
/// # Ok::<(), counterpoint::Error>(())
/// ```
pub fn pack<P: AsRef<Path>>(
    paths: &[P],
    config: &LogConfig,
    to: impl AsRef<Path>,
    packing: &Packing,
    watch: &dyn Fn(u64),
) -> Result<Packed> {
    let to = to.as_ref();
    let mut config = LogConfig { path: None, ..config.clone() };
    if config.has_patterns() {
        config.expand(&columns(paths)?)?;
    }
    let files = Pieces::new(find(paths)?);
    let sources = files.pieces.iter().map(source).collect::<Result<Vec<_>>>()?;
    let given: Vec<String> = paths.iter().map(|p| remote::shown(p.as_ref())).collect();
    let fresh = State::new(&config, packing.drop_invalid, packing.numbers, given);
    let growing = match packing.into {
        Into::New => part_of(to),
        Into::Old => to.to_path_buf(),
    };
    let (mut writer, last) = match packing.into {
        Into::New => begin(&growing, fresh, &sources)?,
        Into::Old => extend(to, fresh, &sources)?,
    };
    let from = match packing.into {
        Into::New => 0,
        Into::Old => writer.state.sources.len(),
    };
    let before = writer.state.rows + last.as_ref().map_or(0, |(b, _)| b.rows() as u64);
    let filled = fill(&mut writer, last, (&files, &sources, from), packing, watch);
    if filled.is_err() && packing.into == Into::New && !writer.is_published() {
        // nothing to go on from
        let _ = std::fs::remove_file(&growing);
    }
    let (rows, dropped) = filled?;
    if packing.into == Into::New {
        std::fs::rename(&growing, to).map_err(|e| Error::io(to, e))?;
    }
    Ok(Packed { rows, before, dropped })
}

/// Where a store grows that is not whole.
fn part_of(to: &Path) -> PathBuf {
    let mut name = to.file_name().unwrap_or_default().to_os_string();
    name.push(".part");
    to.with_file_name(name)
}

/// A new store, or one whose packing was interrupted, if it was the same packing.
fn begin(path: &Path, fresh: State, sources: &[SourceFile]) -> Result<(Writer, Last)> {
    if path.is_file()
        && let Ok((writer, last)) = Writer::open(path)
    {
        let old = &writer.state;
        let same = (&old.writer, &old.config, old.drop_invalid, &old.given, old.numbers)
            == (&fresh.writer, &fresh.config, fresh.drop_invalid, &fresh.given, fresh.numbers);
        let unchanged = old.sources.len() <= sources.len() && old.sources.iter().zip(sources).all(|(a, b)| a.same(b));
        if same && unchanged && old.divided.is_none() {
            return Ok((writer, last));
        }
    }
    Ok((Writer::create(path, fresh)?, None))
}

/// A store that is there, for more rows of the same columns.
fn extend(path: &Path, fresh: State, sources: &[SourceFile]) -> Result<(Writer, Last)> {
    let (mut writer, last) = Writer::open(path)?;
    let place = |e: Error| e.at(path.display().to_string());
    let old = &mut writer.state;
    if old.config()?.roles() != LogConfig::from_toml(&fresh.config)?.roles() {
        return Err(place(Error::data("it was packed with other columns"))
            .hint("leave the columns out, for the store knows its own"));
    }
    let read = LogConfig::from_toml(&fresh.config)?;
    let known = old.config()?;
    let sorted = |c: &LogConfig| c.categorical.clone().unwrap_or_default().into_iter().collect::<BTreeSet<_>>();
    if sorted(&read) != sorted(&known) || read.missing.unwrap_or_default() != known.missing.unwrap_or_default() {
        return Err(place(Error::data("its contexts were packed in another way (categories, missing values)"))
            .hint("leave these flags out, for the store knows its own; or pack all files together again"));
    }
    if fresh.numbers == Numbers::F32 && old.numbers == Numbers::F64 {
        return Err(place(Error::data("it holds numbers in double precision"))
            .hint("rows that are added are held as the others are; pack all files again for single precision"));
    }
    if old.divided.is_some() {
        return Err(place(Error::data("it is divided by time, and later rows would move its parts"))
            .hint("pack all files together again"));
    }
    if let Some(twice) = sources.iter().find(|s| old.sources.iter().any(|o| o.same(s))) {
        return Err(Error::data("it is in the store already, so its rows would count twice")
            .at(twice.name.clone())
            .hint("add each file once"));
    }
    old.given.extend(fresh.given);
    old.drop_invalid |= fresh.drop_invalid;
    Ok((writer, last))
}

/// Reads what is not yet in the store, and publishes it; `from` is the place of the first file among the sources of the store.
fn fill(
    writer: &mut Writer,
    last: Last,
    (files, sources, from): (&Pieces, &[SourceFile], usize),
    packing: &Packing,
    watch: &dyn Fn(u64),
) -> Result<(u64, Dropped)> {
    let config = writer.state.config()?;
    let options = ReadOptions {
        drop_invalid: packing.drop_invalid,
        categorical: config.categorical.clone().unwrap_or_default(),
        missing: config.missing.unwrap_or_default(),
        ..ReadOptions::default()
    };
    let mut collector = Collector::new(&config.roles(), &options)?;
    if !writer.state.contexts.is_empty() || writer.state.seen > 0 {
        let State { seen, dropped, .. } = &writer.state;
        collector.go_on(writer.state.layout()?, |rows| rows.resume(*seen, dropped, writer.blocks(), last))?;
    }
    // killed between its last point and its name: it is whole, and another point would be other bytes
    let held = &writer.state.sources;
    let whole = packing.into == Into::New && held.len() == sources.len() && held.iter().all(|s| s.whole);
    let mut since = 0;
    for (index, piece) in files.pieces.iter().enumerate() {
        let known = writer.state.sources.get(from + index).map_or((0, false), |s| (s.rows, s.whole));
        if known.1 {
            continue;
        }
        writer.state.sources.truncate(from + index);
        writer.state.sources.push(SourceFile { rows: known.0, ..sources[index].clone() });
        let batches = files.open(index, &unique(&collector.columns)).map_err(|e| piece.blame(e))?;
        let typed = batches.typed.clone();
        let mut read = 0u64;
        for batch in batches {
            let batch = batch.map_err(|e| piece.blame(e))?;
            let before = read;
            read += batch.rows as u64;
            if read <= known.0 {
                continue; // it is in the store
            }
            collector.add(&batch, &typed, Some(&piece.name()), before as usize)?;
            writer.state.sources[from + index].rows = read;
            write(writer, &mut collector)?;
            since += batch.rows as u64;
            if since >= packing.checkpoint && packing.into == Into::New {
                since = 0;
                publish(writer, &collector)?;
                watch(writer.state.seen);
            }
        }
        writer.state.sources[from + index].whole = true;
    }
    let Some(rows) = &collector.log else {
        return Err(
            Error::data("the log has no rows").hint("there is a header and nothing below it: is it the right file?")
        );
    };
    let (_, seen, dropped, last, _) = rows.progress();
    if writer.state.rows == 0 && last.is_none() {
        return Err(
            Error::data(format!("all {seen} rows have an unusable value")).hint(format!("unusable values: {dropped}"))
        );
    }
    if let Some(parts) = &packing.parts {
        if parts.len() as u64 != seen {
            return Err(Error::data(format!("there are {seen} rows and the parts of {}", parts.len())));
        }
        writer.divide(parts)?;
    }
    let held = writer.state.rows + last.map_or(0, |b| b.rows() as u64);
    if !(whole && writer.is_published()) {
        publish(writer, &collector)?;
    }
    Ok((held, dropped))
}

/// Writes the blocks that are full.
fn write(writer: &mut Writer, collector: &mut Collector) -> Result<()> {
    let Some(rows) = &mut collector.log else { return Ok(()) };
    let full = rows.take_full()?;
    let shape = Shape::of(&collector.layout, writer.state.numbers);
    full.iter().try_for_each(|(block, parts)| writer.put(block, parts, shape))
}

/// Makes what was read the contents of the store.
fn publish(writer: &mut Writer, collector: &Collector) -> Result<()> {
    let Some(rows) = &collector.log else { return Ok(()) };
    let (contexts, seen, dropped, last, parts) = rows.progress();
    writer.state.learn(contexts);
    (writer.state.seen, writer.state.dropped) = (seen, dropped);
    writer.publish(last.map(|b| (b, parts)), Shape::of(&collector.layout, writer.state.numbers))
}

/// How much of a file's beginning and end its fingerprint knows.
const ENDS: u64 = 1 << 16;

/// A file as a source: its length, and a checksum of its beginning and its end.
fn source(piece: &Piece) -> Result<SourceFile> {
    if is_stdin(&piece.path) {
        return Ok(SourceFile { name: "-".into(), bytes: 0, checksum: String::new(), rows: 0, whole: false });
    }
    if is_remote(&piece.path) {
        let object = remote::Object::open(&piece.path).map_err(|e| piece.blame(e))?;
        let checksum = Checksum::of(object.tag().as_bytes()).to_string();
        return Ok(SourceFile { name: piece.name(), bytes: object.size(), checksum, rows: 0, whole: false });
    }
    let io = |e| Error::io(&piece.path, e);
    let mut file = File::open(&piece.path).map_err(io)?;
    let bytes = file.metadata().map_err(io)?.len();
    let mut ends = Vec::new();
    (&file).take(ENDS).read_to_end(&mut ends).map_err(io)?;
    file.seek(SeekFrom::Start(bytes.saturating_sub(ENDS))).map_err(io)?;
    file.take(ENDS).read_to_end(&mut ends).map_err(io)?;
    let checksum = Checksum::of(&ends).to_string();
    Ok(SourceFile { name: piece.name(), bytes, checksum, rows: 0, whole: false })
}
