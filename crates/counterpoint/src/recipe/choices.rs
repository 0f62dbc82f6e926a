//! The choices of a recipe, each with the settings that belong to it and to nothing else.

use crate::estimate::{Estimator, ModelTerm};
use crate::features::{Anchors, ContextKind, ContextMap};
use crate::policy::{AxisScale, Link, Mean, mean_choices};
use serde::{Deserialize, Serialize};

macro_rules! choices {
    ({ $(
        $(#[doc = $about:literal])+
        $choice:ident $word:literal over $kind:ident => $build:expr $(, {
            $( $(#[doc = $doc:literal])+ $setting:ident : $ty:ty = $default:expr, from $low:literal to $high:literal; )+
        })? ;
    )+ }) => {
        /// The mean model.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum MeanChoice {
            /// The cheapest action by models of the cost, kept where the log has been.
            Greedy(GreedyChoice),
            /// The counterfactual loss predictor.
            Clp {
                /// Features of contexts and actions.
                basis: Basis,
                /// gamma of the soft minimum, > 0.
                temperature: f64,
            },
            $( $(#[doc = $about])+ $choice $( { $( $(#[doc = $doc])+ $setting: $ty, )+ } )?, )+
        }

        impl MeanChoice {
            /// The context map under a model that shares no features with a loss model.
            pub(crate) fn context_kind(&self) -> Option<ContextKind> {
                match self {
                    MeanChoice::Greedy(_) | MeanChoice::Clp { .. } => None,
                    $( MeanChoice::$choice $( { $( $setting: _ ),+ } )? => Some(ContextKind::$kind), )+
                }
            }

            /// Such a model, made of its map.
            pub(crate) fn model(&self, map: ContextMap, link: Link) -> Option<Mean> {
                match *self {
                    MeanChoice::Greedy(_) | MeanChoice::Clp { .. } => None,
                    $( MeanChoice::$choice $( { $( $setting ),+ } )? => {
                        $( $( let _ = $setting; )+ )? // the map may be all that needs it
                        Some(($build)(map, link).into())
                    } )+
                }
            }
        }
    };
}

mean_choices!(choices);

impl MeanChoice {
    /// The loss predictor with its default settings.
    pub fn clp() -> Self {
        MeanChoice::Clp { basis: Basis::default(), temperature: 10.0 }
    }
}

/// Settings of the greedy policy. What is absent is found from the log by cross-fitting.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GreedyChoice {
    /// The models of the cost.
    pub models: ModelsName,
    /// The std in units of the log's own spread, (0, 2].
    pub std_share: Option<f64>,
    /// Part of the way from the log's mean to the greedy action, (0, 1].
    pub step: Option<f64>,
    /// No action below this; absent: the smallest logged action.
    pub min_action: Option<f64>,
    /// No action above this; absent: the largest logged action.
    pub max_action: Option<f64>,
    /// No mean further than this from the log's mean given the context, > 0, in units of the action (of its logarithm on the
    /// logarithmic scale).
    pub max_change: Option<f64>,
    /// The grid of actions.
    pub grid: GridChoice,
    /// The scale on which noise is normal; absent: found from the log.
    pub scale: Option<AxisScale>,
    /// What is made small: the mean cost, or the mean of the worst costs.
    pub objective: ObjectiveName,
    /// The worst share of the costs that [`ObjectiveName::Cvar`] looks at, (0, 1); 0 under other objectives.
    pub tail: f64,
}

/// What a greedy policy makes small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObjectiveName {
    /// The mean cost.
    #[default]
    Mean,
    /// The mean of the worst costs: eta + E (y - eta)_+ / tail at its best eta.
    Cvar,
}

/// Which models of the cost a greedy policy follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelsName {
    /// The best of all, or a stack of them.
    #[default]
    Auto,
    /// All of them, stacked.
    Stack,
    /// The same costs for every context.
    Constant,
    /// Linear in the contexts.
    Linear,
    /// Splines, products or kernels of the contexts.
    Ridge,
    /// Curves of the distance to one number made of the contexts.
    Index,
    /// Boosted trees.
    Trees,
    /// Boosted trees on the contexts, with leaves that are smooth functions of the action.
    ActionTrees,
    /// A small network.
    Network,
    /// A small network, and boosted trees around its best action.
    Recentred,
    /// Predictions of a model of others, in columns of the log.
    Predictions,
}

/// On which grid a greedy policy acts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum GridChoice {
    /// By name.
    Named(GridName),
    /// Multiples of this step, > 0.
    Step(f64),
}

impl Default for GridChoice {
    fn default() -> Self {
        GridChoice::Named(GridName::Auto)
    }
}

/// The named grids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GridName {
    /// The logged actions where they are tied, else none.
    Auto,
    /// None.
    Off,
}

/// Features of contexts and actions: of the loss predictor, and of the loss model under other policies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Basis {
    /// The context map.
    pub context_map: ContextChoice,
    /// How many anchors, 2 to 200.
    pub anchors: usize,
    /// Where the anchors stand; absent: quantile for one action column, kmeans for several.
    pub placement: Option<Anchors>,
    /// alpha of the action kernel, > 0; absent: from the spacing of the anchors.
    pub bandwidth: Option<f64>,
}

impl Default for Basis {
    fn default() -> Self {
        Basis { context_map: ContextChoice::Quadratic, anchors: 12, placement: None, bandwidth: None }
    }
}

/// The context map of a basis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ContextChoice {
    /// The contexts and a constant.
    Linear,
    /// And all products of two.
    Quadratic,
    /// And all products of three.
    Cubic,
    /// Gaussian kernels at k-means centres.
    Nystrom {
        /// k-means centres, 1 to 1000.
        centres: usize,
        /// alpha of the context kernel, > 0; absent: from the spacing of the centres.
        bandwidth: Option<f64>,
    },
}

impl ContextChoice {
    /// The kind of map, without its settings.
    pub fn kind(&self) -> ContextKind {
        match self {
            ContextChoice::Linear => ContextKind::Linear,
            ContextChoice::Quadratic => ContextKind::Quadratic,
            ContextChoice::Cubic => ContextKind::Cubic,
            ContextChoice::Nystrom { .. } => ContextKind::Nystrom,
        }
    }
}

/// Where the std comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StdChoice {
    /// A parameter.
    Learned {
        /// It does not fall below this share of the std of the logged actions, [0, 1).
        floor: f64,
    },
    /// The std of the logged actions.
    Logging,
    /// A number, > 0.
    Fixed(f64),
}

/// The estimator of the objective; see the table in [`crate::estimate`]. Caps are > 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EstimatorChoice {
    /// mean(y w): inverse propensity scores.
    Ips,
    /// mean(y min(w, cap))
    Clipped {
        /// The largest weight.
        cap: f64,
    },
    /// mean(y zeta(w, cap))
    SoftClipped {
        /// Where the weight begins to bend.
        cap: f64,
    },
    /// Power mean of Metelli et al.
    PowerMean {
        /// lambda, [0, 1].
        mix: f64,
        /// The exponent s, <= 1.
        power: f64,
    },
    /// sum(y w) / sum(w): self-normalised.
    Snips,
    /// mean(E_pi eta): the loss model alone.
    Direct,
    /// Doubly robust, exact model term.
    DoublyRobust,
    /// Doubly robust, the paper's approximation.
    DoublyRobustCdf,
    /// Weights up to the cap, the loss model beyond; needs the logging policy as a function.
    Switch {
        /// The threshold.
        cap: f64,
    },
    /// Clipped weights, the loss model with the mass they leave out; needs the logging policy as a function.
    Cab {
        /// The largest weight.
        cap: f64,
    },
    /// Clipped doubly robust.
    CabDr {
        /// The largest weight.
        cap: f64,
    },
}

impl EstimatorChoice {
    /// Weight, form and normalisation.
    pub fn estimator(&self) -> Estimator {
        match *self {
            EstimatorChoice::Ips => Estimator::IPS,
            EstimatorChoice::Clipped { cap } => Estimator::clipped(cap),
            EstimatorChoice::SoftClipped { cap } => Estimator::soft_clipped(cap),
            EstimatorChoice::PowerMean { mix, power } => Estimator::power_mean(mix, power),
            EstimatorChoice::Snips => Estimator::SNIPS,
            EstimatorChoice::Direct => Estimator::DM,
            EstimatorChoice::DoublyRobust | EstimatorChoice::DoublyRobustCdf => Estimator::DR,
            EstimatorChoice::Switch { cap } => Estimator::switch(cap),
            EstimatorChoice::Cab { cap } => Estimator::cab(cap),
            EstimatorChoice::CabDr { cap } => Estimator::cab_dr(cap),
        }
    }

    pub(crate) fn model_term(&self) -> ModelTerm {
        match self {
            EstimatorChoice::DoublyRobustCdf => ModelTerm::CdfDifferences,
            _ => ModelTerm::Exact,
        }
    }

    /// The cap, where there is one.
    pub fn cap(&self) -> Option<f64> {
        match *self {
            EstimatorChoice::Clipped { cap }
            | EstimatorChoice::SoftClipped { cap }
            | EstimatorChoice::Switch { cap }
            | EstimatorChoice::Cab { cap }
            | EstimatorChoice::CabDr { cap } => Some(cap),
            _ => None,
        }
    }
}

/// The loss model, for estimators and starts that need one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelChoice {
    /// Its ridge, > 0.
    pub ridge: f64,
    /// Its features under policies other than clp; under clp it has those of the policy.
    pub basis: Basis,
}

impl Default for ModelChoice {
    fn default() -> Self {
        ModelChoice { ridge: 1e-3, basis: Basis::default() }
    }
}

/// How the objective goes down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Descent {
    /// One minimisation.
    Plain,
    /// Minimisations held to the last point, one after the other.
    Proximal {
        /// How many, 1 to 1000.
        steps: usize,
        /// Weight of the squared distance to the last point, >= 0.
        kappa: f64,
    },
}

/// What is subtracted from the costs in the objective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Baseline {
    /// By name.
    Named(BaselineName),
    /// A cost (on the scale of costs: minus the reward).
    Value(f64),
}

/// The named baselines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BaselineName {
    /// `none` if all costs are <= 0, else `mean`.
    Auto,
    /// 0
    None,
    /// The mean cost of the train part.
    Mean,
    /// Its largest cost.
    Max,
}

/// Which optimiser runs inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OptimiserName {
    /// Limited-memory BFGS.
    Lbfgs,
    /// Nonlinear conjugate gradients.
    Cg,
    /// Truncated Newton.
    Newton,
}

/// Where the optimiser starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartName {
    /// Close to the logging policy: its mean action and std, plus seeded noise.
    Logging,
    /// From the direct method's fit (clp only), plus seeded noise.
    Direct,
}
