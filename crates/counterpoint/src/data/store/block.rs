//! A block as bytes: a head, then its columns, each at a multiple of 64 bytes.

use super::super::check::Said;
use super::super::checksum::Checksum;
use super::super::log::{BLOCK_ROWS, Block};
use super::super::rows::Layout;
use super::super::scratch::{Mapped, Span};
use super::super::split::Part;
use super::{LINE, Numbers, ONES, ZEROS, damaged};
use crate::error::{Error, Result};
use bytemuck::Pod;

/// How the head of a block begins.
const MAGIC: u64 = u64::from_le_bytes(*b"CPSBLOCK");
/// Words of a head: magic, place, rows, bytes, checksum, the first row number where the others are told from it, and two that are 0.
const HEAD: usize = 8;
/// The checksum among them, and the first row number.
const SUM: usize = 4;
const FROM: usize = 5;

/// Which columns the blocks of a store have, beside row numbers and outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Shape {
    /// Contexts, actions, target and cluster columns.
    pub(super) widths: [usize; 4],
    pub(super) densities: bool,
    pub(super) weights: bool,
    pub(super) parts: bool,
    /// In what precision they are held.
    pub(super) numbers: Numbers,
}

impl Shape {
    pub(in super::super) fn of(layout: &Layout, numbers: Numbers) -> Self {
        Shape {
            numbers,
            widths: layout.widths(),
            densities: layout.propensity.is_some(),
            weights: layout.weight.is_some(),
            parts: layout.split.is_some(),
        }
    }

    /// Bytes of a block of so many rows; none where they are beyond counting.
    pub(super) fn bytes(&self, rows: usize) -> Option<usize> {
        let [d, q, t, k] = self.widths;
        let columns = [d, q, t, 2, usize::from(self.densities), usize::from(self.weights)];
        let columns = columns.into_iter().try_fold(0usize, usize::checked_add)?;
        let parts = if self.parts { rows.next_multiple_of(LINE) } else { 0 };
        let column = |bytes: usize| (bytes * rows).next_multiple_of(LINE);
        let numbers = columns.checked_mul(column(self.numbers.bytes()))?;
        // keys of clusters have 53 bits
        numbers.checked_add(k.checked_mul(column(8))?)?.checked_add(8 * HEAD + parts)
    }
}

/// Puts a block into words. What does not fit the precision is an error that names its row.
pub(super) fn encode(block: &Block, parts: &[Part], shape: Shape, to: &mut Vec<u64>) -> Result<()> {
    let rows = block.rows();
    to.clear();
    to.extend([MAGIC, block.index, rows as u64, shape.bytes(rows).unwrap_or_default() as u64, 0, 0, 0, 0]);
    let densities = shape.densities.then_some(&block.log_p);
    let weights = shape.weights.then_some(&block.omega);
    let columns = block.x.iter().chain(&block.a).chain(densities).chain([&block.y]).chain(weights).chain(&block.target);
    match shape.numbers {
        Numbers::F64 => {
            column(to, block.ids.iter().copied());
            columns.for_each(|c| column(to, c.iter().map(|v| v.to_bits())));
        }
        Numbers::F32 => {
            let from = block.ids.first().copied().unwrap_or_default();
            to[FROM] = from;
            let offset = |id: &u64| u32::try_from(id - from);
            let offsets: std::result::Result<Vec<u32>, _> = block.ids.iter().map(offset).collect();
            let offsets = offsets.map_err(|_| Error::data("too many rows were left out between two that were not"))?;
            halves(to, &offsets);
            for c in columns {
                halves(to, &narrowed(c, block)?);
            }
        }
    }
    block.cluster.iter().for_each(|c| column(to, c.iter().map(|v| v.to_bits())));
    if shape.parts {
        let word = |parts: &[Part]| parts.iter().rev().fold(0, |w, p| w << 8 | *p as u64);
        column(to, parts.chunks(8).map(word));
    }
    to[SUM] = checksum(to);
    Ok(())
}

/// Adds a column of words.
fn column(to: &mut Vec<u64>, words: impl Iterator<Item = u64>) {
    to.extend(words);
    to.resize(to.len().next_multiple_of(LINE / 8), 0);
}

/// Adds a column of half words.
fn halves(to: &mut Vec<u64>, halves: &[u32]) {
    let word = |pair: &[u32]| u64::from(pair[0]) | u64::from(pair.get(1).copied().unwrap_or_default()) << 32;
    column(to, halves.chunks(2).map(word));
}

/// What a column is.
fn role(column: &Span<f64>, block: &Block) -> String {
    let among = |of: &[Span<f64>]| of.iter().position(|c| std::ptr::eq(c, column)).map(|i| i + 1);
    match (among(&block.x), among(&block.a)) {
        (Some(i), _) => format!("context {i}"),
        (_, Some(i)) => format!("action {i}"),
        _ if std::ptr::eq(column, &block.y) => "the outcome".into(),
        _ if std::ptr::eq(column, &block.omega) => "the weight".into(),
        _ => "the propensity or a column of a target policy".into(),
    }
}

/// A column in single precision: the nearest numbers. A finite number that becomes infinite, or a weight that vanishes, would be another log.
fn narrowed(column: &Span<f64>, block: &Block) -> Result<Vec<u32>> {
    let is_weight = std::ptr::eq(column, &block.omega);
    let narrow = |(i, v): (usize, &f64)| {
        let near = *v as f32;
        match v.is_finite() != near.is_finite() || is_weight && near == 0.0 && *v > 0.0 {
            false => Ok(near.to_bits()),
            true => Err(Error::data(format!("{} has no place among numbers in single precision", Said(*v)))
                .at(format!("row {}, {}", block.ids[i] + 1, role(column, block)))
                .hint("pack the log in double precision")),
        }
    };
    column.iter().enumerate().map(narrow).collect()
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
    block.ids = match shape.numbers {
        Numbers::F64 => next(map, &mut at, rows),
        Numbers::F32 => {
            let offsets: Span<u32> = next(map, &mut at, rows);
            let id = |offset: &u32| head[FROM].checked_add(u64::from(*offset));
            let ids: Option<Vec<u64>> = offsets.iter().map(id).collect();
            ids.ok_or_else(|| bad("its row numbers are none"))?.into()
        }
    };
    let mut column = |held: bool, constant: usize| match (held, shape.numbers) {
        (false, _) => map.span(constant, rows),
        (true, Numbers::F64) => next(map, &mut at, rows),
        (true, Numbers::F32) => {
            let narrow: Span<f32> = next(map, &mut at, rows);
            narrow.iter().map(|v| f64::from(*v)).collect::<Vec<f64>>().into()
        }
    };
    block.x.iter_mut().chain(&mut block.a).for_each(|c| *c = column(true, ZEROS));
    block.log_p = column(shape.densities, ZEROS);
    block.y = column(true, ZEROS);
    block.omega = column(shape.weights, ONES);
    block.target.iter_mut().for_each(|c| *c = column(true, ZEROS));
    block.cluster.iter_mut().for_each(|c| *c = next(map, &mut at, rows));
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
