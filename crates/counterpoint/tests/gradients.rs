//! One table: every mean x family x std x estimator x penalty x entropy x number of actions, the gradient of the
//! objective against differences of its value, and the fast loop against the plain one.

#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use counterpoint::estimate::{Form, ModelTerm, Normalise, Weight};
use counterpoint::folds::{Crm, Design, Precision, Question};
use counterpoint::optim::Objective;
use counterpoint::policy::{Family, Support};
use counterpoint::{Engine, Estimator, Log, Policy};
use support::{STDS, columns, every_way, logging, loss_model, means, policy, u};

/// Name, estimator, and how the model's expectation is taken: every weight by itself, and every other form.
fn estimators() -> Vec<(String, Estimator, ModelTerm)> {
    use ModelTerm::{CdfDifferences, Exact};
    let own = |weight, form| Estimator::new(weight, form, Normalise::ByWeights);
    let others = [
        ("SNIPS", Estimator::SNIPS, Exact),
        ("DM", Estimator::DM, Exact),
        ("DM by cdf", Estimator::DM, CdfDifferences),
        ("DR", Estimator::DR, Exact),
        ("DR by cdf", Estimator::DR, CdfDifferences),
        ("SWITCH", Estimator::switch(1.3), Exact),
        ("CAB", Estimator::cab(1.3), Exact),
        ("CAB-DR", Estimator::cab_dr(1.3), Exact),
        ("self-normalised soft clip", own(Weight::soft(1.3), Form::Plain), Exact),
        ("self-normalised DR", own(Weight::Raw, Form::Residual), Exact),
        ("self-normalised CAB-DR", own(Weight::Clip { cap: 1.3 }, Form::Residual), Exact),
    ];
    let plain = |w: Weight| (format!("{w:?}"), Estimator::new(w, Form::Plain, Normalise::ByRows), Exact);
    let others = others.into_iter().map(|(name, estimator, term)| (name.to_string(), estimator, term));
    Weight::examples(1.3).into_iter().map(plain).chain(others).collect()
}

/// What SPEC leaves for one action column only.
fn legal(estimator: &Estimator, term: ModelTerm, q: usize) -> bool {
    q == 1 || (estimator.form != Form::Blend && term == ModelTerm::Exact)
}

struct Case<'a> {
    what: String,
    log: &'a Log,
    policy: Policy,
    question: Question,
}

/// Directions in which slopes are tried: a few seeded ones, and every std alone.
fn directions(policy: &Policy) -> Vec<Vec<f64>> {
    let p = policy.theta.len();
    let mut all: Vec<Vec<f64>> = (0..2).map(|k| (0..p).map(|i| 2.0 * u(i, 700 + k) - 1.0).collect()).collect();
    all.extend((policy.mean_parameters()..p).map(|i| (0..p).map(|j| f64::from(u8::from(i == j))).collect()));
    all
}

/// The slope along `d` by differences of order h^4, with the error that rounding and h allow.
fn difference(value: &mut dyn FnMut(f64) -> f64, h: f64, scale: f64) -> (f64, f64) {
    let near = value(h) - value(-h);
    let wide = value(2.0 * h) - value(-2.0 * h);
    ((8.0 * near - wide) / (12.0 * h), 50.0 * f64::EPSILON * scale / h + 100.0 * scale * h.powi(4))
}

/// Steps from long to short: a kink or a jump of a clipped weight near theta spoils the longer ones only.
const STEPS: [f64; 5] = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7];

fn check_slopes(case: &Case) {
    let Case { what, log, policy, question } = case;
    let design = Design::new(log, policy, question, 0.3, Precision::F64).unwrap();
    let engine = Engine::single();
    let mut crm = Crm::new(&engine, &design, question, policy, 0.02).unwrap();
    let mut grad = vec![0.0; crm.dim()];
    let at = crm.eval(&policy.theta, &mut grad).unwrap();
    assert!(at.is_finite() && grad.iter().all(|g| g.is_finite()), "{what}: {at} {grad:?}");
    let mut sink = grad.clone();
    for (k, d) in directions(policy).iter().enumerate() {
        let slope: f64 = grad.iter().zip(d).map(|(g, d)| g * d).sum();
        let size: f64 = 1.0 + at.abs() + grad.iter().map(|g| g.abs()).fold(0.0, f64::max);
        let mut value = |s: f64| {
            let theta: Vec<f64> = policy.theta.iter().zip(d).map(|(t, d)| t + s * d).collect();
            crm.eval(&theta, &mut sink).unwrap()
        };
        let mut tries = Vec::new();
        let right = STEPS.iter().any(|&h| {
            let (got, tolerance) = difference(&mut value, h, size);
            tries.push((h, got, tolerance));
            (got - slope).abs() <= tolerance
        });
        assert!(right, "{what}, direction {k}: gradient says {slope}, (step, difference, tolerance) {tries:?}");
    }
}

/// The kernel and the plain loop are two ways to the same sums.
fn check_ways(case: &Case) {
    let answers = every_way(case.log, &case.policy, &case.question);
    let size = answers[0].grad.iter().fold(0.0f64, |m, g| m.max(g.abs())) + answers[0].value.abs();
    for a in &answers[1..] {
        let worst = a
            .grad
            .iter()
            .zip(&answers[0].grad)
            .fold((a.value - answers[0].value).abs(), |m, (x, y)| m.max((x - y).abs()));
        assert!(worst <= 1e-12 * size, "{}, {}: {worst:.1e} of {size} from the plain loop", case.what, a.way);
    }
}

/// How many combinations there are: of mean, family, std, penalty and entropy, and estimator.
fn combinations(estimators: usize) -> usize {
    means().len() * Family::ALL.len() * STDS.len() * 4 * estimators
}

fn run_table(q: usize) -> (usize, usize) {
    // integrals over the policy make some rows dear: fewer of them there
    let [log, short, shorter] = [(70, 1), (24, 2), (8, 3)].map(|(n, seed)| columns(n, 2, q, seed).log());
    let (mut checked, mut refused) = (0, 0);
    for mean in &means() {
        for &family in Family::ALL {
            for (std_name, std) in STDS {
                for (name, estimator, term) in estimators() {
                    for (penalty, entropy) in [(0.0, 0.0), (0.5, 0.0), (0.0, 0.1), (0.5, 0.1)] {
                        let log = match estimator.form {
                            Form::Blend => &shorter,
                            Form::Residual | Form::Model if family.support() == Support::Positive => &short,
                            _ => &log,
                        };
                        let policy = policy(mean, family, std, log);
                        let question = Question {
                            variance_penalty: penalty,
                            entropy,
                            model: estimator.needs_model().then(|| loss_model(2, q)),
                            term,
                            logging: (estimator.form == Form::Blend).then(|| logging(2, q)),
                            ..Question::new(estimator)
                        };
                        let what = format!(
                            "{mean}, {family:?}, std {std_name}, {name}, penalty {penalty}, entropy {entropy}, q {q}"
                        );
                        if legal(&estimator, term, q) {
                            let case = Case { what, log, policy, question };
                            check_slopes(&case);
                            check_ways(&case);
                            checked += 1;
                        } else {
                            let error = Design::new(log, &policy, &question, 0.0, Precision::F64).err();
                            let error = error.unwrap_or_else(|| panic!("{what}: not refused")).to_string();
                            assert!(error.contains("one action column"), "{what}: {error}");
                            refused += 1;
                        }
                    }
                }
            }
        }
    }
    (checked, refused)
}

#[test]
fn every_gradient_is_the_slope_of_its_objective() {
    let (checked, refused) = run_table(1);
    let all = combinations(estimators().len());
    assert!(checked == all && refused == 0, "{checked} combinations of {all} checked, {refused} refused");
}

#[test]
fn every_gradient_is_the_slope_of_its_objective_for_vector_actions() {
    let (checked, refused) = run_table(2);
    let legal = combinations(estimators().iter().filter(|(_, e, term)| legal(e, *term, 2)).count());
    let all = combinations(estimators().len());
    assert!(checked == legal && refused == all - legal, "{checked} of {legal} checked, {refused} refused");
}
