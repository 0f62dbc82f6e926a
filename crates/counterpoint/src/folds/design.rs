//! Rows as the kernel wants them: features computed once, columns in short contiguous lanes, padded.
//!
//! A block of the log becomes a run of *strips* of [`STRIP`] rows. A strip holds its columns one after the other (features,
//! actions, log propensity, cost, row weight), each a [`Lane`], so that everything a strip needs is one contiguous piece
//! of memory that fits the first cache. Where features are products of contexts, the scaled contexts are held in their place, and multiplied where
//! the strip is worked on: ten million rows come from memory, and memory is slower than a product. The last strip is padded with rows of weight 0, which take part in every sum
//! with exactly nothing.
//!
//! What does not depend on theta is folded in here: actions are held as the family sees them (ln a for the log-normal), and
//! what its log density loses whatever the policy (constants, the Jacobian ln a) moves into the log propensity. Costs are
//! held relative to a baseline.

use super::rows::{Question, RiskSpec};
use crate::data::{Block, Log, Span};
use crate::engine::Placed;
use crate::error::{Error, Result};
use crate::policy::Policy;
use crate::rng::hash;
use crate::vector::{Lane, Real, STRIP};
use serde::{Deserialize, Serialize};

/// In what precision rows are held and scored. Sums across blocks are f64 always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Double precision.
    #[default]
    F64,
    /// Single precision columns: half the memory, nearly twice the speed, about six digits.
    F32,
}

/// The rows of one block.
pub(crate) struct Strips<T> {
    /// The place of the block in the log.
    pub(crate) index: u64,
    pub(crate) rows: usize,
    pub(crate) fingerprint: u64,
    /// What was subtracted from every cost.
    pub(crate) baseline: f64,
    pub(crate) lanes: Span<Lane<T>>,
    /// The largest |feature| of each strip, strip by strip: bounds the scores before they are computed.
    pub(crate) reach: Span<T>,
    /// Sums that no policy changes: row weights, costs, squared costs.
    pub(crate) totals: [f64; 3],
    /// What only estimators with a loss model need.
    pub(crate) model: Option<ModelRows>,
}

impl<T> Placed for Strips<T> {
    fn index(&self) -> u64 {
        self.index
    }
}

/// Per row: eta(x, a), the kernel coefficients c(x), the mean of the logging policy.
pub(crate) struct ModelRows {
    pub(crate) eta: Vec<f64>,
    pub(crate) c: Vec<f64>,
    pub(crate) logging: Vec<f64>,
}

/// Which lane is which.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Layout {
    /// d_X
    pub(crate) features: usize,
    /// Columns they are made of: the features themselves, or the contexts.
    pub(crate) held: usize,
    /// q
    pub(crate) actions: usize,
}

impl Layout {
    /// The lanes of policies of this structure.
    pub(crate) fn of(policy: &Policy) -> Self {
        let map = policy.mean.map();
        let features = map.dim(policy.d());
        let held = if map.is_products() { policy.d() } else { features };
        Layout { features, held, actions: policy.q() }
    }
    /// Whether features are made of contexts.
    pub(crate) fn multiplies(self) -> bool {
        self.held < self.features
    }
    pub(crate) fn action(self) -> usize {
        self.held
    }
    pub(crate) fn log_p(self) -> usize {
        self.held + self.actions
    }
    pub(crate) fn cost(self) -> usize {
        self.log_p() + 1
    }
    pub(crate) fn omega(self) -> usize {
        self.log_p() + 2
    }
    pub(crate) fn lanes(self) -> usize {
        self.log_p() + 3
    }
}

pub(crate) enum Columns {
    F64(Vec<Strips<f64>>),
    F32(Vec<Strips<f32>>),
}

/// A log made ready for one policy structure and one question.
pub struct Design {
    pub(crate) columns: Columns,
    /// Costs are held as y - baseline.
    baseline: f64,
    rows: usize,
    made_for: MadeFor,
}

/// What the columns of a design depend on, as hashes: a question that needs other columns must not be asked of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MadeFor {
    /// The family (which decides how actions are seen), the scaling and the context map.
    rows: u64,
    /// The loss model and the logging policy, where the estimator needs them.
    model: Option<u64>,
}

impl MadeFor {
    pub(crate) fn of(question: &Question, policy: &Policy) -> Self {
        let model = question.estimator.needs_model().then(|| digest(&(&question.model, &question.logging)));
        MadeFor { rows: digest(&(policy.family, &policy.scaler, policy.mean.map(), policy.q())), model }
    }

    /// Whether columns made for this serve `other`. A question without a loss model can be asked where there is one.
    fn serves(self, other: MadeFor) -> bool {
        self.rows == other.rows && (other.model.is_none() || self.model == other.model)
    }
}

/// A hash of a value as it is written down.
fn digest(value: &impl Serialize) -> u64 {
    // plain data with finite numbers: it cannot fail to serialise, and if it did, all failures would be one value
    let text = serde_json::to_vec(value).unwrap_or_default();
    text.iter().fold(text.len() as u64, |h, b| hash(h, u64::from(*b)))
}

impl Design {
    /// Computes the features of every row of `log` for the maps of `policy` (its theta does not matter).
    ///
    /// A row whose action lies outside the support of the family is an error that names it.
    pub fn new(log: &Log, policy: &Policy, question: &Question, baseline: f64, precision: Precision) -> Result<Self> {
        if log.d() != policy.d() || log.q() != policy.q() {
            return Err(Error::data(format!(
                "the log has {} contexts and {} actions, the policy {} and {}",
                log.d(),
                log.q(),
                policy.d(),
                policy.q()
            )));
        }
        question.check(policy)?;
        let layout = Layout::of(policy);
        let columns = match precision {
            Precision::F64 => Columns::F64(strips(log, policy, question, baseline, layout)?),
            Precision::F32 => Columns::F32(strips(log, policy, question, baseline, layout)?),
        };
        Ok(Design { columns, baseline, rows: log.rows(), made_for: MadeFor::of(question, policy) })
    }

    /// The design that a specification asks for: all that another machine needs to be told about its rows.
    pub fn from_spec(log: &Log, spec: &RiskSpec) -> Result<Self> {
        Self::new(log, &spec.policy, &spec.question, spec.baseline, spec.precision)
    }

    /// Refuses to serve a question whose columns are others: another family, scaling, map or loss model.
    pub(crate) fn check(&self, asked: MadeFor) -> Result<()> {
        if self.made_for.serves(asked) {
            return Ok(());
        }
        Err(Error::recipe("estimator", "the design was made for another question or policy"))
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// What was subtracted from every cost.
    pub fn baseline(&self) -> f64 {
        self.baseline
    }
}

fn strips<T: Real>(
    log: &Log,
    policy: &Policy,
    question: &Question,
    baseline: f64,
    layout: Layout,
) -> Result<Vec<Strips<T>>> {
    let Some(scratch) = log.scratch() else {
        return log.blocks().iter().map(|b| block(b, policy, question, baseline, layout, log)).collect();
    };
    let mut spill = scratch.open()?;
    let mut strips: Vec<Strips<T>> = Vec::with_capacity(log.blocks().len());
    let mut places = Vec::with_capacity(log.blocks().len());
    for b in log.blocks() {
        let mut strip = block(b, policy, question, baseline, layout, log)?;
        let (lanes, reach) = (std::mem::take(&mut strip.lanes), std::mem::take(&mut strip.reach));
        places.push([(spill.put(&lanes)?, lanes.len()), (spill.put(&reach)?, reach.len())]);
        b.passed();
        strips.push(strip);
    }
    let map = spill.finish()?;
    for (strip, [lanes, reach]) in strips.iter_mut().zip(places) {
        strip.lanes = map.span(lanes.0, lanes.1);
        strip.reach = map.span(reach.0, reach.1);
    }
    Ok(strips)
}

fn block<T: Real>(
    b: &Block,
    policy: &Policy,
    question: &Question,
    baseline: f64,
    layout: Layout,
    log: &Log,
) -> Result<Strips<T>> {
    let strips = b.rows().div_ceil(STRIP);
    let mut lanes = vec![Lane([T::ZERO; STRIP]); strips * layout.lanes()];
    let (mut x, mut psi) = (vec![0.0; policy.d()], vec![0.0; layout.features]);
    let mut reach = vec![T::ZERO; strips * layout.features];
    let mut put = |row: usize, lane: usize, v: f64| {
        lanes[row / STRIP * layout.lanes() + lane].0[row % STRIP] = T::of(v);
    };
    for i in 0..strips * STRIP {
        // padding repeats the last row, with weight 0: harmless whatever the policy
        let from = i.min(b.rows() - 1);
        b.context(from, &mut x);
        policy.scaler.apply(&mut x);
        policy.mean.map().apply(&x, &mut psi);
        for (f, v) in (if layout.multiplies() { &x } else { &psi }).iter().enumerate() {
            put(i, f, *v);
        }
        for (reach, v) in reach[i / STRIP * layout.features..].iter_mut().zip(&psi) {
            *reach = T::of(reach.f64().max(v.abs()));
        }
        let mut log_p = b.log_p[from];
        for c in 0..layout.actions {
            let a = b.a[c][from];
            let Some(seen) = policy.family.seen(a) else {
                return Err(Error::data(format!("{a} {}", policy.family.complaint()))
                    .at(format!("row {}, column {:?}", b.ids[from] + 1, log.schema().actions[c]))
                    .hint("use family = \"normal\", or drop such rows"));
            };
            log_p += seen.constant;
            put(i, layout.action() + c, seen.action);
        }
        put(i, layout.log_p(), log_p);
        put(i, layout.cost(), b.y[from] - baseline);
        put(i, layout.omega(), if i < b.rows() { b.omega[from] } else { 0.0 });
    }
    let model = question.model_rows(b, policy, baseline);
    let mut totals = [0.0; 3];
    for strip in lanes.chunks_exact(layout.lanes()) {
        for (omega, y) in strip[layout.omega()].0.iter().zip(&strip[layout.cost()].0) {
            let (omega, y) = (omega.f64(), y.f64());
            totals[0] += omega;
            totals[1] += omega * y;
            totals[2] += omega * y * y;
        }
    }
    let (lanes, reach) = (lanes.into(), reach.into());
    let (rows, fingerprint) = (b.rows(), b.fingerprint());
    Ok(Strips { index: b.index, rows, fingerprint, baseline, lanes, reach, totals, model })
}
