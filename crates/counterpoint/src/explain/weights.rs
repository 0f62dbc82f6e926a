//! The importance weights of one part of a log.

use super::{Fact, Histogram};
use crate::certify::{Certificate, Diagnostics, GateEvidence, Interval};
use crate::data::Log;
use crate::engine::Engine;
use crate::error::Result;
use crate::folds::score;
use crate::math;
use crate::policy::TargetPolicy;
use serde::{Deserialize, Serialize};

/// The importance weights of one part of the log: overlap in figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartWeights {
    /// "valid" or "test".
    pub part: String,
    /// Rows (sum of row weights), or clusters, where rows are not independent draws.
    pub rows: f64,
    /// Whether these are clusters.
    #[serde(default)]
    pub clusters: bool,
    /// n_eff = (sum w)^2 / sum w^2, of these.
    pub effective: f64,
    /// The least n_eff that the gate accepts; none where nothing is gated.
    pub floor: Option<f64>,
    /// Mean weight; should hold 1.
    pub mean: Interval,
    /// How far the mean weight may lie from 1; none where nothing is gated.
    pub mean_tolerance: Option<f64>,
    /// max w / sum w.
    pub largest_share: f64,
    /// Of the weights, in logarithmic bins.
    pub histogram: Option<Histogram>,
    /// Other diagnostics: tail index, overlap of the supports.
    pub facts: Vec<Fact>,
}

/// The importance weights of every row, w = pi(a|x) / p, in logarithmic bins from 1e-4 to 1000.
pub fn weight_histogram(engine: &Engine, log: &Log, policy: &dyn TargetPolicy) -> Result<Histogram> {
    let mut histogram = Histogram::logarithmic(1e-4, 1e3, 42);
    for s in score(engine, log, policy)? {
        s.log_w.iter().zip(&s.omega).for_each(|(l, o)| histogram.add(math::exp(*l), *o));
    }
    Ok(histogram)
}

impl PartWeights {
    /// The part that decides whether an estimate may be believed: with the gate's limits, where it is the part that the gate looked at.
    pub(super) fn gated(part: &str, histogram: Histogram, c: &Certificate) -> Self {
        let (d, terms) = (&c.valid, &c.terms);
        if let GateEvidence::Folds(folds) = &c.evidence {
            let looked_at = format!("{:.0} of {:.0} are effective", folds.effective, folds.rows);
            let mut plain = Self::plain(part, d, histogram);
            plain
                .facts
                .insert(0, Fact { name: "the gate looked at held-out folds instead: rows".into(), value: looked_at });
            return plain;
        }
        PartWeights {
            floor: Some(terms.gate.needs(d.clusters.unwrap_or(d.rows))),
            mean_tolerance: Some(terms.gate.tolerance(d.mean_weight.std_error)),
            ..Self::plain(part, d, histogram)
        }
    }

    /// A part that is shown for information.
    pub(super) fn plain(part: &str, d: &Diagnostics, histogram: Histogram) -> Self {
        let fact = |name: &str, value: String| Fact { name: name.into(), value };
        let mut facts = vec![
            fact("weight carried by the heaviest 1% of rows", format!("{:.1}%", 100.0 * d.top_percent_share)),
            fact("policy's mass outside the logged actions", format!("{:.2}%", 100.0 * d.outside)),
        ];
        facts.extend(d.tail_index.map(|t| fact("tail index of the weights (below 2: no variance)", format!("{t:.2}"))));
        PartWeights {
            part: part.into(),
            rows: d.clusters.unwrap_or(d.rows),
            clusters: d.clusters.is_some(),
            effective: d.effective,
            floor: None,
            mean: d.mean_weight,
            mean_tolerance: None,
            largest_share: d.largest_share,
            histogram: Some(histogram),
            facts,
        }
    }
}
