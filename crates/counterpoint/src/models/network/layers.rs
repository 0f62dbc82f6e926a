//! Forward and backward through the layers, for a batch of rows.
//!
//! ```text
//! z_l = h_{l-1} W_l + b_l,   h_l = sigma(z_l),   f = h_L v + h_0 u + c
//! ```
//!
//! Rows lie one behind the other, the neurons of a layer side by side. All three products (forward, slopes of the weights,
//! slopes of the layer before) are one function, [`product`], which runs along neurons: elementwise, with sums in the order
//! of their terms. So the compiler may use any vectors it likes and no bit changes. Nothing here is a fused multiply-add.

use crate::vector::{dispatch, level};
use fearless_simd::{Simd, SimdBase, f32x8};
use serde::{Deserialize, Serialize};

/// Neurons that are computed side by side; hidden layers are multiples of it.
pub(super) const LANES: usize = 16;

/// Rows that are computed side by side; batches are multiples of it.
pub(super) const TILE: usize = 4;

/// What a neuron makes of its sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Activation {
    /// tanh z: smooth everywhere.
    #[default]
    Tanh,
    /// max(z, 0): straight pieces, so kinks and edges cost it little.
    Relu,
}

impl Activation {
    #[inline(always)]
    fn apply(self, z: &mut [f32]) {
        match self {
            Activation::Tanh => z.iter_mut().for_each(|z| *z = tanh(*z)),
            Activation::Relu => z.iter_mut().for_each(|z| *z = z.max(0.0)),
        }
    }

    /// Multiplies what flows back by the slope, which both members know from their own output h.
    #[inline(always)]
    fn slope(self, back: &mut [f32], h: &[f32]) {
        match self {
            Activation::Tanh => back.iter_mut().zip(h).for_each(|(b, h)| *b *= 1.0 - h * h),
            Activation::Relu => back.iter_mut().zip(h).for_each(|(b, h)| *b = if *h > 0.0 { *b } else { 0.0 }),
        }
    }
}

/// The sizes of a network, which say where its numbers lie in one vector: W_1, b_1, W_2, b_2, .., v, u, c.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layers {
    pub(super) inputs: usize,
    pub(super) hidden: Vec<usize>,
    pub(super) activation: Activation,
}

/// Activations of a batch, and what flows back.
pub(super) struct Work {
    /// Inputs, then each hidden layer: rows times neurons.
    pub(super) h: Vec<Vec<f32>>,
    /// Slopes at each hidden layer.
    back: Vec<Vec<f32>>,
    /// A layer's weights with rows and columns exchanged.
    turned: Vec<f32>,
    /// Outputs, and the slope of the loss in them.
    pub(super) f: Vec<f32>,
    pub(super) slope: Vec<f32>,
}

/// A matrix that is read number by number: entry (i, k) is at i `row` + k `column`.
#[derive(Clone, Copy)]
struct Spread<'a> {
    data: &'a [f32],
    row: usize,
    column: usize,
}

impl Layers {
    /// Neurons before and in each hidden layer.
    fn sizes(&self) -> impl Iterator<Item = (usize, usize)> {
        let before = std::iter::once(self.inputs).chain(self.hidden.iter().copied());
        before.zip(self.hidden.iter().copied())
    }

    fn last(&self) -> usize {
        self.hidden.last().copied().unwrap_or(0)
    }

    /// Numbers of a network of this size.
    pub(super) fn numbers(&self) -> usize {
        self.sizes().map(|(from, to)| (from + 1) * to).sum::<usize>() + self.last() + self.inputs + 1
    }

    /// Room for a batch.
    pub(super) fn work(&self, batch: usize) -> Work {
        let room = |n: usize| vec![0.0; n * batch];
        Work {
            h: std::iter::once(self.inputs).chain(self.hidden.iter().copied()).map(room).collect(),
            back: self.hidden.iter().map(|n| room(*n)).collect(),
            turned: Vec::new(),
            f: room(1),
            slope: room(1),
        }
    }

    /// Room for a batch that only goes forward.
    pub(super) fn forward_work(&self, batch: usize) -> Work {
        let room = |n: usize| vec![0.0; n * batch];
        let h = std::iter::once(self.inputs).chain(self.hidden.iter().copied()).map(room).collect();
        Work { h, back: Vec::new(), turned: Vec::new(), f: room(1), slope: Vec::new() }
    }

    /// Fills `work.f` from the inputs in `work.h[0]`.
    pub(super) fn forward(&self, theta: &[f32], work: &mut Work) {
        dispatch!(level(), simd => simd.vectorize(#[inline(always)] || self.forward_here(simd, theta, work, 0)));
    }

    /// As [`Layers::forward`], from the first layer's sums, which are in `work.h[1]`.
    pub(super) fn forward_from_sums(&self, theta: &[f32], work: &mut Work) {
        dispatch!(level(), simd => simd.vectorize(#[inline(always)] || self.forward_here(simd, theta, work, 1)));
    }

    /// Fills `grad` with the slopes in theta, from those in the outputs (`work.slope`), after [`Layers::forward`].
    pub(super) fn backward(&self, theta: &[f32], work: &mut Work, grad: &mut [f32]) {
        dispatch!(level(), simd => simd.vectorize(#[inline(always)] || self.backward_here(simd, theta, work, grad)));
    }

    #[inline(always)]
    fn forward_here<S: Simd>(&self, simd: S, theta: &[f32], work: &mut Work, done: usize) {
        let mut at = 0;
        for (l, (from, to)) in self.sizes().enumerate() {
            let (before, after) = work.h.split_at_mut(l + 1);
            if l >= done {
                let (w, b) = theta[at..at + (from + 1) * to].split_at(from * to);
                after[0].chunks_exact_mut(to).for_each(|z| z.copy_from_slice(b));
                product(simd, Spread { data: &before[l], row: from, column: 1 }, w, &mut after[0], to);
            }
            self.activation.apply(&mut after[0]);
            at += (from + 1) * to;
        }
        let (v, rest) = theta[at..].split_at(self.last());
        let (u, c) = rest.split_at(self.inputs);
        let rows = work.h[self.hidden.len()].chunks_exact(self.last()).zip(work.h[0].chunks_exact(self.inputs));
        for (f, (h, x)) in work.f.iter_mut().zip(rows) {
            let straight = x.iter().zip(u).fold(c[0], |s, (x, u)| s + x * u);
            *f = straight + dot(h, v);
        }
    }

    #[inline(always)]
    fn backward_here<S: Simd>(&self, simd: S, theta: &[f32], work: &mut Work, grad: &mut [f32]) {
        let (layers, last) = (self.hidden.len(), self.last());
        let mut end = self.numbers() - last - self.inputs - 1;
        grad.fill(0.0);
        let (v, top) = (&theta[end..end + last], &mut grad[end..]);
        let (gv, rest) = top.split_at_mut(last);
        let rows = work.h[layers].chunks_exact(last).zip(work.h[0].chunks_exact(self.inputs));
        for ((s, back), (h, x)) in work.slope.iter().zip(work.back[layers - 1].chunks_exact_mut(last)).zip(rows) {
            gv.iter_mut().zip(h).for_each(|(g, h)| *g += s * h);
            rest.iter_mut().zip(x).for_each(|(g, x)| *g += s * x);
            rest[self.inputs] += s;
            back.iter_mut().zip(v).for_each(|(b, v)| *b = s * v);
            self.activation.slope(back, h);
        }
        for l in (0..layers).rev() {
            let (from, to) = (if l == 0 { self.inputs } else { self.hidden[l - 1] }, self.hidden[l]);
            let start = end - (from + 1) * to;
            let (below, own) = work.back.split_at_mut(l);
            let (gw, gb) = grad[start..end].split_at_mut(from * to);
            own[0].chunks_exact(to).for_each(|s| gb.iter_mut().zip(s).for_each(|(g, s)| *g += s));
            product(simd, Spread { data: &work.h[l], row: 1, column: from }, &own[0], gw, to);
            if l > 0 {
                turn(&theta[start..start + from * to], to, &mut work.turned);
                below[l - 1].fill(0.0);
                product(simd, Spread { data: &own[0], row: to, column: 1 }, &work.turned, &mut below[l - 1], from);
                self.activation.slope(&mut below[l - 1], &work.h[l]);
            }
            end = start;
        }
    }
}

/// tanh by the seventh convergent of its continued fraction, 1 beyond the point where that passes 1; error below 1e-4.
#[inline(always)]
fn tanh(z: f32) -> f32 {
    let z = z.clamp(-4.97, 4.97);
    let s = z * z;
    z * (135135.0 + s * (17325.0 + s * (378.0 + s))) / (135135.0 + s * (62370.0 + s * (3150.0 + s * 28.0)))
}

/// out += A B, with `cols` columns in B and in `out`, a multiple of [`LANES`].
///
/// Four rows and sixteen columns are eight registers of eight floats: enough to keep the adders busy, and half of what
/// the narrower instruction sets have.
#[inline(always)]
fn product<S: Simd>(simd: S, a: Spread, b: &[f32], out: &mut [f32], cols: usize) {
    let rows = out.len() / cols;
    let full = rows / TILE * TILE;
    for c in (0..cols).step_by(LANES) {
        for i in (0..full).step_by(TILE) {
            block::<TILE, S>(simd, a, b, out, cols, i, c);
        }
        for i in full..rows {
            block::<1, S>(simd, a, b, out, cols, i, c);
        }
    }
}

/// T rows and sixteen columns of out += A B, in registers.
#[inline(always)]
fn block<const T: usize, S: Simd>(simd: S, a: Spread, b: &[f32], out: &mut [f32], cols: usize, i: usize, c: usize) {
    let zero = f32x8::splat(simd, 0.0);
    let (mut acc, mut at) = ([[zero; 2]; T], [0; T]);
    for t in 0..T {
        let from = (i + t) * cols + c;
        acc[t] = [f32x8::from_slice(simd, &out[from..from + 8]), f32x8::from_slice(simd, &out[from + 8..from + 16])];
        at[t] = (i + t) * a.row;
    }
    for b in b.chunks_exact(cols) {
        let Some(b) = b[c..].first_chunk::<LANES>() else { return };
        let b = [f32x8::from_slice(simd, &b[..8]), f32x8::from_slice(simd, &b[8..])];
        for t in 0..T {
            let a_t = f32x8::splat(simd, a.data[at[t]]);
            at[t] += a.column;
            acc[t] = [acc[t][0] + a_t * b[0], acc[t][1] + a_t * b[1]];
        }
    }
    for t in 0..T {
        let from = (i + t) * cols + c;
        acc[t][0].store_slice(&mut out[from..from + 8]);
        acc[t][1].store_slice(&mut out[from + 8..from + 16]);
    }
}

/// Exchanges rows and columns of a matrix with `cols` columns.
#[inline(always)]
fn turn(w: &[f32], cols: usize, out: &mut Vec<f32>) {
    let rows = w.len() / cols;
    out.resize(w.len(), 0.0);
    for (k, w) in w.chunks_exact(cols).enumerate() {
        for (j, w) in w.iter().enumerate() {
            out[j * rows + k] = *w;
        }
    }
}

/// A product of two layers, a multiple of [`LANES`] long: lanes first, then their sum in halves.
#[inline(always)]
fn dot(h: &[f32], v: &[f32]) -> f32 {
    let mut acc = [0.0f32; LANES];
    for (h, v) in h.chunks_exact(LANES).zip(v.chunks_exact(LANES)) {
        for n in 0..LANES {
            acc[n] += h[n] * v[n];
        }
    }
    let mut half = LANES / 2;
    while half > 0 {
        for n in 0..half {
            acc[n] += acc[n + half];
        }
        half /= 2;
    }
    acc[0]
}

/// Adam with decoupled weight decay: means of slopes and of their squares, and how much of them is still the start.
pub(super) struct Adam {
    mean: Vec<f32>,
    square: Vec<f32>,
    /// 0.9^t and 0.999^t after t steps; by multiplication, so that no library's power is asked.
    left: [f64; 2],
}

impl Adam {
    pub(super) fn new(numbers: usize) -> Adam {
        Adam { mean: vec![0.0; numbers], square: vec![0.0; numbers], left: [1.0; 2] }
    }

    /// One step of length `rate`.
    pub(super) fn step(&mut self, theta: &mut [f32], grad: &[f32], rate: f32, decay: f32) {
        const KEEP: [f32; 2] = [0.9, 0.999];
        self.left = [self.left[0] * f64::from(KEEP[0]), self.left[1] * f64::from(KEEP[1])];
        let [c1, c2] = self.left.map(|left| (1.0 / (1.0 - left)) as f32);
        let Adam { mean, square, .. } = self;
        dispatch!(level(), simd => simd.vectorize(#[inline(always)] || {
            for (((t, g), m), v) in theta.iter_mut().zip(grad).zip(mean.iter_mut()).zip(square.iter_mut()) {
                *m = KEEP[0] * *m + (1.0 - KEEP[0]) * g;
                *v = KEEP[1] * *v + (1.0 - KEEP[1]) * g * g;
                *t = *t - rate * decay * *t - rate * (*m * c1) / ((*v * c2).sqrt() + 1e-8);
            }
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By central differences of a loss sum f over a batch; f32 leaves about three digits.
    #[test]
    fn slopes_are_derivatives_for_every_activation() {
        let spread = |k: usize| ((crate::rng::hash(3, k as u64) >> 40) as f32 / (1u64 << 24) as f32) - 0.5;
        for activation in [Activation::Tanh, Activation::Relu] {
            let layers = Layers { inputs: 3, hidden: vec![16, 16], activation };
            let mut theta: Vec<f32> = (0..layers.numbers()).map(spread).collect();
            let mut work = layers.work(TILE);
            work.h[0].iter_mut().enumerate().for_each(|(k, x)| *x = 2.0 * spread(1000 + k));
            layers.forward(&theta, &mut work);
            work.slope.fill(1.0);
            let mut grad = vec![0.0; theta.len()];
            layers.backward(&theta, &mut work, &mut grad);
            let mut far = 0;
            for k in 0..theta.len() {
                let mut at = |v: f32| {
                    let before = std::mem::replace(&mut theta[k], v);
                    layers.forward(&theta, &mut work);
                    theta[k] = before;
                    work.f.iter().sum::<f32>()
                };
                let (own, h) = (spread(k), 1e-3);
                let slope = (at(own + h) - at(own - h)) / (2.0 * h);
                far += usize::from((slope - grad[k]).abs() > 0.01 + 0.02 * grad[k].abs());
            }
            // a few steps pass a corner of the straight pieces
            assert!(far <= theta.len() / 50, "{activation:?}: {far} of {}", theta.len());
        }
    }
}
