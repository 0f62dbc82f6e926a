//! How the program speaks: words to stderr, one JSON object to stdout, colour only on a terminal.

use counterpoint::{Error, Progress};
use indicatif::{ProgressBar, ProgressStyle};
use owo_colors::OwoColorize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A line for people.
#[allow(clippy::print_stderr)]
pub(crate) fn line(text: impl std::fmt::Display) {
    anstream::eprintln!("{text}");
}

/// A heading for people.
pub(crate) fn heading(text: impl std::fmt::Display) {
    line(format_args!("\n{}", text.bold()));
}

/// One JSON object for programs.
#[allow(clippy::print_stdout)]
pub(crate) fn json(value: &serde_json::Value) {
    anstream::println!("{value:#}");
}

/// Text that is the result itself, such as a recipe.
#[allow(clippy::print_stdout)]
pub(crate) fn result(text: impl std::fmt::Display) {
    anstream::println!("{text}");
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

/// A bar over the starting points of a training run; it shows itself after a second.
pub(crate) struct Training {
    bar: ProgressBar,
    evaluations: Vec<AtomicUsize>,
}

impl Training {
    pub(crate) fn new(starts: usize, proximal_steps: usize) -> Self {
        let bar = ProgressBar::new((starts * (proximal_steps + 1)) as u64);
        if let Ok(style) =
            ProgressStyle::with_template("{spinner} learning {bar:30} {pos}/{len} steps, {msg} [{elapsed}]")
        {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
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
