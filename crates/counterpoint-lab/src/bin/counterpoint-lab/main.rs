//! The laboratory's own program: the paper again, the promises of certificates, recipes on the synthetic sets.
//!
//! Results go to stdout, words and progress to stderr. Exit 0: done; 2: error.

mod growth;
mod loans;
mod passes;
mod potentials;
mod reproduce;
mod say;
mod suite;
mod validity;
mod warfarin;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Experiments around counterpoint: the tables and figures of its paper, and whether its certificates keep their promises.
///
/// The program users run is `counterpoint`; this one holds what is run to judge it, and makes no promise of stability.
#[derive(Parser)]
#[command(name = "counterpoint-lab", version, about, long_about, max_term_width = 100)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Reproduce(reproduce::Reproduce),
    Validity(validity::Validity),
    Potentials(potentials::Potentials),
    Passes(passes::Passes),
    Growth(growth::Growth),
    Suite(suite::Suite),
    Loans(loans::Loans),
    Warfarin(warfarin::Patients),
}

fn main() -> ExitCode {
    let done = match Program::parse().command {
        Command::Reproduce(c) => c.run(),
        Command::Validity(c) => c.run(),
        Command::Potentials(c) => c.run(),
        Command::Passes(c) => c.run(),
        Command::Growth(c) => c.run(),
        Command::Suite(c) => c.run(),
        Command::Loans(c) => c.run(),
        Command::Warfarin(c) => c.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            say::line(format_args!("error: {e}"));
            ExitCode::from(2)
        }
    }
}
