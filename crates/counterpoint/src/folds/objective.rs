//! The objective of counterfactual risk minimisation, as the optimisers see it.
//!
//! ```text
//! L(theta) + lambda penalty + (C/2) |beta|^2 - c_H mean entropy
//! ```

use super::design::Design;
use super::risk::{Partial, Risk};
use super::rows::Question;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::optim::Objective;
use crate::policy::Policy;

/// The regularised risk of policies of one structure on one design.
pub struct Crm<'a> {
    engine: &'a Engine,
    design: &'a Design,
    risk: Risk,
    ridge: f64,
    unpenalised: Vec<bool>,
    slots: Vec<Partial>,
    buffer: Vec<f64>,
    seen: Option<(u64, u64)>,
}

impl<'a> Crm<'a> {
    /// Prepares the objective. The policy gives the structure; its theta is not used.
    pub fn new(
        engine: &'a Engine,
        design: &'a Design,
        question: &Question,
        policy: &Policy,
        ridge: f64,
    ) -> Result<Self> {
        Ok(Crm {
            engine,
            design,
            risk: Risk::new(question, policy)?,
            ridge,
            unpenalised: (0..policy.theta.len()).map(|i| policy.unpenalised(i)).collect(),
            slots: Vec::new(),
            buffer: Vec::new(),
            seen: None,
        })
    }

    /// The sums of the last evaluation.
    pub fn answer(&self) -> Option<&Partial> {
        self.slots.first()
    }

    /// An error naming the term that made the last evaluation non-finite.
    pub fn blame(&self) -> Error {
        self.slots.first().map_or_else(|| Error::numeric("objective", "not finite"), |a| self.risk.blame(a))
    }
}

impl Objective for Crm<'_> {
    fn dim(&self) -> usize {
        self.unpenalised.len()
    }

    fn eval(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
        self.risk.set(theta);
        self.risk.ask(self.engine, self.design, &mut self.slots)?;
        let answer = &self.slots[0];
        // every step must have seen the same rows: a lost or doubled block is an error, not another policy
        let rows = (answer.rows, answer.fingerprint);
        if *self.seen.get_or_insert(rows) != rows || rows.0 != self.design.rows() as u64 {
            return Err(Error::numeric("rows of an evaluation", "not the rows of the first evaluation"));
        }
        let mut value = self.risk.value(answer, grad, &mut self.buffer);
        if self.ridge > 0.0 {
            for i in (0..theta.len()).filter(|&i| !self.unpenalised[i]) {
                value += 0.5 * self.ridge * theta[i] * theta[i];
                grad[i] += self.ridge * theta[i];
            }
        }
        Ok(value)
    }
}
