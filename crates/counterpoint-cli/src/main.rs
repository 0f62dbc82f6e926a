//! The command line. `main` is one match that lists all the program can do; each command is a file of its own.
//!
//! Results for programs go to stdout (`--json`), words and progress to stderr. Exit 0: done; 2: error. Nothing here
//! computes: commands read arguments, call the library, and say what it said.

mod ask;
mod demo;
mod evaluate;
mod learn;
mod recipe;
mod say;
mod simulate;

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
    /// Train one recipe on the train part of a log and write the policy.
    Learn(learn::Learn),
    /// Estimate what a given policy would have cost or earned, by every estimator.
    Evaluate(evaluate::Evaluate),
    /// Print the default recipe, every field with its meaning and range.
    Recipe(recipe::PrintRecipe),
}

fn main() -> ExitCode {
    let done = match Program::parse().command {
        Command::Demo(c) => c.run(),
        Command::Simulate(c) => c.run(),
        Command::Learn(c) => c.run(),
        Command::Evaluate(c) => c.run(),
        Command::Recipe(c) => c.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            say::error(&e);
            ExitCode::from(2)
        }
    }
}
