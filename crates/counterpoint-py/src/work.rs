//! Work without the interpreter's lock, which stops when Python is interrupted.
//!
//! The work runs on a thread of its own; the caller's thread waits, looks every few hundredths of a second whether there is a signal, and
//! tells a callback how far the work is. Signals reach Python in its main thread only: in others the work is not interrupted.

use crate::errors::Fault;
use counterpoint::engine::Stopped;
use counterpoint::{Engine, Result};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(40);

/// How far the work is, and whether it should stop.
#[derive(Default)]
pub(crate) struct Watch {
    stop: Arc<AtomicBool>,
    /// Whether the work can end early with what it has; then it is not broken off.
    pub(crate) keeps: AtomicBool,
    /// It was asked to end early.
    pub(crate) ending: AtomicBool,
    pub(crate) done: AtomicU64,
    pub(crate) of: AtomicU64,
}

impl Watch {
    /// An engine that gives up when Python is interrupted.
    pub(crate) fn engine(&self, threads: usize) -> Result<Engine> {
        Ok(Engine::new(threads)?.stopped_by(self.stop.clone()))
    }

    fn interrupt(&self) {
        match self.keeps.load(Ordering::Relaxed) {
            true => self.ending.store(true, Ordering::Relaxed),
            false => self.stop.store(true, Ordering::Relaxed),
        }
    }

    fn report(&self, progress: Option<&Py<PyAny>>) -> PyResult<()> {
        Python::attach(|py| {
            py.check_signals()?;
            let of = self.of.load(Ordering::Relaxed);
            match (progress, of) {
                // nobody knows how much there is to do: a bar can still show that something is done
                (Some(tell), 0) if tell.bind(py).hasattr("tick")? => tell.call_method0(py, "tick").map(|_| ()),
                (Some(tell), 1..) => tell.call1(py, (self.done.load(Ordering::Relaxed), of)).map(|_| ()),
                _ => Ok(()),
            }
        })
    }
}

/// Does the work and returns what came of it; an interruption is an error, unless the work ended early with what it had.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Watch) -> Result<T> + Send,
) -> PyResult<T> {
    let watch = Watch::default();
    let (outcome, interruption) = py.detach(|| {
        std::thread::scope(|scope| {
            let (bell, rings) = channel();
            let watch = &watch;
            let worker = scope.spawn(move || {
                let outcome = catch_unwind(AssertUnwindSafe(|| work(watch)));
                let _ = bell.send(());
                outcome
            });
            let mut interruption = None;
            while let Err(RecvTimeoutError::Timeout) = rings.recv_timeout(LOOK) {
                if interruption.is_none() {
                    interruption = watch.report(progress.as_ref()).err();
                    if interruption.is_some() {
                        watch.interrupt();
                    }
                }
            }
            (worker.join().unwrap_or_else(Err), interruption)
        })
    });
    match (outcome, interruption) {
        (Ok(Ok(value)), None) => Ok(value),
        (Ok(Ok(value)), Some(_)) if watch.ending.load(Ordering::Relaxed) => Ok(value),
        (Ok(Err(e)), None) => Err(Fault::from(e).into()),
        (Err(panic), interruption) if panic.is::<Stopped>() => {
            Err(interruption.unwrap_or_else(|| PyKeyboardInterrupt::new_err(())))
        }
        (Err(panic), _) => resume_unwind(panic),
        (Ok(_), Some(interruption)) => Err(interruption),
    }
}

/// Damage to a file that makes a decoder panic is reported as an error; it need not be written to stderr too.
pub(crate) fn be_quiet_about_damage() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !counterpoint::data::decoding() {
                loud(info);
            }
        }));
    });
}
