//! Models of the cost, cross-fitted: what each predicts for rows that it has not seen.

use super::Effort;
use super::table::{Copied, Table};
use crate::budget::Budget;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::models::{
    ActionTrees, ContextShape, CostModel, CostNetwork, Index, IndexChoice, NetworkOptions, Predicted, Recentred, Rows,
    Shape, TreeOptions, Trees, cross_validate,
};
use crate::policy::Axis;
use crate::recipe::ModelsName;

/// Rows that a network sees in all its passes together: of many rows each is seen less often, because new rows teach more than the
/// same ones again ..
const QUICK_VISITS: usize = 700_000;
const FULL_VISITS: usize = 1_600_000;

/// .. but not less often than this; of still more rows a fair sample is seen.
const FEWEST_PASSES: usize = 10;

/// Of few rows several networks are afforded, whose mean is taken: as many as see these rows together, and no more than that.
const QUICK_MEMBERS: usize = 500_000;
const MOST_MEMBERS: usize = 3;

/// In a quick search trees take longer steps, so that fewer are needed.
const QUICK_RATE: f64 = 0.12;
const QUICK_ROUNDS: usize = 330;

/// The kinds of models, each listed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The same costs for every context.
    Constant,
    /// Linear in the contexts.
    Linear,
    /// Splines, products or kernels of the contexts: the best by cross-validation.
    Ridge,
    /// Curves of the distance to one number made of the contexts.
    Index,
    Trees,
    ActionTrees,
    /// A network held smooth by its decay: for noisy outcomes.
    Network,
    /// A network that may bend sharply: for steps and kinks behind little noise.
    SharpNetwork,
    /// Trees around the best action of the better network.
    Recentred,
    /// A model of others, by its predictions in columns of the log: not among those that are fitted.
    Predicted,
}

impl Kind {
    pub(super) const ALL: [Kind; 9] = [
        Kind::Constant,
        Kind::Linear,
        Kind::Ridge,
        Kind::Index,
        Kind::Trees,
        Kind::ActionTrees,
        Kind::Network,
        Kind::SharpNetwork,
        Kind::Recentred,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Constant => "constant",
            Kind::Linear => "linear",
            Kind::Ridge => "ridge",
            Kind::Index => "index",
            Kind::Trees => "trees",
            Kind::ActionTrees => "action-trees",
            Kind::Network => "network",
            Kind::SharpNetwork => "sharp network",
            Kind::Recentred => "recentred trees",
            Kind::Predicted => "predictions",
        }
    }

    /// The name in a recipe.
    pub(super) fn models(self) -> ModelsName {
        match self {
            Kind::Constant => ModelsName::Constant,
            Kind::Linear => ModelsName::Linear,
            Kind::Ridge => ModelsName::Ridge,
            Kind::Index => ModelsName::Index,
            Kind::Trees => ModelsName::Trees,
            Kind::ActionTrees => ModelsName::ActionTrees,
            Kind::Network | Kind::SharpNetwork => ModelsName::Network,
            Kind::Recentred => ModelsName::Recentred,
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
        let (visits, together, least) = match effort {
            Effort::Quick => (QUICK_VISITS, QUICK_MEMBERS, 1),
            Effort::Full => (FULL_VISITS, FULL_VISITS, 2),
        };
        let most = visits / FEWEST_PASSES;
        let epochs = (visits / rows.clamp(1, most)).clamp(FEWEST_PASSES, options.epochs);
        let options = NetworkOptions { epochs, ..options };
        let members = (together / options.visits(rows.min(most)).max(1)).clamp(least, MOST_MEMBERS);
        (NetworkOptions { members, ..options }, most)
    }

    /// How many times the work of a quick fit a full one is.
    fn growth(self, rows: usize) -> f64 {
        let work = |effort| {
            let (options, most) = self.network(rows, effort);
            (options.members * options.visits(rows.min(most))) as f64
        };
        match self {
            Kind::Network | Kind::SharpNetwork => work(Effort::Full) / work(Effort::Quick),
            _ => 1.0,
        }
    }

    /// What is found on held-out rows and serves for other folds.
    fn found(self, rows: &Rows, seed: u64) -> Result<Found> {
        Ok(match self {
            Kind::Index => Found::Index(Index::choose(rows, seed)?),
            _ => Found::Nothing,
        })
    }

    /// Fits one model of this kind; ridges come from their cross-validation. What was found on the first fold is not looked for again.
    fn fit(self, rows: &Rows, effort: Effort, found: Found, seed: u64, engine: &Engine) -> Result<CostModel> {
        let known = |options: TreeOptions| grown(options, effort, found);
        Ok(match self {
            Kind::Index => {
                let choice = if let Found::Index(choice) = found { choice } else { Index::choose(rows, seed)? };
                CostModel::Index(Index::fit(rows, &choice, seed)?)
            }
            Kind::ActionTrees => {
                CostModel::ActionTrees(ActionTrees::fit(rows, &known(TreeOptions::smooth()), seed, engine)?)
            }
            Kind::Network | Kind::SharpNetwork => {
                let (options, most) = self.network(rows.len(), effort);
                // rows stand in the order of their actions, so every so many of them are a fair sample
                let thinned = Copied::thinned(rows, most);
                CostModel::Network(CostNetwork::fit(&thinned.rows(), &options, seed, engine)?)
            }
            _ => CostModel::Trees(Trees::fit(rows, &known(TreeOptions::default()), seed, engine)?),
        })
    }
}

/// What the first fold found on rows that it held out.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Found {
    Nothing,
    /// The number of trees.
    Trees(usize),
    Index(IndexChoice),
}

impl Found {
    /// What can be read off a model.
    fn of(model: &CostModel) -> Found {
        match model {
            CostModel::Trees(trees) => Found::Trees(trees.rounds()),
            CostModel::ActionTrees(trees) => Found::Trees(trees.rounds()),
            CostModel::Recentred(trees) => Found::Trees(trees.rounds()),
            _ => Found::Nothing,
        }
    }
}

/// How trees grow: their number is found on held-out rows unless it is known from the first fold.
fn grown(options: TreeOptions, effort: Effort, found: Found) -> TreeOptions {
    let options = match effort {
        Effort::Quick => TreeOptions { rate: QUICK_RATE, rounds: QUICK_ROUNDS, ..options },
        Effort::Full => options,
    };
    match found {
        Found::Trees(rounds) if rounds > 0 => TreeOptions { rounds, held: 0.0, ..options },
        _ => options,
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
    /// The models whose mean acts; absent: one that is fitted on all rows when it is asked for.
    acts: Option<Vec<CostModel>>,
    /// What need not be looked for again.
    found: Found,
    effort: Effort,
}

impl Fitted {
    /// The models whose mean acts. Of a network they are those of the folds: another fit would be another network than the one that was
    /// judged, and the mean of several is better than each. Trees, which change little from fit to fit, are grown on all rows.
    pub(super) fn acts(&self, table: &Table, seed: u64, engine: &Engine) -> Result<Vec<CostModel>> {
        match &self.acts {
            Some(models) => Ok(models.clone()),
            None => Ok(vec![self.kind.fit(&table.rows(), self.effort, self.found, seed, engine)?]),
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
    let mut fitted = cross_fit_before(table, axis, kinds, effort, (seed, engine), (&Budget::unlimited(), 1.0))?;
    if fitted.is_empty() {
        return Err(too_few(table));
    }
    if kinds.contains(&Kind::Recentred) {
        fitted.extend(recentred((table, axis), &fitted, effort, (seed, engine))?);
    }
    Ok(fitted)
}

/// Trees around the best actions of the network with the smaller error; nothing where there is no network. Each fold has its own network and its own
/// trees, and these act: seen from another network the trees would stand in another place.
fn recentred(
    (table, axis): (&Table, &Axis),
    fitted: &[Fitted],
    effort: Effort,
    (seed, engine): (u64, &Engine),
) -> Result<Option<Fitted>> {
    let networks = fitted.iter().filter(|f| matches!(f.kind, Kind::Network | Kind::SharpNetwork));
    let Some(base) = networks.min_by(|a, b| a.error.total_cmp(&b.error)) else { return Ok(None) };
    let bases: Vec<(usize, &CostNetwork)> = base.acts.iter().flatten().filter_map(as_network).enumerate().collect();
    let fit = |&(k, network, found): &(usize, &CostNetwork, Found), engine: &Engine| -> Result<CostModel> {
        let rows = Copied::without(&table.rows(), &table.fold, k);
        let options = grown(TreeOptions::default(), effort, found);
        Recentred::fit(&rows.rows(), (network, &axis.knots), &options, seed, engine).map(CostModel::Recentred)
    };
    let Some(&(k, network)) = bases.first() else { return Ok(None) };
    let mut folds = vec![fit(&(k, network, Found::Nothing), engine)?];
    let found = Found::of(&folds[0]);
    let others: Vec<_> = bases[1..].iter().map(|&(k, network)| (k, network, found)).collect();
    let others = engine.map(&others, |job| fit(job, &Engine::single()));
    folds.extend(others.into_iter().collect::<Result<Vec<CostModel>>>()?);
    let acts = Some(folds.clone());
    Ok(Some(predict(table, axis, (Kind::Recentred, Kind::Recentred.name(), effort), (&folds, found), acts, engine)))
}

fn as_network(model: &CostModel) -> Option<&CostNetwork> {
    match model {
        CostModel::Network(network) => Some(network),
        _ => None,
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
    let least = (0..table.folds).map(|k| table.fold.iter().filter(|f| **f != k).count()).min().unwrap_or(0);
    let carried = |k: &Kind| *k != Kind::Index || Index::carried(table.d, least);
    let trained: Vec<Kind> =
        kinds.iter().copied().filter(|k| !k.is_ridge() && *k != Kind::Recentred && carried(k)).collect();
    // what the first fold finds, the others take over
    type Fold = (CostModel, Found);
    let fit = |&(kind, k, found): &(Kind, usize, Option<Found>)| -> Result<Option<Fold>> {
        let needed = ridges.is_empty() && kind == trained[0];
        if !(needed || budget.before(share)) {
            return Ok(None);
        }
        let rows = Copied::without(&table.rows(), &table.fold, k);
        let found = found.map_or_else(|| kind.found(&rows.rows(), seed), Ok)?;
        let model = kind.fit(&rows.rows(), effort, found, seed, &Engine::single())?;
        let found = if found == Found::Nothing { Found::of(&model) } else { found };
        Ok(Some((model, found)))
    };
    let first: Vec<_> = trained.iter().map(|&kind| (kind, 0, None)).collect();
    let first: Vec<Option<Fold>> = engine.map(&first, fit).into_iter().collect::<Result<_>>()?;
    let begun = trained.iter().zip(&first).filter_map(|(&kind, fold)| fold.as_ref().map(|f| (kind, f.1)));
    let others: Vec<_> =
        begun.flat_map(|(kind, found)| (1..table.folds).map(move |k| (kind, k, Some(found)))).collect();
    let others: Vec<Option<Fold>> = engine.map(&others, fit).into_iter().collect::<Result<_>>()?;
    let (mut first, mut others) = (first.into_iter(), others.into_iter());
    let mut out = Vec::new();
    for kind in kinds {
        if let Some((_, name, folds, all)) = ridges.iter().find(|r| r.0 == *kind) {
            out.push(predict(
                table,
                axis,
                (*kind, name, effort),
                (folds, Found::Nothing),
                Some(vec![all.clone()]),
                engine,
            ));
        } else if trained.contains(kind)
            && let Some(Some((model, found))) = first.next()
        {
            let rest: Vec<Option<CostModel>> = others.by_ref().take(table.folds - 1).map(|f| f.map(|f| f.0)).collect();
            let folds: Option<Vec<CostModel>> = std::iter::once(Some(model)).chain(rest).collect();
            let network = matches!(kind, Kind::Network | Kind::SharpNetwork);
            out.extend(folds.map(|folds| {
                let acts = network.then(|| folds.clone());
                predict(table, axis, (*kind, kind.name(), effort), (&folds, found), acts, engine)
            }));
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
    if kinds.contains(&Kind::Recentred) && budget.before(FULL_UNTIL) {
        fitted.extend(recentred((table, axis), &fitted, Effort::Full, (seed, engine))?);
    }
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
            (std::slice::from_ref(&model), Found::Nothing),
            Some(vec![model.clone()]),
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
    (folds, found): (&[CostModel], Found),
    acts: Option<Vec<CostModel>>,
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
    let error = square / table.n() as f64;
    Fitted { kind, name: name.into(), error, at, knots, acts, found, effort }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Weighting;
    use crate::portfolio::survey::{self, Wishes};

    /// 60 contexts and 300 rows carry no ridge; the other kinds keep to their own models.
    #[test]
    fn every_kind_has_models_of_its_own_where_a_ridge_is_missing() {
        let (n, d) = (300usize, 60usize);
        let spread = |i: usize, k: usize| (crate::rng::hash(k as u64, i as u64) >> 11) as f64 / (1u64 << 53) as f64;
        let a: Vec<f64> = (0..n).map(|i| i as f64 / n as f64).collect();
        let mut table = Table {
            d,
            x: (0..n * d).map(|k| spread(k, 1)).collect(),
            u: a.clone(),
            y: (0..n).map(|i| (a[i] - spread(i * d, 1)).powi(2)).collect(),
            a,
            log_p: vec![0.0; n],
            omega: vec![1.0; n],
            weighting: Weighting::Counts,
            fold: (0..n).map(|i| i % 2).collect(),
            folds: 2,
            centre: 0.0,
            unit: 1.0,
            rows: n as u64,
            ids: (0..n as u64).collect(),
            wide: Vec::new(),
            clusters: Vec::new(),
            cluster: Vec::new(),
        };
        let axis = survey::axis(&mut table, &Wishes::default()).expect("an axis");
        let engine = Engine::single();
        let fitted = cross_fit(&table, &axis, &Kind::ALL, Effort::Quick, 1, &engine).expect("fits");
        let kinds: Vec<Kind> = fitted.iter().map(|f| f.kind).collect();
        let all = [Kind::Constant, Kind::Trees, Kind::ActionTrees, Kind::Network, Kind::SharpNetwork, Kind::Recentred];
        assert_eq!(kinds, all);
        for f in &fitted[1..] {
            let acts = f.acts(&table, 1, &engine).expect("fits");
            let folds = matches!(f.kind, Kind::Network | Kind::SharpNetwork | Kind::Recentred);
            assert_eq!(acts.len(), if folds { table.folds } else { 1 });
            let name = match f.kind {
                Kind::SharpNetwork => "network",
                Kind::Recentred => "recentred",
                kind => kind.name(),
            };
            assert!(acts.iter().all(|m| m.name() == name), "{name} by {}", acts[0].name());
        }
    }
}
