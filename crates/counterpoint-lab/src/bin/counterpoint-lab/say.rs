//! How the program speaks: results to stdout, words and progress to stderr.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::Write;
use std::time::Duration;

/// A line for people.
pub(crate) fn line(text: impl std::fmt::Display) {
    // where nobody listens there is nobody to tell
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A line of the result.
pub(crate) fn result(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// One JSON value for programs.
pub(crate) fn json(value: &serde_json::Value) {
    result(format_args!("{value:#}"));
}

/// A bar that moves by itself, so that one sees the work is alive; nothing is shown where stderr is not a terminal.
pub(crate) fn bar(template: &str) -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
