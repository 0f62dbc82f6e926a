//! Diagnostics of importance sampling as the policy moves away from the log.

use super::draw::{picture, series};
use super::{Ask, Axis, Claim, Exhibit, Mark, Picture, Series};
use crate::WhatIf;
use crate::protocol::Z;
use counterpoint::{Estimator, Result};

/// How far from the mode of the log a policy counts as near it.
const NEAR: f64 = 0.5;
/// How far below and above the mode it counts as far; a log-normal has hardly any mass below, and a long tail above.
const BELOW: f64 = 1.25;
const ABOVE: f64 = 3.0;

/// What is known at one mean of the policy.
struct Point {
    mu: f64,
    share: f64,
    mean_weight: f64,
    ips: (f64, f64),
    snips: (f64, f64),
}

/// Figure 16 (Example D.1): n_eff / n, confidence intervals and mean weight against the mean of the policy.
pub fn what_if(ask: &Ask) -> Result<Exhibit> {
    let rows = ask.by_effort(10_000, 100_000);
    let log = WhatIf::simulate(rows, 1).log()?;
    let points: Vec<Point> = (0..=48)
        .map(|k| f64::from(k) * 0.125)
        .map(|mu| {
            let (ips, snips) = (WhatIf::ask(&log, mu, &Estimator::IPS)?, WhatIf::ask(&log, mu, &Estimator::SNIPS)?);
            Ok(Point {
                mu,
                share: snips.effective / snips.rows,
                mean_weight: ips.mean_weight,
                ips: (ips.estimate, ips.std_error),
                snips: (snips.estimate, snips.std_error),
            })
        })
        .collect::<Result<_>>()?;
    Ok(Exhibit {
        about: format!(
            "E max of three N(mu, 1/4) from {rows} rows of three log-normals with mode {:.3}, for mu from 0 to 6.",
            WhatIf::mode()
        ),
        pictures: pictures(&points),
        claims: claims(&points),
        notes: vec!["The weights are products of three; where hardly any row has weight the interval itself is not to be trusted, which is why there is a gate.".into()],
        ..Exhibit::default()
    })
}

fn claims(points: &[Point]) -> Vec<Claim> {
    let near = |p: &&Point| (p.mu - WhatIf::mode()).abs() <= NEAR;
    let far = |p: &&Point| p.mu <= WhatIf::mode() - BELOW || p.mu >= WhatIf::mode() + ABOVE;
    let worst = |points: &[&Point], f: &dyn Fn(&Point) -> f64| points.iter().map(|p| f(p)).fold(0.0, f64::max);
    let (near, far): (Vec<&Point>, Vec<&Point>) =
        (points.iter().filter(near).collect(), points.iter().filter(far).collect());
    let missed = |p: &Point| (p.snips.0 - WhatIf::truth(p.mu)).abs();
    let off = |p: &Point| (p.mean_weight - 1.0).abs();
    let share = |points: &[&Point]| (points.iter().map(|p| p.share).fold(1.0, f64::min), worst(points, &|p| p.share));
    let missed_bound = |p: &&&Point| missed(p) > Z * p.snips.1;
    let silent = far.iter().filter(missed_bound).count();
    vec![
            Claim {
                says: "Far from the mode of the log n_eff / n falls towards 0, the mean weight leaves 1 and the estimate fails; near it all is well."
                    .into(),
                holds: Some(share(&near).0 > 5.0 * share(&far).1 && worst(&far, &off) > 3.0 * worst(&near, &off)),
                measured: format!(
                    "within {NEAR} of the mode: n_eff / n at least {:.3}, mean weight within {:.3} of 1, error of SNIPS at most {:.3}; {BELOW} below it or {ABOVE} above: n_eff / n at most {:.4}, mean weight off by up to {:.2}, error up to {:.2}",
                    share(&near).0, worst(&near, &off), worst(&near, &missed), share(&far).1, worst(&far, &off), worst(&far, &missed)
                ),
            },
            Claim {
                says: "The confidence interval widens where importance sampling fails.".into(),
                holds: Some(worst(&far, &|p| p.snips.1) > 3.0 * worst(&near, &|p| p.snips.1)),
                measured: format!(
                    "largest standard error {:.4} near, {:.4} far; yet {silent} of {} far intervals leave out the truth",
                    worst(&near, &|p| p.snips.1), worst(&far, &|p| p.snips.1), far.len()
                ),
            },
        ]
}

fn pictures(points: &[Point]) -> Vec<Picture> {
    let dots = |f: &dyn Fn(&Point) -> f64| -> Vec<[f64; 2]> { points.iter().map(|p| [p.mu, f(p)]).collect() };
    let axis = || Axis::linear("mean of the policy");
    let mode = |low: f64, high: f64| {
        series("mode of the log", Mark::Guide, vec![[WhatIf::mode(), low], [WhatIf::mode(), high]])
    };
    let line = |name: &str, f: &dyn Fn(&Point) -> f64| series(name, Mark::Line, dots(f));
    let banded = |name: &str, f: fn(&Point) -> (f64, f64)| Series {
        spread: points.iter().map(|p| Z * f(p).1).collect(),
        ..line(name, &|p| f(p).0)
    };
    let top = points.iter().map(|p| p.mean_weight).fold(1.0, f64::max);
    vec![
        picture(
            "effective",
            "Effective sample size",
            axis(),
            Axis::linear("n_eff / n"),
            vec![mode(0.0, points.iter().map(|p| p.share).fold(0.0, f64::max)), line("n_eff / n", &|p| p.share)],
        ),
        picture(
            "estimates",
            "Estimates with 95% intervals, and the truth",
            axis(),
            Axis::linear("mean of the largest"),
            vec![
                banded("IPS", |p| p.ips),
                banded("SNIPS", |p| p.snips),
                Series { mark: Mark::Guide, ..line("truth", &|p| WhatIf::truth(p.mu)) },
            ],
        ),
        picture(
            "weights",
            "Mean weight",
            axis(),
            Axis::linear("mean weight"),
            vec![mode(0.0, top), line("mean weight", &|p| p.mean_weight)],
        ),
    ]
}
