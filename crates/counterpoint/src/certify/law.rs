//! What the log does given the contexts, so that it can be said how far from it a policy plays.
//!
//! ```text
//! u | x  ~  mean m(x), spread s(x);     z = (u - m(x)) / s(x),     u = a, or ln a where that is less skewed
//! ```
//!
//! m is a parabola, with bends in each context or products of two of them, plus boosted trees, s a tree over what m leaves. They are
//! grown on valid rows, and a bend, a product or a tree is kept only where it also explains the actions of the test rows: an overfitted mean would make a policy that follows
//! the log look far from it. Actions and contexts are all that is read, no outcome, so the test part may take part. The range of z over
//! all rows, less the gaps in it, is what the log did; a policy's mass beyond it lies where no row of like context is. Nor is there
//! any to speak of where fewer than five rows of all lie within the policy's reach.

use super::coverage::Rows;
use crate::error::{Error, Result};
use crate::folds::{Growth, Ranked, Tree};
use crate::linalg::cholesky_solve;
use crate::math;
use crate::policy::{AxisScale, Ready, TargetPolicy};

/// Trees of a mean at most, and how much of each is taken.
const ROUNDS: usize = 12;
const SHARE: f64 = 0.5;

/// The mean distance of a normal number from its mean, in stds, is 1 over this.
const STD_OF_DISTANCE: f64 = 1.2533;

/// Contexts further out than this many stds count as this far: a parabola says nothing there.
const FAR: f64 = 3.0;

/// Rows per coefficient of a curve at least.
const ROWS_A_TERM: usize = 10;

/// What a larger law must leave of the squares of test rows that a smaller one leaves: less gain is chance, and blurs what the log did.
const WORTH: f64 = 0.99;

/// Bends of a line in each context, at evenly spaced ranks.
const BENDS: usize = 7;

/// Coefficients of a curve at most: their square is work.
const MOST_TERMS: usize = 200;

/// Rows that the log must have where a policy plays, in all contexts together and in stds from its mean: with fewer, nothing of like
/// contexts shows what happens there.
const ROWS_THERE: usize = 5;

/// A row of more weight shows that the log does act there, whatever the fit says of its context.
const NOT_THERE: f64 = 0.05;

/// What an action may lose, in stds, on its way to a z and back.
const ROUNDING: f64 = 1e-9;

/// Four fifths of a normal law lie within so many stds.
const FOUR_FIFTHS: f64 = 1.2816;

/// A stretch without any z counts as a gap if it is so wide in stds, ..
const GAP: f64 = 0.25;

/// .. and this share of the rows lies on either side: the tails of a law are thin, but no gap.
const BESIDE: f64 = 0.05;

/// Bins of the log's actions, given the contexts.
const BINS: usize = 32;

/// How wide a probe of the densities is, in stds of the log.
const PROBE: f64 = 0.5;

/// The logging law given x, for each action column.
pub(super) struct Law {
    columns: Vec<Column>,
}

/// Mean and spread of one action column, on a scale.
struct Column {
    scale: AxisScale,
    curve: Curve,
    trees: Vec<Tree>,
    spread: Tree,
}

/// What a curve has beside a parabola in each context.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// Not even that: a constant.
    Flat,
    /// Nothing.
    Plain,
    /// Hinges max(z - k, 0) at the knots k of each context.
    Bent,
    /// Products of two contexts.
    Crossed,
}

/// A curve in the contexts, z being the standardised ones: <b, z> + <c, z^2> + b_0, and what its shape adds.
struct Curve {
    centre: Vec<f64>,
    scale: Vec<f64>,
    knots: Vec<[f64; BENDS]>,
    shape: Shape,
    terms: usize,
    beta: Vec<f64>,
}

impl Curve {
    /// The least squares of a curve; nothing where rows do not afford it.
    fn fit(v: &Rows, ranked: &Ranked, target: &[f64], shape: Shape) -> Result<Option<Curve>> {
        let (n, d) = (v.len(), v.d);
        let mean = |c: usize| (0..n).map(|i| v.x(i)[c]).sum::<f64>() / n as f64;
        let centre: Vec<f64> = (0..d).map(mean).collect();
        let std = |c: usize| ((0..n).map(|i| math::powi(v.x(i)[c] - centre[c], 2)).sum::<f64>() / n as f64).sqrt();
        let scale = (0..d).map(|c| if std(c) > 0.0 { std(c) } else { 1.0 }).collect();
        let affordable = |terms: usize| terms * ROWS_A_TERM <= n;
        let more = |terms: usize| (affordable(terms) && terms <= MOST_TERMS).then_some(terms);
        let terms = match shape {
            Shape::Flat => Some(1),
            Shape::Plain => Some([2 * d + 1, d + 1].into_iter().find(|t| affordable(*t)).unwrap_or(1)),
            Shape::Bent => more((2 + BENDS) * d + 1),
            Shape::Crossed => more(2 * d + 1 + d * (d - 1) / 2).filter(|_| d > 1),
        };
        let Some(terms) = terms else { return Ok(None) };
        let mut curve = Curve { centre, scale, knots: Vec::new(), shape, terms, beta: vec![0.0; terms] };
        curve.knots = (0..d).map(|c| curve.ranks(v, ranked.by(c), c)).collect();
        let (mut gram, mut moments) = (vec![0.0; terms * terms], vec![0.0; terms]);
        for (i, t) in target.iter().enumerate() {
            let f = curve.features(v.x(i));
            for p in 0..terms {
                moments[p] += f[p] * t;
                (0..terms).for_each(|q| gram[p * terms + q] += f[p] * f[q]);
            }
        }
        // contexts that say the same, or nothing, share what there is
        (0..terms).for_each(|p| gram[p * terms + p] += 1e-6 * n as f64);
        curve.beta = cholesky_solve(&gram, &moments)?;
        Ok(Some(curve))
    }

    /// The standardised context c at evenly spaced ranks.
    fn ranks(&self, v: &Rows, order: &[u32], c: usize) -> [f64; BENDS] {
        std::array::from_fn(|k| self.standard(v.x(order[(k + 1) * order.len() / (BENDS + 1)] as usize), c))
    }

    fn standard(&self, x: &[f64], c: usize) -> f64 {
        ((x[c] - self.centre[c]) / self.scale[c]).clamp(-FAR, FAR)
    }

    /// 1, z, z^2 and what the shape adds, as many as there are terms.
    fn features(&self, x: &[f64]) -> Vec<f64> {
        let d = x.len();
        let z: Vec<f64> = (0..d).map(|c| self.standard(x, c)).collect();
        let mut all = Vec::with_capacity(self.terms.max(2 * d + 1));
        all.push(1.0);
        all.extend_from_slice(&z);
        all.extend(z.iter().map(|z| z * z));
        match self.shape {
            Shape::Flat | Shape::Plain => {}
            Shape::Bent => all.extend((0..d).flat_map(|c| self.knots[c].map(|k| (z[c] - k).max(0.0)))),
            Shape::Crossed => {
                all.extend((0..d).flat_map(|c| z[..c].iter().map(|other| other * z[c]).collect::<Vec<f64>>()))
            }
        }
        all.truncate(self.terms);
        all
    }

    fn at(&self, x: &[f64]) -> f64 {
        self.features(x).iter().zip(&self.beta).map(|(f, b)| f * b).sum()
    }

    /// What the curve leaves of a target.
    fn residuals(&self, rows: &Rows, target: &[f64]) -> Vec<f64> {
        target.iter().enumerate().map(|(i, t)| t - self.at(rows.x(i))).collect()
    }
}

fn squares(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum()
}

impl Column {
    fn fit(v: &Rows, t: &Rows, ranked: &Ranked, c: usize) -> Result<Column> {
        let mut all: Vec<f64> = [v, t].iter().flat_map(|rows| (0..rows.len()).map(move |i| rows.a(i, c))).collect();
        all.sort_by(f64::total_cmp);
        let scale = AxisScale::of(&all);
        let actions = |rows: &Rows| (0..rows.len()).map(|i| scale.position(rows.a(i, c))).collect::<Vec<f64>>();
        let (ours, theirs) = (actions(v), actions(t));
        let left = |curve: &Curve| squares(&curve.residuals(t, &theirs));
        let mut curve =
            Curve::fit(v, ranked, &ours, Shape::Flat)?.ok_or_else(|| Error::numeric("logging law", "no curve"))?;
        for shape in [Shape::Plain, Shape::Bent, Shape::Crossed] {
            if let Some(other) = Curve::fit(v, ranked, &ours, shape)?.filter(|other| left(other) < WORTH * left(&curve))
            {
                curve = other;
            }
        }
        let less = |rows: &Rows, left: &[f64], tree: &Tree| -> Vec<f64> {
            left.iter().enumerate().map(|(i, r)| r - SHARE * tree.cell(|c| rows.x(i)[c]).1).collect()
        };
        let (mut known, mut asked) = (curve.residuals(v, &ours), curve.residuals(t, &theirs));
        let growth = Growth { cells: 12, rows: (v.len() / 60).max(20) };
        let mut trees = Vec::new();
        for _ in 0..ROUNDS {
            let tree = Tree::grow_on(ranked, &known, growth);
            let left = less(t, &asked, &tree);
            let worth = if trees.is_empty() { WORTH } else { 1.0 };
            if squares(&left) >= worth * squares(&asked) {
                break;
            }
            (known, asked) = (less(v, &known, &tree), left);
            trees.push(tree);
        }
        known.iter_mut().chain(&mut asked).for_each(|r| *r = r.abs());
        let grow = |cells: usize| {
            let growth = Growth { cells, rows: (v.len() / 30).max(30) };
            let tree = Tree::grow_on(ranked, &known, growth);
            let left: Vec<f64> = asked.iter().enumerate().map(|(i, r)| r - tree.cell(|c| t.x(i)[c]).1).collect();
            (squares(&left), tree)
        };
        let (cut, whole) = (grow(8), grow(1));
        let spread = if cut.0 < WORTH * whole.0 { cut.1 } else { whole.1 };
        Ok(Column { scale, curve, trees, spread })
    }

    /// How many spreads an action lies from the mean given x.
    fn z(&self, x: &[f64], a: f64) -> f64 {
        let (mean, std) = self.at(x);
        // on the logarithmic scale there is nothing at or below 0, and all of it is far away
        let a = if self.scale == AxisScale::Log { a.max(f64::MIN_POSITIVE) } else { a };
        (self.scale.position(a) - mean) / std
    }

    /// Mean and spread of positions given x.
    fn at(&self, x: &[f64]) -> (f64, f64) {
        let trees: f64 = self.trees.iter().map(|t| SHARE * t.cell(|c| x[c]).1).sum();
        let spread = self.spread.cell(|c| x[c]).1 * STD_OF_DISTANCE;
        (self.curve.at(x) + trees, spread.max(f64::MIN_POSITIVE))
    }
}

impl Law {
    /// Fits the law to valid rows, as complex as test rows confirm.
    pub(super) fn fit(v: &Rows, t: &Rows, ranked: &Ranked) -> Result<Law> {
        Ok(Law { columns: (0..v.q).map(|c| Column::fit(v, t, ranked, c)).collect::<Result<_>>()? })
    }

    /// ln of the density, at row i, of a law half as wide as the log's, moved by so many of its stds.
    pub(super) fn probe(&self, rows: &Rows, i: usize, place: f64) -> f64 {
        let of = |(c, column): (usize, &Column)| {
            let (std, a) = (column.at(rows.x(i)).1, rows.a(i, c));
            let z = (column.z(rows.x(i), a) - place) / PROBE;
            -0.5 * z * z - math::ln(PROBE * std) - 0.5 * math::ln(std::f64::consts::TAU) + column.scale.log_slope(a)
        };
        self.columns.iter().enumerate().map(of).sum()
    }

    /// How many stds the first action of row i lies from the log's mean.
    pub(super) fn place(&self, rows: &Rows, i: usize) -> f64 {
        self.columns[0].z(rows.x(i), rows.a(i, 0))
    }

    /// How long the part of a stretch of these stds is that lies between two values of the first action; 0 where ends have changed places.
    pub(super) fn length(&self, x: &[f64], [from, to]: [f64; 2], [least, most]: [f64; 2]) -> f64 {
        let column = &self.columns[0];
        let (mean, std) = column.at(x);
        let at = |z: f64| column.scale.action(mean + z * std).clamp(least, most);
        (at(to) - at(from)).max(0.0)
    }

    /// The z of the rows in ascending order, action by action.
    fn sorted(&self, parts: [&Rows; 2]) -> Vec<Vec<f64>> {
        let of = |(c, column): (usize, &Column)| {
            let mut z: Vec<f64> = parts
                .iter()
                .flat_map(|rows| (0..rows.len()).map(move |i| (rows.x(i), rows.a(i, c))))
                .map(|(x, a)| column.z(x, a))
                .collect();
            z.sort_by(f64::total_cmp);
            z
        };
        self.columns.iter().enumerate().map(of).collect()
    }

    /// The policy's mass beyond all that the log did, context by context; nothing where the policy does not know its masses.
    pub(super) fn beyond(&self, parts: [&Rows; 2], policy: &dyn TargetPolicy) -> Option<Vec<f64>> {
        let sorted = self.sorted(parts);
        // one row in two thousand at either end may be a slip of the fit
        let stretches: Vec<_> =
            sorted.iter().map(|z| without_gaps(&z[z.len() / 2000..z.len() - z.len() / 2000])).collect();
        let q = self.columns.len();
        let mut ready = Ready::new(policy);
        let (mut low, mut high) = (vec![0.0; q], vec![0.0; q]);
        // gaps are looked for where there is one action; of several, the outer ends count
        let pieces = if q == 1 { stretches[0].len() } else { 1 };
        let mut beyond = Vec::with_capacity(parts[0].len() + parts[1].len());
        for (x, weight) in parts.iter().flat_map(|rows| (0..rows.len()).map(move |i| (rows.x(i), rows.weight(i)))) {
            let mut within = 0.0;
            for piece in 0..pieces {
                for (c, column) in self.columns.iter().enumerate() {
                    let (mean, std) = column.at(x);
                    let of = &stretches[c];
                    let [from, to] = if q == 1 { of[piece] } else { [of[0][0], of[of.len() - 1][1]] };
                    // the last point of a grid lies within, whatever its z was rounded to
                    let at = |z: f64| column.scale.action(mean + z * std);
                    (low[c], high[c]) = (at(from - ROUNDING), at(to + ROUNDING));
                }
                within += policy.mass_within(x, &low, &high)?;
            }
            let lonely = q == 1
                && weight <= NOT_THERE
                && ready.mean(x).is_some_and(|m| self.rows_there(&sorted[0], x, m[0], policy) < ROWS_THERE);
            beyond.push(if lonely { 1.0 } else { (1.0 - within).clamp(0.0, 1.0) });
        }
        Some(beyond)
    }

    /// How many of the sorted z lie where the policy plays most of the time given x, if it is about as wide as a normal law with its density
    /// at the mean; at least a fifth of the log's std, at most six of them.
    fn rows_there(&self, sorted: &[f64], x: &[f64], mean: f64, policy: &dyn TargetPolicy) -> usize {
        let (column, std) = (&self.columns[0], self.columns[0].at(x).1);
        // the width of a normal law with the policy's density of positions
        let own =
            math::exp(column.scale.log_slope(mean) - policy.log_density(x, &[mean])) / std::f64::consts::TAU.sqrt();
        let (z, half) = (column.z(x, mean), (FOUR_FIFTHS * own / std).clamp(0.1, 3.0));
        let below = |end: f64| sorted.partition_point(|z| *z < end);
        below(z + half) - below(z - half)
    }

    /// How far the policy narrows down what the log does, context by context: E[w^2 | x] of actions put into bins that hold equal shares of
    /// the log. No less than that many rows of like context are as good as one row of the policy's own; what bins hide only adds to it.
    /// Of a policy that knows its law; in the contexts of the second part only: the law that the first part taught lies nearer to the actions
    /// of its own rows than to others, and a context would seem far where its row has little weight.
    pub(super) fn crowding(&self, parts: [&Rows; 2], policy: &dyn TargetPolicy) -> Option<Vec<f64>> {
        let [column] = &self.columns[..] else { return self.crowding_of_several(parts, policy) };
        let z = &self.sorted(parts)[0];
        let n = z.len();
        let mut ends: Vec<f64> = (1..BINS).map(|k| z[k * n / BINS]).collect();
        ends.dedup();
        let below = |end: f64| z.partition_point(|z| *z <= end) as f64 / n as f64;
        let shares: Vec<f64> = ends.iter().map(|end| below(*end)).collect();
        let one = |x: &[f64]| {
            let ((mean, std), masses) = (column.at(x), policy.masses(x));
            let (mut squares, mut done) = (0.0, [0.0, 0.0]);
            let all = ends.iter().zip(&shares).map(|(z, share)| (column.scale.action(mean + z * std), *share));
            for (end, share) in all.chain([(f64::INFINITY, 1.0)]) {
                let mass = masses(&[f64::NEG_INFINITY], &[end]);
                if share > done[1] {
                    squares += math::powi(mass - done[0], 2) / (share - done[1]);
                    done = [mass, share];
                }
            }
            squares
        };
        let crowding: Vec<f64> = (0..parts[1].len()).map(|i| one(parts[1].x(i))).collect();
        crowding.iter().all(|c| c.is_finite()).then_some(crowding)
    }

    /// The same for several actions: bins of each, and boxes of them all. A box without a row counts as having one.
    fn crowding_of_several(&self, parts: [&Rows; 2], policy: &dyn TargetPolicy) -> Option<Vec<f64>> {
        let q = self.columns.len();
        let bins = (2..=BINS).take_while(|b| b.pow(q as u32) <= BINS + 4).last()?;
        let sorted = self.sorted(parts);
        let (n, boxes) = (sorted[0].len(), bins.pow(q as u32));
        let ends: Vec<Vec<f64>> = sorted.iter().map(|z| (1..bins).map(|k| z[k * n / bins]).collect()).collect();
        let mut rows = vec![0.0f64; boxes];
        for (x, i, part) in parts.iter().flat_map(|p| (0..p.len()).map(move |i| (p.x(i), i, p))) {
            let bin = |c: usize| ends[c].partition_point(|end| *end < self.columns[c].z(x, part.a(i, c)));
            rows[(0..q).fold(0, |at, c| at * bins + bin(c))] += 1.0;
        }
        let shares: Vec<f64> = rows.iter().map(|r| r.max(1.0) / n as f64).collect();
        let one = |x: &[f64]| {
            let masses = policy.masses(x);
            let edge = |c: usize, k: usize| match k {
                0 => f64::NEG_INFINITY,
                k if k == bins => f64::INFINITY,
                k => {
                    let (mean, std) = self.columns[c].at(x);
                    self.columns[c].scale.action(mean + ends[c][k - 1] * std)
                }
            };
            let edges: Vec<Vec<f64>> = (0..q).map(|c| (0..=bins).map(|k| edge(c, k)).collect()).collect();
            let (mut low, mut high) = (vec![0.0; q], vec![0.0; q]);
            let mut squares = 0.0;
            for (number, share) in shares.iter().enumerate() {
                let mut left = number;
                for c in (0..q).rev() {
                    (low[c], high[c]) = (edges[c][left % bins], edges[c][left % bins + 1]);
                    left /= bins;
                }
                squares += math::powi(masses(&low, &high), 2) / share;
            }
            squares
        };
        let crowding: Vec<f64> = (0..parts[1].len()).map(|i| one(parts[1].x(i))).collect();
        crowding.iter().all(|c| c.is_finite()).then_some(crowding)
    }

    /// How many of the log's stds the policy's mean lies from the log's: median, 90%, 99% and largest over the rows.
    pub(super) fn distance(&self, t: &Rows, policy: &dyn TargetPolicy) -> Option<[f64; 4]> {
        let (mut far, mut ready) = (Vec::with_capacity(t.len()), Ready::new(policy));
        for i in 0..t.len() {
            let mean = ready.mean(t.x(i))?;
            let of = |(c, column): (usize, &Column)| column.z(t.x(i), mean[c]).abs();
            far.push(self.columns.iter().enumerate().map(of).fold(0.0, f64::max));
        }
        far.sort_by(f64::total_cmp);
        Some([0.5, 0.9, 0.99, 1.0].map(|q| far[((far.len() - 1) as f64 * q) as usize]))
    }
}

/// The stretches that sorted numbers cover: all from the smallest to the largest, less the gaps. Between the points of a grid there is
/// no gap: what lies on either side of one is at least half as wide.
fn without_gaps(z: &[f64]) -> Vec<[f64; 2]> {
    let n = z.len();
    let beside = ((BESIDE * n as f64) as usize).max(1);
    // runs of neighbours that are closer than a gap, by rank
    let mut ends: Vec<usize> = (1..n).filter(|&k| z[k] - z[k - 1] > GAP).collect();
    ends.push(n);
    let runs: Vec<[usize; 2]> =
        ends.iter().enumerate().map(|(i, &end)| [if i == 0 { 0 } else { ends[i - 1] }, end]).collect();
    let width = |[from, end]: [usize; 2]| z[end - 1] - z[from];
    let mut stretches = vec![[z[0], z[n - 1]]];
    for pair in runs.windows(2) {
        let k = pair[1][0];
        let gap = z[k] - z[k - 1];
        if k >= beside && n - k >= beside && width(pair[0]) > 0.5 * gap && width(pair[1]) > 0.5 * gap {
            let last = stretches.len() - 1;
            stretches[last][1] = z[k - 1];
            stretches.push([z[k], z[n - 1]]);
        }
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_lie_between_many_rows_and_not_in_tails_or_grids() {
        let line = |n: usize, from: f64, to: f64| (0..n).map(move |i| from + (to - from) * i as f64 / (n - 1) as f64);
        let whole: Vec<f64> = line(300, -2.0, 2.0).collect();
        assert_eq!(without_gaps(&whole), [[-2.0, 2.0]]);
        let humps: Vec<f64> = line(150, -2.0, -0.5).chain(line(150, 0.5, 2.0)).collect();
        assert_eq!(without_gaps(&humps), [[-2.0, -0.5], [0.5, 2.0]]);
        // five rows far out are a tail
        let tail: Vec<f64> = line(300, -2.0, 2.0).chain(line(5, 3.0, 6.0)).collect();
        assert_eq!(without_gaps(&tail).len(), 1);
        let grid: Vec<f64> = (0..300).map(|i| f64::from(i / 50)).collect();
        assert_eq!(without_gaps(&grid).len(), 1);
    }
}
