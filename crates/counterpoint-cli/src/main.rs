//! The command line. `main` is one match that lists all the program can do; each command is a file of its own.
//!
//! Results for programs go to stdout (`--json`), words and progress to stderr. Exit 0: done, and certified where
//! asked; 1: done, not certified; 2: error. Nothing here computes: commands read arguments, call the library, and say what
//! it said.

mod act;
mod ask;
mod certify;
mod completions;
mod demo;
mod describe;
mod evaluate;
mod learn;
mod recipe;
#[allow(dead_code, unused_imports)] // until the commands fill it
mod report;
mod reproduce;
mod say;
mod select;
mod simulate;
mod story;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Learn better decisions from logs, and know whether to believe them.
///
/// A log holds, row by row: contexts, a continuous action (a bid, a price, a dose), the density with which the action was
/// chosen, and what came of it. From that alone, counterpoint learns a stochastic policy that would have done better.
#[derive(Parser)]
#[command(version, about, long_about, max_term_width = 100)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The two-minute tour: simulate a log, learn from it, compare with the truth.
    Demo(demo::Demo),
    /// Draw a log from one of the paper's environments.
    Simulate(simulate::Simulate),
    /// Say what a log holds and what it can support.
    Describe(describe::Describe),
    /// Train one recipe on the train part of a log and write the policy.
    Learn(learn::Learn),
    /// Train many recipes, let the offline protocol pick one, and write its policy.
    Select(select::Select),
    /// Estimate what a given policy would have cost or earned, by every estimator.
    Evaluate(evaluate::Evaluate),
    /// Decide whether a policy may be deployed: deploy, keep, or invalid.
    Certify(certify::Certify),
    /// Draw actions with their densities for a file of contexts: the next log.
    Act(act::Act),
    /// Run the paper's tables and figures again, beside the printed numbers.
    Reproduce(reproduce::Reproduce),
    /// Print a completion script for a shell.
    Completions(completions::Completions),
    /// Print the default recipe, every field with its meaning and range.
    Recipe(recipe::PrintRecipe),
}

/// How a command ended.
pub(crate) enum Done {
    /// Done, and certified where that was asked.
    Yes,
    /// Done, but the policy may not be deployed.
    NotCertified,
}

impl Done {
    /// What a certificate means for the exit code.
    pub(crate) fn certified(c: &counterpoint::certify::Certificate) -> Self {
        if c.deploys() { Done::Yes } else { Done::NotCertified }
    }
}

fn main() -> ExitCode {
    let done = match Program::parse().command {
        Command::Demo(c) => c.run(),
        Command::Simulate(c) => c.run(),
        Command::Describe(c) => c.run(),
        Command::Learn(c) => c.run(),
        Command::Select(c) => c.run(),
        Command::Evaluate(c) => c.run(),
        Command::Certify(c) => c.run(),
        Command::Act(c) => c.run(),
        Command::Reproduce(c) => c.run(),
        Command::Completions(c) => c.run(),
        Command::Recipe(c) => c.run(),
    };
    match done {
        Ok(Done::Yes) => ExitCode::SUCCESS,
        Ok(Done::NotCertified) => ExitCode::from(1),
        Err(e) => {
            say::error(&e);
            ExitCode::from(2)
        }
    }
}
