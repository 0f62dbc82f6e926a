//! A directory to try things in, and golden files.

use counterpoint::data::{Column, Table};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) const COLUMNS: &str =
    "--context x0,x1 --action action --reward reward --propensity propensity --split split";
pub(crate) const SMALL: &str = "--set starts=1 --set proximal_steps=1 --set max_iterations=20 --set anchors=4";

/// A temporary directory that commands run in.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    /// One with a log of 900 rows, log.csv, and a policy learned from it, policy.json.
    pub(crate) fn with_log() -> Self {
        let place = Self::new();
        place.done("simulate moons --rows 900 --seed 1 -o log.csv");
        // these tests name the columns themselves
        std::fs::remove_file(place.path("log.toml")).unwrap();
        place.done(&format!("learn log.csv {COLUMNS} {SMALL} --no-certify -o policy.json"));
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    /// The program in this directory, its words without colour.
    pub(crate) fn program(&self) -> Command {
        let mut c = Command::new(env!("CARGO_BIN_EXE_counterpoint"));
        c.current_dir(self.0.path()).env("NO_COLOR", "1").env("COLUMNS", "100").env_remove("CLICOLOR_FORCE");
        c
    }

    /// Runs a command whose arguments are separated by spaces; quotes are not read.
    pub(crate) fn run(&self, args: &str) -> Output {
        self.program().args(args.split_whitespace()).output().unwrap()
    }

    /// Runs a command that must succeed: exit 0, or 1 where a certificate says no.
    /// It may write over what an earlier one wrote.
    pub(crate) fn done(&self, args: &str) -> String {
        let out = self.run(&format!("{args} --force"));
        let said = words(&out);
        assert!(matches!(out.status.code(), Some(0 | 1)), "{args}: {said}");
        said
    }

    /// Runs a command in a shell, with `counterpoint` standing for the program.
    pub(crate) fn shell(&self, script: &str) -> Output {
        let program = env!("CARGO_BIN_EXE_counterpoint");
        let mut c = Command::new("sh");
        c.current_dir(self.0.path()).env("NO_COLOR", "1").args(["-c", &script.replace("counterpoint", program)]);
        c.output().unwrap()
    }

    /// Everything below the directory, with sizes.
    pub(crate) fn listing(&self) -> Vec<(String, u64)> {
        fn walk(dir: &Path, base: &Path, found: &mut Vec<(String, u64)>) {
            for entry in std::fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(base).unwrap().display().to_string();
                match path.is_dir() {
                    true => walk(&path, base, found),
                    false => found.push((name, path.metadata().unwrap().len())),
                }
            }
        }
        let mut found = Vec::new();
        walk(self.0.path(), self.0.path(), &mut found);
        found.sort();
        found
    }

    /// Runs a command that must fail with exit 2, say all of `words`, give a hint, and leave the directory as it was.
    #[track_caller]
    pub(crate) fn refused(&self, args: &str, parts: &[&str]) -> String {
        let before = self.listing();
        let out = self.run(args);
        let said = words(&out);
        assert_eq!(out.status.code(), Some(2), "{args}: {said}");
        assert!(said.contains("error: ") && said.contains("hint: "), "{args}: {said}");
        parts.iter().for_each(|p| assert!(said.contains(p), "{args}: no {p:?} in: {said}"));
        assert_eq!(self.listing(), before, "{args} left something");
        said
    }

    /// The log with one cell changed; rows count from 1.
    pub(crate) fn with_cell(&self, to: &str, row: usize, column: &str, cell: &str) {
        let text = self.text("log.csv");
        let mut lines: Vec<String> = text.lines().map(String::from).collect();
        let at = lines[0].split(',').position(|c| c == column).unwrap();
        let mut cells: Vec<&str> = lines[row].split(',').collect();
        cells[at] = cell;
        lines[row] = cells.join(",");
        self.write(to, lines.join("\n") + "\n");
    }

    /// The log with a column replaced.
    pub(crate) fn with_column(&self, to: &str, column: &str, cell: impl Fn(usize, &str) -> String) {
        let text = self.text("log.csv");
        let at = text.lines().next().unwrap().split(',').position(|c| c == column).unwrap();
        let line = |(i, l): (usize, &str)| {
            let mut cells: Vec<String> = l.split(',').map(String::from).collect();
            if i > 0 {
                cells[at] = cell(i - 1, &cells[at]);
            }
            cells.join(",")
        };
        self.write(to, text.lines().enumerate().map(line).collect::<Vec<_>>().join("\n") + "\n");
    }

    /// The log as a table.
    pub(crate) fn table(&self) -> Table {
        let names = ["x0", "x1", "action", "reward", "propensity", "split"].map(String::from);
        Table::read(self.path("log.csv"), &names).unwrap()
    }
}

/// Rows of a table, in the order given.
pub(crate) fn rows(table: &Table, which: &[usize]) -> Table {
    let pick = |c: &Column| match c {
        Column::Numbers(v) => Column::Numbers(which.iter().map(|&i| v[i]).collect()),
        Column::Integers(v) => Column::Integers(which.iter().map(|&i| v[i]).collect()),
        Column::Words(v) => Column::Words(which.iter().map(|&i| v[i].clone()).collect()),
    };
    Table { columns: table.columns.iter().map(|(n, c)| (n.clone(), pick(c))).collect() }
}

/// What the program said to people.
pub(crate) fn words(out: &Output) -> String {
    String::from_utf8_lossy(&[&out.stdout[..], &out.stderr].concat()).into_owned()
}

/// Compares with tests/snapshots/NAME.txt; `UPDATE_SNAPSHOTS=1` writes it anew, to be read before it is committed.
#[track_caller]
pub(crate) fn snapshot(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if expected != text {
        let line = expected.lines().zip(text.lines()).position(|(a, b)| a != b);
        let at = line.unwrap_or(expected.lines().count().min(text.lines().count()));
        panic!(
            "{} differs from line {}:\n  was {:?}\n  is  {:?}\nUPDATE_SNAPSHOTS=1 writes it anew",
            path.display(),
            at + 1,
            expected.lines().nth(at),
            text.lines().nth(at)
        );
    }
}
