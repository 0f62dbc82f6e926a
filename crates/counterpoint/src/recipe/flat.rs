//! The recipe as it is written: one flat table of fields, and which choice each field belongs to.
//!
//! In a file a field that has no effect for the choices made is a mistake, and is refused with the choice it belongs to.
//! One exception: files written before settings belonged to choices list every field; in them unused fields that stand at
//! their defaults are let by.

use super::choices::*;
use crate::error::{Error, Result};
use crate::features::{Anchors, ContextKind, Scale};
use crate::folds::Precision;
use crate::policy::{AxisScale, Family, mean_choices};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// The ways to set the std: by name, or a number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum StdKind {
    Named(StdName),
    Fixed(f64),
}

/// The named ways to set the std.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StdName {
    Learned,
    Logging,
}

/// The estimators by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum EstimatorName {
    Ips,
    Clipped,
    SoftClipped,
    PowerMean,
    Snips,
    Direct,
    DoublyRobust,
    DoublyRobustCdf,
    Switch,
    Cab,
    CabDr,
}

/// Policies by name, and what belongs to each: from the list of mean models.
macro_rules! policies {
    ({ $(
        $(#[doc = $about:literal])+
        $choice:ident $word:literal over $kind:ident => $build:expr $(, {
            $( $(#[doc = $doc:literal])+ $setting:ident : $ty:ty = $default:expr, from $low:literal to $high:literal; )+
        })? ;
    )+ }) => {
        /// The policies by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub(super) enum PolicyName {
            #[serde(rename = "greedy")]
            Greedy,
            #[serde(rename = "clp")]
            Clp,
            $( #[serde(rename = $word)] $choice, )+
        }

        impl PolicyName {
            /// The words of the policies that have a mean model.
            pub(crate) const MEANS: &[&str] = &["clp", $( $word ),+];

            const OF_MEANS: &str = concat!("policies with a mean model: clp" $(, ", ", $word)+);

            /// The context map under a mean model that shares no features with a loss model.
            fn map(self) -> Option<ContextKind> {
                match self {
                    PolicyName::Greedy | PolicyName::Clp => None,
                    $( PolicyName::$choice => Some(ContextKind::$kind), )+
                }
            }

            /// The policy that a setting belongs to, in words too.
            fn owner(setting: &str) -> Option<(PolicyName, &'static str)> {
                match setting {
                    "temperature" => Some((PolicyName::Clp, "policy = clp")),
                    $($($( stringify!($setting) => Some((PolicyName::$choice, concat!("policy = ", $word))), )+)?)+
                    _ => None,
                }
            }
        }

        impl Flat {
            /// The settings that belong to one mean model each.
            const SETTINGS: &[&str] = &[ $($($( stringify!($setting), )+)?)+ ];

            /// The choice of a mean model, of a table in which every field with a default is filled in.
            pub(super) fn mean_choice(&self) -> Option<MeanChoice> {
                match self.policy? {
                    PolicyName::Greedy | PolicyName::Clp => None,
                    $( PolicyName::$choice => {
                        Some(MeanChoice::$choice $( { $( $setting: self.$setting.unwrap_or_default(), )+ } )?)
                    } )+
                }
            }

            /// Writes the choice of a mean model with its settings.
            pub(super) fn write_mean(&mut self, choice: &MeanChoice) {
                match *choice {
                    MeanChoice::Greedy(_) | MeanChoice::Clp { .. } => {}
                    $( MeanChoice::$choice $( { $( $setting ),+ } )? => {
                        self.policy = Some(PolicyName::$choice);
                        $( $( self.$setting = Some($setting); )+ )?
                    } )+
                }
            }

            /// The range of every setting of a mean model.
            pub(super) fn check_means(&self) -> Result<()> {
                $($($( within(stringify!($setting), self.$setting, $low, $high)?; )+)?)+
                Ok(())
            }
        }
    };
}

mean_choices!(policies);

/// Refuses a number out of its range.
pub(super) fn within<T: PartialOrd + std::fmt::Display>(field: &str, v: Option<T>, low: T, high: T) -> Result<()> {
    match v {
        Some(v) if !(v >= low && v <= high) => {
            Err(Error::recipe(field, format!("{v} is out of range (must be {low} to {high})")))
        }
        _ => Ok(()),
    }
}

macro_rules! flat {
    // the settings of the mean models between the fields before and after
    ([ $($before:tt)* ] [ $($after:tt)* ] { $(
        $(#[doc = $about:literal])+
        $choice:ident $word:literal over $kind:ident => $build:expr $(, {
            $( $(#[doc = $doc:literal])+ $setting:ident : $ty:ty = $default:expr, from $low:literal to $high:literal; )+
        })? ;
    )+ }) => {
        flat! {
            $($before)*
            $($($( $(#[doc = $doc])+ $setting: $ty = Some($default), )+)?)+
            $($after)*
        }
    };
    ($( $(#[doc = $doc:literal])+ $name:ident : $ty:ty = $default:expr ),+ $(,)?) => {
        /// Every field of a recipe, each there or not.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub(crate) struct Flat {
            $( #[serde(skip_serializing_if = "Option::is_none")] pub(super) $name: Option<$ty>, )+
        }

        impl Flat {
            /// The names, in the order of the file.
            pub(crate) const FIELDS: &[&str] = &[ $( stringify!($name) ),+ ];

            /// The defaults; a field that is absent here is found from the log.
            pub(super) fn defaults() -> Flat {
                Flat { $( $name: $default, )+ }
            }

            pub(super) fn has(&self, field: &str) -> bool {
                match field { $( stringify!($name) => self.$name.is_some(), )+ _ => false }
            }

            pub(super) fn clear(&mut self, field: &str) {
                match field { $( stringify!($name) => self.$name = None, )+ _ => {} }
            }

            /// Takes one field over from another table.
            pub(crate) fn take(&mut self, field: &str, from: &Flat) {
                match field { $( stringify!($name) => self.$name.clone_from(&from.$name), )+ _ => {} }
            }

            /// Whether both have this field alike.
            pub(super) fn agrees(&self, other: &Flat, field: &str) -> bool {
                match field { $( stringify!($name) => self.$name == other.$name, )+ _ => false }
            }

            /// With defaults where nothing is written.
            pub(super) fn filled(self) -> Flat {
                let d = Flat { policy: Some(self.meant()), ..Flat::defaults() };
                Flat { $( $name: self.$name.or(d.$name), )+ }
            }

            /// Every field: name, default, meaning and range.
            pub(super) fn describe() -> Vec<(&'static str, String, String)> {
                let d = Flat::defaults();
                let about = |doc: &[&str]| doc.join(" ").replace("{means}", &PolicyName::MEANS.join(", "));
                vec![ $( (stringify!($name), shown(&d.$name), about(&[$($doc.trim()),+])), )+ ]
            }
        }
    };
}

mean_choices! { flat [
    /// greedy: the cheapest action by models of the cost. Or a mean model that goes down an estimator of its own cost: {means}.
    /// Absent: clp where a field is set that only these have, else greedy.
    policy: PolicyName = Some(PolicyName::Greedy),
    /// greedy: models of the cost, one of auto, stack, constant, linear, ridge, index, trees, action-trees, network, recentred;
    /// or predictions, columns of the log that a model of yours has filled.
    models: ModelsName = Some(ModelsName::Auto),
    /// greedy: std in units of the log's own spread, (0, 2]; absent: found by cross-fitting.
    std_share: f64 = None,
    /// greedy: part of the way from the log's mean to the cheapest action, (0, 1]; absent: found by cross-fitting.
    step: f64 = None,
    /// greedy: no action below this; absent: the smallest logged action.
    min_action: f64 = None,
    /// greedy: no action above this; absent: the largest logged action.
    max_action: f64 = None,
    /// greedy: no mean further than this from the log's mean given the context, > 0, on the scale of the axis.
    max_change: f64 = None,
    /// greedy: auto (the logged actions where they are tied), off, or a step > 0 of which actions are multiples.
    action_grid: GridChoice = Some(GridChoice::Named(GridName::Auto)),
    /// greedy: the scale on which noise is normal, linear or log; absent: found from the log.
    action_scale: AxisScale = None,
    /// greedy: what is improved: mean, the mean outcome; or cvar, the mean of the worst outcomes. A certificate is of the mean in any case.
    objective: ObjectiveName = Some(ObjectiveName::Mean),
    /// objective = cvar: the share of the outcomes that are the worst, (0, 1).
    tail: f64 = Some(0.1),
    /// clp and other mean models: the distribution around the mean: normal, lognormal or gamma.
    family: Family = Some(Family::Normal),
    /// Scaling of the contexts: standard, min-max or none.
    scale: Scale = Some(Scale::Standard),
    /// clp and loss models: the context map, one of linear, quadratic, cubic, nystrom.
    context_map: ContextKind = Some(ContextKind::Quadratic),
    /// clp and loss models: how many anchors, 2 to 200.
    anchors: usize = Some(12),
    /// clp and loss models: quantile, grid or kmeans; absent: quantile for one action column, kmeans for several.
    anchor_placement: Anchors = None,
    /// clp and loss models: alpha of the action kernel, > 0; absent: from the spacing of the anchors.
    bandwidth: f64 = None,
    /// clp: gamma of the soft minimum, > 0.
    temperature: f64 = Some(10.0),
] [
    /// nystrom: k-means centres, 1 to 1000.
    centres: usize = Some(30),
    /// nystrom: alpha of the context kernel, > 0; absent: from the spacing of the centres.
    context_bandwidth: f64 = None,
    /// learned, logging, or a number > 0.
    std: StdKind = Some(StdKind::Named(StdName::Learned)),
    /// std = learned: no std falls below this share of the std of the logged actions, [0, 1).
    std_floor: f64 = Some(0.01),
    /// ips, clipped, soft-clipped, power-mean, snips, direct, doubly-robust, doubly-robust-cdf, switch, cab or cab-dr.
    estimator: EstimatorName = Some(EstimatorName::SoftClipped),
    /// clipped, soft-clipped, switch, cab, cab-dr: cap of the importance weights, > 0.
    cap: f64 = Some(15.0),
    /// power-mean: lambda, [0, 1].
    power_mix: f64 = Some(0.1),
    /// power-mean: exponent s, <= 1.
    power: f64 = Some(-1.0),
    /// What is subtracted from costs: auto (none if all costs are <= 0, else mean), none, mean, max, or a number.
    baseline: Baseline = Some(Baseline::Named(BaselineName::Auto)),
    /// Weight of the standard error in the objective, >= 0.
    variance_penalty: f64 = Some(0.0),
    /// Weight of |beta|^2 / 2, >= 0; intercepts and stds are free.
    ridge: f64 = Some(0.0),
    /// Weight of the policy's entropy, >= 0.
    entropy: f64 = Some(0.0),
    /// Ridge of the loss model, > 0, for estimators and starts that need one.
    model_ridge: f64 = Some(1e-3),
    /// lbfgs, cg or newton.
    optimiser: OptimiserName = Some(OptimiserName::Lbfgs),
    /// optimiser = lbfgs: steps whose curvature is remembered, 1 to 1000; absent: 10. More of them often take fewer passes over the rows.
    history: usize = None,
    /// Iterations of each inner minimisation, 1 to 100000.
    max_iterations: usize = Some(200),
    /// Proximal steps, 0 to 1000; 0 minimises directly.
    proximal_steps: usize = Some(10),
    /// proximal_steps > 0: weight of the distance to the last proximal point, >= 0.
    kappa: f64 = Some(0.01),
    /// logging or direct.
    start: StartName = Some(StartName::Logging),
    /// Std of the noise added to the starting coefficients, >= 0.
    start_noise: f64 = Some(0.1),
    /// Starting points, 1 to 1000; the best training objective is kept.
    starts: usize = Some(5),
    /// proximal_steps > 0: starting points that go on after the first proximal step, 1 to 1000, those with the best objective; absent: all.
    finalists: usize = None,
    /// optimiser = lbfgs, proximal_steps > 0: true: a proximal step goes on with what the one before learned of the curvature; absent: it learns it anew.
    carry: bool = None,
    /// Rows, in whole blocks, that the first proximal steps see, at least 100000; the best starting point then goes on, with twice as many rows every step, until the last step, without the pull, sees all; absent: all rows from the beginning. For logs of tens of millions.
    first_rows: usize = None,
    /// f64, or f32 for very large logs.
    precision: Precision = Some(Precision::F64),
    /// Seed of everything random.
    seed: u64 = Some(0),
] }

fn shown<T: Serialize>(v: &Option<T>) -> String {
    match serde_json::to_value(v) {
        Ok(serde_json::Value::Null) | Err(_) => "(automatic)".into(),
        Ok(serde_json::Value::String(s)) => s,
        Ok(v) => v.to_string(),
    }
}

impl Flat {
    /// The fields whose values decide which others have an effect.
    pub(crate) const CHOICES: &[&str] =
        &["policy", "objective", "family", "context_map", "std", "estimator", "optimiser", "proximal_steps", "start"];

    /// Fields that came after settings belonged to choices: no older file lists them.
    const YOUNGER: &[&str] = &["models", "action_grid", "objective", "tail"];

    fn younger(field: &str) -> bool {
        Self::YOUNGER.contains(&field) || Self::SETTINGS.contains(&field)
    }

    /// The fields of the greedy policy.
    pub(super) const GREEDY: &[&str] = &[
        "models",
        "std_share",
        "step",
        "min_action",
        "max_action",
        "max_change",
        "action_grid",
        "action_scale",
        "objective",
        "tail",
    ];

    /// The policy that is written, or the one that the other fields belong to.
    pub(super) fn meant(&self) -> PolicyName {
        let parametric = |f: &&&str| !Self::GREEDY.contains(f) && !["policy", "seed"].contains(f) && self.has(f);
        match (self.policy, Self::FIELDS.iter().find(parametric)) {
            (Some(policy), _) => policy,
            (None, Some(_)) => PolicyName::Clp,
            (None, None) => PolicyName::Greedy,
        }
    }

    /// The choice that a field belongs to, if for the choices made here the field has no effect.
    pub(crate) fn stranger(&self, field: &str) -> Option<&'static str> {
        let (d, f) = (Flat::known(), self);
        let (policy, std) = (Some(f.meant()), f.std.or(d.std));
        if field == "tail" && policy == Some(PolicyName::Greedy) && f.objective != Some(ObjectiveName::Cvar) {
            return Some("objective = cvar");
        }
        if Self::GREEDY.contains(&field) {
            return (policy != Some(PolicyName::Greedy)).then_some("policy = greedy");
        }
        if policy == Some(PolicyName::Greedy) && !["policy", "seed"].contains(&field) {
            return Some(PolicyName::OF_MEANS);
        }
        let estimator = f.estimator.or(d.estimator);
        let is_clp = policy == Some(PolicyName::Clp);
        let model = f.needs_model();
        let basis = is_clp || model;
        let of = |estimators: &[EstimatorName]| estimators.iter().any(|e| estimator == Some(*e));
        use EstimatorName as E;
        if let Some((owner, home)) = PolicyName::owner(field) {
            return (policy != Some(owner)).then_some(home);
        }
        let over = policy.and_then(PolicyName::map);
        let (used, home) = match field {
            "context_map" | "anchors" | "anchor_placement" | "bandwidth" => {
                (basis, "policy = clp, and to estimators with a loss model")
            }
            "centres" | "context_bandwidth" => {
                (basis && f.context_map.or(d.context_map) == Some(ContextKind::Nystrom), "context_map = nystrom")
            }
            "std_floor" => (std == Some(StdKind::Named(StdName::Learned)), "std = learned"),
            "cap" => (
                of(&[E::Clipped, E::SoftClipped, E::Switch, E::Cab, E::CabDr]),
                "estimator = clipped, soft-clipped, switch, cab or cab-dr",
            ),
            "power_mix" | "power" => (of(&[E::PowerMean]), "estimator = power-mean"),
            "baseline" => (!of(&[E::Snips]), "estimators other than snips, which no shift of the costs changes"),
            "model_ridge" => (
                model,
                "estimator = direct, doubly-robust, doubly-robust-cdf, switch, cab or cab-dr, and to start = direct",
            ),
            "history" => (f.optimiser.or(d.optimiser) == Some(OptimiserName::Lbfgs), "optimiser = lbfgs"),
            "carry" => (
                f.proximal_steps.or(d.proximal_steps) != Some(0)
                    && f.optimiser.or(d.optimiser) == Some(OptimiserName::Lbfgs),
                "optimiser = lbfgs with proximal_steps > 0",
            ),
            "kappa" | "finalists" => (f.proximal_steps.or(d.proximal_steps) != Some(0), "proximal_steps > 0"),
            "ridge" => (over != Some(ContextKind::Constant), "policies with coefficients: all but constant"),
            "scale" => (
                model || !matches!(over, Some(ContextKind::Constant | ContextKind::Strata)),
                "policies that scale contexts, all but constant and stratified, and to estimators with a loss model",
            ),
            _ => (true, ""),
        };
        (!used).then_some(home)
    }

    /// The defaults, made once.
    fn known() -> &'static Flat {
        static KNOWN: OnceLock<Flat> = OnceLock::new();
        KNOWN.get_or_init(Flat::defaults)
    }

    fn needs_model(&self) -> bool {
        let d = Flat::known();
        let estimator = self.estimator.or(d.estimator).map(|e| choice(e, 1.0, (0.0, 1.0)));
        estimator.is_some_and(|e| e.estimator().needs_model()) || self.start == Some(StartName::Direct)
    }

    /// The fields that are written here and have no effect.
    pub(crate) fn strangers(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let written = Self::FIELDS.iter().filter(|f| self.has(f));
        written.filter_map(|f| self.stranger(f).map(|home| (*f, home)))
    }

    /// With this seed where none is written.
    pub(crate) fn seeded(self, seed: u64) -> Flat {
        Flat { seed: self.seed.or(Some(seed)), ..self }
    }

    /// What decides which fields have an effect: the choices, of settings only what matters here.
    pub(crate) fn chosen(&self) -> Flat {
        let mut chosen = Flat::default();
        Self::CHOICES.iter().for_each(|field| chosen.take(field, self));
        chosen.std = chosen.std.map(|std| if let StdKind::Fixed(_) = std { StdKind::Fixed(1.0) } else { std });
        chosen.proximal_steps = chosen.proximal_steps.map(|steps| steps.min(1));
        chosen
    }

    /// Without the fields that have no effect.
    pub(crate) fn effective(mut self) -> Flat {
        let strangers: Vec<&str> = self.strangers().map(|(f, _)| f).collect();
        strangers.iter().for_each(|f| self.clear(f));
        self
    }

    /// Refuses what has no effect.
    pub(super) fn strict(self) -> Result<Flat> {
        let defaults = Flat::defaults();
        // only files written before settings belonged to choices list every field that has a default
        let old = Self::FIELDS.iter().all(|f| self.has(f) || !defaults.has(f) || Self::younger(f));
        let stranger = self.strangers().find(|(f, _)| !(old && self.agrees(&defaults, f)));
        match stranger {
            Some((field, home)) => Err(idle(field, home)),
            None => Ok(self.effective()),
        }
    }
}

/// The refusal of a field that has no effect.
pub(crate) fn idle(field: &str, home: &str) -> Error {
    Error::recipe(field, "it has no effect with the choices made").hint(format!("{field} belongs to {home}"))
}

/// An estimator with its settings.
pub(super) fn choice(name: EstimatorName, cap: f64, (mix, power): (f64, f64)) -> EstimatorChoice {
    match name {
        EstimatorName::Ips => EstimatorChoice::Ips,
        EstimatorName::Clipped => EstimatorChoice::Clipped { cap },
        EstimatorName::SoftClipped => EstimatorChoice::SoftClipped { cap },
        EstimatorName::PowerMean => EstimatorChoice::PowerMean { mix, power },
        EstimatorName::Snips => EstimatorChoice::Snips,
        EstimatorName::Direct => EstimatorChoice::Direct,
        EstimatorName::DoublyRobust => EstimatorChoice::DoublyRobust,
        EstimatorName::DoublyRobustCdf => EstimatorChoice::DoublyRobustCdf,
        EstimatorName::Switch => EstimatorChoice::Switch { cap },
        EstimatorName::Cab => EstimatorChoice::Cab { cap },
        EstimatorName::CabDr => EstimatorChoice::CabDr { cap },
    }
}
