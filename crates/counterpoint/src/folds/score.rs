//! The rows behind a verdict: weights and costs, their sums, and the same sums for the replicates of a bootstrap.
//!
//! A certificate needs nine sums of a row's weight and cost. The bootstrap asks for them again in B replicates, in each
//! of which a row counts Poisson(1) times instead of once. Multiplicities of different rows are independent, so
//! replicates of two sets of rows add up like every other sum here, and one pass is enough. They are drawn from a stream
//! named by (seed, row number): the same row counts equally often on any machine, in any order, and for every policy,
//! which is what lets several policies be compared on one set of replicates.

use super::forest::Forest;
use super::tree::Tree;
use crate::data::{Block, Log, Recognised, Span, Weighting};
use crate::engine::{Engine, Fold, Placed};
use crate::error::{Error, Result};
use crate::estimate::Moments;
use crate::math;
use crate::policy::TargetPolicy;
use crate::rng::Poisson;
use crate::rng::{Purpose, hash, stream};
use crate::vector::dispatch;
use fearless_simd::{Level, Simd, SimdBase};
use rand::Rng;
use rand::distr::Distribution;
use serde::{Deserialize, Serialize};

/// Sums a replicate keeps.
const SUMS: usize = Moments::SUMS;

/// Rows whose multiplicities are drawn before they are added up.
const TILE: usize = 32;

/// Replicates that are added up together, a multiple of every vector's length: a tile of them fits in the nearest cache.
const LANES: usize = 128;

/// A block of rows as a certificate sees them: what the policy and the log say of each, and nothing else.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scored {
    /// The place of the block in the log.
    pub index: u64,
    /// Row numbers; they name the random streams, so they must differ from row to row.
    pub ids: Span<u64>,
    /// The keys of the rows' clusters, which then name the random streams: rows of a cluster are drawn together. Empty without clusters.
    pub clusters: Vec<u64>,
    /// ln w, w = pi(a|x) / p.
    pub log_w: Span<f64>,
    /// Costs.
    pub y: Span<f64>,
    /// Row weights.
    pub omega: Span<f64>,
    /// What they mean.
    pub weighting: Weighting,
    /// Sum over rows of the policy's mass outside the range of the logged actions.
    pub outside: f64,
    /// A sum over rows of a hash of all that the log says of them.
    pub fingerprint: u64,
}

impl Scored {
    /// What names the random stream of row i.
    pub fn key(&self, i: usize) -> u64 {
        self.clusters.get(i).copied().unwrap_or(self.ids[i])
    }
}

impl Placed for Scored {
    fn index(&self) -> u64 {
        self.index
    }

    fn passed(&self) {
        self.log_w.passed(size_of_val(&*self.log_w));
        // the rest lies in the file of the log
        self.ids.passed(3 * size_of_val(&*self.ids));
    }
}

impl Scored {
    /// Rows from columns, numbered from `first`, each standing for itself.
    pub fn from_columns(first: u64, log_w: Vec<f64>, y: Vec<f64>) -> Self {
        let ids: Vec<u64> = (first..).take(y.len()).collect();
        let omega = vec![1.0; y.len()].into();
        let fingerprint = ids.iter().zip(&y).fold(0u64, |f, (i, y)| f.wrapping_add(hash(y.to_bits(), *i)));
        Scored { ids: ids.into(), log_w: log_w.into(), y: y.into(), omega, fingerprint, ..Scored::default() }
    }
}

/// Weighs every row of a log by a policy: one [`Scored`] a block. Weights stay logarithms.
///
/// ```
/// use counterpoint::policy::Family;
/// use counterpoint::{Engine, Log, Policy, folds::score};
/// let a = vec![0.5, 1.0, 2.0];
/// let p = a.iter().map(|a| Family::Normal.log_density(*a, 1.0, 2.0).value.exp()).collect();
/// let log = Log::builder().action("a", a).cost("y", vec![1.0, 2.0, 6.0]).propensity("p", p).build()?;
/// let own = Policy::constant(Family::Normal, &[], &["a"], &[1.0], &[2.0])?;
/// let rows = score(&Engine::single(), &log, &own)?;
/// assert!(rows[0].log_w.iter().all(|l| l.abs() < 1e-12)); // the policy that logged the data: every weight is 1
/// # Ok::<(), counterpoint::Error>(())
/// ```
pub fn score(engine: &Engine, log: &Log, policy: &dyn TargetPolicy) -> Result<Vec<Scored>> {
    score_with(engine, log, policy, None)
}

/// The same with costs less what contexts explain of them.
pub fn score_with(
    engine: &Engine,
    log: &Log,
    policy: &dyn TargetPolicy,
    control: Option<&Control>,
) -> Result<Vec<Scored>> {
    policy.check_against(log.schema())?;
    let range: Vec<[f64; 2]> = log.summaries_on(engine).actions.iter().map(|s| [s.min, s.max]).collect();
    let by = Weigher { policy, range: &range, control, weighting: log.schema().weighting };
    let one = |i: usize| {
        let b = &log.blocks()[i];
        let scored = score_block(b, by);
        b.passed();
        scored
    };
    let rows = in_runs(engine, log, one)?;
    for b in &rows {
        if let Some(i) = b.log_w.iter().position(|l| l.is_nan() || *l == f64::INFINITY) {
            return Err(
                Error::numeric("ln w", format!("{} is not a weight", b.log_w[i])).at(format!("row {}", b.ids[i] + 1))
            );
        }
    }
    Ok(rows)
}

/// Rows that have been weighed already, with costs less what is taken out of them: their weights, and what the log says of them, stay.
pub(crate) fn score_again(
    engine: &Engine,
    log: &Log,
    policy: &dyn TargetPolicy,
    rows: &[Scored],
    control: &Control,
) -> Result<Vec<Scored>> {
    in_runs(engine, log, |i| {
        let mut out = rows[i].clone();
        control.apply(&log.blocks()[i], policy, &mut out);
        log.blocks()[i].passed();
        out
    })
}

/// What becomes of every block, by its number; of a log in a scratch file, what is new in it goes to another.
fn in_runs(engine: &Engine, log: &Log, one: impl Fn(usize) -> Scored + Sync + Send) -> Result<Vec<Scored>> {
    let blocks: Vec<usize> = (0..log.blocks().len()).collect();
    let Some(scratch) = log.scratch() else { return Ok(engine.map(&blocks, |i| one(*i))) };
    let mut spill = scratch.open()?;
    let (mut rows, mut places) = (Vec::with_capacity(blocks.len()), Vec::with_capacity(blocks.len()));
    for run in blocks.chunks(SPILLED_RUN) {
        for mut b in engine.map(run, |i| one(*i)) {
            let mut put = |column: &mut Span<f64>| -> Result<Option<usize>> {
                let place = column.in_memory().then(|| spill.put(column)).transpose()?;
                if place.is_some() {
                    *column = Span::default();
                }
                Ok(place)
            };
            let len = b.ids.len();
            places.push((len, [put(&mut b.log_w)?, put(&mut b.y)?]));
            rows.push(b);
        }
    }
    let map = spill.finish()?;
    for (b, (len, [log_w, y])) in rows.iter_mut().zip(places) {
        log_w.into_iter().for_each(|place| b.log_w = map.span(place, len));
        y.into_iter().for_each(|place| b.y = map.span(place, len));
    }
    Ok(rows)
}

/// Blocks whose weights are held in memory before they go to a scratch file.
const SPILLED_RUN: usize = 1024;

/// What a block is weighed by.
#[derive(Clone, Copy)]
pub(crate) struct Weigher<'a> {
    pub(crate) policy: &'a dyn TargetPolicy,
    /// The smallest and the largest logged action, column by column.
    pub(crate) range: &'a [[f64; 2]],
    pub(crate) control: Option<&'a Control>,
    /// What row weights mean.
    pub(crate) weighting: Weighting,
}

/// What is taken out of the costs before they are weighed: what was learned from other rows of how contexts, or contexts and actions, explain
/// them.
///
/// The mean of w g(x) is that of g(x), whatever the policy, so y - g(x) has the same difference between policy and log as y; but
/// contexts that happen to have too much or too little weight no longer pass for a gain, and what contexts explain of the
/// outcome is no noise any more. A model q(x, a) takes out what actions explain as well; what it expects of the policy is then added
/// again, row by row:
///
/// ```text
/// u = w (y - q(x, a)) + E_pi q(x, .) - y          the mean of u is the difference, whatever q
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Control {
    /// Costs become y - g(x), one number a cell of contexts.
    Contexts(Tree),
    /// Costs become y - q(x, a).
    Residuals(Forest),
    /// Costs become u, weights 1.
    Robust(Forest),
}

impl Control {
    /// Takes it out of the costs of a block that has been weighed.
    fn apply(&self, b: &Block, policy: &dyn TargetPolicy, out: &mut Scored) {
        let [d, q] = [b.x.len(), b.a.len()];
        let at = |model: &Forest, i: usize| model.at(|c| if c < d { b.x[c][i] } else { b.a[c - d][i] });
        let rows = 0..b.rows();
        out.y = match self {
            Control::Contexts(cells) => rows.map(|i| b.y[i] - cells.cell(|c| b.x[c][i]).1).collect::<Vec<f64>>(),
            Control::Residuals(model) => rows.map(|i| b.y[i] - at(model, i)).collect(),
            Control::Robust(model) => {
                debug_assert_eq!(model.shape(), [d, q]);
                let mut x = vec![0.0; d];
                let mut one = |i: usize| {
                    b.context(i, &mut x);
                    let expected = model.expected(&x, &*policy.masses(&x));
                    math::exp(out.log_w[i]) * (b.y[i] - at(model, i)) + expected - b.y[i]
                };
                rows.map(&mut one).collect()
            }
        }
        .into();
        if matches!(self, Control::Robust(_)) {
            out.log_w = vec![0.0; b.rows()].into();
        }
    }
}

pub(crate) fn score_block(b: &Block, Weigher { policy, range, control, weighting }: Weigher) -> Scored {
    let mut weights = Vec::with_capacity(b.rows());
    policy.log_densities(b, &mut weights);
    weights.iter_mut().zip(&b.log_p).for_each(|(w, log_p)| *w -= log_p);
    let [low, high] = [0, 1].map(|end| range.iter().map(|r| r[end]).collect::<Vec<f64>>());
    // a policy that does not know its masses says nothing of overlap beyond the logged range
    let inside = policy.masses_within(b, &low, &high).unwrap_or_else(|| vec![1.0; b.rows()]);
    let mut out = Scored { index: b.index, ids: b.ids.clone(), omega: b.omega.clone(), weighting, ..Scored::default() };
    if !b.cluster.is_empty() {
        out.clusters = (0..b.rows()).map(|i| b.key(i)).collect();
    }
    for i in 0..b.rows() {
        out.outside += b.omega[i] * (1.0 - inside[i]);
    }
    out.fingerprint = b.hashes(Recognised::Row).into_iter().fold(0, u64::wrapping_add);
    out.log_w = weights.into();
    match control {
        None => out.y = b.y.clone(),
        Some(control) => control.apply(b, policy, &mut out),
    }
    out
}

/// The fold: the nine sums, once as the rows are and once in every replicate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bootstrap {
    /// Number of replicates B.
    pub replicates: usize,
    /// The seed of the multiplicities.
    pub seed: u64,
    /// ln of the weights' unit; their mean keeps most digits.
    pub log_scale: f64,
    /// What is subtracted from the costs; their mean keeps most digits.
    pub centre: f64,
    /// Which sums.
    pub of: Powers,
    /// Neighbouring rows of a block that are drawn together: 1 draws each row for itself, see [`Bootstrap::together`].
    pub together: usize,
}

/// How often a row with a sampling weight s counts: s times in a mean, s^2 times in a variance. Counted rows count alike in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Powers {
    /// Sums that means are made of.
    #[default]
    Weights,
    /// Sums that variances of sampled rows are made of.
    Squares,
}

impl Powers {
    /// How often a row of this sampling weight counts.
    pub(crate) fn of(self, weight: f64) -> f64 {
        if self == Powers::Squares { weight * weight } else { weight }
    }
}

/// The sums of the rows themselves and of every replicate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replicates {
    /// The rows as they are.
    pub own: Moments,
    /// Sum k of replicate b at `k * stride + b`.
    sums: Vec<f64>,
    stride: usize,
    /// The same with squared sampling weights; empty where rows are counted.
    #[serde(default)]
    squares: Vec<f64>,
}

impl Replicates {
    /// The sums of replicate b.
    pub fn replicate(&self, b: usize) -> Moments {
        let of = |sums: &[f64]| std::array::from_fn(|k| sums[k * self.stride + b]);
        let moments = Moments::of_deviations(of(&self.sums));
        if self.squares.is_empty() { moments } else { moments.with_squares(of(&self.squares)) }
    }

    /// With the sums of the same replicates for squared sampling weights.
    #[must_use]
    pub(crate) fn with_squares(self, squares: Replicates) -> Self {
        Replicates { own: self.own.with_squares(*squares.own.sums()), squares: squares.sums, ..self }
    }
}

impl Bootstrap {
    /// Draws beyond which rows are drawn in groups.
    pub const DRAWS: u64 = 65_536;

    /// How many neighbours are drawn together in a part of so many rows.
    ///
    /// Rows are independent, so groups of them are, and a bootstrap of 65,536 groups has the law of one of all rows: what it loses is the precision
    /// of its variance, a relative error of sqrt(1 / 131,072) = .3%, far below that of a thousand replicates (2.2%). So the draws of a bootstrap do not grow with the log. Where
    /// neighbours are not independent, groups of them are nearer the truth than rows.
    pub fn together(rows: u64) -> usize {
        rows.div_ceil(Self::DRAWS).max(1) as usize
    }

    /// Replicates in whole lanes.
    fn stride(&self) -> usize {
        self.replicates.next_multiple_of(LANES)
    }
}

impl Fold<Scored> for Bootstrap {
    type Partial = Replicates;

    fn zero(&self) -> Replicates {
        let stride = self.stride();
        let sums = vec![0.0; SUMS * stride];
        Replicates { own: Moments::of_deviations([0.0; SUMS]), sums, stride, squares: Vec::new() }
    }

    fn add(&self, rows: &Scored, into: &mut Replicates) {
        let stride = self.stride();
        // rows that count more or less than once, and rows of clusters, have draws of their own
        let alone = !rows.clusters.is_empty() || rows.omega.iter().any(|o| rows.weighting.draw(*o).1 != 1.0);
        let together = if alone { 1 } else { self.together.max(1) };
        let mut terms: Vec<[f64; SUMS]> = Vec::with_capacity(rows.y.len().div_ceil(together));
        for i in 0..rows.y.len() {
            let t = Moments::terms(math::exp_m1(rows.log_w[i] - self.log_scale), rows.y[i] - self.centre);
            let (factor, times) = rows.weighting.draw(rows.omega[i]);
            let t = t.map(|t| self.of.of(factor) * t);
            into.own.add(&t, times);
            match terms.last_mut() {
                Some(group) if !i.is_multiple_of(together) => group.iter_mut().zip(t).for_each(|(g, t)| *g += t),
                _ => terms.push(t),
            }
        }
        if self.replicates == 0 {
            return;
        }
        let level = crate::vector::level();
        let mut bytes = vec![0u8; 2 * stride];
        let mut times = vec![0f32; TILE * stride];
        for (t, tile) in terms.chunks(TILE).enumerate() {
            for (r, times) in times.chunks_exact_mut(stride).take(tile.len()).enumerate() {
                let i = (t * TILE + r) * together;
                let (_, expected) = rows.weighting.draw(rows.omega[i]);
                multiplicities((self.seed, rows.key(i)), expected, level, &mut bytes, times);
            }
            dispatch!(level, simd => add_tile(simd, tile, &times, stride, &mut into.sums));
        }
    }

    fn merge(&self, other: &Replicates, into: &mut Replicates) {
        into.own.add(other.own.sums(), 1.0);
        into.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| *a += b);
    }
}

/// sums[k][b] += sum over the rows of a tile of times[row][b] * terms[row][k]
///
/// A replicate is a lane, and products are rounded before they are added: every instruction set gives the same bits.
fn add_tile<S: Simd>(simd: S, tile: &[[f64; SUMS]], times: &[f32], stride: usize, sums: &mut [f64]) {
    simd.vectorize(
        #[inline(always)]
        || {
            let mut wide = [[0.0f64; LANES]; TILE];
            for b in (0..stride).step_by(LANES) {
                for (wide, times) in wide.iter_mut().zip(times.chunks_exact(stride)) {
                    wide.iter_mut().zip(&times[b..b + LANES]).for_each(|(w, m)| *w = f64::from(*m));
                }
                for at in (0..LANES).step_by(S::f64s::LEN) {
                    let mut acc = [S::f64s::splat(simd, 0.0); SUMS];
                    for (t, wide) in tile.iter().zip(&wide) {
                        let m = S::f64s::from_slice(simd, &wide[at..at + S::f64s::LEN]);
                        for k in 0..SUMS {
                            acc[k] = m * S::f64s::splat(simd, t[k]) + acc[k];
                        }
                    }
                    for (k, acc) in acc.into_iter().enumerate() {
                        let to = &mut sums[k * stride + b + at..][..S::f64s::LEN];
                        (S::f64s::from_slice(simd, to) + acc).store_slice(to);
                    }
                }
            }
        },
    );
}

/// Of 65,536 equally likely numbers, how many stand for a count of 0, 1, 2, ...: Poisson(1) rounded to whole numbers such
/// that mean and variance are exactly 1 (and the third moment within 1e-4 of Poisson's).
const COUNTS: [i32; 9] = [24109, 24110, 12055, 4017, 1005, 201, 34, 4, 1];

/// How often a row of weight omega counts in each replicate: Poisson(omega), seeded by (seed, row).
fn multiplicities((seed, id): (u64, u64), omega: f64, level: Level, bytes: &mut [u8], out: &mut [f32]) {
    let mut rng = stream(seed, Purpose::Bootstrap, id);
    if omega == 1.0 {
        rng.fill_bytes(bytes);
        dispatch!(level, simd => simd.vectorize(#[inline(always)] || counts(bytes, out)));
    } else if let Some(law) = Poisson::new(omega) {
        out.iter_mut().for_each(|m| *m = law.sample(&mut rng) as f32);
    } else {
        out.fill(0.0); // a row of weight 0 is not there
    }
}

/// The counts that pairs of bytes stand for.
#[inline(always)]
fn counts(bytes: &[u8], out: &mut [f32]) {
    let (pairs, _) = bytes.as_chunks::<2>();
    for (m, pair) in out.iter_mut().zip(pairs) {
        let u = i16::from_le_bytes(*pair);
        let mut count = 0i16;
        for t in THRESHOLDS {
            count += i16::from(u >= t);
        }
        *m = f32::from(count);
    }
}

/// The smallest number that stands for a count of 1, 2, ...
const THRESHOLDS: [i16; 8] = {
    let mut t = [0i16; 8];
    let mut sum = i16::MIN as i32;
    let mut k = 0;
    while k < 8 {
        sum += COUNTS[k];
        t[k] = sum as i16;
        k += 1;
    }
    t
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_the_moments_of_the_poisson_law() {
        let moment = |f: fn(i64) -> i64| -> i64 { (0i64..).zip(COUNTS).map(|(k, c)| f(k) * i64::from(c)).sum() };
        assert_eq!(moment(|_| 1), 65_536);
        assert_eq!(moment(|k| k), 65_536);
        assert_eq!(moment(|k| k * (k - 1)), 65_536);
        assert!((moment(|k| k * (k - 1) * (k - 2)) - 65_536).abs() <= 6);
        let (mut sum, n) = ([0.0f64; 2], 400_000);
        let (mut bytes, mut out) = (vec![0; 2000], vec![0.0; 1000]);
        for row in 0..n / 1000 {
            multiplicities((1, row), 1.0, Level::new(), &mut bytes, &mut out);
            out.iter().for_each(|m| {
                sum[0] += f64::from(*m);
                sum[1] += f64::from(*m) * f64::from(*m);
            });
        }
        // standard errors: sqrt(1/n) and sqrt(Var m^2 / n) = sqrt(11/n), at five of them
        assert!((sum[0] / n as f64 - 1.0).abs() < 5.0 / (n as f64).sqrt());
        assert!((sum[1] / n as f64 - 2.0).abs() < 17.0 / (n as f64).sqrt());
    }

    /// Every replicate is the plain sum over its rows, whatever the instruction set; 37 rows leave a tile unfilled.
    #[test]
    fn replicates_are_plain_sums_at_every_level() {
        let terms: Vec<[f64; SUMS]> =
            (0..37).map(|i| std::array::from_fn(|k| (1.0 + (i * 7 + k * 13) as f64).ln())).collect();
        let stride = 2 * LANES;
        let (mut bytes, mut times) = (vec![0u8; 2 * stride], vec![0f32; terms.len().next_multiple_of(TILE) * stride]);
        for (i, times) in times.chunks_exact_mut(stride).enumerate() {
            multiplicities((3, i as u64), 1.0, Level::new(), &mut bytes, times);
        }
        let at = |level: Level| {
            let mut sums = vec![0.0; SUMS * stride];
            for (tile, times) in terms.chunks(TILE).zip(times.chunks(TILE * stride)) {
                dispatch!(level, simd => add_tile(simd, tile, times, stride, &mut sums));
            }
            sums
        };
        let sums = at(Level::new());
        assert_eq!(sums, at(Level::baseline()));
        for (k, b) in [(0, 0), (3, 7), (8, stride - 1)] {
            let plain: f64 = terms.iter().enumerate().map(|(i, t)| f64::from(times[i * stride + b]) * t[k]).sum();
            assert!((sums[k * stride + b] - plain).abs() < 1e-12 * plain.abs(), "{} {plain}", sums[k * stride + b]);
        }
    }

    /// Two rows, w = 1 and 3, y = 2 and 6: L = 5, mean 4, D = 1; psi = (1/2)(2-5) + 2 = 1/2 and (3/2)(1) - 2 = -1/2.
    #[test]
    fn figures_of_two_rows_by_hand() {
        let rows = Scored::from_columns(0, vec![0.0, 3f64.ln()], vec![2.0, 6.0]);
        for (log_scale, centre) in [(0.0, 0.0), (2f64.ln(), 4.0), (-3.0, 100.0)] {
            let fold = Bootstrap { replicates: 0, seed: 0, log_scale, centre, of: Powers::Weights, together: 1 };
            let m = Engine::single().ask(&fold, std::slice::from_ref(&rows)).own;
            let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
            close(m.value().0 + centre, 5.0);
            close(m.value().1, (9.0f64 + 9.0).sqrt() / 4.0);
            close(m.difference().0, 1.0);
            close(m.difference().1, 0.5f64.sqrt() / 2.0);
            close(m.logged().0 + centre, 4.0);
            close(m.logged().1, (4.0f64 / 2.0).sqrt());
            close(m.effective(), 1.6);
            close(m.weight().0 * log_scale.exp(), 2.0);
        }
    }
}
