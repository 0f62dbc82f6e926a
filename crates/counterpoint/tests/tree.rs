//! Answers merge in a fixed tree: threads, cuts between blocks and missing blocks change no bit.

#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use counterpoint::data::{Part, SplitRule};
use counterpoint::engine::{Fold, Forest, Node, Placed};
use counterpoint::{Engine, Log};
use proptest::prelude::*;
use support::columns;

/// A block that is only its place.
struct Leaf(u64);

impl Placed for Leaf {
    fn index(&self) -> u64 {
        self.0
    }
}

/// A fold whose answer says in which order it was merged, and for which no two orders are the same.
struct Order;

impl Fold<Leaf> for Order {
    type Partial = String;

    fn zero(&self) -> String {
        String::new()
    }

    fn add(&self, block: &Leaf, into: &mut String) {
        assert!(into.is_empty(), "a leaf is one block");
        *into = block.0.to_string();
    }

    fn merge(&self, other: &String, into: &mut String) {
        assert!(!other.is_empty() && !into.is_empty(), "a missing half is passed over");
        *into = format!("({into} {other})");
    }
}

/// The definition: a node is its two halves, or the one that is there.
fn by_definition(places: &[u64], level: u32) -> String {
    if let [one] = places {
        return one.to_string();
    }
    let half = level - 1;
    let cut = places.partition_point(|p| (p >> half) & 1 == 0);
    match places.split_at(cut) {
        ([], all) | (all, []) => by_definition(all, half),
        (left, right) => format!("({} {})", by_definition(left, half), by_definition(right, half)),
    }
}

fn merge(other: &String, into: &mut String) {
    Order.merge(other, into);
}

/// Cuts blocks at these places, has each piece answer, and appends what it answers.
fn in_pieces(places: &[u64], mut cuts: Vec<usize>, engine: &Engine) -> String {
    cuts.extend([0, places.len()]);
    cuts.sort_unstable();
    let mut all = Forest::default();
    for ends in cuts.windows(2) {
        let blocks: Vec<Leaf> = places[ends[0]..ends[1]].iter().map(|p| Leaf(*p)).collect();
        let forest = engine.forest(&Order, &blocks).unwrap();
        assert!(forest.nodes().len() <= 2 * 64, "a forest is short");
        let text = serde_json::to_string(&forest).unwrap(); // an answer travels
        all.append(serde_json::from_str(&text).unwrap(), &mut merge).unwrap();
    }
    all.finish(&mut merge).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn threads_cuts_and_gaps_change_nothing(
        present in prop::collection::vec(0u64..300, 1..200),
        far in prop::collection::vec(any::<u64>(), 0..4),
        cuts in prop::collection::vec(0usize..1000, 0..8),
    ) {
        let mut places: Vec<u64> = present.into_iter().chain(far).collect();
        places.sort_unstable();
        places.dedup();
        let want = by_definition(&places, 64);
        let blocks: Vec<Leaf> = places.iter().map(|p| Leaf(*p)).collect();
        let cuts: Vec<usize> = cuts.into_iter().map(|c| c % (places.len() + 1)).collect();
        for threads in [1, 2, 3, 8] {
            let engine = Engine::new(threads).unwrap();
            prop_assert_eq!(engine.ask(&Order, &blocks), want.clone());
            prop_assert_eq!(in_pieces(&places, cuts.clone(), &engine), want.clone());
        }
    }
}

#[test]
fn every_cut_in_two_of_forty_blocks() {
    let places: Vec<u64> = (3..43).collect();
    let want = by_definition(&places, 64);
    for cut in 0..=40 {
        assert_eq!(in_pieces(&places, vec![cut], &Engine::single()), want, "cut at {cut}");
    }
}

#[test]
fn blocks_without_rising_places_count_in_the_order_given() {
    let blocks = [Leaf(7), Leaf(7), Leaf(7)];
    assert_eq!(Engine::single().ask(&Order, &blocks), "((7 7) 7)");
    assert_eq!(Engine::new(3).unwrap().ask(&Order, &blocks), "((7 7) 7)");
}

#[test]
fn answers_for_the_same_blocks_are_refused() {
    let node = |level, index| Node { level, index, answer: String::from("x") };
    let mut forest = Forest::default();
    forest.push(node(1, 2), &mut merge).unwrap(); // blocks 4 and 5
    for (level, index) in [(0, 5), (1, 2), (0, 3), (2, 1)] {
        let e = forest.push(node(level, index), &mut merge).unwrap_err().to_string();
        assert!(e.contains("same blocks") && e.contains("hint"), "{e}");
    }
    forest.push(node(0, 6), &mut merge).unwrap();
}

fn ids(log: &Log) -> Vec<(u64, Vec<u64>)> {
    log.blocks().iter().map(|b| (b.index, b.ids.to_vec())).collect()
}

#[test]
fn parts_and_folds_keep_the_blocks_of_the_log_and_join_to_it() {
    let log = columns(5000, 2, 1, 1).log();
    let parts = log.split(SplitRule::default()).unwrap();
    for part in [&parts.train, &parts.valid, &parts.test] {
        for (index, ids) in ids(part) {
            assert!(!ids.is_empty() && ids.iter().all(|i| i / 1024 == index));
        }
    }
    let whole = Log::join(&[&parts.test, &parts.train, &parts.valid]).unwrap();
    assert_eq!(whole.blocks(), log.blocks());
    let moved = log.clone().into_parts(SplitRule::default()).unwrap();
    assert_eq!(moved.train.blocks(), parts.train.blocks());
    let (rest, fold) = parts.train.fold(3, 1, 4).unwrap();
    assert_eq!(Log::join(&[&rest, &fold]).unwrap().blocks(), parts.train.blocks());
}

#[test]
fn unrelated_logs_are_joined_one_after_the_other() {
    let (a, b) = (columns(1500, 2, 1, 1).log(), columns(2100, 2, 1, 2).log());
    let both = Log::join(&[&a, &b]).unwrap();
    let (a, b) = (ids(&a), ids(&b));
    let want: Vec<(u64, Vec<u64>)> = a.into_iter().chain(b.into_iter().map(|(i, ids)| (i + 2, ids))).collect();
    assert_eq!(ids(&both), want);
}

#[test]
fn pieces_of_a_log_hold_its_blocks_and_split_as_it_does() {
    let mut builder = Log::builder().action("a", vec![1.0; 4000]).cost("y", (0..4000).map(f64::from).collect());
    builder = builder.propensity("p", vec![0.5; 4000]);
    let part = |i: usize| [Part::Train, Part::Valid, Part::Test, Part::Train][i % 4];
    let log = builder.parts((0..4000).map(part).collect()).build().unwrap();
    let whole = log.split(SplitRule::Column).unwrap();
    for pieces in 1..=6 {
        let pieces = log.pieces(pieces);
        let all: Vec<_> = pieces.iter().flat_map(ids).collect();
        assert_eq!(all, ids(&log));
        let valid: Vec<_> = pieces.iter().flat_map(|p| ids(&p.split(SplitRule::Column).unwrap().valid)).collect();
        assert_eq!(valid, ids(&whole.valid));
    }
    assert_eq!(log.pieces(9).len(), 4, "there are four blocks");
}
