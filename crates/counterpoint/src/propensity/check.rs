//! May the estimate be believed? What can be seen from the log itself, with its thresholds, in words.
//!
//! If densities are right, u = F(a|x) is uniform whatever the context, standardised residuals know nothing of the contexts,
//! 1/p integrates to the range of the actions, and one row in sixteen thousand lies 4 std out. Small departures are said,
//! large ones refuse the log: weights built on them would mean nothing.

use super::regress::Regression;
use crate::data::{ActionModel, Estimated, Log};
use crate::describe::propensity_check;
use crate::error::{Error, Result};
use crate::features::anchors::quantile_sorted;
use crate::policy::Family;

/// Fewer rows say nothing about a density.
const MIN_ROWS: usize = 50;
/// Fewer different actions are buckets, not a continuum.
const MIN_DISTINCT: usize = 20;
/// A single action more frequent than this is no part of a density.
const MAX_ATOM: f64 = 0.2;
const ATOM: f64 = 0.02;
/// A larger share explained means that there was no randomness.
const MAX_EXPLAINED: f64 = 0.999;
const EXPLAINED: f64 = 0.9;
/// Kolmogorov distance: to be said, to be refused.
const KOLMOGOROV: f64 = 0.03;
const MAX_KOLMOGOROV: f64 = 0.2;
/// The 1% point of the Kolmogorov law, times 1/sqrt(n): smaller distances are chance.
const CHANCE: f64 = 1.63;
/// Correlations beyond this, and beyond four standard errors, are structure that the model missed.
const CORRELATION: f64 = 0.05;
/// More rows than this beyond 4 std are heavy tails.
const EXTREME: f64 = 0.001;
/// ln of the smallest density that is still a number.
const SMALLEST: f64 = -700.0;
/// Bins of the integral transform: the distance is exact to their width.
const BINS: usize = 4096;
/// Rows from which quantiles and atoms are taken.
const SAMPLE: usize = 50_000;

const LOG_IT: &str = "log the density when the action is drawn, and name that column with --propensity COLUMN";

/// What a sample of one action column says before any fit.
pub(super) struct Atoms {
    /// Its 1% and 99% quantiles.
    central: (f64, f64),
    /// Its most frequent value and the share of it.
    most: (f64, f64),
}

/// Looks at the actions; refuses a log in which they can have no density.
pub(super) fn atoms(log: &Log) -> Result<Vec<Atoms>> {
    if log.rows() < MIN_ROWS {
        return Err(Error::data(format!("{} rows are too few to estimate propensities from", log.rows()))
            .hint(format!("at least {MIN_ROWS} are needed; {LOG_IT}")));
    }
    let (_, actions) = log.thin(SAMPLE);
    let q = log.q();
    (0..q)
        .map(|c| {
            let mut sorted: Vec<f64> = actions.iter().skip(c).step_by(q).copied().collect();
            sorted.sort_by(f64::total_cmp);
            let runs: Vec<(f64, usize)> = sorted.chunk_by(|a, b| a == b).map(|r| (r[0], r.len())).collect();
            let (value, count) = runs.iter().copied().fold((0.0, 0), |m, r| if r.1 > m.1 { r } else { m });
            let share = count as f64 / sorted.len() as f64;
            let refuse = |what: String| {
                Error::data(what)
                    .at(format!("column {:?}", log.schema().actions[c]))
                    .hint(format!("densities are for continuous actions; leave such rows out, or {LOG_IT}"))
            };
            if runs.len() < MIN_DISTINCT {
                return Err(refuse(format!("it has only {} different actions, which have no density", runs.len())));
            }
            if share > MAX_ATOM {
                return Err(refuse(format!(
                    "{:.0}% of the actions are exactly {value}, so there is no density",
                    100.0 * share
                )));
            }
            let central = (quantile_sorted(&sorted, 0.01), quantile_sorted(&sorted, 0.99));
            Ok(Atoms { central, most: (value, if count > 2 { share } else { 0.0 }) })
        })
        .collect()
}

/// Refuses a log whose actions are a function of the contexts.
pub(super) fn random_enough(fit: &Regression, action: &str) -> Result<()> {
    let explained = 1.0 - fit.squares;
    if explained > MAX_EXPLAINED {
        return Err(Error::data(format!(
            "the contexts explain {:.3}% of it: the actions were not random, so nothing can be said about others",
            100.0 * explained
        ))
        .at(format!("column {action:?}"))
        .hint("a log needs randomised actions; if they were, log their densities"));
    }
    Ok(())
}

/// Sums over rows of standardised residuals z.
pub(super) struct Sums {
    n: f64,
    /// For each action: weight by bin of F(a|x).
    uniform: Vec<Vec<f64>>,
    extreme: Vec<f64>,
    /// For each action: sums of z, z^2, z^4.
    powers: Vec<[f64; 3]>,
    /// Sums of x_j and x_j^2.
    contexts: Vec<[f64; 2]>,
    /// For each action and context: sums of z x_j and z^2 x_j.
    products: Vec<Vec<[f64; 2]>>,
    /// z_c z_e for c < e, row by row.
    pairs: Vec<f64>,
    log_p: (f64, f64),
    lowest: u64,
}

impl Sums {
    pub(super) fn new(q: usize, d: usize) -> Self {
        Sums {
            n: 0.0,
            uniform: vec![vec![0.0; BINS]; q],
            extreme: vec![0.0; q],
            powers: vec![[0.0; 3]; q],
            contexts: vec![[0.0; 2]; d],
            products: vec![vec![[0.0; 2]; d]; q],
            pairs: vec![0.0; q * q],
            log_p: (f64::INFINITY, f64::NEG_INFINITY),
            lowest: 0,
        }
    }

    /// Adds a row: residuals, scaled contexts, ln p, weight.
    pub(super) fn add(&mut self, id: u64, z: &[f64], x: &[f64], log_p: f64, w: f64) {
        let q = z.len();
        self.n += w;
        for c in 0..q {
            let u = Family::Normal.cdf(z[c], 0.0, 1.0).value;
            self.uniform[c][((u * BINS as f64) as usize).min(BINS - 1)] += w;
            self.extreme[c] += if z[c].abs() > 4.0 { w } else { 0.0 };
            let square = z[c] * z[c];
            for (p, v) in self.powers[c].iter_mut().zip([z[c], square, square * square]) {
                *p += w * v;
            }
            for (p, x) in self.products[c].iter_mut().zip(x) {
                p[0] += w * z[c] * x;
                p[1] += w * square * x;
            }
            (c + 1..q).for_each(|e| self.pairs[c * q + e] += w * z[c] * z[e]);
        }
        for (s, x) in self.contexts.iter_mut().zip(x) {
            s[0] += w * x;
            s[1] += w * x * x;
        }
        // what is not a number is no density
        let log_p = if log_p.is_nan() { f64::NEG_INFINITY } else { log_p };
        if log_p < self.log_p.0 {
            (self.log_p.0, self.lowest) = (log_p, id);
        }
        self.log_p.1 = self.log_p.1.max(log_p);
    }

    pub(super) fn merge(&mut self, other: &Sums) {
        fn plus<'a>(to: impl Iterator<Item = &'a mut f64>, from: impl Iterator<Item = &'a f64>) {
            to.zip(from).for_each(|(a, b)| *a += b);
        }
        self.n += other.n;
        plus(self.uniform.iter_mut().flatten(), other.uniform.iter().flatten());
        plus(self.extreme.iter_mut(), other.extreme.iter());
        plus(self.powers.iter_mut().flatten(), other.powers.iter().flatten());
        plus(self.contexts.iter_mut().flatten(), other.contexts.iter().flatten());
        plus(self.products.iter_mut().flatten().flatten(), other.products.iter().flatten().flatten());
        plus(self.pairs.iter_mut(), other.pairs.iter());
        if other.log_p.0 < self.log_p.0 {
            (self.log_p.0, self.lowest) = (other.log_p.0, other.lowest);
        }
        self.log_p.1 = self.log_p.1.max(other.log_p.1);
    }

    /// Refuses densities that are no numbers.
    pub(super) fn representable(&self) -> Result<()> {
        if !(self.log_p.0 > SMALLEST && self.log_p.1 < -SMALLEST) {
            return Err(Error::data("its action lies so far from what the contexts predict that its density is 0")
                .at(format!("row {}", self.lowest + 1))
                .hint(format!("leave the row out if it is an error, or {LOG_IT}")));
        }
        Ok(())
    }

    /// Largest distance between the distribution of F(a|x) and the uniform, at the edges of the bins.
    fn kolmogorov(&self, c: usize) -> f64 {
        let mut below = 0.0;
        let edges = self.uniform[c].iter().enumerate().map(|(i, w)| {
            below += w;
            (below / self.n - (i + 1) as f64 / BINS as f64).abs()
        });
        edges.fold(0.0, f64::max)
    }

    /// Largest correlation of z (power 0) or z^2 (power 1) with a context.
    fn left(&self, c: usize, power: usize) -> Option<(usize, f64)> {
        let n = self.n;
        let (mean, square) = (self.powers[c][power] / n, [self.powers[c][1], self.powers[c][2]][power] / n);
        let spread = (square - mean * mean).sqrt();
        let correlations = self.contexts.iter().zip(&self.products[c]).map(|(x, p)| {
            let x_mean = x[0] / n;
            let x_spread = (x[1] / n - x_mean * x_mean).max(0.0).sqrt();
            // a context that does not vary has no correlation
            if x_spread > 1e-9 { (p[power] / n - mean * x_mean) / (spread * x_spread) } else { 0.0 }
        });
        correlations.enumerate().reduce(|a, b| if b.1.abs() > a.1.abs() { b } else { a })
    }

    /// Largest correlation between the residuals of two actions.
    fn dependence(&self) -> Option<f64> {
        let q = self.powers.len();
        let moment = |c: usize| (self.powers[c][0] / self.n, self.powers[c][1] / self.n);
        let correlation = |c: usize, e: usize| {
            let ((mc, sc), (me, se)) = (moment(c), moment(e));
            (self.pairs[c * q + e] / self.n - mc * me) / ((sc - mc * mc) * (se - me * me)).sqrt()
        };
        let pairs = (0..q).flat_map(|c| (c + 1..q).map(move |e| (c, e)));
        pairs.map(|(c, e)| correlation(c, e)).reduce(|a, b| if b.abs() > a.abs() { b } else { a })
    }
}

/// Fills in what was found, says what speaks against it, and refuses what is hopeless.
pub(super) fn judge(log: &Log, mut actions: Vec<ActionModel>, sums: &Sums, atoms: &[Atoms]) -> Result<Estimated> {
    let root = (log.rows() as f64).sqrt();
    let names = &log.schema().contexts;
    let mut warnings = Vec::new();
    for (c, m) in actions.iter_mut().enumerate() {
        let named = |l: Option<(usize, f64)>| l.map(|(j, r)| (names[j].clone(), r));
        m.kolmogorov = sums.kolmogorov(c);
        m.mean_left = named(sums.left(c, 0));
        m.spread_left = named(sums.left(c, 1));
        m.extreme = sums.extreme[c] / sums.n;
        m.atom = atoms[c].most;
        if m.kolmogorov > MAX_KOLMOGOROV.max(CHANCE / root) {
            return Err(Error::data(format!(
                "neither a normal nor a log-normal law fits: the distance from a right one is {:.2} (above {MAX_KOLMOGOROV} \
                 weights would mean nothing)",
                m.kolmogorov
            ))
            .at(format!("column {:?}", m.action))
            .hint(LOG_IT));
        }
        warnings.extend(doubts(m, root));
    }
    let dependence = sums.dependence();
    if let Some(r) = dependence.filter(|r| r.abs() > CORRELATION.max(4.0 / root)) {
        warnings.push(format!(
            "given the contexts, two actions still move together (correlation {r:.2}); the product of their densities takes \
             them to be independent"
        ));
    }
    let central: Vec<(f64, f64)> = atoms.iter().map(|a| a.central).collect();
    let whole = propensity_check(log, &central);
    if !whole.plausible {
        warnings.push(format!(
            "the densities integrate to {:.2} ± {:.2} over the central range of actions (should be 1)",
            whole.ratio, whole.std_error
        ));
    }
    Ok(Estimated {
        folds: super::FOLDS,
        actions,
        range: whole.range,
        integral: whole.ratio,
        integral_std_error: whole.std_error,
        dependence,
        warnings,
    })
}

/// What speaks against the model of one action.
fn doubts(m: &ActionModel, root: f64) -> Vec<String> {
    let mut out = Vec::new();
    let name = &m.action;
    if m.kolmogorov > KOLMOGOROV.max(CHANCE / root) {
        out.push(format!(
            "the shape of the density of {name:?} is off: its distance from a right one is {:.3} (up to {:.3} is fine)",
            m.kolmogorov,
            KOLMOGOROV.max(CHANCE / root)
        ));
    }
    let limit = CORRELATION.max(4.0 / root);
    if let Some((x, r)) = m.mean_left.as_ref().filter(|(_, r)| r.abs() > limit) {
        out.push(format!("the model of {name:?} misses a trend in context {x:?} (correlation {r:.2} is left)"));
    }
    if let Some((x, r)) = m.spread_left.as_ref().filter(|(_, r)| r.abs() > limit) {
        out.push(format!("the spread of {name:?} still depends on context {x:?} (correlation {r:.2} is left)"));
    }
    if m.extreme > EXTREME.max(5.0 / (root * root)) {
        out.push(format!(
            "{:.2}% of {name:?} lie more than 4 std from their mean: its tails are heavier than the model's, and the weights \
             there too large",
            100.0 * m.extreme
        ));
    }
    if m.explained > EXPLAINED {
        out.push(format!(
            "the contexts explain {:.1}% of {name:?}: little randomness is left to learn from",
            100.0 * m.explained
        ));
    }
    if m.atom.1 > ATOM {
        out.push(format!("{:.1}% of {name:?} are exactly {}, which no density can say", 100.0 * m.atom.1, m.atom.0));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residuals_of_the_right_law_have_no_distance_and_shifted_ones_have() {
        let n = 2000;
        let sums_of = |shift: f64| {
            let mut left = Sums::new(1, 1);
            let mut right = Sums::new(1, 1);
            for i in 0..n {
                // the quantiles of the normal law, by bisection
                let u = (i as f64 + 0.5) / f64::from(n);
                let (mut low, mut high) = (-6.0, 6.0);
                while high - low > 1e-9 {
                    let mid = 0.5 * (low + high);
                    if Family::Normal.cdf(mid, 0.0, 1.0).value < u { low = mid } else { high = mid }
                }
                let to = if i % 2 == 0 { &mut left } else { &mut right };
                to.add(i as u64, &[low + shift], &[low], -1.0, 1.0);
            }
            left.merge(&right);
            left
        };
        assert!(sums_of(0.0).kolmogorov(0) < 1e-3);
        // the largest gap between two normal laws half a std apart: 2 Phi(1/4) - 1
        assert!((sums_of(0.5).kolmogorov(0) - 0.1974).abs() < 1e-3);
        let (_, r) = sums_of(0.0).left(0, 0).unwrap();
        assert!((r - 1.0).abs() < 1e-9, "z is the context itself here: {r}");
    }
}
