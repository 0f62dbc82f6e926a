//! A monitor with a memory: what it follows, which rows it has seen, and a file it lives in between two looks.
//!
//! New rows come in batches, of the log or of the deployed policy; each is folded in once. The file is written whole, carries
//! a checksum, and is checked when it is read: a damaged state would give a wrong answer for ever after.

use super::leaks::refuse_copies;
use super::monitor::Monitor;
use crate::data::checksum::Checksum;
use crate::data::files::{read_text, write_whole};
use crate::data::{Hashed, Hashes, Outcome, Recognised, Said};
use crate::engine::Fold;
use crate::error::{Error, Result};
use crate::folds::{Guarantee, Totalled, Totals, ask_weights};
use crate::policy::TargetPolicy;
use crate::source::Source;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

/// What the file says it is.
const FORMAT: &str = "counterpoint-monitor";
const VERSION: u32 = 1;

/// Hashes of rows that are remembered: of so many rows every copy is recognised, of more a fair sample.
const REMEMBERED: usize = 4096;

/// Rows of a batch that may have been seen before, as a share: a slip of the export.
const COPIES: f64 = 0.01;

/// Weights this close to 1 are those of the policy's own rows.
const OWN: f64 = 1e-6;

/// What is asked of a monitor, once and for all: a later change would undo what it promises.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WatchTerms {
    /// How often the intervals hold the truth at all moments together.
    pub confidence: f64,
    /// The smallest and the largest outcome that can happen, on the user's scale.
    pub outcome_range: [f64; 2],
    /// The value that the policy is compared with; without it, the log's own on the same rows.
    pub against: Option<f64>,
}

/// What the rows so far say, at any moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// The policy is better.
    Better,
    /// The policy is worse: an alarm.
    Worse,
    /// The rows do not say.
    Undecided,
}

/// One look at a monitor, on the user's scale.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Look {
    /// Rows seen so far.
    pub rows: u64,
    /// The policy's value lies between these.
    pub value: [f64; 2],
    /// The policy's value less what it is compared with lies between these.
    pub difference: [f64; 2],
    /// What follows.
    pub standing: Standing,
}

/// Follows a policy over batches of rows; see [`Monitor`] for the mathematics.
///
/// ```
/// use counterpoint::certify::{Standing, Watch, WatchTerms};
/// use counterpoint::policy::Family;
/// use counterpoint::{Log, Policy};
/// // uniform actions on (0, 1); the reward is the action, and the policy acts near .75
/// let rows = |from: usize, n: usize| {
///     let a: Vec<f64> = (from..from + n).map(|i| (i as f64 * 0.5698402910).fract()).collect();
///     Log::builder().action("a", a.clone()).reward("r", a).propensity("p", vec![1.0; n]).build()
/// };
/// let policy = Policy::constant(Family::Normal, &[], &["a"], &[0.75], &[0.1])?;
/// let terms = WatchTerms { confidence: 0.95, outcome_range: [0.0, 1.0], against: None };
/// let mut watch = Watch::new(&policy, &rows(0, 50)?, terms)?;
/// assert_eq!(watch.fold(&policy, &rows(0, 50)?)?.standing, Standing::Undecided);
/// assert!(watch.fold(&policy, &rows(0, 50)?).is_err(), "the same rows again");
/// assert_eq!(watch.fold(&policy, &rows(50, 3000)?)?.standing, Standing::Better);
/// let resumed = Watch::from_json(&watch.to_json())?;
/// assert_eq!(resumed, watch);
/// # Ok::<(), counterpoint::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// What was asked.
    terms: WatchTerms,
    /// SHA-256 of the policy's file; absent for a policy that has none.
    policy_sha256: Option<String>,
    /// The outcome column.
    outcome: String,
    /// Its direction.
    direction: Outcome,
    /// The sums.
    monitor: Monitor,
    /// Whether every weight so far was 1.
    own_rows: bool,
    /// (rows, sum of their hashes) of every batch.
    batches: Vec<(u64, u64)>,
    /// The smallest hashes of the rows, ascending.
    seen: Vec<u64>,
    /// What was said after every batch.
    looks: Vec<Look>,
}

impl Watch {
    /// Starts to follow a policy, on rows of this kind.
    pub fn new(policy: &dyn TargetPolicy, rows: &dyn Source, terms: WatchTerms) -> Result<Self> {
        let schema = rows.schema();
        if let Some(against) = terms.against.filter(|a| !a.is_finite()) {
            return Err(Error::recipe("monitor.against", format!("{against} is not a number to compare with")));
        }
        Ok(Watch {
            terms,
            policy_sha256: policy.saved().map(|p| p.sha256()),
            outcome: schema.outcome.clone(),
            direction: schema.direction,
            monitor: Monitor::new(terms.confidence, schema.direction.costs_between(terms.outcome_range))?,
            own_rows: true,
            batches: Vec::new(),
            seen: Vec::new(),
            looks: Vec::new(),
        })
    }

    /// What was asked.
    pub fn terms(&self) -> &WatchTerms {
        &self.terms
    }

    /// What was said after every batch.
    pub fn looks(&self) -> &[Look] {
        &self.looks
    }

    /// Whether every weight so far was 1: the rows are the policy's own, and say nothing of what the log would have earned.
    pub fn has_own_rows_only(&self) -> bool {
        self.own_rows && self.monitor.rows() > 0
    }

    /// Folds in new rows, all or none of them.
    pub fn fold(&mut self, policy: &dyn TargetPolicy, rows: &dyn Source) -> Result<Look> {
        self.check_kind(policy, rows)?;
        let batch = rows.recognise(Hashes::of(REMEMBERED, Recognised::Content))?;
        refuse_copies(&batch, || rows.recognise(Hashes::of(REMEMBERED, Recognised::Action)))?;
        self.check_new(&batch)?;
        let weighed = rows.weigh(policy)?;
        let totals = ask_weights(&*weighed, Totals)?;
        let cost_range = self.monitor.cost_range();
        self.check_rows(&totals, cost_range)?;
        self.monitor.absorb(&ask_weights(&*weighed, Guarantee { cost_range })?);
        let own = totals.top.abs() < OWN && totals.log_mean().abs() < OWN;
        self.own_rows &= own;
        self.remember(&batch);
        let look = self.look();
        self.looks.push(look);
        Ok(look)
    }

    /// Takes in what another monitor of the same policy has seen elsewhere.
    pub fn merge(&mut self, other: &Watch) -> Result<Look> {
        let same = (&self.terms, &self.policy_sha256, &self.outcome, self.direction)
            == (&other.terms, &other.policy_sha256, &other.outcome, other.direction);
        if !same {
            return Err(Error::data("it follows another policy or outcome, or on other terms").hint(
                "states add up that were started with the same policy, outcome, range, confidence and comparison",
            ));
        }
        if let Some((rows, _)) = other.batches.iter().find(|b| self.batches.contains(b)) {
            return Err(Error::data(format!("a batch of {rows} rows is in both states")).hint("merge every state once"));
        }
        self.check_new(&Hashed { rows: other.monitor.rows(), sum: 0, smallest: other.seen.clone() })?;
        self.monitor.merge(&other.monitor)?;
        self.own_rows &= other.own_rows;
        self.batches.extend(&other.batches);
        self.keep(&other.seen);
        let look = self.look();
        self.looks.push(look);
        Ok(look)
    }

    /// What all rows so far say.
    pub fn look(&self) -> Look {
        let user = |(low, high): (f64, f64)| match self.direction {
            Outcome::Cost => [low, high],
            Outcome::Reward => [-high, -low],
        };
        let value = user(self.monitor.interval());
        let difference = match self.terms.against {
            Some(against) => value.map(|v| v - against),
            None => user(self.monitor.difference()),
        };
        let gains = match self.direction {
            Outcome::Cost => [-difference[1], -difference[0]],
            Outcome::Reward => difference,
        };
        let standing = match gains {
            [low, _] if low > 0.0 => Standing::Better,
            [_, high] if high < 0.0 => Standing::Worse,
            _ => Standing::Undecided,
        };
        Look { rows: self.monitor.rows(), value, difference, standing }
    }

    fn check_kind(&self, policy: &dyn TargetPolicy, rows: &dyn Source) -> Result<()> {
        let schema = rows.schema();
        if policy.saved().map(|p| p.sha256()) != self.policy_sha256 {
            return Err(Error::policy("the state follows another policy").hint("start a new state for a new policy"));
        }
        if (&schema.outcome, schema.direction) != (&self.outcome, self.direction) {
            return Err(Error::data(format!(
                "the state follows {:?}, the rows have {:?}",
                self.outcome, schema.outcome
            ))
            .hint("name the same outcome column, in the same direction"));
        }
        if schema.cluster.is_some() {
            return Err(Error::data("a monitor takes rows for independent draws, and these have clusters")
                .hint("follow one row of each cluster, such as its mean"));
        }
        Ok(())
    }

    fn check_rows(&self, totals: &Totalled, [lo, hi]: [f64; 2]) -> Result<()> {
        if let Some((id, log_w)) = totals.broken {
            return Err(Error::numeric("ln w", format!("{log_w} is not a weight")).at(format!("row {}", id + 1)));
        }
        if !totals.single {
            return Err(Error::data("a monitor counts every row once, and these have row weights")
                .hint("leave the weights out, or give the rows themselves"));
        }
        if totals.cost.min < lo || totals.cost.max > hi {
            let seen = self.direction.costs_between([totals.cost.min, totals.cost.max]);
            let [low, high] = self.terms.outcome_range;
            return Err(Error::data(format!(
                "outcomes from {} to {} lie outside the range [{}, {}] of the monitor",
                Said(seen[0]),
                Said(seen[1]),
                Said(low),
                Said(high)
            ))
            .hint("the range must hold every outcome that can happen; start again with a wider one"));
        }
        Ok(())
    }

    /// Refuses rows that were folded in before: the same batch in any order, or so many of its rows that it is no accident. Rows on a
    /// grid are alike by nature; they are told by being alike within the batch too.
    fn check_new(&self, batch: &Hashed) -> Result<()> {
        let twice = |what: String| Err(Error::data(what).hint("every row counts once; give the new rows only"));
        if self.batches.contains(&(batch.rows, batch.sum)) {
            return twice(format!("these {} rows have been folded in before", batch.rows));
        }
        // both samples are complete up to the smaller of their ends
        let end = |hashes: &[u64]| if hashes.len() < REMEMBERED { u64::MAX } else { hashes[hashes.len() - 1] };
        let upto = end(&self.seen).min(end(&batch.smallest));
        let mut looked_at: Vec<u64> = batch.smallest.iter().copied().take_while(|h| *h <= upto).collect();
        let all = looked_at.len();
        looked_at.dedup();
        let alike = all - looked_at.len();
        let known = looked_at.iter().filter(|h| self.seen.binary_search(h).is_ok()).count();
        if known as f64 > 1.0 + COPIES * looked_at.len() as f64 && known > 2 * alike {
            return twice(format!("{known} of {} rows that were compared have been folded in before", looked_at.len()));
        }
        Ok(())
    }

    fn remember(&mut self, batch: &Hashed) {
        self.batches.push((batch.rows, batch.sum));
        self.keep(&batch.smallest);
    }

    fn keep(&mut self, hashes: &[u64]) {
        let fold = Hashes::of(REMEMBERED, Recognised::Content);
        let mut all = Hashed { smallest: std::mem::take(&mut self.seen), ..Hashed::default() };
        fold.merge(&Hashed { smallest: hashes.to_vec(), ..Hashed::default() }, &mut all);
        self.seen = all.smallest;
    }
}

/// The file: a heading, a checksum of the state as it is written, the state.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File<S> {
    format: String,
    version: u32,
    checksum: String,
    state: S,
}

impl Watch {
    /// The state as a JSON document; reading it gives the same bits.
    pub fn to_json(&self) -> String {
        let (format, version, checksum) = (FORMAT.into(), VERSION, self.checksum());
        // numbers and words, all finite: it cannot fail to serialise
        serde_json::to_string(&File { format, version, checksum, state: self }).unwrap_or_default() + "\n"
    }

    /// Reads a state back; another format or version, a wrong checksum, and sums that no rows can have are refused.
    pub fn from_json(text: &str) -> Result<Self> {
        let file: File<serde_json::Value> = serde_json::from_str(text)
            .map_err(|e| Error::data(format!("it is not the state of a monitor: {e}")).hint("start a new one"))?;
        if file.format != FORMAT || file.version != VERSION {
            let found = format!("it is {:?} of version {}", file.format, file.version);
            return Err(Error::data(format!("{found}, expected {FORMAT:?} of version {VERSION}"))
                .hint("use the release of counterpoint that wrote it"));
        }
        let damaged = || {
            Error::data("it was changed or damaged after it was written")
                .hint("take a copy from before, or start a new state and give it all rows again")
        };
        let state: Watch = serde_json::from_value(file.state).map_err(|_| damaged())?;
        if state.checksum() != file.checksum || !state.is_sound() {
            return Err(damaged());
        }
        Ok(state)
    }

    /// Writes the file whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        write_whole(path.as_ref(), self.to_json().as_bytes())
    }

    /// Reads the file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_json(&read_text(path)?).map_err(|e| e.at(path.display().to_string()))
    }

    fn checksum(&self) -> String {
        Checksum::of(serde_json::to_string(self).unwrap_or_default().as_bytes()).to_string()
    }

    /// Whether rows could have made this state.
    fn is_sound(&self) -> bool {
        let rows: u64 = self.batches.iter().fold(0, |n, b| n.saturating_add(b.0));
        let asked = Monitor::new(self.terms.confidence, self.direction.costs_between(self.terms.outcome_range));
        let as_asked = asked.is_ok_and(|asked| asked.agrees_with(&self.monitor));
        let seen = self.seen.is_sorted() && self.seen.len() <= REMEMBERED;
        let look = self.look();
        let numbers = look.value.iter().chain(&look.difference).all(|v| v.is_finite());
        self.monitor.is_sound() && rows == self.monitor.rows() && as_asked && seen && numbers
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Standing::Better => "better",
            Standing::Worse => "worse",
            Standing::Undecided => "undecided",
        })
    }
}

/// "undecided after 3050 rows: value between 0.61 and 0.84, difference between -0.02 and 0.31"
impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([v0, v1], [d0, d1]) = (self.value, self.difference);
        write!(f, "{} after {} rows: ", self.standing, self.rows)?;
        write!(f, "value between {v0:.4} and {v1:.4}, difference between {d0:.4} and {d1:.4}")
    }
}

impl fmt::Display for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.look())
    }
}
