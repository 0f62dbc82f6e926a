//! Categories travel with the policy: what it learned from is what it is asked about, by name, or it is an error.

#![cfg(feature = "readers")]
#![allow(clippy::unwrap_used, missing_docs)]

use counterpoint::data::{
    Column, Input, LogConfig, MAX_LEVELS, Outcome, ReadOptions, Roles, Table, read_contexts, read_log,
};
use counterpoint::{Log, Policy, Recipe, learn};
use std::path::{Path, PathBuf};

fn roles() -> Roles {
    Roles {
        contexts: vec!["hour".into(), "city".into()],
        actions: vec!["bid".into()],
        outcome: Some(("sales".into(), Outcome::Reward)),
        propensity: "density".into(),
        ..Roles::default()
    }
}

fn log(rows: usize, cities: &[&str]) -> Table {
    let number = |f: &dyn Fn(f64) -> f64| Column::Numbers((0..rows).map(|i| f(i as f64)).collect());
    Table {
        columns: vec![
            ("hour".into(), number(&|i| (i * 0.7548776662).fract())),
            ("city".into(), Column::Words((0..rows).map(|i| cities[i % cities.len()].to_string()).collect())),
            ("bid".into(), number(&|i| 3.0 * (i * 0.5698402910).fract())),
            ("sales".into(), number(&|i| 1.0 - (3.0 * (i * 0.5698402910).fract() - 1.0).abs())),
            ("density".into(), number(&|_| 1.0 / 3.0)),
        ],
    }
}

fn put(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn learned(log: &Log) -> Policy {
    let recipe = Recipe { starts: 1, max_iterations: 5, ..Recipe::clp() };
    learn(log, &recipe.with_proximal_steps(1).with_anchors(3)).unwrap().policy.into_parametric().unwrap()
}

fn by(policy: &Policy) -> ReadOptions {
    ReadOptions { inputs: Some(policy.encoding()), ..ReadOptions::default() }
}

#[test]
fn words_become_columns_in_the_order_of_the_alphabet() {
    let dir = tempfile::tempdir().unwrap();
    for ending in ["parquet", "csv", "arrow"] {
        let path = dir.path().join(format!("log.{ending}"));
        log(2500, &["Rome", "Paris", "Łódź", "Oslo"]).write(&path).unwrap();
        let read = read_log(&[&path], &roles(), &ReadOptions::default()).unwrap();
        assert_eq!(read.schema().contexts, ["hour", "city=Oslo", "city=Paris", "city=Rome", "city=Łódź"]);
        let levels = ["Oslo", "Paris", "Rome", "Łódź"].map(String::from).to_vec();
        let inputs = [Input::Number { name: "hour".into() }, Input::Category { name: "city".into(), levels }];
        assert_eq!(read.schema().inputs, inputs);
        for b in read.blocks() {
            for i in 0..b.rows() {
                let hot: Vec<usize> = (1..5).filter(|&c| b.x[c][i] == 1.0).collect();
                assert_eq!(hot, [[3, 2, 4, 1][b.ids[i] as usize % 4]]);
            }
        }
    }
}

#[test]
fn a_policy_file_keeps_the_encoding_and_scores_new_data_by_it() {
    let dir = tempfile::tempdir().unwrap();
    let table = log(600, &["Rome", "Paris", "Oslo"]);
    let policy = learned(&table.clone().into_log(&roles()).unwrap());
    policy.save(dir.path().join("policy.json")).unwrap();
    let policy = {
        let back = Policy::load(dir.path().join("policy.json")).unwrap();
        assert_eq!(back, policy);
        back
    };
    assert_eq!(policy.contexts, ["hour", "city=Oslo", "city=Paris", "city=Rome"]);
    // other rows, fewer cities, other order of columns: the same meaning
    let new = put(dir.path(), "new.csv", "id,city,extra,hour\na,Rome,?,0.25\nb,Oslo,?,0.5\n");
    let batches: Vec<_> = read_contexts(&[&new], &by(&policy), Some("id")).unwrap().map(Result::unwrap).collect();
    assert_eq!(batches.len(), 1);
    assert_eq!(batches[0].x, [[0.25, 0.5], [0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]);
    assert_eq!(
        (&batches[0].rows[..], &batches[0].ids),
        (&[0, 1][..], &Some(Column::Words(vec!["a".into(), "b".into()])))
    );
    let mut x = [0.0; 4];
    batches[0].context(0, &mut x);
    assert_eq!(policy.mean(&x), policy.mean(&[0.25, 0.0, 0.0, 1.0]));
    // a log read by the policy has the policy's contexts, though it holds one city
    let small = dir.path().join("small.parquet");
    let mut turned = log(10, &["Paris"]);
    turned.columns.reverse();
    turned.write(&small).unwrap();
    let read = read_log(&[&small], &roles(), &by(&policy)).unwrap();
    assert_eq!(read.schema().contexts, policy.contexts);
    policy.fits(read.schema()).unwrap();
    assert!(policy.fits(read_log(&[&small], &roles(), &ReadOptions::default()).unwrap().schema()).is_err());
    assert_eq!(log(10, &["Paris"]).into_log_with(&roles(), &by(&policy)).unwrap(), read);
}

#[test]
fn what_the_policy_has_not_seen_is_refused_with_what_it_knows() {
    let dir = tempfile::tempdir().unwrap();
    let policy = learned(&log(600, &["Rome", "Paris", "Oslo"]).into_log(&roles()).unwrap());
    let said = |name: &str, text: &str| {
        let file = put(dir.path(), name, text);
        let mut reader = read_contexts(&[&file], &by(&policy), None).unwrap();
        reader.find_map(Result::err).unwrap().to_string().replace(&format!("{}/", dir.path().display()), "")
    };
    assert_eq!(
        said("new.csv", "hour,city\n1,Rome\n2,Lyon\n"),
        "new.csv, row 2, column \"city\": \"Lyon\" is not a category the policy knows\n\
         hint: it knows \"Oslo\", \"Paris\", \"Rome\"; correct the word, learn again with such rows, or skip them with \
         `drop_invalid`"
    );
    assert!(said("gap.csv", "hour,city\n1,Rome\n2,\n").contains("row 2, column \"city\": the category is missing"));
    let lacking = said("lack.csv", "city,Hour\nRome,1\n");
    assert!(lacking.contains("lack.csv: there is no column \"hour\""), "{lacking}");
    assert!(lacking.contains("hint: the policy needs it; did you mean \"Hour\"?"), "{lacking}");
    let options = ReadOptions { drop_invalid: true, ..by(&policy) };
    let file = put(dir.path(), "some.csv", "hour,city\n1,Rome\n2,Lyon\n,Oslo\n4,Oslo\n");
    let mut reader = read_contexts(&[&file], &options, None).unwrap();
    let batch = reader.next().unwrap().unwrap();
    assert_eq!((&batch.rows[..], batch.x[0].len()), (&[0, 3][..], 2));
    assert_eq!((reader.dropped().rows, reader.dropped().to_string().as_str()), (2, "1 in \"hour\", 1 in \"city\""));
    assert!(read_contexts(&[&file], &ReadOptions::default(), None).is_err());
}

#[test]
fn ids_stay_what_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let policy = learned(&log(600, &["Rome", "Paris"]).into_log(&roles()).unwrap());
    let ids = vec![9_007_199_254_740_993, -1, 3];
    let mut table = log(3, &["Rome"]);
    table.columns.push(("id".into(), Column::Integers(ids.clone())));
    for ending in ["parquet", "arrow"] {
        let path = dir.path().join(format!("new.{ending}"));
        table.write(&path).unwrap();
        let batch = read_contexts(&[&path], &by(&policy), Some("id")).unwrap().next().unwrap().unwrap();
        assert_eq!(batch.ids, Some(Column::Integers(ids.clone())));
    }
    // in every batch of a file alike
    let mut long = log(70_000, &["Rome"]);
    long.columns.push(("id".into(), Column::Integers((0..70_000).collect())));
    let path = dir.path().join("long.parquet");
    long.write(&path).unwrap();
    let batches: Vec<_> = read_contexts(&[&path], &by(&policy), Some("id")).unwrap().map(Result::unwrap).collect();
    assert!(batches.len() > 1 && batches.iter().all(|b| matches!(b.ids, Some(Column::Integers(_)))));
    let gap = put(dir.path(), "gap.csv", "id,city,hour\na,Rome,1\n,Rome,1\n");
    let said = read_contexts(&[&gap], &by(&policy), Some("id")).unwrap().find_map(Result::err).unwrap().to_string();
    assert!(said.contains("gap.csv, row 2: the id is missing"), "{said}");
}

#[test]
fn numbers_are_categories_only_when_asked() {
    let dir = tempfile::tempdir().unwrap();
    let text = "hour,city,bid,sales,density\n0.5,75,1,1,1\n0.5,69,1,1,1\n0.5,75,1,1,1\n";
    let file = put(dir.path(), "zip.csv", text);
    let plain = read_log(&[&file], &roles(), &ReadOptions::default()).unwrap();
    assert_eq!(plain.schema().contexts, ["hour", "city"]);
    let options = ReadOptions { categorical: vec!["city".into()], ..ReadOptions::default() };
    let asked = read_log(&[&file], &roles(), &options).unwrap();
    assert_eq!(asked.schema().contexts, ["hour", "city=69", "city=75"]);
    // whole numbers in a column of floats are the same words
    let numbers = Table::read(&file, &["hour", "city", "bid", "sales", "density"].map(String::from)).unwrap();
    numbers.write(dir.path().join("zip.parquet")).unwrap();
    assert_eq!(read_log(&[dir.path().join("zip.parquet")], &roles(), &options).unwrap(), asked);
}

#[test]
fn too_many_categories_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..MAX_LEVELS + 1).map(|i| format!("user {i}")).collect();
    let path = dir.path().join("log.parquet");
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    log(1000, &all[..MAX_LEVELS]).write(&path).unwrap();
    assert_eq!(read_log(&[&path], &roles(), &ReadOptions::default()).unwrap().d(), 1 + MAX_LEVELS);
    log(1000, &all).write(&path).unwrap();
    let said = read_log(&[&path], &roles(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(said.contains("row 201, column \"city\": it has more than 200 categories"), "{said}");
    assert!(said.contains("hint: group the rare ones"), "{said}");
}

#[test]
fn a_category_of_dropped_rows_alone_is_no_column() {
    let text = "hour,city,bid,sales,density\n1,Rome,1,1,1\n2,Lyon,1,1,0\n3,Oslo,1,1,1\n4,,1,1,1\n";
    let dir = tempfile::tempdir().unwrap();
    let file = put(dir.path(), "log.csv", text);
    let options = ReadOptions { drop_invalid: true, ..ReadOptions::default() };
    let log = read_log(&[&file], &roles(), &options).unwrap();
    assert_eq!(log.schema().contexts, ["hour", "city=Oslo", "city=Rome"]);
    assert_eq!(log.dropped().to_string(), "1 in \"city\", 1 in \"density\"");
}

#[test]
fn policy_files_without_inputs_still_work_and_false_ones_do_not() {
    let policy = learned(&log(600, &["Rome", "Paris"]).into_log(&roles()).unwrap());
    let mut old: serde_json::Value = serde_json::from_str(&policy.to_json()).unwrap();
    old["policy"].as_object_mut().unwrap().remove("inputs");
    old.as_object_mut().unwrap().remove("checksum");
    let old = Policy::from_json(&old.to_string()).unwrap();
    assert_eq!(old.encoding(), Input::numbers(&policy.contexts));
    for (from, to) in [("\"Paris\"", "\"Lyon\""), ("\"Paris\"", "\"Zagreb\""), ("\"category\"", "\"words\"")] {
        let json = policy.to_json().replacen(from, to, 1);
        assert!(Policy::from_json(&json).is_err(), "{from} -> {to}");
    }
}

#[test]
fn log_toml_names_the_columns_once() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("logs")).unwrap();
    let text = "context = [\"hour\", \"price, EUR\"]\naction = \"bid\"\ncost = \"sales\"\npropensity = \"density\"\n\
                path = \"day=*/*.csv\"\n";
    let file = put(dir.path(), "logs/log.toml", text);
    assert_eq!(LogConfig::beside(&dir.path().join("logs")), Some(file.clone()));
    assert_eq!(LogConfig::beside(&dir.path().join("logs/a.csv")), Some(file.clone()));
    assert_eq!(LogConfig::beside(&dir.path().join("logs/day=*/*.csv")), Some(file.clone()));
    assert_eq!(LogConfig::beside(dir.path()), None);
    let config = LogConfig::load(&file).unwrap();
    assert_eq!(config.path.as_ref().unwrap()[0], dir.path().join("logs/day=*/*.csv").display().to_string());
    assert!(config.missing().is_empty());
    let flags = LogConfig { reward: Some("clicks".into()), context: Some(vec!["hour".into()]), ..LogConfig::default() };
    assert_eq!(flags.missing(), ["action", "propensity"]);
    let both = flags.or(config).roles();
    assert_eq!(both.outcome, Some(("clicks".into(), Outcome::Reward)));
    assert_eq!((both.contexts, both.actions), (vec!["hour".to_string()], vec!["bid".to_string()]));
    for (text, message) in [
        ("contexts = [\"hour\"]", "unknown field `contexts`"),
        ("reward = \"a\"\ncost = \"b\"", "both reward and cost"),
        ("action = 3", "a column name or a list of them"),
        ("action = [", "log.toml: TOML parse error"),
    ] {
        let said = LogConfig::load(put(dir.path(), "log.toml", text)).unwrap_err().to_string();
        assert!(said.contains(message) && said.contains("log.toml"), "{said}");
    }
}
