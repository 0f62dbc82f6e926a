//! The hot loop: rows in vector lanes, a strip at a time, everything in the first cache.
//!
//! Per strip: scores (a small matrix product), the soft minimum (k exponentials a row), the row stage (log weight, term,
//! slopes), and the pull-back, again a small matrix product: the gradient of sum r in C is sum_i s_ri x_i g_i^T with
//! g_ij = p_ij (a_j - mu_i), so the slopes s are multiplied into the features first and the rest is a product of a tall
//! (R d_X) and a (k) panel with the strip as the inner dimension. Accumulators stay vectors for a whole block and are
//! reduced once. There is no `unsafe` here: the vector types are safe, and lanes of fixed length leave the compiler no
//! bounds to check.

use super::super::design::{Lane, STRIP, Strips};
use super::math::{Elementary, V, exp, exp_negative, ln, ln_1p, splat};
use super::truth::{LOG_RANGE, PlainRows, add_sums};
use super::{Partial, Risk};
use crate::estimate::{Normalise, Sums, Weight};
use crate::policy::{Family, Link, Mean};
use fearless_simd::{Level, Select, Simd, SimdBase, SimdFloat, SimdMask, dispatch};
use std::cell::RefCell;

/// Features a tile of the pull-back.
const TILE_F: usize = 3;
/// Score columns a tile of the pull-back.
const TILE_J: usize = 4;

/// C and the anchors in both precisions, with columns padded to whole tiles.
#[derive(Default)]
pub(crate) struct Typed {
    c64: Vec<f64>,
    c32: Vec<f32>,
    anchors64: Vec<f64>,
    anchors32: Vec<f32>,
}

impl Typed {
    pub(super) fn set(&mut self, c: &[f64], k: usize, mean: &Mean, q: usize) {
        let padded = padded(k);
        self.c64.clear();
        for row in c.chunks_exact(k) {
            self.c64.extend_from_slice(row);
            self.c64.resize(self.c64.len() + padded - k, 0.0);
        }
        self.c32.clear();
        self.c32.extend(self.c64.iter().map(|v| *v as f32));
        if let (Mean::Clp(clp), true) = (mean, self.anchors64.is_empty()) {
            // column by column: anchors[c * k + j]
            self.anchors64 = (0..q * k).map(|i| clp.actions.anchor(i % k)[i / k]).collect();
            self.anchors32 = self.anchors64.iter().map(|v| *v as f32).collect();
        }
    }
}

/// Columns of C with padding: whole tiles of 4 (a tile of 6 takes the place of 4 where it fits better).
fn padded(k: usize) -> usize {
    k.next_multiple_of(TILE_J).max(k.next_multiple_of(6))
}

/// The two scalar types the kernel is compiled for.
pub(crate) trait Lanes: Elementary {
    /// Self-normalised sums below this are taken again by the plain loop.
    const SMALL_SUM: f64;
    fn c(t: &Typed) -> &[Self];
    fn anchors(t: &Typed) -> &[Self];
    fn with_scratch<R>(work: impl FnOnce(&mut Scratch<Self>) -> R) -> R;
}

thread_local! {
    static SCRATCH64: RefCell<Scratch<f64>> = RefCell::default();
    static SCRATCH32: RefCell<Scratch<f32>> = RefCell::default();
}

impl Lanes for f64 {
    const SMALL_SUM: f64 = 1e-130;
    fn c(t: &Typed) -> &[f64] {
        &t.c64
    }
    fn anchors(t: &Typed) -> &[f64] {
        &t.anchors64
    }
    fn with_scratch<R>(work: impl FnOnce(&mut Scratch<f64>) -> R) -> R {
        SCRATCH64.with_borrow_mut(work)
    }
}

impl Lanes for f32 {
    const SMALL_SUM: f64 = 1e-15;
    fn c(t: &Typed) -> &[f32] {
        &t.c32
    }
    fn anchors(t: &Typed) -> &[f32] {
        &t.anchors32
    }
    fn with_scratch<R>(work: impl FnOnce(&mut Scratch<f32>) -> R) -> R {
        SCRATCH32.with_borrow_mut(work)
    }
}

/// Buffers of one thread, kept from block to block: nothing is allocated in the loop.
pub(crate) struct Scratch<T> {
    /// Scores, then exponentials, k lanes.
    p: Vec<Lane<T>>,
    /// g, k lanes padded to whole tiles.
    g: Vec<Lane<T>>,
    /// Means (and for the linear models slopes of the link), q lanes each.
    mu: Vec<Lane<T>>,
    link: Vec<Lane<T>>,
    /// 1 / sum of exponentials.
    inverse: Lane<T>,
    /// Slopes of graded sum r in mean c: lane r q + c.
    slope: Vec<Lane<T>>,
    /// Features times slopes, R d_X lanes padded to whole tiles.
    x: Vec<Lane<T>>,
    /// Vector accumulators of the gradient, `V::LEN` numbers each.
    acc: Vec<T>,
    /// Gradients in the stds, R q: vector accumulators, and sums of the plain row stage.
    std_acc: Vec<T>,
    std: Vec<f64>,
    pub(super) answer: Partial,
}

impl<T: Elementary> Default for Scratch<T> {
    fn default() -> Self {
        Scratch {
            p: Vec::new(),
            g: Vec::new(),
            mu: Vec::new(),
            link: Vec::new(),
            inverse: Lane([T::ZERO; STRIP]),
            slope: Vec::new(),
            x: Vec::new(),
            acc: Vec::new(),
            std_acc: Vec::new(),
            std: Vec::new(),
            answer: Partial::default(),
        }
    }
}

impl<T: Elementary> Scratch<T> {
    fn fit(&mut self, risk: &Risk, width: usize) {
        let (q, k, r) = (risk.layout.actions, risk.k, risk.graded.len());
        let zero = Lane([T::ZERO; STRIP]);
        let features = (r * risk.layout.features).next_multiple_of(TILE_F);
        let columns = k.next_multiple_of(TILE_J);
        self.p.resize(padded(k), zero);
        // padding lanes of g and x must be zero: earlier shapes may have left numbers there
        self.g.clear();
        self.g.resize(columns, zero);
        self.mu.resize(q, zero);
        self.link.resize(q, zero);
        self.slope.resize(r * q, zero);
        self.x.clear();
        self.x.resize(features, zero);
        self.acc.clear();
        self.acc.resize(features * columns * width, T::ZERO);
        self.std_acc.clear();
        self.std_acc.resize(r * q * width, T::ZERO);
        self.std.clear();
        self.std.resize(r * q, 0.0);
        self.answer.sums = Sums::default();
        self.answer.grads.clear();
        self.answer.grads.resize(r * risk.width(), 0.0);
    }
}

/// The sums of one block, into `scratch.answer`; false if a weight left the range in which plain sums are safe.
pub(super) fn block<T: Lanes>(risk: &Risk, level: Level, b: &Strips<T>, scratch: &mut Scratch<T>) -> bool {
    dispatch!(level, simd => strips::<T, _>(simd, risk, b, scratch))
}

#[inline(always)]
fn strips<T: Lanes, S: Simd>(simd: S, risk: &Risk, b: &Strips<T>, scratch: &mut Scratch<T>) -> bool {
    scratch.fit(risk, V::<T, S>::LEN);
    let lanes = risk.layout.lanes();
    let fast = risk.fast_rows();
    let mut plain = (!fast).then(|| PlainRows::new(risk));
    for (i, strip) in b.lanes.chunks_exact(lanes).enumerate() {
        scores::<T, S>(simd, risk, strip, &mut scratch.p);
        match risk.link() {
            None => soft_minimum::<T, S>(simd, risk, scratch),
            Some(link) => linked::<T, S>(simd, link, scratch),
        }
        if let Some(plain) = &mut plain {
            plain_rows(risk, plain, b, i * STRIP, scratch);
        } else if !rows::<T, S>(simd, risk, strip, scratch) {
            return false;
        }
        if risk.graded.is_empty() {
            continue;
        }
        for c in 0..risk.layout.actions {
            match risk.link() {
                None => pull_back::<T, S>(simd, risk, strip, c, scratch),
                Some(_) => pull_back_linear::<T, S>(simd, risk, strip, c, scratch),
            }
        }
    }
    gather::<T, S>(simd, risk, scratch);
    // weights so small that their squares vanish want the plain loop's scale as well
    risk.question.estimator.normalise == Normalise::ByRows || scratch.answer.sums.v > T::SMALL_SUM
}

/// cell += v
#[inline(always)]
fn add<T: Lanes, S: Simd>(simd: S, v: V<T, S>, cell: &mut [T]) {
    (V::<T, S>::from_slice(simd, cell) + v).store_slice(cell);
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

/// p = X C, in tiles of 2 vectors by 6 or 4 columns.
#[inline(always)]
fn scores<T: Lanes, S: Simd>(simd: S, risk: &Risk, strip: &[Lane<T>], p: &mut [Lane<T>]) {
    let c = T::c(&risk.typed);
    let k = risk.k;
    let stride = padded(k);
    let x = &strip[..risk.layout.features];
    let mut j = 0;
    while j < k {
        let rest = k - j;
        if rest == 6 || rest == 5 || rest > 8 {
            score_tile::<6, T, S>(simd, x, &c[j..], stride, &mut p[j..j + 6]);
            j += 6;
        } else {
            score_tile::<4, T, S>(simd, x, &c[j..], stride, &mut p[j..j + 4]);
            j += 4;
        }
    }
}

#[inline(always)]
fn score_tile<const J: usize, T: Lanes, S: Simd>(simd: S, x: &[Lane<T>], c: &[T], stride: usize, p: &mut [Lane<T>]) {
    simd.vectorize(
        #[inline(always)]
        || {
            for i in 0..STRIP / V::<T, S>::LEN / 2 {
                let mut acc = [[splat::<T, S>(simd, T::ZERO); 2]; J];
                for (f, lane) in x.iter().enumerate() {
                    let (x0, x1) = (load::<T, S>(simd, lane, 2 * i), load::<T, S>(simd, lane, 2 * i + 1));
                    let row = &c[f * stride..f * stride + J];
                    for j in 0..J {
                        let cj = splat::<T, S>(simd, row[j]);
                        acc[j][0] = x0.mul_add(cj, acc[j][0]);
                        acc[j][1] = x1.mul_add(cj, acc[j][1]);
                    }
                }
                for j in 0..J {
                    store::<T, S>(acc[j][0], &mut p[j], 2 * i);
                    store::<T, S>(acc[j][1], &mut p[j], 2 * i + 1);
                }
            }
        },
    )
}

/// exp(p - max p), its sum, and the means.
#[inline(always)]
fn soft_minimum<T: Lanes, S: Simd>(simd: S, risk: &Risk, scratch: &mut Scratch<T>) {
    let (k, q) = (risk.k, risk.layout.actions);
    let anchors = T::anchors(&risk.typed);
    let p = &mut scratch.p[..k];
    let first = &anchors[..k];
    let mu = &mut scratch.mu;
    let inverse = &mut scratch.inverse;
    simd.vectorize(
        #[inline(always)]
        || {
            for i in 0..STRIP / V::<T, S>::LEN {
                let mut top = load::<T, S>(simd, &p[0], i);
                for lane in &p[1..] {
                    top = top.max(load::<T, S>(simd, lane, i));
                }
                let mut total = splat::<T, S>(simd, T::ZERO);
                let mut mean = splat::<T, S>(simd, T::ZERO);
                for (lane, a) in p.iter_mut().zip(first) {
                    let e = exp_negative::<T, S>(simd, load::<T, S>(simd, lane, i) - top);
                    store::<T, S>(e, lane, i);
                    total = total + e;
                    mean = e.mul_add(splat::<T, S>(simd, *a), mean);
                }
                let inv = splat::<T, S>(simd, T::ONE) / total;
                store::<T, S>(inv, inverse, i);
                store::<T, S>(mean * inv, &mut mu[0], i);
                for c in 1..q {
                    let mut mean = splat::<T, S>(simd, T::ZERO);
                    for (lane, a) in p.iter().zip(&anchors[c * k..(c + 1) * k]) {
                        mean = load::<T, S>(simd, lane, i).mul_add(splat::<T, S>(simd, *a), mean);
                    }
                    store::<T, S>(mean * inv, &mut mu[c], i);
                }
            }
        },
    )
}

/// Means of the linear models from their scores.
#[inline(always)]
fn linked<T: Lanes, S: Simd>(simd: S, link: Link, scratch: &mut Scratch<T>) {
    let one = splat::<T, S>(simd, T::ONE);
    for c in 0..scratch.mu.len() {
        for i in 0..STRIP / V::<T, S>::LEN {
            let s = load::<T, S>(simd, &scratch.p[c], i);
            let (mean, slope) = match link {
                Link::Identity => (s, one),
                Link::Softplus => {
                    let zero = splat::<T, S>(simd, T::ZERO);
                    let e = exp_negative::<T, S>(simd, -s.abs());
                    let mean = s.max(zero) + ln_1p::<T, S>(simd, e);
                    (mean, s.simd_ge(zero).select(one, e) / (one + e))
                }
            };
            store::<T, S>(mean, &mut scratch.mu[c], i);
            store::<T, S>(slope, &mut scratch.link[c], i);
        }
    }
}

/// ln w of one vector of rows, and its slopes in the mean and the std of component c.
struct LogDensity<T: Lanes, S: Simd> {
    value: V<T, S>,
    mean: V<T, S>,
    std: V<T, S>,
    entropy: V<T, S>,
    entropy_mean: V<T, S>,
    entropy_std: V<T, S>,
}

#[inline(always)]
fn log_density<T: Lanes, S: Simd>(simd: S, family: Family, a: V<T, S>, mu: V<T, S>, std: f64) -> LogDensity<T, S> {
    let s = |v: f64| splat::<T, S>(simd, T::of(v));
    match family {
        Family::Normal => {
            let z = (a - mu) * s(1.0 / std);
            let zz = z * z;
            LogDensity {
                value: zz.mul_add(s(-0.5), s(-std.ln())),
                mean: z * s(1.0 / std),
                std: (zz - s(1.0)) * s(1.0 / std),
                entropy: s(std.ln()),
                entropy_mean: s(0.0),
                entropy_std: s(0.0),
            }
        }
        Family::LogNormal => {
            let inverse = s(1.0) / mu;
            let ratio = s(std) * inverse;
            let r = ratio * ratio;
            let s2 = ln_1p::<T, S>(simd, r);
            let kk = (r + r) / (s(1.0) + r);
            let (s2_mean, s2_std) = (-(kk * inverse), kk * s(1.0 / std));
            let log_mu = ln::<T, S>(simd, mu);
            let log_s2 = ln::<T, S>(simd, s2);
            let z = s2.mul_add(s(0.5), a - log_mu);
            let inv_s2 = s(1.0) / s2;
            let zs = z * inv_s2;
            let half = s(0.5);
            let ds2 = (z * zs - s(1.0)) * inv_s2 * half;
            let d = half * inv_s2 - half;
            LogDensity {
                value: -(half * z * zs) - half * log_s2,
                mean: ds2 * s2_mean - zs * (half * s2_mean - inverse),
                std: (ds2 - half * zs) * s2_std,
                entropy: log_mu - half * s2 + half * log_s2,
                entropy_mean: inverse + d * s2_mean,
                entropy_std: d * s2_std,
            }
        }
    }
}

/// The row stage in vectors: weights, terms, sums and slopes of one strip, for plain forms.
#[inline(always)]
fn rows<T: Lanes, S: Simd>(simd: S, risk: &Risk, strip: &[Lane<T>], scratch: &mut Scratch<T>) -> bool {
    simd.vectorize(
        #[inline(always)]
        || {
            let (layout, q) = (risk.layout, risk.layout.actions);
            let s = |v: f64| splat::<T, S>(simd, T::of(v));
            let zero = s(0.0);
            let mut sums = [zero; 10];
            let guard = risk.question.estimator.normalise == Normalise::ByWeights;
            let limit = s(LOG_RANGE.min(T::HIGHEST.f64() / 3.0));
            let one_action = q == 1;
            let n = V::<T, S>::LEN;
            for i in 0..STRIP / V::<T, S>::LEN {
                let omega = load::<T, S>(simd, &strip[layout.omega()], i);
                let y = load::<T, S>(simd, &strip[layout.cost()], i);
                let mut log_w = -load::<T, S>(simd, &strip[layout.log_p()], i);
                let mut h = zero;
                let mut only = None;
                for c in 0..q {
                    let a = load::<T, S>(simd, &strip[layout.action() + c], i);
                    let mu = load::<T, S>(simd, &scratch.mu[c], i);
                    let l = log_density::<T, S>(simd, risk.family, a, mu, risk.std[c]);
                    log_w = log_w + l.value;
                    h = h + l.entropy;
                    if one_action {
                        only = Some(l);
                    }
                }
                if guard && omega.simd_gt(zero).select(log_w, zero).simd_gt(limit).any_true() {
                    return false;
                }
                let (v, dv) = transform::<T, S>(simd, &risk.question.estimator.weight, log_w);
                let t = v * y;
                let (ov, ot) = (omega * v, omega * t);
                sums[0] = sums[0] + omega;
                sums[1] = sums[1] + ot;
                sums[2] = sums[2] + ov;
                sums[3] = ot.mul_add(t, sums[3]);
                sums[4] = ot.mul_add(v, sums[4]);
                sums[5] = ov.mul_add(v, sums[5]);
                sums[6] = omega.mul_add(y, sums[6]);
                sums[7] = (omega * y).mul_add(y, sums[7]);
                sums[8] = ot.mul_add(y, sums[8]);
                sums[9] = omega.mul_add(h, sums[9]);
                let odv = omega * dv;
                for c in 0..q {
                    let l = match &only {
                        Some(l) => LogDensity { ..*l },
                        None => {
                            let a = load::<T, S>(simd, &strip[layout.action() + c], i);
                            let mu = load::<T, S>(simd, &scratch.mu[c], i);
                            log_density::<T, S>(simd, risk.family, a, mu, risk.std[c])
                        }
                    };
                    for (slot, &r) in risk.graded.iter().enumerate() {
                        let lane = slot * q + c;
                        if r == 9 {
                            store::<T, S>(omega * l.entropy_mean, &mut scratch.slope[lane], i);
                            add::<T, S>(simd, omega * l.entropy_std, &mut scratch.std_acc[lane * n..(lane + 1) * n]);
                            continue;
                        }
                        let coef = match r {
                            0 => odv * y,
                            1 => odv,
                            3 => odv * y * (t + t),
                            4 => odv * (t + v * y),
                            _ => odv * (v + v),
                        };
                        store::<T, S>(coef * l.mean, &mut scratch.slope[lane], i);
                        add::<T, S>(simd, coef * l.std, &mut scratch.std_acc[lane * n..(lane + 1) * n]);
                    }
                }
            }
            let into = &mut scratch.answer.sums;
            let fields = [
                &mut into.n,
                &mut into.t,
                &mut into.v,
                &mut into.tt,
                &mut into.tv,
                &mut into.vv,
                &mut into.y,
                &mut into.yy,
                &mut into.ty,
                &mut into.h,
            ];
            for (field, sum) in fields.into_iter().zip(sums) {
                *field += sum.reduce_sum().f64();
            }
            true
        },
    )
}

/// (v, dv / d ln w).
#[inline(always)]
fn transform<T: Lanes, S: Simd>(simd: S, weight: &Weight, log_w: V<T, S>) -> (V<T, S>, V<T, S>) {
    let s = |v: f64| splat::<T, S>(simd, T::of(v));
    let w = exp::<T, S>(simd, log_w);
    match *weight {
        Weight::Clip { cap } => {
            let over = w.simd_gt(s(cap));
            (over.select(s(cap), w), over.select(s(0.0), w))
        }
        Weight::SoftClip { cap, alpha } => {
            let over = w.simd_gt(s(cap));
            if !over.any_true() {
                return (w, w);
            }
            // ln(w + alpha - M) = ln w + ln(1 + (alpha - M)/w): in logs, so that no weight overflows
            let r = s(alpha - cap) * exp::<T, S>(simd, -log_w.max(s(cap.ln())));
            let log = log_w + ln::<T, S>(simd, s(1.0) + r);
            (over.select(s(alpha) * log, w), over.select(s(alpha) / (s(1.0) + r), w))
        }
        _ => (w, w),
    }
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
        add_sums(&mut scratch.answer.sums, &plain.terms.value, y, omega);
        for (slot, &r) in risk.graded.iter().enumerate() {
            for c in 0..q {
                scratch.slope[slot * q + c].0[i] = T::of(omega * plain.terms.graded(r, c));
                scratch.std[slot * q + c] += omega * plain.terms.graded(r, q + c);
            }
        }
    }
}

/// Adds the gradient in C of one strip and one action column to the accumulators.
#[inline(always)]
fn pull_back<T: Lanes, S: Simd>(simd: S, risk: &Risk, strip: &[Lane<T>], c: usize, scratch: &mut Scratch<T>) {
    let (k, q, d) = (risk.k, risk.layout.actions, risk.layout.features);
    let anchors = &T::anchors(&risk.typed)[c * k..(c + 1) * k];
    let Scratch { p, g, mu, inverse, slope, x, acc, .. } = scratch;
    simd.vectorize(
        #[inline(always)]
        || {
            for i in 0..STRIP / V::<T, S>::LEN {
                let mu = load::<T, S>(simd, &mu[c], i);
                for ((p, g), a) in p.iter().zip(g.iter_mut()).zip(anchors) {
                    let e = load::<T, S>(simd, p, i);
                    store::<T, S>(e * (splat::<T, S>(simd, *a) - mu), g, i);
                }
                let inv = load::<T, S>(simd, inverse, i);
                for (slot, x) in x.chunks_exact_mut(d).enumerate().take(risk.graded.len()) {
                    let s = load::<T, S>(simd, &slope[slot * q + c], i) * inv;
                    for (x, feature) in x.iter_mut().zip(strip) {
                        store::<T, S>(s * load::<T, S>(simd, feature, i), x, i);
                    }
                }
            }
        },
    );
    let columns = g.len();
    let n = V::<T, S>::LEN;
    for (x, acc) in x.chunks_exact(TILE_F).zip(acc.chunks_exact_mut(TILE_F * columns * n)) {
        for (j, g) in g.chunks_exact(TILE_J).enumerate() {
            tile::<T, S>(simd, x, g, acc, columns * n, j * TILE_J * n);
        }
    }
}

/// acc[f][j] += sum over the strip of x_f g_j, for one tile.
#[inline(always)]
fn tile<T: Lanes, S: Simd>(simd: S, x: &[Lane<T>], g: &[Lane<T>], acc: &mut [T], stride: usize, at: usize) {
    let (Ok(x), Ok(g)): (Result<&[Lane<T>; TILE_F], _>, Result<&[Lane<T>; TILE_J], _>) = (x.try_into(), g.try_into())
    else {
        return;
    };
    simd.vectorize(
        #[inline(always)]
        || {
            let n = V::<T, S>::LEN;
            let mut sum = [[splat::<T, S>(simd, T::ZERO); TILE_J]; TILE_F];
            for i in 0..STRIP / n {
                let xs = [load::<T, S>(simd, &x[0], i), load::<T, S>(simd, &x[1], i), load::<T, S>(simd, &x[2], i)];
                for j in 0..TILE_J {
                    let gj = load::<T, S>(simd, &g[j], i);
                    for f in 0..TILE_F {
                        sum[f][j] = xs[f].mul_add(gj, sum[f][j]);
                    }
                }
            }
            for f in 0..TILE_F {
                for j in 0..TILE_J {
                    add::<T, S>(simd, sum[f][j], &mut acc[f * stride + at + j * n..f * stride + at + (j + 1) * n]);
                }
            }
        },
    )
}

/// The same for the linear models, whose column c answers to mean c alone.
#[inline(always)]
fn pull_back_linear<T: Lanes, S: Simd>(simd: S, risk: &Risk, strip: &[Lane<T>], c: usize, scratch: &mut Scratch<T>) {
    let (q, d) = (risk.layout.actions, risk.layout.features);
    let n = V::<T, S>::LEN;
    let columns = scratch.g.len();
    let Scratch { link, slope, acc, .. } = scratch;
    simd.vectorize(
        #[inline(always)]
        || {
            for slot in 0..risk.graded.len() {
                for f in 0..d {
                    let mut sum = splat::<T, S>(simd, T::ZERO);
                    for i in 0..STRIP / n {
                        let s = load::<T, S>(simd, &slope[slot * q + c], i) * load::<T, S>(simd, &link[c], i);
                        sum = s.mul_add(load::<T, S>(simd, &strip[f], i), sum);
                    }
                    let at = ((slot * d + f) * columns + c) * n;
                    add::<T, S>(simd, sum, &mut acc[at..at + n]);
                }
            }
        },
    )
}

/// Reduces the accumulators into the answer.
#[inline(always)]
fn gather<T: Lanes, S: Simd>(simd: S, risk: &Risk, scratch: &mut Scratch<T>) {
    let (k, q, d) = (risk.k, risk.layout.actions, risk.layout.features);
    let n = V::<T, S>::LEN;
    let columns = scratch.g.len();
    let width = risk.width();
    for slot in 0..risk.graded.len() {
        let grads = &mut scratch.answer.grads[slot * width..(slot + 1) * width];
        for f in 0..d {
            for j in 0..k {
                let at = ((slot * d + f) * columns + j) * n;
                grads[f * k + j] = V::<T, S>::from_slice(simd, &scratch.acc[at..at + n]).reduce_sum().f64();
            }
        }
        for c in 0..q {
            let lane = slot * q + c;
            let fast = V::<T, S>::from_slice(simd, &scratch.std_acc[lane * n..(lane + 1) * n]).reduce_sum();
            grads[width - q + c] = scratch.std[lane] + fast.f64();
        }
    }
}
