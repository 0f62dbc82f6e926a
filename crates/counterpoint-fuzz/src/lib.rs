//! The doors through which bytes come in, each as a function from bytes that must not panic, and laws that hold for any numbers.
//!
//! `scripts/fuzz --seconds N` runs all of them on stable Rust: a loop that damages examples in a seeded order, so that every
//! execution can be found again by its number. `fuzz/` has the same bodies for cargo-fuzz, which needs nightly and finds more.

mod corpus;
mod doors;
mod laws;
mod mutate;

pub use mutate::{Dice, mutated};

/// A door or a law.
pub struct Door {
    /// Its name.
    pub name: &'static str,
    /// Takes bytes in; whether they were accepted. It panics where something is wrong with us.
    pub run: fn(&[u8]) -> bool,
    /// Examples that are accepted, to be damaged.
    pub examples: fn() -> Vec<Vec<u8>>,
    /// Words of its language, to be put in.
    pub words: &'static [&'static str],
}

const JSON: &[&str] = &[
    "null",
    "true",
    "[]",
    "{}",
    "\"\"",
    "-1",
    "0",
    "1e999",
    "1e308",
    "-1e-320",
    "0.1",
    "65535",
    "18446744073709551616",
    "[[",
    "\\u0000",
];
const TOML: &[&str] = &[
    "[recipe]\n",
    "= []",
    "= nan",
    "= inf",
    "= -1",
    "= 1e300",
    "= 9223372036854775807",
    "\"\"",
    "'''",
    "#",
    "[[x]]\n",
    "a.b.c = 1\n",
    "true",
];
const TEXT: &[&str] = &[
    "\"",
    "\n",
    ",",
    ";",
    "\t",
    "\r\n",
    "NA",
    "nan",
    "inf",
    "1e308",
    "-0",
    "0,5",
    "50%",
    "\u{feff}",
    "\"\"",
    "2024-01-01",
    "é",
];
const BYTES: &[&str] = &["\0\0\0\0", "\u{7f}", "PAR1", "ARROW1", "\0", "\u{1}"];

/// All doors and laws, each once.
pub const DOORS: [Door; 19] = [
    Door { name: "policy", run: doors::policy, examples: corpus::policies, words: JSON },
    Door { name: "model", run: doors::policy, examples: corpus::models, words: JSON },
    Door { name: "rival", run: doors::policy, examples: corpus::rivals, words: JSON },
    Door { name: "recipe", run: doors::recipe, examples: corpus::recipes, words: TOML },
    Door { name: "grid", run: doors::grid, examples: corpus::grids, words: TOML },
    Door { name: "config", run: doors::config, examples: corpus::configs, words: TOML },
    Door { name: "journal", run: doors::journal, examples: corpus::journals, words: JSON },
    Door { name: "certificate", run: doors::certificate, examples: corpus::certificates, words: JSON },
    Door { name: "state", run: doors::state, examples: corpus::states, words: JSON },
    Door { name: "csv", run: doors::csv, examples: corpus::csv, words: TEXT },
    Door { name: "csv.gz", run: doors::csv_gz, examples: corpus::csv_gz, words: BYTES },
    Door { name: "tsv", run: doors::tsv, examples: corpus::tsv, words: TEXT },
    Door { name: "jsonl", run: doors::jsonl, examples: corpus::jsonl, words: JSON },
    Door { name: "parquet", run: doors::parquet, examples: corpus::parquet, words: BYTES },
    Door { name: "arrow", run: doors::arrow, examples: corpus::arrow, words: BYTES },
    Door { name: "store", run: doors::store, examples: corpus::stores, words: JSON },
    Door { name: "estimates", run: laws::estimates, examples: corpus::numbers, words: BYTES },
    Door { name: "expectations", run: laws::expectations, examples: corpus::numbers, words: BYTES },
    Door { name: "certificates", run: laws::certificates, examples: corpus::numbers, words: BYTES },
];

/// A door by its name.
pub fn door(name: &str) -> Option<&'static Door> {
    DOORS.iter().find(|d| d.name == name)
}
