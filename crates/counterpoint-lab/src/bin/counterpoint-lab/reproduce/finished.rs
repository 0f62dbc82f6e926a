//! Exhibits on disk: one JSON file each, with what they depend on, and their pictures.

use super::csv;
use counterpoint::data::write_text;
use counterpoint::{Error, Result};
use counterpoint_lab::paper::{Cell, Effort, Exhibit, Experiment, exhibits};
use counterpoint_report::chart::{Sheet, svg_file};
use counterpoint_report::sha256_hex;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The files that experiments may read.
const FILES: [&str; 4] = ["noisymoons.parquet", "noisycircles.parquet", "anisotropic.parquet", "warfarin.parquet"];

/// What a run depends on, besides its code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Surroundings {
    pub(crate) version: String,
    pub(crate) effort: Effort,
    /// Names of the files of data that are there, with the beginning of their SHA-256.
    pub(crate) files: Vec<(String, String)>,
}

impl Surroundings {
    pub(crate) fn new(effort: Effort, data: Option<&Path>) -> Result<Self> {
        let mut files = Vec::new();
        if let Some(dir) = data {
            if !dir.is_dir() {
                return Err(Error::data("there is no such directory").at(dir.display().to_string()));
            }
            for name in FILES {
                let path = dir.join(name);
                if path.exists() {
                    let bytes = std::fs::read(&path).map_err(|e| Error::io(&path, e))?;
                    files.push((name.to_string(), sha256_hex(&bytes)[..16].to_string()));
                }
            }
            if files.is_empty() {
                return Err(Error::data("none of the files of data is there")
                    .at(dir.display().to_string())
                    .hint(format!("--data is a directory with {}", FILES.join(", "))));
            }
        }
        Ok(Surroundings { version: env!("CARGO_PKG_VERSION").into(), effort, files })
    }
}

/// A finished exhibit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Finished {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) place: String,
    pub(crate) run: Surroundings,
    #[serde(flatten)]
    pub(crate) exhibit: Exhibit,
}

impl Finished {
    pub(crate) fn new(experiment: &Experiment, run: Surroundings, exhibit: Exhibit) -> Self {
        Finished {
            name: experiment.name.into(),
            title: experiment.title.into(),
            place: experiment.place.into(),
            run,
            exhibit: tidy(exhibit),
        }
    }

    /// Where an exhibit stands in a directory.
    pub(crate) fn path(dir: &Path, name: &str) -> PathBuf {
        dir.join(format!("{name}.json"))
    }

    /// A finished exhibit of this run, if it is there.
    pub(crate) fn read(dir: &Path, name: &str, run: &Surroundings) -> Option<Finished> {
        let text = std::fs::read_to_string(Finished::path(dir, name)).ok()?;
        let kept: Finished = serde_json::from_str(&text).ok()?;
        (kept.run == *run).then_some(kept)
    }

    /// All finished exhibits of this run, in the order of the paper.
    pub(crate) fn all(dir: &Path, run: &Surroundings) -> Vec<Finished> {
        exhibits().iter().filter_map(|e| Finished::read(dir, e.name, run)).collect()
    }

    /// Writes pictures and figures first and the exhibit last, so that what is there is whole.
    pub(crate) fn write(&self, dir: &Path) -> Result<()> {
        for p in &self.exhibit.pictures {
            let file = |ending: &str| dir.join(format!("{}-{}.{ending}", self.name, p.name));
            if let Some(svg) = p.svg(&Sheet::FILE) {
                write_text(file("svg"), &svg_file(&svg))?;
            }
            write_text(file("csv"), &csv::series(p))?;
        }
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        write_text(Finished::path(dir, &self.name), &format!("{text}\n"))
    }
}

/// The exhibit without numbers that JSON cannot hold: points that are not finite go, cells become a dash.
fn tidy(mut exhibit: Exhibit) -> Exhibit {
    for cell in exhibit.tables.iter_mut().flat_map(|t| &mut t.rows).flatten() {
        if let Cell::Value(v) = cell {
            for part in [&mut v.error, &mut v.paper, &mut v.paper_error] {
                *part = part.filter(|x| x.is_finite());
            }
            if !v.ours.is_finite() {
                *cell = "\u{2013}".into();
            }
        }
    }
    for p in &mut exhibit.pictures {
        let (x, y) = (p.x.log, p.y.log);
        (p.x.log, p.y.log) = (false, false); // what a logarithm cannot show is left out of the drawing, not of the figures
        p.series = p.usable().series;
        (p.x.log, p.y.log) = (x, y);
    }
    exhibit
}
