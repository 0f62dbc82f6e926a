//! A block as bytes: a head, then its columns, each at a multiple of 64 bytes.

use super::super::checksum::Checksum;
use super::super::log::{BLOCK_ROWS, Block};
use super::super::rows::Layout;
use super::super::scratch::{Mapped, Span};
use super::super::split::Part;
use super::{LINE, ONES, ZEROS, damaged};
use crate::error::Result;
use bytemuck::Pod;

/// How the head of a block begins.
const MAGIC: u64 = u64::from_le_bytes(*b"CPSBLOCK");
/// Words of a head: magic, place, rows, bytes, checksum, and three that are 0.
const HEAD: usize = 8;
/// The checksum among them.
const SUM: usize = 4;

/// Which columns the blocks of a store have, beside row numbers and outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Shape {
    /// Contexts, actions, target and cluster columns.
    pub(super) widths: [usize; 4],
    pub(super) densities: bool,
    pub(super) weights: bool,
    pub(super) parts: bool,
}

impl Shape {
    pub(in super::super) fn of(layout: &Layout) -> Self {
        Shape {
            widths: layout.widths(),
            densities: layout.propensity.is_some(),
            weights: layout.weight.is_some(),
            parts: layout.split.is_some(),
        }
    }

    /// Bytes of a block of so many rows; none where they are beyond counting.
    pub(super) fn bytes(&self, rows: usize) -> Option<usize> {
        let [d, q, t, k] = self.widths;
        let columns = [d, q, t, k, 2, usize::from(self.densities), usize::from(self.weights)];
        let columns = columns.into_iter().try_fold(0usize, usize::checked_add)?;
        let parts = if self.parts { rows.next_multiple_of(LINE) } else { 0 };
        columns.checked_mul((8 * rows).next_multiple_of(LINE))?.checked_add(8 * HEAD + parts)
    }
}

/// Puts a block into words.
pub(super) fn encode(block: &Block, parts: &[Part], shape: Shape, to: &mut Vec<u64>) {
    let rows = block.rows();
    to.clear();
    to.extend([MAGIC, block.index, rows as u64, shape.bytes(rows).unwrap_or_default() as u64, 0, 0, 0, 0]);
    let mut column = |words: &mut dyn Iterator<Item = u64>| {
        to.extend(words);
        to.resize(to.len().next_multiple_of(LINE / 8), 0);
    };
    column(&mut block.ids.iter().copied());
    let densities = shape.densities.then_some(&block.log_p);
    let weights = shape.weights.then_some(&block.omega);
    let columns = block.x.iter().chain(&block.a).chain(densities).chain([&block.y]).chain(weights);
    for c in columns.chain(&block.target).chain(&block.cluster) {
        column(&mut c.iter().map(|v| v.to_bits()));
    }
    if shape.parts {
        let word = |parts: &[Part]| parts.iter().rev().fold(0, |w, p| w << 8 | *p as u64);
        column(&mut parts.chunks(8).map(word));
    }
    to[SUM] = checksum(to);
}

/// The checksum of a block: of its head without the checksum, and of its columns.
fn checksum(words: &[u64]) -> u64 {
    let [head, columns] = [&words[..SUM], &words[SUM + 1..]].map(|part| Checksum::of_words(part).value());
    Checksum::of_words(&[head, columns]).value()
}

/// A block of a mapped store, its parts, and the place after it. Everything about it is checked but its values.
pub(super) fn decode(map: &Mapped, place: usize, index: u64, shape: Shape) -> Result<(Block, Vec<Part>, usize)> {
    let bad = |what: &str| damaged(format!("{what}: the store is damaged")).at(format!("block {}", index + 1));
    let head = map.words(place, HEAD).ok_or_else(|| bad("it ends beyond the file"))?;
    let [magic, own, rows, bytes, sum] = [head[0], head[1], head[2], head[3], head[SUM]];
    if magic != MAGIC || own != index {
        return Err(bad("there is no block where it should be"));
    }
    let rows =
        usize::try_from(rows).ok().filter(|r| (1..=BLOCK_ROWS).contains(r)).ok_or_else(|| bad("no such rows"))?;
    let length = shape.bytes(rows).filter(|b| *b as u64 == bytes).ok_or_else(|| bad("its length is not right"))?;
    let words = map.words(place, length / 8).ok_or_else(|| bad("it ends beyond the file"))?;
    if checksum(words) != sum {
        let first = index * BLOCK_ROWS as u64 + 1;
        let what = format!("its values are not those that were written (rows {first} to {})", first + rows as u64 - 1);
        return Err(bad(&what));
    }
    let mut at = place + 8 * HEAD;
    let mut block = Block { index, ..Block::with_room(shape.widths, 0) };
    block.ids = next(map, &mut at, rows);
    let mut column = |held: bool, constant: usize| match held {
        true => next(map, &mut at, rows),
        false => map.span(constant, rows),
    };
    block.x.iter_mut().chain(&mut block.a).for_each(|c| *c = column(true, ZEROS));
    block.log_p = column(shape.densities, ZEROS);
    block.y = column(true, ZEROS);
    block.omega = column(shape.weights, ONES);
    block.target.iter_mut().chain(&mut block.cluster).for_each(|c| *c = column(true, ZEROS));
    let mut parts = Vec::new();
    if shape.parts {
        let codes: Span<u8> = next(map, &mut at, rows);
        for code in &codes {
            parts.push(part(*code).ok_or_else(|| bad("a row belongs to no part"))?);
        }
    }
    Ok((block, parts, place + length))
}

/// A part by its number.
pub(super) fn part(code: u8) -> Option<Part> {
    [Part::Train, Part::Valid, Part::Test].into_iter().find(|p| *p as u8 == code)
}

/// The next column, and the place after it.
fn next<T: Pod>(map: &Mapped, at: &mut usize, rows: usize) -> Span<T> {
    let span = map.span(*at, rows);
    *at += (rows * size_of::<T>()).next_multiple_of(LINE);
    span
}
