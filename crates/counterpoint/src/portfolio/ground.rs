//! What candidates are made of, and their figures on held-out rows.

use super::blend::Blend;
use super::choose::Candidate;
use super::descend::{self, Slope};
use super::fitted::Fitted;
use super::guard::{Guard, prices};
use super::judge::{Acts, Judge, between_knots, unexplained};
use super::table::Table;
use super::{Effort, Line, SHARES, STEPS, WIDER};
use crate::budget::Budget;
use crate::certify::Gate;
use crate::data::Outcome;
use crate::engine::Engine;
use crate::error::Result;
use crate::models::Regressor;
use crate::policy::{Axis, LoggingLaw, MeanRule, ModelMember, least, reach, smoothed, smoothing};
use crate::recipe::{GreedyChoice, ModelsName};

/// Share of a budget before which a descent begins.
const FURTHER_BEFORE: f64 = 0.75;

/// How a candidate finds its mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The cheapest action by a blend of models.
    Greedy(usize),
    /// The mean of the cheapest actions by two blends.
    Average(usize, usize),
    /// Linear in the contexts, by descent.
    Linear,
    /// The cheapest action by the stack, moved by trees.
    Boosted,
    /// The cheapest action by the stack with prices on the harm of guardrails.
    Guarded(usize),
    /// Between the rule of a lower price (or of none) and that of a higher one: so many sixths of the way.
    Mixed { low: Option<usize>, high: usize, sixths: u8 },
}

/// Everything that candidates are made of.
pub(super) struct Ground<'a> {
    pub(super) table: &'a Table,
    pub(super) axis: &'a Axis,
    pub(super) logging: &'a LoggingLaw,
    pub(super) window: [f64; 2],
    pub(super) fitted: &'a [Fitted],
    /// The rules' models; the last one is the stack, which judges.
    pub(super) blends: &'a [Blend],
    pub(super) choice: &'a GreedyChoice,
    pub(super) guards: &'a [Guard],
    /// Prices of harm, one for each guardrail.
    prices: Vec<Vec<f64>>,
    effort: Effort,
    /// Of each row: the level of the spread, the log's mean, the residual of the stack, and the cost less what contexts explain of it.
    level: Vec<usize>,
    home: Vec<f64>,
    residual: Vec<f64>,
    left: Vec<f64>,
}

/// A rule with what it needs beyond the blends: means of rows by models that have not seen them.
pub(super) struct Planned {
    pub(super) rule: Rule,
    pub(super) step: f64,
    /// The means of a rule that went down the objective.
    means: Option<Vec<f64>>,
}

impl<'a> Ground<'a> {
    pub(super) fn new(
        table: &'a Table,
        axis: &'a Axis,
        (logging, window): (&'a LoggingLaw, [f64; 2]),
        (fitted, blends): (&'a [Fitted], &'a [Blend]),
        (choice, guards, effort): (&'a GreedyChoice, &'a [Guard], Effort),
    ) -> Self {
        let (n, stack) = (table.n(), &blends[blends.len() - 1]);
        Ground {
            level: (0..n).map(|i| logging.level(table.context(i))).collect(),
            home: (0..n).map(|i| logging.mean.at(table.context(i))).collect(),
            residual: (0..n).map(|i| table.y[i] - stack.at(fitted, i)).collect(),
            left: unexplained(table),
            table,
            axis,
            logging,
            window,
            fitted,
            blends,
            choice,
            guards,
            prices: prices(guards.len()),
            effort,
        }
    }

    fn judge(&self) -> Judge<'_> {
        Judge {
            table: self.table,
            axis: self.axis,
            logging: self.logging,
            level: &self.level,
            y: &self.table.y,
            left: &self.left,
            residual: &self.residual,
        }
    }

    /// The same rows with a guardrail as their outcome.
    fn judge_of(&'a self, guard: &'a Guard) -> Judge<'a> {
        Judge {
            table: &guard.table,
            y: &guard.table.y,
            left: &guard.table.y,
            residual: &guard.residual,
            ..self.judge()
        }
    }

    fn last(&self) -> usize {
        self.blends.len() - 1
    }

    /// The greedy rule of the stack.
    fn stack(&self) -> Rule {
        Rule::Greedy(self.last())
    }

    fn range(&self, i: usize) -> [f64; 2] {
        reach(self.axis, self.home[i], self.logging.levels[self.level[i]], self.window, self.choice.max_change)
    }

    /// The greedy rule of every blend, and that of the stack part of the way too.
    pub(super) fn greedy_rules(&self) -> Vec<Planned> {
        let first = if self.choice.models == ModelsName::Stack { self.last() } else { 0 };
        let steps = |rule: usize| match self.choice.step {
            Some(step) => vec![step],
            None if rule == self.last() => STEPS.to_vec(),
            None => vec![1.0],
        };
        (first..self.blends.len())
            .flat_map(|r| steps(r).into_iter().map(move |step| Planned { rule: Rule::Greedy(r), step, means: None }))
            .chain((0..self.prices.len()).map(|p| {
                let step = self.choice.step.unwrap_or(1.0);
                Planned { rule: Rule::Guarded(p), step, means: None }
            }))
            .collect()
    }

    /// Rules beyond the greedy ones: averages of the best two, and rules that go down the objective around the best.
    /// What there was no time for is named.
    pub(super) fn further_rules(
        &self,
        best: &[Candidate],
        seed: u64,
        engine: &Engine,
        budget: &Budget,
    ) -> Result<(Vec<Planned>, Vec<String>)> {
        let mut blends: Vec<usize> = Vec::new();
        for c in best {
            if let Rule::Greedy(b) = c.rule
                && !blends.contains(&b)
            {
                blends.push(b);
            }
        }
        let step = self.choice.step.unwrap_or(1.0);
        let (mut out, mut left_out) = (Vec::new(), Vec::new());
        if let [a, b, ..] = blends[..] {
            out.push(Planned { rule: Rule::Average(a, b), step, means: None });
        }
        let share = self.choice.std_share.unwrap_or_else(|| best.first().map_or(0.2, |c| c.share.max(0.15)));
        let rules: &[Rule] = if self.effort == Effort::Full { &[Rule::Linear, Rule::Boosted] } else { &[Rule::Linear] };
        for &rule in rules {
            if self.table.d > 0 && budget.before(FURTHER_BEFORE) {
                let means = self.held_out(rule, share, seed, engine)?;
                out.push(Planned { rule, step, means: Some(means) });
            } else if self.table.d > 0 {
                left_out.push(format!("rules: {}", self.name(rule)));
            }
        }
        Ok((out, left_out))
    }

    /// Smoothed costs of every row by a blend.
    fn smooth(&self, blend: usize, share: f64) -> Vec<f64> {
        let k = self.axis.knots.len();
        let matrices: Vec<Vec<f64>> = self.logging.levels.iter().map(|s| smoothing(self.axis, share * s)).collect();
        let (mut out, mut costs) = (vec![0.0; self.table.n() * k], vec![0.0; k]);
        for (i, row) in out.chunks_exact_mut(k).enumerate() {
            self.blends[blend].knots(self.fitted, i, &mut costs);
            smoothed(&matrices[self.level[i]], &costs, row);
        }
        out
    }

    /// A rule that goes down the objective on these rows: it is found from the stack's greedy means.
    fn descend(&self, rule: Rule, share: f64, rows: &[usize], (seed, engine): (u64, &Engine)) -> Result<Descended> {
        let (n, k) = (self.table.n(), self.axis.knots.len());
        let smooth = self.smooth(self.last(), share);
        let range: Vec<[f64; 2]> = (0..n).map(|i| self.range(i)).collect();
        let start: Vec<f64> =
            (0..n).map(|i| least(&self.axis.knots, &smooth[i * k..(i + 1) * k], self.home[i], range[i])).collect();
        let judge = self.judge();
        let slope = Slope { judge: &judge, share, smooth: &smooth, range: &range };
        Ok(match rule {
            Rule::Linear => Descended::Linear(descend::linear(&slope, rows, &start)?),
            _ => Descended::Boosted(descend::boosted(&slope, rows, &start, seed, engine)?, start),
        })
    }

    /// The means of every row by a rule that went down the objective on the other folds.
    fn held_out(&self, rule: Rule, share: f64, seed: u64, engine: &Engine) -> Result<Vec<f64>> {
        let t = self.table;
        let folds: Vec<usize> = (0..t.folds).collect();
        let fits = engine.map(&folds, |k| {
            let rows: Vec<usize> = (0..t.n()).filter(|&i| t.fold[i] != *k).collect();
            self.descend(rule, share, &rows, (seed, &Engine::single()))
        });
        let fits = fits.into_iter().collect::<Result<Vec<Descended>>>()?;
        Ok((0..t.n()).map(|i| fits[t.fold[i]].at(i, t.context(i))).collect())
    }

    /// Every planned rule at every share.
    pub(super) fn candidates(&self, planned: &[Planned], engine: &Engine) -> Vec<Candidate> {
        // a quick search looks at every other share
        let step = if self.effort == Effort::Quick { 2 } else { 1 };
        let shares = self.choice.std_share.map_or_else(|| SHARES.iter().copied().step_by(step).collect(), |s| vec![s]);
        self.at_shares(&shares, planned, engine)
    }

    /// Every planned rule with more noise than the log's own spread, unless the stack's passes the gate with less.
    pub(super) fn wider(
        &self,
        planned: &[Planned],
        candidates: &[Candidate],
        gate: &Gate,
        engine: &Engine,
    ) -> Vec<Candidate> {
        let (n, rows, whole) = (self.table.n() as f64, self.table.rows as f64, self.choice.step.unwrap_or(1.0));
        let own = |c: &&Candidate| c.rule == self.stack() && c.step == whole;
        let supported = candidates.iter().filter(own).any(|c| c.passes(gate, n, rows));
        let shares: &[f64] = if supported || self.choice.std_share.is_some() { &[] } else { &WIDER };
        self.at_shares(shares, planned, engine)
    }

    fn at_shares(&self, shares: &[f64], planned: &[Planned], engine: &Engine) -> Vec<Candidate> {
        engine.map(shares, |share| self.at_share(*share, planned)).into_iter().flatten().collect()
    }

    /// The chosen rule at shares between those that were tried, and below the smallest: what noise costs grows with the square of its std, so that
    /// a step of the table is much.
    pub(super) fn finer(
        &self,
        chosen: &Candidate,
        candidates: &[Candidate],
        planned: &[Planned],
        engine: &Engine,
    ) -> Vec<Candidate> {
        let own = |rule: Rule, step: f64| rule == chosen.rule && step == chosen.step;
        let Some(plan) = planned.iter().find(|p| own(p.rule, p.step)) else { return Vec::new() };
        let plan = [Planned { means: plan.means.clone(), ..*plan }];
        let tried = || candidates.iter().filter(|c| own(c.rule, c.step)).map(|c| c.share);
        let mut below = tried().filter(|s| *s < chosen.share).fold(f64::NAN, f64::max);
        let above = tried().filter(|s| *s > chosen.share).fold(f64::NAN, f64::min);
        if below.is_nan() && above.is_finite() {
            below = chosen.share * chosen.share / above;
        }
        let between = |s: f64| ((s * chosen.share).sqrt() * 1000.0).round() / 1000.0;
        let shares = [between(below), between(above)].into_iter().filter(|s| s.is_finite() && tried().all(|t| t != *s));
        self.at_shares(&shares.collect::<Vec<f64>>(), &plan, engine)
    }

    fn at_share(&self, share: f64, planned: &[Planned]) -> Vec<Candidate> {
        let acts = self.acts(share, planned);
        let judge = self.judge();
        let stack = Planned { rule: self.stack(), step: 1.0, means: None };
        let stack = self.acts(share, &[stack]);
        let stack = Acts { mean: &stack.means[0], share, expected: &stack.expected[0] };
        let weights = judge.weights(&stack);
        let (bar, influence) = (judge.figures(&stack, &weights), judge.influence(&stack, &weights));
        let of = |(v, plan): (usize, &Planned)| {
            let act = Acts { mean: &acts.means[v], share, expected: &acts.expected[v] };
            let w = judge.weights(&act);
            let figures = judge.figures(&act, &w);
            let mut c = Candidate {
                rule: plan.rule,
                share,
                step: plan.step,
                figures,
                slack: f64::INFINITY,
                lead: bar.difference - figures.difference,
                lead_error: judge.paired_error(&judge.influence(&act, &w), &influence),
                stack_gain: -bar.by_model,
            };
            let asked = c.asked(self.table.n() as f64, self.table.rows as f64);
            for (guard, harm) in self.guards.iter().zip(&acts.harm) {
                let figures = self.judge_of(guard).figures(&Acts { expected: &harm[v], ..act }, &w);
                c.slack = c.slack.min(guard.slack(&figures, asked));
            }
            c
        };
        planned.iter().enumerate().map(of).collect()
    }

    /// What every planned rule does in every row, and what the models expect of it.
    fn acts(&self, share: f64, planned: &[Planned]) -> Acting {
        let (n, k) = (self.table.n(), self.axis.knots.len());
        let matrices: Vec<Vec<f64>> = self.logging.levels.iter().map(|s| smoothing(self.axis, share * s)).collect();
        let none = || vec![vec![0.0; n]; planned.len()];
        let mut out = Acting { means: none(), expected: none(), harm: self.guards.iter().map(|_| none()).collect() };
        let (mut costs, mut reference, mut smooth) = (vec![0.0; k], vec![0.0; k], vec![0.0; k]);
        let mut harms = vec![vec![0.0; k]; self.guards.len()];
        for i in 0..n {
            let (matrix, range, home) = (&matrices[self.level[i]], self.range(i), self.home[i]);
            self.blends[self.last()].knots(self.fitted, i, &mut costs);
            smoothed(matrix, &costs, &mut reference);
            for (guard, harm) in self.guards.iter().zip(&mut harms) {
                guard.stack.knots(&guard.fitted, i, &mut costs);
                smoothed(matrix, &costs, harm);
            }
            let mut known: Vec<Option<f64>> = vec![None; self.blends.len()];
            let mut greedy = |blend: usize| {
                *known[blend].get_or_insert_with(|| {
                    self.blends[blend].knots(self.fitted, i, &mut costs);
                    smoothed(matrix, &costs, &mut smooth);
                    least(&self.axis.knots, &smooth, home, range)
                })
            };
            let priced = |p: usize| {
                // expectations are linear: the price comes after them
                let at =
                    |j: usize| reference[j] + self.prices[p].iter().zip(&harms).map(|(l, h)| l * h[j]).sum::<f64>();
                least(&self.axis.knots, &(0..k).map(at).collect::<Vec<f64>>(), home, range)
            };
            for (v, plan) in planned.iter().enumerate() {
                let mean = match (plan.rule, &plan.means) {
                    (_, Some(means)) => means[i].clamp(range[0], range[1]),
                    (Rule::Average(a, b), _) => 0.5 * (greedy(a) + greedy(b)),
                    (Rule::Greedy(blend), _) => greedy(blend),
                    (Rule::Guarded(p), _) => priced(p),
                    (Rule::Mixed { low, high, sixths }, _) => {
                        let (t, from) = (f64::from(sixths) / 6.0, low.map_or_else(|| greedy(self.last()), priced));
                        (1.0 - t) * from + t * priced(high)
                    }
                    _ => home,
                };
                let mean = home + plan.step * (mean - home);
                out.means[v][i] = mean;
                out.expected[v][i] = between_knots(&self.axis.knots, &reference, mean);
                for (harm, knots) in out.harm.iter_mut().zip(&harms) {
                    harm[v][i] = between_knots(&self.axis.knots, knots, mean);
                }
            }
        }
        out
    }

    /// The weights of a candidate's rule, and what its guardrails say of it in words.
    pub(super) fn closely(&self, c: &Candidate, planned: &[Planned]) -> (Vec<f64>, Vec<String>) {
        let own = planned.iter().filter(|p| p.rule == c.rule && p.step == c.step);
        let own: Vec<Planned> = own.take(1).map(|p| Planned { means: p.means.clone(), ..*p }).collect();
        let acts = self.acts(c.share, &own);
        let act = Acts { mean: &acts.means[0], share: c.share, expected: &acts.expected[0] };
        let w = self.judge().weights(&act);
        let of = |(guard, harm): (&Guard, &Vec<Vec<f64>>)| {
            guard.words(&self.judge_of(guard).figures(&Acts { expected: &harm[0], ..act }, &w))
        };
        let words = self.guards.iter().zip(&acts.harm).map(of).collect();
        (w, words)
    }

    /// The rule of a candidate, fitted on all rows.
    pub(super) fn refit(&self, c: &Candidate, seed: u64, engine: &Engine) -> Result<MeanRule> {
        let greedy = |blend: usize| -> Result<MeanRule> {
            Ok(MeanRule::Greedy(self.blends[blend].members(self.table, self.fitted, seed, engine)?))
        };
        let share = self.choice.std_share.unwrap_or(c.share.max(0.15));
        let all: Vec<usize> = (0..self.table.n()).collect();
        Ok(match c.rule {
            Rule::Greedy(blend) => greedy(blend)?,
            Rule::Average(a, b) => MeanRule::Average(vec![greedy(a)?, greedy(b)?]),
            Rule::Guarded(p) => self.priced(p, seed, engine)?,
            Rule::Mixed { low, high, sixths } => {
                let from = low.map_or_else(|| greedy(self.last()), |p| self.priced(p, seed, engine))?;
                let to = self.priced(high, seed, engine)?;
                let (a, b) = match sixths {
                    2 => (2, 1),
                    4 => (1, 2),
                    _ => (1, 1),
                };
                MeanRule::Average(std::iter::repeat_n(from, a).chain(std::iter::repeat_n(to, b)).collect())
            }
            rule => match self.descend(rule, share, &all, (seed, engine))? {
                Descended::Linear(regressor) => MeanRule::Direct(regressor),
                Descended::Boosted(trees, _) => MeanRule::Boosted(Box::new(greedy(self.last())?), trees),
            },
        })
    }

    /// The greedy rule with a price on harm, fitted on all rows.
    fn priced(&self, p: usize, seed: u64, engine: &Engine) -> Result<MeanRule> {
        let mut members = self.blends[self.last()].members(self.table, self.fitted, seed, engine)?;
        for (guard, price) in self.guards.iter().zip(&self.prices[p]).filter(|(_, price)| **price > 0.0) {
            let own = guard.stack.members(&guard.table, &guard.fitted, seed, engine)?;
            members.extend(own.into_iter().map(|m| ModelMember { weight: price * m.weight, ..m }));
        }
        Ok(MeanRule::Greedy(members))
    }

    /// Rules around the lowest price at which guardrails are kept. Where cost and harm are straight lines, a price moves the cheapest action
    /// from one end to the other: what keeps to a margin lies between two prices, or part of the way from what the log did.
    pub(super) fn mixed_rules(&self, candidates: &[Candidate], gate: &Gate) -> Vec<Planned> {
        let (n, rows) = (self.table.n() as f64, self.table.rows as f64);
        let keeps = |p: usize| {
            let own = |c: &&Candidate| c.rule == Rule::Guarded(p);
            candidates.iter().filter(own).any(|c| c.guarded() && c.passes(gate, n, rows))
        };
        // prices for all guardrails together: one path
        let together: Vec<usize> =
            (0..self.prices.len()).filter(|&p| self.prices[p].iter().all(|l| *l > 0.0)).collect();
        let Some(&last) = together.last() else { return Vec::new() };
        let at = together.iter().position(|&p| keeps(p)).unwrap_or(together.len() - 1);
        let (high, low) = (together.get(at).copied().unwrap_or(last), at.checked_sub(1).map(|k| together[k]));
        let step = self.choice.step.unwrap_or(1.0);
        let plan = |rule: Rule, step: f64| Planned { rule, step, means: None };
        let mut out: Vec<Planned> =
            [2, 3, 4].map(|sixths| plan(Rule::Mixed { low, high, sixths }, step)).into_iter().collect();
        if self.choice.step.is_none() {
            let part = |p: usize| STEPS[1..].iter().map(move |step| plan(Rule::Guarded(p), *step));
            out.extend(low.into_iter().chain([high]).flat_map(part));
        }
        out
    }

    /// A rule in words.
    fn name(&self, rule: Rule) -> String {
        match rule {
            Rule::Greedy(blend) => self.blends[blend].name.clone(),
            Rule::Average(a, b) => format!("mean of {} and {}", self.blends[a].name, self.blends[b].name),
            Rule::Linear => "linear rule by descent".into(),
            Rule::Boosted => format!("{} moved by trees", self.blends[self.last()].name),
            Rule::Mixed { low, high, .. } => {
                let [low, high] = [low.map_or(Rule::Greedy(self.last()), Rule::Guarded), Rule::Guarded(high)];
                format!("between {} and {}", self.name(low), self.name(high))
            }
            Rule::Guarded(p) => {
                let prices: Vec<String> = self.prices[p].iter().map(|l| format!("{l:.2}")).collect();
                format!("{}, harm at {}", self.blends[self.last()].name, prices.join(" and "))
            }
        }
    }

    /// The name of a rule's models in a recipe.
    fn models(&self, rule: Rule) -> ModelsName {
        match rule {
            Rule::Greedy(blend) if blend < self.last() => self.fitted[self.blends[blend].members[0].0].kind.models(),
            _ => ModelsName::Stack,
        }
    }

    /// A candidate in the direction and units of the outcome.
    pub(super) fn line(&self, c: &Candidate, gate: &Gate, direction: Outcome) -> Line {
        let (t, f) = (self.table, &c.figures);
        let rows = t.rows as f64;
        Line {
            rule: self.name(c.rule),
            models: self.models(c.rule),
            share: c.share,
            step: c.step,
            estimate: direction.to_user(t.centre + t.unit * f.difference),
            difference: direction.to_user(t.unit * f.difference),
            std_error: t.unit * f.error,
            effective_share: f.effective / t.n() as f64,
            mean_weight: f.mean_weight,
            passes: c.passes(gate, t.n() as f64, rows),
            certifiable: c.certifiable(t.n() as f64, rows),
        }
    }
}

/// What planned rules do, rule by rule and row by row: means, expected costs, and for each guardrail its expected costs.
struct Acting {
    means: Vec<Vec<f64>>,
    expected: Vec<Vec<f64>>,
    harm: Vec<Vec<Vec<f64>>>,
}

/// A rule that went down the objective.
enum Descended {
    Linear(Regressor),
    /// With the greedy means that it starts from.
    Boosted(crate::models::Boosted, Vec<f64>),
}

impl Descended {
    /// The mean of row i.
    fn at(&self, i: usize, x: &[f64]) -> f64 {
        match self {
            Descended::Linear(regressor) => regressor.at(x),
            Descended::Boosted(trees, start) => start[i] + trees.at(x),
        }
    }
}
