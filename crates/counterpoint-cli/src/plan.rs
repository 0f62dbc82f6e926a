//! `counterpoint plan`: how many rows a gain needs, and how noisy the next log should be.

use crate::Done;
use crate::flag;
use crate::log_args::{LogArgs, takes_rows};
use crate::say;
use clap::Args;
use counterpoint::plan::{PlanTerms, plan};
use counterpoint::policy::{SavedPolicy, TargetPolicy};
use counterpoint::{Engine, Result};
use std::path::PathBuf;

/// Say how many rows a gain needs, what these rows could find, and how noisy the next log should be.
///
/// Rows are those of the whole log, divided 50/25/25; the test part is a quarter of them. For a policy (--policy) the answer is measured
/// on these rows; for policies that are not there yet it is that of normal policies which move the action by so much. Planning
/// reads every row: plan on the log you have, and test on rows to come.
#[derive(Args)]
#[command(
    after_help = "Example:\n  counterpoint plan log.parquet --context x0,x1 --action action --reward reward \\\n      --propensity propensity --gain 0.02 --power 0.9"
)]
pub(crate) struct PlanRows {
    #[command(flatten)]
    log: LogArgs,
    /// A policy file: what this policy needs.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// The gain to be found, in the unit of the outcome; without it a tenth of the outcome's spread.
    #[arg(long, value_name = "AMOUNT", value_parser = flag::positive)]
    gain: Option<f64>,
    /// How often it is to be found.
    #[arg(long, default_value_t = 0.8, value_name = "SHARE", value_parser = flag::between_0_and_1)]
    power: f64,
    /// Confidence of the certificate.
    #[arg(long, default_value_t = 0.95, value_name = "SHARE", value_parser = flag::between_0_and_1)]
    confidence: f64,
    /// Rows there will be; without it those of the log.
    #[arg(long, value_name = "ROWS", value_parser = flag::positive)]
    rows: Option<f64>,
    /// Std of the policies to come; without it half that of the logged actions.
    #[arg(long, value_name = "STD", value_parser = flag::positive)]
    policy_std: Option<f64>,
    /// Threads; 0 means one per core.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = flag::threads, allow_negative_numbers = true)]
    threads: usize,
}

impl PlanRows {
    pub(crate) fn run(&self) -> Result<Done> {
        let engine = Engine::new(self.threads)?;
        let saved = self.policy.as_ref().map(SavedPolicy::load).transpose()?;
        let log = match &saved {
            Some(policy) => self.log.read_for(&engine, policy)?,
            None => self.log.read(&engine)?,
        };
        let terms = PlanTerms {
            gain: self.gain,
            power: self.power,
            confidence: self.confidence,
            rows: self.rows,
            policy_std: self.policy_std,
        };
        let found = plan(&log.on(&engine), saved.as_ref().map(|p| p as &dyn TargetPolicy), &terms)?;
        say::heading("Plan");
        found.to_string().lines().for_each(|l| say::line(format_args!("  {l}")));
        let cluster = log.schema().cluster.as_ref().map(|c| takes_rows(c, "this plan takes"));
        cluster.iter().for_each(|n| say::line(format_args!("  note: {n}")));
        log.schema().propensities.sentence().iter().for_each(|n| say::line(format_args!("  note: {n}")));
        say::json(serde_json::to_value(&found).unwrap_or_default());
        Ok(Done::Yes)
    }
}
