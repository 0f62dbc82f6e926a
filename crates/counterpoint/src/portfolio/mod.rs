//! From a log to a policy without a recipe: models of the cost, greedy rules, and what held-out rows say of them.
//!
//! 1. **Survey.** On which scale do actions lie, are they points of a grid, what did the log do given the context?
//! 2. **Models.** Ridge regressions, boosted trees and a network predict the cost of every action, cross-fitted: the model that
//!    speaks of a row has not seen it. A stack of them has the weights that predict best.
//! 3. **Candidates.** The greedy rule of every model and of the stack, with noise from a twentieth of the log's own spread to all of
//!    it, all the way or part of the way from what the log did.
//! 4. **Choice.** Doubly robust values on held-out rows, behind the gate of the certificate: a policy that cannot be certified is
//!    not worth finding.
//! 5. **Refit.** Ridges and trees of the chosen rule are fitted again on all rows; networks act as they were judged, as the mean over the
//!    folds. What the folds said of its support goes with it.
//!
//! Nothing here has a unit: costs are centred and scaled, actions are positions on their axis, penalties and shares are numbers.

mod choose;
mod descend;
mod fitted;
mod ground;
mod judge;
mod survey;
mod table;

use crate::certify::Gate;
use crate::error::Result;
use crate::policy::{Axis, AxisScale, Columns, GateFigures, LoggingLaw, MeanRule, ModelParts, ModelPolicy, Origin};
use crate::recipe::{GreedyChoice, GridChoice, GridName, ModelsName};
use crate::source::Source;
use choose::{Candidate, choose};
use fitted::{Blend, Fitted, Kind, cross_fit};
use ground::Ground;
use judge::Figures;
use serde::Serialize;
use survey::{GridWish, Wishes};
use table::Table;

/// Shares of the log's spread that are tried as the std of a policy.
const SHARES: [f64; 13] = [0.03, 0.04, 0.055, 0.075, 0.1, 0.13, 0.18, 0.24, 0.32, 0.42, 0.55, 0.7, 0.9];

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
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// Seed of folds and models.
    pub seed: u64,
    /// The gate that the certificate will hold.
    pub gate: Gate,
    /// What is given, and what is to be found.
    pub choice: GreedyChoice,
    /// How much work it may be.
    pub effort: Effort,
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
    let engine = source.engine();
    let seed = options.seed;
    let mut table = Table::of(source, seed)?;
    let axis = survey::axis(&mut table, &wishes(&options.choice))?;
    let (logging, window, varies) = survey::logging(&table, seed, engine)?;
    let mut notes = vec![say_axis(&axis, &source.schema().actions[0]), say_logging(&logging, varies)];
    let fitted = cross_fit(&table, &axis, kinds(options.choice.models), options.effort, seed, engine)?;
    let stack = Blend::stacked(&table, &fitted);
    notes.push(say_models(&fitted, &stack));
    let mut blends: Vec<Blend> = (0..fitted.len()).map(|i| Blend::of_one(&fitted, i)).collect();
    blends.push(stack);
    let ground = Ground::new(&table, &axis, (&logging, window), (&fitted, &blends), (&options.choice, options.effort));
    let (n, rows) = (table.n() as f64, table.rows as f64);
    let mut candidates = ground.candidates(&ground.greedy_rules(), engine);
    let (mut order, mut words) = choose(&candidates, &options.gate, ground.stack(), (n, rows));
    let affords = options.effort == Effort::Full || table.n() <= FEW_ROWS;
    if affords && options.choice.models == ModelsName::Auto {
        let best: Vec<Candidate> = order.iter().map(|&c| candidates[c]).collect();
        candidates.extend(ground.candidates(&ground.further_rules(&best, seed, engine)?, engine));
        (order, words) = choose(&candidates, &options.gate, ground.stack(), (n, rows));
    }
    let chosen = &candidates[order[0]];
    notes.push(words);
    let direction = source.schema().direction;
    let board = order.iter().map(|&c| ground.line(&candidates[c], &options.gate, direction)).collect();
    let rule = ground.refit(chosen, seed, engine)?;
    let schema = source.schema();
    let columns = Columns {
        inputs: schema.inputs.clone(),
        contexts: schema.contexts.clone(),
        actions: schema.actions.clone(),
        origin: Some(Origin {
            support: Some(support(&table, &chosen.figures)),
            ..source.get(Origin::QUESTION)?.into()
        }),
    };
    let policy = ModelPolicy::try_from(ModelParts {
        columns,
        axis: axis.clone(),
        logging: logging.clone(),
        rule,
        share: chosen.share,
        step: chosen.step,
        window,
        max_change: options.choice.max_change,
    })?;
    Ok(Found { policy, board, notes })
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
    let parts = ModelParts { columns, axis, logging, rule, share: 1.0, step: 1.0, window, max_change: None };
    Ok(ModelPolicy::try_from(parts)?.logging_policy())
}

/// What held-out folds say to the gate. Of a log larger than the table the shares are those of the table.
fn support(table: &Table, f: &Figures) -> GateFigures {
    let (rows, scale) = (table.rows as f64, table.rows as f64 / table.n() as f64);
    GateFigures {
        effective: (f.effective * scale).min(rows),
        rows,
        mean_weight: f.mean_weight,
        mean_weight_error: f.mean_weight_error / scale.sqrt(),
        folds: table.folds,
    }
}

fn wishes(choice: &GreedyChoice) -> Wishes {
    let grid = match choice.grid {
        GridChoice::Named(GridName::Auto) => None,
        GridChoice::Named(GridName::Off) => Some(GridWish::Off),
        GridChoice::Step(step) => Some(GridWish::Step(step)),
    };
    Wishes { min: choice.min_action, max: choice.max_action, grid, scale: choice.scale }
}

/// The kinds of models behind a name.
fn kinds(models: ModelsName) -> &'static [Kind] {
    match models {
        ModelsName::Auto | ModelsName::Stack => &Kind::ALL,
        ModelsName::Constant => &[Kind::Constant],
        ModelsName::Linear => &[Kind::Linear],
        ModelsName::Ridge => &[Kind::Ridge],
        ModelsName::Trees => &[Kind::Trees],
        ModelsName::ActionTrees => &[Kind::ActionTrees],
        ModelsName::Network => &[Kind::Network, Kind::SharpNetwork],
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

impl Figures {
    /// The lower bound of the gain, `times` standard errors below it.
    fn gain(&self, times: f64) -> f64 {
        -self.difference - times * self.error
    }
}
