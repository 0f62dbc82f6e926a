//! A selection killed at any moment and taken up again ends in the same policy, byte for byte.

#![allow(clippy::unwrap_used, missing_docs)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const GRID: &str = "keep = 0.5\nfirst_starts = 1\nfirst_proximal_steps = 1\n[recipe]\ncap = [5.0, 10.0, 20.0]\nanchors = [4, 6]\n\
                    starts = 2\nproximal_steps = 3\nmax_iterations = 60\ncontext_map = \"quadratic\"\n";

fn command(dir: &Path, output: &str, resume: bool) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_counterpoint"));
    c.current_dir(dir).args(["select", "log.parquet", "--grid", "grid.toml", "-o", output]);
    c.args("--context x0,x1 --action action --reward reward --propensity propensity --split split".split(' '));
    if resume {
        c.arg("--resume");
    }
    c.stdout(Stdio::null()).stderr(Stdio::null());
    c
}

/// Kills `kills` runs at times spread over the length of a whole one, resuming each time, then lets it finish.
fn killed_and_resumed(kills: u32) {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    std::fs::write(d.join("grid.toml"), GRID).unwrap();
    let made = Command::new(env!("CARGO_BIN_EXE_counterpoint"))
        .current_dir(d)
        .args("simulate moons --rows 6000 --seed 2 -o log.parquet".split(' '))
        .stderr(Stdio::null())
        .status();
    assert!(made.unwrap().success());
    let clock = Instant::now();
    assert!(matches!(command(d, "whole.json", false).status().unwrap().code(), Some(0 | 1))); // certified or not
    let whole = clock.elapsed();
    for i in 0..kills {
        // fractions of a run without pattern (golden ratio)
        let moment = whole.mul_f64((f64::from(i + 1) * 0.618_033_988_75).fract());
        let mut child = command(d, "killed.json", i > 0).spawn().unwrap();
        std::thread::sleep(moment.max(Duration::from_millis(5)));
        let _ = child.kill(); // SIGKILL: no handler runs
        child.wait().unwrap();
    }
    assert!(matches!(command(d, "killed.json", true).status().unwrap().code(), Some(0 | 1)));
    assert_eq!(std::fs::read(d.join("whole.json")).unwrap(), std::fs::read(d.join("killed.json")).unwrap());
    let boards = ["whole", "killed"].map(|n| std::fs::read(d.join(format!("{n}.leaderboard.json"))).unwrap());
    assert_eq!(boards[0], boards[1]);
    assert!(!d.join("killed.journal").exists(), "the journal goes when the work is done");
}

#[test]
fn killed_three_times_the_policy_is_the_same() {
    killed_and_resumed(3);
}

#[test]
#[ignore = "takes minutes; scripts/check --all runs it"]
fn killed_twenty_times_the_policy_is_the_same() {
    killed_and_resumed(20);
}
