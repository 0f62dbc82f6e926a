//! Gains segment by segment: for whom is the policy better, and for whom worse?
//!
//! Looking at many segments finds something by luck. So every interval is made at 1 - delta / m, m the number of segments: all of them hold
//! together with probability 1 - delta (Bonferroni), and a segment is called better or worse only where its whole interval is. This is a
//! look at who gains, not a second chance: a verdict on the whole log does not change by it.

use super::certificate::{Certificate, Verdict};
use super::certify;
use super::interval::Interval;
use super::terms::{Method, Terms};
use crate::data::{Input, Quantiles, View};
use crate::error::{Error, Result};
use crate::policy::TargetPolicy;
use crate::source::Source;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Segments that a column of numbers is cut into, at its quantiles.
const CUTS: usize = 4;

/// Segments at most: more would leave none of them anything to say.
const MOST: usize = 30;

/// What a segment says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Finding {
    /// The policy is better here.
    Better,
    /// The policy is worse here.
    Worse,
    /// Neither is shown.
    Unclear,
    /// The rows cannot tell, and why.
    Silent(String),
}

/// A segment of the rows, in the user's direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Segment {
    /// "city = Rome", "age <= 31".
    pub name: String,
    /// Test rows in it; 0 where it could not be judged.
    pub rows: f64,
    /// The log's value there.
    pub logged: Option<Interval>,
    /// The policy's.
    pub value: Option<Interval>,
    /// The second minus the first, with an interval that holds together with those of all other segments.
    pub difference: Option<Interval>,
    /// What follows.
    pub finding: Finding,
}

/// All segments by one column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Segments {
    /// The column.
    pub by: String,
    /// How often all intervals hold together.
    pub confidence: f64,
    /// The segments.
    pub segments: Vec<Segment>,
}

/// Judges a policy in every segment by a context column: its categories, or four cuts of a number at the quantiles of the valid part.
///
/// The terms are those of a certificate; their confidence is that of all segments together.
pub fn segments(
    policy: &dyn TargetPolicy,
    valid: &dyn Source,
    test: &dyn Source,
    by: &str,
    terms: &Terms,
) -> Result<Segments> {
    terms.check()?;
    let cells = cells(valid, by)?;
    let delta = (1.0 - terms.confidence) / cells.len() as f64;
    let mut each = Terms { confidence: 1.0 - delta, ..terms.clone() };
    if each.interval != Method::Normal {
        each.bootstrap = each.bootstrap.max((20.0 / delta).ceil() as usize); // ten replicates beyond each end
    }
    let judge = |(name, view): (String, View)| {
        let certificate = (|| certify(policy, &*valid.view(&view)?, &*test.view(&view)?, &each))();
        match certificate {
            Ok(c) => Segment::of(name, &c),
            Err(e) => {
                let finding = Finding::Silent(e.what().to_string());
                Segment { name, rows: 0.0, logged: None, value: None, difference: None, finding }
            }
        }
    };
    let segments = cells.into_iter().map(judge).collect();
    Ok(Segments { by: by.into(), confidence: terms.confidence, segments })
}

impl Segment {
    fn of(name: String, c: &Certificate) -> Self {
        let finding = match c.verdict {
            Verdict::Invalid => Finding::Silent(c.refusals().first().cloned().unwrap_or_default()),
            Verdict::Deploy | Verdict::Promising => Finding::Better,
            // the error without a difference counts on this side too
            Verdict::Keep if c.difference.to_user(c.direction).ends_with(c.null_error)[0] > 0.0 => Finding::Worse,
            Verdict::Keep => Finding::Unclear,
        };
        let (logged, value, difference) = (Some(c.logged), Some(c.value), Some(c.difference));
        Segment { name, rows: c.test.rows, logged, value, difference, finding }
    }
}

/// The segments by a column, with the rows in each.
fn cells(valid: &dyn Source, by: &str) -> Result<Vec<(String, View)>> {
    let schema = valid.schema();
    let inputs = if schema.inputs.is_empty() { Input::numbers(&schema.contexts) } else { schema.inputs.clone() };
    let Some(at) = inputs.iter().position(|i| i.name() == by) else {
        let known: Vec<&str> = inputs.iter().map(Input::name).collect();
        return Err(Error::data(format!("there is no context {by:?} to make segments by"))
            .hint(format!("segments are made by a context; the contexts are: {}", known.join(", "))));
    };
    let first = Input::expand(&inputs[..at]).len();
    if let Input::Category { levels, .. } = &inputs[at] {
        if levels.len() > MOST {
            return Err(Error::data(format!(
                "{by:?} has {} categories, too many to say anything of each",
                levels.len()
            ))
            .hint(format!("segments are made of at most {MOST}")));
        }
        let level = |(l, name): (usize, &String)| (format!("{by} = {name}"), View::between(first + l, 0.5, 1.5));
        return Ok(levels.iter().enumerate().map(level).collect());
    }
    let distributions = valid.get(Quantiles)?;
    let column = distributions.contexts.get(first).ok_or_else(|| Error::data("the valid part has no rows"))?;
    let mut ends: Vec<f64> = (1..CUTS).map(|k| column.quantile(k as f64 / CUTS as f64)).collect();
    ends.dedup();
    ends.retain(|e| *e < column.quantile(1.0)); // nothing lies above the largest
    let edges: Vec<f64> = [&[f64::NEG_INFINITY], &ends[..], &[f64::INFINITY]].concat();
    let named = |w: &[f64]| match (w[0].is_finite(), w[1].is_finite()) {
        (true, true) => format!("{:.4} < {by} <= {:.4}", w[0], w[1]),
        (true, false) => format!("{by} > {:.4}", w[0]),
        (false, true) => format!("{by} <= {:.4}", w[1]),
        (false, false) => format!("any {by}"),
    };
    Ok(edges.windows(2).map(|w| (named(w), View::between(first, w[0], w[1]))).collect())
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Finding::Better => "better",
            Finding::Worse => "WORSE",
            Finding::Unclear => "unclear",
            Finding::Silent(_) => "cannot tell",
        })
    }
}

impl fmt::Display for Segments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "by {}, all intervals together at {}%", self.by, (1e6 * self.confidence).round() / 1e4)?;
        for s in &self.segments {
            match (&s.difference, &s.finding) {
                (_, Finding::Silent(why)) => write!(f, "\n{}: cannot tell: {why}", s.name)?,
                (Some(d), finding) => {
                    write!(f, "\n{}: {:.4} [{:.4}, {:.4}], {finding}", s.name, d.estimate, d.lower, d.upper)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}
