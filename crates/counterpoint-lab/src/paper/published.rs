//! Why the paper's policies over buckets earn so little: the authors' published code, changed one thing at a time until it is ours.

use super::fits::{Fit, Found, HEAD, Job, chosen, compared, value};
use super::statistics::mean;
use super::table6::{discrete, pairs};
use super::{Ask, Cell, Claim, Dataset, Table};
use crate::discrete::{Buckets, Coefficients, Constants, DiscretePolicy, Divisor, PublishedRecipe, Training};
use counterpoint::features::ContextKind;
use counterpoint::{Estimator, Result};

/// The paper's soft-clipped IPS over buckets, set by set, with its error bars.
pub(super) const PAPER: [(f64, f64); 3] = [(0.5888, 0.0022), (0.5637, 0.0024), (0.5941, 0.0019)];

/// How policies are learned.
enum Learned {
    /// By the authors' code, or nearly.
    Published(Training, Coefficients, Constants, Divisor),
    /// As everywhere else here.
    Ours,
}

/// What is done when a bucket is drawn.
enum Acts {
    /// As it was learned.
    AsLearned,
    /// The median of the bucket's logged actions.
    Medians,
    /// Its upper edge.
    UpperEdges,
}

const LEARNED: [Learned; 7] = [
    Learned::Published(Training::Alone, Coefficients::NotNegative, Constants::Shared, Divisor::Share),
    Learned::Published(Training::Alone, Coefficients::NotNegative, Constants::Shared, Divisor::Density),
    Learned::Published(Training::Alone, Coefficients::Free, Constants::Shared, Divisor::Share),
    Learned::Published(Training::Together, Coefficients::NotNegative, Constants::Shared, Divisor::Share),
    Learned::Published(Training::Together, Coefficients::Free, Constants::Shared, Divisor::Share),
    Learned::Published(Training::Together, Coefficients::Free, Constants::Each, Divisor::Share),
    Learned::Ours,
];

/// A row of the table: its name, a place in [`LEARNED`], and what is done.
type Step = (&'static str, usize, Acts);

const STEPS: [Step; 9] = [
    ("as published", 0, Acts::AsLearned),
    ("as published, but weights divide by the density of the action", 1, Acts::AsLearned),
    ("as published, but acting with medians", 0, Acts::Medians),
    ("as published, but coefficients of either sign", 2, Acts::AsLearned),
    ("as published, but buckets compete in training", 3, Acts::AsLearned),
    ("buckets compete, coefficients of either sign", 4, Acts::AsLearned),
    ("buckets compete, coefficients of either sign, a constant for each bucket", 5, Acts::AsLearned),
    ("ours, but acting with upper edges", 6, Acts::UpperEdges),
    ("ours", 6, Acts::AsLearned),
];

/// Steps that change one thing in what is published.
const SINGLE: std::ops::Range<usize> = 1..5;
/// The one among them that lets buckets compete.
const COMPETE: usize = 4;
const OURS: usize = 8;

fn jobs(ask: &Ask, learned: &Learned) -> Vec<Job> {
    let Learned::Published(training, coefficients, constants, divisor) = *learned else {
        return discrete(ask, &[2.0, 5.0], Estimator::soft_clipped);
    };
    let plain = PublishedRecipe { training, coefficients, constants, divisor, ..PublishedRecipe::default() };
    let mut jobs = Vec::new();
    for &buckets in ask.by_effort(&[10][..], &[5, 10]) {
        for context_map in [ContextKind::Linear, ContextKind::Quadratic] {
            for &cap in ask.by_effort(&[12.9][..], &[2.8, 12.9]) {
                for &ridge in ask.by_effort(&[1e-5, 1e-2][..], &[1e-5, 1e-4, 1e-3, 1e-2, 1e-1]) {
                    for &variance_penalty in ask.by_effort(&[0.0][..], &[0.0, 0.1]) {
                        let recipe = PublishedRecipe { buckets, context_map, cap, ridge, variance_penalty, ..plain };
                        jobs.push(Job::Published(Box::new(recipe)));
                    }
                }
            }
        }
    }
    jobs
}

impl Acts {
    fn apply(&self, set: &Dataset, policy: &DiscretePolicy) -> DiscretePolicy {
        let train = set.parts.train.blocks().iter();
        let actions = || train.flat_map(|b| b.a[0].iter().copied()).collect::<Vec<f64>>();
        let buckets: Buckets = match self {
            Acts::AsLearned => policy.buckets.clone(),
            Acts::Medians => policy.buckets.at_medians(&actions()),
            Acts::UpperEdges => policy.buckets.at_upper_edges(),
        };
        DiscretePolicy { buckets, ..policy.clone() }
    }
}

/// The reward of every test context, by step, then set; empty where nothing passed the gate.
fn rewards(ask: &Ask, sets: &[Dataset]) -> Result<Vec<Vec<Vec<f64>>>> {
    let cells: Vec<(&Dataset, Vec<Job>)> =
        LEARNED.iter().flat_map(|l| sets.iter().map(move |set| (set, jobs(ask, l)))).collect();
    let fits: Vec<Option<Fit>> = chosen(ask, &cells)?;
    let of = |(_, learned, acts): &Step| -> Vec<Vec<f64>> {
        let mine = sets.iter().zip(&fits[learned * sets.len()..]);
        mine.map(|(set, fit)| match fit.as_ref().map(|f| &f.found) {
            Some(Found::Discrete(policy)) => set.rewards(&Found::Discrete(acts.apply(set, policy))),
            _ => Vec::new(),
        })
        .collect()
    };
    Ok(STEPS.iter().map(of).collect())
}

/// What policies as published are worth whatever the settings, if the gate lets them through: by set, ascending.
fn spread(ask: &Ask, sets: &[Dataset]) -> Result<Vec<Vec<f64>>> {
    let of = |set: &Dataset| -> Result<Vec<f64>> {
        let fits: Vec<Fit> = jobs(ask, &LEARNED[0]).iter().map(|job| job.fit(ask, set)).collect::<Result<_>>()?;
        let mut values: Vec<f64> = fits.iter().filter(|f| f.passes()).map(|f| mean(&set.rewards(&f.found))).collect();
        values.sort_by(f64::total_cmp);
        Ok(values)
    };
    sets.iter().map(of).collect()
}

/// The table, what it says as claims, and in words.
pub(super) fn steps(ask: &Ask, sets: &[Dataset]) -> Result<(Table, Vec<Claim>, String)> {
    let rewards = rewards(ask, sets)?;
    let rows = STEPS.iter().zip(&rewards).enumerate().map(|(row, ((name, ..), of_sets))| {
        let cell = |(i, r): (usize, &Vec<f64>)| match r.is_empty() {
            true => Cell::from("none is trustworthy"),
            false => Cell::Value(value(r, (row == 0).then_some(PAPER[i]))),
        };
        [Cell::from(*name)].into_iter().chain(of_sets.iter().enumerate().map(cell)).collect()
    });
    let table = Table {
        caption: "Soft-clipped IPS over buckets, from the authors' published code to ours: test reward".into(),
        head: HEAD.map(String::from).to_vec(),
        rows: rows.collect(),
    };
    let mut claims = vec![compared(
        "Not in the paper: over buckets, ours earn more than policies learned as in the authors' published code.",
        &pairs(sets, &rewards[OURS], &rewards[0]),
    )];
    let means: Vec<Vec<Option<f64>>> =
        rewards.iter().map(|step| step.iter().map(|r| (!r.is_empty()).then(|| mean(r))).collect()).collect();
    claims.extend(judged(&means, &spread(ask, sets)?));
    Ok((table, claims, words(&means)))
}

/// By step, then set: the mean reward, if a policy was found.
type Means = [Vec<Option<f64>>];

/// Whether the printed numbers are those of the published code, and whether it is for want of competition.
fn judged(means: &Means, spread: &[Vec<f64>]) -> [Claim; 2] {
    let [published, ours] = [0, OURS].map(|step| &means[step]);
    let sets: Vec<(f64, f64, usize)> =
        (0..published.len()).filter_map(|i| Some((published[i]?, ours[i]?, i))).collect();
    let near = |(published, ours, i): &(f64, f64, usize)| (published - PAPER[*i].0).abs() < (published - ours).abs();
    let shown = |(published, ours, i): &(f64, f64, usize)| {
        let (name, paper) = (HEAD[i + 1], PAPER[*i].0);
        let ends = spread[*i].first().zip(spread[*i].last());
        let ends = ends.map(|(low, high)| format!("; with other settings {low:.3} to {high:.3}")).unwrap_or_default();
        format!("{name} {published:.3} (printed {paper:.3}, ours {ours:.3}{ends})")
    };
    let gains = |step: usize| -> Vec<f64> {
        means[step].iter().zip(&means[0]).map(|(a, b)| a.zip(*b).map_or(f64::NAN, |(a, b)| a - b)).collect()
    };
    let single: Vec<(usize, Vec<f64>)> = SINGLE.map(|step| (step, gains(step))).collect();
    let most = |i: usize| {
        let known = single.iter().filter(|(_, g)| g[i].is_finite());
        known.max_by(|a, b| a.1[i].total_cmp(&b.1[i])).map(|(step, _)| *step == COMPETE)
    };
    let list = |v: &mut dyn Iterator<Item = String>| v.collect::<Vec<_>>().join(", ");
    [
        Claim {
            says: "Not in the paper: learned as in the authors' published code, policies over buckets earn nearer to what the paper \
                   prints than to ours."
                .into(),
            holds: unanimous(sets.iter().map(near)),
            measured: list(&mut sets.iter().map(shown)),
        },
        Claim {
            says: "Not in the paper: of single changes to the published code, letting the buckets compete in training gains most."
                .into(),
            holds: unanimous((0..means[0].len()).filter_map(most)),
            measured: single
                .iter()
                .map(|(step, g)| {
                    let g = list(&mut g.iter().map(|g| if g.is_finite() { format!("{g:+.3}") } else { "none".into() }));
                    format!("{}: {g}", STEPS[*step].0.trim_start_matches("as published, but "))
                })
                .collect::<Vec<_>>()
                .join("; "),
        },
    ]
}

/// Yes if all say so, no if none does, else nothing.
fn unanimous(votes: impl Iterator<Item = bool>) -> Option<bool> {
    let votes: Vec<bool> = votes.collect();
    let first = *votes.first()?;
    votes.iter().all(|v| *v == first).then_some(first)
}

/// How much of the gap between the published code and ours each step closes, averaged over the sets.
fn words(means: &Means) -> String {
    let closed = |step: usize| -> Option<f64> {
        let both = (0..PAPER.len())
            .filter_map(|i| Some((means[step].get(i).copied()?? - means[0][i]?, means[OURS][i]? - means[0][i]?)));
        let (gained, gap) = both.fold((0.0, 0.0), |(g, h), (a, b)| (g + a, h + b));
        (gap > 0.0).then_some(100.0 * gained / gap)
    };
    let parts: Vec<String> = (1..OURS)
        .filter_map(|step| {
            Some(format!("{}, {:.0}%", STEPS[step].0.trim_start_matches("as published, but "), closed(step)?))
        })
        .collect();
    format!(
        "{DIFFERENCES} Of the gap between the published code and ours, all sets together, this much is closed: {}.",
        parts.join("; ")
    )
}

/// What the published code does, as far as it differs from ours.
const DIFFERENCES: &str = "In the authors' published code, training gives a logit to the bucket taken only, all others having 0, while acting \
     gives each bucket its own: the buckets never compete, and what is trained is not what acts. Besides, coefficients are bounded below by 0, no \
     bucket has a constant, the action is the upper edge of a bucket (the largest logged action for the last), and two buckets lie at and \
     below the smallest logged action, where the log hardly was. Weights divide by the logging density integrated over the bucket, as ours do; \
     a row shows what the bare density would do. Policies of that code are chosen as in the paper, by SNIPS with their own training weights, from \
     the ridges of Table 5, two caps, two variance penalties, 5 or 10 buckets and two context maps (linear, quadratic). The step to ours with upper edges also changes \
     context maps, their scale, penalties and the buckets at both ends.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_by_hand() {
        let mut means = vec![vec![Some(0.55); 3]; STEPS.len()];
        means[OURS] = vec![Some(0.8); 3];
        means[COMPETE] = vec![Some(0.7); 3];
        means[1][0] = None;
        let spread = vec![vec![0.5, 0.6]; 3];
        let judged = |means: &Means| judged(means, &spread);
        let [near, most] = judged(&means);
        assert_eq!((near.holds, most.holds), (Some(true), Some(true)));
        assert!(
            near.measured
                .starts_with("Noisymoons 0.550 (printed 0.589, ours 0.800; with other settings 0.500 to 0.600)")
        );
        assert!(words(&means).contains("buckets compete in training, 60%"), "{}", words(&means));
        means[3] = vec![Some(0.75), Some(0.6), Some(0.6)];
        assert_eq!(judged(&means)[1].holds, None);
        means[0] = vec![Some(0.78); 3];
        assert_eq!(judged(&means)[0].holds, Some(false));
        means[0] = vec![None; 3];
        assert_eq!(judged(&means)[0].holds, None);
    }

    #[test]
    fn one_thing_changes_at_a_time() {
        let ask = Ask::new(crate::paper::Effort::Full, None, counterpoint::Engine::single());
        let recipe = |step: usize| match &jobs(&ask, &LEARNED[STEPS[step].1])[0] {
            Job::Published(recipe) => serde_json::to_value(recipe).unwrap(),
            _ => panic!("not the published code"),
        };
        let first = recipe(0);
        for step in SINGLE {
            let other = recipe(step);
            let fields = first.as_object().unwrap().iter().filter(|(k, v)| other[k.as_str()] != **v).count();
            let acts = usize::from(!matches!(STEPS[step].2, Acts::AsLearned));
            assert_eq!(fields + acts, 1, "{}", STEPS[step].0);
        }
    }
}
