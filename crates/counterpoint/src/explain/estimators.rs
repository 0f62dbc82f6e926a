//! Every estimator's answer to the same question, side by side.

use crate::certify::Interval;
use crate::data::{Log, Summaries, Summary};
use crate::engine::Engine;
use crate::error::Result;
use crate::estimate::Form;
use crate::evaluate::{Aids, Evaluator, every_estimator};
use crate::policy::TargetPolicy;
use crate::source::Source;
use serde::{Deserialize, Serialize};

/// What every estimator says of a policy on the same rows, on the user's scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EstimatorTable {
    /// Rows they were asked (sum of row weights).
    pub rows: f64,
    /// One entry per estimator; those that could not answer say why.
    pub estimators: Vec<EstimatorRow>,
    /// The mean outcome of the log itself.
    pub logged: Interval,
}

/// One estimator's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EstimatorRow {
    /// Its name, as in a recipe: `snips`, `doubly-robust`.
    pub name: String,
    /// Its answer with a 95% interval by the delta method: a quick look, not a verdict.
    pub answer: Option<Interval>,
    /// n_eff of the weights it uses; none where no row is weighed.
    pub effective: Option<f64>,
    /// n_eff / n.
    pub effective_share: Option<f64>,
    /// Mean of the weights it uses; none where no row is weighed.
    pub mean_weight: Option<f64>,
    /// Actions drawn per row for the expectation of the loss model; 0 where it is exact or not asked for.
    #[serde(default)]
    pub draws: usize,
    /// Why there is no answer.
    pub failure: Option<String>,
}

/// Asks every estimator there is; those with a cap (and the threshold of SWITCH) have it at `cap`.
///
/// ```
/// use counterpoint::explain::estimator_table;
/// use counterpoint::evaluate::Aids;
/// use counterpoint::policy::Family;
/// use counterpoint::{Engine, Log, Policy};
/// let a = [0.5, 1.0, 2.0];
/// let p = a.map(|a| Family::Normal.log_density(a, 1.0, 2.0).value.exp()).to_vec();
/// let log = Log::builder().action("a", a.to_vec()).reward("r", vec![1.0, 2.0, 6.0]).propensity("p", p).build()?;
/// // the policy that logged the data earns what the log earned
/// let own = Policy::constant(Family::Normal, &[], &["a"], &[1.0], &[2.0])?;
/// let table = estimator_table(&Engine::single(), &log, &own, 15.0, Aids::default());
/// let snips = table.estimators[0].answer.unwrap();
/// assert!((snips.estimate - 3.0).abs() < 1e-12 && (table.logged.estimate - 3.0).abs() < 1e-12);
/// assert!(snips.lower < snips.estimate && snips.estimate < snips.upper);
/// assert!(table.estimators.iter().any(|e| e.name == "direct" && e.failure.is_some())); // no loss model was given
/// # Ok::<(), counterpoint::Error>(())
/// ```
pub fn estimator_table(engine: &Engine, log: &Log, policy: &dyn TargetPolicy, cap: f64, aids: Aids) -> EstimatorTable {
    table(&log.on(engine), &log.cost_summary(), policy, cap, aids)
}

/// The same for rows wherever they are.
pub fn estimator_table_of(
    rows: &dyn Source,
    policy: &dyn TargetPolicy,
    cap: f64,
    aids: Aids,
) -> Result<EstimatorTable> {
    Ok(table(rows, &rows.get(Summaries)?.cost, policy, cap, aids))
}

fn table(rows: &dyn Source, costs: &Summary, policy: &dyn TargetPolicy, cap: f64, aids: Aids) -> EstimatorTable {
    let direction = rows.schema().direction;
    let row = |(name, estimator): (&str, crate::estimate::Estimator)| {
        let name = name.to_string();
        match Evaluator::new(estimator).aids(aids).evaluate(rows, policy) {
            Ok(e) => {
                let weighs = estimator.form != Form::Model;
                EstimatorRow {
                    name,
                    answer: Some(Interval::around(e.estimate, e.std_error, 0.95)),
                    effective: weighs.then_some(e.effective),
                    effective_share: weighs.then_some(e.effective / e.rows),
                    mean_weight: weighs.then_some(e.mean_weight),
                    draws: e.draws,
                    failure: None,
                }
            }
            // the others still say what they say
            Err(e) => EstimatorRow {
                name,
                answer: None,
                effective: None,
                effective_share: None,
                mean_weight: None,
                draws: 0,
                failure: Some(e.to_string().lines().next().unwrap_or_default().to_string()),
            },
        }
    };
    EstimatorTable {
        rows: costs.n,
        estimators: every_estimator(cap).into_iter().map(row).collect(),
        logged: Interval::around(costs.mean(), costs.std() / costs.n.sqrt(), 0.95).to_user(direction),
    }
}
