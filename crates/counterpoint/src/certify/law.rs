//! What the log does given the contexts, so that it can be said how far from it a policy plays.
//!
//! ```text
//! a | x  ~  mean m(x), spread s(x);     z = (a - m(x)) / s(x)
//! ```
//!
//! m is a parabola in each context plus boosted trees, s a tree over what m leaves. They are grown on valid rows, and a tree is kept only
//! where it also explains the actions of the test rows: an overfitted mean would make a policy that follows the log look far from
//! it. Actions and contexts are all that is read, no outcome, so the test part may take part. The range of z over all rows is what the
//! log did; a policy's mass beyond it lies where no row of like context is.

use super::coverage::Rows;
use crate::error::Result;
use crate::folds::{Growth, Tree};
use crate::linalg::cholesky_solve;
use crate::policy::{Ready, TargetPolicy};

/// Trees of a mean at most, and how much of each is taken.
const ROUNDS: usize = 12;
const SHARE: f64 = 0.5;

/// The mean distance of a normal number from its mean, in stds, is 1 over this.
const STD_OF_DISTANCE: f64 = 1.2533;

/// Contexts further out than this many stds count as this far: a parabola says nothing there.
const FAR: f64 = 3.0;

/// Rows per coefficient of the parabola at least.
const ROWS_A_TERM: usize = 10;

/// The logging law given x, for each action column.
pub(super) struct Law {
    columns: Vec<Column>,
}

/// Mean and spread of one action column.
struct Column {
    curve: Curve,
    trees: Vec<Tree>,
    spread: Tree,
}

/// A parabola in each context: <b, z> + <c, z^2> + b_0, z the standardised contexts.
struct Curve {
    centre: Vec<f64>,
    scale: Vec<f64>,
    terms: usize,
    beta: Vec<f64>,
}

impl Curve {
    fn fit(v: &Rows, target: &[f64]) -> Result<Curve> {
        let (n, d) = (v.len(), v.d);
        let mean = |c: usize| (0..n).map(|i| v.x(i)[c]).sum::<f64>() / n as f64;
        let centre: Vec<f64> = (0..d).map(mean).collect();
        let std = |c: usize| ((0..n).map(|i| (v.x(i)[c] - centre[c]).powi(2)).sum::<f64>() / n as f64).sqrt();
        let scale = (0..d).map(|c| if std(c) > 0.0 { std(c) } else { 1.0 }).collect();
        let affordable = |terms: &usize| terms * ROWS_A_TERM <= n;
        let terms = [2 * d + 1, d + 1].into_iter().find(affordable).unwrap_or(1);
        let mut curve = Curve { centre, scale, terms, beta: vec![0.0; terms] };
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
        Ok(curve)
    }

    /// 1, z, z^2, as many as there are terms.
    fn features(&self, x: &[f64]) -> Vec<f64> {
        let z = |c: usize| ((x[c] - self.centre[c]) / self.scale[c]).clamp(-FAR, FAR);
        let d = x.len();
        let all = std::iter::once(1.0).chain((0..d).map(z)).chain((0..d).map(|c| z(c) * z(c)));
        all.take(self.terms).collect()
    }

    fn at(&self, x: &[f64]) -> f64 {
        self.features(x).iter().zip(&self.beta).map(|(f, b)| f * b).sum()
    }
}

fn squares(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum()
}

impl Column {
    fn fit(v: &Rows, t: &Rows, c: usize) -> Result<Column> {
        let actions = |rows: &Rows| (0..rows.len()).map(|i| rows.a(i, c)).collect::<Vec<f64>>();
        let curve = Curve::fit(v, &actions(v))?;
        let residuals = |rows: &Rows| (0..rows.len()).map(|i| rows.a(i, c) - curve.at(rows.x(i))).collect::<Vec<f64>>();
        let less = |rows: &Rows, left: &[f64], tree: &Tree| -> Vec<f64> {
            left.iter().enumerate().map(|(i, r)| r - SHARE * tree.cell(|c| rows.x(i)[c]).1).collect()
        };
        let (mut known, mut asked) = (residuals(v), residuals(t));
        let growth = Growth { cells: 12, rows: (v.len() / 60).max(20) };
        let mut trees = Vec::new();
        for _ in 0..ROUNDS {
            let tree = Tree::grow(&v.sample.x, v.d, &known, growth);
            let left = less(t, &asked, &tree);
            if squares(&left) >= squares(&asked) {
                break;
            }
            (known, asked) = (less(v, &known, &tree), left);
            trees.push(tree);
        }
        known.iter_mut().chain(&mut asked).for_each(|r| *r = r.abs());
        let grow = |cells: usize| {
            let growth = Growth { cells, rows: (v.len() / 30).max(30) };
            let tree = Tree::grow(&v.sample.x, v.d, &known, growth);
            let left: Vec<f64> = asked.iter().enumerate().map(|(i, r)| r - tree.cell(|c| t.x(i)[c]).1).collect();
            (squares(&left), tree)
        };
        let (cut, whole) = (grow(8), grow(1));
        let spread = if cut.0 < whole.0 { cut.1 } else { whole.1 };
        Ok(Column { curve, trees, spread })
    }

    /// Mean and spread given x.
    fn at(&self, x: &[f64]) -> (f64, f64) {
        let trees: f64 = self.trees.iter().map(|t| SHARE * t.cell(|c| x[c]).1).sum();
        let spread = self.spread.cell(|c| x[c]).1 * STD_OF_DISTANCE;
        (self.curve.at(x) + trees, spread.max(f64::MIN_POSITIVE))
    }
}

impl Law {
    /// Fits the law to valid rows, as complex as test rows confirm.
    pub(super) fn fit(v: &Rows, t: &Rows) -> Result<Law> {
        Ok(Law { columns: (0..v.q).map(|c| Column::fit(v, t, c)).collect::<Result<_>>()? })
    }

    /// The smallest and the largest z of the rows, action by action.
    fn ranges(&self, parts: [&Rows; 2]) -> Vec<[f64; 2]> {
        let of = |(c, column): (usize, &Column)| {
            let mut z: Vec<f64> = parts
                .iter()
                .flat_map(|rows| (0..rows.len()).map(move |i| (rows.x(i), rows.a(i, c))))
                .map(|(x, a)| {
                    let (mean, std) = column.at(x);
                    (a - mean) / std
                })
                .collect();
            z.sort_by(f64::total_cmp);
            // one row in two thousand at either end may be a slip of the fit
            let cut = z.len() / 2000;
            [z[cut], z[z.len() - 1 - cut]]
        };
        self.columns.iter().enumerate().map(of).collect()
    }

    /// The policy's mass beyond all that the log did, context by context; nothing where the policy does not know its masses.
    pub(super) fn beyond(&self, parts: [&Rows; 2], policy: &dyn TargetPolicy) -> Option<Vec<f64>> {
        let ranges = self.ranges(parts);
        let q = self.columns.len();
        let (mut low, mut high) = (vec![0.0; q], vec![0.0; q]);
        let mut beyond = Vec::with_capacity(parts[0].len() + parts[1].len());
        for x in parts.iter().flat_map(|rows| (0..rows.len()).map(move |i| rows.x(i))) {
            for (c, column) in self.columns.iter().enumerate() {
                let (mean, std) = column.at(x);
                (low[c], high[c]) = (mean + ranges[c][0] * std, mean + ranges[c][1] * std);
            }
            beyond.push((1.0 - policy.mass_within(x, &low, &high)?).clamp(0.0, 1.0));
        }
        Some(beyond)
    }

    /// How many of the log's stds the policy's mean lies from the log's: median, 90%, 99% and largest over the rows.
    pub(super) fn distance(&self, t: &Rows, policy: &dyn TargetPolicy) -> Option<[f64; 4]> {
        let (mut far, mut ready) = (Vec::with_capacity(t.len()), Ready::new(policy));
        for i in 0..t.len() {
            let mean = ready.mean(t.x(i))?;
            let of = |(c, column): (usize, &Column)| {
                let (log, std) = column.at(t.x(i));
                ((mean[c] - log) / std).abs()
            };
            far.push(self.columns.iter().enumerate().map(of).fold(0.0, f64::max));
        }
        far.sort_by(f64::total_cmp);
        Some([0.5, 0.9, 0.99, 1.0].map(|q| far[((far.len() - 1) as f64 * q) as usize]))
    }
}
