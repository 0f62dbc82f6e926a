//! The offline choice among settings, as in the paper: the best SNIPS on the valid rows among policies that pass the gate.

use super::{Figures, Rival, figures};
use crate::certify::Gate;
use crate::policy::SavedPolicy;
use crate::{Engine, Error, Log, Policy, Result};
use serde::{Deserialize, Serialize};

/// The paper believes a policy if n_eff / n is at least 1%, and asks nothing else.
pub const PAPER_GATE: Gate = Gate::PAPER;

/// A deterministic rule is judged with normal noise of this std around it, in units of that of the logged actions:
/// the density of a point cannot be weighed.
pub const JUDGE_STD: f64 = 0.2;

/// A fit and what the valid rows say of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Method and settings.
    pub rival: Rival,
    /// The policy as it was judged; see [`Rival::deployed`] for what goes to work.
    pub policy: SavedPolicy,
    /// The estimates; nothing where no valid row has a weight.
    pub figures: Option<Figures>,
}

impl Figures {
    /// Whether the estimate may be believed.
    pub fn passes(&self, gate: Gate) -> bool {
        self.snips.is_finite() && gate.passes(self.effective, self.rows, self.mean_weight)
    }
}

/// What was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The best that passes.
    pub best: Judged,
    /// All of them, in the order of the grid.
    pub all: Vec<Judged>,
}

/// Fits one method on `train` and judges it on `valid`.
pub fn judge(
    engine: &Engine,
    rival: &Rival,
    [train, valid]: [&Log; 2],
    logging: Option<&Policy>,
    seed: u64,
) -> Result<Judged> {
    let policy = judgeable(engine, rival, train, logging, seed)?;
    let f = figures(engine, &policy, valid)?;
    // without weights the ratios are 0/0, which no file could hold
    let figures = [f.ips, f.snips, f.std_error, f.effective].iter().all(|v| v.is_finite()).then_some(f);
    Ok(Judged { rival: *rival, policy, figures })
}

/// A fit as it is judged: a deterministic rule gets its noise of [`JUDGE_STD`].
pub fn judgeable(
    engine: &Engine,
    rival: &Rival,
    train: &Log,
    logging: Option<&Policy>,
    seed: u64,
) -> Result<SavedPolicy> {
    Ok(match rival.fit(engine, train, logging, seed)? {
        SavedPolicy::Rule(rule) if rule.noise.is_none() => {
            let unit = train.action_summaries().first().map_or(1.0, |a| a.std());
            rule.with_std(JUDGE_STD * unit).into()
        }
        policy => policy,
    })
}

/// The smallest SNIPS cost among those that pass the gate; of equals the first.
pub fn best<T>(all: &[T], gate: Gate, figures: impl Fn(&T) -> Option<Figures>) -> Option<&T> {
    let costs = all.iter().filter_map(|t| Some((t, figures(t).filter(|f| f.passes(gate))?.snips)));
    costs.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(t, _)| t)
}

/// Fits every candidate on `train`, side by side, and keeps the best on `valid`; calls `fitted` after each. It is an error if none passes the gate.
pub fn choose(
    engine: &Engine,
    grid: &[Rival],
    rows: [&Log; 2],
    logging: Option<&Policy>,
    gate: Gate,
    seed: u64,
    fitted: &(dyn Fn() + Sync),
) -> Result<Chosen> {
    let one = |rival: &Rival| {
        let judged = judge(&Engine::single(), rival, rows, logging, seed);
        fitted();
        judged
    };
    let all: Result<Vec<Judged>> = engine.map(grid, one).into_iter().collect();
    let all = all?;
    match best(&all, gate, |j| j.figures).cloned() {
        Some(best) => Ok(Chosen { best, all }),
        None => {
            Err(Error::unsupported(format!("none of the {} candidates passes the gate on the valid part", grid.len()))
                .hint("the log supports no policy of this grid: try wider noise"))
        }
    }
}
