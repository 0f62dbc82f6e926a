//! One outlier, learned from with and without clipping.

use super::draw::{curve, picture, series};
use super::statistics::{Paired, mean};
use super::{Ask, Axis, Claim, Exhibit, Mark, Series, Table};
use crate::{OUTLIER_ACTION, OUTLIER_CONTEXT, Outlier};
use counterpoint::recipe::EstimatorChoice;
use counterpoint::{Engine, Policy, Recipe, Result, learn};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Rows of a log.
const ROWS: usize = 2_000;
const ESTIMATORS: [(&str, EstimatorChoice); 2] =
    [("unclipped", EstimatorChoice::Ips), ("soft-clipped", EstimatorChoice::SoftClipped { cap: 3.0 })];

#[derive(Serialize, Deserialize)]
struct Learned {
    policy: Policy,
    online: f64,
    /// Its mean at the outlier's context.
    there: f64,
    /// The outlier's share of the sum of weights.
    share: f64,
}

/// Figure 7: what an unlikely action with a high reward does to IPS, and does not to soft-clipped IPS.
pub fn outlier(ask: &Ask) -> Result<Exhibit> {
    let seeds = ask.by_effort(6, 40);
    let fresh = Outlier::simulate(2_001, 1 << 20);
    let runs: Vec<Vec<Learned>> = (0..seeds)
        .into_par_iter()
        .map(|seed| {
            let fit = |(name, e): &(&str, EstimatorChoice)| {
                ask.once(&format!("outlier {ROWS} {name} {seed}"), || fit(seed, *e, &fresh))
            };
            ESTIMATORS.iter().map(fit).collect()
        })
        .collect::<Result<_>>()?;
    let online = |k: usize| -> Vec<f64> { runs.iter().map(|r| r[k].online).collect() };
    let gains: Vec<f64> = runs.iter().map(|r| r[1].online - r[0].online).collect();
    let paired = Paired::new(&gains);
    let each = |f: fn(&Learned) -> f64| [0, 1].map(|k| mean(&runs.iter().map(|r| f(&r[k])).collect::<Vec<_>>()));
    let (there, share) = (each(|l| l.there), each(|l| l.share));
    let rows = [0, 1].map(|k| {
        let std = mean(&runs.iter().map(|r| r[k].policy.std()[0]).collect::<Vec<_>>());
        vec![ESTIMATORS[k].0.into(), mean(&online(k)).into(), there[k].into(), share[k].into(), std.into()]
    });
    Ok(Exhibit {
        about: format!(
            "{seeds} logs of {ROWS} rows on two circles; the last row of each is an outlier at ({}, {}) with action {OUTLIER_ACTION} and a high reward. The same recipe learns with and without clipping.",
            OUTLIER_CONTEXT[0], OUTLIER_CONTEXT[1]
        ),
        tables: vec![Table {
            caption: "Means over the logs".into(),
            head: ["estimator", "test reward", "mean action at the outlier", "the outlier's share of the weights", "std"]
                .map(String::from)
                .to_vec(),
            rows: rows.to_vec(),
        }],
        pictures: pictures(&runs[0], &online(0), &online(1)),
        claims: vec![
            Claim {
                says: "Without clipping the policy overfits the outlier and earns less than with soft clipping.".into(),
                holds: paired.larger(),
                measured: format!("test reward, soft-clipped minus unclipped: {paired}"),
            },
            Claim {
                says: "Without clipping the learned policy rests on the outlier: that one row has more than a tenth of all weight.".into(),
                holds: Some(share[0] > 0.1 && share[1] < 0.1),
                measured: format!(
                    "share of the outlier in the sum of weights {:.3} unclipped, {:.3} soft-clipped; mean action there {:.2} and {:.2}",
                    share[0], share[1], there[0], there[1]
                ),
            },
        ],
        notes: vec!["The paper prints neither the number of rows nor the outlier's action and reward; those are ours. Test rewards are without the noise.".into(),
            "The lowest anchor is the 1% quantile of the logged actions, about 0.57: without clipping the mean goes there and the std widens until the density reaches the outlier's action.".into(),
        ],
    })
}

fn fit(seed: u64, estimator: EstimatorChoice, fresh: &Outlier) -> Result<Learned> {
    let drawn = Outlier::simulate(ROWS, seed + 1);
    let recipe = Recipe { estimator, starts: 2, seed, ..Recipe::clp() }.with_anchors(8);
    let policy = learn(&drawn.log()?.on(&Engine::single()), &recipe)?.policy.into_parametric()?;
    let mut scorer = policy.scorer();
    let mut weight =
        |i: usize| scorer.log_density(&[drawn.x[0][i], drawn.x[1][i]], &[drawn.action[i]]).exp() / drawn.propensity[i];
    let weights: Vec<f64> = (0..ROWS).map(&mut weight).collect();
    Ok(Learned {
        online: fresh.online_value(&policy, 1),
        there: policy.mean(&OUTLIER_CONTEXT)[0],
        share: weights[ROWS - 1] / weights.iter().sum::<f64>(),
        policy,
    })
}

fn pictures(first: &[Learned], unclipped: &[f64], soft: &[f64]) -> Vec<super::Picture> {
    let log = Outlier::simulate(ROWS, 1);
    let circle = |g: u32, name: &str| {
        let rows = (0..ROWS - 1).filter(|&i| log.group[i] == g);
        series(name, Mark::Dots, rows.map(|i| [log.x[0][i], log.x[1][i]]).collect())
    };
    let along = |name: &str, policy: &Policy| curve(name, [-1.2, 1.2], |x| policy.mean(&[x, OUTLIER_CONTEXT[1]])[0]);
    let pairs = unclipped.iter().zip(soft).map(|(a, b)| [*a, *b]).collect();
    vec![
        picture(
            "log",
            "The contexts of a log and its outlier",
            Axis::linear("x0"),
            Axis::linear("x1"),
            vec![
                circle(0, "high potential"),
                circle(1, "low potential"),
                series("outlier", Mark::Dots, vec![OUTLIER_CONTEXT]),
            ],
        ),
        picture(
            "policies",
            "Mean action along x1 = 0",
            Axis::linear("x0"),
            Axis::linear("mean action"),
            vec![
                along("unclipped", &first[0].policy),
                along("soft-clipped", &first[1].policy),
                Series {
                    mark: Mark::Dots,
                    ..series("outlier", Mark::Dots, vec![[OUTLIER_CONTEXT[0], OUTLIER_ACTION]])
                },
            ],
        ),
        super::draw::scatter(
            "rewards",
            "Test reward",
            ["unclipped", "soft-clipped"],
            vec![series("", Mark::Dots, pairs)],
        ),
    ]
}
