//! The chess board: the direct method against soft-clipped IPS with the same policy class.

use super::draw::{curve, picture, series};
use super::statistics::{Paired, mean, std_error};
use super::{Ask, Axis, Claim, Exhibit, Mark, Table, Value};
use crate::{CHESS_MEAN, CHESS_STD, Chess, chess_reward, chess_value};
use counterpoint::policy::Family;
use counterpoint::recipe::{ContextChoice, EstimatorChoice};
use counterpoint::{Engine, Policy, Recipe, Result, learn};
use rayon::prelude::*;

const METHODS: [(&str, EstimatorChoice); 2] =
    [("direct method", EstimatorChoice::Direct), ("soft-clipped IPS", EstimatorChoice::SoftClipped { cap: 15.0 })];

/// Figures 8 and 9: logged actions, and actions sampled by the direct method and by the counterfactual policy.
pub fn chess(ask: &Ask) -> Result<Exhibit> {
    let (rows, seeds) = ask.by_effort((2_000, 8), (5_000, 30));
    let runs: Vec<Vec<(Policy, f64)>> = (0..seeds)
        .into_par_iter()
        .map(|seed| {
            let fit = |(name, e): &(&str, EstimatorChoice)| {
                ask.once(&format!("chess {rows} {name} {seed}"), || fit(rows, seed, *e))
            };
            METHODS.iter().map(fit).collect()
        })
        .collect::<Result<_>>()?;
    let values = |k: usize| -> Vec<f64> { runs.iter().map(|r| r[k].1).collect() };
    let paired = Paired::new(&runs.iter().map(|r| r[1].1 - r[0].1).collect::<Vec<_>>());
    let logging = Policy::constant(Family::LogNormal, &["x0"], &["action"], &[CHESS_MEAN], &[CHESS_STD])?;
    let upper = [0, 1].map(|k| mean(&runs.iter().map(|r| share_above(&r[k].0)).collect::<Vec<_>>()));
    let mut table = vec![vec!["logging".into(), chess_value(&logging).into(), share_above(&logging).into()]];
    for k in [0, 1] {
        let v = Value { ours: mean(&values(k)), error: Some(std_error(&values(k))), ..Value::default() };
        table.push(vec![METHODS[k].0.into(), v.into(), upper[k].into()]);
    }
    Ok(Exhibit {
        about: format!(
            "{seeds} logs of {rows} rows of the chess board; both methods learn a CLP with five anchors over the same context map. The best policy earns close to 1."
        ),
        tables: vec![Table {
            caption: "True reward (standard error over the logs) and share of actions in the upper half".into(),
            head: ["policy", "reward", "share above 2"].map(String::from).to_vec(),
            rows: table,
        }],
        pictures: pictures(rows, &logging, &runs[0])?,
        claims: vec![
            Claim {
                says: "The counterfactual policy earns more than the direct method.".into(),
                holds: paired.larger(),
                measured: format!("soft-clipped IPS minus direct: {paired}"),
            },
            Claim {
                says: "The direct method stays close to the logged actions; the counterfactual policy covers more."
                    .into(),
                holds: Some(upper[1] > upper[0]),
                measured: format!("share of actions above 2: {:.3} direct, {:.3} counterfactual", upper[0], upper[1]),
            },
        ],
        notes: notes(upper),
    })
}

/// What differs from the paper; `upper` are shares of actions in the upper half, direct and counterfactual.
fn notes(upper: [f64; 2]) -> Vec<String> {
    let mut notes = vec!["The paper prints neither the board nor the logging parameters; those are ours.".to_string()];
    if upper[0] > upper[1] {
        notes.push(
            "On our board the direct method does not stay with the log: its regression extrapolates beyond the logged actions, and following \
             it there is what costs it. The counterfactual policy goes there less often, and where it earns."
                .into(),
        );
    }
    notes
}

fn fit(rows: usize, seed: u64, estimator: EstimatorChoice) -> Result<(Policy, f64)> {
    let map = ContextChoice::Nystrom { centres: 8, bandwidth: None };
    let recipe = Recipe { estimator, starts: 2, seed, ..Recipe::clp() }.with_context_map(map).with_anchors(5);
    let log = Chess::simulate(rows, seed + 1).log()?;
    let policy = learn(&log.on(&Engine::single()), &recipe)?.policy.into_parametric()?;
    let value = chess_value(&policy);
    Ok((policy, value))
}

/// Share of actions in the upper half of the board, over 400 contexts.
fn share_above(policy: &Policy) -> f64 {
    let std = policy.std()[0];
    let above = |k: usize| 1.0 - policy.family.cdf(2.0, policy.mean(&[(k as f64 + 0.5) / 400.0])[0], std).value;
    (0..400).map(above).sum::<f64>() / 400.0
}

fn pictures(rows: usize, logging: &Policy, first: &[(Policy, f64)]) -> Result<Vec<super::Picture>> {
    let shown = 600.min(rows);
    let log = Chess::simulate(shown, 1);
    let by_reward = |actions: &[f64]| {
        [0.0, 0.5, 1.0]
            .map(|r| {
                let here = (0..shown).filter(|&i| chess_reward(log.x[i], actions[i]) == r);
                series(&format!("reward {r}"), Mark::Dots, here.map(|i| [log.x[i], actions[i]]).collect())
            })
            .to_vec()
    };
    let axes = || (Axis::linear("context"), Axis::linear("action"));
    let sampled = |policy: &Policy| -> Vec<f64> {
        let mut scorer = policy.scorer();
        (0..shown).map(|i| scorer.sample(&[log.x[i]], 1, i as u64).0[0]).collect()
    };
    let density = curve("density", [0.01, 5.0], |a| logging.log_density(&[0.5], &[a]).exp());
    let mut out = vec![
        picture("logging", "The logging policy", Axis::linear("action"), Axis::linear("density"), vec![density]),
        picture("log", "Logged actions", axes().0, axes().1, by_reward(&log.action)),
    ];
    for ((name, _), (policy, value)) in METHODS.iter().zip(first) {
        let file = if *name == METHODS[0].0 { "direct" } else { "counterfactual" };
        let title = format!("Actions of the {name} (reward {value:.3})");
        out.push(picture(file, &title, axes().0, axes().1, by_reward(&sampled(policy))));
    }
    Ok(out)
}
