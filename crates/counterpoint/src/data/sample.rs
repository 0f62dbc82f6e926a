//! A thin sample of the rows: chosen by a hash of the row number, so that it does not depend on who holds which rows.

use super::log::Block;
use crate::engine::Fold;
use crate::rng::hash;
use serde::{Deserialize, Serialize};

/// The seed of the hash: not that of any split, whose parts its hash does not thin evenly.
const SEED: u64 = 0x7361_6d70_6c65_0001;

/// The question: the rows whose hashed number is at most `limit`.
///
/// ```
/// use counterpoint::{Engine, Log, data::Sample};
/// let n = 40_000;
/// let log = Log::builder().action("a", vec![1.0; n]).cost("y", vec![0.0; n]).propensity("p", vec![0.5; n]).build()?;
/// let some = Engine::single().ask(&Sample::of(n as u64, 1000), log.blocks());
/// assert!(some.ids.len() <= 1000 && some.ids.len() > 700);
/// let all = Engine::single().ask(&Sample::of(n as u64, n), log.blocks());
/// assert_eq!(all.ids.len(), n);
/// # Ok::<(), counterpoint::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Largest hash that is in the sample.
    pub limit: u64,
    /// Whether contexts are wanted: of a wide log they are most of the bytes.
    pub contexts: bool,
}

/// Rows in the order of the log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    /// Row numbers.
    pub ids: Vec<u64>,
    /// Contexts, row-major; empty where they were not wanted.
    pub x: Vec<f64>,
    /// Actions, row-major.
    pub a: Vec<f64>,
    /// ln of the logging density.
    pub log_p: Vec<f64>,
    /// Costs.
    pub y: Vec<f64>,
    /// Row weights.
    pub omega: Vec<f64>,
    /// The keys of the rows' clusters; empty without clusters.
    #[serde(default)]
    pub clusters: Vec<u64>,
}

impl Sampled {
    /// The rows as a block, of d contexts and q actions.
    pub fn block(&self, d: usize, q: usize) -> Block {
        let columns = |v: &[f64], width: usize| {
            (0..width).map(|c| v.iter().skip(c).step_by(width).copied().collect::<Vec<f64>>().into()).collect()
        };
        Block {
            index: 0,
            ids: self.ids.clone().into(),
            x: columns(&self.x, d),
            a: columns(&self.a, q),
            log_p: self.log_p.clone().into(),
            y: self.y.clone().into(),
            omega: self.omega.clone().into(),
            target: Vec::new(),
            cluster: Vec::new(),
        }
    }
}

impl Sample {
    /// All of `rows` rows if these are at most `most`; else `most` of them or a little fewer (but for one time in 10^5).
    pub fn of(rows: u64, most: usize) -> Self {
        if rows <= most as u64 {
            return Sample { limit: u64::MAX, contexts: true };
        }
        // four standard deviations of the number of rows that are hit
        let aim = (most as f64 - 4.0 * (most as f64).sqrt()).max(0.5 * most as f64);
        Sample { limit: (aim / rows as f64 * u64::MAX as f64) as u64, contexts: true }
    }

    /// The same rows without their contexts.
    #[must_use]
    pub fn without_contexts(self) -> Self {
        Sample { contexts: false, ..self }
    }

    /// Whether a row is in the sample.
    pub fn holds(&self, id: u64) -> bool {
        hash(SEED, id) <= self.limit
    }
}

impl Fold<Block> for Sample {
    type Partial = Sampled;

    fn zero(&self) -> Sampled {
        Sampled::default()
    }

    fn add(&self, b: &Block, into: &mut Sampled) {
        for i in (0..b.rows()).filter(|i| self.holds(b.ids[*i])) {
            into.ids.push(b.ids[i]);
            if self.contexts {
                into.x.extend(b.x.iter().map(|c| c[i]));
            }
            into.a.extend(b.a.iter().map(|c| c[i]));
            into.log_p.push(b.log_p[i]);
            into.y.push(b.y[i]);
            into.omega.push(b.omega[i]);
            if !b.cluster.is_empty() {
                into.clusters.push(b.key(i));
            }
        }
    }

    fn merge(&self, other: &Sampled, into: &mut Sampled) {
        into.ids.extend_from_slice(&other.ids);
        into.x.extend_from_slice(&other.x);
        into.a.extend_from_slice(&other.a);
        into.log_p.extend_from_slice(&other.log_p);
        into.y.extend_from_slice(&other.y);
        into.omega.extend_from_slice(&other.omega);
        into.clusters.extend_from_slice(&other.clusters);
    }
}
