//! Files that were damaged, or made to do harm: every one is refused in words, before memory is taken or numbers are believed.

#![cfg(feature = "readers")]
#![allow(clippy::unwrap_used, missing_docs)]

use arrow_array::*;
use counterpoint::certify::{Certificate, Verdict, Watch};
use counterpoint::data::{
    Column, Input, Journal, LogConfig, Missing, Outcome, ReadOptions, Roles, Table, read_contexts, read_log,
};
use counterpoint::policy::{Ready, SavedPolicy};
use counterpoint::{Log, Policy, Result};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn roles(contexts: &[&str]) -> Roles {
    Roles {
        contexts: contexts.iter().map(|c| c.to_string()).collect(),
        actions: vec!["action".into()],
        outcome: Some(("reward".into(), Outcome::Reward)),
        propensity: "propensity".into(),
        ..Roles::default()
    }
}

fn read<P: AsRef<Path>>(paths: &[P]) -> Result<Log> {
    read_log(paths, &roles(&["x"]), &ReadOptions::default())
}

#[track_caller]
fn refused<T>(done: Result<T>, parts: &[&str]) {
    let Err(e) = done else { panic!("it was believed") };
    assert!(e.remedy().is_some(), "no hint: {e}");
    parts.iter().for_each(|p| assert!(e.to_string().contains(p), "no {p:?} in: {e}"));
}

struct Dir(tempfile::TempDir);

impl Dir {
    fn new() -> Self {
        Dir(tempfile::tempdir().unwrap())
    }

    fn text(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }
}

/// A log as CSV; `x` gives the first cell of row i.
fn csv(rows: usize, x: impl Fn(usize) -> String) -> String {
    let row = |i: usize| format!("{},{}.5,{},0.5\n", x(i), 1 + i % 3, i % 2);
    "x,action,reward,propensity\n".to_string() + &(0..rows).map(row).collect::<String>()
}

#[test]
fn a_quote_that_is_not_closed_swallows_nothing() {
    let dir = Dir::new();
    let plain = |i: usize| format!("0.{}", i % 10);
    let open = dir.text("open.csv", csv(600, |i| if i == 4 { "\"0.1".into() } else { plain(i) }));
    refused(read(&[open]), &["the quote that opens in line 6 is never closed"]);
    // closed by another mistake, rows later: at the start of a cell, and at its end
    let start = csv(600, |i| if [4, 300].contains(&i) { format!("\"{}", plain(i)) } else { plain(i) });
    refused(read(&[dir.text("start.csv", start)]), &["line 302: text stands behind a closing quote", "line 6"]);
    let end = csv(600, |i| match i {
        4 => format!("\"{}", plain(i)),
        300 => format!("{}\"", plain(i)),
        _ => plain(i),
    });
    refused(read(&[dir.text("end.csv", end)]), &["row 5", "holds whole rows of the file"]);
    // and line ends that are meant are fine
    let meant = csv(600, |i| if i % 2 == 0 { "\"two\nlines\"".into() } else { "one".into() });
    refused(read(&[dir.text("meant.csv", meant)]), &["control character"]); // not as a category, though
    let beside = csv(600, plain).replacen("x,action", "note,x,action", 1).replace("\n0.", "\n\"a\nb\",0.");
    assert_eq!(read(&[dir.text("beside.csv", beside)]).unwrap().rows(), 600);
}

#[test]
fn a_file_is_read_once_however_it_is_spelt() {
    let dir = Dir::new();
    let file = dir.text("logs/a.csv", csv(9, |i| i.to_string()));
    let other = dir.text("logs/b.csv", csv(9, |i| i.to_string()));
    let base = dir.0.path();
    assert_eq!(read(&[&file, &other]).unwrap().rows(), 18);
    refused(read(&[&file, &file]), &["named twice"]);
    refused(read(&[file.clone(), base.join("logs/../logs/a.csv")]), &["the same file as", "count twice"]);
    refused(read(&[file.clone(), base.join("logs")]), &["count twice"]);
    std::fs::hard_link(&file, base.join("hard.csv")).unwrap();
    refused(read(&[file.clone(), base.join("hard.csv")]), &["the same file as"]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&file, base.join("link.csv")).unwrap();
        std::os::unix::fs::symlink(base.join("logs"), base.join("days")).unwrap();
        refused(read(&[file.clone(), base.join("link.csv")]), &["the same file as", "links"]);
        refused(read(&[base.join("logs"), base.join("days")]), &["the same file as"]);
        std::os::unix::fs::symlink(base.join("logs"), base.join("logs/loop")).unwrap();
        refused(read(&[base.join("logs")]), &["32 deep", "link"]);
    }
}

#[test]
fn many_files_take_a_time_in_proportion() {
    let dir = Dir::new();
    (0..6000).for_each(|i| drop(dir.text(&format!("logs/{i:05}.csv"), csv(1, |i| i.to_string()))));
    let clock = std::time::Instant::now();
    assert_eq!(counterpoint::data::files_of(&[dir.0.path().join("logs")]).unwrap().len(), 6000);
    assert!(clock.elapsed().as_secs_f64() < 3.0, "{:?}", clock.elapsed()); // by pairs it was 18 million comparisons
}

#[test]
fn semicolons_tabs_and_decimal_commas_are_read_and_doubts_are_not() {
    let dir = Dir::new();
    let plain = csv(30, |i| format!("0.{}", i % 10));
    let want = read(&[dir.text("plain.csv", &plain)]).unwrap();
    let comma = plain.replace(',', ";").replace('.', ",");
    for (name, text) in
        [("tabs.tsv", plain.replace(',', "\t")), ("semi.csv", plain.replace(',', ";")), ("comma.csv", comma.clone())]
    {
        assert_eq!(read(&[dir.text(name, text)]).unwrap().blocks(), want.blocks(), "{name}");
    }
    let thousands = plain.replace(',', ";").replace("\n0.", "\n1,25");
    refused(read(&[dir.text("doubt.csv", thousands)]), &["could be 1.25", "or 125", "column \"x\""]);
    refused(
        read(&[dir.text("action.csv", plain.replace(",1.5,", ",\"1,5\","))]),
        &["\"1,5\" is not a number", "0,5 as 0.5"],
    );
    for (cells, what) in
        [("50%", "percentages"), ("2024-03-01", "dates"), ("\"0,5\"", "decimal comma"), ("$5", "currency")]
    {
        let path = dir.text("odd.csv", csv(30, |i| if i % 9 == 8 { "NA".into() } else { cells.into() }));
        refused(read(&[path]), &[what, "ReadOptions::categorical"]);
    }
}

#[test]
fn numbers_typed_as_text_are_numbers() {
    let dir = Dir::new();
    let path = dir.0.path().join("typed.parquet");
    let words: Vec<String> = (0..30).map(|i| format!("0.{}", i % 10)).collect();
    let numbers = |v: f64| Column::Numbers(vec![v; 30]);
    let columns = vec![
        ("x".into(), Column::Words(words)),
        ("action".into(), numbers(1.5)),
        ("reward".into(), numbers(0.0)),
        ("propensity".into(), numbers(0.5)),
    ];
    Table { columns }.write(&path).unwrap();
    let log = read(&[path]).unwrap();
    assert_eq!((log.schema().inputs.clone(), log.blocks()[0].x[0][3]), (Input::numbers(&["x"]), 0.3));
}

#[test]
fn rows_that_do_not_fit_in_memory_are_refused_with_the_remedy() {
    let dir = Dir::new();
    let path = dir.text("log.csv", csv(100_000, |i| i.to_string()));
    let options = |memory| ReadOptions { memory: Some(memory), ..ReadOptions::default() };
    refused(read_log(&[&path], &roles(&["x"]), &options(1 << 20)), &["do not fit in memory", "Scratch::new"]);
    assert!(read_log(&[&path], &roles(&["x"]), &options(1 << 26)).is_ok());
    let scratch = counterpoint::data::Scratch::new(dir.0.path());
    let options = ReadOptions { scratch: Some(scratch), ..options(1 << 20) };
    assert_eq!(read_log(&[&path], &roles(&["x"]), &options).unwrap().rows(), 100_000);
}

#[test]
fn a_packed_cell_without_end_is_refused_before_it_is_unpacked() {
    let dir = Dir::new();
    let path = dir.0.path().join("bomb.csv.gz");
    let mut to = flate2::write::GzEncoder::new(std::fs::File::create(&path).unwrap(), flate2::Compression::fast());
    to.write_all(b"x,action,reward,propensity\n").unwrap();
    let chunk = vec![b'7'; 1 << 20];
    (0..40).for_each(|_| to.write_all(&chunk).unwrap());
    to.finish().unwrap();
    refused(read(&[path]), &["the row in line 2 is longer than 16777216 bytes"]);
}

#[test]
fn an_arrow_file_is_not_believed_about_its_lengths() {
    let dir = Dir::new();
    let table = |rows: usize| {
        let column = || Column::Numbers(vec![0.5; rows]);
        Table { columns: ["x", "action", "reward", "propensity"].map(|n| (n.to_string(), column())).to_vec() }
    };
    let path = dir.0.path().join("log.arrow");
    table(50).write(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(read(&[&path]).unwrap().rows(), 50);
    // every 8 bytes in turn as the largest lengths there are: an error, or the same log, never an abort
    for at in (0..whole.len() - 8).step_by(4) {
        for big in [i64::MAX, 1 << 44, 1 << 33, -1] {
            let mut bytes = whole.clone();
            bytes[at..at + 8].copy_from_slice(&big.to_le_bytes());
            std::fs::write(&path, &bytes).unwrap();
            match read(&[&path]) {
                Ok(log) => assert!(log.rows() <= 1 << 21, "byte {at}"),
                Err(e) => assert!(e.remedy().is_some(), "byte {at}: {e}"),
            }
        }
    }
}

#[test]
fn a_long_word_named_by_every_row_is_not_written_out() {
    let dir = Dir::new();
    let rows = 2048;
    let words = StringArray::from(vec!["y".repeat(1 << 20)]);
    let keys = Int32Array::from(vec![0; rows]);
    let column = |v: f64| Arc::new(Float64Array::from(vec![v; rows])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([
        ("x", Arc::new(DictionaryArray::new(keys, Arc::new(words))) as ArrayRef),
        ("action", column(1.0)),
        ("reward", column(0.0)),
        ("propensity", column(0.5)),
    ]);
    let batch = batch.unwrap();
    refused(
        Log::from_batches([&batch], &roles(&["x"]), &ReadOptions::default()),
        &["words of up to 1048576 bytes", "leave the column out"],
    );
    let long = dir.text("long.csv", csv(20, |_| "z".repeat(2000)));
    refused(read(&[long]), &["a category of 2000 bytes"]);
}

#[test]
fn missing_contexts_are_refused_or_marked_and_the_policy_does_the_same() {
    let dir = Dir::new();
    let text = "age,city,action,reward,propensity\n30,Rome,1,0,0.5\n,Oslo,2,1,0.5\nNA,,1.5,0,0.5\n50,Rome,1,1,0.5\n";
    let path = dir.text("log.csv", text);
    let roles = roles(&["age", "city"]);
    refused(
        read_log(&[&path], &roles, &ReadOptions::default()),
        &["row 2, column \"age\"", "the value is missing", "LogBuilder::missing"],
    );
    let options = ReadOptions { missing: Missing::Indicator, ..ReadOptions::default() };
    let log = read_log(&[&path], &roles, &options).unwrap();
    let schema = log.schema();
    assert_eq!(schema.contexts, ["age", "age=(missing)", "city=(missing)", "city=Oslo", "city=Rome"]);
    let x = &log.blocks()[0].x;
    assert_eq!(x[0], [30.0, 40.0, 40.0, 50.0]);
    assert_eq!(x[1], [0.0, 1.0, 1.0, 0.0]);
    assert_eq!(x[2], [0.0, 0.0, 1.0, 0.0]);
    let words =
        dir.text("words.csv", "age,city,action,reward,propensity\n30,Rome,1,0,0.5\n31,,2,1,0.5\n32,Oslo,1,0,0.5\n");
    refused(
        read_log(&[&words], &roles, &ReadOptions::default()),
        &["row 2, column \"city\"", "the category is missing", "LogBuilder::missing"],
    );
    // what is no number is not missing
    let wrong = dir.text("wrong.csv", text.replace("NA", "old"));
    refused(read_log(&[&wrong], &roles, &options), &["row 3", "\"old\" is not a number"]);
    // new rows by the encoding, other gaps filled with the same number
    let new = dir.text("new.csv", "city,age\n,\nRome,7\n");
    let by = |inputs: &[Input]| ReadOptions { inputs: Some(inputs.to_vec()), ..ReadOptions::default() };
    let batch = read_contexts(&[&new], &by(&schema.inputs), None).unwrap().next().unwrap().unwrap();
    assert_eq!(batch.x, [[40.0, 7.0], [1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]);
    // a policy that never saw a gap says so
    let e = read_contexts(&[&new], &by(&Input::numbers(&["age"])), None).unwrap().next().unwrap();
    refused(e, &["the value is missing", "has not learned from missing values"]);
    let json = serde_json::to_string(&schema.inputs).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Input>>(&json).unwrap(), schema.inputs);
}

#[test]
fn no_flipped_bit_is_another_policy() {
    let text = include_str!("compat/policy-v2-parametric.json");
    let policy = SavedPolicy::from_json(text).unwrap();
    let written = policy.to_json_noting(&["a note".into()]);
    assert!(written.contains("\"checksum\""));
    let mut believed = 0;
    for at in 0..written.len() {
        for bit in [0, 2, 4] {
            let mut bytes = written.clone().into_bytes();
            bytes[at] ^= 1 << bit;
            let Ok(text) = String::from_utf8(bytes) else { continue };
            if let Ok(read) = SavedPolicy::from_json(&text) {
                assert_eq!(read, policy, "byte {at} bit {bit}");
                believed += 1;
            }
        }
    }
    assert!(believed < written.len() / 2, "white space may change, nothing else"); // it is a third of the file
    // who changes a file on purpose takes the checksum out
    let changed = written.replace("\"std\": [", "\"std\": [ 9, ").replace(", ]", "]");
    assert!(SavedPolicy::from_json(&changed).is_err());
    let bare: String = written.lines().filter(|l| !l.contains("checksum")).collect::<Vec<_>>().join("\n");
    assert_eq!(SavedPolicy::from_json(&bare).unwrap(), policy);
}

#[test]
fn a_policy_that_overflows_where_it_was_learned_is_refused() {
    let text = include_str!("compat/policy-v2-parametric.json");
    let whole: serde_json::Value = serde_json::from_str(text).unwrap();
    let places =
        ["/policy/mean/temperature", "/policy/scaler/unit/0", "/policy/theta/0", "/policy/mean/actions/whiten/0"];
    let mut believed = 0;
    for place in places {
        assert!(whole.pointer(place).is_some(), "{place}");
        for value in [1e-308, 1e308, -1e308, 1e150] {
            let mut changed = whole.clone();
            *changed.pointer_mut(place).unwrap() = value.into();
            let Ok(policy) = SavedPolicy::from_json(&changed.to_string()) else { continue };
            believed += 1;
            let SavedPolicy::Parametric(policy) = policy else { panic!("another kind") };
            let mean = policy.mean(&policy.scaler.shift);
            assert!(mean[0].is_finite(), "{place} = {value}: a mean of {}", mean[0]);
        }
    }
    assert!(believed < 16, "none was refused");
}

/// The files that releases wrote: they load for ever, or are refused with the remedy.
#[test]
fn files_of_every_version() {
    for text in [
        include_str!("compat/policy-v1.json"),
        include_str!("compat/policy-v2-parametric.json"),
        include_str!("compat/policy-v2-rule.json"),
        include_str!("compat/policy-v2-softmax.json"),
        include_str!("compat/policy-v3-parametric.json"),
        include_str!("compat/policy-v3-rule.json"),
        include_str!("compat/policy-v3-softmax.json"),
        include_str!("compat/policy-v3-model-stack.json"),
        include_str!("compat/policy-v3-model-trees.json"),
        include_str!("compat/policy-v3-model-action-trees.json"),
        include_str!("compat/policy-v3-abstain.json"),
    ] {
        let policy = SavedPolicy::from_json(text).unwrap();
        assert_eq!(SavedPolicy::from_json(&policy.to_json()).unwrap(), policy);
        let newer = text.replace("\"version\": ", "\"version\": 9");
        refused(SavedPolicy::from_json(&newer), &["it is of version 9", "versions 1 to 3"]);
    }
    assert!(Policy::from_json(include_str!("compat/policy-v2-parametric.json")).is_ok());
    // policies of models still do what they did when they were written (x0, and the city as two marks)
    for (text, near, far) in [
        (include_str!("compat/policy-v3-model-stack.json"), 0.498_220_449_428_049_2, -1.084_507_784_866_068),
        (include_str!("compat/policy-v3-model-trees.json"), 0.400_634_916_770_462_4, -0.257_607_222_362_106_2),
        (include_str!("compat/policy-v3-model-action-trees.json"), 0.718_912_773_645_462_5, -0.720_046_938_754_481_3),
        (include_str!("compat/policy-v3-abstain.json"), 0.727_017_349_786_316_8, -1.235_916_996_554_035_8),
    ] {
        let policy = SavedPolicy::from_json(text).unwrap();
        let mut ready = Ready::new(&policy);
        let mean = [[0.5, 0.0, 1.0], [-1.25, 1.0, 0.0]].map(|x| ready.mean(&x).unwrap()[0]);
        assert_eq!(mean, [near, far]);
    }
    let none = Certificate::from_json(include_str!("compat/certificate-v0.json")).unwrap();
    assert_eq!((none.verdict, none.subject.program.as_str()), (Verdict::Invalid, ""));
    let text = include_str!("compat/certificate-0.1.0.json");
    let certificate = Certificate::from_json(text).unwrap();
    assert_eq!((certificate.verdict, certificate.difference.lower), (Verdict::Deploy, 0.16149476412855643));
    assert_eq!(serde_json::to_string_pretty(&certificate).unwrap(), text.trim_end(), "it changes when it is written");
    for newer in ["0.2.0", "0.10.0", "7.0.0"] {
        let text = text.replace("counterpoint 0.1.0", &format!("counterpoint {newer}")).replace("\"p_value\"", "\"p\"");
        refused(
            Certificate::from_json(&text),
            &[&format!("written by version {newer}"), "this is version", "the release"],
        );
    }
    refused(Certificate::from_json("{\"verdict\": \"deploy\"}"), &["it is not a certificate", "missing field"]);
    let dir = Dir::new();
    let old = dir.text("old.journal", include_str!("compat/journal-v0.jsonl"));
    refused(
        Journal::resume::<serde_json::Value>(&old, "me").map(drop),
        &["of an earlier version", "delete the journal"],
    );
    let now = dir.text("now.journal", include_str!("compat/journal-v1.jsonl"));
    let known = Journal::resume::<(String, f64)>(&now, "counterpoint 0.1.0").unwrap().known;
    assert_eq!(known, [("work 1".to_string(), 0.5), ("work 2".to_string(), -1.5)]);
    let newer = dir.text("newer.journal", include_str!("compat/journal-v1.jsonl").replace("journal 1 ", "journal 2 "));
    refused(Journal::resume::<(String, f64)>(&newer, "counterpoint 0.1.0").map(drop), &["delete the journal"]);
    let text = include_str!("compat/monitor-v1.json");
    let watch = Watch::from_json(text).unwrap();
    assert_eq!((watch.to_json().as_str(), watch.look().rows, watch.looks().len()), (text, 12, 1));
    assert_eq!(watch.looks()[0], watch.look());
    let newer = text.replace("\"version\":1", "\"version\":2");
    refused(Watch::from_json(&newer), &["of version 2, expected", "of version 1", "use the release"]);
    // stores: the one of version 1 is read in tests/store.rs
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat/store-v1.cps");
    let mut bytes = std::fs::read(path).unwrap();
    assert_eq!(bytes[16..20], 1u32.to_le_bytes());
    bytes[16] = 2;
    refused(
        LogConfig::load(dir.text("newer.cps", &bytes)).map(drop),
        &["a store of version 2", "reads version 1", "pack the log again"],
    );
}

/// Every byte of a log that we wrote, one bit flipped: an error, or the same log.
#[test]
fn no_flipped_bit_changes_a_log_of_ours() {
    let dir = Dir::new();
    let column = |f: fn(f64) -> f64| Column::Numbers((0..200).map(|i| f(f64::from(i))).collect());
    let words = Column::Words((0..200).map(|i| ["Rome", "Oslo"][i % 2].to_string()).collect());
    let table = Table {
        columns: vec![
            ("x".into(), words),
            ("action".into(), column(|i| (0.3 * i).sin())),
            ("reward".into(), column(|i| (0.7 * i).cos())),
            ("propensity".into(), column(|i| 0.2 + 0.001 * i)),
        ],
    };
    let mut wrong = Vec::new();
    std::panic::set_hook(Box::new(|_| ())); // decoders panic on damage, which is caught
    for ending in ["parquet", "arrow"] {
        let path = dir.0.path().join(format!("log.{ending}"));
        table.write(&path).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let log = read(&[&path]).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            std::fs::write(&path, &bytes).unwrap();
            let read = std::panic::catch_unwind(|| read(&[&path]));
            match read {
                Err(_) => wrong.push(format!("{ending}, byte {at}: it panics")),
                Ok(Ok(read)) if (read.blocks(), read.schema()) != (log.blocks(), log.schema()) => {
                    wrong.push(format!("{ending}, byte {at}: another log"));
                }
                _ => {}
            }
        }
    }
    let _ = std::panic::take_hook();
    assert!(wrong.is_empty(), "{wrong:?}");
}
