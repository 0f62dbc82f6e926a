//! The rows of a search in one canonical order, without units.
//!
//! Rows are sorted by action, cost and contexts, and folds are dealt by a hash of the place in that order. So neither the order
//! of the log nor a change of units (rising affine maps of actions and costs) changes which rows share a fold, and every sum
//! over rows has the same order. Rows of a cluster are dealt together, by the hash of its key: a row must not be judged by what was learned
//! from its own cluster.

use crate::data::{Sample, Sampled, Summaries, Weighting};
use crate::error::{Error, Result};
use crate::math;
use crate::models::Rows;
use crate::rng::hash;
use crate::source::Source;
use std::collections::HashMap;

/// Rows that models are fitted on and candidates are judged on; of larger logs a fair sample of so many.
pub(super) const MOST_ROWS: usize = 100_000;

/// The rows of a search.
#[derive(Clone)]
pub(super) struct Table {
    pub(super) d: usize,
    /// Contexts, row-major.
    pub(super) x: Vec<f64>,
    /// Actions on their own scale.
    pub(super) a: Vec<f64>,
    /// Positions on the axis.
    pub(super) u: Vec<f64>,
    /// ln of the logging density or probability.
    pub(super) log_p: Vec<f64>,
    /// Costs, centred and scaled.
    pub(super) y: Vec<f64>,
    /// Row weights with mean 1.
    pub(super) omega: Vec<f64>,
    /// What they mean.
    pub(super) weighting: Weighting,
    /// The fold of each row.
    pub(super) fold: Vec<usize>,
    pub(super) folds: usize,
    /// A cost is centre + unit y.
    pub(super) centre: f64,
    pub(super) unit: f64,
    /// Rows of the log that stand behind the sample.
    pub(super) rows: u64,
    /// Row numbers.
    pub(super) ids: Vec<u64>,
    /// Contexts with the predictions behind them, row-major; empty without predictions.
    pub(super) wide: Vec<f64>,
    /// The keys of the rows' clusters; empty without clusters.
    pub(super) clusters: Vec<u64>,
    /// The number of each row's cluster, from 0; empty without clusters.
    pub(super) cluster: Vec<usize>,
}

impl Table {
    /// The rows of a source.
    pub(super) fn of(source: &dyn Source, seed: u64) -> Result<Table> {
        let rows = source.get(Summaries)?.rows;
        if source.schema().actions.len() != 1 {
            return Err(Error::data(format!(
                "there are {} action columns; models of the cost take one",
                source.schema().actions.len()
            ))
            .hint("use policy = \"clp\", which takes several"));
        }
        let (all, predicted) = (source.schema().contexts.len(), source.schema().predictions.len());
        let mut table = Table::sorted(source.get(Sample::of(rows, MOST_ROWS))?, all)?;
        table.set_apart(predicted);
        table.rows = rows;
        table.weighting = source.schema().weighting;
        table.deal(seed);
        Ok(table)
    }

    fn sorted(s: Sampled, d: usize) -> Result<Table> {
        let n = s.y.len();
        if n < 20 {
            return Err(Error::data(format!("there are {n} rows to learn from, which say nothing"))
                .hint("a log needs hundreds of rows, better thousands"));
        }
        let row = |i: usize| &s.x[i * d..(i + 1) * d];
        let mut order: Vec<usize> = (0..n).filter(|&i| s.omega[i] > 0.0).collect();
        order.sort_by(|&i, &j| {
            let by_row = || row(i).iter().zip(row(j)).map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne());
            let first = s.a[i].total_cmp(&s.a[j]).then(s.y[i].total_cmp(&s.y[j]));
            first.then_with(|| by_row().unwrap_or(std::cmp::Ordering::Equal))
        });
        let of = |v: &[f64]| -> Vec<f64> { order.iter().map(|&i| v[i]).collect() };
        let mut omega = of(&s.omega);
        let total: f64 = omega.iter().sum();
        omega.iter_mut().for_each(|w| *w *= order.len() as f64 / total);
        let mut y = of(&s.y);
        let count = y.len() as f64;
        // from the first row on: sums of numbers far from 0 lose the digits that tell rows apart
        let origin = y[0];
        y.iter_mut().for_each(|y| *y -= origin);
        let centre = y.iter().zip(&omega).map(|(y, w)| y * w).sum::<f64>() / count;
        let square = y.iter().zip(&omega).map(|(y, w)| w * (y - centre) * (y - centre)).sum::<f64>() / count;
        let size = y.iter().fold(0.0f64, |m, y| m.max((y + origin).abs()));
        if square.sqrt() <= 1e-12 * size {
            return Err(Error::data(format!("every outcome is the same ({origin}), so nothing can be learned"))
                .hint("is the outcome column the right one?"));
        }
        let unit = square.sqrt();
        y.iter_mut().for_each(|y| *y = (*y - centre) / unit);
        let (centre, a) = (centre + origin, of(&s.a));
        let (ids, wide) = (order.iter().map(|&i| s.ids[i]).collect(), Vec::new());
        let (x, log_p) = (order.iter().flat_map(|&i| row(i).iter().copied()).collect(), of(&s.log_p));
        let (u, weighting, rows) = (a.clone(), Weighting::Counts, n as u64);
        let clusters: Vec<u64> =
            if s.clusters.is_empty() { Vec::new() } else { order.iter().map(|&i| s.clusters[i]).collect() };
        let mut numbers = HashMap::new();
        let cluster = clusters.iter().map(|key| {
            let next = numbers.len();
            *numbers.entry(*key).or_insert(next)
        });
        let cluster = cluster.collect();
        Ok(Table {
            d,
            x,
            u,
            a,
            log_p,
            y,
            omega,
            weighting,
            fold: Vec::new(),
            folds: 1,
            centre,
            unit,
            rows,
            ids,
            wide,
            clusters,
            cluster,
        })
    }

    /// Sets the last contexts apart: they are predictions, which most models do not see.
    fn set_apart(&mut self, predicted: usize) {
        if predicted > 0 {
            let (all, own) = (self.d, self.d - predicted);
            self.wide = std::mem::take(&mut self.x);
            self.x = self.wide.chunks_exact(all).flat_map(|row| &row[..own]).copied().collect();
            self.d = own;
        }
    }

    /// Contexts and predictions of row i.
    pub(super) fn predicted(&self, i: usize) -> &[f64] {
        let all = self.wide.len() / self.n();
        &self.wide[i * all..(i + 1) * all]
    }

    /// The costs in their own unit.
    pub(super) fn costs(&self) -> Vec<f64> {
        self.y.iter().map(|y| self.centre + self.unit * y).collect()
    }

    /// The same rows and folds with other costs, given in the order of these rows. Where all are the same they are 0 with unit 1.
    pub(super) fn with_costs(&self, costs: &[f64]) -> Table {
        let n = costs.len() as f64;
        let mean = |f: &dyn Fn(f64) -> f64| costs.iter().zip(&self.omega).map(|(y, w)| w * f(*y)).sum::<f64>() / n;
        let origin = costs.first().copied().unwrap_or_default();
        let centre = origin + mean(&|y| y - origin);
        let spread = mean(&|y| (y - centre) * (y - centre)).sqrt();
        let size = costs.iter().fold(0.0f64, |m, y| m.max(y.abs()));
        let unit = if spread > 1e-12 * size { spread } else { 1.0 };
        let y = costs.iter().map(|y| if spread > 1e-12 * size { (y - centre) / unit } else { 0.0 }).collect();
        Table { y, centre, unit, ..self.clone() }
    }

    /// Deals the rows to folds: more folds where rows are few.
    fn deal(&mut self, seed: u64) {
        self.folds = match self.n() {
            0..3000 => 5,
            3000..50_000 => 4,
            _ => 3,
        };
        let dealt_by = |i: usize| self.clusters.get(i).copied().unwrap_or(i as u64);
        self.fold =
            (0..self.n()).map(|i| (hash(seed ^ 0x666f_6c64, dealt_by(i)) % self.folds as u64) as usize).collect();
    }

    /// Whether rows belong together.
    pub(super) fn clustered(&self) -> bool {
        !self.cluster.is_empty()
    }

    /// Independent draws a row: clusters by rows, since rows of a cluster may be one row written down again and again; 1 without clusters.
    pub(super) fn draws(&self) -> f64 {
        match self.cluster.iter().max() {
            Some(last) => (last + 1) as f64 / self.n() as f64,
            None => 1.0,
        }
    }

    /// The sum over independent draws of the squares of what a mean's rows add to it: row by row, the squares of sampling weights times those of f; with
    /// clusters the squares of their sums.
    pub(super) fn squares(&self, f: &dyn Fn(usize) -> f64) -> f64 {
        if self.cluster.is_empty() {
            return (0..self.n()).map(|i| self.weighting.squared(self.omega[i]) * math::powi(f(i), 2)).sum();
        }
        let mut sums = vec![0.0; self.cluster.iter().max().map_or(0, |last| last + 1)];
        self.cluster.iter().enumerate().for_each(|(i, c)| sums[*c] += self.omega[i] * f(i));
        sums.iter().map(|s| s * s).sum()
    }

    pub(super) fn n(&self) -> usize {
        self.y.len()
    }

    pub(super) fn context(&self, i: usize) -> &[f64] {
        &self.x[i * self.d..(i + 1) * self.d]
    }

    /// As rows of a regression of costs.
    pub(super) fn rows(&self) -> Rows<'_> {
        Rows { d: self.d, x: &self.x, a: &self.u, y: &self.y, omega: &self.omega }
    }

    /// As rows of a regression of something else on the contexts.
    pub(super) fn regression<'a>(&'a self, zeros: &'a [f64], y: &'a [f64]) -> Rows<'a> {
        Rows { d: self.d, x: &self.x, a: zeros, y, omega: &self.omega }
    }
}

/// Rows of a regression, copied.
pub(super) struct Copied {
    d: usize,
    x: Vec<f64>,
    a: Vec<f64>,
    y: Vec<f64>,
    omega: Vec<f64>,
}

impl Copied {
    /// The rows outside fold `k`.
    pub(super) fn without(rows: &Rows, fold: &[usize], k: usize) -> Copied {
        Self::of(rows, &(0..rows.len()).filter(|&i| fold[i] != k).collect::<Vec<_>>())
    }

    /// At most so many rows, evenly spaced.
    pub(super) fn thinned(rows: &Rows, most: usize) -> Copied {
        let kept = rows.len().min(most);
        Self::of(rows, &(0..kept).map(|k| k * rows.len() / kept).collect::<Vec<_>>())
    }

    fn of(rows: &Rows, keep: &[usize]) -> Copied {
        let of = |v: &[f64]| keep.iter().map(|&i| v[i]).collect();
        let x = keep.iter().flat_map(|&i| rows.context(i).iter().copied()).collect();
        Copied { d: rows.d, x, a: of(rows.a), y: of(rows.y), omega: of(rows.omega) }
    }

    pub(super) fn rows(&self) -> Rows<'_> {
        Rows { d: self.d, x: &self.x, a: &self.a, y: &self.y, omega: &self.omega }
    }
}
