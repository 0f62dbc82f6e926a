//! Opening a store: nothing it says of itself is believed before it is checked, and no memory is taken on its word.

use super::super::block_builder::BlockBuilder;
use super::super::checksum::Checksum;
use super::super::config::LogConfig;
use super::super::input::Missing;
use super::super::log::{BLOCK_ROWS, Block};
use super::super::read::ReadOptions;
use super::super::rows::Layout;
use super::super::scratch::Mapped;
use super::super::split::Part;
use super::super::target::TargetColumns;
use super::block::{Shape, decode, part};
use super::state::{Slot, State};
use super::{FIRST, HEADER, LINE, MAGIC, Numbers, ONES, SLOT, SLOTS, VERSION, ZEROS, damaged};
use crate::engine::Placed;
use crate::error::{Error, Result};
use rayon::prelude::*;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Blocks that are checked side by side.
const AT_ONCE: usize = 4096;

/// A log that was packed: its blocks in a file, mapped into memory.
///
/// Readers take the file wherever they take a log ([`read_log`](super::super::read_log)); this is what it says of itself.
pub struct Store {
    pub(super) path: PathBuf,
    pub(super) state: State,
    pub(super) map: Mapped,
}

impl Store {
    /// Whether a path has the name of a store, and not that of another format.
    pub fn is_named(path: impl AsRef<Path>) -> bool {
        path.as_ref().extension().is_some_and(|e| e.eq_ignore_ascii_case("cps"))
    }

    /// Opens a store and reads its contents; its blocks are checked when its rows are asked for.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        let (state, _, map) = contents(&file, path)?;
        Ok(Store { path: path.to_path_buf(), state, map })
    }

    /// Which column is which, as the log was packed.
    pub fn config(&self) -> Result<LogConfig> {
        self.state.config().map_err(|e| self.blame(e))
    }

    /// In what precision it holds numbers.
    pub fn numbers(&self) -> Numbers {
        self.state.numbers
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.state.rows
    }

    /// The log it was packed from, as it was named then: what is found in a store is found in that log.
    pub fn packed_from(&self) -> String {
        self.state.given.join(", ")
    }

    /// A log by name, for people and certificates: its paths, or what the store was packed from.
    pub fn name_of<P: AsRef<Path>>(paths: &[P]) -> String {
        if let [one] = paths
            && Store::is_named(one)
            && let Ok(store) = Store::open(one)
        {
            return store.packed_from();
        }
        paths.iter().map(|p| p.as_ref().display().to_string()).collect::<Vec<_>>().join(", ")
    }

    /// The part of every row by its number in the log, where the log was divided by time.
    pub fn parts_by_time(&self) -> Result<Option<Vec<Part>>> {
        let Some(divided) = &self.state.divided else { return Ok(None) };
        let bad = || self.blame(damaged("the parts of its rows are damaged"));
        let (place, rows) = (usize::try_from(divided.place), usize::try_from(self.state.seen));
        let bytes = place.ok().zip(rows.ok()).and_then(|(place, rows)| self.map.bytes(place, rows)).ok_or_else(bad)?;
        if Checksum::of(bytes).to_string() != divided.checksum {
            return Err(bad());
        }
        bytes.iter().map(|b| part(*b).ok_or_else(bad)).collect::<Result<_>>().map(Some)
    }

    pub(super) fn blame(&self, e: Error) -> Error {
        e.at(self.path.display().to_string())
    }

    /// All blocks and the parts of their rows; every checksum and every value is checked. They are used where they lie; numbers in single
    /// precision are widened, into memory or a scratch file.
    pub(in super::super) fn blocks(&self, options: &ReadOptions) -> Result<(Vec<Block>, Vec<Part>)> {
        let layout = self.state.layout()?;
        let shape = Shape::of(&layout, self.state.numbers);
        let places = self.places(shape)?;
        let (missing, count) = (self.state.missing()?, places.len());
        let mut widened = match self.state.numbers {
            Numbers::F64 => None,
            Numbers::F32 => Some(BlockBuilder::new(shape.widths, options.scratch.as_ref())?.within(options.memory)),
        };
        let one = |i: usize| {
            let (block, parts, _) = decode(&self.map, places[i], i as u64, shape)?;
            if block.rows() < BLOCK_ROWS && i + 1 < count {
                return Err(damaged("rows are missing in it").at(format!("block {}", i + 1)));
            }
            self.check(&block, &layout, missing).map_err(|e| e.at(format!("block {}", i + 1)))?;
            block.passed();
            Ok((block, parts))
        };
        let (mut blocks, mut parts, mut before, mut rows) = (Vec::with_capacity(count), Vec::new(), None, 0);
        for from in (0..count).step_by(AT_ONCE) {
            let checked: Vec<Result<_>> = (from..count.min(from + AT_ONCE)).into_par_iter().map(one).collect();
            for done in checked {
                let (block, own) = done.map_err(|e| self.blame(e))?;
                if before.is_some_and(|b| block.ids[0] <= b) {
                    let at = format!("block {}", block.index + 1);
                    return Err(self.blame(damaged("its rows are not in order").at(at)));
                }
                (before, rows) = (block.ids.last().copied(), rows + block.rows() as u64);
                parts.extend(own);
                match &mut widened {
                    None => blocks.push(block),
                    Some(widened) => widened.add(block).map_err(|e| self.blame(e))?,
                }
            }
        }
        if let Some(widened) = widened {
            blocks = widened.finish()?;
        }
        match rows == self.state.rows {
            true => Ok((blocks, parts)),
            false => Err(self.blame(damaged("it does not hold the rows that it says it holds"))),
        }
    }

    /// Where the blocks stand; all of them lie within the file.
    fn places(&self, shape: Shape) -> Result<Vec<usize>> {
        let bad = || self.blame(damaged("its blocks do not lie within the file"));
        let full = shape.bytes(BLOCK_ROWS).ok_or_else(bad)?;
        let mut places = Vec::new();
        for (place, count) in &self.state.runs {
            let (place, count) = (usize::try_from(*place).ok(), usize::try_from(*count).ok());
            let (place, count) = place.zip(count).ok_or_else(bad)?;
            // the last block of all may be shorter; the others end where the next begins
            let last = count.checked_sub(1).and_then(|n| n.checked_mul(full)?.checked_add(place));
            let last =
                last.filter(|l| self.map.bytes(*l, LINE).is_some() && place.is_multiple_of(LINE)).ok_or_else(bad)?;
            places.extend((place..=last).step_by(full));
        }
        Ok(places)
    }

    /// Whether the values of a block are those of a log.
    fn check(&self, block: &Block, layout: &Layout, missing: Missing) -> Result<()> {
        let bad = |column: &str| damaged("it holds a value that no log has").at(format!("column {column:?}"));
        for (field, column) in self.state.contexts.iter().zip(&block.x) {
            let fine = match &field.levels {
                Some(words) => column.iter().all(|v| *v >= 0.0 && *v < words.len() as f64 && v.fract() == 0.0),
                None if field.has_gaps(missing) => column.iter().all(|v| v.is_finite() || v.is_nan()),
                None => column.iter().all(|v| v.is_finite()),
            };
            if !fine {
                return Err(bad(&field.name));
            }
        }
        let actions = layout.actions.iter().zip(&block.a);
        let rest = [("outcome", &block.y), ("propensity", &block.log_p)];
        for (name, column) in actions.map(|(n, c)| (n.as_str(), c)).chain(rest) {
            if !column.iter().all(|v| v.is_finite()) {
                return Err(bad(name));
            }
        }
        let densities = matches!(layout.target, Some(TargetColumns::Density(_)));
        let target = |v: &f64| v.is_finite() || densities && *v == f64::NEG_INFINITY;
        let weight = |v: &f64| v.is_finite() && *v >= 0.0;
        let key = |v: &f64| *v >= 0.0 && *v < (1u64 << 53) as f64 && v.fract() == 0.0;
        let ids = block.ids.windows(2).all(|w| w[0] < w[1]) && block.ids.last().is_some_and(|i| *i < self.state.seen);
        match () {
            () if !block.omega.iter().all(weight) => Err(bad("weight")),
            () if !block.target.iter().flatten().all(target) => Err(bad("target")),
            () if !block.cluster.iter().flatten().all(key) => Err(bad("cluster")),
            () if !ids => Err(damaged("its rows are not in order")),
            () => Ok(()),
        }
    }
}

/// The contents of an open store, the slot that led to them, and the file.
pub(super) fn contents(file: &File, path: &Path) -> Result<(State, Slot, Mapped)> {
    let place = |e: Error| e.at(path.display().to_string());
    let length = file.metadata().map_err(|e| Error::io(path, e))?.len();
    if length == 0 {
        return Err(place(Error::data("the file is empty (0 bytes)").hint("remove it, or write it again")));
    }
    let map = Mapped::of(file).map_err(|e| Error::io(path, e))?;
    let (state, slot) = parse(&map, length).map_err(place)?;
    Ok((state, slot, map))
}

fn parse(map: &Mapped, length: u64) -> Result<(State, Slot)> {
    let cut = || damaged(format!("it is not a store, or was cut: it has {length} bytes"));
    let header = map.bytes(0, HEADER).ok_or_else(cut)?;
    let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    if !header.starts_with(MAGIC) {
        return Err(Error::data("it is not a store").hint("a store is made by packing a log"));
    }
    if (number(16), number(20)) != (VERSION, BLOCK_ROWS as u32) || cfg!(target_endian = "big") {
        return Err(Error::data(format!(
            "it is a store of version {}, this program reads version {VERSION}",
            number(16)
        ))
        .hint("pack the log again with this program"));
    }
    let slots = SLOTS.map(|at| at..at + SLOT);
    let free = |i: &usize| *i >= 24 && !slots.iter().any(|s| s.contains(i));
    if (0..HEADER).filter(free).any(|i| header[i] != 0) {
        return Err(damaged("its header is damaged"));
    }
    let constant = |place: usize, value: f64| {
        map.words(place, BLOCK_ROWS).is_some_and(|words| words.iter().all(|w| *w == value.to_bits()))
    };
    if !constant(ONES, 1.0) || !constant(ZEROS, 0.0) || length < FIRST as u64 {
        return Err(damaged("its first pages are damaged"));
    }
    // one slot that was not written to its end, or is damaged, is made good by the other
    let slot = slots.iter().filter_map(|s| Slot::parse(&header[s.clone()])).max_by_key(|s| s.sequence);
    let slot = slot.ok_or_else(|| damaged("it does not say where its contents are"))?;
    let at = usize::try_from(slot.place).ok().zip(usize::try_from(slot.length).ok());
    let text = at.and_then(|(place, length)| map.bytes(place, length)).ok_or_else(cut)?;
    if Checksum::of(text).value() != slot.checksum {
        return Err(damaged("its contents are damaged"));
    }
    let state = State::parse(text)?;
    match state.blocks().is_some_and(|blocks| blocks <= length / LINE as u64) && state.rows <= state.seen {
        true => Ok((state, slot)),
        false => Err(damaged("it says it has more rows than the file has room for")),
    }
}
