//! A certificate in words, in the direction of the user's outcome.

use super::certificate::{Certificate, Verdict};
use super::terms::Mode;
use crate::data::Outcome;
use std::fmt;

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
        (Verdict::Deploy, _, Outcome::Cost) => {
            format!("the policy costs {} to {} less per row ({level})", digits(-d.upper), digits(-d.lower))
        }
        (Verdict::Deploy, _, Outcome::Reward) => {
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
    let places = (3.0 - v.abs().log10().floor()).clamp(0.0, 12.0) as usize;
    format!("{v:.places$}")
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Deploy => "DEPLOY",
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
        write!(
            f,
            "effective rows: {:.1} of {} on the valid part, {:.1} of {} on the test part; p-value {}",
            self.valid.effective,
            self.valid.rows,
            self.test.effective,
            self.test.rows,
            digits(self.p_value)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        let texts = [0.2551234, -12.34567, 1234.56, 0.0000123456, 0.0].map(digits);
        assert_eq!(texts, ["0.2551", "-12.35", "1235", "0.00001235", "0"]);
    }
}
