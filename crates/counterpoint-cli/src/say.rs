//! How the program speaks.
//!
//! Results go to stdout: words for people, or with `--json` one JSON object for programs and no words. Notes, progress and errors
//! go to stderr. `--quiet` leaves errors and JSON. Colour is used on a terminal only, unless `--color` says otherwise.

use clap::{Args, ValueEnum};
use counterpoint::Error;
use owo_colors::OwoColorize;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The version of the JSON that commands print. It grows when a name changes or goes; new names do not change it.
pub(crate) const SCHEMA_VERSION: u32 = 2;

/// What every command understands.
#[derive(Args, Clone, Copy)]
#[command(next_help_heading = "General")]
pub(crate) struct Manners {
    /// Print one JSON object to stdout instead of words.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// No words and no progress: only errors, and JSON where asked.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Overwrite output files that are there already.
    #[arg(long, global = true)]
    pub(crate) force: bool,
    /// When to use colour.
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(crate) color: Color,
}

/// When to use colour.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Even into a file or a pipe.
    Always,
    /// Not at all.
    Never,
}

static JSON: AtomicBool = AtomicBool::new(false);
static QUIET: AtomicBool = AtomicBool::new(false);

impl Manners {
    /// Takes effect for the rest of the process.
    pub(crate) fn adopt(self) {
        JSON.store(self.json, Ordering::Relaxed);
        QUIET.store(self.quiet, Ordering::Relaxed);
        crate::output::overwrite(self.force);
        match self.color {
            Color::Auto => {}
            Color::Always => anstream::ColorChoice::Always.write_global(),
            Color::Never => anstream::ColorChoice::Never.write_global(),
        }
    }
}

/// Whether a program is listening.
pub(crate) fn wants_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

/// Whether nobody wants to hear of progress.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// A line of the result for people.
pub(crate) fn line(text: impl std::fmt::Display) {
    if !wants_json() && !is_quiet() {
        result(text);
    }
}

/// A heading for people.
pub(crate) fn heading(text: impl std::fmt::Display) {
    line(format_args!("\n{}", text.bold()));
}

/// Something to know about the work, beside its result: which file named the columns, what was dropped, a warning.
pub(crate) fn note(text: impl std::fmt::Display) {
    if !is_quiet() {
        // where nobody listens there is nobody to tell
        let _ = writeln!(anstream::stderr(), "{text}");
    }
}

/// The files that were written.
pub(crate) fn wrote(files: &[(PathBuf, String)]) {
    let names: Vec<String> = files.iter().map(|(path, _)| path.display().to_string()).collect();
    if !names.is_empty() {
        line(format_args!("\nwrote {}", names.join(", ")));
    }
}

/// One JSON object for programs, with the version of its grammar. Nothing without `--json`.
pub(crate) fn json(mut value: serde_json::Value) {
    if wants_json() {
        if let Some(object) = value.as_object_mut() {
            object.insert("schema_version".into(), SCHEMA_VERSION.into());
        }
        result(format_args!("{value:#}"));
    }
}

/// Text that is the result itself, such as a recipe.
pub(crate) fn result(text: impl std::fmt::Display) {
    if let Err(e) = writeln!(anstream::stdout(), "{text}") {
        let mut lost = LOST.lock().unwrap_or_else(PoisonError::into_inner);
        lost.get_or_insert(e);
    }
}

/// The first thing that stdout refused.
static LOST: Mutex<Option<std::io::Error>> = Mutex::new(None);

/// Whether all results arrived. A reader that has closed its end (such as `head`) has what it wanted.
pub(crate) fn arrived() -> Result<(), Error> {
    match LOST.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(Error::io("stdout", e)),
        _ => Ok(()),
    }
}

/// The last words after ctrl-C.
pub(crate) fn stopped(remedy: &str) {
    complain("interrupted", remedy);
}

/// An error and its remedy. Errors are said even where `--quiet` was asked for.
pub(crate) fn error(e: &Error) {
    let text = e.to_string();
    let (what, hint) = text.split_once("\nhint: ").unwrap_or((&text, ""));
    complain(what, hint);
}

fn complain(what: &str, hint: &str) {
    let mut to = anstream::stderr();
    let _ = writeln!(to, "{} {what}", "error:".red().bold());
    if !hint.is_empty() {
        let _ = writeln!(to, "{} {hint}", "hint:".cyan().bold());
    }
}
