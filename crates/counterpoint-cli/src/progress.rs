//! Progress of anything that takes longer than a moment: a bar on a terminal, else a line every half minute.

use crate::say;
use counterpoint::learn::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often a line is written where stderr is no terminal (a job's log file, say).
const EVERY: Duration = Duration::from_secs(30);

/// Progress of one piece of work.
pub(crate) struct Bar {
    bar: ProgressBar,
    reporter: Option<Reporter>,
}

/// Writes lines until it is told to stop.
struct Reporter {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: JoinHandle<()>,
}

impl Bar {
    /// A bar of this length. `what` says what is done, `unit` what is counted: "learning", "steps".
    pub(crate) fn new(length: u64, what: &'static str, unit: &'static str) -> Self {
        let template =
            format!("{{spinner}} {what} {{bar:30}} {{pos}}/{{len}} {unit}{{msg}} [{{elapsed}}, {{eta}} left]");
        let bar = ProgressBar::new(length);
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        if say::is_quiet() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
            return Bar { bar, reporter: None };
        }
        if std::io::stderr().is_terminal() {
            bar.enable_steady_tick(Duration::from_millis(200));
            return Bar { bar, reporter: None };
        }
        let reporter = Some(Reporter::start(bar.clone(), what, unit));
        Bar { bar, reporter }
    }

    /// One more is done.
    pub(crate) fn step(&self) {
        self.bar.inc(1);
    }

    /// So many are done, of so many.
    pub(crate) fn at(&self, done: u64, of: u64) {
        self.bar.set_length(of);
        self.bar.set_position(done);
    }

    /// What else there is to say.
    pub(crate) fn message(&self, text: impl std::fmt::Display) {
        self.bar.set_message(format!(", {text}"));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        if let Some(reporter) = self.reporter.take() {
            reporter.finish();
        }
    }
}

impl Reporter {
    fn start(bar: ProgressBar, what: &'static str, unit: &'static str) -> Self {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let heard = stop.clone();
        let begun = Instant::now();
        let thread = std::thread::spawn(move || {
            let (stopped, bell) = &*heard;
            let mut done = stopped.lock().unwrap_or_else(PoisonError::into_inner);
            while !*done {
                let (guard, waited) = bell.wait_timeout(done, period()).unwrap_or_else(PoisonError::into_inner);
                done = guard;
                if waited.timed_out() && !*done {
                    let (at, of) = (bar.position(), bar.length().unwrap_or_default());
                    say::note(format_args!(
                        "{what}: {at}/{of} {unit}{} [{} s]",
                        bar.message(),
                        begun.elapsed().as_secs()
                    ));
                }
            }
        });
        Reporter { stop, thread }
    }

    fn finish(self) {
        *self.stop.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.1.notify_all();
        let _ = self.thread.join();
    }
}

/// Half a minute, or what COUNTERPOINT_PROGRESS_SECONDS says.
fn period() -> Duration {
    let asked = std::env::var("COUNTERPOINT_PROGRESS_SECONDS").ok().and_then(|s| s.parse::<f64>().ok());
    asked.filter(|s| *s > 0.0 && *s < 1e6).map_or(EVERY, Duration::from_secs_f64)
}

/// Progress over the starting points of a training run.
pub(crate) struct Training {
    bar: Bar,
    steps: Vec<AtomicUsize>,
}

impl Training {
    pub(crate) fn new(starts: usize, proximal_steps: usize) -> Self {
        let bar = Bar::new((starts * (proximal_steps + 1)) as u64, "learning", "steps");
        Training { bar, steps: (0..starts).map(|_| AtomicUsize::new(0)).collect() }
    }

    /// What the library calls after each accepted step.
    pub(crate) fn watch(&self, p: &Progress) -> ControlFlow<()> {
        self.steps[p.start].store(p.outer, Ordering::Relaxed);
        let done: usize = self.steps.iter().map(|s| s.load(Ordering::Relaxed)).sum();
        self.bar.bar.set_position(done as u64);
        self.bar.message(format_args!("objective {:.5}", p.objective));
        ControlFlow::Continue(())
    }
}
