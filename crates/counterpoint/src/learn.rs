//! From a log and a recipe to a policy.
//!
//! The problem is not convex: the same recipe from different starting points gives policies of different worth. So
//! [`learn`] starts several times, keeps the best training objective, and reports the spread. Starting points run side
//! by side where there are more of them than threads; the result is the same bits either way.

mod starts;

use crate::budget::Budget;
use crate::certify::Gate;
use crate::data::{Columns, Propensities, Sample, Sampled, Schema, Summaries, Summary};
use crate::error::{Error, Result};
use crate::estimate::{LossModel, Normalise};
use crate::features::{ActionMap, Anchors, ContextKind, ContextMap, Scaler};
use crate::folds::{Gram, LossOptions, Question, RiskSpec};
use crate::optim::{Optimum, Stop};
use crate::policy::{Clp, Linear, Mean, Origin, Policy, SavedPolicy, Std, TargetPolicy};
pub use crate::portfolio::{Effort, Guarding, Line};
use crate::portfolio::{Found, Search, search};
use crate::recipe::{Baseline, BaselineName, GreedyChoice, MeanChoice, Recipe, StartName, StdChoice};
use crate::rng::StandardNormal;
use crate::rng::{Purpose, stream};
use crate::select::Divided;
use crate::source::Source;
use rand::distr::Distribution;
use serde::Serialize;
use starts::descend;
use std::ops::ControlFlow;

/// Rows that maps are learned from: quantiles, centres and bandwidths need no more. They are the only rows that travel.
const SAMPLE: usize = 50_000;

/// What was learned.
#[derive(Clone, Debug)]
pub struct Learned {
    /// The policy: with the best training objective, or found by the search of a greedy recipe.
    pub policy: SavedPolicy,
    /// Its training objective in the direction of the log's outcome (larger is better for rewards), baseline included; of a
    /// greedy policy the doubly robust estimate on held-out folds.
    pub objective: f64,
    /// Every starting point, in order.
    pub starts: Vec<Start>,
    /// Which of them was kept.
    pub best: usize,
    /// Rows that the first proximal steps saw, and of how many, where they did not see all of them: the objectives of starting points that were not kept are of these rows.
    pub first_look: Option<[u64; 2]>,
    /// Contexts that do not vary in the train part and so say nothing.
    pub silent_contexts: Vec<String>,
    /// The baseline that was subtracted from costs (inside, rewards are negative costs).
    pub baseline: f64,
    /// The loss model, where the recipe needed one.
    pub model: Option<LossModel>,
    /// Where the propensities of the train part come from.
    pub propensities: Propensities,
    /// What the search of a greedy recipe tried and what it noticed.
    pub search: Option<Searched>,
}

impl Learned {
    /// The mean model times a family, where the recipe has one.
    pub fn parametric(&self) -> Option<&Policy> {
        self.policy.parametric()
    }
}

/// What a search tried, best first, and what it noticed of the log.
#[derive(Clone, Debug, Serialize)]
pub struct Searched {
    /// The candidates.
    pub board: Vec<Line>,
    /// What was noticed and chosen, in sentences.
    pub notes: Vec<String>,
    /// What there was no time for; empty without a budget, and where it was long enough.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// How one starting point ended.
#[derive(Clone, Debug, Serialize)]
pub struct Start {
    /// Its training objective, in the direction of the log's outcome.
    pub objective: f64,
    /// Passes over the data.
    pub evaluations: usize,
    /// Accepted steps.
    pub iterations: usize,
    /// Why it stopped.
    pub stop: String,
}

/// What an observer is told while learning.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Which starting point, from 0.
    pub start: usize,
    /// Proximal steps completed.
    pub outer: usize,
    /// Accepted steps so far.
    pub iteration: usize,
    /// Passes over the data so far.
    pub evaluations: usize,
    /// The objective, in the direction of the log's outcome, baseline included.
    pub objective: f64,
}

/// An observer: sees progress, and may ask to stop. What has been learned by then is kept.
pub type Watch<'a> = dyn Fn(&Progress) -> ControlFlow<()> + Sync + 'a;

/// Learns a policy from the train part of a log.
///
/// ```
/// use counterpoint::{Log, Recipe, learn, policy::TargetPolicy};
/// # let u = |i: usize| (i as f64 * 0.754_877_666).fract();
/// // 2,000 rows whose best action is 1 + x; logged uniformly between 0 and 3
/// let x: Vec<f64> = (0..2000).map(|i| u(i)).collect();
/// let a: Vec<f64> = (0..2000).map(|i| 3.0 * (i as f64 * 0.569_840_291).fract()).collect();
/// let cost = x.iter().zip(&a).map(|(x, a)| (a - 1.0 - x).abs() - 1.0).collect();
/// let log = Log::builder().context("x", x).action("a", a).cost("y", cost)
///     .propensity("p", vec![1.0 / 3.0; 2000]).build()?;
/// let recipe = Recipe::from_toml("policy = \"linear\"\nstarts = 1")?;
/// let learned = learn(&log, &recipe)?;
/// let mean = learned.policy.mean(&[0.5]).expect("a mean");
/// assert!((mean[0] - 1.5).abs() < 0.1);
/// # Ok::<(), counterpoint::Error>(())
/// ```
///
/// [`Learner`] has more to choose; [`Log::on`](crate::Log::on) chooses the threads, on which the result does not depend.
pub fn learn(train: &dyn Source, recipe: &Recipe) -> Result<Learned> {
    Learner::new(recipe).learn(train)
}

/// [`learn`] with choices that are not part of the recipe.
///
/// ```
/// # use counterpoint::learn::Learner;
/// # use counterpoint::{Engine, Log, Recipe};
/// # let a: Vec<f64> = (0..500).map(|i| (i as f64 * 0.569_840_291).fract()).collect();
/// # let log = Log::builder().action("a", a.clone()).cost("y", a).propensity("p", vec![1.0; 500]).build()?;
/// let recipe = Recipe::from_toml("policy = \"constant\"\nstarts = 1")?;
/// let steps = std::sync::atomic::AtomicUsize::new(0);
/// let watch = |_: &counterpoint::learn::Progress| {
///     steps.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
///     std::ops::ControlFlow::Continue(())
/// };
/// let learned = Learner::new(&recipe).watch(&watch).learn(&log.on(&Engine::single()))?;
/// assert!(steps.into_inner() > 0);
/// # Ok::<(), counterpoint::Error>(())
/// ```
pub struct Learner<'a> {
    recipe: &'a Recipe,
    logging: Option<&'a Policy>,
    watch: &'a Watch<'a>,
    gate: Gate,
    effort: Effort,
    budget: Budget<'a>,
    guards: &'a [Guarding<'a>],
}

impl<'a> Learner<'a> {
    /// Learns by this recipe.
    pub fn new(recipe: &'a Recipe) -> Self {
        Learner {
            recipe,
            logging: None,
            watch: &|_| ControlFlow::Continue(()),
            gate: Gate::default(),
            effort: Effort::Quick,
            budget: Budget::unlimited(),
            guards: &[],
        }
    }

    /// The logging policy as a function, which `switch` and `cab` need.
    #[must_use]
    pub fn logging(mut self, policy: Option<&'a Policy>) -> Self {
        self.logging = policy;
        self
    }

    /// An observer, who sees progress and may ask to stop.
    #[must_use]
    pub fn watch(mut self, watch: &'a Watch<'a>) -> Self {
        self.watch = watch;
        self
    }

    /// The gate that the certificate will hold: a greedy policy is chosen among those that will pass it.
    #[must_use]
    pub fn gate(mut self, gate: Gate) -> Self {
        self.gate = gate;
        self
    }

    /// How much work the search of a greedy recipe may be.
    #[must_use]
    pub fn effort(mut self, effort: Effort) -> Self {
        self.effort = effort;
        self
    }

    /// How long the search of a greedy recipe may take; with a limit the effort is all that there is time for. Other recipes are ended by
    /// whoever [watches](Self::watch).
    #[must_use]
    pub fn budget(mut self, budget: Budget<'a>) -> Self {
        self.budget = budget;
        self
    }

    /// Outcomes that a greedy policy must not harm: candidates are judged on them too, and a price on harm is part of the search. Their rows are
    /// those that are learned from, train and valid together, with the guardrail's column as the outcome. Other recipes are refused.
    #[must_use]
    pub fn guards(mut self, guards: &'a [Guarding<'a>]) -> Self {
        self.guards = guards;
        self
    }

    /// Learns from the parts of a log: a greedy recipe from train and valid together, because its gate is measured on held-out folds
    /// of both; every other recipe from train alone, because valid has to say whether the log supports what it learns.
    pub fn learn_from(&self, parts: &dyn Divided) -> Result<Learned> {
        match self.recipe.policy {
            MeanChoice::Greedy(_) => self.learn(&*parts.both()?),
            _ => self.learn(parts.train()),
        }
    }

    /// Learns from these rows, wherever they are.
    pub fn learn(&self, train: &dyn Source) -> Result<Learned> {
        let recipe = self.recipe;
        recipe.check()?;
        if let MeanChoice::Greedy(choice) = recipe.policy {
            return self.greedy(train, choice);
        }
        if !self.guards.is_empty() {
            return Err(Error::recipe("policy", "guardrails steer greedy policies alone")
                .hint("use policy = \"greedy\"; a policy of another kind can be certified with guardrails"));
        }
        if !train.schema().predictions.is_empty() {
            return Err(Error::recipe("policy", "predictions of others are models of greedy policies alone")
                .hint("use policy = \"greedy\"; or name these columns among the contexts, to use them as such"));
        }
        let mut plan = Plan::new(train, recipe)?;
        plan.question.logging = self.logging.cloned();
        let spec = RiskSpec {
            policy: plan.policy.clone(),
            question: plan.question.clone(),
            baseline: plan.baseline,
            precision: recipe.precision,
        };
        let (outcomes, first_look) = descend(train, recipe, &plan, &spec, self.watch)?;
        Ok(Learned { first_look, ..plan.conclude(train.schema(), outcomes)? })
    }

    /// The search of a greedy recipe.
    fn greedy(&self, train: &dyn Source, choice: GreedyChoice) -> Result<Learned> {
        let (seed, gate) = (self.recipe.seed, self.gate);
        let options = Search { seed, gate, choice, effort: self.effort, budget: self.budget, guards: self.guards };
        let Found { policy, board, notes, left_out } = search(train, &options)?;
        let schema = train.schema();
        let silent = Scaler::silent(self.recipe.scale, &train.get(Summaries)?.contexts);
        Ok(Learned {
            policy: policy.into(),
            objective: board.first().map_or(f64::NAN, |l| l.estimate),
            starts: Vec::new(),
            best: 0,
            first_look: None,
            silent_contexts: silent.iter().map(|&j| schema.contexts[j].clone()).collect(),
            baseline: 0.0,
            model: None,
            propensities: schema.propensities.clone(),
            search: Some(Searched { board, notes, left_out }),
        })
    }
}

/// Everything that is fixed before the first step.
struct Plan {
    policy: Policy,
    question: Question,
    baseline: f64,
    model: Option<LossModel>,
    action_mean: Vec<f64>,
    action_std: Vec<f64>,
    silent: Vec<usize>,
}

impl Plan {
    fn new(train: &dyn Source, recipe: &Recipe) -> Result<Self> {
        let schema = train.schema();
        let columns = train.get(Summaries)?;
        if columns.rows == 0 {
            return Err(Error::data("there are no rows to learn from"));
        }
        let Columns { rows, contexts, actions, cost } = columns;
        let (d, q) = (contexts.len(), actions.len());
        for (s, name) in actions.iter().zip(&schema.actions) {
            if s.std() <= 1e-12 * s.min.abs().max(s.max.abs()) {
                return Err(Error::data(format!(
                    "all logged actions are {}, so nothing can be learned about others",
                    s.mean()
                ))
                .at(format!("column {name:?}"))
                .hint("a log needs randomised actions"));
            }
        }
        let action_std: Vec<f64> = actions.iter().map(|s| s.std()).collect();
        let scaler = Scaler::learn(recipe.scale, &contexts);
        let Sampled { mut x, a, .. } = train.get(Sample::of(rows, SAMPLE))?;
        x.chunks_exact_mut(d.max(1)).for_each(|row| scaler.apply(row));
        let mean = mean_model(recipe, &x, &a, d, q)?;
        let std = match recipe.std {
            StdChoice::Learned { floor } => Std::Learned { floor: action_std.iter().map(|s| s * floor).collect() },
            StdChoice::Logging => Std::Fixed { value: action_std.clone() },
            StdChoice::Fixed(v) => Std::Fixed { value: vec![v; q] },
        };
        let mut policy = Policy {
            origin: Some(Origin::from(train.recognise(Origin::QUESTION)?)),
            inputs: schema.inputs.clone(),
            contexts: schema.contexts.clone(),
            actions: schema.actions.clone(),
            scaler,
            family: recipe.family,
            mean,
            std,
            theta: Vec::new(),
        };
        policy.theta = vec![0.0; policy.mean_parameters() + policy.std.parameters()];
        policy.check()?;
        if policy.theta.len() as u64 > rows {
            return Err(Error::data(format!(
                "the train part has {rows} rows for {} parameters",
                policy.theta.len()
            ))
            .hint("with many contexts: the grid `wide` of select, or context_map = \"linear\", temperature = 1, start_noise = 0.01; else fewer anchors, or a linear policy"));
        }
        let estimator = recipe.estimator();
        let model = if recipe.needs_model() { Some(fit(train, loss_options(recipe, &policy, &x, &a)?)?) } else { None };
        let question = Question {
            variance_penalty: recipe.variance_penalty,
            entropy: recipe.entropy,
            term: recipe.model_term(),
            model: model.clone().filter(|_| estimator.needs_model()),
            ..Question::new(estimator)
        };
        Ok(Plan {
            baseline: baseline(&cost, recipe),
            silent: Scaler::silent(recipe.scale, &contexts),
            action_mean: actions.iter().map(|s| s.mean()).collect(),
            action_std,
            policy,
            question,
            model,
        })
    }

    /// Starting point number `index`: near the logging policy, or the direct method's fit, plus seeded noise.
    fn start(&self, recipe: &Recipe, index: u64) -> Result<Vec<f64>> {
        let mut policy = self.policy.clone();
        let beta = policy.mean_parameters();
        let mut rng = stream(recipe.seed, Purpose::Start, index);
        let mut normal = || StandardNormal.sample(&mut rng);
        let start = match (recipe.start, &self.model) {
            // a loss model on the policy's own maps is a set of its parameters
            (StartName::Direct, Some(model)) => model.coef.clone(),
            _ => policy.mean.start(&self.action_mean, policy.d(), &mut normal),
        };
        let theta = &mut policy.theta;
        theta[..beta].copy_from_slice(&start);
        for t in &mut theta[..beta] {
            let z: f64 = normal();
            *t += recipe.start_noise * z;
        }
        let tail = policy.std.invert(&self.action_std)?;
        theta[beta..].copy_from_slice(&tail);
        Ok(policy.theta)
    }

    fn conclude(self, schema: &Schema, outcomes: Vec<Result<Optimum>>) -> Result<Learned> {
        let mut starts = Vec::new();
        let mut best: Option<(usize, Optimum)> = None;
        let mut failure = None;
        for (i, outcome) in outcomes.into_iter().enumerate() {
            match outcome {
                Ok(o) => {
                    starts.push(Start {
                        objective: schema.direction.to_user(o.value + self.offset()),
                        evaluations: o.evaluations,
                        iterations: o.iterations,
                        stop: o.stop.to_string(),
                    });
                    let before = |b: &Optimum| (o.stop == Stop::Behind, o.value) < (b.stop == Stop::Behind, b.value);
                    if best.as_ref().is_none_or(|(_, b)| before(b)) {
                        best = Some((i, o));
                    }
                }
                Err(e) => {
                    starts.push(Start { objective: f64::NAN, evaluations: 0, iterations: 0, stop: e.to_string() });
                    failure = failure.or(Some(e));
                }
            }
        }
        let Some((index, optimum)) = best else {
            return Err(failure.unwrap_or_else(|| Error::numeric("objective", "no starting point gave a finite value")));
        };
        let offset = self.offset();
        let mut policy = self.policy;
        policy.theta = optimum.theta;
        policy.check()?;
        Ok(Learned {
            policy: policy.into(),
            objective: schema.direction.to_user(optimum.value + offset),
            starts,
            best: index,
            first_look: None,
            silent_contexts: self.silent.iter().map(|&j| schema.contexts[j].clone()).collect(),
            baseline: self.baseline,
            model: self.model,
            propensities: schema.propensities.clone(),
            search: None,
        })
    }

    /// What brings the objective back to the user's scale of costs.
    fn offset(&self) -> f64 {
        self.baseline
    }
}

fn mean_model(recipe: &Recipe, x: &[f64], a: &[f64], d: usize, q: usize) -> Result<Mean> {
    let options = recipe.map_options();
    let link = recipe.family.support().link();
    let learn = |kind| ContextMap::learn(kind, x, d, options);
    if let MeanChoice::Clp { basis, temperature } = recipe.policy {
        let kind = if d == 0 { ContextKind::Constant } else { basis.context_map.kind() };
        return Ok(Clp { map: learn(kind)?, actions: action_map(recipe, a, q)?, temperature }.into());
    }
    // without contexts every map is the constant
    let model = match recipe.policy.context_kind() {
        Some(_) if d == 0 => Some(Linear { map: learn(ContextKind::Constant)?, link }.into()),
        Some(kind) => recipe.policy.model(learn(kind)?, link),
        None => None,
    };
    model.ok_or_else(|| Error::recipe("policy", "a greedy policy has no mean model"))
}

fn action_map(recipe: &Recipe, a: &[f64], q: usize) -> Result<ActionMap> {
    let basis = recipe.basis();
    let placement = basis.placement.unwrap_or(if q == 1 { Anchors::Quantile } else { Anchors::Kmeans });
    ActionMap::new(placement.place(a, q, basis.anchors, recipe.seed)?, q, basis.bandwidth)
}

/// Fits the loss model that a recipe would fit on these rows for this policy: what doubly robust and direct estimates of the
/// policy on other rows need.
pub fn fit_model(train: &dyn Source, policy: &dyn TargetPolicy, recipe: &Recipe) -> Result<LossModel> {
    let Columns { rows, contexts, actions, .. } = train.get(Summaries)?;
    let (d, q) = (contexts.len(), actions.len());
    let Sampled { mut x, a, .. } = train.get(Sample::of(rows, SAMPLE))?;
    let scaler = match policy.parametric() {
        Some(policy) => policy.scaler.clone(),
        None => Scaler::learn(recipe.scale, &contexts),
    };
    x.chunks_exact_mut(d.max(1)).for_each(|row| scaler.apply(row));
    let options = match policy.parametric() {
        Some(policy) => {
            policy.fits(train.schema())?;
            loss_options(recipe, policy, &x, &a)?
        }
        None => {
            let map = context_map(recipe, &x, d)?;
            LossOptions { scaler, map, actions: action_map(recipe, &a, q)?, ridge: recipe.model.ridge }
        }
    };
    fit(train, options)
}

/// Columns of a loss model beyond which products of contexts are left out: their Gram matrix would not fit.
const MOST_COLUMNS: usize = 2000;

/// The context map of a recipe; without products of contexts where these are too many.
fn context_map(recipe: &Recipe, x: &[f64], d: usize) -> Result<ContextMap> {
    let wide = d * (d + 1) / 2 * recipe.basis().anchors > MOST_COLUMNS;
    let kind = match recipe.basis().context_map.kind() {
        _ if d == 0 => ContextKind::Constant,
        ContextKind::Quadratic if wide => ContextKind::Linear,
        kind => kind,
    };
    ContextMap::learn(kind, x, d, recipe.map_options())
}

fn fit(train: &dyn Source, options: LossOptions) -> Result<LossModel> {
    let gram = Gram::new(options)?;
    gram.solve(&train.get(gram.clone())?)
}

/// The maps of the loss model: those of the policy where it has them, so that a start from the direct fit is possible.
fn loss_options(recipe: &Recipe, policy: &Policy, x: &[f64], a: &[f64]) -> Result<LossOptions> {
    let (map, actions) = match policy.mean.model().loss_maps() {
        Some((map, actions)) => (map.clone(), actions.clone()),
        None => (context_map(recipe, x, policy.d())?, action_map(recipe, a, policy.q())?),
    };
    Ok(LossOptions { scaler: policy.scaler.clone(), map, actions, ridge: recipe.model.ridge })
}

fn baseline(costs: &Summary, recipe: &Recipe) -> f64 {
    // self-normalised estimates move with a shift of the costs: centring them only helps the arithmetic
    if recipe.estimator().normalise == Normalise::ByWeights {
        return costs.mean();
    }
    match recipe.baseline {
        Baseline::Value(v) => v,
        Baseline::Named(BaselineName::None) => 0.0,
        Baseline::Named(BaselineName::Mean) => costs.mean(),
        Baseline::Named(BaselineName::Max) => costs.max,
        Baseline::Named(BaselineName::Auto) => {
            if costs.max <= 0.0 {
                0.0
            } else {
                costs.mean()
            }
        }
    }
}
