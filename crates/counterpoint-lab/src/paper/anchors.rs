//! The figure of continuous against discretised policies over the number of anchors or buckets.

use super::dataset::figures;
use super::fits::{FITS, Fit, Found, Job, MAPS, choose, chosen, compared};
use super::table6::BUCKETS;
use super::{Ask, Axis, Cell, Dataset, Exhibit, Mark, Picture, Series, Table, Value, potentials};
use crate::discrete::{Buckets, DiscretePolicy, DiscreteRecipe, fit_bucket_model};
use counterpoint::features::{ActionMap, Anchors, ContextKind, ContextMap, MapOptions, Scale, Scaler};
use counterpoint::folds::{LossOptions, fit_loss_model};
use counterpoint::policy::{Clp, Family, Mean, Std};
use counterpoint::recipe::{ContextChoice, EstimatorChoice, StdChoice};
use counterpoint::{Engine, Estimator, Policy, Recipe, Result};
use rayon::prelude::*;

const FULL: [usize; 9] = [2, 3, 5, 7, 10, 12, 15, 20, 30];
const QUICK: [usize; 4] = [2, 5, 10, 20];

const METHODS: [&str; 4] = ["CLP, scIPS", "CLP, SDM", "buckets, IPS", "buckets, SDM"];

/// So high that the soft minimum is the minimum, unless two anchors promise the same to a thousandth.
const GREEDY: f64 = 1000.0;

/// Noise around the direct method's action; the offline choice takes the one that passes the gate with the best SNIPS.
const STDS: [f64; 4] = [0.05, 0.1, 0.2, 0.4];

/// The same for buckets: temperatures of a softmax over predicted costs.
const SOFT: [f64; 4] = [0.01, 0.03, 0.1, 0.3];

fn clp(ask: &Ask, m: usize) -> Vec<Job> {
    let (starts, proximal_steps, max_iterations) = ask.by_effort((1, 3, 100), (2, 10, 200));
    let plain = Recipe { starts, max_iterations, ..Recipe::clp() };
    let plain = plain.with_proximal_steps(proximal_steps).with_anchors(m);
    // as many settings as the buckets have; a wide cap wants a floor under the std
    let recipe = |context_map| {
        let plain = plain.clone().with_context_map(context_map);
        let wide = Recipe {
            estimator: EstimatorChoice::SoftClipped { cap: 59.9 },
            std: StdChoice::Learned { floor: 0.05 },
            variance_penalty: 1.0,
            ..plain.clone()
        };
        [plain, wide]
    };
    let jobs = match ask.quick() {
        true => vec![plain.clone().with_context_map(ContextChoice::Cubic)],
        false => MAPS.into_iter().flat_map(recipe).collect(),
    };
    jobs.into_iter().map(|r| Job::Continuous(Box::new(r))).collect()
}

fn buckets(ask: &Ask, m: usize) -> Vec<Job> {
    let (proximal_steps, max_iterations) = ask.by_effort((1, 40), (3, 100));
    let plain = DiscreteRecipe {
        buckets: m,
        estimator: Estimator::IPS,
        proximal_steps,
        max_iterations,
        ..DiscreteRecipe::default()
    };
    let recipe = |context_map, variance_penalty| DiscreteRecipe { context_map, variance_penalty, ..plain };
    let jobs = match ask.quick() {
        true => vec![recipe(ContextKind::Cubic, 0.0)],
        false => MAPS.iter().flat_map(|map| [0.0, 1.0].map(|lambda| recipe(map.kind(), lambda))).collect(),
    };
    jobs.into_iter().map(|r| Job::Discrete(Box::new(r))).collect()
}

/// Context maps of the direct methods; a rich one is cheap here, since the fit is one linear solve.
const DIRECT: [ContextKind; 3] = [ContextKind::Quadratic, ContextKind::Cubic, ContextKind::Nystrom];

fn map(set: &Dataset, kind: ContextKind) -> Result<(Scaler, ContextMap)> {
    let train = &set.parts.train;
    let scaler = Scaler::learn(Scale::Standard, &train.context_summaries());
    let (mut x, _) = train.thin(50_000);
    x.chunks_exact_mut(2).for_each(|row| scaler.apply(row));
    let options = MapOptions { buckets: 4, centres: 30, bandwidth: None, seed: 0 };
    Ok((scaler, ContextMap::learn(kind, &x, 2, options)?))
}

/// The stochastic direct method: a normal around the anchor with the least predicted cost.
fn sdm(set: &Dataset, m: usize, kind: ContextKind) -> Result<Vec<Fit>> {
    let train = &set.parts.train;
    let (scaler, map) = map(set, kind)?;
    let (_, actions) = train.thin(50_000);
    let actions = ActionMap::new(Anchors::Quantile.place(&actions, 1, m, 0)?, 1, None)?;
    let options = LossOptions { scaler, map, actions, ridge: 1e-3 };
    let model = fit_loss_model(&Engine::single(), train, &options)?;
    let policy = |std: f64| Policy {
        origin: None,
        inputs: train.schema().inputs.clone(),
        contexts: train.schema().contexts.clone(),
        actions: train.schema().actions.clone(),
        scaler: model.scaler.clone(),
        family: Family::Normal,
        mean: Mean::Clp(Clp { map: model.map.clone(), actions: model.actions.clone(), temperature: GREEDY }),
        std: Std::Fixed { value: vec![std] },
        theta: model.coef.clone(),
    };
    STDS.iter().map(|&std| Fit::new(&set.parts.valid, Found::Continuous(policy(std)))).collect()
}

/// Over buckets: a softmax of minus the predicted costs.
fn discrete_sdm(set: &Dataset, m: usize, kind: ContextKind) -> Result<Vec<Fit>> {
    let train = &set.parts.train;
    let (scaler, map) = map(set, kind)?;
    let actions: Vec<f64> = train.blocks().iter().flat_map(|b| b.a[0].iter().copied()).collect();
    let buckets = Buckets::quantile(&actions, m)?;
    let theta = vec![0.0; map.dim(2) * buckets.len()];
    let plain = DiscretePolicy { scaler, map, buckets, theta };
    let model = fit_bucket_model(&Engine::single(), train, &plain, 1e-3)?;
    let policy = |soft: f64| DiscretePolicy { theta: model.coef.iter().map(|c| -c / soft).collect(), ..plain.clone() };
    SOFT.iter().map(|&soft| Fit::new(&set.parts.valid, Found::Discrete(policy(soft)))).collect()
}

/// The rewards of the chosen policies, by method, then set and number of anchors.
fn run(ask: &Ask, cells: &[(&Dataset, usize)]) -> Result<Vec<Vec<Vec<f64>>>> {
    let jobs = |of: fn(&Ask, usize) -> Vec<Job>| -> Result<Vec<Option<Fit>>> {
        chosen(ask, &cells.iter().map(|(w, m)| (*w, of(ask, *m))).collect::<Vec<_>>())
    };
    type Direct = fn(&Dataset, usize, ContextKind) -> Result<Vec<Fit>>;
    let direct = |of: Direct, name: &str| -> Result<Vec<Option<Fit>>> {
        let one = |(set, m): &(&Dataset, usize)| {
            ask.once(&format!("{}: {name} {m}", set.name()), || {
                let maps = &DIRECT[..ask.by_effort(2, 3)];
                let fits = maps.iter().map(|kind| of(set, *m, *kind)).collect::<Result<Vec<_>>>()?;
                Ok(choose(&fits.concat()).cloned())
            })
        };
        cells.par_iter().map(one).collect()
    };
    let found = [jobs(clp)?, direct(sdm, "sdm")?, jobs(buckets)?, direct(discrete_sdm, "buckets sdm")?];
    let rewards = |(fit, (set, _)): (&Option<Fit>, &(&Dataset, usize))| {
        fit.as_ref().map(|f| set.rewards(&f.found)).unwrap_or_default()
    };
    Ok(found.iter().map(|fits| fits.iter().zip(cells).map(rewards).collect()).collect())
}

/// The figure `fig:discrete_continuous_comparison`, with its companions of the appendix.
pub fn anchors(ask: &Ask) -> Result<Exhibit> {
    let sets = potentials(ask)?;
    let counts: &[usize] = ask.by_effort(&QUICK, &FULL);
    let cells: Vec<(&Dataset, usize)> = sets.iter().flat_map(|w| counts.iter().map(move |m| (w, *m))).collect();
    let rewards = run(ask, &cells)?;
    let mut out = Exhibit {
        about: "The loss predictor over m anchors, learned by soft-clipped IPS or by the direct method with a little noise (SDM), \
                against softmax policies over m buckets, learned by IPS or by a softmax of predicted costs (SDM). For every m the \
                other settings are chosen offline: n_eff/n > 1% and the best SNIPS on the valid part. Values are the known reward on \
                the test contexts."
            .into(),
        notes: vec![
            "Bands and errors are standard errors over test contexts. The paper gives the figure without numbers.".into(),
            BUCKETS.into(),
            "With two or three anchors a direct method has too few places to put its bumps, while CLP moves its mean between the anchors: that \
             is where the paper's gap is found again. With ten and more every method has room, and what the paper found for the direct method \
             was not its best: its grid is larger here."
                .into(),
            FITS.into(),
            super::dataset::cuts::FOUND.into(),
        ],
        ..Exhibit::default()
    };
    for (w, set) in sets.iter().enumerate() {
        let here = |method: usize| &rewards[method][w * counts.len()..(w + 1) * counts.len()];
        out.pictures.push(picture(set, counts, &here));
        out.tables.push(table(set, counts, &here));
    }
    for (a, b, says) in [
        (0, 2, "CLP with scIPS does better than softmax policies over as many buckets (IPS)"),
        (0, 3, "CLP with scIPS does better than the direct method over as many buckets"),
        (0, 1, "CLP with scIPS does better than the stochastic direct method with the same anchors"),
    ] {
        for few in [true, false] {
            let mine =
                |i: &usize| (cells[*i].1 <= 7) == few && !rewards[a][*i].is_empty() && !rewards[b][*i].is_empty();
            let pairs: Vec<(String, &[f64], &[f64])> = (0..cells.len())
                .filter(mine)
                .map(|i| (format!("{} m = {}", cells[i].0.kind, cells[i].1), &rewards[a][i][..], &rewards[b][i][..]))
                .collect();
            let size = if few { "at most 7" } else { "more than 7" };
            out.claims.push(compared(&format!("{says}, with {size} of them."), &pairs));
        }
    }
    Ok(out)
}

fn picture<'a>(set: &Dataset, counts: &[usize], here: &dyn Fn(usize) -> &'a [Vec<f64>]) -> Picture {
    let mut series = vec![Series {
        name: "logging policy".into(),
        mark: Mark::Guide,
        points: [counts[0], counts[counts.len() - 1]].map(|m| [m as f64, set.logged().0]).to_vec(),
        ..Series::default()
    }];
    for (method, name) in METHODS.iter().enumerate() {
        let known = counts.iter().zip(here(method)).filter(|(_, r)| !r.is_empty());
        let (points, spread) = known
            .map(|(m, r)| {
                let (mean, error) = figures(r);
                ([*m as f64, mean], error)
            })
            .unzip();
        series.push(Series { name: name.to_string(), mark: Mark::Line, points, spread, ..Series::default() });
    }
    Picture {
        name: format!("anchors-{}", set.kind),
        title: format!("Test reward on {} by number of anchors or buckets", set.kind),
        x: Axis::linear("anchors or buckets"),
        y: Axis::linear("test reward"),
        series,
        ..Picture::default()
    }
}

fn table<'a>(set: &Dataset, counts: &[usize], here: &dyn Fn(usize) -> &'a [Vec<f64>]) -> Table {
    let cell = |rewards: &Vec<f64>| match rewards.is_empty() {
        true => Cell::from("none is trustworthy"),
        false => {
            let (ours, error) = figures(rewards);
            Cell::Value(Value { ours, error: Some(error), ..Value::default() })
        }
    };
    let rows = counts.iter().enumerate().map(|(i, m)| {
        [Cell::from(m.to_string())].into_iter().chain((0..METHODS.len()).map(|k| cell(&here(k)[i]))).collect()
    });
    Table {
        caption: format!("Test reward on {} by number of anchors or buckets", set.kind),
        head: ["m"].iter().chain(&METHODS).map(|s| s.to_string()).collect(),
        rows: rows.collect(),
    }
}
