//! A packed log: the same bytes from every command, a kill that does no harm, damage that is named.

use crate::support::{COLUMNS, Place, SMALL};
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn every_command_gives_the_same_bytes_from_a_store() {
    let place = Place::with_log();
    place.done(&format!("pack log.csv {COLUMNS} -o log.cps"));
    let [file, store] = [(format!("log.csv {COLUMNS}"), "a"), ("log.cps".into(), "b")].map(|(log, to)| {
        place.done(&format!("learn {log} {SMALL} -o {to}.json"));
        place.done(&format!("certify policy.json {log} -o {to}.c.json"));
        let describe = String::from_utf8(place.run(&format!("describe {log} --json")).stdout).unwrap();
        let evaluate = String::from_utf8(place.run(&format!("evaluate policy.json {log} --json")).stdout).unwrap();
        place.done(&format!("act policy.json {} --seed 1 -o {to}.csv", log.split(' ').next().unwrap()));
        let files = ["json", "certificate.json", "c.json", "csv"].map(|ending| place.text(&format!("{to}.{ending}")));
        (files, describe, evaluate)
    });
    assert!(file.0.iter().zip(&store.0).all(|(a, b)| a == b), "a file differs");
    assert_eq!((file.1, file.2), (store.1, store.2));
}

#[test]
fn every_command_takes_a_store_in_single_precision_and_results_hardly_move() {
    let place = Place::with_log();
    let said = place.done(&format!("pack log.csv {COLUMNS} --f32 -o half.cps"));
    assert!(said.contains("single precision"), "{said}");
    place.done(&format!("pack log.csv {COLUMNS} -o whole.cps"));
    let value = |store: &str| {
        place.done(&format!("describe {store}"));
        place.done(&format!("learn {store} {SMALL} -o own.json"));
        place.done(&format!("act policy.json {store} --seed 1 -o own.csv"));
        let said = place.run(&format!("certify policy.json {store} --json"));
        let json: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
        json["value"]["estimate"].as_f64().unwrap()
    };
    let [whole, half] = ["whole.cps", "half.cps"].map(value);
    assert!(whole != half && (whole - half).abs() < 1e-4 * whole.abs(), "{whole} {half}");
    place.refused("pack log.csv --f32 --append -o whole.cps", &["double precision"]);
}

#[test]
fn a_log_divided_by_time_is_divided_so_in_its_store() {
    let place = Place::with_log();
    place.with_column("timed.csv", "split", |i, _| format!("2024-{:02}", 1 + i * 7 % 12));
    let columns = COLUMNS.replace("--split", "--time");
    place.done(&format!("pack timed.csv {columns} -o timed.cps"));
    place.done(&format!("learn timed.csv {columns} {SMALL} -o a.json"));
    place.done(&format!("learn timed.cps {SMALL} -o b.json"));
    assert_eq!(place.text("a.json"), place.text("b.json"));
    assert_eq!(place.text("a.certificate.json"), place.text("b.certificate.json"));
    place.refused("pack log.csv --append -o timed.cps", &["divided by time"]);
}

#[test]
fn a_packing_that_was_killed_goes_on() {
    let place = Place::new();
    place.done("simulate moons --rows 400000 --seed 3 -o log.csv");
    place.done("pack log.csv --checkpoint 10000 -o whole.cps");
    let mut child = place
        .program()
        .args("pack log.csv --checkpoint 10000 -o log.cps".split(' '))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let clock = Instant::now();
    let part = place.path("log.cps.part");
    while part.metadata().map_or(0, |m| m.len()) < 3_000_000 && clock.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!place.path("log.cps").exists(), "it was too quick to be killed");
    let said = place.done("pack log.csv --checkpoint 10000 -o log.cps");
    assert!(said.contains("went on after"), "{said}");
    assert!(place.bytes("whole.cps") == place.bytes("log.cps"), "the stores differ");
    assert!(!part.exists());
}

#[test]
fn a_store_that_cannot_be_used_is_refused_in_words() {
    let place = Place::with_log();
    place.done(&format!("pack log.csv {COLUMNS} -o log.cps"));
    place.refused(&format!("pack log.csv {COLUMNS} -o log.parquet"), &["ends in .cps"]);
    place.refused(&format!("pack log.csv {COLUMNS} -o log.cps"), &["there already", "--force"]);
    place.refused("pack log.csv --append -o log.cps", &["in the store already"]);
    place.refused("describe log.cps log.csv", &["a store is a whole log"]);
    place.refused("describe log.cps --cost reward", &["packed with other columns"]);
    let mut bytes = place.bytes("log.cps");
    bytes[25_000] ^= 1;
    place.write("broken.cps", bytes);
    place.refused("describe broken.cps", &["broken.cps", "block 1", "rows 1 to 900"]);
}

#[test]
fn a_log_that_needs_more_than_it_may_is_held_in_a_scratch_file_and_that_is_said() {
    let place = Place::new();
    place.done("simulate moons --rows 30000 --seed 3 -o log.parquet");
    let [plain, small, large] = ["", "--memory 1M", "--memory 64M"].map(|memory| {
        let out = place.run(&format!("describe log.parquet --json {memory}"));
        let [out, said] = [out.stdout, out.stderr].map(|text| String::from_utf8(text).unwrap());
        (out, said.contains("held in a scratch file"))
    });
    assert_eq!((&plain.0, &plain.0), (&small.0, &large.0));
    assert_eq!((plain.1, small.1, large.1), (false, true, false));
    let wrong = place.run("describe log.parquet --memory much");
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert!(wrong.status.code() == Some(2) && said.contains("a size is a number of bytes"), "{said}");
}
