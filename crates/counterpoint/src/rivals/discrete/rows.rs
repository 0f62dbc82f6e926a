//! Rows as the fold wants them: features, buckets, shares and model, computed once.

use super::logging::Logging;
use crate::data::Block;
use crate::engine::Placed;
use crate::estimate::LossModel;
use crate::math;
use crate::policy::BucketSoftmax;
use crate::{Error, Log, Result};

/// What a policy's probability of the taken bucket is divided by.
#[derive(Clone, Copy, Debug)]
pub enum Reference<'a> {
    /// The log's probability of the bucket: w = p_b / q_b.
    Buckets(&'a Logging),
    /// The log's density of the action, the policy being uniform within buckets: w = p_b / (width_b p). Gives no model
    /// the mass that SWITCH and CAB leave to it.
    Density,
    /// Nothing: the bare probabilities, for fitting shares.
    Unit,
}

/// The rows of a log, cut into strips as the log is into blocks.
pub struct Rows {
    pub(super) strips: Vec<Strip>,
    pub(super) features: usize,
    pub(super) k: usize,
    /// Whether every row has the shares of all buckets, and a model.
    pub(super) has: (bool, bool),
    /// Costs are held as y - baseline.
    pub(super) baseline: f64,
}

/// A run of rows.
pub(super) struct Strip {
    index: u64,
    features: usize,
    psi: Vec<f64>,
    pub(super) bucket: Vec<usize>,
    /// ln of what the probability of the bucket is divided by; infinite where the policy has no density.
    pub(super) log_q: Vec<f64>,
    /// Shares of all buckets, row by row; empty unless known.
    pub(super) q: Vec<f64>,
    pub(super) y: Vec<f64>,
    pub(super) omega: Vec<f64>,
    /// The model's cost of all buckets, row by row, on the scale of `y`; empty without a model.
    pub(super) eta: Vec<f64>,
}

impl Placed for Strip {
    fn index(&self) -> u64 {
        self.index
    }
}

impl Strip {
    pub(super) fn rows(&self) -> usize {
        self.y.len()
    }

    pub(super) fn psi(&self, i: usize) -> &[f64] {
        &self.psi[i * self.features..(i + 1) * self.features]
    }
}

impl Rows {
    /// Prepares a log for policies with these maps and buckets (theta does not matter). Costs enter as y - baseline.
    pub fn new(
        log: &Log,
        policy: &BucketSoftmax,
        reference: &Reference,
        model: Option<&LossModel>,
        baseline: f64,
    ) -> Result<Self> {
        let d = policy.scaler.shift.len();
        if log.d() != d || log.q() != 1 {
            let (theirs, q) = (log.d(), log.q());
            return Err(Error::data(format!("the log has {theirs} contexts and {q} actions, the policy {d} and 1")));
        }
        let k = policy.buckets.len();
        if model.is_some_and(|m| m.actions.anchors != policy.buckets.centres()) {
            return Err(Error::recipe("estimator.model", "the loss model is for other buckets"));
        }
        let strip = |b| strip(b, policy, reference, model, baseline);
        Ok(Rows {
            strips: log.blocks().iter().map(strip).collect::<Result<_>>()?,
            features: policy.map.dim(d),
            k,
            has: (matches!(reference, Reference::Buckets(_)), model.is_some()),
            baseline,
        })
    }
}

fn strip(
    b: &Block,
    policy: &BucketSoftmax,
    reference: &Reference,
    model: Option<&LossModel>,
    baseline: f64,
) -> Result<Strip> {
    let buckets = &policy.buckets;
    let mut shares = match reference {
        Reference::Buckets(logging) => Some(logging.shares(buckets)?),
        _ => None,
    };
    let mut out = Strip {
        index: b.index,
        features: policy.map.dim(b.x.len()),
        psi: Vec::new(),
        bucket: b.a[0].iter().map(|a| buckets.index(*a)).collect(),
        log_q: Vec::with_capacity(b.rows()),
        q: Vec::new(),
        y: b.y.iter().map(|y| y - baseline).collect(),
        omega: b.omega.to_vec(),
        eta: Vec::new(),
    };
    let mut x = vec![0.0; b.x.len()];
    for i in 0..b.rows() {
        b.context(i, &mut x);
        out.psi.extend(policy.features(&x));
        let (bucket, action) = (out.bucket[i], b.a[0][i]);
        out.log_q.push(match reference {
            Reference::Buckets(_) => 0.0, // below, with the shares
            Reference::Density if !buckets.covers(action) => f64::INFINITY,
            Reference::Density => b.log_p[i] + math::ln(buckets.width(bucket)),
            Reference::Unit => 0.0,
        });
        if let Some(shares) = &mut shares {
            let q = shares.at(&x)?;
            out.log_q[i] = math::ln(q[bucket]);
            out.q.extend(q);
        }
        if let Some(model) = model {
            let shift = model.intercept - baseline;
            out.eta.extend(model.coefficients_at(&x).iter().map(|c| c + shift));
        }
    }
    Ok(out)
}
