//! How the program speaks: words to stderr, one JSON object to stdout, colour only on a terminal.

use counterpoint::{Error, Progress};
use indicatif::{ProgressBar, ProgressStyle};
use owo_colors::OwoColorize;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A line for people.
pub(crate) fn line(text: impl std::fmt::Display) {
    // where nobody listens there is nobody to tell
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// A heading for people.
pub(crate) fn heading(text: impl std::fmt::Display) {
    line(format_args!("\n{}", text.bold()));
}

/// The files that were written.
pub(crate) fn wrote(files: &[(PathBuf, String)]) {
    let names: Vec<String> = files.iter().map(|(path, _)| path.display().to_string()).collect();
    if !names.is_empty() {
        line(format_args!("\nwrote {}", names.join(", ")));
    }
}

/// One JSON object for programs.
pub(crate) fn json(value: &serde_json::Value) {
    result(format_args!("{value:#}"));
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
    line(format_args!("\n{} interrupted", "error:".red().bold()));
    line(format_args!("{} {remedy}", "hint:".cyan().bold()));
}

/// An error and its remedy.
pub(crate) fn error(e: &Error) {
    let text = e.to_string();
    let (what, hint) = text.split_once("\nhint: ").unwrap_or((&text, ""));
    line(format_args!("{} {what}", "error:".red().bold()));
    if !hint.is_empty() {
        line(format_args!("{} {hint}", "hint:".cyan().bold()));
    }
}

/// A bar that moves by itself, so that one sees the work is alive; nothing is shown where stderr is not a terminal.
pub(crate) fn bar(length: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// A bar over the starting points of a training run; it shows itself after a second.
pub(crate) struct Training {
    bar: ProgressBar,
    evaluations: Vec<AtomicUsize>,
}

impl Training {
    pub(crate) fn new(starts: usize, proximal_steps: usize) -> Self {
        let template = "{spinner} learning {bar:30} {pos}/{len} steps, {msg} [{elapsed}]";
        let bar = bar((starts * (proximal_steps + 1)) as u64, template);
        Training { bar, evaluations: (0..starts).map(|_| AtomicUsize::new(0)).collect() }
    }

    /// What the library calls after each accepted step.
    pub(crate) fn watch(&self, p: &Progress) -> ControlFlow<()> {
        self.evaluations[p.start].store(p.outer, Ordering::Relaxed);
        self.bar.set_position(self.evaluations.iter().map(|e| e.load(Ordering::Relaxed) as u64).sum());
        self.bar.set_message(format!("objective {:.5}", p.objective));
        ControlFlow::Continue(())
    }

    pub(crate) fn finish(self) {
        self.bar.finish_and_clear();
    }
}
