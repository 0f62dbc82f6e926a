//! From weighted rows to a certificate.

use super::advice::advise;
use super::bound;
use super::certificate::{Beside, Certificate, Estimator, Verdict};
use super::coverage::{AWAY, Coverage, NEGLIGIBLE, look};
use super::decide::{Case, FEW, decide};
use super::diagnose::{Diagnostics, Part};
use super::evidence::GateEvidence;
use super::interval::{self, Figure, Interval};
use super::subject::Subject;
use super::terms::{Method, Mode, Terms};
use super::words;
use crate::data::{Outcome, Propensities};
use crate::error::{Error, Result};
use crate::folds::{Control, Moments, Weighed};
use crate::math;
use crate::policy::TargetPolicy;
use crate::source::Source;

/// A difference smaller than this share of the costs' standard error is rounding: the policy is the log's own.
const ROUNDING: f64 = 1e-9;

/// Standard errors that the mean weight must lie below 1 before mass is missing: as many as in a region.
const LACKING: f64 = 3.3;

/// Outcomes are rarely other than usual where fewer than this share of the rows make them vary.
const RARE: f64 = 0.1;

/// Replicates at most, where the verdict would otherwise hang on the seed.
const MOST_REPLICATES: usize = 16_000;

/// A certificate with what joint verdicts need: the observed statistic and its replicates.
pub(super) struct Judged {
    pub(super) certificate: Certificate,
    pub(super) observed: f64,
    pub(super) replicates: Vec<f64>,
}

/// Whether replicates may become more near the border.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Replicating {
    Grows,
    Fixed,
}

/// Weighted rows: valid and test as they are, and with costs less what contexts explain of them.
pub(super) struct Rows<'a> {
    plain: [&'a dyn Weighed; 2],
    controlled: Option<[&'a dyn Weighed; 2]>,
    robust: Option<Robust<'a>>,
    coverage: Option<Coverage>,
}

/// The terms of the doubly robust difference, and what its model leaves of the costs.
#[derive(Clone, Copy)]
struct Robust<'a> {
    terms: [&'a dyn Weighed; 2],
    left: [&'a dyn Weighed; 2],
    /// The variance of what the model expects of the policy less what it says of the log.
    spread: f64,
}

impl<'a> Rows<'a> {
    /// Rows of which nothing else is known.
    pub(super) fn plain(valid: &'a dyn Weighed, test: &'a dyn Weighed) -> Self {
        Rows { plain: [valid, test], controlled: None, robust: None, coverage: None }
    }
}

/// A policy looked at context by context, and the rows of both parts weighed by it.
pub(super) struct WeighedParts<'a> {
    plain: [Box<dyn Weighed + 'a>; 2],
    controlled: Option<[Box<dyn Weighed + 'a>; 2]>,
    left: Option<[Box<dyn Weighed + 'a>; 2]>,
    robust: Option<[Box<dyn Weighed + 'a>; 2]>,
    spread: f64,
    coverage: Option<Coverage>,
}

impl<'a> WeighedParts<'a> {
    pub(super) fn new(
        policy: &dyn TargetPolicy,
        [valid, test]: [&'a dyn Source; 2],
        terms: &Terms,
    ) -> Result<WeighedParts<'a>> {
        if test.schema().cluster.is_some() && terms.interval == Method::Normal {
            return Err(Error::recipe(
                "certify.interval",
                "a normal interval takes rows for independent draws, and the log has clusters",
            )
            .hint("use the bootstrap, which draws clusters as a whole"));
        }
        let looked = match terms.mode {
            Mode::Default => look(policy, valid, test, terms)?,
            Mode::Paper => None,
        };
        let (coverage, control, declared) =
            looked.map_or((None, None, None), |l| (Some(l.coverage), l.control, l.declared));
        // a policy is asked about every row once, whatever is taken out of the costs
        let plain = [valid.weigh(policy)?, test.weigh(policy)?];
        let again = |c: Option<Control>| {
            let pair =
                |c: &Control| Ok([valid.weigh_again(&*plain[0], policy, c)?, test.weigh_again(&*plain[1], policy, c)?]);
            c.as_ref().map(pair).transpose()
        };
        let spread = declared.as_ref().map_or(0.0, |d| d.spread);
        let controlled = again(control)?;
        let left = again(declared.as_ref().map(|d| Control::Residuals(d.model.clone())))?;
        let robust = again(declared.map(|d| Control::Robust(d.model)))?;
        Ok(WeighedParts { plain, controlled, left, robust, spread, coverage })
    }

    /// The test part as it is.
    pub(super) fn test(&self) -> &dyn Weighed {
        &*self.plain[1]
    }

    fn rows(&self) -> Rows<'_> {
        let robust = self.robust.as_ref().zip(self.left.as_ref());
        Rows {
            plain: both(&self.plain),
            controlled: self.controlled.as_ref().map(both),
            robust: robust.map(|(r, l)| Robust { terms: both(r), left: both(l), spread: self.spread }),
            coverage: self.coverage.clone(),
        }
    }
}

/// Examines the rows of a policy.
pub(super) fn judge(
    weighed: &WeighedParts,
    direction: Outcome,
    terms: &Terms,
    evidence: &GateEvidence,
    replicating: Replicating,
) -> Result<Judged> {
    examine(&weighed.rows(), terms, direction, evidence, replicating)
}

fn both<'a>(parts: &'a [Box<dyn Weighed + 'a>; 2]) -> [&'a dyn Weighed; 2] {
    [&*parts[0], &*parts[1]]
}

/// The gain on rows that know nothing but the difference between policy and log.
struct Paired {
    valid: Diagnostics,
    test: Part,
    figure: Figure,
    freedom: f64,
    terms: Terms,
    interval: Interval,
    p_value: f64,
    /// The error without a gain: at least that of the influence of both parts' rows, ..
    null_error: f64,
    /// .. and without that.
    unrelated: f64,
}

impl Paired {
    /// By self-normalised weights.
    fn snips(
        rows: [&dyn Weighed; 2],
        parts: [Part; 2],
        terms: &Terms,
        evidence: &GateEvidence,
        grows: Replicating,
    ) -> Result<Self> {
        let null = null_error(&parts);
        Paired::new(rows[1], parts, Moments::difference, null, terms, evidence, grows)
    }

    /// By the terms of a model: their mean is the difference. Without a gain, what the model leaves has nothing to do with the weights.
    fn robust(r: &Robust, terms: &Terms, evidence: &GateEvidence, grows: Replicating) -> Result<Self> {
        // the mean of the terms is what is asked for: they are not centred
        let part = |rows, replicates| Part::about(rows, replicates, terms, Some(0.0));
        let parts = [part(r.terms[0], 0)?, part(r.terms[1], terms.replicates())?];
        let left = [Part::new(r.left[0], 0, terms)?, Part::new(r.left[1], 0, terms)?];
        let null = math::hypot(null_error(&left), (r.spread / parts[1].diagnostics.rows).sqrt());
        Paired::new(r.terms[1], parts, Moments::logged, null, terms, evidence, grows)
    }

    fn new(
        rows: &dyn Weighed,
        [known, test]: [Part; 2],
        figure: Figure,
        null: f64,
        terms: &Terms,
        evidence: &GateEvidence,
        replicating: Replicating,
    ) -> Result<Self> {
        let freedom = freedom(&known.diagnostics, &test.diagnostics, evidence);
        let design = test.design_effect(figure, terms).sqrt();
        let mut paired = Paired {
            null_error: null.max(pooled_error([&known, &test], figure)) * design,
            unrelated: null * design,
            valid: known.diagnostics,
            figure,
            freedom,
            terms: terms.clone(),
            interval: Interval::default(),
            p_value: 1.0,
            test,
        };
        paired.measure();
        while replicating == Replicating::Grows && paired.hangs_on_the_seed() {
            paired.terms.bootstrap = (4 * paired.terms.bootstrap).min(MOST_REPLICATES);
            paired.test.resample(rows, &paired.terms)?;
            paired.measure();
        }
        Ok(paired)
    }

    fn measure(&mut self) {
        (self.interval, self.p_value) =
            interval::interval(&self.test.sums, self.figure, self.freedom, self.null_error, &self.terms);
    }

    /// Whether other replicates might well have said the other thing: the p-value is within three of its errors of the level.
    fn hangs_on_the_seed(&self) -> bool {
        let (level, b) = (self.terms.tail(), self.terms.bootstrap as f64);
        self.terms.interval == Method::BootstrapT
            && self.terms.mode == Mode::Default
            && self.terms.bootstrap < MOST_REPLICATES
            && (self.p_value - level).abs() < 3.0 * (level * (1.0 - level) / b).sqrt()
    }
}

/// The error that the difference has if weights and costs have nothing to do with each other; costs as they vary in both parts together.
fn null_error([known, test]: &[Part; 2]) -> f64 {
    let spread = (variance(known, test) / math::powi(test.totals.cost.std(), 2)).sqrt();
    // outcomes of the test rows that are all the same have no spread to compare with, and no error either
    let spread = if spread.is_finite() { spread } else { 1.0 };
    spread * test.sums.own.null_error()
}

/// The error that the influence of the rows of both parts makes: harm to which the valid rows alone bear witness is harm.
fn pooled_error([known, test]: [&Part; 2], figure: Figure) -> f64 {
    let per_row = |p: &Part| (p.diagnostics.rows, p.diagnostics.rows * math::powi(figure(&p.sums.own).1, 2));
    let ((n, v), (m, t)) = (per_row(known), per_row(test));
    ((n * v + m * t) / (n + m) / m).sqrt()
}

/// Rows of both parts that the variance of the costs rests on; infinitely many where they are no small share of all.
fn varied(valid: &Part, test: &Part) -> f64 {
    let [squares, fourths] = [0, 1].map(|k| valid.powers[k] + test.powers[k]);
    let rows = [valid, test].iter().map(|p| p.diagnostics.clusters.unwrap_or(p.diagnostics.rows)).sum::<f64>();
    let varied = squares * squares / fourths;
    if varied < RARE * rows { varied } else { f64::INFINITY }
}

/// The variance of the costs of both parts together: harm that happened to fall on the valid rows alone is harm.
fn variance(valid: &Part, test: &Part) -> f64 {
    let mut cost = valid.totals.cost.clone();
    cost.merge(&test.totals.cost);
    math::powi(cost.std(), 2)
}

/// Whether the costs of both parts are one of two numbers each, either of them at least [`FEW`] times: of all costs between two ends, these alone
/// have the variance (mean - low) (high - mean) (Bhatia and Davis).
fn two_valued(valid: &Part, test: &Part) -> bool {
    let mut cost = valid.totals.cost.clone();
    cost.merge(&test.totals.cost);
    let (low, high) = (cost.mean() - cost.min, cost.max - cost.mean());
    let rarer = cost.n * low.min(high) / (cost.max - cost.min);
    rarer >= FEW && math::powi(cost.std(), 2) * (cost.n - 1.0) / cost.n >= low * high * (1.0 - 1e-9)
}

/// The value's interval, where it rests on so few rows that its error may be blind: at least as wide as if weights and costs had nothing
/// to do with each other, whose error is that of n_eff plain rows.
fn floored(value: Interval, gate: &Part, part: &Part, evidence: &GateEvidence) -> Interval {
    let informative = match evidence {
        GateEvidence::Valid => gate.diagnostics.informative.min(part.diagnostics.informative),
        GateEvidence::Folds(_) => part.diagnostics.informative,
    };
    let floor = (variance(gate, part) / part.diagnostics.effective).sqrt();
    if informative < FEW && floor > value.std_error && value.std_error > 0.0 {
        value.stretched(floor / value.std_error)
    } else {
        value
    }
}

/// Degrees of freedom: the part that rests on fewer rows says how much a standard error is worth; the other may have missed the
/// rare rows. Rows that the policy was learned from say too much.
fn freedom(valid: &Diagnostics, test: &Diagnostics, evidence: &GateEvidence) -> f64 {
    match evidence {
        GateEvidence::Valid => valid.freedom().min(test.freedom()),
        GateEvidence::Folds(_) => test.freedom(),
    }
}

pub(super) fn examine(
    rows: &Rows,
    terms: &Terms,
    direction: Outcome,
    evidence: &GateEvidence,
    replicating: Replicating,
) -> Result<Judged> {
    let terms = &terms.in_costs(direction);
    let parts = |[valid, test]: [&dyn Weighed; 2]| {
        Ok::<[Part; 2], Error>([Part::new(valid, 0, terms)?, Part::new(test, terms.replicates(), terms)?])
    };
    let [gate, part] = parts(rows.plain)?;
    let snips = match rows.controlled {
        Some(controlled) => Paired::snips(controlled, parts(controlled)?, terms, evidence, replicating)?,
        None => Paired::snips(rows.plain, [gate.clone(), part.clone()], terms, evidence, replicating)?,
    };
    let (paired, estimator, beside) = match &rows.robust {
        Some(r) => {
            let beside = Beside { estimator: Estimator::Snips, difference: snips.interval };
            (Paired::robust(r, terms, evidence, replicating)?, Estimator::Dr, Some(beside))
        }
        _ => (snips, Estimator::Snips, None),
    };
    let of_value = freedom(&gate.diagnostics, &part.diagnostics, evidence);
    let (value, p_of_value) = interval::interval(&part.sums, Moments::value, of_value, 0.0, terms);
    let value = match terms.mode {
        Mode::Default => floored(value, &gate, &part, evidence),
        Mode::Paper => value,
    }
    .shifted(part.centre);
    let logged = interval::interval(&part.sums, Moments::logged, part.logged_freedom, 0.0, terms).0;
    let logged = logged.shifted(part.centre);
    let bound = bound::bound(rows.plain[1], &part.totals, &gate.totals, terms)?;
    let own = paired.interval.std_error <= ROUNDING * logged.std_error;
    let mut case = Case {
        value,
        logged,
        difference: paired.interval,
        p_value: paired.p_value,
        null_error: paired.null_error,
        unrelated: paired.unrelated,
        informative: match evidence {
            GateEvidence::Valid => paired.valid.informative.min(paired.test.diagnostics.informative),
            GateEvidence::Folds(_) => paired.test.diagnostics.informative,
        },
        tail_index: [&gate.diagnostics, &part.diagnostics].into_iter().filter_map(|d| d.tail_index).reduce(f64::min),
        own,
        missing: missing([&gate.diagnostics, &part.diagnostics], rows.coverage.as_ref(), terms),
        away: rows.coverage.as_ref().map_or(0.0, |c| if c.away < AWAY { 0.0 } else { c.away }),
        seen: [gate.totals.cost.min.min(part.totals.cost.min), gate.totals.cost.max.max(part.totals.cost.max)],
        two_valued: two_valued(&gate, &part),
        constant: part.totals.cost.min == part.totals.cost.max,
        effective: part.diagnostics.effective,
        rows: part.diagnostics.rows,
        guarantee: bound.as_ref().ok().map(|b| b.difference),
        varied: varied(&gate, &part),
    };
    if terms.mode == Mode::Paper {
        case.p_value = p_of_value; // the mean cost is the centre of the costs, so it stands at 0 there
    }
    let figures = evidence.figures(&gate.diagnostics);
    let refusals = words::refusals(&figures, rows.coverage.as_ref(), terms);
    let doubted = rows.coverage.as_ref().is_some_and(|c| c.densities.is_some());
    let decided = decide(case, terms);
    let verdict = if refusals.is_empty() { decided.verdict } else { Verdict::Invalid };
    let case = decided.case;
    let advice = advise(verdict, &case, &figures, doubted, terms);
    let coverage = rows.coverage.clone().map(|c| Coverage { missing: case.missing, ..c });
    let mut certificate = Certificate {
        subject: Subject::default(),
        verdict,
        reasons: Vec::new(),
        direction: Outcome::Cost,
        value: case.value,
        logged: case.logged,
        difference: case.difference,
        estimator,
        beside,
        p_value: case.p_value,
        null_error: paired.null_error,
        adjusted: None,
        freedom: of_value.min(paired.freedom),
        replicates: paired.terms.replicates(),
        controlled: rows.controlled.is_some(),
        bound: bound.ok(),
        more_rows: advice.rows,
        missing: case.missing,
        coverage,
        overturn: None,
        valid: gate.diagnostics,
        test: part.diagnostics,
        terms: terms.clone(),
        evidence: *evidence,
        propensities: Propensities::Logged,
        fingerprint: format!("{:016x}", part.totals.fingerprint),
    }
    .to_user(direction);
    certificate.reasons = words::reasons(&certificate, refusals, &decided.remarks, bound.err());
    certificate.reasons.extend(advice.words);
    let stretch = interval::stretch(paired.freedom, terms);
    let error = paired.interval.std_error.max(paired.null_error);
    let observed = if own { f64::INFINITY } else { paired.interval.estimate / (stretch * error) };
    let replicates = interval::studentised(&paired.test.sums, paired.figure, paired.terms.replicates());
    Ok(Judged { certificate, observed, replicates })
}

/// Share of the policy's mass that the log does not show: the mean weight of all rows where its error says that it is below 1, and what
/// was found context by context (without contexts, the mass outside the logged actions); the largest of them. Test rows that happen to lack heavy
/// rows do not know how rare these are: the error is at least what the weights of the valid rows make of it.
fn missing([valid, test]: [&Diagnostics; 2], coverage: Option<&Coverage>, terms: &Terms) -> f64 {
    // who lets any mean weight pass has densities that are known up to a factor
    let gated = terms.gate.max_mean_weight_error < 1.0;
    let lack = 1.0 - test.mean_weight.estimate;
    let by_valid = valid.mean_weight.std_error * (valid.rows / test.rows).sqrt();
    let error = test.mean_weight.std_error.max(by_valid);
    let lack = if gated && lack > LACKING * error { lack } else { 0.0 };
    // the range of the test rows alone is narrower than what the log did
    let outside = if coverage.is_some_and(|c| c.beyond.is_some()) { 0.0 } else { test.outside };
    let found = lack.max(outside).max(coverage.map_or(0.0, |c| c.missing));
    let away = coverage.is_some_and(|c| c.away >= AWAY);
    if found < NEGLIGIBLE && !away { 0.0 } else { found.min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weighed(mean_weight: f64, std_error: f64, rows: f64) -> Diagnostics {
        Diagnostics {
            rows,
            clusters: None,
            effective: 300.0,
            effective_share: 300.0 / rows,
            informative: 100.0,
            mean_weight: Interval::normal((mean_weight, std_error), &Terms::default()),
            largest_share: 0.01,
            top_percent_share: 0.3,
            weight_quantiles: [0.0; 5],
            tail_index: None,
            outside: 0.0,
        }
    }

    /// .16 below 1 is 3.4 errors of test rows that happen to lack heavy ones, and 3.0 of those that the valid rows know; where these know of no more, it is missing.
    #[test]
    fn test_rows_without_heavy_ones_do_not_say_how_rare_these_are() {
        let test = weighed(0.84, 0.047, 10_000.0);
        let of = |valid: Diagnostics| missing([&valid, &test], None, &Terms::default());
        assert_eq!(of(weighed(0.98, 0.053, 10_000.0)), 0.0);
        assert_eq!(of(weighed(0.98, 0.106, 2500.0)), 0.0, "with a fourth of the rows an error is twice as large");
        assert!((of(weighed(0.98, 0.040, 10_000.0)) - 0.16).abs() < 1e-12);
    }
}
