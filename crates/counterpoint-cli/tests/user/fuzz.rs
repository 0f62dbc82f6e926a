//! Damaged files: bytes flipped, cut off, doubled. The library refuses or reads them; it does not panic.

use crate::support::Place;
use counterpoint::certify::{Terms, certify};
use counterpoint::data::{Outcome, ReadOptions, Roles, SplitRule, read_log};
use counterpoint::{Policy, describe};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// A small generator, so that a failure can be found again by its number (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % below.max(1) as u64) as usize
    }
}

/// One to four damages to a file.
fn damaged(bytes: &[u8], seed: u64) -> Vec<u8> {
    let mut dice = Dice(seed);
    let mut out = bytes.to_vec();
    for _ in 0..=dice.next(4) {
        if out.is_empty() {
            break;
        }
        let at = dice.next(out.len());
        match dice.next(6) {
            0 => out.truncate(at),
            1 => out[at] = dice.next(256) as u8,
            2 => out[at] ^= 1 << dice.next(8),
            3 => drop(out.remove(at)),
            4 => out.insert(at, b"0,\"\n-e9x"[dice.next(8)]),
            _ => {
                let to = (at + dice.next(20)).min(out.len());
                let piece = out[at..to].to_vec();
                out.splice(at..at, piece);
            }
        }
    }
    out
}

fn roles() -> Roles {
    Roles {
        contexts: vec!["x0".into(), "x1".into()],
        actions: vec!["action".into()],
        outcome: Some(("reward".into(), Outcome::Reward)),
        propensity: "propensity".into(),
        split: Some("split".into()),
        ..Roles::default()
    }
}

/// Reads, describes and certifies; what is refused on the way is refused.
fn try_log(path: &Path, policy: &Policy, drop_invalid: bool) -> counterpoint::Result<()> {
    let log = read_log(&[path], &roles(), &ReadOptions { drop_invalid, ..ReadOptions::default() })?;
    describe(&log)?;
    let parts = log.split(SplitRule::Column)?;
    certify(policy, &parts.valid, &parts.test, &Terms { bootstrap: 100, ..Terms::default() })?;
    Ok(())
}

fn fuzz_logs(ending: &str) {
    let place = Place::with_log();
    let all: Vec<usize> = (0..900).step_by(9).collect();
    let name = format!("small.{ending}");
    crate::support::rows(&place.table(), &all).write(place.path(&name)).unwrap();
    let policy = Policy::load(place.path("policy.json")).unwrap();
    let bytes = place.bytes(&name);
    try_log(&place.path(&name), &policy, false).unwrap();
    let mut refused = 0;
    for seed in 0..200 {
        place.write(&name, damaged(&bytes, seed));
        let path = place.path(&name);
        match catch_unwind(AssertUnwindSafe(|| try_log(&path, &policy, seed % 2 == 1))) {
            Ok(done) => refused += usize::from(done.is_err()),
            Err(_) => panic!("{ending}: damage number {seed} makes the library panic"),
        }
    }
    assert!(refused > 20, "{ending}: only {refused} of 200 damages were noticed");
}

#[test]
fn damaged_csv_files_do_not_make_it_panic() {
    fuzz_logs("csv");
}

#[test]
fn damaged_packed_csv_files_do_not_make_it_panic() {
    fuzz_logs("csv.gz");
}

#[test]
fn damaged_parquet_files_do_not_make_it_panic() {
    fuzz_logs("parquet");
}

#[test]
fn damaged_arrow_files_do_not_make_it_panic() {
    fuzz_logs("arrow");
}

#[test]
fn damaged_policies_do_not_make_it_panic() {
    let place = Place::with_log();
    let log = read_log(&[place.path("log.csv")], &roles(), &ReadOptions::default()).unwrap();
    let parts = log.split(SplitRule::Column).unwrap();
    for kind in ["clp", "linear", "poly", "stratified", "nystrom"] {
        let policy = match kind {
            "nystrom" => "context_map=nystrom --set anchors=4 --set centres=4".to_string(),
            "clp" => "policy=clp --set anchors=4".to_string(),
            other => format!("policy={other}"),
        };
        let columns = crate::support::COLUMNS;
        let small = "--set starts=1 --set proximal_steps=0 --set max_iterations=5";
        place.done(&format!("learn log.csv {columns} {small} --set {policy} --no-certify -o {kind}.json"));
        let bytes = place.bytes(&format!("{kind}.json"));
        let structure = structural(&place.text(&format!("{kind}.json")));
        let texts = (0..200).map(|seed| String::from_utf8_lossy(&damaged(&bytes, seed)).into_owned()).chain(structure);
        for (seed, text) in texts.enumerate() {
            let attempt = || -> counterpoint::Result<()> {
                let policy = Policy::from_json(&text)?;
                let terms = Terms { bootstrap: 100, ..Terms::default() };
                certify(&policy, &parts.valid, &parts.test, &terms)?;
                policy.sample(&vec![0.5; policy.d()], 1, 0);
                Ok(())
            };
            assert!(catch_unwind(AssertUnwindSafe(attempt)).is_ok(), "{kind}: damage number {seed} makes it panic");
        }
    }
}

/// Damage that stays JSON: every leaf and every list in turn emptied, shortened, doubled or made extreme.
fn structural(text: &str) -> Vec<String> {
    use serde_json::{Value, json};
    fn paths(v: &Value, at: String, found: &mut Vec<String>) {
        match v {
            Value::Object(o) => o.iter().for_each(|(k, v)| paths(v, format!("{at}/{k}"), found)),
            Value::Array(a) => {
                found.push(at.clone());
                a.iter().enumerate().take(3).for_each(|(i, v)| paths(v, format!("{at}/{i}"), found));
            }
            _ => found.push(at),
        }
    }
    let whole: Value = serde_json::from_str(text).unwrap();
    let mut found = Vec::new();
    paths(&whole, String::new(), &mut found);
    let mut out = Vec::new();
    for path in found {
        let old = whole.pointer(&path).unwrap().clone();
        let mut others = vec![json!(0), json!(-1), json!(1e300), json!(1e15), json!(null), json!("x"), json!([])];
        if let Value::Array(a) = &old {
            others.push(Value::Array(a.iter().skip(1).cloned().collect()));
            others.push(Value::Array(a.iter().chain(a).cloned().collect()));
        }
        for other in others {
            let mut changed = whole.clone();
            *changed.pointer_mut(&path).unwrap() = other;
            out.push(changed.to_string());
        }
    }
    out
}
