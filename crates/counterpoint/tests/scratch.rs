//! A log in a scratch file gives the bits of a log in memory.
#![cfg(feature = "readers")]

use counterpoint::certify::{Terms, certify};
use counterpoint::data::{Column, Outcome, ReadOptions, Roles, Scratch, SplitRule, Table, read_log};
use counterpoint::{Engine, Log, Recipe, describe, learn};

fn table(n: usize) -> Table {
    let at = |k: f64| (0..n).map(|i| (i as f64 * k).fract()).collect::<Vec<f64>>();
    let (x, a) = (at(0.754_877_666_2), at(0.569_840_291_0).iter().map(|u| 0.1 + 3.0 * u).collect::<Vec<f64>>());
    let reward = x.iter().zip(&a).map(|(x, a)| 1.0 - (a - 1.0 - x).abs()).collect();
    let city = (0..n).map(|i| ["Rome", "Oslo", "Bern"][i % 3].to_string()).collect();
    let part = (0..n).map(|i| ["train", "valid", "train", "test"][i % 4].to_string()).collect();
    let columns = [
        ("x", Column::Numbers(x)),
        ("city", Column::Words(city)),
        ("a", Column::Numbers(a)),
        ("reward", Column::Numbers(reward)),
        ("p", Column::Numbers(vec![1.0 / 3.0; n])),
        ("part", Column::Words(part)),
    ];
    Table { columns: columns.into_iter().map(|(n, c)| (n.to_string(), c)).collect() }
}

#[test]
fn a_log_in_a_scratch_file_gives_the_bits_of_a_log_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.parquet");
    table(7001).write(&path).unwrap(); // blocks of 1,024 and one that is not full
    let roles = Roles {
        contexts: vec!["x".into(), "city".into()],
        actions: vec!["a".into()],
        outcome: Some(("reward".into(), Outcome::Reward)),
        propensity: "p".into(),
        split: Some("part".into()),
        ..Roles::default()
    };
    let engine = Engine::new(2).unwrap();
    let recipe = Recipe { starts: 1, ..Recipe::clp() };
    let run = |scratch: Option<Scratch>| {
        let log: Log = read_log(&[&path], &roles, &ReadOptions { scratch, ..ReadOptions::default() }).unwrap();
        let (said, in_scratch) = (format!("{:?}", describe(&log).unwrap()), log.in_scratch());
        let parts = log.into_parts(SplitRule::Column).unwrap();
        let learned = learn(&parts.train.on(&engine), &recipe).unwrap();
        let c = certify(&learned.policy, &parts.valid.on(&engine), &parts.test.on(&engine), &Terms::default()).unwrap();
        (said, parts.train, learned.policy.to_json(), serde_json::to_string(&c).unwrap(), in_scratch)
    };
    let memory = run(None);
    // always; from the second block on, half way through the file; and never
    let scratches = [(0, true), (100_000, true), (1 << 30, false)];
    for (beyond, in_scratch) in scratches {
        let file = run(Some(Scratch::new(dir.path()).beyond(beyond)));
        assert_eq!(memory.0, file.0, "beyond {beyond}");
        assert_eq!(memory.1.blocks(), file.1.blocks(), "beyond {beyond}");
        assert_eq!((&memory.2, &memory.3), (&file.2, &file.3), "beyond {beyond}");
        assert_eq!((memory.4, file.4), (false, in_scratch), "beyond {beyond}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "a scratch file has a name");
}
