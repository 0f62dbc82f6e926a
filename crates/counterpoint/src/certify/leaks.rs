//! Rows that must not meet: the parts share none, copies are not independent rows, and a policy is not judged on what it was learned from.
//! A policy's file holds hashes of some of the rows it was learned from; what matters is whether more of them are found than chance
//! would give.

use super::alike::refuse_near_copies;
use super::evidence::GateEvidence;
use crate::data::{Hashed, Hashes, Recognised};
use crate::error::{Error, Hint, Remedy, Result};
use crate::math;
use crate::policy::{Origin, TargetPolicy};
use crate::source::Source;

/// Hashes by which rows are recognised: parts of at most so many rows are compared row by row.
const RECOGNISED: usize = 65_536;

/// Copies that are let pass, as a share of the rows: a slip of the export.
const COPIES: f64 = 0.01;

/// A log with so many rows for each of its actions acts on a grid.
const ROWS_PER_ACTION: usize = 10;

/// Refuses parts of a single row, parts that share rows or hold copies or near copies, and a policy that was learned from rows of either part (of the
/// test part, where folds of the valid rows are the evidence).
pub(super) fn check_parts(
    valid: &dyn Source,
    test: &dyn Source,
    policies: &[(&dyn TargetPolicy, GateEvidence)],
) -> Result<()> {
    let by_row = parts(valid, test, Recognised::Row)?;
    for (name, part) in ["valid", "test"].iter().zip(&by_row) {
        if part.rows < 2 {
            return Err(Error::data(format!("the {name} part has one row, which says nothing about its own error"))
                .hint("a certificate needs at least two rows in valid and in test, and in truth hundreds"));
        }
    }
    let shared = shared(&by_row);
    if shared > 0 {
        return Err(Error::data(format!("{shared} rows of the test part are also in the valid part, or twice in it"))
            .hint("certify on rows that nothing was learned, chosen or gated on; Log::split gives such parts"));
    }
    let by_content = parts(valid, test, Recognised::Content)?;
    let copies = self::shared(&by_content);
    let looked_at = by_content[1].smallest.len();
    // where actions are rounded, equal rows are no copies: then many more rows share an action than share everything, or few
    // actions are all that the log has
    let repeated = copies as f64 > COPIES * looked_at as f64 + 1.0;
    let rounded = || {
        let actions = parts(valid, test, Recognised::Action)?;
        let few = ROWS_PER_ACTION * distinct(&actions[1]) <= actions[1].smallest.len();
        Ok::<bool, Error>(few || self::shared(&actions) > 2 * copies)
    };
    if repeated && !rounded()? {
        return Err(Error::data(format!(
            "{copies} of {looked_at} rows of the test part stand more than once in the log, with every number the same: copies \
             are not independent rows, and would make a certificate too sure of itself"
        ))
        .hint(Hint::from("keep one row of each, or say how many a row stands for: ") + Remedy::RowCount));
    }
    refuse_near_copies(valid, test)?;
    for (origin, evidence) in policies.iter().filter_map(|(p, evidence)| Some((p.origin()?, evidence))) {
        let rows = if origin.by == Recognised::Row { &by_row } else { &by_content };
        refuse_learned(origin, "test", &rows[1], &rows[0])?;
        if *evidence == GateEvidence::Valid {
            refuse_learned(origin, "valid", &rows[0], &rows[1])?;
        }
    }
    Ok(())
}

/// Refuses a batch in which rows stand more than once, unless actions are rounded: then rows that differ share them too.
pub(super) fn refuse_copies(batch: &Hashed, actions: impl FnOnce() -> Result<Hashed>) -> Result<()> {
    let twice = |rows: &Hashed| rows.smallest.len() - distinct(rows);
    let (copies, all) = (twice(batch), batch.smallest.len());
    if copies as f64 <= COPIES * all as f64 + 1.0 {
        return Ok(());
    }
    let actions = actions()?;
    let rounded = 10 * distinct(&actions) < 9 * distinct(batch);
    if rounded || ROWS_PER_ACTION * distinct(&actions) <= actions.smallest.len() {
        return Ok(());
    }
    Err(Error::data(format!("{copies} of {all} rows stand more than once in these rows, with every number the same"))
        .hint("every row counts once: give each row, and each file, once"))
}

fn parts(valid: &dyn Source, test: &dyn Source, by: Recognised) -> Result<[Hashed; 2]> {
    let question = Hashes::of(RECOGNISED, by);
    Ok([valid.recognise(question)?, test.recognise(question)?])
}

/// Refuses a policy that remembers more rows of a part than rows that nobody learned from share with it; `other` is the other part.
fn refuse_learned(origin: &Origin, name: &str, part: &Hashed, other: &Hashed) -> Result<()> {
    let (found, looked_at) = remembered(origin, part);
    // a copy or two that the export left in both parts is no leak
    let slack = if origin.by == Recognised::Content && origin.hashes.len() >= 32 { 1.0 } else { 0.0 };
    if found as f64 <= by_chance(origin, looked_at, part, other).max(slack) {
        return Ok(());
    }
    Err(Error::policy(format!(
        "it was learned from rows of the {name} part: it remembers {found} of {looked_at} rows that it could remember, more than \
         chance would give"
    ))
    .hint(Hint::from("divide the log as it was for learning (") + Remedy::SameSplit + "), or certify on new rows"))
}

/// Of the rows that stand once in a part, and whose hashes are small enough to be remembered, how many are; and how many such rows there are.
fn remembered(origin: &Origin, part: &Hashed) -> (usize, usize) {
    let hash = |h: &String| u64::from_str_radix(h, 16).ok();
    let mut known: Vec<u64> = origin.hashes.iter().filter_map(hash).collect();
    known.sort_unstable();
    // a policy that was learned from more rows than it remembers knows those with the smallest hashes, all of them
    let most = if origin.rows > known.len() { known.last().copied().unwrap_or(0) } else { u64::MAX };
    let candidates = single(part).filter(|h| *h <= most);
    candidates.fold((0, 0), |(found, all), h| (found + usize::from(known.binary_search(&h).is_ok()), all + 1))
}

/// How many of those rows would be found if none had been learned from, plus three standard errors.
///
/// On a grid of actions and contexts equal rows are common. How common, the two parts say, which share no row: of the rows that stand
/// once in one of them a share s is found in the other. In r times as many rows at most 1 - (1 - s)^r would be: a content of
/// probability q is found in n rows with u = 1 - (1 - q)^n, in r n rows with 1 - (1 - u)^r, which is concave in u (Jensen). On a
/// continuum s is 0.
fn by_chance(origin: &Origin, looked_at: usize, part: &Hashed, other: &Hashed) -> f64 {
    let most = if (other.rows as usize) > other.smallest.len() { other.smallest.last().copied() } else { None };
    let rows: Vec<u64> = single(part).filter(|h| most.is_none_or(|m| *h <= m)).collect();
    let (all, m) = (rows.len().max(1) as f64, looked_at as f64);
    let s = rows.iter().filter(|h| other.smallest.binary_search(h).is_ok()).count() as f64 / all;
    let r = (origin.rows as f64 / other.rows as f64).max(1.0);
    let share = 1.0 - math::pow(1.0 - s, r);
    let slope = r * math::pow(1.0 - s, r - 1.0);
    let variance = m * share * (1.0 - share) + math::powi(m * slope, 2) * s * (1.0 - s) / all;
    m * share + 3.0 * variance.sqrt()
}

/// Hashes of the rows that stand once in a part.
fn single(part: &Hashed) -> impl Iterator<Item = u64> {
    part.smallest.chunk_by(|a, b| a == b).filter(|run| run.len() == 1).map(|run| run[0])
}

/// How many different rows are known.
fn distinct(rows: &Hashed) -> usize {
    rows.smallest.chunk_by(|a, b| a == b).count()
}

/// Rows that are in both parts, and rows that are twice in the second, as far as their hashes are known.
fn shared([known, asked]: &[Hashed; 2]) -> usize {
    let twice = asked.smallest.windows(2).filter(|w| w[0] == w[1]).count();
    let mut distinct = asked.smallest.clone();
    distinct.dedup();
    twice + distinct.iter().filter(|h| known.smallest.binary_search(h).is_ok()).count()
}
