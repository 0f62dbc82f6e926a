//! Models of the cost, cross-fitted: what each predicts for rows that it has not seen.

use super::Effort;
use super::table::{Copied, Table};
use crate::budget::Budget;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::models::{
    ActionTrees, ContextShape, CostModel, CostNetwork, NetworkOptions, Predicted, Rows, Shape, TreeOptions, Trees,
    cross_validate,
};
use crate::policy::{Axis, ModelMember};
use crate::recipe::ModelsName;

/// Rows that a network sees in all its passes together: of many rows each is seen less often, because new rows teach more than the
/// same ones again ..
const QUICK_VISITS: usize = 700_000;
const FULL_VISITS: usize = 1_600_000;

/// .. but not less often than this; of still more rows a fair sample is seen.
const FEWEST_PASSES: usize = 10;

/// The kinds of models, each listed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The same costs for every context.
    Constant,
    /// Linear in the contexts.
    Linear,
    /// Splines, products or kernels of the contexts: the best by cross-validation.
    Ridge,
    Trees,
    ActionTrees,
    /// A network held smooth by its decay: for noisy outcomes.
    Network,
    /// A network that may bend sharply: for steps and kinks behind little noise.
    SharpNetwork,
    /// A model of others, by its predictions in columns of the log: not among those that are fitted.
    Predicted,
}

impl Kind {
    pub(super) const ALL: [Kind; 7] =
        [Kind::Constant, Kind::Linear, Kind::Ridge, Kind::Trees, Kind::ActionTrees, Kind::Network, Kind::SharpNetwork];

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Constant => "constant",
            Kind::Linear => "linear",
            Kind::Ridge => "ridge",
            Kind::Trees => "trees",
            Kind::ActionTrees => "action-trees",
            Kind::Network => "network",
            Kind::SharpNetwork => "sharp network",
            Kind::Predicted => "predictions",
        }
    }

    /// The name in a recipe.
    pub(super) fn models(self) -> ModelsName {
        match self {
            Kind::Constant => ModelsName::Constant,
            Kind::Linear => ModelsName::Linear,
            Kind::Ridge => ModelsName::Ridge,
            Kind::Trees => ModelsName::Trees,
            Kind::ActionTrees => ModelsName::ActionTrees,
            Kind::Network | Kind::SharpNetwork => ModelsName::Network,
            Kind::Predicted => ModelsName::Predictions,
        }
    }

    /// Whether its models come from one cross-validation of all ridges.
    fn is_ridge(self) -> bool {
        matches!(self, Kind::Constant | Kind::Linear | Kind::Ridge)
    }

    /// How a network is trained on so many rows, and how many of them it sees.
    fn network(self, rows: usize, effort: Effort) -> (NetworkOptions, usize) {
        let options = if self == Kind::Network { NetworkOptions::smooth() } else { NetworkOptions::sharp() };
        let (options, visits) = match effort {
            Effort::Quick => (NetworkOptions { members: 1, ..options }, QUICK_VISITS),
            Effort::Full => (options, FULL_VISITS),
        };
        let most = visits / FEWEST_PASSES;
        let epochs = (visits / rows.clamp(1, most)).clamp(FEWEST_PASSES, options.epochs);
        (NetworkOptions { epochs, ..options }, most)
    }

    /// How many times the work of a quick fit a full one is.
    fn growth(self, rows: usize) -> f64 {
        let work = |effort| {
            let (options, most) = self.network(rows, effort);
            (options.members * options.epochs * rows.min(most)) as f64
        };
        match self {
            Kind::Network | Kind::SharpNetwork => work(Effort::Full) / work(Effort::Quick),
            _ => 1.0,
        }
    }

    /// Fits one model of this kind; ridges come from their cross-validation.
    fn fit(self, rows: &Rows, effort: Effort, seed: u64, engine: &Engine) -> Result<CostModel> {
        Ok(match self {
            Kind::ActionTrees => CostModel::ActionTrees(ActionTrees::fit(rows, &TreeOptions::smooth(), seed, engine)?),
            Kind::Network | Kind::SharpNetwork => {
                let (options, most) = self.network(rows.len(), effort);
                // rows stand in the order of their actions, so every so many of them are a fair sample
                let thinned = Copied::thinned(rows, most);
                CostModel::Network(CostNetwork::fit(&thinned.rows(), &options, seed, engine)?)
            }
            _ => CostModel::Trees(Trees::fit(rows, &TreeOptions::default(), seed, engine)?),
        })
    }
}

/// A kind of model after cross-fitting.
pub(super) struct Fitted {
    pub(super) kind: Kind,
    /// In words: the kind, and the shape of a ridge.
    pub(super) name: String,
    /// Squared error on rows not seen, in units of the costs' variance.
    pub(super) error: f64,
    /// Held-out predictions at the logged actions.
    pub(super) at: Vec<f64>,
    /// Held-out predictions at the knots, row-major.
    pub(super) knots: Vec<f64>,
    /// The model of all rows, where it came for free.
    all: Option<CostModel>,
    effort: Effort,
}

impl Fitted {
    /// The model of all rows. The mean over it and the models of the folds, which are there anyway, was tried: it is no better, and acts
    /// at three times the price.
    pub(super) fn all(&self, table: &Table, seed: u64, engine: &Engine) -> Result<CostModel> {
        match &self.all {
            Some(model) => Ok(model.clone()),
            None => self.kind.fit(&table.rows(), self.effort, seed, engine),
        }
    }
}

/// Cross-fits the given kinds.
pub(super) fn cross_fit(
    table: &Table,
    axis: &Axis,
    kinds: &[Kind],
    effort: Effort,
    seed: u64,
    engine: &Engine,
) -> Result<Vec<Fitted>> {
    let fitted = cross_fit_before(table, axis, kinds, effort, (seed, engine), (&Budget::unlimited(), 1.0))?;
    match fitted.is_empty() {
        true => Err(too_few(table)),
        false => Ok(fitted),
    }
}

fn too_few(table: &Table) -> Error {
    Error::recipe("models", format!("{} rows are too few for these models", table.n()))
        .hint("choose linear or constant models, or leave the choice open")
}

/// The kinds that could be cross-fitted before a share of the budget was spent: a fit that has begun is finished. Ridges are always
/// there, and of other kinds the first where nothing else is.
fn cross_fit_before(
    table: &Table,
    axis: &Axis,
    kinds: &[Kind],
    effort: Effort,
    (seed, engine): (u64, &Engine),
    (budget, share): (&Budget, f64),
) -> Result<Vec<Fitted>> {
    let ridges = ridges(table, kinds, seed, engine)?;
    let trained: Vec<Kind> = kinds.iter().copied().filter(|k| !k.is_ridge()).collect();
    let jobs: Vec<(Kind, usize)> = trained.iter().flat_map(|&k| (0..table.folds).map(move |f| (k, f))).collect();
    let models = engine.map(&jobs, |&(kind, k)| {
        let needed = ridges.is_empty() && kind == trained[0];
        if !(needed || budget.before(share)) {
            return Ok(None);
        }
        let rows = table.rows();
        kind.fit(&Copied::without(&rows, &table.fold, k).rows(), effort, seed, &Engine::single()).map(Some)
    });
    let models: Vec<Option<CostModel>> = models.into_iter().collect::<Result<_>>()?;
    let mut out = Vec::new();
    for kind in kinds {
        if let Some((_, name, folds, all)) = ridges.iter().find(|r| r.0 == *kind) {
            out.push(predict(table, axis, (*kind, name, effort), folds, Some(all.clone()), engine));
        } else if let Some(at) = trained.iter().position(|k| k == kind) {
            let folds: Option<Vec<CostModel>> =
                models[at * table.folds..(at + 1) * table.folds].iter().cloned().collect();
            out.extend(folds.map(|f| predict(table, axis, (*kind, kind.name(), effort), &f, None, engine)));
        }
    }
    Ok(out)
}

/// Share of a budget before which quick models begin, and by which full ones must be expected to be there, the models of all rows
/// included: the rest is for candidates.
const QUICK_BEFORE: f64 = 0.4;
const FULL_UNTIL: f64 = 0.85;

/// Models within a budget, and what was left out of it, in words: quick ones first, then networks with all effort if the time that
/// the quick ones took says that there is time for them. A budget that is long enough gives what no budget gives.
pub(super) fn cross_fit_within(
    table: &Table,
    axis: &Axis,
    kinds: &[Kind],
    (seed, engine): (u64, &Engine),
    budget: &Budget,
) -> Result<(Vec<Fitted>, Vec<String>)> {
    let (plain, networks): (Vec<Kind>, Vec<Kind>) = kinds.iter().partition(|k| k.growth(table.n()) <= 1.0);
    let before =
        |kinds: &[Kind], effort, share| cross_fit_before(table, axis, kinds, effort, (seed, engine), (budget, share));
    let mut fitted = if plain.is_empty() { Vec::new() } else { before(&plain, Effort::Full, QUICK_BEFORE)? };
    let begun = budget.spent();
    let quick = match (networks.is_empty(), fitted.is_empty() || begun < QUICK_BEFORE) {
        (false, true) => before(&networks, Effort::Quick, QUICK_BEFORE)?,
        _ => Vec::new(),
    };
    let took = budget.spent() - begun;
    let growth = networks.iter().map(|k| k.growth(table.n())).fold(1.0, f64::max);
    // once for the folds, once more for the models of all rows
    let expected = took * growth * (1.0 + 1.0 / (table.folds.max(2) - 1) as f64);
    let affords = quick.len() == networks.len() && budget.spent() + expected <= FULL_UNTIL;
    let full = if affords && !networks.is_empty() { before(&networks, Effort::Full, f64::INFINITY)? } else { quick };
    fitted.extend(full);
    if fitted.is_empty() {
        return Err(too_few(table));
    }
    let missing = |k: &&Kind| !k.is_ridge() && fitted.iter().all(|f| f.kind != **k);
    let mut left_out: Vec<String> = kinds.iter().filter(missing).map(|k| format!("models: {}", k.name())).collect();
    if !networks.is_empty() && !affords {
        left_out.push("networks with all effort".into());
    }
    Ok((fitted, left_out))
}

type RidgeOf = (Kind, String, Vec<CostModel>, CostModel);

/// The best ridge of each kind by cross-validation.
fn ridges(table: &Table, kinds: &[Kind], seed: u64, engine: &Engine) -> Result<Vec<RidgeOf>> {
    if !kinds.iter().any(|k| k.is_ridge()) {
        return Ok(Vec::new());
    }
    let shapes = Shape::all(&table.rows());
    let tried = cross_validate(&table.rows(), &table.fold, &shapes, seed, engine)?;
    let kind_of = |shape: &Shape| match shape.contexts {
        ContextShape::Constant => Kind::Constant,
        ContextShape::Linear => Kind::Linear,
        _ => Kind::Ridge,
    };
    let mut out = Vec::new();
    for kind in kinds {
        let best = tried.iter().filter(|t| kind_of(&t.shape) == *kind).min_by(|a, b| a.error.total_cmp(&b.error));
        if let Some(t) = best {
            let folds = t.folds.iter().cloned().map(CostModel::Ridge).collect();
            out.push((*kind, t.shape.to_string(), folds, CostModel::Ridge(t.all.clone())));
        }
    }
    Ok(out)
}

/// The predictions of a model of others in columns of the log, as a model among ours: costs at these knots (actions, ascending), `sign` being
/// -1 for rewards. That the model has not seen the rows is the word of who brings it. Only its level is corrected; the stack finds its weight.
pub(super) fn brought(table: &Table, axis: &Axis, (knots, sign): (&[f64], f64), engine: &Engine) -> Result<Fitted> {
    // on the logarithmic scale the first ones may have no place
    let knots: Vec<f64> = knots.iter().map(|a| axis.scale.position(*a)).filter(|u| u.is_finite()).collect();
    if knots.len() < 2 {
        return Err(Error::data(
            "fewer than two predictions are at positive actions, and actions lie on a logarithmic scale",
        )
        .hint("ask the model at more actions, or set action_scale = \"linear\""));
    }
    let of = |shift: f64| {
        let model = CostModel::Predicted(Predicted { knots: knots.clone(), scale: sign / table.unit, shift });
        predict(
            table,
            axis,
            (Kind::Predicted, Kind::Predicted.name(), Effort::Quick),
            std::slice::from_ref(&model),
            Some(model.clone()),
            engine,
        )
    };
    let raw = of(-table.centre / table.unit);
    let level = (0..table.n()).map(|i| table.omega[i] * (table.y[i] - raw.at[i])).sum::<f64>() / table.n() as f64;
    Ok(of(level - table.centre / table.unit))
}

/// Held-out predictions of the models of each fold.
fn predict(
    table: &Table,
    axis: &Axis,
    (kind, name, effort): (Kind, &str, Effort),
    folds: &[CostModel],
    all: Option<CostModel>,
    engine: &Engine,
) -> Fitted {
    const RUN: usize = 512;
    let k = axis.knots.len();
    let starts: Vec<usize> = (0..table.n()).step_by(RUN).collect();
    let parts = engine.map(&starts, |&from| {
        let to = (from + RUN).min(table.n());
        let (mut at, mut knots) = (Vec::with_capacity(to - from), vec![0.0; (to - from) * k]);
        for i in from..to {
            let model = &folds[table.fold[i].min(folds.len() - 1)];
            let x = if model.reads_predictions() { table.predicted(i) } else { table.context(i) };
            at.push(model.at(x, table.u[i]));
            model.at_knots(x, &axis.knots, &mut knots[(i - from) * k..(i - from + 1) * k]);
        }
        (at, knots)
    });
    let (mut at, mut knots) = (Vec::with_capacity(table.n()), Vec::with_capacity(table.n() * k));
    for (a, g) in parts {
        at.extend(a);
        knots.extend(g);
    }
    let square: f64 = (0..table.n()).map(|i| table.omega[i] * (table.y[i] - at[i]) * (table.y[i] - at[i])).sum();
    Fitted { kind, name: name.into(), error: square / table.n() as f64, at, knots, all, effort }
}

/// A weighted sum of models.
pub(super) struct Blend {
    pub(super) name: String,
    /// Which of the fitted models, and their weights.
    pub(super) members: Vec<(usize, f64)>,
}

impl Blend {
    /// One model alone.
    pub(super) fn of_one(fitted: &[Fitted], i: usize) -> Blend {
        Blend { name: fitted[i].name.clone(), members: vec![(i, 1.0)] }
    }

    /// The weights >= 0 that fit the costs best on rows not seen, by coordinate descent.
    pub(super) fn stacked(table: &Table, fitted: &[Fitted]) -> Blend {
        let m = fitted.len();
        let sum = |f: &dyn Fn(usize) -> f64| (0..table.n()).map(|i| table.omega[i] * f(i)).sum::<f64>();
        let mut gram = vec![0.0; m * m];
        let mut right = vec![0.0; m];
        for a in 0..m {
            right[a] = sum(&|i| fitted[a].at[i] * table.y[i]);
            for b in 0..=a {
                gram[a * m + b] = sum(&|i| fitted[a].at[i] * fitted[b].at[i]);
                gram[b * m + a] = gram[a * m + b];
            }
        }
        // a little shrinkage keeps weights of nearly equal models apart from chance
        let shrink = 1e-3 * table.n() as f64;
        let mut w = vec![0.0; m];
        for _ in 0..500 {
            for a in 0..m {
                let others: f64 = (0..m).filter(|b| *b != a).map(|b| gram[a * m + b] * w[b]).sum();
                let diagonal = gram[a * m + a] + shrink;
                w[a] = ((right[a] - others) / diagonal).max(0.0);
            }
        }
        let mut members: Vec<(usize, f64)> = w.into_iter().enumerate().filter(|(_, w)| *w > 0.02).collect();
        if members.is_empty() {
            // nothing predicts: the model that does the least harm
            let least = (0..m).min_by(|a, b| fitted[*a].error.total_cmp(&fitted[*b].error));
            members.extend(least.map(|i| (i, 1.0)));
        }
        let names: Vec<String> = members.iter().map(|(i, w)| format!("{w:.2} {}", fitted[*i].kind.name())).collect();
        Blend { name: format!("stack of {}", names.join(", ")), members }
    }

    /// Held-out predictions at the knots of row i, into `out`.
    pub(super) fn knots(&self, fitted: &[Fitted], i: usize, out: &mut [f64]) {
        let k = out.len();
        out.fill(0.0);
        for (m, w) in &self.members {
            let row = &fitted[*m].knots[i * k..(i + 1) * k];
            out.iter_mut().zip(row).for_each(|(o, q)| *o += w * q);
        }
    }

    /// Held-out prediction at the logged action of row i.
    pub(super) fn at(&self, fitted: &[Fitted], i: usize) -> f64 {
        self.members.iter().map(|(m, w)| w * fitted[*m].at[i]).sum()
    }

    /// The models of all rows.
    pub(super) fn members(
        &self,
        table: &Table,
        fitted: &[Fitted],
        seed: u64,
        engine: &Engine,
    ) -> Result<Vec<ModelMember>> {
        self.members
            .iter()
            .map(|(m, weight)| Ok(ModelMember { weight: *weight, model: fitted[*m].all(table, seed, engine)? }))
            .collect()
    }
}
