//! X^T X by tiles: the matrix product behind ridge regressions and behind the trailing update of the Cholesky factor.
//!
//! As in every fast matrix product, columns are copied into panels of eight, so that the inner loop reads memory in order:
//! [`DEPTH`] rows of a left and a right panel are multiplied into a tile of 8 x 8 sums that stays in registers. A group of
//! left panels stays in the second cache while the right panels go by. Only tiles on or above the diagonal are computed.

use crate::vector::{dispatch, level};
use fearless_simd::{Simd, SimdBase, SimdFloat, f64x4};

/// Columns per panel.
const TILE: usize = 8;

/// Rows multiplied at a time: two panels of this depth fill the first cache.
const DEPTH: usize = 256;

/// Left panels per group: this many panels of full depth take 192 KiB of the second cache.
const GROUP: usize = 12;

/// A row of a panel.
type Row = [f64; TILE];

/// C += A^T A for a symmetric C and a row-major A of `rows` times `cols`.
pub(crate) fn add_gram(a: &[f64], rows: usize, cols: usize, c: &mut [f64]) {
    Update::new(1.0).upper(Rows { data: a, rows, cols, stride: cols }, c, cols);
    for i in (0..cols).step_by(TILE) {
        for j in (i..cols).step_by(TILE) {
            mirror(c, cols, i, j);
        }
    }
}

/// Copies the tile at (i, j), on or above the diagonal, to its place below.
fn mirror(c: &mut [f64], cols: usize, i: usize, j: usize) {
    for k in i..(i + TILE).min(cols) {
        for l in j.max(k + 1)..(j + TILE).min(cols) {
            c[l * cols + k] = c[k * cols + l];
        }
    }
}

/// Rows of a matrix that lie `stride` apart.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) data: &'a [f64],
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) stride: usize,
}

/// C += sign A^T A, with scratch space.
pub(super) struct Update {
    sign: f64,
    panels: Vec<Row>,
}

impl Update {
    pub(super) fn new(sign: f64) -> Self {
        Update { sign, panels: Vec::new() }
    }

    /// The upper half of C, whose rows lie `stride` apart.
    pub(super) fn upper(&mut self, a: Rows, c: &mut [f64], stride: usize) {
        if a.cols == 0 {
            return;
        }
        for from in (0..a.rows).step_by(DEPTH) {
            let depth = DEPTH.min(a.rows - from);
            pack(a, from, depth, &mut self.panels);
            let c = Tiles { c: &mut *c, cols: a.cols, stride, sign: self.sign };
            dispatch!(level(), simd => all_tiles(simd, &self.panels, depth, c));
        }
    }
}

/// Copies rows `from..from + depth` into panels, the last one filled up with zeros.
fn pack(a: Rows, from: usize, depth: usize, panels: &mut Vec<Row>) {
    panels.clear();
    for first in (0..a.cols).step_by(TILE) {
        let width = TILE.min(a.cols - first);
        panels.extend((from..from + depth).map(|r| {
            let at = r * a.stride + first;
            let mut row = [0.0; TILE];
            row[..width].copy_from_slice(&a.data[at..at + width]);
            row
        }));
    }
}

/// Where tiles are added.
struct Tiles<'a> {
    c: &'a mut [f64],
    cols: usize,
    stride: usize,
    sign: f64,
}

impl Tiles<'_> {
    /// Adds the tile of these two panels.
    #[inline(always)]
    fn add(&mut self, left: usize, right: usize, tile: &[Row; TILE]) {
        let width = TILE.min(self.cols - right * TILE);
        for (i, row) in tile.iter().enumerate().take(TILE.min(self.cols - left * TILE)) {
            let at = (left * TILE + i) * self.stride + right * TILE;
            let to = &mut self.c[at..at + width];
            to.iter_mut().zip(row).for_each(|(c, t)| *c += self.sign * t);
        }
    }
}

#[inline(always)]
fn all_tiles<S: Simd>(simd: S, panels: &[Row], depth: usize, mut c: Tiles) {
    let count = panels.len() / depth;
    let panel = |p: usize| &panels[p * depth..(p + 1) * depth];
    for group in (0..count).step_by(GROUP) {
        for right in group..count {
            for left in group..(group + GROUP).min(right + 1) {
                c.add(left, right, &tile(simd, panel(left), panel(right)));
            }
        }
    }
}

/// left^T right, four rows of the tile at a time: eight vectors of sums, as many as two multipliers keep busy.
#[inline(always)]
fn tile<S: Simd>(simd: S, left: &[Row], right: &[Row]) -> [Row; TILE] {
    let mut out = [[0.0; TILE]; TILE];
    for half in 0..2 {
        let mut sums = [[f64x4::splat(simd, 0.0); 2]; 4];
        for (l, r) in left.iter().zip(right) {
            let r = [f64x4::from_slice(simd, &r[..4]), f64x4::from_slice(simd, &r[4..])];
            for i in 0..4 {
                let l = f64x4::splat(simd, l[4 * half + i]);
                sums[i] = [l.mul_add_precise(r[0], sums[i][0]), l.mul_add_precise(r[1], sums[i][1])];
            }
        }
        for i in 0..4 {
            sums[i][0].store_slice(&mut out[4 * half + i][..4]);
            sums[i][1].store_slice(&mut out[4 * half + i][4..]);
        }
    }
    out
}
