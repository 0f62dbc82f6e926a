//! `counterpoint-lab reproduce`: the paper's tables and figures, run again.
//!
//! Experiments compute (the laboratory's `paper`), this command runs them and keeps what they show, `counterpoint-report` draws it. Finished pieces of
//! work stand in a journal beside the results and finished exhibits in files of their own, so that a run that was stopped
//! goes on where it was. index.html and paper.md show all that is finished.

mod csv;
mod finished;
mod markdown;
mod page;
#[cfg(test)]
mod tests;
mod wording;

use crate::say;
use clap::Args;
use counterpoint::data::write_text;
use counterpoint::{Engine, Error, Result};
use counterpoint_lab::paper::{Ask, Effort, Experiment, exhibits};
use finished::{Finished, Surroundings};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Run the paper's tables and figures again, and set ours beside the printed numbers.
///
/// Writes for every exhibit NAME.json and, for each picture, NAME-PICTURE.svg and .csv; then index.html (one page that loads
/// nothing) and paper.md with all exhibits that are finished. Work that is done is kept in journal.jsonl: a run that was
/// stopped goes on with the same command.
#[derive(Args)]
#[command(
    after_help = "Exit 0: done; 2: an experiment failed (the others were run).\n\nExamples:\n  counterpoint-lab reproduce --list\n  counterpoint-lab reproduce table1 table5 --quick --out again\n  counterpoint-lab reproduce all --data papers-files --out again"
)]
pub(crate) struct Reproduce {
    /// Names of experiments (table2, clipping), the paper's figures by number (figure5), or all.
    names: Vec<String>,
    /// List the experiments and end.
    #[arg(long)]
    list: bool,
    /// A few recipes, small logs: everything in minutes. Shows that it runs; not for quoting.
    #[arg(long)]
    quick: bool,
    /// Directory with noisymoons.parquet, noisycircles.parquet, anisotropic.parquet and warfarin.parquet. Without it, or what is
    /// missing there, the synthetic sets are drawn anew and Warfarin is left out.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Directory to write to.
    #[arg(short, long, value_name = "DIR", required_unless_present = "list")]
    out: Option<PathBuf>,
    /// Threads; 0 means one per core. The results do not depend on it.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Forget what was done before, and run the named experiments from the start.
    #[arg(long)]
    fresh: bool,
    /// Print one JSON object to stdout.
    #[arg(long)]
    json: bool,
}

impl Reproduce {
    pub(crate) fn run(&self) -> Result<()> {
        if self.list {
            self.tell_list();
            return Ok(());
        }
        let wanted = wanted(&self.names)?;
        let dir = self.out.clone().unwrap_or_default();
        let effort = if self.quick { Effort::Quick } else { Effort::Full };
        let now = Surroundings::new(effort, self.data.as_deref())?;
        std::fs::create_dir_all(&dir).map_err(|e| Error::io(&dir, e))?;
        let journal = dir.join("journal.jsonl");
        if self.fresh {
            let old = wanted.iter().map(|e| Finished::path(&dir, e.name)).chain([journal.clone()]);
            old.for_each(|path| drop(std::fs::remove_file(path)));
        }
        let bar = say::bar("{spinner} {prefix} {pos} pieces [{elapsed}] {wide_msg}");
        let watch = bar.clone();
        let ask = Ask::new(effort, self.data.clone(), Engine::new(self.threads)?).remembering(&journal)?.watched(
            move |what| {
                watch.inc(1);
                watch.set_message(what.to_string());
            },
        );
        same_surroundings(&ask, &now, &journal)?;
        // experiments spread their fits over rayon's threads
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build();
        let pool = pool.map_err(|e| Error::data(format!("cannot start threads: {e}")))?;
        let mut failed: Vec<(&str, Error)> = Vec::new();
        for experiment in &wanted {
            if Finished::read(&dir, experiment.name, &now).is_some() {
                bar.suspend(|| say::line(format_args!("{:<14} is there already", experiment.name)));
                continue;
            }
            let clock = Instant::now();
            bar.reset();
            bar.set_prefix(experiment.name);
            let shown = pool.install(|| (experiment.run)(&ask)).and_then(|e| {
                let kept = Finished::new(experiment, now.clone(), e);
                kept.write(&dir).and_then(|()| publish(&dir, &now)).map(|()| kept)
            });
            let seconds = clock.elapsed().as_secs_f64();
            match shown {
                Ok(kept) => bar.suspend(|| {
                    let counts = wording::counts(&kept.exhibit.claims);
                    say::line(format_args!("{:<14} done in {seconds:.1} s  {counts}", experiment.name));
                }),
                Err(e) => {
                    bar.suspend(|| say::line(format_args!("{:<14} failed after {seconds:.1} s", experiment.name)));
                    failed.push((experiment.name, e));
                }
            }
        }
        bar.finish_and_clear();
        publish(&dir, &now)?;
        self.conclude(&dir, &now, &failed)
    }

    /// Says where everything is, and what failed.
    fn conclude(&self, dir: &Path, now: &Surroundings, failed: &[(&str, Error)]) -> Result<()> {
        say::line(format_args!("wrote {} and {}", dir.join("index.html").display(), dir.join("paper.md").display()));
        if self.json {
            let done: Vec<String> = Finished::all(dir, now).into_iter().map(|k| k.name).collect();
            let failed: Vec<_> =
                failed.iter().map(|(name, e)| serde_json::json!({"name": name, "error": e.to_string()})).collect();
            say::json(&serde_json::json!({"out": dir.display().to_string(), "finished": done, "failed": failed}));
        }
        if failed.is_empty() {
            return Ok(());
        }
        for (name, e) in failed {
            say::line(format_args!("{name}: {e}"));
        }
        let names: Vec<&str> = failed.iter().map(|f| f.0).collect();
        Err(Error::data(format!("{} of the experiments failed: {}", names.len(), names.join(", ")))
            .hint("the others are finished; the same command tries these again"))
    }

    fn tell_list(&self) {
        if self.json {
            let all: Vec<_> = exhibits()
                .iter()
                .map(|e| serde_json::json!({"name": e.name, "figures": e.figures().collect::<Vec<_>>(), "title": e.title, "place": e.place}))
                .collect();
            say::json(&serde_json::Value::Array(all));
            return;
        }
        for e in exhibits() {
            say::result(format_args!("{:<14} {:<34} {}", e.name, e.place, e.title));
        }
    }
}

/// The named experiments in the order of the paper.
fn wanted(names: &[String]) -> Result<Vec<&'static Experiment>> {
    let known = || exhibits().iter().map(|e| e.name).collect::<Vec<_>>().join(", ");
    if names.is_empty() {
        return Err(Error::data("no experiment is named").hint(format!("name some, or all; there are {}", known())));
    }
    if let Some(name) = names.iter().find(|n| *n != "all" && !exhibits().iter().any(|e| e.answers_to(n))) {
        return Err(Error::data(format!("{name:?} is not an experiment"))
            .hint(format!("there are {}, the paper's figures as figure5, and all", known())));
    }
    let all = names.iter().any(|n| n == "all");
    Ok(exhibits().iter().filter(|e| all || names.iter().any(|n| e.answers_to(n))).collect())
}

/// Refuses to go on with pieces of work that were done with other data, another version or on another kind of machine.
fn same_surroundings(ask: &Ask, now: &Surroundings, journal: &Path) -> Result<()> {
    let then: Surroundings = ask.once("surroundings", || Ok(now.clone()))?;
    if then == *now {
        return Ok(());
    }
    Err(Error::data("the journal is of a run with other data, of another version, or on another kind of machine")
        .at(journal.display().to_string())
        .hint("give the --data of that run, another --out, or --fresh to start over"))
}

/// index.html and paper.md with all that is finished.
fn publish(dir: &Path, now: &Surroundings) -> Result<()> {
    let kept = Finished::all(dir, now);
    write_text(dir.join("paper.md"), &markdown::text(&kept, now))?;
    write_text(dir.join("index.html"), &page::html(&kept, now))
}
