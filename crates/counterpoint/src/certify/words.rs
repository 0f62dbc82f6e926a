//! A certificate in words, in the direction of the user's outcome.

use super::certificate::{Beside, Certificate, Estimator, Verdict};
use super::coverage::{Coverage, Region};
use super::decide::{FEW, Remark};
use super::terms::{Mode, Terms};
use crate::data::Outcome;
use crate::math;
use crate::policy::GateFigures;
use std::fmt;

/// Why the gate, or the densities themselves, say that the test part cannot tell; empty if it can.
pub(super) fn refusals(figures: &GateFigures, coverage: Option<&Coverage>, terms: &Terms) -> Vec<String> {
    let gate = match terms.mode {
        Mode::Default => terms.gate,
        Mode::Paper => terms.gate.share_alone(),
    };
    let mut why = gate.refusals(figures);
    why.extend(coverage.and_then(|c| c.densities.as_ref()).map(densities));
    why
}

fn densities(r: &Region) -> String {
    let m = r.mean_weight;
    if m.estimate < 1.0 {
        return format!(
            "{}: if that were the density of their actions, there would be {:.1} times as many rows like them: densities were kept above a floor, and the weights of \
             rare actions are too small",
            r.contexts,
            1.0 / m.estimate.max(1e-3)
        );
    }
    format!(
        "{}: weighed by the logged densities, the log's own law has mean weight {:.2} [{:.2}, {:.2}] instead of 1: these are not the \
         densities of the logged actions (of another policy, of another time or row, or on another scale)",
        r.contexts, m.estimate, m.lower, m.upper
    )
}

/// All reasons: what was refused, what the figures decide, and what else must be known.
pub(super) fn reasons(
    c: &Certificate,
    refusals: Vec<String>,
    remarks: &[Remark],
    no_bound: Option<&'static str>,
) -> Vec<String> {
    let same = |r: &&Remark| matches!(r, Remark::OwnPolicy | Remark::SameOutcomes);
    let mut reasons: Vec<String> = remarks.iter().filter(same).map(|r| remark(c, r)).collect();
    reasons.extend(refusals);
    reasons.push(decision(c));
    reasons.extend(remarks.iter().filter(|r| !same(r)).map(|r| remark(c, r)));
    reasons.extend(c.beside.as_ref().map(beside));
    let unsupported = c.coverage.iter().flat_map(|k| &k.regions).filter(|r| r.unsupported);
    reasons.extend(unsupported.take(3).map(region));
    reasons.extend(no_bound.map(String::from));
    reasons
}

fn beside(b: &Beside) -> String {
    let d = b.difference;
    let figures = format!("{} [{}, {}]", digits(d.estimate), digits(d.lower), digits(d.upper));
    match b.estimator {
        Estimator::Snips => format!(
            "the difference is doubly robust (DR): a model of the outcome that was learned from the valid part takes part, declared before a test row was \
             read; by weights alone (SNIPS) it is {figures}"
        ),
        Estimator::Dr => format!("with a model of the outcome (DR) the difference is {figures}"),
    }
}

fn region(r: &Region) -> String {
    let m = r.mean_weight;
    format!(
        "{}: mean weight {:.2} [{:.2}, {:.2}], {:.1}% of rows: the log does not support the policy there",
        r.contexts,
        m.estimate,
        m.lower.max(0.0),
        m.upper,
        100.0 * r.share
    )
}

fn remark(c: &Certificate, remark: &Remark) -> String {
    match remark {
        Remark::OwnPolicy => "on these rows the policy is the log's own: every weight is the same".into(),
        Remark::SameOutcomes => {
            "every outcome of the test part is the same: it cannot tell one policy from another".into()
        }
        Remark::NullError => format!(
            "but without any gain the difference would have a standard error of {}, and may be chance: too few rows with \
             another outcome carry weight",
            digits(c.null_error)
        ),
        Remark::Thin { informative, tail_index } => {
            let tail = tail_index.map_or(String::new(), |t| format!(", tail index of the weights {t:.1}"));
            format!(
                "but its error rests on too little ({informative:.0} rows{tail}): the gain must then exceed 1.25 half widths of \
                 its interval, or be guaranteed; more rows, a policy closer to the log, or a stated range of outcomes would help"
            )
        }
        Remark::ThinButEnough => {
            "its error rests on few rows, but the gain is far larger than that, or is guaranteed".into()
        }
        Remark::RareHarm { varied, by } if *varied >= FEW => format!(
            "but the stated range has worse outcomes than any that was seen: they may happen to rows that weigh more, which would cost up to {} per \
             row without having shown; the intervals allow for it",
            digits(*by)
        ),
        Remark::RareHarm { varied, by } => format!(
            "but outcomes vary because of {varied:.0} rows in all: the worst of them may happen to rows that weigh more, which would cost up to {} \
             per row without having shown; the intervals allow for it",
            digits(*by)
        ),
        Remark::Widened { missing, assumed } => format!(
            "{:.1}% of the policy's mass lies where the log has no rows; the intervals hold whatever outcome {} may happen there",
            100.0 * missing,
            if *assumed { "that was seen" } else { "of the stated range" }
        ),
        Remark::Unseen { missing, away } => {
            let (share, contexts) = if *away > 0.0 {
                (*away, ": in some contexts it does what the log never did in like ones")
            } else {
                (*missing, "")
            };
            format!(
                "nothing is known of what happens to {:.1}% of the policy's mass{contexts}, and no range of outcomes was stated: \
                 state one, or learn a policy that stays where the log has been",
                100.0 * share
            )
        }
    }
}

/// What the figures decide, in one sentence.
pub(super) fn decision(c: &Certificate) -> String {
    let level = format!("{}% CI", (1e6 * c.terms.confidence).round() / 1e4);
    let d = c.difference;
    match (c.verdict, c.terms.mode, c.direction) {
        (Verdict::Invalid, ..) => "so no decision is made; the figures are for information".into(),
        (verdict, Mode::Paper, Outcome::Cost) => {
            let than = if verdict == Verdict::Deploy { "below" } else { "not below" };
            let (upper, logged) = (digits(c.value.upper), digits(c.logged.estimate));
            format!("the upper end {upper} of the policy's cost per row is {than} the log's {logged}")
        }
        (verdict, Mode::Paper, Outcome::Reward) => {
            let than = if verdict == Verdict::Deploy { "above" } else { "not above" };
            let (lower, logged) = (digits(c.value.lower), digits(c.logged.estimate));
            format!("the lower end {lower} of the policy's reward per row is {than} the log's {logged}")
        }
        (Verdict::Deploy | Verdict::Promising, _, Outcome::Cost) => {
            format!("the policy costs {} to {} less per row ({level})", digits(-d.upper), digits(-d.lower))
        }
        (Verdict::Deploy | Verdict::Promising, _, Outcome::Reward) => {
            format!("the policy earns {} to {} more per row ({level})", digits(d.lower), digits(d.upper))
        }
        (Verdict::Keep, _, Outcome::Cost) => format!(
            "the policy is not shown to cost less: the difference in cost per row lies between {} and {} ({level})",
            digits(d.lower),
            digits(d.upper)
        ),
        (Verdict::Keep, _, Outcome::Reward) => format!(
            "the policy is not shown to earn more: the difference in reward per row lies between {} and {} ({level})",
            digits(d.lower),
            digits(d.upper)
        ),
    }
}

/// A number with four significant digits.
fn digits(v: f64) -> String {
    if v == 0.0 || !v.is_finite() {
        return v.to_string();
    }
    if !(1e-9..1e15).contains(&v.abs()) {
        return format!("{v:.3e}");
    }
    let places = (3.0 - math::log10(v.abs()).floor()).clamp(0.0, 12.0) as usize;
    format!("{v:.places$}")
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Deploy => "DEPLOY",
            Verdict::Promising => "PROMISING",
            Verdict::Keep => "KEEP",
            Verdict::Invalid => "INVALID",
        })
    }
}

/// The verdict, its reasons, and the figures, in a few lines.
impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.verdict)?;
        self.reasons.iter().try_for_each(|r| writeln!(f, "  {r}"))?;
        let what = match self.direction {
            Outcome::Reward => "reward",
            Outcome::Cost => "cost",
        };
        let level = (1e6 * self.terms.confidence).round() / 1e4;
        let lines = [("policy", self.value), ("log", self.logged), ("difference", self.difference)];
        for (name, i) in lines {
            let ends = format!("[{}, {}]", digits(i.lower), digits(i.upper));
            writeln!(f, "{name:<11}{what} per row {:>12}  {level}% CI {ends}", digits(i.estimate))?;
        }
        writeln!(
            f,
            "effective rows: {:.1} of {} on the valid part, {:.1} of {} on the test part; p-value {}",
            self.valid.effective,
            self.valid.rows,
            self.test.effective,
            self.test.rows,
            digits(self.p_value)
        )?;
        write!(f, "{}", self.subject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        let texts = [0.2551234, -12.34567, 1234.56, 0.0000123456, 0.0, -1.23456e100, 1e-20].map(digits);
        assert_eq!(texts, ["0.2551", "-12.35", "1235", "0.00001235", "0", "-1.235e100", "1.000e-20"]);
    }
}
