//! Outcomes that a better policy must not harm, while it is searched for.
//!
//! ```text
//! mu(x) = argmin over u of E q(x, .) + sum_k lambda_k E g_k(x, .)     q the model of the cost, g_k that of a guardrail
//! ```
//!
//! A multiplier lambda is the price of harm. Every one of a path of them gives a rule; each is judged on held-out rows in its cost and in its
//! harm, doubly robust, and only rules whose harm a test part would show to be below the margin count as certifiable.

use super::blend::Blend;
use super::choose::{ASKED, TO_TEST};
use super::fitted::{Fitted, Kind, cross_fit};
use super::judge::Figures;
use super::table::{MOST_ROWS, Table};
use super::{Effort, brief};
use crate::certify::{Guardrail, Margin};
use crate::data::Sample;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::math;
use crate::policy::{Axis, LoggingLaw};
use crate::source::Source;
use std::collections::HashMap;

/// A guardrail and the rows of the search with its column as their outcome.
#[derive(Clone, Copy)]
pub struct Guarding<'a> {
    /// The guardrail.
    pub guardrail: &'a Guardrail,
    /// The same rows as those of the search.
    pub rows: &'a dyn Source,
}

/// Prices of harm, in standard deviations of the cost for one of the guardrail: the ends of the path, and the step.
const LEAST_PRICE: f64 = 0.05;
const MOST_PRICE: f64 = 30.0;
const PRICE_STEP: f64 = 1.4;

/// Models of a guardrail's outcome: those that are fitted in no time.
const KINDS: [Kind; 5] = [Kind::Constant, Kind::Linear, Kind::Ridge, Kind::Trees, Kind::ActionTrees];

/// A guardrail in the search.
pub(super) struct Guard {
    guardrail: Guardrail,
    /// The rows with its outcome as their cost.
    pub(super) table: Table,
    /// Models of it, and their stack.
    pub(super) fitted: Vec<Fitted>,
    pub(super) stack: Blend,
    /// Residuals of the stack at the logged actions.
    pub(super) residual: Vec<f64>,
    /// The harm that is let pass, in units of the outcome's spread.
    margin: f64,
}

impl Guard {
    /// The guardrail on the rows of a search, modelled.
    pub(super) fn new(
        table: &Table,
        (axis, logging): (&Axis, &LoggingLaw),
        given: &Guarding,
        (seed, engine): (u64, &Engine),
    ) -> Result<Guard> {
        let table = outcome(table, given)?;
        // an outcome that never varies cannot be modelled, nor harmed as far as the log knows
        let (fitted, stack) = match table.y.iter().all(|y| *y == 0.0) {
            true => (Vec::new(), Blend::nothing()),
            false => {
                let fitted = cross_fit(&table, axis, &KINDS, Effort::Quick, seed ^ 0x6775_6172, engine)?;
                let stack = Blend::stacked(&table, &fitted, (axis, logging));
                (fitted, stack)
            }
        };
        let residual = (0..table.n()).map(|i| table.y[i] - stack.at(&fitted, i)).collect();
        let margin = match given.guardrail.margin {
            Margin::Absolute(amount) => amount,
            Margin::Relative(share) => {
                // of the end of the log's interval that is nearer to 0, as the certificate has it
                let half = ASKED * table.unit / (table.rows as f64 * TO_TEST).sqrt();
                share * (table.centre.abs() - half).max(0.0)
            }
        };
        Ok(Guard { guardrail: given.guardrail.clone(), margin: margin / table.unit, fitted, stack, residual, table })
    }

    /// By how many standard errors of a test part the harm lies below the margin, beyond what a certificate asks.
    pub(super) fn slack(&self, f: &Figures, asked: f64) -> f64 {
        let (n, rows) = (self.table.n() as f64, self.table.rows as f64);
        let error = f.plain_error * (n / (rows * TO_TEST)).sqrt();
        (self.margin - f.difference) / error.max(f64::MIN_POSITIVE) - asked
    }

    /// "refunds: 0.0204 on held-out rows, log 0.0210, at most +0.0004 is let pass"
    pub(super) fn words(&self, f: &Figures) -> String {
        let (t, user) = (&self.table, self.guardrail.direction);
        let sign = if user.to_user(1.0) > 0.0 { '+' } else { '-' };
        let value = |v: f64| brief(user.to_user(v));
        format!(
            "guardrail {}: {} on held-out rows, log {}; a change of {sign}{} is let pass",
            self.guardrail.column,
            value(t.centre + t.unit * f.difference),
            value(t.centre),
            brief(self.margin * t.unit)
        )
    }
}

/// The rows of a search with another outcome.
fn outcome(table: &Table, given: &Guarding) -> Result<Table> {
    let (schema, g) = (given.rows.schema(), given.guardrail);
    let place = || format!("guardrail {:?}", g.column);
    if (&schema.outcome, schema.direction) != (&g.column, g.direction) {
        return Err(Error::data(format!("the rows have {:?} as their outcome", schema.outcome)).at(place()));
    }
    let sampled = given.rows.get(Sample::of(table.rows, MOST_ROWS).without_contexts())?;
    let at: HashMap<u64, f64> = sampled.ids.iter().copied().zip(sampled.y.iter().copied()).collect();
    let y: Option<Vec<f64>> = table.ids.iter().map(|id| at.get(id).copied()).collect();
    match y {
        Some(y) => Ok(table.with_costs(&y)),
        None => Err(Error::data("its rows are not those that are learned from").at(place())),
    }
}

/// Prices of harm, one for each guardrail: a path for all of them together, and for each alone.
pub(super) fn prices(guards: usize) -> Vec<Vec<f64>> {
    let steps = (math::ln(MOST_PRICE / LEAST_PRICE) / math::ln(PRICE_STEP)).ceil() as i32;
    let path: Vec<f64> = (0..=steps).map(|k| LEAST_PRICE * math::powi(PRICE_STEP, k)).collect();
    let mut out: Vec<Vec<f64>> = Vec::new();
    for &price in path.iter().filter(|_| guards > 0) {
        out.push(vec![price; guards]);
        for k in (0..guards).filter(|_| guards > 1) {
            out.push((0..guards).map(|j| if j == k { price } else { 0.0 }).collect());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_for_all_together_and_for_each_alone() {
        assert!(prices(0).is_empty());
        let one = prices(1);
        assert!(one[0] == [LEAST_PRICE] && one.last().is_some_and(|p| p[0] >= MOST_PRICE));
        assert!(one.windows(2).all(|p| p[0][0] < p[1][0]));
        let two = prices(2);
        assert_eq!(two.len(), 3 * one.len());
        assert_eq!(two[1], [LEAST_PRICE, 0.0]);
    }
}
