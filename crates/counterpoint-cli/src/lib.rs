//! The command line. [`run`] is one match that lists all the program can do; each command is a file of its own.
//!
//! It is a library so that the program can also be started from another one: the Python package has it as its console script.
//!
//! Results go to stdout, in words or with `--json` for programs; notes, progress and errors to stderr. Exit 0: done, and certified where
//! asked; 1: done, not certified; 2: error; 3: a monitor's alarm; 130: interrupted (143 and 129 by SIGTERM and SIGHUP). Nothing here computes: commands read arguments, call the library, and say what
//! it said.

mod act;
mod certify;
mod completions;
mod demo;
mod describe;
mod evaluate;
mod flag;
mod learn;
mod log_args;
mod memory;
mod monitor;
mod output;
mod pack;
mod plan;
mod progress;
mod recipe;
mod recipe_args;
mod remedy;
mod reproduce;
mod rival;
mod say;
mod select;
mod simulate;
mod target;
mod times;

pub use log_args::{cluster_in_words, clusters_in_words, contexts_in_words};
pub use simulate::draw_log;
pub use times::{parts_of_files, parts_of_times};

use clap::{Parser, Subcommand};
use counterpoint::engine::{Engine, Instructions};
use counterpoint::error::Kind;
use std::ffi::OsString;

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
    /// Vector instructions to compute with, for tests: slower ones than the best change no bit.
    #[arg(long, global = true, hide = true, value_name = "NAME", value_parser = flag::instructions)]
    instructions: Option<Instructions>,
}

/// The commit it was built from, if that is known.
const COMMIT: &str = env!("COUNTERPOINT_COMMIT");

/// The version, the commit it was built from, and the vector instructions that it uses here.
fn version() -> &'static str {
    static VERSION: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    VERSION.get_or_init(|| {
        let commit = if COMMIT.is_empty() { String::new() } else { format!("commit {COMMIT}, ") };
        format!("{} ({commit}{})", env!("CARGO_PKG_VERSION"), counterpoint::folds::instruction_set())
    })
}

/// The program as a certificate names it: the same on every machine.
pub fn program() -> String {
    let commit = if COMMIT.is_empty() { String::new() } else { format!(" (commit {COMMIT})") };
    format!("counterpoint {}{commit}", env!("CARGO_PKG_VERSION"))
}

/// What the program can do; the words of each command stand with its arguments.
#[derive(Subcommand)]
enum Command {
    Demo(demo::Demo),
    Simulate(simulate::Simulate),
    Describe(describe::Describe),
    Pack(pack::Pack),
    Learn(learn::Learn),
    Select(select::Select),
    Evaluate(evaluate::Evaluate),
    Certify(certify::Certify),
    Plan(plan::PlanRows),
    Act(act::Act),
    Monitor(monitor::Monitor),
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
    /// Done, and the policy is worse than what it is compared with.
    Alarm,
}

impl Done {
    /// What a certificate means for the exit code.
    pub(crate) fn certified(c: &counterpoint::certify::Certificate) -> Self {
        if c.deploys() { Done::Yes } else { Done::NotCertified }
    }
}

/// Object stores take their credentials from the environment, as the vendors' own tools do. The library does not look there by itself.
pub fn use_environment() {
    counterpoint::data::cloud_settings(|| {
        let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        std::env::vars_os().filter_map(text).collect()
    });
}

/// Runs the program with these arguments, the first of which is its own name, and returns the exit code.
///
/// It is meant to be the whole work of a process: signals are listened to, and a signal ends the process.
///
/// ```
/// assert_eq!(counterpoint_cli::run(["counterpoint", "recipe", "--quiet"]), 0);
/// assert_eq!(counterpoint_cli::run(["counterpoint", "lern"]), 2);
/// ```
pub fn run<A: Into<OsString> + Clone>(arguments: impl IntoIterator<Item = A>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    output::listen(); // before anything starts a thread
    // the shell may have left the first thread a few kilobytes of stack; where there is no room for another thread, it must do
    let given = arguments.clone();
    match std::thread::Builder::new().name("main".into()).stack_size(STACK).spawn(|| answer(given)) {
        Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        Err(_) => answer(arguments),
    }
}

/// What the program may put on its stack, whatever `ulimit -s` says.
const STACK: usize = 8 << 20;

fn answer(arguments: Vec<OsString>) -> u8 {
    let Program { command, manners, instructions } = match Program::try_parse_from(arguments) {
        Ok(program) => program,
        // help and the version are answers; where nobody reads there is nobody to tell
        Err(e) => {
            let _ = e.print();
            return e.exit_code() as u8;
        }
    };
    manners.adopt();
    use_environment();
    let loud = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !counterpoint::data::decoding() {
            loud(info);
        }
    }));
    let start = || match command {
        Command::Demo(c) => c.run(),
        Command::Simulate(c) => c.run(),
        Command::Describe(c) => c.run(),
        Command::Pack(c) => c.run(),
        Command::Learn(c) => c.run(),
        Command::Select(c) => c.run(),
        Command::Evaluate(c) => c.run(),
        Command::Certify(c) => c.run(),
        Command::Plan(c) => c.run(),
        Command::Act(c) => c.run(),
        Command::Monitor(c) => c.run(),
        Command::Rival(c) => c.run(),
        Command::Reproduce(c) => c.run(),
        Command::Completions(c) => c.run(),
        Command::Recipe(c) => c.run(),
    };
    let start = || memory::enough().and_then(|()| start());
    let done = match instructions {
        Some(chosen) => Engine::single().using(chosen).enter(start),
        None => start(),
    };
    output::release();
    match done.and_then(|done| say::arrived().map(|()| done)) {
        Ok(Done::Yes) => 0,
        Ok(Done::NotCertified) => 1,
        Ok(Done::Alarm) => 3,
        // an answer: the same exit code and the same words as a certificate that makes no decision
        Err(e) if e.kind() == Kind::Unsupported => {
            certify::tell_unsupported(&e);
            1
        }
        Err(e) => {
            say::error(&e);
            2
        }
    }
}
