//! What an experiment is given: the data, the machine, and a memory of what is done already.

use counterpoint::data::{Journal, Resumed};
use counterpoint::{Engine, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

/// How thoroughly to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// A few recipes, small logs: all exhibits together in minutes. Shows that all of it runs; not for quoting.
    Quick,
    /// As much as the paper, or more.
    #[default]
    Full,
}

/// The experiment's surroundings.
pub struct Ask {
    /// How thoroughly.
    pub effort: Effort,
    /// Where `noisymoons.parquet`, `noisycircles.parquet`, `anisotropic.parquet` and `warfarin.parquet` are, if anywhere.
    /// Without it, or without one of them, the potentials are drawn anew and Warfarin is left out.
    pub data: Option<PathBuf>,
    /// Threads for single fits.
    pub engine: Engine,
    journal: Option<Journal>,
    known: Mutex<HashMap<String, serde_json::Value>>,
    watch: Box<dyn Fn(&str) + Send + Sync>,
}

impl Ask {
    /// Surroundings whose memory ends with them.
    pub fn new(effort: Effort, data: Option<PathBuf>, engine: Engine) -> Self {
        Ask { effort, data, engine, journal: None, known: Mutex::default(), watch: Box::new(|_| ()) }
    }

    /// Remembers finished work in a file, and what stands there already.
    pub fn remembering(mut self, path: &Path) -> Result<Self> {
        let writer = env!("CARGO_PKG_VERSION");
        let Resumed { journal, known, damaged } = Journal::resume::<(String, serde_json::Value)>(path, writer)?;
        if damaged > 0 {
            (self.watch)(&format!("{damaged} damaged lines of the journal are left out; their work is done again"));
        }
        self.journal = Some(journal);
        self.known = Mutex::new(known.into_iter().collect());
        Ok(self)
    }

    /// Calls `watch` with a few words whenever a piece of work ends.
    #[must_use]
    pub fn watched(mut self, watch: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.watch = Box::new(watch);
        self
    }

    /// One of the paper's files, if it is there.
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        self.data.as_ref().map(|dir| dir.join(name)).filter(|path| path.exists())
    }

    /// Whether the run is a quick one.
    pub fn quick(&self) -> bool {
        self.effort == Effort::Quick
    }

    /// One of two values by effort.
    pub fn by_effort<T>(&self, quick: T, full: T) -> T {
        if self.quick() { quick } else { full }
    }

    /// Does a piece of work, or recalls its result. `key` must name all that the result depends on (the effort is added);
    /// pieces should take a second to a minute: a run that was stopped repeats at most the pieces it was at. May be called from
    /// many threads at once.
    pub fn once<T: Serialize + DeserializeOwned>(&self, key: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let full = format!("{:?}: {key}", self.effort);
        let known = self.known().get(&full).cloned();
        if let Some(value) = known.and_then(|v| serde_json::from_value(v).ok()) {
            (self.watch)(key);
            return Ok(value);
        }
        let value = work()?;
        if let Some(journal) = &self.journal {
            journal.add(&(&full, &value))?;
        }
        // exhibits share work: what one has done the next need not
        if let Ok(kept) = serde_json::to_value(&value) {
            self.known().insert(full, kept);
        }
        (self.watch)(key);
        Ok(value)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, serde_json::Value>> {
        self.known.lock().unwrap_or_else(|e| e.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finished_work_is_not_repeated() {
        let path = std::env::temp_dir().join(format!("counterpoint-memory-{}", std::process::id()));
        let ask = || {
            let ask = Ask::new(Effort::Quick, None, Engine::single());
            ask.remembering(&path).expect("a journal")
        };
        assert_eq!(ask().once("a", || Ok(vec![1.5, 2.5])).expect("done"), [1.5, 2.5]);
        let again: Vec<f64> = ask().once("a", || unreachable!("it is known")).expect("recalled");
        assert_eq!(again, [1.5, 2.5]);
        assert_eq!(ask().once("b", || Ok(3)).expect("done"), 3);
        std::fs::remove_file(path).expect("removed");
    }

    #[test]
    fn work_is_shared_within_a_run_without_a_file() {
        let ask = Ask::new(Effort::Quick, None, Engine::single());
        assert_eq!(ask.once("a", || Ok(1)).expect("done"), 1);
        assert_eq!(ask.once("a", || Ok(2)).expect("recalled"), 1);
    }
}
