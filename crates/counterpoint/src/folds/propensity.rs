//! What a propensity model asks of rows without densities: scales of the actions, Gram matrices by fold, likelihoods of a spread,
//! and the checks of the densities in the end.
//!
//! The models and what decides between them are in [`propensity`](crate::propensity); here is what every row is asked.

use super::facts::Mass;
use super::residuals::Residuals;
use crate::data::{Block, Sample, Summary};
use crate::engine::Fold;
use crate::features::{ContextMap, Scaler};
use crate::linalg::add_gram;
use crate::math;
use crate::policy::{Family, HALF_LN_2PI};
use crate::rng::hash;
use serde::{Deserialize, Serialize};

/// Folds of the cross-fit.
pub const FOLDS: usize = 5;

/// The seed of the folds: not that of any split.
const SEED: u64 = 0x0066_6974;

/// The fold of a row.
fn fold(id: u64) -> usize {
    (hash(SEED, id) % FOLDS as u64) as usize
}

/// What is regressed: an action or its logarithm, standardised.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    pub(crate) action: usize,
    pub(crate) family: Family,
    shift: f64,
    pub(crate) unit: f64,
    /// The mean of ln |dt/da| over the log, before t is standardised.
    slope: f64,
}

impl Target {
    /// t and ln |dt/da|, before t is standardised; every action of the log has both.
    fn transform(&self, a: f64) -> (f64, f64) {
        self.family.to_normal(a).unwrap_or((f64::NAN, f64::NAN))
    }

    /// t on its standardised scale.
    fn value(&self, a: f64) -> f64 {
        (self.transform(a).0 - self.shift) / self.unit
    }

    /// ln |dt/da|
    fn log_slope(&self, a: f64) -> f64 {
        self.transform(a).1 - math::ln(self.unit)
    }

    /// Its mean over the log.
    pub(crate) fn mean_log_slope(&self) -> f64 {
        self.slope - math::ln(self.unit)
    }
}

/// The question: the scales of the targets, for each action and each family that is a transform of the normal one and has
/// all actions in its support.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetScales;

/// For each action and family: t, and ln |dt/da|.
pub type Scales = Vec<Vec<Option<[Summary; 2]>>>;

impl TargetScales {
    /// The targets of all actions.
    pub(crate) fn targets(scales: &Scales) -> Vec<Target> {
        let of = |(action, families): (usize, &Vec<Option<[Summary; 2]>>)| {
            let found = Family::ALL.iter().zip(families).filter_map(move |(family, s)| {
                let [t, slope] = s.as_ref()?;
                Some(Target { action, family: *family, shift: t.mean(), unit: t.std(), slope: slope.mean() })
            });
            found.collect::<Vec<_>>()
        };
        scales.iter().enumerate().flat_map(of).collect()
    }
}

impl Fold<Block> for TargetScales {
    type Partial = Scales;

    fn zero(&self) -> Scales {
        Vec::new()
    }

    fn add(&self, b: &Block, into: &mut Scales) {
        let scale = |column: &[f64], family: Family| {
            let mut sums = [Summary::default(), Summary::default()];
            for (a, w) in column.iter().zip(&b.omega) {
                let (t, slope) = family.to_normal(*a)?;
                sums[0].add(t, *w);
                sums[1].add(slope, *w);
            }
            Some(sums)
        };
        let block = b.a.iter().map(|column| Family::ALL.iter().map(|f| scale(column, *f)).collect()).collect();
        self.merge(&block, into);
    }

    fn merge(&self, other: &Scales, into: &mut Scales) {
        if into.is_empty() {
            return into.clone_from(other);
        }
        for (mine, theirs) in into.iter_mut().flatten().zip(other.iter().flatten()) {
            match (mine.as_mut(), theirs) {
                (Some(a), Some(b)) => a.iter_mut().zip(b).for_each(|(a, b)| a.merge(b)),
                _ => *mine = None,
            }
        }
    }
}

/// How contexts and actions become numbers. Scalings use all rows: they move no density by more than the ridge does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    pub(crate) scaler: Scaler,
    /// The widest map; narrower ones are its last columns.
    pub(crate) map: ContextMap,
    pub(crate) targets: Vec<Target>,
}

impl Frame {
    /// Columns of the widest map.
    pub(crate) fn width(&self) -> usize {
        self.map.dim(self.scaler.shift.len())
    }

    /// The features of row i.
    fn features(&self, b: &Block, i: usize, x: &mut [f64], psi: &mut [f64]) {
        b.context(i, x);
        self.scaler.apply(x);
        self.map.apply(x, psi);
    }

    /// Room for a row of scaled contexts and its features.
    fn buffers(&self) -> (Vec<f64>, Vec<f64>) {
        (vec![0.0; self.scaler.shift.len()], vec![0.0; self.width()])
    }
}

/// <b, last columns of psi>
fn tail_product(b: &[f64], psi: &[f64]) -> f64 {
    b.iter().zip(&psi[psi.len() - b.len()..]).map(|(b, f)| b * f).sum()
}

/// The question: Gram matrices of (features, targets), fold by fold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoldGrams {
    pub(crate) frame: Frame,
}

impl FoldGrams {
    /// Features, then targets.
    pub(crate) fn columns(&self) -> usize {
        self.frame.width() + self.frame.targets.len()
    }
}

impl Fold<Block> for FoldGrams {
    type Partial = Vec<Vec<f64>>;

    fn zero(&self) -> Vec<Vec<f64>> {
        vec![vec![0.0; self.columns() * self.columns()]; FOLDS]
    }

    fn add(&self, b: &Block, into: &mut Vec<Vec<f64>>) {
        let columns = self.columns();
        let (mut x, mut psi) = self.frame.buffers();
        let mut rows: Vec<Vec<f64>> = vec![Vec::new(); FOLDS];
        for i in 0..b.rows() {
            self.frame.features(b, i, &mut x, &mut psi);
            let root = b.omega[i].sqrt();
            let to = &mut rows[fold(b.key(i))];
            to.extend(psi.iter().map(|f| root * f));
            to.extend(self.frame.targets.iter().map(|t| root * t.value(b.a[t.action][i])));
        }
        for (rows, gram) in rows.iter().zip(into) {
            add_gram(rows, rows.len() / columns, columns, gram);
        }
    }

    fn merge(&self, other: &Vec<Vec<f64>>, into: &mut Vec<Vec<f64>>) {
        into.iter_mut().flatten().zip(other.iter().flatten()).for_each(|(a, b)| *a += b);
    }
}

/// The question: likelihood and score of a log-linear std, ln s = <gamma, (x, 1)>, around a mean, in every fold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    pub(crate) frame: Frame,
    pub(crate) target: Target,
    /// Coefficients of the mean, one vector a fold.
    pub(crate) beta: Vec<Vec<f64>>,
    /// Coefficients of ln s, one vector a fold.
    pub(crate) gamma: Vec<Vec<f64>>,
    /// Rows that are enough for a std.
    pub(crate) sample: Sample,
}

/// Sums over rows at given gammas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpreadSums {
    /// Log likelihood of each fit on the rows it sees.
    pub(crate) inside: [f64; FOLDS],
    /// Of all rows under the fit without their fold.
    pub(crate) outside: f64,
    pub(crate) score: Vec<Vec<f64>>,
    /// Weight of the rows each fit sees.
    pub(crate) n: [f64; FOLDS],
    pub(crate) all: f64,
}

impl Fold<Block> for Spread {
    type Partial = SpreadSums;

    fn zero(&self) -> SpreadSums {
        let score = self.gamma.iter().map(|g| vec![0.0; g.len()]).collect();
        SpreadSums { inside: [0.0; FOLDS], outside: 0.0, score, n: [0.0; FOLDS], all: 0.0 }
    }

    fn add(&self, b: &Block, into: &mut SpreadSums) {
        let (mut x, mut psi) = self.frame.buffers();
        for i in (0..b.rows()).filter(|i| self.sample.holds(b.ids[*i])) {
            self.frame.features(b, i, &mut x, &mut psi);
            let (t, omega, own) = (self.target.value(b.a[self.target.action][i]), b.omega[i], fold(b.key(i)));
            into.all += omega;
            for k in 0..FOLDS {
                let residual = t - tail_product(&self.beta[k], &psi);
                let ln_s = tail_product(&self.gamma[k], &psi);
                let ratio = residual * residual * math::exp(-2.0 * ln_s);
                let density = -omega * (ln_s + 0.5 * ratio);
                if k == own {
                    into.outside += density;
                    continue;
                }
                into.inside[k] += density;
                into.n[k] += omega;
                let slope = omega * (ratio - 1.0);
                let features = &psi[psi.len() - self.gamma[k].len()..];
                into.score[k].iter_mut().zip(features).for_each(|(g, f)| *g += slope * f);
            }
        }
    }

    fn merge(&self, other: &SpreadSums, into: &mut SpreadSums) {
        into.outside += other.outside;
        into.all += other.all;
        for k in 0..FOLDS {
            into.inside[k] += other.inside[k];
            into.n[k] += other.n[k];
            into.score[k].iter_mut().zip(&other.score[k]).for_each(|(a, b)| *a += b);
        }
    }
}

/// The density of one action: a fit for each fold, made without it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Density {
    pub(crate) target: Target,
    /// Coefficients of the last columns of psi, one vector a fold.
    pub(crate) beta: Vec<Vec<f64>>,
    /// The same for ln s.
    pub(crate) gamma: Vec<Vec<f64>>,
}

impl Density {
    /// Standardised residual and log density of action `a` in fold k.
    fn at(&self, k: usize, psi: &[f64], a: f64) -> (f64, f64) {
        let ln_s = tail_product(&self.gamma[k], psi);
        let z = (self.target.value(a) - tail_product(&self.beta[k], psi)) / math::exp(ln_s);
        (z, -0.5 * z * z - ln_s - HALF_LN_2PI + self.target.log_slope(a))
    }
}

/// The question: how well do densities fit? Also what computes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Densities {
    pub(crate) frame: Frame,
    /// One an action column; densities multiply.
    pub(crate) models: Vec<Density>,
    /// The central range of each action, over which densities should integrate to one.
    pub(crate) central: Vec<(f64, f64)>,
}

/// What the densities of all rows look like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    pub(crate) residuals: Residuals,
    pub(crate) mass: Mass,
}

impl Densities {
    /// ln p of every row of a block, each from the fit without its fold.
    pub fn log_densities(&self, b: &Block) -> Vec<f64> {
        let mut out = Vec::with_capacity(b.rows());
        self.each(b, |_, _, _, log_p| out.push(log_p));
        out
    }

    /// Standardised residuals of every row of a block, one vector an action.
    pub(crate) fn residuals(&self, b: &Block) -> Vec<Vec<f64>> {
        let mut out = vec![Vec::with_capacity(b.rows()); self.models.len()];
        self.each(b, |_, z, _, _| out.iter_mut().zip(z).for_each(|(o, z)| o.push(*z)));
        out
    }

    /// For each row of a block: its position, residuals, scaled contexts and ln p.
    fn each(&self, b: &Block, mut see: impl FnMut(usize, &[f64], &[f64], f64)) {
        let (mut x, mut psi) = self.frame.buffers();
        let mut z = vec![0.0; self.models.len()];
        for i in 0..b.rows() {
            self.frame.features(b, i, &mut x, &mut psi);
            let k = fold(b.key(i));
            let mut total = 0.0;
            for (m, z) in self.models.iter().zip(&mut z) {
                let (residual, density) = m.at(k, &psi, b.a[m.target.action][i]);
                (*z, total) = (residual, total + density);
            }
            see(i, &z, &x, total);
        }
    }
}

impl Fold<Block> for Densities {
    type Partial = Fit;

    fn zero(&self) -> Fit {
        Fit { residuals: Residuals::new(self.models.len(), self.frame.scaler.shift.len()), mass: Mass::none() }
    }

    fn add(&self, b: &Block, into: &mut Fit) {
        let mut mass = Mass::none();
        self.each(b, |i, z, x, log_p| {
            into.residuals.add(b.ids[i], z, x, log_p, b.omega[i]);
            mass.add(&self.central, b, i, log_p);
        });
        into.mass.merge(&mass);
    }

    fn merge(&self, other: &Fit, into: &mut Fit) {
        into.residuals.merge(&other.residuals);
        into.mass.merge(&other.mass);
    }
}
