//! Context maps psi_X: from d scaled contexts to d_X columns.
//!
//! Constant, linear, poly, stratified: one mean model, four maps; quadratic, cubic and Nystrom serve the
//! counterfactual loss predictor. Every map but the strata has a column of ones, and it is the last one: the
//! intercept, which ridge leaves alone. (The strata need none: their columns add up to one.)

use super::kmeans::kmeans;
use crate::error::{Error, Result};
use crate::linalg::inverse_square_root;
use crate::math;
use serde::{Deserialize, Serialize};

/// The map a recipe asks for, before it has seen data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContextKind {
    /// 1
    Constant,
    /// x, 1
    Linear,
    /// the upper triangle of x x^T, 1
    Poly,
    /// x x^T, x, 1 with inner products kept: sqrt(2) on the cross terms
    Quadratic,
    /// all monomials up to degree 3
    Cubic,
    /// indicators of the cells of the cross product of quantile buckets
    Strata,
    /// Gaussian kernel on k-means centres of the contexts, x, 1
    Nystrom,
}

/// A learned context map: plain data, written into the policy file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ContextMap {
    /// 1
    Constant,
    /// x, 1
    Linear,
    /// the upper triangle of x x^T, 1
    Poly,
    /// x x^T with sqrt(2) on the cross terms, x, 1
    Quadratic,
    /// all monomials of degree 3, 2 and 1, then 1
    Cubic,
    /// One indicator a cell; `edges[j]` are the inner bucket edges of column j.
    Strata {
        /// Inner bucket edges, ascending, one list a column.
        edges: Vec<Vec<f64>>,
    },
    /// K_CC^(-1/2) k(x, c), then x, then 1.
    Nystrom {
        /// Centres, row-major, one row of d numbers each.
        centres: Vec<f64>,
        /// Kernel exp(-bandwidth/2 |x - c|^2).
        bandwidth: f64,
        /// K_CC^(-1/2), row-major.
        whiten: Vec<f64>,
    },
}

/// What a map that looks at data may ask for.
#[derive(Clone, Copy, Debug)]
pub struct Learn {
    /// Buckets a column, for the strata.
    pub buckets: usize,
    /// Centres, for Nystrom.
    pub centres: usize,
    /// Kernel width parameter for Nystrom; `None`: from the spacing of the centres.
    pub bandwidth: Option<f64>,
    /// Seed of k-means.
    pub seed: u64,
}

/// More cells than this is a mistake, not a model.
const MAX_CELLS: usize = 4096;

/// More contexts than this no log has.
const MAX_CONTEXTS: usize = 1 << 20;

/// Cells of the cross product of buckets; more than can be counted is the largest number.
fn cells(edges: &[Vec<f64>]) -> usize {
    edges.iter().try_fold(1usize, |p, e| p.checked_mul(e.len() + 1)).unwrap_or(usize::MAX)
}

impl ContextMap {
    /// Learns a map from scaled contexts, row-major with `d` columns (a sample of a few ten thousand rows is enough).
    ///
    /// The default Nystrom bandwidth is the reciprocal of the mean squared distance between neighbouring centres.
    pub fn learn(kind: ContextKind, x: &[f64], d: usize, how: Learn) -> Result<Self> {
        Ok(match kind {
            ContextKind::Constant => ContextMap::Constant,
            ContextKind::Linear => ContextMap::Linear,
            ContextKind::Poly => ContextMap::Poly,
            ContextKind::Quadratic => ContextMap::Quadratic,
            ContextKind::Cubic => ContextMap::Cubic,
            ContextKind::Strata => strata(x, d, how.buckets)?,
            ContextKind::Nystrom => nystrom(x, d, how)?,
        })
    }

    /// Whether the columns are products of contexts, which take less time to compute than to fetch.
    pub(crate) fn is_products(&self) -> bool {
        matches!(self, ContextMap::Poly | ContextMap::Quadratic | ContextMap::Cubic)
    }

    /// Number of columns for `d` contexts.
    pub fn dim(&self, d: usize) -> usize {
        match self {
            ContextMap::Constant => 1,
            ContextMap::Linear => d + 1,
            ContextMap::Poly => d * (d + 1) / 2 + 1,
            ContextMap::Quadratic => d * (d + 1) / 2 + d + 1,
            ContextMap::Cubic => (d + 1) * (d + 2) * (d + 3) / 6,
            ContextMap::Strata { edges } => edges.iter().map(|e| e.len() + 1).product(),
            ContextMap::Nystrom { centres, .. } => centres.len() / d.max(1) + d + 1,
        }
    }

    /// Refuses a map whose parts do not fit each other or `d` contexts: files can say anything.
    pub fn check(&self, d: usize) -> Result<()> {
        let fits = match self {
            ContextMap::Strata { edges } => {
                let ascending = |e: &Vec<f64>| e.iter().all(|v| v.is_finite()) && e.windows(2).all(|w| w[0] < w[1]);
                edges.len() == d && cells(edges) <= MAX_CELLS && edges.iter().all(ascending)
            }
            ContextMap::Nystrom { centres, bandwidth, whiten } => {
                let m = centres.len() / d.max(1);
                let finite = centres.iter().chain(whiten).all(|v| v.is_finite());
                let fits = d > 0 && centres.len() == m * d && m.checked_pow(2) == Some(whiten.len());
                fits && finite && bandwidth.is_finite() && *bandwidth > 0.0
            }
            // products of three contexts would be more than can be counted
            _ => d < MAX_CONTEXTS,
        };
        if fits { Ok(()) } else { Err(Error::policy(format!("its context map does not fit {d} contexts"))) }
    }

    /// A bound on the norm of the columns for contexts whose sizes are at most those of `corner` (numbers >= 0).
    ///
    /// Monomials grow with the sizes of their factors, so they are largest in the corner; of the strata one column is 1; the kernel part
    /// of Nystrom has norm 1 at most.
    pub fn largest_norm(&self, corner: &[f64]) -> f64 {
        let square = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>();
        match self {
            ContextMap::Strata { .. } => 1.0,
            ContextMap::Nystrom { .. } => (2.0 + square(corner)).sqrt(),
            _ => {
                let mut psi = vec![0.0; self.dim(corner.len())];
                self.apply(corner, &mut psi);
                square(&psi).sqrt()
            }
        }
    }

    /// The column of ones, which ridge does not penalise.
    pub fn intercept(&self, d: usize) -> Option<usize> {
        match self {
            ContextMap::Strata { .. } => None,
            _ => Some(self.dim(d) - 1),
        }
    }

    /// Fills `out` (of length [`dim`](Self::dim)) for one scaled row `x`.
    pub fn apply(&self, x: &[f64], out: &mut [f64]) {
        let d = x.len();
        let mut k = 0;
        let mut push = |v: f64| {
            out[k] = v;
            k += 1;
        };
        match self {
            ContextMap::Constant => {}
            ContextMap::Linear => x.iter().for_each(|&v| push(v)),
            ContextMap::Poly => {
                for i in 0..d {
                    (i..d).for_each(|j| push(x[i] * x[j]));
                }
            }
            ContextMap::Quadratic => {
                for i in 0..d {
                    push(x[i] * x[i]);
                    (i + 1..d).for_each(|j| push(std::f64::consts::SQRT_2 * x[i] * x[j]));
                }
                x.iter().for_each(|&v| push(v));
            }
            ContextMap::Cubic => {
                for i in 0..d {
                    for j in i..d {
                        (j..d).for_each(|l| push(x[i] * x[j] * x[l]));
                    }
                }
                for i in 0..d {
                    (i..d).for_each(|j| push(x[i] * x[j]));
                }
                x.iter().for_each(|&v| push(v));
            }
            ContextMap::Strata { edges } => {
                out.fill(0.0);
                out[cell(x, edges)] = 1.0;
                return;
            }
            ContextMap::Nystrom { centres, bandwidth, whiten } => {
                let m = centres.len() / d;
                let k: Vec<f64> = centres.chunks_exact(d).map(|c| gauss(x, c, *bandwidth)).collect();
                for i in 0..m {
                    push((0..m).map(|j| whiten[i * m + j] * k[j]).sum());
                }
                x.iter().for_each(|&v| push(v));
            }
        }
        push(1.0);
    }
}

/// The Gaussian kernel exp(-alpha/2 |x - c|^2).
pub(super) fn gauss(x: &[f64], c: &[f64], alpha: f64) -> f64 {
    let s: f64 = x.iter().zip(c).map(|(a, b)| (a - b) * (a - b)).sum();
    math::exp(-0.5 * alpha * s)
}

fn cell(x: &[f64], edges: &[Vec<f64>]) -> usize {
    x.iter().zip(edges).fold(0, |c, (v, e)| c * (e.len() + 1) + e.partition_point(|edge| edge <= v))
}

fn strata(x: &[f64], d: usize, buckets: usize) -> Result<ContextMap> {
    let mut edges = Vec::with_capacity(d);
    for j in 0..d {
        let mut column: Vec<f64> = x.iter().skip(j).step_by(d).copied().collect();
        column.sort_by(f64::total_cmp);
        let mut e: Vec<f64> =
            (1..buckets).map(|b| super::anchors::quantile_sorted(&column, b as f64 / buckets as f64)).collect();
        e.dedup();
        edges.push(e);
    }
    if cells(&edges) > MAX_CELLS {
        return Err(Error::recipe(
            "mean.buckets",
            format!("{buckets} buckets of {d} contexts make more than {MAX_CELLS} cells"),
        )
        .hint("use fewer buckets or contexts, or a clp mean"));
    }
    Ok(ContextMap::Strata { edges })
}

fn nystrom(x: &[f64], d: usize, how: Learn) -> Result<ContextMap> {
    if d == 0 {
        return Err(Error::recipe("mean.map", "nystrom needs contexts, the log has none").hint("use a constant mean"));
    }
    let centres = kmeans(x, d, how.centres, how.seed);
    let m = centres.len() / d;
    let bandwidth = how.bandwidth.unwrap_or_else(|| neighbour_bandwidth(&centres, d));
    let k: Vec<f64> = (0..m * m)
        .map(|i| gauss(&centres[i / m * d..(i / m + 1) * d], &centres[i % m * d..(i % m + 1) * d], bandwidth))
        .collect();
    let whiten = inverse_square_root(&k, m, 1e-10)?;
    Ok(ContextMap::Nystrom { centres, bandwidth, whiten })
}

/// 1 / mean squared distance to the nearest other point: neighbours overlap at exp(-1/2). 1 if all are in one place.
pub(super) fn neighbour_bandwidth(points: &[f64], d: usize) -> f64 {
    let m = points.len() / d;
    if m < 2 {
        return 1.0;
    }
    let row = |i: usize| &points[i * d..(i + 1) * d];
    let total: f64 = (0..m)
        .map(|i| {
            (0..m)
                .filter(|&j| j != i)
                .map(|j| row(i).iter().zip(row(j)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>())
                .fold(f64::INFINITY, f64::min)
        })
        .sum();
    if total > 0.0 { m as f64 / total } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(map: &ContextMap, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; map.dim(x.len())];
        map.apply(x, &mut out);
        out
    }

    #[test]
    fn polynomial_maps_by_hand() {
        let x = [2.0, 3.0];
        assert_eq!(features(&ContextMap::Constant, &x), [1.0]);
        assert_eq!(features(&ContextMap::Linear, &x), [2.0, 3.0, 1.0]);
        assert_eq!(features(&ContextMap::Poly, &x), [4.0, 6.0, 9.0, 1.0]);
        assert_eq!(features(&ContextMap::Cubic, &x), [8.0, 12.0, 18.0, 27.0, 4.0, 6.0, 9.0, 2.0, 3.0, 1.0]);
    }

    #[test]
    fn quadratic_keeps_inner_products() {
        let (x, z) = ([0.3, -1.2, 2.0], [1.1, 0.4, -0.7]);
        let dot: f64 = x.iter().zip(&z).map(|(a, b)| a * b).sum();
        let kept: f64 = features(&ContextMap::Quadratic, &x)
            .iter()
            .zip(features(&ContextMap::Quadratic, &z))
            .map(|(a, b)| a * b)
            .sum();
        assert!((kept - (dot * dot + dot + 1.0)).abs() < 1e-12);
    }

    #[test]
    fn strata_cells_partition() {
        let x: Vec<f64> = (0..200).map(|i| ((i * 37) % 101) as f64).collect();
        let how = Learn { buckets: 3, centres: 0, bandwidth: None, seed: 0 };
        let map = ContextMap::learn(ContextKind::Strata, &x, 2, how).unwrap();
        assert_eq!(map.dim(2), 9);
        for row in x.chunks_exact(2) {
            assert_eq!(features(&map, row).iter().sum::<f64>(), 1.0);
        }
        let many: Vec<f64> = (0..4000).map(|i| (i as f64 * 0.37).sin()).collect();
        assert!(ContextMap::learn(ContextKind::Strata, &many, 8, how).is_err());
    }

    #[test]
    fn nystrom_reproduces_the_kernel_on_its_centres() {
        let x: Vec<f64> = (0..60).map(|i| (i as f64 * 0.77).sin()).collect();
        let how = Learn { buckets: 0, centres: 6, bandwidth: Some(2.0), seed: 3 };
        let map = ContextMap::learn(ContextKind::Nystrom, &x, 2, how).unwrap();
        let ContextMap::Nystrom { centres, .. } = &map else { unreachable!() };
        let (a, b) = (&centres[..2], &centres[2..4]);
        let inner: f64 = features(&map, a)[..6].iter().zip(&features(&map, b)[..6]).map(|(p, q)| p * q).sum();
        assert!((inner - gauss(a, b, 2.0)).abs() < 1e-10);
    }
}
