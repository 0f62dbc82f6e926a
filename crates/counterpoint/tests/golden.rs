//! The library against numbers computed elsewhere: numpy and autograd on the paper's equations, mpmath for the extremes.
//!
//! The files and the program that made them are in `tests/golden`. Conventions differ, and `support/bridge.rs` carries parameters over and gradients back: theta there
//! ends in sigma, ours in ln sigma; psi_X there has no constant column and holds both x_i x_j and x_j x_i.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "support/bridge.rs"]
mod bridge;
mod support;

use bridge::{Bridge, each_policy, entries, load, log, num, nums};
use counterpoint::estimate::{LossModel, Normalise, Sums, Weight, soft_cap_alpha};
use counterpoint::features::anchors::quantile_sorted;
use counterpoint::features::{ActionMap, ContextMap, Scaler};
use counterpoint::folds::{Crm, Design, LossOptions, Precision, Question, fit_loss_model};
use counterpoint::optim::Objective;
use counterpoint::policy::{Clp, Family};
use counterpoint::{Engine, Estimator, Log, Policy};
use serde_json::Value;
use support::{Columns, all_close, ask, close, every_way};

#[test]
fn means_densities_and_weights() {
    each_policy(|b, log, _| {
        let block = &log.blocks()[0];
        let [mu, log_pi, weights] = ["mu", "log_pi", "weights"].map(|k| nums(&b.golden[k]));
        for i in 0..block.rows() {
            let (x, a) = ([block.x[0][i], block.x[1][i]], [block.a[0][i]]);
            close(b.policy.mean(&x)[0], mu[i], 1e-12, &format!("{}, mean of row {i}", b.name));
            let density = b.policy.log_density(&x, &a);
            assert!((density - log_pi[i]).abs() <= 1e-12 * (1.0 + log_pi[i].abs()), "{}, log density {i}", b.name);
            let w = Weight::Raw.apply(density - block.log_p[i]).0;
            close(w, weights[i], 1e-12 * (1.0 + log_pi[i].abs()), &format!("{}, weight {i}", b.name));
        }
    });
}

#[test]
fn effective_sample_size_mean_weight_and_entropy() {
    each_policy(|b, log, _| {
        let mut question = Question::new(Estimator::IPS);
        let without = every_way(log, &b.policy, &question);
        question.entropy = 1.0;
        for (a, without) in every_way(log, &b.policy, &question).iter().zip(without) {
            let what = |w: &str| format!("{}, {w}, {}", b.name, a.way);
            let s = &a.partial.sums;
            close(s.effective(), num(&b.golden["ess"]), 1e-12, &what("effective sample size"));
            close(s.mean_weight(), num(&b.golden["mean_w"]), 1e-12, &what("mean weight"));
            close(s.h / s.n, num(&b.golden["entropy"]), 1e-12, &what("entropy"));
            close(without.value - a.value, num(&b.golden["entropy"]), 1e-12, &what("entropy in the objective"));
            let slope: Vec<f64> = without.grad.iter().zip(&a.grad).map(|(w, e)| w - e).collect();
            all_close(&b.back(&slope), &nums(&b.golden["entropy_grad"]), 1e-12, &what("entropy gradient"));
        }
    });
}

/// The golden estimators under our names: IPS, SNIPS, and the clipped ones at every cap.
fn estimators(golden: &Value) -> Vec<(String, Estimator, Value)> {
    let table = &golden["estimators"];
    let mut all = vec![
        ("ips".to_string(), Estimator::IPS, table["ips"].clone()),
        ("snips".to_string(), Estimator::SNIPS, table["snips"].clone()),
    ];
    for (kind, make) in [("cips", Estimator::clipped as fn(f64) -> Estimator), ("scips", Estimator::soft_clipped)] {
        for (cap, figures) in entries(&table[kind]) {
            let m: f64 = cap.trim_start_matches("M=").parse().unwrap();
            all.push((format!("{kind} {cap}"), make(m), figures.clone()));
        }
    }
    assert_eq!(all.len(), 10);
    all
}

#[test]
fn risks_and_variances() {
    each_policy(|b, log, _| {
        for (name, estimator, figures) in estimators(&b.golden) {
            for a in every_way(log, &b.policy, &Question::new(estimator)) {
                let what = format!("{}, {name}, {}", b.name, a.way);
                close(a.partial.sums.risk(estimator.normalise), num(&figures["risk"]), 1e-12, &what);
                close(a.partial.sums.variance(estimator.normalise), num(&figures["variance"]), 1e-12, &what);
            }
        }
    });
}

#[test]
fn objectives_and_gradients() {
    each_policy(|b, log, _| {
        for (name, estimator, figures) in estimators(&b.golden) {
            for (lambda, want) in entries(&figures["objective"]) {
                let mut question = Question::new(estimator);
                question.variance_penalty = lambda.trim_start_matches("lambda=").parse().unwrap();
                if estimator.normalise == Normalise::ByWeights {
                    // there the penalty of SNIPS is divided by n once more
                    question.variance_penalty /= (log.rows() as f64).sqrt();
                }
                for a in every_way(log, &b.policy, &question) {
                    let what = format!("{}, {name}, {lambda}, {}", b.name, a.way);
                    close(a.value, num(&want["value"]), 1e-12, &what);
                    all_close(&b.back(&a.grad), &nums(&want["grad"]), 1e-9, &what);
                }
            }
        }
    });
}

#[test]
fn power_means() {
    each_policy(|b, log, _| {
        for (key, want) in entries(&b.golden["pmcis"]) {
            let (s, lambda) = key.split_once(',').unwrap();
            let (s, lambda): (f64, f64) = (s[2..].parse().unwrap(), lambda["lambda=".len()..].parse().unwrap());
            let estimator = Estimator::power_mean(lambda, s);
            let raw = nums(&b.golden["weights"]);
            let v: Vec<f64> = raw.iter().map(|w| estimator.weight.apply(w.ln()).0).collect();
            all_close(&v, &nums(&want["weights"]), 1e-12, &format!("{}, {key}, weights", b.name));
            for a in every_way(log, &b.policy, &Question::new(estimator)) {
                let what = format!("{}, {key}, {}", b.name, a.way);
                close(a.value, num(&want["risk"]), 1e-12, &what);
                all_close(&b.back(&a.grad), &nums(&want["grad"]), 1e-9, &what);
            }
        }
    });
}

#[test]
fn the_full_proximal_objective() {
    each_policy(|b, log, file| {
        let (kappa, ridge) = (num(&file["meta"]["kappa"]), num(&file["meta"]["ridge_C"]));
        let mut question = Question::new(Estimator::soft_clipped(5.0));
        (question.variance_penalty, question.entropy) = (1.0, num(&file["meta"]["entropy_coef"]));
        let design = Design::new(log, &b.policy, &question, 0.0, Precision::F64).unwrap();
        let engine = Engine::single();
        let mut crm = Crm::new(&engine, &design, &question, &b.policy, ridge).unwrap();
        let mut grad = vec![0.0; crm.dim()];
        let mut value = crm.eval(&b.policy.theta, &mut grad).unwrap();
        let mut grad = b.back(&grad);
        // where two golden coefficients are one of ours, the ridge differs by C/2 (|golden|^2 - |ours|^2)
        let mut ours = b.policy.theta.clone();
        (0..ours.len()).filter(|&i| b.policy.unpenalised(i)).for_each(|i| ours[i] = 0.0);
        let mut shared = b.back(&ours);
        shared[b.theta.len() - 1] = 0.0;
        let first = usize::from(!b.name.starts_with("clp"));
        for g in first..b.theta.len() - 1 {
            value += 0.5 * ridge * b.theta[g] * (b.theta[g] - shared[g]);
            grad[g] += ridge * (b.theta[g] - shared[g]);
        }
        let prev = nums(&b.golden["full_objective"]["prev"]);
        for (g, (t, p)) in b.theta.iter().zip(&prev).enumerate() {
            value += 0.5 * kappa * (t - p) * (t - p);
            grad[g] += kappa * (t - p);
        }
        close(value, num(&b.golden["full_objective"]["value"]), 1e-12, &b.name);
        all_close(&grad, &nums(&b.golden["full_objective"]["grad"]), 1e-9, &b.name);
    });
}

/// The golden loss model: our layout is context by anchor, and the constant's row is zero.
fn golden_model(file: &Value) -> LossModel {
    let dm = &file["direct_method"];
    let (m, coef) = (5, nums(&dm["coef"]));
    LossModel {
        scaler: Scaler::identity(2),
        map: ContextMap::Linear,
        actions: ActionMap::new(nums(&file["meta"]["clp"]["anchors"]), 1, Some(2.0)).unwrap(),
        coef: (0..3 * m).map(|i| if i < 2 * m { coef[(i % m) * 2 + i / m] } else { 0.0 }).collect(),
        intercept: num(&dm["intercept"]),
    }
}

#[test]
fn the_nystrom_map() {
    let file = load("golden_d2.json");
    let map = golden_model(&file).actions;
    let rows = |v: &Value| v.as_array().unwrap().iter().flat_map(nums).collect::<Vec<f64>>();
    all_close(&map.whiten, &rows(&file["nystrom"]["K_ZZ_inv_sqrt"]), 1e-12, "K^(-1/2)");
    all_close(&map.at_anchors(), &rows(&file["nystrom"]["psi_A_at_anchors"]), 1e-12, "at the anchors");
    let at: Vec<f64> = nums(&file["data"]["a"]).iter().flat_map(|a| map.apply(&[*a])).collect();
    all_close(&at, &rows(&file["nystrom"]["psi_A_at_actions"]), 1e-12, "at the actions");
}

#[test]
fn the_direct_method() {
    let file = load("golden_d2.json");
    let (log, dm, want) = (log(&file), &file["direct_method"], golden_model(&file));
    // Contexts in a unit so small that the ridge, in that unit, presses the constant's coefficients to nothing.
    let unit = 2f64.powi(-30);
    let options = LossOptions {
        scaler: Scaler { shift: vec![0.0; 2], unit: vec![unit; 2] },
        map: ContextMap::Linear,
        actions: want.actions.clone(),
        ridge: num(&dm["rho"]) / unit / unit,
    };
    let fitted = fit_loss_model(&Engine::single(), &log, &options).unwrap();
    let coef: Vec<f64> = fitted.coef.iter().map(|c| c / unit).collect();
    all_close(&coef[..10], &want.coef[..10], 1e-10, "coefficients");
    close(fitted.intercept, want.intercept, 1e-10, "intercept");
    let block = &log.blocks()[0];
    for (model, tolerance) in [(&fitted, 1e-6), (&want, 1e-11)] {
        for i in 0..block.rows() {
            let x = [block.x[0][i], block.x[1][i]];
            close(model.predict(&x, &[block.a[0][i]]), num(&dm["fitted"][i]), tolerance, &format!("fitted value {i}"));
            let eta: Vec<f64> = (0..5).map(|j| model.predict(&x, model.actions.anchor(j))).collect();
            all_close(&eta, &nums(&dm["eta_at_anchors"][i]), tolerance, &format!("eta at the anchors, row {i}"));
            assert_eq!(model.greedy(&x)[0], num(&dm["greedy_action"][i]), "greedy action of row {i}");
        }
    }
}

#[test]
fn the_exact_doubly_robust_value() {
    let file = load("golden_d2.json");
    let (log, dr) = (log(&file), &file["doubly_robust_linear_normal"]);
    let b = Bridge::new("linear_normal", &file["policies"]["linear_normal"], &file);
    let model = golden_model(&file);
    for a in every_way(&log, &b.policy, &Question::new(Estimator::DR).with_model(model.clone())) {
        close(a.value, num(&dr["value"]), 1e-12, a.way);
        all_close(&b.back(&a.grad), &nums(&dr["grad"]), 1e-11, a.way);
    }
    // the direct method on a log of one row is that row's expectation
    let block = &log.blocks()[0];
    for i in 0..block.rows() {
        let one = Columns {
            x: vec![vec![block.x[0][i]], vec![block.x[1][i]]],
            a: vec![vec![block.a[0][i]]],
            p: vec![1.0],
            y: vec![0.0],
            omega: None,
        };
        let got = ask(&one.log(), &b.policy, &Question::new(Estimator::DM).with_model(model.clone()));
        close(got.sums.t, num(&dr["expected_eta"][i]), 1e-12, &format!("expected eta of row {i}"));
    }
}

#[test]
fn tables_of_single_functions() {
    let file = load("tables.json");
    for row in file["soft_clip"].as_array().unwrap() {
        let m = num(&row["M"]);
        close(soft_cap_alpha(m), num(&row["alpha"]), 1e-14, "alpha");
        for ((w, zeta), slope) in nums(&row["w"]).into_iter().zip(nums(&row["zeta"])).zip(nums(&row["dzeta_dw"])) {
            let (v, dv) = Weight::soft(m).apply(w.ln());
            close(v, zeta, 1e-12, &format!("zeta({w}, {m})"));
            close(dv, slope * w, 1e-12, &format!("slope of zeta({w}, {m})"));
        }
    }
    for row in file["gaussian_kernel_expectation"].as_array().unwrap() {
        let [mu, s, c, alpha, value, d_mu, d_s] =
            ["mu", "s", "c", "alpha", "value", "d_mu", "d_s"].map(|k| num(&row[k]));
        let e = ActionMap::normal_kernel(mu, s, c, alpha);
        close(e.value, value, 1e-13, "kernel expectation");
        close(e.mean, d_mu, 1e-13, "its slope in the mean");
        // where alpha d^2 is near 1 + alpha s^2 the slope is a small difference of these two
        let scale = d_s.abs() + alpha * s * value;
        assert!((e.std - d_s).abs() <= 1e-13 * scale, "its slope in the std: {} and {d_s}", e.std);
    }
    for row in file["lognormal"].as_array().unwrap() {
        let [mean, std, m, s] = ["mean", "std", "mlog", "slog"].map(|k| num(&row[k]));
        let f = Family::LogNormal;
        close(f.entropy(mean, std).value, num(&row["entropy"]), 1e-13, "entropy");
        close(f.at(0.0, mean, std).value, m.exp(), 1e-13, "median");
        close(f.at(2.0, mean, std).value, (m + 2.0 * s).exp(), 1e-13, "two stds up");
        for (a, want) in nums(&row["a"]).into_iter().zip(nums(&row["log_pdf"])) {
            // the table is in double precision itself: near the mode of a narrow law it cancels
            close(f.log_density(a, mean, std).value, want, 1e-11, &format!("log density of {a} at {mean}, {std}"));
        }
    }
    for row in file["quantiles"].as_array().unwrap() {
        let mut values = nums(&row["values"]);
        values.sort_by(f64::total_cmp);
        for (level, want) in nums(&row["levels"]).into_iter().zip(nums(&row["quantile"])) {
            close(quantile_sorted(&values, level), want, 1e-14, "quantile");
        }
    }
}

/// A log on which the constant policy N(0, std) has these log weights exactly (but for rounding).
fn log_with_weights(log_w: &[f64], y: &[f64], std: f64) -> (Log, Policy) {
    let policy = Policy::constant(Family::Normal, &[], &["a0"], &[0.0], &[std]).unwrap();
    let top = policy.log_density(&[], &[0.0]);
    let (mut a, mut p) = (Vec::new(), Vec::new());
    for l in log_w {
        // from the propensity where it can, by an action far out where it cannot
        let far = (top - l).max(0.0);
        a.push(if far > 0.0 { std * (2.0 * far.min(1e6)).sqrt() } else { 0.0 });
        p.push(if far > 0.0 { 1.0 } else { (top - l).exp() });
    }
    (Columns { x: vec![], a: vec![a], p, y: y.to_vec(), omega: None }.log(), policy)
}

#[test]
fn five_rows_by_hand() {
    let file = load("tables.json");
    let (tiny, [w, y]) = (&file["tiny"], ["w", "y"].map(|k| nums(&file["tiny"][k])));
    let log_w: Vec<f64> = w.iter().map(|w| w.ln()).collect();
    let (log, policy) = log_with_weights(&log_w, &y, 1.0);
    let shifted = log_with_weights(&log_w, &y.iter().map(|y| y + 3.0).collect::<Vec<_>>(), 1.0).0;
    let cases = [
        ("ips", Estimator::IPS, &log),
        ("snips", Estimator::SNIPS, &log),
        ("snips_shift_plus_3", Estimator::SNIPS, &shifted),
        ("cips_M2", Estimator::clipped(2.0), &log),
        ("scips_M2", Estimator::soft_clipped(2.0), &log),
    ];
    for (key, estimator, log) in cases {
        for a in every_way(log, &policy, &Question::new(estimator)) {
            close(a.value, num(&tiny[key]), 1e-13, &format!("{key}, {}", a.way));
            if let Some(variance) = tiny.get(format!("{key}_var")) {
                close(a.partial.sums.variance(estimator.normalise), num(variance), 1e-13, key);
                close(a.partial.sums.effective(), num(&tiny["ess"]), 1e-13, key);
            }
        }
    }
    let power = Weight::PowerMean { lambda: 0.1, s: -1.0 };
    let v: Vec<f64> = log_w.iter().map(|l| power.apply(*l).0).collect();
    all_close(&v, &nums(&tiny["pmcis_s_minus1_lambda_0p1"]), 1e-13, "power mean");
}

#[test]
fn extreme_arguments_stay_right() {
    let file = load("stress.json");
    let rows = |k: &str| file[k].as_array().unwrap().clone();
    for row in rows("softargmin") {
        let [eta, z] = ["eta", "anchors"].map(|k| nums(&row[k]));
        let map = ActionMap::new(z, 1, Some(1.0)).unwrap();
        let clp = Clp { map: ContextMap::Constant, actions: map, temperature: num(&row["gamma"]) };
        let scores: Vec<f64> = eta.iter().map(|e| -num(&row["gamma"]) * e).collect();
        let (mut mu, mut slopes) = ([0.0], vec![0.0; eta.len()]);
        clp.soft_minimum(&scores, &mut mu, &mut slopes);
        // 1e5 + 1e-3 has lost its last digits before we see it
        close(mu[0], num(&row["mu"]), 1e-9, "soft minimum");
        assert!(slopes.iter().all(|s| s.is_finite()));
    }
    for row in rows("normal_logpdf") {
        let [a, mu, sigma] = ["a", "mu", "sigma"].map(|k| num(&row[k]));
        close(Family::Normal.log_density(a, mu, sigma).value, num(&row["value"]), 1e-12, "normal log density");
    }
    for row in rows("lognormal_logpdf") {
        let [a, mean, std] = ["a", "mean", "std"].map(|k| num(&row[k]));
        let l = Family::LogNormal.log_density(a, mean, std);
        close(l.value, num(&row["value"]), 1e-12, &format!("log-normal log density of {a} at {mean}, {std}"));
        assert!(l.mean.is_finite() && l.std.is_finite());
    }
    for row in rows("soft_clip_alpha") {
        close(soft_cap_alpha(num(&row["M"])), num(&row["alpha"]), 1e-14, "alpha");
    }
}

#[test]
fn self_normalised_estimates_survive_weights_that_overflow() {
    let file = load("stress.json");
    let huge = &file["snips_huge_logw"];
    let [log_w, y] = ["log_w", "y"].map(|k| nums(&huge[k]));
    let check = |s: &Sums, what: &str| {
        close(s.risk(Normalise::ByWeights), num(&huge["snips"]), 1e-11, what);
        close(s.variance(Normalise::ByWeights), num(&huge["snips_var"]), 1e-11, what);
        close(s.effective(), num(&huge["ess"]), 1e-11, what);
    };
    let (log, policy) = log_with_weights(&log_w, &y, 1e-150);
    for a in every_way(&log, &policy, &Question::new(Estimator::SNIPS)) {
        check(&a.partial.sums, a.way);
        assert!(a.value.is_finite() && a.grad.iter().all(|g| g.is_finite()), "{}: {} {:?}", a.way, a.value, a.grad);
    }
    let mut sums = Sums::default();
    for (l, y) in log_w.iter().zip(&y) {
        let one = Sums { n: 1.0, v: 1.0, t: *y, vv: 1.0, tv: *y, tt: y * y, scale: *l, ..Sums::default() };
        sums.merge(&one);
    }
    check(&sums, "sums");
}
