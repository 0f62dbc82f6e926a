//! The row stage in vectors, for plain forms and simple ones with a loss model: from means to weights, terms, sums and slopes.
//!
//! Three short loops over the strip rather than one long one: log weights, weights, terms. Each has few steps that wait
//! for each other, so that the processor works on several vectors at once.

use super::model::Part;
use super::{Lanes, Scratch, total};
use crate::estimate::{Form, Normalise, Sum, Sums, Weight};
use crate::folds::design::Strips;
use crate::folds::risk::Risk;
use crate::folds::risk::truth::LOG_RANGE;
use crate::math;
use crate::policy::{Column, Member, Spread, Visit};
use crate::vector::math::{at_least, exp, exp_negative, ln, ln_1p};
use crate::vector::{Elementary, Lane, STRIP, V, add_up, load, parts, splat, store, turns, vectors, width};
use fearless_simd::{Select, Simd, SimdBase, SimdFloat, SimdMask};

/// The sums that are kept here; those of the costs alone are in the design.
#[derive(Clone, Copy)]
enum Kept {
    T,
    V,
    TT,
    TV,
    VV,
    TY,
    H,
}

const KEPT: usize = 7;

/// What the row stage keeps of a strip and of a block.
pub(super) struct Stage<T> {
    /// ln w, then v; and dv / d ln w times the row weight.
    v: Lane<T>,
    dv: Lane<T>,
    /// Slopes of ln w and of the entropy in mean c and std c: lanes 2 c and 2 c + 1.
    log_w: Vec<Lane<T>>,
    entropy: Vec<Lane<T>>,
    /// The entropy of a row, where it depends on the row.
    h: Lane<T>,
    /// What a loss model says, and the row's term with it.
    part: Part<T>,
    t: Lane<T>,
    /// Virtual vectors of the sums.
    sums: Vec<T>,
}

impl<T: Elementary> Default for Stage<T> {
    fn default() -> Self {
        let lane = Lane::ZERO;
        Stage {
            v: lane,
            dv: lane,
            log_w: Vec::new(),
            entropy: Vec::new(),
            h: lane,
            part: Part::default(),
            t: lane,
            sums: Vec::new(),
        }
    }
}

impl<T: Elementary> Stage<T> {
    /// Makes room for q action columns.
    pub(super) fn fit(&mut self, q: usize) {
        for lanes in [&mut self.log_w, &mut self.entropy] {
            lanes.clear();
            lanes.resize(2 * q, Lane::ZERO);
        }
        self.h = Lane::ZERO;
        self.sums.resize(KEPT * width::<T>(), T::ZERO);
    }

    /// Starts the sums of a block.
    pub(super) fn start(&mut self) {
        self.sums.fill(T::ZERO);
    }

    /// The sums of a block; `costs` are those of the row weights, the costs and their squares.
    #[inline(always)]
    pub(super) fn total<S: Simd>(&self, simd: S, [n, y, yy]: [f64; 3]) -> Sums {
        let [t, v, tt, tv, vv, ty, h] = [Kept::T, Kept::V, Kept::TT, Kept::TV, Kept::VV, Kept::TY, Kept::H]
            .map(|k| &self.sums[k as usize * width::<T>()..(k as usize + 1) * width::<T>()]);
        Sums {
            n,
            t: total::<T, S>(simd, t),
            v: total::<T, S>(simd, v),
            tt: total::<T, S>(simd, tt),
            tv: total::<T, S>(simd, tv),
            vv: total::<T, S>(simd, vv),
            y,
            yy,
            ty: total::<T, S>(simd, ty),
            h: total::<T, S>(simd, h),
            ..Sums::default()
        }
    }
}

/// One strip; false if a weight left the range in which plain sums are safe.
#[inline(never)]
pub(super) fn rows<T: Lanes, S: Simd>(
    simd: S,
    risk: &Risk,
    std: &[Spread<T>],
    (b, first): (&Strips<T>, usize),
    scratch: &mut Scratch<T>,
) -> bool {
    let layout = risk.layout;
    let strip = &b.lanes[first / STRIP * layout.lanes()..][..layout.lanes()];
    let model = risk.question.model.as_ref().zip(b.model.as_ref()).filter(|_| risk.modelled);
    if let Some((_, rows)) = model {
        scratch.rows.part.fetch(rows, first);
    }
    let (omega, y) = (&strip[layout.omega()], &strip[layout.cost()]);
    simd.vectorize(
        #[inline(always)]
        || {
            let Scratch { mu, rows, slope, std_acc, .. } = scratch;
            let std_acc = bytemuck::cast_slice_mut::<Lane<T>, T>(std_acc);
            // ln w = sum over columns of ln pi(a | x), minus ln p: start from the second, the columns add theirs
            for i in 0..vectors::<T, S>() {
                store::<T, S>(-load::<T, S>(simd, &strip[layout.log_p()], i), &mut rows.v, i);
            }
            if risk.family.entropy_varies() {
                rows.h = Lane::ZERO;
            }
            for c in 0..layout.actions {
                let a = &strip[layout.action() + c];
                risk.family.visit(Density::<T, S>(simd, column(rows, a, &mu[c], std[c], c)));
            }
            // a ratio of sums can be right although both overflow, so this is found out before the weights leave logs
            if risk.question.estimator.normalise == Normalise::ByWeights && beyond::<T, S>(simd, omega, &rows.v) {
                return false;
            }
            // the one place where weights leave logs
            weights::<T, S>(simd, &risk.question.estimator.weight, rows);
            let q = layout.actions;
            if let Some((model, _)) = model {
                // the direct method has no weighted part, not even of a weight that is infinite
                let weighted = risk.question.estimator.form != Form::Model;
                rows.part.expect::<S>(simd, model, (b.baseline, std[0].value.f64()), &mu[0], y);
                terms::<T, S>(simd, weighted, rows);
                sums::<true, T, S>(simd, omega, y, rows);
                for (slot, &sum) in risk.graded.iter().enumerate() {
                    let acc = &mut std_acc[slot * width::<T>()..(slot + 1) * width::<T>()];
                    model_slopes::<T, S>(simd, (sum, weighted), omega, rows, &mut slope[slot], acc);
                }
                return true;
            }
            sums::<false, T, S>(simd, omega, y, rows);
            for (slot, &sum) in risk.graded.iter().enumerate() {
                for c in 0..q {
                    let lane = slot * q + c;
                    let acc = &mut std_acc[lane * width::<T>()..(lane + 1) * width::<T>()];
                    slopes::<T, S>(simd, (sum, c), (omega, y), rows, &mut slope[lane], acc);
                }
            }
            true
        },
    )
}

/// Adds ln of the density of an action column to ln w, and notes its slopes; the same of the entropy, where it varies.
struct Density<'a, T: Lanes, S: Simd>(S, Column<'a, T>);

impl<T: Lanes, S: Simd> Visit for Density<'_, T, S> {
    type Out = ();
    #[inline(always)]
    fn see<M: Member>(mut self, member: M) {
        member.strip::<T, S>(self.0, &mut self.1);
    }
}

/// The lanes of action column c.
#[inline(always)]
fn column<'a, T: Lanes>(
    rows: &'a mut Stage<T>,
    a: &'a Lane<T>,
    mu: &'a Lane<T>,
    std: Spread<T>,
    c: usize,
) -> Column<'a, T> {
    let [mean, of_std] = pair(&mut rows.log_w, c);
    let [h_mean, h_std] = pair(&mut rows.entropy, c);
    let (log_w, h) = (&mut rows.v, &mut rows.h);
    Column { a, mu, std, log_w, slopes: [mean, of_std], h, h_slopes: [h_mean, h_std] }
}

/// Lanes 2 c and 2 c + 1.
#[inline(always)]
fn pair<T>(lanes: &mut [Lane<T>], c: usize) -> [&mut Lane<T>; 2] {
    let (mean, std) = lanes[2 * c..].split_at_mut(1);
    [&mut mean[0], &mut std[0]]
}

/// Whether a row that counts has a weight too large for plain sums of squares.
#[inline(always)]
fn beyond<T: Lanes, S: Simd>(simd: S, omega: &Lane<T>, log_w: &Lane<T>) -> bool {
    let zero = splat::<T, S>(simd, T::ZERO);
    let limit = splat::<T, S>(simd, T::of(LOG_RANGE.min(T::HIGHEST.f64() / 3.0)));
    let mut top = zero;
    for i in 0..vectors::<T, S>() {
        // rows of weight 0, the padding of a short strip among them, are in no sum
        let counts = load::<T, S>(simd, omega, i).simd_gt(zero);
        top = at_least::<T, S>(counts.select(load::<T, S>(simd, log_w, i), zero), top);
    }
    top.simd_gt(limit).any_true()
}

/// ln w becomes v, and dv / d ln w is noted. Transforms without vector code of their own are applied row by row.
#[inline(always)]
fn weights<T: Lanes, S: Simd>(simd: S, weight: &Weight, rows: &mut Stage<T>) {
    match *weight {
        Weight::Raw => transform::<T, S>(simd, rows, |_, w| (w, w)),
        Weight::Clip { cap } => {
            let (cap, zero) = (splat::<T, S>(simd, T::of(cap)), splat::<T, S>(simd, T::ZERO));
            transform::<T, S>(simd, rows, |_, w| {
                let over = w.simd_gt(cap);
                (over.select(cap, w), over.select(zero, w))
            });
        }
        Weight::SoftClip { cap, alpha } => soft_clip::<T, S>(simd, cap, alpha, rows),
        Weight::Switch { tau } => {
            let (tau, zero) = (splat::<T, S>(simd, T::of(tau)), splat::<T, S>(simd, T::ZERO));
            transform::<T, S>(simd, rows, |_, w| {
                let over = w.simd_gt(tau);
                (over.select(zero, w), over.select(zero, w))
            });
        }
        // at the ends of lambda one of the two parts is not there, and its logarithm is none
        Weight::PowerMean { lambda, s } if lambda > 0.0 && lambda < 1.0 => power_mean::<T, S>(simd, lambda, s, rows),
        _ => {
            for (v, dv) in rows.v.0.iter_mut().zip(&mut rows.dv.0) {
                let (value, slope) = weight.apply(v.f64());
                (*v, *dv) = (T::of(value), T::of(slope));
            }
        }
    }
}

/// Applies a transform of (ln w, w) to every vector of the strip.
#[inline(always)]
fn transform<T: Lanes, S: Simd>(simd: S, rows: &mut Stage<T>, f: impl Fn(V<T, S>, V<T, S>) -> (V<T, S>, V<T, S>)) {
    let Stage { v, dv, .. } = rows;
    for i in 0..vectors::<T, S>() {
        let log_w = load::<T, S>(simd, v, i);
        let (value, slope) = f(log_w, exp::<T, S>(simd, log_w));
        store::<T, S>(value, v, i);
        store::<T, S>(slope, dv, i);
    }
}

/// ln v = ln((1 - lambda) w^s + lambda) / s, by log-sum-exp: of the two parts the smaller one is exponentiated.
#[inline(always)]
fn power_mean<T: Lanes, S: Simd>(simd: S, lambda: f64, s: f64, rows: &mut Stage<T>) {
    let of = |v: f64| splat::<T, S>(simd, T::of(v));
    let Stage { v, dv, .. } = rows;
    for i in 0..vectors::<T, S>() {
        let log_w = load::<T, S>(simd, v, i);
        let (value, slope) = if s == 0.0 {
            let w = exp::<T, S>(simd, of(1.0 - lambda) * log_w);
            (w, of(1.0 - lambda) * w)
        } else {
            let a = of(s).mul_add_precise(log_w, of(math::ln(1.0 - lambda)));
            let b = of(math::ln(lambda));
            let sum = at_least::<T, S>(a, b) + ln_1p::<T, S>(simd, exp_negative::<T, S>(simd, -(a - b).abs()));
            let w = exp::<T, S>(simd, sum * of(1.0 / s));
            (w, w * exp::<T, S>(simd, a - sum))
        };
        store::<T, S>(value, v, i);
        store::<T, S>(slope, dv, i);
    }
}

#[inline(always)]
fn soft_clip<T: Lanes, S: Simd>(simd: S, cap: f64, alpha: f64, rows: &mut Stage<T>) {
    let s = |v: f64| splat::<T, S>(simd, T::of(v));
    transform::<T, S>(
        simd,
        rows,
        #[inline(always)]
        |log_w, w| {
            let over = w.simd_gt(s(cap));
            // most strips have no weight beyond the cap, and skip the second exponential and the logarithm
            if over.any_true() {
                // ln(w + alpha - M) = ln w + ln(1 + (alpha - M)/w): in logs, so that no weight overflows
                let r = s(alpha - cap) * exp::<T, S>(simd, -at_least::<T, S>(log_w, s(math::ln(cap))));
                let log = log_w + ln::<T, S>(simd, s(1.0) + r);
                (over.select(s(alpha) * log, w), over.select(s(alpha) / (s(1.0) + r), w))
            } else {
                (w, w)
            }
        },
    );
}

/// The row's term with a loss model: the weighted residual, and the model's expectation.
#[inline(always)]
fn terms<T: Lanes, S: Simd>(simd: S, weighted: bool, rows: &mut Stage<T>) {
    let Stage { v, part, t, .. } = rows;
    for i in 0..vectors::<T, S>() {
        let g = load::<T, S>(simd, &part.g[0], i);
        let with = load::<T, S>(simd, v, i).mul_add_precise(load::<T, S>(simd, &part.residual, i), g);
        store::<T, S>(if weighted { with } else { g }, t, i);
    }
}

/// Adds the strip to the sums; dv is multiplied by the row weight. `TERM`: the row's term is known already.
#[inline(always)]
fn sums<const TERM: bool, T: Lanes, S: Simd>(simd: S, omega: &Lane<T>, y: &Lane<T>, rows: &mut Stage<T>) {
    let Stage { v, dv, h, sums: acc, t, .. } = rows;
    let (n, w) = (V::<T, S>::LEN, width::<T>());
    for part in 0..parts::<T, S>() {
        let mut sums = [splat::<T, S>(simd, T::ZERO); KEPT];
        for turn in 0..turns::<T>() {
            let i = turn * parts::<T, S>() + part;
            let (omega, y) = (load::<T, S>(simd, omega, i), load::<T, S>(simd, y, i));
            let v = load::<T, S>(simd, v, i);
            let t = if TERM { load::<T, S>(simd, t, i) } else { v * y };
            // the row weight goes in once: a row of weight 2 is two equal rows, not a row of twice the cost
            let (ov, ot) = (omega * v, omega * t);
            let mut fma = |k: Kept, a: V<T, S>, b: V<T, S>| sums[k as usize] = a.mul_add_precise(b, sums[k as usize]);
            fma(Kept::TT, ot, t);
            fma(Kept::TV, ot, v);
            fma(Kept::VV, ov, v);
            fma(Kept::TY, ot, y);
            fma(Kept::H, omega, load::<T, S>(simd, h, i));
            sums[Kept::T as usize] += ot;
            sums[Kept::V as usize] += ov;
            store::<T, S>(omega * load::<T, S>(simd, dv, i), dv, i);
        }
        // registers through the strip, memory once at its end
        for (sum, acc) in sums.iter().zip(acc.chunks_exact_mut(w)) {
            let acc = &mut acc[part * n..(part + 1) * n];
            (V::<T, S>::from_slice(simd, acc) + *sum).store_slice(acc);
        }
    }
}

/// The same of terms with a loss model, which has slopes of its own; one action column.
#[inline(always)]
fn model_slopes<T: Lanes, S: Simd>(
    simd: S,
    (graded, weighted): (Sum, bool),
    omega: &Lane<T>,
    rows: &Stage<T>,
    slope: &mut Lane<T>,
    acc: &mut [T],
) {
    let of = if graded == Sum::H { &rows.entropy } else { &rows.log_w };
    let (mean, std, g) = (&of[0], &of[1], &rows.part.g);
    let zero = splat::<T, S>(simd, T::ZERO);
    add_up::<T, S>(
        simd,
        acc,
        #[inline(always)]
        |i, sum| {
            let (v, dv, t) =
                (load::<T, S>(simd, &rows.v, i), load::<T, S>(simd, &rows.dv, i), load::<T, S>(simd, &rows.t, i));
            let omega = load::<T, S>(simd, omega, i);
            // d sum / d ln w and d sum / d g of the row; dv has the row weight in it
            let dt = if weighted { dv * load::<T, S>(simd, &rows.part.residual, i) } else { zero };
            let (coef, in_g) = match graded {
                Sum::T => (dt, omega),
                Sum::V => (dv, zero),
                Sum::TT => (dt * (t + t), omega * (t + t)),
                Sum::TV => (dv * t + v * dt, omega * v),
                Sum::VV => (dv * (v + v), zero),
                Sum::H => (omega, zero),
                // means by rows have the model in their term
                Sum::G | Sum::GG | Sum::TG | Sum::VG => (zero, zero),
            };
            let of_mean = coef * load::<T, S>(simd, mean, i);
            store::<T, S>(in_g.mul_add_precise(load::<T, S>(simd, &g[1], i), of_mean), slope, i);
            let sum = coef.mul_add_precise(load::<T, S>(simd, std, i), sum);
            in_g.mul_add_precise(load::<T, S>(simd, &g[2], i), sum)
        },
    );
}

/// Slopes of a graded sum in mean c (to lane `slope`) and in std c (to its accumulator).
#[inline(always)]
fn slopes<T: Lanes, S: Simd>(
    simd: S,
    (graded, c): (Sum, usize),
    (omega, y): (&Lane<T>, &Lane<T>),
    rows: &Stage<T>,
    slope: &mut Lane<T>,
    acc: &mut [T],
) {
    let of = if graded == Sum::H { &rows.entropy } else { &rows.log_w };
    let (mean, std) = (&of[2 * c], &of[2 * c + 1]);
    add_up::<T, S>(
        simd,
        acc,
        #[inline(always)]
        |i, sum| {
            let (v, dv) = (load::<T, S>(simd, &rows.v, i), load::<T, S>(simd, &rows.dv, i));
            let y = load::<T, S>(simd, y, i);
            let vy = v * y;
            // d sum / d ln w of the row; dv has the row weight in it, so the other factors must not
            let coef = match graded {
                Sum::T => dv * y,
                Sum::V => dv,
                Sum::TT => dv * y * (vy + vy),
                Sum::TV => dv * (vy + vy),
                Sum::VV => dv * (v + v),
                Sum::H => load::<T, S>(simd, omega, i),
                // the plain form has no model part
                Sum::G | Sum::GG | Sum::TG | Sum::VG => splat::<T, S>(simd, T::ZERO),
            };
            store::<T, S>(coef * load::<T, S>(simd, mean, i), slope, i);
            coef.mul_add_precise(load::<T, S>(simd, std, i), sum)
        },
    );
}
