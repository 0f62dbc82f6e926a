//! What everything after learning asks of a policy: its log density at an action, and a draw.
//!
//! Off-policy evaluation, certificates, diagnostics and acting need no mean model and no parameters. They need the density
//! of the logged action, for the importance weight, and sometimes a draw. So a policy that was not learned here (a rule
//! with noise, a softmax over buckets, somebody else's model) comes through the same door by these two methods. The
//! other methods have defaults; a policy that knows more says more, and is then served faster or exactly:
//!
//! ```text
//! log_densities   many rows at once               mean           the middle of the law
//! mass_within     overlap with the logged range   law            exact expectations of a loss model
//! check_against   does the log fit?               origin         was it learned from these rows?
//! ```

use super::{Family, Origin, Policy, SavedPolicy, Scorer};
use crate::data::{Block, Schema};
use crate::error::{Error, Result};
use crate::rng::{Purpose, stream};
use rand::Rng;

/// A density of actions given contexts that can be evaluated at an action and drawn from.
///
/// ```
/// use counterpoint::policy::TargetPolicy;
/// use rand::{Rng, RngExt};
///
/// /// Uniform on [x, x + 1], whatever was learned elsewhere.
/// struct Mine;
///
/// impl TargetPolicy for Mine {
///     fn log_density(&self, x: &[f64], a: &[f64]) -> f64 {
///         if (x[0]..=x[0] + 1.0).contains(&a[0]) { 0.0 } else { f64::NEG_INFINITY }
///     }
///     fn sample(&self, x: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
///         vec![x[0] + rng.random::<f64>()]
///     }
/// }
///
/// let (action, log_density) = Mine.draw(&[2.0], 1, 0); // the same seed and row: the same action
/// assert!((2.0..3.0).contains(&action[0]) && log_density == 0.0);
/// ```
pub trait TargetPolicy: Send + Sync {
    /// ln pi(a|x) for one row, contexts and actions on their own scale. Minus infinity where the policy never acts.
    fn log_density(&self, x: &[f64], a: &[f64]) -> f64;

    /// An action for one row of contexts. Asked only where [`can_sample`](Self::can_sample).
    fn sample(&self, x: &[f64], rng: &mut dyn Rng) -> Vec<f64>;

    /// Draws for one context, what they share computed once. Draws are those of [`sample`](Self::sample).
    #[allow(clippy::type_complexity)] // a name for it would say less
    fn sampler<'a>(&'a self, x: &[f64]) -> Box<dyn Fn(&mut dyn Rng) -> Vec<f64> + 'a> {
        let x = x.to_vec();
        Box::new(move |rng| self.sample(&x, rng))
    }

    /// Whether [`sample`](Self::sample) draws from the density. Densities that stand in a column of the log cannot be drawn from.
    fn can_sample(&self) -> bool {
        true
    }

    /// ln pi(a|x) of every row of a block, into `out`, which is cleared first.
    fn log_densities(&self, block: &Block, out: &mut Vec<f64>) {
        let (mut x, mut a) = (vec![0.0; block.x.len()], vec![0.0; block.a.len()]);
        out.clear();
        for i in 0..block.rows() {
            block.context(i, &mut x);
            block.action(i, &mut a);
            out.push(self.log_density(&x, &a));
        }
    }

    /// The mean action given x, or what stands for it; nothing where it is not known.
    fn mean(&self, _x: &[f64]) -> Option<Vec<f64>> {
        None
    }

    /// [`mean`](Self::mean) of every row of a block, row after row; nothing where it is not known for some row.
    fn means(&self, block: &Block) -> Option<Vec<f64>> {
        let mut x = vec![0.0; block.x.len()];
        let mut out = Vec::with_capacity(block.rows() * block.a.len());
        for i in 0..block.rows() {
            block.context(i, &mut x);
            out.extend(self.mean(&x)?);
        }
        Some(out)
    }

    /// The probability that the action given x lies within [low, high] in every column; nothing where it is not known.
    fn mass_within(&self, _x: &[f64], _low: &[f64], _high: &[f64]) -> Option<f64> {
        None
    }

    /// Masses of boxes in one context, what they share computed once: those of [`mass_within`](Self::mass_within), not a number where they are
    /// not known.
    #[allow(clippy::type_complexity)] // a name for it would say less
    fn masses<'a>(&'a self, x: &[f64]) -> Box<dyn Fn(&[f64], &[f64]) -> f64 + 'a> {
        if let Some(law) = self.law(x) {
            return Box::new(move |low, high| law.mass_within(low, high));
        }
        let x = x.to_vec();
        Box::new(move |low, high| self.mass_within(&x, low, high).unwrap_or(f64::NAN))
    }

    /// [`mass_within`](Self::mass_within) of every row of a block; nothing where it is not known for some row.
    fn masses_within(&self, block: &Block, low: &[f64], high: &[f64]) -> Option<Vec<f64>> {
        let mut x = vec![0.0; block.x.len()];
        (0..block.rows())
            .map(|i| {
                block.context(i, &mut x);
                self.mass_within(&x, low, high)
            })
            .collect()
    }

    /// The law of the action given x where it has a closed form: expectations of a loss model are exact then.
    fn law(&self, _x: &[f64]) -> Option<Law> {
        None
    }

    /// [`law`](Self::law) of every row of a block; nothing where it is not known for some row.
    fn laws(&self, block: &Block) -> Option<Vec<Law>> {
        let mut x = vec![0.0; block.x.len()];
        (0..block.rows())
            .map(|i| {
                block.context(i, &mut x);
                self.law(&x)
            })
            .collect()
    }

    /// The policy itself where it is a mean model times a family: it is then evaluated by the kernel that learning uses.
    fn parametric(&self) -> Option<&Policy> {
        None
    }

    /// Refuses a policy that cannot be evaluated on a log with these columns: other contexts or actions, or no density.
    fn check_against(&self, _schema: &Schema) -> Result<()> {
        Ok(())
    }

    /// The rows the policy was learned from, if it remembers: a certificate on them is refused.
    fn origin(&self) -> Option<&Origin> {
        None
    }

    /// The policy as data that can be sent to where the rows are, if it has a file.
    fn saved(&self) -> Option<SavedPolicy> {
        None
    }

    /// An action for one row and its log density. The same seed and row number give the same action.
    fn draw(&self, x: &[f64], seed: u64, row: u64) -> (Vec<f64>, f64) {
        let a = self.sample(x, &mut stream(seed, Purpose::Act, row));
        let log_density = self.log_density(x, &a);
        (a, log_density)
    }
}

/// A policy made ready for many rows: what they share is formed once where the policy allows it.
pub struct Ready<'a> {
    policy: &'a dyn TargetPolicy,
    scorer: Option<Scorer<'a>>,
}

impl<'a> Ready<'a> {
    /// Makes a policy ready.
    pub fn new(policy: &'a dyn TargetPolicy) -> Self {
        Ready { policy, scorer: policy.parametric().map(Policy::scorer) }
    }

    /// The mean action given x; see [`TargetPolicy::mean`].
    pub fn mean(&mut self, x: &[f64]) -> Option<Vec<f64>> {
        let Some(scorer) = &mut self.scorer else { return self.policy.mean(x) };
        let mut mean = vec![0.0; scorer.std().len()];
        scorer.mean(x, &mut mean);
        Some(mean)
    }

    /// An action and its log density, seeded by (seed, row); nothing where the policy cannot be drawn from.
    pub fn draw(&mut self, x: &[f64], seed: u64, row: u64) -> Option<(Vec<f64>, f64)> {
        match &mut self.scorer {
            Some(scorer) => Some(scorer.sample(x, seed, row)),
            None => self.policy.can_sample().then(|| self.policy.draw(x, seed, row)),
        }
    }
}

/// The law of an action given its context.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// Independent components of one family.
    Family {
        /// The family.
        family: Family,
        /// The mean of each component.
        mean: Vec<f64>,
        /// The standard deviation of each component.
        std: Vec<f64>,
    },
    /// One action, evenly spread between neighbouring edges.
    Steps {
        /// Ascending edges.
        edges: Vec<f64>,
        /// The probability between each edge and the next; they add up to 1.
        masses: Vec<f64>,
    },
}

impl Law {
    /// The probability of [low, high] in every component.
    pub fn mass_within(&self, low: &[f64], high: &[f64]) -> f64 {
        match self {
            Law::Family { family, mean, std } => {
                let below = |a: f64, c: usize| family.cdf(a, mean[c], std[c]).value;
                (0..mean.len()).map(|c| (below(high[c], c) - below(low[c], c)).clamp(0.0, 1.0)).product()
            }
            Law::Steps { edges, masses } => {
                let share = |e: &[f64]| (high[0].min(e[1]) - low[0].max(e[0])).max(0.0) / (e[1] - e[0]);
                edges.windows(2).zip(masses).map(|(e, p)| p * share(e)).sum()
            }
        }
    }

    /// E exp(-alpha/2 (a - z)^2) of a law with [`Steps`](Law::Steps), the bell integrated over each step; of a
    /// [`Family`](Law::Family) nothing, the family knows its own.
    ///
    /// ```text
    /// sum over steps of p sqrt(2 pi / alpha) (Phi(sqrt(alpha) (e' - z)) - Phi(sqrt(alpha) (e - z))) / (e' - e)
    /// ```
    pub fn kernel_mean(&self, z: f64, alpha: f64) -> Option<f64> {
        let Law::Steps { edges, masses } = self else { return None };
        let below = |e: f64| Family::Normal.cdf(alpha.sqrt() * (e - z), 0.0, 1.0).value;
        let area = (std::f64::consts::TAU / alpha).sqrt();
        let term = |e: &[f64]| area * (below(e[1]) - below(e[0])) / (e[1] - e[0]);
        Some(edges.windows(2).zip(masses).map(|(e, p)| p * term(e)).sum())
    }
}

impl TargetPolicy for Policy {
    fn log_density(&self, x: &[f64], a: &[f64]) -> f64 {
        self.scorer().log_density(x, a)
    }

    fn sample(&self, x: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
        let (mean, std) = (self.mean(x), self.std());
        (0..mean.len()).map(|c| self.family.sample(mean[c], std[c], rng)).collect()
    }

    fn sampler<'a>(&'a self, x: &[f64]) -> Box<dyn Fn(&mut dyn Rng) -> Vec<f64> + 'a> {
        let (mean, std) = (self.mean(x), self.std());
        Box::new(move |rng| (0..mean.len()).map(|c| self.family.sample(mean[c], std[c], rng)).collect())
    }

    fn log_densities(&self, block: &Block, out: &mut Vec<f64>) {
        let mut scorer = self.scorer();
        let (mut x, mut a) = (vec![0.0; block.x.len()], vec![0.0; block.a.len()]);
        out.clear();
        for i in 0..block.rows() {
            block.context(i, &mut x);
            block.action(i, &mut a);
            out.push(scorer.log_density(&x, &a));
        }
    }

    fn mean(&self, x: &[f64]) -> Option<Vec<f64>> {
        Some(Policy::mean(self, x))
    }

    fn means(&self, block: &Block) -> Option<Vec<f64>> {
        let (mut scorer, q) = (self.scorer(), self.q());
        let (mut x, mut out) = (vec![0.0; block.x.len()], vec![0.0; block.rows() * q]);
        for (i, mean) in out.chunks_exact_mut(q).enumerate() {
            block.context(i, &mut x);
            scorer.mean(&x, mean);
        }
        Some(out)
    }

    fn mass_within(&self, x: &[f64], low: &[f64], high: &[f64]) -> Option<f64> {
        self.law(x).map(|law| law.mass_within(low, high))
    }

    fn masses_within(&self, block: &Block, low: &[f64], high: &[f64]) -> Option<Vec<f64>> {
        let mut scorer = self.scorer();
        let (mut x, mut mean, std) = (vec![0.0; block.x.len()], vec![0.0; self.q()], self.std());
        let mass = |i| {
            block.context(i, &mut x);
            scorer.mean(&x, &mut mean);
            let below = |a: f64, c: usize| self.family.cdf(a, mean[c], std[c]).value;
            (0..mean.len()).map(|c| (below(high[c], c) - below(low[c], c)).clamp(0.0, 1.0)).product()
        };
        Some((0..block.rows()).map(mass).collect())
    }

    fn law(&self, x: &[f64]) -> Option<Law> {
        Some(Law::Family { family: self.family, mean: self.mean(x), std: self.std() })
    }

    fn parametric(&self) -> Option<&Policy> {
        Some(self)
    }

    fn check_against(&self, schema: &Schema) -> Result<()> {
        self.check()?;
        if (&schema.contexts, &schema.actions) != (&self.contexts, &self.actions) {
            return Err(Error::policy(format!(
                "it is for contexts {:?} and actions {:?}, the log has {:?} and {:?}",
                self.contexts, self.actions, schema.contexts, schema.actions
            ))
            .hint("name the columns in the order the policy was learned with"));
        }
        Ok(())
    }

    fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    fn saved(&self) -> Option<SavedPolicy> {
        Some(self.clone().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Log;

    fn log() -> Log {
        let x: Vec<f64> = (0..50).map(|i| f64::from(i) / 50.0).collect();
        let a: Vec<f64> = (0..50).map(|i| 0.1 + f64::from(i * 7 % 50) / 20.0).collect();
        let y = a.clone();
        Log::builder()
            .context("x", x)
            .action("a", a)
            .cost("y", y)
            .propensity("p", vec![0.4; 50])
            .build()
            .expect("a log")
    }

    /// The policy behind its trait, with every default in place.
    struct Bare(Policy);

    impl TargetPolicy for Bare {
        fn log_density(&self, x: &[f64], a: &[f64]) -> f64 {
            TargetPolicy::log_density(&self.0, x, a)
        }

        fn sample(&self, x: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
            TargetPolicy::sample(&self.0, x, rng)
        }
    }

    #[test]
    fn what_a_policy_says_of_a_block_is_what_it_says_row_by_row() {
        for &family in Family::ALL {
            let policy = Policy::constant(family, &["x"], &["a"], &[1.2], &[0.6]).expect("a policy");
            let block = &log().blocks()[0].clone();
            let (mut own, mut plain) = (vec![7.0], Vec::new());
            policy.log_densities(block, &mut own);
            Bare(policy.clone()).log_densities(block, &mut plain);
            assert_eq!(own, plain);
            assert_eq!(policy.means(block), Some(vec![policy.mean(&[0.3])[0]; 50]));
            assert!(Bare(policy.clone()).means(block).is_none());
            let masses = policy.masses_within(block, &[0.4], &[2.0]).expect("masses");
            let row_by_row = |i: usize| policy.mass_within(&[block.x[0][i]], &[0.4], &[2.0]).expect("a mass");
            assert!((0..50).all(|i| masses[i] == row_by_row(i)) && masses[0] > 0.5 && masses[0] < 1.0);
            assert!(Bare(policy.clone()).masses_within(block, &[0.4], &[2.0]).is_none());
        }
    }

    #[test]
    fn a_draw_is_the_sample_of_its_seed_and_row() {
        let policy = Policy::constant(Family::LogNormal, &["x"], &["a"], &[1.2], &[0.6]).expect("a policy");
        for row in 0..20 {
            let (own, through) = (Policy::sample(&policy, &[0.3], 5, row), policy.draw(&[0.3], 5, row));
            assert_eq!(own, through);
            assert_eq!(Bare(policy.clone()).draw(&[0.3], 5, row), own);
        }
        assert_ne!(policy.draw(&[0.3], 5, 0), policy.draw(&[0.3], 6, 0));
    }

    /// One step on [0, 2]: half of it lies in [1, 3], and the mean of the kernel is its integral over the step, halved.
    #[test]
    fn figures_of_steps_by_hand() {
        let law = Law::Steps { edges: vec![0.0, 2.0, 3.0], masses: vec![0.4, 0.6] };
        assert!((law.mass_within(&[1.0], &[2.5]) - (0.2 + 0.3)).abs() < 1e-15);
        let n = 20_000;
        let kernel = |a: f64| (-0.5 * 1.7 * (a - 0.8) * (a - 0.8)).exp();
        let mean = |lo: f64, hi: f64| {
            (0..n).map(|i| kernel(lo + (hi - lo) * (f64::from(i) + 0.5) / f64::from(n))).sum::<f64>() / f64::from(n)
        };
        let found = law.kernel_mean(0.8, 1.7).expect("steps");
        assert!((found - 0.4 * mean(0.0, 2.0) - 0.6 * mean(2.0, 3.0)).abs() < 1e-9, "{found}");
    }

    #[test]
    fn an_action_outside_the_support_has_no_density() {
        let policy = Policy::constant(Family::LogNormal, &["x"], &["a"], &[1.2], &[0.6]).expect("a policy");
        assert_eq!(TargetPolicy::log_density(&policy, &[0.3], &[-1.0]), f64::NEG_INFINITY);
        assert_eq!(TargetPolicy::log_density(&policy, &[0.3], &[0.0]), f64::NEG_INFINITY);
    }

    #[test]
    fn a_log_with_other_columns_is_refused() {
        let other = Policy::constant(Family::Normal, &["z"], &["a"], &[1.2], &[0.6]).expect("a policy");
        let refused = other.check_against(log().schema()).expect_err("other contexts").to_string();
        assert!(refused.contains('z') && refused.contains('x'), "{refused}");
    }
}
