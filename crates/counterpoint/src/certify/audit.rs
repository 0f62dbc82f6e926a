//! Are the logged densities those of the logged actions?
//!
//! For every density q that the log supports, E[q(a|x) / p(a|x) | x] = 1: that is what a density p means. It holds for the policy's weights, and
//! it holds for any other q. So the fitted law of the log, half as wide and moved about, is weighed like a policy. Mass that the log does not
//! support makes such a mean less than 1, chance makes it a little more. Much more than 1, in all contexts or in some, is made only by densities that
//! are not those of the actions beside them: of another policy, of another day, of another row, on another scale. Contexts do not tell one day from another, but
//! the order of the rows does, since logs are written as time goes by: halves and quarters of it are looked at as well. There rows may belong together though nobody said
//! so (the visits of one user, a price that stays for an hour), so what excess there is must stand out among eighths of such a stretch too.
//!
//! Densities that are kept above a floor are too large where actions are rare, which makes weights there too small: no mean is above 1. But they leave a
//! trace, many rows with the very same smallest density f. If it is theirs, f times the length of the stretches that their actions cover is their share of
//! the rows, as for a log that explores evenly; where the floor was put under a smaller density there are fewer rows than that.

use super::coverage::{FEWEST, Region, Rows, cell_means, spread};
use super::interval::Interval;
use super::law::Law;
use super::terms::Terms;
use crate::data::Weighting;
use crate::folds::{Growth, Ranked, Tree};
use crate::math;

/// Where the probes stand, in stds of the fitted law.
const PLACES: [f64; 3] = [-0.7, 0.0, 0.7];

/// Standard errors above 1 of a mean weight that is not chance: 3e-5 for one of the cells, of which there are at most 45.
const ERRORS: f64 = 4.0;

/// Less than this above 1 does little harm.
const EXCESS: f64 = 0.15;

/// Parts of the log in its own order that are looked at: halves and quarters ..
const STRETCHES: [usize; 2] = [2, 4];

/// .. by what so many pieces of each say, and by how many errors of these pieces they must be off: .0008 for one stretch whose rows belong together.
const PIECES: usize = 8;
const PIECE_ERRORS: f64 = 5.0;

/// Rows with the smallest density of all, as a share of the rows, from which on it may be a floor; and how near to it, in ln, they are.
const FLOORED: f64 = 0.01;
const FLOOR: f64 = 1e-9;

/// Share of the rows that a floor must lack: laws are fitted, and lengths with them.
const MISSING: f64 = 0.35;

/// An action that so many rows share, and so many times as many as share the median one, has a probability of its own (a bound, a default): its
/// propensity is no density. Without such rows a mean weight can only be smaller.
const SHARED: [usize; 2] = [5, 10];

/// The worst cell of contexts in which logged densities are too small for the logged actions; nothing where they may be right.
pub(super) fn audit(
    law: &Law,
    [v, t]: [&Rows; 2],
    ranked: &Ranked,
    names: &[String],
    weighting: Weighting,
    terms: &Terms,
) -> Option<Region> {
    if (0..t.q).any(|c| t.grid(c).is_some()) {
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
        let cut = Tree::grow_on(ranked, &capped, Growth { cells: 8, rows: (v.len() / 20).max(30) });
        let whole = Tree::grow(&[], 0, &[1.0], Growth { cells: 1, rows: 1 });
        for tree in [&whole, &cut] {
            found.extend(
                cell_means(tree, t, (&asked, spread(&asked)), names, weighting, terms).into_iter().filter_map(
                    |(_, rows, r)| {
                        let excess = r.mean_weight.estimate - 1.0;
                        let beyond = excess > EXCESS && excess > ERRORS * r.mean_weight.std_error;
                        (beyond && rows >= FEWEST as f64).then_some(r)
                    },
                ),
            );
        }
        for count in STRETCHES {
            found.extend((0..count).filter_map(|k| stretch(t, &asked, (k, count), weighting, terms)));
        }
    }
    let strength = |r: &Region| (r.mean_weight.estimate - 1.0) / r.mean_weight.std_error;
    found.into_iter().reduce(|best, r| if strength(&r) > strength(&best) { r } else { best })
}

/// The k-th of `count` parts of the log in its order, if the mean of these ratios there is more above 1 than chance makes it.
fn stretch(
    t: &Rows,
    ratios: &[f64],
    (k, count): (usize, usize),
    weighting: Weighting,
    terms: &Terms,
) -> Option<Region> {
    let end = |k: usize| k * t.len() / count;
    let rows = end(k)..end(k + 1);
    let size = rows.len().div_ceil(PIECES);
    if rows.len() < FEWEST {
        return None;
    }
    let omega = &t.sample.omega;
    let total = |f: &dyn Fn(usize) -> f64, rows: std::ops::Range<usize>| rows.map(f).sum::<f64>();
    let s = total(&|i| omega[i], rows.clone());
    let mean = total(&|i| omega[i] * ratios[i], rows.clone()) / s;
    let own = total(&|i| weighting.squared(omega[i]) * math::powi(ratios[i] - mean, 2), rows.clone()).sqrt() / s;
    let starts = rows.clone().step_by(size);
    let pieces = starts.map(|from| total(&|i| omega[i] * (ratios[i] - mean), from..(from + size).min(rows.end)));
    let squares: f64 = pieces.map(|p| p * p).sum();
    let between = (squares * PIECES as f64 / (PIECES - 1) as f64).sqrt() / s;
    let excess = mean - 1.0;
    let beyond = excess > EXCESS && excess > ERRORS * own && excess > PIECE_ERRORS * between;
    let percent = |k: usize| 100 * k / count;
    beyond.then(|| Region {
        contexts: format!("rows from {}% to {}% of the log, in its own order", percent(k), percent(k + 1)),
        share: 1.0 / count as f64,
        mean_weight: Interval::normal((mean, own.max(between)), terms),
        unsupported: false,
    })
}

/// Densities that were kept above a floor, as a region; one action only.
pub(super) fn floor(law: &Law, parts: [&Rows; 2], terms: &Terms) -> Option<Region> {
    if parts[1].q != 1 || parts[1].grid(0).is_some() {
        return None;
    }
    let rows: Vec<(&Rows, usize)> = parts.iter().flat_map(|p| (0..p.len()).map(move |i| (*p, i))).collect();
    let least = rows.iter().map(|(p, i)| p.sample.log_p[*i]).fold(f64::INFINITY, f64::min);
    let at_floor = |p: &Rows, i: usize| p.sample.log_p[i] <= least + FLOOR;
    let n = rows.len() as f64;
    let share = rows.iter().filter(|(p, i)| at_floor(p, *i)).count() as f64 / n;
    if !(FLOORED..0.5).contains(&share) {
        return None;
    }
    // where all densities are rounded the smallest is shared for that reason
    let mut others: Vec<f64> = rows.iter().map(|(p, i)| p.sample.log_p[*i]).filter(|l| *l > least + FLOOR).collect();
    let above = others.len();
    others.sort_by(f64::total_cmp);
    others.dedup();
    if 2 * others.len() < above {
        return None;
    }
    // stretches below and above all other rows, in stds of the law, and how long they are on the scale of the actions. Who explores an even range of actions does so
    // whatever the rule says, and who explores around the rule does so whatever the action: a stretch ends where either does
    let of = |floored: bool, value: &dyn Fn(&Rows, usize) -> f64| {
        let of = rows.iter().filter(|(p, i)| at_floor(p, *i) == floored);
        let mut of: Vec<f64> = of.map(|(p, i)| value(p, *i)).collect();
        of.sort_by(f64::total_cmp);
        of
    };
    let (inner, outer) = (of(false, &|p, i| law.place(p, i)), of(true, &|p, i| law.place(p, i)));
    let actions = of(true, &|p, i| p.a(i, 0));
    // one row in a hundred at either end may lie beyond, since laws are fitted
    let within = |sorted: &[f64]| [sorted[sorted.len() / 100], sorted[sorted.len() - 1 - sorted.len() / 100]];
    let (ends, [low, high], range) = (within(&inner), within(&outer), within(&actions));
    let lengths = |(p, i): &(&Rows, usize)| {
        let length = |stretch: [f64; 2]| law.length(p.x(*i), stretch, range);
        length([low, ends[0]]) + length([ends[1], high])
    };
    let expected = math::exp(least) * rows.iter().map(lengths).sum::<f64>() / n;
    let beyond = |z: &[f64]| z.iter().filter(|z| **z < ends[0] || **z > ends[1]).count() as f64;
    // an even law of some contexts has the smallest density in their midst
    if beyond(&outer) < 0.7 * outer.len() as f64 {
        return None;
    }
    // rows that lie there whatever their density
    let there = (beyond(&outer) + beyond(&inner)) / n;
    let error = (expected.min(1.0) / n).sqrt();
    let fewer = expected - there > ERRORS * error && there < (1.0 - MISSING) * expected;
    fewer.then(|| Region {
        contexts: format!("{:.0}% of the rows, all with the smallest density {:.3}", 100.0 * share, math::exp(least)),
        share,
        mean_weight: Interval::normal((there / expected, error / expected), terms),
        unsupported: false,
    })
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
