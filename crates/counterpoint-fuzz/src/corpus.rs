//! Examples that every door accepts: made here, and the files of every version that the library keeps.

use counterpoint::certify::{Watch, WatchTerms};
use counterpoint::data::{Column, Journal, LogConfig, Packing, Table, pack};
use counterpoint::policy::Family;
use counterpoint::policy::SavedPolicy;
use counterpoint::select::Grid;
use counterpoint::{Log, Policy, Recipe};
use std::io::Write;

fn bytes(text: impl Into<String>) -> Vec<u8> {
    text.into().into_bytes()
}

/// Of every version and kind; those that were learned here without their checksums, so that damage gets further.
pub(crate) fn policies() -> Vec<Vec<u8>> {
    let kept = [
        include_str!("../../counterpoint/tests/compat/policy-v1.json"),
        include_str!("../../counterpoint/tests/compat/policy-v2-parametric.json"),
    ];
    let made = Policy::constant(Family::LogNormal, &["x", "y"], &["a", "b"], &[2.0, 1.0], &[1.0, 0.5]);
    let made = made.map(|p| p.to_json()).unwrap_or_default();
    let again = kept.iter().filter_map(|t| SavedPolicy::from_json(t).ok()).map(|p| p.to_json());
    again.flat_map(|t| [without_checksum(&t), t]).chain([made]).map(bytes).chain(kept.map(bytes)).collect()
}

pub(crate) fn rivals() -> Vec<Vec<u8>> {
    let kept = [
        include_str!("../../counterpoint/tests/compat/policy-v2-rule.json"),
        include_str!("../../counterpoint/tests/compat/policy-v2-softmax.json"),
    ];
    kept.map(bytes).to_vec()
}

/// Policies of models of the cost, which the default learner writes, and one that abstains; without their checksums, and one with it.
pub(crate) fn models() -> Vec<Vec<u8>> {
    let kept = [
        include_str!("../../counterpoint/tests/compat/policy-v3-model-stack.json"),
        include_str!("../../counterpoint/tests/compat/policy-v3-model-trees.json"),
        include_str!("../../counterpoint/tests/compat/policy-v3-model-action-trees.json"),
        include_str!("../../counterpoint/tests/compat/policy-v3-abstain.json"),
    ];
    kept.map(without_checksum).into_iter().chain([kept[1].to_string()]).map(bytes).collect()
}

fn without_checksum(text: &str) -> String {
    text.lines().filter(|l| !l.contains("\"checksum\"")).collect::<Vec<_>>().join("\n")
}

pub(crate) fn recipes() -> Vec<Vec<u8>> {
    let some = ["policy = \"linear\"\nestimator = \"snips\"\n", "policy = \"clp\"\nanchors = 5\nseed = 3\n", ""];
    some.map(bytes).into_iter().chain([bytes(Recipe::default().to_toml())]).collect()
}

/// A small grid and the built-in ones, of which three candidates are drawn: all of them would be a second each.
pub(crate) fn grids() -> Vec<Vec<u8>> {
    let small = "limit = 3\nkeep = 0.5\nfolds = 2\n[recipe]\npolicy = [\"linear\", \"clp\"]\ncap = [5.0, 10.0]\n";
    let few = |text: &str| {
        let others = text.lines().filter(|l| !l.starts_with("limit"));
        ["limit = 3"].into_iter().chain(others).map(|l| format!("{l}\n")).collect::<String>()
    };
    Grid::names().iter().filter_map(|n| Grid::text(n).ok()).map(few).chain([small.to_string()]).map(bytes).collect()
}

pub(crate) fn configs() -> Vec<Vec<u8>> {
    let some = [
        "context = [\"x0\", \"x1\"]\naction = \"action\"\nreward = \"reward\"\npropensity = \"propensity\"\n",
        "context = \"*\"\nexclude = [\"x1\"]\naction = [\"action\"]\ncost = \"reward\"\npropensity = \"fit\"\nmissing = \"indicator\"\n",
        "path = \"logs/*.parquet\"\ntarget_density = \"mine\"\nweight = \"w\"\nsplit = \"split\"\ncategorical = [\"x0\"]\n",
    ];
    some.map(bytes).to_vec()
}

pub(crate) fn journals() -> Vec<Vec<u8>> {
    let made = || -> Option<Vec<u8>> {
        let directory = tempfile::tempdir().ok()?;
        let path = directory.path().join("journal");
        let journal = Journal::create(&path, "fuzz 1").ok()?;
        (0..6).try_for_each(|i| journal.add(&(format!("work {i}"), 0.1 * f64::from(i)))).ok()?;
        std::fs::read(&path).ok()
    };
    made().into_iter().chain([bytes(include_str!("../../counterpoint/tests/compat/journal-v0.jsonl"))]).collect()
}

pub(crate) fn certificates() -> Vec<Vec<u8>> {
    let kept = [
        include_str!("../../counterpoint/tests/compat/certificate-v0.json"),
        include_str!("../../counterpoint/tests/compat/certificate-0.1.0.json"),
    ];
    kept.map(bytes).to_vec()
}

/// A monitor that has seen two batches, one that has seen none, and one that was kept.
pub(crate) fn states() -> Vec<Vec<u8>> {
    let made = || -> Option<[String; 2]> {
        let policy = Policy::constant(Family::Normal, &[], &["a"], &[0.75], &[0.1]).ok()?;
        let rows = |from: usize| {
            let a: Vec<f64> = (from..from + 8).map(|i| (i as f64 * 0.569_84).fract()).collect();
            Log::builder().action("a", a.clone()).reward("r", a).propensity("p", vec![1.0; 8]).build().ok()
        };
        let terms = WatchTerms { confidence: 0.95, outcome_range: [0.0, 1.0], against: None };
        let mut watch = Watch::new(&policy, &rows(0)?, terms).ok()?;
        let empty = watch.to_json();
        watch.fold(&policy, &rows(0)?).ok()?;
        watch.fold(&policy, &rows(8)?).ok()?;
        Some([empty, watch.to_json()])
    };
    let kept = include_str!("../../counterpoint/tests/compat/monitor-v1.json");
    made().into_iter().flatten().chain([kept.to_string()]).map(bytes).collect()
}

/// A small log with a context of numbers, one of words, and gaps.
fn table() -> Table {
    let rows = 40;
    let numbers = |f: fn(f64) -> f64| Column::Numbers((0..rows).map(|i| f(f64::from(i))).collect());
    let cities = (0..rows).map(|i| ["Paris", "Rome", "Oslo"][i as usize % 3].to_string());
    Table {
        columns: vec![
            ("x0".into(), numbers(|i| (0.7 * i).sin())),
            ("city".into(), Column::Words(cities.collect())),
            ("action".into(), numbers(|i| 1.0 + (0.3 * i).cos())),
            ("reward".into(), numbers(|i| (1.1 * i).sin())),
            ("propensity".into(), numbers(|i| 0.2 + 0.01 * i)),
        ],
    }
}

fn written(ending: &str) -> Vec<u8> {
    let made = || -> Option<Vec<u8>> {
        let directory = tempfile::tempdir().ok()?;
        let path = directory.path().join(format!("log.{ending}"));
        table().write(&path).ok()?;
        std::fs::read(&path).ok()
    };
    made().unwrap_or_default()
}

pub(crate) fn csv() -> Vec<Vec<u8>> {
    let plain = String::from_utf8(written("csv")).unwrap_or_default();
    let quoted = plain.replace("Paris", "\"Pa\"\"ris, the\ncity\"");
    let semicolons = plain.replace(',', ";").replace('.', ",");
    [plain, quoted, semicolons].map(bytes).to_vec()
}

pub(crate) fn csv_gz() -> Vec<Vec<u8>> {
    let packed = |text: Vec<u8>| {
        let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
        to.write_all(&text).and_then(|()| to.finish()).unwrap_or_default()
    };
    csv().into_iter().map(packed).chain([written("csv.gz")]).collect()
}

pub(crate) fn tsv() -> Vec<Vec<u8>> {
    let plain = String::from_utf8(written("csv")).unwrap_or_default();
    vec![bytes(plain.replace(',', "\t"))]
}

/// Rows as objects: whole ones, and some that lack a value, say null, or hold more than is asked for.
pub(crate) fn jsonl() -> Vec<Vec<u8>> {
    let line = |i: usize| {
        let x = format!("{:.3}", (0.7 * i as f64).sin());
        let city = ["\"Paris\"", "\"Ro\\u006de\"", "null"][i % 3];
        let more = if i.is_multiple_of(4) { ", \"note\": [1, {}]" } else { "" };
        format!("{{\"x0\": {x}, \"city\": {city}, \"action\": 1.5, \"reward\": {i}, \"propensity\": \"0.25\"{more}}}\n")
    };
    let some = |words: &dyn Fn(String) -> String| bytes((0..30).map(line).map(words).collect::<String>());
    vec![some(&|l| l.replace("null", "\"Oslo\"")), some(&|l| l)]
}

pub(crate) fn parquet() -> Vec<Vec<u8>> {
    vec![written("parquet")]
}

pub(crate) fn arrow() -> Vec<Vec<u8>> {
    vec![written("arrow")]
}

/// A packed log.
pub(crate) fn stores() -> Vec<Vec<u8>> {
    let made = || -> Option<Vec<u8>> {
        let directory = tempfile::tempdir().ok()?;
        let [from, to] = ["log.csv", "log.cps"].map(|name| directory.path().join(name));
        table().write(&from).ok()?;
        let columns =
            "context = [\"x0\", \"city\"]\naction = \"action\"\nreward = \"reward\"\npropensity = \"propensity\"\n";
        pack(&[from], &LogConfig::from_toml(columns).ok()?, &to, &Packing::default(), &|_| {}).ok()?;
        std::fs::read(&to).ok()
    };
    made().into_iter().collect()
}

/// Bytes that only seed what is made of them.
pub(crate) fn numbers() -> Vec<Vec<u8>> {
    (0..64u8).map(|i| vec![i; 64]).collect()
}
