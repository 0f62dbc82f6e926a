//! Guardrails: outcomes that a better policy must not harm.
//!
//! A policy is deployed if its primary outcome has a gain and every guardrail's harm is shown to be below its margin. Each of these is
//! tested at its own full level: all of them must hold, so the chance of a wrong `deploy` is at most that of the weakest test
//! (intersection-union; no correction is needed).

use super::certificate::{Certificate, Verdict};
use super::certify;
use super::interval::Interval;
use super::terms::Terms;
use crate::data::Outcome;
use crate::error::{Error, Result};
use crate::policy::TargetPolicy;
use crate::source::Source;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How much harm is let pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Margin {
    /// A share of the log's own mean.
    Relative(f64),
    /// An amount in the unit of the outcome.
    Absolute(f64),
}

/// An outcome that must not become worse by more than a margin.
///
/// ```
/// use counterpoint::certify::{Guardrail, Margin};
/// use counterpoint::data::Outcome;
/// let refunds: Guardrail = "refunds:max+2%".parse()?; // at most 2% more of them
/// assert_eq!((refunds.direction, refunds.margin), (Outcome::Cost, Margin::Relative(0.02)));
/// let sales: Guardrail = "sales:min-0.5".parse()?; // at most half a unit less
/// assert_eq!((sales.direction, sales.margin), (Outcome::Reward, Margin::Absolute(0.5)));
/// assert!("sales:max-1%".parse::<Guardrail>().is_err());
/// # Ok::<(), counterpoint::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Guardrail {
    /// The column.
    pub column: String,
    /// Whether more of it is better or worse.
    pub direction: Outcome,
    /// How much worse it may become.
    pub margin: Margin,
}

impl FromStr for Guardrail {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::recipe("guardrail", format!("{text:?} is not a guardrail"))
                .hint("write COLUMN:max+2% (at most 2% more), COLUMN:min-1% (at most 1% less), or an amount without %")
        };
        let (column, rule) = text.rsplit_once(':').ok_or_else(wrong)?;
        let (direction, amount) = match rule.trim() {
            r if r.starts_with("max+") => (Outcome::Cost, &r[4..]),
            r if r.starts_with("min-") => (Outcome::Reward, &r[4..]),
            _ => return Err(wrong()),
        };
        let (number, relative) = amount.strip_suffix('%').map_or((amount, false), |n| (n, true));
        let number: f64 = number.trim().parse().map_err(|_| wrong())?;
        if column.is_empty() || !(number.is_finite() && number >= 0.0) {
            return Err(wrong());
        }
        let margin = if relative { Margin::Relative(number / 100.0) } else { Margin::Absolute(number) };
        Ok(Guardrail { column: column.into(), direction, margin })
    }
}

/// What the test part says of a guardrail; values on the user's scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Guarded {
    /// The guardrail.
    pub guardrail: Guardrail,
    /// The log's value.
    pub logged: Interval,
    /// The policy's.
    pub value: Interval,
    /// The second minus the first, paired row by row.
    pub difference: Interval,
    /// The harm that is let pass, in the unit of the outcome. Of a relative margin, that share of the end of the log's interval that is
    /// nearer to 0.
    pub margin: f64,
    /// Whether the largest harm of the interval is below the margin.
    pub holds: bool,
    /// What the certificate of this outcome alone says of its weights: nothing can be decided where it is invalid.
    pub verdict: Verdict,
}

impl Guarded {
    fn new(guardrail: Guardrail, c: &Certificate) -> Self {
        let nearest = if c.logged.holds(0.0) { 0.0 } else { c.logged.lower.abs().min(c.logged.upper.abs()) };
        let margin = match guardrail.margin {
            Margin::Relative(share) => share * nearest,
            Margin::Absolute(amount) => amount,
        };
        // as a cost; harm that is its margin must not pass for less where no event fell on a heavy row
        let [_, harm] = c.difference.to_user(c.direction).ends_with(c.null_error);
        let holds = c.verdict != Verdict::Invalid && harm < margin;
        let (logged, value, difference) = (c.logged, c.value, c.difference);
        Guarded { guardrail, logged, value, difference, margin, holds, verdict: c.verdict }
    }
}

/// A certificate with guardrails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GuardedCertificate {
    /// The verdict on all outcomes together: that on the primary one, and `keep` where a guardrail does not hold.
    pub verdict: Verdict,
    /// The primary outcome.
    pub primary: Certificate,
    /// The guardrails.
    pub guardrails: Vec<Guarded>,
}

/// Adds guardrails to a certificate: for each of them the valid and the test part with its column as the outcome.
pub fn guard(
    primary: Certificate,
    policy: &dyn TargetPolicy,
    guardrails: &[(Guardrail, &dyn Source, &dyn Source)],
    terms: &Terms,
) -> Result<GuardedCertificate> {
    let of = |(guardrail, valid, test): &(Guardrail, &dyn Source, &dyn Source)| {
        let schema = test.schema();
        if (&schema.outcome, schema.direction) != (&guardrail.column, guardrail.direction) {
            return Err(Error::data(format!("the rows have {:?} as their outcome", schema.outcome))
                .at(format!("guardrail {:?}", guardrail.column)));
        }
        // the range of the primary outcome says nothing of another one
        let terms = Terms { cost_range: None, outcome_range: None, ..terms.clone() };
        Ok(Guarded::new(guardrail.clone(), &certify(policy, *valid, *test, &terms)?))
    };
    let guardrails = guardrails.iter().map(of).collect::<Result<Vec<_>>>()?;
    let passes = matches!(primary.verdict, Verdict::Deploy | Verdict::Promising);
    let kept = guardrails.iter().all(|g| g.holds);
    let verdict = if passes && !kept { Verdict::Keep } else { primary.verdict };
    Ok(GuardedCertificate { verdict, primary, guardrails })
}

/// "refunds: 0.0210 [0.0190, 0.0231], log 0.0205: 0.0005 [-0.0010, 0.0019] of at most +0.0004: NOT SHOWN"
impl fmt::Display for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (v, d) = (&self.value, &self.difference);
        let sign = if self.guardrail.direction == Outcome::Cost { '+' } else { '-' };
        let said = if self.holds { "holds" } else { "NOT SHOWN" };
        write!(f, "{}: {:.4} [{:.4}, {:.4}], ", self.guardrail.column, v.estimate, v.lower, v.upper)?;
        write!(f, "log {:.4}: {:.4} [{:.4}, {:.4}] ", self.logged.estimate, d.estimate, d.lower, d.upper)?;
        write!(f, "of at most {sign}{:.4}: {said}", self.margin)
    }
}
