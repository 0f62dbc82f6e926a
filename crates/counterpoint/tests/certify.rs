//! What a certificate promises: figures by hand, invariances, and how often it is wrong.

#![allow(clippy::unwrap_used, missing_docs)]

use counterpoint::certify::{
    Adjust, Certificate, Gate, Interval, Method, Monitor, Terms, Verdict, certify, certify_many, certify_many_scored,
    certify_scored,
};
use counterpoint::data::{Outcome, Parts, SplitRule};
use counterpoint::error::Kind as ErrorKind;
use counterpoint::folds::{Bootstrap, Powers, Scored, score};
use counterpoint::policy::Family;
use counterpoint::select::{Grid, Memory};
use counterpoint::{Engine, Log, Policy, Recipe, learn, select};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

/// Actions N(0, 1), costs 1 - exp(-(a - 1)^2 / 2) + noise; see [`cost`] for what a policy costs.
struct World {
    a: Vec<f64>,
    y: Vec<f64>,
    p: Vec<f64>,
}

/// The true cost of N(m, s^2): 1 - exp(-(m - 1)^2 / (2 (1 + s^2))) / sqrt(1 + s^2).
fn cost((m, s): (f64, f64)) -> f64 {
    let v = 1.0 + s * s;
    1.0 - (-0.5 * (m - 1.0f64).powi(2) / v).exp() / v.sqrt()
}

/// The policy with this std that costs exactly what the log costs.
fn null(s: f64) -> (f64, f64) {
    let v = 1.0 + s * s;
    (1.0 - (-2.0 * v * ((1.0 - cost((0.0, 1.0))) * v.sqrt()).ln()).sqrt(), s)
}

fn world(n: usize, seed: u64) -> World {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let a: Vec<f64> = (0..n).map(|_| rng.sample(StandardNormal)).collect();
    let y = a
        .iter()
        .map(|a| 1.0 - (-0.5 * (a - 1.0) * (a - 1.0)).exp() + 0.1 * rng.sample::<f64, _>(StandardNormal))
        .collect();
    let p = a.iter().map(|a| Family::Normal.log_density(*a, 0.0, 1.0).value.exp()).collect();
    World { a, y, p }
}

impl World {
    fn log(&self) -> Log {
        Log::builder()
            .action("a", self.a.clone())
            .cost("y", self.y.clone())
            .propensity("p", self.p.clone())
            .build()
            .unwrap()
    }
}

fn policy(mean: f64, std: f64) -> Policy {
    Policy::constant(Family::Normal, &[], &["a"], &[mean], &[std]).unwrap()
}

fn judge(log: &Log, policy: &Policy, terms: &Terms) -> Certificate {
    let parts = log.split(SplitRule::default()).unwrap();
    certify(policy, &parts.valid, &parts.test, terms).unwrap()
}

fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{a} is not {b}");
}

fn all_close(a: &Interval, b: &Interval, map: impl Fn(f64) -> f64) {
    close(a.estimate, map(b.estimate), 1e-9);
    close(a.lower, map(b.lower), 1e-9);
    close(a.upper, map(b.upper), 1e-9);
}

/// w = 1, 3, y = 2, 6 on both parts: L = 5, mean 4, D = 1, se = sqrt(1/2) / 2, n_eff = 16/10.
#[test]
fn two_rows_by_hand() {
    let rows = [Scored::from_columns(0, vec![0.0, 3f64.ln()], vec![2.0, 6.0])];
    let terms = Terms { interval: Method::Normal, cost_range: Some([0.0, 8.0]), ..Terms::default() };
    let c = certify_scored(&Engine::single(), &rows, &rows, &terms, Outcome::Cost).unwrap();
    let z = 1.959_963_984_540_054;
    let se = 0.5f64.sqrt() / 2.0;
    // on so few rows the value is no surer than 1.6 plain ones, whose costs 2, 6, 2, 6 have the variance 16/3
    let floor = (16.0 / 3.0 / 1.6f64).sqrt();
    // costs may be 8, and 6 is the worst that was seen: 1.6 rows do not exclude that all of the policy's lie there
    let range = 2.0;
    for (i, estimate, error, more) in
        [(c.value, 5.0, floor, range), (c.logged, 4.0, 2f64.sqrt(), 0.0), (c.difference, 1.0, se, range)]
    {
        close(i.estimate, estimate, 1e-12);
        close(i.upper, estimate + z * error + more, 1e-9);
    }
    close(c.difference.std_error, se, 1e-12);
    close(c.value.std_error, 18f64.sqrt() / 4.0, 1e-12);
    close(c.test.effective, 1.6, 1e-12);
    close(c.test.mean_weight.estimate, 2.0, 1e-12);
    close(c.test.largest_share, 0.75, 1e-12);
    assert_eq!(c.verdict, Verdict::Invalid);
    assert_eq!(c.reasons.len(), 4, "{:?}", c.reasons); // rows, mean weight, what follows, and what would help
    assert_eq!(c.test.tail_index, None);
    // two rows guarantee nothing: (1 + 8 l) (1 + 12 l), mixed over the bets, is 12 at most, and 40 are needed
    let b = c.bound.unwrap();
    assert_eq!((b.value, b.difference, b.least_value, b.least_difference), (8.0, 8.0, 0.0, -8.0));
    assert!(!b.assumed);
}

#[test]
fn the_logs_own_policy_has_weight_one_and_is_kept() {
    let log = world(2000, 1).log();
    for interval in [Method::BootstrapT, Method::Normal, Method::Percentile] {
        let c = judge(&log, &policy(0.0, 1.0), &Terms { interval, ..Terms::default() });
        assert_eq!(c.verdict, Verdict::Keep);
        close(c.test.effective_share, 1.0, 1e-12);
        close(c.test.mean_weight.estimate, 1.0, 1e-12);
        assert!(c.difference.estimate.abs() < 1e-12 && c.p_value == 1.0, "{c:?}");
    }
    assert_eq!(judge(&log, &policy(0.0, 1.0), &Terms::paper()).verdict, Verdict::Keep);
}

#[test]
fn shifting_or_scaling_the_costs_shifts_or_scales_the_figures() {
    let w = world(4000, 2);
    let base = judge(&w.log(), &policy(0.4, 0.8), &Terms::default());
    let turned = |shift: f64, unit: f64| {
        let y = w.y.iter().map(|y| shift + unit * y).collect();
        World { a: w.a.clone(), y, p: w.p.clone() }.log()
    };
    for (shift, unit) in [(1000.0, 1.0), (0.0, 50.0), (-3.0, 0.01)] {
        let c = judge(&turned(shift, unit), &policy(0.4, 0.8), &Terms::default());
        all_close(&c.value, &base.value, |v| shift + unit * v);
        all_close(&c.logged, &base.logged, |v| shift + unit * v);
        all_close(&c.difference, &base.difference, |v| unit * v);
        assert_eq!((c.verdict, c.p_value), (base.verdict, base.p_value));
        assert_ne!(c.fingerprint, base.fingerprint);
    }
}

#[test]
fn scaling_all_densities_changes_no_estimate() {
    let w = world(4000, 3);
    let terms = Terms { gate: Gate { max_mean_weight_error: 1e9, ..Gate::default() }, ..Terms::default() };
    let base = judge(&w.log(), &policy(0.4, 0.8), &terms);
    for factor in [1e-200, 0.1, 7.0, 1e200] {
        let p = w.p.iter().map(|p| factor * p).collect();
        let c = judge(&World { a: w.a.clone(), y: w.y.clone(), p }.log(), &policy(0.4, 0.8), &terms);
        all_close(&c.value, &base.value, |v| v);
        all_close(&c.difference, &base.difference, |v| v);
        close(c.test.effective, base.test.effective, 1e-9);
        close(c.test.mean_weight.estimate * factor, base.test.mean_weight.estimate, 1e-9);
    }
}

#[test]
fn answer_does_not_depend_on_threads() {
    let log = world(12_000, 4).log();
    let parts = log.split(SplitRule::default()).unwrap();
    let [one, three] = [1, 3].map(|threads| {
        let engine = Engine::new(threads).unwrap();
        certify(&policy(0.4, 0.8), &parts.valid.on(&engine), &parts.test.on(&engine), &Terms::default()).unwrap()
    });
    assert_eq!(one, three);
    let again: Certificate = serde_json::from_str(&serde_json::to_string(&one).unwrap()).unwrap();
    assert_eq!(again, one);
}

/// A row keeps its multiplicities wherever it stands, so order and sharding move last digits only.
#[test]
fn order_and_sharding_of_rows_change_nothing_but_rounding() {
    let log = world(3000, 5).log();
    let engine = Engine::single();
    let rows = score(&engine, &log, &policy(0.4, 0.8)).unwrap();
    let fold = Bootstrap { replicates: 200, seed: 9, log_scale: 0.0, centre: 2.0, of: Powers::Weights, together: 1 };
    let whole = engine.ask(&fold, &rows);
    let mut shards: Vec<Scored> = rows.clone();
    shards.reverse();
    for s in &mut shards {
        s.ids.to_mut().reverse();
        s.log_w.to_mut().reverse();
        s.y.to_mut().reverse();
    }
    let mut merged = engine.ask(&fold, &shards[..1]);
    let rest = engine.ask(&fold, &shards[1..]);
    counterpoint::engine::Fold::merge(&fold, &rest, &mut merged);
    for b in 0..200 {
        for (x, y) in whole.replicate(b).sums().iter().zip(merged.replicate(b).sums()) {
            close(*x, *y, 1e-9);
        }
    }
    // and the same shards in the same order are the same bits
    let mut again = engine.ask(&fold, &rows[..1]);
    for r in &rows[1..] {
        let one = engine.ask(&fold, std::slice::from_ref(r));
        counterpoint::engine::Fold::merge(&fold, &one, &mut again);
    }
    assert_eq!(again, whole);
}

/// Neighbours that are drawn together give the same rows and, up to the error of a variance from 400 replicates, the same spread.
#[test]
fn groups_of_rows_have_the_law_of_rows() {
    let log = world(20_000, 15).log();
    let engine = Engine::single();
    let rows = score(&engine, &log, &policy(0.4, 0.8)).unwrap();
    let drawn = |together| {
        let fold = Bootstrap { replicates: 400, seed: 9, log_scale: 0.0, centre: 2.0, of: Powers::Weights, together };
        let sums = engine.ask(&fold, &rows);
        let values: Vec<f64> = (0..400).map(|b| sums.replicate(b).difference().0).collect();
        let mean = values.iter().sum::<f64>() / 400.0;
        let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 399.0).sqrt();
        (sums.own.difference(), mean, sd)
    };
    let (own, _, alone) = drawn(1);
    for together in [2, 7, 16] {
        let (same, mean, sd) = drawn(together);
        assert_eq!(own, same);
        assert!((mean - own.0).abs() < 5.0 * own.1 / 20.0, "{mean} {own:?}");
        // a standard deviation of 400 replicates has an error of 1/sqrt(800), that of 20,000/16 groups one of about 1/50
        let error = (1.0f64 / 800.0 + 1.0 / 800.0 + together as f64 / 40_000.0 * 3.0).sqrt();
        assert!((sd / alone - 1.0).abs() < 4.0 * error, "{together}: {sd} {alone}");
    }
    assert_eq!([1, 65_536, 65_537, 250_000].map(Bootstrap::together), [1, 1, 2, 4]);
}

#[test]
fn a_row_of_weight_two_is_two_rows() {
    let w = world(400, 6);
    let engine = Engine::single();
    let log_w: Vec<f64> = w.a.iter().map(|a| Family::Normal.log_density(*a, 0.3, 0.9).value).collect();
    let mut heavy = Scored::from_columns(0, log_w.clone(), w.y.clone());
    heavy.omega = vec![2.0; 400].into();
    let twice = |v: &[f64]| [v, v].concat();
    let double = Scored::from_columns(0, twice(&log_w), twice(&w.y));
    let terms = Terms { interval: Method::Normal, ..Terms::default() };
    let [a, b] = [heavy.clone(), double].map(|r| {
        certify_scored(&engine, std::slice::from_ref(&r), std::slice::from_ref(&r), &terms, Outcome::Cost).unwrap()
    });
    all_close(&a.value, &b.value, |v| v);
    all_close(&a.difference, &b.difference, |v| v);
    close(a.test.effective, b.test.effective, 1e-9);
    close(a.test.informative, b.test.informative, 1e-9);
    close(a.test.top_percent_share, b.test.top_percent_share, 1e-9);
    assert!(a.bound.is_none());
    // replicates count such a row Poisson(2) times: 2 on average, with variance 2
    let fold = Bootstrap { replicates: 500, seed: 1, log_scale: 0.0, centre: 0.0, of: Powers::Weights, together: 1 };
    let r = engine.ask(&fold, &[heavy]);
    let n: Vec<f64> = (0..500).map(|b| r.replicate(b).n()).collect();
    let mean = n.iter().sum::<f64>() / 500.0;
    let variance = n.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / 499.0;
    close(mean, 800.0, 5.0 * (800f64 / 500.0).sqrt() / 800.0);
    close(variance, 800.0, 5.0 * (2.0f64 / 500.0).sqrt());
}

#[test]
fn parts_that_share_rows_are_refused() {
    let log = world(2000, 7).log();
    let parts = log.split(SplitRule::default()).unwrap();
    let go = |valid: &Log, test: &Log| certify(&policy(0.4, 0.8), valid, test, &Terms::default());
    let e = go(&parts.test, &parts.test).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Data);
    assert!(e.to_string().contains("test part") && e.remedy().is_some());
    assert!(go(&log, &parts.test).is_err());
    // other rows with the same numbers are other rows
    assert!(go(&world(1000, 8).log(), &world(1000, 9).log()).is_ok());
}

#[test]
fn a_policy_is_not_judged_on_the_rows_it_was_learned_from() {
    let log = world(3000, 14).log();
    let parts = log.split(SplitRule::default()).unwrap();
    let recipe = Recipe { starts: 1, ..Recipe::clp() };
    let learned = learn(&parts.train, &recipe).unwrap();
    let policy = Policy::from_json(&learned.policy.to_json()).unwrap(); // it remembers in its file
    let judge = |parts: &Parts| certify(&policy, &parts.valid, &parts.test, &Terms::default());
    assert!(judge(&parts).is_ok());
    let other = log.split(SplitRule::Hash { seed: 1, shares: [0.5, 0.25, 0.25] }).unwrap();
    let e = judge(&other).unwrap_err().to_string();
    assert!(e.contains("learned from rows of the test part") && e.contains("SplitRule"), "{e}");
    // nor gated on them: weights on rows it has seen say nothing about where the log has been
    let seen = Parts { valid: parts.train.clone(), ..parts.clone() };
    let e = judge(&seen).unwrap_err().to_string();
    assert!(e.contains("learned from rows of the valid part"), "{e}");
}

#[test]
fn what_cross_validation_chooses_can_be_certified() {
    let parts = world(3000, 15).log().split(SplitRule::default()).unwrap();
    let text = "folds = 3\nkeep = 1.0\n[recipe]\nstarts = 1\nproximal_steps = 1\ncontext_map = \"linear\"\nanchors = [4, 6]\nstd_floor = 0.3\n";
    let grid = Grid::from_toml(text).unwrap();
    let chosen = select(&parts, &grid, 0, Gate::default(), &Memory::none()).unwrap();
    assert_eq!(chosen.leaderboard[0].folds, (3, 3));
    assert_eq!(chosen.policy.columns().origin.unwrap().rows, parts.train.rows());
    let c = certify(&chosen.policy, &parts.valid, &parts.test, &Terms::default()).unwrap();
    assert_ne!(c.verdict, Verdict::Invalid, "{:?}", c.reasons);
}

#[test]
fn the_gates_speak() {
    let log = world(4000, 10).log();
    let far = judge(&log, &policy(3.5, 0.2), &Terms::default());
    assert_eq!(far.verdict, Verdict::Invalid);
    assert!(far.reasons[0].contains("effective"), "{:?}", far.reasons);
    let w = world(4000, 10);
    let halved = World { p: w.p.iter().map(|p| 2.0 * p).collect(), ..w }.log();
    let c = judge(&halved, &policy(0.4, 0.8), &Terms::default());
    assert!(c.verdict == Verdict::Invalid && c.reasons[0].contains("mean weight"), "{:?}", c.reasons);
    // the paper's gate does not look at the mean weight
    assert_eq!(judge(&halved, &policy(0.4, 0.8), &Terms::paper()).verdict, Verdict::Deploy);
    for terms in [
        Terms { confidence: 1.0, ..Terms::default() },
        Terms { bootstrap: 20, ..Terms::default() },
        Terms { gate: Gate { min_effective_rows: f64::NAN, ..Gate::default() }, ..Terms::default() },
        Terms { cost_range: Some([1.0, 1.0]), ..Terms::default() },
        Terms { interval: Method::Normal, ..Terms::paper() },
    ] {
        assert_eq!(terms.check().unwrap_err().kind(), ErrorKind::Recipe);
    }
}

/// One row in a hundred costs 100, the others 0: the standard error rests on the few, and the interval says so.
#[test]
fn rare_large_costs_widen_the_interval() {
    let n = 600usize;
    let rows = |first: usize| {
        let log_w = (0..n).map(|i| if i % 2 == 0 { 1.5f64.ln() } else { 0.5f64.ln() }).collect();
        let y = (0..n).map(|i| if (i + first).is_multiple_of(100) { 100.0 } else { 0.0 }).collect();
        [Scored::from_columns((first * n) as u64, log_w, y)]
    };
    let terms = Terms { interval: Method::Normal, ..Terms::default() };
    let c = certify_scored(&Engine::single(), &rows(0), &rows(1), &terms, Outcome::Cost).unwrap();
    assert!(c.test.informative < 7.0 && c.valid.informative < 7.0, "{} {}", c.test.informative, c.valid.informative);
    close(c.freedom, c.valid.freedom().min(c.test.freedom()), 1e-12);
    let half = c.difference.upper - c.difference.estimate;
    let t = (half / c.difference.std_error - 1.96) * c.freedom; // Student's t is about z + (z^3 + z) / (4 f)
    assert!((1.5..4.0).contains(&t), "{half} {t}");
}

#[test]
fn a_reward_is_a_cost_turned_round() {
    let w = world(4000, 11);
    let reward = |w: &World| {
        let y = w.y.iter().map(|y| -y).collect();
        Log::builder().action("a", w.a.clone()).reward("r", y).propensity("p", w.p.clone()).build().unwrap()
    };
    let (better, worse) = (policy(0.4, 0.8), policy(-0.4, 0.8));
    let (c, r) = (judge(&w.log(), &better, &Terms::default()), judge(&reward(&w), &better, &Terms::default()));
    assert_eq!((c.direction, r.direction), (Outcome::Cost, Outcome::Reward));
    assert_eq!((r.difference.lower, r.difference.upper), (-c.difference.upper, -c.difference.lower));
    assert_eq!((r.value.estimate, r.logged.estimate), (-c.value.estimate, -c.logged.estimate));
    assert_eq!((r.verdict, r.p_value), (c.verdict, c.p_value));
    assert!(c.deploys() && r.difference.lower > 0.0);
    // and each is told in its own words
    assert!(c.reasons[0].contains("the policy costs") && c.reasons[0].contains("less per row (95% CI)"), "{c}");
    assert!(r.reasons[0].contains("the policy earns") && r.reasons[0].contains("more per row (95% CI)"), "{r}");
    let words = judge(&reward(&w), &worse, &Terms::default()).to_string();
    assert!(
        words.starts_with("KEEP") && words.contains("not shown to earn more") && !words.contains("cost"),
        "{words}"
    );
    let (bound, turned) = (c.bound.unwrap(), r.bound.unwrap());
    assert_eq!((turned.value, turned.difference), (-bound.value, -bound.difference));
}

/// A narrow policy has the best estimate and 17% effective rows, a wide one 45%.
#[test]
fn select_picks_by_the_gate_it_is_given() {
    let parts = world(3000, 16).log().split(SplitRule::default()).unwrap();
    let grid = Grid::from_toml("keep = 1.0\n[recipe]\npolicy = \"constant\"\nstarts = 1\nstd = [0.2, 0.8]\n").unwrap();
    let chosen = |gate: Gate| select(&parts, &grid, 0, gate, &Memory::none());
    assert_eq!(chosen(Gate::default()).unwrap().policy.into_parametric().unwrap().std(), [0.2]);
    let gate = Gate { min_effective_rows: 200.0, ..Gate::default() };
    let selected = chosen(gate).unwrap();
    assert_eq!(selected.policy.clone().into_parametric().unwrap().std(), [0.8]);
    assert!(selected.leaderboard[1].estimate.is_none(), "the narrow one is behind the gate");
    let c = certify(&selected.policy, &parts.valid, &parts.test, &Terms { gate, ..Terms::default() }).unwrap();
    assert_ne!(c.verdict, Verdict::Invalid, "{c}");
    let e = chosen(Gate { min_effective_rows: 700.0, ..gate }).unwrap_err().to_string();
    assert!(e.contains("passes the gate"), "{e}");
}

#[test]
fn several_policies_are_judged_together() {
    let parts = world(8000, 12).log().split(SplitRule::default()).unwrap();
    let policies = [policy(0.5, 0.8), policy(0.5, 0.8), policy(-0.3, 0.9), policy(4.0, 0.1)];
    for adjust in [Adjust::MaxT, Adjust::Holm] {
        let terms = Terms { adjust, ..Terms::default() };
        let c = certify_many(&policies, &parts.valid, &parts.test, &terms).unwrap();
        let verdicts: Vec<Verdict> = c.iter().map(|c| c.verdict).collect();
        assert_eq!(verdicts, [Verdict::Deploy, Verdict::Deploy, Verdict::Keep, Verdict::Invalid]);
        assert!(c[3].adjusted.is_none());
        for c in &c[..3] {
            let a = c.adjusted.unwrap();
            assert_eq!(a.policies, 3);
            assert!(a.max_t.unwrap() >= c.p_value && a.holm >= a.max_t.unwrap() && a.holm <= 1.0, "{a:?}");
        }
        // equal policies have equal replicates
        assert_eq!(c[0].adjusted, c[1].adjusted);
    }
}

fn scored(w: &World, mean: f64, std: f64) -> Vec<Scored> {
    let weight = |(a, p): (&f64, &f64)| Family::Normal.log_density(*a, mean, std).value - p.ln();
    vec![Scored::from_columns(0, w.a.iter().zip(&w.p).map(weight).collect(), w.y.clone())]
}

/// 400 logs of 400 rows. Tolerances: nominal rate plus four Monte-Carlo standard errors, sqrt(r (1 - r) / 400).
#[test]
fn intervals_hold_the_truth_and_worse_policies_are_kept() {
    let logs = 400;
    let terms = |seed| Terms { seed, bootstrap: 400, ..Terms::default() };
    let engine = Engine::single();
    let (even, better) = (null(0.7), (0.3, 0.8));
    let (truth, logged) = (cost(better), cost((0.0, 1.0)));
    close(cost(even), logged, 1e-12);
    let (mut held, mut above, mut gain, mut deployed, mut found) = (0, 0, 0, 0, 0);
    for k in 0..logs {
        let (v, t) = (world(400, 1000 + 2 * k), world(400, 1001 + 2 * k));
        let go = |(m, s): (f64, f64)| {
            certify_scored(&engine, &scored(&v, m, s), &scored(&t, m, s), &terms(k), Outcome::Cost).unwrap()
        };
        let (n, b) = (go(even), go(better));
        assert!(n.verdict != Verdict::Invalid && b.verdict != Verdict::Invalid, "{:?} {:?}", n.reasons, b.reasons);
        held += usize::from(b.value.holds(truth));
        above += usize::from(truth > b.value.upper);
        gain += usize::from(b.difference.holds(truth - logged));
        deployed += usize::from(n.deploys());
        found += usize::from(b.deploys());
    }
    let slack = |rate: f64| 4.0 * (rate * (1.0 - rate) / logs as f64).sqrt();
    let share = |hits: usize| hits as f64 / logs as f64;
    assert!((share(held) - 0.95).abs() < slack(0.95), "held {held}");
    assert!((share(gain) - 0.95).abs() < slack(0.95), "gain held {gain}");
    assert!(share(above) < 0.025 + slack(0.025), "above {above}");
    assert!(share(deployed) < 0.025 + slack(0.025), "deployed {deployed}");
    assert!(share(found) > 0.9, "found {found}");
}

/// 150 logs of 300 rows, 8 policies without gain: the nominal rate plus four standard errors.
#[test]
fn the_more_policies_are_tried_the_less_each_is_believed() {
    let engine = Engine::single();
    let nulls: Vec<(f64, f64)> = (0..8).map(|k| null(0.6 + 0.03 * f64::from(k))).collect();
    let logs = 150;
    let (mut errs, mut tested) = (0, 0);
    for k in 0..logs {
        let (v, t) = (world(300, 5000 + 2 * k), world(300, 5001 + 2 * k));
        let rows: Vec<_> = nulls.iter().map(|&(m, s)| (scored(&v, m, s), scored(&t, m, s))).collect();
        let terms = Terms { seed: k, bootstrap: 399, ..Terms::default() };
        let c = certify_many_scored(&engine, &rows, &terms).unwrap();
        errs += usize::from(c.iter().any(Certificate::deploys));
        tested += c.iter().filter(|c| c.verdict != Verdict::Invalid).count();
    }
    assert!(tested > 7 * logs as usize, "{tested} of {}", 8 * logs); // the gates let nearly all of them through
    assert!(errs as f64 / logs as f64 <= 0.025 + 4.0 * (0.025 * 0.975 / logs as f64).sqrt(), "{errs}");
}

/// 200 paths of 1,000 rows: crossings at most alpha, plus four standard errors.
#[test]
fn a_monitor_may_be_looked_at_any_time() {
    let (alpha, paths) = (0.1, 200);
    let mut crossed = 0;
    let mut width = 0.0;
    for k in 0..paths {
        let mut rng = ChaCha8Rng::seed_from_u64(k);
        let mut monitor = Monitor::new(1.0 - alpha, [-1.0, 0.0]).unwrap();
        let mut out = false;
        for _ in 0..1000 {
            // w is 0 or 2, y is -1 or 0: the mean of w y is -0.3
            let w = if rng.random::<bool>() { 2.0 } else { 0.0 };
            let y = if rng.random::<f64>() < 0.3 { -1.0 } else { 0.0 };
            let (lower, upper) = monitor.update(w, y).unwrap();
            out |= lower > -0.3 || upper < -0.3;
        }
        crossed += usize::from(out);
        let (lower, upper) = monitor.interval();
        width += (upper - lower) / paths as f64;
    }
    let slack = 4.0 * (alpha * (1.0 - alpha) / paths as f64).sqrt();
    assert!(crossed as f64 / paths as f64 <= alpha + slack, "{crossed}");
    // not by being wide: a fixed-time normal interval is 0.074 wide here
    assert!(width < 0.2, "{width}");
    let mut monitor = Monitor::new(0.95, [0.0, 1.0]).unwrap();
    assert!(monitor.update(1.0, 1.5).unwrap_err().remedy().is_some());
    assert!(monitor.update(f64::NAN, 0.5).is_err() && monitor.rows() == 0);
    assert!(Monitor::new(1.0, [0.0, 1.0]).is_err() && Monitor::new(0.95, [1.0, 0.0]).is_err());
}
