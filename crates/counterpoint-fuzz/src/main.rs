//! The loop on stable Rust: `scripts/fuzz` builds and calls it.

#![allow(clippy::print_stdout, clippy::print_stderr)] // it is a program

use counterpoint_fuzz::{DOORS, Door, mutated};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str = "usage: scripts/fuzz [--seconds N] [--executions N] [--door NAME] [--seed N] [--trace] [FILE ..]

Every door in turn, N seconds or so many executions each. Execution i of a door damages its examples by seed + i, so that it can be
found again: --seed S --executions 1. What makes a door panic is kept in fuzz/found/DOOR-SEED. --trace writes every input there
first, for what ends the process. FILES are given to the door as they are.";

struct Asked {
    seconds: f64,
    executions: u64,
    door: Option<String>,
    seed: u64,
    trace: bool,
    files: Vec<PathBuf>,
}

fn asked() -> Result<Asked, String> {
    let mut asked =
        Asked { seconds: f64::INFINITY, executions: u64::MAX, door: None, seed: 0, trace: false, files: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--seconds" => asked.seconds = value()?.parse().map_err(|_| "--seconds is a number")?,
            "--executions" => asked.executions = value()?.parse().map_err(|_| "--executions is a number")?,
            "--seed" => asked.seed = value()?.parse().map_err(|_| "--seed is a number")?,
            "--door" => asked.door = Some(value()?),
            "--trace" => asked.trace = true,
            _ if word.starts_with("--") => return Err(format!("unknown argument {word:?}")),
            _ => asked.files.push(word.into()),
        }
    }
    if asked.seconds.is_infinite() && asked.executions == u64::MAX {
        asked.seconds = 5.0;
    }
    match &asked.door {
        Some(name) if counterpoint_fuzz::door(name).is_none() => {
            let names: Vec<&str> = DOORS.iter().map(|d| d.name).collect();
            Err(format!("there is no door {name:?}; the doors are {}", names.join(", ")))
        }
        None if !asked.files.is_empty() => Err("files are given to one door: --door NAME".into()),
        _ => Ok(asked),
    }
}

fn main() -> ExitCode {
    let asked = match asked() {
        Ok(asked) => asked,
        Err(e) => {
            eprintln!("{e}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    // what a decoder of somebody else's panics about is caught by the library and is nobody's news
    std::panic::set_hook(Box::new(|_| ()));
    println!("{:<14} {:>12} {:>12} {:>10} {:>8}", "door", "executions", "accepted", "a second", "panics");
    let mut failed = 0;
    for door in DOORS.iter().filter(|d| asked.door.as_ref().is_none_or(|n| n == d.name)) {
        failed += run(door, &asked);
    }
    if failed > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS }
}

/// Runs one door; the number of inputs that made it panic.
fn run(door: &Door, asked: &Asked) -> u64 {
    let found = Path::new("fuzz/found");
    let keep = |name: String, input: &[u8]| {
        let written = std::fs::create_dir_all(found).and_then(|()| std::fs::write(found.join(&name), input));
        if let Err(e) = written {
            eprintln!("{name}: {e}");
        }
    };
    let (mut executions, mut accepted, mut panics) = (0u64, 0u64, 0u64);
    let clock = Instant::now();
    let mut one = |name: &str, input: &[u8]| {
        executions += 1;
        match catch_unwind(AssertUnwindSafe(|| (door.run)(input))) {
            Ok(yes) => accepted += u64::from(yes),
            Err(why) => {
                panics += 1;
                let words = why.downcast_ref::<String>().map(String::as_str);
                let words = words.or_else(|| why.downcast_ref::<&str>().copied()).unwrap_or("?");
                println!("{} panics at {name}: {words}", door.name);
                keep(format!("{}-{name}", door.name), input);
            }
        }
    };
    for file in &asked.files {
        match std::fs::read(file) {
            Ok(input) => one(&file.file_name().unwrap_or_default().to_string_lossy(), &input),
            Err(e) => eprintln!("{}: {e}", file.display()),
        }
    }
    if asked.files.is_empty() {
        let examples = (door.examples)();
        let span = Duration::from_secs_f64(asked.seconds.min(1e9));
        for i in 0..asked.executions {
            if i % 16 == 0 && clock.elapsed() > span {
                break;
            }
            let seed = asked.seed.wrapping_add(i);
            let input = mutated(&examples, door.words, seed);
            if asked.trace {
                keep("last".into(), &input);
            }
            one(&seed.to_string(), &input);
        }
    }
    let rate = executions as f64 / clock.elapsed().as_secs_f64().max(1e-9);
    println!("{:<14} {executions:>12} {accepted:>12} {rate:>10.0} {panics:>8}", door.name);
    panics
}
