//! One number made of the contexts says where the best action lies.
//!
//! ```text
//! q(x, a) = <c, psi(x)> + h(r) + m g(r),    m = <w, psi(x)>,    r = a - m
//! ```
//!
//! psi are the columns of a ridge regression, standardised, h and g quadratic splines. A cost that follows the distance to a line, a price that earns itself up to
//! what a customer would pay, a dose that is right for a weight: each is a curve in r, and a ridge on (contexts) x (actions) needs a product of two
//! bases for it where this needs a sum. So forty contexts can be learned from hundreds of rows. In the ends of r the curves are flat.
//!
//! The fit is Gauss-Newton along a path of penalties on w, from one that leaves nothing of it, where the problem is a regression on the action alone,
//! down to next to nothing; each step begins where the last one ended, and held-out rows say where on the path to stay. With the columns, the same.

use super::order::{Ordered, Unit, share};
use super::ridge::{ContextBasis, ContextShape};
use super::{Rows, levels::levels};
use crate::error::{Error, Result};
use crate::linalg::{add_gram, cholesky_solve};
use serde::{Deserialize, Serialize};

/// Pieces of the two curves.
const PIECES: usize = 10;

/// Functions that make a curve.
const SPLINES: usize = PIECES + 2;

/// Penalties on w and g that are tried, from the largest down.
const PATH: [f64; 7] = [1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.0005];

/// Gauss-Newton steps at each of them, and on all rows at the one that was chosen.
const STEPS: usize = 2;
const LAST_STEPS: usize = 3;

/// Penalties on c, and on the bends of the curves; both in units of the variance of the costs.
const MAIN: f64 = 0.01;
const BENDS: f64 = 0.002;

/// A penalty on h that matters only where no row lies.
const LEAST: f64 = 1e-6;

/// The share of the rows that chooses.
const HELD: f64 = 0.2;

/// Rows times squared columns of one step at most, on the way down and at its end: of more rows a fair sample is seen.
const WORK: usize = 30_000_000;
const LAST_WORK: usize = 150_000_000;

/// Columns of the contexts at most (but for as many as there are contexts), and rows per column at least.
const MOST_COLUMNS: usize = 100;
const ROWS_PER_COLUMN: usize = 6;

/// Share of the rows beyond each end of the range of r.
const ENDS: f64 = 0.005;

/// Rows whose columns are formed before they are added up.
const RUN: usize = 256;

/// The model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    contexts: ContextBasis,
    /// Centre and size of each context column but the constant.
    columns: Vec<[f64; 2]>,
    /// Those of the action and of the cost.
    action: [f64; 2],
    cost: [f64; 2],
    /// Where r lies.
    range: [f64; 2],
    /// c; the constant is in the curves, whose splines add up to 1.
    main: Vec<f64>,
    /// w.
    along: Vec<f64>,
    /// h, then g.
    curves: Vec<f64>,
}

impl Index {
    /// Columns and penalty by held-out rows.
    pub(crate) fn choose(rows: &Rows, seed: u64) -> Result<IndexChoice> {
        let ordered = Ordered::new(rows, seed)?;
        let mut best: Option<(f64, IndexChoice)> = None;
        for shape in shapes(rows) {
            let seen = Seen::of(rows, &ordered, shape, seed)?;
            let (error, penalty) = seen.choose();
            if best.is_none_or(|b| error < b.0) {
                best = Some((error, IndexChoice { shape, penalty }));
            }
        }
        best.map(|b| b.1).ok_or_else(|| too_few(rows))
    }

    /// Fits the model with columns and penalty of a choice, which may be that of other rows.
    pub(crate) fn fit(rows: &Rows, choice: &IndexChoice, seed: u64) -> Result<Index> {
        let alike = |s: &ContextShape| std::mem::discriminant(s) == std::mem::discriminant(&choice.shape);
        let all = shapes(rows);
        // codes may be too many in these rows
        let shape = all.iter().find(|s| alike(s)).or(all.first()).ok_or_else(|| too_few(rows))?;
        let seen = Seen::of(rows, &Ordered::new(rows, seed)?, *shape, seed)?;
        let fit = seen.along_path((0, seen.n), choice.penalty, |_, _| ());
        Ok(seen.model(fit))
    }

    /// Whether so many rows with so many contexts can carry one.
    pub(crate) fn carried(contexts: usize, rows: usize) -> bool {
        contexts > 0 && contexts * ROWS_PER_COLUMN <= rows
    }

    /// q(x, a).
    pub fn at(&self, x: &[f64], a: f64) -> f64 {
        let mut out = [0.0];
        self.at_knots(x, &[a], &mut out);
        out[0]
    }

    /// q(x, g) for each of these actions.
    pub fn at_knots(&self, x: &[f64], knots: &[f64], out: &mut [f64]) {
        let mut psi = vec![0.0; self.contexts.dim()];
        self.contexts.apply(x, &mut vec![0.0; x.len()], &mut psi);
        let p = self.columns.len();
        psi.iter_mut().zip(&self.columns).for_each(|(f, unit)| *f = standard(*f, *unit));
        let m = dot(&psi[..p], &self.along);
        let level = dot(&psi[..p], &self.main);
        for (o, g) in out.iter_mut().zip(knots) {
            let r = (g - self.action[0]) / self.action[1] - m;
            let (value, _) = curves(&self.curves, self.range, r, m);
            *o = self.cost[0] + self.cost[1] * (level + value);
        }
    }

    /// Refuses a model that was damaged, or made for another number of contexts.
    pub fn check(&self, d: usize) -> Result<()> {
        self.contexts.check(d)?;
        let p = self.columns.len();
        let fits = self.contexts.dim() == p + 1
            && self.main.len() == p
            && self.along.len() == p
            && self.curves.len() == 2 * SPLINES;
        let pairs = self.columns.iter().chain([&self.action, &self.cost, &self.range]).flatten();
        let finite = pairs.chain(&self.main).chain(&self.along).chain(&self.curves).all(|v| v.is_finite());
        let sized = self.columns.iter().chain([&self.action]).all(|c| c[1] > 0.0);
        match fits && finite && sized && self.range[0] < self.range[1] {
            true => Ok(()),
            false => Err(Error::policy("the curves or coefficients of its index are damaged")
                .at("index of a cost model")
                .hint("the file is damaged: write it again")),
        }
    }
}

/// Columns and penalty of an index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct IndexChoice {
    shape: ContextShape,
    penalty: f64,
}

fn too_few(rows: &Rows) -> Error {
    Error::recipe("models", format!("{} rows are too few for an index of their contexts", rows.len()))
        .hint("choose linear or constant models, or leave the choice open")
}

/// The context columns that are tried: those that the rows can carry.
fn shapes(rows: &Rows) -> Vec<ContextShape> {
    let d = rows.d;
    if d == 0 {
        return Vec::new();
    }
    let codes: Vec<usize> = (0..d).map(|j| levels(rows, j).len()).collect();
    let marks: usize = codes.iter().map(|l| l.saturating_sub(1).max(1)).sum();
    let mut all = vec![(ContextShape::Linear, d), (ContextShape::Splines(3), 4 * d)];
    if codes.iter().any(|l| *l > 0) && marks > d {
        all.push((ContextShape::Levels(marks), marks));
    }
    let carried = |p: usize| p <= MOST_COLUMNS.max(d) && Index::carried(p, rows.len());
    all.into_iter().filter(|(_, p)| carried(*p)).map(|(shape, _)| shape).collect()
}

/// A column without its unit; a missing context lies in the middle.
fn standard(v: f64, [centre, size]: [f64; 2]) -> f64 {
    if v.is_finite() { (v - centre) / size } else { 0.0 }
}

fn dot(u: &[f64], v: &[f64]) -> f64 {
    u.iter().zip(v).fold(0.0, |s, (u, v)| s + u * v)
}

/// The three quadratic splines that are not 0 at r, with their slopes, and the first of their numbers; slopes are 0 beyond the ends.
fn splines(range: [f64; 2], r: f64) -> (usize, [f64; 3], [f64; 3]) {
    let step = (range[1] - range[0]) / PIECES as f64;
    let t = ((r - range[0]) / step).clamp(0.0, PIECES as f64);
    let piece = (t as usize).min(PIECES - 1);
    let u = t - piece as f64;
    let values = [0.5 * (1.0 - u) * (1.0 - u), 0.5 + u * (1.0 - u), 0.5 * u * u];
    let inside = if r > range[0] && r < range[1] { 1.0 / step } else { 0.0 };
    (piece, values, [(u - 1.0) * inside, (1.0 - 2.0 * u) * inside, u * inside])
}

/// h(r) + m g(r), and its slope in m where r = a - m.
fn curves(of: &[f64], range: [f64; 2], r: f64, m: f64) -> (f64, f64) {
    let (first, value, slope) = splines(range, r);
    let (h, g) = (&of[first..first + 3], &of[SPLINES + first..SPLINES + first + 3]);
    let at = dot(h, &value) + m * dot(g, &value);
    (at, dot(g, &value) - dot(h, &slope) - m * dot(g, &slope))
}

/// Rows as the fit sees them: everything without unit, in an order of their own.
struct Seen {
    basis: ContextBasis,
    columns: Vec<[f64; 2]>,
    action: Unit,
    cost: Unit,
    /// Rows of the path, and of its end.
    few: usize,
    n: usize,
    p: usize,
    psi: Vec<f64>,
    a: Vec<f64>,
    y: Vec<f64>,
    omega: Vec<f64>,
}

/// The numbers of a fit.
#[derive(Clone)]
struct Numbers {
    range: [f64; 2],
    main: Vec<f64>,
    along: Vec<f64>,
    curves: Vec<f64>,
}

impl Seen {
    fn of(rows: &Rows, ordered: &Ordered, shape: ContextShape, seed: u64) -> Result<Seen> {
        let basis = ContextBasis::learn(rows, shape, seed)?;
        let p = basis.dim() - 1;
        let width = 2 * p + 2 * SPLINES + 2;
        // rows stand in the order of a hash, so the first ones are a fair sample
        let most = |work: usize| (work / (width * width)).max(2 * ROWS_PER_COLUMN * p);
        let n = ordered.len().min(most(LAST_WORK));
        let mut psi = vec![0.0; n * p];
        let (mut room, mut row) = (vec![0.0; rows.d], vec![0.0; p + 1]);
        for (i, out) in psi.chunks_exact_mut(p).enumerate() {
            basis.apply(rows.context(ordered.row[i] as usize), &mut room, &mut row);
            out.copy_from_slice(&row[..p]);
        }
        let units: Vec<Unit> = (0..p).map(|j| Unit::of((0..n).map(|i| (psi[i * p + j], 1.0)))).collect();
        let columns: Vec<[f64; 2]> =
            units.iter().map(|u| [u.centre, if u.scale > 0.0 { u.scale } else { 1.0 }]).collect();
        // on a grid, so that a change of units changes no bit
        let strip = |f: &mut f64, u: &Unit| *f = if f.is_finite() { u.strip(*f) } else { 0.0 };
        psi.chunks_exact_mut(p).for_each(|row| row.iter_mut().zip(&units).for_each(|(f, u)| strip(f, u)));
        let own = |i: usize| rows.a[ordered.row[i] as usize];
        let action = Unit::of((0..n).map(|i| (own(i), ordered.omega[i])).collect::<Vec<_>>().into_iter());
        let action = Unit { scale: if action.scale > 0.0 { action.scale } else { 1.0 }, ..action };
        Ok(Seen {
            a: (0..n).map(|i| action.strip(own(i))).collect(),
            y: ordered.y[..n].to_vec(),
            omega: ordered.omega[..n].to_vec(),
            cost: ordered.cost,
            basis,
            columns,
            action,
            few: n.min(most(WORK)),
            n,
            p,
            psi,
        })
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.psi[i * self.p..(i + 1) * self.p]
    }

    /// The error of held-out rows and the penalty at which it is least.
    fn choose(&self) -> (f64, f64) {
        let held = share(self.few, HELD);
        let mut best = (f64::INFINITY, PATH[0]);
        self.along_path((held, self.few), PATH[PATH.len() - 1], |penalty, fit| {
            let error = self.error(fit, (0, held));
            if error < best.0 {
                best = (error, penalty);
            }
        });
        best
    }

    /// Down the path to a penalty, where the steps are on all of the rows; `seen` is shown what stands at each.
    fn along_path(&self, rows: (usize, usize), last: f64, mut seen: impl FnMut(f64, &Numbers)) -> Numbers {
        let mut fit = Numbers {
            range: [-1.0, 1.0],
            main: vec![0.0; self.p],
            along: vec![0.0; self.p],
            curves: vec![0.0; 2 * SPLINES],
        };
        let few = (rows.0, rows.1.min(rows.0 + self.few));
        self.settle(&mut fit, few, PATH[0]);
        for penalty in PATH.into_iter().filter(|l| *l >= last) {
            let (rows, steps) = if penalty == last { (rows, LAST_STEPS) } else { (few, STEPS) };
            for _ in 0..steps {
                if !self.step(&mut fit, rows, penalty) {
                    break;
                }
            }
            seen(penalty, &fit);
        }
        fit
    }

    /// A step of Gauss-Newton in all numbers together, halved until it helps; false where none does.
    fn step(&self, fit: &mut Numbers, rows: (usize, usize), penalty: f64) -> bool {
        let p = self.p;
        let Some(solved) = self.solve(fit, rows, penalty, true) else { return false };
        let before = self.objective(fit, rows, penalty);
        let mut part = 1.0;
        for _ in 0..4 {
            let mut next = fit.clone();
            next.along.iter_mut().zip(&solved[p + 2 * SPLINES..]).for_each(|(w, d)| *w += part * d);
            if self.settle(&mut next, rows, penalty) && self.objective(&next, rows, penalty) < before * (1.0 - 1e-5) {
                *fit = next;
                return true;
            }
            part *= 0.4;
        }
        false
    }

    /// The range of r for this w, and the best c, h and g.
    fn settle(&self, fit: &mut Numbers, rows: (usize, usize), penalty: f64) -> bool {
        let mut r: Vec<f64> = (rows.0..rows.1).map(|i| self.a[i] - dot(self.row(i), &fit.along)).collect();
        let ends = ((r.len() as f64 * ENDS) as usize).min(r.len() / 4);
        let last = r.len() - 1 - ends;
        let low = *r.select_nth_unstable_by(ends, f64::total_cmp).1;
        let high = *r.select_nth_unstable_by(last, f64::total_cmp).1;
        let wide = high - low > 1e-9;
        if !wide {
            return false;
        }
        fit.range = [low, high];
        let Some(solved) = self.solve(fit, rows, penalty, false) else { return false };
        let p = self.p;
        fit.main.copy_from_slice(&solved[..p]);
        fit.curves.copy_from_slice(&solved[p..p + 2 * SPLINES]);
        true
    }

    /// Least squares with penalties in (c, h, g), and in the change of w where `moving`.
    fn solve(&self, fit: &Numbers, rows: (usize, usize), penalty: f64, moving: bool) -> Option<Vec<f64>> {
        let p = self.p;
        let k = p + 2 * SPLINES + if moving { p } else { 0 };
        let w = k + 1;
        let mut gram = vec![0.0; w * w];
        let mut run = vec![0.0; RUN * w];
        for from in (rows.0..rows.1).step_by(RUN) {
            let to = (from + RUN).min(rows.1);
            for (i, out) in (from..to).zip(run.chunks_exact_mut(w)) {
                self.columns(fit, i, moving, out);
            }
            add_gram(&run[..(to - from) * w], to - from, w, &mut gram);
        }
        let n = (rows.1 - rows.0) as f64;
        let mut a = vec![0.0; k * k];
        let b: Vec<f64> = (0..k).map(|i| gram[i * w + k] / n).collect();
        for i in 0..k {
            (0..k).for_each(|j| a[i * k + j] = gram[i * w + j] / n);
        }
        penalise(&mut a, k, p, penalty);
        let mut b = b;
        if moving {
            // the penalty is on w, not on its change
            (0..p).for_each(|j| b[p + 2 * SPLINES + j] -= penalty * fit.along[j]);
        }
        let solved = cholesky_solve(&a, &b).ok()?;
        solved.iter().all(|v| v.is_finite()).then_some(solved)
    }

    /// The columns of a row and its cost, times the root of its weight.
    fn columns(&self, fit: &Numbers, i: usize, moving: bool, out: &mut [f64]) {
        let (p, psi, root) = (self.p, self.row(i), self.omega[i].sqrt());
        out.fill(0.0);
        let m = dot(psi, &fit.along);
        let r = self.a[i] - m;
        let (first, value, _) = splines(fit.range, r);
        out[..p].iter_mut().zip(psi).for_each(|(o, f)| *o = root * f);
        for (j, v) in value.iter().enumerate() {
            out[p + first + j] = root * v;
            out[p + SPLINES + first + j] = root * m * v;
        }
        if moving {
            let (_, slope) = curves(&fit.curves, fit.range, r, m);
            out[p + 2 * SPLINES..][..p].iter_mut().zip(psi).for_each(|(o, f)| *o = root * slope * f);
        }
        let last = out.len() - 1;
        out[last] = root * self.y[i];
    }

    fn says(&self, fit: &Numbers, i: usize) -> f64 {
        let psi = self.row(i);
        let m = dot(psi, &fit.along);
        dot(psi, &fit.main) + curves(&fit.curves, fit.range, self.a[i] - m, m).0
    }

    /// The mean squared error of the rows from..to.
    fn error(&self, fit: &Numbers, (from, to): (usize, usize)) -> f64 {
        let square = |i: usize| self.omega[i] * (self.y[i] - self.says(fit, i)) * (self.y[i] - self.says(fit, i));
        (from..to).map(square).sum::<f64>() / (to - from).max(1) as f64
    }

    fn objective(&self, fit: &Numbers, rows: (usize, usize), penalty: f64) -> f64 {
        let squares = |v: &[f64]| dot(v, v);
        let bends = |v: &[f64]| v.windows(3).map(|b| b[0] - 2.0 * b[1] + b[2]).fold(0.0, |s, b| s + b * b);
        let (h, g) = fit.curves.split_at(SPLINES);
        self.error(fit, rows)
            + MAIN * squares(&fit.main)
            + BENDS * (bends(h) + bends(g))
            + LEAST * squares(h)
            + penalty * (squares(g) + squares(&fit.along))
    }

    fn model(self, fit: Numbers) -> Index {
        Index {
            contexts: self.basis,
            columns: self.columns,
            action: [self.action.centre, self.action.scale],
            cost: [self.cost.centre, self.cost.scale],
            range: fit.range,
            main: fit.main,
            along: fit.along,
            curves: fit.curves,
        }
    }
}

/// Adds the penalties to the matrix of (c, h, g, change of w).
fn penalise(a: &mut [f64], k: usize, p: usize, penalty: f64) {
    (0..p).for_each(|j| a[j * k + j] += MAIN);
    for (curve, ridge) in [(p, LEAST), (p + SPLINES, penalty)] {
        for j in 0..SPLINES {
            a[(curve + j) * k + curve + j] += ridge;
        }
        for j in 0..SPLINES - 2 {
            let bend = [1.0, -2.0, 1.0];
            for (s, u) in bend.iter().enumerate() {
                for (t, v) in bend.iter().enumerate() {
                    a[(curve + j + s) * k + curve + j + t] += BENDS * u * v;
                }
            }
        }
    }
    (p + 2 * SPLINES..k).for_each(|j| a[j * k + j] += penalty);
}
