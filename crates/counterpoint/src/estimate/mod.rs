//! What it would have cost: weights, terms, sums, risks, and the loss model.
//!
//! Every estimator is a row of one table, [`Weight`] x [`Form`] x [`Normalise`]:
//!
//! | estimator | weight | form | normalise |
//! |---|---|---|---|
//! | IPS | Raw | Plain | ByRows |
//! | clipped IPS | Clip | Plain | ByRows |
//! | soft-clipped IPS | SoftClip | Plain | ByRows |
//! | power mean (PMCIS) | PowerMean | Plain | ByRows |
//! | SNIPS | Raw | Plain | ByWeights |
//! | direct method | Raw | Model | ByRows |
//! | doubly robust | Raw | Residual | ByRows |
//! | SWITCH | Switch | Blend | ByRows |
//! | CAB | Clip | Blend | ByRows |
//! | CAB-DR | Clip | Residual | ByRows |
//!
//! A row contributes a weighted part t and a model part g; the sums of t, v, g and of their products give every risk,
//! its variance and its slopes ([`Sums`]). Nothing here knows what a policy is.

mod mixture;
mod model;
mod moments;
mod named;
mod predictions;
mod sampled;
mod sums;
mod weight;

pub use mixture::Mixture;
pub use model::{LossModel, ModelTerm};
pub use moments::Moments;
pub use named::{PerSum, PerTerm, Sum, Term};
pub use predictions::Predictions;
pub use sampled::SampledSums;
pub use sums::{Sums, Target};
pub use weight::{Weight, soft_cap_alpha};

use serde::{Deserialize, Serialize};

/// How a loss model enters a row's term.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// t = v y: no model.
    #[default]
    Plain,
    /// t = v (y - eta(x, a)), g = E_pi eta(x, .): doubly robust.
    Residual,
    /// t = v y, g = the model on the mass the weights leave out: SWITCH, CAB.
    Blend,
    /// t = 0, g = E_pi eta(x, .): the direct method.
    Model,
}

/// What the weighted part is divided by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Normalise {
    /// The number of rows.
    #[default]
    ByRows,
    /// The sum of the weights: self-normalised, equivariant to shifts of the cost.
    ByWeights,
}

/// A row of the table of estimators.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimator {
    /// The transform of the weight.
    pub weight: Weight,
    /// How a loss model enters.
    pub form: Form,
    /// What is divided by.
    pub normalise: Normalise,
}

impl Estimator {
    /// mean(y w)
    pub const IPS: Estimator = Estimator::new(Weight::Raw, Form::Plain, Normalise::ByRows);
    /// sum(y w) / sum(w)
    pub const SNIPS: Estimator = Estimator::new(Weight::Raw, Form::Plain, Normalise::ByWeights);
    /// mean(w (y - eta) + E_pi eta)
    pub const DR: Estimator = Estimator::new(Weight::Raw, Form::Residual, Normalise::ByRows);
    /// mean(E_pi eta)
    pub const DM: Estimator = Estimator::new(Weight::Raw, Form::Model, Normalise::ByRows);

    /// One row of the table.
    pub const fn new(weight: Weight, form: Form, normalise: Normalise) -> Self {
        Estimator { weight, form, normalise }
    }

    /// mean(y min(w, cap))
    pub fn clipped(cap: f64) -> Self {
        Self::new(Weight::Clip { cap }, Form::Plain, Normalise::ByRows)
    }

    /// mean(y zeta(w, cap))
    pub fn soft_clipped(cap: f64) -> Self {
        Self::new(Weight::soft(cap), Form::Plain, Normalise::ByRows)
    }

    /// The power mean of Metelli et al. (2021).
    pub fn power_mean(lambda: f64, s: f64) -> Self {
        Self::new(Weight::PowerMean { lambda, s }, Form::Plain, Normalise::ByRows)
    }

    /// SWITCH (Wang et al. 2017): weights up to `tau`, the model beyond.
    pub fn switch(tau: f64) -> Self {
        Self::new(Weight::Switch { tau }, Form::Blend, Normalise::ByRows)
    }

    /// CAB (Su et al. 2019): clipped weights, the model with the remaining mass.
    pub fn cab(cap: f64) -> Self {
        Self::new(Weight::Clip { cap }, Form::Blend, Normalise::ByRows)
    }

    /// CAB-DR: the doubly robust form with clipped weights.
    pub fn cab_dr(cap: f64) -> Self {
        Self::new(Weight::Clip { cap }, Form::Residual, Normalise::ByRows)
    }

    /// Whether a loss model is needed.
    pub fn needs_model(&self) -> bool {
        self.form != Form::Plain
    }
}
