//! Every question that is asked of rows, in one list.

use crate::data::{ActionQuantiles, Block, Hashes, Quantiles, Sample, Summaries, Weighting};
use crate::engine::Fold;
use crate::folds::{
    Control, Densities, FoldGrams, Gram, MeanAction, NearMean, OutcomeFacts, PropensityMass, Spread, TargetScales,
    TargetSums, Weigher, WeightAnswer, WeightAsk, score_block,
};
use crate::policy::SavedPolicy;
use serde::{Deserialize, Serialize};

crate::engine::questions! {
    /// A question asked of rows.
    Ask,
    /// Its answer.
    Answer,
    Block {
        /// Number of rows, and summaries of the columns.
        Summaries(Summaries),
        /// Distributions of the columns.
        Quantiles(Quantiles),
        /// Distributions of the actions.
        ActionQuantiles(ActionQuantiles),
        /// A thin sample of the rows.
        Sample(Sample),
        /// The smallest hashes of the rows.
        Hashes(Hashes),
        /// The Gram matrix of the ridge regression.
        Gram(Gram),
        /// A question about the rows weighed by a policy.
        Weights(PolicyWeights),
        /// The sums of an estimator under a policy.
        Target(TargetSums),
        /// The mean action by a loss model.
        MeanAction(MeanAction),
        /// Rows near the mean action.
        Near(NearMean),
        /// What a description says of the outcome.
        Outcome(OutcomeFacts),
        /// Whether propensities integrate to one.
        Mass(PropensityMass),
        /// The scales of what a propensity model regresses.
        TargetScales(TargetScales),
        /// Gram matrices by fold, for a propensity model.
        FoldGrams(FoldGrams),
        /// Likelihood and score of the std of a propensity model.
        Spread(Spread),
        /// How well the densities of a propensity model fit.
        Densities(Densities),
    }
}

/// A question about rows weighed by a policy, asked where the rows are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PolicyWeights {
    /// The policy.
    pub policy: SavedPolicy,
    /// The smallest and the largest logged action, column by column.
    pub range: Vec<[f64; 2]>,
    /// What contexts explain of the costs, to be taken out of them.
    pub control: Option<Control>,
    /// What row weights mean.
    pub weighting: Weighting,
    /// The question.
    pub ask: WeightAsk,
}

impl Fold<Block> for PolicyWeights {
    type Partial = WeightAnswer;

    fn zero(&self) -> WeightAnswer {
        self.ask.zero()
    }

    fn add(&self, block: &Block, into: &mut WeightAnswer) {
        let by = Weigher {
            policy: &self.policy,
            range: &self.range,
            control: self.control.as_ref(),
            weighting: self.weighting,
        };
        self.ask.add(&score_block(block, by), into);
    }

    fn merge(&self, other: &WeightAnswer, into: &mut WeightAnswer) {
        self.ask.merge(other, into);
    }

    fn spent(&self, partial: &mut WeightAnswer) {
        self.ask.spent(partial);
    }

    fn finish(&self, answer: &mut WeightAnswer) {
        self.ask.finish(answer);
    }
}
