//! `counterpoint rival`: the methods others use, on the same log and under the same certificate.

use crate::Done;
use crate::certify::{self, TermArgs};
use crate::log_args::LogArgs;
use crate::progress::Bar;
use crate::{flag, output, say};
use clap::Args;
use clap::builder::PossibleValuesParser;
use counterpoint::rivals::{Judged, Rival, choose};
use counterpoint::{Engine, Error, Policy, Result};
use std::path::PathBuf;

/// Learn by one of the methods the paper compares with, certify the result, and write both.
///
/// dm: ridge regression of the cost, greedy action; sdm: the same with normal noise; ks, sn-ks: kernel smoothing (Kallus and Zhou
/// 2018); o-learning: outcome-weighted learning (Chen, Zeng and Kosorok 2016); cats: a tree over discretised actions (Majzoubi
/// and others 2020); demirer: doubly robust coefficients (Demirer and others 2019). softmax-ips, -soft, -switch, -cab, -cab-dr, -dr: the
/// actions cut into buckets and a softmax over them, learned by IPS, soft clipping, SWITCH, CAB, CAB-DR or DR; within a bucket the
/// action is drawn evenly. Settings are chosen from a small grid by SNIPS on the valid part among those that pass the
/// certificate's gate. A deterministic rule has no density to weigh: it is judged with normal noise of a fifth of the logged actions'
/// standard deviation around it. Continuous policies learned by other estimators (the power mean, say) are the business of `learn --set
/// estimator=power-mean`.
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
    /// The logging policy as a policy file. Softmax methods ask it how often each bucket was chosen; without it that is learned
    /// from the train part.
    #[arg(long, value_name = "FILE")]
    logging_policy: Option<PathBuf>,
    /// Hold one setting of the method fast and choose only among the others, for example --set map=linear or --set ridge=0.1. May be
    /// repeated. A wrong name lists those there are.
    #[arg(long, value_name = "FIELD=VALUE")]
    set: Vec<String>,
    /// Seed of the split, of the fits and of the bootstrap.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Threads; 0 means one per core. The result does not depend on it.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = flag::threads, allow_negative_numbers = true)]
    threads: usize,
    /// Write the policy to this file (JSON), for `evaluate`, `certify` and `act`, and the certificate beside it.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl RunRival {
    pub(crate) fn run(&self) -> Result<Done> {
        let settings = self.settings()?;
        let beside = certify::beside(&self.output);
        let mut inputs = self.log.files()?;
        inputs.extend(self.logging_policy.clone());
        output::check(&[&self.output, &beside], &inputs)?;
        let engine = Engine::new(self.threads)?;
        let whole = self.log.read(&engine)?;
        let log = whole.heading();
        if log.q() != 1 {
            return Err(Error::data(format!("{} is made for one action column, the log has {}", self.method, log.q())));
        }
        let parts = whole.into_parts(self.log.rule(self.seed))?;
        let grid = held(Rival::grid(&self.method, log.d())?, &settings)?;
        let logging = self.logging_policy.as_ref().map(Policy::load).transpose()?;
        let terms = self.terms.terms(self.seed);
        let gate = terms.gate;
        let bar = Bar::new(grid.len() as u64, "learning", "settings");
        let rows = [&parts.train, &parts.valid];
        let chosen = choose(&engine, &grid, rows, logging.as_ref(), gate, self.seed, &|| bar.step());
        drop(bar);
        let chosen = chosen?;
        let Judged { rival, policy, .. } = &chosen.best;
        let certificate = certify::issue(&engine, policy, &parts, &terms, &self.log.name())?;
        let settings = serde_json::to_value(rival).unwrap_or_default();
        say::heading(format_args!("Learned by {}", self.method));
        let passed = chosen.all.iter().filter(|j| j.figures.is_some_and(|f| f.passes(gate))).count();
        say::line(format_args!("  {} settings tried, {passed} pass the gate; chosen: {settings}", grid.len()));
        certify::tell(&certificate, &log.schema().outcome);
        let mut notes = vec![format!("learned by {} with {settings}", self.method)];
        notes.extend(crate::log_args::notes(&log));
        let document = policy.to_json_noting(&notes);
        let files = [(self.output.clone(), document), (beside, certify::text(&certificate))];
        output::write(&files)?;
        say::wrote(&files);
        say::json(serde_json::json!({ "settings": settings, "certificate": certificate }));
        Ok(Done::certified(&certificate))
    }
    /// What is held fast, tried on the method before anything is read.
    fn settings(&self) -> Result<Vec<(String, serde_json::Value)>> {
        let split = self.set.iter().map(|change| crate::recipe_args::change(change));
        let settings: Vec<_> =
            split.map(|c| c.map(|(field, v)| (field, serde_json::json!(v)))).collect::<Result<_>>()?;
        held(vec![self.method.parse()?], &settings)?;
        Ok(settings)
    }
}

/// A grid with some settings held fast, nothing in it twice.
fn held(grid: Vec<Rival>, settings: &[(String, serde_json::Value)]) -> Result<Vec<Rival>> {
    let mut out: Vec<Rival> = Vec::new();
    for rival in grid {
        let rival = settings.iter().try_fold(rival, |rival, (field, value)| rival.with(field, value))?;
        if !out.contains(&rival) {
            out.push(rival);
        }
    }
    Ok(out)
}
