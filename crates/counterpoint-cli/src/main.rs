//! The command line. `main` is one match that lists all the program can do; each command is a file of its own.
//!
//! Results go to stdout, in words or with `--json` for programs; notes, progress and errors to stderr. Exit 0: done, and certified where
//! asked; 1: done, not certified; 2: error; 130: interrupted. Nothing here computes: commands read arguments, call the library, and say what
//! it said.

mod act;
mod ask;
mod certify;
mod completions;
mod demo;
mod describe;
mod evaluate;
mod flag;
mod learn;
mod output;
mod progress;
mod recipe;
mod reproduce;
mod rival;
mod say;
mod select;
mod simulate;
mod target;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// What to do first, and what the exit code means.
const GUIDE: &str = "\
First steps:
  counterpoint demo                                                 no log needed, a few seconds
  counterpoint simulate moons -o log.parquet                        a log to play with
  counterpoint describe log.parquet --context x0,x1 --action action \\
      --reward reward --propensity propensity                       what can this log support?
  counterpoint learn log.parquet --context x0,x1 --action action \\
      --reward reward --propensity propensity -o policy.json        learn and certify a policy
  counterpoint act policy.json contexts.csv -o actions.parquet      use it

Columns can be named once, in a file log.toml beside the log:
  context = [\"x0\", \"x1\"]
  action = \"action\"
  reward = \"reward\"
  propensity = \"propensity\"

Results go to stdout, in words or with --json for programs; progress and notes to stderr.
Exit 0: done, and certified where asked; 1: done, not certified; 2: error; 130: interrupted.";

/// Learn better decisions from logs, and know whether to believe them.
///
/// A log holds, row by row: contexts, a continuous action (a bid, a price, a dose), the density with which the action was
/// chosen, and what came of it. From that alone, counterpoint learns a stochastic policy that would have done better.
#[derive(Parser)]
#[command(name = "counterpoint", version = version(), about, long_about, max_term_width = 100, after_long_help = GUIDE)]
struct Program {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    manners: say::Manners,
}

/// The version, the commit it was built from, and the vector instructions that it uses here.
fn version() -> &'static str {
    static VERSION: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    VERSION.get_or_init(|| {
        let commit = match env!("COUNTERPOINT_COMMIT") {
            "" => String::new(),
            commit => format!("commit {commit}, "),
        };
        format!("{} ({commit}{})", env!("CARGO_PKG_VERSION"), counterpoint::folds::instruction_set())
    })
}

/// What the program can do; the words of each command stand with its arguments.
#[derive(Subcommand)]
enum Command {
    Demo(demo::Demo),
    Simulate(simulate::Simulate),
    Describe(describe::Describe),
    Learn(learn::Learn),
    Select(select::Select),
    Evaluate(evaluate::Evaluate),
    Certify(certify::Certify),
    Act(act::Act),
    Rival(rival::RunRival),
    Recipe(recipe::PrintRecipe),
    Completions(completions::Completions),
    Reproduce(reproduce::Reproduce),
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
    let Program { command, manners } = Program::parse();
    manners.adopt();
    output::listen();
    let done = match command {
        Command::Demo(c) => c.run(),
        Command::Simulate(c) => c.run(),
        Command::Describe(c) => c.run(),
        Command::Learn(c) => c.run(),
        Command::Select(c) => c.run(),
        Command::Evaluate(c) => c.run(),
        Command::Certify(c) => c.run(),
        Command::Act(c) => c.run(),
        Command::Rival(c) => c.run(),
        Command::Reproduce(c) => c.run(),
        Command::Completions(c) => c.run(),
        Command::Recipe(c) => c.run(),
    };
    match done.and_then(|done| say::arrived().map(|()| done)) {
        Ok(Done::Yes) => ExitCode::SUCCESS,
        Ok(Done::NotCertified) => ExitCode::from(1),
        Err(e) => {
            say::error(&e);
            ExitCode::from(2)
        }
    }
}
