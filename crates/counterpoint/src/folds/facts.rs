//! Small questions behind descriptions and reports: how many outcomes are not zero, do propensities integrate to one, what does
//! a loss model say of the mean action.

use crate::data::{Block, Summary};
use crate::engine::Fold;
use crate::estimate::LossModel;
use crate::math;
use crate::policy::{Ready, SavedPolicy};
use serde::{Deserialize, Serialize};

/// The question: the weight of the rows whose outcome is not 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeFacts;

impl Fold<Block> for OutcomeFacts {
    type Partial = f64;

    fn zero(&self) -> f64 {
        0.0
    }

    fn add(&self, b: &Block, into: &mut f64) {
        *into += b.y.iter().zip(&b.omega).filter(|r| *r.0 != 0.0).map(|r| r.1).sum::<f64>();
    }

    fn merge(&self, other: &f64, into: &mut f64) {
        *into += other;
    }
}

/// The question: 1/p over the rows whose actions lie in a box, 0 elsewhere; see
/// [`PropensityCheck`](crate::describe::PropensityCheck).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PropensityMass {
    /// Where the box begins and ends, column by column.
    pub central: Vec<(f64, f64)>,
}

/// Its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mass {
    /// Of 1/p inside the box, 0 outside.
    pub inverse: Summary,
    /// Smallest and largest density.
    pub range: (f64, f64),
}

impl Mass {
    /// Of no rows.
    pub(crate) fn none() -> Self {
        Mass { inverse: Summary::default(), range: (f64::INFINITY, 0.0) }
    }

    pub(crate) fn merge(&mut self, other: &Mass) {
        self.inverse.merge(&other.inverse);
        self.range = (self.range.0.min(other.range.0), self.range.1.max(other.range.1));
    }

    /// Adds row i of a block, whose density has this logarithm.
    pub(crate) fn add(&mut self, central: &[(f64, f64)], b: &Block, i: usize, log_p: f64) {
        let p = math::exp(log_p);
        self.range = (self.range.0.min(p), self.range.1.max(p));
        let inside = central.iter().enumerate().all(|(c, (low, high))| (*low..=*high).contains(&b.a[c][i]));
        self.inverse.add(if inside { 1.0 / p } else { 0.0 }, b.omega[i]);
    }
}

impl Fold<Block> for PropensityMass {
    type Partial = Mass;

    fn zero(&self) -> Mass {
        Mass::none()
    }

    fn add(&self, b: &Block, into: &mut Mass) {
        let mut block = Mass::none();
        (0..b.rows()).for_each(|i| block.add(&self.central, b, i, b.log_p[i]));
        into.merge(&block);
    }

    fn merge(&self, other: &Mass, into: &mut Mass) {
        into.merge(other);
    }
}

/// The question: the cost of a policy's mean action by a loss model, the weight of no row being asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeanAction {
    /// The policy.
    pub policy: SavedPolicy,
    /// The loss model.
    pub model: LossModel,
}

impl Fold<Block> for MeanAction {
    type Partial = Summary;

    fn zero(&self) -> Summary {
        Summary::default()
    }

    fn add(&self, b: &Block, into: &mut Summary) {
        let (mut ready, model) = (Ready::new(&self.policy), &self.model);
        let (mut x, mut slope) = (vec![0.0; b.x.len()], vec![0.0; b.a.len()]);
        let mut block = Summary::default();
        for i in 0..b.rows() {
            b.context(i, &mut x);
            let Some(mu) = ready.mean(&x) else { continue };
            let eta = model.actions.function(&model.coefficients_at(&x), &mu, &mut slope) + model.intercept;
            block.add(eta, b.omega[i]);
        }
        into.merge(&block);
    }

    fn merge(&self, other: &Summary, into: &mut Summary) {
        into.merge(other);
    }
}
