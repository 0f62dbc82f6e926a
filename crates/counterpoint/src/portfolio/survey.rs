//! What the log did: the axis of its actions, and its own mean and spread given the context.

use super::table::{Copied, Table};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::features::anchors::quantile_sorted;
use crate::math;
use crate::models::{ContextShape, Regressor, Rows, Shape, TreeOptions, Trees, cross_validate};
use crate::policy::{Axis, AxisScale, LoggingLaw, PointMeasure};

/// A log of so many rows per different action, and no more than so many actions, acts on a grid.
const ROWS_PER_POINT: usize = 10;
const MOST_POINTS: usize = 300;

/// Knots of a continuous axis.
const KNOTS: usize = 33;

/// A regression of the log's mean or spread must explain at least this share of what varies to be used.
const EXPLAINS: f64 = 0.02;

/// Rows from which trees learn what the log did: more than enough for a smooth law.
const ENOUGH: usize = 8000;

/// How they grow: in longer steps than models of the cost, which everything rests on.
const QUICK_TREES: TreeOptions =
    TreeOptions { rounds: 300, rate: 0.15, leaves: 16, min_rows: 20.0, l2: 1.0, held: 0.2, patience: 15, bins: 127 };

/// Rows that lie beyond either end of the window in which a rule may act, as far as that share is between the other two: where the log
/// acted less often no model knows what happens, and no certificate is given.
const ROWS_BEYOND: f64 = 30.0;
const LEAST_BEYOND: f64 = 0.005;
const MOST_BEYOND: f64 = 0.02;

/// Levels of the spread.
const LEVELS: usize = 8;

/// What users may say of the axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Wishes {
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
    pub(super) grid: Option<GridWish>,
    pub(super) scale: Option<AxisScale>,
    /// Actions at which predictions of others are known: knots too, so that expectations of their curves are exact.
    pub(super) asked: Vec<f64>,
}

/// The grid that users ask for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum GridWish {
    /// None, though actions are tied.
    Off,
    /// Multiples of a step.
    Step(f64),
}

/// The axis of the logged actions.
pub(super) fn axis(table: &mut Table, wishes: &Wishes) -> Result<Axis> {
    let a = &table.a; // ascending
    let (least, most) = (a[0], a[a.len() - 1]);
    if most - least <= 1e-12 * least.abs().max(most.abs()) {
        return Err(Error::data(format!("all logged actions are {least}, so nothing can be learned about others"))
            .hint("a log needs randomised actions"));
    }
    let bounds = [wishes.min.unwrap_or(least), wishes.max.unwrap_or(most)];
    if bounds[0] >= bounds[1] || bounds[1] <= least || bounds[0] >= most {
        return Err(Error::recipe(
            "min_action",
            format!("the bounds {} to {} hold no range of the logged actions {least} to {most}", bounds[0], bounds[1]),
        ));
    }
    let mut different = a.clone();
    different.dedup();
    let points = points(&different, a.len(), bounds, wishes)?;
    // cells of a grid are as wide as their points say, so positions are actions there
    let scale = if points.is_some() { AxisScale::Linear } else { wishes.scale.unwrap_or_else(|| AxisScale::of(a)) };
    if scale == AxisScale::Log && bounds[0] <= 0.0 {
        return Err(Error::recipe("min_action", "must be > 0 where noise is log-normal"));
    }
    table.u = a.iter().map(|a| scale.position(*a)).collect();
    let knots = match &points {
        Some(points) => points.iter().map(|p| scale.position(*p)).collect(),
        None => with_asked(knots(&table.u, bounds.map(|b| scale.position(b))), &wishes.asked, scale),
    };
    let measure = points.as_ref().map_or(PointMeasure::Probability, |p| measure(p, &table.log_p));
    let bounds = points.as_ref().map_or(bounds, |p| [p[0], p[p.len() - 1]]);
    let axis = Axis { scale, bounds, points, measure, knots };
    axis.check()?;
    Ok(axis)
}

/// The points of the grid, if actions lie on one.
fn points(different: &[f64], rows: usize, [lo, hi]: [f64; 2], wishes: &Wishes) -> Result<Option<Vec<f64>>> {
    let tied = different.len() <= MOST_POINTS && different.len() * ROWS_PER_POINT <= rows;
    let points: Vec<f64> = match &wishes.grid {
        Some(GridWish::Off) => return Ok(None),
        Some(GridWish::Step(step)) => {
            let (from, to) = ((lo / step - 1e-9).ceil() as i64, (hi / step + 1e-9).floor() as i64);
            if to - from > 10_000 {
                return Err(Error::recipe("grid", format!("steps of {step} from {lo} to {hi} are too many")));
            }
            (from..=to).map(|k| k as f64 * step).collect()
        }
        None if tied => different.to_vec(),
        None => return Ok(None),
    };
    let points: Vec<f64> = points.into_iter().filter(|p| (lo..=hi).contains(p)).collect();
    match points.len() {
        0 | 1 => {
            Err(Error::recipe("grid", format!("{} points lie between {lo} and {hi}; two are needed", points.len())))
        }
        _ => Ok(Some(points)),
    }
}

/// Whether propensities on a grid are probabilities or densities: the mean of 1/p is the number of points that the log plays, or
/// the width of their cells.
fn measure(points: &[f64], log_p: &[f64]) -> PointMeasure {
    let mean = log_p.iter().map(|l| math::exp(-l)).sum::<f64>() / log_p.len() as f64;
    let width: f64 = (0..points.len()).map(|k| Axis::width(points, k)).sum();
    let far = |from: f64| math::ln(mean / from).abs();
    let largest = log_p.iter().fold(f64::NEG_INFINITY, |m, l| m.max(*l));
    if largest > 1e-9 || far(width) < far(points.len() as f64) {
        PointMeasure::Density
    } else {
        PointMeasure::Probability
    }
}

/// Half quantiles, half evenly spaced: fine where the log acted often, nowhere too coarse.
fn knots(sorted: &[f64], [lo, hi]: [f64; 2]) -> Vec<f64> {
    let inside: Vec<f64> = sorted.iter().copied().filter(|u| (lo..=hi).contains(u)).collect();
    let (from, to) = (quantile_sorted(&inside, 0.003), quantile_sorted(&inside, 0.997));
    let at = |k: usize| {
        let t = k as f64 / (KNOTS - 1) as f64;
        let level = 0.003 + 0.994 * t;
        0.5 * (quantile_sorted(&inside, level) + from + (to - from) * t)
    };
    let mut knots: Vec<f64> = (0..KNOTS).map(at).collect();
    knots.dedup_by(|b, a| *b - *a <= 1e-9 * (to - from));
    knots
}

/// Knots with these actions among them; what stood close to one of them makes room.
fn with_asked(knots: Vec<f64>, asked: &[f64], scale: AxisScale) -> Vec<f64> {
    let (Some(from), Some(to)) = (knots.first().copied(), knots.last().copied()) else { return knots };
    let room = (to - from) / (4 * KNOTS) as f64;
    // on the logarithmic scale there is no place at or below 0
    let places = asked.iter().map(|a| scale.position(*a)).filter(|u| u.is_finite());
    let inside: Vec<f64> = places.filter(|u| *u > from + room && *u < to - room).collect();
    let free = |g: &f64| inside.iter().all(|u| (u - g).abs() > room);
    let mut out: Vec<f64> = knots.into_iter().filter(free).chain(inside.iter().copied()).collect();
    out.sort_by(f64::total_cmp);
    out
}

/// The log's mean and spread given the context, and the window that most of its actions lie in, in units of the spread.
pub(super) fn logging(table: &Table, seed: u64, engine: &Engine) -> Result<(LoggingLaw, [f64; 2], bool)> {
    let n = table.n();
    let (mean, at) = regress(table, &table.u, seed, engine)?;
    let residual: Vec<f64> = (0..n).map(|i| table.u[i] - at[i]).collect();
    let rms = weighted_rms(table, &residual);
    let sizes: Vec<f64> = residual.iter().map(|r| r.abs()).collect();
    let (size, sized) = regress(table, &sizes, seed ^ 1, engine)?;
    let varies = !matches!(size, Regressor::Constant(_));
    let mut law = LoggingLaw { mean, size, cuts: Vec::new(), levels: vec![rms] };
    if varies {
        (law.cuts, law.levels) = levels(table, &residual, &sized);
    }
    let level = |i: usize| law.cuts.partition_point(|c| *c <= sized[i]);
    let mut z: Vec<f64> = (0..n).map(|i| residual[i] / law.levels[level(i)]).collect();
    z.sort_by(f64::total_cmp);
    let beyond = (ROWS_BEYOND / n as f64).clamp(LEAST_BEYOND, MOST_BEYOND);
    let window = [quantile_sorted(&z, beyond), quantile_sorted(&z, 1.0 - beyond)];
    Ok((law, window, varies))
}

/// Levels of the spread: contexts in order of their predicted size, in equal parts, each with the size of its residuals.
fn levels(table: &Table, residual: &[f64], sized: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut sorted = sized.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = LEVELS.min(table.n() / 100).max(1);
    let mut cuts: Vec<f64> = (1..count).map(|k| quantile_sorted(&sorted, k as f64 / count as f64)).collect();
    cuts.dedup();
    let (mut sums, mut rows) = (vec![0.0; cuts.len() + 1], vec![0.0; cuts.len() + 1]);
    for i in 0..table.n() {
        let k = cuts.partition_point(|c| *c <= sized[i]);
        sums[k] += table.omega[i] * residual[i] * residual[i];
        rows[k] += table.omega[i];
    }
    let mut levels: Vec<f64> = sums.iter().zip(&rows).map(|(s, r)| (s / r.max(1e-9)).sqrt()).collect();
    let floor = 0.02 * weighted_rms(table, residual);
    let mut last = floor.max(f64::MIN_POSITIVE);
    for l in &mut levels {
        last = last.max(*l); // sampling noise must not make the levels fall
        *l = last;
    }
    (cuts, levels)
}

fn weighted_rms(table: &Table, v: &[f64]) -> f64 {
    (v.iter().zip(&table.omega).map(|(v, w)| w * v * v).sum::<f64>() / table.n() as f64).sqrt()
}

/// The best of a constant, ridge regressions and trees by cross-validation, and its held-out predictions.
fn regress(table: &Table, y: &[f64], seed: u64, engine: &Engine) -> Result<(Regressor, Vec<f64>)> {
    let n = table.n();
    let mean = y.iter().zip(&table.omega).map(|(y, w)| y * w).sum::<f64>() / n as f64;
    let constant = (Regressor::Constant(mean), vec![mean; n]);
    if table.d == 0 {
        return Ok(constant);
    }
    let zeros = vec![0.0; n];
    let rows = table.regression(&zeros, y);
    let plain = |contexts| Shape { contexts, degree: 0, knots: 0 };
    let mut shapes = vec![plain(ContextShape::Linear)];
    shapes.extend((table.d <= 60).then_some(plain(ContextShape::Splines(3))));
    shapes.extend((table.d <= 15).then_some(plain(ContextShape::Quadratic)));
    let tried = cross_validate(&rows, &table.fold, &shapes, seed, engine)?;
    let Some(best) = tried.into_iter().min_by(|a, b| a.error.total_cmp(&b.error)) else { return Ok(constant) };
    let grow = |rows: &Rows, trees: Option<usize>, engine: &Engine| {
        let options = match trees {
            Some(rounds) if rounds > 0 => TreeOptions { rounds, held: 0.0, ..QUICK_TREES },
            _ => QUICK_TREES,
        };
        Trees::fit(&Copied::thinned(rows, ENOUGH).rows(), &options, seed, engine)
    };
    let without = |k: usize| Copied::without(&rows, &table.fold, k);
    // the first fold finds the number of trees, which the others take over
    let mut forests = vec![grow(&without(0).rows(), None, engine)?];
    let trees = Some(forests[0].rounds());
    let jobs: Vec<usize> = (1..table.folds).collect();
    let others = engine.map(&jobs, |k| grow(&without(*k).rows(), trees, &Engine::single()));
    forests.extend(others.into_iter().collect::<Result<Vec<Trees>>>()?);
    let by_trees: Vec<f64> = (0..n).map(|i| forests[table.fold[i]].at(table.context(i), 0.0)).collect();
    let square = |p: &[f64]| (0..n).map(|i| table.omega[i] * (y[i] - p[i]) * (y[i] - p[i])).sum::<f64>();
    let spread = square(&constant.1);
    let tree_error = square(&by_trees) / spread;
    if best.error.min(tree_error) > 1.0 - EXPLAINS {
        return Ok(constant);
    }
    if tree_error < best.error - EXPLAINS {
        return Ok((Regressor::Trees(grow(&rows, trees, engine)?), by_trees));
    }
    let at = (0..n).map(|i| best.folds[table.fold[i]].at(table.context(i), 0.0)).collect();
    Ok((Regressor::Ridge(best.all), at))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every action asked about inside the range is a knot, the ends stay, and no two knots stand close together.
    #[test]
    fn actions_of_predictions_are_knots() {
        let plain: Vec<f64> = (0..33).map(|k| f64::from(k) / 8.0).collect(); // 0 to 4
        let asked = [-1.0, 0.0, 0.51, 1.0, 2.02, 9.0];
        let knots = with_asked(plain.clone(), &asked, AxisScale::Linear);
        for a in [0.0, 0.51, 1.0, 2.02, 4.0] {
            assert!(knots.contains(&a), "{a}");
        }
        assert!(!knots.contains(&0.5) && !knots.contains(&9.0));
        assert!(knots.windows(2).all(|k| k[1] - k[0] > 4.0 / (4.0 * KNOTS as f64)));
        assert_eq!(with_asked(plain.clone(), &[], AxisScale::Linear), plain);
        assert_eq!(with_asked(plain.clone(), &[-2.0, 0.0], AxisScale::Log), plain);
    }
}
