//! Ctrl-C, SIGTERM, SIGHUP: nothing half, a word about how to go on, exit 130, 143, 129. And two processes with one output.

use crate::support::{COLUMNS, Place};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn interrupt(child: &Child) {
    signal(child, "-INT");
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

fn start(place: &Place, args: &str) -> Child {
    place.program().args(args.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

#[track_caller]
fn ended(child: Child) -> String {
    ended_by(child, 130)
}

#[track_caller]
fn ended_by(child: Child, code: i32) -> String {
    let out = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(code), "{said}");
    assert!(said.contains("error: interrupted\nhint: "), "{said}");
    said
}

#[test]
fn learning_interrupted_leaves_nothing() {
    let place = Place::new();
    place.done("simulate moons --rows 6000 -o log.parquet");
    let before = place.listing();
    let child = start(&place, &format!("learn log.parquet {COLUMNS} --set starts=500 -o p.json --report r.html"));
    appears(&place, ".p.json.lock"); // signals are heard from now on
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
    // its head and one finished fit
    let begun = || std::fs::read(place.path("p.journal")).is_ok_and(|j| j.iter().filter(|b| **b == b'\n').count() >= 2);
    while !begun() && clock.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(2));
    }
    interrupt(&child);
    let said = ended(child);
    assert!(said.contains("the finished fits stand in p.journal; add --resume"), "{said}");
    let new: Vec<_> = place.listing().into_iter().filter(|f| !before.contains(f)).map(|f| f.0).collect();
    assert_eq!(new, ["p.journal"]);
    let lines = place.text("p.journal");
    assert!(lines.ends_with('\n') && (2..=12).contains(&lines.lines().count()), "{} lines", lines.lines().count());
    let said = place.done(&format!("{args} -o p.json --resume"));
    assert!(said.contains("resuming: "), "{said}");
    for file in ["json", "leaderboard.json", "certificate.json"] {
        assert_eq!(place.bytes(&format!("whole.{file}")), place.bytes(&format!("p.{file}")), "{file}");
    }
}

/// Waits until a file is there.
fn appears(place: &Place, name: &str) {
    let clock = Instant::now();
    while !place.path(name).exists() {
        assert!(clock.elapsed() < Duration::from_secs(30), "{name} does not appear");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn termination_and_hanging_up_are_heard_like_ctrl_c() {
    let place = Place::new();
    place.done("simulate moons --rows 6000 -o log.parquet");
    let before = place.listing();
    // also at once, while the places of the outputs are still being tried
    let moments = [0, 1, 2, 4, 8, 30].map(Duration::from_millis);
    let asking = [("-TERM", 143), ("-HUP", 129), ("-QUIT", 131), ("-USR1", 138)];
    let signals = asking.into_iter().chain([("-USR2", 140), ("-ALRM", 142), ("-XCPU", 152)]);
    for ((name, code), after) in signals.zip(moments.into_iter().cycle()) {
        let child = start(&place, &format!("learn log.parquet {COLUMNS} --set starts=500 -o p.json"));
        appears(&place, ".p.json.lock");
        std::thread::sleep(after);
        signal(&child, name);
        let said = ended_by(child, code);
        assert!(said.contains("nothing was written"), "{said}");
        assert_eq!(place.listing(), before, "{name} after {after:?}");
    }
}

#[test]
fn what_nohup_ignores_stays_ignored() {
    let place = Place::new();
    place.done("simulate moons --rows 3000 -o log.parquet");
    let script = format!(
        "nohup counterpoint learn log.parquet {COLUMNS} --set starts=2 -o p.json >/dev/null 2>&1 & \
         i=0; while [ ! -e .p.json.lock ] && [ $i -lt 3000 ]; do sleep 0.01; i=$((i+1)); done; kill -HUP $!; wait $!"
    );
    let out = place.shell(&script);
    assert!(matches!(out.status.code(), Some(0 | 1)) && place.path("p.json").exists(), "{:?}", out.status);
}

#[test]
fn an_interruption_never_denies_a_file_that_is_there() {
    let place = Place::with_log();
    for delay in 0..12 {
        let _ = std::fs::remove_file(place.path("a.csv"));
        let child = start(&place, "act policy.json log.csv -o a.csv");
        std::thread::sleep(Duration::from_millis(3 * delay));
        interrupt(&child);
        let out = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        let denied = said.contains("nothing was written");
        // before the listener stands, a signal ends the process without a word
        assert!(!(denied && place.path("a.csv").exists()), "after {delay}: {said}");
        assert!(out.status.code() != Some(130) || denied != place.path("a.csv").exists(), "after {delay}: {said}");
    }
}

#[test]
fn two_processes_do_not_work_towards_one_output() {
    let place = Place::new();
    place.done("simulate moons --rows 6000 -o log.parquet");
    let child = start(&place, &format!("learn log.parquet {COLUMNS} --set starts=500 -o p.json"));
    appears(&place, ".p.json.lock");
    let who = format!("another process ({}) is working on it", child.id());
    let clock = Instant::now();
    let mut said = String::new();
    // the lock is there a moment before its owner is written into it
    while !said.contains(&who) && clock.elapsed() < Duration::from_secs(10) {
        said = crate::support::words(&place.run(&format!("learn log.parquet {COLUMNS} -o p.json")));
        assert!(said.contains("is working on it"), "{said}");
    }
    assert!(said.contains("p.json: ") && said.contains("hint: ") && said.contains(&who), "{said}");
    interrupt(&child);
    ended(child);
    assert!(!place.path(".p.json.lock").exists());
}

#[test]
fn a_journal_of_another_program_is_not_resumed_and_a_damaged_line_is_made_again() {
    let place = Place::new();
    place.done("simulate moons --rows 3000 --seed 2 -o log.parquet");
    place.write(
        "grid.toml",
        "keep = 1.0\n[recipe]\ncap = [5.0, 6.0, 7.0, 8.0]\nstarts = 1\nproximal_steps = 1\nstd_floor = 0.3\n",
    );
    let args = format!("select log.parquet {COLUMNS} --grid grid.toml");
    place.done(&format!("{args} -o whole.json"));
    // a file that cannot be written in the end leaves the journal behind
    let stopped = place.shell(&format!("ulimit -f 40; counterpoint {args} -o p.json --report p.html"));
    assert_eq!(stopped.status.code(), Some(2), "{}", crate::support::words(&stopped));
    let journal = place.text("p.journal");
    let other = journal.replacen("0.1.0", "0.0.9", 1);
    place.write("p.journal", &other);
    let said =
        place.refused(&format!("{args} -o p.json --resume"), &["p.journal", "first line of the journal is damaged"]);
    assert!(said.contains("delete the journal"), "{said}");
    place.write("p.journal", journal.replacen("\"cost\":", "\"cost\":-", 1));
    let said = place.done(&format!("{args} -o p.json --resume"));
    assert!(said.contains("1 damaged lines of p.journal are left out"), "{said}");
    assert_eq!(place.bytes("whole.json"), place.bytes("p.json"));
}
