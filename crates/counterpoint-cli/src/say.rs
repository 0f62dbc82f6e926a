//! How the program speaks.
//!
//! Results go to stdout: words for people, or with `--json` one JSON object for programs and no words. Notes, progress and errors
//! go to stderr. `--quiet` leaves errors and JSON. Colour is used on a terminal only, unless `--color` says otherwise.
//!
//! Names and values of a log are somebody else's words. Whatever is said goes through [`plain`], so that none of them can move the
//! cursor, name the window or write backwards; colour is added behind it.

use clap::{Args, ValueEnum};
use counterpoint::Error;
use counterpoint::error::Kind as ErrorKind;
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
        result(plain(text));
    }
}

/// A sentence for people, in lines that fit a terminal of 80 columns.
pub(crate) fn wrapped(text: &str) {
    let mut row = String::new();
    for word in text.split_whitespace() {
        if !row.is_empty() && row.chars().count() + word.chars().count() > 75 {
            line(format_args!("  {row}"));
            row.clear();
        }
        if !row.is_empty() {
            row.push(' ');
        }
        row.push_str(word);
    }
    line(format_args!("  {row}"));
}

/// The beginning of a text that has room for so many characters.
pub(crate) fn short(text: &str, room: usize) -> String {
    match text.chars().count() > room {
        true => text.chars().take(room.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_string(),
    }
}

/// A heading for people.
pub(crate) fn heading(text: impl std::fmt::Display) {
    if !wants_json() && !is_quiet() {
        result(format_args!("\n{}", plain(text).bold()));
    }
}

/// How good a piece of news is.
#[derive(Clone, Copy)]
pub(crate) enum News {
    /// Green.
    Good,
    /// Blue.
    Hopeful,
    /// Yellow.
    Mixed,
    /// Red.
    Bad,
}

/// A heading that ends in news.
pub(crate) fn news(text: &str, what: &str, news: News) {
    let what = plain(what);
    let coloured = match news {
        News::Good => what.green().to_string(),
        News::Hopeful => what.blue().to_string(),
        News::Mixed => what.yellow().to_string(),
        News::Bad => what.red().to_string(),
    };
    if !wants_json() && !is_quiet() {
        result(format_args!("\n{}", format_args!("{} {coloured}", plain(text)).bold()));
    }
}

/// Text in which nothing is left that a terminal would obey: control characters but line ends and tabs, and marks that turn the
/// direction of writing, are spelt out.
fn plain(text: impl std::fmt::Display) -> String {
    spelt(&text.to_string(), |c| format!("\\u{{{:x}}}", u32::from(c)))
}

fn spelt(text: &str, spell: impl Fn(char) -> String) -> String {
    let obeyed = |c: char| {
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        turns || (c.is_control() && c != '\n' && c != '\t')
    };
    if !text.contains(obeyed) {
        return text.to_string();
    }
    text.chars().map(|c| if obeyed(c) { spell(c) } else { c.to_string() }).collect()
}

/// Something to know about the work, beside its result: which file named the columns, what was dropped, a warning.
pub(crate) fn note(text: impl std::fmt::Display) {
    if !is_quiet() {
        // where nobody listens there is nobody to tell
        let _ = writeln!(anstream::stderr(), "{}", plain(text));
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
        result(spelt(&format!("{value:#}"), |c| format!("\\u{:04x}", u32::from(c)))); // within strings: still JSON
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

/// A number for a table, in at most nine characters: five digits, or powers of ten where these say nothing.
pub(crate) fn number(v: f64) -> String {
    let size = v.abs();
    match size {
        _ if v == 0.0 || !v.is_finite() => format!("{v}"),
        _ if !(1e-3..1e6).contains(&size) => format!("{v:.2e}"),
        _ => {
            let whole = (size.log10().floor() as i32 + 1).max(1);
            format!("{v:.*}", (5 - whole).clamp(0, 4) as usize)
        }
    }
}

/// A number with four digits behind the point, or with powers of ten where these say nothing.
pub(crate) fn fixed(v: f64) -> String {
    let size = v.abs();
    match v == 0.0 || !v.is_finite() || (1e-3..1e9).contains(&size) {
        true => format!("{v:.4}"),
        false => format!("{v:.3e}"),
    }
}

/// A name for a table, cut where it is longer than its column.
pub(crate) fn name(text: &str, width: usize) -> String {
    match text.chars().count() > width {
        true => text.chars().take(width - 2).chain("..".chars()).collect(),
        false => text.to_string(),
    }
}

/// A line of a table whose last column may be long: it goes on below itself.
pub(crate) fn wrapped_after(start: &str, text: &str) {
    const WIDTH: usize = 80;
    let indent = start.chars().count();
    let mut row = start.to_string();
    for word in text.split_inclusive(", ") {
        let ends = row.chars().count() + word.trim_end().chars().count();
        if ends > WIDTH && row.chars().count() > indent {
            line(row.trim_end());
            row = " ".repeat(indent);
        }
        row.push_str(word);
    }
    line(row.trim_end());
}

/// The last words after ctrl-C.
pub(crate) fn stopped(remedy: &str) {
    complain("interrupted", remedy);
}

/// An error and its remedy. Errors are said even where `--quiet` was asked for.
pub(crate) fn error(e: &Error) {
    let general = match e.kind() {
        ErrorKind::Recipe => "`counterpoint recipe` lists every field with its meaning and range",
        ErrorKind::Policy => "policy files are written by `learn`, `select` and `rival`",
        ErrorKind::Io => "can the file be read, or written, by other programs?",
        _ => "`counterpoint describe` says what a log holds; --help what a command needs",
    };
    complain(&e.what(), &e.remedy().map_or(general.to_string(), |hint| hint.words(crate::remedy::flag)));
}

fn complain(what: &str, hint: &str) {
    let mut to = anstream::stderr();
    let _ = writeln!(to, "{} {}", "error:".red().bold(), plain(what));
    if !hint.is_empty() {
        let _ = writeln!(to, "{} {}", "hint:".cyan().bold(), plain(hint));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_never_rows_of_noughts() {
        let said = [0.0, 1.25, -12_345.678_91, 2.5e-6, -1e140].map(fixed);
        assert_eq!(said, ["0.0000", "1.2500", "-12345.6789", "2.500e-6", "-1.000e140"]);
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_said() {
        let hostile = "\u{1b}]0;title\u{7}\u{1b}[31mred\u{9b}2J\u{202e}gnp\r\u{7f}";
        assert_eq!(plain(hostile), "\\u{1b}]0;title\\u{7}\\u{1b}[31mred\\u{9b}2J\\u{202e}gnp\\u{d}\\u{7f}");
        assert_eq!(plain("Zürich\t5 €\n"), "Zürich\t5 €\n");
        let value = serde_json::json!({ "name": hostile });
        let text = spelt(&value.to_string(), |c| format!("\\u{:04x}", u32::from(c)));
        assert!(!text.contains(|c: char| c.is_control()));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn numbers_fit_the_column_of_a_table() {
        let texts = [0.0, 0.53017, -12.34567, 99_999.9, 123_456.7, 1e9, -1.5e-7, -0.123_456].map(number);
        assert_eq!(texts, ["0", "0.5302", "-12.346", "100000", "123457", "1.00e9", "-1.50e-7", "-0.1235"]);
        assert!(texts.iter().all(|t| t.len() <= 8));
        assert_eq!((name("x0", 14), name("a_rather_long_name", 14)), ("x0".into(), "a_rather_lon..".to_string()));
    }
}
