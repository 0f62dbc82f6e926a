//! A recipe: everything that decides what is learned from a log, in one flat file.
//!
//! The words are the same in Rust, TOML, JSON and on the command line. Every field has a default that works and a range,
//! and all ranges are checked here, in [`Recipe::check`], and nowhere else. Unknown fields are refused: a misspelt word
//! must not silently mean its default.

use crate::data::files::read_text;
use crate::error::{Error, Result, nearest};
use crate::estimate::{Estimator, ModelTerm};
use crate::features::{Anchors, ContextKind, Scale};
use crate::folds::Precision;
use crate::optim::{Cg, Lbfgs, Method, Newton, Proximal};
use crate::policy::Family;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The mean models a recipe can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyKind {
    /// One action for everybody.
    Constant,
    /// Linear in the contexts.
    Linear,
    /// Linear in the products of contexts.
    Poly,
    /// A constant per cell of quantile buckets.
    Stratified,
    /// The counterfactual loss predictor.
    Clp,
}

/// Where the std comes from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StdKind {
    /// `"learned"` or `"logging"`.
    Named(StdName),
    /// A number: fixed.
    Fixed(f64),
}

/// The named ways to set the std.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StdName {
    /// A parameter.
    Learned,
    /// The std of the logged actions.
    Logging,
}

/// The estimators by name; see the table in [`crate::estimate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EstimatorName {
    /// mean(y w)
    Ips,
    /// mean(y min(w, cap))
    Clipped,
    /// mean(y zeta(w, cap))
    SoftClipped,
    /// Power mean of Metelli et al.
    PowerMean,
    /// sum(y w) / sum(w)
    Snips,
    /// mean(E_pi eta)
    Direct,
    /// Doubly robust, exact model term.
    DoublyRobust,
    /// Doubly robust, the paper's approximation.
    DoublyRobustCdf,
    /// Weights up to the cap, the loss model beyond; needs the logging policy as a function.
    Switch,
    /// Clipped weights, the loss model with the mass they leave out; needs the logging policy as a function.
    Cab,
    /// Clipped doubly robust.
    CabDr,
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

macro_rules! recipe {
    ($( $(#[doc = $doc:literal])+ $name:ident : $ty:ty = $default:expr ),+ $(,)?) => {
        /// What to learn and how. See the [module](self) for the rules and [`Recipe::describe`] for the table of fields.
        ///
        /// ```
        /// use counterpoint::Recipe;
        /// let recipe = Recipe::from_toml("anchors = 15\ncap = 20.0\nstd = 0.3")?;
        /// assert_eq!(recipe.anchors, 15);
        /// let wrong = Recipe::from_toml("cap = -1.0").unwrap_err().to_string();
        /// assert!(wrong.contains("recipe field `cap`"), "{wrong}");
        /// # Ok::<(), counterpoint::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Recipe { $( $(#[doc = $doc])+ pub $name: $ty, )+ }

        impl Default for Recipe {
            fn default() -> Self { Recipe { $( $name: $default, )+ } }
        }

        impl Recipe {
            /// Every field: name, default, meaning and range.
            pub fn describe() -> Vec<(&'static str, String, String)> {
                let d = Recipe::default();
                vec![ $( (stringify!($name), shown(&d.$name), [$($doc),+].map(str::trim).join(" ")), )+ ]
            }
        }
    };
}

recipe! {
    /// The mean model: constant, linear, poly, stratified or clp.
    policy: PolicyKind = PolicyKind::Clp,
    /// The distribution around the mean: normal or lognormal.
    family: Family = Family::Normal,
    /// Scaling of the contexts: standard, min-max or none.
    scale: Scale = Scale::Standard,
    /// clp: the context map, one of linear, quadratic, cubic, nystrom.
    context_map: ContextKind = ContextKind::Quadratic,
    /// clp: how many anchors, 2 to 200.
    anchors: usize = 12,
    /// clp: quantile, grid or kmeans; absent: quantile for one action column, kmeans for several.
    anchor_placement: Option<Anchors> = None,
    /// clp: alpha of the action kernel, > 0; absent: from the spacing of the anchors.
    bandwidth: Option<f64> = None,
    /// clp: gamma of the soft minimum, > 0.
    temperature: f64 = 10.0,
    /// stratified: quantile buckets a context, 2 to 100.
    buckets: usize = 4,
    /// nystrom: k-means centres, 1 to 1000.
    centres: usize = 30,
    /// nystrom: alpha of the context kernel, > 0; absent: from the spacing of the centres.
    context_bandwidth: Option<f64> = None,
    /// learned, logging, or a number > 0.
    std: StdKind = StdKind::Named(StdName::Learned),
    /// No std falls below this share of the std of the logged actions, [0, 1).
    std_floor: f64 = 0.01,
    /// ips, clipped, soft-clipped, power-mean, snips, direct, doubly-robust, doubly-robust-cdf, switch, cab or cab-dr.
    estimator: EstimatorName = EstimatorName::SoftClipped,
    /// Cap of clipped and soft-clipped weights and threshold of switch, > 0.
    cap: f64 = 15.0,
    /// power-mean: lambda, [0, 1].
    power_mix: f64 = 0.1,
    /// power-mean: exponent s, <= 1.
    power: f64 = -1.0,
    /// What is subtracted from costs: auto (none if all costs are <= 0, else mean), none, mean, max, or a number.
    baseline: Baseline = Baseline::Named(BaselineName::Auto),
    /// Weight of the standard error in the objective, >= 0.
    variance_penalty: f64 = 0.0,
    /// Weight of |beta|^2 / 2, >= 0; intercepts and stds are free.
    ridge: f64 = 0.0,
    /// Weight of the policy's entropy, >= 0.
    entropy: f64 = 0.0,
    /// Ridge of the loss model, > 0, for estimators and starts that need one.
    model_ridge: f64 = 1e-3,
    /// lbfgs, cg or newton.
    optimiser: OptimiserName = OptimiserName::Lbfgs,
    /// Iterations of each inner minimisation, 1 to 100000.
    max_iterations: usize = 200,
    /// Proximal steps, 0 to 1000; 0 minimises directly.
    proximal_steps: usize = 10,
    /// Weight of the distance to the last proximal point, >= 0.
    kappa: f64 = 0.01,
    /// logging or direct.
    start: StartName = StartName::Logging,
    /// Std of the noise added to the starting coefficients, >= 0.
    start_noise: f64 = 0.1,
    /// Starting points, 1 to 1000; the best training objective is kept.
    starts: usize = 5,
    /// f64, or f32 for very large logs.
    precision: Precision = Precision::F64,
    /// Seed of everything random.
    seed: u64 = 0,
}

/// What a TOML file did not let us read, named by the field it stands at.
///
/// ```text
/// ancors = 3   ->  recipe field `ancors`, line 1: there is no such field; did you mean `anchors`?
/// ```
pub(crate) fn misread(text: &str, e: &toml::de::Error, fields: &[&str], hint: &str) -> Error {
    let at = e.span().map_or(0, |s| s.start.min(text.len()));
    let number = text.as_bytes()[..at].iter().filter(|b| **b == b'\n').count();
    let line = text.lines().nth(number).unwrap_or_default();
    let field = line.split('=').next().unwrap_or_default().trim();
    let message = e.message().lines().next().unwrap_or_default();
    let message = message.replace("expected usize", "expected a whole number, 0 or more");
    let message = message.replace("expected u64", "expected a whole number from 0 to 9223372036854775807");
    let message = message.replace("expected f64", "expected a number");
    if message.starts_with("unknown field") {
        let near = nearest(field, fields).map_or(hint.to_string(), |n| format!("did you mean `{n}`? {hint}"));
        return Error::recipe(field, "there is no such field").hint(near);
    }
    match field.is_empty() || !line.contains('=') {
        true => Error::recipe(line.trim(), message).at(format!("line {}", number + 1)).hint(hint),
        false => Error::recipe(field, message).hint(hint),
    }
}

fn shown<T: Serialize>(v: &T) -> String {
    match serde_json::to_value(v) {
        Ok(serde_json::Value::Null) | Err(_) => "(automatic)".into(),
        Ok(serde_json::Value::String(s)) => s,
        Ok(v) => v.to_string(),
    }
}

impl Recipe {
    /// Reads and checks a recipe.
    pub fn from_toml(text: &str) -> Result<Self> {
        let recipe: Recipe = toml::from_str(text).map_err(|e| {
            let fields: Vec<&str> = Self::describe().iter().map(|(name, ..)| *name).collect();
            misread(text, &e, &fields, "`counterpoint recipe` lists every field with its default and range")
        })?;
        recipe.check()?;
        Ok(recipe)
    }

    /// Reads a recipe file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_toml(&read_text(path)?).map_err(|e| e.at(path.display().to_string()))
    }

    /// The recipe as TOML, every field written out.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    /// Every range, checked in one place.
    pub fn check(&self) -> Result<()> {
        let real = |field: &str, v: f64, ok: bool, range: &str| {
            if ok && v.is_finite() {
                Ok(())
            } else {
                Err(Error::recipe(field, format!("{v} is out of range (must be {range})")))
            }
        };
        let whole = |field: &str, v: usize, low: usize, high: usize| {
            if (low..=high).contains(&v) {
                Ok(())
            } else {
                Err(Error::recipe(field, format!("{v} is out of range (must be {low} to {high})")))
            }
        };
        whole("anchors", self.anchors, 2, 200)?;
        whole("buckets", self.buckets, 2, 100)?;
        whole("centres", self.centres, 1, 1000)?;
        whole("max_iterations", self.max_iterations, 1, 100_000)?;
        whole("proximal_steps", self.proximal_steps, 0, 1000)?;
        whole("starts", self.starts, 1, 1000)?;
        for (field, v) in [("bandwidth", self.bandwidth), ("context_bandwidth", self.context_bandwidth)] {
            v.map_or(Ok(()), |v| real(field, v, v > 0.0, "> 0"))?;
        }
        for (field, v) in [("temperature", self.temperature), ("cap", self.cap), ("model_ridge", self.model_ridge)] {
            real(field, v, v > 0.0, "> 0")?;
        }
        let at_least_0 = [
            ("variance_penalty", self.variance_penalty),
            ("ridge", self.ridge),
            ("entropy", self.entropy),
            ("kappa", self.kappa),
            ("start_noise", self.start_noise),
        ];
        for (field, v) in at_least_0 {
            real(field, v, v >= 0.0, ">= 0")?;
        }
        if let StdKind::Fixed(v) = self.std {
            real("std", v, v > 0.0, "> 0, or \"learned\" or \"logging\"")?;
        }
        real("std_floor", self.std_floor, (0.0..1.0).contains(&self.std_floor), "in [0, 1)")?;
        real("power_mix", self.power_mix, (0.0..=1.0).contains(&self.power_mix), "in [0, 1]")?;
        real("power", self.power, self.power <= 1.0, "<= 1")?;
        if let Baseline::Value(v) = self.baseline {
            real("baseline", v, true, "finite")?;
        }
        if self.policy == PolicyKind::Clp
            && matches!(self.context_map, ContextKind::Constant | ContextKind::Poly | ContextKind::Strata)
        {
            return Err(Error::recipe("context_map", "clp takes linear, quadratic, cubic or nystrom"));
        }
        if self.start == StartName::Direct && self.policy != PolicyKind::Clp {
            return Err(
                Error::recipe("start", "only clp can start from the direct method").hint("use start = \"logging\"")
            );
        }
        Ok(())
    }

    /// The estimator of the objective.
    pub fn estimator(&self) -> Estimator {
        match self.estimator {
            EstimatorName::Ips => Estimator::IPS,
            EstimatorName::Clipped => Estimator::clipped(self.cap),
            EstimatorName::SoftClipped => Estimator::soft_clipped(self.cap),
            EstimatorName::PowerMean => Estimator::power_mean(self.power_mix, self.power),
            EstimatorName::Snips => Estimator::SNIPS,
            EstimatorName::Direct => Estimator::DM,
            EstimatorName::DoublyRobust | EstimatorName::DoublyRobustCdf => Estimator::DR,
            EstimatorName::Switch => Estimator::switch(self.cap),
            EstimatorName::Cab => Estimator::cab(self.cap),
            EstimatorName::CabDr => Estimator::cab_dr(self.cap),
        }
    }

    pub(crate) fn model_term(&self) -> ModelTerm {
        match self.estimator {
            EstimatorName::DoublyRobustCdf => ModelTerm::CdfDifferences,
            _ => ModelTerm::Exact,
        }
    }

    pub(crate) fn method(&self) -> Proximal<Method> {
        let max_iterations = self.max_iterations;
        let inner = match self.optimiser {
            OptimiserName::Lbfgs => Method::Lbfgs(Lbfgs { max_iterations, ..Lbfgs::default() }),
            OptimiserName::Cg => Method::Cg(Cg { max_iterations, ..Cg::default() }),
            OptimiserName::Newton => Method::Newton(Newton { max_iterations, ..Newton::default() }),
        };
        Proximal { inner, kappa: self.kappa, outer: self.proximal_steps, ..Proximal::new(Method::default()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_in_range_and_survive_toml() {
        let recipe = Recipe::default();
        recipe.check().unwrap();
        assert_eq!(Recipe::from_toml(&recipe.to_toml()).unwrap(), recipe);
        assert_eq!(Recipe::from_toml("").unwrap(), recipe);
    }

    #[test]
    fn every_refusal_names_its_field() {
        for (text, field) in [
            ("anchors = 1", "anchors"),
            ("temperature = 0.0", "temperature"),
            ("std = -0.5", "std"),
            ("std_floor = 1.0", "std_floor"),
            ("kappa = -1.0", "kappa"),
            ("context_map = \"poly\"", "context_map"),
            ("policy = \"linear\"\nstart = \"direct\"", "start"),
            ("cap = nan", "cap"),
        ] {
            let message = Recipe::from_toml(text).unwrap_err().to_string();
            assert!(message.contains(&format!("`{field}`")), "{message}");
        }
        assert!(Recipe::from_toml("ancors = 3").unwrap_err().to_string().contains("ancors"));
    }
}
