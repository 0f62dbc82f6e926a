//! Are the logged densities those of the logged actions?
//!
//! For every density q that the log supports, E[q(a|x) / p(a|x) | x] = 1: that is what a density p means. It holds for the policy's weights, and
//! it holds for any other q. So the fitted law of the log, half as wide and moved about, is weighed like a policy. Mass that the log does not
//! support makes such a mean less than 1, chance makes it a little more. Much more than 1, in all contexts or in some, is made only by densities that
//! are not those of the actions beside them: of another policy, of another day, of another row, on another scale.

use super::coverage::{FEWEST, Region, Rows, cell_means};
use super::law::Law;
use super::terms::Terms;
use crate::data::Weighting;
use crate::folds::{Growth, Tree};
use crate::math;

/// Where the probes stand, in stds of the fitted law.
const PLACES: [f64; 3] = [-0.7, 0.0, 0.7];

/// Standard errors above 1 of a mean weight that is not chance: 3e-5 for one of the cells, of which there are at most 27.
const ERRORS: f64 = 4.0;

/// Less than this above 1 does little harm.
const EXCESS: f64 = 0.15;

/// Actions of which so few differ lie on a grid, and their propensities may be probabilities.
const GRID: usize = 4;

/// An action that so many rows share, and so many times as many as share the median one, has a probability of its own (a bound, a default): its
/// propensity is no density. Without such rows a mean weight can only be smaller.
const SHARED: [usize; 2] = [5, 10];

/// The worst cell of contexts in which logged densities are too small for the logged actions; nothing where they may be right.
pub(super) fn audit(
    law: &Law,
    [v, t]: [&Rows; 2],
    names: &[String],
    weighting: Weighting,
    terms: &Terms,
) -> Option<Region> {
    if (0..t.q).any(|c| on_a_grid(t, c)) {
        return None;
    }
    let masses: Vec<Vec<f64>> = (0..t.q).map(|c| point_masses(v, t, c)).collect();
    let ratios = |rows: &Rows, place: f64| -> Vec<f64> {
        let of = |i: usize| {
            let at_a_point = masses.iter().enumerate().any(|(c, m)| m.contains(&rows.a(i, c)));
            if at_a_point { 0.0 } else { math::exp(law.probe(rows, i, place) - rows.sample.log_p[i]) }
        };
        (0..rows.len()).map(of).collect()
    };
    let mut found: Vec<Region> = Vec::new();
    for place in PLACES {
        let (known, asked) = (ratios(v, place), ratios(t, place));
        let capped: Vec<f64> = known.iter().map(|r| r.min(4.0)).collect();
        let cut = Tree::grow(&v.sample.x, v.d, &capped, Growth { cells: 8, rows: (v.len() / 20).max(30) });
        let whole = Tree::grow(&[], 0, &[1.0], Growth { cells: 1, rows: 1 });
        for tree in [&whole, &cut] {
            found.extend(cell_means(tree, t, &asked, names, weighting, terms).into_iter().filter_map(|(rows, r)| {
                let excess = r.mean_weight.estimate - 1.0;
                let beyond = excess > EXCESS && excess > ERRORS * r.mean_weight.std_error;
                (beyond && rows >= FEWEST as f64).then_some(r)
            }));
        }
    }
    let strength = |r: &Region| (r.mean_weight.estimate - 1.0) / r.mean_weight.std_error;
    found.into_iter().reduce(|best, r| if strength(&r) > strength(&best) { r } else { best })
}

/// The actions that have a probability of their own.
fn point_masses(v: &Rows, t: &Rows, c: usize) -> Vec<f64> {
    let mut a: Vec<f64> = [v, t].iter().flat_map(|rows| (0..rows.len()).map(move |i| rows.a(i, c))).collect();
    a.sort_by(f64::total_cmp);
    let runs: Vec<(f64, usize)> = a.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect();
    let mut counts: Vec<usize> = runs.iter().map(|r| r.1).collect();
    counts.sort_unstable();
    let most = SHARED[0].max(SHARED[1] * counts.get(counts.len() / 2).copied().unwrap_or(0));
    runs.into_iter().filter(|r| r.1 >= most).map(|r| r.0).collect()
}

fn on_a_grid(t: &Rows, c: usize) -> bool {
    let mut a: Vec<f64> = (0..t.len()).map(|i| t.a(i, c)).collect();
    a.sort_by(f64::total_cmp);
    a.dedup();
    a.len() * GRID < t.len()
}
