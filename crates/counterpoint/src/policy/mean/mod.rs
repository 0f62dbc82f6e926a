//! Mean models mu(x).
//!
//! A model is one file. It has two sides, which a test holds together:
//!
//! - [`Model`], the plain side: facts (its context map, how many parameters), and the mean of one row with its slopes;
//! - [`StripModel`], the side of the kernel: the same for a strip of 64 rows at once, forward from features to means and
//!   backward from slopes in the means to gradients.
//!
//! Parameters beta are brought into the form that rows are multiplied with once per evaluation ([`Model::form`]). Gradients
//! are added up row by row in *entries*, whatever is cheapest there, and carried from entries to parameters once per
//! evaluation ([`Model::pull`]).
//!
//! To add a model: write its file, and a line in each of the two lists below: of the models there are, and of what a recipe may ask for.
//! `docs/extending.md` says more.

mod clp;
mod linear;
mod network;

pub use clp::Clp;
pub use linear::{Linear, Link};
pub use network::Network;

use super::Support;
use crate::error::Result;
use crate::features::{ActionMap, ContextKind, ContextMap};
use crate::vector::product::TILE;
use crate::vector::{Elementary, Lane};
use fearless_simd::Simd;
use serde::{Deserialize, Serialize};

/// The list: the enum, and the way from a member to its two sides.
macro_rules! means {
    ($( $(#[$about:meta])+ $name:ident; )+) => {
        /// A mean model, without its parameters.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "model", rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum Mean { $( $(#[$about])+ $name($name), )+ }

        impl Mean {
            /// The plain side.
            pub(crate) fn model(&self) -> &dyn Model {
                match self { $( Mean::$name(m) => m, )+ }
            }

            /// Hands the model to a visitor that needs to know its type: the kernel.
            #[inline(always)]
            pub(crate) fn visit<V: VisitMean>(&self, visitor: V) -> V::Out {
                match self { $( Mean::$name(m) => visitor.see(m), )+ }
            }

            /// Small members of every model, with names: what tables of tests run over.
            pub fn examples(parts: &Parts) -> Result<Vec<(String, Mean)>> {
                let mut all = Vec::new();
                $( all.extend($name::examples(parts)?.into_iter().map(|(n, m)| (n, Mean::$name(m)))); )+
                Ok(all)
            }
        }

        $( impl From<$name> for Mean {
            fn from(model: $name) -> Mean {
                Mean::$name(model)
            }
        } )+
    };
}

means! {
    /// mu_c(x) = link(<psi_X(x), B_c>)
    Linear;
    /// The counterfactual loss predictor.
    Clp;
    /// A network with one hidden layer.
    Network;
}

/// What recipes may ask for, each listed once: its word, the context map under it, how the model is made of map and link, and the settings that
/// belong to it alone, with their defaults and ranges.
///
/// The recipe's fields, checks and conversions are written from this list: it is handed, behind what is given, to the macro `then`. The
/// loss predictor is not here, because it shares its features with loss models (`recipe::Basis`).
macro_rules! mean_choices {
    ($then:ident $($given:tt)*) => {
        $then! {
            $($given)*
            {
                /// One action for everybody.
                Constant "constant" over Constant => |map, link| $crate::policy::Linear { map, link };
                /// Linear in the contexts.
                Linear "linear" over Linear => |map, link| $crate::policy::Linear { map, link };
                /// Linear in the products of contexts.
                Poly "poly" over Poly => |map, link| $crate::policy::Linear { map, link };
                /// A constant per cell of quantile buckets.
                Stratified "stratified" over Strata => |map, link| $crate::policy::Linear { map, link }, {
                    /// stratified: quantile buckets per context, 2 to 100.
                    buckets: usize = 4, from 2 to 100;
                };
                /// A network with one hidden layer; its units make the features.
                Network "network" over Linear => |map, link| $crate::policy::Network { map, units, link }, {
                    /// network: hidden units, 1 to 1000.
                    units: usize = 16, from 1 to 1000;
                };
            }
        }
    };
}
pub(crate) use mean_choices;

/// What mean models are made of, for [`Mean::examples`].
pub struct Parts<'a> {
    /// Makes a context map.
    pub map: &'a dyn Fn(ContextKind) -> Result<ContextMap>,
    /// Anchors and their kernel.
    pub actions: ActionMap,
    /// Where means must lie.
    pub support: Support,
}

/// The sizes a model works with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Size {
    /// d_X
    pub(crate) features: usize,
    /// q
    pub(crate) actions: usize,
}

/// The plain side of a mean model.
pub(crate) trait Model: Sync {
    /// psi_X.
    fn map(&self) -> &ContextMap;

    /// Number of parameters beta; the largest number if there are more (files can say anything).
    fn parameters(&self, size: Size) -> usize;

    /// Whether ridge leaves parameter `index` alone; `intercept` is the feature that is 1 in every row.
    fn free(&self, index: usize, intercept: Option<usize>, size: Size) -> bool;

    /// Whether its means lie in the support whatever its parameters.
    fn inside(&self, support: Support) -> bool;

    /// Refuses parts that do not fit each other, or this many action columns.
    fn check(&self, q: usize) -> Result<()> {
        let _ = q;
        Ok(())
    }

    /// Parameters with which the mean is `target` in every row, or near it; `normal` draws from N(0, 1) where a model needs
    /// noise to start from. `beta` comes as zeros.
    fn start(&self, target: &[f64], intercept: Option<usize>, normal: &mut dyn FnMut() -> f64, beta: &mut [f64]);

    /// The maps that a loss model can share with it, if there are any.
    fn loss_maps(&self) -> Option<(&ContextMap, &ActionMap)> {
        None
    }

    /// What [`form`](Self::form) and [`pull`](Self::pull) need and no parameter changes.
    fn fixed(&self) -> Vec<f64> {
        Vec::new()
    }

    /// The parameters in the form that rows are multiplied with; as many numbers as parameters.
    fn form(&self, beta: &[f64], fixed: &[f64], formed: &mut [f64]);

    /// Number of entries of a gradient.
    fn entries(&self, size: Size) -> usize {
        self.parameters(size)
    }

    /// The gradient in beta from its entries.
    fn pull(&self, entries: &[f64], at: At, size: Size, grad: &mut [f64]);

    /// Numbers that [`back`](Self::back) wants to find again.
    fn cache(&self, size: Size) -> usize;

    /// The mean of one row.
    fn row(&self, formed: &[f64], psi: &[f64], mu: &mut [f64], cache: &mut [f64]);

    /// Adds the slopes of one row to the entries: slope_c d mu_c / d entry, over all c.
    fn back(&self, psi: &[f64], cache: &[f64], slope: &[f64], entries: &mut [f64]);
}

/// Where an evaluation is: the parameters in their form, and what is fixed.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) formed: &'a [f64],
    pub(crate) fixed: &'a [f64],
}

/// The parameters as the loops over strips read them. What a model puts where is its own affair.
#[derive(Default)]
pub(crate) struct Coefficients<T> {
    /// A matrix by tiles; see [`crate::vector::product::tiles`].
    pub(crate) tiles: Vec<[T; TILE]>,
    /// The largest coefficient of each feature in absolute value: with the reach of a strip it bounds the scores.
    pub(crate) top: Vec<T>,
    /// Everything else.
    pub(crate) rest: Vec<T>,
    /// Coefficients of the exponential.
    pub(crate) powers: Vec<[T; 2]>,
}

/// What a model needs of the memory of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Room {
    /// Lanes that live from forward to backward.
    pub(crate) lanes: usize,
    /// Accumulators for the gradients of all graded sums.
    pub(crate) cells: usize,
}

/// The features of a strip.
#[derive(Clone, Copy)]
pub(crate) struct Features<'a, T> {
    /// One lane per feature.
    pub(crate) x: &'a [Lane<T>],
    /// The largest |feature| of the strip, for each.
    pub(crate) reach: &'a [T],
}

/// What backward adds to.
pub(crate) struct Slots<'a, T> {
    /// The means that forward found.
    pub(crate) mu: &'a [Lane<T>],
    /// Slopes of graded sum r in mean c: lane r q + c. May be overwritten.
    pub(crate) slope: &'a mut [Lane<T>],
    /// The accumulators, one vector each.
    pub(crate) acc: &'a mut [T],
}

/// The side of the kernel: a strip of rows at once.
///
/// Code runs inside `simd.vectorize`; everything it calls must be inlined to be compiled for that instruction set.
pub(crate) trait StripModel: Sync {
    /// Lanes and accumulators for this many graded sums.
    fn room(&self, size: Size, graded: usize) -> Room;

    /// The accumulator of entry number `entry` of graded sum number `slot`, of `graded` in all.
    fn cell(&self, size: Size, graded: usize, slot: usize, entry: usize) -> usize;

    /// Brings the formed parameters into the order in which the loops read them. Called once per evaluation.
    fn order<T: Elementary>(&self, formed: &[f64], size: Size, out: &mut Coefficients<T>);

    /// From features to means, one lane per action column.
    fn forward<T: Elementary, S: Simd>(
        &self,
        simd: S,
        theta: &Coefficients<T>,
        features: Features<T>,
        lanes: &mut [Lane<T>],
        mu: &mut [Lane<T>],
    );

    /// From slopes in the means to gradients.
    fn backward<T: Elementary, S: Simd>(
        &self,
        simd: S,
        theta: &Coefficients<T>,
        features: Features<T>,
        lanes: &mut [Lane<T>],
        slots: Slots<T>,
    );
}

/// What is to be done with a model, once it is known which.
pub(crate) trait VisitMean {
    type Out;
    fn see<M: Model + StripModel>(self, model: &M) -> Self::Out;
}

impl Mean {
    /// psi_X.
    pub fn map(&self) -> &ContextMap {
        self.model().map()
    }

    /// The counterfactual loss predictor, where the mean is one.
    pub fn predictor(&self) -> Option<&Clp> {
        match self {
            Mean::Clp(clp) => Some(clp),
            _ => None,
        }
    }

    /// Number of parameters of the mean, for d contexts and q actions.
    pub fn parameters(&self, d: usize, q: usize) -> usize {
        self.model().parameters(self.size(d, q))
    }

    pub(crate) fn size(&self, d: usize, q: usize) -> Size {
        Size { features: self.map().dim(d), actions: q }
    }

    /// Parameters with which the mean is `target` in every row of d contexts, or near it. `normal` draws from N(0, 1); it is
    /// called by models that need noise to start from.
    pub fn start(&self, target: &[f64], d: usize, normal: &mut dyn FnMut() -> f64) -> Vec<f64> {
        let mut beta = vec![0.0; self.parameters(d, target.len())];
        self.model().start(target, self.map().intercept(d), normal, &mut beta);
        beta
    }
}
