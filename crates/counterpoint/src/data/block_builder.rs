//! Rows become blocks, one after the other, in memory or in a scratch file.

use super::log::{BLOCK_ROWS, Block};
use super::scratch::{Mapped, Scratch, Span, Spill};
use crate::error::{Error, Hint, Remedy, Result};
use bytemuck::Pod;

/// Blocks under construction.
pub(super) struct BlockBuilder {
    /// How many contexts, actions and target columns.
    widths: [usize; 4],
    /// Finished, in memory.
    blocks: Vec<Block>,
    /// The one rows are added to.
    last: Option<Block>,
    /// The place of the next block that is opened.
    next: u64,
    spilled: Option<Spilled>,
    /// Where blocks go once there are too many for memory.
    scratch: Option<Scratch>,
    /// How many bytes of memory the blocks may take.
    memory: Option<u64>,
}

/// Finished, in a file: where each block starts, its rows and its place in the log.
struct Spilled {
    file: Spill,
    blocks: Vec<(usize, usize, u64)>,
}

impl Spilled {
    fn put(&mut self, mut block: Block) -> Result<()> {
        let start = self.file.put(&block.ids)?;
        for column in columns(&mut block) {
            self.file.put(column)?;
        }
        self.blocks.push((start, block.rows(), block.index));
        Ok(())
    }
}

impl BlockBuilder {
    /// A builder of blocks with so many contexts, actions, target and cluster columns.
    pub(super) fn new(widths: [usize; 4], scratch: Option<&Scratch>) -> Result<Self> {
        let mut builder = BlockBuilder {
            widths,
            blocks: Vec::new(),
            last: None,
            next: 0,
            spilled: None,
            scratch: scratch.cloned(),
            memory: None,
        };
        builder.check_memory()?;
        Ok(builder)
    }

    /// Refuses blocks beyond so many bytes, unless they are held in a file.
    pub(super) fn within(self, memory: Option<u64>) -> Self {
        BlockBuilder { memory, ..self }
    }

    /// Whether there is memory for one more block. Where there is a scratch, all blocks move there instead.
    fn check_memory(&mut self) -> Result<()> {
        if self.spilled.is_some() {
            return Ok(());
        }
        let columns = self.widths.iter().sum::<usize>() + 4;
        let needed = (self.blocks.len() as u64 + 1) * (BLOCK_ROWS * columns * size_of::<f64>()) as u64;
        if let Some(scratch) = &self.scratch {
            if scratch.takes(needed) {
                let mut spilled = Spilled { file: scratch.open()?, blocks: Vec::new() };
                std::mem::take(&mut self.blocks).into_iter().try_for_each(|b| spilled.put(b))?;
                self.spilled = Some(spilled);
            }
            return Ok(());
        }
        let Some(memory) = self.memory.filter(|m| needed > *m) else { return Ok(()) };
        let gigabytes = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        Err(Error::data(format!("its rows do not fit in memory: {:.1} GiB are free for them", gigabytes(memory)))
            .hint(Hint::from(Remedy::Scratch) + " holds the rows in a file on a local disk; the result is the same"))
    }

    /// A block with room for at least one more row.
    pub(super) fn open(&mut self) -> Result<&mut Block> {
        if self.last.as_ref().is_some_and(|b| b.rows() == BLOCK_ROWS) {
            self.seal()?;
        }
        if self.last.is_none() {
            self.check_memory()?;
        }
        let (widths, index) = (self.widths, self.next);
        Ok(self.last.get_or_insert_with(|| Block { index, ..Block::with_room(widths, BLOCK_ROWS) }))
    }

    /// Adds row i of another block: to a block at the same place, so that a part of a log keeps the log's blocks.
    pub(super) fn push(&mut self, from: &Block, i: usize) -> Result<()> {
        self.push_at(from.index, from, i)
    }

    /// The same, to a block at a place of the caller's choice. Places must not fall.
    pub(super) fn push_at(&mut self, place: u64, from: &Block, i: usize) -> Result<()> {
        if self.last.as_ref().is_some_and(|b| b.index != place) {
            self.seal()?;
        }
        self.next = place;
        self.open()?.push(from, i);
        Ok(())
    }

    /// Adds a block as it is; it must have the columns of this builder.
    pub(super) fn add(&mut self, block: Block) -> Result<()> {
        self.seal()?;
        self.check_memory()?;
        self.last = Some(block);
        Ok(())
    }

    /// The blocks that are full, for a caller who keeps them elsewhere.
    #[cfg(feature = "readers")]
    pub(super) fn take_full(&mut self) -> Result<Vec<Block>> {
        if self.last.as_ref().is_some_and(|b| b.rows() == BLOCK_ROWS) {
            self.seal()?;
        }
        Ok(std::mem::take(&mut self.blocks))
    }

    /// The block rows are added to, if there are rows in it.
    #[cfg(feature = "readers")]
    pub(super) fn last(&self) -> Option<&Block> {
        self.last.as_ref().filter(|b| b.rows() > 0)
    }

    /// Goes on after `next` blocks that are kept elsewhere, with rows that are not yet a full block.
    #[cfg(feature = "readers")]
    pub(super) fn resume(&mut self, next: u64, last: Option<Block>) {
        (self.next, self.last) = (next, last);
    }

    fn seal(&mut self) -> Result<()> {
        let Some(mut block) = self.last.take().filter(|b| b.rows() > 0) else { return Ok(()) };
        self.next = block.index + 1;
        match &mut self.spilled {
            None => {
                if block.rows() < BLOCK_ROWS {
                    block.ids.to_mut().shrink_to_fit();
                    columns(&mut block).for_each(|c| c.to_mut().shrink_to_fit());
                }
                self.blocks.push(block);
            }
            Some(spilled) => spilled.put(block)?,
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Vec<Block>> {
        self.seal()?;
        let Some(Spilled { file, blocks }) = self.spilled else { return Ok(self.blocks) };
        if blocks.is_empty() {
            return Ok(Vec::new()); // an empty file cannot be mapped
        }
        let map = file.finish()?;
        let restore = |(start, rows, index): (usize, usize, u64)| {
            let mut at = start;
            let mut block = Block { index, ..Block::with_room(self.widths, 0) };
            block.ids = next(&map, &mut at, rows);
            columns(&mut block).for_each(|c| *c = next(&map, &mut at, rows));
            block
        };
        Ok(blocks.into_iter().map(restore).collect())
    }
}

/// All columns of numbers, in the order of the file.
fn columns(block: &mut Block) -> impl Iterator<Item = &mut Span<f64>> {
    let Block { x, a, log_p, y, omega, target, cluster, .. } = block;
    x.iter_mut().chain(a).chain([log_p, y, omega]).chain(target).chain(cluster)
}

/// The next column, and the place after it.
fn next<T: Pod>(map: &Mapped, at: &mut usize, rows: usize) -> Span<T> {
    let span = map.span(*at, rows);
    *at += (rows * size_of::<T>()).next_multiple_of(64);
    span
}
