//! `counterpoint rival`: the methods others use, on the same log and under the same certificate.

use crate::Done;
use crate::ask::LogArgs;
use crate::certify::{self, TermArgs};
use crate::{flag, output, say};
use clap::Args;
use clap::builder::PossibleValuesParser;
use counterpoint::certify::certify_scored;
use counterpoint::{Engine, Error, Result};
use counterpoint_lab::rivals::{Judged, Rival, choose};
use std::path::PathBuf;

/// Learn by one of the methods the paper compares with, certify the result, and write both.
///
/// dm: ridge regression of the cost, greedy action; sdm: the same with normal noise; ks, sn-ks: kernel smoothing (Kallus and Zhou
/// 2018); o-learning: outcome-weighted learning (Chen, Zeng and Kosorok 2016); cats: a tree over discretised actions (Majzoubi
/// and others 2020); demirer: doubly robust coefficients (Demirer and others 2019). Settings are chosen from a small grid by SNIPS on the
/// valid part among those with more than 1% effective rows. A deterministic rule has no density to weigh: it is judged with normal
/// noise of a fifth of the logged actions' standard deviation around it.
#[derive(Args)]
#[command(
    after_help = "Example:\n  counterpoint rival o-learning log.parquet --context x0,x1 --action action --reward reward \\\n      --propensity propensity --split split -o rival.json"
)]
pub(crate) struct RunRival {
    /// The method.
    #[arg(value_parser = PossibleValuesParser::new(Rival::NAMES))]
    method: String,
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    terms: TermArgs,
    /// Seed of the split, of the fits and of the bootstrap.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Threads; 0 means one a core. The result does not depend on it.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = flag::threads, allow_negative_numbers = true)]
    threads: usize,
    /// Write settings, rule and noise to this file (JSON), and the certificate beside it.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Print one JSON object to stdout.
    #[arg(long)]
    json: bool,
}

impl RunRival {
    pub(crate) fn run(&self) -> Result<Done> {
        let beside = certify::beside(&self.output);
        output::check(&[&self.output, &beside], &self.log.files()?)?;
        let engine = Engine::new(self.threads)?;
        let whole = self.log.read(&engine)?;
        let log = whole.heading();
        if log.q() != 1 {
            return Err(Error::data(format!("{} is made for one action column, the log has {}", self.method, log.q())));
        }
        let parts = whole.into_parts(self.log.rule(self.seed))?;
        let grid = Rival::grid(&self.method, log.d())?;
        let chosen = choose(&engine, &grid, &parts.train, &parts.valid, self.seed)?;
        let Judged { rival, policy, .. } = &chosen.best;
        let rows = [policy.score(&engine, &parts.valid)?, policy.score(&engine, &parts.test)?];
        let certificate = certify_scored(&engine, &rows[0], &rows[1], &self.terms.terms(self.seed))?;
        let certificate = certificate.resting_on(&log.schema().propensities).to_user(log.schema().direction);
        let settings = serde_json::to_value(rival).unwrap_or_default();
        say::heading(format_args!("Learned by {}", self.method));
        let passed = chosen.all.iter().filter(|j| j.figures.is_some_and(|f| f.passes())).count();
        say::line(format_args!(
            "  {} settings tried, {passed} with enough effective rows; chosen: {settings}",
            grid.len()
        ));
        certify::tell(&certificate, &log.schema().outcome);
        let document = serde_json::json!({ "settings": settings, "policy": policy });
        let files = [(self.output.clone(), format!("{document:#}\n")), (beside, certify::text(&certificate))];
        output::write(&files)?;
        say::wrote(&files);
        if self.json {
            say::json(&serde_json::json!({ "settings": settings, "certificate": certificate }));
        }
        Ok(Done::certified(&certificate))
    }
}
