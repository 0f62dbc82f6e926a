//! Policy files: every kind comes back as it went, old files still load, damaged ones are refused in words.

#![allow(clippy::unwrap_used, missing_docs)]
#![cfg(feature = "rivals")]

use counterpoint::policy::{Family, Policy, SavedPolicy, TargetPolicy};
use counterpoint::rivals::Rival;
use counterpoint::{Engine, Log, Recipe, learn};
use serde_json::{Value, json};

/// Uniform actions on (0, 3); the best action is 1 + x.
fn log() -> Log {
    let n = 600;
    let x: Vec<f64> = (0..n).map(|i| (f64::from(i) * 0.754_877_666).fract()).collect();
    let a: Vec<f64> = (0..n).map(|i| 3.0 * (f64::from(i) * 0.569_840_291).fract()).collect();
    let y = x.iter().zip(&a).map(|(x, a)| (a - 1.0 - x).abs()).collect();
    let p = vec![1.0 / 3.0; n as usize];
    Log::builder().context("x", x).action("a", a).cost("y", y).propensity("p", p).build().unwrap()
}

/// One policy of every kind and every rule.
fn every() -> Vec<(&'static str, SavedPolicy)> {
    let log = log();
    let mut all =
        vec![("constant", Policy::constant(Family::LogNormal, &["x"], &["a"], &[1.2], &[0.4]).unwrap().into())];
    for name in ["dm", "sdm", "ks", "cats", "demirer", "o-learning", "softmax-ips"] {
        let rival: Rival = name.parse().unwrap();
        all.push((name, rival.fit(&Engine::single(), &log, None, 1).unwrap()));
    }
    all
}

#[test]
fn every_kind_comes_back_as_it_went() {
    for (name, policy) in every() {
        let again = SavedPolicy::from_json(&policy.to_json_noting(&["a note".into()])).unwrap();
        assert_eq!(again, policy, "{name}");
        let (a, b) = (policy.draw(&[0.3], 5, 7), again.draw(&[0.3], 5, 7));
        assert!(a.0 == b.0 && a.1.to_bits() == b.1.to_bits(), "{name}");
        // and as part of another document, where no header stands
        let text = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json::from_str::<SavedPolicy>(&text).unwrap(), policy, "{name}");
    }
}

#[test]
fn densities_of_a_policy_of_models_add_up_to_one() {
    let policy = learn(&log(), &Recipe::from_toml("models = \"constant\"").unwrap()).unwrap().policy;
    assert_eq!(policy.kind(), "model");
    let step = 1e-4;
    let mass: f64 =
        (0..40_000).map(|i| step * policy.log_density(&[0.3], &[step * (f64::from(i) - 4_999.5)]).exp()).sum();
    assert!((mass - 1.0).abs() < 1e-3, "{mass}"); // at its bounds the density jumps, by some units at most
}

/// Written by the release before there were kinds: `simulate moons --rows 3000 --seed 1`, then `learn` with the default recipe.
#[test]
fn a_file_of_version_1_still_loads() {
    let text = include_str!("compat/policy-v1.json");
    assert!(text.contains(r#""version": 1"#) && !text.contains(r#""kind": "parametric""#));
    let policy = Policy::from_json(text).unwrap();
    let saved = SavedPolicy::from_json(text).unwrap();
    assert_eq!(saved, SavedPolicy::from(policy.clone()));
    assert!(policy.origin.is_some() && policy.contexts == ["x0", "x1"] && policy.actions == ["action"]);
    let written: Value = serde_json::from_str(text).unwrap();
    assert_eq!(written["std"][0].as_f64().unwrap().to_bits(), policy.std()[0].to_bits());
    assert_eq!(Policy::from_json(&policy.to_json()).unwrap(), policy);
}

/// Old files of rivals had no header; they are refused with the remedy.
#[test]
fn a_file_of_a_rival_without_header_is_refused_in_words() {
    let old = json!({"settings": {"rival": "ks"}, "action": "a", "inputs": [], "policy": {"policy": "rule"}});
    let refused = SavedPolicy::from_json(&old.to_string()).unwrap_err().to_string();
    assert!(refused.contains("earlier release") && refused.contains("rival"), "{refused}");
}

/// Every number of a file, one at a time, made what no program writes; and every list cut short.
#[test]
fn damage_is_refused_and_never_panics() {
    for (name, policy) in every() {
        let whole: Value = serde_json::from_str(&policy.to_json()).unwrap();
        let mut places = Vec::new();
        walk(&whole["policy"], "/policy".into(), &mut places);
        assert!(places.len() > 5, "{name}");
        for place in &places {
            let mut cut = whole.clone();
            let at = cut.pointer_mut(place).unwrap();
            let (what, must_fail) = match at {
                // lists that stand for a shape: one entry less no longer fits
                Value::Array(list) if !list.is_empty() => {
                    // without inputs the contexts are numbers already; fewer hashes are a smaller sample
                    let free = ["/hashes", "/inputs"].iter().any(|end| place.ends_with(end)) || list[0].is_array();
                    let grid = place.ends_with("rule/actions"); // a grid of choices may have any length but in a tree
                    list.pop();
                    ("an entry less", !(free || grid && name != "cats"))
                }
                Value::Number(n) if n.is_f64() => {
                    *at = json!("not a number");
                    ("a word", true)
                }
                _ => continue,
            };
            let read = SavedPolicy::from_json(&cut.to_string());
            assert!(read.is_err() || !must_fail, "{name}: {place} with {what} was believed");
        }
    }
}

fn walk(value: &Value, place: String, into: &mut Vec<String>) {
    into.push(place.clone());
    match value {
        Value::Array(list) => list.iter().take(3).enumerate().for_each(|(i, v)| walk(v, format!("{place}/{i}"), into)),
        Value::Object(map) => map.iter().for_each(|(k, v)| walk(v, format!("{place}/{k}"), into)),
        _ => {}
    }
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    for (name, policy) in every() {
        let text = policy.to_json();
        for at in (0..text.trim_end().len()).step_by(97).filter(|&at| text.is_char_boundary(at)) {
            assert!(SavedPolicy::from_json(&text[..at]).is_err(), "{name} cut at {at}");
        }
    }
}

/// What a change of one place leads to.
fn changed(policy: &SavedPolicy, place: &str, to: Value) -> String {
    let mut file: Value = serde_json::from_str(&policy.to_json()).unwrap();
    *file.pointer_mut(place).unwrap_or_else(|| panic!("{place} is in no file")) = to;
    SavedPolicy::from_json(&file.to_string()).expect_err(place).to_string()
}

#[test]
fn numbers_that_mean_nothing_are_refused_by_name() {
    let all = every();
    let of = |name: &str| &all.iter().find(|p| p.0 == name).unwrap().1;
    let says = |text: String, word: &str| assert!(text.contains(word), "{text}");
    says(changed(of("constant"), "/policy/std/floor/0", json!(-1.0)), "std");
    says(changed(of("constant"), "/policy/theta", json!([1.0])), "theta");
    says(changed(of("constant"), "/policy/scaler/unit/0", json!(0.0)), "scaling");
    says(changed(of("constant"), "/version", json!(9)), "version");
    says(changed(of("constant"), "/kind", json!("oracle")), "kind");
    says(changed(of("constant"), "/kind", json!("rule")), "policy file");
    says(changed(of("sdm"), "/policy/noise/width", json!(0.0)), "width");
    says(changed(of("ks"), "/policy/noise/range", json!([2.0, 1.0])), "range");
    says(changed(of("ks"), "/policy/noise/width", json!(1e9)), "width");
    says(changed(of("dm"), "/policy/rule/kernels/bandwidth", json!(-2.0)), "bandwidth");
    says(changed(of("demirer"), "/policy/rule/unit", json!(0.0)), "rule");
    says(changed(of("cats"), "/policy/rule/actions", json!([1.0, 2.0, 3.0])), "rule");
    says(changed(of("softmax-ips"), "/policy/softmax/buckets/edges/0", json!(1e9)), "ascending");
    says(changed(of("softmax-ips"), "/policy/columns/actions", json!([])), "action");
    says(changed(of("ks"), "/policy/columns/contexts", json!(["x", "z"])), "same columns");
    says(changed(of("ks"), "/policy/columns/origin/rows", json!(1)), "learned from");
}

/// A field nobody knows is a typing error, not a wish to be ignored.
#[test]
fn unknown_fields_are_refused() {
    for (name, policy) in every() {
        for place in ["", "/policy"] {
            let mut file: Value = serde_json::from_str(&policy.to_json()).unwrap();
            file.pointer_mut(place).unwrap()["colour"] = json!("green");
            assert!(SavedPolicy::from_json(&file.to_string()).is_err(), "{name} {place}");
        }
    }
}

/// 65,536^4 cells are 2^64, which wraps to 0: a theta of no entries would fit.
#[test]
fn sizes_that_overflow_do_not_fit() {
    let edges: Vec<f64> = (0..65_535).map(f64::from).collect();
    let names: Vec<String> = (0..4).map(|j| format!("x{j}")).collect();
    let file = json!({
        "format": "counterpoint-policy", "version": 2, "kind": "parametric",
        "policy": {
            "contexts": names, "actions": ["a"],
            "scaler": {"shift": [0.0, 0.0, 0.0, 0.0], "unit": [1.0, 1.0, 1.0, 1.0]},
            "family": "normal", "std": {"kind": "fixed", "value": [1.0]}, "theta": [],
            "mean": {"model": "linear", "link": "identity", "map": {"kind": "strata", "edges": [edges, edges, edges, edges]}}
        }
    });
    let refused = SavedPolicy::from_json(&file.to_string()).unwrap_err().to_string();
    assert!(refused.contains("context map"), "{refused}");
}

/// There is no way round the check: a policy that is part of anything is checked as it is read.
#[test]
fn a_cut_theta_does_not_load_anywhere() {
    let policy = Policy::constant(Family::Normal, &["x"], &["a"], &[1.0], &[0.5]).unwrap();
    let mut value = serde_json::to_value(&policy).unwrap();
    assert_eq!(serde_json::from_value::<Policy>(value.clone()).unwrap(), policy);
    value["theta"].as_array_mut().unwrap().pop();
    let refused = serde_json::from_value::<Vec<Policy>>(json!([value])).unwrap_err().to_string();
    assert!(refused.contains("theta has 1 entries, the model needs 2"), "{refused}");
}
