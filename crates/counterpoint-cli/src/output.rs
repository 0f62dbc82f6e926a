//! Where results go: checked and claimed before any work is done, written together at its end, never half.
//!
//! Signals that end a process are heard here because they must not fall between a temporary file and its renaming: whoever writes
//! holds a lock that the listener takes before it ends the process.

use crate::say;
use counterpoint::data::{Claim, LOG_CONFIG, LogConfig, Table, check_output, write_together};
use counterpoint::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held while files are written.
static WRITING: Mutex<()> = Mutex::new(());

/// What can be done after an interruption.
static REMEDY: Mutex<Option<String>> = Mutex::new(None);

/// Outputs that no other process may work towards.
static CLAIMS: Mutex<Vec<Claim>> = Mutex::new(Vec::new());

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the process on ctrl-C, SIGTERM, SIGHUP and whatever else asks it to end (schedulers send SIGUSR1 or SIGXCPU, ctrl-\ SIGQUIT) between
/// two files, never within one, and says what is left. Must be called before any thread is started: the signals are blocked in all of them
/// and waited for in one. Those that are ignored (nohup) stay ignored.
#[cfg(unix)]
pub(crate) fn listen() {
    use nix::sys::signal::{SigSet, Signal};
    let mut signals = SigSet::empty();
    let ignored = ignored();
    let heard = |s: &Signal| ignored >> (*s as u32 - 1) & 1 == 0;
    let asking = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGUSR1, Signal::SIGUSR2];
    let alarms = [Signal::SIGALRM, Signal::SIGXCPU];
    asking.into_iter().chain(alarms).filter(heard).for_each(|s| signals.add(s));
    // a file that would grow beyond the shell's limit is an error of whoever writes it, told like a full disk
    let mut unheard = SigSet::empty();
    unheard.add(Signal::SIGXFSZ);
    let _ = unheard.thread_block();
    // without a listener they still end the process, only without a word
    if signals.thread_block().is_ok() {
        std::thread::spawn(move || {
            if let Ok(signal) = signals.wait() {
                stop(128 + signal as i32); // as shells count
            }
        });
    }
}

/// Ends the process on ctrl-C between two files, never within one, and says what is left.
#[cfg(not(unix))]
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(|| stop(130));
}

/// The signals that whoever started us has us ignore, one bit each; a blocked signal would be heard all the same.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|l| l.strip_prefix("SigIgn:")).map(str::trim);
    mask.and_then(|m| u64::from_str_radix(m, 16).ok()).unwrap_or(0)
}

fn stop(code: i32) -> ! {
    let _writing = locked(&WRITING);
    let remedy = locked(&REMEDY).take();
    let mut claims = locked(&CLAIMS); // to the end: nothing is claimed any more
    claims.clear();
    say::stopped(remedy.as_deref().unwrap_or("nothing was written; run the command again to start over"));
    std::process::exit(code);
}

/// Gives up all claims on outputs.
pub(crate) fn release() {
    locked(&CLAIMS).clear();
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
    *locked(&REMEDY) = Some(remedy.into());
}

/// Refuses outputs that cannot be written, that are inputs too, that are one and the same file, that another process is working
/// towards, or that are there already and `--force` was not given. From now on they are claimed.
pub(crate) fn check(outputs: &[&Path], inputs: &[PathBuf]) -> Result<()> {
    for (i, output) in outputs.iter().enumerate() {
        if outputs[..i].contains(output) {
            return Err(Error::data("two outputs would go to this file")
                .at(output.display().to_string())
                .hint("give each its own name"));
        }
        writable(output, inputs)?;
        if output.is_file() && !overwrites() {
            return Err(Error::data("the file is there already")
                .at(output.display().to_string())
                .hint("give the output another name, or overwrite it with --force"));
        }
        let mut claims = locked(&CLAIMS); // held before the lock file is made, so that a signal finds it
        claims.extend(Claim::on(output)?);
    }
    Ok(())
}

/// Refuses an output that cannot be written. That is tried with a temporary file, which a signal must not leave behind.
fn writable(output: &Path, inputs: &[PathBuf]) -> Result<()> {
    undisturbed(|| check_output(output, inputs))
}

/// Claims a file that is carried on: it may be there already.
pub(crate) fn claim(output: &Path, inputs: &[PathBuf]) -> Result<()> {
    writable(output, inputs)?;
    let mut claims = locked(&CLAIMS);
    claims.extend(Claim::on(output)?);
    Ok(())
}

/// Like [`check`] for one table, whose format is told by its name.
pub(crate) fn check_table(output: &Path, inputs: &[PathBuf]) -> Result<()> {
    counterpoint::data::check_format(output)?;
    check(&[output], inputs)
}

/// The `log.toml` that goes beside a log we write, so that no later command needs to be told its columns. One that is there
/// already is the user's own word and stays, unless `--force` was given.
pub(crate) fn config_beside(log: &Path, config: &LogConfig) -> Option<(PathBuf, String)> {
    let path = log.with_file_name(LOG_CONFIG);
    let text = config.to_toml();
    if path.exists() && !overwrites() {
        if std::fs::read_to_string(&path).is_ok_and(|old| old != text) {
            say::note(format_args!("{} is there already and stays as it is", path.display()));
        }
        return None;
    }
    Some((path, text))
}

/// Writes texts, all or none of them.
pub(crate) fn write(files: &[(PathBuf, String)]) -> Result<()> {
    let names: Vec<String> = files.iter().map(|(path, _)| path.display().to_string()).collect();
    publish(&names.join(", "), || write_together(files))
}

/// Writes a table.
pub(crate) fn write_table(table: &Table, path: &Path) -> Result<()> {
    publish(&path.display().to_string(), || table.write(path))
}

/// Runs what writes these files; signals wait for it, and afterwards are told that the files are there.
fn publish(names: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    undisturbed(|| {
        work()?;
        if !names.is_empty() {
            on_interrupt(format!("the work was done: {names} is written and whole"));
        }
        Ok(())
    })
}

/// Runs what writes files; signals wait for it.
pub(crate) fn undisturbed<T>(work: impl FnOnce() -> T) -> T {
    let _writing = locked(&WRITING);
    work()
}

/// What goes beside an output: `policy.json` -> `policy.certificate.json`, `policy.v1` -> `policy.v1.certificate.json`.
pub(crate) fn beside(output: &Path, ending: &str) -> PathBuf {
    match output.extension() {
        Some(e) if e != "json" => {
            let mut name = output.file_name().unwrap_or_default().to_os_string();
            name.push(".");
            name.push(ending);
            output.with_file_name(name)
        }
        _ => output.with_extension(ending),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_output_has_its_own_certificate() {
        let of = |p: &str| beside(Path::new(p), "certificate.json").display().to_string();
        assert_eq!(of("a/policy.json"), "a/policy.certificate.json");
        assert_eq!(of("policy"), "policy.certificate.json");
        assert_eq!([of("model.v1"), of("model.v2")], ["model.v1.certificate.json", "model.v2.certificate.json"]);
    }
}
