//! Between the flat table and the choices, and the range of every field.

use super::Recipe;
use super::choices::*;
use super::flat::{EstimatorName, Flat, PolicyName, StdKind, StdName, choice, within};
use crate::error::{Error, Result};
use crate::features::ContextKind;
use crate::source::LEAST_ROWS;

impl TryFrom<Flat> for Recipe {
    type Error = Error;

    fn try_from(flat: Flat) -> Result<Self> {
        let flat = flat.strict()?;
        flat.check_ranges()?;
        let recipe = flat.filled().choices()?;
        recipe.check()?;
        Ok(recipe)
    }
}

impl From<Recipe> for Flat {
    fn from(recipe: Recipe) -> Flat {
        Flat::everything(&recipe).effective()
    }
}

impl Flat {
    /// The choices of a table in which every field with a default is filled in.
    pub(super) fn choices(self) -> Result<Recipe> {
        let d = Recipe::default();
        let basis = self.basis()?;
        let is_clp = self.policy == Some(PolicyName::Clp);
        let policy = match self.policy {
            Some(PolicyName::Greedy) => MeanChoice::Greedy(self.greedy()),
            _ => self
                .mean_choice()
                .unwrap_or(MeanChoice::Clp { basis, temperature: self.temperature.unwrap_or_default() }),
        };
        let std = match self.std {
            Some(StdKind::Named(StdName::Logging)) => StdChoice::Logging,
            Some(StdKind::Fixed(v)) => StdChoice::Fixed(v),
            _ => StdChoice::Learned { floor: self.std_floor.unwrap_or_default() },
        };
        let mean = (self.power_mix.unwrap_or_default(), self.power.unwrap_or_default());
        let estimator = self.estimator.unwrap_or(EstimatorName::SoftClipped);
        let descent = match self.proximal_steps {
            Some(0) => Descent::Plain,
            steps => Descent::Proximal { steps: steps.unwrap_or_default(), kappa: self.kappa.unwrap_or_default() },
        };
        Ok(Recipe {
            policy,
            std,
            descent,
            estimator: choice(estimator, self.cap.unwrap_or_default(), mean),
            model: ModelChoice {
                ridge: self.model_ridge.unwrap_or(d.model.ridge),
                basis: if is_clp { Basis::default() } else { basis },
            },
            family: self.family.unwrap_or(d.family),
            scale: self.scale.unwrap_or(d.scale),
            baseline: self.baseline.unwrap_or(d.baseline),
            variance_penalty: self.variance_penalty.unwrap_or(d.variance_penalty),
            ridge: self.ridge.unwrap_or(d.ridge),
            entropy: self.entropy.unwrap_or(d.entropy),
            optimiser: self.optimiser.unwrap_or(d.optimiser),
            history: self.history,
            max_iterations: self.max_iterations.unwrap_or(d.max_iterations),
            start: self.start.unwrap_or(d.start),
            start_noise: self.start_noise.unwrap_or(d.start_noise),
            starts: self.starts.unwrap_or(d.starts),
            finalists: self.finalists,
            carry: self.carry.unwrap_or(false),
            first_rows: self.first_rows,
            precision: self.precision.unwrap_or(d.precision),
            seed: self.seed.unwrap_or(d.seed),
        })
    }

    fn greedy(&self) -> GreedyChoice {
        GreedyChoice {
            models: self.models.unwrap_or_default(),
            std_share: self.std_share,
            step: self.step,
            min_action: self.min_action,
            max_action: self.max_action,
            max_change: self.max_change,
            grid: self.action_grid.unwrap_or_default(),
            scale: self.action_scale,
            objective: self.objective.unwrap_or_default(),
            tail: match self.objective {
                Some(ObjectiveName::Cvar) => self.tail.unwrap_or_default(),
                _ => 0.0,
            },
        }
    }

    fn basis(&self) -> Result<Basis> {
        let d = Basis::default();
        let context_map = match self.context_map {
            None => d.context_map,
            Some(ContextKind::Linear) => ContextChoice::Linear,
            Some(ContextKind::Quadratic) => ContextChoice::Quadratic,
            Some(ContextKind::Cubic) => ContextChoice::Cubic,
            Some(ContextKind::Nystrom) => {
                ContextChoice::Nystrom { centres: self.centres.unwrap_or_default(), bandwidth: self.context_bandwidth }
            }
            Some(_) => return Err(Error::recipe("context_map", "clp takes linear, quadratic, cubic or nystrom")),
        };
        Ok(Basis {
            context_map,
            anchors: self.anchors.unwrap_or(d.anchors),
            placement: self.anchor_placement,
            bandwidth: self.bandwidth,
        })
    }

    /// Every setting of a recipe, those without effect at what they are set to or at their defaults.
    pub(super) fn everything(r: &Recipe) -> Flat {
        let mut f = Flat {
            family: Some(r.family),
            scale: Some(r.scale),
            baseline: Some(r.baseline),
            variance_penalty: Some(r.variance_penalty),
            ridge: Some(r.ridge),
            entropy: Some(r.entropy),
            model_ridge: Some(r.model.ridge),
            optimiser: Some(r.optimiser),
            history: r.history,
            max_iterations: Some(r.max_iterations),
            start: Some(r.start),
            start_noise: Some(r.start_noise),
            starts: Some(r.starts),
            finalists: r.finalists,
            carry: r.carry.then_some(true),
            first_rows: r.first_rows,
            precision: Some(r.precision),
            seed: Some(r.seed),
            ..Flat::default()
        };
        f.write_policy(r);
        f.write_estimator(&r.estimator);
        f.std = Some(match r.std {
            StdChoice::Learned { floor } => {
                f.std_floor = Some(floor);
                StdKind::Named(StdName::Learned)
            }
            StdChoice::Logging => StdKind::Named(StdName::Logging),
            StdChoice::Fixed(v) => StdKind::Fixed(v),
        });
        (f.proximal_steps, f.kappa) = match r.descent {
            Descent::Plain => (Some(0), None),
            Descent::Proximal { steps, kappa } => (Some(steps), Some(kappa)),
        };
        f
    }

    fn write_policy(&mut self, r: &Recipe) {
        match r.policy {
            MeanChoice::Greedy(g) => {
                (self.models, self.std_share, self.step) = (Some(g.models), g.std_share, g.step);
                (self.min_action, self.max_action, self.max_change) = (g.min_action, g.max_action, g.max_change);
                (self.action_grid, self.action_scale) = (Some(g.grid), g.scale);
                (self.objective, self.tail) =
                    (Some(g.objective), (g.objective == ObjectiveName::Cvar).then_some(g.tail));
                self.policy = Some(PolicyName::Greedy);
            }
            MeanChoice::Clp { temperature, .. } => {
                self.temperature = Some(temperature);
                self.policy = Some(PolicyName::Clp);
            }
            other => self.write_mean(&other),
        }
        let basis = r.basis();
        self.context_map = Some(basis.context_map.kind());
        if let ContextChoice::Nystrom { centres, bandwidth } = basis.context_map {
            (self.centres, self.context_bandwidth) = (Some(centres), bandwidth);
        }
        self.anchors = Some(basis.anchors);
        (self.anchor_placement, self.bandwidth) = (basis.placement, basis.bandwidth);
    }

    fn write_estimator(&mut self, estimator: &EstimatorChoice) {
        self.cap = estimator.cap();
        self.estimator = Some(match *estimator {
            EstimatorChoice::Ips => EstimatorName::Ips,
            EstimatorChoice::Clipped { .. } => EstimatorName::Clipped,
            EstimatorChoice::SoftClipped { .. } => EstimatorName::SoftClipped,
            EstimatorChoice::PowerMean { mix, power } => {
                (self.power_mix, self.power) = (Some(mix), Some(power));
                EstimatorName::PowerMean
            }
            EstimatorChoice::Snips => EstimatorName::Snips,
            EstimatorChoice::Direct => EstimatorName::Direct,
            EstimatorChoice::DoublyRobust => EstimatorName::DoublyRobust,
            EstimatorChoice::DoublyRobustCdf => EstimatorName::DoublyRobustCdf,
            EstimatorChoice::Switch { .. } => EstimatorName::Switch,
            EstimatorChoice::Cab { .. } => EstimatorName::Cab,
            EstimatorChoice::CabDr { .. } => EstimatorName::CabDr,
        });
    }

    /// The range of every field that is written.
    pub(crate) fn check_ranges(&self) -> Result<()> {
        let whole = [
            ("anchors", self.anchors, 2, 200),
            ("centres", self.centres, 1, 1000),
            ("history", self.history, 1, 1000),
            ("finalists", self.finalists, 1, 1000),
            ("first_rows", self.first_rows, LEAST_ROWS, 1_000_000_000_000),
            ("max_iterations", self.max_iterations, 1, 100_000),
            ("proximal_steps", self.proximal_steps, 0, 1000),
            ("starts", self.starts, 1, 1000),
            ("seed", self.seed.map(|seed| usize::try_from(seed).unwrap_or(usize::MAX)), 0, i64::MAX as usize), // what TOML can hold
        ];
        for (field, v, low, high) in whole {
            within(field, v, low, high)?;
        }
        self.check_means()?;
        let fixed = if let Some(StdKind::Fixed(v)) = self.std { Some(v) } else { None };
        let baseline = if let Some(Baseline::Value(v)) = self.baseline { Some(v) } else { None };
        let grid = if let Some(GridChoice::Step(v)) = self.action_grid { Some(v) } else { None };
        /// A field, its value, whether a value is allowed, and how the range is written.
        type Range<'a> = (&'a str, Option<f64>, fn(f64) -> bool, &'a str);
        let positive: fn(f64) -> bool = |v| v > 0.0;
        let at_least_0: fn(f64) -> bool = |v| v >= 0.0;
        let real: [Range; 22] = [
            ("tail", self.tail, |v| v > 0.0 && v < 1.0, "in (0, 1)"),
            ("std_share", self.std_share, |v| v > 0.0 && v <= 2.0, "in (0, 2]"),
            ("step", self.step, |v| v > 0.0 && v <= 1.0, "in (0, 1]"),
            ("min_action", self.min_action, |_| true, "finite"),
            ("max_action", self.max_action, |_| true, "finite"),
            ("max_change", self.max_change, positive, "> 0"),
            ("action_grid", grid, positive, "> 0, or \"auto\" or \"off\""),
            ("bandwidth", self.bandwidth, positive, "> 0"),
            ("context_bandwidth", self.context_bandwidth, positive, "> 0"),
            ("temperature", self.temperature, positive, "> 0"),
            ("cap", self.cap, positive, "> 0"),
            ("model_ridge", self.model_ridge, positive, "> 0"),
            ("variance_penalty", self.variance_penalty, at_least_0, ">= 0"),
            ("ridge", self.ridge, at_least_0, ">= 0"),
            ("entropy", self.entropy, at_least_0, ">= 0"),
            ("kappa", self.kappa, at_least_0, ">= 0"),
            ("start_noise", self.start_noise, at_least_0, ">= 0"),
            ("std", fixed, positive, "> 0, or \"learned\" or \"logging\""),
            ("std_floor", self.std_floor, |v| (0.0..1.0).contains(&v), "in [0, 1)"),
            ("power_mix", self.power_mix, |v| (0.0..=1.0).contains(&v), "in [0, 1]"),
            ("power", self.power, |v| v <= 1.0, "<= 1"),
            ("baseline", baseline, |_| true, "finite"),
        ];
        for (field, v, allowed, range) in real {
            if let Some(v) = v.filter(|v| !(allowed(*v) && v.is_finite())) {
                let v = if v.abs() < 1e17 { v.to_string() } else { format!("{v:e}") };
                return Err(Error::recipe(field, format!("{v} is out of range (must be {range})")));
            }
        }
        Ok(())
    }
}
