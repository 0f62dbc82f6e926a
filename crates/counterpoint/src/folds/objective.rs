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

/// On how many threads of the caller an evaluation may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// On all that the rows were given.
    All,
    /// On the calling thread alone: others are busy with evaluations of their own.
    One,
}

/// Rows that are ready for the risk of policies of one structure, wherever they are.
pub trait Prepared: Sync {
    /// How many rows there are.
    fn rows(&self) -> u64;

    /// The sums at `theta`, at which `risk` stands already; the answer is in `slots[0]`.
    ///
    /// Slots are reused from call to call: where the rows are in memory an evaluation allocates nothing.
    fn evaluate(&self, risk: &Risk, theta: &[f64], threads: Threads, slots: &mut Vec<Partial>) -> Result<()>;
}

impl<P: Prepared + ?Sized> Prepared for &P {
    fn rows(&self) -> u64 {
        (**self).rows()
    }

    fn evaluate(&self, risk: &Risk, theta: &[f64], threads: Threads, slots: &mut Vec<Partial>) -> Result<()> {
        (**self).evaluate(risk, theta, threads, slots)
    }
}

/// A design in this process, with the threads that ask it.
impl Prepared for (&Engine, &Design) {
    fn rows(&self) -> u64 {
        self.1.rows() as u64
    }

    fn evaluate(&self, risk: &Risk, _: &[f64], threads: Threads, slots: &mut Vec<Partial>) -> Result<()> {
        match threads {
            Threads::All => risk.ask(self.0, self.1, slots),
            Threads::One => risk.ask(&Engine::single(), self.1, slots),
        }
    }
}

/// The regularised risk of policies of one structure on prepared rows.
pub struct Crm<'a> {
    rows: Box<dyn Prepared + 'a>,
    threads: Threads,
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
        Crm::on((engine, design), Threads::All, Risk::new(question, policy)?, policy, ridge)
    }

    /// The same on rows that are ready for `risk`, wherever they are.
    pub fn on(rows: impl Prepared + 'a, threads: Threads, risk: Risk, policy: &Policy, ridge: f64) -> Result<Self> {
        Ok(Crm {
            rows: Box::new(rows),
            threads,
            risk,
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
        self.rows.evaluate(&self.risk, theta, self.threads, &mut self.slots)?;
        let answer = &self.slots[0];
        // every step must have seen the same rows: a lost or doubled block is an error, not another policy
        let rows = (answer.rows, answer.fingerprint);
        if *self.seen.get_or_insert(rows) != rows || rows.0 != self.rows.rows() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Log;
    use crate::estimate::Estimator;
    use crate::folds::Precision;
    use crate::policy::Family;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Rows of which something happens to the second answer.
    struct Changing<'a> {
        rows: (&'a Engine, &'a Design),
        asked: AtomicUsize,
        harm: fn(&mut Partial),
    }

    impl Prepared for Changing<'_> {
        fn rows(&self) -> u64 {
            self.rows.rows()
        }

        fn evaluate(&self, risk: &Risk, theta: &[f64], threads: Threads, slots: &mut Vec<Partial>) -> Result<()> {
            self.rows.evaluate(risk, theta, threads, slots)?;
            if self.asked.fetch_add(1, Ordering::Relaxed) == 1 {
                (self.harm)(&mut slots[0]);
            }
            Ok(())
        }
    }

    /// A lost row, a doubled one and another row in its place are errors; the same rows again are not.
    #[test]
    fn every_evaluation_sees_the_rows_of_the_first() {
        let column = |f: fn(f64) -> f64| (0..40).map(|i| f(f64::from(i))).collect::<Vec<f64>>();
        let log = Log::builder().context("x", column(|i| i / 40.0)).action("a", column(|i| (0.7 * i).sin()));
        let log = log.cost("y", column(|i| (0.3 * i).cos())).propensity("p", vec![0.5; 40]).build().unwrap();
        let policy = Policy::constant(Family::Normal, &["x"], &["a"], &[0.1], &[0.5]).unwrap();
        let question = Question::new(Estimator::SNIPS);
        let design = Design::new(&log, &policy, &question, 0.0, Precision::F64).unwrap();
        let engine = Engine::single();
        let mut grad = vec![0.0; policy.theta.len()];
        let mut second = |harm: fn(&mut Partial)| {
            let rows = Changing { rows: (&engine, &design), asked: AtomicUsize::new(0), harm };
            let risk = Risk::new(&question, &policy).unwrap();
            let mut crm = Crm::on(rows, Threads::One, risk, &policy, 0.0).unwrap();
            let first = crm.eval(&policy.theta, &mut grad).unwrap();
            crm.eval(&policy.theta, &mut grad).map(|v| assert_eq!(v, first)).map_err(|e| e.to_string())
        };
        assert_eq!(second(|_| ()), Ok(()));
        let harms: [fn(&mut Partial); 3] = [|p| p.rows -= 1, |p| p.rows += 1, |p| p.fingerprint ^= 1];
        for harm in harms {
            assert!(second(harm).unwrap_err().contains("not the rows of the first evaluation"));
        }
    }
}
