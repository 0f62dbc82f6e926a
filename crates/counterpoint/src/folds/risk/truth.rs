//! The same sums in plain code, row by row, with the library's exponentials: what the kernel is held to.
//!
//! It is also the kernel's way out for weights that would overflow: here they are kept relative to the largest in the
//! block.

use super::super::design::{Columns, Design, Strips};
use super::super::rows::{Row, Terms, log_weight};
use super::{Partial, Risk};
use crate::engine::{Engine, Fold};
use crate::error::Result;
use crate::estimate::{Normalise, Weight};
use crate::vector::{Real, STRIP};

/// Beyond this, ln w is too close to the end of the floating-point range for plain sums of squares.
pub(crate) const LOG_RANGE: f64 = 300.0;

/// Asks the question with the plain loop.
pub fn ask(risk: &Risk, engine: &Engine, design: &Design) -> Result<Partial> {
    design.check(risk.made_for)?;
    Ok(match &design.columns {
        Columns::F64(blocks) => engine.ask(&Truth(risk), blocks),
        Columns::F32(blocks) => engine.ask(&Truth(risk), blocks),
    })
}

struct Truth<'a>(&'a Risk);

impl<T: Real> Fold<Strips<T>> for Truth<'_> {
    type Partial = Partial;
    fn zero(&self) -> Partial {
        Partial::empty(self.0)
    }
    fn add(&self, b: &Strips<T>, into: &mut Partial) {
        into.merge(&block(self.0, b), self.0);
    }
    fn merge(&self, other: &Partial, into: &mut Partial) {
        into.merge(other, self.0);
    }
}

/// Everything one row needs, reused from row to row.
struct Worker<'a> {
    risk: &'a Risk,
    /// Contexts, where features are made of them.
    x: Vec<f64>,
    psi: Vec<f64>,
    a: Vec<f64>,
    mu: Vec<f64>,
    /// What the mean model wants to find again on the way back.
    cache: Vec<f64>,
    slope: Vec<f64>,
    terms: Terms,
}

impl<'a> Worker<'a> {
    fn new(risk: &'a Risk) -> Self {
        let q = risk.layout.actions;
        Worker {
            risk,
            x: vec![0.0; risk.layout.held],
            psi: vec![0.0; risk.layout.features],
            a: vec![0.0; q],
            mu: vec![0.0; q],
            cache: vec![0.0; risk.mean.model().cache(risk.size())],
            slope: vec![0.0; q],
            terms: Terms::new(q),
        }
    }

    /// Loads row i: features and action, then the means.
    fn score<T: Real>(&mut self, b: &Strips<T>, i: usize) {
        let layout = self.risk.layout;
        let held = if layout.multiplies() { &mut self.x } else { &mut self.psi };
        for (f, v) in held.iter_mut().enumerate() {
            *v = lane(b, layout.lanes(), i, f);
        }
        if layout.multiplies() {
            self.risk.mean.map().apply(&self.x, &mut self.psi);
        }
        for (c, v) in self.a.iter_mut().enumerate() {
            *v = lane(b, layout.lanes(), i, layout.action() + c);
        }
        self.risk.mean.model().row(&self.risk.formed, &self.psi, &mut self.mu, &mut self.cache);
    }

    fn row<'b, T: Real>(risk: &Risk, a: &'b [f64], b: &'b Strips<T>, i: usize) -> Row<'b> {
        let (layout, q) = (risk.layout, risk.layout.actions);
        let model = b.model.as_ref().map(|m| {
            let width = m.c.len() / m.eta.len();
            let logging = if m.logging.is_empty() { &[][..] } else { &m.logging[i * q..(i + 1) * q] };
            (m.eta[i], &m.c[i * width..(i + 1) * width], logging)
        });
        Row {
            a,
            log_p: lane(b, layout.lanes(), i, layout.log_p()),
            y: lane(b, layout.lanes(), i, layout.cost()),
            baseline: b.baseline,
            model,
        }
    }
}

fn lane<T: Real>(b: &Strips<T>, lanes: usize, row: usize, column: usize) -> f64 {
    b.lanes[row / STRIP * lanes + column].0[row % STRIP].f64()
}

/// The sums of one block.
pub(crate) fn block<T: Real>(risk: &Risk, b: &Strips<T>) -> Partial {
    let mut w = Worker::new(risk);
    let mut out = Partial { rows: b.rows as u64, fingerprint: b.fingerprint, ..Partial::empty(risk) };
    let (q, layout) = (risk.layout.actions, risk.layout);
    out.sums.scale = scale(&mut w, b);
    let width = risk.width();
    for i in 0..b.rows {
        let omega = lane(b, layout.lanes(), i, layout.omega());
        if omega == 0.0 {
            continue; // a row of weight 0 is not there, even if its terms are infinite
        }
        w.score(b, i);
        let row = Worker::row(risk, &w.a, b, i);
        w.terms.fill(&risk.question, risk.family, &row, &w.mu, &risk.std, out.sums.scale);
        out.sums.add(&w.terms.value, row.y, omega);
        for (&sum, grads) in risk.graded.iter().zip(out.grads.chunks_exact_mut(width)) {
            let (entries, stds) = grads.split_at_mut(width - q);
            for c in 0..q {
                w.slope[c] = omega * w.terms.graded(sum, c);
                stds[c] += omega * w.terms.graded(sum, q + c);
            }
            risk.mean.model().back(&w.psi, &w.cache, &w.slope, entries);
        }
    }
    out
}

/// The scale of the weights of a block: 0, or the largest ln w where plain weights would leave the range.
fn scale<T: Real>(w: &mut Worker, b: &Strips<T>) -> f64 {
    let risk = w.risk;
    if risk.question.estimator.normalise != Normalise::ByWeights || risk.question.estimator.weight != Weight::Raw {
        return 0.0;
    }
    let mut top = f64::NEG_INFINITY;
    for i in (0..b.rows).filter(|&i| lane(b, risk.layout.lanes(), i, risk.layout.omega()) > 0.0) {
        w.score(b, i);
        let row = Worker::row(risk, &w.a, b, i);
        top = top.max(log_weight(risk.family, &row, &w.mu, &risk.std, &mut w.terms.log_w));
    }
    if top.abs() > LOG_RANGE && top.is_finite() { top } else { 0.0 }
}

/// The terms of one row, for the kernel's plain row stage.
pub(crate) struct PlainRows<'a> {
    risk: &'a Risk,
    a: Vec<f64>,
    mu: Vec<f64>,
    pub(crate) terms: Terms,
}

impl<'a> PlainRows<'a> {
    pub(crate) fn new(risk: &'a Risk) -> Self {
        let q = risk.layout.actions;
        PlainRows { risk, a: vec![0.0; q], mu: vec![0.0; q], terms: Terms::new(q) }
    }

    /// Fills the terms of row i of the block from its means; returns (y, omega).
    pub(crate) fn fill<T: Real>(&mut self, b: &Strips<T>, i: usize, mu: impl Iterator<Item = f64>) -> (f64, f64) {
        self.mu.iter_mut().zip(mu).for_each(|(to, m)| *to = m);
        let layout = self.risk.layout;
        for (c, v) in self.a.iter_mut().enumerate() {
            *v = lane(b, layout.lanes(), i, layout.action() + c);
        }
        let row = Worker::row(self.risk, &self.a, b, i);
        self.terms.fill(&self.risk.question, self.risk.family, &row, &self.mu, &self.risk.std, 0.0);
        (row.y, lane(b, layout.lanes(), i, layout.omega()))
    }
}
