//! Files in every format and shape become the same log; what is wrong with them is said by file, row and column.

#![cfg(feature = "readers")]
#![allow(clippy::unwrap_used, missing_docs)]

use arrow_array::types::Int32Type;
use arrow_array::*;
use arrow_schema::{DataType, Field};
use counterpoint::data::{
    Column, Outcome, ReadOptions, Role, Roles, Table, TargetColumns, Weighting, columns, read_log,
};
use counterpoint::error::Kind as ErrorKind;
use counterpoint::{Log, Result};
use proptest::prelude::*;
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

fn read(path: &Path) -> Result<Log> {
    read_log(&[path], &roles(&["x"]), &ReadOptions::default())
}

fn dropping(path: &Path) -> Result<Log> {
    read_log(&[path], &roles(&["x"]), &ReadOptions { drop_invalid: true, ..ReadOptions::default() })
}

/// Rows from..to of a log that is the same however it is cut.
fn table(from: usize, to: usize) -> Table {
    let number = |f: &dyn Fn(f64) -> f64| Column::Numbers((from..to).map(|i| f(i as f64)).collect());
    let city = (from..to).map(|i| ["Paris", "Rome", "Łódź, \"old\" town"][i % 3].to_string()).collect();
    Table {
        columns: vec![
            ("x".into(), number(&|i| (i * 0.7548776662).fract() / 3.0)),
            ("unused".into(), number(&|i| i)),
            ("action".into(), number(&|i| 1.0 + (i * 0.5698402910).fract())),
            ("reward".into(), number(&|i| (i * 0.1).sin())),
            ("propensity".into(), number(&|i| 0.1 + (i * 0.3).fract())),
            ("city, or town".into(), Column::Words(city)),
        ],
    }
}

struct Dir(tempfile::TempDir);

impl Dir {
    fn new() -> Self {
        Dir(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn text(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn table(&self, name: &str, table: &Table) -> PathBuf {
        let path = self.path(name);
        table.write(&path).unwrap();
        path
    }

    fn batch(&self, name: &str, columns: Vec<(&str, ArrayRef)>) -> PathBuf {
        let path = self.path(name);
        let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true))).unwrap();
        let file = std::fs::File::create(&path).unwrap();
        let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        path
    }
}

/// The error of reading a file, with the directory's own name taken out.
#[track_caller]
fn said(dir: &Dir, result: Result<Log>) -> String {
    let error = result.unwrap_err();
    error.to_string().replace(&format!("{}/", dir.0.path().display()), "")
}

#[test]
fn every_format_gives_the_same_log() {
    let dir = Dir::new();
    let roles = roles(&["x", "city, or town"]);
    let whole = table(0, 3000);
    let expected = whole.clone().into_log(&roles).unwrap();
    for ending in ["parquet", "csv", "csv.gz", "arrow"] {
        let file = dir.table(&format!("one/log.{ending}"), &whole);
        let log = read_log(&[&file], &roles, &ReadOptions::default()).unwrap();
        assert!(log == expected, "{ending}");
        // two files of a directory are the rows of both, in the order of their names
        dir.table(&format!("{ending}/b.{ending}"), &table(1100, 3000));
        dir.table(&format!("{ending}/a.{ending}"), &table(0, 1100));
        let log = read_log(&[dir.path(ending)], &roles, &ReadOptions::default()).unwrap();
        assert!(log == expected, "directory of {ending}");
    }
    assert_eq!(expected.schema().contexts.len(), 4);
}

#[test]
fn folders_are_columns_and_order_is_by_path() {
    let dir = Dir::new();
    for (k, day) in [3, 1, 2].into_iter().enumerate() {
        let split = ["train", "valid", "test"][k];
        dir.table(&format!("log/split={split}/day={day}/part-0.parquet"), &table(day * 10, day * 10 + 5));
        dir.text(&format!("log/split={split}/_SUCCESS"), "");
    }
    let mut roles = roles(&["x", "day"]);
    roles.split = Some("split".into());
    let log = read_log(&[dir.path("log")], &roles, &ReadOptions::default()).unwrap();
    // split=test/day=2, split=train/day=3, split=valid/day=1
    let days: Vec<f64> = log.blocks()[0].x[1].to_vec();
    assert_eq!(days, [2.0; 5].into_iter().chain([3.0; 5]).chain([1.0; 5]).collect::<Vec<_>>());
    let parts = log.split(counterpoint::data::SplitRule::Column).unwrap();
    let dealt = log.clone().into_parts(counterpoint::data::SplitRule::Column).unwrap();
    assert!(dealt.train == parts.train && dealt.valid == parts.valid && dealt.test == parts.test);
    assert_eq!((parts.train.blocks()[0].x[1][0], parts.test.rows()), (3.0, 5));
    // the same through a pattern; folders before the pattern are not columns
    let pattern = dir.path("log").join("split=*/day=*/*.parquet");
    assert!(read_log(&[&pattern], &roles, &ReadOptions::default()).unwrap() == log);
    let names = columns(&[dir.path("log/split=train")]).unwrap();
    assert_eq!((names.len(), names.last().unwrap().as_str()), (7, "day"));
    // words in one folder make the column a category
    dir.table("mixed/day=monday/a.csv", &table(0, 5));
    dir.table("mixed/day=2/a.csv", &table(0, 5));
    roles.split = None;
    let log = read_log(&[dir.path("mixed")], &roles, &ReadOptions::default()).unwrap();
    assert_eq!(log.schema().contexts, ["x", "day=2", "day=monday"]);
}

#[test]
fn numbers_of_every_type_are_converted() {
    let dir = Dir::new();
    let ones = || Arc::new(Float64Array::from(vec![1.0; 3])) as ArrayRef;
    let decimal = Decimal128Array::from(vec![10, 20, 35]).with_precision_and_scale(9, 1).unwrap();
    let dictionary: DictionaryArray<Int32Type> = vec!["1", "2", "3.5"].into_iter().collect();
    let cases: Vec<(ArrayRef, [f64; 3])> = vec![
        (Arc::new(Int8Array::from(vec![1, -2, 3])), [1.0, -2.0, 3.0]),
        (Arc::new(UInt64Array::from(vec![1, 2, 1 << 60])), [1.0, 2.0, (1u64 << 60) as f64]),
        (Arc::new(Float32Array::from(vec![0.5, 0.1, 3.0])), [0.5, f64::from(0.1f32), 3.0]),
        (Arc::new(BooleanArray::from(vec![true, false, true])), [1.0, 0.0, 1.0]),
        (Arc::new(decimal), [1.0, 2.0, 3.5]),
        (Arc::new(dictionary), [1.0, 2.0, 3.5]),
        (Arc::new(LargeStringArray::from(vec!["1", " 2 ", "2.5e-3"])), [1.0, 2.0, 0.0025]),
    ];
    for (array, expected) in cases {
        let kind = array.data_type().to_string();
        // as an action, where words that spell numbers are numbers
        let columns = vec![("x", ones()), ("action", array), ("reward", ones()), ("propensity", ones())];
        let log = read(&dir.batch("typed.parquet", columns)).unwrap_or_else(|e| panic!("{kind}: {e}"));
        assert_eq!(log.blocks()[0].a[0], expected, "{kind}");
    }
    for (array, message) in [
        (Arc::new(TimestampSecondArray::from(vec![1, 2, 3])) as ArrayRef, "dates or times, which are not numbers"),
        (Arc::new(Date32Array::from(vec![1, 2, 3])), "hint: write a number in its place"),
        (Arc::new(BinaryArray::from(vec![b"a" as &[u8]; 3])), "bytes"),
    ] {
        let columns = vec![("x", array), ("action", ones()), ("reward", ones()), ("propensity", ones())];
        let message_said = said(&dir, read(&dir.batch("refused.parquet", columns)));
        assert!(message_said.starts_with("refused.parquet, column \"x\": it holds "), "{message_said}");
        assert!(message_said.contains(message), "{message_said}");
    }
}

#[test]
fn a_bad_row_is_named_by_its_file_and_its_row_there() {
    let dir = Dir::new();
    dir.table("log/part-0.csv", &table(0, 20_000));
    let mut second = table(20_000, 40_000);
    let Column::Numbers(p) = &mut second.columns[4].1 else { unreachable!() };
    p[12_003] = 0.0;
    dir.table("log/part-1.csv", &second);
    assert_eq!(
        said(&dir, read(&dir.path("log"))),
        "log/part-1.csv, row 12004, column \"propensity\": 0 is not a density (must be > 0)\n\
         hint: `drop_invalid` skips and counts such rows"
    );
    let log = dropping(&dir.path("log")).unwrap();
    assert_eq!((log.rows(), log.dropped().rows), (39_999, 1));
    assert_eq!(log.dropped().columns, [("propensity".to_string(), 1)]);
    // the others keep their numbers, so that a split by hash does not move
    assert_eq!(log.blocks().last().unwrap().ids.last(), Some(&39_999));
}

#[test]
fn every_bad_csv_is_refused_in_words() {
    let dir = Dir::new();
    let head = "x,action,reward,propensity\n";
    let good = "0.1,1,0.5,0.3\n0.2,1,0.5,0.3\n";
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    (0..20_000).for_each(|i| writeln!(gz, "{}{i},1,2,0.{}", if i == 0 { head } else { "" }, i % 9 + 1).unwrap());
    let gz = gz.finish().unwrap();
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        (
            "word.csv",
            format!("{head}{good}0.3,one,0.5,0.3\n").into(),
            "word.csv, row 3, column \"action\": \"one\" is not a number",
        ),
        (
            "typo.csv",
            format!("{head}{good}O.3,1,0.5,0.3\n").into(),
            "typo.csv, row 3, column \"x\": \"O.3\" is not a number",
        ),
        (
            "comma.csv",
            format!("{head}{good}0.3,1,\"0,5\",0.3\n").into(),
            "comma.csv, row 3, column \"reward\": \"0,5\" is not a number",
        ),
        (
            "missing.csv",
            format!("{head}{good}0.3,1,,0.3\n").into(),
            "missing.csv, row 3, column \"reward\": the value is missing",
        ),
        (
            "nan.csv",
            format!("{head}{good}0.3,1,nan,0.3\n").into(),
            "row 3, column \"reward\": NaN is not a number to compute with",
        ),
        (
            "inf.csv",
            format!("{head}{good}0.3,1,inf,0.3\n").into(),
            "row 3, column \"reward\": inf is not a number to compute with",
        ),
        (
            "negative.csv",
            format!("{head}{good}0.3,1,1,-0.3\n").into(),
            "row 3, column \"propensity\": -0.3 is not a density",
        ),
        ("short.csv", format!("{head}{good}0.3,1\n").into(), "short.csv, row 3: it has 2 cells, the header has 4"),
        ("long.csv", format!("{head}{good}0.3,1,2,3,4\n").into(), "long.csv, row 3: it has 5 cells, the header has 4"),
        ("header.csv", head.into(), "header.csv: the log has no rows"),
        ("empty.csv", Vec::new(), "empty.csv: the file is empty (0 bytes)"),
        ("newline.csv", b"\n\n".to_vec(), "newline.csv: the file is empty; not even a header is there"),
        (
            "twice.csv",
            format!("x,x,action,reward,propensity\n1,{good}").into(),
            "twice.csv: there are two columns \"x\"\nhint: rename one",
        ),
        (
            "other.csv",
            "x0,action,reward,propensity\n".into(),
            "other.csv: there is no column \"x\"\nhint: the columns are: \"x0\", \"action\"",
        ),
        ("space.csv", "\" X \",action,reward,propensity\n".into(), "hint: did you mean \" X \"?"),
        (
            "blanks.csv",
            "x action reward propensity\n1 2 3 4\n".into(),
            "there is no column \"x\"\nhint: the columns are: \"x action reward propensity\"",
        ),
        (
            "latin.csv",
            b"x,action,reward,propensity\n\xe9,1,1,1\n".to_vec(),
            "latin.csv, row 1, column \"x\": it is not UTF-8 text",
        ),
        ("half.csv.gz", gz[..gz.len() / 2].to_vec(), "half.csv.gz, after row "),
        ("not.csv.gz", head.into(), "not.csv.gz, after row 0"),
        ("wrong.txt", head.into(), "wrong.txt: its name does not end in a format"),
    ];
    for (name, text, message) in cases {
        let heard = said(&dir, read(&dir.text(name, text)));
        assert!(heard.contains(message), "{name}: {heard}");
        assert!(heard.contains(name), "{name}: {heard}");
    }
    let nowhere = read(&dir.path("nowhere.csv")).unwrap_err();
    assert_eq!(nowhere.kind(), ErrorKind::Io);
    assert_eq!(nowhere.to_string().matches("nowhere.csv").count(), 1, "{nowhere}");
}

#[test]
fn bad_values_are_dropped_and_counted_by_column() {
    let dir = Dir::new();
    let text = "x,action,reward,propensity\n1,1,1,1\nx,1,,1\n1,1,1,0\n2,1,1,1\n3,1,,1\n";
    let log = dropping(&dir.text("log.csv", text)).unwrap();
    assert_eq!((log.rows(), log.dropped().rows), (2, 3));
    assert_eq!(log.dropped().to_string(), "1 in \"x\", 2 in \"reward\", 1 in \"propensity\"");
    let none = "x,action,reward,propensity\n1,1,1,0\n1,1,,1\n";
    let heard = said(&dir, dropping(&dir.text("none.csv", none)));
    assert!(heard.contains("none.csv: all 2 rows have an unusable value"), "{heard}");
    // a row that is not a row is not a bad value: the file itself is in doubt
    let ragged = "x,action,reward,propensity\n1,1,1,1\n1,1\n";
    assert!(dropping(&dir.text("ragged.csv", ragged)).is_err());
}

#[test]
fn broken_parquet_and_arrow_files_are_refused() {
    let dir = Dir::new();
    for ending in ["parquet", "arrow"] {
        let whole = std::fs::read(dir.table(&format!("whole.{ending}"), &table(0, 50_000))).unwrap();
        for (name, bytes) in [("half", &whole[..whole.len() / 2]), ("stub", &whole[..4]), ("empty", &whole[..0])] {
            let name = format!("{name}.{ending}");
            let heard = said(&dir, read(&dir.text(&name, bytes)));
            assert!(heard.starts_with(&format!("{name}: ")) && heard.contains("hint: "), "{heard}");
        }
        // damage inside: an error or other numbers, never a panic
        let mut damaged = whole.clone();
        let middle = damaged.len() / 2;
        damaged[middle..middle + 64].fill(0xff);
        let _ = read(&dir.text(&format!("damaged.{ending}"), damaged));
    }
    let none = Table { columns: table(0, 0).columns };
    for ending in ["parquet", "arrow", "csv"] {
        let heard = said(&dir, read(&dir.table(&format!("none.{ending}"), &none)));
        assert!(heard.starts_with(&format!("none.{ending}: the log has no rows\nhint: ")), "{heard}");
    }
}

#[test]
fn what_could_count_rows_twice_is_refused() {
    let dir = Dir::new();
    let csv = dir.table("log/a.csv", &table(0, 10));
    let heard = said(&dir, read_log(&[&csv, &csv], &roles(&["x"]), &ReadOptions::default()));
    assert!(heard.contains("the file is named twice"), "{heard}");
    dir.table("log/a.parquet", &table(0, 10));
    let heard = said(&dir, read(&dir.path("log")));
    assert!(
        heard.contains("files of two formats") && heard.contains("hint: name one format with a pattern"),
        "{heard}"
    );
    assert!(read(&dir.path("log").join("*.csv")).is_ok());
    for name in ["nothing", "log/*.arrow"] {
        std::fs::create_dir_all(dir.path("nothing")).unwrap();
        let heard = said(&dir, read(&dir.path(name)));
        assert!(heard.contains("no .parquet, .csv, .csv.gz, .jsonl, .arrow or .cps file"), "{heard}");
    }
    dir.table("keyed/x=1/a.csv", &table(0, 10));
    let heard = said(&dir, read(&dir.path("keyed")));
    assert!(heard.contains("both in the file and in the name of its folder"), "{heard}");
}

#[test]
fn roles_must_make_sense_before_a_file_is_read() {
    let dir = Dir::new();
    let file = dir.table("a.csv", &table(0, 10));
    let read = |r: &Roles| read_log(&[&file], r, &ReadOptions::default()).unwrap_err().to_string();
    assert!(read(&roles(&["x", "reward"])).contains("column \"reward\": it is used twice"));
    assert!(read(&Roles { outcome: None, ..roles(&["x"]) }).contains("no reward or cost column"));
    assert!(read(&Roles { propensity: String::new().into(), ..roles(&["x"]) }).contains("no propensity column"));
    assert!(read(&Roles { actions: Vec::new(), ..roles(&["x"]) }).contains("no action column"));
    let options = ReadOptions { categorical: vec!["y".into()], ..ReadOptions::default() };
    assert!(read_log(&[&file], &roles(&["x"]), &options).unwrap_err().to_string().contains("not a context"));
}

#[test]
fn only_the_needed_columns_are_decoded() {
    let dir = Dir::new();
    let ones = || Arc::new(Float64Array::from(vec![1.0; 3])) as ArrayRef;
    // a column that no reader of numbers or words would take
    let nested = Field::new("item", DataType::Int32, true);
    let list = ListArray::new_null(Arc::new(nested), 3);
    let columns = vec![
        ("list", Arc::new(list) as ArrayRef),
        ("propensity", ones()),
        ("reward", ones()),
        ("action", ones()),
        ("x", ones()),
    ];
    let file = dir.batch("log.parquet", columns);
    assert_eq!(read(&file).unwrap().rows(), 3);
    let heard = said(&dir, read_log(&[&file], &roles(&["list"]), &ReadOptions::default()));
    assert!(heard.contains("column \"list\": it holds lists or records"), "{heard}");
}

#[test]
fn nothing_is_left_where_a_table_cannot_be_written() {
    let dir = Dir::new();
    let path = dir.0.path().join("no/such/folder/t.parquet");
    assert_eq!(table(0, 3).write(&path).unwrap_err().kind(), ErrorKind::Io);
    assert!(table(0, 3).write(dir.path("t.xlsx")).unwrap_err().to_string().contains("use .parquet"));
    assert_eq!(std::fs::read_dir(dir.0.path()).unwrap().count(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever is in a table, in every format, reads back as it was.
    #[test]
    fn a_written_table_reads_back(
        rows in prop::collection::vec((any::<f64>(), -1e9..1e9f64, "[^\u{0}]{0,8}"), 1..60),
        name in "[^\u{0}]{1,12}",
    ) {
        prop_assume!(name != "other" && name != "word" && !name.trim_start_matches('\u{feff}').is_empty() && !name.starts_with('\u{feff}'));
        // at least one word that no one could take for a number, since CSV has no types
        let word = |w: &str| if w.trim().is_empty() { String::new() } else { format!("_{w}") };
        let words: Vec<String> = rows.iter().map(|r| word(&r.2)).chain(["_".to_string()]).collect();
        let table = Table { columns: vec![
            (name.clone(), Column::Numbers(rows.iter().map(|r| r.0).chain([0.5]).collect())),
            ("other".into(), Column::Numbers(rows.iter().map(|r| r.1).chain([0.5]).collect())),
            ("word".into(), Column::Words(words)),
        ] };
        let dir = tempfile::tempdir().unwrap();
        for ending in ["parquet", "csv", "csv.gz", "arrow"] {
            let path = dir.path().join(format!("t.{ending}"));
            table.write(&path).unwrap();
            let back = Table::read(&path, &[name.clone(), "other".into(), "word".into()]).unwrap();
            for ((n, a), (m, b)) in table.columns.iter().zip(&back.columns) {
                prop_assert_eq!(n, m);
                match (a, b) {
                    (Column::Numbers(a), Column::Numbers(b)) => {
                        let same = a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan());
                        prop_assert!(same && a.len() == b.len(), "{ending}: {a:?} {b:?}");
                    }
                    _ => prop_assert_eq!(a, b, "{}", ending),
                }
            }
        }
    }
}

#[test]
fn a_file_may_hold_its_columns_in_another_order() {
    let dir = Dir::new();
    let first = table(0, 10);
    let mut second = table(10, 20);
    second.columns.reverse();
    for ending in ["parquet", "csv", "arrow"] {
        dir.table(&format!("{ending}/a.{ending}"), &first);
        dir.table(&format!("{ending}/b.{ending}"), &second);
        let log = read_log(&[dir.path(ending)], &roles(&["x"]), &ReadOptions::default()).unwrap();
        assert!(log == table(0, 20).into_log(&roles(&["x"])).unwrap(), "{ending}");
    }
}

/// The same rows in a file, in record batches and in slices: the same log.
#[test]
fn batches_and_slices_are_read_like_files() {
    let dir = Dir::new();
    let (whole, roles) = (table(0, 3000), roles(&["x", "city, or town"]));
    let from_file = read_log(&[dir.table("log.parquet", &whole)], &roles, &ReadOptions::default()).unwrap();
    let batch = |from: usize, to: usize| {
        let columns = table(from, to).columns.into_iter().map(|(name, column)| {
            let array: ArrayRef = match column {
                Column::Numbers(v) => Arc::new(Float64Array::from(v)),
                Column::Words(v) => Arc::new(StringArray::from(v)),
                Column::Integers(_) => unreachable!("there are none"),
            };
            (name, array)
        });
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let batches = [batch(0, 1000), batch(1000, 1001), batch(1001, 3000)];
    assert_eq!(Log::from_batches(&batches, &roles, &ReadOptions::default()).unwrap(), from_file);
    assert_eq!(from_file.schema().weighting, Weighting::Counts); // without weights every row is one, as in memory
    // and with the same checks
    let missing = Roles { weight: Some("count".into()), ..roles.clone() };
    let refused = Log::from_batches(&batches, &missing, &ReadOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("\"count\"") && refused.contains("\"reward\""), "{refused}");
    let used = Roles { propensity: "reward".into(), ..roles.clone() };
    assert!(Log::from_batches(&batches, &used, &ReadOptions::default()).unwrap_err().to_string().contains("twice"));
    let bad = Roles { outcome: Some(("propensity".into(), Outcome::Reward)), propensity: "reward".into(), ..roles };
    let refused = Log::from_batches(&batches, &bad, &ReadOptions::default()).unwrap_err().to_string();
    assert!(refused.starts_with("row 1, column \"reward\"") && refused.contains("density"), "{refused}");
    assert!(
        Log::from_batches::<&RecordBatch>([], &bad, &ReadOptions::default())
            .unwrap_err()
            .to_string()
            .contains("no rows")
    );
    // slices stay the caller's
    let numbers = |name: &str| whole.numbers(name).unwrap();
    let (x, a, y, p) = (numbers("x"), numbers("action"), numbers("reward"), numbers("propensity"));
    let owned = Log::builder().context("x", x.clone()).action("action", a.clone()).reward("reward", y.clone());
    let owned = owned.propensity("propensity", p.clone()).build().unwrap();
    let sliced = Log::builder().slice(Role::Context("x"), &x).slice(Role::Action("action"), &a);
    let sliced = sliced.slice(Role::Reward("reward"), &y).slice(Role::Propensity("propensity"), &p).build().unwrap();
    assert_eq!(sliced, owned);
}

/// Columns of a policy to be evaluated go where rows go: through files, parts and scratch files.
#[test]
fn target_columns_are_read_and_stay_with_their_rows() {
    let dir = Dir::new();
    let mut whole = table(0, 3000);
    whole.columns.push(("mine".into(), Column::Numbers((0..3000).map(|i| f64::from(i % 7)).collect())));
    let path = dir.table("log.parquet", &whole);
    let density = Roles { target: Some(TargetColumns::Density("mine".into())), ..roles(&["x", "city, or town"]) };
    let log = read_log(&[&path], &density, &ReadOptions::default()).unwrap();
    let spilled =
        ReadOptions { scratch: Some(counterpoint::data::Scratch::new(dir.0.path())), ..ReadOptions::default() };
    assert_eq!(read_log(&[&path], &density, &spilled).unwrap().blocks(), log.blocks());
    assert_eq!(whole.clone().into_log(&density).unwrap().blocks(), log.blocks());
    for b in log.split(counterpoint::data::SplitRule::default()).unwrap().test.blocks() {
        for i in 0..b.rows() {
            // the logarithm of the system may differ in its last digit
            let (is, log) = (b.target[0][i], ((b.ids[i] % 7) as f64).ln());
            assert!(is == log || (is - log).abs() < 1e-15, "{is} {log}");
        }
    }
    let actions = Roles { target: Some(TargetColumns::Actions(vec!["mine".into()])), ..density };
    let log = read_log(&[&path], &actions, &ReadOptions::default()).unwrap();
    assert!(log.blocks().iter().all(|b| (0..b.rows()).all(|i| b.target[0][i] == (b.ids[i] % 7) as f64)));
}
