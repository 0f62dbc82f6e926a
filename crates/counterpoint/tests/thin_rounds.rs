//! A selection whose first round learns from some blocks of the rows: its survivors have learned from all.

#![allow(clippy::unwrap_used)]

use counterpoint::certify::Gate;
use counterpoint::data::{SplitRule, View};
use counterpoint::select::{Grid, Memory};
use counterpoint::{Log, select};

fn log(n: usize) -> Log {
    let at = |k: f64| (0..n).map(move |i| (i as f64 * k).fract());
    let x: Vec<f64> = at(0.754_877_666_2).collect();
    let a: Vec<f64> = at(0.569_840_291_0).map(|u| 3.0 * u).collect();
    let cost = x.iter().zip(&a).map(|(x, a)| (a - 1.0 - x).abs()).collect();
    Log::builder().context("x", x).action("a", a).cost("y", cost).propensity("p", vec![1.0 / 3.0; n]).build().unwrap()
}

#[test]
fn survivors_of_a_round_on_some_blocks_learn_from_all_rows() {
    let parts = log(440_000).split(SplitRule::default()).unwrap();
    let text = "keep = 0.5\n[recipe]\npolicy = \"linear\"\nstarts = 1\nmax_iterations = 8\nproximal_steps = 0\ncap = [5.0, 20.0]\nstd_floor = [0.1, 0.3]\n";
    let pick = |text: &str| {
        let grid = Grid::from_toml(text).unwrap();
        select(&parts, &grid, 0, Gate::default(), &Memory::none()).unwrap()
    };
    let (all, some) = (pick(text), pick(&format!("first_rows = 100000\n{text}")));
    assert!(all.notes.is_empty(), "{:?}", all.notes);
    let rows = parts.train.rows();
    assert!(some.notes[0].contains(&format!("of {rows} rows; 2 of 4 candidates went on")), "{:?}", some.notes);
    assert_eq!(some.leaderboard.iter().filter(|e| e.round == 2).count(), 2);
    // a survivor's figures are those of a fit on all rows
    let last = |s: &counterpoint::select::Selected, c: usize| {
        s.leaderboard.iter().find(|e| e.candidate == c && e.round == 2).map(|e| e.estimate)
    };
    let both: Vec<usize> = (0..4).filter(|c| last(&all, *c).is_some() && last(&some, *c).is_some()).collect();
    assert!(!both.is_empty() && both.iter().all(|c| last(&all, *c) == last(&some, *c)));
    // where the first round learned, figures differ
    let lost = some.leaderboard.iter().find(|e| e.round == 1).unwrap();
    assert!(all.leaderboard.iter().all(|e| e.round == 2 || e.estimate != lost.estimate));
    // a log that is not twice as long is learned from as it is
    assert!(pick(&format!("first_rows = 150000\n{text}")).notes.is_empty());
    assert!(Grid::from_toml(&format!("first_rows = 1000\n{text}")).unwrap_err().to_string().contains("first_rows"));
}

#[test]
fn blocks_of_a_part_are_blocks_of_the_log() {
    let log = log(60_000);
    let [whole, part] = [View::default(), View::part(SplitRule::default(), counterpoint::data::Part::Train)];
    let few = View::blocks(3, 5);
    let a = log.view(&part).unwrap().view(&few).unwrap();
    let b = log.view(&part.within(&few).unwrap()).unwrap();
    assert_eq!(a.blocks(), b.blocks());
    assert!(a.rows() > 0 && a.rows() < log.view(&whole).unwrap().rows() / 4);
}
