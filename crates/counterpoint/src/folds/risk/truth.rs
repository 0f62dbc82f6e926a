//! The same sums in plain code, row by row, with the library's exponentials: what the kernel is held to.
//!
//! It is also the kernel's way out for weights that would overflow: here they are kept relative to the largest in the
//! block.

use super::super::design::{Columns, Design, Real, STRIP, Strips};
use super::super::rows::{Row, Terms, log_weight};
use super::{Partial, Risk};
use crate::engine::{Engine, Fold};
use crate::error::Result;
use crate::estimate::{Normalise, Weight};
use crate::policy::Mean;

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
    psi: Vec<f64>,
    a: Vec<f64>,
    s: Vec<f64>,
    mu: Vec<f64>,
    slopes: Vec<f64>,
    terms: Terms,
}

impl<'a> Worker<'a> {
    fn new(risk: &'a Risk) -> Self {
        let q = risk.layout.actions;
        Worker {
            risk,
            psi: vec![0.0; risk.layout.features],
            a: vec![0.0; q],
            s: vec![0.0; risk.k],
            mu: vec![0.0; q],
            slopes: vec![0.0; risk.k * q],
            terms: Terms::new(q),
        }
    }

    /// Loads row i: features and action, then scores and means.
    fn score<T: Real>(&mut self, b: &Strips<T>, i: usize) {
        let layout = self.risk.layout;
        for (f, v) in self.psi.iter_mut().enumerate() {
            *v = lane(b, layout.lanes(), i, f);
        }
        for (c, v) in self.a.iter_mut().enumerate() {
            *v = lane(b, layout.lanes(), i, layout.action() + c);
        }
        let k = self.risk.k;
        self.s.fill(0.0);
        for (x, c) in self.psi.iter().zip(self.risk.c.chunks_exact(k)) {
            for j in 0..k {
                self.s[j] += x * c[j];
            }
        }
        self.risk.mean.from_scores(&self.s, &mut self.mu, &mut self.slopes);
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
    let (q, k, layout) = (risk.layout.actions, risk.k, risk.layout);
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
        out.sums.add(w.terms.value, row.y, omega);
        for (slot, &r) in risk.graded.iter().enumerate() {
            let grads = &mut out.grads[slot * width..(slot + 1) * width];
            for c in 0..q {
                let slope = omega * w.terms.graded(r, c);
                if matches!(risk.mean, Mean::Linear { .. }) {
                    let slope = slope * w.slopes[c * k + c];
                    for (f, x) in w.psi.iter().enumerate() {
                        grads[f * k + c] += slope * x;
                    }
                } else {
                    for (f, x) in w.psi.iter().enumerate() {
                        for j in 0..k {
                            grads[f * k + j] += slope * w.slopes[c * k + j] * x;
                        }
                    }
                }
                grads[width - q + c] += omega * w.terms.graded(r, q + c);
            }
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
    pub(crate) terms: Terms,
}

impl<'a> PlainRows<'a> {
    pub(crate) fn new(risk: &'a Risk) -> Self {
        PlainRows { risk, a: vec![0.0; risk.layout.actions], terms: Terms::new(risk.layout.actions) }
    }

    /// Fills the terms of row i of the block from its means; returns (y, omega).
    pub(crate) fn fill<T: Real>(&mut self, b: &Strips<T>, i: usize, mu: &[f64]) -> (f64, f64) {
        let layout = self.risk.layout;
        for (c, v) in self.a.iter_mut().enumerate() {
            *v = lane(b, layout.lanes(), i, layout.action() + c);
        }
        let row = Worker::row(self.risk, &self.a, b, i);
        self.terms.fill(&self.risk.question, self.risk.family, &row, mu, &self.risk.std, 0.0);
        (row.y, lane(b, layout.lanes(), i, layout.omega()))
    }
}
