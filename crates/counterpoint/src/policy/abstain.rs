//! A policy that does the new thing where the log supports it, and what the log did elsewhere.
//!
//! Nothing is known of actions that the log never took in a context. A policy that goes there cannot be certified, however good it is
//! elsewhere. This one abstains there: with pi the new policy, pi0 the log's, and [l(x), h(x)] the actions that the log took given x,
//!
//! ```text
//! pi'(a|x) = pi(a|x)    where pi puts at most a share `most` of its mass outside [l(x), h(x)]
//!            pi0(a|x)   elsewhere
//! ```
//!
//! [l, h] is the central interval of pi0 given x that leaves out `tail`, times `reach` about its middle: what rows show of a law
//! may be less than the law says. pi' is a policy like any other, with a density, so it is weighed, certified and drawn from like any other.

use super::target::{Law, TargetPolicy};
use super::{Columns, Origin, SavedPolicy};
use crate::data::{Block, Schema};
use crate::error::{Error, Result};
use rand::Rng;
use serde::{Deserialize, Serialize};

/// Stds around the mean within which an end of a central interval is looked for: by Chebyshev's inequality at most 1/4096 lies beyond.
const FAR: f64 = 64.0;

/// Halvings until an end is found: to rounding.
const HALVINGS: usize = 60;

/// The parts of a policy that abstains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AbstainParts {
    /// What is done where the log supports it.
    pub new: Box<SavedPolicy>,
    /// What is done elsewhere: what the log did, given or fitted.
    pub logging: Box<SavedPolicy>,
    /// The share of the log's mass, at both ends together, that counts as not done.
    pub tail: f64,
    /// How much of the central interval was seen, (0, 1].
    pub reach: f64,
    /// The largest share of the new policy's mass that may lie where the log did nothing.
    pub most: f64,
}

/// A policy that does the new thing where the log supports it, and what the log did elsewhere.
///
/// ```
/// use counterpoint::policy::{AbstainParts, AbstainPolicy, Family, TargetPolicy};
/// use counterpoint::Policy;
/// let around = |mean| Policy::constant(Family::Normal, &["x"], &["a"], &[mean], &[0.5]);
/// let part = |new| AbstainParts { new, logging: Box::new(around(0.0).unwrap().into()), tail: 0.001, reach: 1.0, most: 0.05 };
/// let near = AbstainPolicy::new(part(Box::new(around(0.5)?.into())))?;
/// let far = AbstainPolicy::new(part(Box::new(around(5.0)?.into())))?; // ten of the log's stds away
/// assert_eq!(near.log_density(&[0.0], &[0.4]), around(0.5)?.log_density(&[0.0], &[0.4]));
/// assert_eq!(far.log_density(&[0.0], &[0.4]), around(0.0)?.log_density(&[0.0], &[0.4]));
/// # Ok::<(), counterpoint::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "AbstainParts", into = "AbstainParts")]
pub struct AbstainPolicy {
    parts: AbstainParts,
    columns: Columns,
}

impl TryFrom<AbstainParts> for AbstainPolicy {
    type Error = Error;

    fn try_from(parts: AbstainParts) -> Result<Self> {
        AbstainPolicy::new(parts)
    }
}

impl From<AbstainPolicy> for AbstainParts {
    fn from(policy: AbstainPolicy) -> Self {
        policy.parts
    }
}

impl AbstainPolicy {
    /// Joins two policies for the same columns.
    pub fn new(parts: AbstainParts) -> Result<Self> {
        let AbstainParts { new, logging, tail, reach, most } = &parts;
        if [new, logging].iter().any(|p| matches!(***p, SavedPolicy::Abstain(_))) {
            return Err(Error::policy("a policy that abstains cannot be made of one that does already")
                .hint("start from the policy that it was made of"));
        }
        new.check()?;
        logging.check()?;
        let columns = new.columns();
        let theirs = logging.columns();
        if (&columns.contexts, &columns.actions) != (&theirs.contexts, &theirs.actions) {
            return Err(Error::policy("the new policy and the logging policy are for other columns").hint(format!(
                "the new one has contexts {:?} and actions {:?}, the logging policy {:?} and {:?}",
                columns.contexts, columns.actions, theirs.contexts, theirs.actions
            )));
        }
        let share = |v: f64| v > 0.0 && v < 1.0;
        // less than this lies beyond the stds in which an end is looked for
        let tail_fits = share(*tail) && *tail >= 2.0 / (FAR * FAR);
        if !(tail_fits && share(*most) && *reach > 0.0 && *reach <= 1.0) {
            return Err(Error::policy("its tail, reach or most is damaged"));
        }
        Ok(AbstainPolicy { parts, columns })
    }

    /// Refuses parts that do not fit each other.
    pub fn check(&self) -> Result<()> {
        AbstainPolicy::new(self.parts.clone()).map(|_| ())
    }

    /// The parts.
    pub fn parts(&self) -> &AbstainParts {
        &self.parts
    }

    /// The columns it is for, and the rows the new policy was learned from.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Whether the new policy acts given x; else the log does. A policy that does not know its masses acts nowhere.
    pub fn acts(&self, x: &[f64]) -> bool {
        let p = &self.parts;
        let Some(ends) = central(&p.logging, x, p.tail) else { return false };
        let shrunk = |[low, high]: [f64; 2]| {
            let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
            [middle - p.reach * half, middle + p.reach * half]
        };
        let (low, high): (Vec<f64>, Vec<f64>) = ends.into_iter().map(shrunk).map(|[l, h]| (l, h)).unzip();
        p.new.mass_within(x, &low, &high).is_some_and(|inside| 1.0 - inside <= p.most)
    }

    /// What acts given x.
    fn acting(&self, x: &[f64]) -> &SavedPolicy {
        if self.acts(x) { &self.parts.new } else { &self.parts.logging }
    }
}

/// The central interval of a policy's law given x for each action column: half of `tail` lies beyond either end. Nothing where the law is
/// not known.
pub fn central(policy: &SavedPolicy, x: &[f64], tail: f64) -> Option<Vec<[f64; 2]>> {
    if let SavedPolicy::Model(model) = policy {
        let axis = &model.parts().axis;
        let (mean, std) = model.law_at(x);
        let end = |level: f64| axis.quantile(mean, std, level);
        return Some(vec![[end(0.5 * tail), end(1.0 - 0.5 * tail)]]);
    }
    let law = policy.law(x)?;
    let brackets: Vec<[f64; 2]> = match &law {
        Law::Family { mean, std, .. } => mean.iter().zip(std).map(|(m, s)| [m - FAR * s, m + FAR * s]).collect(),
        Law::Steps { edges, .. } => vec![[*edges.first()?, *edges.last()?]],
    };
    let q = brackets.len();
    let end = |c: usize, level: f64| {
        let below = |a: f64| {
            let (mut low, mut high) = (vec![f64::NEG_INFINITY; q], vec![f64::INFINITY; q]);
            (low[c], high[c]) = (f64::NEG_INFINITY, a);
            law.mass_within(&low, &high)
        };
        let [mut from, mut to] = brackets[c];
        for _ in 0..HALVINGS {
            let middle = 0.5 * (from + to);
            if below(middle) < level { from = middle } else { to = middle }
        }
        0.5 * (from + to)
    };
    Some((0..q).map(|c| [end(c, 0.5 * tail), end(c, 1.0 - 0.5 * tail)]).collect())
}

impl TargetPolicy for AbstainPolicy {
    fn log_density(&self, x: &[f64], a: &[f64]) -> f64 {
        self.acting(x).log_density(x, a)
    }

    fn sample(&self, x: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
        self.acting(x).sample(x, rng)
    }

    fn sampler<'a>(&'a self, x: &[f64]) -> Box<dyn Fn(&mut dyn Rng) -> Vec<f64> + 'a> {
        self.acting(x).sampler(x)
    }

    fn log_densities(&self, block: &Block, out: &mut Vec<f64>) {
        let (mut new, mut log) = (Vec::new(), Vec::new());
        self.parts.new.log_densities(block, &mut new);
        self.parts.logging.log_densities(block, &mut log);
        let mut x = vec![0.0; block.x.len()];
        out.clear();
        out.extend((0..block.rows()).map(|i| {
            block.context(i, &mut x);
            if self.acts(&x) { new[i] } else { log[i] }
        }));
    }

    fn mean(&self, x: &[f64]) -> Option<Vec<f64>> {
        self.acting(x).mean(x)
    }

    fn mass_within(&self, x: &[f64], low: &[f64], high: &[f64]) -> Option<f64> {
        self.acting(x).mass_within(x, low, high)
    }

    fn masses<'a>(&'a self, x: &[f64]) -> Box<dyn Fn(&[f64], &[f64]) -> f64 + 'a> {
        self.acting(x).masses(x)
    }

    fn law(&self, x: &[f64]) -> Option<Law> {
        self.acting(x).law(x)
    }

    fn check_against(&self, schema: &Schema) -> Result<()> {
        self.parts.new.check_against(schema)?;
        self.parts.logging.check_against(schema)
    }

    fn origin(&self) -> Option<&Origin> {
        self.parts.new.origin()
    }

    fn saved(&self) -> Option<SavedPolicy> {
        Some(self.clone().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Family, Policy};

    fn normal(family: Family, mean: f64, std: f64) -> SavedPolicy {
        Policy::constant(family, &["x"], &["a"], &[mean], &[std]).expect("a policy").into()
    }

    /// Normal quantiles: .025 at 1.959964 stds; those of a log-normal law are the exponentials of its own.
    #[test]
    fn central_intervals_are_quantiles() {
        let [low, high] = central(&normal(Family::Normal, 2.0, 0.5), &[0.0], 0.05).expect("a law")[0];
        assert!((low - (2.0 - 0.5 * 1.959964)).abs() < 1e-6 && (high - (2.0 + 0.5 * 1.959964)).abs() < 1e-6);
        let s = (1.0f64 + 0.25 / 4.0).ln().sqrt();
        let m = 2f64.ln() - 0.5 * s * s;
        let [low, high] = central(&normal(Family::LogNormal, 2.0, 0.5), &[0.0], 0.05).expect("a law")[0];
        assert!((low.ln() - (m - 1.959964 * s)).abs() < 1e-6 && (high.ln() - (m + 1.959964 * s)).abs() < 1e-6);
    }

    /// The log N(0, 1) reaches 3.2905 stds with tail .001. N(b, .5) has 5% beyond at b = 3.2905 - .5 * 1.644854 = 2.468.
    #[test]
    fn it_acts_where_little_mass_lies_beyond_the_log() {
        let parts = |mean: f64, reach: f64| AbstainParts {
            new: Box::new(normal(Family::Normal, mean, 0.5)),
            logging: Box::new(normal(Family::Normal, 0.0, 1.0)),
            tail: 0.001,
            reach,
            most: 0.05,
        };
        let acts = |mean, reach| AbstainPolicy::new(parts(mean, reach)).expect("a policy").acts(&[0.0]);
        assert!(acts(2.46, 1.0) && !acts(2.475, 1.0) && acts(-2.46, 1.0) && !acts(-2.475, 1.0));
        assert!(!acts(2.46, 0.9), "rows showed less than the law says");
        assert!(AbstainPolicy::new(AbstainParts { tail: 1e-9, ..parts(0.0, 1.0) }).is_err());
        assert!(AbstainPolicy::new(AbstainParts { reach: 1.5, ..parts(0.0, 1.0) }).is_err());
        let own = AbstainPolicy::new(parts(0.0, 1.0)).expect("a policy");
        assert!(AbstainPolicy::new(AbstainParts { new: Box::new(own.into()), ..parts(0.0, 1.0) }).is_err());
    }

    #[test]
    fn its_file_gives_the_same_policy_back() {
        let parts = AbstainParts {
            new: Box::new(normal(Family::LogNormal, 2.0, 0.5)),
            logging: Box::new(normal(Family::LogNormal, 1.5, 0.7)),
            tail: 0.001,
            reach: 0.8,
            most: 0.05,
        };
        let saved: SavedPolicy = AbstainPolicy::new(parts).expect("a policy").into();
        let again = SavedPolicy::from_json(&saved.to_json()).expect("its own file");
        assert_eq!((again.kind(), &again), ("abstain", &saved));
        let broken = saved.to_json().replace("\"reach\": 0.8", "\"reach\": 8.0");
        assert!(SavedPolicy::from_json(&broken).is_err());
    }
}
