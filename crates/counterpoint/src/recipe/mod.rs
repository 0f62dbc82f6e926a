//! A recipe: everything that decides what is learned from a log.
//!
//! In Rust, settings live with the choice they belong to: `EstimatorChoice::SoftClipped { cap }`. In TOML, JSON and on the command
//! line a recipe is one flat table with the same words. Every field has a default that works and a range, and all ranges are
//! checked here, in [`Recipe::check`], and nowhere else. Unknown fields are refused, and so are fields without effect: a
//! misspelt word must not silently mean its default, nor a list of three values three equal fits.

mod choices;
mod convert;
mod flat;
#[cfg(test)]
mod tests;

pub use choices::{
    Baseline, BaselineName, Basis, ContextChoice, Descent, EstimatorChoice, GreedyChoice, GridChoice, GridName,
    MeanChoice, ModelChoice, ModelsName, ObjectiveName, OptimiserName, StartName, StdChoice,
};
pub(crate) use flat::{Flat, idle};

use crate::data::files::read_text;
use crate::error::{Error, Result, nearest};
use crate::estimate::{Estimator, ModelTerm};
use crate::features::{MapOptions, Scale};
use crate::folds::Precision;
use crate::optim::{Cg, Lbfgs, Method, Newton, Proximal};
use crate::policy::Family;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What to learn and how. See the [module](self) for the rules and [`Recipe::describe`] for the table of fields.
///
/// ```
/// use counterpoint::Recipe;
/// use counterpoint::recipe::{EstimatorChoice, StdChoice};
/// let recipe = Recipe::from_toml("anchors = 15\ncap = 20.0\nstd = 0.3")?;
/// assert_eq!(recipe.estimator, EstimatorChoice::SoftClipped { cap: 20.0 });
/// assert_eq!(recipe.std, StdChoice::Fixed(0.3));
/// let wrong = Recipe::from_toml("cap = -1.0").unwrap_err().to_string();
/// assert!(wrong.contains("recipe field `cap`"), "{wrong}");
/// let idle = Recipe::from_toml("policy = \"linear\"\ntemperature = 5.0").unwrap_err().to_string();
/// assert!(idle.contains("temperature belongs to policy = clp"), "{idle}");
/// # Ok::<(), counterpoint::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Flat", into = "Flat")]
pub struct Recipe {
    /// The mean model.
    pub policy: MeanChoice,
    /// The distribution around the mean.
    pub family: Family,
    /// Scaling of the contexts.
    pub scale: Scale,
    /// Where the std comes from.
    pub std: StdChoice,
    /// The estimator of the objective.
    pub estimator: EstimatorChoice,
    /// What is subtracted from costs.
    pub baseline: Baseline,
    /// Weight of the standard error in the objective, >= 0.
    pub variance_penalty: f64,
    /// Weight of |beta|^2 / 2, >= 0; intercepts and stds are free.
    pub ridge: f64,
    /// Weight of the policy's entropy, >= 0.
    pub entropy: f64,
    /// The loss model, for estimators and starts that need one.
    pub model: ModelChoice,
    /// Which optimiser runs inside.
    pub optimiser: OptimiserName,
    /// Steps that L-BFGS remembers, 1 to 1000; none: 10, as in scipy and so in the paper.
    pub history: Option<usize>,
    /// Iterations of each inner minimisation, 1 to 100000.
    pub max_iterations: usize,
    /// With or without proximal steps.
    pub descent: Descent,
    /// Where the optimiser starts.
    pub start: StartName,
    /// Std of the noise added to the starting coefficients, >= 0.
    pub start_noise: f64,
    /// Starting points, 1 to 1000; the best training objective is kept.
    pub starts: usize,
    /// Starting points that go on after the first proximal step, 1 to 1000; none: all.
    pub finalists: Option<usize>,
    /// Whether a proximal step of L-BFGS goes on with what the one before learned of the curvature.
    pub carry: bool,
    /// Rows, in whole blocks, that the first proximal steps see; then the best starting point goes on, and every step sees twice as many rows as
    /// the one before, until the last sees all. None: all from the beginning.
    pub first_rows: Option<usize>,
    /// f64, or f32 for very large logs.
    pub precision: Precision,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for Recipe {
    fn default() -> Self {
        Recipe {
            policy: MeanChoice::Greedy(GreedyChoice::default()),
            family: Family::Normal,
            scale: Scale::Standard,
            std: StdChoice::Learned { floor: 0.01 },
            estimator: EstimatorChoice::SoftClipped { cap: 15.0 },
            baseline: Baseline::Named(BaselineName::Auto),
            variance_penalty: 0.0,
            ridge: 0.0,
            entropy: 0.0,
            model: ModelChoice::default(),
            optimiser: OptimiserName::Lbfgs,
            history: None,
            max_iterations: 200,
            descent: Descent::Proximal { steps: 10, kappa: 0.01 },
            start: StartName::Logging,
            start_noise: 0.1,
            starts: 5,
            finalists: None,
            carry: false,
            first_rows: None,
            precision: Precision::F64,
            seed: 0,
        }
    }
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

impl Recipe {
    /// The paper's: the counterfactual loss predictor by soft-clipped importance weights, from several starts.
    pub fn clp() -> Self {
        Recipe { policy: MeanChoice::clp(), ..Recipe::default() }
    }

    /// Every field as it is written in TOML: name, default, meaning and range.
    pub fn describe() -> Vec<(&'static str, String, String)> {
        Flat::describe()
    }

    /// Reads and checks a recipe.
    pub fn from_toml(text: &str) -> Result<Self> {
        let flat: Flat = toml::from_str(text).map_err(|e| {
            misread(text, &e, Flat::FIELDS, "`counterpoint recipe` lists every field with its default and range")
        })?;
        Recipe::try_from(flat)
    }

    /// Reads a recipe file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_toml(&read_text(path)?).map_err(|e| e.at(path.display().to_string()))
    }

    /// The recipe as TOML: every field that has an effect.
    pub fn to_toml(&self) -> String {
        toml::to_string(&Flat::from(self.clone())).unwrap_or_default()
    }

    /// The recipe with some fields changed, named as in TOML. A choice that is replaced takes its own settings with it; a
    /// changed field that has no effect is refused.
    ///
    /// ```
    /// use counterpoint::Recipe;
    /// let linear = Recipe::clp().changed(&"policy = \"linear\"\ncap = 20.0".parse()?)?;
    /// assert!(linear.to_toml().contains("cap = 20.0") && !linear.to_toml().contains("anchors"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn changed(&self, changes: &toml::Table) -> Result<Self> {
        let mut table: toml::Table = toml::from_str(&self.to_toml()).unwrap_or_default();
        table.extend(changes.clone());
        let text = table.to_string();
        if let Ok(flat) = toml::from_str::<Flat>(&text) {
            flat.strangers().filter(|(f, _)| !changes.contains_key(*f)).for_each(|(f, _)| {
                table.remove(f);
            });
        }
        Self::from_toml(&table.to_string())
    }

    /// The recipe with one field changed; see [`Recipe::changed`].
    pub fn with(&self, field: &str, value: impl Into<toml::Value>) -> Result<Self> {
        self.changed(&toml::Table::from_iter([(field.to_string(), value.into())]))
    }

    /// With this many anchors, in the features of the policy or of the loss model.
    #[must_use]
    pub fn with_anchors(mut self, anchors: usize) -> Self {
        self.basis_mut().anchors = anchors;
        self
    }

    /// With this context map, in the features of the policy or of the loss model.
    #[must_use]
    pub fn with_context_map(mut self, map: ContextChoice) -> Self {
        self.basis_mut().context_map = map;
        self
    }

    /// With this many proximal steps; 0 minimises directly.
    #[must_use]
    pub fn with_proximal_steps(mut self, steps: usize) -> Self {
        self.finalists = self.finalists.filter(|_| steps > 0);
        self.carry &= steps > 0;
        self.descent = match (self.descent, steps) {
            (_, 0) => Descent::Plain,
            (Descent::Proximal { kappa, .. }, _) => Descent::Proximal { steps, kappa },
            (Descent::Plain, _) => Descent::Proximal { steps, kappa: 0.01 },
        };
        self
    }

    /// With this ridge of the loss model.
    #[must_use]
    pub fn with_model_ridge(mut self, ridge: f64) -> Self {
        self.model.ridge = ridge;
        self
    }

    /// Proximal steps; 0 if there are none.
    pub fn proximal_steps(&self) -> usize {
        if let Descent::Proximal { steps, .. } = self.descent { steps } else { 0 }
    }

    /// Every range, checked in one place; and that nothing is set that has no effect.
    pub fn check(&self) -> Result<()> {
        let all = Flat::everything(self);
        all.check_ranges()?;
        let defaults = Flat::defaults();
        if let Some((field, home)) = all.strangers().find(|(f, _)| !all.agrees(&defaults, f)) {
            return Err(idle(field, home));
        }
        let is_clp = matches!(self.policy, MeanChoice::Clp { .. });
        if is_clp && self.model.basis != Basis::default() {
            return Err(Error::recipe("model.basis", "the loss model of a clp policy has the policy's own features"));
        }
        if self.start == StartName::Direct && !is_clp {
            return Err(
                Error::recipe("start", "only clp can start from the direct method").hint("use start = \"logging\"")
            );
        }
        Ok(())
    }

    /// The estimator of the objective.
    pub fn estimator(&self) -> Estimator {
        self.estimator.estimator()
    }

    pub(crate) fn model_term(&self) -> ModelTerm {
        self.estimator.model_term()
    }

    /// Whether a loss model is fitted.
    pub(crate) fn needs_model(&self) -> bool {
        self.estimator().needs_model() || self.start == StartName::Direct
    }

    /// Features of contexts and actions: those of a clp policy, else those of the loss model.
    pub fn basis(&self) -> &Basis {
        match &self.policy {
            MeanChoice::Clp { basis, .. } => basis,
            _ => &self.model.basis,
        }
    }

    fn basis_mut(&mut self) -> &mut Basis {
        match &mut self.policy {
            MeanChoice::Clp { basis, .. } => basis,
            _ => &mut self.model.basis,
        }
    }

    /// What context maps need to know.
    pub(crate) fn map_options(&self) -> MapOptions {
        let buckets = if let MeanChoice::Stratified { buckets } = self.policy { buckets } else { 2 };
        let (centres, bandwidth) = match self.basis().context_map {
            ContextChoice::Nystrom { centres, bandwidth } => (centres, bandwidth),
            _ => (1, None),
        };
        MapOptions { buckets, centres, bandwidth, seed: self.seed }
    }

    pub(crate) fn method(&self) -> Proximal<Method> {
        let max_iterations = self.max_iterations;
        let inner = match self.optimiser {
            OptimiserName::Lbfgs => {
                let d = Lbfgs::default();
                Method::Lbfgs(Lbfgs { max_iterations, history: self.history.unwrap_or(d.history), ..d })
            }
            OptimiserName::Cg => Method::Cg(Cg { max_iterations, ..Cg::default() }),
            OptimiserName::Newton => Method::Newton(Newton { max_iterations, ..Newton::default() }),
        };
        let outer = self.proximal_steps();
        let kappa = if let Descent::Proximal { kappa, .. } = self.descent { kappa } else { 0.0 };
        Proximal { inner, kappa, outer, carry: self.carry, ..Proximal::new(Method::default()) }
    }
}
