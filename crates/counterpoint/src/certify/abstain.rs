//! Where a policy should rather do what the log did: found on the valid part, before a test row is read.

use super::coverage::named;
use crate::data::{Sample, Summaries};
use crate::error::{Error, Result};
use crate::folds::{Growth, Tree};
use crate::policy::{AbstainParts, AbstainPolicy, SavedPolicy, TargetPolicy, central};
use crate::source::Source;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The share of the log's mass, at both ends together, that counts as not done: with fewer rows than a thousand none is there.
const TAIL: f64 = 0.001;

/// The largest share of the new policy's mass that may lie where the log did nothing.
const MOST: f64 = 0.05;

/// Rows that are looked at.
const LOOKED_AT: usize = 8192;

/// Cells of contexts that are named at most.
const CELLS: usize = 8;

/// A policy that abstains, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Abstained {
    /// The policy.
    pub policy: AbstainPolicy,
    /// Share of the valid rows in whose contexts it does what the log did.
    pub share: f64,
    /// The contexts in which it mostly does so, in the user's columns: the cells of a small tree, so they are near rather than exact.
    pub contexts: Vec<String>,
}

/// Makes of a policy one that does what the log did where the log does not support it; see [`AbstainPolicy`].
///
/// `logging` is what the log did, as a policy: its own file, or a fitted one ([`logging_policy`](crate::portfolio::logging_policy)). It is not
/// trusted to have been seen in full: if the actions of the valid rows fill only a part of its central intervals, these are narrowed to that part. The
/// policy that comes out is another policy, and is certified as itself.
pub fn abstain(new: &SavedPolicy, logging: &SavedPolicy, valid: &dyn Source) -> Result<Abstained> {
    let (d, q) = (valid.schema().contexts.len(), valid.schema().actions.len());
    let parts = AbstainParts {
        new: Box::new(new.clone()),
        logging: Box::new(logging.clone()),
        tail: TAIL,
        reach: 1.0,
        most: MOST,
    };
    AbstainPolicy::new(parts.clone())?.check_against(valid.schema())?;
    let rows = valid.get(Summaries)?.rows;
    let sample = valid.get(Sample::of(rows, LOOKED_AT))?;
    let n = sample.y.len();
    if n == 0 {
        return Err(Error::data("the valid part has no rows"));
    }
    let x = |i: usize| &sample.x[i * d..(i + 1) * d];
    let mut filled = Vec::with_capacity(n);
    for i in 0..n {
        let Some(ends) = central(logging, x(i), TAIL) else {
            return Err(Error::policy("the law of the logging policy is not known as a function")
                .hint("give a logging policy with one action column or a family: parametric, model or softmax"));
        };
        if new.mass_within(x(i), &vec![f64::NEG_INFINITY; q], &vec![f64::INFINITY; q]).is_none() {
            return Err(Error::policy(
                "it does not know how its mass is spread, so it cannot be told where to abstain",
            ));
        }
        let of = |(c, [low, high]): (usize, &[f64; 2])| {
            (sample.a[i * q + c] - 0.5 * (low + high)).abs() / (0.5 * (high - low)).max(f64::MIN_POSITIVE)
        };
        filled.push(ends.iter().enumerate().map(of).fold(0.0, f64::max));
    }
    let policy = AbstainPolicy::new(AbstainParts { reach: reach(filled), ..parts })?;
    let asked: Vec<f64> = (0..n).map(|i| if policy.acts(x(i)) { 0.0 } else { 1.0 }).collect();
    let total: f64 = sample.omega.iter().sum();
    let share = asked.iter().zip(&sample.omega).map(|(a, w)| a * w).sum::<f64>() / total;
    let contexts = if d == 0 { Vec::new() } else { contexts(&sample.x, d, &asked, &valid.schema().contexts) };
    Ok(Abstained { policy, share, contexts })
}

/// How much of the central intervals the actions fill: all but the outermost one in a thousand, and at most all of it.
fn reach(mut filled: Vec<f64>) -> f64 {
    filled.sort_by(f64::total_cmp);
    let cut = (filled.len() as f64 * TAIL) as usize;
    filled.get(filled.len().saturating_sub(1 + cut)).copied().unwrap_or(1.0).clamp(f64::MIN_POSITIVE, 1.0)
}

/// The cells of a small tree in which the policy mostly abstains.
fn contexts(x: &[f64], d: usize, asked: &[f64], names: &[String]) -> Vec<String> {
    let growth = Growth { cells: CELLS, rows: (asked.len() / 100).max(5) };
    let tree = Tree::grow(x, d, asked, growth);
    let mut mostly = vec![0.0; tree.cells()];
    for row in x.chunks_exact(d) {
        let (number, mean) = tree.cell(|c| row[c]);
        mostly[number] = mean;
    }
    (0..mostly.len()).filter(|&k| mostly[k] > 0.5).map(|k| named(&tree, k, names)).collect()
}

/// "it does what the log did in 8.9% of the rows, mostly where x0 > 1.2"
impl fmt::Display for Abstained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.share == 0.0 {
            return f.write_str("the log supports it in every context of the valid part: it abstains nowhere there");
        }
        write!(f, "it does what the log did in {:.1}% of the valid rows", 100.0 * self.share)?;
        match self.contexts.is_empty() {
            true => f.write_str(", here and there"),
            false => write!(f, ", mostly where {}", self.contexts.join("; or ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 2,000 shares the two largest are left out, and the third largest is the reach; nothing reaches further than all of it.
    #[test]
    fn the_reach_leaves_out_one_in_a_thousand() {
        let shares: Vec<f64> = (0..2000).rev().map(|i| f64::from(i) / 2000.0).collect();
        assert_eq!(reach(shares), 0.9985);
        assert_eq!(reach(vec![0.25, 0.5]), 0.5);
        assert_eq!((reach(vec![3.0]), reach(vec![]), reach(vec![0.0])), (1.0, 1.0, f64::MIN_POSITIVE));
    }
}
