//! Several policies on one test part: the more one looks, the more is found by luck.

use super::certificate::{Adjusted, Certificate, Verdict};
use super::check_parts;
use super::evidence::GateEvidence;
use super::examine::{Judged, Replicating, Rows, WeighedParts, examine, judge};
use super::interval::p_value;
use super::subject::Subject;
use super::terms::{Adjust, Terms};
use crate::data::Outcome;
use crate::engine::Engine;
use crate::error::Result;
use crate::folds::{Here, Scored};
use crate::policy::{Policy, TargetPolicy};
use crate::source::Source;

/// Certifies several policies on one test part, such that the chance of any false `deploy` is at most delta / 2.
///
/// Policies that fail the gates on the valid part are not in the family: they are no candidates. The others are judged by
/// their adjusted p-values ([`Terms::adjust`]). Replicates of the bootstrap are common to all policies, so that max-T
/// knows which policies are nearly the same and does not count them twice. The intervals stay those of one policy.
pub fn certify_many(
    policies: &[Policy],
    valid: &dyn Source,
    test: &dyn Source,
    terms: &Terms,
) -> Result<Vec<Certificate>> {
    certify_several(&policies.iter().map(|p| p as &dyn TargetPolicy).collect::<Vec<_>>(), valid, test, terms)
}

/// [`certify_many`] for policies of any kind, side by side.
pub fn certify_several(
    policies: &[&dyn TargetPolicy],
    valid: &dyn Source,
    test: &dyn Source,
    terms: &Terms,
) -> Result<Vec<Certificate>> {
    terms.check()?;
    check_parts(valid, test, &policies.iter().map(|p| (*p, GateEvidence::of(*p))).collect::<Vec<_>>())?;
    let schema = test.schema();
    // replicates must be common to all
    let judge = |p: &&dyn TargetPolicy| {
        let weighed = WeighedParts::new(*p, [valid, test], terms)?;
        judge(&weighed, schema.direction, terms, &GateEvidence::of(*p), Replicating::Fixed)
    };
    let certificates = together(policies.iter().map(judge).collect::<Result<_>>()?, terms);
    let rounding = super::rounding(test, terms)?;
    let of = |(c, p): (Certificate, &&dyn TargetPolicy)| {
        Certificate { subject: Subject::of(*p), ..c }.resting_on(schema).doubting(rounding)
    };
    Ok(certificates.into_iter().zip(policies).map(of).collect())
}

/// The same from rows that have been weighed already: for each policy its valid and its test rows. Outcomes are costs.
pub fn certify_many_scored(
    engine: &Engine,
    policies: &[(Vec<Scored>, Vec<Scored>)],
    terms: &Terms,
) -> Result<Vec<Certificate>> {
    terms.check()?;
    let judge = |(v, t): &(Vec<Scored>, Vec<Scored>)| {
        let here = [Here(engine, v), Here(engine, t)];
        examine(&Rows::plain(&here[0], &here[1]), terms, Outcome::Cost, &GateEvidence::Valid, Replicating::Fixed)
    };
    Ok(together(policies.iter().map(judge).collect::<Result<_>>()?, terms))
}

fn together(mut judged: Vec<Judged>, terms: &Terms) -> Vec<Certificate> {
    adjust(&mut judged, terms);
    judged.into_iter().map(|j| j.certificate).collect()
}

/// Gives every candidate its adjusted p-values and its verdict.
fn adjust(judged: &mut [Judged], terms: &Terms) {
    let family: Vec<usize> = (0..judged.len()).filter(|&i| judged[i].certificate.verdict != Verdict::Invalid).collect();
    let p: Vec<f64> = family.iter().map(|&i| judged[i].certificate.p_value).collect();
    let holm = holm(&p);
    let t: Vec<(f64, &[f64])> = family.iter().map(|&i| (judged[i].observed, judged[i].replicates.as_slice())).collect();
    let max_t = max_t(&t);
    for (k, &i) in family.iter().enumerate() {
        let adjusted = Adjusted { holm: holm[k], max_t: max_t.as_ref().map(|m| m[k]), policies: family.len() };
        let by_max_t = adjusted.max_t.filter(|_| terms.adjust == Adjust::MaxT);
        let (p, rule) = by_max_t.map_or((adjusted.holm, "Holm"), |p| (p, "max-T"));
        let c = &mut judged[i].certificate;
        let passes = p <= terms.tail() * (1.0 + 1e-12);
        // an adjustment can take a verdict away, never give one
        if c.verdict == Verdict::Deploy && !passes {
            c.verdict = Verdict::Keep;
        }
        let than = if passes { "at most" } else { "more than" };
        c.reasons.push(format!(
            "among {} policies on these rows its p-value is {p:.4} by {rule}: {than} {:.4}",
            family.len(),
            terms.tail()
        ));
        c.adjusted = Some(adjusted);
    }
}

/// Holm's adjusted p-values: the j-th smallest of m times m - j + 1, never less than one before it.
fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut out = vec![0.0; p.len()];
    let mut running = 0.0f64;
    for (j, &i) in order.iter().enumerate() {
        running = running.max((p.len() - j) as f64 * p[i]).min(1.0);
        out[i] = running;
    }
    out
}

/// Step-down max-T (Westfall and Young 1993) for small statistics: the most extreme first, each against the smallest
/// replicate statistic of itself and of all less extreme ones. A replicate that says nothing counts as extreme.
fn max_t(t: &[(f64, &[f64])]) -> Option<Vec<f64>> {
    let replicates = t.first()?.1.len();
    if replicates == 0 {
        return None;
    }
    let mut order: Vec<usize> = (0..t.len()).collect();
    order.sort_by(|a, b| t[*a].0.total_cmp(&t[*b].0));
    let mut least = vec![f64::INFINITY; replicates];
    let mut out = vec![0.0; t.len()];
    for &i in order.iter().rev() {
        for (l, r) in least.iter_mut().zip(t[i].1) {
            *l = if r.is_nan() { f64::NEG_INFINITY } else { l.min(*r) };
        }
        out[i] = p_value(least.iter().filter(|l| **l <= t[i].0).count(), replicates);
    }
    let mut running = 0.0f64;
    for &i in &order {
        running = running.max(out[i]);
        out[i] = running;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_by_hand() {
        let p = holm(&[0.01, 0.04, 0.03, 0.5]);
        for (p, expected) in p.iter().zip([0.04, 0.09, 0.09, 0.5]) {
            assert!((p - expected).abs() < 1e-15);
        }
    }

    #[test]
    fn max_t_of_one_policy_is_its_own_p_value_and_equal_policies_cost_nothing() {
        let r: Vec<f64> = (0..99).map(|i| f64::from(i) - 49.0).collect();
        let one = max_t(&[(-45.5, &r)]).unwrap();
        assert_eq!(one, [0.05]);
        assert_eq!(max_t(&[(-45.5, &r), (-45.5, &r)]).unwrap(), [0.05, 0.05]);
        let flipped: Vec<f64> = r.iter().map(|t| -t).collect();
        assert_eq!(max_t(&[(-45.5, &r), (-44.5, &flipped)]).unwrap(), [0.09, 0.09]);
        assert!(max_t(&[(0.0, &[])]).is_none() && max_t(&[]).is_none());
    }
}
