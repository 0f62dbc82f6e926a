//! Table 7: doubly robust policies, over buckets and continuous, and what the estimates behind them are worth.

use super::fits::{FITS, Job, compared};
use super::table6::{BUCKETS, Method, continuous, discrete, pairs, run, table};
use super::{Ask, Exhibit, bias, potentials};
use counterpoint::recipe::{EstimatorChoice, StdChoice};
use counterpoint::{Estimator, Recipe, Result};

const METHODS: [Method; 5] = [
    Method {
        name: "Doubly robust (discrete)",
        jobs: |ask| discrete(ask, &[1.0], |_| Estimator::DR),
        paper: Some([(0.5756, 0.0022), (0.5500, 0.0024), (0.5593, 0.0026)]),
    },
    Method {
        name: "SWITCH (discrete)",
        jobs: |ask| discrete(ask, &[2.0, 5.0], Estimator::switch),
        paper: Some([(0.5786, 0.0025), (0.5520, 0.0026), (0.5741, 0.0024)]),
    },
    Method {
        name: "CAB-DR (discrete)",
        jobs: |ask| discrete(ask, &[2.0, 5.0], Estimator::cab_dr),
        paper: Some([(0.5683, 0.0023), (0.5326, 0.0025), (0.5361, 0.0028)]),
    },
    Method {
        name: "Doubly robust, CDF differences (CLP)",
        jobs: |ask| doubly_robust(ask, EstimatorChoice::DoublyRobustCdf),
        paper: Some([(0.6115, 0.0001), (0.6113, 0.0002), (0.5977, 0.0001)]),
    },
    Method {
        name: "Doubly robust, exact (CLP)",
        jobs: |ask| doubly_robust(ask, EstimatorChoice::DoublyRobust),
        paper: None,
    },
];

/// With and without a std that cannot vanish: raw weights have no other brake. One start and few proximal steps, because the
/// model term makes a pass several times as long.
fn doubly_robust(ask: &Ask, estimator: EstimatorChoice) -> Vec<Job> {
    let recipe = |floor| Recipe { estimator, std: StdChoice::Learned { floor }, ..Recipe::clp() };
    let mut jobs = continuous(ask, &[recipe(0.01), recipe(0.2)]);
    for job in &mut jobs {
        if let Job::Continuous(recipe) = job {
            **recipe = Recipe { starts: 1, ..(**recipe).clone() }.with_proximal_steps(3);
        }
    }
    jobs
}

/// Table 7 of the paper, the doubly robust estimators, and the bias and variance of the estimates.
pub fn table7(ask: &Ask) -> Result<Exhibit> {
    let sets = potentials(ask)?;
    let rewards = run(ask, &sets, &METHODS)?;
    let against = |says: &str, a: usize, b: usize| compared(says, &pairs(&sets, &rewards[a], &rewards[b]));
    let (estimates, more) = bias::table(ask)?;
    let mut claims = vec![
        against("The continuous doubly robust policy (CDF differences) does better than the discrete one.", 3, 0),
        against("Not in the paper: the exact model term does better than CDF differences.", 4, 3),
    ];
    claims.extend(more);
    Ok(Exhibit {
        about: "Policies learned by doubly robust estimates: over buckets, where the model term is a sum; continuous, with \
                the paper's model term (the policy's mass between neighbouring anchors times the model at the lower one) \
                and with the exact one (closed form for normal policies and a Gaussian kernel). Chosen and valued as in Table 6. The \
                second table holds fixed policies and asks what each estimate of their value is worth, over \
                simulated logs."
            .into(),
        tables: vec![table("Test reward of doubly robust policies", &sets, &METHODS, &rewards), estimates],
        pictures: Vec::new(),
        claims,
        notes: vec![
            "Errors of the first table are standard errors over test contexts.".into(),
            BUCKETS.into(),
            FITS.into(),
            "The paper calls the model term of a continuous policy intractable; for normal policies and a Gaussian kernel on \
             the actions it is a closed form."
                .into(),
        ],
    })
}
