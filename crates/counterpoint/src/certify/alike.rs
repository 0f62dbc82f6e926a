//! Rows that are copies of each other, but for a little noise.
//!
//! Copies with every number the same are found by their hashes. Where numbers were rounded, moved or encrypted on the way, no two are the same, and yet
//! five rows are one. On a continuum of any dimension D the nearest row lies within a share e of the distance of the tenth for a share of the rows that
//! grows as e^D: thrice as near, at most a third of the rows. Rows that were copied have a neighbour that is nearer than that, whatever e:
//!
//! ```text
//! s(e) = share of rows whose nearest row lies within e times the distance of the tenth
//! copies:  s(e) >= 5%  and  s(3 e) <= 4/3 s(e)  at some e <= .05         without:  s(3 e) >= 3 s(e)
//! ```
//!
//! Rows are compared by contexts, actions and outcome, each in units of its spread. Columns in which values repeat are no continuum: codes, scores, prices.
//! Their steps would look like noise (of a real log of loans 14% of the rows passed for copies), so that rows count as neighbours only where these agree.

use crate::data::{Sample, Sampled, Summaries};
use crate::error::{Error, Hint, Remedy, Result};
use crate::math;
use crate::source::Source;

/// Rows that are asked for their neighbours, and rows that are looked at as such, at most.
const ASKED: usize = 400;
const LOOKED_AT: usize = 2048;

/// The neighbour that says how far rows lie from each other there.
const TENTH: usize = 10;

/// Shares of its distance, each a third of the one before. Larger ones would find rows of one user, whose contexts are the same and whose actions and
/// outcomes are not.
const SHARES: [f64; 8] = [0.05, 0.017, 5.6e-3, 1.9e-3, 6.2e-4, 2.1e-4, 6.9e-5, 2.3e-5];

/// A share of rows that lie so near to another.
const MANY: f64 = 0.05;

/// How much larger the share of rows within thrice the distance is among copies, at most.
const SATURATED: f64 = 4.0 / 3.0;

/// A column is a continuum where at least this share of its values differ from all others.
const DIFFERENT: f64 = 0.9;

/// Refuses parts in which many rows are near copies of others.
pub(super) fn refuse_near_copies(valid: &dyn Source, test: &dyn Source) -> Result<()> {
    if test.schema().cluster.is_some() {
        return Ok(()); // whoever says which rows belong together has said it
    }
    let sampled = |part: &dyn Source| {
        let rows = part.get(Summaries)?.rows;
        part.get(Sample::of(rows, LOOKED_AT))
    };
    let (valid, test) = (sampled(valid)?, sampled(test)?);
    let Some(share) = near_copies(&test, &valid) else { return Ok(()) };
    Err(Error::data(format!(
        "{:.0}% of the rows of the test part have a row next to them that is the same but for a little noise: copies are not independent rows, and would \
         make a certificate too sure of itself",
        100.0 * share
    ))
    .hint(Hint::from("keep one row of each, or name the column that says which rows belong together: ") + Remedy::Cluster))
}

/// The share of rows with a copy among the others, where that is no chance.
fn near_copies(asked: &Sampled, others: &Sampled) -> Option<f64> {
    let (rows, known) = (points(asked), points(others));
    let width = rows.first()?.len();
    let std = |c: usize| {
        let n = rows.len() as f64;
        let mean = rows.iter().map(|r| r[c]).sum::<f64>() / n;
        (rows.iter().map(|r| math::powi(r[c] - mean, 2)).sum::<f64>() / n).sqrt()
    };
    let scale: Vec<f64> = (0..width).map(std).map(|s| if s > 0.0 { 1.0 / s } else { 0.0 }).collect();
    let fine: Vec<bool> = (0..width).map(|c| is_continuum(rows.iter().chain(&known).map(|r| r[c]).collect())).collect();
    if !fine.contains(&true) {
        return None;
    }
    let all: Vec<Vec<f64>> =
        rows.iter().chain(&known).map(|r| r.iter().zip(&scale).map(|(v, s)| v * s).collect()).collect();
    let step = rows.len().div_ceil(ASKED).max(1);
    let ratios: Vec<f64> = (0..rows.len()).step_by(step).filter_map(|i| ratio(&all, &fine, i)).collect();
    if ratios.len() < 2 * TENTH {
        return None;
    }
    let share = |e: f64| ratios.iter().filter(|r| **r <= e).count() as f64 / ratios.len() as f64;
    let copies = |e: &&f64| share(**e) >= MANY && share(3.0 * **e) <= SATURATED * share(**e);
    SHARES.iter().find(copies).map(|e| share(*e))
}

/// Whether values hardly repeat.
fn is_continuum(mut values: Vec<f64>) -> bool {
    let n = values.len();
    values.sort_unstable_by(f64::total_cmp);
    values.dedup();
    values.len() as f64 >= DIFFERENT * n as f64
}

/// The distance of row i to its nearest neighbour, in units of that to the tenth, among rows that agree in all columns that are no continuum; nothing where
/// these are too few, or lie at no distance at all.
fn ratio(all: &[Vec<f64>], fine: &[bool], i: usize) -> Option<f64> {
    let mut nearest = [f64::INFINITY; TENTH];
    for other in all.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, r)| r) {
        let last = nearest[TENTH - 1];
        let mut square = 0.0;
        for ((a, b), fine) in all[i].iter().zip(other).zip(fine) {
            square += if *fine || a == b { (a - b) * (a - b) } else { f64::INFINITY };
            if square >= last {
                break;
            }
        }
        if square < last {
            let at = nearest.partition_point(|n| *n <= square);
            nearest[at..].rotate_right(1);
            nearest[at] = square;
        }
    }
    let (first, last) = (nearest[0].sqrt(), nearest[TENTH - 1].sqrt());
    (first > 0.0 && last.is_finite()).then(|| first / last)
}

/// Contexts, actions and the outcome of every row.
fn points(s: &Sampled) -> Vec<Vec<f64>> {
    let n = s.y.len().max(1);
    let (d, q) = (s.x.len() / n, s.a.len() / n);
    let row = |i: usize| [&s.x[i * d..(i + 1) * d], &s.a[i * q..(i + 1) * q], &s.y[i..=i]].concat();
    (0..s.y.len()).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, stream};
    use rand::RngExt;

    /// Rows of two contexts, an action and an outcome, `times` times each, moved by so much.
    fn rows(n: usize, times: usize, by: f64, seed: u64, column: fn(usize, f64) -> f64) -> Sampled {
        let mut rng = stream(seed, Purpose::Act, 1);
        let mut u = || rng.random::<f64>();
        let mut s = Sampled::default();
        for _ in 0..n / times {
            let row: Vec<f64> = (0..4).map(|c| column(c, u())).collect();
            for _ in 0..times {
                let moved: Vec<f64> = row.iter().map(|v| v + by * (u() - 0.5)).collect();
                s.x.extend(&moved[..2]);
                s.a.push(moved[2]);
                s.y.push(moved[3]);
            }
        }
        s
    }

    #[test]
    fn copies_are_seen_at_every_scale_and_a_continuum_has_none() {
        for by in [1e-9, 1e-6, 1e-3, 5e-3] {
            for times in [2, 5] {
                let [asked, others] = [1, 2].map(|seed| rows(600, times, by, seed, |_, u| u));
                assert!(near_copies(&asked, &others).is_some_and(|share| share > 0.5), "{by} {times}");
            }
        }
        // a cube, a line, categories beside numbers, a heavy tail, a yes or no, codes beside a score and a price
        let columns: [fn(usize, f64) -> f64; 6] = [
            |_, u| u,
            |c, u| if c == 2 { u } else { 0.0 },
            |c, u| if c < 2 { (5.0 * u).floor() } else { u },
            |_, u| (1.0 - u).powi(-2),
            |c, u| if c == 3 { f64::from(u < 0.1) } else { u },
            |c, u| (u * [3.0, 400.0, 70.0, 1.1][c]).floor(),
        ];
        for (k, column) in columns.into_iter().enumerate() {
            for seed in 1..20 {
                let [asked, others] = [seed, 100 + seed].map(|s| rows(400, 1, 0.0, s, column));
                assert_eq!(near_copies(&asked, &others), None, "columns {k}, seed {seed}");
            }
        }
    }
}
