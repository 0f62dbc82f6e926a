//! One regression tree, grown leaf by leaf from histograms.
//!
//! A row brings W numbers (for a plain tree its slope and curvature); a cell of a histogram is their sum over the rows of
//! a node whose feature is in a bin. The leaf whose best split gains most is split next. The smaller child's histogram is
//! summed, the larger one's is the parent's less that. Threads share features, so every sum runs in the order of the rows.

use super::bins::Binned;
use super::forest::Forest;
use crate::engine::Engine;
use std::ops::Range;
use std::sync::Mutex;

/// Rows times features from which threads are worth waking.
const WORTH_SHARING: usize = 60_000;

/// What W sums over the rows of a node are worth; the last of them is the weight of the rows.
pub(super) trait Worth<const W: usize>: Sync {
    /// How much a leaf with these sums lowers the objective.
    fn gain(&self, sums: &[f64; W]) -> f64;
    /// Whether a leaf with these sums is large enough.
    fn large(&self, sums: &[f64; W]) -> bool;
}

/// The shape of a tree.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) leaves: usize,
    pub(super) depth: usize,
    /// What a split must gain.
    pub(super) least_gain: f64,
}

#[derive(Clone, Copy)]
struct Split {
    gain: f64,
    feature: usize,
    cut: usize,
    missing_left: bool,
}

/// A leaf that may be split.
struct Open<const W: usize> {
    node: usize,
    rows: Range<usize>,
    depth: usize,
    cells: Vec<[f64; W]>,
    sums: [f64; W],
    best: Option<Split>,
}

/// Leaves of the last tree grown, and buffers that are used again.
pub(super) struct Grower<'a, const W: usize> {
    binned: &'a Binned,
    engine: &'a Engine,
    spare: Vec<Vec<[f64; W]>>,
    moved: Vec<u32>,
}

/// A leaf: its node, and its rows within the list handed to [`Grower::grow`].
pub(super) struct Leaf<const W: usize> {
    pub(super) number: usize,
    pub(super) rows: Range<usize>,
    pub(super) sums: [f64; W],
}

/// A run of features and their cells in the two histograms at hand.
struct Piece<'a, const W: usize> {
    features: Range<usize>,
    small: &'a mut [[f64; W]],
    large: Option<&'a mut [[f64; W]]>,
}

impl<'a, const W: usize> Grower<'a, W> {
    pub(super) fn new(binned: &'a Binned, engine: &'a Engine) -> Self {
        Grower { binned, engine, spare: Vec::new(), moved: Vec::new() }
    }

    /// The bins of row i.
    pub(super) fn row(&self, i: usize) -> &[u8] {
        self.binned.row(i)
    }

    /// Grows a tree on `rows` (which are sorted by leaf on return) and appends it to `forest`.
    pub(super) fn grow(
        &mut self,
        rows: &mut [u32],
        stats: &[[f64; W]],
        worth: &impl Worth<W>,
        shape: Shape,
        forest: &mut Forest,
    ) -> Vec<Leaf<W>> {
        forest.roots.push(forest.len() as u32);
        let mut root = Open {
            node: forest.push_leaf(),
            rows: 0..rows.len(),
            depth: 0,
            cells: self.buffer(),
            sums: [0.0; W],
            best: None,
        };
        for i in rows.iter() {
            add(&mut root.sums, &stats[*i as usize]);
        }
        self.search(rows, stats, worth, &mut root, None);
        let mut open = vec![root];
        while open.len() < shape.leaves {
            let worthy =
                |o: &Open<W>| o.best.filter(|b| b.gain > shape.least_gain && o.depth < shape.depth).map(|b| b.gain);
            let mut next: Option<(usize, f64)> = None;
            for (k, o) in open.iter().enumerate() {
                next = match (worthy(o), next) {
                    (Some(gain), best) if best.is_none_or(|(_, g)| gain > g) => Some((k, gain)),
                    (_, best) => best,
                };
            }
            let Some((k, _)) = next else { break };
            let parent = open.swap_remove(k);
            let [left, right] = self.split(rows, stats, worth, parent, forest);
            open.push(left);
            open.push(right);
        }
        open.sort_by_key(|o| o.rows.start);
        open.into_iter()
            .map(|o| {
                self.spare.push(o.cells);
                Leaf { number: forest.number(o.node), rows: o.rows, sums: o.sums }
            })
            .collect()
    }

    fn buffer(&mut self) -> Vec<[f64; W]> {
        let mut cells = self.spare.pop().unwrap_or_default();
        cells.clear();
        cells.resize(self.binned.cells(), [0.0; W]);
        cells
    }

    fn split(
        &mut self,
        rows: &mut [u32],
        stats: &[[f64; W]],
        worth: &impl Worth<W>,
        parent: Open<W>,
        forest: &mut Forest,
    ) -> [Open<W>; 2] {
        let Some(best) = parent.best else { unreachable!("only leaves with a split are split") };
        let middle = parent.rows.start + self.partition(&mut rows[parent.rows.clone()], best);
        let left = forest.push_leaf();
        let right = forest.push_leaf();
        forest.feature[parent.node] = 2 * best.feature as u32 + u32::from(best.missing_left);
        forest.cut[parent.node] = best.cut as u8;
        forest.child[parent.node] = left as u32;
        let ranges = [parent.rows.start..middle, middle..parent.rows.end];
        let small = usize::from(ranges[1].len() < ranges[0].len());
        let mut sums = [[0.0; W]; 2];
        for i in &rows[ranges[small].clone()] {
            add(&mut sums[small], &stats[*i as usize]);
        }
        sums[1 - small] = parent.sums;
        let taken = sums[small];
        subtract(&mut sums[1 - small], &taken);
        let mut cells = [parent.cells, self.buffer()];
        if small == 0 {
            cells.swap(0, 1);
        }
        let [a, b] = cells;
        let depth = parent.depth + 1;
        let [r0, r1] = ranges;
        let mut two = [
            Open { node: left, rows: r0, depth, cells: a, sums: sums[0], best: None },
            Open { node: right, rows: r1, depth, cells: b, sums: sums[1], best: None },
        ];
        let (l, r) = two.split_at_mut(1);
        let (s, o) = if small == 0 { (&mut l[0], &mut r[0]) } else { (&mut r[0], &mut l[0]) };
        self.search(rows, stats, worth, s, Some(o));
        two
    }

    /// Sums the histogram of `small`, takes it from that of `large`, and finds the best split of both.
    fn search(
        &self,
        rows: &[u32],
        stats: &[[f64; W]],
        worth: &impl Worth<W>,
        small: &mut Open<W>,
        large: Option<&mut Open<W>>,
    ) {
        let own = &rows[small.rows.clone()];
        let features = self.binned.features;
        let threads = if own.len() * features < WORTH_SHARING { 1 } else { self.engine.threads().min(features).max(1) };
        let run = features.div_ceil(threads).max(1);
        let (small_sums, large_sums) = (small.sums, large.as_ref().map_or([0.0; W], |l| l.sums));
        let mut rest_small = &mut small.cells[..];
        let (mut rest_large, large_best) = match large {
            Some(l) => (Some(&mut l.cells[..]), Some(&mut l.best)),
            None => (None, None),
        };
        let mut pieces = Vec::with_capacity(threads);
        for from in (0..features).step_by(run) {
            let to = (from + run).min(features);
            let cells = self.binned.first[to] - self.binned.first[from];
            let (mine, rest) = rest_small.split_at_mut(cells);
            rest_small = rest;
            let other = rest_large.take().map(|l| l.split_at_mut(cells));
            let (other, rest) = other.map_or((None, None), |(o, r)| (Some(o), Some(r)));
            rest_large = rest;
            pieces.push(Mutex::new(Piece { features: from..to, small: mine, large: other }));
        }
        let found = self.engine.map(&pieces, |piece| {
            let mut piece = piece.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            self.piece(own, stats, worth, &mut piece, &[small_sums, large_sums])
        });
        small.best = first_best(found.iter().map(|f| f[0]));
        if let Some(best) = large_best {
            *best = first_best(found.iter().map(|f| f[1]));
        }
    }

    fn piece(
        &self,
        rows: &[u32],
        stats: &[[f64; W]],
        worth: &impl Worth<W>,
        piece: &mut Piece<W>,
        sums: &[[f64; W]; 2],
    ) -> [Option<Split>; 2] {
        self.histogram(rows, stats, piece.features.clone(), piece.small);
        let small = self.best(worth, piece.features.clone(), piece.small, &sums[0]);
        let Some(large) = piece.large.as_deref_mut() else { return [small, None] };
        for (l, s) in large.iter_mut().zip(piece.small.iter()) {
            subtract(l, s);
        }
        [small, self.best(worth, piece.features.clone(), large, &sums[1])]
    }

    fn histogram(&self, rows: &[u32], stats: &[[f64; W]], features: Range<usize>, cells: &mut [[f64; W]]) {
        let base = self.binned.first[features.start];
        let first: Vec<usize> = self.binned.first[features.clone()].iter().map(|f| f - base).collect();
        for i in rows {
            let i = *i as usize;
            let own = stats[i];
            let codes = &self.binned.row(i)[features.clone()];
            for (code, first) in codes.iter().zip(&first) {
                add(&mut cells[first + usize::from(*code)], &own);
            }
        }
    }

    /// The best split of a node over these features; the first of equals.
    fn best(
        &self,
        worth: &impl Worth<W>,
        features: Range<usize>,
        cells: &[[f64; W]],
        sums: &[f64; W],
    ) -> Option<Split> {
        let base = self.binned.first[features.start];
        let whole = worth.gain(sums);
        let mut best: Option<Split> = None;
        for feature in features {
            let cells = &cells[self.binned.first[feature] - base..self.binned.first[feature + 1] - base];
            let missing = &cells[self.binned.missing(feature)];
            let some_missing = missing[W - 1] > 1e-9; // what subtraction leaves of nothing is not a row
            let mut left = [0.0; W];
            for cut in 0..cells.len() - 2 {
                if cells[cut][W - 1] == 0.0 {
                    continue; // an empty bin divides the rows as the cut before it does
                }
                add(&mut left, &cells[cut]);
                for with_missing in [false, true] {
                    if with_missing && !some_missing {
                        continue;
                    }
                    let mut l = left;
                    if with_missing {
                        add(&mut l, missing);
                    }
                    let mut r = *sums;
                    subtract(&mut r, &l);
                    if !worth.large(&l) || !worth.large(&r) {
                        continue;
                    }
                    let gain = worth.gain(&l) + worth.gain(&r) - whole;
                    if best.is_none_or(|b| gain > b.gain) {
                        // a value that was never missing goes where most rows go
                        let missing_left = with_missing || !some_missing && l[W - 1] > r[W - 1];
                        best = Some(Split { gain, feature, cut, missing_left });
                    }
                }
            }
        }
        best
    }

    /// Puts the rows that go left first, in order; returns their number.
    fn partition(&mut self, rows: &mut [u32], split: Split) -> usize {
        self.moved.clear();
        let missing = self.binned.missing(split.feature);
        let mut kept = 0;
        for k in 0..rows.len() {
            let code = usize::from(self.binned.row(rows[k] as usize)[split.feature]);
            if if code == missing { split.missing_left } else { code <= split.cut } {
                rows[kept] = rows[k];
                kept += 1;
            } else {
                self.moved.push(rows[k]);
            }
        }
        rows[kept..].copy_from_slice(&self.moved);
        kept
    }
}

fn first_best(found: impl Iterator<Item = Option<Split>>) -> Option<Split> {
    found
        .flatten()
        .fold(None, |best: Option<Split>, s| if best.is_none_or(|b| s.gain > b.gain) { Some(s) } else { best })
}

#[inline(always)]
fn add<const W: usize>(into: &mut [f64; W], from: &[f64; W]) {
    for w in 0..W {
        into[w] += from[w];
    }
}

#[inline(always)]
fn subtract<const W: usize>(into: &mut [f64; W], from: &[f64; W]) {
    for w in 0..W {
        into[w] -= from[w];
    }
}
