//! Ctrl-C: nothing half, a word about how to go on, exit 130.

use crate::support::{COLUMNS, Place};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn interrupt(child: &Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

fn start(place: &Place, args: &str) -> Child {
    place.program().args(args.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

#[track_caller]
fn ended(child: Child) -> String {
    let out = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(130), "{said}");
    assert!(said.contains("error: interrupted\nhint: "), "{said}");
    said
}

#[test]
fn learning_interrupted_leaves_nothing() {
    let place = Place::new();
    place.done("simulate moons --rows 6000 -o log.parquet");
    let before = place.listing();
    let child = start(&place, &format!("learn log.parquet {COLUMNS} --set starts=500 -o p.json --report r.html"));
    std::thread::sleep(Duration::from_millis(400));
    interrupt(&child);
    let said = ended(child);
    assert!(said.contains("nothing was written"), "{said}");
    assert_eq!(place.listing(), before);
}

#[test]
fn a_selection_interrupted_keeps_its_journal_and_says_how_to_go_on() {
    let place = Place::new();
    place.done("simulate moons --rows 3000 --seed 2 -o log.parquet");
    let caps: Vec<String> = (0..12).map(|i| format!("{}.0", 5 + i)).collect();
    let grid =
        format!("keep = 1.0\n[recipe]\ncap = [{}]\nstarts = 1\nproximal_steps = 2\nstd_floor = 0.3\n", caps.join(", "));
    place.write("grid.toml", grid);
    let args = format!("select log.parquet {COLUMNS} --grid grid.toml");
    place.done(&format!("{args} -o whole.json"));
    let before = place.listing();
    let child = start(&place, &format!("{args} -o p.json --threads 1"));
    let clock = Instant::now();
    while !place.path("p.journal").exists() && clock.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(Duration::from_millis(20));
    interrupt(&child);
    let said = ended(child);
    assert!(said.contains("the finished fits stand in p.journal; add --resume"), "{said}");
    let new: Vec<_> = place.listing().into_iter().filter(|f| !before.contains(f)).map(|f| f.0).collect();
    assert_eq!(new, ["p.journal"]);
    let lines = place.text("p.journal");
    assert!(lines.ends_with('\n') && (1..12).contains(&lines.lines().count()), "{} fits", lines.lines().count());
    let said = place.done(&format!("{args} -o p.json --resume"));
    assert!(said.contains("resuming: "), "{said}");
    for file in ["json", "leaderboard.json", "certificate.json"] {
        assert_eq!(place.bytes(&format!("whole.{file}")), place.bytes(&format!("p.{file}")), "{file}");
    }
}
