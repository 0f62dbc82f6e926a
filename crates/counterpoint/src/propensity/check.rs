//! May the estimate be believed? What can be seen from the log itself, with its thresholds, in words.
//!
//! If densities are right, u = F(a|x) is uniform whatever the context, standardised residuals know nothing of the contexts,
//! 1/p integrates to the range of the actions, one row in sixteen thousand lies 4 std out, and fourth powers of residuals have the mean 3. Small departures are said,
//! large ones refuse the log: weights built on them would mean nothing.

use super::regress::Regression;
use crate::data::{ActionModel, Estimated, Sampled};
use crate::describe::PropensityCheck;
use crate::error::{Error, Hint, Remedy, Result};
use crate::features::anchors::quantile_sorted;
use crate::folds::{FOLDS, Fit, Residuals};

/// Fewer rows say nothing about a density.
const MIN_ROWS: u64 = 50;
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
/// Excess kurtosis beyond this, and beyond five standard errors, is another shape: at the mean the density is off by an eighth of it
/// (Gram and Charlier), here 6%, and with it every weight of a policy that plays there.
const KURTOSIS: f64 = 0.5;
/// ln of the smallest density that is still a number.
const SMALLEST: f64 = -700.0;
/// Rows from which quantiles and atoms are taken.
pub(super) const SAMPLE: usize = 50_000;

/// The true remedy for propensities that nobody logged.
fn log_it() -> Hint {
    Hint::from("log the density when the action is drawn, and name that column with ") + Remedy::Propensity
}

/// What a sample of one action column says before any fit.
pub(super) struct Atoms {
    /// Its 1% and 99% quantiles.
    pub(super) central: (f64, f64),
    /// Its most frequent value and the share of it.
    most: (f64, f64),
}

/// Looks at the actions; refuses a log in which they can have no density.
pub(super) fn atoms(rows: u64, sample: &Sampled, names: &[String]) -> Result<Vec<Atoms>> {
    if rows < MIN_ROWS {
        return Err(Error::data(format!("{rows} rows are too few to estimate propensities from"))
            .hint(Hint::from(format!("at least {MIN_ROWS} are needed; ")) + log_it()));
    }
    let q = names.len();
    (0..q)
        .map(|c| {
            let mut sorted: Vec<f64> = sample.a.iter().skip(c).step_by(q).copied().collect();
            sorted.sort_by(f64::total_cmp);
            let runs: Vec<(f64, usize)> = sorted.chunk_by(|a, b| a == b).map(|r| (r[0], r.len())).collect();
            let (value, count) = runs.iter().copied().fold((0.0, 0), |m, r| if r.1 > m.1 { r } else { m });
            let share = count as f64 / sorted.len() as f64;
            let refuse = |what: String| {
                Error::data(what)
                    .at(format!("column {:?}", names[c]))
                    .hint(Hint::from("densities are for continuous actions; leave such rows out, or ") + log_it())
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

/// Refuses densities that are no numbers.
pub(super) fn representable(residuals: &Residuals) -> Result<()> {
    let (smallest, row, largest) = residuals.log_p();
    if !(smallest > SMALLEST && largest < -SMALLEST) {
        return Err(Error::data("its action lies so far from what the contexts predict that its density is 0")
            .at(format!("row {}", row + 1))
            .hint(Hint::from("leave the row out if it is an error, or ") + log_it()));
    }
    Ok(())
}

/// Fills in what was found, says what speaks against it, and refuses what is hopeless.
pub(super) fn judge(
    rows: u64,
    contexts: &[String],
    mut actions: Vec<ActionModel>,
    fit: &Fit,
    atoms: &[Atoms],
) -> Result<Estimated> {
    let root = (rows as f64).sqrt();
    let sums = &fit.residuals;
    let mut warnings = Vec::new();
    for (c, m) in actions.iter_mut().enumerate() {
        let named = |l: Option<(usize, f64)>| l.map(|(j, r)| (contexts[j].clone(), r));
        m.kolmogorov = sums.kolmogorov(c);
        m.mean_left = named(sums.left(c, 0));
        m.spread_left = named(sums.left(c, 1));
        m.extreme = sums.extreme(c);
        m.atom = atoms[c].most;
        if m.kolmogorov > MAX_KOLMOGOROV.max(CHANCE / root) {
            return Err(Error::data(format!(
                "neither a normal nor a log-normal law fits: the distance from a right one is {:.2} (above {MAX_KOLMOGOROV} \
                 weights would mean nothing)",
                m.kolmogorov
            ))
            .at(format!("column {:?}", m.action))
            .hint(log_it()));
        }
        warnings.extend(doubts(m, sums.kurtosis(c), root));
    }
    let dependence = sums.dependence();
    if let Some(r) = dependence.filter(|r| r.abs() > CORRELATION.max(4.0 / root)) {
        warnings.push(format!(
            "given the contexts, two actions still move together (correlation {r:.2}); the product of their densities takes \
             them to be independent"
        ));
    }
    let central: Vec<(f64, f64)> = atoms.iter().map(|a| a.central).collect();
    let whole = PropensityCheck::of(&fit.mass, &central, 0);
    if !whole.plausible {
        warnings.push(format!(
            "the densities integrate to {:.2} ± {:.2} over the central range of actions (should be 1)",
            whole.ratio, whole.std_error
        ));
    }
    Ok(Estimated {
        folds: FOLDS,
        actions,
        range: whole.range,
        integral: whole.ratio,
        integral_std_error: whole.std_error,
        dependence,
        warnings,
    })
}

/// What speaks against the model of one action.
fn doubts(m: &ActionModel, kurtosis: f64, root: f64) -> Vec<String> {
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
    // the kurtosis of n normal numbers has a standard error of sqrt(24 / n)
    if kurtosis.abs() > KURTOSIS.max(5.0 * 24f64.sqrt() / root) {
        out.push(format!(
            "what the model of {name:?} leaves is {} than a normal law (excess kurtosis {kurtosis:.2}): at its mean the density is off by {:.0}%, and \
             the weights with it",
            if kurtosis > 0.0 { "more peaked, with heavier tails," } else { "flatter" },
            100.0 * kurtosis.abs() / 8.0
        ));
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

    /// Densities from e^-700 to e^700 are numbers; beyond either end the row is named.
    #[test]
    fn densities_that_are_no_numbers_are_refused() {
        let with = |low: f64, high: f64| {
            let mut all = serde_json::to_value(Residuals::new(1, 0)).unwrap();
            all["log_p"] = serde_json::json!([low, high]);
            all["lowest"] = 4.into();
            representable(&serde_json::from_value(all).unwrap()).map_err(|e| e.to_string())
        };
        assert_eq!(with(-699.0, 699.0), Ok(()));
        assert!(with(-701.0, 1.0).unwrap_err().contains("row 5"));
        assert!(with(-1.0, 701.0).is_err());
    }

    /// Residuals of the right shape raise no doubt, those of a logistic law (excess kurtosis 1.2) do where rows are enough to tell.
    #[test]
    fn another_shape_is_said_where_rows_tell() {
        let word = String::new;
        let (kolmogorov, extreme, explained, residual, atom) = (0.0, 0.0, 0.0, 1.0, (0.0, 0.0));
        let (compared, mean_left, spread_left) = (Vec::new(), None, None);
        let [action, family, mean, std] = std::array::from_fn(|_| word());
        let m = ActionModel {
            action,
            family,
            mean,
            std,
            explained,
            residual,
            compared,
            kolmogorov,
            mean_left,
            spread_left,
            extreme,
            atom,
        };
        let said = |kurtosis: f64, rows: f64| doubts(&m, kurtosis, rows.sqrt()).join("");
        assert_eq!(said(0.3, 1e6), "");
        assert_eq!(said(1.2, 300.0), "");
        assert!(said(1.2, 4000.0).contains("off by 15%"), "{}", said(1.2, 4000.0));
        assert!(said(-1.2, 4000.0).contains("flatter"));
    }

    /// A fifth of the actions may be one action, and twenty must differ.
    #[test]
    fn actions_that_are_mostly_one_have_no_density() {
        let with = |same: usize, others: usize| {
            let a = std::iter::repeat_n(0.0, same).chain((1..=others).map(|i| i as f64)).collect();
            let sample = Sampled { a, ..Sampled::default() };
            atoms(MIN_ROWS, &sample, &["a".into()]).map(|found| found[0].most).map_err(|e| e.to_string())
        };
        assert_eq!(with(20, 80), Ok((0.0, 0.2)));
        assert!(with(21, 79).unwrap_err().contains("21% of the actions are exactly 0"));
        assert!(with(1, 18).unwrap_err().contains("only 19 different actions"));
        assert_eq!(with(1, 19), Ok((0.0, 0.0)));
    }
}
