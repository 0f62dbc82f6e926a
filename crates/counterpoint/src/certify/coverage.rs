//! Where the log supports a policy, context by context.
//!
//! A mean weight near 1 over all rows says little of contexts in which the policy plays where the log never was: they have no heavy
//! rows at all. Looks that each find such contexts in their own way, on thin samples of the valid and of the test rows:
//!
//! ```text
//! regions    E[w | x] = 1 where the log supports the policy; cells of contexts are cut on valid rows (once by w, once by ln w,
//!            which is far below 0 for every row of a context that the policy leaves), tested on test rows
//! reach      the logging law given x is fitted on valid rows: how much of the policy's mass lies beyond all that the log did?
//! seldom     contexts in which the policy does what fewer than one in 4, 8 or 16 rows of like context did, whatever these contexts are: their
//!            mean weight is 1 as well
//! outside    the policy's mass outside the range of all logged actions
//! ```
//!
//! A mean weight below 1 may be chance where the policy does what one row in many does. With exact densities the variance of the weights of a context is
//! known: at least E[w^2 | x] - 1, whatever rows happened to show. A region whose lack is chance by that error is left alone, but only if as much
//! weight as three rows of the policy's own was seen there: what would befall 70% of its mass shows in three rows with probability .975. Of a region that
//! hardly a row speaks for nothing is known, chance or not; with several actions, of which `beyond` sees the outer ends alone, contexts in which fewer than
//! one row in 16 does what the policy does, and not three did, lack their weight.
//!
//! The largest of them is the mass that is missing. What happens there is not known, only bounded by the range of outcomes. Mass that is
//! missing a little everywhere lies beside what was seen; contexts in which the policy does what the log never did (`away`) are
//! another matter, however few they are.

use super::audit::{audit, floor};
use super::interval::Interval;
use super::law::Law;
use super::robust::{Declared, declare};
use super::terms::Terms;
use crate::data::{Sample, Sampled, Summaries, Weighting};
use crate::error::Result;
use crate::folds::{Control, Growth, Ranked, Tree};
use crate::math;
use crate::policy::TargetPolicy;
use crate::source::Source;
use serde::{Deserialize, Serialize};

/// Numbers of contexts that are looked at: rows times columns.
const LOOKED_AT: usize = 200_000;

/// Standard errors a cell's mean weight must lie below 1: .0005 for one cell, under .01 for all of two trees.
const ERRORS: f64 = 3.3;

/// Rows of a cell at least.
pub(super) const FEWEST: usize = 15;

/// One row in so many does what the policy does, in contexts that are looked at together.
const SELDOM: [f64; 3] = [4.0, 8.0, 16.0];

/// Test rows of such contexts at least: they were found neither by their weights nor by their actions.
const FEWEST_SELDOM: usize = 5;

/// Rows of the policy's own that must be seen in a region before its lack of weight can be put down to chance.
const SEEN: f64 = 3.0;

/// Actions of which no more than one row in so many has one of its own lie on a grid.
const GRID: usize = 4;

/// ln w below this is no density at all.
const LEAST_LOG: f64 = -8.0;

/// A cell that lacks less than this share of its mass is left alone.
const LACK: f64 = 0.15;

/// Missing mass below this is not counted: a wide policy always has a little in its tails.
pub(super) const NEGLIGIBLE: f64 = 0.01;

/// A context is away if more than this share of the policy's mass there lies beyond all that the log did.
const MOSTLY: f64 = 0.5;

/// Contexts explain a cost if no more than this of its variance is left.
pub(crate) const UNEXPLAINED: f64 = 0.97;

/// A share of contexts that are away from which on they count: two or three of 600 looked at.
pub(super) const AWAY: f64 = 0.004;

/// A cell of contexts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Region {
    /// The contexts, in the user's columns: `x1 > 0.3 and x0 <= 2`.
    pub contexts: String,
    /// Share of the test rows.
    pub share: f64,
    /// The mean weight of these rows.
    pub mean_weight: Interval,
    /// Whether the log does not support the policy here.
    pub unsupported: bool,
}

/// What of a policy the log shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Coverage {
    /// Share of the policy's mass that the log does not show; 0 where it is negligible.
    pub missing: f64,
    /// By cells of contexts, the least supported first.
    pub regions: Vec<Region>,
    /// Share of the policy's mass beyond all that the log did in like contexts; nothing where the policy's masses are not known.
    pub beyond: Option<f64>,
    /// Share of the policy's mass in contexts where most of it lies beyond: there it does what the log never did.
    #[serde(default)]
    pub away: f64,
    /// How many of the log's standard deviations the policy's mean lies from the log's, given x: median, 90%, 99% and largest.
    pub distance: Option<[f64; 4]>,
    /// Contexts in which the logged densities cannot be those of the logged actions, where there are any: the mean weight there is that of the
    /// log's own fitted law, and should be 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub densities: Option<Region>,
}

/// Rows that are looked at, and what a policy says of them.
pub(super) struct Rows {
    pub(super) d: usize,
    pub(super) q: usize,
    pub(super) sample: Sampled,
    weights: Vec<f64>,
}

impl Rows {
    fn of(source: &dyn Source, policy: &dyn TargetPolicy) -> Result<Rows> {
        let (d, q) = (source.schema().contexts.len(), source.schema().actions.len());
        let rows = source.get(Summaries)?.rows;
        let most = (LOOKED_AT / d.max(1)).clamp(1024, 8192);
        let sample = source.get(Sample::of(rows, most))?;
        let mut weights = Vec::new();
        policy.log_densities(&sample.block(d, q), &mut weights);
        weights.iter_mut().zip(&sample.log_p).for_each(|(w, p)| *w = math::exp(*w - p));
        Ok(Rows { d, q, sample, weights })
    }

    pub(super) fn len(&self) -> usize {
        self.weights.len()
    }

    pub(super) fn x(&self, i: usize) -> &[f64] {
        &self.sample.x[i * self.d..(i + 1) * self.d]
    }

    /// How many rows row i is: its count, or one that was sampled.
    fn times(&self, i: usize, weighting: Weighting) -> f64 {
        weighting.draw(self.sample.omega[i]).1
    }

    pub(super) fn weight(&self, i: usize) -> f64 {
        self.weights[i]
    }

    /// Contexts, then actions.
    pub(super) fn column(&self, i: usize, c: usize) -> f64 {
        if c < self.d { self.x(i)[c] } else { self.a(i, c - self.d) }
    }

    pub(super) fn a(&self, i: usize, c: usize) -> f64 {
        self.sample.a[i * self.q + c]
    }

    /// The different values of an action, sorted, where so few differ that they lie on a grid: their propensities may be probabilities.
    pub(super) fn grid(&self, c: usize) -> Option<Vec<f64>> {
        let mut a: Vec<f64> = (0..self.len()).map(|i| self.a(i, c)).collect();
        a.sort_by(f64::total_cmp);
        a.dedup();
        (a.len() * GRID < self.len()).then_some(a)
    }
}

/// What valid and test rows say before the outcomes of the test rows are read.
pub(super) struct Looked {
    pub(super) coverage: Coverage,
    pub(super) control: Option<Control>,
    pub(super) declared: Option<Declared>,
}

/// Looks at a policy on the valid and the test part. A policy that stands in columns of the log has a density at the logged actions
/// only: its samples cannot be weighed here, and it is looked at as a whole only.
pub(super) fn look(
    policy: &dyn TargetPolicy,
    valid: &dyn Source,
    test: &dyn Source,
    terms: &Terms,
) -> Result<Option<Looked>> {
    if valid.schema().contexts.is_empty() || valid.schema().target.is_some() {
        return Ok(None);
    }
    let (v, t) = (Rows::of(valid, policy)?, Rows::of(test, policy)?);
    if v.len() < 60 || t.len() < 30 {
        return Ok(None);
    }
    // a heavy row says that there is support, not how much: capped, it draws no cut of its own
    let capped = v.weights.iter().map(|w| w.min(4.0)).collect();
    let logs = v.weights.iter().map(|w| math::ln(*w).clamp(LEAST_LOG, 1.0)).collect();
    let ranked = Ranked::of(&v.sample.x, v.d, v.len());
    let law = Law::fit(&v, &t, &ranked)?;
    let crowding = law.crowding([&v, &t], policy);
    let cells = |target: Vec<f64>, rows: usize| {
        let tree = Tree::grow_on(&ranked, &target, Growth { cells: 8, rows });
        let (names, weighting) = (&valid.schema().contexts, valid.schema().weighting);
        regions(&tree, [&v, &t], crowding.as_deref(), names, weighting, terms)
    };
    let (by_weight, by_log) = (cells(capped, (v.len() / 50).max(30)), cells(logs, (v.len() / 60).max(FEWEST)));
    let (regions, lacking) = if lack(&by_log) > lack(&by_weight) {
        let lacking = lack(&by_log);
        (by_log, lacking)
    } else {
        let lacking = lack(&by_weight);
        (by_weight, lacking)
    };
    let beyond = law.beyond([&v, &t], policy);
    let distance = law.distance(&t, policy);
    let mean = |b: &[f64], least: f64| b.iter().filter(|b| **b > least).sum::<f64>() / b.len() as f64;
    let away = beyond.as_ref().map_or(0.0, |b| mean(b, MOSTLY));
    let beyond = beyond.map(|b| mean(&b, 0.0));
    let schema = valid.schema();
    let seldom = crowding.and_then(|c| seldom(&c, &t, spread_of([&v, &t]), schema.weighting, terms));
    let unseen = seldom.as_ref().map_or(0.0, Seldom::missing);
    let missing = beyond.unwrap_or(0.0).max(lacking).max(unseen);
    // where hardly a row does what the policy does, what else these rows did says nothing of it
    let mostly = seldom.as_ref().is_some_and(|s| s.certain && s.region.mean_weight.estimate < MOSTLY);
    let away = if mostly { away.max(unseen) } else { away };
    let regions = seldom.map(|s| s.region).into_iter().chain(regions).collect();
    // who lets any mean weight pass has densities that are known up to a factor
    let exact = terms.gate.max_mean_weight_error < 1.0;
    let audited = || audit(&law, [&v, &t], &ranked, &schema.contexts, schema.weighting, terms);
    let densities = if exact { audited().or_else(|| floor(&law, [&v, &t], terms)) } else { None };
    let coverage = Coverage { missing, regions, beyond, away, distance, densities };
    let declared = if terms.robust { declare(&v, policy, Growth::of_contexts) } else { None };
    Ok(Some(Looked { coverage, control: control(&v, &ranked), declared }))
}

/// Mass that is missing in unsupported cells.
fn lack(regions: &[Region]) -> f64 {
    regions.iter().filter(|r| r.unsupported).map(|r| r.share * (1.0 - r.mean_weight.estimate)).sum()
}

/// Cells that were cut on valid rows, with their mean weight on test rows.
fn regions(
    tree: &Tree,
    [v, t]: [&Rows; 2],
    crowding: Option<&[f64]>,
    names: &[String],
    weighting: Weighting,
    terms: &Terms,
) -> Vec<Region> {
    let lacks = |rows: f64, m: &Interval, seen: &Seen| {
        let lack = 1.0 - m.estimate;
        rows >= FEWEST as f64 && lack > LACK && lack > ERRORS * m.std_error && !seen.may_be_chance(lack)
    };
    let mut seen = vec![Seen::default(); tree.cells()];
    for (i, crowding) in crowding.into_iter().flatten().enumerate() {
        seen[tree.cell(|c| t.x(i)[c]).0].add(t, i, *crowding, weighting);
    }
    let found = cell_means(tree, t, (&t.weights, spread_of([v, t])), names, weighting, terms).into_iter();
    let mut regions: Vec<Region> =
        found.map(|(cell, rows, r)| Region { unsupported: lacks(rows, &r.mean_weight, &seen[cell]), ..r }).collect();
    regions.sort_by(|a, b| a.mean_weight.estimate.total_cmp(&b.mean_weight.estimate));
    regions
}

/// What rows of a region show of a policy whose weights there have a known variance.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// Sum of row weights.
    rows: f64,
    /// Sum of their squares times E[w^2 | x] - 1, at least.
    variance: f64,
    /// Rows of the policy's own that the weights amount to: one that does what the policy does weighs about E[w^2 | x].
    hits: f64,
}

impl Seen {
    fn add(&mut self, t: &Rows, i: usize, crowding: f64, weighting: Weighting) {
        let (omega, crowding) = (t.sample.omega[i], crowding.max(1.0));
        self.rows += omega;
        self.variance += weighting.squared(omega) * (crowding - 1.0);
        self.hits += t.times(i, weighting) * t.weights[i] / crowding;
    }

    /// Whether the policy was seen there, and a mean weight so far below 1 is nothing out of the ordinary.
    fn may_be_chance(&self, lack: f64) -> bool {
        self.hits >= SEEN && lack <= ERRORS * self.variance.sqrt() / self.rows
    }
}

/// Contexts in which the policy does what the log seldom does, and that lack weight.
struct Seldom {
    region: Region,
    /// Whether chance cannot have made the lack. If not, hardly a row shows what happens there.
    certain: bool,
}

impl Seldom {
    /// Share of the policy's mass that is missing.
    fn missing(&self) -> f64 {
        self.region.share * (1.0 - self.region.mean_weight.estimate)
    }
}

/// The contexts in which the policy does what the log seldom does, where their mean weight says that the log does not do it at all, or where, with several actions,
/// one row in 16 or fewer does it and not three did: the most of its mass that is missing so.
fn seldom(crowding: &[f64], t: &Rows, spread: f64, weighting: Weighting, terms: &Terms) -> Option<Seldom> {
    let (weights, omega) = (&t.weights, &t.sample.omega);
    let total = omega.iter().sum::<f64>();
    let of = |limit: &f64| {
        let rows: Vec<usize> = (0..weights.len()).filter(|&i| crowding[i] > *limit).collect();
        let sum = |f: &dyn Fn(f64, f64) -> f64| rows.iter().map(|&i| f(omega[i], weights[i])).sum::<f64>();
        let s = sum(&|s, _| s);
        let mean = sum(&|s, w| s * w) / s;
        let own = sum(&|s, w| weighting.squared(s) * math::powi(w - mean, 2));
        let error = own.max(spread * sum(&|s, _| weighting.squared(s))).sqrt() / s;
        let lack = 1.0 - mean;
        let mut seen = Seen::default();
        rows.iter().for_each(|&i| seen.add(t, i, crowding[i], weighting));
        let certain = lack > ERRORS * error && !seen.may_be_chance(lack);
        // of one action it is known where rows lie (`Law::beyond`), of several only how far they reach
        let unknown = t.q > 1 && *limit >= SELDOM[2] && seen.hits < SEEN;
        let found = rows.len() >= FEWEST_SELDOM && lack > LACK && (certain || unknown);
        let region = || Region {
            contexts: format!("contexts in which fewer than one row in {limit} does what the policy does"),
            share: s / total,
            mean_weight: Interval::normal((mean, error), terms),
            unsupported: true,
        };
        found.then(|| Seldom { region: region(), certain })
    };
    SELDOM.iter().filter_map(of).max_by(|a, b| a.missing().total_cmp(&b.missing()))
}

/// Number, rows and mean weight of every cell that has rows. `spread` is the variance that weights have at least: a cell without a heavy row knows nothing of how rare such rows are.
pub(super) fn cell_means(
    tree: &Tree,
    t: &Rows,
    (weights, spread): (&[f64], f64),
    names: &[String],
    weighting: Weighting,
    terms: &Terms,
) -> Vec<(usize, f64, Region)> {
    // rows, then sums of s, s w, s^2, s^2 w and s^2 w^2: rows may have been kept more or less often
    let mut sums = vec![[0.0; 6]; tree.cells()];
    let total: f64 = t.sample.omega.iter().sum();
    for (i, &w) in weights.iter().enumerate() {
        let cell = &mut sums[tree.cell(|c| t.x(i)[c]).0];
        let (s, square) = (t.sample.omega[i], weighting.squared(t.sample.omega[i]));
        cell.iter_mut().zip([1.0, s, s * w, square, square * w, square * w * w]).for_each(|(sum, v)| *sum += v);
    }
    let mut regions = Vec::new();
    for (number, [n, s, w, squares, sw, sww]) in sums.into_iter().enumerate().filter(|(_, s)| s[0] > 1.0 && s[1] > 0.0)
    {
        let mean = w / s;
        let own = sww - 2.0 * mean * sw + mean * mean * squares;
        let error = own.max(spread * squares).sqrt() / s;
        let mean_weight = Interval::normal((mean, error), terms);
        let contexts = named(tree, number, names);
        regions.push((number, n, Region { contexts, share: s / total, mean_weight, unsupported: false }));
    }
    regions
}

/// The variance of the weights of all rows of either part: where a part happens to lack heavy rows, the other says how much chance can do.
fn spread_of(parts: [&Rows; 2]) -> f64 {
    parts.iter().map(|rows| spread(&rows.weights)).fold(0.0, f64::max)
}

/// The variance of the weights of all rows.
pub(super) fn spread(weights: &[f64]) -> f64 {
    let n = weights.len() as f64;
    let mean = weights.iter().sum::<f64>() / n;
    weights.iter().map(|w| (w - mean) * (w - mean)).sum::<f64>() / n
}

/// A cell in the names of its columns.
pub(super) fn named(tree: &Tree, number: usize, names: &[String]) -> String {
    let short = |v: f64| {
        let text = format!("{v:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    };
    let said: Vec<String> = tree
        .bounds(number)
        .into_iter()
        .filter_map(|(c, above, upto)| {
            let name = names.get(c)?;
            Some(match (above.is_finite(), upto.is_finite()) {
                (true, true) => format!("{} < {name} <= {}", short(above), short(upto)),
                (true, false) => format!("{name} > {}", short(above)),
                _ => format!("{name} <= {}", short(upto)),
            })
        })
        .collect();
    if said.is_empty() { "all contexts".into() } else { said.join(" and ") }
}

/// What contexts explain of the cost, where they explain it on rows that were not used to find it.
fn control(v: &Rows, ranked: &Ranked) -> Option<Control> {
    let rows = |parity: usize| (0..v.len()).filter(move |i| i % 2 == parity);
    let x: Vec<f64> = rows(0).flat_map(|i| v.x(i).to_vec()).collect();
    let y: Vec<f64> = rows(0).map(|i| v.sample.y[i]).collect();
    let half = Tree::grow(&x, v.d, &y, Growth::of_contexts(y.len()));
    let mean = y.iter().sum::<f64>() / y.len() as f64;
    let (mut left, mut total) = (0.0, 0.0);
    for i in rows(1) {
        let y = v.sample.y[i];
        left += math::powi(y - half.cell(|c| v.x(i)[c]).1, 2);
        total += math::powi(y - mean, 2);
    }
    (left < UNEXPLAINED * total)
        .then(|| Control::Contexts(Tree::grow_on(ranked, &v.sample.y, Growth::of_contexts(v.len()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 400 rows one in forty does what the policy does: ten are expected, and half as much weight is chance; next to none is not, and says nothing of what
    /// happens there, whatever chance it has. With weights that vary less half as much is no chance.
    #[test]
    fn a_lack_of_weight_is_chance_only_where_the_policy_was_seen() {
        let seen = |crowding: f64, hits: f64| Seen { rows: 400.0, variance: 400.0 * (crowding - 1.0), hits };
        assert!(seen(40.0, 5.0).may_be_chance(0.5));
        assert!(!seen(40.0, 2.0).may_be_chance(0.8));
        assert!(!seen(2.0, 100.0).may_be_chance(0.5));
        assert!(!Seen::default().may_be_chance(0.5));
    }
}
