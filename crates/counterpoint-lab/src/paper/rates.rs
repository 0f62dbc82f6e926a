//! How fast the excess risk falls with the number of rows, beside the n^(-1/2) of Proposition 5.1.

use super::draw::{picture, series};
use super::statistics::{line, mean, std_error};
use super::{Ask, Axis, Claim, Exhibit, Mark, Picture, Series, Table, Value};
use crate::{Potential, Simulated, online_value};
use counterpoint::recipe::{EstimatorChoice, StdChoice};
use counterpoint::{Engine, Log, Policy, Recipe, Result, learn};
use rayon::prelude::*;
use std::ops::Range;

/// Rows whose contexts value the policies.
const TEST: usize = 10_000;
/// The fixed std of the class, as in the proposition.
const STD: f64 = 0.3;

/// Proposition 5.1: excess risk of learned policies against the number of rows, on log-log axes.
pub fn rates(ask: &Ask) -> Result<Exhibit> {
    let sizes: &[usize] = ask.by_effort(&[300, 1_000, 3_000], &[300, 1_000, 3_000, 10_000, 30_000, 100_000]);
    let (seeds, huge) = ask.by_effort((4, 30_000), (10, 400_000));
    let most = sizes[sizes.len() - 1];
    let (mut pictures, mut table, mut claims) = (Vec::new(), Vec::new(), Vec::new());
    for kind in Potential::ALL {
        let plan = Plan { kind, seeds, most, huge };
        let points = plan.points(ask, sizes)?;
        for p in &points {
            let v = Value { ours: p.mean, error: Some(p.error), ..Value::default() };
            table.push(vec![kind.name().into(), p.n.into(), v.into()]);
        }
        let (picture, claim) = shown(kind, &points, sizes);
        pictures.push(picture);
        claims.push(claim);
    }
    Ok(Exhibit {
        about: format!(
            "CLP with std {STD}, learned by soft-clipped IPS from {seeds} logs a size. Excess: the true reward of the same class learned from {huge} other rows (four starts, taken for the best of the class) less that of the policy, on {TEST} common contexts with common random numbers."
        ),
        tables: vec![Table {
            caption: "Mean excess risk with its standard error over the logs".into(),
            head: ["set", "rows", "excess risk"].map(String::from).to_vec(),
            rows: table,
        }],
        pictures,
        claims,
        notes: vec![
            "The proposition is an upper bound: a smooth parametric problem may fall as fast as 1/n, and a start that ends in a poor local minimum keeps the mean from falling at all.".into(),
            "Logs are drawn anew, whatever data is given: the files have one size. A size whose mean excess is not positive is left out of the line.".into(),
        ],
    })
}

fn shown(kind: Potential, points: &[Excess], sizes: &[usize]) -> (Picture, Claim) {
    let fitted: Vec<&Excess> = points.iter().filter(|p| p.mean > 0.0).collect();
    let (a, slope, error) = slope(&fitted);
    let guide = |name: &str, slope: f64, at: f64| {
        let ends = [sizes[0], sizes[sizes.len() - 1]].map(|n| [n as f64, (at + slope * (n as f64).ln()).exp()]);
        series(name, Mark::Guide, ends.to_vec())
    };
    let first = fitted.first().map_or(0.0, |p| p.mean.ln() + 0.5 * p.n.ln());
    let mut drawn = vec![guide("n^(-1/2)", -0.5, first), guide("fitted", slope, a)];
    drawn.retain(|s| s.points.iter().flatten().all(|v| v.is_finite()));
    drawn.push(Series {
        // a bar must not reach below 0 on a logarithmic axis
        spread: fitted.iter().map(|p| p.error.min(0.9 * p.mean)).collect(),
        ..series("learned", Mark::Dots, fitted.iter().map(|p| [p.n, p.mean]).collect())
    });
    let title = format!("Excess risk on {kind}: slope {slope:.2} (standard error {error:.2})");
    let bound = bound_slope(sizes);
    let claim = Claim {
        says: format!("The excess risk falls at least as fast as the bound, sqrt(ln n / n), on {kind}."),
        holds: (slope + 2.0 * error < bound || slope - 2.0 * error > bound).then_some(slope < bound),
        measured: format!(
            "slope {slope:.2} with standard error {error:.2} over {} sizes; the bound's is {bound:.2}",
            fitted.len()
        ),
    };
    (picture(kind.name(), &title, Axis::log("rows"), Axis::log("excess risk"), drawn), claim)
}

/// Mean excess at one size.
struct Excess {
    n: f64,
    mean: f64,
    error: f64,
}

/// Intercept, slope and standard error of ln excess against ln n: the larger of the error that the residuals show and the one
/// that follows from the errors of the means.
fn slope(points: &[&Excess]) -> (f64, f64, f64) {
    let x: Vec<f64> = points.iter().map(|p| p.n.ln()).collect();
    let y: Vec<f64> = points.iter().map(|p| p.mean.ln()).collect();
    let (a, slope, left) = line(&x, &y);
    let middle = mean(&x);
    let xx: f64 = x.iter().map(|x| (x - middle).powi(2)).sum();
    let through: f64 = points.iter().zip(&x).map(|(p, x)| ((x - middle) / xx * p.error / p.mean).powi(2)).sum();
    (a, slope, left.max(through.sqrt()))
}

/// The slope of sqrt(ln n / n), which is what the proposition says with the complexity O(m ln n) of the class.
fn bound_slope(sizes: &[usize]) -> f64 {
    let x: Vec<f64> = sizes.iter().map(|n| (*n as f64).ln()).collect();
    let y: Vec<f64> = x.iter().map(|x| 0.5 * (x.ln() - x)).collect();
    line(&x, &y).1
}

/// Where rows lie in one long log: test contexts, rows of the reference, then the rows of each seed. One log, so that all
/// contexts have one scale.
struct Plan {
    kind: Potential,
    seeds: usize,
    most: usize,
    huge: usize,
}

impl Plan {
    fn points(&self, ask: &Ask, sizes: &[usize]) -> Result<Vec<Excess>> {
        let drawn = self.kind.simulate(TEST + self.huge + self.seeds * self.most, 11);
        let recipe = Recipe {
            std: StdChoice::Fixed(STD),
            estimator: EstimatorChoice::SoftClipped { cap: 100.0 },
            starts: 2,
            ..Recipe::clp()
        }
        .with_anchors(8)
        .with_proximal_steps(3);
        let reference = Recipe { starts: 4, ..recipe.clone() };
        let value = |rows: Range<usize>, engine: &Engine, recipe: &Recipe| -> Result<f64> {
            let learned = learn(&rows_of(&drawn, rows)?.on(engine), recipe)?;
            Ok(online(&drawn, &learned.policy.into_parametric()?))
        };
        let best = ask.once(&format!("rates {} reference, {self}", self.kind), || {
            value(TEST..TEST + self.huge, &ask.engine, &reference)
        })?;
        sizes
            .iter()
            .map(|&n| {
                let earned: Vec<f64> = (0..self.seeds)
                    .into_par_iter()
                    .map(|seed| {
                        let from = TEST + self.huge + seed * self.most;
                        let recipe = Recipe { seed: seed as u64, ..recipe.clone() };
                        let key = format!("rates {} {n} rows, seed {seed}, {self}", self.kind);
                        ask.once(&key, || value(from..from + n, &Engine::single(), &recipe))
                    })
                    .collect::<Result<_>>()?;
                let excess: Vec<f64> = earned.iter().map(|v| best - v).collect();
                Ok(Excess { n: n as f64, mean: mean(&excess), error: std_error(&excess) })
            })
            .collect()
    }
}

impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} seeds of at most {} rows after {}", self.seeds, self.most, self.huge)
    }
}

fn rows_of(drawn: &Simulated, rows: Range<usize>) -> Result<Log> {
    Log::builder()
        .context("x0", drawn.x[0][rows.clone()].to_vec())
        .context("x1", drawn.x[1][rows.clone()].to_vec())
        .action("action", drawn.action[rows.clone()].to_vec())
        .reward("reward", drawn.reward[rows.clone()].to_vec())
        .propensity("propensity", drawn.propensity[rows].to_vec())
        .build()
}

fn online(drawn: &Simulated, policy: &Policy) -> f64 {
    online_value(policy, [&drawn.x[0][..TEST], &drawn.x[1][..TEST]], &drawn.potential[..TEST], 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 / n exactly, with errors of a tenth: slope -1; the error is 0.1 sqrt(sum c^2), c = (x - mean) / xx at x = 0, 1, 2.
    #[test]
    fn slope_by_hand() {
        let points: Vec<Excess> =
            (0..3).map(|k| Excess { n: f64::from(k).exp(), mean: (4.0 - f64::from(k)).exp(), error: 0.0 }).collect();
        let points: Vec<Excess> = points.into_iter().map(|p| Excess { error: 0.1 * p.mean, ..p }).collect();
        let (a, slope, error) = slope(&points.iter().collect::<Vec<_>>());
        assert!((a - 4.0).abs() < 1e-9 && (slope + 1.0).abs() < 1e-9, "{a} {slope}");
        assert!((error - 0.1 * 0.5f64.sqrt()).abs() < 1e-9, "{error}");
    }

    #[test]
    fn the_bound_is_a_little_slower_than_the_root() {
        let b = bound_slope(&[300, 1_000, 3_000, 10_000, 30_000, 100_000]);
        assert!((-0.45..-0.43).contains(&b), "{b}");
    }
}
