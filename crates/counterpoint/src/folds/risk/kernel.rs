//! The hot loop: rows in vector lanes, a strip at a time, everything in the first cache.
//!
//! A strip goes through three stages, each a file: [`means`] (scores, k exponentials a row, the mean), [`rows`] (log
//! weight, term, slopes) and [`pull`], which carries the slopes back to C. The gradient of sum r in C is
//! sum_i s_ri x_i g_i^T with g_ij = p_ij (a_j - mu_i), so the slopes are multiplied into the features first and the rest
//! is a product of a tall (R d_X) and a (k) panel with the strip as the inner dimension. Accumulators stay vectors for a
//! whole block and are reduced once.
//!
//! What decides the speed is how many independent chains the processor sees: an exponential is some fifteen dependent
//! steps, so four are always in flight, and the row stage is cut into short loops rather than one long one. Stages are
//! functions of their own (not inlined into each other), which keeps loops tight and a profile readable. There is no
//! `unsafe` here: the vector types are safe, and lanes of fixed length leave the compiler no bounds to check.

mod means;
mod pull;
mod rows;
#[cfg(test)]
mod tests;

use super::super::design::{Lane, STRIP, Strips};
use super::math::{Elementary, V, powers};
use super::truth::PlainRows;
use super::{Partial, Risk};
use crate::estimate::{Normalise, Sums};
use crate::policy::{Family, Mean};
use fearless_simd::{Level, Simd, SimdBase, dispatch};
use std::cell::RefCell;

/// Columns of C a tile: scores, exponentials and the pull-back all work on four columns at once.
const TILE: usize = 4;

/// What a stage needs to know of theta, in both precisions.
#[derive(Default)]
pub(crate) struct Typed {
    f64: Coefficients<f64>,
    f32: Coefficients<f32>,
}

impl Typed {
    pub(super) fn set(&mut self, c: &[f64], k: usize, mean: &Mean, std: &[f64]) {
        self.f64.set(c, k, mean, std);
        self.f32.set(c, k, mean, std);
    }
}

/// C, the anchors and the stds, in the order the loops read them.
#[derive(Default)]
pub(crate) struct Coefficients<T> {
    /// C by tiles of [`TILE`] columns, each tile feature by feature; the last is padded with zeros.
    c: Vec<[T; TILE]>,
    /// The largest |C| of each feature.
    top: Vec<T>,
    /// Anchors by action column: anchors[c k + j].
    anchors: Vec<T>,
    /// Coefficients of the exponential.
    powers: Vec<[T; 2]>,
    /// Of each action column: 1 / std, ln std, std.
    std: Vec<[T; 3]>,
}

impl<T: Elementary> Coefficients<T> {
    fn set(&mut self, c: &[f64], k: usize, mean: &Mean, std: &[f64]) {
        let at = |f: &[f64], j: usize| f.get(j).map_or(T::ZERO, |v| T::of(*v));
        self.c.clear();
        for j in (0..k).step_by(TILE) {
            self.c.extend(c.chunks_exact(k).map(|f| [at(f, j), at(f, j + 1), at(f, j + 2), at(f, j + 3)]));
        }
        self.top.clear();
        self.top.extend(c.chunks_exact(k).map(|f| T::of(f.iter().fold(0.0, |m: f64, v| m.max(v.abs())))));
        self.std.clear();
        self.std.extend(std.iter().map(|s| [T::of(1.0 / s), T::of(s.ln()), T::of(*s)]));
        if let (Mean::Clp(clp), true) = (mean, self.anchors.is_empty()) {
            self.powers = powers();
            self.anchors = (0..std.len() * k).map(|i| T::of(clp.actions.anchor(i % k)[i / k])).collect();
        }
    }
}

/// The two scalar types the kernel is compiled for.
pub(crate) trait Lanes: Elementary {
    /// Self-normalised sums below this are taken again by the plain loop.
    const SMALL_SUM: f64;
    fn coefficients(t: &Typed) -> &Coefficients<Self>;
    fn with_scratch<R>(work: impl FnOnce(&mut Scratch<Self>) -> R) -> R;
}

thread_local! {
    static SCRATCH64: RefCell<Scratch<f64>> = RefCell::default();
    static SCRATCH32: RefCell<Scratch<f32>> = RefCell::default();
}

impl Lanes for f64 {
    const SMALL_SUM: f64 = 1e-130;
    fn coefficients(t: &Typed) -> &Coefficients<f64> {
        &t.f64
    }
    fn with_scratch<R>(work: impl FnOnce(&mut Scratch<f64>) -> R) -> R {
        SCRATCH64.with_borrow_mut(work)
    }
}

impl Lanes for f32 {
    const SMALL_SUM: f64 = 1e-15;
    fn coefficients(t: &Typed) -> &Coefficients<f32> {
        &t.f32
    }
    fn with_scratch<R>(work: impl FnOnce(&mut Scratch<f32>) -> R) -> R {
        SCRATCH32.with_borrow_mut(work)
    }
}

/// The sizes that decide how long the buffers are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Shape {
    features: usize,
    actions: usize,
    columns: usize,
    graded: usize,
    width: usize,
}

/// Buffers of one thread, kept from block to block: nothing is allocated in the loop.
pub(crate) struct Scratch<T> {
    shape: Shape,
    /// Scores, then exponentials (with one action column: then g), k lanes.
    p: Vec<Lane<T>>,
    /// g, k lanes, where there are several action columns.
    g: Vec<Lane<T>>,
    /// Means (and for the linear models slopes of the link), q lanes each.
    mu: Vec<Lane<T>>,
    link: Vec<Lane<T>>,
    /// 1 / sum of exponentials.
    inverse: Lane<T>,
    /// ln w, then v; and dv / d ln w times the row weight.
    v: Lane<T>,
    dv: Lane<T>,
    /// Slopes of ln w and of the entropy.
    log_w: rows::Slopes<T>,
    entropy: rows::Slopes<T>,
    /// The entropy of a row, where it depends on the row.
    h: Lane<T>,
    /// Slopes of graded sum r in mean c: lane r q + c.
    slope: Vec<Lane<T>>,
    /// Features times slopes, R d_X lanes padded to whole tiles.
    x: Vec<Lane<T>>,
    /// Vector accumulators, `V::LEN` numbers each: the gradient in C, in the stds, and the sums.
    acc: Vec<T>,
    std_acc: Vec<T>,
    sums: Vec<T>,
    /// Gradients in the stds of the plain row stage, R q.
    std: Vec<f64>,
    pub(super) answer: Partial,
}

impl<T: Elementary> Default for Scratch<T> {
    fn default() -> Self {
        let lane = Lane([T::ZERO; STRIP]);
        Scratch {
            shape: Shape::default(),
            p: Vec::new(),
            g: Vec::new(),
            mu: Vec::new(),
            link: Vec::new(),
            inverse: lane,
            v: lane,
            dv: lane,
            log_w: rows::Slopes::default(),
            entropy: rows::Slopes::default(),
            h: lane,
            slope: Vec::new(),
            x: Vec::new(),
            acc: Vec::new(),
            std_acc: Vec::new(),
            sums: Vec::new(),
            std: Vec::new(),
            answer: Partial::default(),
        }
    }
}

impl<T: Elementary> Scratch<T> {
    /// Makes room for a question (padding lanes are zero) and starts the sums of a block.
    fn start(&mut self, risk: &Risk, width: usize) {
        let (q, k, r) = (risk.layout.actions, risk.k, risk.graded.len());
        let shape = Shape { features: risk.layout.features, actions: q, columns: k, graded: r, width };
        if self.shape != shape {
            self.fit(shape);
        }
        self.acc.fill(T::ZERO);
        self.std_acc.fill(T::ZERO);
        self.sums.fill(T::ZERO);
        self.std.fill(0.0);
        self.answer.sums = Sums::default();
        self.answer.grads.clear();
        self.answer.grads.resize(r * risk.width(), 0.0);
    }

    fn fit(&mut self, shape: Shape) {
        let Shape { features, actions: q, columns: k, graded: r, width } = shape;
        let lanes = |lanes: &mut Vec<Lane<T>>, n: usize| {
            lanes.clear();
            lanes.resize(n, Lane([T::ZERO; STRIP]));
        };
        let panel = (r * features).next_multiple_of(pull::PANEL);
        lanes(&mut self.p, k.next_multiple_of(TILE));
        lanes(&mut self.g, if q > 1 { k } else { 0 });
        lanes(&mut self.mu, q);
        lanes(&mut self.link, q);
        lanes(&mut self.slope, r * q);
        lanes(&mut self.x, panel);
        for slopes in [&mut self.log_w, &mut self.entropy] {
            lanes(&mut slopes.mean, q);
            lanes(&mut slopes.std, q);
        }
        self.acc.resize(panel * k * width, T::ZERO);
        self.std_acc.resize(r * q * width, T::ZERO);
        self.sums.resize(rows::SUMS * width, T::ZERO);
        self.std.resize(r * q, 0.0);
        self.shape = shape;
    }
}

/// The sums of one block, into `scratch.answer`; false if a weight left the range in which plain sums are safe.
pub(super) fn block<T: Lanes>(risk: &Risk, level: Level, b: &Strips<T>, scratch: &mut Scratch<T>) -> bool {
    dispatch!(level, simd => strips::<T, _>(simd, risk, b, scratch))
}

#[inline(always)]
fn strips<T: Lanes, S: Simd>(simd: S, risk: &Risk, b: &Strips<T>, scratch: &mut Scratch<T>) -> bool {
    scratch.start(risk, V::<T, S>::LEN);
    let theta = T::coefficients(&risk.typed);
    let (lanes, features) = (risk.layout.lanes(), risk.layout.features);
    let mut plain = (!risk.fast_rows()).then(|| PlainRows::new(risk));
    for (i, strip) in b.lanes.chunks_exact(lanes).enumerate() {
        touch(b.lanes.get((i + 1) * lanes..(i + 2) * lanes).unwrap_or_default());
        let reach = &b.reach[i * features..(i + 1) * features];
        match risk.link() {
            None => means::soft_minimum::<T, S>(simd, theta, &strip[..features], reach, scratch),
            Some(link) => means::linked::<T, S>(simd, theta, link, &strip[..features], scratch),
        }
        if let Some(plain) = &mut plain {
            plain_rows(risk, plain, b, i * STRIP, scratch);
        } else if !rows::rows::<T, S>(simd, risk, theta, strip, scratch) {
            return false;
        }
        if risk.graded.is_empty() {
            continue;
        }
        for c in 0..risk.layout.actions {
            match risk.link() {
                None => pull::soft_minimum::<T, S>(simd, theta, &strip[..features], c, scratch),
                Some(_) => pull::linked::<T, S>(simd, &strip[..features], c, scratch),
            }
        }
    }
    gather::<T, S>(simd, risk, b, scratch);
    // weights so small that their squares vanish want the plain loop's scale as well
    risk.question.estimator.normalise == Normalise::ByRows || scratch.answer.sums.v > T::SMALL_SUM
}

/// Reads a little of every cache line of the next strip, in the order of memory, so that it is near when its turn comes:
/// the stages themselves jump between lanes, which no prefetcher follows.
#[inline(always)]
fn touch<T: Lanes>(next: &[Lane<T>]) {
    for lane in next {
        for line in lane.0.chunks_exact(64 / size_of::<T>()) {
            std::hint::black_box(line[0]);
        }
    }
}

#[inline(always)]
fn load<T: Lanes, S: Simd>(simd: S, lane: &Lane<T>, i: usize) -> V<T, S> {
    let n = V::<T, S>::LEN;
    V::<T, S>::from_slice(simd, &lane.0[i * n..(i + 1) * n])
}

#[inline(always)]
fn store<T: Lanes, S: Simd>(v: V<T, S>, lane: &mut Lane<T>, i: usize) {
    let n = V::<T, S>::LEN;
    v.store_slice(&mut lane.0[i * n..(i + 1) * n]);
}

/// The row stage in plain code, for estimators with a loss model and rarer weights.
fn plain_rows<T: Lanes>(risk: &Risk, plain: &mut PlainRows, b: &Strips<T>, first: usize, scratch: &mut Scratch<T>) {
    let q = risk.layout.actions;
    let mut mu = vec![0.0; q];
    scratch.slope.iter_mut().for_each(|l| l.0.fill(T::ZERO));
    for i in 0..STRIP.min(b.rows - first) {
        for (m, lane) in mu.iter_mut().zip(&scratch.mu) {
            *m = lane.0[i].f64();
        }
        let (y, omega) = plain.fill(b, first + i, &mu);
        scratch.answer.sums.add(plain.terms.value, y, omega);
        for (slot, &r) in risk.graded.iter().enumerate() {
            for c in 0..q {
                scratch.slope[slot * q + c].0[i] = T::of(omega * plain.terms.graded(r, c));
                scratch.std[slot * q + c] += omega * plain.terms.graded(r, q + c);
            }
        }
    }
}

/// Reduces the accumulators into the answer.
#[inline(always)]
fn gather<T: Lanes, S: Simd>(simd: S, risk: &Risk, b: &Strips<T>, scratch: &mut Scratch<T>) {
    let (q, n) = (risk.layout.actions, V::<T, S>::LEN);
    let width = risk.width();
    let Scratch { acc, std_acc, sums, std, answer, .. } = scratch;
    let total = |v: &[T]| V::<T, S>::from_slice(simd, v).reduce_sum().f64();
    if risk.fast_rows() {
        let [t, v, tt, tv, vv, ty, h]: [f64; rows::SUMS] = std::array::from_fn(|i| total(&sums[i * n..(i + 1) * n]));
        let [weight, y, yy] = b.totals;
        // the constant of the entropy is the caller's
        let h = match risk.family {
            Family::Normal => weight * risk.std.iter().map(|s| s.ln()).sum::<f64>(),
            Family::LogNormal => h,
        };
        answer.sums = Sums { n: weight, t, v, tt, tv, vv, y, yy, ty, h, ..Sums::default() };
    }
    for (slot, grads) in answer.grads.chunks_exact_mut(width).enumerate() {
        let (c, stds) = grads.split_at_mut(width - q);
        for (f, c) in c.chunks_exact_mut(risk.k).enumerate() {
            let row = slot * risk.layout.features + f;
            for (j, g) in c.iter_mut().enumerate() {
                let at = pull::cell(risk.k, row, j) * n;
                *g = total(&acc[at..at + n]);
            }
        }
        for (i, g) in stds.iter_mut().enumerate() {
            let lane = slot * q + i;
            *g = std[lane] + total(&std_acc[lane * n..(lane + 1) * n]);
        }
    }
}
