//! `counterpoint-lab loans`: a real log with the propensities of its lottery.

use crate::say;
use clap::Args;
use counterpoint::Result;
use counterpoint::data::check_output;
use counterpoint_lab::read_loans;
use std::path::PathBuf;

/// Add to the loan offers the probability and the density with which the lottery drew their rates, so that every command can read them.
#[derive(Args)]
#[command(after_help = "Example:\n  counterpoint-lab loans data/loan_offers.parquet -o loans.parquet\n  \
    counterpoint learn loans.parquet --context risk,appscore,dormancy,lastamount --action offered_rate \\\n      --reward gross_interest --propensity density -o policy.json")]
pub(crate) struct Loans {
    /// The offers: data/loan_offers.parquet of this repository.
    offers: PathBuf,
    /// The log to write.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl Loans {
    pub(crate) fn run(&self) -> Result<()> {
        check_output(&self.output, std::slice::from_ref(&self.offers))?;
        let table = read_loans(&self.offers)?;
        table.write(&self.output)?;
        say::line(format_args!("wrote {} offers to {}", table.rows(), self.output.display()));
        Ok(())
    }
}
