//! Figures that need no learning: the soft clip, the reward, the contexts.

use super::draw::{curve, picture, series};
use super::potentials;
use super::{Ask, Axis, Claim, Exhibit, Mark, Series};
use crate::{Cocoa, Potential, cocoa_best, cocoa_chance, reward};
use counterpoint::Result;
use counterpoint::estimate::Weight;

/// Caps whose curves are drawn.
const CAPS: [f64; 3] = [2.0, 5.0, 10.0];

/// Figure 2: the soft-clipped weight against the weight.
pub fn soft_clipping(_: &Ask) -> Result<Exhibit> {
    let value = |weight: Weight, w: f64| weight.apply(w.ln()).0;
    let range = [0.01, 30.0];
    let mut lines = vec![Series { mark: Mark::Guide, ..curve("no clipping", range, |w| w) }];
    for cap in CAPS {
        lines.push(curve(&format!("soft, M = {cap}"), range, |w| value(Weight::soft(cap), w)));
        let hard = curve(&format!("hard, M = {cap}"), range, |w| value(Weight::Clip { cap }, w));
        lines.push(Series { mark: Mark::Guide, ..hard });
    }
    // slopes are d / d ln w; beside the cap they must agree, far beyond it they must stay positive
    let slope = |cap: f64, w: f64| Weight::soft(cap).apply(w.ln()).1 / w;
    let jump =
        CAPS.map(|m| (slope(m, m * (1.0 + 1e-9)) - slope(m, m * (1.0 - 1e-9))).abs()).into_iter().fold(0.0, f64::max);
    let between = CAPS.iter().all(|&cap| {
        (1..4000).map(|k| f64::from(k) * 0.05).all(|w| {
            let soft = value(Weight::soft(cap), w);
            value(Weight::Clip { cap }, w) <= soft + 1e-12 && soft <= w + 1e-12
        })
    });
    Ok(Exhibit {
        about: "The weight after clipping, against the weight before; M is the cap.".into(),
        pictures: vec![picture(
            "clip",
            "Soft and hard clipping",
            Axis::linear("weight"),
            Axis::linear("clipped weight"),
            lines,
        )],
        claims: vec![
            Claim {
                says: "Soft clipping is differentiable, with a slope beyond the cap where hard clipping has none."
                    .into(),
                holds: Some(jump < 1e-6 && CAPS.iter().all(|&m| slope(m, 100.0 * m) > 0.0)),
                measured: format!(
                    "largest jump of the slope at the cap {jump:.1e}; slope at 100 M: {}",
                    CAPS.map(|m| format!("{:.4}", slope(m, 100.0 * m))).join(", ")
                ),
            },
            Claim {
                says: "min(w, M) <= soft clip <= w.".into(),
                holds: Some(between),
                measured: "checked for w up to 200 in steps of 0.05".into(),
            },
        ],
        ..Exhibit::default()
    })
}

/// Figure 17: the synthetic reward, and the reward of CoCoA (here of its twin) by buckets of the bid.
pub fn reward_shape(ask: &Ask) -> Result<Exhibit> {
    let synthetic = [3.0, 1.0, 0.1].map(|p| curve(&format!("potential {p}"), [0.0, 6.0], |a| reward(a, p))).to_vec();
    let log = Cocoa::simulate(ask.by_effort(100_000, 2_000_000), 1);
    let (low, high, buckets) = (0.7, 1.4, 14);
    let width = (high - low) / buckets as f64;
    let mut sums = vec![[0.0; 3]; buckets];
    for (a, r) in log.action.iter().zip(&log.reward) {
        let k = (a - low) / width;
        if (0.0..buckets as f64).contains(&k) {
            let s = &mut sums[k as usize];
            *s = [s[0] + 1.0, s[1] + r, s[2] + r * r];
        }
    }
    let filled: Vec<(usize, &[f64; 3])> = sums.iter().enumerate().filter(|(_, s)| s[0] > 1.0).collect();
    let dots = Series {
        spread: filled.iter().map(|(_, [n, s, q])| 1.96 * ((q / n - (s / n) * (s / n)) / n).sqrt()).collect(),
        ..series(
            "mean reward by bucket, 95%",
            Mark::Dots,
            filled.iter().map(|(k, [n, s, _])| [low + (*k as f64 + 0.5) * width, s / n]).collect(),
        )
    };
    let amount = crate::COCOA_REWARD / crate::COCOA_REWARDED;
    let truth = curve("expected at the middle context", [low, high], |a| amount * cocoa_chance(0.5, a));
    Ok(Exhibit {
        about: format!(
            "Left: what an action earns for three potentials. Right: {} rows of the twin of CoCoA by buckets of the bid.",
            log.action.len()
        ),
        pictures: vec![
            picture("synthetic", "The synthetic reward", Axis::linear("action"), Axis::linear("reward"), synthetic),
            picture("cocoa", "The twin of CoCoA", Axis::linear("bid"), Axis::linear("mean reward"), vec![truth, dots]),
        ],
        notes: vec![format!(
            "The paper's right panel is CoCoA itself, which cannot be shipped; the twin was given its shape, rising to a best bid ({:.2} at the middle context) and falling after.",
            cocoa_best(0.5)
        )],
        ..Exhibit::default()
    })
}

/// Figure 18: the contexts of the three sets by potential.
pub fn contexts(ask: &Ask) -> Result<Exhibit> {
    let shown = ask.by_effort(400, 1500);
    let mut pictures = Vec::new();
    for set in potentials(ask)? {
        let (kind, truth) = (set.kind, &set.truth);
        let mut order: Vec<usize> = (0..truth.hidden.len()).collect();
        // every k-th row, so that all of a file is seen
        let step = truth.hidden.len().div_ceil(shown);
        order.retain(|i| i % step == 0);
        order.sort_by(|a, b| truth.hidden[*a].total_cmp(&truth.hidden[*b]));
        let third = order.len().div_ceil(3);
        let dots = order.chunks(third).map(|rows| {
            let ends = [rows[0], rows[rows.len() - 1]].map(|i| truth.hidden[i]);
            let points = rows.iter().map(|&i| [truth.context(i)[0], truth.context(i)[1]]).collect();
            series(&format!("potential {:.2} to {:.2}", ends[0], ends[1]), Mark::Dots, points)
        });
        pictures.push(picture(
            kind.name(),
            &format!("Contexts of {kind}"),
            Axis::linear("x0"),
            Axis::linear("x1"),
            dots.collect(),
        ));
    }
    Ok(Exhibit {
        about: format!(
            "Test contexts of the {} sets, in three colours by terciles of the potential: a policy must act differently in different places.",
            Potential::ALL.len()
        ),
        pictures,
        ..Exhibit::default()
    })
}
