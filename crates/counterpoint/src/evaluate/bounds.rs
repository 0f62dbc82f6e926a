//! The paper's own bounds for a fitted policy: Propositions 4.1, 5.1 and E.1, with every assumption.
//!
//! With costs moved into [-1, 0], weights soft-clipped at M, S = zeta(W, M), and a class of policies that a number N of balls covers,
//!
//! ```text
//! L <= L_scIPS + sqrt(2 V ln(2 N / delta) / n) + S 7 ln(2 N / delta) / (3 (n - 1))                        (4.1, as printed)
//! L(fitted) - L(best) <= sqrt(32 V_M^2 (C_n + ln(30 / delta)) / n) + 22 S (C_n + ln(30 / delta)) / (n - 1) + h_M   (E.1, behind 5.1)
//! ln N = C_n = m d_X ln( sqrt(2 / (e pi)) gamma C M_0 v alpha_Z n / s^2 )                                   (the CLP class)
//! ```
//!
//! Two slips of the print are mended here: its C_n has lost the temperature gamma (the derivative of the soft minimum has it as a factor), and E.1
//! writes V_M where the variance V_M^2 belongs. The constants 2 and 7/3 are those of a finite class; for an infinite one, which CLP is, the
//! theorem that the paper leans on (Maurer and Pontil 2009, Theorem 6) has 18, 15 and ln(10 N / delta). All of them are loose: at common sizes they say less than the range
//! of the outcome does.

use super::parametric_sums;
use crate::data::{Outcome, Summaries, Weighting};
use crate::error::{Error, Result};
use crate::estimate::{Estimator, Normalise, Weight};
use crate::folds::{PropensityMass, Question};
use crate::math;
use crate::policy::Policy;
use crate::source::Source;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;
use std::fmt;

/// The paper's bounds for a fitted policy. Sizes are in the unit of the outcome; risks are on the user's scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PaperBounds {
    /// 1 - delta.
    pub confidence: f64,
    /// n.
    pub rows: f64,
    /// Whether values are rewards or costs.
    pub direction: Outcome,
    /// The smallest and the largest outcome that were seen; the bounds take them for the range of what can happen.
    pub range: [f64; 2],
    /// The soft-clipped estimate (scIPS) that the bound starts from.
    pub estimate: f64,
    /// C_n of the CLP class.
    pub complexity: f64,
    /// C_n as printed, without gamma.
    pub complexity_printed: f64,
    /// What enters C_n and S.
    pub class: PaperClass,
    /// Proposition 4.1 as printed (constants of a finite class): the policy's value is at least this (a reward) or at most this (a cost).
    pub printed: f64,
    /// The same with the constants of an infinite class.
    pub generalisation: f64,
    /// Proposition E.1, from which 5.1 follows: the policy is worse than the best of its class by at most this. The fitted policy stands for the best
    /// one in V_M and h_M.
    pub excess: f64,
    /// Whether neither bound says more than the range of the outcome.
    pub vacuous: bool,
    /// What the bounds assume.
    pub assumptions: Vec<String>,
}

/// The class of policies, and bounds on what happens in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaperClass {
    /// m.
    pub anchors: usize,
    /// d_X.
    pub features: usize,
    /// gamma.
    pub temperature: f64,
    /// C, the norm of the coefficients.
    pub norm: f64,
    /// v, the largest norm of the features.
    pub features_norm: f64,
    /// alpha_Z, the largest anchor.
    pub anchor: f64,
    /// M_0, the largest inverse density.
    pub inverse_density: f64,
    /// s, the std of the policy.
    pub std: f64,
    /// How fast its density can change with its mean: 1 / (s^2 sqrt(2 pi e)).
    pub steepest: f64,
    /// M, the cap.
    pub cap: f64,
    /// W, the largest weight that a policy of the class can have.
    pub weight: f64,
    /// S = zeta(W, M).
    pub clipped: f64,
}

impl PaperClass {
    /// C_n of the CLP class for n rows, with or without the factor gamma.
    fn complexity(&self, n: f64, gamma: f64) -> f64 {
        let PaperClass { norm, features_norm, anchor, inverse_density, steepest, .. } = *self;
        // the mean moves by at most 2 gamma v alpha_Z per unit of the coefficients; 2 / sqrt(2 pi e) is the print's sqrt(2 / (e pi))
        let inside = 2.0 * steepest * gamma * norm * inverse_density * features_norm * anchor * n;
        (self.anchors * self.features) as f64 * math::ln(inside).max(0.0)
    }
}

/// What the bounds are made of, costs in [-1, 0].
struct Terms {
    n: f64,
    delta: f64,
    variance: f64,
    clipped: f64,
}

impl Terms {
    /// sqrt(a V t / n) + b S t / (n - 1)
    fn width(&self, a: f64, b: f64, t: f64) -> f64 {
        (a * self.variance * t / self.n).sqrt() + b * self.clipped * t / (self.n - 1.0)
    }

    fn printed(&self, complexity: f64) -> f64 {
        self.width(2.0, 7.0 / 3.0, complexity + math::ln(2.0 / self.delta))
    }

    fn infinite(&self, complexity: f64) -> f64 {
        self.width(18.0, 15.0, complexity + math::ln(10.0 / self.delta))
    }

    fn excess(&self, complexity: f64, bias: f64) -> f64 {
        self.width(32.0, 22.0, complexity + math::ln(30.0 / self.delta)) + bias
    }
}

/// The paper's bounds for a fitted CLP policy with a normal law, from the rows it was learned from or from others.
pub fn paper_bounds(log: &dyn Source, policy: &Policy, cap: f64, confidence: f64) -> Result<PaperBounds> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(Error::recipe("confidence", format!("{confidence} must lie between 0 and 1")));
    }
    policy.fits(log.schema())?;
    if log.schema().weighting == Weighting::Sampling || log.schema().cluster.is_some() {
        return Err(Error::data("the paper's bounds are for independent rows, without sampling weights or clusters"));
    }
    let summaries = log.get(Summaries)?;
    let (low, high) = (summaries.cost.min, summaries.cost.max);
    let unit = high - low;
    if unit.is_nan() || unit <= 0.0 {
        return Err(Error::data("every outcome is the same: there is no range to bound it by"));
    }
    let least = log.get(PropensityMass { central: vec![(f64::NEG_INFINITY, f64::INFINITY); policy.q()] })?.range.0;
    let class = class(policy, &summaries.contexts, 1.0 / least, cap)?;
    let sums = |estimator| parametric_sums(log, policy, Question::new(estimator), high);
    let (soft, raw) = (sums(Estimator::soft_clipped(cap))?, sums(Estimator::IPS)?);
    let n = soft.n;
    if n < 2.0 {
        return Err(Error::data("bounds need two rows at least"));
    }
    let risk = soft.risk(Normalise::ByRows) / unit;
    let bias = risk - raw.risk(Normalise::ByRows) / unit;
    let variance = math::powi(soft.std_error(Normalise::ByRows) / unit, 2) * n;
    let terms = Terms { n, delta: 1.0 - confidence, variance, clipped: class.clipped };
    let complexity = class.complexity(n, class.temperature);
    let direction = log.schema().direction;
    let user = |risk: f64| direction.to_user(high + unit * risk);
    let generalisation = risk + terms.infinite(complexity);
    let excess = terms.excess(complexity, bias);
    let ends = [direction.to_user(low), direction.to_user(high)];
    Ok(PaperBounds {
        confidence,
        rows: n,
        direction,
        range: [ends[0].min(ends[1]), ends[0].max(ends[1])],
        estimate: user(risk),
        complexity,
        complexity_printed: class.complexity(n, 1.0),
        class,
        printed: user(risk + terms.printed(complexity)),
        generalisation: user(generalisation),
        excess: unit * excess,
        vacuous: generalisation >= 0.0 && excess >= 1.0,
        assumptions: assumptions(&class, [low, high].map(|y| direction.to_user(y)), cap),
    })
}

/// The class a fitted policy comes from, every bound read off the policy and the rows.
fn class(policy: &Policy, contexts: &[crate::data::Summary], inverse_density: f64, cap: f64) -> Result<PaperClass> {
    let std = policy.std();
    let facts = policy.mean.predictor().zip(policy.family.steepest(std[0])).filter(|_| policy.q() == 1);
    let Some((clp, steepest)) = facts else {
        return Err(Error::policy(
            "the paper's bounds are for counterfactual loss predictors with a normal law and one action",
        )
        .hint("learn with policy = \"clp\", family = \"normal\""));
    };
    // the corner of the box that the scaled contexts lie in
    let mut ends: [Vec<f64>; 2] = [contexts.iter().map(|c| c.min).collect(), contexts.iter().map(|c| c.max).collect()];
    ends.iter_mut().for_each(|e| policy.scaler.apply(e));
    let corner: Vec<f64> = ends[0].iter().zip(&ends[1]).map(|(a, b)| a.abs().max(b.abs())).collect();
    let beta = &policy.theta[..policy.mean_parameters()];
    let weight = inverse_density / (std[0] * (2.0 * PI).sqrt());
    Ok(PaperClass {
        anchors: clp.actions.len(),
        features: clp.map.dim(policy.d()),
        temperature: clp.temperature,
        norm: beta.iter().map(|b| b * b).sum::<f64>().sqrt(),
        features_norm: clp.map.largest_norm(&corner), // psi_A of an anchor has norm 1
        anchor: clp.actions.anchors.iter().fold(0.0, |top: f64, a| top.max(a.abs())),
        inverse_density,
        std: std[0],
        steepest,
        cap,
        weight,
        clipped: Weight::soft(cap).apply(math::ln(weight)).0,
    })
}

fn assumptions(c: &PaperClass, range: [f64; 2], cap: f64) -> Vec<String> {
    vec![
        "rows are independent draws, and logged densities are right".into(),
        format!("outcomes lie between {} and {}, the ends that were seen", range[0].min(range[1]), range[0].max(range[1])),
        format!("no density of the log is below {:.3e} (1/M_0), the smallest that was seen, at any action", 1.0 / c.inverse_density),
        format!("the class is that of coefficients of norm at most {:.3} (C) and of std {:.3}, as if both had been fixed before the rows were seen", c.norm, c.std),
        format!("weights are soft-clipped at {cap} (M); a policy of the class has weights up to {:.3e} (W)", c.weight),
        "in E.1 the fitted policy minimises the paper's objective exactly, with its lambda, and stands for the best policy in V_M and h_M".into(),
    ]
}

impl fmt::Display for PaperBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = if self.direction == Outcome::Reward { "at least" } else { "at most" };
        let [low, high] = self.range;
        writeln!(
            f,
            "Proposition 4.1: {side} {:.4} (estimate {:.4}, outcomes from {low} to {high})",
            self.generalisation, self.estimate
        )?;
        writeln!(f, "  with the constants of a finite class, as printed: {:.4}", self.printed)?;
        writeln!(f, "Propositions 5.1 and E.1: worse than the best of its class by at most {:.4}", self.excess)?;
        write!(
            f,
            "complexity {:.1} = {} anchors x {} features x ln(..); the print drops gamma and has {:.1}, and V_M for its square in E.1",
            self.complexity, self.class.anchors, self.class.features, self.complexity_printed
        )?;
        if self.vacuous {
            write!(
                f,
                "\nthese bounds are vacuous here: they say less than the range of the outcome, as they do at common sizes"
            )?;
        }
        self.assumptions.iter().try_for_each(|a| write!(f, "\nassumed: {a}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// m d_X = 6; sqrt(2 / (e pi)) 2 * 3 * 4 * 5 * 1.5 * 100 / .25 = .4839414 * 72000.
    #[test]
    fn the_complexity_and_the_bounds_by_hand() {
        let class = PaperClass {
            anchors: 2,
            features: 3,
            temperature: 2.0,
            norm: 3.0,
            features_norm: 5.0,
            anchor: 1.5,
            inverse_density: 4.0,
            std: 0.5,
            steepest: crate::policy::Family::Normal.steepest(0.5).expect("a normal law"),
            cap: 10.0,
            weight: 3.0,
            clipped: 3.0,
        };
        let c = class.complexity(100.0, 2.0);
        assert!((c - 6.0 * (0.483_941_449_f64 * 72_000.0).ln()).abs() < 1e-6, "{c}");
        assert!((c - class.complexity(100.0, 1.0) - 6.0 * 2f64.ln()).abs() < 1e-9);
        let terms = Terms { n: 101.0, delta: 0.05, variance: 0.5, clipped: 3.0 };
        let t = 1.0 + 40f64.ln();
        assert!((terms.printed(1.0) - ((2.0 * 0.5 * t / 101.0).sqrt() + 3.0 * 7.0 * t / 300.0)).abs() < 1e-12);
        let t = 1.0 + 200f64.ln();
        assert!((terms.infinite(1.0) - ((18.0 * 0.5 * t / 101.0).sqrt() + 15.0 * 3.0 * t / 100.0)).abs() < 1e-12);
        let t = 1.0 + 600f64.ln();
        assert!(
            (terms.excess(1.0, 0.2) - ((32.0 * 0.5 * t / 101.0).sqrt() + 22.0 * 3.0 * t / 100.0 + 0.2)).abs() < 1e-12
        );
    }
}
