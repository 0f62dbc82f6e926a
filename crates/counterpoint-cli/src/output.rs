//! Where results go: checked before any work is done, written together at its end, never half.
//!
//! Ctrl-C is heard here because it must not fall between a temporary file and its renaming: whoever writes holds a lock
//! that the listener takes before it ends the process.

use crate::say;
use counterpoint::data::{check_output, write_together};
use counterpoint::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Exit code after ctrl-C: 128 + SIGINT, as shells count.
const INTERRUPTED: i32 = 130;

/// Held while files are written.
static WRITING: Mutex<()> = Mutex::new(());

/// What can be done after an interruption.
static REMEDY: Mutex<Option<String>> = Mutex::new(None);

/// Ends the process on ctrl-C between two files, never within one, and says what is left.
pub(crate) fn listen() {
    let heard = || {
        let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        let remedy = REMEDY.lock().unwrap_or_else(PoisonError::into_inner).take();
        say::stopped(remedy.as_deref().unwrap_or("nothing was written; run the command again to start over"));
        std::process::exit(INTERRUPTED);
    };
    // without a listener ctrl-C still ends the process, only without a word
    let _ = ctrlc::set_handler(heard);
}

/// Whether files that are there already may be replaced.
static OVERWRITE: AtomicBool = AtomicBool::new(false);

/// Lets outputs replace files that are there already, or not.
pub(crate) fn overwrite(yes: bool) {
    OVERWRITE.store(yes, Ordering::Relaxed);
}

/// Whether `--force` was given.
pub(crate) fn overwrites() -> bool {
    OVERWRITE.load(Ordering::Relaxed)
}

/// What to say on ctrl-C from now on.
pub(crate) fn on_interrupt(remedy: impl Into<String>) {
    *REMEDY.lock().unwrap_or_else(PoisonError::into_inner) = Some(remedy.into());
}

/// Refuses outputs that cannot be written, that are inputs too, that are one and the same file, or that are there already and
/// `--force` was not given.
pub(crate) fn check(outputs: &[&Path], inputs: &[PathBuf]) -> Result<()> {
    for (i, output) in outputs.iter().enumerate() {
        if outputs[..i].contains(output) {
            return Err(Error::data("two outputs would go to this file")
                .at(output.display().to_string())
                .hint("give each its own name"));
        }
        check_output(output, inputs)?;
        if output.is_file() && !overwrites() {
            return Err(Error::data("the file is there already")
                .at(output.display().to_string())
                .hint("give the output another name, or overwrite it with --force"));
        }
    }
    Ok(())
}

/// Like [`check`] for one table, whose format is told by its name.
pub(crate) fn check_table(output: &Path, inputs: &[PathBuf]) -> Result<()> {
    counterpoint::data::check_format(output)?;
    check(&[output], inputs)
}

/// Writes texts, all or none of them.
pub(crate) fn write(files: &[(PathBuf, String)]) -> Result<()> {
    undisturbed(|| write_together(files))
}

/// Runs what writes files; ctrl-C waits for it.
pub(crate) fn undisturbed<T>(work: impl FnOnce() -> T) -> T {
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    work()
}
