//! The hot loop: rows in vector lanes, a strip at a time, everything in the first cache.
//!
//! A strip goes through three stages: the mean model *forward* (scores, exponentials, means), [`rows`] (log weight, term,
//! slopes), and the mean model *backward*, which carries the slopes to the gradient. What the first and the last do is the
//! model's own ([`StripModel`]); the middle one asks the family ([`crate::policy::Member::strip`]). Accumulators stay vectors
//! for a whole block and are reduced once.
//!
//! What decides the speed is how many independent chains the processor sees: an exponential is some fifteen dependent
//! steps, so four are always in flight, and the row stage is cut into short loops rather than one long one. Stages are
//! functions of their own (not inlined into each other), which keeps loops tight and a profile readable. There is no
//! `unsafe` here: the vector types are safe, and lanes of fixed length leave the compiler no bounds to check.

mod model;
mod products;
mod rows;
#[cfg(test)]
mod tests;

use super::super::design::Strips;
use super::truth::PlainRows;
use super::{Partial, Risk};
use crate::estimate::{Normalise, Sums};
use crate::policy::{Coefficients, Features, Mean, Model, Room, Size, Slots, Spread, StripModel, VisitMean};
use crate::vector::{Elementary, Lane, STRIP, dispatch, fetch, level, width};
use fearless_simd::Simd;
use std::cell::RefCell;

/// What a stage needs to know of theta, in both precisions.
#[derive(Default)]
pub(crate) struct Typed {
    f64: Theta<f64>,
    f32: Theta<f32>,
}

/// The coefficients of the mean model, and the stds.
#[derive(Default)]
pub(crate) struct Theta<T> {
    mean: Coefficients<T>,
    std: Vec<Spread<T>>,
}

impl Typed {
    /// Moves to other parameters.
    pub(super) fn set(&mut self, mean: &Mean, formed: &[f64], size: Size, std: &[f64]) {
        struct Order<'a>(&'a mut Typed, &'a [f64], Size);
        impl VisitMean for Order<'_> {
            type Out = ();
            fn see<M: Model + StripModel>(self, model: &M) {
                model.order(self.1, self.2, &mut self.0.f64.mean);
                model.order(self.1, self.2, &mut self.0.f32.mean);
            }
        }
        mean.visit(Order(self, formed, size));
        // both precisions are kept ready: which one a block wants is known only there
        self.f64.std.clear();
        self.f64.std.extend(std.iter().map(|s| Spread::new(*s)));
        self.f32.std.clear();
        self.f32.std.extend(std.iter().map(|s| Spread::new(*s)));
    }
}

/// The two scalar types the kernel is compiled for.
pub(crate) trait Lanes: Elementary {
    /// Self-normalised sums below this are taken again by the plain loop.
    const SMALL_SUM: f64;
    fn theta(t: &Typed) -> &Theta<Self>;
    fn with_scratch<R>(work: impl FnOnce(&mut Scratch<Self>) -> R) -> R;
}

thread_local! {
    static SCRATCH64: RefCell<Scratch<f64>> = RefCell::default();
    static SCRATCH32: RefCell<Scratch<f32>> = RefCell::default();
}

impl Lanes for f64 {
    const SMALL_SUM: f64 = 1e-130;
    fn theta(t: &Typed) -> &Theta<f64> {
        &t.f64
    }
    fn with_scratch<R>(work: impl FnOnce(&mut Scratch<f64>) -> R) -> R {
        SCRATCH64.with_borrow_mut(work)
    }
}

impl Lanes for f32 {
    const SMALL_SUM: f64 = 1e-15;
    fn theta(t: &Typed) -> &Theta<f32> {
        &t.f32
    }
    fn with_scratch<R>(work: impl FnOnce(&mut Scratch<f32>) -> R) -> R {
        SCRATCH32.with_borrow_mut(work)
    }
}

/// The sizes that decide how long the buffers are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Shape {
    size: Size,
    room: Room,
    graded: usize,
}

/// Buffers of one thread, kept from block to block: nothing is allocated in the loop.
pub(crate) struct Scratch<T> {
    shape: Shape,
    /// Features, where they are made of contexts.
    features: Vec<Lane<T>>,
    /// What the mean model keeps from forward to backward.
    work: Vec<Lane<T>>,
    /// Means, q lanes.
    mu: Vec<Lane<T>>,
    /// What the row stage keeps.
    rows: rows::Stage<T>,
    /// Slopes of graded sum r in mean c: lane r q + c.
    slope: Vec<Lane<T>>,
    /// Accumulators, a virtual vector each: the gradient of the mean, and of the stds. In lanes, so that none lies across two cache lines.
    acc: Vec<Lane<T>>,
    std_acc: Vec<Lane<T>>,
    /// Gradients in the stds of the plain row stage, R q.
    std: Vec<f64>,
    pub(super) answer: Partial,
}

impl<T: Elementary> Default for Scratch<T> {
    fn default() -> Self {
        Scratch {
            shape: Shape::default(),
            features: Vec::new(),
            work: Vec::new(),
            mu: Vec::new(),
            rows: rows::Stage::default(),
            slope: Vec::new(),
            acc: Vec::new(),
            std_acc: Vec::new(),
            std: Vec::new(),
            answer: Partial::default(),
        }
    }
}

impl<T: Elementary> Scratch<T> {
    /// Makes room for a question (padding lanes are zero) and starts the sums of a block.
    fn start(&mut self, risk: &Risk, room: Room) {
        let shape = Shape { size: risk.size(), room, graded: risk.graded.len() };
        if self.shape != shape {
            self.fit(shape);
        }
        self.acc.fill(Lane::ZERO);
        self.std_acc.fill(Lane::ZERO);
        self.rows.start();
        self.std.fill(0.0);
        self.answer.sums = Sums::default();
        self.answer.grads.clear();
        self.answer.grads.resize(shape.graded * risk.width(), 0.0);
    }

    fn fit(&mut self, shape: Shape) {
        let Shape { size: Size { features, actions: q }, room, graded: r } = shape;
        let lanes = |lanes: &mut Vec<Lane<T>>, n: usize| {
            lanes.clear();
            lanes.resize(n, Lane::ZERO);
        };
        lanes(&mut self.features, features);
        lanes(&mut self.work, room.lanes);
        lanes(&mut self.mu, q);
        lanes(&mut self.slope, r * q);
        self.rows.fit(q);
        lanes(&mut self.acc, (room.cells * width::<T>()).div_ceil(STRIP));
        lanes(&mut self.std_acc, (r * q * width::<T>()).div_ceil(STRIP));
        self.std.resize(r * q, 0.0);
        self.shape = shape;
    }
}

/// The sums of one block, into `scratch.answer`; false if a weight left the range in which plain sums are safe.
pub(super) fn block<T: Lanes>(risk: &Risk, b: &Strips<T>, scratch: &mut Scratch<T>) -> bool {
    struct Block<'a, T: Lanes>(&'a Risk, &'a Strips<T>, &'a mut Scratch<T>);
    impl<T: Lanes> VisitMean for Block<'_, T> {
        type Out = bool;
        fn see<M: Model + StripModel>(self, model: &M) -> bool {
            let Block(risk, b, scratch) = self;
            dispatch!(level(), simd => strips::<M, T, _>(simd, (risk, model), b, scratch))
        }
    }
    // the type of the mean model and the instruction set are settled here, once per block
    risk.mean.visit(Block(risk, b, scratch))
}

#[inline(always)]
fn strips<M: StripModel, T: Lanes, S: Simd>(
    simd: S,
    (risk, model): (&Risk, &M),
    b: &Strips<T>,
    scratch: &mut Scratch<T>,
) -> bool {
    scratch.start(risk, model.room(risk.size(), risk.graded.len()));
    let theta = T::theta(&risk.typed);
    let (lanes, features) = (risk.layout.lanes(), risk.layout.features);
    // lent to the stages, which need the rest of the scratch
    let mut made = std::mem::take(&mut scratch.features);
    // what the vector row stage does not know takes the plain one between the two vector products
    let mut plain = (!risk.fast::<T>()).then(|| PlainRows::new(risk));
    for (i, strip) in b.lanes.chunks_exact(lanes).enumerate() {
        // the next strip comes into the cache while this one is computed, a third before each stage: memory has few places for
        // lines that are on their way
        let next = b.lanes.get((i + 1) * lanes..(i + 2) * lanes).unwrap_or_default();
        let third = next.len() / 3;
        touch(&next[..third]);
        let reach = &b.reach[i * features..(i + 1) * features];
        let x = if risk.layout.multiplies() {
            products::products::<T, S>(simd, risk.mean.map(), &strip[..risk.layout.held], &mut made);
            Features { x: &made, reach }
        } else {
            Features { x: &strip[..features], reach }
        };
        forward::<M, T, S>(simd, model, &theta.mean, x, scratch);
        touch(&next[third..2 * third]);
        if let Some(plain) = &mut plain {
            plain_rows(risk, plain, b, i * STRIP, scratch);
        } else if !rows::rows::<T, S>(simd, risk, &theta.std, (b, i * STRIP), scratch) {
            // a weight whose square overflows: the caller takes the block again, in logs and row by row
            scratch.features = made;
            return false;
        }
        touch(&next[2 * third..]);
        // a value alone (a line of a table, a check) needs no slopes
        if !risk.graded.is_empty() {
            backward::<M, T, S>(simd, model, &theta.mean, x, scratch);
        }
    }
    scratch.features = made;
    gather::<M, T, S>(simd, (risk, model), b, scratch);
    // weights so small that their squares vanish want the plain loop's scale as well
    risk.question.estimator.normalise == Normalise::ByRows || scratch.answer.sums.v > T::SMALL_SUM
}

/// From features to means.
#[inline(never)]
fn forward<M: StripModel, T: Lanes, S: Simd>(
    simd: S,
    model: &M,
    theta: &Coefficients<T>,
    x: Features<T>,
    scratch: &mut Scratch<T>,
) {
    let Scratch { work, mu, .. } = scratch;
    simd.vectorize(
        #[inline(always)]
        || model.forward::<T, S>(simd, theta, x, work, mu),
    );
}

/// From slopes in the means to the gradient.
#[inline(never)]
fn backward<M: StripModel, T: Lanes, S: Simd>(
    simd: S,
    model: &M,
    theta: &Coefficients<T>,
    x: Features<T>,
    scratch: &mut Scratch<T>,
) {
    let Scratch { work, mu, slope, acc, .. } = scratch;
    let acc = bytemuck::cast_slice_mut::<Lane<T>, T>(acc);
    simd.vectorize(
        #[inline(always)]
        || model.backward::<T, S>(simd, theta, x, work, Slots { mu, slope, acc }),
    );
}

/// Asks for every cache line of some lanes, in the order of memory, so that they are near when their turn comes: the stages themselves
/// jump between lanes, which no prefetcher follows. Reading a little of each line instead made the processor wait for memory: a quarter of a fit.
#[inline(always)]
fn touch<T: Lanes>(next: &[Lane<T>]) {
    for lane in next {
        for line in lane.0.chunks_exact(64 / size_of::<T>()) {
            fetch(&line[0]);
        }
    }
}

/// The row stage in plain code, for estimators whose loss model has no vector code.
fn plain_rows<T: Lanes>(risk: &Risk, plain: &mut PlainRows, b: &Strips<T>, first: usize, scratch: &mut Scratch<T>) {
    let q = risk.layout.actions;
    // the last strip of a block is short: slopes of rows that are not there must be 0, for backward reads whole lanes
    scratch.slope.iter_mut().for_each(|l| l.0.fill(T::ZERO));
    for i in 0..STRIP.min(b.rows - first) {
        let (y, omega) = plain.fill(b, first + i, scratch.mu.iter().map(|lane| lane.0[i].f64()));
        scratch.answer.sums.add(&plain.terms.value, y, omega);
        for (slot, &r) in risk.graded.iter().enumerate() {
            for c in 0..q {
                scratch.slope[slot * q + c].0[i] = T::of(omega * plain.terms.graded(r, c));
                scratch.std[slot * q + c] += omega * plain.terms.graded(r, q + c);
            }
        }
    }
}

/// Reduces the accumulators into the answer.
#[inline(never)]
fn gather<M: StripModel, T: Lanes, S: Simd>(
    simd: S,
    (risk, model): (&Risk, &M),
    b: &Strips<T>,
    scratch: &mut Scratch<T>,
) {
    simd.vectorize(
        #[inline(always)]
        || reduce::<M, T, S>(simd, (risk, model), b, scratch),
    );
}

/// The sum of a virtual vector's numbers. (A closure would be compiled apart, without the vector instructions of whoever calls it.)
#[inline(always)]
fn total<T: Elementary, S: Simd>(simd: S, v: &[T]) -> f64 {
    T::total(simd, v).f64()
}

#[inline(always)]
fn reduce<M: StripModel, T: Lanes, S: Simd>(
    simd: S,
    (risk, model): (&Risk, &M),
    b: &Strips<T>,
    scratch: &mut Scratch<T>,
) {
    let (q, n) = (risk.layout.actions, width::<T>());
    let width = risk.width();
    let Scratch { acc, std_acc, rows, std, answer, .. } = scratch;
    let (acc, std_acc): (&[T], &[T]) = (bytemuck::cast_slice(acc), bytemuck::cast_slice(std_acc));
    if risk.fast::<T>() {
        answer.sums = rows.total::<S>(simd, b.totals);
        // an entropy that is the same in every row was left out of the loop
        answer.sums.h += answer.sums.n * (0..q).map(|c| risk.fixed_entropy(c).value).sum::<f64>();
    }
    for (slot, grads) in answer.grads.chunks_exact_mut(width).enumerate() {
        // theta is the parameters of the mean, then ln std of every action column
        let (mean, stds) = grads.split_at_mut(width - q);
        for (entry, g) in mean.iter_mut().enumerate() {
            // the model knows in which cell it kept this entry: its accumulators lie as its loops want them
            let at = model.cell(risk.size(), risk.graded.len(), slot, entry) * n;
            *g = total::<T, S>(simd, &acc[at..at + n]);
        }
        for (i, g) in stds.iter_mut().enumerate() {
            let lane = slot * q + i;
            // one of the two is 0: stds of plain rows are summed row by row, the others in vectors
            *g = std[lane] + total::<T, S>(simd, &std_acc[lane * n..(lane + 1) * n]);
        }
    }
}
