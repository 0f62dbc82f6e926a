//! From a log to a policy without a recipe: models of the cost, greedy rules, and what held-out rows say of them.
//!
//! 1. **Survey.** On which scale do actions lie, are they points of a grid, what did the log do given the context?
//! 2. **Models.** Ridge regressions, an index, boosted trees, networks and trees around their best action predict the cost of every action, cross-fitted: the model that
//!    speaks of a row has not seen it. A stack of them has the weights that predict best.
//! 3. **Candidates.** The greedy rule of every model and of the stack, with noise from a fiftieth of the log's own spread (less, where that is not enough) to nearly all of
//!    it, all the way or part of the way from what the log did.
//! 4. **Choice.** Doubly robust values on held-out rows, behind the gate of the certificate: a policy that cannot be certified is
//!    not worth finding.
//! 5. **Refit.** Ridges and trees of the chosen rule are fitted again on all rows; networks act as they were judged, as the mean over the
//!    folds. What the folds said of its support goes with it.
//!
//! Nothing here has a unit: costs are centred and scaled, actions are positions on their axis, penalties and shares are numbers.

mod blend;
mod choose;
mod descend;
mod fitted;
mod ground;
mod guard;
mod judge;
mod survey;
mod table;
mod tail;

use crate::budget::Budget;
use crate::certify::Gate;
use crate::data::Outcome;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::policy::{Axis, AxisScale, Columns, GateFigures, LoggingLaw, MeanRule, ModelParts, ModelPolicy, Origin};
use crate::recipe::{GreedyChoice, GridChoice, GridName, ModelsName, ObjectiveName};
use crate::source::Source;
use blend::Blend;
use choose::{Candidate, choose};
use fitted::{Fitted, Kind, brought, cross_fit, cross_fit_within};
use ground::Ground;
use guard::Guard;
pub use guard::Guarding;
use judge::Figures;
use serde::Serialize;
use survey::{GridWish, Wishes};
use table::Table;
use tail::Tail;

/// Shares of the log's spread that are tried as the std of a policy.
const SHARES: [f64; 15] = [0.018, 0.023, 0.03, 0.04, 0.055, 0.075, 0.1, 0.13, 0.18, 0.24, 0.32, 0.42, 0.55, 0.7, 0.9];

/// Shares that are tried where the log does not support the stack's rule with any of those: a log that follows its own rule closely and explores a little acts far less wherever it
/// explores than its spread says, and only more noise finds enough of its rows there.
const WIDER: [f64; 4] = [1.2, 1.5, 1.8, 2.0];

/// How often the noise of the best rule is looked for between the shares that were tried.
const FINER: usize = 2;

/// Parts of the way from the log's mean to the rule's.
const STEPS: [f64; 4] = [1.0, 0.7, 0.4, 0.2];

/// Rows up to which a quick search tries rules that go down the objective too: there they take a fraction of a second, and a rule
/// with few parameters is worth most.
const FEW_ROWS: usize = 4000;

/// How much work a search may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// Seconds: models with fewer rows and restarts; greedy rules alone where rows are many.
    #[default]
    Quick,
    /// Up to a minute: larger networks, and rules that go down the objective.
    Full,
}

/// What is searched.
#[derive(Clone, Default)]
pub struct Search<'a> {
    /// Seed of folds and models.
    pub seed: u64,
    /// The gate that the certificate will hold.
    pub gate: Gate,
    /// What is given, and what is to be found.
    pub choice: GreedyChoice,
    /// How much work it may be.
    pub effort: Effort,
    /// How long it may take; with a limit the effort is all that there is time for.
    pub budget: Budget<'a>,
    /// Outcomes that must not become worse.
    pub guards: &'a [Guarding<'a>],
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The policy.
    pub policy: ModelPolicy,
    /// Every candidate, best first.
    pub board: Vec<Line>,
    /// What the log looks like and what was chosen, in sentences.
    pub notes: Vec<String>,
    /// What there was no time for; empty without a budget, and where it was long enough.
    pub left_out: Vec<String>,
}

/// A candidate and what held-out rows say of it, in the direction and units of the outcome.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The rule.
    pub rule: String,
    /// The name of its models in a recipe.
    pub models: ModelsName,
    /// The std in units of the log's spread.
    pub share: f64,
    /// Part of the way from the log's mean.
    pub step: f64,
    /// Doubly robust estimate of the value per row.
    pub estimate: f64,
    /// Its difference to the log, larger is better for rewards.
    pub difference: f64,
    /// The standard error of the difference.
    pub std_error: f64,
    /// Effective share of the rows.
    pub effective_share: f64,
    /// Mean weight.
    pub mean_weight: f64,
    /// Whether the log supports it.
    pub passes: bool,
    /// Whether a test part of a quarter of the log would tell its gain from none.
    pub certifiable: bool,
}

/// Searches a policy for the rows of a source.
pub fn search(source: &dyn Source, options: &Search) -> Result<Found> {
    let (engine, seed, schema) = (source.engine(), options.seed, source.schema());
    let tail = (options.choice.objective == ObjectiveName::Cvar).then_some(options.choice.tail);
    if tail.is_some() && !schema.predictions.is_empty() {
        return Err(Error::recipe("objective", "the predictions are of the outcome, not of its tail")
            .hint("leave the predictions out, or use objective = \"mean\""));
    }
    let mut table = Table::of(source, seed)?;
    let axis = survey::axis(&mut table, &wishes(&options.choice, &schema.predictions))?;
    let (logging, window, varies) = survey::logging(&table, seed, engine)?;
    let mut notes = vec![say_axis(&axis, &schema.actions[0]), say_logging(&logging, varies)];
    let guards = options.guards.iter().map(|g| Guard::new(&table, (&axis, &logging), g, (seed, engine)));
    let guards = guards.collect::<Result<Vec<Guard>>>()?;
    let scene = Scene {
        axis: &axis,
        logging: (&logging, window),
        guards: &guards,
        options,
        predictions: &schema.predictions,
        direction: schema.direction,
        engine,
    };
    let Explored { rule, chosen, board, notes: more, left_out, .. } = match tail {
        None => scene.explore(&table)?,
        Some(share) => scene.explore_tail(&table, share)?,
    };
    notes.extend(more);
    let columns = Columns {
        inputs: schema.inputs.clone(),
        contexts: schema.contexts.clone(),
        actions: schema.actions.clone(),
        origin: Some(Origin {
            support: Some(support(&table, &chosen.figures)),
            ..source.recognise(Origin::QUESTION)?.into()
        }),
    };
    let policy = ModelPolicy::try_from(ModelParts {
        columns,
        rule,
        share: chosen.share,
        step: chosen.step,
        window,
        max_change: options.choice.max_change,
        predicted: schema.predictions.len(),
        axis,
        logging,
    })?;
    Ok(Found { policy, board, notes, left_out })
}

/// What is the same for every objective.
struct Scene<'a> {
    axis: &'a Axis,
    logging: (&'a LoggingLaw, [f64; 2]),
    guards: &'a [Guard],
    options: &'a Search<'a>,
    predictions: &'a [f64],
    direction: Outcome,
    engine: &'a Engine,
}

/// What a search of one objective has found.
struct Explored {
    rule: MeanRule,
    chosen: Candidate,
    board: Vec<Line>,
    notes: Vec<String>,
    left_out: Vec<String>,
    /// Weights of the chosen candidate on rows that it has not seen.
    weights: Vec<f64>,
}

impl Scene<'_> {
    /// Models, candidates, choice and refit for the costs of a table.
    fn explore(&self, table: &Table) -> Result<Explored> {
        let (options, engine, seed) = (self.options, self.engine, self.options.seed);
        let effort = if options.budget.limits() { Effort::Full } else { options.effort };
        let (fitted, mut left_out) = self.models(table, effort)?;
        let stack = Blend::stacked(table, &fitted, (self.axis, self.logging.0));
        let mut notes = vec![say_models(&fitted, &stack)];
        let mut blends: Vec<Blend> = (0..fitted.len()).map(|i| Blend::of_one(&fitted, i)).collect();
        blends.push(stack);
        let chosen_by = (&options.choice, self.guards, effort);
        let ground = Ground::new(table, self.axis, self.logging, (&fitted, &blends), chosen_by);
        let (n, rows) = (table.n() as f64, table.rows as f64);
        let mut planned = ground.greedy_rules();
        let mut candidates = ground.candidates(&planned, engine);
        candidates.extend(ground.wider(&planned, &candidates, &options.gate, engine));
        let (mut order, mut words) = choose(&candidates, &options.gate, (n, rows));
        if !self.guards.is_empty() {
            let mixed = ground.mixed_rules(&candidates, &options.gate);
            candidates.extend(ground.candidates(&mixed, engine));
            planned.extend(mixed);
            (order, words) = choose(&candidates, &options.gate, (n, rows));
        }
        let affords = effort == Effort::Full || table.n() <= FEW_ROWS;
        if affords && options.choice.models == ModelsName::Auto {
            let best: Vec<Candidate> = order.iter().map(|&c| candidates[c]).collect();
            let (further, missing) = ground.further_rules(&best, seed, engine, &options.budget)?;
            left_out.extend(missing);
            candidates.extend(ground.candidates(&further, engine));
            planned.extend(further);
            (order, words) = choose(&candidates, &options.gate, (n, rows));
        }
        for _ in 0..FINER {
            candidates.extend(ground.finer(&candidates[order[0]], &candidates, &planned, engine));
            (order, words) = choose(&candidates, &options.gate, (n, rows));
        }
        let chosen = candidates[order[0]];
        notes.push(words);
        let (weights, guarded) = match self.guards.is_empty() && options.choice.objective == ObjectiveName::Mean {
            true => (Vec::new(), Vec::new()),
            false => ground.closely(&chosen, &planned),
        };
        notes.extend(guarded);
        let board = order.iter().map(|&c| ground.line(&candidates[c], &options.gate, self.direction)).collect();
        let rule = ground.refit(&chosen, seed, engine)?;
        Ok(Explored { rule, chosen, board, notes, left_out, weights })
    }

    /// Cross-fitted models, those that others bring among them, and what there was no time for.
    fn models(&self, table: &Table, effort: Effort) -> Result<(Vec<Fitted>, Vec<String>)> {
        let (options, engine, seed) = (self.options, self.engine, self.options.seed);
        let models = options.choice.models;
        let kinds = kinds(models);
        let (mut fitted, left_out) = match (kinds, options.budget.limits()) {
            ([], _) => (Vec::new(), Vec::new()),
            (_, true) => cross_fit_within(table, self.axis, kinds, (seed, engine), &options.budget)?,
            (_, false) => (cross_fit(table, self.axis, kinds, effort, seed, engine)?, Vec::new()),
        };
        let wanted = matches!(models, ModelsName::Auto | ModelsName::Stack | ModelsName::Predictions);
        if wanted && !self.predictions.is_empty() {
            let sign = self.direction.to_user(1.0);
            fitted.push(brought(table, self.axis, (self.predictions, sign), engine)?);
        }
        match fitted.is_empty() {
            true => Err(Error::recipe("models", "the log has no columns of predictions")
                .hint("say which columns they are, or leave the choice open")),
            false => Ok((fitted, left_out)),
        }
    }

    /// The mean of the worst share as the objective: searched again with the threshold of what was found, while that helps.
    fn explore_tail(&self, table: &Table, share: f64) -> Result<Explored> {
        let costs = table.costs();
        let logged = Tail::of(&costs, &table.omega, share);
        let mut eta = logged.threshold(&costs);
        let mut best: Option<(Tail, Explored)> = None;
        for round in 0..tail::ROUNDS {
            if round > 0 && !self.options.budget.before(0.5) {
                if let Some((_, found)) = &mut best {
                    found.left_out.push("another threshold of the tail".into());
                }
                break;
            }
            let found = self.explore(&tail::above(table, &costs, eta, share))?;
            let weights: Vec<f64> = found.weights.iter().zip(&table.omega).map(|(w, o)| w * o).collect();
            let own = Tail::of(&costs, &weights, share);
            let (better, next) = (best.as_ref().is_none_or(|(b, _)| own.cvar < b.cvar), own.threshold(&costs));
            if better {
                best = Some((own, found));
            }
            if !better || (next - eta).abs() < tail::STAYS * table.unit {
                break;
            }
            eta = next;
        }
        let Some((own, mut found)) = best else { return Err(Error::numeric("objective", "no threshold was tried")) };
        let user = |v: f64| brief(self.direction.to_user(v));
        found.notes.push(format!(
            "objective: the mean of the worst {:.0}% of outcomes, {} on held-out rows (log {}); a certificate is of the mean outcome all the \
             same",
            100.0 * share,
            user(own.cvar),
            user(logged.cvar)
        ));
        Ok(found)
    }
}

/// What the log did, fitted: a policy whose mean and spread given the contexts are those of the logged actions. One action column.
///
/// It is for doing what the log did where nothing better is known ([`AbstainPolicy`](crate::policy::AbstainPolicy)), not for densities of the
/// logged actions: those are [`propensity`](crate::propensity)'s.
pub fn logging_policy(source: &dyn Source, seed: u64) -> Result<ModelPolicy> {
    let mut table = Table::of(source, seed)?;
    let axis = survey::axis(&mut table, &Wishes::default())?;
    let (logging, window, _) = survey::logging(&table, seed, source.engine())?;
    let schema = source.schema();
    let columns = Columns {
        inputs: schema.inputs.clone(),
        contexts: schema.contexts.clone(),
        actions: schema.actions.clone(),
        origin: None,
    };
    let rule = MeanRule::Direct(logging.mean.clone());
    let parts = ModelParts {
        columns,
        axis,
        logging,
        rule,
        share: 1.0,
        step: 1.0,
        window,
        max_change: None,
        predicted: schema.predictions.len(),
    };
    Ok(ModelPolicy::try_from(parts)?.logging_policy())
}

/// What held-out folds say to the gate: rows, or clusters where there are any. Of a log larger than the table the shares are those of the table.
fn support(table: &Table, f: &Figures) -> GateFigures {
    let (rows, scale) = (table.rows as f64 * f.draws, table.rows as f64 / table.n() as f64);
    GateFigures {
        effective: (f.effective * scale).min(rows),
        rows,
        mean_weight: f.mean_weight,
        mean_weight_error: f.mean_weight_error / scale.sqrt(),
        folds: table.folds,
    }
}

fn wishes(choice: &GreedyChoice, asked: &[f64]) -> Wishes {
    let grid = match choice.grid {
        GridChoice::Named(GridName::Auto) => None,
        GridChoice::Named(GridName::Off) => Some(GridWish::Off),
        GridChoice::Step(step) => Some(GridWish::Step(step)),
    };
    Wishes { min: choice.min_action, max: choice.max_action, grid, scale: choice.scale, asked: asked.to_vec() }
}

/// The kinds of models behind a name.
fn kinds(models: ModelsName) -> &'static [Kind] {
    match models {
        ModelsName::Auto | ModelsName::Stack => &Kind::ALL,
        ModelsName::Constant => &[Kind::Constant],
        ModelsName::Linear => &[Kind::Linear],
        ModelsName::Ridge => &[Kind::Ridge],
        ModelsName::Index => &[Kind::Index],
        ModelsName::Trees => &[Kind::Trees],
        ModelsName::ActionTrees => &[Kind::ActionTrees],
        ModelsName::Network => &[Kind::Network, Kind::SharpNetwork],
        ModelsName::Recentred => &[Kind::Network, Kind::SharpNetwork, Kind::Recentred],
        ModelsName::Predictions => &[],
    }
}

fn say_axis(axis: &Axis, action: &str) -> String {
    let [lo, hi] = axis.bounds.map(brief);
    match &axis.points {
        Some(points) => {
            format!("{action} takes {} different values from {lo} to {hi}: the policy keeps to them", points.len())
        }
        None => {
            let noise = match axis.scale {
                AxisScale::Linear => "normal",
                AxisScale::Log => "log-normal",
            };
            format!("{action} lies between {lo} and {hi}; the policy's noise is {noise} and stays between these bounds")
        }
    }
}

/// A number with four decimals at most.
fn brief(v: f64) -> String {
    if v != 0.0 && !(1e-3..1e15).contains(&v.abs()) {
        return format!("{v:.3e}");
    }
    let text = format!("{v:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn say_logging(law: &LoggingLaw, varies: bool) -> String {
    let follows = !matches!(law.mean, crate::models::Regressor::Constant(_));
    let mean = if follows { "follows the contexts" } else { "does not follow the contexts" };
    let spread = if varies { "depends on them" } else { "is the same everywhere" };
    format!("what the log did {mean}; its spread {spread}")
}

fn say_models(fitted: &[Fitted], stack: &Blend) -> String {
    let errors: Vec<String> = fitted.iter().map(|f| format!("{} {:.4}", f.name, f.error)).collect();
    format!("held-out squared errors, 1 being that of the mean: {}; {}", errors.join(", "), stack.name)
}
