//! How the actions are distributed in the log and under a policy.

use super::{ENDS, Histogram};
use crate::data::Log;
use crate::policy::{Ready, TargetPolicy};
use serde::{Deserialize, Serialize};

/// How one action is distributed in the log and under the policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionHistograms {
    /// The action column.
    pub action: String,
    /// Logged actions.
    pub logged: Histogram,
    /// Actions drawn from the policy, one per row, in the same contexts.
    pub policy: Option<Histogram>,
}

/// Logged actions against actions drawn from the policy for the same contexts, one entry per action column.
///
/// ```
/// use counterpoint::explain::action_histograms;
/// use counterpoint::policy::Family;
/// use counterpoint::{Log, Policy};
/// let a: Vec<f64> = (0..500).map(|i| f64::from(i) * 0.01).collect();
/// let log = Log::builder().action("bid", a).cost("y", vec![1.0; 500]).propensity("p", vec![0.2; 500]).build()?;
/// let policy = Policy::constant(Family::Normal, &[], &["bid"], &[2.0], &[0.5])?;
/// let bid = &action_histograms(&log, Some(&policy), 1)[0];
/// assert_eq!((bid.logged.total(), bid.policy.as_ref().unwrap().total()), (500.0, 500.0));
/// # Ok::<(), counterpoint::Error>(())
/// ```
pub fn action_histograms(log: &Log, policy: Option<&dyn TargetPolicy>, seed: u64) -> Vec<ActionHistograms> {
    let (_, sample) = log.thin(ENDS);
    let q = log.q();
    let mut drawn: Vec<Histogram> = Vec::new();
    let views = log.schema().actions.iter().enumerate().map(|(c, action)| {
        let mut logged = Histogram::of_most(sample.iter().skip(c).step_by(q).copied().collect());
        drawn.push(logged.clone());
        for b in log.blocks() {
            b.a[c].iter().zip(&b.omega).for_each(|(a, w)| logged.add(*a, *w));
        }
        ActionHistograms { action: action.clone(), logged, policy: None }
    });
    let mut views: Vec<ActionHistograms> = views.collect();
    if let Some(policy) = policy.filter(|p| p.can_sample()) {
        draw(log, policy, seed, &mut drawn);
        views.iter_mut().zip(drawn).for_each(|(v, h)| v.policy = Some(h));
    }
    views
}

/// Counts one drawn action per row and column.
fn draw(log: &Log, policy: &dyn TargetPolicy, seed: u64, into: &mut [Histogram]) {
    let mut ready = Ready::new(policy);
    let mut x = vec![0.0; log.d()];
    for b in log.blocks() {
        for i in 0..b.rows() {
            b.context(i, &mut x);
            let Some((action, _)) = ready.draw(&x, seed, b.ids[i]) else { return };
            action.iter().zip(into.iter_mut()).for_each(|(a, h)| h.add(*a, b.omega[i]));
        }
    }
}
