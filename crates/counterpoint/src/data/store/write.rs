//! Writing a store: blocks as they come, contents at every point from which an interrupted packing can go on.

use super::super::checksum::Checksum;
use super::super::claim::held;
use super::super::log::{BLOCK_ROWS, Block};
use super::super::split::Part;
use super::block::{Shape, decode, encode};
use super::open::contents;
use super::state::{Divided, Slot, State};
use super::{FIRST, HEADER, LINE, MAGIC, ONES, SLOTS, VERSION};
use crate::error::{Error, Result};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A last block that is not full, and the parts of its rows.
pub(in super::super) type Last = Option<(Block, Vec<Part>)>;

/// A store that is being written. No other process may write it meanwhile.
pub(in super::super) struct Writer {
    path: PathBuf,
    file: File,
    /// Where the next byte goes.
    at: u64,
    sequence: u64,
    pub(in super::super) state: State,
    words: Vec<u64>,
}

impl Writer {
    /// A new store without rows.
    pub(in super::super) fn create(path: &Path, state: State) -> Result<Self> {
        let mut writer = Writer::of(path, File::options().create(true).truncate(false), state)?;
        writer.cut(0)?;
        let mut header = vec![0; FIRST];
        header[..16].copy_from_slice(MAGIC);
        header[16..20].copy_from_slice(&VERSION.to_le_bytes());
        header[20..24].copy_from_slice(&(BLOCK_ROWS as u32).to_le_bytes());
        for word in header[ONES..ONES + 8 * BLOCK_ROWS].chunks_exact_mut(8) {
            word.copy_from_slice(&1f64.to_bits().to_le_bytes());
        }
        writer.write(&header)?;
        Ok(writer)
    }

    /// A store that is there, to go on with; and its last block, with the parts of its rows, if it is not full. What stands behind the
    /// contents was left by a process that was killed, and is taken away.
    pub(in super::super) fn open(path: &Path) -> Result<(Self, Last)> {
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        let (state, slot, map) = contents(&file, path)?;
        let mut writer = Writer::of(path, &mut File::options(), state)?;
        (writer.sequence, writer.at) = (slot.sequence, slot.place + slot.length);
        writer.cut(writer.at)?;
        let spare = writer.state.rows % BLOCK_ROWS as u64;
        let shape = Shape::of(&writer.state.layout()?, writer.state.numbers);
        let last = match writer.state.runs.last_mut().filter(|_| spare > 0) {
            Some((place, count)) => {
                let before = shape
                    .bytes(BLOCK_ROWS)
                    .and_then(|full| full.checked_mul(usize::try_from(*count).ok()?.checked_sub(1)?));
                let at = before.and_then(|b| b.checked_add(usize::try_from(*place).ok()?)).unwrap_or(usize::MAX);
                let index = writer.state.rows / BLOCK_ROWS as u64;
                let (block, parts, _) = decode(&map, at, index, shape).map_err(|e| e.at(path.display().to_string()))?;
                *count -= 1;
                writer.state.rows -= spare;
                Some((block.in_memory(), parts))
            }
            None => None,
        };
        writer.state.runs.retain(|(_, count)| *count > 0);
        Ok((writer, last))
    }

    fn of(path: &Path, how: &mut std::fs::OpenOptions, state: State) -> Result<Self> {
        let mut file = how.read(true).write(true).open(path).map_err(|e| Error::io(path, e))?;
        held(&mut file, path)?;
        Ok(Writer { path: path.to_path_buf(), file, at: 0, sequence: 0, state, words: Vec::new() })
    }

    /// Whether there is a point from which an interrupted packing can go on.
    pub(in super::super) fn is_published(&self) -> bool {
        self.sequence > 0
    }

    /// Full blocks that were written.
    pub(in super::super) fn blocks(&self) -> u64 {
        self.state.rows / BLOCK_ROWS as u64
    }

    /// Adds a full block; or the last one.
    pub(in super::super) fn put(&mut self, block: &Block, parts: &[Part], shape: Shape) -> Result<()> {
        self.pad()?;
        let place = self.at;
        let mut words = std::mem::take(&mut self.words);
        encode(block, parts, shape, &mut words)?;
        self.write(bytemuck::cast_slice(&words))?;
        let length = 8 * words.len() as u64;
        self.words = words;
        self.state.rows += block.rows() as u64;
        match self.state.runs.last_mut() {
            Some((start, count)) if *start + *count * length == place => *count += 1,
            _ => self.state.runs.push((place, 1)),
        }
        Ok(())
    }

    /// Makes what was written the contents of the store, with a last block that is not full; more blocks may follow, in its place.
    pub(in super::super) fn publish(&mut self, last: Option<(&Block, &[Part])>, shape: Shape) -> Result<()> {
        let before = (self.state.runs.clone(), self.state.rows);
        if let Some((block, parts)) = last {
            self.put(block, parts, shape)?;
        }
        let done = self.point();
        (self.state.runs, self.state.rows) = before;
        done
    }

    /// Keeps the parts of all rows, by their numbers. What is added later would need other parts.
    pub(in super::super) fn divide(&mut self, parts: &[Part]) -> Result<()> {
        self.pad()?;
        let bytes: Vec<u8> = parts.iter().map(|p| *p as u8).collect();
        self.state.divided = Some(Divided { place: self.at, checksum: Checksum::of(&bytes).to_string() });
        self.write(&bytes)
    }

    /// Writes the contents, then points both slots to them: at every moment one of them leads to something whole.
    fn point(&mut self) -> Result<()> {
        self.pad()?;
        let text = self.state.to_json();
        let (place, length) = (self.at, text.len() as u64);
        self.write(&text)?;
        self.sequence += 1;
        let checksum = Checksum::of(&text).value();
        let slot = Slot { sequence: self.sequence, place, length, checksum }.to_bytes();
        let end = self.at;
        for at in SLOTS {
            debug_assert!(at + slot.len() <= HEADER);
            self.sync()?;
            self.seek(at as u64)?;
            self.file.write_all(&slot).map_err(|e| Error::io(&self.path, e))?;
        }
        self.sync()?;
        self.seek(end)
    }

    fn pad(&mut self) -> Result<()> {
        let missing = self.at.next_multiple_of(LINE as u64) - self.at;
        self.write(&[0; LINE][..missing as usize])
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|e| Error::io(&self.path, e))?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn seek(&mut self, to: u64) -> Result<()> {
        self.file.seek(SeekFrom::Start(to)).map(|_| ()).map_err(|e| Error::io(&self.path, e))
    }

    fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|e| Error::io(&self.path, e))
    }

    /// Takes away what stands behind a place, and goes on there.
    fn cut(&mut self, to: u64) -> Result<()> {
        self.file.set_len(to).map_err(|e| Error::io(&self.path, e))?;
        self.seek(to)
    }
}
