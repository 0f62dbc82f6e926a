//! The walls of the house, read from its source: which room may know of which.
//!
//! Only code that ships is read: comments, doc examples and `#[cfg(test)]` modules (which stand last in a file) are not.

#![allow(clippy::unwrap_used, missing_docs)]

use std::path::{Path, PathBuf};

/// One line of code that ships.
struct Line {
    file: PathBuf,
    number: usize,
    code: String,
}

impl Line {
    /// The first folder or file name below `src`.
    fn room(&self) -> &str {
        let first = self.file.components().next().unwrap().as_os_str().to_str().unwrap();
        first.trim_end_matches(".rs")
    }
}

fn files(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") && path.file_stem().is_none_or(|s| s != "tests") {
            into.push(path);
        }
    }
}

fn shipped() -> Vec<Line> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    files(&src, &mut paths);
    paths.sort();
    let mut lines = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let file = path.strip_prefix(&src).unwrap().to_path_buf();
        let shipped = text.lines().take_while(|l| l.trim() != "#[cfg(test)]");
        for (i, line) in shipped.enumerate() {
            let code = line.split("//").next().unwrap().to_string();
            lines.push(Line { file: file.clone(), number: i + 1, code });
        }
    }
    assert!(lines.len() > 2000, "the source is not where it was");
    lines
}

/// The rooms a line names: `crate::room`, and the rooms in `use crate::{..}`.
fn rooms_named(code: &str) -> Vec<String> {
    let word = |s: &str| s.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut found = Vec::new();
    for after in code.split("crate::").skip(1) {
        match after.strip_prefix('{') {
            // top-level names of the braces: those at depth 0
            Some(group) => {
                let mut depth = 0;
                let mut start = true;
                for (i, c) in group.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        ',' if depth == 0 => start = true,
                        _ if start && !c.is_whitespace() => {
                            found.push(word(&group[i..]));
                            start = false;
                        }
                        _ => {}
                    }
                }
            }
            None => found.push(word(after)),
        }
    }
    found
}

/// Names re-exported at the top of the crate, and the rooms they come from.
const SHORT: [(&str, &str); 10] = [
    ("Certificate", "certify"),
    ("Verdict", "certify"),
    ("Log", "data"),
    ("Engine", "engine"),
    ("Error", "error"),
    ("Result", "error"),
    ("Estimator", "estimate"),
    ("Policy", "policy"),
    ("Recipe", "recipe"),
    ("Source", "source"),
];

#[track_caller]
fn none(broken: Vec<String>) {
    assert!(broken.is_empty(), "{} broken:\n{}", broken.len(), broken.join("\n"));
}

/// Lines of `room` that name a room `allowed` refuses.
fn trespasses(room: &str, allowed: impl Fn(&str) -> bool) -> Vec<String> {
    let mut broken = Vec::new();
    for line in shipped().iter().filter(|l| l.room() == room) {
        for name in rooms_named(&line.code) {
            let other = SHORT.iter().find(|(short, _)| *short == name).map_or(name.as_str(), |(_, room)| room);
            if other != room && !allowed(other) {
                broken.push(format!("src/{}:{}: {room} must not know {other}", line.file.display(), line.number));
            }
        }
    }
    broken
}

#[test]
fn policies_and_estimators_meet_only_in_folds() {
    none(trespasses("policy", |other| other != "estimate" && other != "folds"));
    none(trespasses("estimate", |other| other != "policy" && other != "folds"));
}

#[test]
fn the_library_names_no_flags() {
    let flag = |code: &str| code.split("--").skip(1).any(|after| after.starts_with(|c: char| c.is_ascii_lowercase()));
    let named = shipped().into_iter().filter(|l| flag(&l.code));
    none(named.map(|l| format!("src/{}:{}: a flag; say it with a Remedy", l.file.display(), l.number)).collect());
}

#[test]
fn vectors_know_no_statistics() {
    none(trespasses("vector", |_| false));
}

/// Members are asked for facts: a comparison stays silent when a member is added.
#[test]
fn nobody_compares_families_or_mean_models() {
    let lines = shipped();
    let home = |l: &Line| l.file.starts_with("policy/family") || l.file.starts_with("policy/mean");
    let member = |code: &str| {
        code.contains("Family::") || ["Linear", "Clp", "Network"].iter().any(|m| code.contains(&format!("Mean::{m}(")))
    };
    let named = |l: &Line| member(&l.code);
    // what stands before an arrow is a pattern; what stands behind it is not
    let asks = |code: &str| {
        let compares =
            ["== Family::", "!= Family::", "matches!(", "if let ", "else {"].iter().any(|w| code.contains(w));
        member(code) && compares || code.split_once("=>").is_some_and(|(pattern, _)| member(pattern))
    };
    assert!(lines.iter().any(|l| named(l) && l.room() == "policy"), "this test no longer recognises a member");
    none(
        lines
            .iter()
            .filter(|l| !home(l) && asks(&l.code))
            .map(|l| format!("src/{}:{}: ask for a fact: {}", l.file.display(), l.number, l.code.trim()))
            .collect(),
    );
}

#[test]
fn the_optimiser_knows_no_data() {
    none(trespasses("optim", |other| other == "error" || other == "math"));
}

/// Regressions on arrays: they know neither logs nor policies.
#[test]
fn models_know_no_log_and_no_policy() {
    none(trespasses("models", |other| {
        ["engine", "error", "features", "linalg", "math", "rng", "vector"].contains(&other)
    }));
}

#[test]
fn the_engine_knows_no_statistics() {
    none(trespasses("engine", |other| !["policy", "estimate", "features", "folds"].contains(&other)));
}

/// What learners of other methods, and simulators, are built from: these rooms and no others.
#[test]
fn rivals_and_simulators_stand_on_the_rooms_below() {
    let base = ["data", "engine", "error", "estimate", "evaluate", "math", "policy", "rng"];
    let learners = ["certify", "features", "folds", "optim", "select"];
    none(trespasses("rivals", |other| base.contains(&other) || learners.contains(&other)));
    none(trespasses("simulate", |other| base.contains(&other)));
}

/// Learning, evaluating and certifying must not know who else learns, or where a log was simulated.
#[test]
fn nobody_below_knows_rivals_or_simulators() {
    let rooms: std::collections::BTreeSet<String> = shipped().iter().map(|l| l.room().to_string()).collect();
    for room in rooms.iter().filter(|r| !["rivals", "simulate", "lib"].contains(&r.as_str())) {
        none(trespasses(room, |other| !["rivals", "simulate"].contains(&other)));
    }
}

/// The C library of the system rounds as it likes: whatever is not prescribed to the last bit has one home, and so have sums
/// across the lanes of a vector, whose number differs from machine to machine.
#[test]
fn the_same_bits_on_every_machine() {
    let functions = [
        "exp",
        "exp2",
        "exp_m1",
        "ln",
        "ln_1p",
        "log10",
        "log2",
        "powf",
        "powi",
        "cbrt",
        "hypot",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "sin_cos",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "gamma",
        "ln_gamma",
        "erf",
        "erfc",
        "mul_add",
        "mul_sub",
        "reduce_sum",
        "reduce_product",
        "reduce_max",
        "reduce_min",
    ];
    let crates = ["rand_distr", "statrs", "libm::", "Level::new("];
    let home = |l: &Line, word: &str| match word {
        "libm::" => l.room() == "math",
        "reduce_sum" | "Level::new(" => l.room() == "vector",
        _ => false,
    };
    let used = |code: &str, f: &str| {
        code.contains(&format!(".{f}("))
            || ["f64", "f32"].iter().any(|t| {
                code.split(&format!("{t}::{f}"))
                    .skip(1)
                    .any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
            })
    };
    assert!(used("a.map(f64::exp)", "exp") && used("x.ln()", "ln") && !used("f64::exp_m1(x)", "exp"));
    // a log is no logarithm, and columns may be asked for one
    none(
        shipped()
            .iter()
            .flat_map(|l| {
                let f = functions.iter().filter(|f| used(&l.code, f));
                f.chain(crates.iter().filter(|c| l.code.contains(**c))).map(move |word| (l, *word))
            })
            .filter(|(l, word)| !home(l, word))
            .map(|(l, word)| {
                let way = "crate::math has functions, rng draws, vectors mul_add_precise";
                format!("src/{}:{}: {word} differs between machines; {way}", l.file.display(), l.number)
            })
            .collect(),
    );
}

#[test]
fn only_data_opens_files() {
    let opens = |code: &str| {
        ["std::fs", "fs::", "File::", "OpenOptions", "read_to_string", "read_dir"].iter().any(|w| code.contains(w))
    };
    let lines = shipped();
    assert!(
        lines.iter().any(|l| l.room() == "data" && opens(&l.code)),
        "this test no longer recognises an opened file"
    );
    none(
        lines
            .iter()
            .filter(|l| l.room() != "data" && opens(&l.code))
            .map(|l| format!("src/{}:{}: only data opens files: {}", l.file.display(), l.number, l.code.trim()))
            .collect(),
    );
}

#[test]
fn the_library_never_prints_exits_or_reads_the_environment() {
    // `std::process::id` in data/files.rs names a temporary file, and is neither
    let words = [
        "println!",
        "eprintln!",
        "print!(",
        "eprint!(",
        "dbg!",
        "std::env",
        "env::var",
        "env::args",
        "process::exit",
        "stdout()",
        "stderr()",
    ];
    none(
        shipped()
            .iter()
            .filter_map(|l| words.iter().find(|w| l.code.contains(**w)).map(|w| (l, w)))
            .map(|(l, w)| format!("src/{}:{}: the library has no {w}", l.file.display(), l.number))
            .collect(),
    );
}

#[test]
fn rooms_are_found_in_every_form_of_import() {
    assert_eq!(rooms_named("use crate::policy::Policy;"), ["policy"]);
    assert_eq!(rooms_named("use crate::{data::Log, error::{Error, Result}, policy};"), ["data", "error", "policy"]);
    assert_eq!(rooms_named("let x = crate::estimate::Sums::default();"), ["estimate"]);
    assert!(rooms_named("use super::policy;").is_empty());
}
