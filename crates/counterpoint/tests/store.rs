//! A store gives the bits of the files it was packed from, grows, goes on after a kill, and knows when it was damaged.
#![cfg(feature = "readers")]
#![allow(clippy::unwrap_used, missing_docs)]

use counterpoint::certify::{Terms, certify};
use counterpoint::data::{
    Block, Column, Into, LogConfig, MISSING, Numbers, Packed, Packing, ReadOptions, Scratch, SplitRule, Store, Table,
    pack, read_bare_log, read_contexts, read_log,
};
use counterpoint::{Engine, Log, Recipe, Result, describe, learn};
use std::path::{Path, PathBuf};

const COLUMNS: &str = "context = [\"x\", \"city\", \"age\"]\naction = \"a\"\nreward = \"reward\"\npropensity = \"p\"\n\
                       weight = \"kept\"\ncluster = \"user\"\nsplit = \"part\"\nmissing = \"indicator\"\n";

/// Rows with words, gaps, weights, clusters and parts; `from` is the number of the first.
fn table(from: usize, n: usize, cities: &[&str]) -> Table {
    let rows = || from..from + n;
    let at = |k: f64| rows().map(|i| (i as f64 * k).fract()).collect::<Vec<f64>>();
    let (x, a) = (at(0.754_877_666_2), at(0.569_840_291_0).iter().map(|u| 0.1 + 3.0 * u).collect::<Vec<f64>>());
    let reward = x.iter().zip(&a).map(|(x, a)| 1.0 - (a - 1.0 - x).abs()).collect();
    let word = |f: &dyn Fn(usize) -> String| Column::Words(rows().map(f).collect());
    let city = |i: usize| if i % 50 == 7 { String::new() } else { cities[i % cities.len()].to_string() };
    let columns = [
        ("x", Column::Numbers(x)),
        ("city", word(&city)),
        ("age", word(&|i| if i % 31 == 3 { String::new() } else { (20 + i % 60).to_string() })),
        ("a", Column::Numbers(a)),
        ("reward", Column::Numbers(reward)),
        ("p", Column::Numbers(rows().map(|i| if i == 4321 { 0.0 } else { 1.0 / 3.0 }).collect())),
        ("kept", Column::Numbers(rows().map(|i| 1.0 + (i % 3) as f64).collect())),
        ("user", word(&|i| format!("user {}", i / 2))),
        ("part", word(&|i| ["train", "valid", "train", "test"][i / 2 % 4].to_string())),
    ];
    Table { columns: columns.into_iter().map(|(n, c)| (n.to_string(), c)).collect() }
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn csv(&self, name: &str, table: &Table) -> PathBuf {
        table.write(self.at(name)).unwrap();
        self.at(name)
    }
}

fn config() -> LogConfig {
    LogConfig::from_toml(COLUMNS).unwrap()
}

fn options(config: &LogConfig) -> ReadOptions {
    ReadOptions { drop_invalid: true, missing: config.missing.unwrap_or_default(), ..ReadOptions::default() }
}

fn read(paths: &[&Path], config: &LogConfig) -> Log {
    read_log(paths, &config.roles(), &options(config)).unwrap()
}

fn put(paths: &[&Path], config: &LogConfig, to: &Path, into: Into) -> Result<Packed> {
    pack(paths, config, to, &Packing { into, drop_invalid: true, checkpoint: 3000, ..Packing::default() }, &|_| {})
}

#[track_caller]
fn same(a: &Log, b: &Log) {
    assert_eq!(a.schema(), b.schema());
    assert_eq!(a.dropped(), b.dropped());
    assert!(a.blocks() == b.blocks(), "the rows differ");
    if a.has_parts() {
        let of = |log: &Log| log.split(SplitRule::Column).unwrap();
        assert!(of(a).test.blocks() == of(b).test.blocks());
    }
    assert_eq!(a.has_parts(), b.has_parts());
}

#[test]
fn a_store_gives_the_bits_of_its_files() {
    let place = Place::new();
    let csv = place.csv("log.csv", &table(0, 7001, &["Rome", "Oslo", "Bern"]));
    let (cps, config) = (place.at("log.cps"), config());
    let packed = put(&[&csv], &config, &cps, Into::New).unwrap();
    assert_eq!((packed.rows, packed.before, packed.dropped.rows), (7000, 0, 1));
    let [file, store] = [&csv, &cps].map(|p| read(&[p], &config));
    same(&file, &store);
    let engine = Engine::new(2).unwrap();
    let run = |log: &Log| {
        let said = format!("{:?}", describe(log).unwrap());
        let parts = log.split(SplitRule::Column).unwrap();
        let learned = learn(&parts.train.on(&engine), &Recipe { starts: 1, ..Recipe::clp() }).unwrap();
        let c = certify(&learned.policy, &parts.valid.on(&engine), &parts.test.on(&engine), &Terms::default()).unwrap();
        (said, learned.policy.to_json(), serde_json::to_string(&c).unwrap())
    };
    assert_eq!(run(&file), run(&store));
    let scratch = ReadOptions { scratch: Some(Scratch::new(place.0.path())), ..options(&config) };
    same(&file, &read_log(&[&cps], &config.roles(), &scratch).unwrap());
    assert_eq!(std::fs::read_dir(place.0.path()).unwrap().count(), 2, "something was left beside the store");
    assert_eq!(Store::name_of(&[&cps]), csv.display().to_string());
    assert_eq!(LogConfig::load(&cps).unwrap(), config);
}

fn single(paths: &[&Path], config: &LogConfig, to: &Path, into: Into) -> Result<Packed> {
    let numbers = if into == Into::New { Numbers::F32 } else { Numbers::F64 };
    let packing = Packing { into, drop_invalid: true, checkpoint: 3000, numbers, ..Packing::default() };
    pack(paths, config, to, &packing, &|_| {})
}

/// The columns of a block, each number rounded to single precision but for the keys of clusters.
fn rounded(b: &Block) -> (Vec<u64>, Vec<Vec<f64>>) {
    let round = |c: &[f64]| c.iter().map(|v| f64::from(*v as f32)).collect();
    let columns = b.x.iter().chain(&b.a).chain([&b.log_p, &b.y, &b.omega]).chain(&b.target).map(|c| round(c));
    (b.ids.to_vec(), columns.chain(b.cluster.iter().map(|c| c.to_vec())).collect())
}

#[test]
fn a_store_in_single_precision_holds_the_nearest_numbers_in_half_the_room() {
    let place = Place::new();
    let config = LogConfig { weight: None, context: Some(vec!["x".into(), "city".into()]), ..config() };
    let csv = place.csv("log.csv", &table(0, 7001, &["Rome", "Oslo", "Bern"]));
    let [whole, half] = ["whole.cps", "half.cps"].map(|name| place.at(name));
    put(&[&csv], &config, &whole, Into::New).unwrap();
    let packed = single(&[&csv], &config, &half, Into::New).unwrap();
    assert_eq!((packed.rows, packed.dropped.rows), (7000, 1));
    let numbers = [&whole, &half].map(|p| Store::open(p).unwrap().numbers());
    assert_eq!(numbers, [Numbers::F64, Numbers::F32]);
    let bytes = [&whole, &half].map(|p| std::fs::metadata(p).unwrap().len() as f64 - 20_480.0);
    assert!(bytes[1] < 0.65 * bytes[0], "{bytes:?}"); // clusters and parts are as large
    let [a, b] = [&whole, &half].map(|p| read(&[p], &config));
    assert_eq!(a.schema(), b.schema());
    for (a, b) in a.blocks().iter().zip(b.blocks()) {
        assert_eq!(rounded(a), rounded(b));
        assert!(b.y.iter().all(|v| f64::from(*v as f32) == *v) && a.cluster == b.cluster);
    }
    // in a scratch file, and with more rows, which are rounded too
    let options = ReadOptions { scratch: Some(Scratch::new(place.0.path())), ..options(&config) };
    same(&b, &read_log(&[&half], &config.roles(), &options).unwrap());
    let more = place.csv("more.csv", &table(7001, 2500, &["Rome", "Bern"]));
    single(&[&more], &config, &half, Into::Old).unwrap();
    put(&[&more], &config, &whole, Into::Old).unwrap();
    let [a, b] = [&whole, &half].map(|p| read(&[p], &config));
    assert!(a.rows() == 9500 && a.blocks().iter().zip(b.blocks()).all(|(a, b)| rounded(a) == rounded(b)));
    let parts = b.split(SplitRule::Column).unwrap();
    let learned = learn(&parts.train, &Recipe { starts: 1, ..Recipe::clp() }).unwrap();
    certify(&learned.policy, &parts.valid, &parts.test, &Terms::default()).unwrap();
}

#[test]
fn single_precision_is_refused_where_it_would_be_another_log() {
    let place = Place::new();
    let config = LogConfig::from_toml("action = \"a\"\nreward = \"r\"\npropensity = \"p\"\n").unwrap();
    let csv = place.at("log.csv");
    std::fs::write(&csv, "a,r,p\n1,2,0.5\n2,1e100,0.5\n").unwrap();
    let to = place.at("log.cps");
    let e = single(&[&csv], &config, &to, Into::New).unwrap_err().to_string();
    assert!(e.contains("single precision") && e.contains("row 2"), "{e}");
    put(&[&csv], &config, &to, Into::New).unwrap();
    let packing = Packing { into: Into::Old, numbers: Numbers::F32, ..Packing::default() };
    let e = pack(&[&csv], &config, &to, &packing, &|_| {}).unwrap_err().to_string();
    assert!(e.contains("double precision"), "{e}");
}

#[test]
fn a_flipped_bit_is_found_in_single_precision_too() {
    let place = Place::new();
    let csv = place.csv("log.csv", &table(0, 3000, &["Rome", "Oslo"]));
    let (cps, config) = (place.at("log.cps"), config());
    single(&[&csv], &config, &cps, Into::New).unwrap();
    let whole = std::fs::read(&cps).unwrap();
    let spoilt = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        std::fs::write(&cps, &bytes).unwrap();
        read_log(&[&cps], &config.roles(), &options(&config)).map(|_| ()).unwrap_err().to_string()
    };
    // a number of the first block, and its first row number
    for at in [20_480 + 3000, 20_480 + 40] {
        let e = spoilt(at);
        assert!(e.contains("block 1"), "{e}");
    }
}

#[test]
fn fewer_columns_and_the_encoding_of_a_policy_give_the_bits_of_the_files() {
    let place = Place::new();
    let csv = place.csv("log.csv", &table(0, 3000, &["Rome", "Oslo", "Bern"]));
    let (cps, config) = (place.at("log.cps"), config());
    put(&[&csv], &config, &cps, Into::New).unwrap();
    let fewer = LogConfig {
        context: Some(vec!["age".into(), "x".into()]),
        weight: None,
        cluster: None,
        split: None,
        ..config.clone()
    };
    same(&read(&[&csv], &fewer), &read(&[&cps], &fewer));
    let bare = LogConfig { propensity: Some("fit".into()), ..fewer.clone() };
    let [a, b] = [&csv, &cps].map(|p| read_bare_log(&[p], &bare.roles(), &options(&bare)).unwrap());
    assert_eq!(a, b);
    let full = read(&[&csv], &config);
    let mut encodings = vec![full.schema().inputs.clone()];
    // a policy that has never seen Oslo, nor a gap in the ages: such rows are left out, or named
    let mut narrow = full.schema().inputs.clone();
    for input in &mut narrow {
        match input {
            counterpoint::data::Input::Category { levels, .. } => levels.retain(|l| l != "Oslo" && l != MISSING),
            counterpoint::data::Input::Filled { name, .. } => {
                *input = counterpoint::data::Input::Number { name: name.clone() }
            }
            _ => {}
        }
    }
    // and one that knows more words
    let mut wide = full.schema().inputs.clone();
    if let counterpoint::data::Input::Category { levels, .. } = &mut wide[1] {
        levels.push("Aalen".into());
        levels.sort();
    }
    encodings.extend([narrow.clone(), wide]);
    for inputs in encodings {
        let options = ReadOptions { inputs: Some(inputs.clone()), ..options(&config) };
        let [a, b] = [&csv, &cps].map(|p| read_log(&[p], &config.roles(), &options).unwrap());
        assert_eq!(a.schema(), b.schema());
        assert!(a.blocks() == b.blocks() && a.rows() == b.rows());
        let [a, b] = [&csv, &cps].map(|p| {
            let batches = read_contexts(&[p], &options, None).unwrap().map(Result::unwrap);
            batches.flat_map(|b| (0..b.rows.len()).map(move |i| b.x.iter().map(|c| c[i].to_bits()).collect())).collect()
        });
        let (a, b): (Vec<Vec<u64>>, Vec<Vec<u64>>) = (a, b);
        assert_eq!(a, b);
    }
    let strict = ReadOptions { drop_invalid: false, inputs: Some(narrow), ..options(&config) };
    let said = read_log(&[&cps], &config.roles(), &strict).unwrap_err().to_string();
    assert!(said.contains("log.cps") && said.contains("row "), "{said}");
    for other in ["cost = \"reward\"", "propensity = \"q\"", "context = \"z\""] {
        let config = LogConfig::from_toml(other).unwrap().or(config.clone());
        let said = read_log(&[&cps], &config.roles(), &options(&config)).unwrap_err().to_string();
        assert!(said.contains("packed with") && said.contains("hint"), "{other}: {said}");
    }
}

#[test]
fn days_that_are_added_give_the_bits_of_all_days_together() {
    let place = Place::new();
    let days = [(0, 2500, vec!["Rome", "Oslo"]), (2500, 10, vec!["Bern"]), (2510, 3000, vec!["Oslo", "Aalen"])];
    let files: Vec<PathBuf> = days
        .iter()
        .enumerate()
        .map(|(k, (from, n, cities))| place.csv(&format!("day{k}.csv"), &table(*from, *n, cities)))
        .collect();
    let (cps, config) = (place.at("log.cps"), config());
    let all: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    for k in 0..3 {
        let into = if k == 0 { Into::New } else { Into::Old };
        put(&all[k..=k], &config, &cps, into).unwrap();
        same(&read(&all[..=k], &config), &read(&[&cps], &config));
    }
    let twice = put(&all[1..2], &config, &cps, Into::Old).unwrap_err().to_string();
    assert!(twice.contains("in the store already"), "{twice}");
    let other = LogConfig { cluster: None, ..config.clone() };
    assert!(put(&all[1..2], &other, &cps, Into::Old).unwrap_err().to_string().contains("other columns"));
    // a day with a bad row changes nothing
    let before = read(&[&cps], &config);
    let bad = place.csv("bad.csv", &table(9000, 2000, &["Oslo"]));
    std::fs::write(&bad, std::fs::read_to_string(&bad).unwrap() + "1,2\n").unwrap();
    assert!(put(&[&bad], &config, &cps, Into::Old).is_err());
    same(&before, &read(&[&cps], &config));
    let good = place.csv("good.csv", &table(9000, 2000, &["Oslo"]));
    put(&[&good], &config, &cps, Into::Old).unwrap();
    assert_eq!(read(&[&cps], &config).rows(), before.rows() + 2000);
}

/// A packing that stops in the midst of its second file, and goes on.
#[test]
fn an_interrupted_packing_goes_on_to_the_same_bytes() {
    let place = Place::new();
    let day = place.csv("day.csv", &table(0, 40_000, &["Rome", "Oslo"]));
    let more = place.csv("more.csv", &table(40_000, 90_000, &["Bern", "Oslo"]));
    let (whole, cut, config) = (place.at("whole.cps"), place.at("cut.cps"), config());
    put(&[&day, &more], &config, &whole, Into::New).unwrap();
    let text = std::fs::read(&more).unwrap();
    // the beginning, the end and the length stay; a row between them stops the packing
    let mut stopped = text.clone();
    let at = 4_000_000 + text[4_000_000..].iter().position(|b| *b == b'\n').unwrap();
    stopped[at - 1] = b',';
    stopped[at - 2] = b',';
    std::fs::write(&more, &stopped).unwrap();
    assert!(put(&[&day, &more], &config, &cut, Into::New).is_err());
    assert!(!cut.exists() && place.at("cut.cps.part").exists());
    std::fs::write(&more, &text).unwrap();
    let packed = put(&[&day, &more], &config, &cut, Into::New).unwrap();
    assert!(packed.before > 60_000 && packed.before < packed.rows, "{packed:?}");
    assert!(std::fs::read(&whole).unwrap() == std::fs::read(&cut).unwrap(), "the stores differ");
    assert!(!place.at("cut.cps.part").exists());
    // another source under the same name is packed from its beginning
    std::fs::write(&more, &stopped).unwrap();
    assert!(put(&[&day, &more], &config, &cut, Into::New).is_err());
    place.csv("more.csv", &table(50_000, 20_000, &["Bern"]));
    assert_eq!(put(&[&day, &more], &config, &cut, Into::New).unwrap().before, 0);
    same(&read(&[&day, &more], &config), &read(&[&cut], &config));
}

/// Killed between its last point and its name.
#[test]
fn a_packing_that_only_lacks_its_name_ends_in_the_same_bytes() {
    let place = Place::new();
    let (log, config) = (place.csv("log.csv", &table(0, 2500, &["Rome", "Oslo"])), config());
    let (cps, part) = (place.at("log.cps"), place.at("log.cps.part"));
    put(&[&log], &config, &cps, Into::New).unwrap();
    let whole = std::fs::read(&cps).unwrap();
    std::fs::rename(&cps, &part).unwrap();
    let again = put(&[&log], &config, &cps, Into::New).unwrap();
    assert_eq!((again.before, part.exists()), (again.rows, false));
    assert!(std::fs::read(&cps).unwrap() == whole, "the stores differ");
    same(&read(&[&log], &config), &read(&[&cps], &config));
}

#[test]
fn every_flipped_bit_is_found_and_the_block_is_named() {
    let place = Place::new();
    let csv = place.csv("log.csv", &table(0, 2500, &["Rome", "Oslo"]));
    let (cps, config) = (place.at("log.cps"), config());
    // one point only, so that no bytes of an earlier one lie about
    pack(&[&csv], &config, &cps, &Packing { drop_invalid: true, ..Packing::default() }, &|_| {}).unwrap();
    let bytes = std::fs::read(&cps).unwrap();
    let block = |n: usize| bytes.windows(8).enumerate().filter(|(_, w)| w == b"CPSBLOCK").nth(n).unwrap().0;
    let broken = place.at("broken.cps");
    let say = |bytes: &[u8]| {
        std::fs::write(&broken, bytes).unwrap();
        read_log(&[&broken], &config.roles(), &options(&config)).err().map(|e| e.to_string())
    };
    for (n, at) in
        [(1, block(0) + 100), (2, block(1) + 5000), (3, block(2) + 64), (2, block(2) - 3), (2, block(1) + 16)]
    {
        let mut other = bytes.clone();
        other[at] ^= 4;
        let said = say(&other).unwrap();
        assert!(said.contains(&format!("block {n}")) && said.contains("broken.cps"), "{n}: {said}");
    }
    let whole = read(&[&cps], &config);
    for at in (0..bytes.len()).step_by(61) {
        let mut other = bytes.clone();
        other[at] ^= 1 << (at % 8);
        // one slot of two, and the bytes that fill up a line behind blocks, may be lost without harm
        match say(&other) {
            Some(said) => assert!(said.contains("hint"), "{said}"),
            None => same(&whole, &read(&[&broken], &config)),
        }
    }
    let slots = [512, 1024];
    for slot in slots {
        let mut other = bytes.clone();
        other[slot + 9] ^= 1;
        assert!(say(&other).is_none(), "the other slot should do");
    }
    let mut other = bytes.clone();
    slots.iter().for_each(|s| other[s + 9] ^= 1);
    assert!(say(&other).is_some());
}

#[test]
fn cut_and_hostile_stores_are_refused_without_taking_memory() {
    let place = Place::new();
    let csv = place.csv("log.csv", &table(0, 2500, &["Rome", "Oslo"]));
    let (cps, config) = (place.at("log.cps"), config());
    put(&[&csv], &config, &cps, Into::New).unwrap();
    let bytes = std::fs::read(&cps).unwrap();
    let broken = place.at("broken.cps");
    let refused = |bytes: &[u8]| {
        std::fs::write(&broken, bytes).unwrap();
        read_log(&[&broken], &config.roles(), &options(&config)).err().map(|e| e.to_string())
    };
    for keep in [0, 1, 15, 16, 4096, 20_480, bytes.len() / 2, bytes.len() - 1] {
        assert!(refused(&bytes[..keep]).is_some_and(|said| said.contains("hint")), "{keep} bytes");
    }
    // contents with their checksums right that say too much
    let text = |old: &str, new: &str| {
        let mut other = bytes.clone();
        let slot = |o: &[u8], k: usize| u64::from_le_bytes(o[512 + 8 * k..520 + 8 * k].try_into().unwrap());
        let (from, length) = (slot(&other, 1) as usize, slot(&other, 2) as usize);
        let said = String::from_utf8(other[from..from + length].to_vec()).unwrap();
        assert!(said.contains(old), "{old} is not in {said}");
        let said = said.replacen(old, new, 1);
        other.truncate(from);
        other.extend(said.bytes());
        let mut slot = [slot(&bytes, 0), from as u64, said.len() as u64, fnv(said.as_bytes())].to_vec();
        slot.push(words(&slot));
        let slot: Vec<u8> = slot.iter().flat_map(|w| w.to_le_bytes()).collect();
        [512, 1024].iter().for_each(|at| other[*at..at + 40].copy_from_slice(&slot));
        refused(&other)
    };
    assert_eq!(text("Rome", "Rome"), None, "the test writes contents that are not believed");
    for (old, new) in [
        ("\"rows\":2500,\"runs\"", "\"rows\":9000000000000000000,\"runs\""),
        ("\"runs\":[[", "\"runs\":[[64,9000000000000000000],["),
        ("\"runs\":[[", "\"runs\":[[18446744073709551552,1],["),
        ("[\"Rome\"", "[\"Oslo\""),
        ("\"seen\":2500", "\"seen\":2499"),
        ("\"writer\"", "\"author\""),
        ("context = [", "context = [\\\"y\\\", "),
    ] {
        assert!(text(old, new).is_some_and(|said| said.contains("broken.cps")), "{new} was believed");
    }
}

/// The checksums of the format, written down once more.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

fn words(four: &[u64]) -> u64 {
    let step = |h: u64, w: u64| {
        let p = (h ^ w).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        p ^ (p >> 32)
    };
    let start = 0xcbf2_9ce4_8422_2325;
    four.iter().map(|w| step(start, *w)).chain([4]).fold(start, step)
}

/// Written by the first version of the format.
#[test]
fn a_store_of_version_1_still_opens() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat/store-v1.cps");
    let config = LogConfig::load(&path).unwrap();
    let log = read_log(&[&path], &config.roles(), &options(&config)).unwrap();
    assert_eq!((log.rows(), log.dropped().rows), (30, 0));
    assert_eq!(log.schema().contexts, ["x", "city=Bern", "city=Oslo"]);
    let y: f64 = log.blocks()[0].y.iter().sum();
    assert_eq!(y, -43.0);
    assert_eq!(log.blocks()[0].log_p[3], 0.25f64.ln());
}

#[test]
fn a_store_in_single_precision_of_version_1_still_opens() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat/store-v1-single.cps");
    let config = LogConfig::load(&path).unwrap();
    let log = read_log(&[&path], &config.roles(), &options(&config)).unwrap();
    assert_eq!((log.rows(), log.dropped().rows), (40, 0));
    assert_eq!(log.schema().contexts, ["x0", "city=Paris", "city=Rome"]);
    let block = &log.blocks()[0];
    // the first row in the file, in the nearest numbers of 24 bits
    let near = |v: f64, said: f32| assert_eq!(v, f64::from(said));
    near(block.x[0][0], -1.1788);
    near(block.a[0][0], -1.7376);
    near(block.y[0], 0.1113); // a reward of -0.1113 is a cost
}
