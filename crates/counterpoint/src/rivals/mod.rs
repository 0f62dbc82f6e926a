//! The rivals: the methods the paper's Tables 3, 6 and 7 compare with, each behind one type.
//!
//! A [`Rival`] is a method with its settings; [`Rival::fit`] gives a [`SavedPolicy`]. [`choose`] picks settings as the
//! paper does: by SNIPS on rows the fit has not seen, among policies that pass a gate. Contexts are standardised inside, with the train part's scaling, which the policy keeps.

mod cats;
mod choose;
mod demirer;
mod direct;
pub mod discrete;
mod figures;
mod kernel;
mod outcome;
mod rows;
mod settings;

pub use cats::Cats;
pub use choose::{Chosen, JUDGE_STD, Judged, PAPER_GATE, best, choose, judge, judgeable};
pub use demirer::{Choice, Demirer, theta_dr};
pub use direct::Direct;
pub use figures::{Figures, figures};
pub use kernel::{Bandwidth, Boundary, Smoothing, plug_in};
pub use outcome::OLearning;
pub use rows::{Centre, Rows};

use crate::estimate::{Form, Normalise, Weight};
use crate::features::ContextKind;
use crate::policy::{Columns, Kernel, SavedPolicy, SoftmaxPolicy};
use crate::{Engine, Error, Estimator, Log, Policy, Result};
use discrete::{DiscreteRecipe, learn_discrete};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A method and its settings.
///
/// ```
/// use counterpoint::rivals::Rival;
/// let rival: Rival = "sn-ks".parse()?;
/// assert_eq!(rival.name(), "sn-ks");
/// assert!(serde_json::to_string(&rival).unwrap().contains(r#""rival":"sn-ks""#));
/// # Ok::<(), counterpoint::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "rival", rename_all = "kebab-case")]
pub enum Rival {
    /// The direct method's greedy rule.
    Dm(Direct),
    /// The direct method with normal noise.
    Sdm(Stochastic),
    /// Kernel smoothing.
    Ks(Smoothing),
    /// Kernel smoothing, self-normalised.
    SnKs(Smoothing),
    /// Outcome-weighted learning.
    OLearning(OLearning),
    /// A tree over discretised actions.
    Cats(Cats),
    /// Doubly robust coefficients.
    Demirer(Demirer),
    /// A softmax over buckets; the estimator in its recipe gives the name.
    Softmax(DiscreteRecipe),
}

/// An estimator, given a cap where it has one.
type Capped = fn(f64) -> Estimator;

/// The softmax policies by name.
const SOFTMAX: [(&str, Capped); 6] = [
    ("softmax-ips", |_| Estimator::IPS),
    ("softmax-soft", Estimator::soft_clipped),
    ("softmax-switch", Estimator::switch),
    ("softmax-cab", Estimator::cab),
    ("softmax-cab-dr", Estimator::cab_dr),
    ("softmax-dr", |_| Estimator::DR),
];

/// Settings of the stochastic direct method.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stochastic {
    /// Those of the direct method.
    #[serde(flatten)]
    pub direct: Direct,
    /// The std around the greedy action, in units of that of the logged actions.
    pub std: f64,
}

impl Default for Stochastic {
    fn default() -> Self {
        Stochastic { direct: Direct::default(), std: 0.1 }
    }
}

impl Rival {
    /// All names.
    pub const NAMES: [&str; 13] = [
        "dm",
        "sdm",
        "o-learning",
        "ks",
        "sn-ks",
        "cats",
        "demirer",
        "softmax-ips",
        "softmax-soft",
        "softmax-switch",
        "softmax-cab",
        "softmax-cab-dr",
        "softmax-dr",
    ];

    /// The method's name.
    pub fn name(&self) -> &'static str {
        match self {
            Rival::Dm(_) => "dm",
            Rival::Sdm(_) => "sdm",
            Rival::Ks(_) => "ks",
            Rival::SnKs(_) => "sn-ks",
            Rival::OLearning(_) => "o-learning",
            Rival::Cats(_) => "cats",
            Rival::Demirer(_) => "demirer",
            Rival::Softmax(recipe) => match (recipe.estimator.weight, recipe.estimator.form) {
                (Weight::Raw, Form::Residual) => "softmax-dr",
                (Weight::Clip { .. }, Form::Residual) => "softmax-cab-dr",
                (Weight::Clip { .. }, Form::Blend) => "softmax-cab",
                (Weight::Switch { .. }, _) => "softmax-switch",
                (Weight::SoftClip { .. }, _) => "softmax-soft",
                _ => "softmax-ips",
            },
        }
    }

    /// Learns a policy. The noise of KS and SN-KS is their kernel; DM, O-learning and Demirer's rules have none. Softmax policies
    /// ask how often the log chose each bucket: of the logging policy where it is known, else of a regression on the log.
    pub fn fit(&self, engine: &Engine, log: &Log, logging: Option<&Policy>, seed: u64) -> Result<SavedPolicy> {
        let rule = match self {
            Rival::Dm(direct) => direct.fit(engine, log, seed),
            Rival::Sdm(Stochastic { direct, std }) => {
                let unit = log.action_summaries().first().map_or(1.0, |a| a.std());
                direct.fit(engine, log, seed).map(|policy| policy.with_std(std * unit))
            }
            Rival::Ks(smoothing) => smoothing.fit(engine, log, Normalise::ByRows, seed),
            Rival::SnKs(smoothing) => smoothing.fit(engine, log, Normalise::ByWeights, seed),
            Rival::OLearning(settings) => settings.fit(log, seed),
            Rival::Cats(settings) => settings.fit(log, seed),
            Rival::Demirer(settings) => settings.fit(log, seed),
            Rival::Softmax(recipe) => {
                let recipe = DiscreteRecipe { seed, ..*recipe };
                let buckets = learn_discrete(engine, log, logging, &recipe)?.policy;
                return Ok(SoftmaxPolicy { columns: Columns::of(log), softmax: buckets }.into());
            }
        };
        rule.map(SavedPolicy::Rule)
    }

    /// What the method puts to work: SDM, CATS and softmax policies draw their actions, the others only smooth to estimate and
    /// follow the rule.
    pub fn deployed(&self, policy: &SavedPolicy) -> SavedPolicy {
        match (self, policy) {
            (Rival::Sdm(_) | Rival::Cats(_), _) => policy.clone(),
            (_, SavedPolicy::Rule(rule)) => rule.clone().without_noise().into(),
            _ => policy.clone(),
        }
    }

    /// Settings to choose from. Few contexts leave little to shrink but ask for richer maps; with many, products of contexts
    /// outnumber the rows and the ridge is what matters.
    pub fn grid(name: &str, contexts: usize) -> Result<Vec<Rival>> {
        use ContextKind::{Cubic, Linear, Nystrom, Quadratic};
        let many = contexts > 10;
        let maps: &[ContextKind] = if many { &[Linear, Nystrom] } else { &[Linear, Quadratic, Cubic, Nystrom] };
        let pick = |few: &'static [f64], lots: &'static [f64]| if many { lots } else { few };
        // rules are linear in x, as in the methods' papers
        let smoothings = || {
            let shares = [0.1, 0.2, 0.4, 0.8].map(Bandwidth::Share).into_iter().chain([Bandwidth::PlugIn]);
            let kernels = [Kernel::Gaussian, Kernel::Epanechnikov];
            let both = shares.flat_map(move |bandwidth| kernels.map(|kernel| (bandwidth, kernel)));
            cross(both, pick(&[0.0], &[0.01, 0.1, 1.0])).map(|((bandwidth, kernel), ridge)| Smoothing {
                bandwidth,
                kernel,
                ridge,
                ..Smoothing::default()
            })
        };
        let directs = || {
            cross(maps.iter().copied(), pick(&[1e-3, 1e-4], &[0.1, 1.0, 10.0])).map(|(map, ridge)| Direct {
                map,
                ridge,
                ..Direct::default()
            })
        };
        Ok(match name.parse()? {
            Rival::Softmax(default) => {
                let estimator = softmax(name).unwrap_or(|_| Estimator::IPS);
                let caps: &[f64] = if estimator(2.0) == estimator(5.0) { &[5.0] } else { &[2.0, 5.0, 15.0] };
                let maps: &[ContextKind] = if many { &[Linear] } else { &[Linear, Quadratic, Cubic] };
                let both = maps.iter().flat_map(|&map| [5, 10, 20].map(|buckets| (map, buckets)));
                let ridges = cross(both, pick(&[0.0], &[1e-3, 1e-2, 1e-1]));
                cross(ridges, caps)
                    .map(|(((context_map, buckets), ridge), cap)| {
                        Rival::Softmax(DiscreteRecipe {
                            buckets,
                            context_map,
                            ridge,
                            estimator: estimator(cap),
                            ..default
                        })
                    })
                    .collect()
            }
            Rival::Dm(_) => directs().map(Rival::Dm).collect(),
            Rival::Sdm(_) => {
                let directs = directs().filter(|d| many || d.ridge == 1e-3);
                cross(directs, &[0.05, 0.1, 0.2, 0.4])
                    .map(|(direct, std)| Rival::Sdm(Stochastic { direct, std }))
                    .collect()
            }
            Rival::Ks(_) => {
                let centres = [Centre::None, Centre::Mean];
                smoothings().flat_map(|s| centres.map(|centre| Rival::Ks(Smoothing { centre, ..s }))).collect()
            }
            Rival::SnKs(_) => smoothings().map(Rival::SnKs).collect(),
            Rival::OLearning(_) => {
                let both = cross([Linear, Nystrom].into_iter(), &[0.2, 0.4, 0.8]);
                cross(both, pick(&[1e-4, 1e-2], &[0.1, 1.0, 10.0]))
                    .flat_map(|((map, phi), lambda)| {
                        [0.0, 0.5].map(|floor| Rival::OLearning(OLearning { map, phi, lambda, floor }))
                    })
                    .collect()
            }
            Rival::Cats(default) => {
                let both = cross([3, 5].into_iter(), &[0.2, 0.4, 0.8]);
                let trees = cross(both, pick(&[1e-4], &[0.01, 0.1, 1.0])).map(|((depth, bandwidth), ridge)| Cats {
                    depth,
                    bandwidth,
                    ridge,
                    ..default
                });
                trees.flat_map(|c| [c, Cats { centre: Centre::Mean, ..c }]).map(Rival::Cats).collect()
            }
            Rival::Demirer(_) => {
                let degrees: &[usize] = if many { &[2] } else { &[2, 3] };
                let shapes = maps.iter().flat_map(|&map| degrees.iter().map(move |&degree| (map, degree)));
                let choices = shapes.flat_map(|s| [Choice::Linear, Choice::Greedy].map(|choice| (s, choice)));
                cross(choices, pick(&[1e-3], &[0.1, 1.0, 10.0]))
                    .map(|(((map, degree), choice), ridge)| Rival::Demirer(Demirer { map, degree, choice, ridge }))
                    .collect()
            }
        })
    }
}

/// The estimator of a softmax policy.
fn softmax(name: &str) -> Option<Capped> {
    SOFTMAX.iter().find(|s| s.0 == name).map(|s| s.1)
}

/// All pairs.
fn cross<A: Copy>(these: impl Iterator<Item = A>, those: &[f64]) -> impl Iterator<Item = (A, f64)> {
    these.flat_map(move |a| those.iter().map(move |b| (a, *b)))
}

impl fmt::Display for Rival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Rival {
    type Err = Error;

    /// The method with its default settings.
    fn from_str(name: &str) -> Result<Self> {
        Ok(match name {
            "dm" => Rival::Dm(Direct::default()),
            "sdm" => Rival::Sdm(Stochastic::default()),
            "ks" => Rival::Ks(Smoothing::default()),
            "sn-ks" => Rival::SnKs(Smoothing::default()),
            "o-learning" => Rival::OLearning(OLearning::default()),
            "cats" => Rival::Cats(Cats::default()),
            "demirer" => Rival::Demirer(Demirer::default()),
            _ => match softmax(name) {
                Some(estimator) => Rival::Softmax(DiscreteRecipe {
                    estimator: estimator(5.0),
                    proximal_steps: 3,
                    max_iterations: 100,
                    ..DiscreteRecipe::default()
                }),
                None => {
                    return Err(Error::recipe("rival", format!("{name:?} names no method"))
                        .hint(format!("choose {}", Rival::NAMES.join(", "))));
                }
            },
        })
    }
}

#[cfg(test)]
mod tests;
